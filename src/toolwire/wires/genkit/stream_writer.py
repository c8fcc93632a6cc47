"""Genkit's chunks, written: what is new as it comes, and at the end the whole response.

A call is sent whole, since its input is a value. The message is kept, for the last event has all of
it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Result, Role
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
from toolwire.wires.engine.buffered_parts import PartBuffer
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import StreamWriter


class ChunkWriter(StreamWriter):
    """Writes the events of HTTP flows: `{"message": chunk}`, then `{"result": response}`."""

    results = True

    def __init__(
        self,
        foreign: Mapping[type[Part], Callable[..., JSON]],
        write: Callable[[Conversation, EncodeContext], JSON],
        roles: Mapping[Role, str],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.foreign = foreign
        self.write = write
        self.roles = roles
        self.role: Role = "assistant"
        self.index = 0
        self.earlier: list[JSON] = []
        self.content: list[JSON] = []
        self.calls = PartBuffer()
        self.opened: dict[int, Part] = {}
        """Texts and reasoning that have nothing in them yet."""
        self.growing: dict[int, tuple[Object, str, list[str]]] = {}
        self.parted = False
        """Whether the newest chunk has an empty piece in front."""
        self.last: str | None = None
        """The field of the newest part, if what comes next could be taken for more of it."""
        self.stop: str | None = None

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        self.context.seed = ""  # a response has no id here: whoever reads it makes ids without one
        return []

    def _chunk(self, *content: JSON) -> Chunk:
        return {
            "message": {
                "role": self.roles[self.role],
                "index": self.index,
                "content": list(content),
            }
        }

    def _turned(self, role: Role) -> None:
        """The next message begins where a result follows what was said, or the other way round;
        nowhere else."""
        if role == self.role:
            return
        self.earlier.append({"role": self.roles[self.role], "content": self.content})
        self.role = role
        self.index += 1
        self.content = []
        self.last = None

    def start(self, event: PartStart) -> list[Chunk]:
        if isinstance(event.part, Call):
            self.calls.start(event)
        else:
            self.opened[event.slot] = event.part
        return []

    def delta(self, event: PartDelta) -> list[Chunk]:
        slot, text = event.slot, event.text
        grows = self.growing.get(slot)
        if grows is not None:
            self.parted = False
            self._turned("assistant")
            grows[2].append(text)
            return [self._chunk({grows[1]: text})]
        if slot in self.calls:
            self.calls.delta(event)
            return []
        part = self.opened.pop(slot, None)
        out = self._said(replace(part, text=text)) if part is not None else []
        held = self.content[-1] if out else None
        if isinstance(held, dict) and self.last is not None:
            self.growing[slot] = (held, self.last, [text])
        return out

    def again(self, slot: int) -> Callable[[str], object] | None:
        grows = self.growing.get(slot)
        return None if grows is None or self.parted else grows[2].append

    def end(self, event: PartEnd) -> list[Chunk]:
        self.opened.pop(event.slot, None)
        grows = self.growing.pop(event.slot, None)
        if grows is not None:
            held, field, pieces = grows
            held[field] = "".join(pieces)
        whole = self.calls.end(event) if event.slot in self.calls else []
        return [chunk for call in whole for chunk in self._said(call)]

    def whole(self, event: PartComplete) -> list[Chunk]:
        return self._said(event.part)

    def _said(self, part: Part) -> list[Chunk]:
        block = self.foreign[type(part)](part, self.context)
        if not isinstance(block, dict):
            return []
        self._turned("tool" if isinstance(part, Result) else "assistant")
        field = next(iter(block))
        before, self.last = self.last, field if field in ("text", "reasoning") else None
        self.content.append(block)
        self.parted = before == field
        return [self._chunk({field: ""}, dict(block)) if self.parted else self._chunk(dict(block))]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = "stop" if event.stop == "tool" else event.stop
        return []

    def close(self) -> list[Chunk]:
        body = self.envelope(self.write, self.stop)
        self._turned("assistant")
        body["message"] = {"role": self.roles[self.role], "content": self.content}
        earlier: Object = {"request": {"messages": self.earlier}} if self.earlier else {}
        return [{"result": {**body, **earlier}}]

    def fault(self, event: StreamError) -> list[Chunk]:
        status = event.code if event.code is not None and event.code.isupper() else "INTERNAL"
        return [{"error": {"status": status, "message": event.message}}]
