"""The output of `toolwire --version`: the version, and the commit that was built or checked out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

import toolwire

PACKAGE = Path(__file__).parents[2]
COMMIT_FILE = PACKAGE / "_commit"
"""Written by `hatch_build.py` into a wheel."""
SHORT = 12


def print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the version and exit; the callback of the option."""
    if not value or ctx.resilient_parsing:
        return
    commit = find_commit()
    click.echo(f"toolwire {toolwire.__version__}{f' (commit {commit})' if commit else ''}")
    ctx.exit()


def find_commit() -> str:
    """Return the commit of this installation; empty if it is unknown."""
    if COMMIT_FILE.is_file():
        return COMMIT_FILE.read_text(encoding="utf-8").strip()[:SHORT]
    checkout = PACKAGE.parents[1]
    if not (checkout / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()[:SHORT]
