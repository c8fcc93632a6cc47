"""Drive the loop of an agent: ask the model, run the calls, keep the thread, tell those who watch.

What happens next is the machine's business; here it happens. Each call runs under an id that stays
the same over restarts, so that the ledger knows it again. Whatever a tool does, its call gets a
result. Knows no wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from inspect import isawaitable
from time import perf_counter

from msgspec.structs import replace

from toolwire.agent.events import (
    Allow,
    Approve,
    Deny,
    Edit,
    Limits,
    Model,
    ModelError,
    ModelReply,
    ModelRequest,
    Retry,
    RunResult,
    Seen,
    ToolFinished,
    ToolStarted,
    Verdict,
)
from toolwire.agent.machine import (
    AgentMachine,
    ApprovalGiven,
    ArgumentsEdited,
    CallModel,
    Command,
    Event,
    FinishRun,
    ModelFailed,
    ModelReplied,
    Phase,
    RunTools,
    SaveSession,
    StopRequested,
    ToolsRan,
    UserMessage,
)
from toolwire.agent.session_store import Store
from toolwire.agent.stream import AgentStream
from toolwire.agent.thread import SPOKEN, Thread, readable
from toolwire.agent.tool_results import (
    adopted,
    adopts,
    arguments_of,
    cut,
    failed,
    in_text,
    named,
    outcome_of,
    refused,
)
from toolwire.agent.toolset import Toolset
from toolwire.codec import Encoded, resolve
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Call, Message, Part, Result, Text
from toolwire.errors import InputError
from toolwire.execution.call_ids import uuid7
from toolwire.execution.call_key import key_of
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.tool_call import ToolCall
from toolwire.lint import repair
from toolwire.streaming import events
from toolwire.streaming.accumulate import Accumulator
from toolwire.tools.errors import InvalidInput
from toolwire.tools.registry import ToolSource
from toolwire.tools.runnable import Runnable

LIMITS = Limits()
PRINCIPAL = "agent"
"""In whose name calls are recorded."""


class Agent:
    """A model with tools.

    `run` gives how it ended, `watch` everything as it happens. The thread is saved after every step
    if there is a store; `resume` goes on with what was saved. `approve` is asked before each call.
    `secrets` and `tokens` are what the tools may be given. The model may be another one from one
    run to the next. Raises ToolDefinitionError for a tool that the record of calls cannot serve.
    """

    def __init__(
        self,
        model: Model,
        tools: Iterable[ToolSource] = (),
        *,
        calls: ToolExecutor | None = None,
        system: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        limits: Limits = LIMITS,
        approve: Approve | None = None,
        store: Store | None = None,
        secrets: Mapping[str, str] | None = None,
        tokens: Mapping[str, str] | None = None,
        user_id: str | None = None,
    ) -> None:
        self.model = model
        self.offer = Toolset(tools)
        self.calls = calls if calls is not None else ToolExecutor()
        self._own_calls = calls is None
        self.system = system
        self.settings = dict(settings or {})
        self.limits = limits
        self.approve = approve
        self.store = store
        self.secrets = dict(secrets or {})
        self.tokens = dict(tokens or {})
        self.user_id = user_id
        self.calls.check_tools(self.offer.names.values())
        self._busy = False
        self._left: Thread | None = None
        """The thread as the last run left it: its calls are those that were recorded here."""
        self.thread = Thread(uuid7())
        """The conversation so far."""

    def request(self, thread: Thread) -> Encoded:
        """What the model is asked with: the thread, the tools and the settings."""
        begun = thread.messages[:1]
        if self.system is not None and not (begun and begun[0].role == "system"):
            thread = replace(
                thread,
                messages=(Message("system", (Text(readable(self.system)),)), *thread.messages),
            )
        settings = {"model": self.model.name, **self.settings}
        return thread.body(
            self.model.target, tools=self.offer.tools, settings=settings, text=not self.model.native
        )

    async def run(self, question: str | Message | None = None) -> RunResult:
        """Ask, and go on until the model is done. Without a question it goes on from what
        is there.
        """
        over: RunResult | None = None
        async for seen in self.watch(question):
            if isinstance(seen, RunResult):
                over = seen
        assert over is not None
        return over

    def run_sync(self, question: str | Message | None = None) -> RunResult:
        """The same for those who do not use asyncio. The connections of the model are closed at the
        end."""
        return asyncio.run(self._once(question))

    async def _once(self, question: str | Message | None) -> RunResult:
        try:
            return await self.run(question)
        finally:
            await self.model.close()

    async def resume(self) -> Thread:
        """Take up what was saved. The next `run` without a question goes on from there."""
        if self.store is not None and (kept := await self.store.load()) is not None:
            self.thread = kept
        return self.thread

    async def watch(self, question: str | Message | None = None) -> AsyncGenerator[Seen]:
        """Everything that happens, as it happens. Left early, whatever runs is stopped, and the
        thread is kept.

        Raises UsageError if the thread cannot be saved, or RuntimeError if this agent is already at
        work.
        """
        if self._busy:
            raise RuntimeError("this agent is at work: a thread has one question at a time")
        self._busy = True
        turn = _Turn(self)
        try:
            if self._own_calls:
                await self.calls.open()
            driven = asyncio.create_task(turn.drive(question))
            try:
                while (seen := await turn.seen.get()) is not None:
                    yield seen
                await driven
            finally:
                driven.cancel()
                await asyncio.wait([driven])
                if not driven.cancelled():
                    driven.exception()  # told above, unless whoever watched has left
                self.thread = self._left = turn.machine.now
                if self._own_calls:
                    await self.calls.close()
                    self.calls = ToolExecutor(self.calls.ledger)
        finally:
            self._busy = False

    async def stream(
        self, target: str, question: str | Message | None = None, *, version: int | None = None
    ) -> AsyncIterator[bytes]:
        """Everything that happens as a stream of a wire: for a front end. `Told(target).headers` go
        with it."""
        told: AgentStream[bytes] = AgentStream(target, version=version)
        async with aclosing(self.watch(question)) as watched:
            async for seen in watched:
                for data in told.take(seen):
                    yield data
        for data in told.end():
            yield data
        if told.tail:
            yield told.tail


class _Turn:
    """One run of the loop."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.machine = AgentMachine(agent.thread, turns=agent.limits.turns)
        self._forgot = (
            isinstance(agent.calls.ledger, MemoryLedger) and agent.thread is not agent._left
        )
        """Whether calls that are open may have run with nobody here knowing."""
        self.seen: asyncio.Queue[Seen | None] = asyncio.Queue()
        self._slots = asyncio.Semaphore(max(1, agent.limits.parallel))
        self._running: set[asyncio.Task[None]] = set()
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._asking: asyncio.Task[None] | None = None

    async def drive(self, question: str | Message | None) -> None:
        try:
            over = await self._do(self.machine.take(UserMessage(question)))
            while over is None:
                event = await self._events.get()
                if isinstance(event, Exception):
                    raise event
                over = await self._do(self.machine.take(event))
            await self._quiet()
            self.seen.put_nowait(
                RunResult(over.phase, over.why, self.machine.now.usage, self.machine.said)
            )
        except asyncio.CancelledError:
            await self._halt()
            raise
        finally:
            await self._quiet()
            self.seen.put_nowait(None)

    async def _halt(self) -> None:
        """Somebody left: nothing goes on, and what is known is kept."""
        await self._quiet()
        while not self._events.empty():
            event = self._events.get_nowait()
            if isinstance(event, ToolsRan):
                self.machine.take(event)
        if self.machine.phase in (Phase.ASKING, Phase.RUNNING):
            for command in self.machine.take(StopRequested()):
                if isinstance(command, SaveSession):
                    await self._save(command.thread)

    async def _quiet(self) -> None:
        """End what goes on. Calls that began go on without us where there is a record of them."""
        tasks = [*self._running, *([self._asking] if self._asking is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _do(self, commands: list[Command]) -> FinishRun | None:
        over: FinishRun | None = None
        for command in commands:
            match command:
                case SaveSession(thread):
                    await self._save(thread)
                case CallModel(turn):
                    self._asking = asyncio.create_task(self._ask(turn))
                case RunTools():
                    task = asyncio.create_task(self._run(command))
                    self._running.add(task)
                    task.add_done_callback(self._running.discard)
                case FinishRun():
                    over = command
        return over

    async def _save(self, thread: Thread) -> None:
        if self.agent.store is not None:
            await self.agent.store.save(thread)

    # --- the model ---

    async def _ask(self, turn: int) -> None:
        try:
            await self._asked(turn)
        except (ModelError, InputError) as error:
            self._events.put_nowait(ModelFailed(str(error)))
        except Exception as error:  # of nobody's making: whoever watches gets it
            self._events.put_nowait(error)

    async def _asked(self, turn: int) -> None:
        """Ask once; a history that is refused is mended once and sent again."""
        agent = self.agent
        body = agent.request(self.machine.thread)
        self.seen.put_nowait(
            ModelRequest(turn, agent.model.name, tuple(body.changes), tuple(body.losses))
        )
        try:
            await self._listen(agent.model.ask(body))
        except ModelError as error:
            mended = mended_for(body, agent.model.target) if error.defect else None
            if mended is None:
                raise
            self.seen.put_nowait(
                Retry(
                    f"the history was refused ({error.message}), and mended",
                    changes=tuple(mended.changes),
                )
            )
            await self._listen(agent.model.ask(mended))

    async def _listen(self, answer: AsyncIterator[events.Event | Retry | ModelReply]) -> None:
        """Hand on what the model says; a call that is complete is run at once."""
        model = self.agent.model
        own = adopts(model.target)
        open_ = Accumulator()
        said: list[Part] = []
        async for event in answer:
            if own and isinstance(event, events.PartStart | events.PartComplete):
                event = replace(event, part=adopted(event.part))
            if isinstance(event, ModelReply):
                message = in_text(event.message, self.agent.offer.names, native=model.native)
                if own and message.wire != SPOKEN:
                    message = replace(message, parts=tuple(map(adopted, message.parts)))
                self._events.put_nowait(ApprovalGiven(message, event.usage))
                return
            if isinstance(event, Retry):
                open_, said = Accumulator(), []
            self.seen.put_nowait(event)
            part: Part | None = None
            match event:
                case events.PartStart(choice=0):
                    open_.start(event)
                case events.PartDelta(slot=slot) if slot in open_:
                    open_.delta(event)
                case events.PartEnd(slot=slot, cut=cut) if slot in open_:
                    whole = named(open_.end(event), event)
                    part = None if cut else whole
                case events.PartComplete(part=part, choice=0):
                    pass
            if isinstance(part, Call) and part.executor == "client":
                self._events.put_nowait(ModelReplied(part, tuple(said)))
            elif isinstance(part, Text):
                said.append(part)
        raise ModelError("the model's answer ended without an end", again=True)

    # --- the tools ---

    async def _run(self, command: RunTools) -> None:
        call, start = command.call, perf_counter()
        state, replayed = "failed", False
        try:
            tool = self.agent.offer.find(call.name)
            verdict = await self._verdict(command, tool)
            if isinstance(verdict, Edit):
                self._events.put_nowait(ArgumentsEdited(command.n, verdict.arguments))
                return  # it comes back when it is kept so
            async with self._slots:
                start = perf_counter()
                if isinstance(verdict, Deny):
                    result, state = failed(call, verdict.reason), "denied"
                elif tool is None:
                    result, state = refused(call, self.agent.offer.names), "unknown-tool"
                else:
                    self.seen.put_nowait(ToolStarted(command.n, call))
                    result, state, replayed = await self._ran(command, tool)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            result = failed(call, "the call was cancelled")
        except Exception as error:
            result = failed(call, f"the call could not be run: {type(error).__name__}")
        self.seen.put_nowait(
            ToolFinished(command.n, call, result, perf_counter() - start, state, replayed)
        )
        self._events.put_nowait(ToolsRan(command.n, result))

    async def _verdict(self, command: RunTools, tool: Runnable | None) -> Verdict:
        """What somebody says about a call that nobody has been asked about yet."""
        ask = self.agent.approve
        if ask is None or tool is None or command.edited:
            return Allow()
        if command.again and await self._recorded(command):
            return Allow()  # it had leave, and was begun
        said = ask(command.call, tool)
        verdict = await said if isawaitable(said) else said
        if isinstance(verdict, Allow | Deny | Edit):
            return verdict
        return Deny("nobody allowed this call")  # neither yes nor no is no

    async def _recorded(self, command: RunTools) -> bool:
        """Whether there is a record of a call that may have run before."""
        try:
            return (
                await self.agent.calls.ledger.get(
                    key_of(PRINCIPAL, self.agent.user_id, command.key)
                )
                is not None
            )
        except LedgerUnavailable:
            return False

    async def _ran(self, command: RunTools, tool: Runnable) -> tuple[Result, str, bool]:
        agent, call = self.agent, command.call
        given = arguments_of(call)
        if given is None:
            return failed(call, "the arguments are not a JSON object"), "bad-arguments", False
        harmless = tool.read_only or tool.idempotent or tool.on_crash == "retry"
        if command.again and self._forgot and not harmless and not await self._recorded(command):
            return (
                failed(call, "it is not known whether this call ran before the interruption"),
                "lost",
                False,
            )
        asked = ToolCall(
            tool=tool,
            input=given,
            call_id=command.key,
            principal=PRINCIPAL,
            user_id=agent.user_id,
            tokens=agent.tokens,
            secrets=agent.secrets,
        )
        try:
            answer = await asyncio.wait_for(agent.calls.execute(asked), agent.limits.tool_seconds)
        except InvalidInput as error:
            return failed(call, f"the arguments do not fit: {error}"), "bad-arguments", False
        except MissingRequirements as error:
            return failed(call, str(error)), "missing-requirements", False
        except TimeoutError:
            return failed(call, "the tool took too long; it may still be running"), "timeout", False
        return (
            cut(call, outcome_of(call, answer), agent.limits.result_chars),
            answer.state,
            answer.replayed,
        )


def mended_for(body: Encoded, target: str) -> Encoded | None:
    """A request that was refused, mended as its profile wants it, else as its wire does; None if
    nothing is found to mend."""
    wire = resolve(target)[0].name
    for rules in dict.fromkeys((target, wire)):
        mended = repair(body.body, wire, target=rules)
        if mended.changes:
            return Encoded(
                mended.body, body.losses, body.ids.after_repair(mended.ids), changes=mended.changes
            )
    return None
