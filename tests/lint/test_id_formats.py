"""The rules about the origin of an id: the output as id, an id of another provider, an id of the
model, a target without an id field."""

from __future__ import annotations

import pytest
from lint.turns import Turn, call_ids, history, questions_and_answers, repair_fully, rule_names

from toolwire.codec import decode
from toolwire.lint import check
from toolwire.lint.fixes.transforms import INTERRUPTED
from toolwire.lint.ids.formats import (
    is_mangled_native_id,
    maker,
    split_composite,
    split_payload,
    unit_of_repetition,
)

# --- the output for an id: the four patterns of one plugin ----------------------------------------

_45 = "Found the documentation of S3: three documents"[:45]
_1721 = ('{"items": [' + '{"path": "/var/log/syslog", "size": 1048576}, ' * 40)[:1718] + "0]}"


def test_the_patterns_have_the_lengths_that_were_reported() -> None:
    assert (len(_45), len(_1721)) == (45, 1721)


@pytest.mark.parametrize(
    "text",
    [
        _45,
        _1721,
        '{"temperature": 21, "unit": "C"}',
        "Sum: 15",
        '"Tool response content"',
        "Añadido: 3",
    ],
)
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
@pytest.mark.parametrize("call_id", ["call_1", "add"])
def test_a_result_with_its_output_as_id_is_assigned_to_the_only_open_call(
    wire: str, call_id: str, text: str
) -> None:
    body = history(
        wire, ([(call_id, "add", "a")], [(text, text)]), ([("call_9", "g", "b")], [("call_9", "B")])
    )
    findings = [finding for finding in check(body, wire) if finding.name == "id-is-result-content"]
    assert [finding.fix for finding in findings] == ["safe"]
    repaired = repair_fully(body, wire)
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    assert questions_and_answers(repaired.body, wire) == [("a", text), ("b", "B")]
    assert call_ids(repaired.body, wire) == [call_id, "call_9"]


def test_a_conversation_with_outputs_as_ids_in_every_turn_is_repaired() -> None:
    turns: list[Turn] = [
        ([(f"call_{n}", "search", str(n))], [(text, text)])
        for n, text in enumerate((_45, _1721, "Sum: 15", "{}"))
    ]
    repaired = repair_fully(history("openai-chat", *turns), "openai-chat")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "openai-chat") == [
        (str(n), text) for n, text in enumerate((_45, _1721, "Sum: 15", "{}"))
    ]


def test_a_call_with_its_name_as_id_and_a_result_with_its_output_as_id_are_repaired_together() -> (
    None
):
    body = history(
        "anthropic",
        ([("add", "add", "a")], [("Sum: 15", "Sum: 15")]),
        ([("add", "add", "b")], [("Sum: 16", "Sum: 16")]),
    )
    repaired = repair_fully(body, "anthropic")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "anthropic") == [("a", "Sum: 15"), ("b", "Sum: 16")]


def test_an_id_that_is_a_prefix_of_the_output_is_reported() -> None:
    body = history(
        "openai-chat",
        ([("c1", "f", "a")], [("Documentation", "Documentation of S3, in three parts")]),
    )
    assert rule_names(body, "openai-chat") == ["id-is-result-content"]


def test_several_open_calls_and_outputs_as_ids_are_never_paired_by_position() -> None:
    body = history(
        "openai-chat",
        ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1"), ("Sum: 2", "Sum: 2")]),
    )
    assert "id-is-result-content" in rule_names(body, "openai-chat")
    repaired = repair_fully(body, "openai-chat")
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    results = decode(repaired.body, "openai-chat").results()
    assert all("Sum" not in result.text for result in results)
    assert "Sum: 1" in str(repaired.body) and "Sum: 2" in str(repaired.body)


def test_an_output_that_may_belong_to_several_open_calls_becomes_text() -> None:
    body = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1")]))
    repaired = repair_fully(body, "openai-chat")
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    results = decode(repaired.body, "openai-chat").results()
    assert all("Sum" not in result.text for result in results)
    assert "which may belong to any of several calls: Sum: 1" in str(repaired.body)


def test_a_result_with_its_output_as_id_is_assigned_to_the_remaining_open_call() -> None:
    body = history(
        "openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("c2", "B"), ("Sum: 1", "Sum: 1")])
    )
    repaired = repair_fully(body, "openai-chat")
    assert repaired.findings == [
        finding for finding in repaired.findings if finding.severity == "info"
    ]
    assert questions_and_answers(repaired.body, "openai-chat") == [("a", "Sum: 1"), ("b", "B")]


def test_a_pair_with_its_output_as_id_gets_a_new_id() -> None:
    repaired = repair_fully(
        history("openai-chat", ([(_1721, "f", "a")], [(_1721, _1721)])), "openai-chat"
    )
    assert rule_names(repaired.body, "openai-chat") == []
    assert "items" not in call_ids(repaired.body, "openai-chat")[0]
    assert questions_and_answers(repaired.body, "openai-chat") == [("a", _1721)]


def test_a_result_for_another_call_does_not_count_as_output() -> None:
    body = history("openai-chat", ([("c1", "f", "a")], [("call_9", "Sum: 15")]))
    assert rule_names(body, "openai-chat") == []


# --- where ids come from --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call_id", "who"),
    [
        ("call_abcdefghijklmnopqrstuvwx", "OpenAI"),
        ("fc_68ab" + "0" * 44, "OpenAI"),
        ("toolu_01A09q90qw90lq917835lq9", "Anthropic"),
        ("toolu_vrtx_01A09q90qw90lq91", "Claude"),
        ("srvtoolu_01A09q90qw", "Anthropic"),
        ("tooluse_bpAAAAAAAAAAAAAAAAAAAA", "Bedrock"),
        ("D681PevKs", "Mistral"),
        ("functions.get_weather:0", "Kimi"),
        ("Shell:58", "Kimi"),
        ("call_00_AbC123", "DeepSeek"),
        ("call_function_abc123def456_1", "MiniMax"),
        ("call_8469015594668440441", "Gemini or GLM"),
        ("call_4162774", "Gemini or GLM"),
        ("chatcmpl-tool-" + "0a" * 16, "vLLM"),
        ("adk-0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00", "Google ADK"),
        ("tool_0_search", "OpenRouter"),
        ("bash-uOQIdN0O", "Antigravity"),
        ("lc-tool-call-1", "LangChain"),
        ("tw-0123456789abcdef", "toolwire"),
        ("call_0", "a server that numbers"),
        ("17", "a server that uses numbers"),
        ("call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00", "an adapter"),
        ("get_weather", ""),
        ("functions", ""),
        ("Sum: 15", ""),
    ],
)
def test_the_format_of_an_id_shows_its_maker(call_id: str, who: str) -> None:
    assert maker(call_id).startswith(who)
    assert bool(maker(call_id)) == bool(who)


@pytest.mark.parametrize(
    ("call_id", "wire"),
    [("toolu_01A09q90qw90lq917835lq9", "mistral"), ("functions.f:0", "anthropic")],
)
def test_a_foreign_id_is_reported_only_where_it_is_refused(call_id: str, wire: str) -> None:
    turn: Turn = ([(call_id, "f", "a")], [(call_id, "A")])
    findings = [
        finding for finding in check(history(wire, turn), wire) if finding.name == "id-foreign"
    ]
    assert [(finding.severity, finding.fix) for finding in findings] == [("info", None)]
    assert maker(call_id) in findings[0].message
    assert rule_names(history("openai-chat", turn), "openai-chat") == []


@pytest.mark.parametrize(
    "call_id",
    [
        "call_A",
        "a|b",
        "call_A|",
        "|fc_B",
        "x__thought__",
        "lots_ts_of",
        "abababab",
        "toolu_1",
        "call_",
    ],
)
def test_a_plain_id_is_not_split(call_id: str) -> None:
    assert split_composite(call_id) is None
    assert split_payload(call_id) is None
    assert unit_of_repetition(call_id) is None


# --- a model's own ids ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call_id", "name", "is_so"),
    [
        ("functionsread0", "read", True),
        ("functions_read_0", "read", True),
        ("functions-read-12", "read", True),
        ("functions_get_weather_3", "get_weather", True),
        ("functionsgetweather3", "get_weather", True),
        ("functions_read_0_7hGk2Lq9", "read", True),
        ("functions.read:0", "read", False),
        ("read_0", "read", False),
        ("read:0", "read", False),
        ("functions_read_0", "write", False),
        ("functions_read", "read", False),
        ("call_abcdefghijklmnopqrstuvwx", "read", False),
    ],
)
def test_only_a_native_id_with_altered_punctuation_counts_as_mangled(
    call_id: str, name: str, is_so: bool
) -> None:
    assert is_mangled_native_id(call_id, name) is is_so


def test_restored_native_ids_count_up_over_the_history() -> None:
    body = history(
        "openai-chat",
        (
            [("functionsread0", "read", "a"), ("functionswrite1", "write", "b")],
            [("functionswrite1", "B"), ("functionsread0", "A")],
        ),
        ([("functions.read:2", "read", "c")], [("functions.read:2", "C")]),
        ([("functionsread0", "read", "d")], [("functionsread0", "D")]),
    )
    repaired = repair_fully(body, "openai-chat", "kimi")
    assert repaired.findings == []
    assert call_ids(repaired.body, "openai-chat") == [
        "functions.read:0",
        "functions.write:1",
        "functions.read:2",
        "functions.read:3",
    ]
    assert questions_and_answers(repaired.body, "openai-chat") == [
        ("a", "A"),
        ("b", "B"),
        ("c", "C"),
        ("d", "D"),
    ]


def test_a_repeated_id_becomes_a_native_id_for_a_model_that_names_its_calls() -> None:
    turn: Turn = ([("functions.f:0", "f", "a")], [("functions.f:0", "A")])
    repaired = repair_fully(history("openai-chat", turn, turn), "openai-chat", "kimi")
    assert call_ids(repaired.body, "openai-chat") == ["functions.f:0", "functions.f:1"]


def test_ids_of_other_providers_stay_for_a_model_that_names_its_calls() -> None:
    call_id = "call_abcdefghijklmnopqrstuvwx"
    assert (
        rule_names(
            history("openai-chat", ([(call_id, "f", "a")], [(call_id, "A")])), "openai-chat", "kimi"
        )
        == []
    )


# --- no field for ids -----------------------------------------------------------------------------


def test_ids_are_removed_only_after_results_are_in_call_order() -> None:
    body = history("gemini", ([("x", "f", "a"), ("y", "f", "b")], [("y", "B"), ("x", "A")]))
    repaired = repair_fully(body, "gemini", "vertex-gemini-v1")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "gemini") == [("a", "A"), ("b", "B")]
    assert {call.origin for call in decode(repaired.body, "gemini").calls()} == {"minted"}


def test_a_result_that_only_its_id_pairs_keeps_its_call_where_ids_are_refused() -> None:
    body = history("gemini", ([("x", "f", "a"), ("y", "f", "b")], [("y", "B")]))
    repaired = repair_fully(body, "gemini", "vertex-gemini-v1")
    assert repaired.findings == []
    (first, second) = questions_and_answers(repaired.body, "gemini")
    assert second == ("b", "B")
    assert first[0] == "a" and INTERRUPTED in first[1]


def test_the_id_field_is_no_finding_where_it_is_accepted() -> None:
    assert rule_names(history("gemini", ([("x", "f", "a")], [("x", "A")])), "gemini") == []
