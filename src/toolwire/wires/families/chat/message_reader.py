"""Read the messages of chat wires.

The calls of an assistant message are in a separate field, and every result is a message. This
module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Message, Output, Part, Reasoning, Result, Role, Source, Text
from toolwire.wires.engine.capabilities import CacheBreakpoints
from toolwire.wires.engine.roles import role_of_unread
from toolwire.wires.engine.specs import (
    Block,
    object_at,
    opaque,
    raise_unexpected,
    read_block,
    read_id,
    text_or_none,
)
from toolwire.wires.families.chat.blocks import PLAIN_TEXT, REASONING, REFUSAL

_CALLER = frozenset({"role", "content", "tool_calls"})
"""The fields of most messages with calls."""


class MessageReader(Struct, frozen=True, eq=False):
    """The tables of one chat wire, and how its messages are read."""

    name: str
    content: Mapping[str, Block]
    calls: Mapping[str, Block]
    results: Mapping[str, Block]
    message: Block
    roles: Mapping[str, Role]
    reasoning_fields: tuple[str, ...] = ()
    """Fields that hold reasoning. The first one is used for writing."""
    reasoning_block: Callable[[str], Object] | None = None
    """Makes the content block for a reasoning text, on wires without a field for it."""
    legacy_call: Block | None = None
    """The spec of the single call without an id in its own field."""
    server_tools: Block | None = None
    """The spec of the list of calls that the provider ran, each with its result."""
    cache_breakpoints: CacheBreakpoints | None = None
    """How content blocks are marked for the provider's cache."""

    def read_choice(self, body: Object, index: int) -> Message:
        """Read the message of one choice of a response."""
        path: JsonPath = ("choices", index, "message")
        return self.read_answer(object_at(self.name, body, path), path)

    def read_answer(self, message: JSON, path: JsonPath) -> Message:
        """Read the message of a response as the assistant's, whatever its role."""
        answer = self.read_message(message, path)
        return answer if answer.role == "assistant" else replace(answer, role="assistant")

    def read_messages(self, messages: list[JSON]) -> list[Message]:
        """Read the messages of a request."""
        return [self.read_message(message, ("messages", i)) for i, message in enumerate(messages)]

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        """Read one message of a history or a response."""
        if message.__class__ is not dict:
            raise_unexpected(self.name, path, dict, message)
        try:
            name = message["role"]
            role = self.roles.get(name)  # type: ignore[arg-type]
        except (KeyError, TypeError):
            return self._read_without_role(message, path)
        if role is None:
            return self._read_other_role(name, message, path)
        # Most messages have only a text or only calls, so there are no other fields to read.
        content = message.get("content")
        parts: tuple[Part, ...]
        if content.__class__ is str and len(message) == 2:
            source = Source(content, path + ("content",), PLAIN_TEXT, None, True)
            parts = (Text(content, source=source),) if content else ()
        elif _CALLER.issuperset(message) and (calls := message.get("tool_calls")) is not None:
            read = [] if content is None else self._read_text_or_content(content, path)
            self._read_calls(calls, path + ("tool_calls",), read)
            parts = tuple(read)
        else:
            return self._read_all_fields(role, message, path)
        source = Source(message, path, self.message, None, True)
        return Message(role, parts, None, self.name, source=source)

    def _read_all_fields(self, role: Role, message: Object, path: JsonPath) -> Message:
        parts = tuple(self.read_parts(message, message.get("content"), path))
        source = Source(message, path, self.message)
        return Message(role, parts, None, self.name, source=source)

    def _read_without_role(self, message: Object, path: JsonPath) -> Message:
        """Read a message from which a program left out the role: only results name a call."""
        if "role" in message:
            raise_unexpected(self.name, path + ("role",), str, message["role"])
        name = "tool" if isinstance(message.get("tool_call_id"), str) else "assistant"
        role = self.roles.get(name)
        if role is None:
            return self._read_other_role(name, message, path)
        return self._read_all_fields(role, message, path)

    def _read_other_role(self, name: JSON, message: Object, path: JsonPath) -> Message:
        if not isinstance(name, str):
            raise_unexpected(self.name, path + ("role",), str, name)
        spec = self.results.get(name)
        if spec is None:
            part: Part = opaque(name, message, path)
            source = Source(message, path, self.message)
            return Message(role_of_unread(message), (part,), None, self.name, source=source)
        if spec.read is not None:
            source = Source(message, path, spec)
            part = spec.read(message, path, spec)
        else:  # the message is the result: both have the same source
            call_id, origin = read_id(message.get("tool_call_id"))
            content = message.get("content")
            if content.__class__ is str:
                output: Output = content
                is_complete = origin == "wire" and len(message) == 3
            else:
                output, is_complete = self.read_output(content, path), False
            source = Source(message, path, spec, None, is_complete)
            tool_name = text_or_none(message["name"]) if "name" in message else None
            part = Result(call_id, output, False, tool_name, origin, source=source)
        return Message("tool", (part,), None, self.name, source=source)

    def read_output(self, content: JSON, path: JsonPath) -> Output:
        """Read the content of a result: plain text, parts, or any JSON value."""
        if content is None or isinstance(content, str):
            return content or ""
        if not isinstance(content, list) or not all(isinstance(x, str | dict) for x in content):
            return content
        return tuple(self._read_content(content, path + ("content",)))

    def read_parts(self, message: Object, content: JSON, path: JsonPath) -> list[Part]:
        """Read the parts of a message: reasoning, server tools, content, refusal, calls."""
        parts: list[Part] = []
        calls = message.get("tool_calls")
        for key in self.reasoning_fields:
            text = message.get(key)
            if text and isinstance(text, str):
                parts.append(Reasoning(text, source=Source(text, path + (key,), REASONING)))
                break
        if self.server_tools is not None and self.server_tools.name in message:
            parts += self._read_server_tools(self.server_tools, message, path)
        if content is not None:
            parts += self._read_text_or_content(content, path)
        refusal = message.get("refusal")
        if isinstance(refusal, str):
            parts.append(Text(refusal, True, source=Source(refusal, path + ("refusal",), REFUSAL)))
        if calls is not None:
            self._read_calls(calls, path + ("tool_calls",), parts)
        if self.legacy_call is not None:
            legacy = message.get(self.legacy_call.name)
            # Some servers send an empty legacy call with every answer.
            if isinstance(legacy, dict) and (legacy.get("name"), legacy.get("arguments")) != (
                "",
                "",
            ):
                parts.append(_read(self.legacy_call, legacy, path + (self.legacy_call.name,)))
        return parts

    def _read_text_or_content(self, content: JSON, path: JsonPath) -> list[Part]:
        """Read the content of a message, which is a text or a list of blocks."""
        path = path + ("content",)
        if not isinstance(content, str):
            return self._read_content(content, path)
        source = Source(content, path, PLAIN_TEXT, None, True)
        return [Text(content, source=source)] if content else []

    def _read_content(self, content: JSON, path: JsonPath) -> list[Part]:
        if isinstance(content, dict):  # some servers accept one block or a JSON value
            return [opaque(content.get("type"), content, path)]
        if not isinstance(content, list):
            raise_unexpected(self.name, path, (str, list, None), content)
        return [
            Text(block, source=Source(block, path + (i,), PLAIN_TEXT))
            if isinstance(block, str)
            else read_block(self.name, self.content, block, path + (i,))
            for i, block in enumerate(content)
        ]

    def _read_server_tools(self, spec: Block, message: Object, path: JsonPath) -> Iterator[Part]:
        """Yield two parts for each entry: the call and its result."""
        entries = message[spec.name]
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield _read(spec, entry, path + (spec.name, i))
                if spec.answer is not None:
                    yield _read(spec.answer, entry, path + (spec.name, i))

    def _read_calls(self, calls: JSON, path: JsonPath, parts: list[Part]) -> None:
        """Read the list of calls, and append each to the parts of its message."""
        if not isinstance(calls, list):
            raise_unexpected(self.name, path, (list, None), calls)
        function = self.calls["function"]
        read_function = function.read
        assert read_function is not None
        for i, call in enumerate(calls):
            if call.__class__ is dict and (
                call.get("type") == "function" or self._is_function(call)
            ):
                parts.append(read_function(call, path + (i,), function))
            else:
                parts.append(read_block(self.name, self.calls, call, path + (i,)))

    def _is_function(self, call: Object) -> bool:
        """True for a call of a function whose type is absent or has another name, as some servers
        write it."""
        kind = call.get("type")
        if kind is None:
            return True
        is_other_kind = isinstance(kind, str) and kind in self.calls
        return not is_other_kind and isinstance(call.get("function"), dict)


def _read(spec: Block, block: Object, path: JsonPath) -> Part:
    assert spec.read is not None
    return spec.read(block, path, spec)
