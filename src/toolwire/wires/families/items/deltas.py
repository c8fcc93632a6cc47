"""How items grow in a stream: which field of which item each event changes.

The last event of an item holds the finished item; an unfinished item is the sum of its events.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import takewhile
from operator import itemgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, put, text_of
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.json_types import correct_content
from toolwire.wires.engine.specs import read_id, text_or_none
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
_LISTS = ("content", "summary")
"""The fields of items whose entries grow."""
_IDENTITY = ("role", "id", "call_id", "namespace", "name")
"""The fields without which a message has no reader and a call no result."""
_FIELDS = tuple(
    dict.fromkeys(
        [
            *((name,) for name in _IDENTITY),
            *(
                tuple(takewhile(lambda step: step[0] != "#", change.path))
                for change in CHANGES.values()
                if change.action != "set"
            ),
        ]
    )
)
"""The paths of the fields that are as before if they are empty in the finished item."""
PART_ENDS = frozenset({"response.content_part.done", "response.reasoning_summary_part.done"})
"""Events with the finished entry of a list: no event that follows belongs to it."""


class Entry:
    """An entry of a list in an item: a part of a message, or a paragraph of reasoning."""

    __slots__ = ("_block", "_lists", "_pieces", "ended", "field", "finished")

    def __init__(self, block: JSON) -> None:
        self.field = growing_field(block)
        """The field that grows; empty for an image or a file."""
        self.ended = False
        """True if no event that follows belongs to it."""
        self.finished: JSON = None
        """The finished entry as it was sent."""
        self._block = block
        """The entry before its events."""
        self._pieces: list[str] = []
        """The text of its events."""
        self._lists: dict[str, list[JSON]] = {}
        """The log probabilities and the annotations of its events."""

    def store(self, event: Chunk, change: Change) -> None:
        """Apply an event."""
        if change.action == "append":
            self._pieces.append(change.read_text(event))
            logprobs = event.get("logprobs")
            if isinstance(logprobs, list) and logprobs:
                self._lists.setdefault("logprobs", []).extend(logprobs)
        elif change.action == "complete":
            self._pieces = [text] if (text := change.read_text(event)) else self._pieces
        elif change.field == "annotation":
            self._lists.setdefault("annotations", []).append(copy_json(event.get(change.field)))
        elif self.ended:
            self.finish(copy_json(event.get(change.field)))

    def finish(self, block: JSON) -> None:
        """Store the finished entry."""
        self._block = self.assemble()
        self._pieces, self._lists = [], {}
        self.finished = block

    def assemble(self) -> JSON:
        """The finished entry, with what it lacks from its events; otherwise the entry so far."""
        known = self._block
        if isinstance(known, dict):
            known = {**known, **self._lists}
            if text := "".join(self._pieces):
                known[self.field] = text
        return known if self.finished is None else _fill(self.finished, known)


class ItemAccumulator:
    """Assembles an item from its events.

    One rule decides what the finished item, or that of the finished response, says: a value that
    is not empty is authoritative, and an empty one leaves what was known before. A stream that is
    emitted while it grows follows the same rule: for it, the texts that were emitted are known.
    """

    __slots__ = ("_complete", "_delta", "_entry", "_lists", "_pieces", "block", "finished")

    def __init__(self, block: Object) -> None:
        self.block = block
        self.finished: Object | None = None
        """The finished item as it was sent."""
        self._lists = {name: _new_entries(block.get(name)) for name in _LISTS}
        """The entries of each list, by the index in their events."""
        self._complete: set[JsonPath] = set()
        """The paths of the other fields whose complete text was received."""
        self._delta: tuple[Change, JSON, JSON] | None = None
        """The change and the indexes of the newest event, if that was a delta."""
        self._entry: Entry | None = None
        """The entry of the newest event, if that belongs to one."""
        self._pieces: dict[JsonPath, tuple[Change, list[JSON]]] = {}
        """The pieces of fields that grow outside of the lists."""

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

    def entries(self, name: str) -> list[tuple[int, Entry]]:
        """The entries of a list, in order, with the index in their events."""
        return sorted(self._lists[name].items(), key=itemgetter(0))

    def continues(self, event: Chunk, change: Change) -> bool:
        """True for a delta of the same text as the event before, like most events."""
        return self._delta == (change, event.get("content_index"), event.get("summary_index"))

    def accepts(self, event: Chunk, change: Change) -> bool:
        """False for an event about a list entry that has ended, grows in another field, or was
        added before; for a part that is no object; and for a delta after the complete text."""
        self._delta = self._entry = None
        if change.path[0] in _LISTS:
            entry = self._find_entry(event, change)
            if entry is None:
                return False
            entry.ended = event["type"] in PART_ENDS
            self._entry = entry
        else:
            path = change.path_of(event)
            if change.action == "complete" and change.read_text(event):
                self._complete.add(path)
            elif change.action == "append" and path in self._complete:
                return False
        if change.action == "append":
            self._delta = (change, event.get("content_index"), event.get("summary_index"))
        return True

    def _find_entry(self, event: Chunk, change: Change) -> Entry | None:
        """The entry that an event changes, or the new entry that it adds."""
        entries, n = self._lists[change.path[0]], change.path_of(event)[1]
        assert isinstance(n, int)
        entry, is_part = entries.get(n), change.field == "part"
        part = event.get(change.field) if is_part else change.new
        if not isinstance(part, dict):
            return None
        if entry is None:
            entry = entries[n] = Entry(copy_json(part))
            return entry
        is_repeated = is_part and event["type"] not in PART_ENDS
        is_other = change.action != "set" and entry.field != change.path[2]
        return None if entry.ended or is_repeated or is_other else entry

    def store(self, event: Chunk, change: Change) -> None:
        """Apply an event that was accepted."""
        if self._entry is not None:
            self._entry.store(event, change)
            return
        path, value = change.path_of(event), event.get(change.field)
        if change.is_text and change.action != "set":
            value = change.read_text(event)
        if change.action == "append":
            if value:
                self._pieces.setdefault(path, (change, []))[1].append(value)
        elif value or (change.action == "set" and value is not None):
            self._pieces[path] = (change, [copy_json(value)])

    def finish(self, block: Object) -> None:
        """Store the finished item."""
        known = self.assemble()
        self.block = self.finished = block
        self._pieces = {}
        for path in _FIELDS:
            value = get(known, path)
            if value and not get(block, path):
                self.block = put(self.block, path, value)  # type: ignore[assignment]
        for name, entries in self._lists.items():
            _finish_entries(entries, block.get(name))

    def keep_ids_only(self) -> None:
        """Forget everything except what distinguishes the item from others."""
        known = ("type", "id", "call_id")
        self.block = {key: self.block[key] for key in known if key in self.block}
        self.finished, self._pieces = None, {}
        self._lists = {name: {} for name in _LISTS}

    def assemble(self) -> Object:
        """The item as far as it is known."""
        block: Object = copy_json(self.block) if self._pieces else dict(self.block)  # type: ignore[assignment]
        for name, entries in self._lists.items():
            if entries:
                block[name] = [entry.assemble() for _, entry in self.entries(name)]
        for path in sorted(self._pieces):
            change, pieces = self._pieces[path]
            _put(block, path, _join(pieces), change.new)
        return block


def _new_entries(value: JSON) -> dict[int, Entry]:
    """The entries of a list by index; none if the value is no list."""
    return dict(enumerate(map(Entry, value))) if isinstance(value, list) else {}


def _finish_entries(entries: dict[int, Entry], value: JSON) -> None:
    """Store a finished list. If an event had an index past its end, the entries of the events are
    its first ones."""
    if not entries:
        entries.update(_new_entries(value))
        return
    finished = _entries_of(value)
    known, size = sorted(entries), len(finished)
    indexes = list(range(size))
    if known[-1] >= size:
        indexes = [*known[:size], *range(known[-1] + 1, known[-1] + 1 + size - len(known))]
    for index, block in zip(indexes, finished, strict=True):
        entries.setdefault(index, Entry(block)).finish(block)


def _join(pieces: list[JSON]) -> JSON:
    """The value of a field that arrived in pieces."""
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if len(texts) == len(pieces) else reduce(merge, pieces, None)


_COMPARED = ("call_id", "namespace", "name", "arguments", "input", "operation", "action", "code")


def content_digests(block: Object) -> dict[JsonPath, int]:
    """A number for each value of the content of an item that is not empty. The numbers of different
    values differ."""
    values: dict[JsonPath, JSON] = {(name,): block.get(name) for name in _COMPARED}
    for name in _LISTS:
        for n, entry in enumerate(_entries_of(block.get(name))):
            field = growing_field(entry)
            if isinstance(entry, dict) and field:
                values |= {(name, n, key): entry.get(key) for key in ("type", field)}
            else:
                values[name, n] = entry  # an image or a file
    return {
        path: hash(value if isinstance(value, str) else text_of(value))
        for path, value in values.items()
        if value
    }


def _entries_of(value: JSON) -> list[JSON]:
    """The entries of a list of an item, which may be sent as one text or one entry."""
    entries = correct_content(value or None)
    if isinstance(entries, str):
        return [{"text": entries}]
    return entries if isinstance(entries, list) else []


def _fill(block: JSON, known: JSON) -> JSON:
    """A finished entry of a list; what is empty in it is what was known before."""
    field = growing_field(known)
    if not isinstance(block, dict):
        return block
    if not any(block.values()):
        return known
    if not isinstance(known, dict) or not field or growing_field(block) != field:
        return block
    filled = {key: value for key, value in known.items() if value and not block.get(key)}
    return {**block, **filled, field: text_or_none(block.get(field)) or known.get(field, "")}


def growing_field(entry: JSON) -> str:
    """The field of a list entry that grows; empty for an image or a file."""
    if not isinstance(entry, dict):
        return ""
    kind = entry.get("type") or ("refusal" if "refusal" in entry else "text")
    if kind == "refusal":
        return "refusal"
    return "text" if str(kind).endswith("text") else ""


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
