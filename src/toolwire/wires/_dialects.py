"""How models without native tool calling write calls, results and tools into plain text: one row for each dialect.

A dialect is data over two functions. To add one, write

- `find`: all blocks of calls in a text, in order. A block is a stretch that is nothing but calls and their tags; in it, each
  call has a span of its own, the part that is rewritten when the call is edited. What does not parse is no block: it stays
  text. Never evaluate anything.
- `write`: the text of one call's span, given the span it replaces (None for a new call); None if the dialect cannot say it.

and put a `Dialect` with them into `CALLS`, where the order counts: a message is read by the first dialect that finds a block.
`frame` says what stands before, between and after such spans, so that every dialect can also write whole blocks. The test of
the wire runs over all rows.

Knows no wire and no messages, only text.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable
from typing import NoReturn

from msgspec import UNSET, Struct

from toolwire._json import JSON, Json, Object, parse, text_of


class Found(Struct, frozen=True):
    """A call in a text: its span, and what it says. `id` is whatever stood there."""

    start: int
    end: int
    name: str
    args: Json
    id: JSON = None


class Block(Struct, frozen=True):
    """A stretch of text that is nothing but calls and their tags."""

    start: int
    end: int
    calls: tuple[Found, ...]


class Dialect(Struct, frozen=True, eq=False):
    """One way of writing calls into text."""

    name: str
    find: Callable[[str], list[Block]]
    write: Callable[[str, Object | None, str | None, str | None], str | None]
    """Takes name, arguments (None: those of the span that is replaced stay), id and the span that is replaced."""
    frame: tuple[str, str, str]
    ids: bool = True
    """Whether a call can carry an id."""


class Answer(Struct, frozen=True):
    """A result in a text: the block with its tags, the span inside, and what it says."""

    start: int
    end: int
    span: tuple[int, int]
    output: JSON
    name: str | None = None
    id: JSON = None
    error: bool = False


# --- JSON inside text --------------------------------------------------------------------------------------------


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_SPACE = re.compile(r"\s*")


def value_at(text: str, start: int) -> tuple[JSON, int] | None:
    """The JSON value that begins here and where it ends; None if there is none."""
    try:
        _, end = _DECODER.raw_decode(text, start)
        return parse(text[start:end]), end
    except (ValueError, RecursionError):
        return None


def json_text(value: JSON) -> str:
    """JSON in which no closing tag can occur: a slash may be escaped."""
    return text_of(value).replace("</", "<\\/")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _object(text: str, start: int) -> tuple[Object, int] | None:
    found = value_at(text, start) if text.startswith("{", start) else None
    return (found[0], found[1]) if found is not None and isinstance(found[0], dict) else None


def _call(text: str, start: int, field: str) -> Found | None:
    """The call that the object here is: it has a name, and its arguments in a field."""
    found = _object(text, start)
    if found is None:
        return None
    value, end = found
    name, given = value.get("name"), value.get(field)
    if not isinstance(name, str) or not name:
        return None
    args = Json(given) if isinstance(given, str) else Json("") if given is None else Json(UNSET, given)
    return Found(start, end, name, args, value.get("id"))


def _writer(field: str) -> Callable[[str, Object | None, str | None, str | None], str | None]:
    """Writes a call as an object; what else the old one said stays in it."""

    def write(name: str, args: Object | None, id: str | None, old: str | None) -> str:
        found = _object(old, 0) if old is not None else None
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


# --- tagged JSON -------------------------------------------------------------------------------------------------


def _tagged(text: str) -> list[Block]:
    """`<tool_call>{"name": …, "arguments": {…}}</tool_call>`, each call in its own tag."""
    out: list[Block] = []
    at = 0
    while (opened := text.find("<tool_call>", at)) >= 0:
        call = _call(text, _skip(text, opened + len("<tool_call>")), "arguments")
        closed = _skip(text, call.end) if call is not None else 0
        if call is not None and text.startswith("</tool_call>", closed):
            at = closed + len("</tool_call>")
            out.append(Block(opened, at, (call,)))
        else:
            at = opened + 1
    return out


# --- one list after a mark ---------------------------------------------------------------------------------------


def _listed(text: str) -> list[Block]:
    """`[TOOL_CALLS] [{"name": …, "arguments": {…}}, …]`."""
    out: list[Block] = []
    at = 0
    while (opened := text.find("[TOOL_CALLS]", at)) >= 0:
        calls, end = _list_of(text, _skip(text, opened + len("[TOOL_CALLS]")))
        if calls:
            out.append(Block(opened, end, tuple(calls)))
        at = end if calls else opened + 1
    return out


def _list_of(text: str, at: int) -> tuple[list[Found], int]:
    """The calls of a JSON list and where it ends; none if anything in it is not a call."""
    calls: list[Found] = []
    mark = "["
    while text.startswith(mark, at):
        call = _call(text, _skip(text, at + 1), "arguments")
        if call is None:
            return [], at
        calls.append(call)
        at = _skip(text, call.end)
        mark = ","
    return (calls, at + 1) if calls and text.startswith("]", at) else ([], at)


# --- the whole message -------------------------------------------------------------------------------------------

_TAG = "<|python_tag|>"
_END = re.compile(r"(?:\s|<\|eom_id\|>|<\|eot_id\|>)*")
_LLAMA = frozenset({"type", "id", "name", "parameters"})


def _begin(text: str) -> tuple[int, int]:
    """Where a block that fills the rest of the message begins, and where its calls do."""
    tag = text.find(_TAG)
    start = tag if tag >= 0 else 0
    return start, _skip(text, start + len(_TAG) if tag >= 0 else 0)


def _alone(text: str) -> list[Block]:
    """`{"name": …, "parameters": {…}}` and nothing else, or after a tag; several are set apart by semicolons."""
    start, at = _begin(text)
    calls: list[Found] = []
    while True:
        call = _call(text, at, "parameters")
        found = _object(text, at)
        if call is None or found is None or not _LLAMA.issuperset(found[0]) or not isinstance(found[0].get("parameters"), dict):
            return []
        calls.append(call)
        at = _skip(text, call.end)
        if not text.startswith(";", at):
            break
        at = _skip(text, at + 1)
    end = _END.match(text, at)
    return [Block(start, len(text), tuple(calls))] if end is not None and end.end() == len(text) else []


# --- Python calls ------------------------------------------------------------------------------------------------

_LOOKS_PYTHONIC = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_LINE = re.compile(r"\r\n|\r|\n")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}


def _pythonic(text: str) -> list[Block]:
    """`[f(a=1), g(b="x")]` and nothing else, or after a tag: parsed, never evaluated."""
    start, at = _begin(text)
    source = text[at:].rstrip()
    if not _LOOKS_PYTHONIC.match(source):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's odd escapes are not the caller's concern
            tree = ast.parse(source, mode="eval").body
        if not isinstance(tree, ast.List):
            return []
        lines = [0, *(found.end() for found in _LINE.finditer(source))]
        calls = tuple(_python_call(node, source, lines, at) for node in tree.elts)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return []
    return [Block(start, len(text), calls)]


def _python_call(node: ast.expr, source: str, lines: list[int], shift: int) -> Found:
    if not isinstance(node, ast.Call) or node.args or node.end_lineno is None or node.end_col_offset is None:
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
    return Found(shift + begin, shift + end, _dotted(node.func), Json(UNSET, given))


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
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if not isinstance(number, bool):
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
    return text if _pythonic(f"[{text}]") else None


# --- XML ---------------------------------------------------------------------------------------------------------

_INVOKE = re.compile(r"<(?:\w+:)?invoke\s+([^<>]*)>(.*?)</(?:\w+:)?invoke>", re.DOTALL)
_PARAMETER = re.compile(r"\s*<(?:\w+:)?parameter\s+([^<>]*)>(.*?)</(?:\w+:)?parameter>\s*", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_BEFORE = re.compile(r"<(?:\w+:)?function_calls>\s*\Z")
_AFTER = re.compile(r"\s*</(?:\w+:)?function_calls>")


def _invoked(text: str) -> list[Block]:
    """`<invoke name="f"><parameter name="a">1</parameter></invoke>`, with or without `<function_calls>` around."""
    out: list[Block] = []
    at = 0
    while (found := _INVOKE.search(text, at)) is not None:
        call = _invoke(found)
        if call is None:
            at = found.start() + 1
            continue
        before = _BEFORE.search(text, at, found.start())
        after = _AFTER.match(text, found.end())
        at = after.end() if after else found.end()
        out.append(Block(before.start() if before else found.start(), at, (call,)))
    return out


def _invoke(found: re.Match[str]) -> Found | None:
    said = dict(_ATTRIBUTE.findall(found[1]))
    given: Object = {}
    at = 0
    while (inside := _PARAMETER.match(found[2], at)) is not None:
        name = dict(_ATTRIBUTE.findall(inside[1])).get("name")
        if name is None:
            return None
        given[name] = _typed(inside[2])
        at = inside.end()
    if not said.get("name") or found[2][at:].strip():
        return None
    return Found(found.start(), found.end(), said["name"], Json(UNSET, given), said.get("id"))


def _typed(text: str) -> JSON:
    """A value: JSON where it is JSON, else the text itself."""
    try:
        return parse(text)
    except ValueError:
        return text


def _write_invoke(name: str, args: Object | None, id: str | None, old: str | None) -> str | None:
    if args is None or any(character in word for word in (name, id or "", *args) for character in '"<>'):
        return None
    lines = [f'<invoke name="{name}" id="{id}">' if id is not None else f'<invoke name="{name}">']
    for key, value in args.items():
        plain = isinstance(value, str) and _typed(value) == value and "</" not in value
        text = value if plain else text_of(value).replace("<", "\\u003c")
        lines.append(f'<parameter name="{key}">{text}</parameter>')
    return "\n".join((*lines, "</invoke>"))


# --- the rows ----------------------------------------------------------------------------------------------------

CALLS: dict[str, Dialect] = {
    row.name: row
    for row in (
        # Hermes, Qwen and most models that were trained for it.
        Dialect("tool_call", _tagged, _writer("arguments"), ("<tool_call>", "</tool_call>\n<tool_call>", "</tool_call>")),
        Dialect("invoke", _invoked, _write_invoke, ("<function_calls>\n", "\n", "\n</function_calls>")),
        Dialect("TOOL_CALLS", _listed, _writer("arguments"), ("[TOOL_CALLS] [", ", ", "]")),
        Dialect("json", _alone, _writer("parameters"), (_TAG, "; ", "")),  # Llama 3
        Dialect("pythonic", _pythonic, _write_pythonic, ("[", ", ", "]"), ids=False),  # Llama 4
    )
}
DEFAULT = CALLS["tool_call"]


def find_calls(text: str) -> tuple[Dialect, list[Block]]:
    """The blocks of the first dialect that has any in this text."""
    for dialect in CALLS.values():
        if blocks := dialect.find(text):
            return dialect, blocks
    return DEFAULT, []


def write_block(dialect: Dialect, spans: Iterable[str]) -> str:
    """Calls, each already written, as a block."""
    before, between, after = dialect.frame
    return f"{before}{between.join(spans)}{after}"


# --- results -----------------------------------------------------------------------------------------------------

RESULTS: tuple[tuple[str, str], ...] = (("<tool_response>", "</tool_response>"), ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"))
"""The tags around a result; the first is the one to write."""
_IDS = ("id", "tool_call_id", "call_id")


def find_results(text: str) -> list[Answer]:
    """All results in a text, in order."""
    for opening, closing in RESULTS:
        out: list[Answer] = []
        at = 0
        while (opened := text.find(opening, at)) >= 0:
            found = _answer(text, opened, opening, closing)
            if found is not None:
                out.append(found)
            at = found.end if found is not None else opened + 1
        if out:
            return out
    return []


def _answer(text: str, opened: int, opening: str, closing: str) -> Answer | None:
    """A result: an object with `content`, or else just its text."""
    begin = opened + len(opening)
    start = _skip(text, begin)
    found = _object(text, start)
    if found is not None and "content" in found[0] and text.startswith(closing, _skip(text, found[1])):
        value, end = found
        name = value.get("name")
        one = next((value[key] for key in _IDS if value.get(key) is not None), None)
        known = name if isinstance(name, str) else None
        closed = _skip(text, end) + len(closing)
        return Answer(opened, closed, (start, end), value["content"], known, one, value.get("error") is True)
    end = text.find(closing, begin)
    if end < 0 or text.find(opening, begin, end) >= 0:
        return None
    span = (begin + text.startswith("\n", begin), end - (text.endswith("\n", begin + 1, end) and end > begin + 1))
    return Answer(opened, end + len(closing), span, text[span[0] : span[1]])


def write_result(output: JSON, name: str | None, id: str | None, error: bool, old: str | None) -> str:
    """A result's span: an object, unless it replaces plain text and is plain text itself."""
    found = _object(old, 0) if old is not None else None
    if old is not None and (found is None or "content" not in found[0]) and isinstance(output, str) and not error:
        return output
    before = found[0] if found is not None and "content" in found[0] else {}
    key = next((key for key in _IDS if key in before), "id")
    out: Object = {**({key: id} if id is not None else {}), **({"name": name} if name else {})}
    out = {**out, **before, **out, "content": output}
    out.pop("error", None)
    return json_text({**out, "error": True} if error else out)


# --- tools -------------------------------------------------------------------------------------------------------

_HEAD = "# Tools\n\nYou can call these tools:\n<tools>\n"
_TAIL = (
    "\n</tools>\nTo call one, write this, with an id of your own for each call; you may write several:\n"
    '<tool_call>{"id": "call_1", "name": "the name", "arguments": {}}</tool_call>\n'
    "The results come back under the same ids, in <tool_response> tags."
)


class Section(Struct, frozen=True):
    """Where the tools stand in a system prompt, and what is said of each."""

    start: int
    end: int
    tools: tuple[Object, ...]


def find_tools(text: str) -> Section | None:
    """The section with the tools: JSON objects, one after the other or in a list, inside `<tools>`."""
    at = 0
    while (opened := text.find("<tools>", at)) >= 0:
        tools, end = _offers(text, _skip(text, opened + len("<tools>")))
        if tools and text.startswith("</tools>", end):
            start = opened + len("<tools>\n") - len(_HEAD)
            ours = start >= 0 and text.startswith(_HEAD, start) and text.startswith(_TAIL, end - 1)
            return Section(start, end - 1 + len(_TAIL), tools) if ours else Section(opened, end + len("</tools>"), tools)
        at = opened + 1
    return None


def _offers(text: str, at: int) -> tuple[tuple[Object, ...], int]:
    out: list[JSON] = []
    while (found := value_at(text, at)) is not None:
        out += found[0] if isinstance(found[0], list) else [found[0]]
        at = _skip(text, found[1])
    tools = [tool for tool in out if isinstance(tool, dict) and isinstance(_inner(tool).get("name"), str)]
    return (tuple(tools) if len(tools) == len(out) else (), at)


def _inner(tool: Object) -> Object:
    function = tool.get("function")
    return function if isinstance(function, dict) else tool


def write_tools(tools: Iterable[Object]) -> str:
    """The section that offers these tools."""
    return f"{_HEAD}{chr(10).join(json_text(tool) for tool in tools)}{_TAIL}"
