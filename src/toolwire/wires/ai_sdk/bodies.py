"""AI SDK: whole requests and responses, and how to recognize them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Call, Message, Part, Result, Source, Text
from toolwire.wires.ai_sdk import model_messages as model
from toolwire.wires.ai_sdk import ui_messages as ui
from toolwire.wires.ai_sdk.blocks import NAME
from toolwire.wires.ai_sdk.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    IMPLIED_REASONS,
    MESSAGE,
    REQUEST,
    RESPONSE,
    read_tools,
    write_tools,
)
from toolwire.wires.ai_sdk.tool_parts import reports_invalid_input
from toolwire.wires.ai_sdk.ui_writer import UiWriter
from toolwire.wires.engine.bodies import answer_message, build_conversation
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_parts
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import Block, keys, list_at, raise_unexpected

_SYSTEM = Block("system", part=Text, write=lambda part, context: part.text)
_SYSTEM_FIELDS = ("system", "instructions")
"""Fields of a request that hold the system prompt; version 7 renamed the first one to the
second."""


def _is_ui(message: JSON) -> bool:
    return isinstance(message, dict) and "parts" in message


def _are_ui(messages: Sequence[JSON]) -> bool:
    """True if the first message with content is a UI message."""
    with_content = (message for message in messages if _has_content(message))
    return _is_ui(next(with_content, None))


def _has_content(message: JSON) -> bool:
    return isinstance(message, dict) and ("parts" in message or "content" in message)


# --- reading --------------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a request or a response."""
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: JSON) -> Conversation:
    fields: Object = body if isinstance(body, dict) else {}
    path: JsonPath = ("messages",) if isinstance(body, dict) else ()
    messages: list[Message] = []
    known = {"messages"}
    for key in _SYSTEM_FIELDS:
        prompt = fields.get(key)
        if isinstance(prompt, str):
            known.add(key)
            text = Text(prompt, source=Source(prompt, (key,), _SYSTEM))
            source = Source(prompt, (key,), model.MESSAGE)
            messages.append(Message("system", (text,), wire=NAME, source=source))
    unknown: list[JsonPath] = []
    items = list_at(NAME, body, path)
    as_ui = _are_ui(items)
    for i, item in enumerate(items):
        item_path = (*path, i)
        if not isinstance(item, dict):
            raise_unexpected(NAME, item_path, dict, item)
        if as_ui:
            found = ui.read_message(item, item_path)
            unknown += _unknown_fields(found, item, item_path)
            messages += found
        else:
            messages.append(model.read_message(item, item_path))
    definitions = fields.get("tools")
    tools = read_tools(definitions)
    if tools and isinstance(definitions, dict):
        known.add("tools")
        unknown += (
            ("tools", name) for name, tool in definitions.items() if not isinstance(tool, dict)
        )
    settings = read_settings(REQUEST, fields, keys(*known))
    separated = tuple(ui.separate_reused_ids(messages))
    return build_conversation(
        NAME,
        "request",
        body,
        messages=ui.assign_tool_part_ids(separated, ""),
        settings=settings,
        tools=tools,
        unknown=unknown,
    )


def _unknown_fields(messages: list[Message], item: Object, path: JsonPath) -> list[JsonPath]:
    """The unknown fields of a UI message that was read as several messages.

    A UI message that was read as one message has `raw`, and its fields are reported with that.
    """
    if any(not isinstance(message.raw, UnsetType) for message in messages):
        return []
    return [
        (*path, key)
        for key, value in item.items()
        if key not in ui.MESSAGE.keys and value is not None
    ]


def _read_response(body: JSON) -> Conversation:
    """Read a response, which is one assistant message, however many steps it has."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), dict, body)
    single = "messages" not in body
    items = [body] if single else list_at(NAME, body, ("messages",))
    parts: list[Part] = []
    unknown: list[JsonPath] = []
    for i, item in enumerate(items):
        path: JsonPath = () if single else ("messages", i)
        role = get(item, ("role",))
        if not isinstance(item, dict) or role not in ("assistant", "tool"):
            raise_unexpected(NAME, (*path, "role"), ("assistant", "tool"), role)
        if _is_ui(item):
            (message,) = ui.read_response_message(item, path)
        else:
            message = model.read_message(item, path)
        parts += message.parts
        if not single:
            known_here = ("id", "role", "content", "parts")
            unknown += ((*path, key) for key in item if key not in known_here)
    reason = body.get("finishReason")
    known = ["role", "parts", "content", "messages"]
    if isinstance(reason, str):
        known.append("finishReason")
    settings = read_settings(MESSAGE if single else RESPONSE, body, keys(*known))
    seed = str(settings.values.get("id", ""))
    source = Source(path=(), spec=ui.MESSAGE)
    message = Message("assistant", tuple(parts), wire=NAME, source=source)
    (message,) = assign_ids(ui.assign_tool_part_ids((message,), seed), seed=seed, ordered=False)
    served = mark_server_tools(message.parts)
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    if not stop or stop in IMPLIED_REASONS:
        stop = reason_from_parts(served)
    message = replace(message, parts=served, stop=stop)
    return build_conversation(
        NAME, "response", body, messages=[message], settings=settings, unknown=unknown, seed=seed
    )


def mark_server_tools(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of a response, with every call that the client need not run marked as the server's.

    The client that reads a response did not run the tools whose results it holds. Results that only
    report a broken input are left out.
    """
    kept = [
        part for part in parts if not (isinstance(part, Result) and reports_invalid_input(part.raw))
    ]
    open_calls = _open_calls(kept)
    return tuple(
        replace(part, executor="provider")
        if isinstance(part, Call | Result) and not any(part is call for call in open_calls)
        else part
        for part in kept
    )


def _open_calls(parts: list[Part] | tuple[Part, ...]) -> list[Call]:
    """The calls that the client has to run.

    A result in the part of a call belongs only to that call, because ids may repeat.
    """
    calls = [part for part in parts if isinstance(part, Call)]
    results = [part for part in parts if isinstance(part, Result) and not part.preliminary]
    tool_parts = {
        call.path for call in calls if isinstance(call.spec, Block) and call.spec.answer is not None
    }
    answered_paths = {result.path for result in results if result.path in tool_parts}
    answered_ids = {result.call_id for result in results if result.path not in tool_parts}
    return [
        call
        for call in calls
        if call.executor == "client"
        and call.path not in answered_paths
        and call.id not in answered_ids
    ]


def reason_from_parts(parts: tuple[Part, ...]) -> str:
    """The finish reason that the parts of a response imply."""
    return "tool" if _open_calls(parts) else "stop"


# --- writing --------------------------------------------------------------------------------------


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    native = context.native
    body = write_settings(REQUEST, conversation, context)
    messages = conversation.messages
    if native:
        messages = _write_system_fields(messages, body)
    if native and _has_model_messages(conversation.source.body):
        items = model.write_messages(conversation, context, messages)
    else:
        items = UiWriter(conversation, context).write(messages)
    if conversation.tools and not (native and conversation.same_tools):
        body["tools"] = write_tools(conversation, context)
    if native and isinstance(conversation.source.body, list) and not body:
        return items
    return {**body, "messages": items}


def _write_system_fields(messages: tuple[Message, ...], body: Object) -> tuple[Message, ...]:
    """Write system messages back to the fields of the body they were read from; return the
    others."""
    texts: dict[str, str] = {}
    others: list[Message] = []
    for message in messages:
        if message.wire != NAME or len(message.path) != 1 or message.path[0] not in _SYSTEM_FIELDS:
            others.append(message)
            continue
        key = str(message.path[0])
        for part in message.parts:
            if isinstance(part, Text):
                texts[key] = texts.get(key, "") + part.text
    for key in _SYSTEM_FIELDS:
        if key in texts:
            body[key] = texts[key]
        elif isinstance(body.get(key), str):
            del body[key]
    return tuple(others)


def _has_model_messages(body: JSON) -> bool:
    items = body.get("messages", [body]) if isinstance(body, dict) else body
    return isinstance(items, list) and bool(items) and not _are_ui(items)


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    native = context.native
    source = conversation.source.body if native else None
    listed = isinstance(source, dict) and "messages" in source
    body = write_settings(RESPONSE if listed else MESSAGE, conversation, context)
    first = answer_message(conversation)
    if native and "parts" not in body:
        original = read(source, "response").parts()
        patched = patch_parts(first.parts, original, source, (), context)
        if isinstance(patched, dict):
            return body | {key: patched[key] for key in ("messages", "content") if key in patched}
        items = model.write_messages(conversation, context, model.split_response(first))
        return {**body, "messages": items} if listed or len(items) != 1 else items[0]
    if not native:
        body = {"id": "msg-0", "role": "assistant", **body}
        reason = _write_reason(first, context)
        if reason is not None:
            body["finishReason"] = reason
    written = UiWriter(conversation, context).write((replace(first, role="assistant"),))
    parts = written[0]["parts"] if written and isinstance(written[0], dict) else []
    return {**body, "parts": parts}


def _write_reason(message: Message, context: EncodeContext) -> str | None:
    """The finish reason of a message; None if its parts imply it."""
    implied = reason_from_parts(message.parts)
    if message.stop in IMPLIED_REASONS and message.stop != implied:
        context.report_loss(
            message,
            f"the parts of the message imply the finish reason {implied}, not {message.stop}",
        )
    return explicit_reason(message, context)


def explicit_reason(message: Message, context: EncodeContext) -> str | None:
    """The finish reason to write if parts never imply it; otherwise None."""
    if message.stop in (None, *IMPLIED_REASONS):
        return None
    word = write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    return word if FINISH_REASON_FROM_WIRE.get(word or "stop") not in IMPLIED_REASONS else None


# --- recognizing ----------------------------------------------------------------------------------

_OWN_BLOCKS = keys("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")
_OWN_SETTINGS = keys("maxOutputTokens", "toolChoice", "stopSequences", "topP", "topK")


def match_score(body: JSON) -> int:
    """How well a body matches this wire, from 0 to 3."""
    if isinstance(body, dict) and "parts" in body:
        return _message_score(body) if isinstance(body.get("role"), str) else 0
    messages = body.get("messages") if isinstance(body, dict) else body
    if not isinstance(messages, list) or not messages:
        return 0
    if not all(isinstance(message, dict) and "role" in message for message in messages):
        return 0
    best = max(map(_message_score, messages))
    if best == 0 and all(isinstance(get(m, ("content",)), str) for m in messages):
        return 1 if not isinstance(body, dict) or not _OWN_SETTINGS.isdisjoint(body) else 0
    return best


def _message_score(message: JSON) -> int:
    """The score of one message: 3 if it has parts or blocks of types that only this wire has."""
    parts = get(message, ("parts",))
    if isinstance(parts, list):
        if not all(isinstance(get(part, ("type",)), str) for part in parts):
            return 0
        return 3 if parts else 2
    content = get(message, ("content",))
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict) or "type" not in block:
            continue
        if "mediaType" in block or str(block["type"]) in _OWN_BLOCKS:
            return 3
    return 0
