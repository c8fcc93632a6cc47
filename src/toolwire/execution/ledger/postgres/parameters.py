"""The parameters of SQL statements for operations: single values, or an array per column."""

from __future__ import annotations

from collections.abc import Sequence

from toolwire.execution.ledger.postgres.binary import Bytes, Ints, Longs, Texts
from toolwire.execution.ledger.postgres.operations import ClaimOperation, EndOperation, RowOperation


def key_parameters(ops: Sequence[RowOperation]) -> dict[str, object]:
    return {
        "tenant": Bytes([op.tenant for op in ops]),
        "call_id": Bytes([op.call_id for op in ops]),
    }


def claims_parameters(ops: list[ClaimOperation]) -> dict[str, object]:
    return {
        "c_tenant": Bytes([op.tenant for op in ops]),
        "c_call_id": Bytes([op.call_id for op in ops]),
        "c_tool": Bytes([op.tool for op in ops]),
        "c_fp": Bytes([op.fp for op in ops]),
        "c_token": Bytes([op.token for op in ops]),
        "c_on_crash": Texts([op.on_crash.encode() for op in ops]),
        "c_born": Longs([op.created for op in ops]),
    }


def claim_parameters(op: ClaimOperation) -> dict[str, object]:
    return {
        "c_tenant": op.tenant,
        "c_call_id": op.call_id,
        "c_tool": op.tool,
        "c_fp": op.fp,
        "c_token": op.token,
        "c_on_crash": op.on_crash,
        "c_born": op.created,
    }


def row_parameters(op: ClaimOperation) -> dict[str, object]:
    return {
        "tenant": op.tenant,
        "call_id": op.call_id,
        "tool": op.tool,
        "fp": op.fp,
        "token": op.token,
        "on_crash": op.on_crash,
    }


def ends_parameters(ops: list[EndOperation]) -> dict[str, object]:
    return {
        "e_tenant": Bytes([op.tenant for op in ops]),
        "e_call_id": Bytes([op.call_id for op in ops]),
        "e_token": Bytes([op.token for op in ops]),
        "e_state": Texts([op.state.encode() for op in ops]),
        "e_outcome": Bytes([op.outcome for op in ops]),
        "e_attempt": Ints([op.attempt for op in ops]),
        "e_probed": Ints([op.probed for op in ops]),
    }


def end_parameters(op: EndOperation) -> dict[str, object]:
    return {
        "e_tenant": op.tenant,
        "e_call_id": op.call_id,
        "e_token": op.token,
        "e_state": op.state,
        "e_outcome": op.outcome,
        "e_attempt": op.attempt,
        "e_probed": int(op.probed),
    }
