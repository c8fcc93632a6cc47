"""Read the chunks of a Genkit stream.

HTTP flows send `{"message": chunk}`, and at the end `{"result": response}`.

- bare-chunks-too: a chunk or a response may come without such a frame (the framework's own API
  sends lines of them), and a flow's chunk may be plain text. A stream of bare chunks has no end
  mark.
- index-counts-messages: `index` counts the messages of an answer: a model's turn, the tools'
  responses, the next turn. The response holds the last one; those before it are in the messages of
  its request.
- texts-grow: the first part of a chunk continues the last one before it, if both are text or both
  are reasoning. Two texts in one chunk are two texts, so a separate text comes after an empty piece
  of the one before it.
- aggregated-repeats: a chunk with `aggregated` holds the whole message so far.
- snapshots-and-fragments: JavaScript sends a request repeatedly, with `partial` and the input as
  far as it could be parsed; Go sends fragments of JSON text as the input, with ref and name only on
  the first. Objects are emitted when they are no longer partial, or when the turn is over; text
  that begins with a brace is emitted as it arrives.
- a-ref-may-come-late: Go gives refs to requests without one only in the response. Such a request is
  emitted when the turn is over.
- completion-order: responses arrive as the tools finish; their refs pair them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Role, Text
from toolwire.errors import DecodeError
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
    TurnStart,
    Unsupported,
)
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, VALUE_CHANGED
from toolwire.wires.engine.specs import text_or_none
from toolwire.wires.engine.stream import copy_json, merge
from toolwire.wires.families.turns.stream_reader import CUT_ERROR, TurnStreamReader
from toolwire.wires.genkit.blocks import NAME
from toolwire.wires.genkit.bodies import MESSAGES, read
from toolwire.wires.genkit.message_digest import MessageDigest
from toolwire.wires.genkit.tool_requests import ToolRequest, adopt_refs, find_request, match_calls

_CHUNK_KEYS = frozenset({"role", "index", "content", "aggregated"})
_RESPONSE_KEYS = frozenset({"finishReason", "usage", "candidates"})
"""Fields that a response has and a chunk lacks."""


class GenkitReader(TurnStreamReader):
    """Reads one stream of Genkit."""

    wire = NAME
    shape = MESSAGES
    signature_field = "metadata"

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.started = False
        self.framed = False
        """True if chunks arrived in a frame: then a result must follow."""
        self.index: JSON = None
        self.role: Role | None = None
        """The role of the current message; None before the first one."""
        self.requests: list[ToolRequest] = []
        """The tool requests of the current message."""
        self.ordinal = 0
        """Number of calls in the stream so far."""
        self.sizes: dict[type[Part], int] = {}
        """How much of the current message was read, by type of part: characters of text, or the
        number of parts."""
        self.digest = MessageDigest()
        """What was sent of the current message."""
        self.unanswered: list[Call] = []
        self.unpaired = 0
        """The number of results so far that are paired with no call."""
        self.aggregates = False
        """True if a chunk repeated its whole message."""
        self.unknown: Object = {}
        """Unknown fields of chunks, and the value of a flow that returned no response."""
        self.response: Object | None = None

    def read(self, event: Chunk) -> list[Event]:
        out: list[Event] = []
        if not self.started:
            self.started = True
            out.append(MessageStart({}))
        if "content" in event:
            return out + self._read_chunk(event, (self.count,))
        error = event.get("error")
        if error is not None:
            code = text_or_none(error.get("status")) if isinstance(error, dict) else None
            return out + self.fail(error, code)
        if "result" in event and event.get("message") is None:
            return out + self._read_result(event["result"], (self.count, "result"))
        if not _RESPONSE_KEYS.isdisjoint(event):
            return out + self._read_result(event, (self.count,))
        chunk = event.get("message")
        self.framed = self.framed or "message" in event
        if isinstance(chunk, str):
            chunk = {"content": [{"text": chunk}]}
        if isinstance(chunk, dict):
            return out + self._read_chunk(chunk, (self.count, "message"))
        return [*out, Unsupported((self.count,), "an unknown event")]

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        is_open = super().text_appender(slot) is not None
        return self._count_text if is_open and not self.aggregates else None

    def _count_text(self, text: str) -> bool:
        assert self.parts.open is not None
        kind = type(self.parts.open.part)
        self.sizes[kind] += len(text)
        self.digest.append(kind, text)
        return True

    def _count(self, part: Part) -> None:
        self.sizes[type(part)] = self.sizes.get(type(part), 0) + _size(part)
        self.digest.add(part)

    # --- chunks ---

    def _read_chunk(self, chunk: Object, path: JsonPath) -> list[Event]:
        content = chunk.get("content")
        if not isinstance(content, list):
            return [Unsupported((*path, "content"), UNKNOWN_FIELD)]
        out: list[Event] = []
        if self.role is None or not chunk.keys().isdisjoint(("role", "index")):
            out = self._read_head(chunk, content)
        if not _CHUNK_KEYS.issuperset(chunk):
            out += self._read_unknown(chunk, path)
        if chunk.get("aggregated") is True:
            self.aggregates = True
            return out + self._read_aggregated(content, (*path, "content"))
        for i, block in enumerate(content):
            out += self.read_block(block, (*path, "content", i), first=i == 0)
        return out

    def _read_unknown(self, chunk: Object, path: JsonPath) -> list[Event]:
        """Keep the unknown fields of a chunk, and report each of them once."""
        out: list[Event] = []
        for key, value in chunk.items():
            if key in _CHUNK_KEYS or value is None:
                continue
            if self.keep:
                self.unknown[key] = merge(self.unknown.get(key), value)
            out += self.report_unknown(*path[1:], key)
        return out

    def _read_head(self, chunk: Object, content: list[JSON]) -> list[Event]:
        """Start the next message if the chunk does not belong to the message of the previous
        chunk."""
        name, index = chunk.get("role"), chunk.get("index")
        role = self.role or "assistant"
        if isinstance(name, str):
            role = MESSAGES.role_from_wire.get(name, "assistant")
        same_index = index is None or self.index is None or index == self.index
        if same_index and role == self.role:
            self.index = index if self.index is None else self.index
            return []
        first = self.role is None
        adopt_refs(self.requests, content)
        out = self.close_parts(cut=False)
        self._start_message(role, index)
        return out if first and role == "assistant" else [*out, TurnStart(role)]

    def _start_message(self, role: Role, index: JSON) -> None:
        self.role, self.index = role, index
        self.requests = []
        self.sizes = {}
        self.digest = MessageDigest()
        self.start_record({"role": MESSAGES.role_to_wire[role]})

    # --- parts ---

    def read_part(self, part: Part, block: Object, *, first: bool) -> list[Event]:
        if isinstance(part, Call):
            return self._read_request(part, block)
        self._count(part)
        return super().read_part(part, block, first=first)

    def assign_result_id(self, result: Result) -> Result:
        """The result with the id of its call, which is found by its ref or by its name.

        By name, it is the only call without a ref, or else the only call with one.
        """
        if result.call_id:
            self.unanswered = [call for call in self.unanswered if call.id != result.call_id]
            return result
        named = [call for call in self.unanswered if call.name == result.name]
        minted = [call for call in named if call.origin == "minted"]
        if len(minted or named) != 1:
            call_id = mint(f"{self.seed} result", self.unpaired, result.name or "")
            self.unpaired += 1
            return replace(result, call_id=call_id)
        call = (minted or named)[0]
        self.unanswered.remove(call)
        return replace(result, call_id=call.id)

    # --- tool requests ---

    def _read_request(self, part: Call, block: Object) -> list[Event]:
        raw_request = block["toolRequest"]
        fields = raw_request if isinstance(raw_request, dict) else {}
        request = find_request(self.requests, part)
        out: list[Event] = []
        fragment = request is not None and not part.name
        if request is None:
            out = self.close_text()
            for earlier in self.requests:  # fragments belong to the newest request
                if earlier.ref and earlier.pieces:
                    out += self._close_request(earlier, cut=False)
            request = ToolRequest.begin(part, block, self.ordinal)
            self.ordinal += 1
            self.requests.append(request)
            if self.keep:
                self.parts.blocks.append(request.block)
        request.ref = request.ref or part.id
        if request.streamed and not fragment:
            out += self.report_unknown("toolRequest", "input", reason=VALUE_CHANGED)
        partial = fields.get("partial") is True
        text = request.add_input(fields.get("input"), partial=partial, fragment=fragment)
        return out + self._emit_request(request, text)

    def _emit_request(self, request: ToolRequest, new_text: str) -> list[Event]:
        """Emit what is certain of a request. Requests are emitted in the order in which they
        started."""
        if not request.ref or not request.call.name:
            return []
        earlier = self.requests[: self.requests.index(request)]
        if any(other.slot is None for other in earlier):
            return []
        if not isinstance(request.value, UnsetType) and not request.partial:
            return self._close_request(request, cut=False)
        out = self._open_request(request)
        if request.streamed:
            texts = [new_text]
        elif any(request.pieces) and request.text_is_json:
            request.streamed = True
            texts = request.pieces
        else:
            return out
        assert request.slot is not None
        return out + [PartDelta(request.slot, text) for text in texts if text]

    def _open_request(self, request: ToolRequest) -> list[Event]:
        """Emit the start of a call, unless it was emitted."""
        if request.slot is not None:
            return []
        out = self.close_text()
        call = replace(request.call, id=request.ref, origin="wire" if request.ref else "minted")
        call = self.assign_call_id(call, request.ordinal)
        self.unanswered.append(self.calls.last)
        self._count(call)
        request.slot = self.next_slot()
        return [*out, PartStart(request.slot, replace(call, args=LazyJson(""), signature=None))]

    def _close_request(self, request: ToolRequest, *, cut: bool) -> list[Event]:
        if request.closed:
            return []
        request.closed = True
        out = self._open_request(request)
        assert request.slot is not None
        text = "" if request.streamed else request.arguments_text()
        if text:
            out.append(PartDelta(request.slot, text))
        request.partial = request.partial and cut
        if self.keep:
            request.block["toolRequest"] = request.write()
        unfinished = request.partial or (cut and isinstance(request.value, UnsetType))
        end = PartEnd(request.slot, signature=request.call.signature, cut=unfinished)
        return [*out, end]

    def close_parts(self, *, cut: bool) -> list[Event]:
        out = self.close_text(cut=cut)
        for request in self.requests:
            out += self._close_request(request, cut=cut)
        return out

    # --- messages that are repeated ---

    def _read_aggregated(self, content: list[JSON], path: JsonPath) -> list[Event]:
        """Read the new content of a chunk that holds the whole message so far."""
        requests = list(self.requests)
        readable: list[JSON] = []
        parts: list[Part] = []
        for i, block in enumerate(content):
            try:
                parts.append(MESSAGES.read_part(block, (*path, i)))
            except DecodeError:
                continue
            readable.append(block)
        self._skip_changed_texts(parts)
        compared: dict[type[Part], int] = {}
        out: list[Event] = []
        for part, block in zip(parts, readable, strict=True):
            if not isinstance(part, Call):
                out += self._read_new(part, compared)
                continue
            same = (req for req in requests if (req.ref, req.call.name) == (part.id, part.name))
            known = next(same, None)
            if known is not None:
                requests.remove(known)
            if (known is None or not known.closed) and isinstance(block, dict):
                out += self._read_request(part, block)
        if self.digest.is_changed_by(parts, self.requests):
            out += self.report_unknown(*path[1:], reason=VALUE_CHANGED)
        if self.keep:
            self._replace_content([copy_json(block) for block in readable])
        return out

    def _skip_changed_texts(self, parts: Sequence[Part]) -> None:
        """Count the texts of a repeated message as read if they differ from what was sent."""
        for kind in self.digest.changed_types(parts):
            if kind in (Text, Reasoning):
                self.sizes[kind] = sum(_size(part) for part in parts if type(part) is kind)

    def _read_new(self, part: Part, compared: dict[type[Part], int]) -> list[Event]:
        """Read the new content of a repeated part.

        `compared` counts the repeated parts as `sizes` counts the parts that were read.
        """
        start, known = compared.get(type(part), 0), self.sizes.get(type(part), 0)
        compared[type(part)] = start + _size(part)
        block = part.raw
        if start + _size(part) <= known or not isinstance(block, dict):
            return []
        if isinstance(part, Text | Reasoning):
            part = replace(part, text=part.text[max(known - start, 0) :])
        return self.read_part(part, block, first=known > start)

    def _replace_content(self, content: list[JSON]) -> None:
        """Replace the kept blocks of the current message; open parts continue in the new ones."""
        self.messages[-1].content = self.parts.blocks = content
        last, current = content[-1] if content else None, self.parts.open
        if current is not None and isinstance(last, dict):
            text = last.get(current.field)
            if isinstance(text, str):
                current.block, current.pieces = last, [text]
        for block in content:
            ref = get(block, ("toolRequest", "ref"))
            for request in self.requests:
                if isinstance(block, dict) and request.ref == ref and ref and not request.closed:
                    request.block = block

    # --- the end ---

    def _read_result(self, result: JSON, path: JsonPath) -> list[Event]:
        """Read the last event: the response, or another value that a flow returned."""
        self.over = True
        conversation: Conversation | None = None
        if isinstance(result, dict):
            try:
                conversation = read(result, "response")
                self.response = result
            except DecodeError:
                conversation = None
        if conversation is None:
            self.unknown["result"] = result
            reason = "the result of a flow has no neutral form"
            return [*self.close_parts(cut=False), Unsupported(path, reason), Finish(None)]
        out: list[Event] = []
        for choice, message in enumerate(conversation.messages):
            parts = tuple(
                replace(part, source=replace(part.source, path=(*path, *part.path)))
                for part in message.parts
            )
            is_repeated = not choice and self.role == "assistant"
            if is_repeated and self.digest.is_changed_by(parts, self.requests):
                out += self.report_unknown(*path[1:], reason=VALUE_CHANGED)
            if choice:
                out += [PartComplete(self._identify(part), choice) for part in parts]
            else:
                out += self._complete_message(parts)
        out.append(Metadata(conversation.settings))
        unknown = conversation.source.unknown_fields
        out += [Unsupported((*path, *field), UNKNOWN_FIELD) for field in unknown]
        for choice, message in enumerate(conversation.messages):
            out.append(Finish(message.stop, choice))
        return out

    def _identify(self, part: Part) -> Part:
        """A part of the response; a call is recorded under its id."""
        if not isinstance(part, Call):
            return part
        self.ordinal += 1
        return self.assign_call_id(part)

    def _complete_message(self, parts: tuple[Part, ...]) -> list[Event]:
        """Read the content of the response that the stream did not have."""
        out: list[Event] = []
        if self.role != "assistant":
            out = self.close_parts(cut=False)
            if self.role is not None:
                out.append(TurnStart("assistant"))
            self._start_message("assistant", None)
        calls = match_calls(self.requests, [part for part in parts if isinstance(part, Call)])
        if not self.sizes and not self.requests:
            return out + [PartComplete(self._identify(part)) for part in parts]
        self._skip_changed_texts(parts)
        compared: dict[type[Part], int] = {}
        for part in parts:
            if not isinstance(part, Call):
                out += self._read_new(part, compared)
        out += self.close_parts(cut=False)
        return out + [PartComplete(self._identify(part)) for part in calls]

    def end(self) -> list[Event]:
        if self.over or self.error is not None:
            return []
        if self.role is not None and not self.framed:
            return [*self.close_parts(cut=False), Finish(None)]
        return self.fail_cut(CUT_ERROR)

    def body(self) -> JSON:
        messages = self.message_bodies()
        message: JSON = {"role": "model", "content": []}
        if self.role == "assistant" and messages:
            message = messages.pop()
        earlier: Object = {"request": {"messages": messages}} if messages else {}
        if self.response is not None:
            whole = {} if {"message", "candidates"} & self.response.keys() else {"message": message}
            return {**earlier, **whole, **self.response, **self.error_field()}
        failed = self.error is not None and not self.cut
        if not self.messages and not self.unknown and not failed:
            raise self.no_events_error()
        return {**self.unknown, "message": message, **earlier, **self.error_field()}


def _size(part: Part) -> int:
    return len(part.text) if isinstance(part, Text | Reasoning) else 1
