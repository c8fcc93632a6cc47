"""Tokens and secrets of a call are in no log record, result, ledger record or span."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from runnables import CountingBody, runnable, tool_call

from toolwire.execution.call_key import key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.log_redaction import redact_all_logs
from toolwire.execution.telemetry import use_trace_context
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import Authorization, Requirements, ToolContext

TOKEN, SECRET = "tok-8f2a/+x=", 'p@ss word"1'
NEEDS = Requirements((Authorization("google"),), ("KEY",))


def spans() -> tuple[TracerProvider, InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return provider, kept


def text_of(records: list[logging.LogRecord]) -> str:
    plain = logging.Formatter()
    return "\n".join(plain.format(record) + repr(vars(record)) for record in records)


def is_redacted(text: str) -> bool:
    return not any(part in text for part in (TOKEN, SECRET, "tok-8f2a", "p@ss", "p%40ss"))


@pytest.fixture
def redact_process_logs() -> Iterator[None]:
    """Redact every log record of the process, as the command line does."""
    factory = logging.getLogRecordFactory()
    redact_all_logs()
    yield
    logging.setLogRecordFactory(factory)


LEAKS: dict[str, Callable[[str], Exception]] = {
    "tool error": lambda text: ToolError(
        text, developer_message=text, kind=text, extra={text: [text]}
    ),
    "retryable": lambda text: RetryableToolError(text, additional_prompt_content=text),
    "no effect": lambda text: NoEffect(text, developer_message=text),
    "exception": lambda text: ValueError(text, {"k": text}),
    "group": lambda text: ExceptionGroup(text, [ValueError(text), KeyError(text)]),
    "timeout": lambda text: TimeoutError(text),
}


@pytest.mark.usefixtures("redact_process_logs")
@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("call_id", ["c1", None])
def test_secrets_are_in_no_log_record_result_ledger_record_or_span(
    name: str, is_async: bool, call_id: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger("some.library")

    def act(context: ToolContext) -> object:
        text = f"{context.token('google')} and {context.secret('KEY')!r}"
        log.info("calling with %s", text)
        other = threading.Thread(target=lambda: log.warning("from a thread of its own: %s", text))
        other.start()
        other.join()
        raise LEAKS[name](text) from RuntimeError(text)

    async def later(arguments: Mapping[str, object], context: ToolContext) -> object:
        return act(context)

    tool = runnable(
        later if is_async else lambda arguments, context: act(context),
        is_async=is_async,
        needs=NEEDS,
    )
    provider, kept = spans()

    async def main() -> None:
        ledger = MemoryLedger()
        async with ToolExecutor(ledger, tracer_provider=provider) as executor:
            call = ToolCall(
                tool=tool,
                call_id=call_id,
                input={"leaked": SECRET},
                tokens={"google": TOKEN},
                secrets={"KEY": SECRET},
                trace_id=f"trace {TOKEN}",
            )
            result = await executor.execute(call)
            assert result.state == "failed"
            assert is_redacted(repr(result))
            record = await ledger.get(key_of("", None, result.call_id))
            assert is_redacted(repr(record))
            assert is_redacted(repr(call))

    asyncio.run(main())
    assert len(caplog.records) >= 3
    assert is_redacted(text_of(caplog.records))
    (span,) = kept.get_finished_spans()
    assert is_redacted(span.to_json())


def test_the_loggers_of_toolwire_redact_without_any_setup(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def leak(arguments: Mapping[str, object], context: ToolContext) -> object:
        raise ValueError(f"no access with {context.secret('KEY')}")

    async def main() -> None:
        async with ToolExecutor() as executor:
            await executor.run(
                runnable(leak, needs=NEEDS),
                {"leaked": SECRET},
                call_id="c1",
                tokens={"google": TOKEN},
                secrets={"KEY": SECRET},
            )

    asyncio.run(main())
    assert {record.name for record in caplog.records} >= {"toolwire.execution"}
    assert any("raised ValueError" in record.getMessage() for record in caplog.records)
    assert is_redacted(text_of(caplog.records))


def test_an_executor_changes_no_logging_of_the_process() -> None:
    factory, handlers = logging.getLogRecordFactory(), list(logging.getLogger().handlers)
    filters = list(logging.getLogger().filters)

    async def main() -> None:
        async with ToolExecutor() as executor:
            await executor.run(runnable(CountingBody()), call_id="c1", secrets={"KEY": SECRET})

    asyncio.run(main())
    assert logging.getLogRecordFactory() is factory
    assert logging.getLogger().handlers == handlers and logging.getLogger().filters == filters


def test_a_span_says_which_tool_which_call_and_how_it_ended() -> None:
    provider, kept = spans()

    async def fails(arguments: Mapping[str, object], context: ToolContext) -> object:
        raise ToolError("no", kind="nope")

    async def main() -> None:
        async with ToolExecutor(tracer_provider=provider) as executor:
            await executor.execute(
                ToolCall(tool=runnable(CountingBody()), call_id="c1", trace_id="t1")
            )
            await executor.execute(tool_call(runnable(fails), "c2"))

    asyncio.run(main())
    done, failed = kept.get_finished_spans()
    assert done.name == "execute_tool Test_Tool"
    assert dict(done.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Test_Tool",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "toolwire.tool.id": "Test.Tool@1.0.0",
        "oxp.trace_id": "t1",
        "toolwire.state": "done",
        "toolwire.attempt": 1,
        "toolwire.replayed": False,
    }
    assert (failed.attributes or {})["error.type"] == "nope"
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "no")
    assert done.status.status_code == StatusCode.UNSET


@pytest.mark.parametrize("is_async", [True, False])
def test_a_traceparent_is_the_parent_of_the_call_and_the_call_of_spans_of_the_tool(
    is_async: bool,
) -> None:
    provider, kept = spans()
    trace_id, parent_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

    def body(arguments: Mapping[str, object], context: ToolContext) -> object:
        with provider.get_tracer("tool").start_as_current_span("inner"):
            return 1

    async def main() -> None:
        async with ToolExecutor(tracer_provider=provider) as executor:
            with use_trace_context({"traceparent": f"00-{trace_id}-{parent_id}-01"}):
                await executor.execute(tool_call(runnable(body, is_async=is_async)))
            with use_trace_context({}):
                await executor.execute(tool_call(runnable(body, is_async=is_async), "c2"))

    asyncio.run(main())
    inner, call, _, alone = kept.get_finished_spans()
    assert call.parent is not None and f"{call.parent.span_id:016x}" == parent_id
    assert inner.parent is not None and inner.parent == call.get_span_context()
    assert f"{inner.parent.trace_id:032x}" == trace_id
    assert alone.parent is None


def test_without_an_sdk_there_is_no_span() -> None:
    executor = ToolExecutor()
    assert executor._telemetry.tracer() is None


def test_a_log_line_has_the_result_of_a_call(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with ToolExecutor() as executor:
            for _ in range(2):
                await executor.execute(tool_call(runnable(CountingBody()), "c\n1", {"private": 42}))

    caplog.set_level(logging.INFO, "toolwire.execution")
    asyncio.run(main())
    first, second = caplog.records
    assert first.getMessage().startswith("call 'c\\n1' of Test.Tool@1.0.0: done in ")
    assert second.getMessage().endswith(" (replayed)")
    fields = vars(first)
    assert (fields["call_id"], fields["tool"], fields["state"], fields["attempt"]) == (
        "c\n1",
        "Test.Tool@1.0.0",
        "done",
        1,
    )
    assert isinstance(fields["ms"], float)
    assert "42" not in text_of(caplog.records).replace(
        first.pathname, ""
    ) or "private" not in text_of(caplog.records)


def test_inputs_are_logged_at_debug_level_only(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with ToolExecutor() as executor:
            await executor.execute(tool_call(runnable(CountingBody()), "c1", {"private": 42}))

    for level, shown in ((logging.INFO, False), (logging.DEBUG, True)):
        caplog.clear()
        caplog.set_level(level, "toolwire.execution")
        asyncio.run(main())
        assert ("private" in caplog.text) == shown
