"""Law 4, Valid: what translate makes is accepted by the official SDK types of the target and has no
fixable finding of `check`, for the wire's own profile and every other profile of it."""

from __future__ import annotations

import pytest
from cases import ALL, KINDS, MODELS, WIRES, Case
from rows import rows
from validators import VALIDATORS, complaints

from toolwire import translate
from toolwire.lint import check
from toolwire.profiles.table import PROFILES

VALIDATED = [name for name in VALIDATORS if name in WIRES]
TARGETS = [name for name, row in sorted(PROFILES.items()) if row.wire in MODELS]


def row_group(case: Case, target: str) -> str:
    return f"{case.wire}-to-{target}"


def test_every_wire_that_a_model_speaks_has_a_validator() -> None:
    assert [name for name in MODELS if name not in VALIDATORS] == []


@rows(
    "case, target",
    [(case, target) for case in ALL for target in VALIDATED if target != case.wire],
    share=3,
    group=row_group,
)
def test_the_official_types_accept_what_translate_makes(case: Case, target: str) -> None:
    complaint = complaints(
        target, translate(case.body, case.wire, target, case.kind).body, case.kind
    )
    # Wires that share types carry each other's items verbatim, and so the errors of the sender.
    assert not complaint or (
        case.wire in VALIDATORS and complaint == complaints(case.wire, case.body, case.kind)
    ), complaint


def findings(case: Case, target: str) -> list[str]:
    """The rules of the fixable findings in a translation."""
    body = translate(case.body, case.wire, target, case.kind).body
    found = check(body, PROFILES[target].wire, case.kind, target=target)
    return sorted({finding.name for finding in found if finding.fix is not None})


@rows(
    "case, target",
    [(case, target) for case in ALL for target in TARGETS],
    share=3,
    group=lambda case, target: row_group(case, PROFILES[target].wire),
)
def test_check_finds_nothing_to_fix_in_what_translate_makes(case: Case, target: str) -> None:
    assert findings(case, target) == []


@pytest.mark.parametrize("target", VALIDATED)
def test_a_validator_refuses_a_body_of_another_wire(target: str) -> None:
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
