"""The official AI SDK clients, several releases of them, run by Node over real sockets.

    judged([{"package": "ai7", "url": server.url}])

`tests/node/stream_judge.mjs` says what goes in and what comes out. Knows nothing of what this
library does.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from threading import Timer
from typing import TypeAlias

import pytest

from toolwire.conversation.json import JSON

NODE = Path(__file__).parents[1] / "node"
CLIENTS = {5: ("ai5-strict", "ai5"), 6: ("ai6-strict", "ai"), 7: ("ai7-strict", "ai7")}
"""Of each version an early client, which refuses every key it does not know, and the newest."""
PACKAGES = tuple(json.loads((NODE / "package.json").read_text())["dependencies"])
Verdict: TypeAlias = "dict[str, JSON]"


def install_clients() -> str:
    """The command that runs Node, with the clients in place."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no `node` on the PATH, so the official clients cannot judge")
    with (NODE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may come at once
        if not all((NODE / "node_modules" / name / "package.json").is_file() for name in PACKAGES):
            command = [
                "npm",
                "install",
                "--prefix",
                str(NODE),
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
            ]
            process = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert process.returncode == 0, f"`{' '.join(command)}` failed:\n{process.stderr}"
    return node


@cache
def _start(script: Path) -> subprocess.Popen[str]:
    """A script that Node runs and that takes as long to start as to judge: one for all tests of
    this process."""
    command = [install_clients(), str(script)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process


def run_script(script: Path, requests: Iterable[dict[str, JSON]]) -> list[Verdict]:
    """What a script that answers line by line says, asked one after the other."""
    process = _start(script)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    limit = Timer(300, process.kill)
    limit.start()
    verdicts: list[Verdict] = []
    try:
        for ask in requests:
            process.stdin.write(json.dumps(ask) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, process.stderr.read()
            verdicts.append(json.loads(line))
    finally:
        limit.cancel()
        if process.poll() is not None:  # the next test gets another one
            _start.cache_clear()
    return verdicts


def judge_all(requests: Iterable[dict[str, JSON]]) -> list[Verdict]:
    """What the clients say."""
    return run_script(NODE / "stream_judge.mjs", requests)
