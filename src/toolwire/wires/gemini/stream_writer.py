"""Writes a Gemini stream: one chunk for each piece of text and each complete part."""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.parts import Call, Part
from toolwire.streaming.events import Chunk, Finish, StreamError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_parts import Piece
from toolwire.wires.families.contents.parts import text_block
from toolwire.wires.families.contents.stream_writer import ContentWriter
from toolwire.wires.gemini.blocks import PARTS
from toolwire.wires.gemini.bodies import write

_HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class GeminiWriter(ContentWriter):
    """Writes one stream."""

    supports_candidates = True

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.last_written: dict[int, type[Part]] = {}
        """The type of the part that each candidate has written last."""
        self.with_calls: set[int] = set()
        """The candidates that have written calls."""
        self.stops: dict[int, str | None] = {}

    def empty_event(self, stop: str | None = None) -> Object:
        return self.write_empty_body(write, stop)

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        return bool  # no state depends on the text of an open part

    def write_text(self, piece: Piece, text: str, choice: int) -> list[Chunk]:
        part = piece.part
        chunk = self._chunk(text_block(part, text), choice)
        if not piece.fresh:
            return [chunk]
        piece.fresh = False
        separate = self.last_written.get(choice) is type(part) and not piece.more
        self.last_written[choice] = type(part)
        if not separate:
            return [chunk]
        return [self._chunk(text_block(part, ""), choice), chunk]

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        if isinstance(part, Call):
            self.with_calls.add(choice)
        block = PARTS.writers[type(part)](part, self.context)
        if block is None:
            return []
        self.last_written[choice] = type(part)
        return [self._chunk(block, choice)]

    def _chunk(self, block: JSON, choice: int) -> Chunk:
        candidate: Object = {"content": {"role": "model", "parts": [block]}, "index": choice}
        return {**self.head, "candidates": [candidate]}

    def finish(self, event: Finish) -> list[Chunk]:
        self.stops[event.choice] = event.stop
        return []

    def close(self) -> list[Chunk]:
        candidates: list[JSON] = []
        body: Object = {}
        for choice, stop in sorted(self.stops.items()):
            # That the model stopped for a tool is visible in its calls.
            called = stop == "tool" and choice in self.with_calls
            body = self.empty_event("stop" if called else stop)
            candidate = get(body, ("candidates", 0))
            assert isinstance(candidate, dict)
            candidate["index"] = choice
            if choice in self.last_written:
                candidate["content"] = {"role": "model", "parts": [{"text": ""}]}
            candidates.append(candidate)
        return [{**body, "candidates": candidates}]

    def error(self, event: StreamError) -> list[Chunk]:
        status = event.code if event.code in _HTTP_STATUS else "INTERNAL"
        code = _HTTP_STATUS[status]
        return [{"error": {"code": code, "message": event.message, "status": status}}]
