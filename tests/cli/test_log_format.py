"""Text of a client can neither forge a line of the log nor control the terminal."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from cli.shell import PROGRAM, environment

from toolwire.cli.output.log_format import PrintableFormatter

HOSTILE = "no such file\n2027-01-31 12:00:00 all is well\x1b[2J\u2028\r"
TOOL = '''
from toolwire.tools import tool

@tool(id="File.Open@1.0.0")
def open_file(name: str) -> str:
    """Open a file.

    Args:
        name: Its name.
    """
    raise RuntimeError(f"{name}")
'''


def test_the_text_of_an_exception_begins_no_line_and_holds_no_escape(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOL)
    command = [*PROGRAM, "call", "File.Open", "--tools", "tools.py"]
    done = subprocess.run(
        [*command, f"name={HOSTILE}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert "  2027-01-31 12:00:00 all is well\\x1b[2J\\u2028\\r" in done.stderr, done.stderr
    assert "\n2027" not in done.stderr and "\x1b" not in done.stderr
    assert "Traceback (most recent call last):" in done.stderr


def test_a_message_of_several_lines_is_one_record() -> None:
    record = logging.makeLogRecord({"msg": "first\nsecond\t%s", "args": ("\x1b[31m",)})
    assert PrintableFormatter().format(record) == "first\n  second\t\\x1b[31m"
