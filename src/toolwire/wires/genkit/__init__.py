"""Genkit: the messages, requests and responses of its models, in all of its languages.

- ref-is-optional: a tool's request and response are tied by `ref`, which may be missing or empty.
  Then they pair by name, and by order among calls of one tool. An invented id is never put on this
  wire.
- ref-is-not-the-name: neither the tool's name nor its output ever stands in for the ref. Genkit for
  Go sent both as the `tool_call_id` of an OpenAI request, which was refused.
- any-order: responses of one turn come in the order in which the tools finished.
- output-or-content: a response holds any JSON value as `output`, and media as parts under
  `content`; it has no error flag.
- one-field-per-part: a part is told by the field it has; `metadata` stands beside it and may hold a
  signature.
- candidates-are-old: early responses held a list of candidates; now there is one message.
- tools-by-name: a request of the framework itself may name its tools without describing them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import (
    BodySource,
    Choice,
    Conversation,
    Format,
    Kind,
    Setting,
    Tool,
    Usage,
)
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
    output_text,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.settings import (
    SettingSpec,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    Id,
    Wire,
    all_blocks,
    answer_messages,
    blocks,
    count_at,
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
from toolwire.wires.families.turns.history import TurnHistory, bare
from toolwire.wires.genkit.stream_reader import stream

NAME = "genkit"

# --- parts ----------------------------------------------------------------------------------------

_SEALS = ("thoughtSignature", "signature")


def _seal(block: Object) -> str | None:
    """The signature on a part, which the plugins keep in its metadata."""
    held = block.get("metadata")
    return next(
        (text for key in _SEALS if (text := text_or_none(get(held, (key,)) or None)) is not None),
        None,
    )


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    media = require_object(block["media"])
    url, mime = require_string(media["url"]), text_or_none(media.get("contentType"))
    held = split_data_url(url)
    if held is None:
        return Media(
            kind_by(mime or mime_of(Media("file", url=url))),
            mime,
            url=url,
            signature=_seal(block),
            source=Source(block, path, spec),
        )
    return Media(
        kind_by(mime or held[0]),
        mime or held[0],
        held[1],
        signature=_seal(block),
        source=Source(block, path, spec),
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    url = data_url(media)
    if url is None:
        context.report_loss(
            media,
            (
                "a text document is sent as text"
                if media.text is not None
                else "a provider's file id, named in text"
            ),
        )
        return {"text": describe(media)}
    if media.name is not None:
        context.report_loss(media, "media have no name here")
    mime = mime_of(media)
    if mime is None and media.kind != "file":
        context.report_loss(media, f"without a MIME type nothing says that this is {media.kind}")
    return {"media": {"url": url, "contentType": mime} if mime else {"url": url}}


def _read_resource(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["resource"])["uri"])
    return Media("file", url=url, signature=_seal(block), source=Source(block, path, spec))


def _read_request(block: Object, path: JsonPath, spec: Block) -> Part:
    asked = require_object(block["toolRequest"])
    one, origin = read_id(asked.get("ref"))
    given = asked.get("input")
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        read_name(asked.get("name")),
        args,
        origin,
        signature=_seal(block),
        source=Source(block, path, spec),
    )


def _input(call: Call, context: EncodeContext) -> JSON:
    """The arguments, which may be any JSON value here."""
    if call.family == "custom" or call.args.broken:
        return context.arguments_object(call)
    held = LazyJson(context.arguments_text(call)) if context.reverse_map.forms else call.args
    return held.value if held.text and not held.broken else {}


def _write_request(call: Call, context: EncodeContext) -> JSON:
    sent = context.wire_id(call)
    asked: Object = {"name": context.name(call.name), "input": _input(call, context)}
    return {"toolRequest": asked if sent is None else {"ref": sent, **asked}}


def _read_response(block: Object, path: JsonPath, spec: Block) -> Part:
    answer = require_object(block["toolResponse"])
    one, origin = read_result_id(answer.get("ref"))
    output: Output = answer.get("output")
    content = answer.get("content")
    if isinstance(content, list) and content:
        inside = tuple(
            read_part(part, (*path, "toolResponse", "content", i)) for i, part in enumerate(content)
        )
        # The text keeps the value it stands for, which is not to become text on the way back.
        output = (
            inside
            if output in (None, "")
            else (Text(output_text(output), source=Source(raw=answer["output"])), *inside)
        )
    return Result(
        one,
        "" if output is None else output,
        False,
        text_or_none(answer.get("name")),
        origin,
        signature=_seal(block),
        source=Source(block, path, spec),
    )


def _write_response(result: Result, context: EncodeContext) -> JSON:
    """The answer under its tool's name, with the ref only if its call has one."""
    answer: Object = {
        "name": context.name(context.called_names.get(result.call_id) or result.name or "")
    }
    sent = context.result_id(result)
    if not context.hides_id(sent):
        answer["ref"] = sent
    elif result.call_id not in context.called_names:
        context.report_loss(
            result, "it answers no call, and without a ref it may be taken for another's answer"
        )
    context.note_result_form(result, flag=False, structure=True)
    if result.error:
        context.report_loss(result, "a tool's response has no error flag; its output is kept")
    output = context.output(result)
    if isinstance(output, tuple):
        media = [part for part in output if isinstance(part, Media) and part.text is None]
        for part in output:
            if not isinstance(part, Text | Media):
                context.report_loss(
                    part, f"a tool's response cannot hold this but as text: {describe(part)[:80]}"
                )
        said = [part for part in output if part not in media]
        held = said[0].raw if len(said) == 1 and said[0].spec is None else UNSET
        output = "\n".join(map(describe, said)) if isinstance(held, UnsetType) else held
        if media:
            answer["content"] = [_write_media(part, context) for part in media]
        if media and not said:
            return {"toolResponse": answer}
    answer["output"] = output
    return {"toolResponse": answer}


def _opaque(name: str) -> Block:
    """A part that has no neutral form."""
    return Block(
        name,
        Opaque,
        lambda block, path, spec: Opaque(
            name, block, signature=_seal(block), source=Source(block, path, spec)
        ),
        lambda part, _: part.value,
    )


_META = (("metadata", keys(*_SEALS)),)
_REF = (Id("ref", required=False, nullable=True),)
BLOCKS = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(
            require_string(b["text"]), signature=_seal(b), source=Source(b, path, spec)
        ),
        lambda p, _: {"text": p.text},
        keys("text", "metadata"),
        _META,
        deltas={"text": ("text", "text")},
    ),
    Block(
        "media",
        Media,
        _read_media,
        _write_media,
        keys("media", "metadata"),
        (*_META, ("media", keys("url", "contentType"))),
    ),
    Block(
        "reasoning",
        Reasoning,
        lambda b, path, spec: Reasoning(
            require_string(b["reasoning"]), signature=_seal(b), source=Source(b, path, spec)
        ),
        lambda p, _: {"reasoning": p.text},
        keys("reasoning", "metadata"),
        _META,
        deltas={"reasoning": ("reasoning", "reasoning")},
    ),
    Block(
        "toolRequest",
        Call,
        _read_request,
        _write_request,
        keys("toolRequest", "metadata"),
        (*_META, ("toolRequest", keys("ref", "name", "input"))),
        {"part_field": "toolRequest"},
        "call",
        "function",
        "client",
        _REF,
    ),
    Block(
        "toolResponse",
        Result,
        _read_response,
        _write_response,
        keys("toolResponse", "metadata"),
        (*_META, ("toolResponse", keys("ref", "name", "output", "content"))),
        {"part_field": "toolResponse"},
        "output",
        "function",
        "client",
        _REF,
    ),
    Block(
        "resource",
        Media,
        _read_resource,
        lambda p, _: {"resource": {"uri": p.url}},
        keys("resource", "metadata"),
        (*_META, ("resource", keys("uri"))),
    ),
    _opaque("data"),
    _opaque("custom"),
)


def read_part(block: JSON, path: JsonPath) -> Part:
    """A part is told by the field it has; Python writes out the others as null."""
    if not isinstance(block, dict):
        raise_unexpected(NAME, path, "an object", block)
    for key, value in block.items():
        spec = BLOCKS.get(key)
        if spec is not None and spec.read is not None and value is not None:
            try:
                return spec.read(block, path, spec)
            except UNREADABLE:
                break
    return opaque(next(iter(block), ""), block, path)


# --- messages -------------------------------------------------------------------------------------

ROLES: dict[str, Role] = {"system": "system", "user": "user", "model": "assistant", "tool": "tool"}
SAYS_ROLE: dict[Role, str] = {role: said for said, role in ROLES.items()}
MESSAGE = Block("message", Message, keys=keys("role", "content"))


def read_message(message: JSON, path: JsonPath) -> Message:
    """One message; one of a role nobody knows is kept whole."""
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    role = ROLES.get(str(message.get("role")))
    if role is None:
        return Message(
            "user",
            (opaque(message.get("role"), message, path),),
            None,
            NAME,
            source=Source(raw=message, path=path),
        )
    content = message.get("content")
    if content is not None and not isinstance(content, list):
        raise_unexpected(NAME, (*path, "content"), "a list", content)
    inside = tuple([read_part(part, (*path, "content", i)) for i, part in enumerate(content or ())])
    return Message(role, inside, None, NAME, source=Source(message, path, MESSAGE))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        context.report_loss(part, "a refusal is sent as plain text")
    return {"text": part.text} if part.text else None


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    if part.text:
        return {"reasoning": part.text}
    context.report_loss(part, "reasoning that only its own provider can read")
    return None


def _no_part(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such part on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: _write_request,
    Result: _write_response,
    Reasoning: _write_reasoning,
    Opaque: _no_part,
}
"""How a part of another wire is written; None if it cannot stand here."""
HISTORY = TurnHistory(
    NAME,
    read_message,
    FOREIGN,
    lambda role, blocks: {"role": SAYS_ROLE[role], "content": blocks},
    lambda raw, blocks: {**require_object(raw), "content": blocks},
)

# --- tools and settings ---------------------------------------------------------------------------

OFFER = Block("tool", Tool, keys=keys("name", "description", "inputSchema"))


def _read_offer(tool: JSON, path: JsonPath) -> Tool:
    if isinstance(tool, str):
        return Tool(tool, source=Source(raw=tool, path=path))
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object or a name", tool)
    return Tool(
        read_name(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("inputSchema"),
        source=Source(tool, path, OFFER),
    )


def _write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    out: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        schema = context.schema_of(tool)
        if tool.strict is not None:
            context.report_loss(tool, "no strict flag here")
        given = (("description", tool.description), ("inputSchema", schema))
        out.append(
            {
                "name": context.name(tool.name),
                **{key: value for key, value in given if value is not None},
            }
        )
    return out


def _read_choice(value: JSON) -> Setting | UnsetType:
    return Choice(value) if value in ("auto", "required", "none") else UNSET  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names and value.mode != "none":
        context.report_loss(context.setting_path, "a choice names no tools here")
    return value.mode


def _read_output(value: JSON) -> Setting | UnsetType:
    held = require_object(value)
    schema = held.get("schema", held.get("jsonSchema"))
    return Format(schema) if schema is not None or held.get("format") == "json" else UNSET


def _write_output(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if any(one is not None for one in (value.name, value.strict, value.description)):
        context.report_loss(
            context.setting_path, "a form of answer has neither a name nor a strict flag here"
        )
    plain: Object = {"format": "json", "contentType": "application/json"}
    return plain if value.schema is None else {**plain, "schema": value.schema, "constrained": True}


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("config", "maxOutputTokens")),
    SettingSpec("temperature", ("config", "temperature")),
    SettingSpec("top_p", ("config", "topP")),
    SettingSpec("top_k", ("config", "topK")),
    SettingSpec(
        "stop",
        ("config", "stopSequences"),
        lambda v: tuple(map(require_string, v)) if isinstance(v, list) else UNSET,
    ),
    SettingSpec("candidates", ("candidates",)),
    SettingSpec("choice", ("toolChoice",), _read_choice, _write_choice),
    SettingSpec("format", ("output",), _read_output, _write_output),
)
_OUTPUT = keys("format", "contentType", "schema", "jsonSchema", "constrained")


def _read_usage(value: JSON) -> Setting | UnsetType:
    """Tokens of thoughts are counted apart from those of the answer, as the model's own
    API does.
    """
    thoughts, made = count_at(value, "thoughtsTokens"), count_at(value, "outputTokens")
    total = made if thoughts is None else (made or 0) + thoughts
    return Usage(
        count_at(value, "inputTokens"),
        total,
        count_at(value, "cachedContentTokens"),
        None,
        thoughts,
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    out: Object = {
        "inputTokens": read,
        "outputTokens": made - (value.reasoning or 0),
        "totalTokens": read + made,
    }
    if value.reasoning is not None:
        out["thoughtsTokens"] = value.reasoning
    if value.cached is not None:
        out["cachedContentTokens"] = value.cached
    if value.cache_write:
        context.report_loss(context.setting_path, "tokens written to a cache are not counted here")
    return out


RESPONSE = (
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys("inputTokens", "outputTokens", "totalTokens", "thoughtsTokens", "cachedContentTokens"),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "blocked": "filter",
    "interrupted": "pause",
}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "length": "length",
    "filter": "blocked",
    "refusal": "blocked",
    "pause": "interrupted",
    "tool": "stop",
    "sequence": "stop",
}

# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request, or its messages alone, or a response as a conversation."""
    if kind == "response":
        return _read_answer(body)
    place: JsonPath = () if isinstance(body, list) else ("messages",)
    if not isinstance(body, list | dict):
        raise_unexpected(NAME, (), "an object or a list of messages", body)
    messages = tuple(
        [read_message(one, (*place, i)) for i, one in enumerate(list_at(NAME, body, place))]
    )
    ordered = bare(messages)
    messages = assign_ids(messages, seed="", ordered=ordered)
    if isinstance(body, list):
        return Conversation(
            messages, (), {}, NAME, "request", source=BodySource(body, ordered=ordered)
        )
    offered = list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    settings = read_settings(REQUEST, body, keys("messages", "tools"))
    form = body.get("output")
    extra = (
        [("output", key) for key in form if key not in _OUTPUT]
        if isinstance(form, dict) and "format" in settings.values
        else []
    )
    tools = tuple(_read_offer(tool, ("tools", i)) for i, tool in enumerate(offered))
    return Conversation(
        messages,
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body,
            unknown_fields=(*settings.unknown, *extra),
            setting_paths=settings.places,
            ordered=ordered,
        ),
    )


def _read_answer(body: JSON) -> Conversation:
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    frames: list[JsonPath] = [()]
    if body.get("message") is None and body.get("candidates") is not None:
        frames = [("candidates", i) for i in range(len(list_at(NAME, body, ("candidates",))))]
    settings = read_settings(RESPONSE, body, keys("message", "finishReason", "candidates"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    for path in frames:
        frame = object_at(NAME, body, path)
        where: JsonPath = (*path, "message")
        nothing = frame.get("message") is None and "finishReason" in frame  # blocked or failed
        message = (
            Message("assistant", (), None, NAME, source=Source(path=where))
            if nothing
            else read_message(object_at(NAME, body, where), where)
        )
        reason = frame.get("finishReason")
        stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
        called = any(isinstance(part, Call) for part in message.parts)
        messages.append(
            replace(message, role="assistant", stop="tool" if called and stop == "stop" else stop)
        )
        if path:
            extra += [
                (*path, key)
                for key, value in frame.items()
                if key not in _FRAME and value is not None
            ]
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=True),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=tuple(extra), setting_paths=settings.places, ordered=True
        ),
    )


_FRAME = keys("index", "message", "finishReason")


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_answer(conversation, context)
    mine = conversation.wire == NAME and conversation.kind == context.kind
    body = write_settings(REQUEST, conversation, context)
    messages = HISTORY.write(conversation.messages, context)
    if mine and isinstance(conversation.source.body, list) and not body and not conversation.tools:
        return messages
    body["messages"] = messages
    if not conversation.same_tools if mine else conversation.tools:
        body["tools"] = _write_tools(conversation.tools, context)
    return body


def _write_answer(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    frames: list[JSON] = []
    for i, message in enumerate(answer_messages(conversation, context)):
        if i and "candidates" not in body:
            context.report_loss(
                message, "an answer here is one message; the other candidates stay behind"
            )
            continue
        kept = patch_message(
            message, context, lambda raw, path: replace(read_message(raw, path), role="assistant")
        )
        if isinstance(kept, UnsetType):
            blocks = [HISTORY.block(part, message, context) for part in message.parts]
            kept = {"role": "model", "content": [block for block in blocks if block is not None]}
        old = (
            get(conversation.source.body, message.path[:-1])
            if message.wire == NAME and conversation.wire == NAME
            else UNSET
        )
        called = message.stop == "tool" and any(isinstance(part, Call) for part in message.parts)
        if isinstance(old, dict):
            frames.append({**old, "message": kept} if "message" in old or message.parts else old)
            continue
        stop = (
            "stop"
            if called
            else write_finish_reason(
                message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
            )
        )
        frames.append(
            {"message": kept} if stop is None else {"message": kept, "finishReason": stop}
        )
    if "candidates" in body:
        return {**body, "candidates": frames}
    return {**body, **(require_object(frames[0]) if frames else {"finishReason": "unknown"})}


# --- telling it from others -----------------------------------------------------------------------

_MARKS = keys("toolRequest", "toolResponse", "media", "custom", "resource")
_FIELDS = keys("config", "output", "docs", "toolChoice")


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: its parts name no type, and nobody else has a
    role `model` for such."""
    if isinstance(body, dict) and isinstance(body.get("candidates"), list):
        return max(
            (match_score([get(one, ("message",)) or None]) for one in body["candidates"]),  # type: ignore[union-attr]
            default=0,
        )
    if isinstance(body, dict) and isinstance(body.get("message"), dict):
        return 3 if match_score([body["message"]]) == 3 else 0
    messages = body.get("messages") if isinstance(body, dict) else body
    if not isinstance(messages, list) or not messages:
        return 0
    marks = 3 if isinstance(body, dict) and body.keys() & _FIELDS else 1
    for message in messages:
        content = get(message, ("content",))
        if not isinstance(content, list) or get(message, ("role",)) == "assistant":
            return 0
        if not all(
            isinstance(part, dict) and "type" not in part and "$type" not in part
            for part in content
        ):
            return 0
        if get(message, ("role",)) == "model" or any(
            isinstance(part, dict) and part.keys() & _MARKS for part in content
        ):
            marks = 3
    return marks


WIRE = Wire(
    NAME,
    "Genkit",
    all_blocks(BLOCKS),
    read,
    write,
    match_score,
    stream(read_part, read, ROLES, FOREIGN, write),
)
