"""Read the chunks of a chat server whose text holds calls in tags.

- Text is emitted at once. Only text that could be the start of a mark, blanks at the start of a
  text, and one line break are held back; the blanks are dropped if a call follows.
- A call is emitted when it is complete. A call that fills the whole message is held back until the
  message is complete, or until the text can no longer be a call.
- A call that never ends is emitted as text.
- Chunks with native `tool_calls` have no meaning here: they are kept for the body and reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call
from toolwire.streaming.events import Event, PartComplete, PartDelta, PartEnd
from toolwire.wires.engine.specs import read_block
from toolwire.wires.engine.stream import copy_json
from toolwire.wires.families.chat.choice import ChatStreamSpec, ChoiceState
from toolwire.wires.families.chat.stream_reader import ChatReader
from toolwire.wires.families.chat.tool_call_deltas import CallState
from toolwire.wires.text.blocks import CONTENT, NAME, is_text, read_call
from toolwire.wires.text.dialects import DEFAULT
from toolwire.wires.text.scanner import MARK_STARTS, Scanner, Span

_NEEDS_SCAN = re.compile(rf"[{re.escape(MARK_STARTS)}]|\n\Z|\A\Z")
"""Text that may hold a mark or a line break before one, and empty text."""


class _StringReader:
    """Reads one string of an answer as it grows, with the same texts and calls as in the whole
    string."""

    __slots__ = ("_after_block", "_blank", "_in_text", "_scanner")

    def __init__(self) -> None:
        self._scanner = Scanner()
        self._after_block = False
        """True if a block was read before."""
        self._in_text = False
        """True if the text since the last block has a character that is not blank."""
        self._blank = ""
        """Blanks that are dropped if a block follows."""

    def feed(self, text: str) -> list[str | Call]:
        """Add text and return the texts and calls that are decided now."""
        return [item for span in self._scanner.feed(text) for item in self._read(span)]

    def is_plain(self, text: str) -> bool:
        """True if a further text can be emitted unchanged: nothing is held back, and it has no
        mark."""
        return (
            self._in_text
            and not self._blank
            and self._scanner.idle
            and _NEEDS_SCAN.search(text) is None
        )

    def end(self) -> list[str | Call]:
        """Return the remaining texts and calls when the string is complete."""
        out = [item for span in self._scanner.end() for item in self._read(span)]
        if self._blank and (self._in_text or not self._after_block):
            out.append(self._blank)
        return out

    def _read(self, span: Span) -> list[str | Call]:
        if span.calls is not None:
            self._after_block, self._in_text, self._blank = True, False, ""
            dialect = self._scanner.dialect or DEFAULT
            return [read_call(call, dialect, span.text, ()) for call in span.calls]
        text = self._blank + span.text
        if not self._in_text:
            if not text.strip():
                self._blank = text
                return []
            self._in_text = True
            if self._after_block:
                text = text.removeprefix("\n")
        self._blank = "\n" if text[-1] == "\n" else ""
        text = text[: len(text) - len(self._blank)]
        return [text] if text else []


class TextStreamReader(ChatReader):
    """Reads one stream of this wire."""

    def __init__(self, spec: ChatStreamSpec, *, keep: bool = False) -> None:
        super().__init__(spec, keep=keep)
        self.known_fields = frozenset({"role", "content", *self.chat.reasoning_fields})
        self.strings: dict[int, _StringReader] = {}
        """The open string of each candidate."""
        self.call_counts: dict[int, int] = {}
        self.native_slots: set[int] = set()
        """Slots of native tool calls, which emit no events."""

    def read_plain_delta(self, choice: JSON) -> Event | None:
        if not isinstance(choice, dict):
            return None
        delta, index = choice.get("delta"), choice.get("index")
        text = delta.get("content") if isinstance(delta, dict) else None
        candidate = self.choices.get(index) if isinstance(index, int) else None
        if candidate is None or candidate.open_field != "content" or not isinstance(text, str):
            return None
        if not self.strings[candidate.index].is_plain(text):
            return None
        return super().read_plain_delta(choice)

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        for candidate in self.choices.values():
            if candidate.open_field and candidate.open_slot == slot:
                if candidate.open_field == "content":
                    return self.strings[candidate.index].is_plain
                return bool
        return None

    def emit_text(
        self, candidate: ChoiceState, field: str, text: str, *, listed: bool = False
    ) -> list[Event]:
        if field == "reasoning":
            return super().emit_text(candidate, field, text, listed=listed)
        if field != "content":
            return []  # an unknown field, which is reported as such
        candidate.has_output = True
        string = self.strings.get(candidate.index)
        if string is None:
            string = self.strings[candidate.index] = _StringReader()
        return self._emit(candidate, string.feed(text))

    def _emit(self, candidate: ChoiceState, items: list[str | Call]) -> list[Event]:
        out: list[Event] = []
        index = candidate.index
        for item in items:
            if isinstance(item, str):
                out += super().emit_text(candidate, "content", item)
                continue
            # Minted ids of the first candidate are those of the body. For other candidates, the
            # number of calls before theirs is not known while the stream is read.
            count = self.call_counts.get(index, 0)
            self.call_counts[index] = count + 1
            call = self.assign_call_id(item, index << 16 | count)
            out += [*self.close_text(candidate), PartComplete(call, index)]
            candidate.seen_fields.discard("content")  # text after a call is a new part
        return out

    def _end_string(self, candidate: ChoiceState) -> list[Event]:
        string = self.strings.pop(candidate.index, None)
        out: list[Event] = []
        if string is not None:
            out = [*self._emit(candidate, string.end()), *self.close_text(candidate)]
        candidate.seen_fields.discard("content")
        return out

    def read_blocks(self, candidate: ChoiceState, content: list[JSON], place: int) -> list[Event]:
        """Read content that is a list of blocks. Consecutive text blocks are one string."""
        out: list[Event] = []
        for i, block in enumerate(content):
            if self.keep:
                candidate.content.append(copy_json(block))
            text = block["text"] if isinstance(block, dict) and is_text(block) else block
            if isinstance(text, str):
                out += self.emit_text(candidate, "content", text)
            elif isinstance(block, dict):
                path = (self.count, "choices", place, "delta", "content", i)
                part = read_block(NAME, CONTENT, block, path)
                out += [*self._end_string(candidate), PartComplete(part, candidate.index)]
        return out

    def read_call_piece(self, candidate: ChoiceState, entry: Object, path: JsonPath) -> list[Event]:
        super().read_call_piece(candidate, entry, path)
        return self.report_unknown("choices", candidate.index, "delta", "tool_calls")

    def start_call(self, candidate: ChoiceState, call: CallState) -> list[Event]:
        call.slot = self.next_slot()
        self.native_slots.add(call.slot)
        self.waiting = [other for other in self.waiting if other is not call]
        if not self.keep:
            call.pieces.clear()
        return []

    def close_parts(self, *, cut: bool) -> list[Event]:
        out = [
            event for candidate in self.choices.values() for event in self._end_string(candidate)
        ]
        out += super().close_parts(cut=cut)
        return [
            event
            for event in out
            if not (isinstance(event, PartDelta | PartEnd) and event.slot in self.native_slots)
        ]
