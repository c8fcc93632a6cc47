"""Kinds of orphans: results at the start of a history, results of removed calls, surplus results.

This module knows no rule and no wire.
"""

from __future__ import annotations

from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Message, Result
from toolwire.lint.facts import Facts
from toolwire.lint.foreign_content import foreign_call_ids, foreign_id_fields
from toolwire.lint.ids.missing import ids_to_adopt
from toolwire.lint.ids.output_as_id import results_with_output_as_id
from toolwire.lint.ids.rewritings import calls_of_rewritten_ids
from toolwire.lint.memo import once_per_history


@once_per_history
def adopted_orphans(facts: Facts) -> PartSet[Result]:
    """The orphans whose id a call without an id will get, or whose call has the format of another
    wire: the rule about the call reports the pair.

    Only on its own wire, whose body shows such a call.
    """
    if not facts.own_wire or not facts.orphans:
        return PartSet()
    ids = set(ids_to_adopt(facts).values())
    ids |= foreign_call_ids(facts)
    paths = {path for path, _, _ in foreign_id_fields(facts)}
    return PartSet(
        result for result in facts.orphans if result.call_id in ids or result.path in paths
    )


def reported_orphans(facts: Facts) -> list[Result]:
    """The orphans, if the target refuses any; the rule for its kind reports each of them."""
    return facts.orphans if facts.rejects_orphans else []


@once_per_history
def leading_orphans(facts: Facts) -> list[Result]:
    """The orphans at the start of the history, before any other content."""
    leading: list[Result] = []
    orphans = PartSet(facts.orphans)
    for message in facts.messages[facts.first_index :] if orphans else ():
        parts = message.parts
        results = [part for part in parts if isinstance(part, Result) and part in orphans]
        if not results or parts[0] is not results[0]:
            break
        leading += results
        if len(results) < len(parts):
            break
    return leading


@once_per_history
def orphans_of_removed_calls(facts: Facts) -> PartMap[Result, Message]:
    """The orphans whose call was removed from an assistant message, each with that message.

    The orphan follows the message, which has other calls, an empty list of calls, or no content.
    """
    leading, rewritten = PartSet(leading_orphans(facts)), calls_of_rewritten_ids(facts)
    if facts.orphans:  # the call of a result with its output as id still exists
        leading = PartSet([*leading, *(found[0] for found in results_with_output_as_id(facts))])
    callers: PartMap[Result, Message] = PartMap()
    for result in facts.orphans:
        if result in leading or result in rewritten or result.origin == "minted":
            continue
        if result in adopted_orphans(facts):
            continue
        index = _last_indexes_without_results(facts)[facts.message_index(result)]
        if index >= 0 and _may_lack_calls(facts.messages[index]):
            callers[result] = facts.messages[index]
    return callers


@once_per_history
def _last_indexes_without_results(facts: Facts) -> list[int]:
    """For each message, the index of the last message before it that holds more than results, or
    -1."""
    indexes: list[int] = []
    last = -1
    for n in range(len(facts.messages)):
        indexes.append(last)
        if not facts.holds_only_results(n):
            last = n
    return indexes


def _may_lack_calls(message: Message) -> bool:
    if message.role != "assistant":
        return False
    raw = message.raw
    has_empty_list = isinstance(raw, dict) and any(value == [] for value in raw.values())
    has_calls = any(isinstance(part, Call) for part in message.parts)
    return has_empty_list or has_calls or not message.parts


@once_per_history
def surplus_orphans(facts: Facts) -> list[Result]:
    """The orphans without an id among the results of a turn in which no call is left for them."""
    orphans = [result for result in facts.orphans if result.origin == "minted"]
    indexes = {n for turn in facts.turns for n in turn.follower_indexes} if orphans else set()
    return [result for result in orphans if facts.message_index(result) in indexes]
