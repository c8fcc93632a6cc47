"""The lines of an Ollama stream.

- a-line-is-a-small-answer: each line has the shape of a whole response, with the new content of its
  message; texts and lists grow.
- calls-come-whole: a call is in one line, with its arguments as an object; several lines may have
  calls.
- first-time-counts: every line has its own time. The first one is that of the response, because ids
  are minted from it.
- an-error-is-a-line: `{"error": "..."}` may come at any time, even first; the HTTP status is 200.
- done-says-all: the last line has the finish reason and the token counts. Without a line that is
  `done` the stream was cut off.

The writer holds back calls: their arguments are objects here, and consecutive calls share a line.
"""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Media, Message, Part, Reasoning, Text
from toolwire.errors import DecodeError
from toolwire.streaming.accumulate import LATE
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartDelta,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, EncodeContext
from toolwire.wires.engine.part_lowering import REASONING_JOINED, REASONING_MOVED
from toolwire.wires.engine.part_sequence import PartSequence
from toolwire.wires.engine.sequential_writer import QueuedPart, SequentialWriter
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    copy_json,
    merge,
    ndjson_line,
)
from toolwire.wires.ollama.blocks import (
    CHAT,
    IMAGE_AFTER_CALL,
    NAME,
    ONE_TEXT,
    TEXT_AFTER_CALL,
    names_part,
)
from toolwire.wires.ollama.bodies import BODIES

_PLAIN_LINE = frozenset({"model", "created_at", "message", "done"})
"""The fields of a line with only a piece of the message."""
_FIRST_COUNTS = frozenset({"model", "created_at"})
_GROWING_FIELDS: dict[str, tuple[type, type]] = {
    "content": (str, str),
    "thinking": (str, str),
    "tool_calls": (list, dict),
    "images": (list, str),
}
"""Fields of a message that grow: their type, and the type of their items."""


# --- reading --------------------------------------------------------------------------------------


class OllamaReader(StreamReader):
    """Reads the lines of a stream."""

    wire = NAME

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.started = False
        self.frame: Object = {}
        """The body without its message."""
        self.message: Object = {}
        self.texts: dict[str, list[str]] = {}
        """Field → pieces of its text."""
        self.emitted: set[str] = set()
        """Settings that were emitted."""
        self.parts = PartSequence(self, keep=False)
        self.stop: str | None = None

    def read(self, event: Chunk) -> list[Event]:
        message = event.get("message")
        out: list[Event] = []
        is_plain = _PLAIN_LINE.issuperset(event) and event.get("done") is False
        if not self.started or not is_plain:
            out = self._read_frame(event)
        if isinstance(message, dict):
            out += self._read_message(message)
        elif message is not None:
            out.append(Unsupported((self.count, "message"), UNKNOWN_FIELD))
        if self.over:
            out += self.parts.close()
        if event.get("error"):
            out += self.fail(event["error"])
        return out

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        current = self.parts.open
        return bool if current is not None and current.slot == slot else None

    def _read_frame(self, event: Chunk) -> list[Event]:
        """Read everything in a line except its message."""
        out: list[Event] = []
        settings = BODIES.read_response_settings(event)
        if not self.started and not event.get("error"):
            self.started = True
            self.seed = BODIES.seed(event)
            first = {name: value for name, value in settings.values.items() if name not in LATE}
            self.emitted.update(first)
            out.append(MessageStart(first))
        late = {name: value for name, value in settings.values.items() if name not in self.emitted}
        if late and self.started:
            self.emitted.update(set(late) - LATE)
            out.append(Metadata(late))
        for path in settings.unknown:
            if path[0] != "error":
                out += self.report_unknown(*path)
        if event.get("done") is True or isinstance(event.get("done_reason"), str):
            self.over = True
            self.stop = BODIES.read_finish_reason(event) or self.stop
        if self.keep:
            self._keep_frame(event)
        return out

    def _keep_frame(self, event: Chunk) -> None:
        for key, value in event.items():
            if key == "message" or (key in _FIRST_COUNTS and self.frame.get(key) is not None):
                continue
            if isinstance(value, list):
                self.frame[key] = merge(self.frame.get(key), value)
            elif value is not None or key not in self.frame:
                self.frame[key] = copy_json(value)

    def _keep_message(self, message: Object) -> None:
        for key, value in message.items():
            if key == "role":
                self.message.setdefault(key, value if isinstance(value, str) else "assistant")
            elif value is None:
                self.message.setdefault(key, None)
            elif isinstance(value, str):
                self.texts.setdefault(key, []).append(value)
            else:
                self.message[key] = merge(self.message.get(key), value)

    def _read_message(self, message: Object) -> list[Event]:
        content, current = message.get("content"), self.parts.open
        only_content = len(message) == 2 and "role" in message
        in_text = current is not None and isinstance(current.part, Text)
        if content.__class__ is str and only_content and current is not None and in_text:
            if self.keep:
                self.texts.setdefault("content", []).append(content)
            return [PartDelta(current.slot, content)] if content else []
        path: JsonPath = (self.count, "message")
        out: list[Event] = []
        try:
            answer = CHAT.read_answer({**message, "role": "assistant"}, path)
        except DecodeError as error:
            out.append(Unsupported(error.path, error.why))
            message = {key: _readable(key, value) for key, value in message.items()}
            answer = CHAT.read_answer({**message, "role": "assistant"}, path)
        if self.keep:
            self._keep_message(message)
        for key, value in message.items():
            is_unread = value.__class__ is not str and key in CHAT.reasoning_fields
            if (is_unread or key not in CHAT.message.keys) and value is not None and value != []:
                out += self.report_unknown("message", key)
        for part in answer.parts:
            if isinstance(part, Text | Reasoning):
                current = self.parts.open
                continues = current is not None and type(current.part) is type(part)
                out += self.parts.add_text(part, message, continues=continues)
            else:
                out += self.parts.add(part, None)
        return out

    def close_parts(self, *, cut: bool) -> list[Event]:
        return self.parts.close(cut=cut)

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        return [Finish(self.stop)] if self.over else self.fail_cut(STREAM_CUT)

    def body(self) -> JSON:
        message = dict(self.message)
        for key, pieces in self.texts.items():
            text, others = "".join(pieces), message.get(key)
            # A field that is a list in some lines stays a list, unless all are empty, or lists are
            # not read.
            if isinstance(others, list) and others and key not in CHAT.reasoning_fields:
                message[key] = [*others, *([text] if text else ())]
            else:
                message[key] = text
        if not message and not self.over and (self.error is None or self.cut):
            raise self.no_events_error()
        error: Object = {} if self.error is None else {"error": self.error}
        message = {"role": "assistant", **(message or {"content": ""})}
        return {**self.frame, **error, "message": message}


def _readable(key: str, value: JSON) -> JSON:
    """The value of a growing field without entries of another type; None if its type is wrong."""
    field_type, item_type = _GROWING_FIELDS.get(key, (object, object))
    if isinstance(value, list):
        value = [item for item in value if isinstance(item, item_type)]
    return value if isinstance(value, field_type) else None


# --- writing --------------------------------------------------------------------------------------


class OllamaWriter(SequentialWriter):
    """Writes the lines of a stream."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self._frame: Object = {}
        self._written: set[type[Part]] = set()
        """The types of the parts that were written."""
        self._after_name = False
        """True if the last text described a part that a message cannot hold."""
        self._calls: list[Call] = []
        """The calls that wait for the end of their batch."""

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.write_empty_body(BODIES.write)
        self._frame = {key: body[key] for key in ("model", "created_at")}
        return []

    def _line(self, message: Object) -> Chunk:
        return {**self._frame, "message": message, "done": False}

    def waits_for_end(self, part: Part) -> bool:
        return isinstance(part, Call)

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        separator = "" if queued.more else self._separator(queued.part)
        return [*self._write_calls(), *self.grow_part(queued, separator + text)]

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        if isinstance(queued.part, Reasoning):
            return [self._line({"role": "assistant", "content": "", "thinking": text})]
        return [self._line({"role": "assistant", "content": text})]

    def appender(self, queued: QueuedPart) -> Callable[[str], object] | None:
        return bool  # written text is not kept

    def _separator(self, part: Part) -> str:
        """The text between two texts, which are joined as in a whole message. Reports what is
        joined."""
        written = self._written
        if isinstance(part, Reasoning):
            if written:
                reason = REASONING_JOINED if Reasoning in written else REASONING_MOVED
                self.context.report_loss(part, reason)
        else:
            if Call in written:
                self.context.report_loss(part, TEXT_AFTER_CALL)
            if Text in written or Media in written:
                self.context.report_loss(part, ONE_TEXT)
        separate = isinstance(part, Reasoning)
        if not separate:
            names = names_part(part)
            separate, self._after_name = names or self._after_name, names
        separator = "\n" if separate and type(part) in written else ""
        written.add(type(part))
        return separator

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        if isinstance(part, Media) and Call in self._written:
            self.context.report_loss(part, IMAGE_AFTER_CALL)
        self._written.add(type(part))
        if isinstance(part, Call):
            self._calls.append(part)
            return []
        return [*self._write_calls(), self._write_message(part)]

    def _write_calls(self) -> list[Chunk]:
        """Write the calls that wait, because something else follows them."""
        calls, self._calls = self._calls, []
        return [self._write_message(*calls)] if calls else []

    def _write_message(self, *parts: Part) -> Chunk:
        return self._line(CHAT.write_assistant(Message("assistant", parts), self.context))

    def finish(self, event: Finish) -> list[Chunk]:
        ends_with_calls = event.stop == "tool" and Call in self._written
        self.stop = BODIES.stop_after_calls if ends_with_calls else event.stop
        return []

    def close(self) -> list[Chunk]:
        return [*self._write_calls(), self.write_empty_body(BODIES.write, self.stop)]

    def error(self, event: StreamError) -> list[Chunk]:
        return [*self._write_calls(), {"error": event.message}]


STREAM = StreamSpec(
    reader=OllamaReader, writer=OllamaWriter, frame=ndjson_line, media="application/x-ndjson"
)
