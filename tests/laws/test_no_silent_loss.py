"""Law 9, No silent loss: what is not reported as lost is still there after a translation, in the
same order. A loss at the root pointer covers nothing else."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from itertools import groupby

import pytest
from cases import ALL, CASES, COMPLETE, MODELS, WIRES, Case, facts, set_at
from hand_made_histories import HISTORIES, history_body
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, UnsetType, to_builtins
from rows import gap, rows

from toolwire import (
    Call,
    Choice,
    Conversation,
    DecodeError,
    Encoded,
    Format,
    IdMap,
    Loss,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Text,
    Tool,
    Usage,
    UsageError,
    decode,
    encode,
)
from toolwire.conversation.json import JSON, JsonPath, get, parse, text_of
from toolwire.conversation.model import Setting, WebSearch
from toolwire.conversation.parts import Output, Part, Traceable, describe
from toolwire.wires.engine.media import mime_of
from toolwire.wires.engine.specs import Block

NO_PARAMETERS: JSON = {"type": "object", "properties": {}}


class Content(Struct, frozen=True, eq=False):
    """One piece of content of a conversation, and its path."""

    path: JsonPath
    value: tuple[object, ...]

    @property
    def is_text(self) -> bool:
        return self.value[1] == "text"


def _output(output: Output) -> tuple[object, ...]:
    """The text of a result, then its media: wires differ in how they mix the two."""
    if isinstance(output, str):
        return (_canonical_text(output),)
    if not isinstance(output, tuple):
        return (text_of(_sort_keys(output)),)
    texts = [
        part.text if isinstance(part, Text) else describe(part)
        for part in output
        if not _is_media(part)
    ]
    return (
        _canonical_text("\n".join(texts)),
        *(_content("tool", part, IdMap()) for part in output if _is_media(part)),
    )


def _canonical_text(text: str) -> str:
    """A text; JSON in a canonical form."""
    try:
        value = parse(text)
    except ValueError:
        return text
    return text_of(_sort_keys(value)) if isinstance(value, dict | list) else text


def _media(role: str, part: Media) -> tuple[object, ...]:
    """A medium. A MIME type that follows from the name or URL counts as given, and text in base64 is
    text."""
    mime, text, held = mime_of(part), part.text, part.data
    if held is not None and mime is not None and mime.startswith("text/"):
        text, held = b64decode(held).decode(), None
    return (
        role,
        "media",
        part.kind,
        text,
        held,
        part.url,
        part.file,
        "text/plain" if text is not None else mime,
        part.name,
    )


def _is_media(part: Part) -> bool:
    return isinstance(part, Media) and part.text is None


def _sort_keys(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(item) for item in value] if isinstance(value, list) else value


def _content(role: str, part: Part, reverse_map: IdMap) -> tuple[object, ...]:
    match part:
        case Text():
            return (role, "text", part.text, part.refusal)
        case Media():
            return _media(role, part)
        case Reasoning():
            return (role, "reasoning", part.text, part.hidden)
        case Call():
            given = part.arguments if part.args.broken else text_of(_sort_keys(part.input or {}))
            return (
                role,
                "call",
                reverse_map.ids.get(part.id, part.id),
                reverse_map.names.get(part.name, part.name),
                given,
                part.executor,
            )
        case Result():
            forms = reverse_map.results.get(part.call_id, [])
            failed = part.error or any(form.error for form in forms[:1])
            return (
                "tool",
                "result",
                reverse_map.ids.get(part.call_id, part.call_id),
                _output(part.output),
                failed,
                part.executor,
            )
        case Opaque():
            return (role, "opaque", part.type, text_of(_sort_keys(part.value)))
    raise AssertionError(part)


def is_mark(part: Traceable) -> bool:
    """True for a cache breakpoint, which changes no answer and may be left out."""
    return isinstance(part.spec, Block) and part.spec.marks_cache


def _part_order(part: Part) -> tuple[int, str]:
    """Calls after everything else, results after them: some wires keep a result in the block of its
    call."""
    return (2, part.call_id) if isinstance(part, Result) else (int(isinstance(part, Call)), "")


def contents_of(conversation: Conversation, reverse_map: IdMap) -> list[Content]:
    """The contents of a conversation, in an order that all wires can keep.

    Results precede the other contents of a user, by id; calls follow the other contents of an
    assistant message.
    """
    out: list[Content] = []
    for asked, run in groupby(
        conversation.messages, key=lambda message: message.role == "assistant"
    ):
        parts = [
            (m, part)
            for m in run
            for part in sorted(m.parts, key=lambda part: _part_order(part) if asked else (0, ""))
        ]
        found = [
            Content(part.path, _content(m.role, part, reverse_map))
            for m, part in parts
            if not is_mark(part)
        ]
        found = [item for item in found if item.value[1:3] not in (("text", ""), ("reasoning", ""))]
        if not asked:
            results = sorted(
                (item for item in found if item.value[1] == "result"),
                key=lambda item: str(item.value[2]),
            )
            found = results + [item for item in found if item.value[1] != "result"]
        out += found
    return out


def without_approvals(found: list[Content], source: Conversation) -> list[Content]:
    """The contents without calls, and their results, that are approvals of calls of the source: one
    wire keeps an approval in a field of the call, another one requests it with a call."""
    approvals = {call.approval.id for call in source.calls() if call.approval is not None}
    return [
        item
        for item in found
        if item.value[1] not in ("call", "result") or item.value[2] not in approvals
    ]


def merge_texts(found: list[Content]) -> Iterator[tuple[object, ...]]:
    """The values of contents, with adjacent texts of one role as one: some wires cannot separate
    them."""
    for (role, is_text), run in groupby(found, key=lambda item: (item.value[0], item.is_text)):
        if is_text:
            texts = list(run)
            yield (
                role,
                "text",
                "".join(str(item.value[2]) for item in texts),
                any(item.value[3] for item in texts),
            )
        else:
            yield from (item.value for item in run)


def comparable_tool(one: Tool, reverse_map: IdMap) -> tuple[object, ...]:
    if one.web_search is not None:  # each provider has another type and name for it
        return ("web search", text_of(to_builtins(one.web_search)))
    schema = NO_PARAMETERS if one.schema is None or one.schema == {"type": "object"} else one.schema
    return (
        reverse_map.names.get(one.name, one.name),
        one.description,
        text_of(_sort_keys(schema)),
        one.strict,
        one.kind,
    )


def is_reported(path: JsonPath, encoded: Encoded) -> bool:
    """True if a loss is reported at a path, around it or inside it.

    The root is around everything, so a loss there covers only what has the root path.
    """
    return any(
        loss.path[: len(path)] == path or (loss.path and loss.path == path[: len(loss.path)])
        for loss in encoded.losses
    )


def paths(conversation: Conversation) -> set[JsonPath]:
    """The paths of the messages, parts and tools of a conversation."""
    return {
        one.path for one in (*conversation.messages, *conversation.parts(), *conversation.tools)
    }


def is_field_reported(path: JsonPath, encoded: Encoded) -> bool:
    """True if a loss is reported at a path or at a field of the object there."""
    return any(path in (loss.path, loss.path[:-1]) for loss in encoded.losses)


def missing_contents(source: list[Content], target: list[Content]) -> list[Content]:
    """The contents of the source that are missing in the target, in order. A text may be part of a
    longer one."""
    missing: list[Content] = []
    position = 0
    for item in source:
        for n in range(position, len(target)):
            other = target[n]
            if is_preserved(item.value, other.value) or (
                item.is_text and other.is_text and _is_part_of(item, other)
            ):
                position = n if item.is_text else n + 1
                break
        else:
            missing.append(item)
    return missing


def is_preserved(before: object, after: object) -> bool:
    """True if every given value is the same; a target may fill in values that were absent (the name
    of a file, a count of zero)."""
    if isinstance(before, tuple) and isinstance(after, tuple):
        return len(before) == len(after) and all(map(is_preserved, before, after))
    return before is None or before == after


def _is_part_of(item: Content, other: Content) -> bool:
    return (
        item.value[0] == other.value[0]
        and item.value[3] == other.value[3]
        and str(item.value[2]) in str(other.value[2])
    )


def comparable_setting(value: Setting, reverse_map: IdMap) -> object:
    """A setting to compare: a tool choice has the names of the source."""
    if isinstance(value, Choice):
        return (value.mode, tuple(reverse_map.names.get(name, name) for name in value.names))
    if isinstance(value, str):  # the id of a response has the prefix of its wire
        return re.sub("^(?:chatcmpl-|resp_|msg_|v1_)", "", value)
    if isinstance(value, Usage):  # a count of zero is no information
        return tuple(getattr(value, name) or None for name in value.__struct_fields__)
    return (
        tuple(getattr(value, name) for name in value.__struct_fields__)
        if isinstance(value, Format)
        else value
    )


def comparable_stop(message: Message) -> str | None:
    """Why the model stopped; a message with calls stopped for them, whatever the server reports."""
    called = any(isinstance(part, Call) and part.executor == "client" for part in message.parts)
    return "tool" if called and message.stop == "stop" else message.stop


GAPS: dict[tuple[str, str], str] = {}
"""Rows that are known to lose something without a report of their own. This table may only get
shorter."""
NO_FIELD = "the answer is the whole body, and a message knows its path but not that of its reason"
ROOT_LOSSES = {
    "no value for the stop reason": NO_FIELD,
    "a tool protocol has no stop reason": NO_FIELD,
    "a response contains only assistant content": "the body is one result of a tool",
}
"""Words of losses that may have the root pointer, and why. This table may only get shorter."""
PAIRS = [(case, target) for case in CASES for target in WIRES if target != case.wire]
PAIRS += [
    (case, target) for case in ALL if case not in CASES for target in MODELS if target != case.wire
]


@rows("case, target", PAIRS, group=lambda case, target: f"{case.wire}-to-{target}", share=2)
def test_what_is_not_reported_lost_is_still_there(case: Case, target: str) -> None:
    with gap(GAPS.get((str(case), target))):
        assert_reported_or_kept(case, target)


def root_reason(loss: Loss) -> str | None:
    """Why a loss may have the root pointer, or None if it may not."""
    return next((why for words, why in ROOT_LOSSES.items() if words in loss.reason), None)


@pytest.mark.skipif(not COMPLETE, reason="the losses of all wires are needed")
@rows("words", ROOT_LOSSES)
def test_a_loss_that_may_have_the_root_pointer_still_occurs(words: str) -> None:
    """Words that no translation reports at the root leave the table."""
    assert any(
        words in loss.reason and not loss.path
        for case, target in PAIRS
        if case.kind == "response" and case.wire in ("anthropic", "oxp") and target in WIRES
        for loss in losses_of(case, target)
    )


def losses_of(case: Case, target: str) -> list[Loss]:
    """What a translation reports as lost; nothing if it is refused."""
    try:
        return encode(decode(case.body, case.wire, case.kind), target, case.kind).losses
    except UsageError:
        return []


def assert_reported_or_kept(case: Case, target: str) -> None:
    source = decode(case.body, case.wire, case.kind)
    try:
        encoded = encode(source, target, case.kind)
    except UsageError:
        return
    assert [
        str(loss)
        for loss in encoded.losses
        if not loss.reason or isinstance(get(case.body, loss.path), UnsetType)
    ] == []
    found = decode(encoded.json(), target, case.kind)
    reverse_map = encoded.ids
    before, after = contents_of(source, IdMap()), contents_of(found, reverse_map)

    assert (
        missing_contents([item for item in before if not is_reported(item.path, encoded)], after)
        == []
    )
    tools = [comparable_tool(one, reverse_map) for one in found.tools]
    if isinstance(search := found.settings.get("web_search"), WebSearch):
        tools.append(comparable_tool(Tool("", web_search=search), reverse_map))
    assert [
        one
        for one in source.tools
        if not is_mark(one)
        and not is_reported(one.path, encoded)
        and comparable_tool(one, IdMap()) not in tools
    ] == []
    settings = {
        name: comparable_setting(value, reverse_map) for name, value in found.settings.items()
    }
    for tool in found.tools:
        if tool.web_search is not None:
            settings["web_search"] = tool.web_search
    left = {
        n: v
        for n, v in source.settings.items()
        if not is_reported(source.source.setting_paths.get(n, (n,)), encoded)
    }
    assert {
        n: v
        for n, v in left.items()
        if not is_preserved(comparable_setting(v, IdMap()), settings.get(n))
    } == {}
    assert [path for path in source.source.unknown_fields if not is_reported(path, encoded)] == []
    stops = [comparable_stop(message) for message in found.messages]
    assert [
        m
        for m in source.messages
        if m.stop and not is_field_reported(m.path, encoded) and comparable_stop(m) not in stops
    ] == []
    assert [str(loss) for loss in encoded.losses if not loss.path and not root_reason(loss)] == []
    if not encoded.losses:
        kept = without_approvals(after, source)
        assert is_preserved(tuple(merge_texts(before)), tuple(merge_texts(kept)))


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_an_unknown_field_is_reported_or_still_there(wire: str, data: st.DataObject) -> None:
    """Also a field that is false, zero or an empty text. The fields that a reader knows to be unknown
    are not asked: they are what is tested."""
    case = data.draw(st.sampled_from([case for case in CASES if case.wire == wire]))
    source = decode(case.body, wire, case.kind)
    objects = [
        path for path in sorted({(), *paths(source)}, key=str) if _is_object(case.body, path)
    ]
    if not objects:
        return
    values: tuple[JSON, ...] = (
        ("x", 1, True) if facts(wire).exempt.empty_fields else ("x", 0, False, "")
    )
    value = data.draw(st.sampled_from(values))
    field = (*data.draw(st.sampled_from(objects)), "x_unknown")
    body = set_at(case.body, field, value)
    target = data.draw(st.sampled_from([name for name in MODELS if name != wire]))
    try:
        encoded = encode(decode(body, wire, case.kind), target, case.kind)
    except (UsageError, DecodeError):
        return
    assert is_reported(field, encoded) or b"x_unknown" in encoded.json()


def _is_object(body: JSON, path: JsonPath) -> bool:
    return isinstance(get(body, path), dict)


@rows("wire, target", [(wire, target) for wire in MODELS for target in MODELS if target != wire])
@rows("story", HISTORIES)
def test_a_plain_history_loses_no_message_between_wires_of_models(
    wire: str, target: str, story: str
) -> None:
    history = decode(history_body(story, wire), wire)
    fields = {message.path[0] for message in history.messages}
    assert [loss for loss in encode(history, target).losses if loss.path[0] in fields] == []
