"""Law 3, Paired: pairs equal the truth, also when parallel results come back in another order."""

from __future__ import annotations

from itertools import groupby

import pytest
from cases import ALL, CASES, Case, set_at
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from toolwire import Conversation, decode
from toolwire.conversation.json import JSON, JsonPath, get
from toolwire.errors import pointer

WITH_PAIRS = [case for case in CASES if case.pairs is not None]


def read(body: JSON, case: Case) -> Conversation:
    return decode(body, case.wire, case.kind)


@rows("case", WITH_PAIRS)
def test_pairs_equal_the_truth(case: Case) -> None:
    found = [
        (pair.call and pointer(pair.call.path), pair.result and pointer(pair.result.path), pair.how)
        for pair in read(case.body, case).pairs()
    ]
    assert sorted(found, key=repr) == sorted(case.pairs or (), key=repr)


@rows("case", [case for case in CASES if case.pairs is None])
def test_a_case_without_pairs_has_nothing_to_pair(case: Case) -> None:
    assert read(case.body, case).pairs() == []


@rows("case", ALL)
def test_pairs_hold_every_call_and_result_once_and_paired_ones_share_their_id(case: Case) -> None:
    conversation = read(case.body, case)
    pairs = conversation.pairs()
    calls, results = [p.call for p in pairs if p.call], [p.result for p in pairs if p.result]
    assert [id(call) for call in calls] == [id(call) for call in conversation.calls()]
    assert sorted(map(id, results)) == sorted(map(id, conversation.results()))
    assert all(call.id for call in calls)
    assert all(result.call_id for result in results)
    assert [p for p in pairs if p.call and p.result and p.call.id != p.result.call_id] == []
    assert all((p.how is None) == (p.call is None or p.result is None) for p in pairs)


def batches(case: Case) -> list[list[JsonPath]]:
    """Runs of adjacent results, each paired by an id of its own."""
    pairs = [pair for pair in read(case.body, case).pairs() if pair.result is not None]
    if any(pair.how != "id" for pair in pairs):
        return []
    listed = (
        pair.result.path for pair in pairs if pair.result and isinstance(pair.result.path[-1], int)
    )
    places = sorted(listed, key=lambda at: (str(at[:-1]), at[-1]))
    called = {pair.call.path for pair in pairs if pair.call}
    runs = groupby(enumerate(places), key=lambda item: (item[1][:-1], int(item[1][-1]) - item[0]))
    found = [[at for _, at in run] for _, run in runs]
    return [run for run in found if len(run) > 1 and not called.intersection(run)]


def pairs_by_content(conversation: Conversation) -> list[str]:
    return [
        f"{p.call and p.call.path} {p.result and (p.result.text, p.result.error)} {p.how}"
        for p in conversation.pairs()
    ]


PARALLEL = [(case, run) for case in WITH_PAIRS for run in batches(case)]


@pytest.mark.parametrize("wire", sorted({case.wire for case, _ in PARALLEL}))
@given(data=st.data())
def test_results_in_another_order_make_the_same_pairs(wire: str, data: st.DataObject) -> None:
    case, run = data.draw(st.sampled_from([row for row in PARALLEL if row[0].wire == wire]))
    body = case.body
    for at, other in zip(run, data.draw(st.permutations(run)), strict=True):
        body = set_at(body, at, get(case.body, other))  # type: ignore[arg-type]
    assert pairs_by_content(read(body, case)) == pairs_by_content(read(case.body, case))


def test_there_are_results_to_permute() -> None:
    assert PARALLEL
