"""The conversation of an agent: what was said, on whichever wires, and how it is kept.

A message stays what its model sent, so that the same model gets it back to the letter; any other
model gets a translation. A turn that was spoken in text is told again in text. Kept as JSON, it is
a list of stretches, each in the wire in which it was spoken. Knows no model and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import Encoded, decode, encode
from toolwire.conversation.ids import digest, is_minted
from toolwire.conversation.json import JSON, Body, Object, load
from toolwire.conversation.model import Conversation, Setting, Tool, Usage
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Message, Part, Result, Text
from toolwire.errors import UsageError
from toolwire.translate import detect, translate_conversation

PLAIN = "openai-chat"
"""The wire in which messages are kept that no model said."""
SPOKEN = "text"
"""The wire of models that have no tools of their own."""
VERSION = 1


class Thread(Struct, frozen=True, eq=False):
    """An agent's conversation. Every step makes a new one."""

    id: str
    """Names it for good: the call ids of its tools begin with it."""
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()

    def said(self, message: str | Message) -> Thread:
        """With what the user says."""
        spoken = (
            Message("user", (Text(readable(message)),)) if isinstance(message, str) else message
        )
        return replace(self, messages=(*self.messages, spoken))

    def answered(self, message: Message, results: Iterable[Result] = ()) -> Thread:
        """With what the model said, and results of its calls as far as there are any."""
        told = tuple(results)
        return replace(
            self, messages=(*self.messages, message, *([Message("tool", told)] if told else []))
        )

    def spent(self, usage: Usage | None) -> Thread:
        """With what an answer has used up."""
        return self if usage is None else replace(self, usage=total(self.usage, usage))

    @property
    def over(self) -> bool:
        """Whether nobody waits for an answer: the model spoke last, and called nothing that is
        still open."""
        return not self.messages or (
            self.messages[-1].role == "assistant" and self.waiting() is None
        )

    @property
    def last(self) -> str:
        """What the model said last."""
        said = next(
            (message for message in reversed(self.messages) if message.role == "assistant"), None
        )
        return (
            ""
            if said is None
            else "".join(part.text for part in said.parts if isinstance(part, Text))
        )

    def waiting(self) -> tuple[Thread, Message, list[Result]] | None:
        """If calls of the last answer are open: the thread before that answer, the answer, and the
        results that are there."""
        first = len(self.messages)
        while first and _is_results(self.messages[first - 1]):
            first -= 1
        end = first
        while (
            first
            and self.messages[first - 1].role == "assistant"
            and calls_of(self.messages[first - 1])
        ):
            first -= 1
        if first == end:
            return None
        answer, after = _joined(self.messages[first:end]), self.messages[end:]
        results = [part for message in after for part in message.parts if isinstance(part, Result)]
        done = len(results) >= len(calls_of(answer))
        return None if done else (replace(self, messages=self.messages[:first]), answer, results)

    def key(self, call: Call, n: int) -> str:
        """The id under which the n-th call of the next answer is recorded when it runs: no other
        call ever has it.

        It is the same in every process that goes on with this thread: it depends on the calls
        before and on nothing that may be made anew, as ids are that the wire did not give, nor on
        the order in which calls with ids are told.
        """
        before = sum(len(calls_of(message)) for message in self.messages)
        made = call.origin == "minted" or is_minted(call.id)
        return f"{self.id}-{digest(before, call.name, f'#{n}' if made else call.id)}"

    # --- what models get ---

    def body(
        self,
        target: str,
        *,
        tools: Sequence[Tool],
        settings: dict[str, Setting],
        text: bool = False,
    ) -> Encoded:
        """The request for a model: in the native form of its wire, or in text, tools and all."""
        if text:
            spoken = encode(Conversation(self.messages, tuple(tools), settings), SPOKEN)
            return translate_conversation(decode(spoken.body, PLAIN), target)
        return translate_conversation(Conversation(self._spoken(), tuple(tools), settings), target)

    def _spoken(self) -> tuple[Message, ...]:
        """The messages, those of turns in text as the plain text they were."""
        out: list[Message] = []
        texts: list[Message] = []
        spoken = {
            id(part)
            for message in self.messages
            if message.wire == SPOKEN
            for part in message.parts
        }
        joined = pairs(self.messages, ordered=True) if spoken else []
        owned = {id(pair.result) for pair in joined if id(pair.call) in spoken}
        for message in self.messages:
            told = any(id(part) in owned for part in message.parts)
            if message.wire == SPOKEN or told:
                texts.append(message)
                continue
            out += _as_text(texts)
            texts = []
            out.append(message)
        return (*out, *_as_text(texts))

    # --- how it is kept ---

    def to_json(self) -> Object:
        """The thread as JSON. Results of a turn that is not over stand apart: some of them alone
        may not find their calls."""
        messages = self.messages
        left = self.waiting()
        told = [] if left is None else _numbered(left[1], left[2])
        while told and _is_results(messages[-1]):
            messages = messages[:-1]
        stretches: list[JSON] = []
        for wire, some in _stretches(messages):
            kept = encode(Conversation(tuple(some)), wire)
            ids: Object = {
                sent: before
                for sent, before in kept.ids.ids.items()
                if sent != before and not is_minted(before)
            }
            failed: list[JSON] = [n for n, result in enumerate(_results(some)) if result.error]
            more: Object = {
                **({"ids": ids} if ids else {}),
                **({"failed": failed} if failed else {}),
            }
            stretches.append({"wire": wire, "body": kept.body, **more})
        used: Object = {"input": self.usage.input, "output": self.usage.output}
        return {
            "toolwire": VERSION,
            "id": self.id,
            "stretches": stretches,
            **({"told": told} if told else {}),
            "usage": used,
        }

    @classmethod
    def of(cls, body: Body, *, id: str, wire: str | None = None) -> Thread:
        """The thread that was kept, or one that goes on from a history of any wire.

        `id` is given to one that has none. Raises UsageError if it is neither.
        """
        value, _ = load(body, wire or "")
        if not isinstance(value, dict) or "toolwire" not in value:
            return cls(id, decode(value, wire or _found(value)).messages)
        if (
            value["toolwire"] != VERSION
            or not isinstance(value.get("id"), str)
            or not isinstance(value.get("stretches"), list)
        ):
            raise UsageError("this is no conversation that this version of toolwire has kept")
        messages: list[Message] = []
        for n, stretch in enumerate(value["stretches"]):  # type: ignore[arg-type]
            if (
                not isinstance(stretch, dict)
                or not isinstance(stretch.get("wire"), str)
                or "body" not in stretch
            ):
                raise UsageError("expected an object with a wire and a body", path=("stretches", n))
            read = decode(stretch["body"], stretch["wire"]).messages  # type: ignore[arg-type]
            ids, failed = stretch.get("ids"), stretch.get("failed")
            read = _home(read, ids) if isinstance(ids, dict) else read
            messages += _failed(read, failed) if isinstance(failed, list) else read
        kept = value.get("usage")
        used = kept if isinstance(kept, dict) else {}
        thread = cls(
            str(value["id"]),
            tuple(messages),
            Usage(_count(used.get("input")), _count(used.get("output"))),
        )
        left = thread.waiting()
        results = _renumbered(left[1], value.get("told")) if left is not None else []
        return (
            replace(thread, messages=(*thread.messages, Message("tool", tuple(results))))
            if results
            else thread
        )


def readable(text: str) -> str:
    """A text without halves of characters: servers refuse a whole history for one of them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def calls_of(message: Message) -> list[Call]:
    """The calls in an answer that a client has to run, in order."""
    return [part for part in message.parts if isinstance(part, Call) and part.executor == "client"]


def _is_results(message: Message) -> bool:
    """Whether a message is nothing but results."""
    return bool(message.parts) and all(isinstance(part, Result) for part in message.parts)


def _numbered(answer: Message, results: list[Result]) -> list[JSON]:
    """Results by the numbers of their calls."""
    free = list(results)
    out: list[JSON] = []
    for n, call in enumerate(calls_of(answer)):
        told = next((result for result in free if result.call_id == call.id), None)
        if told is not None:
            free.remove(told)
            output = told.text if isinstance(told.output, tuple) else told.output
            out.append({"call": n, "output": output, "error": told.error})
    return out


def _renumbered(answer: Message, told: JSON) -> list[Result]:
    calls = calls_of(answer)
    out: list[Result] = []
    for one in told if isinstance(told, list) else []:
        n = one.get("call") if isinstance(one, dict) else None
        if isinstance(one, dict) and isinstance(n, int) and 0 <= n < len(calls):
            out.append(calls[n].result(one.get("output"), error=one.get("error") is True))
    return out


def _joined(messages: tuple[Message, ...]) -> Message:
    """Answers in a row as the one answer that they are: some wires keep each call as an item of its
    own."""
    if len(messages) == 1:
        return messages[0]
    return Message(
        "assistant",
        tuple(part for message in messages for part in message.parts),
        messages[-1].stop,
    )


def total(one: Usage, other: Usage) -> Usage:
    """What two answers have used up together."""
    return Usage(_sum(one.input, other.input), _sum(one.output, other.output))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


def _count(value: JSON) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _found(value: JSON) -> str:
    """The wire of a history; a bare list of messages is one of a chat."""
    try:
        return detect(value)
    except UsageError:
        if isinstance(value, dict) and isinstance(value.get("messages"), list):
            return PLAIN
        raise


def _home(messages: tuple[Message, ...], ids: Object) -> tuple[Message, ...]:
    """Messages with their calls and results under the ids that did not fit the wire in which they
    were kept."""

    def known(part: Part) -> Part:
        match part:
            case Call(id=sent) if isinstance(before := ids.get(sent), str):
                return replace(
                    part, id=before, source=replace(part.source, original=part.original or part)
                )
            case Result(call_id=sent) if isinstance(before := ids.get(sent), str):
                return replace(
                    part,
                    call_id=before,
                    source=replace(part.source, original=part.original or part),
                )
        return part

    return tuple(replace(message, parts=tuple(map(known, message.parts))) for message in messages)


def _failed(messages: tuple[Message, ...], numbers: list[JSON]) -> tuple[Message, ...]:
    """Messages with the results that were errors as errors: not every wire says so."""
    found = _results(messages)
    marked = {
        id(found[n])
        for n in numbers
        if isinstance(n, int) and 0 <= n < len(found) and not found[n].error
    }

    def known(part: Part) -> Part:
        return (
            replace(part, error=True, source=replace(part.source, original=part.original or part))
            if isinstance(part, Result) and id(part) in marked
            else part
        )

    return (
        tuple(replace(message, parts=tuple(map(known, message.parts))) for message in messages)
        if marked
        else messages
    )


def _results(messages: Iterable[Message]) -> list[Result]:
    return [part for message in messages for part in message.parts if isinstance(part, Result)]


def _as_text(messages: list[Message]) -> list[Message]:
    """Turns in text, and the results of their calls, as plain messages."""
    if not messages:
        return []
    return list(decode(encode(Conversation(tuple(messages)), SPOKEN).body, PLAIN).messages)


def _stretches(messages: tuple[Message, ...]) -> list[tuple[str, list[Message]]]:
    """Messages in a row that belong to one wire; those that belong to none go with their
    neighbours."""
    out: list[tuple[str, list[Message]]] = []
    loose: list[Message] = []
    for message in messages:
        if not message.wire:
            (out[-1][1] if out else loose).append(message)
        elif out and out[-1][0] == message.wire:
            out[-1][1].append(message)
        else:
            out.append((message.wire, [*loose, message]))
            loose = []
    return out if not loose else [(PLAIN, loose)]
