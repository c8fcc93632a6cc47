"""Calls, results, pairs, turns and batches of a history.

If the target is on another wire, the messages are lowered, as that target gets them.

Each property is computed on first use, so that a well-formed history pays only for the
observations. This module knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, UnsetType

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Conversation
from toolwire.conversation.observations import Observation, Observations, observe
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import APPROVAL, Call, Media, Message, Pair, Part, Result, Text
from toolwire.lint.memo import lazy_property
from toolwire.profiles.table import Profile
from toolwire.wires.engine.cache_breakpoints import is_cache_mark

_PAIRED_IN_ORDER = (
    Observation.RESULTS_IN_PLACE | Observation.UNIQUE_CALL_IDS | Observation.NO_SERVER_TOOLS
)
ITEM_WIRES = ("openai-responses", "azure-foundry", "gemini-interactions")
"""Wires on which every text, call and result is a separate item."""


class ToolTurn(Struct, frozen=True):
    """Consecutive assistant messages with calls, and the messages up to the next assistant
    message."""

    caller_indexes: tuple[int, ...]
    """Indexes of the assistant messages."""
    follower_indexes: tuple[int, ...]
    """Indexes of the messages that follow them."""
    calls: tuple[Call, ...]
    """The calls that the client runs."""
    last: bool
    """True if no assistant message follows: results of its calls may still be added."""


class CallBatch(Struct, frozen=True, eq=False):
    """Directly consecutive assistant messages that all call tools, and the results of the calls."""

    caller_indexes: tuple[int, ...]
    """Indexes of the messages; more than one if parallel calls are split over several messages."""
    calls: tuple[Call, ...]
    """The calls that the client runs."""
    results: tuple[Result, ...]
    """The client's results, in the order of the history."""


class PairFacts:
    """A conversation, the profile of its target, and the pairs of calls and results."""

    def __init__(
        self,
        conversation: Conversation,
        profile: Profile,
        observations: Observations | None = None,
        *,
        abandon_pending: bool = False,
    ) -> None:
        self.conversation = conversation
        self.profile = profile
        self.body: JSON = conversation.source.body
        self.messages = conversation.messages
        self.own_wire = conversation.wire == profile.wire
        """True if the conversation was read from the target's wire, so that the target gets the
        JSON of its body."""
        self.abandon_pending = abandon_pending
        """True if the history is sent now, so that the calls at the end get no more results."""
        if observations is None:
            observations = observe(conversation, profile.wire)
        if abandon_pending:
            observations.require_all_results()
        self.observations = observations
        """The observations of one cheap pass."""
        self.computed: dict[Callable[..., object], object] = {}
        """Values of functions of these facts (`once_per_history`)."""

    @lazy_property
    def calls(self) -> list[Call]:
        """The calls that the client runs, in order."""
        return [call for call in self.observations.calls if call.executor == "client"]

    @lazy_property
    def all_calls(self) -> list[Call]:
        """Every call of the client and of providers, in order."""
        if self.observations.holds(Observation.NO_SERVER_TOOLS):
            return self.observations.calls
        return self.conversation.calls()

    @lazy_property
    def call_numbers(self) -> PartMap[Call, int]:
        """The position of each call among the calls of the client."""
        return PartMap((call, n) for n, call in enumerate(self.calls))

    @lazy_property
    def server_calls(self) -> list[Call]:
        """The calls that a provider ran: those of the target's wire, then those of other wires."""
        observations = self.observations
        foreign = [call for call in observations.calls if call.executor != "client"]
        if not foreign:
            return observations.native_server_calls
        return [*observations.native_server_calls, *foreign]

    @lazy_property
    def results(self) -> list[Result]:
        """All results, in order."""
        return self.observations.results

    @lazy_property
    def first_index(self) -> int:
        """The index of the first message that is not a system message."""
        return next(
            (n for n, message in enumerate(self.messages) if message.role != "system"),
            len(self.messages),
        )

    @lazy_property
    def _located_parts(self) -> list[tuple[Part, int]]:
        """Every part that is not text, with the index of its message."""
        return [
            (part, n)
            for n, message in enumerate(self.messages)
            for part in message.parts
            if type(part) is not Text
        ]

    @lazy_property
    def _message_indexes(self) -> PartMap[Part, int]:
        return PartMap(self._located_parts)

    def message_index(self, part: Call | Result) -> int:
        """The index of the message that holds a call or result."""
        return self._message_indexes[part]

    def message_indexes(self, parts: Iterable[Part]) -> set[int]:
        """The indexes of the messages that hold these calls and results; new parts are ignored."""
        indexes = self._message_indexes
        return {indexes[part] for part in parts if part in indexes}

    def message_after(self, index: int) -> Message | None:
        """The message after an index."""
        return self.messages[index + 1] if index + 1 < len(self.messages) else None

    def holds_only_results(self, index: int) -> bool:
        """True if a message holds only results, and perhaps cache marks.

        On another wire, a result of a tool that a provider ran becomes text.
        """
        holds_results = False
        for part in self.messages[index].parts:
            if type(part) is Result and (self.own_wire or part.executor == "client"):
                holds_results = True
            elif not is_cache_mark(part):
                return False
        return holds_results

    # --- pairs ---

    @lazy_property
    def pairs(self) -> list[Pair]:
        """Every call with its result, then the results without a call."""
        return pairs(self.messages, ordered=self.conversation.ordered)

    @lazy_property
    def are_paired_in_order(self) -> bool:
        """True if the first result belongs to the first call, the second to the second, and so on.

        The observations show this, so that most histories need no pairing.
        """
        return self.observations.holds(_PAIRED_IN_ORDER)

    @lazy_property
    def _pairs_by_id(self) -> tuple[PartMap[Call, Result], PartMap[Result, Call]] | None:
        """Results by call and calls by result, if ids alone decide.

        None if an id is missing or used by several calls, if a result is in the message of its
        call, or if a result with an unknown id may be paired by item id or by order.
        """
        if self.are_paired_in_order:
            return (
                PartMap(zip(self.calls, self.results, strict=False)),
                PartMap(zip(self.results, self.calls, strict=False)),
            )
        if not self.observations.holds(Observation.UNIQUE_CALL_IDS):
            return None
        calls: dict[str, tuple[Call, int]] = {}
        """Id → call without a result so far, and the index of its message."""
        pairs_by_id: list[tuple[Call, Result]] = []
        for part, n in self._located_parts:
            if type(part) is Call:
                calls[part.id] = (part, n)
            elif type(part) is Result:
                call, index = calls.pop(part.call_id, (None, -1))
                if index == n or part.origin == "minted":
                    return None
                if call is not None:
                    if call.executor != part.executor and not self._stay_together(call, part):
                        return None
                    pairs_by_id.append((call, part))
                elif self.conversation.ordered or self._calls_have_item_ids:
                    return None
        if len(calls) + len(pairs_by_id) < len(self.calls) + len(self.server_calls):
            return None
        return PartMap(pairs_by_id), PartMap([(result, call) for call, result in pairs_by_id])

    @lazy_property
    def _calls_have_item_ids(self) -> bool:
        calls = (*self.calls, *self.server_calls)
        return any(call.item is not None for call in calls)

    @lazy_property
    def result_of(self) -> PartMap[Call, Result]:
        """The result of each call that has one."""
        if self._pairs_by_id is not None:
            return self._pairs_by_id[0]
        return PartMap(
            (pair.call, pair.result)
            for pair in self.pairs
            if pair.call is not None
            and pair.result is not None
            and self._stay_together(pair.call, pair.result)
        )

    @lazy_property
    def call_of(self) -> PartMap[Result, Call]:
        """The call of each result that has one."""
        if self._pairs_by_id is not None:
            return self._pairs_by_id[1]
        return PartMap((result, call) for call, result in self.result_of.items())

    def _stay_together(self, call: Call, result: Result) -> bool:
        """False if a provider ran only one half of a pair, which becomes text on another wire."""
        if self.own_wire or call.executor == result.executor:
            return True
        return call.family == result.family == APPROVAL  # both become text

    @lazy_property
    def open_calls(self) -> list[Call]:
        """The client's calls without a result, in order."""
        if self.are_paired_in_order:
            return self.calls[len(self.results) :]
        return self.result_of.missing(self.calls)

    @lazy_property
    def results_without_call(self) -> list[Result]:
        """The client's results without a call, in order."""
        if self.are_paired_in_order:
            return []
        unpaired = self.call_of.missing(self.results)
        return [result for result in unpaired if result.executor == "client"]

    # --- turns and batches ---

    @lazy_property
    def turns(self) -> list[ToolTurn]:
        """The turns with calls, in order."""
        turns: list[ToolTurn] = []
        callers: list[int] = []
        followers: list[int] = []
        for n, message in enumerate(self.messages):
            if message.role == "assistant" and followers:
                turns += self._turn(callers, followers, last=False)
                callers, followers = [n], []
            elif message.role == "assistant":
                callers.append(n)
            elif callers:
                followers.append(n)
        turns += self._turn(callers, followers, last=True)
        return turns

    @lazy_property
    def _turn_at(self) -> dict[int, ToolTurn]:
        return {
            n: turn for turn in self.turns for n in (*turn.caller_indexes, *turn.follower_indexes)
        }

    def turn_of(self, part: Call | Result) -> ToolTurn | None:
        """The turn of a call or result; None outside turns with calls."""
        return self._turn_at.get(self.message_index(part))

    def _turn(self, callers: list[int], followers: list[int], *, last: bool) -> list[ToolTurn]:
        calls = tuple(
            part
            for n in callers
            for part in self.messages[n].parts
            if type(part) is Call and part.executor == "client"
        )
        if not calls:
            return []
        return [ToolTurn(tuple(callers), tuple(followers), calls=calls, last=last)]

    @lazy_property
    def batches(self) -> list[CallBatch]:
        """The batches of calls with their results, in order."""
        if self.are_paired_in_order:
            return self._batches_in_order()
        calls_at: dict[int, list[Call]] = {}
        for part, n in self._located_parts:
            if type(part) is Call and part.executor == "client":
                calls_at.setdefault(n, []).append(part)
        batches: list[CallBatch] = []
        callers: list[int] = []
        by_id: dict[str, Call] = {}
        """The calls of the batch by their ids."""
        for n, calls in calls_at.items():
            if callers and (
                not self._continues_batch(callers[-1], n) or _restart_ids(calls, by_id)
            ):
                batches.append(self._batch(callers, calls_at))
                callers, by_id = [], {}
            callers.append(n)
            for call in calls:
                by_id[call.id] = call
        return [*batches, self._batch(callers, calls_at)] if callers else batches

    def _continues_batch(self, caller: int, n: int) -> bool:
        """True if a message directly follows a message with calls and has the same role."""
        return caller == n - 1 and self.messages[caller].role == self.messages[n].role

    def _batches_in_order(self) -> list[CallBatch]:
        """The batches, if every message with calls is a batch and its results follow in order."""
        batches: list[CallBatch] = []
        answered = 0
        for n, message in enumerate(self.messages):
            if message.role != "assistant":
                continue
            calls = tuple([part for part in message.parts if type(part) is Call])
            if calls:
                results = tuple(self.results[answered : answered + len(calls)])
                batches.append(CallBatch((n,), calls, results))
                answered += len(calls)
        return batches

    def _batch(self, callers: list[int], calls_at: dict[int, list[Call]]) -> CallBatch:
        calls = [call for n in callers for call in calls_at[n]]
        result_of = self.result_of.get
        results = [
            result
            for call in calls
            if (result := result_of(call)) is not None and result.executor == "client"
        ]
        if len(results) > 1:
            results.sort(key=self._result_positions.__getitem__)
        return CallBatch(tuple(callers), tuple(calls), tuple(results))

    @lazy_property
    def _result_positions(self) -> PartMap[Result, int]:
        return PartMap([(result, n) for n, result in enumerate(self.results)])

    def text_after_calls(self, index: int) -> tuple[Part, ...]:
        """Text and media after the first call of a message, on wires where these are separate items
        and so stand between the call and its result."""
        message = self.messages[index]
        if self.own_wire:
            separate = isinstance(message.raw, UnsetType)
        else:
            separate = self.profile.wire in ITEM_WIRES
        if not separate:
            return ()
        positions = (
            n
            for n, part in enumerate(message.parts)
            if type(part) is Call and part.executor == "client"
        )
        first = next(positions, len(message.parts))
        return tuple(part for part in message.parts[first:] if isinstance(part, Text | Media))

    def are_tied_by_id(self, batch: CallBatch) -> bool:
        """True if every result has the id of its call, and the target reads it, so that their order
        has no meaning."""
        return self.profile.has_id_field and all(
            result.origin != "minted" and self.call_of[result].origin != "minted"
            for result in batch.results
        )


def _restart_ids(calls: list[Call], by_id: Mapping[str, Call]) -> bool:
    """True if calls reuse ids of other calls of a batch, so that they belong to another batch.

    In one message, no id would show to which of the calls a result belongs.
    """
    for call in calls:
        known = by_id.get(call.id)
        if known is not None and (known.name, known.arguments) != (call.name, call.arguments):
            return True
    return False
