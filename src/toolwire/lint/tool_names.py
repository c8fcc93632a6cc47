"""Names of tools in a history: where they stand, which a target refuses, and how one is changed
everywhere at once.

A name is changed for the offer, the choice, the calls and their results alike, so that all of them
still mean one tool. Only tools that a client runs are looked at; a provider's own have the names it
gave them. Knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from toolwire.conversation.fitting import fit_names
from toolwire.conversation.id_rules import NAMESPACE_SEPARATOR, IdRule, invalid_ids
from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.model import Choice, Fix, Tool
from toolwire.conversation.parts import Call, Part, Result
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody
from toolwire.lint.transforms import own_body, remove_parts, replace_parts

FAMILIES = frozenset({"function", "custom", "function-legacy"})
"""Calls whose name somebody chose; all others are named by their type."""
KINDS = frozenset({"function", "custom"})


def accepted_names(facts: Facts) -> IdRule:
    """The names that the target takes."""
    return (
        facts.profile.name_rule
        if facts.profile.accepted_names is None
        else facts.profile.accepted_names
    )


def function_calls(facts: Facts) -> list[Call]:
    """The calls that bear a name somebody chose."""
    return [call for call in facts.calls if call.family in FAMILIES]


def defined_tools(facts: Facts) -> list[Tool]:
    """The tools on offer that a client runs."""
    return [tool for tool in facts.conversation.tools if tool.kind in KINDS]


def chosen_names(facts: Facts) -> tuple[str, ...]:
    """The tools that the model must or may use."""
    choice = facts.conversation.settings.get("choice")
    return choice.names if isinstance(choice, Choice) else ()


def name_paths(facts: Facts) -> dict[str, JsonPath]:
    """Every name as it is written, and where it stands first: where the tool is offered, else where
    it is called."""
    found: dict[str, JsonPath] = {}
    for tool in defined_tools(facts):
        *outer, inner = name_segments(tool)
        found.setdefault(inner, tool.path)
        for text in outer:
            found.setdefault(text, tool.path[:-2])
    for call in function_calls(facts):
        for text in name_segments(call):
            found.setdefault(text, call.path)
    return found


def name_segments(named: Tool | Call | Result) -> tuple[str, ...]:
    """The name of a tool as it stands in the body: in one field, or in several, of which a server
    looks at each by itself."""
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


def _renamed(named: Tool | Call | Result, new: Mapping[str, str]) -> str | None:
    """What a tool is known by when some texts are changed; None if none of them is its."""
    held = name_segments(named)
    if new.keys().isdisjoint(held):
        return None
    now = NAMESPACE_SEPARATOR.join(new.get(text, text) for text in held)
    marked = len(held) == 1 and named.name != held[0]
    return f"{NAMESPACE_SEPARATOR}{now}" if marked and NAMESPACE_SEPARATOR in now else now


def refused_names(facts: Facts) -> dict[str, JsonPath]:
    """The names that the target does not take; one that is missing or blank is another matter."""
    rule = accepted_names(facts)
    if not (rule.chars or rule.longest):
        return {}
    found = name_paths(facts)
    return {name: found[name] for name in invalid_ids(list(found), rule) if name.strip()}


def too_long(name: str, rule: IdRule) -> bool:
    """Whether a name is refused for nothing but its length."""
    return (
        bool(rule.longest)
        and len(name) > rule.longest
        and rule.fits(name[: rule.longest])
        and not invalid_ids([name], _endless(rule))
    )


def _endless(rule: IdRule) -> IdRule:
    return IdRule(rule.chars, first=rule.first)


def fit_names_in_body(facts: Facts, names: Iterable[str]) -> FixedBody | None:
    """The body with some names fitted to the target, each to one that no other tool has."""
    wrong = sorted(names)
    if not wrong:
        return None
    found = name_paths(facts)
    every = {
        *found,
        *chosen_names(facts),
        *(text for result in facts.results if result.name for text in name_segments(result)),
    }
    new = fit_names(every, accepted_names(facts), {})
    new = {name: new[name] for name in wrong}
    told = tuple(
        (
            found[name],
            f"the tool {name} goes under the name {new[name]}, wherever it is offered or called",
        )
        for name in new
    )
    return FixedBody(rename_tools(facts, new), told)


def rename_tools(facts: Facts, new: Mapping[str, str]) -> JSON:
    """The body with tools under other names: offered, chosen, called and answered. `new` has them
    as they are written."""
    parts: dict[int, Part] = {
        id(call): replace(call, name=name)
        for call in function_calls(facts)
        if (name := _renamed(call, new))
    }
    for result in facts.results:
        ours = result.name is not None and result.executor == "client" and result.family in FAMILIES
        if ours and (name := _renamed(result, new)):
            parts[id(result)] = replace(result, name=name)
    body = own_body(replace_parts(facts.conversation, parts))
    for tool in defined_tools(facts):
        *outer, inner = name_segments(tool)
        if inner in new:
            body = put(body, tool.path + name_path(tool), new[inner])
        for text in outer:
            if text in new:
                body = put(body, (*tool.path[:-2], "name"), new[text])
    at = facts.conversation.source.setting_paths.get("choice")
    if at is not None and chosen_names(facts):
        value = get(body, at)
        body = put(body, at, _said(value, new))  # type: ignore[arg-type]
    return body


def name_path(tool: Tool) -> JsonPath:
    """Where in an offer its name stands: at the top, or one level below."""
    raw = tool.raw if isinstance(tool.raw, dict) else {}
    if raw.get("name") == name_segments(tool)[-1]:
        return ("name",)
    inside = (
        key
        for key, value in raw.items()
        if isinstance(value, dict) and value.get("name") == tool.name
    )
    return (next(inside, "function"), "name")


def _said(value: JSON, new: Mapping[str, str]) -> JSON:
    """A choice with other names in it; the words of the wire itself are no names of tools."""
    if isinstance(value, dict):
        return {
            key: item if key in ("type", "mode") else _said(item, new)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_said(item, new) for item in value]
    return new.get(value, value) if isinstance(value, str) else value


def nameless_calls(facts: Facts) -> list[Call]:
    """Calls whose name is missing or blank, for a target that takes only names of some shape."""
    rule = accepted_names(facts)
    if not (rule.chars or rule.longest):
        return []
    return [
        call
        for call in facts.calls
        if not call.name.strip() and call.family in FAMILIES and not _filler(call)
    ]


def _filler(call: Call) -> bool:
    """Whether it is no call at all: some SDKs fill in the old field with nothing in it."""
    return call.family == "function-legacy" and not call.name and not call.arguments


def has_blank_name(call: Call) -> bool:
    """Whether a nameless call has the field after all, with a blank text in it."""
    raw = call.raw
    if not isinstance(raw, dict):
        return False
    inner = [raw, *(value for value in raw.values() if isinstance(value, dict))]
    return any(isinstance(held.get("name"), str) for held in inner)


def known_name(facts: Facts, call: Call) -> str:
    """The name that a nameless call must have had: its result bears it, or its id does and the tool
    is on offer."""
    result = facts.result_of.get(id(call))
    if result is not None and result.name and result.name.strip():
        return result.name
    names = {tool.name for tool in defined_tools(facts)}
    said = call.id.removeprefix("functions.").rpartition(":")
    return said[0] if said[2].isdigit() and said[0] in names else ""


def fix_for_nameless(facts: Facts, call: Call) -> Fix:
    """Whether the name is known, or the call has to go with its result."""
    return "safe" if known_name(facts, call) else "unsafe"


def name_calls(facts: Facts, calls: Iterable[Call], unsafe: bool) -> Fixed | None:
    """The body with nameless calls under the names that are known; where nothing is, the pair goes
    if that is allowed."""
    parts: dict[int, Part] = {}
    gone: set[int] = set()
    told: list[tuple[JsonPath, str]] = []
    for call in calls:
        name = known_name(facts, call)
        result = facts.result_of.get(id(call))
        if name:
            parts[id(call)] = replace(call, name=name)
            told.append(
                (
                    call.path,
                    f"the call {call.id} bears the name {name}, as its result or its id says",
                )
            )
        elif unsafe:
            pair = [call, *([result] if result is not None else [])]
            pair += [one for one in facts.unpaired_results if one.call_id == call.id]
            gone.update(id(part) for part in pair)
            what = "and its result are" if len(pair) > 1 else "is"
            told.append(
                (
                    call.path,
                    f"the call {call.id} {what} taken out: nothing says which tool it was of",
                )
            )
    if not told:
        return None
    return Fixed(remove_parts(replace_parts(facts.conversation, parts), gone), tuple(told))
