"""Write a history for wires whose calls and results are blocks inside messages.

The results of a turn go together into the message after its calls. A `BlockHistory` holds the
tables of one wire. This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Text
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities, Place
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import lower_part
from toolwire.wires.engine.specs import answer_messages, patch_block, patch_message


class WrittenHistory(Struct):
    """The messages of a history, with the system prompt apart.

    `whole` is the system prompt as it was read; UNSET if it has to be made of the blocks in
    `system`.
    """

    messages: list[JSON]
    system: list[JSON]
    whole: JSON | UnsetType = UNSET
    verbatim: set[int] = set()
    """The indexes of messages that are written exactly as they were read."""


class BlockHistory(Struct, frozen=True, eq=False):
    """How one wire writes a history."""

    name: str
    read: Callable[[JSON, JsonPath], Message]
    """Reads a message of this wire, to find out what was edited."""
    foreign: Mapping[type[Part], Callable[..., JSON]]
    """The functions that write parts of other wires; they return None for a part without content.
    """
    message: Callable[[Role, list[JSON]], JSON]
    """Makes a message of blocks."""
    text: Callable[[Role, str], JSON]
    """Makes a message of one text."""
    alone: bool = False
    """True if results share their message with nothing else and follow the order of their calls."""
    capabilities: Capabilities = EVERYTHING

    def write(self, conversation: Conversation, context: EncodeContext) -> WrittenHistory:
        """The messages of a conversation."""
        out: list[JSON] = []
        written = WrittenHistory(out, [])
        turn = _Turn()
        write_result = self.foreign[Result]
        previous_role, role = "", ""
        for message in conversation.messages:
            previous_role, role, parts = role, message.role, message.parts
            if role == "assistant":
                if turn.results:
                    self._write_results(turn, out)
                # Calls in consecutive messages are one turn: its results follow all of them.
                if self.alone:
                    turn.call_ids = turn.call_ids if previous_role == "assistant" else []
                    turn.call_ids += [part.id for part in parts if part.__class__ is Call]
            if message.wire == self.name:
                patched = patch_message(message, context, self.read)
                if not isinstance(patched, UnsetType):
                    self._write_results(turn, out)
                    for part in parts:
                        self._record_call(part, context)
                    if len(message.path) == 1:
                        written.whole = patched
                    else:
                        if patched is message.raw:
                            written.verbatim.add(len(out))
                        out.append(patched)
                    continue
            elif len(parts) == 1 and role != "system":
                only = parts[0]
                if only.__class__ is Text and only.text and not only.refusal:
                    if turn.results:
                        self._write_results(turn, out)
                    out.append(self.text(role, only.text))
                    continue
                if only.__class__ is Result and role != "assistant":
                    turn.results.append(write_result(only, context))
                    turn.result_ids.append(only.call_id)
                    continue
            blocks = self._write_parts(message, turn, context)
            if role == "system" and not out:
                written.system += blocks
            elif blocks:
                if role == "system":
                    context.report_loss(
                        message, "a system message in mid-conversation becomes a user's"
                    )
                if turn.results and not self.alone and any(_is_result(part) for part in parts):
                    self._write_results(turn, out, following=blocks)
                else:
                    self._write_results(turn, out)
                    out.append(self.message(role, blocks))
        self._write_results(turn, out)
        return written

    def _write_parts(self, message: Message, turn: _Turn, context: EncodeContext) -> list[JSON]:
        """The blocks of a message; results of a user are added to the turn instead."""
        blocks: list[JSON] = []
        lowered, is_assistant = message.wire != self.name, message.role == "assistant"
        for part in message.parts:
            if lowered:
                block = self.foreign[part.__class__](part, context)
            else:
                block = self._write_part(part, message, context)
            if block is None:
                continue
            if isinstance(part, Result) and not is_assistant:
                turn.results.append(block)
                turn.result_ids.append(part.call_id)
            else:
                blocks.append(block)
        return blocks

    def _write_part(self, part: Part, message: Message, context: EncodeContext) -> JSON:
        """The block of a part: as it was read with its edits, or a new one."""
        if message.wire == self.name and not isinstance(part.raw, UnsetType):
            ordinal = context.ordinal
            patched = patch_block(part, context, part.raw)
            if not isinstance(patched, UnsetType):
                context.ordinal = ordinal
                self._record_call(part, context)
                return patched
        # Parts that were added by hand to a message of this wire have not been lowered.
        place: Place = "user" if message.role == "tool" else message.role
        lowered = lower_part(
            part, self.capabilities, place, kind=context.kind, losses=context.losses
        )
        return self.foreign[lowered[0].__class__](lowered[0], context) if lowered else None

    def blocks(self, message: Message, context: EncodeContext) -> list[JSON]:
        """The blocks of the message of a response."""
        blocks = (self._write_part(part, message, context) for part in message.parts)
        return [block for block in blocks if block is not None]

    def _write_results(
        self, turn: _Turn, out: list[JSON], following: list[JSON] | None = None
    ) -> None:
        """Add a message with the results of a turn, in the order of their calls if that counts."""
        results = turn.results
        if not results:
            return
        if self.alone and len(results) > 1 and turn.call_ids != turn.result_ids:
            positions = {call_id: i for i, call_id in enumerate(turn.call_ids)}
            order = [positions.get(call_id, len(positions)) for call_id in turn.result_ids]
            results = [results[i] for i in sorted(range(len(results)), key=order.__getitem__)]
        out.append(self.message("user", results + following if following else results))
        turn.results = []
        turn.result_ids = []

    def _record_call(self, part: Part, context: EncodeContext) -> None:
        """Count a call that is written as it was read."""
        if isinstance(part, Call):
            context.called_names[part.id] = part.name
            context.ordinal += 1


def response_message(conversation: Conversation, context: EncodeContext) -> Message:
    """The message of a response that holds only one; others are reported."""
    first, *others = answer_messages(conversation, context) or [Message("assistant", ())]
    for message in others:  # added by hand to a response of this wire, which is not lowered
        context.report_loss(
            message, "an answer here is one message; the other candidates stay behind"
        )
    return first


def _is_result(part: Part) -> bool:
    return isinstance(part, Result)


class _Turn:
    """The calls of a turn and its results so far, which may be in several messages."""

    __slots__ = ("call_ids", "result_ids", "results")

    def __init__(self) -> None:
        self.call_ids: list[str] = []
        self.results: list[JSON] = []
        self.result_ids: list[str] = []
