"""One call on its way: claimed, run, recorded; whatever goes wrong on the way has its answer too.

A body begins only after a durable claim, and what it came to is recorded before it is told. What
the ledger cannot do is never guessed: before the body the call is refused, after it the outcome is
told as not recorded. Knows no callers and no spans.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from time import perf_counter
from typing import Literal

from msgspec.structs import replace

from toolwire.execution.failures import ExecutorBusy, busy, cancelled, raised
from toolwire.execution.in_flight import InFlightCall
from toolwire.execution.ledger.base import (
    CallIdTooOld,
    CallKey,
    Claim,
    Engine,
    Ledger,
    LedgerUnavailable,
    Outcome,
    OutcomeUnknown,
    Record,
    Runner,
    Transactions,
)
from toolwire.execution.local_runner import CallContext, LocalRunner
from toolwire.execution.metrics import Metrics
from toolwire.execution.tool_call import ToolCallResult
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import ToolContext

logger = logging.getLogger("toolwire.calls")
LOOK_AGAIN = 5.0
"""Seconds after which a call that runs elsewhere is claimed once more: its owner may have died."""
_RERUN = ("retry", "transactional")


class CallRunner:
    """Runs flights against a ledger."""

    def __init__(
        self, ledger: Ledger, runner: Runner | None, metrics: Metrics, wait: float
    ) -> None:
        self.ledger = ledger
        self.metrics = metrics
        self.wait = wait
        self._runner: Runner = runner or LocalRunner()
        self._inline = self._runner if isinstance(self._runner, LocalRunner) else LocalRunner()
        self._is_inline = self._inline is self._runner
        self._engine = runner if isinstance(runner, Engine) else None
        self._transactions = ledger if isinstance(ledger, Transactions) else None
        self._behind: set[asyncio.Task[None]] = set()

    @property
    def untransactional(self) -> str | None:
        """Why a tool cannot write in the transaction of its own record; None if it can."""
        if not self._is_inline:  # then no other ledger would help
            return (
                f"an engine ({type(self._runner).__name__}) runs it outside the ledger's"
                " transactions"
            )
        return (
            None
            if self._transactions is not None
            else f"a {type(self.ledger).__name__} has no transactions"
        )

    async def sweep(self, every: float) -> None:
        """Sweep the ledger for ever."""
        while True:
            await asyncio.sleep(every)
            try:
                await self.ledger.sweep()
            except Exception as error:
                self._ledger_failed("sweep", error)

    async def close(self) -> None:
        """End what goes on behind the scenes."""
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)

    def later(self, work: Coroutine[None, None, None]) -> None:
        """Do something behind the scenes."""
        task = asyncio.get_running_loop().create_task(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def _ledger_failed(self, operation: str, error: Exception) -> None:
        self.metrics.ledger_failed(operation)
        unforeseen = None if isinstance(error, LedgerUnavailable) else error
        logger.error("the ledger could not %s: %s", operation, error, exc_info=unforeseen)

    async def answer(self, flight: InFlightCall) -> ToolCallResult:
        """The answer, also if it was stopped before its body began, or something here is broken."""
        try:
            return await (
                self._unrecorded(flight)
                if flight.key is None
                else self._recorded(flight, flight.key)
            )
        except asyncio.CancelledError:
            if flight.calmed():
                return flight.unavailable()
            raise
        except ExecutorBusy as why:
            return flight.refused(busy(str(why)))
        except Exception as error:
            logger.exception("a call of %s could not be answered", flight.tool)
            failure = raised(error)
            return flight.refused(
                failure if flight.secrets is None else flight.secrets.failure(failure)
            )

    async def _admit(self, flight: InFlightCall) -> CallContext:
        flight.cancellable = True
        try:
            return await self._inline.admit(flight.ask.tool)
        finally:
            flight.cancellable = False

    async def _body(
        self, flight: InFlightCall, place: CallContext, claim: Claim | None, context: ToolContext
    ) -> Outcome:
        """What the body came to, without secrets. Raises NoEffect, Busy, OutcomeUnknown, and
        CancelledError if its caller goes.

        Raises _LeftRunning if it was told to stop and an engine goes on with it.
        """
        tool = flight.ask.tool
        flight.cancellable = True
        try:
            if claim is None or self._is_inline:
                outcome = await place.run(flight.arguments, context)
            else:
                place.leave()
                run = (
                    self._runner.run
                    if claim.state == "new" or self._engine is None
                    else self._engine.resume
                )
                outcome = await run(claim, tool, flight.ask.input, context)
        except asyncio.CancelledError:
            if not flight.calmed():
                raise
            if claim is not None and self._engine is not None and flight.slot is not None:
                raise _StillRunning from None
            return Outcome(None, cancelled(flight.tool, flight.stopped))
        except (NoEffect, ExecutorBusy, OutcomeUnknown):
            raise
        except Exception as error:  # of an engine: what runs here tells everything by its outcome
            logger.exception("the runner of %s failed", flight.tool)
            if self._engine is not None:
                raise OutcomeUnknown(f"the engine failed: {type(error).__name__}") from error
            outcome = Outcome(None, raised(error))
        finally:
            flight.cancellable = False
        self.metrics.took(flight.tool, outcome.duration_ms / 1000)
        if flight.secrets is not None and outcome.failure is not None:
            return replace(outcome, failure=flight.secrets.failure(outcome.failure))
        return outcome

    async def _unrecorded(self, flight: InFlightCall) -> ToolCallResult:
        place = await self._admit(flight)
        try:
            outcome = await self._body(flight, place, None, flight.context(1))
        except NoEffect as error:
            outcome = _nothing(flight, error)
        return flight.came_to(outcome, 1)

    async def _recorded(self, flight: InFlightCall, key: CallKey) -> ToolCallResult:
        until = perf_counter() + (self.wait if flight.ask.wait is None else flight.ask.wait)
        while True:
            # Before the claim: who finds no room leaves no trace
            place = self._inline.at_once(flight.ask.tool) or await self._admit(flight)
            began = False
            try:
                try:
                    claim = await self._claim(flight, key)
                except CallIdTooOld:
                    return ToolCallResult(state="too-old", call_id=flight.call_id)
                except Exception as error:
                    self._ledger_failed("claim", error)
                    return flight.unavailable()
                if claim.state == "new":
                    if flight.stopped:
                        await self._release(claim)
                        return flight.unavailable()
                    began = True
                    return await self._mine(flight, claim, place)
                if (
                    claim.state == "lost"
                    and self._engine is not None
                    and claim.record is not None
                    and claim.record.resumable
                ):
                    if flight.stopped:
                        return flight.unavailable()
                    resumed = await self._mine(flight, claim, place)
                    if resumed.state != "lost":
                        return resumed
                    place = await self._admit(flight)  # for the probe: an engine needs none here
                if (
                    claim.state == "lost"
                    and flight.ask.tool.probe is not None
                    and flight.ask.tool.on_crash == "probe"
                ):
                    began = True
                    answer = await self._probed(flight, claim, place)
                    if answer is not None:
                        return answer
                    continue
                if claim.state != "running":
                    return flight.claimed(claim)
            finally:
                if not began:
                    place.leave()
            left = until - perf_counter()
            if left <= 0:
                return flight.running(claim)
            await self._ended_elsewhere(flight, key, min(left, LOOK_AGAIN))

    async def _claim(self, flight: InFlightCall, key: CallKey) -> Claim:
        on_crash = flight.ask.tool.on_crash if self._engine is None else "resume"
        return await self.ledger.claim(
            key, flight.fp, tool=flight.tool, on_crash=on_crash, token=os.urandom(16)
        )

    async def _ended_elsewhere(
        self, flight: InFlightCall, key: CallKey, timeout: float
    ) -> Record | None:
        """The record of a call that somebody else runs; None if it is not known to have ended."""
        flight.cancellable = True
        try:
            return await self.ledger.wait(key, timeout)
        except Exception as error:
            self._ledger_failed("wait", error)
            await asyncio.sleep(min(timeout, 0.2))
            return None
        finally:
            flight.cancellable = False

    async def _mine(self, flight: InFlightCall, claim: Claim, place: CallContext) -> ToolCallResult:
        """Run what was claimed, or ask the engine for what somebody else began."""
        if (
            self._transactions is not None
            and self._engine is None
            and flight.ask.tool.on_crash == "transactional"
        ):
            return await self._transacted(flight, claim, place, self._transactions)
        try:
            outcome = await self._body(flight, place, claim, flight.context(claim.attempt))
        except (NoEffect, ExecutorBusy) as error:
            return await self._undone(flight, claim, error)
        except _StillRunning:
            return flight.running(claim)
        except OutcomeUnknown as why:
            return await self._unknown(flight, claim, why)
        return await self._settled(flight, claim, outcome)

    async def _unknown(
        self, flight: InFlightCall, claim: Claim, why: OutcomeUnknown
    ) -> ToolCallResult:
        """Nobody will know what it came to: said now, and written down for those who ask later."""
        logger.error("what became of a call of %s is not known: %s", flight.tool, why)
        if claim.state == "new":
            await self._end(claim, "lose")
        return ToolCallResult(state="lost", call_id=flight.call_id, attempt=claim.attempt)

    async def _undone(
        self, flight: InFlightCall, claim: Claim, error: NoEffect | ExecutorBusy
    ) -> ToolCallResult:
        """Nothing happened: the same id may run again."""
        await self._release(claim)
        if isinstance(error, ExecutorBusy):
            return flight.refused(busy(str(error)))
        return flight.came_to(_nothing(flight, error), claim.attempt)

    async def _settled(
        self, flight: InFlightCall, claim: Claim, outcome: Outcome
    ) -> ToolCallResult:
        """Record an outcome that is to be replayed; let go of a call that may be tried again."""
        tool = flight.ask.tool
        failure = outcome.failure
        if (
            failure is not None
            and flight.stopped
            and failure.kind == "cancelled"
            and tool.is_async
            and tool.on_crash in _RERUN
        ):
            failure = replace(failure, can_retry=True)
            outcome = replace(outcome, failure=failure)
        if failure is not None and failure.can_retry:
            await self._release(claim)
            return flight.came_to(outcome, claim.attempt)
        return await self._finished(flight, claim, outcome)

    async def _finished(
        self, flight: InFlightCall, claim: Claim, outcome: Outcome, *, replayed: bool = False
    ) -> ToolCallResult:
        try:
            said = await self.ledger.finish(claim, outcome)
        except Exception as error:
            self._ledger_failed("finish", error)
            return flight.came_to(outcome, claim.attempt, recorded=False, replayed=replayed)
        if said == "fenced":
            return await self._fenced(flight, claim)
        return flight.came_to(outcome, claim.attempt, replayed=replayed)

    async def _fenced(self, flight: InFlightCall, claim: Claim) -> ToolCallResult:
        """Somebody else has taken the call over: what they recorded is the answer, what happened
        here is not."""
        record = await self._ended_elsewhere(flight, claim.key, self.wait)
        return flight.running(claim) if record is None else flight.known(record)

    async def _release(self, claim: Claim) -> None:
        await self._end(claim, "release")

    async def _end(self, claim: Claim, how: Literal["release", "lose"]) -> None:
        """End a claim without an outcome, now or as soon as the ledger can."""
        end = self.ledger.release if how == "release" else self.ledger.lose
        try:
            await end(claim)
        except Exception as error:
            self._ledger_failed(how, error)
            self.later(self._end_later(claim, end))

    async def _end_later(self, claim: Claim, end: Callable[[Claim], Awaitable[None]]) -> None:
        """A claim that nobody works on must not look as if somebody did."""
        pause = 0.1
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 10.0)
            with suppress(Exception):
                return await end(claim)

    async def _probed(
        self, flight: InFlightCall, claim: Claim, place: CallContext
    ) -> ToolCallResult | None:
        """Ask a tool what became of a call after a crash; None if it never happened and may be
        claimed again."""
        tool = flight.ask.tool
        assert tool.probe is not None
        flight.cancellable = True
        try:
            value = tool.gives(
                await place.ask(tool.probe, flight.arguments, flight.context(claim.attempt))
            )
        except asyncio.CancelledError:
            if flight.stopped or (
                (task := asyncio.current_task()) is not None and task.cancelling()
            ):
                raise
            return flight.claimed(claim)
        except BaseException as error:
            flight.cancellable = False
            if isinstance(error, NoEffect):
                await self._release(claim)
                return None
            if not isinstance(error, LookupError):
                logger.error(
                    "the probe of %s raised %s", tool.id, type(error).__name__, exc_info=error
                )
            return flight.claimed(claim)
        finally:
            flight.cancellable = False
        return await self._finished(flight, claim, Outcome(value), replayed=True)

    async def _transacted(
        self, flight: InFlightCall, claim: Claim, place: CallContext, ledger: Transactions
    ) -> ToolCallResult:
        """Run a tool inside the transaction that also records its result. A failure undoes what it
        wrote."""
        outcome = None
        fenced = False
        try:
            async with ledger.transaction(claim) as scope:
                context = replace(flight.context(claim.attempt), transaction=scope.connection)
                outcome = await self._body(flight, place, claim, context)
                if outcome.failure is not None:
                    raise _ClaimRelease
                if await scope.finish(outcome) == "fenced":
                    fenced = True
                    raise _ClaimRelease
            return flight.came_to(outcome, claim.attempt)
        except _ClaimRelease:
            return (
                await self._fenced(flight, claim)
                if fenced
                else await self._settled(flight, claim, outcome or Outcome())
            )
        except (NoEffect, ExecutorBusy) as error:
            return await self._undone(flight, claim, error)
        except Exception as error:
            self._ledger_failed("commit", error)
            if outcome is None:
                place.leave()
        # Committed or not: the record knows, and if it was not, this frees the call. A finished one
        # cannot be released.
        await self._release(claim)
        with suppress(Exception):
            record = await self.ledger.get(claim.key)
            if record is not None and record.state in ("done", "failed"):
                return flight.known(record)
        return flight.unavailable()


class _StillRunning(Exception):
    """The server stops, the engine does not: whoever asks next gets the answer."""


class _ClaimRelease(Exception):
    """Leaves a transaction without committing it."""


def _nothing(flight: InFlightCall, error: NoEffect) -> Outcome:
    failure = raised(error)
    return Outcome(None, failure if flight.secrets is None else flight.secrets.failure(failure))
