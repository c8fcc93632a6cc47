"""The messages of Ollama's chat."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result, Text
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, keys, patch_message, raise_unexpected
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.ollama.blocks import (
    CALLS,
    NAME,
    RESULTS,
    read_images,
    write_call,
    write_result,
    write_text_and_images,
)

ONE_REASONING = "reasoning is one text here, before everything else"
TEXT_AFTER_CALL = "text after a call stands before the calls here"
IMAGE_AFTER_CALL = "an image after a call is before the calls here"
UNKNOWN_CALL = "the call of this result is not known; here its position and name decide"


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
        return _HistoryWriter(self, context).write(messages)

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: text, images, reasoning, calls."""
        others: list[Part] = []
        reasoning: list[str] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(write_call(part, context))
            elif isinstance(part, Reasoning):
                if others or calls or reasoning:
                    context.report_loss(part, ONE_REASONING)
                reasoning.append(part.text)
            else:
                if calls:
                    is_text = isinstance(part, Text)
                    context.report_loss(part, TEXT_AFTER_CALL if is_text else IMAGE_AFTER_CALL)
                others.append(part)
        out: Object = {"role": "assistant", **write_text_and_images(others, context)}
        if reasoning:
            out["thinking"] = "\n".join(reasoning)
        return {**out, "tool_calls": calls} if calls else out


class _HistoryWriter:
    """Writes the messages of one history."""

    __slots__ = ("_call_order", "_chat", "_context", "_orphans", "_out", "_results")

    def __init__(self, chat: OllamaChat, context: EncodeContext) -> None:
        self._chat = chat
        self._context = context
        self._out: list[JSON] = []
        self._call_order: dict[str, int] = {}
        """The calls of the turn, by id."""
        self._results: list[Result] = []
        """Results of the turn that are not written yet."""
        self._orphans: list[Result] = []
        """Results without a call."""

    def write(self, messages: Iterable[Message]) -> list[JSON]:
        previous_role = ""
        for message in messages:
            native = patch_message(message, self._context, self._chat.read_message)
            self._write_message(message, native, previous_role)
            previous_role = message.role
        self._write_results()
        self._map_orphans()
        return self._out

    def _write_message(
        self, message: Message, native: JSON | UnsetType, previous_role: str
    ) -> None:
        results = [part for part in message.parts if isinstance(part, Result)]
        others = [part for part in message.parts if not isinstance(part, Result)]
        is_assistant = message.role == "assistant"
        is_native = not isinstance(native, UnsetType)
        if not is_native and not is_assistant:
            self._results += results
        if is_assistant or others or is_native:
            self._write_results()
        if is_assistant:
            # The calls of a turn may be in several messages that follow each other.
            if previous_role != "assistant":
                self._call_order = {}
            for part in message.parts:
                if isinstance(part, Call):
                    self._call_order.setdefault(part.id, len(self._call_order))
        if not isinstance(native, UnsetType):
            self._out.append(native)
            self._note_native(message, results)
        elif is_assistant:
            self._out.append(self._chat.write_assistant(message, self._context))
        elif others:
            role = "system" if message.role == "system" else "user"
            self._out.append({"role": role, **write_text_and_images(others, self._context)})

    def _note_native(self, message: Message, results: list[Result]) -> None:
        """Count the calls of a message that is kept verbatim."""
        context = self._context
        self._orphans += [
            result for result in results if result.call_id not in context.called_names
        ]
        for part in message.parts:
            if isinstance(part, Call):
                context.called_names[part.id] = part.name
                context.ordinal += 1

    def _write_results(self) -> None:
        """Write the results of the turn in the order of their calls, those without a call last."""
        context, order = self._context, self._call_order
        for result in self._results:
            context.record_result_form(result, flag=False, structure=False)
            if result.call_id not in context.called_names and context.hides_id(result.call_id):
                context.report_loss(result, UNKNOWN_CALL)
        results = sorted(self._results, key=lambda result: order.get(result.call_id, len(order)))
        self._results = []
        self._orphans += [
            result for result in results if result.call_id not in context.called_names
        ]
        self._out += [write_result(result, context) for result in results]

    def _map_orphans(self) -> None:
        """Map the ids that a reader will mint for results without a call back to their ids."""
        context = self._context
        for i, result in enumerate(self._orphans):
            if context.hides_id(context.result_id(result)):
                name = context.name(result.name or "")
                minted = mint(f"{context.seed} result", context.ordinal + i, name)
                context.sent_ids[minted] = result.call_id


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


def read_answer(message: JSON, path: JsonPath) -> Message:
    """Read the message of a response, which is the assistant's whatever its role says."""
    return replace(CHAT.read_message(message, path), role="assistant")
