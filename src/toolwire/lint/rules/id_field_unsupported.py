"""Calls and results have ids, but the target has no id field.

Version v1 of Vertex AI pairs calls and results by name and order only, and refuses the field that
v1beta1 accepts: "Unknown name \"id\" at 'contents[1].parts[1].function_call': Cannot find field".
Older servers of other providers do the same. If the version that receives the request is unknown
(`vertex-gemini`), the finding is information only, without a fix; use the target `vertex-gemini-v1`
where the field is refused.

The fix removes the ids. It runs after all other fixes, when every result is paired and in the order
of its call, because without ids only the order is left. If a result would then be paired with
another call, the calls of the turn that have no result, even pending ones, first get a placeholder
result. If that does not help, the result becomes user text marked `[toolwire]`. The removed ids
cannot be recovered from the history; keep an id map if you need them again.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.codec import decode
from toolwire.conversation.ids import is_minted, mint
from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.model import Conversation, Fix
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Part, Result
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.fixes.result_placement import add_results, place_results
from toolwire.lint.fixes.transforms import own_body, placeholder_result, replace_parts
from toolwire.lint.fixes.uncertain_results import rewrite_uncertain_results
from toolwire.lint.ids.edits import PairHalf, call_id_of, id_field, reassign_ids
from toolwire.lint.ids.formats import describe_maker, shorten
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule

NO_ID_FIELD = "which the target cannot assign to its call without an id"


def _parts_with_ids(conversation: Conversation) -> list[tuple[PairHalf, JsonPath]]:
    """Return the client's calls and results that have the id field, and the path of the field."""
    parts: list[PairHalf] = [*conversation.calls(), *conversation.results()]
    fields = ((part, id_field(part)) for part in parts if part.executor == "client")
    return [
        (part, (*part.path, *field[0]))
        for part, field in fields
        if field is not None and not isinstance(field[1], UnsetType)
    ]


def _body_without_ids(facts: Facts) -> JSON:
    """The body with results in the order of their calls, and without ids."""
    if facts.profile.has_id_field:
        strict = Facts(facts.conversation, replace(facts.profile, has_id_field=False))
    else:
        strict = facts
    body = own_body(
        place_results(strict, strict.position_violations.get("results-out-of-order", ()))
    )
    ordered_history = decode(body, facts.conversation.wire, facts.conversation.kind)
    for _, path in _parts_with_ids(ordered_history):
        parent, field = path[:-1], path[-1]
        block = get(body, parent)
        if isinstance(block, dict):
            rest = {key: value for key, value in block.items() if key != field}
            body = put(body, parent, rest)
    return body


@once_per_history
def _with_minted_ids(facts: Facts) -> Conversation:
    """The conversation with minted ids, which are not written for a target without an id field."""
    batches = facts.position_violations.get("results-out-of-order", ())
    if batches:  # a target without ids gets the results in the order of their calls
        facts = Facts(place_results(facts, batches), facts.profile)
    calls = PartMap(
        (call, replace(call, id=mint("", index, call.name), origin="minted"))
        for index, call in enumerate(facts.calls)
    )
    return reassign_ids(facts, calls)


def _as_read_by_target(facts: Facts) -> Conversation:
    """The conversation without ids, in which every result has the name of its call."""
    if facts.own_wire:
        body = _body_without_ids(facts)
        return decode(body, facts.conversation.wire, facts.conversation.kind)
    conversation = _with_minted_ids(facts)
    call_of = PartMap(
        (pair.result, pair.call)
        for pair in conversation.pairs()
        if pair.call is not None and pair.result is not None
    )
    results: PartMap[Part, Part] = PartMap(
        (
            result,
            replace(
                result,
                origin="minted",
                name=call_of[result].name if result in call_of else result.name,
            ),
        )
        for result in conversation.results()
        if result.executor == "client"
    )
    return replace_parts(conversation, results)


@once_per_history
def _uncertain_results(facts: Facts) -> list[Result]:
    """The results that would belong to another call, or to none, without the ids."""
    stripped = _as_read_by_target(facts)
    call_numbers = PartMap((call, n) for n, call in enumerate(stripped.calls()))
    pairs_without_ids = {
        call_numbers[pair.call]: pair.result.text
        for pair in pairs(stripped.messages, ordered=True)
        if pair.call is not None and pair.result is not None
    }
    return [
        pair.result
        for n, pair in enumerate(pair for pair in facts.pairs if pair.call is not None)
        if pair.result is not None
        and pair.result.executor == "client"
        and pairs_without_ids.get(n) != pair.result.text
    ]


def _open_calls_beside(facts: Facts, results: list[Result]) -> list[tuple[CallBatch, Call]]:
    """The calls without a result in the batches of these results, each with its batch."""
    uncertain = PartSet(results)
    return [
        (batch, call)
        for batch in facts.batches
        if any(result in uncertain for result in batch.results)
        for call in batch.calls
        if call not in facts.result_of
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    profile = facts.profile
    if facts.conversation.kind != "request" or not facts.calls:
        return
    if profile.has_id_field and not (profile.id_sometimes_refused and facts.own_wire):
        return
    parts: list[PairHalf] = [call for call in facts.calls if not is_minted(call.id)]
    if facts.own_wire:
        parts = [part for part, _ in _parts_with_ids(facts.conversation)]
    elif not parts and any(result.origin == "wire" for result in facts.results):
        parts = [*_uncertain_results(facts)]  # they refer to minted ids, which an edit made theirs
    if not parts:
        return
    reason = f"{profile.name} has no id field"
    fix: Fix | None = "safe"
    if profile.has_id_field:
        reason, fix = f"some {profile.name} servers have no id field", None
    elif uncertain := _uncertain_results(facts):
        reason += "; without ids, results would match other calls"
        if _open_calls_beside(facts, uncertain):
            reason += ", because some calls have none"
    for part in parts:
        side = "call to" if isinstance(part, Call) else "result of"
        call_id = call_id_of(part)
        message = (
            f"the {side} {part.name or 'a tool'} has the id"
            f" {shorten(call_id)}{describe_maker(call_id)}, but {reason}"
        )
        yield part.path, message, fix


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    uncertain = _uncertain_results(facts)
    open_calls = _open_calls_beside(facts, uncertain) if uncertain else []
    if open_calls:
        changes = tuple(
            (call.path, f"added a result: the call {shorten(call.id)} ({call.name}) has none")
            for _, call in open_calls
        )
        return FixedConversation(add_results(facts, open_calls, placeholder_result), changes)
    if uncertain:
        changes = tuple(
            (result.path, f"rewrote the result for {shorten(result.call_id)} as text")
            for result in uncertain
        )
        calls = [facts.call_of[result] for result in uncertain]
        conversation = rewrite_uncertain_results(facts, calls, uncertain, NO_ID_FIELD)
        return FixedConversation(conversation, changes)
    if facts.own_wire:
        parts = [part for part, _ in _parts_with_ids(facts.conversation)]
    else:
        parts = [call for call in facts.calls if not is_minted(call.id)]
    changes = tuple((part.path, f"removed the id {shorten(call_id_of(part))}") for part in parts)
    if facts.own_wire:
        return FixedBody(_body_without_ids(facts), changes)
    return FixedConversation(_with_minted_ids(facts), changes)


def _contents(
    call_ids: tuple[str, ...], result_ids: tuple[str, ...], *, target: str = "vertex-gemini-v1"
) -> Example:
    calls: list[JSON] = [
        {"functionCall": {"id": call_id, "name": "f", "args": {"a": call_id}}}
        for call_id in call_ids
    ]
    results: list[JSON] = [
        {"functionResponse": {"id": call_id, "name": "f", "response": {"output": call_id}}}
        for call_id in result_ids
    ]
    messages: list[JSON] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results},
    ]
    return Example("gemini", target, body={"contents": messages})


RULE = Rule(
    "TW014",
    "id-field-unsupported",
    title="calls and results have ids, but the target has no id field",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: not profile.has_id_field or profile.id_sometimes_refused,
    info_for=lambda profile: profile.has_id_field,
    applies=lambda profile: not profile.has_id_field,
    bad=(
        _contents(("x",), ("x",)),
        _contents(("x", "y"), ("y", "x")),
        _contents(("x", "y"), ("y",)),
        _contents(("x",), ("x",), target="vertex-gemini"),
    ),
    good=(
        _contents(("x",), ("x",), target="gemini"),
        Example(
            "gemini",
            "vertex-gemini-v1",
            body={
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}],
                    },
                ]
            },
        ),
    ),
)
