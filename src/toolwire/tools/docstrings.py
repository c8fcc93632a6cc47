"""Read docstrings in the styles of Google, NumPy and reST: the description and the parameters.

A docstring without headings or fields is entirely a description.
`docs/decisions/013-tool-schemas.md` says why this is not a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import cleandoc

from msgspec import Struct, field

_PARAMETERS = frozenset(
    {
        "args",
        "arguments",
        "parameters",
        "params",
        "keyword args",
        "keyword arguments",
        "other parameters",
    }
)
_OMITTED = frozenset("returns return yields yield raises raise references attributes".split()) | {
    "see also"
}
_HEADING = re.compile(r"([A-Z][A-Za-z ]+):\s*")
_RULE = re.compile(r"-{3,}\s*")
_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)")
_REST_PARAMETER = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"((?:\*{0,2}\w+)(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")


class Docstring(Struct, frozen=True):
    """The description of a function and of its parameters."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(docstring: str | None) -> Docstring:
    """Read a docstring. Sections about results and exceptions are omitted."""
    lines = cleandoc(docstring or "").splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    index = 0
    while index < len(lines):
        heading, start = _heading(lines, index)
        if heading is not None:
            is_numpy = start == index + 2
            block, index = _block(lines, start, numpy=is_numpy)
            if heading in _PARAMETERS:
                parameters.update(_numpy_items(block) if is_numpy else _google_items(block))
            elif heading not in _OMITTED:  # notes, examples, warnings
                description += lines[start - 2 : index]
        elif match := _FIELD.match(lines[index]):
            text, index = _field_text(lines, index + 1, match[3])
            if match[1] in _REST_PARAMETER and match[2]:
                parameters[match[2].split()[-1]] = text
        else:
            description.append(lines[index].rstrip())
            index += 1
    return Docstring(
        "\n".join(description).strip(), {name: text for name, text in parameters.items() if text}
    )


def _heading(lines: list[str], index: int) -> tuple[str | None, int]:
    """The heading at this line in lower case, and the first line of its section; None if the line
    is no heading."""
    line = lines[index].rstrip()
    if line and index + 1 < len(lines) and _RULE.fullmatch(lines[index + 1]):
        return line.lower(), index + 2
    match = _HEADING.fullmatch(line)
    if match and match[1].lower() in _PARAMETERS | _OMITTED:
        return match[1].lower(), index + 1
    return None, index


def _block(lines: list[str], start: int, *, numpy: bool) -> tuple[list[str], int]:
    """The lines of a section, and the index of the line after it."""
    end = start
    while end < len(lines):
        if numpy:
            if _heading(lines, end)[0] is not None:
                break
        elif lines[end] and not lines[end][0].isspace():
            break
        end += 1
    return lines[start:end], end


def _field_text(lines: list[str], index: int, first: str) -> tuple[str, int]:
    """The text of a reST field with its indented continuation lines, and the index after it."""
    text = [first]
    while index < len(lines) and lines[index][:1].isspace():
        text.append(lines[index])
        index += 1
    return _join(text), index


def _google_items(block: list[str]) -> dict[str, str]:
    """`name (type): text`, with deeper continuation lines."""
    indents = [len(line) - len(line.lstrip()) for line in block if line.strip()]
    indent = min(indents, default=0)
    lines = ((line[indent:] if line.strip() else "") for line in block)
    return _items(lines, _GOOGLE_ITEM, has_text=True)


def _numpy_items(block: list[str]) -> dict[str, str]:
    """`name : type`, with the text in the indented lines below."""
    return _items(block, _NUMPY_ITEM, has_text=False)


def _items(block: Iterable[str], item: re.Pattern[str], *, has_text: bool) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block:
        match = None if line[:1].isspace() else item.fullmatch(line.rstrip())
        if match is None:
            current.append(line)
            continue
        current = [match[2]] if has_text else []
        for name in match[1].split(","):
            texts[name.strip().lstrip("*")] = current
    return {name: _join(lines) for name, lines in texts.items()}


def _join(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
