"""`toolwire up`: a tool server, a gateway and an offline model on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.services.local_request import open_url

START_TIMEOUT = 30.0
"""Seconds until a server must respond."""
POLL = 0.05
HOST = "127.0.0.1"
OFFLINE = {"demo", "*"}
"""The models of a gateway without an API key in the environment."""
PORT = click.IntRange(1, 65535)
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop both servers: Ctrl-C, `kill`, and the end of the terminal."""
LAST_LINE = "The log follows, one line per request."
"""The end of the screen: after it, both servers accept requests."""


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
    provider in the environment, the offline model answers and nothing leaves this machine. Ctrl-C
    stops both.
    """
    require_extra("server")
    if port == tools_port:
        options = "PORT and TOOLS_PORT" if _is_under_make() else "--port and --tools-port"
        raise CommandError(f"{options} are both {port}: choose two different ports")
    _require_free_port(port, "--port", "PORT")
    _require_free_port(tools_port, "--tools-port", "TOOLS_PORT")
    tool_server, gateway = f"http://{HOST}:{tools_port}", f"http://{HOST}:{port}"
    program = [sys.executable, "-m", "toolwire"]
    with tempfile.TemporaryDirectory(prefix="toolwire-") as folder:
        ledger_url = ledger or f"sqlite:///{Path(folder) / 'calls.db'}"
        commands = {
            tool_server: ["serve", *tools, "--port", str(tools_port), "--ledger", ledger_url],
            gateway: ["gateway", "--port", str(port), "--tools", tool_server],
        }
        servers = _Servers({url: [*program, *words] for url, words in commands.items()})
        ctx.exit(servers.run(lambda: _show(gateway, tool_server)))


def _require_free_port(port: int, option: str, variable: str) -> None:
    """Raise CommandError if another program listens on the port."""
    if _is_free(port):
        return
    free = next((other for other in range(port + 1, 65536) if _is_free(other)), 0)
    change = f"make run {variable}={free}" if _is_under_make() else f"{option} {free}"
    raise CommandError(f"port {port} is in use; choose another one: {change}")


def _is_under_make() -> bool:
    """True if `make run` started the program: GNU make sets MAKELEVEL."""
    return "MAKELEVEL" in os.environ


def _is_free(port: int) -> bool:
    try:
        with socket.create_server((HOST, port)):
            return True
    except OSError:
        return False


# --- the screen -----------------------------------------------------------------------------------


def _show(gateway: str, tool_server: str) -> None:
    """Print the addresses, a command to try, and how to stop."""
    from toolwire.gateway.config.environment import config_from_environment

    offline = set(config_from_environment(os.environ).models) == OFFLINE
    what = "offline model, no network" if offline else "models at /v1/models"
    lines = (
        "",
        f"  {_bold('toolwire is running')}  (Ctrl-C stops it)",
        "",
        f"  gateway      {_address(gateway)}  {what}",
        f"  tool server  {_address(tool_server)}  OXP at /tools, MCP at /mcp",
        "",
        "  Make two parallel calls to one tool over two wires, and see that ids match:",
        f"    {click.style(f'{_program()} probe {gateway}', fg='green')}",
        "",
        "  To connect a client, open the address of the gateway in a browser.",
        f"  {_dim(LAST_LINE)}",
        "",
    )
    click.echo("\n".join(lines))
    sys.stdout.flush()


def _bold(text: str) -> str:
    return click.style(text, bold=True)


def _dim(text: str) -> str:
    return click.style(text, dim=True)


def _address(url: str) -> str:
    return click.style(url, fg="cyan")


def _program() -> str:
    """The shell command that starts this program."""
    script = Path(sys.executable).parent / "toolwire"
    found = shutil.which("toolwire")
    if found is not None and Path(found).resolve() == script.resolve():
        return "toolwire"
    return os.path.relpath(script) if script.is_relative_to(Path.cwd()) else str(script)


# --- the processes --------------------------------------------------------------------------------


class _Servers:
    """Processes, each of which needs the ones before it; when one ends, the others are stopped."""

    def __init__(self, commands: dict[str, list[str]]) -> None:
        self._commands = commands
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopping = False

    def run(self, on_ready: Callable[[], None]) -> int:
        """Run all until one ends or a signal arrives, and return the exit code."""
        handlers = {
            number: signal.signal(number, self._on_signal)
            for number in STOP_SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN  # as by nohup, or in the background
        }
        try:
            for url, command in self._commands.items():
                if not self._stopping and self._all_running():
                    # In a session of their own, Ctrl-C reaches them only through this process.
                    process = subprocess.Popen(
                        command, start_new_session=True, stdout=subprocess.DEVNULL
                    )
                    self._processes.append(process)
                    self._wait_until_ready(url)
            if not self._stopping and self._all_running():
                on_ready()
            while not self._stopping and self._all_running():
                time.sleep(2 * POLL)
            failures = [process.returncode for process in self._processes if process.returncode]
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

    def _wait_until_ready(self, url: str) -> None:
        """Wait until a server responds, or one of the processes ends."""
        deadline = time.monotonic() + START_TIMEOUT
        while not self._stopping and self._all_running():
            try:
                with open_url(urllib.request.Request(f"{url}/health"), 2):
                    return
            except (OSError, urllib.error.URLError):
                if time.monotonic() > deadline:
                    raise CommandError(f"{url}: the server does not respond") from None
                time.sleep(POLL)
