"""Write the messages of chat wires.

A `Chat` holds the tables of one wire; it reads messages as a `MessageReader`, and writes them. This
module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import REASONING_JOINED
from toolwire.wires.engine.patching import patch_block, patch_parts
from toolwire.wires.engine.specs import single_text
from toolwire.wires.families.chat.blocks import text_block
from toolwire.wires.families.chat.message_reader import MessageReader

_ALWAYS_WRITTEN = {"role", "content"}


class Chat(MessageReader, frozen=True, eq=False):
    """Reads and writes the messages of one chat wire, by its tables."""

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write a history. Every result becomes a message."""
        out: list[JSON] = []
        for message in messages:
            parts = message.parts
            if message.wire == context.wire:
                native = self.write_native(message, context)
                if not isinstance(native, UnsetType):
                    out.append(native)
                    continue
            elif len(parts) == 1 and parts[0].__class__ is Text and context.breakpoints is None:
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
        """Write the results of a message, then its other parts."""
        out: list[JSON] = []
        content: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Result):
                out.append(self.write_result(part, context))
            elif (block := self.write_content(part, context)) is not None:
                content += self.mark_block(block, part, context)
        if content:
            role = "system" if message.role == "system" else "user"
            out.append({"role": role, "content": single_text(content)})
        return out

    def write_result(self, result: Result, context: EncodeContext) -> JSON:
        """Write the message of a result; on its own wire, in the form that its family has there."""
        spec = self.results["tool"]
        if context.native and result.family != spec.family:
            spec = next((s for s in self.results.values() if s.family == result.family), spec)
        write = spec.write
        assert write is not None
        if not isinstance(result.output, str) or result.error:
            context.record_result_form(result, flag=False, structure=False)
        written = write(result, context)
        if context.breakpoints is not None and result in context.breakpoints:
            assert isinstance(written, dict)
            content = written.get("content")
            blocks = content if isinstance(content, list) else [text_block(str(content or ""))]
            marked = self.mark_block(blocks[-1], result, context)
            written["content"] = [*blocks[:-1], *marked]
        return written

    def mark_block(self, block: JSON, part: Part, context: EncodeContext) -> list[JSON]:
        """The block of a part with its cache breakpoint, if it gets one."""
        marks = self.cache_breakpoints
        return [block] if marks is None else marks.mark_block(block, part, context.breakpoints)

    def write_content(self, part: Part, context: EncodeContext) -> JSON:
        """Write a part of a user or system message; None if the message cannot hold it."""
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

    def answers_legacy(self, context: EncodeContext) -> bool:
        """True if the request of a response defined functions in the legacy form: its client reads
        a call only from the legacy field."""
        request = context.request.body
        if self.legacy_call is None or request.get("tools"):
            return False
        return bool(request.get("functions")) or self.legacy_call.name in request

    def write_legacy_call(self, call: Call, context: EncodeContext) -> Object:
        """Write a call for the legacy field."""
        assert self.legacy_call is not None and self.legacy_call.write is not None
        block = self.legacy_call.write(call, context)
        assert isinstance(block, dict)
        context.record_dropped_id(call)
        return block

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: content, refusal, reasoning, calls."""
        texts: list[str] = []
        calls: list[JSON] = []
        out: Object = {"role": "assistant", "content": None}
        if context.assistant_content == "some":
            out["content"] = ""
        legacy = self.legacy_call if context.legacy_calls else None
        for part in message.parts:
            if type(part) is Text:
                if part.refusal:
                    out["refusal"] = f"{out.get('refusal') or ''}{part.text}"
                elif part.text:
                    texts.append(part.text)
            elif type(part) is Call:
                if legacy is None:
                    calls.append(self.write_call(part, context))
                else:
                    out[legacy.name] = self.write_legacy_call(part, context)
            elif isinstance(part, Reasoning) and self.reasoning_fields:
                key = self.reasoning_fields[0]
                out[key] = f"{out.get(key, '')}{part.text}"
            else:
                report_misplaced(part, "assistant", context)
        if len(texts) == 1:
            out["content"] = texts[0]
        elif texts and (context.kind == "response" or context.assistant_content == "text"):
            out["content"] = "".join(texts)
        elif texts:
            out["content"] = [text_block(text) for text in texts]
        if context.breakpoints is not None and any(
            map(context.breakpoints.__contains__, message.parts)
        ):
            out["content"] = [
                block
                for part in message.parts
                if isinstance(part, Text) and part.text and not part.refusal
                for block in self.mark_block(text_block(part.text), part, context)
            ]
        if calls:
            out["tool_calls"] = calls
        elif out["content"] is None and "refusal" not in out:
            out["content"] = None if legacy is not None and legacy.name in out else ""
        return out

    # --- writing messages of this wire ---

    def write_native(self, message: Message, context: EncodeContext) -> JSON | UnsetType:
        """Write a message that was read from this wire; everything unedited stays verbatim.

        Returns UNSET if the message has to be written from its parts.
        """
        raw = message.raw
        if message.wire != context.wire or not isinstance(raw, dict):
            return UNSET
        if message in context.unedited:
            return raw
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
        lost = _fields_of(original) - {"content"}
        kept = {key: value for key, value in raw.items() if key not in lost}
        return {**kept, "content": _as_text_blocks(blocks["content"])}

    def _blocks_by_field(
        self, message: Message, context: EncodeContext
    ) -> dict[str, list[JSON]] | None:
        """The JSON of each part, by the field of the message that holds it.

        None if the message has no field for a part.
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
        empty_fields = _fields_of(original) - blocks.keys()
        lost_calls = "tool_calls" in empty_fields
        if not empty_fields.isdisjoint(self.reasoning_fields):
            empty_fields.update(self.reasoning_fields)  # only the first of them was read
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


def _fields_of(message: Message) -> set[str]:
    """The fields of the JSON of a message that its parts were read from."""
    depth = len(message.path)
    return {str(part.path[depth]) for part in message.parts if len(part.path) > depth}


def has_calls(message: Message) -> bool:
    """True if a message has calls."""
    return Call in map(type, message.parts)


def report_misplaced(part: Part, role: str, context: EncodeContext) -> None:
    """Report a part that no message of a role can hold, such as a call in a user message."""
    article = "an" if role == "assistant" else "a"
    context.report_loss(
        part, f"{article} {role} message cannot contain this here: {describe(part)[:80]}"
    )


def _join(blocks: list[JSON]) -> JSON:
    """Plain texts joined to one text; otherwise blocks."""
    texts = [block for block in blocks if isinstance(block, str)]
    return "\n\n".join(texts) if len(texts) == len(blocks) else _as_text_blocks(blocks)


def _as_text_blocks(blocks: list[JSON]) -> list[JSON]:
    return [text_block(block) if isinstance(block, str) else block for block in blocks]
