"""The Events of an ADK run as its own runner would give them.

Texts are told at once in partial Events, and calls when they are whole. All parts of a turn are
held, because the completed Event repeats them, and a turn's results until the next turn, because
they stand in one Event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import (
    Chunk,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    TurnStart,
)
from toolwire.wires.adk.events import AGENT, block_of, marked
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_parts import Piece, SequentialEmitter
from toolwire.wires.engine.stream import StreamWriter


class EventWriter(StreamWriter):
    """Writes the Events of one run."""

    results = True

    def __init__(
        self,
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.write = write
        self.head: Object = {}
        self.line = SequentialEmitter()
        self.turned: list[tuple[Part, list[str], JSON]] = []
        """The parts of this turn: each with its texts, or its block."""
        self.answers: list[JSON] = []
        self.sent = False
        self.stop: str | None = None

    def _event(self, stop: str | None = None) -> Object:
        """An Event without parts, as this wire writes its bodies."""
        said = Conversation((Message("assistant", (), stop),), (), self.settings, "", "response")
        made = get(self.write(said, self.context), (0,))
        assert isinstance(made, dict)
        return made

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        self.head = {
            key: value
            for key, value in self._event().items()
            if key not in ("content", "usageMetadata")
        }
        return []

    def turn(self, event: TurnStart) -> list[Chunk]:
        return self._completed() if event.role == "tool" else self._answered()

    def start(self, event: PartStart) -> list[Chunk]:
        self.line.start(event)
        return self._answered()

    def delta(self, event: PartDelta) -> list[Chunk]:
        return self._said(self.line.delta(event))

    def again(self, slot: int) -> Callable[[str], object] | None:
        return self.turned[-1][1].append if self.turned and self.turned[-1][2] is None else None

    def end(self, event: PartEnd) -> list[Chunk]:
        return self._said(self.line.end(event))

    def whole(self, event: PartComplete) -> list[Chunk]:
        if not isinstance(event.part, Result):
            return [*self._answered(), *self._said(self.line.whole(event))]
        out = self._completed()
        block = block_of(event.part, self.context)
        self.answers += [block] if block is not None else []
        return out

    def _said(self, said: Iterator[tuple[Piece, str]]) -> list[Chunk]:
        out: list[Chunk] = []
        for piece, text in said:
            part = piece.part
            if text:
                block: JSON = (
                    {"text": text, "thought": True}
                    if isinstance(part, Reasoning)
                    else {"text": text}
                )
                if (
                    piece.fresh or not self.turned or self.turned[-1][2] is not None
                ):  # a turn may end while a text is open
                    piece.fresh = False
                    self.turned.append((part, [], None))
                self.turned[-1][1].append(text)
            else:
                block = block_of(part, self.context)
                if block is None:
                    continue
                self.turned.append((part, [], block))
            out.append(
                {
                    **self.head,
                    **marked([(part, block)]),
                    "content": {"role": "model", "parts": [block]},
                    "partial": True,
                }
            )
        return out

    def _written(self) -> list[tuple[Part, JSON]]:
        turned, self.turned = self.turned, []
        return [
            (
                part,
                block
                if block is not None
                else block_of(with_text(part, "".join(texts)), self.context),
            )
            for part, texts, block in turned
        ]

    def _completed(self) -> list[Chunk]:
        """The Event that repeats the turn."""
        if not self.turned:
            return []
        self.sent = True
        written = self._written()
        return [
            {
                **self.head,
                **marked(written),
                "content": {"role": "model", "parts": [block for _, block in written]},
            }
        ]

    def _answered(self) -> list[Chunk]:
        """The Event with the results of a turn."""
        if not self.answers:
            return []
        self.sent = True
        answers, self.answers = self.answers, []
        return [{**self.head, "content": {"role": "user", "parts": answers}}]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def close(self) -> list[Chunk]:
        out = self._answered()
        called = self.stop == "tool" and any(isinstance(part, Call) for part, _, _ in self.turned)
        last = self._event("stop" if called else self.stop)
        written = self._written()
        if not written and self.sent:
            return [*out, {key: value for key, value in last.items() if key != "content"}]
        return [
            *out,
            {
                **last,
                **marked(written),
                "content": {"role": "model", "parts": [block for _, block in written]},
            },
        ]

    def fault(self, event: StreamError) -> list[Chunk]:
        failed: Chunk = {
            **self.head,
            "author": AGENT,
            "errorCode": event.code or "ERROR",
            "errorMessage": event.message,
        }
        return [*self._answered(), failed, {"error": event.message}]
