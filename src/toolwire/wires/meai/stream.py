"""The updates of a Microsoft.Extensions.AI stream: server-sent events, or one JSON array.

Each update holds contents, and fields of the message and the answer they belong to.

- same-message-by-default: an update belongs to the message before it unless author, message id or
  role differ.
- texts-and-reasoning-grow: the first content of an update continues the last one before it, if both
  are plain text or both are reasoning that is not signed yet. Two texts in one update are two
  texts, so a separate text comes after an empty piece of the one before it.
- calls-come-whole: only the inputs and outputs of a code interpreter arrive in pieces, under one
  call id; they are emitted when they are complete.
- usage-adds-up: token counts are contents of updates, and are added to those before.
- first-values-count: id, model and time of an answer are the first ones that arrived, because they
  have been emitted.
- no-event-for-errors: an `error` content need not be the end. An answer whose last message has no
  finish reason was cut off; if an error is the last content, it is the cause. A refusal is content.
"""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Part, Reasoning, Result, Text
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    StreamError,
    TurnStart,
    Unsupported,
)
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, EncodeContext
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import Block, text_or_none
from toolwire.wires.engine.stream import STREAM_CUT, StreamSpec, copy_json, data_sse
from toolwire.wires.families.turns.results_without_id import ResultsWithoutId
from toolwire.wires.families.turns.stream_reader import CUT_ERROR, TurnStreamReader, growing_field
from toolwire.wires.families.turns.stream_writer import TurnStreamWriter
from toolwire.wires.meai.blocks import NAME, PART_WRITERS
from toolwire.wires.meai.bodies import ANSWER_ROLES, MESSAGES, write
from toolwire.wires.meai.settings import FINISH_REASON_FROM_WIRE, RESPONSE

_MESSAGE_KEYS = ("authorName", "messageId", "role")
"""Fields that distinguish one message from the next."""
_UPDATE_KEYS = frozenset({"contents", "role", "messageId", "finishReason", "error"})
"""Fields of an update that are not settings."""
_FIRST_KEYS = frozenset({"responseId", "modelId", "createdAt"})
"""Fields whose first value counts."""


class MeaiReader(TurnStreamReader):
    """Reads one stream of Microsoft.Extensions.AI."""

    wire = NAME
    shape = MESSAGES
    signature_field = "protectedData"

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.fields: Object | None = None
        """The newest update without its contents."""
        self.response: Object = {}
        """The fields of the response, if the body is kept."""
        self.usage: Object = {}
        self.message: Object = {}
        """The author, id and role of the newest message."""
        self.ignored = False
        """True while the newest message is not part of the answer."""
        self.emitted: set[str] = set()
        """Settings that were emitted."""
        self.finished = False
        self.stop: str | None = None
        self.last_error: Object | None = None
        """The newest content, if it is an error."""
        self.interpreter: Object | None = None
        """The newest content, if it is from a code interpreter: the next one may continue it."""
        self.unpaired = 0
        """The number of results without a call."""
        self.results = ResultsWithoutId(self._mint_result_id)

    def _mint_result_id(self, result: Result) -> str:
        self.unpaired += 1
        return mint(f"{self.seed} result", self.unpaired, result.name or "")

    def assign_result_id(self, result: Result) -> Result:
        return result

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        return None if self.results.is_holding else super().text_appender(slot)

    def read(self, event: Chunk) -> list[Event]:
        return self.results.add(self._read(event))

    def _read(self, event: Chunk) -> list[Event]:
        contents = event.get("contents")
        fields = {key: value for key, value in event.items() if key != "contents"}
        if "error" in fields and not isinstance(contents, list):
            return self.fail(fields["error"])
        out = [] if fields == self.fields else self._read_fields(fields)
        if contents is None:
            return out
        if not isinstance(contents, list):
            return [*out, Unsupported((self.count, "contents"), UNKNOWN_FIELD)]
        for i, block in enumerate(contents):
            out += self.read_block(block, (self.count, "contents", i), first=i == 0)
        return out

    # --- around the contents ---

    def _read_fields(self, fields: Object) -> list[Event]:
        out: list[Event] = []
        settings = read_settings(RESPONSE, fields, _UPDATE_KEYS)
        values = {
            name: value for name, value in settings.values.items() if name not in self.emitted
        }
        self.emitted.update(values)
        if self.fields is None:
            self.seed = text_or_none(fields.get("responseId")) or ""
            out.append(MessageStart(values))
        elif values:
            out.append(Metadata(values))
        self.fields = fields
        for path in settings.unknown:
            out += self.report_unknown(*path)
        out += self._read_message_fields(fields)
        reason = fields.get("finishReason")
        if isinstance(reason, str):
            self.finished = True
            self.stop = reason
        if self.keep:
            self._keep_fields(fields)
        return out

    def _read_message_fields(self, fields: Object) -> list[Event]:
        """Start the next message if the update does not belong to the message of the previous
        update."""
        given: Object = {
            key: value
            for key in _MESSAGE_KEYS
            if (value := fields.get(key)) and isinstance(value, str)
        }
        first = not self.message
        if not first and all(self.message.get(key, value) == value for key, value in given.items()):
            self.message.update(given)
            return []
        out = self.close_text()
        self.finished = False
        self.message = {"role": "assistant", **given}
        role = MESSAGES.role_from_wire.get(str(self.message["role"]))
        self.ignored = role not in ANSWER_ROLES
        self.start_record({})
        if role is None or self.ignored:
            reason = f"a response cannot contain a message of this role: {self.message['role']}"
            out.append(Unsupported((self.count,), reason))
        elif not first or role == "tool":
            out.append(TurnStart(role))
        return out

    def _keep_fields(self, fields: Object) -> None:
        message = self.messages[-1].fields
        message.update(self.message)
        for key, value in fields.items():
            if key in _MESSAGE_KEYS or value is None:
                continue
            if key in _FIRST_KEYS and self.response.get(key):
                continue
            holder = message if key == "additionalProperties" else self.response
            previous = holder.get(key)
            if isinstance(previous, dict) and isinstance(value, dict):
                holder[key] = {**previous, **value}
            else:
                holder[key] = copy_json(value)

    # --- contents ---

    def read_part(self, part: Part, block: Object, *, first: bool) -> list[Event]:
        spec, kind = part.spec, block.get("$type")
        if isinstance(spec, Block) and spec.deltas and type(part) is spec.part:
            self.last_error = None
            if spec.clean(block):
                if isinstance(part, Text | Reasoning):
                    return self.read_text(part, spec, block, first=first)
                return self._read_interpreter(block, growing_field(spec))
        details = block.get("details")
        if kind == "usage" and isinstance(details, dict):
            return self._read_usage(block, details, part.path)
        is_error = kind == "error" and block.get("errorCode") != "Refusal"
        self.last_error = block if is_error else None
        out = self.close_text()
        if not self.ignored:
            return out + self.parts.add(part, block)
        self.parts.blocks.append(copy_json(block))
        return out

    def read_text(
        self, part: Text | Reasoning, spec: Block, block: Object, *, first: bool
    ) -> list[Event]:
        out = super().read_text(part, spec, block, first=first)
        return [] if self.ignored else out

    def _read_interpreter(self, block: Object, field: str) -> list[Event]:
        """Read a content of a code interpreter: a list under a call id, which may arrive in
        pieces."""
        current, pieces = self.interpreter, block.get(field)
        same_call = current is not None and bool(current.get("callId"))
        for key in ("$type", "callId"):
            same_call = same_call and current is not None and current.get(key) == block.get(key)
        if current is not None and same_call and isinstance(pieces, list):
            previous = current.get(field)
            current[field] = [*(previous if isinstance(previous, list) else ()), *pieces]
            return []
        out = self.close_text()
        self.interpreter = dict(block)
        self.parts.blocks.append(self.interpreter)
        return out

    def close_text(self, *, cut: bool = False) -> list[Event]:
        block, self.interpreter = self.interpreter, None
        out = super().close_text(cut=cut)
        if self.ignored or block is None:
            return [] if self.ignored else out
        return [PartComplete(self.identify(MESSAGES.read_part(block, (self.count,))))]

    def _read_usage(self, block: Object, details: Object, path: JsonPath) -> list[Event]:
        _add_counts(self.usage, details)
        settings = read_settings(RESPONSE, {"usage": self.usage}, frozenset())
        unknown: list[JsonPath] = [(key,) for key in block if key not in ("$type", "details")]
        unknown += [("details", *field[1:]) for field in settings.unknown]
        return [
            Metadata(settings.values),
            *(Unsupported((*path, *field), UNKNOWN_FIELD) for field in unknown),
        ]

    # --- the end ---

    def end(self) -> list[Event]:
        return self.results.add(self._end())

    def _end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.finished:
            reason = FINISH_REASON_FROM_WIRE.get(self.stop or "", self.stop)
            return [*self.close_text(), Finish(reason)]
        if self.last_error is None:
            return self.fail_cut(CUT_ERROR)
        message = self.last_error.get("message")
        error: Object = {"message": message if isinstance(message, str) else STREAM_CUT}
        return self.fail(error, text_or_none(self.last_error.get("errorCode")))

    def body(self) -> JSON:
        if not self.messages:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return self.error_field()
        usage: Object = {"usage": self.usage} if self.usage else {}
        messages = self.message_bodies()
        return {**self.response, "messages": messages, **usage, **self.error_field()}


def _add_counts(total: Object, more: Object) -> None:
    """Add token counts; any other value replaces the previous one."""
    for key, value in more.items():
        previous = total.get(key)
        if isinstance(value, dict):
            inner: Object = dict(previous) if isinstance(previous, dict) else {}
            _add_counts(inner, value)
            total[key] = inner
        elif isinstance(value, int) and isinstance(previous, int) and not isinstance(value, bool):
            total[key] = previous + value
        elif value is not None:
            total[key] = copy_json(value)


class MeaiWriter(TurnStreamWriter):
    """Writes one stream of Microsoft.Extensions.AI."""

    part_writers = PART_WRITERS

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.fields: Object = {}
        """Fields that every update holds."""

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        response = self.write_empty_body(write)
        self.fields = {key: value for key, value in response.items() if key in _FIRST_KEYS}
        return []

    def block_type(self, block: Object) -> str:
        return str(block["$type"])

    def text_block(self, block_type: str, text: str) -> Object:
        return {"$type": block_type, "text": text}

    def create_chunk(self, blocks: list[JSON]) -> Chunk:
        return {"role": self.role, "contents": blocks, **self.fields}

    def close(self) -> list[Chunk]:
        response = self.write_empty_body(write, self.stop)
        usage = response.pop("usage", None)
        del response["messages"]
        contents: list[JSON] = [] if usage is None else [{"$type": "usage", "details": usage}]
        return [{"contents": contents, **response}]

    def error(self, event: StreamError) -> list[Chunk]:
        code: Object = {} if event.code is None else {"errorCode": event.code}
        return [self.create_chunk([{"$type": "error", "message": event.message, **code}])]


STREAM = StreamSpec(reader=MeaiReader, writer=MeaiWriter, frame=data_sse)
