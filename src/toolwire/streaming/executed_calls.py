"""Calls that the source of a stream runs itself, for targets that have to know who runs a call.

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
    - If the source may also send the results of client tools, and the target cannot hold them or
      has to know whose a call is, each call waits until it is clear who runs it. If its result
      follows, the source ran it and both become text, or are written when no call waits or the next
      turn starts. If none follows, the call is for the client and is written as a call at the end.
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
        """Complete calls by id, oldest first, until their result arrives."""
        self._answered: list[tuple[Part, PartComplete]] = []
        """The calls that the source ran, each with its result, until they are written."""
        self._numbers: PartMap[Part, int] = PartMap()
        """The order of the calls."""
        self.wait = wait
        """True if every call waits for a result in the same stream."""
        self.any_text = False
        """True if a call or result became text: then all turns are written as one."""

    def becomes_text(self, part: Call | Result) -> bool:
        """True if the part belongs to a server tool that the target cannot hold."""
        if part.family == APPROVAL:
            return True
        return part.executor == "provider" and not self._target_has_server_tools

    def must_buffer(self, call: Call) -> bool:
        """True if a call that starts can be written only when it is complete, or later."""
        return self.wait or self.becomes_text(call)

    def hold(self, call: Call, choice: int) -> None:
        """Keep a complete call until its result arrives or the stream ends."""
        self._numbers[call] = len(self._numbers)
        self._waiting.append((call.id, PartComplete(call, choice)))

    def take(self, call_id: str) -> Part | None:
        """The oldest waiting call with this id, which does not wait any longer."""
        for index, (waiting_id, event) in enumerate(self._waiting if self.wait else ()):
            if waiting_id == call_id:
                del self._waiting[index]
                return event.part
        return None

    def answer(self, call: Part, result: PartComplete) -> bool:
        """Keep a call that waited and its result. Returns True if no call waits any longer."""
        self._answered.append((call, result))
        return not self._waiting

    def take_answered(self) -> list[Event]:
        """The calls that have results, in their order, and then the results."""
        answered, self._answered = self._answered, []
        calls = sorted(answered, key=lambda pair: self._numbers[pair[0]])
        return [
            *(PartComplete(self._as_executed(call), result.choice) for call, result in calls),
            *(result for _, result in answered),
        ]

    def _as_executed(self, call: Part) -> Part:
        """A call that the source ran, for a target that distinguishes such calls from those of the
        client."""
        if not self._target_has_server_tools or not isinstance(call, Call):
            return call
        return replace(call, executor="provider")

    def release(self) -> list[Event]:
        """The calls that got no result, which are for the client; no call waits from here on."""
        waiting, self._waiting, self.wait = self._waiting, [], False
        return [event for _, event in waiting]

    def as_text(self, part: Part) -> Part | None:
        """A call or result in its other form, with the loss reported; None if it is left out."""
        self.any_text = True
        return lower_server_tool(part, self._form, self._losses)
