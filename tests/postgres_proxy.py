"""A proxy in front of PostgreSQL that can cut the connection at a statement, so that its result is
lost. Knows no SQL."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal

How = Literal["never sent", "at once", "answered"]
"""Cut before the statement is forwarded, right after it, or when it has surely been executed."""


class Proxy:
    """`cut(marker, how)`: the next statement with these bytes is the last of its connection."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._folder = folder
        self._target = target
        self._marker: bytes | None = None
        self._how: How = "answered"
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0

    @property
    def dsn(self) -> str:
        return f"host={self._folder} user=postgres dbname=postgres"

    def cut(self, marker: bytes, how: How) -> None:
        self._marker, self._how = marker, how

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_unix_server(self._serve, self._folder / ".s.PGSQL.5432")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            far, away = await asyncio.open_unix_connection(self._target)
            back = asyncio.create_task(_pipe(far, writer))
            try:
                with suppress(OSError, asyncio.CancelledError):
                    await self._forward(reader, away, back)
            finally:
                back.cancel()
                await asyncio.gather(back, return_exceptions=True)
                for one in (away, writer):
                    one.close()
        finally:
            self._tasks.discard(task)

    async def _forward(
        self, reader: asyncio.StreamReader, away: asyncio.StreamWriter, back: asyncio.Task[None]
    ) -> None:
        while data := await reader.read(1 << 20):
            marker = self._marker
            if marker is not None and marker in data:
                self._marker = None
                back.cancel()
                await asyncio.gather(back, return_exceptions=True)
                if self._how != "never sent":
                    away.write(data)
                    await away.drain()
                if self._how == "answered":
                    await asyncio.sleep(
                        0.3
                    )  # by now it is committed, and the answer is on its way into nothing
                self.cuts += 1
                return
            away.write(data)
            await away.drain()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 20):
            writer.write(data)
            await writer.drain()
    writer.close()
