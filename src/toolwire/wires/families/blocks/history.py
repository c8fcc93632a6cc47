"""The block shape: calls and results are blocks inside messages, and a turn's results stand
together in the next one.

Several wires write their history so, with different tables. Knows no wire by name; a `Blocks` holds
a wire's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import patch_block, patch_message


class WrittenHistory(Struct):
    """A history as it goes out: the system prompt apart, as it came (`whole`) or as blocks."""

    messages: list[JSON]
    system: list[JSON]
    whole: JSON | UnsetType = UNSET


class BlockHistory(Struct, frozen=True, eq=False):
    """How one wire of this shape writes a history."""

    name: str
    read: Callable[[JSON, JsonPath], Message]
    """Reads a message of its own again, to see what was edited."""
    foreign: Mapping[type[Part], Callable[..., JSON]]
    """How a part of another wire is written; None if it cannot stand here."""
    message: Callable[[Role, list[JSON]], JSON]
    text: Callable[[Role, str], JSON]
    """A message that is one plain text."""
    pictures: bool = True
    """Whether an assistant's message can hold media."""
    alone: bool = False
    """Whether results share their message with nothing else, and stand in the order of their calls.
    """

    def write(self, conversation: Conversation, context: EncodeContext) -> WrittenHistory:
        """The whole history."""
        out: list[JSON] = []
        written = WrittenHistory(out, [])
        turn = _Turn()
        answer = self.foreign[Result]
        before, role = "", ""
        for message in conversation.messages:
            before, role, parts = role, message.role, message.parts
            if role == "assistant":
                if turn.results:
                    self._close(turn, out)
                # Calls split over messages in a row are one turn: their results come in the order
                # of all of them.
                if self.alone:
                    turn.asked = turn.asked if before == "assistant" else []
                    turn.asked += [part.id for part in parts if part.__class__ is Call]
            if message.wire == self.name:
                kept = patch_message(message, context, self.read)
                if not isinstance(kept, UnsetType):
                    self._close(turn, out)
                    for part in parts:
                        self._note(part, context)
                    if len(message.path) == 1:
                        written.whole = kept
                    else:
                        out.append(kept)
                    continue
            elif len(parts) == 1 and role != "system":
                only = parts[0]
                if only.__class__ is Text and only.text and not only.refusal:
                    if turn.results:
                        self._close(turn, out)
                    out.append(self.text(role, only.text))
                    continue
                if only.__class__ is Result and role != "assistant":
                    turn.results.append(answer(only, context))
                    turn.answered.append(only.call_id)
                    continue
            blocks = self._mixed(message, turn, context)
            if role == "system" and not out:
                written.system += blocks
            elif blocks:
                if role == "system":
                    context.report_loss(
                        message, "a system message in mid-conversation becomes a user's"
                    )
                joined = (
                    turn.results
                    and not self.alone
                    and any(part.__class__ is Result for part in parts)
                )
                self._close(turn, out, blocks if joined else None)
                if not joined:
                    out.append(self.message(role, blocks))
        self._close(turn, out)
        return written

    def _mixed(self, message: Message, turn: _Turn, context: EncodeContext) -> list[JSON]:
        """The blocks of a message but for results, which join those of the turn."""
        blocks: list[JSON] = []
        foreign = self.foreign
        strange, asks = message.wire != self.name, message.role == "assistant"
        for part in message.parts:
            kind = part.__class__
            plain = strange and kind is not Media
            block = foreign[kind](part, context) if plain else self._block(part, message, context)
            if block is None:
                continue
            if kind is Result and not asks:
                assert isinstance(part, Result)
                turn.results.append(block)
                turn.answered.append(part.call_id)
            else:
                blocks.append(block)
        return blocks

    def _block(self, part: Part, message: Message, context: EncodeContext) -> JSON:
        if message.wire == self.name and not isinstance(part.raw, UnsetType):
            before = context.ordinal
            kept = patch_block(part, context, part.raw)
            if not isinstance(kept, UnsetType):
                context.ordinal = before
                self._note(part, context)
                return kept
        if isinstance(part, Media) and message.role == "assistant" and not self.pictures:
            context.report_loss(
                part, f"an assistant's message cannot hold this {part.kind}; it is named in text"
            )
            part = Text(describe(part), source=Source(path=part.path))
        return self.foreign[part.__class__](part, context)

    def blocks(self, message: Message, context: EncodeContext) -> list[JSON]:
        """A single message as blocks, as the answer of a response holds them."""
        written = (self._block(part, message, context) for part in message.parts)
        return [block for block in written if block is not None]

    def _close(self, turn: _Turn, out: list[JSON], more: list[JSON] | None = None) -> None:
        """Write a turn's results out, in the order of their calls where that counts; `more` comes
        after them."""
        results = turn.results
        if not results:
            return
        if self.alone and len(results) > 1 and turn.asked != turn.answered:
            places = {one: i for i, one in enumerate(turn.asked)}
            order = [places.get(one, len(places)) for one in turn.answered]
            results = [results[i] for i in sorted(range(len(results)), key=order.__getitem__)]
        out.append(self.message("user", results + more if more else results))
        turn.results = []
        turn.answered = []

    def _note(self, part: Part, context: EncodeContext) -> None:
        """Keep in mind a call that goes out as it came."""
        if isinstance(part, Call):
            context.called_names[part.id] = part.name
            context.ordinal += 1


class _Turn:
    """The calls of a turn, and its results so far, which may come in several messages."""

    __slots__ = ("answered", "asked", "results")

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.results: list[JSON] = []
        self.answered: list[str] = []
