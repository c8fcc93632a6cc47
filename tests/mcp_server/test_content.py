"""Prompts and resources of Python functions, tested with the official client."""

from __future__ import annotations

import asyncio
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_server.test_server import EVERY, run
from mcp_types import (
    BlobResourceContents,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from oxp_server.serving import running

from toolwire.cli.services.tool_loading import load_tools
from toolwire.conversation.json import JSON, Object
from toolwire.tool_server import ToolServer
from toolwire.tools import ToolContext, ToolDefinitionError, ToolError, Tools, prompt, resource

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
CITIES = [f"city {number}" for number in range(150)]


def cities(typed: str) -> list[str]:
    return [city for city in CITIES if typed in city]


async def half_a_pair(typed: str) -> list[str]:
    return ["\ud800"]


@prompt(title="Code review", complete={"place": cities, "half": half_a_pair})
def review(
    code: Annotated[str, "The code."],
    times: int,
    language: Literal["python", "go"] = "python",
    place: str = "",
    half: str = "",
) -> str:
    """Review code.

    More text.
    """
    return f"{language}{place}{half}: {code * times}"


@prompt(name="dialogue")
async def talk(context: ToolContext) -> list[JSON]:
    """A dialogue."""
    return ["How are you?", {"role": "assistant", "content": "Well. \ud800"}]


@prompt
def broken(how: str) -> object:
    """A prompt with a bug."""
    if how == "value":
        return 5
    if how == "role":
        return [{"role": "system", "content": "x"}]
    if how == "error":
        raise ToolError("Say how.")
    raise RuntimeError("postgresql://root:hush@db/prod")


@resource("config://app")
def config() -> Object:
    """The configuration."""
    return {"debug": True}


@resource("notes://{day}/{number}", mime_type="text/markdown", complete={"day": ["mon", "tue"]})
async def note(day: str, number: int) -> str:
    """A note."""
    return f"# {day} {number + 1}"


@resource("notes://today/1", name="first note of today")
def first_note() -> bytes:
    """The first note."""
    return b"\x00\xff"


MODULE = ModuleType("content")
for _value in (review, talk, broken, config, note, first_note):
    setattr(MODULE, _value.name.replace(" ", "_"), _value)


@asynccontextmanager
async def connect(over: str, mode: str) -> AsyncIterator[Client]:
    """A client of the functions above; over stdio, those of this file in another process."""
    if over == "http":
        with running(ToolServer(MODULE)) as server:
            async with Client(f"{server.url}/mcp", mode=mode) as client:
                yield client
        return
    code = "import sys; sys.argv[0] = 'toolwire'; from toolwire.cli import main; main()"
    command = ["-c", code, "serve", __file__, "--stdio", "--ledger", "memory:"]
    env = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    async with Client(
        StdioServerParameters(command=sys.executable, args=command, env=env), mode=mode
    ) as client:
        yield client


@pytest.mark.parametrize(("over", "mode"), EVERY)
def test_prompts_are_listed_and_filled_in(over: str, mode: str) -> None:
    async def act() -> None:
        async with connect(over, mode) as client:
            listed = {one.name: one for one in (await client.list_prompts()).prompts}
            assert list(listed) == ["review", "dialogue", "broken"]
            arguments = listed["review"].arguments or []
            assert [(one.name, one.required) for one in arguments][:3] == [
                ("code", True),
                ("times", True),
                ("language", False),
            ]
            assert arguments[0].description == "The code."
            assert (listed["review"].title, listed["review"].description) == (
                "Code review",
                "Review code.\n\nMore text.",
            )
            filled = await client.get_prompt("review", {"code": "x", "times": "3"})
            (message,) = filled.messages
            assert message.role == "user" and isinstance(message.content, TextContent)
            assert message.content.text == "python: xxx"
            roles = [one.role for one in (await client.get_prompt("dialogue")).messages]
            assert roles == ["user", "assistant"]

    run(act())


@pytest.mark.parametrize(("over", "mode"), EVERY)
def test_resources_are_listed_and_read(over: str, mode: str) -> None:
    async def act() -> None:
        async with connect(over, mode) as client:
            listed = (await client.list_resources()).resources
            assert [(one.uri, one.name) for one in listed] == [
                ("config://app", "config"),
                ("notes://today/1", "first note of today"),
            ]
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "notes://{day}/{number}"
            assert template.mime_type == "text/markdown"
            (read,) = (await client.read_resource("config://app")).contents
            assert isinstance(read, TextResourceContents) and read.text == '{"debug":true}'
            assert read.mime_type == "application/json"
            (read,) = (await client.read_resource("notes://next%20week/7")).contents
            assert isinstance(read, TextResourceContents) and read.text == "# next week 8"
            (read,) = (await client.read_resource("notes://today/1")).contents
            assert isinstance(read, BlobResourceContents)
            assert b64decode(read.blob) == b"\x00\xff", "a URI comes before a template"

    run(act())


def test_arguments_are_completed() -> None:
    async def act() -> None:
        async with connect("http", "auto") as client:
            of_review = PromptReference(name="review")
            found = (
                await client.complete(of_review, {"name": "language", "value": "G"})
            ).completion
            assert found.values == ["go"]
            found = (
                await client.complete(of_review, {"name": "place", "value": "city"})
            ).completion
            assert found.values == CITIES[:100] and (found.total, found.has_more) == (150, True)
            found = (await client.complete(of_review, {"name": "code", "value": "x"})).completion
            assert found.values == []
            found = (await client.complete(of_review, {"name": "half", "value": ""})).completion
            assert found.values == ["\ufffd"]
            of_note = ResourceTemplateReference(uri=note.uri)
            found = (await client.complete(of_note, {"name": "day", "value": "t"})).completion
            assert found.values == ["tue"]

    run(act())


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message"),
    [
        ("nothing", {}, INVALID_PARAMS, "Unknown prompt: nothing"),
        ("review", {"code": "x"}, INVALID_PARAMS, "times"),
        ("review", {"code": "x", "times": "many"}, INVALID_PARAMS, "times"),
        ("review", {"code": "x", "times": "1", "color": "red"}, INVALID_PARAMS, "color"),
        ("broken", {"how": "value"}, INTERNAL_ERROR, "invalid"),
        ("broken", {"how": "role"}, INTERNAL_ERROR, "invalid"),
        ("broken", {"how": "error"}, INTERNAL_ERROR, "Say how."),
        ("broken", {"how": ""}, INTERNAL_ERROR, "RuntimeError"),
    ],
)
def test_an_error_says_what_is_wrong_and_nothing_more(
    name: str, arguments: dict[str, str], code: int, message: str
) -> None:
    async def act() -> None:
        async with connect("http", "auto") as client:
            with pytest.raises(MCPError, match=message) as caught:
                await client.get_prompt(name, arguments)
            assert caught.value.code == code and "hush" not in str(caught.value)

    run(act())


@pytest.mark.parametrize(
    "uri",
    [
        *("notes://a", "notes://a/b/c", "notes://a/x", "file:///etc/passwd"),
        *("notes://../1", "notes://%2e%2E/1", "notes://..%2fetc/1", "notes://a%5cb/1"),
        "notes://a%00/1",
    ],
)
def test_a_uri_of_no_resource_is_refused(uri: str) -> None:
    async def act() -> None:
        async with connect("http", "auto") as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.code == INVALID_PARAMS

    run(act())


def test_a_server_of_tools_alone_declares_neither() -> None:
    async def act() -> None:
        with running(ToolServer([])) as server:
            async with Client(f"{server.url}/mcp") as client:
                declared = client.server_capabilities
                assert (declared.prompts, declared.resources, declared.completions) == (None,) * 3

    run(act())


def test_a_hostile_uri_takes_no_longer_than_a_long_one() -> None:
    @resource("dates://{year}-{month}-{day}.{kind}")
    def on(year: str, month: str, day: str, kind: str) -> str:
        return f"{year}{month}{day}{kind}"

    assert on.match("dates://2027-01-31.a.txt") == {
        "year": "2027",
        "month": "01",
        "day": "31",
        "kind": "a.txt",
    }
    assert on.match("dates://2027-01-31") is None
    assert on.match("dates://" + "-" * 200_000 + "/") is None
    assert on.match("dates://" + "1-" * 200_000 + "/") is None
    assert on.match("dates://1-1-" + "1." * 200_000 + "/") is None


def _takes_nothing() -> str:
    return ""


def _takes_day(day: str) -> str:
    return day


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: resource("notes")(_takes_nothing), "is no URI"),
        (lambda: resource("notes://{day")(_takes_nothing), "is no URI"),
        (lambda: resource("notes://{day}")(_takes_nothing), "must be the same"),
        (lambda: resource("notes://{day}/{day}")(_takes_day), "must be the same"),
        (lambda: resource("notes://{day}{week}")(_takes_day), "a text between"),
        (lambda: prompt(complete={"week": []})(_takes_day), "week"),
        (lambda: Tools(prompt(_takes_nothing), prompt(_takes_nothing)), "twice"),
        (lambda: Tools(resource("a:b")(_takes_nothing), resource("a:b")(_takes_nothing)), "twice"),
    ],
)
def test_a_mistake_is_reported_when_the_function_is_decorated(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        make()


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"prompt\(\) got unexpected options: read_only"):
        prompt(read_only=True)(_takes_nothing)  # type: ignore[call-overload]


def test_a_file_with_prompts_only_can_be_served(tmp_path: Path) -> None:
    file = tmp_path / "prompts.py"
    file.write_text("from toolwire.tools import prompt\n@prompt\ndef hi() -> str: return 'hi'\n")
    tools = load_tools((str(file),))
    assert [one.name for one in tools.prompts] == ["hi"] and len(tools) == 0
    assert tools.prompts[0]() == "hi" and asyncio.run(_wait(talk)) == "How are you?"


async def _wait(function: Callable[[ToolContext], object]) -> object:
    messages = function(ToolContext("c1", "x"))
    assert asyncio.iscoroutine(messages)
    return (await messages)[0]
