"""Calls that the source of a stream runs itself, for targets that cannot hold their results.

Knows no wire.
"""

from __future__ import annotations

from toolwire.conversation.model import Loss
from toolwire.conversation.parts import APPROVAL, Call, Part, Result
from toolwire.streaming.events import PartComplete
from toolwire.wires.engine.server_tools import Form, lower_server_tool


class ExecutedCalls:
    """Decides for each call whether it is written as a call or, with its result, as text.

    - The call of a provider's server tool becomes text if the target has no server tools.
    - If the source may also send the results of client tools and the target cannot hold them, each
      call waits until it is clear who runs it. If its result follows, the source ran it and both
      become text. If none follows, the call is for the client and is written as a call.
    """

    __slots__ = ("_form", "_losses", "_target_has_server_tools", "_waiting", "any_text", "wait")

    def __init__(
        self, form: Form, *, target_has_server_tools: bool, wait: bool, losses: list[Loss]
    ) -> None:
        self._form: Form = form
        self._target_has_server_tools = target_has_server_tools
        self._losses = losses
        self._waiting: list[tuple[str, PartComplete]] = []
        """Complete calls by id, oldest first, until their result arrives."""
        self.wait = wait
        """Whether every call waits for a result in the same stream."""
        self.any_text = False
        """Whether a call or result became text: then all turns are written as one."""

    def becomes_text(self, part: Call | Result) -> bool:
        """Whether the part belongs to a server tool that the target cannot hold."""
        if part.family == APPROVAL:
            return True
        return part.executor == "provider" and not self._target_has_server_tools

    def must_buffer(self, call: Call) -> bool:
        """Whether a call that starts can be written only when it is complete, or later."""
        return self.wait or self.becomes_text(call)

    def hold(self, call: Call, choice: int) -> None:
        """Keep a complete call until its result arrives or the stream ends."""
        self._waiting.append((call.id, PartComplete(call, choice)))

    def take(self, call_id: str) -> Part | None:
        """The oldest waiting call with this id, which does not wait any longer."""
        for index, (waiting_id, event) in enumerate(self._waiting):
            if waiting_id == call_id:
                del self._waiting[index]
                return event.part
        return None

    def release(self) -> list[PartComplete]:
        """The calls that got no result, which are for the client; no call waits from here on."""
        waiting, self._waiting, self.wait = self._waiting, [], False
        return [event for _, event in waiting]

    def as_text(self, part: Part) -> Part | None:
        """A call or result in its other form, with the loss reported; None if it is left out."""
        self.any_text = True
        return lower_server_tool(part, self._form, self._losses)
