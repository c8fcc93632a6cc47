"""Write a history for wires whose calls and results are blocks inside messages.

The results of a turn go together into the message after its calls. A `BlockHistory` holds the
tables of one wire. This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from msgspec import Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Text
from toolwire.wires.engine.bodies import list_in
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities, Place
from toolwire.wires.engine.encode_context import Breakpoints, EncodeContext
from toolwire.wires.engine.part_lowering import lower_part
from toolwire.wires.engine.patching import patch_block, patch_message
from toolwire.wires.engine.specs import OPAQUE, Block


class PartWriter(Struct, frozen=True, eq=False, kw_only=True):
    """Writes the parts of messages on one wire."""

    name: str
    specs: frozenset[Block]
    """The block specs of this wire. A block that was read by any other spec is not written back."""
    foreign: Mapping[type[Part], Callable[..., JSON]]
    """The functions that write parts of other wires; they return None for a part without content.
    """
    capabilities: Capabilities = EVERYTHING

    def write_part(self, part: Part, message: Message, context: EncodeContext) -> JSON:
        """The block of a part, or None if it is empty.

        A block of this wire stays verbatim, except for the edit of its part.
        """
        if message.wire != self.name:
            return self.foreign[part.__class__](part, context)
        is_own = part.spec in self.specs or part.spec is OPAQUE
        if part.spec is OPAQUE and not isinstance(part.raw, dict | UnsetType):
            return part.raw  # not a block, such as a string in a list of blocks
        if is_own and isinstance(part.raw, dict):
            ordinal = context.ordinal
            patched = patch_block(part, context, part.raw)
            if not isinstance(patched, UnsetType):
                context.ordinal = ordinal
                record_call(part, context)
                return patched
        # An edit added the part to a message of this wire, so it has not been lowered.
        context.report_unknown_fields(part)
        place: Place = "user" if message.role == "tool" else message.role
        kind, losses = context.kind, context.losses
        lowered = lower_part(part, self.capabilities, place, kind=kind, losses=losses)
        return self.foreign[lowered[0].__class__](lowered[0], context) if lowered else None

    def write_parts(self, message: Message, context: EncodeContext) -> list[JSON]:
        """The blocks of a message."""
        blocks = [self.write_part(part, message, context) for part in message.parts]
        return [block for block in blocks if block is not None]


def record_call(part: Part, context: EncodeContext) -> None:
    """Count a call that is written verbatim."""
    if isinstance(part, Call):
        context.record_name(part)
        context.ordinal += 1


class WrittenHistory(Struct, gc=False):
    """The written messages of a history, and its system prompt."""

    messages: list[JSON] = []
    system: JSON = None
    """The system prompt, verbatim or made of the blocks of system messages."""
    verbatim: set[int] = set()
    """The indexes of messages that are written verbatim."""
    prompt: Message | None = None
    """The system prompt, if it was read from this wire."""
    position: int = 0
    """The number of blocks of system messages before that prompt."""

    def add_native(
        self, message: Message, patched: JSON, context: EncodeContext, *, position: int
    ) -> None:
        """Add a message of this wire with its edits applied. If it is the system prompt,
        `position` is the number of system blocks before it."""
        for part in message.parts:
            if type(part) is Call:
                record_call(part, context)
        source = message.source
        if len(source.path) == 1:
            self.system, self.prompt, self.position = patched, message, position
            return
        if patched is source.raw:
            self.verbatim.add(len(self.messages))
        self.messages.append(patched)

    def put_system(self, body: Object, field: str) -> None:
        """Put the system prompt into a body, or remove it if it was deleted from the history."""
        if self.system is not None:
            body[field] = self.system
        elif body.get(field) is not None:
            del body[field]


class BlockHistory(PartWriter, frozen=True, eq=False, kw_only=True):
    """Writes a history on one wire."""

    read: Callable[[JSON, JsonPath], Message]
    """Reads a message of this wire, to find out what was edited."""
    message: Callable[[Role, list[JSON]], JSON]
    """Makes a message of blocks."""
    text: Callable[[Role, str], JSON]
    """Makes a message of one text."""
    system: Callable[[list[JSON]], JSON] = list
    """Makes a system prompt of blocks."""
    alone: bool = False
    """True if a message with results holds nothing else, and they follow the order of their
    calls."""

    def read_messages(self, body: Object) -> list[Message]:
        """The system prompt and the messages of a request."""
        out: list[Message] = []
        read, prompt = self.read, body.get("system")
        if prompt is not None:
            out.append(read(prompt, ("system",)))
        for i, message in enumerate(list_in(self.name, body, "messages")):
            out.append(read(message, ("messages", i)))
        return out

    def write(self, conversation: Conversation, context: EncodeContext) -> WrittenHistory:
        """The messages of a conversation."""
        written = WrittenHistory()
        out = written.messages
        system: list[JSON] = []
        turn = _Turn()
        results = turn.results
        name, alone, write_text = self.name, self.alone, self.text
        write_result = self.foreign[Result]
        marks_nothing = context.breakpoints is None
        for message in conversation.messages:
            role, parts = message.role, message.parts
            if results and role == "assistant":
                self._write_results(turn, out)
            if alone:
                turn.add_message(role, parts)
            if message.wire == name:
                patched = patch_message(message, context, self.read)
                if not isinstance(patched, UnsetType):
                    self._write_results(turn, out)
                    written.add_native(message, patched, context, position=len(system))
                    continue
            elif marks_nothing and len(parts) == 1 and role != "system":
                only = parts[0]
                if only.__class__ is Text and only.text and not only.refusal:
                    if results:
                        self._write_results(turn, out)
                    out.append(write_text(role, only.text))
                    continue
                if only.__class__ is Result and role != "assistant":
                    results.append((only.call_id, write_result(only, context)))
                    continue
            blocks = self._write_in_turn(message, turn, context)
            if role == "system" and not out:
                system += blocks
            elif blocks and results and not alone and any(map(_is_result, parts)):
                self._write_results(turn, out, following=blocks)
            elif blocks:
                if results:
                    self._write_results(turn, out)
                out.append(self.message(role, blocks))
        self._write_results(turn, out)
        if system:
            written.system = self._join_system(system, written, context)
        return written

    def _join_system(
        self, system: list[JSON], written: WrittenHistory, context: EncodeContext
    ) -> JSON:
        """The system prompt of the blocks of system messages and the prompt of this wire."""
        if written.prompt is not None:
            at = written.position
            system[at:at] = self._write_in_turn(written.prompt, _Turn(), context)
        return self.system(system)

    def _write_in_turn(self, message: Message, turn: _Turn, context: EncodeContext) -> list[JSON]:
        """The blocks of a message; the client's results outside assistant messages are added to the
        turn instead."""
        blocks: list[JSON] = []
        native, is_assistant = message.wire == self.name, message.role == "assistant"
        marks = context.breakpoints
        for part in message.parts:
            if native:
                block = self.write_part(part, message, context)
            else:
                block = self.foreign[part.__class__](part, context)
            if block is None:
                continue
            written = (block,) if marks is None else self._mark(part, block, marks)
            if not is_assistant and _is_result(part):
                for result in written:
                    turn.results.append((part.call_id, result))
            else:
                blocks += written
        return blocks

    def _mark(self, part: Part, block: JSON, marks: Breakpoints) -> Sequence[JSON]:
        """A block with its cache breakpoint, if it gets one."""
        support = self.capabilities.cache_breakpoints
        return (block,) if support is None else support.mark_block(block, part, marks)

    def _write_results(
        self, turn: _Turn, out: list[JSON], following: list[JSON] | None = None
    ) -> None:
        """Add a message with the results of a turn, in the order of their calls if the wire
        requires it, and remove them from the turn."""
        results = turn.results
        if not results:
            return
        if self.alone and len(results) > 1:
            call_ids = turn.call_ids()
            if [call_id for call_id, _ in results] != call_ids:
                positions = {call_id: i for i, call_id in enumerate(call_ids)}
                results.sort(key=lambda result: positions.get(result[0], len(positions)))
        blocks: list[JSON] = []
        for _, block in results:  # most turns have few: a comprehension would cost more
            blocks.append(block)
        results.clear()
        out.append(self.message("user", blocks + following if following else blocks))


class _Turn(Struct, eq=False, gc=False):
    """The calls of a turn and its results so far, which may be in several messages."""

    callers: list[tuple[Part, ...]] = []
    """The parts of the messages with the calls."""
    results: list[tuple[str, JSON]] = []
    """The call id and the block of each result."""
    last_role: str = ""

    def add_message(self, role: Role, parts: tuple[Part, ...]) -> None:
        """Add the calls of a message. Consecutive assistant messages are one turn: the results
        follow all of them."""
        if role == "assistant":
            if self.last_role != "assistant":
                self.callers.clear()
            self.callers.append(parts)
        self.last_role = role

    def call_ids(self) -> list[str]:
        """The ids of the calls, in order."""
        return [part.id for parts in self.callers for part in parts if type(part) is Call]


def _is_result(part: Part) -> TypeGuard[Result]:
    """True for a result of the client: one of the provider is content like any other."""
    return type(part) is Result and part.executor == "client"
