"""Gemini streams: each chunk is a response, and all together are one.

The writer sends one chunk for each piece of text and each complete part, and one for all calls that
follow each other: a client keeps each chunk as one content, and Gemini refuses results whose calls
are in several contents.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import Call, Part
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, EncodeContext
from toolwire.wires.engine.sequential_writer import QueuedPart
from toolwire.wires.engine.settings import read_settings, setting_table
from toolwire.wires.engine.stream import STREAM_CUT, StreamSpec, copy_json, data_sse
from toolwire.wires.families.contents.parts import text_block
from toolwire.wires.families.contents.settings import USAGE, read_finish_reason
from toolwire.wires.families.contents.spelling import get_field, spellings
from toolwire.wires.families.contents.stream_reader import ContentReader, PartStream
from toolwire.wires.families.contents.stream_writer import ContentWriter
from toolwire.wires.gemini.blocks import PARTS
from toolwire.wires.gemini.bodies import CANDIDATE_FIELDS, write
from toolwire.wires.gemini.settings import RESPONSE

# --- reading --------------------------------------------------------------------------------------

_NOT_SETTINGS = spellings("candidates", "usageMetadata")
_RECOGNIZED_BY = spellings("candidates", "promptFeedback", "usageMetadata")
_REPEATED_LISTS = spellings("safetyRatings")
_CANDIDATES = spellings("candidates")
_CONSTANT_FIELDS = spellings("responseId", "modelVersion")
_USAGE_FIELDS = spellings("usageMetadata")
_FEEDBACK_FIELDS = spellings("promptFeedback")
_FINISH_REASON = spellings("finishReason")
_USAGE_ONLY = setting_table(USAGE)
_CUT_ERROR: Object = {"status": "stream_cut", "message": STREAM_CUT}


class _Candidate(Struct):
    """The state of one candidate."""

    parts: PartStream
    fields: Object = {}
    """Its fields beside the content, if the body is kept."""
    content: Object | None = None
    """The fields of its content beside the parts, if the body is kept."""
    finish_reason: str | None = None

    def body(self) -> JSON:
        """The candidate as in a whole response."""
        if self.content is None:
            return self.fields
        return {**self.fields, "content": {**self.content, "parts": self.parts.blocks}}


class GeminiReader(ContentReader):
    """Reads one stream."""

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(PARTS, keep=keep)
        self.candidates: dict[int, _Candidate] = {}
        self.fields: Object = {}
        """The fields of the response beside candidates and usage, if the body is kept."""
        self.usage: Object = {}
        self.usage_key = "usageMetadata"
        self.blocked = False
        """True if the prompt was blocked."""
        self._skipped = _CANDIDATES if keep else _CANDIDATES | _CONSTANT_FIELDS
        """Fields that are read elsewhere, or that are the same in every event and not kept."""

    def read(self, event: Chunk) -> list[Event]:
        error = event.get("error")
        if error is not None:
            return self.fail(
                copy_json(error), error.get("status") if isinstance(error, dict) else None
            )
        out: list[Event] = []
        if not self.started:
            self.started = True
            settings = read_settings(RESPONSE, event, _NOT_SETTINGS)
            self.seed = str(settings.values.get("id", ""))
            out.append(MessageStart(settings.values))
        self.recognized = self.recognized or not _RECOGNIZED_BY.isdisjoint(event)
        candidates = event.get("candidates")
        if isinstance(candidates, list):
            for i, candidate in enumerate(candidates):
                path = (self.count, "candidates", i)
                if isinstance(candidate, dict):
                    self._read_candidate(candidate, path, position=i, out=out)
                else:
                    out.append(Unsupported(path, "not a candidate"))
        for key, value in event.items():
            if key not in self._skipped and value is not None:
                self._read_field(key, value, out)
        return out

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        texts = [candidate.parts.open for candidate in self.candidates.values()]
        return bool if any(text is not None and text.slot == slot for text in texts) else None

    def _read_field(self, key: str, value: JSON, out: list[Event]) -> None:
        if key in _USAGE_FIELDS:
            if isinstance(value, dict):
                self.usage.update(value)
                self.usage_key = key
            return
        constant = key in _CONSTANT_FIELDS
        if not constant:
            out += self.report_unknown(key)
        if key in _FEEDBACK_FIELDS and isinstance(value, dict) and get_field(value, "blockReason"):
            self.blocked = True
        if self.keep and not (constant and key in self.fields):
            self.fields[key] = _merge_field(self.fields.get(key), value)

    def _read_candidate(
        self, raw: Object, path: JsonPath, *, position: int, out: list[Event]
    ) -> None:
        index = raw.get("index")
        if type(index) is not int:
            index = position
        candidate = self.candidates.get(index)
        if candidate is None:
            candidate = self.candidates[index] = _Candidate(PartStream(self, index))
        content = raw.get("content")
        if content.__class__ is dict:
            blocks = content.get("parts")
            if blocks.__class__ is list:
                read = candidate.parts.read
                for i, block in enumerate(blocks):
                    out += read(block, (*path, "content", "parts", i))
            if self.keep:
                candidate.content = candidate.content or {}
                candidate.content.update(
                    {
                        key: value
                        for key, value in content.items()
                        if key != "parts" and value is not None
                    }
                )
        for key, value in raw.items():
            if key == "content" or value is None:
                continue
            if key in _FINISH_REASON and isinstance(value, str):
                candidate.finish_reason = value
            if key not in CANDIDATE_FIELDS:
                out += self.report_unknown(*path[1:], key)
            if self.keep:
                previous = None if key in _REPEATED_LISTS else candidate.fields.get(key)
                candidate.fields[key] = _merge_field(previous, value)

    def close_parts(self, *, cut: bool) -> list[Event]:
        """Close every open part. An open call was cut off, whatever the finish reason."""
        return [
            event
            for candidate in self.candidates.values()
            for event in candidate.parts.close(
                cut=cut or candidate.parts.open_kind == "functionCall"
            )
        ]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        usage: list[Event] = []
        if self.usage:
            settings = read_settings(_USAGE_ONLY, {USAGE.path[0]: self.usage}, frozenset())
            usage.append(Metadata(settings.values))
            usage += [
                Unsupported((self.count - 1, *path), UNKNOWN_FIELD) for path in settings.unknown
            ]
        reasons = {i: each.finish_reason for i, each in sorted(self.candidates.items())}
        if None in reasons.values() or not (reasons or self.blocked):
            return [*usage, *self.fail_cut(_CUT_ERROR)]
        out = [*self.close_parts(cut=False), *usage]
        if not reasons:
            return [*out, Finish("filter")]
        return [*out, *(Finish(read_finish_reason(reasons[i]), i) for i in reasons)]

    def body(self) -> JSON:
        if not self.recognized:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return {"candidates": [], "error": self.error}
        body = dict(self.fields)
        if self.candidates or not (self.usage or self.blocked):
            body["candidates"] = [each.body() for _, each in sorted(self.candidates.items())]
        if self.usage:
            body[self.usage_key] = self.usage
        return body if self.error is None else {**body, "error": self.error}


def _merge_field(old: JSON, new: JSON) -> JSON:
    """Merge a field with its value in the next chunk: objects merge, lists continue or are
    repeated."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merge_field(old.get(key), value) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return copy_json(new) if new[: len(old)] == old else [*old, *new]
    return copy_json(new)


# --- writing --------------------------------------------------------------------------------------

_HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class GeminiWriter(ContentWriter):
    """Writes one stream."""

    supports_candidates = True

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.last_written: dict[int, type[Part]] = {}
        """Candidate → the type of the part that was written last."""
        self.calls: dict[int, list[JSON]] = {}
        """Candidate → the calls that wait for the end of their batch."""
        self.stops: dict[int, str | None] = {}

    def empty_event(self, stop: str | None = None) -> Object:
        return self.write_empty_body(write, stop)

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        part, choice = queued.part, queued.choice
        separate = self.last_written.get(choice) is type(part) and not queued.more
        self.last_written[choice] = type(part)
        out = self._write_calls(choice)
        if separate:
            out.append(self._chunk([text_block(part, "")], choice))
        return [*out, *self.grow_part(queued, text)]

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        return [self._chunk([text_block(queued.part, text)], queued.choice)]

    def appender(self, queued: QueuedPart) -> Callable[[str], object] | None:
        return bool  # no state depends on the text of an open part

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        block = PARTS.writers[type(part)](part, self.context)
        if block is None:
            return []
        self.last_written[choice] = type(part)
        if isinstance(part, Call):
            self.calls.setdefault(choice, []).append(block)
            return []
        return [*self._write_calls(choice), self._chunk([block], choice)]

    def _write_calls(self, choice: int) -> list[Chunk]:
        """Write the calls that wait, because another part follows them."""
        calls = self.calls.get(choice)
        if not calls:
            return []
        self.calls[choice] = []
        return [self._chunk(calls, choice)]

    def _chunk(self, blocks: list[JSON], choice: int) -> Chunk:
        candidate: Object = {"content": {"role": "model", "parts": blocks}, "index": choice}
        return {**self.head, "candidates": [candidate]}

    def finish(self, event: Finish) -> list[Chunk]:
        self.stops[event.choice] = event.stop
        return []

    def close(self) -> list[Chunk]:
        candidates: list[JSON] = []
        body: Object = {}
        for choice, stop in sorted(self.stops.items()):
            # The calls show that the model stopped for a tool.
            called = stop == "tool" and choice in self.calls
            body = self.empty_event("stop" if called else stop)
            candidate = get(body, ("candidates", 0))
            assert isinstance(candidate, dict)
            candidate["index"] = choice
            if choice in self.last_written:
                parts = self.calls.get(choice) or [{"text": ""}]
                candidate["content"] = {"role": "model", "parts": parts}
            candidates.append(candidate)
        return [{**body, "candidates": candidates}]

    def error(self, event: StreamError) -> list[Chunk]:
        status = event.code if event.code in _HTTP_STATUS else "INTERNAL"
        error: Object = {"code": _HTTP_STATUS[status], "message": event.message, "status": status}
        calls = [chunk for choice in self.calls for chunk in self._write_calls(choice)]
        return [*calls, {"error": error}]


STREAM = StreamSpec(reader=GeminiReader, writer=GeminiWriter, frame=data_sse)
