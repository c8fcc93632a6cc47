"""A value has another JSON type than its field.

Programs write a single call without its list: "Invalid type for 'messages[1].tool_calls': expected
an array of objects, but got an object instead." Stores keep a list as JSON text, languages write a
list with gaps as an object of indexes, and mappings leave null where an element was removed: "Input
should be a valid list", "Proto field is not repeating, cannot start list".

The fix writes the same content with the expected type: it puts a single element into a list, reads
JSON text, opens a list in a list, removes null, and writes a number as text. Nothing is lost. A
value is left as it is if its meaning is not certain; such a body cannot be read. Translations read
these values as the fix writes them.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import text_of
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import assistant_blocks, tool_result, tool_use, user_blocks
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if facts.own_wire:
        for path, reason in facts.conversation.source.corrections:
            yield path, reason, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody:
    corrections = facts.conversation.source.corrections
    changes = tuple((path, f"corrected the type: {reason}") for path, reason in corrections)
    return FixedBody(facts.body, changes)  # the body was corrected when it was read


_CALL = tool_call("c1")
RULE = Rule(
    "TW080",
    "wrong-json-type",
    title="a value has another JSON type than its field",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=0,
    scope="body",
    ruled_out_on_own_wire_by=(Observation.EXPECTED_TYPES,),
    bad=(
        chat_example(USER, assistant(tool_calls=_CALL), tool_message("c1")),
        chat_example(USER, assistant(tool_calls={"0": _CALL}), tool_message("c1")),
        chat_example(USER, assistant(tool_calls=text_of([_CALL])), tool_message("c1")),
        chat_example(USER, assistant(_CALL, None), tool_message("c1")),
        chat_example([USER, assistant(_CALL)], tool_message("c1")),
        chat_example({"role": "user", "content": 7}),
        blocks_example(
            USER,
            {"role": "assistant", "content": tool_use("t1")},
            {"role": "user", "content": tool_result("t1")},
        ),
    ),
    good=(
        chat_example(USER, assistant(_CALL), tool_message("c1")),
        blocks_example(USER, assistant_blocks(tool_use("t1")), user_blocks(tool_result("t1"))),
    ),
)
