"""The pipeline: repair before lowering and fitting, findings, and rules that are ruled out."""

from __future__ import annotations

import part_breaks
import pytest
import shape_breaks
from breaks import BREAKS, break_history
from cases import ALL, CASES, Case
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rows import rows

import toolwire
from toolwire import Conversation, Text, check, decode, repair, translate
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.observations import Observation, observe
from toolwire.lint import find_all
from toolwire.lint.facts import Facts
from toolwire.lint.registry import all_rules, fixable_rules, rules_for_translation, rules_to_check
from toolwire.lint.rule import Rule

assert part_breaks.__doc__ and shape_breaks.__doc__  # importing them adds their breaks
REQUESTS = [case for case in CASES if case.kind == "request"]


def call_message(*ids: str) -> JSON:
    calls: list[JSON] = [
        {"id": call_id, "type": "function", "function": {"name": "search", "arguments": "{}"}}
        for call_id in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result_message(call_id: str, text: str = "found") -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def text_message(role: str = "user") -> JSON:
    return {"role": role, "content": "Go on."}


REFUSED_HISTORIES: dict[str, list[JSON]] = {
    "partial-batch": [
        text_message(),
        call_message("c1", "c2"),
        result_message("c2"),
        text_message(),
    ],
    "result-separated": [
        text_message(),
        call_message("c1"),
        text_message(),
        result_message("c1"),
        text_message(),
    ],
    "dup-result": [
        text_message(),
        call_message("c1"),
        result_message("c1"),
        result_message("c1"),
        text_message(),
    ],
}


@pytest.mark.parametrize("name", REFUSED_HISTORIES)
@pytest.mark.parametrize("target", ["anthropic", "bedrock", "openai-chat", "gemini", "mistral"])
def test_a_stuck_history_is_repaired_and_the_changes_are_reported(name: str, target: str) -> None:
    translated = translate({"messages": REFUSED_HISTORIES[name]}, "openai-chat", target)
    assert [finding for finding in check(translated.body, target) if finding.fix == "safe"] == []
    plain = translate({"messages": REFUSED_HISTORIES[name]}, "openai-chat", target, repair=False)
    refused = [finding for finding in check(plain.body, target) if finding.fix == "safe"]
    assert translated.changes or not refused


@pytest.mark.parametrize("name", REFUSED_HISTORIES)
def test_a_history_is_repaired_only_for_a_target_that_refuses_it(name: str) -> None:
    strict = translate({"messages": REFUSED_HISTORIES[name]}, "openai-chat", "anthropic")
    assert name in {change.name for change in strict.changes} or name == "dup-result"
    assert translate({"messages": REFUSED_HISTORIES[name]}, "openai-chat", "xai").changes == []


def test_a_result_without_a_call_is_translated_as_text() -> None:
    body: JSON = {"messages": [text_message(), result_message("c9", "BOB: 7"), text_message()]}
    translated = translate(body, "openai-chat", "anthropic")
    assert check(translated.body, "anthropic") == []
    assert "whose call is not in this history: BOB: 7" in str(translated.body)
    assert [change.name for change in translated.changes] == ["orphan-result"]


def test_an_id_that_repair_changed_is_restored_on_the_way_back() -> None:
    body: JSON = {
        "messages": [
            text_message(),
            call_message("c1"),
            result_message("c1", "one"),
            text_message(),
            call_message("c1"),
            result_message("c1", "two"),
            text_message(),
        ]
    }
    translated = translate(body, "openai-chat", "anthropic")
    calls = decode(translated.body, "anthropic").calls()
    assert len({call.id for call in calls}) == 2
    restored = translate(translated.body, "anthropic", "openai-chat", ids=translated.ids)
    assert [call.id for call in decode(restored.body, "openai-chat").calls()] == ["c1", "c1"]


def test_a_response_is_never_repaired() -> None:
    answer: JSON = {
        "choices": [
            {"index": 0, "message": call_message("x" * 90, "x" * 90), "finish_reason": "tool_calls"}
        ]
    }
    assert translate(answer, "openai-chat", "anthropic", "response").changes == []


def test_on_its_own_wire_a_clean_history_keeps_its_bytes() -> None:
    raw = b'{ "messages": [ {"role":"user", "content":"Hello"} ] }'
    assert translate(raw, "openai-chat", "openai-chat").json() == raw
    assert translate(raw, "openai-chat", "kimi").json() == raw


def test_on_its_own_wire_a_stuck_history_is_repaired() -> None:
    translated = translate(
        {"messages": REFUSED_HISTORIES["partial-batch"]}, "openai-chat", "openai-chat"
    )
    assert [change.name for change in translated.changes] == ["partial-batch"]
    assert [pair.result is not None for pair in decode(translated.body, "openai-chat").pairs()] == [
        True,
        True,
    ]


# --- rules that one cheap pass rules out ------------------------------------------------------------


def violations_of_excluded_rules(conversation: Conversation, target: str) -> list[str]:
    """The rules that the observations rule out and that are broken all the same."""
    facts = Facts(conversation, resolve(target)[1])
    checked = {rule.name for rule in rules_to_check(facts)}
    translated = not facts.own_wire
    return [
        rule.name
        for rule in all_rules()
        if rule.name not in checked
        and not (translated and (rule.scope != "conversation" or rule.handled_by))
        and not (translated and rule.severity_for(facts.profile) != "error")
        and list(rule.check(facts))
    ]


@rows("case", [case for case in ALL if case.kind == "request"])
def test_no_rule_that_is_ruled_out_is_broken_in_any_case_for_any_profile(case: Case) -> None:
    conversation = decode(case.body, case.wire)
    for target in toolwire.profiles():
        assert violations_of_excluded_rules(conversation, target) == [], target


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_bad_example_is_never_ruled_out(rule: Rule) -> None:
    for example in rule.bad:
        if example.kind == "request":
            conversation = decode(example.body, example.wire)
            for target in toolwire.profiles():
                assert violations_of_excluded_rules(conversation, target) == [], target


SUBTLE_VIOLATIONS: dict[str, tuple[str, JSON]] = {
    "wrong-vocabulary": (
        "openai-responses",
        {
            "input": [
                text_message(),
                {"role": "assistant", "content": "I search.", "tool_calls": []},
                {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "found"},
            ]
        },
    ),
    "reasoning-dangling": (
        "openai-responses",
        {"input": [text_message(), {"type": "reasoning", "id": "rs_1", "summary": [1]}]},
    ),
}
"""Violations that a conversation hardly shows, by the rule: a wire and a request."""


@pytest.mark.parametrize("name", SUBTLE_VIOLATIONS)
def test_a_violation_that_only_the_json_shows_is_never_ruled_out(name: str) -> None:
    wire, body = SUBTLE_VIOLATIONS[name]
    assert name in [finding.name for finding in check(body, wire)]
    assert violations_of_excluded_rules(decode(body, wire), wire) == []


def test_a_result_in_a_message_of_a_tool_is_not_in_the_format_of_a_block_wire() -> None:
    """It is not, whether or not the roles are known that its provider accepts."""
    blocks: JSON = [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}]
    calls: JSON = [{"type": "tool_use", "id": "c1", "name": "search", "input": {}}]
    messages: JSON = [
        text_message(),
        {"role": "assistant", "content": calls},
        {"role": "tool", "content": blocks},
    ]
    conversation = decode({"messages": messages}, "anthropic")
    for roles in (resolve("anthropic")[1].accepted_roles, None):
        facts = Facts(conversation, replace(resolve("anthropic")[1], accepted_roles=roles))
        assert "wrong-vocabulary" in [rule.name for rule in rules_to_check(facts)]
        assert [finding.name for finding in find_all(facts)] == ["wrong-vocabulary"]


BROKEN_WIRES = ("openai-chat", "anthropic", "gemini", "openai-responses")
BREAKABLE = [case for case in REQUESTS if case.wire in BROKEN_WIRES and case.pairs]
TARGETS = ("openai-chat", "anthropic", "gemini", "mistral", "bedrock", "cohere")


@pytest.mark.parametrize("break_name", sorted(BREAKS))
@given(data=st.data())
def test_a_broken_history_is_never_ruled_out(break_name: str, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(BREAKABLE))
    body = break_history(break_name, case.body, case.wire)
    if body is None:
        return
    conversation = decode(body, case.wire)
    target = data.draw(st.sampled_from((*TARGETS, case.wire)))
    assert violations_of_excluded_rules(conversation, target) == []


def test_a_well_formed_history_is_checked_by_no_rule_that_walks_it() -> None:
    body: JSON = {
        "messages": [
            text_message(),
            call_message("c1", "c2"),
            result_message("c1"),
            result_message("c2"),
            text_message(),
        ]
    }
    sent = dump({**TOOLS, **body})  # type: ignore[dict-item]
    translated = translate(sent, "openai-chat", "anthropic")
    assert translated.changes == [] and translated.findings == []
    conversation = decode(sent, "openai-chat")
    for settings in (conversation.settings, {"model": "claude-opus-5"}):
        flags = observe(replace(conversation, settings=settings), "anthropic").flags
        assert rules_for_translation(resolve("anthropic")[1], flags) == ()


def test_a_well_formed_history_on_its_own_wire_is_checked_by_few_rules() -> None:
    body: JSON = {
        "messages": [text_message(), call_message("c1"), result_message("c1"), text_message()]
    }
    conversation = decode({**TOOLS, **body}, "openai-chat")  # type: ignore[dict-item]
    facts = Facts(conversation, resolve("openai-chat")[1])
    rules = [*rules_to_check(facts), *fixable_rules(facts)]
    assert not any(rule.ruled_out_on_own_wire_by or rule.ruled_out_for for rule in rules)
    assert all(rule.fix is not None for rule in fixable_rules(facts))
    assert len(fixable_rules(facts)) < len(all_rules()) / 20


def test_a_well_formed_history_of_blocks_is_checked_by_no_rule_with_a_fix() -> None:
    call: JSON = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}
    messages: JSON = [
        text_message(),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    tools: JSON = [{"name": "search", "input_schema": {"type": "object"}}]
    conversation = decode(dump({"messages": messages, "tools": tools}), "anthropic")
    assert fixable_rules(Facts(conversation, resolve("anthropic")[1])) == ()


def test_every_observation_has_a_bit_of_its_own() -> None:
    bits = [value for name, value in vars(Observation).items() if name.isupper()]
    assert sorted(bits) == [1 << n for n in range(len(bits))]


UNREAD_FIELDS: dict[str, tuple[JSON, int]] = {
    "all read": ({"role": "user", "content": "Hello"}, 0),
    "message": ({"role": "user", "content": "Hello", "mood": 1}, Observation.MESSAGE_FIELDS_READ),
    "block": (
        {"role": "user", "content": [{"type": "text", "text": "Hello", "mood": 1}]},
        Observation.BLOCK_FIELDS_READ,
    ),
    "text in place of a block": (
        {"role": "user", "content": ["Hello"]},
        Observation.BLOCK_FIELDS_READ,
    ),
    "block in a result": (
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [{"type": "text", "text": "1", "mood": 1}],
        },
        Observation.BLOCK_FIELDS_READ,
    ),
}
"""Messages, and the observation that each of them excludes."""


@pytest.mark.parametrize("name", UNREAD_FIELDS)
def test_a_field_that_the_wire_does_not_read_is_observed(name: str) -> None:
    message, expected = UNREAD_FIELDS[name]
    flags = observe(decode({"messages": [message]}, "openai-chat"), "openai-chat").flags
    both = Observation.MESSAGE_FIELDS_READ | Observation.BLOCK_FIELDS_READ
    assert both & ~flags == expected


TOOLS: JSON = {"tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}]}


# --- repair comes before ids are fitted -------------------------------------------------------------


def pairs_of(body: JSON, wire: str) -> list[tuple[str, str]]:
    return [
        (pair.call.arguments, pair.result.text)
        for pair in decode(body, wire).pairs()
        if pair.call is not None and pair.result is not None
    ]


def test_a_result_whose_id_is_its_output_reaches_its_call_on_another_wire() -> None:
    body: JSON = {
        "messages": [
            text_message(),
            call_message("call_1"),
            result_message("Sum: 15", "Sum: 15"),
            text_message(),
        ]
    }
    translated = translate(body, "openai-chat", "anthropic")
    assert pairs_of(translated.body, "anthropic") == [("{}", "Sum: 15")]
    assert [change.name for change in translated.changes] == ["id-is-result-content"]
    assert translated.findings == []
    assert "interrupted" not in str(translated.body)


def test_half_of_a_composite_id_finds_its_call_on_another_wire() -> None:
    body: JSON = {
        "messages": [
            text_message(),
            call_message("call_X|fc_1"),
            result_message("call_X", "found"),
            text_message(),
        ]
    }
    translated = translate(body, "openai-chat", "anthropic")
    assert pairs_of(translated.body, "anthropic") == [("{}", "found")]


def test_a_concatenated_id_finds_its_call_on_another_wire() -> None:
    body: JSON = {
        "messages": [
            text_message(),
            call_message("call_abc"),
            result_message("call_abccall_abc"),
            text_message(),
        ]
    }
    translated = translate(body, "openai-chat", "anthropic")
    assert pairs_of(translated.body, "anthropic") == [("{}", "found")]


def test_a_repeated_call_is_sent_once() -> None:
    body: JSON = {
        "messages": [text_message(), call_message("c1", "c1"), result_message("c1"), text_message()]
    }
    translated = translate(body, "openai-chat", "anthropic")
    assert len(decode(translated.body, "anthropic").calls()) == 1


def test_a_result_without_an_id_gets_that_of_the_one_call_that_a_fix_leaves() -> None:
    call: JSON = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    body: JSON = {
        "input": [
            {"role": "user", "content": "hi"},
            {**call, "id": "fc_1"},  # type: ignore[dict-item]
            {**call, "id": "fc_1"},  # type: ignore[dict-item]
            {"type": "function_call_output", "output": "found"},
            {"role": "user", "content": "and?"},
        ]
    }
    made = translate(body, "openai-responses", "anthropic")
    assert pairs_of(made.body, "anthropic") == [("{}", "found")]
    assert made.findings == []


def test_a_call_in_a_message_of_the_user_is_moved_and_gets_a_result() -> None:
    use: JSON = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
    tools: JSON = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]}
    body: JSON = {
        "messages": [
            {"role": "user", "content": [{"text": "hi"}, use]},
            {"role": "assistant", "content": [{"text": "ok"}]},
            {"role": "user", "content": [{"text": "and?"}]},
        ],
        "toolConfig": tools,
    }
    done = repair(body, "bedrock")
    assert [change.name for change in done.changes] == ["wrong-role", "missing-result"]
    assert [pair.how for pair in decode(done.body, "bedrock").pairs()] == ["id"]
    assert done.findings == []


def test_a_result_in_a_system_instruction_becomes_one_text_message() -> None:
    response: JSON = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    question: JSON = {"role": "user", "parts": [{"text": "hi"}]}
    body: JSON = {"systemInstruction": {"parts": [response]}, "contents": [question]}
    repaired = repair(body, "gemini")
    text = "[toolwire] a result of f, whose call is not in this history: 1"
    message: JSON = {"role": "user", "parts": [{"text": text}]}
    assert repaired.body == {"contents": [message, question]}
    names = [change.name for change in repaired.changes]
    assert names == ["wrong-role", "history-starts-with-result"]
    assert repaired.findings == []


@pytest.mark.parametrize(
    "first", [[], [{"type": "from_the_future"}]], ids=["without blocks", "unknown block"]
)
def test_a_message_that_is_not_sent_does_not_count_as_the_question_before_a_call(
    first: list[JSON],
) -> None:
    use: JSON = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer: JSON = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
    messages: JSON = [
        {"role": "user", "content": first},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
    ]
    encoded = translate({"messages": messages}, "anthropic", "gemini")
    assert [change.name for change in encoded.changes] == ["history-starts-with-call"]
    assert decode(encoded.json(), "gemini").messages[0].role == "user"


def test_a_response_that_stays_on_its_wire_gets_the_ids_it_lacks() -> None:
    call: JSON = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    message: JSON = {"role": "assistant", "content": None, "tool_calls": [call]}
    body: JSON = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}
    translated = translate(body, "openai-chat", "groq", "response")
    assert [call.origin for call in decode(translated.body, "openai-chat", "response").calls()] == [
        "wire"
    ]
    assert [change.name for change in translated.changes] == ["id-missing"]


def test_a_result_never_goes_to_a_call_with_a_similar_id() -> None:
    """The call `:1` was cut away; its result is not that of the call `:0`."""
    body: JSON = {
        "messages": [
            text_message(),
            call_message("functions.get_ts_data:0"),
            result_message("functions.get_ts_data:1", "BOB has 7"),
            text_message(),
        ]
    }
    for target in ("openai-chat", "anthropic"):
        translated = translate(body, "openai-chat", target)
        results = [
            pair.result.text
            for pair in decode(translated.body, target).pairs()
            if pair.call and pair.result
        ]
        assert not any("BOB" in text for text in results)


def test_two_definitions_of_one_tool_become_one() -> None:
    tool: JSON = {"type": "function", "function": {"name": "search", "parameters": {}}}
    translated = translate(
        {"messages": [text_message()], "tools": [tool, tool]}, "openai-chat", "anthropic"
    )
    assert [change.name for change in translated.changes] == ["name-collision"]
    assert len(decode(translated.body, "anthropic").tools) == 1


def test_a_blank_text_block_is_not_sent_to_a_target_that_refuses_it() -> None:
    content: JSON = [{"type": "text", "text": " "}, {"type": "text", "text": "Hello"}]
    translated = translate(
        {"messages": [{"role": "user", "content": content}]}, "openai-chat", "anthropic"
    )
    assert [change.name for change in translated.changes] == ["content-shape"]
    assert [
        part.text for part in decode(translated.body, "anthropic").parts() if isinstance(part, Text)
    ] == ["Hello"]


def test_check_for_a_target_on_another_wire_says_what_would_be_wrong_there() -> None:
    body: JSON = {"messages": [text_message(), call_message("c1"), text_message()]}
    assert [f.name for f in check(body, "openai-chat", target="anthropic")] == ["missing-result"]
    assert check(body, "openai-chat", target="xai") == []
    clean: JSON = {
        "messages": [
            text_message(),
            call_message("functions.search:0"),
            result_message("functions.search:0"),
        ]
    }
    assert check(clean, "openai-chat", target="anthropic") == []
