"""The rules about where an id comes from: the output in its place, another maker, a model of its
own, no field for it."""

from __future__ import annotations

import pytest
from lint_turns import Turn, history, ids, joined, mended, names

from toolwire.codec import decode
from toolwire.lint import check
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
@pytest.mark.parametrize("one", ["call_1", "add"])
def test_a_result_under_its_own_output_goes_back_to_the_call_that_waits(
    wire: str, one: str, text: str
) -> None:
    body = history(
        wire, ([(one, "add", "a")], [(text, text)]), ([("call_9", "g", "b")], [("call_9", "B")])
    )
    found = [finding for finding in check(body, wire) if finding.name == "id-is-result-content"]
    assert [finding.fix for finding in found] == ["safe"]
    repaired = mended(body, wire)
    assert [left for left in repaired.findings if left.severity == "error"] == []
    assert joined(repaired.body, wire) == [("a", text), ("b", "B")]
    assert ids(repaired.body, wire) == [one, "call_9"]


def test_the_whole_conversation_of_the_plugin_is_mended_turn_by_turn() -> None:
    turns: list[Turn] = [
        ([(f"call_{n}", "search", str(n))], [(text, text)])
        for n, text in enumerate((_45, _1721, "Sum: 15", "{}"))
    ]
    repaired = mended(history("openai-chat", *turns), "openai-chat")
    assert repaired.findings == []
    assert joined(repaired.body, "openai-chat") == [
        (str(n), text) for n, text in enumerate((_45, _1721, "Sum: 15", "{}"))
    ]


def test_the_name_for_the_call_and_the_output_for_the_result_are_mended_together() -> None:
    body = history(
        "anthropic",
        ([("add", "add", "a")], [("Sum: 15", "Sum: 15")]),
        ([("add", "add", "b")], [("Sum: 16", "Sum: 16")]),
    )
    repaired = mended(body, "anthropic")
    assert repaired.findings == []
    assert joined(repaired.body, "anthropic") == [("a", "Sum: 15"), ("b", "Sum: 16")]


def test_an_id_that_only_begins_the_output_is_told_too() -> None:
    body = history(
        "openai-chat",
        ([("c1", "f", "a")], [("Documentation", "Documentation of S3, in three parts")]),
    )
    assert names(body, "openai-chat") == ["id-is-result-content"]


def test_several_waiting_calls_and_as_many_outputs_are_never_paired_by_position() -> None:
    body = history(
        "openai-chat",
        ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1"), ("Sum: 2", "Sum: 2")]),
    )
    assert "id-is-result-content" in names(body, "openai-chat")
    repaired = mended(body, "openai-chat")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    results = decode(repaired.body, "openai-chat").results()
    assert all("Sum" not in result.text for result in results)
    assert "Sum: 1" in str(repaired.body) and "Sum: 2" in str(repaired.body)


def test_an_output_that_several_waiting_calls_could_have_becomes_text() -> None:
    body = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1")]))
    repaired = mended(body, "openai-chat")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    results = decode(repaired.body, "openai-chat").results()
    assert all("Sum" not in result.text for result in results)
    assert "which may belong to any of several calls: Sum: 1" in str(repaired.body)


def test_one_of_two_results_under_its_output_goes_to_the_call_that_is_left() -> None:
    body = history(
        "openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("c2", "B"), ("Sum: 1", "Sum: 1")])
    )
    repaired = mended(body, "openai-chat")
    assert repaired.findings == [one for one in repaired.findings if one.severity == "info"]
    assert joined(repaired.body, "openai-chat") == [("a", "Sum: 1"), ("b", "B")]


def test_a_pair_that_goes_under_its_output_gets_an_id_that_does_not_repeat_it() -> None:
    repaired = mended(
        history("openai-chat", ([(_1721, "f", "a")], [(_1721, _1721)])), "openai-chat"
    )
    assert names(repaired.body, "openai-chat") == []
    assert "items" not in ids(repaired.body, "openai-chat")[0]
    assert joined(repaired.body, "openai-chat") == [("a", _1721)]


def test_a_result_for_another_call_is_not_taken_for_output() -> None:
    body = history("openai-chat", ([("c1", "f", "a")], [("call_9", "Sum: 15")]))
    assert names(body, "openai-chat") == []


# --- where ids come from --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "who"),
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
def test_the_shape_of_an_id_says_who_made_it(one: str, who: str) -> None:
    assert maker(one).startswith(who)
    assert bool(maker(one)) == bool(who)


@pytest.mark.parametrize(
    ("one", "wire"), [("toolu_01A09q90qw90lq917835lq9", "mistral"), ("functions.f:0", "anthropic")]
)
def test_a_foreign_id_is_told_where_it_is_refused_and_nowhere_else(one: str, wire: str) -> None:
    turn: Turn = ([(one, "f", "a")], [(one, "A")])
    found = [
        finding for finding in check(history(wire, turn), wire) if finding.name == "id-foreign"
    ]
    assert [(finding.severity, finding.fix) for finding in found] == [("info", None)]
    assert maker(one) in found[0].message
    assert names(history("openai-chat", turn), "openai-chat") == []


@pytest.mark.parametrize(
    "one",
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
def test_a_plain_id_is_not_taken_apart(one: str) -> None:
    assert split_composite(one) is None
    assert split_payload(one) is None
    assert unit_of_repetition(one) is None


# --- a model's own ids ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "name", "is_so"),
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
def test_only_a_models_own_id_with_other_signs_is_mangled(one: str, name: str, is_so: bool) -> None:
    assert is_mangled_native_id(one, name) is is_so


def test_a_models_own_ids_count_up_over_the_history_again() -> None:
    body = history(
        "openai-chat",
        (
            [("functionsread0", "read", "a"), ("functionswrite1", "write", "b")],
            [("functionswrite1", "B"), ("functionsread0", "A")],
        ),
        ([("functions.read:2", "read", "c")], [("functions.read:2", "C")]),
        ([("functionsread0", "read", "d")], [("functionsread0", "D")]),
    )
    repaired = mended(body, "openai-chat", "kimi")
    assert repaired.findings == []
    assert ids(repaired.body, "openai-chat") == [
        "functions.read:0",
        "functions.write:1",
        "functions.read:2",
        "functions.read:3",
    ]
    assert joined(repaired.body, "openai-chat") == [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]


def test_a_repeated_id_becomes_one_of_the_models_own_kind_where_it_makes_them() -> None:
    turn: Turn = ([("functions.f:0", "f", "a")], [("functions.f:0", "A")])
    repaired = mended(history("openai-chat", turn, turn), "openai-chat", "kimi")
    assert ids(repaired.body, "openai-chat") == ["functions.f:0", "functions.f:1"]


def test_ids_of_other_providers_go_to_such_a_model_as_they_are() -> None:
    one = "call_abcdefghijklmnopqrstuvwx"
    assert (
        names(history("openai-chat", ([(one, "f", "a")], [(one, "A")])), "openai-chat", "kimi")
        == []
    )


# --- no field for ids -----------------------------------------------------------------------------


def test_ids_are_taken_off_only_after_the_results_stand_in_the_order_of_their_calls() -> None:
    body = history("gemini", ([("x", "f", "a"), ("y", "f", "b")], [("y", "B"), ("x", "A")]))
    repaired = mended(body, "gemini", "vertex-gemini-v1")
    assert repaired.findings == []
    assert joined(repaired.body, "gemini") == [("a", "A"), ("b", "B")]
    assert {one.origin for one in decode(repaired.body, "gemini").calls()} == {"minted"}


def test_a_result_that_only_its_id_ties_to_its_call_becomes_text_where_ids_are_refused() -> None:
    body = history("gemini", ([("x", "f", "a"), ("y", "f", "b")], [("y", "B")]))
    repaired = mended(body, "gemini", "vertex-gemini-v1")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert ("a", "B") not in joined(repaired.body, "gemini")
    assert "a result of f for y, which the target cannot assign" in str(repaired.body)


def test_the_field_is_fine_where_it_is_known() -> None:
    assert names(history("gemini", ([("x", "f", "a")], [("x", "A")])), "gemini") == []
