"""The exchange shape: calls and results are messages of their own, as a tool protocol sends them,
and a log holds many.

A call that is made while an earlier one is still waiting belongs to the same turn, so other wires
see parallel calls as such. Each kind keeps its order: calls among calls, results among results.
Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import patch_parts


def turns(parts: Iterable[Part], wire: str) -> tuple[Message, ...]:
    """The messages of a log: the calls of each turn together, then what came back."""
    log = list(parts)
    until = _answered(log)
    out: list[Message] = []
    turn = _Turn()
    for i, part in enumerate(log):
        if isinstance(part, Call):
            if not turn.takes(part, i):
                out += turn.messages(wire)
                turn = _Turn()
            turn.calls.append(part)
            turn.until = max(turn.until, until.get(i, -1))
        else:
            turn.rest.append(part)
            turn.answered |= isinstance(part, Result)
    return (*out, *turn.messages(wire))


def _answered(log: list[Part]) -> dict[int, int]:
    """Where in a log each call that has an id is answered; an id that comes again names the newer
    call."""
    asked: dict[str, int] = {}
    until: dict[int, int] = {}
    for i, part in enumerate(log):
        if isinstance(part, Call) and part.id:
            asked[part.id] = i
        elif isinstance(part, Result) and part.call_id in asked:
            until[asked.pop(part.call_id)] = i
    return until


class _Turn:
    """Calls that were open at the same time, and what came after the first of them."""

    __slots__ = ("answered", "calls", "rest", "until")

    def __init__(self) -> None:
        self.calls: list[Part] = []
        self.rest: list[Part] = []
        self.answered = False
        self.until = -1

    def takes(self, call: Call, i: int) -> bool:
        """Whether a call belongs here: nothing has come back yet, or something is still
        waited for.
        """
        if not self.calls:
            return not self.rest
        again = any(
            isinstance(other, Call) and other.id == call.id for other in self.calls if call.id
        )
        return not again and (not self.answered or self.until > i)

    def messages(self, wire: str) -> list[Message]:
        out = [_message("assistant", self.calls, wire)] if self.calls else []
        if self.rest:
            out.append(_message("tool" if self.answered else "user", self.rest, wire))
        return out


def _message(role: Role, parts: list[Part], wire: str) -> Message:
    """A message has no JSON of its own here; it stands where its only part does."""
    return Message(
        role, tuple(parts), None, wire, source=Source(path=parts[0].path if len(parts) == 1 else ())
    )


def unchanged(
    conversation: Conversation, context: EncodeContext, before: Conversation
) -> JSON | UnsetType:
    """The body that was read, with the edits of single parts; UNSET if more than that was
    changed.
    """
    if not conversation.same_tools or conversation.settings != conversation.source.settings:
        return UNSET
    return patch_parts(conversation.parts(), before.parts(), conversation.source.body, (), context)


def rewrite(
    conversation: Conversation,
    context: EncodeContext,
    source: list[JSON],
    before: Conversation | None,
    write: Callable[[Part, bool], JSON],
) -> list[JSON]:
    """A log after parts came or went, or one made of another wire's conversation, which has no
    `before`.

    An entry whose parts are all still there goes as it came, with their edits; entries that never
    held a part stay where they were. `write` gives the entry of a single part, and is told whether
    the part is this wire's own.
    """
    was: dict[int, list[Part]] = {}
    for part in before.parts() if before is not None else ():
        was.setdefault(_entry(part), []).append(part)
    now: dict[int, list[Part]] = {}
    said = _in_order(conversation, context.wire, len(source))
    for place, part, own in said:
        if own and place in was:
            now.setdefault(place, []).append(part)
    silent = [i for i in range(len(source)) if i not in was]
    out: list[JSON] = []
    done: set[int] = set()
    for place, part, own in said:
        while silent and own and silent[0] < place:
            out.append(source[silent.pop(0)])
        if own and place in done:
            continue
        whole = (
            patch_parts(now[place], was[place], source[place], (place,), context)
            if own and place in was
            else UNSET
        )
        if isinstance(whole, UnsetType):
            out.append(write(part, own))
        else:
            out.append(whole)
            done.add(place)
    return [entry for entry in (*out, *(source[i] for i in silent)) if entry is not None]


def _entry(part: Part) -> int:
    return part.path[0] if part.path and isinstance(part.path[0], int) else -1


def _in_order(conversation: Conversation, wire: str, length: int) -> list[tuple[int, Part, bool]]:
    """Every part with the entry it stood in, in the order of the log; a new part stays behind the
    one before it."""
    said: list[tuple[int, Part, bool]] = []
    last = -1
    for message in conversation.messages:
        for part in message.parts:
            own = message.wire == wire and 0 <= _entry(part) < length
            last = _entry(part) if own else last
            said.append((last, part, message.wire == wire))
    kinds = (
        [place for place, part, _ in said if isinstance(part, kind)] for kind in (Call, Result)
    )
    return (
        sorted(said, key=lambda one: one[0])
        if all(places == sorted(places) for places in kinds)
        else said
    )


def lose_rest(
    conversation: Conversation, context: EncodeContext, spoken: Iterable[Part], why: str
) -> None:
    """Report every part that is none of those that are said."""
    said = {id(part) for part in spoken}
    for part in conversation.parts():
        if id(part) not in said:
            context.report_loss(part, why)


def lose_settings(conversation: Conversation, context: EncodeContext) -> None:
    """Report all settings, and what only another wire understood."""
    before = (
        conversation.source.settings
        if conversation.wire == context.wire and conversation.source.messages is not None
        else {}
    )
    for name, value in conversation.settings.items():
        if not isinstance(before, dict) or before.get(name, UNSET) != value:
            context.report_loss(
                conversation.source.setting_paths.get(name, (name,)),
                f"a tool protocol has no such setting: {name}",
            )
    if conversation.wire == context.wire:
        return
    for path in conversation.source.unknown_fields:
        context.report_loss(path, "no such field on this wire")
    for message in conversation.messages:
        if message.stop is not None:
            context.report_loss(message, "a tool protocol does not say why a model stopped")
