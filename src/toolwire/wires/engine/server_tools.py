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
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import (
    APPROVAL,
    Call,
    Message,
    Part,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.errors import UsageError
from toolwire.wires.engine.specs import Wire

ServerToolPolicy: TypeAlias = Literal["auto", "text", "call", "drop"]
"""How calls of tools that another provider ran are written. `auto` is `text` in a request, so that
the model reads what happened, and `drop` in a response, whose text is for the user."""
POLICIES: tuple[str, ...] = get_args(ServerToolPolicy)
Form: TypeAlias = Literal["text", "call", "drop"]
_SCHEMAS = frozenset({"input_schema", "parameters"})
_MARKUP = frozenset({"search_suggestions", "searchSuggestions", "rendered_content"})
"""Fields with HTML that a client has to show and that is useless to a model."""


def form_of(policy: ServerToolPolicy, *, kind: str) -> Form:
    """Return how server tools are written in a body of a kind.

    A response is one message and cannot hold results, so `call` becomes `text` there. Nor do they
    become reasoning: clients send reasoning back, and the model would take them for its own
    thoughts.
    """
    if policy == "auto":
        return "text" if kind == "request" else "drop"
    return "text" if policy == "call" and kind != "request" else policy


def require_policy(policy: str, target: str) -> None:
    """Raise UsageError if the policy does not exist."""
    if policy not in POLICIES:
        options = ", ".join(POLICIES)
        raise UsageError(f"server_tools is one of {options}, not {policy!r}", wire=target)


def lower_server_tools(
    conversation: Conversation, target: Wire, policy: ServerToolPolicy, *, kind: str
) -> tuple[Conversation, list[Loss]]:
    """Replace the provider-executed calls and results of other wires, and return the losses."""
    form = form_of(policy, kind=kind)
    keeps_calls = target.hosts and kind == "response" and policy != "drop"
    answers = PartSet[Part]() if form == "call" else _client_results(conversation)
    losses: list[Loss] = []
    messages: list[Message] = []
    for message in conversation.messages:
        server_parts = [part for part in message.parts if _is_server_tool(part) or part in answers]
        if message.wire == target.name or not server_parts:
            messages.append(message)
        elif keeps_calls:
            messages.append(_tell_approvals(message, losses))
        elif form == "call":
            messages += _split(_tell_approvals(message, losses), losses)
        else:
            changed = PartSet(server_parts)
            lowered = (
                lower_server_tool(part, form, losses) if part in changed else part
                for part in message.parts
            )
            parts = tuple(part for part in lowered if part is not None)
            messages.append(replace(message, role=_role(message, parts), parts=parts))
    if losses:
        conversation = replace(conversation, messages=tuple(messages))
    return conversation, losses


def _is_server_tool(part: Part) -> bool:
    """Return True for a call that a provider runs, its result, and the approval of such a call."""
    return isinstance(part, Call | Result) and (
        part.executor == "provider" or part.family == APPROVAL
    )


def _client_results(conversation: Conversation) -> PartSet[Part]:
    """Return the results in the form of the client that belong to calls of a provider.

    Without its call, such a result could pair with a call of the client.
    """
    return PartSet(
        pair.result
        for pair in conversation.pairs()
        if pair.call is not None
        and pair.result is not None
        and pair.call.executor == "provider"
        and pair.result.executor == "client"
    )


def _role(message: Message, parts: tuple[Part, ...]) -> Role:
    """Return the role of a message after lowering: a tool message holds only results."""
    if message.role == "tool" and not any(isinstance(part, Result) for part in parts):
        return "user"
    return message.role


def _tell_approvals(message: Message, losses: list[Loss]) -> Message:
    parts = tuple(
        _approval_as_text(part, losses)
        if isinstance(part, Call | Result) and part.family == APPROVAL
        else part
        for part in message.parts
    )
    return replace(message, role=_role(message, parts), parts=parts)


def _approval_as_text(part: Call | Result, losses: list[Loss]) -> Part:
    losses.append(Loss(part.path, "this wire has no approvals; replaced by a text description"))
    if isinstance(part, Call):
        text = f"[approval of {part.name} with {part.arguments or '{}'} is requested]"
    else:
        decision = part.output.get("approve") if isinstance(part.output, dict) else None
        reason = part.output.get("reason") if isinstance(part.output, dict) else None
        text = "approved" if decision is True else "not approved"
        text = f"[{text}: {reason}]" if isinstance(reason, str) and reason else f"[{text}]"
    return Text(text, source=Source(part.raw, part.path, part.spec))


def lower_server_tool(part: Part, form: Form, losses: list[Loss]) -> Part | None:
    """Return a call or result as text, or None if it is left out, and report the loss.

    An approval is always text: the user has to know what the provider waits for.
    """
    if isinstance(part, Call | Result) and part.family == APPROVAL:
        return _approval_as_text(part, losses)
    if form == "drop":
        losses.append(Loss(part.path, "a tool that the provider ran; left out"))
        return None
    losses.append(Loss(part.path, "a tool that the provider ran; replaced by a text description"))
    shown = part
    if isinstance(part, Result):
        shown = replace(part, output=_readable(part.output))
    elif isinstance(part, Call) and not part.args.broken:
        # The text does not depend on whether the wire sent the arguments as text or as a value.
        shown = replace(part, args=LazyJson.from_value(part.input))
    return Text(describe(shown), source=Source(part.raw, part.path, part.spec))


def _readable(output: object) -> JSON:
    """Return the output of a provider without encrypted fields, markup and the schemas of tools."""
    if isinstance(output, dict):
        hidden = _MARKUP | _SCHEMAS if "name" in output else _MARKUP
        return {
            key: _readable(value)
            for key, value in output.items()
            if not key.startswith("encrypted_") and key not in hidden
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
        losses.append(
            Loss(part.path, "a tool that the provider ran; sent as a call and its result")
        )
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
