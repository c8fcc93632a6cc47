"""What a wire is made of: rows, and the helpers with which rows read.

A row says everything about one block type: how it is read, how it is written, which fields it
knows, which ids it has. Reading is optimistic: a row takes what it needs and may fail; only then is
the block looked at again to say where and why. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NoReturn, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, kind_of, patch, put
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Kind, Tool
from toolwire.conversation.parts import Message, Opaque, Origin, Part, Source
from toolwire.errors import RemoteError
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import StreamSpec

Form: TypeAlias = Literal["request", "response", "stream"]
UNREADABLE = (KeyError, TypeError, AttributeError, ValueError, IndexError)
"""What an optimistic reader may raise on a block that is not what it is said to be."""


class Id(Struct, frozen=True):
    """An id field of a block: what it names, and whether it is always there."""

    name: str
    role: Literal["correlation", "item", "parent-call", "position"] = "correlation"
    required: bool = True
    nullable: bool = False


class Block(Struct, frozen=True, eq=False):
    """One block type in every direction.

    `read` takes a block, its place and the row and gives the part; `write` gives the block, or None
    after it has told the page what is lost. `keys` are the fields it understands: any other is kept
    for its own wire and is a loss for the rest.
    """

    name: str
    part: type[Part] | type[Message] | type[Tool]
    read: Callable[[Object, JsonPath, Block], Part] | None = None
    write: Callable[..., JSON] | None = None
    keys: frozenset[str] = frozenset()
    inner: tuple[tuple[str, frozenset[str]], ...] = ()
    """Objects inside the block, and the fields understood in them."""
    discriminator: Mapping[str, str] = {}
    """How the block is told from others: the catalogue's discriminator."""
    direction: Literal["", "call", "output", "call+output"] = ""
    family: str = ""
    executor: Literal["", "client", "provider"] = ""
    ids: tuple[Id, ...] = ()
    forms: tuple[Form, ...] = ("request", "response")
    answer: Block | None = None
    """The row of the result that stands in the same block as its call: such a block is read as two
    parts."""
    deltas: Mapping[str, tuple[str, str]] = {}
    """How the block grows in a stream: a delta's type, the field of the delta, and the field of the
    block. The first one is the text that others see growing; for a call it is JSON text."""

    def clean(self, block: JSON | UnsetType) -> bool:
        """Whether there is nothing in a block that the row does not understand."""
        if block.__class__ is not dict:
            return True
        if not self.keys.issuperset(block):
            return False
        for name, known in self.inner:
            inside = block.get(name)
            if inside.__class__ is dict and not known.issuperset(inside):
                return False
        return True

    @property
    def origin(self) -> str:
        """The class of its id: natural, nullable, borrowed (only an item id) or absent."""
        for one in self.ids:
            if one.role == "correlation":
                return "natural" if one.required and not one.nullable else "nullable"
        return "borrowed" if any(one.role == "item" for one in self.ids) else "absent"


def keys(*names: str) -> frozenset[str]:
    """Field names, as a row knows them."""
    return frozenset(names)


def blocks(*rows: Block) -> dict[str, Block]:
    """Rows by their names."""
    return {spec.name: spec for spec in rows}


OPAQUE = Block("", Opaque, write=lambda part, context: part.value)
"""Its block is wholly unknown: there is nothing in it to tell apart."""


def opaque(name: JSON, block: JSON, path: JsonPath) -> Opaque:
    """A block nobody knows, kept as it is."""
    return Opaque(
        name if isinstance(name, str) else "untyped", block, source=Source(block, path, OPAQUE)
    )


def read_block(wire: str, rows: Mapping[str, Block], block: JSON, path: JsonPath) -> Part:
    """The part of a block that names its type. One that does not fit its own type is kept as
    unknown."""
    if not isinstance(block, dict):
        raise_unexpected(wire, path, "an object", block)
    name = block.get("type")
    try:
        spec = rows[name]  # type: ignore[index]
        return spec.read(block, path, spec)  # type: ignore[misc]
    except UNREADABLE:
        return opaque(name, block, path)


# --- small readers, for rows ----------------------------------------------------------------------


def require_string(value: JSON) -> str:
    """The value, which must be text."""
    if isinstance(value, str):
        return value
    raise TypeError("a string")


def require_object(value: JSON) -> Object:
    """The value, which must be an object."""
    if isinstance(value, dict):
        return value
    raise TypeError("an object")


def text_or_none(value: JSON) -> str | None:
    """The value if it is text; anything else counts as absent."""
    return value if isinstance(value, str) else None


def flag_or_none(value: JSON) -> bool | None:
    """The value if it is true or false."""
    return value if isinstance(value, bool) else None


def count_at(value: JSON, *path: str) -> int | None:
    """The whole number at a path, if there is one."""
    number = value.get(path[0]) if len(path) == 1 and value.__class__ is dict else get(value, path)
    return number if isinstance(number, int) else None


def read_name(value: JSON) -> str:
    """A tool's name; what is not text is no name."""
    return value if isinstance(value, str) else ""


def read_id(value: JSON) -> tuple[str, Origin]:
    """An id off a wire, and its origin. Null, blanks and the placeholder "null" are absent; a
    number is its digits."""
    if isinstance(value, str):
        return (
            (value, "wire")
            if (value[:1] > " " and value != "null") or (value.strip() and value != "null")
            else ("", "minted")
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value), "wire"
    return "", "minted"


read_result_id = read_id
"""An id off a result is read as that of a call is."""


def read_arguments(value: JSON) -> LazyJson:
    """Arguments of a wire that sends them as text: the text stays, anything else is a value, null
    is none."""
    if isinstance(value, str):
        return LazyJson(value)
    return LazyJson("") if value is None else LazyJson.from_value(value)


def raise_unexpected(wire: str, path: JsonPath, wanted: str, got: JSON | UnsetType) -> NoReturn:
    """Say what was wanted at a place, and what came."""
    raise RemoteError(wire, path, f"expected {wanted}, got {kind_of(got)}")


def object_at(wire: str, body: JSON, path: JsonPath) -> Object:
    """The object at a place of a body."""
    value = get(body, path)
    return value if isinstance(value, dict) else raise_unexpected(wire, path, "an object", value)


def list_at(wire: str, body: JSON, path: JsonPath) -> list[JSON]:
    """The list at a place of a body."""
    value = get(body, path)
    return value if isinstance(value, list) else raise_unexpected(wire, path, "a list", value)


# --- writing a wire's own -------------------------------------------------------------------------


def patch_block(part: Part, context: EncodeContext, now: JSON) -> JSON | UnsetType:
    """A block of the target's own wire with just the edit of a part applied.

    UNSET if the edit changed the type of the block.
    """
    spec, original = part.spec, part.original
    if original is None:
        return now
    if (
        not isinstance(spec, Block)
        or spec.write is None
        or spec.part is not type(part)
        or type(original) is not type(part)
    ):
        return UNSET
    context.patching = True
    try:
        new = spec.write(part, context)
        return patch(now, spec.write(original, context), new) if isinstance(now, dict) else new
    finally:
        context.patching = False


def patch_parts(
    parts: Iterable[Part], before: Iterable[Part], raw: JSON, path: JsonPath, context: EncodeContext
) -> JSON | UnsetType:
    """A body or message with the edits of its parts applied where they stand; UNSET if parts came,
    went or moved."""
    now = list(parts)
    if [part.path for part in before] != [part.path for part in now]:
        return UNSET
    for part in now:
        if part.original is not None:
            where = part.path[len(path) :]
            block = get(raw, where)
            new = UNSET if isinstance(block, UnsetType) else patch_block(part, context, block)
            if isinstance(new, UnsetType):
                return UNSET
            raw = put(raw, where, new)
    return raw


def patch_message(
    message: Message, context: EncodeContext, read: Callable[[JSON, JsonPath], Message]
) -> JSON | UnsetType:
    """A message of this wire's own as it came, with the edits made to its parts; UNSET if it has to
    be written anew."""
    if message.wire != context.wire or isinstance(message.raw, UnsetType):
        return UNSET
    try:
        before = read(message.raw, message.path)
    except RemoteError:  # it stood in a body of another kind, where messages look different
        return UNSET
    if before.role != message.role:
        return UNSET
    return patch_parts(message.parts, before.parts, message.raw, message.path, context)


def types_in(content: JSON) -> set[str]:
    """The types that the blocks of a list name, for telling one wire from another."""
    if not isinstance(content, list):
        return set()
    return {
        kind
        for block in content
        if isinstance(block, dict) and isinstance(kind := block.get("type"), str)
    }


def answer_messages(conversation: Conversation, context: EncodeContext) -> list[Message]:
    """The messages a response can hold: its own as they came, else what the assistant says.
    Anything else is reported."""
    if conversation.wire == context.wire and conversation.kind == context.kind:
        return list(conversation.messages)
    for message in conversation.messages:
        if message.role != "assistant":
            context.report_loss(message, "an answer holds only what the assistant says")
    for tool in conversation.tools:
        context.report_loss(tool, "an answer offers no tools")
    return [message for message in conversation.messages if message.role == "assistant"] or [
        Message("assistant", ())
    ]


class Wire(Struct, frozen=True, eq=False):
    """A wire: how its bodies are read and written, whether a body looks like one, and its rows."""

    name: str
    title: str
    rows: tuple[Block, ...]
    read: Callable[[JSON, Kind], Conversation]
    write: Callable[[Conversation, EncodeContext], JSON]
    match_score: Callable[[JSON], int]
    """How sure it is that a body is its own: 0 not at all, 1 perhaps, 2 it has marks of it, 3
    nobody else has them."""
    stream: StreamSpec | None = None
    """How it streams, if it does."""
    capabilities: Capabilities = EVERYTHING
    """What it can hold; lowering adapts every conversation to it before it is written."""
    hosts: bool = False
    """Whether its answers can hold calls that somebody else's provider ran, with their results."""


def all_blocks(*groups: Mapping[str, Block] | Iterable[Block]) -> tuple[Block, ...]:
    """All rows of some tables, in order."""
    return tuple(
        spec
        for group in groups
        for spec in (group.values() if isinstance(group, Mapping) else group)
    )


class CatalogueEntry(Struct, frozen=True):
    """One type of call or result on one wire: how it is told, who runs it, and what its id is."""

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
    """The rows of a wire that hold a call or a result, as the catalogue shows them."""
    return [
        CatalogueEntry(
            wire.name,
            spec.name,
            dict(spec.discriminator),
            spec.direction,
            spec.family,
            spec.executor,
            spec.ids,
            spec.origin,
            spec.forms,
        )
        for spec in wire.rows
        if spec.direction
    ]
