"""Two ids become equal if they are rewritten in the usual way.

If a target refuses an id, most bridges replace each refused character with `_` or truncate the id
to the accepted length: `a.b:1` and `a_b_1` become the same id, and so do two long ids with the same
beginning. From then on two calls share their results, and providers report "`tool_use` ids must be
unique". The history itself has no collision yet; the rule reports that rewriting its ids would
cause one.

The fix rewrites the ids with a hash of the whole id and avoids ids that are in use, so they stay
distinct. Only ids change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.ids.edits import id_rule_for
from toolwire.lint.ids.fitting import calls_with_id_to_fit, fit_refused_ids
from toolwire.lint.ids.formats import shorten
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _rewrite_naively(call_id: str, rule: IdRule) -> str:
    """Rewrite an id as most bridges do: replace refused characters, then truncate."""
    if rule.chars:
        call_id = re.sub(f"[^{rule.chars}]", "" if rule.exact else "_", call_id)
    return call_id[: rule.longest] if rule.longest else call_id


def _collisions(facts: Facts) -> list[tuple[Call, str]]:
    """Return the calls with refused ids, each with another id that would become equal."""
    if not facts.invalid_ids or len(facts.calls) < 2:
        return []
    rule = id_rule_for(facts)
    ids_by_rewrite: dict[str, list[str]] = {}
    for call_id in dict.fromkeys(call.id for call in facts.calls if call.origin == "wire"):
        ids_by_rewrite.setdefault(_rewrite_naively(call_id, rule), []).append(call_id)
    collisions: list[tuple[Call, str]] = []
    for call in calls_with_id_to_fit(facts):
        ids = ids_by_rewrite[_rewrite_naively(call.id, rule)]
        if len(ids) > 1:
            collisions.append((call, next(call_id for call_id in ids if call_id != call.id)))
    return collisions


def _check(facts: Facts) -> Iterable[Problem]:
    for call, other_id in _collisions(facts):
        message = (
            f"the id {shorten(call.id)} of the call to {call.name} becomes equal to"
            f" {shorten(other_id)} if it is rewritten in the usual way for {facts.profile.name}"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return fit_refused_ids(facts, [call for call, _ in _collisions(facts)])


def _blocks(*ids: str) -> Example:
    return blocks_example(
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": call_id, "name": "f", "input": {}} for call_id in ids
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": call_id, "content": "1"} for call_id in ids
            ],
        },
    )


_LONG_IDS = tuple("call_" + "a" * 80 + end for end in "12")
_BEDROCK_IDS = ("tooluse_bpAAAAAAAAAAAAAAAAAAAA", "tooluse_bpBBBBBBBBBBBBBBBBBBBB")
RULE = Rule(
    "TW015",
    "id-rewrite-collision",
    title="two ids become equal if they are rewritten in the usual way",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_IDS,),
    handled_by="fit",
    bad=(
        _blocks("a.b:1", "a_b_1"),
        _blocks("a.b", "a:b"),
        chat_example(USER, assistant(*map(tool_call, _LONG_IDS)), *map(tool_message, _LONG_IDS)),
        Example(
            "mistral",
            "mistral",
            body={
                "messages": [
                    USER,
                    assistant(*map(tool_call, _BEDROCK_IDS)),
                    *map(tool_message, _BEDROCK_IDS),
                ]
            },
        ),
    ),
    good=(
        _blocks("a_b", "a-b"),
        _blocks("a.b", "c.d"),
        chat_example(
            USER,
            assistant(tool_call("a.b"), tool_call("a_b")),
            tool_message("a.b"),
            tool_message("a_b"),
        ),
    ),
)
