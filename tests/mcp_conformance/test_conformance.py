"""The results of the official conformance suite of MCP for `toolwire serve`."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from mcp_conformance import toolset
from oxp_server.serving import running

from toolwire.tool_server import ToolServer

HERE = Path(__file__).parent
BIN = HERE / "node_modules" / ".bin"
SUMMARY = re.compile(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed$", re.MULTILINE)
PACKAGE = json.loads((HERE / "package.json").read_bytes())
SUITE = PACKAGE["dependencies"]["@modelcontextprotocol/conformance"]
"""The version of the suite."""
SCENARIOS = 32
NOT_SERVED = {"resources-subscribe", "resources-unsubscribe"}
"""Nothing tells the server that the value of a function has changed."""
NO_CHECKS = {"server-sse-polling"}
"""The suite asks as a client of a version before events could be resumed, and only warns."""


@pytest.mark.skipif(not BIN.exists(), reason="needs tests/mcp_conformance (make deep)")
def test_every_scenario_but_subscriptions_passes(tmp_path: Path) -> None:
    with running(ToolServer(toolset)) as server:
        command = [str(BIN / "node"), str(BIN / "conformance"), "server", "--suite", "all"]
        done = subprocess.run(
            [*command, "--url", f"{server.url}/mcp"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
    results = {name: (mark, int(passed)) for mark, name, passed, _ in SUMMARY.findall(done.stdout)}
    assert len(results) == SCENARIOS, done.stdout + done.stderr
    assert {name for name, (mark, _) in results.items() if mark == "✗"} == NOT_SERVED
    assert {name for name, (_, passed) in results.items() if not passed} == NO_CHECKS | NOT_SERVED
