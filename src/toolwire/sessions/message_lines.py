"""JSONL files with one message on each line, and rollouts of Codex: a line holds one item.

A rollout is `{"timestamp", "type", "payload"}` on each line. Items of the Responses API are the
payloads of lines of type `response_item`. A line of type `compacted` replaces the history before it
by the items in its `replacement_history`. An event `thread_rolled_back` removes the newest turns of
the user. Source: codex-rs/history and codex-rs/core/src/session/rollout_reconstruction.rs of
github.com/openai/codex.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.sessions.alignment import UnitValue
from toolwire.sessions.line_history import LineEdits, LineFormat, LineHistory, Unit
from toolwire.sessions.lines import Line, are_most

ROLLOUT_WIRE = "openai-responses"
_REPLACEMENT: JsonPath = ("payload", "replacement_history")
_LOCAL_ITEMS = ("ghost_snapshot", "other")
"""Items that are never sent to the model."""
_CONTEXT_MARKS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<user_shell_command>",
    "<skill>",
    "<subagent_notification>",
)
"""The first words of messages that the agent wrote in the name of the user; they start no turn."""


class MessageLines(LineFormat):
    """The format with one message on each line."""

    name = "jsonl"

    def __init__(self, wire: str) -> None:
        self._wire = wire

    def read(self, lines: Sequence[Line]) -> LineHistory:
        return read_message_lines(lines, self._wire)

    def split(self, body: JSON) -> list[UnitValue]:
        return [UnitValue("", item) for item in body] if isinstance(body, list) else []

    def fill(self, line: JSON, units: list[UnitValue]) -> JSON:
        return units[0].value

    def make_line(self, near: JSON, unit: UnitValue, *, moved: bool) -> Object:
        return unit.value if isinstance(unit.value, dict) else {}

    def link(self, edits: LineEdits) -> None:
        """Do nothing: lines do not refer to each other."""


class Rollout(MessageLines):
    """The format of Codex rollouts."""

    name = "codex"

    def read(self, lines: Sequence[Line]) -> LineHistory:
        return read_rollout(lines)

    def fill(self, line: JSON, units: list[UnitValue]) -> JSON:
        if get(line, ("type",)) == "compacted":
            return put(line, _REPLACEMENT, [_write_in_full(unit.value) for unit in units])
        return put(line, ("payload",), _write_in_full(units[0].value))

    def make_line(self, near: JSON, unit: UnitValue, *, moved: bool) -> Object:
        timestamp = get(near, ("timestamp",))
        stamp: Object = {} if isinstance(timestamp, UnsetType) else {"timestamp": timestamp}
        return {**stamp, "type": "response_item", "payload": _write_in_full(unit.value)}


def _write_in_full(item: JSON) -> JSON:
    """A message with its type and a list of blocks, because Codex reads no shorter form."""
    if not isinstance(item, dict) or "role" not in item:
        return item
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item["role"] == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {"type": "message", **item, "content": content}


def read_message_lines(lines: Sequence[Line], wire: str) -> LineHistory:
    """The history of a file with one message on each line."""
    found = [(n, line.value) for n, line in enumerate(lines)]
    units = [
        Unit("", value, line=n, body_path=(index,))
        for index, (n, value) in enumerate(
            (n, value) for n, value in found if not isinstance(value, UnsetType)
        )
    ]
    return _history(lines, units, MessageLines(wire), wire)


def is_rollout(values: Sequence[JSON]) -> bool:
    """True if the lines of a file are a rollout."""
    starts = ("session_meta", "response_item")
    return any(get(value, ("type",)) in starts for value in values) and are_most(
        values,
        lambda value: (
            isinstance(get(value, ("payload",)), dict) and isinstance(get(value, ("type",)), str)
        ),
    )


def read_rollout(lines: Sequence[Line]) -> LineHistory:
    """The history that Codex continues when it resumes a rollout."""
    units: list[Unit] = []
    for n, line in enumerate(lines):
        if isinstance(line.value, UnsetType):
            continue
        kind, payload = get(line.value, ("type",)), get(line.value, ("payload",))
        if not isinstance(payload, dict):
            continue
        if kind == "response_item":
            if payload.get("type") not in _LOCAL_ITEMS:
                units.append(Unit("", payload, line=n, line_path=("payload",)))
        elif kind == "compacted":
            units = _replace_history(units, payload, n)
        elif kind == "event_msg" and get(payload, ("type",)) == "thread_rolled_back":
            count = get(payload, ("num_turns",))
            units = _roll_back(units, count if isinstance(count, int) else 0)
    placed = [
        Unit(unit.role, unit.value, line=unit.line, line_path=unit.line_path, body_path=(n,))
        for n, unit in enumerate(units)
    ]
    return _history(lines, placed, Rollout(ROLLOUT_WIRE), ROLLOUT_WIRE)


def _replace_history(units: list[Unit], payload: Object, line: int) -> list[Unit]:
    """The units after a compaction. Older compactions list no items: then the user's messages and
    the summary remain."""
    items = payload.get("replacement_history")
    if isinstance(items, list):
        return [
            Unit("", item, line=line, line_path=(*_REPLACEMENT, n)) for n, item in enumerate(items)
        ]
    text: JSON = {"type": "input_text", "text": payload.get("message", "")}
    summary: JSON = {"type": "message", "role": "user", "content": [text]}
    return [
        *(unit for unit in units if _starts_turn(unit.value)),
        Unit("", summary, line=line, line_path=("payload",)),
    ]


def _roll_back(units: list[Unit], turns: int) -> list[Unit]:
    starts = [n for n, unit in enumerate(units) if _starts_turn(unit.value)]
    if turns < 1 or not starts:
        return units
    return units[: starts[-min(turns, len(starts))]]


def _starts_turn(item: JSON) -> bool:
    """True for a message that the user wrote."""
    if get(item, ("role",)) != "user":
        return False
    text = get(item, ("content", 0, "text"))
    return not (isinstance(text, str) and text.lstrip().startswith(_CONTEXT_MARKS))


def _history(
    lines: Sequence[Line], units: Sequence[Unit], format: LineFormat, wire: str
) -> LineHistory:
    body: list[JSON] = [unit.value for unit in units]
    return LineHistory(lines, units, format=format, wire=wire, body=body)
