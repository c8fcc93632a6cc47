"""Results could belong to several calls.

Two calls to one tool are open, and their results have no ids, so the history does not show which
result belongs to which call. The same is true if ids restart in each turn and an earlier call is
still open under the id of a newer call, unless a single result directly follows the newer call. The
rule does not apply if the wire guarantees that results follow the order of their calls and there
are as many results as calls: they are then paired by order.

Pairing by guesswork can swap results silently, for example the temperatures of two cities. The fix
pairs nothing. It rewrites the results as user text marked `[toolwire]`, which says that the call is
uncertain, and gives each call a placeholder result. To prevent this, write the call id into each
result when you create it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    HI,
    call_part,
    contents_example,
    model_parts,
    response_part,
    user_parts,
)
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import AmbiguousGroup, Facts
from toolwire.lint.fixes.uncertain_results import rewrite_uncertain_results
from toolwire.lint.foreign_content import foreign_id_fields
from toolwire.lint.ids.formats import list_some, shorten
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.results_without_call:
        return
    for group in _groups(facts):
        names = [f"{shorten(call.id)} ({shorten(call.name)})" for call in group.calls]
        calls = list_some(names, " or ")
        for result in group.results:
            message = f"the result has no id and could belong to the call {calls}"
            if result.origin != "minted":
                message = f"several open calls have the id of the result: {calls}"
            yield result.path, f"{message}; write the id of its call into it", "safe"


def _groups(facts: Facts) -> list[AmbiguousGroup]:
    """The groups with several calls, unless their results refer to their calls in another field."""
    elsewhere = {path for path, _, _ in foreign_id_fields(facts)}
    return [
        group
        for group in facts.ambiguous_groups
        if len(group.calls) > 1 and not all(result.path in elsewhere for result in group.results)
    ]


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    groups = _groups(facts)
    results = [result for group in groups for result in group.results]
    if not results:
        return None
    changes = tuple(
        (result.path, "rewrote the result as text: it could belong to several calls")
        for result in results
    )
    calls = [call for group in groups for call in group.calls]
    return FixedConversation(rewrite_uncertain_results(facts, calls, results), changes)


_CALL_WITHOUT_ID: JSON = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
_RESTARTED = assistant(tool_call("call_0"))
RULE = Rule(
    "TW033",
    "ambiguous-same-name",
    title="results could belong to several calls",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=32,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2")),
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2"},
        ),
        chat_example(
            USER,
            assistant(_CALL_WITHOUT_ID, _CALL_WITHOUT_ID),
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2"},
        ),
        contents_example(
            HI, model_parts(call_part("f"), call_part("f")), user_parts(response_part("f")), HI
        ),
        chat_example(USER, _RESTARTED, USER, _RESTARTED, USER, tool_message("call_0"), USER),
        chat_example(
            USER, _RESTARTED, USER, _RESTARTED, tool_message("call_0"), tool_message("call_0", "2")
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2")),
            tool_message("c2"),
            tool_message("c1"),
        ),
        chat_example(USER, assistant(tool_call("c1")), {"role": "tool", "content": "1"}),
        contents_example(
            HI,
            model_parts(call_part("f"), call_part("f")),
            user_parts(response_part("f", 1), response_part("f", 2)),
        ),
    ),
)
