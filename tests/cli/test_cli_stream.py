"""`toolwire stream`: a filter that passes each event on at once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from cli.shell import PROGRAM, ROOT, environment, run_with_pipes

import toolwire
from toolwire.conversation.json import JSON

EVENTS: tuple[JSON, ...] = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "One moment."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
    },
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
)


def sse(*events: JSON) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


WHOLE = sse(*EVENTS)


def test_a_stream_becomes_one_of_another_wire() -> None:
    done = run_with_pipes("stream", "--from", "anthropic", "--to", "openai-chat", stdin=WHOLE)
    assert (done.returncode, done.stderr) == (0, b"")
    body = toolwire.fold(done.stdout, "openai-chat")
    (call,) = toolwire.decode(body, "openai-chat", "response").calls()
    assert (call.id, call.name, call.input) == ("toolu_1", "f", {"a": 1})
    assert done.stdout.endswith(b"data: [DONE]\n\n")


def test_each_event_is_passed_on_before_the_next_one_comes() -> None:
    with subprocess.Popen(
        [*PROGRAM, "stream", "--from", "anthropic", "--to", "openai-chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for event, seen in (
            (EVENTS[0], b'"role"'),
            (EVENTS[1], b""),
            (EVENTS[2], b"One moment."),
            (EVENTS[4], b"toolu_1"),
        ):
            process.stdin.write(sse(event))
            process.stdin.flush()
            if seen:  # This read would wait for ever if the program did.
                assert seen in process.stdout.readline() + process.stdout.readline()
        process.stdin.close()
        process.stdout.read()


def test_fold_writes_the_body_a_stream_stands_for(tmp_path: Path) -> None:
    file = tmp_path / "stream.txt"
    file.write_bytes(WHOLE)
    done = run_with_pipes("stream", str(file), "--from", "anthropic", "--fold")
    assert done.returncode == 0
    assert json.loads(done.stdout) == toolwire.fold(WHOLE, "anthropic")


def test_a_stream_that_breaks_off_exits_with_one_and_says_so() -> None:
    done = run_with_pipes(
        "stream", "--from", "anthropic", "--to", "openai-chat", stdin=sse(*EVENTS[:6])
    )
    assert done.returncode == 1
    assert done.stderr == b"toolwire: the stream ended before the response was complete\n"
    assert b'"error"' in done.stdout
    assert b"[DONE]" not in done.stdout


def test_losses_are_reported_when_the_stream_is_over() -> None:
    thought: JSON = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "mystery", "x": 1},
    }
    stop: JSON = {"type": "content_block_stop", "index": 0}
    stream = sse(EVENTS[0], thought, stop, *EVENTS[7:])
    done = run_with_pipes("stream", "--from", "anthropic", "--to", "openai-chat", stdin=stream)
    assert done.returncode == 1
    assert b"loss /" in done.stderr
    assert b"mystery" in done.stderr
    quiet = run_with_pipes(
        "stream", "-q", "--from", "anthropic", "--to", "openai-chat", stdin=stream
    )
    assert (quiet.returncode, quiet.stderr) == (1, b"")


def test_the_id_map_of_a_stream_restores_its_ids(tmp_path: Path) -> None:
    file = tmp_path / "ids.json"
    done = run_with_pipes(
        "stream", "--from", "anthropic", "--to", "mistral", "--save-ids", str(file), stdin=WHOLE
    )
    assert done.returncode == 0
    back = run_with_pipes(
        "stream", "--from", "mistral", "--to", "openai-chat", "--ids", str(file), stdin=done.stdout
    )
    assert b"toolu_1" in back.stdout
    assert b"toolu_1" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--from", "anthropic"), "give either --to WIRE or --fold"),
        (("--from", "anthropic", "--to", "gemini", "--fold"), "give either --to WIRE or --fold"),
        (("--from", "mcp", "--to", "gemini"), "mcp: this wire does not stream"),
        (
            ("--from", "antropic", "--to", "gemini"),
            "no such wire: antropic; did you mean anthropic?",
        ),
        (
            ("--from", "anthropic", "--to", "ai-sdk", "--target-version", "4"),
            "ai-sdk: no such version of this wire: 4",
        ),
        (
            ("--from", "anthropic", "--fold"),
            "anthropic: there is no event of this wire in the stream",
        ),
    ],
)
def test_misuse_is_one_line_and_exits_with_two(arguments: tuple[str, ...], said: str) -> None:
    done = run_with_pipes("stream", *arguments, stdin=b"")
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
