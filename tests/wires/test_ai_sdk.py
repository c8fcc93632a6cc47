"""The AI SDK's messages: parts that hold a call and its result, runs of steps, and the real package
to check them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from cases import ALL, CASES, Case, load
from msgspec.structs import replace
from streams.clients import Verdict, install_clients, run_script

from toolwire import (
    Call,
    Choice,
    Conversation,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Text,
    Tool,
    catalogue,
    decode,
    detect,
    encode,
    translate,
)
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind

CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
RunPackage: TypeAlias = Callable[[list[JSON]], "list[Verdict]"]


def ui(*parts: JSON, role: str = "assistant") -> JSON:
    return {"messages": [{"id": "m", "role": role, "parts": list(parts)}]}


def tool(state: str, **fields: JSON) -> JSON:
    return {"type": "tool-roll", "toolCallId": "c1", "state": state, "input": {}, **fields}


def case(name: str) -> Case:
    return next(case for case in load("ai-sdk") if case.name == name)


def parts_of(body: JSON, message: int = 0) -> list[JSON]:
    found = get(body, ("messages", message, "parts"))
    assert isinstance(found, list)
    return found


# --- the catalogue --------------------------------------------------------------------------------

STEP: JSON = {"type": "step-start"}
CALL: Object = {"type": "tool-call", "toolCallId": "c1", "toolName": "roll", "input": {"sides": 6}}
RESULT: Object = {
    "type": "tool-result",
    "toolCallId": "c1",
    "toolName": "roll",
    "output": {"type": "json", "value": 4},
}
PART: Object = {"toolCallId": "c1", "state": "output-available", "input": {"sides": 6}, "output": 4}

EXAMPLES: tuple[tuple[JSON, dict[str, str], str, str, str], ...] = (
    ({"type": "tool-roll", **PART}, {"type": "tool-*"}, "call+output", "function", "client"),
    (
        {"type": "tool-roll", **PART, "providerExecuted": True},
        {"type": "tool-*", "providerExecuted": "true"},
        "call+output",
        "server-tool",
        "provider",
    ),
    (
        {"type": "dynamic-tool", "toolName": "roll", **PART},
        {"type": "dynamic-tool"},
        "call+output",
        "function",
        "client",
    ),
    (
        {"type": "dynamic-tool", "toolName": "roll", **PART, "providerExecuted": True},
        {"type": "dynamic-tool", "providerExecuted": "true"},
        "call+output",
        "server-tool",
        "provider",
    ),
    (CALL, {"type": "tool-call"}, "call", "function", "client"),
    (
        {**CALL, "providerExecuted": True},
        {"type": "tool-call", "providerExecuted": "true"},
        "call",
        "server-tool",
        "provider",
    ),
    (RESULT, {"type": "tool-result"}, "output", "function", "client"),
    (RESULT, {"type": "tool-result", "role": "assistant"}, "output", "server-tool", "provider"),
)


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A block in a whole body: tool parts in a UI message, the others in model messages."""
    if form == "response-stream":
        return None
    kind = discriminator["type"]
    if kind in ("tool-call", "tool-result"):
        role = discriminator.get("role", "tool" if kind == "tool-result" else "assistant")
        return {"messages": [{"role": role, "content": [example]}]}, "request"
    return ui(STEP, example), "request"


@pytest.mark.parametrize(
    ("example", "tell", "direction", "family", "executor"), EXAMPLES, ids=lambda v: str(v)[:40]
)
def test_every_type_of_call_and_result_is_read_as_the_catalogue_says(
    example: JSON, tell: dict[str, str], direction: str, family: str, executor: str
) -> None:
    wrapped = wrap_example(example, tell, "request")
    assert wrapped is not None
    conversation = decode(wrapped[0], "ai-sdk", wrapped[1])
    parts = [part for part in conversation.parts() if isinstance(part, Call | Result)]
    assert ["call" if isinstance(part, Call) else "output" for part in parts] == direction.split(
        "+"
    )
    assert {(part.family, part.executor, part.origin) for part in parts} == {
        (family, executor, "wire")
    }
    assert encode(conversation, "ai-sdk").body == wrapped[0]
    entries = [
        (e.discriminator, e.direction, e.family, e.executor, e.origin)
        for e in catalogue()
        if e.wire == "ai-sdk"
    ]
    assert (tell, direction, family, executor, "natural") in entries


def test_the_catalogue_of_this_wire_holds_nothing_else() -> None:
    assert sum(entry.wire == "ai-sdk" for entry in catalogue()) == len(EXAMPLES)
    if CATALOGUE.is_file():
        assert [
            entry
            for entry in json.loads(CATALOGUE.read_text())
            if entry["wire"] == "ai-sdk" and entry["core_wire"]
        ] == []


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "output", "error"),
    [
        (tool("output-available", output={"n": 4}), {"n": 4}, False),
        (tool("output-available", output=None), "", False),
        (tool("output-error", errorText="lost"), "lost", True),
        (
            tool("output-denied", approval={"id": "a", "approved": False, "reason": "no"}),
            "no",
            True,
        ),
        (
            tool("output-denied", approval={"id": "a", "approved": False}),
            "Tool call execution denied.",
            True,
        ),
        (tool("half-done", output=[4]), [4], False),
    ],
)
def test_a_state_with_an_answer_is_a_result_under_the_id_of_its_call(
    part: JSON, output: JSON, error: bool
) -> None:
    (pair,) = decode(ui(part), "ai-sdk").pairs()
    assert pair.call is not None and pair.result is not None
    assert (pair.result.call_id, pair.result.output, pair.result.error, pair.how) == (
        "c1",
        output,
        error,
        "id",
    )


@pytest.mark.parametrize(
    "state",
    ["input-streaming", "input-available", "approval-requested", "approval-responded", "queued"],
)
def test_a_state_without_an_answer_is_an_open_call(state: str) -> None:
    conversation = decode(ui(tool(state)), "ai-sdk")
    assert (len(conversation.calls()), conversation.results()) == (1, [])


def test_in_a_step_all_calls_come_first_and_then_all_results() -> None:
    conversation = decode(case("call-and-result-share-a-part").body, "ai-sdk")
    assert [message.role for message in conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert [type(part) for part in conversation.messages[1].parts] == [Text, Call, Call]
    assert [
        part.call_id for part in conversation.messages[2].parts if isinstance(part, Result)
    ] == ["call_p1", "call_r1"]


def test_an_id_reused_in_a_later_step_pairs_with_the_newer_call() -> None:
    pairs = decode(case("steps-are-turns").body, "ai-sdk").pairs()
    assert [(pair.call and pair.call.name, pair.result and pair.result.text) for pair in pairs] == [
        ("timetable", '[{"at":"08:10"},{"at":"09:40"}]'),
        ("book", '{"seat":"12A"}'),
        ("timetable", None),
    ]


def test_unfinished_input_keeps_its_value_or_else_its_text() -> None:
    calls = decode(case("unfinished-input-stays-open").body, "ai-sdk").calls()
    assert [call.arguments for call in calls[:3]] == ['{"q":"tool"}', '{"text": "half of a se', ""]
    assert calls[1].args.broken


def test_unfinished_input_and_approvals_are_reported_on_other_wires() -> None:
    losses = {
        loss.pointer
        for loss in translate(
            case("unfinished-input-stays-open").body, "ai-sdk", "openai-chat"
        ).losses
    }
    assert {f"/messages/1/parts/{n}/state" for n in (1, 2, 3)} <= losses
    assert {f"/messages/1/parts/{n}/approval" for n in (4, 5, 6)} <= losses


def test_a_user_message_in_the_middle_of_a_run_stays_between_its_turns() -> None:
    messages = decode(case("version-7-parts").body, "ai-sdk").messages
    assert [message.role for message in messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "user",
    ]
    assert messages[3].parts == (Text("Only the left half, please."),)


def test_equal_calls_without_ids_keep_the_results_of_their_parts() -> None:
    conversation = decode(case("missing-ids").body, "ai-sdk")
    pairs = conversation.pairs()
    assert [pair.result and pair.result.output for pair in pairs] == [4, 17, 1, None]
    assert [pair.call.origin for pair in pairs if pair.call] == [
        "minted",
        "minted",
        "wire",
        "minted",
    ]
    added = replace(
        conversation, messages=(*conversation.messages, Message("user", (Text("Again."),)))
    )
    assert parts_of(encode(added, "ai-sdk").body, 1) == parts_of(case("missing-ids").body, 1), (
        "an id was sent that is ours"
    )


def test_a_user_message_holds_only_text_and_files() -> None:
    conversation = decode(case("unknown-parts-and-fields").body, "ai-sdk")
    assert [type(part) for part in conversation.messages[0].parts] == [Text, Opaque, Opaque]


def test_a_call_with_a_result_in_a_response_ran_elsewhere_and_an_open_call_is_the_clients() -> None:
    body: JSON = {
        "id": "m",
        "role": "assistant",
        "parts": [
            tool("output-available", output=4),
            {**PART, "type": "tool-roll", "toolCallId": "c2", "state": "input-available"},
        ],
    }
    conversation = decode(body, "ai-sdk", "response")
    assert [call.executor for call in conversation.calls()] == ["provider", "client"]
    assert conversation.messages[0].stop == "tool"


def test_the_fields_of_a_message_that_became_several_are_reported_once() -> None:
    losses = [
        loss.pointer
        for loss in translate(case("steps-are-turns").body, "ai-sdk", "anthropic").losses
    ]
    assert losses.count("/messages/2/metadata") == 1


# --- writing --------------------------------------------------------------------------------------


def test_a_result_for_an_open_call_changes_only_its_part() -> None:
    body = case("steps-are-turns").body
    conversation = decode(body, "ai-sdk")
    call = conversation.calls()[-1]
    edited = replace(
        conversation, messages=(*conversation.messages, Message("tool", (call.result(["18:05"]),)))
    )
    encoded = encode(edited, "ai-sdk")
    _, part = parts_of(body, 4)
    assert isinstance(part, dict)
    assert parts_of(encoded.body, 4) == [
        STEP,
        {**part, "state": "output-available", "output": ["18:05"]},
    ]
    assert (get(encoded.body, ("messages", 2)), encoded.losses) == (get(body, ("messages", 2)), [])


def test_a_pending_approval_is_removed_when_a_result_is_added() -> None:
    conversation = decode(ui(tool("approval-requested", approval={"id": "a"})), "ai-sdk")
    result = conversation.calls()[0].result("done")
    encoded = encode(
        replace(conversation, messages=(*conversation.messages, Message("tool", (result,)))),
        "ai-sdk",
    )
    assert parts_of(encoded.body) == [tool("output-available", output="done")]
    assert [loss.pointer for loss in encoded.losses] == ["/messages/0/parts/0/approval"]


def test_a_result_taken_away_leaves_an_open_call() -> None:
    conversation = decode(ui(STEP, tool("output-error", errorText="lost", title="Dice")), "ai-sdk")
    encoded = encode(replace(conversation, messages=conversation.messages[:1]), "ai-sdk")
    assert parts_of(encoded.body) == [STEP, tool("input-available", title="Dice")]


@pytest.mark.parametrize("name", ["denied-is-an-error", "errors-are-text"])
def test_a_failure_that_is_edited_into_a_success_changes_its_state(name: str) -> None:
    conversation = decode(case(name).body, "ai-sdk")
    old = conversation.results()[0]
    body = encode(
        conversation.replace(old, replace(old, output={"ok": True}, error=False)), "ai-sdk"
    ).body
    part = get(body, old.path)
    assert isinstance(part, dict)
    assert (part["state"], part["output"]) == ("output-available", {"ok": True})
    assert "errorText" not in part and "approval" not in part
    assert decode(body, "ai-sdk").results()[0].output == {"ok": True}


def test_a_denial_that_is_edited_stays_a_denial() -> None:
    conversation = decode(case("denied-is-an-error").body, "ai-sdk")
    old = conversation.results()[1]
    body = encode(conversation.replace(old, replace(old, output="Never.")), "ai-sdk").body
    assert get(body, (*old.path, "approval")) == {
        "id": "ap-2",
        "approved": False,
        "reason": "Never.",
    }


def test_a_message_taken_out_of_a_run_leaves_its_id_and_fields() -> None:
    conversation = decode(case("steps-are-turns").body, "ai-sdk")
    fewer = tuple(
        m
        for m in conversation.messages
        if not (m.role == "assistant" and m.parts[0] == Text("Booked: seat 12A."))
    )
    run = get(encode(replace(conversation, messages=fewer), "ai-sdk").body, ("messages", 2))
    assert isinstance(run, dict)
    assert (run["id"], run["metadata"]) == ("a1", {"totalTokens": 321})
    assert [get(part, ("type",)) for part in parts_of({"messages": [run]})] == [
        "step-start",
        "reasoning",
        "tool-timetable",
        "step-start",
        "text",
        "tool-book",
    ]


CHAT: JSON = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Roll two dice."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": i,
                    "type": "function",
                    "function": {"name": "roll", "arguments": '{"sides": 6}'},
                }
                for i in ("a", "b")
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "5"},
        {"role": "tool", "tool_call_id": "a", "content": "2"},
        {"role": "assistant", "content": "Seven."},
    ],
}


def test_the_turns_of_a_run_become_one_message_with_results_in_their_calls() -> None:
    translated = translate(CHAT, "openai-chat", "ai-sdk")
    assert translated.body == {
        "model": "m",
        "messages": [
            {"id": "msg-0", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
            {"id": "msg-1", "role": "user", "parts": [{"type": "text", "text": "Roll two dice."}]},
            {
                "id": "msg-2",
                "role": "assistant",
                "parts": [
                    STEP,
                    {
                        "type": "tool-roll",
                        "toolCallId": "a",
                        "state": "output-available",
                        "input": {"sides": 6},
                        "output": "2",
                    },
                    {
                        "type": "tool-roll",
                        "toolCallId": "b",
                        "state": "output-available",
                        "input": {"sides": 6},
                        "output": "5",
                    },
                    STEP,
                    {"type": "text", "text": "Seven."},
                ],
            },
        ],
    }
    assert translated.losses == []


def test_arguments_cut_off_are_unfinished_input() -> None:
    body = {
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "roll", "arguments": '{"sides": '},
                    }
                ],
            }
        ]
    }
    translated = translate(body, "openai-chat", "ai-sdk")  # type: ignore[arg-type]
    part = {
        "type": "tool-roll",
        "toolCallId": "a",
        "state": "input-streaming",
        "rawInput": '{"sides": ',
    }
    assert parts_of(translated.body) == [STEP, part]
    assert decode(translated.body, "ai-sdk").calls()[0].args == LazyJson('{"sides": ')


def test_a_result_without_its_call_is_told_in_words() -> None:
    body = {
        "messages": [
            {"role": "user", "content": "Hi."},
            {"role": "tool", "tool_call_id": "gone", "content": "4"},
        ]
    }
    translated = translate(body, "openai-chat", "ai-sdk")  # type: ignore[arg-type]
    assert [change.name for change in translated.changes] == ["orphan-result"]
    texts = [part.text for part in decode(translated.body, "ai-sdk").parts()]  # type: ignore[attr-defined]
    assert texts[0] == "Hi." and texts[1].endswith(": 4")
    unrepaired = translate(body, "openai-chat", "ai-sdk", repair=False)  # type: ignore[arg-type]
    assert [loss.pointer for loss in unrepaired.losses] == ["/messages/1"]


def test_media_in_a_result_come_back_as_media() -> None:
    conversation = decode(case("content-in-output").body, "ai-sdk")
    first = conversation.results()[0].output
    assert isinstance(first, tuple)
    assert [type(part) for part in first] == [Text, Media, Media, Media, Media]
    encoded = encode(conversation, "anthropic")
    restored = translate(encoded.body, "anthropic", "ai-sdk", ids=encoded.ids)
    again = decode(restored.body, "ai-sdk").results()[0].output
    assert isinstance(again, tuple)
    assert again[1] == first[1]


def test_reasoning_has_a_place_unless_only_its_provider_can_read_it() -> None:
    body = {
        "messages": [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "eA=="},
                    {"type": "text", "text": "Hello."},
                ],
            }
        ]
    }
    translated = translate(body, "anthropic", "ai-sdk")  # type: ignore[arg-type]
    assert decode(translated.body, "ai-sdk").messages[0].parts == (Reasoning("Hm."), Text("Hello."))
    assert {loss.pointer for loss in translated.losses} == {
        "/messages/0/content/0",
        "/messages/0/content/1",
    }


def test_a_refusal_in_a_response_is_text_and_reported_once() -> None:
    message: JSON = {"role": "assistant", "content": None, "refusal": "I cannot."}
    body: JSON = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    translated = translate(body, "openai-chat", "ai-sdk", "response")
    assert get(translated.body, ("parts", 1, "text")) == "I cannot."
    assert [loss.pointer for loss in translated.losses] == ["/choices/0/message/refusal"]


def test_media_by_file_id_or_in_a_system_message_are_named_in_text_and_reported() -> None:
    conversation = Conversation(
        [
            Message("system", [Text("Look:"), Media("image", "image/png", "aGk=", name="a.png")]),
            Message("user", Media("file", file="file-1")),
        ]
    )
    encoded = encode(conversation, "ai-sdk")
    assert parts_of(encoded.body, 0)[1] == {"type": "text", "text": "[image a.png image/png]"}
    assert parts_of(encoded.body, 1) == [{"type": "text", "text": "[file file-1]"}]
    assert len(encoded.losses) == 2


@pytest.mark.parametrize(
    "choice", [Choice("auto", ("roll",)), Choice("required", ("roll", "other"))], ids=str
)
def test_a_tool_choice_names_one_tool_only_to_require_it(choice: Choice) -> None:
    tools = [Tool("roll"), Tool("other")]
    conversation = Conversation([Message("user", "Roll.")], tools, {"choice": choice})
    encoded = encode(conversation, "ai-sdk")
    assert get(encoded.body, ("toolChoice",)) == choice.mode
    assert [loss.pointer for loss in encoded.losses] == ["/choice"]


def test_a_response_is_the_first_message_of_the_assistant_and_the_others_are_reported() -> None:
    messages = [Message("user", "Hi."), Message("assistant", "One."), Message("assistant", "Two.")]
    encoded = encode(Conversation(messages, [Tool("roll")]), "ai-sdk", "response")
    parts = get(encoded.body, ("parts",))
    assert parts == [STEP, {"type": "text", "text": "One.", "state": "done"}]
    assert len(encoded.losses) == 3


def test_settings_and_tools_are_fields_beside_the_messages() -> None:
    conversation = decode(case("settings-beside-messages").body, "ai-sdk")
    assert conversation.settings["choice"] == Choice("required", ("roll",))
    assert [(tool.name, tool.kind) for tool in conversation.tools] == [
        ("roll", "function"),
        ("old", "function"),
        ("search", "openai.web_search"),
    ]
    encoded = encode(conversation, "openai-chat")
    restored = translate(encoded.body, "openai-chat", "ai-sdk", ids=encoded.ids)
    source = case("settings-beside-messages").body
    for name in (
        "model",
        "maxOutputTokens",
        "temperature",
        "topP",
        "seed",
        "stopSequences",
        "toolChoice",
    ):
        assert get(restored.body, (name,)) == get(source, (name,))
    assert get(restored.body, ("tools", "roll")) == get(source, ("tools", "roll"))


def test_model_messages_are_written_back_as_model_messages() -> None:
    body = case("model-messages-name-their-outputs").body
    conversation = decode(body, "ai-sdk")
    last = conversation.calls()[-1]
    more = (
        Message("tool", (last.result((Text("Here."), Media("image", "image/png", "aGk="))),)),
        Message("assistant", (Text("Yes."),)),
    )
    encoded = encode(replace(conversation, messages=(*conversation.messages, *more)), "ai-sdk")
    messages = get(encoded.body, ("messages",))
    assert isinstance(messages, list)
    assert messages[:-2] == get(body, ("messages",))
    content: JSON = [
        {"type": "text", "text": "Here."},
        {"type": "image-data", "data": "aGk=", "mediaType": "image/png"},
    ]
    output: JSON = {"type": "content", "value": content}
    assert messages[-2:] == [
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c8", "toolName": "try", "output": output}
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    ]


def test_a_bare_list_stays_a_bare_list() -> None:
    conversation = decode(case("bare-list-of-ui-messages").body, "ai-sdk")
    more = (*conversation.messages, Message("user", (Text("Again."),)))
    body = encode(replace(conversation, messages=more), "ai-sdk").body
    assert isinstance(body, list)
    assert body[-1] == {
        "id": "msg-2",
        "role": "user",
        "parts": [{"type": "text", "text": "Again."}],
    }


def test_a_system_prompt_outside_the_messages_survives_in_a_conversation_made_by_hand() -> None:
    body: JSON = {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi."}]}
    encoded = encode(Conversation(decode(body, "ai-sdk").messages), "ai-sdk")
    assert parts_of(encoded.body, 0) == [{"type": "text", "text": "Be brief."}]


# --- telling it from others -----------------------------------------------------------------------


@pytest.mark.parametrize("case", load("ai-sdk"), ids=str)
def test_detect_finds_this_wire_for_its_bodies_only(case: Case) -> None:
    assert detect(case.body) == "ai-sdk"


# --- the official package -------------------------------------------------------------------------


@pytest.fixture(scope="session")
def run_package() -> RunPackage:
    """The official package: one process checks many bodies."""
    install_clients()

    def ask(bodies: list[JSON]) -> list[Verdict]:
        return run_script(
            Path(__file__).with_name("ai_sdk_validator.mjs"), ({"body": body} for body in bodies)
        )

    return ask


IRREGULAR = {
    "missing-ids",
    "unknown-parts-and-fields",
    "version-7-parts",
    "missing-ids-in-model-messages",
    "unknown-in-model-messages",
    "stream-newer-and-unknown-chunks",
}
"""Cases that are no valid messages of version 6, on purpose."""


def test_the_official_package_accepts_all_cases_but_the_irregular_ones(
    run_package: RunPackage,
) -> None:
    cases = load("ai-sdk")
    verdicts = run_package([case.body for case in cases])
    assert {
        case.name for case, verdict in zip(cases, verdicts, strict=True) if verdict["error"]
    } == IRREGULAR


def test_the_official_package_makes_the_same_pairs_of_ui_messages(run_package: RunPackage) -> None:
    cases = [
        case for case in load("ai-sdk") if case.name not in IRREGULAR and case.kind == "request"
    ]
    for case, verdict in zip(cases, run_package([case.body for case in cases]), strict=True):
        conversation = decode(case.body, "ai-sdk")
        # The package sends a model no call whose input is still streaming.
        calls = [
            call
            for call in conversation.calls()
            if get(call.raw, ("state",)) != "input-streaming"  # type: ignore[arg-type]
        ]
        blocks = [
            block
            for message in verdict["model"]  # type: ignore[union-attr]
            for block in message["content"]  # type: ignore[call-overload, index, union-attr]
            if isinstance(block, dict)
        ]
        assert [block["toolCallId"] for block in blocks if block["type"] == "tool-call"] == [
            call.id for call in calls
        ], str(case)
        assert sorted(
            str(block["toolCallId"]) for block in blocks if block["type"] == "tool-result"
        ) == sorted(result.call_id for result in conversation.results()), str(case)


def test_what_is_translated_from_other_wires_is_accepted_by_the_official_package(
    run_package: RunPackage,
) -> None:
    cases = [case for case in ALL if case.wire != "ai-sdk"]
    written = [translate(case.body, case.wire, "ai-sdk", case.kind).body for case in cases]
    translations = [
        (case, body)
        for case, body in zip(cases, written, strict=True)
        if get(body, ("messages",)) != []
    ]
    verdicts = run_package([body for _, body in translations])
    assert [
        (str(case), verdict["error"])
        for (case, _), verdict in zip(translations, verdicts, strict=True)
        if verdict["error"]
    ] == []
    assert any(case.pairs for case, _ in translations)


def test_what_is_edited_is_still_accepted_by_the_official_package(run_package: RunPackage) -> None:
    bodies: list[JSON] = []
    for case in CASES:
        if case.wire == "ai-sdk" and case.kind == "request" and case.name not in IRREGULAR:
            conversation = decode(case.body, "ai-sdk")
            answers = [
                pair.call.result({"late": True})
                for pair in conversation.pairs()
                if pair.call and pair.result is None
            ]
            bodies.append(
                encode(
                    replace(
                        conversation,
                        messages=(*conversation.messages, Message("tool", tuple(answers))),
                    ),
                    "ai-sdk",
                ).body
            )
            for result in conversation.results():
                bodies.append(
                    encode(
                        conversation.replace(result, replace(result, output=[1], error=False)),
                        "ai-sdk",
                    ).body
                )
    assert [verdict["error"] for verdict in run_package(bodies) if verdict["error"]] == []
    assert len(bodies) > 20


def test_a_result_beside_a_call_of_the_client_is_the_clients() -> None:
    def executors(**fields: JSON) -> list[str]:
        call: JSON = {
            "type": "tool-call",
            "toolCallId": "a",
            "toolName": "f",
            "input": {},
            **fields,
        }
        output: JSON = {"type": "text", "value": "r"}
        result: JSON = {"type": "tool-result", "toolCallId": "a", "toolName": "f", "output": output}
        body: JSON = {"messages": [{"role": "assistant", "content": [call, result]}]}
        return [found.executor for found in decode(body, "ai-sdk").results()]

    assert executors() == ["client"]
    assert executors(providerExecuted=True) == ["provider"]


def test_ui_messages_after_a_message_without_content_keep_their_parts() -> None:
    messages: list[JSON] = [
        {"id": "u1", "role": "user"},
        {"id": "a1", "role": "assistant", "parts": [{"type": "text", "text": "Seventeen."}]},
    ]
    conversation = decode({"messages": messages}, "ai-sdk")
    assert [len(message.parts) for message in conversation.messages] == [0, 1]
    copied = replace(conversation, messages=(*conversation.messages,))
    assert encode(copied, "ai-sdk").body == {"messages": messages}
