"""The rules: one module each in `rules/`, found by listing the folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from toolwire.conversation.model import Finding
from toolwire.errors import UsageError, suggest
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Rule
from toolwire.profiles.table import PROFILES, Profile


@cache
def all_rules() -> tuple[Rule, ...]:
    """All rules, sorted by code."""
    folder = import_module("toolwire.lint.rules")
    modules = [module.name for module in iter_modules(folder.__path__, f"{folder.__name__}.")]
    rules: list[Rule] = [import_module(module).RULE for module in modules]
    return tuple(sorted(rules, key=lambda rule: (rule.code, rule.name)))


def rule(name: str) -> Rule:
    """The rule with a name or code."""
    for candidate in all_rules():
        if name in (candidate.name, candidate.code):
            return candidate
    names = [candidate.name for candidate in all_rules()]
    raise UsageError(f"no such rule: {name}{suggest(name, names)}")


def rules_to_check(facts: Facts) -> tuple[Rule, ...]:
    """The rules that a history may break, in the order in which repair applies their fixes."""
    flags = facts.observations.flags
    if facts.own_wire:
        return _rules_on_own_wire(flags)
    return rules_for_translation(facts.profile, flags)


def rules_for_translation(profile: Profile, flags: int) -> tuple[Rule, ...]:
    """The rules that a conversation on its way to another wire may break.

    Rules about the JSON of the target's own wire do not apply, nor do those that a later stage
    takes care of, nor those that the observations rule out.
    """
    registered = PROFILES.get(profile.name) is profile
    rules = _SELECTED.get((profile.name, flags)) if registered else None
    if rules is None:
        rules = _select_rules(profile, flags)
        if registered:
            _SELECTED[profile.name, flags] = rules
    return rules


_SELECTED: dict[tuple[str, int], tuple[Rule, ...]] = {}
"""Selections that were made before, for the profiles of the table."""


def _select_rules(profile: Profile, flags: int) -> tuple[Rule, ...]:
    return tuple(
        rule
        for rule in _rules_in_fix_order()
        if rule.scope == "conversation"
        and not rule.handled_by
        and rule.severity == "error"
        and (rule.applies is None or rule.applies(profile))
        and not rule.is_ruled_out(flags)
    )


@cache
def _rules_on_own_wire(flags: int) -> tuple[Rule, ...]:
    return tuple(
        rule
        for rule in _rules_in_fix_order()
        if rule.scope != "stream"
        and (rule.ruled_out_on == "other wires" or not rule.is_ruled_out(flags))
    )


@cache
def _rules_in_fix_order() -> tuple[Rule, ...]:
    return tuple(sorted(all_rules(), key=lambda rule: (rule.order, rule.code, rule.name)))


def find(facts: Facts, rules: tuple[Rule, ...]) -> list[Finding]:
    """The violations of some rules, sorted by the code of the rule."""
    return sorted(
        [
            Finding(rule.code, rule.name, rule.severity_for(facts.profile), path, message, fix)
            for rule in rules
            for path, message, fix in rule.check(facts)
        ],
        key=lambda finding: (finding.code, finding.name),
    )
