"""Results and tools in plain text: the tags they stand in, and the section of a system prompt that
offers the tools.

Knows no wire and no messages, only text.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.wires.text.embedded_json import json_text, object_at, skip, value_at


class Answer(Struct, frozen=True):
    """A result in a text: the block with its tags, the span inside, and what it says."""

    start: int
    end: int
    span: tuple[int, int]
    output: JSON
    name: str | None = None
    id: JSON = None
    error: bool = False


# --- results --------------------------------------------------------------------------------------

RESULTS: tuple[tuple[str, str], ...] = (
    ("<tool_response>", "</tool_response>"),
    ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
)
"""The tags around a result; the first is the one to write."""
_IDS = ("id", "tool_call_id", "call_id")


def find_results(text: str) -> list[Answer]:
    """All results in a text, in order."""
    for opening, closing in RESULTS:
        out: list[Answer] = []
        path = 0
        while (opened := text.find(opening, path)) >= 0:
            found = _answer(text, opened, opening, closing)
            if found is not None:
                out.append(found)
            path = found.end if found is not None else opened + 1
        if out:
            return out
    return []


def _answer(text: str, opened: int, opening: str, closing: str) -> Answer | None:
    """A result: an object with `content`, or else just its text."""
    begin = opened + len(opening)
    start = skip(text, begin)
    found = object_at(text, start)
    if (
        found is not None
        and "content" in found[0]
        and text.startswith(closing, skip(text, found[1]))
    ):
        value, end = found
        name = value.get("name")
        one = next((value[key] for key in _IDS if value.get(key) is not None), None)
        known = name if isinstance(name, str) else None
        closed = skip(text, end) + len(closing)
        return Answer(
            opened, closed, (start, end), value["content"], known, one, value.get("error") is True
        )
    end = text.find(closing, begin)
    if end < 0 or text.find(opening, begin, end) >= 0:
        return None
    span = (
        begin + text.startswith("\n", begin),
        end - (text.endswith("\n", begin + 1, end) and end > begin + 1),
    )
    return Answer(opened, end + len(closing), span, text[span[0] : span[1]])


def write_result(
    output: JSON, name: str | None, id: str | None, error: bool, old: str | None
) -> str:
    """A result's span: an object, unless it replaces plain text and is plain text itself."""
    found = object_at(old, 0) if old is not None else None
    if (
        old is not None
        and (found is None or "content" not in found[0])
        and isinstance(output, str)
        and not error
    ):
        return output
    before = found[0] if found is not None and "content" in found[0] else {}
    key = next((key for key in _IDS if key in before), "id")
    out: Object = {**({key: id} if id is not None else {}), **({"name": name} if name else {})}
    out = {**out, **before, **out, "content": output}
    out.pop("error", None)
    return json_text({**out, "error": True} if error else out)


# --- tools ----------------------------------------------------------------------------------------

_HEAD = "# Tools\n\nYou can call these tools:\n<tools>\n"
_TAIL = (
    "\n</tools>\nTo call one, write this, with an id of your own for each call; you may write"
    ' several:\n<tool_call>{"id": "call_1", "name": "the name", "arguments": {}}</tool_call>\nThe'
    " results come back under the same ids, in <tool_response> tags."
)


class Section(Struct, frozen=True):
    """Where the tools stand in a system prompt, and what is said of each."""

    start: int
    end: int
    tools: tuple[Object, ...]


def find_tools(text: str) -> Section | None:
    """The section with the tools: JSON objects, one after the other or in a list, inside
    `<tools>`.
    """
    path = 0
    while (opened := text.find("<tools>", path)) >= 0:
        tools, end = _offers(text, skip(text, opened + len("<tools>")))
        if tools and text.startswith("</tools>", end):
            start = opened + len("<tools>\n") - len(_HEAD)
            ours = start >= 0 and text.startswith(_HEAD, start) and text.startswith(_TAIL, end - 1)
            return (
                Section(start, end - 1 + len(_TAIL), tools)
                if ours
                else Section(opened, end + len("</tools>"), tools)
            )
        path = opened + 1
    return None


def _offers(text: str, path: int) -> tuple[tuple[Object, ...], int]:
    out: list[JSON] = []
    while (found := value_at(text, path)) is not None:
        out += found[0] if isinstance(found[0], list) else [found[0]]
        path = skip(text, found[1])
    tools = [
        tool for tool in out if isinstance(tool, dict) and isinstance(_inner(tool).get("name"), str)
    ]
    return (tuple(tools) if len(tools) == len(out) else (), path)


def _inner(tool: Object) -> Object:
    function = tool.get("function")
    return function if isinstance(function, dict) else tool


def write_tools(tools: Iterable[Object]) -> str:
    """The section that offers these tools."""
    return f"{_HEAD}{chr(10).join(json_text(tool) for tool in tools)}{_TAIL}"
