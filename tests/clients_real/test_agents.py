"""Coding agents through the gateway: files that they read in parallel, one that is missing, an image."""

from __future__ import annotations

from pathlib import Path

import pytest
from clients_real.agents import AGENTS, Agent
from clients_real.harness import Cell, cells, check, directives, install, record_cell, run
from gateway.serving import Doors
from gateway.turns import PNG

BY_NAME = {agent.client.name: agent for agent in AGENTS}
CELLS = cells([agent.client for agent in AGENTS])


def _talk(door: Doors, agent: Agent, cell: Cell, folder: Path) -> None:
    (folder / "oslo.txt").write_text("4 degrees\n")
    (folder / "rome.txt").write_text("21 degrees\n")
    (folder / "blue.png").write_bytes(PNG)
    steps = agent.steps(folder, cell.upstream)
    start = agent.start(cell, door.url(cell.upstream), directives(*steps))
    for path, text in start.files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    finished = run(door, cell, start.command, folder=folder, env=start.env, given=start.given)
    check(cell, finished, *steps, closings=agent.closings)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_an_agent_gets_every_result_to_its_call(cell: Cell, door: Doors, tmp_path: Path) -> None:
    install(cell.client)
    with record_cell(cell):
        _talk(door, BY_NAME[cell.client.name], cell, tmp_path)
