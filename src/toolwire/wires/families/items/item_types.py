"""The types of items: one spec for each item with reasoning, a call, a result, or both."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, parse, text_of
from toolwire.conversation.parts import (
    Call,
    Executor,
    Media,
    Output,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    output_text,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    read_id,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.items.content import (
    CONTENT,
    read_block,
    read_output,
    write_output,
    write_screenshot,
)
from toolwire.wires.families.items.item_outputs import (
    BLOCKS,
    OUTPUT,
    OutputForm,
    in_fields,
    output_blocks,
    plain_output,
    read_field,
)
from toolwire.wires.families.items.item_specs import (
    ITEM_ID,
    ONLY_ITEM_ID,
    OPTIONAL_CALL_ID,
    call_item,
    result_item,
)
from toolwire.wires.families.items.namespaces import name_fields, plain_name
from toolwire.wires.families.items.server_items import SERVER_ITEMS

# --- reasoning ------------------------------------------------------------------------------------


def _read_reasoning(block: Object, path: JsonPath, spec: Block) -> Part:
    text = "\n\n".join(_texts(block, "content")) or "\n\n".join(_texts(block, "summary"))
    encrypted = text_or_none(block.get("encrypted_content"))
    source = Source(block, path, spec)
    if text or encrypted is None:
        return Reasoning(text, signature=encrypted, source=source)
    return Reasoning("", hidden=encrypted, source=source)


def _texts(block: Object, field: str) -> list[str]:
    """The texts of a reasoning item: the reasoning itself (`content`), or its summary."""
    found = block.get(field)
    if not isinstance(found, list):
        return []
    return [require_string(require_object(entry)["text"]) for entry in found]


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    has_content = isinstance(part.raw, dict) and part.raw.get("content")
    field, kind = ("content", "reasoning_text") if has_content else ("summary", "summary_text")
    texts: list[JSON] = [{"type": kind, "text": part.text}] if part.text else []
    out: Object = {"type": "reasoning", "summary": [], field: texts}
    encrypted = part.hidden or part.signature
    return {**out, "encrypted_content": encrypted} if encrypted is not None else out


# --- functions and custom tools -------------------------------------------------------------------


def _write_custom(call: Call, context: EncodeContext) -> JSON:
    """Write free text, which wires without custom calls send in the field `input`."""
    text = call.arguments if call.family == "custom" else get(call.input, ("input",))
    out: Object = {
        "type": "custom_tool_call",
        "call_id": context.call_id(call),
        **name_fields(context.name(call.name)),
    }
    if call.item is not None:
        out["id"] = call.item
    return {**out, "input": text if isinstance(text, str) else call.arguments}


def _read_tool_message(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("tool_call_id"))
    return Result(
        call_id,
        read_output(block.get("content"), (*path, "content")),
        name=plain_name(read_name(block["name"])) if isinstance(block.get("name"), str) else None,
        origin=origin,
        source=Source(block, path, spec),
    )


def _write_tool_message(result: Result, context: EncodeContext) -> JSON:
    output = result.output
    if isinstance(output, tuple):
        content: JSON = [block for part in output for block in _tool_blocks(part, context)]
    else:
        content = output_blocks(output, context)
    name: Object = name_fields(context.name(result.name)) if result.name else {}
    return {"role": "tool", "tool_call_id": context.result_id(result), **name, "content": content}


def _tool_blocks(part: Part, context: EncodeContext) -> list[JSON]:
    if not isinstance(part, Text):
        return write_output((part,), context)
    spec = part.spec
    native = isinstance(spec, Block) and CONTENT.get(spec.name) is spec
    block = part.raw if native and isinstance(part.raw, dict) else {"type": "text"}
    return [{**block, "text": part.text}]


TOOL_MESSAGE = Block(
    "tool",
    part=Result,
    read=_read_tool_message,
    write=_write_tool_message,
    keys=keys("type", "role", "tool_call_id", "content", "name", "id", "status"),
)
"""A result as a message with the role `tool`, as on other wires. It is not an item of this shape:
the catalogue does not list it, and it is only written back, never created."""

# --- client tools ---------------------------------------------------------------------------------


def _read_screenshot(block: Object, path: JsonPath) -> Output:
    output = block.get("output")
    part = read_block(output, (*path, "output")) if isinstance(output, dict) else None
    return (part,) if isinstance(part, Media) else read_field(block, "output")


def only_image(output: Output) -> Media | None:
    """The image of an output that consists of one image; None for any other output."""
    part = output[0] if isinstance(output, tuple) and len(output) == 1 else None
    return part if isinstance(part, Media) and part.kind == "image" else None


def _write_computer_output(result: Result, context: EncodeContext) -> Object:
    image = only_image(result.output)
    output = plain_output(result.output) if image is None else write_screenshot(image, context)
    return {"output": output}


def _read_as_text(field: str) -> Callable[[Object, JsonPath], Output]:
    """Return a reader that turns structured output into text, as the model sees it. A wire without
    structured output returns this text unchanged."""

    def read(block: Object, path: JsonPath) -> Output:
        value = read_field(block, field)
        return value if isinstance(value, str) else text_of(block[field])

    return read


def output_list(output: Output) -> list[JSON] | None:
    """The output as a list, which may be given as JSON text; None for any other output."""
    value = plain_output(output)
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError:
            return None
    return value if isinstance(value, list) else None


def _list_or_plain(output: Output) -> JSON:
    entries = output_list(output)
    return plain_output(output) if entries is None else entries


def _write_patch_output(result: Result, context: EncodeContext) -> Object:
    status = "failed" if context.is_error(result) else "completed"
    return {"status": status, "output": output_text(context.output(result))}


def _shell_executor(block: Object) -> Executor:
    """The provider for a shell in its container, otherwise the client."""
    kind = get(block, ("environment", "type"))
    return "provider" if isinstance(kind, str) and kind.startswith("container") else "client"


def _search_executor(block: Object) -> Executor:
    execution = block.get("execution")
    if execution in ("client", "server"):
        return "client" if execution == "client" else "provider"
    return "client" if read_id(block.get("call_id"))[0] else "provider"


def _write_search_output(result: Result, context: EncodeContext) -> Object:
    execution = "client" if result.executor == "client" else "server"
    return {"execution": execution, "tools": _list_or_plain(result.output)}


# --- the table ------------------------------------------------------------------------------------

FUNCTION = call_item(
    "function_call",
    "function",
    name_field="name",
    as_text=True,
    known=keys("type", "call_id", "name", "namespace", "arguments", "status"),
)
CUSTOM = replace(
    call_item(
        "custom_tool_call",
        "custom",
        name_field="name",
        arguments="input",
        as_text=True,
        known=keys("type", "call_id", "name", "namespace", "input", "status"),
    ),
    write=_write_custom,
)
_OUTPUT_FIELDS = keys("type", "id", "call_id", "output", "name", "namespace", "status")


def _write_decision(result: Result, context: EncodeContext) -> Object:
    """The decision on an approval. Text decides nothing, so it becomes the reason of a refusal."""
    decision = _DECISION_FIELDS.write(result, context)
    return decision or {"approve": False, "reason": output_text(context.output(result))}


_DECISION_FIELDS = in_fields("approve", "reason")
_DECISION = OutputForm(_DECISION_FIELDS.read, _write_decision, _DECISION_FIELDS.fields)

ITEMS = blocks(
    Block(
        "reasoning",
        part=Reasoning,
        read=_read_reasoning,
        write=_write_reasoning,
        keys=keys("type", "id", "summary", "content", "encrypted_content", "status"),
    ),
    FUNCTION,
    result_item(
        "function_call_output",
        "function",
        ids=OPTIONAL_CALL_ID,
        output=BLOCKS,
        known=_OUTPUT_FIELDS,
    ),
    CUSTOM,
    result_item("custom_tool_call_output", "custom", output=BLOCKS, known=_OUTPUT_FIELDS),
    call_item("computer_call", "computer-use", name="computer", arguments=("action", "actions")),
    result_item(
        "computer_call_output",
        "computer-use",
        output=OutputForm(_read_screenshot, _write_computer_output),
    ),
    call_item("apply_patch_call", "apply-patch", name="apply_patch", arguments="operation"),
    result_item(
        "apply_patch_call_output",
        "apply-patch",
        output=OutputForm(OUTPUT.read, _write_patch_output),
    ),
    call_item("shell_call", "function-shell", _shell_executor, name="shell", arguments="action"),
    result_item(
        "shell_call_output",
        "function-shell",
        output=OutputForm(
            _read_as_text("output"),
            lambda result, context: {"output": _list_or_plain(result.output)},
        ),
    ),
    call_item("local_shell_call", "local-shell", name="local_shell", arguments="action"),
    # This type has no call_id: `id` is the call id, and servers accept a call_id too.
    result_item(
        "local_shell_call_output",
        "local-shell",
        ids=ONLY_ITEM_ID,
        output=OutputForm(OUTPUT.read, lambda result, context: {"output": result.text}),
    ),
    call_item(
        "tool_search_call",
        "tool-search",
        _search_executor,
        name="tool_search",
        ids=OPTIONAL_CALL_ID,
    ),
    result_item(
        "tool_search_output",
        "tool-search",
        _search_executor,
        ids=OPTIONAL_CALL_ID,
        output=OutputForm(_read_as_text("tools"), _write_search_output, ("tools",)),
    ),
    call_item(
        "mcp_approval_request",
        "mcp-approval",
        name_field="name",
        as_text=True,
        id_field="id",
        ids=(Id("id"),),
    ),
    result_item(
        "mcp_approval_response",
        "mcp-approval",
        id_field="approval_request_id",
        output=_DECISION,
        ids=(Id("approval_request_id"), ITEM_ID),
    ),
    *SERVER_ITEMS,
)

INCOMPLETE_RESULTS = keys("shell_call_output", "local_shell_call_output", "tool_search_output")
"""Results that show neither the executor of the tool nor their call."""
