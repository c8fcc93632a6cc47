"""`toolwire up`: tool server, gateway and offline model on this machine, at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import click

from toolwire.cli.framework.usage_error import CommandError

PATIENCE = 30.0
"""Seconds until the tool server must answer."""


@click.command("up")
@click.argument("tools", nargs=-1, required=True)
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="Where the gateway listens.",
)
@click.option(
    "--tools-port",
    default=8765,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="Where the tool server listens.",
)
@click.option(
    "--ledger",
    metavar="URL",
    help="Where calls are recorded. Default: a file that lives as long as this runs.",
)
@click.pass_context
def command(
    ctx: click.Context, tools: tuple[str, ...], port: int, tools_port: int, ledger: str | None
) -> None:
    """Start a tool server and a gateway that offers its tools to every model.

    TOOLS are Python files or packages with functions under @tool. Without keys of a provider in the
    environment, the offline model answers: everything works at once and nothing leaves this
    machine. Ctrl-C stops both.
    """
    with tempfile.TemporaryDirectory(prefix="toolwire-") as folder:
        kept = ledger or f"sqlite:///{Path(folder) / 'calls.db'}"
        url = f"http://127.0.0.1:{tools_port}"
        here = [sys.executable, "-m", "toolwire.cli"]
        asked = [
            [*here, "serve", *tools, "--port", str(tools_port), "--ledger", kept],
            [*here, "gateway", "--port", str(port), "--tools", url, "--clients"],
        ]
        ctx.exit(_Pair(asked, url).run())


class _Pair:
    """Two programs that live and die together."""

    def __init__(self, commands: list[list[str]], first: str) -> None:
        self._commands = commands
        self._first = first
        self._running: list[subprocess.Popen[bytes]] = []
        self._told = False

    def run(self) -> int:
        before = {
            number: signal.signal(number, self._tell) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            for command in self._commands:
                if not self._told:
                    # A group of their own: Ctrl-C reaches them through here, in order
                    self._running.append(
                        subprocess.Popen(command, start_new_session=True, env=os.environ)
                    )
                    self._wait_for(self._first)
            while not self._told and all(one.poll() is None for one in self._running):
                time.sleep(0.1)
            failed = [one.returncode for one in self._running if one.returncode]
            return 0 if self._told else failed[0] if failed else 0
        finally:
            for one in reversed(self._running):
                if one.poll() is None:
                    one.terminate()
            for one in reversed(self._running):
                one.wait()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _tell(self, number: int, frame: object) -> None:
        self._told = True

    def _wait_for(self, url: str) -> None:
        """Until the first of them answers."""
        until = time.monotonic() + PATIENCE
        while not self._told:
            if any(one.poll() is not None for one in self._running):
                return
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=2):
                    return
            except (OSError, urllib.error.URLError):
                if time.monotonic() > until:
                    raise CommandError(f"{url}: the tool server does not answer") from None
                time.sleep(0.05)
