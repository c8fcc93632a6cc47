"""Tools for models that have none of their own: everything is said in plain text.

The body is that of a chat server without tools. The tools stand in a marked section of the system
prompt, calls as tagged text in what the assistant says, and the results of a turn together in one
user message. The dialects are rows elsewhere.

- several-parts-share-one-string: an edited part is written into its own span; the rest of the
  string stays to the letter.
- ids-are-in-the-tags: where a model leaves them out, results pair by name and by order; an invented
  id is not written.
- broken-tags-are-text: what does not parse is what the model said, and is kept as that.
- text-may-read-as-a-call: words of another wire that look like a call would be read as one here;
  that is reported.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool, Usage
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
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    Block,
    Wire,
    all_blocks,
    flag_or_none,
    keys,
    list_at,
    object_at,
    patch_message,
    raise_unexpected,
    read_block,
    read_name,
    require_object,
    text_or_none,
)
from toolwire.wires.families.chat.messages import REASONING, REASONING_JOINED
from toolwire.wires.text.dialects import CALLS, DEFAULT, write_block
from toolwire.wires.text.parts import (
    CALL_ROWS,
    CONTENT,
    MESSAGE,
    RESULT,
    ROLES,
    is_plain,
    is_text,
    spans_of,
    words_of,
    write_answer,
    write_call,
    write_image,
)
from toolwire.wires.text.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
)
from toolwire.wires.text.stream import stream
from toolwire.wires.text.tags import RESULTS, find_tools, write_tools

NAME = "text"

# --- reading messages -----------------------------------------------------------------------------


def read_message(message: JSON, path: JsonPath) -> Message:
    """One message. Its content is a string, or blocks of text and pictures."""
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    said = message.get("role", "assistant")
    if not isinstance(said, str):
        raise_unexpected(NAME, path + ("role",), "a string", said)
    role = _role(message)
    thought = message.get("reasoning_content")
    parts: list[Part] = []
    if thought and isinstance(thought, str):
        parts.append(
            Reasoning(thought, source=Source(thought, path + ("reasoning_content",), REASONING))
        )
    for text, where in _strings(message, path):
        if isinstance(text, str):
            parts += (span.part for span in spans_of(text, where, role))
        else:
            parts.append(read_block(NAME, CONTENT, text, where))
    return Message(role, tuple(parts), None, NAME, source=Source(message, path, MESSAGE))


def _role(message: Object) -> Role:
    return ROLES.get(str(message.get("role", "assistant")), "user")


def _strings(message: Object, path: JsonPath) -> list[tuple[JSON, JsonPath]]:
    """The strings of a message that may hold tags, and the blocks that hold none, each with its
    place."""
    content, where = message.get("content"), path + ("content",)
    if content is None or isinstance(content, str):
        return [(content, where)] if content else []
    if not isinstance(content, list):
        raise_unexpected(NAME, where, "a string, a list or null", content)
    role = _role(message)
    out: list[tuple[JSON, JsonPath]] = []
    for i, block in enumerate(content):
        text = (
            block
            if isinstance(block, str)
            else block.get("text")
            if isinstance(block, dict) and is_text(block)
            else None
        )
        tagged = isinstance(text, str) and not is_plain(text, role)
        place = where + (i,) if isinstance(block, str) or not tagged else where + (i, "text")
        out.append(
            (text, place)
            if isinstance(text, str) and (tagged or isinstance(block, str))
            else (block, place)
        )
    return out


def _tools(messages: list[JSON]) -> list[Tool]:
    """The tools offered in the system prompts."""
    out: list[Tool] = []
    for i, message in enumerate(messages):
        if isinstance(message, dict) and ROLES.get(str(message.get("role"))) == "system":
            for text, path in _strings(message, ("messages", i)):
                section = find_tools(text) if isinstance(text, str) else None
                out += (
                    _tool(tool, path) for tool in (section.tools if section is not None else ())
                )
    return out


_TOOL = keys("name", "description", "parameters", "strict")
TOOL = Block("tool", Tool, keys=_TOOL)
WRAPPED = Block("function", Tool, keys=keys("type", "function"), inner=(("function", _TOOL),))


def _tool(tool: Object, path: JsonPath) -> Tool:
    function = tool.get("function")
    inner, spec = (function, WRAPPED) if isinstance(function, dict) else (tool, TOOL)
    return Tool(
        read_name(inner.get("name")),
        text_or_none(inner.get("description")),
        inner.get("parameters"),
        flag_or_none(inner.get("strict")),
        source=Source(tool, path, spec),
    )


# --- writing messages -----------------------------------------------------------------------------


def _edited(message: Message, context: EncodeContext) -> JSON | UnsetType:
    """A message of this wire's own with its edited parts written into their spans; UNSET if parts
    came, went or moved."""
    raw = message.raw
    if message.wire != NAME or not isinstance(raw, dict):
        return UNSET
    now = list(message.parts)
    before = read_message(raw, message.path).parts
    if [(part.path, type(part), part.raw) for part in before] != [
        (part.path, type(part), part.raw) for part in now
    ]:
        return UNSET
    out: JSON = raw
    for text, path in reversed(_strings(raw, message.path)):
        if isinstance(text, str):
            spans = spans_of(text, path, _role(raw))
            mine = [part for part in now if part.path == path]
            for span, part in reversed(list(zip(spans, mine, strict=True))):
                if part.original is not None:
                    text = (
                        text[: span.start]
                        + _rewritten(part, message.role, context)
                        + text[span.end :]
                    )
            out = put(out, path[len(message.path) :], text)
    rest = [
        part
        for part in now
        if isinstance(part.spec, Block)
        and part.spec.write is not None
        and part.original is not None
    ]
    for part in rest:
        assert isinstance(part.spec, Block) and part.spec.write is not None
        out = put(out, part.path[len(message.path) :], part.spec.write(part, context))
    return out


def _rewritten(part: Part, role: Role, context: EncodeContext) -> str:
    """The new text of a span."""
    old = part.raw if isinstance(part.raw, str) else ""
    if isinstance(part, Call) and isinstance(part.spec, Block):
        written = write_call(part, CALLS.get(part.spec.name, DEFAULT), context, old)
        if written is None:
            context.report_loss(part, "this dialect cannot say it; the call stays as it was")
        return old if written is None else written
    if isinstance(part, Result):
        return write_answer(part, context, old)
    return words_of(part, role, context) if isinstance(part, Text) else describe(part)


def _assistant(message: Message, context: EncodeContext) -> Object:
    """What was said and called, in order, each on its own lines."""
    lines: list[str] = []
    out: Object = {"role": "assistant", "content": ""}
    blanks: list[Text] = []
    last: type[Part] | None = None
    for part in message.parts:
        if isinstance(part, Text) and not part.text.strip():
            blanks += [part] if part.text else []
        elif isinstance(part, Call | Text):
            last = _blanks(blanks, last, type(part), lines, context)
            if isinstance(part, Call):
                lines.append(write_block(DEFAULT, [write_call(part, DEFAULT, context, None) or ""]))
            else:
                lines.append(_line(part, last, context))
            last = type(part)
        elif isinstance(part, Reasoning) and part.text and context.kind == "response":
            if lines:
                context.report_loss(part, "reasoning stands before all else here")
            if "reasoning_content" in out:
                context.report_loss(part, REASONING_JOINED)
            out["reasoning_content"] = f"{out.get('reasoning_content', '')}{part.text}"
        else:
            context.report_loss(
                part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
            )
    _blanks(blanks, last, None, lines, context)
    return {**out, "content": "\n".join(lines)}


def _blanks(
    blanks: list[Text],
    last: type[Part] | None,
    following: type[Part] | None,
    lines: list[str],
    context: EncodeContext,
) -> type[Part] | None:
    """Write texts of nothing but blanks, unless they stand beside a call; what was written last."""
    for part in blanks:
        if Call in (last, following):
            context.report_loss(part, "blanks beside calls are not kept")
        else:
            lines.append(_line(part, last, context))
            last = Text
    blanks.clear()
    return last


def _line(text: Text, last: type[Part] | None, context: EncodeContext) -> str:
    if last is Text:
        context.report_loss(text, "a message is one text here; what is said in pieces is joined")
    return words_of(text, "assistant", context)


def _content(parts: list[Part], role: Role, context: EncodeContext) -> JSON:
    """What a user or the system says: a string, or blocks if there are pictures."""
    blocks: list[Object] = []
    pictures = False
    for part in parts:
        if isinstance(part, Text):
            if part.text:
                blocks.append({"type": "text", "text": words_of(part, role, context)})
        elif isinstance(part, Media):
            blocks.append(require_object(write_image(part, context)))
            pictures |= blocks[-1]["type"] != "text"
        else:
            context.report_loss(
                part, f"this wire cannot hold this in a user's message: {describe(part)[:80]}"
            )
    if pictures:
        return [*blocks]
    if len(blocks) > 1:
        context.report_loss(
            parts[0], "a message is one text here; what is said in pieces is joined"
        )
    return "\n".join(str(block["text"]) for block in blocks)


def _messages(conversation: Conversation, context: EncodeContext) -> list[JSON]:
    """The history; the results of a turn stand in one user message, in the order of their calls."""
    out: list[JSON] = []
    turn = _Turn(out, context)
    for message in conversation.messages:
        kept = patch_message(message, context, read_message)
        if isinstance(kept, UnsetType):
            kept = _edited(message, context)
        if message.role == "assistant" or not isinstance(kept, UnsetType):
            turn.close("")
        turn.asked(message)
        if not isinstance(kept, UnsetType):
            out.append(kept)
            turn.noted(message)
        elif message.role == "assistant":
            out.append(_assistant(message, context))
        else:
            results = [part for part in message.parts if isinstance(part, Result)]
            turn.results += results
            content = _content(
                [part for part in message.parts if not isinstance(part, Result)],
                message.role,
                context,
            )
            if content and results and isinstance(content, str):
                turn.close(content)
            elif content:
                turn.close("")
                out.append(
                    {"role": "system" if message.role == "system" else "user", "content": content}
                )
    turn.close("")
    return out


class _Turn:
    """The calls of a turn and the results that are still to be written."""

    def __init__(self, out: list[JSON], context: EncodeContext) -> None:
        self.out = out
        self.context = context
        self.places: dict[str, int] = {}
        self.asking = False
        """Whether the assistant spoke last: its next message belongs to the same turn."""
        self.results: list[Result] = []

    def asked(self, message: Message) -> None:
        asking, self.asking = self.asking, message.role == "assistant"
        if self.asking:
            self.places = self.places if asking else {}
            for part in message.parts:
                if isinstance(part, Call):
                    self.places.setdefault(part.id, len(self.places))

    def noted(self, message: Message) -> None:
        """Keep in mind the calls of a message that goes out as it came."""
        for part in message.parts:
            if isinstance(part, Call):
                self.context.called_names[part.id] = part.name
                self.context.ordinal += part.original is None

    def close(self, more: str) -> None:
        """Write the results out; `more` is what the user says after them."""
        results = sorted(self.results, key=lambda r: self.places.get(r.call_id, len(self.places)))
        self.results = []
        for result in results:
            if result.call_id not in self.context.called_names and self.context.hides_id(
                result.call_id
            ):
                self.context.report_loss(
                    result,
                    "nobody knows which call this answers; here its place and its name decide",
                )
        opening, closing = RESULTS[0]
        lines = [
            f"{opening}{write_answer(result, self.context, None)}{closing}" for result in results
        ]
        if lines:
            self.out.append(
                {"role": "user", "content": "\n".join([*lines, more] if more else lines)}
            )


def _offer(tools: tuple[Tool, ...], messages: list[JSON], context: EncodeContext) -> list[JSON]:
    """The messages with the tools in the first system prompt, in place of those that
    stood there.
    """
    offers: list[Object] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        given = (
            ("description", tool.description),
            ("parameters", tool.schema),
            ("strict", tool.strict),
        )
        offer: Object = {
            "name": context.name(tool.name),
            **{key: value for key, value in given if value is not None},
        }
        if tool.kind == "custom":
            offer["parameters"] = context.schema_of(tool)
        offers.append(offer)
    section = write_tools(offers) if offers else ""
    for i, message in enumerate(messages):
        if isinstance(message, dict) and ROLES.get(str(message.get("role"))) == "system":
            for text, path in _strings(message, ()):
                old = find_tools(text) if isinstance(text, str) else None
                if isinstance(text, str) and old is not None:
                    return put(messages, (i, *path), text[: old.start] + section + text[old.end :])  # type: ignore[return-value]
    first = messages[0] if messages else None
    if not section:
        return messages
    if (
        isinstance(first, dict)
        and first.get("role") == "system"
        and isinstance(first.get("content"), str)
    ):
        return [
            {**first, "content": "\n\n".join(filter(None, (str(first["content"]), section)))},
            *messages[1:],
        ]
    return [{"role": "system", "content": section}, *messages]


# --- whole bodies ---------------------------------------------------------------------------------

_CHOICE = keys("index", "message", "finish_reason")


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    given = list_at(NAME, body, ("messages",))
    messages = tuple([read_message(message, ("messages", i)) for i, message in enumerate(given)])
    settings = read_settings(REQUEST, body, keys("messages"))
    return Conversation(
        assign_ids(messages, seed="", ordered=True),
        tuple(_tools(given)),
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("choices", "object"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    for i, choice in enumerate(list_at(NAME, body, ("choices",))):
        path: JsonPath = ("choices", i, "message")
        message = _read_answer(object_at(NAME, body, path), path)
        messages.append(replace(message, stop=_stop(choice, message)))
        extra += [
            ("choices", i, key)
            for key, value in require_object(choice).items()
            if key not in _CHOICE and value is not None
        ]
    seed = text_or_none(body.get("id")) or ""
    return Conversation(
        assign_ids(tuple(messages), seed=seed, ordered=True),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=tuple(extra), setting_paths=settings.places, ordered=True
        ),
    )


def _read_answer(message: JSON, path: JsonPath) -> Message:
    """Whatever role it claims, an answer is the assistant's."""
    return replace(read_message(message, path), role="assistant")


def _stop(choice: JSON, message: Message) -> str | None:
    """Why it ended: a server that knows no tools says `stop` after a call, too."""
    reason = get(choice, ("finish_reason",))
    stop = (
        FINISH_REASON_FROM_WIRE.get(reason, reason) if reason and isinstance(reason, str) else None
    )
    return (
        "tool" if stop == "stop" and any(isinstance(part, Call) for part in message.parts) else stop
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    messages = _messages(conversation, context)
    if conversation.wire != NAME or not conversation.same_tools:
        messages = _offer(conversation.tools, messages, context)
    body["messages"] = messages
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    usage = conversation.settings.get("usage")
    if isinstance(usage, Usage) and (usage.cached, usage.cache_write, usage.reasoning) != (
        None,
        None,
        None,
    ):
        context.report_loss(
            conversation.source.setting_paths.get("usage", ("usage",)),
            "tokens of a cache or of reasoning are not counted apart here",
        )
    for tool in conversation.tools:
        context.report_loss(tool, "an answer offers no tools")
    seed = body.get("id")
    context.seed = seed if isinstance(seed, str) else ""
    choices: list[JSON] = []
    for i, message in enumerate(conversation.messages):
        kept = patch_message(message, context, _read_answer)
        if isinstance(kept, UnsetType):
            kept = _edited(message, context)
        if isinstance(kept, UnsetType):
            kept = _assistant(message, context)
        old = (
            get(conversation.source.body, message.path[:-1]) if conversation.wire == NAME else UNSET
        )
        frame: Object = (
            {**old}
            if isinstance(old, dict)
            else {"index": i, "finish_reason": _word(message, context)}
        )
        choices.append({**frame, "message": kept})
    return {**body, "choices": choices}


def _word(message: Message, context: EncodeContext) -> str:
    """Why it ended, in this wire's words."""
    if message.stop == "tool" and any(isinstance(part, Call) for part in message.parts):
        return "stop"
    return (
        write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
        or "stop"
    )


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: only tags tell it from a plain chat."""
    if not isinstance(body, dict):
        return 0
    messages, choices = body.get("messages"), body.get("choices")
    if not isinstance(messages, list):
        framed = (
            [choice for choice in choices if isinstance(choice, dict)]
            if isinstance(choices, list)
            else []
        )
        messages = [choice.get("message") for choice in framed]
    marks: set[str] = set()
    for message in messages:
        if (
            not isinstance(message, dict)
            or "tool_calls" in message
            or message.get("role") == "tool"
        ):
            return 0
        role = _role(message)
        if isinstance(message.get("content"), str | list):
            marks |= {
                role
                for text, _ in _strings(message, ())
                if isinstance(text, str) and not is_plain(text, role)
            }
    return min(len(marks) + 1, 3) if marks else 0


WIRE = Wire(
    NAME,
    "Tools in plain text",
    all_blocks(CONTENT, CALL_ROWS, (RESULT,)),
    read,
    write,
    match_score,
    stream(write),
)
