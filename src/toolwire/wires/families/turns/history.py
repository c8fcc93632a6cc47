"""Messages and histories in turn shape: one object per message, with a list of parts.

The results of a turn share one message, which follows the calls. A response may hold several turns,
because a framework runs tools itself before it answers. This module knows no wire by name: a wire
supplies a `MessageShape` and a `TurnHistory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_message
from toolwire.wires.engine.specs import Block, raise_unexpected, require_object, unread_message
from toolwire.wires.families.blocks.history import PartWriter, record_call


class MessageShape(Struct, frozen=True, eq=False):
    """Reads and writes messages that are a role and a list of parts."""

    wire: str
    content: str
    """The field that holds the parts."""
    spec: Block
    role_from_wire: Mapping[str, Role]
    role_to_wire: Mapping[Role, str]
    read_part: Callable[[JSON, JsonPath], Part]
    default_role: str | None = None
    """The role of a message without a role."""

    def read(self, message: JSON, path: JsonPath) -> Message:
        """Read a message. If its role is unknown, it becomes a single opaque part."""
        if not isinstance(message, dict):
            raise_unexpected(self.wire, path, dict, message)
        name = message.get("role", self.default_role)
        role = self.role_from_wire.get(str(name))
        if role is None:
            return unread_message(self.wire, name, message, path)
        content = message.get(self.content)
        if content is not None and not isinstance(content, list):
            raise_unexpected(self.wire, (*path, self.content), list, content)
        read_part, inside = self.read_part, (*path, self.content)
        parts = tuple([read_part(block, (*inside, i)) for i, block in enumerate(content or ())])
        return Message(role, parts, None, self.wire, source=Source(message, path, self.spec))

    def create(self, role: Role, blocks: list[JSON]) -> Object:
        """A new message."""
        return {"role": self.role_to_wire[role], self.content: blocks}

    def with_blocks(self, raw: JSON, blocks: list[JSON]) -> JSON:
        """A message that was read, with these blocks instead of its own."""
        return {**require_object(raw), self.content: blocks}


class TurnHistory(PartWriter, frozen=True, eq=False, kw_only=True):
    """Writes the messages of a conversation."""

    read_message: Callable[[JSON, JsonPath], Message]
    """Reads a message of this wire again, to find its edited parts."""
    create_message: Callable[[Role, list[JSON]], JSON]
    """Creates a message; the message with the results of a turn has the role `tool`."""
    with_blocks: Callable[[JSON, list[JSON]], JSON]
    """Returns a message of this wire with other blocks."""

    def write(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write all messages; results are collected until their turn is over."""
        out: list[JSON] = []
        turn = _Turn()
        for message in messages:
            patched = patch_message(message, context, self.read_message)
            if not isinstance(patched, UnsetType):
                self._write_results(turn, out, context)
                turn.add_calls(message)
                for part in message.parts:
                    record_call(part, context)
                out.append(patched)
                continue
            if message.role == "assistant":
                self._write_results(turn, out, context)
            turn.add_calls(message)
            native = message.wire == self.name and isinstance(message.raw, dict)
            blocks: list[JSON] = []
            for part in message.parts:
                block = self.write_part(part, message, context)
                if block is None:
                    continue
                if isinstance(part, Result) and message.role != "assistant" and not native:
                    turn.results.append((part.call_id, context.result_id(part), block))
                else:
                    blocks.append(block)
            if native:
                self._write_results(turn, out, context)
                out.append(self.with_blocks(message.raw, blocks))  # type: ignore[arg-type]
            elif blocks:
                self._write_results(turn, out, context)
                role: Role = "user" if message.role == "tool" else message.role
                out.append(self.create_message(role, blocks))
        self._write_results(turn, out, context)
        return out

    def _write_results(self, turn: _Turn, out: list[JSON], context: EncodeContext) -> None:
        """Write the results of a turn as one message.

        If ids are not sent, the results follow the order of their calls, because only order pairs
        them.
        """
        if not turn.results:
            return
        results, turn.results = turn.results, []
        if any(context.hides_id(sent) for _, sent, _ in results):
            positions = {part.id: i for i, part in enumerate(turn.parts) if isinstance(part, Call)}
            results.sort(key=lambda result: positions.get(result[0], len(positions)))
        out.append(self.create_message("tool", [block for _, _, block in results]))

    def split(
        self, message: Message, originals: Sequence[Message], context: EncodeContext
    ) -> list[JSON]:
        """Write a message that `merge_turns` made as the messages from which it was merged.

        An added part goes into the message of the part before it.
        """
        contents: dict[JsonPath, list[JSON]] = {
            original.path: [] for original in originals if original.parts
        }
        target = next(iter(contents), ())
        for part in message.parts:
            if part.path:
                holders = (path for path in contents if part.path[: len(path)] == path)
                target = next(holders, target)
            block = self.write_part(part, message, context)
            if block is not None:
                contents.setdefault(target, []).append(block)
        out: list[JSON] = []
        for original in originals:
            if not original.parts:
                out.append(original.raw)  # type: ignore[arg-type]
            elif blocks := contents[original.path]:
                out.append(self.with_blocks(original.raw, blocks))  # type: ignore[arg-type]
        if () in contents:
            out.append(self.create_message("assistant", contents[()]))
        return out


class _Turn(Struct, eq=False):
    """The calls of a turn and its results so far, which may be in several messages."""

    parts: list[Part] = []
    """The parts of the assistant's messages."""
    assistant_last: bool = False
    """True if the last message was the assistant's: another one belongs to the same turn."""
    results: list[tuple[str, str, JSON]] = []
    """The call id, the id that is sent, and the block of each result."""

    def add_calls(self, message: Message) -> None:
        """Record the calls of an assistant message."""
        same_turn, self.assistant_last = self.assistant_last, message.role == "assistant"
        if self.assistant_last:
            self.parts = [*self.parts, *message.parts] if same_turn else list(message.parts)


def lacks_ids(messages: Iterable[Message]) -> bool:
    """True if a call or result was read without an id: only then does order pair them."""
    return any(
        (isinstance(part, Call) and not part.id) or (isinstance(part, Result) and not part.call_id)
        for message in messages
        for part in message.parts
    )


def merge_turns(messages: tuple[Message, ...], wire: str, *, ordered: bool) -> Message:
    """Merge the turns of a response into one assistant message.

    A call with a result in the response has been run, and the receiver must not run it again, so it
    counts as run by the provider. A result without an id stays paired with its call, because order
    pairs nothing inside one message.
    """
    executed: PartMap[Part, Part] = PartMap()
    for pair in pairs(messages, ordered=ordered):
        if pair.result is None:
            continue
        executed[pair.result] = replace(pair.result, executor="provider")
        if pair.call is not None:
            executed[pair.call] = replace(pair.call, executor="provider")
            executed[pair.result] = replace(executed[pair.result], origin="wire")
    parts = tuple(executed.get(part, part) for message in messages for part in message.parts)
    path = messages[0].path if messages else ()
    return Message("assistant", parts, None, wire, source=Source(path=path))
