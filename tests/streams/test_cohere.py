"""What is peculiar to Cohere's chat stream. The judge is the official client, which reads it over a
real socket."""

from __future__ import annotations

from contextlib import suppress

import cohere
import pytest
from cases import DELETE, Streamed, changed, load_streams, nodes, recorded_streams, same
from cohere.v2.types import V2ChatStreamResponse
from streams.loopback import serve

from toolwire import Call, Conversation, DecodeError, Reasoning, Text, decode, translate
from toolwire.conversation.json import JSON, get
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    Metadata,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.engine.stream import DONE, STREAM_CUT, StreamReader, named_sse

STREAMS = load_streams("cohere")
CALLED: list[JSON] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Both "}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "cities."}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 1,
            "start": {"toolUse": {"toolUseId": "t.1", "name": "get_weather"}},
        }
    },
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"city":'}}}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 2,
            "start": {"toolUse": {"toolUseId": "t.2", "name": "get_weather"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 2,
            "delta": {"toolUse": {"input": '{"city":"Oslo"}'}},
        }
    },
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '"Paris"}'}}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 3,
            "start": {"toolUse": {"toolUseId": "t.3", "name": "now"}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 3}},
    {"messageStop": {"stopReason": "tool_use"}},
    {
        "metadata": {
            "usage": {"inputTokens": 5, "outputTokens": 40, "totalTokens": 45},
            "metrics": {"latencyMs": 1},
        }
    },
]
"""Two calls of one tool at once and one without arguments, as another wire streams them."""
NOISE: tuple[JSON, ...] = (DELETE, None, True, -1, "", [], {})


def case(name: str) -> Streamed:
    return next(one for one in STREAMS if one.name == name)


def frames(events: list[JSON]) -> bytes:
    return b"".join(named_sse(event) for event in events) + DONE  # type: ignore[arg-type]


def reader(*, keep: bool = False) -> StreamReader:
    stream = wire("cohere").stream
    assert stream is not None
    return stream.reader(keep=keep)


def said(*events: Chunk) -> list[Event]:
    """What a reader says of events and of their end."""
    one = reader()
    out: list[Event] = []
    for event in events:
        out += one.read(event)
        one.count += 1
    return out + one.end()


def event(kind: str, index: int | None = None, **message: JSON) -> Chunk:
    return {
        "type": kind,
        **({"index": index} if index is not None else {}),
        "delta": {"message": message},
    }


def started(index: int, one: JSON, name: str = "look") -> Chunk:
    return event(
        "tool-call-start",
        index,
        tool_calls={"id": one, "type": "function", "function": {"name": name, "arguments": ""}},
    )


def ended(reason: str = "COMPLETE", **more: JSON) -> Chunk:
    return {"type": "message-end", "delta": {"finish_reason": reason, **more}}


def ask(sent: list[bytes]) -> list[V2ChatStreamResponse]:
    """The events that the official client gives of such a stream."""
    with serve(sent) as server:
        client = cohere.ClientV2(api_key="none", base_url=server.url)
        return list(
            client.chat_stream(model="command-a", messages=[cohere.UserChatMessageV2(content="hi")])
        )


# --- the laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_stream_folds_to_its_body_as_events_and_as_text_cut_at_every_byte(
    stream: Streamed,
) -> None:
    data = frames(stream.events)
    assert same(fold(stream.events, "cohere"), stream.body)
    assert same(fold(data.decode(), "cohere"), stream.body)
    assert same(fold([data[i : i + 1] for i in range(len(data))], "cohere"), stream.body)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_cutting_the_text_anywhere_changes_nothing_of_what_goes_out(stream: Streamed) -> None:
    data = frames(stream.events)
    out = b"".join(restream(data, "cohere", "openai-chat"))
    assert (
        b"".join(restream([data[i : i + 1] for i in range(len(data))], "cohere", "openai-chat"))
        == out
    )
    assert (
        b"".join(restream([named_sse(event) for event in stream.events], "cohere", "openai-chat"))  # type: ignore[arg-type]
        == out
    )
    assert b"".join(restream(stream.events, "cohere", "openai-chat")) == out
    assert b"".join(restream([data[:100], data[100:]], "cohere", "cohere")) == data


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "bedrock"])
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_to_stream_and_to_translate_come_to_the_same(stream: Streamed, target: str) -> None:
    folded = fold(restream(stream.events, "cohere", target), target)
    assert same(folded, translate(fold(stream.events, "cohere"), "cohere", target, "response").body)


@pytest.mark.parametrize(
    "stream",
    [*load_streams("anthropic"), *load_streams("openai-chat"), *load_streams("bedrock")],
    ids=str,
)
def test_what_comes_from_another_wire_folds_to_what_translate_makes(stream: Streamed) -> None:
    folded = fold(restream(stream.events, stream.wire, "cohere"), "cohere")
    made = translate(fold(stream.events, stream.wire), stream.wire, "cohere", "response").body
    assert decode(folded, "cohere", "response") == decode(
        made, "cohere", "response"
    )  # JSON may be spelled in another way


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_stream_with_anything_changed_in_it_raises_nothing_but_that_it_is_none(
    stream: Streamed,
) -> None:
    events = stream.events
    for at in [at for at in nodes(events) if len(at) > 1]:
        for new in NOISE:
            broken = changed(events, at, new)
            assert isinstance(broken, list)
            with suppress(DecodeError):
                fold(broken, "cohere")
            list(restream(broken, "cohere", "anthropic"))


def test_recorded_streams_are_read_and_their_pieces_add_up() -> None:
    for stream in recorded_streams("cohere"):
        words = {"content": "", "tool_plan": "", "arguments": ""}
        for one in stream.events:
            for name, path in (
                ("content", ("content", "text")),
                ("tool_plan", ("tool_plan",)),
                ("arguments", ("tool_calls", "function", "arguments")),
            ):
                text = get(one, ("delta", "message", *path))
                words[name] += text if isinstance(text, str) else ""
        read = decode(fold(stream.stream, "cohere"), "cohere", "response")
        assert (
            "".join(part.text for part in read.parts() if isinstance(part, Text))
            == words["content"]
        )
        assert (
            "".join(part.text for part in read.parts() if isinstance(part, Reasoning))
            == words["tool_plan"]
        )
        assert "".join(call.arguments for call in read.calls()) == words["arguments"]


# --- the message ----------------------------------------------------------------------------------


def test_the_plan_is_told_as_it_grows_and_is_over_when_a_call_begins() -> None:
    out = said(
        event("tool-plan-delta", tool_plan="I "),
        event("tool-plan-delta", tool_plan="look."),
        started(0, "c1"),
    )
    assert out[:4] == [
        PartStart(0, Reasoning("")),
        PartDelta(0, "I "),
        PartDelta(0, "look."),
        PartEnd(0),
    ]
    assert isinstance(out[4], PartStart) and isinstance(out[4].part, Call)


def test_content_and_calls_are_counted_each_for_itself() -> None:
    events = [
        event("content-start", 0, content={"type": "text", "text": ""}),
        started(0, "c1"),
        event("content-delta", 0, content={"text": "a"}),
        event("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}),
    ]
    assert [(one.slot, one.text) for one in said(*events) if isinstance(one, PartDelta)] == [
        (0, "a"),
        (1, "{}"),
    ]


def test_fields_that_begin_empty_and_stay_so_are_not_in_the_body() -> None:
    message = get(fold(case("stream-text").events, "cohere"), ("message",))
    assert isinstance(message, dict)
    assert sorted(message) == ["content", "role"]


@pytest.mark.parametrize("missing", [None, "", " ", "null"])
def test_a_blank_id_is_none_and_two_of_them_are_two(missing: str | None) -> None:
    events = [started(0, missing), started(1, missing), ended("TOOL_CALL")]
    told = [
        one.part.id
        for one in said(*events)
        if isinstance(one, PartStart) and isinstance(one.part, Call)
    ]
    assert len(set(told)) == 2
    assert told == [
        call.id for call in decode(fold(events, "cohere"), "cohere", "response").calls()
    ]


def test_text_in_the_opening_event_comes_before_the_deltas() -> None:
    events = [
        event("content-start", 0, content={"type": "text", "text": "a"}),
        event("content-delta", 0, content={"text": "b"}),
    ]
    assert [one.text for one in said(*events) if isinstance(one, PartDelta)] == ["a", "b"]


def test_a_call_that_was_never_opened_is_still_a_call() -> None:
    events = [
        event("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}),
        ended("TOOL_CALL"),
    ]
    assert [
        call.arguments for call in decode(fold(events, "cohere"), "cohere", "response").calls()
    ] == ["{}"]


def test_a_message_may_come_whole_in_its_first_event() -> None:
    whole: JSON = {
        "role": "assistant",
        "tool_plan": "Look.",
        "content": [],
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    }
    first: Chunk = {"type": "message-start", "id": "r1", "delta": {"message": whole}}
    read = decode(fold([first, ended("TOOL_CALL")], "cohere"), "cohere", "response")
    assert [type(part) for part in read.parts()] == [Reasoning, Call]


def test_citations_and_odds_are_kept_and_reported_once() -> None:
    stream = case("stream-thinking-citations-and-logprobs")
    left = [one.path[1:] for one in said(*stream.events) if isinstance(one, Unsupported)]  # type: ignore[arg-type]
    assert left == [
        ("logprobs",),
        ("delta", "message", "citations"),
        ("delta", "usage", "billed_units", "input_tokens"),
        ("delta", "usage", "billed_units", "output_tokens"),
    ]


def test_what_nobody_knows_is_kept_and_reported() -> None:
    out = restream(case("unknown-blocks-and-fields").events, "cohere", "anthropic", framed=False)
    list(out)
    reported = " ".join(loss.pointer + " " + loss.reason for loss in out.losses)
    for word in ("region", "mood", "prompt", "heartbeat", "hologram", "lang", "dreams", "warnings"):
        assert word in reported


def test_a_long_stream_leaves_nothing_in_the_reader() -> None:
    one = reader()
    one.read(event("content-start", 0, content={"type": "text", "text": ""}))
    for _ in range(1000):
        one.read(
            {**event("content-delta", 0, content={"text": "abc"}), "logprobs": {"text": "abc"}}
        )
        one.read(event("citation-start", 0, citations={"start": 1}))
    assert len(repr([(block.pieces, block.block) for block in one.open.values()])) < 200  # type: ignore[attr-defined]
    assert not one.citations and not one.logprobs  # type: ignore[attr-defined]


# --- how it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        ("COMPLETE", "stop"),
        ("TOOL_CALL", "tool"),
        ("MAX_TOKENS", "length"),
        ("STOP_SEQUENCE", "sequence"),
        ("TIMEOUT", "TIMEOUT"),
        ("ERROR", "ERROR"),
    ],
)
def test_every_reason_to_stop_has_its_meaning(reason: str, meant: str) -> None:
    assert said(ended(reason))[-1] == Finish(meant)


def test_calls_tell_that_tools_are_asked_for_whatever_the_reason_says() -> None:
    out = list(restream([started(0, "c1"), ended("COMPLETE")], "cohere", "bedrock", framed=False))
    assert {"messageStop": {"stopReason": "tool_use"}} in out


def test_the_tokens_come_with_the_reason() -> None:
    (note,) = [
        one
        for one in said(ended(usage={"tokens": {"input_tokens": 3, "output_tokens": 4}}))
        if isinstance(one, Metadata)
    ]
    assert "input=3, output=4" in repr(note)


def test_a_stream_that_breaks_off_keeps_what_came_and_says_so() -> None:
    events = case("stream-parallel-calls-with-a-plan").events[:5]
    body = fold(events, "cohere")
    assert get(body, ("error",)) == STREAM_CUT
    assert get(body, ("message", "tool_calls", 0, "function", "arguments")) == '{"city":'
    assert isinstance(decode(body, "cohere", "response"), Conversation)
    assert said(*events)[-2:] == [PartEnd(1, cut=True), StreamError(STREAM_CUT, cut=True)]  # type: ignore[arg-type]


def test_a_call_that_was_cut_off_goes_out_as_far_as_it_came() -> None:
    out = list(restream(CALLED[:6], "bedrock", "cohere", framed=False))
    assert out[-1] == {
        "type": "message-end",
        "delta": {"finish_reason": "ERROR", "error": STREAM_CUT},
    }
    assert (
        get(fold(out, "cohere"), ("message", "tool_calls", 0, "function", "arguments"))
        == '{"city":'
    )


def test_an_error_at_the_end_is_a_fault_and_stands_in_the_body() -> None:
    events = [
        event("content-delta", 0, content={"text": "Well"}),
        ended("ERROR", error="overloaded"),
    ]
    assert said(*events)[-2:] == [PartEnd(0, cut=True), StreamError("overloaded", "ERROR")]
    body = fold(events, "cohere")
    assert get(body, ("error",)) == "overloaded"
    assert get(body, ("message", "content")) == [{"type": "text", "text": "Well"}]


def test_an_error_body_in_place_of_an_event_is_a_fault() -> None:
    assert said({"message": "internal server error"}) == [StreamError("internal server error")]
    assert fold([{"message": "internal server error"}], "cohere") == {
        "message": "internal server error"
    }


def test_what_is_no_stream_of_this_wire_is_refused() -> None:
    for events in ([], CALLED):
        with pytest.raises(DecodeError):
            fold(events, "cohere")


# --- the real client ------------------------------------------------------------------------------


def test_the_official_client_reads_two_calls_of_one_tool_from_another_wire() -> None:
    got = ask(list(restream(CALLED, "bedrock", "cohere")))
    calls: dict[int | None, list[str | None]] = {}
    text = ""
    for one in got:
        if one.type == "tool-call-start":
            held = one.delta.message.tool_calls  # type: ignore[union-attr]
            calls[one.index] = [held.id, held.function.name, held.function.arguments]  # type: ignore[union-attr]
        elif one.type == "tool-call-delta":
            calls[one.index][2] += one.delta.message.tool_calls.function.arguments  # type: ignore[union-attr,operator]
        elif one.type == "content-delta":
            text += one.delta.message.content.text  # type: ignore[union-attr,operator]
    assert text == "Both cities."
    assert calls == {
        0: ["t.1", "get_weather", '{"city":"Paris"}'],
        1: ["t.2", "get_weather", '{"city":"Oslo"}'],
        2: ["t.3", "now", "{}"],
    }
    last = got[-1]
    assert last.type == "message-end" and last.delta is not None
    assert last.delta.finish_reason == "TOOL_CALL"
    assert last.delta.usage is not None and last.delta.usage.tokens is not None
    assert (last.delta.usage.tokens.input_tokens, last.delta.usage.tokens.output_tokens) == (5, 40)


def test_the_official_client_reads_reasoning_and_is_told_of_a_fault() -> None:
    thought: list[JSON] = [
        {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"text": "Hm."}},
            }
        }
    ]
    got = ask(list(restream(thought, "bedrock", "cohere")))
    assert [one.delta.message.content.thinking for one in got if one.type == "content-delta"] == [  # type: ignore[union-attr]
        "Hm."
    ]
    assert got[-1].type == "message-end" and got[-1].delta is not None
    assert (got[-1].delta.finish_reason, got[-1].delta.error) == ("ERROR", STREAM_CUT)


@pytest.mark.parametrize("stream", [one for one in STREAMS if "unknown" not in one.name], ids=str)
def test_what_the_official_client_gives_folds_to_the_same_body_as_what_it_read(
    stream: Streamed,
) -> None:
    got = ask([frames(stream.events)])
    assert fold(got, "cohere") == stream.body  # 7 comes back as 7.0
