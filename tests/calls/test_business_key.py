"""The business key of a tool: of calls with the same key, one runs, whatever their ids."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Literal

import postgres
import pytest
from postgres import fresh

from toolwire.conversation.json import Object
from toolwire.execution.call_key import business_key, fingerprint, key_of, tenant
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim, Ledger, LedgerUnavailable
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.local_runner import LocalRunner
from toolwire.execution.tool_call import ToolCall
from toolwire.tools import NoEffect, RetryableToolError, ToolContext, ToolError, tool
from toolwire.tools.errors import InvalidInput
from toolwire.tools.runnable import OnCrash, Runnable

MakeLedger = Callable[[], Ledger]
PAY = "Shop.Pay@1.0.0"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> MakeLedger:
    if request.param == "memory":
        return MemoryLedger
    if request.param == "sqlite":
        return lambda: SqliteLedger(tmp_path / "calls.db")
    schema = fresh()
    return lambda: PostgresLedger(postgres.dsn(), schema=schema)


class Shop:
    """Payments, and the errors that the next ones raise."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.payments: list[str] = []
        self.keys: list[str] = []

    def pay(self, order: str, context: ToolContext, note: str = "") -> int:
        """Pay an order.

        Args:
            order: the order number.
            note: a text for the receipt.
        """
        self.keys.append(context.idempotency_key)
        if self.errors:
            raise self.errors.pop(0)
        self.payments.append(order)
        return len(self.payments)

    def tool(
        self, on_crash: OnCrash = "report", probe: Callable[..., object] | None = None
    ) -> Runnable:
        if probe is None:
            return tool(id=PAY, key=["order"], on_crash=on_crash)(self.pay).runnable
        return tool(id=PAY, key=["order"], on_crash=on_crash, probe=probe)(self.pay).runnable


def test_a_new_call_id_with_the_same_key_gets_the_recorded_result(make_ledger: MakeLedger) -> None:
    async def main() -> None:
        shop = Shop()
        pay = shop.tool()
        async with ToolExecutor(make_ledger()) as executor:
            first = await executor.run(pay, {"order": "7"}, call_id="c1")
            again = await executor.run(pay, {"order": "7", "note": "again"}, call_id="c2")
            same_id = await executor.run(pay, {"order": "7", "note": "again"}, call_id="c2")
            other = await executor.run(pay, {"order": "8"}, call_id="c3")
            without_id = await executor.run(pay, {"order": "8"})
        assert shop.payments == ["7", "8"]
        assert [(one.value, one.replayed, one.replayed_by_key) for one in (first, again)] == [
            (1, False, False),
            (1, True, True),
        ]
        assert (again.call_id, again.state) == ("c2", "done")
        assert (same_id.value, same_id.replayed, same_id.replayed_by_key) == (1, True, False)
        assert (other.value, other.replayed) == (2, False)
        assert (without_id.value, without_id.replayed_by_key) == (2, True)

    asyncio.run(main())


def test_an_id_still_belongs_to_one_call(make_ledger: MakeLedger) -> None:
    async def main() -> None:
        shop = Shop()
        pay = shop.tool()
        async with ToolExecutor(make_ledger()) as executor:
            await executor.run(pay, {"order": "7"}, call_id="c1")
            other = await executor.run(pay, {"order": "8"}, call_id="c1")
        assert (other.state, shop.payments) == ("mismatch", ["7"])

    asyncio.run(main())


def test_keys_of_other_principals_users_and_tools_are_independent(make_ledger: MakeLedger) -> None:
    async def main() -> None:
        shop, other_shop = Shop(), Shop()
        pay = shop.tool()
        refund = tool(id="Shop.Refund@1.0.0", key=["order"])(other_shop.pay)
        async with ToolExecutor(make_ledger()) as executor:
            for principal, user_id in (("p", None), ("q", None), ("p", "u")):
                result = await executor.run(
                    pay, {"order": "7"}, principal=principal, user_id=user_id
                )
                assert not result.replayed
            await executor.run(refund, {"order": "7"})
        assert (len(shop.payments), len(other_shop.payments)) == (3, 1)
        assert len(set(shop.keys)) == 3

    asyncio.run(main())


def test_duplicates_at_the_same_time_pay_once(make_ledger: MakeLedger) -> None:
    async def main() -> None:
        shop = Shop()
        pay = shop.tool()
        async with ToolExecutor(make_ledger()) as executor:
            results = await asyncio.gather(
                *(executor.run(pay, {"order": "7"}, call_id=f"c{n}") for n in range(20))
            )
        assert shop.payments == ["7"]
        assert [result.value for result in results] == [1] * 20
        assert [result.replayed for result in results].count(False) == 1

    asyncio.run(main())


@pytest.mark.parametrize("error", [NoEffect("no money"), RetryableToolError("busy")])
@pytest.mark.parametrize("second_id", ["c1", "c2"])
def test_a_failure_without_effect_frees_key_and_id(
    make_ledger: MakeLedger, error: Exception, second_id: str
) -> None:
    async def main() -> None:
        shop = Shop(error)
        pay = shop.tool()
        async with ToolExecutor(make_ledger()) as executor:
            failed = await executor.run(pay, {"order": "7"}, call_id="c1")
            paid = await executor.run(pay, {"order": "7"}, call_id=second_id)
        assert (failed.state, paid.state, paid.replayed) == ("failed", "done", False)
        assert (paid.attempt, shop.payments) == (2, ["7"])
        assert len(set(shop.keys)) == 1, "a service recognizes the second attempt"

    asyncio.run(main())


@pytest.mark.parametrize("error", [ToolError("declined"), ZeroDivisionError()])
def test_a_failure_that_may_have_had_an_effect_is_replayed(
    make_ledger: MakeLedger, error: Exception
) -> None:
    async def main() -> None:
        shop = Shop(error)
        pay = shop.tool()
        async with ToolExecutor(make_ledger()) as executor:
            await executor.run(pay, {"order": "7"}, call_id="c1")
            again = await executor.run(pay, {"order": "7"}, call_id="c2")
        assert (again.state, again.replayed_by_key, shop.payments) == ("failed", True, [])

    asyncio.run(main())


class SlowShop:
    """Payments that end when the test says so."""

    def __init__(self) -> None:
        self.started, self.go_on = asyncio.Event(), asyncio.Event()
        self.payments: list[str] = []

    async def pay(self, order: str) -> int:
        """Pay an order.

        Args:
            order: the order number.
        """
        self.payments.append(order)
        self.started.set()
        await self.go_on.wait()
        return len(self.payments)


def test_an_id_that_another_process_runs_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        shop = SlowShop()
        pay = tool(id=PAY, key=["order"])(shop.pay).runnable
        first, second = (ToolExecutor(SqliteLedger(tmp_path / "calls.db")) for _ in range(2))
        async with first, second:
            running = asyncio.create_task(first.run(pay, {"order": "7"}, call_id="c1"))
            await shop.started.wait()
            call = ToolCall(tool=pay, input={"order": "7"}, call_id="c1", wait=0.0)
            at_once = await second.execute(call)
            waiting = asyncio.create_task(second.run(pay, {"order": "7"}, call_id="c1"))
            await asyncio.sleep(0.05)
            shop.go_on.set()
            results = [await running, await waiting]
        assert (at_once.state, at_once.outcome, shop.payments) == ("running", None, ["7"])
        assert [(one.value, one.replayed) for one in results] == [(1, False), (1, True)]

    asyncio.run(main())


def test_a_call_without_a_free_slot_leaves_its_id_and_its_key_free() -> None:
    async def main() -> None:
        shop = SlowShop()
        pay = tool(id=PAY, key=["order"], concurrency=1)(shop.pay).runnable
        async with ToolExecutor(MemoryLedger(), runner=LocalRunner(slot_timeout=0.01)) as executor:
            running = asyncio.create_task(executor.run(pay, {"order": "7"}, call_id="c1"))
            await shop.started.wait()
            refused = await executor.run(pay, {"order": "8"}, call_id="c2")
            shop.go_on.set()
            await running
            paid = await executor.run(pay, {"order": "8"}, call_id="c2")
        assert refused.outcome is not None and refused.outcome.failure is not None
        assert refused.outcome.failure.can_retry and refused.outcome.failure.kind == "busy"
        assert (paid.state, paid.replayed, shop.payments) == ("done", False, ["7", "8"])

    asyncio.run(main())


class UnreadableLedger(MemoryLedger):
    """A ledger that can be opened, and not used."""

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        raise LedgerUnavailable("no connection")


def test_nothing_is_paid_if_the_id_cannot_be_claimed(tmp_path: Path) -> None:
    async def main() -> None:
        shop = Shop()
        async with ToolExecutor(UnreadableLedger()) as executor:
            unavailable = await executor.run(shop.tool(), {"order": "7"}, call_id="c1")
        async with ToolExecutor(SqliteLedger(tmp_path / "calls.db")) as executor:
            old_id = "01810000-0000-7000-8000-000000000000"
            too_old = await executor.run(shop.tool(), {"order": "7"}, call_id=old_id)
        assert (unavailable.state, too_old.state) == ("unavailable", "too-old")
        assert shop.payments == []

    asyncio.run(main())


async def crash(path: Path, pay: Runnable, *, key_claimed: bool = True) -> None:
    """Leave the claims of a process that died while it ran c1 for order 7."""
    ledger = SqliteLedger(path)
    await ledger.open()
    claims = [(key_of("", None, "c1"), fingerprint(ledger.key, pay.id, {"order": "7"}))]
    if key_claimed:
        business = business_key(ledger.key, tenant("", None), pay.id, ["7"])
        claims.append((business.key, business.fingerprint))
    for key, digest in claims:
        claim = await ledger.claim(key, digest, tool=PAY, on_crash=pay.on_crash, token=b"t" * 16)
        assert claim.state == "new"
    await ledger.close()


def knows(order: str) -> int:
    return 41


def no_effect(order: str) -> int:
    raise NoEffect(f"{order} was not paid")


def does_not_know(order: str) -> int:
    raise LookupError(order)


@pytest.mark.parametrize("call_id", ["c1", "c2"])
@pytest.mark.parametrize(
    ("on_crash", "probe", "state", "value", "payments"),
    [
        ("report", None, "lost", None, []),
        ("retry", None, "done", 1, ["7"]),
        ("probe", knows, "done", 41, []),
        ("probe", no_effect, "done", 1, ["7"]),
        ("probe", does_not_know, "lost", None, []),
    ],
)
def test_after_a_crash_the_policy_decides_for_the_key(
    tmp_path: Path,
    *,
    call_id: str,
    on_crash: Literal["report", "retry", "probe"],
    probe: Callable[..., object] | None,
    state: str,
    value: int | None,
    payments: list[str],
) -> None:
    async def main() -> None:
        shop = Shop()
        pay = shop.tool(on_crash, probe)
        await crash(tmp_path / "calls.db", pay)
        async with ToolExecutor(SqliteLedger(tmp_path / "calls.db")) as executor:
            result = await executor.run(pay, {"order": "7"}, call_id=call_id)
            later = [
                await executor.run(pay, {"order": "7"}, call_id=later_id)
                for later_id in ("c1", "c2", "c3")
            ]
        assert (result.state, result.value, shop.payments) == (state, value, payments)
        assert [(one.state, one.value) for one in later] == [(state, value)] * 3

    asyncio.run(main())


def test_a_crash_before_the_key_was_claimed_leaves_the_key_free(tmp_path: Path) -> None:
    async def main() -> None:
        shop = Shop()
        pay = shop.tool()
        await crash(tmp_path / "calls.db", pay, key_claimed=False)
        async with ToolExecutor(SqliteLedger(tmp_path / "calls.db")) as executor:
            same_id = await executor.run(pay, {"order": "7"}, call_id="c1")
            new_id = await executor.run(pay, {"order": "7"}, call_id="c2")
            after = await executor.run(pay, {"order": "7"}, call_id="c1")
        assert (same_id.state, new_id.state, shop.payments) == ("lost", "done", ["7"])
        assert (after.state, after.value) == ("done", 1)

    asyncio.run(main())


def test_a_key_function_gets_the_arguments_that_it_names() -> None:
    days: list[date] = []

    @tool(id="Shop.Report@1.0.0", key=lambda day, shop: [shop, day.year] if shop else None)
    def report(day: date, note: str = "", shop: str = "") -> int:
        """Send a report.

        Args:
            day: of which day.
            note: a text.
            shop: of which shop.
        """
        days.append(day)
        return len(days)

    async def main() -> None:
        async with ToolExecutor() as executor:
            for day, shop in (("2026-01-02", "a"), ("2026-05-01", "a"), ("2027-01-01", "a")):
                await executor.run(report, {"day": day, "shop": shop})
            assert [day.year for day in days] == [2026, 2027]
            for _ in range(2):
                await executor.run(report, {"day": "2026-01-02"})
        assert len(days) == 4, "a key of None is no key"

    asyncio.run(main())


def test_a_key_that_cannot_be_computed_runs_nothing() -> None:
    shop = Shop()
    pay = tool(id=PAY, key=lambda order: int(order))(shop.pay)

    async def main() -> None:
        async with ToolExecutor() as executor:
            with pytest.raises(InvalidInput):
                await executor.run(pay, {"order": "seven"}, call_id="c1")
            await executor.run(pay, {"order": "7"}, call_id="c1")
        assert shop.payments == ["7"]

    asyncio.run(main())


def test_a_schema_tool_has_a_key_too() -> None:
    payments: list[object] = []
    schema: Object = {
        "type": "object",
        "properties": {"order": {"type": "string", "description": "O.", "default": "7"}},
    }

    def pay(arguments: dict[str, object]) -> int:
        payments.append(arguments)
        return len(payments)

    def order(arguments: dict[str, object]) -> object:
        return arguments.get("order", "7")

    by_name = tool.from_schema("Shop.A@1.0.0", "Pay.", schema, pay, key=["order"])
    by_function = tool.from_schema("Shop.B@1.0.0", "Pay.", schema, pay, key=order)

    async def main() -> None:
        async with ToolExecutor() as executor:
            for made in (by_name, by_function):
                await executor.run(made, {})
                assert (await executor.run(made, {"order": "7"})).replayed_by_key
        assert len(payments) == 2

    asyncio.run(main())
