"""The record of tool calls by call id: what it promises, and the words it speaks in.

A call is claimed before its tool runs and finished after, both durably; whoever comes with the same
id later gets the record. `docs/guarantees.md` says what follows from that and what does not. Stores
nothing: SQLite and PostgreSQL are in packages of their own.
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
    ("running", "release"): None,  # nothing happened; only the number of the attempt stays
    ("lost", "succeed"): "done",  # the owner was only asleep, or a probe or a person knows
    ("lost", "fail"): "failed",
    ("lost", "release"): None,  # a probe found that it never happened
    ("done", "expire"): "gone",  # the result is dropped, the id stays known
    ("failed", "expire"): "gone",
    ("lost", "expire"): "gone",
}
"""What may become of a record; nothing else happens to one."""


class CallKey(Struct, frozen=True, order=True):
    """Whose call, and which. The tenant is who was authenticated (and for which user), never what a
    client may choose freely."""

    tenant: str
    call_id: str


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why a tool gave no value."""

    message: str
    developer_message: str | None = None
    can_retry: bool = False
    retry_after_ms: int | None = None
    additional_prompt_content: str | None = None
    kind: str | None = None
    extra: Object = field(default_factory=dict)


class Outcome(Struct, frozen=True):
    """What a run came to: a value, or a failure."""

    value: JSON = None
    failure: Failure | None = None
    duration_ms: float = 0.0


class Record(Struct, frozen=True):
    """What the ledger knows of a call. Times are milliseconds since 1970, by the ledger's clock."""

    key: CallKey
    tool: str
    state: State
    attempt: int
    started_at: int
    ended_at: int | None = None
    outcome: Outcome | None = None
    recorded: bool = True
    """False while the outcome is only known to the process that ran it: it could not be written
    yet."""
    resumable: bool = False
    """It was claimed with `resume`: an engine runs it, whatever became of who claimed it."""


class Claim(Struct, frozen=True):
    """The answer to a claim.

    `new`: it is yours, run it. `running`: somebody else has it. `done`, `failed`: here is the
    record. `lost`: it ran, and nobody knows how it ended. `mismatch`: this id belongs to another
    call. `gone`: it ran, and the result is no longer kept.
    """

    state: Literal["new", "running", "done", "failed", "lost", "mismatch", "gone"]
    key: CallKey
    token: bytes
    attempt: int = 1
    record: Record | None = None
    """Of a call that was there before; not with `new` and `mismatch`."""


class Sweep(Struct, frozen=True):
    """What a sweep found: calls of dead owners, results that expired, ids that were forgotten."""

    lost: int = 0
    expired: int = 0
    forgotten: int = 0


class LedgerUnavailable(ToolwireError):
    """The ledger cannot be reached, is full, or is closed. Nothing was claimed: the tool was not
    run."""


class CallIdTooOld(ToolwireError):
    """A UUIDv7 from before the time that this ledger remembers: whether it ever ran is no longer
    known."""


@runtime_checkable
class Ledger(Protocol):
    """Where calls are recorded. Every method may be repeated with the same token without harm."""

    @property
    def key(self) -> bytes:
        """What fingerprints are keyed with; the same for all that share the record. Known once it
        is open."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        """Durable before it says `new`. Raises LedgerUnavailable."""

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        """Durable before it says `recorded`. `fenced`: somebody else has taken the call over; read
        what they recorded.

        Raises LedgerUnavailable if it could not be written; it is then tried again behind the
        scenes, and whoever asks meanwhile is told from memory.
        """

    async def release(self, claim: Claim) -> None:
        """Nothing happened: the same id may run again, as the next attempt."""

    async def lose(self, claim: Claim) -> None:
        """Nobody will ever know how it ended, although its owner lives: it becomes `lost`. Raises
        LedgerUnavailable."""

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """The record once it is no longer `running`; None if it still is when the time is over, or
        was released."""

    async def get(self, key: CallKey) -> Record | None: ...

    async def sweep(self) -> Sweep:
        """Calls of dead owners become lost, or free to be claimed again; old results are dropped,
        then old ids."""


@runtime_checkable
class Transactions(Protocol):
    """A ledger that lets a tool write into its own database: effect and record stand or fall
    together."""

    def transaction(self, claim: Claim) -> TransactionScope: ...


class TransactionScope(Protocol):
    """`async with ledger.transaction(claim) as scope`: the tool uses `scope.connection`; `finish`
    in it, then it commits."""

    @property
    def connection(self) -> Transaction: ...

    async def finish(self, outcome: Outcome) -> Literal["recorded", "fenced"]: ...

    async def __aenter__(self) -> TransactionScope: ...

    async def __aexit__(self, *exc: object) -> bool | None: ...


class Runner(Protocol):
    """Where the body of a tool runs: in this process, or on an engine."""

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """What the body came to. Raises NoEffect if the tool promises that nothing happened: the
        claim is released then.

        Raises OutcomeUnknown if it ran, or may have, and nobody will know what it came to: the call
        is lost then.
        """


@runtime_checkable
class Engine(Runner, Protocol):
    """A runner whose runs outlive the process that began them: a call of a dead owner is not lost
    while the engine has it."""

    async def resume(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """What the run came to that somebody began under this key and attempt, or was about to
        begin. Never a second run.

        Raises as `run`; OutcomeUnknown also if it cannot be told from a run that the engine has
        forgotten.
        """


class OutcomeUnknown(ToolwireError):
    """The body may have run, and nobody will know what it came to."""
