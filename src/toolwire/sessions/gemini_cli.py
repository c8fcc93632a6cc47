"""Sessions of Gemini CLI: `~/.gemini/tmp/*/chats/session-*`.

A record is `{"id", "timestamp", "type": "user" | "gemini", "content", "toolCalls"}`. A tool call of
a record also holds its result. Newer files have a record on each line: a repeated id replaces the
record, `{"$rewindTo": id}` removes it and all records after it, `{"$set": {"messages": …}}`
replaces all records. Older files are one document with a list `messages`. Source:
chatRecordingService.ts and sessionUtils.ts of github.com/google-gemini/gemini-cli. Saved chats
(`{"history": […]}`) are wrappers.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, dump, get, load, put, sorted_json
from toolwire.sessions.alignment import UnitValue
from toolwire.sessions.history import History, Place, match_layout
from toolwire.sessions.line_history import LineEdits, LineFormat, LineHistory, Unit
from toolwire.sessions.lines import Line, are_most, split_lines

WIRE = "gemini"
_ROLES = {"user": "user", "gemini": "model"}
_CALL: JsonPath = ("functionCall",)
_RESPONSE: JsonPath = ("functionResponse",)
_ALL_RECORDS: JsonPath = ("$set", "messages")
"""The path of the list in a line that replaces all records."""
_DESCRIPTION_KEYS = {"sessionId", "projectHash"}
_RESULTS = "results"
"""The role of units in a content with results; in the body, its role is `user`."""
_COMMANDS = ("/", "?")
"""The first characters of messages that the user addressed to the program."""


def is_gemini_cli(values: Sequence[JSON]) -> bool:
    """True if the lines of a file are a session of Gemini CLI.

    A first line is enough: the history of the session may still be empty.
    """
    lists = [found for value in values if isinstance(found := get(value, _ALL_RECORDS), list)]
    records = [*values, *(record for found in lists for record in found)]
    return (
        any(_role_of(record) and _is_record(record) for record in records)
        or any(_is_first_line(value) for value in values)
    ) and are_most(values, lambda value: _is_record(value) or _is_metadata(value))


def is_gemini_cli_document(value: Object) -> bool:
    """True if a document is a session of Gemini CLI."""
    messages = value.get("messages")
    if "sessionId" not in value or not isinstance(messages, list):
        return False
    is_described = value.keys() >= _DESCRIPTION_KEYS
    return is_gemini_cli(messages) or (is_described and all(map(_is_record, messages)))


def _role_of(record: JSON) -> str:
    """The role of the content of a record; empty if it is not part of the history."""
    return _ROLES.get(str(get(record, ("type",))), "")


def _is_record(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str) and "content" in value


def _is_first_line(value: JSON) -> bool:
    """True if a line describes a session. A document has the same fields beside its list
    `messages`."""
    return isinstance(value, dict) and value.keys() >= _DESCRIPTION_KEYS and "messages" not in value


def _is_metadata(value: JSON) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(
        ("$set", "$rewindTo", "projectHash")
    )


def read_gemini_cli(lines: Sequence[Line]) -> LineHistory:
    """The history that Gemini CLI continues when it resumes a session."""
    units, body = _compose(lines)
    return LineHistory(lines, units, format=GeminiCli(lines), wire=WIRE, body=body)


def read_gemini_cli_document(data: bytes, value: Object) -> LineHistory:
    """The history of a session that is one document."""
    return RecordList(data, value)


class RecordList(LineHistory):
    """A history whose records are the elements of a list in a document."""

    def __init__(self, data: bytes, value: Object) -> None:
        messages = value.get("messages")
        records = messages if isinstance(messages, list) else []
        lines = [Line(n, dump(record) + b"\n", record) for n, record in enumerate(records)]
        units, body = _compose(lines)
        super().__init__(lines, units, format=GeminiCli(lines), wire=WIRE, body=body)
        self._data = data
        self._document = value

    def place(self, path: JsonPath) -> Place:
        place = super().place(path)
        if place.line is None:
            return place
        return Place(None, ("messages", place.line, *place.path))

    def render(self, body: JSON) -> bytes:
        records = [
            line.value
            for line in split_lines(super().render(body))
            if not isinstance(line.value, UnsetType)
        ]
        return match_layout(dump({**self._document, "messages": records}), self._data)

    def reread(self, data: bytes) -> History:
        value, _ = load(data, "")
        history = RecordList(data, value if isinstance(value, dict) else {})
        history.wire = self.wire
        return history


class Record(Struct, frozen=True):
    """A record and its location."""

    value: Object
    line: int
    first_line: int
    """The line that determines its position among the records."""
    path: JsonPath = ()


def _compose(lines: Sequence[Line]) -> tuple[list[Unit], JSON]:
    """The units of a session, and the contents made of them."""
    units: list[Unit] = []
    body: list[JSON] = []
    for record in _replay(lines).values():
        for role, parts in _contents(record.value):
            units += [
                Unit(
                    role,
                    part,
                    line=record.line,
                    line_path=(*record.path, *path),
                    body_path=(len(body), "parts", k),
                    first_line=record.first_line,
                )
                for k, (part, path) in enumerate(parts)
            ]
            written = "model" if role == "model" else "user"
            body.append({"role": written, "parts": [part for part, _ in parts]})
    return units, body


def _replay(lines: Sequence[Line]) -> dict[str, Record]:
    """The records that remain at the end of a file, by id."""
    records: dict[str, Record] = {}
    for n, line in enumerate(lines):
        value = line.value
        if not isinstance(value, dict):
            continue
        rewind, messages = value.get("$rewindTo"), get(value, _ALL_RECORDS)
        if isinstance(rewind, str):
            while records and next(reversed(records)) != rewind:
                records.popitem()  # an unknown id removes everything
            records.pop(rewind, None)
        elif isinstance(messages, list):
            records = {
                str(record["id"]): Record(record, n, n, (*_ALL_RECORDS, k))
                for k, record in enumerate(messages)
                if isinstance(record, dict) and _is_record(record)
            }
        elif _is_record(value):
            record_id = str(value["id"])
            first = records[record_id].first_line if record_id in records else n
            records[record_id] = Record(value, n, first)
    return records


def _contents(record: Object) -> list[tuple[str, list[tuple[JSON, JsonPath]]]]:
    """The contents of a record: the role, and each part with its path in the record."""
    role = _role_of(record)
    if not role:
        return []
    parts = _parts_at(record.get("content"), ("content",))
    if role == "user":
        text = "".join(str(get(part, ("text",))) for part, _ in parts[:1])
        command = not parts or text.strip().startswith(_COMMANDS)
        return [] if command else [(_unit_role(role, [part for part, _ in parts]), parts)]
    calls = record.get("toolCalls")
    results: list[tuple[JSON, JsonPath]] = []
    in_content = {_call_key(get(part, ("functionCall",))) for part, _ in parts}
    for n, call in enumerate(calls if isinstance(calls, list) else []):
        if not isinstance(call, dict):
            continue
        written: Object = {key: call[key] for key in ("id", "name", "args") if key in call}
        if _call_key(written) not in in_content:
            parts.append(({"functionCall": written}, ("toolCalls", n)))
        results += _results_of(call, ("toolCalls", n, "result"))
    return [(who, found) for who, found in ((role, parts), (_RESULTS, results)) if found]


def _unit_role(role: str, parts: Sequence[JSON]) -> str:
    """The role of the parts of a content, in which results are distinguished from text of the
    user."""
    has_results = any(isinstance(get(part, _RESPONSE), dict) for part in parts)
    return _RESULTS if role != "model" and has_results else role


def _call_key(call: JSON | UnsetType) -> str:
    """A key that distinguishes two calls of one record: the id, otherwise name and arguments."""
    if not isinstance(call, dict):
        return ""
    return str(call.get("id") or sorted_json([call.get("name"), call.get("args")]))


def _results_of(call: Object, path: JsonPath) -> list[tuple[JSON, JsonPath]]:
    result = call.get("result")
    if not result:
        return []
    if isinstance(result, str):
        response: Object = {
            "id": call.get("id"),
            "name": call.get("name"),
            "response": {"output": result},
        }
        return [({"functionResponse": response}, path)]
    return _parts_at(result, path)


def _parts_at(content: JSON, path: JsonPath) -> list[tuple[JSON, JsonPath]]:
    """The parts of a content, which may be one part or a text, each with its path."""
    if isinstance(content, list):
        return [
            ({"text": part} if isinstance(part, str) else part, (*path, n))
            for n, part in enumerate(content)
        ]
    if isinstance(content, str):
        return [({"text": content}, path)] if content else []
    return [(content, path)] if isinstance(content, dict) else []


class GeminiCli(LineFormat):
    """The records of a session of Gemini CLI."""

    name = "gemini-cli"

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def read(self, lines: Sequence[Line]) -> LineHistory:
        return read_gemini_cli(lines)

    def split(self, body: JSON) -> list[UnitValue]:
        units: list[UnitValue] = []
        for content in body if isinstance(body, list) else []:
            found = get(content, ("parts",))
            parts = found if isinstance(found, list) else []
            role = _unit_role(str(get(content, ("role",))), parts)
            units += [UnitValue(role, part) for part in parts]
        return units

    def takes(self, line: JSON, unit: UnitValue) -> bool:
        call_id = get(unit.value, ("functionResponse", "id"))
        calls = get(line, ("toolCalls",))
        return isinstance(call_id, str) and any(
            get(call, ("id",)) == call_id for call in (calls if isinstance(calls, list) else [])
        )

    def fill(self, line: JSON, units: list[UnitValue]) -> JSON:
        record = line if isinstance(line, dict) else {}
        messages = get(record, _ALL_RECORDS)
        if isinstance(messages, list):
            return put(line, _ALL_RECORDS, _fill_records(messages, units))
        calls = record.get("toolCalls")
        if not isinstance(calls, list):
            return {**record, "content": [unit.value for unit in units]}
        parts = [unit.value for unit in units if unit.role == "model"]
        written = [call for part in parts if isinstance(call := get(part, _CALL), dict)]
        old_parts = [part for part, _ in _parts_at(record.get("content"), ())]
        in_content = any(map(_is_call, old_parts))
        content = [part for part in parts if in_content or not _is_call(part)]
        new_calls = [_merge_call(calls, call, n, len(written)) for n, call in enumerate(written)]
        results = [unit.value for unit in units if unit.role == _RESULTS]
        return {
            **record,
            "content": record.get("content") if content == old_parts else content,
            "toolCalls": _with_results(new_calls, results),
        }

    def make_line(self, near: JSON, unit: UnitValue, *, moved: bool) -> Object:
        kind = "gemini" if unit.role == "model" else "user"
        seed = dump([near, unit.value])
        record: Object = {"id": f"toolwire-{sha256(seed).hexdigest()[:16]}"}
        timestamp = get(near, ("timestamp",))
        if not isinstance(timestamp, UnsetType):
            record["timestamp"] = timestamp
        return {**record, "type": kind, "content": [unit.value]}

    def link(self, edits: LineEdits) -> None:
        """Remove all versions of a removed record. A list of all records is emptied instead of
        removed, because earlier records would reappear."""
        for n in [*edits.removed]:
            value = self._lines[n].value
            if isinstance(value, dict) and "$set" in value:
                edits.removed.discard(n)
                edits.changed[n] = put(value, _ALL_RECORDS, [])
        removed = {self._record_id(n) for n in edits.removed} - {""}
        edits.removed |= {n for n in range(len(self._lines)) if self._record_id(n) in removed}

    def _record_id(self, index: int) -> str:
        value = self._lines[index].value
        return str(value["id"]) if isinstance(value, dict) and _is_record(value) else ""


def _is_call(part: JSON) -> bool:
    return isinstance(get(part, _CALL), dict)


def _merge_call(old: list[JSON], call: Object, index: int, count: int) -> Object:
    """The stored call, found by id or else by position, with the values from the history."""
    same = next((other for other in old if _call_key(other) == _call_key(call)), None)
    if same is None and len(old) == count:
        same = old[index]
    stored = same if isinstance(same, dict) else {}
    return {**stored, **call}


def _with_results(calls: list[Object], results: list[JSON]) -> list[JSON]:
    """The calls with their results; a result without a call goes to the last call."""
    if not calls:
        return []
    grouped: list[list[JSON]] = [[] for _ in calls]
    positions = {call["id"]: n for n, call in enumerate(calls) if isinstance(call.get("id"), str)}
    for result in results:
        call_id = get(result, ("functionResponse", "id"))
        grouped[positions.get(call_id, -1) if isinstance(call_id, str) else -1].append(result)
    out: list[JSON] = []
    for call, found in zip(calls, grouped, strict=True):
        same = [part for part, _ in _results_of(call, ())] == found
        out.append(call if same else {**call, "result": found})
    return out


def _fill_records(old: list[JSON], units: list[UnitValue]) -> list[JSON]:
    """A list of records with these units. Records before the first change stay; after it, each
    content is a separate record."""
    format = GeminiCli(())
    out: list[JSON] = []
    position = 0
    for record in old:
        contents = _contents(record) if isinstance(record, dict) else []
        values = [part for _, parts in contents for part, _ in parts]
        end = position + len(values)
        if [unit.value for unit in units[position:end]] != values:
            break
        while end < len(units) and format.takes(record, units[end]):
            end += 1
        same = end == position + len(values)
        out.append(record if same else format.fill(record, units[position:end]))
        position = end
    previous = ""
    for unit in units[position:]:
        last = out[-1] if out else None
        if unit.role == previous and isinstance(last, dict) and isinstance(last["content"], list):
            out[-1] = {**last, "content": [*last["content"], unit.value]}
        else:
            out.append(format.make_line(last, unit, moved=False))
        previous = unit.role
    return out
