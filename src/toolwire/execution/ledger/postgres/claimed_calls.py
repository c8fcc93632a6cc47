"""The calls that this replica runs, and claims and rows of those whose end is not recorded yet."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from toolwire.execution.ledger.base import CallKey, Claim, Outcome, Record
from toolwire.execution.ledger.outcome_codec import pack
from toolwire.execution.ledger.postgres.binary import encode_text
from toolwire.execution.ledger.postgres.operations import LedgerRow


class ClaimedCall(Struct):
    """A call that this replica runs. `record` is set if its end could not be recorded yet."""

    fp: bytes
    tool: str
    token: bytes
    attempt: int
    started: int
    record: Record | None = None


def claim_of_unrecorded(
    call: ClaimedCall, record: Record, *, key: CallKey, fp: bytes, token: bytes
) -> Claim:
    """The answer to a claim of a call whose end could not be recorded yet."""
    if call.fp != fp:
        return Claim("mismatch", key, token)
    state: Literal["done", "failed"] = "failed" if record.state == "failed" else "done"
    return Claim(state, key, token, call.attempt, record)


def row_of_unrecorded(call: ClaimedCall, record: Record) -> LedgerRow:
    """The row that the database will have when the end of a call is recorded."""
    return LedgerRow(
        record.state,
        record.attempt,
        call.token,
        call.fp,
        encode_text(call.tool),
        call.started,
        record.ended_at,
        pack(record.outcome or Outcome()),
        False,
        False,
        False,
    )
