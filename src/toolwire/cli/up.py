"""`toolwire up`: a tool server, a gateway and an offline model on this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra

START_TIMEOUT = 30.0
"""Seconds until the tool server must respond."""
POLL = 0.05
PORT = click.IntRange(1, 65535)


@click.command("up")
@click.argument("tools", nargs=-1, required=True)
@click.option("--port", default=8080, show_default=True, type=PORT, help="The port of the gateway.")
@click.option(
    "--tools-port", default=8765, show_default=True, type=PORT, help="The port of the tool server."
)
@click.option("--ledger", metavar="URL", help="Where to record calls. Default: a temporary file.")
@click.pass_context
def command(
    ctx: click.Context, tools: tuple[str, ...], port: int, tools_port: int, ledger: str | None
) -> None:
    """Start a tool server and a gateway that offers its tools to every model.

    TOOLS are Python files or packages with functions decorated by @tool. Without an API key of a
    provider in the environment, the offline model responds and nothing leaves this machine. Ctrl-C
    stops both.
    """
    require_extra("server")
    with tempfile.TemporaryDirectory(prefix="toolwire-") as folder:
        ledger_url = ledger or f"sqlite:///{Path(folder) / 'calls.db'}"
        tool_server = f"http://127.0.0.1:{tools_port}"
        program = [sys.executable, "-m", "toolwire.cli"]
        serve = [*program, "serve", *tools, "--port", str(tools_port), "--ledger", ledger_url]
        gateway = [*program, "gateway", "--port", str(port), "--tools", tool_server, "--clients"]
        ctx.exit(_ProcessPair(serve, gateway, first_url=tool_server).run())


class _ProcessPair:
    """Two processes of which the second needs the first; when one ends, the other is stopped."""

    def __init__(self, *commands: list[str], first_url: str) -> None:
        self._commands = commands
        self._first_url = first_url
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopping = False

    def run(self) -> int:
        """Run both until one ends or a signal arrives, and return the exit code."""
        handlers = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            for command in self._commands:
                if not self._stopping:
                    # In a session of their own, Ctrl-C reaches them only through this process.
                    self._processes.append(subprocess.Popen(command, start_new_session=True))
                    self._wait_until_ready()
            while not self._stopping and self._all_running():
                time.sleep(2 * POLL)
            failures = [one.returncode for one in self._processes if one.returncode]
            return failures[0] if failures and not self._stopping else 0
        finally:
            self._stop_all()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        self._stopping = True

    def _all_running(self) -> bool:
        return all(process.poll() is None for process in self._processes)

    def _stop_all(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self._processes):
            process.wait()

    def _wait_until_ready(self) -> None:
        """Wait until the first process responds, or one ends."""
        deadline = time.monotonic() + START_TIMEOUT
        while not self._stopping and self._all_running():
            try:
                with urllib.request.urlopen(f"{self._first_url}/health", timeout=2):
                    return
            except (OSError, urllib.error.URLError):
                if time.monotonic() > deadline:
                    raise CommandError(
                        f"{self._first_url}: the tool server does not respond"
                    ) from None
                time.sleep(POLL)
