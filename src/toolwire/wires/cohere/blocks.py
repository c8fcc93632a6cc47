"""The blocks of Cohere Chat: content, calls, results and messages."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, parse, text_of
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Output,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    keys,
    reasoning_reader,
    require_object,
    single_text,
    text_or_none,
)
from toolwire.wires.families.chat.blocks import (
    FUNCTION_CALL,
    IMAGE_URL,
    TEXT,
    TOOL_MESSAGE,
    name_in_text,
    text_block,
)
from toolwire.wires.families.chat.messages import Chat, has_calls, report_misplaced

NAME = "cohere"

# --- content --------------------------------------------------------------------------------------


def _thinking_block(text: str) -> Object:
    return {"type": "thinking", "thinking": text}


def _read_document(block: Object, path: JsonPath, spec: Block) -> Part:
    document = require_object(block["document"])
    data = document["data"]
    text = data if isinstance(data, str) else _only_text(data)
    title = data.get("title") if isinstance(data, dict) and text is not None else None
    return Media(
        "file",
        "application/json" if text is None else "text/plain",
        text=text_of(require_object(data)) if text is None else text,
        name=text_or_none(title),
        source=Source(block, path, spec),
    )


def _only_text(data: JSON) -> str | None:
    """The text of an object with no other field than a text and perhaps a title; otherwise None."""
    if not isinstance(data, dict) or not data.keys() <= {"title", "text"}:
        return None
    text, title = data.get("text"), data.get("title", "")
    return text if isinstance(text, str) and isinstance(title, str) else None


def _write_document(media: Media, context: EncodeContext) -> JSON:
    text = media.text
    if text is None:
        return name_in_text(media, context)
    title: Object = {} if media.name is None else {"title": media.name}
    document: Object = {"data": {**title, "text": text}}
    is_native = media.spec is CONTENT["document"]
    if is_native and media.mime == "application/json":
        try:
            document["data"] = require_object(parse(text))
        except (ValueError, TypeError):
            context.report_loss(media, "a document is a JSON object; this one is sent as its text")
    elif media.mime not in (None, "text/plain"):
        context.report_loss(media, f"a document has no MIME type here: {media.mime}")
    raw = media.source.raw
    original = raw.get("document") if is_native and isinstance(raw, dict) else None
    if isinstance(original, dict) and "id" in original:
        document["id"] = original["id"]
    return {"type": "document", "document": document}


CONTENT = blocks(
    replace(TEXT, deltas={"content.text": ("text", "text")}),
    Block(
        "thinking",
        part=Reasoning,
        read=reasoning_reader("thinking"),
        write=lambda part, _: _thinking_block(part.text),
        keys=keys("type", "thinking"),
        deltas={"content.thinking": ("thinking", "thinking")},
    ),
    IMAGE_URL,
    Block(
        "document",
        part=Media,
        read=_read_document,
        write=_write_document,
        keys=keys("type", "document"),
        inner=(("document", keys("data")),),
    ),
)
STREAMED_PLAN = Block(
    "tool_plan",
    part=Reasoning,
    read=reasoning_reader("tool_plan"),
    keys=keys("tool_plan"),
    deltas={"tool_plan": ("tool_plan", "tool_plan")},
)
"""The plan in a stream; in a body it is a field of the message, which the chat family reads."""

# --- calls and results ----------------------------------------------------------------------------


def _read_document_output(content: list[JSON]) -> Object | None:
    """The output of a result that is a single document without an id; otherwise None."""
    only = content[0] if len(content) == 1 else None
    document = only.get("document") if isinstance(only, dict) else None
    data = document.get("data") if isinstance(document, dict) else None
    if isinstance(data, dict) and _is_document(data) and only == _bare_document(data):
        return data
    return None


def _is_document(output: Output) -> bool:
    """True if an output is written as a document.

    An object with only a text, and perhaps a title, is not, because it would be read as a text
    document.
    """
    return isinstance(output, dict) and _only_text(output) is None


def _bare_document(data: Object) -> Object:
    return {"type": "document", "document": {"data": data}}


def _write_result(result: Result, context: EncodeContext) -> JSON:
    output = context.output(result)
    content: JSON
    if isinstance(output, str):
        content = output
    elif isinstance(output, tuple):
        written = (_write_result_part(part, context) for part in output)
        content = [block for block in written if block is not None]
    elif isinstance(output, dict) and _is_document(output):
        content = [_bare_document(output)]
    else:
        content = text_of(output)
    return {"role": "tool", "tool_call_id": context.result_id(result), "content": content}


def _write_result_part(part: Part, context: EncodeContext) -> JSON:
    is_native = any(part.spec is spec for spec in CONTENT.values())
    if part.original is None and is_native and isinstance(part.raw, dict):
        return part.raw
    if isinstance(part, Media) and part.text is not None:
        return _write_document(part, context)
    text = describe(part)
    return text_block(text) if text else None


CALLS = blocks(
    replace(
        FUNCTION_CALL,
        discriminator={"path": "message.tool_calls[]", "type": "function"},
        deltas={"tool_calls.function.arguments": ("arguments", "function.arguments")},
    )
)
RESULTS = blocks(
    replace(TOOL_MESSAGE, write=_write_result, keys=keys("role", "content", "tool_call_id"))
)

# --- messages -------------------------------------------------------------------------------------


class CohereChat(Chat, frozen=True, eq=False):
    """The chat family, with a plan beside the calls, and documents in results."""

    def read_output(self, content: JSON, path: JsonPath) -> Output:
        document = _read_document_output(content) if isinstance(content, list) else None
        return super().read_output(content, path) if document is None else document

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        context.record_result_form(result, flag=False, structure=_is_document(result.output))
        return _write_result(result, context)

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: plan, content, calls.

        Reasoning becomes the plan if the message has calls, otherwise a content block. In an answer
        it is always a block, because calls may still follow while it is streamed.
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
                    context.report_loss(part, "the plan is one text here, before the content")
                plans.append(part.text)
            else:
                content.append(_thinking_block(part.text))
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
    message=Block("message", part=Message, keys=keys("role", "content", "tool_calls", "tool_plan")),
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    reasoning_fields=("tool_plan",),
    reasoning_block=_thinking_block,
)
