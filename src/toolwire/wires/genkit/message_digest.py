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

    def is_changed_by(self, parts: Iterable[Part], requests: Iterable[ToolRequest]) -> bool:
        """True if a repeated message has another text, or other parts or calls, than were sent."""
        texts = dict.fromkeys(self._by_type, "")
        calls: list[Call] = []
        for part in parts:
            if isinstance(part, Call):
                calls.append(part)
            else:
                texts[_type_of(part)] += _content_of(part)
        if not all(digest.is_start_of(texts[kind]) for kind, digest in self._by_type.items()):
            return True
        return any(not request.take_from(calls) for request in requests)


def _type_of(part: Part) -> type[Part]:
    """The type under which a part is compared; media stand for all that is no text."""
    return type(part) if isinstance(part, Text | Reasoning) else Media


def _content_of(part: Part) -> str:
    """What is compared of a part: its text, or its JSON."""
    if isinstance(part, Text | Reasoning):
        return part.text
    return "" if isinstance(part.raw, UnsetType) else text_of(part.raw)
