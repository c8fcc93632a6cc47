"""The UI message stream of the AI SDK: what may be said to which version of the client, and saying
it.

- strict-clients: a type that a client does not know ends the stream, and in older releases so does
  a key; so what is newer than the first release of the version asked for is left out.
- steps: a step is opened with its first part, and a new one with what is said after the results of
  functions. Texts are closed before their step: older clients forget them.
- input-that-cannot-be-read: the client gets its text, and that it is an error; older versions
  expect an output that says so too.

An empty text is no part, so a text is opened with its first words. A call that was cut off, though
its text can be read, waits for the end of the stream to say whether that is all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import (
    Call,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Text,
    describe,
)
from toolwire.streaming.accumulate import with_text
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
from toolwire.wires.ai_sdk.result_content import DENIED
from toolwire.wires.ai_sdk.settings import FINISH_REASON_FROM_WIRE, FINISH_REASON_TO_WIRE, PLAIN
from toolwire.wires.ai_sdk.stream_reader import OWN, ChunkReader
from toolwire.wires.ai_sdk.ui_messages import said
from toolwire.wires.ai_sdk.ui_writer import (
    ASKED,
    EARLY,
    NOTE,
    WAITS,
    is_hosted,
    stands_in,
    stood_in,
    thought,
    write_call,
    write_said,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import write_finish_reason
from toolwire.wires.engine.stream import DONE, StreamSpec, StreamWriter, data_sse

CUT_OFF = "The arguments of this call were cut off."
VERSIONS = (6, 5, 7)

# --- what each version of the client knows --------------------------------------------------------

_Release = tuple[int, int]
"""Major version and patch: 6.0.39 is (6, 39)."""
_5: _Release = (5, 0)
_6: _Release = (6, 0)
_7: _Release = (7, 0)


class _Type(Struct, frozen=True):
    """A type of chunk: the release that brought it, and those that brought its keys."""

    since: _Release
    keys: Mapping[str, _Release]


def _since(release: _Release, first: str = "", **later: _Release) -> _Type:
    return _Type(release, {**dict.fromkeys(("type", *first.split()), release), **later})


_TEXT = "id providerMetadata"
_INPUT = "toolCallId toolName input providerExecuted providerMetadata dynamic"
_OUTPUT = "toolCallId providerExecuted dynamic"
CHUNKS: dict[str, _Type] = {
    "start": _since(_5, "messageId messageMetadata"),
    "start-step": _since(_5),
    "finish-step": _since(_5),
    "reset-step": _since((7, 70)),
    "text-start": _since(_5, _TEXT),
    "text-delta": _since(_5, f"{_TEXT} delta"),
    "text-end": _since(_5, _TEXT, citations=(7, 138)),
    "reasoning-start": _since(_5, _TEXT),
    "reasoning-delta": _since(_5, f"{_TEXT} delta"),
    "reasoning-end": _since(_5, _TEXT),
    "tool-input-start": _since(
        _5,
        "toolCallId toolName providerExecuted dynamic",
        title=_6,
        providerMetadata=(6, 39),
        toolMetadata=(6, 176),
        inputEncoding=(7, 142),
    ),
    "tool-input-delta": _since(_5, "toolCallId inputTextDelta"),
    "tool-input-available": _since(_5, _INPUT, title=_6, toolMetadata=(6, 176)),
    "tool-input-error": _since((5, 8), f"{_INPUT} errorText", title=_6, toolMetadata=(6, 176)),
    "tool-approval-request": _since(
        _6,
        "approvalId toolCallId",
        signature=(6, 202),
        approvalDescriptor=(7, 87),
        inputSchemaInput=(7, 113),
        isAutomatic=_7,
        reason=(7, 82),
    ),
    "tool-approval-response": _since(
        _7, "approvalId approved reason providerExecuted providerMetadata"
    ),
    "tool-output-available": _since(
        _5,
        f"{_OUTPUT} output",
        preliminary=(5, 12),
        providerMetadata=(6, 119),
        toolMetadata=(6, 176),
    ),
    "tool-output-error": _since(
        _5, f"{_OUTPUT} errorText", providerMetadata=(6, 119), toolMetadata=(6, 176)
    ),
    "tool-output-denied": _since(_6, "toolCallId"),
    "source-url": _since(_5, "sourceId url title providerMetadata"),
    "source-document": _since(_5, "sourceId mediaType title filename providerMetadata"),
    "file": _since(_5, "url mediaType providerMetadata"),
    "reasoning-file": _since(_7, "url mediaType providerMetadata"),
    "custom": _since(_7, "kind providerMetadata"),
    "steering-message": _since((7, 154), "id parts"),
    "data-*": _since(_5, "data id transient"),
    "message-metadata": _since(_5, "messageMetadata"),
    "finish": _since(_5, "messageMetadata", finishReason=(5, 92)),
    "abort": _since(_5, reason=(6, 15)),
    "error": _since(_5, "errorText"),
}


def fitted(chunk: Chunk, version: int) -> Chunk | None:
    """A chunk as any release of a major version takes it: without newer keys; None if it has no
    such type."""
    kind = str(chunk.get("type"))
    known = CHUNKS.get("data-*" if kind.startswith("data-") else kind)
    if known is None or known.since > (version, 0):
        return None
    return {
        key: value
        for key, value in chunk.items()
        if known.keys.get(key, (version, 1)) <= (version, 0)
    }


def adapt(chunk: Chunk, version: int) -> Chunk | None:
    """A chunk of any version as another takes it: where nobody can be asked for leave, what was
    refused has failed."""
    known = fitted(chunk, version)
    if known is None and chunk.get("type") == "tool-output-denied":
        return {
            "type": "tool-output-error",
            "toolCallId": chunk.get("toolCallId"),
            "errorText": DENIED,
        }
    # Without its mark a preliminary output would be taken for the last word.
    return (
        known
        if known is None or "preliminary" in known or chunk.get("preliminary") is not True
        else None
    )


# --- writing --------------------------------------------------------------------------------------


class _Call:
    """A call that is being told, and what became of it."""

    __slots__ = ("answered", "asking", "broken", "early", "part", "refused", "texts")

    def __init__(self, part: Call) -> None:
        self.part = part
        self.texts: list[str] = []
        self.broken = False
        self.answered = False
        self.asking: Call | None = None
        """The call that asks leave for this one."""
        self.refused = False
        """Whether the client itself refused it."""
        self.early: Result | None = None
        """What was given in place of the result so far."""


class _Writer(StreamWriter):
    results = True

    def __init__(
        self,
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.major = version or VERSIONS[0]
        self.write = write
        self.held: dict[int, Part] = {}
        """Texts that were opened and have nothing in them yet."""
        self.open: dict[int, tuple[str, str]] = {}
        """Texts and reasoning that a client has open: their kind and id."""
        self.growing: dict[int, _Call] = {}
        self.asking: dict[int, tuple[_Call, Call]] = {}
        """Calls that ask leave for others: those, and which they are."""
        self.calls: dict[str, _Call] = {}
        self.cut: list[_Call] = []
        """Calls that were cut off and can be read all the same."""
        self.counts = {"text": 0, "reasoning": 0}
        self.stepped = False
        self.answered = False
        """Whether results of functions came since the assistant spoke."""
        self.stop: str | None = None

    def _said(self, *chunks: Chunk) -> list[Chunk]:
        return [known for chunk in chunks if (known := fitted(chunk, self.major)) is not None]

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        self.envelope(self.write)
        one = self.settings.get("id")
        return [
            (
                {"type": "start", "messageId": one}
                if isinstance(one, str) and one
                else {"type": "start"}
            )
        ]

    def _spoken(self) -> list[Chunk]:
        """The step in which something is about to be said."""
        if self.stepped and not self.answered:
            return []
        before: list[Chunk] = [*self._closed(), {"type": "finish-step"}] if self.stepped else []
        self.stepped, self.answered = True, False
        return [*before, {"type": "start-step"}]

    def _closed(self) -> list[Chunk]:
        """The ends of all texts; those that go on after all are opened anew."""
        out: list[Chunk] = []
        for slot, (kind, one) in self.open.items():
            self.held[slot] = Text("") if kind == "text" else Reasoning("")
            out.append({"type": f"{kind}-end", "id": one})
        self.open.clear()
        return out

    def start(self, event: PartStart) -> list[Chunk]:
        part = event.part
        if isinstance(part, Text):
            self.held[event.slot] = part
            return []
        if not isinstance(part, Call):
            return self._opened(event.slot, part)
        if part.approval_for is not None and self._knows({"type": "tool-approval-request"}):
            known = self.calls.get(part.approval_for)
            if known is not None and not (
                known.answered
                or known.broken
                or known in self.growing.values()
                or known in self.cut
            ):
                self.context.report_loss(part, ASKED)
                self.asking[event.slot] = (known, part)
                return []
            if known is None and stands_in(part):
                self.context.report_loss(part, ASKED)
                part = self._grows(event.slot, stood_in(part), part)
                return [*self._spoken(), self._begun(part)]
        self._grows(event.slot, part)
        return [*self._spoken(), self._begun(part)]

    def _knows(self, chunk: Chunk) -> bool:
        known = fitted(chunk, self.major)
        return known is not None and known.keys() == chunk.keys()

    def _grows(self, slot: int, part: Call, asking: Call | None = None) -> Call:
        self.growing[slot] = self.calls[part.id] = call = _Call(part)
        call.asking = asking
        return part

    def _begun(self, part: Call) -> Chunk:
        ran: Object = {"providerExecuted": True} if is_hosted(part) else {}
        return {"type": "tool-input-start", "toolCallId": part.id, "toolName": part.name, **ran}

    def _asked(self, call: _Call, asking: Call) -> list[Chunk]:
        call.asking = asking
        if call.part.executor == "provider":
            self.context.report_loss(call.part, WAITS)
        return [
            {"type": "tool-approval-request", "approvalId": asking.id, "toolCallId": call.part.id}
        ]

    def resume(self, call: Call, words: Collection[str]) -> bool:
        if "granted" not in words and "refused" not in words:
            return False
        self.calls[call.id] = held = _Call(call)
        held.refused = "refused" in words
        return True

    def _opened(self, slot: int, part: Part) -> list[Chunk]:
        block = write_said(part, self.context, "assistant")
        if not isinstance(block, dict):
            return []
        kind = str(block["type"])
        one = thought(self.counts[kind]) if kind == "reasoning" else f"text-{self.counts[kind]}"
        self.counts[kind] += 1
        before = self._spoken()
        self.open[slot] = (kind, one)
        return [*before, {"type": f"{kind}-start", "id": one}]

    def delta(self, event: PartDelta) -> list[Chunk]:
        slot, text = event.slot, event.text
        place = self.open.get(slot)
        if place is not None:
            return [{"type": f"{place[0]}-delta", "id": place[1], "delta": text}]
        call = self.growing.get(slot)
        if call is not None:
            call.texts.append(text)
            return [
                {"type": "tool-input-delta", "toolCallId": call.part.id, "inputTextDelta": text}
            ]
        if slot not in self.held or not text:
            return []
        part = self.held.pop(slot)
        opened = self._opened(slot, with_text(part, text))
        return [*opened, *self.delta(event)] if slot in self.open else opened

    def again(self, slot: int) -> Callable[[str], object] | None:
        call = self.growing.get(slot)
        return call.texts.append if call is not None else bool if slot in self.open else None

    def end(self, event: PartEnd) -> list[Chunk]:
        slot = event.slot
        call = self.growing.pop(slot, None)
        if call is not None:
            text = event.whole if event.whole is not None else "".join(call.texts)
            call.texts = []
            call.part = replace(call.part, args=LazyJson(text))
            if event.cut and not call.part.args.broken:
                self.cut.append(call)
                return []
            return self._input(call)
        if slot in self.asking:
            return self._asked(*self.asking.pop(slot))
        held = self.held.pop(slot, None)
        if held is not None and event.whole:
            return [
                *self._opened(slot, with_text(held, event.whole)),
                *self.delta(PartDelta(slot, event.whole)),
                *self.end(PartEnd(slot)),
            ]
        place = self.open.pop(slot, None)
        return [] if place is None else [{"type": f"{place[0]}-end", "id": place[1]}]

    def _input(self, call: _Call) -> list[Chunk]:
        """All of a call's input, as the part of a whole message would have it."""
        block = write_call(call.part, None, self.context)
        given: Chunk = {"toolCallId": call.part.id, "toolName": call.part.name}
        if "providerExecuted" in block:
            given["providerExecuted"] = True
        if "input" in block:
            asked = [] if call.asking is None else self._asked(call, call.asking)
            return [{"type": "tool-input-available", **given, "input": block["input"]}, *asked]
        call.broken = True
        return self._refused({**given, "input": block["rawInput"], "errorText": block["errorText"]})

    def _refused(self, given: Chunk) -> list[Chunk]:
        failed: Chunk = {
            "type": "tool-output-error",
            "toolCallId": given["toolCallId"],
            "errorText": given["errorText"],
        }
        return self._said(
            {"type": "tool-input-error", **given}, *((failed,) if self.major < 7 else ())
        )

    def whole(self, event: PartComplete) -> list[Chunk]:
        part = event.part
        if isinstance(part, Result):
            return self._result(part)
        if isinstance(part, Opaque) and part.spec is OWN and isinstance(part.value, dict):
            known = self._said(part.value)
            if not known:
                self.context.report_loss(
                    part, f"clients of version {self.major} do not know this: {part.type}"
                )
            return [*self._spoken(), *known] if known else []
        if isinstance(part, Reasoning):
            return [*self._opened(-1, part), *self.end(PartEnd(-1))]
        block = write_said(part, self.context, "assistant")
        if not isinstance(block, dict):
            return []
        if block["type"] == "file":
            return [*self._spoken(), block]
        text, slot = str(block["text"]), -1
        self.held[slot] = Text("")
        return [*self.delta(PartDelta(slot, text)), *self.end(PartEnd(slot))]

    def _result(self, result: Result) -> list[Chunk]:
        call = self.calls.get(result.call_id)
        if call is not None and result.preliminary and call.asking is not None:
            self.context.report_loss(result, NOTE)
            return []
        self.answered = self.answered or (result.family == "function" and self.stepped)
        if call is None:
            self.context.report_loss(
                result,
                "a result has its place in the part of its call, which is not here:"
                f" {describe(result)[:80]}",
            )
            return []
        early = result.preliminary and not result.error
        if early and not self._knows({"type": "tool-output-available", "preliminary": True}):
            self.context.report_loss(
                result, f"clients of version {self.major} take an output for the last word"
            )
            return []
        if call.answered:
            self.context.report_loss(
                result, "a call has one result here: a later one takes the place of an earlier one"
            )
        if call.early is not None:
            self.context.report_loss(call.early, EARLY)
        call.early = result if early else None
        call.answered = call.answered or not early
        if call.refused and result.error:  # a client that refused it keeps the reason
            self.context.report_loss(result, "of a call that was refused is told just that")
            return [{"type": "tool-output-denied", "toolCallId": result.call_id}]
        block = said(result, self.context)
        out: list[Chunk] = []
        if call in self.cut:
            self.cut.remove(call)
            out = self._input(call)
        if call.broken and "output" in block:  # an output demands an input
            given = self.context.arguments_object(call.part)
            out.append(
                {
                    "type": "tool-input-available",
                    "toolCallId": result.call_id,
                    "toolName": call.part.name,
                    "input": given,
                }
            )
        kind = block.pop("state")
        ran: Object = {"providerExecuted": True} if is_hosted(result) else {}
        return [*out, {"type": f"tool-{kind}", "toolCallId": result.call_id, **block, **ran}]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def _reason(self) -> str:
        """Why it ended: whether tools were called is told by the calls that nobody answered."""
        waits = any(
            not one.answered and (one.part.executor == "client" or one.asking is not None)
            for one in self.calls.values()
        )
        derived = "tool" if waits else "stop"
        if self.stop in (None, *PLAIN):
            return FINISH_REASON_TO_WIRE[derived]
        word = write_finish_reason(
            Message("assistant", (), self.stop),
            FINISH_REASON_TO_WIRE,
            FINISH_REASON_FROM_WIRE,
            self.context,
        )
        if word is None or FINISH_REASON_FROM_WIRE[word] in PLAIN:
            return FINISH_REASON_TO_WIRE[derived]
        if "finishReason" not in (
            fitted({"type": "finish", "finishReason": word}, self.major) or {}
        ):
            self.context.report_loss(
                (),
                f"clients of version {self.major} are not told why the model stopped:"
                f" `{self.stop}`",
            )
        return word

    def close(self) -> list[Chunk]:
        self.envelope(self.write)
        rest = [chunk for call in self.cut for chunk in self._input(call)]
        rest += self._closed()
        stepped: list[Chunk] = [{"type": "finish-step"}] if self.stepped else []
        return [*rest, *stepped, *self._said({"type": "finish", "finishReason": self._reason()})]

    def fault(self, event: StreamError) -> list[Chunk]:
        out: list[Chunk] = []
        for call in self.cut:
            named: Chunk = {"toolCallId": call.part.id, "toolName": call.part.name}
            out += self._refused({**named, "input": call.part.args.text, "errorText": CUT_OFF})
        self.cut = []
        out += self._closed()
        if event.code == "abort":
            return [*out, *self._said({"type": "abort", "reason": event.message})]
        return [*out, {"type": "error", "errorText": event.message}]


def stream(write: Callable[[Conversation, EncodeContext], JSON]) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    headers = {
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    }
    return StreamSpec(
        ChunkReader,
        partial(_Writer, write),
        data_sse,
        DONE,
        headers=headers,
        versions=VERSIONS,
        adapt=adapt,
    )
