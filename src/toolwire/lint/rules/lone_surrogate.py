"""A text contains a lone surrogate: one half of a UTF-16 surrogate pair without the other.

This happens when a program cuts a text inside an emoji, or reads a file that is not UTF-8, most
often in the output of a tool. JavaScript and Python write it as an escape such as `\\ud83d`; strict
parsers refuse the whole request, and every later one: "The request body is not valid JSON: no low
surrogate in string", or "lone leading surrogate in hex escape".

The fix replaces it with U+FFFD, the replacement character. The other half of the character was
already lost. Ids and names that differ only in a surrogate stay different.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from toolwire.conversation.ids import digest, first_free
from toolwire.conversation.json import (
    JSON,
    JsonPath,
    find_lone_surrogates,
    has_lone_surrogate,
    replace_lone_surrogates,
)
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Text
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
from toolwire.lint.ids.edits import call_id_of
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule
from toolwire.profiles.table import Profile

_CHANGE = "replaced a lone surrogate, which is not valid JSON"


def _may_hold_surrogates(facts: Facts) -> bool:
    return facts.conversation.kind == "request" and _concerns(facts.profile)


def _concerns(profile: Profile) -> bool:
    """True if the target refuses lone surrogates, or gets arguments as JSON text inside JSON, which
    the reader of the arguments would refuse."""
    return profile.rejects_lone_surrogates or profile.arguments_format != "object"


def _check(facts: Facts) -> Iterable[Problem]:
    for path in _paths(facts):
        yield path, "a text contains a lone surrogate, which is not valid JSON", "safe"


def _paths(facts: Facts) -> list[JsonPath]:
    """The paths of texts with a lone surrogate."""
    if not _may_hold_surrogates(facts):
        return []
    in_body = _paths_in_body(facts) if facts.profile.rejects_lone_surrogates else []
    return in_body if facts.own_wire else in_body + [part.path for part in _repaired_parts(facts)]


def _paths_in_body(facts: Facts) -> list[JsonPath]:
    """The texts in the source body, including ids, tool definitions and settings; none if the
    conversation no longer matches its body."""
    return list(find_lone_surrogates(facts.body)) if _is_body(facts) else []


def _is_body(facts: Facts) -> bool:
    return facts.own_wire or (facts.conversation.pristine and bool(facts.conversation.wire))


def _repaired_parts(facts: Facts) -> PartMap[Part, Part]:
    """The parts with a lone surrogate that is not visible in the texts of the body.

    Arguments that are text hide it in an escape until another wire requires an object.
    """
    parts = (part for message in facts.messages for part in message.parts)
    if not facts.profile.rejects_lone_surrogates:
        parts = (part for part in parts if isinstance(part, Call))
    elif _is_body(facts):
        parts = (part for part in parts if _has_text_arguments(part))
    pairs = ((part, _repair_part(part)) for part in parts)
    return PartMap((part, new) for part, new in pairs if new is not part)


def _has_text_arguments(part: Part) -> bool:
    return isinstance(part, Call) and isinstance(part.args.content, str)


def _repair_part(part: Part) -> Part:
    """The part without lone surrogates; the same object if it has none."""
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
    """The value of arguments; None for a text without escapes, which cannot hold a surrogate."""
    content = args.content
    if isinstance(content, str) and "\\u" not in content and not has_lone_surrogate(content):
        return None
    return args.value


def _replacement_names(facts: Facts) -> dict[str, str]:
    """A replacement for each id and tool name that contains a lone surrogate.

    Two names that differ only in a surrogate stay different: one of them gets a hash.
    """
    parts: list[Call | Result] = [*facts.all_calls, *facts.results]
    names = [call_id_of(part) for part in parts] + [part.name or "" for part in parts]
    names += [tool.name for tool in facts.conversation.tools]
    taken = {name for name in names if not has_lone_surrogate(name)}
    new: dict[str, str] = {}
    for name in names:
        if has_lone_surrogate(name) and name not in new:
            new[name] = first_free(partial(_replacement_name, name), taken)
            taken.add(new[name])
    return new


def _replacement_name(name: str, salt: str) -> str:
    text = str(replace_lone_surrogates(name))
    return f"{text}_{digest(name, salt)[:8]}" if salt else text


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    in_body = _paths_in_body(facts) if facts.profile.rejects_lone_surrogates else []
    if in_body:
        changes = tuple((path, _CHANGE) for path in in_body)
        return FixedBody(replace_lone_surrogates(facts.body, _replacement_names(facts)), changes)
    parts = PartMap() if facts.own_wire else _repaired_parts(facts)
    changes = tuple((part.path, _CHANGE) for part in parts)
    return FixedConversation(replace_parts(facts.conversation, parts), changes)


_SURROGATE = "it is \ud83d"
RULE = Rule(
    "TW077",
    "lone-surrogate",
    title="a text contains a lone surrogate",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=7,
    concerns=_concerns,
    ruled_out_by=(Observation.NO_LONE_SURROGATES,),
    bad=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", _SURROGATE)),
        blocks_example({"role": "user", "content": _SURROGATE}),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", "it is \U0001f600")),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1", r"it is \ud83d")),
    ),
)
