"""Virtual keys: which clients may use which models, and how often.

Only the SHA-256 of a key is known. The used part of its limits survives a change of its row. A key
that is unknown, expired or revoked gets the same response.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from msgspec import Struct

from toolwire.gateway.usage.limits import KeyLimits, KeyUsage, LimitReached
from toolwire.server.auth import Auth

_log = logging.getLogger("toolwire.gateway")


class KeyConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One virtual key."""

    name: str
    """The owner of the key, for logs and the records of tool calls."""
    sha256: str
    """The SHA-256 of the key, in hexadecimal."""
    models: tuple[str, ...] = ("*",)
    """The models that it may use: names or patterns."""
    rpm: float | None = None
    """Requests per minute; a minute without requests allows a burst of as many."""
    tpm: float | None = None
    """Tokens per minute, input and output; a request that starts below the limit is not stopped."""
    concurrency: int | None = None
    """Requests at the same time."""
    budget_per_day: float | None = None
    """The maximum cost of its requests on one day (UTC), by `[prices]`; needs `[usage] store`."""
    budget_per_month: float | None = None
    """The maximum cost of its requests in one month (UTC)."""
    expires: str | float | None = None
    """The end of its validity: a date, a time, or seconds since 1970."""


class KeyHolder:
    """A key that is valid now, and its limits."""

    def __init__(self, config: KeyConfig, usage: KeyUsage) -> None:
        self.config = config
        self.usage = usage
        self.expires_at = expiry_seconds(config.expires)
        self._limits = KeyLimits(
            requests_per_minute=config.rpm,
            tokens_per_minute=config.tpm,
            concurrency=config.concurrency,
            budget_per_day=config.budget_per_day,
            budget_per_month=config.budget_per_month,
        )

    @property
    def name(self) -> str:
        """The owner of the key."""
        return self.config.name

    def may_use(self, model: str) -> bool:
        """True if the key may use a model."""
        return any(
            model == pattern or fnmatchcase(model, pattern) for pattern in self.config.models
        )

    def acquire(self) -> LimitReached | None:
        """Start a request, unless a limit is reached."""
        return self.usage.acquire(self._limits)

    def release(self) -> None:
        """End a request."""
        self.usage.release()


class Keys(Auth):
    """The keys that a gateway accepts."""

    def __init__(
        self, configs: Sequence[KeyConfig] = (), *, wall_clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._wall_clock = wall_clock
        self._holders: dict[bytes, KeyHolder] = {}
        self.use(configs)

    def use(self, configs: Sequence[KeyConfig]) -> None:
        """Accept these keys from now on. Keys that stay keep their used limits."""
        known = self._holders
        self._holders = {}
        for config in configs:
            sha256 = bytes.fromhex(config.sha256)
            holder = known.get(sha256)
            usage = KeyUsage(time.monotonic, self._wall_clock) if holder is None else holder.usage
            self._holders[sha256] = KeyHolder(config, usage)

    def usage(self) -> dict[str, KeyUsage]:
        """The usage of each key, by its name."""
        return {holder.name: holder.usage for holder in self._holders.values()}

    @property
    def on(self) -> bool:
        """Always True: an empty list of keys accepts no client."""
        return True

    def principal(self, headers: Mapping[bytes, bytes]) -> str | None:
        """The owner of a request; None if its key is not accepted."""
        holder = self.find(headers)
        return None if holder is None else f"key:{holder.name}"

    def find(self, headers: Mapping[bytes, bytes]) -> KeyHolder | None:
        """The key in the Authorization header; None if it is not accepted."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        token = token.strip()
        if scheme.lower() != b"bearer" or not token:
            return None
        sha256 = hashlib.sha256(token).digest()
        holder = self._holders.get(sha256)
        if holder is None or not hmac.compare_digest(bytes.fromhex(holder.config.sha256), sha256):
            _log.info("rejected a client: unknown key")
            return None
        if holder.expires_at is not None and self._wall_clock() >= holder.expires_at:
            _log.info("rejected a client: the key %s has expired", holder.name)
            return None
        return holder


def expiry_seconds(expires: str | float | None) -> float | None:
    """A time as seconds since 1970; a time without a zone is UTC. Raises ValueError."""
    if not isinstance(expires, str):
        return expires
    moment = datetime.fromisoformat(expires)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
