"""The chat shape: messages whose calls stand in a field of their own, and one message for each
result.

Several wires speak it with different tables. A message is read field by field in the order in which
it was said: reasoning, content, refusal, calls. Knows no wire by name; a `Chat` holds a wire's
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    opaque,
    patch_block,
    patch_message,
    raise_unexpected,
    read_block,
)

PLAIN = Block("content", Text, write=lambda part, context: part.text)
"""A message whose content is a plain string."""
DECLINED = Block("refusal", Text, write=lambda part, context: part.text)
ONE_THOUGHT = "what was thought in pieces is one text here"
_SAID = {"role", "content"}
THOUGHT = Block("reasoning", Reasoning, write=lambda part, context: part.text)

BlockTable = list[JSON]


class Chat(Struct, frozen=True, eq=False):
    """The tables of one wire of this shape."""

    name: str
    content: Mapping[str, Block]
    calls: Mapping[str, Block]
    results: Mapping[str, Block]
    message: Block
    roles: Mapping[str, Role]
    thoughts: tuple[str, ...] = ()
    """Fields that hold reasoning; the first is the one to write."""
    legacy: Block | None = None
    """The single call without an id, in a field of its own."""
    executed: Block | None = None
    """Calls that the provider ran, each with its result, in a list of their own."""

    # --- reading ---

    def read_content(self, content: JSON, path: JsonPath) -> list[Part]:
        """The parts of a content list."""
        if not isinstance(content, list):
            raise_unexpected(self.name, path, "a string, a list or null", content)
        return [
            Text(block, source=Source(block, path + (i,), PLAIN))
            if isinstance(block, str)
            else read_block(self.name, self.content, block, path + (i,))
            for i, block in enumerate(content)
        ]

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        """One message of a history, or of a response."""
        if not isinstance(message, dict):
            raise_unexpected(self.name, path, "an object", message)
        role = message.get("role", "assistant")
        if not isinstance(role, str):
            raise_unexpected(self.name, path + ("role",), "a string", role)
        content = message.get("content")
        neutral = self.roles.get(role)
        parts: tuple[Part, ...]
        if neutral is None:
            spec = self.results.get(role)
            if spec is None or spec.read is None:
                parts = (opaque(role, message, path),)
                return Message(
                    "user", parts, None, self.name, source=Source(message, path, self.message)
                )
            return Message(
                "tool",
                (spec.read(message, path, spec),),
                None,
                self.name,
                source=Source(message, path, spec),
            )
        if len(message) == 2 and isinstance(content, str) and "role" in message:
            parts = (
                (Text(content, source=Source(content, path + ("content",), PLAIN)),)
                if content
                else ()
            )
        else:
            parts = tuple(self._parts(message, content, path))
        return Message(neutral, parts, None, self.name, source=Source(message, path, self.message))

    def output(self, content: JSON, path: JsonPath) -> Output:
        """What a result's message says: plain text, or parts."""
        if content is None or isinstance(content, str):
            return content or ""
        return tuple(self.read_content(content, path + ("content",)))

    def _parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        parts: list[Part] = []
        calls = message.get("tool_calls")
        function = self.calls["function"]
        bare = (
            len(message) == 3 and calls is not None and "content" in message and "role" in message
        )  # nothing else to look for
        for key in () if bare else self.thoughts:
            thought = message.get(key)
            if thought and isinstance(thought, str):
                parts.append(Reasoning(thought, source=Source(thought, path + (key,), THOUGHT)))
                break
        if self.executed is not None and not bare:
            parts += self._executed(self.executed, message.get(self.executed.name), path)
        if isinstance(content, str):
            if content:
                parts.append(Text(content, source=Source(content, path + ("content",), PLAIN)))
        elif content is not None:
            parts += self.read_content(content, path + ("content",))
        refusal = None if bare else message.get("refusal")
        if isinstance(refusal, str):
            parts.append(Text(refusal, True, source=Source(refusal, path + ("refusal",), DECLINED)))
        if calls is not None:
            if not isinstance(calls, list):
                raise_unexpected(self.name, path + ("tool_calls",), "a list or null", calls)
            for i, call in enumerate(calls):
                where = path + ("tool_calls", i)
                if isinstance(call, dict) and call.get("type", "function") in ("function", None):
                    parts.append(function.read(call, where, function))  # type: ignore[misc]
                else:
                    parts.append(read_block(self.name, self.calls, call, where))
        legacy = None if bare else message.get("function_call")
        if self.legacy is not None and isinstance(legacy, dict) and not _filler(legacy):
            parts.append(_parsed(self.legacy, legacy, path + ("function_call",)))
        return parts

    def _executed(self, spec: Block, ran: JSON, path: JsonPath) -> Iterable[Part]:
        """Two parts for each: what was called, and what came of it."""
        if isinstance(ran, list):
            for i, block in enumerate(ran):
                if isinstance(block, dict):
                    where = path + (spec.name, i)
                    yield _parsed(spec, block, where)
                    if spec.answer is not None:
                        yield _parsed(spec.answer, block, where)

    # --- writing ---

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> BlockTable:
        """The history; a result becomes a message, and media of results follow their batch in a
        user message."""
        out: BlockTable = []
        held: BlockTable = []
        for message in messages:
            role, parts = message.role, message.parts
            if held and role == "assistant":
                out.append({"role": "user", "content": held})
                held = []
            if (
                len(parts) == 1
                and parts[0].__class__ is Text
                and message.wire != context.wire
                and not held
            ):
                only = parts[0]
                if only.text and not only.refusal:
                    out.append({"role": role if role != "tool" else "user", "content": only.text})
                    continue
            kept = (
                patch_message(message, context, self.read_message)
                if message.wire == context.wire
                else UNSET
            )
            if not isinstance(kept, UnsetType):
                out.append(kept)
            elif role == "assistant":
                said = self._rebuilt(message, context) or self.write_assistant(message, context)
                if (
                    said.get("content")
                    or said.keys() - _SAID
                    or not parts
                    or context.kind == "response"
                ):
                    out.append(said)
            else:
                content = held if role == "user" else []
                for part in parts:
                    if isinstance(part, Result):
                        held.extend(self._write_result(part, out, context))
                    elif (block := self.write_content(part, context)) is not None:
                        content.append(block)
                if content and content is held:
                    held = []
                if content:
                    out.append(
                        {
                            "role": "system" if role == "system" else "user",
                            "content": _short(content),
                        }
                    )
        if held:
            out.append({"role": "user", "content": held})
        return out

    def _write_result(self, result: Result, out: BlockTable, context: EncodeContext) -> BlockTable:
        """Append the tool message; the media that it cannot hold are for the user message after the
        batch."""
        write = self.results["tool"].write
        assert write is not None
        out.append(write(result, context))
        if isinstance(result.output, str) and not result.error:
            return []
        context.note_result_form(result, flag=False, structure=False)
        if result.error:
            context.report_loss(result, "a tool message has no error flag; its text is kept")
        if not isinstance(result.output, tuple):
            return []
        held: BlockTable = []
        for part in result.output:
            if isinstance(part, Media) and part.text is None:
                context.report_loss(
                    part, "a tool message holds text only; the media follow in a user message"
                )
                held += [
                    {"type": "text", "text": f"From tool call {context.result_id(result)}:"},
                    self.write_content(part, context),
                ]
            elif not isinstance(part, Text):
                context.report_loss(part, f"a tool message holds text only: {describe(part)[:80]}")
        return held

    def write_content(self, part: Part, context: EncodeContext) -> JSON:
        """A part of a user's or system message; None if it cannot stand there."""
        if isinstance(part, Text):
            return {"type": "text", "text": part.text} if part.text else None
        if isinstance(part, Media):
            write = self.content["image_url"].write
            assert write is not None
            return write(part, context)
        context.report_loss(
            part, f"this wire cannot hold this in a user's message: {describe(part)[:80]}"
        )
        return None

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """An assistant's message: content, refusal, reasoning, calls."""
        texts: list[str] = []
        calls: BlockTable = []
        out: Object = {"role": "assistant", "content": None}
        function = self.calls["function"].write
        for part in message.parts:
            if isinstance(part, Call):
                write = (
                    function
                    if part.family == "function"
                    else self.calls.get(part.family, self.calls["function"]).write
                )
                assert write is not None
                calls.append(write(part, context))
            elif isinstance(part, Text):
                if part.refusal:
                    out["refusal"] = f"{out.get('refusal') or ''}{part.text}"
                elif part.text:
                    if calls:
                        context.report_loss(part, "text after a call stands before the calls here")
                    texts.append(part.text)
            elif isinstance(part, Reasoning):
                self._write_thought(part, out, context)
            else:
                context.report_loss(
                    part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
                )
        if len(texts) == 1 or (texts and context.kind == "response"):
            out["content"] = "".join(texts)
        elif texts:
            out["content"] = [{"type": "text", "text": text} for text in texts]
        if calls:
            out["tool_calls"] = calls
        elif out["content"] is None and "refusal" not in out:
            out["content"] = ""
        return out

    def _rebuilt(self, message: Message, context: EncodeContext) -> Object | None:
        """A message of this wire's own that gained or lost parts: what stays keeps its JSON, and so
        does what no part says."""
        raw = message.raw
        if message.wire != context.wire or not isinstance(raw, dict):
            return None
        depth = len(message.path)
        out = dict(raw)
        content: BlockTable = []
        calls: BlockTable = []
        thoughts: dict[str, list[str]] = {}
        for part in message.parts:
            field = part.path[depth] if len(part.path) > depth else ""
            kept = (
                UNSET if isinstance(part.raw, UnsetType) else patch_block(part, context, part.raw)
            )
            if isinstance(part, Call) or field == "tool_calls":
                if self.legacy is not None and field == self.legacy.name:
                    out[field] = part.raw if isinstance(kept, UnsetType) else kept  # type: ignore[assignment]
                elif isinstance(kept, UnsetType):
                    return None
                else:
                    calls.append(kept)
            elif isinstance(part, Reasoning) and isinstance(kept, str):
                thoughts.setdefault(str(field), []).append(kept)
            elif field == "content" and not isinstance(kept, UnsetType):
                content.append(kept)
            elif isinstance(part, Text) and not part.refusal:
                content.append(part.text)
            else:
                return None
        for key, said in thoughts.items():
            out[key] = "\n\n".join(said)
        for key in self.thoughts:
            if key not in thoughts and out.get(key):
                del out[key]
        if calls:
            out["tool_calls"] = calls
        else:
            out.pop("tool_calls", None)
        old = self.legacy
        if (
            old is not None
            and not _filler(out.get(old.name))
            and not any(part.spec is old for part in message.parts)
        ):
            out.pop(old.name, None)
        if content != (
            raw.get("content")
            if isinstance(raw.get("content"), list)
            else [raw.get("content") or ""]
        ):
            out["content"] = _said(content, bool(calls))
        return out

    def _write_thought(self, part: Reasoning, out: Object, context: EncodeContext) -> None:
        """Reasoning can be shown in an answer; in a history the wire itself has no place for it."""
        if context.kind == "response" and self.thoughts and part.text:
            key = self.thoughts[0]
            if key in out:
                context.report_loss(part, ONE_THOUGHT)
            out[key] = f"{out.get(key, '')}{part.text}"
        else:
            context.report_loss(part, "this wire has no place for reasoning in a history")


def _filler(legacy: JSON) -> bool:
    """Whether the field of the single call is only filled in: recorded of servers whose every
    answer has it, beside its words."""
    return isinstance(legacy, dict) and legacy.get("name") == "" and legacy.get("arguments") == ""


def _parsed(spec: Block, block: Object, path: JsonPath) -> Part:
    assert spec.read is not None
    return spec.read(block, path, spec)


def _said(content: BlockTable, called: bool) -> JSON:
    """What stands in the content of a message that was put together: plain texts as one, anything
    else as blocks."""
    texts = [block for block in content if isinstance(block, str)]
    if len(texts) == len(content):
        return "\n\n".join(texts) or (None if called else "")
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content
    ]


def _short(content: BlockTable) -> JSON:
    """A single text as the plain string most servers expect."""
    if len(content) == 1:
        only = content[0]
        if isinstance(only, dict) and len(only) == 2 and "text" in only:
            return only["text"]
    return content
