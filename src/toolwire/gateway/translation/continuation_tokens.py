"""Continuation tokens: content that a model requires back and the client's wire cannot carry, as
text.

A token holds the messages of a turn in the model's own wire: reasoning with its signature, calls
that the gateway ran, with their results. It travels in a field that clients return unread, so no
replica has to store anything, and never inside an id. A token proves nothing: it is a part of the
client's own history, as the rest of the request is.
"""

from __future__ import annotations

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from msgspec import Struct

from toolwire.codec import decode, encode
from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, dump, parse
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Reasoning, Text
from toolwire.errors import InputError
from toolwire.wires.engine.capabilities import Capabilities
from toolwire.wires.engine.part_lowering import takes_signature

PREFIX = "tw1."
MAX_TOKEN_BYTES = 16 * 1024 * 1024
"""Limit of all tokens of a request, decompressed. A few bytes can decompress to any number."""
_MAX_COMPRESSION = 1032
"""The highest ratio of zlib: https://zlib.net/zlib_tech.html"""


class ContinuationToken(Struct, frozen=True, eq=False):
    """The messages of a turn in the wire of their model, and a digest of what the client got."""

    wire: str
    messages: tuple[Message, ...]
    digest: str
    covers_preceding: bool = False
    """True if the token covers only the parts before it, back to the previous token of this kind,
    and not the whole message."""


def needs_token(
    messages: Sequence[Message], client: Capabilities | None, *, unsigned_reasoning: bool = True
) -> bool:
    """True if a turn has something that the client's wire cannot carry and its model wants back.

    A signature counts unless the client's wire has signatures of the same maker; `client` is None
    if no signature reaches the client. Reasoning without one counts if `unsigned_reasoning`.
    """
    if len(messages) > 1:
        return True
    for message in messages:
        for part in message.parts:
            if part.signature is None and type(part) is not Reasoning:
                continue
            if client is not None and takes_signature(part, client):
                continue
            if part.signature is not None:
                return True
            if type(part) is Reasoning and (unsigned_reasoning or part.hidden is not None):
                return True
    return False


def encode_token(
    wire: str, messages: Sequence[Message], digest: str, *, covers_preceding: bool = False
) -> str:
    """A turn as a text of letters, digits, `-`, `_` and `.`."""
    value: dict[str, JSON] = {
        "wire": wire,
        "body": encode(Conversation(tuple(messages)), wire).body,
        "digest": digest,
    }
    if covers_preceding:
        value["covers_preceding"] = True
    return PREFIX + urlsafe_b64encode(zlib.compress(dump(value), 6)).decode().rstrip("=")


def decode_token(text: str, max_bytes: int) -> tuple[ContinuationToken | None, int]:
    """The token in a text, and its decompressed size; for a broken token, the size it may have."""
    if not text.startswith(PREFIX) or max_bytes <= 0:
        return None, 0
    encoded = text[len(PREFIX) :]
    size = min(max_bytes, _MAX_COMPRESSION * len(encoded))
    try:
        decompressor = zlib.decompressobj()
        compressed = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        data = decompressor.decompress(compressed, max_bytes)
        size = len(data)
        value = parse(data) if decompressor.eof else None
        if not isinstance(value, dict) or not isinstance(wire := value.get("wire"), str):
            return None, size
        messages = decode(value.get("body"), wire).messages
    except (zlib.error, binascii.Error, ValueError, InputError):
        return None, size
    if not messages:
        return None, size
    covers_preceding = value.get("covers_preceding") is True
    return ContinuationToken(wire, messages, str(value.get("digest")), covers_preceding), size


def digest_messages(messages: Sequence[Message]) -> str:
    """A digest of the text and the client calls of assistant messages, without their whitespace."""
    parts = [part for message in messages for part in message.parts]
    text = "".join("".join(part.text.split()) for part in parts if isinstance(part, Text))
    calls = [
        f"{part.name}\x1e{dump(_canonical(part.input)).decode()}"
        for part in parts
        if isinstance(part, Call) and part.executor == "client"
    ]
    return digest(text, *calls)


def _canonical(value: JSON) -> JSON:
    """The same value for every order of keys and every spelling of a number."""
    if isinstance(value, dict):
        return {key: _canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
