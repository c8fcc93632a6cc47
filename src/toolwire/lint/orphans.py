"""Orphans of which more is known: those that begin a history, and those whose call was taken out of
a batch that is still there.

Knows no rule and no wire.
"""

from __future__ import annotations

from toolwire.conversation.parts import Call, Message, Result
from toolwire.lint.facts import Facts
from toolwire.lint.id_variants import calls_of_rewritten_ids


def leading_orphans(facts: Facts) -> list[Result]:
    """The orphans with which the history begins, before anybody has said anything."""
    found: list[Result] = []
    orphans = {id(result) for result in facts.orphans}
    for message in facts.messages[facts.first_index :] if orphans else ():
        parts = message.parts
        mine = [part for part in parts if isinstance(part, Result) and id(part) in orphans]
        if not mine or parts[0] is not mine[0]:
            break
        found += mine
        if len(mine) < len(parts):
            break
    return found


def orphans_of_removed_calls(facts: Facts) -> dict[int, Message]:
    """The orphans that stand with the answers to a message of the assistant, by identity, and that
    message.

    It called other tools, or it has an empty list of calls or says nothing at all: what it called
    was taken out.
    """
    known = {id(result) for result in leading_orphans(facts)} | calls_of_rewritten_ids(facts).keys()
    found: dict[int, Message] = {}
    for result in facts.orphans:
        n = facts.message_index(result) - 1
        while n >= 0 and facts.holds_only_results(n):
            n -= 1
        before = facts.messages[n] if n >= 0 else None
        if (
            id(result) not in known
            and result.origin != "minted"
            and before is not None
            and _robbed(before)
        ):
            found[id(result)] = before
    return found


def _robbed(message: Message) -> bool:
    if message.role != "assistant":
        return False
    raw = message.raw
    emptied = isinstance(raw, dict) and any(
        isinstance(value, list) and not value for value in raw.values()
    )
    return emptied or not message.parts or any(isinstance(part, Call) for part in message.parts)


def surplus_orphans(facts: Facts) -> list[Result]:
    """The orphans without an id that stand with the answers of a turn which has no call left for
    them."""
    nameless = [result for result in facts.orphans if result.origin == "minted"]
    places = {n for turn in facts.turns for n in turn.follower_indexes} if nameless else set()
    return [result for result in nameless if facts.message_index(result) in places]
