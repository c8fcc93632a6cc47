"""An id that the target's model made was changed on the way.

Kimi's models name their calls themselves, `functions.read:0`, with a number that counts up over the
conversation, and read those ids again. Somebody else's rules took the dot and the colon out:
`functionsread0`, `functions_read_0`. Nothing is refused, but the model loses the thread, and stops
calling tools in most of its answers.

The fix gives the call and its result the id that the model would have given: the name of the tool,
and which call of the history it is. Only ids change. Ids that other providers made are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import USER, asks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import moved, own, retied, under, used
from toolwire.lint.id_formats import mangled, short
from toolwire.lint.rule import Fixed, Problem, Rule


def _changed(facts: Facts) -> list[Call]:
    return (
        [one for one in facts.calls if one.origin == "wire" and mangled(one.id, one.name)]
        if facts.profile.own_id_pattern
        else []
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _changed(facts):
        said = (
            f"the id {short(one.id)} of the call of {one.name} is one of the model's own with its"
            " signs changed"
        )
        yield one.path, f"{said}; {facts.profile.name} wants them back as they were", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    taken = used(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for one in _changed(facts):
        made = own(facts, one, taken)
        if made:
            taken.add(made)
            new[id(one)] = under(one, made)
            changes.append((one.path, moved(facts, one, made)))
    return Fixed(retied(facts, new), tuple(changes)) if new else None


RULE = Rule(
    "TW013",
    "native-id-mangled",
    title="an id that the model made was changed on the way",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    applies=lambda profile: bool(profile.own_id_pattern),
    bad=(
        chat(USER, asks(call("functionsread0", "read")), told("functionsread0"), target="kimi"),
        chat(
            USER,
            asks(
                call("functions_read_file_0", "read_file"),
                call("functions_read_file_1", "read_file"),
            ),
            told("functions_read_file_1", "b"),
            told("functions_read_file_0", "a"),
            target="kimi",
        ),
        chat(
            USER,
            asks(call("functions.read:0", "read")),
            told("functions.read:0"),
            USER,
            asks(call("functions_read_0_7hGk2Lq9", "read")),
            told("functions_read_0_7hGk2Lq9"),
            target="kimi",
        ),
    ),
    good=(
        chat(USER, asks(call("functions.read:0", "read")), told("functions.read:0"), target="kimi"),
        chat(USER, asks(call("read:3", "read")), told("read:3"), target="kimi"),
        chat(USER, asks(call("read_3", "read")), told("read_3"), target="kimi"),
        chat(
            USER,
            asks(call("call_abcdefghijklmnopqrstuvwx", "read")),
            told("call_abcdefghijklmnopqrstuvwx"),
            target="kimi",
        ),
        chat(USER, asks(call("functionsread0", "read")), told("functionsread0")),
    ),
)
