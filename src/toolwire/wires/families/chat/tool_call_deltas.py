"""Assign the pieces of streamed tool calls to their calls.

- first-id-wins: a later id on a piece without a name is an alias of the same call; a new id with a
  name starts a new call.
- index-is-a-label: it may be missing, start anywhere, or be the same for all calls.
- a-name-may-come-in-pieces: it grows only until the first argument text.

This module knows no wire.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec import Struct, field
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.wires.families.chat.argument_text import ArgumentText, starts_object
from toolwire.wires.families.chat.blocks import TEXT_FIELDS

NOT_STARTED = -1
"""The slot of a call that was not started yet."""
_PLACEHOLDERS = frozenset({"null", "None"})
"""Values that servers send instead of an absent id or name."""


class CallDelta(Struct, frozen=True, gc=False):
    """A piece of a call."""

    index: int | None
    id: str
    name: str
    arguments: JSON
    family: str
    placeholder: str = ""
    """The name if it is a placeholder: it counts if no other name comes."""


def read_call_delta(entry: Object, families: Container[str] = TEXT_FIELDS) -> CallDelta:
    """Read an entry of `tool_calls`; `families` are the kinds of calls that the wire has."""
    kind, inner = "function", entry.get("function")
    if not isinstance(inner, dict):
        custom = entry.get("custom")
        kind, inner = ("custom", custom) if isinstance(custom, dict) else ("function", {})
    name = inner.get("name")
    return CallDelta(
        _read_index(entry.get("index")),
        read_word(entry.get("id")),
        read_word(name),
        inner.get(TEXT_FIELDS[kind]),
        kind if kind in families else "function",
        name if isinstance(name, str) and name in _PLACEHOLDERS else "",
    )


def _read_index(value: JSON) -> int | None:
    """An index sent as an integer, as text or as a float; None for any other value."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return int(value) if isinstance(value, float) and value.is_integer() else None


def read_word(value: JSON) -> str:
    """An id or name; empty for a placeholder or a value of another type."""
    if isinstance(value, str):
        return "" if value in _PLACEHOLDERS or not value.strip() else value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


class CallState(Struct, eq=False):
    """A call that is being assembled."""

    choice: int
    """The choice that it belongs to."""
    index: int | None
    family: str
    arguments: ArgumentText
    id: str = ""
    aliases: set[str] = field(default_factory=set)
    name: str = ""
    started_name: str = ""
    """The name under which it started."""
    name_pieces: int = 0
    """How many pieces had a name."""
    placeholder: str = ""
    """The name of the call if no other name comes."""
    name_complete: bool = False
    """True if the name cannot grow any further."""
    slot: int = NOT_STARTED
    """The slot of its events."""
    chunk: int = 0
    """The number of the event that last changed it."""
    possible_start: tuple[str, str] | None = None
    """Id and name of a piece that may start another call: the next arguments decide."""
    minted: bool = False
    """True if it started under a minted id."""
    ended: bool = False
    """True if its end was emitted."""
    unknown_fields: Object = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    """Argument text before the start, or all of it if the body is kept."""

    @property
    def is_empty(self) -> bool:
        """True if it has neither a name nor arguments: some servers send an empty legacy call with
        every answer."""
        return not self.name and not self.arguments.started

    def to_json(self, index: int | None) -> Object:
        """The call as in a whole message."""
        unknown_inner = self.unknown_fields.get(self.family)
        inner: Object = {"name": self.name, TEXT_FIELDS[self.family]: "".join(self.pieces)}
        if isinstance(unknown_inner, dict):
            inner.update(unknown_inner)
        out: Object = {"id": self.id} if self.id else {}
        out |= {"type": self.family, **self.unknown_fields, self.family: inner}
        return out if index is None else {**out, "index": index}


def new_call(choice: int, index: int | None, family: str) -> CallState:
    """A new call without any pieces."""
    return CallState(choice, index, family, ArgumentText(free_text=family == "custom"))


class CallTable:
    """The calls of one choice. Finds the call that each piece belongs to."""

    __slots__ = ("_by_id", "_by_index", "_choice", "_used_ids", "calls", "last")

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self.calls: list[CallState] = []
        self.last: CallState | None = None
        """The call that the last piece belongs to."""
        self._by_index: dict[int, CallState] = {}
        self._by_id: dict[str, CallState] = {}
        self._used_ids: set[str] = set()

    def at_index(self, index: JSON) -> CallState | None:
        """The call with an index; None if the next piece may start another call there."""
        call = self._by_index.get(index) if isinstance(index, int) else None
        return call if call is None or call.possible_start is None else None

    def find(self, delta: CallDelta, chunk: int) -> CallState:
        """The call that a piece belongs to, or a new one, with the id and name of the piece."""
        if delta.index is not None:
            call = self._by_index.get(delta.index)
        else:
            call = self._find_without_index(delta, chunk)
        if call is not None and call.possible_start is not None and not delta.name:
            (start_id, start_name), call.possible_start = call.possible_start, None
            same = start_id and start_id == call.id and call.arguments.equals(delta.arguments)
            if starts_object(delta.arguments) and not same:
                delta = replace(delta, id=delta.id or start_id, name=start_name)
                call = None
        if (
            call is None
            or (call.family != delta.family and delta.name)
            or self._starts_call(call, delta)
        ):
            call = self._add(delta)
        if delta.id and delta.id != call.id:
            self._set_id(call, delta.id)
        if delta.name:
            add_name(call, delta.name)
        elif delta.placeholder:
            call.placeholder = delta.placeholder
        call.chunk = chunk
        self.last = call
        return call

    def _add(self, delta: CallDelta) -> CallState:
        call = new_call(self._choice, delta.index, delta.family)
        self.calls.append(call)
        if delta.index is not None:
            self._by_index[delta.index] = call
        return call

    def _find_without_index(self, delta: CallDelta, chunk: int) -> CallState | None:
        """Find a call by id; a piece with a new name starts a call, any other belongs to the last
        one."""
        last = self.last
        if delta.id:
            known = self._by_id.get(delta.id)
            if known is not None or last is None:
                return known
            continues = not last.id and delta.name in ("", last.name)
            return last if continues and not last.arguments.complete else None
        if last is None or not delta.name or not last.name:
            return last
        if delta.name != last.name or last.chunk == chunk:
            return None
        return None if last.arguments.complete and starts_object(delta.arguments) else last

    def _starts_call(self, call: CallState, delta: CallDelta) -> bool:
        """True if a piece that seems to belong to a call starts another one."""
        call_id, name = delta.id, delta.name
        complete = call.arguments.complete if name else False
        repeats_header = name == call.name and call.name_pieces == 1 and call_id in ("", call.id)
        if complete and delta.arguments in (None, "") and repeats_header:
            call.possible_start = (call_id, name)
            return False
        if call_id and call.id and call_id != call.id and call_id not in call.aliases:
            return bool(name)
        if not name or not call.name or not complete:
            return False
        if not starts_object(delta.arguments):
            return name != call.name and call.arguments.started
        if (call_id and not call.id) or name != call.name:
            return True
        # A name in every piece does not start a call, and neither does a repeated call.
        repeated = call_id and call_id == call.id and call.arguments.equals(delta.arguments)
        return call.name_pieces == 1 and not repeated

    def _set_id(self, call: CallState, call_id: str) -> None:
        if call.id:
            call.aliases.add(call_id)
        elif call_id not in self._used_ids:
            call.id = call_id
            self._used_ids.add(call_id)
            self._by_id[call_id] = call
        else:  # two calls share an id: the second one has it only as an alias
            call.aliases.add(call_id)
            self._by_id[call_id] = call


def add_name(call: CallState, name: str) -> None:
    """Add a name or a piece of it; once the arguments have started, the name is complete."""
    call.name_pieces += 1
    if not call.name:
        call.name = name
    elif name != call.name and not call.arguments.started:
        call.name = name if name.startswith(call.name) else call.name + name
