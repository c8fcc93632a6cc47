"""Whose call it is and which call it is: the key of a record, and the fingerprint that tells two
calls under one id apart.

Two inputs that JSON holds for equal have one fingerprint, all others have two. Trace ids, tokens
and secrets stay out: an honest retry may bring others. Knows no ledger.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from functools import lru_cache

from orjson import OPT_SORT_KEYS, dumps

from toolwire.conversation.json import JSON, Object
from toolwire.execution.ledger.base import CallKey
from toolwire.tools.runnable import ToolId

LONGEST = 200
"""Longer ids are recorded by their digest: an index of a database takes so much and no more."""
_PLAIN = frozenset((str, bool, int, type(None)))


def key_of(principal: str, user_id: str | None, call_id: str) -> CallKey:
    """The key of a call. No two of (principal, user, call id) share one."""
    return CallKey(tenant(principal, user_id), _told(call_id))


@lru_cache(maxsize=1024)
def tenant(principal: str, user_id: str | None) -> str:
    """Principal and user as one text that no other two give: the length says where the one ends."""
    who = _told(principal)
    return f"{len(who)}:{who}" if user_id is None else f"{len(who)}:{who}:{_told(user_id)}"


def _told(text: str) -> str:
    """A text that every database takes: printable, not long, and as it is if it is both already."""
    if len(text) > LONGEST:
        return (
            "\\sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        )  # no escape begins with \s
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def fingerprint(key: bytes, tool: ToolId, input: Object) -> bytes:
    """What makes a call this call: the tool, its resolved version and its input, under the key of
    the ledger."""
    keyed = _keyed(key).copy()
    keyed.update(b"%b%b]" % (_before(tool), canonical(input)))
    return keyed.digest()


@lru_cache(maxsize=1024)
def _before(tool: ToolId) -> bytes:
    """The list of a tool, its version and an input, up to the input."""
    return canonical([tool.plain, str(tool.version)])[:-1] + b","


@lru_cache(maxsize=16)
def _keyed(key: bytes) -> hmac.HMAC:
    """Making one takes longer than using it."""
    return hmac.new(key, digestmod="sha256")


def canonical(value: JSON) -> bytes:
    """The same bytes for equal JSON: keys in order, 1.0 as 1. Text is compared as it is, not by its
    normal form."""
    settled = _settled(value)
    try:
        return dumps(settled, None, OPT_SORT_KEYS)
    except TypeError:  # integers beyond 64 bits, half a surrogate pair, very deep
        return json.dumps(settled, sort_keys=True, separators=(",", ":")).encode()


def _settled(value: JSON) -> JSON:
    """The value with every number that is whole written as an integer. Plain values are passed on
    as they are."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        for one in value.values():
            if type(one) not in _PLAIN:
                return {name: _settled(inner) for name, inner in value.items()}
        return value
    if isinstance(value, list):
        return [_settled(inner) for inner in value]
    return value
