"""What a docstring says of a function and of each parameter: Google's, numpy's and reST's way of
writing it.

A style is found by its headings or fields; a text without any is all description. Knows no tool and
no type.
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
_DROPPED = frozenset("returns return yields yield raises raise references attributes".split()) | {
    "see also"
}
_HEADING = re.compile(r"([A-Z][A-Za-z ]+):\s*")
_RULE = re.compile(r"-{3,}\s*")
_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)")
_REST_PARAMETER = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"((?:\*{0,2}\w+)(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")


class Docstring(Struct, frozen=True):
    """The words of a docstring: of the whole, and by parameter."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read(docstring: str | None) -> Docstring:
    """What a docstring says. Sections that only readers of the code need (what it returns and
    raises) are left out."""
    lines = cleandoc(docstring or "").splitlines()
    told: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        heading, body = _section(lines, at)
        if heading is not None:
            underlined = body == at + 2
            block, at = _block(lines, body, numpy=underlined)
            if heading in _PARAMETERS:
                parameters.update(_numpy(block) if underlined else _google(block))
            elif heading not in _DROPPED:  # notes, examples, warnings
                told += lines[body - 2 : at]
        elif found := _FIELD.match(lines[at]):
            text, at = _continued(lines, at + 1, found[3])
            if found[1] in _REST_PARAMETER and found[2]:
                parameters[found[2].split()[-1]] = text
        else:
            told.append(lines[at].rstrip())
            at += 1
    return Docstring(
        "\n".join(told).strip(), {name: text for name, text in parameters.items() if text}
    )


def _section(lines: list[str], at: int) -> tuple[str | None, int]:
    """The heading that stands here, in small letters, and where its text begins; None if none
    stands here."""
    line = lines[at].rstrip()
    if line and at + 1 < len(lines) and _RULE.fullmatch(lines[at + 1]):
        return line.lower(), at + 2
    found = _HEADING.fullmatch(line)
    if found and found[1].lower() in _PARAMETERS | _DROPPED:
        return found[1].lower(), at + 1
    return None, at


def _block(lines: list[str], at: int, *, numpy: bool) -> tuple[list[str], int]:
    """The lines that belong to a heading, and where the text goes on."""
    start = at
    while at < len(lines):
        if numpy:
            if _section(lines, at)[0] is not None:
                break
        elif lines[at] and not lines[at][0].isspace():
            break
        at += 1
    return lines[start:at], at


def _continued(lines: list[str], at: int, first: str) -> tuple[str, int]:
    """A text that goes on in the indented lines below it."""
    said = [first]
    while at < len(lines) and lines[at][:1].isspace():
        said.append(lines[at])
        at += 1
    return _joined(said), at


def _google(block: list[str]) -> dict[str, str]:
    """`name (type): text`, each one step in; what stands deeper goes on with it."""
    indents = [len(line) - len(line.lstrip()) for line in block if line.strip()]
    step = min(indents, default=0)
    return _items(
        ((line[step:] if line.strip() else "") for line in block), _GOOGLE_ITEM, takes_rest=True
    )


def _numpy(block: list[str]) -> dict[str, str]:
    """`name : type` at the margin, the text below it one step in."""
    return _items(block, _NUMPY_ITEM, takes_rest=False)


def _items(block: Iterable[str], item: re.Pattern[str], *, takes_rest: bool) -> dict[str, str]:
    said: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block:
        found = None if line[:1].isspace() else item.fullmatch(line.rstrip())
        if found is None:
            current.append(line)
            continue
        current = [found[2]] if takes_rest else []
        for name in found[1].split(","):
            said[name.strip().lstrip("*")] = current
    return {name: _joined(lines) for name, lines in said.items()}


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
