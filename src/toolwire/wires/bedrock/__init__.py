"""Bedrock Converse.

- told-by-its-field: a block has no type; the field it has says what it is.
- roles-alternate: neighbours of one role are one message, so text after results stands in their
  message.
- results-together: all results of a turn stand in the next user message.
- tool-config-required: a history with calls is refused without `toolConfig`, also when no tool is
  on offer any more.
- error-is-not-empty: a result whose status is error must say something.
- json-is-an-object: `input` and a result's `json` hold objects; any other JSON goes as text.
- server-tools-answer-in-place: `server_tool_use` and its result stand in the same assistant
  message.
- reasoning-keeps-its-seal: reasoning goes back with its signature; others' reasoning is not taken
  in a history.
- names-of-documents: a document needs a name, of letters, digits, blanks, hyphens and brackets.
- bytes-are-base64: what an SDK takes as bytes is base64 text in the JSON body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, parse, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.bedrock.media import BLOCK_OF, MEDIA, SEARCH, joined, write_media
from toolwire.wires.bedrock.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    fields_for,
    read_offer,
    tell_limits,
    tell_usage,
    write_config,
)
from toolwire.wires.bedrock.stream import stream
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    Id,
    Wire,
    all_blocks,
    answer_messages,
    blocks,
    keys,
    list_at,
    object_at,
    opaque,
    patch_message,
    raise_unexpected,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.blocks.history import BlockHistory

NAME = "bedrock"

# --- reasoning and other blocks -------------------------------------------------------------------


def _read_reasoning(block: Object, path: JsonPath, spec: Block) -> Part:
    held = require_object(block["reasoningContent"])
    if "redactedContent" in held:
        return Reasoning(
            "", require_string(held["redactedContent"]), source=Source(block, path, spec)
        )
    said = require_object(held["reasoningText"])
    if said.keys() - {"text", "signature"}:
        spec = SAID_MORE
    return Reasoning(
        require_string(said["text"]),
        signature=text_or_none(said.get("signature")),
        source=Source(block, path, spec),
    )


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    if part.hidden is not None:
        return {"reasoningContent": {"redactedContent": part.hidden}}
    said: Object = {"text": part.text}
    if part.signature is not None:
        said["signature"] = part.signature
    return {"reasoningContent": {"reasoningText": said}}


def _read_json(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(text_of(block["json"]), source=Source(block, path, spec))


def _write_json(part: Text, context: EncodeContext) -> JSON:
    try:
        return {"json": parse(part.text)}
    except ValueError:
        return {"text": part.text}


def _read_cited(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(
        joined(require_object(block["citationsContent"])["content"]),
        source=Source(block, path, spec),
    )


def _read_guarded(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(
        require_string(require_object(require_object(block["guardContent"])["text"])["text"]),
        source=Source(block, path, spec),
    )


# --- calls and results ----------------------------------------------------------------------------


def _read_use(block: Object, path: JsonPath, spec: Block) -> Part:
    use = require_object(block["toolUse"])
    if use.get("type") == "server_tool_use":
        spec = BLOCKS["server_tool_use"]
    one, origin = read_id(use.get("toolUseId"))
    given = use.get("input")
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        read_name(use.get("name")),
        args,
        origin,
        spec.family,
        spec.executor,  # type: ignore[arg-type]
        source=Source(block, path, spec),
    )


def _write_use(call: Call, context: EncodeContext) -> JSON:
    use: Object = {
        "toolUseId": context.call_id(call),
        "name": context.name(call.name),
        "input": context.arguments_object(call),
    }
    if call.executor == "provider":
        use["type"] = "server_tool_use"
    return {"toolUse": use}


def _output(content: JSON, path: JsonPath) -> Output:
    """One text as text, one JSON value as JSON, anything more as parts."""
    if not isinstance(content, list):
        return "" if content is None else content
    only = content[0] if len(content) == 1 else None
    if isinstance(only, dict) and len(only) == 1:
        if isinstance(only.get("text"), str):
            return only["text"]
        if "json" in only:
            return only["json"]
    return (
        tuple(read_part(block, path + (i,), INSIDE) for i, block in enumerate(content))
        if content
        else ""
    )


def _read_result(block: Object, path: JsonPath, spec: Block) -> Part:
    answer = require_object(block["toolResult"])
    one, origin = read_result_id(answer.get("toolUseId"))
    output = _output(answer.get("content"), (*path, "toolResult", "content"))
    return Result(
        one,
        output,
        answer.get("status") == "error",
        None,
        origin,
        spec.family,
        spec.executor,  # type: ignore[arg-type]
        source=Source(block, path, spec),
    )


def _write_result(result: Result, context: EncodeContext) -> JSON:
    context.note_result_form(result, flag=True, structure=isinstance(result.output, dict))
    output, failed = context.output(result), context.is_error(result)
    content: list[JSON]
    if isinstance(output, tuple):
        content = [block for part in output if (block := _write_inside(part, context)) is not None]
    elif isinstance(output, dict):
        content = [{"json": output}]
    else:
        text = output if isinstance(output, str) else text_of(output)
        content = [{"text": text}] if text else []
    answer: Object = {"toolUseId": context.result_id(result), "content": content}
    if failed:
        if not content:
            context.report_loss(result, "an error may not be empty here; it says `error`")
            answer["content"] = [{"text": "error"}]
        answer["status"] = "error"
    said = get(result.raw, ("toolResult", "type")) if result.executor == "provider" else UNSET  # type: ignore[arg-type]
    if isinstance(said, str):
        answer["type"] = said
    return {"toolResult": answer}


_INSIDE = {kind: name for kind, name in BLOCK_OF.items() if kind != "audio"}


def _write_inside(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Text):
        return {"text": part.text} if part.text else None
    if isinstance(part, Media):
        return write_media(part, context, _INSIDE)
    context.report_loss(part, f"a result cannot hold this here: {describe(part)[:80]}")
    return {"text": describe(part)}


_USE, _ANSWER = keys("toolUseId", "name", "input", "type"), keys("toolUseId", "content", "status")
_ID = (Id("toolUseId"),)
TEXT = Block(
    "text",
    Text,
    lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
    lambda p, _: {"text": p.text},
    keys("text"),
    deltas={"text": ("text", "text")},
)
_INPUT = {"toolUse.input": ("input", "toolUse.input")}
BLOCKS = blocks(
    TEXT,
    *MEDIA.values(),
    SEARCH,
    Block(
        "reasoningContent",
        Reasoning,
        _read_reasoning,
        _write_reasoning,
        keys("reasoningContent"),
        (("reasoningContent", keys("reasoningText", "redactedContent")),),
        deltas={
            "reasoningContent.text": ("text", "reasoningContent.reasoningText.text"),
            "reasoningContent.signature": ("signature", "reasoningContent.reasoningText.signature"),
            "reasoningContent.redactedContent": (
                "redactedContent",
                "reasoningContent.redactedContent",
            ),
        },
    ),
    Block(
        "citationsContent",
        Text,
        _read_cited,
        lambda p, _: {"citationsContent": {"content": [{"text": p.text}]}},
        keys("citationsContent"),
        (("citationsContent", keys("content")),),
        deltas={
            "text": ("text", "citationsContent.content"),
            "citation": ("citation", "citationsContent.citations"),
        },
    ),
    # Its words are carried; that they were to be guarded is the loss.
    Block(
        "guardContent",
        Text,
        _read_guarded,
        lambda p, _: {"guardContent": {"text": {"text": p.text}}},
    ),
    Block(
        "toolUse",
        Call,
        _read_use,
        _write_use,
        keys("toolUse"),
        (("toolUse", _USE),),
        {"content_field": "toolUse"},
        "call",
        "function",
        "client",
        _ID,
        deltas=_INPUT,
    ),
    Block(
        "server_tool_use",
        Call,
        None,
        _write_use,
        keys("toolUse"),
        (("toolUse", _USE),),
        {"content_field": "toolUse", "type": "server_tool_use"},
        "call",
        "server-tool",
        "provider",
        _ID,
        deltas=_INPUT,
    ),
    Block(
        "toolResult",
        Result,
        _read_result,
        _write_result,
        keys("toolResult"),
        (("toolResult", _ANSWER),),
        {"content_field": "toolResult"},
        "output",
        "function",
        "client",
        _ID,
    ),
)
SERVED = Block(
    "toolResult",
    Result,
    _read_result,
    _write_result,
    keys("toolResult"),
    (("toolResult", _ANSWER | {"type"}),),
    {"content_field": "toolResult", "role": "assistant"},
    "output",
    "server-tool",
    "provider",
    _ID,
    deltas={"toolResult": ("toolResult", "toolResult.content")},
)
SPOKEN = {**BLOCKS, "toolResult": SERVED}
"""An assistant's message: a result in it was made by the provider."""
INSIDE = {
    **blocks(Block("json", Text, _read_json, _write_json, keys("json")), TEXT, SEARCH),
    **MEDIA,
}
"""What a result holds."""
SAID_MORE = replace(BLOCKS["reasoningContent"], inner=(("reasoningContent", frozenset()),))
MESSAGE = Block("message", Message, keys=keys("role", "content"))


def read_part(block: JSON, path: JsonPath, rows: Mapping[str, Block]) -> Part:
    """A block is told by the field it has."""
    if not isinstance(block, dict):
        raise_unexpected(NAME, path, "an object", block)
    for key in block:
        spec = rows.get(key)
        if spec is not None and spec.read is not None:
            try:
                return spec.read(block, path, spec)
            except UNREADABLE:
                break
    return opaque(next(iter(block), ""), block, path)


# --- messages -------------------------------------------------------------------------------------

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_message(message: JSON, path: JsonPath) -> Message:
    """One message; the system prompt, which is only content, counts as one."""
    if path == ("system",):
        return Message(
            "system",
            _read_parts(message, path, BLOCKS),
            None,
            NAME,
            source=Source(message, path, MESSAGE),
        )
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    said = message.get("role", UNSET)
    role = ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        raise_unexpected(NAME, path + ("role",), "user, assistant or system", said)
    parts = _read_parts(
        message.get("content", UNSET),
        path + ("content",),
        SPOKEN if role == "assistant" else BLOCKS,
    )
    return Message(role, parts, None, NAME, source=Source(message, path, MESSAGE))


def _read_parts(
    content: JSON | UnsetType, path: JsonPath, rows: Mapping[str, Block]
) -> tuple[Part, ...]:
    if not isinstance(content, list):
        raise_unexpected(NAME, path, "a list", content)
    return tuple([read_part(block, path + (i,), rows) for i, block in enumerate(content)])


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        context.report_loss(part, "a refusal is sent as plain text")
    return {"text": part.text} if part.text else None


def _write_thought(part: Reasoning, context: EncodeContext) -> JSON:
    """Reasoning can be shown in an answer; in a history nobody else's is taken."""
    if context.kind == "response" and part.text:
        return {"reasoningContent": {"reasoningText": {"text": part.text}}}
    context.report_loss(part, "reasoning of another provider is not taken back")
    return None


def _no_block(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such block on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: write_media,
    Call: _write_use,
    Result: _write_result,
    Reasoning: _write_thought,
    Opaque: _no_block,
}
"""How a part of another wire is written; None if it cannot stand here."""


def _message(role: Role, blocks: list[JSON]) -> JSON:
    return {"role": "assistant" if role == "assistant" else "user", "content": blocks}


HISTORY = BlockHistory(
    NAME, read_message, FOREIGN, _message, lambda role, text: _message(role, [{"text": text}])
)


def _plain_system(conversation: Conversation, context: EncodeContext) -> Conversation:
    """A system prompt holds words only: media of another wire's are named in it."""
    messages = list(conversation.messages)
    for i, message in enumerate(messages):
        if message.role != "system":
            break
        if message.wire != NAME and any(isinstance(part, Media) for part in message.parts):
            for part in message.parts:
                if isinstance(part, Media):
                    context.report_loss(
                        part, "a system prompt holds words only here; it is named in text"
                    )
            named = (
                Text(describe(part)) if isinstance(part, Media) else part for part in message.parts
            )
            messages[i] = replace(message, parts=tuple(named))
    return replace(conversation, messages=tuple(messages))


def _alternate(messages: list[JSON], kept: set[int]) -> list[JSON]:
    """Neighbours of one role as one message, unless both are as they came."""
    out: list[JSON] = []
    for message in messages:
        last = out[-1] if out else None
        if (
            isinstance(last, dict)
            and isinstance(message, dict)
            and last.get("role") == message.get("role")
            and not (id(last) in kept and id(message) in kept)
            and isinstance(last["content"], list)
            and isinstance(message["content"], list)
        ):
            out[-1] = {**last, "content": [*last["content"], *message["content"]]}
        else:
            out.append(message)
    return out


# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    messages: list[Message] = []
    if body.get("system") is not None:
        messages.append(read_message(body["system"], ("system",)))
    messages += [
        read_message(message, ("messages", i))
        for i, message in enumerate(list_at(NAME, body, ("messages",)))
    ]
    settings = read_settings(REQUEST, body, keys("messages", "system"))
    extra = [path for path in settings.unknown if path[0] != "toolConfig" and get(body, path) != {}]
    tools: list[Tool] = []
    config = object_at(NAME, body, ("toolConfig",)) if body.get("toolConfig") is not None else {}
    for key, value in config.items():
        if key == "tools" and value is not None:
            offers = (
                read_offer(tool, ("toolConfig", key, i))
                for i, tool in enumerate(list_at(NAME, value, ()))
            )
            tools += (offer for offer in offers if offer is not None)
        elif value is not None and not (key == "toolChoice" and "choice" in settings.values):
            extra.append(("toolConfig", key))
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=False),
        tuple(tools),
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=tuple(extra), setting_paths=settings.places),
    )


_OUTPUT: JsonPath = ("output", "message")


def _read_response(body: Object) -> Conversation:
    message = read_message(object_at(NAME, body, _OUTPUT), _OUTPUT)
    settings = read_settings(RESPONSE, body, keys("output", "stopReason"))
    extra = [("output", key) for key in object_at(NAME, body, ("output",)) if key != "message"]
    reason = body.get("stopReason")
    message = replace(
        message,
        stop=FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None,
    )
    return Conversation(
        assign_ids((message,), seed="", ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=(*settings.unknown, *extra), setting_paths=settings.places
        ),
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(fields_for(conversation), conversation, context)
    tell_limits(conversation, context)
    written = HISTORY.write(_plain_system(conversation, context), context)
    if not isinstance(written.whole, UnsetType):
        body["system"] = written.whole
    elif written.system:
        body["system"] = written.system
    body["messages"] = _alternate(
        written.messages, {id(message.raw) for message in conversation.messages}
    )
    write_config(body, conversation, context)
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    tell_usage(conversation, context)
    first, *others = answer_messages(conversation, context) or [Message("assistant", ())]
    for message in others:
        context.report_loss(
            message, "an answer here is one message; the other candidates stay behind"
        )
    kept = patch_message(first, context, read_message)
    if isinstance(kept, UnsetType):
        written = [FOREIGN[type(part)](part, context) for part in first.parts]
        kept = _message("assistant", [block for block in written if block is not None])
    reason, output = body.get("stopReason"), body.get("output")
    if not isinstance(reason, str) or FINISH_REASON_FROM_WIRE.get(reason, reason) != first.stop:
        reason = write_finish_reason(first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    usage: Object = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    frame: Object = (
        {"usage": usage, "metrics": {"latencyMs": 0}} if conversation.wire != NAME else {}
    )
    said: Object = {**output, "message": kept} if isinstance(output, dict) else {"message": kept}
    stop: Object = (
        {"stopReason": reason or "end_turn"} if reason or conversation.wire != NAME else {}
    )
    return {
        "output": said,
        **stop,
        **frame,
        **{key: value for key, value in body.items() if key not in ("output", *stop)},
    }


# --- telling it from others -----------------------------------------------------------------------

_TOP = (
    "modelId",
    "inferenceConfig",
    "toolConfig",
    "additionalModelRequestFields",
    "guardrailConfig",
    "promptVariables",
)
_FIELDS = frozenset({*BLOCKS, "cachePoint", "toolAddition", "toolRemoval"}) - {"server_tool_use"}


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: no other wire has blocks without a type under
    these names."""
    if not isinstance(body, dict):
        return 0
    if isinstance(get(body, _OUTPUT), dict):
        return 3 if isinstance(get(body, (*_OUTPUT, "content")), list) else 0
    messages, system = body.get("messages"), body.get("system")
    if not isinstance(messages, list) or (system is not None and not isinstance(system, list)):
        return 0
    found: set[str] = set()
    for message in messages:
        content = (
            message.get("content")
            if isinstance(message, dict) and message.get("role") in tuple(ROLES)
            else None
        )
        if not isinstance(content, list):
            return 0
        for block in content:
            if not isinstance(block, dict) or "type" in block:
                return 0
            found.update(block)
    marked = system or any(key in body for key in _TOP) or found & (_FIELDS - {"text"})
    return 3 if marked else 2 if found & _FIELDS else 0


STARTS = (
    Block(
        "contentBlockStart.toolUse",
        Call,
        discriminator={"stream": "contentBlockStart.start.toolUse"},
        direction="call",
        family="function",
        executor="client",
        ids=(Id("toolUseId"),),
        forms=("stream",),
    ),
    Block(
        "contentBlockStart.toolResult",
        Result,
        discriminator={"stream": "contentBlockStart.start.toolResult"},
        direction="output",
        family="server-tool",
        executor="provider",
        ids=(Id("toolUseId"),),
        forms=("stream",),
    ),
)
"""How blocks begin in a stream: there alone they have their ids."""

WIRE = Wire(
    NAME,
    "Bedrock Converse",
    all_blocks(BLOCKS, (SERVED,), STARTS),
    read,
    write,
    match_score,
    stream(SPOKEN, FOREIGN, read_part, write),
)
