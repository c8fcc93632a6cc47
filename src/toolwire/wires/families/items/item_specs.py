"""Functions that make specs of items with a call, a result, or both.

Most types of items differ only in their name, in who runs the tool, and in the fields that hold
arguments and output. A call or result that does not fit its type (another tool name, text where an
object is required) is written as an item of a function, which can hold any call or result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Executor, Origin, Part, Result, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Form,
    Id,
    keys,
    read_arguments,
    read_id,
    read_name,
    text_or_none,
)
from toolwire.wires.families.items.item_outputs import (
    OUTPUT,
    OutputForm,
    as_members,
    has_failed,
    members,
    output_blocks,
)
from toolwire.wires.families.items.namespaces import (
    has_unused_namespace,
    name_fields,
    plain_name,
    read_qualified_name,
)

ExecutorRule: TypeAlias = "Executor | Callable[[Object], Executor]"
"""Who runs the tool of an item: a constant, or a function of the item."""


ITEM_ID = Id("id", "item", required=False, nullable=True)
_CALLER = Id("caller", "parent-call", required=False, nullable=True)
CALL_ID = (Id("call_id"), ITEM_ID, _CALLER)
OPTIONAL_CALL_ID = (Id("call_id", required=False, nullable=True), ITEM_ID, _CALLER)
ONLY_ITEM_ID = (Id("id", "item"),)
"""The item id serves as call id."""
_ANY_BODY: tuple[Form, ...] = ("request", "response")
Fields: TypeAlias = "str | tuple[str, ...]"
"""The field that holds a value, or several fields that are its members."""


class _AllFields(frozenset[str]):
    """A set that contains every field: unknown fields of an item with two parts are reported only
    for the first part."""

    def issuperset(self, other: Iterable[object], /) -> bool:
        return True


def read_ids(block: Object, field: str = "call_id") -> tuple[str, Origin, str | None]:
    """The id of a call, its origin, and the item id, which is used if there is no call id."""
    call_id, origin = read_id(block.get(field))
    item_id, _ = read_id(block.get("id"))
    if field == "id" or not item_id:
        return call_id, origin, None
    return (call_id, origin, item_id) if call_id else (item_id, "item", item_id)


def _executor(rule: ExecutorRule, block: Object) -> Executor:
    return rule if isinstance(rule, str) else rule(block)


def _item_keys(executor: ExecutorRule, *names: str) -> frozenset[str]:
    """The fields that an item's spec understands.

    A server tool is reported as such on other wires, so its type and id are no further losses. The
    reader of items handles a status other than `completed`.
    """
    provider = ("type", "id") if executor == "provider" else ()
    return keys("call_id", "status", *filter(None, names), *provider)


@cache
def _without_namespace(spec: Block) -> Block:
    return replace(spec, keys=spec.keys - {"namespace"})


def _spec_for(block: Object, spec: Block) -> Block:
    """The spec of a block; a namespace that is not part of a name is an unknown field."""
    if "namespace" in spec.keys and has_unused_namespace(block):
        return _without_namespace(spec)
    return spec


def _read_tool_name(block: Object, field: str, spec: Block) -> str:
    """The tool's name. Only `name` can have a namespace: other fields hold a fixed word of the
    wire."""
    if not field:
        return ""
    if field != "name":
        return read_name(block.get(field))
    if "namespace" in block and "namespace" in spec.keys:
        return read_qualified_name(block)
    return plain_name(read_name(block.get("name")))


# --- calls ----------------------------------------------------------------------------------------


def call_item(
    type: str,
    family: str,
    executor: ExecutorRule = "client",
    *,
    name: str = "",
    name_field: str = "",
    arguments: Fields = "arguments",
    as_text: bool = False,
    id_field: str = "call_id",
    ids: tuple[Id, ...] = CALL_ID,
    known: frozenset[str] | None = None,
    forms: tuple[Form, ...] = _ANY_BODY,
    signature_field: str = "",
    answer: Block | None = None,
) -> Block:
    """Make the spec of an item that holds a call.

    `name_field` holds the name of the tool; without it, the name is always `name`. `as_text`: the
    arguments are JSON text. `known` are the fields that are understood, if they do not follow from
    the other arguments. `signature_field` is opaque and must be sent back to the provider. `answer`
    is the spec of a result in the same item.
    """

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin, item_id = read_ids(block, id_field)
        return Call(
            call_id,
            _read_tool_name(block, name_field, spec) or name,
            _read_arguments(block, arguments),
            origin,
            family,
            _executor(executor, block),
            item_id,
            signature=text_or_none(block.get(signature_field)) if signature_field else None,
            source=Source(block, path, _spec_for(block, spec) if "namespace" in block else spec),
        )

    def write(call: Call, context: EncodeContext) -> JSON:
        fields = _argument_fields(call, arguments, as_text=as_text, context=context)
        if fields is None and answer is not None:  # the item also holds a result: its type stays
            fields = {arguments if isinstance(arguments, str) else "arguments": call.arguments}
        if fields is None or (name and not name_field and call.name != name):
            return _write_function(call, context)
        out: Object = {"type": type, **_call_id_fields(call, id_field, context)}
        if name_field and (call.name != name or not name):
            sent = context.name(call.name)
            out.update(name_fields(sent) if name_field == "name" else {name_field: sent})
        return {**out, **fields}

    if known is None:
        names = (id_field, "name", name_field, *_names(arguments), signature_field)
        known = _item_keys(executor, *names)
    return Block(
        type,
        part=Call,
        read=read,
        write=write,
        keys=known,
        family=family,
        executor=executor if isinstance(executor, str) else "client",
        ids=ids,
        forms=forms,
        answer=answer,
    )


def _call_id_fields(call: Call, id_field: str, context: EncodeContext) -> Object:
    """The ids of a call as fields of its item: call id, item id, or both."""
    if id_field == "id":
        return {"id": context.call_id(call)}
    if call.origin == "item":
        return {"id": call.id}
    item_id: Object = {} if call.item is None else {"id": call.item}
    return {**item_id, "call_id": context.call_id(call)}


def _names(fields: Fields) -> tuple[str, ...]:
    return (fields,) if isinstance(fields, str) else fields


def _read_arguments(block: Object, fields: Fields) -> LazyJson:
    if isinstance(fields, str):
        return read_arguments(block.get(fields))
    found = members(block, fields)
    if not found and "arguments" in block:
        return read_arguments(block["arguments"])
    return LazyJson.from_value(found)


def _argument_fields(
    call: Call, fields: Fields, *, as_text: bool, context: EncodeContext
) -> Object | None:
    """The arguments as fields of an item; None if they do not fit."""
    if as_text and isinstance(fields, str):
        return {fields: context.arguments_text(call)}
    arguments = LazyJson(context.arguments_text(call)) if context.restores_forms else call.args
    if not isinstance(fields, str):
        return as_members(arguments.value, fields)
    return None if arguments.broken else {fields: arguments.value}


def _write_function(call: Call, context: EncodeContext) -> Object:
    """A call as a function call, the item that can hold any call."""
    return {
        "type": "function_call",
        "call_id": context.call_id(call),
        **name_fields(context.name(call.name)),
        "arguments": context.arguments_text(call),
    }


# --- results --------------------------------------------------------------------------------------


def result_item(
    type: str,
    family: str,
    executor: ExecutorRule = "client",
    *,
    output: OutputForm = OUTPUT,
    id_field: str = "call_id",
    ids: tuple[Id, ...] = CALL_ID,
    known: frozenset[str] | None = None,
    forms: tuple[Form, ...] = _ANY_BODY,
) -> Block:
    """Make the spec of an item that holds a result.

    `known` are the fields that are understood, if they do not follow from the other arguments.
    """
    by_item_id = ids is ONLY_ITEM_ID

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get(id_field))
        if not call_id and by_item_id:
            call_id, origin, _ = read_ids(block)
        named = isinstance(block.get("name"), str)
        return Result(
            call_id,
            output.read(block, path),
            has_failed(block),
            _read_tool_name(block, "name", spec) if named else None,
            origin,
            family,
            _executor(executor, block),
            source=Source(block, path, _spec_for(block, spec)),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        fields = output.write(result, context)
        if fields is None:
            return _write_function_output(result, context)
        same_type = isinstance(result.spec, Block) and result.spec.name == type
        item_id = ""
        if by_item_id and same_type and result.origin == "item" and isinstance(result.raw, dict):
            item_id = read_ids(result.raw)[0]
        field = "id" if by_item_id else id_field
        out: Object = {"type": type, field: item_id or context.result_id(result)}
        if same_type and result.name and (result.origin == "minted" or _has_name(result, context)):
            out.update(name_fields(context.name(result.name)))
        if same_type and result.executor == "provider":
            fields |= _status_fields(result)
        return {**out, **fields}

    if known is None:
        name_of_id = "id" if by_item_id else id_field
        known = _item_keys(executor, name_of_id, "name", *output.fields)
    return Block(
        type,
        part=Result,
        read=read,
        write=write,
        keys=known,
        family=family,
        executor=executor if isinstance(executor, str) else "client",
        ids=ids,
        forms=forms,
    )


def _write_function_output(result: Result, context: EncodeContext) -> Object:
    """A result as a function's result, the item that can hold any result."""
    return {
        "type": "function_call_output",
        "call_id": context.result_id(result),
        "output": output_blocks(result.output, context),
    }


def _status_fields(result: Result) -> Object:
    """The fields that report the failure of a server tool."""
    fields: Object = {"status": "failed" if result.error else "completed"}
    if not result.error and isinstance(result.raw, dict) and result.raw.get("error") is not None:
        fields["error"] = None
    return fields


def _has_name(result: Result, context: EncodeContext) -> bool:
    """True if a result was read with its tool's name and the name can be sent."""
    if not isinstance(result.raw, dict) or "name" not in result.raw:
        return False
    return not context.names or result.name in context.names


# --- server tools ---------------------------------------------------------------------------------


def provider_item(
    type: str,
    family: str,
    *,
    name: str,
    output: OutputForm = OUTPUT,
    arguments: Fields = "arguments",
    as_text: bool = False,
    ids: tuple[Id, ...] = ONLY_ITEM_ID,
    extra: frozenset[str] = frozenset(),
    forms: tuple[Form, ...] = _ANY_BODY,
) -> Block:
    """Make the spec of an item of a server tool.

    The item holds the call and its result: two parts, each of which writes its own fields. An edit
    for which the type has no field goes into `name`, `arguments` or `output`. `extra` are further
    fields that are understood.
    """

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin, _ = read_ids(block)
        edited = "output" not in output.fields and block.get("output") is not None
        return Result(
            call_id,
            block["output"] if edited else output.read(block, path),
            has_failed(block),
            origin=origin,
            family=family,
            executor="provider",
            source=Source(block, path, spec),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        return _status_fields(result) | (output.write(result, context) or {})

    names = ("name", *_names(arguments), *output.fields, "output", "error", *extra)
    return call_item(
        type,
        family,
        "provider",
        name=name,
        name_field="name",
        arguments=arguments,
        as_text=as_text,
        ids=ids,
        known=_item_keys("provider", *names),
        forms=forms,
        answer=Block(type, part=Result, read=read, write=write, keys=_AllFields()),
    )
