"""Calls and results have ids, and the target has no such field.

Version v1 of Vertex AI knows calls and results by name and order only, and refuses the field that
its sister v1beta1 takes: "Unknown name \"id\" at 'contents[1].parts[1].function_call': Cannot find
field". Older servers of other makers do the same. Where it is not known which of the two gets the
request (`vertex-gemini`), it is worth knowing and no fault, and the fix is made only on request;
`vertex-gemini-v1` is the target to name where the field is refused.

The fix takes the ids off, last of all, when everything is paired and stands in the order of its
calls: without ids order is all that is left. Where results would then go to other calls than
before, nothing is done. The ids are gone for good: whoever needs them again keeps a map.
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
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import PairHalf, call_id_of, id_field, reassign_ids
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import own_body, place_results, replace_parts


def _with_ids(conversation: Conversation) -> list[tuple[PairHalf, JsonPath]]:
    """The client's calls and results that have the field, and where it stands."""
    every: list[PairHalf] = [*conversation.calls(), *conversation.results()]
    sides = [part for part in every if part.executor == "client"]
    found = ((part, id_field(part)) for part in sides)
    return [
        (part, (*part.path, *at[0]))
        for part, at in found
        if at is not None and not isinstance(at[1], UnsetType)
    ]


def _bare(facts: Facts) -> JSON | UnsetType:
    """The body without the ids; UNSET if results would go elsewhere."""
    strict = (
        Facts(facts.conversation, replace(facts.profile, has_id_field=False))
        if facts.profile.has_id_field
        else facts
    )
    body = own_body(place_results(strict, strict.misplaced.get("results-out-of-order", ())))
    before = decode(body, facts.conversation.wire, facts.conversation.kind)
    for _, at in _with_ids(before):
        block = get(body, at[:-1])
        if isinstance(block, dict):
            body = put(body, at[:-1], {key: value for key, value in block.items() if key != at[-1]})
    after = decode(body, facts.conversation.wire, facts.conversation.kind)
    return body if _joined(before) == _joined(after) else UNSET


def _joined(conversation: Conversation) -> list[tuple[JsonPath, JsonPath]]:
    return [
        (pair.call.path if pair.call else (), pair.result.path if pair.result else ())
        for pair in conversation.pairs()
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    if facts.profile.has_id_field and not facts.profile.id_sometimes_refused:
        return
    if not facts.own_wire:
        yield from _check_elsewhere(facts)
        return
    parts = _with_ids(facts.conversation)
    clear = bool(parts) and not isinstance(_bare(facts), UnsetType)
    lacks = "some servers of {} have" if facts.profile.has_id_field else "{} has"
    fix: Fix = "unsafe" if facts.profile.has_id_field else "safe"
    for part, _ in parts:
        what = f"the {'call' if part in facts.calls else 'result'} of {part.name or 'a tool'}"
        said = (
            f"{what} has an id, {shorten(call_id_of(part))}{describe_maker(call_id_of(part))}, and"
            f" {lacks.format(facts.profile.name)} no field for it"
        )
        yield (
            part.path,
            said if clear else f"{said}; without it results would go to other calls",
            fix if clear else None,
        )


def _check_elsewhere(facts: Facts) -> Iterable[Problem]:
    if facts.profile.has_id_field:
        return
    fix: Fix | None = "safe" if _without_ids(facts) is not None else None
    for call in facts.calls:
        if call.origin != "minted":
            said = f"the call of {call.name} has the id {shorten(call.id)}"
            yield call.path, f"{said}, and {facts.profile.name} has no field for it", fix


def _without_ids(facts: Facts) -> Fixed | None:
    """The conversation with ids that are not written; None if pairing needs them."""
    calls = [call for call in facts.calls if call.origin != "minted"]
    new = {
        id(call): replace(call, id=mint("", n, call.name), origin="minted")
        for n, call in enumerate(facts.calls)
    }
    stripped = reassign_ids(facts, new)
    results = [result for result in stripped.results() if result.executor == "client"]
    stripped = replace_parts(
        stripped, {id(result): replace(result, origin="minted") for result in results}
    )
    if not calls or minted_ids_needed(stripped.messages, ordered=True):
        return None
    changes = tuple((call.path, f"the id {shorten(call.id)} was removed") for call in calls)
    return Fixed(stripped, changes)


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    if not facts.own_wire:
        return _without_ids(facts)
    if facts.profile.has_id_field and not unsafe:
        return None
    body = _bare(facts)
    if isinstance(body, UnsetType):
        return None
    gone = _with_ids(facts.conversation)
    return FixedBody(
        body,
        tuple((part.path, f"the id {shorten(call_id_of(part))} was taken off") for part, _ in gone),
    )


def _contents(
    asked: tuple[str, ...], answered: tuple[str, ...], target: str = "vertex-gemini-v1"
) -> Example:
    return Example(
        "gemini",
        target,
        {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"id": one, "name": "f", "args": {"a": one}}}
                        for one in asked
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"id": one, "name": "f", "response": {"output": one}}}
                        for one in answered
                    ],
                },
            ]
        },
    )


RULE = Rule(
    "TW014",
    "id-field-unsupported",
    title="calls and results have ids, and the target has no such field",
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
        _contents(("x",), ("x",), "vertex-gemini"),
    ),
    good=(
        _contents(("x",), ("x",), "gemini"),
        Example(
            "gemini",
            "vertex-gemini-v1",
            {
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
