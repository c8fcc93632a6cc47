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

from toolwire.conversation.ids import settle
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
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.settings import read_fields, write_fields, write_stop
from toolwire.wires.engine.specs import (
    BROKEN,
    Id,
    Row,
    Wire,
    answers,
    blame,
    call_id,
    keys,
    list_at,
    name_of,
    obj,
    result_id,
    rows_of,
    string,
    table,
    text_or_none,
    unknown,
)
from toolwire.wires.families.turns.history import Turns, merged
from toolwire.wires.meai.settings import (
    MEANS,
    OPTIONS,
    REQUEST,
    RESPONSE,
    SAYS,
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


def _read_data(block: Object, at: JsonPath, row: Row) -> Part:
    url = string(block["uri"])
    mime, data = split_data_url(url) or (None, None)
    mime = mime or _mime(block)
    return Media(
        kind_by(mime),
        mime,
        data,
        None if data is not None else url,
        name=text_or_none(block.get("name")),
        source=Source(block, at, row),
    )


def _read_uri(block: Object, at: JsonPath, row: Row) -> Part:
    url = string(block["uri"])
    kind = kind_by(text_or_none(block.get("mediaType")) or mime_of(Media("file", url=url)))
    return Media(kind, _mime(block), url=url, source=Source(block, at, row))


def _read_file(block: Object, at: JsonPath, row: Row) -> Part:
    kind, name = kind_by(text_or_none(block.get("mediaType"))), text_or_none(block.get("name"))
    return Media(
        kind, _mime(block), file=string(block["fileId"]), name=name, source=Source(block, at, row)
    )


def _write_media(media: Media, page: Page) -> JSON:
    mime = mime_of(media)
    named: Object = {} if media.name is None else {"name": media.name}
    if media.data is not None:
        if mime is None and media.kind != "file":
            page.lose(media, f"without a MIME type nothing says that this is {media.kind}")
        return {"$type": "data", "uri": data_url(media), **named}
    if media.file is not None:
        said: Object = (
            {}
            if mime is None and media.kind == "file"
            else {"mediaType": mime or f"{media.kind}/*"}
        )
        return {"$type": "hostedFile", "fileId": media.file, **said, **named}
    if media.url is None:
        page.lose(media, "a text document is sent as text")
        return {"$type": "text", "text": describe(media)}
    if media.name is not None:
        page.lose(media, "what is given by its address has no name here")
    kind = "application/octet-stream" if media.kind == "file" else f"{media.kind}/*"
    return {"$type": "uri", "uri": media.url, "mediaType": mime or kind}


def _read_reasoning(block: Object, at: JsonPath, row: Row) -> Part:
    signature = text_or_none(block.get("protectedData"))
    return Reasoning(
        string(block.get("text") or ""), signature=signature, source=Source(block, at, row)
    )


def _read_error(block: Object, at: JsonPath, row: Row) -> Part:
    if block.get("errorCode") == "Refusal":
        return Text(string(block["message"]), True, source=Source(block, at, row))
    return Opaque("error", block, source=Source(block, at, row))


def _write_error(part: Part, page: Page) -> JSON:
    if isinstance(part, Opaque):
        return part.value
    assert isinstance(part, Text)
    return {"$type": "error", "message": part.text, "errorCode": "Refusal"}


def _opaque(name: str) -> Row:
    """A content that has no neutral form."""
    return Row(
        name,
        Opaque,
        lambda block, at, row: Opaque(name, block, source=Source(block, at, row)),
        lambda part, _: part.value,
    )


# --- calls ----------------------------------------------------------------------------------------


def _read_function(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("callId"))
    given = block.get("arguments")
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    executor: Literal["client", "provider"] = (
        "provider" if block.get("informationalOnly") is True else "client"
    )
    return Call(
        one,
        name_of(block.get("name")),
        args,
        origin,
        "function",
        executor,
        source=Source(block, at, row),
    )


def _write_function(call: Call, page: Page) -> JSON:
    return {
        "$type": "functionCall",
        "callId": page.call_id(call),
        "name": page.name(call.name),
        "arguments": page.object_of(call),
    }


_IN_PIECES = {
    "codeInterpreterToolCall": {"codeInterpreterToolCall": ("inputs", "inputs")},
    "codeInterpreterToolResult": {"codeInterpreterToolResult": ("outputs", "outputs")},
}


def _hosted(kind: str, name: str, family: str, *fields: str) -> Row:
    """A call that a service ran: it names its tool by its type, and its arguments are its
    fields.
    """

    def read(block: Object, at: JsonPath, row: Row) -> Part:
        one, origin = call_id(block.get("callId"))
        given: Object = {field: block[field] for field in fields if block.get(field) is not None}
        return Call(
            one,
            name,
            LazyJson.from_value(given),
            origin,
            family,
            "provider",
            source=Source(block, at, row),
        )

    def write(call: Call, page: Page) -> JSON:
        given = call.input
        return {
            "$type": kind,
            "callId": page.call_id(call),
            **(given if isinstance(given, dict) else {}),
        }

    return Row(
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


def _read_mcp(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("callId"))
    given = block.get("arguments")
    return Call(
        one,
        name_of(block.get("name")),
        LazyJson("") if given is None else LazyJson.from_value(given),
        origin,
        "mcp",
        "provider",
        source=Source(block, at, row),
    )


def _write_mcp(call: Call, page: Page) -> JSON:
    return {
        "$type": "mcpServerToolCall",
        "callId": page.call_id(call),
        "name": call.name,
        "arguments": call.input,
    }


def _read_approval(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("requestId"))
    asked = block.get("toolCall") or {}
    given = obj(asked).get("arguments")
    return Call(
        one,
        name_of(obj(asked).get("name")) or "tool",
        LazyJson("") if given is None else LazyJson.from_value(given),
        origin,
        "tool-approval",
        approval_for=call_id(obj(asked).get("callId"))[0] or None,
        source=Source(block, at, row),
    )


def _write_approval(call: Call, page: Page) -> JSON:
    """Only ever compared with itself: what it is about stays as it came."""
    asked: Object = {"name": page.name(call.name), "arguments": call.input}
    return {"$type": "toolApprovalRequest", "requestId": page.call_id(call), "toolCall": asked}


def _read_input(block: Object, at: JsonPath, row: Row) -> Part:
    """A request for something else than leave: the base type holds its id and no more."""
    one, origin = call_id(block.get("requestId"))
    given = block.get("arguments")
    return Call(
        one,
        name_of(block.get("name")) or _INPUT,
        LazyJson("") if given is None else LazyJson.from_value(given),
        origin,
        "input",
        source=Source(block, at, row),
    )


def _write_input(call: Call, page: Page) -> JSON:
    out: Object = {"$type": "inputRequest", "requestId": page.call_id(call)}
    named: Object = {} if call.name == _INPUT else {"name": page.name(call.name)}
    return {**out, **named, **({"arguments": call.input} if call.args.text else {})}


_INPUT = "input"


# --- results --------------------------------------------------------------------------------------


def _contents(value: JSON, at: JsonPath) -> tuple[Part, ...] | None:
    """A value as parts if it is a list of contents, or a single one; None if it is data."""
    if isinstance(value, dict) and value.get("$type") in ROWS:
        return (read_content(value, at),)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and one.get("$type") in ROWS for one in value)
    ):
        return tuple(read_content(one, (*at, i)) for i, one in enumerate(value))
    return None


def _read_result(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(block.get("callId"))
    value = block.get("result")
    output: Output = value if isinstance(value, str) else _contents(value, (*at, "result")) or value
    return Result(
        one, "" if output is None else output, False, None, origin, source=Source(block, at, row)
    )


def _write_result(result: Result, page: Page) -> JSON:
    page.remember(result, flag=False, structure=True)
    if result.error:
        page.lose(result, "a result has no error flag; its value is kept")
    output = page.output(result)
    if isinstance(output, tuple):
        output = [
            block for part in output if (block := FOREIGN[type(part)](part, page)) is not None
        ] or ""
    return {"$type": "functionResult", "callId": page.result_id(result), "result": output}


def _outputs(kind: str, family: str) -> Row:
    """A result that a service made: a list of contents, of which an error says that the tool
    failed."""

    def read(block: Object, at: JsonPath, row: Row) -> Part:
        one, origin = result_id(block.get("callId"))
        field = "outputs" if "outputs" in block else "output"
        held = block.get(field)
        contents = (
            [_said(value, (*at, field, i)) for i, value in enumerate(held)]
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
            source=Source(block, at, row),
        )

    def write(result: Result, page: Page) -> JSON:
        held: list[JSON] = [{"$type": "text", "text": result.text}] if result.text else []
        return {"$type": kind, "callId": page.result_id(result), "outputs": held}

    return Row(
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


def _said(value: JSON, at: JsonPath) -> Part:
    """A content inside a service's result, where an error is what the tool said."""
    message = get(value, ("message",)) if get(value, ("$type",)) == "error" else UNSET
    return (
        Text(message, source=Source(value, at, ERROR_INSIDE))
        if isinstance(message, str)
        else read_content(value, at)
    )


ERROR_INSIDE = Row("error", Text, keys=keys("$type", "message"))


def _read_verdict(block: Object, at: JsonPath, row: Row) -> Part:
    """The answer to an approval or to another request for input; words without a yes or no are all
    it says."""
    one, origin = result_id(block.get("requestId"))
    said: Object = {key: block[key] for key in ("approved", "reason") if block.get(key) is not None}
    words = said.get("reason") if "approved" not in said else None
    output = words if isinstance(words, str) else said
    return Result(one, output, False, None, origin, row.family, source=Source(block, at, row))


def _write_verdict(result: Result, page: Page) -> JSON:
    said = result.output
    return {
        "requestId": page.result_id(result),
        **(said if isinstance(said, dict) else {"reason": result.text}),
    }


_CALL, _REQUEST = (Id("callId"),), (Id("requestId"),)
_ASKED = (("toolCall", keys("$type", "name", "arguments")),)
ROWS = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b.get("text") or ""), source=Source(b, at, row)),
        lambda p, _: {"$type": "text", "text": p.text},
        keys("$type", "text"),
        deltas={"text": ("text", "text")},
    ),
    Row(
        "reasoning",
        Reasoning,
        _read_reasoning,
        lambda p, _: {"$type": "reasoning", "text": p.text},
        keys("$type", "text", "protectedData"),
        deltas={"reasoning": ("text", "text")},
    ),
    Row("data", Media, _read_data, _write_media, keys("$type", "uri", "name", "mediaType")),
    Row("uri", Media, _read_uri, _write_media, keys("$type", "uri", "mediaType")),
    Row(
        "hostedFile", Media, _read_file, _write_media, keys("$type", "fileId", "mediaType", "name")
    ),
    Row("error", Text, _read_error, _write_error, keys("$type", "message", "errorCode")),
    _opaque("hostedVectorStore"),
    _opaque("usage"),
    Row(
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
    Row(
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
    Row(
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
    Row(
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
    Row(
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
    Row(
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
    Row(
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


def read_content(block: JSON, at: JsonPath) -> Part:
    """One content, by its `$type`; one that does not fit its own type is kept as unknown."""
    if not isinstance(block, dict):
        blame(NAME, at, "an object", block)
    name = block.get("$type")
    try:
        row = ROWS[name]  # type: ignore[index]
        return row.read(block, at, row)  # type: ignore[misc]
    except BROKEN:
        return unknown(name, block, at)


# --- messages -------------------------------------------------------------------------------------

ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "developer": "system",
}
MESSAGE = Row("message", Message, keys=keys("role", "contents", "messageId", "createdAt"))
PLAIN = Row("instructions", Text, write=lambda part, page: part.text)
_INSTRUCTIONS: JsonPath = (OPTIONS, "instructions")


def read_message(message: JSON, at: JsonPath) -> Message:
    """One message; instructions, which are plain text, count as one, and one of a role nobody knows
    is kept whole."""
    if isinstance(message, str) and at == _INSTRUCTIONS:
        parts = (Text(message, source=Source(message, at, PLAIN)),) if message else ()
        return Message("system", parts, None, NAME, source=Source(message, at, MESSAGE))
    if not isinstance(message, dict):
        blame(NAME, at, "an object", message)
    role = ROLES.get(str(message.get("role", "user")))
    if role is None:
        return Message(
            "user",
            (unknown(message.get("role"), message, at),),
            None,
            NAME,
            source=Source(raw=message, path=at),
        )
    contents = message.get("contents")
    if contents is not None and not isinstance(contents, list):
        blame(NAME, (*at, "contents"), "a list", contents)
    inside = tuple(
        [read_content(one, (*at, "contents", i)) for i, one in enumerate(contents or ())]
    )
    return Message(role, inside, None, NAME, source=Source(message, at, MESSAGE))


def _write_text(part: Text, page: Page) -> JSON:
    if part.refusal:
        return _write_error(part, page)
    return {"$type": "text", "text": part.text} if part.text else None


def _write_reasoning(part: Reasoning, page: Page) -> JSON:
    if part.text:
        return {"$type": "reasoning", "text": part.text}
    page.lose(part, "reasoning that only its own provider can read")
    return None


def _no_content(part: Part, page: Page) -> JSON:
    page.lose(part, f"no such content on this wire: {describe(part)[:80]}")
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
HISTORY = Turns(
    NAME,
    read_message,
    FOREIGN,
    lambda role, blocks: {"role": role, "contents": blocks},
    lambda raw, blocks: {**obj(raw), "contents": blocks},
)

# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """Messages, a request or a response as a conversation."""
    if not isinstance(body, list | dict):
        blame(NAME, (), "an object or a list of messages", body)
    place: JsonPath = () if isinstance(body, list) else ("messages",)
    messages = [read_message(one, (*place, i)) for i, one in enumerate(list_at(NAME, body, place))]
    if kind == "response":
        return _read_answer(body, messages)
    if isinstance(body, list):
        return Conversation(
            settle(tuple(messages), seed="", ordered=False),
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
    settings = read_fields(REQUEST, body, keys("messages"))
    return Conversation(
        settle(tuple(messages), seed="", ordered=False),
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
    settings = read_fields(RESPONSE, frame, keys("messages", "finishReason"))
    said = tuple(message for message in messages if message.role in ("assistant", "tool"))
    extra: list[JsonPath] = [
        message.path for message in messages if message.role not in ("assistant", "tool")
    ]
    for message in said:
        extra += [
            (*message.path, key)
            for key, value in obj(message.raw).items()  # type: ignore[arg-type]
            if key not in MESSAGE.keys and value is not None
        ]
    turns = settle(said, seed=str(settings.values.get("id", "")), ordered=False)
    reason = frame.get("finishReason")
    stop = MEANS.get(reason, reason) if isinstance(reason, str) else None
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


def write(conversation: Conversation, page: Page) -> JSON:
    """A conversation as a request or a response."""
    if page.kind == "response":
        return _write_answer(conversation, page)
    body = write_fields(REQUEST, conversation, page)
    mine = conversation.wire == NAME and conversation.kind == page.kind
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
        body = obj(put(body, _INSTRUCTIONS, "\n".join(above)))
    messages = HISTORY.write(below, page)
    if not conversation.same_tools if mine else conversation.tools:
        body = obj(put(body, (OPTIONS, "tools"), write_tools(conversation.tools, page)))
    return (
        messages
        if mine and isinstance(conversation.source.body, list) and not body
        else {**body, "messages": messages}
    )


def _write_answer(conversation: Conversation, page: Page) -> JSON:
    first, *others = answers(conversation, page) or [Message("assistant", ())]
    for message in others:
        page.lose(message, "an answer here is one; the other candidates stay behind")
    mine = conversation.wire == NAME and conversation.kind == page.kind
    body = write_fields(RESPONSE, replace(conversation, unknown=()) if mine else conversation, page)
    if mine:
        place: JsonPath = () if isinstance(conversation.source.body, list) else ("messages",)
        before = [
            read_message(one, (*place, i))
            for i, one in enumerate(list_at(NAME, conversation.source.body, place))
        ]
        kept = [
            one if one.role in ("assistant", "tool") else replace(one, parts=()) for one in before
        ]
        messages = HISTORY.spread(first, kept, page)
        return (
            messages
            if isinstance(conversation.source.body, list)
            else {**body, "messages": messages}
        )
    blocks = [FOREIGN[type(part)](part, page) for part in first.parts]
    answer: Object = {
        "role": "assistant",
        "contents": [block for block in blocks if block is not None],
    }
    stop = write_stop(first, SAYS, MEANS, page)
    return {"messages": [answer], **body, **({} if stop is None else {"finishReason": stop})}


# --- telling it from others -----------------------------------------------------------------------


def looks(body: JSON) -> int:
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
    rows_of(ROWS),
    read,
    write,
    looks,
    stream(ROWS, read_content, ROLES, FOREIGN, write),
)
