"""Tools in plain text: read and write messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, put
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
from toolwire.wires.engine.specs import Block, raise_unexpected, read_block, require_object
from toolwire.wires.families.chat.blocks import REASONING, text_block, write_image_url
from toolwire.wires.families.chat.messages import Chat, report_misplaced
from toolwire.wires.families.chat.turn_results import TurnResults
from toolwire.wires.text.assistant_text import ONE_TEXT, AssistantText
from toolwire.wires.text.blocks import (
    CALLS,
    CONTENT,
    MESSAGE,
    NAME,
    ROLES,
    is_plain,
    is_text,
    spans_of,
    write_call,
    write_result_span,
    write_text,
)
from toolwire.wires.text.dialect import Dialect
from toolwire.wires.text.dialects import DEFAULT, DIALECTS
from toolwire.wires.text.scanner import find_calls
from toolwire.wires.text.tags import RESULT_TAGS


class TextChat(Chat, frozen=True, eq=False):
    """The chat shape with calls and results in the text of messages."""

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        """Read a message. Its content is a string, or a list of text and image blocks."""
        if not isinstance(message, dict):
            raise_unexpected(NAME, path, dict, message)
        if not isinstance(message.get("role", ""), str):
            raise_unexpected(NAME, path + ("role",), str, message["role"])
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

    def rebuild(
        self, message: Message, original: Message, raw: Object, context: EncodeContext
    ) -> JSON | UnsetType:
        """Write each edited part into its own span. UNSET if parts were added, removed or moved."""
        if list(map(_identity, original.parts)) != list(map(_identity, message.parts)):
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

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write a history. The results of a turn share a user message, in the order of their
        calls."""
        messages = tuple(messages)
        if context.kind == "request":
            context.needs_minted_ids = partial(_needs_ids, messages, context.needs_minted_ids)
        out: list[JSON] = []
        turn = TurnResults(context)
        for message in messages:
            ordinal = context.ordinal
            native = self.write_native(message, context)
            if not isinstance(native, UnsetType):
                out += _write_results(turn, context)
                turn.follow(message)
                out.append(native)
                turn.keep(message, ordinal)
            elif message.role == "assistant":
                out += _write_results(turn, context)
                turn.follow(message)
                out.append(self.write_assistant(message, context))
            else:
                turn.follow(message)
                out += _write_user(message, turn, context)
        out += _write_results(turn, context)
        turn.map_orphans()
        return out

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: texts and calls in order, each on a new line."""
        out: Object = {"role": "assistant", "content": ""}
        text = AssistantText(context)
        pieces: list[str] = []
        for part in message.parts:
            if isinstance(part, Call):
                pieces += text.add(part, write_new_call(part, context, text))
            elif isinstance(part, Text):
                if part.text.strip():
                    text.add_tags(_find_tagged_text(part.text))
                    pieces += text.add(part, write_text(part, "assistant", context))
                elif part.text:
                    text.add_blank(part, part.text)
            elif isinstance(part, Reasoning) and part.text and context.kind == "response":
                out["reasoning_content"] = f"{out.get('reasoning_content', '')}{part.text}"
            else:
                report_misplaced(part, "assistant", context)
        out["content"] = "".join((*pieces, *text.end()))
        return out


def _needs_ids(messages: Iterable[Message], needs_minted_ids: Callable[[], bool]) -> bool:
    """True if ids that are optional have to be sent, also because a text would be read as calls or
    results: beside these, name and order no longer show which result belongs to which call."""
    return needs_minted_ids() or any(
        isinstance(part, Text) and not is_plain(part.text, message.role)
        for message in messages
        for part in message.parts
    )


CHAT = TextChat(
    NAME,
    content=CONTENT,
    calls=CALLS,
    results={},
    message=MESSAGE,
    roles=ROLES,
    reasoning_fields=("reasoning_content",),
)

# --- reading --------------------------------------------------------------------------------------


def role_of(message: Object) -> Role:
    """The role of a message; an unknown role counts as the user's."""
    return ROLES.get(str(message.get("role", "assistant")), "user")


def content_of(message: Object, path: JsonPath) -> list[tuple[JSON, JsonPath]]:
    """The content of a message with its paths: strings that may hold tags, and other blocks."""
    content, content_path = message.get("content"), path + ("content",)
    if content is None or isinstance(content, str):
        return [(content, content_path)] if content else []
    if not isinstance(content, list):
        raise_unexpected(NAME, content_path, (str, list, None), content)
    role = role_of(message)
    out: list[tuple[JSON, JsonPath]] = []
    for i, block in enumerate(content):
        text = block["text"] if isinstance(block, dict) and is_text(block) else None
        if isinstance(text, str) and not is_plain(text, role):
            out.append((text, content_path + (i, "text")))
        else:
            out.append((block, content_path + (i,)))
    return out


def _identity(part: Part) -> tuple[JsonPath, type[Part], JSON | UnsetType]:
    return part.path, type(part), part.raw


# --- writing --------------------------------------------------------------------------------------

_ANY_CALL = DEFAULT.write_block(['{"name":"f","arguments":{}}'])
"""A call that shows in which dialect calls are read after a text."""


def _write_span(part: Part, role: Role, context: EncodeContext) -> str:
    """The new text of the span of an edited part."""
    old = part.raw if isinstance(part.raw, str) else ""
    if isinstance(part, Call) and isinstance(part.spec, Block):
        written = write_call(part, DIALECTS.get(part.spec.name, DEFAULT), context, old)
        if written is None:
            context.report_loss(
                part, "this dialect cannot express the edit; the call stays unchanged"
            )
        return old if written is None else written
    if isinstance(part, Result):
        return write_result_span(part, context, old)
    return write_text(part, role, context) if isinstance(part, Text) else describe(part)


def _find_tagged_text(text: str) -> str:
    """The first block of a text that is read as calls; empty if there is none."""
    blocks = find_calls(text)[1]
    return next((text[block.start : block.end] for block in blocks if block.calls), "")


def _dialect_of(call: Call) -> Dialect:
    """The dialect in which a call was read, unless its calls fill the whole message; the default
    for a call of another wire."""
    name = call.spec.name if isinstance(call.spec, Block) else ""
    dialect = DIALECTS[name] if name in CALLS and CALLS[name] is call.spec else DEFAULT
    return DEFAULT if dialect.bare_start else dialect


def write_new_call(call: Call, context: EncodeContext, content: AssistantText) -> str:
    """Write a call as a separate block, in the dialect in which it was read. If something before it
    is read as calls, the block is written in that dialect; a call that would still not be read is
    reported."""
    tagged_text = content.tagged_text
    if tagged_text:
        dialect, _ = find_calls(f"{tagged_text}\n{_ANY_CALL}")
    else:
        dialect = DEFAULT if content.has_call else _dialect_of(call)
    if dialect is not DEFAULT:
        arguments = call.input if isinstance(call.input, dict) else {}
        if dialect.write(context.name(call.name), arguments, call.id, None) is None:
            dialect = DEFAULT
    block = dialect.write_block([write_call(call, dialect, context, None) or ""])
    if not tagged_text:
        content.tagged_text = "" if dialect is DEFAULT else block
        return block
    found = [piece for piece in find_calls(f"{tagged_text}\n{block}")[1] if piece.calls]
    if not found or found[-1].end <= len(tagged_text):
        context.report_loss(call, "the text before this call has tags that hide the call")
    return block


def _write_user(message: Message, turn: TurnResults, context: EncodeContext) -> list[JSON]:
    """Write a user or system message. Text after results goes into the message of the results."""
    results = [part for part in message.parts if isinstance(part, Result)]
    others = [part for part in message.parts if not isinstance(part, Result)]
    turn.add(results)
    content = _write_content(others, message.role, context)
    if not content:
        return []
    if results and isinstance(content, str):
        return _write_results(turn, context, content)
    role = "system" if message.role == "system" else "user"
    return [*_write_results(turn, context), {"role": role, "content": content}]


def _write_content(parts: list[Part], role: Role, context: EncodeContext) -> JSON:
    """The content of a user or system message: a string, or blocks if there are images."""
    blocks: list[Object] = []
    for part in parts:
        if isinstance(part, Text):
            if part.text:
                blocks.append(text_block(write_text(part, role, context)))
        elif isinstance(part, Media):
            blocks.append(require_object(write_image_url(part, context)))
        else:
            report_misplaced(part, role, context)
    if any(block["type"] != "text" for block in blocks):
        return [*blocks]
    if len(blocks) > 1:
        context.report_loss(parts[0], ONE_TEXT)
    return "\n".join(str(block["text"]) for block in blocks)


def _write_results(turn: TurnResults, context: EncodeContext, text: str = "") -> list[JSON]:
    """The user message with the results of the turn and the text after them; empty if there are
    none."""
    opening, closing = RESULT_TAGS[0]
    lines = [
        f"{opening}{write_result_span(result, context, None)}{closing}" for result in turn.take()
    ]
    if not lines:
        return []
    return [{"role": "user", "content": "\n".join([*lines, text] if text else lines)}]
