"""The page on adding a wire is true: its module, put into the package and nothing else changed, is
a wire."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from cli.shell import ROOT, environment, fences

import toolwire

SRC = Path(toolwire.__file__).parent


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the page's module in it."""
    folder = tmp_path_factory.mktemp("extended")
    copytree(SRC, folder / "toolwire", ignore=ignore_patterns("__pycache__"))
    (folder / "toolwire" / "wires" / "tiny_chat.py").write_text(pythons()[0])
    return folder


def pythons() -> list[str]:
    return [text for language, text in fences("CONTRIBUTING.md") if language == "python"]


def jsons() -> list[str]:
    return [text for language, text in fences("CONTRIBUTING.md") if language == "json"]


def run(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = environment(PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        env=env,
        check=False,
        timeout=60,
        text=True,
    )


def test_the_page_shows_a_module_and_a_test_a_body_and_its_pairs() -> None:
    assert (len(pythons()), len(jsons())) == (2, 2)
    assert len(pythons()[0].splitlines()) <= 130


LAWS = """\
import json, sys
from pathlib import Path
import toolwire

assert Path(toolwire.__file__).parent.parent == Path(sys.argv[1]), toolwire.__file__
body, truth = sys.stdin.read().split("\\x1e")
source = toolwire.decode(body, "tiny-chat")

# it is a wire like any other
assert "tiny-chat" in toolwire.wires()
assert toolwire.detect(body) == "tiny-chat"
assert [entry.type for entry in toolwire.catalogue() if entry.wire == "tiny-chat"] == ["call", "gave"]

# paired as the page says
where = lambda part: "".join(f"/{step}" for step in part.at)
assert [[where(p.call), where(p.result), p.how] for p in source.pairs()] == json.loads(truth)

# its own body comes back to the byte, and an edit changes just its part
assert toolwire.encode(source, "tiny-chat").json() == body.encode()
call = source.calls()[0]
edited = toolwire.encode(source.replace(call, toolwire.Call(call.id, "climate", call.args)), "tiny-chat").body
assert edited == json.loads(body.replace('"weather"', '"climate"', 1))

# there and back, over every other wire that can be told from text alone
for other in sys.argv[2:]:
    there = toolwire.translate(body, "tiny-chat", other)
    assert there.losses == [], (other, there.losses)
    back = toolwire.translate(there.json(), other, "tiny-chat", ids=there.ids)
    facts = lambda c: [(p.call.id, p.call.name, p.call.input, p.result.text) for p in c.pairs()]
    assert facts(toolwire.decode(back.json(), "tiny-chat")) == facts(source), other

# from another wire: what it cannot hold is reported, and unknown blocks are kept for its own
made = toolwire.translate({"messages": [{"role": "user", "content": "hi"}], "seed": 7,
                           "tools": [{"type": "function", "function": {"name": "f"}}]}, "openai-chat", "tiny-chat")
assert made.body == {"log": [{"who": "user", "parts": [{"say": "hi"}]}]}, made.body
assert {loss.pointer for loss in made.losses} == {"/seed", "/tools/0"}, made.losses
odd = {"log": [{"who": "model", "parts": [{"hologram": 1}, 7, {"call": "f"}]}]}
assert toolwire.encode(toolwire.decode(odd, "tiny-chat"), "tiny-chat").body == odd
assert len(toolwire.translate(odd, "tiny-chat", "openai-chat").losses) == 2
for broken, pointer in (({}, "/log"), ([], "/log"), ({"log": [{}]}, "/log/0/parts"), ({"log": [3]}, "/log/0/parts")):
    try:
        toolwire.decode(broken, "tiny-chat")
    except toolwire.RemoteError as error:
        assert error.pointer == pointer, error
    else:
        raise AssertionError(broken)
print("ok")
"""


def test_one_module_is_enough_for_a_wire_that_keeps_the_laws(extended: Path) -> None:
    body, truth = jsons()
    done = run(
        extended, "-c", LAWS, str(extended), "openai-chat", "anthropic", stdin=f"{body}\x1e{truth}"
    )
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_the_command_line_knows_the_new_wire_without_being_told(extended: Path) -> None:
    body, _ = jsons()
    there = run(extended, "-m", "toolwire.cli", "translate", "--to", "openai-chat", stdin=body)
    assert (there.returncode, there.stderr) == (0, "")
    assert [message["role"] for message in json.loads(there.stdout)["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    back = run(
        extended,
        "-m",
        "toolwire.cli",
        "translate",
        "--from",
        "openai-chat",
        "--to",
        "tiny-chat",
        stdin=there.stdout,
    )
    assert json.loads(back.stdout) == json.loads(body)
    listed = run(extended, "-m", "toolwire.cli", "wires", "tiny-chat")
    assert [row["title"] for row in json.loads(listed.stdout)] == ["Tiny Chat"]


def test_the_test_on_the_page_passes(extended: Path, tmp_path: Path) -> None:
    file = tmp_path / "test_tiny_chat.py"
    file.write_text(pythons()[1])
    done = run(
        extended,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(file),
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_module_on_the_page_is_in_the_order_the_linter_wants(extended: Path) -> None:
    module = str(extended / "toolwire" / "wires" / "tiny_chat.py")
    for command in (["check"], ["format", "--check"]):
        done = run(
            extended,
            "-m",
            "ruff",
            *command,
            "--no-cache",
            "--config",
            str(ROOT / "pyproject.toml"),
            module,
        )
        assert done.returncode == 0, done.stdout
