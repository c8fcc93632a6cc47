"""Calls and results have ids, but the target has no id field.

Version v1 of Vertex AI pairs calls and results by name and order only, and refuses the field that
v1beta1 accepts: "Unknown name \"id\" at 'contents[1].parts[1].function_call': Cannot find field".
Older servers of other providers do the same. If the version that receives the request is unknown
(`vertex-gemini`), the finding is information only, and only unsafe fixes remove the ids; use the
target `vertex-gemini-v1` where the field is refused.

The fix runs after all other fixes, when every result is paired and in the order of its call,
because order is all that is left without ids. It removes the ids, unless results would then be
paired with other calls than before. The removed ids cannot be recovered from the history; keep an
id map if they are needed again.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.codec import decode
from toolwire.conversation.fitting import minted_ids_needed
from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.model import Conversation, Fix
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Part
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import PairHalf, call_id_of, id_field, reassign_ids
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.result_placement import place_results
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import own_body, replace_parts


def _parts_with_ids(conversation: Conversation) -> list[tuple[PairHalf, JsonPath]]:
    """Return the client's calls and results that have the id field, and the path of the field."""
    parts: list[PairHalf] = [*conversation.calls(), *conversation.results()]
    fields = ((part, id_field(part)) for part in parts if part.executor == "client")
    return [
        (part, (*part.path, *field[0]))
        for part, field in fields
        if field is not None and not isinstance(field[1], UnsetType)
    ]


def _body_without_ids(facts: Facts) -> JSON | UnsetType:
    """Return the body without ids; UNSET if results would be paired with other calls."""
    if facts.profile.has_id_field:
        strict = Facts(facts.conversation, replace(facts.profile, has_id_field=False))
    else:
        strict = facts
    body = own_body(place_results(strict, strict.misplaced.get("results-out-of-order", ())))
    ordered_history = decode(body, facts.conversation.wire, facts.conversation.kind)
    for _, path in _parts_with_ids(ordered_history):
        parent, field = path[:-1], path[-1]
        block = get(body, parent)
        if isinstance(block, dict):
            rest = {key: value for key, value in block.items() if key != field}
            body = put(body, parent, rest)
    stripped_history = decode(body, facts.conversation.wire, facts.conversation.kind)
    return body if _pair_paths(ordered_history) == _pair_paths(stripped_history) else UNSET


def _pair_paths(conversation: Conversation) -> list[tuple[JsonPath, JsonPath]]:
    return [
        (pair.call.path if pair.call else (), pair.result.path if pair.result else ())
        for pair in conversation.pairs()
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    profile = facts.profile
    if profile.has_id_field and not profile.id_sometimes_refused:
        return
    if not facts.own_wire:
        yield from _check_for_translation(facts)
        return
    parts = _parts_with_ids(facts.conversation)
    removable = bool(parts) and not isinstance(_body_without_ids(facts), UnsetType)
    if profile.has_id_field:
        reason = f"some {profile.name} servers have no id field"
    else:
        reason = f"{profile.name} has no id field"
    kind: Fix = "unsafe" if profile.has_id_field else "safe"
    for part, _ in parts:
        side = "call" if part in facts.calls else "result"
        call_id = call_id_of(part)
        message = (
            f"the {side} of {part.name or 'a tool'} has the id"
            f" {shorten(call_id)}{describe_maker(call_id)}, but {reason}"
        )
        if removable:
            yield part.path, message, kind
        else:
            yield part.path, f"{message}; without ids, results would match other calls", None


def _check_for_translation(facts: Facts) -> Iterable[Problem]:
    if facts.profile.has_id_field:
        return
    fix: Fix | None = "safe" if _mint_ids(facts) is not None else None
    for call in facts.calls:
        if call.origin != "minted":
            message = f"the call to {call.name} has the id {shorten(call.id)}"
            yield call.path, f"{message}, but {facts.profile.name} has no id field", fix


def _mint_ids(facts: Facts) -> Fixed | None:
    """Replace all ids with minted ids, which are not written; None if pairing needs the ids."""
    calls = [call for call in facts.calls if call.origin != "minted"]
    minted_calls = PartMap(
        (call, replace(call, id=mint("", index, call.name), origin="minted"))
        for index, call in enumerate(facts.calls)
    )
    conversation = reassign_ids(facts, minted_calls)
    minted_results: PartMap[Part, Part] = PartMap(
        (result, replace(result, origin="minted"))
        for result in conversation.results()
        if result.executor == "client"
    )
    conversation = replace_parts(conversation, minted_results)
    if not calls or minted_ids_needed(conversation.messages, ordered=True):
        return None
    changes = tuple((call.path, f"removed the id {shorten(call.id)}") for call in calls)
    return Fixed(conversation, changes)


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    if not facts.own_wire:
        return _mint_ids(facts)
    if facts.profile.has_id_field and not unsafe:
        return None
    body = _body_without_ids(facts)
    if isinstance(body, UnsetType):
        return None
    changes = tuple(
        (part.path, f"removed the id {shorten(call_id_of(part))}")
        for part, _ in _parts_with_ids(facts.conversation)
    )
    return FixedBody(body, changes)


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
