"""`toolwire mock`: the official client of a provider works with it, and gets the provider's
refusals."""

from __future__ import annotations

import signal

import anthropic
import pytest
from anthropic.types import MessageParam, ToolParam
from cli.server_process import serve_command
from click.testing import CliRunner

from toolwire.cli.framework.group import commands

ADD: ToolParam = {
    "name": "add",
    "description": "Add two numbers.",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}


def test_the_official_client_of_anthropic_talks_to_it_and_is_refused_what_anthropic_refuses() -> (
    None
):
    with serve_command("mock", "--wire", "anthropic", "--port", "0", lines=1) as found:
        assert found.said == f"anthropic at {found.url}; it accepts any key; Ctrl-C stops it\n"
        with anthropic.Anthropic(base_url=found.url, api_key="any", max_retries=0) as client:
            asked: list[MessageParam] = [{"role": "user", "content": "add 10 and 5"}]
            answer = client.messages.create(model="m", max_tokens=100, messages=asked, tools=[ADD])
            used = answer.content[-1]
            assert used.type == "tool_use" and (used.name, used.input) == ("add", {"a": 10, "b": 5})
            told: list[MessageParam] = [*asked, {"role": "assistant", "content": answer.content}]
            with pytest.raises(
                anthropic.BadRequestError,
                match="`tool_use` ids were found without `tool_result` blocks",
            ):
                client.messages.create(
                    model="m", max_tokens=100, messages=[*told, *asked], tools=[ADD]
                )
            told.append(
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": used.id, "content": "15"}],
                }
            )
            last = client.messages.create(
                model="m", max_tokens=100, messages=told, tools=[ADD]
            ).content[-1]
            assert last.type == "text" and "15" in last.text
        assert found.end(signal.SIGINT) == (0, "", "")


def test_a_lenient_one_takes_any_history() -> None:
    with serve_command("mock", "--wire", "anthropic", "--port", "0", "--lenient", lines=1) as found:
        with anthropic.Anthropic(base_url=found.url, api_key="any", max_retries=0) as client:
            open_: list[MessageParam] = [
                {"role": "user", "content": "hello"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}],
                },
                {"role": "user", "content": "hello"},
            ]
            assert (
                client.messages.create(
                    model="m", max_tokens=100, messages=open_, tools=[ADD]
                ).stop_reason
                == "end_turn"
            )
        assert found.end() == (0, "", "")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "Missing option '--wire' (see toolwire mock --help)"),
        ("--wire antropic", "no such wire: antropic; did you mean anthropic?"),
        (
            "--wire anthropic --port 70000",
            "70000 is not in the range 0<=x<=65535 (see toolwire mock --help)",
        ),
        ("--wire anthropic --host 0.0.0.0", "or allow anyone (--allow-anyone)"),
        ("--wire oxp", "gemini-interactions, mistral, ollama, openai-chat, openai-responses, text"),
    ],
)
def test_misuse_is_one_line(line: str, says: str) -> None:
    done = CliRunner().invoke(commands, ["mock", *line.split()])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("toolwire: ") and done.stderr.rstrip().endswith(says)
