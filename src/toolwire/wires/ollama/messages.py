"""The messages of Ollama's chat."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, keys, raise_unexpected
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.turn_results import TurnResults
from toolwire.wires.ollama.blocks import CALLS, NAME, RESULTS, read_images, write_text_and_images

ONE_REASONING = "reasoning is one text here, before everything else"
TEXT_AFTER_CALL = "text after a call stands before the calls here"
IMAGE_AFTER_CALL = "an image after a call is before the calls here"


class OllamaChat(Chat, frozen=True, eq=False):
    """The chat shape with images beside the text."""

    def read_parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        if content is not None and not isinstance(content, str):
            raise_unexpected(NAME, path + ("content",), "a string", content)
        parts = super().read_parts(message, content, path)
        first_call = sum(not isinstance(part, Call) for part in parts)
        return [*parts[:first_call], *read_images(message, path), *parts[first_call:]]

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write a history with the results of a turn in the order of their calls.

        Most templates pair by order only.
        """
        out: list[JSON] = []
        turn = TurnResults(context)
        for message in messages:
            ordinal = context.ordinal
            native = self.write_native(message, context)
            others = [part for part in message.parts if not isinstance(part, Result)]
            if isinstance(native, UnsetType) and message.role != "assistant":
                turn.add([part for part in message.parts if isinstance(part, Result)])
            if message.role == "assistant" or others or not isinstance(native, UnsetType):
                out += self._write_results(turn, context)
            turn.follow(message)
            if not isinstance(native, UnsetType):
                out.append(native)
                turn.keep(message, ordinal)
            elif message.role == "assistant":
                out.append(self.write_assistant(message, context))
            elif others:
                role = "system" if message.role == "system" else "user"
                out.append({"role": role, **write_text_and_images(others, context)})
        out += self._write_results(turn, context)
        turn.map_orphans()
        return out

    def _write_results(self, turn: TurnResults, context: EncodeContext) -> list[JSON]:
        return [self.write_result(result, context) for result in turn.take()]

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: text, images, reasoning, calls."""
        others: list[Part] = []
        reasoning: list[str] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(self.write_call(part, context))
            elif isinstance(part, Reasoning):
                if others or calls or reasoning:
                    context.report_loss(part, ONE_REASONING)
                reasoning.append(part.text)
            else:
                if calls:
                    context.report_loss(part, IMAGE_AFTER_CALL)
                others.append(part)
        out: Object = {"role": "assistant", **write_text_and_images(others, context)}
        if reasoning:
            out["thinking"] = "\n".join(reasoning)
        return {**out, "tool_calls": calls} if calls else out


CHAT = OllamaChat(
    NAME,
    content={},
    calls=CALLS,
    results=RESULTS,
    message=Block(
        "message", part=Message, keys=keys("role", "content", "thinking", "images", "tool_calls")
    ),
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    reasoning_fields=("thinking",),
)
