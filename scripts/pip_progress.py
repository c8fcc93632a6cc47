"""Show the progress of pip in one line: `pip install … | python scripts/pip_progress.py`.

An argument is the text to show before pip starts.

pip's own output is a page for each package, and `--quiet` is silent for a minute. On a terminal the
line is rewritten every second, elsewhere a line is printed for each phase and every ten seconds.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterable

PHASES = {
    "Obtaining": "starting pip",
    "Installing build dependencies": "fetching the build backend",
    "Preparing editable metadata": "reading pyproject.toml",
    "Collecting": "fetching",
    "Building": "building packages",
    "Installing collected packages": "installing",
}
"""The start of a line of pip's output, and the name of the phase that it shows."""
WIDTH = 78


class Progress:
    """Counts packages, and prints the phase and the seconds so far."""

    def __init__(self, phase: str = "starting pip") -> None:
        self._start = time.monotonic()
        self._terminal = sys.stdout.isatty()
        self._done = threading.Event()
        self._phase, self._count, self._detail = phase, 0, ""

    def follow(self, lines: Iterable[str]) -> None:
        """Read pip's output to its end."""
        clock = threading.Thread(target=self._tick, daemon=True)
        clock.start()
        for line in lines:
            self._read(line.strip())
        self._done.set()
        clock.join()
        if self._terminal:
            print("\r" + " " * WIDTH + "\r", end="")
        print(f"  {self._packages()} in {self._seconds()} s", flush=True)

    def _read(self, line: str) -> None:
        for start, phase in PHASES.items():
            if line.startswith(start):
                self._detail = re.split("[ (<>=;!~]", line.removeprefix(start).lstrip(": "))[0]
                if phase == "installing":
                    self._count = line.count(",") + 1
                    self._detail = self._packages()
                if phase not in ("fetching", "installing"):
                    self._detail = ""
                if phase != self._phase:
                    self._phase = phase
                    self._print()

    def _tick(self) -> None:
        while not self._done.wait(1 if self._terminal else 10):
            self._print()

    def _packages(self) -> str:
        return f"{self._count} package{'' if self._count == 1 else 's'}"

    def _seconds(self) -> int:
        return round(time.monotonic() - self._start)

    def _print(self) -> None:
        text = f"  {self._seconds():3} s  {self._phase} {self._detail}"[:WIDTH]
        end = "" if self._terminal else "\n"
        print(("\r" + text.ljust(WIDTH)) if self._terminal else text, end=end, flush=True)


if __name__ == "__main__":
    Progress(*sys.argv[1:]).follow(sys.stdin)
