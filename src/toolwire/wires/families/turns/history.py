"""The turn shape: every message is an object of its own, and a turn's results stand together in one
after the calls.

Frameworks keep their logs so. A response may hold several turns, since a framework runs tools
itself before it answers. Knows no wire by name; a `Turns` holds a wire's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import patch_block, patch_message


class TurnHistory(Struct, frozen=True, eq=False):
    """How one wire of this shape writes a history."""

    name: str
    read: Callable[[JSON, JsonPath], Message]
    """Reads a message of its own again, to see what was edited."""
    foreign: Mapping[type[Part], Callable[..., JSON]]
    """How a part of another wire is written; None if it cannot stand here."""
    message: Callable[[Role, list[JSON]], JSON]
    """A new message; that of a turn's results has the role `tool`."""
    hold: Callable[[JSON, list[JSON]], JSON]
    """A message of its own with other blocks in it."""

    def write(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """The whole history."""
        out: list[JSON] = []
        turn = _Turn()
        for message in messages:
            kept = patch_message(message, context, self.read)
            if not isinstance(kept, UnsetType):
                turn.close(self, out, context)
                turn.hear(message)
                for part in message.parts:
                    if isinstance(part, Call):
                        context.called_names[part.id] = part.name
                        context.ordinal += 1
                out.append(kept)
                continue
            if message.role == "assistant":
                turn.close(self, out, context)
            turn.hear(message)
            mine = message.wire == self.name and isinstance(message.raw, dict)
            blocks: list[JSON] = []
            for part in message.parts:
                block = self.block(part, message, context)
                if block is None:
                    continue
                if isinstance(part, Result) and message.role != "assistant" and not mine:
                    turn.results.append((part.call_id, context.result_id(part), block))
                else:
                    blocks.append(block)
            if mine:
                turn.close(self, out, context)
                out.append(self.hold(message.raw, blocks))  # type: ignore[arg-type]
            elif blocks:
                turn.close(self, out, context)
                out.append(self.message("user" if message.role == "tool" else message.role, blocks))
        turn.close(self, out, context)
        return out

    def block(self, part: Part, message: Message, context: EncodeContext) -> JSON:
        """A part as it goes out: one of this wire's own as it came, with its edit; None if it
        cannot stand here."""
        if message.wire == self.name and not isinstance(part.raw, UnsetType):
            kept = patch_block(part, context, part.raw)
            if not isinstance(kept, UnsetType):
                return kept
        return self.foreign[type(part)](part, context)

    def spread(
        self, message: Message, before: Sequence[Message], context: EncodeContext
    ) -> list[JSON]:
        """A message that was merged from several, as these again: a new part stands where the part
        before it does."""
        held: dict[JsonPath, list[JSON]] = {one.path: [] for one in before}
        where = before[0].path if before else ()
        for part in message.parts:
            where = (
                next((path for path in held if part.path[: len(path)] == path), where)
                if part.path
                else where
            )
            block = self.block(part, message, context)
            if block is not None:
                held.setdefault(where, []).append(block)
        out: list[JSON] = []
        for one in before:
            if held[one.path] or not one.parts:
                out.append(self.hold(one.raw, held[one.path]) if one.parts else one.raw)  # type: ignore[arg-type]
        return out or [self.message("assistant", held.get((), []))]


class _Turn:
    """The calls of a turn, and its results so far, which may come in several messages."""

    __slots__ = ("asked", "asking", "results")

    def __init__(self) -> None:
        self.asked: list[Part] = []
        self.asking = False
        """Whether the assistant spoke last: its next message belongs to the same turn."""
        self.results: list[tuple[str, str, JSON]] = []
        """Each with the id of its call, the one that is sent, and its block."""

    def hear(self, message: Message) -> None:
        """Keep in mind what is asked, also in several messages that follow one another."""
        asking, self.asking = self.asking, message.role == "assistant"
        if self.asking:
            self.asked = self.asked if asking else []
            self.asked += message.parts

    def close(self, turns: TurnHistory, out: list[JSON], context: EncodeContext) -> None:
        """Write the results out: in the order of their calls where that is all that tells them
        apart."""
        results, self.results = self.results, []
        if any(context.hides_id(sent) for _, sent, _ in results):
            places = {part.id: i for i, part in enumerate(self.asked) if isinstance(part, Call)}
            results.sort(key=lambda one: places.get(one[0], len(places)))
        if results:
            out.append(turns.message("tool", [block for _, _, block in results]))


def bare(messages: Iterable[Message]) -> bool:
    """Whether a call or a result came without an id: only then does order count, since an id that
    nobody has names nobody."""
    parts = [part for message in messages for part in message.parts]
    return any(
        (isinstance(one, Call) and not one.id) or (isinstance(one, Result) and not one.call_id)
        for one in parts
    )


def merged(messages: tuple[Message, ...], name: str, *, ordered: bool) -> Message:
    """The turns of a response as the one message that an answer is.

    Calls that are answered within it were run already, and whoever gets the answer must not run
    them again: they count as the provider's. Results without an id keep the call they were given,
    since in one message their order says nothing more.
    """
    done: dict[int, Part] = {}
    for pair in pairs(messages, ordered=ordered):
        if pair.call is not None and pair.result is not None:
            done[id(pair.call)] = replace(pair.call, executor="provider")
            done[id(pair.result)] = replace(pair.result, executor="provider", origin="wire")
        elif pair.result is not None:
            done[id(pair.result)] = replace(pair.result, executor="provider")
    parts = tuple(done.get(id(part), part) for message in messages for part in message.parts)
    return Message(
        "assistant",
        parts,
        None,
        name,
        source=Source(raw=UNSET, path=messages[0].path if messages else ()),
    )
