"""Drive one run of an agent: execute the commands of the machine and report events.

`AgentMachine` decides what happens next; this module does it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TypeAlias

from msgspec.structs import replace

from toolwire.agent.approvals import Edit
from toolwire.agent.commands import (
    ArgumentsEdited,
    CallComplete,
    CallModel,
    Command,
    FinishRun,
    MachineEvent,
    ModelFailed,
    ModelReplied,
    RunTool,
    SaveSession,
    StopRequested,
    ToolReturned,
    UserMessage,
)
from toolwire.agent.events import (
    AgentEvent,
    Model,
    ModelError,
    ModelReply,
    ModelRequest,
    Retry,
    RunResult,
)
from toolwire.agent.machine import AgentMachine
from toolwire.agent.phases import Phase
from toolwire.agent.session_store import Store
from toolwire.agent.thread import TEXT_WIRE, Thread
from toolwire.agent.tool_caller import ToolCaller
from toolwire.agent.tool_results import needs_ids, read_calls_in_text, with_late_id, with_wire_id
from toolwire.codec import Encoded, resolve
from toolwire.conversation.parts import Call, Message, Part, Text
from toolwire.errors import InputError
from toolwire.lint.refused_reasoning import repair_refused
from toolwire.streaming import events
from toolwire.streaming.accumulate import Accumulator

ModelEvents: TypeAlias = "AsyncIterator[events.Event | Retry | ModelReply]"


class AgentRun:
    """One run of the loop.

    Args:
        machine: Decides what happens next.
        model: The model.
        make_request: Makes the request of a thread.
        make_caller: Makes the object that runs the calls; gets a function that reports events.
        tool_names: The names of the tools.
        store: Where the thread is saved.
    """

    def __init__(
        self,
        machine: AgentMachine,
        model: Model,
        *,
        make_request: Callable[[Thread], Encoded],
        make_caller: Callable[[Callable[[AgentEvent], None]], ToolCaller],
        tool_names: frozenset[str],
        store: Store | None,
    ) -> None:
        self.machine = machine
        self.events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        """The events to report; None at the end."""
        self._model = model
        self._make_request = make_request
        self._caller = make_caller(self.events.put_nowait)
        self._tool_names = tool_names
        self._store = store
        self._inbox: asyncio.Queue[MachineEvent | Exception] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        """The request to the model and the calls in progress."""

    async def drive(self, question: str | Message | None) -> None:
        """Run to the end. Raises the errors of the store, and unexpected exceptions."""
        try:
            finish = await self._execute(self.machine.handle(UserMessage(question)))
            while finish is None:
                event = await self._inbox.get()
                if isinstance(event, Exception):
                    raise event
                finish = await self._execute(self.machine.handle(event))
            await self._cancel_tasks()
            self.events.put_nowait(self._result(finish))
        except asyncio.CancelledError:
            await self._stop()
            raise
        finally:
            await self._cancel_tasks()
            self.events.put_nowait(None)

    def _result(self, finish: FinishRun) -> RunResult:
        thread = self.machine.current
        return RunResult(
            phase=finish.phase,
            stop=finish.why,
            usage=thread.usage,
            text=self.machine.text,
            conversation=thread.conversation,
        )

    async def _stop(self) -> None:
        """Stop everything and save the results so far, because the caller closed the run."""
        await self._cancel_tasks()
        while not self._inbox.empty():
            event = self._inbox.get_nowait()
            if isinstance(event, ToolReturned):
                self.machine.handle(event)
        if self.machine.phase in (Phase.ASKING, Phase.RUNNING):
            for command in self.machine.handle(StopRequested()):
                if isinstance(command, SaveSession):
                    await self._save(command.thread)

    async def _cancel_tasks(self) -> None:
        """Cancel the request to the model and the wait for calls. A recorded call continues."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _start_task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end_task)

    def _end_task(self, task: asyncio.Task[None]) -> None:
        """Pass an unexpected exception of a task to the caller of the run."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._inbox.put_nowait(error)

    async def _execute(self, commands: list[Command]) -> FinishRun | None:
        finish: FinishRun | None = None
        for command in commands:
            match command:
                case SaveSession(thread):
                    await self._save(thread)
                case CallModel(turn):
                    self._start_task(self._call_model(turn))
                case RunTool():
                    self._start_task(self._run_tool(command))
                case FinishRun():
                    finish = command
        return finish

    async def _save(self, thread: Thread) -> None:
        if self._store is not None:
            await self._store.save(thread)

    async def _run_tool(self, command: RunTool) -> None:
        outcome = await self._caller.run(command)
        if isinstance(outcome, Edit):  # the machine saves the edit, then runs the call
            self._inbox.put_nowait(ArgumentsEdited(command.number, outcome.text))
        else:
            self._inbox.put_nowait(ToolReturned(command.number, outcome))

    # --- the model ---

    async def _call_model(self, turn: int) -> None:
        try:
            await self._ask(turn)
        except (ModelError, InputError) as error:
            self._inbox.put_nowait(ModelFailed(str(error)))

    async def _ask(self, turn: int) -> None:
        """Ask once. A history that the server refuses is repaired once and sent again."""
        request = self._make_request(self.machine.thread)
        self.events.put_nowait(
            ModelRequest(
                turn, self._model.name, changes=tuple(request.changes), losses=tuple(request.losses)
            )
        )
        try:
            await self._read_response(self._model.ask(request))
        except ModelError as error:
            if not error.defect:
                raise
            repaired = repair_request(request, self._model.target, error.message)
            if repaired is None:
                raise
            why = f"the history was refused ({error.message}) and repaired"
            self.events.put_nowait(Retry(why, changes=tuple(repaired.changes)))
            await self._read_response(self._model.ask(repaired))

    async def _read_response(self, response: ModelEvents) -> None:
        """Report the response; a call runs as soon as it is complete."""
        gives_ids = needs_ids(self._model.target)
        open_parts = Accumulator()
        before: list[Part] = []
        async for event in response:
            if gives_ids and isinstance(event, events.PartStart | events.PartComplete):
                event = replace(event, part=with_wire_id(event.part))
            if isinstance(event, ModelReply):
                message = self._read_reply(event.message, gives_ids=gives_ids)
                self._inbox.put_nowait(ModelReplied(message, event.usage))
                return
            if isinstance(event, Retry):
                open_parts, before = Accumulator(), []
            self.events.put_nowait(event)
            part = _complete_part(event, open_parts)
            if isinstance(part, Call) and part.executor == "client":
                self._inbox.put_nowait(CallComplete(part, tuple(before)))
            elif isinstance(part, Text):
                before.append(part)
        raise ModelError("the model's response has no end", transient=True)

    def _read_reply(self, message: Message, *, gives_ids: bool) -> Message:
        message = read_calls_in_text(
            message, self._tool_names, native_tools=self._model.native_tools
        )
        if gives_ids and message.wire != TEXT_WIRE:
            return replace(message, parts=tuple(map(with_wire_id, message.parts)))
        return message


def _complete_part(event: events.Event | Retry, open_parts: Accumulator) -> Part | None:
    """Return the part that an event completes."""
    match event:
        case events.PartStart(choice=0):
            open_parts.start(event)
        case events.PartDelta(slot=slot) if slot in open_parts:
            open_parts.delta(event)
        case events.PartEnd(slot=slot, cut=cut) if slot in open_parts:
            whole = with_late_id(open_parts.end(event), event)
            return None if cut else whole
        case events.PartComplete(part=part, choice=0):
            return part
    return None


def repair_request(request: Encoded, target: str, error_text: str) -> Encoded | None:
    """Return a refused request, repaired for its profile or else for its wire; None if there is
    nothing to repair."""
    wire = resolve(target)[0].name
    for name in dict.fromkeys((target, wire)):
        repaired = repair_refused(request.body, name, error_text)
        if repaired.changes:
            return Encoded(
                repaired.body,
                request.losses,
                request.ids.after_repair(repaired.ids),
                changes=repaired.changes,
            )
    return None
