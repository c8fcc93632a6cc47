"""Tools in plain text: reading and writing messages, and the tool definitions in system prompts."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.model import Conversation, Tool
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    keys,
    patch_message,
    raise_unexpected,
    read_block,
    read_name,
    require_object,
    text_or_none,
)
from toolwire.wires.text.assistant_text import AssistantText
from toolwire.wires.text.blocks import (
    CONTENT,
    MESSAGE,
    NAME,
    REASONING,
    ROLES,
    is_plain,
    is_text,
    spans_of,
    write_call,
    write_image,
    write_result_span,
    write_text,
)
from toolwire.wires.text.dialects import DEFAULT, DIALECTS
from toolwire.wires.text.tags import RESULT_TAGS, find_tools, write_tools

# --- reading --------------------------------------------------------------------------------------


def read_message(message: JSON, path: JsonPath) -> Message:
    """One message. Its content is a string, or a list of text and image blocks."""
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    if not isinstance(message.get("role", ""), str):
        raise_unexpected(NAME, path + ("role",), "a string", message["role"])
    role = role_of(message)
    parts: list[Part] = []
    reasoning = message.get("reasoning_content")
    if reasoning and isinstance(reasoning, str):
        source = Source(reasoning, path + ("reasoning_content",), REASONING)
        parts.append(Reasoning(reasoning, source=source))
    for content, content_path in content_of(message, path):
        if isinstance(content, str):
            parts += (span.part for span in spans_of(content, content_path, role))
        else:
            parts.append(read_block(NAME, CONTENT, content, content_path))
    return Message(role, tuple(parts), wire=NAME, source=Source(message, path, MESSAGE))


def role_of(message: Object) -> Role:
    """The role of a message; an unknown one counts as the user's."""
    return ROLES.get(str(message.get("role", "assistant")), "user")


def content_of(message: Object, path: JsonPath) -> list[tuple[JSON, JsonPath]]:
    """The content of a message with its paths: strings that may hold tags, and other blocks."""
    content, content_path = message.get("content"), path + ("content",)
    if content is None or isinstance(content, str):
        return [(content, content_path)] if content else []
    if not isinstance(content, list):
        raise_unexpected(NAME, content_path, "a string, a list or null", content)
    role = role_of(message)
    out: list[tuple[JSON, JsonPath]] = []
    for i, block in enumerate(content):
        text = block["text"] if isinstance(block, dict) and is_text(block) else None
        if isinstance(text, str) and not is_plain(text, role):
            out.append((text, content_path + (i, "text")))
        else:
            out.append((block, content_path + (i,)))
    return out


_TOOL_KEYS = keys("name", "description", "parameters", "strict")
TOOL = Block("tool", part=Tool, keys=_TOOL_KEYS)
WRAPPED_TOOL = Block(
    "function", part=Tool, keys=keys("type", "function"), inner=(("function", _TOOL_KEYS),)
)


def read_tools(messages: list[JSON]) -> list[Tool]:
    """The tools that are defined in system prompts."""
    tools: list[Tool] = []
    for i, message in enumerate(messages):
        if isinstance(message, dict) and _is_system(message):
            for text, path in content_of(message, ("messages", i)):
                section = find_tools(text) if isinstance(text, str) else None
                if section is not None:
                    tools += (_read_tool(tool, path) for tool in section.tools)
    return tools


def _is_system(message: Object) -> bool:
    return ROLES.get(str(message.get("role"))) == "system"


def _read_tool(tool: Object, path: JsonPath) -> Tool:
    function = tool.get("function")
    fields, spec = (function, WRAPPED_TOOL) if isinstance(function, dict) else (tool, TOOL)
    return Tool(
        read_name(fields.get("name")),
        description=text_or_none(fields.get("description")),
        schema=fields.get("parameters"),
        strict=flag_or_none(fields.get("strict")),
        source=Source(tool, path, spec),
    )


# --- messages of this wire ------------------------------------------------------------------------


def patch_own_message(
    message: Message, context: EncodeContext, read: Callable[[JSON, JsonPath], Message]
) -> JSON | UnsetType:
    """A message of this wire as it was read, with the edits of its parts.

    UNSET if the message is another wire's, or if parts were added, removed or moved.
    """
    patched = patch_message(message, context, read)
    return _rewrite_spans(message, context) if isinstance(patched, UnsetType) else patched


def _rewrite_spans(message: Message, context: EncodeContext) -> JSON | UnsetType:
    """The message with each edited part written into its own span."""
    raw = message.raw
    if message.wire != NAME or not isinstance(raw, dict):
        return UNSET
    originals = read_message(raw, message.path).parts
    if list(map(_identity, originals)) != list(map(_identity, message.parts)):
        return UNSET
    out: JSON = raw
    for text, path in reversed(content_of(raw, message.path)):
        if isinstance(text, str):
            spans = spans_of(text, path, role_of(raw))
            parts = [part for part in message.parts if part.path == path]
            for span, part in reversed(list(zip(spans, parts, strict=True))):
                if part.original is not None:
                    new = _write_span(part, message.role, context)
                    text = text[: span.start] + new + text[span.end :]
            out = put(out, path[len(message.path) :], text)
    for part in message.parts:
        spec = part.spec
        if isinstance(spec, Block) and spec.write is not None and part.original is not None:
            out = put(out, part.path[len(message.path) :], spec.write(part, context))
    return out


def _identity(part: Part) -> tuple[JsonPath, type[Part], JSON | UnsetType]:
    return part.path, type(part), part.raw


def _write_span(part: Part, role: Role, context: EncodeContext) -> str:
    """The new text of the span of an edited part."""
    old = part.raw if isinstance(part.raw, str) else ""
    if isinstance(part, Call) and isinstance(part.spec, Block):
        written = write_call(part, DIALECTS.get(part.spec.name, DEFAULT), context, old)
        if written is None:
            context.report_loss(part, "this dialect cannot express the edit; the call is unchanged")
        return old if written is None else written
    if isinstance(part, Result):
        return write_result_span(part, context, old)
    return write_text(part, role, context) if isinstance(part, Text) else describe(part)


# --- messages of other wires ----------------------------------------------------------------------


def write_assistant(message: Message, context: EncodeContext) -> Object:
    """An assistant message: texts and calls in order, each on a new line."""
    out: Object = {"role": "assistant", "content": ""}
    text = AssistantText(context)
    pieces: list[str] = []
    for part in message.parts:
        if isinstance(part, Call):
            pieces += text.add(part, write_new_call(part, context))
        elif isinstance(part, Text):
            if part.text.strip():
                pieces += text.add(part, write_text(part, "assistant", context))
            elif part.text:
                text.add_blank(part, part.text)
        elif isinstance(part, Reasoning) and part.text and context.kind == "response":
            if text.started:
                context.report_loss(part, "reasoning stands before all other content here")
            if "reasoning_content" in out:
                context.report_loss(
                    part, "a message has one reasoning text here; several are joined"
                )
            out["reasoning_content"] = f"{out.get('reasoning_content', '')}{part.text}"
        else:
            _report_unsupported(part, "an assistant message", context)
    out["content"] = "".join((*pieces, *text.end()))
    return out


def write_new_call(call: Call, context: EncodeContext) -> str:
    """A call as a block of its own."""
    return DEFAULT.write_block([write_call(call, DEFAULT, context, None) or ""])


def _report_unsupported(part: Part, place: str, context: EncodeContext) -> None:
    """Report a part of a message of this wire that was edited: lowering does not see it."""
    context.report_loss(part, f"{place} cannot hold this here: {describe(part)[:80]}")


def _write_content(parts: list[Part], role: Role, context: EncodeContext) -> JSON:
    """The content of a user or system message: a string, or blocks if it has images."""
    blocks: list[Object] = []
    for part in parts:
        if isinstance(part, Text):
            if part.text:
                blocks.append({"type": "text", "text": write_text(part, role, context)})
        elif isinstance(part, Media):
            blocks.append(require_object(write_image(part, context)))
        else:
            _report_unsupported(part, f"a {role} message", context)
    if any(block["type"] != "text" for block in blocks):
        return [*blocks]
    if len(blocks) > 1:
        context.report_loss(parts[0], "a message has one text here; several are joined")
    return "\n".join(str(block["text"]) for block in blocks)


def write_messages(conversation: Conversation, context: EncodeContext) -> list[JSON]:
    """The history; the results of a turn are in one user message, in the order of their calls."""
    out: list[JSON] = []
    results = _TurnResults(out, context)
    for message in conversation.messages:
        patched = patch_own_message(message, context, read_message)
        if message.role == "assistant" or not isinstance(patched, UnsetType):
            results.flush()
        results.note_role(message)
        if not isinstance(patched, UnsetType):
            out.append(patched)
            results.note_calls(message)
        elif message.role == "assistant":
            out.append(write_assistant(message, context))
        else:
            answers = [part for part in message.parts if isinstance(part, Result)]
            rest = [part for part in message.parts if not isinstance(part, Result)]
            results.pending += answers
            content = _write_content(rest, message.role, context)
            if content and answers and isinstance(content, str):
                results.flush(content)
            elif content:
                results.flush()
                role = "system" if message.role == "system" else "user"
                out.append({"role": role, "content": content})
    results.flush()
    return out


class _TurnResults:
    """The calls of a turn, and the results that are not written yet."""

    def __init__(self, out: list[JSON], context: EncodeContext) -> None:
        self.out = out
        self.context = context
        self.pending: list[Result] = []
        self._order: dict[str, int] = {}
        """The position of each call id among the calls of the turn."""
        self._in_assistant = False
        """True if the last message is the assistant's: the next one continues its turn."""

    def note_role(self, message: Message) -> None:
        """Start a new turn if this is the first assistant message of one; remember its calls."""
        continues, self._in_assistant = self._in_assistant, message.role == "assistant"
        if self._in_assistant:
            self._order = self._order if continues else {}
            for part in message.parts:
                if isinstance(part, Call):
                    self._order.setdefault(part.id, len(self._order))

    def note_calls(self, message: Message) -> None:
        """Register the calls of a message that is sent as it was read."""
        for part in message.parts:
            if isinstance(part, Call):
                self.context.called_names[part.id] = part.name
                self.context.ordinal += part.original is None

    def flush(self, text: str = "") -> None:
        """Write the pending results to a user message, followed by the text."""
        if not self.pending:
            return
        context, order = self.context, self._order
        results = sorted(self.pending, key=lambda result: order.get(result.call_id, len(order)))
        self.pending = []
        opening, closing = RESULT_TAGS[0]
        lines: list[str] = []
        for result in results:
            known = result.call_id in context.called_names
            if not known and context.hides_id(result.call_id):
                context.report_loss(
                    result, "the call of this result is unknown; here it pairs by name and order"
                )
            lines.append(f"{opening}{write_result_span(result, context, None)}{closing}")
        if text:
            lines.append(text)
        self.out.append({"role": "user", "content": "\n".join(lines)})


# --- tool definitions -----------------------------------------------------------------------------


def put_tools(tools: tuple[Tool, ...], messages: list[JSON], context: EncodeContext) -> list[JSON]:
    """The messages with the tools defined in the first system prompt.

    A section that defines tools is replaced; without one, a section is added.
    """
    definitions = [
        _write_tool(tool, context) for tool in tools if tool.kind in ("function", "custom")
    ]
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
    section = write_tools(definitions) if definitions else ""
    for i, message in enumerate(messages):
        if isinstance(message, dict) and _is_system(message):
            for text, path in content_of(message, ()):
                old = find_tools(text) if isinstance(text, str) else None
                if isinstance(text, str) and old is not None:
                    new = text[: old.start] + section + text[old.end :]
                    return put(messages, (i, *path), new)  # type: ignore[return-value]
    if not section:
        return messages
    first = messages[0] if messages else None
    if isinstance(first, dict) and first.get("role") == "system":
        prompt = first.get("content")
        if isinstance(prompt, str):
            content = f"{prompt}\n\n{section}" if prompt else section
            return [{**first, "content": content}, *messages[1:]]
    return [{"role": "system", "content": section}, *messages]


def _write_tool(tool: Tool, context: EncodeContext) -> Object:
    out: Object = {"name": context.name(tool.name)}
    if tool.description is not None:
        out["description"] = tool.description
    schema = context.schema_of(tool)
    if schema is not None:
        out["parameters"] = schema
    if tool.strict is not None:
        out["strict"] = tool.strict
    return out
