"""A repair writes and reads only what a fix changed: the result is that of writing and reading all
of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rows import rows

from toolwire import Conversation, codec, decode, encode
from toolwire.codec import encode_in_full, read_body, resolve
from toolwire.conversation.json import JSON
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Part, Result
from toolwire.lint import all_rules, foreign_content, registry, repair, repair_loop
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import remove_parts
from toolwire.lint.rule import Example
from toolwire.wires.engine.specs import Block

EXAMPLES = [
    (f"{rule.name}-{n}", example)
    for rule in all_rules()
    for n, example in enumerate((*rule.bad, *rule.good))
    if rule.scope != "stream"
    and example.kind == "request"
    and resolve(example.target)[0].name == example.wire
]


def sources(conversation: Conversation) -> list[object]:
    """Every message, part and tool with its path, its JSON and its block type."""
    found: list[object] = []
    for message in conversation.messages:
        found.append((message.role, message.wire, message.path, message.raw))
        found += [part for read in message.parts for part in parts_with_sources(read)]
    found += [(tool, tool.path, tool.raw) for tool in conversation.tools]
    source = conversation.source
    found += [conversation.settings, source.unknown_fields, source.setting_paths, source.body]
    return [*found, conversation.pristine]


def parts_with_sources(part: Part) -> Iterator[object]:
    """A part and the parts of its output."""
    spec = part.spec
    yield part, part.path, part.raw, part.signature, spec.name if isinstance(spec, Block) else ""
    if isinstance(part, Result) and isinstance(part.output, tuple):
        for inner in part.output:
            yield from parts_with_sources(inner)


def compare_with_whole_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what a repair writes and reads with the whole body, written and read."""

    def write_edited(conversation: Conversation, call_ids: set[str]) -> JSON:
        body = codec.write_edited(conversation, call_ids)
        assert body == encode_in_full(conversation, conversation.wire).body
        return body

    def read_edited(body: JSON, before: Conversation) -> Conversation:
        conversation = codec.read_edited(body, before)
        assert sources(conversation) == sources(read_body(body, before.wire, "request"))
        return conversation

    monkeypatch.setattr(repair_loop, "write_edited", write_edited)
    monkeypatch.setattr(repair_loop, "read_edited", read_edited)


@rows(
    "name, example",
    EXAMPLES,
    ids=lambda name, example: name,
    group=lambda name, example: example.wire,
)
def test_what_a_fix_leaves_alone_is_neither_written_nor_read_in_another_way(
    name: str, example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_with_whole_bodies(monkeypatch)
    repair(example.body, example.wire, target=example.target)


WIRES = ["openai-chat", "openai-responses", "azure-foundry", "anthropic", "gemini", "bedrock"]
PIXEL: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
TOOLS: JSON = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]


def turn(n: int) -> list[JSON]:
    """A question, two calls with their results, and an answer; one result and one question hold an
    image."""
    calls: list[JSON] = [
        {"id": f"c{n}{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("f", "g")
    ]
    asks: JSON = [{"type": "text", "text": f"{n}?"}, PIXEL] if n == 2 else f"{n}?"
    found: JSON = [{"type": "text", "text": "seen"}, PIXEL] if n == 3 else "found"
    return [
        {"role": "user", "content": asks},
        {"role": "assistant", "content": f"let me see {n}", "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"c{n}f", "content": found},
        {"role": "tool", "tool_call_id": f"c{n}g", "content": "nothing"},
        {"role": "assistant", "content": f"answer {n}"},
    ]


MESSAGES: list[JSON] = [{"role": "system", "content": "s"}, *turn(0), *turn(1), *turn(2), *turn(3)]
RESULTS = [n for n, message in enumerate(MESSAGES) if message["role"] == "tool"]  # type: ignore[index, call-overload]


@rows("wire", WIRES)
@rows("position", RESULTS)
@pytest.mark.parametrize("copies", [0, 2])
def test_a_history_with_one_fix_is_written_and_read_as_the_whole_body(
    wire: str, position: int, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [*MESSAGES[:position], *[MESSAGES[position]] * copies, *MESSAGES[position + 1 :]]
    history = decode({"model": "m", "messages": broken, "tools": TOOLS}, "openai-chat")
    body = encode(history, wire).body
    compare_with_whole_bodies(monkeypatch)
    assert repair(body, wire).changes


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic", "bedrock"])
def test_messages_after_a_fix_are_moved_and_not_read_again(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[Conversation, Conversation]] = []

    def read_edited(body: JSON, before: Conversation) -> Conversation:
        read.append((before, codec.read_edited(body, before)))
        return read[-1][1]

    monkeypatch.setattr(repair_loop, "read_edited", read_edited)
    broken = [*turn(0), *turn(1)[:2], *turn(1)[3:], *turn(4)]
    history = decode({"model": "m", "messages": broken, "tools": TOOLS}, "openai-chat")
    assert repair(encode(history, wire).body, wire).changes
    [(before, after)] = read
    assert len(after.calls()) == 6
    for new, old in zip(after.calls()[4:], before.calls()[4:], strict=True):
        assert new.args is old.args


def test_a_result_with_text_and_media_moves_with_its_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def turn(call_id: str) -> list[JSON]:
        image: JSON = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
        result: JSON = {"id": call_id, "name": "f", "response": {"output": "a"}, "parts": [image]}
        return [
            {"role": "user", "parts": [{"text": "look"}]},
            {"role": "model", "parts": [{"functionCall": {"id": call_id, "name": "f"}}]},
            {"role": "user", "parts": [{"functionResponse": result}]},
            {"role": "model", "parts": [{"text": "seen"}]},
        ]

    contents = [*turn("c1"), *turn("c2")[:2], *turn("c2")[3:], *turn("c3")]
    compare_with_whole_bodies(monkeypatch)
    assert repair({"contents": contents}, "gemini").changes


def test_messages_before_a_fix_stay_the_same_objects() -> None:
    texts: list[JSON] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    body: JSON = {"messages": [*texts, {"role": "user", "content": "c"}]}
    before = read_body(body, "openai-chat", "request")
    edited: JSON = {"messages": [*texts, {"role": "user", "content": "d"}]}
    after = codec.read_edited(edited, before)
    assert all(new is old for new, old in zip(after.messages[:2], before.messages[:2], strict=True))
    assert after == read_body(edited, "openai-chat", "request") != before


ITEMS: list[JSON] = [
    {"role": "user", "content": "a"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "b"},
    {"role": "user", "content": [{"type": "input_text", "text": "c"}]},
    {"role": "assistant", "content": "d"},
    {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c2", "output": "e"},
    {"role": "user", "content": "g"},
]
NEW_ITEM: JSON = {"type": "function_call_output", "call_id": "c1", "output": "again"}
UNKNOWN_ITEM: JSON = {"type": "message", "role": "assistant", "content": "h", "mood": "good"}
TOOLS_ITEM: JSON = {"type": "additional_tools", "role": "developer", "tools": []}


@rows("position", range(len(ITEMS) + 1))
@rows("end", [0, 1])
@pytest.mark.parametrize("new", [[NEW_ITEM], [UNKNOWN_ITEM], [TOOLS_ITEM], []])
@pytest.mark.parametrize("first", [[], [UNKNOWN_ITEM], [TOOLS_ITEM]])
def test_items_after_a_changed_one_are_read_as_in_the_whole_body(
    first: list[JSON], new: list[JSON], end: int, position: int
) -> None:
    items = [*first, *ITEMS]
    before = read_body({"instructions": "i", "input": items}, "openai-responses", "request")
    assert isinstance(before.source.body, dict)
    edited = [*items[:position], *new, *items[position + end :]]
    body: JSON = {**before.source.body, "input": edited}
    after = codec.read_edited(body, before)
    assert sources(after) == sources(read_body(body, "openai-responses", "request"))


@pytest.mark.parametrize("removed", [2, 5, 6])
@pytest.mark.parametrize("first", [[], [TOOLS_ITEM]])
def test_items_that_no_edit_touches_are_written_as_they_were(
    first: list[JSON], removed: int
) -> None:
    items = [*first, *ITEMS]
    before = read_body({"instructions": "i", "input": items}, "openai-responses", "request")
    parts = PartSet(part for part in before.parts() if part.raw is ITEMS[removed])
    edited = encode_in_full(remove_parts(before, parts), "openai-responses").body
    assert isinstance(edited, dict)
    left = [item for item in items if item is not ITEMS[removed]]
    assert edited["instructions"] == "i"
    assert edited["input"] == left


def test_turns_before_a_changed_item_stay_the_same_objects() -> None:
    before = read_body({"instructions": "i", "input": ITEMS}, "openai-responses", "request")
    assert isinstance(before.source.body, dict)
    body: JSON = {**before.source.body, "input": [*ITEMS[:5], *ITEMS[6:]]}
    after = codec.read_edited(body, before)
    assert all(new is old for new, old in zip(after.messages[:4], before.messages[:4], strict=True))


def test_the_format_of_a_history_is_looked_at_once_before_and_once_after_a_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Facts] = []

    def has_own_format(facts: Facts) -> bool:
        seen.append(facts)
        return foreign_content.has_own_format(facts)

    monkeypatch.setattr(registry, "has_own_format", has_own_format)
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    result: JSON = {"role": "tool", "tool_call_id": "c1", "content": "b"}
    question: JSON = {"role": "user", "content": "a"}
    body = {"messages": [question, {"role": "assistant", "tool_calls": [call]}, result, result]}
    assert len(repair(body, "openai-chat").changes) == 1
    assert len(seen) == 2
