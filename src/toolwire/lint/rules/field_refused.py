"""A message, a block or an item has a field that the target does not know and refuses.

Servers add fields to their responses, most often the reasoning of the model. Some servers accept
these fields in the next request; others check the fields of every message and refuse them:
"property 'reasoning_content' is unsupported", "Extra inputs are not permitted". This happens when a
response is stored unchanged and the next request goes to another provider, and when a program adds
its own fields to the messages that it stores, such as a time or an id.

Fields inside messages are refused in the same way: the number of a block from a stream
("tool_use.index: Extra inputs are not permitted"), a cache breakpoint on a block that cannot have
one ("thinking.cache_control"), or "Unknown parameter: 'messages[2].tool_calls[0].index'". The types
of the provider's official SDK list the fields of each block. A field that no provider has may be
newer than these types: it is not reported, unless streams or stores are known to add it. Dumps of
SDK objects also add null to fields that must be absent: "Invalid type for 'messages[0].name':
expected a string, but got null instead".

The fix removes the field. Reasoning text becomes marked text in the content of the message, so that
the model can still read it; what a block says in a field `text` becomes a text block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import MARK, Call, Message, Opaque, Result
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.examples.items import function_call, function_call_output, items_example
from toolwire.lint.facts import Facts
from toolwire.lint.foreign_content import foreign_content
from toolwire.lint.foreign_roles import foreign_roles
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import Example, FixedBody, Problem, Rule
from toolwire.lint.unknown_fields import null_fields, unknown_fields, without_fields
from toolwire.profiles.request_types import SCHEMAS

_CONTENT_FIELDS = ("content", "parts")
"""Fields with the content of a message, on this wire or on another."""
_CALL_FIELDS = ("tool_calls", "tool_call_id", "function_call", "name", "tool_name")
"""Fields from which a wire may read calls and results, including those of other wires."""


def _messages(facts: Facts) -> Iterator[tuple[JsonPath, Object, list[str]]]:
    """The messages with refused fields: path, JSON, and names of the fields."""
    refused, accepted = facts.profile.refused_message_fields, facts.profile.accepted_message_fields
    if not facts.own_wire or facts.conversation.kind != "request":
        return
    for message in facts.messages:
        raw = message.source.raw
        if not isinstance(raw, dict):
            continue
        names = [name for name in refused if name in raw]
        if accepted and not raw.keys() <= set(accepted):
            kept = {*accepted, *names, *_CONTENT_FIELDS}
            if _has_calls_or_results(message) or message.path in _converted(facts):
                kept.update(_CALL_FIELDS)
            names += [name for name in raw if name not in kept]
        if names:
            yield message.path, raw, names


@once_per_history
def _converted(facts: Facts) -> set[JsonPath]:
    """The paths of the messages that another rule converts to the format of the wire."""
    paths = {path for path, _ in foreign_roles(facts)}
    return paths | {message.path for message in foreign_content(facts)}


def _has_calls_or_results(message: Message) -> bool:
    """True if a message holds a call, a result, or a block that may be one."""
    return any(isinstance(part, Call | Result | Opaque) for part in message.parts)


def _check(facts: Facts) -> Iterable[Problem]:
    paths = [(*path, name) for path, _, names in _messages(facts) for name in names]
    for path in (*paths, *unknown_fields(facts)):
        yield path, f"{facts.profile.name} refuses the field {path[-1]}", "safe"
    for path in null_fields(facts):
        yield path, f"{facts.profile.name} refuses null in the field {path[-1]}", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    refused = [*unknown_fields(facts), *null_fields(facts)]
    body = without_fields(facts.body, refused)
    changes: list[tuple[JsonPath, str]] = []
    for path, _, names in _messages(facts):
        raw = get(body, path)
        assert isinstance(raw, dict)
        values = [raw[name] for name in names if name in facts.profile.refused_message_fields]
        texts = dict.fromkeys(v for v in values if isinstance(v, str) and v.strip())
        message: Object = {name: value for name, value in raw.items() if name not in names}
        if texts:
            note = f"{MARK} earlier reasoning: {' '.join(texts)}"
            message["content"] = _with_note(message.get("content"), note)
        body = put(body, path, message)
        changes += [((*path, name), f"removed the field {name}") for name in names]
    changes += [(path, f"removed the field {path[-1]}") for path in refused]
    return FixedBody(body, tuple(changes)) if changes else None


def _with_note(content: JSON, note: str) -> JSON:
    """The content of a message with a note before it."""
    if isinstance(content, list):
        return [{"type": "text", "text": note}, *content]
    return f"{note}\n\n{content}" if content else note


_CALLS = assistant(tool_call("c1"), reasoning_content="hm")
_TIMED: Object = {"role": "user", "content": "hi", "timestamp": "2026-01-01T12:00:00Z"}
_REPLY: Object = {"role": "assistant", "content": "hello", "reasoning_content": "hm"}
_CALL: Object = {
    "id": "c1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
    "index": 0,
}
_USE: Object = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_NUMBERED: Object = {**_USE, "index": 1}
_CACHED: Object = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
RULE = Rule(
    "TW078",
    "field-refused",
    title="a message, a block or an item has a field that the target refuses",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    concerns=lambda profile: bool(
        profile.refused_message_fields or profile.accepted_message_fields or profile.name in SCHEMAS
    ),
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_FIELDS,),
    bad=(
        chat_example(USER, _CALLS, tool_message("c1"), target="groq"),
        chat_example(USER, {**_REPLY, "reasoning_content": ""}, USER, target="cerebras"),
        Example("mistral", "mistral", {"messages": [USER, _REPLY, USER]}),
        Example("anthropic", "anthropic", {"max_tokens": 9, "messages": [_TIMED]}),
        blocks_example(USER, {"role": "assistant", "content": [_NUMBERED]}),
        chat_example(USER, assistant(_CALL), tool_message("c1")),
        items_example({**function_call("c1", "fc_1"), "index": 0}, function_call_output("c1")),
        items_example({**function_call("c1"), "namespace": None}, function_call_output("c1")),
        chat_example({"role": "user", "content": "hi", "name": None}),
        blocks_example(USER, {"role": "assistant", "content": [{**_USE, "caller": None}]}),
    ),
    good=(
        chat_example(USER, _CALLS, tool_message("c1"), target="deepseek"),
        chat_example(USER, {"role": "assistant", "content": "hello"}, USER, target="groq"),
        blocks_example({"role": "user", "content": [_CACHED]}),
        chat_example(USER, assistant(_CALL), tool_message("c1"), target="deepseek"),
    ),
)
