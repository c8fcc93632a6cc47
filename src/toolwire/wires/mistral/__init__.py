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

from toolwire.conversation.ids import settle
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
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.settings import Field, put_tools, read_fields, write_fields, write_stop
from toolwire.wires.engine.specs import (
    Id,
    Row,
    Wire,
    answers,
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
from toolwire.wires.families.chat.merge import joined
from toolwire.wires.families.chat.messages import ONE_THOUGHT, Chat
from toolwire.wires.families.chat.settings import FORMAT, STOP, offer
from toolwire.wires.families.chat.stream_reader import Speech
from toolwire.wires.families.chat.stream_writer import stream

NAME = "mistral"

# --- content --------------------------------------------------------------------------------------


def _by_url(
    url: str, kind: str | None, name: str | None, block: Object, at: JsonPath, row: Row
) -> Part:
    mime, data = split_data_url(url) or (None, None)
    return Media(
        kind or kind_by(mime),  # type: ignore[arg-type]
        mime,
        data,
        None if data is not None else url,
        name=name,
        source=Source(block, at, row),
    )


def _read_image(block: Object, at: JsonPath, row: Row) -> Part:
    held = block["image_url"]
    return _by_url(
        string(held["url"] if isinstance(held, dict) else held), "image", None, block, at, row
    )


def _read_document(block: Object, at: JsonPath, row: Row) -> Part:
    return _by_url(
        string(block["document_url"]),
        None,
        text_or_none(block.get("document_name")),
        block,
        at,
        row,
    )


def _read_audio(block: Object, at: JsonPath, row: Row) -> Part:
    """Base64 as it is, a URL, or an object as others have it."""
    held = block["input_audio"]
    if isinstance(held, dict):
        return Media(
            "audio",
            f"audio/{string(held['format'])}",
            string(held["data"]),
            source=Source(block, at, row),
        )
    if string(held).startswith(("http://", "https://", "data:")):
        return _by_url(string(held), "audio", None, block, at, row)
    return Media("audio", data=string(held), source=Source(block, at, row))


def _write_media(media: Media, page: Page) -> JSON:
    """Images and documents by URL or data, sounds too; a text document is text; anything else can
    only be named."""
    url = data_url(media)
    if media.text is not None:
        page.lose(media, "a text document is sent as text")
        return {"type": "text", "text": media.text}
    if media.url is not None and media.mime is not None:
        page.lose(media, "what stands at a URL is sent without its type")
    if media.kind == "image" and url is not None:
        if media.name is not None:
            page.lose(media, "an image has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    if media.kind == "file" and url is not None:
        name: Object = {} if media.name is None else {"document_name": media.name}
        return {"type": "document_url", "document_url": url, **name}
    if media.kind == "audio" and url is not None:
        if media.data is not None and mime_of(media):
            page.lose(media, "a sound is sent without its type or name")
        return {"type": "input_audio", "input_audio": media.data or url}
    page.lose(
        media,
        f"this wire takes no {media.kind} {'by file id' if media.file else 'of this kind'}; it is"
        " named in text",
    )
    return {"type": "text", "text": describe(media)}


def _write_sound(media: Media, page: Page) -> JSON:
    """In the form it came in."""
    if isinstance(get(media.raw, ("input_audio",)), dict) and media.data is not None:  # type: ignore[arg-type]
        word = (media.mime or "").partition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": word}}
    return {
        "type": "input_audio",
        "input_audio": data_url(media) if media.mime else media.data or media.url,
    }


def _read_thinking(block: Object, at: JsonPath, row: Row) -> Part:
    held, signature = block["thinking"], text_or_none(block.get("signature"))
    if isinstance(held, str):
        return Reasoning(held, signature=signature, source=Source(block, at, row))
    if not isinstance(held, list):
        raise TypeError("a list")
    texts = [
        one["text"] for one in held if isinstance(one, dict) and isinstance(one.get("text"), str)
    ]
    told = row if len(texts) == len(held) else REFERRING
    return Reasoning(
        "".join(map(string, texts)), signature=signature, source=Source(block, at, told)
    )


def _write_thinking(part: Reasoning, page: Page) -> JSON:
    out: Object = {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}
    return out if part.signature is None else {**out, "signature": part.signature}


_THINKING = keys("type", "thinking", "signature")
CONTENT = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Row(
        "image_url",
        Media,
        _read_image,
        _write_media,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
    Row(
        "document_url",
        Media,
        _read_document,
        _write_media,
        keys("type", "document_url", "document_name"),
    ),
    Row(
        "input_audio",
        Media,
        _read_audio,
        _write_sound,
        keys("type", "input_audio"),
        (("input_audio", keys("data", "format")),),
    ),
    Row(
        "file",
        Media,
        lambda b, at, row: Media("file", file=string(b["file_id"]), source=Source(b, at, row)),
        lambda p, page: {"type": "file", "file_id": p.file} if p.file else _write_media(p, page),
        keys("type", "file_id"),
    ),
    Row("thinking", Reasoning, _read_thinking, _write_thinking, _THINKING),
)
REFERRING = replace(CONTENT["thinking"], keys=_THINKING - {"thinking"})
"""Thoughts that refer to something: only their words are carried, and that is reported."""

# --- calls and results ----------------------------------------------------------------------------


def _read_function(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("id"))
    held = block.get("function")
    function = held if isinstance(held, dict) else {}
    return Call(
        one,
        name_of(function.get("name")),
        arguments(function.get("arguments")),
        origin,
        source=Source(block, at, row),
    )


def _write_function(call: Call, page: Page) -> JSON:
    text = text_of(page.object_of(call)) if call.family == "custom" else page.text_of(call)
    return {
        "id": page.call_id(call),
        "type": "function",
        "function": {"name": page.name(call.name), "arguments": text},
    }


def _read_tool(message: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(message.get("tool_call_id"))
    return Result(
        one,
        CHAT.output(message.get("content"), at),
        False,
        text_or_none(message.get("name")),
        origin,
        source=Source(message, at, row),
    )


def _write_tool(result: Result, page: Page) -> JSON:
    output = page.output(result)
    parts = output if isinstance(output, tuple) else ()
    texts: list[JSON] = [{"type": "text", "text": describe(part)} for part in parts]
    plain = bool(parts) and all(isinstance(part, Text) for part in parts)
    out: Object = {
        "role": "tool",
        "tool_call_id": page.result_id(result),
        "content": texts if plain else result.text,
    }
    return out if result.name is None else {**out, "name": page.name(result.name)}


CALLS = table(
    Row(
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
RESULTS = table(
    Row(
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
MESSAGE = Row("message", Message, keys=keys("role", "content", "tool_calls"))
WHOLE = replace(MESSAGE, keys=MESSAGE.keys | {"prefix"})
"""A message that is not a prefix, and says so."""


class Mistral(Chat, frozen=True, eq=False):
    """The chat shape with reasoning in the content, and no place for a refusal."""

    def read_message(self, message: JSON, at: JsonPath) -> Message:
        """One message of a history, or of a response."""
        found = super().read_message(message, at)
        return (
            replace(found, source=replace(found.source, spec=WHOLE))
            if found.spec is MESSAGE and get(message, ("prefix",)) is False
            else found
        )

    def write_assistant(self, message: Message, page: Page) -> Object:
        """An assistant's message: its content in the order in which it was said, then the calls."""
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(_write_function(part, page))
            elif isinstance(part, Text):
                if part.refusal:
                    page.lose(part, "a refusal is sent as plain text")
                if part.text:
                    content.append({"type": "text", "text": part.text})
            elif isinstance(part, Reasoning) and part.text and page.kind == "response":
                if any("thinking" in obj(block) for block in content):
                    page.lose(part, ONE_THOUGHT)
                content.append(
                    {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}
                )
            elif isinstance(part, Reasoning):
                page.lose(part, "reasoning of another provider is not taken back")
            else:
                page.lose(
                    part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
                )
        if page.kind == "response":
            calls = [{**obj(call), "index": i} for i, call in enumerate(calls)]
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

OFFER = Row(
    "function",
    Tool,
    keys=keys("type", "function"),
    inner=(("function", keys("name", "description", "parameters", "strict")),),
)


def _read_offer(tool: JSON, at: JsonPath) -> Tool:
    """A tool on offer; the provider's own keep their type as kind."""
    if not isinstance(tool, dict):
        blame(NAME, at, "an object", tool)
    inner = tool.get("function")
    if not isinstance(inner, dict):
        return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=at))
    return offer(inner, "function", tool, at, OFFER)


def _write_tools(conversation: Conversation, page: Page) -> list[JSON]:
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
            page.lose(tool, f"a tool of another provider: {tool.kind}")
            continue
        inner: Object = {"name": page.name(tool.name)}
        if tool.description is not None:
            inner["description"] = tool.description
        schema = page.schema_of(tool)
        inner["parameters"] = schema if schema is not None else {"type": "object", "properties": {}}
        if tool.strict is not None:
            inner["strict"] = tool.strict
        out.append({"type": "function", "function": inner})
    return out


_MODES = {"auto": "auto", "none": "none", "any": "required", "required": "required"}


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(_MODES[value])  # type: ignore[arg-type]
    return Choice("required", (string(obj(obj(value)["function"])["name"]),))


def _write_choice(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"type": "function", "function": {"name": page.name(value.names[0])}}
    return "any" if value.mode == "required" else value.mode


REQUEST = (
    *(
        Field(name, (name,))
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
    Field("seed", ("random_seed",)),
    Field("candidates", ("n",)),
    STOP,
    Field(
        "choice", ("tool_choice",), _read_choice, _write_choice, keys("", "type", "function.name")
    ),
    Field("parallel", ("parallel_tool_calls",)),
    FORMAT,
    Field("effort", ("reasoning_effort",)),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        count_at(value, "prompt_tokens"),
        count_at(value, "completion_tokens"),
        count_at(value, "prompt_tokens_details", "cached_tokens"),
    )


def _write_usage(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    out: Object = {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}
    return (
        out
        if value.cached is None
        else {**out, "prompt_tokens_details": {"cached_tokens": value.cached}}
    )


RESPONSE = (
    Field("id", ("id",)),
    Field("model", ("model",)),
    Field("created", ("created",)),
    Field(
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
MEANS = {
    "stop": "stop",
    "length": "length",
    "model_length": "context",
    "tool_calls": "tool",
    "error": "error",
}
SAYS = {neutral: word for word, neutral in MEANS.items()}


def _tell_limits(conversation: Conversation, page: Page) -> None:
    """Report what a setting says beyond what is written of it."""
    settings, places = conversation.settings, conversation.source.setting_paths
    choice, usage = settings.get("choice"), settings.get("usage")
    if (
        isinstance(choice, Choice)
        and choice.names
        and (choice.mode != "required" or len(choice.names) > 1)
    ):
        page.lose(
            places.get("choice", ("choice",)), "only one tool can be named; the others stay allowed"
        )
    if isinstance(usage, Usage) and (usage.reasoning is not None or usage.cache_write is not None):
        page.lose(
            places.get("usage", ("usage",)),
            "tokens of reasoning, or written to a cache, are not counted apart here",
        )


# --- whole bodies ---------------------------------------------------------------------------------

_CHOICE = keys("index", "message", "finish_reason")


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        blame(NAME, (), "an object", body)
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
    settings = read_fields(REQUEST, body, keys("messages", "tools"))
    return Conversation(
        settle(messages, seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_fields(RESPONSE, body, keys("choices", "object"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    for i, _ in enumerate(list_at(NAME, body, ("choices",))):
        choice = object_at(NAME, body, ("choices", i))
        # A choice may hold `messages` in its place; they have no neutral form yet.
        at: JsonPath = (
            "choices",
            i,
            "message" if "message" in choice or "messages" not in choice else "messages",
        )
        said = (
            CHAT.read_message(choice["message"], at)
            if choice.get("message") is not None
            else Message("assistant", (), source=Source(path=at))
        )
        reason = choice.get("finish_reason")
        messages.append(
            replace(
                said, stop=MEANS.get(reason, reason) if reason and isinstance(reason, str) else None
            )
        )
        extra += [
            ("choices", i, key)
            for key, value in choice.items()
            if key not in _CHOICE and value is not None
        ]
    return Conversation(
        settle(tuple(messages), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=tuple(extra), setting_paths=settings.places),
    )


def write(conversation: Conversation, page: Page) -> JSON:
    """A conversation as a request or a response."""
    native = conversation.wire == NAME
    if not native:
        _tell_limits(conversation, page)
    if page.kind == "response":
        return _write_response(conversation, page)
    body = write_fields(REQUEST, conversation, page)
    body["messages"] = CHAT.write_messages(conversation.messages, page)
    if not (native and conversation.same_tools):
        put_tools(body, _write_tools(conversation, page))
    return body


def _write_response(conversation: Conversation, page: Page) -> JSON:
    body = write_fields(RESPONSE, conversation, page)
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
    for i, message in enumerate(answers(conversation, page)):
        old = get(conversation.source.body, message.path[:-1]) if native else UNSET
        if isinstance(old, dict) and not message.parts and old.get("message") is None:
            choices.append(old)
            continue
        kept = own(message, page, CHAT.read_message)
        said = CHAT.write_assistant(message, page) if isinstance(kept, UnsetType) else kept
        stop = (
            write_stop(message, SAYS, MEANS, page) or "stop" if not isinstance(old, dict) else None
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


def looks(body: JSON) -> int:
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


SPEECH = Speech(RESPONSE, MEANS, write, _thinks, refuses=False, indexed=True, whole=True)
WIRE = Wire(
    NAME,
    "Mistral chat completions",
    rows_of(CONTENT, CALLS, RESULTS),
    read,
    write,
    looks,
    stream(CHAT, SPEECH),
)
