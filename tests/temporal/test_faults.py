"""Replicas, workers and the engine itself are killed; effects are counted outside of them."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from temporal_child import STEPS
from temporal_server import Server
from temporal_stage import BOOKS, Book, open_stage, outcomes, until

RANG = ("done", '{"attempt":1,"rang":"c"}')


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("step", STEPS)
def test_a_call_whose_replica_was_killed_is_resumed_by_the_next_request_with_one_effect_and_its_true_result(
    tmp_path: Path, book: Book, step: str
) -> None:
    with open_stage(tmp_path, book) as stage:
        worker = stage.worker()
        stage.replica("c", die=step, pause=0.5).dies()
        retries = [stage.replica("c", pause=0.5) for _ in range(1 if book == "sqlite" else 2)]
        answers = [one for retry in retries for one in retry.answers()]
        assert outcomes(answers) == {RANG}
        assert stage.effects == {"c": 1}
        assert stage.ringers == {worker.process.pid}


@pytest.mark.parametrize("book", BOOKS)
def test_a_tool_that_may_run_again_is_resumed_and_not_run_again_when_only_its_replica_was_killed(
    tmp_path: Path, book: Book
) -> None:
    with open_stage(tmp_path, book) as stage:
        stage.worker()
        stage.replica("c", die="after start", on_crash="retry", pause=0.5).dies()
        assert outcomes(stage.replica("c", on_crash="retry", pause=0.5).answers()) == {RANG}
        assert stage.effects == {"c": 1}


@pytest.mark.parametrize("book", BOOKS)
def test_a_call_that_ended_on_the_engine_while_no_replica_lived_gets_its_result(
    tmp_path: Path, book: Book
) -> None:
    with open_stage(tmp_path, book) as stage:
        stage.worker()
        stage.replica("c", die="after start").dies()
        stage.wait_for_end("c")
        assert outcomes(stage.replica("c").answers()) == {RANG}
        assert stage.effects == {"c": 1}


def test_a_replica_that_slept_past_its_lease_returns_what_was_recorded_meanwhile(
    tmp_path: Path,
) -> None:
    with open_stage(tmp_path, "postgres") as stage:
        stage.worker()
        sleeper = stage.replica("c", pause=1)
        until(lambda: stage.effects == {"c": 1})
        sleeper.process.send_signal(signal.SIGSTOP)
        assert outcomes(stage.replica("c", pause=1).answers()) == {RANG}
        sleeper.process.send_signal(signal.SIGCONT)
        assert outcomes(sleeper.answers()) == {RANG}
        assert stage.effects == {"c": 1}


@pytest.mark.parametrize("book", BOOKS)
def test_the_outcome_of_a_call_whose_worker_was_killed_is_unknown(
    tmp_path: Path, book: Book
) -> None:
    with open_stage(tmp_path, book) as stage:
        worker = stage.worker()
        replica = stage.replica("c", pause=60)
        until(lambda: stage.effects == {"c": 1})
        worker.kill()
        assert outcomes(replica.answers()) == {("lost", "null")}
        stage.worker()
        assert outcomes(stage.replica("c", pause=60).answers()) == {("lost", "null")}
        assert stage.effects == {"c": 1}


def test_the_next_request_notices_a_worker_that_was_killed_together_with_its_replica(
    tmp_path: Path,
) -> None:
    with open_stage(tmp_path, "sqlite") as stage:
        worker = stage.worker()
        replica = stage.replica("c", pause=60)
        until(lambda: stage.effects == {"c": 1})
        worker.kill()
        replica.kill()
        stage.worker()
        assert outcomes(stage.replica("c", pause=60).answers()) == {("lost", "null")}
        assert stage.effects == {"c": 1}


@pytest.mark.parametrize("book", BOOKS)
def test_a_tool_that_may_run_again_does_when_its_worker_was_killed(
    tmp_path: Path, book: Book
) -> None:
    with open_stage(tmp_path, book) as stage:
        worker = stage.worker()
        replica = stage.replica("c", on_crash="retry", pause=60)
        until(lambda: stage.effects == {"c": 1})
        worker.kill()
        stage.worker()
        assert outcomes(replica.answers()) == {("done", '{"attempt":2,"rang":"c"}')}
        assert stage.effects == {"c": 2}


def test_a_tool_that_can_be_asked_is_when_its_worker_was_killed(tmp_path: Path) -> None:
    with open_stage(tmp_path, "sqlite") as stage:
        worker = stage.worker()
        replica = stage.replica("c", on_crash="probe", pause=60)
        until(lambda: stage.effects == {"c": 1})
        worker.kill()
        replica.answers()
        assert outcomes(stage.replica("c", on_crash="probe", pause=60).answers()) == {
            ("done", '{"probed":true,"rang":"c"}')
        }
        assert stage.effects == {"c": 1}


@pytest.mark.parametrize("book", BOOKS)
def test_a_call_waits_until_there_is_a_worker_again(tmp_path: Path, book: Book) -> None:
    with open_stage(tmp_path, book) as stage:
        stage.worker().kill()
        replica = stage.replica("c", "d")
        until(lambda: stage.knows_call("c") and stage.knows_call("d"))
        assert not stage.effects
        stage.worker()
        assert {one.state for one in replica.answers()} == {"done"}
        assert stage.effects == {"c": 1, "d": 1}


@pytest.mark.parametrize("book", BOOKS)
def test_a_call_survives_the_death_of_the_engine_in_the_middle_of_it(
    tmp_path: Path, book: Book
) -> None:
    server = Server(durable=True)
    try:
        with open_stage(tmp_path, book, server) as stage:
            stage.worker()
            replica = stage.replica("c", pause=3, heartbeat_timeout=60)
            until(lambda: stage.effects == {"c": 1})
            server.kill()
            server.start()
            assert outcomes(replica.answers()) == {RANG}
            assert stage.effects == {"c": 1}
    finally:
        server.remove()


def test_a_call_that_was_asked_while_the_engine_was_away_is_begun_when_it_is_back(
    tmp_path: Path,
) -> None:
    server = Server(durable=True)
    try:
        with open_stage(tmp_path, "sqlite", server) as stage:
            stage.worker()
            server.kill()
            replica = stage.replica("c")
            replica.speaks()
            time.sleep(1)
            assert not stage.effects
            server.start()
            assert outcomes(replica.answers()) == {RANG}
            assert stage.effects == {"c": 1}
    finally:
        server.remove()
