"""Ask for approval of each tool call: at the terminal, or by lines of a pipe.

There is one question at a time, however many calls wait. When stdin ends, every further call is
denied.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from toolwire.agent.approvals import Allow, Deny, Edit
from toolwire.cli.output.printable import to_printable
from toolwire.conversation.json import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolwire.agent.approvals import Decision
    from toolwire.conversation.parts import Call
    from toolwire.tools.runnable import Runnable

YES, NO, EDIT, ALL = ("y", "yes"), ("n", "no"), ("e", "edit"), ("a", "all")
STDIN_ENDED = "no one can approve this call: stdin has ended"


class ApprovalPrompt:
    """Asks before each call. `start_line` puts the question on a line of its own."""

    def __init__(self, start_line: Callable[[], None]) -> None:
        self._start_line = start_line
        self._lock = asyncio.Lock()
        self._stdin = _StdinLines()
        self._allow_all = False

    async def __call__(self, call: Call, tool: Runnable) -> Decision:
        async with self._lock:
            while not self._allow_all:
                arguments = to_printable(call.arguments or "{}")
                line = await self._ask(
                    f"run {tool.id} with {arguments}? [y]es, [n]o, [e]dit, [a]ll"
                )
                if line is None:
                    click.echo(err=True)
                    return Deny(STDIN_ENDED)
                word, _, reason = line.partition(" ")
                if word.lower() in YES:
                    return Allow()
                if word.lower() in NO:
                    return Deny(reason.strip()) if reason.strip() else Deny()
                if word.lower() in EDIT:
                    return await self._edit()
                self._allow_all = word.lower() in ALL
            return Allow()

    async def _edit(self) -> Decision:
        while (text := await self._ask("arguments as JSON")) is not None:
            try:
                if isinstance(parse(text), dict):
                    return Edit(text)
            except ValueError:
                pass
            click.echo("expected a JSON object", err=True)
        return Deny(STDIN_ENDED)

    async def _ask(self, question: str) -> str | None:
        self._start_line()
        click.echo(f"{question}: ", nl=False, err=True)
        return await self._stdin.next()


class _StdinLines:
    """Lines of stdin, read by a daemon thread.

    asyncio's own thread pool would wait for one more line when the program ends.
    """

    def __init__(self) -> None:
        self._buffer = b""

    async def next(self) -> str | None:
        """Return the next line; None at the end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str | None] = loop.create_future()

        def set_line(line: str | None) -> None:
            if not future.done():
                future.set_result(line)

        def read() -> None:
            line = self._read()
            if not loop.is_closed():
                loop.call_soon_threadsafe(set_line, line)

        threading.Thread(target=read, daemon=True, name="toolwire-approval").start()
        return await future

    def _read(self) -> str | None:
        """Read from the file descriptor.

        A thread that waits in `sys.stdin` would keep the interpreter from exiting.
        """
        try:
            while b"\n" not in self._buffer:
                chunk = os.read(sys.stdin.fileno(), 4096) if sys.stdin is not None else b""
                if not chunk:
                    rest, self._buffer = self._buffer, b""
                    return rest.decode("utf-8", "replace").strip() or None
                self._buffer += chunk
        except (OSError, ValueError):
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()
