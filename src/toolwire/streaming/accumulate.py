"""Join events into parts, and split a conversation into events.

`Accumulator` joins the events of a part into the part, for wires and callers that need it complete.
`conversation_events` returns the events of a complete answer. Knows no wire.
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
"""Settings that are known only at the end of an answer."""

UNFINISHED = " "
"""The arguments of a call that was cut off before its first delta. It is not valid JSON: an empty
text would mean that the call has no arguments."""


def with_text(part: Part, text: str, signature: str | None = None) -> Part:
    """An open part with its complete text, and with the signature if one arrived at its end."""
    if isinstance(part, Call):
        return replace(part, args=LazyJson(text), signature=signature or part.signature)
    if isinstance(part, Text | Reasoning):
        return replace(part, text=text, signature=signature or part.signature)
    return part


def without_text(part: Part) -> Part:
    """A complete part in its initial state, without text and signature."""
    return with_text(part if part.signature is None else replace(part, signature=None), "")


def text_to_stream(part: Part) -> str | None:
    """The text that a part streams in deltas; None if the part always arrives complete."""
    if isinstance(part, Call):
        return part.args.text
    if isinstance(part, Text) or (isinstance(part, Reasoning) and part.hidden is None):
        return part.text
    return None


def complete_part(part: Part, texts: list[str], event: PartEnd) -> Part:
    """The part that started as `part`, got `texts` as deltas and ends with `event`."""
    text = event.whole if event.whole is not None else "".join(texts)
    if event.cut and not text and isinstance(part, Call):
        text = UNFINISHED
    return with_text(part, text, event.signature)


class Accumulator:
    """Collects the deltas of open parts."""

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
        """Add text to an open part."""
        self._open[event.slot][1].append(event.text)

    def end(self, event: PartEnd) -> Part:
        """Close a part and return it complete."""
        part, texts = self._open.pop(event.slot)
        return complete_part(part, texts, event)


def conversation_events(conversation: Conversation) -> Iterator[Event]:
    """The events of a response, with one delta for each text.

    Several assistant messages are candidates. If messages of another role stand among them, the
    messages are turns of one answer.
    """
    settings = conversation.settings
    yield MessageStart({key: value for key, value in settings.items() if key not in LATE})
    slot = 0
    answers = [message for message in conversation.messages if message.role == "assistant"]
    turns = len(answers) != len(conversation.messages)
    for index, message in enumerate(conversation.messages):
        if turns and index:
            yield TurnStart(message.role)
        choice = 0 if turns else index
        for part in message.parts:
            text = text_to_stream(part)
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
    if turns:
        if answers:
            yield Finish(answers[-1].stop)
        return
    for index, message in enumerate(answers):
        yield Finish(message.stop, index)
