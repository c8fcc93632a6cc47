"""What the rules about ids share: how an id stood in the JSON, new ids, and pairs put under them.

A result always goes where its call goes, also one too many. Knows no rule and no wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.ids import digest, first_free
from toolwire.conversation.json import JSON, JsonPath, get, snake
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Result, Source
from toolwire.lint.facts import Facts, Turn
from toolwire.lint.id_formats import native_id_text, shorten
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, Id

IdProblem: TypeAlias = Literal["", "missing", "empty", "odd"]
PairHalf: TypeAlias = "Call | Result"


def call_id_of(part: PairHalf) -> str:
    """The id of a call, or that of a result's call."""
    return part.id if isinstance(part, Call) else part.call_id


def accepted_ids(facts: Facts) -> IdRule:
    """The ids that the target takes."""
    return facts.profile.accepted_ids or facts.profile.id_rule


def refused_calls(facts: Facts) -> list[Call]:
    """The calls whose ids the target does not take. One that we gave because there was none is not
    the history's."""
    strange = facts.refused_ids
    return (
        [call for call in facts.calls if call.id in strange and call.origin == "wire"]
        if strange
        else []
    )


# --- how an id stood in the JSON ------------------------------------------------------------------


def id_field(part: PairHalf) -> tuple[JsonPath, JSON | UnsetType, Id] | None:
    """Where in its block the id of a part stands, and what stands there; None if such a block has
    no id at all."""
    row, raw = part.spec, part.raw
    if not isinstance(row, Block) or not isinstance(raw, dict):
        return None
    known = next((one for one in row.ids if one.role == "correlation"), None)
    if known is None:
        return None
    inside = next(
        (key for key in (row.name, snake(row.name)) if isinstance(raw.get(key), dict)), None
    )
    for name in dict.fromkeys((known.name, snake(known.name))):
        for at in ((name,), *(((inside, name),) if inside is not None else ())):
            value = get(raw, at)
            if not isinstance(value, UnsetType):
                return at, value, known
    return (known.name,), UNSET, known


def id_problem(part: PairHalf, facts: Facts) -> IdProblem:
    """What is wrong with an id as JSON: there is none, it is empty, or it is no text."""
    found = id_field(part)
    if found is None:
        return ""
    at, value, known = found
    if isinstance(part, Result) and known.nullable and value in (UNSET, None):
        return ""  # documented as optional: the name tells
    if isinstance(value, UnsetType) or value is None:
        return "missing"
    if isinstance(value, str):
        return "empty" if not value.strip() or value == "null" else ""
    return "odd" if not _number_here(part, at, facts) else ""


def _number_here(part: PairHalf, at: JsonPath, facts: Facts) -> bool:
    """Whether the wire itself would write a number there."""
    row = part.spec
    if not isinstance(row, Block) or row.write is None:
        return False
    page = EncodeContext(
        facts.conversation.wire, facts.conversation.kind, ids=None, names={}, reverse_map=NO_MAP
    )
    value = get(row.write(part, page), at)
    return value.__class__ is int


def parts_with_id_problem(facts: Facts, kind: IdProblem) -> list[PairHalf]:
    """Calls and results whose id is wrong in one way, in order; none where the target needs no ids.

    Who wants arguments as objects reads everything by its type: a number is no id there, also where
    none is needed.
    """
    typed = (
        kind == "odd" and facts.profile.arguments_format == "object" and facts.profile.has_id_field
    )
    if not (facts.profile.requires_ids or typed) or not facts.ids_not_text:
        return []
    return [part for part in facts.ids_not_text if id_problem(part, facts) == kind]


# --- which result is whose ------------------------------------------------------------------------


def turns_by_part(facts: Facts) -> dict[int, Turn]:
    """The turn that a call belongs to and that a result stands in, by their identity."""
    by_place = {
        n: turn for turn in facts.turns for n in (*turn.caller_indexes, *turn.follower_indexes)
    }
    sides: list[PairHalf] = [*facts.calls, *facts.results]
    found = {id(part): by_place.get(facts.message_index(part)) for part in sides}
    return {key: turn for key, turn in found.items() if turn is not None}


def surplus_results(facts: Facts) -> dict[int, Call]:
    """The call of each result that came when it already had one, by the identity of the result."""
    if not facts.unpaired_results:
        return {}
    stray = {id(result) for result in facts.unpaired_results}
    latest: dict[str, Call] = {}
    found: dict[int, Call] = {}
    for message in facts.messages:
        for part in message.parts:
            if isinstance(part, Call):
                latest[part.id] = part
            elif isinstance(part, Result) and id(part) in stray and part.origin != "minted":
                call = latest.get(part.call_id)
                if call is not None and id(call) in facts.result_of:
                    found[id(part)] = call
    return found


def split_pairs(facts: Facts, reduce: Callable[[str], str | None]) -> dict[int, Call]:
    """The open call of each stray result whose id is the same once both are reduced, by the
    identity of the result."""
    if not facts.open_calls or not facts.unpaired_results:
        return {}
    turns = turns_by_part(facts)
    wanted: dict[tuple[int, str], list[Call]] = {}
    for call in facts.open_calls:
        wanted.setdefault((id(turns.get(id(call))), reduce(call.id) or call.id), []).append(call)
    came: dict[tuple[int, str], list[Result]] = {}
    for result in facts.unpaired_results:
        came.setdefault(
            (id(turns.get(id(result))), reduce(result.call_id) or result.call_id), []
        ).append(result)
    return {
        id(results[0]): wanted[key][0]
        for key, results in came.items()
        if len(results) == 1 and len(wanted.get(key, ())) == 1
    }


class CompositeId(Struct, frozen=True, eq=False):
    """An id that holds more than an id: where it stands, and what it should be."""

    part: Call | Result
    plain: str
    call: Call | None = None
    """The open call of a result that bears it."""


def harmful_composites(facts: Facts, reduce: Callable[[str], str | None]) -> list[CompositeId]:
    """Ids that reduce to less and do harm as they are: the target refuses them, or call and result
    do not meet."""
    if not facts.refused_ids and not (facts.open_calls and facts.unpaired_results):
        return []
    found = [
        CompositeId(call, plain)
        for call in refused_calls(facts)
        if (plain := reduce(call.id)) is not None
    ]
    ties = (
        split_pairs(facts, reduce)
        if facts.profile.rejects_orphan_results or facts.profile.rejects_missing_results
        else {}
    )
    known = {id(odd.part) for odd in found}
    for result in facts.unpaired_results if ties else ():
        call = ties.get(id(result))
        if call is None:
            continue
        plain = reduce(call.id)
        if plain is not None and id(call) not in known:
            found.append(CompositeId(call, plain))
        elif plain is None and (plain := reduce(result.call_id)) is not None:
            found.append(CompositeId(result, plain, call))
    return found


# --- new ids --------------------------------------------------------------------------------------


def used_ids(facts: Facts) -> set[str]:
    """Every id that the history itself has."""
    sides: list[PairHalf] = [*facts.calls, *facts.server_calls, *facts.results]
    return {call_id_of(part) for part in sides if part.origin != "minted"}


def new_id(facts: Facts, call: Call, wish: str, taken: set[str]) -> str:
    """An id that the target takes and nobody has, added to those that are taken.

    The wished one if it may be, else one made of it; a model that names its calls itself gets one
    of its own kind.
    """
    rule = facts.profile.id_rule
    made = native_id(facts, call, taken)
    made = made or first_free(
        lambda salt: fit(f"{wish}_{digest(wish, salt)[:8]}" if salt else wish, rule), taken
    )
    taken.add(made)
    return made


def native_id(facts: Facts, call: Call, taken: set[str]) -> str:
    """The id that the target's model would have given to a call at this place; empty if it does not
    name calls itself."""
    pattern = facts.profile.own_id_pattern
    if not pattern or not re.fullmatch(pattern, native_id_text(call.name, 0)):
        return ""
    n = next(n for n, other in enumerate(facts.calls) if other is call)
    while native_id_text(call.name, n) in taken:
        n += 1
    return native_id_text(call.name, n)


def numbered_id(one: str, n: int) -> str:
    """What the n-th call of one id should be called: the same beginning, and a hash."""
    return f"{one}_{digest(one, n)[:8]}"


def describe_move(facts: Facts, call: Call, new: str) -> str:
    """What a fix says that gives another id to a call."""
    before = f" under {shorten(call.id)}" if call.origin == "wire" and call.id != new else ""
    after = ", and so does its result" if id(call) in facts.result_of else ""
    return f"the call of {call.name or 'a tool'}{before} goes under {shorten(new)}{after}"


# --- pairs under other ids ------------------------------------------------------------------------


def with_id(call: Call, one: str) -> Call:
    """A call under another id."""
    return replace(call, id=one, origin="wire")


def reassign_ids(
    facts: Facts, calls: Mapping[int, Call], ties: Mapping[int, Call] | None = None
) -> Conversation:
    """The conversation with calls replaced, by their identity, and every result of theirs under
    their new ids.

    `ties` gives stray results to calls, by the identity of the result. The ids are written even if
    they read the same.
    """
    given = {**surplus_results(facts), **(ties or {})}
    new: dict[int, Part] = {}
    for call in facts.calls:
        if id(call) in calls:
            new[id(call)] = calls[id(call)]
            result = facts.result_of.get(id(call))
            if result is not None:
                given[id(result)] = call
    for result in facts.results:
        owner = given.get(id(result))
        if owner is not None and (id(owner) in calls or (ties and id(result) in ties)):
            new[id(result)] = replace(result, call_id=calls.get(id(owner), owner).id, origin="wire")
    return _put(facts.conversation, new)


def _put(conversation: Conversation, new: Mapping[int, Part]) -> Conversation:
    messages: list[Message] = []
    for message in conversation.messages:
        if any(id(part) in new for part in message.parts):
            parts = tuple(
                _edited(part, new[id(part)]) if id(part) in new else part for part in message.parts
            )
            message = replace(message, parts=parts)
        messages.append(message)
    return replace(conversation, messages=tuple(messages))


def _edited(old: Part, new: Part) -> Part:
    """The new part in the place of the old one. Only a difference is written, so the old one is
    taken to have had no id: a number must become text, and an id that we made up must be told.
    """
    before = (
        replace(old, id="")
        if isinstance(old, Call)
        else replace(old, call_id="")
        if isinstance(old, Result)
        else old
    )
    return replace(
        new,
        signature=new.signature or old.signature,
        source=Source(raw=old.raw, path=old.path, spec=old.spec, original=before),
    )
