"""Ways to break a history, as JSON surgery: what stores, filters, bridges and impatient users do to
it.

A break gives the broken body, or None where the history has nothing of the kind. Which profile
minds it stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from msgspec import Struct

from toolwire import decode
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Result
from toolwire.profiles.table import Profile


class Shape(Struct, frozen=True):
    """Where a wire keeps its messages, and how a block stands in one."""

    key: str
    inner: str = ""
    """The field of a message that holds blocks; none where a result is a message of its own."""
    says: str = "assistant"
    item: bool = False
    """Whether a call is a message of its own too."""

    def alone(self, block: JSON, role: str = "user") -> JSON:
        """A message with just this block."""
        return (
            {"role": self.says if role == "assistant" else role, self.inner: [block]}
            if self.inner
            else block
        )

    def words(self, role: str, text: str) -> JSON:
        """A message with some words."""
        block: Object = (
            {"text": text}
            if self.inner != "content" or self.key == "contents"
            else {"type": "text", "text": text}
        )
        if not self.inner:
            return {"role": role, "content": text}
        return self.alone(block, "user" if role == "system" else role)


class Bedrock(Shape, frozen=True):
    """Blocks that are told by their field."""

    def words(self, role: str, text: str) -> JSON:
        return self.alone({"text": text}, "user" if role == "system" else role)


SHAPES: dict[str, Shape] = {
    "openai-chat": Shape("messages"),
    "mistral": Shape("messages"),
    "openai-responses": Shape("input", item=True),
    "anthropic": Shape("messages", "content"),
    "bedrock": Bedrock("messages", "content"),
    "gemini": Shape("contents", "parts", "model"),
}


class Broken:
    """A copy of a history under the knife."""

    def __init__(self, body: JSON, wire: str) -> None:
        self.shape = SHAPES[wire]
        self.wire = wire
        self.body: Object = deepcopy(body)  # type: ignore[arg-type]
        read: Conversation = decode(self.body, wire)
        self.calls = [call for call in read.calls() if call.executor == "client"]
        self.results = [result for result in read.results() if result.executor == "client"]
        pairs = [
            (p.call, p.result)
            for p in read.pairs()
            if p.call and p.result and p.call.executor == "client"
        ]
        self.pairs = [
            pair for pair in pairs if isinstance(pair[0].path[-1], int)
        ]  # the oldest form of a call stands in no list

    @property
    def messages(self) -> list[JSON]:
        """The messages."""
        found = self.body[self.shape.key]
        assert isinstance(found, list)
        return found

    def place(self, part: Call | Result) -> int:
        """The place of a part's message."""
        assert isinstance(part.path[1], int)
        return part.path[1]

    def lift(self, *parts: Call | Result) -> list[JSON]:
        """Parts taken out, with the messages that have nothing else then."""
        out: list[JSON] = []
        for part in sorted(parts, key=lambda one: _key(one.path), reverse=True):
            held = _at(self.body, part.path[:-1])
            assert isinstance(held, list) and isinstance(part.path[-1], int)
            out.insert(0, held.pop(part.path[-1]))
            if not held and len(part.path) > 2:
                message = _at(self.body, part.path[:2])
                assert isinstance(message, dict)
                if part.path[2] == "tool_calls" and message.get("content"):
                    del message["tool_calls"]
                else:
                    self.messages.pop(self.place(part))
        return out

    def at(self, at: JsonPath) -> JSON:
        """What stands at a place."""
        return _at(self.body, at)

    def block(self, part: Call | Result) -> Object:
        """The JSON of a part."""
        found = _at(self.body, part.path)
        assert isinstance(found, dict)
        return found

    def insert(self, n: int, *new: JSON) -> None:
        """Put messages in at a place."""
        self.messages[n:n] = new


def _at(body: JSON, at: JsonPath) -> JSON:
    for step in at:
        body = body[step]  # type: ignore[index]
    return body


def _key(at: JsonPath) -> tuple[int, ...]:
    return tuple(step for step in at if isinstance(step, int))


Break = Callable[[Broken, int], bool]
"""Breaks a history at the n-th pair, and says whether it could."""
BREAKS: dict[str, tuple[Break, Callable[[Profile], bool]]] = {}
"""Each by its name, with who minds it."""
NAMES: dict[str, tuple[str, ...]] = {}
"""The rules of which one names it; any, if there are none."""
BLIND: set[str] = set()
"""Those that take away what tells a call or a result from another, so that nobody can say which was
which."""


def breaks(
    minds: Callable[[Profile], bool], *names: str, blind: bool = False
) -> Callable[[Break], Break]:
    """Put a break on the list."""

    def listed(made: Break) -> Break:
        name = made.__name__.replace("_", "-")
        BREAKS[name] = (made, minds)
        NAMES[name] = names
        if blind:
            BLIND.add(name)
        return made

    return listed


def _strict(profile: Profile) -> bool:
    return profile.result_placement in ("next", "alone")


@breaks(lambda profile: profile.rejects_missing_results)
def the_result_is_lost(one: Broken, n: int) -> bool:
    one.lift(one.pairs[n][1])
    return True


@breaks(lambda profile: profile.rejects_orphan_results)
def the_call_is_lost(one: Broken, n: int) -> bool:
    one.lift(one.pairs[n][0])
    return True


@breaks(lambda profile: profile.rejects_missing_results)
def all_results_are_lost_and_somebody_speaks(one: Broken, n: int) -> bool:
    one.lift(*one.results)
    one.messages.append(one.shape.words("user", "well?"))
    return n == 0


@breaks(lambda profile: profile.rejects_orphan_results)
def the_result_comes_first(one: Broken, n: int) -> bool:
    if one.pairs[n][1].origin == "minted":
        return False
    (block,) = one.lift(one.pairs[n][1])
    one.insert(0, one.shape.alone(block))
    return True


@breaks(_strict)
def the_result_comes_last(one: Broken, n: int) -> bool:
    if one.pairs[n][1].origin == "minted":
        return False  # without an id it is not to be found there
    (block,) = one.lift(one.pairs[n][1])
    one.messages.extend((one.shape.words("user", "late?"), one.shape.alone(block)))
    return True


@breaks(_strict)
def a_user_speaks_in_between(one: Broken, n: int) -> bool:
    one.insert(one.place(one.pairs[n][0]) + 1, one.shape.words("user", "hurry"))
    return True


@breaks(_strict)
def the_assistant_speaks_in_between(one: Broken, n: int) -> bool:
    if one.pairs[n][1].origin == "minted":
        return False
    one.insert(one.place(one.pairs[n][1]), one.shape.words("assistant", "one moment"))
    return True


@breaks(lambda profile: False)
def the_system_speaks_in_between(one: Broken, n: int) -> bool:
    one.insert(one.place(one.pairs[n][0]) + 1, one.shape.words("system", "be quick"))
    return True


@breaks(lambda profile: False)
def each_result_has_its_own_message(one: Broken, n: int) -> bool:
    together = [result for result in one.results if one.place(result) == one.place(one.pairs[n][1])]
    if len(together) < 2 or not one.shape.inner:
        return False
    place = one.place(together[0])
    blocks = one.lift(*together)
    one.insert(place, *(one.shape.alone(block) for block in blocks))
    return True


@breaks(lambda profile: _strict(profile) and not profile.merges_assistant_messages)
def each_call_has_its_own_message(one: Broken, n: int) -> bool:
    together = [call for call in one.calls if one.place(call) == one.place(one.pairs[n][0])]
    if len(together) < 2 or one.shape.item:
        return False
    place = one.place(together[0])
    if one.shape.inner:
        (block,) = one.lift(together[-1])
        one.insert(place + 1, one.shape.alone(block, "assistant"))
    else:
        (block,) = one.lift(together[-1])
        one.insert(place + 1, {"role": "assistant", "content": None, "tool_calls": [block]})
    return True


@breaks(lambda profile: profile.results_come_first or profile.result_placement == "alone")
def words_come_before_the_result(one: Broken, n: int) -> bool:
    return _beside(one, n, 0)


@breaks(lambda profile: profile.result_placement == "alone")
def words_come_after_the_result(one: Broken, n: int) -> bool:
    return _beside(one, n, 99)


def _beside(one: Broken, n: int, place: int) -> bool:
    if not one.shape.inner:
        return False
    held = _at(one.body, one.pairs[n][1].path[:-1])
    words = one.shape.words("user", "see")
    assert isinstance(held, list) and isinstance(words, dict)
    held.insert(place, words[one.shape.inner][0])  # type: ignore[index]
    return True


@breaks(lambda profile: False)
def results_stand_the_other_way_round(one: Broken, n: int) -> bool:
    together = [
        result for call, result in one.pairs if one.place(call) == one.place(one.pairs[n][0])
    ]
    blocks = [deepcopy(_at(one.body, result.path)) for result in together]
    for result, block in zip(together, reversed(blocks), strict=True):
        held = _at(one.body, result.path[:-1])
        held[result.path[-1]] = block  # type: ignore[index]
    return len(together) > 1


@breaks(lambda profile: profile.rejects_duplicate_results)
def the_result_is_there_twice(one: Broken, n: int) -> bool:
    result = one.pairs[n][1]
    held = _at(one.body, result.path[:-1])
    assert isinstance(held, list) and isinstance(result.path[-1], int)
    held.insert(result.path[-1], deepcopy(held[result.path[-1]]))
    return True


@breaks(lambda profile: profile.rejects_orphan_results)
def the_result_has_another_id(one: Broken, n: int) -> bool:
    return set_id(one, one.pairs[n][1], "zzz99zzz9")


@breaks(lambda profile: profile.rejects_orphan_results)
def the_result_has_half_of_the_id(one: Broken, n: int) -> bool:
    call = one.pairs[n][0]
    return set_id(one, call, f"{call.id}|fc_1")


@breaks(lambda profile: False)
def the_result_has_no_id(one: Broken, n: int) -> bool:
    return set_id(one, one.pairs[n][1], None)


def set_id(one: Broken, part: Call | Result, new: JSON) -> bool:
    """Give a part another id, or none; False if it has no id of its own."""
    block = _at(one.body, part.path)
    old = part.id if isinstance(part, Call) else part.call_id
    return isinstance(block, dict) and part.origin == "wire" and _swap_id(block, old, new)


def _swap_id(block: Object, old: str, new: JSON) -> bool:
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
            return _swap_id(value, old, new)
    return False


@breaks(lambda profile: profile.results_need_tool_name)
def the_result_has_another_name(one: Broken, n: int) -> bool:
    block = _at(one.body, one.pairs[n][1].path)
    inside = block.get("functionResponse") if isinstance(block, dict) else None
    if not isinstance(inside, dict) or one.pairs[n][1].origin == "minted":
        return False
    inside["name"] = "unknown"
    return True


@breaks(lambda profile: profile.rejects_orphan_results)
def the_beginning_is_cut_off(one: Broken, n: int) -> bool:
    del one.messages[: one.place(one.pairs[n][1])]
    return True


@breaks(lambda profile: profile.call_needs_preceding_user)
def the_history_begins_with_a_call(one: Broken, n: int) -> bool:
    del one.messages[: one.place(one.pairs[n][0])]
    return True


@breaks(lambda profile: False)
def the_end_is_cut_off(one: Broken, n: int) -> bool:
    del one.messages[one.place(one.pairs[n][0]) + 1 :]
    return True


@breaks(lambda profile: profile.no_user_after_tool)
def a_user_speaks_after_the_result(one: Broken, n: int) -> bool:
    last = max(
        one.place(result)
        for call, result in one.pairs
        if one.place(call) == one.place(one.pairs[n][0])
    )
    one.insert(last + 1, one.shape.words("user", "and then?"))
    return True


@breaks(lambda profile: profile.must_end_with_user_or_tool)
def the_assistant_speaks_last(one: Broken, n: int) -> bool:
    one.messages.append(one.shape.words("assistant", "that is all"))
    return n == 0


@breaks(lambda profile: profile.rejects_missing_results)
def the_provider_ran_it(one: Broken, n: int) -> bool:
    call, result = one.pairs[n]
    return set_id(one, call, "srvtoolu_1") and bool(one.lift(result))


def broken(name: str, body: JSON, wire: str, n: int = 0) -> JSON | None:
    """A body broken in one way at the n-th pair; None if it cannot be."""
    one = Broken(body, wire)
    return one.body if n < len(one.pairs) and BREAKS[name][0](one, n) else None


MOVES = tuple(sorted(BREAKS))
"""The breaks of this module: those that lose, add and move calls, results and messages."""
