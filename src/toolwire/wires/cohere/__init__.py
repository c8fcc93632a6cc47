"""Cohere Chat, version 2.

- plan-beside-calls: `tool_plan` says why the calls of a message are made; it is reasoning, and goes
  back where it stood.
- documents-are-results: a tool message holds text or documents; one document without an id is a
  JSON object as it is.
- choice-is-required-or-none: there is no word for `auto` (say nothing), and no way to name a tool.
- strict-for-all: `strict_tools` holds for every tool, or for none.
- schema-required: a tool must have parameters.
- citations-point-at-results: `citations` name documents by call id; no other wire has them.
"""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, parse, text_of
from toolwire.conversation.model import BodySource, Choice, Conversation, Format, Kind, Usage
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Output,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.cohere.settings import (
    ENDS,
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    NAME,
    REQUEST,
    RESPONSE,
    read_tool,
    write_tools,
)
from toolwire.wires.cohere.stream_reader import Tables
from toolwire.wires.cohere.stream_writer import stream
from toolwire.wires.engine.capabilities import Capabilities
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, split_data_url
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    Block,
    Id,
    Wire,
    all_blocks,
    blocks,
    keys,
    list_at,
    object_at,
    patch_message,
    raise_unexpected,
    read_arguments,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.chat.messages import REASONING, Chat

# --- content --------------------------------------------------------------------------------------


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["image_url"])["url"])
    mime, data = split_data_url(url) or (None, None)
    return Media(
        "image", mime, data, None if data is not None else url, source=Source(block, path, spec)
    )


def _write_image(media: Media, context: EncodeContext) -> JSON:
    """Images by URL or data; anything else can only be told."""
    url = data_url(media)
    if media.kind == "image" and url is not None:
        if media.name is not None:
            context.report_loss(media, "an image has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    context.report_loss(
        media,
        (
            "a text document is sent as text"
            if media.text is not None
            else f"this wire takes no such {media.kind}"
        ),
    )
    return {"type": "text", "text": describe(media)}


def _read_document(block: Object, path: JsonPath, spec: Block) -> Part:
    document = require_object(block["document"])
    data = require_object(document["data"])
    text = _only_text(data)
    mime = "text/plain" if text is not None else "application/json"
    return Media(
        "file",
        mime,
        text=text_of(data) if text is None else text,
        name=text_or_none(document.get("id")),
        source=Source(block, path, spec),
    )


def _only_text(data: JSON) -> str | None:
    text = get(data, ("text",))
    return text if isinstance(text, str) and isinstance(data, dict) and len(data) == 1 else None


def _write_document(media: Media, context: EncodeContext) -> JSON:
    text = media.text or ""
    data: JSON = {"text": text}
    if media.spec is CONTENT["document"] and media.mime == "application/json":
        try:
            data = require_object(parse(text))
        except (ValueError, TypeError):
            context.report_loss(media, "a document is an object; this is sent as its text")
    elif media.mime not in (None, "text/plain"):
        context.report_loss(media, f"a document has no type here: {media.mime}")
    return {
        "type": "document",
        "document": {"data": data, **({"id": media.name} if media.name is not None else {})},
    }


CONTENT = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
        deltas={"content-delta": ("text", "text")},
    ),
    Block(
        "thinking",
        Reasoning,
        lambda b, path, spec: Reasoning(
            require_string(b["thinking"]), source=Source(b, path, spec)
        ),
        lambda p, _: {"type": "thinking", "thinking": p.text},
        keys("type", "thinking"),
        deltas={"content-delta": ("thinking", "thinking")},
    ),
    Block(
        "image_url",
        Media,
        _read_image,
        _write_image,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
    Block(
        "document",
        Media,
        _read_document,
        _write_document,
        keys("type", "document"),
        (("document", keys("data", "id")),),
    ),
)

# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("id"))
    function = block.get("function")
    inner = function if isinstance(function, dict) else {}
    return Call(
        one,
        read_name(inner.get("name")),
        read_arguments(inner.get("arguments")),
        origin,
        source=Source(block, path, spec),
    )


def _write_call(call: Call, context: EncodeContext) -> JSON:
    text = (
        text_of(context.arguments_object(call))
        if call.family == "custom"
        else context.arguments_text(call)
    )
    return {
        "id": context.call_id(call),
        "type": "function",
        "function": {"name": context.name(call.name), "arguments": text},
    }


def _read_result(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(message.get("tool_call_id"))
    return Result(
        one,
        _output(message.get("content"), path),
        False,
        None,
        origin,
        source=Source(message, path, spec),
    )


def _output(content: JSON, path: JsonPath) -> Output:
    """One bare document is the JSON object it holds; everything else is text or parts."""
    if isinstance(content, list) and len(content) == 1:
        data = get(content, (0, "document", "data"))
        if not isinstance(data, UnsetType) and content == [_bare(data)] and _is_document(data):
            return data
    return CHAT.read_output(content, path)


def _is_document(output: Output) -> bool:
    """Whether an output goes as a document; an object that is but a text would be read as a text
    document."""
    return isinstance(output, dict) and _only_text(output) is None


def _bare(data: JSON) -> Object:
    return {"type": "document", "document": {"data": data}}


def _write_result(result: Result, context: EncodeContext) -> JSON:
    output = context.output(result)
    content: JSON
    if isinstance(output, str):
        content = output
    elif isinstance(output, tuple):
        content = [
            block
            for block in (_write_inside(part, context) for part in output)
            if block is not None
        ]
    elif _is_document(output):
        content = [_bare(output)]
    else:
        content = text_of(output)
    return {"role": "tool", "tool_call_id": context.result_id(result), "content": content}


def _write_inside(part: Part, context: EncodeContext) -> JSON:
    """A part of a result; media without text follow in a user message."""
    if part.original is None and part.spec in CONTENT.values() and isinstance(part.raw, dict):
        return part.raw
    if isinstance(part, Text):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, Media):
        return _write_document(part, context) if part.text is not None else None
    context.report_loss(part, f"a result holds text and documents only: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


CALLS = blocks(
    Block(
        "function",
        Call,
        _read_call,
        _write_call,
        keys("id", "type", "function"),
        (("function", keys("name", "arguments")),),
        {"path": "message.tool_calls[]", "type": "function"},
        "call",
        "function",
        "client",
        (Id("id"),),
        deltas={"tool-call-delta": ("arguments", "function.arguments")},
    )
)
RESULTS = blocks(
    Block(
        "tool",
        Result,
        _read_result,
        _write_result,
        keys("role", "content", "tool_call_id"),
        (),
        {"role": "tool"},
        "output",
        "function",
        "client",
        (Id("tool_call_id"),),
        ("request",),
    )
)


class _Chat(Chat, frozen=True, eq=False):
    """The chat shape, with a plan beside the calls and documents in results."""

    def read_parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        # The shared reader takes three fields for role, content and calls; here the third may be
        # the plan.
        return super().read_parts({"content": None, **message}, content, path)

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        context.note_result_form(result, flag=False, structure=_is_document(result.output))
        if result.error:
            context.report_loss(result, "a tool message has no error flag; its text is kept")
        return _write_result(result, context)

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """A plan if there are calls, content, calls. Without calls, reasoning is a block of the
        content; in an answer it always is: who streams one cannot know whether calls will come."""
        planned = context.kind == "request" and any(
            isinstance(part, Call) for part in message.parts
        )
        plans: list[str] = []
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(_write_call(part, context))
            elif isinstance(part, Text):
                if part.refusal:
                    context.report_loss(part, "a refusal is sent as plain text")
                if part.text and calls:
                    context.report_loss(part, "what is said after a call stands before it here")
                if part.text:
                    content.append({"type": "text", "text": part.text})
            elif isinstance(part, Reasoning):
                if not part.text:
                    context.report_loss(part, "reasoning that only its own provider can read")
                elif (planned and part.spec is not CONTENT["thinking"]) or (
                    part.spec is REASONING and message.wire == NAME
                ):
                    if content or calls or plans:
                        context.report_loss(
                            part, "the plan is one text and stands before all else here"
                        )
                    plans.append(part.text)
                else:
                    content.append({"type": "thinking", "thinking": part.text})
            else:
                context.report_loss(
                    part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
                )
        out: Object = {"role": "assistant"}
        if plans or (calls and not content):
            out["tool_plan"] = "\n".join(plans)
        if content or not calls:
            out["content"] = _short(content) if context.kind == "request" else content
        return {**out, "tool_calls": calls} if calls else out


def _short(content: list[JSON]) -> JSON:
    """A single text as a plain string."""
    if not content:
        return ""
    text = get(content, (0, "text"))
    return text if len(content) == 1 and isinstance(text, str) else content


CHAT = _Chat(
    NAME,
    CONTENT,
    CALLS,
    RESULTS,
    Block("message", Message, keys=keys("role", "content", "tool_calls", "tool_plan")),
    {"user": "user", "assistant": "assistant", "system": "system"},
    ("tool_plan",),
)

# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    messages = tuple(
        [
            CHAT.read_message(m, ("messages", i))
            for i, m in enumerate(list_at(NAME, body, ("messages",)))
        ]
    )
    offered = list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    strict = body.get("strict_tools")
    known = keys(
        "messages", "tools", *(("strict_tools",) if offered and isinstance(strict, bool) else ())
    )
    tools = tuple(
        read_tool(tool, ("tools", i), strict if isinstance(strict, bool) else None)
        for i, tool in enumerate(offered)
    )
    settings = read_settings(REQUEST, body, known)
    return Conversation(
        assign_ids(messages, seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("message", "finish_reason"))
    message = replace(
        _read_answer(object_at(NAME, body, ("message",)), ("message",)), stop=_stop(body)
    )
    return Conversation(
        assign_ids((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_answer(message: JSON, path: JsonPath) -> Message:
    """Whatever role it claims, an answer is the assistant's."""
    return replace(CHAT.read_message(message, path), role="assistant")


def _stop(body: Object) -> str | None:
    reason = body.get("finish_reason")
    return (
        FINISH_REASON_FROM_WIRE.get(reason, reason) if reason and isinstance(reason, str) else None
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    _cut_short(conversation, context)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    if conversation.wire != NAME or not conversation.same_tools:
        body.pop("strict_tools", None)
        body.pop("tools", None)
        if conversation.tools:
            body.update(write_tools(conversation.tools, context))
    return body


def _cut_short(conversation: Conversation, context: EncodeContext) -> None:
    """Report what a setting says beyond what this wire has for it."""
    for name, value in conversation.settings.items():
        path = conversation.source.setting_paths.get(name, (name,))
        match value:
            case Choice(names=names) if names:
                context.report_loss(path, "no tool can be named here")
            case Format(name=one, strict=strict, description=more) if (one, strict, more) != (
                None,
                None,
                None,
            ):
                context.report_loss(path, "a schema has no name, description or strictness here")
            case Usage(cache_write=written, reasoning=thought) if (written, thought) != (
                None,
                None,
            ):
                context.report_loss(
                    path,
                    "neither tokens written to a cache nor those of reasoning are counted here",
                )


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    _cut_short(conversation, context)
    for message in conversation.messages[1:]:
        context.report_loss(
            message, "an answer here is one message; the other candidates stay behind"
        )
    for tool in conversation.tools:
        context.report_loss(tool, "an answer offers no tools")
    first = conversation.messages[0] if conversation.messages else Message("assistant", ())
    kept = patch_message(first, context, _read_answer)
    if isinstance(kept, UnsetType):
        kept = CHAT.write_assistant(first, context)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"id": "", "finish_reason": "COMPLETE", **body}
    said = _stop(body)
    asks = said == "stop" and any(
        isinstance(part, Call) for part in first.parts
    )  # read as having stopped for its calls
    if (
        first.stop is not None
        and said != first.stop
        and not (asks and first.stop == "tool" and conversation.wire == NAME)
    ):
        body["finish_reason"] = write_finish_reason(
            first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
        )
    return {**body, "message": kept}


# --- telling it from others -----------------------------------------------------------------------

_MARKS = frozenset({"k", "p", "strict_tools", "safety_mode", "citation_options"})


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("message"), dict) and "done" not in body:
        return 3 if body.get("finish_reason") in ENDS else 0
    messages = body.get("messages")
    if not isinstance(messages, list):
        return 0
    if body.get("tool_choice") in ("REQUIRED", "NONE") or not _MARKS.isdisjoint(body):
        return 3
    called = False
    for message in messages:
        if not isinstance(message, dict):
            return 0
        if "tool_plan" in message or "citations" in message or _holds_documents(message):
            return 3
        called |= "tool_calls" in message or message.get("role") == "tool"
    # The only other wire with `stop_sequences` has no tool messages; the model's name is a hint, no
    # more.
    return (
        2
        if (called and "stop_sequences" in body)
        or str(body.get("model")).startswith(("command", "c4ai"))
        else 0
    )


def _holds_documents(message: Object) -> bool:
    content = message.get("content")
    return (
        message.get("role") == "tool"
        and isinstance(content, list)
        and get(content, (0, "type")) == "document"
    )


WIRE = Wire(
    NAME,
    "Cohere Chat v2",
    all_blocks(CONTENT, CALLS, RESULTS),
    read,
    write,
    match_score,
    stream(Tables(CONTENT, CALLS, RESPONSE, FINISH_REASON_FROM_WIRE, CHAT.write_assistant, write)),
    capabilities=Capabilities(result_media="after"),
)
