"""A history begins with a result.

Its call was cut off: a window of the newest messages, or a summary, ended between the two. No
provider that checks pairs takes it ("messages with role 'tool' must be a response to a preceding
message with 'tool_calls'"), and as a window moves on it comes back every few turns. Cut where no
pair is split: `toolwire.cut` does.

The call cannot be known. The fix, which is not safe, tells the result as marked words of the user,
in its place.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    HI,
    answer,
    asking,
    contents,
    responded,
    saying,
    user,
    words,
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
from toolwire.lint.orphans import leading_orphans
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import results_as_text


def _check(facts: Facts) -> Iterable[Problem]:
    if facts.profile.rejects_orphan_results and facts.orphans:
        for result in leading_orphans(facts):
            whose = "a result" if result.origin == "minted" else f"the result for {result.call_id}"
            yield result.path, f"the history begins with {whose}: its call was cut off", "unsafe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    left = leading_orphans(facts)
    if not unsafe or not left:
        return None
    changes = tuple(
        (result.path, f"the result for {result.call_id} is told in words: its call was cut off")
        for result in left
    )
    return Fixed(results_as_text(facts, left), changes)


RULE = Rule(
    "TW024",
    "history-starts-with-result",
    title="a history begins with a result",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=31,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(tool_message("c1"), USER),
        chat_example(
            {"role": "system", "content": "be brief"},
            tool_message("c1"),
            tool_message("c2"),
            {"role": "assistant", "content": "ok"},
            USER,
        ),
        blocks_example(user(answer("t1"), words("and?"))),
        contents(saying(responded("f")), asking({"text": "ok"}), HI),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(tool_message("c1"), assistant(tool_call("c1")), USER),
        chat_example(tool_message("c1"), USER, target="xai"),
    ),
)
