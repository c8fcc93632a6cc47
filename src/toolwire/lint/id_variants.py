"""Ids that a bridge rewrote on the call or the result only: known rewritings are matched exactly.

Two ids that merely resemble each other never pair. A result belongs to a call only if one of the
known rewritings turns one id into exactly the other, and no other call or result matches.
This module knows no rule and no wire.
"""

from __future__ import annotations

import re

from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts
from toolwire.lint.id_formats import call_half, repeated_unit, without_payload

_NOT_WORD = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")
_MAX_LENGTHS = (40, 64)
"""Lengths to which bridges cut ids."""
_MIN_LENGTH = 4
"""Shorter ids may be equal by chance."""


def rewritings(call_id: str) -> set[str]:
    """What known bridges turn an id into: one half of it, without a payload, cleaned, or cut."""
    plain = [call_half(call_id), without_payload(call_id), repeated_unit(call_id)]
    cleaned = [
        _NOT_WORD.sub("_", call_id),
        _NOT_WORD.sub("", call_id),
        _NOT_ALPHANUMERIC.sub("", call_id),
    ]
    rewritten = {text for text in (*plain, *cleaned) if text}
    rewritten |= {
        text[:length]
        for text in (call_id, *cleaned)
        for length in _MAX_LENGTHS
        if len(text) > length
    }
    return {text for text in rewritten if text != call_id and len(text) >= _MIN_LENGTH}


def is_rewriting(first: str, second: str) -> bool:
    """True if a known rewriting turns one of two ids into the other."""
    return second in rewritings(first) or first in rewritings(second)


def calls_of_rewritten_ids(facts: Facts) -> dict[int, Call]:
    """The open call of each orphan whose id was rewritten, by the identity of the orphan."""
    if not facts.orphans or not facts.open_calls:
        return {}
    matches: list[tuple[Result, Call]] = []
    for result in facts.orphans:
        if result.origin == "minted":
            continue
        index = facts.message_index(result)
        candidates = [
            call
            for call in facts.calls
            if call.origin != "minted"
            and facts.message_index(call) < index
            and is_rewriting(call.id, result.call_id)
        ]
        if len(candidates) == 1 and any(candidates[0] is call for call in facts.open_calls):
            matches.append((result, candidates[0]))
    return {
        id(result): call
        for result, call in matches
        if sum(other is call for _, other in matches) == 1
    }
