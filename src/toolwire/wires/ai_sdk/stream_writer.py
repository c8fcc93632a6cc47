"""AI SDK: write a UI message stream.

- steps: a step starts with its first part, and a new one with the first part after the results of
  functions. Texts end before their step does, because older clients forget open texts.
- input-that-cannot-be-read: the client gets the text of the input and an error; versions before 7
  also expect an output with this error.

A text starts with its first delta, so that an empty text is not written. A call that was cut off
but whose input is valid JSON is held back until the stream shows whether the input was complete. It
was not if another step follows.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_map import ApprovalDecision
from toolwire.conversation.json import JSON
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Media, Message, Result, Source, Text, describe
from toolwire.streaming.events import (
    Chunk,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.wires.ai_sdk import approvals
from toolwire.wires.ai_sdk.bodies import explicit_reason, write
from toolwire.wires.ai_sdk.chunk_types import VERSIONS, adapt_chunk, fit_chunk, holds_chunk
from toolwire.wires.ai_sdk.settings import FINISH_REASON_TO_WIRE
from toolwire.wires.ai_sdk.stream_reader import ChunkReader
from toolwire.wires.ai_sdk.tool_parts import (
    CUT_OFF,
    is_provider_executed,
    write_result,
    write_tool_part,
)
from toolwire.wires.ai_sdk.ui_writer import write_content
from toolwire.wires.engine.encode_context import VALUE_CHANGED, EncodeContext
from toolwire.wires.engine.stream import DONE, StreamSpec, StreamWriter, data_sse

_FINISH_PATH = ("finish_reason",)
"""The path of a lost finish reason, because the neutral event has no path."""


class _CallState(Struct, eq=False):
    """The state of a call of the stream."""

    part: Call
    deltas: list[str]
    invalid_input: bool = False
    only_requested: bool = False
    """True if the stream has only the approval request, not the call."""
    answered: bool = False
    request: Call | None = None
    """The call that requests approval for this one."""
    denied: bool = False
    """True if the user of the client denied the call."""
    preliminary: Result | None = None
    """The last preliminary result."""


class ChunkWriter(StreamWriter):
    """Writes the chunks of one stream."""

    supports_results = True

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.major = version or VERSIONS[0]
        self.empty_texts: dict[int, str] = {}
        """Slot → kind, for texts and reasoning that have no text yet."""
        self.open_texts: dict[int, tuple[str, str]] = {}
        """Slot → kind and id, for texts and reasoning that are open in the client."""
        self.open_calls: dict[int, _CallState] = {}
        self.open_requests: dict[int, tuple[_CallState, Call]] = {}
        """Slot → the call that an approval request is about, and the request, while its input is
        open."""
        self.open_repeats: dict[int, tuple[_CallState, _CallState]] = {}
        """Slot → the call that an approval request before it has shown, and the call itself, while
        its input is open."""
        self.calls: dict[str, _CallState] = {}
        self.cut_calls: list[_CallState] = []
        """Calls that were cut off although their input is valid."""
        self.counts = {"text": 0, "reasoning": 0}
        self.in_step = False
        self.has_results = False
        """True after results of functions: the next part starts a step."""
        self.stop: str | None = None

    def _fit(self, *chunks: Chunk) -> list[Chunk]:
        """The chunks as the client's version accepts them."""
        fitted = (fit_chunk(chunk, self.major) for chunk in chunks)
        return [chunk for chunk in fitted if chunk is not None]

    # --- message and steps ---

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        self.write_empty_body(write)  # reports the settings that the stream cannot hold
        message_id = self.settings.get("id")
        start: Chunk = {"type": "start"}
        if isinstance(message_id, str) and message_id:
            start["messageId"] = message_id
        return [start]

    def _start_step(self) -> list[Chunk]:
        """Start a step if the next part needs one."""
        if self.in_step and not self.has_results:
            return []
        out: list[Chunk] = []
        if self.in_step:
            out = [*self._reject_cut_calls(), *self._end_texts(), {"type": "finish-step"}]
        self.in_step, self.has_results = True, False
        return [*out, {"type": "start-step"}]

    def _end_texts(self) -> list[Chunk]:
        """End all texts; a text that continues is started again under a new id."""
        out: list[Chunk] = []
        for slot, (kind, text_id) in self.open_texts.items():
            self.empty_texts[slot] = kind
            out.append({"type": f"{kind}-end", "id": text_id})
        self.open_texts.clear()
        return out

    # --- parts ---

    def start(self, event: PartStart) -> list[Chunk]:
        part = event.part
        if isinstance(part, Call):
            return self._start_call(event.slot, part)
        self.empty_texts[event.slot] = "text" if isinstance(part, Text) else "reasoning"
        return []

    def _start_text(self, slot: int, kind: str) -> list[Chunk]:
        out = self._start_step()  # ends the texts of the step before
        text_id = f"{kind}-{self.counts[kind]}"
        self.counts[kind] += 1
        self.open_texts[slot] = (kind, text_id)
        return [*out, {"type": f"{kind}-start", "id": text_id}]

    def delta(self, event: PartDelta) -> list[Chunk]:
        slot, text = event.slot, event.text
        open_text = self.open_texts.get(slot)
        if open_text is not None:
            return [{"type": f"{open_text[0]}-delta", "id": open_text[1], "delta": text}]
        call = self.open_calls.get(slot)
        if call is not None:
            call.deltas.append(text)
            call_id = call.part.id
            return [{"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": text}]
        if slot in self.open_repeats:
            self.open_repeats[slot][1].deltas.append(text)
        if slot not in self.empty_texts or not text:
            return []
        return [*self._start_text(slot, self.empty_texts.pop(slot)), *self.delta(event)]

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        call = self.open_calls.get(slot)
        if call is not None:
            return call.deltas.append
        return bool if slot in self.open_texts else None

    def end(self, event: PartEnd) -> list[Chunk]:
        slot = event.slot
        call = self.open_calls.pop(slot, None)
        if call is not None:
            text = event.whole if event.whole is not None else "".join(call.deltas)
            call.deltas = []
            call.part = replace(call.part, args=LazyJson(text))
            if event.cut and not call.part.args.broken:
                self.cut_calls.append(call)
                return []
            return self._write_input(call)
        if slot in self.open_requests:
            return self._request_approval(*self.open_requests.pop(slot))
        if slot in self.open_repeats:
            self._end_repeat(*self.open_repeats.pop(slot), event)
            return []
        out: list[Chunk] = []
        if slot in self.empty_texts and event.whole:
            out = self.delta(PartDelta(slot, event.whole))
        self.empty_texts.pop(slot, None)
        open_text = self.open_texts.pop(slot, None)
        if open_text is not None:
            out.append({"type": f"{open_text[0]}-end", "id": open_text[1]})
        return out

    def complete(self, event: PartComplete) -> list[Chunk]:
        part = event.part
        if isinstance(part, Result):
            return self._write_result(part)
        block = write_content(part, self.context, "assistant") if isinstance(part, Media) else None
        return [] if block is None else [*self._start_step(), block]

    # --- calls ---

    def _start_call(self, slot: int, call: Call) -> list[Chunk]:
        shown = self.calls.get(call.id)
        is_repeat = shown is not None and shown.only_requested and call.approval_for is None
        if shown is not None and is_repeat and self._can_wait(shown):
            self.open_repeats[slot] = (shown, _CallState(call, []))
            return []
        request: Call | None = None
        if call.approval_for is not None and self._holds({"type": "tool-approval-request"}):
            about = self.calls.get(call.approval_for)
            if about is not None and about.part.approval_for is not None:
                about = None  # no request is about another
            can_wait = about is not None and self._can_wait(about)
            if can_wait or (about is None and approvals.holds_call(call)):
                self.context.report_loss(call, approvals.REQUEST_MERGED)
                if about is not None:
                    self.open_requests[slot] = (about, call)
                    return []
                request, call = call, approvals.call_of_request(call)
        state = _CallState(call, [], request=request, only_requested=request is not None)
        self.open_calls[slot] = self.calls[call.id] = state
        start: Chunk = {"type": "tool-input-start", "toolCallId": call.id, "toolName": call.name}
        if is_provider_executed(call):
            start["providerExecuted"] = True
        return [*self._start_step(), start]

    def _end_repeat(self, shown: _CallState, call: _CallState, event: PartEnd) -> None:
        """Accept a call that its approval request has already shown; what was sent stays."""
        text = event.whole if event.whole is not None else "".join(call.deltas)
        if call.part.name != shown.part.name or LazyJson(text) != shown.part.args:
            self.context.report_loss(call.part, VALUE_CHANGED)
        shown.part = replace(shown.part, executor=call.part.executor)
        shown.only_requested = False
        self._report_unknown_executor(call.part)

    def _holds(self, chunk: Chunk) -> bool:
        return holds_chunk(chunk, self.major)

    def _can_wait(self, call: _CallState) -> bool:
        """True if the input of a call is complete and the call has no result."""
        if call.answered or call.invalid_input:
            return False
        return call not in self.open_calls.values() and call not in self.cut_calls

    def _request_approval(self, call: _CallState, request: Call) -> list[Chunk]:
        call.request = request
        self._report_unknown_executor(call.part)
        ids: Chunk = {"approvalId": request.id, "toolCallId": call.part.id}
        return [{"type": "tool-approval-request", **ids}]

    def _report_unknown_executor(self, call: Call) -> None:
        if call.executor == "provider":
            self.context.report_loss(call, approvals.EXECUTOR_UNKNOWN)

    def can_skip_call(self, call: Call, approval: ApprovalDecision) -> bool:
        if not approval:
            return False
        self.calls[call.id] = _CallState(call, [], denied=approval == "refused")
        return True

    def _write_input(self, call: _CallState) -> list[Chunk]:
        """The chunks for the complete input of a call, with the fields of the tool part in a whole
        message."""
        block = write_tool_part(call.part, None, self.context)
        chunk: Chunk = {"toolCallId": call.part.id, "toolName": call.part.name}
        if "providerExecuted" in block:
            chunk["providerExecuted"] = True
        if "input" not in block:
            call.invalid_input = True
            return self._reject_input(chunk, block["rawInput"], block["errorText"])
        out: list[Chunk] = [{"type": "tool-input-available", **chunk, "input": block["input"]}]
        if call.request is not None:
            out += self._request_approval(call, call.request)
        return out

    def _reject_input(self, call: Chunk, text: JSON, error: JSON) -> list[Chunk]:
        rejected: Chunk = {"type": "tool-input-error", **call, "input": text, "errorText": error}
        if self.major >= 7:
            return self._fit(rejected)
        failed: Chunk = {"type": "tool-output-error", "toolCallId": call["toolCallId"]}
        return self._fit(rejected, {**failed, "errorText": error})

    def _reject_cut_calls(self) -> list[Chunk]:
        """Reject the input of calls that were cut off before a step or the stream ended."""
        out: list[Chunk] = []
        for call in self.cut_calls:
            call.invalid_input = True
            chunk: Chunk = {"toolCallId": call.part.id, "toolName": call.part.name}
            out += self._reject_input(chunk, call.part.args.text, CUT_OFF)
        self.cut_calls = []
        return out

    # --- results ---

    def _write_result(self, result: Result) -> list[Chunk]:
        call = self.calls.get(result.call_id)
        if call is not None and call.request is not None and result.preliminary:
            self.context.report_loss(result, approvals.PRELIMINARY_OMITTED)
            return []
        self.has_results = self.has_results or (result.family == "function" and self.in_step)
        if call is None or call.only_requested:
            self.context.report_loss(result, f"{approvals.NO_CALL}: {describe(result)[:80]}")
            return []
        preliminary = result.preliminary and not result.error
        if preliminary and not self._holds({"type": "tool-output-available", "preliminary": True}):
            reason = f"clients of version {self.major} would treat this as the final result"
            self.context.report_loss(result, reason)
            return []
        if call.answered:
            self.context.report_loss(result, "a second result of a call replaces the first")
        if call.preliminary is not None:
            self.context.report_loss(call.preliminary, approvals.PRELIMINARY_REPLACED)
        call.preliminary = result if preliminary else None
        call.answered = call.answered or not preliminary
        if call.denied and result.error:  # the client has the reason
            self.context.report_loss(result, "the text of a denied result is not sent")
            return [{"type": "tool-output-denied", "toolCallId": result.call_id}]
        return self._write_output(call, result)

    def _write_output(self, call: _CallState, result: Result) -> list[Chunk]:
        block = write_result(result, self.context)
        out: list[Chunk] = []
        if call in self.cut_calls:
            self.cut_calls.remove(call)
            out = self._write_input(call)
        ids: Chunk = {"toolCallId": result.call_id}
        if call.invalid_input and "output" in block:  # an output needs an input
            value = self.context.arguments_object(call.part)
            name = call.part.name
            out.append({"type": "tool-input-available", **ids, "toolName": name, "input": value})
        chunk: Chunk = {"type": f"tool-{block.pop('state')}", **ids, **block}
        if is_provider_executed(result):
            chunk["providerExecuted"] = True
        return [*out, chunk]

    # --- end ---

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def _finish_reason(self) -> str:
        """The finish reason; without an explicit one, the calls without a result decide."""
        waits = any(
            not call.answered and (call.part.executor == "client" or call.request is not None)
            for call in self.calls.values()
        )
        message = Message("assistant", (), stop=self.stop, source=Source(path=_FINISH_PATH))
        reason = explicit_reason(message, self.context)
        if reason is None:
            return FINISH_REASON_TO_WIRE["tool" if waits else "stop"]
        if not self._holds({"type": "finish", "finishReason": reason}):
            loss = f"version {self.major} has no field for the finish reason: {self.stop}"
            self.context.report_loss(_FINISH_PATH, loss)
        return reason

    def close(self) -> list[Chunk]:
        self.write_empty_body(write)
        out = [chunk for call in self.cut_calls for chunk in self._write_input(call)]
        out += self._end_texts()
        if self.in_step:
            out.append({"type": "finish-step"})
        return [*out, *self._fit({"type": "finish", "finishReason": self._finish_reason()})]

    def error(self, event: StreamError) -> list[Chunk]:
        out = [*self._reject_cut_calls(), *self._end_texts()]
        if event.code == "abort":
            return [*out, *self._fit({"type": "abort", "reason": event.message})]
        return [*out, {"type": "error", "errorText": event.message}]


STREAM = StreamSpec(
    reader=ChunkReader,
    writer=ChunkWriter,
    frame=data_sse,
    trailer=DONE,
    headers={
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    },
    versions=VERSIONS,
    adapt=adapt_chunk,
)
