"""Write messages as items of the types in `item_types`.

Parts of other wires get no item id, because it would refer to an item on another server; where a
type requires one, it is derived from the position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Call,
    Message,
    Output,
    Part,
    Reasoning,
    Result,
    Text,
    with_error_mark,
)
from toolwire.wires.engine.capabilities import Place
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import NO_ERROR_FLAG, is_added
from toolwire.wires.engine.specs import Block, keys, read_id, single_text
from toolwire.wires.families.items.content import CAPABILITIES, write_content
from toolwire.wires.families.items.item_list import ItemListWriter
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
"""Results that hold only text or blocks."""
_BLOCK_RESULTS = keys("function_call_output", "custom_tool_call_output")
"""Results that hold blocks."""
_RESULTS_WITH_ERROR_FLAG = keys("apply_patch_call_output")


class _NewItem(Struct, frozen=True, kw_only=True):
    """Requirements for a new item of a call."""

    prefix: str
    """The prefix of its item id, which is required in an answer."""
    id_in_request: bool = False
    """The item id is required in a request, too."""
    fields: Mapping[str, JSON] = {}
    holds: Callable[[Output], bool] = lambda output: True
    """Returns True if the result of such a call can hold an output. If one of its results cannot,
    the call is written as a function call."""


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
"""Special types that a new call can have. Other types need the label of their server."""
_ANY_TOOL = {"function_call": _NewItem(prefix="fc"), "custom_tool_call": _NewItem(prefix="ctc")}
"""Types for calls of any tool. Clients of a stream find the deltas of a call by its item id."""


class ItemWriter(ItemListWriter):
    """Writes the messages of one conversation as items of this shape."""

    lists = keys("input", "output")
    capabilities = CAPABILITIES

    def __init__(self, reader: ItemReader, context: EncodeContext, *, first_index: int = 0) -> None:
        super().__init__(reader, context)
        self.blocks = reader.blocks
        self.first_index = first_index
        """The index of the first item in the list of the body."""
        self.families: dict[str, str] = {}
        """The family as which each call was written, by call id."""
        self.without_call_id: set[str] = set()
        """Calls of this wire without a call id: their results cannot refer to them."""
        self.tools_items: dict[JsonPath, JSON] = {}
        """Items that define tools and have not been written yet, by path."""
        self._result_specs: dict[str, Block] = {}
        """The specs of results by family; collected on first use."""
        self._results: dict[str, list[Result]] | None = None
        """The results of each call, by call id; collected on first use."""

    def write_items(self, messages: Iterable[Message]) -> list[JSON]:
        messages = tuple(messages)
        self.tools_items = {
            message.path: message.spec.item
            for message in messages
            if message.wire == self.context.wire and isinstance(message.spec, ToolsItem)
        }
        return super().write_items(messages)

    # --- items of the same wire ---

    def write_message(self, message: Message) -> None:
        if message.wire == self.context.wire and isinstance(message.spec, ToolsItem):
            self.prepare_parts(message.path)
        super().write_message(message)

    def prepare_parts(self, path: JsonPath) -> None:
        """Write the items that define tools up to a path: they may be inside a turn."""
        for item_path in list(self.tools_items):
            if item_path[:1] == path[:1] and item_path <= path:
                self.add_item(self.tools_items.pop(item_path))

    def finish_item(self, item: Object, parts: tuple[Part, ...]) -> None:
        for part in parts:
            if type(part) is Call and part.origin != "wire" and not read_id(item.get("call_id"))[0]:
                self.without_call_id.add(part.id)

    # --- new parts, and parts of other wires ---

    def write_blocks(self, part: Part) -> list[JSON]:
        place: Place = "system" if self.role == "system" else "user"
        return write_content(part, self.context, place)

    def write_content(self, content: list[JSON]) -> JSON:
        """The message item for the blocks; a single text becomes a plain string."""
        role = "system" if self.role == "system" else "user"
        return {"role": role, "content": single_text(content)}

    def write_answer_part(self, part: Part) -> None:
        if isinstance(part, Text):
            self._write_text(part)
        elif isinstance(part, Reasoning):
            summary: JSON = [{"type": "summary_text", "text": part.text}]
            item_id = self._item_id("rs")
            self.items.append({"type": "reasoning", "id": item_id, "summary": summary})

    def _item_id(self, prefix: str, *more: str) -> str:
        """An id for a new item, derived from its position."""
        index = self.first_index + len(self.items)
        seed = self.context.answer_id or self.context.seed
        return f"{prefix}_{digest(seed, index, *more)}"

    def _write_text(self, part: Text) -> None:
        if not part.text:
            return
        if self.context.kind != "response":
            self.items.append({"role": "assistant", "content": part.text})
            return
        block: JSON = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
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

    def write_call(self, call: Call) -> JSON:
        spec = self.call_spec(call)
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

    def call_spec(self, call: Call) -> Block:
        """The spec of the item that a call becomes."""
        if call.family == "custom" or self.context.call_form(call).family == "custom":
            return CUSTOM
        return self._special_spec(call) or FUNCTION

    def _special_spec(self, call: Call) -> Block | None:
        """The special type of a call on wires of this shape, if that type can hold its results."""
        family = self.context.call_form(call).family
        spec = self._source_spec(call) or self._spec_of_family(family)
        if spec is None:
            return None
        if self._results is None:
            self._results = {}
            for result in self.context.results:
                self._results.setdefault(result.call_id, []).append(result)
        holds = _CLIENT_TOOLS[spec.name].holds
        fits = all(holds(result.output) for result in self._results.get(call.id, ()))
        return spec if fits else None

    def _spec_of_family(self, family: str) -> Block | None:
        """The first call type of a family among those that a client runs."""
        if not family:
            return None
        specs = (self.blocks[name] for name in _CLIENT_TOOLS)
        return next((spec for spec in specs if spec.family == family), None)

    def _source_spec(self, part: Call | Result) -> Block | None:
        """The spec with which a part was read on another wire of this shape, if new items can have
        that type."""
        spec = part.spec
        if not isinstance(spec, Block) or self.blocks.get(spec.name) is not spec:
            return None
        if spec.part is not type(part):
            return None
        return spec if isinstance(part, Result) or spec.name in _CLIENT_TOOLS else None

    # --- results ---

    def write_result(self, result: Result) -> JSON:
        context = self.context
        call_is_here = result.call_id in self.families
        spec = None if call_is_here else self._source_spec(result)
        spec = spec or self._result_spec(result)
        assert spec.write is not None
        has_flag = spec.name in _RESULTS_WITH_ERROR_FLAG
        structured = spec.name not in _TEXT_RESULTS
        context.record_result_form(result, flag=has_flag, structure=structured)
        if context.is_error(result) and not has_flag:
            if not is_added(result):
                context.report_loss(result, NO_ERROR_FLAG)
            output = with_error_mark(context.output(result))
            item = spec.write(
                replace(result, call_id=context.result_id(result), output=output), context
            )
        else:
            item = spec.write(result, context)
        assert isinstance(item, dict)
        if context.breakpoints is not None and result in context.breakpoints:
            self._mark_output(item, result)
        if spec.ids is ONLY_ITEM_ID:  # an item id of another server means nothing here
            item["id"] = context.result_id(result)
        if result.call_id in self.without_call_id and item.pop("call_id", None) is not None:
            item.update(name_fields(context.name(result.name or "")))
        return item

    def _mark_output(self, item: Object, result: Result) -> None:
        """Mark the last block of a result; an output of text first becomes a block."""
        output = item.get("output")
        blocks: JSON = output
        if isinstance(output, str):
            blocks = [{"type": "input_text", "text": output}]
        if isinstance(blocks, list) and item.get("type") in _BLOCK_RESULTS:
            item["output"] = self.mark(blocks, result)

    def _result_spec(self, result: Result) -> Block:
        """The result type for the call as it was written here, or as it was before a translation to
        another wire."""
        family = self.families.get(result.call_id)
        if not family:
            before = self._spec_of_family(self.context.result_form(result).family)
            if before is not None and _CLIENT_TOOLS[before.name].holds(result.output):
                family = before.family
        if not self._result_specs:
            self._result_specs = {
                spec.family: spec
                for spec in self.blocks.values()
                if spec.direction == "output" and spec.executor == "client"
            }
        return self._result_specs.get(family or result.family, self._result_specs["function"])
