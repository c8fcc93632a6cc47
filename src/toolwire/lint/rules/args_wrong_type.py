"""The arguments of a call are an object where the wire has text, or text where it has an object.

The chat shape and items send arguments as JSON text, most others as an object, and clients that
serve both mix them up. The server refuses the type ("expected a string, but got an object instead",
"Input should be a valid dictionary"), and a template that goes through the arguments fails.

The fix encodes or parses: the same arguments, in the form of the wire. A list or a number is no
object in any form; the unsafe fix keeps it under `_raw`.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.lint.argument_fixes import meant, reported
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.examples.items import answered, asked, listed
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return reported(facts, "type", "are of another type than the wire has")


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    return meant(facts, "type", "the arguments are in the form that the wire has", unsafe=unsafe)


def _use(given: JSON) -> Example:
    use: JSON = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": given}],
    }
    told: JSON = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
    }
    return blocks(USER, use, told)


def _parts(key: str, answer: str, args: JSON) -> Example:
    said: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{key: {"name": "f", "args": args}}]},
        {"role": "user", "parts": [{answer: {"name": "f", "response": {"a": 1}}}]},
    ]
    return Example("gemini", "gemini", {"contents": said})


RULE = Rule(
    "TW056",
    "args-wrong-type",
    title="arguments are text where the wire has an object, or the reverse",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=14,
    scope="body",
    bad=(
        chat(USER, asks(call("c1", arguments={"a": 1})), told("c1")),
        chat(USER, asks(call("c1", arguments=None)), told("c1")),
        listed(asked(arguments={"a": 1}), answered()),
        _use('{"a":1}'),
        _use([1]),
        _parts("functionCall", "functionResponse", '{"a":1}'),
        _parts("function_call", "function_response", '{"a":1}'),
    ),
    good=(
        chat(USER, asks(call("c1", arguments='{"a":1}')), told("c1")),
        _use({"a": 1}),
        _parts("functionCall", "functionResponse", None),
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, asks(call("abcdefghi", arguments={"a": 1})), told("abcdefghi")]},
        ),
    ),
)
