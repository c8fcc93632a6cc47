"""AI SDK: tool parts while a stream fills them, chunk by chunk.

A chunk finds its part by `toolCallId`: in the current step, else the newest. The fields of a part
are those that a client of version 6 has at the same moment. Knows nothing of the order in which
parts are told.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JsonPath, Object
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.specs import keys
from toolwire.wires.engine.stream import copy_json

_FLEETING = ("input", "output", "errorText", "rawInput", "inputEncoding", "preliminary")
"""Fields that another input makes void."""
_ANSWERS = ("output", "errorText", "preliminary", "inputEncoding")
"""Fields that another output makes void."""
_INPUT = keys("toolCallId", "toolName", "dynamic", "input", "errorText", "providerMetadata")
_OUTPUT = keys("toolCallId", "dynamic", "providerMetadata", "providerExecuted")
_STATES = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}
_APPROVALS = {"approvalId": "id", "approvalDescriptor": "descriptor", "reason": "requestReason"}


class Tool(Struct):
    """A tool part, and how far it has come."""

    block: Object
    path: JsonPath
    step: int
    texts: list[str]
    """Fragments of its input, while it streams."""
    complete: bool = False
    """Whether all of its input came."""
    answered: bool = False
    """Whether it has its output, and not just a preliminary one."""
    told: bool = False

    def assembled(self) -> Object:
        """The part, with the text of its input as far as it came."""
        return {**self.block, "rawInput": "".join(self.texts)} if self.texts else self.block

    def forget(self) -> None:
        """Keep only what tells a repeated output from another."""
        self.block = {key: self.block.get(key) for key in ("type", "state", "errorText")}
        self.texts = []

    def repeats(self, event: Chunk) -> bool:
        """Whether an output says again that the input was refused, as older servers do."""
        said = (_STATES[str(event["type"])], event.get("errorText"))
        return said[0] == "output-error" and said == (
            self.block.get("state"),
            self.block.get("errorText"),
        )

    def input(self, event: Chunk) -> None:
        """Input begins, is all there, or is refused: what was said of an older one is gone."""
        block, kind = self.block, str(event["type"])
        state, given = _STATES[kind], event.get("providerMetadata")
        self.texts = []
        for key in _FLEETING:
            block.pop(key, None)
        if "type" not in block or kind != "tool-input-error":
            block["type"] = typed(event)
            block.pop("toolName", None)
            if event.get("dynamic") is True:
                block["toolName"] = event.get("toolName")
        block.update({"toolCallId": event.get("toolCallId"), "state": state})
        block.update(rest(event, *_INPUT))
        if given is not None:
            block[
                "resultProviderMetadata" if state == "output-error" else "callProviderMetadata"
            ] = given
        if state == "input-available":
            self.complete = True
            block["input"] = event.get("input")
        elif state == "output-error":
            block["input" if block["type"] == "dynamic-tool" else "rawInput"] = event.get("input")
            block["errorText"] = event.get("errorText")

    def output(self, event: Chunk) -> None:
        """The output, an error, or that nobody allowed the call."""
        block, state = self.block, _STATES[str(event["type"])]
        again = not self.complete and self.repeats(event)
        if state != "output-denied":
            if self.texts:
                block["rawInput"] = "".join(self.texts)
                self.texts = []
            for key in _ANSWERS if state == "output-error" else (*_ANSWERS, "rawInput"):
                block.pop(key, None)
            block.update(rest(event, *_OUTPUT))
            for key, field in (
                ("providerMetadata", "resultProviderMetadata"),
                ("providerExecuted", "providerExecuted"),
            ):
                if event.get(key) is not None:
                    block[field] = event[key]
        block["state"] = state
        self.answered = self.answered or not (again or event.get("preliminary") is True)


class Tools:
    """The tool parts of a stream. `entered` is told of each new one."""

    def __init__(self, entered: Callable[[Tool], None]) -> None:
        self.step = 0
        self._entered = entered
        self._found: dict[str, list[Tool]] = {}

    def all(self) -> list[Tool]:
        """Every part."""
        return [tool for found in self._found.values() for tool in found]

    def forget(self) -> None:
        """The current step never was."""
        for found in self._found.values():
            found[:] = [tool for tool in found if tool.step != self.step]

    def find(self, event: Chunk) -> Tool | None:
        """The part a chunk is about: of this step, else the newest; among several of one id, one
        that is still open."""
        found = self._found.get(_id(event), ())
        here = [tool for tool in found if tool.step == self.step]
        return next(
            (tool for tool in here if not tool.answered),
            here[-1] if here else found[-1] if found else None,
        )

    def input(self, event: Chunk, path: JsonPath) -> Tool | None:
        """Take in what a chunk says of an input; None if it is a fragment of nothing."""
        if event["type"] != "tool-input-delta":
            tool = self._placed(event, path)
            tool.input(event)
            return tool
        held, more = self.find(event), event.get("inputTextDelta")
        if held is None or held.complete or not isinstance(more, str):
            return None
        held.texts.append(more)
        return held

    def _placed(self, event: Chunk, path: JsonPath) -> Tool:
        """The part for an input: a new one, unless that of its id is still on its way or the chunk
        only repeats it."""
        found = self._found.setdefault(_id(event), [])
        if found and found[-1].step == self.step and not found[-1].told:
            last = found[-1]
            again = event["type"] != "tool-input-start" and last.block.get("type") == typed(event)
            if not last.complete or (again and last.block.get("input") == event.get("input")):
                return last
        tool = Tool({}, path, self.step, [])
        found.append(tool)
        self._entered(tool)
        return tool

    def approval(self, event: Chunk) -> bool:
        """Take in that an approval is asked for, or given or not; False if nobody knows of what."""
        if event["type"] == "tool-approval-request":
            held = self.find(event)
            if held is None or held.told:
                return False
            asked: Object = {
                _APPROVALS.get(key, key): value
                for key, value in rest(event, "toolCallId").items()
                if value is not None
            }
            held.block.update({"state": "approval-requested", "approval": asked})
            return True
        for tool in self.all():
            approval = tool.block.get("approval")
            if (
                isinstance(approval, dict)
                and approval.get("id") == event.get("approvalId")
                and not tool.told
            ):
                given = {
                    key: value
                    for key, value in event.items()
                    if key in ("approved", "reason") and value is not None
                }
                tool.block.update(
                    {"state": "approval-responded", "approval": {**approval, **given}}
                )
                tool.block.update(
                    rest(event, "approvalId", "approved", "reason", "providerMetadata")
                )
                if event.get("providerMetadata") is not None:
                    tool.block["callProviderMetadata"] = event["providerMetadata"]
                return True
        return False


def typed(event: Chunk) -> str:
    """The type of the part that a chunk makes."""
    name = event.get("toolName")
    return (
        "dynamic-tool"
        if event.get("dynamic") is True
        else f"tool-{name if isinstance(name, str) else ''}"
    )


def _id(event: Chunk) -> str:
    one = event.get("toolCallId")
    return one if isinstance(one, str) else ""


def rest(event: Chunk, *known: str) -> Object:
    """The fields of a chunk beside its type and those that are read otherwise."""
    return {
        key: copy_json(value) for key, value in event.items() if key != "type" and key not in known
    }
