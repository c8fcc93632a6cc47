"""A signature was not made by the provider it goes to.

Signatures are sealed text that only their maker can read. A bridge that puts the encrypted content
of one provider into the field of another is found out: "Invalid `signature` in `thinking` block",
"Corrupted thought signature." Most signatures look alike (one of Vertex and one of the Gemini API
cannot be told apart), so this is told only of what is certain: the form that OpenAI's sealed
content has, the placeholder of another wire, characters that no signature holds, and a thinking
block with none while thinking is on.

The fix takes the signature off a call or a text. A thinking block is nothing without one and is
taken out; that is unsafe if it holds words. What a model must have instead is the business of the
rules for missing signatures and thoughts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.model import Fix
from toolwire.conversation.parts import PLACEHOLDER_SIGNATURE, Call, Part, Reasoning
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import thinking_switch
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import remove_parts

_SEALED = "gAAAA"
"""How a token of the Fernet kind begins, in which some providers seal what was thought."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+")


def _foreign(facts: Facts) -> list[Part]:
    if (
        facts.profile.reasoning_to_return not in ("thinking", "signature")
        or facts.conversation.kind != "request"
    ):
        return []
    block = facts.profile.reasoning_to_return == "thinking"
    on = block and thinking_switch(facts) in ("enabled", "adaptive")
    found: list[Part] = []
    for message in facts.messages:
        if message.role == "assistant":
            for part in message.parts:
                if block and part.__class__ is not Reasoning:
                    continue
                signature = part.signature
                if signature is None:
                    if on and part.__class__ is Reasoning and part.hidden is None:
                        found.append(part)
                elif (
                    signature.startswith(_SEALED)
                    or not _BASE64.fullmatch(signature)
                    or (block and signature == PLACEHOLDER_SIGNATURE)
                ):
                    found.append(part)
    return found


def _fix(facts: Facts, part: Part) -> Fix:
    return (
        "unsafe"
        if facts.profile.reasoning_to_return == "thinking"
        and isinstance(part, Reasoning)
        and part.text
        else "safe"
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for part in _foreign(facts):
        what = f"the call of {part.name}" if isinstance(part, Call) else "this part"
        why = (
            f"bears a signature that was made elsewhere ({part.signature[:12]}…)"
            if part.signature
            else "is a thought without a signature"
        )
        yield part.path, f"{what} {why}", _fix(facts, part)


def _fix_all(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    found = [part for part in _foreign(facts) if unsafe or _fix(facts, part) == "safe"]
    if not found:
        return None
    if facts.profile.reasoning_to_return == "thinking":
        changes: list[tuple[JsonPath, str]] = [
            (part.path, "a thought that nobody here signed was taken out") for part in found
        ]
        return Fixed(remove_parts(facts.conversation, {id(part) for part in found}), tuple(changes))
    body: JSON = facts.body
    for part in found:
        raw = part.raw if isinstance(part.raw, dict) else {}
        body = put(
            body,
            part.path,
            {k: v for k, v in raw.items() if k not in ("thoughtSignature", "thought_signature")},
        )
    return FixedBody(
        body,
        tuple((part.path, "a signature that was made elsewhere was taken off") for part in found),
    )


def _thought(signature: str, text: str = "hm", *, on: bool = False) -> Example:
    said: JSON = {"type": "thinking", "thinking": text, "signature": signature}
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    told: JSON = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
    }
    thinking: JSON = {"type": "enabled", "budget_tokens": 1024} if on else {"type": "disabled"}
    return blocks_example(
        USER, {"role": "assistant", "content": [said, use]}, told, thinking=thinking
    )


def _signed(signature: str) -> Example:
    said: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": signature}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}],
        },
    ]
    return Example("gemini", "gemini", {"contents": said, "model": "gemini-3-pro-preview"})


RULE = Rule(
    "TW051",
    "signature-foreign",
    title="a signature was not made by the provider it goes to",
    cost="lossy",
    check=_check,
    fix=_fix_all,
    order=61,
    scope="body",
    bad=(
        _thought("gAAAAABoXyz"),
        _thought("gAAAAABoXyz", ""),
        _thought("", on=True),
        _signed("gAAAAABoXyz"),
    ),
    good=(
        _thought("ErUBCkYICxIM", on=True),
        _thought(""),
        _signed("CiQBAbc/+w=="),
        _signed(PLACEHOLDER_SIGNATURE),
    ),
)
