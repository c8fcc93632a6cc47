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

from toolwire.conversation.ids import settle
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
    MEANS,
    NAME,
    REQUEST,
    RESPONSE,
    SAYS,
    read_tool,
    write_tools,
)
from toolwire.wires.cohere.stream_reader import Tables
from toolwire.wires.cohere.stream_writer import stream
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import data_url, split_data_url
from toolwire.wires.engine.settings import read_fields, write_fields, write_stop
from toolwire.wires.engine.specs import (
    Id,
    Row,
    Wire,
    arguments,
    blame,
    call_id,
    keys,
    list_at,
    name_of,
    obj,
    object_at,
    own,
    result_id,
    rows_of,
    string,
    table,
    text_or_none,
)
from toolwire.wires.families.chat.messages import THOUGHT, Chat

# --- content --------------------------------------------------------------------------------------


def _read_image(block: Object, at: JsonPath, row: Row) -> Part:
    url = string(obj(block["image_url"])["url"])
    mime, data = split_data_url(url) or (None, None)
    return Media(
        "image", mime, data, None if data is not None else url, source=Source(block, at, row)
    )


def _write_image(media: Media, page: Page) -> JSON:
    """Images by URL or data; anything else can only be told."""
    url = data_url(media)
    if media.kind == "image" and url is not None:
        if media.name is not None:
            page.lose(media, "an image has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    page.lose(
        media,
        (
            "a text document is sent as text"
            if media.text is not None
            else f"this wire takes no such {media.kind}"
        ),
    )
    return {"type": "text", "text": describe(media)}


def _read_document(block: Object, at: JsonPath, row: Row) -> Part:
    document = obj(block["document"])
    data = obj(document["data"])
    text = _only_text(data)
    mime = "text/plain" if text is not None else "application/json"
    return Media(
        "file",
        mime,
        text=text_of(data) if text is None else text,
        name=text_or_none(document.get("id")),
        source=Source(block, at, row),
    )


def _only_text(data: JSON) -> str | None:
    text = get(data, ("text",))
    return text if isinstance(text, str) and isinstance(data, dict) and len(data) == 1 else None


def _write_document(media: Media, page: Page) -> JSON:
    text = media.text or ""
    data: JSON = {"text": text}
    if media.spec is CONTENT["document"] and media.mime == "application/json":
        try:
            data = obj(parse(text))
        except (ValueError, TypeError):
            page.lose(media, "a document is an object; this is sent as its text")
    elif media.mime not in (None, "text/plain"):
        page.lose(media, f"a document has no type here: {media.mime}")
    return {
        "type": "document",
        "document": {"data": data, **({"id": media.name} if media.name is not None else {})},
    }


CONTENT = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
        deltas={"content-delta": ("text", "text")},
    ),
    Row(
        "thinking",
        Reasoning,
        lambda b, at, row: Reasoning(string(b["thinking"]), source=Source(b, at, row)),
        lambda p, _: {"type": "thinking", "thinking": p.text},
        keys("type", "thinking"),
        deltas={"content-delta": ("thinking", "thinking")},
    ),
    Row(
        "image_url",
        Media,
        _read_image,
        _write_image,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
    Row(
        "document",
        Media,
        _read_document,
        _write_document,
        keys("type", "document"),
        (("document", keys("data", "id")),),
    ),
)

# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("id"))
    function = block.get("function")
    inner = function if isinstance(function, dict) else {}
    return Call(
        one,
        name_of(inner.get("name")),
        arguments(inner.get("arguments")),
        origin,
        source=Source(block, at, row),
    )


def _write_call(call: Call, page: Page) -> JSON:
    text = text_of(page.object_of(call)) if call.family == "custom" else page.text_of(call)
    return {
        "id": page.call_id(call),
        "type": "function",
        "function": {"name": page.name(call.name), "arguments": text},
    }


def _read_result(message: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(message.get("tool_call_id"))
    return Result(
        one,
        _output(message.get("content"), at),
        False,
        None,
        origin,
        source=Source(message, at, row),
    )


def _output(content: JSON, at: JsonPath) -> Output:
    """One bare document is the JSON object it holds; everything else is text or parts."""
    if isinstance(content, list) and len(content) == 1:
        data = get(content, (0, "document", "data"))
        if not isinstance(data, UnsetType) and content == [_bare(data)] and _is_document(data):
            return data
    return CHAT.output(content, at)


def _is_document(output: Output) -> bool:
    """Whether an output goes as a document; an object that is but a text would be read as a text
    document."""
    return isinstance(output, dict) and _only_text(output) is None


def _bare(data: JSON) -> Object:
    return {"type": "document", "document": {"data": data}}


def _write_result(result: Result, page: Page) -> JSON:
    output = page.output(result)
    content: JSON
    if isinstance(output, str):
        content = output
    elif isinstance(output, tuple):
        content = [
            block for block in (_write_inside(part, page) for part in output) if block is not None
        ]
    elif _is_document(output):
        content = [_bare(output)]
    else:
        content = text_of(output)
    return {"role": "tool", "tool_call_id": page.result_id(result), "content": content}


def _write_inside(part: Part, page: Page) -> JSON:
    """A part of a result; media without text follow in a user message."""
    if part.original is None and part.spec in CONTENT.values() and isinstance(part.raw, dict):
        return part.raw
    if isinstance(part, Text):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, Media):
        return _write_document(part, page) if part.text is not None else None
    page.lose(part, f"a result holds text and documents only: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


CALLS = table(
    Row(
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
RESULTS = table(
    Row(
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

    def _parts(self, message: Object, content: JSON, at: JsonPath) -> list[Part]:
        # The shared reader takes three fields for role, content and calls; here the third may be
        # the plan.
        return super()._parts({"content": None, **message}, content, at)

    def _write_result(self, result: Result, out: list[JSON], page: Page) -> list[JSON]:
        """Append the tool message; pictures are for the user message after the batch."""
        out.append(_write_result(result, page))
        page.remember(result, flag=False, structure=_is_document(result.output))
        if result.error:
            page.lose(result, "a tool message has no error flag; its text is kept")
        held: list[JSON] = []
        for part in result.output if isinstance(result.output, tuple) else ():
            if isinstance(part, Media) and part.text is None:
                page.lose(
                    part,
                    "a tool message holds text and documents only; the media follow in a user"
                    " message",
                )
                held += [
                    {"type": "text", "text": f"From tool call {page.result_id(result)}:"},
                    self.write_content(part, page),
                ]
        return held

    def write_assistant(self, message: Message, page: Page) -> Object:
        """A plan if there are calls, content, calls. Without calls, reasoning is a block of the
        content; in an answer it always is: who streams one cannot know whether calls will come."""
        planned = page.kind == "request" and any(isinstance(part, Call) for part in message.parts)
        plans: list[str] = []
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(_write_call(part, page))
            elif isinstance(part, Text):
                if part.refusal:
                    page.lose(part, "a refusal is sent as plain text")
                if part.text and calls:
                    page.lose(part, "what is said after a call stands before it here")
                if part.text:
                    content.append({"type": "text", "text": part.text})
            elif isinstance(part, Reasoning):
                if not part.text:
                    page.lose(part, "reasoning that only its own provider can read")
                elif (planned and part.spec is not CONTENT["thinking"]) or (
                    part.spec is THOUGHT and message.wire == NAME
                ):
                    if content or calls or plans:
                        page.lose(part, "the plan is one text and stands before all else here")
                    plans.append(part.text)
                else:
                    content.append({"type": "thinking", "thinking": part.text})
            else:
                page.lose(
                    part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
                )
        out: Object = {"role": "assistant"}
        if plans or (calls and not content):
            out["tool_plan"] = "\n".join(plans)
        if content or not calls:
            out["content"] = _short(content) if page.kind == "request" else content
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
    Row("message", Message, keys=keys("role", "content", "tool_calls", "tool_plan")),
    {"user": "user", "assistant": "assistant", "system": "system"},
    ("tool_plan",),
)

# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        blame(NAME, (), "an object", body)
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
    settings = read_fields(REQUEST, body, known)
    return Conversation(
        settle(messages, seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_fields(RESPONSE, body, keys("message", "finish_reason"))
    message = replace(
        _read_answer(object_at(NAME, body, ("message",)), ("message",)), stop=_stop(body)
    )
    return Conversation(
        settle((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_answer(message: JSON, at: JsonPath) -> Message:
    """Whatever role it claims, an answer is the assistant's."""
    return replace(CHAT.read_message(message, at), role="assistant")


def _stop(body: Object) -> str | None:
    reason = body.get("finish_reason")
    return MEANS.get(reason, reason) if reason and isinstance(reason, str) else None


def write(conversation: Conversation, page: Page) -> JSON:
    """A conversation as a request or a response."""
    if page.kind == "response":
        return _write_response(conversation, page)
    body = write_fields(REQUEST, conversation, page)
    _cut_short(conversation, page)
    body["messages"] = CHAT.write_messages(conversation.messages, page)
    if conversation.wire != NAME or not conversation.same_tools:
        body.pop("strict_tools", None)
        body.pop("tools", None)
        if conversation.tools:
            body.update(write_tools(conversation.tools, page))
    return body


def _cut_short(conversation: Conversation, page: Page) -> None:
    """Report what a setting says beyond what this wire has for it."""
    for name, value in conversation.settings.items():
        at = conversation.source.setting_paths.get(name, (name,))
        match value:
            case Choice(names=names) if names:
                page.lose(at, "no tool can be named here")
            case Format(name=one, strict=strict, description=more) if (one, strict, more) != (
                None,
                None,
                None,
            ):
                page.lose(at, "a schema has no name, description or strictness here")
            case Usage(cache_write=written, reasoning=thought) if (written, thought) != (
                None,
                None,
            ):
                page.lose(
                    at, "neither tokens written to a cache nor those of reasoning are counted here"
                )


def _write_response(conversation: Conversation, page: Page) -> JSON:
    body = write_fields(RESPONSE, conversation, page)
    _cut_short(conversation, page)
    for message in conversation.messages[1:]:
        page.lose(message, "an answer here is one message; the other candidates stay behind")
    for tool in conversation.tools:
        page.lose(tool, "an answer offers no tools")
    first = conversation.messages[0] if conversation.messages else Message("assistant", ())
    kept = own(first, page, _read_answer)
    if isinstance(kept, UnsetType):
        kept = CHAT.write_assistant(first, page)
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
        body["finish_reason"] = write_stop(first, SAYS, MEANS, page)
    return {**body, "message": kept}


# --- telling it from others -----------------------------------------------------------------------

_MARKS = frozenset({"k", "p", "strict_tools", "safety_mode", "citation_options"})


def looks(body: JSON) -> int:
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
    rows_of(CONTENT, CALLS, RESULTS),
    read,
    write,
    looks,
    stream(Tables(CONTENT, CALLS, RESPONSE, MEANS, CHAT.write_assistant, write)),
)
