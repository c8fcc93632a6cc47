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
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import describe_move, native_id, reassign_ids, used_ids, with_id
from toolwire.lint.id_formats import is_mangled_native_id, shorten
from toolwire.lint.rule import Fixed, Problem, Rule


def _changed(facts: Facts) -> list[Call]:
    return (
        [
            one
            for one in facts.calls
            if one.origin == "wire" and is_mangled_native_id(one.id, one.name)
        ]
        if facts.profile.own_id_pattern
        else []
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _changed(facts):
        said = (
            f"the id {shorten(one.id)} of the call of {one.name} is one of the model's own with its"
            " signs changed"
        )
        yield one.path, f"{said}; {facts.profile.name} wants them back as they were", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for one in _changed(facts):
        made = native_id(facts, one, taken)
        if made:
            taken.add(made)
            new[id(one)] = with_id(one, made)
            changes.append((one.path, describe_move(facts, one, made)))
    return Fixed(reassign_ids(facts, new), tuple(changes)) if new else None


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
        chat_example(
            USER,
            assistant(tool_call("functionsread0", "read")),
            tool_message("functionsread0"),
            target="kimi",
        ),
        chat_example(
            USER,
            assistant(
                tool_call("functions_read_file_0", "read_file"),
                tool_call("functions_read_file_1", "read_file"),
            ),
            tool_message("functions_read_file_1", "b"),
            tool_message("functions_read_file_0", "a"),
            target="kimi",
        ),
        chat_example(
            USER,
            assistant(tool_call("functions.read:0", "read")),
            tool_message("functions.read:0"),
            USER,
            assistant(tool_call("functions_read_0_7hGk2Lq9", "read")),
            tool_message("functions_read_0_7hGk2Lq9"),
            target="kimi",
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("functions.read:0", "read")),
            tool_message("functions.read:0"),
            target="kimi",
        ),
        chat_example(
            USER, assistant(tool_call("read:3", "read")), tool_message("read:3"), target="kimi"
        ),
        chat_example(
            USER, assistant(tool_call("read_3", "read")), tool_message("read_3"), target="kimi"
        ),
        chat_example(
            USER,
            assistant(tool_call("call_abcdefghijklmnopqrstuvwx", "read")),
            tool_message("call_abcdefghijklmnopqrstuvwx"),
            target="kimi",
        ),
        chat_example(
            USER, assistant(tool_call("functionsread0", "read")), tool_message("functionsread0")
        ),
    ),
)
