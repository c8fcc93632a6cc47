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
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.specs import Row, blame, native, own, read_block, unknown

PLAIN = Row("content", Text, write=lambda part, page: part.text)
"""A message whose content is a plain string."""
DECLINED = Row("refusal", Text, write=lambda part, page: part.text)
ONE_THOUGHT = "what was thought in pieces is one text here"
_SAID = {"role", "content"}
THOUGHT = Row("reasoning", Reasoning, write=lambda part, page: part.text)

Blocks = list[JSON]


class Chat(Struct, frozen=True, eq=False):
    """The tables of one wire of this shape."""

    name: str
    content: Mapping[str, Row]
    calls: Mapping[str, Row]
    results: Mapping[str, Row]
    message: Row
    roles: Mapping[str, Role]
    thoughts: tuple[str, ...] = ()
    """Fields that hold reasoning; the first is the one to write."""
    legacy: Row | None = None
    """The single call without an id, in a field of its own."""
    executed: Row | None = None
    """Calls that the provider ran, each with its result, in a list of their own."""

    # --- reading ---

    def read_content(self, content: JSON, at: JsonPath) -> list[Part]:
        """The parts of a content list."""
        if not isinstance(content, list):
            blame(self.name, at, "a string, a list or null", content)
        return [
            Text(block, source=Source(block, at + (i,), PLAIN))
            if isinstance(block, str)
            else read_block(self.name, self.content, block, at + (i,))
            for i, block in enumerate(content)
        ]

    def read_message(self, message: JSON, at: JsonPath) -> Message:
        """One message of a history, or of a response."""
        if not isinstance(message, dict):
            blame(self.name, at, "an object", message)
        role = message.get("role", "assistant")
        if not isinstance(role, str):
            blame(self.name, at + ("role",), "a string", role)
        content = message.get("content")
        neutral = self.roles.get(role)
        parts: tuple[Part, ...]
        if neutral is None:
            row = self.results.get(role)
            if row is None or row.read is None:
                parts = (unknown(role, message, at),)
                return Message(
                    "user", parts, None, self.name, source=Source(message, at, self.message)
                )
            return Message(
                "tool",
                (row.read(message, at, row),),
                None,
                self.name,
                source=Source(message, at, row),
            )
        if len(message) == 2 and isinstance(content, str) and "role" in message:
            parts = (
                (Text(content, source=Source(content, at + ("content",), PLAIN)),)
                if content
                else ()
            )
        else:
            parts = tuple(self._parts(message, content, at))
        return Message(neutral, parts, None, self.name, source=Source(message, at, self.message))

    def output(self, content: JSON, at: JsonPath) -> Output:
        """What a result's message says: plain text, or parts."""
        if content is None or isinstance(content, str):
            return content or ""
        return tuple(self.read_content(content, at + ("content",)))

    def _parts(self, message: Object, content: JSON, at: JsonPath) -> list[Part]:
        parts: list[Part] = []
        calls = message.get("tool_calls")
        function = self.calls["function"]
        bare = (
            len(message) == 3 and calls is not None and "content" in message and "role" in message
        )  # nothing else to look for
        for key in () if bare else self.thoughts:
            thought = message.get(key)
            if thought and isinstance(thought, str):
                parts.append(Reasoning(thought, source=Source(thought, at + (key,), THOUGHT)))
                break
        if self.executed is not None and not bare:
            parts += self._executed(self.executed, message.get(self.executed.name), at)
        if isinstance(content, str):
            if content:
                parts.append(Text(content, source=Source(content, at + ("content",), PLAIN)))
        elif content is not None:
            parts += self.read_content(content, at + ("content",))
        refusal = None if bare else message.get("refusal")
        if isinstance(refusal, str):
            parts.append(Text(refusal, True, source=Source(refusal, at + ("refusal",), DECLINED)))
        if calls is not None:
            if not isinstance(calls, list):
                blame(self.name, at + ("tool_calls",), "a list or null", calls)
            for i, call in enumerate(calls):
                where = at + ("tool_calls", i)
                if isinstance(call, dict) and call.get("type", "function") in ("function", None):
                    parts.append(function.read(call, where, function))  # type: ignore[misc]
                else:
                    parts.append(read_block(self.name, self.calls, call, where))
        legacy = None if bare else message.get("function_call")
        if self.legacy is not None and isinstance(legacy, dict) and not _filler(legacy):
            parts.append(_parsed(self.legacy, legacy, at + ("function_call",)))
        return parts

    def _executed(self, row: Row, ran: JSON, at: JsonPath) -> Iterable[Part]:
        """Two parts for each: what was called, and what came of it."""
        if isinstance(ran, list):
            for i, block in enumerate(ran):
                if isinstance(block, dict):
                    where = at + (row.name, i)
                    yield _parsed(row, block, where)
                    if row.answer is not None:
                        yield _parsed(row.answer, block, where)

    # --- writing ---

    def write_messages(self, messages: Iterable[Message], page: Page) -> Blocks:
        """The history; a result becomes a message, and media of results follow their batch in a
        user message."""
        out: Blocks = []
        held: Blocks = []
        for message in messages:
            role, parts = message.role, message.parts
            if held and role == "assistant":
                out.append({"role": "user", "content": held})
                held = []
            if (
                len(parts) == 1
                and parts[0].__class__ is Text
                and message.wire != page.wire
                and not held
            ):
                only = parts[0]
                if only.text and not only.refusal:
                    out.append({"role": role if role != "tool" else "user", "content": only.text})
                    continue
            kept = own(message, page, self.read_message) if message.wire == page.wire else UNSET
            if not isinstance(kept, UnsetType):
                out.append(kept)
            elif role == "assistant":
                said = self._rebuilt(message, page) or self.write_assistant(message, page)
                if (
                    said.get("content")
                    or said.keys() - _SAID
                    or not parts
                    or page.kind == "response"
                ):
                    out.append(said)
            else:
                content = held if role == "user" else []
                for part in parts:
                    if isinstance(part, Result):
                        held.extend(self._write_result(part, out, page))
                    elif (block := self.write_content(part, page)) is not None:
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

    def _write_result(self, result: Result, out: Blocks, page: Page) -> Blocks:
        """Append the tool message; the media that it cannot hold are for the user message after the
        batch."""
        write = self.results["tool"].write
        assert write is not None
        out.append(write(result, page))
        if isinstance(result.output, str) and not result.error:
            return []
        page.remember(result, flag=False, structure=False)
        if result.error:
            page.lose(result, "a tool message has no error flag; its text is kept")
        if not isinstance(result.output, tuple):
            return []
        held: Blocks = []
        for part in result.output:
            if isinstance(part, Media) and part.text is None:
                page.lose(
                    part, "a tool message holds text only; the media follow in a user message"
                )
                held += [
                    {"type": "text", "text": f"From tool call {page.result_id(result)}:"},
                    self.write_content(part, page),
                ]
            elif not isinstance(part, Text):
                page.lose(part, f"a tool message holds text only: {describe(part)[:80]}")
        return held

    def write_content(self, part: Part, page: Page) -> JSON:
        """A part of a user's or system message; None if it cannot stand there."""
        if isinstance(part, Text):
            return {"type": "text", "text": part.text} if part.text else None
        if isinstance(part, Media):
            write = self.content["image_url"].write
            assert write is not None
            return write(part, page)
        page.lose(part, f"this wire cannot hold this in a user's message: {describe(part)[:80]}")
        return None

    def write_assistant(self, message: Message, page: Page) -> Object:
        """An assistant's message: content, refusal, reasoning, calls."""
        texts: list[str] = []
        calls: Blocks = []
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
                calls.append(write(part, page))
            elif isinstance(part, Text):
                if part.refusal:
                    out["refusal"] = f"{out.get('refusal') or ''}{part.text}"
                elif part.text:
                    if calls:
                        page.lose(part, "text after a call stands before the calls here")
                    texts.append(part.text)
            elif isinstance(part, Reasoning):
                self._write_thought(part, out, page)
            else:
                page.lose(
                    part, f"an assistant's message cannot hold this here: {describe(part)[:80]}"
                )
        if len(texts) == 1 or (texts and page.kind == "response"):
            out["content"] = "".join(texts)
        elif texts:
            out["content"] = [{"type": "text", "text": text} for text in texts]
        if calls:
            out["tool_calls"] = calls
        elif out["content"] is None and "refusal" not in out:
            out["content"] = ""
        return out

    def _rebuilt(self, message: Message, page: Page) -> Object | None:
        """A message of this wire's own that gained or lost parts: what stays keeps its JSON, and so
        does what no part says."""
        raw = message.raw
        if message.wire != page.wire or not isinstance(raw, dict):
            return None
        depth = len(message.path)
        out = dict(raw)
        content: Blocks = []
        calls: Blocks = []
        thoughts: dict[str, list[str]] = {}
        for part in message.parts:
            field = part.path[depth] if len(part.path) > depth else ""
            kept = UNSET if isinstance(part.raw, UnsetType) else native(part, page, part.raw)
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

    def _write_thought(self, part: Reasoning, out: Object, page: Page) -> None:
        """Reasoning can be shown in an answer; in a history the wire itself has no place for it."""
        if page.kind == "response" and self.thoughts and part.text:
            key = self.thoughts[0]
            if key in out:
                page.lose(part, ONE_THOUGHT)
            out[key] = f"{out.get(key, '')}{part.text}"
        else:
            page.lose(part, "this wire has no place for reasoning in a history")


def _filler(legacy: JSON) -> bool:
    """Whether the field of the single call is only filled in: recorded of servers whose every
    answer has it, beside its words."""
    return isinstance(legacy, dict) and legacy.get("name") == "" and legacy.get("arguments") == ""


def _parsed(row: Row, block: Object, at: JsonPath) -> Part:
    assert row.read is not None
    return row.read(block, at, row)


def _said(content: Blocks, called: bool) -> JSON:
    """What stands in the content of a message that was put together: plain texts as one, anything
    else as blocks."""
    texts = [block for block in content if isinstance(block, str)]
    if len(texts) == len(content):
        return "\n\n".join(texts) or (None if called else "")
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content
    ]


def _short(content: Blocks) -> JSON:
    """A single text as the plain string most servers expect."""
    if len(content) == 1:
        only = content[0]
        if isinstance(only, dict) and len(only) == 2 and "text" in only:
            return only["text"]
    return content
