"""The command line: `toolwire VERB ...`, one module per verb, found by listing this folder.

A verb's module is imported when the verb runs or its help is shown, so that what one verb needs (rich, say) costs the others
nothing, while every import still stands at the top of its file. A module without an underscore is a verb; it has a command
called `verb`.

Exit codes: 0 clean, 1 something was found or lost, 2 misuse (one line on stderr), 130 stopped with Ctrl-C, 141 the reader
of a pipe went away. Knows no verb by name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click

from toolwire.cli._misuse import Misuse, hush, said
from toolwire.errors import WireError

CTRL_C, PIPE_CLOSED = 130, 141
"""What a shell reports of a program that these signals ended: 128 and the signal's number."""


class Verbs(click.Group):
    """A group whose commands are the modules of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = import_module(f"{__name__}.{cmd_name}").verb
        return found

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; whatever goes wrong on the way is one line and an exit code, never a traceback."""
        try:
            done: object = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            ctx.exit(CTRL_C)
        except BrokenPipeError:
            hush()
            ctx.exit(PIPE_CLOSED)
        except OSError as error:
            hush()
            raise Misuse(f"cannot write: {(error.strerror or str(error)).lower()}") from None
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "toolwire"
            raise Misuse(f"{error.format_message().rstrip('.')} (see {path} --help)") from None
        except WireError as error:
            raise Misuse(said(error)) from None
        return done


@click.command("toolwire", cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolwire", message="toolwire %(version)s")
def verbs() -> None:
    """Tool calls that keep their identity on every wire: every result finds its call."""


def main() -> None:
    """The program `toolwire`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # A terminal that lacks a character gets its escape.
            stream.reconfigure(errors="backslashreplace")
    verbs(prog_name="toolwire")
