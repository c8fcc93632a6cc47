"""A history begins with a call.

Some providers take a call only after a user's words or a result: "Please ensure that function call
turn comes immediately after a user turn or after a function response turn". It happens when the
oldest messages are cut off. Cut where a user speaks: `toolwire.cut` does.

The fix, which is not safe, puts a short marked message of the user before it, which says that the
beginning is not here. The call and its result stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import HI, asking, called, contents, responded, saying
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import merge_same_roles, user_note


def _first(facts: Facts) -> CallBatch | None:
    """The batch of calls that nobody asked for: only the assistant spoke before it."""
    if (
        not facts.profile.call_needs_preceding_user
        or not facts.calls
        or facts.conversation.kind != "request"
        or facts.continues_elsewhere
    ):
        return None
    block = facts.batches[0]
    before = facts.messages[facts.first_index : block.caller_indexes[0]]
    return block if all(message.role == "assistant" for message in before) else None


def _check(facts: Facts) -> Iterable[Problem]:
    block = _first(facts)
    if block is not None:
        one = block.calls[0]
        yield (
            one.path,
            (
                f"the history begins with the call {one.id} of {one.name}; a user must have spoken"
                " before it"
            ),
            "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    block = _first(facts)
    if block is None or not unsafe:
        return None
    said = user_note("the beginning of this conversation is not here")
    messages = (*facts.messages[: facts.first_index], said, *facts.messages[facts.first_index :])
    change = (
        facts.messages[facts.first_index].path,
        "a message of the user was put before the first call",
    )
    return Fixed(merge_same_roles(facts, messages), (change,))


RULE = Rule(
    "TW025",
    "history-starts-with-call",
    title="a history begins with a call",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=46,
    ruled_out_by=(Observation.STARTS_WITH_USER,),
    bad=(
        contents(asking(called("f")), saying(responded("f"))),
        contents(
            asking(called("f")),
            saying(responded("f")),
            target="vertex-gemini",
            systemInstruction={"parts": []},
        ),
    ),
    good=(
        contents(HI, asking(called("f")), saying(responded("f"))),
        contents(asking({"text": "hello"}), HI, asking(called("f")), saying(responded("f"))),
        contents(asking(called("f")), saying(responded("f")), cachedContent="cachedContents/1"),
    ),
)
