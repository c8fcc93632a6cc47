"""One look at a history for all rules: calls, results, who belongs to whom, and which turns they
form.

What costs more than a walk is found out when a rule asks. A clean history pays for the walk only.
Knows no wire, and of the rules only the names of those that say where a result stands: they are all
found in one pass.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct, UnsetType

from toolwire.conversation.id_rules import IdRule, invalid_ids
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation
from toolwire.conversation.observations import SERVER_TOOL_IDS, Observations, observe
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Media, Message, Pair, Part, Result, Text
from toolwire.profiles.table import Profile

_ELSEWHERE = ("previous_response_id", "conversation", "cachedContent", "cached_content")
"""Fields that say that the history goes on from one which the server keeps: what is missing here
may be there."""


class Turn(Struct, frozen=True):
    """Some messages of the assistant in a row that call tools, and what follows until the assistant
    speaks again."""

    caller_indexes: tuple[int, ...]
    """The places of the assistant's messages."""
    follower_indexes: tuple[int, ...]
    """The places of the messages after them."""
    calls: tuple[Call, ...]
    """What a client has to run."""
    last: bool
    """Whether nobody has spoken after it: its calls may still be answered."""


class CallBatch(Struct, frozen=True, eq=False):
    """Messages of the assistant directly one after the other that all call tools, and what answers
    them."""

    caller_indexes: tuple[int, ...]
    """The places of the messages; more than one if one batch was written as several."""
    calls: tuple[Call, ...]
    """What a client has to run."""
    results: tuple[Result, ...]
    """The answers of the client, in the order in which they stand."""


class AmbiguousGroup(Struct, frozen=True, eq=False):
    """Open calls of one turn and results without ids that could be theirs, in a way that nobody can
    tell."""

    calls: tuple[Call, ...]
    results: tuple[Result, ...]


class Facts:
    """A history, and what is to be known of it."""

    def __init__(
        self, conversation: Conversation, profile: Profile, observations: Observations | None = None
    ) -> None:
        self.conversation = conversation
        self.profile = profile
        self.body: JSON = conversation.source.body
        self.messages = conversation.messages
        self.own_wire = conversation.wire == profile.wire
        """True if the conversation was read from the wire that the target speaks: then the JSON of
        its body is what the target gets."""
        self._observations = observations

    @cached_property
    def observations(self) -> Observations:
        """What one cheap pass saw."""
        return self._observations or observe(self.conversation, self.profile.wire)

    @cached_property
    def calls(self) -> list[Call]:
        """The calls that a client runs, in order."""
        return [call for call in self.observations.calls if call.executor == "client"]

    @cached_property
    def server_calls(self) -> list[Call]:
        """The calls that a provider ran, in order."""
        seen = self.observations
        foreign = [call for call in seen.calls if call.executor != "client"]
        return [*seen.native_server_calls, *foreign] if foreign else seen.native_server_calls

    @cached_property
    def results(self) -> list[Result]:
        """All results, in order."""
        return self.observations.results

    @cached_property
    def _message_indexes(self) -> dict[int, int]:
        return {
            id(part): n
            for n, message in enumerate(self.messages)
            for part in message.parts
            if part.__class__ is Call or part.__class__ is Result
        }

    def message_index(self, part: Call | Result) -> int:
        """The place of the message that holds a part."""
        return self._message_indexes[id(part)]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every call with its result; then the results without a call."""
        return pairs(self.messages, ordered=self.conversation.ordered)

    @cached_property
    def _by_id(self) -> tuple[dict[int, Result], dict[int, Call]] | None:
        """Calls and results joined by their ids alone, where that is all there is to it: nothing
        missing, nothing twice."""
        calls = [*self.calls, *self.server_calls] if self.server_calls else self.calls
        by_id = {call.id: call for call in calls}
        if len(by_id) < len(calls):
            return None
        place = self._message_indexes
        answer: dict[int, Result] = {}
        owner: dict[int, Call] = {}
        for result in self.results:
            call = by_id.get(result.call_id)
            if (
                call is None
                or result.origin == "minted"
                or id(call) in answer
                or place[id(result)] <= place[id(call)]
            ):
                return None
            answer[id(call)] = result
            owner[id(result)] = call
        return answer, owner

    @cached_property
    def result_of(self) -> dict[int, Result]:
        """The result of a call, by the identity of the call."""
        if self._by_id is not None:
            return self._by_id[0]
        return {
            id(pair.call): pair.result
            for pair in self.pairs
            if pair.call is not None and pair.result is not None
        }

    @cached_property
    def call_of(self) -> dict[int, Call]:
        """The call of a result, by the identity of the result."""
        if self._by_id is not None:
            return self._by_id[1]
        return {
            id(pair.result): pair.call
            for pair in self.pairs
            if pair.call is not None and pair.result is not None
        }

    @cached_property
    def open_calls(self) -> list[Call]:
        """The client's calls without a result, in order."""
        return [call for call in self.calls if id(call) not in self.result_of]

    @cached_property
    def unpaired_results(self) -> list[Result]:
        """The client's results without a call, in order."""
        return [
            result
            for result in self.results
            if id(result) not in self.call_of and result.executor == "client"
        ]

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
            part
            for n in asks
            for part in self.messages[n].parts
            if part.__class__ is Call and part.executor == "client"
        )
        return [Turn(tuple(asks), tuple(follows), calls, last)] if calls else []

    @cached_property
    def refused_ids(self) -> set[str]:
        """Ids that the target refuses. None on the way to another wire: there, ids are fitted."""
        if not self.own_wire:
            return set()
        rule = self.profile.accepted_ids or self.profile.id_rule
        return set(
            self.refused_by(
                [*(call.id for call in self.calls), *(result.call_id for result in self.results)],
                rule,
            )
        )

    def refused_by(self, texts: list[str], rule: IdRule) -> list[str]:
        """Those that a rule refuses, asked once for all of them."""
        return invalid_ids(texts, rule)

    def message_after(self, n: int) -> Message | None:
        """The message after a place."""
        return self.messages[n + 1] if n + 1 < len(self.messages) else None

    # --- where results stand ---

    @cached_property
    def batches(self) -> list[CallBatch]:
        """The batches of calls, in order, with the results that were found for them."""
        held: dict[int, list[Call]] = {}
        for call in self.calls:
            held.setdefault(self._message_indexes[id(call)], []).append(call)
        found: list[CallBatch] = []
        asks: list[int] = []
        for n in held:
            if asks and asks[-1] != n - 1:
                found.append(self._block(asks, held))
                asks = []
            asks.append(n)
        return [*found, self._block(asks, held)] if asks else found

    def _block(self, asks: list[int], held: dict[int, list[Call]]) -> CallBatch:
        calls = [call for n in asks for call in held[n]]
        answers = [
            result
            for call in calls
            if (result := self.result_of.get(id(call))) is not None and result.executor == "client"
        ]
        if len(answers) > 1:
            answers.sort(key=lambda result: self._result_positions[id(result)])
        return CallBatch(tuple(asks), tuple(calls), tuple(answers))

    @cached_property
    def _result_positions(self) -> dict[int, int]:
        return {id(result): n for n, result in enumerate(self.results)}

    def holds_only_results(self, n: int) -> bool:
        """Whether a message holds results and nothing else."""
        parts = self.messages[n].parts
        return bool(parts) and all(part.__class__ is Result for part in parts)

    @cached_property
    def misplaced(self) -> dict[str, list[CallBatch]]:
        """Batches whose results do not stand where the target wants them, by what is wrong."""
        profile = self.profile
        found: dict[str, list[CallBatch]] = {}
        if self.conversation.kind == "request" and (
            profile.result_placement in ("next", "alone") or profile.results_follow_call_order
        ):
            for block in self.batches:
                for name in () if self._is_in_place(block) else self._violations(block):
                    found.setdefault(name, []).append(block)
        return found

    def _is_in_place(self, block: CallBatch) -> bool:
        """Whether the results stand right behind their calls, with nothing beside them: what nearly
        all do."""
        results, end, messages, place = (
            block.results,
            block.caller_indexes[-1],
            self.messages,
            self._message_indexes,
        )
        many = len(results)
        if (
            len(block.caller_indexes) > 1
            or many == 0
            or (self.profile.results_follow_call_order and many > 1)
            or (self.own_wire and isinstance(messages[end].raw, UnsetType))
        ):
            return False
        if place[id(results[-1])] == end + 1:
            return len(messages[end + 1].parts) == many and all(
                place[id(result)] == end + 1 for result in results
            )
        if self.profile.results_share_one_message or place[id(results[-1])] != end + many:
            return False
        return all(
            place[id(result)] == n and len(messages[n].parts) == 1
            for n, result in enumerate(results, end + 1)
        )

    def _violations(self, block: CallBatch) -> list[str]:
        profile, results, end = self.profile, block.results, block.caller_indexes[-1]
        places = {self._message_indexes[id(result)] for result in results}
        names: list[str] = []
        if profile.result_placement in ("next", "alone"):
            if len(block.caller_indexes) > 1 and not profile.merges_assistant_messages:
                names.append("calls-split")
            if places and self._is_separated(block, places):
                names.append("result-separated")
            elif profile.results_share_one_message and len(places) > 1:
                names.append("results-split")
            mixed = [
                self.messages[n].parts for n in places if n > end and not self.holds_only_results(n)
            ]
            if mixed and profile.result_placement == "alone":
                names.append("result-with-extra")
            elif mixed and profile.results_come_first and any(_late(parts) for parts in mixed):
                names.append("result-not-first")
        if (
            profile.results_follow_call_order
            and len(results) > 1
            and not self.are_tied_by_id(block)
        ):
            order = {id(call): n for n, call in enumerate(block.calls)}
            seen = [order[id(self.call_of[id(result)])] for result in results]
            if seen != sorted(seen):
                names.append("results-out-of-order")
        return names

    def _is_separated(self, block: CallBatch, places: set[int]) -> bool:
        end = block.caller_indexes[-1]
        if min(places) <= end:
            return True  # a client's result inside the message that asks for it
        if any(
            n not in places and not self.holds_only_results(n) for n in range(end + 1, max(places))
        ):
            return True
        return any(self.text_after_calls(n) for n in block.caller_indexes)

    def text_after_calls(self, n: int) -> tuple[Part, ...]:
        """What the assistant said after a call in the same go, where that is an item of its own and
        so parts call and result."""
        message = self.messages[n]
        if not self.own_wire or not isinstance(message.raw, UnsetType):
            return ()
        calls = [
            i
            for i, part in enumerate(message.parts)
            if part.__class__ is Call and part.executor == "client"
        ]
        return (
            tuple(part for part in message.parts[calls[0] :] if isinstance(part, Text | Media))
            if calls
            else ()
        )

    def are_tied_by_id(self, block: CallBatch) -> bool:
        """Whether every answer names its call by an id that the target looks at, so that their
        order says nothing."""
        return self.profile.has_id_field and all(
            result.origin != "minted" and self.call_of[id(result)].origin != "minted"
            for result in block.results
        )

    # --- calls without results, results without calls ---

    @cached_property
    def continues_elsewhere(self) -> bool:
        """Whether part of the history is on the server, so that calls and results may be there."""
        if not isinstance(self.body, dict):
            return False
        if any(self.body.get(key) for key in _ELSEWHERE):
            return True
        parts = (part for message in self.messages for part in message.parts)
        return any(getattr(part, "type", "") == "item_reference" for part in parts)

    @cached_property
    def server_calls_as_client(self) -> list[Call]:
        """Calls that a provider ran, by their ids, in the form of a client's, which no client has
        answered."""
        likely = [call for call in self.calls if call.id.startswith(SERVER_TOOL_IDS)]
        return [
            call
            for call in likely
            if (answer := self.result_of.get(id(call))) is None or answer.executor == "provider"
        ]

    @cached_property
    def ambiguous_groups(self) -> list[AmbiguousGroup]:
        """What nobody can join: results without ids, and either several open calls for each, or
        fewer calls than results."""
        nameless = (
            [result for result in self.unpaired_results if result.origin == "minted"]
            if self.unpaired_results
            else []
        )
        found: list[AmbiguousGroup] = []
        for turn in self.turns if nameless else ():
            here = [
                result for result in nameless if self.message_index(result) in turn.follower_indexes
            ]
            calls = [call for call in turn.calls if id(call) not in self.result_of]
            # A result without a name could be any call's, so that all of them hang together.
            names = (
                dict.fromkeys(result.name for result in here)
                if all(result.name for result in here)
                else ("",)
            )
            for name in names:
                could = tuple(call for call in calls if not name or call.name == name)
                called = {call.name for call in could}
                named = tuple(
                    one
                    for one in here
                    if (one.name == name if name else not one.name or one.name in called)
                )
                if len(could) > 1 or (could and len(named) > 1):
                    found.append(AmbiguousGroup(could, named))
        return found

    @cached_property
    def _ambiguous(self) -> set[int]:
        return {id(part) for one in self.ambiguous_groups for part in (*one.calls, *one.results)}

    @cached_property
    def pending_calls(self) -> list[Call]:
        """The open calls at the very end, after which nothing came but results: they may still be
        answered."""
        block = self.batches[-1] if self.open_calls and self.batches else None
        if block is None or not all(
            self.holds_only_results(n)
            for n in range(block.caller_indexes[-1] + 1, len(self.messages))
        ):
            return []
        apart = {id(call) for call in self.server_calls_as_client} | self._ambiguous
        return [
            call for call in block.calls if id(call) not in self.result_of and id(call) not in apart
        ]

    @cached_property
    def calls_after_results(self) -> dict[int, Call]:
        """Open calls that come after the result which bears their id, by the identity of the
        result."""
        if not self.unpaired_results or not self.open_calls:
            return {}
        found: dict[int, Call] = {}
        free = list(self.open_calls)
        for result in self.unpaired_results:
            if result.origin != "minted":
                call = next(
                    (
                        one
                        for one in free
                        if one.id == result.call_id
                        and self.message_index(one) > self.message_index(result)
                    ),
                    None,
                )
                if call is not None:
                    found[id(result)] = call
                    free.remove(call)
        return found

    @cached_property
    def unanswered(self) -> list[tuple[CallBatch, Call]]:
        """The calls that will never be answered, each with its batch: the history has moved on."""
        if not self.open_calls or self.continues_elsewhere or self.conversation.kind != "request":
            return []
        apart = {
            id(call)
            for call in (
                *self.pending_calls,
                *self.server_calls_as_client,
                *self.calls_after_results.values(),
            )
        } | self._ambiguous
        return [
            (block, call)
            for block in self.batches
            for call in block.calls
            if id(call) not in self.result_of and id(call) not in apart
        ]

    @cached_property
    def orphans(self) -> list[Result]:
        """The client's results that name no call before them, in order; a second result of a call
        is not one of them."""
        if not self.unpaired_results or self.continues_elsewhere:
            return []
        known = {
            id(result)
            for result in self.unpaired_results
            if id(result) in self.calls_after_results or id(result) in self._ambiguous
        }
        stray = {id(result) for result in self.unpaired_results} - known
        named: set[str] = set()
        found: list[Result] = []
        for message in self.messages:
            for part in message.parts:
                if isinstance(part, Call):
                    named.add(part.id)
                elif (
                    isinstance(part, Result)
                    and id(part) in stray
                    and (part.origin == "minted" or part.call_id not in named)
                ):
                    found.append(part)
        return found

    @cached_property
    def first_index(self) -> int:
        """The place of the first message that is not the system's."""
        return next(
            (n for n, message in enumerate(self.messages) if message.role != "system"),
            len(self.messages),
        )

    @cached_property
    def ids_not_text(self) -> list[Call | Result]:
        """The client's calls and results whose id did not come as text, or may not have: there was
        none, or it is a number."""
        calls = [call for call in self.calls if call.origin != "wire" or call.id.isdecimal()]
        results = [one for one in self.results if one.origin != "wire" or one.call_id.isdecimal()]
        return [*calls, *(result for result in results if result.executor == "client")]


def _late(parts: tuple[Part, ...]) -> bool:
    """Whether a result comes after something else."""
    other = False
    for part in parts:
        if part.__class__ is not Result:
            other = True
        elif other:
            return True
    return False


def here(part: Call | Result, message: Message) -> JsonPath:
    """Where a part stands; where its message stands if it has no place of its own."""
    return part.path or message.path
