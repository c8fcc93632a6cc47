"""Put the commit into the wheel and the source distribution, for `toolwire --version`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "COMMIT"
"""The file in the source distribution from which a wheel gets the commit without a checkout."""


class CommitHook(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Adds a file with the commit, if it is known."""

    def initialize(self, version: str, build_data: dict[str, dict[str, str]]) -> None:
        commit = self._commit()
        if not commit or version == "editable":
            return
        target = NAME if self.target_name == "sdist" else "toolwire/_commit"
        self._folder = tempfile.TemporaryDirectory(prefix="toolwire-")
        file = Path(self._folder.name, NAME)
        file.write_text(commit + "\n", encoding="utf-8")
        build_data["force_include"][str(file)] = target

    def _commit(self) -> str:
        recorded = Path(self.root, NAME)
        if recorded.is_file():
            return recorded.read_text(encoding="utf-8").strip()
        try:
            command = ["git", "-C", self.root, "rev-parse", "HEAD"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.SubprocessError):
            return ""
        return done.stdout.strip()
