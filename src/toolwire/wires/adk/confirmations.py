"""Write approvals of other wires as ADK's confirmation calls, and make new Events for a log."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_map import CallForm
from toolwire.conversation.json import JSON, get
from toolwire.conversation.parts import Approval, Call, Message, Part, Result, Role, Source
from toolwire.wires.adk.events import AGENT, CONFIRMATION, NAME
from toolwire.wires.engine.encode_context import EncodeContext


def new_event(role: Role, blocks: list[JSON]) -> JSON:
    """An Event for a message of another wire."""
    requests: list[JSON] = []
    for block in blocks:
        call_id = get(block, ("functionCall", "id"))
        if isinstance(call_id, str) and _is_confirmation(block, "functionCall"):
            requests.append(call_id)
    from_user = role in ("user", "system") or any(map(_is_confirmation, blocks))
    return {
        "author": "user" if from_user else AGENT,
        "content": {"role": "model" if role == "assistant" else "user", "parts": blocks},
        **({"longRunningToolIds": requests} if requests else {}),
    }


def _is_confirmation(block: JSON, field: str = "functionResponse") -> bool:
    return get(block, (field, "name")) == CONFIRMATION


def split_decisions(event: JSON) -> list[JSON]:
    """The Events for the results of a turn: decisions on approvals are the user's and come
    first."""
    blocks = get(event, ("content", "parts"))
    if not isinstance(blocks, list):
        return [event]
    decisions = [block for block in blocks if _is_confirmation(block)]
    results = [block for block in blocks if not _is_confirmation(block)]
    if not decisions or not results:
        return [event]
    return [new_event("tool", decisions), new_event("tool", results)]


def add_confirmations(messages: list[Message], context: EncodeContext) -> list[Message]:
    """The messages, with separate messages for the approvals that calls of other wires hold."""
    answered = {
        part.call_id for message in messages for part in message.parts if isinstance(part, Result)
    }
    out: list[Message] = []
    for message in messages:
        out.append(message)
        if message.wire == NAME:
            continue
        requests: list[Part] = []
        decisions: list[Part] = []
        for call in message.parts:
            if not isinstance(call, Call) or call.executor != "client" or call.approval is None:
                continue
            approval = call.approval
            # The approval was reported as an unknown field of the call, but it is written here.
            context.losses[:] = [loss for loss in context.losses if loss.path != approval.path]
            request = _request(call, approval, context)
            requests.append(request)
            if approval.granted is not None:
                decision = request.result({"confirmed": approval.granted})
                source = replace(decision.source, path=approval.path)
                decisions.append(replace(decision, source=source))
                if call.id not in answered:
                    decision_form = CallForm(approval="granted" if approval.granted else "refused")
                    context.record_call_form(call, decision_form)
            if approval.reason is not None:
                context.report_loss((*approval.path, "reason"), "a confirmation has no reason")
        if requests:
            out.append(Message("assistant", tuple(requests)))
        if decisions:
            out.append(Message("tool", tuple(decisions)))
    return out


def _request(call: Call, approval: Approval, context: EncodeContext) -> Call:
    """The call that requests approval of another call."""
    original: JSON = {
        "id": context.call_id(call),
        "name": context.name(call.name),
        "args": call.input or {},
    }
    return Call(
        approval.id,
        CONFIRMATION,
        {"originalFunctionCall": original, "toolConfirmation": {"hint": "", "confirmed": False}},
        approval_for=call.id,
        source=Source(path=approval.path),
    )
