"""The chat shape in chunks: writing them.

Nothing is held back, but for wires whose calls go out whole. Knows no wire by name; a `Chat` and a
`Speech` hold its tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Text
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
from toolwire.wires.engine.stream import DONE, StreamSpec, StreamWriter, data_sse
from toolwire.wires.families.chat.merge import TEXTS
from toolwire.wires.families.chat.messages import ONE_THOUGHT, Chat
from toolwire.wires.families.chat.stream_reader import ChatReader, Speech


class ChatWriter(StreamWriter):
    """Writes chunks; nothing is held back."""

    many = True

    def __init__(
        self, chat: Chat, speech: Speech, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(context, version)
        self.customs = "custom" in chat.calls
        self.chat = chat
        self.speech = speech
        self.frame: Object = {}
        self.fields: dict[int, tuple[int, str]] = {}
        """Open texts: their candidate and what they are."""
        self.places: dict[int, tuple[int, int, str]] = {}
        """Open calls: their candidate, index and family."""
        self.empty: set[int] = set()
        """Calls without any argument text yet."""
        self.counts: dict[int, int] = {}
        self.waiting: dict[int, PartBuffer] = {}
        """Calls that go out whole, in the order in which they began."""
        self.sent: dict[int, int] = {}
        self.thought: set[int] = set()
        self.spoke: set[int] = set()

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.envelope(self.speech.write)
        self.frame = {key: value for key, value in body.items() if key not in ("choices", "usage")}
        self.frame["object"] = f"{body.get('object', 'chat.completion')}.chunk"
        return [
            self._chunk(
                0, {"role": "assistant", "content": None if self.speech.silent is None else ""}
            )
        ]

    def _chunk(self, choice: int, delta: JSON, reason: JSON = None) -> Chunk:
        return {
            **self.frame,
            "choices": [{"index": choice, "delta": delta, "finish_reason": reason}],
        }

    def start(self, event: PartStart) -> list[Chunk]:
        part, choice = event.part, event.choice
        opened = (
            []
            if choice == 0 or choice in self.counts
            else [self._chunk(choice, {"role": "assistant"})]
        )
        index = self.counts.setdefault(choice, 0)
        if not isinstance(part, Call):
            kind = (
                "thought"
                if isinstance(part, Reasoning)
                else "refusal"
                if isinstance(part, Text) and part.refusal
                else "text"
            )
            if kind == "refusal" and not self.speech.refuses:
                self.context.report_loss(part, "a refusal is sent as plain text")
                kind = "text"
            if kind == "thought" and not event.more:
                if choice in self.thought:
                    self.context.report_loss(part, ONE_THOUGHT)
                self.thought.add(choice)
            self.fields[event.slot] = (choice, kind)
            return opened
        self.counts[choice] = index + 1
        spec = self.chat.calls.get(part.family, self.chat.calls["function"])
        assert spec.write is not None
        block = spec.write(part, self.context)
        assert isinstance(block, dict)
        inner = block[spec.name]
        assert isinstance(inner, dict)
        self.places[event.slot] = (choice, index, spec.name)
        self.spoke.add(choice)
        if self.speech.whole:
            self.waiting.setdefault(choice, PartBuffer()).start(event)
            return opened
        self.empty.add(event.slot)
        entry: Object = {"index": index, **block, spec.name: {**inner, TEXTS[spec.name]: ""}}
        return [*opened, self._chunk(choice, {"tool_calls": [entry]})]

    def delta(self, event: PartDelta) -> list[Chunk]:
        place = self.places.get(event.slot)
        if place is not None:
            choice, index, family = place
            if self.speech.whole:
                self.waiting[choice].delta(event)
                return []
            self.empty.discard(event.slot)
            return [
                self._chunk(
                    choice, {"tool_calls": [{"index": index, family: {TEXTS[family]: event.text}}]}
                )
            ]
        choice, kind = self.fields[event.slot]
        self.spoke.add(choice)
        if kind == "thought":
            return [self._chunk(choice, self.speech.thinks(event.text))]
        return [self._chunk(choice, {"content" if kind == "text" else "refusal": event.text})]

    def again(self, slot: int) -> Callable[[str], object] | None:
        return (
            None if self.speech.whole and slot in self.places else bool
        )  # nothing is kept of a text

    def end(self, event: PartEnd) -> list[Chunk]:
        place = self.places.pop(event.slot, None)
        self.fields.pop(event.slot, None)
        if place is None:
            return []
        if self.speech.whole:
            return [self._call(place[0], part) for part in self.waiting[place[0]].end(event)]
        self.kept(event)
        choice, index, family = place
        if event.slot not in self.empty:
            return []
        self.empty.discard(event.slot)
        nothing: Object = {"index": index, family: {TEXTS[family]: "{}"}}
        return (
            []
            if event.cut or family != "function"
            else [self._chunk(choice, {"tool_calls": [nothing]})]
        )

    def _call(self, choice: int, part: Part) -> Chunk:
        """A whole call."""
        write = self.chat.calls["function"].write
        assert write is not None
        block = write(part, self.context)
        assert isinstance(block, dict)
        self.sent[choice] = index = self.sent.get(choice, -1) + 1
        return self._chunk(choice, {"tool_calls": [{**block, "index": index}]})

    def whole(self, event: PartComplete) -> list[Chunk]:
        """What comes whole cannot stand in an answer; the writer of bodies says why."""
        self.chat.write_assistant(Message("assistant", (event.part,)), self.context)
        return []

    def finish(self, event: Finish) -> list[Chunk]:
        choices = self.envelope(self.speech.write, event.stop)["choices"]
        said = choices[0] if isinstance(choices, list) else None
        reason = said.get("finish_reason") if isinstance(said, dict) else None
        delta: Object = (
            {} if event.choice in self.spoke or self.speech.silent == "" else {"content": ""}
        )
        return [self._chunk(event.choice, delta, reason)]

    def close(self) -> list[Chunk]:
        body = self.envelope(self.speech.write)
        return (
            [{**self.frame, "choices": [], "usage": body["usage"]}]
            if body.get("usage") is not None
            else []
        )

    def fault(self, event: StreamError) -> list[Chunk]:
        return [
            {
                "error": {
                    "message": event.message,
                    "type": event.code or "server_error",
                    "code": None,
                }
            }
        ]


def stream(chat: Chat, speech: Speech) -> StreamSpec:
    """How a wire of this shape streams."""
    return StreamSpec(
        partial(ChatReader, chat, speech), partial(ChatWriter, chat, speech), data_sse, DONE
    )
