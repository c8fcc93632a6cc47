"""The lines of an Ollama stream.

- a-line-is-a-small-answer: each line has the shape of a whole answer with what is new in its
  message; texts grow, lists grow.
- calls-come-whole: a call stands in one line, with its arguments as an object; several lines may
  each have some.
- first-time-counts: every line has a time of its own. That of the first stands for the answer,
  since ids are made from it.
- an-error-is-a-line: `{"error": "..."}` may come at any time, also first; the HTTP status was 200
  long before.
- done-says-all: the last line has why it stopped and the counts. Without a line that is `done` the
  answer broke off.

The writer holds back the arguments of a call, which are an object here, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Media, Message, Part, Reasoning, Text
from toolwire.errors import RemoteError
from toolwire.streaming.accumulate import LATE
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.buffered_parts import PartBuffer
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingsRead
from toolwire.wires.engine.specs import text_or_none
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    StreamWriter,
    copy_json,
    merge,
    ndjson_line,
)

NAME = "ollama"
ONE_TEXT = "a message is one text, and pictures after it"
ONE_THOUGHT = "reasoning is one text and stands before all else here"
AFTER_CALL = "what is said after a call stands before it here"

_LINE = frozenset({"model", "created_at", "message", "done"})
"""What a line has that brings nothing but a piece of its message."""
_FIRST = frozenset({"model", "created_at"})
_GROWS: dict[str, tuple[type, type]] = {
    "content": (str, str),
    "thinking": (str, str),
    "tool_calls": (list, dict),
    "images": (list, str),
}
"""Fields of a message that grow: what they are, and what is in them."""


class _Reader(StreamReader):
    wire = NAME

    def __init__(
        self,
        read: Callable[[JSON, JsonPath], Message],
        settings: Callable[[Object], SettingsRead],
        means: Callable[[Object], str | None],
        *,
        keep: bool = False,
    ) -> None:
        super().__init__(keep=keep)
        self.message_of = read
        self.settings_of = settings
        self.stop_of = means
        self.frame: Object = {}
        self.message: Object = {}
        self.texts: dict[str, list[str]] = {}
        self.told: set[str | int] = set()
        """Settings that were said, and fields that were reported."""
        self.slots = 0
        self.grows: type[Part] | None = None
        """The kind of part that is open, if there is one."""
        self.begun = False
        self.stop: str | None = None
        self.error: JSON = None

    def read(self, event: Chunk) -> list[Event]:
        message = event.get("message")
        out: list[Event] = []
        if not self.begun or not _LINE.issuperset(event) or event.get("done") is not False:
            out = self._around(event)
        if isinstance(message, dict):
            out += self._said(message)
        elif message is not None:
            out.append(Unsupported((self.count, "message"), "no such field on this wire"))
        if self.over:
            out += self._closed(cut=False)
        if event.get("error"):
            out += self._fault(event["error"])
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return bool if slot == self.slots and self.grows is not None else None

    def _around(self, event: Chunk) -> list[Event]:
        """All of a line but its message."""
        out: list[Event] = []
        settings = self.settings_of(event)
        if not self.begun and not event.get("error"):
            self.begun = True
            self.seed = text_or_none(event.get("created_at")) or ""
            first = {name: value for name, value in settings.values.items() if name not in LATE}
            self.told.update(first)
            out.append(MessageStart(first))
        late = {name: value for name, value in settings.values.items() if name not in self.told}
        if late and self.begun:
            self.told.update(set(late) - LATE)
            out.append(Metadata(late))
        for path in settings.unknown:
            if path[0] not in self.told and path[0] != "error":
                self.told.add(path[0])
                out.append(Unsupported((self.count, *path), "no such field on this wire"))
        if event.get("done") is True or isinstance(event.get("done_reason"), str):
            self.over = True
            self.stop = self.stop_of(event) or self.stop
        self._framed(event)
        return out

    def _framed(self, event: Chunk) -> None:
        for key, value in event.items():
            if key == "message" or not self.keep:
                continue
            if key in _FIRST and self.frame.get(key) is not None:
                continue
            if isinstance(value, list):
                self.frame[key] = merge(self.frame.get(key), value)
            elif value is not None or key not in self.frame:
                self.frame[key] = copy_json(value)

    def _kept(self, message: Object) -> None:
        for key, value in message.items():
            if key == "role":
                self.message.setdefault(key, value if isinstance(value, str) else "assistant")
            elif key in _GROWS and _sane(key, value) is None:
                self.message.setdefault(key, None)
            elif isinstance(value, str):
                self.texts.setdefault(key, []).append(value)
            else:
                self.message[key] = merge(self.message.get(key), value)

    def _said(self, message: Object) -> list[Event]:
        content = message.get("content")
        if (
            content.__class__ is str
            and len(message) == 2
            and self.grows is Text
            and "role" in message
        ):
            if self.keep:
                self.texts["content"].append(content)
            return [PartDelta(self.slots, content)] if content else []
        path: JsonPath = (self.count, "message")
        out: list[Event] = []
        try:
            said = self.message_of({**message, "role": "assistant"}, path)
        except RemoteError as wrong:
            out.append(Unsupported(wrong.path, wrong.why))
            message = {key: _sane(key, value) for key, value in message.items()}
            said = self.message_of({**message, "role": "assistant"}, path)
        if self.keep:
            self._kept(message)
        known = said.spec.keys if said.spec is not None else frozenset()
        for key, value in message.items():
            if key not in known and value not in (None, []) and f"message {key}" not in self.told:
                self.told.add(f"message {key}")
                out.append(Unsupported((*path, key), "no such field on this wire"))
        for part in said.parts:
            if isinstance(part, Text | Reasoning):
                if self.grows is not type(part):
                    out += [*self._closed(cut=False), PartStart(self.slots, replace(part, text=""))]
                    self.grows = type(part)
                out.append(PartDelta(self.slots, part.text))
            else:
                out += [
                    *self._closed(cut=False),
                    PartComplete(self.identified(part) if isinstance(part, Call) else part),
                ]
        return out

    def _closed(self, *, cut: bool) -> list[Event]:
        if self.grows is None:
            return []
        self.grows = None
        self.slots += 1
        return [PartEnd(self.slots - 1, cut=cut)]

    def _fault(self, error: JSON) -> list[Event]:
        self.error = error
        self.frame["error"] = error
        said = error.get("message") if isinstance(error, dict) else error
        return [
            *self._closed(cut=True),
            StreamError(said if isinstance(said, str) else text_of(error)),
        ]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.over:
            return [Finish(self.stop)]
        self.frame["error"] = STREAM_CUT
        return [*self._closed(cut=True), StreamError(STREAM_CUT, cut=True)]

    def body(self) -> JSON:
        texts: Object = {key: "".join(pieces) for key, pieces in self.texts.items()}
        message = {**self.message, **texts}
        if not message and not self.over and self.error is None:
            raise self.nothing()
        return {**self.frame, "message": {"role": "assistant", **(message or {"content": ""})}}


def _sane(key: str, value: JSON) -> JSON:
    """What can be read of a field that grows; None if it is nothing of the kind."""
    wanted, inside = _GROWS.get(key, (object, object))
    if isinstance(value, list):
        value = [item for item in value if isinstance(item, inside)]
    return value if isinstance(value, wanted) else None


class _Writer(StreamWriter):
    def __init__(
        self,
        say: Callable[[Message, EncodeContext], Object],
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.say = say
        self.write = write
        self.base: Object = {}
        self.calls = PartBuffer()
        self.opened: dict[int, Part] = {}
        """Texts and reasoning that have nothing in them yet."""
        self.thinks: set[int] = set()
        self.thought = self.worded = self.pictured = self.called = False
        """What the message has so far."""
        self.stop: str | None = None

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.envelope(self.write)
        self.base = {key: body[key] for key in ("model", "created_at")}
        return []

    def _line(self, message: Object) -> Chunk:
        return {**self.base, "message": message, "done": False}

    def start(self, event: PartStart) -> list[Chunk]:
        if isinstance(event.part, Call):
            self.calls.start(event)
        else:
            if not event.more:
                self.opened[event.slot] = event.part
            if isinstance(event.part, Reasoning):
                self.thinks.add(event.slot)
        return []

    def delta(self, event: PartDelta) -> list[Chunk]:
        slot, text = event.slot, event.text
        if slot in self.calls:
            self.calls.delta(event)
            return []
        if slot in self.opened and text:
            text = self._opening(self.opened.pop(slot)) + text
        if slot in self.thinks:
            return [self._line({"role": "assistant", "content": "", "thinking": text})]
        return [self._line({"role": "assistant", "content": text})]

    def again(self, slot: int) -> Callable[[str], object] | None:
        return None if slot in self.calls else bool  # nothing is kept of a text

    def _opening(self, part: Part) -> str:
        """What parts a text from the one before it; texts are joined as in a whole message."""
        if isinstance(part, Reasoning):
            again = self.thought
            if again or self.worded or self.pictured or self.called:
                self.context.report_loss(part, ONE_THOUGHT)
            self.thought = True
            return "\n" if again else ""
        if isinstance(part, Text) and part.refusal:
            self.context.report_loss(part, "a refusal is sent as plain text")
        if self.called:
            self.context.report_loss(part, AFTER_CALL)
        if self.worded or self.pictured:
            self.context.report_loss(part, ONE_TEXT)
        again, self.worded = self.worded, True
        return "\n" if again else ""

    def end(self, event: PartEnd) -> list[Chunk]:
        self.opened.pop(event.slot, None)
        self.thinks.discard(event.slot)
        if event.slot not in self.calls:
            return []
        self.called = True
        return [
            self._line(self.say(Message("assistant", (call,)), self.context))
            for call in self.calls.end(event)
        ]

    def whole(self, event: PartComplete) -> list[Chunk]:
        part = event.part
        said = self.say(Message("assistant", (part,)), self.context)
        if said.get("content"):
            said["content"] = self._opening(part) + str(said["content"])
        elif len(said) == 2:
            return []
        elif isinstance(part, Media):
            if self.called:
                self.context.report_loss(part, AFTER_CALL)
            self.pictured = True
        return [self._line(said)]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = "stop" if event.stop == "tool" and self.called else event.stop
        return []

    def close(self) -> list[Chunk]:
        return [self.envelope(self.write, self.stop)]

    def fault(self, event: StreamError) -> list[Chunk]:
        return [{"error": event.message}]


def stream(
    read: Callable[[JSON, JsonPath], Message],
    settings: Callable[[Object], SettingsRead],
    means: Callable[[Object], str | None],
    say: Callable[[Message, EncodeContext], Object],
    write: Callable[[Conversation, EncodeContext], JSON],
) -> StreamSpec:
    """How this wire streams, by the functions of its bodies: how an answer's message, settings and
    stop are read and written."""
    return StreamSpec(
        partial(_Reader, read, settings, means),
        partial(_Writer, say, write),
        ndjson_line,
        media="application/x-ndjson",
    )
