"""Write the chunks of a chat server whose text holds calls in tags.

A call is held back until it is complete, because its arguments are one JSON object in the text.
Blank texts are held back until it is known whether they are next to a call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolwire.conversation.parts import Call, Part, Text
from toolwire.streaming.events import Chunk, Finish, PartDelta, PartEnd, PartStart, StreamError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import DONE, StreamSpec, data_sse
from toolwire.wires.families.chat.choice import ChatStreamSpec
from toolwire.wires.families.chat.stream_writer import ChatWriter, WrittenChoice
from toolwire.wires.text.assistant_text import AssistantText
from toolwire.wires.text.blocks import report_tags
from toolwire.wires.text.bodies import BODIES
from toolwire.wires.text.messages import write_new_call
from toolwire.wires.text.scanner import Scanner, Span
from toolwire.wires.text.stream_reader import TextStreamReader


class _TextState:
    """The state of a text part that is being written."""

    __slots__ = ("_scanner", "blank", "choice", "has_tags", "part", "tagged_text")

    def __init__(self, choice: int, part: Text, blank: str | None) -> None:
        self.choice = choice
        self.part = part
        self.blank = blank
        """The text so far if it is blank; None once other text was written."""
        self._scanner = Scanner()
        self.has_tags = False
        """True if a block of the text is read as one of calls, even if it holds none."""
        self.tagged_text = ""
        """The first block of the text that holds calls."""

    def scan(self, text: str) -> None:
        """Look for tags in a further piece of the text."""
        self._find_tags(self._scanner.feed(text))

    def end(self) -> None:
        """Look for tags that only the end of the text completes."""
        self._find_tags(self._scanner.end())

    def _find_tags(self, spans: list[Span]) -> None:
        for span in spans:
            self.has_tags = self.has_tags or span.calls is not None
            if span.calls and not self.tagged_text:
                self.tagged_text = span.text


class TextStreamWriter(ChatWriter):
    """Writes one stream of this wire."""

    def __init__(
        self, spec: ChatStreamSpec, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(spec, context, version)
        self.contents: dict[int, AssistantText] = {}
        """The content of each choice."""
        self.texts: dict[int, _TextState] = {}
        """Open text parts by slot."""

    def _content(self, choice: int) -> AssistantText:
        if choice not in self.contents:
            self.contents[choice] = AssistantText(self.context)
        return self.contents[choice]

    def _write_pieces(self, choice: int, pieces: list[str]) -> list[Chunk]:
        return [self.chunk(choice, {"content": piece}) for piece in pieces]

    def start(self, event: PartStart) -> list[Chunk]:
        if not isinstance(event.part, Text):
            return super().start(event)
        blank = self._content(event.choice).resume() if event.more else ""
        self.texts[event.slot] = _TextState(event.choice, event.part, blank)
        return self.start_choice(event.choice)

    def delta(self, event: PartDelta) -> list[Chunk]:
        text = self.texts.get(event.slot)
        if text is None:
            return super().delta(event)
        text.scan(event.text)
        if text.blank is None:
            return [self.chunk(text.choice, {"content": event.text})]
        text.blank += event.text
        if not text.blank.strip():
            return []
        pieces = self._content(text.choice).add(text.part, text.blank)
        text.blank = None
        return self._write_pieces(text.choice, pieces)

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        text = self.texts.get(slot)
        return super().text_appender(slot) if text is None else text.scan

    def end(self, event: PartEnd) -> list[Chunk]:
        text = self.texts.pop(event.slot, None)
        if text is None:
            return super().end(event)
        text.end()
        if text.has_tags:
            report_tags(text.part, self.context)
        if text.tagged_text:
            self._content(text.choice).add_tags(text.tagged_text)
        if text.blank:
            self._content(text.choice).add_blank(text.part, text.blank)
        return []

    def write_whole_call(self, choice: WrittenChoice, call: Part) -> list[Chunk]:
        assert isinstance(call, Call)
        content = self._content(choice.index)
        for text in self.texts.values():
            if text.choice == choice.index and text.tagged_text:
                content.add_tags(text.tagged_text)
        pieces = content.add(call, write_new_call(call, self.context, content))
        return self._write_pieces(choice.index, pieces)

    def finish(self, event: Finish) -> list[Chunk]:
        rest = self._write_pieces(event.choice, self._content(event.choice).end())
        return [*rest, *super().finish(event)]

    def error(self, event: StreamError) -> list[Chunk]:
        rest = [
            chunk
            for choice, content in self.contents.items()
            for chunk in self._write_pieces(choice, content.end())
        ]
        return [*rest, *super().error(event)]


_SPEC = ChatStreamSpec(BODIES, whole_calls=True)
STREAM = StreamSpec(
    reader=partial(TextStreamReader, _SPEC),
    writer=partial(TextStreamWriter, _SPEC),
    frame=data_sse,
    trailer=DONE,
)
