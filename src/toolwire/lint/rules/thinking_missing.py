"""Thinking is on, and the turn that is under way does not begin with a thought.

As long as a model waits for the results of its tools, its turn must begin with the thinking block
that it gave: "Expected `thinking` or `redacted_thinking`, but found `tool_use`." Clients drop these
blocks, or switch thinking on in the middle of a turn, or take over a turn that another model began.

A thought cannot be made up, because it is signed. The unsafe fix switches thinking off for this
request; with the next message of the user it can be on again.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message, Reasoning
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import current_turn_start, thinking_path, thinking_switch
from toolwire.lint.rule import FixedBody, Problem, Rule


def _turn(facts: Facts) -> Message | None:
    """The first message of a turn under way that calls tools and holds no thought."""
    # A model that decides by itself whether to think may have thought nothing.
    if (
        facts.profile.reasoning_to_return != "thinking"
        or facts.conversation.kind != "request"
        or thinking_switch(facts) != "enabled"
    ):
        return None
    said = [
        message
        for message in facts.messages[current_turn_start(facts) :]
        if message.role == "assistant"
    ]
    if not said or not any(
        isinstance(part, Call) and part.executor == "client" for part in said[-1].parts
    ):
        return None
    thought = any(isinstance(part, Reasoning) for message in said for part in message.parts)
    return None if thought else said[0]


def _check(facts: Facts) -> Iterable[Problem]:
    message = _turn(facts)
    if message is not None:
        yield (
            message.path,
            "thinking is enabled, and this turn does not begin with a thinking block",
            "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    if not unsafe or not facts.own_wire or _turn(facts) is None:
        return None
    at = thinking_path(facts)
    return FixedBody(
        put(facts.body, at, {"type": "disabled"}), ((at, "thinking is off for this request"),)
    )


_ON: JSON = {"type": "enabled", "budget_tokens": 1024}
_USE: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_THOUGHT: JSON = {"type": "thinking", "thinking": "hm", "signature": "ErUB"}
_TOLD: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
_ALONE: JSON = {"role": "assistant", "content": [_USE]}
RULE = Rule(
    "TW049",
    "thinking-missing",
    title="thinking is on, and a turn under way does not begin with a thought",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    ruled_out_by=(Observation.NO_REASONING,),
    bad=(
        blocks_example(USER, _ALONE, _TOLD, thinking=_ON),
        blocks_example(USER, _ALONE, _TOLD, target="vertex-anthropic", thinking=_ON),
    ),
    good=(
        blocks_example(USER, _ALONE, _TOLD),
        blocks_example(
            USER, {"role": "assistant", "content": [_THOUGHT, _USE]}, _TOLD, thinking=_ON
        ),
        blocks_example(
            USER, _ALONE, _TOLD, {"role": "assistant", "content": "ok"}, USER, thinking=_ON
        ),
        blocks_example(USER, _ALONE, _TOLD, thinking={"type": "adaptive"}),
        blocks_example(USER, _ALONE, _TOLD, target="minimax-anthropic", thinking=_ON),
    ),
)
