"""What a stream sent of a message, to compare it with the message that repeats it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UnsetType

from toolwire.conversation.json import text_of
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Text
from toolwire.wires.engine.text_digest import TextDigest
from toolwire.wires.genkit.tool_requests import ToolRequest


class MessageDigest:
    """The digests of the texts and of the other parts of a message; of calls, the reader keeps the
    requests."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[type[Part], TextDigest] = {
            kind: TextDigest() for kind in (Text, Reasoning, Media)
        }

    def add(self, part: Part) -> None:
        """Add a part, or a piece of one."""
        if not isinstance(part, Call):
            self._by_type[_type_of(part)].append(_content_of(part))

    def append(self, kind: type[Part], text: str) -> None:
        """Add a piece of text to the last part of a type."""
        self._by_type[kind].append(text)

    def changed_types(self, parts: Iterable[Part]) -> list[type[Part]]:
        """The types of which a repeated message has other texts or parts than were sent."""
        texts = dict.fromkeys(self._by_type, "")
        for part in parts:
            if not isinstance(part, Call):
                texts[_type_of(part)] += _content_of(part)
        return [
            kind for kind, digest in self._by_type.items() if not digest.is_start_of(texts[kind])
        ]

    def is_changed_by(self, parts: Iterable[Part], requests: Iterable[ToolRequest]) -> bool:
        """True if a repeated message has another text, or other parts or calls, than were sent."""
        parts = list(parts)
        if self.changed_types(parts):
            return True
        calls = [part for part in parts if isinstance(part, Call)]
        return any(not request.take_from(calls) for request in requests)


def _type_of(part: Part) -> type[Part]:
    """The type under which a part is compared; media stand for all that is no text."""
    return type(part) if isinstance(part, Text | Reasoning) else Media


def _content_of(part: Part) -> str:
    """What is compared of a part: its text, or its JSON."""
    if isinstance(part, Text | Reasoning):
        return part.text
    return "" if isinstance(part.raw, UnsetType) else text_of(part.raw)
