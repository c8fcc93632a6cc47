"""Make and end claims of calls, although the ledger may fail meanwhile.

Every error of the ledger is counted and logged. A claim whose end could not be recorded is ended as
soon as the ledger is available: an abandoned claim would look like a call in progress.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from toolwire.execution.call_metrics import CallMetrics
from toolwire.execution.in_flight import InFlightCall
from toolwire.execution.ledger.base import CallKey, Claim, Ledger, LedgerUnavailable, Record
from toolwire.execution.log_redaction import redacting_logger
from toolwire.tools.runnable import OnCrash

logger = redacting_logger("toolwire.execution")


class LedgerClaims:
    """Makes and ends claims in one ledger.

    Args:
        resumable: True if an engine can resume a call after a crash, whatever the tool's
            `on_crash`.
    """

    def __init__(self, ledger: Ledger, metrics: CallMetrics, *, resumable: bool) -> None:
        self.ledger = ledger
        self._metrics = metrics
        self._resumable = resumable
        self._background: set[asyncio.Task[None]] = set()

    def start_background(self, work: Coroutine[None, None, None]) -> None:
        """Start a task that lives until `close`."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """Cancel the background tasks."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    async def sweep(self, interval: float) -> None:
        """Sweep the ledger every `interval` seconds, without end."""
        while True:
            await asyncio.sleep(interval)
            try:
                await self.ledger.sweep()
            except Exception as error:
                self.report_error("sweep", error)

    def report_error(self, operation: str, error: Exception) -> None:
        """Count and log an error of the ledger."""
        self._metrics.count_ledger_error(operation)
        unexpected = None if isinstance(error, LedgerUnavailable) else error
        logger.error("ledger operation %s failed: %s", operation, error, exc_info=unexpected)

    async def claim(self, call: InFlightCall, key: CallKey, fingerprint: bytes) -> Claim:
        """Claim a call under a key."""
        on_crash: OnCrash = "resume" if self._resumable else call.request.tool.on_crash
        return await self.ledger.claim(
            key, fingerprint, tool=call.tool_id, on_crash=on_crash, token=os.urandom(16)
        )

    async def wait(self, call: InFlightCall, key: CallKey, timeout: float) -> Record | None:
        """Wait for a call that another process runs; None if it has not ended in time."""
        call.cancellable = True
        try:
            return await self.ledger.wait(key, timeout)
        except Exception as error:
            self.report_error("wait", error)
            await asyncio.sleep(min(timeout, 0.2))
            return None
        finally:
            call.cancellable = False

    async def has_record(self, key: CallKey) -> bool:
        """True if the ledger knows how the calls under a key ended."""
        try:
            return await self.ledger.get(key) is not None
        except Exception as error:
            self.report_error("get", error)
            return False

    async def release(self, claim: Claim) -> None:
        """End a claim so that the same call may run again."""
        await self._end(claim, "release", self.ledger.release)

    async def lose(self, claim: Claim) -> None:
        """End a claim whose outcome is unknown."""
        await self._end(claim, "lose", self.ledger.lose)

    async def _end(
        self, claim: Claim, operation: str, end: Callable[[Claim], Awaitable[None]]
    ) -> None:
        try:
            await end(claim)
        except Exception as error:
            self.report_error(operation, error)
            self.start_background(_repeat(claim, end))


async def _repeat(claim: Claim, end: Callable[[Claim], Awaitable[None]]) -> None:
    """End a claim, and try again until that succeeds."""
    delay = 0.1
    while True:
        await asyncio.sleep(delay)
        delay = min(delay * 2, 10.0)
        with suppress(Exception):
            return await end(claim)
