"""The metrics of calls, in the format of Prometheus."""

from __future__ import annotations

import asyncio
import re

import pytest
from runnables import CountingBody, runnable, tool_call

from toolwire.execution.call_metrics import METRICS, CallMetrics
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.metrics import BUCKETS, OTHER

LINE = re.compile(r'[a-z_]+(\{[a-z]+="(?:[^"\\\n]|\\.)*"(,[a-z]+="(?:[^"\\\n]|\\.)*")*\})? [0-9.]+')


def lines(metrics: CallMetrics) -> list[str]:
    text = metrics.render()
    assert text.endswith("\n")
    found = text.splitlines()
    for line in found:
        assert line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line), line
    return found


def test_calls_replays_and_times_are_counted() -> None:
    async def main() -> CallMetrics:
        async with ToolExecutor() as executor:
            tool = runnable(CountingBody())
            await executor.execute(tool_call(tool))
            await executor.execute(tool_call(tool))
            await executor.execute(tool_call(tool, "c1", {"other": 1}))
            await asyncio.gather(*(executor.execute(tool_call(tool, "c2")) for _ in range(3)))
            return executor.metrics

    found = lines(asyncio.run(main()))
    assert 'toolwire_calls_total{tool="Test.Tool@1.0.0",state="done"} 5' in found
    assert 'toolwire_calls_total{tool="Test.Tool@1.0.0",state="mismatch"} 1' in found
    assert 'toolwire_replays_total{tool="Test.Tool@1.0.0"} 3' in found
    assert "toolwire_calls_in_flight 0" in found
    assert 'toolwire_tool_seconds_count{tool="Test.Tool@1.0.0"} 2' in found


def test_buckets_add_up() -> None:
    metrics = CallMetrics()
    for seconds in (0.0, 0.001, 0.002, 7.0, 1e6):
        metrics.observe_duration("T.t", seconds)
    counts = [int(line.rpartition(" ")[2]) for line in lines(metrics) if "_bucket" in line]
    assert len(counts) == len(BUCKETS) + 1
    assert counts == sorted(counts) and counts[0] == 2 and counts[-2] == 4 and counts[-1] == 5


def test_labels_are_bounded_and_escaped() -> None:
    metrics = CallMetrics(max_tools=3)
    for n in range(10):
        metrics.count_result(f"T.t{n}", "done")
        metrics.observe_duration(f"T.t{n}", 1.0)
    found = [line for line in lines(metrics) if line.startswith("toolwire_calls_total")]
    assert len(found) == 4
    assert f'toolwire_calls_total{{tool="{OTHER}",state="done"}} 7' in found
    odd = CallMetrics()
    odd.count_result('a"b\\c\nd', "done")
    assert 'toolwire_calls_total{tool="a\\"b\\\\c\\nd",state="done"} 1' in lines(odd)


def test_the_parser_of_prometheus_reads_every_metric() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    metrics = CallMetrics()
    metrics.count_result('a"b\\c\nd', "done", replayed=True)
    metrics.observe_duration("T.t", 0.02)
    metrics.count_ledger_error("claim")
    families = {one.name: one for one in parser.text_string_to_metric_families(metrics.render())}
    assert len(families) == len(METRICS)
    (sample,) = families["toolwire_calls"].samples
    assert (sample.labels, sample.value) == ({"tool": 'a"b\\c\nd', "state": "done"}, 1.0)
    assert families["toolwire_tool_seconds"].type == "histogram"
