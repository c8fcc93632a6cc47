"""`toolwire rules`: the rules of check, or the pages of some."""

from __future__ import annotations

import sys

import click

from toolwire.cli.input.files import require_stdout
from toolwire.cli.input.rule_selection import complete_rule, select_rules
from toolwire.cli.output.rule_page import full_row, markdown_page, summary_row
from toolwire.cli.output.view import choose_view, terminal_view
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
    "selection", metavar="[RULE]...", nargs=-1, callback=select_rules, shell_complete=complete_rule
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    help="Text or JSON. Default: text for pages; for the list, JSON when piped.",
)
def command(selection: frozenset[str], output_format: str | None) -> None:
    """List the rules of check, or explain some of them.

    RULE is a name (missing-result), a code (TW021), or a prefix of either. The page of a rule
    explains what is wrong, which providers refuse it, and what the fix does, with examples.
    """
    require_stdout()
    if not selection:
        _print_list(output_format)
        return
    rules = [rule for rule in all_rules() if rule.name in selection]
    if output_format == "json":
        click.echo(dump([full_row(rule) for rule in rules]))
    else:
        _print_pages(rules)


def _print_list(output_format: str | None) -> None:
    rows = [summary_row(rule) for rule in all_rules()]
    if output_format == "text":
        view = terminal_view()
    else:
        view = choose_view(as_json=output_format == "json")
    json_rows: list[JSON] = list(rows)
    cells = [[str(row[key]) for key in COLUMNS] for row in rows]
    view.table(list(COLUMNS.values()), cells, json_rows)


def _print_pages(rules: list[Rule]) -> None:
    text = "\n".join(map(markdown_page, rules))
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from toolwire.cli.output.markdown import print_markdown

    print_markdown(text)
