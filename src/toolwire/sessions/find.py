"""Find the histories in the content of a file."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from toolwire.codec import decode_in_full, resolve
from toolwire.codec.known_wires import detect
from toolwire.conversation.json import JSON, load
from toolwire.errors import DecodeError, InputError, UsageError
from toolwire.sessions.claude_code import is_claude_code, read_claude_code
from toolwire.sessions.documents import find_in_document
from toolwire.sessions.gemini_cli import is_gemini_cli, read_gemini_cli
from toolwire.sessions.history import History
from toolwire.sessions.lines import Line, split_lines
from toolwire.sessions.message_lines import is_rollout, read_message_lines, read_rollout

_TRANSCRIPTS = (
    (is_claude_code, read_claude_code),
    (is_rollout, read_rollout),
    (is_gemini_cli, read_gemini_cli),
)
"""The formats of agents: a function that recognizes the lines of a file, and one that reads
them."""


def find_history(
    data: bytes, name: str, *, source: str | None = None, line: int | None = None
) -> History:
    """The history in a file.

    Args:
        data: The content of the file.
        name: The name of the file, for messages.
        source: The wire, profile or provider of the history; detected if not given.
        line: The line to read, for a file with a body on each line.

    Raises:
        DecodeError: A line, or the file, is not JSON, or it holds several histories.
        UsageError: The file contains no history of a known wire, or it matches several wires.
    """
    try:
        value, _ = load(data, source or "")
    except DecodeError as error:
        lines = split_lines(data)
        if not _is_jsonl(lines):
            raise DecodeError(_at(name) + str(error)) from None
        return _find_in_lines(data, lines, name, source=source, line=line)
    if line not in (None, 1):
        raise UsageError(f"{_at(name)}there is no line {line}")
    transcript = find_transcript([Line(1, data, value)], source=source, name=name)
    if transcript is not None:
        return transcript
    try:
        found = find_in_document(data, value, source=source)
    except InputError as error:
        raise type(error)(_at(name) + str(error)) from None
    if len(found) > 1:
        sections = ", ".join(section.wire for section in found)
        raise DecodeError(
            f"{_at(name)}a run in {len(found)} sections ({sections}), which is not one history; its"
            " agent repairs them when it continues"
        )
    return found[0]


def _is_jsonl(lines: Sequence[Line]) -> bool:
    """True if more lines hold an object or a list than are broken, unlike in a broken document."""
    objects = sum(isinstance(line.value, dict | list) for line in lines)
    return objects > sum(bool(line.problem) for line in lines)


def _find_in_lines(
    data: bytes, lines: list[Line], name: str, *, source: str | None, line: int | None
) -> History:
    transcript = None if line is not None else find_transcript(lines, source=source, name=name)
    if transcript is not None:
        return transcript
    filled = [candidate for candidate in lines if candidate.text.strip()]
    if line is None and len(filled) > 1:
        if not any(_holds_history(data, candidate, source) for candidate in filled):
            raise UsageError(f"{_at(name)}none of {len(filled)} lines is a body of a known wire")
        raise DecodeError(
            f"{_at(name)}each of {len(filled)} lines is a body; choose one: line=N, or --line N"
        )
    chosen = next((candidate for candidate in filled if line in (None, candidate.number)), None)
    if chosen is None:
        raise UsageError(f"{_at(name)}there is no body on line {line}")
    if isinstance(chosen.value, UnsetType):
        raise DecodeError(_at(name, chosen.number) + chosen.problem)
    try:
        return find_in_document(data, chosen.value, source=source, line=chosen)[0]
    except InputError as error:
        raise type(error)(_at(name, chosen.number) + str(error)) from None


def _holds_history(data: bytes, line: Line, source: str | None) -> bool:
    if isinstance(line.value, UnsetType):
        return False
    try:
        return bool(find_in_document(data, line.value, source=source, line=line))
    except InputError:
        return False


def find_transcript(
    lines: Sequence[Line], *, source: str | None = None, name: str = ""
) -> History | None:
    """The history that is spread over the lines of a file; None if each line is separate.

    Raises:
        DecodeError: A line of a file with one message on each line is not JSON.
        UsageError: The wire of the messages cannot be detected, or is not the given one.
    """
    values = [line.value for line in lines if not isinstance(line.value, UnsetType)]
    for matches, read in _TRANSCRIPTS:
        if values and matches(values):
            try:
                return _with_profile(read(lines), source)
            except UsageError as error:
                raise UsageError(_at(name) + str(error)) from None
    if not _may_be_messages(values):
        return None
    are_messages = any(map(_is_message, values))
    broken = next((line for line in lines if line.problem), None)
    if are_messages and broken is not None:
        raise DecodeError(_at(name, broken.number) + broken.problem)
    try:
        if source is None:
            source = detect(values)
        decode_in_full(values, source)
    except InputError as error:
        if not are_messages:
            return None
        raise type(error)(_at(name) + str(error)) from None
    return read_message_lines(lines, source)


def starts_transcript(value: JSON) -> bool:
    """True if the first line of a file shows that a history is spread over its lines."""
    return any(matches([value]) for matches, _ in _TRANSCRIPTS) or _is_message(value)


def _is_message(value: JSON) -> bool:
    """True for a message of another role than the assistant: a single answer is a body."""
    return isinstance(value, dict) and value.get("role") in ("user", "system", "developer", "tool")


_MARKS = ("role", "type", "author")
"""Fields that mark a message, an item and an event."""


def _may_be_messages(values: Sequence[JSON]) -> bool:
    """True if every value has the role of a message, the type of an item or the author of an event,
    and not all of them are assistant messages."""
    objects = [value for value in values if isinstance(value, dict)]
    return (
        len(objects) == len(values) > 0
        and all(any(isinstance(value.get(mark), str) for mark in _MARKS) for value in objects)
        and not all(value.get("role") == "assistant" for value in objects)
    )


def may_start_messages(first: JSON, second: JSON) -> bool:
    """True if the first two lines of a file may be two messages of one history.

    The first line alone may also be a whole body: the answer of a model.
    """
    return _may_be_messages([first, second])


def _with_profile(history: History, source: str | None) -> History:
    """The history with the given profile, which must belong to its wire."""
    if source is not None:
        wire = resolve(source)[0].name
        if wire != history.wire:
            reason = f"this is a session of {history.form} on the wire {history.wire}, not {wire}"
            raise UsageError(reason)
        history.wire = source
    return history


def _at(name: str, line: int | None = None) -> str:
    """File and line as the start of an error message."""
    if not name:
        return "" if line is None else f"line {line}: "
    return f"{name}: " if line is None else f"{name}:{line}: "
