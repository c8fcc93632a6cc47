"""The events of a Cohere chat stream, version 2: writing them, and how the wire streams in both
directions.

Nothing is held back but texts that are still empty, which the wire does not take. Knows not how
bodies are made: the wire brings its `Tables`.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from toolwire.conversation.json import Object, put
from toolwire.conversation.parts import Call, Message, Part
from toolwire.streaming.events import (
    Chunk,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.wires.cohere.stream_reader import CohereReader, Tables
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import DONE, StreamSpec, StreamWriter, named_sse

_EMPTY: Object = {"content": [], "tool_plan": "", "tool_calls": [], "citations": []}


class CohereWriter(StreamWriter):
    def __init__(self, tables: Tables, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.tables = tables
        self.places: dict[int, tuple[str, int, str]] = {}
        """Open blocks: which field of the message, the index there, and the field the text goes to.
        """
        self.held: dict[int, Part] = {}
        """Parts that were opened and have nothing in them yet: words are held back, arguments that
        never come are `{}`."""
        self.counts = {"content": 0, "tool-call": 0}
        self.stop: str | None = None

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        given = self.envelope(self.tables.write)
        return [
            {
                "type": "message-start",
                "id": given["id"],
                "delta": {"message": {"role": "assistant", **_EMPTY}},
            }
        ]

    def start(self, event: PartStart) -> list[Chunk]:
        self.held[event.slot] = event.part
        return self._opened(event.slot, event.part) if isinstance(event.part, Call) else []

    def _opened(self, slot: int, part: Part) -> list[Chunk]:
        """The opening of a part, as the wire writes it in a body, without its text."""
        said = self.tables.said(Message("assistant", (part,)), self.context)
        field, name = (
            ("tool_calls", "tool-call") if isinstance(part, Call) else ("content", "content")
        )
        blocks = said.get(field)
        block = blocks[0] if isinstance(blocks, list) and blocks else None
        if not isinstance(block, dict):
            return []
        spec = self.tables.rows[field][str(block["type"])]
        path = tuple(next(iter(spec.deltas.values()))[1].split("."))
        index = self.counts[name]
        self.counts[name] += 1
        self.places[slot] = (name, index, path[-1])
        return [
            {
                "type": f"{name}-start",
                "index": index,
                "delta": {"message": {field: put(block, path, "")}},
            }
        ]

    def delta(self, event: PartDelta) -> list[Chunk]:
        out: list[Chunk] = []
        if event.slot in self.held:
            part = self.held.pop(event.slot)
            if not isinstance(part, Call):
                out = self._opened(event.slot, replace(part, text=event.text))
        place = self.places.get(event.slot)
        if place is not None:
            name, index, field = place
            grown: Object = (
                {"tool_calls": {"function": {field: event.text}}}
                if name == "tool-call"
                else {name: {field: event.text}}
            )
            out.append({"type": f"{name}-delta", "index": index, "delta": {"message": grown}})
        return out

    def end(self, event: PartEnd) -> list[Chunk]:
        self.kept(event)
        held = self.held.get(event.slot)
        out = (
            self.delta(PartDelta(event.slot, "{}"))
            if isinstance(held, Call) and not event.cut
            else []
        )
        if self.held.pop(event.slot, None) is not None and not isinstance(held, Call):
            self.whole(PartComplete(held))  # type: ignore[arg-type]
        place = self.places.pop(event.slot, None)
        return out if place is None else [*out, {"type": f"{place[0]}-end", "index": place[1]}]

    def whole(self, event: PartComplete) -> list[Chunk]:
        self.tables.said(Message("assistant", (event.part,)), self.context)  # it says what is lost
        return []

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def close(self) -> list[Chunk]:
        body = self.envelope(self.tables.write, self.stop)
        return [
            {
                "type": "message-end",
                "delta": {
                    key: value for key, value in body.items() if key not in ("id", "message")
                },
            }
        ]

    def fault(self, event: StreamError) -> list[Chunk]:
        return [
            {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": event.message}}
        ]


def stream(tables: Tables) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    return StreamSpec(partial(CohereReader, tables), partial(CohereWriter, tables), named_sse, DONE)
