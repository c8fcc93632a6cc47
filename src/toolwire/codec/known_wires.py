"""Which wires and profiles there are, and which wire a body belongs to."""

from __future__ import annotations

from toolwire.codec import decode_in_full
from toolwire.codec.body_shape import full_body
from toolwire.codec.stored_messages import unwrap_messages
from toolwire.conversation.json import JSON, Body, load
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Opaque, Text
from toolwire.errors import DecodeError, UsageError
from toolwire.profiles.table import PROFILES
from toolwire.wires import names, wire
from toolwire.wires.engine.specs import CatalogueEntry, Wire, catalogue_entries


def wires() -> list[str]:
    """The names of all wires."""
    return list(names())


def profiles() -> list[str]:
    """The names of all profiles: every wire, and the providers that speak one in their own way."""
    return sorted({*PROFILES, *names()})


def catalogue() -> list[CatalogueEntry]:
    """Every type of call and result on every wire, with its ids and who runs it."""
    return [entry for name in names() for entry in catalogue_entries(wire(name))]


def detect(body: Body) -> str:
    """Return the name of the wire that a body belongs to.

    Raises:
        UsageError: The body could belong to several wires, which are listed, or to none; or much of
            it is unknown to the wire that it resembles most.
        DecodeError: The body is not JSON.
    """
    value, _ = load(body, "")
    scores = score_wires(value)
    if not any(scores.values()):
        value = unwrap_messages(value)
        scores = score_wires(value)
    best = max(scores.values())
    candidates = [name for name, score in scores.items() if score == best]
    if best == 0:
        raise UsageError(f"this is not a body of any known wire ({', '.join(names())})")
    if len(candidates) > 1:
        raise UsageError(f"this could be a body of {_join_or(candidates)}: name the wire")
    unknown = _describe_unknown(value, wire(candidates[0]), certain=best == _CERTAIN)
    if unknown:
        possible = [name for name, score in scores.items() if score > 0]
        resembled = _join_or(sorted(possible, key=lambda name: -scores[name]))
        raise UsageError(f"this resembles a body of {resembled}, but {unknown}: name the wire")
    return candidates[0]


def _join_or(names: list[str]) -> str:
    """Join names as in a sentence: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def score_wires(value: JSON) -> dict[str, int]:
    """Return how well a body matches each wire: see `Wire.match_score`."""
    return {name: _score(value, wire(name)) for name in names()}


def _score(value: JSON, wire: Wire) -> int:
    """Return how well a body matches a wire. A bare list of messages shows no field of the body."""
    if not isinstance(value, list) or not wire.messages_field:
        return wire.match_score(value)
    score = wire.match_score(full_body(value, wire, "request")) if value else 0
    return score if wire.messages_field == "messages" or score == _CERTAIN else 0


_CERTAIN = 3
"""The score of a body with fields or blocks that no other wire has."""
_MOST_UNKNOWN = 1 / 3
"""The share of unknown blocks that a body without certain marks of a wire may have."""
_MOST_UNKNOWN_WITHOUT_TEXT = 1 / 2
"""The share that a body with certain marks may have if it has no readable text either: wires get
new block types all the time, but every wire has texts."""


def _describe_unknown(value: JSON, wire: Wire, *, certain: bool) -> str:
    """Describe what a wire does not know of a body; empty if it knows enough of it."""
    conversation = _try_to_read(value, wire)
    if conversation is None:
        return "it can be read neither as a request nor as a response"
    parts = list(conversation.parts())
    unknown = [part.type for part in parts if isinstance(part, Opaque)]
    unread = _unread_types(conversation, wire)
    total = len(parts) + len(unread)
    if certain:
        has_text = any(isinstance(part, Text) for part in parts)
        refused = not has_text and len(unknown) > total * _MOST_UNKNOWN_WITHOUT_TEXT
    else:
        refused = len(unknown) + len(unread) > total * _MOST_UNKNOWN
    if not refused:
        return ""
    types = ", ".join(list(dict.fromkeys([*unknown, *unread]))[:5])
    return f"{len(unknown) + len(unread)} of its {total} blocks are unknown there ({types})"


def _try_to_read(value: JSON, wire: Wire) -> Conversation | None:
    kinds: tuple[Kind, ...] = ("request", "response")
    for kind in kinds:
        try:
            return decode_in_full(value, wire.name, kind)
        except DecodeError:
            continue
    return None


def _unread_types(conversation: Conversation, wire: Wire) -> list[str]:
    """Return the types of unread elements without a role in the list of messages."""
    body = conversation.source.body
    messages = body.get(wire.messages_field) if isinstance(body, dict) else None
    if conversation.kind != "request" or not isinstance(messages, list):
        return []
    read = {part.path[:2] for part in conversation.parts()}
    return [
        str(element.get("type", "untyped"))
        for n, element in enumerate(messages)
        if isinstance(element, dict)
        and "role" not in element
        and (wire.messages_field, n) not in read
    ]
