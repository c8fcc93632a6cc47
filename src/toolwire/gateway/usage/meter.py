"""Count the usage of each request, and keep the store up to date in the background."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import time

from toolwire.conversation.model import Usage
from toolwire.errors import ConfigError
from toolwire.gateway.observe.request_record import RequestRecord
from toolwire.gateway.usage.limits import KeyUsage, SharedUsage
from toolwire.gateway.usage.prices import Price, find_price
from toolwire.gateway.usage.store import UsageKey, UsageRow, UsageStore

SYNC_SECONDS = 1.0
_NO_USAGE = Usage()
_NOTHING_SHARED = SharedUsage(others={})
_log = logging.getLogger("toolwire.gateway")


class UsageMeter:
    """Counts usage by key, model and upstream; limits of keys hold across processes."""

    def __init__(
        self,
        store: UsageStore | None,
        keys: Callable[[], Mapping[str, KeyUsage]],
        *,
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        """Prepare the meter.

        Args:
            store: where usage is kept; None if only the limits of this process count.
            keys: returns the usage of each key, by its name.
            sync_seconds: seconds between two exchanges with the store.
        """
        self._store = store
        self._keys = keys
        self._sync_seconds = sync_seconds
        self._rows: dict[UsageKey, UsageRow] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._process = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._failing = False

    def add(self, record: RequestRecord, key: KeyUsage | None, prices: Mapping[str, Price]) -> None:
        """Count a finished request, also against the limits of its key."""
        if key is None and self._store is None:
            return
        usage = record.usage or _NO_USAGE
        price = find_price(prices, record.model) if prices else None
        cost = price.cost(usage) if price is not None else 0.0
        row = UsageRow(
            requests=1,
            errors=int(record.status >= 400),
            input_tokens=usage.input or 0,
            output_tokens=usage.output or 0,
            cost=cost,
        )
        if key is not None:
            key.add_tokens(row.input_tokens + row.output_tokens, cost)
        if self._store is not None:
            day = f"{datetime.fromtimestamp(time(), UTC).date()}"
            # Clients choose the names of models that do not exist.
            model = record.model if record.upstream else ""
            group = (day, record.key, model, record.upstream)
            self._rows.setdefault(group, UsageRow()).add(row)

    async def open(self) -> None:
        """Open the store and exchange with it from now on.

        Raises:
            ConfigError: the store cannot be opened.
        """
        if self._store is None:
            return
        try:
            await asyncio.to_thread(self._store.open)
            await self._sync()
        except ModuleNotFoundError as error:
            raise ConfigError(f"[usage] store: {error}") from None
        except Exception as error:  # whatever the driver of the database raises
            raise ConfigError(f"[usage] store: {type(error).__name__}: {error}") from None
        self._stop = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._sync_regularly())

    async def close(self) -> None:
        """Store the remaining counts and close the store."""
        if self._store is None or self._task is None:
            return
        # Not cancelled: a thread writes to its end, and its usage would be stored a second time.
        self._stop.set()
        await asyncio.wait([self._task])
        try:
            await self._sync()
            await asyncio.to_thread(self._store.remove_process, self._process)
        except Exception as error:  # whatever the driver of the database raises
            _log.error("usage was not stored: %s", type(error).__name__)
        await asyncio.to_thread(self._store.close)

    async def _sync_regularly(self) -> None:
        while not await self._stops_within(self._sync_seconds):
            try:
                await self._sync()
            except Exception as error:  # whatever the driver raises: the next exchange may succeed
                if not self._failing:
                    _log.error("usage is not stored for now: %s", type(error).__name__)
                self._failing = True
            else:
                if self._failing:
                    _log.info("usage is stored again")
                self._failing = False

    async def _stops_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
        return self._stop.is_set()

    async def _sync(self) -> None:
        assert self._store is not None
        rows, self._rows = self._rows, {}
        keys = dict(self._keys())
        counts = {name: usage.count for name, usage in keys.items()}
        costs = {name: usage.unstored_cost for name, usage in keys.items()}
        try:
            shared = await asyncio.to_thread(self._store.sync, rows, self._process, counts, time())
        except Exception:  # nothing was written
            for group, row in rows.items():
                self._rows.setdefault(group, UsageRow()).add(row)
            raise
        for name, usage in keys.items():
            usage.share(shared.get(name, _NOTHING_SHARED), costs[name])
