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
from toolwire.lint.argument_fixes import fix_arguments, report_faults
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
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return report_faults(facts, "type", "are of another type than the wire has")


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    return fix_arguments(
        facts, "type", "the arguments are in the form that the wire has", unsafe=unsafe
    )


def _use(given: JSON) -> Example:
    use: JSON = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": given}],
    }
    tool_message: JSON = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
    }
    return blocks_example(USER, use, tool_message)


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
        chat_example(USER, assistant(tool_call("c1", arguments={"a": 1})), tool_message("c1")),
        chat_example(USER, assistant(tool_call("c1", arguments=None)), tool_message("c1")),
        items_example(function_call(arguments={"a": 1}), function_call_output()),
        _use('{"a":1}'),
        _use([1]),
        _parts("functionCall", "functionResponse", '{"a":1}'),
        _parts("function_call", "function_response", '{"a":1}'),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1", arguments='{"a":1}')), tool_message("c1")),
        _use({"a": 1}),
        _parts("functionCall", "functionResponse", None),
        Example(
            "mistral",
            "mistral",
            {
                "messages": [
                    USER,
                    assistant(tool_call("abcdefghi", arguments={"a": 1})),
                    tool_message("abcdefghi"),
                ]
            },
        ),
    ),
)
