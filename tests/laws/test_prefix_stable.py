"""Law 13, Prefix-stable: a history plus one turn translates to the translation of the history plus
one turn. Prompt caches of providers depend on it.

A history is what a client sends: it ends where the model answers. So every history that contains
several answers contains shorter histories, one before each answer. No model is asked while a call is
pending, so a history that ends with one was not sent.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cases import ALL, MODELS, Case
from histories import body_of, history_strategy
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from rows import rows

from toolwire import Conversation, Message, decode, pending, translate
from toolwire.conversation.fitting import fit
from toolwire.conversation.json import JSON, Object, get, parse, text_of
from toolwire.conversation.model import Setting
from toolwire.profiles.table import profile
from toolwire.translate import translate_conversation

FRAMEWORKS = ("ai-sdk", "genkit", "meai")
LISTS = ("messages", "contents", "input")
"""The field of a request that holds the history."""


def list_field(body: JSON) -> str | None:
    """The field of a body that holds the history, if it is a list."""
    assert isinstance(body, dict)
    return next((key for key in LISTS if isinstance(body.get(key), list)), None)


def answers(body: JSON, wire: str) -> list[int]:
    """Where the answers of the model start in the list of a request."""
    key = list_field(body)
    out: list[int] = []
    previous = ""
    for message in decode(body, wire).messages:
        indexes = [part.path[1] for part in message.parts if part.path[:1] == (key,)]
        if message.role == "assistant" != previous and indexes:
            assert isinstance(indexes[0], int)
            out.append(indexes[0])
        previous = message.role
    return [index for index in out if index > 0]


def histories(body: JSON, wire: str) -> Iterator[Object]:
    """The histories that a client sent before it could send this one, and this one."""
    assert isinstance(body, dict)
    key = list_field(body)
    if key is None:
        return
    items = body[key]
    assert isinstance(items, list)
    for end in sorted({*answers(body, wire), len(items)}):
        history = {**body, key: items[:end]}
        if not pending(history, wire):
            yield history


def split(body: JSON) -> tuple[list[str], Object]:
    """The elements of a history, as JSON text, and everything else of a request."""
    key = list_field(body)
    assert isinstance(body, dict) and key is not None
    items = body[key]
    assert isinstance(items, list)
    return [text_of(item) for item in items], {k: v for k, v in body.items() if k != key}


def calls_undefined_tools(body: JSON, wire: str) -> bool:
    """True if a request has calls of tools that it does not define."""
    conversation = decode(body, wire)
    return not {call.name for call in conversation.calls()} <= {
        tool.name for tool in conversation.tools
    }


def loads_tools(body: JSON, wire: str) -> bool:
    """True if elements of the history define tools, as the output of a tool search does."""
    key = list_field(body)
    return any(tool.path[:1] == (key,) for tool in decode(body, wire).tools)


def grows(before: JSON, after: JSON) -> bool:
    """True if two values are the same but for further elements at the ends of lists."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(
            grows(before[key], after[key]) for key in before
        )
    if isinstance(before, list) and isinstance(after, list):
        return len(before) <= len(after) and all(map(grows, before, after))
    return before == after


TOOL_FIELDS = ("tools", "toolConfig", "strict_tools")
"""The fields of a request that hold tool definitions, or one flag about all of them."""


def split_tools(others: Object) -> tuple[JSON, str]:
    """The tool definitions of a request and the settings that are not about them."""
    definitions = next((others[name] for name in TOOL_FIELDS[:2] if name in others), [])
    return definitions, text_of({k: v for k, v in others.items() if k not in TOOL_FIELDS})


def without_end_mark(items: list[str]) -> list[str]:
    """The elements of a history without a cache point at the end of the last one."""
    last = parse(items[-1])
    content = last.get("content") if isinstance(last, dict) else None
    if not isinstance(content, list) or get(content, (len(content) - 1, "cachePoint")) is UNSET:
        return items
    assert isinstance(last, dict)
    return [*items[:-1], text_of({**last, "content": content[:-1]})]


def assert_stable(body: JSON, wire: str, target: str) -> None:
    """Compare the translations of a history and of those that came before it.

    A target that wants a definition of every called tool gets one with the first call of a tool
    that the request does not define: then the settings may differ. A definition that the history
    loads was not there before it: it follows those that were. A mark that asks for automatic
    caching stands at the end of the request, wherever that is; it is no part of what is cached.
    """
    free = profile(target).calls_need_tool_definitions and calls_undefined_tools(body, wire)
    loads, moves = loads_tools(body, wire), get(body, ("cache_control",)) is not UNSET
    previous: tuple[list[str], Object] | None = None
    for history in histories(body, wire):
        items, others = split(translate(history, wire, target).body)
        if previous is not None:
            sent = without_end_mark(previous[0]) if moves else previous[0]
            assert items[: len(sent)] == sent
            if loads and not free:
                tools, settings = split_tools(others)
                previous_tools, previous_settings = split_tools(previous[1])
                assert grows(previous_tools, tools) and settings == previous_settings
            else:
                assert free or text_of(others) == text_of(previous[1])
        previous = (items, others)


@pytest.mark.parametrize(
    "after, expected",
    [
        ({"tools": [{"name": "f"}]}, True),
        ({"tools": [{"name": "f"}, {"name": "g"}]}, True),
        ({"tools": [{"name": "g"}, {"name": "f"}]}, False),
        ({"tools": [{"name": "f", "strict": True}]}, False),
        ({"tools": []}, False),
    ],
)
def test_lists_grow_only_at_their_ends(after: JSON, expected: bool) -> None:
    assert grows({"tools": [{"name": "f"}]}, after) is expected


HISTORIES = [
    case
    for case in ALL
    if case.kind == "request"
    and isinstance(case.body, dict)
    and len(list(histories(case.body, case.wire))) > 1
]
ROWS = [(case, target) for case in HISTORIES for target in MODELS]


def test_the_wires_of_models_and_frameworks_have_histories_of_several_turns() -> None:
    own = {case.wire for case in HISTORIES if not case.name.startswith("recorded")}
    assert own >= {*MODELS, *FRAMEWORKS}


@rows("case, target", ROWS, share=2)
def test_one_turn_more_leaves_what_was_sent_as_it_was(case: Case, target: str) -> None:
    assert_stable(case.body, case.wire, target)


@pytest.mark.parametrize("wire", MODELS)
@given(data=st.data())
def test_one_turn_more_leaves_a_drawn_history_as_it_was(wire: str, data: st.DataObject) -> None:
    body = body_of(data.draw(history_strategy(wire)), wire)
    assert_stable(body, wire, data.draw(st.sampled_from(MODELS)))


INVALID = f"call {'x' * 70}"
"""An id that most targets refuse."""


def turns(ids: list[str]) -> Object:
    """A chat with one call per turn; the last user message waits for an answer."""
    messages: list[JSON] = []
    for n, call_id in enumerate(ids):
        function: JSON = {"name": "f", "arguments": f'{{"n":{n}}}'}
        call: JSON = {"id": call_id, "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Go {n}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": f"r{n}"},
            {"role": "assistant", "content": "Done."},
        ]
    return {"model": "m", "messages": [*messages, {"role": "user", "content": "So?"}]}


def turns_on(wire: str, ids: list[str]) -> JSON:
    """The same on another wire, whose body holds any ids, whatever its provider accepts."""
    accepted = [f"abcdefgh{n}" for n in range(len(ids))]  # by the rule of every wire
    text = text_of(translate(turns(accepted), "openai-chat", wire, repair=False).body)
    for valid, wanted in zip(accepted, ids, strict=True):
        text = text.replace(text_of(valid), text_of(wanted))
    return parse(text)


def result_pairs(body: JSON, wire: str) -> list[tuple[str, JSON, str]]:
    return [
        (pair.call.id, pair.call.input, pair.result.text)
        for pair in decode(body, wire).pairs()
        if pair.call and pair.result
    ]


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("wire", [*MODELS, *FRAMEWORKS])
def test_a_later_id_that_equals_an_earlier_fitted_one_leaves_that_as_it_was(
    wire: str, target: str
) -> None:
    if wire == target:
        return  # ids of the own wire are not fitted
    fitted = fit(INVALID, profile(target).id_rule)
    ids = [INVALID, "another id" if fitted == INVALID else fitted, "abcdefghi"]
    body = turns_on(wire, ids)
    expected = [(call_id, {"n": n}, f"r{n}") for n, call_id in enumerate(ids)]
    assert result_pairs(body, wire) == expected
    assert_stable(body, wire, target)
    there = translate(body, wire, target)
    back = translate(there.json(), target, wire, ids=there.ids.to_dict())
    assert result_pairs(back.body, wire) == expected


@pytest.mark.parametrize("target", [name for name in MODELS if name != "openai-chat"])
def test_an_id_of_the_target_that_equals_an_earlier_fitted_one_leaves_that_as_it_was(
    target: str,
) -> None:
    """An agent that switches models sends the answers of the target as they came."""
    earlier = decode(turns([INVALID]), "openai-chat").messages[:-1]
    native = decode(turns_on(target, [fit(INVALID, profile(target).id_rule)]), target).messages
    settings: dict[str, Setting] = {"model": "m"}
    question = Message("user", "Go on.")
    before = Conversation((*earlier, question), (), settings, "", "request")
    after = Conversation((*earlier, *native), (), settings, "", "request")
    sent = split(translate_conversation(before, target).body)[0][:-1]
    body = translate_conversation(after, target).body
    assert split(body)[0][: len(sent)] == sent
    assert [(arguments, text) for _, arguments, text in result_pairs(body, target)] == [
        ({"n": 0}, "r0")
    ] * 2
