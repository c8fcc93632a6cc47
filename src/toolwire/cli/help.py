"""`toolwire help`: the help of the program or of a command."""

from __future__ import annotations

import click


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, as --help does."""
    parent = ctx.parent
    assert parent is not None
    for word in words:
        found = parent.command
        if not isinstance(found, click.Group):
            raise click.UsageError(f"{parent.command_path} has no commands", ctx)
        name, inner, _ = found.resolve_command(parent, [word])
        assert name is not None and inner is not None
        parent = inner.context_class(inner, info_name=name, parent=parent)
    click.echo(parent.get_help())
