"""The parts of contents: which block specs a wire has, and how contents are read and written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import UNSET

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, Object, snake
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
    PLACEHOLDER_SIGNATURE,
    Call,
    Media,
    Message,
    Opaque,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
    output_text,
)
from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by, mime_of, standard
from toolwire.wires.engine.part_lowering import takes_signature
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    Id,
    blocks,
    opaque,
    opaque_text,
    raise_unexpected,
    read_id,
    read_name,
    read_value,
    require_object,
    require_string,
    text_or_none,
    unread_message,
)
from toolwire.wires.families.contents.responses import is_wrapper, read_response, write_response
from toolwire.wires.families.contents.server_tools import (
    write_code,
    write_code_result,
    write_tool_call,
    write_tool_response,
)
from toolwire.wires.families.contents.spelling import get_field, spellings

_CODE_EXECUTION = "code_execution"
"""The tool name of the provider's code interpreter."""
_MESSAGE = Block("content", part=Message, keys=spellings("role", "parts"))
_PLAIN = Block("content", part=Text, write=lambda part, context: part.text)
"""Content that is a plain string."""
_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "assistant": "assistant",
    "function": "user",
    "system": "system",
}
_MEDIA = MediaSupport(image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=DATA_OR_URL)
_RESULT_MEDIA = MediaSupport(  # a text document becomes part of the result's text
    image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=DATA_OR_URL | {"text"}
)
CAPABILITIES = Capabilities(
    refusals=False,
    media={"system": _MEDIA, "user": _MEDIA, "assistant": _MEDIA, "result": _RESULT_MEDIA},
    media_names=frozenset(),
    kind_by_type=DATA_OR_URL,
    system_anywhere=False,
    strict_tools=False,
    usage_fields=frozenset({"cached", "reasoning"}),
    reasoning_signed_by="contents",  # a log of an agent has the parts of its model
)
"""The capabilities of every wire of this shape."""


# --- text and media -------------------------------------------------------------------------------


def signature_of(block: Object) -> str | None:
    """The signature of a part."""
    if len(block) == 1:
        return None
    return text_or_none(block.get("thoughtSignature") or block.get("thought_signature"))


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    source = Source(block, path, spec, None, len(block) == 1)
    if spec.name == "thought":
        text = require_string(block.get("text", ""))
        return Reasoning(text, signature=signature_of(block), source=source)
    return Text(require_string(block["text"]), signature=signature_of(block), source=source)


def text_block(part: Part, text: str) -> JSON:
    """The block of a text or of reasoning, with that text."""
    return {"text": text, "thought": True} if isinstance(part, Reasoning) else {"text": text}


def _write_text(part: Text | Reasoning, context: EncodeContext) -> JSON:
    return text_block(part, part.text)


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    media = require_object(get_field(block, spec.name))
    mime = text_or_none(get_field(media, "mimeType"))
    inline = spec.name == "inlineData"
    return Media(
        kind_by(mime),
        mime,
        data=standard(require_string(media["data"])) if inline else None,
        url=None if inline else require_string(get_field(media, "fileUri")),
        name=text_or_none(get_field(media, "displayName")),
        signature=signature_of(block),
        source=Source(block, path, spec),
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    mime = mime_of(media)
    if media.data is None and media.url is None:
        # An edit of a block of this wire: lowering replaces media of other wires.
        context.report_loss(media, "media without data or URL; replaced by a text description")
        return {"text": describe(media)}
    if media.data is not None:
        return {"inlineData": {"mimeType": mime or "application/octet-stream", "data": media.data}}
    return {"fileData": {"fileUri": media.url, **({"mimeType": mime} if mime else {})}}


# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    call = require_object(get_field(block, spec.name))
    call_id, origin = read_id(call.get("id"))
    if spec.name == "executableCode":
        name = _CODE_EXECUTION
        arguments = LazyJson({key: call[key] for key in ("language", "code") if key in call})
    else:
        name = read_name(get_field(call, "toolType" if spec.name == "toolCall" else "name"))
        arguments = read_value(call.get("args"))
    is_alone = len(block) == 1  # no field stands beside the call
    is_complete = (
        spec.name == "functionCall"
        and is_alone
        and len(call) == 3
        and origin == "wire"
        and name != ""
        and "args" in call
    )
    return Call(
        call_id,
        name,
        arguments,
        origin,
        spec.family,
        spec.executor,
        signature=None if is_alone else signature_of(block),
        source=Source(block, path, spec, None, is_complete),
    )


def _response_and_media(
    result: Result, context: EncodeContext, *, wrapper: str = ""
) -> tuple[JSON, list[JSON]]:
    """The `response` and the `parts` of a result; `wrapper` is the name in its wrapper."""
    output = context.output(result)
    media: list[JSON] = []
    if isinstance(output, tuple):
        others: list[Part] = []
        for part in output:
            if isinstance(part, Media) and (part.data is not None or part.url is not None):
                media.append(_write_media(part, context))
                continue
            others.append(part)
            if not isinstance(part, Text | Media) or part.text is None:
                # An edit of a result of this wire: lowering replaces parts of other results.
                context.report_loss(part, f"a result cannot contain this here: {describe(part)}")
        only = others[0].raw if len(others) == 1 and others[0].spec is None else UNSET
        output = only if isinstance(only, dict) else "\n".join(map(describe, others))
    return write_response(output, error=context.is_error(result), wrapper=wrapper), media


# --- block specs ----------------------------------------------------------------------------------

_CODE, _SERVER_TOOL = "code-execution", "generic-server-tool"
_READERS: dict[type[Part], Callable[[Object, JsonPath, Block], Part]] = {
    Text: _read_text,
    Reasoning: _read_text,
    Media: _read_media,
    Call: _read_call,
}


def _part(
    name: str,
    part: type[Part],
    *,
    write: Callable[..., JSON],
    fields: str = "",
    family: str = "",
    read: Callable[[Object, JsonPath, Block], Part] | None = None,
) -> Block:
    """The spec of the part with the field `name`, and the fields inside."""
    known = spellings(*fields.split())
    return Block(
        name,
        part=part,
        read=read or _READERS[part],
        write=write,
        keys=spellings("text" if name == "thought" else name, "thoughtSignature", "thought"),
        inner=((name, known), (snake(name), known)) if fields else (),
        discriminator={"part_field": name} if family else {},
        family=family,
        executor="client" if family in ("", "function") else "provider",
        ids=(Id("id", required=False, nullable=True),) if family else (),
        signed_by=CAPABILITIES.reasoning_signed_by if name == "functionCall" else "",
    )


class ContentParts:
    """Reads and writes the parts of one wire. The field of a part shows its type.

    Args:
        name: The wire's name.
        hidden_prefix: The prefix of ids that a client made for its own log, as in the capabilities.
    """

    __slots__ = ("_by_field", "_hidden_prefix", "blocks", "name", "writers")

    def __init__(self, name: str, *, hidden_prefix: str = "") -> None:
        self.name = name
        self._hidden_prefix = hidden_prefix
        call, result = partial(_part, part=Call), partial(_part, part=Result, read=self.read_result)
        self.blocks = blocks(
            _part("text", Text, write=_write_text),
            _part("thought", Reasoning, write=_write_text),
            _part("inlineData", Media, write=_write_media, fields="mimeType data displayName"),
            _part("fileData", Media, write=_write_media, fields="mimeType fileUri displayName"),
            call("functionCall", write=self.write_call, fields="id name args", family="function"),
            result(
                "functionResponse",
                write=self.write_result,
                fields="id name response parts",
                family="function",
            ),
            call("executableCode", write=write_code, fields="id language code", family=_CODE),
            result(
                "codeExecutionResult",
                write=write_code_result,
                fields="id outcome output",
                family=_CODE,
            ),
            call("toolCall", write=write_tool_call, fields="id toolType args", family=_SERVER_TOOL),
            result(
                "toolResponse",
                write=write_tool_response,
                fields="id toolType response",
                family=_SERVER_TOOL,
            ),
        )
        self._by_field = {
            field: spec for spec in self.blocks.values() for field in (spec.name, snake(spec.name))
        }
        self.writers: dict[type[Part], Callable[..., JSON]] = {
            Text: lambda part, context: {"text": part.text} if part.text else None,
            Media: _write_media,
            Call: self.write_call,
            Result: self.write_result,
            Reasoning: _write_text,
            Opaque: lambda part, context: part.value,
        }
        """The functions that write parts; they return None if there is no block."""

    # --- reading ---

    def read_content(self, content: JSON, path: JsonPath, role: Role | None = None) -> Message:
        """Read one content. A given `role` replaces its role, and then it may be plain text."""
        name = self.name
        if isinstance(content, str) and role is not None:
            text = Text(content, source=Source(content, path, _PLAIN))
            return Message(role, (text,), None, name, source=Source(content, path, _MESSAGE))
        if not isinstance(content, dict):
            raise_unexpected(name, path, dict, content)
        if role is None:
            named = content.get("role") or "user"
            if not isinstance(named, str) or (role := _ROLES.get(named)) is None:
                return unread_message(name, named, content, path)
        parts = content.get("parts")
        if parts is not None and not isinstance(parts, list):
            raise_unexpected(name, (*path, "parts"), list, parts)
        read, inside = self.read_part, path + ("parts",)
        read_parts = tuple([read(part, inside + (i,)) for i, part in enumerate(parts or ())])
        is_complete = parts is not None and len(content) == 2 and "role" in content
        source = Source(content, path, _MESSAGE, None, is_complete)
        return Message(role, read_parts, None, name, source=source)

    def read_part(self, block: JSON, path: JsonPath) -> Part:
        """Read one part; a text with `thought` is reasoning. Null fields count as absent."""
        if not isinstance(block, dict):
            return opaque_text(self.name, block, path)
        is_thought = block.get("thought") is True
        for field, value in block.items():
            spec = None if value is None else self._by_field.get(field)
            if spec is None or spec.read is None or (field == "thought") is not is_thought:
                continue
            try:
                return spec.read(block, path, spec)
            except UNREADABLE:
                break
        return opaque(next((name for name in block if block[name] is not None), ""), block, path)

    def read_result(self, block: Object, path: JsonPath, spec: Block) -> Part:
        """Read the result of a function, of code, or of a tool that the provider ran."""
        answer = require_object(get_field(block, spec.name))
        call_id, origin = read_id(answer.get("id"))
        name: str | None = _CODE_EXECUTION
        error = False
        if spec.name == "functionResponse":
            name = text_or_none(answer.get("name"))
            spelling = spec.name if spec.name in block else snake(spec.name)
            output, error = self._read_response(answer, (*path, spelling, "parts"))
        elif spec.name == "toolResponse":
            name = read_name(get_field(answer, "toolType"))
            output = answer.get("response")
        else:
            output = text_or_none(answer.get("output")) or ""
            error = answer.get("outcome") not in (None, "OUTCOME_OK")
        is_complete = (
            spec.name == "functionResponse"
            and len(block) == 1
            and len(answer) == 3
            and origin == "wire"
            and name is not None
            and "response" in answer
        )
        return Result(
            call_id,
            output,
            error,
            name,
            origin,
            spec.family,
            spec.executor,
            signature=signature_of(block),
            source=Source(block, path, spec, None, is_complete),
        )

    def _read_response(self, answer: Object, media_path: JsonPath) -> tuple[Output, bool]:
        """The output of a function with its media, and whether it is an error."""
        output, error = read_response(answer)
        media = answer.get("parts")
        if not isinstance(media, list) or not media:
            return output, error
        paths = [(*media_path, i) for i in range(len(media))]
        parts = [
            self.read_part(part, path) if isinstance(part, dict | str) else opaque("", part, path)
            for path, part in zip(paths, media, strict=True)
        ]
        if output not in ({}, ""):
            # The text keeps the object that it was made from, which is written back as an object.
            raw = output if isinstance(output, dict) else UNSET
            parts.insert(0, Text(output_text(output), source=Source(raw=raw)))
        return tuple(parts), error

    # --- writing ---

    def write_call(self, call: Call, context: EncodeContext) -> JSON:
        """Write a call, with its id unless the id is minted or hidden."""
        block: Object = {}
        if context.no_mapping and not context.may_hide_ids:
            context.ordinal += 1
            context.record_name(call)
            block["id"] = call.id
        else:
            call_id = self._id_to_write(call, context)
            if call_id is not None:
                block["id"] = call_id
        block["name"] = context.name(call.name) if context.names else call.name
        block["args"] = context.arguments_object(call)
        if call.signature == PLACEHOLDER_SIGNATURE or takes_signature(call, CAPABILITIES):
            return {"functionCall": block, "thoughtSignature": call.signature}
        return {"functionCall": block}

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        """Write a result under its function's name, with an id only if its call has one."""
        call_id, output = result.call_id, result.output
        name = context.result_name(result)
        if (
            context.no_mapping
            and output.__class__ is str
            and not result.error
            and not context.may_hide_ids
            and result.source.spec is not self.blocks["functionResponse"]
        ):
            plain: Object = {"name": name, "id": call_id, "response": {"output": output}}
            return {"functionResponse": plain}
        block: Object = {"name": name}
        sent_id = context.result_id(result)
        if self._is_hidden(sent_id, context):
            answered = f"={sent_id}"
            if answered in context.called_names:
                context.report_loss(
                    result, "without an id, a second result cannot be paired with its call"
                )
            context.called_names[answered] = ""
        elif not context.hides_id(sent_id):
            block["id"] = sent_id
        elif call_id not in context.called_names:
            context.report_loss(
                result, "a result without a call and without an id may be paired with another call"
            )
        wrapper = name if self._has_wrapper(result) else ""
        block["response"], media = _response_and_media(result, context, wrapper=wrapper)
        if media:
            block["parts"] = media
        return {"functionResponse": block}

    def _has_wrapper(self, result: Result) -> bool:
        """True if a result was read from this wire, and its client had wrapped the output."""
        block, spec = result.raw, self.blocks["functionResponse"]
        if result.spec is not spec or not isinstance(block, dict):
            return False
        answer = get_field(block, spec.name)
        return isinstance(answer, dict) and is_wrapper(answer)

    def _id_to_write(self, call: Call, context: EncodeContext) -> str | None:
        """The id of a call; None if it is minted or hidden."""
        call_id = context.wire_id(call)
        if call_id is None or not self._is_hidden(call_id, context):
            return call_id
        # A reader of the body mints an id instead; the id map leads back to the original.
        minted = mint(context.seed, context.ordinal - 1, context.name(call.name))
        context.sent_ids[minted] = call.id
        return None

    def _is_hidden(self, call_id: str, context: EncodeContext) -> bool:
        """True for an id of the client's log that pairing does not need."""
        prefix = self._hidden_prefix
        return bool(prefix) and call_id.startswith(prefix) and not context.sends_minted_ids()
