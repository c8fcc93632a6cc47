"""The machine: the moves that are possible in each phase, and the commands of each event."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import pytest
from rows import rows

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
from toolwire.agent.machine import AgentMachine
from toolwire.agent.phases import MOVES, Move, Phase, diagram, next_phase
from toolwire.agent.session_format import dump_thread, load_thread
from toolwire.agent.thread import Thread, calls_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Result, Text

ONE = Call("c1", "ring", LazyJson('{"n":1}'))
TWO = Call("c2", "ring", LazyJson('{"n":2}'))
FINAL = Message("assistant", (Text("hello"),), "stop")


def asks(*calls: Call) -> Message:
    return Message("assistant", calls, "tool")


def machine(*events: MachineEvent, turns: int = 50) -> AgentMachine:
    made = AgentMachine(Thread("t"), turns=turns)
    for event in events:
        made.handle(event)
    return made


REACHED: dict[Phase, Callable[[], AgentMachine]] = {
    Phase.READY: machine,
    Phase.ASKING: lambda: machine(UserMessage("hi")),
    Phase.RUNNING: lambda: machine(UserMessage("hi"), ModelReplied(asks(ONE, TWO))),
    Phase.DONE: lambda: machine(UserMessage("hi"), ModelReplied(FINAL)),
    Phase.FAILED: lambda: machine(UserMessage("hi"), ModelFailed("no")),
    Phase.STOPPED: lambda: machine(UserMessage("hi"), StopRequested()),
}
SINGLE: tuple[MachineEvent, ...] = (
    UserMessage("more"),
    CallComplete(TWO),
    ModelReplied(FINAL),
    ModelReplied(asks(ONE)),
    ToolReturned(0, ONE.result("x")),
    ArgumentsEdited(0, "{}"),
    ModelFailed("no"),
    StopRequested(),
)
NAMES: tuple[Move, ...] = (
    "ask",
    "call",
    "edit",
    "result",
    "answer",
    "calls",
    "results",
    "limit",
    "fail",
    "stop",
)


def machine_in(phase: Phase, *, calls: bool = False, last: bool = False) -> AgentMachine:
    """A machine in a phase: with `calls`, a call is running; with `last`, this is the last turn."""
    made = REACHED[phase]()
    if calls and phase is Phase.ASKING:
        made.handle(CallComplete(ONE))
    if last:
        made.turns = 1
    return made


def results(made: AgentMachine) -> list[Command]:
    """Make the move `results`, whichever event brings the last result."""
    if made.phase is Phase.RUNNING:
        made.handle(ToolReturned(0, ONE.result("x")))
        return made.handle(ToolReturned(1, TWO.result("y")))
    made.handle(ToolReturned(0, ONE.result("x")))
    return made.handle(ModelReplied(asks(ONE)))


def calls(made: AgentMachine) -> list[Command]:
    if made.phase is Phase.READY:
        made.thread = Thread("t").add_user("hi").add_reply(asks(ONE))
        return made.handle(UserMessage())
    return made.handle(ModelReplied(asks(ONE)))


def answer(made: AgentMachine) -> list[Command]:
    if made.phase is Phase.READY:
        made.thread = Thread("t").add_user("hi").add_reply(FINAL)
        return made.handle(UserMessage())
    return made.handle(ModelReplied(FINAL))


EVENTS: dict[Move, tuple[Callable[[AgentMachine], list[Command]], bool, bool]] = {
    "ask": (lambda made: made.handle(UserMessage("more")), False, False),
    "call": (lambda made: made.handle(CallComplete(ONE)), False, False),
    "edit": (lambda made: made.handle(ArgumentsEdited(0, "{}")), True, False),
    "result": (lambda made: made.handle(ToolReturned(0, ONE.result("x"))), True, False),
    "answer": (answer, False, False),
    "calls": (calls, False, False),
    "results": (results, True, False),
    "limit": (results, True, True),
    "fail": (lambda made: made.handle(ModelFailed("no")), False, False),
    "stop": (lambda made: made.handle(StopRequested()), False, False),
}
"""How to make each move, whether it needs a running call, and whether it needs the last turn."""


@rows("phase, move", product(Phase, NAMES))
def test_every_move_leads_where_the_table_says_or_is_refused(phase: Phase, move: Move) -> None:
    make, runs, last = EVENTS[move]
    if (phase, move) in MOVES:
        made = machine_in(phase, calls=runs, last=last)
        make(made)
        assert made.phase is next_phase(phase, move) is MOVES[phase, move]
        return
    with pytest.raises(ValueError, match=f"{move} while {phase}"):
        next_phase(phase, move)


@rows("phase, event", product(Phase, SINGLE))
def test_an_invalid_event_changes_nothing(phase: Phase, event: MachineEvent) -> None:
    made = REACHED[phase]()
    before = dump_thread(made.current)
    try:
        made.handle(event)
    except ValueError as error:
        assert f"while {phase}" in str(error)
        assert made.phase is phase and dump_thread(made.current) == before
    else:
        assert made.phase in {end for (start, _), end in MOVES.items() if start is phase}


def test_the_table_names_all_moves() -> None:
    assert {move for _, move in MOVES} == set(NAMES) == set(EVENTS)
    assert {phase for phase, _ in MOVES} | set(MOVES.values()) == set(Phase)


def test_the_diagram_has_an_arrow_for_every_row() -> None:
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    for (before, move), end in MOVES.items():
        assert any(
            line.strip().startswith(f"{before} --> {end}: ") and move in line for line in lines
        )


def test_a_turn_is_saved_before_anything_of_it_is_done() -> None:
    made = AgentMachine(Thread("t"))
    assert [type(one) for one in made.handle(UserMessage("hi"))] == [SaveSession, CallModel]
    assert [type(one) for one in made.handle(CallComplete(ONE))] == [SaveSession, RunTool]
    assert [type(one) for one in made.handle(ModelReplied(asks(ONE, TWO), Usage(3, 4)))] == [
        SaveSession,
        RunTool,
    ]
    assert [type(one) for one in made.handle(ToolReturned(1, TWO.result("y")))] == [SaveSession]
    assert [type(one) for one in made.handle(ToolReturned(0, ONE.result("x")))] == [
        SaveSession,
        CallModel,
    ]
    assert [type(one) for one in made.handle(ModelReplied(FINAL, Usage(1, None)))] == [
        SaveSession,
        FinishRun,
    ]
    assert made.thread.usage == Usage(4, 4)


def results_of(thread: Thread) -> list[tuple[str, object]]:
    return [
        (part.call_id, part.output)
        for message in thread.messages
        for part in message.parts
        if isinstance(part, Result)
    ]


def test_results_stand_in_the_order_of_their_calls_whenever_they_come() -> None:
    made = machine(
        UserMessage("hi"),
        ModelReplied(asks(ONE, TWO)),
        ToolReturned(1, TWO.result("y")),
        ToolReturned(0, ONE.result("x")),
    )
    assert results_of(made.thread) == [("c1", "x"), ("c2", "y")]


def test_calls_that_are_complete_in_another_order_than_the_answer_has_them_keep_their_results() -> (
    None
):
    made = machine(
        UserMessage("hi"), CallComplete(TWO), CallComplete(ONE), ToolReturned(0, TWO.result("y"))
    )
    made.handle(ModelReplied(asks(ONE, TWO)))
    made.handle(ToolReturned(1, ONE.result("x")))
    assert results_of(made.thread) == [("c1", "x"), ("c2", "y")]
    assert [call.id for call in calls_of(made.thread.messages[1])] == ["c1", "c2"]


def test_in_whatever_order_calls_are_complete_and_run_each_result_stands_with_its_call() -> None:
    three = [Call(f"c{n}", "ring", LazyJson(f'{{"n":{n}}}')) for n in range(3)]
    for begun, ran, early in product(permutations(three), permutations(range(3)), range(4)):
        made = machine(UserMessage("hi"), *(CallComplete(call) for call in begun))
        for n in ran[:early]:
            made.handle(ToolReturned(n, begun[n].result(begun[n].id)))
        made.handle(ModelReplied(asks(*three)))
        for n in ran[early:]:
            made.handle(ToolReturned(n, begun[n].result(begun[n].id)))
        assert (
            results_of(made.thread) == [(call.id, call.id) for call in three]
            and made.phase is Phase.ASKING
        )


def test_a_call_that_the_answer_has_under_another_id_is_not_run_twice() -> None:
    late = Call("tw-0123456789abcdef", "ring", LazyJson('{"n":1}'), "minted")
    made = machine(UserMessage("hi"), CallComplete(late), ToolReturned(0, late.result("x")))
    said = made.handle(ModelReplied(asks(ONE)))
    assert [type(one) for one in said] == [SaveSession, CallModel]
    assert results_of(made.thread) == [(late.id, "x")]
    assert [call.id for call in calls_of(made.thread.messages[1])] == [late.id]


def test_a_call_that_ran_is_reported_even_if_the_final_answer_lacks_it() -> None:
    made = machine(UserMessage("hi"), CallComplete(ONE), ToolReturned(0, ONE.result("x")))
    made.handle(ModelReplied(Message("assistant", (Text("never mind"),), "stop")))
    assert results_of(made.thread) == [("c1", "x")]
    assert made.phase is Phase.ASKING


def test_two_calls_under_one_id_run_under_two() -> None:
    twin = Call("c1", "ring", LazyJson('{"n":2}'))
    made = machine(UserMessage("hi"))
    runs = [
        one
        for call in (ONE, twin)
        for one in made.handle(CallComplete(call))
        if isinstance(one, RunTool)
    ]
    made.handle(ModelReplied(asks(ONE, twin)))
    made.handle(ToolReturned(1, runs[1].call.result("y")))
    made.handle(ToolReturned(0, runs[0].call.result("x")))
    ids = [call.id for call in calls_of(made.thread.messages[1])]
    assert len(set(ids)) == 2 and ids[0] == "c1"
    assert results_of(made.thread) == [(ids[0], "x"), (ids[1], "y")]
    assert runs[0].key != runs[1].key


def test_keys_are_the_same_when_the_thread_is_taken_up_again_and_differ_from_turn_to_turn() -> None:
    made = machine(UserMessage("hi"))
    first = [one for one in made.handle(ModelReplied(asks(ONE, TWO))) if isinstance(one, RunTool)]
    kept = load_thread(dump_thread(made.current), thread_id="other")
    again = [one for one in AgentMachine(kept).handle(UserMessage()) if isinstance(one, RunTool)]
    assert [(one.call.id, one.key) for one in again] == [(one.call.id, one.key) for one in first]
    assert [one.resumed for one in again] == [True, True]
    made.handle(ToolReturned(0, ONE.result("x")))
    made.handle(ToolReturned(1, TWO.result("y")))
    later = [one for one in made.handle(ModelReplied(asks(ONE))) if isinstance(one, RunTool)]
    assert later[0].key not in {one.key for one in first}


def test_an_edit_is_kept_before_the_call_runs_and_stays_when_the_answer_is_over() -> None:
    made = machine(UserMessage("hi"), CallComplete(ONE))
    said = made.handle(ArgumentsEdited(0, '{"n":9}'))
    assert isinstance(said[0], SaveSession) and isinstance(said[1], RunTool)
    assert said[1].edited and said[1].call.arguments == '{"n":9}'
    assert calls_of(said[0].thread.messages[1])[0].arguments == '{"n":9}'
    made.handle(ModelReplied(asks(ONE)))
    assert calls_of(made.current.messages[1])[0].arguments == '{"n":9}'


def test_an_answer_without_a_word_is_not_sent_back() -> None:
    for nothing in (Message("assistant", (), "stop"), Message("assistant", (Text(""),), "stop")):
        made = machine(UserMessage("hi"), ModelReplied(nothing))
        assert made.phase is Phase.DONE
        assert [message.role for message in made.thread.messages] == ["user"]


def test_a_thread_that_is_over_is_not_asked_again() -> None:
    assert AgentMachine(Thread("t").add_user("hi").add_reply(FINAL)).handle(UserMessage()) == [
        FinishRun(Phase.DONE, None)
    ]
    assert AgentMachine(Thread("t")).handle(UserMessage()) == [
        FinishRun(Phase.DONE, "nothing was asked")
    ]


def test_a_thread_whose_results_are_all_there_goes_on_with_the_model() -> None:
    kept = Thread("t").add_user("hi").add_reply(asks(ONE), [ONE.result("x")])
    assert [type(one) for one in AgentMachine(kept).handle(UserMessage())] == [
        SaveSession,
        CallModel,
    ]


def test_the_limit_of_turns_ends_with_every_result_in_the_history() -> None:
    made = machine(UserMessage("hi"), ModelReplied(asks(ONE)), turns=1)
    said = made.handle(ToolReturned(0, ONE.result("x")))
    assert said[-1] == FinishRun(Phase.STOPPED, "1 turn")
    assert results_of(made.thread) == [("c1", "x")]


def test_a_model_that_paused_is_asked_to_go_on() -> None:
    made = machine(UserMessage("hi"))
    said = made.handle(ModelReplied(Message("assistant", (Text("wait"),), "pause")))
    assert [type(one) for one in said] == [SaveSession, CallModel] and made.phase is Phase.ASKING
    assert [message.role for message in made.thread.messages] == ["user", "assistant"]
