"""Tools that a provider ran itself, made into something another wire can hold: text, a call and its
result, or nothing.

Whatever it becomes is reported. Knows no wire by name.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Loss
from toolwire.conversation.parts import Call, Message, Part, Result, Source, Text, describe

ServerToolPolicy: TypeAlias = Literal["text", "call", "drop"]
POLICIES: tuple[str, ...] = get_args(ServerToolPolicy)


def lower_server_tools(
    conversation: Conversation, target: str, policy: ServerToolPolicy, *, whole: bool
) -> tuple[Conversation, list[Loss]]:
    """The conversation without provider-run calls of other wires, and what was said about each.

    A response is one message and cannot hold results: there, calls become text even under `call`.
    """
    losses: list[Loss] = []
    messages: list[Message] = []
    for message in conversation.messages:
        if message.wire == target or not any(_hosted(part) for part in message.parts):
            messages.append(message)
        elif policy == "call" and whole:
            messages += _split(message, losses)
        else:
            kept = (
                server_tool_as_text(part, policy, losses) if _hosted(part) else part
                for part in message.parts
            )
            messages.append(
                replace(message, parts=tuple(part for part in kept if part is not None))
            )
    return (
        (replace(conversation, messages=tuple(messages)), losses)
        if losses
        else (conversation, losses)
    )


def _hosted(part: Part) -> bool:
    return isinstance(part, Call | Result) and part.executor == "provider"


def server_tool_as_text(part: Part, policy: ServerToolPolicy, losses: list[Loss]) -> Part | None:
    """A part of a provider's own tool as text, reported; None if it is to be dropped."""
    if policy == "drop":
        losses.append(Loss(part.path, "a tool the provider ran; dropped as asked"))
        return None
    losses.append(Loss(part.path, "a tool the provider ran; told in text"))
    shown = part
    if isinstance(part, Result):
        shown = replace(part, output=_readable(part.output))
    elif (
        isinstance(part, Call) and not part.args.broken
    ):  # one spelling, whether it came as text or as a value
        shown = replace(part, args=LazyJson.from_value(part.input))
    return Text(describe(shown), source=Source(part.raw, part.path, part.spec))


def _readable(output: object) -> JSON:
    """A provider's result without what only the provider can read."""
    if isinstance(output, dict):
        return {
            key: _readable(value)
            for key, value in output.items()
            if not key.startswith("encrypted_")
        }
    if isinstance(output, list):
        return [_readable(item) for item in output]
    return output  # type: ignore[return-value]


def _split(message: Message, losses: list[Loss]) -> list[Message]:
    """One assistant message as several: after each provider's result the assistant speaks anew."""
    out: list[Message] = []
    said: list[Part] = []
    for part in message.parts:
        if not _hosted(part):
            said.append(part)
            continue
        losses.append(Loss(part.path, "a tool the provider ran; sent as a call and its result"))
        if isinstance(part, Call):
            said.append(replace(part, executor="client", family="function"))
        elif isinstance(part, Result):
            if said:
                out.append(Message("assistant", tuple(said)))
                said = []
            out.append(
                Message(
                    "tool",
                    (
                        replace(
                            part,
                            executor="client",
                            family="function",
                            output=_readable(part.output),
                        ),
                    ),
                )
            )
    if said or not out:
        out.append(Message("assistant", tuple(said)))
    out[0] = replace(out[0], source=Source(message.raw, message.path, message.spec))
    out[-1] = replace(out[-1], stop=message.stop)
    return [
        replace(one, source=replace(one.source, raw=UNSET)) if one is not out[0] else one
        for one in out
    ]
