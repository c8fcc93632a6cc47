"""The dialect that writes a call as an XML element with one element per argument."""

from __future__ import annotations

import re

from toolwire.conversation.json import JSON, Object, parse, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.text.cursor import Cursor, Recognizer, proper_prefixes, recognize, skip_blanks
from toolwire.wires.text.dialect import CallBlock, CallMatch, Dialect, Frame, Grammar

_PREFIX = r"(?:\w{1,32}:)?"
"""A namespace prefix, which some models put before the names of their tags."""
_CALL = re.compile(rf"<{_PREFIX}invoke\s+([^<>]*)>(.*?)</{_PREFIX}invoke>", re.DOTALL)
_ARGUMENT = re.compile(
    rf"\s*<{_PREFIX}parameter\s+([^<>]*)>(.*?)</{_PREFIX}parameter>\s*", re.DOTALL
)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_WRAPPER = re.compile(rf"(?:<{_PREFIX}function_calls>\s*)?")
_WRAPPER_END = re.compile(rf"\s*</{_PREFIX}function_calls>")
_BLANKS = re.compile(r"\s*")
_CALL_START = re.compile(rf"<{_PREFIX}invoke\s+[^<>]*>")
_ARGUMENT_START = re.compile(rf"<{_PREFIX}parameter\s+[^<>]*>")
_CALL_END = re.compile(rf"</{_PREFIX}invoke>")
_ANY_END = re.compile(rf"</{_PREFIX}(parameter|invoke)>")


def _partial_tag(name: str, slash: str, rest: str = "") -> str:
    """A pattern for the start of a tag that may have a prefix, so it may start with any word.

    `rest` matches the text after the name.
    """
    prefixes = proper_prefixes(name + ">")
    return rf"<(?:{slash}(?:\w{{0,32}}|\w{{1,32}}:(?:{prefixes})?|{_PREFIX}{name}{rest}))?"


_PARTIAL_CALL_START = re.compile(_partial_tag("invoke", "", r"\s[^<>]*"))
_PARTIAL_ARGUMENT_START = re.compile(_partial_tag("parameter", "", r"\s[^<>]*"))
_PARTIAL_CALL_END = re.compile(_partial_tag("invoke", "/"))
_PARTIAL_WRAPPER_END = re.compile(rf"\s*(?:{_partial_tag('function_calls', '/')})?")
_PARTIAL_ANY_END = re.compile(rf"{_partial_tag('parameter', '/')}|{_partial_tag('invoke', '/')}")


def _parse(text: str, start: int) -> CallBlock | None:
    wrapper = _WRAPPER.match(text, start)
    found = _CALL.match(text, wrapper.end() if wrapper is not None else start)
    call = _read_call(found) if found is not None else None
    if found is None or call is None:
        return None
    return CallBlock(start, found.end(), (call,))


def _recognize(cursor: Cursor) -> Recognizer:
    cursor.skip(_WRAPPER)
    yield from skip_blanks(cursor, _BLANKS)
    if not (yield from recognize(cursor, _CALL_START, _PARTIAL_CALL_START)):
        return False
    while True:
        yield from skip_blanks(cursor, _BLANKS)
        while not _ARGUMENT_START.match(cursor.text, cursor.position):
            if _CALL_END.match(cursor.text, cursor.position):
                return True
            if not (
                _PARTIAL_ARGUMENT_START.fullmatch(cursor.text, cursor.position)
                or _PARTIAL_CALL_END.fullmatch(cursor.text, cursor.position)
            ):
                return False
            yield
        cursor.skip(_ARGUMENT_START)
        while (end := _ANY_END.search(cursor.text, cursor.position)) is None:
            last = cursor.text.rfind("<", cursor.position)
            if last < 0 or _PARTIAL_ANY_END.fullmatch(cursor.text, last) is None:
                last = len(cursor.text)
            cursor.position = last
            yield
        if end[1] == "invoke":
            return False
        cursor.position = end.end()


def _parse_closing(text: str, start: int) -> CallBlock | None:
    found = _WRAPPER_END.match(text, start)
    return CallBlock(start, found.end(), ()) if found is not None else None


def _recognize_closing(cursor: Cursor) -> Recognizer:
    return (yield from recognize(cursor, _WRAPPER_END, _PARTIAL_WRAPPER_END))


def _read_call(found: re.Match[str]) -> CallMatch | None:
    attributes = dict(_ATTRIBUTE.findall(found[1]))
    content = found[2]
    args: Object = {}
    position = 0
    while (argument := _ARGUMENT.match(content, position)) is not None:
        name = dict(_ATTRIBUTE.findall(argument[1])).get("name")
        if name is None:
            return None
        args[name] = _read_value(argument[2])
        position = argument.end()
    if not attributes.get("name") or content[position:].strip():
        return None
    return CallMatch(
        found.start(),
        found.end(),
        name=attributes["name"],
        args=LazyJson.from_value(args),
        id=attributes.get("id"),
    )


def _read_value(text: str) -> JSON:
    """The JSON value of an argument; text that is not JSON is the value itself."""
    try:
        return parse(text)
    except ValueError:
        return text


def _write(name: str, args: Object | None, call_id: str | None, old: str | None) -> str | None:
    if args is None:
        return None
    if any(character in word for word in (name, call_id or "", *args) for character in '"<>'):
        return None
    id_attribute = f' id="{call_id}"' if call_id is not None else ""
    lines = [f'<invoke name="{name}"{id_attribute}>']
    for key, value in args.items():
        if isinstance(value, str) and _read_value(value) == value and "</" not in value:
            text = value
        else:
            text = text_of(value).replace("<", "\\u003c")
        lines.append(f'<parameter name="{key}">{text}</parameter>')
    return "\n".join((*lines, "</invoke>"))


XML = Dialect(
    name="invoke",
    opens=rf"<{_PREFIX}(?:invoke\s|function_calls>)",
    partly_opens=(
        rf"<(?:\w{{1,32}}:(?:{proper_prefixes('invoke ', 'function_calls>')})?|\w{{0,32}})"
    ),
    block=Grammar(_recognize, _parse),
    write=_write,
    frame=Frame("<function_calls>\n", "\n", "\n</function_calls>"),
    closing=Grammar(_recognize_closing, _parse_closing),
    end_marker="invoke>",
)
"""`<invoke name="f"><parameter name="a">1</parameter></invoke>`, with or without `<function_calls>`
around it."""
