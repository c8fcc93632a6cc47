"""Thinking is enabled, and the current turn does not begin with a thinking block.

While a model waits for the results of its tools, its turn must begin with the thinking block that
it returned: "Expected `thinking` or `redacted_thinking`, but found `tool_use`." Clients drop these
blocks, or enable thinking in the middle of a turn, or continue a turn of another model. A client
that stores text before the thinking block of its message gets the same: "but found `text`."

The fix moves the thinking block to the start of its message. A missing one cannot be generated,
because it is signed: the fix then disables thinking for this request; after the next user message
it can be enabled again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message, Reasoning
from toolwire.lint.examples.blocks import (
    converse_call,
    converse_example,
    converse_result,
    user_blocks,
)
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import with_messages
from toolwire.lint.reasoning import current_turn_start, thinking_path, thinking_switch
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule


def _wants_thinking(facts: Facts) -> bool:
    """True if the models of the provider sign their thinking, or if the model of the request does:
    some providers serve models of several makers."""
    if facts.profile.reasoning_to_return == "thinking":
        return True
    pattern, model = facts.profile.signing_models, facts.conversation.settings.get("model")
    return bool(pattern) and isinstance(model, str) and re.search(pattern, model) is not None


def _current_messages(facts: Facts) -> list[Message]:
    """The assistant messages of a current turn that calls tools while thinking is enabled."""
    if (
        not _wants_thinking(facts)
        or facts.conversation.kind != "request"
        or thinking_switch(facts) != "enabled"  # "adaptive" lets the model skip thinking
    ):
        return []
    turn = [
        message
        for message in facts.messages[current_turn_start(facts) :]
        if message.role == "assistant"
    ]
    if not turn or not any(
        isinstance(part, Call) and part.executor == "client" for part in turn[-1].parts
    ):
        return []
    return turn


def _late_thinking(facts: Facts) -> Message | None:
    """The first message of the current turn if its thinking comes after other content."""
    for message in _current_messages(facts)[:1]:
        thinks = [isinstance(part, Reasoning) for part in message.parts]
        if any(thinks) and not thinks[0]:
            return message
    return None


def _turn_without_thinking(facts: Facts) -> Message | None:
    """The first message of the current turn if none of its messages has a thinking block."""
    turn = _current_messages(facts)
    if any(isinstance(part, Reasoning) for message in turn for part in message.parts):
        return None
    return turn[0] if turn else None


def _check(facts: Facts) -> Iterable[Problem]:
    late = _late_thinking(facts)
    if late is not None:
        yield late.path, "thinking is enabled, and its block comes after other content", "safe"
    message = _turn_without_thinking(facts)
    if message is not None:
        text = "thinking is enabled, and this turn does not begin with a thinking block"
        yield message.path, text, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    late = _late_thinking(facts)
    if late is not None:
        parts = sorted(late.parts, key=lambda part: not isinstance(part, Reasoning))
        message = replace(late, parts=tuple(parts))
        messages = [message if other is late else other for other in facts.messages]
        changes = ((late.path, "moved the thinking to the start of the message"),)
        return FixedConversation(with_messages(facts.conversation, messages), changes)
    if _turn_without_thinking(facts) is None:
        return None
    change = "disabled thinking for this request"
    if facts.own_wire:
        path = thinking_path(facts)
        return FixedBody(put(facts.body, path, {"type": "disabled"}), ((path, change),))
    settings = {**facts.conversation.settings, "budget": 0}
    changes = ((facts.conversation.source.setting_paths.get("budget", ()), change),)
    return FixedConversation(replace(facts.conversation, settings=settings), changes)


_ENABLED: JSON = {"type": "enabled", "budget_tokens": 1024}
_TEXT: JSON = {"type": "text", "text": "so"}
_USE: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_THOUGHT: JSON = {"type": "thinking", "thinking": "hm", "signature": "ErUB"}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
_CALL_ONLY: JSON = {"role": "assistant", "content": [_USE]}


def _converse(model: str) -> Example:
    return converse_example(
        {"role": "assistant", "content": [converse_call("t1")]},
        user_blocks(converse_result("t1")),
        modelId=model,
        additionalModelRequestFields={"thinking": _ENABLED},
    )


RULE = Rule(
    "TW049",
    "thinking-missing",
    title="thinking is enabled, and the current turn does not begin with a thinking block",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    ruled_out_by=(Observation.NO_REASONING,),
    bad=(
        blocks_example(USER, _CALL_ONLY, _RESULT, thinking=_ENABLED),
        blocks_example(USER, _CALL_ONLY, _RESULT, target="vertex-anthropic", thinking=_ENABLED),
        _converse("anthropic.claude-sonnet-4-5"),
        blocks_example(
            USER,
            {"role": "assistant", "content": [_TEXT, _THOUGHT, _USE]},
            _RESULT,
            thinking=_ENABLED,
        ),
    ),
    good=(
        blocks_example(USER, _CALL_ONLY, _RESULT),
        blocks_example(
            USER, {"role": "assistant", "content": [_THOUGHT, _USE]}, _RESULT, thinking=_ENABLED
        ),
        blocks_example(
            USER,
            _CALL_ONLY,
            _RESULT,
            {"role": "assistant", "content": "ok"},
            USER,
            thinking=_ENABLED,
        ),
        blocks_example(USER, _CALL_ONLY, _RESULT, thinking={"type": "adaptive"}),
        _converse("qwen.qwen3-coder"),
        blocks_example(USER, _CALL_ONLY, _RESULT, target="minimax-anthropic", thinking=_ENABLED),
    ),
)
