"""How items grow in a stream: which field of which item each event changes.

The last event of an item holds the finished item; an unfinished item is the sum of its events.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.specs import read_id
from toolwire.wires.engine.stream import copy_json, merge

_TEXT: Object = {"type": "output_text", "text": "", "annotations": []}
_REFUSAL: Object = {"type": "refusal", "refusal": ""}
_REASONING: Object = {"type": "reasoning_text", "text": ""}
_SUMMARY: Object = {"type": "summary_text", "text": ""}


class Change(Struct, frozen=True, eq=False):
    """The effect of one type of event on a field of an item."""

    item: str
    """The type of the item, if no event has added the item."""
    path: tuple[str, ...]
    """The path in the item; `#name` stands for the number in the event's field `name`."""
    field: str
    """The field of the event that holds the value."""
    new: JSON = None
    """The initial value of a list entry on the path."""
    action: Literal["append", "complete", "set"] = "complete"
    """`complete` replaces the appended pieces; `set` is for values that do not grow."""
    is_text: bool = True
    """True if a value that grows is a text."""

    def fits(self, item_type: str) -> bool:
        """True if the event changes items of a type. Parts of the content may belong to a message
        or to reasoning."""
        is_part = self.action == "set" and self.path[0] == "content"
        return item_type == self.item or (is_part and item_type == "reasoning")

    def read_text(self, event: Chunk) -> str:
        """The text in an event, empty if there is none. Arguments that are an object are their JSON
        text; an empty object has none."""
        value = event.get(self.field)
        if isinstance(value, dict) and value and self.path in _ARGUMENTS:
            return text_of(value)
        return value if isinstance(value, str) else ""

    def read_value(self, event: Chunk) -> JSON:
        """The value in an event that sets one. A part with a text and without a type is a text."""
        value = event.get(self.field)
        if self.field == "part" and isinstance(value, dict) and "text" in value:
            return {"type": get(self.new, ("type",)) or None, **value}
        return value

    def path_of(self, event: Chunk) -> JsonPath:
        """The path in the item for one event."""
        return tuple(
            [list_index(event.get(step[1:])) if step[0] == "#" else step for step in self.path]
        )


def list_index(value: JSON) -> int:
    """An index of a list; 0 for an invalid one."""
    return value if isinstance(value, int) and value > 0 else 0


_ARGUMENTS = (("arguments",), ("input",))
_CONTENT = ("content", "#content_index")
_SUMMARIES = ("summary", "#summary_index")
_COMMANDS = ("action", "commands", "#command_index")
_SHELL_OUTPUT = ("output", "#command_index")
_GROWING = {
    "output_text": Change("message", (*_CONTENT, "text"), field="text", new=_TEXT),
    "refusal": Change("message", (*_CONTENT, "refusal"), field="refusal", new=_REFUSAL),
    "reasoning_text": Change("reasoning", (*_CONTENT, "text"), field="text", new=_REASONING),
    "reasoning_summary_text": Change(
        "reasoning", (*_SUMMARIES, "text"), field="text", new=_SUMMARY
    ),
    "function_call_arguments": Change("function_call", ("arguments",), field="arguments"),
    "custom_tool_call_input": Change("custom_tool_call", ("input",), field="input"),
    "mcp_call_arguments": Change("mcp_call", ("arguments",), field="arguments"),
    "code_interpreter_call_code": Change("code_interpreter_call", ("code",), field="code"),
    "apply_patch_call_operation_diff": Change(
        "apply_patch_call", ("operation", "diff"), field="diff"
    ),
    "shell_call_command": Change("shell_call", _COMMANDS, field="command", new=""),
    "shell_call_output_content": Change(
        "shell_call_output", _SHELL_OUTPUT, field="", new={}, is_text=False
    ),
}
"""Fields that grow, by the common part of their event names, with the last event of each."""
_PART = Change("message", _CONTENT, field="part", new=_TEXT, action="set")
_SUMMARY_PART = Change("reasoning", _SUMMARIES, field="part", new=_SUMMARY, action="set")
CHANGES = {
    **{
        f"response.{name}.delta": replace(change, action="append", field="delta")
        for name, change in _GROWING.items()
    },
    **{f"response.{name}.done": change for name, change in _GROWING.items()},
    "response.content_part.added": _PART,
    "response.content_part.done": _PART,
    "response.reasoning_summary_part.added": _SUMMARY_PART,
    "response.reasoning_summary_part.done": _SUMMARY_PART,
    "response.output_text.annotation.added": replace(
        _PART, path=(*_CONTENT, "annotations", "#annotation_index"), field="annotation"
    ),
    "response.shell_call_command.added": replace(_GROWING["shell_call_command"], action="set"),
    "response.image_generation_call.partial_image": Change(
        "image_generation_call", ("partial_image_b64",), field="partial_image_b64", action="set"
    ),
}
"""The effect of each type of event."""
PART_ENDS = frozenset({"response.content_part.done", "response.reasoning_summary_part.done"})
"""Events with the finished entry of a list: no event that follows belongs to it."""


class ItemAccumulator:
    """Assembles an item from its events."""

    __slots__ = ("_delta", "_ended", "_fields", "_pieces", "_values", "block")

    def __init__(self, block: Object) -> None:
        self.block = block
        self._delta: tuple[Change, JSON, JSON] | None = None
        """The change and the indexes of the newest delta that was accepted."""
        self._ended: set[JsonPath] = set()
        """The paths of list entries that have ended."""
        self._fields: dict[JsonPath, str] = {
            (name, n): _growing_field(entry)
            for name in ("content", "summary")
            for n, entry in enumerate(_list_of(block, name))
        }
        """The field that grows, by the path of each list entry so far; empty if none does."""
        self._pieces: dict[JsonPath, tuple[Change, list[JSON]]] = {}
        """The pieces of fields that grow."""
        self._values: dict[JsonPath, tuple[Change, JSON]] = {}
        """The newest value of each other field; pieces of a field inside of it replace that
        field."""

    @property
    def type(self) -> JSON:
        return self.block.get("type")

    @property
    def id(self) -> str:
        """The id of the item, or an empty string."""
        return read_id(self.block.get("id"))[0]

    def is_item(self, block: Mapping[str, JSON]) -> bool:
        """True if a block may be this item: it has the same type and either the same id or no other
        call id."""
        if self.type != block.get("type"):
            return False
        if self.id and self.id == read_id(block.get("id"))[0]:
            return True
        call_id, other = read_id(self.block.get("call_id"))[0], read_id(block.get("call_id"))[0]
        return not call_id or not other or call_id == other

    def continues(self, event: Chunk, change: Change) -> bool:
        """True for a delta of the same text as the one before, like most events."""
        return self._delta == (change, event.get("content_index"), event.get("summary_index"))

    def accepts(self, event: Chunk, change: Change) -> bool:
        """False for an event about a list entry that has ended, grows in another field, or was
        added before."""
        is_accepted = self._is_accepted(event, change)
        if is_accepted and change.action == "append":
            self._delta = (change, event.get("content_index"), event.get("summary_index"))
        return is_accepted

    def _is_accepted(self, event: Chunk, change: Change) -> bool:
        path = change.path_of(event)
        entry, kind = path[:2], event["type"]
        if entry in self._ended:
            return False
        if kind in PART_ENDS:
            self._ended.add(entry)
            self._delta = None
        if change.field == "part":
            is_known = entry in self._fields
            self._fields.setdefault(entry, _growing_field(event.get("part")))
            return not is_known or kind in PART_ENDS
        if change.action == "set" or len(path) < 3:
            return True
        return self._fields.setdefault(entry, change.path[2]) == change.path[2]

    def store(self, event: Chunk, change: Change) -> None:
        """Apply an event."""
        path, value = change.path_of(event), change.read_value(event)
        if change.is_text and change.action != "set":
            value = change.read_text(event)
        if change.action == "append":
            self._pieces.setdefault(path, (change, []))[1].append(value)
            logprobs = event.get("logprobs")
            if isinstance(logprobs, list) and logprobs:
                self._pieces.setdefault((*path[:-1], "logprobs"), (change, []))[1].append(logprobs)
        elif value is None:
            return
        elif change.action == "complete":
            if value:  # otherwise its pieces count
                self._pieces[path] = (change, [value])
        else:
            if event.get("type") in PART_ENDS:
                self._drop_pieces(path, value)
            self._values[path] = (change, copy_json(value))

    def store_final(self, block: Object) -> None:
        """Store the finished item. Events about fields that are empty in it still count."""
        self.block = block
        entries = self._finished_entries()

        def is_missing(path: JsonPath) -> bool:
            whole = block.get(str(path[0]))
            is_entry = len(path) > 1 and isinstance(path[1], int)
            if is_entry and whole and not isinstance(whole, list):
                return False  # content that is one text or one block
            final = get(block, (*entries.get(path[:2], path[:2]), *path[2:]))
            if isinstance(final, dict) and path in self._values:
                return _fill_text(final, self._values[path][1]) is not final
            return not final

        self._values = {path: self._values[path] for path in filter(is_missing, self._values)}
        self._pieces = {path: self._pieces[path] for path in filter(is_missing, self._pieces)}

    def _finished_entries(self) -> dict[JsonPath, JsonPath]:
        """The paths of list entries in the finished item, where they differ from those in events:
        if an event had an index past the end of a finished list, the entries of events are its
        first ones."""
        out: dict[JsonPath, JsonPath] = {}
        for name, group in groupby(sorted(self._fields), key=itemgetter(0)):
            known = list(group)
            if list_index(known[-1][1]) >= len(_list_of(self.block, str(name))):
                out |= {entry: (name, n) for n, entry in enumerate(known)}
        return out

    def _drop_pieces(self, entry: JsonPath, value: JSON) -> None:
        """Forget the pieces of a finished list entry, unless their field is empty in it."""
        self._pieces = {
            path: pieces
            for path, pieces in self._pieces.items()
            if path[:2] != entry or not get(value, path[2:])
        }

    def fill(self, block: Object) -> Object:
        """The item of the finished response, with the arguments or the content that only its
        events had."""
        kept = self.assemble()
        filled = {name: _fill(block.get(name), kept[name]) for name in _FILLED if kept.get(name)}
        return {**block, **filled}

    def keep_ids_only(self) -> None:
        """Forget everything except what distinguishes the item from others."""
        known = ("type", "id", "call_id")
        self.block = {key: self.block[key] for key in known if key in self.block}
        self._pieces, self._values = {}, {}

    def assemble(self) -> Object:
        """The item as far as it was received. The entries of a list are in the order of their
        indexes."""
        paths = sorted({*self._values, *self._pieces})
        entries = self._positions(paths)
        for path in paths:
            place = (*entries.get(path[:2], path[:2]), *path[2:])
            if path in self._values:
                change, value = self._values[path]
                _put(self.block, place, value, change.new)
            if path in self._pieces:
                change, pieces = self._pieces[path]
                _put(self.block, place, _join(pieces), change.new)
        self._pieces, self._values = {}, {}
        return self.block

    def _positions(self, paths: list[JsonPath]) -> dict[JsonPath, JsonPath]:
        """The paths of the new entries of lists: an index past the end of a list stands for the
        next entry."""
        out: dict[JsonPath, JsonPath] = {}
        for name, group in groupby(paths, key=itemgetter(0)):
            size = len(_list_of(self.block, str(name)))
            entries = dict.fromkeys(path[:2] for path in group if len(path) > 1)
            new = [entry for entry in entries if isinstance(entry[1], int) and entry[1] >= size]
            out |= {entry: (name, size + n) for n, entry in enumerate(new)}
        return out


def _join(pieces: list[JSON]) -> JSON:
    """The value of a field that arrived in pieces."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if len(texts) == len(pieces) else reduce(merge, pieces, None)


_FILLED = ("arguments", "input", "content", "summary")
_CALL_FIELDS = ("call_id", "namespace", "name", "arguments", "input", "operation", "action", "code")


def content_digest(block: Object) -> int:
    """A number that differs if the call or the content of two items differs."""
    values = [block.get(field) for field in _CALL_FIELDS]
    for entry in [*_list_of(block, "content"), *_list_of(block, "summary")]:
        if not isinstance(entry, dict):
            continue
        if "text" in entry or "refusal" in entry:
            values += [entry.get("text"), entry.get("refusal")]
        else:
            values.append(entry)  # an image or a file
    return hash(
        tuple(value if isinstance(value, str) else text_of(value) for value in values if value)
    )


def _fill(value: JSON, kept: JSON) -> JSON:
    """A finished value, or the one of the events if it is empty; in a list, each text that an entry
    lacks."""
    if not isinstance(value, list) or not any(value):
        return value if value and not isinstance(value, list) else kept
    if not isinstance(kept, list):
        return value
    entries = zip_longest(value, kept[: len(value)])
    return [_fill_text(entry, kept_entry) for entry, kept_entry in entries]


def _fill_text(entry: JSON, kept: JSON) -> JSON:
    field = _growing_field(kept) if isinstance(kept, dict) else ""
    if not isinstance(entry, dict) or not isinstance(kept, dict) or not field or entry.get(field):
        return entry
    is_same = "type" in entry and _growing_field(entry) == field
    return {**entry, field: kept.get(field, "")} if is_same else entry


def _growing_field(entry: JSON) -> str:
    """The field of a list entry that grows; empty for an image or a file."""
    kind = entry.get("type") if isinstance(entry, dict) else None
    if kind == "refusal":
        return "refusal"
    return "text" if kind is None or str(kind).endswith("text") else ""


def _list_of(block: Object, field: str) -> list[JSON]:
    """A list of a block; empty if the field is absent or holds another value."""
    value = block.get(field)
    return value if isinstance(value, list) else []


def _put(block: Object, path: JsonPath, value: JSON, new: JSON) -> None:
    """Put a value at a path of a block, and create what is missing on the way. An index past the
    end of a list stands for the next entry."""
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
