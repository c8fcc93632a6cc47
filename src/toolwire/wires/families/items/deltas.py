"""How items grow in a stream: which field of which item each event adds to.

A finished item is what its last event says; an unfinished one is what its events add up to.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.specs import read_id
from toolwire.wires.engine.stream import copy_json, merge

_TEXT: Object = {"type": "output_text", "text": "", "annotations": []}
_REFUSAL: Object = {"type": "refusal", "refusal": ""}
_REASONING: Object = {"type": "reasoning_text", "text": ""}
_SUMMARY: Object = {"type": "summary_text", "text": ""}


class Target(Struct, frozen=True, eq=False):
    """The field of an item that an event is about."""

    item: str
    """The type of the item, for events whose item was never added."""
    path: tuple[str, ...]
    """The path in the item; `#name` is the number in the event's field `name`."""
    new: JSON = None
    """The initial value of a list entry on the path."""
    field: str = ""
    """The field of the event that has the value."""

    def path_of(self, event: Chunk) -> JsonPath:
        """The path in the item for one event."""
        return tuple(
            [list_index(event.get(step[1:])) if step[0] == "#" else step for step in self.path]
        )


def list_index(value: JSON) -> int:
    """An index of a list; an invalid one is 0."""
    return value if isinstance(value, int) and value > 0 else 0


_CONTENT = ("content", "#content_index")
_SUMMARIES = ("summary", "#summary_index")
_COMMANDS = ("action", "commands", "#command_index")
_SHELL_OUTPUT = ("output", "#command_index")
_GROWING = {
    "output_text": Target("message", (*_CONTENT, "text"), new=_TEXT, field="text"),
    "refusal": Target("message", (*_CONTENT, "refusal"), new=_REFUSAL, field="refusal"),
    "reasoning_text": Target("reasoning", (*_CONTENT, "text"), new=_REASONING, field="text"),
    "reasoning_summary_text": Target(
        "reasoning", (*_SUMMARIES, "text"), new=_SUMMARY, field="text"
    ),
    "function_call_arguments": Target("function_call", ("arguments",), field="arguments"),
    "custom_tool_call_input": Target("custom_tool_call", ("input",), field="input"),
    "mcp_call_arguments": Target("mcp_call", ("arguments",), field="arguments"),
    "code_interpreter_call_code": Target("code_interpreter_call", ("code",), field="code"),
    "apply_patch_call_operation_diff": Target(
        "apply_patch_call", ("operation", "diff"), field="diff"
    ),
    "shell_call_command": Target("shell_call", _COMMANDS, new="", field="command"),
    "shell_call_output_content": Target("shell_call_output", _SHELL_OUTPUT, new={}),
}
DELTAS = {f"response.{name}.delta": target for name, target in _GROWING.items()}
"""Events with a piece of a field, under `delta`."""
DONES = {f"response.{name}.done": target for name, target in _GROWING.items()}
"""Events with the complete value of a field."""
_PART = Target("message", _CONTENT, new=_TEXT, field="part")
_SUMMARY_PART = Target("reasoning", _SUMMARIES, new=_SUMMARY, field="part")
SETS = {
    "response.content_part.added": _PART,
    "response.content_part.done": _PART,
    "response.reasoning_summary_part.added": _SUMMARY_PART,
    "response.reasoning_summary_part.done": _SUMMARY_PART,
    "response.output_text.annotation.added": Target(
        "message", (*_CONTENT, "annotations", "#annotation_index"), new=_TEXT, field="annotation"
    ),
    "response.shell_call_command.added": Target("shell_call", _COMMANDS, new="", field="command"),
    "response.image_generation_call.partial_image": Target(
        "image_generation_call", ("partial_image_b64",), field="partial_image_b64"
    ),
}
"""Events that set a value at once."""
_REPLACES_DELTAS = frozenset({"response.content_part.done", "response.reasoning_summary_part.done"})


class ItemAccumulator:
    """Assembles an item from its events."""

    __slots__ = ("_pieces", "block")

    def __init__(self, block: Object) -> None:
        self.block = block
        self._pieces: dict[JsonPath, tuple[Target, list[JSON]]] = {}

    @property
    def type(self) -> JSON:
        return self.block.get("type")

    @property
    def id(self) -> str:
        """The id of the item, or an empty string."""
        return read_id(self.block.get("id"))[0]

    def is_item(self, block: Mapping[str, JSON]) -> bool:
        """True if a block may be this item: it has the same type, and the same id or no different
        call id."""
        if self.type != block.get("type"):
            return False
        if self.id and self.id == read_id(block.get("id"))[0]:
            return True
        call_id, other = read_id(self.block.get("call_id"))[0], read_id(block.get("call_id"))[0]
        return not call_id or not other or call_id == other

    def store_delta(self, event: Chunk, target: Target) -> None:
        """Add a piece of a field."""
        path = target.path_of(event)
        self._pieces.setdefault(path, (target, []))[1].append(event.get("delta"))
        logprobs = event.get("logprobs")
        if isinstance(logprobs, list) and logprobs:
            self._pieces.setdefault((*path[:-1], "logprobs"), (target, []))[1].append(logprobs)

    def store_complete(self, event: Chunk, target: Target) -> None:
        """Replace the pieces of a field with its complete value."""
        value = event.get(target.field)
        if value is not None:
            self._pieces[target.path_of(event)] = (target, [value])

    def store_value(self, event: Chunk, target: Target) -> None:
        """Set a value; a finished part replaces its pieces."""
        value = event.get(target.field)
        if value is None:
            return
        path = target.path_of(event)
        if event.get("type") in _REPLACES_DELTAS:
            self._pieces = {
                key: pieces for key, pieces in self._pieces.items() if key[: len(path)] != path
            }
        _put(self.block, path, copy_json(value), target.new)

    def store_final(self, block: Object) -> None:
        """Take the finished item. Pieces of fields that it leaves empty still count."""
        self.block = block
        self._pieces = {
            path: pieces for path, pieces in self._pieces.items() if not get(block, path)
        }

    def keep_ids_only(self) -> None:
        """Forget everything but what distinguishes the item from others."""
        known = ("type", "id", "call_id")
        self.block = {key: self.block[key] for key in known if key in self.block}
        self._pieces = {}

    def assemble(self) -> Object:
        """The item as far as it was received."""
        for path, (target, pieces) in self._pieces.items():
            texts = [piece for piece in pieces if isinstance(piece, str)]
            if len(texts) == len(pieces):
                value: JSON = "".join(texts)
            else:
                value = reduce(merge, pieces, None)
            _put(self.block, path, value, target.new)
        self._pieces = {}
        return self.block


def _put(block: Object, path: JsonPath, value: JSON, new: JSON) -> None:
    """Put a value at a path of a block, and make what is missing on the way. An index past the end
    of a list means the next entry."""
    container: JSON = block
    for step, following in zip(path, (*path[1:], None), strict=True):
        inner: JSON = None
        if isinstance(container, dict):
            inner = container.get(str(step))
        elif isinstance(container, list) and list_index(step) < len(container):
            inner = container[list_index(step)]
        elif following is not None:
            inner = copy_json(new)
        if following is None:
            inner = value
        elif not isinstance(inner, list if isinstance(following, int) else dict):
            inner = [] if isinstance(following, int) else {}
        if isinstance(container, dict):
            container[str(step)] = inner
        elif isinstance(container, list):
            container[list_index(step) : list_index(step) + 1] = [inner]
        container = inner
