"""The output of a result is not in the form that the wire has for it.

A result is text, or a list of blocks, or an object, depending on the wire; tools return whatever
they like, and clients put that in as it is. An object where text belongs, text where a list
belongs, or a list of blocks that are none are refused as the wrong type, by servers that check
types.

The fix says the same in the right form: an object becomes its JSON text, a text becomes a block or
the field `output` of an object. Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, get, kind_of, put, text_of
from toolwire.conversation.parts import Result
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.examples.items import function_call, function_call_output, items_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, FixedBody, Problem, Rule
from toolwire.wires.engine.specs import Block


def _text_or_items(value: JSON | UnsetType) -> JSON | UnsetType:
    """Text, or blocks as items have them."""
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
        {**block, "type": "input_text"} if block["type"] == "text" else block for block in typed
    ]


def _text_or_blocks(value: JSON | UnsetType) -> JSON | UnsetType:
    """Text, or blocks that say their type, or nothing."""
    if value is None or isinstance(value, str | UnsetType):
        return value
    if isinstance(value, list):
        return [_block(one) for one in value]
    return (
        [value]
        if isinstance(value, dict) and isinstance(value.get("type"), str)
        else text_of(value)
    )


def _block(value: JSON) -> JSON:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return value
    return {"type": "text", "text": value if isinstance(value, str) else text_of(value)}


def _fields(value: JSON | UnsetType) -> JSON | UnsetType:
    """Blocks that are told by the field they have."""
    if isinstance(value, str):
        return [{"text": value}]
    if isinstance(value, dict):
        return [{"json": value}]
    if isinstance(value, list):
        return [{"text": one} if isinstance(one, str) else one for one in value]
    return value if value is None or isinstance(value, UnsetType) else [{"text": text_of(value)}]


def _object(value: JSON | UnsetType) -> JSON | UnsetType:
    """An object, or nothing."""
    return value if value is None or isinstance(value, UnsetType | dict) else {"output": value}


_FORMS: dict[str, tuple[tuple[JsonPath, ...], Callable[[JSON | UnsetType], JSON | UnsetType]]] = {
    "function_call_output": ((("output",),), _text_or_items),
    "custom_tool_call_output": ((("output",),), _text_or_items),
    "tool_result": ((("content",),), _text_or_blocks),
    "toolResult": ((("toolResult", "content"),), _fields),
    "functionResponse": (
        (("functionResponse", "response"), ("function_response", "response")),
        _object,
    ),
}
"""Where each type of result has its output, and what becomes of one in another form."""


def _wrong(facts: Facts) -> Iterable[tuple[Result, JsonPath, JSON | UnsetType, JSON]]:
    """Results whose output is in the wrong form: where, what it is, and what it should be."""
    if not facts.profile.item_id_prefixes and facts.profile.arguments_format != "object":
        return
    for result in facts.results:
        row = result.spec
        if (
            result.executor != "client"
            or not isinstance(row, Block)
            or row.name not in _FORMS
            or not isinstance(result.raw, dict)
        ):
            continue
        places, form = _FORMS[row.name]
        where = places[0] if places[0][0] in result.raw else places[-1]
        came = get(result.raw, where)
        new = form(came)
        if new is not came and new != came and not isinstance(new, UnsetType):
            yield result, (*result.path, *where), came, new


def _who(result: Result) -> str:
    return (
        f"the output of {result.name or 'a tool'}"
        if result.origin == "minted"
        else f"the output for {result.call_id}"
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for result, at, came, new in _wrong(facts):
        why = (
            "its blocks are of another wire"
            if isinstance(came, list) and isinstance(new, list)
            else f"it is {kind_of(came)}"
        )
        yield at, f"{_who(result)} is not in the form it has here: {why}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for result, at, came, new in _wrong(facts):
        body = put(body, at, new)
        changes.append((at, f"{_who(result)} was {kind_of(came)} and is {kind_of(new)}"))
    return FixedBody(body, tuple(changes)) if changes else None


def _used(content: JSON) -> Example:
    use: JSON = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
    }
    return blocks_example(
        USER,
        use,
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": content}],
        },
    )


def _responded(response: JSON) -> Example:
    said: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": response}}]},
    ]
    return Example("gemini", "gemini", {"contents": said})


RULE = Rule(
    "TW046",
    "output-not-string",
    title="the output of a result is in the wrong form",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=12,
    scope="body",
    bad=(
        items_example(function_call(), function_call_output(output={"a": 1})),
        items_example(function_call(), function_call_output(output=[1, 2])),
        items_example(
            function_call(), function_call_output(output=[{"type": "text", "text": "1"}])
        ),
        _used({"a": 1}),
        _responded("1"),
    ),
    good=(
        items_example(
            function_call(), function_call_output(output=[{"type": "input_text", "text": "1"}])
        ),
        _used([{"type": "text", "text": "1"}]),
        _responded({"a": 1}),
    ),
)
