"""AI SDK: tool parts that the chunks of a stream fill.

A chunk belongs to the part with its `toolCallId`: the one of the current step, otherwise the
newest. At any moment, a part has the fields that it has in a client of version 6.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JsonPath, Object
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.specs import keys
from toolwire.wires.engine.stream import copy_json

_RESET_BY_INPUT = ("input", "output", "errorText", "rawInput", "inputEncoding", "preliminary")
"""Fields that a new input removes."""
_RESET_BY_OUTPUT = ("output", "errorText", "preliminary", "inputEncoding")
"""Fields that a new output removes."""
_INPUT_KEYS = keys("toolCallId", "toolName", "dynamic", "input", "errorText", "providerMetadata")
_OUTPUT_KEYS = keys("toolCallId", "dynamic", "providerMetadata", "providerExecuted")
_DECISION_KEYS = keys("approvalId", "approved", "reason", "providerMetadata")
_APPROVAL_FIELDS = {
    "approvalId": "id",
    "approvalDescriptor": "descriptor",
    "reason": "requestReason",
}
"""Keys of an approval request that are named differently in the tool part."""
_STATES = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}


class StreamedToolPart(Struct):
    """A tool part in progress."""

    block: Object
    path: JsonPath
    step: int
    deltas: list[str]
    """Fragments of the input, while it streams."""
    input_complete: bool = False
    answered: bool = False
    """True if it has its final output, not only a preliminary one."""
    emitted: bool = False

    def assemble(self) -> Object:
        """The part with the text of its input so far."""
        return {**self.block, "rawInput": "".join(self.deltas)} if self.deltas else self.block

    def discard_content(self) -> None:
        """Keep only the fields by which a repeated output is recognized."""
        self.block = {key: self.block.get(key) for key in ("type", "state", "errorText")}
        self.deltas = []

    def repeats_error(self, chunk: Chunk) -> bool:
        """True if an output repeats the rejection of the input, as older servers send it."""
        block = self.block
        return _STATES[str(chunk["type"])] == block.get("state") == "output-error" and chunk.get(
            "errorText"
        ) == block.get("errorText")

    def add_input(self, chunk: Chunk) -> None:
        """Apply a chunk that starts, completes or rejects the input."""
        block, kind = self.block, str(chunk["type"])
        state, metadata = _STATES[kind], chunk.get("providerMetadata")
        self.deltas = []
        for key in _RESET_BY_INPUT:
            block.pop(key, None)
        if "type" not in block or kind != "tool-input-error":
            block["type"] = part_type(chunk)
            block.pop("toolName", None)
            if chunk.get("dynamic") is True:
                block["toolName"] = chunk.get("toolName")
        block["toolCallId"] = chunk.get("toolCallId")
        block["state"] = state
        block.update(other_keys(chunk, *_INPUT_KEYS))
        if metadata is not None:
            rejected = state == "output-error"
            block["resultProviderMetadata" if rejected else "callProviderMetadata"] = metadata
        if state == "input-available":
            self.input_complete = True
            block["input"] = chunk.get("input")
        elif state == "output-error":
            dynamic = block["type"] == "dynamic-tool"
            block["input" if dynamic else "rawInput"] = chunk.get("input")
            block["errorText"] = chunk.get("errorText")

    def add_output(self, chunk: Chunk) -> None:
        """Apply a chunk with the output, an error, or a denial."""
        block, state = self.block, _STATES[str(chunk["type"])]
        repeated = not self.input_complete and self.repeats_error(chunk)
        if state != "output-denied":
            if self.deltas:
                block["rawInput"] = "".join(self.deltas)
                self.deltas = []
            for key in _RESET_BY_OUTPUT:
                block.pop(key, None)
            if state == "output-available":
                block.pop("rawInput", None)
            block.update(other_keys(chunk, *_OUTPUT_KEYS))
            if chunk.get("providerMetadata") is not None:
                block["resultProviderMetadata"] = chunk["providerMetadata"]
            if chunk.get("providerExecuted") is not None:
                block["providerExecuted"] = chunk["providerExecuted"]
        block["state"] = state
        if not repeated and chunk.get("preliminary") is not True:
            self.answered = True

    def request_approval(self, chunk: Chunk) -> None:
        """Apply an approval request."""
        approval: Object = {
            _APPROVAL_FIELDS.get(key, key): value
            for key, value in other_keys(chunk, "toolCallId").items()
            if value is not None
        }
        self.block.update({"state": "approval-requested", "approval": approval})

    def decide_approval(self, chunk: Chunk, approval: Object) -> None:
        """Apply the response to an approval request."""
        decision = {key: chunk[key] for key in ("approved", "reason") if chunk.get(key) is not None}
        self.block["state"] = "approval-responded"
        self.block["approval"] = approval | decision
        self.block.update(other_keys(chunk, *_DECISION_KEYS))
        if chunk.get("providerMetadata") is not None:
            self.block["callProviderMetadata"] = chunk["providerMetadata"]


class StreamedToolParts:
    """The tool parts of a stream. `on_new` is called with each new part."""

    def __init__(self, on_new: Callable[[StreamedToolPart], None]) -> None:
        self.step = 0
        self._on_new = on_new
        self._by_id: dict[str, list[StreamedToolPart]] = {}

    def all(self) -> list[StreamedToolPart]:
        return [part for parts in self._by_id.values() for part in parts]

    def discard_step(self) -> None:
        """Remove the parts of the current step."""
        for parts in self._by_id.values():
            parts[:] = [part for part in parts if part.step != self.step]

    def find(self, chunk: Chunk) -> StreamedToolPart | None:
        """The part of a chunk: the first open part of this step, else its last part, else the
        newest."""
        parts = self._by_id.get(_call_id(chunk), ())
        current = [part for part in parts if part.step == self.step]
        for part in current:
            if not part.answered:
                return part
        if current:
            return current[-1]
        return parts[-1] if parts else None

    def add_input(self, chunk: Chunk, path: JsonPath) -> bool:
        """Apply a chunk of input; return False if it is a delta of an input that is not open."""
        if chunk["type"] != "tool-input-delta":
            self._part_for_input(chunk, path).add_input(chunk)
            return True
        part, text = self.find(chunk), chunk.get("inputTextDelta")
        if part is None or part.input_complete or not isinstance(text, str):
            return False
        part.deltas.append(text)
        return True

    def _part_for_input(self, chunk: Chunk, path: JsonPath) -> StreamedToolPart:
        """The part for an input: a new one, unless the last part with its id in this step is still
        open or has the same input."""
        parts = self._by_id.setdefault(_call_id(chunk), [])
        if parts and parts[-1].step == self.step and not parts[-1].emitted:
            last = parts[-1]
            if not last.input_complete:
                return last
            same_type = last.block.get("type") == part_type(chunk)
            same_input = last.block.get("input") == chunk.get("input")
            if chunk["type"] != "tool-input-start" and same_type and same_input:
                return last
        part = StreamedToolPart({}, path, self.step, [])
        parts.append(part)
        self._on_new(part)
        return part

    def add_approval(self, chunk: Chunk) -> bool:
        """Apply an approval request or the response to one; return False if its part is not
        found."""
        if chunk["type"] == "tool-approval-request":
            part = self.find(chunk)
            if part is None or part.emitted:
                return False
            part.request_approval(chunk)
            return True
        for part in self.all():
            approval = part.block.get("approval")
            if part.emitted or not isinstance(approval, dict):
                continue
            if approval.get("id") == chunk.get("approvalId"):
                part.decide_approval(chunk, approval)
                return True
        return False


def part_type(chunk: Chunk) -> str:
    """The type of the part that a chunk belongs to."""
    if chunk.get("dynamic") is True:
        return "dynamic-tool"
    name = chunk.get("toolName")
    return f"tool-{name if isinstance(name, str) else ''}"


def _call_id(chunk: Chunk) -> str:
    call_id = chunk.get("toolCallId")
    return call_id if isinstance(call_id, str) else ""


def other_keys(chunk: Chunk, *known: str) -> Object:
    """The fields of a chunk other than its type and the known ones."""
    return {
        key: copy_json(value) for key, value in chunk.items() if key != "type" and key not in known
    }
