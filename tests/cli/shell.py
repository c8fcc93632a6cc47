"""Run the program as people do, in a pipe or at a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STYLE = re.compile(r"\x1b\[[0-9;]*m")
PROGRAM = (sys.executable, "-m", "toolwire")


def environment(**more: str) -> dict[str, str]:
    """This environment without variables that change the format of output."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR")
    }
    return {**kept, "PYTHONIOENCODING": "utf-8", **more}


def run_with_pipes(
    *arguments: str, stdin: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program with pipes for all standard streams."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        env=environment(**more),
        check=False,
        timeout=600,
        cwd=ROOT,
    )


def at_terminal(*arguments: str, columns: int = 100) -> tuple[int, str]:
    """Run the program at a terminal; return the exit code and the output without colours and
    trailing blanks."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env=environment(TERM="xterm"),
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # Linux says so when the last process has left the terminal.
            break
        if not more:
            break
        seen += more
    os.close(ours)
    text = STYLE.sub("", seen.decode()).replace("\r\n", "\n")
    return process.wait(timeout=600), "\n".join(line.rstrip() for line in text.split("\n")).strip(
        "\n"
    ) + "\n"
