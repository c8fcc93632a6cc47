"""Rules chosen on the command line: by name, by code, or by how either begins."""

from __future__ import annotations

from difflib import get_close_matches

import click

from toolwire.cli.framework.usage_error import CommandError
from toolwire.lint import all_rules


def names_of(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> frozenset[str]:
    """The names of the rules that words stand for; words may be joined by commas."""
    words = [word.strip() for one in given for word in one.split(",") if word.strip()]
    return frozenset(name for word in words for name in _named(word))


def _named(word: str) -> list[str]:
    exact = [rule.name for rule in all_rules() if word.lower() in (rule.name, rule.code.lower())]
    found = exact or [
        rule.name
        for rule in all_rules()
        if rule.name.startswith(word.lower()) or rule.code.startswith(word.upper())
    ]
    if not found:
        known = sorted({name for rule in all_rules() for name in (rule.name, rule.code)})
        near = get_close_matches(word.lower(), known, n=1)
        raise CommandError(
            f"no such rule: {word}; "
            + (f"did you mean {near[0]}?" if near else "toolwire rules lists them")
        )
    return found


def complete_rule(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names that a shell offers."""
    known = sorted({name for rule in all_rules() for name in (rule.name, rule.code)})
    return [name for name in known if name.startswith(incomplete)]
