"""How models without native tool calling write calls into plain text: one row for each dialect.

A dialect is data over a few functions. To add one, write

- `opens`: a pattern for the mark with which a block of calls begins, and `nearly` for what could
  still become that mark.
- `guard`: whether a text that begins with the mark can still become a block. A stream is held back
  as long as it can.
- `parse`: the block that begins here. A block is a stretch that is nothing but calls and their
  tags; in it, each call has a span of its own, the part that is rewritten when the call is edited.
  What does not parse is no block: it stays text. Never evaluate anything.
- `write`: the text of one call's span, given the span it replaces (None for a new call); None if
  the dialect cannot say it.

and put a `Dialect` with them into `CALLS`. A message is read by the dialect whose block comes
first, so that a stream can be read while it comes. `frame` says what stands before, between and
after spans, so that every dialect can also write whole blocks. The tests of the wire run over all
rows.

Knows no wire and no messages, only text.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Iterable

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, parse, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.text.cursor import (
    SPACE,
    Guard,
    Tape,
    beginnings,
    blanks,
    bracketed,
    expected,
    json_value,
)
from toolwire.wires.text.embedded_json import json_text, object_at, skip


class Found(Struct, frozen=True):
    """A call in a text: its span, and what it says. `id` is whatever stood there."""

    start: int
    end: int
    name: str
    args: LazyJson
    id: JSON = None


class CallBlock(Struct, frozen=True):
    """A stretch of text that is nothing but calls and their tags."""

    start: int
    end: int
    calls: tuple[Found, ...]


class Dialect(Struct, frozen=True, eq=False):
    """One way of writing calls into text."""

    name: str
    opens: str
    nearly: str
    guard: Callable[[Tape], Guard]
    parse: Callable[[str, int], CallBlock | None]
    write: Callable[[str, Object | None, str | None, str | None], str | None]
    """Takes name, arguments (None: those of the span that is replaced stay), id and the span that
    is replaced."""
    frame: tuple[str, str, str]
    ids: bool = True
    """Whether a call can carry an id."""
    alone: str = ""
    """The character with which a message begins that is a block without any mark; such a block
    fills the whole message."""
    closes: tuple[Callable[[Tape], Guard], Callable[[str, int], CallBlock | None]] | None = None
    """What may close a block though it is not needed: its guard, and the empty block that it is."""
    needs: str = ""
    """What every block of it has near its end: a text without it from some place on has no block
    there."""


# --- calls as JSON objects ------------------------------------------------------------------------


def _call(text: str, start: int, field: str) -> Found | None:
    """The call that the object here is: it has a name, and its arguments in a field."""
    found = object_at(text, start)
    if found is None:
        return None
    value, end = found
    name, given = value.get("name"), value.get(field)
    if not isinstance(name, str) or not name:
        return None
    args = (
        LazyJson(given)
        if isinstance(given, str)
        else LazyJson("")
        if given is None
        else LazyJson.from_value(given)
    )
    return Found(start, end, name, args, value.get("id"))


def _writer(field: str) -> Callable[[str, Object | None, str | None, str | None], str | None]:
    """Writes a call as an object; what else the old one said stays in it."""

    def write(name: str, args: Object | None, id: str | None, old: str | None) -> str:
        found = object_at(old, 0) if old is not None else None
        before = found[0] if found is not None else {}
        out: Object = {"id": id} if id is not None and "id" not in before else {}
        out.update({key: value for key, value in before.items() if key != "id" or id is not None})
        if id is not None:
            out["id"] = id
        out["name"] = name
        if args is not None:
            out[field] = text_of(args) if isinstance(before.get(field), str) else args
        return json_text(out)

    return write


# --- tagged JSON ----------------------------------------------------------------------------------


_TAGGED = re.compile("</tool_call>")
_TAGGING = re.compile(beginnings("</tool_call>"))


def _tagged(text: str, opened: int) -> CallBlock | None:
    """`<tool_call>{"name": …, "arguments": {…}}</tool_call>`, each call in its own tag."""
    call = _call(text, skip(text, opened + len("<tool_call>")), "arguments")
    closed = _TAGGED.match(text, skip(text, call.end)) if call is not None else None
    return (
        CallBlock(opened, closed.end(), (call,))
        if call is not None and closed is not None
        else None
    )


def _guard_tagged(tape: Tape) -> Guard:
    tape.path += len("<tool_call>")
    yield from blanks(tape, SPACE)
    if not tape.text.startswith("{", tape.path) or not (yield from json_value(tape)):
        return False
    yield from blanks(tape, SPACE)
    return (yield from expected(tape, _TAGGED, _TAGGING))


# --- one list after a mark ------------------------------------------------------------------------


def _listed(text: str, opened: int) -> CallBlock | None:
    """`[TOOL_CALLS] [{"name": …, "arguments": {…}}, …]`."""
    calls, end = _list_of(text, skip(text, opened + len("[TOOL_CALLS]")))
    return CallBlock(opened, end, tuple(calls)) if calls else None


def _guard_listed(tape: Tape) -> Guard:
    tape.path += len("[TOOL_CALLS]")
    yield from blanks(tape, SPACE)
    return tape.text.startswith("[", tape.path) and (yield from json_value(tape))


def _list_of(text: str, path: int) -> tuple[list[Found], int]:
    """The calls of a JSON list and where it ends; none if anything in it is not a call."""
    calls: list[Found] = []
    mark = "["
    while text.startswith(mark, path):
        call = _call(text, skip(text, path + 1), "arguments")
        if call is None:
            return [], path
        calls.append(call)
        path = skip(text, call.end)
        mark = ","
    return (calls, path + 1) if calls and text.startswith("]", path) else ([], path)


# --- the whole message ----------------------------------------------------------------------------

_TAG = "<|python_tag|>"
_END = re.compile(r"(?:\s|<\|eom_id\|>|<\|eot_id\|>)*")
_ENDING = re.compile(f"(?:{beginnings('<|eom_id|>', '<|eot_id|>')})?")
_LLAMA = frozenset({"type", "id", "name", "parameters"})


def _inside(text: str, start: int) -> int:
    """Where the calls begin that fill the rest of a message, with or without a mark before them."""
    return skip(text, start + len(_TAG) if text.startswith(_TAG, start) else start)


def _ends(text: str, path: int) -> bool:
    found = _END.match(text, path)
    return found is not None and found.end() == len(text)


def _guard_end(tape: Tape) -> Guard:
    """Nothing may follow; whether nothing does is known when the message is over."""
    while True:
        tape.pass_over(_END)
        if _ENDING.fullmatch(tape.text, tape.path) is None:
            return False
        yield


def _alone(text: str, start: int) -> CallBlock | None:
    """`{"name": …, "parameters": {…}}` and nothing else, or after a tag; several are set apart by
    semicolons."""
    path = _inside(text, start)
    calls: list[Found] = []
    while True:
        call = _call(text, path, "parameters")
        found = object_at(text, path)
        if (
            call is None
            or found is None
            or not _LLAMA.issuperset(found[0])
            or not isinstance(found[0].get("parameters"), dict)
        ):
            return None
        calls.append(call)
        path = skip(text, call.end)
        if not text.startswith(";", path):
            break
        path = skip(text, path + 1)
    return CallBlock(start, len(text), tuple(calls)) if _ends(text, path) else None


def _guard_alone(tape: Tape) -> Guard:
    tape.path = _inside(tape.text, tape.path)
    while True:
        yield from blanks(tape, SPACE)
        if not tape.text.startswith("{", tape.path) or not (yield from json_value(tape, _LLAMA)):
            return False
        yield from blanks(tape, SPACE)
        if not tape.text.startswith(";", tape.path):
            return (yield from _guard_end(tape))
        tape.path += 1


# --- Python calls ---------------------------------------------------------------------------------

_LOOKS_PYTHONIC = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(\s*(?:\)|\*\*|[^\W\d]\w*\s*=)")
_NEARLY_PYTHONIC = re.compile(r"(?:\[\s*(?:[A-Za-z_][\w.]*\s*(?:\(\s*(?:\*|[^\W\d]\w*\s*)?)?)?)?")
_LINE = re.compile(r"\r\n|\r|\n")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}


def _pythonic(text: str, start: int) -> CallBlock | None:
    """`[f(a=1), g(b="x")]` and nothing else, or after a tag: parsed, never evaluated."""
    path = _inside(text, start)
    if not _LOOKS_PYTHONIC.match(text, path):
        return None
    tape = Tape(text, path)
    if next(bracketed(tape), True) is None or not _ends(
        text, tape.path
    ):  # one that yields wants more than there is
        return None
    source = text[path : tape.path]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's odd escapes are not the caller's concern
            tree = ast.parse(source, mode="eval").body
        if not isinstance(tree, ast.List):
            return None
        lines = [0, *(found.end() for found in _LINE.finditer(source))]
        calls = tuple(_python_call(node, source, lines, path) for node in tree.elts)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return CallBlock(start, len(text), calls)


def _guard_pythonic(tape: Tape) -> Guard:
    tape.path = _inside(tape.text, tape.path)
    yield from blanks(tape, SPACE)
    while not _LOOKS_PYTHONIC.match(tape.text, tape.path):
        if _NEARLY_PYTHONIC.fullmatch(tape.text, tape.path) is None:
            return False
        yield
    return (yield from bracketed(tape)) and (yield from _guard_end(tape))


def _python_call(node: ast.expr, source: str, lines: list[int], shift: int) -> Found:
    if (
        not isinstance(node, ast.Call)
        or node.args
        or node.end_lineno is None
        or node.end_col_offset is None
    ):
        raise TypeError("a call with named arguments")
    given: Object = {}
    for keyword in node.keywords:
        value = _literal(keyword.value)
        if keyword.arg is not None:
            given[keyword.arg] = value
        elif isinstance(value, dict):
            given.update(value)
        else:
            raise TypeError("an object")
    begin = _offset(source, lines, node.lineno, node.col_offset)
    end = _offset(source, lines, node.end_lineno, node.end_col_offset)
    return Found(shift + begin, shift + end, _dotted(node.func), LazyJson.from_value(given))


def _offset(source: str, lines: list[int], line: int, column: int) -> int:
    """A place the parser gave, which counts bytes of UTF-8 in a line, as an index."""
    begin = lines[line - 1]
    return begin + len(source[begin : begin + column].encode()[:column].decode())


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    raise TypeError("a name")


def _literal(node: ast.expr) -> JSON:
    """A constant, a list or a dict as the JSON it is."""
    match node:
        case ast.Constant(value=str() | bool() | int() | None as value):
            return value
        case ast.Constant(value=float(number)) if math.isfinite(number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if (
            not isinstance(number, bool)
        ):
            return -number
        case ast.Name(id=word) if word in _WORDS:
            return _WORDS[word]
        case ast.List(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=names, values=items):
            return {_key(name): _literal(item) for name, item in zip(names, items, strict=True)}
    raise TypeError("a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise TypeError("a text")


def _write_pythonic(name: str, args: Object | None, id: str | None, old: str | None) -> str | None:
    if not _NAME.fullmatch(name) or args is None:
        return None
    plain = all(key.isidentifier() and key.isascii() for key in args)
    given = ", ".join(f"{key}={value!r}" for key, value in args.items()) if plain else f"**{args!r}"
    text = f"{name}({given})"
    return text if _pythonic(f"[{text}]", 0) else None


# --- XML ------------------------------------------------------------------------------------------

_NS = r"(?:\w{1,32}:)?"
"""A prefix that some models put before the names of their tags."""
_INVOKE = re.compile(rf"<{_NS}invoke\s+([^<>]*)>(.*?)</{_NS}invoke>", re.DOTALL)
_PARAMETER = re.compile(rf"\s*<{_NS}parameter\s+([^<>]*)>(.*?)</{_NS}parameter>\s*", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_WRAPPED = re.compile(rf"(?:<{_NS}function_calls>\s*)?")
_AFTER = re.compile(rf"\s*</{_NS}function_calls>")
_BLANK = re.compile(r"\s*")


def _tag(name: str, slash: str, rest: str = "") -> re.Pattern[str]:
    """The beginning of a tag that may have a prefix: any word may still become one. `rest` is what
    may follow the name."""
    return re.compile(
        rf"<(?:{slash}(?:\w{{0,32}}|\w{{1,32}}:(?:{beginnings(name + '>')})?|{_NS}{name}{rest}))?"
    )


_INVOKING = re.compile(rf"<{_NS}invoke\s+[^<>]*>")
_GIVING = re.compile(rf"<{_NS}parameter\s+[^<>]*>")
_INVOKED = re.compile(rf"</{_NS}invoke>")
_GIVEN = re.compile(rf"</{_NS}(parameter|invoke)>")
_NEARLY_INVOKING = _tag("invoke", "", r"\s[^<>]*")
_NEARLY_GIVING = _tag("parameter", "", r"\s[^<>]*")
_NEARLY_INVOKED = _tag("invoke", "/")
_NEARLY_CLOSED = re.compile(rf"\s*(?:{_tag('function_calls', '/').pattern})?")
_NEARLY_GIVEN = re.compile(rf"{_tag('parameter', '/').pattern}|{_tag('invoke', '/').pattern}")


def _invoked(text: str, start: int) -> CallBlock | None:
    """`<invoke name="f"><parameter name="a">1</parameter></invoke>`, with or without
    `<function_calls>` around."""
    before = _WRAPPED.match(text, start)
    found = _INVOKE.match(text, before.end() if before is not None else start)
    call = _invoke(found) if found is not None else None
    return (
        CallBlock(start, found.end(), (call,)) if found is not None and call is not None else None
    )


def _guard_invoked(tape: Tape) -> Guard:
    tape.pass_over(_WRAPPED)
    yield from blanks(tape, _BLANK)
    if not (yield from expected(tape, _INVOKING, _NEARLY_INVOKING)):
        return False
    while True:
        yield from blanks(tape, _BLANK)
        while not (_GIVING.match(tape.text, tape.path) or _INVOKED.match(tape.text, tape.path)):
            if not (
                _NEARLY_GIVING.fullmatch(tape.text, tape.path)
                or _NEARLY_INVOKED.fullmatch(tape.text, tape.path)
            ):
                return False
            yield
        if _INVOKED.match(tape.text, tape.path):
            return True
        tape.pass_over(_GIVING)
        while (given := _GIVEN.search(tape.text, tape.path)) is None:
            last = tape.text.rfind("<", tape.path)
            held = last >= 0 and _NEARLY_GIVEN.fullmatch(tape.text, last) is not None
            tape.path = last if held else len(tape.text)
            yield
        if given[1] == "invoke":
            return False
        tape.path = given.end()


def _closed(text: str, start: int) -> CallBlock | None:
    found = _AFTER.match(text, start)
    return CallBlock(start, found.end(), ()) if found is not None else None


def _guard_closed(tape: Tape) -> Guard:
    return (yield from expected(tape, _AFTER, _NEARLY_CLOSED))


def _invoke(found: re.Match[str]) -> Found | None:
    said = dict(_ATTRIBUTE.findall(found[1]))
    given: Object = {}
    path = 0
    while (inside := _PARAMETER.match(found[2], path)) is not None:
        name = dict(_ATTRIBUTE.findall(inside[1])).get("name")
        if name is None:
            return None
        given[name] = _typed(inside[2])
        path = inside.end()
    if not said.get("name") or found[2][path:].strip():
        return None
    return Found(
        found.start(), found.end(), said["name"], LazyJson.from_value(given), said.get("id")
    )


def _typed(text: str) -> JSON:
    """A value: JSON where it is JSON, else the text itself."""
    try:
        return parse(text)
    except ValueError:
        return text


def _write_invoke(name: str, args: Object | None, id: str | None, old: str | None) -> str | None:
    if args is None or any(
        character in word for word in (name, id or "", *args) for character in '"<>'
    ):
        return None
    lines = [f'<invoke name="{name}" id="{id}">' if id is not None else f'<invoke name="{name}">']
    for key, value in args.items():
        plain = isinstance(value, str) and _typed(value) == value and "</" not in value
        text = value if plain else text_of(value).replace("<", "\\u003c")
        lines.append(f'<parameter name="{key}">{text}</parameter>')
    return "\n".join((*lines, "</invoke>"))


# --- the rows -------------------------------------------------------------------------------------


def _literal_mark(mark: str) -> tuple[str, str]:
    return re.escape(mark), beginnings(mark)


_INVOKES = (
    rf"<{_NS}(?:invoke\s|function_calls>)",
    rf"<(?:\w{{1,32}}:(?:{beginnings('invoke ', 'function_calls>')})?|\w{{0,32}})",
)
CALLS: dict[str, Dialect] = {
    spec.name: spec
    for spec in (
        # Hermes, Qwen and most models that were trained for it.
        Dialect(
            "tool_call",
            *_literal_mark("<tool_call>"),
            _guard_tagged,
            _tagged,
            _writer("arguments"),
            ("<tool_call>", "</tool_call>\n<tool_call>", "</tool_call>"),
        ),
        Dialect(
            "invoke",
            *_INVOKES,
            _guard_invoked,
            _invoked,
            _write_invoke,
            ("<function_calls>\n", "\n", "\n</function_calls>"),
            closes=(_guard_closed, _closed),
            needs="invoke>",
        ),
        Dialect(
            "TOOL_CALLS",
            *_literal_mark("[TOOL_CALLS]"),
            _guard_listed,
            _listed,
            _writer("arguments"),
            ("[TOOL_CALLS] [", ", ", "]"),
        ),
        Dialect(
            "json",
            *_literal_mark(_TAG),
            _guard_alone,
            _alone,
            _writer("parameters"),
            (_TAG, "; ", ""),
            alone="{",
        ),  # Llama 3
        Dialect(
            "pythonic",
            *_literal_mark(_TAG),
            _guard_pythonic,
            _pythonic,
            _write_pythonic,
            ("[", ", ", "]"),
            ids=False,
            alone="[",
        ),  # Llama 4
    )
}
DEFAULT = CALLS["tool_call"]


def write_block(dialect: Dialect, spans: Iterable[str]) -> str:
    """Calls, each already written, as a block."""
    before, between, after = dialect.frame
    return f"{before}{between.join(spans)}{after}"
