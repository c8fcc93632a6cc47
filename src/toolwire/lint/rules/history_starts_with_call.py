"""The history starts with the assistant instead of a user message.

Some providers accept a call only after a user message or a result: "Please ensure that function
call turn comes immediately after a user turn or after a function response turn". Others require a
user message first in any case: "A conversation must start with a user message". This happens when a
program removes the oldest messages. Cut the history at a user message, as `toolwire.cut` does.

The fix inserts a short user message at the start, marked `[toolwire]`, which says that the
beginning of the conversation is missing. Every other message stays.
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
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


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
    preceding = facts.messages[facts.first_index : batch.caller_indexes[0]]
    return batch if all(message.role == "assistant" for message in preceding) else None


def _starts_with_assistant(facts: Facts) -> bool:
    """True if the first message is the assistant's, and the target requires the user's."""
    if not facts.profile.must_start_with_user or facts.conversation.kind != "request":
        return False
    first = facts.first_index
    return first < len(facts.messages) and facts.messages[first].role == "assistant"


def _check(facts: Facts) -> Iterable[Problem]:
    batch = _leading_batch(facts)
    if _starts_with_assistant(facts):
        path = facts.messages[facts.first_index].path
        message = "the first message is not the user's"
        yield path, f"{message}; {facts.profile.name} requires one", "safe"
    elif batch is not None:
        call = batch.calls[0]
        message = f"no user message precedes the call {call.id} ({call.name})"
        yield call.path, f"{message}; {facts.profile.name} requires one", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    if _leading_batch(facts) is None and not _starts_with_assistant(facts):
        return None
    start = facts.first_index
    note = user_note("the beginning of this conversation is missing")
    messages = (*facts.messages[:start], note, *facts.messages[start:])
    change = (facts.messages[start].path, "inserted a user message at the start")
    return FixedConversation(merge_same_roles(facts, messages), (change,))


RULE = Rule(
    "TW025",
    "history-starts-with-call",
    title="the history starts with the assistant instead of a user message",
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
        Example(
            "bedrock",
            "bedrock",
            body={
                "messages": [
                    {"role": "assistant", "content": [{"text": "hello"}]},
                    {"role": "user", "content": [{"text": "hi"}]},
                ]
            },
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
