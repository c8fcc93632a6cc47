"""The official AI SDK clients, several releases of them, run by Node over real sockets.

    run_clients([{"package": "ai7", "url": server.url}])

`tests/node/read_streams.mjs` documents input and output. This module does not depend on this
library.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
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
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CLIENTS = {5: ("ai5-strict", "ai5"), 6: ("ai6-strict", "ai"), 7: ("ai7-strict", "ai7")}
"""Of each version an early client, which refuses every key it does not know, and the newest."""
PACKAGES = tuple(json.loads((NODE / "package.json").read_text())["dependencies"])
Verdict: TypeAlias = "dict[str, JSON]"


def install_clients() -> str:
    """The command that runs Node, with the clients in place."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no `node` on the PATH, so the official clients cannot run")
    with (NODE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may install at once
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
            env = dict(os.environ)
            if (
                CERTIFICATES.is_file()
            ):  # Node brings certificates of its own; the system's count too
                env.setdefault("NODE_EXTRA_CA_CERTS", str(CERTIFICATES))
            process = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
            assert process.returncode == 0, f"`{' '.join(command)}` failed:\n{process.stderr}"
    return node


@cache
def _start(script: Path) -> subprocess.Popen[str]:
    """A Node process that runs a script. It is slow to start, so all tests of this process share
    it."""
    command = [install_clients(), str(script)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process


def run_script(script: Path, requests: Iterable[dict[str, JSON]]) -> list[Verdict]:
    """The answers of a script that reads and answers line by line."""
    process = _start(script)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    limit = Timer(1200, process.kill)
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
        if process.poll() is not None:  # the next test starts another process
            _start.cache_clear()
    return verdicts


def run_clients(requests: Iterable[dict[str, JSON]]) -> list[Verdict]:
    """What the official clients read."""
    return run_script(NODE / "read_streams.mjs", requests)
