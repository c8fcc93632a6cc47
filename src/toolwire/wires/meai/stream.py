"""The updates of a Microsoft.Extensions.AI stream: each is some contents, and the message and
answer they belong to.

- one-message-until-told: an update belongs to the message before it unless author, message id or
  role say otherwise.
- texts-and-reasoning-grow: the first content of an update continues the last one before it, if both
  are plain text or both are reasoning that is not signed yet. Two texts in one update are two
  texts; so a text that is to stand for itself comes after an empty piece of the one before it.
- calls-come-whole: only a code interpreter's inputs and outputs come in pieces, under one call id;
  they are told when whole.
- usage-adds-up: tokens are contents of updates, and are added to those before.
- first-words-count: id, model and time of an answer are those that came first, since others were
  told them then.
- no-event-for-errors: an `error` content need not be the end. An answer whose last message has no
  finish reason broke off, and then the error that stands last is why.

As server-sent events, or as one JSON array. The writer holds back a call until its arguments are
whole, and a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Role, Text
from toolwire.errors import RemoteError
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
    TurnStart,
    Unsupported,
)
from toolwire.wires.engine.buffered_parts import PartBuffer
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import Block, text_or_none
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    StreamWriter,
    copy_json,
    data_sse,
)
from toolwire.wires.meai.settings import FINISH_REASON_FROM_WIRE, NAME, RESPONSE

_KNOWN = frozenset({"contents", "role", "messageId", "finishReason", "error"})
_OF_MESSAGE = ("authorName", "messageId", "role")
"""What tells one message from the next."""
_FIRST = frozenset({"responseId", "modelId", "createdAt"})
_GROW = frozenset({"text", "reasoning"})
_ANSWERS: frozenset[Role] = frozenset({"assistant", "tool"})


class _Reader(StreamReader):
    wire = NAME
    replies = True

    def __init__(
        self,
        rows: Mapping[str, Block],
        read: Callable[[JSON, JsonPath], Part],
        roles: Mapping[str, Role],
        *,
        keep: bool = False,
    ) -> None:
        super().__init__(keep=keep)
        self.rows = rows
        self.part_of = read
        self.roles = roles
        self.head: Object | None = None
        """All of the newest update but its contents."""
        self.frame: Object = {}
        self.usage: Object = {}
        self.messages: list[Object] = []
        self.tells: Object = {}
        """What is known of the newest message: its author, id and role."""
        self.muted = False
        self.told: set[str] = set()
        self.grows: tuple[Block, str, Object] | None = None
        """The content that may still grow, if there is one: its row, the field that does, and the
        content itself."""
        self.pieces: list[str] = []
        self.slot = -1
        self.finished = False
        self.stop: str | None = None
        self.trouble: Object | None = None
        self.error: JSON = None

    def read(self, event: Chunk) -> list[Event]:
        contents = event.get("contents")
        head = {key: value for key, value in event.items() if key != "contents"}
        out = [] if head == self.head else self._headed(event, head)
        if contents is None:
            return out
        if not isinstance(contents, list):
            return [*out, Unsupported((self.count, "contents"), "no such field on this wire")]
        for i, block in enumerate(contents):
            out += self._content(block, (self.count, "contents", i), i == 0)
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return bool if slot == self.slot and self.grows is not None else None

    # --- around the contents ---

    def _headed(self, event: Chunk, head: Object) -> list[Event]:
        out: list[Event] = []
        if "error" in head and not isinstance(event.get("contents"), list):
            self.error = error = head["error"]
            said = error.get("message") if isinstance(error, dict) else error
            return [
                *self._closed(cut=True),
                StreamError(said if isinstance(said, str) else text_of(error)),
            ]
        settings = read_settings(RESPONSE, head, _KNOWN)
        values = {name: value for name, value in settings.values.items() if name not in self.told}
        self.told.update(values)
        if self.head is None:
            self.seed = text_or_none(head.get("responseId")) or ""
            out.append(MessageStart(values))
        elif values:
            out.append(Metadata(values))
        self.head = head
        for path in settings.unknown:
            if path[0] not in self.told:
                self.told.add(str(path[0]))
                out.append(Unsupported((self.count, *path), "no such field on this wire"))
        out += self._message(head)
        reason = head.get("finishReason")
        if isinstance(reason, str):
            self.finished = True
            self.stop = reason
        if self.keep:
            self._kept(head)
        return out

    def _message(self, head: Object) -> list[Event]:
        """The next message, if it is one."""
        new = {
            key: value for key in _OF_MESSAGE if (value := head.get(key)) and isinstance(value, str)
        }
        first = not self.tells
        if not first and not any(
            key in self.tells and self.tells[key] != value for key, value in new.items()
        ):
            self.tells.update(new)
            return []
        out = self._closed(cut=False)
        self.finished = False
        self.tells = {"role": "assistant", **new}
        role = self.roles.get(str(self.tells["role"]))
        self.muted = role not in _ANSWERS
        if self.keep:
            self.messages.append({"contents": []})
        if role is None or self.muted:
            out.append(
                Unsupported(
                    (self.count,),
                    "an answer holds only what the assistant says, and results:"
                    f" {self.tells['role']}",
                )
            )
        elif not first or role == "tool":
            out.append(TurnStart(role))
        return out

    def _kept(self, head: Object) -> None:
        message = self.messages[-1]
        message.update(self.tells)
        for key, value in head.items():
            if key in _OF_MESSAGE or value is None or (key in _FIRST and self.frame.get(key)):
                continue
            holder = message if key == "additionalProperties" else self.frame
            old = holder.get(key)
            holder[key] = (
                {**old, **value}
                if isinstance(old, dict) and isinstance(value, dict)
                else copy_json(value)
            )

    # --- contents ---

    def _content(self, block: JSON, path: JsonPath, first: bool) -> list[Event]:
        if not isinstance(block, dict):
            return [Unsupported(path, "no such field on this wire")]
        kind = block.get("$type")
        if self.grows is not None and self.grows[0].name == kind:
            more = self._more(block, path, first, *self.grows)
            if more is not None:
                return more
        if kind == "usage" and isinstance(block.get("details"), dict):
            return self._usage(block, path)
        out = self._closed(cut=False)
        self.trouble = block if kind == "error" else None
        try:
            part = self.part_of(block, path)
        except RemoteError as wrong:
            return [*out, Unsupported(wrong.path, wrong.why)]
        spec = self.rows.get(kind) if isinstance(kind, str) else None
        opens = spec is not None and spec.deltas and spec.clean(block) and type(part) is spec.part
        kept = dict(block) if opens else copy_json(block)
        if self.keep:
            self.messages[-1]["contents"].append(kept)  # type: ignore[union-attr]
        if not opens:
            return out + self._whole(part)
        assert spec is not None and isinstance(kept, dict)
        ((_, field),) = spec.deltas.values()
        self.grows = (spec, field, kept)
        if not isinstance(part, Text | Reasoning):
            return out
        self.pieces = [part.text]
        self.slot += 1
        if not self.muted:
            out.append(PartStart(self.slot, replace(part, text="", signature=None)))
            out += [PartDelta(self.slot, part.text)] if part.text else []
        return out

    def _whole(self, part: Part) -> list[Event]:
        if self.muted:
            return []
        if isinstance(part, Call):
            part = self.identified(part)
        elif isinstance(part, Result):
            part = self.answered(part)
        return [PartComplete(part)]

    def _more(
        self, block: Object, path: JsonPath, first: bool, spec: Block, field: str, held: Object
    ) -> list[Event] | None:
        """What a piece adds to the content that is open; None if it is not a piece of it."""
        piece = block.get(field)
        if not spec.clean(block):
            return None
        if spec.part is Call or spec.part is Result:
            if (
                not held.get("callId")
                or held["callId"] != block.get("callId")
                or not isinstance(piece, list)
            ):
                return None
            try:
                self.part_of(block, path)
            except RemoteError as wrong:
                return [Unsupported(wrong.path, wrong.why)]
            before = held.get(field)
            held[field] = [*(before if isinstance(before, list) else ()), *piece]
            return []
        if not first or not isinstance(piece, str) or held.get("protectedData"):
            return None
        if self.keep:
            self.pieces.append(piece)
        if isinstance(block.get("protectedData"), str):
            held["protectedData"] = block["protectedData"]
        return [PartDelta(self.slot, piece)] if piece and not self.muted else []

    def _closed(self, *, cut: bool) -> list[Event]:
        if self.grows is None:
            return []
        (spec, field, held), self.grows = self.grows, None
        if spec.part is Call or spec.part is Result:
            return self._whole(self.part_of(held, (self.count,)))
        if len(self.pieces) > 1:
            held[field] = "".join(self.pieces)
        return (
            []
            if self.muted
            else [PartEnd(self.slot, signature=text_or_none(held.get("protectedData")), cut=cut)]
        )

    def _usage(self, block: Object, at: JsonPath) -> list[Event]:
        details = block["details"]
        assert isinstance(details, dict)
        _add(self.usage, details)
        settings = read_settings(RESPONSE, {"usage": self.usage}, frozenset())
        extra = [
            Unsupported((*at, key), "no such field on this wire")
            for key in block
            if key not in ("$type", "details")
        ]
        unread = [
            Unsupported((*at, "details", *path[1:]), "no such field on this wire")
            for path in settings.unknown
        ]
        return [Metadata(settings.values), *extra, *unread]

    # --- the end ---

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.finished:
            return [
                *self._closed(cut=False),
                Finish(FINISH_REASON_FROM_WIRE.get(self.stop or "", self.stop)),
            ]
        if self.trouble is not None:
            said = self.trouble.get("message")
            self.error = {"message": said if isinstance(said, str) else STREAM_CUT}
            fault = StreamError(
                str(self.error["message"]), text_or_none(self.trouble.get("errorCode"))
            )
        else:
            self.error = {"message": STREAM_CUT}
            fault = StreamError(STREAM_CUT, cut=True)
        return [*self._closed(cut=True), fault]

    def body(self) -> JSON:
        failed: Object = {} if self.error is None else {"error": self.error}
        if not self.messages:
            if self.error is None or self.error == {"message": STREAM_CUT}:
                raise self.nothing()
            return failed
        usage: Object = {"usage": self.usage} if self.usage else {}
        return {**self.frame, "messages": list(self.messages), **usage, **failed}


def _add(total: Object, more: Object) -> None:
    for key, value in more.items():
        held = total.get(key)
        if isinstance(value, dict):
            inside: Object = dict(held) if isinstance(held, dict) else {}
            _add(inside, value)
            total[key] = inside
        elif isinstance(value, int) and isinstance(held, int) and not isinstance(value, bool):
            total[key] = held + value
        elif value is not None:
            total[key] = copy_json(value)


class _Writer(StreamWriter):
    results = True

    def __init__(
        self,
        foreign: Mapping[type[Part], Callable[..., JSON]],
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.foreign = foreign
        self.write = write
        self.base: Object = {}
        self.role: Role = "assistant"
        self.held = PartBuffer()
        """Calls, and refusals, which are contents that do not grow."""
        self.opened: dict[int, Part] = {}
        """Texts and reasoning that have nothing in them yet."""
        self.kinds: dict[int, str] = {}
        self.parted = False
        """Whether the newest update has an empty piece in front."""
        self.last: str | None = None
        """The type of the newest content, if what comes next could be taken for more of it."""
        self.stop: str | None = None

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.envelope(self.write)
        self.base = {key: value for key, value in body.items() if key in _FIRST}
        return []

    def _update(self, *contents: JSON) -> Chunk:
        return {"role": self.role, "contents": list(contents), **self.base}

    def _turned(self, role: Role) -> None:
        """The next message begins where a result follows what was said, or the other way round;
        nowhere else."""
        if role != self.role:
            self.role = role
            self.last = None

    def start(self, event: PartStart) -> list[Chunk]:
        part = event.part
        if isinstance(part, Call) or (isinstance(part, Text) and part.refusal):
            self.held.start(event)
        else:
            self.opened[event.slot] = part
        return []

    def delta(self, event: PartDelta) -> list[Chunk]:
        slot, text = event.slot, event.text
        kind = self.kinds.get(slot)
        if kind is not None:
            self.parted = False
            self._turned("assistant")
            return [self._update({"$type": kind, "text": text})]
        if slot in self.held:
            self.held.delta(event)
            return []
        part = self.opened.pop(slot, None)
        if part is None:
            return []
        out = self._said(replace(part, text=text))
        if out and self.last is not None:
            self.kinds[slot] = self.last
        return out

    def again(self, slot: int) -> Callable[[str], object] | None:
        return bool if slot in self.kinds and not self.parted else None  # nothing is kept of a text

    def end(self, event: PartEnd) -> list[Chunk]:
        self.opened.pop(event.slot, None)
        self.kinds.pop(event.slot, None)
        whole = self.held.end(event) if event.slot in self.held else []
        return [update for part in whole for update in self._said(part)]

    def whole(self, event: PartComplete) -> list[Chunk]:
        return self._said(event.part)

    def _said(self, part: Part) -> list[Chunk]:
        block = self.foreign[type(part)](part, self.context)
        if not isinstance(block, dict):
            return []
        self._turned("tool" if isinstance(part, Result) else "assistant")
        kind = str(block["$type"])
        before, self.last = self.last, kind if kind in _GROW else None
        self.parted = before == kind
        return [
            self._update({"$type": kind, "text": ""}, block) if self.parted else self._update(block)
        ]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def close(self) -> list[Chunk]:
        body = self.envelope(self.write, self.stop)
        usage = body.pop("usage", None)
        del body["messages"]
        return [
            {"contents": [] if usage is None else [{"$type": "usage", "details": usage}], **body}
        ]

    def fault(self, event: StreamError) -> list[Chunk]:
        code: Object = {} if event.code is None else {"errorCode": event.code}
        return [self._update({"$type": "error", "message": event.message, **code})]


def stream(
    rows: Mapping[str, Block],
    read: Callable[[JSON, JsonPath], Part],
    roles: Mapping[str, Role],
    foreign: Mapping[type[Part], Callable[..., JSON]],
    write: Callable[[Conversation, EncodeContext], JSON],
) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    return StreamSpec(
        partial(_Reader, rows, read, roles), partial(_Writer, foreign, write), data_sse
    )
