"""`toolwire rules`: every rule that check knows, or the page of one."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from toolwire.cli.framework.usage_error import need_stdout
from toolwire.cli.input.rule_selection import complete_rule, names_of
from toolwire.cli.output.output_mode import View, view
from toolwire.cli.output.rule_page import page, row, whole
from toolwire.conversation.json import JSON, dump
from toolwire.lint import all_rules
from toolwire.lint.rule import Rule

COLUMNS = {
    "code": "code",
    "name": "name",
    "severity": "severity",
    "fix": "fix",
    "title": "what is wrong",
}


@click.command("rules")
@click.argument(
    "chosen", metavar="[RULE]...", nargs=-1, callback=names_of, shell_complete=complete_rule
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    help=(
        "For people, or JSON. When missing, a page is for people, and a list too unless it is"
        " piped."
    ),
)
def command(chosen: frozenset[str], form: str | None) -> None:
    """List the rules that check knows, or print the pages of some.

    RULE is a name (missing-result), a code (TW021), or how either begins. A page says what is
    wrong, who refuses it, what the fix does and what it costs, with examples.
    """
    need_stdout()
    if not chosen:
        _list(form)
        return
    rules = [rule for rule in all_rules() if rule.name in chosen]
    if form == "json":
        click.echo(dump([whole(rule) for rule in rules]))
    else:
        _pages(rules)


def _list(form: str | None) -> None:
    rows = [row(rule) for rule in all_rules()]
    out: View = (
        import_module("toolwire.cli.output.terminal_output").VIEW
        if form == "text"
        else view(piped=form == "json")
    )
    plain: list[JSON] = list(rows)
    out.table(list(COLUMNS.values()), [[str(one[key]) for key in COLUMNS] for one in rows], plain)


def _pages(rules: list[Rule]) -> None:
    text = "\n".join(map(page, rules))
    if sys.stdout.isatty():
        import_module("toolwire.cli.output.markdown").show(text)
    else:
        click.echo(text, nl=False)
