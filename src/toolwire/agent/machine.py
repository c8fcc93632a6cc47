"""The agent loop as a machine without I/O: events in, commands out.

The model is asked. Each call of its response runs as soon as it is complete. When the response is
complete and every call has its result, the model is asked again, until it calls nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from msgspec.structs import replace

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
from toolwire.agent.phases import Move, Phase, next_phase
from toolwire.agent.thread import Thread, calls_of
from toolwire.conversation.ids import digest
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Usage
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Message, Part, Result, Source, Text


class AgentMachine:
    """One run over a thread."""

    def __init__(self, thread: Thread, *, turns: int = 50) -> None:
        self.thread = thread
        """The thread up to the last complete turn."""
        self.phase = Phase.READY
        self.text = ""
        """The last text of the model."""
        self.turn = 0
        self.turns = turns
        """The maximum number of turns."""
        self._reply: Message | None = None
        """The response of this turn so far."""
        self._calls: list[Call] = []
        """The calls of the response, in the order in which they were completed."""
        self._model_ids: list[str] = []
        """The model's ids of these calls."""
        self._keys: list[str] = []
        self._results: dict[int, Result] = {}
        self._edited: set[int] = set()
        self._resumed = False

    @property
    def current(self) -> Thread:
        """The thread with the turn in progress."""
        if self._reply is None:
            return self.thread
        return self.thread.add_reply(self._reply, self._results_in_order())

    def handle(self, event: MachineEvent) -> list[Command]:
        """Return the commands that follow from an event. Raises ValueError if the phase forbids
        it."""
        match event:
            case UserMessage(message):
                return self._ask(message)
            case CallComplete(call, before):
                return self._start_call(call, before)
            case ModelReplied(message, usage):
                return self._take_reply(message, usage)
            case ToolReturned(number, result):
                return self._take_result(number, result)
            case ArgumentsEdited(number, arguments):
                return self._edit(number, arguments)
            case ModelFailed(why):
                self._move("fail")
                return [SaveSession(self.current), FinishRun(self.phase, why)]
            case StopRequested():
                self._move("stop")
                return [SaveSession(self.current), FinishRun(self.phase, "stopped")]

    def _move(self, move: Move) -> None:
        self.phase = next_phase(self.phase, move)

    # --- the user ---

    def _ask(self, message: str | Message | None) -> list[Command]:
        if message is None and self._reply is None:
            open_turn = self.thread.open_turn()
            if open_turn is not None:
                return self._resume(*open_turn)
            if self.thread.over:
                self._move("answer")
                self.text = self.thread.last_text
                why = None if self.thread.messages else "nothing was asked"
                return [FinishRun(self.phase, why)]
        self._move("ask")
        self.thread = self.current if message is None else self.current.add_user(message)
        self._clear()
        self.turn = 1
        return [SaveSession(self.thread), CallModel(self.turn)]

    def _resume(self, before: Thread, reply: Message, results: list[Result]) -> list[Command]:
        """Continue with the open calls of the last response.

        The thread is saved first, because its id may be new.
        """
        self._move("calls")
        self.thread, self._reply, self.turn, self._resumed = before, reply, 1, True
        unused = list(results)
        for number, call in enumerate(calls_of(reply)):
            self._add_call(call, call.id)
            found = next((result for result in unused if result.call_id == call.id), None)
            if found is not None:
                self._results[number] = found
                unused.remove(found)
        open_calls = [n for n in range(len(self._calls)) if n not in self._results]
        return [SaveSession(self.current), *map(self._run_command, open_calls)]

    # --- the model ---

    def _start_call(self, call: Call, before: tuple[Part, ...]) -> list[Command]:
        self._move("call")
        number = self._add_call(self._with_unique_id(call), call.id)
        rest = [part for part in before if not isinstance(part, Call)]
        self._reply = Message("assistant", (*rest, *self._calls))
        return [SaveSession(self.current), self._run_command(number)]

    def _take_reply(self, message: Message, usage: Usage | None) -> list[Command]:
        """Take the complete response, and match its calls with those that have started, in any
        order."""
        next_phase(self.phase, "answer")  # raises before anything is changed
        started = len(self._calls)
        parts = self._match_parts(message)
        same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
        self._reply = message if same else replace(message, parts=tuple(parts))
        self.text = "".join(part.text for part in parts if isinstance(part, Text))
        self.thread = self.thread.add_usage(usage)
        if not self._calls and message.stop == "pause":
            return self._next_turn()  # a long server tool continues with the next request
        if not self._calls:
            self._move("answer")
            if any(map(_has_content, parts)):  # providers refuse empty messages in a history
                self.thread = self.current
            self._clear()
            return [SaveSession(self.thread), FinishRun(self.phase, message.stop)]
        if len(self._results) == len(self._calls):
            return self._next_turn()
        self._move("calls")
        new = range(started, len(self._calls))
        return [SaveSession(self.current), *map(self._run_command, new)]

    def _match_parts(self, message: Message) -> list[Part]:
        """Return the parts of the response, its calls as they run."""
        unmatched = list(range(len(self._calls)))
        parts: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Call) or part.executor != "client":
                parts.append(part)
                continue
            number = self._find_started(part, unmatched)
            if number is None:
                number = self._add_call(self._with_unique_id(part), part.id)
            else:
                unmatched.remove(number)
            self._calls[number] = self._as_started(part, number)
            parts.append(self._calls[number])
        # A call that ran stays in the history, even if the complete response lacks it.
        return [*parts, *(self._calls[number] for number in unmatched)]

    def _find_started(self, call: Call, unmatched: list[int]) -> int | None:
        """Return the number of a call that has started: by its id, else by its content."""
        by_id = [n for n in unmatched if self._model_ids[n] == call.id]
        by_name = [n for n in by_id or unmatched if self._calls[n].name == call.name]
        exact = [n for n in by_name if self._calls[n].arguments == call.arguments]
        return next(iter(exact or by_id or by_name), None)

    def _as_started(self, call: Call, number: int) -> Call:
        """Return the call of the response with the id and the arguments with which it runs."""
        started = self._calls[number]
        new = call if started.id == call.id else replace(call, id=started.id)
        new = replace(new, args=started.args) if number in self._edited else new
        return call if new is call else _with_source(call, new)

    def _with_unique_id(self, call: Call) -> Call:
        """Return the call under an id that no other call of this response has."""
        taken = {other.id for other in self._calls}
        salt = 0
        unique = call.id
        while unique in taken:
            unique = f"{call.id[:24]}_{digest(call.id, len(self._calls), salt)[:8]}"
            salt += 1
        return call if unique == call.id else replace(call, id=unique)

    def _add_call(self, call: Call, model_id: str) -> int:
        number = len(self._calls)
        self._calls.append(call)
        self._model_ids.append(model_id)
        self._keys.append(self.thread.record_key(call, number))
        return number

    # --- the tools ---

    def _require_call(self, number: int) -> None:
        if number >= len(self._calls):
            raise ValueError(f"there is no call {number} while {self.phase}")

    def _take_result(self, number: int, result: Result) -> list[Command]:
        self._require_call(number)
        complete = len(self._results.keys() | {number}) == len(self._calls)
        if self.phase is Phase.RUNNING and complete:
            self._results[number] = result
            return self._next_turn()
        self._move("result")
        self._results[number] = result
        return [SaveSession(self.current)]

    def _edit(self, number: int, arguments: str) -> list[Command]:
        """Change the arguments of a call, and save the change before the call runs."""
        self._require_call(number)
        self._move("edit")
        assert self._reply is not None
        call = self._calls[number]
        self._edited.add(number)
        new = _with_source(call, replace(call, args=LazyJson(arguments)))
        self._calls[number] = new
        parts = tuple(new if part is call else part for part in self._reply.parts)
        self._reply = replace(self._reply, parts=parts)
        return [SaveSession(self.current), replace(self._run_command(number), edited=True)]

    def _next_turn(self) -> list[Command]:
        """Ask again: every call has its result."""
        self.thread = self.current
        self._clear()
        if self.turn >= self.turns:
            self._move("limit")
            why = f"{self.turns} turn{'' if self.turns == 1 else 's'}"
            return [SaveSession(self.thread), FinishRun(self.phase, why)]
        self._move("results")
        self.turn += 1
        return [SaveSession(self.thread), CallModel(self.turn)]

    def _run_command(self, number: int) -> RunTool:
        return RunTool(number, self._calls[number], self._keys[number], self._resumed)

    def _results_in_order(self) -> Sequence[Result]:
        """Return the results in the order of the calls, each under the current id of its call."""
        assert self._reply is not None
        numbers = PartMap((call, number) for number, call in enumerate(self._calls))
        results: list[Result] = []
        for call in calls_of(self._reply):
            result = self._results.get(numbers[call])
            if result is not None:
                results.append(call.result(result.output, error=result.error))
        return results

    def _clear(self) -> None:
        self._reply, self._resumed = None, False
        self._calls, self._model_ids, self._keys = [], [], []
        self._results, self._edited = {}, set()


def _with_source(part: Part, new: Call) -> Call:
    """Return the edited call with the source of the original, so that its wire keeps other
    fields."""
    source = Source(raw=part.raw, path=part.path, spec=part.spec, original=part.original or part)
    return replace(new, source=source)


def _has_content(part: Part) -> bool:
    return not isinstance(part, Text) or bool(part.text)
