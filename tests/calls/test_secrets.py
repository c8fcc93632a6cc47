"""A secret of a call is in no log record, no answer, no record and no span; and what is told of a
call."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from runnables import Counted, ask, runnable

from toolwire.execution.call_key import key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.telemetry import joined
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


def told(records: list[logging.LogRecord]) -> str:
    plain = logging.Formatter()
    return "\n".join(plain.format(record) + repr(vars(record)) for record in records)


def hidden(text: str) -> bool:
    return not any(part in text for part in (TOKEN, SECRET, "tok-8f2a", "p@ss", "p%40ss"))


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


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("call_id", ["c1", None])
def test_secrets_are_nowhere(
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
        async with ToolExecutor(ledger, tracer_provider=provider) as calls:
            asked = ToolCall(
                tool=tool,
                call_id=call_id,
                input={"leaked": SECRET},
                tokens={"google": TOKEN},
                secrets={"KEY": SECRET},
                trace_id=f"trace {TOKEN}",
            )
            answer = await calls.call(asked)
            assert answer.state == "failed"
            assert hidden(repr(answer))
            record = await ledger.get(key_of("", None, answer.call_id))
            assert hidden(repr(record))
            assert hidden(repr(asked))

    asyncio.run(main())
    assert len(caplog.records) >= 3
    assert hidden(told(caplog.records))
    (span,) = kept.get_finished_spans()
    assert hidden(span.to_json())


def test_a_span_says_which_tool_which_call_and_how_it_ended() -> None:
    provider, kept = spans()

    async def fails(arguments: Mapping[str, object], context: ToolContext) -> object:
        raise ToolError("no", kind="nope")

    async def main() -> None:
        async with ToolExecutor(tracer_provider=provider) as calls:
            await calls.call(ToolCall(tool=runnable(Counted()), call_id="c1", trace_id="t1"))
            await calls.call(ask(runnable(fails), "c2"))

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
def test_a_traceparent_is_the_parent_and_the_body_traces_below_its_call(is_async: bool) -> None:
    provider, kept = spans()
    trace_id, parent_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

    def body(arguments: Mapping[str, object], context: ToolContext) -> object:
        with provider.get_tracer("tool").start_as_current_span("inner"):
            return 1

    async def main() -> None:
        async with ToolExecutor(tracer_provider=provider) as calls:
            with joined({"traceparent": f"00-{trace_id}-{parent_id}-01"}):
                await calls.call(ask(runnable(body, is_async=is_async)))
            with joined({}):
                await calls.call(ask(runnable(body, is_async=is_async), "c2"))

    asyncio.run(main())
    inner, call, _, alone = kept.get_finished_spans()
    assert call.parent is not None and f"{call.parent.span_id:016x}" == parent_id
    assert inner.parent is not None and inner.parent == call.get_span_context()
    assert f"{inner.parent.trace_id:032x}" == trace_id
    assert alone.parent is None


def test_without_an_sdk_there_is_no_span() -> None:
    calls = ToolExecutor()
    assert calls._telemetry.tracer() is None


def test_a_line_in_the_log_says_what_became_of_a_call(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with ToolExecutor() as calls:
            for _ in range(2):
                await calls.call(ask(runnable(Counted()), "c\n1", {"private": 42}))

    caplog.set_level(logging.INFO, "toolwire.calls")
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
    assert "42" not in told(caplog.records).replace(first.pathname, "") or "private" not in told(
        caplog.records
    )


def test_inputs_are_logged_at_debug_level_only(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with ToolExecutor() as calls:
            await calls.call(ask(runnable(Counted()), "c1", {"private": 42}))

    for level, shown in ((logging.INFO, False), (logging.DEBUG, True)):
        caplog.clear()
        caplog.set_level(level, "toolwire.calls")
        asyncio.run(main())
        assert ("private" in caplog.text) == shown
