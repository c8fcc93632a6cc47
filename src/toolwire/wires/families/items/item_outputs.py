"""How items hold the output of a result: in one field, in several fields, or as blocks."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.parts import Output, Result, output_text
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.families.items import content


class OutputForm(Struct, frozen=True, eq=False):
    """How an item holds the output of a result."""

    read: Callable[[Object, JsonPath], Output]
    write: Callable[[Result, EncodeContext], Object | None]
    """Writes the output as fields of the item; returns None if it does not fit the item's type."""
    fields: tuple[str, ...] = ("output",)


def members(block: Object, names: tuple[str, ...]) -> Object:
    """The named fields of an item that have a value, as an object."""
    return {name: block[name] for name in names if block.get(name) is not None}


def as_members(value: JSON, names: tuple[str, ...]) -> Object | None:
    """An object as fields of an item; None if the item cannot hold it."""
    return dict(value) if isinstance(value, dict) and value.keys() <= set(names) else None


def has_failed(block: Object) -> bool:
    """True if an item reports that its tool failed."""
    return block.get("status") == "failed" or block.get("error") is not None


def output_blocks(output: Output, context: EncodeContext) -> JSON:
    """The output of a result as text or as blocks."""
    if isinstance(output, tuple):
        return content.write_output(output, context)
    return output if isinstance(output, str) else text_of(output)


def plain_output(output: Output) -> JSON:
    """The output of a result as JSON; parts become one text."""
    return output_text(output) if isinstance(output, tuple) else output


def read_field(block: Object, field: str) -> Output:
    """The output in a field; a missing output is empty text."""
    value = block.get(field)
    return "" if value is None else value


def in_field(field: str) -> OutputForm:
    """The output as the value of one field."""

    def read(block: Object, path: JsonPath) -> Output:
        return read_field(block, field)

    def write(result: Result, context: EncodeContext) -> Object:
        return {field: plain_output(context.output(result))}

    return OutputForm(read, write, (field,))


def in_fields(*fields: str) -> OutputForm:
    """The output as an object whose members are fields of the item."""

    def read(block: Object, path: JsonPath) -> Output:
        return members(block, fields)

    def write(result: Result, context: EncodeContext) -> Object | None:
        return as_members(plain_output(context.output(result)), fields)

    return OutputForm(read, write, fields)


OUTPUT = in_field("output")
BLOCKS = OutputForm(
    read=lambda block, path: content.read_output(block.get("output"), (*path, "output")),
    write=lambda result, context: {"output": output_blocks(result.output, context)},
)
"""The output as text, or as a list of blocks."""
