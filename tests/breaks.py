"""Ways to break a history, as edits of its JSON: what stores, filters, bridges and impatient users
do to it.

A break edits a copy of a history at its n-th pair. It is registered with the profiles that refuse
the result and the rules of which one is expected to find it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy

from cases import MODELS
from hand_made_histories import history_body
from msgspec import UNSET, Struct

from toolwire import decode, translate
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import Call, Result
from toolwire.profiles.table import Profile


class Shape(Struct, frozen=True):
    """Where a wire keeps its messages and the blocks of a message."""

    list_field: str
    block_field: str = ""
    """The field of a message that holds blocks; empty if a result is a message of its own."""
    assistant_role: str = "assistant"
    calls_are_items: bool = False
    """True if a call is an element of the list, like a message."""
    has_item_ids: bool = False
    """True if such a call has an item id in addition to its call id."""
    text_type: bool = False
    """True if a text block names its type."""
    text_messages: Mapping[str, JSON] = {}
    """For wires whose messages have no role: a message of each role, with a text to replace."""

    def message(self, block: JSON, role: str = "user") -> JSON:
        """A message that holds only this block."""
        if not self.block_field:
            return block
        name = self.assistant_role if role == "assistant" else role
        return {"role": name, self.block_field: [block]}

    def text_message(self, role: str, text: str) -> JSON:
        """A message that holds only this text."""
        if self.text_messages:
            return json.loads(json.dumps(self.text_messages[role]).replace(_ANY_TEXT, text))  # type: ignore[no-any-return]
        if not self.block_field:
            return {"role": role, "content": text}
        block: Object = {"type": "text", "text": text} if self.text_type else {"text": text}
        return self.message(block, "user" if role == "system" else role)


def find_shape(wire: str) -> Shape:
    """The shape of a wire, found in a history with a text, a call and a result."""
    body = history_body("one-call", wire)
    conversation = decode(body, wire)
    (call,), (result,) = conversation.calls(), conversation.results()
    field, index = call.path[:2]
    message = get(body, (field, index))
    assert isinstance(field, str) and isinstance(message, dict)
    block_field = str(result.path[2]) if len(result.path) > 2 else ""
    blocks = message.get(block_field)
    text = blocks[0] if isinstance(blocks, list) else None
    first = get(body, (field, 0))
    has_roles = isinstance(first, dict) and "role" in first
    return Shape(
        field,
        block_field,
        assistant_role=str(message.get("role", "assistant")),
        calls_are_items=len(call.path) == 2,
        has_item_ids=len(call.path) == 2 and "call_id" in message,
        text_type=isinstance(text, dict) and "type" in text,
        text_messages={} if has_roles else find_text_messages(wire, field),
    )


_ANY_TEXT = "ANY TEXT"


def find_text_messages(wire: str, field: str) -> dict[str, JSON]:
    """A message of each role on a wire whose messages have no role; the system's is the user's."""
    found: dict[str, JSON] = {}
    for role in ("user", "assistant"):
        chat: JSON = {"messages": [{"role": role, "content": _ANY_TEXT}]}
        found[role] = get(translate(chat, "openai-chat", wire).body, (field, 0))  # type: ignore[assignment]
    return {**found, "system": found["user"]}


SHAPES = {wire: find_shape(wire) for wire in MODELS}
"""The shapes of the wires that models speak."""


class HistoryEditor:
    """A copy of a history, with its pairs and the means to edit it."""

    def __init__(self, body: JSON, wire: str) -> None:
        self.shape = SHAPES[wire]
        self.wire = wire
        self.body: Object = deepcopy(body)  # type: ignore[arg-type]
        conversation = decode(self.body, wire)
        self.is_corrected = bool(conversation.source.corrections)
        """True if the body was not read as it is, so that paths of parts do not lead into it."""
        self.calls = [call for call in conversation.calls() if call.executor == "client"]
        self.results = [result for result in conversation.results() if result.executor == "client"]
        self.pairs = [
            (pair.call, pair.result)
            for pair in conversation.pairs()
            if pair.call
            and pair.result
            and pair.call.executor == "client"
            and isinstance(pair.call.path[-1], int)  # a legacy function call is in no list
        ]

    @property
    def messages(self) -> list[JSON]:
        """The messages, or the items."""
        messages = self.body[self.shape.list_field]
        assert isinstance(messages, list)
        return messages

    def message_index(self, part: Call | Result) -> int:
        """The index of the message that holds a part."""
        assert isinstance(part.path[1], int)
        return part.path[1]

    def remove(self, *parts: Call | Result) -> list[JSON]:
        """Remove parts, and messages that hold nothing else. Returns the JSON of the parts."""
        out: list[JSON] = []
        for part in sorted(parts, key=lambda part: _indexes(part.path), reverse=True):
            blocks = _value_at(self.body, part.path[:-1])
            assert isinstance(blocks, list) and isinstance(part.path[-1], int)
            out.insert(0, blocks.pop(part.path[-1]))
            if not blocks and len(part.path) > 2:
                message = _value_at(self.body, part.path[:2])
                assert isinstance(message, dict)
                if part.path[2] == "tool_calls" and message.get("content"):
                    del message["tool_calls"]
                else:
                    self.messages.pop(self.message_index(part))
        return out

    def value_at(self, path: JsonPath) -> JSON:
        """The value at a path."""
        return _value_at(self.body, path)

    def block(self, part: Call | Result) -> Object:
        """The JSON of a part."""
        block = _value_at(self.body, part.path)
        assert isinstance(block, dict)
        return block

    def insert(self, index: int, *messages: JSON) -> None:
        """Insert messages."""
        self.messages[index:index] = messages


def _value_at(body: JSON, path: JsonPath) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


def _indexes(path: JsonPath) -> tuple[int, ...]:
    return tuple(step for step in path if isinstance(step, int))


Break = Callable[[HistoryEditor, int], bool]
"""Breaks a history at its n-th pair; False if the history has nothing to break in this way."""
BREAKS: dict[str, tuple[Break, Callable[[Profile], bool]]] = {}
"""Every break by name, with a predicate: whether a profile refuses the result."""
EXPECTED_RULES: dict[str, tuple[str, ...]] = {}
"""The rules of which one finds a break; empty if any rule will do."""
HIDES_IDENTITY: set[str] = set()
"""Breaks after which it cannot be known which result belongs to which call."""


def register_break(
    refused_by: Callable[[Profile], bool], *rules: str, hides_identity: bool = False
) -> Callable[[Break], Break]:
    """Add a function to `BREAKS`, under its name with hyphens."""

    def register(function: Break) -> Break:
        name = function.__name__.replace("_", "-")
        BREAKS[name] = (function, refused_by)
        EXPECTED_RULES[name] = rules
        if hides_identity:
            HIDES_IDENTITY.add(name)
        return function

    return register


def _wants_results_next(profile: Profile) -> bool:
    return profile.result_placement in ("next", "alone")


@register_break(lambda profile: profile.rejects_missing_results)
def the_result_is_lost(history: HistoryEditor, n: int) -> bool:
    history.remove(history.pairs[n][1])
    return True


@register_break(lambda profile: profile.rejects_orphan_results)
def the_call_is_lost(history: HistoryEditor, n: int) -> bool:
    history.remove(history.pairs[n][0])
    return True


@register_break(lambda profile: profile.rejects_missing_results)
def all_results_are_lost_and_the_user_continues(history: HistoryEditor, n: int) -> bool:
    history.remove(*history.results)
    history.messages.append(history.shape.text_message("user", "well?"))
    return n == 0


@register_break(lambda profile: profile.rejects_orphan_results)
def the_result_comes_first(history: HistoryEditor, n: int) -> bool:
    if history.pairs[n][1].origin == "minted":
        return False
    (block,) = history.remove(history.pairs[n][1])
    history.insert(0, history.shape.message(block))
    return True


@register_break(_wants_results_next)
def the_result_comes_last(history: HistoryEditor, n: int) -> bool:
    if history.pairs[n][1].origin == "minted":
        return False  # without an id a result there belongs to no call
    (block,) = history.remove(history.pairs[n][1])
    history.messages.extend(
        (history.shape.text_message("user", "late?"), history.shape.message(block))
    )
    return True


@register_break(_wants_results_next)
def a_user_message_separates_the_pair(history: HistoryEditor, n: int) -> bool:
    history.insert(
        history.message_index(history.pairs[n][0]) + 1, history.shape.text_message("user", "hurry")
    )
    return True


@register_break(_wants_results_next)
def an_assistant_message_separates_the_pair(history: HistoryEditor, n: int) -> bool:
    if history.pairs[n][1].origin == "minted":
        return False
    history.insert(
        history.message_index(history.pairs[n][1]),
        history.shape.text_message("assistant", "one moment"),
    )
    return True


@register_break(lambda profile: False)
def a_system_message_separates_the_pair(history: HistoryEditor, n: int) -> bool:
    history.insert(
        history.message_index(history.pairs[n][0]) + 1,
        history.shape.text_message("system", "be quick"),
    )
    return True


@register_break(lambda profile: False)
def each_result_has_its_own_message(history: HistoryEditor, n: int) -> bool:
    together = [
        result
        for result in history.results
        if history.message_index(result) == history.message_index(history.pairs[n][1])
    ]
    if len(together) < 2 or not history.shape.block_field:
        return False
    place = history.message_index(together[0])
    blocks = history.remove(*together)
    history.insert(place, *(history.shape.message(block) for block in blocks))
    return True


@register_break(
    lambda profile: _wants_results_next(profile) and not profile.merges_assistant_messages
)
def each_call_has_its_own_message(history: HistoryEditor, n: int) -> bool:
    together = [
        call
        for call in history.calls
        if history.message_index(call) == history.message_index(history.pairs[n][0])
    ]
    if len(together) < 2 or history.shape.calls_are_items:
        return False
    place = history.message_index(together[0])
    if history.shape.block_field:
        (block,) = history.remove(together[-1])
        history.insert(place + 1, history.shape.message(block, "assistant"))
    else:
        (block,) = history.remove(together[-1])
        history.insert(place + 1, {"role": "assistant", "content": None, "tool_calls": [block]})
    return True


@register_break(lambda profile: profile.results_come_first or profile.result_placement == "alone")
def text_stands_before_the_result(history: HistoryEditor, n: int) -> bool:
    return _insert_text(history, n, 0)


@register_break(lambda profile: profile.result_placement == "alone")
def text_stands_after_the_result(history: HistoryEditor, n: int) -> bool:
    return _insert_text(history, n, 99)


def _insert_text(history: HistoryEditor, n: int, place: int) -> bool:
    if not history.shape.block_field:
        return False
    blocks = _value_at(history.body, history.pairs[n][1].path[:-1])
    words = history.shape.text_message("user", "see")
    assert isinstance(blocks, list) and isinstance(words, dict)
    blocks.insert(place, words[history.shape.block_field][0])  # type: ignore[index]
    return True


@register_break(lambda profile: False)
def results_are_in_reverse_order(history: HistoryEditor, n: int) -> bool:
    together = [
        result
        for call, result in history.pairs
        if history.message_index(call) == history.message_index(history.pairs[n][0])
    ]
    blocks = [deepcopy(_value_at(history.body, result.path)) for result in together]
    for result, block in zip(together, reversed(blocks), strict=True):
        siblings = _value_at(history.body, result.path[:-1])
        siblings[result.path[-1]] = block  # type: ignore[index]
    return len(together) > 1


@register_break(lambda profile: profile.rejects_orphan_results, "wrong-role")
def the_call_stands_in_a_user_message(history: HistoryEditor, n: int) -> bool:
    return _set_role(history, history.pairs[n][0], "user")


@register_break(lambda profile: profile.rejects_missing_results, "wrong-role")
def the_result_stands_in_an_assistant_message(history: HistoryEditor, n: int) -> bool:
    if not history.shape.block_field or history.wire == "bedrock":
        return False  # it has no place there, or would be the result of a server tool
    return _set_role(history, history.pairs[n][1], history.shape.assistant_role)


def _set_role(history: HistoryEditor, part: Call | Result, role: str) -> bool:
    if history.shape.calls_are_items:
        return False
    message = history.messages[history.message_index(part)]
    assert isinstance(message, dict)
    message["role"] = role
    return True


@register_break(lambda profile: profile.rejects_duplicate_results)
def the_result_is_there_twice(history: HistoryEditor, n: int) -> bool:
    result = history.pairs[n][1]
    blocks = _value_at(history.body, result.path[:-1])
    assert isinstance(blocks, list) and isinstance(result.path[-1], int)
    blocks.insert(result.path[-1], deepcopy(blocks[result.path[-1]]))
    return True


@register_break(lambda profile: profile.rejects_orphan_results)
def the_result_has_another_id(history: HistoryEditor, n: int) -> bool:
    return set_id(history, history.pairs[n][1], "zzz99zzz9")


@register_break(lambda profile: profile.rejects_orphan_results)
def the_result_has_half_of_the_id(history: HistoryEditor, n: int) -> bool:
    call = history.pairs[n][0]
    return set_id(history, call, f"{call.id}|fc_1")


@register_break(lambda profile: False)
def the_result_has_no_id(history: HistoryEditor, n: int) -> bool:
    return set_id(history, history.pairs[n][1], None)


def set_id(history: HistoryEditor, part: Call | Result, new: JSON) -> bool:
    """Give a part another id, or none. Returns False if the wire gave it no id."""
    block = _value_at(history.body, part.path)
    old = part.id if isinstance(part, Call) else part.call_id
    return isinstance(block, dict) and part.origin == "wire" and _replace_id(block, old, new)


def _replace_id(block: Object, old: str, new: JSON) -> bool:
    for key, value in block.items():
        if key in ("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId") and value == old:
            if new is None:
                del block[key]
            else:
                block[key] = new
            return True
        if isinstance(value, dict) and key in (
            "toolUse",
            "toolResult",
            "functionCall",
            "functionResponse",
        ):
            return _replace_id(value, old, new)
    return False


@register_break(lambda profile: profile.results_need_tool_name)
def the_result_has_another_name(history: HistoryEditor, n: int) -> bool:
    block = _value_at(history.body, history.pairs[n][1].path)
    inside = block.get("functionResponse") if isinstance(block, dict) else None
    if not isinstance(inside, dict) or history.pairs[n][1].origin == "minted":
        return False
    response = inside.get("response")
    if isinstance(response, dict) and response.get("name") == inside.get("name"):
        response["name"] = "unknown"  # a client that writes the name twice
    inside["name"] = "unknown"
    return True


@register_break(lambda profile: profile.rejects_orphan_results)
def the_beginning_is_cut_off(history: HistoryEditor, n: int) -> bool:
    del history.messages[: history.message_index(history.pairs[n][1])]
    return True


@register_break(lambda profile: profile.call_needs_preceding_user)
def the_history_begins_with_a_call(history: HistoryEditor, n: int) -> bool:
    del history.messages[: history.message_index(history.pairs[n][0])]
    return True


@register_break(lambda profile: False)
def the_end_is_cut_off(history: HistoryEditor, n: int) -> bool:
    del history.messages[history.message_index(history.pairs[n][0]) + 1 :]
    return True


@register_break(lambda profile: profile.no_user_after_tool)
def a_user_message_follows_the_result(history: HistoryEditor, n: int) -> bool:
    last = max(
        history.message_index(result)
        for call, result in history.pairs
        if history.message_index(call) == history.message_index(history.pairs[n][0])
    )
    history.insert(last + 1, history.shape.text_message("user", "and then?"))
    return True


@register_break(lambda profile: profile.must_end_with_user_or_tool)
def an_assistant_message_is_last(history: HistoryEditor, n: int) -> bool:
    history.messages.append(history.shape.text_message("assistant", "that is all"))
    return n == 0


@register_break(lambda profile: profile.rejects_missing_results)
def the_call_looks_like_a_server_tool(history: HistoryEditor, n: int) -> bool:
    call, result = history.pairs[n]
    return set_id(history, call, "srvtoolu_1") and bool(history.remove(result))


def break_history(name: str, body: JSON, wire: str, n: int = 0) -> JSON | None:
    """A copy of a body that is broken at its n-th pair; None if it cannot be broken in this way."""
    history = HistoryEditor(body, wire)
    if history.is_corrected or n >= len(history.pairs):
        return None
    if any(get(body, part.path) is UNSET for pair in history.pairs for part in pair):
        return None  # an earlier break removed a list that the wire does not need
    return history.body if BREAKS[name][0](history, n) else None


MOVES = tuple(sorted(BREAKS))
"""The breaks of this module: they lose, add and move calls, results and messages."""
