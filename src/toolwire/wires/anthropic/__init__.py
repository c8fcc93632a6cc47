"""Anthropic Messages.

- results-come-first: all results of a turn stand in the next user message, before any text.
- thinking-keeps-its-seal: a thinking block goes back with its signature, or not at all; others'
  reasoning is refused.
- server-tools-answer-in-place: a `server_tool_use` and its result stand in the same assistant
  message.
- input-is-an-object: arguments that are not an object cannot be said.
- system-stands-apart: the system prompt is a field of the request, not a message.
- max-tokens-required: a request must say how long the answer may be.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import settle
from toolwire.conversation.json import JSON, JsonPath, Object, text_of
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
    output_text,
)
from toolwire.wires.anthropic.settings import (
    MEANS,
    REQUEST,
    RESPONSE,
    SAYS,
    longest_answer,
    read_offer,
    write_tools,
)
from toolwire.wires.anthropic.stream import stream
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import mime_of, type_shows
from toolwire.wires.engine.settings import put_tools, read_fields, write_fields, write_stop
from toolwire.wires.engine.specs import (
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
    own,
    read_block,
    result_id,
    rows_of,
    string,
    table,
    text_or_none,
    types_in,
)
from toolwire.wires.families.blocks.history import Blocks

NAME = "anthropic"
Write: TypeAlias = "Callable[[Call, Page], JSON]"


# --- text, media, thinking ------------------------------------------------------------------------


_SOURCES = {
    "base64": ("data", "data"),
    "url": ("url", "url"),
    "file": ("file_id", "file"),
    "text": ("data", "text"),
}
"""Kinds of source: the field on the wire, and the neutral one."""


def _read_media(block: Object, at: JsonPath, row: Row) -> Part:
    source = obj(block["source"])
    field, neutral = _SOURCES[string(source["type"])]
    mime, name = text_or_none(source.get("media_type")), text_or_none(block.get("title"))
    media = Media(
        "image" if row.name == "image" else "file", mime, name=name, source=Source(block, at, row)
    )
    return replace(media, **{neutral: string(source[field])})


def _source(media: Media) -> Object | None:
    """Where the data are, as this wire says it; None if it cannot."""
    if media.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": media.text}
    if media.url is not None:
        return (
            {"type": "url", "url": media.url}
            if media.url.startswith(("http://", "https://"))
            else None
        )
    if media.data is None:
        return {"type": "file", "file_id": media.file} if media.file is not None else None
    mime = mime_of(media) or ""
    if mime == "application/pdf" or (media.kind == "image" and mime):
        return {"type": "base64", "media_type": mime, "data": media.data}
    try:
        text = b64decode(media.data, validate=True).decode()
    except (NotBase64, ValueError):
        return None
    return (
        {"type": "text", "media_type": "text/plain", "data": text}
        if mime.startswith("text/")
        else None
    )


def _write_media(media: Media, page: Page) -> JSON:
    source = _source(media) if media.kind in ("image", "file") else None
    foreign = media.file is not None and (
        not isinstance(media.spec, Row) or media.spec not in ROWS.values()
    )
    if source is None or foreign:
        page.lose(media, f"this wire cannot take this {media.kind}; it is named in text")
        return {"type": "text", "text": describe(media)}
    if media.url is not None and not type_shows(media):
        page.lose(media, f"what comes by URL has no type here: {media.mime}")
    out: Object = {"type": "image" if media.kind == "image" else "document", "source": source}
    if media.kind == "file" and media.name is not None:
        out["title"] = media.name
    elif media.name is not None:
        page.lose(media, "an image has no name here")
    return out


def _write_thinking(part: Reasoning, page: Page) -> JSON:
    if part.hidden is not None:
        return {"type": "redacted_thinking", "data": part.hidden}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature or ""}


# --- calls and results ----------------------------------------------------------------------------


def _use(
    kind: str, family: str, executor: Literal["client", "provider"], write: Write | None, *more: str
) -> Row:
    """A call: all of them have the same shape."""

    def read(block: Object, at: JsonPath, row: Row) -> Part:
        one, origin = call_id(block.get("id"))
        given = block.get("input")
        args = LazyJson("") if given is None else LazyJson.from_value(given)
        toolset = block.get("toolset_name")
        kind_of = f"{toolset}-toolset" if isinstance(toolset, str) else family
        return Call(
            one,
            name_of(block.get("name")),
            args,
            origin,
            kind_of,
            executor,
            source=Source(block, at, row),
        )

    def plain(call: Call, page: Page) -> JSON:
        return {"type": kind, "id": call.id, "name": call.name, "input": call.input}

    return Row(
        kind,
        Call,
        read,
        write or plain,
        keys("type", "id", "name", "input", *more),
        (),
        {"type": kind},
        "call",
        family,
        executor,
        (Id("id"), Id("caller", "parent-call", required=False, nullable=True)),
        deltas={"input_json_delta": ("partial_json", "input")},
    )


def _write_use(call: Call, page: Page) -> JSON:
    return {
        "type": "tool_use",
        "id": page.call_id(call),
        "name": page.name(call.name),
        "input": page.object_of(call),
    }


def _output(content: JSON, at: JsonPath) -> Output:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return tuple(
            read_block(NAME, ROWS, block, at + ("content", i)) for i, block in enumerate(content)
        )
    return content


def _read_result(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(block.get("tool_use_id"))
    content = block.get("content")
    output = content if isinstance(content, str) else _output(content, at)
    return Result(
        one, output, block.get("is_error") is True, None, origin, source=Source(block, at, row)
    )


def _write_result(result: Result, page: Page) -> JSON:
    output = result.output
    if page.plain and isinstance(output, str) and not result.error:
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": output}
    out: Object = {"type": "tool_result", "tool_use_id": page.result_id(result)}
    page.remember(result, flag=True, structure=False)
    output = page.output(result)
    if isinstance(output, tuple):
        blocks = [_write_inside(part, page) for part in output]
        out["content"] = [block for block in blocks if block is not None]
    else:
        out["content"] = output if isinstance(output, str) else text_of(output)
    if page.failed(result):
        out["is_error"] = True
    return out


def _write_inside(part: Part, page: Page) -> JSON:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, Media):
        return _write_media(part, page)
    page.lose(part, f"a result cannot hold this here: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


def _answer(kind: str, family: str, *more: str) -> Row:
    """A result the provider made itself: its content is data, or one error object."""

    def read(block: Object, at: JsonPath, row: Row) -> Part:
        one, origin = result_id(block.get("tool_use_id"))
        content = block.get("content")
        failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
        return Result(
            one,
            content,
            failed or block.get("is_error") is True,
            None,
            origin,
            family,
            "provider",
            source=Source(block, at, row),
        )

    def write(result: Result, page: Page) -> JSON:
        return {"type": kind, "tool_use_id": result.call_id, "content": _data(result.output)}

    return Row(
        kind,
        Result,
        read,
        write,
        keys("type", "tool_use_id", "content", *more),
        (),
        {"type": kind},
        "output",
        family,
        "provider",
        (Id("tool_use_id"),),
    )


def _data(output: Output) -> JSON:
    return output_text(output) if isinstance(output, tuple) else output


ROWS = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
        deltas={"text_delta": ("text", "text"), "citations_delta": ("citation", "citations")},
    ),
    Row("image", Media, _read_media, _write_media, keys("type", "source")),
    Row("document", Media, _read_media, _write_media, keys("type", "source", "title")),
    Row(
        "container_upload",
        Media,
        lambda b, at, row: Media("file", file=string(b["file_id"]), source=Source(b, at, row)),
        lambda p, _: {"type": "container_upload", "file_id": p.file},
        keys("type", "file_id"),
    ),
    Row(
        "thinking",
        Reasoning,
        lambda b, at, row: Reasoning(
            string(b["thinking"]),
            signature=text_or_none(b.get("signature")) or None,
            source=Source(b, at, row),
        ),
        _write_thinking,
        keys("type", "thinking", "signature"),
        deltas={
            "thinking_delta": ("thinking", "thinking"),
            "signature_delta": ("signature", "signature"),
        },
    ),
    Row(
        "redacted_thinking",
        Reasoning,
        lambda b, at, row: Reasoning("", string(b["data"]), source=Source(b, at, row)),
        _write_thinking,
        keys("type", "data"),
    ),
    _use("tool_use", "function", "client", _write_use),
    Row(
        "tool_result",
        Result,
        _read_result,
        _write_result,
        keys("type", "tool_use_id", "content", "is_error"),
        (),
        {"type": "tool_result"},
        "output",
        "function",
        "client",
        (Id("tool_use_id"),),
        forms=("request",),
    ),
    _use("server_tool_use", "server-tool", "provider", None),
    _use("mcp_tool_use", "mcp", "provider", None, "server_name"),
    _answer("mcp_tool_result", "mcp", "is_error"),
    _answer("web_search_tool_result", "web-search"),
    _answer("web_fetch_tool_result", "web-fetch"),
    _answer("code_execution_tool_result", "code-execution"),
    _answer("bash_code_execution_tool_result", "bash-code-execution"),
    _answer("text_editor_code_execution_tool_result", "text-editor"),
    _answer("tool_search_tool_result", "tool-search"),
    _answer("advisor_tool_result", "advisor"),
)
TOOLSETS = tuple(
    Row(
        "tool_use",
        Call,
        tell={"type": "tool_use", "toolset_name": name},
        direction="call",
        family=f"{name}-toolset",
        executor="client",
        ids=(Id("id"), Id("caller", "parent-call")),
        forms=("response",),
    )
    for name in ("computer", "browser")
)
"""The same block with a field more: told apart for the catalogue, read by the row above."""
PLAIN = Row("content", Text, write=lambda part, page: part.text)
MESSAGE = Row("message", Message, keys=keys("role", "content"))

# --- messages -------------------------------------------------------------------------------------


def read_parts(content: JSON, at: JsonPath) -> tuple[Part, ...]:
    """A plain text, or a list of blocks."""
    if isinstance(content, str):
        return (Text(content, source=Source(content, at, PLAIN)),) if content else ()
    if not isinstance(content, list):
        blame(NAME, at, "a string or a list", content)
    return tuple([read_block(NAME, ROWS, block, at + (i,)) for i, block in enumerate(content)])


ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_message(message: JSON, at: JsonPath) -> Message:
    """One message; the system prompt, which is only content, counts as one."""
    if at == ("system",):
        return Message(
            "system", read_parts(message, at), None, NAME, source=Source(message, at, MESSAGE)
        )
    if not isinstance(message, dict):
        blame(NAME, at, "an object", message)
    said = message.get("role", UNSET)
    role = ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        blame(NAME, at + ("role",), "user, assistant or system", said)
    if "content" not in message:
        blame(NAME, at + ("content",), "a string or a list", UNSET)
    parts = read_parts(message["content"], at + ("content",))
    return Message(role, parts, None, NAME, source=Source(message, at, MESSAGE))


def _write_text(part: Text, page: Page) -> JSON:
    if part.refusal:
        page.lose(part, "a refusal is sent as plain text")
    return {"type": "text", "text": part.text} if part.text else None


def _unsigned(part: Reasoning, page: Page) -> JSON:
    """Reasoning can be shown in an answer; in a history only what the provider signed is taken
    back."""
    if page.kind == "response" and part.text:
        return {"type": "thinking", "thinking": part.text, "signature": ""}
    page.lose(part, "only reasoning that this provider signed is taken back")
    return None


def _no_block(part: Part, page: Page) -> JSON:
    page.lose(part, f"no such block on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: _write_use,
    Result: _write_result,
    Reasoning: _unsigned,
    Opaque: _no_block,
}
"""How a part of another wire is written; None if it cannot stand here."""


def _message(role: Role, blocks: list[JSON]) -> JSON:
    """Blocks under a role; a single plain text goes as a string."""
    only = blocks[0]
    short = len(blocks) == 1 and isinstance(only, dict) and len(only) == 2 and "text" in only
    content: JSON = only["text"] if short else blocks  # type: ignore[index,call-overload]
    return {"role": "assistant" if role == "assistant" else "user", "content": content}


def _text(role: Role, text: str) -> JSON:
    return {"role": "assistant" if role == "assistant" else "user", "content": text}


HISTORY = Blocks(NAME, read_message, FOREIGN, _message, _text, pictures=False)


# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        blame(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    messages: list[Message] = []
    if body.get("system") is not None:
        messages.append(read_message(body["system"], ("system",)))
    messages += [
        read_message(message, ("messages", i))
        for i, message in enumerate(list_at(NAME, body, ("messages",)))
    ]
    offered = list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    settings = read_fields(REQUEST, body, keys("messages", "system", "tools"))
    tools = tuple(read_offer(tool, ("tools", i)) for i, tool in enumerate(offered))
    return Conversation(
        settle(tuple(messages), seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


_ANSWER = keys("type", "role", "content", "stop_reason")


def _read_response(body: Object) -> Conversation:
    content = list_at(NAME, body, ("content",))
    settings = read_fields(RESPONSE, body, _ANSWER)
    reason = body.get("stop_reason")
    stop = MEANS.get(reason, reason) if isinstance(reason, str) else None
    raw: Object = {"role": "assistant", "content": content}
    message = Message(
        "assistant",
        read_parts(content, ("content",)),
        stop,
        NAME,
        source=Source(raw=raw, spec=MESSAGE),
    )
    return Conversation(
        settle((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def write(conversation: Conversation, page: Page) -> JSON:
    """A conversation as a request or a response."""
    if page.kind == "response":
        return _write_response(conversation, page)
    body = write_fields(REQUEST, conversation, page)
    if conversation.wire != NAME or conversation.kind != "request":
        body.setdefault("max_tokens", longest_answer(body))
    parallel, choice = conversation.settings.get("parallel"), body.get("tool_choice")
    if conversation.wire != NAME and isinstance(
        choice, dict
    ):  # the flag stands inside the choice, whichever came first
        flag: Object = (
            {"disable_parallel_tool_use": not parallel} if isinstance(parallel, bool) else {}
        )
        body["tool_choice"] = {"type": "auto", **choice, **flag}
    written = HISTORY.write(conversation, page)
    if not isinstance(written.whole, UnsetType):
        body["system"] = written.whole
    elif written.system:
        body["system"] = written.system
    body["messages"] = written.messages
    if conversation.wire != NAME or not conversation.same_tools:
        put_tools(body, write_tools(conversation.tools, page, own=conversation.wire == NAME))
    return body


def _write_response(conversation: Conversation, page: Page) -> JSON:
    body = write_fields(RESPONSE, conversation, page)
    first, *others = answers(conversation, page)
    for message in others:
        page.lose(message, "an answer here is one message; the other candidates stay behind")
    kept = own(first, page, read_message)
    content = kept["content"] if isinstance(kept, dict) else HISTORY.blocks(first, page)
    if conversation.wire == NAME and conversation.kind == "response":
        return {**body, "content": content}
    usage: Object = {"input_tokens": 0, "output_tokens": 0}
    frame: Object = {
        "id": "",
        "type": "message",
        "role": "assistant",
        "model": "",
        "stop_sequence": None,
        "usage": usage,
    }
    return {
        **frame,
        **body,
        "content": content,
        "stop_reason": body.get("stop_reason") or write_stop(first, SAYS, MEANS, page),
    }


# --- telling it from others -----------------------------------------------------------------------

_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "image",
        "document",
    }
)


_FOREIGN = keys("image_url", "input_audio", "file", "refusal")


def looks(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("content"), list) and body.get("role") == "assistant":
        return 3 if body.get("type") == "message" else 2
    messages = body.get("messages")
    if not isinstance(messages, list):
        return 0
    marks = (
        2 if any(key in body for key in ("system", "stop_sequences", "anthropic_version")) else 1
    )
    for message in messages:
        if (
            not isinstance(message, dict)
            or str(message.get("role")) not in ROLES
            or "tool_calls" in message
        ):
            return 0
        content = message.get("content")
        kinds = types_in(content)
        if kinds & _FOREIGN or not isinstance(content, str | list):
            return 0
        marks = 3 if kinds & _BLOCKS else marks
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        return 3 if all(map(_offered, tools)) else 0
    return marks


def _offered(tool: JSON) -> bool:
    return isinstance(tool, dict) and (
        "input_schema" in tool or ("type" in tool and "function" not in tool)
    )


WIRE = Wire(
    NAME,
    "Anthropic Messages",
    rows_of(ROWS, TOOLSETS),
    read,
    write,
    looks,
    stream(ROWS, HISTORY, write),
)
