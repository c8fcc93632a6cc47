"""The matrix of wires is what the cases give today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cases import DEEP, MODELS

ROOT = Path(__file__).parents[1]


def test_the_page_has_a_cell_for_every_two_wires_that_models_speak() -> None:
    """The numbers in the cells repeat the laws over all cases, so only a deep run counts them."""
    page = (ROOT / "docs" / "reference" / "matrix.md").read_text()
    cells = {line.split("`")[1]: line.count("|") for line in re.findall(r"^\| `.*", page, re.M)}
    assert set(MODELS) <= set(cells)
    assert set(cells.values()) == {len(cells) + 2}
    if DEEP:
        command = [sys.executable, "scripts/matrix.py", "--check"]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
        assert (process.returncode, process.stderr) == (0, "")
