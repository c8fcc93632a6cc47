"""The matrix of wires is what the cases give today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases import DEEP, MODELS, load

ROOT = Path(__file__).parents[1]


PAGE = ROOT / "docs" / "reference" / "matrix.md"


def test_the_page_has_a_cell_for_every_two_wires_that_models_speak() -> None:
    """Counting the cases of each row shows whether cases were added since the page was written."""
    rows = {line.split("`")[1]: line for line in re.findall(r"^\| `.*", PAGE.read_text(), re.M)}
    assert set(MODELS) <= set(rows)
    for wire, row in rows.items():
        assert row.count("|") == len(rows) + 2
        assert row.count(f"/{len(load(wire))} |") == len(rows) - 1, (
            f"{wire}: run `python scripts/matrix.py`"
        )


@pytest.mark.skipif(not DEEP, reason="repeats the laws over all cases (make deep)")
def test_the_numbers_in_the_cells_are_those_of_today() -> None:
    command = [sys.executable, "scripts/matrix.py", "--check"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert (process.returncode, process.stderr) == (0, "")
