"""Results and tool definitions in plain text: the tags around them, and the section of a system
prompt that defines the tools."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.wires.text.embedded_json import json_text, object_at, skip_space, value_at

# --- results --------------------------------------------------------------------------------------


class ResultMatch(Struct, frozen=True):
    """A result in a text: its content, the range with its tags, and the span inside them."""

    start: int
    end: int
    span: tuple[int, int]
    output: JSON
    name: str | None = None
    id: JSON = None
    error: bool = False


RESULT_TAGS: tuple[tuple[str, str], ...] = (
    ("<tool_response>", "</tool_response>"),
    ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
)
"""The pairs of tags around a result that are read; the first pair is written."""
_ID_KEYS = ("id", "tool_call_id", "call_id")


def find_results(text: str) -> list[ResultMatch]:
    """All results in a text, in order. Only the first kind of tag that occurs counts."""
    for opening, closing in RESULT_TAGS:
        out: list[ResultMatch] = []
        position = 0
        while (start := text.find(opening, position)) >= 0:
            found = _parse_result(text, start, opening, closing)
            if found is not None:
                out.append(found)
            position = found.end if found is not None else start + 1
        if out:
            return out
    return []


def _parse_result(text: str, tag: int, opening: str, closing: str) -> ResultMatch | None:
    """A result: a JSON object with `content`, otherwise plain text."""
    content = tag + len(opening)
    start = skip_space(text, content)
    found = object_at(text, start)
    if found is not None and "content" in found[0]:
        value, end = found
        closing_tag = skip_space(text, end)
        if text.startswith(closing, closing_tag):
            name = value.get("name")
            ids = (value[key] for key in _ID_KEYS if value.get(key) is not None)
            return ResultMatch(
                tag,
                closing_tag + len(closing),
                span=(start, end),
                output=value["content"],
                name=name if isinstance(name, str) else None,
                id=next(ids, None),
                error=value.get("error") is True,
            )
    closing_tag = text.find(closing, content)
    if closing_tag < 0 or text.find(opening, content, closing_tag) >= 0:
        return None
    # A line break next to a tag is not part of the text.
    start = content + text.startswith("\n", content)
    end = closing_tag
    if text.endswith("\n", content + 1, closing_tag) and closing_tag > content + 1:
        end -= 1
    return ResultMatch(tag, closing_tag + len(closing), span=(start, end), output=text[start:end])


def write_result(
    output: JSON, *, name: str | None, call_id: str | None, error: bool, old: str | None
) -> str:
    """The span of a result: an object, or plain text if it replaces plain text (`old`)."""
    found = object_at(old, 0) if old is not None else None
    original = found[0] if found is not None and "content" in found[0] else None
    if old is not None and original is None and isinstance(output, str) and not error:
        return output
    original = original or {}
    id_key = next((key for key in _ID_KEYS if key in original), "id")
    out: Object = {}
    if call_id is not None:
        out[id_key] = call_id
    if name:
        out["name"] = name
    out = {**out, **original, **out, "content": output}
    out.pop("error", None)
    return json_text({**out, "error": True} if error else out)


# --- tool definitions -----------------------------------------------------------------------------

_SECTION_START = "# Tools\n\nYou can call these tools:\n<tools>\n"
_SECTION_END = (
    "\n</tools>\nTo call one, write this, with an id of your own for each call; you may write"
    ' several:\n<tool_call>{"id": "call_1", "name": "the name", "arguments": {}}</tool_call>\nThe'
    " results come back under the same ids, in <tool_response> tags."
)


class ToolSection(Struct, frozen=True):
    """The range of a system prompt that defines tools, and their definitions."""

    start: int
    end: int
    tools: tuple[Object, ...]


def find_tools(text: str) -> ToolSection | None:
    """The section with the tools: JSON objects inside `<tools>`, in sequence or in a list.

    The section includes the instructions around it if this wire has written them.
    """
    position = 0
    while (tag := text.find("<tools>", position)) >= 0:
        tools, end = _parse_tools(text, skip_space(text, tag + len("<tools>")))
        if tools and text.startswith("</tools>", end):
            start = tag + len("<tools>\n") - len(_SECTION_START)
            if (
                start >= 0
                and text.startswith(_SECTION_START, start)
                and text.startswith(_SECTION_END, end - 1)
            ):
                return ToolSection(start, end - 1 + len(_SECTION_END), tools)
            return ToolSection(tag, end + len("</tools>"), tools)
        position = tag + 1
    return None


def _parse_tools(text: str, position: int) -> tuple[tuple[Object, ...], int]:
    """The definitions at a position, and their end; none if any value is not a definition."""
    values: list[JSON] = []
    while (found := value_at(text, position)) is not None:
        values += found[0] if isinstance(found[0], list) else [found[0]]
        position = skip_space(text, found[1])
    tools = [value for value in values if isinstance(value, dict) and _has_name(value)]
    return (tuple(tools) if len(tools) == len(values) else (), position)


def _has_name(tool: Object) -> bool:
    function = tool.get("function")
    return isinstance((function if isinstance(function, dict) else tool).get("name"), str)


def write_tools(tools: Iterable[Object]) -> str:
    """The section of a system prompt that defines these tools."""
    definitions = "\n".join(json_text(tool) for tool in tools)
    return f"{_SECTION_START}{definitions}{_SECTION_END}"
