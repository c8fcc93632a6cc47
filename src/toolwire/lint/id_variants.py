"""Forms that an id takes on its way through other hands: halves of two in one, cut, cleaned,
repeated, with a payload.

Two ids that share a form are one id, if nothing else in the history has it too. Knows no rule and
no wire.
"""

from __future__ import annotations

import re

from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts

_JOINTS = re.compile(r"[|\n\r]+")
_PAYLOAD = re.compile(r"(__thought__|_ts_).*", re.S)
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_DENSE = re.compile(r"[^a-zA-Z0-9]")
_CUTS = (40, 64)
_SHORTEST = 4
"""Below this, two ids are alike by chance."""


def forms(one: str) -> set[str]:
    """All that an id may have become elsewhere; itself among them."""
    whole = [one, _PAYLOAD.sub("", one), *_JOINTS.split(one)]
    whole += [unit for text in tuple(whole) if (unit := _unit(text))]
    made: set[str] = set()
    for text in whole:
        made |= {text, _ODD.sub("_", text), _ODD.sub("", text), _DENSE.sub("", text)}
    made |= {text[:cut] for text in tuple(made) for cut in _CUTS if len(text) > cut}
    return {text for text in made if len(text) >= _SHORTEST}


def _unit(text: str) -> str:
    """What a text is a whole number of repetitions of; nothing if it is none."""
    at = (text + text).find(text, 1)
    return text[:at] if 0 < at < len(text) else ""


def reattached(facts: Facts) -> dict[int, Call]:
    """The open call that each orphan must belong to, by the identity of the orphan: the only one
    that its id can have meant."""
    if not facts.orphans or not facts.open:
        return {}
    calls = [(call, forms(call.id)) for call in facts.open if call.origin != "minted"]
    found: dict[int, Call] = {}
    wanted: dict[int, list[Result]] = {}
    for result in facts.orphans:
        if result.origin == "minted":
            continue
        mine = forms(result.call_id)
        could = [
            call
            for call, theirs in calls
            if facts.message_index(call) < facts.message_index(result)
            and not mine.isdisjoint(theirs)
        ]
        if len(could) == 1:
            found[id(result)] = could[0]
            wanted.setdefault(id(could[0]), []).append(result)
    return {key: call for key, call in found.items() if len(wanted[id(call)]) == 1}
