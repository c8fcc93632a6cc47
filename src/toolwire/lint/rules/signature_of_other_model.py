"""A thinking block was signed for another model of the same maker.

A signature is bound to the model that wrote the block. After a switch from one Claude model to
another, older models refuse the blocks of the previous model: "messages.1.content.0: Invalid
`signature` in `thinking` block". The signature contains the name of the model, so such a block can
be distinguished from a valid one. Newer models (Fable 5.1, Opus 5.5 and later) ignore blocks that
they cannot read, so their requests keep all blocks.

The fix replaces the block by its text, marked `[toolwire]`, and removes a block without text. The
rule applies only if the request names a model and the signature names another.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Part, Reasoning
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.thinking import thinking_as_text
from toolwire.lint.reasoning import base_model, signed_model
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _blocks_of_other_models(facts: Facts) -> list[tuple[Part, str]]:
    """Thinking blocks whose signature names another model, each with that name."""
    profile, model = facts.profile, facts.conversation.settings.get("model")
    pattern = profile.signing_models
    if not pattern or facts.conversation.kind != "request" or not isinstance(model, str):
        return []
    current = base_model(model, pattern)
    if not current or (profile.skips_others and re.search(profile.skips_others, current)):
        return []
    found: list[tuple[Part, str]] = []
    for message in facts.messages:
        for part in message.parts:
            if type(part) is Reasoning and (signature := part.signature or part.hidden):
                signer = signed_model(signature, pattern)
                if signer and signer != current:
                    found.append((part, signer))
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for part, signer in _blocks_of_other_models(facts):
        model = facts.conversation.settings.get("model")
        yield part.path, f"this thinking block was signed for {signer}, not for {model}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    parts = [part for part, _ in _blocks_of_other_models(facts)]
    if not parts:
        return None
    return thinking_as_text(facts.conversation, parts, "of another model")


def _signature(model: str) -> str:
    """A signature as the maker builds it, for a model."""
    header = b"\x08\x0f\x18\x02\x2a\x02id\x32" + bytes([len(model)]) + model.encode() + b"\x38\x00"
    container = b"\x0a" + bytes([len(header)]) + header + b"\x12\x02ok"
    return b64encode(b"\x12" + bytes([len(container)]) + container).decode()


def _example(signer: str, model: str | None, text: str = "hm") -> Example:
    block: JSON = {"type": "thinking", "thinking": text, "signature": _signature(signer)}
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    return blocks_example(
        USER,
        {"role": "assistant", "content": [block, use]},
        {"role": "user", "content": [result]},
        **({"model": model} if model else {}),
    )


RULE = Rule(
    "TW072",
    "signature-of-other-model",
    title="a thinking block was signed for another model",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=59,
    applies=lambda profile: bool(profile.signing_models),
    ruled_out_by=(Observation.NO_REASONING,),
    bad=(
        _example("claude-opus-4-8", "claude-fable-5"),
        _example("claude-sonnet-4-5-20250929", "claude-opus-4-5@20251101", ""),
    ),
    good=(
        _example("claude-opus-4-8", "claude-opus-4-8"),
        _example("claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5"),
        _example("claude-opus-5", "claude-fable-5-1"),
        _example("claude-opus-4-8", None),
        _example("claude-opus-4-8", "an-alias"),
        _example("", "claude-opus-4-8"),
    ),
)
