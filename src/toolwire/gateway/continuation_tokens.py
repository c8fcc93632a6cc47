"""What a client's wire cannot carry, and a model wants back: packed, handed to the client, and
unpacked a turn later.

A parcel is the part of a conversation that happened behind the gateway, in the model's own wire:
reasoning with its signature, calls that the gateway ran with their results. It travels in a field
that clients return unread, so that no replica has to remember anything, and never inside an id. It
is used only if the client's message still says what it said; otherwise it is left out. A parcel
proves nothing: it is the client's own history, as all of the request is. One that was told between
two answers of a model covers what stands before it, any other the rest of its message. Knows no
wire by name.
"""

from __future__ import annotations

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, dump, parse
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Reasoning, Result, Text
from toolwire.errors import InputError

PREFIX = "tw1."
LARGEST = 16 * 1024 * 1024
"""Bytes of all parcels of a request, unpacked. A few bytes can be packed that unfold to any number.
"""
_UNFOLDS = 1032
"""How many bytes one byte can be packed for at most: https://zlib.net/zlib_tech.html"""


class ContinuationToken(Struct, frozen=True, eq=False):
    """Messages of a turn in the wire of their model, and how the client saw them."""

    wire: str
    messages: tuple[Message, ...]
    shown: str
    """A digest of what the client was given."""
    head: bool = False
    """Whether that is only what stands before it, back to the last one of this kind, and not all of
    the message."""


def wanted(messages: Sequence[Message], *, thoughts: bool = True) -> bool:
    """Whether there is something in a turn that another wire cannot carry and its model wants back.

    A signature always is; thoughts without one if the model wants them.
    """
    if len(messages) > 1:
        return True
    for message in messages:
        for part in message.parts:
            if part.signature is not None or (
                part.__class__ is Reasoning and (thoughts or part.hidden is not None)
            ):
                return True
    return False


def packed(wire: str, messages: Sequence[Message], shown: str, *, head: bool = False) -> str:
    """A turn as a text of letters, digits, `-`, `_` and `.`."""
    body = encode(Conversation(tuple(messages)), wire).body
    held = dump({"wire": wire, "body": body, "shown": shown, **({"head": True} if head else {})})
    return PREFIX + urlsafe_b64encode(zlib.compress(held, 6)).decode().rstrip("=")


def unpacked(text: str, *, largest: int = LARGEST) -> ContinuationToken | None:
    """The parcel in a text; None if there is none, or none that can be read, or one that is too
    large."""
    return _opened(text, largest)[0]


def _opened(text: str, largest: int) -> tuple[ContinuationToken | None, int]:
    """The parcel in a text, and how many bytes it was, or may have been if it broke off."""
    if not text.startswith(PREFIX) or largest <= 0:
        return None, 0
    raw = text[len(PREFIX) :]
    size = min(largest, _UNFOLDS * len(raw))
    try:
        opened = zlib.decompressobj()
        held = opened.decompress(urlsafe_b64decode(raw + "=" * (-len(raw) % 4)), largest)
        size = len(held)
        value = parse(held) if opened.eof else None
        if not isinstance(value, dict) or not isinstance(wire := value.get("wire"), str):
            return None, size
        read = decode(value.get("body"), wire).messages
        return (
            ContinuationToken(wire, read, str(value.get("shown")), value.get("head") is True)
            if read
            else None
        ), size
    except (zlib.error, binascii.Error, ValueError, InputError):
        return None, size


def seen(messages: Sequence[Message]) -> str:
    """A digest of what the messages of an assistant say: their words, and what they call."""
    parts = [part for message in messages for part in message.parts]
    words = "".join("".join(part.text.split()) for part in parts if isinstance(part, Text))
    calls = [
        f"{part.name}\x1e{dump(_plain(part.input)).decode()}"
        for part in parts
        if isinstance(part, Call) and _asks(part)
    ]
    return digest(words, *calls)


def _plain(value: JSON) -> JSON:
    """A value under the same letters, however its keys stood and its numbers were written."""
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _asks(call: Call) -> bool:
    return call.executor == "client"


class _TurnIndex:
    """A history that is being put together again."""

    def __init__(self) -> None:
        self.out: list[Message] = []
        self.used = 0
        self._names: dict[str, str] = {}
        """Ids of the client's calls that are open under another one with the model."""
        self._waiting: list[Result] = []
        """The gateway's own results that go along with those of the client."""

    def restore(self, shown: Sequence[Message], turn: tuple[Message, ...]) -> None:
        """Put a turn in place of how the client saw it."""
        self.used += 1
        told = {part.call_id for one in turn for part in one.parts if isinstance(part, Result)}
        asked = [
            part
            for one in turn
            for part in one.parts
            if isinstance(part, Call) and _asks(part) and part.id not in told
        ]
        given = [
            part for one in shown for part in one.parts if isinstance(part, Call) and _asks(part)
        ]
        self._names |= {front.id: own.id for front, own in zip(given, asked, strict=False)}
        if (
            asked and turn[-1].role != "assistant"
        ):  # the gateway's own results wait for those of the client
            self._waiting = [part for part in turn[-1].parts if isinstance(part, Result)]
            turn = turn[:-1]
        self.out += turn

    def keep(self, message: Message) -> None:
        """Take a message as it is, but for results that belong to a call whose turn was
        put back.
        """
        if message.role == "assistant":
            for part in message.parts:
                if isinstance(part, Call):
                    self._names.pop(part.id, None)  # ids may restart each turn
            self.out.append(message)
            return
        names, more, self._waiting = self._names, self._waiting, []
        if more or any(
            isinstance(part, Result) and part.call_id in names for part in message.parts
        ):
            parts = [
                (
                    replace(
                        part,
                        call_id=names[part.call_id],
                        source=replace(part.source, original=part.original or part),
                    )
                    if isinstance(part, Result) and part.call_id in names
                    else part
                )
                for part in message.parts
            ]
            message = replace(message, parts=(*more, *parts))
        self.out.append(message)


class _TokenPiece(Struct, frozen=True, eq=False):
    """What of a message one parcel may cover: all of it, or what stands between two parcels."""

    of: int
    """The place of the message."""
    message: Message
    held: ContinuationToken | None = None
    ends: bool = False
    """Whether a parcel came with it, be it of use or not."""


def restored(
    messages: Sequence[Message], parcels: Mapping[int, Sequence[tuple[int, str]]], wire: str
) -> tuple[tuple[Message, ...], int]:
    """A client's messages with the turns that its parcels hold, where the model speaks their wire;
    and how many were used.

    `parcels` are by the place of the assistant's message, each with the number of parts before it;
    clients that stream may have made several messages of the turn that it ends. Where none fits,
    the messages are those that came. Results of the client find their calls again under the ids
    that the model gave.
    """
    pieces = _cut(messages, parcels, wire)
    fits = _fitting(pieces)
    turns = _TurnIndex()
    n = 0
    while n < len(pieces):
        found = fits.get(n)
        if found is not None:
            end, turn = found
            turns.restore([one.message for one in pieces[n:end]], turn)
        else:
            end, of = n + 1, pieces[n].of
            while (
                end < len(pieces) and pieces[end].of == of and end not in fits
            ):  # it was cut for nothing
                end += 1
            parts = tuple([part for one in pieces[n:end] for part in one.message.parts])
            if parts or not messages[of].parts:
                turns.keep(
                    messages[of]
                    if len(parts) == len(messages[of].parts)
                    else replace(messages[of], parts=parts)
                )
        n = end
    return tuple(turns.out), turns.used


def _cut(
    messages: Sequence[Message], parcels: Mapping[int, Sequence[tuple[int, str]]], wire: str
) -> list[_TokenPiece]:
    """The messages, cut behind each parcel but those that cover the rest of their message. The
    newest are opened first."""
    opened: dict[int, list[tuple[int, ContinuationToken | None]]] = {}
    room = LARGEST
    for n in sorted(parcels, reverse=True):
        for at, text in reversed(parcels[n]):
            held, size = _opened(text, room)
            room -= size
            opened.setdefault(n, []).append(
                (at, held if held is not None and held.wire == wire else None)
            )
    out: list[_TokenPiece] = []
    for n, message in enumerate(messages):
        start, cut, last = 0, False, None
        for at, held in reversed(opened.get(n, ())):
            if held is not None and not held.head:
                last = held
                continue
            out.append(
                _TokenPiece(n, replace(message, parts=message.parts[start:at]), held, ends=True)
            )
            start, cut = at, True
        if not cut:
            out.append(_TokenPiece(n, message, last, ends=last is not None))
        elif last is not None or start < len(message.parts):
            out.append(
                _TokenPiece(
                    n, replace(message, parts=message.parts[start:]), last, ends=last is not None
                )
            )
    return out


def _fitting(pieces: Sequence[_TokenPiece]) -> dict[int, tuple[int, tuple[Message, ...]]]:
    """Where a parcel says what the client's messages say: the first, the end and the turn."""
    fits: dict[int, tuple[int, tuple[Message, ...]]] = {}
    for n, piece in enumerate(pieces):
        if piece.held is None:
            continue
        first = n
        while (
            first > 0
            and pieces[first - 1].message.role == "assistant"
            and not pieces[first - 1].ends
        ):
            first -= 1
        told = [one.message for one in pieces[first : n + 1]]
        start = next(
            (
                one
                for one in dict.fromkeys((n, first))
                if seen(told[one - first :]) == piece.held.shown
            ),
            None,
        )
        if start is not None:
            fits[start] = n + 1, piece.held.messages
    return fits
