"""Read and write whole bodies of chat wires: requests, and responses with choices.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool
from toolwire.conversation.parts import Message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import answer_messages, list_at, raise_unexpected, require_object
from toolwire.wires.engine.stream import copy_json
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.settings import ReadTool, WriteTool, replace_tools

_CHOICE_FIELDS = frozenset({"index", "message", "finish_reason"})


class ChatBodies(Struct, frozen=True, eq=False, kw_only=True):
    """How one chat wire reads and writes whole bodies."""

    chat: Chat
    request: tuple[SettingSpec, ...]
    """The settings of a request."""
    response: tuple[SettingSpec, ...]
    """The settings of a response."""
    read_tool: ReadTool
    write_tool: WriteTool
    finish_from_wire: Mapping[str, str]
    finish_to_wire: Mapping[str, str]
    required: Object
    """Fields that every response has, with their values if the source has none."""
    tool_fields: tuple[str, ...] = ("tools",)
    """The fields of a request that hold tool definitions."""

    def read(self, body: JSON, kind: Kind) -> Conversation:
        """Read a request or a response."""
        if not isinstance(body, dict):
            raise_unexpected(self.chat.name, (), "an object", body)
        if kind == "response":
            return self._read_response(body)
        return read_request(
            self.chat,
            body,
            settings=self.request,
            read_tool=self.read_tool,
            tool_fields=self.tool_fields,
        )

    def _read_response(self, body: Object) -> Conversation:
        """Read one message for each choice, with its own finish reason."""
        name = self.chat.name
        settings = read_settings(self.response, body, frozenset(("choices", "object")))
        messages: list[Message] = []
        unknown: list[JsonPath] = list(settings.unknown)
        for i, choice in enumerate(list_at(name, body, ("choices",))):
            message = self.chat.read_choice(body, i)
            fields = require_object(choice)
            reason = fields.get("finish_reason")
            stop = None
            if reason and isinstance(reason, str):
                stop = self.finish_from_wire.get(reason, reason)
            messages.append(replace(message, stop=stop))
            unknown += [
                ("choices", i, key)
                for key, value in fields.items()
                if key not in _CHOICE_FIELDS and value is not None
            ]
        seed = str(settings.values.get("id", ""))
        return Conversation(
            assign_ids(tuple(messages), seed=seed, ordered=False),
            (),
            settings.values,
            name,
            "response",
            source=BodySource(body, unknown_fields=tuple(unknown), setting_paths=settings.places),
        )

    def write(self, conversation: Conversation, context: EncodeContext) -> JSON:
        """Write a request or a response."""
        if context.kind == "response":
            return self._write_response(conversation, context)
        body = write_settings(self.request, conversation, context)
        body["messages"] = self.chat.write_messages(conversation.messages, context)
        replace_tools(body, conversation, context, read=self.read_tool, write=self.write_tool)
        return body

    def _write_response(self, conversation: Conversation, context: EncodeContext) -> JSON:
        body = write_settings(self.response, conversation, context)
        if conversation.wire != self.chat.name or conversation.kind != "response":
            body = {**require_object(copy_json(self.required)), **body}
        body["choices"] = [
            self._write_choice(i, message, conversation, context)
            for i, message in enumerate(answer_messages(conversation, context))
        ]
        return body

    def _write_choice(
        self, index: int, message: Message, conversation: Conversation, context: EncodeContext
    ) -> JSON:
        """Write a choice; one that was read from this wire keeps its other fields."""
        native = conversation.wire == self.chat.name
        original = get(conversation.source.body, message.path[:-1]) if native else UNSET
        if isinstance(original, dict):
            if not message.parts and original.get("message") is None:
                return original
            choice = dict(original)
        else:
            reason = write_finish_reason(
                message, self.finish_to_wire, self.finish_from_wire, context
            )
            choice = {"index": index, "finish_reason": reason or "stop"}
        return {**choice, "message": self.chat.write_answer(message, context)}


def read_request(
    chat: Chat,
    body: Object,
    *,
    settings: tuple[SettingSpec, ...],
    read_tool: ReadTool,
    tool_fields: tuple[str, ...] = ("tools",),
    ordered: bool = False,
) -> Conversation:
    """Read a request; `ordered` if results without ids follow the order of their calls."""
    messages = [
        chat.read_message(message, ("messages", i))
        for i, message in enumerate(list_at(chat.name, body, ("messages",)))
    ]
    tools: list[Tool] = []
    for key in tool_fields:
        if body.get(key) is not None:
            definitions = list_at(chat.name, body, (key,))
            tools += [read_tool(tool, (key, i)) for i, tool in enumerate(definitions)]
    found = read_settings(settings, body, frozenset(("messages", *tool_fields)))
    source = BodySource(
        body, unknown_fields=found.unknown, setting_paths=found.places, ordered=ordered
    )
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=ordered),
        tuple(tools),
        found.values,
        chat.name,
        "request",
        source=source,
    )
