"""Read Gemini requests and responses as conversations, and write them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Conversation, Format, Kind, Tool
from toolwire.conversation.parts import Call, Message, Role
from toolwire.wires.engine.answers import complete_answer, seed_from
from toolwire.wires.engine.bodies import answer_message, build_conversation, list_in, unknown_fields
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_message
from toolwire.wires.engine.settings import put_tools, read_settings, write_settings
from toolwire.wires.engine.specs import object_at, raise_unexpected
from toolwire.wires.families.blocks.history import BlockHistory
from toolwire.wires.families.contents.settings import finish_reason, read_finish_reason
from toolwire.wires.families.contents.spelling import get_field, spellings
from toolwire.wires.gemini.blocks import CAPABILITIES, NAME, PARTS
from toolwire.wires.gemini.settings import (
    ANSWER,
    CONFIG,
    REQUEST,
    RESPONSE,
    read_tools,
    write_tools,
)

_NOT_SETTINGS = spellings("contents", "systemInstruction", "tools")
_CANDIDATES = spellings("candidates")
CANDIDATE_FIELDS = spellings("content", "finishReason", "index")
_WITHOUT_CANDIDATES = spellings("promptFeedback", "usageMetadata")
"""A response without candidates has one of these fields."""


# --- reading --------------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a request or a response."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), dict, body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    messages: list[Message] = [
        PARTS.read_content(body[key], (key,), "system")
        for key in ("systemInstruction", "system_instruction")
        if body.get(key) is not None
    ]
    messages += [
        PARTS.read_content(content, ("contents", i))
        for i, content in enumerate(list_in(NAME, body, "contents"))
    ]
    tools: list[Tool] = []
    if body.get("tools") is not None:
        for i, entry in enumerate(list_in(NAME, body, "tools")):
            tools += read_tools(entry, ("tools", i))
    settings = read_settings(REQUEST, body, _NOT_SETTINGS)
    return build_conversation(
        NAME, "request", body, messages=messages, settings=settings, tools=tools, ordered=True
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, _CANDIDATES)
    messages: list[Message] = []
    unknown: list[JsonPath] = []
    candidates: list[JSON] = []
    if body.get("candidates") is not None:
        candidates = list_in(NAME, body, "candidates")
    elif _WITHOUT_CANDIDATES.isdisjoint(body):
        raise_unexpected(NAME, ("candidates",), list, body.get("candidates", UNSET))
    feedback = get_field(body, "promptFeedback")
    if not candidates and isinstance(feedback, dict) and get_field(feedback, "blockReason"):
        # The prompt was blocked: an answer without content.
        messages.append(Message("assistant", (), "filter", NAME))
    for i in range(len(candidates)):
        path: JsonPath = ("candidates", i)
        candidate = object_at(NAME, body, path)
        messages.append(_read_candidate(candidate, path))
        unknown += unknown_fields(candidate, path, CANDIDATE_FIELDS)
    return build_conversation(
        NAME,
        "response",
        body,
        messages=messages,
        settings=settings,
        unknown=unknown,
        seed=seed_from(settings.values.get("id")),
        ordered=True,
    )


def _read_candidate(candidate: Object, path: JsonPath) -> Message:
    content = candidate.get("content")
    message = PARTS.read_content(
        {} if content is None else content, (*path, "content"), "assistant"
    )
    stop = read_finish_reason(get_field(candidate, "finishReason"))
    if stop == "stop" and any(
        isinstance(part, Call) and part.executor == "client" for part in message.parts
    ):
        stop = "tool"
    return replace(message, stop=stop)


# --- writing --------------------------------------------------------------------------------------


def _read_own_message(content: JSON, path: JsonPath) -> Message:
    return PARTS.read_content(content, path, "system" if len(path) == 1 else None)


def _content(role: Role, blocks: list[JSON]) -> JSON:
    return {"role": _ROLE_TO_WIRE.get(role, role), "parts": blocks}


_ROLE_TO_WIRE = {"assistant": "model", "tool": "user"}
HISTORY = BlockHistory(
    name=NAME,
    read=_read_own_message,
    specs=frozenset(PARTS.blocks.values()),
    foreign=PARTS.writers,
    message=_content,
    text=lambda role, text: {"role": _ROLE_TO_WIRE.get(role, role), "parts": [{"text": text}]},
    system=lambda blocks: {"parts": blocks},
    alone=True,
    capabilities=CAPABILITIES,
)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    answer_format = conversation.settings.get("format")
    config = body.get(CONFIG)
    if (
        not context.native
        and isinstance(answer_format, Format)
        and answer_format.schema is not None
        and isinstance(config, dict)
    ):
        config["responseJsonSchema"] = answer_format.schema
    history = HISTORY.write(conversation, context)
    snake_case = "system_instruction" in body
    history.put_system(body, "system_instruction" if snake_case else "systemInstruction")
    body["contents"] = history.messages
    if not context.native or not conversation.same_tools:
        put_tools(body, write_tools(conversation.tools, context))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    context.seed = seed_from(conversation.settings.get("id"))
    native = context.native
    if not native:
        body = complete_answer(body, ANSWER, context)
    candidates: list[JSON] = []
    for i, message in enumerate(conversation.messages or (answer_message(conversation),)):
        if native and not message.path and not message.parts:
            continue  # a blocked prompt has no candidate
        original = get(conversation.source.body, message.path[:-1]) if native else UNSET
        candidate: Object
        if isinstance(original, dict):
            candidate = {**original}
        else:
            candidate = {"index": i, "finishReason": finish_reason(message, context)}
        if message.parts or not isinstance(original, dict) or original.get("content") is not None:
            candidate["content"] = _write_content(message, context)
        candidates.append(candidate)
    if native and not candidates and body.get("candidates") is None:
        return body
    return {**body, "candidates": candidates}


def _write_content(message: Message, context: EncodeContext) -> JSON:
    content = patch_message(
        message, context, lambda raw, path: PARTS.read_content(raw, path, "assistant")
    )
    if not isinstance(content, UnsetType):
        return content
    return {"role": "model", "parts": HISTORY.write_parts(message, context)}


# --- recognizing ----------------------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How well a body matches this wire: 0 or 3."""
    if not isinstance(body, dict):
        return 0
    candidates = body.get("candidates")
    if isinstance(candidates, list):
        return 0 if any(isinstance(item, dict) and "message" in item for item in candidates) else 3
    if isinstance(body.get("promptFeedback"), dict) and "messages" not in body:
        return 3
    contents = body.get("contents")
    if isinstance(contents, dict) and "parts" in contents:
        contents = [contents]
    if not isinstance(contents, list):
        return 0
    return 3 if all(map(_is_content, contents)) else 0


def _is_content(item: JSON) -> bool:
    """True for a content of this wire: its parts have no field `type`."""
    if not isinstance(item, dict) or "parts" not in item:
        return False
    parts = item["parts"]
    return not isinstance(parts, list) or not any(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts
    )
