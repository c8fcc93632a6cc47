"""One candidate of an answer in the chat shape: what is known of it while it comes, and what it is
when it is over.

Reads no chunk; `_chat_stream` does, and fills it. Knows no wire by name.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.wires.engine.stream import copy_json
from toolwire.wires.families.chat.merge import call, joined
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.tool_call_deltas import Calls, Growing


class Candidate:
    """One candidate under way."""

    __slots__ = (
        "calls",
        "executed",
        "frame",
        "index",
        "legacy",
        "message",
        "pieces",
        "reason",
        "said",
        "slot",
        "speaking",
        "spoken",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.calls = Calls()
        self.legacy: Growing | None = None
        self.speaking = ""
        """The field whose text is open."""
        self.slot = -1
        self.spoken: set[str] = set()
        """Fields that had a text: a message has one of each, even if calls come in between."""
        self.said = False
        self.reason: str | None = None
        self.frame: Object = {}
        self.message: Object = {}
        self.pieces: list[JSON] = []
        self.executed: dict[int, Object] = {}

    def whole(self, chat: Chat, *, silent: JSON, indexed: bool, broken: bool) -> Object:
        """It as a whole body has it. `silent`: the content of a message that only calls; `broken`:
        an error ended it."""
        if self.reason is None and not broken:  # the end came and no reason: what was called tells
            self.reason = "tool_calls" if self.calls.every else "stop"
            self.frame.pop("finish_reason", None)
        message: Object = {
            "role": "assistant",
            **{k: v for k, v in self.message.items() if k != "role" or v},
        }
        if self.pieces:
            message["content"] = joined(self.pieces)
        elif message.get("content") is None:
            message["content"] = silent if self.calls.every else message.get("content")
        every = self.calls.every
        if every and all(held.index is not None for held in every):
            every = sorted(every, key=lambda held: held.index or 0)
        if every:
            message["tool_calls"] = [
                call(held, i if indexed else None) for i, held in enumerate(every)
            ]
        if self.legacy is not None:
            message["function_call"] = {
                "name": self.legacy.name,
                "arguments": "".join(self.legacy.texts),
            }
        if self.executed and chat.executed is not None:
            message[chat.executed.name] = [
                copy_json(block) for _, block in sorted(self.executed.items())
            ]
        return {"index": self.index, "message": message, "finish_reason": self.reason, **self.frame}
