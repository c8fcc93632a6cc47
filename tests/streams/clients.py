"""The official AI SDK clients, several releases of them, run by Node over real sockets.

    judged([{"package": "ai7", "url": server.url}])

`tests/node/stream_judge.mjs` says what goes in and what comes out. Knows nothing of what this library does.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import pytest

from toolwire._json import JSON

NODE = Path(__file__).parents[1] / "node"
CLIENTS = {5: ("ai5-strict", "ai5"), 6: ("ai6-strict", "ai"), 7: ("ai7-strict", "ai7")}
"""Of each version an early client, which refuses every key it does not know, and the newest."""
PACKAGES = tuple(json.loads((NODE / "package.json").read_text())["dependencies"])
Verdict: TypeAlias = "dict[str, JSON]"


def installed() -> str:
    """The command that runs Node, with the clients in place."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no `node` on the PATH, so the official clients cannot judge")
    with (NODE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may come at once
        if not all((NODE / "node_modules" / name / "package.json").is_file() for name in PACKAGES):
            command = ["npm", "install", "--prefix", str(NODE), "--no-package-lock", "--no-audit", "--no-fund"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, f"`{' '.join(command)}` failed:\n{done.stderr}"
    return node


def judged(asks: Iterable[dict[str, JSON]]) -> list[Verdict]:
    """What the clients say, asked in one process."""
    lines = [json.dumps(ask) + "\n" for ask in asks]
    command = [installed(), str(NODE / "stream_judge.mjs")]
    done = subprocess.run(command, input="".join(lines), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    verdicts: list[Verdict] = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(verdicts) == len(lines)
    return verdicts
