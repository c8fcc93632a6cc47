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
from rows import gap, rows

from toolwire import decode, pending, translate
from toolwire.conversation.fitting import fit
from toolwire.conversation.json import JSON, Object, text_of
from toolwire.profiles.table import profile

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


def split(body: JSON) -> tuple[list[str], str]:
    """The elements of a history and everything else of a request, as JSON text."""
    key = list_field(body)
    assert isinstance(body, dict) and key is not None
    items = body[key]
    assert isinstance(items, list)
    return [text_of(item) for item in items], text_of({k: v for k, v in body.items() if k != key})


def calls_undefined_tools(body: JSON, wire: str) -> bool:
    """True if a request has calls of tools that it does not define."""
    conversation = decode(body, wire)
    return not {call.name for call in conversation.calls()} <= {
        tool.name for tool in conversation.tools
    }


def assert_stable(body: JSON, wire: str, target: str) -> None:
    """Compare the translations of a history and of those that came before it.

    A target that wants a definition of every called tool gets one with the first call of a tool
    that the request does not define: then the settings may differ.
    """
    free = profile(target).calls_need_tool_definitions and calls_undefined_tools(body, wire)
    previous: tuple[list[str], str] | None = None
    for history in histories(body, wire):
        items, others = split(translate(history, wire, target).body)
        if previous is not None:
            assert items[: len(previous[0])] == previous[0]
            assert free or others == previous[1]
        previous = (items, others)


HISTORIES = [
    case
    for case in ALL
    if case.kind == "request"
    and isinstance(case.body, dict)
    and len(list(histories(case.body, case.wire))) > 1
]
LOADED = "tool definitions that the history loads become definitions of the whole request"
THINKING = "the target refuses thinking in a turn that began without a thinking block of its own"
GAPS = {
    "bedrock-request-reasoning-keeps-its-signature": THINKING,
    "openai-responses-request-tools-in-namespaces": LOADED,
    "openai-responses-request-unknown-items-and-fields": LOADED,
    "openai-responses-request-recorded-44": LOADED,
    "openai-responses-request-recorded-46": LOADED,
}
"""Histories of which some translation is known to change what was sent before. This table may only
get shorter."""
ROWS = [(case, target) for case in HISTORIES for target in MODELS]


def test_the_wires_of_models_and_frameworks_have_histories_of_several_turns() -> None:
    own = {case.wire for case in HISTORIES if not case.name.startswith("recorded")}
    assert own >= {*MODELS, *FRAMEWORKS}


@rows("case, target", [(case, target) for case, target in ROWS if str(case) not in GAPS])
def test_one_turn_more_leaves_what_was_sent_as_it_was(case: Case, target: str) -> None:
    assert_stable(case.body, case.wire, target)


@rows("case", [case for case in HISTORIES if str(case) in GAPS])
def test_a_known_gap_is_still_open(case: Case) -> None:
    with gap(GAPS[str(case)]):
        for target in MODELS:
            assert_stable(case.body, case.wire, target)


@pytest.mark.parametrize("wire", MODELS)
@given(data=st.data())
def test_one_turn_more_leaves_a_drawn_history_as_it_was(wire: str, data: st.DataObject) -> None:
    body = body_of(data.draw(history_strategy(wire)), wire)
    assert_stable(body, wire, data.draw(st.sampled_from(MODELS)))


@pytest.mark.parametrize("target", [name for name in MODELS if name != "openai-chat"])
def test_a_later_id_that_equals_an_earlier_fitted_one_leaves_that_as_it_was(target: str) -> None:
    invalid = f"call {'x' * 70}"
    ids = [invalid, fit(invalid, profile(target).id_rule), "abcdefghi"]
    messages: list[JSON] = []
    for n, call_id in enumerate(ids):
        function: JSON = {"name": "f", "arguments": f'{{"n":{n}}}'}
        call: JSON = {"id": call_id, "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Go {n}."},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": f"r{n}"},
            {"role": "assistant", "content": "Done."},
        ]
    body: JSON = {"model": "m", "messages": [*messages, {"role": "user", "content": "So?"}]}
    assert_stable(body, "openai-chat", target)
    there = translate(body, "openai-chat", target)
    back = decode(
        translate(there.json(), target, "openai-chat", ids=there.ids).json(), "openai-chat"
    )
    pairs = [(p.call.id, p.call.input, p.result.text) for p in back.pairs() if p.call and p.result]
    assert pairs == [(call_id, {"n": n}, f"r{n}") for n, call_id in enumerate(ids)]
