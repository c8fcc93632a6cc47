"""The messages of Cohere Chat: those of the chat family, with a plan and documents."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result, Text, describe
from toolwire.wires.cohere.blocks import (
    CALLS,
    CAPABILITIES,
    CONTENT,
    MESSAGE,
    RESULTS,
    is_document,
    write_call,
    write_result,
)
from toolwire.wires.cohere.settings import NAME
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import lower_part
from toolwire.wires.families.chat.messages import Chat

_PLAN = "tool_plan"


class CohereChat(Chat, frozen=True, eq=False):
    """The chat family, with a plan beside the calls and documents in results."""

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        message = write_result(result, context)
        context.record_result_form(result, flag=False, structure=is_document(result.output))
        return message

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: plan, content, calls.

        Reasoning is the plan if the message has calls, and a block of the content otherwise. In
        an answer it is always a block: while one is streamed, calls may still follow.
        """
        has_calls = any(isinstance(part, Call) for part in message.parts)
        plans: list[str] = []
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in _lower_parts(message, context):
            if isinstance(part, Call):
                calls.append(write_call(part, context))
            elif isinstance(part, Text):
                if part.text and calls:  # plain answers and messages of this wire: not lowered
                    context.report_loss(part, "text after a call stands before the calls here")
                if part.text:
                    content.append({"type": "text", "text": part.text})
            elif isinstance(part, Reasoning):
                if _is_plan(part, message, in_history=context.kind == "request" and has_calls):
                    if content or calls or plans:
                        context.report_loss(part, "the plan is one text before the content here")
                    plans.append(part.text)
                else:
                    content.append({"type": "thinking", "thinking": part.text})
            else:
                context.report_loss(
                    part, f"an assistant message cannot hold this here: {describe(part)[:80]}"
                )
        out: Object = {"role": "assistant"}
        if plans or (calls and not content):
            out[_PLAN] = "\n".join(plans)
        if content or not calls:
            out["content"] = _single_text(content) if context.kind == "request" else content
        return {**out, "tool_calls": calls} if calls else out


def _lower_parts(message: Message, context: EncodeContext) -> list[Part]:
    """The parts of a message, lowered if that was not done before.

    Parts that were added by hand to a message of this wire have not been lowered.
    """
    return [
        lowered
        for part in message.parts
        for lowered in lower_part(
            part, CAPABILITIES, "assistant", kind=context.kind, losses=context.losses
        )
    ]


def _is_plan(part: Reasoning, message: Message, *, in_history: bool) -> bool:
    """True if reasoning is written as the plan: where it was read, or beside calls."""
    if in_history and part.spec is not CONTENT["thinking"]:
        return True
    return message.wire == NAME and part.path[-1:] == (_PLAN,)


def _single_text(content: list[JSON]) -> JSON:
    """A single text as a plain string."""
    if not content:
        return ""
    only = content[0]
    if len(content) == 1 and isinstance(only, dict) and "text" in only:
        return only["text"]
    return content


CHAT = CohereChat(
    name=NAME,
    content=CONTENT,
    calls=CALLS,
    results=RESULTS,
    message=MESSAGE,
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    reasoning_fields=(_PLAN,),
    reasoning_block=lambda text: {"type": "thinking", "thinking": text},
)
