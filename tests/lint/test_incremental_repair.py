"""A repair writes and reads only what a fix changed: the result is that of writing and reading all
of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rows import rows

from toolwire import Conversation, codec
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


@rows(
    "name, example",
    EXAMPLES,
    ids=lambda name, example: name,
    group=lambda name, example: example.wire,
)
def test_what_a_fix_leaves_alone_is_neither_written_nor_read_in_another_way(
    name: str, example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    repair(example.body, example.wire, target=example.target)


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
