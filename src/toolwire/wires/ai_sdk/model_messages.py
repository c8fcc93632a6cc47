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
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by, split_data_url
from toolwire.wires.engine.specs import (
    OPAQUE,
    Block,
    Id,
    blocks,
    keys,
    opaque,
    patch_block,
    patch_message,
    raise_unexpected,
    read_block,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)

# --- media ----------------------------------------------------------------------------------------


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    """Data stand as base64, as a URL or as an object that says which; only a URL has a colon."""
    said = block.get("mediaType")
    kind = "image" if spec.name == "image" else kind_by(require_string(said))
    media = Media(
        kind,
        media_type(said),
        name=text_or_none(block.get("filename")),
        source=Source(block, path, spec),
    )
    held = block["image" if spec.name == "image" else "data"]
    if isinstance(held, dict):
        kind_of_data = require_string(held["type"])
        if kind_of_data == "text":
            return replace(media, text=require_string(held["text"]))
        held = held[{"data": "data", "url": "url"}[kind_of_data]]
    given = require_string(held)
    return located(media, given) if ":" in given else replace(media, data=given)


def _write_media(media: Media, context: EncodeContext) -> Object:
    found = address(media, context)
    if found is None:
        return {"type": "text", "text": describe(media)}
    held = split_data_url(found[0])
    out: Object = {
        "type": "file",
        "data": found[0] if held is None else held[1],
        "mediaType": found[1],
    }
    return {**out, "filename": media.name} if media.name is not None else out


def _write_image(media: Media, context: EncodeContext) -> Object:
    written = _write_media(media, context)
    if written["type"] == "text":
        return written
    given = {
        key: value
        for key, value in written.items()
        if key in ("mediaType", "filename") and value != "image/*"
    }
    return {"type": "image", "image": written["data"], **given}


# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("toolCallId"))
    given = block.get("input")
    executor: Executor = "provider" if spec.executor == "provider" else "client"
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        read_name(block.get("toolName")),
        args,
        origin,
        spec.family,
        executor,
        source=Source(block, path, spec),
    )


def _write_call(call: Call, context: EncodeContext) -> Object:
    args = (
        LazyJson(context.arguments_text(call))
        if context.reverse_map.forms and call.args.text
        else call.args
    )
    value = args.value if call.family != "custom" else None
    given = context.arguments_object(call) if value is None else value
    out: Object = {
        "type": "tool-call",
        "toolCallId": context.call_id(call),
        "toolName": context.name(call.name),
        "input": given,
    }
    return {**out, "providerExecuted": True} if call.executor == "provider" else out


def _read_output(output: Object, path: JsonPath) -> tuple[Output, bool]:
    """What an output holds, and whether it is an error."""
    kind = require_string(output["type"])
    match kind:
        case "text" | "error-text":
            return require_string(output["value"]), kind == "error-text"
        case "json" | "error-json":
            return "" if output["value"] is None else output["value"], kind == "error-json"
        case "execution-denied":
            return text_or_none(output.get("reason")) or DENIED, True
        case "content":
            parts = (
                ()
                if output["value"] == []
                else read_items(output["value"], (*path, "output", "value"))
            )
            if parts is not None:
                return parts, False
    raise ValueError(kind)


def _read_result(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(block.get("toolCallId"))
    held, name = block.get("output"), read_name(block.get("toolName")) or None
    executor: Executor = "provider" if spec.executor == "provider" else "client"
    output: Output
    try:
        output, failed = _read_output(require_object(held), path)
        shape = "denied" if require_object(held)["type"] == "execution-denied" else "known"
    except (KeyError, TypeError, ValueError):
        # A kind of output nobody knows is still a result, and finds its call.
        output, failed, shape = "" if held is None else held, False, "odd"
    return Result(
        one,
        output,
        failed,
        name,
        origin,
        spec.family,
        executor,
        source=Source(block, path, _result(shape, executor == "provider")),
    )


def write_output(result: Result, context: EncodeContext) -> JSON:
    """An output by its kind."""
    output = context.output(result)
    if context.is_error(result):
        if isinstance(output, str | tuple):
            return {"type": "error-text", "value": plain(result, output, context)}
        return {"type": "error-json", "value": output}
    if isinstance(output, tuple):
        return {"type": "content", "value": write_items(output, context)}
    return (
        {"type": "text", "value": output}
        if isinstance(output, str)
        else {"type": "json", "value": output}
    )


def _write_denied(result: Result, context: EncodeContext) -> JSON:
    return (
        {"type": "execution-denied", "reason": output_text(result.output)}
        if result.error
        else write_output(result, context)
    )


def _write_odd(result: Result, context: EncodeContext) -> JSON:
    return (
        write_output(result, context)
        if result.error or isinstance(result.output, tuple)
        else result.output
    )


_SHAPES: dict[str, Callable[[Result, EncodeContext], JSON]] = {
    "known": write_output,
    "denied": _write_denied,
    "odd": _write_odd,
}


@cache
def _result(shape: str, hosted: bool) -> Block:
    """The row of a result: how its output is written back, and who ran the tool."""

    def write(result: Result, context: EncodeContext) -> Object:
        name: Object = {"toolName": context.name(result.name)} if result.name else {}
        return {
            "type": "tool-result",
            "toolCallId": context.result_id(result),
            **name,
            "output": _SHAPES[shape](result, context),
        }

    inner = () if shape == "odd" else (("output", keys("type", "value", "reason")),)
    tell, known = {"type": "tool-result"}, keys("type", "toolCallId", "toolName", "output")
    if hosted:
        return Block(
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
    return Block(
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


BLOCKS = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Block("image", Media, _read_media, _write_image, keys("type", "image", "mediaType")),
    Block("file", Media, _read_media, _write_media, keys("type", "data", "mediaType", "filename")),
    Block(
        "reasoning",
        Reasoning,
        lambda b, path, spec: Reasoning(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "reasoning", "text": p.text},
        keys("type", "text"),
    ),
    Block(
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
HOSTED_CALL = Block(
    "tool-call",
    Call,
    _read_call,
    _write_call,
    BLOCKS["tool-call"].keys,
    (),
    {"type": "tool-call", "providerExecuted": "true"},
    "call",
    "server-tool",
    "provider",
    (Id("toolCallId"),),
)
HOSTED = (HOSTED_CALL, _result("known", True))
SPOKEN = BLOCKS | blocks(_result("known", True))
"""In the assistant's own message a result is one that the provider made."""
PLAIN = Block("content", Text, write=lambda part, context: part.text)
MESSAGE = Block("message", Message, keys=keys("role", "content"))
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}

# --- messages -------------------------------------------------------------------------------------


def read_message(message: JSON, path: JsonPath) -> Message:
    """One model message."""
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    role, content = message.get("role", UNSET), message.get("content", UNSET)
    if not isinstance(role, str):
        raise_unexpected(NAME, (*path, "role"), "a string", role)
    where = (*path, "content")
    if role not in ROLES:
        return Message(
            "user",
            (opaque(role, message, path),),
            None,
            NAME,
            source=Source(message, path, MESSAGE),
        )
    parts: tuple[Part, ...]
    if isinstance(content, str):
        parts = (Text(content, source=Source(content, where, PLAIN)),) if content else ()
    elif isinstance(content, list):
        rows = SPOKEN if role == "assistant" else BLOCKS
        parts = tuple(_read_part(block, (*where, i), rows) for i, block in enumerate(content))
    else:
        raise_unexpected(NAME, where, "a string or a list", content)
    return Message(ROLES[role], parts, None, NAME, source=Source(message, path, MESSAGE))


def _read_part(block: JSON, path: JsonPath, rows: Mapping[str, Block]) -> Part:
    if (
        isinstance(block, dict)
        and block.get("type") == "tool-call"
        and block.get("providerExecuted") is True
    ):
        return _read_call(block, path, HOSTED_CALL)
    return read_block(NAME, rows, block, path)


def write_messages(
    conversation: Conversation, context: EncodeContext, messages: tuple[Message, ...]
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
            patch_message(message, context, read_message)
            if isinstance(message.raw, dict) and "parts" not in message.raw
            else UNSET
        )
        if not isinstance(kept, UnsetType):
            out.append(kept)
            continue
        answers: list[JSON] = []
        content: list[JSON] = []
        for part in message.parts:
            block = _block(part, message, called.get(id(part)), context)
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
    spec = part.spec
    known = any(spec is one for one in (*BLOCKS.values(), HOSTED_CALL, OPAQUE))
    return (
        isinstance(spec, Block) and spec.part is type(part) and (known or spec.read is _read_result)
    )


def _block(part: Part, message: Message, called: str | None, context: EncodeContext) -> JSON:
    if message.wire == NAME and isinstance(part.raw, dict) and _is_own(part):
        kept = patch_block(part, context, part.raw)
        if not isinstance(kept, UnsetType):
            return kept
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text else None
        case Media() if message.role != "system":
            return _write_media(part, context)
        case Reasoning(hidden=None) if message.role == "assistant":
            return {"type": "reasoning", "text": part.text}
        case Call() if message.role == "assistant":
            return _write_call(part, context)
        case Result():
            name = context.name(part.name or called or "")
            return {
                "type": "tool-result",
                "toolCallId": context.result_id(part),
                "toolName": name,
                "output": write_output(part, context),
            }
    context.report_loss(
        part, f"a message of the {message.role} cannot hold this here: {describe(part)[:80]}"
    )
    return None


def sides(message: Message) -> tuple[Message, ...]:
    """An answer read as one message, as the sides it has on this wire: what was said, what the
    tools gave."""
    out: list[Message] = []
    for part in message.parts:
        away = isinstance(part, Result) and (
            not isinstance(part.spec, Block) or part.spec.executor == "client"
        )
        role: Role = "tool" if away else "assistant"
        if out and out[-1].role == role:
            out[-1] = replace(out[-1], parts=(*out[-1].parts, part))
        else:
            out.append(Message(role, (part,), None, message.wire))
    return tuple(out)
