"""The conversation of an agent, over any number of models and wires.

A message is kept as its model sent it, so that the same model gets it back verbatim; another model
gets a translation. Calls that a model without a tool API wrote as text are sent as text again.
`session_format.py` stores a thread as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import Encoded, decode, encode
from toolwire.conversation.ids import digest, is_minted
from toolwire.conversation.model import Conversation, Setting, Tool, Usage
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call, Message, Part, Result, Text
from toolwire.translate import translate_conversation

PLAIN_WIRE = "openai-chat"
"""The wire of messages that no model sent."""
TEXT_WIRE = "text"
"""The wire of models without a tool API."""


class Thread(Struct, frozen=True, eq=False):
    """An agent's conversation. Immutable: methods return a new thread."""

    id: str
    """Stays the same for the whole conversation: the keys of its calls begin with it."""
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()

    def add_user(self, message: str | Message) -> Thread:
        """Return the thread with a message of the user."""
        if isinstance(message, str):
            message = Message("user", (Text(without_surrogates(message)),))
        return replace(self, messages=(*self.messages, message))

    def add_reply(self, message: Message, results: Iterable[Result] = ()) -> Thread:
        """Return the thread with a response of the model and results of its calls."""
        found = tuple(results)
        added = [message, Message("tool", found)] if found else [message]
        return replace(self, messages=(*self.messages, *added))

    def add_usage(self, usage: Usage | None) -> Thread:
        """Return the thread with the tokens of a response."""
        return self if usage is None else replace(self, usage=add_usage(self.usage, usage))

    @property
    def over(self) -> bool:
        """True if the last message is the model's and no call is open."""
        if not self.messages:
            return True
        return self.messages[-1].role == "assistant" and self.open_turn() is None

    @property
    def last_text(self) -> str:
        """The last text of the model."""
        for message in reversed(self.messages):
            if message.role == "assistant":
                return "".join(part.text for part in message.parts if isinstance(part, Text))
        return ""

    @property
    def conversation(self) -> Conversation:
        """All messages, to read or to encode."""
        return Conversation(self.messages)

    def open_turn(self) -> tuple[Thread, Message, list[Result]] | None:
        """Return the thread before the last response, the response and its results so far, if some
        of its calls are open."""
        first = len(self.messages)
        while first and only_results(self.messages[first - 1]):
            first -= 1
        end = first
        while first and _is_reply_with_calls(self.messages[first - 1]):
            first -= 1
        if first == end:
            return None
        reply = _join(self.messages[first:end])
        results = results_of(self.messages[end:])
        if len(results) >= len(calls_of(reply)):
            return None
        return replace(self, messages=self.messages[:first]), reply, results

    def record_key(self, call: Call, number: int) -> str:
        """Return the ledger key of a call of the next response; no other call ever has it.

        Every process that continues this thread makes the same key. It depends on the calls before,
        and on nothing that changes from process to process: not on minted ids, nor on the order of
        calls with ids.
        """
        earlier = sum(len(calls_of(message)) for message in self.messages)
        minted = call.origin == "minted" or is_minted(call.id)
        return f"{self.id}-{digest(earlier, call.name, f'#{number}' if minted else call.id)}"

    def request(
        self,
        target: str,
        *,
        tools: Sequence[Tool],
        settings: dict[str, Setting],
        native_tools: bool = True,
    ) -> Encoded:
        """Return the request for a model; without `native_tools`, tools and calls are text."""
        if native_tools:
            conversation = Conversation(self._messages_to_send(), tuple(tools), settings)
            return translate_conversation(conversation, target)
        text = encode(Conversation(self.messages, tuple(tools), settings), TEXT_WIRE)
        return translate_conversation(decode(text.body, PLAIN_WIRE), target)

    def _messages_to_send(self) -> tuple[Message, ...]:
        """Return the messages, with turns in text as the plain text they were."""
        text_parts: PartSet[Part] = PartSet(
            part for message in self.messages if message.wire == TEXT_WIRE for part in message.parts
        )
        if not text_parts:
            return self.messages
        results: PartSet[Part] = PartSet(
            pair.result
            for pair in pairs(self.messages, ordered=True)
            if pair.result is not None and pair.call is not None and pair.call in text_parts
        )
        out: list[Message] = []
        in_text: list[Message] = []
        for message in self.messages:
            if message.wire == TEXT_WIRE or any(part in results for part in message.parts):
                in_text.append(message)
                continue
            out += _as_plain_text(in_text)
            in_text = []
            out.append(message)
        return (*out, *_as_plain_text(in_text))


def without_surrogates(text: str) -> str:
    """Return a text without lone surrogates: providers refuse a whole history for one of them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def calls_of(message: Message) -> list[Call]:
    """Return the calls of a response that the client has to run, in order."""
    return [part for part in message.parts if isinstance(part, Call) and part.executor == "client"]


def results_of(messages: Iterable[Message]) -> list[Result]:
    """Return all results in messages, in order."""
    return [part for message in messages for part in message.parts if isinstance(part, Result)]


def only_results(message: Message) -> bool:
    """True if a message has parts, and all are results."""
    return bool(message.parts) and all(isinstance(part, Result) for part in message.parts)


def add_usage(usage: Usage, other: Usage) -> Usage:
    """Return the tokens of two responses together."""
    return Usage(_add(usage.input, other.input), _add(usage.output, other.output))


def _add(count: int | None, other: int | None) -> int | None:
    return None if count is None and other is None else (count or 0) + (other or 0)


def _is_reply_with_calls(message: Message) -> bool:
    return message.role == "assistant" and bool(calls_of(message))


def _join(messages: tuple[Message, ...]) -> Message:
    """Join consecutive responses: some wires store each call as a separate item."""
    if len(messages) == 1:
        return messages[0]
    parts = tuple(part for message in messages for part in message.parts)
    return Message("assistant", parts, messages[-1].stop)


def _as_plain_text(messages: list[Message]) -> list[Message]:
    """Return turns in text, and the results of their calls, as plain messages."""
    if not messages:
        return []
    return list(decode(encode(Conversation(tuple(messages)), TEXT_WIRE).body, PLAIN_WIRE).messages)
