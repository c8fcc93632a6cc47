"""The group of commands, and how a run of one ends.

The module of a command is imported when the command runs or its help is shown. So the packages that
one command needs (such as rich) cost the others nothing.
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
from click.exceptions import Exit, NoArgsIsHelpError

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import error_for_missing_module
from toolwire.cli.framework.sections import COMPLETION, EXAMPLES, SECTIONS, epilog
from toolwire.cli.framework.signals import CTRL_C, PIPE_CLOSED, exit_on_ctrl_c
from toolwire.cli.framework.version import print_version
from toolwire.cli.output.printable import discard_stdout
from toolwire.errors import InputError, describe_os_error

COMMANDS = Path(__file__).parents[1]


@contextmanager
def _exit_code_for_failures() -> Iterator[None]:
    """Turn Ctrl-C and failures to write the output into an exit code and at most one line."""
    try:
        yield
    except KeyboardInterrupt:
        raise Exit(CTRL_C) from None
    except BrokenPipeError:
        discard_stdout()
        raise Exit(PIPE_CLOSED) from None
    except OSError as error:
        discard_stdout()
        raise CommandError(f"cannot write: {describe_os_error(error)}") from None


class CommandGroup(click.Group):
    """A group whose commands are the modules of a folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(path.stem for path in COMMANDS.glob("[a-z]*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        with exit_on_ctrl_c():
            command: object = import_module(f"toolwire.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        if cmd_name in EXAMPLES:
            command.epilog = epilog(EXAMPLES[cmd_name])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, with whole summaries and an example for each section."""
        for section, examples in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, self._summary(ctx, name)) for name in examples])
                example = next(iter(examples.values()))
                formatter.write(f"\n{'':>{formatter.current_indent}}$ {example}\n")

    def _summary(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=1000) if command is not None else ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar name for an unknown command.

        click suggests only commands that are registered, and here none is.
        """
        names = self.list_commands(ctx)
        similar = get_close_matches(args[0].lower(), names, n=1)
        if similar and args[0] not in names and not ctx.resilient_parsing:
            raise click.UsageError(
                f"No such command {args[0]!r}. Did you mean {similar[0]!r}?", ctx
            )
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Make the context of a run; click writes --help and --version here."""
        with _exit_code_for_failures():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; every expected failure becomes one line and an exit code."""
        try:
            with _exit_code_for_failures():
                value: object = super().invoke(ctx)
                if sys.stdout is not None:
                    sys.stdout.flush()
        except NoArgsIsHelpError:
            raise  # its text is the help of a group, such as `keys`
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "toolwire"
            message = error.format_message().rstrip(".")
            raise CommandError(f"{message} (see {path} --help)") from None
        except InputError as error:
            raise CommandError(str(error)) from None
        except ModuleNotFoundError as error:
            if (missing := error_for_missing_module(error)) is None:
                raise
            raise missing from None
        return value


@click.command(
    "toolwire",
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=COMPLETION,
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Show the version and the commit, and exit.",
)
def commands() -> None:
    """Tool calls that keep their identity on every LLM wire: every result finds its call."""


def run() -> None:
    """Run the command that the command line names, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # for characters that it cannot encode
            stream.reconfigure(errors="backslashreplace")
    commands(prog_name="toolwire")
