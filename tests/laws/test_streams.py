"""Laws 6, 7 and 8, and laws 1 and 11 for streams: a stream folds, commutes, may be cut anywhere,
and is translated without delay.

The streams are those of the case folders and, where they are present, recordings.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from hashlib import blake2b
from itertools import pairwise

import pytest
from cases import (
    DEEP,
    NOISE,
    Case,
    StreamCase,
    child_environment,
    differences,
    facts,
    load,
    load_recorded_streams,
    load_streams,
    nodes,
    same,
    set_at,
    streaming,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace
from oracles import Input
from rows import rows
from stream_oracles import source_may_fail

from toolwire import (
    Call,
    Conversation,
    DecodeError,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
    Usage,
    decode,
    encode,
    translate,
)
from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.model import BodySource, Setting
from toolwire.conversation.parts import output_text
from toolwire.errors import pointer
from toolwire.streaming.accumulate import conversation_events
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    TurnStart,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.engine.encode_context import VALUE_CHANGED, EncodeContext
from toolwire.wires.engine.stream import StreamSpec, StreamWriter

STREAMING = streaming()
STREAMS = [stream for name in STREAMING for stream in load_streams(name)]
RECORDED = [stream for name in STREAMING for stream in load_recorded_streams(name)]


def sample(streams: list[StreamCase], most: int) -> list[StreamCase]:
    """Some of each wire, always the same ones; all of them in a deep run."""
    if DEEP:
        return streams
    ranked = sorted(streams, key=lambda stream: blake2b(str(stream).encode()).digest())
    return [
        stream
        for name in STREAMING
        for stream in [one for one in ranked if one.wire == name][:most]
    ]


SAMPLE = STREAMS + sample(RECORDED, 4)


def pairs_of(streams: list[StreamCase]) -> list[tuple[StreamCase, str]]:
    """Streams with every other wire that streams."""
    return [(case, target) for case in streams for target in STREAMING if target != case.wire]


@cache
def fold_case(case: StreamCase) -> JSON:
    """The body of a stream."""
    return fold(case.stream, case.wire)


def stream_spec(name: str) -> StreamSpec:
    found = wire(name).stream
    assert found is not None
    return found


def raw(stream: StreamCase) -> bytes:
    """The bytes of a stream."""
    if isinstance(stream.stream, str):
        return stream.stream.encode()
    spec = stream_spec(stream.wire)
    return (
        b"".join(spec.frame(event) for event in stream.stream if isinstance(event, dict))
        + spec.trailer
    )


def differing_paths(left: JSON, right: JSON) -> list[str]:
    """Where two bodies differ."""
    return [pointer(at) for at in differences(left, right)]


# --- law 6: a stream folds to the body that its answer would be -----------------------------------


def test_every_wire_that_streams_has_streams_among_its_cases() -> None:
    assert [name for name in STREAMING if len(load_streams(name)) < 3] == []


@rows("case", STREAMS)
def test_a_stream_folds_to_the_whole_body(case: StreamCase) -> None:
    body = fold(case.stream, case.wire)
    assert same(body, case.body), differing_paths(body, case.body)
    assert fold(raw(case), case.wire) == case.body
    assert decode(body, case.wire, "response") == decode(case.body, case.wire, "response")


@rows("case, target", pairs_of(STREAMS), share=3)
def test_folding_and_restreaming_do_not_change_the_events(case: StreamCase, target: str) -> None:
    events = case.events
    before = deepcopy(events)
    fold(events, case.wire)
    for _ in restream(events, case.wire, target):
        pass
    assert same(events, before)


@rows("case", STREAMS + RECORDED)
def test_the_folded_body_is_written_back_verbatim(case: StreamCase) -> None:
    body = fold(case.stream, case.wire)
    conversation = decode(body, case.wire, "response")
    assert same(encode(conversation, case.wire, "response").body, body)
    assert all(call.id and call.name for call in conversation.calls())


# --- law 6, the other way: an answer written as events folds to the answer ------------------------


def without_source(part: Part) -> Part:
    """A part as if it came from no wire."""
    part = replace(
        part, signature=None, source=replace(part.source, raw=UNSET, path=(), original=None)
    )
    if isinstance(part, Result):
        output = (
            tuple(without_source(one) for one in part.output)
            if isinstance(part.output, tuple)
            else part.output
        )
        return replace(part, output=output)
    return replace(part, source=replace(part.source, spec=None))


def without_wire(conversation: Conversation) -> Conversation:
    """A conversation as if it came from no wire."""
    messages = tuple(
        Message(message.role, tuple(without_source(part) for part in message.parts), message.stop)
        for message in conversation.messages
    )
    return Conversation(
        messages,
        (),
        conversation.settings,
        "",
        "response",
        source=BodySource(ordered=conversation.ordered),
    )


def write_events(conversation: Conversation, name: str) -> list[Chunk]:
    """The events of a wire for an answer."""
    writer: StreamWriter = stream_spec(name).writer(
        EncodeContext(name, "response", ids=None, names={}, reverse_map=NO_MAP)
    )
    out: list[Chunk] = []
    for event in conversation_events(conversation):
        match event:
            case MessageStart():
                out += writer.begin(event)
            case TurnStart():
                out += writer.start_turn(event)
            case PartStart():
                out += writer.start(event)
            case PartDelta():
                out += writer.delta(event)
            case PartEnd():
                out += writer.end(event)
            case PartComplete():
                out += writer.complete(event)
            case Metadata():
                out += writer.metadata(event)
            case Finish():
                out += writer.finish(event)
    return out + writer.close()


def can_stream(case: Case) -> bool:
    """True if a wire can stream a response: it has one candidate unless the wire has several, and
    server tools only if the wire has them."""
    conversation = decode(case.body, case.wire, "response")
    writer: StreamWriter = stream_spec(case.wire).writer(
        EncodeContext(case.wire, "response", ids=None, names={}, reverse_map=NO_MAP)
    )
    ran = any(
        isinstance(part, Call | Result) and part.executor == "provider"
        for part in conversation.parts()
    )
    several = sum(message.role == "assistant" for message in conversation.messages) > 1
    roles = {message.role for message in conversation.messages}
    return (
        bool(conversation.messages)
        and (wire(case.wire).hosts or not ran)
        and (writer.supports_candidates or writer.supports_results or not several)
        and (writer.supports_results or roles == {"assistant"})
    )


ANSWERS = [
    case
    for name in STREAMING
    for case in load(name)
    if case.kind == "response" and can_stream(case)
]


@rows("case", ANSWERS)
def test_an_answer_written_as_events_folds_to_the_answer(case: Case) -> None:
    made = encode(
        without_wire(decode(case.body, case.wire, "response")), case.wire, "response"
    ).body
    conversation = decode(made, case.wire, "response")
    body = fold(write_events(without_wire(conversation), case.wire), case.wire)
    assert summarize(decode(body, case.wire, "response")) == summarize(conversation)


# --- law 7: streams commute -----------------------------------------------------------------------


def sort_keys(value: JSON) -> JSON:
    """A value with the keys of its objects in order."""
    if isinstance(value, dict):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    return [sort_keys(item) for item in value] if isinstance(value, list) else value


def arguments(call: Call) -> str:
    """The arguments of a call in a canonical form; verbatim if they are not JSON."""
    broken = call.family == "custom" or call.args.broken
    return call.arguments if broken else text_of(sort_keys(call.input or {}))


def summarize(conversation: Conversation, *, complete: bool = True) -> JSON:
    """The content of an answer, without the position of texts among calls and their boundaries.

    An answer that is not `complete` has no finish reason, no usage, and its error where the wire
    has a field for it.
    """
    messages: list[JSON] = []
    for message in conversation.messages:
        parts = message.parts
        texts = [part for part in parts if isinstance(part, Text)]
        thoughts = [part for part in parts if isinstance(part, Reasoning)]
        summary: dict[str, JSON] = {
            "text": join_texts(part.text for part in texts if not part.refusal),
            "refusal": join_texts(part.text for part in texts if part.refusal),
            "reasoning": join_texts(part.text for part in thoughts),
            "hidden": [part.hidden for part in thoughts if part.hidden],
            "calls": [
                [part.id, part.name, arguments(part), part.family, part.executor]
                for part in parts
                if isinstance(part, Call)
            ],
            "results": [
                [part.call_id, output_text(part.output), part.error, part.executor]
                for part in parts
                if isinstance(part, Result)
            ],
        }
        if complete:
            others: list[JSON] = [
                repr(part)
                for part in parts
                if not isinstance(part, Text | Reasoning | Call | Result)
            ]
            messages.append(
                {**summary, "others": others, "role": message.role, "stop": message.stop}
            )
        elif any(summary.values()):
            messages.append(summary)
    settings: JSON = (
        {key: repr(value) for key, value in conversation.settings.items()} if complete else None
    )
    return [messages, settings]


def join_texts(texts: Iterable[str]) -> str:
    """Texts as one, without blanks: some wires put a line between them."""
    return "".join("".join(texts).split())


def read(body: JSON, name: str) -> Conversation:
    """The answer in a body; an empty one if the body holds only an error."""
    try:
        return decode(body, name, "response")
    except DecodeError:
        assert isinstance(body, dict) and "error" in body
        return Conversation(())


@cache
def ends_in_error(stream: StreamCase) -> bool:
    """True if a stream ends in an error."""
    reader = stream_spec(stream.wire).reader(keep=False)
    events: list[Event] = []
    for event in stream.events:
        assert isinstance(event, dict)
        events += reader.read(event)
        reader.count += 1
    reader.done = isinstance(stream.stream, str) and "[DONE]" in stream.stream
    return any(isinstance(event, StreamError) for event in [*events, *reader.end()])


BODY_LOSSES = {
    "is moved before": "events keep the order of the source",
    "under `_raw`": "pieces of arguments are text, whatever they add up to",
}
"""Words of losses that only bodies have, and why streams do not."""


def assert_commutes(case: StreamCase, body: JSON, target: str, *, complete: bool) -> None:
    """Assert that restreaming and then folding gives what folding and then translating gives."""
    stream = restream(case.stream, case.wire, target)
    there = fold(b"".join(stream), target)
    made = translate(body, case.wire, target, "response")
    alike = same(there, made.body) or summarize(
        read(there, target), complete=complete
    ) == summarize(read(made.body, target), complete=complete)
    assert alike, differing_paths(there, made.body)
    assert (stream.ids.ids, stream.ids.names) == (made.ids.ids, made.ids.names), (
        "the id maps differ"
    )
    reported = " ".join(loss.reason for loss in stream.losses)
    silent = [
        str(loss)
        for loss in made.losses
        if loss.reason not in reported and not any(word in loss.reason for word in BODY_LOSSES)
    ]
    if "other candidates" in reported:
        silent = [loss for loss in silent if "other candidates" not in loss]
    assert not silent or not complete, f"not reported: {'; '.join(silent)}"


@rows("case, target", pairs_of(SAMPLE), share=3)
def test_folding_what_is_restreamed_is_translating_what_is_folded(
    case: StreamCase, target: str
) -> None:
    assert_commutes(case, fold_case(case), target, complete=not ends_in_error(case))


@rows("case", STREAMS + RECORDED)
def test_a_stream_to_its_own_wire_is_unchanged(case: StreamCase) -> None:
    assert same(list(restream(case.stream, case.wire, case.wire, framed=False)), case.events)
    assert fold(b"".join(restream(case.stream, case.wire, case.wire)), case.wire) == fold(
        case.stream, case.wire
    )


@rows("case", STREAMS + RECORDED)
def test_no_known_stream_changes_a_value_that_it_sent(case: StreamCase) -> None:
    """The law that streams commute pardons a reported change, so the report has to be true."""
    target = "openai-chat" if case.wire != "openai-chat" else "anthropic"
    stream = restream(case.stream, case.wire, target)
    list(stream)
    assert VALUE_CHANGED not in [loss.reason for loss in stream.losses]


@rows("case", STREAMS)
def test_a_source_that_fails_leaves_the_content_of_one_that_ends(case: StreamCase) -> None:
    for target in ("anthropic", "ai-sdk"):
        source_may_fail(Input(case.wire, "response", target, case.events))


TEXTS = st.sampled_from(("", "Let me see.", "Two\n\nparagraphs: ünd sée", "\u2028 {}"))
VALUES: tuple[JSON, ...] = ("Oslo", "", 'a "b"', 7, None, [1], {"x": "y"})
ARGUMENTS = st.dictionaries(st.sampled_from(("city", "n")), st.sampled_from(VALUES))


@st.composite
def answers(draw: st.DrawFn) -> Conversation:
    """A drawn answer: a text and calls, some of one tool."""
    text = draw(TEXTS)
    calls = [
        Call(f"call_{n}", draw(st.sampled_from(("search", "read"))), draw(ARGUMENTS))
        for n in range(draw(st.integers(0 if text else 1, 3)))
    ]
    parts = (*((Text(text),) if text else ()), *calls)
    message = Message("assistant", parts, "tool" if calls else "stop")
    settings: dict[str, Setting] = {"id": "answer_1", "model": "m", "usage": Usage(3, 5)}
    return Conversation((message,), settings=settings, kind="response")


@pytest.mark.parametrize("name", STREAMING)
@given(data=st.data())
def test_a_drawn_stream_folds_commutes_and_may_be_cut(name: str, data: st.DataObject) -> None:
    body = encode(data.draw(answers()), name, "response").body
    conversation = decode(body, name, "response")
    case = StreamCase("drawn", name, [*write_events(without_wire(conversation), name)])
    folded_body = fold(case.stream, name)
    assert summarize(read(folded_body, name)) == summarize(conversation)
    target = data.draw(st.sampled_from([other for other in STREAMING if other != name]))
    assert_commutes(case, folded_body, target, complete=True)
    whole = raw(case)
    position = data.draw(st.integers(0, len(whole)))
    pieces = (whole[:position], whole[position:])
    assert fold(pieces, name) == fold(whole, name)
    assert b"".join(restream(pieces, name, target)) == b"".join(restream(whole, name, target))


# --- law 8: cutting the bytes anywhere changes nothing --------------------------------------------


KEEP_ALIVES = (b": keep-alive\n\n", b"event: ping\ndata: \n\n", b"data:\n\n", b"retry: 3000\n\n")
"""What servers and proxies send between the events of a stream to keep its connection alive."""


@rows("case", [case for case in STREAMS if stream_spec(case.wire).media == "text/event-stream"])
def test_keep_alives_between_events_change_nothing(case: StreamCase) -> None:
    whole = raw(case)
    target = "anthropic" if case.wire != "anthropic" else "openai-chat"
    expected = b"".join(restream(whole, case.wire, target))
    for keep_alive in KEEP_ALIVES:
        padded = keep_alive + whole.replace(b"\n\n", b"\n\n" + keep_alive)
        assert same(fold(padded, case.wire), fold(whole, case.wire))
        assert b"".join(restream(padded, case.wire, target)) == expected


def cut_positions(whole: bytes) -> list[int]:
    """Where to cut: everywhere in a short stream, at some positions of a longer one."""
    every = range(1, len(whole))
    short, long = (1000, 50) if DEEP else (25, 3)
    most = short if len(whole) < LONG_STREAM else long
    if len(every) <= most:
        return list(every)
    return sorted(random.Random(len(whole)).sample(every, most))


LONG_STREAM = 20_000
"""The bytes from which on reading a stream once takes so long that few positions are tried."""


def trailers(whole: bytes) -> tuple[bytes, ...]:
    """What may follow a stream and has no meaning."""
    if whole[:1] == b"\x00":
        return (b"",)
    return (
        (b"\n", b"\r\n\n")
        if whole.lstrip()[:1] in (b"{", b"[")
        else (b"\n\n", b": bye\n\n", b": by")
    )


@rows("case", SAMPLE, share=2)
def test_bytes_may_be_cut_anywhere(case: StreamCase) -> None:
    whole = raw(case)
    body = fold(whole, case.wire)
    target = next(name for name in ("anthropic", "openai-chat") if name != case.wire)
    out = b"".join(restream(whole, case.wire, target))
    for at in cut_positions(whole):
        pieces = (whole[:at], whole[at:])
        assert fold(pieces, case.wire) == body, at
        assert b"".join(restream(pieces, case.wire, target)) == out, at
    single = [whole[i : i + 1] for i in range(len(whole))]
    assert fold(single, case.wire) == body
    assert b"".join(restream(single, case.wire, target)) == out
    for tail in trailers(whole):
        assert fold(whole + tail, case.wire) == body
        assert b"".join(restream([whole, tail], case.wire, target)) == out


async def yield_slowly(items: list[JSON] | list[bytes]) -> AsyncIterator[JSON | bytes]:
    for item in items:
        await asyncio.sleep(0)
        yield item


async def restream_async(source: AsyncIterator[JSON | bytes], wire: str, target: str) -> bytes:
    return b"".join([piece async for piece in restream(source, wire, target)])


@rows("case, target", pairs_of(STREAMS), share=3)
def test_the_output_does_not_depend_on_how_the_input_arrives(case: StreamCase, target: str) -> None:
    whole = raw(case)
    expected = b"".join(restream(whole, case.wire, target))
    assert (
        asyncio.run(restream_async(yield_slowly([whole[:40], whole[40:]]), case.wire, target))
        == expected
    )
    assert b"".join(restream(case.events, case.wire, target)) == expected
    spec = stream_spec(target)
    events = list(restream(whole, case.wire, target, framed=False))
    assert b"".join(spec.frame(event) for event in events) + spec.trailer == expected


# --- law 1: broken streams     --------------------------------------------------------------------


@st.composite
def break_events(draw: st.DrawFn, events: list[JSON]) -> list[JSON]:
    """The events with a node changed in one or two of them, or one lost, doubled or moved, or the
    rest cut off."""
    events = deepcopy(events)
    for _ in range(draw(st.sampled_from((1, 1, 2)))):
        if not events:
            break
        i = draw(st.integers(0, len(events) - 1))
        match draw(st.integers(0, 9)):
            case 0:
                del events[i]
            case 1:
                events.insert(draw(st.integers(0, len(events))), deepcopy(events[i]))
            case 2:
                events.insert(draw(st.integers(0, len(events) - 1)), events.pop(i))
            case 3:
                del events[i + 1 :]
            case _:
                paths = [at for at in nodes(events[i]) if at]
                if paths:
                    events[i] = set_at(
                        events[i], draw(st.sampled_from(paths)), draw(st.sampled_from(NOISE))
                    )
    return events


@pytest.mark.parametrize("name", STREAMING)
@given(data=st.data())
def test_for_any_garbage_fold_raises_only_decode_error_and_restream_nothing(
    name: str, data: st.DataObject
) -> None:
    case = data.draw(st.sampled_from(load_streams(name)))
    events = data.draw(break_events(case.events))
    try:
        body = fold(events, case.wire)
    except DecodeError as error:
        assert error.why and str(error).startswith(case.wire)
    else:
        with suppress(DecodeError):
            decode(body, case.wire, "response")
    target = data.draw(st.sampled_from(STREAMING))
    stream = restream(events, case.wire, target)
    out = b"".join(stream)
    assert all(loss.reason for loss in stream.losses)
    if target != case.wire:
        read(fold(out, target), target)


@pytest.mark.parametrize("name", STREAMING)
@pytest.mark.parametrize("frame", ["data: {}\n\n", "{}\n"], ids=["sse", "lines"])
def test_for_an_event_that_is_no_object_fold_raises_only_decode_error_and_restream_nothing(
    name: str, frame: str
) -> None:
    events: list[JSON] = [None, True, 0, "text", [], ["text"], {}, {"type": {}}]
    for event in events:
        garbage = frame.format(text_of(event)).encode() * 2
        with suppress(DecodeError):
            fold(garbage, name)
        for target in STREAMING:
            assert b"".join(restream(garbage, name, target)) is not None


# --- law 11: deterministic ------------------------------------------------------------------------


def fingerprints() -> list[str]:
    """One line for each stream and target: a hash of the bytes, the losses and the id map."""
    lines: list[str] = []
    for case in STREAMS:
        for target in STREAMING:
            stream = restream(case.stream, case.wire, target)
            output = repr(
                (b"".join(stream), [str(loss) for loss in stream.losses], stream.ids.to_dict())
            )
            lines.append(f"{case} {target} {blake2b(output.encode(), digest_size=8).hexdigest()}")
        lines.append(
            f"{case}"
            f" {blake2b(text_of(fold(case.stream, case.wire)).encode(), digest_size=8).hexdigest()}"
        )
    return lines


def test_another_process_with_another_hash_seed_gives_the_same_streams() -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, __file__],
            env=child_environment(seed),
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "3")
    ]
    one, other = (run.communicate(timeout=600)[0].splitlines() for run in runs)
    assert len(one) > len(STREAMS) and one == other


# --- nothing is held back -------------------------------------------------------------------------

TARGETS = [name for name in STREAMING if name != "anthropic"]
"""Where the Anthropic streams below go."""


def message(*blocks: Iterator[Chunk]) -> Iterator[Chunk]:
    """An Anthropic answer with these blocks, each event made when it is requested."""
    usage: JSON = {"input_tokens": 1, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        },
    }
    for block in blocks:
        yield from block
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": usage,
    }
    yield {"type": "message_stop"}


def text(count: int, *, index: int = 0, size: int = 0) -> Iterator[Chunk]:
    """A text of `count` words, each an event."""
    yield {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": "text", "text": ""},
    }
    for n in range(count):
        delta: JSON = {"type": "text_delta", "text": f"word{n}" + "-" * size + " "}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def call(count: int, *, index: int = 0, size: int = 0) -> Iterator[Chunk]:
    """A call whose only argument has `count` words, each an event."""
    block: JSON = {"type": "tool_use", "id": f"tooluaaa{index}", "name": "web_search", "input": {}}
    yield {"type": "content_block_start", "index": index, "content_block": block}
    for n in range(-1, count + 1):
        piece = '{"q":"' if n < 0 else f"word{n}" + "-" * size + " " if n < count else '"}'
        yield {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
    yield {"type": "content_block_stop", "index": index}


def peak(stream: Iterator[Chunk]) -> int:
    """The largest amount of memory that a stream takes."""
    tracemalloc.start()
    try:
        for _ in stream:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def restream_through(source: Iterator[Chunk], *path: str) -> Iterator[Chunk]:
    """A stream translated along several wires, starting with its own."""
    for start, target in pairwise(path):
        source = (event for event in restream(source, start, target, framed=False))
    return source


def another_wire(name: str) -> str:
    return "openai-chat" if name == "anthropic" and "openai-chat" in STREAMING else "anthropic"


@pytest.mark.parametrize(
    "target", [name for name in TARGETS if not facts(name).exempt.repeats_answer]
)
def test_a_text_twenty_times_as_long_takes_no_more_memory(target: str) -> None:
    for path in (("anthropic", target), ("anthropic", target, another_wire(target))):
        little, much = (
            peak(restream_through(message(text(count, size=2000)), *path)) for count in (30, 600)
        )
        assert much < little + 100_000, path


@pytest.mark.parametrize(
    "target",
    [
        name
        for name in TARGETS
        for exempt in (facts(name).exempt,)
        if not (exempt.whole_calls or exempt.repeats_calls or exempt.repeats_answer)
    ],
)
def test_a_call_twenty_times_as_long_takes_no_more_memory(target: str) -> None:
    paths = (
        [("anthropic", target)]
        if facts(target).exempt.keeps_arguments
        else [("anthropic", target), ("anthropic", target, another_wire(target))]
    )
    for path in paths:
        little, much = (
            peak(restream_through(message(call(count, size=2000)), *path)) for count in (30, 600)
        )
        assert much < little + 100_000, path


@pytest.mark.parametrize(
    "target", [name for name in TARGETS if not facts(name).exempt.repeats_answer]
)
def test_many_short_parts_take_little_memory(target: str) -> None:
    def parts(count: int) -> Iterator[Chunk]:
        return message(*(text(1, index=n, size=5000) for n in range(count)))

    little, much = (
        peak(restream_through(parts(count), "anthropic", target)) for count in (20, 400)
    )
    assert much < little + 300_000


def outputs(events: list[Chunk], source: str, target: str) -> list[tuple[int, str]]:
    """Every event that comes out, with the number of events that were read before it."""
    pulled = 0

    def one_by_one() -> Iterator[Chunk]:
        nonlocal pulled
        for event in events:
            pulled += 1
            yield event

    out = restream(one_by_one(), source, target, framed=False)
    return [(pulled, text_of(event)) for event in out]


def input_count(needle: str, events: list[tuple[int, str]]) -> int:
    """The number of events that were read before a text comes out; -1 if it never does."""
    return next((count for count, event in events if needle in event), -1)


@pytest.mark.parametrize("target", TARGETS)
def test_a_word_is_sent_before_the_next_event_is_requested(target: str) -> None:
    events = list(message(text(5), text(5, index=1)))
    read_events = list(enumerate(map(text_of, events), 1))
    there = list(restream(events, "anthropic", target, framed=False))
    target_events = list(enumerate(map(text_of, there), 1))
    for n in range(5):
        assert input_count(f"word{n} ", outputs(events, "anthropic", target)) == input_count(
            f"word{n} ", read_events
        )
        assert input_count(f"word{n} ", outputs(there, target, "anthropic")) == input_count(
            f"word{n} ", target_events
        )


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_opens_as_soon_as_its_id_and_name_are_known_and_grows_with_its_pieces(
    target: str,
) -> None:
    events = list(message(text(1), call(4, index=1), call(4, index=2)))
    read_events = list(enumerate(map(text_of, events), 1))
    out = outputs(events, "anthropic", target)
    exempt = facts(target).exempt
    if exempt.whole_calls:
        closed = input_count(text_of({"type": "content_block_stop", "index": 1}), read_events)
        if exempt.joins_calls:
            closed = len(events)
        assert 0 < input_count("word3 ", out) <= closed
    else:
        for needle in ("tooluaaa1", "tooluaaa2", *(f"word{n} " for n in range(1, 4))):
            assert input_count(needle, out) == input_count(needle, read_events), needle
    there = list(restream(events, "anthropic", target, framed=False))
    target_events = list(enumerate(map(text_of, there), 1))
    back = outputs(there, target, "anthropic")
    if exempt.late_calls or stream_spec(target).reader(keep=False).may_contain_results:
        assert all(input_count(f"word{n} ", back) > 0 for n in range(4))
        return
    for needle in ("tooluaaa1", "tooluaaa2"):
        if input_count(needle, target_events) > 0:  # some wires have no ids
            delay = input_count(needle, back) - input_count(needle, target_events)
            assert 0 <= delay <= bool(exempt.late_names), needle
    for n in range(1, 4):
        assert input_count(f"word{n} ", back) == input_count(f"word{n} ", target_events)


if __name__ == "__main__":
    print("\n".join(fingerprints()))
