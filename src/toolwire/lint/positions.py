"""Positions of results: which batches have results in positions that the target refuses.

One pass finds the violations of all rules about positions, by the names of these rules. This module
knows no wire.
"""

from __future__ import annotations

from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Part, Result
from toolwire.lint.pair_facts import ITEM_WIRES, CallBatch, PairFacts


def find_position_violations(facts: PairFacts) -> dict[str, list[CallBatch]]:
    """The batches that violate a rule about the positions of results, by the name of the rule."""
    profile = facts.profile
    batches: dict[str, list[CallBatch]] = {}
    in_place = facts.are_paired_in_order and facts.observations.holds(Observation.RESULTS_ALONE)
    if in_place and not profile.results_share_one_message:
        return batches
    if facts.conversation.kind == "request" and (
        profile.result_placement in ("next", "alone") or profile.results_follow_call_order
    ):
        for batch in facts.batches:
            if not _is_in_place(facts, batch):
                for name in _violations(facts, batch):
                    batches.setdefault(name, []).append(batch)
    return batches


def _is_in_place(facts: PairFacts, batch: CallBatch) -> bool:
    """True if the results directly follow their calls in messages that hold nothing else.

    This is the quick test for the usual case; False means that the full check is needed.
    """
    messages, index_of = facts.messages, facts.message_index
    results, end = batch.results, batch.caller_indexes[-1]
    count = len(results)
    if (
        len(batch.caller_indexes) > 1
        or count == 0
        or (facts.profile.results_follow_call_order and count > 1)
        or facts.text_after_calls(end)
    ):
        return False
    indexes = [index_of(result) for result in results]
    last = indexes[-1]
    if last == end + 1:
        return len(messages[last].parts) == count == indexes.count(last)
    if facts.profile.results_share_one_message or last != end + count:
        return False
    return all(
        index == n and len(messages[n].parts) == 1 for n, index in enumerate(indexes, end + 1)
    )


def _violations(facts: PairFacts, batch: CallBatch) -> list[str]:
    """The names of the rules that the results of a batch violate."""
    profile, end = facts.profile, batch.caller_indexes[-1]
    indexes = {facts.message_index(result) for result in batch.results}
    names: list[str] = []
    if profile.result_placement in ("next", "alone"):
        if len(batch.caller_indexes) > 1 and not profile.merges_assistant_messages:
            names.append("calls-split")
        if indexes and (
            _is_separated(facts, batch, indexes) or _follows_other_items(facts, indexes)
        ):
            names.append("result-separated")
        elif profile.results_share_one_message and len(indexes) > 1:
            names.append("results-split")
        mixed = [
            facts.messages[n].parts for n in indexes if n > end and not facts.holds_only_results(n)
        ]
        if mixed and profile.result_placement == "alone":
            names.append("result-with-extra")
        elif mixed and profile.results_come_first and any(map(_has_late_result, mixed)):
            names.append("result-not-first")
    if profile.results_follow_call_order and _is_out_of_order(facts, batch):
        names.append("results-out-of-order")
    return names


def _is_separated(facts: PairFacts, batch: CallBatch, indexes: set[int]) -> bool:
    end = batch.caller_indexes[-1]
    if min(indexes) <= end:
        return True  # a client's result inside the message with its call
    # Another wire gets the content beside a result as a separate message.
    between = (n for n in range(end + 1, max(indexes)) if n not in indexes or not facts.own_wire)
    if not all(facts.holds_only_results(n) for n in between):
        return True
    return any(facts.text_after_calls(n) for n in batch.caller_indexes)


def _follows_other_items(facts: PairFacts, indexes: set[int]) -> bool:
    """True if the target, on a wire where all content is separate items, gets a result after other
    items."""
    if facts.own_wire or facts.profile.wire not in ITEM_WIRES:
        return False
    return any(_has_late_result(facts.messages[n].parts) for n in indexes)


def _has_late_result(parts: tuple[Part, ...]) -> bool:
    """True if a result of the client comes after anything else."""
    is_result = [type(part) is Result and part.executor == "client" for part in parts]
    return is_result != sorted(is_result, reverse=True)


def _is_out_of_order(facts: PairFacts, batch: CallBatch) -> bool:
    if len(batch.results) < 2 or facts.are_tied_by_id(batch):
        return False
    if not facts.own_wire and _are_written_together(facts, batch):
        return False  # the writer puts them in order
    position = PartMap((call, n) for n, call in enumerate(batch.calls))
    order = [position[facts.call_of[result]] for result in batch.results]
    return order != sorted(order)


def _are_written_together(facts: PairFacts, batch: CallBatch) -> bool:
    """True if nothing stands between the results of a batch."""
    first, last = (facts.message_index(batch.results[n]) for n in (0, -1))
    return first == last or all(facts.holds_only_results(n) for n in range(first, last + 1))
