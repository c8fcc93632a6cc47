"""What the official conformance suite of MCP says about `toolwire serve`."""

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
SCENARIOS, SERVED = 32, 20
"""How many scenarios there are, and how many are about tools."""
NOT_SERVED = {"completion-complete", "resources", "prompts"}
"""A tool server has no resources and no prompts, and so nothing to complete."""
NO_CHECKS = {"server-sse-polling"}
"""The suite asks as a client of a version before events could be resumed, and only warns."""


@pytest.mark.skipif(not BIN.exists(), reason="needs tests/mcp_conformance (make deep)")
def test_every_scenario_about_tools_passes(tmp_path: Path) -> None:
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
    tools = {
        name: result
        for name, result in results.items()
        if name not in NOT_SERVED and name.partition("-")[0] not in NOT_SERVED
    }
    assert len(tools) == SERVED
    assert [name for name, (mark, _) in tools.items() if mark == "✗"] == []
    assert {name for name, (_, passed) in tools.items() if not passed} == NO_CHECKS
