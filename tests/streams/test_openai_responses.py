"""What is peculiar to streams of items. The official client reads what we make
over a real socket."""

from __future__ import annotations

import asyncio
import json
from typing import TypeAlias

import pytest
from cases import load_streams
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseStreamEvent
from pydantic import TypeAdapter
from streams.loopback import serve

from toolwire import DecodeError, decode, translate
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.parts import Call, Opaque, Reasoning, Result, Text
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.engine.encode_context import VALUE_CHANGED
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader

Events: TypeAlias = "list[JSON]"
WIRES = ("openai-responses", "azure-foundry")
CASES = {case.name: case for case in load_streams("openai-responses")}
EVENT: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


def block(index: int, content: JSON, *deltas: JSON) -> Events:
    delta_events: Events = [
        {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
    ]
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *delta_events,
        {"type": "content_block_stop", "index": index},
    ]


def tool_use_block(call_id: str, *pieces: str) -> Events:
    use: JSON = {"type": "tool_use", "id": call_id, "name": "weather", "input": {}}
    deltas: Events = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return [use, *deltas]


def anthropic_stream(*blocks: Events, stop: str = "tool_use") -> Events:
    start: JSON = {
        "type": "message_start",
        "message": {
            "id": "msg_9",
            "type": "message",
            "role": "assistant",
            "model": "opus",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 1},
        },
    }
    over: JSON = {"stop_reason": stop, "stop_sequence": None}
    return [
        start,
        *(event for some in blocks for event in some),
        {"type": "message_delta", "delta": over, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


ANTHROPIC = anthropic_stream(
    block(
        0,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Both "},
        {"type": "text_delta", "text": "cities."},
    ),
    block(1, *tool_use_block("toolu_1", '{"city":', '"Oslo"}')),
    block(2, *tool_use_block("toolu_2", '{"city":"Rome"}')),
)


def chunk(delta: JSON, finish: JSON = None, **more: JSON) -> JSON:
    choice: JSON = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c-1",
        "object": "chat.completion.chunk",
        "created": 5,
        "model": "gpt",
        "choices": [choice],
        **more,
    }


def call_delta(index: int, **fields: JSON) -> JSON:
    return {"tool_calls": [{"index": index, **fields}]}


CHAT: Events = [
    chunk({"role": "assistant", "content": "Both "}),
    chunk({"content": "cities."}),
    chunk(
        call_delta(0, id="toolu_1", type="function", function={"name": "weather", "arguments": ""})
    ),
    chunk(call_delta(0, function={"arguments": '{"city":"Oslo"}'})),
    chunk(
        call_delta(
            1, id="toolu_2", type="function", function={"name": "weather", "arguments": '{"city":'}
        )
    ),
    chunk(call_delta(1, function={"arguments": '"Rome"}'})),
    chunk({}, "tool_calls"),
    {
        "id": "c-1",
        "object": "chat.completion.chunk",
        "created": 5,
        "model": "gpt",
        "choices": [],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    },
]
SOURCES = {"anthropic": ANTHROPIC, "openai-chat": CHAT}


def summarize_response(response: Response) -> tuple[str, list[tuple[str, str, str]], int, int]:
    calls = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
    assert response.usage is not None
    call_rows = [(call.call_id, call.name, call.arguments) for call in calls]
    return (
        response.output_text,
        call_rows,
        response.usage.input_tokens,
        response.usage.output_tokens,
    )


EXPECTED = (
    "Both cities.",
    [("toolu_1", "weather", '{"city":"Oslo"}'), ("toolu_2", "weather", '{"city":"Rome"}')],
    11,
    7,
)


# --- the official client --------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", WIRES)
def test_the_official_client_reads_the_events_we_make_of_another_wire(
    source: str, target: str
) -> None:
    with serve(restream(SOURCES[source], source, target)) as server:
        client = OpenAI(base_url=server.url, api_key="none", max_retries=0)
        events = list(client.responses.create(model="any", input="?", stream=True))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    args: dict[int, str] = {}
    items: dict[int, str] = {}
    for event in events:
        if event.type == "response.output_item.added" and event.item.type == "function_call":
            items[event.output_index] = event.item.call_id
        elif event.type == "response.function_call_arguments.delta":
            args[event.output_index] = args.get(event.output_index, "") + event.delta
    assert text == "Both cities."
    assert {items[n]: arguments for n, arguments in args.items()} == {
        "toolu_1": '{"city":"Oslo"}',
        "toolu_2": '{"city":"Rome"}',
    }
    assert events[-1].type == "response.completed"
    assert summarize_response(events[-1].response) == EXPECTED
    assert [event.sequence_number for event in events] == list(range(len(events)))


@pytest.mark.parametrize("source", SOURCES)
def test_the_helper_of_the_official_client_assembles_the_response(source: str) -> None:
    with serve(restream(SOURCES[source], source, "openai-responses")) as server:
        client = OpenAI(base_url=server.url, api_key="none", max_retries=0)
        with client.responses.stream(model="any", input="?") as stream:
            snapshots = [
                event.snapshot for event in stream if event.type == "response.output_text.delta"
            ]
            final = stream.get_final_response()
    assert snapshots == ["Both ", "Both cities."]
    assert summarize_response(final) == EXPECTED


def test_the_asynchronous_client_reads_the_stream() -> None:
    async def run(url: str) -> Response:
        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        async with client.responses.stream(model="any", input="?") as stream:
            return await stream.get_final_response()

    with serve(restream(ANTHROPIC, "anthropic", "openai-responses")) as server:
        assert summarize_response(asyncio.run(run(server.url))) == EXPECTED


@pytest.mark.parametrize("source", [*SOURCES, *WIRES])
@pytest.mark.parametrize("target", WIRES)
def test_every_event_we_make_is_one_of_the_official_types(source: str, target: str) -> None:
    streams = (
        [SOURCES[source]] if source in SOURCES else [case.events for case in load_streams(source)]
    )
    for events in streams:
        for event in restream(events, source, target, framed=False) if source != target else ():
            EVENT.validate_python(event)


def test_the_official_client_gets_an_error_in_mid_stream() -> None:
    error: JSON = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with serve(restream([*ANTHROPIC[:3], error], "anthropic", "openai-responses")) as server:
        client = OpenAI(base_url=server.url, api_key="none", max_retries=0)
        events = list(client.responses.create(model="any", input="?", stream=True))
    assert [event.type for event in events[-2:]] == ["error", "response.failed"]
    assert events[-1].type == "response.failed"
    assert events[-1].response.error is not None
    assert events[-1].response.error.message == "Overloaded"
    assert events[-1].response.output_text == "Both "


# --- writing --------------------------------------------------------------------------------------


def event_types(events: list[Chunk]) -> list[str]:
    return [str(event["type"]).removeprefix("response.") for event in events]


def test_every_part_is_written_with_all_its_events() -> None:
    assert event_types(
        list(restream(ANTHROPIC, "anthropic", "openai-responses", framed=False))
    ) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


def test_deltas_have_the_item_id_and_items_have_the_call_id() -> None:
    events = list(restream(ANTHROPIC, "anthropic", "openai-responses", framed=False))
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    pieces = [
        event for event in events if event["type"] == "response.function_call_arguments.delta"
    ]
    calls = {
        str(get(item, ("id",))): get(item, ("call_id",))
        for item in items
        if get(item, ("type",)) == "function_call"
    }
    assert list(calls.values()) == ["toolu_1", "toolu_2"]
    assert [calls[str(piece["item_id"])] for piece in pieces] == ["toolu_1", "toolu_1", "toolu_2"]
    assert not {"toolu_1", "toolu_2"} & calls.keys()
    assert all("call_id" not in piece for piece in pieces)


def test_the_ids_of_items_are_those_of_a_translated_body() -> None:
    last = list(restream(ANTHROPIC, "anthropic", "openai-responses", framed=False))[-1]
    body = translate(fold(ANTHROPIC, "anthropic"), "anthropic", "openai-responses", "response").body
    assert last["response"] == body


def test_a_call_without_arguments_has_an_empty_object_in_one_piece() -> None:
    events = list(
        restream(
            anthropic_stream(block(0, *tool_use_block("toolu_1"))),
            "anthropic",
            "openai-responses",
            framed=False,
        )
    )
    arguments = [
        event.get("delta") or event.get("arguments")
        for event in events
        if "function_call_arguments" in str(event["type"])
    ]
    assert arguments == ["{}", "{}"]


def test_an_empty_text_makes_no_item() -> None:
    events = list(
        restream(
            anthropic_stream(block(0, {"type": "text", "text": ""}), stop="end_turn"),
            "anthropic",
            "azure-foundry",
            framed=False,
        )
    )
    assert event_types(events) == ["created", "in_progress", "completed"]


def test_a_response_cut_by_its_token_limit_is_incomplete_and_keeps_its_open_call() -> None:
    cut = [
        event
        for event in anthropic_stream(
            block(0, *tool_use_block("toolu_1", '{"city":"Os')), stop="max_tokens"
        )
        if get(event, ("type",)) != "content_block_stop"
    ]
    last = list(restream(cut, "anthropic", "openai-responses", framed=False))[-1]
    assert last["type"] == "response.incomplete"
    assert get(last, ("response", "incomplete_details", "reason")) == "max_output_tokens"


@pytest.mark.parametrize(("status", "stop"), [("completed", "stop"), ("cancelled", "cancelled")])
def test_a_last_event_without_a_status_ends_the_response_that_was_in_progress(
    status: str, stop: str
) -> None:
    started: JSON = {"id": "r", "status": "in_progress", "output": []}
    events: Events = [
        {"type": "response.created", "response": started},
        {"type": "response.output_text.delta", "item_id": "m", "delta": "Hi."},
        {"type": f"response.{status}", "response": {"id": "r"}},
    ]
    body = fold(events, "openai-responses")
    assert get(body, ("status",)) == status
    assert decode(body, "openai-responses", "response").messages[-1].stop == stop


def test_a_call_that_was_cut_off_is_incomplete_in_the_failed_response() -> None:
    events = list(restream(ANTHROPIC[:7], "anthropic", "openai-responses", framed=False))
    assert event_types(events)[-4:] == [
        "output_item.added",
        "function_call_arguments.delta",
        "error",
        "failed",
    ]
    at = ("response", "output", 1)
    assert [get(events[-1], (*at, key)) for key in ("call_id", "arguments", "status")] == [
        "toolu_1",
        '{"city":',
        "incomplete",
    ]
    assert get(events[-1], ("response", "error", "message")) == STREAM_CUT


def test_custom_calls_stay_free_text_between_wires_of_this_shape() -> None:
    out = list(
        restream(
            CASES["stream-custom-call-and-refusal"].events,
            "openai-responses",
            "azure-foundry",
            framed=False,
        )
    )
    pieces = [
        event["delta"] for event in out if event["type"] == "response.custom_tool_call_input.delta"
    ]
    assert pieces == ['select "a', '"\nfrom t']
    assert [event["delta"] for event in out if event["type"] == "response.refusal.delta"] == [
        "Not that part, ",
        "though.",
    ]


def test_a_custom_call_is_one_field_where_there_are_only_functions_and_is_restored_on_the_way_back() -> (
    None
):
    stream = restream(
        CASES["stream-custom-call-and-refusal"].events,
        "openai-responses",
        "anthropic",
        framed=False,
    )
    events = list(stream)
    assert get(fold(events, "anthropic"), ("content", 2, "input")) == {
        "input": 'select "a"\nfrom t'
    }
    folded = fold(
        list(restream(events, "anthropic", "openai-responses", framed=False, ids=stream.ids)),
        "openai-responses",
    )
    assert get(folded, ("output", 2, "type")) == "custom_tool_call"
    assert get(folded, ("output", 2, "input")) == 'select "a"\nfrom t'


def test_a_call_of_a_kind_of_its_own_keeps_its_kind_between_wires_of_this_shape() -> None:
    events = CASES["stream-items-only-in-events"].events
    out = fold(
        list(restream(events, "openai-responses", "azure-foundry", framed=False)), "azure-foundry"
    )
    assert get(out, ("output", 4, "type")) == "shell_call"
    assert get(out, ("output", 4, "action", "commands")) == ["ls -l", "pwd"]
    assert get(out, ("output", 5, "operation", "diff")) == "+hello\n"


# --- reading --------------------------------------------------------------------------------------


def reader(name: str = "openai-responses", *, keep: bool = False) -> StreamReader:
    spec = wire(name).stream
    assert spec is not None
    stream_reader: StreamReader = spec.reader(keep=keep)
    return stream_reader


def read_events(events: Events, name: str = "openai-responses") -> list[Event]:
    stream_reader = reader(name)
    out: list[Event] = []
    for event in events:
        assert isinstance(event, dict)
        out += stream_reader.read(event)
        stream_reader.count += 1
    return out + stream_reader.end()


def event_created(call_id: str = "resp_1") -> JSON:
    return {
        "type": "response.created",
        "response": {"id": call_id, "object": "response", "status": "in_progress", "output": []},
    }


def event_completed(*output: JSON, **more: JSON) -> JSON:
    body: Object = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": list(output),
        **more,
    }
    return {"type": "response.completed", "response": body}


def item_added(index: int, item: JSON) -> JSON:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def item_done(index: int, item: JSON) -> JSON:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta_event(kind: str, index: int, call_id: str, delta: str, **more: JSON) -> JSON:
    return {
        "type": f"response.{kind}.delta",
        "output_index": index,
        "item_id": call_id,
        "delta": delta,
        **more,
    }


def call_item(n: int, arguments: JSON, status: str = "completed", **more: JSON) -> Object:
    return {
        "id": f"fc_{n}",
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": f"call_{n}",
        "name": "weather",
        **more,
    }


def message_item(call_id: str, text: str) -> Object:
    content: JSON = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": call_id,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": content,
    }


def arguments_by_id(events: list[Event]) -> dict[str, str]:
    """The arguments of each emitted call, by id."""
    ids = {
        event.slot: event.part.id
        for event in events
        if isinstance(event, PartStart) and isinstance(event.part, Call)
    }
    texts: dict[int, str] = dict.fromkeys(ids, "")
    for event in events:
        if isinstance(event, PartDelta) and event.slot in texts:
            texts[event.slot] += event.text
        elif isinstance(event, PartEnd) and event.slot in texts and event.whole is not None:
            texts[event.slot] = event.whole
    return {ids[slot]: text for slot, text in texts.items()}


def test_a_call_is_emitted_with_its_call_id_and_its_item_id() -> None:
    events = read_events(
        [
            event_created(),
            item_added(0, call_item(1, "", "in_progress")),
            delta_event("function_call_arguments", 0, "fc_1", "{}"),
        ]
    )
    start = next(event for event in events if isinstance(event, PartStart))
    assert isinstance(start.part, Call)
    assert (start.part.id, start.part.item, start.part.origin) == ("call_1", "fc_1", "wire")


def test_arguments_in_the_first_and_the_last_event_are_emitted_once() -> None:
    full = call_item(1, '{"a":1}')
    quiet = [event_created(), item_added(0, full), item_done(0, full), event_completed(full)]
    loud = [
        event_created(),
        item_added(0, full),
        delta_event("function_call_arguments", 0, "fc_1", '{"a":1}'),
        item_done(0, full),
        event_completed(full),
    ]
    assert (
        arguments_by_id(read_events(quiet))
        == arguments_by_id(read_events(loud))
        == {"call_1": '{"a":1}'}
    )
    assert fold(quiet, "openai-responses") == fold(loud, "openai-responses")


def test_arguments_of_the_first_event_are_emitted_if_no_delta_follows() -> None:
    part: JSON = {"type": "output_text", "text": "Hello", "annotations": []}
    part_added: JSON = {
        "type": "response.content_part.added",
        "output_index": 0,
        "item_id": "msg_1",
        "content_index": 0,
        "part": part,
    }
    events: Events = [
        event_created(),
        part_added,
        item_added(1, call_item(1, "{}")),
        {"type": "response.completed", "response": {}},
    ]
    assert [event.text for event in read_events(events) if isinstance(event, PartDelta)] == [
        "Hello",
        "{}",
    ]
    assert get(fold(events, "openai-responses"), ("output", 0, "content")) == [part]


def test_deltas_find_their_call_by_index_if_the_item_id_changes() -> None:
    events: Events = [
        event_created(),
        item_added(0, {**call_item(1, ""), "id": "x1"}),
        item_added(1, {**call_item(2, ""), "id": "x2"}),
        delta_event("function_call_arguments", 1, "x3", "[2]"),
        delta_event("function_call_arguments", 0, "x4", "[1]"),
    ]
    assert arguments_by_id(read_events(events)) == {"call_1": "[1]", "call_2": "[2]"}


def test_deltas_find_their_call_by_id_if_all_indexes_are_equal() -> None:
    events: Events = [
        event_created(),
        item_added(0, call_item(1, "")),
        item_added(0, call_item(2, "")),
        delta_event("function_call_arguments", 0, "fc_1", "[1]"),
        delta_event("function_call_arguments", 0, "fc_2", "[2]"),
        item_done(0, call_item(1, "[1]")),
        item_done(0, call_item(2, "[2]")),
    ]
    assert arguments_by_id(read_events(events)) == {"call_1": "[1]", "call_2": "[2]"}
    output = get(
        fold(
            [*events, {"type": "response.completed", "response": {"status": "completed"}}],
            "openai-responses",
        ),
        ("output",),
    )
    assert output == [call_item(1, "[1]"), call_item(2, "[2]")]


def test_the_finished_item_overrides_its_deltas() -> None:
    wrong = [
        item_added(0, call_item(1, "")),
        delta_event("function_call_arguments", 0, "fc_1", '{"b'),
        item_done(0, call_item(1, '{"a":1}')),
    ]
    short = [
        item_added(0, call_item(1, "")),
        delta_event("function_call_arguments", 0, "fc_1", '{"a'),
        item_done(0, call_item(1, '{"a":1}')),
    ]
    assert (
        arguments_by_id(read_events(wrong))
        == arguments_by_id(read_events(short))
        == {"call_1": '{"a":1}'}
    )


def test_a_call_without_an_id_waits_until_the_finished_item_has_one() -> None:
    bare: JSON = {"id": "fc_1", "type": "function_call", "arguments": "", "name": "weather"}
    events = read_events(
        [
            event_created(),
            item_added(0, bare),
            delta_event("function_call_arguments", 0, "fc_1", "{}"),
            item_done(0, call_item(1, "{}")),
        ]
    )
    (event,) = [event for event in events if isinstance(event, PartComplete)]
    assert isinstance(event.part, Call)
    assert (event.part.id, event.part.arguments) == ("call_1", "{}")
    assert not [event for event in events if isinstance(event, PartStart)]


UNIDENTIFIED: Object = {"type": "function_call", "name": "weather", "arguments": "{}"}


@pytest.mark.parametrize(
    ("item", "identity"),
    [
        (UNIDENTIFIED, {"id": "fc_1", "call_id": "call_1"}),
        ({**UNIDENTIFIED, "id": "fc_1"}, {"call_id": "call_1"}),
        ({**UNIDENTIFIED, "call_id": "call_1", "name": ""}, {"name": "weather"}),
        ({"type": "shell_call", "action": {"commands": ["ls"]}}, {"call_id": "call_1"}),
    ],
    ids=["no-ids", "no-call-id", "no-name", "shell"],
)
def test_a_call_that_only_the_finished_response_identifies_waits_for_it(
    item: Object, identity: Object
) -> None:
    text = message_item("msg_2", "Hello")
    events: Events = [event_created(), item_added(0, item), item_done(0, item), item_done(1, text)]
    events.append(event_completed({**item, **identity}, text))
    folded = decode(fold(events, WIRES[0]), WIRES[0], "response")
    stream = restream(events, WIRES[0], "openai-chat")
    (call,) = decode(fold(stream, "openai-chat"), "openai-chat", "response").calls()
    assert [(call.id, call.name)] == [(known.id, known.name) for known in folded.calls()]
    assert VALUE_CHANGED not in [loss.reason for loss in stream.losses]


def test_a_call_that_no_event_identifies_is_emitted_before_what_follows_it() -> None:
    item, text = {**UNIDENTIFIED}, message_item("msg_2", "Hello")
    events: Events = [event_created(), item_added(0, item), item_done(0, item), item_done(1, text)]
    parts = [event.part for event in read_events(events) if isinstance(event, PartComplete)]
    assert [type(part) for part in parts] == [Call, Text]


def test_deltas_of_an_unknown_item_open_it() -> None:
    events: Events = [
        event_created(),
        delta_event("output_text", 0, "msg_1", "Hel", content_index=0),
        delta_event("output_text", 0, "msg_1", "lo", content_index=0),
        event_completed(),
    ]
    assert [event.text for event in read_events(events) if isinstance(event, PartDelta)] == [
        "Hel",
        "lo",
    ]
    assert get(fold(events, "openai-responses"), ("output", 0, "content", 0, "text")) == "Hello"


def test_deltas_after_the_end_of_an_item_are_reported_and_not_emitted() -> None:
    late = delta_event("output_text", 0, "msg_1", "again", content_index=0)
    events = read_events(
        [
            event_created(),
            item_done(0, message_item("msg_1", "Hello")),
            late,
            item_done(0, message_item("msg_1", "Hello")),
        ]
    )
    assert [event.part for event in events if isinstance(event, PartComplete)] == [Text("Hello")]
    assert [event.reason for event in events if isinstance(event, Unsupported)] == [
        "an event for an item that has ended"
    ]


def test_an_item_that_is_missing_in_the_finished_response_is_kept() -> None:
    reasoning: JSON = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm."}],
    }
    events = [
        event_created(),
        item_done(0, reasoning),
        item_done(1, message_item("msg_1", "Hello")),
        event_completed(message_item("msg_1", "Hello")),
    ]
    assert get(fold(events, "openai-responses"), ("output",)) == [
        reasoning,
        message_item("msg_1", "Hello"),
    ]


def test_items_of_the_finished_response_are_emitted_once() -> None:
    output = [message_item("msg_1", "Hello"), call_item(1, "{}"), call_item(2, "{}")]
    events = read_events(
        [
            event_created(),
            item_done(0, message_item("msg_1", "Hello")),
            item_added(1, call_item(1, "")),
            event_completed(*output),
        ]
    )
    assert [event.part for event in events if isinstance(event, PartComplete)] == [Text("Hello")]
    assert arguments_by_id(events) == {"call_1": "{}", "call_2": "{}"}


def test_a_server_tool_call_and_its_result_are_read_from_one_item() -> None:
    item: Object = {
        "id": "mcp_1",
        "type": "mcp_call",
        "server_label": "s",
        "name": "look",
        "arguments": "",
        "status": "in_progress",
    }
    full: Object = {**item, "arguments": '{"a":1}', "output": "found", "status": "completed"}
    events = read_events(
        [
            event_created(),
            item_added(0, item),
            delta_event("mcp_call_arguments", 0, "mcp_1", '{"a":1}'),
            item_done(0, full),
            event_completed(full),
        ]
    )
    start = next(event for event in events if isinstance(event, PartStart))
    (result,) = [event.part for event in events if isinstance(event, PartComplete)]
    assert isinstance(start.part, Call)
    assert isinstance(result, Result)
    assert (start.part.id, start.part.origin, start.part.executor) == ("mcp_1", "item", "provider")
    assert (result.call_id, result.output, result.name) == ("mcp_1", "found", "look")


def test_code_is_streamed_as_json_while_it_is_written() -> None:
    item: Object = {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "code": "",
        "container_id": "c",
        "status": "in_progress",
    }
    events = read_events(
        [
            event_created(),
            item_added(0, item),
            delta_event("code_interpreter_call_code", 0, "ci_1", 'print("'),
            delta_event("code_interpreter_call_code", 0, "ci_1", 'a")\n'),
            item_done(0, {**item, "code": 'print("a")\n', "outputs": [], "status": "completed"}),
        ]
    )
    pieces = [event.text for event in events if isinstance(event, PartDelta)]
    assert pieces == ['{"code":"', 'print(\\"', 'a\\")\\n', '"}']


def test_events_after_an_unfinished_server_tool_item_wait_for_it() -> None:
    search: Object = {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}
    completed_search: Object = {
        **search,
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    events: Events = [
        event_created(),
        item_added(0, search),
        delta_event("output_text", 1, "msg_1", "Found.", content_index=0),
        item_done(1, message_item("msg_1", "Found.")),
        item_done(0, completed_search),
        event_completed(completed_search, message_item("msg_1", "Found.")),
    ]
    parts = [
        event.part for event in read_events(events) if isinstance(event, PartStart | PartComplete)
    ]
    assert [type(part) for part in parts] == [Call, Result, Text]


def test_a_message_inside_a_workflow_is_emitted_while_the_workflow_runs() -> None:
    case = next(
        case
        for case in load_streams("azure-foundry")
        if case.name == "stream-workflow-around-a-message"
    )
    stream_reader = reader("azure-foundry")
    when: dict[str, int] = {}
    for n, event in enumerate(case.events):
        assert isinstance(event, dict)
        for heard_now in stream_reader.read(event):
            if isinstance(heard_now, PartDelta):
                when[heard_now.text] = n
    assert [get(case.events, (when[text], "delta")) for text in ("Cor", "rect!")] == [
        "Cor",
        "rect!",
    ]


def test_summaries_are_one_reasoning_part_whose_signature_comes_last() -> None:
    events = read_events(CASES["stream-parallel-calls-of-one-tool"].events)
    start = next(event for event in events if isinstance(event, PartStart))
    assert isinstance(start.part, Reasoning)
    assert (
        "".join(
            event.text
            for event in events
            if isinstance(event, PartDelta) and event.slot == start.slot
        )
        == "Two cities.\n\nAsk for both."
    )
    assert next(event.signature for event in events if isinstance(event, PartEnd)) == "gAAA-sealed"


def test_reasoning_with_only_encrypted_content_is_hidden() -> None:
    item: JSON = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    events = read_events(
        [event_created(), item_added(0, item), item_done(0, item), event_completed(item)]
    )
    assert [event.part for event in events if isinstance(event, PartComplete)] == [
        Reasoning("", "gAAA")
    ]


def test_an_unknown_item_is_opaque_and_an_unknown_event_is_reported() -> None:
    events = read_events(CASES["stream-unknown-events-and-fields"].events)
    assert [
        event.part.type
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Opaque)
    ] == ["hologram_call"]
    reasons = [event.reason for event in events if isinstance(event, Unsupported)]
    assert "an unknown event: response.weather.changed" in reasons
    assert not any("keepalive" in reason for reason in reasons)


def test_a_response_with_calls_stops_for_tools() -> None:
    out = list(
        restream(
            CASES["stream-output-only-at-the-end"].events,
            "openai-responses",
            "anthropic",
            framed=False,
        )
    )
    assert get(out[-2], ("delta", "stop_reason")) == "tool_use"


# --- when it breaks -------------------------------------------------------------------------------


def test_a_stream_that_breaks_off_keeps_its_content_and_reports_the_break() -> None:
    events = CASES["stream-parallel-calls-of-one-tool"].events[:-6]
    body = fold(events, "openai-responses")
    assert get(body, ("error",)) == {"code": "stream_cut", "message": STREAM_CUT}
    assert [get(body, ("output", n, "arguments")) for n in (2, 3)] == [
        '{"city": "Oslo"}',
        '{"city":',
    ]
    assert get(body, ("status",)) == "in_progress"
    told_events = read_events(events)
    assert [event.cut for event in told_events if isinstance(event, PartEnd)] == [
        False,
        False,
        True,
        True,
    ]
    assert told_events[-1] == StreamError(STREAM_CUT, cut=True)
    assert [call.id for call in decode(body, "openai-responses", "response").calls()] == [
        "call_1",
        "call_2",
    ]


@pytest.mark.parametrize(
    "event",
    [
        {
            "type": "error",
            "code": "rate_limit_exceeded",
            "message": "Slow down",
            "param": None,
            "sequence_number": 3,
        },
        {
            "type": "error",
            "error": {"type": "tokens", "code": "rate_limit_exceeded", "message": "Slow down"},
            "sequence_number": 3,
        },
        {
            "type": "response.failed",
            "response": {
                "id": "resp_1",
                "object": "response",
                "status": "failed",
                "output": [],
                "error": {"code": "rate_limit_exceeded", "message": "Slow down"},
            },
        },
    ],
)
def test_an_error_is_a_stream_error_after_everything_is_closed(event: JSON) -> None:
    events = [
        event_created(),
        item_added(0, call_item(1, "")),
        delta_event("function_call_arguments", 0, "fc_1", '{"a'),
        event,
    ]
    out = read_events(events)
    assert [event.cut for event in out if isinstance(event, PartEnd)] == [True]
    assert out[-1] == StreamError("Slow down", "rate_limit_exceeded")
    body = fold(events, "openai-responses")
    assert get(body, ("error", "message")) == "Slow down"
    assert get(body, ("output", 0, "arguments")) == '{"a'
    assert (
        get(list(restream(events, "openai-responses", "anthropic", framed=False))[-1], ("type",))
        == "error"
    )


def test_an_error_and_the_failed_response_after_it_are_one_stream_error() -> None:
    failed_event: JSON = {
        "type": "response.failed",
        "response": {
            "id": "resp_1",
            "status": "failed",
            "output": [],
            "error": {"code": "server_error", "message": "No."},
        },
    }
    events = read_events(
        [event_created(), {"type": "error", "code": "server_error", "message": "No."}, failed_event]
    )
    assert [event.message for event in events if isinstance(event, StreamError)] == ["No."]
    assert not [event for event in events if isinstance(event, Finish)]


def test_a_stream_of_one_error_folds_to_a_failed_response() -> None:
    body = fold([{"type": "error", "code": "server_error", "message": "No."}], "openai-responses")
    assert body == {
        "object": "response",
        "status": "failed",
        "error": {"code": "server_error", "message": "No."},
        "output": [],
    }
    assert decode(body, "openai-responses", "response").calls() == []


def test_a_stream_of_another_wire_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "message_start", "message": {}}], "openai-responses")


def test_a_stream_marked_as_done_whose_items_are_all_finished_is_over() -> None:
    spec = wire("openai-responses").stream
    assert spec is not None
    events: list[Chunk] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": message_item("msg_1", "Hello"),
        },
    ]
    raw = b"".join(map(spec.frame, events))
    assert get(fold(raw + b"data: [DONE]\n\n", "openai-responses"), ("error",)) != {
        "code": "stream_cut",
        "message": STREAM_CUT,
    }
    assert get(fold(raw, "openai-responses"), ("error", "code")) == "stream_cut"


# --- what the finished response changes -----------------------------------------------------------

CALL: Object = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "f",
    "arguments": "{}",
}
TEXT: Object = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Oslo", "annotations": []}],
}


def finished(*items: JSON) -> JSON:
    return {"type": "response.completed", "response": {"status": "completed", "output": [*items]}}


CALL_ADDED: JSON = {"type": "response.output_item.added", "item": CALL}
CALL_DONE: JSON = {"type": "response.output_item.done", "item": CALL}
OTHER_TEXT: JSON = {"type": "response.output_text.delta", "output_index": 0, "delta": "Bergen"}
PART_DONE: JSON = {"type": "response.content_part.done", "output_index": 0}
TEXT_DONE: JSON = {"type": "response.output_item.done", "output_index": 0, "item": TEXT}
CHANGES: dict[str, Events] = {
    "name": [CALL_DONE, finished({**CALL, "name": "g"})],
    "call-id": [CALL_ADDED, finished({**CALL, "call_id": "c2"})],
    "arguments": [CALL_DONE, finished({**CALL, "arguments": '{"a":1}'})],
    "text": [OTHER_TEXT, TEXT_DONE, finished(TEXT)],
    "text-of-an-ended-part": [OTHER_TEXT, PART_DONE, finished(TEXT)],
    "second-summary": [
        delta_event("reasoning_summary_text", 0, "rs_1", "First.", summary_index=0),
        delta_event("reasoning_summary_text", 0, "rs_1", "Second.", summary_index=1),
        {
            "type": "response.reasoning_summary_text.done",
            "output_index": 0,
            "summary_index": 1,
            "text": "Third.",
        },
    ],
    "reasoning-after-its-summary": [
        delta_event("reasoning_summary_text", 0, "rs_1", "In short."),
        delta_event("reasoning_text", 0, "rs_1", "At length."),
    ],
}


@pytest.mark.parametrize("events", CHANGES.values(), ids=CHANGES)
def test_a_value_that_changes_after_it_was_sent_is_reported(events: list[JSON]) -> None:
    stream = restream(events, WIRES[0], "anthropic")
    list(stream)
    assert VALUE_CHANGED in [loss.reason for loss in stream.losses]


def test_a_text_that_is_only_complete_is_emitted_before_its_item_ends() -> None:
    events: Events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**TEXT, "content": []}},
        {"type": "response.output_text.done", "output_index": 0, "text": "Oslo"},
    ]
    body = fold(b"".join(restream(events, WIRES[0], "openai-chat")), "openai-chat")
    assert get(body, ("choices", 0, "message", "content")) == "Oslo"


def test_arguments_that_only_the_deltas_have_are_in_the_body() -> None:
    events: list[JSON] = [
        {"type": "response.output_item.added", "item": {**CALL, "arguments": ""}},
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_1",
            "arguments": '{"a":1}',
        },
        finished({**CALL, "arguments": ""}),
    ]
    assert get(fold(events, WIRES[0]), ("output", 0, "arguments")) == '{"a":1}'


@pytest.mark.parametrize("value", ["", 0, {}, None], ids=repr)
@pytest.mark.parametrize("field", ["arguments of the last delta", "arguments of the item"])
def test_empty_arguments_do_not_replace_those_of_the_deltas(field: str, value: JSON) -> None:
    is_item = field == "arguments of the item"
    events: list[JSON] = [
        {"type": "response.output_item.added", "item": {**CALL, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"a":1}'},
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_1",
            "arguments": '{"a":1}' if is_item else value,
        },
        finished({**CALL, "arguments": value}) if is_item else finished(),
    ]
    stream = restream(events, WIRES[0], "openai-chat")
    for body in (fold(b"".join(stream), "openai-chat"), fold(events, WIRES[0])):
        wire_name = "openai-chat" if get(body, ("choices",)) else WIRES[0]
        assert [call.input for call in decode(body, wire_name, "response").calls()] == [{"a": 1}]
    assert not [loss for loss in stream.losses if loss.severity != "info"]


def test_arguments_that_are_objects_are_read_as_their_json() -> None:
    delta = {"type": "response.function_call_arguments.delta", "item_id": "fc_1"}
    streams: list[list[JSON]] = [
        [{"type": "response.output_item.added", "item": {**CALL, "arguments": {"a": 1}}}],
        [CALL_ADDED, {**delta, "delta": {"a": 1}}],
        [CALL_ADDED, {**delta, "delta": '{"a"'}, {**delta, "delta": ":1}"}],
    ]
    for events in streams:
        events = [*events, finished()]
        there = fold(b"".join(restream(events, WIRES[0], "openai-chat")), "openai-chat")
        for body, wire_name in ((fold(events, WIRES[0]), WIRES[0]), (there, "openai-chat")):
            calls = decode(body, wire_name, "response").calls()
            assert [call.input for call in calls] == [{"a": 1}]


TEXT_OF_PART: Object = {"type": "output_text", "text": "Oslo", "annotations": []}
MESSAGE_ADDED: Object = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {**TEXT, "content": []},
}


def content_part(kind: str, part: JSON, n: int = 0) -> JSON:
    return {
        "type": f"response.content_part.{kind}",
        "output_index": 0,
        "content_index": n,
        "part": part,
    }


def text_delta(text: str, n: int = 0) -> JSON:
    return delta_event("output_text", 0, "msg_1", text, content_index=n)


PARTS: dict[str, list[JSON]] = {
    "a part that comes only complete": [text_delta("", 1), content_part("done", TEXT_OF_PART)],
    "a delta after the end of its part": [
        text_delta("Oslo"),
        content_part("done", TEXT_OF_PART),
        text_delta("Bergen"),
    ],
    "a part that ends twice": [
        content_part("done", TEXT_OF_PART),
        content_part("done", {**TEXT_OF_PART, "text": "Bergen"}),
    ],
    "an end without the text": [text_delta("Oslo"), content_part("done", {"type": "output_text"})],
    "an index past the end": [
        content_part("added", {**TEXT_OF_PART, "text": ""}, 3),
        text_delta("Oslo", 3),
        content_part("done", TEXT_OF_PART, 3),
    ],
    "parts in another order": [text_delta("lo", 2), text_delta("Os", 1)],
    "a refusal in a text": [
        content_part("added", {**TEXT_OF_PART, "text": ""}),
        delta_event("refusal", 0, "msg_1", "No.", content_index=0),
        text_delta("Oslo"),
    ],
    "the end of another item": [
        text_delta("Oslo"),
        {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{}"},
    ],
}


@pytest.mark.parametrize("events", PARTS.values(), ids=PARTS)
def test_parts_of_an_unfinished_message_are_the_same_restreamed_and_folded(
    events: list[JSON],
) -> None:
    events = [MESSAGE_ADDED, *events, {"type": "response.completed", "response": {}}]
    body = decode(fold(events, WIRES[0]), WIRES[0], "response")
    assert "".join(part.text for part in body.parts() if isinstance(part, Text)) == "Oslo"
    there = fold(b"".join(restream(events, WIRES[0], "openai-chat")), "openai-chat")
    content = get(there, ("choices", 0, "message", "content"))
    assert isinstance(content, str) and sorted(content) == sorted("Oslo")


def test_an_index_past_the_end_of_the_finished_content_is_that_of_its_next_entry() -> None:
    events: list[JSON] = [MESSAGE_ADDED, text_delta("Oslo", 1), TEXT_DONE, finished(TEXT)]
    there = fold(b"".join(restream(events, WIRES[0], "openai-chat")), "openai-chat")
    assert get(there, ("choices", 0, "message", "content")) == "Oslo"


@pytest.mark.parametrize("last", ["item", "response"])
def test_a_part_that_the_finished_message_lacks_is_in_the_body(last: str) -> None:
    empty: Object = {**TEXT, "content": []}
    end = item_done(0, empty) if last == "item" else finished(empty)
    events: list[JSON] = [MESSAGE_ADDED, content_part("done", TEXT_OF_PART), end]
    assert get(fold(events, WIRES[0]), ("output", 0, "content")) == [TEXT_OF_PART]


def test_items_that_follow_an_error_are_not_in_the_body() -> None:
    events: list[JSON] = [
        {"type": "response.output_item.done", "item": CALL},
        {"type": "error", "message": "overloaded"},
        {"type": "response.failed", "response": {"status": "failed", "output": [CALL, TEXT]}},
    ]
    assert get(fold(events, WIRES[0]), ("output",)) == [CALL]
    there = fold(b"".join(restream(events, WIRES[0], "anthropic")), "anthropic")
    assert [call.id for call in decode(there, "anthropic", "response").calls()] == ["c1"]
    assert "Oslo" not in json.dumps(there)


@pytest.mark.parametrize(
    "content",
    [[], [{}], [{"type": "output_text"}], [{"text": "Oslo"}]],
    ids=["nothing", "an empty entry", "no text", "no type"],
)
def test_a_finished_response_that_lacks_a_text_changes_nothing(content: JSON) -> None:
    events: list[JSON] = [MESSAGE_ADDED, TEXT_DONE, finished({**TEXT, "content": content})]
    stream = restream(events, WIRES[0], "anthropic")
    there = decode(fold(b"".join(stream), "anthropic"), "anthropic", "response")
    body = decode(fold(events, WIRES[0]), WIRES[0], "response")
    for answer in (there, body):
        assert [part.text for part in answer.parts() if isinstance(part, Text)] == ["Oslo"]
    assert VALUE_CHANGED not in [loss.reason for loss in stream.losses]


EMPTY_TEXT: Object = {**TEXT_OF_PART, "text": ""}
EMPTY_FINISHED: dict[str, tuple[list[JSON], Object]] = {
    "a text": (
        [MESSAGE_ADDED, text_delta("Os"), text_delta("lo")],
        {**TEXT, "content": [EMPTY_TEXT]},
    ),
    "a text that is an object": (
        [MESSAGE_ADDED, text_delta("Os"), text_delta("lo")],
        {**TEXT, "content": [{**TEXT_OF_PART, "text": {"value": "Rome"}}]},
    ),
    "the content": ([MESSAGE_ADDED, text_delta("Os"), text_delta("lo")], {**TEXT, "content": []}),
    "a list without blocks": ([MESSAGE_ADDED, text_delta("Oslo")], {**TEXT, "content": [[None]]}),
    "a text of an index past the end": (
        [MESSAGE_ADDED, text_delta("Os", 3), text_delta("lo", 3)],
        {**TEXT, "content": [EMPTY_TEXT]},
    ),
    "the first of three texts": (
        [MESSAGE_ADDED, text_delta("Os"), text_delta("lo", 2)],
        {**TEXT, "content": [EMPTY_TEXT, EMPTY_TEXT, {**TEXT_OF_PART, "text": "lo"}]},
    ),
    "one of two summaries": (
        [
            delta_event("reasoning_summary_text", 0, "rs_1", "Os", summary_index=0),
            delta_event("reasoning_summary_text", 0, "rs_1", "lo", summary_index=1),
        ],
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [
                {"type": "summary_text", "text": ""},
                {"type": "summary_text", "text": "lo"},
            ],
        },
    ),
    "arguments of the opening event": (
        [{"type": "response.output_item.added", "item": {**CALL, "arguments": '{"a":"Oslo"}'}}],
        {**CALL, "arguments": ""},
    ),
    "the role of a message": (
        [MESSAGE_ADDED, text_delta("Oslo")],
        {"type": "message", "id": "msg_1", "content": [TEXT_OF_PART]},
    ),
    "the identity of a call": (
        [item_added(0, {**CALL, "arguments": '{"a":"Oslo"}'})],
        {"type": "function_call", "arguments": '{"a":"Oslo"}'},
    ),
}


@pytest.mark.parametrize("last", ["item", "response"])
@pytest.mark.parametrize("events, empty", EMPTY_FINISHED.values(), ids=EMPTY_FINISHED)
def test_what_is_empty_in_a_finished_item_is_as_before(
    events: list[JSON], empty: Object, last: str
) -> None:
    end: list[JSON] = [item_done(0, empty), finished()] if last == "item" else [finished(empty)]
    stream = restream([*events, *end], WIRES[0], "anthropic")
    there = fold(b"".join(stream), "anthropic")
    assert VALUE_CHANGED not in [loss.reason for loss in stream.losses]
    for body, wire_name in ((fold([*events, *end], WIRES[0]), WIRES[0]), (there, "anthropic")):
        texts = [
            part.args.text if isinstance(part, Call) else part.text
            for part in decode(body, wire_name, "response").parts()
            if isinstance(part, Text | Reasoning | Call)
        ]
        assert "".join("".join(texts).split()).strip('{"a:}') == "Oslo"
        calls = decode(body, wire_name, "response").calls()
        assert [(call.id, call.name) for call in calls] == [("c1", "f")] * len(calls)


UNTYPED: Object = {"text": "Oslo"}
UNTYPED_STREAMS: dict[str, list[JSON]] = {
    "item": [item_added(0, {**TEXT, "content": [UNTYPED]})],
    "part": [MESSAGE_ADDED, content_part("added", {"text": ""}), content_part("done", UNTYPED)],
    "response": [],
}


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("events", UNTYPED_STREAMS.values(), ids=UNTYPED_STREAMS)
def test_a_text_without_a_type_is_a_text_and_gets_none(events: list[JSON], name: str) -> None:
    item: Object = {**TEXT, "content": [UNTYPED]}
    events = [event_created(), *events, finished(item)]
    body = fold(events, name)
    assert get(body, ("output", 0)) == item
    for answer, wire_name in (
        (body, name),
        (fold(restream(events, name, "ollama"), "ollama"), "ollama"),
    ):
        (part,) = decode(answer, wire_name, "response").parts()
        assert isinstance(part, Text) and part.text == "Oslo"
