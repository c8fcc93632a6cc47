"""Limits of keys, usage of clients, and several upstreams of one model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Barrier, Event
from traceback import format_exception

import pytest
from gateway_ops.running import endless_server, get, open_stream, post, serve_gateway
from gateway_ops.test_process import running, until
from mock.hosting import serve_mock
from postgres import database_url

from toolwire import PostgresLedger
from toolwire.conversation.model import Usage
from toolwire.errors import ConfigError
from toolwire.execution import LedgerUnavailable
from toolwire.gateway import Gateway
from toolwire.gateway.balance import COOLDOWN, Balancer
from toolwire.gateway.config.model_table import ModelTable, ModelTarget
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.observe.request_record import RequestRecord
from toolwire.gateway.responses_state.database import DatabaseStore
from toolwire.gateway.responses_state.store import StoreLimits
from toolwire.gateway.usage.limits import (
    KeyLimits,
    KeyUsage,
    LimitReached,
    ProcessCount,
    SharedUsage,
)
from toolwire.gateway.usage.meter import UsageMeter
from toolwire.gateway.usage.prices import Price, find_price
from toolwire.gateway.usage.store import UsageKey, UsageRow, UsageStore

KEY = "tw-" + "k3y-of-alice-" * 4
SHA256 = hashlib.sha256(KEY.encode()).hexdigest()
ASK = {"model": "demo", "messages": [{"role": "user", "content": "hello"}]}
MIDNIGHT = datetime(2027, 1, 31, tzinfo=UTC).timestamp()


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = 6000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def key_usage(clock: Clock) -> KeyUsage:
    return KeyUsage(clock, clock)


def reason(reached: LimitReached | None) -> str:
    return "" if reached is None else reached.reason


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rpm", [0.5, 1, 3, 60])
def test_a_key_allows_a_burst_and_then_its_rate(rpm: float) -> None:
    clock = Clock()
    usage, limits = key_usage(clock), KeyLimits(requests_per_minute=rpm)
    accepted: list[float] = []
    end = clock.now + 600
    while clock.now < end:
        reached = usage.acquire(limits)
        if reached is None:
            usage.release()
            accepted.append(clock.now)
        else:
            assert reached.seconds <= 60 / rpm + 0.001
            clock.now += reached.seconds + 0.001
    burst = max(1, int(rpm))
    assert accepted[burst - 1] == accepted[0], "a burst of as many requests is accepted"
    assert burst + rpm * 10 - 2 <= len(accepted) <= burst + rpm * 10 + 1


def test_a_key_that_was_idle_for_long_gets_one_burst() -> None:
    clock = Clock()
    usage, limits = key_usage(clock), KeyLimits(requests_per_minute=3)
    assert usage.acquire(limits) is None
    clock.now += 3600
    accepted = [usage.acquire(limits) is None for _ in range(5)]
    assert accepted == [True, True, True, False, False]


def test_a_lower_limit_counts_at_once() -> None:
    usage = key_usage(Clock())
    for _ in range(10):
        assert usage.acquire(KeyLimits(requests_per_minute=10)) is None
    reached = usage.acquire(KeyLimits(requests_per_minute=5))
    assert reached is not None and reached.seconds == pytest.approx(72.0)


def test_tokens_are_limited_by_what_earlier_requests_used() -> None:
    clock = Clock()
    usage, limits = key_usage(clock), KeyLimits(tokens_per_minute=100)
    assert usage.acquire(limits) is None
    usage.add_tokens(99, 0.0)
    assert usage.acquire(limits) is None
    usage.add_tokens(101, 0.0)
    reached = usage.acquire(limits)
    assert reached is not None and reached.reason == "its limit of 100 tokens per minute"
    assert reached.seconds == pytest.approx(101 * 60 / 100)
    clock.now += reached.seconds + 0.01
    assert usage.acquire(limits) is None


def test_counts_of_other_processes_are_added_once() -> None:
    clock = Clock()
    usage = key_usage(clock)
    usage.acquire(KeyLimits(requests_per_minute=4, tokens_per_minute=100))
    usage.share(SharedUsage(others={"b": ProcessCount(100, 5000, 1)}), 0.0)
    assert usage.acquire(KeyLimits(requests_per_minute=4)) is None, "they were before this process"
    assert reason(usage.acquire(KeyLimits(concurrency=3))).endswith("at the same time")
    for _ in range(2):
        others = {"b": ProcessCount(101, 5090, 0), "c": ProcessCount(1, 10, 0)}
        usage.share(SharedUsage(others=others), 0.0)
    assert reason(usage.acquire(KeyLimits(requests_per_minute=4))).endswith("requests per minute")
    assert reason(usage.acquire(KeyLimits(tokens_per_minute=100))).endswith("tokens per minute")
    clock.now += 31
    assert usage.acquire(KeyLimits(requests_per_minute=4, tokens_per_minute=100)) is None


def test_a_budget_ends_with_its_day_or_month() -> None:
    clock = Clock(MIDNIGHT - 3600)
    usage = key_usage(clock)
    shared = SharedUsage(
        others={}, day="2027-01-30", cost_of_day=4.0, month="2027-01-01", cost_of_month=40.0
    )
    usage.share(shared, 0.0)
    day, month = KeyLimits(budget_per_day=5), KeyLimits(budget_per_month=50)
    assert usage.acquire(day) is None and usage.acquire(month) is None
    usage.add_tokens(10, 1.0)
    reached = usage.acquire(day)
    assert reached is not None and reached.reason == "its budget of 5 for a day"
    assert reached.seconds == 3600
    usage.add_tokens(10, 9.0)
    reached = usage.acquire(month)
    assert reached is not None and reached.reason == "its budget of 50 for a month"
    assert reached.seconds == 3600 + 86400, "the last day of January is left"
    clock.now = MIDNIGHT + 1
    shared = SharedUsage(others={}, day="2027-01-31", month="2027-01-01", cost_of_month=50.0)
    usage.share(shared, 10.0)
    assert usage.acquire(day) is None, "another day"
    assert usage.acquire(month) is not None


def test_the_cost_of_another_day_does_not_count_and_a_month_ends_with_its_last_day() -> None:
    clock = Clock(datetime(2027, 2, 27, tzinfo=UTC).timestamp())
    usage = key_usage(clock)
    shared = SharedUsage(
        others={}, day="2027-02-26", cost_of_day=5.0, month="2027-02-01", cost_of_month=50.0
    )
    usage.share(shared, 0.0)
    assert usage.acquire(KeyLimits(budget_per_day=5)) is None
    reached = usage.acquire(KeyLimits(budget_per_month=50))
    assert reached is not None and reached.seconds == 2 * 86400


def test_a_cost_that_arose_while_the_store_wrote_is_still_to_be_stored() -> None:
    usage = key_usage(Clock())
    usage.add_tokens(10, 4.0)
    usage.add_tokens(10, 1.5)
    usage.share(SharedUsage(others={}), 4.0)
    assert usage.unstored_cost == 1.5


def test_prices_of_the_longest_pattern_count_and_cached_tokens_cost_their_own_price() -> None:
    prices = {
        "*": Price(input=1.0, output=2.0),
        "claude-*": Price(input=3.0, output=15.0, cached_input=0.3, cache_write=3.75),
    }
    price = find_price(prices, "claude-opus")
    assert price is not None
    usage = Usage(input=1_000_000, output=100_000, cached=500_000, cache_write=100_000)
    assert price.cost(usage) == pytest.approx(0.4 * 3 + 0.5 * 0.3 + 0.1 * 3.75 + 0.1 * 15)
    other = find_price(prices, "gpt-5")
    assert other is not None and other.cost(usage) == pytest.approx(1.2)
    assert find_price({"gpt-*": price}, "claude") is None


# --- the store ------------------------------------------------------------------------------------


def check_store(url: str) -> None:
    """Assert that two processes share their counts."""
    first, second = UsageStore(url), UsageStore(url)
    now = MIDNIGHT + 30.0
    row = UsageRow(requests=2, errors=1, input_tokens=10, output_tokens=5, cost=0.25)
    count = ProcessCount(2, 15, 1)
    counts = {"alice": count}
    group = ("2027-01-31", "alice", "claude-x", "anthropic")
    before = ("2027-01-30", "alice", "claude-x", "anthropic")
    mine = first.sync({group: row, before: row}, "a", counts, now)
    assert mine["alice"].others == {}, "only of other processes"
    assert (mine["alice"].cost_of_day, mine["alice"].cost_of_month) == (0.25, 0.5)
    theirs = second.sync({group: row}, "b", {}, now)["alice"]
    assert theirs.others == {"a": count}
    assert (theirs.cost_of_day, theirs.cost_of_month) == (0.5, 0.75)
    assert second.sync({}, "b", {}, now + 60)["alice"].others == {}, "the process is gone"
    again = first.sync({}, "a", counts, now)
    assert again["alice"].cost_of_day == 0.5, "nothing is counted twice"
    (total,) = first.totals(["key"], since="2027-01-31")
    assert total.group == ("alice",) and total.usage.requests == 4 and total.usage.cost == 0.5
    assert [total.group[0] for total in second.totals(["day", "model"])] == [before[0], group[0]]
    first.remove_process("a")
    assert second.sync({}, "b", {}, now)["alice"].others == {}
    first.close()
    second.close()


def test_a_store_in_sqlite(tmp_path: Path) -> None:
    check_store(f"sqlite:///{tmp_path / 'usage.db'}")


async def _open_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    await UsageMeter(UsageStore("postgresql://127.0.0.1/x"), dict).open()


def test_a_store_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as caught:
        asyncio.run(_open_without_psycopg(monkeypatch))
    assert str(caught.value) == (
        "[usage] store: a store in PostgreSQL needs the package psycopg: run pip install"
        " 'toolwire[postgres]'"
    )


def test_a_store_in_postgresql() -> None:
    check_store(database_url())


@pytest.mark.parametrize("kind", ["usage", "responses"])
def test_replicas_that_start_at_once_on_an_empty_database_all_open_their_store(kind: str) -> None:
    url = database_url()
    barrier = Barrier(8)

    def open_store() -> None:
        barrier.wait(60)
        if kind == "usage":
            store = UsageStore(url)
            store.open()
            store.close()
        else:
            asyncio.run(open_and_close(DatabaseStore(url, StoreLimits(size=1000, age=60.0))))

    with ThreadPoolExecutor(barrier.parties) as threads:
        for opened in [threads.submit(open_store) for _ in range(barrier.parties)]:
            opened.result(60)


async def open_and_close(store: DatabaseStore) -> None:
    await store.open()
    await store.close()


def test_a_failed_exchange_writes_nothing_and_the_next_one_succeeds(tmp_path: Path) -> None:
    store = UsageStore(f"sqlite:///{tmp_path / 'usage.db'}")
    row = {("2027-01-31", "alice", "m", "u"): UsageRow(requests=1)}
    broken = {"alice": ProcessCount(requests=2**70)}
    with pytest.raises(OverflowError):
        store.sync(row, "a", broken, MIDNIGHT)
    assert store.sync({}, "a", {}, MIDNIGHT) == {}
    store.close()


def test_usage_that_is_being_stored_when_the_gateway_closes_is_stored_once(tmp_path: Path) -> None:
    class SlowStore(UsageStore):
        """A store whose thread still writes when the gateway closes."""

        def sync(
            self,
            rows: Mapping[UsageKey, UsageRow],
            process: str,
            counts: Mapping[str, ProcessCount],
            now: float,
        ) -> dict[str, SharedUsage]:
            shared = super().sync(rows, process, counts, now)
            if rows:
                stored.set()
                closing.wait(30)
            return shared

    stored, closing = Event(), Event()
    url = f"sqlite:///{tmp_path / 'usage.db'}"

    async def count_one_request_and_close() -> None:
        meter = UsageMeter(SlowStore(url), dict, sync_seconds=0.001)
        await meter.open()
        meter.add(
            RequestRecord("openai-chat", key="alice", model="demo", upstream="demo"), None, {}
        )
        assert await asyncio.to_thread(stored.wait, 30)
        asyncio.get_running_loop().call_later(0.05, closing.set)
        await meter.close()

    asyncio.run(count_one_request_and_close())
    store = UsageStore(url)
    store.open()
    (total,) = store.totals(["key"])
    store.close()
    assert total.usage.requests == 1


def test_usage_of_an_outage_of_the_store_is_stored_once_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class FailingStore(UsageStore):
        """A store that is unavailable for a while."""

        def sync(
            self,
            rows: Mapping[UsageKey, UsageRow],
            process: str,
            counts: Mapping[str, ProcessCount],
            now: float,
        ) -> dict[str, SharedUsage]:
            if failures:
                failures.pop()
                raise OSError("postgresql://me:s3cret@db is gone")
            return super().sync(rows, process, counts, now)

    failures: list[None] = []
    url = f"sqlite:///{tmp_path / 'usage.db'}"
    record = RequestRecord("openai-chat", key="alice", model="demo", upstream="demo")

    async def count_during_an_outage() -> None:
        meter = UsageMeter(FailingStore(url), dict, sync_seconds=0.001)
        await meter.open()
        failures.extend([None] * 3)
        for _ in range(2):
            meter.add(record, None, {})
            await asyncio.sleep(0.003)
        while "usage is stored again" not in caplog.text:
            await asyncio.sleep(0.001)
        await meter.close()

    with caplog.at_level("INFO", "toolwire.gateway"):
        asyncio.run(count_during_an_outage())
    store = UsageStore(url)
    store.open()
    (total,) = store.totals(["key"])
    store.close()
    assert total.usage.requests == 2
    assert caplog.text.count("usage is not stored for now") == 1 and "s3cret" not in caplog.text


# --- the program ----------------------------------------------------------------------------------


def config(folder: Path, **limits: object) -> None:
    rows = "".join(f"{name} = {json.dumps(value)}\n" for name, value in limits.items())
    (folder / "keys.toml").write_text(f'[keys.alice]\nsha256 = "{SHA256}"\n{rows}')
    (folder / "g.toml").write_text(
        '[models.demo]\nupstream = "demo"\n[keys]\nfile = "keys.toml"\n'
        '[usage]\nstore = "sqlite:///usage.db"\n[prices."*"]\ninput = 1000\noutput = 1000\n'
    )


COSTS = {"a": 0.1, "b": 0.2}
BEARER = {"authorization": f"Bearer {KEY}"}


def read_usage(folder: Path, *arguments: str) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "toolwire", "usage", "sqlite:///usage.db", "--json"]
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_a_limit_holds_over_all_workers_and_a_restart_and_usage_is_shown(tmp_path: Path) -> None:
    config(tmp_path, budget_per_day=0.05)
    with running(tmp_path, "g.toml", "--workers", "2") as gateway:
        at = f"{gateway.url}/v1/chat/completions"
        statuses: list[int] = []

        def all_refused(times: int) -> bool:
            latest = [post(at, ASK, BEARER).status for _ in range(times)]
            statuses.extend(latest)
            return set(latest) == {429}

        assert until(lambda: all_refused(1), 60), "the budget ends"
        assert until(lambda: all_refused(12), 60), "both workers know it"
        assert set(statuses) == {200, 429}
    with running(tmp_path, "g.toml") as gateway:
        response = post(f"{gateway.url}/v1/chat/completions", ASK, BEARER)
        assert response.status == 429 and "its budget of 0.05 for a day" in response.text
        assert int(response.headers["retry-after"]) <= 86400
    (row,) = [row for row in read_usage(tmp_path) if row["model"] == "demo"]
    assert row["key"] == "alice" and row["requests"] == statuses.count(200)
    cost = row["cost"]
    assert isinstance(cost, float) and cost >= 0.05
    assert {row["upstream"] for row in read_usage(tmp_path, "--by", "upstream")} == {"", "openai"}


def test_a_sum_of_costs_is_shown_without_the_error_of_its_binary_fractions(tmp_path: Path) -> None:
    store = UsageStore(f"sqlite:///{tmp_path / 'usage.db'}")
    day = date(2027, 1, 31).isoformat()
    rows = {(day, "alice", model, "openai"): UsageRow(cost=cost) for model, cost in COSTS.items()}
    store.sync(rows, "a", {}, MIDNIGHT)
    store.close()
    (row,) = read_usage(tmp_path, "--by", "key", "--since", day)
    assert row["cost"] == 0.3 != sum(COSTS.values())


def test_concurrency_is_shared_by_workers(tmp_path: Path) -> None:
    config(tmp_path, concurrency=1)
    with ExitStack() as stack:
        address = stack.enter_context(endless_server())
        with (tmp_path / "g.toml").open("a") as file:
            file.write(f'[models.endless]\nupstream = "vllm"\nbase_url = "{address}"\n')
        gateway = stack.enter_context(running(tmp_path, "g.toml", "--workers", "2"))
        at = f"{gateway.url}/v1/chat/completions"

        def statuses(count: int) -> set[int]:
            return {post(at, ASK, BEARER).status for _ in range(count)}

        with open_stream(at, model="endless", headers=BEARER):
            assert until(lambda: statuses(10) == {429}, 60), "both workers refuse another request"
        assert until(lambda: statuses(1) == {200}, 60)


def test_a_budget_without_a_store_or_prices_is_a_mistake(tmp_path: Path) -> None:
    config(tmp_path, budget_per_day=1)
    (tmp_path / "g.toml").write_text(
        '[models.demo]\nupstream = "demo"\n[keys]\nfile = "keys.toml"\n'
    )
    with pytest.raises(ConfigError) as error:
        Gateway.from_config(tmp_path / "g.toml")
    assert [mistake.partition(": ")[2] for mistake in error.value.mistakes] == [
        "alice: a budget needs [usage] store",
        "alice: a budget needs [prices.MODEL]",
    ]


def test_keys_can_be_managed_from_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "toolwire", "keys", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    key = run("add", "alice", "keys.toml", "--rpm", "60", "--model", "claude-*").stdout.strip()
    assert key.startswith("tw-") and key not in (tmp_path / "keys.toml").read_text()
    assert run("limit", "alice", "keys.toml", "--tpm", "1000", "--remove", "rpm").returncode == 0
    (row,) = json.loads(run("list", "keys.toml", "--json").stdout)
    assert (row["name"], row["models"], row["rpm"], row["tpm"]) == (
        "alice",
        ["claude-*"],
        None,
        1000,
    )
    wrong = run("revoke", "alise", "keys.toml")
    assert wrong.returncode == 2 and "did you mean alice?" in wrong.stderr
    assert run("revoke", "alice", "keys.toml").returncode == 0
    assert json.loads(run("list", "keys.toml", "--json").stdout) == []
    typo = [sys.executable, "-m", "toolwire", "usage", "sqlite:///typo.db"]
    done = subprocess.run(typo, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "typo.db: no such file" in done.stderr
    assert not (tmp_path / "typo.db").exists()


# --- several upstreams ----------------------------------------------------------------------------

POOL = """
[models.fast]
upstream = "openai"
base_url = "{0}/v1"
key_env = "K"
balance = ["fast-b"]
fallbacks = ["slow"]
[models.fast-b]
upstream = "openai"
base_url = "{1}/v1"
key_env = "K"
[models.slow]
upstream = "openai"
base_url = "{2}/v1"
key_env = "K"
"""
NOWHERE = "http://127.0.0.1:9"


def table(*urls: str) -> ModelTable:
    return ModelTable(read_config(POOL.format(*urls)), {"K": "k" * 20})


def names(targets: list[ModelTarget]) -> list[str]:
    return [target.table for target in targets]


def test_requests_go_to_the_least_busy_upstream_and_failed_ones_are_tried_last() -> None:
    clock = Clock(0.0)
    balancer, targets = Balancer(clock), table(NOWHERE, NOWHERE, NOWHERE).find("fast")
    assert names(targets) == ["fast", "fast-b", "slow"]
    first = balancer.order(targets)[0]
    balancer.start(first)
    second = balancer.order(targets)[0]
    assert second.table != first.table
    balancer.start(second)
    assert balancer.order(targets)[0].table == first.table, "it waits for longer"
    balancer.end(second)
    balancer.end(first)
    used = [names(balancer.order(targets))[0]]
    for _ in range(5):
        target = balancer.order(targets)[0]
        balancer.start(target)
        balancer.end(target)
        used.append(names(balancer.order(targets))[0])
    assert used.count("fast") == used.count("fast-b") == 3, "in turn"
    balancer.rest(targets[0], None)
    assert names(balancer.order(targets)) == ["fast-b", "slow", "fast"]
    balancer.rest(targets[1], 60.0)
    assert names(balancer.order(targets)) == ["slow", "fast-b", "fast"]
    clock.now = COOLDOWN + 0.1
    assert names(balancer.order(targets)) == ["fast", "slow", "fast-b"]


def test_an_upstream_that_is_down_gets_one_request_and_is_then_tried_last() -> None:
    with serve_mock("openai-chat") as mock:
        models = table(NOWHERE, mock.url, mock.url)
        gateway = Gateway(models)
        with serve_gateway(gateway) as url:
            body = {**ASK, "model": "fast"}
            at = f"{url}/v1/chat/completions"
            assert {post(at, body).status for _ in range(6)} == {200}
            metrics = get(f"{url}/metrics").text
    assert 'fallbacks_total{upstream="openai"} 1' in metrics


# --- addresses with a password --------------------------------------------------------------------

PASSWORD = "s3cret-of-the-database"
UNREADABLE = (
    f"postgresql://user:{PASSWORD}%zz@127.0.0.1:1/db",
    f"postgresql://user:{PASSWORD} x@127.0.0.1:1/db",
    f"postgresql://user:{PASSWORD}@[::1/db",
)
"""Addresses that the driver cannot read; its message quotes the part that it does not understand."""


@pytest.mark.parametrize("url", UNREADABLE, ids=["percent", "space", "bracket"])
def test_an_address_that_cannot_be_read_is_an_error_without_its_password(url: str) -> None:
    meter = UsageMeter(UsageStore(url), dict)
    with pytest.raises(ConfigError) as of_usage:
        asyncio.run(meter.open())
    with pytest.raises(LedgerUnavailable) as of_ledger:
        asyncio.run(PostgresLedger(url).open())
    for raised in (of_usage, of_ledger):
        assert PASSWORD not in "".join(format_exception(raised.value))
        assert "percent-encoded" in str(raised.value)
