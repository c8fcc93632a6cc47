"""The matrix of wires is what the cases give today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cases import DEEP

ROOT = Path(__file__).parents[1]


def test_the_page_of_the_matrix_has_every_cell() -> None:
    """The numbers are the same laws once more, over all cases: they are counted when
    there is time.
    """
    page = (ROOT / "docs" / "matrix.md").read_text()
    rows = [line.count("|") for line in page.splitlines() if line.startswith("| `")]
    assert rows == [len(rows) + 2] * len(rows) and len(rows) == 8
    if DEEP:
        command = [sys.executable, "scripts/matrix.py", "--check"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (0, "")
