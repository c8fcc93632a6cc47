"""Share the metrics of worker processes: each writes its own where the others find them."""

from __future__ import annotations

import asyncio
import logging
import os

from toolwire.gateway.observe.observer import Observer

_log = logging.getLogger("toolwire.gateway")


def is_alive(process: str) -> bool:
    """True if a process with this id runs."""
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


class WorkerMetrics:
    """Writes the metrics of a process where the other workers find them."""

    def __init__(self, observer: Observer, *, interval: float = 1.0) -> None:
        self._observer = observer
        self._interval = interval
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Write the metrics from now on."""
        self._task = asyncio.get_running_loop().create_task(self._write_regularly())

    async def _write_regularly(self) -> None:
        while True:
            self._write()
            await asyncio.sleep(self._interval)

    def _write(self) -> None:
        try:
            self._observer.share_metrics()
        except OSError as error:
            _log.warning("the metrics could not be shared: %s", error.strerror)

    async def close(self) -> None:
        """Write the metrics for the last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._write()
