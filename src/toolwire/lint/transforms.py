"""What a fix does to a conversation: parts replaced, taken out, put in and moved, always both
halves of a pair.

Whatever is not touched keeps the JSON it came as. Knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.codec import encode
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Media, Message, Part, Result, Source, Text, Traceable
from toolwire.lint.facts import CallBatch, Facts

MARK = "[toolwire]"
"""What everything begins with that was not said by anybody in the conversation."""
INTERRUPTED = f"{MARK} interrupted: no result of this call was recorded"


def own_body(conversation: Conversation) -> JSON:
    """The conversation as a body of its own wire."""
    return encode(conversation, conversation.wire, conversation.kind).body


def replace_parts(conversation: Conversation, new: Mapping[int, Part]) -> Conversation:
    """The conversation with parts replaced, found by the identity of the old ones; everything else
    stays to the letter."""
    if not new:
        return conversation
    messages: list[Message] = []
    for message in conversation.messages:
        if any(id(part) in new for part in message.parts):
            parts = tuple(
                _kept(part, new[id(part)]) if id(part) in new else part for part in message.parts
            )
            message = replace(message, parts=parts)
        messages.append(message)
    return replace(conversation, messages=tuple(messages))


def _kept(old: Part, new: Part) -> Part:
    return replace(
        new,
        signature=new.signature or old.signature,
        source=Source(raw=old.raw, path=old.path, spec=old.spec, original=old.original or old),
    )


def rename_calls(facts: Facts, ids: Mapping[int, str]) -> Conversation:
    """The conversation with calls under other ids, by the identity of the calls; their results
    follow them."""
    new: dict[int, Part] = {}
    for call in (*facts.calls, *facts.server_calls):
        if id(call) in ids:
            one = ids[id(call)]
            new[id(call)] = replace(call, id=one, origin="wire")
            result = facts.result_of.get(id(call))
            if result is not None:
                new[id(result)] = replace(result, call_id=one, origin="wire")
    return replace_parts(facts.conversation, new)


def remove_parts(conversation: Conversation, parts: Collection[int]) -> Conversation:
    """The conversation without some parts, by their identity; a message that had nothing else goes
    with them."""
    messages: list[Message] = []
    for message in conversation.messages:
        if any(id(part) in parts for part in message.parts):
            kept = tuple(part for part in message.parts if id(part) not in parts)
            if not kept:
                continue
            message = replace(message, parts=kept)  # its JSON stays for what the parts do not say
        messages.append(message)
    return with_messages(conversation, messages)


def interrupted_result(call: Call) -> Result:
    """The honest answer to a call that nobody answered: an error, and marked as made here."""
    return call.result(INTERRUPTED, error=True)


def user_note(text: str) -> Message:
    """Words that keep what cannot stay where it was, from the user's side."""
    return Message("user", (Text(f"{MARK} {text}"),))


def place_results(
    facts: Facts, blocks: Iterable[CallBatch], given: Mapping[int, Result] | None = None
) -> Conversation:
    """The conversation with the results of some batches where the target wants them: after their
    calls, before anybody speaks.

    They stand in the order of their calls where that counts, in one message where that is wanted,
    and alone in it. What stood in between comes after them, in its order. `given` are results for
    open calls, by the identity of the call: new ones, or such as stood where nobody found them.
    """
    more = given or {}
    answered = [
        (block, [*block.results, *(more[id(call)] for call in block.calls if id(call) in more)])
        for block in blocks
    ]
    out = _Laying(facts, {id(result) for _, results in answered for result in results})
    for block, results in answered:
        out.add(block, results)
    return out.done()


def add_results(
    facts: Facts, left: Iterable[tuple[CallBatch, Call]], make: Callable[[Call], Result]
) -> Conversation:
    """The conversation with answers to calls that have none, each given with its batch; others move
    only where they must."""
    given = {id(call): (block, make(call)) for block, call in left}
    blocks = {id(block): block for block, _ in given.values()}
    if facts.profile.result_placement not in ("next", "alone"):
        blocks = {key: replace(block, results=()) for key, block in blocks.items()}
    return place_results(
        facts, blocks.values(), {key: result for key, (_, result) in given.items()}
    )


def _silent(message: Message) -> bool:
    """Whether it is an assistant's message that says nothing: some servers end a stream
    with one.
    """
    if message.role != "assistant" or not _bare(message):
        return False
    return all(
        isinstance(part, Text) and not part.text and part.signature is None and _bare(part)
        for part in message.parts
    )


def _bare(read: Traceable) -> bool:
    """Whether its JSON holds nothing beside what was read of it."""
    raw, row = read.raw, read.spec
    return not isinstance(raw, dict) or (
        row is not None and not any(value for key, value in raw.items() if key not in row.keys)
    )


class _Laying:
    """A history that is being laid anew: what is lifted out, and what goes in after which
    message.
    """

    def __init__(self, facts: Facts, gone: set[int]) -> None:
        self.view = facts
        self.gone = gone
        """Results that go elsewhere, by their identity."""
        self.put: dict[int, tuple[Message, ...]] = {}
        self.dropped: set[int] = set()

    def add(self, block: CallBatch, results: list[Result]) -> None:
        """Lay one batch."""
        facts, end = self.view, block.caller_indexes[-1]
        if facts.profile.results_follow_call_order and not facts.are_tied_by_id(block):
            order = {call.id: n for n, call in enumerate(block.calls)}
            results.sort(key=lambda result: order.get(result.call_id, len(order)))
        asking = [facts.messages[n] for n in block.caller_indexes]
        said: tuple[Part, ...] = ()
        if facts.profile.result_placement in ("next", "alone"):
            said = (
                tuple(part for n in block.caller_indexes for part in facts.text_after_calls(n))
                if results
                else ()
            )
            if len(asking) > 1 and not facts.profile.merges_assistant_messages:
                asking = [_joined(asking)]
        self.dropped.update(block.caller_indexes)
        last = max((facts.message_index(result) for result in block.results), default=end)
        self.dropped.update(n for n in range(end + 1, last) if _silent(facts.messages[n]))
        kept = tuple(self._spared(message, said) for message in asking)
        after = (Message("assistant", said, None, facts.conversation.wire),) if said else ()
        self.put[end] = (*kept, *self._answers(results, end), *after)

    def _spared(self, message: Message, said: tuple[Part, ...]) -> Message:
        """A message of the assistant without what comes later now."""
        apart = self.gone | {id(part) for part in said}
        kept = tuple(part for part in message.parts if id(part) not in apart)
        return message if len(kept) == len(message.parts) else replace(message, parts=kept)

    def _answers(self, results: list[Result], end: int) -> tuple[Message, ...]:
        """Results as messages of their own: those they stood in, if they stood there alone, or one
        for all."""
        facts, wire = self.view, self.view.conversation.wire
        if not results:
            return ()
        if not facts.profile.results_share_one_message:
            return tuple(
                self._alone(result) or Message("tool", (result,), None, wire) for result in results
            )
        after = facts.message_after(end)
        if (
            after is not None
            and after.role in ("user", "tool")
            and any(id(part) in self.gone for part in after.parts)
        ):
            others = tuple(part for part in after.parts if id(part) not in self.gone)
            if not others or facts.profile.result_placement != "alone":
                self.dropped.add(end + 1)
                parts = (*results, *others)
                same = len(parts) == len(after.parts) and all(map(_is, parts, after.parts))
                return (after if same else replace(after, parts=parts),)
        whole = self._alone(results[0]) if len(results) == 1 else None
        return (whole or Message("user", tuple(results), None, wire),)

    def _alone(self, result: Result) -> Message | None:
        """The message that is this result and nothing else."""
        if result.path == ():
            return None
        message = self.view.messages[self.view.message_index(result)]
        return message if len(message.parts) == 1 else None

    def done(self) -> Conversation:
        """The whole of it."""
        messages: list[Message] = []
        for n, message in enumerate(self.view.messages):
            if n not in self.dropped:
                kept = tuple(part for part in message.parts if id(part) not in self.gone)
                if len(kept) == len(message.parts):
                    messages.append(message)
                elif kept:
                    messages.append(replace(message, parts=kept))
            messages += self.put.get(n, ())
        return merge_same_roles(self.view, messages)


def _is(one: Part, other: Part) -> bool:
    return one is other


def _joined(messages: list[Message]) -> Message:
    """Messages of one role as one; the first one's JSON stays for what the parts do not say."""
    parts = tuple(part for message in messages for part in message.parts)
    return replace(messages[0], parts=parts, stop=messages[-1].stop)


def with_messages(conversation: Conversation, messages: Iterable[Message]) -> Conversation:
    """The conversation with other messages.

    A body whose parts keep their places counts as unchanged when it is written, also if they stand
    in fewer messages now. So its settings, which are compared too, are made another object.
    """
    source = conversation.source
    if source.settings is not None:
        source = replace(source, settings=dict(source.settings))
    return replace(conversation, messages=tuple(messages), source=source)


def merge_same_roles(facts: Facts, messages: Iterable[Message]) -> Conversation:
    """The conversation with other messages; new neighbours of one role are one where the target
    wants the roles to alternate."""
    if not facts.profile.rejects_same_role_twice:
        return with_messages(facts.conversation, messages)
    place = {id(message): n for n, message in enumerate(facts.messages)}
    out: list[Message] = []
    ends: list[int] = []
    for message in messages:
        n = place.get(id(message), -1)
        if (
            out
            and _side(out[-1]) == _side(message) != "system"
            and not (n > 0 and ends[-1] == n - 1)
        ):
            both = (*out[-1].parts, *message.parts)
            results = tuple(
                part for part in both if part.__class__ is Result and message.role != "assistant"
            )
            rest = tuple(part for part in both if not any(part is one for one in results))
            out[-1] = Message(
                message.role,
                (*results, *rest),
                None,
                facts.conversation.wire,
                source=Source(path=out[-1].path),
            )
            ends[-1] = -1
        else:
            out.append(message)
            ends.append(n)
    return with_messages(facts.conversation, out)


def _side(message: Message) -> str:
    return "user" if message.role == "tool" else message.role


def results_as_text(facts: Facts, results: Iterable[Result]) -> Conversation:
    """The conversation with results told as marked words of the user, because their calls are
    nowhere.

    The words never stand between a call and its result: they come after the whole run, or before a
    call that still waits.
    """
    gone: set[int] = set()
    before: dict[int, list[Message]] = {}
    spans = [
        (
            block.caller_indexes[0],
            max([block.caller_indexes[-1], *map(facts.message_index, block.results)]),
        )
        for block in facts.batches
    ]
    for result in results:
        gone.add(id(result))
        place = facts.message_index(result) + 1
        for start, end in spans:
            if start < place <= end:
                place = end + 1
        if facts.pending_calls and place > facts.message_index(facts.pending_calls[0]):
            place = facts.message_index(facts.pending_calls[0])
        before.setdefault(place, []).append(_retold(result))
    messages: list[Message] = []
    for n, message in enumerate(facts.messages):
        messages += before.get(n, ())
        kept = tuple(part for part in message.parts if id(part) not in gone)
        if len(kept) == len(message.parts):
            messages.append(message)
        elif kept:
            messages.append(replace(message, parts=kept))
    messages += before.get(len(facts.messages), ())
    return merge_same_roles(facts, messages)


def _retold(result: Result) -> Message:
    """A result in words; pictures and files in it come along."""
    who = f"a result of {result.name}" if result.name else "a result"
    named = "" if result.origin == "minted" else f" for {result.call_id}"
    made = user_note(f"{who}{named}, whose call is not in this history: {result.text}")
    media = (
        tuple(part for part in result.output if isinstance(part, Media))
        if isinstance(result.output, tuple)
        else ()
    )
    return replace(
        made,
        parts=(
            *made.parts,
            *(replace(part, source=replace(part.source, raw=UNSET, spec=None)) for part in media),
        ),
    )


def batch_path(block: CallBatch) -> JsonPath:
    """Where a batch of calls begins."""
    return block.calls[0].path


def describe_calls(block: CallBatch) -> str:
    """The calls of a batch in words."""
    return " and ".join(f"{call.id} of {call.name}" for call in block.calls)
