"""Names of tools in a history: their paths, the names that a target refuses, and renaming.

A tool is renamed in its definition, the tool choice, the calls and their results at once. Only
tools that the client runs are considered, because a provider names its own tools. This module knows
no rule and no wire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from toolwire.conversation.fitting import fit_names
from toolwire.conversation.id_rules import NAMESPACE_SEPARATOR, IdRule, all_fit, invalid_ids
from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.model import Choice, Tool
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Result
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import own_body, replace_parts
from toolwire.lint.ids.duplicates import calls_sharing_an_id
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import FixedBody, FixedConversation

FAMILIES = frozenset({"function", "custom", "function-legacy"})
"""Families of calls with a free name; the type names all others."""
UNKNOWN_TOOL = "toolwire_unknown_tool"
"""The name that a fix gives to a call of an unknown tool."""
KINDS = frozenset({"function", "custom"})


def name_rule_for(facts: Facts) -> IdRule:
    """The names that the target accepts."""
    accepted = facts.profile.accepted_names
    return facts.profile.name_rule if accepted is None else accepted


def function_calls(facts: Facts) -> list[Call]:
    """The client's calls with a free name."""
    return [call for call in facts.calls if call.family in FAMILIES]


def tool_definitions(facts: Facts) -> list[Tool]:
    """The definitions of tools that the client runs."""
    return [tool for tool in facts.conversation.tools if tool.kind in KINDS]


def tool_choice_names(facts: Facts) -> tuple[str, ...]:
    """The names in the tool choice."""
    choice = facts.conversation.settings.get("choice")
    return choice.names if isinstance(choice, Choice) else ()


def name_paths(facts: Facts) -> dict[str, JsonPath]:
    """Every name as it is written, with the path of its definition or, without one, of its first
    call."""
    paths: dict[str, JsonPath] = {}
    for tool in tool_definitions(facts):
        *outer, inner = name_segments(tool)
        paths.setdefault(inner, tool.path)
        for text in outer:
            paths.setdefault(text, tool.path[:-2])
    for call in function_calls(facts):
        for text in name_segments(call):
            paths.setdefault(text, call.path)
    return paths


def name_segments(named: Tool | Call | Result) -> tuple[str, ...]:
    """The segments of a tool name as it is written: one field, or a namespace and a name, which
    servers check separately."""
    name = named.name or ""
    if NAMESPACE_SEPARATOR not in name:
        return (name,)
    inner = named.raw.get("name") if isinstance(named.raw, dict) else None
    if (
        not isinstance(inner, str)
        or not inner
        or not name.endswith(f"{NAMESPACE_SEPARATOR}{inner}")
    ):
        return (name,)
    outer = name[: -len(NAMESPACE_SEPARATOR) - len(inner)]
    return (outer, inner) if outer else (inner,)


def _new_name(named: Tool | Call | Result, new: Mapping[str, str]) -> str | None:
    """The name with changed segments; None if it has none of them."""
    segments = name_segments(named)
    if new.keys().isdisjoint(segments):
        return None
    name = NAMESPACE_SEPARATOR.join(new.get(segment, segment) for segment in segments)
    has_empty_namespace = len(segments) == 1 and named.name != segments[0]
    if has_empty_namespace and NAMESPACE_SEPARATOR in name:
        return f"{NAMESPACE_SEPARATOR}{name}"
    return name


@once_per_history
def names_to_fit(facts: Facts) -> dict[str, JsonPath]:
    """The names that the target refuses, with their paths; missing and blank names do not count."""
    rule = name_rule_for(facts)
    if not (rule.chars or rule.longest):
        return {}
    names = {tool.name for tool in facts.conversation.tools}
    names |= facts.observations.names
    may_have_namespace = not rule.chars or ":" in rule.chars
    if all_fit(names, rule) and not (
        may_have_namespace and any(NAMESPACE_SEPARATOR in name for name in names)
    ):
        return {}
    paths = name_paths(facts)
    return {name: paths[name] for name in invalid_ids(list(paths), rule) if name.strip()}


def too_long(name: str, rule: IdRule) -> bool:
    """True if a name is refused only because of its length."""
    return (
        bool(rule.longest)
        and len(name) > rule.longest
        and rule.fits(name[: rule.longest])
        and not invalid_ids([name], IdRule(rule.chars, first=rule.first))
    )


def fit_names_in_body(facts: Facts, names: Iterable[str]) -> FixedBody | None:
    """Fit these names to the target; no two tools get the same name."""
    refused = sorted(names)
    if not refused:
        return None
    paths = name_paths(facts)
    all_names = {
        *paths,
        *tool_choice_names(facts),
        *(text for result in facts.results if result.name for text in name_segments(result)),
    }
    fitted = fit_names(all_names, name_rule_for(facts), {})
    new = {name: fitted[name] for name in refused}
    changes = tuple(
        (paths[name], f"renamed the tool {name} to {new[name]} everywhere") for name in new
    )
    return FixedBody(rename_tools(facts, new), changes)


def rename_tools(facts: Facts, new: Mapping[str, str]) -> JSON:
    """The body with tools renamed in definitions, tool choice, calls and results.

    Args:
        facts: The history.
        new: The new names, by the written names.
    """
    parts: PartMap[Part, Part] = PartMap(
        (call, replace(call, name=name))
        for call in function_calls(facts)
        if (name := _new_name(call, new))
    )
    for result in facts.results:
        if (
            result.name is not None
            and result.executor == "client"
            and result.family in FAMILIES
            and (name := _new_name(result, new))
        ):
            parts[result] = replace(result, name=name)
    body = own_body(replace_parts(facts.conversation, parts))
    for tool in tool_definitions(facts):
        *outer, inner = name_segments(tool)
        if inner in new:
            body = put(body, tool.path + name_path(tool), new[inner])
        for text in outer:
            if text in new:
                body = put(body, (*tool.path[:-2], "name"), new[text])
    path = facts.conversation.source.setting_paths.get("choice")
    if path is not None and tool_choice_names(facts):
        body = put(body, path, _rename_choice(get(body, path), new))  # type: ignore[arg-type]
    return body


def name_path(tool: Tool) -> JsonPath:
    """The path of the name in a tool definition: at the top, or one level below."""
    raw = tool.raw if isinstance(tool.raw, dict) else {}
    if raw.get("name") == name_segments(tool)[-1]:
        return ("name",)
    keys = (
        key
        for key, value in raw.items()
        if isinstance(value, dict) and value.get("name") == tool.name
    )
    return (next(keys, "function"), "name")


def _rename_choice(value: JSON, new: Mapping[str, str]) -> JSON:
    """A tool choice with tools renamed; types and modes are not tool names."""
    if isinstance(value, dict):
        return {
            key: item if key in ("type", "mode") else _rename_choice(item, new)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_rename_choice(item, new) for item in value]
    return new.get(value, value) if isinstance(value, str) else value


def nameless_calls(facts: Facts) -> list[Call]:
    """Calls with a missing or blank name, for a target that restricts names."""
    rule = name_rule_for(facts)
    if not (rule.chars or rule.longest):
        return []
    return [
        call
        for call in facts.calls
        if not call.name.strip() and call.family in FAMILIES and not _is_filler(call)
    ]


def _is_filler(call: Call) -> bool:
    """True for an empty `function_call`, which some SDKs add to every message: it is not a call."""
    return call.family == "function-legacy" and not call.name and not call.arguments


def has_blank_name(call: Call) -> bool:
    """True if a nameless call has a name field with blank text."""
    raw = call.raw
    if not isinstance(raw, dict):
        return False
    objects = [raw, *(value for value in raw.values() if isinstance(value, dict))]
    return any(isinstance(value.get("name"), str) for value in objects)


def infer_name(facts: Facts, call: Call) -> str:
    """The name of a nameless call from its result, or from its id if that tool is defined;
    otherwise empty."""
    result = facts.result_of.get(call)
    if result is not None and result.name and result.name.strip():
        return "" if _is_name_of_others(facts, call, result.name) else result.name
    names = {tool.name for tool in tool_definitions(facts)}
    name, _, number = call.id.removeprefix("functions.").rpartition(":")
    return name if number.isdigit() and name in names else ""


def _is_name_of_others(facts: Facts, call: Call, name: str) -> bool:
    """True if another call under the id of a call, or its result, has a name: with this name, the
    call could get another result."""
    names = _names_under_shared_ids(facts).get(call)
    return names is not None and names[name] > 1


@once_per_history
def _names_under_shared_ids(facts: Facts) -> PartMap[Call, Counter[str]]:
    """For each call that shares its id with others of its turn, how often these calls and their
    results have each name. A pair of one name counts once."""
    names_of: PartMap[Call, Counter[str]] = PartMap()
    for group in calls_sharing_an_id(facts):
        names: Counter[str] = Counter()
        for call in group:
            result = facts.result_of.get(call)
            names.update({call.name, (result and result.name) or ""})
            names_of[call] = names
    return names_of


def name_calls(facts: Facts, calls: Iterable[Call]) -> FixedConversation | None:
    """Give nameless calls their name if it is known, otherwise a placeholder."""
    parts: PartMap[Part, Part] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for call in calls:
        known = infer_name(facts, call)
        name = known or UNKNOWN_TOOL
        parts[call] = replace(call, name=name)
        result = facts.result_of.get(call)
        if result is not None and result.name is not None:
            parts[result] = replace(result, name=name)
        origin = "from its result or its id" if known else "because its tool is unknown"
        changes.append((call.path, f"gave the call {call.id} the name {name}, {origin}"))
    return (
        FixedConversation(replace_parts(facts.conversation, parts), tuple(changes))
        if changes
        else None
    )


def has_empty_tools(facts: Facts) -> bool:
    """True if a request has an empty list of tools."""
    return not facts.conversation.tools and get(facts.body, ("tools",)) == []
