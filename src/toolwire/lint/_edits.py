"""What a fix does to a conversation: parts replaced, taken out, put in and moved, always both halves of a pair.

Whatever is not touched keeps the JSON it came as. Knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from toolwire._json import JSON
from toolwire.lint._view import Turn, View
from toolwire.model import Conversation
from toolwire.parts import Call, Message, Part, Result, Role, Text
from toolwire.translate import encode

MARK = "[toolwire]"
"""What everything begins with that was not said by anybody in the conversation."""
INTERRUPTED = f"{MARK} interrupted: no result of this call was recorded"


def written(conversation: Conversation) -> JSON:
    """The conversation as a body of its own wire."""
    return encode(conversation, conversation.wire, conversation.kind).body


def swapped(conversation: Conversation, new: Mapping[int, Part]) -> Conversation:
    """The conversation with parts replaced, found by the identity of the old ones; everything else stays to the letter."""
    if not new:
        return conversation
    messages: list[Message] = []
    for message in conversation.messages:
        if any(id(part) in new for part in message.parts):
            parts = tuple(_kept(part, new[id(part)]) if id(part) in new else part for part in message.parts)
            message = replace(message, parts=parts)
        messages.append(message)
    return replace(conversation, messages=tuple(messages))


def _kept(old: Part, new: Part) -> Part:
    return replace(new, raw=old.raw, at=old.at, row=old.row, was=old.was or old, seal=new.seal or old.seal)


def renamed(view: View, ids: Mapping[int, str]) -> Conversation:
    """The conversation with calls under other ids, by the identity of the calls; their results follow them."""
    new: dict[int, Part] = {}
    for call in (*view.calls, *view.hosted):
        if id(call) in ids:
            one = ids[id(call)]
            new[id(call)] = replace(call, id=one, origin="wire")
            result = view.answer.get(id(call))
            if result is not None:
                new[id(result)] = replace(result, call_id=one, origin="wire")
    return swapped(view.conversation, new)


def without(conversation: Conversation, parts: Collection[int]) -> Conversation:
    """The conversation without some parts, by their identity; a message that had nothing else goes with them."""
    messages: list[Message] = []
    for message in conversation.messages:
        if any(id(part) in parts for part in message.parts):
            kept = tuple(part for part in message.parts if id(part) not in parts)
            if not kept:
                continue
            message = replace(message, parts=kept, raw=UNSET)
        messages.append(message)
    return replace(conversation, messages=tuple(messages))


def interrupted(call: Call) -> Result:
    """The honest answer to a call that nobody answered: an error, and marked as made here."""
    return call.result(INTERRUPTED, error=True)


def note(text: str) -> Message:
    """Words that keep what cannot stay where it was, from the user's side."""
    return Message("user", (Text(f"{MARK} {text}"),))


def laid(view: View, extra: Iterable[Result] = ()) -> Conversation:
    """The conversation with every result where the target wants it: after its call, before anybody else speaks.

    Results stand in the order of their calls where that counts, in one message where that is wanted, and alone in it.
    What stood in between comes after them, in its order. `extra` are results that are new; each belongs to an open call.
    """
    profile = view.profile
    more = {result.call_id: result for result in extra}
    gone: set[int] = set()
    after: dict[int, list[Message]] = {}
    for turn in view.turns:
        results = _answers(view, turn, more)
        gone.update(id(result) for result in results)
        if results:
            after[turn.asks[-1]] = _messages(view, results, batch=profile.batch)
    messages: list[Message] = []
    for n, message in enumerate(view.messages):
        kept = tuple(part for part in message.parts if id(part) not in gone)
        if len(kept) == len(message.parts):
            messages.append(message)
        elif kept:
            messages.append(replace(message, parts=kept, raw=UNSET))
        messages += after.get(n, ())
    return replace(view.conversation, messages=tuple(_joined_calls(view, messages)))


def _answers(view: View, turn: Turn, more: Mapping[str, Result]) -> list[Result]:
    """The results of a turn: as they came, or in the order of the calls; new ones in the place of theirs."""
    found = [view.answer.get(id(call)) or more.get(call.id) for call in turn.calls]
    results = [result for result in found if result is not None]
    if view.profile.ordered or any(result.row is None or result.at == () for result in results):
        return results
    return sorted(results, key=lambda result: (view.at(result), result.at))


def _messages(view: View, results: list[Result], *, batch: bool) -> list[Message]:
    """Results as messages of their own: those they stood in if they stood there alone, or one for all."""
    whole = {id(message.parts[0]): message for message in view.messages if len(message.parts) == 1}
    if not batch:
        return [whole.get(id(result)) or Message("tool", (result,), None, view.conversation.wire) for result in results]
    if len(results) == 1 and id(results[0]) in whole:
        return [whole[id(results[0])]]
    for message in view.messages:
        if [id(part) for part in message.parts] == [id(result) for result in results]:
            return [message]
    role: Role = next((view.messages[view.at(result)].role for result in results if result.at), "user")
    return [Message("user" if role == "assistant" else role, tuple(results), None, view.conversation.wire)]


def _joined_calls(view: View, messages: list[Message]) -> list[Message]:
    """Messages of the assistant in a row that call tools, as one."""
    out: list[Message] = []
    for message in messages:
        last = out[-1] if out else None
        both = last is not None and last.role == message.role == "assistant"
        if last is not None and both and (_calls(last) or _calls(message)):
            out[-1] = Message("assistant", (*last.parts, *message.parts), message.stop, view.conversation.wire, at=last.at)
        else:
            out.append(message)
    return out


def _calls(message: Message) -> bool:
    return any(isinstance(part, Call) for part in message.parts)
