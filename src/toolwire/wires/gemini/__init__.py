"""Gemini generateContent.

- id-is-optional: an id is echoed if and only if the call had one; an invented one is never put on
  this wire.
- order-decides: without ids, responses stand in the order of their calls, all in one content,
  nothing else in it.
- name-is-required: a response names the function it answers.
- signature-on-the-part: `thoughtSignature` stands beside the call, not in it, and returns on the
  very same part.
- two-spellings: protobuf's JSON reads `functionCall` and `function_call` alike; what came is what
  goes back.
- kit-ids-stay-home: ids that begin with `adk-` were made up by Google's agent kit for its own log.
  It takes them off before it speaks this wire (`remove_client_function_call_id`), since some
  servers refuse ids they did not give; so do we.
- output-or-error: by convention `response` holds `output`, or `error`; any other object is the
  result itself.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Conversation, Format, Kind, Tool
from toolwire.conversation.parts import Call, Message, Role
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    put_tools,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    Wire,
    all_blocks,
    answer_messages,
    list_at,
    object_at,
    patch_message,
    raise_unexpected,
    require_object,
)
from toolwire.wires.families.blocks.history import BlockHistory
from toolwire.wires.families.contents.parts import parts
from toolwire.wires.families.contents.settings import (
    CONFIG,
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    keys,
    pick,
    read_offers,
    write_tools,
)
from toolwire.wires.gemini.stream import stream

NAME = "gemini"


PARTS = parts(NAME, hides="adk-")
read_content = PARTS.read_content


# --- contents -------------------------------------------------------------------------------------


def _again(content: JSON, path: JsonPath) -> Message:
    return read_content(content, path, "system" if len(path) == 1 else None)


def _message(role: Role, parts: list[JSON]) -> JSON:
    return {"role": "model" if role == "assistant" else "user", "parts": parts}


def _text(role: Role, text: str) -> JSON:
    return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}


HISTORY = BlockHistory(NAME, _again, PARTS.foreign, _message, _text, alone=True)


# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    messages: list[Message] = []
    for key in ("systemInstruction", "system_instruction"):
        if body.get(key) is not None:
            messages.append(read_content(body[key], (key,), "system"))
    messages += [
        read_content(content, ("contents", i))
        for i, content in enumerate(list_at(NAME, body, ("contents",)))
    ]
    tools: list[Tool] = []
    for i, tool in enumerate(
        list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    ):
        tools += read_offers(tool, ("tools", i))
    settings = read_settings(REQUEST, body, keys("contents", "systemInstruction", "tools"))
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=True),
        tuple(tools),
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("candidates"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    found = list_at(NAME, body, ("candidates",)) if body.get("candidates") is not None else []
    if body.get("candidates") is None and keys("promptFeedback", "usageMetadata").isdisjoint(body):
        raise_unexpected(NAME, ("candidates",), "a list", body.get("candidates", UNSET))
    feedback = pick(body, "promptFeedback")
    if not found and isinstance(feedback, dict) and pick(feedback, "blockReason"):
        messages.append(
            Message("assistant", (), "filter", NAME)
        )  # the prompt was refused: an answer that says nothing
    for i, candidate in enumerate(found):
        path: JsonPath = ("candidates", i)
        content = object_at(NAME, body, path).get("content")
        message = read_content({} if content is None else content, (*path, "content"), "assistant")
        reason = pick(object_at(NAME, body, path), "finishReason")
        stop = (
            FINISH_REASON_FROM_WIRE.get(reason, reason.lower()) if isinstance(reason, str) else None
        )
        called = any(isinstance(part, Call) and part.executor == "client" for part in message.parts)
        messages.append(replace(message, stop="tool" if stop == "stop" and called else stop))
        extra += [
            (*path, key)
            for key, value in require_object(candidate).items()
            if key not in keys("content", "finishReason", "index") and value is not None
        ]
    return Conversation(
        assign_ids(tuple(messages), seed=str(settings.values.get("id", "")), ordered=True),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=tuple(extra), setting_paths=settings.places, ordered=True
        ),
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    form = conversation.settings.get("format")
    config = body.get(CONFIG)
    if (
        conversation.wire != NAME
        and isinstance(form, Format)
        and form.schema is not None
        and isinstance(config, dict)
    ):
        config["responseJsonSchema"] = form.schema
    written = HISTORY.write(conversation, context)
    key = "system_instruction" if "system_instruction" in body else "systemInstruction"
    if not isinstance(written.whole, UnsetType):
        body[key] = written.whole
    elif written.system:
        body[key] = {"parts": written.system}
    body["contents"] = written.messages
    if conversation.wire != NAME or not conversation.same_tools:
        put_tools(body, write_tools(conversation.tools, context))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    seed = conversation.settings.get("id")
    context.seed = seed if isinstance(seed, str) else ""
    candidates: list[JSON] = []
    for i, message in enumerate(answer_messages(conversation, context)):
        if conversation.wire == NAME and not message.path and not message.parts:
            continue  # a refused prompt has no candidate
        kept = patch_message(
            message, context, lambda raw, path: read_content(raw, path, "assistant")
        )
        old = (
            get(conversation.source.body, message.path[:-1]) if conversation.wire == NAME else UNSET
        )
        if isinstance(kept, UnsetType):
            blocks = [PARTS.foreign[type(part)](part, context) for part in message.parts]
            kept = {"role": "model", "parts": [block for block in blocks if block is not None]}
        called = message.stop == "tool" and any(isinstance(part, Call) for part in message.parts)
        frame: Object = (
            {**old}
            if isinstance(old, dict)
            else {
                "index": i,
                "finishReason": "STOP"
                if called
                else write_finish_reason(
                    message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
                ),
            }
        )
        empty = isinstance(old, dict) and old.get("content") is None and not message.parts
        candidates.append(frame if empty else {**frame, "content": kept})
    blocked = not candidates and conversation.wire == NAME and "candidates" not in body
    return body if blocked else {**body, "candidates": candidates}


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    candidates = body.get("candidates")
    if isinstance(candidates, list):
        return 0 if any(isinstance(one, dict) and "message" in one for one in candidates) else 3
    if isinstance(body.get("promptFeedback"), dict) and "messages" not in body:
        return 3
    contents = body.get("contents")
    return (
        3
        if isinstance(contents, list)
        and all(isinstance(c, dict) and "parts" in c for c in contents)
        else 0
    )


WIRE = Wire(
    NAME,
    "Gemini generateContent",
    all_blocks(PARTS.rows),
    read,
    write,
    match_score,
    stream(PARTS, write),
)
