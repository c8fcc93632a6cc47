"""Rewrite results that may belong to several calls as text.

Every call that such a result may belong to gets a result that states this. Without it, a program
would consider the call pending and run its tool again. This module knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import MARK, Call, Result
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import add_results
from toolwire.lint.fixes.transforms import CALL_IS_UNCERTAIN, results_as_text
from toolwire.lint.ids.edits import all_ids, new_id, reassign_ids, with_id
from toolwire.lint.ids.formats import shorten
from toolwire.lint.rule import FixedConversation

UNCERTAIN = f"{MARK} a result that may belong to this call follows as text"


def rewrite_uncertain_results(
    facts: Facts, calls: Iterable[Call], results: Iterable[Result], reason: str = CALL_IS_UNCERTAIN
) -> Conversation:
    """The conversation with results rewritten as text.

    Args:
        facts: The history.
        calls: The calls that the results may belong to; each gets a result that states this.
        results: The results.
        reason: Why the results become text.
    """
    uncertain = PartSet(results)
    numbers = {facts.call_numbers[call] for call in calls}
    has_result = [
        call in facts.result_of and facts.result_of[call] not in uncertain for call in facts.calls
    ]
    identified = Facts(_with_ids(facts, numbers), facts.profile)
    same_results = zip(facts.results, identified.results, strict=True)
    to_rewrite = PartSet(new for result, new in same_results if result in uncertain)
    rewritten = Facts(results_as_text(identified, to_rewrite, reason), facts.profile)
    batch_of = PartMap((call, batch) for batch in rewritten.batches for call in batch.calls)
    missing = [
        (batch_of[call], call)
        for n, call in enumerate(rewritten.calls)
        if n in numbers and not has_result[n]
    ]
    return add_results(rewritten, missing, _uncertain_result)


def _uncertain_result(call: Call) -> Result:
    return call.result(UNCERTAIN, error=True)


def _with_ids(facts: Facts, numbers: set[int]) -> Conversation:
    """The conversation with an id for each of these calls, if the target requires ids."""
    if not facts.profile.requires_ids:
        return facts.conversation
    taken = all_ids(facts)
    calls = PartMap(
        (call, with_id(call, new_id(facts, call, call.id, taken)))
        for n, call in enumerate(facts.calls)
        if n in numbers and call.origin != "wire"
    )
    return reassign_ids(facts, calls)


def rewrite_results_of_shared_ids(facts: Facts, groups: Iterable[list[Call]]) -> FixedConversation:
    """Rewrite the results of calls that share an id as text."""
    calls = [call for group in groups for call in group]
    results = [facts.result_of[call] for call in calls if call in facts.result_of]
    changes = tuple(
        (
            result.path,
            f"rewrote a result for {shorten(result.call_id)} as text: several calls have this id",
        )
        for result in results
    )
    return FixedConversation(rewrite_uncertain_results(facts, calls, results), changes)
