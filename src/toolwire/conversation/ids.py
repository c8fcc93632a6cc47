"""Mint call ids where a wire has none, and give every result the id of its call.

No clock, no randomness, no state: the same history gives the same ids in every process. An id
holds nothing but a hash.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from hashlib import blake2b
from itertools import chain
from operator import attrgetter

from msgspec.structs import replace

from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Message, PairedBy, Part, Result, Text

MINTED = "tw-"
"""The prefix of every minted id."""
_PARTS: Callable[[Message], tuple[Part, ...]] = attrgetter("parts")
_IS_COMPLETE: Callable[[Part], bool] = attrgetter("source.is_complete")


def digest(*words: str | int) -> str:
    """Return sixteen hexadecimal digits that depend on every word."""
    return blake2b(
        "\x1f".join(map(str, words)).encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()


def mint(seed: str, ordinal: int, name: str) -> str:
    """Return an id for the call at position `ordinal` of a body. `seed` distinguishes responses."""
    return MINTED + digest(seed, ordinal, name)


def is_minted(text: str) -> bool:
    """Return True if the id was minted, perhaps in another process, and came back over a wire."""
    return text.startswith(MINTED) and len(text) == len(MINTED) + 16


def first_free(make: Callable[[str], str], taken: Container[str]) -> str:
    """Return the first of `make("")`, `make("#1")`, `make("#2")`, ... that is not in `taken`."""
    salt = 0
    while (candidate := make(f"#{salt}" if salt else "")) in taken:
        salt += 1
    return candidate


def assign_ids(messages: tuple[Message, ...], *, seed: str, ordered: bool) -> tuple[Message, ...]:
    """Return the messages with an id on every call, and with its call's id on every paired result.

    Args:
        messages: Messages as they were read. They are returned unchanged if no id is missing and
            every result has the id of a call.
        seed: The id of the response, so that two responses mint different ids.
        ordered: True if the wire guarantees that results without ids follow the order of calls.
    """
    call_ids: set[str] = set()
    result_ids: list[str] = []
    for message in messages:
        for part in message.parts:
            if type(part) is Text:
                continue
            if type(part) is Call:
                call_ids.add(part.id)
            elif type(part) is Result:
                result_ids.append(part.call_id)
    if "" in call_ids or "" in result_ids:
        return _assign_missing(messages, seed, ordered)
    if not call_ids.issuperset(result_ids) and (ordered or _have_item_ids(messages)):
        return _assign_missing(messages, seed, ordered)
    return messages


def have_complete_parts(messages: tuple[Message, ...]) -> bool:
    """True if every part of messages that were just read was read in full, so no id is missing."""
    return all(map(_IS_COMPLETE, chain.from_iterable(map(_PARTS, messages))))


def _have_item_ids(messages: tuple[Message, ...]) -> bool:
    """True if calls have an item id beside the call id: a result may refer to that instead."""
    parts = chain.from_iterable(map(_PARTS, messages))
    return any(isinstance(part, Call) and part.item is not None for part in parts)


def _assign_missing(messages: tuple[Message, ...], seed: str, ordered: bool) -> tuple[Message, ...]:
    new_calls: PartMap[Part, Part] = PartMap()
    taken = {part.id for message in messages for part in message.parts if isinstance(part, Call)}
    ordinal = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, Call):
                if not part.id:
                    call_id = first_free(
                        lambda salt, n=ordinal, p=part: mint(f"{seed}{salt}", n, p.name),  # type: ignore[misc]
                        taken,
                    )
                    taken.add(call_id)
                    new_calls[part] = replace(part, id=call_id, origin="minted")
                ordinal += 1
    messages = _replace_parts(messages, new_calls)
    new_results: PartMap[Part, Part] = PartMap()
    for n, pair in enumerate(pairs(messages, ordered=ordered)):
        result = pair.result
        if result is None:
            continue
        if pair.call is None:
            if result.origin == "minted":
                result_id = first_free(
                    lambda salt, n=n, r=result: mint(f"{seed} result{salt}", n, r.name or ""),  # type: ignore[misc]
                    taken,
                )
                new_results[result] = replace(result, call_id=result_id)
        elif result.call_id != pair.call.id:
            new_results[result] = _with_id_of(pair.call, result, pair.how)
    return _replace_parts(messages, new_results)


def give_results_ids(messages: tuple[Message, ...], *, ordered: bool) -> tuple[Message, ...]:
    """Return the messages with the id of its call on every paired result.

    `assign_ids` does this when a body is read; an edit may pair a result with another call.
    """
    return _replace_parts(
        messages,
        PartMap(
            (pair.result, _with_id_of(pair.call, pair.result, pair.how))
            for pair in pairs(messages, ordered=ordered)
            if pair.call is not None
            and pair.result is not None
            and pair.result.call_id != pair.call.id
        ),
    )


def _with_id_of(call: Call, result: Result, how: PairedBy | None) -> Result:
    """Return a result with the id of its call. Only pairing by id keeps the origin of the id."""
    return replace(result, call_id=call.id, origin=result.origin if how == "id" else "minted")


def _replace_parts(
    messages: tuple[Message, ...], new_parts: PartMap[Part, Part]
) -> tuple[Message, ...]:
    if not new_parts:
        return messages
    return tuple(
        replace(message, parts=tuple(new_parts.get(part, part) for part in message.parts))
        if any(part in new_parts for part in message.parts)
        else message
        for message in messages
    )
