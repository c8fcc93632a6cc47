"""Put the turns of continuation tokens back in place of the client's version of them.

A token is used only if the client's messages are unchanged; otherwise the messages stay as the
client sent them. A token that covers what precedes it stands between two responses of a model; any
other covers the rest of its message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.parts import Call, Message, Result
from toolwire.gateway.translation.continuation_tokens import (
    MAX_TOKEN_BYTES,
    ContinuationToken,
    decode_token,
    digest_messages,
)


class _Piece(Struct, frozen=True, eq=False):
    """The part of a message that one token may cover: all of it, or what is between two tokens."""

    message_index: int
    message: Message
    token: ContinuationToken | None = None
    ends_with_token: bool = False
    """True if a token follows, whether it can be used or not."""


def restore_history(
    messages: Sequence[Message], tokens: Mapping[int, Sequence[tuple[int, str]]], wire: str
) -> tuple[tuple[Message, ...], int]:
    """The messages with the turns of their tokens, for a model of `wire`; and how many were used.

    Args:
        messages: what the client sent, without tokens.
        tokens: by the index of the assistant message, each with the number of parts before it. A
            client that streams may have made several messages of the turn that a token ends.
        wire: the wire of the model. Tokens of other wires are left out.

    Results of the client get the call ids that the model gave.
    """
    pieces = _cut_at_tokens(messages, tokens, wire)
    restorable = _match_tokens(pieces)
    history = _History()
    n = 0
    while n < len(pieces):
        found = restorable.get(n)
        if found is not None:
            end, turn = found
            history.restore([piece.message for piece in pieces[n:end]], turn)
        else:
            end = _join_end(pieces, n, restorable)
            original = messages[pieces[n].message_index]
            parts = tuple([part for piece in pieces[n:end] for part in piece.message.parts])
            if len(parts) == len(original.parts):
                history.keep(original)
            elif parts:
                history.keep(replace(original, parts=parts))
        n = end
    return tuple(history.messages), history.restored


def _join_end(
    pieces: Sequence[_Piece], start: int, restorable: Mapping[int, tuple[int, tuple[Message, ...]]]
) -> int:
    """The end of the pieces that belong to the message of the first one and are not restored."""
    end = start + 1
    while (
        end < len(pieces)
        and pieces[end].message_index == pieces[start].message_index
        and end not in restorable
    ):
        end += 1
    return end


def _cut_at_tokens(
    messages: Sequence[Message], tokens: Mapping[int, Sequence[tuple[int, str]]], wire: str
) -> list[_Piece]:
    """The messages, cut after each token that covers what precedes it."""
    decoded = _decode_newest_first(tokens, wire)
    pieces: list[_Piece] = []
    for n, message in enumerate(messages):
        start, cut, last = 0, False, None
        for position, token in reversed(decoded.get(n, ())):
            if token is not None and not token.covers_preceding:
                last = token
                continue
            part = replace(message, parts=message.parts[start:position])
            pieces.append(_Piece(n, part, token, ends_with_token=True))
            start, cut = position, True
        ends_with_token = last is not None
        if not cut:
            pieces.append(_Piece(n, message, last, ends_with_token))
        elif last is not None or start < len(message.parts):
            rest = replace(message, parts=message.parts[start:])
            pieces.append(_Piece(n, rest, last, ends_with_token))
    return pieces


def _decode_newest_first(
    tokens: Mapping[int, Sequence[tuple[int, str]]], wire: str
) -> dict[int, list[tuple[int, ContinuationToken | None]]]:
    """The tokens of each message, the last first; None for those of another wire, broken ones, and
    what exceeds the limit of a request."""
    decoded: dict[int, list[tuple[int, ContinuationToken | None]]] = {}
    remaining = MAX_TOKEN_BYTES
    for n in sorted(tokens, reverse=True):
        for position, text in reversed(tokens[n]):
            token, size = decode_token(text, remaining)
            remaining -= size
            usable = token if token is not None and token.wire == wire else None
            decoded.setdefault(n, []).append((position, usable))
    return decoded


def _match_tokens(pieces: Sequence[_Piece]) -> dict[int, tuple[int, tuple[Message, ...]]]:
    """The pieces that still match their token: first index to end index and turn."""
    restorable: dict[int, tuple[int, tuple[Message, ...]]] = {}
    for n, piece in enumerate(pieces):
        if piece.token is None:
            continue
        first = n
        while (
            first > 0
            and pieces[first - 1].message.role == "assistant"
            and not pieces[first - 1].ends_with_token
        ):
            first -= 1
        for start in dict.fromkeys((n, first)):
            shown = [candidate.message for candidate in pieces[start : n + 1]]
            if digest_messages(shown) == piece.token.digest:
                restorable[start] = n + 1, piece.token.messages
                break
    return restorable


class _History:
    """The restored history so far."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.restored = 0
        self._call_ids: dict[str, str] = {}
        """The model's call ids by the client's, for calls that have no result yet."""
        self._gateway_results: list[Result] = []
        """Results of the gateway that belong beside those of the client."""

    def restore(self, shown: Sequence[Message], turn: tuple[Message, ...]) -> None:
        """Add a turn in place of how the client saw it."""
        self.restored += 1
        answered = {
            part.call_id for message in turn for part in message.parts if isinstance(part, Result)
        }
        unanswered = [call for call in _client_calls(turn) if call.id not in answered]
        pairs = zip(_client_calls(shown), unanswered, strict=False)
        self._call_ids |= {seen.id: original.id for seen, original in pairs}
        if unanswered and turn[-1].role != "assistant":
            self._gateway_results = [part for part in turn[-1].parts if isinstance(part, Result)]
            turn = turn[:-1]
        self.messages += turn

    def keep(self, message: Message) -> None:
        """Add a message as it is, but with the model's ids in results of restored calls."""
        if message.role == "assistant":
            for part in message.parts:
                if isinstance(part, Call):
                    self._call_ids.pop(part.id, None)  # ids may restart in each turn
            self.messages.append(message)
            return
        more, self._gateway_results = self._gateway_results, []
        parts = [
            self._with_model_id(part) if isinstance(part, Result) else part
            for part in message.parts
        ]
        changed = any(new is not old for new, old in zip(parts, message.parts, strict=True))
        if more or changed:
            message = replace(message, parts=(*more, *parts))
        self.messages.append(message)

    def _with_model_id(self, result: Result) -> Result:
        call_id = self._call_ids.get(result.call_id)
        if call_id is None:
            return result
        source = replace(result.source, original=result.original or result)
        return replace(result, call_id=call_id, source=source)


def _client_calls(messages: Sequence[Message]) -> list[Call]:
    return [
        part
        for message in messages
        for part in message.parts
        if isinstance(part, Call) and part.executor == "client"
    ]
