"""Lower provider-executed tools for other wires: to text, to a call and its result, or to nothing.

Every change is reported as a loss. Knows no wire by name.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Loss
from toolwire.conversation.parts import Call, Message, Part, Result, Source, Text, describe
from toolwire.errors import UsageError

ServerToolPolicy: TypeAlias = Literal["text", "call", "drop"]
POLICIES: tuple[str, ...] = get_args(ServerToolPolicy)


def require_policy(policy: str, target: str) -> None:
    """Raise UsageError if there is no such policy."""
    if policy not in POLICIES:
        options = ", ".join(POLICIES)
        raise UsageError(f"server_tools is one of {options}, not {policy!r}", wire=target)


def lower_server_tools(
    conversation: Conversation, target: str, policy: ServerToolPolicy, *, whole: bool
) -> tuple[Conversation, list[Loss]]:
    """Replace the provider-executed calls and results of other wires, and return the losses.

    `whole` is True for a request. A response is one message and cannot hold results, so there calls
    become text even under the policy `call`.
    """
    losses: list[Loss] = []
    messages: list[Message] = []
    for message in conversation.messages:
        if message.wire == target or not any(_is_server_tool(part) for part in message.parts):
            messages.append(message)
        elif policy == "call" and whole:
            messages += _split(message, losses)
        else:
            lowered = (
                server_tool_as_text(part, policy, losses) if _is_server_tool(part) else part
                for part in message.parts
            )
            messages.append(
                replace(message, parts=tuple(part for part in lowered if part is not None))
            )
    if losses:
        conversation = replace(conversation, messages=tuple(messages))
    return conversation, losses


def _is_server_tool(part: Part) -> bool:
    return isinstance(part, Call | Result) and part.executor == "provider"


def server_tool_as_text(part: Part, policy: ServerToolPolicy, losses: list[Loss]) -> Part | None:
    """Return the part as text; None under the policy `drop`. Either is reported."""
    if policy == "drop":
        losses.append(Loss(part.path, "a tool the provider ran; dropped as asked"))
        return None
    losses.append(Loss(part.path, "a tool the provider ran; described in text"))
    shown = part
    if isinstance(part, Result):
        shown = replace(part, output=_readable(part.output))
    elif isinstance(part, Call) and not part.args.broken:
        # The same text, whether the wire sent the arguments as text or as a value.
        shown = replace(part, args=LazyJson.from_value(part.input))
    return Text(describe(shown), source=Source(part.raw, part.path, part.spec))


def _readable(output: object) -> JSON:
    """Return the output of a provider without its encrypted fields."""
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
    """Split an assistant message after each provider result, which becomes a tool message."""
    out: list[Message] = []
    parts: list[Part] = []
    for part in message.parts:
        if not _is_server_tool(part):
            parts.append(part)
            continue
        losses.append(Loss(part.path, "a tool the provider ran; sent as a call and its result"))
        if isinstance(part, Call):
            parts.append(replace(part, executor="client", family="function"))
        elif isinstance(part, Result):
            if parts:
                out.append(Message("assistant", tuple(parts)))
                parts = []
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
    if parts or not out:
        out.append(Message("assistant", tuple(parts)))
    out[0] = replace(out[0], source=Source(message.raw, message.path, message.spec))
    out[-1] = replace(out[-1], stop=message.stop)
    return [
        replace(new, source=replace(new.source, raw=UNSET)) if new is not out[0] else new
        for new in out
    ]
