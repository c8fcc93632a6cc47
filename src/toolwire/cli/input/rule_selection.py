"""Rules chosen on the command line: by name, by code, or by a prefix of either."""

from __future__ import annotations

from difflib import get_close_matches

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.lint import all_rules


def select_rules(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> frozenset[str]:
    """Return the names of the selected rules; one value may hold several, separated by commas."""
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    return frozenset(name for word in words for name in _matches(word))


def _matches(word: str) -> list[str]:
    exact = [rule.name for rule in all_rules() if word.lower() in (rule.name, rule.code.lower())]
    found = exact or [
        rule.name
        for rule in all_rules()
        if rule.name.startswith(word.lower()) or rule.code.startswith(word.upper())
    ]
    if not found:
        similar = get_close_matches(word.lower(), _names_and_codes(), n=1)
        hint = f"did you mean {similar[0]}?" if similar else "toolwire rules lists them"
        raise CommandError(f"no such rule: {word}; {hint}")
    return found


def complete_rule(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names and codes of rules that complete a word."""
    return [name for name in _names_and_codes() if name.startswith(incomplete)]


def _names_and_codes() -> list[str]:
    return sorted({name for rule in all_rules() for name in (rule.name, rule.code)})
