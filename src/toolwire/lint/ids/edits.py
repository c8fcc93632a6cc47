"""Edits of ids that rules share: read an id from the JSON, make a new one, give it to a pair.

Every result of a call, even a second one, always gets the id of its call. This module knows no rule
and no wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.ids import digest, first_free
from toolwire.conversation.json import JSON, JsonPath, get, snake
from toolwire.conversation.minted_ids import needs_minted_ids
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import APPROVAL, Call, Part, Result
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import replace_parts
from toolwire.lint.ids.duplicates import (
    calls_sharing_an_id,
    calls_with_uncertain_result,
    has_repeated_ids,
    uncertain_calls,
)
from toolwire.lint.ids.formats import native_id_text, shorten
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import FixedConversation
from toolwire.profiles.profile import Profile
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, Id

IdProblem: TypeAlias = Literal["", "missing", "empty", "not-string"]
"""The problem with an id in the JSON; `not-string` is a value of another type."""
PairHalf: TypeAlias = "Call | Result"


def call_id_of(part: PairHalf) -> str:
    """The id of a call, or the call id of a result."""
    return part.id if isinstance(part, Call) else part.call_id


def id_rule_for(facts: Facts) -> IdRule:
    """The ids that the target accepts."""
    return facts.profile.accepted_ids or facts.profile.id_rule


def calls_with_invalid_id(facts: Facts) -> list[Call]:
    """The calls with an id that the target refuses. Minted ids are not in the history and do not
    count; calls with an uncertain result are separated by their own rule first.
    """
    if not facts.invalid_ids:
        return []
    uncertain = calls_with_uncertain_result(facts)
    return [
        call
        for call in facts.calls
        if call.id in facts.invalid_ids and call.origin == "wire" and call not in uncertain
    ]


# --- ids in the JSON ------------------------------------------------------------------------------


def id_field(part: PairHalf) -> tuple[JsonPath, JSON | UnsetType, Id] | None:
    """The path of the id in the block of a part, its value (UNSET if absent) and its spec; None if
    blocks of this type have no id."""
    spec, raw = part.spec, part.raw
    if not isinstance(spec, Block) or not isinstance(raw, dict):
        return None
    id_spec = next((field for field in spec.ids if field.role == "correlation"), None)
    if id_spec is None:
        return None
    spell = snake if spec.reads_snake_case else str
    wrapper = next(
        (key for key in (spec.name, spell(spec.name)) if isinstance(raw.get(key), dict)), None
    )
    for name in dict.fromkeys((id_spec.name, spell(id_spec.name))):
        paths: list[JsonPath] = [(name,)] if wrapper is None else [(name,), (wrapper, name)]
        for path in paths:
            value = get(raw, path)
            if not isinstance(value, UnsetType):
                return path, value, id_spec
    return (id_spec.name,), UNSET, id_spec


def id_problem(part: PairHalf, facts: Facts) -> IdProblem:
    """The problem with the id of a part in the JSON: it is missing, empty, or not a string."""
    field = id_field(part)
    if field is None:
        return ""
    path, value, id_spec = field
    if isinstance(part, Result) and part.name and id_spec.nullable and value in (UNSET, None):
        return ""  # documented as optional: the name of the tool pairs the result
    if isinstance(value, UnsetType) or value is None:
        return "missing"
    if isinstance(value, str):
        return "empty" if not value.strip() or value == "null" else ""
    return "" if _writes_number(part, path, facts) else "not-string"


def _writes_number(part: PairHalf, path: JsonPath, facts: Facts) -> bool:
    """True if the wire itself writes a number at this path."""
    spec = part.spec
    if not isinstance(spec, Block) or spec.write is None:
        return False
    context = EncodeContext(
        facts.conversation.wire, facts.conversation.kind, ids=None, names={}, reverse_map=NO_MAP
    )
    return get(spec.write(part, context), path).__class__ is int


def parts_with_id_problem(facts: Facts, kind: IdProblem) -> list[PairHalf]:
    """Calls and results with one kind of problem in their id, in order.

    There are none if the target needs no ids, with one exception: a target that requires arguments
    as objects checks the types of all fields, so it also refuses a number as an optional id.
    """
    profile = facts.profile
    checks_types = (
        kind == "not-string" and profile.arguments_format == "object" and profile.has_id_field
    )
    if not (profile.requires_ids or checks_types) or not facts.ids_not_text:
        return []
    return [part for part in facts.ids_not_text if id_problem(part, facts) == kind]


# --- calls of unpaired results --------------------------------------------------------------------


@once_per_history
def surplus_results(facts: Facts) -> PartMap[Result, Call]:
    """For each further result of a call of the client, that call.

    A result with the id of an earlier call is unpaired if that call already has a result, or if the
    result may belong to an older call with the same id. A decision about an approval is never one
    of another call.
    """
    if not facts.results_without_call:
        return PartMap()
    unpaired = PartSet(facts.results_without_call)
    latest: dict[tuple[bool, str], Call] = {}
    call_of: PartMap[Result, Call] = PartMap()
    for message in facts.messages:
        for part in message.parts:
            if isinstance(part, Call):
                if part.executor == "client":
                    latest[part.family == APPROVAL, part.id] = part
            elif isinstance(part, Result) and part in unpaired and part.origin != "minted":
                call = latest.get((part.family == APPROVAL, part.call_id))
                if call is not None and call in facts.result_of:
                    call_of[part] = call
    return call_of


def split_pairs(facts: Facts, reduce: Callable[[str], str | None]) -> PartMap[Result, Call]:
    """For each unpaired result, the open call of the same turn whose reduced id equals that of the
    result, if there is only one of each."""
    if not facts.open_calls or not facts.results_without_call:
        return PartMap()
    uncertain = calls_with_uncertain_result(facts)
    open_calls = [call for call in facts.open_calls if call not in uncertain]
    parts: list[PairHalf] = [*open_calls, *facts.results_without_call]
    if not any(reduce(call_id_of(part)) for part in parts):
        return PartMap()

    def key(part: PairHalf) -> tuple[tuple[int, ...], str]:
        turn = facts.turn_of(part)
        call_id = call_id_of(part)
        return () if turn is None else turn.caller_indexes, reduce(call_id) or call_id

    calls: dict[tuple[tuple[int, ...], str], list[Call]] = {}
    for call in open_calls:
        calls.setdefault(key(call), []).append(call)
    results: dict[tuple[tuple[int, ...], str], list[Result]] = {}
    for result in facts.results_without_call:
        results.setdefault(key(result), []).append(result)
    return PartMap(
        (group[0], calls[group_key][0])
        for group_key, group in results.items()
        if len(group) == 1 and len(calls.get(group_key, ())) == 1
    )


class CompositeId(Struct, frozen=True, eq=False):
    """A composite id: one that holds more than an id."""

    part: Call | Result
    plain: str
    """The id without the additional content."""
    call: Call | None = None
    """For a result: the open call that it belongs to."""


def harmful_composites(facts: Facts, reduce: Callable[[str], str | None]) -> list[CompositeId]:
    """The composite ids that cause an error: the target refuses them, or they separate a call from
    its result."""
    if not facts.invalid_ids and not (facts.open_calls and facts.results_without_call):
        return []
    composites = [
        CompositeId(call, plain)
        for call in calls_with_invalid_id(facts)
        if (plain := reduce(call.id)) is not None
    ]
    if not (facts.profile.rejects_orphan_results or facts.profile.rejects_missing_results):
        return composites
    call_of = split_pairs(facts, reduce)
    refused = PartSet(composite.part for composite in composites)
    for result in facts.results_without_call if call_of else ():
        call = call_of.get(result)
        if call is None:
            continue
        plain = reduce(call.id)
        if plain is not None and call not in refused:
            composites.append(CompositeId(call, plain))
        elif plain is None and (plain := reduce(result.call_id)) is not None:
            composites.append(CompositeId(result, plain, call))
    return composites


# --- new ids --------------------------------------------------------------------------------------


def all_ids(facts: Facts) -> set[str]:
    """Every id in the history, without minted ids."""
    parts: list[PairHalf] = [*facts.calls, *facts.server_calls, *facts.results]
    return {call_id_of(part) for part in parts if part.origin != "minted"}


def new_id(facts: Facts, call: Call, preferred: str, taken: set[str]) -> str:
    """An unused id that the target accepts; it is added to `taken`.

    The id is `preferred` if possible, otherwise derived from it. If the target's model generates
    ids itself, it is an id of that format.
    """
    rule = facts.profile.id_rule
    call_id = native_id(facts, call, taken) or first_free(
        lambda salt: fit(f"{preferred}_{digest(preferred, salt)[:8]}" if salt else preferred, rule),
        taken,
    )
    taken.add(call_id)
    return call_id


def native_id(facts: Facts, call: Call, taken: set[str]) -> str:
    """The id that the target's model would generate for this call; empty if it generates none."""
    pattern = facts.profile.own_id_pattern
    if not pattern or not re.fullmatch(pattern, native_id_text(call.name, 0)):
        return ""
    n = facts.call_numbers[call]
    while native_id_text(call.name, n) in taken:
        n += 1
    return native_id_text(call.name, n)


def nth_id(call_id: str, n: int) -> str:
    """The id for the n-th call that has this id: the same text with a hash."""
    return f"{call_id}_{digest(call_id, n)[:8]}"


def describe_move(facts: Facts, call: Call, new: str) -> str:
    """The message of a fix that changes the id of a call."""
    subject = f"the call to {call.name or 'a tool'}"
    if call.origin == "wire" and call.id != new:
        subject = f"the call {shorten(call.id)}" + (f" ({call.name})" if call.name else "")
    if call in facts.result_of:
        return f"{subject} and its result have the id {shorten(new)} now"
    return f"{subject} has the id {shorten(new)} now"


# --- edits of pairs -------------------------------------------------------------------------------


def with_id(call: Call, call_id: str) -> Call:
    """The call with another id."""
    return replace(call, id=call_id, origin="wire")


def keep_pairs(conversation: Conversation, profile: Profile) -> Conversation:
    """The conversation with ids on pairs that name and order would no longer pair.

    A fix that moves calls or results may separate a pair that has no id on its own wire.
    """
    results = [result for result in conversation.results() if result.origin == "minted"]
    if not results or not profile.has_id_field:
        return conversation
    if not needs_minted_ids(conversation.messages, ordered=conversation.ordered):
        return conversation
    calls = {call.id: call for call in conversation.calls() if call.origin == "minted"}
    new: PartMap[Part, Part] = PartMap()
    for result in results:
        call = calls.get(result.call_id)
        if call is not None:
            new[call] = with_id(call, call.id)
            new[result] = replace(result, origin="wire")
    return replace_parts(conversation, new, original=_without_id)


def separate_joined_turns(facts: Facts, fixed: FixedConversation) -> FixedConversation:
    """The fix of a history, with new ids for calls and results that an equal id would now connect
    in another way.

    Ids may restart in each turn. A fix that removes the message between two turns makes one turn of
    them, in which two calls with one id can no longer be told apart.
    """
    if not has_repeated_ids(facts):
        return fixed
    turn_of = PartMap((call, n) for n, turn in enumerate(facts.turns) for call in turn.calls)
    uncertain = uncertain_calls(facts)
    taken = all_ids(facts)
    new: PartMap[Part, Part] = PartMap()
    changes = list(fixed.changes)
    for group in calls_sharing_an_id(Facts(fixed.conversation, facts.profile)):
        joined = [
            (call, n)
            for n, call in enumerate(group, 1)
            if turn_of.get(call) not in (None, turn_of.get(group[0])) and call not in uncertain
        ]
        for call, n in joined if group[0] in turn_of else ():
            call_id = new_id(facts, call, nth_id(call.id, n), taken)
            new[call] = with_id(call, call_id)
            result = facts.result_of.get(call)
            if result is not None:
                new[result] = replace(result, call_id=call_id, origin="wire")
            changes.append((call.path, describe_move(facts, call, call_id)))
    conversation = replace_parts(fixed.conversation, new, original=_without_id)
    return FixedConversation(conversation, tuple(changes))


def reassign_ids(
    facts: Facts, calls: PartMap[Call, Call], calls_of_results: PartMap[Result, Call] | None = None
) -> Conversation:
    """The conversation with calls replaced, and all their results under the new ids.

    Args:
        facts: The history.
        calls: The new call for each old one. Its id is written even if it seems unchanged.
        calls_of_results: The calls of unpaired results.
    """
    owners = PartMap((*surplus_results(facts).items(), *(calls_of_results or PartMap()).items()))
    new: PartMap[Part, Part] = PartMap()
    for call in facts.calls:
        if call in calls:
            new[call] = calls[call]
            result = facts.result_of.get(call)
            if result is not None:
                owners[result] = call
    for result in facts.results:
        owner = owners.get(result)
        if owner is not None and (
            owner in calls or (calls_of_results and result in calls_of_results)
        ):
            call_id = calls.get(owner, owner).id
            new[result] = replace(result, call_id=call_id, origin="wire")
    return replace_parts(facts.conversation, new, original=_without_id)


def _without_id(part: Part) -> Part:
    """The part with an empty id.

    As the original of an edited part, it makes the encoder write the id in any case: a number
    becomes text, and a minted id is sent.
    """
    if isinstance(part, Call):
        return replace(part, id="")
    if isinstance(part, Result):
        return replace(part, call_id="")
    return part
