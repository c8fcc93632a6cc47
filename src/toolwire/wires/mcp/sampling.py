"""Model Context Protocol: sampling, by which a server asks the client's model.

A `sampling/createMessage` request is a whole conversation, and its result is a model's answer: the
one place on this wire where text and calls stand together. A message's content is one block or a
list of them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import settle
from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import BodySource, Choice, Conversation, Setting
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.settings import Field, Settings, read_fields, write_fields, write_stop
from toolwire.wires.engine.specs import (
    Row,
    blame,
    keys,
    list_at,
    native,
    obj,
    object_at,
    own,
    read_block,
    string,
)
from toolwire.wires.families.blocks.history import Blocks
from toolwire.wires.mcp.content import (
    BLOCKS,
    NAME,
    read_offer,
    write_media,
    write_tools,
    write_use,
    write_used,
)

METHOD = "sampling/createMessage"
PLAIN = Row("content", Text, write=lambda part, page: part.text)
MESSAGE = Row("message", Message, keys=keys("role", "content"))
ANSWER = Row("result", Message, keys=keys("role", "content", "model", "stopReason", "resultType"))
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
MEANS = {"endTurn": "stop", "stopSequence": "sequence", "maxTokens": "length", "toolUse": "tool"}
SAYS = {"stop": "endTurn", "sequence": "stopSequence", "length": "maxTokens", "tool": "toolUse"}

# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    mode = obj(value)["mode"]
    return Choice(mode) if mode in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]


def _write_choice(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        page.lose(("tool_choice",), "no tool can be named here")
    return {"mode": value.mode}


REQUEST = (
    Field("max_tokens", ("params", "maxTokens")),
    Field("temperature", ("params", "temperature")),
    Field(
        "stop",
        ("params", "stopSequences"),
        lambda v: tuple(string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    Field("choice", ("params", "toolChoice"), _read_choice, _write_choice, keys("mode")),
)
_HELD = keys("messages", "tools", "systemPrompt")


def answer_fields(neutral: Callable[[JSON], str], wire: Callable[[str], JSON]) -> tuple[Field, ...]:
    """The settings of an answer; the message's id is the answer's, spelt as the wire spells ids."""
    return (
        Field("id", ("id",), neutral, lambda value, page: wire(str(value))),
        Field("model", ("result", "model")),
    )


# --- messages -------------------------------------------------------------------------------------


def _read_content(content: JSON, at: JsonPath) -> tuple[Part, ...]:
    if isinstance(content, list):
        return tuple(read_block(NAME, BLOCKS, block, (*at, i)) for i, block in enumerate(content))
    if isinstance(content, str):
        return (Text(content, source=Source(content, at, PLAIN)),)
    return (read_block(NAME, BLOCKS, content, at),)


def _read_message(message: JSON, at: JsonPath) -> Message:
    if not isinstance(message, dict):
        blame(NAME, at, "an object", message)
    said = message.get("role", UNSET)
    role = ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        blame(NAME, (*at, "role"), "user or assistant", said)
    parts = _read_content(message.get("content"), (*at, "content"))
    return Message(role, parts, None, NAME, source=Source(message, at, MESSAGE))


def _write_text(part: Text, page: Page) -> JSON:
    if part.refusal:
        page.lose(part, "a refusal is sent as plain text")
    return {"type": "text", "text": part.text} if part.text else None


def _write_media(media: Media, page: Page) -> JSON:
    """A picture or a sound: messages hold no resources."""
    if media.data is not None and media.kind in ("image", "audio"):
        return write_media(media, page)
    page.lose(media, f"a message cannot take this {media.kind} here; it is named in text")
    return {"type": "text", "text": describe(media)}


def _no_block(part: Part, page: Page) -> JSON:
    page.lose(part, f"no such block in a message on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: write_use,
    Result: write_used,
    Reasoning: _no_block,
    Opaque: _no_block,
}
HISTORY = Blocks(
    NAME,
    _read_message,
    FOREIGN,
    lambda role, blocks: {
        "role": "assistant" if role == "assistant" else "user",
        "content": _short(blocks),
    },
    lambda role, text: {
        "role": "assistant" if role == "assistant" else "user",
        "content": {"type": "text", "text": text},
    },
    alone=True,
)


def _short(blocks: list[JSON]) -> JSON:
    """A single block goes alone: clients of before 2025-11-25 take no list."""
    return blocks[0] if len(blocks) == 1 else blocks


# --- whole bodies ---------------------------------------------------------------------------------


def _unknown(
    settings: Settings, holder: str, held: Object, known: frozenset[str]
) -> tuple[JsonPath, ...]:
    """What nobody understands, beside the object that holds it all and in it."""
    outside = (path for path in settings.unknown if path[0] != holder or len(path) > 2)
    inside = (
        (holder, key) for key, value in held.items() if key not in known and value is not None
    )
    return (*outside, *(path for path in inside if path not in settings.places.values()))


def read_request(body: Object) -> Conversation:
    """A request for a message as the conversation it holds."""
    params = object_at(NAME, body, ("params",))
    messages: list[Message] = []
    prompt = params.get("systemPrompt")
    if isinstance(prompt, str):
        at: JsonPath = ("params", "systemPrompt")
        messages.append(
            Message(
                "system",
                (Text(prompt, source=Source(prompt, at, PLAIN)),),
                None,
                NAME,
                source=Source(raw=prompt, path=at),
            )
        )
    where: JsonPath = ("params", "messages")
    messages += [
        _read_message(message, (*where, i)) for i, message in enumerate(list_at(NAME, body, where))
    ]
    offered = list_at(NAME, body, ("params", "tools")) if params.get("tools") is not None else []
    tools = tuple(read_offer(tool, ("params", "tools", i)) for i, tool in enumerate(offered))
    settings = read_fields(REQUEST, body, keys("jsonrpc", "id", "method"))
    unknown = _unknown(settings, "params", params, _HELD)
    return Conversation(
        settle(tuple(messages), seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=unknown, setting_paths=settings.places),
    )


def write_request(conversation: Conversation, page: Page) -> JSON:
    """A request of this wire's own after its messages, tools or settings were changed."""
    body: JSON = write_fields(REQUEST, conversation, page)
    system = [message for message in conversation.messages if message.role == "system"]
    rest = tuple(message for message in conversation.messages if message.role != "system")
    texts = [
        part.text if isinstance(part, Text) else describe(part)
        for message in system
        for part in message.parts
    ]
    if texts:
        body = put(body, ("params", "systemPrompt"), "\n\n".join(texts))
    elif isinstance(params := get(body, ("params",)), dict) and "systemPrompt" in params:
        body = put(
            body,
            ("params",),
            {key: value for key, value in params.items() if key != "systemPrompt"},
        )
    body = put(
        body,
        ("params", "messages"),
        HISTORY.write(replace(conversation, messages=rest), page).messages,
    )
    if not conversation.same_tools:
        body = put(body, ("params", "tools"), write_tools(conversation.tools, page))
    return body


def _write_part(part: Part, page: Page) -> JSON:
    kept = (
        native(part, page, part.raw)
        if part.spec in BLOCKS.values() and part.raw is not UNSET
        else UNSET
    )
    return FOREIGN[type(part)](part, page) if isinstance(kept, UnsetType) else kept


def is_answer(body: Object) -> bool:
    """Whether a response is a model's answer, and not a tool's."""
    held = body.get("result")
    return isinstance(held, dict) and "role" in held and "content" in held


def read_answer(body: Object, fields: tuple[Field, ...]) -> Conversation:
    """The answer of a model as one message."""
    held = object_at(NAME, body, ("result",))
    parts = _read_content(held["content"], ("result", "content"))
    reason = held.get("stopReason")
    stop = MEANS.get(reason, reason) if isinstance(reason, str) else None
    message = Message("assistant", parts, stop, NAME, source=Source(held, ("result",), ANSWER))
    settings = read_fields(fields, body, keys("jsonrpc"))
    unknown = _unknown(settings, "result", held, ANSWER.keys)
    return Conversation(
        settle((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=unknown, setting_paths=settings.places),
    )


def write_answer(conversation: Conversation, page: Page, fields: tuple[Field, ...]) -> JSON:
    """The answer of a model, which is its last message."""
    last = next(
        (message for message in reversed(conversation.messages) if message.role == "assistant"),
        Message("assistant", ()),
    )
    for message in conversation.messages:
        if message is not last:
            page.lose(message, "an answer is one message; the others stay behind")
    for tool in conversation.tools:
        page.lose(tool, "an answer offers no tools")
    body = write_fields(fields, conversation, page)
    held = get(body, ("result",))
    frame: Object = {
        "role": "assistant",
        "content": [],
        "model": "",
        **(held if isinstance(held, dict) else {}),
    }
    kept = own(
        last,
        page,
        lambda raw, at: Message(
            "assistant",
            _read_content(get(raw, ("content",)), (*at, "content")),  # type: ignore[arg-type]
            source=Source(raw=raw),
        ),
    )
    if isinstance(kept, UnsetType):
        frame["content"] = _short(
            [block for part in last.parts if (block := _write_part(part, page)) is not None]
        )
    else:
        frame["content"] = get(kept, ("content",))  # type: ignore[assignment]
    if (reason := write_stop(last, SAYS, MEANS, page)) is not None and "stopReason" not in frame:
        frame["stopReason"] = reason
    return {"jsonrpc": "2.0", "id": "", **body, "result": frame}
