"""What is peculiar to the Events of an ADK run, and a real run on its way to others."""

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
from toolwire.conversation.json import JSON, get
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
MINE = "adk-2b9230a6-4b92-4a1b-9a65-b708ff6c68b6"
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


def call(one: str | None = MINE, name: str = "search", **args: JSON) -> JSON:
    return {"functionCall": {"name": name, "args": args, **({"id": one} if one else {})}}


def answer(one: str | None, output: JSON, name: str = "search") -> JSON:
    return {
        "functionResponse": {
            "name": name,
            "response": {"output": output},
            **({"id": one} if one else {}),
        }
    }


def answers(*parts: JSON, **more: JSON) -> Chunk:
    return {**event(**more), "content": {"role": "user", "parts": list(parts)}}


def read(*events: Chunk) -> list[Event]:
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=False)
    out: list[Event] = []
    for one in events:
        out += reader.read(one)
        reader.count += 1
    return out + reader.end()


def called(events: list[Event]) -> list[Call]:
    found = [event.part for event in events if isinstance(event, PartStart | PartComplete)]
    return [part for part in found if isinstance(part, Call)]


def answered(events: list[Event]) -> list[tuple[str, str]]:
    found = [event.part for event in events if isinstance(event, PartComplete)]
    return [(part.call_id, part.text) for part in found if isinstance(part, Result)]


def said(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, PartDelta))


# --- partial Events -------------------------------------------------------------------------------


def test_a_completed_event_does_not_say_again_what_partial_ones_said() -> None:
    events = read(
        partial({"text": "Hel"}),
        partial({"text": "lo"}),
        event({"text": "Hello"}, finishReason="STOP"),
    )
    assert said(events) == "Hello"
    assert [type(one).__name__ for one in events] == [
        "MessageStart",
        "PartStart",
        "PartDelta",
        "PartDelta",
        "PartEnd",
        "Finish",
    ]


def test_what_partial_events_left_out_is_said_when_the_turn_is_completed() -> None:
    assert said(read(partial({"text": "Hel"}), event({"text": "Hello."}))) == "Hello."


def test_each_turn_is_compared_with_its_own_partial_events_only() -> None:
    first = [partial({"text": "One."}), event({"text": "One."}, call(MINE), longRunningToolIds=[])]
    events = [*first, answers(answer(MINE, "x")), event({"text": "Two."})]
    assert [loss for loss in read(*events) if isinstance(loss, StreamError)] == []
    there = fold(restream(events, NAME, "anthropic"), "anthropic")
    texts = [get(block, ("text",)) for block in there["content"]]  # type: ignore[index,call-overload,union-attr]
    assert (texts[0], texts[-1]) == ("One.", "Two.")


@pytest.mark.parametrize("hint", [MINE, OTHER])
def test_a_call_is_told_once_whatever_id_its_partial_event_had(hint: str) -> None:
    events = read(partial(call(hint, q="a")), event(call(MINE, q="a")), answers(answer(MINE, "x")))
    assert [(one.id, one.arguments) for one in called(events)] == [(MINE, '{"q":"a"}')]
    assert answered(events) == [(MINE, "x")]


def test_a_call_with_an_id_of_the_models_own_is_told_with_its_partial_event() -> None:
    events = [
        partial(call("call_1", q="a"), longRunningToolIds=[]),
        event(call("call_1", q="a"), longRunningToolIds=[]),
    ]
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=False)
    assert [one.id for one in called(reader.read(events[0]))] == ["call_1"]
    assert called(reader.read(events[1])) == []


def test_a_partial_call_that_is_answered_and_never_repeated_is_told_with_its_answer() -> None:
    hint = partial(call(MINE, q="a"))
    events = read(hint, answers(answer(MINE, "x")), event({"text": "Done."}))
    assert [(one.id, one.arguments) for one in called(events)] == [(MINE, '{"q":"a"}')]
    assert fold([hint, answers(answer(MINE, "x"))], NAME) == [hint, answers(answer(MINE, "x"))]


# --- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marked", [True, False])
def test_two_calls_of_one_tool_keep_their_two_results(marked: bool) -> None:
    more: dict[str, JSON] = {"longRunningToolIds": []} if marked else {}
    events = read(
        event(call(MINE, q="a"), call(OTHER, q="b"), **more),
        answers(answer(OTHER, "B")),
        answers(answer(MINE, "A")),
    )
    assert [one.id for one in called(events)] == [MINE, OTHER]
    assert answered(events) == [(OTHER, "B"), (MINE, "A")]


def test_a_call_without_an_id_has_one_made_up_id_in_its_hint_its_event_and_its_response() -> None:
    events = [
        partial(call(None, q="a")),
        event(call(None, q="a"), call(None, q="b")),
        answers(answer(None, "A"), answer(None, "B")),
    ]
    told = read(*events)
    first, second = called(told)
    assert first.origin == second.origin == "minted" and first.id != second.id
    assert answered(told) == [(first.id, "A"), (second.id, "B")]
    assert [one.id for one in decode(fold(events, NAME), NAME, "response").calls()] == [
        first.id,
        second.id,
    ]
    assert sum("no id" in one.reason for one in told if isinstance(one, Unsupported)) == 2


@pytest.mark.parametrize("blank", ["", " ", "null"])
def test_a_blank_id_is_none(blank: str) -> None:
    (one,) = called(read(event(call(blank))))
    assert one.origin == "minted"


def test_ids_that_restart_in_every_turn_name_the_newer_call() -> None:
    events = read(
        event(call("0", q="a")),
        answers(answer("0", "A")),
        event(call("0", q="b")),
        answers(answer("0", "B")),
    )
    assert [(one.id, one.arguments) for one in called(events)] == [
        ("0", '{"q":"a"}'),
        ("0", '{"q":"b"}'),
    ]
    assert answered(events) == [("0", "A"), ("0", "B")]


def test_a_result_of_a_call_that_never_came_is_told_after_a_call_without_arguments() -> None:
    stream = [event(call(MINE, q="a")), answers(answer(OTHER, "B"))]
    events = read(*stream)
    assert [(one.id, one.arguments) for one in called(events)] == [
        (MINE, '{"q":"a"}'),
        (OTHER, "{}"),
    ]
    assert answered(events) == [(OTHER, "B")]
    told = restream(stream, NAME, "ai-sdk", framed=False)
    assert [one["input"] for one in told if one["type"] == "tool-input-available"] == [
        {"q": "a"},
        {},
    ]
    assert any("only the result of this call" in loss.reason for loss in told.losses)


def test_turns_are_told() -> None:
    events = read(
        event(call(MINE), longRunningToolIds=[]),
        answers(answer(MINE, "x")),
        event({"text": "Done."}),
    )
    assert [one.role for one in events if isinstance(one, TurnStart)] == ["tool", "assistant"]


# --- who runs a call ------------------------------------------------------------------------------


def test_a_call_that_the_agent_runs_is_told_at_once_as_its_own() -> None:
    how = wire(NAME).stream
    assert how is not None
    (one,) = called(how.reader(keep=False).read(event(call(MINE), longRunningToolIds=[])))
    assert one.executor == "provider"


def test_where_nothing_says_who_runs_a_call_it_waits_for_its_answer() -> None:
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=False)
    assert called(reader.read(event(call(MINE)))) == []
    assert [one.executor for one in called(reader.read(answers(answer(MINE, "x"))))] == ["provider"]
    (one,) = called(read(event(call(MINE))))
    assert one.executor == "client"


def test_a_long_running_call_stays_open_and_its_note_is_not_its_answer() -> None:
    events = [
        event(call(MINE, "ask"), longRunningToolIds=[MINE], finishReason="STOP"),
        answers(answer(MINE, "pending", "ask")),
    ]
    chat = fold(restream(events, NAME, "openai-chat"), "openai-chat")
    message = get(chat, ("choices", 0, "message"))
    assert get(message, ("tool_calls", 0, "id")) == MINE  # type: ignore[arg-type]
    assert get(message, ("content",)) == "[ask answered: pending]"  # type: ignore[arg-type]
    assert get(chat, ("choices", 0, "finish_reason")) == "tool_calls"
    assert chat == translate(fold(events, NAME), NAME, "openai-chat", "response").body


def test_a_request_for_confirmation_is_the_call_that_waits() -> None:
    asked: JSON = {"originalFunctionCall": {"id": MINE, "name": "delete", "args": {}}}
    placeholder: JSON = {
        "functionResponse": {
            "id": MINE,
            "name": "delete",
            "response": {"error": "requires confirmation"},
        }
    }
    events = [
        event(call(MINE, "delete"), longRunningToolIds=[]),
        answers(
            {"functionCall": {"id": OTHER, "name": "adk_request_confirmation", "args": asked}},
            longRunningToolIds=[OTHER],
        ),
        answers(placeholder),
    ]
    chat = fold(restream(events, NAME, "openai-chat"), "openai-chat")
    calls = get(chat, ("choices", 0, "message", "tool_calls"))
    assert isinstance(calls, list) and [get(one, ("id",)) for one in calls] == [OTHER]


# --- tokens, reasons, faults ----------------------------------------------------------------------


def test_tokens_of_the_turns_add_up_and_partial_ones_do_not_count() -> None:
    used: JSON = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    turn = [
        partial({"text": "a"}, usageMetadata=used),
        event({"text": "a"}, usageMetadata=used, finishReason="MAX_TOKENS"),
    ]
    events = read(*turn, *turn)
    assert [one.settings["usage"] for one in events if isinstance(one, Metadata)][-1] == Usage(
        10, 4
    )
    assert events[-1] == Finish("length")


def test_a_failed_run_ends_with_an_event_and_a_record_that_is_none() -> None:
    record: Chunk = {"error": "RuntimeError: no quota", "error_details": {"a": 1}}
    failed = event(errorCode="RuntimeError", errorMessage="no quota")
    events = [partial({"text": "Hel"}), failed, record]
    assert read(*events)[-1] == StreamError("RuntimeError: no quota", "RuntimeError")
    body = fold([event({"text": "Hello"}), failed, record], NAME)
    assert body == [event({"text": "Hello"}), failed, record]
    assert decode(body, NAME, "response").messages[0].parts
    assert fold([record], NAME) == [record]


def test_an_error_event_without_the_record_is_a_fault_at_the_end() -> None:
    assert read(event(errorCode="UNAVAILABLE", errorMessage="later"))[-1] == StreamError(
        "later", "UNAVAILABLE"
    )
    assert read(event({"text": "x"}, errorCode="SAFETY", finishReason="SAFETY"))[-1] == Finish(
        "filter"
    )


def test_a_turn_that_was_never_completed_is_kept_as_far_as_it_came() -> None:
    events = [
        partial({"text": "Hel"}),
        partial({"text": "lo"}),
        partial(call("call_1", q="a"), longRunningToolIds=["call_1"]),
    ]
    body = fold(events, NAME)
    assert isinstance(body, list)
    assert get(body[0], ("content", "parts")) == [{"text": "Hello"}, call("call_1", q="a")]
    assert "partial" not in body[0] and get(body[1], ("error",))  # type: ignore[operator]
    told = read(*events)
    assert said(told).startswith("Hello") and isinstance(told[-1], StreamError) and told[-1].cut
    assert {one.id for one in called(told)} == {"call_1"}


def test_a_call_that_was_only_hinted_at_when_the_stream_broke_off_is_told_as_unfinished() -> None:
    grows: JSON = {"functionCall": {"id": MINE, "name": "search", "willContinue": True}}
    more: JSON = {
        "functionCall": {
            "id": OTHER,
            "partialArgs": [{"jsonPath": "$.q", "stringValue": "a", "willContinue": True}],
            "willContinue": True,
        }
    }
    told = read(partial(grows), partial(more))
    assert [one.id for one in called(told)] == [MINE]
    assert said(told) == '{"q":"a' and any(isinstance(one, PartEnd) and one.cut for one in told)
    kept = fold([partial(grows), partial(more)], NAME)
    assert get(kept, (0, "content", "parts", 0, "functionCall", "args")) == {"_raw": '{"q":"a'}


def test_a_stream_of_something_else_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "ping"}], NAME)


# --- writing --------------------------------------------------------------------------------------


def test_a_run_is_written_as_adks_own_runner_would_give_it() -> None:
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
    written = list(restream(ui, "ai-sdk", NAME, framed=False))
    for one in written:
        RunEvent.model_validate(one)
    whole = [one for one in written if "partial" not in one]
    roles = [get(one, ("content", "role")) for one in whole]
    assert (
        roles[0] == roles[-1] == "model"
        and "user" in roles
        and all(a != b for a, b in pairwise(roles))
    )
    assert get(whole[0], ("content", "parts", 0, "text")) == "I look."
    pairs = decode(fold(written, NAME), NAME, "response").pairs()
    assert [
        (one.call and one.call.id, one.result and one.result.text, one.how) for one in pairs
    ] == [("c1", "A", "id"), ("c2", "B", "id")]


def test_a_call_of_another_wire_is_left_to_the_reader() -> None:
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


def test_a_fault_is_told_as_adk_tells_it() -> None:
    cut: list[Chunk] = [
        {
            "type": "message_start",
            "message": {"id": "m", "type": "message", "role": "assistant", "content": []},
        }
    ]
    *_, failed, record = restream(cut, "anthropic", NAME, framed=False)
    assert failed["errorCode"] and failed["errorMessage"] == record["error"]


# --- a real run -----------------------------------------------------------------------------------


class Model(BaseLlm):
    """Speaks in pieces, calls one tool twice, and sums up."""

    ids: list[str | None]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        done = any(
            part.function_response
            for content in llm_request.contents
            for part in content.parts or []
        )
        words = ("Both ", "found.") if done else ("I search ", "twice.")
        for word in words:
            yield LlmResponse(
                content=types.Content(role="model", parts=[types.Part(text=word)]), partial=True
            )
        calls = [
            types.Part(function_call=types.FunctionCall(id=one, name="search", args={"q": q}))
            for one, q in zip(self.ids, ("AI", "ML"), strict=True)
        ]
        parts = [types.Part(text="".join(words)), *([] if done else calls)]
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


async def run(agent: LlmAgent, seen: list[RunEvent]) -> AsyncIterator[RunEvent]:
    runner = InMemoryRunner(agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    asked = types.Content(role="user", parts=[types.Part(text="go")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    async for one in runner.run_async(
        user_id="u", session_id=session.id, new_message=asked, run_config=config
    ):
        seen.append(one)
        yield one


def through(agent: LlmAgent, target: str) -> tuple[list[tuple[int, Chunk]], list[RunEvent]]:
    """What a run becomes, each with the number of Events by then; and the Events."""
    seen: list[RunEvent] = []

    async def gathered() -> list[tuple[int, Chunk]]:
        return [
            (len(seen), one) async for one in restream(run(agent, seen), NAME, target, framed=False)
        ]

    return asyncio.run(gathered()), seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ids", [[None, None], ["call_1", "call_2"]])
def test_a_real_run_with_two_calls_of_one_tool_reaches_a_chat_front_end(
    ids: list[str | None],
) -> None:
    told, seen = through(
        LlmAgent(name="scout", model=Model(model="fake", ids=ids), tools=[search]), "ai-sdk"
    )
    given = [
        part.function_call.id
        for one in seen
        if not one.partial and one.content
        for part in one.content.parts or []
        if part.function_call
    ]
    assert ids == [None, None] or given == ids
    inputs = [
        (n, one["toolCallId"], one["input"])
        for n, one in told
        if one["type"] == "tool-input-available"
    ]
    outputs = [
        (n, one["toolCallId"], one["output"])
        for n, one in told
        if one["type"] == "tool-output-available"
    ]
    assert [(one, value) for _, one, value in inputs] == [
        (given[0], {"q": "AI"}),
        (given[1], {"q": "ML"}),
    ]
    assert [(one, value) for _, one, value in outputs] == [
        (given[0], "about AI"),
        (given[1], "about ML"),
    ]
    assert max(n for n, _, _ in inputs) < min(n for n, _, _ in outputs)
    texts = [one["delta"] for _, one in told if one["type"] == "text-delta"]
    assert texts == ["I search ", "twice.", "Both ", "found."]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini"])
def test_a_real_run_folds_and_commutes(target: str) -> None:
    told, seen = through(
        LlmAgent(name="scout", model=Model(model="fake", ids=["call_1", "call_2"]), tools=[search]),
        target,
    )
    body = fold(seen, NAME)
    assert isinstance(body, list) and len(body) == 3
    there = decode(fold([one for _, one in told], target), target, "response")
    made = decode(translate(body, NAME, target, "response").body, target, "response")
    texts = [["".join(getattr(part, "text", "") for part in one.parts())] for one in (there, made)]
    assert texts[0] == texts[1] and "about ML" in texts[0][0]
    assert not any(isinstance(part, Call) for part in there.parts())


@pytest.mark.filterwarnings("ignore")
def test_a_real_long_running_call_waits_for_whoever_reads() -> None:
    def ask(q: str) -> None:
        """Ask somebody, who answers another day."""

    tool = LongRunningFunctionTool(ask)
    tool.name = "search"
    told, _ = through(
        LlmAgent(name="scout", model=Model(model="fake", ids=["call_1", "call_2"]), tools=[tool]),
        "openai-chat",
    )
    chat = fold([one for _, one in told], "openai-chat")
    calls = get(chat, ("choices", 0, "message", "tool_calls"))
    assert isinstance(calls, list) and [get(one, ("id",)) for one in calls] == ["call_1", "call_2"]
