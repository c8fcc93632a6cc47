"""Read and write whole bodies of chat wires: requests, and responses with choices or one message.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr, replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Conversation, Kind, Tool
from toolwire.conversation.parts import Message, Source
from toolwire.wires.engine.answers import AnswerFields, complete_answer, seed_from
from toolwire.wires.engine.bodies import build_conversation, list_in
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import keep_first_call
from toolwire.wires.engine.settings import (
    SettingsRead,
    SettingTable,
    put_tools,
    read_settings,
    read_usage,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    Outcome,
    object_at,
    raise_unexpected,
    read_definition,
    require_object,
)
from toolwire.wires.families.chat.messages import Chat, has_calls
from toolwire.wires.families.chat.settings import WriteTool

_CHOICE_FIELDS = frozenset({"index", "message", "finish_reason"})
_CALL_FIELDS = ("tool_calls", "function_call")
_FUNCTION = frozenset({"type", "function"})
_FUNCTION_FIELDS = frozenset({"name", "description", "parameters"})
"""The fields of a function on every chat wire."""


class ChatBodies(Struct, frozen=True, eq=False, kw_only=True):
    """Reads and writes whole bodies of one chat wire."""

    chat: Chat
    request: SettingTable
    """The settings of a request."""
    response: SettingTable
    """The settings of a response."""
    tools: Mapping[str, Block]
    """The kinds of tool definitions."""
    write_tool: WriteTool
    finish_from_wire: Mapping[str, str]
    finish_to_wire: Mapping[str, str]
    answer: AnswerFields
    """Fields that every response has."""
    choice: Object = {}
    """Fields that every choice of a response has, with their empty values."""
    request_defaults: Mapping[str, int] = {}
    """Settings that every request has, with their values if the source has none."""
    ordered: bool = False
    """True if results without ids follow the order of their calls."""
    legacy_tools: Block | None = None
    """The spec of function definitions in their own field, without a kind."""
    answer_fields: frozenset[str] = frozenset({"choices", "object"})
    """The fields of a response that are not settings."""
    finish_field: str = "finish_reason"
    seed_field: str = "id"
    """The field of a response from which call ids are minted."""
    stop_after_calls: str = ""
    """The stop reason of a message with calls; on wires without such a reason, the calls imply
    it. It follows from `finish_from_wire`, and the next two fields from `legacy_tools`."""
    tool_fields: tuple[str, ...] = ("tools",)
    """The fields of a request that hold tool definitions."""
    known_fields: frozenset[str] = frozenset()
    """The fields of a request that are not settings."""

    def __post_init__(self) -> None:
        has_reason = "tool" in self.finish_from_wire.values()
        force_setattr(self, "stop_after_calls", "tool" if has_reason else "stop")
        if self.legacy_tools is not None:
            force_setattr(self, "tool_fields", ("tools", self.legacy_tools.name))
        force_setattr(self, "known_fields", frozenset({"messages", *self.tool_fields}))

    def read(self, body: JSON, kind: Kind) -> Conversation:
        """Read a request or a response."""
        if not isinstance(body, dict):
            raise_unexpected(self.chat.name, (), dict, body)
        tools: tuple[Tool, ...] = ()
        seed = ""
        if kind == "response":
            settings = self.read_response_settings(body)
            messages, unknown = self.read_answers(body)
            seed = self.seed(body)
        else:
            raw_messages = list_in(self.chat.name, body, "messages")
            messages = self.chat.read_messages(raw_messages)
            settings = read_settings(self.request, body, self.request_fields(body))
            tools, unknown = self.read_tools(body), []
        return build_conversation(
            self.chat.name,
            kind,
            body,
            messages=messages,
            settings=settings,
            tools=tools,
            unknown=unknown,
            seed=seed,
            ordered=self.ordered,
        )

    def write(self, conversation: Conversation, context: EncodeContext) -> Object:
        """Write a request or a response."""
        if context.kind == "response":
            return self.write_response(conversation, context)
        return self.write_request(conversation, context)

    def write_request(self, conversation: Conversation, context: EncodeContext) -> Object:
        """Write a request."""
        body = write_settings(self.request, conversation, context)
        if not context.native:
            added: Object = {
                name: context.record_default(name, value)
                for name, value in self.request_defaults.items()
                if name not in body
            }
            body = {**added, **body}
        body["messages"] = self.chat.write_messages(conversation.messages, context)
        self.write_tools(body, conversation, context)
        return body

    # --- tool definitions ---

    def request_fields(self, body: Object) -> frozenset[str]:
        """The fields of a request that are not settings."""
        return self.known_fields

    def read_tools(self, body: Object) -> tuple[Tool, ...]:
        """Read the tool definitions of a request."""
        out: list[Tool] = []
        for key in self.tool_fields:
            if body.get(key) is not None:
                for i, tool in enumerate(list_in(self.chat.name, body, key)):
                    out.append(self.read_tool(tool, (key, i)))
        return tuple(out)

    def read_tool(self, tool: JSON, path: JsonPath) -> Tool:
        """Read one tool definition: an object under the name of its kind.

        A tool of any other kind is the provider's own and keeps only its type.
        """
        if not isinstance(tool, dict):
            raise_unexpected(self.chat.name, path, dict, tool)
        if path[0] != "tools":
            source = Source(tool, path, self.legacy_tools)
            return read_definition(tool, tool.get("parameters"), source)
        for kind, spec in self.tools.items():
            inner = tool.get(kind)
            if isinstance(inner, dict):
                is_complete = tool.keys() == _FUNCTION and inner.keys() <= _FUNCTION_FIELDS
                source = Source(tool, path, spec, None, is_complete)
                return read_definition(inner, inner.get("parameters"), source, kind)
        return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=path))

    def write_tools(self, body: Object, conversation: Conversation, context: EncodeContext) -> None:
        """Put the tool definitions into a request, unless they are already there.

        Unedited definitions of this wire are kept verbatim.
        """
        native = context.native
        if native and conversation.same_tools:
            return
        out: list[JSON] = []
        for tool in conversation.tools:
            if native and self._is_unedited(tool, context):
                out.append(tool.raw)  # type: ignore[arg-type]
            elif tool.kind in CLIENT_TOOLS:
                out.append(self.write_tool(tool, context))
        put_tools(body, out)

    def _is_unedited(self, tool: Tool, context: EncodeContext) -> bool:
        """True if a definition can be written verbatim."""
        raw = tool.raw
        if context.name(tool.name) != tool.name or tool.path[:1] != ("tools",):
            return False
        return isinstance(raw, dict) and self.read_tool(raw, tool.path) == tool

    # --- responses ---

    def seed(self, body: Object) -> str:
        """The text from which the call ids of a response are minted."""
        return seed_from(body.get(self.seed_field))

    def read_response_settings(self, body: Object) -> SettingsRead:
        """Read the settings of a response."""
        return read_settings(self.response, body, self.answer_fields)

    def read_answers(self, body: Object) -> tuple[list[Message], list[JsonPath]]:
        """Read the message of each choice, and the paths of the unknown fields of the choices."""
        messages: list[Message] = []
        unknown: list[JsonPath] = []
        for i, choice in enumerate(list_in(self.chat.name, body, "choices")):
            message = self.chat.read_choice(body, i)
            fields = require_object(choice)
            stop = self.read_finish_reason(fields)
            if stop is None and has_calls(message):
                stop = "tool"  # some servers send no finish reason with calls
            messages.append(replace(message, stop=stop))
            unknown += [
                ("choices", i, key)
                for key, value in fields.items()
                if key not in _CHOICE_FIELDS and value is not None
            ]
        return messages, unknown

    def read_outcome(self, body: Object) -> Outcome | None:
        """The outcome of a response; None if the calls in its message decide it."""
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            return None
        stop = self.read_finish_reason(choice)
        is_text = isinstance(message.get("content"), str)
        if any(message.get(field) for field in _CALL_FIELDS):
            is_text = False
        if stop is None or (stop == "stop" and not is_text):
            return None
        return read_usage(self.response, body), stop

    def read_finish_reason(self, frame: Object) -> str | None:
        """The neutral finish reason of a choice or body, if it has one."""
        reason = frame.get(self.finish_field)
        if not reason or not isinstance(reason, str):
            return None
        return self.finish_from_wire.get(reason, reason)

    def write_response(self, conversation: Conversation, context: EncodeContext) -> Object:
        """Write a response."""
        body = write_settings(self.response, conversation, context)
        if not context.native:
            body = complete_answer(body, self.answer, context)
        context.seed = self.seed(body)
        messages = conversation.messages
        if not messages and not context.native:
            messages = (Message("assistant", ()),)
        context.legacy_calls = self.chat.answers_legacy(context)
        if context.legacy_calls:
            messages = tuple([keep_first_call(message, context.losses) for message in messages])
        return self.write_answers(body, messages, conversation, context)

    def write_answers(
        self,
        body: Object,
        messages: tuple[Message, ...],
        conversation: Conversation,
        context: EncodeContext,
    ) -> Object:
        """Put a choice for each message into a response."""
        choices: list[JSON] = []
        for i, message in enumerate(messages):
            source = get(conversation.source.body, message.path[:-1]) if context.native else UNSET
            if not isinstance(source, dict):
                choice: Object = {"index": i, **self.choice}
                choice[self.finish_field] = self.finish_reason(message, context)
            elif not message.parts and source.get("message") is None:
                choices.append(source)
                continue
            else:
                choice = dict(source)
            choice["message"] = self.write_message(message, context)
            choices.append(choice)
        body["choices"] = choices
        return body

    def write_message(self, message: Message, context: EncodeContext) -> JSON:
        """Write the message of a response, with the fields that every message of a response has."""
        written = self.chat.write_answer(message, context)
        required = self.chat.message.required
        if context.native or not isinstance(written, dict):
            return written
        return {**required, **written}

    def finish_reason(self, message: Message, context: EncodeContext) -> str:
        """The finish reason of a message as the wire writes it."""
        after_calls = self.stop_after_calls
        if message.stop == "tool" and after_calls != "tool" and has_calls(message):
            message = replace(message, stop=after_calls)
        to_wire, from_wire = self.finish_to_wire, self.finish_from_wire
        reason = write_finish_reason(message, to_wire, from_wire, context) or to_wire["stop"]
        if context.legacy_calls and reason == to_wire.get("tool"):
            assert self.chat.legacy_call is not None
            return self.chat.legacy_call.name
        return reason


class SingleMessageBodies(ChatBodies, frozen=True, eq=False, kw_only=True):
    """Reads and writes whole bodies of a chat wire whose responses hold one message."""

    def read_answers(self, body: Object) -> tuple[list[Message], list[JsonPath]]:
        message = self.chat.read_answer(object_at(self.chat.name, body, ("message",)), ("message",))
        return [replace(message, stop=self.read_finish_reason(body))], []

    def write_answers(
        self,
        body: Object,
        messages: tuple[Message, ...],
        conversation: Conversation,
        context: EncodeContext,
    ) -> Object:
        message = messages[0] if messages else Message("assistant", ())
        stop = self.read_finish_reason(body)
        if stop == "stop" and context.native and has_calls(message):
            stop = "tool"  # as it is decoded
        if message.stop not in (None, stop):
            body[self.finish_field] = self.finish_reason(message, context)
        body["message"] = self.write_message(message, context)
        return body
