"""`toolwire usage`: the usage of the gateway's clients."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.output.redact_url import redact_url
from toolwire.cli.output.view import choose_view
from toolwire.conversation.json import JSON
from toolwire.errors import ConfigError

GROUPS = ("day", "key", "model", "upstream")
COUNTS = ("requests", "errors", "input tokens", "output tokens", "cost")
COST_DIGITS = 9
"""Decimal places of a cost: a sum of binary fractions has more, which mean nothing."""


@click.command("usage")
@click.argument("store")
@click.option(
    "--by",
    "groups",
    multiple=True,
    type=click.Choice(GROUPS),
    help="Group by day, key, model or upstream; repeatable.  [default: key, model]",
)
@click.option("--since", metavar="DATE", help="The first day.  [default: the first of this month]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, groups: tuple[str, ...], since: str | None, as_json: bool) -> None:
    """Show requests, tokens and cost by key and model.

    STORE is the `[usage] store` of the gateway: sqlite:///FILE or postgresql://…
    """
    require_extra("server")
    from toolwire.gateway.usage.store import UsageStore

    groups = groups or ("key", "model")
    try:
        first = date.fromisoformat(since) if since else datetime.now(UTC).date().replace(day=1)
    except ValueError:
        raise CommandError(f"--since {since}: expected a date such as 2027-01-31") from None
    try:
        with closing(UsageStore(store)) as database:
            database.open(create=False)
            totals = database.totals(groups, since=first.isoformat())
    except ModuleNotFoundError:
        raise
    except ConfigError as error:
        raise CommandError(f"{redact_url(store)}: {error}") from None
    except FileNotFoundError:
        raise CommandError(f"{store}: no such file; the gateway creates it") from None
    except Exception as error:  # whatever the driver of the database raises
        raise CommandError(f"{redact_url(store)}: {redact_url(str(error))}") from None
    rows: list[JSON] = []
    cells: list[list[str]] = []
    for total in totals:
        used = total.usage
        counts = (used.requests, used.errors, used.input_tokens, used.output_tokens)
        cost = round(used.cost, COST_DIGITS)
        rows.append(dict(zip((*groups, *COUNTS), (*total.group, *counts, cost), strict=True)))
        cells.append([*total.group, *(f"{count:,}" for count in counts), f"{used.cost:,.4f}"])
    choose_view(as_json=as_json).table([*groups, *COUNTS], cells, rows)
