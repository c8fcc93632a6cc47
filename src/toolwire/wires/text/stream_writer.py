"""Write the chunks of a chat server whose text holds calls in tags.

A call is held back until it is complete, because its arguments are one JSON object in the text.
Blank texts are held back until it is known whether they are next to a call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolwire.conversation.parts import Call, Reasoning, Text
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
from toolwire.wires.engine.stream import DONE, StreamSpec, data_sse
from toolwire.wires.families.chat.stream_parts import ChatStreamSpec
from toolwire.wires.families.chat.stream_writer import ChatWriter
from toolwire.wires.text.assistant_text import AssistantText
from toolwire.wires.text.blocks import TAGS_IN_TEXT
from toolwire.wires.text.bodies import BODIES
from toolwire.wires.text.messages import write_new_call
from toolwire.wires.text.scanner import Scanner
from toolwire.wires.text.stream_reader import TextStreamReader


class _CandidateWriter:
    """The text and the calls of one candidate."""

    __slots__ = ("calls", "has_calls", "index", "text")

    def __init__(self, index: int, context: EncodeContext) -> None:
        self.index = index
        self.text = AssistantText(context)
        self.calls = PartBuffer()
        self.has_calls = False


class _OpenText:
    """A text part that is being written."""

    __slots__ = ("_has_tags", "_scanner", "blank", "candidate", "part")

    def __init__(self, candidate: _CandidateWriter, part: Text, blank: str | None) -> None:
        self.candidate = candidate
        self.part = part
        self.blank = blank
        """The text so far while it is blank; None after other text was written."""
        self._scanner = Scanner()
        self._has_tags = False

    def scan(self, text: str) -> None:
        """Look for tags in more of the text."""
        spans = self._scanner.feed(text)
        self._has_tags = self._has_tags or any(span.calls is not None for span in spans)

    def has_tags(self) -> bool:
        """True if the complete text would be read as calls."""
        return self._has_tags or any(span.calls is not None for span in self._scanner.end())


class TextStreamWriter(ChatWriter):
    """Writes one stream of this wire."""

    supports_custom_calls = False

    def __init__(
        self, spec: ChatStreamSpec, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(spec, context, version)
        self.candidates: dict[int, _CandidateWriter] = {}
        self.texts: dict[int, _OpenText] = {}
        """Open text parts by slot."""
        self.callers: dict[int, _CandidateWriter] = {}
        """The candidate of each open call by slot."""

    def begin(self, event: MessageStart) -> list[Chunk]:
        out = super().begin(event)
        self.frame.pop("object", None)  # bodies of this wire have no such field
        for chunk in out:
            chunk.pop("object", None)
        return out

    def _candidate(self, index: int) -> _CandidateWriter:
        candidate = self.candidates.get(index)
        if candidate is None:
            candidate = self.candidates[index] = _CandidateWriter(index, self.context)
        return candidate

    def _content_chunks(self, candidate: _CandidateWriter, pieces: list[str]) -> list[Chunk]:
        return [self.chunk(candidate.index, {"content": piece}) for piece in pieces]

    def start(self, event: PartStart) -> list[Chunk]:
        part, choice = event.part, event.choice
        if isinstance(part, Reasoning):
            return super().start(event)
        out = self.start_choice(choice)
        candidate = self._candidate(choice)
        if isinstance(part, Text):
            blank = candidate.text.resume() if event.more else ""
            self.texts[event.slot] = _OpenText(candidate, part, blank)
        elif isinstance(part, Call):
            candidate.calls.start(event)
            self.callers[event.slot] = candidate
        return out

    def delta(self, event: PartDelta) -> list[Chunk]:
        candidate = self.callers.get(event.slot)
        if candidate is not None:
            candidate.calls.delta(event)
            return []
        text = self.texts.get(event.slot)
        if text is None:
            return super().delta(event)
        text.scan(event.text)
        if text.blank is None:
            return [self.chunk(text.candidate.index, {"content": event.text})]
        text.blank += event.text
        if not text.blank.strip():
            return []
        pieces = text.candidate.text.add(text.part, text.blank)
        text.blank = None
        return self._content_chunks(text.candidate, pieces)

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        text = self.texts.get(slot)
        return bool if text is None else text.scan

    def end(self, event: PartEnd) -> list[Chunk]:
        candidate = self.callers.pop(event.slot, None)
        if candidate is not None:
            return self._end_call(candidate, event)
        text = self.texts.pop(event.slot, None)
        if text is None:
            return super().end(event)
        if text.has_tags():
            self.context.report_loss(text.part, TAGS_IN_TEXT)
        if text.blank:
            text.candidate.text.add_blank(text.part, text.blank)
        return []

    def _end_call(self, candidate: _CandidateWriter, event: PartEnd) -> list[Chunk]:
        """Write the calls that are complete, in the order in which they started."""
        out: list[Chunk] = []
        for call in candidate.calls.end(event):
            assert isinstance(call, Call)
            candidate.has_calls = True
            pieces = candidate.text.add(call, write_new_call(call, self.context))
            out += self._content_chunks(candidate, pieces)
        return out

    def complete(self, event: PartComplete) -> list[Chunk]:
        assert isinstance(event.part, Reasoning)  # lowering leaves no other part
        return [self.chunk(event.choice, self.reasoning_delta(event.part.text))]

    def finish(self, event: Finish) -> list[Chunk]:
        candidate = self._candidate(event.choice)
        rest = self._content_chunks(candidate, candidate.text.end())
        if event.stop == "tool" and candidate.has_calls:
            event = Finish("stop", event.choice)  # the calls themselves say why the model stopped
        return [*rest, *super().finish(event)]

    def error(self, event: StreamError) -> list[Chunk]:
        rest = [
            chunk
            for candidate in self.candidates.values()
            for chunk in self._content_chunks(candidate, candidate.text.end())
        ]
        return [*rest, *super().error(event)]


_SPEC = ChatStreamSpec(BODIES)
STREAM = StreamSpec(
    reader=partial(TextStreamReader, _SPEC),
    writer=partial(TextStreamWriter, _SPEC),
    frame=data_sse,
    trailer=DONE,
)
