"""What is peculiar to ADK's log of events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import Case, load
from google.adk.events import Event
from google.adk.flows.llm_flows.functions import remove_client_function_call_id
from google.genai.types import Content
from judges import adk as judge
from msgspec.structs import replace

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
MINE = "adk-2b9230a6-4b92-4a1b-9a65-b708ff6c68b6"
OTHER = "adk-7c1d0f3e-0a55-4c57-8d2e-5b1f6c0e9a11"


def hold(example: JSON, discriminator: dict[str, str], form: str) -> tuple[JSON, Kind] | None:
    """A log of one event around a minimal example of a part; None for a streamed one."""
    if form == "response-stream":
        return None
    role = "user" if discriminator["part_field"] == "functionResponse" else "model"
    return [event("agent", example, role=role)], "request"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["type_name"]))
def test_every_part_of_the_catalogue_is_read_as_what_it_is(entry: dict[str, str]) -> None:
    held = hold(entry["min_example"], entry["discriminator"], entry["form"])  # type: ignore[arg-type]
    assert held is not None
    body, kind = held
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


def call(one: str | None = MINE, name: str = "f", **args: JSON) -> JSON:
    return {"functionCall": {"name": name, "args": args, **({"id": one} if one else {})}}


def answer(response: JSON, one: str | None = MINE, name: str = "f") -> JSON:
    return {
        "functionResponse": {"name": name, "response": response, **({"id": one} if one else {})}
    }


def at(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


# --- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "genkit", "meai"])
def test_an_id_that_adk_made_up_goes_to_every_wire_that_has_ids(target: str) -> None:
    log = [
        event("a", call(), call(OTHER)),
        event("a", answer({"n": 2}, OTHER), answer({"n": 1}), role="user"),
    ]
    made = translate(log, NAME, target)
    again = decode(made.json(), target)
    assert [one.id for one in again.calls()] == [MINE, OTHER]
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text) for pair in again.pairs()
    ] == [(MINE, '{"n":1}'), (OTHER, '{"n":2}')]
    assert made.losses == []


def test_towards_gemini_an_id_is_taken_off_exactly_where_adk_takes_it_off() -> None:
    for case in KNOWN:
        if case.kind == "response":
            continue
        ours = [
            (kind, held.get("id"))
            for content in at(translate(case.body, NAME, "gemini", repair=False).body, "contents")  # type: ignore[union-attr]
            for part in at(content, "parts")  # type: ignore[union-attr]
            for kind in ("functionCall", "functionResponse")
            if isinstance(held := part.get(kind), dict)  # type: ignore[union-attr]
        ]
        theirs: list[tuple[str, str | None]] = []
        for message in decode(case.body, NAME).messages:
            content = Content.model_validate(at(message.raw, "content"))  # type: ignore[arg-type]
            remove_client_function_call_id(content)
            for part in content.parts or ():
                if part.function_call:
                    theirs.append(("functionCall", part.function_call.id))
                if part.function_response:
                    theirs.append(("functionResponse", part.function_response.id))
        assert sorted(ours, key=str) == sorted(theirs, key=str), case.name


def test_an_id_that_was_taken_off_comes_home_with_the_map() -> None:
    log = [
        event("a", call(x=1), call(OTHER, x=2)),
        event("a", answer({"n": 2}, OTHER), answer({"n": 1}), role="user"),
    ]
    there = translate(log, NAME, "gemini")
    assert MINE not in there.json().decode()
    home = decode(translate(there.json(), "gemini", NAME, ids=there.ids.to_dict()).json(), NAME)
    assert [(one.id, one.input) for one in home.calls()] == [(MINE, {"x": 1}), (OTHER, {"x": 2})]
    assert {one.call_id: one.text for one in home.results()} == {MINE: '{"n":1}', OTHER: '{"n":2}'}


def test_an_id_the_model_gave_goes_to_gemini_as_it_is() -> None:
    made = translate([event("a", call("call_7"))], NAME, "gemini", repair=False).body
    assert at(made, "contents", 0, "parts", 0, "functionCall", "id") == "call_7"


def test_a_call_of_a_wire_without_ids_gets_none_here() -> None:
    made = translate({"contents": [{"role": "model", "parts": [call(None)]}]}, "gemini", NAME).body
    assert "id" not in at(made, 0, "content", "parts", 0, "functionCall")  # type: ignore[operator]


def test_calls_in_two_messages_of_one_turn_keep_their_results_in_order() -> None:
    contents: list[JSON] = [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 1}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 2}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": said}}}
                for said in ("one", "two")
            ],
        },
    ]
    made = translate({"contents": contents}, "gemini", NAME)
    assert b"tw-" not in made.json()
    pairs = decode(made.json(), NAME).pairs()
    assert [
        (pair.call and pair.call.input, pair.result and pair.result.text) for pair in pairs
    ] == [({"k": 1}, "one"), ({"k": 2}, "two")]


def test_a_minted_id_is_sent_on_both_sides_where_order_would_pair_otherwise() -> None:
    ids = ("tw-0123456789abcdef", "tw-fedcba9876543210")
    calls: list[JSON] = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids
    ]
    asked: JSON = {"role": "assistant", "content": None, "tool_calls": calls}
    made = translate(
        {"messages": [asked, {"role": "tool", "tool_call_id": ids[1], "content": "b"}]},
        "openai-chat",
        NAME,
    )
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in decode(made.json(), NAME).pairs()
    ] == [(ids[0], None), (ids[1], "b")]
    assert made.losses == []


def test_an_id_of_adk_is_the_wires_own_and_pairs_by_it() -> None:
    found = decode([event("a", call()), event("a", answer({"n": 1}), role="user")], NAME)
    (pair,) = found.pairs()
    assert pair.call is not None
    assert (pair.call.id, pair.call.origin, pair.how) == (MINE, "wire", "id")


# --- who speaks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "role"),
    [
        (event("user", {"text": "hi"}, role="user"), "user"),
        (event("root", {"text": "hi"}), "assistant"),
        (event("root", {"text": "hi"}, role="user"), "assistant"),
        (event("root", answer({"n": 1}), role="user"), "tool"),
        (event("user", answer({"n": 1}), role="user"), "user"),
        ({"content": {"role": "model", "parts": [{"text": "hi"}]}}, "assistant"),
        ({"content": {"parts": [{"text": "hi"}]}}, "user"),
    ],
)
def test_the_author_says_whose_event_it_is_and_results_are_nobodys(said: JSON, role: str) -> None:
    assert [message.role for message in decode([said], NAME).messages] == [role]


def test_the_first_answer_of_a_long_running_tool_is_paired_and_the_later_ones_stay_visible() -> (
    None
):
    log = [
        event("a", call(), longRunningToolIds=[MINE]),
        event("a", answer({"status": "pending"}), role="user"),
        event("a", {"text": "Wait."}),
        event("user", answer({"status": "done"}), role="user"),
    ]
    found = decode(log, NAME)
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text, pair.how)
        for pair in found.pairs()
    ] == [(MINE, '{"status":"pending"}', "id"), (None, '{"status":"done"}', None)]
    assert found.results()[1].call_id == MINE
    chat = translate(log, NAME, "openai-chat", repair=False)
    assert [loss.pointer for loss in chat.losses] == ["/0/longRunningToolIds"]
    assert [
        at(m, "tool_call_id")
        for m in at(chat.body, "messages")  # type: ignore[union-attr]
        if at(m, "role") == "tool"
    ] == [MINE, MINE]


def test_towards_gemini_a_second_answer_is_reported_since_nothing_ties_it_to_its_call() -> None:
    log = [
        event("a", call()),
        event("a", answer({"n": 1}), role="user"),
        event("user", answer({"n": 2}), role="user"),
    ]
    assert [loss.pointer for loss in translate(log, NAME, "gemini", repair=False).losses] == [
        "/2/content/parts/0"
    ]


def test_a_confirmation_is_a_call_with_an_id_of_its_own() -> None:
    log = [
        event("a", call(name="delete")),
        event("a", call(OTHER, "adk_request_confirmation", originalFunctionCall={"id": MINE})),
        event("a", answer({"error": "requires confirmation"}, name="delete"), role="user"),
        event("user", answer({"confirmed": True}, OTHER, "adk_request_confirmation"), role="user"),
        event("a", answer({"output": "gone"}, name="delete"), role="user"),
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
    found = decode(log, NAME)
    assert [part.text for part in found.parts() if isinstance(part, Text)] == ["Hello"]
    assert encode(found, "openai-chat").losses == []


def test_a_fragment_that_nothing_repeats_is_reported() -> None:
    assert [
        loss.pointer
        for loss in translate(
            [event("a", {"text": "Hel"}, partial=True)], NAME, "openai-chat"
        ).losses
    ] == ["/0"]


def test_a_call_that_was_sent_only_in_a_fragment_and_answered_is_read() -> None:
    log = [
        event("a", {"text": "Well."}, call(), partial=True),
        event("a", answer({"n": 1}), role="user"),
    ]
    assert [pair.how for pair in decode(log, NAME).pairs()] == ["id"]


def test_what_an_event_says_beyond_its_content_is_reported_and_empty_defaults_are_not() -> None:
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


def test_a_message_taken_out_leaves_the_silent_events_where_they_were() -> None:
    silent: JSON = {"author": "a", "actions": {"stateDelta": {"k": 1}}}
    log = [
        event("user", {"text": "1"}, role="user"),
        silent,
        event("a", {"text": "2"}),
        event("a", {"text": "3"}),
    ]
    found = decode(log, NAME)
    written = encode(replace(found, messages=(found.messages[0], found.messages[2])), NAME)
    assert written.body == [log[0], silent, log[3]]
    assert written.losses == []


def test_a_part_added_to_an_event_leaves_the_rest_of_the_event() -> None:
    log: dict[str, JSON] = {
        "id": "s",
        "appName": "p",
        "userId": "u",
        "events": [event("a", {"text": "1"}, id="e1", branch="b")],
    }
    found = decode(log, NAME)
    (message,) = found.messages
    written = encode(
        replace(found, messages=(replace(message, parts=(*message.parts, Text("2"))),)), NAME
    )
    assert written.body == {
        **log,
        "events": [event("a", {"text": "1"}, {"text": "2"}, id="e1", branch="b")],
    }


def test_instruction_tools_and_settings_belong_to_the_agent_and_are_reported() -> None:
    chat: JSON = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    made = translate(chat, "openai-chat", NAME)
    assert made.body == [event("user", {"text": "hi"}, role="user")]
    assert sorted(loss.pointer for loss in made.losses) == ["/messages/0", "/model", "/tools/0"]


# --- runs -----------------------------------------------------------------------------------------


def test_calls_answered_within_a_run_are_done_and_those_left_open_are_the_clients() -> None:
    run = [
        event("a", call(), id="e1"),
        event("a", answer({"n": 1}), role="user"),
        event("a", call(OTHER), id="e2", finishReason="STOP"),
    ]
    found = decode(run, NAME, "response")
    assert [(one.id, one.executor) for one in found.calls()] == [
        (MINE, "provider"),
        (OTHER, "client"),
    ]
    (message,) = found.messages
    assert message.stop == "tool"
    chat = encode(found, "openai-chat", "response")
    assert [at(one, "id") for one in at(chat.body, "choices", 0, "message", "tool_calls")] == [  # type: ignore[union-attr]
        OTHER
    ]
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


def test_a_part_of_a_run_taken_out_leaves_the_other_events() -> None:
    run = [
        event("a", call(), id="e1"),
        event("a", answer({"n": 1}), role="user"),
        event("a", {"text": "x"}, {"text": "y"}, id="e2"),
    ]
    found = decode(run, NAME, "response")
    (message,) = found.messages
    shorter = replace(found, messages=(replace(message, parts=message.parts[:-1]),))
    assert encode(shorter, NAME, "response").body == [
        run[0],
        run[1],
        event("a", {"text": "x"}, id="e2"),
    ]


# --- the real thing -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_adk_accepts_the_cases(case: Case) -> None:
    judge(case.body, case.kind)


def test_an_event_as_adk_dumps_it_is_read_in_both_spellings() -> None:
    one = Event.model_validate(event("a", call(x=1)))
    camel, snake = (
        one.model_dump(mode="json", by_alias=alias, exclude_none=True) for alias in (True, False)
    )
    assert decode([camel], NAME).messages == decode([snake], NAME).messages
    assert decode([camel], NAME).calls()[0].id == MINE
    assert encode(decode([snake], NAME), NAME).body == [snake]


def test_a_log_is_told_from_other_bodies() -> None:
    assert detect([event("a", {"text": "x"})]) == NAME
    assert detect({"id": "s", "appName": "p", "userId": "u", "events": []}) == NAME


def test_a_new_message_becomes_an_event_of_the_user() -> None:
    found = decode([event("a", {"text": "1"})], NAME)
    longer = replace(found, messages=(*found.messages, Message("user", (Text("2"),))))
    assert encode(longer, NAME).body == [
        event("a", {"text": "1"}),
        event("user", {"text": "2"}, role="user"),
    ]


@pytest.mark.parametrize("value", [False, 0])
def test_an_unknown_field_that_is_false_or_zero_is_reported(value: JSON) -> None:
    content: JSON = {"role": "user", "parts": [{"text": "Hi."}]}
    event: JSON = {"author": "user", "content": content, "mood": value, "branch": None, "tags": []}
    assert [loss.pointer for loss in translate([event], NAME, "anthropic").losses] == ["/0/mood"]
