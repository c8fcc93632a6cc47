"""A call id in the format of the target's model was altered.

Kimi's models generate the ids of their calls themselves, `functions.read:0`, with a number that
counts up over the conversation, and read those ids again. Programs that follow the id rules of
other providers remove the dot and the colon: `functionsread0`, `functions_read_0`. The server
accepts such ids, but the model loses track and stops calling tools in most of its responses.

The fix gives the call and its result the id that the model would have generated: the name of the
tool and the index of the call in the history. Only ids change. Ids that other providers generated
stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.ids.edits import all_ids, describe_move, native_id, reassign_ids, with_id
from toolwire.lint.ids.formats import is_mangled_native_id, shorten
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _calls_with_altered_id(facts: Facts) -> list[Call]:
    if not facts.profile.own_id_pattern:
        return []
    return [
        call
        for call in facts.calls
        if call.origin == "wire" and is_mangled_native_id(call.id, call.name)
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for call in _calls_with_altered_id(facts):
        message = (
            f"the id {shorten(call.id)} of the call to {call.name} is an altered id of the model;"
            f" {facts.profile.name} expects its ids unchanged"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    ids = all_ids(facts)
    calls: PartMap[Call, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for call in _calls_with_altered_id(facts):
        call_id = native_id(facts, call, ids)
        if call_id:
            ids.add(call_id)
            calls[call] = with_id(call, call_id)
            changes.append((call.path, describe_move(facts, call, call_id)))
    return FixedConversation(reassign_ids(facts, calls), tuple(changes)) if changes else None


RULE = Rule(
    "TW013",
    "native-id-mangled",
    title="a call id in the format of the target's model was altered",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    concerns=lambda profile: bool(profile.own_id_pattern),
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
