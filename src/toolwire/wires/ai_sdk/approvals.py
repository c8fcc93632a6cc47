"""AI SDK: which result and which approval belong in the tool part of a call.

Other wires request an approval with a call of its own (`Call.approval_for`); this wire keeps the
approval in the tool part of the call it is about.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolwire.conversation.model import Conversation
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
_APPROVED_FIELDS = ("approved", "confirmed")
"""The fields in which wires say that an approval was granted."""


def holds_call(request: Call) -> bool:
    """True if an approval request also stands for the call that it is about.

    It then has the name and arguments of that call, which occurs nowhere else.
    """
    return request.approval_for is not None and request.family == "tool-approval"


def call_of_request(request: Call) -> Call:
    """The call that such a request is about."""
    call_id = request.approval_for or request.id
    return replace(request, id=call_id, approval_for=None, family="function")


def read_decision(result: Result | None) -> tuple[bool | None, str | None]:
    """Whether an approval was granted (None: not decided), and the reason."""
    output = result.output if result is not None and isinstance(result.output, dict) else {}
    decisions = (flag_or_none(output.get(field)) for field in _APPROVED_FIELDS)
    approved = next((decision for decision in decisions if decision is not None), None)
    return approved, text_or_none(output.get("reason"))


class CallIndex:
    """The results and approval requests of a conversation, by call.

    Ids repeat and equal parts may occur twice, so parts are looked up by identity.
    """

    def __init__(self, conversation: Conversation) -> None:
        calls, pairs = conversation.calls(), conversation.pairs()
        self._results = _results_by_call(calls, pairs)
        self._requests: dict[int, Call] = {}
        self._is_request: set[int] = set()
        self._omissions: dict[int, str] = {}
        newest = self._match_requests(calls)
        self._place_preliminary_results(newest, pairs)
        self._placed = {id(result) for result in self._results.values()}

    def result(self, call: Call) -> Result | None:
        """The result that belongs in the part of a call."""
        return self._results.get(id(call))

    def request(self, call: Call) -> Call | None:
        """The call that requests approval for a call."""
        return self._requests.get(id(call))

    def is_request(self, call: Call) -> bool:
        """True if a call only requests approval for another call of the conversation."""
        return id(call) in self._is_request

    def omission_reason(self, result: Result) -> str | None:
        """Why a result that has a call is not written as a result; None if it is."""
        return self._omissions.get(id(result))

    def is_placed(self, result: Result) -> bool:
        """True if the result has a call whose part can hold it."""
        return id(result) in self._placed

    def _match_requests(self, calls: list[Call]) -> dict[str, Call]:
        """Match requests with the calls they are about, and return the newest call of each id."""
        newest: dict[str, Call] = {}
        for call in calls:
            about = newest.get(call.approval_for) if call.approval_for else None
            if call.approval_for and about is None:
                about = next(
                    (
                        later
                        for later in calls
                        if later.id == call.approval_for and later.approval_for is None
                    ),
                    None,
                )
            if about is not None:
                self._requests[id(about)] = call
                self._is_request.add(id(call))
            if about is not None or holds_call(call):
                decision = self.result(call)
                if decision is not None:
                    self._omissions[id(decision)] = DECISION_MERGED
            newest[call.id] = call
        return newest

    def _place_preliminary_results(self, newest: dict[str, Call], pairs: list[Pair]) -> None:
        """Omit preliminary results if their call waits for approval or has a later result."""
        preliminary = {key: result for key, result in self._results.items() if result.preliminary}
        if not preliminary:
            return
        for key, result in preliminary.items():
            if key in self._requests:
                self._omissions[id(result)] = PRELIMINARY_OMITTED
                del self._results[key]
        for pair in pairs:
            if pair.call is not None or pair.result is None:
                continue
            call = newest.get(pair.result.call_id)
            if call is not None and id(call) in preliminary:
                self._omissions.setdefault(id(preliminary[id(call)]), PRELIMINARY_REPLACED)
                self._results[id(call)] = pair.result


def _results_by_call(calls: list[Call], pairs: Sequence[Pair]) -> dict[int, Result]:
    """The result of each call. One that was read from a tool part belongs to the call of it."""
    tool_parts = {
        call.path: call
        for call in calls
        if isinstance(call.spec, Block) and call.spec.answer is not None
    }
    results: dict[int, Result] = {}
    for pair in pairs:
        if pair.result is None:
            continue
        call, spec = pair.call, pair.result.spec
        if isinstance(spec, Block) and spec.read is read_result:
            call = tool_parts.get(pair.result.path) or call
        if call is not None:
            results[id(call)] = pair.result
    return results
