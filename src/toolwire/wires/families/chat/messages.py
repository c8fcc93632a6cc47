"""Read and write the messages of chat wires.

The calls of an assistant message are in a field of their own, and every result is a message. A
`Chat` holds the tables of one wire; this module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import REASONING_JOINED
from toolwire.wires.engine.specs import (
    Block,
    object_at,
    opaque,
    patch_block,
    patch_parts,
    raise_unexpected,
    read_block,
    read_result_id,
    text_or_none,
)
from toolwire.wires.families.chat.blocks import PLAIN_TEXT, REASONING, REFUSAL, text_block

_ALWAYS_WRITTEN = {"role", "content"}


class Chat(Struct, frozen=True, eq=False):
    """The tables of one chat wire."""

    name: str
    content: Mapping[str, Block]
    calls: Mapping[str, Block]
    results: Mapping[str, Block]
    message: Block
    roles: Mapping[str, Role]
    reasoning_fields: tuple[str, ...] = ()
    """Fields that hold reasoning. The first one is written."""
    reasoning_block: Callable[[str], Object] | None = None
    """Makes the content block of a reasoning text, on wires that have no field for it."""
    legacy_call: Block | None = None
    """The single call without an id, in a field of its own."""
    server_tools: Block | None = None
    """The list of calls that the provider ran, each with its result."""

    # --- reading ---

    def read_choice(self, body: Object, index: int) -> Message:
        """Read the message of one choice of a response."""
        path: JsonPath = ("choices", index, "message")
        return self.read_answer(object_at(self.name, body, path), path)

    def read_answer(self, message: JSON, path: JsonPath) -> Message:
        """Read the message of a response, which is the assistant's whatever its role says."""
        answer = self.read_message(message, path)
        return answer if answer.role == "assistant" else replace(answer, role="assistant")

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        """Read one message of a history or a response."""
        if not isinstance(message, dict):
            raise_unexpected(self.name, path, "an object", message)
        role = message.get("role", "assistant")
        if not isinstance(role, str):
            raise_unexpected(self.name, path + ("role",), "a string", role)
        neutral = self.roles.get(role)
        if neutral is None:
            return self._read_other_role(role, message, path)
        content = message.get("content")
        parts: tuple[Part, ...]
        if len(message) == 2 and isinstance(content, str) and "role" in message:
            source = Source(content, path + ("content",), PLAIN_TEXT)
            parts = (Text(content, source=source),) if content else ()
        else:
            parts = tuple(self.read_parts(message, content, path))
        return Message(neutral, parts, None, self.name, source=Source(message, path, self.message))

    def _read_other_role(self, role: str, message: Object, path: JsonPath) -> Message:
        spec = self.results.get(role)
        if spec is None:
            part: Part = opaque(role, message, path)
            source = Source(message, path, self.message)
            return Message("user", (part,), None, self.name, source=source)
        part = self._read_result(message, path, spec)
        return Message("tool", (part,), None, self.name, source=Source(message, path, spec))

    def _read_result(self, message: Object, path: JsonPath, spec: Block) -> Part:
        if spec.read is not None:
            return spec.read(message, path, spec)
        call_id, origin = read_result_id(message.get("tool_call_id"))
        content = message.get("content")
        output = content if isinstance(content, str) else self.read_output(content, path)
        name = text_or_none(message["name"]) if "name" in message else None
        return Result(call_id, output, False, name, origin, source=Source(message, path, spec))

    def read_output(self, content: JSON, path: JsonPath) -> Output:
        """Read the content of a result: plain text, or parts."""
        if content is None or isinstance(content, str):
            return content or ""
        return tuple(self._read_content(content, path + ("content",)))

    def read_parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        """Read the parts of a message: reasoning, server tools, content, refusal, calls."""
        parts: list[Part] = []
        calls = message.get("tool_calls")
        # Most messages with calls have nothing else, so there are no other fields to look for.
        only_calls = (
            len(message) == 3 and calls is not None and "content" in message and "role" in message
        )
        if not only_calls:
            for key in self.reasoning_fields:
                text = message.get(key)
                if text and isinstance(text, str):
                    parts.append(Reasoning(text, source=Source(text, path + (key,), REASONING)))
                    break
            if self.server_tools is not None and self.server_tools.name in message:
                parts += self._read_server_tools(self.server_tools, message, path)
        if isinstance(content, str):
            if content:
                parts.append(_plain_text(content, path))
        elif content is not None:
            parts += self._read_content(content, path + ("content",))
        refusal = None if only_calls else message.get("refusal")
        if isinstance(refusal, str):
            parts.append(Text(refusal, True, source=Source(refusal, path + ("refusal",), REFUSAL)))
        if calls is not None:
            parts += self._read_calls(calls, path + ("tool_calls",))
        if self.legacy_call is not None and not only_calls:
            legacy = message.get(self.legacy_call.name)
            # Some servers send an empty legacy call with every answer.
            if isinstance(legacy, dict) and (legacy.get("name"), legacy.get("arguments")) != (
                "",
                "",
            ):
                parts.append(_read(self.legacy_call, legacy, path + (self.legacy_call.name,)))
        return parts

    def _read_content(self, content: JSON, path: JsonPath) -> list[Part]:
        if not isinstance(content, list):
            raise_unexpected(self.name, path, "a string, a list or null", content)
        return [
            Text(block, source=Source(block, path + (i,), PLAIN_TEXT))
            if isinstance(block, str)
            else read_block(self.name, self.content, block, path + (i,))
            for i, block in enumerate(content)
        ]

    def _read_server_tools(self, spec: Block, message: Object, path: JsonPath) -> Iterator[Part]:
        """Two parts for each entry: the call and its result."""
        entries = message[spec.name]
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield _read(spec, entry, path + (spec.name, i))
                if spec.answer is not None:
                    yield _read(spec.answer, entry, path + (spec.name, i))

    def _read_calls(self, calls: JSON, path: JsonPath) -> list[Part]:
        if not isinstance(calls, list):
            raise_unexpected(self.name, path, "a list or null", calls)
        function = self.calls["function"]
        read_function = function.read
        assert read_function is not None
        return [
            read_function(call, path + (i,), function)
            if isinstance(call, dict) and call.get("type", "function") in ("function", None)
            else read_block(self.name, self.calls, call, path + (i,))
            for i, call in enumerate(calls)
        ]

    # --- writing ---

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write a history, in which every result is a message."""
        out: list[JSON] = []
        for message in messages:
            parts = message.parts
            if message.wire == context.wire:
                native = self.write_native(message, context)
                if not isinstance(native, UnsetType):
                    out.append(native)
                    continue
            elif len(parts) == 1 and parts[0].__class__ is Text:
                text = parts[0]
                if text.text and not text.refusal:
                    role = message.role if message.role != "tool" else "user"
                    out.append({"role": role, "content": text.text})
                    continue
            if message.role == "assistant":
                written = self.write_assistant(message, context)
                if written.get("content") or written.keys() - _ALWAYS_WRITTEN or not parts:
                    out.append(written)
            else:
                out += self._write_user(message, context)
        return out

    def write_answer(self, message: Message, context: EncodeContext) -> JSON:
        """Write the message of a response."""
        if message.wire != context.wire:
            return self.write_assistant(message, context)
        ordinal = context.ordinal
        native = self.write_native(message, context)
        if isinstance(native, UnsetType):
            return self.write_assistant(message, context)
        context.ordinal = ordinal
        for part in message.parts:
            if isinstance(part, Call):
                context.wire_id(part)  # maps the id that a reader will mint
        return native

    def _write_user(self, message: Message, context: EncodeContext) -> list[JSON]:
        """Write the results of a message, then the rest of it."""
        out: list[JSON] = []
        content: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Result):
                out.append(self.write_result(part, context))
            elif (block := self.write_content(part, context)) is not None:
                content.append(block)
        if content:
            role = "system" if message.role == "system" else "user"
            out.append({"role": role, "content": single_text(content)})
        return out

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        """Write the message of a result."""
        write = self.results["tool"].write
        assert write is not None
        if not isinstance(result.output, str) or result.error:
            context.record_result_form(result, flag=False, structure=False)
        return write(result, context)

    def write_content(self, part: Part, context: EncodeContext) -> JSON:
        """Write a part of a user or system message; None if it cannot be there."""
        if isinstance(part, Text):
            return text_block(part.text) if part.text else None
        if isinstance(part, Media):
            write = self.content["image_url"].write
            assert write is not None
            return write(part, context)
        report_misplaced(part, "user", context)
        return None

    def write_call(self, call: Call, context: EncodeContext) -> Object:
        """Write an entry of `tool_calls`; a call of another kind becomes a function call."""
        write = (self.calls.get(call.family) or self.calls["function"]).write
        assert write is not None
        block = write(call, context)
        assert isinstance(block, dict)
        return block

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: content, refusal, reasoning, calls."""
        texts: list[str] = []
        calls: list[JSON] = []
        out: Object = {"role": "assistant", "content": None}
        if context.assistant_content == "some":
            out["content"] = ""
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(self.write_call(part, context))
            elif isinstance(part, Text):
                if part.refusal:
                    out["refusal"] = f"{out.get('refusal') or ''}{part.text}"
                elif part.text:
                    texts.append(part.text)
            elif isinstance(part, Reasoning) and self.reasoning_fields:
                key = self.reasoning_fields[0]
                out[key] = f"{out.get(key, '')}{part.text}"
            else:
                report_misplaced(part, "assistant", context)
        is_text = context.kind == "response" or context.assistant_content == "text"
        if len(texts) == 1 or (texts and is_text):
            out["content"] = "".join(texts)
        elif texts:
            out["content"] = [text_block(text) for text in texts]
        if calls:
            out["tool_calls"] = calls
        elif out["content"] is None and "refusal" not in out:
            out["content"] = ""
        return out

    # --- writing messages of this wire ---

    def write_native(self, message: Message, context: EncodeContext) -> JSON | UnsetType:
        """Write a message that was read from this wire: what was not edited stays verbatim.

        Returns UNSET if the message has to be written from its parts.
        """
        raw = message.raw
        if message.wire != context.wire or not isinstance(raw, dict):
            return UNSET
        original = self.read_message(raw, message.path)
        if original.role != message.role and context.kind == "request":
            return UNSET
        patched = patch_parts(message.parts, original.parts, raw, message.path, context)
        if not isinstance(patched, UnsetType):
            return patched
        return self.rebuild(message, original, raw, context)

    def rebuild(
        self, message: Message, original: Message, raw: Object, context: EncodeContext
    ) -> JSON | UnsetType:
        """Write a message of this wire that gained or lost parts, or has parts of another type."""
        blocks = self._blocks_by_field(message, context)
        if blocks is None:
            return UNSET
        if message.role == "assistant":
            return self._rebuild_assistant(raw, original, blocks, context)
        if blocks.keys() != {"content"} or not isinstance(raw.get("content"), list):
            return UNSET
        return {**raw, "content": _as_text_blocks(blocks["content"])}

    def _blocks_by_field(
        self, message: Message, context: EncodeContext
    ) -> dict[str, list[JSON]] | None:
        """The JSON of each part, by the field of the message that holds it.

        None if a part has no place in the message.
        """
        depth = len(message.path)
        out: dict[str, list[JSON]] = {}
        last_path: JsonPath = ()
        for part in message.parts:
            path = part.path
            if isinstance(part.raw, UnsetType):
                field, block = self._new_block(part, context)
            elif path[: depth - 1] == message.path[:-1] and len(path) > depth:
                field = str(path[depth])
                # A call that the provider ran shares its block with its result.
                shared = isinstance(part, Result) and path == last_path
                block = patch_block(part, context, out[field].pop() if shared else part.raw)
            else:
                return None
            if isinstance(block, UnsetType):
                return None
            last_path = path
            if field in self.reasoning_fields and field in out:
                context.report_loss(part, REASONING_JOINED)
            out.setdefault(field, []).append(block)
        return out

    def _new_block(self, part: Part, context: EncodeContext) -> tuple[str, JSON | UnsetType]:
        """The field and the JSON of a part that was added to a message."""
        if isinstance(part, Call):
            return "tool_calls", self.write_call(part, context)
        if isinstance(part, Text):
            return "refusal" if part.refusal else "content", part.text
        if not isinstance(part, Reasoning):
            return "", UNSET
        if self.reasoning_block is not None:
            return "content", self.reasoning_block(part.text)
        return self.reasoning_fields[0], part.text

    def _rebuild_assistant(
        self, raw: Object, original: Message, blocks: dict[str, list[JSON]], context: EncodeContext
    ) -> Object:
        """An assistant message that gained or lost parts; fields without parts stay verbatim."""
        depth = len(original.path)
        fields = {str(part.path[depth]) for part in original.parts if len(part.path) > depth}
        empty_fields = fields - blocks.keys()
        lost_calls = "tool_calls" in empty_fields
        if not empty_fields.isdisjoint(self.reasoning_fields):
            empty_fields.update(self.reasoning_fields)  # only one of them was read
        if "tool_calls" not in blocks:
            empty_fields.add("tool_calls")  # most servers refuse an empty list
        out = {key: value for key, value in raw.items() if key not in empty_fields - {"content"}}
        previous, current = raw.get("content"), blocks.pop("content", [])
        if isinstance(previous, list) and (current or context.kind == "response"):
            out["content"] = _as_text_blocks(current)
        elif current != ([previous] if previous else []) or (lost_calls and not current):
            out["content"] = _join(current) or (None if "tool_calls" in blocks else "")
        for field, values in blocks.items():
            if field == "tool_calls" or isinstance(raw.get(field), list):
                out[field] = values
            else:
                out[field] = _join(values) if isinstance(values[0], str) else values[0]
        return out


def has_calls(message: Message) -> bool:
    """True if a message has calls."""
    return any(isinstance(part, Call) for part in message.parts)


def report_misplaced(part: Part, role: str, context: EncodeContext) -> None:
    """Report a part that no message of a role can hold, such as a call in a user message."""
    article = "an" if role == "assistant" else "a"
    context.report_loss(
        part, f"{article} {role} message cannot hold this here: {describe(part)[:80]}"
    )


def single_text(content: list[JSON]) -> JSON:
    """Content as the plain string that most servers expect if it is one text, else as blocks."""
    if len(content) == 1:
        block = content[0]
        if isinstance(block, dict) and len(block) == 2 and "text" in block:
            return block["text"]
    return content


def _plain_text(content: str, path: JsonPath) -> Text:
    return Text(content, source=Source(content, path + ("content",), PLAIN_TEXT))


def _read(spec: Block, block: Object, path: JsonPath) -> Part:
    assert spec.read is not None
    return spec.read(block, path, spec)


def _join(blocks: list[JSON]) -> JSON:
    """Plain texts joined to one text; anything else as blocks."""
    texts = [block for block in blocks if isinstance(block, str)]
    return "\n\n".join(texts) if len(texts) == len(blocks) else _as_text_blocks(blocks)


def _as_text_blocks(blocks: list[JSON]) -> list[JSON]:
    return [text_block(block) if isinstance(block, str) else block for block in blocks]
