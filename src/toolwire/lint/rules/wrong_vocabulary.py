"""A message or item is said in the words of another wire.

A chat has messages of the role `tool` and calls in the field `tool_calls`; a history of items has
`function_call` and `function_call_output`. Clients that moved from one to the other mix them, and
the server refuses what it does not know: "Invalid value: 'tool'. Supported values are: 'assistant',
'system', 'developer', and 'user'."

The fix says the same in the words of the wire: ids, names, arguments and outputs stay to the
letter.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    input_items,
    items_example,
    with_items,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule

_ITEMS = ("function_call", "function_call_output")


def _chatty(facts: Facts) -> list[tuple[int, Object]]:
    """Items that are messages of a chat."""
    return [
        (n, item)
        for n, _, item in input_items(facts)
        if item.get("role") == "tool" or isinstance(item.get("tool_calls"), list)
    ]


def _itemised(facts: Facts) -> list[tuple[int, Object]]:
    """Messages of a chat that are items."""
    body = facts.body
    found = (
        body.get("messages")
        if isinstance(body, dict) and facts.conversation.kind == "request"
        else None
    )
    if not isinstance(found, list):
        return []
    return [
        (n, m)
        for n, m in enumerate(found)
        if isinstance(m, dict) and "role" not in m and m.get("type") in _ITEMS
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for n, item in _chatty(facts):
        what = "a message of the role `tool`" if item.get("role") == "tool" else "`tool_calls`"
        yield ("input", n), f"{what} is how a chat says it; here it is an item of its own", "safe"
    for n, item in _itemised(facts):
        yield (
            ("messages", n),
            f"{item['type']} is an item of another wire; in a chat it is said by a message",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    chatty, itemised = _chatty(facts), _itemised(facts)
    if chatty:
        changes = [(("input", n), "said as items, under the same ids") for n, _ in chatty]
        return FixedBody(
            with_items(facts, {n: _as_items(item) for n, item in chatty}), tuple(changes)
        )
    if itemised and isinstance(facts.body, dict):
        changes = [(("messages", n), "said as a message, under the same id") for n, _ in itemised]
        return FixedBody(
            {**facts.body, "messages": _as_messages(facts.body["messages"])}, tuple(changes)
        )
    return None


def _as_items(message: Object) -> list[JSON]:
    """A message of a chat as items."""
    content = message.get("content")
    if message.get("role") == "tool":
        said: Object = (
            {"call_id": message["tool_call_id"]} if message.get("tool_call_id") is not None else {}
        )
        output: JSON = (
            [_block(block, "input_text") for block in content]
            if isinstance(content, list)
            else content
        )
        return [
            {"type": "function_call_output", **said, "output": "" if output is None else output}
        ]
    blocks: JSON = (
        [_block(block, "output_text") for block in content]
        if isinstance(content, list)
        else content
    )
    out: list[JSON] = (
        [{"role": message.get("role", "assistant"), "content": blocks}] if blocks else []
    )
    calls = message["tool_calls"]
    return (
        out + [_call(one) for one in calls if isinstance(one, dict)]
        if isinstance(calls, list)
        else out
    )


def _block(block: JSON, kind: str) -> JSON:
    return (
        {**block, "type": kind}
        if isinstance(block, dict) and block.get("type") == "text"
        else block
    )


def _call(one: Object) -> JSON:
    held = one.get("function") or one.get("custom")
    inner: Object = held if isinstance(held, dict) else {}
    given: Object = {"call_id": one["id"]} if one.get("id") is not None else {}
    if "custom" in one:
        return {
            "type": "custom_tool_call",
            **given,
            "name": inner.get("name", ""),
            "input": inner.get("input", ""),
        }
    return {
        "type": "function_call",
        **given,
        "name": inner.get("name", ""),
        "arguments": inner.get("arguments", "{}"),
    }


def _as_messages(messages: JSON) -> list[JSON]:
    """A chat in which items became messages; calls in a row are one."""
    out: list[JSON] = []
    calls: list[JSON] | None = None
    for one in messages if isinstance(messages, list) else []:
        kind = one.get("type") if isinstance(one, dict) and "role" not in one else None
        if not isinstance(one, dict) or kind not in _ITEMS:
            calls = None
            out.append(one)
        elif kind == "function_call":
            function: Object = {
                "name": one.get("name", ""),
                "arguments": one.get("arguments", "{}"),
            }
            named: Object = {"id": one["call_id"]} if one.get("call_id") is not None else {}
            if calls is None:
                calls = []
                out.append({"role": "assistant", "content": None, "tool_calls": calls})
            calls.append({**named, "type": "function", "function": function})
        else:
            calls = None
            output = one.get("output", "")
            whose: Object = (
                {"tool_call_id": one["call_id"]} if one.get("call_id") is not None else {}
            )
            out.append(
                {
                    "role": "tool",
                    **whose,
                    "content": output if isinstance(output, str) else text_of(output),
                }
            )
    return out


RULE = Rule(
    "TW045",
    "wrong-vocabulary",
    title="a message or item is said in the words of another wire",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    bad=(
        items_example(function_call("c1"), tool_message("c1")),
        items_example(
            assistant(tool_call("c1"), tool_call("c2", "g")),
            tool_message("c1"),
            tool_message("c2", [{"type": "text", "text": "2"}]),
        ),
        chat_example(USER, assistant(tool_call("c1")), function_call_output("c1")),
        chat_example(
            USER,
            function_call("c1"),
            function_call("c2"),
            function_call_output("c1"),
            function_call_output("c2"),
        ),
    ),
    good=(
        items_example(function_call("c1"), function_call_output("c1")),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
    ),
)
