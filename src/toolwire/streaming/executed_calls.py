"""Calls that the source of a stream runs itself, for targets that have to know the executor of a
call.

Knows no wire.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.model import Loss
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import APPROVAL, Call, Part, Result
from toolwire.streaming.events import Event, PartComplete
from toolwire.wires.engine.server_tools import Form, lower_server_tool


class ExecutedCalls:
    """Decides for each call whether it is written as a call or, with its result, as text.

    - The call of a provider's server tool becomes text if the target has no server tools.
    - If the source may also send results of client tools, and the target cannot hold them or has to
      know the executor of a call, each call waits until its executor is known. If its result
      follows, the source ran it: both become text, or are written when no call waits any more or
      the next turn starts. If no result follows, the call is for the client and is written last.
    """

    __slots__ = (
        "_answered",
        "_form",
        "_losses",
        "_numbers",
        "_target_has_server_tools",
        "_waiting",
        "any_text",
        "wait",
    )

    def __init__(
        self, form: Form, *, target_has_server_tools: bool, wait: bool, losses: list[Loss]
    ) -> None:
        self._form: Form = form
        self._target_has_server_tools = target_has_server_tools
        self._losses = losses
        self._waiting: list[tuple[str, PartComplete]] = []
        """Complete calls with their ids, oldest first, until their results arrive."""
        self._answered: list[tuple[Part, PartComplete]] = []
        """The calls that the source ran, each with its result, until they are written."""
        self._numbers: PartMap[Part, int] = PartMap()
        """The order of the calls."""
        self.wait = wait
        """True if every call waits for a result in the same stream."""
        self.any_text = False
        """True if a call or result became text: then all turns are written as one."""

    def becomes_text(self, part: Call | Result) -> bool:
        """True for a server tool that the target cannot hold, and for every approval."""
        if part.family == APPROVAL:
            return True
        return part.executor == "provider" and not self._target_has_server_tools

    def must_buffer(self, call: Call) -> bool:
        """True if a call cannot be written before it is complete."""
        return self.wait or self.becomes_text(call)

    def hold(self, call: Call, choice: int) -> None:
        """Keep a complete call until its result arrives or the stream ends."""
        self._numbers[call] = len(self._numbers)
        self._waiting.append((call.id, PartComplete(call, choice)))

    def take(self, call_id: str) -> Part | None:
        """Remove and return the oldest waiting call with this id; None if there is none."""
        for index, (waiting_id, event) in enumerate(self._waiting if self.wait else ()):
            if waiting_id == call_id:
                del self._waiting[index]
                return event.part
        return None

    def answer(self, call: Part, result: PartComplete) -> bool:
        """Store a call that waited and its result. Returns True if no call waits any more."""
        self._answered.append((call, result))
        return not self._waiting

    def take_answered(self) -> list[Event]:
        """Return the calls with results, in their order, followed by the results."""
        answered, self._answered = self._answered, []
        calls = sorted(answered, key=lambda pair: self._numbers[pair[0]])
        return [
            *(PartComplete(self._as_executed(call), result.choice) for call, result in calls),
            *(result for _, result in answered),
        ]

    def _as_executed(self, call: Part) -> Part:
        """A call that the source ran, marked for a target that distinguishes it from the client's
        calls."""
        if not self._target_has_server_tools or not isinstance(call, Call):
            return call
        return replace(call, executor="provider")

    def release(self) -> list[Event]:
        """Return the calls without a result, which are for the client. From then on, no call
        waits."""
        waiting, self._waiting, self.wait = self._waiting, [], False
        return [event for _, event in waiting]

    def as_text(self, part: Part) -> Part | None:
        """A call or result as text, with the loss reported; None if it is left out."""
        self.any_text = True
        return lower_server_tool(part, self._form, self._losses)
