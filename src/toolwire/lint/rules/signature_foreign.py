"""A signature was not issued by the target provider.

Signatures are opaque text that only the provider that issued them can verify. A bridge that copies
the encrypted content of one provider into the field of another is refused: "Invalid `signature` in
`thinking` block", "Corrupted thought signature." Most signatures look alike (those of Vertex and
the Gemini API cannot be distinguished), so only certain cases are reported: the format of OpenAI's
encrypted content, the placeholder of another wire, and characters that no signature contains.

The fix removes the signature from a call or a text. A thinking block is invalid without one and is
replaced by its text, marked `[toolwire]`. What a model requires instead is checked by the rules
`signature-missing` and `thinking-missing`.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import PLACEHOLDER_SIGNATURE, Call, Part, Reasoning
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.thinking import thinking_as_text
from toolwire.lint.reasoning import ruled_out_without_thinking
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule
from toolwire.wires.engine.part_lowering import may_be_signature


def _foreign_parts(facts: Facts) -> list[Part]:
    """Parts with a foreign signature."""
    if (
        facts.profile.reasoning_to_return not in ("thinking", "signature")
        or facts.conversation.kind != "request"
    ):
        return []
    in_blocks = _signs_thinking_blocks(facts)
    if in_blocks and facts.observations.holds(Observation.NO_REASONING):
        return []
    parts: list[Part] = []
    for message in facts.messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if in_blocks and type(part) is not Reasoning:
                continue
            if part.signature and _is_foreign(part.signature, in_blocks=in_blocks):
                parts.append(part)
    return parts


def _is_foreign(signature: str, *, in_blocks: bool) -> bool:
    if not may_be_signature(signature):
        return True
    return in_blocks and signature == PLACEHOLDER_SIGNATURE


def _signs_thinking_blocks(facts: Facts) -> bool:
    """True if the target signs thinking blocks; other targets sign calls and text."""
    return facts.profile.reasoning_to_return == "thinking"


def _check(facts: Facts) -> Iterable[Problem]:
    for part in _foreign_parts(facts):
        subject = f"the call to {part.name}" if isinstance(part, Call) else "this part"
        assert part.signature is not None
        message = (
            f"{subject} has a signature that {facts.profile.name} did not issue"
            f" ({part.signature[:12]}…)"
        )
        yield part.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    parts = _foreign_parts(facts)
    if not parts:
        return None
    if _signs_thinking_blocks(facts):
        return thinking_as_text(facts.conversation, parts, "without a valid signature")
    body: JSON = facts.body
    for part in parts:
        raw = part.raw if isinstance(part.raw, dict) else {}
        unsigned = {
            key: value
            for key, value in raw.items()
            if key not in ("thoughtSignature", "thought_signature")
        }
        body = put(body, part.path, unsigned)
    return FixedBody(
        body, tuple((part.path, "removed the signature of another provider") for part in parts)
    )


def _thinking_example(signature: str, text: str = "hm", *, enabled: bool = False) -> Example:
    block: JSON = {"type": "thinking", "thinking": text, "signature": signature}
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    thinking: JSON = {"type": "disabled"}
    if enabled:
        thinking = {"type": "enabled", "budget_tokens": 1024}
    return blocks_example(
        USER,
        {"role": "assistant", "content": [block, use]},
        {"role": "user", "content": [result]},
        thinking=thinking,
    )


def _function_call_example(signature: str) -> Example:
    call: JSON = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": signature}
    result: JSON = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    messages: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    return Example("gemini", "gemini", {"contents": messages, "model": "gemini-3-pro-preview"})


RULE = Rule(
    "TW051",
    "signature-foreign",
    title="a signature was not issued by the target provider",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=61,
    concerns=lambda profile: profile.reasoning_to_return in ("thinking", "signature"),
    ruled_out_for=ruled_out_without_thinking,
    scope="body",
    bad=(
        _thinking_example("gAAAAABoXyz"),
        _thinking_example("gAAAAABoXyz", ""),
        _function_call_example("gAAAAABoXyz"),
    ),
    good=(
        _thinking_example("ErUBCkYICxIM", enabled=True),
        _thinking_example("ErUBCkYICxIM", "", enabled=True),
        _thinking_example("", enabled=True),
        _function_call_example("CiQBAbc/+w=="),
        _function_call_example(PLACEHOLDER_SIGNATURE),
    ),
)
