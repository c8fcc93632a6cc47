"""A required signature is missing: on the first call of a step, or on a thinking block.

Gemini 3 signs the first call of each step and requires the signature on that part during the
current turn: "Function call is missing a thought_signature". Clients that do not know the field
drop it, and calls of other models never had one.

The fix writes the placeholder that Google documents for such calls, on the first call of the step
only. The request is accepted, but the model continues without its earlier reasoning. A call of
another wire gets it in place of its signature there, which is not sent. A signature that a gateway
for another wire appended to the id of a call is removed first. The rule applies only if the request
names a model that is known to require signatures.

Claude requires the signature of every thinking block: "signature: Field required", and while
thinking is enabled "Invalid `signature` in `thinking` block" for an empty one. Clients that keep
only the text of a block lose the signature; interrupted streams and models of other makers have
none. The fix replaces such a block by its text, marked `[toolwire]`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import PLACEHOLDER_SIGNATURE, Call, Message, Part, Reasoning
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.thinking import thinking_as_text
from toolwire.lint.fixes.transforms import replace_parts
from toolwire.lint.ids.edits import all_ids, new_id, reassign_ids, with_id
from toolwire.lint.ids.formats import split_payload
from toolwire.lint.reasoning import (
    current_turn_start,
    is_reasoning_model,
    may_be_reasoning_model,
    ruled_out_without_thinking,
    thinking_switch,
)
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule
from toolwire.wires import wire
from toolwire.wires.engine.part_lowering import takes_signature
from toolwire.wires.engine.specs import Block


def _calls_without_signature(facts: Facts) -> list[Call]:
    """The first call of each step of the current turn, if it has no signature."""
    if (
        facts.profile.reasoning_to_return != "signature"
        or facts.conversation.kind != "request"
        or not facts.calls
        or not is_reasoning_model(facts)
    ):
        return []
    unsigned: list[Call] = []
    for message in facts.messages[current_turn_start(facts) :]:
        calls = (part for part in message.parts if isinstance(part, Call))
        call = next((call for call in calls if call.executor == "client"), None)
        if call is None or _sends_signature(facts, message, call):
            continue
        if _is_function_call(call) or not facts.own_wire:
            unsigned.append(call)
    return unsigned


def _sends_signature(facts: Facts, message: Message, call: Call) -> bool:
    """True if the target gets the signature of a call: of another wire, it gets one that its maker
    issued."""
    if message.wire == facts.profile.wire:
        return bool(call.signature)
    capabilities = wire(facts.profile.wire).capabilities
    return call.signature == PLACEHOLDER_SIGNATURE or takes_signature(call, capabilities)


def _calls_with_signature_in_id(facts: Facts) -> PartMap[Call, str]:
    """The plain ids of calls from another wire that carry a signature in their id."""
    if (
        facts.own_wire
        or facts.profile.reasoning_to_return != "signature"
        or not may_be_reasoning_model(facts)
    ):
        return PartMap()
    return PartMap(
        (call, id_and_payload[0])
        for call in facts.calls
        if call.signature is None
        and "_t" in call.id
        and (id_and_payload := split_payload(call.id)) is not None
    )


def _unsigned_thinking(facts: Facts) -> list[Part]:
    """Thinking blocks without a signature; an empty one counts only if thinking is enabled. A
    translation leaves them out, so this concerns only the body of the target's own wire."""
    if (
        facts.profile.reasoning_to_return != "thinking"
        or facts.observations.holds(Observation.NO_REASONING)
        or facts.conversation.kind != "request"
        or not facts.own_wire
    ):
        return []
    is_enabled = thinking_switch(facts) in ("enabled", "adaptive")
    return [
        part
        for message in facts.messages
        if message.role == "assistant"
        for part in message.parts
        if isinstance(part, Reasoning)
        and not part.signature
        and part.hidden is None
        and (is_enabled or _lacks_field(part))
    ]


def _lacks_field(part: Reasoning) -> bool:
    """True for a thinking block without the signature field, which is required even if it is
    empty."""
    raw = part.raw
    return isinstance(raw, dict) and "thinking" in raw and raw.get("signature") is None


def _is_function_call(call: Call) -> bool:
    return isinstance(call.spec, Block) and call.spec.name == "functionCall"


def _check(facts: Facts) -> Iterable[Problem]:
    for part in _unsigned_thinking(facts):
        yield part.path, "this thinking block has no signature", "safe"
    if not may_be_reasoning_model(facts):
        return
    signed_ids = _calls_with_signature_in_id(facts)
    for call in signed_ids:
        yield call.path, f"the id of the call to {call.name} contains its signature", "safe"
    for call in _calls_without_signature(facts):
        if call in signed_ids:
            continue
        message = f"the call to {call.name} is the first of its step and has no signature"
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    thinking = _unsigned_thinking(facts)
    if thinking:
        return thinking_as_text(facts.conversation, thinking, "without a signature")
    signed_ids = _calls_with_signature_in_id(facts)
    if signed_ids:
        return _remove_signatures_from_ids(facts, signed_ids)
    calls = _calls_without_signature(facts)
    if not calls:
        return None
    changes = tuple((call.path, _describe(call)) for call in calls)
    if not facts.own_wire:
        parts: PartMap[Part, Part] = PartMap(
            (call, replace(call, signature=PLACEHOLDER_SIGNATURE)) for call in calls
        )
        return FixedConversation(replace_parts(facts.conversation, parts), changes)
    body: JSON = facts.body
    for call in calls:
        body = put(body, (*call.path, "thoughtSignature"), PLACEHOLDER_SIGNATURE)
    return FixedBody(body, changes)


def _describe(call: Call) -> str:
    if call.signature:
        return f"replaced the signature of the call to {call.name} by a placeholder"
    return f"added a placeholder signature to the call to {call.name}"


def _remove_signatures_from_ids(facts: Facts, plain_ids: PartMap[Call, str]) -> FixedConversation:
    ids_in_use = all_ids(facts)
    calls = PartMap(
        (call, with_id(call, new_id(facts, call, plain_id, ids_in_use)))
        for call, plain_id in plain_ids.items()
    )
    changes = tuple(
        (call.path, f"removed the signature from the id of the call to {call.name}")
        for call in calls
    )
    return FixedConversation(reassign_ids(facts, calls), changes)


def _calls_example(
    *signatures: str,
    model: str | None = "gemini-3-pro-preview",
    target: str = "gemini",
    next_turn: bool = False,
) -> Example:
    calls: list[JSON] = [
        {
            "functionCall": {"name": f"f{n}", "args": {}},
            **({"thoughtSignature": signature} if signature else {}),
        }
        for n, signature in enumerate(signatures)
    ]
    results: list[JSON] = [
        {"functionResponse": {"name": f"f{n}", "response": {"output": "1"}}}
        for n in range(len(signatures))
    ]
    messages: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results},
    ]
    if next_turn:
        messages += [
            {"role": "model", "parts": [{"text": "ok"}]},
            {"role": "user", "parts": [{"text": "and?"}]},
        ]
    return Example("gemini", target, {"contents": messages, **({"model": model} if model else {})})


def _thinking_example(signature: str | None, *, enabled: bool) -> Example:
    block: JSON = {"type": "thinking", "thinking": "hm", "signature": signature}
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    disabled: JSON = {"type": "disabled"}
    return blocks_example(
        USER,
        {"role": "assistant", "content": [block, use]},
        {"role": "user", "content": [result]},
        thinking={"type": "enabled", "budget_tokens": 1024} if enabled else disabled,
    )


RULE = Rule(
    "TW050",
    "signature-missing",
    title="a required signature is missing",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=61,
    concerns=lambda profile: profile.reasoning_to_return in ("thinking", "signature"),
    ruled_out_for=ruled_out_without_thinking,
    applies=lambda profile: profile.reasoning_to_return == "signature",
    bad=(
        _calls_example(""),
        _calls_example("", ""),
        _calls_example("", target="vertex-gemini"),
        _thinking_example("", enabled=True),
        _thinking_example(None, enabled=False),
    ),
    good=(
        _calls_example("CiQB"),
        _calls_example("CiQB", ""),
        _calls_example("", model="gemini-2.5-flash"),
        _calls_example("", model=None),
        _calls_example("", next_turn=True),
        _thinking_example("", enabled=False),
        _thinking_example("ErUBCkYICxIM", enabled=True),
    ),
)
