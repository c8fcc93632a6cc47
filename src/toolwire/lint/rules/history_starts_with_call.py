"""The history starts with a call instead of a user message.

Some providers accept a call only after a user message or a result: "Please ensure that function
call turn comes immediately after a user turn or after a function response turn". It happens when
the oldest messages are removed. Cut the history at a user message, as `toolwire.cut` does.

The fix inserts a short marked user message before the call. The message states that the
beginning of the conversation is missing. The call and its result stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    HI,
    call_part,
    contents_example,
    model_parts,
    response_part,
    user_parts,
)
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.fixes.transforms import merge_same_roles, user_note
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _leading_batch(facts: Facts) -> CallBatch | None:
    """Return the first batch of calls if only assistant messages precede it."""
    if (
        not facts.profile.call_needs_preceding_user
        or not facts.calls
        or facts.conversation.kind != "request"
        or facts.continues_elsewhere
    ):
        return None
    batch = facts.batches[0]
    preceding = (
        facts.messages[n]
        for n in facts.visible_indexes
        if facts.first_index <= n < batch.caller_indexes[0]
    )
    return batch if all(message.role == "assistant" for message in preceding) else None


def _check(facts: Facts) -> Iterable[Problem]:
    batch = _leading_batch(facts)
    if batch is not None:
        call = batch.calls[0]
        message = f"no user message precedes the call {call.id} ({call.name})"
        yield call.path, f"{message}; {facts.profile.name} requires one", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    if _leading_batch(facts) is None:
        return None
    start = facts.first_index
    note = user_note("the beginning of this conversation is not here")
    messages = (*facts.messages[:start], note, *facts.messages[start:])
    change = (facts.messages[start].path, "inserted a user message before the first call")
    return FixedConversation(merge_same_roles(facts, messages), (change,))


RULE = Rule(
    "TW025",
    "history-starts-with-call",
    title="the history starts with a call instead of a user message",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=46,
    ruled_out_by=(Observation.STARTS_WITH_USER | Observation.PLAIN,),
    bad=(
        contents_example(model_parts(call_part("f")), user_parts(response_part("f"))),
        contents_example(
            model_parts(call_part("f")),
            user_parts(response_part("f")),
            target="vertex-gemini",
            systemInstruction={"parts": []},
        ),
    ),
    good=(
        contents_example(HI, model_parts(call_part("f")), user_parts(response_part("f"))),
        contents_example(
            model_parts({"text": "hello"}),
            HI,
            model_parts(call_part("f")),
            user_parts(response_part("f")),
        ),
        contents_example(
            model_parts(call_part("f")),
            user_parts(response_part("f")),
            cachedContent="cachedContents/1",
        ),
    ),
)
