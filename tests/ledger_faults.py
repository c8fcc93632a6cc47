"""Faults for any ledger: a stage on which children are killed, and the expected states afterwards.

For another kind of ledger: make a `Stage` with its DSN (and options such as a short `lease`), put a
row into `ledger_child.ARMS` so that its commit can be made deadly, and assert `AFTER` line by line.
`chaos` takes several processes at once where the ledger does. Effects are counted in a file that
every child writes with an fsync, outside of the ledger.
"""

from __future__ import annotations

import atexit
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from shutil import rmtree, which
from tempfile import mkdtemp
from typing import Literal, TypeAlias

import msgspec
from ledger_child import Instructions, Report

from toolwire.tools.runnable import OnCrash

Faulty: TypeAlias = Literal["hook", "preload"]
CHILD = Path(__file__).parent / "ledger_child.py"
POINTS = (
    "before claim",
    "after claim",
    "in body",
    "after effect",
    "before commit",
    "after commit",
    "after record",
)

# A: nothing claimed. B: claimed, no effect. C: an effect, no record. D: recorded, no answer sent.
PLACE = dict(zip(POINTS, "ABBCCDD", strict=True))
AFTER: dict[tuple[OnCrash, str], tuple[str, int]] = {
    ("report", "A"): ("done", 1),
    ("report", "B"): ("lost", 0),
    ("report", "C"): ("lost", 1),
    ("report", "D"): ("done", 1),
    ("retry", "A"): ("done", 1),
    ("retry", "B"): ("done", 1),
    ("retry", "C"): ("done", 2),
    ("retry", "D"): ("done", 1),
    ("probe", "A"): ("done", 1),
    ("probe", "B"): ("done", 1),
    ("probe", "C"): ("done", 1),
    ("probe", "D"): ("done", 1),
}
"""By crash policy and the point of the kill: the state of the repeated call, and how often the
effect happened. (An effect in the ledger's own database, `transactional`, happens once wherever the
kill is; it is counted there, not in a file.)"""


class Stage:
    """One ledger, one file of effects, and child processes."""

    def __init__(
        self, folder: Path, ledger: str | None = None, *, options: Mapping[str, float] | None = None
    ) -> None:
        self.folder = folder
        self.ledger = ledger or f"sqlite:{folder / 'ledger.db'}"
        self.options = dict(options or {})
        self.disk = folder / "disk"
        """The files of this folder control the faults of the disk: `fail`, `delay` (ms), `count`."""
        self.disk.mkdir()
        self._effects = folder / "effects"
        self._started = 0

    @property
    def effects(self) -> Counter[str]:
        """How often the effect of the tool happened, by call id."""
        return Counter(self._effects.read_text().split() if self._effects.exists() else ())

    def start(
        self,
        act: str = "call",
        *,
        ids: Iterable[str] = ("call-1",),
        on_crash: OnCrash = "report",
        die: str | None = None,
        seed: int = 0,
        faulty: Faulty | None = None,
    ) -> Child:
        """Start a child."""
        orders = Instructions(
            ledger=self.ledger,
            effects=str(self._effects),
            act=act,
            ids=list(ids),
            on_crash=on_crash,
            die=die,
            options=self.options,
            seed=seed,
            disk=str(self.disk),
            hooked=faulty == "hook",
            out=str(self.folder / f"said-{self._started}"),
        )
        self._started += 1
        return Fresh(orders) if faulty == "preload" else Child(orders)

    def run(
        self,
        act: str = "call",
        *,
        ids: Iterable[str] = ("call-1",),
        on_crash: OnCrash = "report",
        die: str | None = None,
        seed: int = 0,
        faulty: Faulty | None = None,
    ) -> list[Report]:
        """Run a child and return its reports. It must die if and only if `die` is given."""
        child = self.start(act, ids=ids, on_crash=on_crash, die=die, seed=seed, faulty=faulty)
        code = child.wait()
        assert code == (0 if die is None else -signal.SIGKILL), (code, child.reports()[-3:])
        return child.reports()


class Child:
    """A process that makes calls, forked in the nursery. Its output goes to a file, so that it never
    waits for a reader."""

    def __init__(self, orders: Instructions) -> None:
        self._out = Path(orders.out)
        self.pid = self.spawn(orders)

    def spawn(self, orders: Instructions) -> int:
        home = nursery()
        assert home.stdin and home.stdout
        home.stdin.write(msgspec.json.encode(orders) + b"\n")
        home.stdin.flush()
        return int(home.stdout.readline())

    def code(self) -> int | None:
        """The exit code; None while the process lives."""
        file = self._out.with_name(f"{self._out.name}.code")
        return int(file.read_text()) if file.exists() else None

    def reports(self) -> list[Report]:
        """The reports so far. The last line may be cut off by its death."""
        lines = self._out.read_bytes().splitlines(keepends=True) if self._out.exists() else []
        return [msgspec.json.decode(line, type=Report) for line in lines if line.endswith(b"\n")]

    def speaks(self) -> None:
        """Wait until the child has reported something or has ended."""
        self._until(lambda: bool(self.reports()) or self.code() is not None)

    def wait(self) -> int:
        self._until(lambda: self.code() is not None)
        code = self.code()
        assert code is not None
        return code

    def kill(self) -> None:
        if self.code() is None:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def _until(self, there: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not there():
            assert time.monotonic() < until, "the child hangs"
            time.sleep(0.002)


class Fresh(Child):
    """A child that is a separate program, with the faulty fsync loaded into it."""

    def spawn(self, orders: Instructions) -> int:
        env = os.environ | {"LD_PRELOAD": str(shim()), "TOOLWIRE_DISK": orders.disk}
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD), msgspec.json.encode(orders).decode()], env=env
        )
        return self._process.pid

    def code(self) -> int | None:
        return self._process.poll()


@cache
def nursery() -> subprocess.Popen[bytes]:
    """The process that forks children: it has imported everything."""
    home = subprocess.Popen(
        [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    def end() -> None:
        home.communicate(timeout=600)

    atexit.register(end)
    return home


def chaos(
    stage: Stage,
    ids: list[str],
    *,
    kills: int,
    processes: int = 1,
    on_crash: OnCrash = "report",
    seed: int = 0,
) -> list[Report]:
    """Kill children at random, again and again, while all work on the same ids; return what was
    acknowledged."""
    dice = random.Random(seed)
    alive: list[Child] = []
    dead: list[Child] = []
    for _ in range(kills):
        while len(alive) < processes:
            alive.append(
                stage.start("many", ids=ids, on_crash=on_crash, seed=dice.randrange(1 << 30))
            )
        victim = alive.pop(dice.randrange(len(alive)))
        victim.speaks()
        time.sleep(dice.random() * 0.15)
        victim.kill()
        dead.append(victim)
    for child in alive:
        child.kill()
    last = stage.run("many", ids=ids, on_crash=on_crash, seed=seed)
    return [one for child in (*dead, *alive) for one in child.reports()] + last


# --- a disk that fails ----------------------------------------------------------------------------

SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int synced(long number, int fd) {
    const char *folder = getenv("TOOLWIRE_DISK");
    char path[4096], text[32] = {0};
    if (folder) {
        snprintf(path, sizeof path, "%s/fail", folder);
        if (!access(path, F_OK)) { errno = EIO; return -1; }
        snprintf(path, sizeof path, "%s/delay", folder);
        int file = open(path, O_RDONLY);
        if (file >= 0) {
            if (read(file, text, sizeof text - 1) > 0) {
                struct timespec pause = {0, atol(text) * 1000000L};
                nanosleep(&pause, NULL);
            }
            close(file);
        }
        snprintf(path, sizeof path, "%s/count", folder);
        file = open(path, O_WRONLY | O_APPEND);
        if (file >= 0) {
            if (write(file, ".", 1) < 0) {}
            close(file);
        }
    }
    return syscall(number, fd);
}
int fsync(int fd) { return synced(SYS_fsync, fd); }
int fdatasync(int fd) { return synced(SYS_fdatasync, fd); }
"""


@cache
def shim() -> Path | None:
    """The library that makes fsync fail, delays it or counts it (SHIM); None if it cannot be built
    or loaded."""
    compiler = which("cc") or which("gcc") or which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    folder = Path(mkdtemp(prefix="toolwire-shim-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    (folder / "shim.c").write_text(SHIM)
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-O1",
        "-o",
        str(folder / "shim.so"),
        str(folder / "shim.c"),
    ]
    built = subprocess.run(command, capture_output=True, timeout=600)
    return folder / "shim.so" if built.returncode == 0 else None


def faults() -> list[Faulty]:
    """The available ways to make a disk fail. Without a C compiler, only the commit of the ledger
    fails, not fsync."""
    return ["hook"] if shim() is None else ["hook", "preload"]
