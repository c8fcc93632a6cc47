"""Move and add results: each batch of calls gets its results where the target expects them.

This module knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from operator import is_

from msgspec.structs import replace

from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Message, Part, Result, Text, Traceable
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.fixes.transforms import merge_same_roles, without_parts
from toolwire.lint.ids.duplicates import calls_sharing_an_id
from toolwire.lint.ids.edits import surplus_results

_LEGACY_CALL = "function-legacy"
"""The family of calls without an id in the field `function_call`."""


def place_results(
    facts: Facts, batches: Iterable[CallBatch], new_results: PartMap[Call, Result] | None = None
) -> Conversation:
    """The conversation with the results of these batches directly after their calls.

    The results are in the order of their calls if the target pairs by order or the calls share an
    id, in one message if the target requires it, and separate from other content if it requires
    that. Content between calls and results moves after the results, in its order. A second result
    that the target accepts stays with the first.

    Args:
        facts: The history.
        batches: The batches to place; all others stay unchanged.
        new_results: Results for open calls: new ones, or results that were not paired.
    """
    added = new_results or PartMap()
    second_results = _accepted_second_results(facts)
    results_of: list[tuple[CallBatch, list[Result]]] = []
    for batch in chain.from_iterable(_split(facts, batch) for batch in batches):
        owned = [(facts.call_of[result], result) for result in batch.results]
        if owned:
            owned += [(call, more) for call in batch.calls for more in second_results.get(call, ())]
        owned += [(call, added[call]) for call in batch.calls if call in added]
        if _needs_call_order(facts, batch):
            owned.sort(key=lambda pair: facts.call_numbers[pair[0]])
        results_of.append((batch, [result for _, result in owned]))
    layout = _Layout(facts, PartSet(result for _, results in results_of for result in results))
    for batch, results in results_of:
        layout.place(batch, results)
    return layout.conversation()


def _split(facts: Facts, batch: CallBatch) -> list[CallBatch]:
    """The batch. On its own wire, it is split into one batch per message if it has legacy calls: a
    message can hold only one of these, so the messages cannot be joined."""
    if not facts.own_wire or len(batch.caller_indexes) == 1:
        return [batch]
    if all(call.family != _LEGACY_CALL for call in batch.calls):
        return [batch]
    index_of, call_of = facts.message_index, facts.call_of
    return [
        replace(
            batch,
            caller_indexes=(n,),
            calls=tuple(call for call in batch.calls if index_of(call) == n),
            results=tuple(result for result in batch.results if index_of(call_of[result]) == n),
        )
        for n in batch.caller_indexes
    ]


def _needs_call_order(facts: Facts, batch: CallBatch) -> bool:
    """True if only the order of the results shows the call of each."""
    if facts.profile.results_follow_call_order and not facts.are_tied_by_id(batch):
        return True
    return len({call.id for call in batch.calls}) < len(batch.calls)


def _accepted_second_results(facts: Facts) -> PartMap[Call, list[Result]]:
    """The additional results of calls that already have one, for a target that accepts them."""
    by_call: PartMap[Call, list[Result]] = PartMap()
    if facts.profile.rejects_duplicate_results or not facts.results_without_call:
        return by_call
    orphans = PartSet(facts.orphans)
    for result, call in surplus_results(facts).items():
        if result not in orphans:
            by_call.setdefault(call, []).append(result)
    return by_call


def add_results(
    facts: Facts, open_calls: Iterable[tuple[CallBatch, Call]], make: Callable[[Call], Result]
) -> Conversation:
    """The conversation with results for open calls, each given with its batch.

    Other results move only if the target requires it, or if calls of the turn share an id: an added
    result may end the turn, and only the turn and the order distinguish the results of such calls.
    """
    new_results: PartMap[Call, Result] = PartMap()
    batches: PartMap[CallBatch, CallBatch] = PartMap()
    results_may_stay = facts.profile.result_placement not in ("next", "alone")
    for batch, call in open_calls:
        new_results[call] = make(call)
        batches[batch] = replace(batch, results=()) if results_may_stay else batch
    if results_may_stay:
        for batch in _batches_sharing_ids(facts, batches):
            batches[batch] = batch
    return place_results(facts, batches.values(), new_results)


def _batches_sharing_ids(facts: Facts, batches: Iterable[CallBatch]) -> list[CallBatch]:
    """The batches with calls that share an id, of all turns that some batches belong to."""
    sharing = PartSet(chain.from_iterable(calls_sharing_an_id(facts)))
    if not len(sharing):
        return []
    turns = PartSet(facts.turn_of(batch.calls[0]) for batch in batches)
    return [
        batch
        for batch in facts.batches
        if facts.turn_of(batch.calls[0]) in turns and not sharing.isdisjoint(batch.calls)
    ]


class _Layout:
    """The messages of a history while results are moved: removals and insertions."""

    def __init__(self, facts: Facts, moved: PartSet[Part]) -> None:
        self._facts = facts
        self._moved = moved
        """Results that are removed from their position and placed again."""
        self._inserted: dict[int, tuple[Message, ...]] = {}
        """New messages, by the index of the message that they follow."""
        self._removed: set[int] = set()
        """Indexes of messages that are removed."""

    def place(self, batch: CallBatch, results: list[Result]) -> None:
        """Place the results of one batch after its calls."""
        facts, end = self._facts, batch.caller_indexes[-1]
        callers = [facts.messages[n] for n in batch.caller_indexes]
        trailing: tuple[Part, ...] = ()
        if facts.profile.result_placement in ("next", "alone"):
            if results:
                trailing = tuple(
                    part for n in batch.caller_indexes for part in facts.text_after_calls(n)
                )
            if len(callers) > 1 and not facts.profile.merges_assistant_messages:
                callers = [_join(callers)]
        last = max((facts.message_index(result) for result in batch.results), default=end)
        self._removed.update(batch.caller_indexes)
        self._removed.update(n for n in range(end + 1, last) if _is_empty(facts.messages[n]))
        inserted = [without_parts(message, self._moved) for message in callers]
        if trailing:
            inserted = [without_parts(message, PartSet(trailing)) for message in inserted]
        inserted += self._result_messages(results, end)
        if trailing:
            inserted.append(Message("assistant", trailing, None, facts.conversation.wire))
        self._inserted[end] = tuple(inserted)

    def _result_messages(self, results: list[Result], end: int) -> list[Message]:
        """The messages for the results; a message that held exactly these results is reused."""
        facts, wire = self._facts, self._facts.conversation.wire
        if not results:
            return []
        if not facts.profile.results_share_one_message:
            return [
                self._message_of(result) or Message("tool", (result,), None, wire)
                for result in results
            ]
        following = facts.message_after(end)
        if (
            following is not None
            and following.role in ("user", "tool")
            and any(part in self._moved for part in following.parts)
        ):
            rest = tuple(part for part in following.parts if part not in self._moved)
            if not rest or facts.profile.result_placement != "alone":
                self._removed.add(end + 1)
                parts = (*results, *rest)
                same = len(parts) == len(following.parts) and all(map(is_, parts, following.parts))
                return [following if same else replace(following, parts=parts)]
        message = self._message_of(results[0]) if len(results) == 1 else None
        return [message or Message("user", tuple(results), None, wire)]

    def _message_of(self, result: Result) -> Message | None:
        """The message that holds only this result; None if there is none."""
        if result.path == ():
            return None
        message = self._facts.messages[self._facts.message_index(result)]
        return message if len(message.parts) == 1 else None

    def conversation(self) -> Conversation:
        """The conversation with all batches placed."""
        messages: list[Message] = []
        changed = self._facts.message_indexes(self._moved)
        copied = 0
        """The number of messages that are copied or changed so far."""
        for n in sorted(changed | self._removed | self._inserted.keys()):
            messages += self._facts.messages[copied:n]
            if n not in self._removed:
                message = self._facts.messages[n]
                rest = without_parts(message, self._moved)
                if rest.parts or rest is message:
                    messages.append(rest)
            messages += self._inserted.get(n, ())
            copied = n + 1
        messages += self._facts.messages[copied:]
        return merge_same_roles(self._facts, messages)


def _join(messages: list[Message]) -> Message:
    """Join messages of one role. The JSON of the first stays, for fields that no part holds."""
    parts = tuple(part for message in messages for part in message.parts)
    return replace(messages[0], parts=parts, stop=messages[-1].stop)


def _is_empty(message: Message) -> bool:
    """True for an assistant message without content, with which some servers end a stream."""
    if message.role != "assistant" or not _has_no_other_fields(message):
        return False
    return all(
        isinstance(part, Text)
        and not part.text
        and part.signature is None
        and _has_no_other_fields(part)
        for part in message.parts
    )


def _has_no_other_fields(element: Traceable) -> bool:
    """True if the JSON of a message or part has no values in fields that were not read."""
    raw, spec = element.raw, element.spec
    if not isinstance(raw, dict):
        return True
    return spec is not None and not any(value for key, value in raw.items() if key not in spec.keys)
