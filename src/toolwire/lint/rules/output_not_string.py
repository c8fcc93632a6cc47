"""The output of a result is not in the format of the wire.

Depending on the wire, an output is text, a list of blocks, or an object. Tools return any value,
and clients send it unchanged. An object where text is expected, text where a list is expected, or a
list of invalid blocks is refused as the wrong type by servers that check types.

The fix converts the output to the expected format: an object becomes its JSON text, a text becomes
a block or the field `output` of an object. Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, get, kind_of, put, text_of
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Result
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.examples.items import function_call, function_call_output, items_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.block_text import text_of_block
from toolwire.lint.misplaced_outputs import misplaced_outputs
from toolwire.lint.rule import Example, FixedBody, Problem, Rule
from toolwire.profiles.table import Profile
from toolwire.wires import wire
from toolwire.wires.engine.specs import Block


def _as_text_or_items(value: JSON | UnsetType) -> JSON | UnsetType:
    """Convert an output to text or a list of content blocks of items."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, UnsetType):
        return ""
    if not isinstance(value, list):
        return text_of(value)
    typed = [
        block for block in value if isinstance(block, dict) and isinstance(block.get("type"), str)
    ]
    if len(typed) != len(value):
        return text_of(value)
    return [
        {"type": "input_text", "text": block.get("text", "")}
        if block["type"] in ("text", "output_text")
        else block
        for block in typed
    ]


def _as_text_or_blocks(value: JSON | UnsetType) -> JSON | UnsetType:
    """Convert an output to text or a list of blocks with a `type`; it may be absent."""
    if isinstance(value, str | UnsetType):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return [_as_block(element) for element in value]
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return [value]
    return text_of(value)


def _as_block(value: JSON) -> JSON:
    if _is_typed_block(value):
        return value
    return {"type": "text", "text": value if isinstance(value, str) else text_of(value)}


def _as_text_or_content(value: JSON | UnsetType) -> JSON | UnsetType:
    """Convert an output to text or a list of content blocks."""
    if value is None or isinstance(value, UnsetType):
        return ""
    is_blocks = isinstance(value, list) and all(isinstance(block, dict) for block in value)
    return value if is_blocks else _as_text(value)


def _as_text(value: JSON | UnsetType) -> JSON | UnsetType:
    """Convert an output to text: the text of the blocks of a list, or JSON; it may be absent."""
    if value is None or isinstance(value, str | UnsetType):
        return value
    if isinstance(value, list) and value and all(map(_is_content, value)):
        return "\n".join(map(text_of_block, value))
    return text_of(value)


def _is_typed_block(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _is_content(value: JSON) -> bool:
    return _is_typed_block(value) or isinstance(get(value, ("text",)), str)


def _as_keyed_blocks(value: JSON | UnsetType) -> JSON | UnsetType:
    """Convert an output to a list of blocks with one field that names their type."""
    if value is None or isinstance(value, UnsetType):
        return []
    if isinstance(value, str):
        return [{"text": value}]
    if isinstance(value, dict):
        return [{"json": value}]
    if isinstance(value, list):
        return [_as_keyed_block(element) for element in value]
    return [{"text": text_of(value)}]


def _as_keyed_block(value: JSON) -> JSON:
    """A block whose JSON value, if it has one, is an object."""
    inner = value["json"] if isinstance(value, dict) and value.keys() == {"json"} else value
    if isinstance(inner, dict):
        return value
    return {"text": inner if isinstance(inner, str) else text_of(inner)}


def _as_object(value: JSON | UnsetType) -> JSON | UnsetType:
    """Convert an output to an object; it may be absent."""
    return value if value is None or isinstance(value, UnsetType | dict) else {"output": value}


class _Format(Struct, frozen=True):
    """The format of the output in one type of result block."""

    paths: tuple[JsonPath, ...]
    """The possible paths of the output."""
    convert: Callable[[JSON | UnsetType], JSON | UnsetType]
    """Returns an output in this format; the same value if it already has it."""
    text_field: str = ""
    """A field of the block that holds the output and may be any text."""

    def is_read_by(self, spec: Block) -> bool:
        """True if blocks of the spec have the output there."""
        return any(path[0] in spec.keys for path in self.paths)


_MESSAGE_FORMATS = {
    "tool": _Format((("content",),), _as_text_or_content, text_field="content"),
    "function": _Format((("content",),), _as_text_or_content, text_field="content"),
}
"""The formats of results that are messages."""
_TEXT_MESSAGE_FORMATS = {"tool": _Format((("content",),), _as_text, text_field="content")}
_FORMATS = {
    **_MESSAGE_FORMATS,
    "function_call_output": _Format((("output",),), _as_text_or_items, text_field="output"),
    "custom_tool_call_output": _Format((("output",),), _as_text_or_items, text_field="output"),
    "tool_result": _Format((("content",),), _as_text_or_blocks, text_field="content"),
    "toolResult": _Format((("toolResult", "content"),), _as_keyed_blocks),
    "functionResponse": _Format(
        (("functionResponse", "response"), ("function_response", "response")), _as_object
    ),
}
"""The formats by the types of result blocks."""


def _formats_for(profile: Profile) -> dict[str, _Format]:
    """The formats that a target requires."""
    if profile.content_is_text:
        return _TEXT_MESSAGE_FORMATS
    if profile.item_id_prefixes or profile.arguments_format == "object":
        return _FORMATS
    return _MESSAGE_FORMATS


def _ruled_out_for(profile: Profile) -> tuple[int, ...]:
    """Results of text are in order if every type of result has a field for any text."""
    formats = _formats_for(profile)
    types = {spec.name for spec in wire(profile.wire).blocks if spec.part is Result}
    have_text = all(formats[name].text_field for name in types & formats.keys())
    return (Observation.TEXT_RESULTS,) if have_text else ()


def _invalid_outputs(facts: Facts) -> Iterable[tuple[Result, JsonPath, JSON | UnsetType, JSON]]:
    """Results with an output in the wrong format: result, path, current and expected value."""
    formats = _formats_for(facts.profile)
    for result in facts.results:
        raw, spec = result.source.raw, result.source.spec
        if result.executor != "client" or not isinstance(spec, Block) or not isinstance(raw, dict):
            continue
        expected_format = formats.get(spec.name)
        if expected_format is not None and not expected_format.is_read_by(spec):
            continue  # another wire has the same name for a block with other fields
        if result.path in misplaced_outputs(facts):
            continue  # it is moved to its field first
        if expected_format is None or raw.get(expected_format.text_field).__class__ is str:
            continue
        paths = expected_format.paths
        path = paths[0] if paths[0][0] in raw else paths[-1]
        value = get(raw, path)
        expected = expected_format.convert(value)
        if expected is not value and expected != value and not isinstance(expected, UnsetType):
            yield result, (*result.path, *path), value, expected


def _describe(result: Result) -> str:
    if result.origin == "minted":
        return f"the output of {result.name or 'a tool'}"
    return f"the output for {result.call_id}"


def _check(facts: Facts) -> Iterable[Problem]:
    for result, path, value, expected in _invalid_outputs(facts):
        if isinstance(value, list) and isinstance(expected, list):
            problem = "has blocks of another wire"
        else:
            found = "missing" if isinstance(value, UnsetType) else kind_of(value)
            problem = f"is {found}; expected {kind_of(expected)}"
        yield path, f"{_describe(result)} {problem}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for result, path, value, expected in _invalid_outputs(facts):
        body = put(body, path, expected)
        if isinstance(value, list) and isinstance(expected, list):
            change = "to blocks of this wire"
        else:
            change = f"from {kind_of(value)} to {kind_of(expected)}"
        changes.append((path, f"converted {_describe(result)} {change}"))
    return FixedBody(body, tuple(changes)) if changes else None


def _tool_result_example(content: JSON) -> Example:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    return blocks_example(
        USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}
    )


def _function_response_example(response: JSON) -> Example:
    messages: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": response}}]},
    ]
    return Example("gemini", "gemini", {"contents": messages})


RULE = Rule(
    "TW046",
    "output-not-string",
    title="the output of a result is in the wrong format",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=12,
    scope="body",
    ruled_out_for=_ruled_out_for,
    bad=(
        items_example(function_call(), function_call_output(output={"a": 1})),
        items_example(function_call(), function_call_output(output=[1, 2])),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", {"a": 1})),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", None)),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", [1, "a"])),
        items_example(
            function_call(), function_call_output(output=[{"type": "text", "text": "1"}])
        ),
        _tool_result_example({"a": 1}),
        _function_response_example("1"),
    ),
    good=(
        items_example(
            function_call(), function_call_output(output=[{"type": "input_text", "text": "1"}])
        ),
        _tool_result_example([{"type": "text", "text": "1"}]),
        _function_response_example({"a": 1}),
    ),
)
