"""The specification of a wire: block specs, the wire itself, and helpers for readers of blocks.

A block spec describes one block type: how it is read and written, and which fields and ids it has.
Reading is optimistic: a reader accesses what it needs without checks and may raise one of
`UNREADABLE`; only then is the block inspected. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NoReturn, TypeAlias

from msgspec import Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, kind_of, snake
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Kind, Tool, Usage
from toolwire.conversation.parts import (
    Call,
    Executor,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Source,
    Text,
)
from toolwire.errors import UnexpectedType
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.roles import role_of_unread
from toolwire.wires.engine.stream import StreamSpec

Form: TypeAlias = Literal["request", "response", "stream"]
UNREADABLE = (KeyError, TypeError, AttributeError, ValueError, IndexError)
"""The exceptions of an optimistic reader on a block that does not match its type."""


class Id(Struct, frozen=True):
    """An id field of a block: its role, and whether it is always present."""

    name: str
    role: Literal["correlation", "item", "parent-call", "position"] = "correlation"
    required: bool = True
    nullable: bool = False


class Block(Struct, frozen=True, eq=False):
    """The specification of one block type.

    `read` takes a block, its path and this spec, and returns the part. `write` returns the block,
    or None after it has reported a loss. `keys` are the known fields: any other field is kept for
    its own wire and is a loss for other wires.
    """

    name: str
    part: type[Part] | type[Message] | type[Tool]
    read: Callable[[Object, JsonPath, Block], Part] | None = None
    write: Callable[..., JSON] | None = None
    keys: frozenset[str] = frozenset()
    required: Mapping[str, JSON] = {}
    """Further fields that the block always has in a response, with their empty values."""
    inner: tuple[tuple[str, frozenset[str]], ...] = ()
    """Nested objects of the block, and the known fields of each."""
    discriminator: Mapping[str, str] = {}
    """The fields and values that identify the block type; if empty, `type` is its name."""
    family: str = ""
    """The kind of call or result in the catalogue; empty if it does not list the block."""
    executor: Executor = "client"
    ids: tuple[Id, ...] = ()
    forms: tuple[Form, ...] = ("request", "response")
    answer: Block | None = None
    """The spec of the result, if call and result share one block: such a block is read as two
    parts."""
    signed_by: str = ""
    """Who signs reasoning in this block: every wire of the same maker accepts it."""
    marks_cache: bool = False
    """True if the block only marks the end of a prefix that may be cached."""
    deltas: Mapping[str, tuple[str, str]] = {}
    """The deltas of the block in a stream: delta type → field of the delta, field of the block. The
    first one is the text of the part; for a call it is JSON text."""

    @property
    def direction(self) -> str:
        """The content of the block in the catalogue: a call, its output, or both."""
        if not self.family:
            return ""
        if self.answer is not None:
            return "call+output"
        return "call" if self.part is Call else "output"

    @property
    def identified_by(self) -> Mapping[str, str]:
        """The fields and values that identify the block type, as the catalogue shows them."""
        return self.discriminator or {"type": self.name}

    @property
    def reads_snake_case(self) -> bool:
        """True if the fields of the block are read in snake_case too."""
        return any(snake(key) != key and snake(key) in self.keys for key in self.keys)

    def clean(self, block: JSON | UnsetType) -> bool:
        """Return True if a block has no unknown fields."""
        if block.__class__ is dict:
            if not self.keys.issuperset(block) and not self._says_nothing(block):
                return False
            for name, known_keys in self.inner:
                inside = block.get(name)
                if inside.__class__ is dict and not known_keys.issuperset(inside):
                    return False
        return True

    def _says_nothing(self, block: Object) -> bool:
        """Return True if the unknown fields of a block all have the empty values of `required`."""
        required = self.required
        return all(
            key in self.keys or (key in required and block[key] == required[key]) for key in block
        )

    @property
    def origin(self) -> str:
        """The class of the call id: natural, nullable, borrowed (the item id is used) or absent."""
        for field in self.ids:
            if field.role == "correlation":
                return "natural" if field.required and not field.nullable else "nullable"
        return "borrowed" if any(field.role == "item" for field in self.ids) else "absent"


def keys(*names: str) -> frozenset[str]:
    """Return field names as a set."""
    return frozenset(names)


def blocks(*specs: Block) -> dict[str, Block]:
    """Return block specs by name."""
    return {spec.name: spec for spec in specs}


OPAQUE = Block("", Opaque, write=lambda part, context: part.value)
"""The spec of blocks of unknown types, which are written verbatim."""


def opaque(name: JSON, block: JSON, path: JsonPath) -> Opaque:
    """Return the part of a block of unknown type, which keeps the block verbatim."""
    kind = name if isinstance(name, str) else "untyped"
    return Opaque(kind, block, source=Source(block, path, OPAQUE))


def opaque_text(wire: str, block: JSON, path: JsonPath) -> Opaque:
    """Return the part for a plain text in place of a block. Raises DecodeError for other values."""
    if not isinstance(block, str):
        raise_unexpected(wire, path, dict, block)
    return opaque("", block, path)


def unread_message(wire: str, role: JSON, message: JSON, path: JsonPath) -> Message:
    """Return a message with a role that its wire does not know: one part keeps it verbatim."""
    part = opaque(role, message, path)
    return Message(role_of_unread(message), (part,), None, wire, source=Source(message, path))


def read_block(
    wire: str, specs: Mapping[str, Block], block: JSON, path: JsonPath, *, field: str = "type"
) -> Part:
    """Return the part of a block whose `field` names its type; Opaque if it does not match."""
    if not isinstance(block, dict):
        return opaque_text(wire, block, path)
    name = block.get(field)
    try:
        spec = specs[name]  # type: ignore[index]
        return spec.read(block, path, spec)  # type: ignore[misc]
    except UNREADABLE:
        return opaque(name, block, path)


def read_block_by_field(wire: str, specs: Mapping[str, Block], block: JSON, path: JsonPath) -> Part:
    """Return the part of a block that has a field named like its type; null counts as absent."""
    if not isinstance(block, dict):
        return opaque_text(wire, block, path)
    for name, value in block.items():
        spec = specs.get(name)
        if spec is not None and spec.read is not None and value is not None:
            try:
                return spec.read(block, path, spec)
            except UNREADABLE:
                break
    return opaque(next(iter(block), ""), block, path)


# --- readers of fields ----------------------------------------------------------------------------


def require_string(value: JSON) -> str:
    """Return the value. Raises TypeError if it is not a string."""
    if isinstance(value, str):
        return value
    raise TypeError("a string")


def require_object(value: JSON) -> Object:
    """Return the value. Raises TypeError if it is not an object."""
    if isinstance(value, dict):
        return value
    raise TypeError("an object")


def text_or_none(value: JSON) -> str | None:
    """Return the value if it is a string, else None."""
    return value if isinstance(value, str) else None


def flag_or_none(value: JSON) -> bool | None:
    """Return the value if it is a boolean, else None."""
    return value if isinstance(value, bool) else None


def count_at(value: JSON, *path: str) -> int | None:
    """Return the integer at a path, or None."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value if isinstance(value, int) else None


_TEXT_TYPES = ("text", "input_text", "output_text")


def single_text(content: list[JSON]) -> JSON:
    """Content as most servers expect it: one text without other fields as a string, else blocks."""
    if len(content) == 1:
        block = content[0]
        if block.__class__ is dict and len(block) == 2 and block.get("type") in _TEXT_TYPES:
            text = block.get("text")
            return text if isinstance(text, str) else content
    return content


ReadBlock: TypeAlias = "Callable[[Object, JsonPath, Block], Part]"


def text_reader(field: str, *, refusal: bool = False) -> ReadBlock:
    """Return the reader of a block whose text is in a field."""
    return lambda block, path, spec: Text(
        require_string(block[field]), refusal, source=Source(block, path, spec)
    )


def reasoning_reader(field: str) -> ReadBlock:
    """Return the reader of a block with only the text of reasoning, which is in a field."""
    return lambda block, path, spec: Reasoning(
        require_string(block[field]), source=Source(block, path, spec)
    )


def call_reader(
    arguments: str,
    *,
    id_field: str | None = "id",
    name_field: str = "name",
    read: Callable[[JSON], LazyJson] | None = None,
) -> ReadBlock:
    """Return the reader of a call whose id, name and arguments are fields of its block.

    Without `id_field` the block has no id. `read` reads the arguments: by default, a JSON value.
    """

    def read_call(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get(id_field) if id_field else None)
        return Call(
            call_id,
            read_name(block.get(name_field)),
            (read or read_value)(block.get(arguments)),
            origin,
            spec.family or "function",
            spec.executor,
            source=Source(block, path, spec),
        )

    return read_call


def read_name(value: JSON) -> str:
    """Return a tool name; empty if the value is not a string."""
    return value if isinstance(value, str) else ""


def read_definition(fields: Object, schema: JSON, source: Source, kind: str = "function") -> Tool:
    """Return the tool defined by an object with a name, a description and perhaps a strict flag."""
    name, description, strict = fields.get("name"), fields.get("description"), fields.get("strict")
    return Tool(
        name if isinstance(name, str) else "",
        description if isinstance(description, str) else None,
        schema,
        strict if isinstance(strict, bool) else None,
        kind,
        source=source,
    )


def read_id(value: JSON) -> tuple[str, Origin]:
    """Return the id of a call or a result and its origin.

    Null, blank text and the placeholder "null" count as absent; a number becomes its digits.
    """
    if value.__class__ is str:
        # The second comparison only avoids `strip` in the common case.
        if value != "null" and (value >= "!" or value.strip()):
            return value, "wire"
        return "", "minted"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value), "wire"
    return "", "minted"


def read_arguments(value: JSON) -> LazyJson:
    """Return the arguments of a wire that sends JSON text; null counts as no arguments."""
    if isinstance(value, str):
        return LazyJson(value)
    return LazyJson("") if value is None else LazyJson.from_value(value)


def read_value(value: JSON) -> LazyJson:
    """Return the arguments of a wire that sends a JSON value; null counts as no arguments."""
    if value.__class__ is dict:
        return LazyJson(value)
    return LazyJson("") if value is None else LazyJson.from_value(value)


Expected: TypeAlias = "type | str | None"
"""What a field accepts: values of a Python type, null, or what the words say."""


def raise_unexpected(
    wire: str, path: JsonPath, expected: Expected | tuple[Expected, ...], value: JSON | UnsetType
) -> NoReturn:
    """Raise DecodeError with what the field accepts, and the type of the value."""
    accepted = expected if isinstance(expected, tuple) else (expected,)
    types = tuple(kind for kind in accepted if not isinstance(kind, str))
    names = [
        kind if isinstance(kind, str) else kind_of(None if kind is None else kind())
        for kind in accepted
    ]
    words = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    why = f"expected {words}, got {kind_of(value)}"
    raise UnexpectedType(why, types, wire=wire, path=path)


def object_at(wire: str, body: JSON, path: JsonPath) -> Object:
    """Return the object at a path of a body. Raises DecodeError if there is none."""
    value = get(body, path)
    return value if isinstance(value, dict) else raise_unexpected(wire, path, dict, value)


def list_at(wire: str, body: JSON, path: JsonPath) -> list[JSON]:
    """Return the list at a path of a body. Raises DecodeError if there is none."""
    value = get(body, path)
    return value if isinstance(value, list) else raise_unexpected(wire, path, list, value)


def types_in(content: JSON) -> set[str]:
    """Return the `type` values of the blocks of a list, to recognize the wire of a body."""
    if not isinstance(content, list):
        return set()
    return {
        kind
        for block in content
        if isinstance(block, dict) and isinstance(kind := block.get("type"), str)
    }


Outcome: TypeAlias = tuple[Usage | None, str | None]
"""The token usage of a response, and its neutral finish reason."""


class Wire(Struct, frozen=True, eq=False):
    """A wire: its block specs, and how its bodies are recognized, read and written."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    read: Callable[[JSON, Kind], Conversation]
    write: Callable[[Conversation, EncodeContext], JSON]
    match_score: Callable[[JSON], int]
    """Returns how well a body matches this wire: 0 not at all, 1 possible, 2 it has typical fields,
    3 it has fields that no other wire has."""
    stream: StreamSpec | None = None
    """How the wire streams; None if it does not."""
    capabilities: Capabilities = EVERYTHING
    """The capabilities of the wire; lowering adapts every conversation to them before writing."""
    messages_field: str = ""
    """The field of a request that holds the list of messages: a bare list is a body, too."""
    read_message: Callable[[JSON, JsonPath], Message] | None = None
    """Reads one element of that list as one message; None if elements are not messages."""
    read_from: Callable[[list[JSON], int, Conversation], tuple[Message, ...] | None] | None = None
    """Reads an edited list from its first changed element on; None if that needs the whole body."""
    normalize: Callable[[JSON], JSON] | None = None
    """Expands a body in a short form; used if the body cannot be read directly."""
    hosts: bool = False
    """True if its responses can hold calls that another provider ran, with their results."""
    read_outcome: Callable[[Object], Outcome | None] | None = None
    """Reads the outcome of a response without its content; returns None if only the content shows
    why the model stopped. Without it, the whole response is read."""


def all_blocks(*groups: Mapping[str, Block] | Iterable[Block]) -> tuple[Block, ...]:
    """Return the block specs of several tables, in order."""
    return tuple(
        spec
        for group in groups
        for spec in (group.values() if isinstance(group, Mapping) else group)
    )


class CatalogueEntry(Struct, frozen=True):
    """One type of call or result of a wire: its discriminator, its executor and its ids."""

    wire: str
    type: str
    discriminator: dict[str, str]
    direction: str
    family: str
    executor: str
    ids: tuple[Id, ...]
    origin: str
    forms: tuple[Form, ...]


def catalogue_entries(wire: Wire) -> list[CatalogueEntry]:
    """Return the catalogue entries of a wire: its block specs of calls and results."""
    return [
        CatalogueEntry(
            wire.name,
            spec.name,
            dict(spec.identified_by),
            spec.direction,
            spec.family,
            spec.executor,
            spec.ids,
            spec.origin,
            spec.forms,
        )
        for spec in wire.blocks
        if spec.direction
    ]
