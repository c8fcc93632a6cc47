"""Histories that providers refused, rebuilt from public reports: each is found, repaired and translated.

A call and its result have the same number (see `lint.reported.report`), so that a wrong pair is
seen whatever the ids say.
"""

from __future__ import annotations

import re

from cases import DEEP, MODELS
from lint.reported.agents import AGENTS
from lint.reported.blocks import BLOCKS
from lint.reported.chat import CHAT
from lint.reported.contents import CONTENTS
from lint.reported.frameworks import FRAMEWORKS
from lint.reported.items import ITEMS
from lint.reported.report import ReportedHistory
from lint.reported.sessions import SESSIONS
from rows import rows
from validators import complaints

from toolwire import check, decode, repair, translate
from toolwire.conversation.json import JSON, dump
from toolwire.profiles.table import profile

REPORTS = [*CHAT, *BLOCKS, *CONTENTS, *ITEMS, *AGENTS, *FRAMEWORKS, *SESSIONS]
_RESULT = re.compile(r"<<(\d+)>>")
_CALL = re.compile(r'"n"\W*(\d+)')

each_report = rows(
    "report",
    REPORTS,
    ids=lambda report: f"{report.source}-{report.target}",
    group=lambda report: report.target,
)


def errors(body: JSON, wire: str, target: str) -> set[str]:
    """The rules whose violations the target refuses."""
    found = check(body, wire, target=target)
    return {finding.name for finding in found if finding.severity == "error"}


def results_in(body: JSON) -> set[int]:
    """The numbers of the results that can be read anywhere in a body."""
    return {int(number) for number in _RESULT.findall(dump(body).decode())}


def paired_results(body: JSON, wire: str) -> set[int]:
    """The numbers of the results that have a call; fails if it is the call of another result."""
    paired: set[int] = set()
    for pair in decode(body, wire).pairs():
        if pair.call is None or pair.result is None:
            continue
        results = {int(number) for number in _RESULT.findall(pair.result.text)}
        call = _CALL.search(str(pair.call.arguments))
        assert call is None or results <= {int(call[1])}, "a result went to the call of another"
        paired |= results
    return paired


def test_the_reports_are_many_and_distinct() -> None:
    assert len({(report.source, report.target) for report in REPORTS}) == len(REPORTS) > 360


@each_report
def test_check_finds_what_the_provider_refuses_and_nothing_else(report: ReportedHistory) -> None:
    wire = profile(report.target).wire
    assert errors(report.body, wire, report.target) == set(report.rules)


@each_report
def test_repair_makes_it_acceptable_and_keeps_every_result(report: ReportedHistory) -> None:
    wire = profile(report.target).wire
    repaired = repair(report.body, wire, target=report.target)
    assert errors(repaired.body, wire, report.target) == set()
    assert complaints(wire, repaired.body) == ""
    assert repair(repaired.body, wire, target=report.target).changes == []
    results = results_in(report.body)
    assert results_in(repaired.body) == results
    assert paired_results(repaired.body, wire) == results - set(report.as_text)
    accepted = set(profile(report.target).sometimes_accepted)
    if not report.rules:
        assert {change.name for change in repaired.changes} <= accepted


def other_wires(wire: str, position: int) -> list[str]:
    """All other wires of models in a deep run, else two of them, which differ by the position."""
    others = [name for name in MODELS if name != wire]
    if DEEP:
        return others
    return [others[(position + step) % len(others)] for step in (0, len(others) // 2)]


@each_report
def test_every_other_wire_gets_a_body_that_it_accepts(report: ReportedHistory) -> None:
    wire = profile(report.target).wire
    results = results_in(report.body)
    for target in other_wires(wire, REPORTS.index(report)):
        encoded = translate(report.body, wire, target)
        assert encoded.findings == []
        assert errors(encoded.body, target, target) == set()
        assert complaints(target, encoded.body) == ""
        assert results_in(encoded.body) == results
        assert paired_results(encoded.body, target) == results - set(report.as_text)
