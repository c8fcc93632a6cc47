"""A request ends with an assistant message.

Some providers require a user or tool message at the end: "Expected last role to be one of: [tool,
user]". Newer models of other providers do not continue an assistant message either: "This model
does not support assistant message prefill. The conversation must end with a user message." This
happens when a response is stored and the next request is sent before the user has written.

Three cases are not violations: a message that is marked as the beginning of the response
(`prefix`), pending calls at the end, and a paused turn of tools that the provider runs.

The fix adds a short marked user message that asks the model to continue. A real message of the user
is better.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message
from toolwire.lint.examples.chat import blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import user_note, with_messages
from toolwire.lint.model_names import refuses_assistant_at_end
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _trailing_message(facts: Facts) -> Message | None:
    """The last message, if it is an assistant text that the target refuses at the end."""
    if (
        facts.conversation.kind != "request"
        or not refuses_assistant_at_end(facts)
        or not facts.messages
    ):
        return None
    last = facts.messages[-1]
    if last.role != "assistant" or any(isinstance(part, Call) for part in last.parts):
        return None
    is_prefix = isinstance(last.raw, dict) and last.raw.get("prefix")
    return None if is_prefix else last


def _check(facts: Facts) -> Iterable[Problem]:
    last = _trailing_message(facts)
    if last is not None:
        message = (
            f"the last message is an assistant message; {facts.profile.name} requires a user or"
            " tool message at the end"
        )
        yield last.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    last = _trailing_message(facts)
    if last is None:
        return None
    messages = (*facts.messages, user_note("please continue"))
    changes = ((last.path, "added a user message at the end"),)
    return FixedConversation(with_messages(facts.conversation, messages), changes)


_USER: JSON = {"role": "user", "content": "hi"}
_REPLY: Object = {"role": "assistant", "content": "hello"}
RULE = Rule(
    "TW040",
    "trailing-assistant",
    title="a request ends with an assistant message",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=48,
    concerns=lambda profile: profile.must_end_with_user_or_tool or bool(profile.no_prefill_models),
    ruled_out_by=(Observation.ENDS_WITH_USER,),
    bad=(
        Example("mistral", "mistral", {"messages": [_USER, _REPLY]}),
        blocks_example(_USER, _REPLY, model="claude-opus-4-6"),
        blocks_example(_USER, _REPLY, model="anthropic/claude-sonnet-5"),
    ),
    good=(
        Example("mistral", "mistral", {"messages": [_USER, _REPLY, _USER]}),
        Example("mistral", "mistral", {"messages": [_USER, {**_REPLY, "prefix": True}]}),
        Example("openai-chat", "openai-chat", {"messages": [_USER, _REPLY]}),
        blocks_example(_USER, _REPLY, model="claude-opus-4-5-20251101"),
        blocks_example(_USER, _REPLY, model="claude-opus-4-20250514"),
    ),
)
