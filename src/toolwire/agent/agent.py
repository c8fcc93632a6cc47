"""The agent: a model with tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing

from msgspec.structs import replace

from toolwire.agent.approvals import Approve
from toolwire.agent.driver import AgentRun
from toolwire.agent.events import AgentError, AgentEvent, Limits, Model, RunResult
from toolwire.agent.http_model import HttpModel
from toolwire.agent.machine import AgentMachine
from toolwire.agent.session_store import Store
from toolwire.agent.stream import AgentStream
from toolwire.agent.thread import Thread, without_surrogates
from toolwire.agent.tool_caller import ToolCaller
from toolwire.agent.toolset import Toolset
from toolwire.codec import Encoded
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Message, Text
from toolwire.errors import UsageError, require_type
from toolwire.execution.call_ids import uuid7
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.sync import run_in_new_loop
from toolwire.tools.registry import ToolSource

LIMITS = Limits()


class Agent:
    """A model with tools.

        Agent("anthropic:claude-opus-5", [weather]).run_sync("Is it raining in Oslo?").text

    `run` returns the end of a run, `watch` yields every event. With a store, the thread is saved
    after every step, and `resume` loads it. `model` can be replaced between two runs.

    Args:
        model: A model, or the name of one as `HttpModel` takes it.
        tools: One tool, or several.
        executor: Runs and records the calls; by default in memory, without a durable ledger.
        system: The system message.
        settings: Settings of every request, such as `temperature`.
        limits: The maximum number of turns, of concurrent calls, and so on.
        approve: Decides about each call before it runs.
        store: Where the thread is saved.
        secrets: Secrets that tools may get.
        tokens: Tokens that tools may get.
        user_id: The user on whose behalf tools run.

    Raises:
        UsageError: There is no such model, or no key.
        ToolDefinitionError: The ledger cannot serve one of the tools.
    """

    def __init__(
        self,
        model: str | Model,
        tools: ToolSource | Iterable[ToolSource] = (),
        *,
        executor: ToolExecutor | None = None,
        system: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        limits: Limits = LIMITS,
        approve: Approve | None = None,
        store: Store | None = None,
        secrets: Mapping[str, str] | None = None,
        tokens: Mapping[str, str] | None = None,
        user_id: str | None = None,
    ) -> None:
        if isinstance(model, str):
            model = HttpModel(model)
        elif not hasattr(model, "ask"):
            got = type(model).__name__
            raise UsageError(
                f"expected a model, or a name such as anthropic:claude-opus-5, not {got}"
            )
        require_type(executor, ToolExecutor | None, "a ToolExecutor as executor=")
        require_type(limits, Limits, "Limits(...) as limits=")
        require_type(store, Store | None, "a store as store=, such as FileStore(path)")
        require_type(system, str | None, "text as system=")
        require_type(settings, Mapping | None, "a dict as settings=")
        require_type(secrets, Mapping | None, "a dict as secrets=")
        require_type(tokens, Mapping | None, "a dict as tokens=")
        self.model: Model = model
        self.toolset = Toolset(tools)
        self.executor = executor if executor is not None else ToolExecutor()
        self._owns_executor = executor is None
        self.system = system
        self.settings = dict(settings or {})
        self.limits = limits
        self.approve = approve
        self.store = store
        self.secrets = dict(secrets or {})
        self.tokens = dict(tokens or {})
        self.user_id = user_id
        self.executor.check_tools(self.toolset.names.values())
        self._running = False
        self._last_thread: Thread | None = None
        """The thread after the last run; the executor of this process has the records of its
        calls."""
        self.thread = Thread(uuid7())
        """The conversation so far."""

    def request(self, thread: Thread) -> Encoded:
        """Return the request of a thread for the model, with tools and settings."""
        has_system = bool(thread.messages) and thread.messages[0].role == "system"
        if self.system is not None and not has_system:
            system = Message("system", (Text(without_surrogates(self.system)),))
            thread = replace(thread, messages=(system, *thread.messages))
        return thread.request(
            self.model.target,
            tools=self.toolset.tools,
            settings={"model": self.model.name, **self.settings},
            native_tools=self.model.native_tools,
        )

    async def run(self, question: str | Message | None = None) -> RunResult:
        """Ask the model and run its calls until it answers. Without a question, continue.

        Raises:
            AgentError: The model gave no answer, or a limit was reached.
            UsageError: The thread cannot be saved.
        """
        result: RunResult | None = None
        async for event in self.watch(question):
            if isinstance(event, RunResult):
                result = event
        assert result is not None
        if result.error is not None:
            raise AgentError(result)
        return result

    def run_sync(self, question: str | Message | None = None) -> RunResult:
        """Run like `run`, without an event loop; closes the connections of the model afterwards.

        Raises:
            UsageError: An event loop runs in this thread.
        """
        return run_in_new_loop(lambda: self._run_and_close(question), instead="agent.run(...)")

    async def _run_and_close(self, question: str | Message | None) -> RunResult:
        try:
            return await self.run(question)
        finally:
            await self.model.close()

    async def resume(self) -> Thread:
        """Load the stored thread, if there is one. The next `run` without a question continues
        it."""
        if self.store is not None and (stored := await self.store.load()) is not None:
            self.thread = stored
        return self.thread

    async def watch(self, question: str | Message | None = None) -> AsyncGenerator[AgentEvent]:
        """Yield every event of a run; the last one is the RunResult.

        If the generator is closed early, the run stops and the thread is kept.

        Raises:
            UsageError: The thread cannot be saved, or this agent is already running.
        """
        require_type(question, str | Message | None, "text or a Message as the question")
        if self._running:
            raise UsageError("this agent is already running; use one agent per conversation")
        self._running = True
        try:
            if self._owns_executor:
                await self.executor.open()
            run = self._new_run()
            task = asyncio.create_task(run.drive(question))
            try:
                while (event := await run.events.get()) is not None:
                    yield event
                await task
            finally:
                task.cancel()
                await asyncio.wait([task])
                if not task.cancelled():
                    task.exception()  # raised above, unless the generator was closed
                self.thread = self._last_thread = run.machine.current
                if self._owns_executor:
                    await self.executor.close()
                    self.executor = ToolExecutor(self.executor.ledger)
        finally:
            self._running = False

    def _new_run(self) -> AgentRun:
        def make_caller(report: Callable[[AgentEvent], None]) -> ToolCaller:
            return ToolCaller(
                self.toolset,
                self.executor,
                limits=self.limits,
                approve=self.approve,
                user_id=self.user_id,
                tokens=self.tokens,
                secrets=self.secrets,
                may_have_run=self.thread is not self._last_thread,
                report=report,
            )

        return AgentRun(
            AgentMachine(self.thread, turns=self.limits.turns),
            self.model,
            make_request=self.request,
            make_caller=make_caller,
            tool_names=frozenset(self.toolset.names),
            store=self.store,
        )

    async def stream(
        self, target: str, question: str | Message | None = None, *, version: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield a run as a stream of a wire, for a front end.

        `AgentStream(target).headers` are the headers of the HTTP response.
        """
        stream: AgentStream[bytes] = AgentStream(target, version=version)
        async with aclosing(self.watch(question)) as watched:
            async for event in watched:
                for data in stream.feed(event):
                    yield data
        for data in stream.end():
            yield data
        if stream.trailer:
            yield stream.trailer
