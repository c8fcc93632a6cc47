"""A message has a field that the target does not know and refuses.

Servers add fields to their responses, most often the reasoning of the model. Some servers accept
these fields in the next request; others check the fields of every message and refuse them:
"property 'reasoning_content' is unsupported", "Extra inputs are not permitted". This happens when a
response is stored unchanged and the next request goes to another provider.

The fix removes the field. Reasoning text becomes marked text in the content of the message, so that
the model can still read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import MARK
from toolwire.lint.rule import Example, FixedBody, Problem, Rule


def _messages(facts: Facts) -> Iterator[tuple[JsonPath, Object, list[str]]]:
    """The messages with refused fields: path, JSON, and names of the fields."""
    refused = facts.profile.refused_message_fields
    if not refused or not facts.own_wire or facts.conversation.kind != "request":
        return
    for message in facts.messages:
        raw = message.raw
        if isinstance(raw, dict):
            names = [name for name in refused if name in raw]
            if names:
                yield message.path, raw, names


def _check(facts: Facts) -> Iterable[Problem]:
    for path, _, names in _messages(facts):
        for name in names:
            yield (*path, name), f"{facts.profile.name} refuses the field {name}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    body = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for path, raw, names in _messages(facts):
        values = [raw[name] for name in names]
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
    concerns=lambda profile: bool(profile.refused_message_fields),
    bad=(
        chat_example(USER, _CALLS, tool_message("c1"), target="groq"),
        chat_example(USER, {**_REPLY, "reasoning_content": ""}, USER, target="cerebras"),
        Example("mistral", "mistral", {"messages": [USER, _REPLY, USER]}),
    ),
    good=(
        chat_example(USER, _CALLS, tool_message("c1"), target="deepseek"),
        chat_example(USER, {"role": "assistant", "content": "hello"}, USER, target="groq"),
    ),
)
