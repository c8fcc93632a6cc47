"""A body of one wire as a body of another, mended for whoever it goes to; and what wires there are.

What a target cannot hold is a loss, what it would refuse is repaired and told, both as values.
Knows wires and rules only through their tables.
"""

from __future__ import annotations

from toolwire.codec import Encoded, IdMapInput, decode, encode, resolve
from toolwire.conversation.json import Body, load
from toolwire.conversation.model import Conversation, Kind
from toolwire.errors import LocalError
from toolwire.lint import repair as mend
from toolwire.profiles.table import PROFILES
from toolwire.wires import names, wire
from toolwire.wires.engine.server_tools import ServerToolPolicy
from toolwire.wires.engine.specs import CatalogueEntry, catalogue_entries


def translate(
    body: Body,
    source: str,
    target: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    hosted: ServerToolPolicy = "text",
    repair: bool | None = None,
) -> Encoded:
    """A body of one wire as a body of another, with every loss and the map that leads home.

    A history is mended for the target as `repair` does it, safe fixes only; `changes` says what was
    done, with pointers into the new body. That it is tidy is seen on the way, and costs nothing
    more. On the way home, with `ids`, what was sent once comes back as it was, unless `repair` is
    asked for.
    """
    mends = ids is None if repair is None else repair
    return addressed(decode(body, source, kind), target, kind, ids=ids, hosted=hosted, repair=mends)


def addressed(
    conversation: Conversation,
    target: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    hosted: ServerToolPolicy = "text",
    repair: bool = True,
) -> Encoded:
    """A conversation as a body for a wire or profile, mended for it if it is a history."""
    encoded = encode(conversation, target, kind, ids=ids, hosted=hosted)
    if not repair or encoded.tidy or kind != "request":
        return encoded
    mended = mend(encoded.body, resolve(target)[0].name, target=target)
    if not mended.changes:
        return encoded
    return Encoded(
        mended.body, encoded.losses, mended.ids.before(encoded.ids), changes=mended.changes
    )


def detect(body: Body) -> str:
    """The wire of a body.

    Raises LocalError naming the candidates if it could be several, or saying that it is none.
    """
    value, _ = load(body, "")
    sure = {name: wire(name).match_score(value) for name in names()}
    best = max(sure.values())
    found = [name for name, score in sure.items() if score == best]
    if best == 0:
        raise LocalError("", (), f"this is a body of none of the wires: {', '.join(names())}")
    if len(found) > 1:
        raise LocalError("", (), f"this could be a body of {' or '.join(found)}: say which")
    return found[0]


def wires() -> list[str]:
    """The names of all wires."""
    return list(names())


def profiles() -> list[str]:
    """The names of all profiles: every wire, and the providers that speak one in their own way."""
    return sorted({*PROFILES, *names()})


def catalogue() -> list[CatalogueEntry]:
    """Every type in which calls and results travel, read off the rows of the wires."""
    return [entry for name in names() for entry in catalogue_entries(wire(name))]
