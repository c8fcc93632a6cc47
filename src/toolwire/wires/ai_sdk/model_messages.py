"""AI SDK: model messages, as a server hands them to a model and gets them back.

One message is one turn's side: `tool` messages hold results and the answers to approvals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import (
    Call,
    Executor,
    Media,
    Message,
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
from toolwire.wires.ai_sdk.result_content import (
    DENIED,
    NAME,
    address,
    located,
    media_type,
    plain,
    read_items,
    write_items,
)
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import kind_by, split_data_url
from toolwire.wires.engine.specs import (
    UNKNOWN,
    Id,
    Row,
    blame,
    call_id,
    keys,
    name_of,
    native,
    obj,
    own,
    read_block,
    result_id,
    string,
    table,
    text_or_none,
    unknown,
)

# --- media ----------------------------------------------------------------------------------------


def _read_media(block: Object, at: JsonPath, row: Row) -> Part:
    """Data stand as base64, as a URL or as an object that says which; only a URL has a colon."""
    said = block.get("mediaType")
    kind = "image" if row.name == "image" else kind_by(string(said))
    media = Media(
        kind,
        media_type(said),
        name=text_or_none(block.get("filename")),
        source=Source(block, at, row),
    )
    held = block["image" if row.name == "image" else "data"]
    if isinstance(held, dict):
        kind_of_data = string(held["type"])
        if kind_of_data == "text":
            return replace(media, text=string(held["text"]))
        held = held[{"data": "data", "url": "url"}[kind_of_data]]
    given = string(held)
    return located(media, given) if ":" in given else replace(media, data=given)


def _write_media(media: Media, page: Page) -> Object:
    found = address(media, page)
    if found is None:
        return {"type": "text", "text": describe(media)}
    held = split_data_url(found[0])
    out: Object = {
        "type": "file",
        "data": found[0] if held is None else held[1],
        "mediaType": found[1],
    }
    return {**out, "filename": media.name} if media.name is not None else out


def _write_image(media: Media, page: Page) -> Object:
    written = _write_media(media, page)
    if written["type"] == "text":
        return written
    given = {
        key: value
        for key, value in written.items()
        if key in ("mediaType", "filename") and value != "image/*"
    }
    return {"type": "image", "image": written["data"], **given}


# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("toolCallId"))
    given = block.get("input")
    executor: Executor = "provider" if row.executor == "provider" else "client"
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        name_of(block.get("toolName")),
        args,
        origin,
        row.family,
        executor,
        source=Source(block, at, row),
    )


def _write_call(call: Call, page: Page) -> Object:
    args = LazyJson(page.text_of(call)) if page.home.forms and call.args.text else call.args
    value = args.value if call.family != "custom" else None
    given = page.object_of(call) if value is None else value
    out: Object = {
        "type": "tool-call",
        "toolCallId": page.call_id(call),
        "toolName": page.name(call.name),
        "input": given,
    }
    return {**out, "providerExecuted": True} if call.executor == "provider" else out


def _read_output(output: Object, at: JsonPath) -> tuple[Output, bool]:
    """What an output holds, and whether it is an error."""
    kind = string(output["type"])
    match kind:
        case "text" | "error-text":
            return string(output["value"]), kind == "error-text"
        case "json" | "error-json":
            return "" if output["value"] is None else output["value"], kind == "error-json"
        case "execution-denied":
            return text_or_none(output.get("reason")) or DENIED, True
        case "content":
            parts = (
                ()
                if output["value"] == []
                else read_items(output["value"], (*at, "output", "value"))
            )
            if parts is not None:
                return parts, False
    raise ValueError(kind)


def _read_result(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(block.get("toolCallId"))
    held, name = block.get("output"), name_of(block.get("toolName")) or None
    executor: Executor = "provider" if row.executor == "provider" else "client"
    output: Output
    try:
        output, failed = _read_output(obj(held), at)
        shape = "denied" if obj(held)["type"] == "execution-denied" else "known"
    except (KeyError, TypeError, ValueError):
        # A kind of output nobody knows is still a result, and finds its call.
        output, failed, shape = "" if held is None else held, False, "odd"
    return Result(
        one,
        output,
        failed,
        name,
        origin,
        row.family,
        executor,
        source=Source(block, at, _result(shape, executor == "provider")),
    )


def write_output(result: Result, page: Page) -> JSON:
    """An output by its kind."""
    output = page.output(result)
    if page.failed(result):
        if isinstance(output, str | tuple):
            return {"type": "error-text", "value": plain(result, output, page)}
        return {"type": "error-json", "value": output}
    if isinstance(output, tuple):
        return {"type": "content", "value": write_items(output, page)}
    return (
        {"type": "text", "value": output}
        if isinstance(output, str)
        else {"type": "json", "value": output}
    )


def _write_denied(result: Result, page: Page) -> JSON:
    return (
        {"type": "execution-denied", "reason": output_text(result.output)}
        if result.error
        else write_output(result, page)
    )


def _write_odd(result: Result, page: Page) -> JSON:
    return (
        write_output(result, page)
        if result.error or isinstance(result.output, tuple)
        else result.output
    )


_SHAPES: dict[str, Callable[[Result, Page], JSON]] = {
    "known": write_output,
    "denied": _write_denied,
    "odd": _write_odd,
}


@cache
def _result(shape: str, hosted: bool) -> Row:
    """The row of a result: how its output is written back, and who ran the tool."""

    def write(result: Result, page: Page) -> Object:
        name: Object = {"toolName": page.name(result.name)} if result.name else {}
        return {
            "type": "tool-result",
            "toolCallId": page.result_id(result),
            **name,
            "output": _SHAPES[shape](result, page),
        }

    inner = () if shape == "odd" else (("output", keys("type", "value", "reason")),)
    tell, known = {"type": "tool-result"}, keys("type", "toolCallId", "toolName", "output")
    if hosted:
        return Row(
            "tool-result",
            Result,
            _read_result,
            write,
            known,
            inner,
            {**tell, "role": "assistant"},
            "output",
            "server-tool",
            "provider",
            (Id("toolCallId"),),
        )
    return Row(
        "tool-result",
        Result,
        _read_result,
        write,
        known,
        inner,
        tell,
        "output",
        "function",
        "client",
        (Id("toolCallId"),),
    )


ROWS = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Row("image", Media, _read_media, _write_image, keys("type", "image", "mediaType")),
    Row("file", Media, _read_media, _write_media, keys("type", "data", "mediaType", "filename")),
    Row(
        "reasoning",
        Reasoning,
        lambda b, at, row: Reasoning(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "reasoning", "text": p.text},
        keys("type", "text"),
    ),
    Row(
        "tool-call",
        Call,
        _read_call,
        _write_call,
        keys("type", "toolCallId", "toolName", "input", "providerExecuted"),
        (),
        {"type": "tool-call"},
        "call",
        "function",
        "client",
        (Id("toolCallId"),),
    ),
    _result("known", False),
)
HOSTED_CALL = Row(
    "tool-call",
    Call,
    _read_call,
    _write_call,
    ROWS["tool-call"].keys,
    (),
    {"type": "tool-call", "providerExecuted": "true"},
    "call",
    "server-tool",
    "provider",
    (Id("toolCallId"),),
)
HOSTED = (HOSTED_CALL, _result("known", True))
SPOKEN = ROWS | table(_result("known", True))
"""In the assistant's own message a result is one that the provider made."""
PLAIN = Row("content", Text, write=lambda part, page: part.text)
MESSAGE = Row("message", Message, keys=keys("role", "content"))
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}

# --- messages -------------------------------------------------------------------------------------


def read_message(message: JSON, at: JsonPath) -> Message:
    """One model message."""
    if not isinstance(message, dict):
        blame(NAME, at, "an object", message)
    role, content = message.get("role", UNSET), message.get("content", UNSET)
    if not isinstance(role, str):
        blame(NAME, (*at, "role"), "a string", role)
    where = (*at, "content")
    if role not in ROLES:
        return Message(
            "user", (unknown(role, message, at),), None, NAME, source=Source(message, at, MESSAGE)
        )
    parts: tuple[Part, ...]
    if isinstance(content, str):
        parts = (Text(content, source=Source(content, where, PLAIN)),) if content else ()
    elif isinstance(content, list):
        rows = SPOKEN if role == "assistant" else ROWS
        parts = tuple(_read_part(block, (*where, i), rows) for i, block in enumerate(content))
    else:
        blame(NAME, where, "a string or a list", content)
    return Message(ROLES[role], parts, None, NAME, source=Source(message, at, MESSAGE))


def _read_part(block: JSON, at: JsonPath, rows: Mapping[str, Row]) -> Part:
    if (
        isinstance(block, dict)
        and block.get("type") == "tool-call"
        and block.get("providerExecuted") is True
    ):
        return _read_call(block, at, HOSTED_CALL)
    return read_block(NAME, rows, block, at)


def write_messages(
    conversation: Conversation, page: Page, messages: tuple[Message, ...]
) -> list[JSON]:
    """The history; what this wire sent goes back as it came."""
    called = {
        id(pair.result): pair.call.name
        for pair in conversation.pairs()
        if pair.result is not None and pair.call is not None
    }
    out: list[JSON] = []
    for message in messages:
        # One that was read as a UI message cannot be read again as this.
        kept = (
            own(message, page, read_message)
            if isinstance(message.raw, dict) and "parts" not in message.raw
            else UNSET
        )
        if not isinstance(kept, UnsetType):
            out.append(kept)
            continue
        answers: list[JSON] = []
        content: list[JSON] = []
        for part in message.parts:
            block = _block(part, message, called.get(id(part)), page)
            away = isinstance(part, Result) and not (
                message.role == "assistant" and part.executor == "provider"
            )
            if block is not None:
                (answers if away or message.role == "tool" else content).append(block)
        if message.role != "assistant" and answers:
            out.append({"role": "tool", "content": answers})
        if content and message.role == "system":
            out += [
                {"role": "system", "content": block["text"]}
                for block in content
                if isinstance(block, dict)
            ]
        elif content:
            out.append({"role": message.role, "content": content})
        if message.role == "assistant" and answers:
            out.append({"role": "tool", "content": answers})
    return out


def _is_own(part: Part) -> bool:
    """Whether a part stands as a block in model messages, and not in UI messages."""
    row = part.spec
    known = any(row is one for one in (*ROWS.values(), HOSTED_CALL, UNKNOWN))
    return isinstance(row, Row) and row.part is type(part) and (known or row.read is _read_result)


def _block(part: Part, message: Message, called: str | None, page: Page) -> JSON:
    if message.wire == NAME and isinstance(part.raw, dict) and _is_own(part):
        kept = native(part, page, part.raw)
        if not isinstance(kept, UnsetType):
            return kept
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text else None
        case Media() if message.role != "system":
            return _write_media(part, page)
        case Reasoning(hidden=None) if message.role == "assistant":
            return {"type": "reasoning", "text": part.text}
        case Call() if message.role == "assistant":
            return _write_call(part, page)
        case Result():
            name = page.name(part.name or called or "")
            return {
                "type": "tool-result",
                "toolCallId": page.result_id(part),
                "toolName": name,
                "output": write_output(part, page),
            }
    page.lose(part, f"a message of the {message.role} cannot hold this here: {describe(part)[:80]}")
    return None


def sides(message: Message) -> tuple[Message, ...]:
    """An answer read as one message, as the sides it has on this wire: what was said, what the
    tools gave."""
    out: list[Message] = []
    for part in message.parts:
        away = isinstance(part, Result) and (
            not isinstance(part.spec, Row) or part.spec.executor == "client"
        )
        role: Role = "tool" if away else "assistant"
        if out and out[-1].role == role:
            out[-1] = replace(out[-1], parts=(*out[-1].parts, part))
        else:
            out.append(Message(role, (part,), None, message.wire))
    return tuple(out)
