"""Law 4, Valid: what translate makes is accepted by the official SDK types of the target and has no
fixable finding of `check`, for the wire's own profile and every other profile of it."""

from __future__ import annotations

import pytest
from cases import ALL, COMPLETE, KINDS, MODELS, WIRES, Case
from judges import JUDGES, complaints
from msgspec import Struct
from rows import gap, rows

from toolwire import translate
from toolwire.lint import check
from toolwire.profiles.table import PROFILES

JUDGED = [name for name in JUDGES if name in WIRES]
TARGETS = [name for name, row in sorted(PROFILES.items()) if row.wire in MODELS]


def row_group(case: Case, target: str) -> str:
    return f"{case.wire}-to-{target}"


def test_every_wire_that_a_model_speaks_has_a_judge() -> None:
    assert [name for name in MODELS if name not in JUDGES] == []


@rows(
    "case, target",
    [(case, target) for case in ALL for target in JUDGED if target != case.wire],
    group=row_group,
)
def test_the_official_types_accept_what_translate_makes(case: Case, target: str) -> None:
    complaint = complaints(
        target, translate(case.body, case.wire, target, case.kind).body, case.kind
    )
    # Wires that share types carry each other's items verbatim, and so the errors of the sender.
    assert not complaint or (
        case.wire in JUDGES and complaint == complaints(case.wire, case.body, case.kind)
    ), complaint


class Gap(Struct, frozen=True):
    """A rule whose findings translate still leaves, and a row that shows it."""

    reason: str
    case: str
    target: str


UNSAFE = "translate applies only safe fixes by default, and this one is unsafe"
RESPONSE = "translate does not repair responses that stay on their wire"
GAPS = {
    "args-invalid-json": Gap(UNSAFE, case="ai-sdk-request-errors-are-text", target="minimax"),
    "args-wrong-type": Gap(
        UNSAFE, case="anthropic-request-missing-and-empty-ids", target="anthropic"
    ),
    "call-dropped-keep-result": Gap(
        UNSAFE, case="anthropic-request-missing-and-empty-ids", target="azure-foundry"
    ),
    "content-shape": Gap(RESPONSE, case="ai-sdk-response-stream-approval", target="cerebras"),
    "dup-result": Gap(UNSAFE, case="adk-request-long-running-answers-twice", target="anthropic"),
    "history-starts-with-call": Gap(
        UNSAFE, case="mcp-request-answers-may-overtake", target="gemini"
    ),
    "history-starts-with-result": Gap(
        UNSAFE, case="anthropic-request-open-and-stray", target="anthropic"
    ),
    "id-bad-charset": Gap(
        RESPONSE,
        case="bedrock-response-stream-parallel-calls-of-one-tool",
        target="bedrock-mistral",
    ),
    "id-empty": Gap(
        RESPONSE, case="openai-chat-response-answer-without-ids", target="azure-openai"
    ),
    "id-field-unsupported": Gap(
        UNSAFE, case="adk-response-run-ends-with-a-call", target="vertex-gemini"
    ),
    "id-missing": Gap(
        RESPONSE, case="openai-chat-response-answer-without-ids", target="azure-openai"
    ),
    "id-wrong-length": Gap(
        RESPONSE, case="bedrock-response-answer-with-calls", target="bedrock-mistral"
    ),
    "item-id-prefix": Gap(
        UNSAFE, case="openai-responses-request-recorded-50", target="openai-responses"
    ),
    "legacy-function-call": Gap(
        RESPONSE, case="openai-chat-response-answer-legacy-and-citations", target="deepseek"
    ),
    "orphan-result": Gap(UNSAFE, case="adk-request-long-running-answers-twice", target="gemini"),
    "result-separated": Gap(
        "text after a call is an item between the call and its output, and a turn may go on after it",
        case="ai-sdk-request-model-messages-with-approvals",
        target="deepseek-responses",
    ),
    "thinking-missing": Gap(
        UNSAFE, case="bedrock-request-reasoning-keeps-its-signature", target="anthropic"
    ),
    "tools-undefined": Gap(UNSAFE, case="adk-request-confirmation-is-a-call", target="bedrock"),
    "trailing-assistant": Gap(
        UNSAFE, case="adk-request-parallel-calls-of-one-tool", target="mistral"
    ),
    "user-after-tool": Gap(
        UNSAFE, case="adk-request-unknown-parts-and-errors", target="mistral-legacy"
    ),
}
"""Findings that are known to be left, by rule. This table may only get shorter."""


def findings(case: Case, target: str) -> list[str]:
    """The rules of the fixable findings in a translation."""
    body = translate(case.body, case.wire, target, case.kind).body
    found = check(body, PROFILES[target].wire, case.kind, target=target)
    return sorted({finding.name for finding in found if finding.fix is not None})


@rows(
    "case, target",
    [(case, target) for case in ALL for target in TARGETS],
    group=lambda case, target: row_group(case, PROFILES[target].wire),
)
def test_check_finds_nothing_to_fix_in_what_translate_makes(case: Case, target: str) -> None:
    left = findings(case, target)
    known = [GAPS[name].reason for name in left if name in GAPS]
    with gap(known[0] if known else None):
        assert left == []
    assert [name for name in left if name not in GAPS] == []


@pytest.mark.parametrize("name", GAPS)
def test_a_known_gap_is_still_open(name: str) -> None:
    """A rule that translate has learnt to satisfy leaves the table."""
    found = [case for case in ALL if str(case) == GAPS[name].case]
    if not found and (GAPS[name].case.split("-recorded-")[1:] or not COMPLETE):
        pytest.skip(f"{GAPS[name].case} is not at hand")
    (case,) = found
    assert name in findings(case, GAPS[name].target)


@pytest.mark.parametrize("target", JUDGED)
def test_a_judge_refuses_a_body_of_another_wire(target: str) -> None:
    bodies = (
        {"messages": 7},
        {"contents": 7},
        {"input": 7},
        {"choices": [7]},
        {"candidates": [7]},
        {"content": [7]},
    )
    assert [
        (body, kind)
        for body in bodies
        for kind in KINDS
        if not complaints(target, body, kind)  # type: ignore[arg-type]
    ] == []
