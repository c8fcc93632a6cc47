"""Law 4, Valid: what translate makes is accepted by the official SDK types of the target."""

from __future__ import annotations

import pytest
from cases import ALL, MODELS, Case
from judges import JUDGES

from toolwire import translate


@pytest.mark.parametrize("target", [name for name in MODELS if name in JUDGES])
@pytest.mark.parametrize("case", ALL, ids=str)
def test_what_translate_makes_is_accepted_by_the_official_types(case: Case, target: str) -> None:
    if case.wire != target:
        JUDGES[target](translate(case.body, case.wire, target, case.kind).body, case.kind)


@pytest.mark.parametrize("target", [name for name in MODELS if name in JUDGES])
def test_a_judge_refuses_a_body_of_another_wire(target: str) -> None:
    refused = 0
    for body in ({"messages": 7}, {"contents": 7}, {"input": 7}, {"choices": [7]}, {"candidates": [7]}, {"content": [7]}):
        for kind in ("request", "response"):
            try:
                JUDGES[target](body, kind)  # type: ignore[arg-type]
            except (AssertionError, KeyError, ValueError):
                refused += 1
    assert refused == 12
