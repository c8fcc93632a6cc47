"""Messages that a client wrote in the format of another wire: blocks of a type that the wire does
not know, calls in a field that it does not have, and unknown roles.

This module knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cache
from operator import is_
from typing import TypeGuard

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, put, text_of
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import (
    MARK,
    Call,
    FieldSpec,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
    output_text,
    readable_text,
)
from toolwire.lint.call_types import calls_without_type
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.block_text import text_of_block
from toolwire.lint.foreign_blocks import (
    ID_FIELDS,
    read_chat_call,
    read_flat_call,
    read_foreign_block,
    read_results,
    read_tool_message,
)
from toolwire.lint.foreign_roles import (
    foreign_roles,
    lacks_role,
    read_stored_message,
    unread_messages,
)
from toolwire.lint.items import input_items
from toolwire.lint.memo import once_per_history
from toolwire.lint.misplaced_outputs import misplaced_outputs, with_output
from toolwire.lint.unknown_fields import broken_blocks, null_fields, unknown_fields
from toolwire.wires import wire
from toolwire.wires.engine.capabilities import NO_MEDIA, Place
from toolwire.wires.engine.specs import Block, Wire

CALL_FIELDS = frozenset({"tool_calls", "toolCalls", "toolInvocations"})
"""Fields with the calls of a message, in snake case and camel case, and with calls that contain
their results."""
_CONTENT_FIELDS = ("content", "parts")
"""Fields with the content of a message."""
_WITHOUT_TYPE = ("", "untyped")
"""The type names of blocks without a type."""


_FIELDS_READ = Observation.MESSAGE_FIELDS_READ | Observation.BLOCK_FIELDS_READ


def has_accepted_fields(facts: Facts) -> bool:
    """True if the target accepts the fields of every message and block."""
    profile = facts.profile
    accepted, refused = profile.accepted_message_fields, profile.refused_message_fields
    for fields in facts.observations.fields.values():
        if accepted and not fields.issubset(accepted):
            return False
        if refused and not fields.isdisjoint(refused):
            return False
    if not facts.observations.holds(_FIELDS_READ) and unknown_fields(facts):
        return False
    return not null_fields(facts)


def has_own_format(facts: Facts) -> bool:
    """True if a quick check shows that nothing has the format of another wire."""
    seen = facts.observations
    needed = Observation.ONLY_TEXT_AND_TOOLS | Observation.MESSAGE_FIELDS_READ
    if not seen.holds(needed) or not has_known_types(facts):
        return False
    if calls_without_type(facts):
        return False
    if not seen.holds(Observation.TEXT_RESULTS) and misplaced_outputs(facts):
        return False
    if not _has_known_messages(facts):
        return False
    if not facts.profile.item_id_prefixes:
        return True
    return not any(is_chat_message(item) for _, _, item in input_items(facts))


def _has_known_messages(facts: Facts) -> bool:
    """True if all messages have the role of the user, the assistant or the system, as the target
    names them, no chat message lacks its role, no block is a bare text, and none has a type on a
    wire without types."""
    profile = facts.profile
    accepted, has_types = profile.accepted_roles, _vocabulary(profile.wire).has_types
    checks_roles = accepted is not None or profile.results_share_one_message
    may_have_bare_text = has_types and not facts.observations.holds(Observation.BLOCK_FIELDS_READ)
    for message in facts.messages:
        if checks_roles and message.role == "tool":
            return False
        raw = message.source.raw
        if raw.__class__ is dict:
            if "role" not in raw:
                if lacks_role(message) or read_stored_message(message) is not None:
                    return False
            elif accepted is not None and raw["role"] not in accepted:
                return False
            if may_have_bare_text and _has_plain_text(raw.get("content")):
                return False
        if not has_types and any(map(_typed_block, message.parts)):
            return False
    return True


def has_known_types(facts: Facts) -> bool:
    """True if the catalogue of the wire lists the types of all calls and results."""
    seen = facts.observations
    parts: list[Call | Result] = [*seen.calls, *seen.results, *seen.native_server_calls]
    known: FieldSpec | None = None
    """The spec of the previous part: most parts have the same."""
    for part in parts:
        spec = part.source.spec
        if spec is not known:
            if spec.__class__ is Block and not spec.family:
                return False
            known = spec
    return True


def has_parts(message: JSON) -> bool:
    """True for a message with a list of parts, as another wire writes its content."""
    return isinstance(message, dict) and isinstance(message.get("parts"), list)


def is_chat_message(item: Object) -> bool:
    """True for an item with calls or a result in the form of chat messages, or with the call id in
    the field of an SDK."""
    return "tool_calls" in item or item.get("role") == "tool" or "callId" in item


@once_per_history
def foreign_content(facts: Facts) -> PartMap[Message, tuple[Part, ...]]:
    """The messages with content of another wire, each with the parts that it stands for."""
    found: PartMap[Message, tuple[Part, ...]] = PartMap()
    if not facts.own_wire or facts.conversation.kind != "request":
        return found
    vocabulary = _vocabulary(facts.profile.wire)
    changed_roles = {path for path, _ in foreign_roles(facts)}
    if wire(facts.profile.wire).capabilities.messages_in_answers:
        return found  # a log of calls and results: an argument or output is not a block
    messages: Sequence[Message] = facts.messages
    # Every block has a known type. On a wire without types, blocks with a type are foreign.
    if facts.observations.holds(Observation.ONLY_TEXT_AND_TOOLS) and vocabulary.has_types:
        roles = facts.profile.accepted_roles
        messages = [
            message
            for message in messages
            if any(part.path in misplaced_outputs(facts) for part in message.parts)
            or (
                isinstance(raw := message.source.raw, dict)
                and (
                    not CALL_FIELDS.isdisjoint(raw)
                    or (roles is not None and "role" in raw and raw["role"] not in roles)
                    or _has_plain_text(raw.get("content"))
                )
            )
        ]
    for message in messages:
        answer = _result_of_message(message)
        if answer is not None:
            found[message] = (answer,)
            continue
        unread = unread_messages(message)
        if any(part.path in changed_roles or not has_parts(part.value) for part in unread):
            continue  # their role is changed first
        calls = foreign_calls(message) or _foreign_invocations(message)
        place = vocabulary.place_of(message)
        parts: list[Part] = []
        for part in message.parts:
            is_item = len(part.path) == len(message.path)
            broken = broken_blocks(facts)
            parts += vocabulary.meaning(part, place, is_item=is_item, broken=broken)
        if not message.parts:
            parts = _content_elsewhere(message)
        is_same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
        if calls or not is_same or has_foreign_role(facts, message):
            found[message] = (*(_apart_from(message, part) for part in parts), *calls)
    return found


def _result_of_message(message: Message) -> Result | None:
    """The result that a message of a chat stands for, on a wire that reads no result in it."""
    if any(isinstance(part, Result) for part in message.parts):
        return None
    return read_tool_message(message.source.raw, message.path)


@once_per_history
def foreign_result_ids(facts: Facts) -> set[str]:
    """The call ids of results in the format of another wire."""
    contents = foreign_content(facts).values()
    return {part.call_id for parts in contents for part in parts if isinstance(part, Result)}


def _apart_from(message: Message, part: Part) -> Part:
    """The part without the JSON of its message, if the message was a result: its other fields
    become separate parts."""
    is_message = type(part) is Result and part.path == message.path
    return replace(part, source=Source(path=part.path)) if is_message else part


@once_per_history
def foreign_id_fields(facts: Facts) -> list[tuple[JsonPath, str, str]]:
    """The results of a chat with their call id in a field of another API: the path of the message,
    the name of the field, and the id."""
    found: list[tuple[JsonPath, str, str]] = []
    if facts.own_wire and facts.conversation.kind == "request":
        for result in facts.results:
            raw, spec = result.source.raw, result.source.spec
            is_message = isinstance(spec, Block) and spec.name == "tool"
            if is_message and isinstance(raw, dict) and not raw.get("tool_call_id"):
                names = [name for name in ID_FIELDS if isinstance(raw.get(name), str)]
                found += [(result.path, name, str(raw[name])) for name in names[:1]]
    return found


def with_id_fields(body: JSON, fields: Iterable[tuple[JsonPath, str, str]]) -> JSON:
    """The body with the call ids of results in the field of the wire."""
    for path, name, call_id in fields:
        message = get(body, path)
        if isinstance(message, dict):
            rest: Object = {key: value for key, value in message.items() if key != name}
            body = put(body, path, {**rest, "tool_call_id": call_id})
    return body


def _content_elsewhere(message: Message) -> list[Part]:
    """The parts of a message in the field that other wires use for its content. A block that cannot
    be read is quoted."""
    raw = message.raw
    if not isinstance(raw, dict) or message.role == "system":
        return []
    name = next((name for name in _CONTENT_FIELDS if raw.get(name)), "")
    content = raw.get(name)
    blocks = content if isinstance(content, list) else [content]
    parts: list[Part] = []
    for n, block in enumerate(blocks):
        path = (*message.path, name, n)
        block_parts = read_foreign_block(block, path)
        if block_parts is None and (text := readable_text(block)):
            block_parts = (Text(f"{MARK} {text}", source=Source(path=path)),)
        parts += block_parts or ()
    return parts


def has_foreign_role(facts: Facts, message: Message) -> bool:
    """True if a message has a role that its provider does not know. One with results counts only if
    messages have no role at all: otherwise its results show the role."""
    accepted, raw = facts.profile.accepted_roles, message.source.raw
    role = raw.get("role") if isinstance(raw, dict) else None
    if accepted is None or not isinstance(role, str) or role in accepted:
        return False
    if _follows_user(facts, message):
        return False
    return not accepted or not any(type(part) is Result for part in message.parts)


def _follows_user(facts: Facts, message: Message) -> bool:
    """True for a system message directly after one of the user, if the provider accepts it."""
    if message.role != "system" or not facts.profile.system_may_follow_user:
        return False
    *field, index = message.path
    if not isinstance(index, int) or index == 0:
        return False
    return get(facts.body, (*field, index - 1, "role")) == "user"


@once_per_history
def foreign_call_ids(facts: Facts) -> set[str]:
    """The ids of calls in the format of another wire, in messages and items."""
    entries = [call.id for message in facts.messages for call in foreign_calls(message)]
    contents = foreign_content(facts).values()
    entries += [part.id for parts in contents for part in parts if isinstance(part, Call)]
    for _, _, item in input_items(facts):
        calls = item.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            call_id = call.get("id") if isinstance(call, dict) else None
            if isinstance(call_id, str):
                entries.append(call_id)
    return set(entries)


def foreign_calls(message: Message) -> list[Call]:
    """The calls in the field `tool_calls` of a message, on a wire that does not read this field."""
    raw = message.source.raw
    entries = raw.get("tool_calls", raw.get("toolCalls")) if isinstance(raw, dict) else None
    if not isinstance(entries, list) or any(type(part) is Call for part in message.parts):
        return []
    path = (*message.path, "tool_calls")
    calls = [_read_call(entry, (*path, n)) for n, entry in enumerate(entries)]
    return [call for call in calls if call is not None]


def _foreign_invocations(message: Message) -> list[Part]:
    """The calls and results in the field `toolInvocations` of a message without parts."""
    raw = message.source.raw
    entries = raw.get("toolInvocations") if isinstance(raw, dict) and "parts" not in raw else None
    path = (*message.path, "toolInvocations")
    found: list[Part] = []
    for n, entry in enumerate(entries if isinstance(entries, list) else ()):
        found += read_foreign_block({"toolInvocation": entry}, (*path, n)) or ()
    return found


def _read_call(entry: JSON, path: JsonPath) -> Call | None:
    if not isinstance(entry, dict):
        return None
    is_of_chat = isinstance(entry.get("function"), dict)
    return read_chat_call(entry, path) if is_of_chat else read_flat_call(entry, path)


@cache
def _vocabulary(name: str) -> _Vocabulary:
    return _Vocabulary(wire(name))


def _has_plain_text(content: JSON) -> bool:
    """True for a list of blocks that contains a plain string."""
    # In short lists, a generator would cost more than its values.
    return isinstance(content, list) and True in [isinstance(block, str) for block in content]


def _is_plain_text(part: Part) -> TypeGuard[Text]:
    """True for a plain string in a list of blocks."""
    if not isinstance(part, Text) or not isinstance(part.source.raw, str):
        return False
    return bool(part.path) and isinstance(part.path[-1], int)


def _typed_block(part: Part) -> Object | None:
    """The block of a part if it has a field `type`. A part without a path is not a block but the
    JSON output of a tool."""
    raw = part.source.raw
    if raw.__class__ is dict and "type" in raw and isinstance(raw["type"], str):
        return raw if part.source.path else None
    return None


class _Vocabulary:
    """The blocks that a wire knows, and how blocks of other wires are written with them."""

    def __init__(self, own: Wire) -> None:
        self._capabilities = own.capabilities
        self._known = frozenset(spec.name for spec in own.blocks)
        self._part_of = {spec.name: spec.part for spec in own.blocks}
        self.has_types = any("type" in spec.keys for spec in own.blocks)
        """True if blocks have a field `type`."""

    def place_of(self, message: Message) -> Place:
        """The place of the parts of a message."""
        return "user" if message.role == "tool" else message.role

    def meaning(
        self, part: Part, place: Place, *, is_item: bool = False, broken: Container[JsonPath] = ()
    ) -> tuple[Part, ...]:
        """The parts that a foreign block stands for, also inside a result; the same part if that is
        not known. Items of an unknown type may be newer than this library. A `broken` block is
        described."""
        if _is_plain_text(part) and place != "result":
            return (Text(part.text, source=Source(path=part.path)),)
        if isinstance(part, Opaque):
            if isinstance(part.value, str) and place == "result":
                return (part,)  # the rule about outputs reports it
            known = is_item or not self._is_refused(part)
            replacement = read_foreign_block(part.value, part.path, known=known)
            is_content = part.path[-1:] == ("content",)  # an object instead of blocks
            if replacement is None and is_content:
                replacement = (Text(text_of(part.value)),)
            is_known = part.type in self._known or part.type in _WITHOUT_TYPE
            has_fields = isinstance(part.value, dict) and bool(part.value)
            if replacement is None and is_known and has_fields and part.path in broken:
                replacement = self._description(part)
            if replacement is None:
                return (part,)
            return tuple([fitted for new in replacement for fitted in self._fit(new, place)])
        if not self.has_types and (block := _typed_block(part)) is not None:
            replacement = read_foreign_block(block, part.path) or (part,)
            return tuple([fitted for new in replacement for fitted in self._fit(new, place)])
        if isinstance(part, Result) and (results := read_results(part)):
            return results
        if isinstance(part, Result) and self._capabilities.read_by_model:
            part = with_output(part)
        if isinstance(part, Result) and isinstance(part.output, tuple):
            output = [
                new for inner in part.output for new in self.meaning(inner, "result", broken=broken)
            ]
            if len(output) != len(part.output) or not all(map(is_, output, part.output)):
                return (replace(part, output=tuple(output)),)
        if place == "result" and isinstance(part, Call | Result):
            return self._fit(part, place)
        return (part,)

    def _description(self, part: Opaque) -> tuple[Part, ...]:
        """A block that breaks its type, described in text; nothing if it has no readable content.
        JSON that is no block is quoted."""
        is_media = self._part_of.get(part.type) is Media
        if is_media or readable_text(part.value):
            return (Text(f"{MARK} {describe(part)}"),)
        return (Text(text_of_block(part.value)),) if part.type in _WITHOUT_TYPE else ()

    def _is_refused(self, part: Opaque) -> bool:
        """True if the wire is sent to models and does not know the type of a block."""
        return self._capabilities.read_by_model and part.type not in self._known

    def _fit(self, part: Part, place: Place) -> tuple[Part, ...]:
        """A part in a form that the wire supports at a place: refused reasoning becomes text, and
        unsupported media become a description."""
        match part:
            case Media() if not self._holds(part, place):
                return (Text(f"{MARK} {describe(part)}", source=part.source),)
            case Reasoning() if place != "assistant":
                return (Text(part.text, source=part.source),)
            case Reasoning() if not self._capabilities.reasoning_in_history:
                text = f"{MARK} earlier reasoning: {part.text}"
                return (Text(text, source=part.source),)
            case Result(output=output) if place == "result":
                return output if isinstance(output, tuple) else (Text(output_text(output)),)
            case Call() if place == "result":
                return (Text(describe(part)),)
        return (part,)

    def _holds(self, media: Media, place: Place) -> bool:
        """True if the wire supports a medium at a place."""
        if place == "result" and self._capabilities.result_media == "after":
            place = "user"
        support = self._capabilities.media
        return support is None or support.get(place, NO_MEDIA).holds(media)
