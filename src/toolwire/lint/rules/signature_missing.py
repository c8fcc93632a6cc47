"""The first call of a step has no signature.

Gemini 3 signs the first call of each step and wants the signature back on that very part while the
turn is under way: "Function call is missing a thought_signature". It is lost in clients that do not
know it, and calls that another model made never had one.

The fix writes the placeholder that Google documents for such calls, on the first call of the step
only: the request is taken, but the model goes on without what it thought. Told only if the request
names a model that is known to ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import newest, thinker
from toolwire.lint.rule import Example, Fix, Fixed, Rule
from toolwire.wires.engine.specs import Block

PLACEHOLDER = "skip_thought_signature_validator"


def _unsigned(facts: Facts) -> list[Call]:
    if (
        facts.profile.reasoning_to_return != "signature"
        or facts.conversation.kind != "request"
        or not facts.calls
        or not thinker(facts)
    ):
        return []
    found: list[Call] = []
    for message in facts.messages[newest(facts) :]:
        first = next(
            (
                part
                for part in message.parts
                if isinstance(part, Call) and part.executor == "client"
            ),
            None,
        )
        if (
            first is not None
            and not first.signature
            and isinstance(first.spec, Block)
            and first.spec.name == "functionCall"
        ):
            found.append(first)
    return found


def _check(facts: Facts) -> Iterable[tuple[JsonPath, str, Fix | None]]:
    for one in _unsigned(facts):
        yield (
            one.path,
            f"the call of {one.name} is the first of its step and has no signature",
            "safe",
        )


def _mend(facts: Facts, unsafe: bool) -> Fixed | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for one in _unsigned(facts):
        body = put(body, (*one.path, "thoughtSignature"), PLACEHOLDER)
        changes.append(
            (
                one.path,
                f"the call of {one.name} bears the placeholder for a signature that is not known",
            )
        )
    return Fixed(body, tuple(changes)) if changes else None


def _called(
    *signatures: str,
    model: str | None = "gemini-3-pro-preview",
    target: str = "gemini",
    over: bool = False,
) -> Example:
    calls: list[JSON] = [
        {
            "functionCall": {"name": f"f{n}", "args": {}},
            **({"thoughtSignature": one} if one else {}),
        }
        for n, one in enumerate(signatures)
    ]
    told: list[JSON] = [
        {"functionResponse": {"name": f"f{n}", "response": {"output": "1"}}}
        for n in range(len(signatures))
    ]
    said: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": told},
    ]
    if over:
        said += [
            {"role": "model", "parts": [{"text": "ok"}]},
            {"role": "user", "parts": [{"text": "and?"}]},
        ]
    return Example("gemini", target, {"contents": said, **({"model": model} if model else {})})


RULE = Rule(
    "TW050",
    "signature-missing",
    "the first call of a step has no signature",
    "lossy",
    _check,
    _mend,
    order=62,
    bad=(_called(""), _called("", ""), _called("", target="vertex-gemini")),
    good=(
        _called("CiQB"),
        _called("CiQB", ""),
        _called("", model="gemini-2.5-flash"),
        _called("", model=None),
        _called("", over=True),
    ),
)
