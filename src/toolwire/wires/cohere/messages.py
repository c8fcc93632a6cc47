"""The messages of Cohere Chat: those of the chat family, with a plan and documents."""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Message, Output, Reasoning, Result, Text
from toolwire.wires.cohere.blocks import (
    CALLS,
    CONTENT,
    MESSAGE,
    RESULTS,
    is_document,
    read_document_output,
    thinking_block,
    write_result,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.families.chat.blocks import text_block
from toolwire.wires.families.chat.messages import Chat, has_calls, report_misplaced, single_text

NAME = "cohere"


class CohereChat(Chat, frozen=True, eq=False):
    """The chat family, with a plan beside the calls and documents in results."""

    def read_output(self, content: JSON, path: JsonPath) -> Output:
        document = read_document_output(content) if isinstance(content, list) else None
        return super().read_output(content, path) if document is None else document

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        context.record_result_form(result, flag=False, structure=is_document(result.output))
        return write_result(result, context)

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: plan, content, calls.

        Reasoning is the plan if the message has calls, and a block of the content otherwise. In
        an answer it is always a block: while one is streamed, calls may still follow.
        """
        has_plan = context.kind == "request" and has_calls(message)
        plans: list[str] = []
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(self.write_call(part, context))
            elif isinstance(part, Text):
                if part.text:
                    content.append(text_block(part.text))
            elif not isinstance(part, Reasoning):
                report_misplaced(part, "assistant", context)
            elif has_plan:
                if content or calls or plans:
                    context.report_loss(part, "the plan is one text before the content here")
                plans.append(part.text)
            else:
                content.append(thinking_block(part.text))
        out: Object = {"role": "assistant"}
        if plans or (calls and not content):
            out["tool_plan"] = "\n".join(plans)
        if content or not calls:
            out["content"] = single_text(content) or "" if context.kind == "request" else content
        return {**out, "tool_calls": calls} if calls else out


CHAT = CohereChat(
    name=NAME,
    content=CONTENT,
    calls=CALLS,
    results=RESULTS,
    message=MESSAGE,
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    reasoning_fields=("tool_plan",),
    reasoning_block=thinking_block,
)
