"""Reasoning is not followed by the output that it led to, or the model does not reason.

A stored reasoning item is accepted only together with the item that it led to: "Item 'rs_…' of type
'reasoning' was provided without its required following item." This happens when a response was cut
off after the reasoning, or when the call or the text after it was removed, or replaced by a plain
message that does not have the id of the item. An assistant message of blocks must not end with
thinking for the same reason: "The final block in an assistant message cannot be `thinking`." After
a switch to a model that does not reason, no reasoning is accepted: "Reasoning input items can only
be provided to a reasoning or computer use model."

The fix removes the reasoning, because the provider accepts no other form of it. Its readable text,
if there is any, becomes a marked message or block of the assistant.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Part, Reasoning
from toolwire.lint.examples.blocks import assistant_blocks, text_block
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    items_example,
    reasoning_item,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.thinking import thinking_as_text
from toolwire.lint.items import input_items, is_model_item, reasoning_as_text, with_items
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule
from toolwire.profiles.profile import names_model


def _dangling_items(facts: Facts) -> list[tuple[int, Object]]:
    """Stored reasoning items that no item of the model follows: index and JSON."""
    if facts.profile.reasoning_to_return != "reasoning" or not facts.own_wire:
        return []
    dangling: list[tuple[int, Object]] = []
    pending: list[tuple[int, Object]] = []
    for index, kind, item in input_items(facts):
        if kind == "reasoning":
            pending.append((index, item))
        elif pending:
            if not is_model_item(kind, item):
                dangling += pending
            elif kind == "message" and not item.get("id"):
                dangling += [entry for entry in pending if _is_stored(entry[1])]
            pending = []
    return [(index, item) for index, item in dangling + pending if isinstance(item.get("id"), str)]


def _items_for_another_model(facts: Facts) -> list[tuple[int, Object]]:
    """All reasoning items, if the model of the request does not reason: index and JSON."""
    pattern, model = (
        facts.profile.models_without_reasoning,
        facts.conversation.settings.get("model"),
    )
    if not pattern or not isinstance(model, str) or not names_model(pattern, model):
        return []
    return [(index, item) for index, kind, item in input_items(facts) if kind == "reasoning"]


def _is_stored(item: Object) -> bool:
    """True if an item does not hold its reasoning, so that the server looks it up by its id."""
    return not any(item.get(field) for field in ("encrypted_content", "content"))


def _final_thinking(facts: Facts) -> list[Part]:
    """The thinking blocks at the end of assistant messages; several in a row count as one."""
    profile, messages = facts.profile, facts.messages
    if (
        profile.reasoning_to_return != "thinking"
        or facts.conversation.kind != "request"
        or facts.observations.holds(Observation.NO_REASONING)
    ):
        return []
    found: list[Part] = []
    for index, message in enumerate(messages):
        follower = messages[index + 1].role if index + 1 < len(messages) else ""
        if message.role == "assistant" and follower != "assistant":
            for part in reversed(message.parts):
                if not isinstance(part, Reasoning):
                    break
                found.append(part)
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for part in _final_thinking(facts):
        yield part.path, "the assistant message ends with thinking", "safe"
    unread = _items_for_another_model(facts)
    for index, _ in unread:
        yield ("input", index), "the model of this request accepts no reasoning", "safe"
    for index, item in _dangling_items(facts) if not unread else ():
        message = f"the reasoning item {item['id']} is not followed by text or a call of the model"
        yield ("input", index), message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | FixedConversation | None:
    thinking = _final_thinking(facts)
    if thinking:
        return thinking_as_text(facts.conversation, thinking, "that nothing follows")
    removals = _items_for_another_model(facts) or _dangling_items(facts)
    if not removals:
        return None
    changes = tuple(
        (("input", index), f"removed the reasoning item {item.get('id', '')}".rstrip())
        for index, item in removals
    )
    texts = {index: reasoning_as_text(item) for index, item in removals}
    return FixedBody(with_items(facts, texts), changes)


_THINKING: JSON = {"type": "thinking", "thinking": "hm", "signature": "ErUBCkYICxIM"}
_REPLY: Object = {"role": "assistant", "content": "hello"}
RULE = Rule(
    "TW048",
    "reasoning-dangling",
    title="reasoning is not followed by the output that it led to, or the model does not reason",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: profile.reasoning_to_return in ("reasoning", "thinking"),
    applies=lambda profile: profile.reasoning_to_return == "thinking",
    ruled_out_by=(Observation.NO_REASONING,),
    ruled_out_on="other wires",
    ruled_out_on_own_wire_by=(Observation.ONLY_TEXT_AND_TOOLS,),
    bad=(
        items_example(reasoning_item()),
        items_example(reasoning_item("rs_1", "hm"), USER),
        items_example(function_call(), reasoning_item(), function_call_output()),
        items_example(reasoning_item(), _REPLY),
        items_example(
            reasoning_item(),
            function_call("call_1", "fc_1"),
            function_call_output(),
            model="gpt-4.1",
        ),
        blocks_example(USER, assistant_blocks(_THINKING), USER),
        blocks_example(USER, assistant_blocks(text_block("so"), _THINKING), USER),
    ),
    good=(
        items_example(reasoning_item(), function_call("call_1", "fc_1"), function_call_output()),
        items_example(
            reasoning_item(), reasoning_item("rs_2"), {**_REPLY, "id": "msg_1", "type": "message"}
        ),
        items_example(reasoning_item(encrypted_content="gAAAAA"), _REPLY),
        blocks_example(USER, assistant_blocks(_THINKING, text_block("so")), USER),
        items_example(reasoning_item(None, encrypted_content="gAAAAA")),
        items_example(reasoning_item(), target="deepseek-responses"),
    ),
)
