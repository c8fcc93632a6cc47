"""Servers of the program as processes, and a doorbell that counts its rings in a file."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.shell import PROGRAM, ROOT, environment
from msgspec import Struct

EXAMPLES = str(ROOT / "examples" / "tools.py")
DOOR = '''
import asyncio
import os
import signal
from pathlib import Path

from toolwire.tools import ToolError, tool

print("loading the door")


@tool(id="Door.Ring@1.0.0")
async def ring(n: int, seconds: float = 0.0) -> str:
    """Ring a doorbell.

    Args:
        n: Which one.
        seconds: How long to press.
    """
    with open(os.environ["RINGS"], "a") as file:
        file.write(f"{n}\\n")
        file.flush()
        os.fsync(file.fileno())
    if os.environ.get("DIE") == str(n):
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(seconds)
    return f"rung {n}"


@tool(id="Door.Break@1.0.0")
def smash() -> None:
    """Break the door."""
    raise ToolError("The door is made of steel.")


@tool(id="Door.Look@1.0.0", read_only=True)
def look_once() -> str:
    """Look through the door."""
    return "no one"


@tool(id="Door.Look@2.0.0", read_only=True)
def look(at: str | None = None, far: bool = False) -> dict[str, object]:
    """Look through the door.

    Args:
        at: What to look at.
        far: Whether to look far.
    """
    return {"at": at, "far": far}
'''


class ToolServerAddress(Struct, frozen=True):
    """A file with tools, and the file in which its doorbell counts."""

    file: str
    counts: Path

    @property
    def rings(self) -> list[str]:
        return self.counts.read_text().split() if self.counts.exists() else []


def door(folder: Path) -> ToolServerAddress:
    """Write a file with a doorbell tool."""
    file = folder / "door.py"
    file.write_text(DOOR)
    return ToolServerAddress(str(file), folder / "rings")


class ServerProcess(Struct):
    """A running server, its output until it was ready, and its address."""

    process: subprocess.Popen[str]
    said: str
    url: str

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop the server; return its exit code and the rest of its output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=600)
        return self.process.returncode, out, err


@contextmanager
def serve_command(*arguments: str, lines: int = 4, **more: str) -> Iterator[ServerProcess]:
    """Start a command that serves, and wait until it listens."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(**more),
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        said = "".join(process.stdout.readline() for _ in range(lines))
        assert " at http://" in said, said + (
            process.stderr.read() if process.poll() is not None else ""
        )
        yield ServerProcess(process, said, said.split(" at ")[1].split(";")[0].split()[0])
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=600)
