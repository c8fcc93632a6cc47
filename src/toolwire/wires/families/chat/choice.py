"""How a chat wire streams, and the state of one choice. This module knows no wire by name."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from toolwire.conversation.json import JSON, Object
from toolwire.wires.engine.stream import copy_json
from toolwire.wires.families.chat.blocks import join_content
from toolwire.wires.families.chat.bodies import ChatBodies
from toolwire.wires.families.chat.tool_call_deltas import CallState, CallTable


class ChatStreamSpec(Struct, frozen=True, eq=False):
    """How one chat wire streams."""

    bodies: ChatBodies
    keeps_index: bool = False
    """True if the calls of a whole message keep their index."""
    empty_content: JSON = ""
    """The content of a message that has only calls."""
    whole_calls: bool = False
    """True if a call is written in one chunk, because some SDKs require its name in every chunk."""
    usage_in_last_choice: bool = False
    """True if the usage is in the chunk with the finish reason, not in a separate one."""


class ChoiceState(Struct, eq=False):
    """The state of one choice while its chunks are read. The second half is only filled if the body
    is kept."""

    index: int
    calls: CallTable
    legacy_call: CallState | None = None
    open_field: str = ""
    """The field whose text is open: `content`, `refusal` or `reasoning`."""
    open_slot: int = -1
    seen_fields: set[str] = field(default_factory=set)
    """Fields that had text: a message has one text for each, even if calls come in between."""
    has_output: bool = False
    finish_reason: str | None = None
    server_tools: dict[int, Object] = field(default_factory=dict)
    """Calls that the provider ran, by index."""

    frame: Object = field(default_factory=dict)
    """Fields of the choice beside its message."""
    message: Object = field(default_factory=dict)
    content: list[JSON] = field(default_factory=list)
    """The pieces of the content."""

    def all_calls(self) -> Iterator[CallState]:
        """The calls in the order in which they started, the legacy call last."""
        yield from self.calls.calls
        if self.legacy_call is not None:
            yield self.legacy_call

    def to_json(self, spec: ChatStreamSpec, *, failed: bool) -> Object:
        """The choice as in a whole body; `failed` if an error ended the stream."""
        calls = self.calls.calls
        if self.finish_reason is None and not failed:
            self.finish_reason = "tool_calls" if calls else "stop"
            self.frame.pop("finish_reason", None)
        message: Object = {"role": "assistant"}
        message |= {key: value for key, value in self.message.items() if key != "role" or value}
        if self.content:
            message["content"] = join_content(self.content)
        elif message.get("content") is None:
            message["content"] = spec.empty_content if calls else None
        if calls:
            if all(call.index is not None for call in calls):
                calls = sorted(calls, key=lambda call: call.index or 0)
            message["tool_calls"] = [
                call.to_json(i if spec.keeps_index else None) for i, call in enumerate(calls)
            ]
        legacy = self.legacy_call
        if legacy is not None:
            message["function_call"] = {"name": legacy.name, "arguments": "".join(legacy.pieces)}
        server_tools = spec.bodies.chat.server_tools
        if self.server_tools and server_tools is not None:
            message[server_tools.name] = [
                copy_json(entry) for _, entry in sorted(self.server_tools.items())
            ]
        return {
            "index": self.index,
            "message": message,
            "finish_reason": self.finish_reason,
            **self.frame,
        }
