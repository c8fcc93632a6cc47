"""Other messages or content come between a call and its result.

This can be a system reminder, an image for the user or an empty assistant message: most providers
require the results directly after the calls, before any other message. The errors are "insufficient
tool messages following tool_calls message", "tool call result does not follow tool call", or they
name the ids as if the results were missing. This happens when a program adds messages while tools
run, or when a late result is appended at the end.

The fix moves the results up to their calls. Everything in between comes after them, in its order
and unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    assistant_blocks,
    call_item,
    converse_call,
    converse_example,
    converse_result,
    items_request,
    output_item,
    tool_result,
    tool_use,
    user_blocks,
)
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import place_results
from toolwire.lint.fixes.transforms import describe_calls
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for batch in facts.position_violations.get(NAME, ()) if facts.calls else ():
        message = (
            f"other content comes between {describe_calls(batch)} and the results; expected the"
            " results directly after their calls"
        )
        yield batch.results[0].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    batches = facts.position_violations.get(NAME, [])
    changes = tuple(
        (
            batch.results[0].path,
            f"moved the results for {describe_calls(batch)} directly after their calls",
        )
        for batch in batches
    )
    return FixedConversation(place_results(facts, batches), changes)


NAME = "result-separated"
_PICTURE: JSON = {
    "role": "user",
    "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}],
}
_REPLY: JSON = {"role": "assistant", "content": "one moment"}
RULE = Rule(
    "TW027",
    NAME,
    title="other messages or content come between a call and its result",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=41,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2", "g")),
            tool_message("c1"),
            _PICTURE,
            tool_message("c2"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            {"role": "system", "content": "be quick"},
            tool_message("c1"),
            USER,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            {"role": "assistant", "content": ""},
            tool_message("c1"),
            USER,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            _REPLY,
            assistant(tool_call("c2")),
            tool_message("c1"),
            tool_message("c2"),
            USER,
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            USER,
            user_blocks(tool_result("t1", cache_control={"type": "ephemeral"})),
        ),
        items_request(call_item("c1"), _REPLY, output_item("c1"), target="deepseek-responses"),
        converse_example(
            assistant_blocks(converse_call("t1")),
            user_blocks({"text": "wait"}),
            assistant_blocks({"text": "I do"}),
            user_blocks(converse_result("t1")),
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2", "g")),
            tool_message("c2"),
            tool_message("c1"),
            _PICTURE,
        ),
        chat_example(USER, assistant(tool_call("c1")), USER, tool_message("c1"), target="xai"),
        items_request(call_item("c1"), _REPLY, output_item("c1")),
    ),
)
