"""Writing messages as items.

Items that were read from the same wire are written verbatim, with the edits of their parts; an item
is written whole as long as one of its parts is left. Parts of other wires get no item id, since it
would name something on another server; where a type requires one, it is derived from the position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Text,
    say_error,
)
from toolwire.wires.engine.capabilities import Place
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import NO_ERROR_FLAG, lower_part
from toolwire.wires.engine.specs import Block, keys, patch_block, patch_message, read_id
from toolwire.wires.families.items.content import CAPABILITIES, ContentBlock, write_content
from toolwire.wires.families.items.item_specs import ONLY_ITEM_ID
from toolwire.wires.families.items.item_types import CUSTOM, FUNCTION, only_image, output_list
from toolwire.wires.families.items.namespaces import name_fields
from toolwire.wires.families.items.tools import ToolsItem
from toolwire.wires.families.items.turns import ItemReader

_TEXT_RESULTS = keys(
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
)
"""Results that hold only text, or blocks."""
_RESULTS_WITH_ERROR_FLAG = keys("apply_patch_call_output")


class _NewItem(Struct, frozen=True, kw_only=True):
    """What a new item of a call needs beside what its part knows."""

    prefix: str
    """The prefix of its item id, which is required in an answer."""
    id_in_request: bool = False
    """The item id is required in a request too."""
    fields: Mapping[str, JSON] = {}
    holds: Callable[[Output], bool] = lambda output: True
    """True if the result of such a call can hold an output. If one of its results cannot, the call
    is written as a function's."""


def _is_object_list(output: Output) -> bool:
    entries = output_list(output)
    return entries is not None and all(isinstance(entry, dict) for entry in entries)


_CLIENT_TOOLS = {
    "computer_call": _NewItem(
        prefix="cu",
        id_in_request=True,
        fields={"pending_safety_checks": []},
        holds=lambda output: only_image(output) is not None,
    ),
    "apply_patch_call": _NewItem(prefix="apc"),
    "shell_call": _NewItem(prefix="sh", holds=_is_object_list),
    "local_shell_call": _NewItem(prefix="lsh", id_in_request=True),
    "tool_search_call": _NewItem(
        prefix="tsc", fields={"execution": "client"}, holds=_is_object_list
    ),
}
"""Special types that a new call can have. Others need a label of their server."""
_ANY_TOOL = {"function_call": _NewItem(prefix="fc"), "custom_tool_call": _NewItem(prefix="ctc")}
"""Calls of any tool. Clients of a stream find the deltas of a call by its item id."""


class ItemWriter:
    """Writes the messages of one conversation as items."""

    def __init__(self, reader: ItemReader, context: EncodeContext, *, first_index: int = 0) -> None:
        self.reader = reader
        self.blocks = reader.blocks
        self.context = context
        self.items: list[JSON] = []
        self.first_index = first_index
        """The index of the first item in the list of the body."""
        self.content: list[JSON] = []
        """Blocks of the user or system message that is being written."""
        self.role: Role = "user"
        self.families: dict[str, str] = {}
        """The family that each call was written as, by call id."""
        self.without_call_id: set[str] = set()
        """Calls of this wire that have no call id, so their results cannot name them."""
        self.tools_items: dict[JsonPath, JSON] = {}
        """Items that define tools and are not written yet, by path."""
        self._result_specs: dict[str, Block] = {}
        """The specs of results by family; collected on first use."""
        self._results: dict[str, list[Result]] | None = None
        """The results of each call, by call id; collected on first use."""

    def write_items(self, messages: Iterable[Message]) -> list[JSON]:
        """The items of some messages."""
        messages = tuple(messages)
        self.tools_items = {
            message.path: message.spec.item
            for message in messages
            if message.wire == self.context.wire and isinstance(message.spec, ToolsItem)
        }
        for message in messages:
            self.role = message.role
            self._write_message(message)
            self._close_message()
        return self.items

    # --- items of the same wire ---

    def _write_message(self, message: Message) -> None:
        native, parts = message.wire == self.context.wire, message.parts
        if native and isinstance(message.spec, ToolsItem):
            self._write_tools_items(message.path)
        elif native and isinstance(message.raw, dict):
            item = patch_message(message, self.context, self._read_message)
            plain = all(isinstance(part, Text | Media | Opaque) for part in parts)
            if isinstance(item, UnsetType) and plain:
                content = [block for part in parts for block in self._patch_blocks(part)]
                item = {**message.raw, "content": content}
            if not isinstance(item, UnsetType):
                self.items.append(item)
                return
        start = 0
        while start < len(parts):
            source = _source_item(parts[start]) if native else None
            end = start + 1
            while (
                source is not None
                and end < len(parts)
                and _source_item(parts[end]) is source
                and parts[end].path[:2] == parts[start].path[:2]
            ):
                end += 1
            if self.tools_items and native:
                self._write_tools_items(parts[start].path[:2])
            self._write_parts(source, parts[start:end])
            start = end

    def _write_tools_items(self, path: JsonPath) -> None:
        """Write the items that define tools up to a path: they may be inside a turn."""
        for item_path in list(self.tools_items):
            if item_path[:1] == path[:1] and item_path <= path:
                self._add_item(self.tools_items.pop(item_path))

    def _read_message(self, item: JSON, path: JsonPath) -> Message:
        assert isinstance(item, dict)
        role, parts = self.reader.read_message(item, path)
        return Message(role or "user", parts)

    def _write_parts(self, source: Object | None, parts: tuple[Part, ...]) -> None:
        """Write the parts of one item, or one part that was read from none."""
        item = UNSET if source is None else self._patch_item(source, parts)
        if source is None or isinstance(item, UnsetType):
            for part in parts:
                self._write_part(part)
            return
        self._add_item(item)
        if not read_id(source.get("call_id"))[0]:
            self.without_call_id |= {
                part.id for part in parts if isinstance(part, Call) and part.origin != "wire"
            }

    def _patch_item(self, item: Object, parts: tuple[Part, ...]) -> JSON | UnsetType:
        """An item with the edits of its parts; UNSET if a part became one of another type."""
        if not isinstance(parts[0].spec, ContentBlock):
            edited: JSON | UnsetType = item
            for part in parts:
                if not isinstance(edited, UnsetType):
                    edited = patch_block(part, self.context, edited)
            return edited
        blocks: list[JSON] = []
        for part in parts:
            raw = part.raw
            block = UNSET if isinstance(raw, UnsetType) else patch_block(part, self.context, raw)
            if isinstance(block, UnsetType):
                return UNSET
            blocks.append(block)
        content = item.get("content")
        if isinstance(content, str):
            return item if blocks[0] is content else {**item, "content": blocks[0]}
        return item if blocks == content else {**item, "content": blocks}

    def _patch_blocks(self, part: Part) -> list[JSON]:
        """The blocks of a part of a message that gained or lost parts."""
        if isinstance(part.spec, ContentBlock) and isinstance(part.raw, dict):
            block = patch_block(part, self.context, part.raw)
            if not isinstance(block, UnsetType):
                return [block]
        return self._blocks(part)

    # --- new parts, and parts of other wires ---

    def _write_part(self, part: Part) -> None:
        if isinstance(part, Call):
            self._add_item(self._write_call(part))
        elif isinstance(part, Result):
            self._add_item(self._write_result(part))
        elif self.role != "assistant":
            self.content += self._blocks(part)
        elif isinstance(part, Text):
            self._write_text(part)
        else:
            # Lowering leaves messages of this wire alone, but parts may have been added to them.
            kind, losses = self.context.kind, self.context.losses
            for lowered in lower_part(part, CAPABILITIES, "assistant", kind=kind, losses=losses):
                if isinstance(lowered, Text):
                    self._write_text(lowered)
                elif isinstance(lowered, Reasoning):
                    summary: JSON = [{"type": "summary_text", "text": lowered.text}]
                    item_id = self._item_id("rs")
                    self.items.append({"type": "reasoning", "id": item_id, "summary": summary})

    def _blocks(self, part: Part) -> list[JSON]:
        place: Place = "system" if self.role == "system" else "user"
        return write_content(part, self.context, place)

    def _add_item(self, item: JSON) -> None:
        self._close_message()
        self.items.append(item)

    def _close_message(self) -> None:
        """Write the message item of the collected blocks; a single text becomes a plain string."""
        if not self.content:
            return
        content: JSON = self.content
        block = self.content[0]
        if len(self.content) == 1 and isinstance(block, dict) and block.keys() == {"type", "text"}:
            content = block["text"]
        role = "system" if self.role == "system" else "user"
        self.items.append({"role": role, "content": content})
        self.content = []

    def _item_id(self, prefix: str, *more: str) -> str:
        """An id for a new item, derived from its position."""
        index = self.first_index + len(self.items)
        return f"{prefix}_{digest(self.context.seed, index, *more)}"

    def _write_text(self, part: Text) -> None:
        if not part.text:
            return
        if self.context.kind != "response":
            self.items.append({"role": "assistant", "content": part.text})
            return
        block: JSON = {"type": "output_text", "text": part.text, "annotations": []}
        if part.refusal:
            block = {"type": "refusal", "refusal": part.text}
        self.items.append(
            {
                "type": "message",
                "id": self._item_id("msg"),
                "status": "completed",
                "role": "assistant",
                "content": [block],
            }
        )

    # --- calls ---

    def _write_call(self, call: Call) -> JSON:
        if call.family == "custom" or "custom" in self.context.forms_of(call):
            spec = CUSTOM
        else:
            spec = self._special_spec(call) or FUNCTION
        assert spec.write is not None
        item = spec.write(call, self.context)
        assert isinstance(item, dict)
        item.pop("id", None)
        kind = str(item.pop("type"))
        same_type = kind == spec.name
        self.families[call.id] = spec.family if same_type else FUNCTION.family
        needs = _CLIENT_TOOLS.get(spec.name) if same_type else None
        call_id, is_answer = self.context.call_id(call), self.context.kind == "response"
        if needs is None and not is_answer:
            return {"type": kind, **item, "call_id": call_id}
        needs = needs or _ANY_TOOL[kind]
        item_id: Object = {}
        if needs.id_in_request or is_answer:
            item_id["id"] = self._item_id(needs.prefix, call_id)
        return {
            "type": kind,
            **item_id,
            **item,
            "call_id": call_id,
            **needs.fields,
            "status": "completed",
        }

    def _special_spec(self, call: Call) -> Block | None:
        """The spec of a call that has a type of its own on wires of this shape, if its results can
        be written as that type's."""
        notes = self.context.forms_of(call)
        spec = self._source_spec(call) or self._spec_of_family(_CLIENT_TOOLS, notes)
        if spec is None:
            return None
        if self._results is None:
            self._results = {}
            for result in self.context.results:
                self._results.setdefault(result.call_id, []).append(result)
        holds = _CLIENT_TOOLS[spec.name].holds
        fits = all(holds(result.output) for result in self._results.get(call.id, ()))
        return spec if fits else None

    def _spec_of_family(self, names: Iterable[str], families: Collection[str]) -> Block | None:
        """The first of some specs that belongs to one of the families."""
        if not families:
            return None
        specs = (self.blocks[name] for name in names)
        return next((spec for spec in specs if spec.family in families), None)

    def _source_spec(self, part: Call | Result) -> Block | None:
        """The spec that a part was read by on another wire of this shape, if a new item can have
        its type."""
        spec = part.spec
        if not isinstance(spec, Block) or self.blocks.get(spec.name) is not spec:
            return None
        if spec.part is not type(part):
            return None
        return spec if isinstance(part, Result) or spec.name in _CLIENT_TOOLS else None

    # --- results ---

    def _write_result(self, result: Result) -> JSON:
        context = self.context
        call_is_here = result.call_id in self.families
        spec = None if call_is_here else self._source_spec(result)
        spec = spec or self._result_spec(result)
        assert spec.write is not None
        has_flag = spec.name in _RESULTS_WITH_ERROR_FLAG
        structured = spec.name not in _TEXT_RESULTS
        context.record_result_form(result, flag=has_flag, structure=structured)
        if context.is_error(result) and not has_flag:
            context.report_loss(result, NO_ERROR_FLAG)
            output = say_error(context.output(result))
            item = spec.write(
                replace(result, call_id=context.result_id(result), output=output), context
            )
        else:
            item = spec.write(result, context)
        assert isinstance(item, dict)
        if spec.ids is ONLY_ITEM_ID:  # an item id of another server names nothing here
            item["id"] = context.result_id(result)
        if result.call_id in self.without_call_id and item.pop("call_id", None) is not None:
            item.update(name_fields(context.name(result.name or "")))
        return item

    def _result_spec(self, result: Result) -> Block:
        """The spec of the result type that answers the call as it was written here, or as it was
        before it was translated to another wire."""
        family = self.families.get(result.call_id)
        if not family:
            before = self._spec_of_family(_CLIENT_TOOLS, self.context.forms_of(result))
            if before is not None and _CLIENT_TOOLS[before.name].holds(result.output):
                family = before.family
        if not self._result_specs:
            self._result_specs = {
                spec.family: spec
                for spec in self.blocks.values()
                if spec.direction == "output" and spec.executor == "client"
            }
        return self._result_specs.get(family or result.family, self._result_specs["function"])


def _source_item(part: Part) -> Object | None:
    """The item that a part was read from; None for a part of a wire of another shape."""
    if part.path[:1] not in (("input",), ("output",)):
        return None
    item = part.spec.item if isinstance(part.spec, ContentBlock) else part.raw
    return item if isinstance(item, dict) else None
