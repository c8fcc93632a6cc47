"""Join the texts and calls of an assistant message to one text, for bodies and streams alike."""

from __future__ import annotations

from toolwire.conversation.parts import Call, Part, Text
from toolwire.wires.engine.encode_context import EncodeContext

ONE_TEXT = "a message has one text here; several are joined"


class AssistantText:
    """The text of one message as it grows: every text and call starts on a new line.

    Blank texts are held back, because they would be lost next to a call when the text is read.
    """

    __slots__ = ("_blanks", "_context", "_last", "has_call", "started", "tagged_text")

    def __init__(self, context: EncodeContext) -> None:
        self._context = context
        self._last: type[Part] | None = None
        self._blanks: list[tuple[Text, str]] = []
        self.has_call = False
        """True if a call was added."""
        self.started = False
        """True if any text or call was added."""
        self.tagged_text = ""
        """The first block that is read as calls: of a text before all calls, or a call in another
        than the default dialect. A message is read in the dialect of its first block, so the other
        calls have to be written in the same dialect."""

    def add(self, part: Text | Call, text: str) -> list[str]:
        """Add a text or a call and return the pieces to append."""
        self.has_call = self.has_call or isinstance(part, Call)
        return [*self._flush(type(part)), self._line(part, text)]

    def add_tags(self, text: str) -> None:
        """Remember a block of a text that is read as calls."""
        if not self.has_call and not self.tagged_text:
            self.tagged_text = text

    def add_blank(self, part: Text, text: str) -> None:
        """Hold back a blank text until its successor is known."""
        self._blanks.append((part, text))

    def end(self) -> list[str]:
        """Return the pieces to append at the end of the message."""
        return self._flush(None)

    def resume(self) -> str | None:
        """The start of a text that continues the one before it.

        This is the blank text that is held back; None if text was written last.
        """
        if self._blanks:
            return self._blanks.pop()[1]
        return None if self._last is Text else ""

    def _flush(self, following: type[Part] | None) -> list[str]:
        out: list[str] = []
        for part, text in self._blanks:
            if Call in (self._last, following):
                self._context.report_loss(part, "blank text next to a call is dropped")
            else:
                out.append(self._line(part, text))
        self._blanks.clear()
        return out

    def _line(self, part: Text | Call, text: str) -> str:
        if self._last is Text and isinstance(part, Text):
            self._context.report_loss(part, ONE_TEXT)
        line = f"\n{text}" if self.started else text
        self.started, self._last = True, type(part)
        return line
