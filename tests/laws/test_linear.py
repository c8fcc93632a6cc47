"""Linear: a history four times as long takes about four times the time, however broken it is.

The sender of a history decides how many of its results have no call, or how many of its calls share
an id. The time is compared with that of a quarter of the history, in CPU time of this process.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cases import DEEP
from growth import GROWTH_LIMIT, growth

from toolwire import check, cut, decode, repair, translate
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, dump
from toolwire.lint.facts import Facts
from toolwire.mock.history_checks import check_history

SIZE = 200
TARGETS = ("anthropic", "gemini")
"""Targets of a translation; a plain run takes one of them for each history."""


def call(call_id: str, name: str = "f", arguments: str = "{}") -> JSON:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def ask(*calls: JSON) -> JSON:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answer(call_id: str, text: str = "ok") -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


USER: JSON = {"role": "user", "content": "go on"}


def many(step: Callable[[int], list[JSON]], size: int) -> list[JSON]:
    return [message for n in range(size) for message in step(n)]


HISTORIES: dict[str, Callable[[int], list[JSON]]] = {
    "orphan results": lambda size: many(lambda n: [answer(f"c{n}")], size),
    "results without ids": lambda size: [
        ask(*(call("", f"f{n}") for n in range(size))),
        *many(lambda n: [{"role": "tool", "content": "ok", "name": f"f{n}"}], size),
    ],
    "calls under one id": lambda size: [
        ask(*(call("c", arguments=f'{{"n":{n}}}') for n in range(size))),
        *many(lambda n: [answer("c")], size),
    ],
    "calls under one id, of many tools": lambda size: [
        ask(*(call("c", f"f{n}") for n in range(size))),
        *many(lambda n: [{**_object(answer("c")), "name": f"f{size - n - 1}"}], size),
    ],
    "one id in every turn": lambda size: many(
        lambda n: [USER, ask(call("c", arguments=f'{{"n":{n}}}')), answer("c")], size
    ),
    "three calls under one id and two results in every turn": lambda size: many(
        lambda n: [
            ask(*(call("c", arguments=f'{{"n":{i}}}') for i in range(3))),
            answer("c", "1"),
            answer("c", "2"),
            USER,
        ],
        size // 2,
    ),
    "open calls of one tool": lambda size: [ask(*(call(f"c{n}") for n in range(size))), USER],
    "results of one call": lambda size: [ask(call("c")), *many(lambda n: [answer("c")], size)],
    "results before their calls": lambda size: [
        *many(lambda n: [answer(f"c{n}")], size),
        *many(lambda n: [ask(call(f"c{n}"))], size),
    ],
    "results in reverse": lambda size: [
        ask(*(call(f"c{n}") for n in range(size))),
        *many(lambda n: [answer(f"c{size - n - 1}")], size),
    ],
    "results one message too late": lambda size: many(
        lambda n: [USER, ask(call(f"c{n}")), USER, answer(f"c{n}")], size
    ),
    "system messages": lambda size: many(lambda n: [{"role": "system", "content": "s"}], size),
    "empty messages": lambda size: many(lambda n: [{"role": "user", "content": ""}], size),
    "calls and results without ids in every turn": lambda size: many(
        lambda n: [ask(call(""), call("")), {"role": "tool", "content": "ok"}], 2 * size
    ),
    "calls of many tools and results without ids": lambda size: [
        ask(*(call("", f"f{n // 2}") for n in range(4 * size))),
        *many(lambda n: [{"role": "tool", "content": "ok", "name": f"f{n}"}], 2 * size),
    ],
    "results beside those of other calls": lambda size: [
        ask(*(call(f"c{n}") for n in range(size))),
        *many(lambda n: [answer(f"d{n}")], size),
    ],
    "ids that are outputs": lambda size: many(
        lambda n: [USER, ask(call(f"c{n}")), answer(f"Sum: {n}", f"Sum: {n}")], size
    ),
}


def _object(value: JSON) -> dict[str, JSON]:
    assert isinstance(value, dict)
    return value


def growth_of(name: str, work: Callable[[bytes], object]) -> float:
    """How many times longer the history of four times the size takes."""
    bodies = [
        dump({"model": "m", "messages": [USER, *HISTORIES[name](size)]})
        for size in (SIZE, 4 * SIZE)
    ]
    work(bodies[0])  # what is imported or cached on first use does not count
    return growth(lambda: work(bodies[0]), lambda: work(bodies[1]))


@pytest.mark.parametrize("name", HISTORIES)
def test_reading_and_pairing_take_linear_time(name: str) -> None:
    assert growth_of(name, lambda body: decode(body, "openai-chat").pairs()) < GROWTH_LIMIT


@pytest.mark.parametrize("name", HISTORIES)
def test_a_check_takes_linear_time(name: str) -> None:
    assert growth_of(name, lambda body: check(body, "openai-chat")) < GROWTH_LIMIT


@pytest.mark.parametrize("name", HISTORIES)
def test_a_repair_takes_linear_time(name: str) -> None:
    assert growth_of(name, lambda body: repair(body, "openai-chat")) < GROWTH_LIMIT


@pytest.mark.parametrize("name", HISTORIES)
def test_a_cut_takes_linear_time(name: str) -> None:
    assert growth_of(name, lambda body: cut(body, "openai-chat", messages=1)) < GROWTH_LIMIT


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (name, target)
        for n, name in enumerate(HISTORIES)
        for target in (TARGETS if DEEP else TARGETS[n % 2 : n % 2 + 1])
    ],
)
def test_a_translation_takes_linear_time(name: str, target: str) -> None:
    assert (
        growth_of(name, lambda body: translate(body, "openai-chat", target).json()) < GROWTH_LIMIT
    )


@pytest.mark.parametrize("name", HISTORIES)
def test_the_mock_checks_in_linear_time(name: str) -> None:
    profile = resolve("openai-chat")[1]
    assert (
        growth_of(name, lambda body: check_history(Facts(decode(body, "openai-chat"), profile)))
        < GROWTH_LIMIT
    )


@pytest.mark.parametrize("name", HISTORIES)
def test_the_messages_of_a_check_take_linear_memory(name: str) -> None:
    def size_of_messages(size: int) -> int:
        body: JSON = {"model": "m", "messages": [USER, *HISTORIES[name](size)]}
        return sum(len(finding.message) for finding in check(body, "openai-chat"))

    assert size_of_messages(4 * SIZE) <= GROWTH_LIMIT * size_of_messages(SIZE)
