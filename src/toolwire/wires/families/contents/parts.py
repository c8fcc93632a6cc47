"""The parts that Gemini's wire and the wires built on it have in common: one row per part type, and
how contents hold them.

A wire of this family makes its own tables with `parts`. What differs is the wire's name, and which
ids it hides: those that some client made up for itself and takes off again before it speaks this
wire. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct

from toolwire.conversation.ids import MINTED, mint
from toolwire.conversation.json import JSON, JsonPath, Object, snake
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
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
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by, mime_of, standard
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    Id,
    blocks,
    opaque,
    raise_unexpected,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.contents.settings import keys, pick


def seal_of(block: Object) -> str | None:
    """The signature on a part."""
    return text_or_none(block.get("thoughtSignature") or block.get("thought_signature"))


# --- parts ----------------------------------------------------------------------------------------


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    held = require_object(pick(block, spec.name))
    mime, name = text_or_none(pick(held, "mimeType")), text_or_none(pick(held, "displayName"))
    if spec.name == "inlineData":
        return Media(
            kind_by(mime),
            mime,
            standard(require_string(held["data"])),
            name=name,
            signature=seal_of(block),
            source=Source(block, path, spec),
        )
    return Media(
        kind_by(mime),
        mime,
        url=require_string(pick(held, "fileUri")),
        name=name,
        signature=seal_of(block),
        source=Source(block, path, spec),
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    mime = mime_of(media)
    if media.name is not None:
        context.report_loss(media, "media have no name here")
    if mime is None and media.kind != "file" and (media.data is not None or media.url is not None):
        context.report_loss(media, f"without a MIME type nothing says that this is {media.kind}")
    if media.data is not None:
        return {"inlineData": {"mimeType": mime or "application/octet-stream", "data": media.data}}
    if media.url is not None:
        return {"fileData": {"fileUri": media.url, **({"mimeType": mime} if mime else {})}}
    if media.text is not None:
        context.report_loss(media, "a text document is sent as text")
    else:
        context.report_loss(media, "a file id of another provider; it is named in text")
    return {"text": describe(media)}


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    call = require_object(pick(block, "functionCall"))
    one, origin = read_id(call.get("id"))
    return Call(
        one,
        read_name(call.get("name")),
        _args(call),
        origin,
        signature=seal_of(block),
        source=Source(block, path, spec),
    )


def _args(call: Object) -> LazyJson:
    given = call.get("args")
    return LazyJson("") if given is None else LazyJson.from_value(given)


def _answered(result: Result, out: Object, context: EncodeContext) -> JSON:
    """The response with what the result says: an object as it is, anything else as `output` or
    `error`."""
    output = context.output(result)
    media: list[Media] = []
    if isinstance(output, tuple):
        media = [
            part
            for part in output
            if isinstance(part, Media) and (part.data is not None or part.url is not None)
        ]
        said = [part for part in output if part not in media]
        for part in said:
            if not isinstance(part, Text) and not (
                isinstance(part, Media) and part.text is not None
            ):
                context.report_loss(
                    part, f"a response cannot hold this here but as text: {describe(part)[:80]}"
                )
        held = said[0].raw if len(said) == 1 and said[0].spec is None else UNSET
        output = held if isinstance(held, dict) else "\n".join(map(describe, said))
    failed = context.is_error(result)
    if (
        isinstance(output, dict)
        and not failed
        and not (len(output) == 1 and ("output" in output or "error" in output))
    ):
        out["response"] = output
    else:
        out["response"] = {"error" if failed else "output": output}
    if media:
        out["parts"] = [_write_media(part, context) for part in media]
    return {"functionResponse": out}


def _read_code(block: Object, path: JsonPath, spec: Block) -> Part:
    code = require_object(pick(block, "executableCode"))
    one, origin = read_id(code.get("id"))
    given: Object = {key: code[key] for key in ("language", "code") if key in code}
    return Call(
        one,
        "code_execution",
        LazyJson.from_value(given),
        origin,
        "code-execution",
        "provider",
        signature=seal_of(block),
        source=Source(block, path, spec),
    )


def _write_code(call: Call, context: EncodeContext) -> JSON:
    return {"executableCode": call.input}


def _read_code_result(block: Object, path: JsonPath, spec: Block) -> Part:
    done = require_object(pick(block, "codeExecutionResult"))
    one, origin = read_result_id(done.get("id"))
    outcome = done.get("outcome")
    failed = outcome is not None and outcome != "OUTCOME_OK"
    return Result(
        one,
        text_or_none(done.get("output")) or "",
        failed,
        "code_execution",
        origin,
        "code-execution",
        "provider",
        signature=seal_of(block),
        source=Source(block, path, spec),
    )


def _write_code_result(result: Result, context: EncodeContext) -> JSON:
    outcome = "OUTCOME_FAILED" if result.error else "OUTCOME_OK"
    return {"codeExecutionResult": {"outcome": outcome, "output": result.text}}


def _read_tool_call(block: Object, path: JsonPath, spec: Block) -> Part:
    call = require_object(pick(block, "toolCall"))
    one, origin = read_id(call.get("id"))
    return Call(
        one,
        read_name(pick(call, "toolType")),
        _args(call),
        origin,
        "generic-server-tool",
        "provider",
        signature=seal_of(block),
        source=Source(block, path, spec),
    )


def _read_tool_response(block: Object, path: JsonPath, spec: Block) -> Part:
    done = require_object(pick(block, "toolResponse"))
    one, origin = read_result_id(done.get("id"))
    return Result(
        one,
        done.get("response"),
        False,
        read_name(pick(done, "toolType")),
        origin,
        "generic-server-tool",
        "provider",
        signature=seal_of(block),
        source=Source(block, path, spec),
    )


_SEAL = ("thoughtSignature", "thought")
_ID = (Id("id", required=False, nullable=True),)


def _tool_row(
    name: str,
    part: type[Call] | type[Result],
    read: object,
    write: object,
    inner: frozenset[str],
    direction: str,
    family: str,
    executor: str,
) -> Block:
    both = ((name, inner), (snake(name), inner))
    return Block(
        name,
        part,
        read,  # type: ignore[arg-type]
        write,  # type: ignore[arg-type]
        keys(name, *_SEAL),
        both,
        {"part_field": name},
        direction,  # type: ignore[arg-type]
        family,
        executor,  # type: ignore[arg-type]
        _ID,
    )


_COMMON = (
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(
            require_string(b["text"]), signature=seal_of(b), source=Source(b, path, spec)
        ),
        lambda p, _: {"text": p.text},
        keys("text", *_SEAL),
    ),
    Block(
        "thought",
        Reasoning,
        lambda b, path, spec: Reasoning(
            require_string(b.get("text", "")), signature=seal_of(b), source=Source(b, path, spec)
        ),
        lambda p, _: {"text": p.text, "thought": True},
        keys("text", *_SEAL),
    ),
    Block(
        "inlineData",
        Media,
        _read_media,
        _write_media,
        keys("inlineData", *_SEAL),
        (("inlineData", keys("mimeType", "data")), ("inline_data", keys("mimeType", "data"))),
    ),
    Block(
        "fileData",
        Media,
        _read_media,
        _write_media,
        keys("fileData", *_SEAL),
        (("fileData", keys("mimeType", "fileUri")), ("file_data", keys("mimeType", "fileUri"))),
    ),
)
_HOSTED = (
    _tool_row(
        "executableCode",
        Call,
        _read_code,
        _write_code,
        keys("id", "language", "code"),
        "call",
        "code-execution",
        "provider",
    ),
    _tool_row(
        "codeExecutionResult",
        Result,
        _read_code_result,
        _write_code_result,
        keys("id", "outcome", "output"),
        "output",
        "code-execution",
        "provider",
    ),
    _tool_row(
        "toolCall",
        Call,
        _read_tool_call,
        lambda c, _: {"toolCall": {"toolType": c.name, "args": c.input}},
        keys("id", "toolType", "args"),
        "call",
        "generic-server-tool",
        "provider",
    ),
    _tool_row(
        "toolResponse",
        Result,
        _read_tool_response,
        lambda r, _: {"toolResponse": {"toolType": r.name, "response": r.output}},
        keys("id", "toolType", "response"),
        "output",
        "generic-server-tool",
        "provider",
    ),
)
MESSAGE = Block("content", Message, keys=keys("role", "parts"))


# --- contents -------------------------------------------------------------------------------------

ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "system": "system",
}


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        context.report_loss(part, "a refusal is sent as plain text")
    return {"text": part.text} if part.text else None


def _no_part(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such part on this wire: {describe(part)[:80]}")
    return None


# --- the tables of a wire -------------------------------------------------------------------------


class Parts(Struct, frozen=True, eq=False):
    """The parts of one wire of this family: its rows, also by both spellings of their fields, and
    how it writes others'."""

    name: str
    rows: Mapping[str, Block]
    by_key: Mapping[str, Block]
    foreign: Mapping[type[Part], Callable[..., JSON]]
    """How a part of another wire is written; None if it cannot stand here."""

    def read_part(self, block: JSON, path: JsonPath) -> Part:
        """A part is told by the field it has; `thought` makes a text reasoning."""
        if not isinstance(block, dict):
            raise_unexpected(self.name, path, "an object", block)
        thought = block.get("thought") is True
        rows = self.by_key
        for key in block:
            spec = rows.get(key)
            if (
                spec is not None
                and spec.read is not None
                and (key == "thought" if thought else key != "thought")
            ):
                try:
                    return spec.read(block, path, spec)
                except UNREADABLE:
                    break
        return opaque(next(iter(block), ""), block, path)

    def read_content(self, content: JSON, path: JsonPath, role: Role | None = None) -> Message:
        """One content. The system instruction is one too, and may be plain text."""
        name = self.name
        if isinstance(content, str) and role is not None:
            plain = Text(content, source=Source(content, path, self.rows["text"]))
            return Message(role, (plain,), None, name, source=Source(content, path, MESSAGE))
        if not isinstance(content, dict):
            raise_unexpected(name, path, "an object", content)
        said = content.get("role") or "user"
        if role is None:
            if not isinstance(said, str) or said not in ROLES:
                raise_unexpected(name, path + ("role",), "user, model or function", said)
            role = ROLES[said]
        parts = content.get("parts")
        if parts is not None and not isinstance(parts, list):
            raise_unexpected(name, path + ("parts",), "a list", parts)
        read = self.read_part
        inside = tuple([read(part, path + ("parts", i)) for i, part in enumerate(parts or ())])
        return Message(role, inside, None, name, source=Source(content, path, MESSAGE))


def parts(name: str, *, hides: str = "", thinks: bool = False) -> Parts:
    """The tables of the wire of that name.

    Ids that begin with `hides` are taken off; `thinks` says that reasoning may stand in a history,
    whoever thought it.
    """

    invented = (MINTED, hides) if hides else (MINTED,)

    def write_call(call: Call, context: EncodeContext) -> JSON:
        if context.plain and not call.id.startswith(invented):
            context.ordinal += 1
            context.called_names[call.id] = name = call.name
            sent_name = context.name(name) if context.names else name
            return {
                "functionCall": {
                    "id": call.id,
                    "name": sent_name,
                    "args": context.arguments_object(call),
                }
            }
        sent = context.wire_id(call)
        if sent is not None and hides and sent.startswith(hides):
            # As with ids of our own making: what a reader of the body will mint in its place leads
            # home.
            context.sent_ids[mint(context.seed, context.ordinal - 1, context.name(call.name))] = (
                call.id
            )
            sent = None
        if sent is None:
            return {
                "functionCall": {
                    "name": context.name(call.name),
                    "args": context.arguments_object(call),
                }
            }
        return {
            "functionCall": {
                "id": sent,
                "name": context.name(call.name),
                "args": context.arguments_object(call),
            }
        }

    def read_response(block: Object, path: JsonPath, spec: Block) -> Part:
        answer = require_object(pick(block, "functionResponse"))
        one, origin = read_result_id(answer.get("id"))
        response = answer.get("response")
        output: Output = response
        error = False
        if (
            isinstance(response, dict)
            and len(response) == 1
            and ("output" in response or "error" in response)
        ):
            error = "error" in response
            output = response["error" if error else "output"]
        inside = answer.get("parts")
        if isinstance(inside, list) and inside:
            where = (
                *path,
                "functionResponse" if "functionResponse" in block else "function_response",
                "parts",
            )
            media = tuple(made.read_part(part, where + (i,)) for i, part in enumerate(inside))
            # The text keeps the object it stands for, which is not to become text on the way back.
            whole = output if isinstance(output, dict) else UNSET
            output = (
                (Text(output_text(output), source=Source(raw=whole)), *media)
                if output not in (None, {}, "")
                else media
            )
        return Result(
            one,
            "" if output is None else output,
            error,
            text_or_none(answer.get("name")),
            origin,
            signature=seal_of(block),
            source=Source(block, path, spec),
        )

    def write_response(result: Result, context: EncodeContext) -> JSON:
        """The answer under its function's name, with the id only if its call has one."""
        one, output = result.call_id, result.output
        if (
            context.plain
            and isinstance(output, str)
            and not result.error
            and not one.startswith(invented)
        ):
            name = context.called_names.get(one) or result.name or ""
            sent_name = context.name(name) if context.names else name
            return {
                "functionResponse": {"name": sent_name, "id": one, "response": {"output": output}}
            }
        out: Object = {
            "name": context.name(context.called_names.get(result.call_id) or result.name or "")
        }
        sent = context.result_id(result)
        if hides and sent.startswith(hides):
            again = f"={sent}"
            if again in context.called_names:
                context.report_loss(
                    result,
                    "its call was answered before, and without an id nothing ties a second result"
                    " to it",
                )
            context.called_names[again] = ""
        elif sent[:3] != MINTED or not context.hides_id(sent):
            out["id"] = sent
        elif result.call_id not in context.called_names:
            context.report_loss(
                result, "it answers no call, and without an id it may be taken for another's answer"
            )
        return _answered(result, out, context)

    def write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
        """Reasoning can be shown in an answer; a model takes nobody else's back."""
        if part.text and (thinks or context.kind == "response"):
            return {"text": part.text, "thought": True}
        context.report_loss(part, "reasoning of another provider is not taken back")
        return None

    rows = blocks(
        *_COMMON,
        _tool_row(
            "functionCall",
            Call,
            _read_call,
            write_call,
            keys("id", "name", "args"),
            "call",
            "function",
            "client",
        ),
        _tool_row(
            "functionResponse",
            Result,
            read_response,
            write_response,
            keys("id", "name", "response", "parts"),
            "output",
            "function",
            "client",
        ),
        *_HOSTED,
    )
    foreign: dict[type[Part], Callable[..., JSON]] = {
        Text: _write_text,
        Media: _write_media,
        Call: write_call,
        Result: write_response,
        Reasoning: write_reasoning,
        Opaque: _no_part,
    }
    made = Parts(
        name,
        rows,
        {spelling: spec for spec in rows.values() for spelling in (spec.name, snake(spec.name))},
        foreign,
    )
    return made
