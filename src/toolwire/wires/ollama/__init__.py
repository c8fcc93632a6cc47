"""Ollama's own chat, /api/chat.

- id-is-optional: servers before 0.12.10 send no ids and most templates ignore them; an invented one
  is never put on this wire.
- order-decides: without ids, results stand in the order of their calls; `tool_name` says whose they
  are.
- arguments-are-an-object: arguments that are not an object cannot be said.
- pictures-stand-apart: `images` holds bare base64 beside the text of a message; there are no URLs
  and no types.
- done-reason-stays-stop: an answer with calls ends with `stop` as any other.
- one-text: a message has one text.
- streams-unless-told: a request that says nothing about `stream` is answered in a stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import mint, settle
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import BodySource, Conversation, Format, Kind, Setting, Tool, Usage
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.settings import (
    Field,
    Settings,
    put_tools,
    read_fields,
    write_fields,
    write_stop,
)
from toolwire.wires.engine.specs import (
    Id,
    Row,
    Wire,
    arguments,
    blame,
    call_id,
    count_at,
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
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.ollama.stream import AFTER_CALL, ONE_TEXT, ONE_THOUGHT, stream

NAME = "ollama"


# --- pictures -------------------------------------------------------------------------------------

_BEGINNINGS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
"""How the base64 of each type begins: this wire does not name it."""


_STANDARD = str.maketrans("-_", "+/")


def _mime(data: str) -> str | None:
    return next((mime for begin, mime in _BEGINNINGS.items() if data.startswith(begin)), None)


def _write_image(media: Media, page: Page) -> JSON:
    data = (media.data or "").translate(_STANDARD)
    if data != media.data:
        page.lose(media, "base64 in the alphabet of URLs is sent in the standard one")
    if media.mime is not None and _mime(data) != media.mime:
        page.lose(media, f"a picture has no type here: {media.mime}")
    return data


IMAGE = Row("images", Media, write=_write_image)


def _images(message: Object, at: JsonPath) -> list[Part]:
    images = message.get("images")
    if images is None:
        return []
    if not isinstance(images, list):
        blame(NAME, at + ("images",), "a list or null", images)
    out: list[Part] = []
    for i, data in enumerate(images):
        where = at + ("images", i)
        if not isinstance(data, str):
            blame(NAME, where, "a string", data)
        out.append(Media("image", _mime(data), data, source=Source(data, where, IMAGE)))
    return out


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
    sent = page.wire_id(call)
    function: Object = {"name": page.name(call.name), "arguments": page.object_of(call)}
    return {"function": function} if sent is None else {"id": sent, "function": function}


def _read_result(message: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(message.get("tool_call_id"))
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        blame(NAME, at + ("content",), "a string", content)
    name = text_or_none(message.get("tool_name")) or text_or_none(message.get("name"))
    images = _images(message, at)
    said = (
        (Text(content, source=Source(raw=content, path=at + ("content",))), *images)
        if content
        else tuple(images)
    )
    return Result(
        one, said if images else content or "", False, name, origin, source=Source(message, at, row)
    )


def _write_result(result: Result, page: Page) -> JSON:
    """The answer under its tool's name, with the id only if its call has one."""
    out: Object = {
        "role": "tool",
        "content": "",
        "tool_name": page.name(page.called.get(result.call_id) or result.name or ""),
    }
    sent = page.result_id(result)
    if not page.hides(sent):
        out["tool_call_id"] = sent
    output = page.output(result)
    return (
        {**out, **_said(output, page)}
        if isinstance(output, tuple)
        else {**out, "content": result.text}
    )


def _said(parts: Iterable[Part], page: Page) -> Object:
    """Text and pictures of a message. Whatever is neither is told in the text."""
    texts: list[str] = []
    images: list[JSON] = []
    apart = False
    for part in parts:
        if isinstance(part, Media) and part.kind == "image" and part.data is not None:
            images.append(_write_image(part, page))
            if part.name is not None:
                page.lose(part, "a picture has no name here")
        elif isinstance(part, Text):
            if part.refusal:
                page.lose(part, "a refusal is sent as plain text")
            if part.text:
                apart = apart or bool(images or texts)
                texts.append(part.text)
        else:
            page.lose(
                part, f"this wire takes text and pictures by data only: {describe(part)[:80]}"
            )
            texts.append(describe(part))
        if apart:
            page.lose(part, ONE_TEXT)
            apart = False
    return {"content": "\n".join(texts), **({"images": images} if images else {})}


CALLS = table(
    Row(
        "function",
        Call,
        _read_call,
        _write_call,
        keys("id", "type", "function"),
        (("function", keys("index", "name", "arguments")),),
        {"path": "message.tool_calls[]"},
        "call",
        "function",
        "client",
        (Id("id", required=False), Id("function.index", "position", required=False)),
    )
)
RESULTS = table(
    Row(
        "tool",
        Result,
        _read_result,
        _write_result,
        keys("role", "content", "images", "tool_name", "name", "tool_call_id"),
        (),
        {"role": "tool"},
        "output",
        "function",
        "client",
        (Id("tool_call_id", required=False),),
        ("request",),
    )
)

# --- messages -------------------------------------------------------------------------------------


class _Chat(Chat, frozen=True, eq=False):
    """The chat shape, with pictures beside the text."""

    def _parts(self, message: Object, content: JSON, at: JsonPath) -> list[Part]:
        if content is not None and not isinstance(content, str):
            blame(NAME, at + ("content",), "a string", content)
        # The shared reader takes three fields for role, content and calls; here the third may be
        # the thinking.
        parts = super()._parts({"content": None, **message}, content, at)
        said = sum(not isinstance(part, Call) for part in parts)
        return [*parts[:said], *_images(message, at), *parts[said:]]

    def write_messages(self, messages: Iterable[Message], page: Page) -> list[JSON]:
        """The history; a turn's results stand in the order of their calls, which is all that most
        templates go by."""
        out: list[JSON] = []
        asked: dict[str, int] = {}
        before = ""
        answers: list[Result] = []
        stray: list[Result] = []
        for message in messages:
            kept = own(message, page, self.read_message)
            results = [part for part in message.parts if isinstance(part, Result)]
            if isinstance(kept, UnsetType) and message.role != "assistant":
                answers += results
            if (
                message.role == "assistant"
                or len(results) < len(message.parts)
                or not isinstance(kept, UnsetType)
            ):
                out += _answers(answers, asked, page, stray)
                answers = []
            if message.role == "assistant":
                # A turn may be asked in several messages that follow one another.
                asked = asked if before == "assistant" else {}
                for part in message.parts:
                    if isinstance(part, Call):
                        asked.setdefault(part.id, len(asked))
            before = message.role
            if not isinstance(kept, UnsetType):
                out.append(kept)
                stray += (result for result in results if result.call_id not in page.called)
                for part in message.parts:
                    if isinstance(part, Call):
                        page.called[part.id] = part.name
                        page.ordinal += 1
            elif message.role == "assistant":
                out.append(self.write_assistant(message, page))
            elif rest := [part for part in message.parts if not isinstance(part, Result)]:
                out.append(
                    {
                        "role": message.role if message.role == "system" else "user",
                        **_said(rest, page),
                    }
                )
        out += _answers(answers, asked, page, stray)
        for i, result in enumerate(stray):
            # What a reader will mint for a result that answers no call leads home, as with calls.
            if page.hides(page.result_id(result)):
                page.sent[
                    mint(f"{page.seed} result", page.ordinal + i, page.name(result.name or ""))
                ] = result.call_id
        return out

    def write_assistant(self, message: Message, page: Page) -> Object:
        """Text, reasoning, calls."""
        said: list[Part] = []
        thoughts: list[str] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(_write_call(part, page))
            elif not isinstance(part, Reasoning):
                if calls:
                    page.lose(part, AFTER_CALL)
                said.append(part)
            elif part.text:
                if said or calls or thoughts:
                    page.lose(part, ONE_THOUGHT)
                thoughts.append(part.text)
            else:
                page.lose(part, "reasoning that only its own provider can read")
        out: Object = {"role": "assistant", **_said(said, page)}
        if thoughts:
            out["thinking"] = "\n".join(thoughts)
        return {**out, "tool_calls": calls} if calls else out


def _answers(
    results: list[Result], asked: dict[str, int], page: Page, stray: list[Result]
) -> list[JSON]:
    """A turn's results in the order of their calls, those that answer none last."""
    for result in results:
        page.remember(result, flag=False, structure=False)
        if result.error:
            page.lose(result, "a tool message has no error flag; its text is kept")
        if result.call_id not in page.called and page.hides(result.call_id):
            page.lose(
                result, "nobody knows which call this answers; here its place and its name decide"
            )
    results = sorted(results, key=lambda result: asked.get(result.call_id, len(asked)))
    stray += (result for result in results if result.call_id not in page.called)
    return [_write_result(result, page) for result in results]


CHAT = _Chat(
    NAME,
    {},
    CALLS,
    RESULTS,
    Row("message", Message, keys=keys("role", "content", "thinking", "images", "tool_calls")),
    {"user": "user", "assistant": "assistant", "system": "system"},
    ("thinking",),
)

# --- tools and settings ---------------------------------------------------------------------------

TOOL = Row(
    "function",
    Tool,
    keys=keys("type", "function"),
    inner=(("function", keys("name", "description", "parameters")),),
)


def _read_tool(tool: JSON, at: JsonPath) -> Tool:
    if not isinstance(tool, dict):
        blame(NAME, at, "an object", tool)
    inner = tool.get("function")
    if not isinstance(inner, dict):
        return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=at))
    return Tool(
        name_of(inner.get("name")),
        text_or_none(inner.get("description")),
        inner.get("parameters"),
        source=Source(tool, at, TOOL),
    )


def _write_tools(tools: tuple[Tool, ...], page: Page) -> list[JSON]:
    out: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            page.lose(tool, f"a tool of another provider: {tool.kind}")
            continue
        inner: Object = {"name": page.name(tool.name)}
        given = (("description", tool.description), ("parameters", page.schema_of(tool)))
        inner.update({key: value for key, value in given if value is not None})
        if tool.strict is not None:
            page.lose(tool, "no strict flag here")
        out.append({"type": "function", "function": inner})
    return out


def _read_format(value: JSON) -> Setting | UnsetType:
    return Format() if value == "json" else Format(obj(value))


def _write_format(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Format)
    return value.schema if isinstance(value.schema, dict) else "json"


def _read_stop(value: JSON) -> Setting | UnsetType:
    return tuple(string(item) for item in value) if isinstance(value, list) else UNSET


REQUEST = (
    Field("model", ("model",)),
    Field("max_tokens", ("options", "num_predict")),
    Field("temperature", ("options", "temperature")),
    Field("top_p", ("options", "top_p")),
    Field("top_k", ("options", "top_k")),
    Field("seed", ("options", "seed")),
    Field("presence_penalty", ("options", "presence_penalty")),
    Field("frequency_penalty", ("options", "frequency_penalty")),
    Field("stop", ("options", "stop"), _read_stop),
    Field("stream", ("stream",)),
    Field("format", ("format",), _read_format, _write_format),
    # `think: true` names no effort: it stays with its own wire.
    Field(
        "effort", ("think",), string, lambda v, _: v if v in ("low", "medium", "high") else UNSET
    ),
)


def _read_time(value: JSON) -> Setting | UnsetType:
    try:
        time = datetime.fromisoformat(string(value))
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except OverflowError:
        return UNSET


def _write_time(value: Setting, page: Page) -> JSON | UnsetType:
    try:
        return datetime.fromtimestamp(int(str(value)), UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return UNSET


def _write_usage(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    return value.output or 0


RESPONSE = (
    Field("model", ("model",)),
    Field("created", ("created_at",), _read_time, _write_time),
    # The other half, `prompt_eval_count`, is read and written with the body.
    Field("usage", ("eval_count",), lambda v: Usage(None, count_at(v)), _write_usage),
)
MEANS = {"stop": "stop", "length": "length"}
SAYS = {"stop": "stop", "tool": "stop", "length": "length", "sequence": "stop"}
EPOCH = "1970-01-01T00:00:00Z"
"""The time of an answer whose source does not say: the wire demands one."""

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
    settings = read_fields(REQUEST, body, keys("messages", "tools"))
    tools = tuple(_read_tool(tool, ("tools", i)) for i, tool in enumerate(offered))
    return Conversation(
        settle(messages, seed="", ordered=True),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _settings(body: Object) -> Settings:
    """What stands around an answer's message. The tokens are counted in two fields."""
    count = count_at(body, "prompt_eval_count")
    known = keys(
        "message", "done", "done_reason", *(() if count is None else ("prompt_eval_count",))
    )
    settings = read_fields(RESPONSE, body, known)
    usage = settings.values.get("usage")
    if count is not None:
        settings.values["usage"] = Usage(count, usage.output if isinstance(usage, Usage) else None)
        settings.places.setdefault("usage", ("prompt_eval_count",))
    return settings


def _read_response(body: Object) -> Conversation:
    settings = _settings(body)
    message = _read_answer(object_at(NAME, body, ("message",)), ("message",))
    stop = _stop(body)
    called = any(isinstance(part, Call) for part in message.parts)
    message = replace(message, stop="tool" if stop == "stop" and called else stop)
    return Conversation(
        settle((message,), seed=_seed(body), ordered=True),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _read_answer(message: JSON, at: JsonPath) -> Message:
    """Whatever role it claims, an answer is the assistant's."""
    return replace(CHAT.read_message(message, at), role="assistant")


def _seed(body: Object) -> str:
    """An answer has no id; its time tells it from the next."""
    return text_or_none(body.get("created_at")) or ""


def _stop(body: Object) -> str | None:
    reason = body.get("done_reason")
    return MEANS.get(reason, reason) if reason and isinstance(reason, str) else None


def write(conversation: Conversation, page: Page) -> JSON:
    """A conversation as a request or a response."""
    if page.kind == "response":
        return _write_response(conversation, page)
    body = write_fields(REQUEST, conversation, page)
    _cut_short(conversation, page)
    if conversation.wire != NAME:
        body.setdefault("stream", False)
    body["messages"] = CHAT.write_messages(conversation.messages, page)
    if conversation.wire != NAME or not conversation.same_tools:
        body.pop("tools", None)
        if conversation.tools:
            put_tools(body, _write_tools(conversation.tools, page))
    return body


def _cut_short(conversation: Conversation, page: Page) -> None:
    """Report what a setting says beyond what this wire has for it."""
    for name, value in conversation.settings.items():
        at = conversation.source.setting_paths.get(name, (name,))
        match value:
            case Format(name=one, strict=strict, description=more) if (one, strict, more) != (
                None,
                None,
                None,
            ):
                page.lose(at, "a schema has no name, description or strictness here")
            case Usage(cached=read, cache_write=written, reasoning=thought) if (
                read,
                written,
                thought,
            ) != (None, None, None):
                page.lose(at, "tokens of a cache or of reasoning are not counted apart here")


def _write_response(conversation: Conversation, page: Page) -> JSON:
    body = write_fields(RESPONSE, conversation, page)
    _cut_short(conversation, page)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"model": "", "created_at": EPOCH, "done": True, "done_reason": "stop", **body}
    page.seed = _seed(body)
    for message in conversation.messages[1:]:
        page.lose(message, "an answer here is one message; the other candidates stay behind")
    for tool in conversation.tools:
        page.lose(tool, "an answer offers no tools")
    first = conversation.messages[0] if conversation.messages else Message("assistant", ())
    kept = own(first, page, _read_answer)
    if isinstance(kept, UnsetType):
        kept = CHAT.write_assistant(first, page)
    body["message"] = kept
    called = first.stop == "tool" and any(isinstance(part, Call) for part in first.parts)
    if first.stop is not None and _stop(body) != ("stop" if called else first.stop):
        body["done_reason"] = "stop" if called else write_stop(first, SAYS, MEANS, page)
    usage = conversation.settings.get("usage")
    if isinstance(usage, Usage) and usage.input is not None:
        body["prompt_eval_count"] = usage.input
    return body


# --- telling it from others -----------------------------------------------------------------------


def looks(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("message"), dict):
        return 3 if isinstance(body.get("done"), bool) else 0
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(map(_possible, messages)):
        return 0
    if (
        isinstance(body.get("options"), dict)
        or "keep_alive" in body
        or "think" in body
        or any(map(_marked, messages))
    ):
        return 3
    return 2 if body.get("format") == "json" or isinstance(body.get("format"), dict) else 0


def _possible(message: JSON) -> bool:
    """Whether a message could be of this wire at all: its content is one text."""
    return (
        isinstance(message, dict)
        and "contents" not in message
        and isinstance(message.get("content", ""), str | None)
    )


def _marked(message: JSON) -> bool:
    """Whether a message has what only this wire has: bare pictures, arguments as an object, a
    tool's name on a result."""
    if not isinstance(message, dict):
        return False
    if "tool_name" in message or "thinking" in message or isinstance(message.get("images"), list):
        return True
    calls = message.get("tool_calls")
    bare = (
        [call for call in calls if isinstance(call, dict) and "type" not in call]
        if isinstance(calls, list)
        else []
    )
    functions = [call.get("function") for call in bare]
    return any(
        isinstance(function, dict) and isinstance(function.get("arguments"), dict)
        for function in functions
    )


WIRE = Wire(
    NAME,
    "Ollama /api/chat",
    rows_of((IMAGE,), CALLS, RESULTS),
    read,
    write,
    looks,
    stream(_read_answer, _settings, _stop, CHAT.write_assistant, write),
)
