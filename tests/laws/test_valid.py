"""Law 4, Valid: what translate makes is accepted by the official SDK types of the target."""

from __future__ import annotations

from functools import partial

import pytest
from cases import ALL, KINDS, MODELS, WIRES, Case, broken_by
from each import each
from judges import JUDGES, complaints

from toolwire import translate

JUDGED = [name for name in JUDGES if name in WIRES]


def test_every_wire_that_a_model_speaks_has_a_judge() -> None:
    assert [name for name in MODELS if name not in JUDGES] == []


@pytest.mark.parametrize("wire", WIRES)
@each("target", JUDGED)
def test_what_translate_makes_is_accepted_by_the_official_types(wire: str, target: str) -> None:
    if wire != target:
        assert (
            broken_by((case for case in ALL if case.wire == wire), partial(accepted, target=target))
            == {}
        )


def accepted(case: Case, target: str) -> None:
    said = complaints(target, translate(case.body, case.wire, target, case.kind).body, case.kind)
    # Wires that share types carry each other's items as they are: a fault that came along is the
    # sender's.
    assert not said or (
        case.wire in JUDGES and said == complaints(case.wire, case.body, case.kind)
    ), said


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
