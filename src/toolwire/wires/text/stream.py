"""A chat server's chunks whose text holds calls in tags.

- words-go-on-at-once: outside of tags only what could be the beginning of a mark is held back,
  blanks at the beginning of a piece, and one line break: they are not told if a call follows.
- a-call-comes-whole: its text is held until its end. One that fills the whole message is held until
  that is over, or until it cannot be one.
- what-is-cut-off-is-text: a call that never ends comes out as the words it is.
- native-calls-mean-nothing: chunks with `tool_calls` are kept for the body and reported.

A writer holds a call until it is whole, for its arguments are one object there, and texts of
nothing but blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning, Text, describe
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import read_block
from toolwire.wires.engine.stream import DONE, StreamSpec, copy_json, data_sse
from toolwire.wires.families.chat.choice import ChoiceState
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.stream_parts import ChatStreamSpec
from toolwire.wires.families.chat.stream_reader import ChatReader
from toolwire.wires.families.chat.stream_writer import ChatWriter
from toolwire.wires.families.chat.tool_call_deltas import CallState
from toolwire.wires.text.dialects import DEFAULT, write_block
from toolwire.wires.text.parts import (
    CALL_ROWS,
    CONTENT,
    MESSAGE,
    ROLES,
    is_text,
    read_call,
    write_call,
)
from toolwire.wires.text.scanner import MARKS, Scan, Stretch
from toolwire.wires.text.settings import FINISH_REASON_FROM_WIRE, RESPONSE

NAME = "text"
CHAT = Chat(NAME, CONTENT, CALL_ROWS, {}, MESSAGE, ROLES, ("reasoning_content",))

# --- reading --------------------------------------------------------------------------------------


_MARKS = re.compile(rf"[{re.escape(MARKS)}]|\n\Z|\A\Z")
"""What has to be looked at: where a mark may begin, and the line break before it."""


class _Words:
    """One string of an answer while it comes: words and calls, as the whole string would
    be read.
    """

    __slots__ = ("_after", "_begun", "_blank", "scan")

    def __init__(self) -> None:
        self.scan = Scan()
        self._after = False
        """Whether a block came before."""
        self._begun = False
        """Whether the piece between two blocks has anything but blanks."""
        self._blank = ""
        """Blanks that are not told if a block follows."""

    def feed(self, text: str) -> list[str | Call]:
        return [item for stretch in self.scan.feed(text) for item in self._items(stretch)]

    def plain(self, text: str) -> bool:
        """Whether more text is words and nothing else, and nothing before it is held."""
        return self._begun and not self._blank and self.scan.idle and _MARKS.search(text) is None

    def end(self) -> list[str | Call]:
        out = [item for stretch in self.scan.end() for item in self._items(stretch)]
        if self._blank and (self._begun or not self._after):
            out.append(self._blank)
        return out

    def _items(self, stretch: Stretch) -> list[str | Call]:
        if stretch.calls is not None:
            self._after, self._begun, self._blank = True, False, ""
            return [
                read_call(call, self.scan.dialect or DEFAULT, stretch.text, ())
                for call in stretch.calls
            ]
        text = self._blank + stretch.text
        if not self._begun:
            if not text.strip():
                self._blank = text
                return []
            self._begun = True
            text = text[1:] if self._after and text[0] == "\n" else text
        self._blank = "\n" if text[-1] == "\n" else ""
        text = text[: len(text) - len(self._blank)]
        return [text] if text else []


class _Reader(ChatReader):
    def __init__(self, speech: ChatStreamSpec, *, keep: bool = False) -> None:
        super().__init__(CHAT, speech, keep=keep)
        self.known_fields = frozenset({"role", "content", *CHAT.reasoning_fields})
        self.strings: dict[int, _Words] = {}
        self.counts: dict[int, int] = {}
        """How many calls each candidate has made."""
        self.native: set[int] = set()
        """Slots of calls that are none here."""

    def read_plain_delta(self, choice: JSON) -> Event | None:
        """Only what is nothing but words."""
        if not isinstance(choice, dict):
            return None
        delta, index = choice.get("delta"), choice.get("index")
        text = delta.get("content") if isinstance(delta, dict) else None
        one = self.choices.get(index) if isinstance(index, int) else None
        if (
            one is None
            or one.open_field != "content"
            or not isinstance(text, str)
            or not self.strings[one.index].plain(text)
        ):
            return None
        return super().read_plain_delta(choice)

    def again(self, slot: int) -> Callable[[str], bool] | None:
        for one in self.choices.values():
            if one.open_field and one.open_slot == slot:
                return self.strings[one.index].plain if one.open_field == "content" else bool
        return None

    def emit_text(
        self, one: ChoiceState, field: str, text: str, *, listed: bool = False
    ) -> list[Event]:
        if field == "reasoning":
            return super().emit_text(one, field, text, listed=listed)
        if field != "content":
            return []  # it has no such field, and is reported as that
        one.has_output = True
        words = self.strings.get(one.index)
        if words is None:
            words = self.strings[one.index] = _Words()
        return self._said(one, words.feed(text))

    def _said(self, one: ChoiceState, items: list[str | Call]) -> list[Event]:
        out: list[Event] = []
        for item in items:
            if isinstance(item, str):
                out += super().emit_text(one, "content", item)
            else:
                # Made ids of the first candidate are those of the body; how many calls stand before
                # another's nobody can know.
                ordinal = one.index << 16 | self.counts.get(one.index, 0)
                self.counts[one.index] = self.counts.get(one.index, 0) + 1
                out += [
                    *self.close_text(one),
                    PartComplete(self.identified(item, ordinal), one.index),
                ]
                one.seen_fields.discard("content")  # what is said after a call is another text
        return out

    def _over(self, one: ChoiceState) -> list[Event]:
        """A string ends, and with it what was held of it."""
        words = self.strings.pop(one.index, None)
        out = [] if words is None else [*self._said(one, words.end()), *self.close_text(one)]
        one.seen_fields.discard("content")
        return out

    def read_blocks(self, one: ChoiceState, content: list[JSON], place: int) -> list[Event]:
        """Blocks: neighbours that are text are one string."""
        out: list[Event] = []
        for i, block in enumerate(content):
            if self.keep:
                one.content.append(copy_json(block))
            text = (
                block
                if isinstance(block, str)
                else block.get("text")
                if isinstance(block, dict) and is_text(block)
                else None
            )
            if isinstance(text, str):
                out += self.emit_text(one, "content", text)
            elif isinstance(block, dict):
                path = (self.count, "choices", place, "delta", "content", i)
                out += [
                    *self._over(one),
                    PartComplete(read_block(NAME, CONTENT, block, path), one.index),
                ]
        return out

    def read_call_piece(self, one: ChoiceState, entry: Object, path: JsonPath) -> list[Event]:
        super().read_call_piece(one, entry, path)
        return self.report_unknown((self.count, "choices", one.index, "delta", "tool_calls"))

    def start_call(self, one: ChoiceState, held: CallState) -> list[Event]:
        held.slot = self.next_slot
        self.native.add(held.slot)
        self.next_slot += 1
        self.waiting = [call for call in self.waiting if call is not held]
        if not self.keep:
            held.pieces.clear()
        return []

    def close_parts(self, *, cut: bool) -> list[Event]:
        out = [event for one in self.choices.values() for event in self._over(one)]
        out += super().close_parts(cut=cut)
        return [
            event
            for event in out
            if not (isinstance(event, PartDelta | PartEnd) and event.slot in self.native)
        ]


# --- writing --------------------------------------------------------------------------------------


class _Said:
    """One candidate as far as it is written."""

    __slots__ = ("blanks", "called", "calls", "last", "lines", "ready")

    def __init__(self) -> None:
        self.lines = False
        """Whether anything stands there yet."""
        self.last: type[Part] | None = None
        self.blanks: list[tuple[Text, str]] = []
        """Texts of nothing but blanks, which are not written beside a call."""
        self.called = False
        self.calls: list[int] = []
        """Calls in the order in which they began."""
        self.ready: dict[int, Call] = {}


class _Line:
    """A text that is being written."""

    __slots__ = ("blank", "choice", "part", "scan", "tagged")

    def __init__(self, choice: int, part: Text) -> None:
        self.choice = choice
        self.part = part
        self.blank: str | None = ""
        """What came, as long as it is blanks."""
        self.scan = Scan()
        self.tagged = False
        """Whether the words so far would be read as calls."""

    def more(self, text: str) -> None:
        """Look into more of it."""
        self.tagged = self.tagged or any(
            stretch.calls is not None for stretch in self.scan.feed(text)
        )


class _Writer(ChatWriter):
    customs = False

    def __init__(
        self, speech: ChatStreamSpec, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(CHAT, speech, context, version)
        self.said: dict[int, _Said] = {}
        self.texts: dict[int, _Line] = {}
        self.gather = Accumulator()
        self.whose: dict[int, int] = {}

    def begin(self, event: MessageStart) -> list[Chunk]:
        out = super().begin(event)
        self.frame.pop("object", None)  # as in its bodies
        for chunk in out:
            chunk.pop("object", None)
        return out

    def _candidate(self, choice: int) -> _Said:
        return self.said.setdefault(choice, _Said())

    def start(self, event: PartStart) -> list[Chunk]:
        part, choice = event.part, event.choice
        if isinstance(part, Reasoning):
            return super().start(event)
        opened = self.start_choice(choice)
        if isinstance(part, Text):
            if part.refusal:
                self.context.report_loss(part, "a refusal is sent as plain text")
            line = self.texts[event.slot] = _Line(choice, part)
            said = self._candidate(choice)
            if event.more and said.blanks:
                line.blank = said.blanks.pop()[1]
            elif event.more and said.last is Text:
                line.blank = None
        elif isinstance(part, Call):
            self.gather.start(event)
            self.whose[event.slot] = choice
            self._candidate(choice).calls.append(event.slot)
        return opened

    def delta(self, event: PartDelta) -> list[Chunk]:
        if event.slot in self.gather:
            self.gather.delta(event)
            return []
        line = self.texts.get(event.slot)
        if line is None:
            return super().delta(event)
        line.more(event.text)
        if line.blank is None:
            return [self.chunk(line.choice, {"content": event.text})]
        line.blank += event.text
        if not line.blank.strip():
            return []
        text, line.blank = line.blank, None
        said = self._candidate(line.choice)
        out = self._blanks(line.choice, said, Text)
        return [*out, self._line(line.choice, said, line.part, text)]

    def again(self, slot: int) -> Callable[[str], object] | None:
        line = self.texts.get(slot)
        return bool if line is None else line.more

    def _line(self, choice: int, said: _Said, part: Part, text: str) -> Chunk:
        """The beginning of a line, after all that stands there."""
        if said.last is Text and isinstance(part, Text):
            self.context.report_loss(
                part, "a message is one text here; what is said in pieces is joined"
            )
        text = f"\n{text}" if said.lines else text
        said.lines, said.last = True, type(part)
        return self.chunk(choice, {"content": text})

    def _blanks(self, choice: int, said: _Said, following: type[Part] | None) -> list[Chunk]:
        """Write texts of nothing but blanks, unless they stand beside a call."""
        out: list[Chunk] = []
        for part, text in said.blanks:
            if Call in (said.last, following):
                self.context.report_loss(part, "blanks beside calls are not kept")
            else:
                out.append(self._line(choice, said, part, text))
        said.blanks.clear()
        return out

    def end(self, event: PartEnd) -> list[Chunk]:
        if event.slot in self.gather:
            return self._ended(event)
        line = self.texts.pop(event.slot, None)
        if line is None:
            return super().end(event)
        if line.tagged or any(stretch.calls is not None for stretch in line.scan.end()):
            self.context.report_loss(
                line.part, "these words have tags in them that mean something here"
            )
        if line.blank:
            self._candidate(line.choice).blanks.append((line.part, line.blank))
        return []

    def _ended(self, event: PartEnd) -> list[Chunk]:
        """Write the calls that are whole, in the order in which they began."""
        choice = self.whose.pop(event.slot)
        said = self._candidate(choice)
        part = self.gather.end(event)
        assert isinstance(part, Call)
        said.ready[event.slot] = part
        out: list[Chunk] = []
        while said.calls and said.calls[0] in said.ready:
            call = said.ready.pop(said.calls.pop(0))
            said.called = True
            out += self._blanks(choice, said, Call)
            written = write_call(call, DEFAULT, self.context, None)
            out.append(self._line(choice, said, call, write_block(DEFAULT, [written or ""])))
        return out

    def whole(self, event: PartComplete) -> list[Chunk]:
        part = event.part
        if isinstance(part, Reasoning) and part.text:
            return [self.chunk(event.choice, {"reasoning_content": part.text})]
        self.context.report_loss(
            part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
        )
        return []

    def finish(self, event: Finish) -> list[Chunk]:
        said = self._candidate(event.choice)
        rest = self._blanks(event.choice, said, None)
        if event.stop == "tool" and said.called:
            event = Finish("stop", event.choice)  # the calls say it
        return [*rest, *super().finish(event)]

    def fault(self, event: StreamError) -> list[Chunk]:
        rest = [
            chunk
            for choice, said in self.said.items()
            for chunk in self._blanks(choice, said, None)
        ]
        return [*rest, *super().fault(event)]


def stream(write: Callable[[Conversation, EncodeContext], JSON]) -> StreamSpec:
    """How this wire streams."""
    speech = ChatStreamSpec(
        RESPONSE, FINISH_REASON_FROM_WIRE, write, lambda text: {"reasoning_content": text}
    )
    return StreamSpec(partial(_Reader, speech), partial(_Writer, speech), data_sse, DONE)
