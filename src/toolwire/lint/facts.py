"""Facts about a history that rules share: pairs, open calls, ambiguous results and orphans.

Each property is computed on first use, so that a well-formed history pays only for the
observations. This module knows no rule and no wire.
"""

from __future__ import annotations

from collections import deque
from itertools import chain

from msgspec import Struct

from toolwire.conversation.id_rules import all_fit, invalid_ids
from toolwire.conversation.observations import SERVER_TOOL_IDS, Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Message, Opaque, Part, Result
from toolwire.lint.memo import lazy_property
from toolwire.lint.pair_facts import CallBatch, PairFacts, ToolTurn
from toolwire.lint.positions import find_position_violations

__all__ = ["AmbiguousGroup", "CallBatch", "Facts", "ToolTurn"]

_SERVER_STATE_FIELDS = (
    "previous_response_id",
    "previous_interaction_id",
    "conversation",
    "cachedContent",
    "cached_content",
)
"""Fields of a request that continues a history stored on the server: calls or results that are
missing in the request may be in that history."""


class AmbiguousGroup(Struct, frozen=True, eq=False):
    """Open calls and results that cannot be paired with certainty: of one turn and without ids, or
    under an id that calls of several turns share."""

    calls: tuple[Call, ...]
    results: tuple[Result, ...]


class Facts(PairFacts):
    """A conversation, the profile of its target, and the facts that rules need about both."""

    @lazy_property
    def invalid_ids(self) -> set[str]:
        """Ids of calls that the target refuses in a request; none for a target on another wire,
        because ids are fitted there."""
        ids, rule = self.observations.call_ids, self.profile.accepted_ids or self.profile.id_rule
        if not self.own_wire or self.conversation.kind != "request" or all_fit(ids, rule):
            return set()
        return set(invalid_ids(ids, rule))

    @lazy_property
    def ids_not_text(self) -> list[Call | Result]:
        """The client's calls and results with an id that was absent in the JSON, or may have been a
        number there.
        """
        calls = [call for call in self.calls if call.origin != "wire" or call.id.isdecimal()]
        results = [
            result
            for result in self.results
            if (result.origin != "wire" or result.call_id.isdecimal())
            and result.executor == "client"
        ]
        return [*calls, *results]

    @lazy_property
    def position_violations(self) -> dict[str, list[CallBatch]]:
        """The batches whose results are in the wrong position, by the name of the violated rule."""
        return find_position_violations(self)

    @lazy_property
    def rejects_orphans(self) -> bool:
        """True if a result without a call is refused, or cannot be written for another wire."""
        profile = self.profile
        return profile.rejects_orphan_results or (profile.results_need_calls and not self.own_wire)

    @lazy_property
    def continues_elsewhere(self) -> bool:
        """True if a part of the history, which may hold calls and results, is stored on the
        server."""
        if not self.own_wire or not isinstance(self.body, dict):
            return False
        if any(self.body.get(key) for key in _SERVER_STATE_FIELDS):
            return True
        if self.observations.holds(Observation.ONLY_TEXT_AND_TOOLS):  # every item has a known type
            return False
        return any(
            isinstance(part, Opaque) and part.type == "item_reference"
            for message in self.messages
            for part in message.parts
        )

    @lazy_property
    def server_calls_as_client(self) -> list[Call]:
        """Calls in the form of a client call whose ids show that a provider ran them, without a
        result of the client."""
        calls = [call for call in self.calls if call.id.startswith(SERVER_TOOL_IDS)]
        return [
            call
            for call in calls
            if (result := self.result_of.get(call)) is None or result.executor == "provider"
        ]

    @lazy_property
    def ambiguous_groups(self) -> list[AmbiguousGroup]:
        """Groups of results that may belong to several open calls, or that outnumber the open
        calls: results without ids, and results with an id that open calls of several turns
        share."""
        results = [result for result in self.results_without_call if result.origin == "minted"]
        results_at: dict[int, list[Result]] = {}
        for result in results:
            results_at.setdefault(self.message_index(result), []).append(result)
        groups: list[AmbiguousGroup] = []
        for turn in self.turns if results else ():
            followers = [results_at.get(n, ()) for n in turn.follower_indexes]
            groups += self._ambiguous_groups_in(turn, [*chain.from_iterable(followers)])
        return groups + self._groups_of_shared_ids()

    def _groups_of_shared_ids(self) -> list[AmbiguousGroup]:
        """Groups of unpaired results with an id that several open calls before them share."""
        if not self.results_without_call or len(self.open_calls) < 2:
            return []
        calls_of: dict[str, list[Call]] = {}
        for call in self.open_calls:
            calls_of.setdefault(call.id, []).append(call)
        results_of: dict[str, list[Result]] = {}
        for result in self.results_without_call:
            calls = calls_of.get(result.call_id, ()) if result.origin != "minted" else ()
            if len(calls) > 1 and self.message_index(calls[1]) < self.message_index(result):
                results_of.setdefault(result.call_id, []).append(result)
        return [
            AmbiguousGroup(tuple(calls_of[call_id]), tuple(results))
            for call_id, results in results_of.items()
        ]

    def _ambiguous_groups_in(self, turn: ToolTurn, results: list[Result]) -> list[AmbiguousGroup]:
        """The groups of one turn, with the results without ids that follow its calls. A call whose
        own result comes before it belongs to no group."""
        early = PartSet(self.calls_after_results.values())
        open_calls = [
            call for call in turn.calls if call not in self.result_of and call not in early
        ]
        if not all(result.name for result in results):
            # A result without a name may belong to any call, so all of them form one group.
            names = {call.name for call in open_calls}
            matching = [result for result in results if not result.name or result.name in names]
            group = AmbiguousGroup(tuple(open_calls), tuple(matching))
            return [group] if _is_ambiguous(group) else []
        by_name: dict[str | None, tuple[list[Call], list[Result]]] = {}
        for result in results:
            by_name.setdefault(result.name, ([], []))[1].append(result)
        for call in open_calls:
            if call.name in by_name:
                by_name[call.name][0].append(call)
        groups = [AmbiguousGroup(tuple(calls), tuple(found)) for calls, found in by_name.values()]
        return [group for group in groups if _is_ambiguous(group)]

    @lazy_property
    def _ambiguous_parts(self) -> PartSet[Part]:
        return PartSet(
            part for group in self.ambiguous_groups for part in (*group.calls, *group.results)
        )

    @lazy_property
    def pending_calls(self) -> list[Call]:
        """The open calls at the end of the history, if only results follow them. Their results may
        still be added, unless the history is sent now."""
        if self.abandon_pending:
            return []
        batch = self.batches[-1] if self.open_calls and self.batches else None
        if batch is None or not all(
            self.holds_only_results(n)
            for n in range(batch.caller_indexes[-1] + 1, len(self.messages))
        ):
            return []
        server_calls = PartSet(self.server_calls_as_client)
        return [
            call
            for call in batch.calls
            if call not in self.result_of
            and call not in server_calls
            and call not in self._ambiguous_parts
        ]

    @lazy_property
    def calls_after_results(self) -> PartMap[Result, Call]:
        """For each result that comes before the open call with its id, that call.

        If a call with this id also comes before the result, the result is a second one of that
        call.
        """
        call_of: PartMap[Result, Call] = PartMap()
        if not self.results_without_call or not self.open_calls:
            return call_of
        first_at: dict[str, int] = {}
        for call in self.calls:
            first_at.setdefault(call.id, self.message_index(call))
        candidates: dict[str, deque[Call]] = {}
        for call in self.open_calls:
            candidates.setdefault(call.id, deque()).append(call)
        for result in self.results_without_call:
            if result.origin == "minted":
                continue
            index, calls = self.message_index(result), candidates.get(result.call_id, deque())
            if first_at.get(result.call_id, index) < index:
                continue
            while calls and self.message_index(calls[0]) <= index:
                calls.popleft()
            if calls:
                call_of[result] = calls.popleft()
        return call_of

    @lazy_property
    def missing_results(self) -> list[tuple[CallBatch, Call]]:
        """The calls without a result after which the conversation continues, each with its
        batch."""
        if not self.open_calls or self.continues_elsewhere or self.conversation.kind != "request":
            return []
        explained = PartSet(
            (
                *self.pending_calls,
                *self.server_calls_as_client,
                *self.calls_after_results.values(),
                *self._ambiguous_parts,
            )
        )
        missing = PartSet(call for call in self.open_calls if call not in explained)
        return [
            (batch, call)
            for batch in self.batches
            if len(batch.results) < len(batch.calls)
            for call in batch.calls
            if call in missing
        ]

    @lazy_property
    def orphans(self) -> list[Result]:
        """The client's results without a call before them, in order.

        A second result of a call is not an orphan, unless a provider ran that call and answered it
        itself. A target that accepts a second result accepts it only among the results of its call;
        elsewhere it is an orphan.
        """
        if not self.results_without_call or self.continues_elsewhere:
            return []
        candidates = PartSet(
            result
            for result in self.results_without_call
            if result not in self.calls_after_results and result not in self._ambiguous_parts
        )
        in_batch_only = not self.profile.rejects_duplicate_results
        call_ids: set[str] = set()
        orphans: list[Result] = []
        for n, message in enumerate(self.messages):
            if in_batch_only and self._ends_batch(n):
                call_ids.clear()
            for part in message.parts:
                if isinstance(part, Call):
                    if part.executor == "client":
                        call_ids.add(part.id)
                elif (
                    isinstance(part, Result)
                    and part in candidates
                    and (part.origin == "minted" or part.call_id not in call_ids)
                ):
                    orphans.append(part)
            if in_batch_only and self._is_written_apart(message):
                call_ids.clear()
        return orphans

    def _ends_batch(self, index: int) -> bool:
        """True if a message ends the batch before it, so that results of earlier calls may not
        follow."""
        message = self.messages[index]
        if message.role == "assistant":
            return index > 0 and self.messages[index - 1].role != "assistant"
        if self.profile.result_placement not in ("next", "alone"):
            return False
        return not any(type(part) is Result for part in message.parts)

    def _is_written_apart(self, message: Message) -> bool:
        """True if another wire gets the content beside results as a separate message after them, so
        that no further result may follow."""
        if self.own_wire or message.role == "assistant":
            return False
        if self.profile.result_placement not in ("next", "alone"):
            return False
        return any(type(part) is not Result for part in message.parts)


def _is_ambiguous(group: AmbiguousGroup) -> bool:
    return len(group.calls) > 1 or (len(group.calls) == 1 and len(group.results) > 1)
