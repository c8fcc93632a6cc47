"""Somebody who is asked before each call: at the terminal, or by lines of a pipe.

One question at a time, however many calls wait. Whoever has left says no to everything. Knows no
verb.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from toolwire.agent.approvals import Allow, Deny, Edit
from toolwire.cli.framework.usage_error import printable
from toolwire.conversation.json import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolwire.agent.approvals import Decision
    from toolwire.conversation.parts import Call
    from toolwire.tools.runnable import Runnable

YES, NO, EDIT, ALL = ("y", "yes"), ("n", "no"), ("e", "edit"), ("a", "all")


class Approval:
    """Asks about calls. `before` is done before each question, so that it stands on a line of its
    own."""

    def __init__(self, before: Callable[[], None]) -> None:
        self._before = before
        self._lock = asyncio.Lock()
        self._lines = _Lines()
        self._all = False

    async def __call__(self, call: Call, tool: Runnable) -> Decision:
        async with self._lock:
            while not self._all:
                answer = await self._asked(
                    f"run {tool.id} with {printable(call.arguments or '{}')}? [y]es, [n]o, [e]dit,"
                    " [a]ll"
                )
                if answer is None:
                    click.echo(err=True)
                    return Deny("nobody is there to allow this call")
                word, _, reason = answer.partition(" ")
                if word.lower() in YES:
                    return Allow()
                if word.lower() in NO:
                    return Deny(reason.strip()) if reason.strip() else Deny()
                if word.lower() in EDIT:
                    return await self._edited()
                self._all = word.lower() in ALL
            return Allow()

    async def _edited(self) -> Decision:
        while (text := await self._asked("arguments as JSON")) is not None:
            try:
                if isinstance(parse(text), dict):
                    return Edit(text)
            except ValueError:
                pass
            click.echo("expected a JSON object", err=True)
        return Deny("nobody is there to allow this call")

    async def _asked(self, question: str) -> str | None:
        self._before()
        click.echo(f"{question}: ", nl=False, err=True)
        return await self._lines.next()


class _Lines:
    """Lines of stdin without asyncio's pool of threads, which would wait for one more line at the
    end of the program."""

    def __init__(self) -> None:
        self._held = b""

    async def next(self) -> str | None:
        """The next line; None if there will be none."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def settle(line: str | None) -> None:
            if not answer.done():
                answer.set_result(line)

        def read() -> None:
            line = self._read()
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, line)

        threading.Thread(target=read, daemon=True, name="toolwire-approval").start()
        return await answer

    def _read(self) -> str | None:
        """By the descriptor: a thread that waits in Python's own reader would keep the interpreter
        from ending."""
        try:
            while b"\n" not in self._held:
                more = os.read(sys.stdin.fileno(), 4096) if sys.stdin is not None else b""
                if not more:
                    rest, self._held = self._held, b""
                    return rest.decode("utf-8", "replace").strip() or None
                self._held += more
        except (OSError, ValueError):
            return None
        line, _, self._held = self._held.partition(b"\n")
        return line.decode("utf-8", "replace").strip()
