"""Read items as turns: consecutive items of the model, and of the client's tools, are one message.

A turn has no JSON; its parts keep the JSON of their items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_rules import NAMESPACE_SEPARATOR
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Call,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
)
from toolwire.wires.engine.encode_context import BREAKPOINT_FIELDS
from toolwire.wires.engine.roles import meant_role
from toolwire.wires.engine.specs import OPAQUE, UNREADABLE, Block, keys, opaque, raise_unexpected
from toolwire.wires.families.items.content import PLAIN_TEXT, content_block, read_content
from toolwire.wires.families.items.item_types import INCOMPLETE_RESULTS, TOOL_MESSAGE
from toolwire.wires.families.items.namespaces import plain_name, split_name
from toolwire.wires.families.items.server_items import RUNNING
from toolwire.wires.families.items.tools import TOOLS_ITEM, tools_in_item

ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
MESSAGE = Block("message", part=Message, keys=keys("type", "role", "content", "status", "id"))


EMPTY_MESSAGE = Block(
    "message",
    part=Text,
    write=lambda part, context: {
        "content": [{"type": "output_text", "text": part.text}] if part.text else []
    },
)
"""A message item whose content is empty or missing, which is read as an empty text."""


class CallIndex:
    """The calls read so far, from which results get their ids, names and executors."""

    __slots__ = (
        "_by_id",
        "_by_item",
        "_in_namespaces",
        "_open_searches",
        "tools_items",
        "unknown_fields",
    )

    def __init__(self) -> None:
        self._by_id: dict[str, Call] = {}
        self._by_item: dict[str, Call] = {}
        self._open_searches: list[Call] = []
        """Tool searches without a call id that have no result yet."""
        self._in_namespaces: dict[str, set[str]] = {}
        """Qualified names of tools in namespaces, by the name without the namespace."""
        self.tools_items: list[int] = []
        """The positions of the items that define tools."""
        self.unknown_fields: list[JsonPath] = []
        """Paths of item fields that belong to no part and that other wires cannot hold."""

    def add(self, call: Call) -> None:
        self._by_id[call.id] = call
        if call.item is not None:
            self._by_item[call.item] = call
        if NAMESPACE_SEPARATOR in call.name:
            namespace, name = split_name(call.name)
            if namespace:
                self._in_namespaces.setdefault(plain_name(name), set()).add(call.name)
        if call.origin == "item" and call.family == "tool-search":
            self._open_searches.append(call)

    def qualify(self, result: Result) -> Result:
        """The result with the qualified name of its call, if only the namespace was missing."""
        candidates = self._in_namespaces.get(result.name or "", ())
        call = self._by_id.get(result.call_id)
        name: str | None = None
        if call is not None:
            name = call.name
        elif len(candidates) == 1 and not result.call_id:
            name = next(iter(candidates))
        return replace(result, name=name) if name in candidates else result

    def resolve(self, result: Result) -> Result:
        """The result with the id and the executor of its call, if the call is known."""
        call = self._by_id.get(result.call_id)
        if call is None and result.origin == "item":
            call = self._by_item.get(result.call_id)
        elif call is None and not result.call_id and result.family == "tool-search":
            # The provider answers its search in the next item; neither has an id.
            call = self._open_searches.pop() if len(self._open_searches) == 1 else None
        if call is None:
            return result
        origin = call.origin if result.origin == "minted" else result.origin
        return replace(result, call_id=call.id, executor=call.executor, origin=origin)


class ItemReader(Struct, frozen=True, eq=False):
    """Reads the items of one wire by its block specs."""

    name: str
    blocks: Mapping[str, Block]
    has_whole_messages: bool = False
    """True if some items may be messages that no other item joins."""

    # --- for subclasses: which items are messages ---

    def is_message(self, item: Object) -> bool:
        """True if an item is a message of a role."""
        kind = item.get("type")
        return kind == "message" or (kind is None and "role" in item)

    def message_spec(self, item: Object) -> Block:
        """The spec for an item that is a message."""
        return MESSAGE

    def is_whole_message(self, item: Object) -> bool:
        """True if an item is a message with everything of its turn, which no other item joins."""
        return False

    def defines_tools(self, item: Object, key: str) -> bool:
        """True if an item of the list `key` defines tools."""
        if key != "input" or item.get("type") != TOOLS_ITEM.name:
            return False
        return tools_in_item(item) is not None

    # --- items ---

    def read_items(
        self, items: list[JSON], key: str, index: CallIndex, start: int = 0
    ) -> Iterator[tuple[Role | None, tuple[Part, ...]]]:
        """The role and parts of each item from a position on.

        The role is None for an unknown item; there are no parts if the item defines tools.
        """
        for i, item in enumerate(items[start:], start):
            path: JsonPath = (key, i)
            if not isinstance(item, dict):
                raise_unexpected(self.name, path, dict, item)
            if self.is_message(item):
                role, parts = self.read_message(item, path)
                if role == "assistant" and not self.is_whole_message(item):
                    index.unknown_fields += _unknown_fields(item, path, self.message_spec(item))
            elif self.defines_tools(item, key):
                index.unknown_fields += _unknown_fields(item, path, TOOLS_ITEM)
                index.tools_items.append(i)
                yield None, ()
                continue
            else:
                parts = self._read_item(item, path, index)
                role = _role_of(parts[0])
            if role == "assistant" and item.get("status") not in (None, "completed"):
                index.unknown_fields.append((*path, "status"))
            yield role, parts

    def read_message(self, item: Object, path: JsonPath) -> tuple[Role | None, tuple[Part, ...]]:
        """The role and parts of a message item. One that cannot be read still has its role, or the
        one that its fields show, because its role decides where a turn ends."""
        name, content = item.get("role"), item.get("content")
        if name == "tool" and isinstance(content, str | list | None):
            assert TOOL_MESSAGE.read is not None
            return "tool", (TOOL_MESSAGE.read(item, path, TOOL_MESSAGE),)
        role = ROLES.get(name) if isinstance(name, str) else None
        if role is not None and isinstance(content, str):
            spec = content_block(PLAIN_TEXT, item)
            source = Source(content, (*path, "content"), spec, None, True)
            return role, (Text(content, source=source),)
        if content is None and item.keys() <= MESSAGE.keys:
            content = []
        if role is None or content is None:
            return role or meant_role(item), (opaque("message", item, path),)
        if not isinstance(content, list):
            raise_unexpected(self.name, (*path, "content"), (str, list), content)
        if not content:
            return role, (Text("", source=Source(item, path, EMPTY_MESSAGE)),)
        in_answer = path[0] != "input"
        parts = read_content(content, (*path, "content"), in_answer=in_answer)
        return role, tuple([remember_item(part, item) for part in parts])

    def _read_item(self, item: Object, path: JsonPath, index: CallIndex) -> tuple[Part, ...]:
        kind = item.get("type")
        spec = self.blocks.get(kind) if isinstance(kind, str) else None
        if spec is None or spec.read is None:
            return (opaque(kind, item, path),)
        try:
            part = spec.read(item, path, spec)
        except UNREADABLE:
            return (opaque(kind, item, path),)
        if isinstance(part, Reasoning) and item.get("content") and item.get("summary"):
            index.unknown_fields.append((*path, "summary"))
        if isinstance(part, Result):
            part = index.qualify(part) if part.name else part
            return (index.resolve(part) if spec.name in INCOMPLETE_RESULTS else part,)
        if isinstance(part, Call):
            index.add(part)
            call_spec = part.source.spec
            answer = call_spec.answer if isinstance(call_spec, Block) else spec.answer
            if answer is not None and answer.read is not None:
                result = answer.read(item, path, answer)
                assert isinstance(result, Result)
                if result.output or str(item.get("status")) not in RUNNING:
                    return part, replace(result, name=part.name)
        return (part,)

    def read_turns(self, items: list[JSON], index: CallIndex, start: int = 0) -> list[Message]:
        """The messages of the items of `input` from a position on at which no turn is open."""
        messages: list[Message] = []
        parts: list[Part] = []
        role: Role | None = None
        """The role of the open turn; None between turns."""
        tools_items: list[Message] = []
        """Items that define tools in the middle of a turn: their messages follow the turn, to keep
        it whole."""

        def close_turn() -> None:
            if parts and role is not None:
                source = Source(path=parts[0].path[:2])
                messages.append(Message(role, tuple(parts), wire=self.name, source=source))
                parts.clear()
            if tools_items:
                messages.extend(tools_items)
                tools_items.clear()

        read_items = self.read_items(items, "input", index, start)
        for i, (item_role, item_parts) in enumerate(read_items, start):
            is_whole = self.has_whole_messages and self._is_whole(items[i])
            if is_whole or item_role in ("user", "system"):
                close_turn()
                role = None
                source = Source(items[i], ("input", i), self._spec_at(items, i))
                message_role = item_role or "user"
                messages.append(Message(message_role, item_parts, wire=self.name, source=source))
            elif not item_parts:
                item_role = "user" if role is None else "tool"
                if role is None and all(message.role == "system" for message in messages):
                    item_role = "system"
                source = Source(path=("input", i), spec=replace(TOOLS_ITEM, item=items[i]))
                tools_items.append(Message(item_role, (), wire=self.name, source=source))
                if role is None:
                    close_turn()
            else:
                # An unknown item belongs to the open turn: it must not separate calls from results.
                turn_role = item_role or role or "user"
                if turn_role != role:
                    close_turn()
                    role = turn_role
                parts.extend(item_parts)
        close_turn()
        return messages

    def _is_whole(self, item: JSON) -> bool:
        return isinstance(item, dict) and self.is_whole_message(item)

    def _spec_at(self, items: list[JSON], i: int) -> Block:
        item = items[i]
        return self.message_spec(item) if isinstance(item, dict) else MESSAGE


def remember_item(part: Part, item: Object) -> Part:
    """A part whose spec remembers the item that holds it."""
    spec = part.spec if isinstance(part.spec, Block) else OPAQUE
    return replace(part, source=replace(part.source, spec=content_block(spec, item)))


def _unknown_fields(item: Object, path: JsonPath, spec: Block) -> list[JsonPath]:
    if spec.keys.issuperset(item):
        return []
    return [
        (*path, name)
        for name, value in item.items()
        if name not in spec.keys and name not in BREAKPOINT_FIELDS and value is not None
    ]


def _role_of(part: Part) -> Role | None:
    """The role that an item belongs to; None if it is unknown."""
    if isinstance(part, Result):
        return "tool" if part.executor == "client" else "assistant"
    return None if isinstance(part, Opaque) else "assistant"
