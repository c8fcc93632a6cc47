"""Whole bodies: a request or a response is a list of items, with settings and tools beside it.

Several wires have this shape; an `ItemBodies` holds the block specs of one wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.id_rules import NAMESPACE_SEPARATOR
from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import BodySource, Choice, Conversation, Kind, Tool
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source, Text
from toolwire.conversation.relocation import move
from toolwire.wires.engine.answers import complete_answer, seed_from
from toolwire.wires.engine.bodies import answer_message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingsRead, put_tools, read_settings, write_settings
from toolwire.wires.engine.specs import Block, keys, list_at, raise_unexpected
from toolwire.wires.families.items.content import PLAIN_TEXT
from toolwire.wires.families.items.item_types import INCOMPLETE_RESULTS
from toolwire.wires.families.items.item_writer import ItemWriter
from toolwire.wires.families.items.namespaces import join_name, repeats_name, split_name
from toolwire.wires.families.items.settings import (
    ANSWER,
    REQUEST,
    RESPONSE,
    RESPONSE_FIELDS,
    read_finish_reason,
    resolve_choice,
    write_choice,
    write_finish_reason,
)
from toolwire.wires.families.items.tools import (
    TOOLS_ITEM,
    ToolsItem,
    read_added_tools,
    read_tools,
    write_tools,
)
from toolwire.wires.families.items.turns import CallIndex, ItemReader

_OTHER_ITEMS = keys(
    "message",
    "item_reference",
    "compaction",
    "compaction_trigger",
    "additional_tools",
    "configuration_update",
    "agent_message",
)
"""Items that are neither calls nor results."""
_HISTORY_ELSEWHERE = ("prompt", "conversation", "previous_response_id")
"""Fields that refer to a history on the server; a request with one of them needs no input."""


def _qualify_repeated_names(messages: list[Message], tools: list[Tool]) -> list[Message]:
    """Qualify calls whose namespace repeats their name, if a tool is defined in that namespace."""
    names = (split_name(tool.name) for tool in tools)
    defined = {name for namespace, name in names if namespace == name}
    if not defined:
        return messages

    def qualify(part: Part) -> Part:
        if not isinstance(part, Call) or part.name not in defined or not repeats_name(part.raw):
            return part
        return replace(part, name=join_name(part.name, part.name))

    return [replace(message, parts=tuple(map(qualify, message.parts))) for message in messages]


class ItemBodies(ItemReader, frozen=True, eq=False):
    """Reads and writes the bodies of one wire by its block specs."""

    # --- reading ---

    def read(self, body: JSON, kind: Kind) -> Conversation:
        if not isinstance(body, dict):
            raise_unexpected(self.name, (), dict, body)
        return self._read_response(body) if kind == "response" else self._read_request(body)

    def _read_request(self, body: Object) -> Conversation:
        index = CallIndex()
        messages: list[Message] = []
        known = ["input", "tools"]
        instructions, history = body.get("instructions"), body.get("input")
        if isinstance(instructions, str):
            known.append("instructions")
            if instructions:
                messages.append(self._text_message("system", instructions, "instructions"))
        if body.get("text") == {"format": {"type": "text"}}:
            known.append("text")
        if isinstance(history, str):
            messages += [self._text_message("user", history, "input")] if history else []
        elif history is not None:
            messages += self.read_turns(list_at(self.name, body, ("input",)), index)
        elif all(body.get(key) is None for key in _HISTORY_ELSEWHERE):
            raise_unexpected(self.name, ("input",), (str, list), body.get("input", UNSET))
        entries = list_at(self.name, body, ("tools",)) if body.get("tools") is not None else []
        settings = read_settings(REQUEST, body, keys(*known))
        tools = read_tools(self.name, entries, ("tools",), index.unknown_fields)
        if isinstance(history, list) and index.tools_items:
            positions = index.tools_items
            tools += read_added_tools(self.name, history, positions, index.unknown_fields)
        messages = _qualify_repeated_names(messages, tools)
        values = settings.values
        if "choice" in values:
            values["choice"] = resolve_choice(values["choice"], tuple(tools))
        source = _body_source(body, settings, index)
        identified = assign_ids(tuple(messages), seed="", ordered=False)
        return Conversation(identified, tuple(tools), values, self.name, "request", source)

    def read_from(
        self, items: list[JSON], changed: int, before: Conversation
    ) -> tuple[Message, ...] | None:
        """The messages of an edited input; None if the whole body has to be read.

        Only the turns with changed items are read. A message item of the user or the system ends
        the turn before it, and of the earlier items only the calls matter.

        Args:
            items: The edited input.
            changed: The position of the first item that differs from `before`.
            before: The request as it was read before the edit.
        """
        kept, start = _turns_before(changed, before.messages)
        if not start or any(path[0] == "input" for path in before.source.unknown_fields):
            return None
        calls = [part for message in kept for part in message.parts if isinstance(part, Call)]
        if any(NAMESPACE_SEPARATOR in call.name or call.family != "function" for call in calls):
            return None
        index = CallIndex()
        for call in calls:
            index.add(call)
        moved, end = _turns_after(changed, items, before)
        messages = self.read_turns(items[:end], index, start)
        if index.unknown_fields or index.tools_items:
            return None
        return (*kept, *_qualify_repeated_names(messages, list(before.tools)), *moved)

    def _text_message(self, role: Role, text: str, key: str) -> Message:
        part = Text(text, source=Source(text, (key,), PLAIN_TEXT))
        return Message(role, (part,), wire=self.name, source=Source(text, (key,)))

    def _read_response(self, body: Object) -> Conversation:
        index = CallIndex()
        items = self.read_items(list_at(self.name, body, ("output",)), "output", index)
        parts = tuple([part for _, item_parts in items for part in item_parts])
        message = Message("assistant", parts, wire=self.name, source=Source(path=("output",)))
        reason = read_finish_reason(body, has_calls=_has_client_calls(message))
        settings = read_settings(RESPONSE, body, RESPONSE_FIELDS)
        source = _body_source(body, settings, index)
        seed = seed_from(body.get("id"))
        identified = assign_ids((replace(message, stop=reason),), seed=seed, ordered=False)
        return Conversation(identified, (), settings.values, self.name, "response", source)

    # --- writing ---

    def write(self, conversation: Conversation, context: EncodeContext) -> JSON:
        if context.kind == "response":
            return self._write_response(conversation, context)
        return self._write_request(conversation, context)

    def _write_request(self, conversation: Conversation, context: EncodeContext) -> JSON:
        native = context.native
        body = write_settings(REQUEST, conversation, context)
        choice = conversation.settings.get("choice")
        if isinstance(choice, Choice) and "tool_choice" in body:
            before = conversation.source.settings if native else None
            if before is None or before.get("choice") != choice:
                path = conversation.source.setting_paths.get("choice", ("tool_choice",))
                body["tool_choice"] = write_choice(choice, conversation.tools, context, path)
        messages = conversation.messages
        if native and not conversation.same_tools:
            messages = _update_tools_items(conversation, context)
        instructions = _instructions(messages[0], context) if messages else None
        if instructions is not None:
            body["instructions"] = instructions
            messages = messages[1:]
        elif isinstance(body.get("instructions"), str) and body["instructions"]:
            del body["instructions"]
        head, tail = _unedited_turns(conversation) if native else (_Turns(), _Turns())
        rest = messages[-(len(conversation.messages) - head.messages) :]
        writer = ItemWriter(self, context, first_index=len(head.items))
        edited = writer.write_items(rest[: len(rest) - tail.messages])
        items = [*head.items, *edited, *tail.items]
        if native and len(messages) == 1 and messages[0].path == ("input",) and len(items) == 1:
            item = items[0]
            body["input"] = item["content"] if isinstance(item, dict) else item
        elif items or not native or isinstance(body.get("input"), list):
            body["input"] = items
        self._write_tools(body, conversation, context, native=native)
        return body

    def _write_tools(
        self, body: Object, conversation: Conversation, context: EncodeContext, *, native: bool
    ) -> None:
        """Write the tools that no item of the history defines."""
        tools = conversation.tools
        if native:
            messages = conversation.messages
            items = {message.path for message in messages if isinstance(message.spec, ToolsItem)}
            tools = tuple(tool for tool in tools if tool.path[:2] not in items)
            moved = any(tool.path[:1] == ("input",) for tool in tools)
            if conversation.same_tools and not moved:
                return
        put_tools(body, write_tools(tools, context, conversation.source.body if native else None))

    def _write_response(self, conversation: Conversation, context: EncodeContext) -> JSON:
        body = write_settings(RESPONSE, conversation, context)
        if not context.native:
            body = complete_answer(body, ANSWER, context)
        context.seed = seed_from(body.get("id"))
        message = answer_message(conversation)
        items = ItemWriter(self, context).write_items((message,))
        if context.native:
            return {**body, "output": items}
        reason = write_finish_reason(message.stop)
        read = read_finish_reason(reason, has_calls=_has_client_calls(message))
        if message.stop is not None and read != message.stop:
            context.report_loss(
                message.path, f"this wire has no value for the stop reason `{message.stop}`"
            )
        return {**body, **reason, "output": items}

    # --- detection ---

    def match_score(self, body: JSON) -> int:
        """How well a body matches this shape; an unknown item lowers the score."""
        if not isinstance(body, dict):
            return 0
        items = body.get("output") if "output" in body else body.get("input")
        named = body.get("object") == "response"
        if isinstance(items, str) and "output" not in body:
            return 2 if "instructions" in body or "max_output_tokens" in body else 1
        if not isinstance(items, list) or (not items and not named):
            return 0
        kinds: set[str] = set()
        for item in items:
            if not isinstance(item, dict) or ("type" not in item and "role" not in item):
                return 0
            kind = item.get("type")
            if isinstance(kind, str):
                kinds.add(kind)
            elif kind is not None:
                return 0
            if kind == "function_call" and _is_call_of_another_api(item):
                return 0
        if not kinds <= self.blocks.keys() | _OTHER_ITEMS:
            return 2
        return 3 if named or kinds & self.blocks.keys() or "instructions" in body else 2


def _is_call_of_another_api(item: Object) -> bool:
    """True for a call whose arguments are an object and whose only id is the item id. Other APIs
    have items of the same type; on these wires, arguments are text and results need a call id."""
    return isinstance(item.get("arguments"), dict) and "call_id" not in item


def items_of(body: JSON) -> list[Object]:
    """The items of a request or a response."""
    if not isinstance(body, dict):
        return []
    items = body.get("output") if "output" in body else body.get("input")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _turns_before(changed: int, messages: Sequence[Message]) -> tuple[Sequence[Message], int]:
    """The messages of the turns before a changed item, and the position of the first item after
    them. The position is 0 if there are none, or if an item after them defines tools, because the
    message of such an item may have been moved."""
    for n in range(len(messages) - 1, -1, -1):
        source = messages[n].source
        position = source.path[-1]
        if isinstance(source.spec, ToolsItem):
            break
        if isinstance(source.raw, dict) and isinstance(position, int) and position < changed:
            return messages[:n], position
    return (), 0


def _turns_after(
    changed: int, items: list[JSON], before: Conversation
) -> tuple[Sequence[Message], int]:
    """The messages of the turns after the last changed item, at their positions in an edited input,
    and the position of their first item. There are none if reading one of them again may give
    another message."""
    old_items = get(before.source.body, ("input",))
    assert isinstance(old_items, list)
    unchanged = _count_same(old_items[changed:][::-1], items[changed:][::-1])
    distance = len(items) - len(old_items)
    for n, message in enumerate(before.messages):
        position = message.source.path[-1]
        if not isinstance(message.source.raw, dict) or not isinstance(position, int):
            continue
        if position >= len(old_items) - unchanged:
            later = [_move_turn(turn, distance) for turn in before.messages[n:]]
            moved = [turn for turn in later if turn is not None]
            return (moved, position + distance) if len(moved) == len(later) else ((), len(items))
    return (), len(items)


def _move_turn(message: Message, distance: int) -> Message | None:
    """A message at another position; None if its items have to be read again."""
    if isinstance(message.source.spec, ToolsItem) or any(map(_depends_on_call, message.parts)):
        return None
    return move(message, distance)


def _depends_on_call(part: Part) -> bool:
    """True for a result that gets its name or executor from its call."""
    if not isinstance(part, Result):
        return False
    spec = part.source.spec
    return part.name is not None or not isinstance(spec, Block) or spec.name in INCOMPLETE_RESULTS


class _Turns(Struct, frozen=True, eq=False):
    """Turns that are written verbatim."""

    messages: int = 0
    """The number of messages."""
    items: Sequence[JSON] = ()


def _unedited_turns(conversation: Conversation) -> tuple[_Turns, _Turns]:
    """The turns before the first edit of a request, and those after the last one."""
    before, messages = conversation.source.messages, conversation.messages
    items = get(conversation.source.body, ("input",))
    if before is None or not conversation.same_tools or not isinstance(items, list):
        return _Turns(), _Turns()
    first = _count_same(before, messages)
    last = _count_same(before[first:][::-1], messages[first:][::-1])
    changed = before[first].path[-1] if first < len(before) else len(items)
    kept, start = _turns_before(changed if isinstance(changed, int) else 0, before[:first])
    if any(isinstance(part, Call) and part.origin != "wire" for m in kept for part in m.parts):
        start = 0  # the items of such calls decide how their results are written
    head = _Turns(len(kept), items[:start]) if start else _Turns()
    for n, message in enumerate(before[len(before) - last :]):
        position = message.path[-1]
        if isinstance(message.raw, dict) and isinstance(position, int):
            return head, _Turns(last - n, items[position:])
    return head, _Turns()


def _count_same(before: Sequence[object], after: Sequence[object]) -> int:
    """The number of leading messages or items that are the same objects."""
    return [*map(is_, before, after), False].index(False)


def _body_source(body: Object, settings: SettingsRead, index: CallIndex) -> BodySource:
    unknown = (*settings.unknown, *index.unknown_fields)
    return BodySource(body, unknown_fields=unknown, setting_paths=settings.paths)


def _has_client_calls(message: Message) -> bool:
    return any(isinstance(part, Call) and part.runs_on_client for part in message.parts)


def _update_tools_items(conversation: Conversation, context: EncodeContext) -> tuple[Message, ...]:
    """The messages, with the current definitions in the items that define tools."""

    def update(message: Message) -> Message:
        spec = message.spec
        if not isinstance(spec, ToolsItem) or not isinstance(spec.item, dict):
            return message
        item_tools = [tool for tool in conversation.tools if tool.path[:2] == message.path]
        tools = write_tools(item_tools, context, conversation.source.body)
        updated = replace(TOOLS_ITEM, item={**spec.item, "tools": tools})
        return replace(message, source=replace(message.source, spec=updated))

    return tuple(map(update, conversation.messages))


def _instructions(message: Message, context: EncodeContext) -> str | None:
    """The text of a system message that can be the instructions: one plain text."""
    native_item = isinstance(message.raw, dict) and message.wire == context.wire
    if message.role != "system" or len(message.parts) != 1 or native_item:
        return None
    part = message.parts[0]
    if context.breakpoints is not None and part in context.breakpoints:
        return None  # a plain text cannot be marked
    return part.text if isinstance(part, Text) and not part.refusal and part.text else None
