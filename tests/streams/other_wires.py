"""Streams of other wires for a real client to read, and the result that is expected.

    @pytest.mark.parametrize("stream", streams_of_other_wires("mistral"), ids=str)
    def test_...(stream):
        with serve_translation(stream, "mistral") as (server, original_id): ...
        assert result == expected_result(stream)

For each wire that streams, it uses the hand-made response with the most calls. This module knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cases import StreamCase, load_streams, streaming
from msgspec import Struct
from streams.loopback import Server, serve

from toolwire import Call, Conversation, Reasoning, Text, Usage, decode
from toolwire.conversation.json import JSON
from toolwire.streaming.restream import restream


class ClientResult(Struct, frozen=True):
    """What a client reads from a stream: the calls with their ids, names and inputs, the text, the
    tokens and the stop reason."""

    calls: list[tuple[str, str, JSON]]
    text: str
    tokens: tuple[int, int]
    stop: str


def _is_simple(conversation: Conversation) -> bool:
    """True for one message with text and calls that any wire can hold."""
    calls = [
        call
        for call in conversation.calls()
        if call.executor == "client" and call.family == "function"
    ]
    settled = len(calls) == len(conversation.calls()) and all(
        isinstance(call.input, dict) for call in calls
    )
    if len(conversation.messages) != 1 or not settled:
        return False
    (message,) = conversation.messages
    plain = all(isinstance(part, Text | Reasoning | Call) for part in message.parts)
    return plain and message.stop in (None, "stop", "tool")


def streams_of_other_wires(target: str) -> list[StreamCase]:
    """A stream of each other wire."""
    out: list[StreamCase] = []
    for name in streaming():
        bodies = [
            (stream, decode(stream.body, name, "response"))
            for stream in load_streams(name)
            if name != target
        ]
        simple = [
            (len(body.calls()), bool(result_of_body(stream).text), stream)
            for stream, body in bodies
            if _is_simple(body)
        ]
        out += [stream for *_, stream in sorted(simple, key=lambda row: row[:2])[-1:]]
    return out


def result_of_body(stream: StreamCase) -> ClientResult:
    """The result as the body on the source wire gives it."""
    body = decode(stream.body, stream.wire, "response")
    message, usage = body.messages[0], body.settings.get("usage")
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    tokens = (usage.input or 0, usage.output or 0) if isinstance(usage, Usage) else (0, 0)
    calls = [(call.id, call.name, call.input) for call in body.calls()]
    return ClientResult(calls, "".join(texts), tokens, "tool" if calls else "stop")


@contextmanager
def serve_translation(
    stream: StreamCase, target: str
) -> Iterator[tuple[Server, Callable[[str], str]]]:
    """A server that streams the translation, and a function from ids of the target to those of the
    source."""
    stream_to_target = restream(stream.stream, stream.wire, target)
    with serve(
        list(stream_to_target),
        stream_to_target.headers["content-type"],
        headers=stream_to_target.headers,
    ) as server:
        yield server, lambda call_id: stream_to_target.ids.ids.get(call_id, call_id)
