"""One look at a history for all rules: calls, results, who belongs to whom, and which turns they form.

What costs more than a walk is found out when a rule asks. A clean history pays for the walk only. Knows no rule and no wire.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from toolwire._json import JSON, At
from toolwire.identity import IdRule, odd
from toolwire.model import Conversation
from toolwire.pairing import pairs
from toolwire.parts import Call, Message, Pair, Result
from toolwire.profiles import Profile


class Turn(Struct, frozen=True):
    """Some messages of the assistant in a row that call tools, and what follows until the assistant speaks again."""

    asks: tuple[int, ...]
    """The places of the assistant's messages."""
    follows: tuple[int, ...]
    """The places of the messages after them."""
    calls: tuple[Call, ...]
    """What a client has to run."""
    last: bool
    """Whether nobody has spoken after it: its calls may still be answered."""


class View:
    """A history, and what is to be known of it."""

    def __init__(self, conversation: Conversation, profile: Profile) -> None:
        self.conversation = conversation
        self.profile = profile
        self.body: JSON = conversation.source
        self.messages = conversation.messages
        calls: list[Call] = []
        hosted: list[Call] = []
        results: list[Result] = []
        place: dict[int, int] = {}
        for n, message in enumerate(conversation.messages):
            for part in message.parts:
                if part.__class__ is Call:
                    (calls if part.executor == "client" else hosted).append(part)
                    place[id(part)] = n
                elif part.__class__ is Result:
                    results.append(part)
                    place[id(part)] = n
        self.calls = calls
        """The calls a client has to run, in order."""
        self.hosted = hosted
        """The calls that a provider ran, in order."""
        self.results = results
        """All results, in order."""
        self._place = place

    def at(self, part: Call | Result) -> int:
        """The place of the message that holds a part."""
        return self._place[id(part)]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every call with its result; then the results without a call."""
        return pairs(self.messages, ordered=self.conversation.ordered)

    @cached_property
    def answer(self) -> dict[int, Result]:
        """The result of a call, by the identity of the call."""
        return {id(pair.call): pair.result for pair in self.pairs if pair.call is not None and pair.result is not None}

    @cached_property
    def owner(self) -> dict[int, Call]:
        """The call of a result, by the identity of the result."""
        return {id(pair.result): pair.call for pair in self.pairs if pair.call is not None and pair.result is not None}

    @cached_property
    def open(self) -> list[Call]:
        """The client's calls without a result, in order."""
        return [call for call in self.calls if id(call) not in self.answer]

    @cached_property
    def stray(self) -> list[Result]:
        """The client's results without a call, in order."""
        return [result for result in self.results if id(result) not in self.owner and result.executor == "client"]

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns in which tools are called."""
        found: list[Turn] = []
        asks: list[int] = []
        follows: list[int] = []
        for n, message in enumerate(self.messages):
            if message.role == "assistant" and follows:
                found += self._turn(asks, follows, last=False)
                asks, follows = [n], []
            elif message.role == "assistant":
                asks.append(n)
            elif asks:
                follows.append(n)
        found += self._turn(asks, follows, last=True)
        return found

    def _turn(self, asks: list[int], follows: list[int], *, last: bool) -> list[Turn]:
        calls = tuple(
            part for n in asks for part in self.messages[n].parts if part.__class__ is Call and part.executor == "client"
        )
        return [Turn(tuple(asks), tuple(follows), calls, last)] if calls else []

    @cached_property
    def strange_ids(self) -> set[str]:
        """Ids that the target does not take."""
        rule = self.profile.takes or self.profile.ids
        return set(self.unfit([*(call.id for call in self.calls), *(result.call_id for result in self.results)], rule))

    def unfit(self, texts: list[str], rule: IdRule) -> list[str]:
        """Those that a rule refuses, asked once for all of them."""
        return odd(texts, rule)

    def after(self, n: int) -> Message | None:
        """The message after a place."""
        return self.messages[n + 1] if n + 1 < len(self.messages) else None


def here(part: Call | Result, message: Message) -> At:
    """Where a part stands; where its message stands if it has no place of its own."""
    return part.at or message.at
