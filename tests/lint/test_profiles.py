"""The rows about providers: dated, with a source, of a wire that exists, and no stricter than
the evidence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import RECORDED, needs_recordings
from msgspec.structs import fields
from rows import rows

import toolwire
from toolwire.codec import decode, encode, resolve
from toolwire.conversation.fitting import fit
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, Object, load
from toolwire.errors import UsageError
from toolwire.lint import check
from toolwire.lint.facts import Facts
from toolwire.profiles.table import PROFILES, Profile, default_profile, profile

DOCS = Path(__file__).parents[2] / "docs" / "reference"
ROWS = sorted(PROFILES)
CHECKS_PAIRS = (
    "requires_ids",
    "rejects_missing_results",
    "rejects_orphan_results",
    "rejects_duplicate_results",
)


@rows("name", [name for name in ROWS if PROFILES[name] != default_profile(name)])
def test_a_row_has_a_date_a_source_and_a_wire_that_exists(name: str) -> None:
    row = PROFILES[name]
    assert row.name == name
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", row.last_seen)
    assert row.source
    assert row.confidence in ("high", "medium", "low")
    assert row.wire in toolwire.wires()


def test_every_wire_has_a_row_and_every_row_is_listed() -> None:
    assert set(toolwire.wires()) <= set(PROFILES)
    assert toolwire.profiles() == ROWS
    assert all(PROFILES[name].wire == name for name in toolwire.wires())


def test_the_providers_that_users_ask_for_have_a_profile() -> None:
    names = """openai-chat openai-chat-legacy azure-openai openai-responses azure-foundry anthropic vertex-anthropic bedrock
        bedrock-mistral gemini vertex-gemini gemini-openai mistral cohere kimi deepseek deepseek-responses minimax
        minimax-anthropic qwen glm groq cerebras xai openrouter fireworks ollama vllm sglang llama.cpp lm-studio"""
    assert set(names.split()) <= set(PROFILES)


def test_an_unknown_name_is_refused_and_the_known_names_are_listed() -> None:
    with pytest.raises(UsageError, match="openai-chat"):
        profile("unknown")


@rows("name", ROWS)
def test_every_id_that_is_written_is_accepted(name: str) -> None:
    row = PROFILES[name]
    for call_id in ("call_1", "functions.f:0", "a" * 200, "x|y\nz"):
        assert (row.accepted_ids or row.id_rule).fits(fit(call_id, row.id_rule))
    for call_id in ("search", "a.b/c@1", "n" * 200, "9lives"):
        assert (row.accepted_names or row.name_rule).fits(fit(call_id, row.name_rule))


@rows("name", ROWS)
def test_a_pattern_of_native_ids_compiles_and_the_ids_are_accepted(name: str) -> None:
    row = PROFILES[name]
    for call_id in ("functions.read:12", "read:0", "read_3"):
        if row.own_id_pattern and re.fullmatch(row.own_id_pattern, call_id):
            assert row.id_rule.fits(call_id)
    assert re.fullmatch(row.own_id_pattern, "functionsread0") is None
    re.compile(row.reasoning_models)


@rows("name", ROWS)
def test_no_row_contradicts_itself(name: str) -> None:
    row = PROFILES[name]
    assert row.has_id_field or not row.requires_ids
    assert not row.results_come_first or row.result_placement in ("next", "alone")
    assert not row.results_share_one_message or row.result_placement in ("next", "alone")
    assert not row.reasoning_needed_in_every_turn or row.reasoning_to_return
    assert not row.reasoning_models or row.reasoning_to_return


def test_the_limits_for_writing_ids_are_unchanged() -> None:
    """What other processes were given must not change with a new row: ids that were written stay
    the same."""
    word = "a-zA-Z0-9_-"
    written = {
        "openai-chat": (IdRule(longest=40), False),
        "anthropic": (IdRule(word), True),
        "gemini": (IdRule(), False),
        "openai-responses": (IdRule(longest=64), False),
        "azure-foundry": (IdRule(longest=64), False),
        "bedrock": (IdRule(word, 64), False),
        "mistral": (IdRule("a-zA-Z0-9", 9, exact=True), False),
        "ai-sdk": (IdRule(), True),
        "mcp": (IdRule(), True),
        "cohere": (IdRule(), False),
        "ollama": (IdRule(), False),
    }
    assert {
        name: (PROFILES[name].id_rule, PROFILES[name].ids_unique_in_request) for name in written
    } == written


def test_bedrock_accepts_more_ids_than_are_written_for_it() -> None:
    row = PROFILES["bedrock"]
    assert row.accepted_ids is not None
    assert row.accepted_ids.fits("functions.f:0")
    assert not row.id_rule.fits("functions.f:0")
    assert (PROFILES["openai-chat"].accepted_ids or IdRule()).fits("a" * 64)
    assert PROFILES["openai-chat-legacy"].accepted_ids is None
    assert not PROFILES["openai-chat-legacy"].id_rule.fits("a" * 41)


@pytest.mark.parametrize(
    "name", ["xai", "openrouter", "vllm", "ai-sdk", "adk", "genkit", "meai", "mcp", "oxp", "text"]
)
def test_a_profile_without_evidence_of_checks_checks_no_pairs(name: str) -> None:
    assert not any(getattr(PROFILES[name], flag) for flag in CHECKS_PAIRS)


def test_a_profile_is_accepted_wherever_a_wire_is() -> None:
    call: JSON = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result: JSON = {"role": "tool", "tool_call_id": "call_1", "content": "1"}
    body: JSON = {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [call]},
            result,
        ]
    }
    for name in ROWS:
        encoded = encode(decode(body, "openai-chat"), name)
        rule = PROFILES[name].id_rule
        assert all(rule.fits(call.id) for call in decode(encoded.body, name).calls())


def test_the_page_shows_every_profile_and_explains_every_field() -> None:
    page = (DOCS / "profiles.md").read_text()
    for name in ROWS:
        assert page.count(f"\n| `{name}` |") == 2
        assert page.count(f"\n### `{name}`\n") == 1
        assert PROFILES[name].last_seen in page
    identifying_fields = {"name", "wire", "last_seen", "confidence", "source"}
    assert [
        field.name
        for field in fields(Profile)
        if field.name not in identifying_fields and f"\n- `{field.name}`: " not in page
    ] == []


# --- recorded traffic: what was accepted is not refused by a row ----------------------------------


@needs_recordings
@pytest.mark.parametrize(
    "path", sorted(RECORDED.glob("*.request.jsonl")), ids=lambda path: path.name
)
def test_no_recorded_id_violates_its_profile(path: Path) -> None:
    wire = path.name.partition(".")[0]
    for line in path.read_text().splitlines():
        record, _ = load(line, "")
        assert isinstance(record, dict)
        view = Facts(decode(record["body"], wire), resolve(wire)[1])
        assert view.invalid_ids == set()


def test_a_fault_has_one_finding_only() -> None:
    body = chat_body(
        {"role": "tool", "tool_call_id": "It is 5 degrees and raining in Oslo", "content": "c1"}
    )
    errors = [finding.name for finding in check(body, "openai-chat") if finding.severity == "error"]
    assert errors == ["id-is-result-content"]


@pytest.mark.parametrize("model", ["deepseek-v4", "deepseek-v4-flash"])
def test_reasoning_of_every_call_goes_back_to_models_that_want_it(model: str) -> None:
    body = chat_body({"role": "tool", "tool_call_id": "c1", "content": "1"}, model)
    messages = body["messages"]
    assert isinstance(messages, list)
    body["messages"] = [*messages, {"role": "assistant", "content": "ok"}, *messages]
    findings = check(body, "openai-chat", target="deepseek")
    missing = [finding.path for finding in findings if finding.name == "reasoning-content-missing"]
    assert [path[:2] for path in missing] == [("messages", 1), ("messages", 5)]
    body["model"] = "deepseek-chat"
    assert check(body, "openai-chat", target="deepseek") == []


def test_what_a_provider_also_accepts_is_information() -> None:
    call: JSON = {"functionCall": {"name": "f", "args": {}}}
    result: JSON = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    body: JSON = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [result, {"text": "so?"}]},
        ]
    }
    [finding] = check(body, "gemini")
    assert (finding.name, finding.severity) == ("result-with-extra", "info")


def chat_body(result: JSON, model: str = "m") -> Object:
    """A chat with one call and a result."""
    function: JSON = {"name": "f", "arguments": "{}"}
    call: JSON = {"id": "c1", "type": "function", "function": function}
    return {
        "model": model,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            result,
        ],
    }
