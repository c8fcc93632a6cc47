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

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.parts import PLACEHOLDER_SIGNATURE, Call, Part
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import current_turn_start, is_reasoning_model
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import replace_parts
from toolwire.wires.engine.specs import Block


def _unsigned(facts: Facts) -> list[Call]:
    if (
        facts.profile.reasoning_to_return != "signature"
        or facts.conversation.kind != "request"
        or not facts.calls
        or not is_reasoning_model(facts)
    ):
        return []
    found: list[Call] = []
    for message in facts.messages[current_turn_start(facts) :]:
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
            and (_is_function_call(first) or not facts.own_wire)
        ):
            found.append(first)
    return found


def _is_function_call(call: Call) -> bool:
    return isinstance(call.spec, Block) and call.spec.name == "functionCall"


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _unsigned(facts):
        yield (
            one.path,
            f"the call of {one.name} is the first of its step and has no signature",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    if not facts.own_wire:
        return _sign(facts)
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for one in _unsigned(facts):
        body = put(body, (*one.path, "thoughtSignature"), PLACEHOLDER_SIGNATURE)
        changes.append(
            (
                one.path,
                f"the call of {one.name} bears the placeholder for a signature that is not known",
            )
        )
    return FixedBody(body, tuple(changes)) if changes else None


def _sign(facts: Facts) -> Fixed | None:
    calls = _unsigned(facts)
    new: dict[int, Part] = {
        id(call): replace(call, signature=PLACEHOLDER_SIGNATURE) for call in calls
    }
    changes = tuple(
        (call.path, f"the call of {call.name} has the placeholder for an unknown signature")
        for call in calls
    )
    return Fixed(replace_parts(facts.conversation, new), changes) if calls else None


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
    title="the first call of a step has no signature",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=62,
    applies=lambda profile: profile.reasoning_to_return == "signature",
    bad=(_called(""), _called("", ""), _called("", target="vertex-gemini")),
    good=(
        _called("CiQB"),
        _called("CiQB", ""),
        _called("", model="gemini-2.5-flash"),
        _called("", model=None),
        _called("", over=True),
    ),
)
