"""An id comes back in a later turn.

Many servers count calls anew in each answer: `call_0`, `functions.f:0`, the name of the tool.
Inside one turn that is enough, but Anthropic wants ids unique in the whole request ("`tool_use` ids
must be unique"), Kimi too ("tool call id write:12 is duplicated"), and frameworks that look calls
up by id skip the second one or overwrite the result of the first.

The fix keeps the first, and gives each later call and its own result a new id: the old one and a
hash, or the next of the target's own kind. Only ids change. For a target that looks at one turn at
a time this is no fault, and not found.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.parts import Call
from toolwire.lint.duplicate_ids import reused_ids
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
    numbered_id,
    reassign_ids,
    used_ids,
    with_id,
)
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.rule import Fixed, Problem, Rule


def _later(facts: Facts) -> list[tuple[Call, int]]:
    return (
        [(one, n) for one, n in reused_ids(facts) if one.id != one.name]
        if facts.profile.ids_unique_in_request
        else []
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for one, _ in _later(facts):
        said = (
            f"the call of {one.name} has the id {shorten(one.id)}{describe_maker(one.id)}, which a call of an"
            " earlier turn has"
        )
        yield one.path, f"{said}; {facts.profile.name} wants each only once", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for one, n in _later(facts):
        new[id(one)] = made = with_id(one, new_id(facts, one, numbered_id(one.id, n), taken))
        changes.append((one.path, describe_move(facts, one, made.id)))
    return Fixed(reassign_ids(facts, new), tuple(changes)) if new else None


_TURNS = (
    assistant(tool_call("call_0")),
    tool_message("call_0", "1"),
    USER,
    assistant(tool_call("call_0")),
    tool_message("call_0", "2"),
)
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "call_0", "name": "f", "input": {}}],
}
_DONE: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "call_0", "content": "1"}],
}
RULE = Rule(
    "TW018",
    "id-reused-across-turns",
    title="an id comes back in a later turn",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=25,
    handled_by="fit",
    bad=(
        chat_example(USER, *_TURNS, target="kimi"),
        blocks_example(USER, _USE, _DONE, _USE, _DONE, _USE, _DONE),
        blocks_example(USER, _USE, _DONE, _USE),
    ),
    good=(
        chat_example(USER, *_TURNS),
        chat_example(USER, *_TURNS, target="xai"),
        blocks_example(USER, _USE, _DONE),
    ),
)
