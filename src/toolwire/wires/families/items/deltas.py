"""The item shape: how an item grows in a stream, event by event.

One table says which field of which item an event adds to. An item that was finished is what its
last event says; one that never was is what its events add up to. Knows no wire by name.
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
_THOUGHT: Object = {"type": "reasoning_text", "text": ""}
_SUMMARY: Object = {"type": "summary_text", "text": ""}


class Grows(Struct, frozen=True, eq=False):
    """What a kind of event adds to."""

    item: str
    """The type of item it belongs to, also where nobody opened one."""
    path: tuple[str, ...]
    """Where in the item; `#name` stands for the number that the event has under this name."""
    whole: str = ""
    """The field of the closing event that has all of it."""
    part: JSON = None
    """What stands in a list before it grows."""

    def path_of(self, event: Chunk) -> JsonPath:
        """Where in the item this event adds."""
        return tuple(
            [number(event.get(step[1:])) if step[0] == "#" else step for step in self.path]
        )


def number(value: JSON) -> int:
    """A place in a list; what is none is the first."""
    return value if isinstance(value, int) and value > 0 else 0


_GROWTH = {
    "response.output_text": Grows("message", ("content", "#content_index", "text"), "text", _TEXT),
    "response.refusal": Grows(
        "message", ("content", "#content_index", "refusal"), "refusal", _REFUSAL
    ),
    "response.reasoning_text": Grows(
        "reasoning", ("content", "#content_index", "text"), "text", _THOUGHT
    ),
    "response.reasoning_summary_text": Grows(
        "reasoning", ("summary", "#summary_index", "text"), "text", _SUMMARY
    ),
    "response.function_call_arguments": Grows("function_call", ("arguments",), "arguments"),
    "response.custom_tool_call_input": Grows("custom_tool_call", ("input",), "input"),
    "response.mcp_call_arguments": Grows("mcp_call", ("arguments",), "arguments"),
    "response.code_interpreter_call_code": Grows("code_interpreter_call", ("code",), "code"),
    "response.apply_patch_call_operation_diff": Grows(
        "apply_patch_call", ("operation", "diff"), "diff"
    ),
    "response.shell_call_command": Grows(
        "shell_call", ("action", "commands", "#command_index"), "command", ""
    ),
    "response.shell_call_output_content": Grows(
        "shell_call_output", ("output", "#command_index"), "", {}
    ),
}
DELTAS: dict[str, Grows] = {f"{name}.delta": grows for name, grows in _GROWTH.items()}
"""Events with a piece of a field, under `delta`."""
DONES: dict[str, Grows] = {f"{name}.done": grows for name, grows in _GROWTH.items()}
"""Events with all of a field."""
SETS: dict[str, tuple[str, Grows]] = {
    "response.content_part.added": (
        "part",
        Grows("message", ("content", "#content_index"), part=_TEXT),
    ),
    "response.content_part.done": (
        "part",
        Grows("message", ("content", "#content_index"), part=_TEXT),
    ),
    "response.reasoning_summary_part.added": (
        "part",
        Grows("reasoning", ("summary", "#summary_index"), part=_SUMMARY),
    ),
    "response.reasoning_summary_part.done": (
        "part",
        Grows("reasoning", ("summary", "#summary_index"), part=_SUMMARY),
    ),
    "response.output_text.annotation.added": (
        "annotation",
        Grows(
            "message", ("content", "#content_index", "annotations", "#annotation_index"), part=_TEXT
        ),
    ),
    "response.shell_call_command.added": (
        "command",
        Grows("shell_call", ("action", "commands", "#command_index"), part=""),
    ),
    "response.image_generation_call.partial_image": (
        "partial_image_b64",
        Grows("image_generation_call", ("partial_image_b64",)),
    ),
}
"""Events that put something into an item at once: the field they have it in."""


class Growing:
    """An item under way."""

    __slots__ = ("_pieces", "block")

    def __init__(self, block: Object) -> None:
        self.block = block
        self._pieces: dict[JsonPath, tuple[Grows, list[JSON]]] = {}

    @property
    def type(self) -> JSON:
        """What kind of item it is."""
        return self.block.get("type")

    @property
    def id(self) -> str:
        """The id of the item, or nothing."""
        return read_id(self.block.get("id"))[0]

    def is_item(self, block: Mapping[str, JSON]) -> bool:
        """Whether a block may be this very item: it has its type, and its own id or no other call
        id."""
        if self.id and self.id == read_id(block.get("id"))[0]:
            return self.type == block.get("type")
        ours, theirs = read_id(self.block.get("call_id"))[0], read_id(block.get("call_id"))[0]
        return self.type == block.get("type") and (not ours or not theirs or ours == theirs)

    def grow(self, event: Chunk, grows: Grows) -> None:
        """Add a piece."""
        path = grows.path_of(event)
        self._pieces.setdefault(path, (grows, []))[1].append(event.get("delta"))
        odds = event.get("logprobs")
        if isinstance(odds, list) and odds:
            self._pieces.setdefault((*path[:-1], "logprobs"), (grows, []))[1].append(odds)

    def settle(self, event: Chunk, grows: Grows) -> None:
        """Take what a closing event says instead of the pieces."""
        said = event.get(grows.whole)
        if said is not None:
            self._pieces[grows.path_of(event)] = (grows, [said])

    def put(self, event: Chunk, field: str, grows: Grows) -> None:
        """Put something in at once: a part that is done takes the place of its pieces."""
        value = event.get(field)
        if value is None:
            return
        path = grows.path_of(event)
        if event.get("type") in _CLOSING:
            self._pieces = {
                key: held for key, held in self._pieces.items() if key[: len(path)] != path
            }
        _place(self.block, path, copy_json(value), grows.part)

    def finish(self, block: Object) -> None:
        """Take the finished item. What it leaves empty is still what came of it."""
        self.block = block
        self._pieces = {path: held for path, held in self._pieces.items() if not get(block, path)}

    def shrink(self) -> None:
        """Forget all but what tells it from other items."""
        self.block = {
            key: self.block[key] for key in ("type", "id", "call_id") if key in self.block
        }
        self._pieces = {}

    def assembled(self) -> Object:
        """The item as far as it came."""
        for path, (grows, pieces) in self._pieces.items():
            words = [piece for piece in pieces if isinstance(piece, str)]
            value: JSON = (
                "".join(words) if len(words) == len(pieces) else reduce(merge, pieces, None)
            )
            _place(self.block, path, value, grows.part)
        self._pieces = {}
        return self.block


_CLOSING = frozenset({"response.content_part.done", "response.reasoning_summary_part.done"})


def _place(block: Object, path: JsonPath, value: JSON, part: JSON) -> None:
    """Put a value at a place of a block, which is made as far as it is not there. A number past the
    end means the next."""
    held: JSON = block
    for step, after in zip(path, (*path[1:], None), strict=True):
        inside: JSON = None
        if isinstance(held, dict):
            inside = held.get(str(step))
        elif isinstance(held, list) and number(step) < len(held):
            inside = held[number(step)]
        elif after is not None:
            inside = copy_json(part)
        if after is None:
            inside = value
        elif not isinstance(inside, list if isinstance(after, int) else dict):
            inside = [] if isinstance(after, int) else {}
        if isinstance(held, dict):
            held[str(step)] = inside
        elif isinstance(held, list):
            held[number(step) : number(step) + 1] = [inside]
        held = inside
