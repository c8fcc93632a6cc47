"""`toolwire tour`, and the threads it draws."""

from __future__ import annotations

import re

import pytest
from cli.shell import at_terminal, run_with_pipes

import toolwire
from toolwire.cli.output.call_threads import ASCII, UNICODE, draw_threads
from toolwire.cli.output.tour_conversations import BROKEN, WELL_FORMED
from toolwire.conversation.json import JSON

SCREEN = 26
"""Lines of a step that a person sees without scrolling."""


def draw_lines(*messages: JSON) -> list[str]:
    conversation = toolwire.decode({"messages": list(messages)}, "openai-chat")
    return [
        f"{line.gutter}{line.letter} {line.text}".rstrip() for line in draw_threads(conversation)
    ]


def asks(*ids: str) -> JSON:
    calls: list[JSON] = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def gives(one: str, text: str) -> JSON:
    return {"role": "tool", "tool_call_id": one, "content": text}


def test_threads_that_cross_are_drawn_across_each_other() -> None:
    assert draw_lines(
        asks("a", "b", "c"), gives("b", "two"), gives("a", "one"), gives("c", "three")
    ) == ["╭───A f {}", "│╭──B f {}", "││╭─C f {}", "│╰┼─B two", "╰─┼─A one", "  ╰─C three"]


def test_a_lone_end_is_a_dash_and_keeps_no_column() -> None:
    assert draw_lines(asks("a", "b"), gives("x", "orphan"), gives("b", "two")) == [
        "╶──A f {}",
        "╭──B f {}",
        "│╶─C orphan",
        "╰──B two",
    ]


def test_a_column_is_used_again_when_its_thread_has_ended() -> None:
    assert draw_lines(asks("a"), gives("a", "one"), asks("b"), gives("b", "two")) == [
        "╭─A f {}",
        "╰─A one",
        "╭─B f {}",
        "╰─B two",
    ]


def test_text_has_no_thread_but_lets_open_ones_pass() -> None:
    assert draw_lines(asks("a"), {"role": "user", "content": "wait"}, gives("a", "one")) == [
        "╭─A f {}",
        "│   wait",
        "╰─A one",
    ]


def test_an_empty_conversation_has_no_lines() -> None:
    assert draw_lines() == []


@pytest.mark.parametrize("body", [BROKEN, WELL_FORMED], ids=["broken", "healthy"])
def test_the_two_alphabets_draw_the_same(body: dict[str, JSON]) -> None:
    conversation = toolwire.decode(body, "openai-chat")
    fancy, plain = draw_threads(conversation, UNICODE), draw_threads(conversation, ASCII)
    swap = str.maketrans("╭│╰─┼╶", ",|`-+*")
    assert [line.gutter.translate(swap) for line in fancy] == [line.gutter for line in plain]


def steps() -> dict[str, str]:
    text = run_with_pipes("tour", COLUMNS="80").stdout.decode()
    _, *found = re.split(r"^(\d\. .+?) ─+$", text, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def test_the_tour_has_six_steps_of_one_screen_each() -> None:
    found = steps()
    assert list(found) == [
        "1. A conversation that went wrong",
        "2. What is wrong with it",
        "3. A good conversation on openai-chat",
        "4. A good conversation on anthropic",
        "5. A good conversation on gemini",
        "6. Your turn",
    ]
    assert max(text.count("\n") for text in found.values()) <= SCREEN


def test_the_tour_names_every_fault_of_the_broken_conversation() -> None:
    words = " ".join(steps()["2. What is wrong with it"].split())
    for fact in (
        "by order they would swap",
        "The call has no id. It gets tw-",
        "Only one call fits by name.",
        "Its id has 52 characters; the safe limit is 40",
        "The call has no result yet",
        "Orphan: no call has the id call_9 of this result",
    ):
        assert fact in words


def test_the_tour_comes_back_with_every_call_and_result_from_every_wire() -> None:
    found = steps()
    for stop in ("anthropic", "gemini"):
        number = next(title for title in found if title.endswith(f"on {stop}"))
        assert (
            f"back  {stop} -> openai-chat with these ids: every call and result is the same\n"
            in found[number]
        )


def test_the_tour_shows_losses_with_pointers_and_the_id_map() -> None:
    text = steps()["4. A good conversation on anthropic"]
    assert "lost  /messages/5/annotations: no such field on this wire\n" in text
    assert "lost  /seed: this wire has no such setting: seed\n" in text
    assert "ids   functions_weather_0_wN7500xF replaces functions.weather:0\n" in text


def test_the_tour_in_a_pipe_has_no_colours() -> None:
    assert b"\x1b" not in run_with_pipes("tour").stdout


def test_the_tour_needs_no_keys_at_a_terminal() -> None:
    code, text = at_terminal("tour")
    assert code == 0
    assert "6. Your turn" in text


def test_a_terminal_without_line_drawing_gets_plain_characters() -> None:
    done = run_with_pipes("tour", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"|`- B tool" in done.stdout
    assert b"\\u" not in done.stdout
