"""The blocks of Ollama's chat: images, calls, results and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    NO_SOURCE,
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
    output_text,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import standard
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    raise_unexpected,
    read_id,
    text_or_none,
)
from toolwire.wires.families.chat.blocks import FUNCTION_CALL, TEXT, TOOL_MESSAGE
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.turn_results import TurnResults

NAME = "ollama"
ONE_TEXT = "a message has one text here, and its images after that"
TEXT_AFTER_CALL = "text after a call is moved before the calls here"
IMAGE_AFTER_CALL = "an image after a call is moved before the calls here"

# --- images ---------------------------------------------------------------------------------------

_BASE64_PREFIXES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
"""MIME type → the start of its base64 text, because the wire does not send the type."""


def _mime_type(data: str) -> str | None:
    types = _BASE64_PREFIXES.items()
    return next((mime for prefix, mime in types if data.startswith(prefix)), None)


def _read_images(message: Object, path: JsonPath) -> list[Part]:
    images = message.get("images")
    if images is None:
        return []
    if not isinstance(images, list):
        raise_unexpected(NAME, path + ("images",), (list, None), images)
    out: list[Part] = []
    for i, data in enumerate(images):
        image_path = path + ("images", i)
        if not isinstance(data, str):
            raise_unexpected(NAME, image_path, str, data)
        source = Source(data, image_path, IMAGE)
        out.append(Media("image", _mime_type(data), data, source=source))
    return out


def _write_image(media: Media, context: EncodeContext) -> JSON:
    if media.kind != "image" or media.data is None:  # the list holds only images
        context.report_loss(
            media, f"this wire does not accept this {media.kind}; the image is unchanged"
        )
        return media.raw if isinstance(media.raw, str) else ""
    data = standard(media.data)
    if data != media.data:
        context.report_loss(media, "URL-safe base64 is sent as standard base64")
    if media.mime is not None and _mime_type(data) != media.mime:
        context.report_loss(media, f"the MIME type of an image is not kept here: {media.mime}")
    return data


IMAGE = Block("images", part=Media, write=_write_image)


def _write_text_and_images(
    parts: Iterable[Part], context: EncodeContext, join: Callable[[list[Part]], str]
) -> Object:
    """The fields `content` and `images` of a message; any other part is described in the text."""
    texts: list[Part] = []
    images: list[JSON] = []
    for part in parts:
        if isinstance(part, Media) and part.kind == "image" and part.data is not None:
            images.append(_write_image(part, context))
            continue
        if isinstance(part, Text):
            if not part.text:
                continue
            if (texts or images) and not names_part(part):
                context.report_loss(part, ONE_TEXT)
        else:
            context.report_loss(part, f"a message cannot contain this here: {describe(part)[:80]}")
        texts.append(part)
    out: Object = {"content": join(texts)}
    return {**out, "images": images} if images else out


def _join_lines(texts: list[Part]) -> str:
    """Join the texts of a result, each on a separate line."""
    return "\n".join(map(describe, texts))


def _join_pieces(texts: list[Part]) -> str:
    """Join the texts of a model, which are pieces of one text, often of one sentence. A text that
    describes another part gets a separate line."""
    out = ""
    for part, previous in zip(texts, [None, *texts], strict=False):
        if previous is not None and (names_part(part) or names_part(previous)):
            out += "\n"
        out += describe(part)
    return out


def _join_paragraphs(texts: list[Part]) -> str:
    """Join the texts of a user with line breaks, or with a space if the next one continues the
    sentence."""
    out = ""
    for text in map(describe, texts):
        if out and not (out[-1].isspace() or text[0].isspace()):
            out += " " if text[0].islower() else "\n"
        out += text
    return out


def names_part(part: Part) -> bool:
    """True for a part that is written only as a description, because a message cannot hold it.
    Lowering has reported the loss."""
    source = part.source
    if not isinstance(part, Text):
        return True
    return source is not NO_SOURCE and source.spec is None and isinstance(source.raw, UnsetType)


# --- calls and results ----------------------------------------------------------------------------


def _write_call(call: Call, context: EncodeContext) -> JSON:
    """Write a call. A minted id is left out if order pairs the result as well."""
    call_id = context.wire_id(call)
    function: Object = {
        "name": context.name(call.name),
        "arguments": context.arguments_object(call),
    }
    return {"function": function} if call_id is None else {"id": call_id, "function": function}


def _read_result(message: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(message.get("tool_call_id"))
    output = CHAT.read_output(message.get("content"), path)
    name = text_or_none(message.get("tool_name")) or text_or_none(message.get("name"))
    source = Source(message, path, spec)
    images = _read_images(message, path)
    if not images:
        return Result(call_id, output, False, name, origin, source=source)
    parts = output if isinstance(output, tuple) else ()
    if output and not parts:
        text = output_text(output)
        parts = (Text(text, source=Source(raw=text, path=path + ("content",))),)
    return Result(call_id, (*parts, *images), False, name, origin, source=source)


def _write_result(result: Result, context: EncodeContext) -> JSON:
    """Write the message of a result with the name of its tool, and with an id only if its call has
    one."""
    out: Object = {"role": "tool", "content": "", "tool_name": context.result_name(result)}
    call_id = context.result_id(result)
    if not context.hides_id(call_id):
        out["tool_call_id"] = call_id
    output = context.output(result)
    if isinstance(output, tuple):
        return out | _write_text_and_images(output, context, _join_lines)
    return out | {"content": result.text}


CALLS = blocks(
    replace(
        FUNCTION_CALL,
        write=_write_call,
        inner=(("function", keys("index", "name", "arguments")),),
        discriminator={"path": "message.tool_calls[]"},
        ids=(Id("id", required=False), Id("function.index", "position", required=False)),
    )
)
RESULTS = blocks(
    replace(
        TOOL_MESSAGE,
        read=_read_result,
        write=_write_result,
        keys=keys("role", "content", "images", "tool_name", "name", "tool_call_id"),
        ids=(Id("tool_call_id", required=False),),
    )
)

# --- messages -------------------------------------------------------------------------------------


class OllamaChat(Chat, frozen=True, eq=False):
    """The chat shape with images beside the text."""

    def read_parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        parts = super().read_parts(message, content, path)
        first_call = sum(not isinstance(part, Call) for part in parts)
        return [*parts[:first_call], *_read_images(message, path), *parts[first_call:]]

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write a history with the results of a turn in the order of their calls.

        Most templates pair by order only.
        """
        out: list[JSON] = []
        turn = TurnResults(context)
        for message in messages:
            ordinal = context.ordinal
            native = self.write_native(message, context)
            others = [part for part in message.parts if not isinstance(part, Result)]
            if isinstance(native, UnsetType) and message.role != "assistant":
                turn.add([part for part in message.parts if isinstance(part, Result)])
            if message.role == "assistant" or others or not isinstance(native, UnsetType):
                out += self._write_results(turn, context)
            turn.follow(message)
            if not isinstance(native, UnsetType):
                out.append(native)
                turn.keep(message, ordinal)
            elif message.role == "assistant":
                out.append(self.write_assistant(message, context))
            elif others:
                role = "system" if message.role == "system" else "user"
                out.append(
                    {"role": role, **_write_text_and_images(others, context, _join_paragraphs)}
                )
        out += self._write_results(turn, context)
        turn.map_orphans()
        return out

    def _write_results(self, turn: TurnResults, context: EncodeContext) -> list[JSON]:
        return [self.write_result(result, context) for result in turn.take()]

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: text, images, reasoning, calls."""
        others: list[Part] = []
        reasoning: list[str] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(self.write_call(part, context))
            elif isinstance(part, Reasoning):
                reasoning.append(part.text)
            else:
                if calls:
                    context.report_loss(part, IMAGE_AFTER_CALL)
                others.append(part)
        text = _write_text_and_images(others, context, _join_pieces)
        out: Object = {"role": "assistant", **text}
        if reasoning:
            out["thinking"] = "\n".join(reasoning)
        return {**out, "tool_calls": calls} if calls else out


CHAT = OllamaChat(
    NAME,
    content=blocks(TEXT),  # the server refuses blocks, but clients of other chat servers send them
    calls=CALLS,
    results=RESULTS,
    message=Block(
        "message", part=Message, keys=keys("role", "content", "thinking", "images", "tool_calls")
    ),
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    reasoning_fields=("thinking",),
)
