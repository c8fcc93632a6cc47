"""The matrix of wires is what the cases give today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_of_the_matrix_is_fresh() -> None:
    done = subprocess.run([sys.executable, "scripts/matrix.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
