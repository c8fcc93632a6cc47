"""Sessions of Claude Code: `~/.claude/projects/*/*.jsonl`.

A line is `{"parentUuid", "type", "message", "uuid", …}` with one content block of a message, or
something else: a summary, a snapshot, an attachment. Lines of one answer share `message.id`, even
with results between them. The history is the chain of parents from the newest line to the first;
results of parallel calls are children of their own calls beside that chain. Lines of subagents are
marked `isSidechain`. Source: sessions.py of github.com/anthropics/claude-agent-sdk-python.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate

from msgspec import Struct, UnsetType, field

from toolwire.conversation.json import JSON, Object, get
from toolwire.sessions.alignment import UnitValue
from toolwire.sessions.line_history import Insertion, LineEdits, LineFormat, LineHistory, Unit
from toolwire.sessions.lines import Line, are_most

WIRE = "anthropic"
_MESSAGE_TYPES = ("user", "assistant")
_ENVELOPE = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug")
"""Fields that a new line copies from the line before it."""
_BLOCKS = ("message", "content")


class Entry(Struct, frozen=True, eq=False):
    """A line of the file, with its id and its parent."""

    index: int
    value: Object
    uuid: str
    parent: str

    @property
    def role(self) -> str:
        """`user`, `assistant`, or empty for a line without a message."""
        kind = self.value.get("type")
        return str(kind) if kind in _MESSAGE_TYPES else ""

    @property
    def message_id(self) -> str:
        """The id that the lines of one answer share."""
        found = get(self.value, ("message", "id"))
        return found if isinstance(found, str) else ""

    @property
    def blocks(self) -> list[JSON]:
        """The content blocks; a text counts as one block."""
        content = get(self.value, _BLOCKS)
        if isinstance(content, str):
            return [{"type": "text", "text": content}] if content else []
        return content if isinstance(content, list) else []


def is_claude_code(values: Sequence[JSON]) -> bool:
    """True if the lines of a file are a session of Claude Code."""
    return any(map(_is_message_line, values)) and are_most(
        values, lambda value: isinstance(get(value, ("type",)), str)
    )


def _is_message_line(value: JSON) -> bool:
    return (
        get(value, ("type",)) in _MESSAGE_TYPES
        and get(value, ("message", "role")) in _MESSAGE_TYPES
        and not isinstance(get(value, _BLOCKS), UnsetType)
    )


def read_claude_code(lines: Sequence[Line]) -> LineHistory:
    """The history that Claude Code continues when it resumes a session."""
    entries = [
        _entry(n, line.value) for n, line in enumerate(lines) if isinstance(line.value, dict)
    ]
    main = [entry for entry in entries if not entry.value.get("isSidechain")]
    if not any(entry.role for entry in main):
        main = entries  # the file of a subagent
    chain = _walk(main)
    units, body = _compose(_with_parallel_results(chain, main))
    format = ClaudeCode(lines, units, chain)
    return LineHistory(lines, units, format=format, wire=WIRE, body=body)


def _entry(index: int, value: Object) -> Entry:
    uuid, parent = value.get("uuid"), value.get("parentUuid")
    return Entry(
        index,
        value,
        uuid=uuid if isinstance(uuid, str) else "",
        parent=parent if isinstance(parent, str) else "",
    )


def _walk(entries: list[Entry]) -> list[Entry]:
    """The chain of parents of the newest message; all messages in order if there are no links."""
    linked = [entry for entry in entries if entry.uuid]
    if not linked:
        return [entry for entry in entries if entry.role]
    by_uuid = {entry.uuid: entry for entry in linked}
    parents = {entry.parent for entry in linked}
    leaves = _nearest_messages([entry for entry in linked if entry.uuid not in parents], by_uuid)
    candidates = [leaf for leaf in leaves if not leaf.value.get("isMeta")]
    current: Entry | None = max(
        candidates or [entry for entry in linked if entry.role] or linked,
        key=lambda entry: entry.index,
    )
    chain: list[Entry] = []
    visited: set[str] = set()
    while current is not None and current.uuid not in visited:
        visited.add(current.uuid)
        chain.append(current)
        current = by_uuid.get(current.parent)
    return chain[::-1]


def _nearest_messages(entries: list[Entry], by_uuid: dict[str, Entry]) -> list[Entry]:
    """For each entry, the nearest line with a message: the entry itself or its first such
    ancestor."""
    found: list[Entry] = []
    visited: set[str] = set()
    for entry in entries:
        current: Entry | None = entry
        while current is not None and not current.role and current.uuid not in visited:
            visited.add(current.uuid)
            current = by_uuid.get(current.parent)
        if current is not None and current.role:
            found.append(current)
    return found


def _with_parallel_results(chain: list[Entry], entries: list[Entry]) -> list[Entry]:
    """The chain with lines beside it: other calls of its answers, and the results of these
    calls."""
    on_chain = {entry.uuid for entry in chain}
    answers = {entry.message_id for entry in chain if entry.role == "assistant"} - {""}
    calls = {entry.uuid: entry for entry in entries if entry.message_id in answers and entry.uuid}
    beside: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.uuid in on_chain or not entry.role:
            continue
        if entry.uuid in calls:
            beside.setdefault(entry.message_id, []).append(entry)
        elif entry.parent in calls and _holds_results(entry):
            beside.setdefault(calls[entry.parent].message_id, []).append(entry)
    last = {entry.message_id: entry.uuid for entry in chain if entry.message_id}
    out: list[Entry] = []
    for entry in chain:
        out.append(entry)
        if entry.message_id in beside and last[entry.message_id] == entry.uuid:
            out += beside[entry.message_id]
    return out


def _holds_results(entry: Entry) -> bool:
    return any(get(block, ("type",)) == "tool_result" for block in entry.blocks)


class _Message(Struct, eq=False):
    """A message that is made up of lines."""

    role: str
    message_id: str
    units: list[Unit] = field(default_factory=list)
    only_results: bool = True

    def add(self, entry: Entry) -> None:
        """Append the blocks of a line."""
        for n, block in enumerate(entry.blocks):
            unit = Unit(self.role, block, line=entry.index, line_path=(*_BLOCKS, n))
            self.units.append(unit)
            self.only_results &= get(block, ("type",)) == "tool_result"


def _compose(entries: list[Entry]) -> tuple[list[Unit], JSON]:
    """The units in the order of the history, and the messages made of them."""
    messages: list[_Message] = []
    for entry in entries:
        if not entry.role or not entry.blocks or entry.value.get("isApiErrorMessage"):
            continue
        message = _message_to_extend(messages, entry)
        if message is None:
            message = _Message(entry.role, entry.message_id)
            messages.append(message)
        message.add(entry)
    body: list[JSON] = [
        {"role": message.role, "content": [unit.value for unit in message.units]}
        for message in messages
    ]
    units = [
        Unit(
            unit.role,
            unit.value,
            line=unit.line,
            line_path=unit.line_path,
            body_path=(n, "content", k),
        )
        for n, message in enumerate(messages)
        for k, unit in enumerate(message.units)
    ]
    return units, body


def _message_to_extend(messages: list[_Message], entry: Entry) -> _Message | None:
    """The message that a line continues; None if it starts a new one.

    A line of an answer continues it even if results stand between its calls.
    """
    if not messages:
        return None
    last = messages[-1]
    if entry.role == "user":
        return last if last.role == "user" else None
    if last.role == "user" and last.only_results and len(messages) > 1:
        last = messages[-2]
    continues = last.role == "assistant" and last.message_id == entry.message_id
    return last if continues and entry.message_id else None


class ClaudeCode(LineFormat):
    """The lines of a session of Claude Code."""

    name = "claude-code"

    def __init__(self, lines: Sequence[Line], units: Sequence[Unit], chain: list[Entry]) -> None:
        self._lines = lines
        self._units = units
        self._chain = [entry for entry in chain if entry.uuid]

    def read(self, lines: Sequence[Line]) -> LineHistory:
        return read_claude_code(lines)

    def split(self, body: JSON) -> list[UnitValue]:
        return [
            UnitValue(str(get(message, ("role",))), block)
            for message in (body if isinstance(body, list) else [])
            for block in _entry(0, {"message": message}).blocks
        ]

    def fill(self, line: JSON, units: list[UnitValue]) -> JSON:
        value = line if isinstance(line, dict) else {}
        message = value.get("message")
        content: list[JSON] = [unit.value for unit in units]
        return {
            **value,
            "message": {**(message if isinstance(message, dict) else {}), "content": content},
        }

    def make_line(self, near: JSON, unit: UnitValue, *, moved: bool) -> Object:
        value = near if isinstance(near, dict) else {}
        kept = value if moved else {key: value[key] for key in _ENVELOPE if key in value}
        message: Object = {"role": unit.role, "content": [unit.value]}
        if unit.role == "assistant":
            message = {"type": "message", "model": "<synthetic>", **message}
        out: Object = {"parentUuid": None, **kept, "type": unit.role, "message": message}
        if "timestamp" in value:
            out["timestamp"] = value["timestamp"]
        return out

    def link(self, edits: LineEdits) -> None:
        """Update the parents of all lines after lines were removed and added."""
        if not self._chain:
            return
        parents = self._parents_without(edits.removed)
        edits.inserted = self._with_links(edits, parents)
        for n, line in enumerate(self._lines):
            value = edits.changed.get(n, line.value)
            if n in edits.removed or not isinstance(value, dict):
                continue
            uuid = value.get("uuid")
            if (
                isinstance(uuid, str)
                and uuid in parents
                and parents[uuid] != value.get("parentUuid")
            ):
                edits.changed[n] = {**value, "parentUuid": parents[uuid]}

    def _parents_without(self, removed: set[int]) -> dict[str, str | None]:
        """Line id → new parent, for lines whose parent was removed."""
        gone: dict[str, str | None] = {}
        for n in sorted(removed):
            value = self._lines[n].value
            if isinstance(value, dict) and isinstance(value.get("uuid"), str):
                gone[str(value["uuid"])] = _entry(n, value).parent or None
        parents: dict[str, str | None] = {}
        for n, line in enumerate(self._lines):
            if not isinstance(line.value, dict) or n in removed:
                continue
            entry = _entry(n, line.value)
            if entry.parent in gone:
                parents[entry.uuid] = _resolve(entry.parent, gone)
        return parents

    def _with_links(self, edits: LineEdits, parents: dict[str, str | None]) -> list[Insertion]:
        """The new lines with their ids and parents. The parents of the lines after them are added
        to `parents`."""
        chain = [entry for entry in self._chain if entry.index not in edits.removed]
        position = {entry.index: n for n, entry in enumerate(chain)}
        anchors = self._anchors(position)
        tails: dict[int, str | None] = {}
        out: list[Insertion] = []
        for insertion in edits.inserted:
            anchor = -1 if insertion.after_unit is None else anchors[insertion.after_unit]
            if anchor not in tails:
                first = chain[0] if chain else None
                root = parents.get(first.uuid, first.parent or None) if first else None
                tails[anchor] = chain[anchor].uuid if anchor >= 0 else root
            uuid = _make_uuid(insertion.value, tails[anchor], len(out))
            value = {**insertion.value, "parentUuid": tails[anchor], "uuid": uuid}
            tails[anchor] = uuid
            out.append(Insertion(insertion.after_unit, value))
        for anchor, uuid_of_tail in tails.items():
            if anchor + 1 < len(chain):
                parents[chain[anchor + 1].uuid] = uuid_of_tail
        return out

    def _anchors(self, position: dict[int, int]) -> list[int]:
        """For each unit, the position of the last line of the chain that holds it or an earlier
        unit; -1 for the start of the chain."""
        positions = (position.get(unit.line, -1) for unit in self._units)
        return list(accumulate(positions, max))


def _resolve(uuid: str, gone: dict[str, str | None]) -> str | None:
    """The nearest ancestor of a removed line that was not removed. `gone` is updated to shorten the
    path for the next search."""
    trail: list[str] = []
    current: str | None = uuid
    while current is not None and current in gone:
        trail.append(current)
        current = gone.pop(current)
    gone.update(dict.fromkeys(trail, current))
    return current


def _make_uuid(value: Object, parent: str | None, number: int) -> str:
    """A UUID that is always the same for the same line in the same place."""
    text = f"{parent}/{number}/{sorted(value)}/{value.get('message')}"
    digits = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"
