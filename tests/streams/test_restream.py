"""`fold` and `restream` as callers use them: accepted inputs, outputs, and errors that must reach the
caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from urllib.request import urlopen

import pytest
from anthropic.types import RawMessageStreamEvent
from cases import WIRES, streaming
from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter
from rows import rows
from streams.loopback import serve

import toolwire
from toolwire import Call, DecodeError, Text, UsageError, decode, fold, restream, translate
from toolwire.conversation.json import JSON
from toolwire.streaming.events import Chunk
from toolwire.wires import wire
from toolwire.wires.engine.server_tools import ServerToolPolicy

STREAMING = streaming()
OTHERS = [name for name in STREAMING if name != "anthropic"]


def block(index: int, content: JSON, kind: str = "", field: str = "", *pieces: str) -> list[Chunk]:
    """A block and its deltas."""
    out: list[Chunk] = [{"type": "content_block_start", "index": index, "content_block": content}]
    for piece in pieces:
        out.append(
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}
        )
    return [*out, {"type": "content_block_stop", "index": index}]


def text_block(index: int, *pieces: str) -> list[Chunk]:
    return block(index, {"type": "text", "text": ""}, "text_delta", "text", *pieces)


def call_block(index: int, id: str, name: str, *pieces: str, kind: str = "tool_use") -> list[Chunk]:
    return block(
        index,
        {"type": kind, "id": id, "name": name, "input": {}},
        "input_json_delta",
        "partial_json",
        *pieces,
    )


def anthropic_stream(*blocks: list[Chunk]) -> list[Chunk]:
    """An Anthropic answer."""
    usage: JSON = {"input_tokens": 3, "output_tokens": 5}
    message: JSON = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return [
        {"type": "message_start", "message": message},
        *(event for block in blocks for event in block),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]


EVENTS = anthropic_stream(
    text_block(0, "Let me ", "look – ünd sée."),
    call_block(1, "toolu_1", "web_search", '{"q":', '"x"}'),
    call_block(2, "toolu_2", "web_search", '{"q":"y"}'),
)
STREAM = b"".join(wire("anthropic").stream.frame(event) for event in EVENTS)  # type: ignore[union-attr]
CUT = EVENTS[:6]
ERROR: Chunk = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "too many of you"},
}


def calls_in(out: bytes, target: str) -> list[tuple[str, JSON]]:
    calls = decode(fold(out, target), target, "response").calls()
    return [(call.name, call.input) for call in calls]


CALLS: list[tuple[str, JSON]] = [("web_search", {"q": "x"}), ("web_search", {"q": "y"})]


# --- accepted inputs ------------------------------------------------------------------------------


PIECES = [STREAM[i : i + 7] for i in range(0, len(STREAM), 7)]
TEXT = STREAM.decode()
EVENT: TypeAdapter[object] = TypeAdapter(RawMessageStreamEvent)
FORMS: dict[str, Callable[[], object]] = {
    "bytes": lambda: STREAM,
    "bytearray": lambda: bytearray(STREAM),
    "memoryview": lambda: memoryview(STREAM),
    "str": lambda: TEXT,
    "list of bytes": lambda: PIECES,
    "list of memoryviews": lambda: [memoryview(piece) for piece in PIECES],
    "list of texts": lambda: [TEXT[i : i + 3] for i in range(0, len(TEXT), 3)],
    "lines of text": lambda: TEXT.splitlines(keepends=True),
    "list of events": lambda: EVENTS,
    "tuple of events": lambda: tuple(EVENTS),
    "generator of events": lambda: (event for event in EVENTS),
    "SDK objects": lambda: [EVENT.validate_python(event) for event in EVENTS],
    "mapped": lambda: map(dict, EVENTS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_stream_gives_the_same_calls(form: str) -> None:
    assert fold(FORMS[form](), "anthropic") == fold(EVENTS, "anthropic")
    for target in STREAMING:
        assert calls_in(b"".join(restream(FORMS[form](), "anthropic", target)), target) == CALLS, (
            target
        )


@pytest.mark.parametrize("target", [name for name in OTHERS if name != "openai-chat"])
def test_objects_of_another_sdk_are_events_too(target: str) -> None:
    chunks = [
        ChatCompletionChunk.model_validate(chunk)
        for chunk in restream(EVENTS, "anthropic", "openai-chat", framed=False)
    ]
    assert calls_in(b"".join(restream(chunks, "openai-chat", target)), target) == CALLS


@pytest.mark.parametrize("target", STREAMING)
def test_an_async_stream_gives_an_async_one(target: str) -> None:
    async def source() -> AsyncIterator[bytes]:
        for i in range(0, len(STREAM), 11):
            await asyncio.sleep(0)
            yield STREAM[i : i + 11]

    async def all_of_it() -> bytes:
        return b"".join([piece async for piece in restream(source(), "anthropic", target)])

    assert asyncio.run(all_of_it()) == b"".join(restream(STREAM, "anthropic", target))


def test_an_async_stream_is_not_waited_for_without_await() -> None:
    async def source() -> AsyncIterator[bytes]:
        yield STREAM

    with pytest.raises(TypeError, match="not iterable"):
        iter(restream(source(), "anthropic", "anthropic"))  # type: ignore[call-overload]


@pytest.mark.parametrize("stream_input", [None, 7, 0.5, True, object()])
def test_what_is_no_stream_is_the_callers_mistake(stream_input: object) -> None:
    with pytest.raises(UsageError):
        fold(stream_input, "anthropic")
    with pytest.raises(UsageError):
        list(restream(stream_input, "anthropic", OTHERS[0]))


@pytest.mark.parametrize("over", OTHERS)
def test_the_output_is_accepted_as_input(over: str) -> None:
    twice = restream(restream(EVENTS, "anthropic", over), over, "anthropic")
    assert calls_in(b"".join(twice), "anthropic") == CALLS
    assert (
        calls_in(
            b"".join(
                restream(restream(EVENTS, "anthropic", over, framed=False), over, "anthropic")
            ),
            "anthropic",
        )
        == CALLS
    )
    assert fold(restream(EVENTS, "anthropic", over), over) == fold(
        b"".join(restream(EVENTS, "anthropic", over)), over
    )


@pytest.mark.parametrize(
    "name",
    [name for name in toolwire.profiles() if name not in toolwire.wires()] or ["openai-chat"],
)
def test_a_profile_is_a_wire_too(name: str) -> None:
    stream = restream(EVENTS, "anthropic", name)
    written = b"".join(stream)
    translated = translate(fold(EVENTS, "anthropic"), "anthropic", name, "response")
    assert stream.ids == translated.ids
    ids = [
        [call.id for call in decode(body, name, "response").calls()]
        for body in (fold(written, name), translated.body)
    ]
    assert ids[0] == ids[1]
    assert calls_in(b"".join(restream(written, name, "anthropic")), "anthropic") == CALLS


# --- restored ids    ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", STREAMING)
def test_framed_is_bytes_and_unframed_is_events(target: str) -> None:
    assert all(isinstance(piece, bytes) for piece in restream(EVENTS, "anthropic", target))
    events = list(restream(EVENTS, "anthropic", target, framed=False))
    assert all(isinstance(event, dict) for event in events)
    assert fold(events, target) == fold(b"".join(restream(EVENTS, "anthropic", target)), target)
    assert json.loads(json.dumps(events)) == events


@pytest.mark.parametrize("target", STREAMING)
def test_headers_are_those_of_the_target(target: str) -> None:
    stream = restream(EVENTS, "anthropic", target)
    how = wire(target).stream
    assert how is not None
    assert stream.headers["content-type"] == how.media
    assert all(name == name.lower() and value for name, value in stream.headers.items())


@pytest.mark.parametrize("target", STREAMING)
def test_a_stream_is_sent_over_a_real_socket(target: str) -> None:
    stream = restream(EVENTS, "anthropic", target)
    headers = stream.headers
    with (
        serve(stream, headers.pop("content-type"), headers=headers) as server,
        urlopen(server.url + "/any/path") as response,
    ):
        assert calls_in(response.read(), target) == CALLS
        assert {name: response.headers[name] for name in headers} == headers
    assert [request.path for request in server.requests] == ["/any/path"]


def test_losses_grow_with_the_stream() -> None:
    events = anthropic_stream(block(0, {"type": "surprise", "x": 1}), text_block(1, "Hi."))
    stream = restream(events, "anthropic", "openai-chat")
    assert stream.losses == []
    for _ in stream:
        pass
    assert any(
        "surprise" in loss.reason or loss.path[:1] == (1,) or 1 in loss.path
        for loss in stream.losses
    )
    assert len(set(stream.losses)) == len(stream.losses)


INVALID_IDS_AND_NAMES = [
    ("call/1+=", "web.search/v1"),
    ("call 2", "web.search/v2"),
    ("x" * 90, "a" * 90),
]


@pytest.mark.parametrize("target", OTHERS)
def test_the_id_map_restores_ids_and_names(target: str) -> None:
    events = anthropic_stream(
        *(
            call_block(i, id, name, json.dumps({"n": i}))
            for i, (id, name) in enumerate(INVALID_IDS_AND_NAMES)
        )
    )
    stream = restream(events, "anthropic", target)
    body = fold(b"".join(stream), target)
    restored = translate(body, target, "anthropic", "response", ids=stream.ids.to_dict())
    calls = decode(restored.body, "anthropic", "response").calls()
    assert [(call.id, call.name, call.input) for call in calls] == [
        (id, name, {"n": i}) for i, (id, name) in enumerate(INVALID_IDS_AND_NAMES)
    ]
    restored_body = restream(restream_events(events, target), target, "anthropic", ids=stream.ids)
    found_calls = decode(
        fold(b"".join(restored_body), "anthropic"), "anthropic", "response"
    ).calls()
    assert [(call.id, call.name, call.input) for call in found_calls] == [
        (id, name, {"n": i}) for i, (id, name) in enumerate(INVALID_IDS_AND_NAMES)
    ]


def restream_events(events: list[Chunk], target: str) -> list[Chunk]:
    return list(restream(events, "anthropic", target, framed=False))


@pytest.mark.parametrize("target", OTHERS)
def test_a_result_finds_its_call_with_the_map_of_the_stream(target: str) -> None:
    """A turn of a client: the stream, then the history with the result, sent back to the wire of the
    call."""
    stream = restream(
        anthropic_stream(call_block(0, "call/1+=", "web.search", "{}")), "anthropic", target
    )
    (call,) = decode(fold(b"".join(stream), target), target, "response").calls()
    id_map = stream.ids
    if call.origin == "wire":
        assert id_map.ids.get(call.id, call.id) == "call/1+="
    assert id_map.names.get(call.name, call.name) == "web.search"


# --- options --------------------------------------------------------------------------------------


def test_an_unknown_wire_is_an_error_before_anything_is_read() -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    for source, target in (("unknown", "anthropic"), ("anthropic", "unknown"), ("", "anthropic")):
        with pytest.raises(UsageError, match="unknown wire, profile or provider"):
            restream(never(), source, target)
    with pytest.raises(UsageError, match="unknown wire, profile or provider"):
        fold(never(), "unknown")


@pytest.mark.parametrize("name", [name for name in WIRES if wire(name).stream is None])
def test_a_wire_that_does_not_stream_says_so(name: str) -> None:
    for source, target in ((name, "anthropic"), ("anthropic", name)):
        with pytest.raises(UsageError, match="does not stream"):
            restream(EVENTS, source, target)
    with pytest.raises(UsageError, match="does not stream"):
        fold(EVENTS, name)


@pytest.mark.parametrize("target", STREAMING)
def test_only_versions_of_the_wire_are_accepted(target: str) -> None:
    with pytest.raises(UsageError, match="version"):
        restream(EVENTS, "anthropic", target, version=99)
    how = wire(target).stream
    assert how is not None
    for version in how.versions:
        assert (
            calls_in(b"".join(restream(EVENTS, "anthropic", target, version=version)), target)
            == CALLS
        )


def test_an_unknown_policy_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="server_tools is one of"):
        restream(EVENTS, "anthropic", "openai-chat", server_tools="keep")  # type: ignore[call-overload]


HOSTED = anthropic_stream(
    text_block(0, "Searching. "),
    call_block(1, "srvtoolu_1", "web_search", '{"query":"x"}', kind="server_tool_use"),
    block(
        2,
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://example.com",
                    "title": "Example",
                    "encrypted_content": "zzz",
                }
            ],
        },
    ),
    call_block(3, "toolu_1", "lookup", '{"q":"x"}'),
)


@pytest.mark.parametrize("policy", ["text", "call", "drop"])
@pytest.mark.parametrize("target", OTHERS)
def test_tools_that_a_provider_ran_become_what_translate_makes_of_them(
    target: str, policy: ServerToolPolicy
) -> None:
    stream = restream(HOSTED, "anthropic", target, server_tools=policy)
    conversation = decode(fold(b"".join(stream), target), target, "response")
    translated = translate(
        fold(HOSTED, "anthropic"), "anthropic", target, "response", server_tools=policy
    )
    decoded = decode(translated.body, target, "response")
    assert [(call.name, call.input, call.executor) for call in conversation.calls()] == [
        (call.name, call.input, call.executor) for call in decoded.calls()
    ]
    words = [
        "".join(part.text for part in call.parts() if isinstance(part, Text))
        for call in (conversation, decoded)
    ]
    assert words[0] == words[1]
    assert bool(stream.losses) == bool(translated.losses)
    assert "lookup" in [call.name for call in conversation.calls() if call.executor == "client"]


# --- the end, whatever it is ----------------------------------------------------------------------


class SourceError(Exception):
    """What a source may raise."""


@pytest.mark.parametrize("target", STREAMING)
def test_an_exception_of_the_source_reaches_the_caller_after_the_earlier_events(
    target: str,
) -> None:
    def source() -> Iterator[Chunk]:
        yield from EVENTS[:4]
        raise SourceError

    out = ""
    with pytest.raises(SourceError):
        for event in restream(source(), "anthropic", target, framed=False):
            out += json.dumps(event)
    assert "Let me " in out
    with pytest.raises(SourceError):
        fold(source(), "anthropic")


@pytest.mark.parametrize("target", STREAMING)
def test_an_exception_of_an_async_source_reaches_the_caller(target: str) -> None:
    async def source() -> AsyncIterator[Chunk]:
        for event in EVENTS[:4]:
            yield event
        raise SourceError

    async def run() -> None:
        async for _ in restream(source(), "anthropic", target):
            pass

    with pytest.raises(SourceError):
        asyncio.run(run())


class Closable:
    """A source like that of HTTP clients and SDKs: it can be iterated once, and closed."""

    def __init__(self, events: list[Chunk]) -> None:
        self.events = iter(events)
        self.closed = False

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        return next(self.events)

    def close(self) -> None:
        self.closed = True


def test_closing_closes_the_source() -> None:
    log: list[str] = []

    def source() -> Iterator[Chunk]:
        try:
            yield from EVENTS
        finally:
            log.append("generator")

    stream = restream(source(), "anthropic", "openai-chat")
    next(stream)
    stream.close()
    assert log == ["generator"]
    assert list(stream) == []


def test_closing_closes_a_source_that_is_no_generator() -> None:
    source = Closable(EVENTS)
    stream = restream(source, "anthropic", "openai-chat")
    next(stream)
    stream.close()
    assert source.closed


def test_closing_before_the_first_event_closes_the_source() -> None:
    source = Closable(EVENTS)
    restream(source, "anthropic", "openai-chat").close()
    assert source.closed
    log: list[str] = []

    def source_events() -> Iterator[Chunk]:
        try:
            yield from EVENTS
        finally:
            log.append("generator")

    generator = source_events()
    first = next(generator)
    assert first == EVENTS[0]
    restream(generator, "anthropic", "openai-chat").close()
    assert log == ["generator"]


def test_closing_closes_an_async_source() -> None:
    log: list[str] = []

    async def source() -> AsyncIterator[Chunk]:
        try:
            for event in EVENTS:
                yield event
        finally:
            log.append("generator")

    async def run() -> None:
        stream = restream(source(), "anthropic", "openai-chat")
        await anext(stream)
        await stream.aclose()
        assert log == ["generator"]

    asyncio.run(run())


@pytest.mark.parametrize("target", OTHERS)
def test_a_stream_that_breaks_off_ends_in_an_error_and_keeps_the_open_call(target: str) -> None:
    out = b"".join(restream(CUT, "anthropic", target))
    body = fold(out, target)
    conversation = decode(body, target, "response")
    assert (
        "".join(part.text for part in conversation.parts() if isinstance(part, Text))
        == "Let me look – ünd sée."
    )
    assert "the stream ended before the response was complete" in out.decode(errors="replace")
    how = wire(target).stream
    assert how is not None
    assert not how.trailer or not out.endswith(how.trailer)


@pytest.mark.parametrize("target", OTHERS)
def test_the_arguments_of_a_call_that_was_cut_off_are_not_lost(target: str) -> None:
    stream = restream(
        anthropic_stream(call_block(0, "toolu_1", "web_search", '{"q":"need', "le"))[:4],
        "anthropic",
        target,
    )
    out = b"".join(stream)
    (call,) = decode(fold(out, target), target, "response").calls()
    content = call.input
    assert (
        content["_raw"] if isinstance(content, dict) and "_raw" in content else call.arguments
    ) == '{"q":"needle'


def test_a_character_that_two_events_share_is_one_character_in_the_folded_body() -> None:
    """Servers that count UTF-16 units cut a text inside an emoji."""
    deltas = [{"type": "text-delta", "id": "0", "delta": half} for half in ("Hi \ud83d", "\ude00")]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in deltas)
    body = fold(stream + 'data: {"type":"finish"}\n\n', "ai-sdk")
    (text,) = decode(body, "ai-sdk", "response").parts()
    assert isinstance(text, Text) and text.text == "Hi 😀"


@pytest.mark.parametrize("target", OTHERS)
def test_an_error_record_is_the_last_event(target: str) -> None:
    events = [*EVENTS[:4], ERROR, *EVENTS[4:]]
    out = b"".join(restream(events, "anthropic", target))
    assert b"too many of you" in out
    assert b"toolu_2" not in out
    first = b"".join(restream([ERROR], "anthropic", target))
    assert b"too many of you" in first


@pytest.mark.parametrize("source", OTHERS)
def test_a_stream_and_its_folded_body_have_the_same_calls_after_an_error(source: str) -> None:
    broken = list(restream([*EVENTS[:4], ERROR], "anthropic", source, framed=False))
    later = list(restream(EVENTS, "anthropic", source, framed=False))[:-1]
    body = translate(fold([*broken, *later], source), source, "anthropic", "response").body
    written = fold(b"".join(restream([*broken, *later], source, "anthropic")), "anthropic")
    calls, streamed = (
        decode(answer, "anthropic", "response").calls() for answer in (body, written)
    )
    assert [call.name for call in calls] == [call.name for call in streamed]


def test_folding_an_error_keeps_the_earlier_content() -> None:
    body = fold([*EVENTS[:4], ERROR], "anthropic")
    assert isinstance(body, dict) and body["error"] == ERROR["error"]
    (part,) = decode(body, "anthropic", "response").parts()
    assert isinstance(part, Text) and part.text == "Let me look – ünd sée."


GARBAGE = [
    b"",
    b"\n\n",
    b"data: {\n\n",
    b"data: 7\n\n",
    b"data: null\n\n",
    b"data: [1]\n\n",
    b"\xff\xfe\xfd",
    b"{",
    b"[",
    b"[1,2",
    b"{}\n{",
    b"\x00\x00\x00\x10garbage that is no message at all",
    b"\x00" * 64,
    b"event: x\n\n",
    b"data: [DONE]\n\n",
    b"<html>502</html>",
    b'data: {"type": "message_start"}\n\n',
    b"data: \xff\n\n",
    b'{"error": "boom"}',
    b'{"error": {"message": "boom"}}',
    b"data: " + b"[" * 5000 + b"\n\n",
    b'data: {"a": NaN}\n\n',
]


@pytest.mark.parametrize("source", STREAMING)
@rows("garbage", GARBAGE, ids=lambda stream_input: repr(stream_input[:20]))
def test_garbage_becomes_an_error_event_and_raises_nothing(garbage: bytes, source: str) -> None:
    for target in {"anthropic", "openai-chat"} - {source}:
        assert b"".join(restream([garbage[:3], garbage[3:]], source, target)), target
    try:
        fold(garbage, source)
    except DecodeError as error:
        assert error.why


@pytest.mark.parametrize("source", STREAMING)
def test_garbage_to_its_own_wire_raises_nothing_either(source: str) -> None:
    for garbage in GARBAGE:
        list(restream([garbage[:3], garbage[3:]], source, source))


NOTHING: tuple[bytes | str | list[Chunk], ...] = (b"", [], "", b"\n\n")


@pytest.mark.parametrize("source", STREAMING)
def test_an_empty_stream_is_refused(source: str) -> None:
    for nothing in NOTHING:
        with pytest.raises(DecodeError):
            fold(nothing, source)


def test_the_calls_and_their_ids_are_those_of_the_source() -> None:
    for target in OTHERS:
        stream = restream(EVENTS, "anthropic", target)
        parts = [
            part
            for part in decode(fold(b"".join(stream), target), target, "response").parts()
            if isinstance(part, Call)
        ]
        assert [
            stream.ids.ids.get(call.id, call.id) for call in parts if call.origin == "wire"
        ] in ([], ["toolu_1", "toolu_2"])
