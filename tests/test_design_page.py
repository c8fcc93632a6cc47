"""The page about the design: the functions, files and fields that it names, compared with the code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

import pytest
from msgspec import Struct

import toolwire
from toolwire import decode, encode, restream, translate
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.observations import Observation
from toolwire.lint.rule import Rule
from toolwire.streaming import events
from toolwire.wires.engine.capabilities import Capabilities

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolwire"
PAGE = (ROOT / "docs" / "explanation" / "design.md").read_text()
STEP = re.compile(r"^(\d+)\. `([\w.]+)` \(`([\w/]+\.py)`\): .*\.$", re.MULTILINE)
BRANCH = re.compile(r"^- `([\w.]+)` \(`([\w/]+\.py)`\): ", re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)

Function = tuple[str, str]
"""A qualified name, and the file below src/toolwire."""


def section(heading: str, page: str = PAGE) -> str:
    """The text below a heading, up to the next heading of the same or a higher level."""
    assert page.count(f"\n{heading}\n") == 1, heading
    level = len(heading) - len(heading.lstrip("#"))
    text = page.split(f"\n{heading}\n")[1]
    return re.split(rf"^#{{1,{level}}} ", text, flags=re.MULTILINE)[0]


def steps(heading: str) -> list[Function]:
    """The numbered list of a section."""
    matches = STEP.findall(section(heading))
    lines = re.findall(r"^\d+\. ", section(heading), re.MULTILINE)
    assert len(matches) == len(lines), "an entry is: n. `function` (`file`): one sentence."
    assert [int(number) for number, _, _ in matches] == list(range(1, len(matches) + 1))
    return [(name, file) for _, name, file in matches]


def calls_in(run: Callable[[], object]) -> list[Function]:
    """The functions of the library that a run calls, in the order of their first calls."""
    first: dict[Function, None] = {}

    def record(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{SOURCE}/"):
            file = Path(code.co_filename).relative_to(SOURCE).as_posix()
            first.setdefault((code.co_qualname, file))

    previous = sys.getprofile()
    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(previous)
    return list(first)


@cache
def names_defined_in(file: str) -> set[str]:
    """The qualified names of the functions and methods of a file."""
    names: set[str] = set()

    def walk(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(f"{prefix}{node.name}")

    walk(ast.parse((SOURCE / file).read_text()).body, "")
    return names


# --- the two runs ---------------------------------------------------------------------------------


def call(index: int, city: str) -> JSON:
    arguments = f'{{"city":"{city}"}}'
    function: JSON = {"name": "weather", "arguments": arguments}
    return {"id": f"functions.weather:{index}", "type": "function", "function": function}


def result(index: int, text: str) -> JSON:
    return {"role": "tool", "tool_call_id": f"functions.weather:{index}", "content": text}


REQUEST = dump(
    {
        "model": "m",
        "tools": [
            {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
        ],
        "messages": [
            {"role": "user", "content": "Is it warmer in Oslo or in Rome?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call(0, "Oslo"), call(1, "Rome")],
            },
            result(1, "24 degrees"),
            result(0, "-3 degrees"),
        ],
    }
)


def chunk(delta: JSON, finish_reason: JSON = None) -> bytes:
    choice: JSON = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    event: JSON = {"id": "r1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return b"data: " + dump(event) + b"\n\n"


def call_chunk(index: int, arguments: str, *, first: bool = False) -> bytes:
    function: dict[str, JSON] = {"arguments": arguments}
    piece: dict[str, JSON] = {"index": index, "function": function}
    if first:
        function["name"] = "weather"
        piece |= {"id": f"functions.weather:{index}", "type": "function"}
    return chunk({"tool_calls": [piece]})


STREAM = b"".join(
    [
        chunk({"role": "assistant", "content": "Let me look."}),
        call_chunk(0, "", first=True),
        call_chunk(0, '{"city":'),
        call_chunk(0, '"Oslo"}'),
        call_chunk(1, '{"city":"Rome"}', first=True),
        chunk({}, "tool_calls"),
        b"data: [DONE]\n\n",
    ]
)


def run_translate() -> None:
    translate(REQUEST, "openai-chat", "anthropic").json()


def run_restream() -> None:
    half = len(STREAM) // 2
    list(restream([STREAM[:half], STREAM[half:]], "openai-chat", "anthropic"))


TRIPS: dict[str, Callable[[], None]] = {
    "### The trip of one `translate`": run_translate,
    "### The trip of one `restream`": run_restream,
}
trips = pytest.mark.parametrize("heading", TRIPS, ids=["translate", "restream"])


@trips
def test_every_listed_function_is_defined_in_its_file(heading: str) -> None:
    documented = steps(heading)
    assert len(documented) > 20
    assert len(set(documented)) == len(documented)
    assert [(name, file) for name, file in documented if name not in names_defined_in(file)] == []


@trips
def test_the_listed_functions_are_called_in_the_listed_order(heading: str) -> None:
    TRIPS[heading]()  # what is imported or cached on first use is no part of the trip
    called = calls_in(TRIPS[heading])
    documented = steps(heading)
    assert [function for function in documented if function not in called] == []
    assert sorted(documented, key=called.index) == documented


def test_the_run_of_the_page_reports_no_change_and_fits_both_ids() -> None:
    encoded = translate(REQUEST, "openai-chat", "anthropic")
    assert (encoded.changes, encoded.findings, encoded.losses) == ([], [], [])
    assert sorted(encoded.ids.ids.values()) == ["functions.weather:0", "functions.weather:1"]


# --- functions that run only when there is work for them ------------------------------------------

SEARCH: JSON = {
    "model": "m",
    "max_tokens": 10,
    "messages": [
        {"role": "user", "content": "Oslo?"},
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "text", "text": "Cold."},
            ],
        },
        {"role": "user", "content": "Thanks."},
    ],
}
IMAGE: JSON = {
    "model": "m",
    "max_tokens": 10,
    "messages": [
        {
            "role": "user",
            "content": [{"type": "image", "source": {"type": "url", "url": "https://a.example"}}],
        }
    ],
}
ANSWER: JSON = {
    "id": "r1",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Cold."}, "finish_reason": "stop"}
    ],
}


def edit_on_own_wire() -> None:
    conversation = decode(REQUEST, "openai-chat")
    encode(conversation.rename_call(conversation.calls()[0], "forecast"), "openai-chat")


OPEN_CALL: JSON = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
            ],
        },
        {"role": "user", "content": "Well?"},
    ],
    "tools": [{"type": "function", "function": {"name": "weather"}}],
}
CALL_WITHOUT_ID: JSON = {
    "contents": [{"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]}]
}
BRANCHES: dict[str, Callable[[], object]] = {
    "assign_ids": lambda: translate(CALL_WITHOUT_ID, "gemini", "openai-chat"),
    "Repair.run": lambda: translate(OPEN_CALL, "openai-chat", "anthropic"),
    "repair_on_own_wire": lambda: translate(REQUEST, "openai-chat", "openai-chat"),
    "lower_server_tools": lambda: translate(SEARCH, "anthropic", "openai-chat"),
    "MessageLowering.lower": lambda: translate(IMAGE, "anthropic", "openai-chat"),
    "patch_source": edit_on_own_wire,
    "plain_answer": lambda: translate(ANSWER, "openai-chat", "anthropic", "response"),
}


def test_the_functions_that_run_only_sometimes_run_when_the_page_says_so() -> None:
    matches = BRANCH.findall(section("### The trip of one `translate`"))
    assert [name for name, _ in matches] == list(BRANCHES)
    usual = calls_in(run_translate)
    for name, file in matches:
        assert (name, file) not in usual
        assert (name, file) in calls_in(BRANCHES[name])


@pytest.mark.parametrize("function", ["lower_server_tools", "MessageLowering.lower"])
def test_messages_are_lowered_before_the_repair(function: str) -> None:
    names = [name for name, _ in calls_in(BRANCHES[function])]
    assert names.index(function) < names.index("repair_for_translation")
    assert names.index(function) < names.index("lower_rest")


# --- names in tables ------------------------------------------------------------------------------


def test_every_path_of_the_layout_exists_and_every_package_is_in_it() -> None:
    matches = ROW.findall(section("## Layout"))
    paths = [path for path in matches if "<" not in path]
    assert [path for path in paths if not (SOURCE / path).exists()] == []
    existing = {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    existing |= {p.name for p in SOURCE.glob("[a-z]*.py")}
    assert existing - {path.split("/")[0] for path in matches} == set()


def test_every_folder_of_families_is_in_the_layout() -> None:
    folders = {path.parent.name for path in (SOURCE / "wires" / "families").glob("*/__init__.py")}
    line = next(line for line in section("## Layout").splitlines() if "families" in line)
    assert set(re.findall(r"`(\w+)`", line)) == folders


@pytest.mark.parametrize(
    "heading, table",
    [("## The rules of lint", Rule), ("## Capabilities and lowering", Capabilities)],
    ids=["rule", "capabilities"],
)
def test_every_field_in_a_table_is_a_field(heading: str, table: type[Struct]) -> None:
    matches = ROW.findall(section(heading))
    assert matches
    assert set(matches) <= set(table.__struct_fields__)


def test_every_observation_that_the_page_names_exists() -> None:
    matches = re.findall(r"`([A-Z_]{6,})`", section("## The rules of lint"))
    assert matches
    assert set(matches) <= set(vars(Observation))


def test_public_functions_and_modules_of_the_same_name_are_those_that_the_page_lists() -> None:
    modules = {path.stem for path in SOURCE.glob("[a-z]*.py")}
    modules |= {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    shared = {name for name in toolwire.__all__ if name in modules}
    text = section("## Notes on the layout").split("- ")[1]
    assert shared == {"translate", "wires", "profiles", "providers"}
    assert [name for name in shared if f"`{name}`" not in text] == []


def test_every_link_of_the_page_leads_to_a_page() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert [link for link in links if not (ROOT / "docs" / "explanation" / link).exists()] == []


def test_every_test_that_the_page_about_identity_names_exists() -> None:
    matches = set(
        re.findall(r"`(test_\w+)`", (ROOT / "docs" / "explanation" / "identity.md").read_text())
    )
    tests = ast.parse((ROOT / "tests" / "test_identity.py").read_text())
    defined = {node.name for node in tests.body if isinstance(node, ast.FunctionDef)}
    assert matches
    assert matches - defined == set()


def test_the_neutral_events_of_the_page_about_streams_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "explanation" / "streams.md").read_text()
    sentence = re.search(r"The neutral events are ([^.]+)\.", page)
    classes = {name for name, value in vars(events).items() if isinstance(value, type)}
    neutral = {name for name in classes if vars(events)[name].__module__ == events.__name__}
    assert sentence and set(re.findall(r"`(\w+)`", sentence[1])) == neutral
