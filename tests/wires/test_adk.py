"""What is peculiar to ADK's log of events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import Case, load
from google.adk.events import Event
from google.adk.flows.llm_flows.functions import remove_client_function_call_id
from google.genai.types import Content
from msgspec.structs import replace
from validators import adk as validate

from toolwire import Call, Message, Result, Text, catalogue, decode, detect, encode, translate
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

NAME = "adk"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
ENTRIES = [
    entry
    for entry in (json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else [])
    if entry["wire"] == "gemini" and entry["core_wire"] and entry["form"] != "response-stream"
]
"""The parts of an event are those of Gemini, and so are their types."""
KNOWN = [case for case in load(NAME) if "unknown" not in case.name]
"""What ADK's own types accept: they refuse parts they do not know."""
CALL_ID = "adk-2b9230a6-4b92-4a1b-9a65-b708ff6c68b6"
OTHER = "adk-7c1d0f3e-0a55-4c57-8d2e-5b1f6c0e9a11"


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A log of one event around a minimal example of a part; None for a streamed one."""
    if form == "response-stream":
        return None
    role = "user" if discriminator["part_field"] == "functionResponse" else "model"
    return [event("agent", example, role=role)], "request"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["type_name"]))
def test_every_part_of_the_catalogue_is_read_as_what_it_is(entry: dict[str, str]) -> None:
    wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])  # type: ignore[arg-type]
    assert wrapped is not None
    body, kind = wrapped
    conversation = decode(body, NAME, kind)
    (part,) = (part for part in conversation.parts() if isinstance(part, Call | Result))
    assert isinstance(part, Call if entry["direction"] == "call" else Result)
    assert (part.family, part.executor) == (
        entry["family"],
        {"server": "provider"}.get(entry["executor"], entry["executor"]),
    )
    assert encode(conversation, NAME, kind).body == body
    rows = {(row.direction, row.family, row.origin) for row in catalogue() if row.wire == NAME}
    assert (entry["direction"], entry["family"], entry["origin_class"]) in rows


def event(author: str, *parts: JSON, role: str = "model", **more: JSON) -> JSON:
    return {"author": author, "content": {"role": role, "parts": list(parts)}, **more}


def call_part(call_id: str | None = CALL_ID, name: str = "f", **args: JSON) -> JSON:
    return {"functionCall": {"name": name, "args": args, **({"id": call_id} if call_id else {})}}


def response_part(response: JSON, call_id: str | None = CALL_ID, name: str = "f") -> JSON:
    return {
        "functionResponse": {
            "name": name,
            "response": response,
            **({"id": call_id} if call_id else {}),
        }
    }


def value_at(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


# --- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "genkit", "meai"])
def test_an_id_made_by_adk_is_sent_to_every_wire_with_ids(target: str) -> None:
    log = [
        event("a", call_part(), call_part(OTHER)),
        event("a", response_part({"n": 2}, OTHER), response_part({"n": 1}), role="user"),
    ]
    translated = translate(log, NAME, target)
    conversation = decode(translated.json(), target)
    assert [call.id for call in conversation.calls()] == [CALL_ID, OTHER]
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in conversation.pairs()
    ] == [(CALL_ID, '{"n":1}'), (OTHER, '{"n":2}')]
    assert translated.losses == []


def test_ids_are_removed_for_gemini_exactly_where_adk_removes_them() -> None:
    for case in KNOWN:
        if case.kind == "response":
            continue
        ours = [
            (kind, block.get("id"))
            for content in value_at(
                translate(case.body, NAME, "gemini", repair=False).body, "contents"
            )  # type: ignore[union-attr]
            for part in value_at(content, "parts")  # type: ignore[union-attr]
            for kind in ("functionCall", "functionResponse")
            if isinstance(block := part.get(kind), dict)  # type: ignore[union-attr]
        ]
        sdk_pairs: list[tuple[str, str | None]] = []
        for message in decode(case.body, NAME).messages:
            content = Content.model_validate(value_at(message.raw, "content"))  # type: ignore[arg-type]
            remove_client_function_call_id(content)
            for part in content.parts or ():
                if part.function_call:
                    sdk_pairs.append(("functionCall", part.function_call.id))
                if part.function_response:
                    sdk_pairs.append(("functionResponse", part.function_response.id))
        assert sorted(ours, key=str) == sorted(sdk_pairs, key=str), case.name


def test_a_removed_id_is_restored_with_the_id_map() -> None:
    log = [
        event("a", call_part(x=1), call_part(OTHER, x=2)),
        event("a", response_part({"n": 2}, OTHER), response_part({"n": 1}), role="user"),
    ]
    translated = translate(log, NAME, "gemini")
    assert CALL_ID not in translated.json().decode()
    restored = decode(
        translate(translated.json(), "gemini", NAME, ids=translated.ids.to_dict()).json(), NAME
    )
    assert [(call.id, call.input) for call in restored.calls()] == [
        (CALL_ID, {"x": 1}),
        (OTHER, {"x": 2}),
    ]
    assert {result.call_id: result.text for result in restored.results()} == {
        CALL_ID: '{"n":1}',
        OTHER: '{"n":2}',
    }


def test_an_id_made_by_the_model_is_sent_to_gemini() -> None:
    body = translate([event("a", call_part("call_7"))], NAME, "gemini", repair=False).body
    assert value_at(body, "contents", 0, "parts", 0, "functionCall", "id") == "call_7"


def test_a_call_of_a_wire_without_ids_gets_none_here() -> None:
    body = translate(
        {"contents": [{"role": "model", "parts": [call_part(None)]}]}, "gemini", NAME
    ).body
    assert "id" not in value_at(body, 0, "content", "parts", 0, "functionCall")  # type: ignore[operator]


def test_calls_in_two_messages_of_one_turn_keep_their_results_in_order() -> None:
    contents: list[JSON] = [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 1}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 2}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": text}}}
                for text in ("one", "two")
            ],
        },
    ]
    translated = translate({"contents": contents}, "gemini", NAME)
    assert b"tw-" not in translated.json()
    pairs = decode(translated.json(), NAME).pairs()
    assert [
        (pair.call and pair.call.input, pair.result and pair.result.text) for pair in pairs
    ] == [({"k": 1}, "one"), ({"k": 2}, "two")]


def test_a_minted_id_is_sent_on_both_sides_where_order_would_pair_otherwise() -> None:
    ids = ("tw-0123456789abcdef", "tw-fedcba9876543210")
    calls: list[JSON] = [
        {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call_id in ids
    ]
    call_message: JSON = {"role": "assistant", "content": None, "tool_calls": calls}
    translated = translate(
        {"messages": [call_message, {"role": "tool", "tool_call_id": ids[1], "content": "b"}]},
        "openai-chat",
        NAME,
    )
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in decode(translated.json(), NAME).pairs()
    ] == [(ids[0], None), (ids[1], "b")]
    assert translated.losses == []


def test_an_id_made_by_adk_has_the_origin_wire_and_pairs() -> None:
    conversation = decode(
        [event("a", call_part()), event("a", response_part({"n": 1}), role="user")], NAME
    )
    (pair,) = conversation.pairs()
    assert pair.call is not None
    assert (pair.call.id, pair.call.origin, pair.how) == (CALL_ID, "wire", "id")


# --- authors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "role"),
    [
        (event("user", {"text": "hi"}, role="user"), "user"),
        (event("root", {"text": "hi"}), "assistant"),
        (event("root", {"text": "hi"}, role="user"), "assistant"),
        (event("root", response_part({"n": 1}), role="user"), "tool"),
        (event("user", response_part({"n": 1}), role="user"), "user"),
        ({"content": {"role": "model", "parts": [{"text": "hi"}]}}, "assistant"),
        ({"content": {"parts": [{"text": "hi"}]}}, "user"),
    ],
)
def test_the_author_decides_the_role_of_an_event_unless_it_holds_results(
    value: JSON, role: str
) -> None:
    assert [message.role for message in decode([value], NAME).messages] == [role]


def test_the_first_answer_of_a_long_running_tool_is_paired_and_the_later_ones_stay_visible() -> (
    None
):
    log = [
        event("a", call_part(), longRunningToolIds=[CALL_ID]),
        event("a", response_part({"status": "pending"}), role="user"),
        event("a", {"text": "Wait."}),
        event("user", response_part({"status": "done"}), role="user"),
    ]
    conversation = decode(log, NAME)
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text, pair.how)
        for pair in conversation.pairs()
    ] == [(CALL_ID, '{"status":"pending"}', "id"), (None, '{"status":"done"}', None)]
    assert conversation.results()[1].call_id == CALL_ID
    chat = translate(log, NAME, "openai-chat", repair=False)
    assert [loss.pointer for loss in chat.losses] == ["/0/longRunningToolIds"]
    assert [
        value_at(m, "tool_call_id")
        for m in value_at(chat.body, "messages")  # type: ignore[union-attr]
        if value_at(m, "role") == "tool"
    ] == [CALL_ID, CALL_ID]


def test_a_second_result_is_sent_to_gemini_under_its_id_and_reported_where_none_can_be_sent() -> (
    None
):
    log = [
        event("a", call_part()),
        event("a", response_part({"n": 1}), role="user"),
        event("user", response_part({"n": 2}), role="user"),
    ]
    sent = translate(log, NAME, "gemini", repair=False)
    assert sent.losses == []
    assert [result.call_id for result in decode(sent.body, "gemini").results()] == [CALL_ID] * 2
    refused = translate(log, NAME, "vertex-gemini-v1", repair=False)
    assert [loss.pointer for loss in refused.losses] == ["/2/content/parts/0"]


def test_a_confirmation_request_is_a_call_with_its_own_id() -> None:
    log = [
        event("a", call_part(name="delete")),
        event(
            "a", call_part(OTHER, "adk_request_confirmation", originalFunctionCall={"id": CALL_ID})
        ),
        event("a", response_part({"error": "requires confirmation"}, name="delete"), role="user"),
        event(
            "user",
            response_part({"confirmed": True}, OTHER, "adk_request_confirmation"),
            role="user",
        ),
        event("a", response_part({"output": "gone"}, name="delete"), role="user"),
    ]
    pairs = decode(log, NAME).pairs()
    assert [(pair.call and pair.call.name, pair.result and pair.result.text) for pair in pairs] == [
        ("delete", "requires confirmation"),
        ("adk_request_confirmation", '{"confirmed":true}'),
        (None, "gone"),
    ]


# --- events ---------------------------------------------------------------------------------------


def test_a_fragment_that_is_repeated_counts_once_and_is_no_loss() -> None:
    log = [event("a", {"text": "Hel"}, partial=True), event("a", {"text": "Hello"}, partial=False)]
    conversation = decode(log, NAME)
    assert [part.text for part in conversation.parts() if isinstance(part, Text)] == ["Hello"]
    assert encode(conversation, "openai-chat").losses == []


def test_a_fragment_that_nothing_repeats_is_reported() -> None:
    assert [
        loss.pointer
        for loss in translate(
            [event("a", {"text": "Hel"}, partial=True)], NAME, "openai-chat"
        ).losses
    ] == ["/0"]


def test_a_call_that_was_sent_only_in_a_fragment_and_answered_is_read() -> None:
    log = [
        event("a", {"text": "Well."}, call_part(), partial=True),
        event("a", response_part({"n": 1}), role="user"),
    ]
    assert [pair.how for pair in decode(log, NAME).pairs()] == ["id"]


def test_fields_of_an_event_are_reported_unless_they_are_empty_defaults() -> None:
    quiet: JSON = {
        "stateDelta": {},
        "artifactDelta": {},
        "requestedAuthConfigs": {},
        "requestedToolConfirmations": {},
    }
    log: list[JSON] = [
        event(
            "user",
            {"text": "hi"},
            role="user",
            actions=quiet,
            nodeInfo={"path": ""},
            id="e1",
            timestamp=1.5,
            invocationId="i",
        ),
        event(
            "a",
            {"text": "ho"},
            actions={"artifactDelta": {}, "stateDelta": {"k": 1}},
            finishReason="STOP",
            branch="a.b",
        ),
        {"author": "a", "errorCode": "429", "actions": quiet},
    ]
    pointers = [loss.pointer for loss in translate(log, NAME, "openai-chat").losses]
    assert pointers == ["/1/actions/stateDelta", "/1/branch", "/2/errorCode"]


def test_removing_a_message_keeps_events_without_content() -> None:
    silent: JSON = {"author": "a", "actions": {"stateDelta": {"k": 1}}}
    log = [
        event("user", {"text": "1"}, role="user"),
        silent,
        event("a", {"text": "2"}),
        event("a", {"text": "3"}),
    ]
    conversation = decode(log, NAME)
    encoded = encode(
        replace(conversation, messages=(conversation.messages[0], conversation.messages[2])), NAME
    )
    assert encoded.body == [log[0], silent, log[3]]
    assert encoded.losses == []


def test_a_part_added_to_an_event_leaves_the_rest_of_the_event() -> None:
    log: dict[str, JSON] = {
        "id": "s",
        "appName": "p",
        "userId": "u",
        "events": [event("a", {"text": "1"}, id="e1", branch="b")],
    }
    conversation = decode(log, NAME)
    (message,) = conversation.messages
    encoded = encode(
        replace(conversation, messages=(replace(message, parts=(*message.parts, Text("2"))),)), NAME
    )
    assert encoded.body == {
        **log,
        "events": [event("a", {"text": "1"}, {"text": "2"}, id="e1", branch="b")],
    }


def test_instruction_tools_and_settings_belong_to_the_agent_and_are_reported() -> None:
    chat: JSON = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    translated = translate(chat, "openai-chat", NAME)
    assert translated.body == [event("user", {"text": "hi"}, role="user")]
    assert sorted(loss.pointer for loss in translated.losses) == [
        "/messages/0",
        "/model",
        "/tools/0",
    ]


# --- runs -----------------------------------------------------------------------------------------


def test_calls_with_results_in_a_run_are_complete_and_open_calls_are_the_clients() -> None:
    run = [
        event("a", call_part(), id="e1"),
        event("a", response_part({"n": 1}), role="user"),
        event("a", call_part(OTHER), id="e2", finishReason="STOP"),
    ]
    conversation = decode(run, NAME, "response")
    assert [(call.id, call.executor) for call in conversation.calls()] == [
        (CALL_ID, "provider"),
        (OTHER, "client"),
    ]
    (message,) = conversation.messages
    assert message.stop == "tool"
    chat = encode(conversation, "openai-chat", "response")
    assert [
        value_at(choice, "id")
        for choice in value_at(chat.body, "choices", 0, "message", "tool_calls")  # type: ignore[union-attr]
    ] == [OTHER]
    assert [loss.pointer for loss in chat.losses] == ["/0/content/parts/0", "/1/content/parts/0"]


def test_the_tokens_of_a_run_add_up() -> None:
    run = [
        event(
            "a", {"text": "1"}, usageMetadata={"promptTokenCount": 10, "candidatesTokenCount": 2}
        ),
        event(
            "a",
            {"text": "2"},
            usage_metadata={
                "prompt_token_count": 20,
                "candidates_token_count": 3,
                "thoughts_token_count": 1,
            },
        ),
    ]
    usage = decode(run, NAME, "response").settings["usage"]
    assert (usage.input, usage.output, usage.reasoning) == (30, 6, 1)  # type: ignore[union-attr]


def test_removing_a_part_of_a_run_keeps_the_other_events() -> None:
    run = [
        event("a", call_part(), id="e1"),
        event("a", response_part({"n": 1}), role="user"),
        event("a", {"text": "x"}, {"text": "y"}, id="e2"),
    ]
    conversation = decode(run, NAME, "response")
    (message,) = conversation.messages
    shorter = replace(conversation, messages=(replace(message, parts=message.parts[:-1]),))
    assert encode(shorter, NAME, "response").body == [
        run[0],
        run[1],
        event("a", {"text": "x"}, id="e2"),
    ]


# --- the real thing -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_adk_accepts_the_cases(case: Case) -> None:
    validate(case.body, case.kind)


def test_an_event_as_adk_dumps_it_is_read_in_both_spellings() -> None:
    sdk_event = Event.model_validate(event("a", call_part(x=1)))
    camel, snake = (
        sdk_event.model_dump(mode="json", by_alias=alias, exclude_none=True)
        for alias in (True, False)
    )
    assert decode([camel], NAME).messages == decode([snake], NAME).messages
    assert decode([camel], NAME).calls()[0].id == CALL_ID
    assert encode(decode([snake], NAME), NAME).body == [snake]


def test_detect_finds_this_wire_for_a_log_only() -> None:
    assert detect([event("a", {"text": "x"})]) == NAME
    assert detect({"id": "s", "appName": "p", "userId": "u", "events": []}) == NAME


def test_a_new_message_becomes_an_event_of_the_user() -> None:
    conversation = decode([event("a", {"text": "1"})], NAME)
    longer = replace(conversation, messages=(*conversation.messages, Message("user", (Text("2"),))))
    assert encode(longer, NAME).body == [
        event("a", {"text": "1"}),
        event("user", {"text": "2"}, role="user"),
    ]


@pytest.mark.parametrize("value", [False, 0])
def test_an_unknown_field_that_is_false_or_zero_is_reported(value: JSON) -> None:
    content: JSON = {"role": "user", "parts": [{"text": "Hi."}]}
    event: JSON = {"author": "user", "content": content, "mood": value, "branch": None, "tags": []}
    assert [loss.pointer for loss in translate([event], NAME, "anthropic").losses] == ["/0/mood"]


def test_signatures_of_calls_travel_between_adk_and_gemini() -> None:
    call: JSON = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    result: JSON = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    contents: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    body: JSON = {"model": "gemini-3-pro-preview", "contents": contents}
    there = translate(body, "gemini", NAME)
    back = translate(there.body, NAME, "gemini")
    assert not there.changes and not back.changes
    assert isinstance(back.body, dict) and back.body["contents"] == contents
