"""Read and write the messages of chat wires.

The calls of an assistant message are in a field of their own, and every result is a message. A
`Chat` holds the tables of one wire; this module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET, Struct, UnsetType

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
from toolwire.wires.engine.specs import (
    Block,
    object_at,
    opaque,
    patch_block,
    patch_message,
    raise_unexpected,
    read_arguments,
    read_block,
    read_id,
    read_name,
)

PLAIN_TEXT = Block("content", Text, write=lambda part, context: part.text)
"""Content that is a plain string."""
REFUSAL = Block("refusal", Text, write=lambda part, context: part.text)
REASONING = Block("reasoning", Reasoning, write=lambda part, context: part.text)
REASONING_JOINED = "a message has one reasoning text here; several are joined"
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
    legacy_call: Block | None = None
    """The single call without an id, in a field of its own."""
    server_tools: Block | None = None
    """The list of calls that the provider ran, each with its result."""

    # --- reading ---

    def read_choice(self, body: Object, index: int) -> Message:
        """Read the message of one choice of a response."""
        path: JsonPath = ("choices", index, "message")
        return self.read_message(object_at(self.name, body, path), path)

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
            parts = (_plain_text(content, path),) if content else ()
        else:
            parts = tuple(self.read_parts(message, content, path))
        return Message(neutral, parts, None, self.name, source=Source(message, path, self.message))

    def _read_other_role(self, role: str, message: Object, path: JsonPath) -> Message:
        spec = self.results.get(role)
        if spec is None or spec.read is None:
            part: Part = opaque(role, message, path)
            source = Source(message, path, self.message)
            return Message("user", (part,), None, self.name, source=source)
        part = spec.read(message, path, spec)
        return Message("tool", (part,), None, self.name, source=Source(message, path, spec))

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
            if isinstance(legacy, dict) and not _is_placeholder(legacy):
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
            role, parts = message.role, message.parts
            native = message.wire == context.wire
            if len(parts) == 1 and parts[0].__class__ is Text and not native:
                text = parts[0]
                if text.text and not text.refusal:
                    out.append({"role": role if role != "tool" else "user", "content": text.text})
                    continue
            patched = patch_message(message, context, self.read_message) if native else UNSET
            if not isinstance(patched, UnsetType):
                out.append(patched)
            elif role == "assistant":
                written = self._rebuild_assistant(message, context)
                if written is None:
                    written = self.write_assistant(message, context)
                if written.get("content") or written.keys() - _ALWAYS_WRITTEN or not parts:
                    out.append(written)
            else:
                out += self._write_user(message, context)
        return out

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
            return {"type": "text", "text": part.text} if part.text else None
        if isinstance(part, Media):
            write = self.content["image_url"].write
            assert write is not None
            return write(part, context)
        report_misplaced(part, "user", context)
        return None

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: content, refusal, reasoning, calls."""
        texts: list[str] = []
        calls: list[JSON] = []
        out: Object = {"role": "assistant", "content": None}
        if context.assistant_content == "some":
            out["content"] = ""
        for part in message.parts:
            if isinstance(part, Call):
                write = (self.calls.get(part.family) or self.calls["function"]).write
                assert write is not None
                calls.append(write(part, context))
            elif isinstance(part, Text):
                if part.refusal:
                    out["refusal"] = f"{out.get('refusal') or ''}{part.text}"
                elif part.text:
                    texts.append(part.text)
            elif isinstance(part, Reasoning) and self.reasoning_fields:
                key = self.reasoning_fields[0]
                if key in out:
                    context.report_loss(part, REASONING_JOINED)
                out[key] = f"{out.get(key, '')}{part.text}"
            else:
                report_misplaced(part, "assistant", context)
        is_text = context.kind == "response" or context.assistant_content == "text"
        if len(texts) == 1 or (texts and is_text):
            out["content"] = "".join(texts)
        elif texts:
            out["content"] = [{"type": "text", "text": text} for text in texts]
        if calls:
            out["tool_calls"] = calls
        elif out["content"] is None and "refusal" not in out:
            out["content"] = ""
        return out

    def _rebuild_assistant(self, message: Message, context: EncodeContext) -> Object | None:
        """Write an assistant message of this wire that gained or lost parts.

        Parts that stay keep their JSON, and so do fields that are not read as parts. None if a part
        has no place in the original message.
        """
        raw = message.raw
        if message.wire != context.wire or not isinstance(raw, dict):
            return None
        depth = len(message.path)
        legacy = self.legacy_call
        out = dict(raw)
        content: list[JSON] = []
        calls: list[JSON] = []
        reasoning: dict[str, list[str]] = {}
        for part in message.parts:
            field = part.path[depth] if len(part.path) > depth else ""
            block: JSON | UnsetType = UNSET
            if not isinstance(part.raw, UnsetType):
                block = patch_block(part, context, part.raw)
            if isinstance(part, Call) or field == "tool_calls":
                if legacy is not None and field == legacy.name:
                    out[field] = part.raw if isinstance(block, UnsetType) else block  # type: ignore[assignment]
                elif isinstance(block, UnsetType):
                    return None
                else:
                    calls.append(block)
            elif isinstance(part, Reasoning) and isinstance(block, str):
                reasoning.setdefault(str(field), []).append(block)
            elif field == "content" and not isinstance(block, UnsetType):
                content.append(block)
            elif isinstance(part, Text) and not part.refusal:
                content.append(part.text)
            else:
                return None
        for key, texts in reasoning.items():
            out[key] = "\n\n".join(texts)
        for key in self.reasoning_fields:
            if key not in reasoning and out.get(key):
                del out[key]
        if calls:
            out["tool_calls"] = calls
        else:
            out.pop("tool_calls", None)
        if (
            legacy is not None
            and not _is_placeholder(out.get(legacy.name))
            and not any(part.spec is legacy for part in message.parts)
        ):
            out.pop(legacy.name, None)
        original = raw.get("content")
        if content != (original if isinstance(original, list) else [original or ""]):
            out["content"] = _rebuild_content(content, has_calls=bool(calls))
        return out


def report_misplaced(part: Part, role: str, context: EncodeContext) -> None:
    """Report a part that no message of a role can hold, such as a call in a user message."""
    article = "an" if role == "assistant" else "a"
    context.report_loss(
        part, f"{article} {role} message cannot hold this here: {describe(part)[:80]}"
    )


def read_function_call(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read a call whose name and arguments are in the object `function`."""
    call_id, origin = read_id(block.get("id"))
    function = block.get("function")
    if not isinstance(function, dict):
        function = {}
    return Call(
        call_id,
        read_name(function.get("name")),
        read_arguments(function.get("arguments")),
        origin,
        source=Source(block, path, spec),
    )


def read_text_block(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read a block whose text is in the field that its type names."""
    text = block[spec.name]
    if not isinstance(text, str):
        raise TypeError("a string")
    return Text(text, spec.name == "refusal", source=Source(block, path, spec))


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


def _is_placeholder(legacy: JSON) -> bool:
    """True for an empty legacy call: some servers send one with every answer."""
    return isinstance(legacy, dict) and legacy.get("name") == "" and legacy.get("arguments") == ""


def _rebuild_content(content: list[JSON], *, has_calls: bool) -> JSON:
    """Content of a rebuilt message: plain texts joined to one, anything else as blocks."""
    texts = [block for block in content if isinstance(block, str)]
    if len(texts) == len(content):
        return "\n\n".join(texts) or (None if has_calls else "")
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content
    ]
