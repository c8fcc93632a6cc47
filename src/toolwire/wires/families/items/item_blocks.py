"""The item shape: one row for each type of item that holds a call, a result, or both at once.

Most items differ in four things only: their type, who runs the tool, and the fields that hold what
was asked and what came of it. So rows are made. What an item type cannot say (another tool's name,
text where it wants an object) is said as a function call, which can say anything. Knows no wire by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, parse, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
    Call,
    Executor,
    Media,
    Origin,
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
    Form,
    Id,
    blocks,
    keys,
    read_arguments,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.items.content import (
    CONTENT,
    read_block,
    read_output,
    screenshot,
    write_inside,
)
from toolwire.wires.families.items.namespaces import alone, called, lost, naming

Runs: TypeAlias = "Executor | Callable[[Object], Executor]"

_ITEM = Id("id", "item", required=False, nullable=True)
_CALLER = Id("caller", "parent-call", required=False, nullable=True)
NATURAL = (Id("call_id"), _ITEM, _CALLER)
NULLABLE = (Id("call_id", required=False, nullable=True), _ITEM, _CALLER)
BORROWED = (Id("id", "item"),)
BOTH: tuple[Form, ...] = ("request", "response")
_FRAME = ("call_id", "status")
"""Fields of every item that are understood, or say nothing: a status other than `completed` is
looked at elsewhere."""


class _Whatever(frozenset[str]):
    """Every field: an item of two parts is accounted for by the first of them."""

    def issuperset(self, other: Iterable[object], /) -> bool:
        return True


def ids_of(block: Object, key: str = "call_id") -> tuple[str, Origin, str | None]:
    """The id of a call, its origin, and the id of its item. An item id stands in where there is no
    call id."""
    one, origin = read_id(block.get(key))
    item, _ = read_id(block.get("id"))
    if key == "id" or not item:
        return one, origin, None
    return (one, origin, item) if one else (item, "item", item)


def _runs(by: Runs, block: Object) -> Executor:
    return by if isinstance(by, str) else by(block)


def _known(by: Runs, *names: str) -> frozenset[str]:
    """What another wire is told about an item of the provider's own anyway: that it was one. Else
    its type is a loss."""
    return keys(*_FRAME, *names, *(("type", "id") if by == "provider" else ()))


# --- calls ----------------------------------------------------------------------------------------


_SPACE = keys("namespace")
_LOST: dict[int, tuple[Block, Block]] = {}
"""Rows, by their identity, with themselves for blocks whose namespace is not understood."""


def _row_for(block: Object, spec: Block) -> Block:
    """The row of a block: what it says of a namespace is understood only if it is part of
    a name.
    """
    if "namespace" not in block or "namespace" not in spec.keys or not lost(block):
        return spec
    if id(spec) not in _LOST:
        _LOST[id(spec)] = (spec, replace(spec, keys=spec.keys - _SPACE))
    return _LOST[id(spec)][1]


def _function(call: Call, context: EncodeContext) -> Object:
    """A call as the item that can hold any."""
    head: Object = {"type": "function_call", "call_id": context.call_id(call)}
    return {**head, **naming(context.name(call.name)), "arguments": context.arguments_text(call)}


def ask(
    kind: str,
    family: str,
    by: Runs = "client",
    *,
    name: str = "",
    named: str = "",
    field: str = "arguments",
    fields: tuple[str, ...] = (),
    text: bool = False,
    key: str = "call_id",
    ids: tuple[Id, ...] = NATURAL,
    known: frozenset[str] | None = None,
    forms: tuple[Form, ...] = BOTH,
    sealed: str = "",
) -> Block:
    """A call. `named` is the field that names the tool, `name` what it is called where there is
    none.

    `field` holds the arguments, or `fields` are they; `text`: they are JSON text. `sealed`: a field
    that only the provider can read, and wants back.
    """
    holds = fields or (field,)

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin, item = ids_of(block, key)
        said = _known_by(block, named, spec)
        args = _asked(block, field, fields)
        signature = text_or_none(block.get(sealed)) if sealed else None
        return Call(
            one,
            said or name,
            args,
            origin,
            family,
            _runs(by, block),
            item,
            signature=signature,
            source=Source(block, path, _row_for(block, spec)),
        )

    def write(call: Call, context: EncodeContext) -> JSON:
        given = _said(call, field, fields, text, context)
        if given is None or (name and not named and call.name != name):
            return _function(call, context)
        out: Object = {"type": kind}
        if key == "id":
            out["id"] = context.call_id(call)
        elif call.origin == "item":
            out["id"] = call.id
        else:
            if call.item is not None:
                out["id"] = call.item
            out["call_id"] = context.call_id(call)
        if named and (call.name != name or not name):
            out.update(
                naming(context.name(call.name))
                if named == "name"
                else {named: context.name(call.name)}
            )
        return {**out, **given}

    known = (
        known
        if known is not None
        else _known(by, key, "name", named, *holds, *((sealed,) if sealed else ()))
    )
    return Block(
        kind,
        Call,
        read,
        write,
        known,
        (),
        {"type": kind},
        "call",
        family,
        by if isinstance(by, str) else "client",
        ids,
        forms,
    )


def _known_by(block: Object, named: str, spec: Block) -> str:
    """What the tool of a call is known by; a field other than `name` holds a word of the wire, not
    a name somebody chose."""
    if named != "name":
        return read_name(block.get(named)) if named else ""
    return called(block) if "namespace" in spec.keys else alone(read_name(block.get("name")))


def _asked(block: Object, field: str, fields: tuple[str, ...]) -> LazyJson:
    if not fields:
        return read_arguments(block.get(field))
    found: Object = {one: block[one] for one in fields if block.get(one) is not None}
    return (
        LazyJson.from_value(found)
        if found or "arguments" not in block
        else read_arguments(block["arguments"])
    )


def _said(
    call: Call, field: str, fields: tuple[str, ...], text: bool, context: EncodeContext
) -> Object | None:
    """The arguments in the fields of an item; None if they do not fit."""
    if text:
        return {field: context.arguments_text(call)}
    held = LazyJson(context.arguments_text(call)) if context.reverse_map.forms else call.args
    value = held.value
    if fields:
        return dict(value) if isinstance(value, dict) and value.keys() <= set(fields) else None
    return None if held.broken else {field: value}


def _write_custom(call: Call, context: EncodeContext) -> JSON:
    """Free text in, free text out; a wire without custom calls had it as the field `input`."""
    carried = get(call.input, ("input",)) if call.family != "custom" else call.arguments
    out: Object = {
        "type": "custom_tool_call",
        "call_id": context.call_id(call),
        **naming(context.name(call.name)),
    }
    if call.item is not None:
        out["id"] = call.item
    return {**out, "input": carried if isinstance(carried, str) else call.arguments}


# --- results --------------------------------------------------------------------------------------

Reads: TypeAlias = "Callable[[Object, JsonPath], Output]"
Writes: TypeAlias = "Callable[[Result, EncodeContext], Object | None]"


def _failed(block: Object) -> bool:
    return block.get("status") == "failed" or block.get("error") is not None


def output_blocks(output: Output, context: EncodeContext) -> JSON:
    """A result's output as text, or as blocks."""
    if isinstance(output, tuple):
        return [
            block
            for block in (write_inside(part, context, told=True) for part in output)
            if block is not None
        ]
    return output if isinstance(output, str) else text_of(output)


def _plain(output: Output) -> JSON:
    return output_text(output) if isinstance(output, tuple) else output


def reply(
    kind: str,
    family: str,
    by: Runs = "client",
    *,
    field: str = "output",
    fields: tuple[str, ...] = (),
    key: str = "call_id",
    ids: tuple[Id, ...] = NATURAL,
    reads: Reads | None = None,
    writes: Writes | None = None,
    known: frozenset[str] | None = None,
    forms: tuple[Form, ...] = BOTH,
) -> Block:
    """A result. `field` holds the output, or `fields` are it; `reads` and `writes` where that is
    not all."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin = read_result_id(block.get(key))
        if not one and ids is BORROWED:
            one, origin, _ = ids_of(block)
        output = reads(block, path) if reads is not None else _came(block, field, fields)
        said = _known_by(block, "name", spec) if isinstance(block.get("name"), str) else None
        return Result(
            one,
            output,
            _failed(block),
            said,
            origin,
            family,
            _runs(by, block),
            source=Source(block, path, _row_for(block, spec)),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        came = (
            writes(result, context)
            if writes is not None
            else _gone(context.output(result), field, fields)
        )
        if came is None:
            return {
                "type": "function_call_output",
                "call_id": context.result_id(result),
                "output": output_blocks(result.output, context),
            }
        ours = isinstance(result.spec, Block) and result.spec.name == kind
        out: Object = {"type": kind}
        if ids is BORROWED:  # lent by an item, it stays what it was as long as that item has it
            lent = (
                ids_of(result.raw)[0]
                if ours and result.origin == "item" and isinstance(result.raw, dict)
                else ""
            )
            out["id"] = lent or context.result_id(result)
        else:
            out[key] = context.result_id(result)
        if ours and result.name and (result.origin == "minted" or _says(result, context)):
            out.update(naming(context.name(result.name)))
        return {**out, **came}

    known = (
        known
        if known is not None
        else _known(by, "id" if ids is BORROWED else key, "name", field, *fields)
    )
    return Block(
        kind,
        Result,
        read,
        write,
        known,
        (),
        {"type": kind},
        "output",
        family,
        by if isinstance(by, str) else "client",
        ids,
        forms,
    )


def _says(result: Result, context: EncodeContext) -> bool:
    """Whether a result said which tool it is of, and can say so here."""
    return (
        isinstance(result.raw, dict)
        and "name" in result.raw
        and (not context.names or result.name in context.names)
    )


def _came(block: Object, field: str, fields: tuple[str, ...]) -> Output:
    if fields:
        return {one: block[one] for one in fields if block.get(one) is not None}
    value = block.get(field)
    return "" if value is None else value


def _gone(gone: Output, field: str, fields: tuple[str, ...]) -> Object | None:
    output = _plain(gone)
    if not fields:
        return {field: output}
    return dict(output) if isinstance(output, dict) and output.keys() <= set(fields) else None


def both(
    call: Block, *, field: str = "output", reads: Reads | None = None, writes: Writes | None = None
) -> Block:
    """A call and its result in one item: two parts, each of which writes its own half."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin, _ = ids_of(block)
        output = reads(block, path) if reads is not None else _came(block, field, ())
        return Result(
            one,
            output,
            _failed(block),
            None,
            origin,
            call.family,
            "provider",
            source=Source(block, path, spec),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        return writes(result, context) if writes is not None else {field: _plain(result.output)}

    answer = Block(call.name, Result, read, write, _Whatever())
    return replace(
        call, direction="call+output", answer=answer, keys=call.keys | keys(field, "error")
    )


def host(
    kind: str,
    family: str,
    *,
    name: str,
    answer: str = "output",
    reads: Reads | None = None,
    writes: Writes | None = None,
    named: str = "",
    field: str = "arguments",
    fields: tuple[str, ...] = (),
    text: bool = False,
) -> Block:
    """A tool that the provider ran, in one item with what came of it."""
    call = ask(
        kind,
        family,
        "provider",
        name=name,
        named=named,
        field=field,
        fields=fields,
        text=text,
        ids=BORROWED,
    )
    return both(call, field=answer, reads=reads, writes=writes)


def _read_told(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(block.get("tool_call_id"))
    content = block.get("content")
    said = alone(read_name(block["name"])) if isinstance(block.get("name"), str) else None
    return Result(
        one,
        read_output(content, (*path, "content")),
        False,
        said,
        origin,
        source=Source(block, path, spec),
    )


def _write_told(result: Result, context: EncodeContext) -> JSON:
    output = result.output
    said: JSON = (
        [_block_told(part, context) for part in output]
        if isinstance(output, tuple)
        else output_blocks(output, context)
    )
    named: Object = naming(context.name(result.name)) if result.name else {}
    return {"role": "tool", "tool_call_id": context.result_id(result), **named, "content": said}


def _block_told(part: Part, context: EncodeContext) -> JSON:
    if not isinstance(part, Text):
        return write_inside(part, context, told=True)
    ours = (
        isinstance(part.raw, dict)
        and isinstance(part.spec, Block)
        and CONTENT.get(part.spec.name) is part.spec
    )
    return {**(require_object(part.raw) if ours else {"type": "text"}), "text": part.text}  # type: ignore[arg-type]


TOLD = Block(
    "tool",
    Result,
    _read_told,
    _write_told,
    keys("type", "role", "tool_call_id", "content", "name", "id", "status"),
)
"""A result in the words of another wire: a message of the role `tool`. It is no item of this shape,
so it has no entry in the catalogue, and goes back as it came but is never made."""


# --- the peculiar ones ----------------------------------------------------------------------------


def _read_parts(block: Object, path: JsonPath) -> Output:
    return read_output(block.get("output"), (*path, "output"))


def _write_parts(result: Result, context: EncodeContext) -> Object:
    return {"output": output_blocks(result.output, context)}


def _read_screen(block: Object, path: JsonPath) -> Output:
    shown = block.get("output")
    part = read_block(shown, (*path, "output")) if isinstance(shown, dict) else None
    return (part,) if isinstance(part, Media) else _came(block, "output", ())


def screen(output: Output) -> Media | None:
    """The picture, if that is all there is."""
    only = output[0] if isinstance(output, tuple) and len(output) == 1 else None
    return only if isinstance(only, Media) and only.kind == "image" else None


def _write_screen(result: Result, context: EncodeContext) -> Object:
    shown = screen(result.output)
    return {"output": _plain(result.output) if shown is None else screenshot(shown)}


def _read_text(field: str) -> Reads:
    """Structured output as the text a model reads: so it stays the same result on a wire that has
    nothing but text."""

    def read(block: Object, path: JsonPath) -> Output:
        value = block.get(field)
        return value if isinstance(value, str) else "" if value is None else text_of(value)

    return read


def listed(output: Output) -> list[JSON] | None:
    """The list, also where it is text."""
    plain = _plain(output)
    try:
        value = parse(plain) if isinstance(plain, str) else plain
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def _write_lines(result: Result, context: EncodeContext) -> Object:
    lines = listed(result.output)
    return {"output": _plain(result.output) if lines is None else lines}


def _write_found(result: Result, context: EncodeContext) -> Object:
    found = listed(result.output)
    by = "client" if result.executor == "client" else "server"
    return {"execution": by, "tools": _plain(result.output) if found is None else found}


def _write_text(result: Result, context: EncodeContext) -> Object:
    return {"output": output_text(result.output)}


def _write_patched(result: Result, context: EncodeContext) -> Object:
    return {
        "status": "failed" if context.is_error(result) else "completed",
        "output": output_text(result.output),
    }


def _read_mcp(block: Object, path: JsonPath) -> Output:
    return block["error"] if block.get("error") is not None else _came(block, "output", ())


def _write_mcp(result: Result, context: EncodeContext) -> Object:
    return {"error" if result.error else "output": _plain(result.output)}


def _read_search(block: Object, path: JsonPath) -> Output:
    """What was found: pages the action names as its sources, and results if they were asked for."""
    out: Object = {}
    sources = get(block, ("action", "sources"))
    if isinstance(sources, list):
        out["sources"] = sources
    if block.get("results") is not None:
        out["results"] = block["results"]
    return out


def _write_search(result: Result, context: EncodeContext) -> Object:
    output = result.output
    if not isinstance(output, dict):
        return {"results": _plain(output)}
    out: Object = {key: value for key, value in output.items() if key != "sources"}
    return {**out, "action": {"sources": output["sources"]}} if "sources" in output else out


def _read_picture(block: Object, path: JsonPath) -> Output:
    if _failed(block) and block.get("error") is not None:
        return block["error"]
    data = block.get("result")
    if not isinstance(data, str):
        return _came(block, "result", ())
    form = text_or_none(block.get("output_format")) or "png"
    return (Media("image", f"image/{form}", data, source=Source(raw=data, path=(*path, "result"))),)


def _write_picture(result: Result, context: EncodeContext) -> Object:
    output = result.output
    if isinstance(output, tuple) and len(output) == 1 and isinstance(output[0], Media):
        return {"result": output[0].data}
    return {"error" if result.error else "result": _plain(output)}


def _shell_runs(block: Object) -> Executor:
    """A shell in a container of the provider's is run there; one without, or a local one, is the
    client's."""
    kind = get(block, ("environment", "type"))
    return "provider" if isinstance(kind, str) and kind.startswith("container") else "client"


def _search_runs(block: Object) -> Executor:
    said = block.get("execution")
    if said in ("client", "server"):
        return "client" if said == "client" else "provider"
    return "client" if read_id(block.get("call_id"))[0] else "provider"


def _read_reasoning(block: Object, path: JsonPath, spec: Block) -> Part:
    text = "\n\n".join(_thoughts(block, "content") or _thoughts(block, "summary"))
    sealed = text_or_none(block.get("encrypted_content"))
    if text or sealed is None:
        return Reasoning(text, signature=sealed, source=Source(block, path, spec))
    return Reasoning("", sealed, source=Source(block, path, spec))


def _thoughts(block: Object, field: str) -> list[str]:
    """The texts of a reasoning item: the thoughts themselves (`content`), or a summary of them."""
    found = block.get(field)
    return (
        [require_string(require_object(one)["text"]) for one in found]
        if isinstance(found, list)
        else []
    )


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    bare = not isinstance(part.raw, dict) or not part.raw.get("content")
    field, kind = ("summary", "summary_text") if bare else ("content", "reasoning_text")
    told: list[JSON] = [{"type": kind, "text": part.text}] if part.text else []
    out: Object = {"type": "reasoning", "summary": [], field: told}
    sealed = part.hidden or part.signature
    return {**out, "encrypted_content": sealed} if sealed is not None else out


def _read_web(block: Object, path: JsonPath, spec: Block) -> Part:
    """The action but for its sources, which are the answer."""
    action = block.get("action")
    asked: JSON = (
        {key: value for key, value in action.items() if key != "sources"}
        if isinstance(action, dict)
        else action
    )
    one, origin, item = ids_of(block)
    return Call(
        one,
        "web_search",
        read_arguments(asked),
        origin,
        "web-search",
        "provider",
        item,
        source=Source(block, path, spec),
    )


_WEB = replace(
    host(
        "web_search_call",
        "web-search",
        name="web_search",
        field="action",
        answer="results",
        reads=_read_search,
        writes=_write_search,
    ),
    read=_read_web,
)
REASONING = Block(
    "reasoning",
    Reasoning,
    _read_reasoning,
    _write_reasoning,
    keys("type", "id", "summary", "content", "encrypted_content", "status"),
)

CUSTOM = replace(
    ask(
        "custom_tool_call",
        "custom",
        named="name",
        field="input",
        text=True,
        known=keys("type", "call_id", "name", "namespace", "input", "status"),
    ),
    write=_write_custom,
)
FUNCTION = ask(
    "function_call",
    "function",
    named="name",
    text=True,
    known=keys("type", "call_id", "name", "namespace", "arguments", "status"),
)
_OUT = keys("type", "id", "call_id", "output", "name", "namespace", "status")

ITEMS = blocks(
    REASONING,
    FUNCTION,
    reply(
        "function_call_output",
        "function",
        ids=NULLABLE,
        reads=_read_parts,
        writes=_write_parts,
        known=_OUT,
    ),
    CUSTOM,
    reply("custom_tool_call_output", "custom", reads=_read_parts, writes=_write_parts, known=_OUT),
    ask("computer_call", "computer-use", name="computer", fields=("action", "actions")),
    reply("computer_call_output", "computer-use", reads=_read_screen, writes=_write_screen),
    ask("apply_patch_call", "apply-patch", name="apply_patch", field="operation"),
    reply("apply_patch_call_output", "apply-patch", writes=_write_patched),
    ask("shell_call", "function-shell", _shell_runs, name="shell", field="action"),
    reply("shell_call_output", "function-shell", reads=_read_text("output"), writes=_write_lines),
    ask("local_shell_call", "local-shell", name="local_shell", field="action"),
    # Its type has no call_id: `id` is that of the call, and servers take a call_id too.
    reply("local_shell_call_output", "local-shell", ids=BORROWED, writes=_write_text),
    ask("tool_search_call", "tool-search", _search_runs, name="tool_search", ids=NULLABLE),
    reply(
        "tool_search_output",
        "tool-search",
        _search_runs,
        field="tools",
        ids=NULLABLE,
        reads=_read_text("tools"),
        writes=_write_found,
    ),
    ask("mcp_approval_request", "mcp-approval", named="name", text=True, key="id", ids=(Id("id"),)),
    reply(
        "mcp_approval_response",
        "mcp-approval",
        key="approval_request_id",
        fields=("approve", "reason"),
        ids=(Id("approval_request_id"), _ITEM),
    ),
    ask("program", "program", "provider", name="program", fields=("code",), sealed="fingerprint"),
    reply("program_output", "program", "provider", field="result"),
    ask("multi_agent_call", "multi-agent", "provider", named="action", text=True),
    reply(
        "multi_agent_call_output", "multi-agent", "provider", reads=_read_parts, writes=_write_parts
    ),
    host(
        "code_interpreter_call",
        "code-interpreter",
        name="code_interpreter",
        fields=("code",),
        answer="outputs",
    ),
    host(
        "file_search_call", "file-search", name="file_search", fields=("queries",), answer="results"
    ),
    host(
        "image_generation_call",
        "image-gen",
        name="image_generation",
        fields=("prompt", "revised_prompt"),
        answer="result",
        reads=_read_picture,
        writes=_write_picture,
    ),
    host(
        "mcp_call", "mcp", name="mcp", named="name", text=True, reads=_read_mcp, writes=_write_mcp
    ),
    _WEB,
    host(
        "mcp_list_tools",
        "mcp-list-tools",
        name="mcp_list_tools",
        fields=("server_label",),
        answer="tools",
    ),
)

PENDING = frozenset({"queued", "in_progress", "searching", "interpreting", "generating", "calling"})
"""What the status of an item says as long as there is no result in it."""
LOOSE = keys("shell_call_output", "local_shell_call_output", "tool_search_output")
"""Results that do not say by themselves who made them, or whose call they answer."""
