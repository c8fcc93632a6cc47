"""The parts of contents: which block specs a wire has, and how contents are read and written."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from toolwire.conversation.ids import MINTED, mint
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
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    blocks,
    opaque,
    raise_unexpected,
    read_id,
    read_name,
    require_object,
    text_or_none,
)
from toolwire.wires.families.contents.blocks import (
    TEXT_AND_MEDIA,
    drop_opaque,
    part_spec,
    signature_of,
    write_media,
    write_text,
    write_thought,
)
from toolwire.wires.families.contents.spelling import get_field, spellings

_CODE_EXECUTION = "code_execution"
"""The name under which the provider's code interpreter is called."""
_MESSAGE = Block("content", part=Message, keys=spellings("role", "parts"))
_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "system": "system",
}


class ContentParts:
    """The parts of one wire: a part is known by the field it has.

    Args:
        name: The wire's name.
        hidden_prefix: The prefix of ids that a client made for its own log; they are not sent.
    """

    __slots__ = ("_by_field", "_hidden_prefix", "_optional_ids", "blocks", "name", "writers")

    def __init__(self, name: str, *, hidden_prefix: str = "") -> None:
        self.name = name
        self._hidden_prefix = hidden_prefix
        self._optional_ids = (MINTED, hidden_prefix) if hidden_prefix else (MINTED,)
        self.blocks = blocks(
            *TEXT_AND_MEDIA,
            part_spec(
                "functionCall",
                part=Call,
                read=_read_call,
                write=self.write_call,
                fields=("id", "name", "args"),
                family="function",
                executor="client",
            ),
            part_spec(
                "functionResponse",
                part=Result,
                read=self.read_result,
                write=self.write_result,
                fields=("id", "name", "response", "parts"),
                family="function",
                executor="client",
            ),
            part_spec(
                "executableCode",
                part=Call,
                read=_read_call,
                write=lambda call, _: {"executableCode": call.input},
                fields=("id", "language", "code"),
                family="code-execution",
                executor="provider",
            ),
            part_spec(
                "codeExecutionResult",
                part=Result,
                read=self.read_result,
                write=_write_code_result,
                fields=("id", "outcome", "output"),
                family="code-execution",
                executor="provider",
            ),
            part_spec(
                "toolCall",
                part=Call,
                read=_read_call,
                write=lambda call, _: {"toolCall": {"toolType": call.name, "args": call.input}},
                fields=("id", "toolType", "args"),
                family="generic-server-tool",
                executor="provider",
            ),
            part_spec(
                "toolResponse",
                part=Result,
                read=self.read_result,
                write=_write_tool_response,
                fields=("id", "toolType", "response"),
                family="generic-server-tool",
                executor="provider",
            ),
        )
        self._by_field = {
            field: spec for spec in self.blocks.values() for field in (spec.name, snake(spec.name))
        }
        self.writers: dict[type[Part], Callable[..., JSON]] = {
            Text: write_text,
            Media: write_media,
            Call: self.write_call,
            Result: self.write_result,
            Reasoning: write_thought,
            Opaque: drop_opaque,
        }
        """How a part of another wire is written; None: no block."""

    # --- reading ---

    def read_content(self, content: JSON, path: JsonPath, role: Role | None = None) -> Message:
        """Read one content; with `role` given, its own role is ignored and it may be plain text."""
        name = self.name
        if isinstance(content, str) and role is not None:
            text = Text(content, source=Source(content, path, self.blocks["text"]))
            return Message(role, (text,), None, name, source=Source(content, path, _MESSAGE))
        if not isinstance(content, dict):
            raise_unexpected(name, path, "an object", content)
        if role is None:
            wire_role = content.get("role") or "user"
            if not isinstance(wire_role, str) or wire_role not in _ROLES:
                raise_unexpected(name, (*path, "role"), "user, model or function", wire_role)
            role = _ROLES[wire_role]
        parts = content.get("parts")
        if parts is not None and not isinstance(parts, list):
            raise_unexpected(name, (*path, "parts"), "a list", parts)
        read = self.read_part
        read_parts = tuple([read(part, (*path, "parts", i)) for i, part in enumerate(parts or ())])
        return Message(role, read_parts, None, name, source=Source(content, path, _MESSAGE))

    def read_part(self, block: JSON, path: JsonPath) -> Part:
        """Read one part; `thought` makes a text reasoning."""
        if not isinstance(block, dict):
            raise_unexpected(self.name, path, "an object", block)
        is_thought = block.get("thought") is True
        specs = self._by_field
        for field in block:
            spec = specs.get(field)
            if spec is None or spec.read is None or (field == "thought") is not is_thought:
                continue
            try:
                return spec.read(block, path, spec)
            except UNREADABLE:
                break
        return opaque(next(iter(block), ""), block, path)

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
        return Result(
            call_id,
            output,
            error,
            name,
            origin,
            spec.family,
            spec.executor or "client",
            signature=signature_of(block),
            source=Source(block, path, spec),
        )

    def _read_response(self, answer: Object, media_path: JsonPath) -> tuple[Output, bool]:
        """The output of a function and whether it is an error.

        The output is the value under `output` or `error`, or all of the response.
        """
        response = answer.get("response")
        output: Output = "" if response is None else response
        error = False
        if isinstance(response, dict) and _is_envelope(response):
            error = "error" in response
            value = response["error" if error else "output"]
            output = "" if value is None else value
        media = answer.get("parts")
        if not isinstance(media, list) or not media:
            return output, error
        parts = [self.read_part(part, (*media_path, i)) for i, part in enumerate(media)]
        if output not in ({}, ""):
            # The text keeps the object that it was made from, which is written back as an object.
            raw = output if isinstance(output, dict) else UNSET
            parts.insert(0, Text(output_text(output), source=Source(raw=raw)))
        return tuple(parts), error

    # --- writing ---

    def write_call(self, call: Call, context: EncodeContext) -> JSON:
        """Write a call, with its id unless the id is minted or hidden."""
        call_id: str | None = call.id
        if context.no_mapping and not call.id.startswith(self._optional_ids):
            context.ordinal += 1
            context.called_names[call.id] = call.name
        else:
            call_id = context.wire_id(call)
        name = context.name(call.name)
        if call_id is not None and self._is_hidden(call_id):
            # A reader of the body mints an id instead; the id map leads from that to the original.
            context.sent_ids[mint(context.seed, context.ordinal - 1, name)] = call.id
            call_id = None
        arguments = context.arguments_object(call)
        block: Object = {"name": name, "args": arguments}
        if call_id is not None:
            block = {"id": call_id, **block}
        if call.signature == PLACEHOLDER_SIGNATURE:
            return {"functionCall": block, "thoughtSignature": PLACEHOLDER_SIGNATURE}
        return {"functionCall": block}

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        """Write a result under its function's name, with an id only if its call has one."""
        call_id, output = result.call_id, result.output
        name = context.result_name(result)
        if (
            context.no_mapping
            and isinstance(output, str)
            and not result.error
            and not call_id.startswith(self._optional_ids)
        ):
            return {
                "functionResponse": {"name": name, "id": call_id, "response": {"output": output}}
            }
        block: Object = {"name": name}
        sent_id = context.result_id(result)
        if self._is_hidden(sent_id):
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
        block["response"], media = _response_and_media(result, context)
        if media:
            block["parts"] = media
        return {"functionResponse": block}

    def _is_hidden(self, call_id: str) -> bool:
        return bool(self._hidden_prefix) and call_id.startswith(self._hidden_prefix)


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    call = require_object(get_field(block, spec.name))
    call_id, origin = read_id(call.get("id"))
    if spec.name == "executableCode":
        name = _CODE_EXECUTION
        arguments = LazyJson({key: call[key] for key in ("language", "code") if key in call})
    else:
        name = read_name(get_field(call, "toolType" if spec.name == "toolCall" else "name"))
        args = call.get("args")
        arguments = LazyJson("") if args is None else LazyJson.from_value(args)
    return Call(
        call_id,
        name,
        arguments,
        origin,
        spec.family,
        spec.executor or "client",
        signature=signature_of(block),
        source=Source(block, path, spec),
    )


def _write_code_result(result: Result, context: EncodeContext) -> JSON:
    outcome = "OUTCOME_FAILED" if result.error else "OUTCOME_OK"
    return {"codeExecutionResult": {"outcome": outcome, "output": result.text}}


def _write_tool_response(result: Result, context: EncodeContext) -> JSON:
    output = result.output
    response = output_text(output) if isinstance(output, tuple) else output
    return {"toolResponse": {"toolType": result.name, "response": response}}


def _is_envelope(response: Object) -> bool:
    return len(response) == 1 and ("output" in response or "error" in response)


def _response_and_media(result: Result, context: EncodeContext) -> tuple[JSON, list[JSON]]:
    """The `response` of a result and its `parts`.

    An object is the response itself; anything else is put under `output` or `error`.
    """
    output = context.output(result)
    media: list[JSON] = []
    if isinstance(output, tuple):
        others: list[Part] = []
        for part in output:
            if isinstance(part, Media) and (part.data is not None or part.url is not None):
                media.append(write_media(part, context))
                continue
            others.append(part)
            if not isinstance(part, Text | Media) or part.text is None:
                # Only an edited message of this wire gets here: lowering leaves those alone.
                context.report_loss(part, f"a result cannot hold this here: {describe(part)}")
        only = others[0].raw if len(others) == 1 and others[0].spec is None else UNSET
        output = only if isinstance(only, dict) else "\n".join(map(describe, others))
    error = context.is_error(result)
    if isinstance(output, dict) and not error and not _is_envelope(output):
        return output, media
    return {"error" if error else "output": output}, media
