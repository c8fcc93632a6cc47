"""The id of a result is the output of the tool.

A bridge put the output where the id of the call belongs: `{"tool_call_id": "Sum: 15", "content":
"Sum: 15"}`. Short outputs are not found ("'tool_call_id' of 'Sum: 15' not found in 'tool_calls' of
previous message"), longer ones and JSON are too long ("Expected a string with maximum length 40,
but got a string with length 1721"). Genkit's Go plugin did this to every tool.

The rule recognizes an id that is the content or begins it, or that has characters of prose or JSON.
The fix gives the result the id of the one call of the turn that is still open; nothing but the id
changes. With several open calls nothing tells which result is whose, and there is no fix: taking
them by position would swap results. If the call itself has the output as its id, and the target
refuses that, both get a new id.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import (
    describe_move,
    new_id,
    reassign_ids,
    refused_calls,
    used_ids,
    with_id,
)
from toolwire.lint.id_formats import is_composite, shorten
from toolwire.lint.id_is_output import has_output_as_id, results_with_output_as_id
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _lost(facts: Facts) -> list[tuple[Result, list[Call], int]]:
    return (
        results_with_output_as_id(facts)
        if facts.profile.rejects_orphan_results
        and facts.profile.has_id_field
        and facts.unpaired_results
        else []
    )


def _both(facts: Facts) -> list[Call]:
    """Calls that the target refuses, under what their results say."""
    return [
        one
        for one in refused_calls(facts)
        if not is_composite(one.id) and has_output_as_id(facts, one)
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for result, calls, counted in _lost(facts):
        said = (
            f"the id of the result in message {facts.message_index(result)} is output of the tool:"
            f" {shorten(result.call_id)}"
        )
        if len(calls) == counted == 1:
            yield (
                result.path,
                f"{said}; the call that waits for it is {shorten(calls[0].id)} of {calls[0].name}",
                "safe",
            )
        else:
            yield (
                result.path,
                (
                    f"{said}; {len(calls)} calls are open, and nothing tells which is its own: say"
                    " it by hand"
                ),
                None,
            )
    for one in _both(facts):
        said = f"the id of the call of {one.name} is the output of its tool"
        yield one.path, f"{said}, and {facts.profile.name} does not take it", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    ties: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for result, calls, counted in _lost(facts):
        if len(calls) != 1 or counted != 1:
            continue
        ties[id(result)] = one = calls[0]
        if one.origin == "minted":
            new[id(one)] = with_id(one, new_id(facts, one, one.id, taken))
        changes.append(
            (
                result.path,
                f"the result goes under {shorten(new.get(id(one), one).id)} of {one.name}",
            )
        )
    for n, one in enumerate(_both(facts)):
        new[id(one)] = made = with_id(one, new_id(facts, one, mint("", n, one.id), taken))
        changes.append((one.path, describe_move(facts, one, made.id)))
    return Fixed(reassign_ids(facts, new, ties), tuple(changes)) if changes else None


_DOCS = "Found comprehensive documentation on S3: 3 it"
_JSON = '{"items": [' + ", ".join(['{"path": "/var/log/syslog", "size": 1048576}'] * 38) + "]}"
RULE = Rule(
    "TW011",
    "id-is-result-content",
    title="the id of a result is the output of the tool",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER, assistant(tool_call("call_1", "add")), tool_message("Sum: 15", "Sum: 15")
        ),
        chat_example(
            USER, assistant(tool_call("search_docs", "search_docs")), tool_message(_DOCS, _DOCS)
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1", "ls")),
            tool_message(_JSON, _JSON),
            target="openai-chat-legacy",
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1")),
            tool_message('"Tool response content"', "Tool response content"),
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1"), tool_call("call_2")),
            tool_message("Sum: 15", "Sum: 15"),
            tool_message("Sum: 16", "Sum: 16"),
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1"), tool_call("call_2")),
            tool_message("Sum: 15", "Sum: 15"),
            USER,
        ),
        chat_example(USER, assistant(tool_call(_JSON)), tool_message(_JSON, _JSON)),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "Sum: 15", "content": "Sum: 15"}
                ],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            {
                "input": [
                    USER,
                    {
                        "type": "function_call",
                        "call_id": "call_1",
                        "name": "add",
                        "arguments": "{}",
                    },
                    {"type": "function_call_output", "call_id": "Sum: 15", "output": "Sum: 15"},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_1", "call_1")),
        chat_example(
            USER, assistant(tool_call("Sum: 15", "add")), tool_message("Sum: 15", "Sum: 15")
        ),
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_9", "Sum: 15")),
        chat_example(
            USER, assistant(tool_call("call_1")), tool_message("Sum: 15", "Sum: 15"), target="xai"
        ),
    ),
)
