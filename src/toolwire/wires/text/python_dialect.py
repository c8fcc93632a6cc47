"""The dialect that writes calls as a list of Python calls, which are parsed and never evaluated."""

from __future__ import annotations

import ast
import math
import re
import warnings

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.text.cursor import (
    SPACE,
    Cursor,
    Recognizer,
    proper_prefixes,
    recognize_brackets,
    skip_blanks,
)
from toolwire.wires.text.dialect import CallBlock, CallMatch, Dialect, Frame, Grammar
from toolwire.wires.text.json_dialects import (
    PYTHON_TAG,
    after_python_tag,
    message_ends,
    recognize_message_end,
)

_START = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(\s*(?:\)|\*\*|[^\W\d]\w*\s*=)")
_PARTIAL_START = re.compile(r"(?:\[\s*(?:[A-Za-z_][\w.]*\s*(?:\(\s*(?:\*|[^\W\d]\w*\s*)?)?)?)?")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CONSTANTS: dict[str, JSON] = {"true": True, "false": False, "null": None}


def _parse(text: str, start: int) -> CallBlock | None:
    position = after_python_tag(text, start)
    if not _START.match(text, position):
        return None
    cursor = Cursor(text, position)
    # The recognizer yields because it needs more text: the brackets are not closed.
    if next(recognize_brackets(cursor), True) is None or not message_ends(text, cursor.position):
        return None
    source = text[position : cursor.position]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a model's text
            tree = ast.parse(source, mode="eval").body
        if not isinstance(tree, ast.List):
            return None
        lines = [0, *(found.end() for found in _LINE_BREAK.finditer(source))]
        calls = tuple(_read_call(node, source, lines, position) for node in tree.elts)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return CallBlock(start, len(text), calls)


def _recognize(cursor: Cursor) -> Recognizer:
    cursor.position = after_python_tag(cursor.text, cursor.position)
    yield from skip_blanks(cursor, SPACE)
    while not _START.match(cursor.text, cursor.position):
        if _PARTIAL_START.fullmatch(cursor.text, cursor.position) is None:
            return False
        yield
    return (yield from recognize_brackets(cursor)) and (yield from recognize_message_end(cursor))


def _read_call(node: ast.expr, source: str, lines: list[int], shift: int) -> CallMatch:
    if not isinstance(node, ast.Call) or node.args:
        raise TypeError("expected a call with named arguments")
    if node.end_lineno is None or node.end_col_offset is None:
        raise TypeError("expected a node with an end")
    args: Object = {}
    for keyword in node.keywords:
        value = _literal(keyword.value)
        if keyword.arg is not None:
            args[keyword.arg] = value
        elif isinstance(value, dict):
            args.update(value)
        else:
            raise TypeError("expected an object after **")
    start = _offset(source, lines, node.lineno, node.col_offset)
    end = _offset(source, lines, node.end_lineno, node.end_col_offset)
    return CallMatch(
        shift + start, shift + end, _name_of_node(node.func), LazyJson.from_value(args)
    )


def _offset(source: str, lines: list[int], line: int, column: int) -> int:
    """The text index of an `ast` position, which counts the UTF-8 bytes of a line."""
    start = lines[line - 1]
    return start + len(source[start : start + column].encode()[:column].decode())


def _name_of_node(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name_of_node(node.value)}.{node.attr}"
    raise TypeError("expected a name")


def _literal(node: ast.expr) -> JSON:
    """The JSON value of a constant, a list or a dict."""
    match node:
        case ast.Constant(value=str() | bool() | int() | None as value):
            return value
        case ast.Constant(value=float(number)) if math.isfinite(number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if (
            not isinstance(number, bool)
        ):
            return -number
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.List(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=names, values=items):
            return {_key(name): _literal(item) for name, item in zip(names, items, strict=True)}
    raise TypeError("expected a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise TypeError("expected a string")


def _write(name: str, args: Object | None, call_id: str | None, old: str | None) -> str | None:
    if not _NAME.fullmatch(name) or args is None:
        return None
    if all(key.isidentifier() and key.isascii() for key in args):
        arguments = ", ".join(f"{key}={value!r}" for key, value in args.items())
    else:
        arguments = f"**{args!r}"
    text = f"{name}({arguments})"
    return text if _parse(f"[{text}]", 0) else None


PYTHON = Dialect(
    name="pythonic",
    opens=re.escape(PYTHON_TAG),
    partly_opens=proper_prefixes(PYTHON_TAG),
    block=Grammar(_recognize, _parse),
    write=_write,
    frame=Frame("[", ", ", "]"),
    has_ids=False,
    bare_start="[",
)
"""`[f(a=1), g(b="x")]` as the whole message or after a mark: Llama 4."""
