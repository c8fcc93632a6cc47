"""Mistral chat completions: the chat shape with rules of its own.

- nine-characters: an id is exactly nine letters or digits.
- null-is-a-word: the SDK writes the text "null" for a missing id, and 0 for a missing index:
  neither names a call.
- arguments-as-object: arguments are text, or the object itself.
- reasoning-is-a-chunk: what was thought stands in the content, as a list inside a `thinking` chunk.
- media-by-string: `image_url`, `document_url` and `input_audio` may be plain strings.
- any-is-required: `any` and `required` both mean that some tool must be called.
- prefix-to-go-on: an assistant's message with `prefix` is to be continued; false says nothing.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
from toolwire.conversation.model import BodySource, Choice, Conversation, Kind, Setting, Tool, Usage
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
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.settings import (
    SettingSpec,
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
    answer_messages,
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
from toolwire.wires.families.chat.merge import joined
from toolwire.wires.families.chat.messages import ONE_THOUGHT, Chat
from toolwire.wires.families.chat.settings import FORMAT, STOP, offer
from toolwire.wires.families.chat.stream_reader import Speech
from toolwire.wires.families.chat.stream_writer import stream

NAME = "mistral"

# --- content --------------------------------------------------------------------------------------


def _by_url(
    url: str, kind: str | None, name: str | None, block: Object, path: JsonPath, spec: Block
) -> Part:
    mime, data = split_data_url(url) or (None, None)
    return Media(
        kind or kind_by(mime),  # type: ignore[arg-type]
        mime,
        data,
        None if data is not None else url,
        name=name,
        source=Source(block, path, spec),
    )


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    held = block["image_url"]
    return _by_url(
        require_string(held["url"] if isinstance(held, dict) else held),
        "image",
        None,
        block,
        path,
        spec,
    )


def _read_document(block: Object, path: JsonPath, spec: Block) -> Part:
    return _by_url(
        require_string(block["document_url"]),
        None,
        text_or_none(block.get("document_name")),
        block,
        path,
        spec,
    )


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    """Base64 as it is, a URL, or an object as others have it."""
    held = block["input_audio"]
    if isinstance(held, dict):
        return Media(
            "audio",
            f"audio/{require_string(held['format'])}",
            require_string(held["data"]),
            source=Source(block, path, spec),
        )
    if require_string(held).startswith(("http://", "https://", "data:")):
        return _by_url(require_string(held), "audio", None, block, path, spec)
    return Media("audio", data=require_string(held), source=Source(block, path, spec))


def _write_media(media: Media, context: EncodeContext) -> JSON:
    """Images and documents by URL or data, sounds too; a text document is text; anything else can
    only be named."""
    url = data_url(media)
    if media.text is not None:
        context.report_loss(media, "a text document is sent as text")
        return {"type": "text", "text": media.text}
    if media.url is not None and media.mime is not None:
        context.report_loss(media, "what stands at a URL is sent without its type")
    if media.kind == "image" and url is not None:
        if media.name is not None:
            context.report_loss(media, "an image has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    if media.kind == "file" and url is not None:
        name: Object = {} if media.name is None else {"document_name": media.name}
        return {"type": "document_url", "document_url": url, **name}
    if media.kind == "audio" and url is not None:
        if media.data is not None and mime_of(media):
            context.report_loss(media, "a sound is sent without its type or name")
        return {"type": "input_audio", "input_audio": media.data or url}
    context.report_loss(
        media,
        f"this wire takes no {media.kind} {'by file id' if media.file else 'of this kind'}; it is"
        " named in text",
    )
    return {"type": "text", "text": describe(media)}


def _write_sound(media: Media, context: EncodeContext) -> JSON:
    """In the form it came in."""
    if isinstance(get(media.raw, ("input_audio",)), dict) and media.data is not None:  # type: ignore[arg-type]
        word = (media.mime or "").partition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": word}}
    return {
        "type": "input_audio",
        "input_audio": data_url(media) if media.mime else media.data or media.url,
    }


def _read_thinking(block: Object, path: JsonPath, spec: Block) -> Part:
    held, signature = block["thinking"], text_or_none(block.get("signature"))
    if isinstance(held, str):
        return Reasoning(held, signature=signature, source=Source(block, path, spec))
    if not isinstance(held, list):
        raise TypeError("a list")
    texts = [
        one["text"] for one in held if isinstance(one, dict) and isinstance(one.get("text"), str)
    ]
    told = spec if len(texts) == len(held) else REFERRING
    return Reasoning(
        "".join(map(require_string, texts)), signature=signature, source=Source(block, path, told)
    )


def _write_thinking(part: Reasoning, context: EncodeContext) -> JSON:
    out: Object = {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}
    return out if part.signature is None else {**out, "signature": part.signature}


_THINKING = keys("type", "thinking", "signature")
CONTENT = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Block(
        "image_url",
        Media,
        _read_image,
        _write_media,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
    Block(
        "document_url",
        Media,
        _read_document,
        _write_media,
        keys("type", "document_url", "document_name"),
    ),
    Block(
        "input_audio",
        Media,
        _read_audio,
        _write_sound,
        keys("type", "input_audio"),
        (("input_audio", keys("data", "format")),),
    ),
    Block(
        "file",
        Media,
        lambda b, path, spec: Media(
            "file", file=require_string(b["file_id"]), source=Source(b, path, spec)
        ),
        lambda p, context: (
            {"type": "file", "file_id": p.file} if p.file else _write_media(p, context)
        ),
        keys("type", "file_id"),
    ),
    Block("thinking", Reasoning, _read_thinking, _write_thinking, _THINKING),
)
REFERRING = replace(CONTENT["thinking"], keys=_THINKING - {"thinking"})
"""Thoughts that refer to something: only their words are carried, and that is reported."""

# --- calls and results ----------------------------------------------------------------------------


def _read_function(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("id"))
    held = block.get("function")
    function = held if isinstance(held, dict) else {}
    return Call(
        one,
        read_name(function.get("name")),
        read_arguments(function.get("arguments")),
        origin,
        source=Source(block, path, spec),
    )


def _write_function(call: Call, context: EncodeContext) -> JSON:
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


def _read_tool(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(message.get("tool_call_id"))
    return Result(
        one,
        CHAT.output(message.get("content"), path),
        False,
        text_or_none(message.get("name")),
        origin,
        source=Source(message, path, spec),
    )


def _write_tool(result: Result, context: EncodeContext) -> JSON:
    output = context.output(result)
    parts = output if isinstance(output, tuple) else ()
    texts: list[JSON] = [{"type": "text", "text": describe(part)} for part in parts]
    plain = bool(parts) and all(isinstance(part, Text) for part in parts)
    out: Object = {
        "role": "tool",
        "tool_call_id": context.result_id(result),
        "content": texts if plain else result.text,
    }
    return out if result.name is None else {**out, "name": context.name(result.name)}


CALLS = blocks(
    Block(
        "function",
        Call,
        _read_function,
        _write_function,
        keys("id", "type", "function", "index"),
        (("function", keys("name", "arguments")),),
        {"path": "choices[].message.tool_calls[]"},
        "call",
        "function",
        "client",
        (
            Id("id", required=False, nullable=True),
            Id("index", "position", required=False, nullable=True),
        ),
    )
)
RESULTS = blocks(
    Block(
        "tool",
        Result,
        _read_tool,
        _write_tool,
        keys("role", "content", "tool_call_id", "name"),
        (),
        {"role": "tool"},
        "output",
        "function",
        "client",
        (Id("tool_call_id", required=False),),
        ("request",),
    )
)
MESSAGE = Block("message", Message, keys=keys("role", "content", "tool_calls"))
WHOLE = replace(MESSAGE, keys=MESSAGE.keys | {"prefix"})
"""A message that is not a prefix, and says so."""


class Mistral(Chat, frozen=True, eq=False):
    """The chat shape with reasoning in the content, and no place for a refusal."""

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        """One message of a history, or of a response."""
        found = super().read_message(message, path)
        return (
            replace(found, source=replace(found.source, spec=WHOLE))
            if found.spec is MESSAGE and get(message, ("prefix",)) is False
            else found
        )

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """An assistant's message: its content in the order in which it was said, then the calls."""
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(_write_function(part, context))
            elif isinstance(part, Text):
                if part.refusal:
                    context.report_loss(part, "a refusal is sent as plain text")
                if part.text:
                    content.append({"type": "text", "text": part.text})
            elif isinstance(part, Reasoning) and part.text and context.kind == "response":
                if any("thinking" in require_object(block) for block in content):
                    context.report_loss(part, ONE_THOUGHT)
                content.append(
                    {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}
                )
            elif isinstance(part, Reasoning):
                context.report_loss(part, "reasoning of another provider is not taken back")
            else:
                context.report_loss(
                    part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
                )
        if context.kind == "response":
            calls = [{**require_object(call), "index": i} for i, call in enumerate(calls)]
            whole = (
                joined(content) if content else content
            )  # neighbours of one kind are one, as in a stream
            content = whole if isinstance(whole, list) else content
        only = get(content[0], ("text",)) if len(content) == 1 else UNSET
        said: JSON = only if isinstance(only, str) else content or ""
        return {"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})}


CHAT = Mistral(
    NAME,
    CONTENT,
    CALLS,
    RESULTS,
    MESSAGE,
    {"user": "user", "assistant": "assistant", "system": "system"},
)

# --- tools and settings ---------------------------------------------------------------------------

OFFER = Block(
    "function",
    Tool,
    keys=keys("type", "function"),
    inner=(("function", keys("name", "description", "parameters", "strict")),),
)


def _read_offer(tool: JSON, path: JsonPath) -> Tool:
    """A tool on offer; the provider's own keep their type as kind."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    inner = tool.get("function")
    if not isinstance(inner, dict):
        return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=path))
    return offer(inner, "function", tool, path, OFFER)


def _write_tools(conversation: Conversation, context: EncodeContext) -> list[JSON]:
    native = conversation.wire == NAME
    out: list[JSON] = []
    for tool in conversation.tools:
        if (
            native
            and not isinstance(tool.raw, UnsetType)
            and _read_offer(tool.raw, tool.path) == tool
        ):
            out.append(tool.raw)
            continue
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        inner: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            inner["description"] = tool.description
        schema = context.schema_of(tool)
        inner["parameters"] = schema if schema is not None else {"type": "object", "properties": {}}
        if tool.strict is not None:
            inner["strict"] = tool.strict
        out.append({"type": "function", "function": inner})
    return out


_MODES = {"auto": "auto", "none": "none", "any": "required", "required": "required"}


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(_MODES[value])  # type: ignore[arg-type]
    return Choice(
        "required", (require_string(require_object(require_object(value)["function"])["name"]),)
    )


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"type": "function", "function": {"name": context.name(value.names[0])}}
    return "any" if value.mode == "required" else value.mode


REQUEST = (
    *(
        SettingSpec(name, (name,))
        for name in (
            "model",
            "max_tokens",
            "temperature",
            "top_p",
            "top_k",
            "presence_penalty",
            "frequency_penalty",
            "stream",
        )
    ),
    SettingSpec("seed", ("random_seed",)),
    SettingSpec("candidates", ("n",)),
    STOP,
    SettingSpec(
        "choice", ("tool_choice",), _read_choice, _write_choice, keys("", "type", "function.name")
    ),
    SettingSpec("parallel", ("parallel_tool_calls",)),
    FORMAT,
    SettingSpec("effort", ("reasoning_effort",)),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        count_at(value, "prompt_tokens"),
        count_at(value, "completion_tokens"),
        count_at(value, "prompt_tokens_details", "cached_tokens"),
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    out: Object = {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}
    return (
        out
        if value.cached is None
        else {**out, "prompt_tokens_details": {"cached_tokens": value.cached}}
    )


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("created", ("created",)),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys(
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "prompt_tokens_details.cached_tokens",
        ),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "model_length": "context",
    "tool_calls": "tool",
    "error": "error",
}
FINISH_REASON_TO_WIRE = {neutral: word for word, neutral in FINISH_REASON_FROM_WIRE.items()}


def _tell_limits(conversation: Conversation, context: EncodeContext) -> None:
    """Report what a setting says beyond what is written of it."""
    settings, places = conversation.settings, conversation.source.setting_paths
    choice, usage = settings.get("choice"), settings.get("usage")
    if (
        isinstance(choice, Choice)
        and choice.names
        and (choice.mode != "required" or len(choice.names) > 1)
    ):
        context.report_loss(
            places.get("choice", ("choice",)), "only one tool can be named; the others stay allowed"
        )
    if isinstance(usage, Usage) and (usage.reasoning is not None or usage.cache_write is not None):
        context.report_loss(
            places.get("usage", ("usage",)),
            "tokens of reasoning, or written to a cache, are not counted apart here",
        )


# --- whole bodies ---------------------------------------------------------------------------------

_CHOICE = keys("index", "message", "finish_reason")


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    messages = tuple(
        [
            CHAT.read_message(m, ("messages", i))
            for i, m in enumerate(list_at(NAME, body, ("messages",)))
        ]
    )
    offered = list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    tools = tuple(_read_offer(tool, ("tools", i)) for i, tool in enumerate(offered))
    settings = read_settings(REQUEST, body, keys("messages", "tools"))
    return Conversation(
        assign_ids(messages, seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("choices", "object"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    for i, _ in enumerate(list_at(NAME, body, ("choices",))):
        choice = object_at(NAME, body, ("choices", i))
        # A choice may hold `messages` in its place; they have no neutral form yet.
        path: JsonPath = (
            "choices",
            i,
            "message" if "message" in choice or "messages" not in choice else "messages",
        )
        said = (
            CHAT.read_message(choice["message"], path)
            if choice.get("message") is not None
            else Message("assistant", (), source=Source(path=path))
        )
        reason = choice.get("finish_reason")
        messages.append(
            replace(
                said,
                stop=FINISH_REASON_FROM_WIRE.get(reason, reason)
                if reason and isinstance(reason, str)
                else None,
            )
        )
        extra += [
            ("choices", i, key)
            for key, value in choice.items()
            if key not in _CHOICE and value is not None
        ]
    return Conversation(
        assign_ids(tuple(messages), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=tuple(extra), setting_paths=settings.places),
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    native = conversation.wire == NAME
    if not native:
        _tell_limits(conversation, context)
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    if not (native and conversation.same_tools):
        put_tools(body, _write_tools(conversation, context))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    native = conversation.wire == NAME
    if not native:
        usage: Object = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        body = {
            "id": "",
            "object": "chat.completion",
            "created": 0,
            "model": "",
            "usage": usage,
            **body,
        }
    choices: list[JSON] = []
    for i, message in enumerate(answer_messages(conversation, context)):
        old = get(conversation.source.body, message.path[:-1]) if native else UNSET
        if isinstance(old, dict) and not message.parts and old.get("message") is None:
            choices.append(old)
            continue
        kept = patch_message(message, context, CHAT.read_message)
        said = CHAT.write_assistant(message, context) if isinstance(kept, UnsetType) else kept
        stop = (
            write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
            or "stop"
            if not isinstance(old, dict)
            else None
        )
        frame: Object = {**old} if isinstance(old, dict) else {"index": i, "finish_reason": stop}
        choices.append({**frame, "message": said})
    return {**body, "choices": choices}


# --- telling it from others -----------------------------------------------------------------------

_TOP = ("random_seed", "safe_prompt", "prompt_mode")


def _marked(content: JSON) -> bool:
    """Whether a content has chunks that nobody else has: in other wires thinking is a text."""
    blocks = (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )
    return any(
        "document_url" in b or "reference_ids" in b or isinstance(b.get("thinking"), list)
        for b in blocks
    )


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: only its own marks tell it from any other
    chat."""
    if not isinstance(body, dict):
        return 0
    choices, messages = body.get("choices"), body.get("messages")
    if isinstance(choices, list):
        own_words = any(
            get(c, ("finish_reason",)) == "model_length"
            or _marked(get(c, ("message", "content")) or None)
            for c in choices
        )
        return (
            3
            if own_words
            else 1
            if str(body.get("object", "")).startswith("chat.completion")
            else 0
        )
    if not isinstance(messages, list) or any(
        key in body for key in ("system", "stop_sequences", "anthropic_version")
    ):
        return 0
    marks = 3 if any(key in body for key in _TOP) else 1
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in (
            "system",
            "user",
            "assistant",
            "tool",
        ):
            return 0
        content = message.get("content")
        if _marked(content):
            marks = 3
        elif isinstance(content, list) and not all(
            isinstance(b, dict) and b.get("type") in tuple(CONTENT) for b in content
        ):
            return 0
    return marks


def _thinks(text: str) -> Object:
    return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}


SPEECH = Speech(
    RESPONSE, FINISH_REASON_FROM_WIRE, write, _thinks, refuses=False, indexed=True, whole=True
)
WIRE = Wire(
    NAME,
    "Mistral chat completions",
    all_blocks(CONTENT, CALLS, RESULTS),
    read,
    write,
    match_score,
    stream(CHAT, SPEECH),
)
