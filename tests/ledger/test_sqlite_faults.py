"""The SQLite ledger when processes are killed and disks fail: effects are counted outside of it,
with fsync.

The harness is `ledger_faults`. Budgets are small; TOOLWIRE_DEEP=1 makes them large.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from cases import DEEP
from ledger_faults import AFTER, PLACE, POINTS, Faulty, Stage, chaos, faults

from toolwire.tools.runnable import OnCrash

FAULTS = faults()


def states(file: Path) -> Counter[str]:
    """The number of rows in each state, in an intact file that no process has open."""
    db = sqlite3.connect(file)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return Counter(state for (state,) in db.execute("SELECT state FROM call"))
    finally:
        db.close()


# --- kill -9 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_crash", ["report", "retry", "probe"])
@pytest.mark.parametrize("point", POINTS)
def test_a_call_killed_at_any_point_runs_and_is_reported_as_its_policy_says(
    tmp_path: Path, point: str, on_crash: OnCrash
) -> None:
    stage = Stage(tmp_path)
    assert stage.run(on_crash=on_crash, die=point) == [], "killed before it could answer"
    (first, again) = stage.run(on_crash=on_crash, ids=["call-1", "call-1"])
    assert (first.state, stage.effects["call-1"]) == AFTER[on_crash, PLACE[point]]
    assert (again.state, again.value, again.attempt) == (first.state, first.value, first.attempt)
    if first.state == "done":
        rerun = PLACE[point] in "BC" and (
            on_crash == "retry" or (on_crash == "probe" and PLACE[point] == "B")
        )
        assert first.value == {"rang": "call-1", "attempt": 2 if rerun else 1}
        assert again.replayed
        assert first.replayed == (
            PLACE[point] == "D" or (on_crash == "probe" and PLACE[point] == "C")
        ), "or the probe first it"
    assert states(tmp_path / "ledger.db") == {first.state: 1}


def test_killed_at_random_again_and_again_no_call_happens_twice_and_nothing_acknowledged_is_lost(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    ids = [f"call-{n}" for n in range(3000 if DEEP else 300)]
    acknowledged = chaos(stage, ids, kills=40 if DEEP else 5)
    assert max(stage.effects.values()) == 1
    values: dict[str, object] = {}
    for one in acknowledged:
        if one.state == "done":
            assert (
                values.setdefault(one.call_id, one.value)
                == one.value
                == {"rang": one.call_id, "attempt": 1}
            )
        else:
            assert one.state == "lost"
    final = {one.call_id: one for one in stage.run(ids=ids)}
    assert {id for id, one in final.items() if one.state == "done"} >= set(values)
    assert all(final[id].value == value for id, value in values.items())
    assert all(one.state == "done" or stage.effects[one.call_id] <= 1 for one in final.values())
    assert set(states(tmp_path / "ledger.db")) <= {"done", "lost"}


def test_with_retry_the_kills_lose_no_call_at_all(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ids = [f"call-{n}" for n in range(1000 if DEEP else 150)]
    chaos(stage, ids, kills=20 if DEEP else 3, on_crash="retry", seed=1)
    final = stage.run(ids=ids, on_crash="retry")
    assert [one.state for one in final] == ["done"] * len(ids)
    assert min(stage.effects[id] for id in ids) >= 1
    assert states(tmp_path / "ledger.db") == {"done": len(ids)}


# --- a paused process -----------------------------------------------------------------------------


def test_a_paused_process_does_not_stop_another_one(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    first = stage.start("hold")
    try:
        first.speaks()
        os.kill(first.pid, signal.SIGSTOP)
        (report,) = stage.run()
        assert report.state == "done"
    finally:
        first.kill()
    assert stage.effects == {"call-1": 1}


# --- a full disk ----------------------------------------------------------------------------------


def test_on_a_full_disk_no_call_starts_results_come_from_memory_and_the_ledger_recovers(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    steps = stage.run("full", ids=["call-1", "call-2", "call-3"])
    room = [one.note for one in steps].index("room")
    first, duplicate, *others = steps[:room]
    assert (first.state, first.recorded) == ("done", False)
    assert (duplicate.state, duplicate.value) == ("done", first.value)
    assert [one.state for one in others] == ["unavailable"] * 2
    healed, *after = steps[room + 1 :]
    assert (healed.state, healed.recorded, healed.value) == ("done", True, first.value)
    assert [one.state for one in after] == ["done"] * 2
    assert stage.effects == {"call-1": 1, "call-2": 1, "call-3": 1}
    assert states(tmp_path / "ledger.db") == {"done": 3}
    (reports,) = stage.run()
    assert (reports.state, reports.value) == ("done", first.value)


# --- a disk that lies -----------------------------------------------------------------------------


@pytest.mark.parametrize("faulty", FAULTS)
def test_after_a_failed_fsync_no_call_is_done_and_no_new_one_is_accepted(
    tmp_path: Path, faulty: Faulty
) -> None:
    stage = Stage(tmp_path)
    well, ill, *after = stage.run("sick", ids=["call-1", "call-2", "call-3"], faulty=faulty)
    assert well.state == "done"
    assert ill.state == "unavailable"
    assert [(one.call_id, one.state) for one in after] == [
        ("call-3", "unavailable"),
        ("call-2", "unavailable"),
        ("call-1", "done"),
    ]
    assert stage.effects == {"call-1": 1}
    again = stage.run(ids=["call-1", "call-2", "call-3"])
    assert again[0].value == well.value
    assert again[1].state in ("done", "lost"), "what was refused may still have reached the disk"
    assert again[2].state == "done"
    assert max(stage.effects.values()) == 1


@pytest.mark.parametrize("faulty", FAULTS)
def test_a_result_whose_fsync_failed_is_not_recorded_and_never_runs_again(
    tmp_path: Path, faulty: Faulty
) -> None:
    stage = Stage(tmp_path)
    child = stage.start("sick_at_the_end", ids=["call-1", "call-2"], faulty=faulty)
    assert child.wait() == -signal.SIGKILL
    first, duplicate, other = child.reports()
    assert (first.state, first.recorded) == ("done", False)
    assert (duplicate.state, duplicate.value) == ("done", first.value)
    assert other.state == "unavailable"
    (stage.disk / "fail").unlink()
    (reports,) = stage.run()
    assert reports.state in ("done", "lost"), "it may have reached the disk all the same"
    assert stage.effects == {"call-1": 1}
    assert set(states(tmp_path / "ledger.db")) <= {"done", "lost"}


@pytest.mark.parametrize("faulty", FAULTS)
@pytest.mark.parametrize("delay", [0, 3, 50])
def test_many_calls_share_an_fsync_and_more_of_them_the_slower_the_disk_is(
    tmp_path: Path, faulty: Faulty, delay: int
) -> None:
    stage = Stage(tmp_path)
    (stage.disk / "delay").write_text(str(delay))
    ids = [f"call-{n}" for n in range(200)]
    *reports, batches = stage.run("crowd", ids=ids, faulty=faulty)
    assert [one.state for one in reports] == ["done"] * len(ids)
    assert isinstance(batches.value, list)
    taken, synced = batches.value
    assert synced <= taken + 2, "one fsync for a batch; a checkpoint has two more"
    assert taken <= len(ids) / 2, "400 durable writes"
