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

from toolwire.conversation.ids import assign_ids, mint
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
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    SettingsRead,
    put_tools,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    Block,
    Id,
    Wire,
    all_blocks,
    blocks,
    count_at,
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


def _write_image(media: Media, context: EncodeContext) -> JSON:
    data = (media.data or "").translate(_STANDARD)
    if data != media.data:
        context.report_loss(media, "base64 in the alphabet of URLs is sent in the standard one")
    if media.mime is not None and _mime(data) != media.mime:
        context.report_loss(media, f"a picture has no type here: {media.mime}")
    return data


IMAGE = Block("images", Media, write=_write_image)


def _images(message: Object, path: JsonPath) -> list[Part]:
    images = message.get("images")
    if images is None:
        return []
    if not isinstance(images, list):
        raise_unexpected(NAME, path + ("images",), "a list or null", images)
    out: list[Part] = []
    for i, data in enumerate(images):
        where = path + ("images", i)
        if not isinstance(data, str):
            raise_unexpected(NAME, where, "a string", data)
        out.append(Media("image", _mime(data), data, source=Source(data, where, IMAGE)))
    return out


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
    sent = context.wire_id(call)
    function: Object = {
        "name": context.name(call.name),
        "arguments": context.arguments_object(call),
    }
    return {"function": function} if sent is None else {"id": sent, "function": function}


def _read_result(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(message.get("tool_call_id"))
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise_unexpected(NAME, path + ("content",), "a string", content)
    name = text_or_none(message.get("tool_name")) or text_or_none(message.get("name"))
    images = _images(message, path)
    said = (
        (Text(content, source=Source(raw=content, path=path + ("content",))), *images)
        if content
        else tuple(images)
    )
    return Result(
        one,
        said if images else content or "",
        False,
        name,
        origin,
        source=Source(message, path, spec),
    )


def _write_result(result: Result, context: EncodeContext) -> JSON:
    """The answer under its tool's name, with the id only if its call has one."""
    out: Object = {
        "role": "tool",
        "content": "",
        "tool_name": context.name(context.called_names.get(result.call_id) or result.name or ""),
    }
    sent = context.result_id(result)
    if not context.hides_id(sent):
        out["tool_call_id"] = sent
    output = context.output(result)
    return (
        {**out, **_said(output, context)}
        if isinstance(output, tuple)
        else {**out, "content": result.text}
    )


def _said(parts: Iterable[Part], context: EncodeContext) -> Object:
    """Text and pictures of a message. Whatever is neither is told in the text."""
    texts: list[str] = []
    images: list[JSON] = []
    apart = False
    for part in parts:
        if isinstance(part, Media) and part.kind == "image" and part.data is not None:
            images.append(_write_image(part, context))
            if part.name is not None:
                context.report_loss(part, "a picture has no name here")
        elif isinstance(part, Text):
            if part.refusal:
                context.report_loss(part, "a refusal is sent as plain text")
            if part.text:
                apart = apart or bool(images or texts)
                texts.append(part.text)
        else:
            context.report_loss(
                part, f"this wire takes text and pictures by data only: {describe(part)[:80]}"
            )
            texts.append(describe(part))
        if apart:
            context.report_loss(part, ONE_TEXT)
            apart = False
    return {"content": "\n".join(texts), **({"images": images} if images else {})}


CALLS = blocks(
    Block(
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
RESULTS = blocks(
    Block(
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

    def _parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        if content is not None and not isinstance(content, str):
            raise_unexpected(NAME, path + ("content",), "a string", content)
        # The shared reader takes three fields for role, content and calls; here the third may be
        # the thinking.
        parts = super()._parts({"content": None, **message}, content, path)
        said = sum(not isinstance(part, Call) for part in parts)
        return [*parts[:said], *_images(message, path), *parts[said:]]

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """The history; a turn's results stand in the order of their calls, which is all that most
        templates go by."""
        out: list[JSON] = []
        asked: dict[str, int] = {}
        before = ""
        answers: list[Result] = []
        stray: list[Result] = []
        for message in messages:
            kept = patch_message(message, context, self.read_message)
            results = [part for part in message.parts if isinstance(part, Result)]
            if isinstance(kept, UnsetType) and message.role != "assistant":
                answers += results
            if (
                message.role == "assistant"
                or len(results) < len(message.parts)
                or not isinstance(kept, UnsetType)
            ):
                out += _answers(answers, asked, context, stray)
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
                stray += (
                    result for result in results if result.call_id not in context.called_names
                )
                for part in message.parts:
                    if isinstance(part, Call):
                        context.called_names[part.id] = part.name
                        context.ordinal += 1
            elif message.role == "assistant":
                out.append(self.write_assistant(message, context))
            elif rest := [part for part in message.parts if not isinstance(part, Result)]:
                out.append(
                    {
                        "role": message.role if message.role == "system" else "user",
                        **_said(rest, context),
                    }
                )
        out += _answers(answers, asked, context, stray)
        for i, result in enumerate(stray):
            # What a reader will mint for a result that answers no call leads home, as with calls.
            if context.hides_id(context.result_id(result)):
                context.sent_ids[
                    mint(
                        f"{context.seed} result",
                        context.ordinal + i,
                        context.name(result.name or ""),
                    )
                ] = result.call_id
        return out

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Text, reasoning, calls."""
        said: list[Part] = []
        thoughts: list[str] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(_write_call(part, context))
            elif not isinstance(part, Reasoning):
                if calls:
                    context.report_loss(part, AFTER_CALL)
                said.append(part)
            elif part.text:
                if said or calls or thoughts:
                    context.report_loss(part, ONE_THOUGHT)
                thoughts.append(part.text)
            else:
                context.report_loss(part, "reasoning that only its own provider can read")
        out: Object = {"role": "assistant", **_said(said, context)}
        if thoughts:
            out["thinking"] = "\n".join(thoughts)
        return {**out, "tool_calls": calls} if calls else out


def _answers(
    results: list[Result], asked: dict[str, int], context: EncodeContext, stray: list[Result]
) -> list[JSON]:
    """A turn's results in the order of their calls, those that answer none last."""
    for result in results:
        context.note_result_form(result, flag=False, structure=False)
        if result.error:
            context.report_loss(result, "a tool message has no error flag; its text is kept")
        if result.call_id not in context.called_names and context.hides_id(result.call_id):
            context.report_loss(
                result, "nobody knows which call this answers; here its place and its name decide"
            )
    results = sorted(results, key=lambda result: asked.get(result.call_id, len(asked)))
    stray += (result for result in results if result.call_id not in context.called_names)
    return [_write_result(result, context) for result in results]


CHAT = _Chat(
    NAME,
    {},
    CALLS,
    RESULTS,
    Block("message", Message, keys=keys("role", "content", "thinking", "images", "tool_calls")),
    {"user": "user", "assistant": "assistant", "system": "system"},
    ("thinking",),
)

# --- tools and settings ---------------------------------------------------------------------------

TOOL = Block(
    "function",
    Tool,
    keys=keys("type", "function"),
    inner=(("function", keys("name", "description", "parameters")),),
)


def _read_tool(tool: JSON, path: JsonPath) -> Tool:
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    inner = tool.get("function")
    if not isinstance(inner, dict):
        return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=path))
    return Tool(
        read_name(inner.get("name")),
        text_or_none(inner.get("description")),
        inner.get("parameters"),
        source=Source(tool, path, TOOL),
    )


def _write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    out: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        inner: Object = {"name": context.name(tool.name)}
        given = (("description", tool.description), ("parameters", context.schema_of(tool)))
        inner.update({key: value for key, value in given if value is not None})
        if tool.strict is not None:
            context.report_loss(tool, "no strict flag here")
        out.append({"type": "function", "function": inner})
    return out


def _read_format(value: JSON) -> Setting | UnsetType:
    return Format() if value == "json" else Format(require_object(value))


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    return value.schema if isinstance(value.schema, dict) else "json"


def _read_stop(value: JSON) -> Setting | UnsetType:
    return tuple(require_string(item) for item in value) if isinstance(value, list) else UNSET


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("options", "num_predict")),
    SettingSpec("temperature", ("options", "temperature")),
    SettingSpec("top_p", ("options", "top_p")),
    SettingSpec("top_k", ("options", "top_k")),
    SettingSpec("seed", ("options", "seed")),
    SettingSpec("presence_penalty", ("options", "presence_penalty")),
    SettingSpec("frequency_penalty", ("options", "frequency_penalty")),
    SettingSpec("stop", ("options", "stop"), _read_stop),
    SettingSpec("stream", ("stream",)),
    SettingSpec("format", ("format",), _read_format, _write_format),
    # `think: true` names no effort: it stays with its own wire.
    SettingSpec(
        "effort",
        ("think",),
        require_string,
        lambda v, _: v if v in ("low", "medium", "high") else UNSET,
    ),
)


def _read_time(value: JSON) -> Setting | UnsetType:
    try:
        time = datetime.fromisoformat(require_string(value))
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except OverflowError:
        return UNSET


def _write_time(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    try:
        return datetime.fromtimestamp(int(str(value)), UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return UNSET


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    return value.output or 0


RESPONSE = (
    SettingSpec("model", ("model",)),
    SettingSpec("created", ("created_at",), _read_time, _write_time),
    # The other half, `prompt_eval_count`, is read and written with the body.
    SettingSpec("usage", ("eval_count",), lambda v: Usage(None, count_at(v)), _write_usage),
)
FINISH_REASON_FROM_WIRE = {"stop": "stop", "length": "length"}
FINISH_REASON_TO_WIRE = {"stop": "stop", "tool": "stop", "length": "length", "sequence": "stop"}
EPOCH = "1970-01-01T00:00:00Z"
"""The time of an answer whose source does not say: the wire demands one."""

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
    settings = read_settings(REQUEST, body, keys("messages", "tools"))
    tools = tuple(_read_tool(tool, ("tools", i)) for i, tool in enumerate(offered))
    return Conversation(
        assign_ids(messages, seed="", ordered=True),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _settings(body: Object) -> SettingsRead:
    """What stands around an answer's message. The tokens are counted in two fields."""
    count = count_at(body, "prompt_eval_count")
    known = keys(
        "message", "done", "done_reason", *(() if count is None else ("prompt_eval_count",))
    )
    settings = read_settings(RESPONSE, body, known)
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
        assign_ids((message,), seed=_seed(body), ordered=True),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _read_answer(message: JSON, path: JsonPath) -> Message:
    """Whatever role it claims, an answer is the assistant's."""
    return replace(CHAT.read_message(message, path), role="assistant")


def _seed(body: Object) -> str:
    """An answer has no id; its time tells it from the next."""
    return text_or_none(body.get("created_at")) or ""


def _stop(body: Object) -> str | None:
    reason = body.get("done_reason")
    return (
        FINISH_REASON_FROM_WIRE.get(reason, reason) if reason and isinstance(reason, str) else None
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    _cut_short(conversation, context)
    if conversation.wire != NAME:
        body.setdefault("stream", False)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    if conversation.wire != NAME or not conversation.same_tools:
        body.pop("tools", None)
        if conversation.tools:
            put_tools(body, _write_tools(conversation.tools, context))
    return body


def _cut_short(conversation: Conversation, context: EncodeContext) -> None:
    """Report what a setting says beyond what this wire has for it."""
    for name, value in conversation.settings.items():
        path = conversation.source.setting_paths.get(name, (name,))
        match value:
            case Format(name=one, strict=strict, description=more) if (one, strict, more) != (
                None,
                None,
                None,
            ):
                context.report_loss(path, "a schema has no name, description or strictness here")
            case Usage(cached=read, cache_write=written, reasoning=thought) if (
                read,
                written,
                thought,
            ) != (None, None, None):
                context.report_loss(
                    path, "tokens of a cache or of reasoning are not counted apart here"
                )


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    _cut_short(conversation, context)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"model": "", "created_at": EPOCH, "done": True, "done_reason": "stop", **body}
    context.seed = _seed(body)
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
    body["message"] = kept
    called = first.stop == "tool" and any(isinstance(part, Call) for part in first.parts)
    if first.stop is not None and _stop(body) != ("stop" if called else first.stop):
        body["done_reason"] = (
            "stop"
            if called
            else write_finish_reason(first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
        )
    usage = conversation.settings.get("usage")
    if isinstance(usage, Usage) and usage.input is not None:
        body["prompt_eval_count"] = usage.input
    return body


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
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
    all_blocks((IMAGE,), CALLS, RESULTS),
    read,
    write,
    match_score,
    stream(_read_answer, _settings, _stop, CHAT.write_assistant, write),
)
