"""Run what a page shows, block by block, in a folder with the files that the page shows.

- A block with a title (```` ```python title="tools.py" ````) is a file of that name.
- A `python` block without a title is run after those before it, as in one session. If a `text`
  block follows, it is the output.
- A `console` block has commands after `$ ` and their output. `…` stands for any text, and a line
  `…` for any lines. A command whose output is not shown at all has to succeed. A command that ends
  in `&` runs until `kill %1`, or to the end of the page.
  `export NAME=value` holds for the rest of the page.
- `<!-- not run: REASON -->` before a block says that it needs what a test does not have.

Ports of a page are replaced by free ones. `toolwire` commands without pipes run in this process, as
at a terminal of 100 columns without colours.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest import mock

import click.testing
from click.testing import CliRunner
from ports import free_port

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]*) -->\n+)?"
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PORT = re.compile(r"\b(?:80[0-9]{2}|87[0-9]{2}|90[0-9]{2})\b")
"""Ports as pages use them; no other number of four digits of these ranges stands in a block."""
WAIT = 300.0
STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
NOT_OUR_ENVIRONMENT = re.compile(r"_API_KEY$|^COLUMNS$|^FORCE_COLOR$|^TOOLWIRE_")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str
    text: str
    reason: str
    line: int

    @property
    def runs(self) -> bool:
        """True if the block is a program or a session, and not marked as not run."""
        return self.language in ("python", "console") and not self.title and not self.reason


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            match["language"],
            match["title"] or "",
            match["text"],
            match["reason"] or "",
            text.count("\n", 0, match.start()) + 1,
        )
        for match in FENCE.finditer(text)
    ]


def page_paths() -> list[Path]:
    """Every page of the repository that a reader may open, generated or not."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "changes" / "README.md"]
    return sorted(found)


class PageRun:
    """A page that is being run in a folder."""

    def __init__(self, page: Path, folder: Path, *, replace: Mapping[str, str] = {}) -> None:
        self.page, self.folder, self._replace = page, folder, replace
        self._env: dict[str, str] = {}
        self._ports: dict[str, str] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._module = ModuleType("__main__")

    def run(self) -> None:
        """Run all blocks; an AssertionError names the line of the page that is not so."""
        found = blocks(self.page)
        if any("examples/" in block.text for block in found):
            shutil.copytree(ROOT / "examples", self.folder / "examples")
        try:
            self._run_blocks(found)
        finally:
            self.close()

    def start(self) -> None:
        """Run the blocks, and keep the servers that they start until `close`."""
        self._run_blocks(blocks(self.page))

    def close(self) -> None:
        """Stop all servers."""
        while self._processes:
            self._stop()

    def port(self, port: str) -> str:
        """The free port that stands for a port of the page."""
        return self._free_port(port)

    def _run_blocks(self, found: list[Block]) -> None:
        for number, block in enumerate(found):
            after = found[number + 1] if number + 1 < len(found) else None
            if block.title and not block.reason:
                self._write(block)
            elif block.runs and block.language == "python":
                output = self._run_python(block)
                if after is not None and after.language == "text" and not after.title:
                    self._compare(after.text, output, block.line)
            elif block.runs:
                self._run_console(block)

    # --- one block ---

    def _write(self, block: Block) -> None:
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._adapt(block.text), encoding="utf-8")

    def _run_python(self, block: Block) -> str:
        code = compile(self._adapt(block.text), f"{self.page}:{block.line}", "exec")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), _as_main(self._module):
            exec(code, self._module.__dict__)
        return output.getvalue()

    def _run_console(self, block: Block) -> None:
        before, *turns = re.split(r"^\$ ((?:.*\\\n)*.+)\n", block.text, flags=re.MULTILINE)
        assert not before and turns, f"{self.page}:{block.line}: a console block starts with $"
        for command, expected in zip(turns[::2], turns[1::2], strict=True):
            line = self._adapt(command.replace("\\\n", " "))
            output, exit_code = "", 0
            if re.fullmatch(r"kill( %\d)+", line):
                for _ in line.split()[1:]:
                    self._stop()
            elif line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                self._env[name] = value
            elif line.endswith("&"):
                self._start(line.removesuffix("&"))
            else:
                output, exit_code = _run_command(line, self.folder, self._env)
            self._compare(expected, output, block.line, command)
            shows_nothing = not expected.strip("…\n")
            assert exit_code == 0 or not shows_nothing, (
                f"{self.page}:{block.line}: {command}\nexit code {exit_code}\n{output}"
            )

    def _compare(self, expected: str, output: str, line: int, command: str = "") -> None:
        for port, free in self._ports.items():
            output = output.replace(free, port)
        output = output.replace(str(self.folder), "…")
        assert re.fullmatch(_pattern(expected), output.rstrip("\n") + "\n"), (
            f"{self.page}:{line}: {command}\n--- the page\n{expected}--- the output\n{output}"
        )

    # --- ports and processes ---

    def _adapt(self, text: str) -> str:
        """The text with free ports, and with what the test has instead of a server of the page."""
        for old, new in self._replace.items():
            text = text.replace(old, new)
        return PORT.sub(lambda match: self._free_port(match[0]), text)

    def _free_port(self, port: str) -> str:
        if port not in self._ports:
            self._ports[port] = str(free_port())
        return self._ports[port]

    def _start(self, line: str) -> None:
        port = re.search(r"--port[ =](\d+)", line)
        assert port is not None, f"{self.page}: a server needs --port: {line}"
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", f"exec env {line}"],
                cwd=self.folder,
                env={**_environment(), **self._env},
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self._processes.append(process)
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline and process.poll() is None:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", int(port[1]))),
            ):
                return
            time.sleep(0.05)
        raise AssertionError(f"{line}\n{(self.folder / 'server.log').read_text()}")

    def _stop(self) -> None:
        process = self._processes.pop()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=WAIT)


def _pattern(expected: str) -> str:
    """A regular expression for the output that a page shows."""
    lines = expected.rstrip("\n").split("\n")
    return "".join(
        r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
        for line in lines
    )


def _environment() -> dict[str, str]:
    """This environment with `toolwire` on the path, and without keys of providers."""
    kept = {key: value for key, value in os.environ.items() if not NOT_OUR_ENVIRONMENT.search(key)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    if not entry_points(group="pytest11", name="toolwire"):
        # An editable installation that is older than the plugin does not know it.
        kept |= {"PYTEST_ADDOPTS": "-p toolwire_pytest", "PYTHONPATH": str(ROOT / "pytest_plugin")}
    return {**kept, "PATH": path, "PYTHONIOENCODING": "utf-8"}


def _run_command(line: str, folder: Path, more: Mapping[str, str]) -> tuple[str, int]:
    """The output of a command on both streams, unless they are redirected, and its exit code."""
    words = shlex.split(line)
    simple = not re.search(r"[|;&`$*]|<<|2>", line)
    if words[0] != "toolwire" or not simple:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env={**_environment(), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=2 * WAIT,
        )
        return done.stdout.decode(), done.returncode
    from toolwire.cli.framework.group import commands

    target = source = None
    if ">" in words:
        at = words.index(">")
        target, words = folder / words[at + 1], words[:at] + words[at + 2 :]
    if "<" in words:
        at = words.index("<")
        source, words = folder / words[at + 1], words[:at] + words[at + 2 :]
    env: dict[str, str | None] = {
        key: None for key in os.environ if NOT_OUR_ENVIRONMENT.search(key)
    }
    env |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "xterm", **more}
    with _terminal() if target is None else contextlib.nullcontext():
        result = CliRunner().invoke(
            commands,
            words[1:],
            input=source.read_bytes() if source else None,
            prog_name="toolwire",
            env=env,
        )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if target is not None:
        target.write_bytes(result.stdout_bytes)
        return result.stderr, result.exit_code
    output = re.sub(r" +$", "", STYLE.sub("", result.output), flags=re.MULTILINE)
    return output, result.exit_code


@contextmanager
def _terminal() -> Iterator[None]:
    """Let stdout of the test runner of click count as a terminal, which readers of a page have."""
    stream = click.testing._NamedTextIOWrapper
    with mock.patch.object(stream, "isatty", lambda self: self.name == "<stdout>"):
        yield


@contextmanager
def _as_main(module: ModuleType) -> Iterator[None]:
    """Let functions that a program defines find their module, as types of annotations need it."""
    previous, sys.modules["__main__"] = sys.modules["__main__"], module
    try:
        yield
    finally:
        sys.modules["__main__"] = previous
