"""A history between two turns: which calls wait, what answers them, and its newest part.

Whatever is done keeps pairs whole: a result goes where its call wants it, and a cut never parts a
call from its result, nor the calls of one turn from each other. What is not touched keeps the JSON
it came as. Knows no wire by name; profiles say what each takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.codec import Encoded, decode, encode, resolve
from toolwire.conversation.json import Body, JsonPath, dump
from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.parts import Call, Message, Output, Result, describe
from toolwire.errors import LocalError
from toolwire.lint import find_all
from toolwire.lint.facts import Facts
from toolwire.lint.result_placement import place_results
from toolwire.lint.transforms import MARK, interrupted_result

BYTES_A_TOKEN = 4
"""The estimate that `cut` goes by: one token for so many bytes of JSON. It is cheap, and wrong by a
third either way."""


# --- calls that wait ------------------------------------------------------------------------------


def pending(body: Body, wire: str, kind: Kind = "request") -> list[Call]:
    """The client's calls at the end of a history that have no result yet: answer, retry or abandon
    them.

    Those are of the last turn in which tools were called, if the assistant has not spoken since. A
    call without a result that lies further back is a fault of the history: `check` finds it.
    """
    return _waiting(_view(body, wire, kind))


def abandon(body: Body, wire: str, reason: str | None = None) -> Encoded:
    """The history with an answer to every call that waits, which says that it was not run, and why.

    The answer is an error and is marked as made here, so that nobody takes it for a result of the
    tool. A call that may have been answered, by a result that names none, is left alone, and that
    is a loss.
    """
    facts = _view(body, wire)
    words = None if reason is None else f"{MARK} {reason}"
    unclear = {id(call): call for one in facts.ambiguous_groups for call in one.calls}
    left = [call for call in _waiting(facts) if id(call) not in unclear]
    out = _answered(
        facts,
        {
            id(call): interrupted_result(call) if words is None else call.result(words, error=True)
            for call in left
        },
    )
    why = "a result without an id may be the answer of this call; it still waits"
    out.losses.extend(Loss(call.path, why) for call in _waiting(facts) if id(call) in unclear)
    return out


def resume(body: Body, wire: str, results: Mapping[str, Output | Result]) -> Encoded:
    """The history with results for calls that wait, by the ids of the calls; those that are not
    given go on waiting.

    A result is text, parts or any JSON value, or one made by `Call.result`, for errors. Raises
    LocalError if no call, or more than one, waits under an id.
    """
    facts = _view(body, wire)
    waits: dict[str, list[Call]] = {}
    for call in _waiting(facts):
        waits.setdefault(call.id, []).append(call)
    for one in results:
        calls = waits.get(one, [])
        if not calls:
            there = (
                ", ".join(f"{call.id} ({call.name})" for held in waits.values() for call in held)
                or "none"
            )
            raise LocalError(
                wire, (), f"no call waits under the id {one!r}; those that wait: {there}"
            )
        if len(calls) > 1:
            raise LocalError(
                wire,
                calls[0].path,
                f"{len(calls)} calls wait under the id {one!r}: repair the history first",
            )
    return _answered(
        facts,
        {id(waits[one][0]): _result(waits[one][0], given, wire) for one, given in results.items()},
    )


def _result(call: Call, given: Output | Result, wire: str) -> Result:
    if not isinstance(given, Result):
        return call.result(given)
    if given.call_id != call.id:
        raise LocalError(
            wire, call.path, f"a result of {given.call_id} is given for the call {call.id}"
        )
    return call.result(given.output, error=given.error)


def _waiting(facts: Facts) -> list[Call]:
    turn = facts.turns[-1] if facts.turns else None
    if turn is None or not turn.last:
        return []
    ran = {id(call) for call in facts.server_calls_as_client}
    return [call for call in turn.calls if id(call) not in facts.result_of and id(call) not in ran]


def _answered(facts: Facts, given: Mapping[int, Result]) -> Encoded:
    """The history with results of calls of its last turn, by the identity of the calls, where the
    target wants them."""
    blocks = [block for block in facts.batches if any(id(call) in given for call in block.calls)]
    return _written(place_results(facts, blocks, given) if given else facts.conversation)


# --- the newest part ------------------------------------------------------------------------------


def cut(
    body: Body, wire: str, *, messages: int | None = None, tokens: int | None = None
) -> Encoded:
    """The newest part of a history: so many messages, or about so many tokens.

    System prompt, tools and settings stay, and count as tokens. No pair and no turn is split, and
    the first message is one that the target takes there; for that, more is kept than was asked for.
    Nothing is put in: if even the oldest message cannot begin a history, that is a loss. A cut
    history has no fault that the whole one had not. Tokens are estimated, by the bytes of the JSON.
    Raises LocalError unless exactly one of the two is given, and is positive.
    """
    wanted = [
        (name, value)
        for name, value in (("messages", messages), ("tokens", tokens))
        if value is not None
    ]
    if len(wanted) != 1:
        raise LocalError(wire, (), "say how much to keep: either messages or tokens")
    name, many = wanted[0]
    if not isinstance(many, int) or isinstance(many, bool) or many < 1:
        raise LocalError(wire, (), f"{name} is a whole number above zero, not {many!r}")
    facts = _view(body, wire)
    start = _newest(facts, many) if messages is not None else _affordable(facts, many)
    out, first = _from(facts, max(start, facts.first_index))
    if first is not None and not _begins(facts, first):
        out.losses.append(
            Loss(first.path, "a history cannot begin with this here, and there is nothing older")
        )
    return out


def _from(facts: Facts, start: int) -> tuple[Encoded, Message | None]:
    """The history from the newest legal place on that is not after `start`, and its first
    message.
    """
    said = facts.conversation
    held = _held(facts)
    before: Counter[str] | None = None
    for n in range(min(start, len(facts.messages) - 1), facts.first_index, -1):
        if held[n] or not _begins(facts, facts.messages[n]):
            continue
        kept = _written(
            replace(said, messages=(*facts.messages[: facts.first_index], *facts.messages[n:]))
        )
        if before is None:
            before = Counter(finding.name for finding in find_all(facts))
        after = Counter(
            finding.name for finding in find_all(Facts(decode(kept.body, said.wire), facts.profile))
        )
        if after <= before:
            return kept, facts.messages[n]
    return _written(said), (
        facts.messages[facts.first_index] if facts.first_index < len(facts.messages) else None
    )


def _begins(facts: Facts, message: Message) -> bool:
    """Whether a history may begin with a message, as far as the target is known."""
    results = any(part.__class__ is Result and part.executor == "client" for part in message.parts)
    calls = any(part.__class__ is Call and part.executor == "client" for part in message.parts)
    if (
        message.role == "tool"
        or (results and not calls)
        or (calls and facts.profile.call_needs_preceding_user)
    ):
        return False
    return message.role in ("user", "system") or not facts.profile.must_start_with_user


def _held(facts: Facts) -> list[bool]:
    """For each place whether something would be torn apart by beginning there."""
    spans = [
        (facts.message_index(pair.call), facts.message_index(pair.result))
        for pair in facts.pairs
        if pair.call and pair.result
    ]
    spans += [(turn.caller_indexes[0], turn.caller_indexes[-1]) for turn in facts.turns]
    for turn in facts.turns:
        places = [
            facts.message_index(answer)
            for call in turn.calls
            if (answer := facts.result_of.get(id(call))) is not None
        ]
        spans += [(turn.caller_indexes[0], max(places))] if places else []
    spans += _namesakes(facts)
    edges = [0] * (len(facts.messages) + 2)
    for one, other in spans:
        edges[min(one, other) + 1] += 1
        edges[max(one, other) + 1] -= 1
    held: list[bool] = []
    depth = 0
    for n, message in enumerate(facts.messages):
        depth += edges[n]
        held.append(depth > 0 or (n > 0 and _goes_on(facts.messages[n - 1], message)))
    return held


def _goes_on(before: Message, message: Message) -> bool:
    """Whether a message goes on with what the one before it says: they stand in one message of the
    body, or are what the assistant says in one go, where what it thought leads what it does.
    """
    return (
        bool(message.path) and before.path == message.path
    ) or before.role == message.role == "assistant"


def _namesakes(facts: Facts) -> list[tuple[int, int]]:
    """Results that no call took, and the call that bears their id: without it, they would be worse
    than they are."""
    if not facts.unpaired_results:
        return []
    places: dict[str, list[int]] = {}
    for call in facts.calls:
        places.setdefault(call.id, []).append(facts.message_index(call))
    found_at: list[tuple[int, int]] = []
    for result in facts.unpaired_results:
        here = facts.message_index(result)
        there = places.get(result.call_id, [])
        near = [n for n in there if n <= here][-1:] or there[:1]
        found_at += [(n, here) for n in near]
    return found_at


def _newest(facts: Facts, many: int) -> int:
    """The place of the oldest of so many messages, counted as the body has them."""
    heads = [
        n
        for n, message in enumerate(facts.messages)
        if n == 0 or not message.path or facts.messages[n - 1].path != message.path
    ]
    return heads[-many] if many <= len(heads) else 0


def _affordable(facts: Facts, tokens: int) -> int:
    """The oldest place from which on everything fits into so many tokens, by the estimate; at least
    the last message does."""
    weights = _weights(facts)
    room = tokens * BYTES_A_TOKEN - (len(dump(facts.body)) - sum(weights[facts.first_index :]))
    start = len(weights)
    while start > facts.first_index and (room := room - weights[start - 1]) >= 0:
        start -= 1
    return min(start, len(weights) - 1)


def _weights(facts: Facts) -> list[int]:
    """The bytes of each message, and of what separates it from the next; without the tools it
    offers, which stay."""
    seen: set[JsonPath] = set()
    found_in: list[int] = []
    offers: dict[JsonPath, int] = {}
    for tool in facts.conversation.tools:
        if len(tool.path) > 2:
            offers[tool.path[:2]] = (
                offers.get(tool.path[:2], 0)
                + len(dump(tool.raw) if tool.raw is not UNSET else b"")
                + 1
            )
    for message in facts.messages:
        stays = (
            sum(offers.get(at, 0) for at in {part.path[:2] for part in message.parts})
            if offers
            else 0
        )
        if message.raw is not UNSET:
            found_in.append(len(dump(message.raw)) + 1 - stays)
            continue
        size = 1 - stays
        for part in message.parts:
            if part.path not in seen:  # a call and its result may be one block
                size += len(describe(part) if part.raw is UNSET else dump(part.raw)) + 1
                seen.add(part.path)
        found_in.append(size)
    return found_in


# --- in and out -----------------------------------------------------------------------------------


def _view(body: Body, wire: str, kind: Kind = "request") -> Facts:
    return Facts(decode(body, wire, kind), resolve(wire)[1])


def _written(conversation: Conversation) -> Encoded:
    return encode(conversation, conversation.wire, conversation.kind)
