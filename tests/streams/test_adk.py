"""The peculiarities of the Events of an ADK run, and a real run that is translated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import pairwise

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.events import Event as RunEvent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from toolwire import Call, DecodeError, Result, decode, translate
from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Usage
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    TurnStart,
    Unsupported,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire

NAME = "adk"
CALL_ID = "adk-2b9230a6-4b92-4a1b-9a65-b708ff6c68b6"
OTHER = "adk-7c1d0f3e-0a55-4c57-8d2e-5b1f6c0e9a11"


def event(*parts: JSON, **more: JSON) -> Chunk:
    return {
        "author": "scout",
        "invocationId": "e-1",
        "content": {"role": "model", "parts": list(parts)},
        **more,
    }


def partial(*parts: JSON, **more: JSON) -> Chunk:
    return {**event(*parts, **more), "partial": True}


def call(call_id: str | None = CALL_ID, name: str = "search", **args: JSON) -> JSON:
    return {"functionCall": {"name": name, "args": args, **({"id": call_id} if call_id else {})}}


def response_part(call_id: str | None, output: JSON, name: str = "search") -> JSON:
    return {
        "functionResponse": {
            "name": name,
            "response": {"output": output},
            **({"id": call_id} if call_id else {}),
        }
    }


def results_event(*parts: JSON, **more: JSON) -> Chunk:
    return {**event(**more), "content": {"role": "user", "parts": list(parts)}}


def read_events(*events: Chunk) -> list[Event]:
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=False)
    out: list[Event] = []
    for event in events:
        out += reader.read(event)
        reader.count += 1
    return out + reader.end()


def calls_in(events: list[Event]) -> list[Call]:
    parts = [event.part for event in events if isinstance(event, PartStart | PartComplete)]
    return [part for part in parts if isinstance(part, Call)]


def results_in(events: list[Event]) -> list[tuple[str, str]]:
    parts = [event.part for event in events if isinstance(event, PartComplete)]
    return [(part.call_id, part.text) for part in parts if isinstance(part, Result)]


def text_in(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, PartDelta))


# --- partial Events -------------------------------------------------------------------------------


def test_a_complete_event_does_not_repeat_its_partial_events() -> None:
    events = read_events(
        partial({"text": "Hel"}),
        partial({"text": "lo"}),
        event({"text": "Hello"}, finishReason="STOP"),
    )
    assert text_in(events) == "Hello"
    assert [type(event).__name__ for event in events] == [
        "MessageStart",
        "PartStart",
        "PartDelta",
        "PartDelta",
        "PartEnd",
        "Finish",
    ]


def test_a_complete_event_adds_what_its_partial_events_left_out() -> None:
    assert text_in(read_events(partial({"text": "Hel"}), event({"text": "Hello."}))) == "Hello."


def test_each_turn_is_compared_with_its_own_partial_events_only() -> None:
    first = [
        partial({"text": "One."}),
        event({"text": "One."}, call(CALL_ID), longRunningToolIds=[]),
    ]
    events = [*first, results_event(response_part(CALL_ID, "x")), event({"text": "Two."})]
    assert [loss for loss in read_events(*events) if isinstance(loss, StreamError)] == []
    folded = fold(restream(events, NAME, "anthropic"), "anthropic")
    texts = [get(block, ("text",)) for block in folded["content"]]  # type: ignore[index,call-overload,union-attr]
    assert (texts[0], texts[-1]) == ("One.", "Two.")


@pytest.mark.parametrize("hint", [CALL_ID, OTHER])
def test_a_call_is_emitted_once_even_if_its_partial_event_had_another_id(hint: str) -> None:
    events = read_events(
        partial(call(hint, q="a")),
        event(call(CALL_ID, q="a")),
        results_event(response_part(CALL_ID, "x")),
    )
    assert [(event.id, event.arguments) for event in calls_in(events)] == [(CALL_ID, '{"q":"a"}')]
    assert results_in(events) == [(CALL_ID, "x")]


def test_a_call_with_an_id_of_the_model_is_emitted_with_its_partial_event() -> None:
    events = [
        partial(call("call_1", q="a"), longRunningToolIds=[]),
        event(call("call_1", q="a"), longRunningToolIds=[]),
    ]
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=False)
    assert [event.id for event in calls_in(reader.read(events[0]))] == ["call_1"]
    assert calls_in(reader.read(events[1])) == []


def test_a_partial_call_that_is_never_completed_is_emitted_with_its_result() -> None:
    hint = partial(call(CALL_ID, q="a"))
    events = read_events(hint, results_event(response_part(CALL_ID, "x")), event({"text": "Done."}))
    assert [(event.id, event.arguments) for event in calls_in(events)] == [(CALL_ID, '{"q":"a"}')]
    assert fold([hint, results_event(response_part(CALL_ID, "x"))], NAME) == [
        hint,
        results_event(response_part(CALL_ID, "x")),
    ]


# --- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marked", [True, False])
def test_two_calls_of_one_tool_keep_their_two_results(marked: bool) -> None:
    more: dict[str, JSON] = {"longRunningToolIds": []} if marked else {}
    events = read_events(
        event(call(CALL_ID, q="a"), call(OTHER, q="b"), **more),
        results_event(response_part(OTHER, "B")),
        results_event(response_part(CALL_ID, "A")),
    )
    assert [event.id for event in calls_in(events)] == [CALL_ID, OTHER]
    assert results_in(events) == [(OTHER, "B"), (CALL_ID, "A")]


def test_a_call_without_an_id_has_the_same_minted_id_in_all_its_events() -> None:
    events = [
        partial(call(None, q="a")),
        event(call(None, q="a"), call(None, q="b")),
        results_event(response_part(None, "A"), response_part(None, "B")),
    ]
    neutral_events = read_events(*events)
    first, second = calls_in(neutral_events)
    assert first.origin == second.origin == "minted" and first.id != second.id
    assert results_in(neutral_events) == [(first.id, "A"), (second.id, "B")]
    assert [call.id for call in decode(fold(events, NAME), NAME, "response").calls()] == [
        first.id,
        second.id,
    ]
    assert (
        sum("no id" in event.reason for event in neutral_events if isinstance(event, Unsupported))
        == 2
    )


@pytest.mark.parametrize("blank", ["", " ", "null"])
def test_a_blank_id_counts_as_missing(blank: str) -> None:
    (chunk,) = calls_in(read_events(event(call(blank))))
    assert chunk.origin == "minted"


def test_ids_that_restart_in_every_turn_name_the_newer_call() -> None:
    events = read_events(
        event(call("0", q="a")),
        results_event(response_part("0", "A")),
        event(call("0", q="b")),
        results_event(response_part("0", "B")),
    )
    assert [(event.id, event.arguments) for event in calls_in(events)] == [
        ("0", '{"q":"a"}'),
        ("0", '{"q":"b"}'),
    ]
    assert results_in(events) == [("0", "A"), ("0", "B")]


def test_a_result_without_its_call_is_emitted_after_a_call_without_arguments() -> None:
    stream = [event(call(CALL_ID, q="a")), results_event(response_part(OTHER, "B"))]
    events = read_events(*stream)
    assert [(event.id, event.arguments) for event in calls_in(events)] == [
        (CALL_ID, '{"q":"a"}'),
        (OTHER, "{}"),
    ]
    assert results_in(events) == [(OTHER, "B")]
    chunks = restream(stream, NAME, "ai-sdk", framed=False)
    assert [event["input"] for event in chunks if event["type"] == "tool-input-available"] == [
        {"q": "a"},
        {},
    ]
    assert any("only the result of this call" in loss.reason for loss in chunks.losses)


def test_turn_starts_are_emitted() -> None:
    events = read_events(
        event(call(CALL_ID), longRunningToolIds=[]),
        results_event(response_part(CALL_ID, "x")),
        event({"text": "Done."}),
    )
    assert [event.role for event in events if isinstance(event, TurnStart)] == ["tool", "assistant"]


# --- who runs a call ------------------------------------------------------------------------------


def test_a_call_that_the_agent_runs_is_emitted_at_once() -> None:
    how = wire(NAME).stream
    assert how is not None
    (chunk,) = calls_in(how.reader(keep=False).read(event(call(CALL_ID), longRunningToolIds=[])))
    assert chunk.executor == "provider"


def test_a_call_with_an_unknown_executor_waits_for_its_result() -> None:
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=False)
    assert calls_in(reader.read(event(call(CALL_ID)))) == []
    assert [
        event.executor
        for event in calls_in(reader.read(results_event(response_part(CALL_ID, "x"))))
    ] == ["provider"]
    (chunk,) = calls_in(read_events(event(call(CALL_ID))))
    assert chunk.executor == "client"


def test_a_long_running_call_stays_open_after_its_preliminary_result() -> None:
    events = [
        event(call(CALL_ID, "ask"), longRunningToolIds=[CALL_ID], finishReason="STOP"),
        results_event(response_part(CALL_ID, "pending", "ask")),
    ]
    chat = fold(restream(events, NAME, "openai-chat"), "openai-chat")
    message = get(chat, ("choices", 0, "message"))
    assert get(message, ("tool_calls", 0, "id")) == CALL_ID  # type: ignore[arg-type]
    assert get(message, ("content",)) is None  # type: ignore[arg-type]
    assert get(chat, ("choices", 0, "finish_reason")) == "tool_calls"
    assert chat == translate(fold(events, NAME), NAME, "openai-chat", "response").body


def test_a_confirmation_request_leaves_its_call_open() -> None:
    confirmation: JSON = {"originalFunctionCall": {"id": CALL_ID, "name": "delete", "args": {}}}
    placeholder: JSON = {
        "functionResponse": {
            "id": CALL_ID,
            "name": "delete",
            "response": {"error": "requires confirmation"},
        }
    }
    events = [
        event(call(CALL_ID, "delete"), longRunningToolIds=[]),
        results_event(
            {
                "functionCall": {
                    "id": OTHER,
                    "name": "adk_request_confirmation",
                    "args": confirmation,
                }
            },
            longRunningToolIds=[OTHER],
        ),
        results_event(placeholder),
    ]
    chat = fold(restream(events, NAME, "openai-chat"), "openai-chat")
    calls = get(chat, ("choices", 0, "message", "tool_calls"))
    assert isinstance(calls, list) and [get(call, ("id",)) for call in calls] == [OTHER]


# --- tokens, reasons, errors ----------------------------------------------------------------------


def test_tokens_of_the_turns_add_up_and_partial_ones_do_not_count() -> None:
    used: JSON = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    turn = [
        partial({"text": "a"}, usageMetadata=used),
        event({"text": "a"}, usageMetadata=used, finishReason="MAX_TOKENS"),
    ]
    events = read_events(*turn, *turn)
    assert [event.settings["usage"] for event in events if isinstance(event, Metadata)][
        -1
    ] == Usage(10, 4)
    assert events[-1] == Finish("length")


def test_a_failed_run_ends_with_an_error_event_and_an_error_record() -> None:
    record: Chunk = {"error": "RuntimeError: no quota", "error_details": {"a": 1}}
    error_event = event(errorCode="RuntimeError", errorMessage="no quota")
    events = [partial({"text": "Hel"}), error_event, record]
    assert read_events(*events)[-1] == StreamError("RuntimeError: no quota", "RuntimeError")
    body = fold([event({"text": "Hello"}), error_event, record], NAME)
    assert body == [event({"text": "Hello"}), error_event, record]
    assert decode(body, NAME, "response").messages[0].parts
    assert fold([record], NAME) == [record]


def test_an_error_event_without_an_error_record_is_a_stream_error() -> None:
    assert read_events(event(errorCode="UNAVAILABLE", errorMessage="later"))[-1] == StreamError(
        "later", "UNAVAILABLE"
    )
    assert read_events(event({"text": "x"}, errorCode="SAFETY", finishReason="SAFETY"))[
        -1
    ] == Finish("filter")


def test_a_turn_without_its_complete_event_keeps_its_partial_content() -> None:
    events = [
        partial({"text": "Hel"}),
        partial({"text": "lo"}),
        partial(call("call_1", q="a"), longRunningToolIds=["call_1"]),
    ]
    body = fold(events, NAME)
    assert isinstance(body, list)
    assert get(body[0], ("content", "parts")) == [{"text": "Hello"}, call("call_1", q="a")]
    assert "partial" not in body[0] and get(body[1], ("error",))  # type: ignore[operator]
    neutral_events = read_events(*events)
    assert (
        text_in(neutral_events).startswith("Hello")
        and isinstance(neutral_events[-1], StreamError)
        and neutral_events[-1].cut
    )
    assert {event.id for event in calls_in(neutral_events)} == {"call_1"}


def test_a_partial_call_of_a_truncated_stream_is_emitted_as_incomplete() -> None:
    grows: JSON = {"functionCall": {"id": CALL_ID, "name": "search", "willContinue": True}}
    more: JSON = {
        "functionCall": {
            "id": OTHER,
            "partialArgs": [{"jsonPath": "$.q", "stringValue": "a", "willContinue": True}],
            "willContinue": True,
        }
    }
    events = read_events(partial(grows), partial(more))
    assert [event.id for event in calls_in(events)] == [CALL_ID]
    assert text_in(events) == '{"q":"a' and any(
        isinstance(event, PartEnd) and event.cut for event in events
    )
    folded = fold([partial(grows), partial(more)], NAME)
    assert get(folded, (0, "content", "parts", 0, "functionCall", "args")) == {"_raw": '{"q":"a'}


def test_a_stream_of_something_else_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "ping"}], NAME)


# --- writing --------------------------------------------------------------------------------------


def test_a_run_is_written_in_the_events_of_the_official_runner() -> None:
    ui: list[Chunk] = [
        {"type": "start", "messageId": "m1"},
        {"type": "start-step"},
        {"type": "text-start", "id": "1"},
        {"type": "text-delta", "id": "1", "delta": "I "},
        {"type": "text-delta", "id": "1", "delta": "look."},
        {"type": "text-end", "id": "1"},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "look", "input": {"n": 1}},
        {"type": "tool-input-available", "toolCallId": "c2", "toolName": "look", "input": {"n": 2}},
        {"type": "tool-output-available", "toolCallId": "c2", "output": "B"},
        {"type": "tool-output-available", "toolCallId": "c1", "output": "A"},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "text-start", "id": "2"},
        {"type": "text-delta", "id": "2", "delta": "Seen."},
        {"type": "text-end", "id": "2"},
        {"type": "finish-step"},
        {"type": "finish"},
    ]
    events = list(restream(ui, "ai-sdk", NAME, framed=False))
    for event in events:
        RunEvent.model_validate(event)
    complete_events = [chunk for chunk in events if "partial" not in chunk]
    roles = [get(chunk, ("content", "role")) for chunk in complete_events]
    assert (
        roles[0] == roles[-1] == "model"
        and "user" in roles
        and all(a != b for a, b in pairwise(roles))
    )
    assert get(complete_events[0], ("content", "parts", 0, "text")) == "I look."
    pairs = decode(fold(events, NAME), NAME, "response").pairs()
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text, pair.how) for pair in pairs
    ] == [("c1", "A", "id"), ("c2", "B", "id")]


def test_a_call_of_another_wire_stays_open() -> None:
    chat: list[Chunk] = [
        {
            "id": "c",
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "call_1",
                                "type": "function",
                                "function": {"name": "f", "arguments": "{}"},
                            }
                        ]
                    },
                }
            ],
        },
        {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    *_, last = restream(chat, "openai-chat", NAME, framed=False)
    assert last["longRunningToolIds"] == ["call_1"]


@pytest.mark.parametrize(
    "ids", [{"id": "{}"}, {"id": "fc_1", "call_id": "{}"}], ids=["item", "both"]
)
def test_a_result_finds_a_call_whose_own_id_looks_minted_by_its_item_id(ids: Object) -> None:
    fields = {key: str(value).format(mint("", 0, "f")) for key, value in ids.items()}
    item: JSON = {"type": "function_call", "name": "f", "arguments": "{}", **fields}
    output: JSON = {"type": "function_call_output", "call_id": fields["id"], "output": "22"}
    done: JSON = {"type": "response.completed", "response": {"output": [item, output]}}
    run = fold(restream([done], "openai-responses", NAME), NAME)
    (pair,) = decode(run, NAME, "response").pairs()
    assert pair.how == "id"


def test_a_stream_error_is_written_as_adk_writes_it() -> None:
    cut: list[Chunk] = [
        {
            "type": "message_start",
            "message": {"id": "m", "type": "message", "role": "assistant", "content": []},
        }
    ]
    *_, error_event, record = restream(cut, "anthropic", NAME, framed=False)
    assert error_event["errorCode"] and error_event["errorMessage"] == record["error"]


# --- a real run -----------------------------------------------------------------------------------


class Model(BaseLlm):
    """Streams text, calls one tool twice, and summarizes."""

    ids: list[str | None]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        has_results = any(
            part.function_response
            for content in llm_request.contents
            for part in content.parts or []
        )
        words = ("Both ", "found.") if has_results else ("I search ", "twice.")
        for word in words:
            yield LlmResponse(
                content=types.Content(role="model", parts=[types.Part(text=word)]), partial=True
            )
        calls = [
            types.Part(function_call=types.FunctionCall(id=call_id, name="search", args={"q": q}))
            for call_id, q in zip(self.ids, ("AI", "ML"), strict=True)
        ]
        parts = [types.Part(text="".join(words)), *([] if has_results else calls)]
        yield LlmResponse(
            content=types.Content(role="model", parts=parts),
            partial=False,
            model_version="fake-1",
            finish_reason=types.FinishReason.STOP,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=5, candidates_token_count=2
            ),
        )


async def search(q: str) -> dict[str, str]:
    """Search; the first one takes longer."""
    await asyncio.sleep(0.02 if q == "AI" else 0)
    return {"output": f"about {q}"}


async def run(agent: LlmAgent, run_events: list[RunEvent]) -> AsyncIterator[RunEvent]:
    runner = InMemoryRunner(agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    question = types.Content(role="user", parts=[types.Part(text="go")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=question, run_config=config
    ):
        run_events.append(event)
        yield event


def restream_run(agent: LlmAgent, target: str) -> tuple[list[tuple[int, Chunk]], list[RunEvent]]:
    """The chunks that a run becomes, each with the number of Events read by then; and the Events."""
    run_events: list[RunEvent] = []

    async def collect() -> list[tuple[int, Chunk]]:
        return [
            (len(run_events), event)
            async for event in restream(run(agent, run_events), NAME, target, framed=False)
        ]

    return asyncio.run(collect()), run_events


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ids", [[None, None], ["call_1", "call_2"]])
def test_a_real_run_with_two_calls_of_one_tool_reaches_a_chat_front_end(
    ids: list[str | None],
) -> None:
    chunks, run_events = restream_run(
        LlmAgent(name="scout", model=Model(model="fake", ids=ids), tools=[search]), "ai-sdk"
    )
    call_ids = [
        part.function_call.id
        for event in run_events
        if not event.partial and event.content
        for part in event.content.parts or []
        if part.function_call
    ]
    assert ids == [None, None] or call_ids == ids
    inputs = [
        (n, event["toolCallId"], event["input"])
        for n, event in chunks
        if event["type"] == "tool-input-available"
    ]
    outputs = [
        (n, event["toolCallId"], event["output"])
        for n, event in chunks
        if event["type"] == "tool-output-available"
    ]
    assert [(event, value) for _, event, value in inputs] == [
        (call_ids[0], {"q": "AI"}),
        (call_ids[1], {"q": "ML"}),
    ]
    assert [(event, value) for _, event, value in outputs] == [
        (call_ids[0], "about AI"),
        (call_ids[1], "about ML"),
    ]
    assert max(n for n, _, _ in inputs) < min(n for n, _, _ in outputs)
    texts = [event["delta"] for _, event in chunks if event["type"] == "text-delta"]
    assert texts == ["I search ", "twice.", "Both ", "found."]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini"])
def test_a_real_run_folds_and_commutes(target: str) -> None:
    chunks, run_events = restream_run(
        LlmAgent(name="scout", model=Model(model="fake", ids=["call_1", "call_2"]), tools=[search]),
        target,
    )
    body = fold(run_events, NAME)
    assert isinstance(body, list) and len(body) == 3
    conversation = decode(fold([event for _, event in chunks], target), target, "response")
    decoded = decode(translate(body, NAME, target, "response").body, target, "response")
    texts = [
        ["".join(getattr(part, "text", "") for part in event.parts())]
        for event in (conversation, decoded)
    ]
    assert texts[0] == texts[1] == ["I search twice.Both found."]
    assert not any(isinstance(part, Call) for part in conversation.parts())


@pytest.mark.filterwarnings("ignore")
def test_a_real_long_running_call_stays_open() -> None:
    def ask(q: str) -> None:
        """Ask a person, who answers another day."""

    tool = LongRunningFunctionTool(ask)
    tool.name = "search"
    chunks, _ = restream_run(
        LlmAgent(name="scout", model=Model(model="fake", ids=["call_1", "call_2"]), tools=[tool]),
        "openai-chat",
    )
    chat = fold([event for _, event in chunks], "openai-chat")
    calls = get(chat, ("choices", 0, "message", "tool_calls"))
    assert isinstance(calls, list) and [get(call, ("id",)) for call in calls] == [
        "call_1",
        "call_2",
    ]
