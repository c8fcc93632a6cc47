"""`toolwire keys`: the virtual keys of the gateway's clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.framework.sections import epilog
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.view import choose_view
from toolwire.conversation.json import JSON
from toolwire.errors import ConfigError

COLUMNS = ("name", "models", "rpm", "tpm", "concurrency", "budget/day", "budget/month", "expires")


@click.group("keys")
def command() -> None:
    """Add, list, limit and revoke the virtual keys of the gateway.

    FILE is a .toml, .jsonl or .db file. It contains hashes of keys, never the keys themselves. A
    running gateway applies changes at once.
    """
    require_extra("server")


def _limit_options(function: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.option(
            "--model",
            "models",
            multiple=True,
            metavar="PATTERN",
            help="A model that the key may use; repeatable.  [default: all]",
        ),
        click.option("--rpm", type=float, help="Requests per minute."),
        click.option("--tpm", type=float, help="Tokens per minute."),
        click.option("--concurrency", type=int, help="The maximum number of requests at once."),
        click.option("--budget-per-day", type=float, help="Cost per day (UTC), by [prices]."),
        click.option("--budget-per-month", type=float, help="Cost per month (UTC), by [prices]."),
        click.option("--expires", metavar="DATE", help="The date on which the key expires."),
    )
    for option in reversed(options):
        function = option(function)
    return function


_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@command.command(
    "add", epilog=epilog("toolwire keys add alice keys.toml --rpm 60 --model 'claude-*'")
)
@click.argument("name")
@_FILE
@_limit_options
def add(name: str, file: Path, **limits: JSON) -> None:
    """Create a key, store its hash in FILE, and print the key once."""
    from toolwire.gateway.key_files import add_key

    with _config_errors():
        key = add_key(file, name, _given(limits))
    click.echo(key)
    click.echo(f"this key is shown once; {to_printable(str(file))} contains its hash", err=True)


@command.command("limit", epilog=epilog("toolwire keys limit alice keys.toml --rpm 120"))
@click.argument("name")
@_FILE
@_limit_options
@click.option(
    "--remove",
    multiple=True,
    metavar="LIMIT",
    type=click.Choice(
        ["models", "rpm", "tpm", "concurrency", "budget_per_day", "budget_per_month", "expires"]
    ),
    help="A limit to remove, such as rpm; repeatable.",
)
def limit(name: str, file: Path, remove: tuple[str, ...], **limits: JSON) -> None:
    """Change the limits of a key."""
    from toolwire.gateway.key_files import change_key

    changes = {**dict.fromkeys(remove), **_given(limits)}
    if not changes:
        raise CommandError("name a limit, such as --rpm 60 or --remove rpm")
    with _config_errors():
        change_key(file, name, changes)


@command.command("revoke", epilog=epilog("toolwire keys revoke alice keys.toml"))
@click.argument("name")
@_FILE
def revoke(name: str, file: Path) -> None:
    """Remove a key. A running gateway rejects it from then on."""
    from toolwire.gateway.key_files import revoke_key

    with _config_errors():
        revoke_key(file, name)


@command.command("list", epilog=epilog("toolwire keys list keys.toml"))
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys(file: Path, as_json: bool) -> None:
    """List the keys of FILE with their limits."""
    from toolwire.gateway.key_files import read_keys

    with _config_errors():
        keys = read_keys(file)
    rows: list[JSON] = []
    cells: list[list[str]] = []
    for key in keys:
        limits: list[JSON] = [
            key.rpm,
            key.tpm,
            key.concurrency,
            key.budget_per_day,
            key.budget_per_month,
            key.expires,
        ]
        models: list[JSON] = [*key.models]
        rows.append(dict(zip(COLUMNS, [key.name, models, *limits], strict=True)))
        shown = ["" if value is None else f"{value}".removesuffix(".0") for value in limits]
        cells.append([key.name, ", ".join(key.models), *shown])
    choose_view(as_json=as_json).table(list(COLUMNS), cells, rows)


def _given(limits: dict[str, JSON]) -> dict[str, JSON]:
    """The options that the command line names."""
    given: dict[str, JSON] = {}
    for name, value in limits.items():
        if isinstance(value, tuple):
            value = list(value) or None
        if value is not None:
            given[name] = value
    return given


@contextmanager
def _config_errors() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise CommandError("; ".join(error.mistakes)) from None
