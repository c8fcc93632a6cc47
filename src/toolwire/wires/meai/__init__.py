"""Microsoft.Extensions.AI: lists of ChatMessage, a request with its ChatOptions, a ChatResponse.

- type-first: every content names its type in `$type`; System.Text.Json wants it first in the
  object.
- call-id-required: `callId` is never null here, so an id that was invented for a wire without ids
  is sent too.
- hosted-tools-answer-in-place: code interpreter, image, search and MCP calls of a service stand
  beside their results in the assistant's message, and hold contents of their own.
- approval-is-a-call: a `toolApprovalRequest` is asked and answered under its `requestId`; the call
  it is about is inside it.
- informational-call: a call with `informationalOnly` was run by somebody else and must not be run
  again.
- exceptions-stay-home: a failed call's exception is not serialised; a result has no error flag,
  only its value.
- refusal-is-an-error: a refusal is a content of type `error` with the code `Refusal`.
- response-of-several-turns: a ChatResponse may hold calls, their results and the answer after them.
- instructions-beside-messages: `options.instructions` is a system prompt too.
- log-keeping: the id and time of a message belong to the log and are not reported as losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import BodySource, Conversation, Kind
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
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
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
    opaque,
    raise_unexpected,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.turns.history import TurnHistory, merged
from toolwire.wires.meai.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    OPTIONS,
    REQUEST,
    RESPONSE,
    read_offer,
    write_tools,
)
from toolwire.wires.meai.stream import stream

NAME = "meai"

# --- text, media, reasoning -----------------------------------------------------------------------


def _mime(block: Object) -> str | None:
    """The media type; `image/*` and the like say no more than the kind."""
    mime = text_or_none(block.get("mediaType"))
    return None if mime is None or mime.endswith("/*") else mime


def _read_data(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(block["uri"])
    mime, data = split_data_url(url) or (None, None)
    mime = mime or _mime(block)
    return Media(
        kind_by(mime),
        mime,
        data,
        None if data is not None else url,
        name=text_or_none(block.get("name")),
        source=Source(block, path, spec),
    )


def _read_uri(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(block["uri"])
    kind = kind_by(text_or_none(block.get("mediaType")) or mime_of(Media("file", url=url)))
    return Media(kind, _mime(block), url=url, source=Source(block, path, spec))


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    kind, name = kind_by(text_or_none(block.get("mediaType"))), text_or_none(block.get("name"))
    return Media(
        kind,
        _mime(block),
        file=require_string(block["fileId"]),
        name=name,
        source=Source(block, path, spec),
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    mime = mime_of(media)
    named: Object = {} if media.name is None else {"name": media.name}
    if media.data is not None:
        if mime is None and media.kind != "file":
            context.report_loss(
                media, f"without a MIME type nothing says that this is {media.kind}"
            )
        return {"$type": "data", "uri": data_url(media), **named}
    if media.file is not None:
        said: Object = (
            {}
            if mime is None and media.kind == "file"
            else {"mediaType": mime or f"{media.kind}/*"}
        )
        return {"$type": "hostedFile", "fileId": media.file, **said, **named}
    if media.url is None:
        context.report_loss(media, "a text document is sent as text")
        return {"$type": "text", "text": describe(media)}
    if media.name is not None:
        context.report_loss(media, "what is given by its address has no name here")
    kind = "application/octet-stream" if media.kind == "file" else f"{media.kind}/*"
    return {"$type": "uri", "uri": media.url, "mediaType": mime or kind}


def _read_reasoning(block: Object, path: JsonPath, spec: Block) -> Part:
    signature = text_or_none(block.get("protectedData"))
    return Reasoning(
        require_string(block.get("text") or ""),
        signature=signature,
        source=Source(block, path, spec),
    )


def _read_error(block: Object, path: JsonPath, spec: Block) -> Part:
    if block.get("errorCode") == "Refusal":
        return Text(require_string(block["message"]), True, source=Source(block, path, spec))
    return Opaque("error", block, source=Source(block, path, spec))


def _write_error(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Opaque):
        return part.value
    assert isinstance(part, Text)
    return {"$type": "error", "message": part.text, "errorCode": "Refusal"}


def _opaque(name: str) -> Block:
    """A content that has no neutral form."""
    return Block(
        name,
        Opaque,
        lambda block, path, spec: Opaque(name, block, source=Source(block, path, spec)),
        lambda part, _: part.value,
    )


# --- calls ----------------------------------------------------------------------------------------


def _read_function(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("callId"))
    given = block.get("arguments")
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    executor: Literal["client", "provider"] = (
        "provider" if block.get("informationalOnly") is True else "client"
    )
    return Call(
        one,
        read_name(block.get("name")),
        args,
        origin,
        "function",
        executor,
        source=Source(block, path, spec),
    )


def _write_function(call: Call, context: EncodeContext) -> JSON:
    return {
        "$type": "functionCall",
        "callId": context.call_id(call),
        "name": context.name(call.name),
        "arguments": context.arguments_object(call),
    }


_IN_PIECES = {
    "codeInterpreterToolCall": {"codeInterpreterToolCall": ("inputs", "inputs")},
    "codeInterpreterToolResult": {"codeInterpreterToolResult": ("outputs", "outputs")},
}


def _hosted(kind: str, name: str, family: str, *fields: str) -> Block:
    """A call that a service ran: it names its tool by its type, and its arguments are its
    fields.
    """

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin = read_id(block.get("callId"))
        given: Object = {field: block[field] for field in fields if block.get(field) is not None}
        return Call(
            one,
            name,
            LazyJson.from_value(given),
            origin,
            family,
            "provider",
            source=Source(block, path, spec),
        )

    def write(call: Call, context: EncodeContext) -> JSON:
        given = call.input
        return {
            "$type": kind,
            "callId": context.call_id(call),
            **(given if isinstance(given, dict) else {}),
        }

    return Block(
        kind,
        Call,
        read,
        write,
        keys("$type", "callId", *fields),
        (),
        {"$type": kind},
        "call",
        family,
        "provider",
        (Id("callId"),),
        deltas=_IN_PIECES.get(kind, {}),
    )


def _read_mcp(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("callId"))
    given = block.get("arguments")
    return Call(
        one,
        read_name(block.get("name")),
        LazyJson("") if given is None else LazyJson.from_value(given),
        origin,
        "mcp",
        "provider",
        source=Source(block, path, spec),
    )


def _write_mcp(call: Call, context: EncodeContext) -> JSON:
    return {
        "$type": "mcpServerToolCall",
        "callId": context.call_id(call),
        "name": call.name,
        "arguments": call.input,
    }


def _read_approval(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("requestId"))
    asked = block.get("toolCall") or {}
    given = require_object(asked).get("arguments")
    return Call(
        one,
        read_name(require_object(asked).get("name")) or "tool",
        LazyJson("") if given is None else LazyJson.from_value(given),
        origin,
        "tool-approval",
        approval_for=read_id(require_object(asked).get("callId"))[0] or None,
        source=Source(block, path, spec),
    )


def _write_approval(call: Call, context: EncodeContext) -> JSON:
    """Only ever compared with itself: what it is about stays as it came."""
    asked: Object = {"name": context.name(call.name), "arguments": call.input}
    return {"$type": "toolApprovalRequest", "requestId": context.call_id(call), "toolCall": asked}


def _read_input(block: Object, path: JsonPath, spec: Block) -> Part:
    """A request for something else than leave: the base type holds its id and no more."""
    one, origin = read_id(block.get("requestId"))
    given = block.get("arguments")
    return Call(
        one,
        read_name(block.get("name")) or _INPUT,
        LazyJson("") if given is None else LazyJson.from_value(given),
        origin,
        "input",
        source=Source(block, path, spec),
    )


def _write_input(call: Call, context: EncodeContext) -> JSON:
    out: Object = {"$type": "inputRequest", "requestId": context.call_id(call)}
    named: Object = {} if call.name == _INPUT else {"name": context.name(call.name)}
    return {**out, **named, **({"arguments": call.input} if call.args.text else {})}


_INPUT = "input"


# --- results --------------------------------------------------------------------------------------


def _contents(value: JSON, path: JsonPath) -> tuple[Part, ...] | None:
    """A value as parts if it is a list of contents, or a single one; None if it is data."""
    if isinstance(value, dict) and value.get("$type") in BLOCKS:
        return (read_content(value, path),)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and one.get("$type") in BLOCKS for one in value)
    ):
        return tuple(read_content(one, (*path, i)) for i, one in enumerate(value))
    return None


def _read_result(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(block.get("callId"))
    value = block.get("result")
    output: Output = (
        value if isinstance(value, str) else _contents(value, (*path, "result")) or value
    )
    return Result(
        one, "" if output is None else output, False, None, origin, source=Source(block, path, spec)
    )


def _write_result(result: Result, context: EncodeContext) -> JSON:
    context.note_result_form(result, flag=False, structure=True)
    if result.error:
        context.report_loss(result, "a result has no error flag; its value is kept")
    output = context.output(result)
    if isinstance(output, tuple):
        output = [
            block for part in output if (block := FOREIGN[type(part)](part, context)) is not None
        ] or ""
    return {"$type": "functionResult", "callId": context.result_id(result), "result": output}


def _outputs(kind: str, family: str) -> Block:
    """A result that a service made: a list of contents, of which an error says that the tool
    failed."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin = read_result_id(block.get("callId"))
        field = "outputs" if "outputs" in block else "output"
        held = block.get(field)
        contents = (
            [_said(value, (*path, field, i)) for i, value in enumerate(held)]
            if isinstance(held, list)
            else []
        )
        failed = isinstance(held, list) and any(get(value, ("$type",)) == "error" for value in held)
        return Result(
            one,
            tuple(contents) if contents else "",
            failed,
            None,
            origin,
            family,
            "provider",
            source=Source(block, path, spec),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        held: list[JSON] = [{"$type": "text", "text": result.text}] if result.text else []
        return {"$type": kind, "callId": context.result_id(result), "outputs": held}

    return Block(
        kind,
        Result,
        read,
        write,
        keys("$type", "callId", "outputs", "output"),
        (),
        {"$type": kind},
        "output",
        family,
        "provider",
        (Id("callId"),),
        deltas=_IN_PIECES.get(kind, {}),
    )


def _said(value: JSON, path: JsonPath) -> Part:
    """A content inside a service's result, where an error is what the tool said."""
    message = get(value, ("message",)) if get(value, ("$type",)) == "error" else UNSET
    return (
        Text(message, source=Source(value, path, ERROR_INSIDE))
        if isinstance(message, str)
        else read_content(value, path)
    )


ERROR_INSIDE = Block("error", Text, keys=keys("$type", "message"))


def _read_verdict(block: Object, path: JsonPath, spec: Block) -> Part:
    """The answer to an approval or to another request for input; words without a yes or no are all
    it says."""
    one, origin = read_result_id(block.get("requestId"))
    said: Object = {key: block[key] for key in ("approved", "reason") if block.get(key) is not None}
    words = said.get("reason") if "approved" not in said else None
    output = words if isinstance(words, str) else said
    return Result(one, output, False, None, origin, spec.family, source=Source(block, path, spec))


def _write_verdict(result: Result, context: EncodeContext) -> JSON:
    said = result.output
    return {
        "requestId": context.result_id(result),
        **(said if isinstance(said, dict) else {"reason": result.text}),
    }


_CALL, _REQUEST = (Id("callId"),), (Id("requestId"),)
_ASKED = (("toolCall", keys("$type", "name", "arguments")),)
BLOCKS = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(
            require_string(b.get("text") or ""), source=Source(b, path, spec)
        ),
        lambda p, _: {"$type": "text", "text": p.text},
        keys("$type", "text"),
        deltas={"text": ("text", "text")},
    ),
    Block(
        "reasoning",
        Reasoning,
        _read_reasoning,
        lambda p, _: {"$type": "reasoning", "text": p.text},
        keys("$type", "text", "protectedData"),
        deltas={"reasoning": ("text", "text")},
    ),
    Block("data", Media, _read_data, _write_media, keys("$type", "uri", "name", "mediaType")),
    Block("uri", Media, _read_uri, _write_media, keys("$type", "uri", "mediaType")),
    Block(
        "hostedFile", Media, _read_file, _write_media, keys("$type", "fileId", "mediaType", "name")
    ),
    Block("error", Text, _read_error, _write_error, keys("$type", "message", "errorCode")),
    _opaque("hostedVectorStore"),
    _opaque("usage"),
    Block(
        "functionCall",
        Call,
        _read_function,
        _write_function,
        keys("$type", "callId", "name", "arguments", "informationalOnly"),
        (),
        {"$type": "functionCall"},
        "call",
        "function",
        "client",
        _CALL,
    ),
    Block(
        "functionResult",
        Result,
        _read_result,
        _write_result,
        keys("$type", "callId", "result"),
        (),
        {"$type": "functionResult"},
        "output",
        "function",
        "client",
        _CALL,
    ),
    Block(
        "mcpServerToolCall",
        Call,
        _read_mcp,
        _write_mcp,
        keys("$type", "callId", "name", "arguments"),
        (),
        {"$type": "mcpServerToolCall"},
        "call",
        "mcp",
        "provider",
        _CALL,
    ),
    _outputs("mcpServerToolResult", "mcp"),
    _hosted("codeInterpreterToolCall", "code_interpreter", "code-interpreter", "inputs"),
    _outputs("codeInterpreterToolResult", "code-interpreter"),
    _hosted("imageGenerationToolCall", "image_generation", "image-gen"),
    _outputs("imageGenerationToolResult", "image-gen"),
    _hosted("webSearchToolCall", "web_search", "web-search", "queries"),
    _outputs("webSearchToolResult", "web-search"),
    _hosted("toolCall", "tool", "generic-server-tool"),
    _outputs("toolResult", "generic-server-tool"),
    Block(
        "toolApprovalRequest",
        Call,
        _read_approval,
        _write_approval,
        keys("$type", "requestId", "toolCall"),
        _ASKED,
        {"$type": "toolApprovalRequest"},
        "call",
        "tool-approval",
        "client",
        _REQUEST,
    ),
    Block(
        "toolApprovalResponse",
        Result,
        _read_verdict,
        _write_verdict,
        keys("$type", "requestId", "toolCall", "approved", "reason"),
        _ASKED,
        {"$type": "toolApprovalResponse"},
        "output",
        "tool-approval",
        "client",
        _REQUEST,
    ),
    Block(
        "inputRequest",
        Call,
        _read_input,
        _write_input,
        keys("$type", "requestId", "name", "arguments"),
        (),
        {"$type": "inputRequest"},
        "call",
        "input",
        "client",
        _REQUEST,
    ),
    Block(
        "inputResponse",
        Result,
        _read_verdict,
        _write_verdict,
        keys("$type", "requestId", "approved", "reason"),
        (),
        {"$type": "inputResponse"},
        "output",
        "input",
        "client",
        _REQUEST,
    ),
)


def read_content(block: JSON, path: JsonPath) -> Part:
    """One content, by its `$type`; one that does not fit its own type is kept as unknown."""
    if not isinstance(block, dict):
        raise_unexpected(NAME, path, "an object", block)
    name = block.get("$type")
    try:
        spec = BLOCKS[name]  # type: ignore[index]
        return spec.read(block, path, spec)  # type: ignore[misc]
    except UNREADABLE:
        return opaque(name, block, path)


# --- messages -------------------------------------------------------------------------------------

ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "developer": "system",
}
MESSAGE = Block("message", Message, keys=keys("role", "contents", "messageId", "createdAt"))
PLAIN = Block("instructions", Text, write=lambda part, context: part.text)
_INSTRUCTIONS: JsonPath = (OPTIONS, "instructions")


def read_message(message: JSON, path: JsonPath) -> Message:
    """One message; instructions, which are plain text, count as one, and one of a role nobody knows
    is kept whole."""
    if isinstance(message, str) and path == _INSTRUCTIONS:
        parts = (Text(message, source=Source(message, path, PLAIN)),) if message else ()
        return Message("system", parts, None, NAME, source=Source(message, path, MESSAGE))
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    role = ROLES.get(str(message.get("role", "user")))
    if role is None:
        return Message(
            "user",
            (opaque(message.get("role"), message, path),),
            None,
            NAME,
            source=Source(raw=message, path=path),
        )
    contents = message.get("contents")
    if contents is not None and not isinstance(contents, list):
        raise_unexpected(NAME, (*path, "contents"), "a list", contents)
    inside = tuple(
        [read_content(one, (*path, "contents", i)) for i, one in enumerate(contents or ())]
    )
    return Message(role, inside, None, NAME, source=Source(message, path, MESSAGE))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        return _write_error(part, context)
    return {"$type": "text", "text": part.text} if part.text else None


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    if part.text:
        return {"$type": "reasoning", "text": part.text}
    context.report_loss(part, "reasoning that only its own provider can read")
    return None


def _no_content(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such content on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: _write_function,
    Result: _write_result,
    Reasoning: _write_reasoning,
    Opaque: _no_content,
}
"""How a part of another wire is written; None if it cannot stand here."""
HISTORY = TurnHistory(
    NAME,
    read_message,
    FOREIGN,
    lambda role, blocks: {"role": role, "contents": blocks},
    lambda raw, blocks: {**require_object(raw), "contents": blocks},
)

# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """Messages, a request or a response as a conversation."""
    if not isinstance(body, list | dict):
        raise_unexpected(NAME, (), "an object or a list of messages", body)
    place: JsonPath = () if isinstance(body, list) else ("messages",)
    messages = [read_message(one, (*place, i)) for i, one in enumerate(list_at(NAME, body, place))]
    if kind == "response":
        return _read_answer(body, messages)
    if isinstance(body, list):
        return Conversation(
            assign_ids(tuple(messages), seed="", ordered=False),
            (),
            {},
            NAME,
            "request",
            source=BodySource(body),
        )
    instructions = get(body, _INSTRUCTIONS)
    if isinstance(instructions, str):
        messages.insert(0, read_message(instructions, _INSTRUCTIONS))
    where: JsonPath = (OPTIONS, "tools")
    offered = list_at(NAME, body, where) if get(body, where) not in (None, UNSET) else []
    tools = tuple(read_offer(tool, (*where, i)) for i, tool in enumerate(offered))
    settings = read_settings(REQUEST, body, keys("messages"))
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body,
            unknown_fields=tuple(_unread(settings.unknown, body)),
            setting_paths=settings.places,
        ),
    )


def _unread(paths: tuple[JsonPath, ...], body: Object) -> Iterator[JsonPath]:
    """What nothing stands for: tools and instructions are read elsewhere, also where they are all
    that the options hold."""
    options = body.get(OPTIONS)
    for path in paths:
        inside = (
            [(OPTIONS, key) for key, value in options.items() if value is not None]
            if isinstance(options, dict)
            else [path]
        )
        yield from (one for one in (inside if path == (OPTIONS,) else [path]) if one not in _READ)


_READ: tuple[JsonPath, ...] = ((OPTIONS, "tools"), _INSTRUCTIONS)


def _read_answer(body: JSON, messages: list[Message]) -> Conversation:
    """A response: its messages are one answer, and calls that were answered inside it are done."""
    frame = body if isinstance(body, dict) else {}
    settings = read_settings(RESPONSE, frame, keys("messages", "finishReason"))
    said = tuple(message for message in messages if message.role in ("assistant", "tool"))
    extra: list[JsonPath] = [
        message.path for message in messages if message.role not in ("assistant", "tool")
    ]
    for message in said:
        extra += [
            (*message.path, key)
            for key, value in require_object(message.raw).items()  # type: ignore[arg-type]
            if key not in MESSAGE.keys and value is not None
        ]
    turns = assign_ids(said, seed=str(settings.values.get("id", "")), ordered=False)
    reason = frame.get("finishReason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    answer = replace(merged(turns, NAME, ordered=False), stop=stop)
    return Conversation(
        (answer,),
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
        return _write_answer(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    mine = conversation.wire == NAME and conversation.kind == context.kind
    below: list[Message] = []
    above: list[str] = []
    for message in conversation.messages:
        if message.wire == NAME and message.path == _INSTRUCTIONS:
            above += [describe(part) for part in message.parts]
        else:
            below.append(message)
    options = body.get(OPTIONS)
    if (
        mine
        and not above
        and isinstance(options, dict)
        and isinstance(options.get("instructions"), str)
    ):
        body[OPTIONS] = {key: value for key, value in options.items() if key != "instructions"}
    elif above:
        body = require_object(put(body, _INSTRUCTIONS, "\n".join(above)))
    messages = HISTORY.write(below, context)
    if not conversation.same_tools if mine else conversation.tools:
        body = require_object(
            put(body, (OPTIONS, "tools"), write_tools(conversation.tools, context))
        )
    return (
        messages
        if mine and isinstance(conversation.source.body, list) and not body
        else {**body, "messages": messages}
    )


def _write_answer(conversation: Conversation, context: EncodeContext) -> JSON:
    first, *others = answer_messages(conversation, context) or [Message("assistant", ())]
    for message in others:
        context.report_loss(message, "an answer here is one; the other candidates stay behind")
    mine = conversation.wire == NAME and conversation.kind == context.kind
    body = write_settings(
        RESPONSE,
        replace(conversation, source=replace(conversation.source, unknown_fields=()))
        if mine
        else conversation,
        context,
    )
    if mine:
        place: JsonPath = () if isinstance(conversation.source.body, list) else ("messages",)
        before = [
            read_message(one, (*place, i))
            for i, one in enumerate(list_at(NAME, conversation.source.body, place))
        ]
        kept = [
            one if one.role in ("assistant", "tool") else replace(one, parts=()) for one in before
        ]
        messages = HISTORY.spread(first, kept, context)
        return (
            messages
            if isinstance(conversation.source.body, list)
            else {**body, "messages": messages}
        )
    blocks = [FOREIGN[type(part)](part, context) for part in first.parts]
    answer: Object = {
        "role": "assistant",
        "contents": [block for block in blocks if block is not None],
    }
    stop = write_finish_reason(first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    return {"messages": [answer], **body, **({} if stop is None else {"finishReason": stop})}


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    messages = body.get("messages") if isinstance(body, dict) else body
    if not isinstance(messages, list) or not messages:
        return 0
    return (
        3
        if all(isinstance(one, dict) and isinstance(one.get("contents"), list) for one in messages)
        else 0
    )


WIRE = Wire(
    NAME,
    "Microsoft.Extensions.AI",
    all_blocks(BLOCKS),
    read,
    write,
    match_score,
    stream(BLOCKS, read_content, ROLES, FOREIGN, write),
)
