"""Events to parts, and a conversation to events.

`Gather` turns the events of one part into the part, for those who can use it only whole; `unfold`
says an answer as the events in which it might have come. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning, Text
from toolwire.streaming.events import (
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    TurnStart,
)

LATE = frozenset({"usage"})
"""Settings that are known only when an answer is over."""


UNFINISHED = " "
"""The arguments of a call that was cut off before any came: no text at all would say that it takes
none."""


def with_text(part: Part, text: str, signature: str | None = None) -> Part:
    """An open part with all of its text."""
    match part:
        case Text():
            return replace(part, text=text, signature=signature or part.signature)
        case Reasoning():
            return replace(part, text=text, signature=signature or part.signature)
        case Call():
            return replace(part, args=LazyJson(text), signature=signature or part.signature)
    return part


class Accumulator:
    """Parts that are still growing."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[int, tuple[Part, list[str]]] = {}

    def __contains__(self, slot: int) -> bool:
        return slot in self._open

    def __len__(self) -> int:
        return len(self._open)

    def start(self, event: PartStart) -> None:
        """Open a part."""
        self._open[event.slot] = (event.part, [])

    def delta(self, event: PartDelta) -> None:
        """Let it grow."""
        self._open[event.slot][1].append(event.text)

    def end(self, event: PartEnd) -> Part:
        """Close it: the whole part."""
        part, texts = self._open.pop(event.slot)
        text = event.whole if event.whole is not None else "".join(texts)
        if event.cut and not text and isinstance(part, Call):
            text = UNFINISHED
        return with_text(part, text, event.signature)


def streamed_text(part: Part) -> str | None:
    """The text of a part that can be streamed; None for one that comes whole or not at all."""
    match part:
        case Text(text=text):
            return text
        case Reasoning(text=text, hidden=None):
            return text
        case Call(args=args):
            return args.text
    return None


def without_text(part: Part) -> Part:
    """A part as it is when it opens."""
    return with_text(replace(part, signature=None), "")


def conversation_events(conversation: Conversation) -> Iterator[Event]:
    """The answer of a response as events, each part in one piece."""
    settings = conversation.settings
    yield MessageStart({key: value for key, value in settings.items() if key not in LATE})
    slot = 0
    answers = [message for message in conversation.messages if message.role == "assistant"]
    several = len(answers) != len(conversation.messages)
    for n, message in enumerate(conversation.messages):
        if several and n:
            yield TurnStart(message.role)
        choice = 0 if several else n
        for part in message.parts:
            text = streamed_text(part)
            if text is None:
                yield PartComplete(part, choice)
                continue
            yield PartStart(slot, without_text(part), choice)
            if text:
                yield PartDelta(slot, text)
            yield PartEnd(slot, signature=part.signature)
            slot += 1
    if any(key in LATE for key in settings):
        yield Metadata({key: value for key, value in settings.items() if key in LATE})
    for n, message in enumerate(answers):
        if not several or message is answers[-1]:
            yield Finish(message.stop, 0 if several else n)
