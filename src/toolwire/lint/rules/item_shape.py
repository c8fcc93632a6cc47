"""An item has a field or a block in a form that the target refuses.

Programs send the items of a response back as the next input, and change them on the way. Dumping an
SDK object adds null for fields that the server never sent ("Unknown parameter: 'input[1].status'");
some dumps leave out empty fields that are required ("missing required field `summary`"). The type
of a text also depends on the role: it is `output_text` in assistant messages and `input_text` in
all others ("Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."). The
content of a message is text or a list ("Invalid type for 'input[0].content': expected one of an
array of objects or string, but got null instead.").

The fix removes the null, adds the empty list or text, and corrects the type. Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.lint.examples.chat import USER
from toolwire.lint.examples.items import function_call, items_example, reasoning_item
from toolwire.lint.facts import Facts
from toolwire.lint.foreign_content import is_chat_message
from toolwire.lint.items import as_input_message, input_items, with_items
from toolwire.lint.rule import FixedBody, Problem, Rule

_NOT_NULL = {
    "reasoning": ("status", "content", "summary"),
    "message": ("status",),
    "function_call": ("status",),
}
"""Fields that an item may lack but that must not be null, by the type of each item that can be
corrected."""
_TEXT_TYPES = ("text", "input_text", "output_text")


def _corrected(kind: str, item: Object) -> tuple[Object, list[str]]:
    """An item in the accepted form, and its faults."""
    corrected, texts = item, []
    if None in item.values():
        problems = [name for name in _NOT_NULL[kind] if name in item and item[name] is None]
        corrected = {name: value for name, value in item.items() if name not in problems}
        texts = [f"{name} is null" for name in problems]
    if kind == "reasoning" and "summary" not in corrected:
        corrected = {**corrected, "summary": []}
        texts = texts or ["summary is missing"]
    if kind != "message":
        return corrected, texts
    content = item.get("content")
    if not isinstance(content, (list, str)) and not is_chat_message(item):
        text = "" if content is None else text_of(content)
        if item.get("role") == "assistant":  # an output, which has an id, has a list
            corrected = {k: v for k, v in corrected.items() if k not in ("id", "status")}
        corrected = {**corrected, "content": text}
        texts.append(f"the content is {'missing' if content is None else 'no text'}")
    if isinstance(content, list):
        expected = "output_text" if item.get("role") == "assistant" else "input_text"
        blocks = [_with_type(block, expected) for block in content]
        if blocks != content:
            corrected = as_input_message({**corrected, "content": blocks})
            texts.append(f"the type of its text is not {expected}")
    return corrected, texts


def _with_type(block: JSON, expected: str) -> JSON:
    """A block with the right type, if it is a text."""
    if not isinstance(block, dict) or block.get("type") not in _TEXT_TYPES:
        return block
    return {**block, "type": expected}


def _corrections(facts: Facts) -> list[tuple[int, Object, list[str]]]:
    """The refused items: index, accepted form, and faults."""
    found: list[tuple[int, Object, list[str]]] = []
    for index, kind, item in input_items(facts):
        if kind in _NOT_NULL:  # no other item can be corrected
            corrected, texts = _corrected(kind, item)
            if texts:
                found.append((index, corrected, texts))
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for index, item, texts in _corrections(facts):
        for text in texts:
            yield ("input", index), f"in this {item.get('type', 'message')} item, {text}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    corrections = _corrections(facts)
    if not corrections:
        return None
    items = {index: [item] for index, item, _ in corrections}
    changes = [(("input", index), "corrected the form of the item") for index, _, _ in corrections]
    return FixedBody(with_items(facts, items), tuple(changes))


def _reply(kind: str, role: str = "assistant", **more: JSON) -> JSON:
    return {"role": role, "content": [{"type": kind, "text": "hello"}], **more}


_OUTPUT: Object = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "hello", "annotations": []}],
}
_REASONING: Object = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAAA"}
RULE = Rule(
    "TW079",
    "item-shape",
    title="an item has a field or a block in a form that the target refuses",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    concerns=lambda profile: bool(profile.item_id_prefixes),
    bad=(
        items_example(_REASONING, _reply("output_text", type="message", id="msg_1")),
        items_example(
            reasoning_item(encrypted_content="gAAAAA", status=None, content=None),
            function_call("call_1", "fc_1"),
            {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        ),
        items_example(_reply("input_text"), USER),
        items_example(_reply("output_text", "user")),
        items_example(_reply("text", "user")),
        items_example({"role": "user", "content": None}, USER),
    ),
    good=(
        items_example(_OUTPUT, _reply("input_text", "user")),
        items_example(_reply("input_text", "developer")),
        items_example(_reply("text", "user"), target="deepseek-responses"),
    ),
)
