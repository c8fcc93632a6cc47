"""A text holds half of a character: one of the two codes of a surrogate pair.

It happens when a program cuts a text inside an emoji, or reads a file that is not UTF-8, most often
in the output of a tool. JavaScript and Python write it as an escape such as `\\ud83d`; strict
parsers refuse the whole request, and every later one: "The request body is not valid JSON: no low
surrogate in string", or "lone leading surrogate in hex escape".

The fix puts U+FFFD, the replacement character, in its place. The other half was lost before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from toolwire.conversation.json import (
    JSON,
    JsonPath,
    SurrogateBytes,
    has_lone_surrogate,
    load,
    replace_lone_surrogates,
)
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Text
from toolwire.errors import DecodeError
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import replace_parts
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule

_CHANGE = "replaced half a character, which is not valid JSON"


def _may_hold_surrogates(facts: Facts) -> bool:
    """False if the body was parsed by a parser that refuses them."""
    if not facts.profile.rejects_lone_surrogates or facts.conversation.kind != "request":
        return False
    raw = facts.conversation.source.raw
    return raw is None or isinstance(raw, SurrogateBytes) or not facts.conversation.pristine


def _check(facts: Facts) -> Iterable[Problem]:
    for path in _paths(facts):
        yield path, "a text holds half a character, which is not valid JSON", "safe"


def _paths(facts: Facts) -> list[JsonPath]:
    """The texts with half a character."""
    if not _may_hold_surrogates(facts):
        return []
    if facts.own_wire:
        return list(_find(facts.body, ()))
    return [part.path for part in _repaired_parts(facts)]


def _find(value: JSON, path: JsonPath) -> Iterator[JsonPath]:
    if isinstance(value, str):
        if has_lone_surrogate(value):
            yield path
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _find(item, (*path, n))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _find(item, (*path, key))


def _repaired_parts(facts: Facts) -> PartMap[Part, Part]:
    parts = (part for message in facts.messages for part in message.parts)
    pairs = ((part, _repair_part(part)) for part in parts)
    return PartMap((part, new) for part, new in pairs if new is not part)


def _repair_part(part: Part) -> Part:
    """The part with whole characters only; the same object if it has no others."""
    match part:
        case Text(text=text) | Reasoning(text=text) if has_lone_surrogate(text):
            return replace(part, text=replace_lone_surrogates(text))
        case Call(args=args):
            value = _read_arguments(args)
            clean = replace_lone_surrogates(value)
            return part if clean is value else replace(part, args=LazyJson.from_value(clean))
        case Result(output=tuple() as parts):
            new_parts = tuple(map(_repair_part, parts))
            is_same = all(new is old for new, old in zip(new_parts, parts, strict=True))
            return part if is_same else replace(part, output=new_parts)
        case Result(output=output) if not isinstance(output, tuple):
            clean = replace_lone_surrogates(output)
            return part if clean is output else replace(part, output=clean)
    return part


def _read_arguments(args: LazyJson) -> JSON:
    """The value of arguments, also of a text that a strict parser refuses."""
    content = args.content
    if not isinstance(content, str):
        return content
    if "\\u" not in content or not args.broken:
        return None
    try:
        return load(content, "")[0]
    except DecodeError:
        return None


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    changes = tuple((path, _CHANGE) for path in _paths(facts))
    if not changes:
        return None
    if facts.own_wire:
        return FixedBody(replace_lone_surrogates(facts.body), changes)
    return FixedConversation(replace_parts(facts.conversation, _repaired_parts(facts)), changes)


_HALF = "it is \ud83d"
RULE = Rule(
    "TW077",
    "lone-surrogate",
    title="a text holds half of a character",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=9,
    concerns=lambda profile: profile.rejects_lone_surrogates,
    bad=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", _HALF)),
        blocks_example({"role": "user", "content": _HALF}),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", "it is \U0001f600")),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", r"it is \ud83d")),
    ),
)
