"""Take continuation tokens out of the messages that a client returns."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation, Observations
from toolwire.conversation.parts import Message, Opaque, Part, Reasoning, Source, Text
from toolwire.gateway.client_apis.ai_sdk import TOKEN_PART
from toolwire.gateway.client_apis.openai_chat import TOKEN_FIELD
from toolwire.gateway.translation.continuation_tokens import PREFIX

_BASE64_PREFIX = b64encode(PREFIX.encode()).decode()[:5]
"""The start of a token where the wire requires base64."""
_PREFIX_BYTES, _BASE64_PREFIX_BYTES = PREFIX.encode(), _BASE64_PREFIX.encode()
_PARTS_WITH_TOKEN = (Reasoning, Opaque)
_TOKEN_AT_END = re.compile(rf"\s*({re.escape(PREFIX)}[\w=-]+)\s*\Z", re.ASCII)
_EMPTY_SIGNATURE = re.compile(rb'"signature"\s*:\s*""')


def _may_contain_token(raw: bytes) -> bool:
    """False if there is certainly no token in a request body."""
    return raw.find(_PREFIX_BYTES) >= 0 or raw.find(_BASE64_PREFIX_BYTES) >= 0


def may_contain_unsigned_reasoning(raw: bytes) -> bool:
    """False if a request body certainly has no reasoning with an empty signature."""
    return _EMPTY_SIGNATURE.search(raw) is not None


def _have_place_for_token(messages: Sequence[Message]) -> bool:
    """False if no message has a part or a field that could hold a token."""
    for message in messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if part.signature is not None or part.__class__ in _PARTS_WITH_TOKEN:
                return True
        raw = message.source.raw
        if isinstance(raw, dict) and TOKEN_FIELD in raw:
            return True
    return False


def _has_reasoning(messages: Sequence[Message]) -> bool:
    """True if a message holds reasoning."""
    for message in messages:
        for part in message.parts:
            if type(part) is Reasoning:
                return True
    return False


def may_hold_token(
    raw: bytes, messages: Sequence[Message], observations: Observations | None = None
) -> bool:
    """False if no message of the model has a continuation token.

    Args:
        raw: the body of the client.
        messages: its messages.
        observations: what one pass over messages of another wire than the model's saw.
    """
    if observations is not None and observations.flags & Observation.PLAIN:
        # A signature, and a field that the wire does not know, would be a leftover.
        return bool(observations.leftovers) and _may_contain_token(raw)
    return _may_contain_token(raw) and _have_place_for_token(messages)


def may_have_reasoning(messages: Sequence[Message], observations: Observations) -> bool:
    """True if a message holds reasoning. The settings may ask for some where there is none."""
    return not observations.holds(Observation.NO_REASONING) and _has_reasoning(messages)


def extract_tokens(message: Message) -> tuple[Message, list[tuple[int, str]]]:
    """An assistant message without its tokens, and the tokens, each with the number of parts before
    it."""
    tokens: list[tuple[int, str]] = []
    parts: list[Part] = []
    for part in message.parts:
        token, rest = _split_part(part)
        parts += rest
        if token is not None:
            tokens.append((len(parts), token))
    raw = message.raw
    if isinstance(raw, dict) and (token := _token_in_details(raw.get(TOKEN_FIELD))) is not None:
        tokens.append((len(parts), token))
        kept = {key: value for key, value in raw.items() if key != TOKEN_FIELD}
        source = replace(message.source, raw=kept)
        return replace(message, parts=tuple(parts), source=source), tokens
    return (replace(message, parts=tuple(parts)) if tokens else message), tokens


def _split_part(part: Part) -> tuple[str | None, tuple[Part, ...]]:
    """The token in a part, and what is left of the part."""
    if isinstance(part, Opaque) and isinstance(part.value, dict) and part.type == TOKEN_PART:
        data = part.value.get("data")
        token = data.get("token") if isinstance(data, dict) else None
        return (token, ()) if isinstance(token, str) else (None, (part,))
    hidden = part.hidden if isinstance(part, Reasoning) else None
    text = hidden or part.signature or ""
    if text.startswith(PREFIX):
        return text, _without_signature(part)
    if text.startswith(_BASE64_PREFIX):
        try:
            decoded = b64decode(text).decode()
        except ValueError:
            return None, (part,)
        if decoded.startswith(PREFIX):
            return decoded, _without_signature(part)
        return None, (part,)
    if isinstance(part, Reasoning) and PREFIX in part.text:
        return _split_text(part)
    return None, (part,)


def _split_text(part: Reasoning) -> tuple[str | None, tuple[Part, ...]]:
    found = _TOKEN_AT_END.search(part.text)
    if found is None:
        return None, (part,)
    rest = part.text[: found.start()]
    if not rest:
        return found[1], ()
    source = replace(part.source, original=part.original or part)
    return found[1], (replace(part, text=rest, source=source),)


def _without_signature(part: Part) -> tuple[Part, ...]:
    """The rest of a part without its token. Some clients move a signature from an empty part to the
    one before it."""
    if isinstance(part, Text | Reasoning) and (not part.text or part.signature is None):
        return ()
    raw = part.raw
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if value != part.signature}
    # It has no position in the source any more: its message is written from its parts.
    return (replace(part, signature=None, source=replace(part.source, raw=raw, path=())),)


def _token_in_details(details: JSON) -> str | None:
    for detail in details if isinstance(details, list) else ():
        data = detail.get("data") if isinstance(detail, dict) else None
        if isinstance(data, str) and data.startswith(PREFIX):
            return data
    return None


def disown_unsigned_reasoning(message: Message) -> Message:
    """Mark reasoning without a signature as not of its wire: a gateway showed it to the client, and
    no provider accepts it."""
    if message.role != "assistant" or not any(map(_is_unsigned, message.parts)):
        return message
    source = Source(UNSET, message.path, None)
    parts = [replace(part, source=source) if _is_unsigned(part) else part for part in message.parts]
    return replace(message, parts=tuple(parts))


def _is_unsigned(part: Part) -> bool:
    return isinstance(part, Reasoning) and part.signature is None and part.hidden is None
