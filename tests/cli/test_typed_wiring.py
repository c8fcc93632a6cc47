"""The type checker sees the calls by which commands start services: a wrong one is an error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.shell import ROOT

COMMANDS = ROOT / "src" / "toolwire" / "cli"
WRONG_CALLS = {
    # file: (a line of it, the same line with a mistake)
    "run.py": ("limits=Limits(turns=options.turns,", "limits=Limits(turn=options.turns,"),
    "serve.py": ("allowed_hosts=allowed_hosts,", "allowed_hosts=len(allowed_hosts),"),
    "mock.py": ("strict=not lenient", "strictly=not lenient"),
    "services/gateway_process.py": ("log_bodies=options.log_bodies,", "log_bodies=options.log,"),
    "services/ledger_url.py": ("return PostgresLedger(url)", "return PostgresLedger(url, 1, 2, 3)"),
    "services/stdio.py": (
        "stdio.serve_stdio(tools, executor=executor)",
        "stdio.serve_stdio(executor, executor=tools)",
    ),
}


def test_a_wrong_call_in_a_command_fails_the_type_check(tmp_path: Path) -> None:
    for file, (right, wrong) in WRONG_CALLS.items():
        text = (COMMANDS / file).read_text()
        assert text.count(right) == 1, f"{file}: {right}"
        copy = tmp_path / file.replace("/", "_")
        copy.write_text(text.replace(right, wrong))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *("--follow-imports=silent", "--cache-dir", str(ROOT / ".mypy_cache" / "wrong_calls")),
            *map(str, sorted(tmp_path.glob("*.py"))),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    for file in WRONG_CALLS:
        name = file.replace("/", "_")
        assert re.search(rf"^{re.escape(name)}:\d+: error:", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("path", sorted(COMMANDS.rglob("*.py")), ids=lambda path: path.stem)
def test_a_module_is_imported_by_its_name_so_that_types_are_known(path: Path) -> None:
    """`import_module` hides types. Only the group of commands and the loaders of code by name use
    it: the rule pages, and the user's tools."""
    allowed = {"framework/group.py", "output/rule_page.py", "services/tool_loading.py"}
    if str(path.relative_to(COMMANDS)) not in allowed:
        assert "import_module" not in path.read_text()
