"""AI SDK: which result and which approval belong in the tool part of a call.

Other wires request an approval with a separate call (`Call.approval_for`); this wire keeps the
approval in the tool part of the call it is about.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Pair, Result
from toolwire.wires.ai_sdk.tool_parts import read_result
from toolwire.wires.engine.specs import Block, flag_or_none, text_or_none

REQUEST_MERGED = "the approval request is part of the call that it is about"
DECISION_MERGED = "the decision is part of the call that it is about"
PRELIMINARY_OMITTED = "a preliminary result has no place while its call waits for approval"
PRELIMINARY_REPLACED = "a preliminary result is replaced by the one that followed"
EXECUTOR_UNKNOWN = "a call that waits for approval does not say who will run it"
NOT_GRANTED = "an approval that was not granted cannot accompany a result"
NO_CALL = "a result belongs in the part of its call, which is not here"


def holds_call(request: Call) -> bool:
    """True if an approval request also represents the call that it is about.

    It then has the name and arguments of that call, which occurs nowhere else.
    """
    return request.approval_for is not None and request.family == "tool-approval"


def call_of_request(request: Call) -> Call:
    """The call that an approval request represents."""
    call_id = request.approval_for or request.id
    return replace(request, id=call_id, approval_for=None, family="function")


def read_decision(result: Result | None) -> tuple[bool | None, str | None]:
    """True if an approval was granted, False if not, None if it is undecided; and the reason."""
    output = result.output if result is not None and isinstance(result.output, dict) else {}
    approved = flag_or_none(output.get("approved"))
    if approved is None:
        approved = flag_or_none(output.get("confirmed"))
    return approved, text_or_none(output.get("reason"))


class CallIndex:
    """The results and approval requests of a conversation, by call."""

    def __init__(self, conversation: Conversation) -> None:
        calls, pairs = conversation.calls(), conversation.pairs()
        self.results = _results_by_call(calls, pairs)
        """The result for the tool part of each call."""
        self.requests: PartMap[Call, Call] = PartMap()
        """Call → the call that requests approval for it."""
        self.merged_requests: PartSet[Call] = PartSet()
        """Calls that only request approval for another call of the conversation."""
        self.later_calls: PartMap[Call, Call] = PartMap()
        """Approval request that represents a call → this call, if it follows."""
        self.omissions: PartMap[Result, str] = PartMap()
        """Results that have a call but are not written as results, and the reason."""
        newest = self._match_requests(calls)
        self._place_preliminary_results(newest, pairs)
        self.placed = PartSet(self.results.values())
        """Results that are written into the part of their call."""

    def _match_requests(self, calls: list[Call]) -> dict[str, Call]:
        """Match requests with the calls they are about, and return the newest call of each id."""
        newest: dict[str, Call] = {}
        held: dict[str, Call] = {}
        """Call id → the newest undecided request that represents this call."""
        subjects: dict[str, Call] = {}
        """Call id → the newest call that may need approval: no request is about another."""
        first = {call.id: call for call in reversed(calls) if call.approval_for is None}
        for call in calls:
            about: Call | None = None
            if call.approval_for:
                about = subjects.get(call.approval_for)
                if about is None and holds_call(call):
                    about = first.get(call.approval_for)
                    if about is not None:
                        self.later_calls[call] = about
                if about is None and holds_call(call):  # the same approval may be requested again
                    about = held.get(call.approval_for)
                    if about is None and call not in self.results:
                        held[call.approval_for] = call
            if about is not None:
                self.requests[about] = call
                self.merged_requests.add(call)
            decision = self.results.get(call)
            if decision is not None and (about is not None or holds_call(call)):
                self.omissions[decision] = DECISION_MERGED
            newest[call.id] = call
            if call.approval_for is None:
                subjects[call.id] = call
        return newest

    def _place_preliminary_results(self, newest: dict[str, Call], pairs: Iterable[Pair]) -> None:
        """Omit preliminary results if their call waits for approval or has a later result."""
        preliminary = PartMap(entry for entry in self.results.items() if entry[1].preliminary)
        if not preliminary:
            return
        results, self.results = self.results, PartMap()
        for call, result in results.items():
            if result.preliminary and call in self.requests:
                self.omissions[result] = PRELIMINARY_OMITTED
            else:
                self.results[call] = result
        for pair in pairs:
            if pair.call is not None or pair.result is None:
                continue
            unpaired = newest.get(pair.result.call_id)
            if unpaired is not None and unpaired in preliminary:
                self.omissions.setdefault(preliminary[unpaired], PRELIMINARY_REPLACED)
                self.results[unpaired] = pair.result


def _results_by_call(calls: Iterable[Call], pairs: Iterable[Pair]) -> PartMap[Call, Result]:
    """The result of each call. A result that was read from a tool part belongs to the call in that
    part."""
    tool_parts = {
        call.path: call
        for call in calls
        if isinstance(call.spec, Block) and call.spec.answer is not None
    }
    results: PartMap[Call, Result] = PartMap()
    for pair in pairs:
        if pair.result is None:
            continue
        call, spec = pair.call, pair.result.spec
        if isinstance(spec, Block) and spec.read is read_result:
            call = tool_parts.get(pair.result.path) or call
        if call is not None:
            results[call] = pair.result
    return results
