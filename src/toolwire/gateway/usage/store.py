"""A database of usage: SQLite or PostgreSQL, shared by processes and machines.

Totals are kept by day, key, model and upstream. The counts of each process are kept by key, so that
other processes can apply the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct

from toolwire.gateway.database import Database
from toolwire.gateway.usage.limits import ProcessCount, SharedUsage

LIVE_SECONDS = 15.0
"""Seconds without a write after which a process, and its requests in progress, count as gone."""
KEPT_SECONDS = 3600.0
"""How long the counts of such a process are kept."""
_SCHEMA = (
    "create table if not exists toolwire_usage ("
    " day text not null, key_name text not null, model text not null, upstream text not null,"
    " requests bigint not null, errors bigint not null, input_tokens bigint not null,"
    " output_tokens bigint not null, cost double precision not null,"
    " primary key (day, key_name, model, upstream))",
    "create table if not exists toolwire_usage_processes ("
    " process text not null, key_name text not null, requests bigint not null,"
    " tokens bigint not null, in_progress bigint not null, written_at double precision not null,"
    " primary key (process, key_name))",
)
_ADD = (
    "insert into toolwire_usage values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " on conflict (day, key_name, model, upstream) do update set"
    " requests = toolwire_usage.requests + excluded.requests,"
    " errors = toolwire_usage.errors + excluded.errors,"
    " input_tokens = toolwire_usage.input_tokens + excluded.input_tokens,"
    " output_tokens = toolwire_usage.output_tokens + excluded.output_tokens,"
    " cost = toolwire_usage.cost + excluded.cost"
)
_PUBLISH = (
    "insert into toolwire_usage_processes values (?, ?, ?, ?, ?, ?)"
    " on conflict (process, key_name) do update set requests = excluded.requests,"
    " tokens = excluded.tokens, in_progress = excluded.in_progress,"
    " written_at = excluded.written_at"
)
_TOTALS = (
    "select {columns}, sum(requests), sum(errors), sum(input_tokens), sum(output_tokens), sum(cost)"
    " from toolwire_usage where day >= ? group by {columns} order by {columns}"
)
GROUPS = {"day": "day", "key": "key_name", "model": "model", "upstream": "upstream"}
"""The ways to group totals, and the column of each."""


UsageKey: TypeAlias = tuple[str, str, str, str]
"""Day, key, model and upstream."""


class UsageRow(Struct):
    """The usage of one model with one key on one day."""

    requests: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def add(self, other: UsageRow) -> None:
        """Add the counts of another row."""
        self.requests += other.requests
        self.errors += other.errors
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cost += other.cost


class UsageTotal(Struct, frozen=True):
    """A sum of usage: the values it is grouped by, and the counts."""

    group: tuple[str, ...]
    usage: UsageRow


class UsageStore:
    """A database of usage. Its methods block, so a server calls them in a thread."""

    def __init__(self, url: str) -> None:
        """Prepare the store.

        Raises:
            ConfigError: the URL names no database.
        """
        self._database = Database(url)

    def open(self, *, create: bool = True) -> None:
        """Connect, and create the tables if they are missing.

        Raises:
            FileNotFoundError: the file is missing and `create` is False.
        """
        self._database.open(create=create)
        self._database.create_tables(_SCHEMA)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def sync(
        self,
        rows: Mapping[UsageKey, UsageRow],
        process: str,
        counts: Mapping[str, ProcessCount],
        now: float,
    ) -> dict[str, SharedUsage]:
        """Add usage, publish the counts of a process, and return the stored usage by key.

        Either everything is written or nothing.

        Args:
            rows: the usage since the last exchange.
            process: the name of this process among those that share the store.
            counts: the counts of this process, by key.
            now: seconds since 1970.
        """
        if not self._database.is_open:
            self.open()
        try:
            self._write(rows, process, counts, now)
            shared = self._read_shared(process, now)
            self._database.commit()
        except Exception:
            self.close()  # the next exchange connects again
            raise
        return shared

    def _write(
        self,
        rows: Mapping[UsageKey, UsageRow],
        process: str,
        counts: Mapping[str, ProcessCount],
        now: float,
    ) -> None:
        usage = [
            (*group, row.requests, row.errors, row.input_tokens, row.output_tokens, row.cost)
            for group, row in rows.items()
        ]
        published = [
            (process, key, count.requests, count.tokens, count.in_progress, now)
            for key, count in counts.items()
        ]
        self._database.run_many(_ADD, usage)
        self._database.run_many(_PUBLISH, published)
        self._database.run(
            "delete from toolwire_usage_processes where written_at < ?", (now - KEPT_SECONDS,)
        )

    def _read_shared(self, process: str, now: float) -> dict[str, SharedUsage]:
        others: dict[str, dict[str, ProcessCount]] = {}
        rows = self._database.run(
            "select key_name, process, requests, tokens, in_progress from toolwire_usage_processes"
            " where process <> ? and written_at > ?",
            (process, now - LIVE_SECONDS),
        )
        for key, other, requests, tokens, in_progress in rows:
            count = ProcessCount(_integer(requests), _integer(tokens), _integer(in_progress))
            others.setdefault(str(key), {})[str(other)] = count
        today = datetime.fromtimestamp(now, UTC).date()
        month = today.replace(day=1)
        costs: dict[str, tuple[float, float]] = {}
        for total in self.totals(["key", "day"], since=f"{month}"):
            key, day = total.group
            of_day, of_month = costs.get(key, (0.0, 0.0))
            cost = total.usage.cost
            costs[key] = (of_day + cost if day == f"{today}" else of_day, of_month + cost)
        shared: dict[str, SharedUsage] = {}
        for key in {*others, *costs}:
            of_day, of_month = costs.get(key, (0.0, 0.0))
            shared[key] = SharedUsage(
                others=others.get(key, {}),
                day=f"{today}",
                cost_of_day=of_day,
                month=f"{month}",
                cost_of_month=of_month,
            )
        return shared

    def totals(self, groups: Sequence[str], *, since: str = "") -> list[UsageTotal]:
        """The usage since a day, grouped by `day`, `key`, `model` or `upstream`."""
        columns = ", ".join(GROUPS[group] for group in groups)
        rows = self._database.run(_TOTALS.format(columns=columns), (since,))
        totals: list[UsageTotal] = []
        for row in rows:
            *counts, cost = row[len(groups) :]
            requests, errors, input_tokens, output_tokens = map(_integer, counts)
            usage = UsageRow(requests, errors, input_tokens, output_tokens, float(str(cost)))
            totals.append(UsageTotal(tuple(map(str, row[: len(groups)])), usage))
        return totals

    def remove_process(self, process: str) -> None:
        """Forget the requests in progress of a process that stops."""
        self._database.run("delete from toolwire_usage_processes where process = ?", (process,))
        self._database.commit()


def _integer(value: object) -> int:
    """A sum as an integer; PostgreSQL returns decimals."""
    return int(str(value))
