"""The page about the agent and its example match the code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agent.mock_server import MockServer, add
from oxp_server.serving import serving

from toolwire.agent.phases import diagram
from toolwire.tools import Tools

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_machine_as_it_is() -> None:
    assert f"```mermaid\n{diagram()}\n```" in (ROOT / "docs" / "reference" / "agent.md").read_text()


def test_the_example_runs_with_two_providers_and_a_tool_server(
    mock_server: MockServer, tmp_path: Path
) -> None:
    first, second = mock_server.mock("anthropic"), mock_server.mock("openai-chat")
    with serving(Tools(add), tmp_path) as tools:
        env = {
            **os.environ,
            "ANTHROPIC_BASE_URL": first.url,
            "OPENAI_BASE_URL": f"{second.url}/v1",
            "TOOLS_URL": tools.url,
            "ANTHROPIC_API_KEY": "any",
            "OPENAI_API_KEY": "any",
        }
        command = [sys.executable, str(ROOT / "examples" / "agent.py")]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "(a=1, b=2) gave: 3.0" in done.stdout and "(a=3, b=4) gave: 7.0" in done.stdout
    assert "(a=10, b=20) gave: 30.0" in done.stdout
    assert first.statuses() == second.statuses() == [200, 200]
    assert len(str(second.bodies()[0])) > 200, "the second model knows what the first one did"


def test_the_example_has_fifteen_lines_at_most() -> None:
    text = (ROOT / "examples" / "agent.py").read_text().split('"""')[2]
    assert len([line for line in text.splitlines() if line.strip()]) <= 15
