"""Streams whose calls are in their text: what is held back, what is emitted, and when."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from cases import StreamCase, load_streams
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI
from rows import rows
from streams.loopback import serve

from toolwire import Call, Conversation, Media, Opaque, Part, Reasoning, Text, decode, translate
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, Object, get
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.text.dialect import CallBlock, Dialect
from toolwire.wires.text.dialects import DIALECTS
from toolwire.wires.text.scanner import MARK_STARTS, Scanner, find_calls

CASES = load_streams("text")
TAGGED = '<tool_call>{"id": "c1", "name": "f", "arguments": {"a": 1}}</tool_call>'


def chunk(content: str | None = None, finish: str | None = None, **delta: JSON) -> Chunk:
    delta_fields: Object = {**({} if content is None else {"content": content}), **delta}
    return {
        "id": "x",
        "model": "m",
        "choices": [{"index": 0, "delta": delta_fields, "finish_reason": finish}],
    }


def stream(*pieces: str, finish: str | None = "stop") -> list[Chunk]:
    chunks = [chunk("", role="assistant"), *(chunk(piece) for piece in pieces)]
    return chunks if finish is None else [*chunks, chunk(finish=finish)]


def read_events(events: list[Chunk]) -> list[list[Event]]:
    """The neutral events of each chunk, and those of the end."""
    how = wire("text").stream
    assert how is not None
    reader = how.reader()
    out: list[list[Event]] = []
    for event in events:
        out.append(reader.read(event))
        reader.count += 1
    return [*out, reader.end()]


def parts(events: list[Event]) -> list[Part]:
    """The parts of the first candidate."""
    gather = Accumulator()
    out: list[Part] = []
    for event in events:
        match event:
            case PartStart(choice=0):
                gather.start(event)
            case PartDelta() if event.slot in gather:
                gather.delta(event)
            case PartEnd() if event.slot in gather:
                out.append(gather.end(event))
            case PartComplete(choice=0):
                out.append(event.part)
    return out


def summarize(found: list[Part]) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    for part in found:
        match part:
            case Text(text=text):
                out.append(("text", text))
            case Reasoning(text=text):
                out.append(("thought", text))
            case Call():
                out.append(("call", part.id, part.name, part.args.text, part.origin))
            case Media() | Opaque():
                out.append((type(part).__name__,))
    return out


def text_in(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, PartDelta))


def calls(events: list[Event]) -> list[str]:
    return [
        event.part.id
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ]


# --- one reading for streams and bodies -----------------------------------------------------------

PIECES = (
    "<tool_call>",
    "</tool_call>",
    '{"name": "f", "arguments": {"a": 1}}',
    '{"name":"f","parameters":{"b":"}<tool_call>"}}',
    "<",
    ">",
    "[",
    "{",
    '"',
    "\\",
    "}",
    "]",
    "[TOOL_CALLS]",
    ' [{"name":"h","arguments":{}}]',
    "<|python_tag|>",
    "<|eom_id|>",
    "; ",
    "\n",
    "  ",
    "hello",
    '<invoke name="f">',
    '<ns:invoke name="g"><ns:parameter name="p">1</ns:parameter></ns:invoke>',
    "<div",
    "<function_calls>",
    "</function_calls>",
    '<parameter name="q">x',
    "</parameter>",
    "</invoke>",
    "[f(a=1)]",
    "[f(",
    'a="x)"',
    ")",
    "[g(c='é')] ",
    "<tool",
    "_call>",
    '{"x": 1}',
    '{"name"',
    ': "f"',
    ', "parameters"',
    ": {}}",
    "tru",
    "-1.5e",
    "ns:",
    "\x0c",
    "'",
)


def parse_by_brute_force(text: str) -> tuple[Dialect | None, list[CallBlock]]:
    """The blocks of a text, found by trying every dialect at every place."""
    for dialect in DIALECTS.values():
        bare_block = (
            dialect.block.parse(text, 0)
            if dialect.bare_start and text.lstrip(" \t\n\r").startswith(dialect.bare_start)
            else None
        )
        if bare_block is not None:
            return dialect, [bare_block]
    current: Dialect | None = None
    out: list[CallBlock] = []
    at = 0
    while at < len(text):
        candidates = [
            candidate
            for candidate in ([current] if current else DIALECTS.values())
            if re.compile(candidate.opens).match(text, at)
        ]
        found = next(
            (
                (candidate, block)
                for candidate in candidates
                if (block := candidate.block.parse(text, at)) is not None
            ),
            None,
        )
        if found is None:
            at += 1
            continue
        current, block = found
        after = current.closing.parse(text, block.end) if current.closing else None
        out += [block] if after is None else [block, after]
        at = out[-1].end
    return current, out


@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_a_streamed_text_has_the_calls_that_a_brute_force_search_finds(
    text: str, sizes: list[int]
) -> None:
    dialect, blocks = parse_by_brute_force(text)
    assert find_calls(text)[1] == blocks
    scan = Scanner()
    stretches = []
    at = n = 0
    while at < len(text):
        size = sizes[n % len(sizes)]
        stretches += scan.feed(text[at : at + size])
        at, n = at + size, n + 1
    stretches += scan.end()
    assert "".join(stretch.text for stretch in stretches) == text
    assert scan.dialect is dialect
    assert [stretch.text for stretch in stretches if stretch.calls is not None] == [
        text[b.start : b.end] for b in blocks
    ]


def cut_streams() -> Iterator[tuple[str, list[JSON]]]:
    for case in CASES:
        for n in range(2, len(case.events) + 1):
            yield f"{case.name}-{n}", case.events[:n]


@rows("name, events", cut_streams(), ids=lambda name, events: name)
def test_the_events_of_a_truncated_stream_match_its_folded_body(
    name: str, events: list[Chunk]
) -> None:
    neutral_events = [event for chunk in read_events(events) for event in chunk]
    answer = decode(fold(events, "text"), "text", "response")
    summary = summarize(
        [part for part in answer.messages[0].parts if not isinstance(part, Text) or part.text]
    )
    assert summarize(parts(neutral_events)) == summary


def test_every_marker_starts_with_a_character_that_the_scanner_looks_for() -> None:
    assert {dialect.opens.lstrip("\\")[0] for dialect in DIALECTS.values()} == set(MARK_STARTS)


# --- what is held back, and for how long ----------------------------------------------------------


def test_text_is_emitted_at_once_and_only_the_start_of_a_marker_is_held_back() -> None:
    text = "if a < b and c[0] then <b>bold</b> <tool_box> [TOOL] </tool_call> | <| done"
    longest = len("<|python_tag|>")
    emitted = ""
    for n, events in enumerate(read_events(stream(*text))[1 : len(text) + 1], 1):
        emitted += text_in(events)
        pending = text[len(emitted) : n]
        assert pending == "" or (pending[0] in MARK_STARTS and len(pending) < longest)
        assert not re.search(r"\s", pending)
    assert emitted == text


def test_a_call_is_emitted_with_the_piece_that_completes_it() -> None:
    events = read_events(stream("Look.\n", TAGGED[:30], TAGGED[30:-1], ">", " More", " words"))
    assert [calls(events) for events in events] == [[], [], [], [], ["c1"], [], [], [], []]
    assert [text_in(events) for events in events] == [
        "",
        "Look.",
        "",
        "",
        "",
        " More",
        " words",
        "",
        "",
    ]


def test_a_json_answer_is_emitted_as_text_at_the_first_key_that_no_call_has() -> None:
    events = read_events(stream('{"na', 'me": "Paris", ', '"temp', '": 1', "}"))
    assert [text_in(events) for events in events] == [
        "",
        "",
        "",
        "",
        '{"name": "Paris", "temp": 1',
        "}",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("pieces", "at"),
    [
        (("[", "1", "] is the source"), 2),
        (("[lin", "k](x)"), 2),
        (("[Note (see", " below)]"), 2),
        (("[f(a=1)]", "\n", "Hello"), 3),
        (('{"name": "f", "parameters": {}}', " ", "so"), 3),
        (('{"name": "f",', "}"), 2),
        (("<tool_call>", "\n", "is a tag"), 3),
        (('<tool_call>{"name": "f"}', "</tool", "s>"), 3),
        (('<invoke name="f">', "so"), 2),
        (("[TOOL_CALLS]", " none"), 2),
    ],
)
def test_text_that_can_no_longer_be_a_call_is_emitted_at_once(
    pieces: tuple[str, ...], at: int
) -> None:
    texts = [text_in(events) for events in read_events(stream(*pieces))]
    assert texts[at] == "".join(pieces[:at]).removeprefix("".join(texts[:at])) != ""
    assert not any(texts[1:at])


def test_a_message_that_is_a_bare_call_is_emitted_at_its_end() -> None:
    events = read_events(stream('{"name": "f", ', '"parameters": {"a": 1}}', "<|eot_id|>"))
    assert [len(calls(events)) for events in events] == [0, 0, 0, 0, 0, 1]


def test_line_breaks_around_calls_are_not_text() -> None:
    events = [
        event
        for events in read_events(
            stream("\n", "Hm", "\n", "\n", TAGGED, "\n", "\n", TAGGED, "\nSo", "\n")
        )
        for event in events
    ]
    assert [dialect[:2] for dialect in summarize(parts(events))] == [
        ("text", "\nHm\n"),
        ("call", "c1"),
        ("call", "c1"),
        ("text", "So\n"),
    ]


# --- what is cut off ------------------------------------------------------------------------------


@rows("cut", range(1, len(TAGGED)))
def test_a_truncated_call_is_emitted_as_text(cut: int) -> None:
    events = stream("Look. ", TAGGED[:cut], finish=None)
    body = fold(events, "text")
    assert isinstance(body, dict)
    assert body["error"] == {
        "message": "the stream ended before the response was complete",
        "type": "stream_cut",
    }
    neutral_events = [event for chunk in read_events(events) for event in chunk]
    assert summarize(parts(neutral_events)) == [("text", "Look. " + TAGGED[:cut])]
    assert isinstance(neutral_events[-1], StreamError) and neutral_events[-1].cut
    out = list(restream(events, "text", "anthropic", framed=False))
    assert (
        "".join(text for event in out if isinstance(text := _at(event, "delta", "text"), str))
        == "Look. " + TAGGED[:cut]
    )
    assert out[-1]["type"] == "error"


def _at(value: JSON, *path: str) -> JSON:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def test_buffered_text_is_emitted_before_an_error() -> None:
    events: list[Chunk] = [
        *stream("Look. <tool_call>{", finish=None),
        {"error": {"message": "overloaded", "type": "server_error"}},
    ]
    neutral_events = read_events(events)
    assert text_in(neutral_events[2]) == "<tool_call>{" and neutral_events[2][-1] == StreamError(
        "overloaded", "server_error"
    )
    assert neutral_events[3] == []


def test_calls_in_fields_are_ignored_and_kept_in_the_body() -> None:
    native: JSON = [
        {"index": 0, "id": "n1", "type": "function", "function": {"name": "f", "arguments": '{"a"'}}
    ]
    rest: JSON = [{"index": 0, "function": {"arguments": ": 1}"}}]
    events = [
        chunk("Hi", tool_calls=native),
        chunk(tool_calls=rest),
        chunk(function_call={"name": "g"}, finish="stop"),
    ]
    body = fold(events, "text")
    assert isinstance(body, dict)
    assert body["choices"] == [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": "Hi",
                "function_call": {"name": "g"},
                "tool_calls": [
                    {
                        "id": "n1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"a": 1}'},
                    }
                ],
            },
        }
    ]
    out = restream(events, "text", "anthropic", framed=False)
    assert not any('"type": "tool_use"' in json.dumps(event) for event in out)
    assert [loss.reason for loss in out.losses] == ["no such field on this wire"] * 2


def test_minted_ids_match_the_body_and_differ_between_candidates() -> None:
    call = '<tool_call>{"name": "f"}</tool_call>'
    pieces: list[tuple[int, JSON]] = [(1, call), (0, call), (1, call), (0, call)]
    events: list[Chunk] = [
        {"id": "x", "choices": [{"index": n, "delta": {"content": text}, "finish_reason": "stop"}]}
        for n, text in pieces
    ]
    neutral_events = [
        event for chunk in read_events(events) for event in chunk if isinstance(event, PartComplete)
    ]
    first = [
        event.part.id
        for event in neutral_events
        if isinstance(event.part, Call) and event.choice == 0
    ]
    body = decode(fold(events, "text"), "text", "response")
    assert first == [part.id for part in body.messages[0].parts if isinstance(part, Call)]
    assert len({event.part.id for event in neutral_events if isinstance(event.part, Call)}) == 4


# --- other wires, in tags ------------------------------------------------------------------------


def block(index: int, opening: Object, *deltas: Object) -> list[Chunk]:
    start: Chunk = {"type": "content_block_start", "index": index, "content_block": opening}
    grows: list[Chunk] = [
        {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
    ]
    return [start, *grows, {"type": "content_block_stop", "index": index}]


def text_block(index: int, *texts: str) -> list[Chunk]:
    deltas: list[Object] = [{"type": "text_delta", "text": text} for text in texts]
    return block(index, {"type": "text", "text": ""}, *deltas)


def call_block(index: int, call_id: str, *texts: str) -> list[Chunk]:
    opening: Object = {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {}}
    deltas: list[Object] = [{"type": "input_json_delta", "partial_json": text} for text in texts]
    return block(index, opening, *deltas)


def anthropic_stream(*blocks: list[Chunk], stop: str = "tool_use") -> list[Chunk]:
    message: Object = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 1},
    }
    last: Chunk = {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 7},
    }
    return [
        {"type": "message_start", "message": message},
        *(e for block in blocks for e in block),
        last,
        {"type": "message_stop"},
    ]


def restream_to_text(events: list[Chunk]) -> str:
    body = fold(restream(events, "anthropic", "text"), "text")
    assert body == translate(fold(events, "anthropic"), "anthropic", "text", "response").body
    content = decode(body, "text", "response").messages[0].raw
    assert isinstance(content, dict)
    text = content["content"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("blocks", "content"),
    [
        (
            (
                text_block(0, "Two ", "cities."),
                call_block(1, "a", '{"city":', '"Paris"}'),
                call_block(2, "b", '{"city":"Oslo"}'),
            ),
            (
                'Two cities.\n<tool_call>{"id":"a","name":"get_weather","arguments":{"city":"Paris"}}</tool_call>\n'
                '<tool_call>{"id":"b","name":"get_weather","arguments":{"city":"Oslo"}}</tool_call>'
            ),
        ),
        (
            (
                text_block(0, "\n", "\n"),
                call_block(1, "a"),
                text_block(2, " "),
                text_block(3, "Done."),
            ),
            '<tool_call>{"id":"a","name":"get_weather","arguments":{}}</tool_call>\nDone.',
        ),
        ((text_block(0, " "), text_block(1, "\n", "So"), text_block(2, "\n")), " \n\nSo\n\n"),
        ((text_block(0, "  "),), "  "),
        (
            (call_block(0, "a", '{"x": "</tool_call>"'),),
            (
                '<tool_call>{"id":"a","name":"get_weather","arguments":{"_raw":"{\\"x\\":'
                ' \\"<\\/tool_call>\\""}}</tool_call>'
            ),
        ),
    ],
    ids=["calls", "blanks-beside-calls", "blanks-beside-words", "blanks-alone", "broken"],
)
def test_parts_of_other_wires_are_written_as_in_a_body(
    blocks: tuple[list[Chunk], ...], content: str
) -> None:
    assert restream_to_text(anthropic_stream(*blocks)) == content


@pytest.mark.parametrize("first", ["Two", "\n"])
def test_an_interrupted_text_continues_on_its_line(first: str) -> None:
    native: JSON = [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ]
    events = [
        chunk(first),
        chunk(reasoning_content="Hm."),
        chunk(" "),
        chunk(tool_calls=native),
        chunk("cities."),
        chunk(finish="stop"),
    ]
    body = fold(restream(events, "openai-chat", "text"), "text")
    assert body == translate(fold(events, "openai-chat"), "openai-chat", "text", "response").body
    message = decode(body, "text", "response").messages[0].raw
    assert isinstance(message, dict) and str(message["content"]).startswith(
        f"{first} cities.\n<tool_call>"
    )


def test_text_is_written_at_once_and_a_call_when_it_is_complete() -> None:
    events = anthropic_stream(
        text_block(0, "Two ", "cities."), call_block(1, "a", '{"city":', '"Paris"}')
    )
    lengths: list[int] = []

    def source() -> Iterator[Chunk]:
        for n, event in enumerate(events):
            lengths.append(n)
            yield event

    out = [
        (lengths[-1], event["choices"])
        for event in restream(source(), "anthropic", "text", framed=False)
    ]
    content = [(n, _at(_first(choices), "delta", "content")) for n, choices in out]
    assert [(n, text) for n, text in content if text] == [
        (2, "Two "),
        (3, "cities."),
        (
            8,
            '\n<tool_call>{"id":"a","name":"get_weather","arguments":{"city":"Paris"}}</tool_call>',
        ),
    ]


def _first(choices: JSON) -> JSON:
    return choices[0] if isinstance(choices, list) and choices else None


def test_interleaved_calls_are_written_in_the_order_in_which_they_started() -> None:
    dialect, second = call_block(0, "a", '{"city":"Paris"}'), call_block(1, "b", '{"city":"Oslo"}')
    events = anthropic_stream([dialect[0], *second, *dialect[1:]])
    assert [
        call.id
        for call in decode(
            fold(restream(events, "anthropic", "text"), "text"), "text", "response"
        ).calls()
    ] == ["a", "b"]


def test_text_that_would_be_read_as_a_call_is_reported() -> None:
    events = anthropic_stream(
        text_block(0, "Write <tool_", 'call>{"name": "f"}</tool_call>', " so"), stop="end_turn"
    )
    out = restream(events, "anthropic", "text")
    list(out)
    assert [loss.reason for loss in out.losses] == [
        "this text contains tags that this wire reads as calls, results or tools"
    ]


def test_the_stop_reason_tool_follows_from_the_calls_and_is_no_loss() -> None:
    out = restream(anthropic_stream(call_block(0, "a", "{}")), "anthropic", "text")
    list(out)
    assert out.losses == []


def test_buffered_whitespace_is_emitted_before_an_error() -> None:
    events = anthropic_stream(text_block(0, " "))[:-2]
    out = list(restream(events, "anthropic", "text", framed=False))
    assert _at(_first(out[1]["choices"]), "delta", "content") == " " and "error" in out[2]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ids_names_and_arguments_survive_a_wire_with_calls_of_its_own(case: StreamCase) -> None:
    def calls_in(conversation: Conversation) -> list[tuple[str, str, JSON]]:
        return [(call.id, call.name, call.input) for call in conversation.calls()]

    events = list(restream(case.events, "text", "openai-chat"))
    assert calls_in(decode(fold(events, "openai-chat"), "openai-chat", "response")) == calls_in(
        decode(case.body, "text", "response")
    )


# --- the real client ------------------------------------------------------------------------------


def test_a_chat_client_reads_tagged_calls_that_another_provider_made() -> None:
    events = anthropic_stream(
        text_block(0, "Two ", "cities."),
        call_block(1, "a", '{"city":', '"Paris"}'),
        call_block(2, "b", '{"city":"Oslo"}'),
    )
    piece = restream(events, "anthropic", "text")
    with serve(piece, piece.headers["content-type"]) as server:
        client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        chunks = list(
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "?"}], stream=True
            )
        )
    text = "".join(choice.delta.content or "" for event in chunks for choice in event.choices)
    assert [
        choice.finish_reason for event in chunks for choice in event.choices if choice.finish_reason
    ] == ["stop"]
    assert chunks[-1].usage is not None and (
        chunks[-1].usage.prompt_tokens,
        chunks[-1].usage.completion_tokens,
    ) == (11, 7)
    body: JSON = {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ]
    }
    conversation = decode(body, "text", "response")
    assert [(call.id, call.name, call.input) for call in conversation.calls()] == [
        ("a", "get_weather", {"city": "Paris"}),
        ("b", "get_weather", {"city": "Oslo"}),
    ]
    assert conversation.messages[0].stop == "tool"


def test_the_last_event_has_the_stop_reason() -> None:
    events = read_events(stream("So", finish="length"))
    assert events[-1][-1] == Finish("length")


DIALECT_TEXTS = {
    "list": '[TOOL_CALLS] [{"name": "f", "id": "a", "arguments": {"x": 1}}]',
    "xml": '<invoke name="f"><parameter name="x">1</parameter></invoke>',
    "tagged": '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>',
}


@pytest.mark.parametrize("dialect", DIALECT_TEXTS)
def test_a_rewritten_stream_keeps_the_dialect_of_its_calls(dialect: str) -> None:
    text = f"Sure.\n{DIALECT_TEXTS[dialect]}\nDone."
    events: list[JSON] = [{"choices": [{"index": 0, "delta": {"content": text}}]}]
    written = fold(restream(events, "text", "text", ids=IdMap()), "text")
    content = get(written, ("choices", 0, "message", "content"))
    assert isinstance(content, str)
    (source_dialect, _), (written_dialect, found) = find_calls(text), find_calls(content)
    assert written_dialect is source_dialect
    assert [(call.name, call.args.value) for block in found for call in block.calls] == [
        ("f", {"x": 1})
    ]
