"""Translate neutral events into events of a target wire.

Does for events what `translate` does for bodies: fits ids and names, lowers parts to the target's
capabilities, and reports each loss. An event is written as soon as the grammar of the target
allows. Knows wires only through their specs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from toolwire.codec import IdMapInput
from toolwire.conversation.id_map import CUSTOM_CALL, IdMap
from toolwire.conversation.model import SIGNATURE_LOST, Loss, Usage
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Text
from toolwire.streaming.accumulate import complete_part, text_to_stream, without_text
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
from toolwire.streaming.executed_calls import ExecutedCalls
from toolwire.streaming.finish_reasons import FinishReasons
from toolwire.streaming.object_arguments import write_first_arguments, write_kept_arguments
from toolwire.streaming.open_part import CLOSE_WRAPPER, Mode, OpenPart, open_wrapper, wrap_delta
from toolwire.streaming.stream_edits import StreamEdits
from toolwire.streaming.target_stream import TargetStream
from toolwire.wires.engine.encode_context import NO_REQUEST, UNKNOWN_FIELD, RequestInfo
from toolwire.wires.engine.part_lowering import ONE_CALL, ONE_CANDIDATE
from toolwire.wires.engine.server_tools import ServerToolPolicy, form_of, require_policy
from toolwire.wires.engine.specs import Wire

Out = TypeVar("Out")


class EventTranslator(Generic[Out]):
    """Translates neutral events into a stream of a target wire.

    Without a source wire, the events are about calls that the caller runs itself: a target that
    cannot hold results gets them as text.
    """

    def __init__(
        self,
        target: str,
        encode_chunk: Callable[[Chunk], Out] | None = None,
        *,
        source: Wire | None = None,
        source_has_results: bool = True,
        ids: IdMapInput = None,
        server_tools: ServerToolPolicy = "auto",
        version: int | None = None,
        edits: StreamEdits | None = None,
        request: RequestInfo = NO_REQUEST,
    ) -> None:
        """Prepare the target.

        Args:
            target: The name of a wire, profile or provider.
            encode_chunk: Makes an output item of each event; by default, the framing of the wire.
            source: The wire that the events were read from, if any.
            source_has_results: True if the events may include results of client tools.
            ids: The id map of an earlier translation, to restore ids.
            server_tools: How to write server tools that the target cannot hold.
            version: The version of the target wire, for wires that have several.
            edits: Edits that the caller makes in the stream.
            request: Facts about the request of the answer.

        Raises:
            UsageError: The target does not stream, or the value of an option does not exist.
        """
        require_policy(server_tools, target)
        self._edits = edits
        self._target = TargetStream(
            target, source=source, ids=ids, version=version, request=request
        )
        self.target_spec = self._target.spec
        self._context = self._target.context
        self._writer = self._target.writer
        self._encode_chunk: Callable[[Chunk], Out] = encode_chunk or self.target_spec.frame  # type: ignore[assignment]
        self._executed = ExecutedCalls(
            form_of(server_tools, kind="response"),
            target_has_server_tools=self._target.wire.hosts and server_tools != "drop",
            wait=source_has_results and self._writer.must_know_executor(),
            losses=self._context.losses,
        )
        self.fault: StreamError | None = None
        """The error that ended the stream, if any; nothing is written after it."""
        self._begun = False
        self._parts: dict[int, OpenPart] = {}
        """The open parts by slot."""
        self._finish_reasons = FinishReasons()
        self._next_slot = -1
        """The slot for the next complete part that is written in pieces; counts down, so that it
        never equals a slot of the source."""

    # --- for the caller ---

    @property
    def losses(self) -> list[Loss]:
        """The losses so far."""
        return list(dict.fromkeys(self._context.losses))

    @property
    def usage(self) -> Usage | None:
        """The token usage, once an event has reported it."""
        usage = self._writer.settings.get("usage")
        return usage if isinstance(usage, Usage) else None

    @property
    def ids(self) -> IdMap:
        """The id map so far, from the ids and names that were sent to those of the source."""
        return self._target.ids

    @property
    def trailer(self) -> bytes:
        """The bytes after the last event of a framed stream: none after an error."""
        return b"" if self.fault is not None else self.target_spec.trailer

    @property
    def writes_results_as_text(self) -> bool:
        """True if calls and results become text, so that they must not interrupt an open text."""
        return not self._writer.supports_results

    def emit(self, events: list[Event]) -> list[Out]:
        """Translate events into output items."""
        return [] if self.fault is not None else self._encode(self._translate(events))

    def close(self) -> list[Out]:
        """The output items that end the stream."""
        if self.fault is not None:
            return []
        return [*self._encode(self._release_calls()), *self._encode(self._finish())]

    # --- steps that a subclass uses or extends ---

    def begin(self) -> list[Out]:
        """The output items that begin the answer; none if it has begun."""
        return self._encode(self._begin())

    def encode(self, chunks: list[Chunk]) -> list[Out]:
        """Encode additional events of the target as output items."""
        return self._encode(chunks)

    def _encode(self, chunks: list[Chunk]) -> list[Out]:
        if self._edits is not None and chunks:
            chunks = self._edits.edit_chunks(chunks)
        return list(map(self._encode_chunk, chunks))

    def _translate(self, events: list[Event]) -> list[Chunk]:
        """Translate events of the source or the caller, after the edits."""
        return self._write(events if self._edits is None else self._edits.edit_events(events))

    def _begin(self) -> list[Chunk]:
        """Begin the answer unless it has begun."""
        return [] if self._begun else self._on_message_start(MessageStart({}))

    def _release_calls(self) -> list[Chunk]:
        """Write the waiting calls: first those with a result, then those without."""
        return [*self._write_executed(), *self._write(self._executed.release())]

    def _write_executed(self) -> list[Chunk]:
        """Write calls that the source ran, and their results."""
        wait, self._executed.wait = self._executed.wait, False
        out = self._write(self._executed.take_answered())
        self._executed.wait = wait
        return out

    def _finish(self) -> list[Chunk]:
        """Write the finish reasons and the end of the stream."""
        out: list[Chunk] = []
        for finish in self._finish_reasons.finishes():
            out += self._writer.finish(finish)
        out += self._writer.close()
        return out if self._edits is None else self._edits.edit_last_chunks(out)

    def _write_error(self, error: StreamError) -> list[Chunk]:
        self.fault = error
        return self._writer.error(error)

    # --- events ---

    def _write(self, events: list[Event]) -> list[Chunk]:
        out: list[Chunk] = []
        for event in events:
            if type(event) is PartDelta:
                part = self._parts.get(event.slot)
                if part is None or part.mode == "pass":
                    out += self._writer.delta(event)
                else:
                    out += self._write_delta(part, event)
            else:
                out += _HANDLERS[event.__class__](self, event)
        return out

    def _write_delta(self, part: OpenPart, event: PartDelta) -> list[Chunk]:
        """Write a delta of a part whose mode is not `pass`."""
        match part.mode:
            case "check":
                return write_first_arguments(part, event.text, self._writer)
            case "drop":
                return []
            case "buffer":
                part.texts.append(event.text)
                return []
            case "delay":
                part.mode = "pass"
                return [*self._writer.start(part.start), *self._writer.delta(event)]
            case "wrap":
                return self._writer.delta(wrap_delta(event))
        return self._writer.delta(event)

    def _on_message_start(self, event: MessageStart) -> list[Chunk]:
        if self._begun:
            self._writer.metadata(Metadata(event.settings))
            return []
        self._begun = True
        return self._writer.begin(MessageStart(self._target.lower_settings(event.settings)))

    def _on_turn_start(self, event: TurnStart) -> list[Chunk]:
        out = self._write_executed() if event.role == "assistant" else []
        self._target.fitter.start_turn()
        if not self._writer.supports_results or self._executed.any_text:
            return out
        return [*out, *self._begin(), *self._writer.start_turn(event)]

    def _on_part_start(self, event: PartStart) -> list[Chunk]:
        part, writer = event.part, self._writer
        if event.choice and not writer.supports_candidates:
            self._parts[event.slot] = OpenPart(event, "drop")
            self._context.report_loss(("choices", event.choice), ONE_CANDIDATE)
            return []
        out = self._begin()
        if isinstance(part, Call):
            return out + self._start_call(event, part)
        self._target.report_unknown_fields(part)
        lowered = self._target.lower_opening(part)
        if lowered is None:
            self._parts[event.slot] = OpenPart(event, "drop")
            return out
        if lowered is not part:
            event = replace(event, part=lowered)
        if isinstance(part, Reasoning):
            self._parts[event.slot] = OpenPart(event, "delay")
            return out
        self._parts[event.slot] = OpenPart(event)
        return out + writer.start(event)

    def _start_call(self, event: PartStart, call: Call) -> list[Chunk]:
        slot, choice, writer = event.slot, event.choice, self._writer
        if self._executed.must_buffer(call):
            self._parts[slot] = OpenPart(event, "buffer")
            return []
        if writer.writes_one_call and self._finish_reasons.has_call(choice):
            self._parts[slot] = OpenPart(event, "drop")
            self._context.report_loss(call, ONE_CALL)
            return []
        self._target.report_unknown_fields(call)
        call = self._target.fit_call(call)
        if call.runs_on_client:
            self._finish_reasons.add_call(choice)
        mode: Mode = "check" if writer.requires_object_arguments else "pass"
        if call.family == "custom" and not writer.supports_custom_calls:
            self._context.report_loss(
                call, "a custom call is sent as a function call with one field, `input`"
            )
            self._context.call_forms[call.id] = CUSTOM_CALL
            mode = "wrap"
            call = replace(call, family="function")
        start = PartStart(slot, call, choice)
        minted_id = call.id if call.origin == "minted" else None
        self._parts[slot] = OpenPart(start, mode, minted_id)
        out = writer.start(start)
        if mode == "wrap":
            out = [*out, *writer.delta(PartDelta(slot, open_wrapper("input")))]
        return out

    def _on_part_end(self, event: PartEnd) -> list[Chunk]:
        part = self._parts.pop(event.slot, None)
        if event.signature is not None and not self._keeps_signature(part, event.signature):
            self._context.report_loss((self._position(),), SIGNATURE_LOST)
            event = replace(event, signature=None)
        if part is not None and part.mode == "drop":
            return []
        if part is None:
            return self._writer.end(event)
        if event.alias is not None and part.minted_id is not None:
            self._target.fitter.sent[part.minted_id] = event.alias
        match part.mode:
            case "pass":
                return self._writer.end(event)
            case "delay" if event.signature is not None:
                return [*self._writer.start(part.start), *self._writer.end(event)]
            case "delay":
                lowered = self._target.lower(part.start.part)
                if lowered is None:
                    return []
                return self._writer.complete(PartComplete(lowered, part.start.choice))
            case "buffer":
                return self._end_buffered_call(part, event)
            case "check":
                out = write_kept_arguments(part, self._writer)
                is_wrapped = part.mode != "check"
                return out + (self._end_wrapped(event) if is_wrapped else self._writer.end(event))
            case "wrap":
                return self._end_wrapped(event)
        return self._writer.end(event)

    def _end_wrapped(self, event: PartEnd) -> list[Chunk]:
        """End a call whose arguments are written inside a JSON string."""
        self._writer.report_changed_arguments(event)
        end = PartEnd(event.slot, cut=event.cut)
        if event.cut:
            return self._writer.end(end)
        closing = self._writer.delta(PartDelta(event.slot, CLOSE_WRAPPER))
        return [*closing, *self._writer.end(end)]

    def _keeps_signature(self, part: OpenPart | None, signature: str) -> bool:
        """True if the target can hold the signature of a part that ends."""
        if part is None or part.mode == "drop":
            return False
        return self._target.takes_signature(replace(part.start.part, signature=signature))

    def _end_buffered_call(self, part: OpenPart, event: PartEnd) -> list[Chunk]:
        call, choice = complete_part(part.start.part, part.texts, event), part.start.choice
        assert isinstance(call, Call)
        if self._executed.becomes_text(call):
            return self._write_as_text(call, choice)
        self._executed.hold(call, choice)
        return []

    def _write_as_text(self, part: Part, choice: int) -> list[Chunk]:
        """Write a call or result that the target cannot hold as text."""
        text = self._executed.as_text(part)
        return [] if text is None else self._on_part_complete(PartComplete(text, choice))

    def _position(self) -> int:
        """The index of the source event that is being translated."""
        return 0

    def _on_part_complete(self, event: PartComplete) -> list[Chunk]:
        part, writer = event.part, self._writer
        if event.unseen and isinstance(part, Call) and self._resume(part):
            return self._begin()
        text = text_to_stream(part)
        if text is not None:
            return self._write_in_pieces(part, text, event.choice)
        if event.choice and not writer.supports_candidates:
            self._context.report_loss(part, ONE_CANDIDATE)
            return []
        out = self._begin()
        if isinstance(part, Result):
            return out + self._write_result(part, event.choice)
        self._target.report_unknown_fields(part)
        lowered = self._target.lower(part)
        if lowered is None:
            return out
        if lowered is not part and isinstance(lowered, Text):
            return out + self._on_part_complete(PartComplete(lowered, event.choice))
        return out + writer.complete(replace(event, part=lowered))

    def _write_in_pieces(self, part: Part, text: str, choice: int) -> list[Chunk]:
        """Write a complete part as a start, one delta and an end."""
        slot = self._next_slot
        self._next_slot -= 1
        events: list[Event] = [PartStart(slot, without_text(part), choice)]
        if text:
            events.append(PartDelta(slot, text))
        events.append(PartEnd(slot, signature=part.signature))
        return self._write(events)

    def _write_result(self, result: Result, choice: int) -> list[Chunk]:
        call = self._executed.take(result.call_id)
        if call is not None and self._writer.supports_results:
            done = self._executed.answer(call, PartComplete(result, choice))
            return self._write_executed() if done else []
        if call is not None:  # the source ran the tool, as a provider runs a server tool
            return [*self._write_as_text(call, choice), *self._write_as_text(result, choice)]
        if self._executed.becomes_text(result):
            return self._write_as_text(result, choice)
        if result.executor == "client" and not self._writer.supports_results:
            self._context.report_loss(result, "a response contains only assistant content")
            return []
        self._target.report_unknown_fields(result)
        result = self._target.fitter.result(result)
        lowered = self._target.lower(result) or result
        return self._writer.complete(PartComplete(lowered, choice))

    def _resume(self, call: Call) -> bool:
        """True if the client of the target has the call from an earlier stream. If not, the call is
        written without arguments, which is reported."""
        if self._target.is_known_call(call):
            return True
        self._context.report_loss(
            call, "only the result of this call is in the stream; its arguments are sent as empty"
        )
        return False

    def _on_metadata(self, event: Metadata) -> list[Chunk]:
        settings = self._target.lower_settings(event.settings)
        return [*self._begin(), *self._writer.metadata(Metadata(settings))]

    def _on_finish(self, event: Finish) -> list[Chunk]:
        if not event.choice or self._writer.supports_candidates:
            self._finish_reasons.add(event)
        return self._begin()

    def _on_error(self, event: StreamError) -> list[Chunk]:
        return [*self._begin(), *self._release_calls(), *self._write_error(event)]

    def _on_unsupported(self, event: Unsupported) -> list[Chunk]:
        if event.reason == UNKNOWN_FIELD:
            self._context.report_unknown_field(event.path)
        else:
            self._context.report_loss(event.path, event.reason)
        return []


_HANDLERS: dict[type, Callable[..., list[Chunk]]] = {
    MessageStart: EventTranslator._on_message_start,
    TurnStart: EventTranslator._on_turn_start,
    PartStart: EventTranslator._on_part_start,
    PartEnd: EventTranslator._on_part_end,
    PartComplete: EventTranslator._on_part_complete,
    Metadata: EventTranslator._on_metadata,
    Finish: EventTranslator._on_finish,
    StreamError: EventTranslator._on_error,
    Unsupported: EventTranslator._on_unsupported,
}
