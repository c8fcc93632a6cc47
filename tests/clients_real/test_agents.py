"""Coding agents through the gateway: files that they read in parallel, one that is missing, an image;
then the conversation is resumed, and two other files are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from clients_real.agents import AGENTS, Agent, Question
from clients_real.harness import (
    Cell,
    ClientRun,
    cells,
    check,
    install,
    join,
    prompts,
    record_cell,
    run,
)
from gateway.serving import Gateways
from gateway.turns import PNG

BY_NAME = {agent.client.name: agent for agent in AGENTS}
CELLS = cells([agent.client for agent in AGENTS])


FILES = {"oslo": 4, "rome": 21, "bern": 11, "kyiv": 17}


def _talk(gateways: Gateways, agent: Agent, cell: Cell, folder: Path) -> None:
    for name, degrees in FILES.items():
        (folder / f"{name}.txt").write_text(f"{degrees} degrees\n")
    (folder / "blue.png").write_bytes(PNG)
    turns = agent.turns(folder, cell.upstream)
    first, second = prompts(turns)
    url = gateways.url(cell.upstream)
    finished = join(
        ask(gateways, agent, Question(cell, url, first, resume=False), folder),
        ask(gateways, agent, Question(cell, url, second, resume=True), folder),
    )
    check(cell, finished, turns)


def ask(gateways: Gateways, agent: Agent, question: Question, folder: Path) -> ClientRun:
    """Write the files of an agent, and run it with a question."""
    start = agent.start(question)
    for path, text in start.files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return run(
        gateways, question.cell, start.command, folder=folder, env=start.env, given=start.given
    )


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_an_agent_gets_every_result_to_its_call(
    cell: Cell, gateways: Gateways, tmp_path: Path
) -> None:
    install(cell.client)
    with record_cell(cell):
        _talk(gateways, BY_NAME[cell.client.name], cell, tmp_path)
