"""A message has a field that the target does not know and refuses.

Servers add fields to their responses, most often the reasoning of the model. Some servers accept
these fields in the next request; others check the fields of every message and refuse them:
"property 'reasoning_content' is unsupported", "Extra inputs are not permitted". This happens when a
response is stored unchanged and the next request goes to another provider, and when a program adds
its own fields to the messages that it stores, such as a time or an id.

The fix removes the field. Reasoning text becomes marked text in the content of the message, so that
the model can still read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message, Opaque, Result
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import MARK
from toolwire.lint.foreign_content import foreign_content, foreign_roles
from toolwire.lint.rule import Example, FixedBody, Problem, Rule

_CONTENT_FIELDS = ("content", "parts")
"""Fields that hold what a message says, on this wire or on another."""
_CALL_FIELDS = ("tool_calls", "tool_call_id", "function_call", "name", "tool_name")
"""Fields from which a wire may read calls and results, also where others write them."""


def _messages(facts: Facts) -> Iterator[tuple[JsonPath, Object, list[str]]]:
    """The messages with refused fields: path, JSON, and names of the fields."""
    refused, accepted = facts.profile.refused_message_fields, facts.profile.accepted_message_fields
    if not facts.own_wire or facts.conversation.kind != "request":
        return
    converted = {path for path, _ in foreign_roles(facts)}
    converted |= {message.path for message in foreign_content(facts)}
    for message in facts.messages:
        raw = message.source.raw
        if not isinstance(raw, dict):
            continue
        names = [name for name in refused if name in raw]
        if accepted and not raw.keys() <= set(accepted):
            kept = {*accepted, *names, *_CONTENT_FIELDS}
            if message.path in converted or _has_calls_or_results(message):
                kept.update(_CALL_FIELDS)
            names += [name for name in raw if name not in kept]
        if names:
            yield message.path, raw, names


def _has_calls_or_results(message: Message) -> bool:
    """True if a message holds a call, a result, or a block that may be one."""
    return any(isinstance(part, Call | Result | Opaque) for part in message.parts)


def _check(facts: Facts) -> Iterable[Problem]:
    for path, _, names in _messages(facts):
        for name in names:
            yield (*path, name), f"{facts.profile.name} refuses the field {name}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    body = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for path, raw, names in _messages(facts):
        values = [raw[name] for name in names if name in facts.profile.refused_message_fields]
        texts = dict.fromkeys(v for v in values if isinstance(v, str) and v.strip())
        message: Object = {name: value for name, value in raw.items() if name not in names}
        if texts:
            note = f"{MARK} earlier reasoning: {' '.join(texts)}"
            message["content"] = _with_note(message.get("content"), note)
        body = put(body, path, message)
        changes += [((*path, name), f"removed the field {name}") for name in names]
    return FixedBody(body, tuple(changes)) if changes else None


def _with_note(content: JSON, note: str) -> JSON:
    """The content of a message after a note."""
    if isinstance(content, list):
        return [{"type": "text", "text": note}, *content]
    return f"{note}\n\n{content}" if content else note


_CALLS = assistant(tool_call("c1"), reasoning_content="hm")
_TIMED: Object = {"role": "user", "content": "hi", "timestamp": "2026-01-01T12:00:00Z"}
_REPLY: Object = {"role": "assistant", "content": "hello", "reasoning_content": "hm"}
RULE = Rule(
    "TW078",
    "field-refused",
    title="a message has a field that the target refuses",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    concerns=lambda profile: bool(
        profile.refused_message_fields or profile.accepted_message_fields
    ),
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_FIELDS,),
    bad=(
        chat_example(USER, _CALLS, tool_message("c1"), target="groq"),
        chat_example(USER, {**_REPLY, "reasoning_content": ""}, USER, target="cerebras"),
        Example("mistral", "mistral", {"messages": [USER, _REPLY, USER]}),
        Example("anthropic", "anthropic", {"max_tokens": 9, "messages": [_TIMED]}),
    ),
    good=(
        chat_example(USER, _CALLS, tool_message("c1"), target="deepseek"),
        chat_example(USER, {"role": "assistant", "content": "hello"}, USER, target="groq"),
    ),
)
