"""Streams of other wires for a real client to read, and what it has to find in them.

    @pytest.mark.parametrize("stream", others("mistral"), ids=str)
    def test_...(stream):
        with told(stream, "mistral") as (server, home): ...
        assert found == wanted(stream)

Of each wire that streams it takes the hand-made answer with the most calls. Knows no wire by name.
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
    """What a client makes of a stream: the calls with their ids, names and inputs, the words, the
    tokens, why it stopped."""

    calls: list[tuple[str, str, JSON]]
    text: str
    tokens: tuple[int, int]
    stop: str


def _is_simple(conversation: Conversation) -> bool:
    """Whether it is one message with words and calls that any wire can say."""
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
            (len(body.calls()), bool(expected_result(stream).text), stream)
            for stream, body in bodies
            if _is_simple(body)
        ]
        out += [stream for *_, stream in sorted(simple, key=lambda row: row[:2])[-1:]]
    return out


def expected_result(stream: StreamCase) -> ClientResult:
    """What stands in it, as its own wire says."""
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
    """A server that tells it on another wire, and what gives the id that a call had at home."""
    stream_to_target = restream(stream.stream, stream.wire, target)
    with serve(
        list(stream_to_target),
        stream_to_target.headers["content-type"],
        headers=stream_to_target.headers,
    ) as server:
        yield server, lambda call_id: stream_to_target.ids.ids.get(call_id, call_id)
