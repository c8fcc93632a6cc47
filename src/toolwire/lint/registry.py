"""The rules: one module each in `rules/`, found by listing the folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal, TypeAlias

from toolwire.conversation.model import Finding
from toolwire.conversation.observations import Observation
from toolwire.errors import UsageError, suggest
from toolwire.lint.arguments import has_accepted_arguments
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.cache_breakpoints import surplus_breakpoints
from toolwire.lint.foreign_content import has_accepted_fields, has_own_format
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import Rule
from toolwire.lint.tool_names import has_empty_tools, names_to_fit
from toolwire.profiles.table import PROFILES, Profile


@cache
def all_rules() -> tuple[Rule, ...]:
    """All rules, sorted by code."""
    folder = import_module("toolwire.lint.rules")
    modules = [module.name for module in iter_modules(folder.__path__, f"{folder.__name__}.")]
    rules: list[Rule] = [import_module(module).RULE for module in modules]
    return tuple(sorted(rules, key=lambda rule: (rule.code, rule.name)))


def rule(name: str) -> Rule:
    """The rule with a name or code. Raises UsageError if there is none."""
    for candidate in all_rules():
        if name in (candidate.name, candidate.code):
            return candidate
    names = [candidate.name for candidate in all_rules()]
    raise UsageError(f"no such rule: {name}{suggest(name, names)}")


def rules_to_check(facts: Facts) -> tuple[Rule, ...]:
    """The rules that a history may break, in the order in which repair applies their fixes."""
    if facts.own_wire:
        return _select(facts.profile, _own_wire_flags(facts), "own wire")
    return rules_for_translation(facts.profile, facts.observations.flags)


def rules_for_translation(profile: Profile, flags: int) -> tuple[Rule, ...]:
    """The rules with severity `error` that a conversation on its way to another wire may break.

    Rules about the JSON of the target's own wire, rules that a later stage handles, and rules that
    the observations rule out are left out.
    """
    return _select(profile, flags, "translated")


def fixable_rules(facts: Facts) -> tuple[Rule, ...]:
    """The rules with a fix that a history of the target's own wire may break."""
    return _select(facts.profile, _own_wire_flags(facts), "fixable")


@once_per_history
def _own_wire_flags(facts: Facts) -> int:
    """The observations, with further properties that are known on the target's own wire."""
    flags = facts.observations.flags | _KNOWN_ON_OWN_WIRE
    if facts.invalid_ids:
        flags &= ~Observation.ACCEPTED_IDS
    if names_to_fit(facts):
        flags &= ~Observation.ACCEPTED_NAMES
    if not has_accepted_arguments(facts):
        flags &= ~Observation.ACCEPTED_ARGUMENTS
    if not has_accepted_fields(facts):
        flags &= ~Observation.ACCEPTED_FIELDS
    if not has_own_format(facts):
        flags &= ~Observation.OWN_FORMAT
    if facts.conversation.source.corrections:
        flags &= ~Observation.EXPECTED_TYPES
    if surplus_breakpoints(facts):
        flags &= ~Observation.ACCEPTED_BREAKPOINTS
    if facts.profile.tool_choice_needs_tools and has_empty_tools(facts):
        flags &= ~Observation.NO_TOOL_CHOICE
    return flags


_KNOWN_ON_OWN_WIRE = (
    Observation.ACCEPTED_IDS
    | Observation.ACCEPTED_NAMES
    | Observation.ACCEPTED_ARGUMENTS
    | Observation.ACCEPTED_FIELDS
    | Observation.OWN_FORMAT
    | Observation.EXPECTED_TYPES
    | Observation.ACCEPTED_BREAKPOINTS
)


_Selection: TypeAlias = Literal["translated", "own wire", "fixable"]
_SELECTED: dict[tuple[str, int, _Selection], tuple[Rule, ...]] = {}
"""Earlier selections, for the profiles of the table."""


def _select(profile: Profile, flags: int, selection: _Selection) -> tuple[Rule, ...]:
    registered = PROFILES.get(profile.name) is profile
    rules = _SELECTED.get((profile.name, flags, selection)) if registered else None
    if rules is None:
        applies = _applies_to_translation if selection == "translated" else _applies_to_own_wire
        rules = tuple(
            rule
            for rule in _rules_in_fix_order()
            if (rule.concerns is None or rule.concerns(profile))
            and applies(rule, profile, flags)
            and (selection != "fixable" or rule.fix is not None)
        )
        if registered:
            _SELECTED[profile.name, flags, selection] = rules
    return rules


def _applies_to_translation(rule: Rule, profile: Profile, flags: int) -> bool:
    return (
        rule.scope == "conversation"
        and not rule.handled_by
        and rule.severity == "error"
        and (rule.applies is None or rule.applies(profile))
        and not rule.is_ruled_out(flags, profile)
    )


def _applies_to_own_wire(rule: Rule, profile: Profile, flags: int) -> bool:
    return rule.scope != "stream" and not rule.is_ruled_out(flags, profile, own_wire=True)


@cache
def _rules_in_fix_order() -> tuple[Rule, ...]:
    return tuple(sorted(all_rules(), key=lambda rule: (rule.order, rule.code, rule.name)))


def find(facts: Facts, rules: tuple[Rule, ...]) -> list[Finding]:
    """The violations of these rules, sorted by the code of the rule."""
    return sorted(
        [
            Finding(rule.code, rule.name, rule.severity_for(facts.profile), path, message, fix)
            for rule in rules
            for path, message, fix in rule.check(facts)
        ],
        key=lambda finding: (finding.code, finding.name),
    )
