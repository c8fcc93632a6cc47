"""A history whose messages are spread over the lines of a file.

A line holds units of the history: messages, items or blocks. Lines with unchanged units, and lines
without units, stay verbatim. Each format defines the shape of a line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec import Struct, UnsetType, field

from toolwire.conversation.json import JSON, JsonPath, Object, dump
from toolwire.sessions.alignment import UnitValue, align
from toolwire.sessions.history import History, Place
from toolwire.sessions.lines import Line, split_lines


class Unit(UnitValue, frozen=True, eq=False, kw_only=True):
    """A message, item or block, and its location in the file and in the body."""

    line: int
    """The index of its line."""
    line_path: JsonPath = ()
    body_path: JsonPath = ()
    first_line: int | None = None
    """The index of the earlier line that determines its position in the history, if there is
    one."""

    @property
    def position(self) -> int:
        """The index of the line after which its successor is inserted."""
        return self.line if self.first_line is None else self.first_line


class Insertion(Struct, frozen=True):
    """A new line."""

    after_unit: int | None
    """The index of the old unit after whose line it is inserted; None for before all of them."""
    value: Object


class LineEdits(Struct):
    """The changes to the lines of a file, by line index."""

    changed: dict[int, JSON] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    inserted: list[Insertion] = field(default_factory=list)


class LineFormat(ABC):
    """How the lines of one kind of file hold the units of a history."""

    name: str

    @abstractmethod
    def read(self, lines: Sequence[Line]) -> LineHistory:
        """The history in the lines of a file."""

    @abstractmethod
    def split(self, body: JSON) -> list[UnitValue]:
        """The units of a body."""

    @abstractmethod
    def fill(self, line: JSON, units: list[UnitValue]) -> JSON:
        """A line with these units instead of its own."""

    @abstractmethod
    def make_line(self, near: JSON, unit: UnitValue, *, moved: bool) -> Object:
        """A new line for a unit, modelled on a line near it; `moved` if that line held the unit
        before."""

    def takes(self, line: JSON, unit: UnitValue) -> bool:
        """True if a new unit belongs into the line of the unit before it."""
        return False

    @abstractmethod
    def link(self, edits: LineEdits) -> None:
        """Adapt the references between lines."""


class LineHistory(History):
    """A history spread over lines."""

    def __init__(
        self,
        lines: Sequence[Line],
        units: Sequence[Unit],
        *,
        format: LineFormat,
        wire: str,
        body: JSON,
    ) -> None:
        super().__init__(form=format.name, wire=wire, body=body)
        self._lines = lines
        self._units = units
        self._format = format
        self._by_path = {unit.body_path: unit for unit in units}
        self._first_inside: dict[JsonPath, Unit] = {}
        for unit in units:
            for size in range(1, len(unit.body_path)):
                self._first_inside.setdefault(unit.body_path[:size], unit)
        self.skipped = [line for line in lines if line.problem]

    def place(self, path: JsonPath) -> Place:
        unit, rest = self._find_unit(path)
        if unit is None:
            return Place(None, path)
        return Place(self._lines[unit.line].number, (*unit.line_path, *rest))

    def _find_unit(self, path: JsonPath) -> tuple[Unit | None, JsonPath]:
        """The unit at a path, or the first one inside it, and the rest of the path."""
        for size in range(len(path), 0, -1):
            unit = self._by_path.get(path[:size])
            if unit is not None:
                return unit, path[size:]
        return self._first_inside.get(path), ()

    def render(self, body: JSON) -> bytes:
        edits = self._plan(self._format.split(body))
        self._format.link(edits)
        new_lines: dict[int, list[Object]] = {}
        first = min((unit.position for unit in self._units), default=0)
        for insertion in edits.inserted:
            after = insertion.after_unit
            index = first - 1 if after is None else self._units[after].position
            new_lines.setdefault(index, []).append(insertion.value)
        out: list[bytes] = [_line_text(value, b"\n") for value in new_lines.get(-1, [])]
        for n, line in enumerate(self._lines):
            if n in edits.changed:
                out.append(_line_text(edits.changed[n], line.line_break))
            elif n not in edits.removed:
                out.append(line.text)
            if n in new_lines and out and not out[-1].endswith(b"\n"):
                out[-1] += b"\n"
            out += [_line_text(value, line.line_break or b"\n") for value in new_lines.get(n, [])]
        return b"".join(out)

    def reread(self, data: bytes) -> History:
        history = self._format.read(split_lines(data))
        history.wire = self.wire
        return history

    def _plan(self, new: list[UnitValue]) -> LineEdits:
        """Assign the units of the new body to old and new lines."""
        alignment = align(self._units, new)
        content: dict[int, list[UnitValue]] = {}
        edits = LineEdits()
        previous: int | None = None
        run: list[tuple[UnitValue, int | None]] = []
        for n, unit in enumerate(new):
            old = alignment.continues[n]
            if old is None:
                run.append((unit, alignment.moved[n]))
                continue
            self._place_run(run, previous, old, content=content, edits=edits)
            run = []
            content.setdefault(self._units[old].line, []).append(unit)
            previous = old
        self._place_run(run, previous, None, content=content, edits=edits)
        before: dict[int, list[UnitValue]] = {}
        for old_unit in self._units:
            before.setdefault(old_unit.line, []).append(old_unit)
        for line, units in before.items():
            if line not in content:
                edits.removed.add(line)
            elif [unit.content_key() for unit in content[line]] != [
                unit.content_key() for unit in units
            ]:
                edits.changed[line] = self._format.fill(self._value(line), content[line])
        return edits

    def _place_run(
        self,
        run: list[tuple[UnitValue, int | None]],
        previous: int | None,
        following: int | None,
        *,
        content: dict[int, list[UnitValue]],
        edits: LineEdits,
    ) -> None:
        """Put consecutive units without an old counterpart into the line around them, or into new
        lines."""
        line = None if previous is None else self._units[previous].line
        inside = following is not None and line == self._units[following].line
        for unit, moved in run:
            if line is not None and (inside or self._format.takes(self._value(line), unit)):
                content[line].append(unit)
                continue
            near = moved if moved is not None else previous
            near_unit = self._units[near if near is not None else 0]
            value = self._format.make_line(
                self._value(near_unit.line), unit, moved=moved is not None
            )
            edits.inserted.append(Insertion(previous, value))

    def _value(self, line: int) -> JSON:
        value = self._lines[line].value
        assert not isinstance(value, UnsetType)
        return value


def _line_text(value: JSON, line_break: bytes) -> bytes:
    return dump(value) + line_break
