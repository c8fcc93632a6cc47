"""Run one call against the ledger: claim it, run the tool, record the outcome.

A tool starts only after a durable claim, and its outcome is recorded before the caller gets it. If
the ledger fails before the tool starts, the call is rejected. If it fails afterwards, the result
says that the outcome is not recorded.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import perf_counter

from msgspec.structs import replace

from toolwire.execution.call_key import BusinessKey
from toolwire.execution.call_metrics import CallMetrics
from toolwire.execution.failures import (
    ExecutorBusy,
    busy_failure,
    cancellation_failure,
    failure_from,
)
from toolwire.execution.in_flight import InFlightCall
from toolwire.execution.ledger.base import (
    CallIdTooOld,
    CallKey,
    Claim,
    Engine,
    Ledger,
    Outcome,
    OutcomeUnknown,
    Runner,
    Transactions,
)
from toolwire.execution.ledger_claims import LedgerClaims
from toolwire.execution.local_runner import LocalRunner, RunSlot
from toolwire.execution.log_redaction import redacting_logger
from toolwire.execution.tool_call import ToolCallResult
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import ToolContext

logger = redacting_logger("toolwire.execution")
RECLAIM_INTERVAL = 5.0
"""Seconds between two claims of a call that another process runs: that process may have died."""
_RERUNNABLE = ("retry", "transactional")


class CallRunner:
    """Runs calls against one ledger."""

    def __init__(
        self, ledger: Ledger, runner: Runner | None, metrics: CallMetrics, *, wait: float
    ) -> None:
        self.metrics = metrics
        self.wait = wait
        self._runner: Runner = runner or LocalRunner()
        self._local = self._runner if isinstance(self._runner, LocalRunner) else LocalRunner()
        self._is_local = self._local is self._runner
        self._engine = runner if isinstance(runner, Engine) else None
        self._transactions = ledger if isinstance(ledger, Transactions) else None
        self.claims = LedgerClaims(ledger, metrics, resumable=self._engine is not None)

    @property
    def transaction_obstacle(self) -> str | None:
        """Why tools cannot write in the ledger's transaction; None if they can."""
        if not self._is_local:
            runner = type(self._runner).__name__
            return f"an engine ({runner}) runs it outside the ledger's transactions"
        if self._transactions is None:
            return f"a {type(self.claims.ledger).__name__} has no transactions"
        return None

    async def run(self, call: InFlightCall) -> ToolCallResult:
        """Run a call and return its result. Exceptions of the tool become results."""
        try:
            if call.business is not None:
                return await self._run_with_business_key(call, call.business)
            if call.key is None:
                return await self._run_without_ledger(call)
            return await self._run_with_ledger(call, call.key, call.fingerprint)
        except asyncio.CancelledError:
            if call.uncancel_after_stop():
                return call.unavailable()
            raise
        except ExecutorBusy as error:
            return call.rejection(busy_failure(str(error)))
        except Exception as error:
            logger.exception("a call to %s failed unexpectedly", call.tool_id)
            return call.rejection(call.redact(failure_from(error)))

    async def _acquire_slot(self, call: InFlightCall) -> RunSlot:
        call.cancellable = True
        try:
            return await self._local.acquire_slot(call.request.tool)
        finally:
            call.cancellable = False

    async def _run_tool(
        self, call: InFlightCall, slot: RunSlot, claim: Claim | None, context: ToolContext
    ) -> Outcome:
        """Run the tool and return its outcome without secrets.

        Raises:
            NoEffect: the tool promises that nothing happened.
            ExecutorBusy: the runner has no free slot.
            OutcomeUnknown: the engine does not know how the run ended.
            CancelledError: the caller was cancelled.
            _StillRunning: the call was stopped, and an engine continues it.
        """
        call.cancellable = True
        try:
            if claim is None or self._is_local:
                outcome = await slot.run(call.arguments, context)
            else:
                slot.release()
                run = self._runner.run
                if claim.state != "new" and self._engine is not None:
                    run = self._engine.resume
                outcome = await run(claim, call.request.tool, call.request.input, context)
        except asyncio.CancelledError:
            if not call.uncancel_after_stop():
                raise
            if claim is not None and self._engine is not None and call.registered_key is not None:
                raise _StillRunning from None
            return Outcome(None, cancellation_failure(call.tool_id, call.stop_reason))
        except (NoEffect, ExecutorBusy, OutcomeUnknown):
            raise
        except Exception as error:  # of an engine: a local run returns its exceptions as outcomes
            logger.exception("the runner of %s failed", call.tool_id)
            if self._engine is not None:
                raise OutcomeUnknown(f"the engine failed: {type(error).__name__}") from error
            outcome = Outcome(None, failure_from(error))
        finally:
            call.cancellable = False
        self.metrics.observe_duration(call.tool_id, outcome.duration_ms / 1000)
        if call.redactor is not None and outcome.failure is not None:
            return replace(outcome, failure=call.redact(outcome.failure))
        return outcome

    async def _run_without_ledger(self, call: InFlightCall) -> ToolCallResult:
        slot = await self._acquire_slot(call)
        try:
            outcome = await self._run_tool(call, slot, None, call.context(1))
        except NoEffect as error:
            outcome = _no_effect_outcome(call, error)
        return call.result(outcome, 1)

    async def _run_with_business_key(
        self, call: InFlightCall, business: BusinessKey
    ) -> ToolCallResult:
        """Run a call under its business key. Its id is claimed first and gets the same outcome."""
        if call.key is None:
            return await self._run_under_key(call, business)
        deadline = self._deadline(call)
        while True:
            try:
                claim = await self.claims.claim(call, call.key, call.fingerprint)
            except CallIdTooOld:
                return ToolCallResult(state="too-old", call_id=call.call_id)
            except Exception as error:
                self.claims.report_error("claim", error)
                return call.unavailable()
            if claim.state == "new" or (
                claim.state == "lost" and await self.claims.has_record(business.key)
            ):
                return await self._run_under_both(call, claim, business)
            if claim.state != "running":
                return call.result_of_claim(claim)
            remaining = deadline - perf_counter()
            if remaining <= 0:
                return call.running(claim)
            await self.claims.wait(call, call.key, min(remaining, RECLAIM_INTERVAL))

    async def _run_under_both(
        self, call: InFlightCall, claim: Claim, business: BusinessKey
    ) -> ToolCallResult:
        """Run a call whose id is claimed under its business key. The id gets what is recorded
        there; if nothing is, the id is released."""
        try:
            result = await self._run_under_key(call, business)
        except BaseException:
            if claim.state == "new":
                await self.claims.release(claim)
            raise
        if result.outcome is not None and not call.released:
            finished = await self._finish(call, claim, result.outcome)
            return replace(result, recorded=result.recorded and finished.recorded)
        if claim.state == "new":
            await self.claims.release(claim)
        return result

    async def _run_under_key(self, call: InFlightCall, business: BusinessKey) -> ToolCallResult:
        result = await self._run_with_ledger(call, business.key, business.fingerprint)
        return replace(result, replayed_by_key=result.replayed)

    def _deadline(self, call: InFlightCall) -> float:
        """When a call stops waiting for another one, in seconds of the performance counter."""
        return perf_counter() + (self.wait if call.request.wait is None else call.request.wait)

    async def _run_with_ledger(
        self, call: InFlightCall, key: CallKey, fingerprint: bytes
    ) -> ToolCallResult:
        deadline = self._deadline(call)
        while True:
            # Acquired before the claim: a call without a slot leaves no record
            slot = self._local.slot_without_limit(call.request.tool) or await self._acquire_slot(
                call
            )
            started = False
            try:
                try:
                    claim = await self.claims.claim(call, key, fingerprint)
                except CallIdTooOld:
                    return ToolCallResult(state="too-old", call_id=call.call_id)
                except Exception as error:
                    self.claims.report_error("claim", error)
                    return call.unavailable()
                if claim.state == "new":
                    if call.stop_reason:
                        await self.claims.release(claim)
                        return call.unavailable()
                    started = True
                    return await self._run_claim(call, claim, slot)
                if self._can_resume(claim):
                    if call.stop_reason:
                        return call.unavailable()
                    resumed = await self._run_claim(call, claim, slot)
                    if resumed.state != "lost":
                        return resumed
                    slot = await self._acquire_slot(
                        call
                    )  # the engine released it; a probe needs one
                if claim.state == "lost" and _has_probe(call):
                    started = True
                    result = await self._probe(call, claim, slot)
                    if result is not None:
                        return result
                    continue
                if claim.state != "running":
                    return call.result_of_claim(claim)
            finally:
                if not started:
                    slot.release()
            remaining = deadline - perf_counter()
            if remaining <= 0:
                return call.running(claim)
            await self.claims.wait(call, key, min(remaining, RECLAIM_INTERVAL))

    def _can_resume(self, claim: Claim) -> bool:
        """True if the engine may still have the run of a dead process."""
        return (
            claim.state == "lost"
            and self._engine is not None
            and claim.record is not None
            and claim.record.resumable
        )

    async def _run_claim(self, call: InFlightCall, claim: Claim, slot: RunSlot) -> ToolCallResult:
        """Run a claimed call, or let the engine resume it, and record the outcome."""
        if (
            self._transactions is not None
            and self._engine is None
            and call.request.tool.on_crash == "transactional"
        ):
            return await self._run_in_transaction(call, claim, slot, self._transactions)
        try:
            outcome = await self._run_tool(call, slot, claim, call.context(claim.attempt))
        except (NoEffect, ExecutorBusy) as error:
            return await self._release_without_effect(call, claim, error)
        except _StillRunning:
            return call.running(claim)
        except OutcomeUnknown as error:
            return await self._mark_lost(call, claim, error)
        return await self._record_or_release(call, claim, outcome)

    async def _mark_lost(
        self, call: InFlightCall, claim: Claim, error: OutcomeUnknown
    ) -> ToolCallResult:
        logger.error("the outcome of a call to %s is unknown: %s", call.tool_id, error)
        if claim.state == "new":
            await self.claims.lose(claim)
        return ToolCallResult(state="lost", call_id=call.call_id, attempt=claim.attempt)

    async def _release_without_effect(
        self, call: InFlightCall, claim: Claim, error: NoEffect | ExecutorBusy
    ) -> ToolCallResult:
        """Release a call that had no effect: the same id may run again."""
        call.released = True
        await self.claims.release(claim)
        if isinstance(error, ExecutorBusy):
            return call.rejection(busy_failure(str(error)))
        return call.result(_no_effect_outcome(call, error), claim.attempt)

    async def _record_or_release(
        self, call: InFlightCall, claim: Claim, outcome: Outcome
    ) -> ToolCallResult:
        """Record a final outcome; release a call that may be retried."""
        tool = call.request.tool
        failure = outcome.failure
        if (
            failure is not None
            and call.stop_reason
            and failure.kind == "cancelled"
            and tool.is_async
            and tool.on_crash in _RERUNNABLE
        ):
            failure = replace(failure, can_retry=True)
            outcome = replace(outcome, failure=failure)
        if failure is not None and failure.can_retry:
            call.released = True
            await self.claims.release(claim)
            return call.result(outcome, claim.attempt)
        return await self._finish(call, claim, outcome)

    async def _finish(
        self, call: InFlightCall, claim: Claim, outcome: Outcome, *, replayed: bool = False
    ) -> ToolCallResult:
        try:
            status = await self.claims.ledger.finish(claim, outcome)
        except Exception as error:
            self.claims.report_error("finish", error)
            return call.result(outcome, claim.attempt, recorded=False, replayed=replayed)
        if status == "fenced":
            return await self._result_of_successor(call, claim)
        return call.result(outcome, claim.attempt, replayed=replayed)

    async def _result_of_successor(self, call: InFlightCall, claim: Claim) -> ToolCallResult:
        """The result of the process that took the call over. The local outcome is discarded."""
        record = await self.claims.wait(call, claim.key, self.wait)
        return call.running(claim) if record is None else call.result_of_record(record)

    async def _probe(
        self, call: InFlightCall, claim: Claim, slot: RunSlot
    ) -> ToolCallResult | None:
        """Ask the tool's probe how a call ended after a crash; None if it had no effect and was
        released."""
        tool = call.request.tool
        assert tool.probe is not None
        call.cancellable = True
        try:
            returned = await slot.run_probe(tool.probe, call.arguments, call.context(claim.attempt))
            value = tool.encode_result(returned)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if call.stop_reason or (task is not None and task.cancelling()):
                raise
            return call.result_of_claim(claim)
        except BaseException as error:
            call.cancellable = False
            if isinstance(error, NoEffect):
                await self.claims.release(claim)
                return None
            if not isinstance(error, LookupError):
                logger.error(
                    "the probe of %s raised %s", tool.id, type(error).__name__, exc_info=error
                )
            return call.result_of_claim(claim)
        finally:
            call.cancellable = False
        return await self._finish(call, claim, Outcome(value), replayed=True)

    async def _run_in_transaction(
        self, call: InFlightCall, claim: Claim, slot: RunSlot, ledger: Transactions
    ) -> ToolCallResult:
        """Run a tool inside the transaction that records its result. A failure rolls both back."""
        outcome = None
        fenced = False
        try:
            async with ledger.transaction(claim) as scope:
                context = replace(call.context(claim.attempt), transaction=scope.connection)
                outcome = await self._run_tool(call, slot, claim, context)
                if outcome.failure is not None:
                    raise _Rollback
                if await scope.finish(outcome) == "fenced":
                    fenced = True
                    raise _Rollback
            return call.result(outcome, claim.attempt)
        except _Rollback:
            if fenced:
                return await self._result_of_successor(call, claim)
            return await self._record_or_release(call, claim, outcome or Outcome())
        except (NoEffect, ExecutorBusy) as error:
            return await self._release_without_effect(call, claim, error)
        except Exception as error:
            self.claims.report_error("commit", error)
            if outcome is None:
                slot.release()
        # The commit may have succeeded. If it did, `release` has no effect and the record has the
        # result; otherwise `release` frees the call.
        await self.claims.release(claim)
        with suppress(Exception):
            record = await self.claims.ledger.get(claim.key)
            if record is not None and record.state in ("done", "failed"):
                return call.result_of_record(record)
        return call.unavailable()


class _StillRunning(Exception):
    """The server is stopping and the engine continues the run; the next request gets the result."""


class _Rollback(Exception):
    """Leaves a transaction without committing it."""


def _has_probe(call: InFlightCall) -> bool:
    tool = call.request.tool
    return tool.probe is not None and tool.on_crash == "probe"


def _no_effect_outcome(call: InFlightCall, error: NoEffect) -> Outcome:
    return Outcome(None, call.redact(failure_from(error)))
