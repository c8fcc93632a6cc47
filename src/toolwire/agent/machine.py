"""The loop of an agent as a machine: events in, commands out.

The model is asked; each call of its answer is run as soon as it is complete; when the answer is
over and every call has its result, the model is asked again, until it calls nothing. Which state
follows which is a table. Does nothing itself: no clock, no socket.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolwire.agent.thread import Thread, calls_of
from toolwire.conversation.ids import digest
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Part, Result, Source, Text


class Phase(StrEnum):
    """What the loop is doing."""

    READY = "ready"
    ASKING = "asking"
    RUNNING = "running"
    DONE = "done"
    BROKEN = "broken"
    STOPPED = "stopped"


Move: TypeAlias = Literal[
    "ask", "call", "edit", "ran", "answer", "calls", "results", "limit", "break", "stop"
]
MOVES: dict[tuple[Phase, Move], Phase] = {
    (Phase.READY, "ask"): Phase.ASKING,
    (Phase.READY, "calls"): Phase.RUNNING,  # taken up again with calls that were still open
    (Phase.READY, "answer"): Phase.DONE,  # taken up again, and the model had already said all
    (Phase.DONE, "ask"): Phase.ASKING,
    (Phase.BROKEN, "ask"): Phase.ASKING,
    (Phase.STOPPED, "ask"): Phase.ASKING,
    (Phase.ASKING, "call"): Phase.ASKING,  # a call is complete while the answer goes on
    (Phase.ASKING, "edit"): Phase.ASKING,
    (Phase.ASKING, "ran"): Phase.ASKING,
    (Phase.ASKING, "answer"): Phase.DONE,  # it calls nothing
    (Phase.ASKING, "calls"): Phase.RUNNING,  # it is over, and results are missing
    (
        Phase.ASKING,
        "results",
    ): Phase.ASKING,  # it is over, and every call already has its result: the next turn
    (Phase.ASKING, "limit"): Phase.STOPPED,
    (Phase.ASKING, "break"): Phase.BROKEN,
    (Phase.ASKING, "stop"): Phase.STOPPED,
    (Phase.RUNNING, "edit"): Phase.RUNNING,
    (Phase.RUNNING, "ran"): Phase.RUNNING,
    (Phase.RUNNING, "results"): Phase.ASKING,
    (Phase.RUNNING, "limit"): Phase.STOPPED,
    (Phase.RUNNING, "stop"): Phase.STOPPED,
}
"""Whatever is not in here does not happen."""


def after(phase: Phase, move: Move) -> Phase:
    """The phase that follows. Raises ValueError if the move is not in the table."""
    try:
        return MOVES[phase, move]
    except KeyError:
        raise ValueError(f"{move} while {phase}") from None


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    moves: dict[tuple[Phase, Phase], list[str]] = {}
    for (before, move), after in MOVES.items():
        moves.setdefault((before, after), []).append(move)
    arrows = (
        f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in moves.items()
    )
    return "\n".join(("stateDiagram-v2", f"    [*] --> {Phase.READY}", *arrows))


class UserMessage(Struct, frozen=True):
    """The user speaks; or nobody does, and the model goes on from what is there."""

    message: str | Message | None = None


class ModelReplied(Struct, frozen=True):
    """A call of the answer is complete, though the answer may go on. `before`: what was said so
    far."""

    call: Call
    before: tuple[Part, ...] = ()


class ApprovalGiven(Struct, frozen=True):
    """The answer is over."""

    message: Message
    usage: Usage | None = None


class ToolsRan(Struct, frozen=True):
    """A call has its result, under the number it was given."""

    n: int
    result: Result


class ArgumentsEdited(Struct, frozen=True):
    """Somebody changed the arguments of a call before it ran: it is told as it is run."""

    n: int
    arguments: str


class ModelFailed(Struct, frozen=True):
    """The model could not be asked, or its answer broke off, for good."""

    why: str


class StopRequested(Struct, frozen=True):
    """Somebody wants it to stop."""


Event: TypeAlias = (
    "UserMessage | ModelReplied | ApprovalGiven | ArgumentsEdited | ToolsRan | ModelFailed"
    " | StopRequested"
)


class CallModel(Struct, frozen=True):
    """Ask the model for the next answer to the thread."""

    turn: int


class RunTools(Struct, frozen=True):
    """Run a call. `key`: the id to record it under."""

    n: int
    call: Call
    key: str
    again: bool = False
    """Whether it may have run before: the record decides."""
    edited: bool = False
    """Whether somebody has looked at it and changed it: it is kept as it is now, and may run."""


class SaveSession(Struct, frozen=True):
    """Keep the thread as it is now."""

    thread: Thread


class FinishRun(Struct, frozen=True):
    """It is over: the model is done, a limit is reached, something broke or somebody stopped it."""

    phase: Phase
    why: str | None = None


Command: TypeAlias = "CallModel | RunTools | SaveSession | FinishRun"


class AgentMachine:
    """One run of the loop over a thread."""

    def __init__(self, thread: Thread, *, turns: int = 50) -> None:
        self.thread = thread
        """Up to the last turn that is whole."""
        self.phase = Phase.READY
        self.said = ""
        """What the model said last, in this run; of a thread that is over already, what it had
        said."""
        self.turn = 0
        self.turns = turns
        """So many answers at most."""
        self._answer: Message | None = None
        """What the model said in this turn, as far as it is known."""
        self._calls: list[Call] = []
        """Its calls by their numbers: in the order in which they were complete."""
        self._given: list[str] = []
        """The ids that the model gave them."""
        self._keys: list[str] = []
        self._results: dict[int, Result] = {}
        self._edits: set[int] = set()
        self._again = False

    @property
    def now(self) -> Thread:
        """The thread with the turn that is under way."""
        if self._answer is None:
            return self.thread
        return self.thread.answered(self._answer, self._told())

    def take(self, event: Event) -> list[Command]:
        """What is to be done after an event. Raises ValueError if it cannot happen now."""
        match event:
            case UserMessage(message):
                return self._ask(message)
            case ModelReplied(call, before):
                return self._complete(call, before)
            case ApprovalGiven(message, usage):
                return self._answered(message, usage)
            case ToolsRan(n, result):
                return self._ran(n, result)
            case ArgumentsEdited(n, arguments):
                return self._edited(n, arguments)
            case ModelFailed(why):
                self._move("break")
                return [SaveSession(self.now), FinishRun(self.phase, why)]
            case StopRequested():
                self._move("stop")
                return [SaveSession(self.now), FinishRun(self.phase, "stopped")]

    def _move(self, move: Move) -> None:
        self.phase = after(self.phase, move)

    # --- the user ---

    def _ask(self, message: str | Message | None) -> list[Command]:
        if message is None and self._answer is None:
            left = self.thread.waiting()
            if left is not None:
                return self._resumed(*left)
            if self.thread.over:
                self._move("answer")
                self.said = self.thread.last
                return [
                    FinishRun(self.phase, None if self.thread.messages else "nothing was asked")
                ]
        self._move("ask")
        self.thread = self.now if message is None else self.now.said(message)
        self._clear()
        self.turn = 1
        return [SaveSession(self.thread), CallModel(self.turn)]

    def _resumed(self, before: Thread, answer: Message, results: list[Result]) -> list[Command]:
        """Take up the calls of the last answer that have no result yet. Saved first: the thread may
        have got its id just now."""
        self._move("calls")
        self.thread, self._answer, self.turn, self._again = before, answer, 1, True
        free = list(results)
        for n, call in enumerate(calls_of(answer)):
            self._number(call, call.id)
            told = next((result for result in free if result.call_id == call.id), None)
            if told is not None:
                self._results[n] = told
                free.remove(told)
        return [
            SaveSession(self.now),
            *(self._run(n) for n in range(len(self._calls)) if n not in self._results),
        ]

    # --- the model ---

    def _complete(self, call: Call, before: tuple[Part, ...]) -> list[Command]:
        self._move("call")
        n = self._number(self._only(call), call.id)
        said = [part for part in before if not isinstance(part, Call)]
        self._answer = Message("assistant", (*said, *self._calls))
        return [SaveSession(self.now), self._run(n)]

    def _answered(self, message: Message, usage: Usage | None) -> list[Command]:
        """The answer as it is kept. Calls that were begun while it came are found in it again,
        wherever they stand there."""
        after(self.phase, "answer")  # nothing is touched if it cannot be
        begun = len(self._calls)
        left = list(range(begun))
        parts: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Call) or part.executor != "client":
                parts.append(part)
                continue
            n = self._begun(part, left)
            if n is None:
                n = self._number(self._only(part), part.id)
            else:
                left.remove(n)
            self._calls[n] = self._kept(part, n)
            parts.append(self._calls[n])
        parts += [
            self._calls[n] for n in left
        ]  # it ran: whatever the answer says in the end, the call is told
        same = len(parts) == len(message.parts) and all(map(_is, parts, message.parts))
        self._answer = message if same else replace(message, parts=tuple(parts))
        self.said = "".join(part.text for part in parts if isinstance(part, Text))
        self.thread = self.thread.spent(usage)
        if (
            not self._calls and message.stop == "pause"
        ):  # a provider whose own tools take long: it goes on when it is asked
            return self._next()
        if not self._calls:
            self._move("answer")
            self.thread = (
                self.now if any(map(_says, parts)) else self.thread
            )  # nothing is not sent back: it is refused
            self._clear()
            return [SaveSession(self.thread), FinishRun(self.phase, message.stop)]
        if len(self._results) == len(self._calls):
            return self._next()
        self._move("calls")
        return [SaveSession(self.now), *(self._run(n) for n in range(begun, len(self._calls)))]

    def _begun(self, call: Call, left: list[int]) -> int | None:
        """The number of a call that was begun: by its id, else by what it says."""
        by_id = [n for n in left if self._given[n] == call.id]
        alike = [n for n in by_id or left if self._calls[n].name == call.name]
        exact = [n for n in alike if self._calls[n].arguments == call.arguments]
        return next(iter(exact or by_id or alike), None)

    def _kept(self, call: Call, n: int) -> Call:
        """The call as the answer has it, under the id and with the arguments with which it runs."""
        begun = self._calls[n]
        new = call if begun.id == call.id else replace(call, id=begun.id)
        new = replace(new, args=begun.args) if n in self._edits else new
        return call if new is call else _like(call, new)

    def _only(self, call: Call) -> Call:
        """The call under an id that no other call of this answer has."""
        taken = {one.id for one in self._calls}
        salt = 0
        made = call.id
        while made in taken:
            made = f"{call.id[:24]}_{digest(call.id, len(self._calls), salt)[:8]}"
            salt += 1
        return call if made == call.id else replace(call, id=made)

    def _number(self, call: Call, given: str) -> int:
        self._calls.append(call)
        self._given.append(given)
        n = len(self._calls) - 1
        self._keys.append(self.thread.key(call, n))
        return n

    # --- the tools ---

    def _known(self, n: int) -> None:
        if n >= len(self._calls):
            raise ValueError(f"no call {n} while {self.phase}")

    def _ran(self, n: int, result: Result) -> list[Command]:
        self._known(n)
        if self.phase is Phase.RUNNING and len(self._results.keys() | {n}) == len(self._calls):
            self._results[n] = result
            return self._next()
        self._move("ran")
        self._results[n] = result
        return [SaveSession(self.now)]

    def _edited(self, n: int, arguments: str) -> list[Command]:
        """It is kept as it is now before it runs."""
        self._known(n)
        self._move("edit")
        assert self._answer is not None
        call = self._calls[n]
        self._edits.add(n)
        self._calls[n] = new = _like(call, replace(call, args=LazyJson(arguments)))
        parts = tuple(new if part is call else part for part in self._answer.parts)
        self._answer = replace(self._answer, parts=parts)
        return [SaveSession(self.now), replace(self._run(n), edited=True)]

    def _next(self) -> list[Command]:
        """Every call has its result: the next turn, if there may be one."""
        self.thread = self.now
        self._clear()
        if self.turn >= self.turns:
            self._move("limit")
            return [
                SaveSession(self.thread),
                FinishRun(self.phase, f"{self.turns} turn{'s' * (self.turns != 1)}"),
            ]
        self._move("results")
        self.turn += 1
        return [SaveSession(self.thread), CallModel(self.turn)]

    def _run(self, n: int) -> RunTools:
        return RunTools(n, self._calls[n], self._keys[n], self._again)

    def _told(self) -> Sequence[Result]:
        """The results there are, in the order in which the answer has their calls, each under the
        id that its call has now."""
        assert self._answer is not None
        number = {id(call): n for n, call in enumerate(self._calls)}
        there = [(call, self._results.get(number[id(call)])) for call in calls_of(self._answer)]
        return [
            call.result(result.output, error=result.error)
            for call, result in there
            if result is not None
        ]

    def _clear(self) -> None:
        self._answer, self._again = None, False
        self._calls, self._given, self._keys, self._results, self._edits = [], [], [], {}, set()


def _like(part: Part, new: Call) -> Call:
    """A call that differs from what its wire said, and that its wire can still write as the call it
    was."""
    return replace(
        new,
        source=Source(raw=part.raw, path=part.path, spec=part.spec, original=part.original or part),
    )


def _is(one: Part, other: Part) -> bool:
    return one is other


def _says(part: Part) -> bool:
    return not isinstance(part, Text) or bool(part.text)
