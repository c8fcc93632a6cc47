"""Edits of a conversation that fixes share: replace, remove and merge parts and messages.

Content that an edit does not touch keeps the JSON that it was read from. This module knows no rule
and no wire.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.codec import encode_in_full
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import (
    MARK,
    Call,
    Media,
    Message,
    Part,
    Result,
    Source,
    Text,
    Traceable,
)
from toolwire.lint.facts import CallBatch, Facts

INTERRUPTED = f"{MARK} interrupted: no result of this call was recorded"


def own_body(conversation: Conversation) -> JSON:
    """The conversation as a body of its own wire."""
    return encode_in_full(conversation, conversation.wire, conversation.kind).body


# --- parts ----------------------------------------------------------------------------------------


def _original(part: Part) -> Traceable:
    return part.original or part


def replace_parts(
    conversation: Conversation,
    new: PartMap[Part, Part],
    *,
    original: Callable[[Part], Traceable] = _original,
) -> Conversation:
    """The conversation with parts replaced.

    Args:
        conversation: The conversation; everything else in it stays verbatim.
        new: The new part for each old one.
        original: Returns the part with which the encoder compares the new one, to write only the
            differences.
    """
    if not new:
        return conversation
    messages: list[Message] = []
    for message in conversation.messages:
        if any(part in new for part in message.parts):
            parts = tuple(
                _with_source(new[part], part, original(part)) if part in new else part
                for part in message.parts
            )
            message = replace(message, parts=parts)
        messages.append(message)
    return replace(conversation, messages=tuple(messages))


def _with_source(new: Part, old: Part, original: Traceable) -> Part:
    return replace(
        new,
        signature=new.signature or old.signature,
        source=Source(raw=old.raw, path=old.path, spec=old.spec, original=original),
    )


def remove_parts(conversation: Conversation, parts: PartSet[Part]) -> Conversation:
    """The conversation without these parts, and without messages that become empty."""
    messages: list[Message] = []
    for message in conversation.messages:
        rest = without_parts(message, parts)
        if rest.parts or rest is message:
            messages.append(rest)
    return with_messages(conversation, messages)


def without_parts(message: Message, parts: PartSet[Part]) -> Message:
    """The message without these parts; the same object if it holds none of them.

    Its JSON stays, for fields that no part holds.
    """
    if parts.isdisjoint(message.parts):
        return message
    return replace(message, parts=tuple([part for part in message.parts if part not in parts]))


# --- text that a fix adds -------------------------------------------------------------------------


def placeholder_result(call: Call) -> Result:
    """An error result, marked as added by toolwire, for a call without a result."""
    return call.result(INTERRUPTED, error=True)


def user_note(text: str) -> Message:
    """A user message with marked text, for information that cannot stay in its place."""
    return Message("user", (Text(f"{MARK} {text}"),))


CALL_IS_MISSING = "whose call is not in this history"
CALL_IS_UNCERTAIN = "which may belong to any of several calls"


def results_as_text(
    facts: Facts, results: Iterable[Result], reason: str = CALL_IS_MISSING
) -> Conversation:
    """The conversation with results replaced by marked user messages, which state the reason.

    Such a message never separates a call from its result: it comes after the whole batch. It does
    end a turn with open calls, but the result had already ended that turn.
    """
    removed: PartSet[Part] = PartSet()
    notes: dict[int, list[Message]] = {}
    spans = _batch_spans(facts)
    starts = [start for start, _ in spans]
    for result in results:
        removed.add(result)
        index = facts.message_index(result) + 1
        span = bisect_left(starts, index) - 1
        if span >= 0 and index <= spans[span][1]:
            index = spans[span][1] + 1
        notes.setdefault(index, []).append(_result_note(result, reason))
    messages: list[Message] = []
    changed_indexes = facts.message_indexes(removed)
    for n, message in enumerate(facts.messages):
        messages += notes.get(n, ())
        rest = without_parts(message, removed) if n in changed_indexes else message
        if rest.parts or rest is message:
            messages.append(rest)
    messages += notes.get(len(facts.messages), ())
    return merge_same_roles(facts, messages)


def _batch_spans(facts: Facts) -> list[tuple[int, int]]:
    """The first and last message of each batch with its results; overlapping batches are joined."""
    spans: list[tuple[int, int]] = []
    for batch in facts.batches:
        start = batch.caller_indexes[0]
        end = max([batch.caller_indexes[-1], *map(facts.message_index, batch.results)])
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
    return spans


def _result_note(result: Result, reason: str) -> Message:
    """A result as a user message, with its media."""
    subject = f"a result of {result.name}" if result.name else "a result"
    if result.origin != "minted":
        subject += f" for {result.call_id}"
    note = user_note(f"{subject}, {reason}: {result.text}")
    if not isinstance(result.output, tuple):
        return note
    media = tuple(
        replace(part, source=replace(part.source, raw=UNSET, spec=None))
        for part in result.output
        if isinstance(part, Media)
    )
    return replace(note, parts=(*note.parts, *media))


def parts_as_text(conversation: Conversation, texts: PartMap[Part, str]) -> Conversation:
    """The conversation with parts replaced by marked text in their place."""
    messages = (
        replace(
            message,
            parts=tuple(
                Text(f"{MARK} {texts[part]}") if part in texts else part for part in message.parts
            ),
        )
        if any(part in texts for part in message.parts)
        else message
        for message in conversation.messages
    )
    return with_messages(conversation, messages)


# --- messages -------------------------------------------------------------------------------------


def with_messages(conversation: Conversation, messages: Iterable[Message]) -> Conversation:
    """The conversation with other messages.

    The encoder considers a body unchanged if all parts keep their paths, even if they are now in
    fewer messages. A copy of the settings, which are compared too, makes it write the body again.
    """
    source = conversation.source
    if source.settings is not None:
        source = replace(source, settings=dict(source.settings))
    return replace(conversation, messages=tuple(messages), source=source)


def merge_same_roles(facts: Facts, messages: Iterable[Message]) -> Conversation:
    """The conversation with other messages. If the target refuses consecutive messages of one role,
    messages that have become neighbours are merged."""
    if not facts.profile.rejects_same_role_twice:
        return with_messages(facts.conversation, messages)
    old_index = PartMap((message, n) for n, message in enumerate(facts.messages))
    merged: list[Message] = []
    previous = -1
    """The previous index of the last message; -1 if it is new."""
    for message in messages:
        index = old_index.get(message, -1)
        were_neighbours = index > 0 and previous == index - 1
        if merged and not were_neighbours and follows_same_side(merged[-1], message):
            merged[-1] = _merge(merged[-1], message, facts.conversation.wire)
            previous = -1
        else:
            merged.append(message)
            previous = index
    return with_messages(facts.conversation, merged)


def follows_same_side(previous: Message, message: Message) -> bool:
    """True if two consecutive messages are both the user's, including results, or both the
    assistant's."""
    return _side(previous) == _side(message) != "system"


def merge_neighbours(facts: Facts) -> Conversation:
    """The conversation with each run of messages of one side merged into one message."""
    merged: list[Message] = []
    for message in facts.messages:
        if merged and follows_same_side(merged[-1], message):
            merged[-1] = _merge(merged[-1], message, facts.conversation.wire)
        else:
            merged.append(message)
    return with_messages(facts.conversation, merged)


def _side(message: Message) -> str:
    return "user" if message.role == "tool" else message.role


def _merge(first: Message, second: Message, wire: str) -> Message:
    """Merge two messages. Results come first, except in an assistant message."""
    parts = (*first.parts, *second.parts)
    if second.role != "assistant":
        parts = (
            *(part for part in parts if type(part) is Result),
            *(part for part in parts if type(part) is not Result),
        )
    return Message(second.role, parts, None, wire, source=Source(path=first.path))


# --- messages of findings -------------------------------------------------------------------------


def batch_path(batch: CallBatch) -> JsonPath:
    """The path of the first call of a batch."""
    return batch.calls[0].path


def describe_calls(batch: CallBatch) -> str:
    """The calls of a batch, for a message: `c1 (search) and c2 (fetch)`."""
    return " and ".join(f"{call.id} ({call.name})" for call in batch.calls)
