"""AI SDK: model messages, as a server sends them to a model and gets them back.

A message is one side of a turn; `tool` messages hold results and the responses to approvals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap
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
    output_text,
)
from toolwire.wires.ai_sdk.blocks import (
    DENIED,
    NAME,
    read_media_header,
    read_reasoning,
    read_text,
    report_misplaced,
    restore_arguments,
    with_url,
    write_file,
    write_input,
    write_reasoning,
    write_text,
)
from toolwire.wires.ai_sdk.result_content import read_items, write_error_text, write_items
from toolwire.wires.ai_sdk.ui_messages import ROLES as UI_ROLES
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import split_data_url
from toolwire.wires.engine.patching import patch_block, patch_message
from toolwire.wires.engine.specs import (
    OPAQUE,
    Block,
    Id,
    blocks,
    keys,
    opaque,
    raise_unexpected,
    read_block,
    read_id,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

# --- media ----------------------------------------------------------------------------------------


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    """A file or image: base64, a URL (recognized by its colon), or an object that names the
    form."""
    if spec.name == "file":
        require_string(block["mediaType"])
    media = read_media_header(block, path, spec)
    content = block["image" if spec.name == "image" else "data"]
    if isinstance(content, dict):
        form = require_string(content["type"])
        if form == "text":
            return replace(media, text=require_string(content["text"]))
        if form not in ("data", "url"):
            raise ValueError(form)
        content = content[form]
    content = require_string(content)
    return with_url(media, content) if ":" in content else replace(media, data=content)


def _media_writer(kind: str, field: str) -> Callable[[Media, EncodeContext], Object]:
    def write(media: Media, context: EncodeContext) -> Object:
        block = write_file(media, context)
        if block["type"] == "text":
            return block
        url = str(block.pop("url"))
        content = split_data_url(url)
        return {**block, "type": kind, field: url if content is None else content[1]}

    return write


_write_file = _media_writer("file", "data")


# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("toolCallId"))
    value = block.get("input", block.get("args"))  # `args` in version 4
    return Call(
        call_id,
        read_name(block.get("toolName")),
        args=LazyJson("") if value is None else LazyJson.from_value(value),
        origin=origin,
        family=spec.family,
        executor=spec.executor,
        source=Source(block, path, spec),
    )


def _write_call(call: Call, context: EncodeContext) -> Object:
    block: Object = {
        "type": "tool-call",
        "toolCallId": context.call_id(call),
        "toolName": context.name(call.name),
        "input": write_input(call, restore_arguments(call, context), context),
    }
    if call.executor == "provider":
        block["providerExecuted"] = True
    return block


def _read_result(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("toolCallId"))
    raw, executor = block.get("output", block.get("result")), spec.executor  # as in version 4
    output: Output
    try:
        output, error = _read_output(require_object(raw), path)
        form = "denied" if require_object(raw)["type"] == "execution-denied" else "typed"
    except (KeyError, TypeError, ValueError):
        # An output of an unknown type is still a result, and belongs to its call.
        output, error, form = "" if raw is None else raw, False, "untyped"
    return Result(
        call_id,
        output,
        error=error,
        name=read_name(block.get("toolName")) or None,
        origin=origin,
        family=spec.family,
        executor=executor,
        source=Source(block, path, _result_spec(form, executor)),
    )


def _read_output(output: Object, path: JsonPath) -> tuple[Output, bool]:
    """The value of a typed output, and True if it is an error."""
    kind = require_string(output["type"])
    match kind:
        case "text" | "error-text":
            return require_string(output["value"]), kind == "error-text"
        case "json" | "error-json":
            return "" if output["value"] is None else output["value"], kind == "error-json"
        case "execution-denied":
            return text_or_none(output.get("reason")) or DENIED, True
        case "content":
            items = output["value"]
            parts = () if items == [] else read_items(items, (*path, "output", "value"))
            if parts is not None:
                return parts, False
    raise ValueError(kind)


def _write_output(result: Result, context: EncodeContext) -> JSON:
    output = context.output(result)
    if context.is_error(result):
        if isinstance(output, str | tuple):
            return {"type": "error-text", "value": write_error_text(result, output, context)}
        return {"type": "error-json", "value": output}
    if isinstance(output, tuple):
        return {"type": "content", "value": write_items(output, context)}
    return {"type": "text" if isinstance(output, str) else "json", "value": output}


@cache
def _result_spec(form: str, executor: Executor) -> Block:
    """The spec of a result, by the form of its output and by its executor."""
    by_provider = executor == "provider"

    def write(result: Result, context: EncodeContext) -> Object:
        block: Object = {"type": "tool-result", "toolCallId": context.result_id(result)}
        if result.name:
            block["toolName"] = context.name(result.name)
        if form == "denied" and result.error:
            denial: Object = {"type": "execution-denied", "reason": output_text(result.output)}
            return block | {"output": denial}
        if form == "untyped" and not result.error and not isinstance(result.output, tuple):
            return block | {"output": result.output}
        return block | {"output": _write_output(result, context)}

    return Block(
        "tool-result",
        part=Result,
        read=_read_result,
        write=write,
        keys=keys("type", "toolCallId", "toolName", "output", "result"),
        inner=() if form == "untyped" else (("output", keys("type", "value", "reason")),),
        discriminator={"type": "tool-result"} | ({"role": "assistant"} if by_provider else {}),
        family="server-tool" if by_provider else "function",
        executor=executor,
        ids=(Id("toolCallId"),),
    )


CALL = Block(
    "tool-call",
    part=Call,
    read=_read_call,
    write=_write_call,
    keys=keys("type", "toolCallId", "toolName", "input", "args", "providerExecuted"),
    family="function",
    ids=(Id("toolCallId"),),
)
SERVER_CALL = replace(
    CALL,
    discriminator={"type": "tool-call", "providerExecuted": "true"},
    family="server-tool",
    executor="provider",
)

# --- specs ----------------------------------------------------------------------------------------

BLOCKS = blocks(
    Block("text", part=Text, read=read_text, write=write_text, keys=keys("type", "text")),
    Block(
        "image",
        part=Media,
        read=_read_media,
        write=_media_writer("image", "image"),
        keys=keys("type", "image", "mediaType"),
    ),
    Block(
        "file",
        part=Media,
        read=_read_media,
        write=_write_file,
        keys=keys("type", "data", "mediaType", "filename"),
    ),
    Block(
        "reasoning",
        part=Reasoning,
        read=read_reasoning,
        write=write_reasoning,
        keys=keys("type", "text"),
    ),
    CALL,
    _result_spec("typed", "client"),
)
SERVER_RESULT = _result_spec("typed", "provider")
ASSISTANT_BLOCKS = BLOCKS | blocks(SERVER_RESULT)
"""In an assistant message, a result belongs to a tool that the provider ran."""
CONTENT = Block("content", part=Text, write=lambda part, context: part.text)
"""A message whose content is a string."""
MESSAGE = Block("message", part=Message, keys=keys("role", "content"))
ROLES: dict[str, Role] = {**UI_ROLES, "tool": "tool"}

# --- messages -------------------------------------------------------------------------------------


def read_message(message: JSON, path: JsonPath) -> Message:
    """Read one model message."""
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, dict, message)
    role, content = message.get("role", UNSET), message.get("content", UNSET)
    if not isinstance(role, str):
        raise_unexpected(NAME, (*path, "role"), str, role)
    content_path = (*path, "content")
    parts: tuple[Part, ...]
    if role not in ROLES:
        parts = (opaque(role, message, path),)
    elif isinstance(content, str):
        parts = (Text(content, source=Source(content, content_path, CONTENT)),) if content else ()
    elif isinstance(content, list):
        specs = ASSISTANT_BLOCKS if role == "assistant" else BLOCKS
        parts = tuple(
            _read_part(block, (*content_path, i), specs) for i, block in enumerate(content)
        )
        if role == "assistant" and any(part.spec is SERVER_RESULT for part in parts):
            parts = _with_client_results(parts)
    else:
        raise_unexpected(NAME, content_path, (str, list), content)
    source = Source(message, path, MESSAGE)
    return Message(ROLES.get(role, "user"), parts, wire=NAME, source=source)


def _with_client_results(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of an assistant message, in which results of the client's calls are read as the
    client's. Any other result may belong to a call in an earlier message."""
    client_ids = {part.id for part in parts if isinstance(part, Call) and part.executor == "client"}
    return tuple(
        _read_part(part.raw, part.path, BLOCKS)
        if isinstance(part, Result) and isinstance(part.raw, dict) and part.call_id in client_ids
        else part
        for part in parts
    )


def _read_part(block: JSON, path: JsonPath, specs: Mapping[str, Block]) -> Part:
    if (
        isinstance(block, dict)
        and block.get("type") == "tool-call"
        and block.get("providerExecuted") is True
    ):
        return _read_call(block, path, SERVER_CALL)
    return read_block(NAME, specs, block, path)


def write_messages(
    conversation: Conversation, context: EncodeContext, messages: tuple[Message, ...]
) -> list[JSON]:
    """The messages as model messages; those of this wire stay verbatim, with edits in place."""
    tool_names = PartMap(
        (pair.result, pair.call.name)
        for pair in conversation.pairs()
        if pair.result is not None and pair.call is not None
    )
    out: list[JSON] = []
    for message in messages:
        # A message that was read from a UI message cannot be patched as a model message.
        if isinstance(message.raw, dict) and "parts" not in message.raw:
            patched = patch_message(message, context, read_message)
            if not isinstance(patched, UnsetType):
                out.append(patched)
                continue
        results: list[JSON] = []
        content: list[JSON] = []
        for part in message.parts:
            block = _write_part(part, message, tool_names, context)
            if block is not None:
                (results if _is_in_tool_message(part, message.role) else content).append(block)
        tool_messages: list[JSON] = [{"role": "tool", "content": results}] if results else []
        if message.role != "assistant":
            out += tool_messages
        if content and message.role == "system":
            out += (
                {"role": "system", "content": block["text"]}
                for block in content
                if isinstance(block, dict)
            )
        elif content:
            out.append({"role": message.role, "content": content})
        if message.role == "assistant":
            out += tool_messages
    return out


def _is_in_tool_message(part: Part, role: Role) -> bool:
    if not isinstance(part, Result):
        return role == "tool"
    return role != "assistant" or part.executor != "provider"


def _was_read_here(part: Part) -> bool:
    """True if a part was read from a model message, not from a UI message."""
    spec = part.spec
    if not isinstance(spec, Block) or spec.part is not type(part):
        return False
    if spec.read is _read_result:
        return True
    return any(spec is known for known in (*BLOCKS.values(), SERVER_CALL, OPAQUE))


def _write_part(
    part: Part, message: Message, tool_names: PartMap[Result, str], context: EncodeContext
) -> JSON:
    """The block of a part; None if a message of this role cannot hold it."""
    if message.wire == NAME and isinstance(part.raw, dict) and _was_read_here(part):
        patched = patch_block(part, context, part.raw)
        if not isinstance(patched, UnsetType):
            return patched
    match part:
        case Text():
            return write_text(part, context) if part.text else None
        case Media() if message.role != "system":
            return _write_file(part, context)
        case Reasoning(hidden=None) if message.role == "assistant":
            return write_reasoning(part, context)
        case Call() if message.role == "assistant":
            return _write_call(part, context)
        case Result():
            return {
                "type": "tool-result",
                "toolCallId": context.result_id(part),
                "toolName": context.name(part.name or tool_names.get(part) or ""),
                "output": _write_output(part, context),
            }
    report_misplaced(part, f"a message of role {message.role}", context)
    return None


def split_response(message: Message) -> tuple[Message, ...]:
    """Split the message of a response into model messages: the assistant's, and those with
    results."""
    out: list[Message] = []
    for part in message.parts:
        role: Role = "assistant"
        if isinstance(part, Result) and (
            not isinstance(part.spec, Block) or part.spec.executor == "client"
        ):
            role = "tool"
        if out and out[-1].role == role:
            out[-1] = replace(out[-1], parts=(*out[-1].parts, part))
        else:
            out.append(Message(role, (part,), wire=message.wire))
    return tuple(out)
