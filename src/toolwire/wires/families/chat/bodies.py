"""Read and write whole bodies of chat wires: requests, and responses with choices.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Conversation, Tool
from toolwire.conversation.parts import Message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_settings, write_finish_reason
from toolwire.wires.engine.specs import answer_messages, list_at, patch_message, require_object
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.settings import ReadTool

_CHOICE_FIELDS = frozenset({"index", "message", "finish_reason"})


def read_request(
    chat: Chat,
    body: Object,
    *,
    settings: tuple[SettingSpec, ...],
    read_tool: ReadTool,
    tool_fields: tuple[str, ...] = ("tools",),
    ordered: bool = False,
) -> Conversation:
    """Read a request.

    Args:
        chat: The tables of the wire.
        body: The request.
        settings: The settings of a request of this wire.
        read_tool: Reads one tool definition at a path.
        tool_fields: The fields that hold tool definitions.
        ordered: True if results without ids follow the order of their calls on this wire.
    """
    messages = [
        chat.read_message(message, ("messages", i))
        for i, message in enumerate(list_at(chat.name, body, ("messages",)))
    ]
    tools: list[Tool] = []
    for key in tool_fields:
        if body.get(key) is not None:
            definitions = list_at(chat.name, body, (key,))
            tools += [read_tool(tool, (key, i)) for i, tool in enumerate(definitions)]
    values = read_settings(settings, body, frozenset(("messages", *tool_fields)))
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=ordered),
        tuple(tools),
        values.values,
        chat.name,
        "request",
        source=BodySource(
            body, unknown_fields=values.unknown, setting_paths=values.places, ordered=ordered
        ),
    )


def read_response(
    chat: Chat,
    body: Object,
    *,
    settings: tuple[SettingSpec, ...],
    finish_reasons: Mapping[str, str],
) -> Conversation:
    """Read a response: one message for each choice, with its own finish reason."""
    values = read_settings(settings, body, frozenset(("choices", "object")))
    messages: list[Message] = []
    unknown: list[JsonPath] = list(values.unknown)
    for i, choice in enumerate(list_at(chat.name, body, ("choices",))):
        message = chat.read_choice(body, i)
        reason = require_object(choice).get("finish_reason")
        stop = None
        if reason and isinstance(reason, str):
            stop = finish_reasons.get(reason, reason)
        messages.append(replace(message, stop=stop))
        unknown += [
            ("choices", i, key)
            for key, value in require_object(choice).items()
            if key not in _CHOICE_FIELDS and value is not None
        ]
    return Conversation(
        assign_ids(tuple(messages), seed=str(values.values.get("id", "")), ordered=False),
        (),
        values.values,
        chat.name,
        "response",
        source=BodySource(body, unknown_fields=tuple(unknown), setting_paths=values.places),
    )


def write_choices(
    chat: Chat,
    conversation: Conversation,
    context: EncodeContext,
    *,
    to_wire: Mapping[str, str],
    from_wire: Mapping[str, str],
) -> list[JSON]:
    """Write the choices of a response; `to_wire` and `from_wire` translate finish reasons.

    A choice that was read from this wire keeps its other fields.
    """
    native = conversation.wire == chat.name
    choices: list[JSON] = []
    for i, message in enumerate(answer_messages(conversation, context)):
        original = get(conversation.source.body, message.path[:-1]) if native else UNSET
        if isinstance(original, dict):
            if not message.parts and original.get("message") is None:
                choices.append(original)
                continue
            choice = dict(original)
        else:
            reason = write_finish_reason(message, to_wire, from_wire, context)
            choice = {"index": i, "finish_reason": reason or "stop"}
        written = patch_message(message, context, chat.read_message)
        if isinstance(written, UnsetType):
            written = chat.write_assistant(message, context)
        choices.append({**choice, "message": written})
    return choices
