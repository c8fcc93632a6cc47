"""The group of verbs, and how a run of one ends.

A verb's module is imported when the verb runs or its help is shown, so that what one verb needs
(rich, say) costs the others nothing, while every import still stands at the top of its file. Knows
no verb by name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click
from click.exceptions import Exit

from toolwire.cli.framework.signals import CTRL_C, PIPE_CLOSED, exit_on_ctrl_c
from toolwire.cli.framework.usage_error import CommandError, hush, said
from toolwire.errors import InputError


@contextmanager
def _ending() -> Iterator[None]:
    """Signals and streams that fail are an exit code and at most one line, never a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        raise Exit(CTRL_C) from None
    except BrokenPipeError:
        hush()
        raise Exit(PIPE_CLOSED) from None
    except OSError as error:
        hush()
        raise CommandError(f"cannot write: {(error.strerror or str(error)).lower()}") from None


class CommandGroup(click.Group):
    """A group whose commands are the modules of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(path.stem for path in Path(__file__).parents[1].glob("[a-z]*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        with exit_on_ctrl_c():
            found: click.Command = import_module(f"toolwire.cli.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was named; click looks for what was probably meant among commands that are
        registered, here none."""
        names = self.list_commands(ctx)
        near = get_close_matches(args[0].lower(), names, n=1)
        if near and args[0] not in names and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """The context of a run; --help and --version are written while it is made."""
        with _ending():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; whatever goes wrong on the way is one line and an exit code."""
        try:
            with _ending():
                done: object = super().invoke(ctx)
                if sys.stdout is not None:
                    sys.stdout.flush()
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "toolwire"
            raise CommandError(
                f"{error.format_message().rstrip('.')} (see {path} --help)"
            ) from None
        except InputError as error:
            raise CommandError(said(error)) from None
        return done


@click.command(
    "toolwire", cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="toolwire", message="toolwire %(version)s")
def commands() -> None:
    """Tool calls that keep their identity on every wire: every result finds its call."""


def run() -> None:
    """Run the verb that the command line names, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # A terminal that lacks a character gets its escape.
            stream.reconfigure(errors="backslashreplace")
    commands(prog_name="toolwire")
