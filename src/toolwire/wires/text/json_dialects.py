"""Dialects that write a call as a JSON object: in a tag, in a list after a mark, or as the whole
message."""

from __future__ import annotations

import re

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.text.cursor import (
    SPACE,
    Cursor,
    Recognizer,
    proper_prefixes,
    recognize,
    recognize_json,
    skip_blanks,
)
from toolwire.wires.text.dialect import CallBlock, CallMatch, Dialect, Frame, Grammar, SpanWriter
from toolwire.wires.text.embedded_json import json_text, object_at, skip_space


def _parse_call(text: str, start: int, field: str) -> CallMatch | None:
    """The call in the JSON object at a position; `field` holds its arguments."""
    found = object_at(text, start)
    if found is None:
        return None
    value, end = found
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return None
    return CallMatch(start, end, name, _arguments(value.get(field)), value.get("id"))


def _arguments(value: JSON) -> LazyJson:
    if value is None:
        return LazyJson("")
    return LazyJson(value) if isinstance(value, str) else LazyJson.from_value(value)


def _span_writer(field: str) -> SpanWriter:
    """Return a writer of calls as objects; unknown fields of the replaced object stay."""

    def write(name: str, args: Object | None, call_id: str | None, old: str | None) -> str:
        found = object_at(old, 0) if old is not None else None
        original = found[0] if found is not None else {}
        out: Object = {"id": call_id} if call_id is not None and "id" not in original else {}
        out.update(original)
        if call_id is None:
            out.pop("id", None)
        else:
            out["id"] = call_id
        out["name"] = name
        if args is not None:
            out[field] = text_of(args) if isinstance(original.get(field), str) else args
        return json_text(out)

    return write


# --- an object in a tag ---------------------------------------------------------------------------

_OPENING_TAG, _CLOSING_TAG = "<tool_call>", "</tool_call>"
_CLOSING = re.compile(_CLOSING_TAG)
_PARTIAL_CLOSING = re.compile(proper_prefixes(_CLOSING_TAG))


def _parse_tagged(text: str, start: int) -> CallBlock | None:
    call = _parse_call(text, skip_space(text, start + len(_OPENING_TAG)), "arguments")
    closing = _CLOSING.match(text, skip_space(text, call.end)) if call is not None else None
    if call is None or closing is None:
        return None
    return CallBlock(start, closing.end(), (call,))


def _recognize_tagged(cursor: Cursor) -> Recognizer:
    cursor.position += len(_OPENING_TAG)
    yield from skip_blanks(cursor, SPACE)
    if not cursor.starts_with("{") or not (yield from recognize_json(cursor)):
        return False
    yield from skip_blanks(cursor, SPACE)
    return (yield from recognize(cursor, _CLOSING, _PARTIAL_CLOSING))


TAGGED = Dialect(
    name="tool_call",
    opens=re.escape(_OPENING_TAG),
    partly_opens=proper_prefixes(_OPENING_TAG),
    block=Grammar(_recognize_tagged, _parse_tagged),
    write=_span_writer("arguments"),
    frame=Frame(_OPENING_TAG, f"{_CLOSING_TAG}\n{_OPENING_TAG}", _CLOSING_TAG),
)
"""`<tool_call>{"name": …, "arguments": {…}}</tool_call>`, each call in its own tag: Hermes, Qwen
and most models that were trained for tools in text."""

# --- a list after a mark --------------------------------------------------------------------------

_LIST_MARK = "[TOOL_CALLS]"


def _parse_list(text: str, start: int) -> CallBlock | None:
    """The block of a list; None if anything in the list is not a call."""
    calls: list[CallMatch] = []
    position = skip_space(text, start + len(_LIST_MARK))
    separator = "["
    while text.startswith(separator, position):
        call = _parse_call(text, skip_space(text, position + 1), "arguments")
        if call is None:
            return None
        calls.append(call)
        position = skip_space(text, call.end)
        separator = ","
    if not calls or not text.startswith("]", position):
        return None
    return CallBlock(start, position + 1, tuple(calls))


def _recognize_list(cursor: Cursor) -> Recognizer:
    cursor.position += len(_LIST_MARK)
    yield from skip_blanks(cursor, SPACE)
    return cursor.starts_with("[") and (yield from recognize_json(cursor))


LIST = Dialect(
    name="TOOL_CALLS",
    opens=re.escape(_LIST_MARK),
    partly_opens=proper_prefixes(_LIST_MARK),
    block=Grammar(_recognize_list, _parse_list),
    write=_span_writer("arguments"),
    frame=Frame(f"{_LIST_MARK} [", ", ", "]"),
)
"""`[TOOL_CALLS] [{"name": …, "arguments": {…}}, …]`."""

# --- the whole message ----------------------------------------------------------------------------

PYTHON_TAG = "<|python_tag|>"
"""The mark after which a message holds only calls; it may be absent."""
_MESSAGE_END = re.compile(r"(?:\s|<\|eom_id\|>|<\|eot_id\|>)*")
_PARTIAL_MESSAGE_END = re.compile(f"(?:{proper_prefixes('<|eom_id|>', '<|eot_id|>')})?")
_KEYS = frozenset({"type", "id", "name", "parameters"})


def after_python_tag(text: str, start: int) -> int:
    """The position of the calls that fill the rest of a message, after the mark if there is one."""
    return skip_space(
        text, start + len(PYTHON_TAG) if text.startswith(PYTHON_TAG, start) else start
    )


def message_ends(text: str, position: int) -> bool:
    """True if only blanks and end tokens follow."""
    found = _MESSAGE_END.match(text, position)
    return found is not None and found.end() == len(text)


def recognize_message_end(cursor: Cursor) -> Recognizer:
    """Never returns True, because only the end of the message shows that nothing follows."""
    while True:
        cursor.skip(_MESSAGE_END)
        if _PARTIAL_MESSAGE_END.fullmatch(cursor.text, cursor.position) is None:
            return False
        yield


def _parse_message(text: str, start: int) -> CallBlock | None:
    position = after_python_tag(text, start)
    calls: list[CallMatch] = []
    while True:
        call = _parse_call(text, position, "parameters")
        found = object_at(text, position)
        if call is None or found is None:
            return None
        if not _KEYS.issuperset(found[0]) or not isinstance(found[0].get("parameters"), dict):
            return None
        calls.append(call)
        position = skip_space(text, call.end)
        if not text.startswith(";", position):
            break
        position = skip_space(text, position + 1)
    return CallBlock(start, len(text), tuple(calls)) if message_ends(text, position) else None


def _recognize_message(cursor: Cursor) -> Recognizer:
    cursor.position = after_python_tag(cursor.text, cursor.position)
    while True:
        yield from skip_blanks(cursor, SPACE)
        if not cursor.starts_with("{") or not (yield from recognize_json(cursor, _KEYS)):
            return False
        yield from skip_blanks(cursor, SPACE)
        if not cursor.starts_with(";"):
            return (yield from recognize_message_end(cursor))
        cursor.position += 1


MESSAGE = Dialect(
    name="json",
    opens=re.escape(PYTHON_TAG),
    partly_opens=proper_prefixes(PYTHON_TAG),
    block=Grammar(_recognize_message, _parse_message),
    write=_span_writer("parameters"),
    frame=Frame(PYTHON_TAG, "; ", ""),
    bare_start="{",
)
"""`{"name": …, "parameters": {…}}` as the whole message or after a mark, several separated by
semicolons: Llama 3."""
