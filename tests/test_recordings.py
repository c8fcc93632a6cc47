"""What the laws draw on: the cases of every wire, and recorded traffic where it is present.

A plain clone has no recorded traffic. Every law then runs on the cases alone, and the tests here
are skipped, so that a run shows what it lacks.
"""

from __future__ import annotations

import pytest
from cases import (
    KINDS,
    WIRES,
    load,
    load_recorded,
    load_recorded_streams,
    needs_recordings,
    streaming,
)

from toolwire import decode
from toolwire.streaming.restream import fold

NOT_RECORDED = "no traffic of this wire is recorded"


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_has_cases_of_both_kinds(wire: str) -> None:
    assert {case.kind for case in load(wire)} == set(KINDS)


@needs_recordings
@pytest.mark.parametrize("wire", WIRES)
def test_the_laws_run_on_recorded_bodies_with_calls(wire: str) -> None:
    if not load_recorded(wire):
        pytest.skip(NOT_RECORDED)
    assert any(decode(case.body, wire, case.kind).calls() for case in load_recorded(wire))


@needs_recordings
@pytest.mark.parametrize("wire", streaming())
def test_the_laws_run_on_recorded_streams_with_calls(wire: str) -> None:
    streams = load_recorded_streams(wire)
    if not streams:
        pytest.skip(NOT_RECORDED)
    bodies = (fold(stream.stream, wire) for stream in streams)
    assert any(decode(body, wire, "response").calls() for body in bodies)
