"""The arguments of a call are an object where the wire uses text, or text where it uses an object.

The chat and item wires send arguments as JSON text, most other wires send an object, and clients
that support both confuse them. The server refuses the type ("expected a string, but got an object
instead", "Input should be a valid dictionary"), and a chat template that iterates over the
arguments fails.

The fix encodes or parses the arguments, so they keep their content and get the type that the wire
uses. A list or a number is not an object in either form; the fix stores it under `_raw`.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.arguments import fix_arguments, report_faults
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
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return report_faults(facts, "type", "do not have the JSON type that the wire uses")


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    return fix_arguments(facts, "type", "converted the arguments to the type that the wire uses")


def _blocks(arguments: JSON) -> Example:
    call: JSON = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": arguments}],
    }
    result: JSON = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
    }
    return blocks_example(USER, call, result)


def _contents(call_key: str, result_key: str, *, arguments: JSON) -> Example:
    messages: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{call_key: {"name": "f", "args": arguments}}]},
        {"role": "user", "parts": [{result_key: {"name": "f", "response": {"a": 1}}}]},
    ]
    return Example("gemini", "gemini", body={"contents": messages})


def _mistral(*, arguments: JSON) -> Example:
    call = tool_call("abcdefghi", arguments=arguments)
    messages: list[JSON] = [USER, assistant(call), tool_message("abcdefghi")]
    return Example("mistral", "mistral", body={"messages": messages})


RULE = Rule(
    "TW056",
    "args-wrong-type",
    title="arguments are text where the wire uses an object, or the reverse",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=14,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_ARGUMENTS,),
    scope="body",
    bad=(
        chat_example(USER, assistant(tool_call("c1", arguments={"a": 1})), tool_message("c1")),
        chat_example(USER, assistant(tool_call("c1", arguments=None)), tool_message("c1")),
        items_example(function_call(arguments={"a": 1}), function_call_output()),
        _blocks('{"a":1}'),
        _blocks([1]),
        _contents("functionCall", "functionResponse", arguments='{"a":1}'),
        _contents("function_call", "function_response", arguments='{"a":1}'),
        _mistral(arguments=None),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1", arguments='{"a":1}')), tool_message("c1")),
        _blocks({"a": 1}),
        _contents("functionCall", "functionResponse", arguments=None),
        _mistral(arguments={"a": 1}),
        _mistral(arguments='{"a":1}'),
    ),
)
