"""Options and arguments that name a wire, a profile or a provider, and how to write for it."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeVar

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.codec.known_wires import profiles
from toolwire.profiles.table import PROVIDER_PROFILES, find_profile
from toolwire.wires.engine.server_tools import POLICIES

F = TypeVar("F", bound=Callable[..., None])

server_tools_option = click.option(
    "--server-tools",
    type=click.Choice(POLICIES),
    default="auto",
    show_default=True,
    help="How to write the calls of provider-executed tools.",
)


def wire_option(
    flag: str, name: str, *, help: str, metavar: str = "WIRE", required: bool = False
) -> Callable[[F], F]:
    """Add an option whose value is the name of a wire, profile or provider."""
    return click.option(
        flag,
        name,
        metavar=metavar,
        callback=validate_wire,
        shell_complete=complete_wire,
        required=required,
        help=help,
    )


def validate_wire(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Return the name of the wire or profile, also for the name of a provider.

    Raises:
        CommandError: There is no wire, profile or provider of this name; the message suggests one.
    """
    if name is None:
        return None
    found = find_profile(name)
    if found is not None:
        return found.name
    names = profiles()
    similar = get_close_matches(name.lower().replace("_", "-"), [*names, *PROVIDER_PROFILES], n=1)
    hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(names)}"
    raise CommandError(f"no such wire: {name}; {hint}")


def validate_wires(
    ctx: click.Context, param: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names; raise CommandError with a suggestion for the first unknown one."""
    return tuple(name for given in names if (name := validate_wire(ctx, param, given)))


def complete_wire(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names that complete a word."""
    return [name for name in profiles() if name.startswith(incomplete)]
