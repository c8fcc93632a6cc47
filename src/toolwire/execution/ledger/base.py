"""The ledger protocol: record tool calls by call id.

A call is claimed before its tool runs and finished afterwards, both durably; a repetition with the
same id gets the record. `docs/explanation/guarantees.md` lists the guarantees. Implementations are
in `memory`, `sqlite` and `postgres`.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from toolwire.conversation.json import JSON, Object
from toolwire.errors import ToolwireError
from toolwire.tools.runnable import OnCrash, Runnable, ToolContext, Transaction

State: TypeAlias = Literal["running", "done", "failed", "lost", "gone"]
Event: TypeAlias = Literal["claim", "succeed", "fail", "die", "die-rerunnable", "release", "expire"]

MOVES: dict[tuple[State | None, Event], State | None] = {
    (None, "claim"): "running",
    ("running", "succeed"): "done",
    ("running", "fail"): "failed",
    ("running", "die"): "lost",  # on_crash is report
    ("running", "die-rerunnable"): "running",  # the next claim is the next attempt
    ("running", "release"): None,  # the call had no effect; only the attempt number remains
    ("lost", "succeed"): "done",  # the owner was paused, or a probe knows the outcome
    ("lost", "fail"): "failed",
    ("lost", "release"): None,  # a probe found that the call had no effect
    ("done", "expire"): "gone",  # the result is deleted, the id is still known
    ("failed", "expire"): "gone",
    ("lost", "expire"): "gone",
}
"""Every transition of a record."""


class CallKey(Struct, frozen=True, order=True):
    """The key of a call. The tenant is the authenticated caller and the user, never a value that a
    client can choose freely."""

    tenant: str
    call_id: str


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why a tool returned no value."""

    message: str
    developer_message: str | None = None
    can_retry: bool = False
    retry_after_ms: int | None = None
    additional_prompt_content: str | None = None
    kind: str | None = None
    extra: Object = field(default_factory=dict)


class Outcome(Struct, frozen=True):
    """The outcome of a run: a value or a failure."""

    value: JSON = None
    failure: Failure | None = None
    duration_ms: float = 0.0


class Record(Struct, frozen=True):
    """The record of a call. Times are milliseconds since 1970, by the ledger's clock."""

    key: CallKey
    tool: str
    state: State
    attempt: int
    started_at: int
    ended_at: int | None = None
    outcome: Outcome | None = None
    recorded: bool = True
    """False while only the process that ran the call knows the outcome, because it could not be
    written yet."""
    resumable: bool = False
    """An engine runs the call (`on_crash` is `resume`) and may outlive the process that claimed
    it."""


class Claim(Struct, frozen=True):
    """The result of a claim.

    States:
        new: the claim succeeded; run the tool.
        running: another process runs the call.
        done, failed: the call has ended; `record` has the outcome.
        lost: the tool ran, and its outcome is unknown.
        mismatch: the call id belongs to another call.
        gone: the tool ran, and its result has expired.
    """

    state: Literal["new", "running", "done", "failed", "lost", "mismatch", "gone"]
    key: CallKey
    token: bytes
    attempt: int = 1
    record: Record | None = None
    """The existing record; None for `new` and `mismatch`."""


class Sweep(Struct, frozen=True):
    """How many calls of dead owners, expired results and forgotten ids a sweep found."""

    lost: int = 0
    expired: int = 0
    forgotten: int = 0


class LedgerUnavailable(ToolwireError):
    """The ledger cannot be reached, is full, or is closed. The call was not claimed, so the tool
    did not run."""


class CallIdTooOld(ToolwireError):
    """The call id is a UUIDv7 from before the ledger's retention: whether the call ran is
    unknown."""


@runtime_checkable
class Ledger(Protocol):
    """Records calls. Every method may be repeated with the same token."""

    @property
    def key(self) -> bytes:
        """The key of the fingerprints, the same for all processes that share the ledger. Available
        while the ledger is open."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        """Claim a call. `new` is durable. Raises LedgerUnavailable."""

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        """Record the outcome of a call. `recorded` is durable.

        `fenced` means that another process has taken the call over: use its record.

        Raises:
            LedgerUnavailable: the outcome could not be written. The ledger retries in the
                background, and answers from memory until then.
        """

    async def release(self, claim: Claim) -> None:
        """End a claim without effect: the same id may run again, as the next attempt."""

    async def lose(self, claim: Claim) -> None:
        """Mark a call of a living owner as `lost`: its outcome will never be known. Raises
        LedgerUnavailable."""

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """Wait until a call is no longer `running`, and return its record; None after `timeout`
        seconds, or if it was released."""

    async def get(self, key: CallKey) -> Record | None: ...

    async def sweep(self) -> Sweep:
        """Mark calls of dead owners as lost or release them; delete old results, then old ids."""


@runtime_checkable
class Transactions(Protocol):
    """A ledger whose transactions tools can use: effect and record are committed together."""

    def transaction(self, claim: Claim) -> TransactionScope: ...


class TransactionScope(Protocol):
    """`async with ledger.transaction(claim) as scope`: the tool uses `scope.connection`, and
    `finish` records the outcome and commits."""

    @property
    def connection(self) -> Transaction: ...

    async def finish(self, outcome: Outcome) -> Literal["recorded", "fenced"]: ...

    async def __aenter__(self) -> TransactionScope: ...

    async def __aexit__(self, *exc: object) -> bool | None: ...


class Runner(Protocol):
    """Runs tools: in this process, or on an engine."""

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """Run a tool and return its outcome.

        Raises:
            NoEffect: the tool had no effect; the claim is released.
            OutcomeUnknown: the tool may have run, and its outcome will never be known; the call is
                lost.
        """


@runtime_checkable
class Engine(Runner, Protocol):
    """A runner whose runs outlive the process that started them: a call of a dead owner is not lost
    while the engine has it."""

    async def resume(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """Return the outcome of the run that was started under this key and attempt. Never starts a
        second run.

        Raises the errors of `run`; OutcomeUnknown also if the engine may have forgotten the run.
        """


class OutcomeUnknown(ToolwireError):
    """The tool may have run, and its outcome will never be known."""
