"""The machine: which move is possible when, and what each event makes it do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import pytest
from rows import rows

from toolwire.agent.machine import (
    MOVES,
    AgentMachine,
    ApprovalGiven,
    ArgumentsEdited,
    CallModel,
    Command,
    Event,
    FinishRun,
    ModelFailed,
    ModelReplied,
    Move,
    Phase,
    RunTools,
    SaveSession,
    StopRequested,
    ToolsRan,
    UserMessage,
    after,
    diagram,
)
from toolwire.agent.thread import Thread, calls_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Result, Text

ONE = Call("c1", "ring", LazyJson('{"n":1}'))
TWO = Call("c2", "ring", LazyJson('{"n":2}'))
FINISH_REASON_TO_WIRE = Message("assistant", (Text("hello"),), "stop")


def asks(*calls: Call) -> Message:
    return Message("assistant", calls, "tool")


def machine(*events: Event, turns: int = 50) -> AgentMachine:
    made = AgentMachine(Thread("t"), turns=turns)
    for event in events:
        made.take(event)
    return made


REACHED: dict[Phase, Callable[[], AgentMachine]] = {
    Phase.READY: machine,
    Phase.ASKING: lambda: machine(UserMessage("hi")),
    Phase.RUNNING: lambda: machine(UserMessage("hi"), ApprovalGiven(asks(ONE, TWO))),
    Phase.DONE: lambda: machine(UserMessage("hi"), ApprovalGiven(FINISH_REASON_TO_WIRE)),
    Phase.BROKEN: lambda: machine(UserMessage("hi"), ModelFailed("no")),
    Phase.STOPPED: lambda: machine(UserMessage("hi"), StopRequested()),
}
SINGLE: tuple[Event, ...] = (
    UserMessage("more"),
    ModelReplied(TWO),
    ApprovalGiven(FINISH_REASON_TO_WIRE),
    ApprovalGiven(asks(ONE)),
    ToolsRan(0, ONE.result("x")),
    ArgumentsEdited(0, "{}"),
    ModelFailed("no"),
    StopRequested(),
)
NAMES: tuple[Move, ...] = (
    "ask",
    "call",
    "edit",
    "ran",
    "answer",
    "calls",
    "results",
    "limit",
    "break",
    "stop",
)


def begun(phase: Phase, *, calls: bool = False, last: bool = False) -> AgentMachine:
    """A machine in a phase; while it is asking, perhaps with a call that runs; perhaps in the last
    turn it has."""
    made = REACHED[phase]()
    if calls and phase is Phase.ASKING:
        made.take(ModelReplied(ONE))
    if last:
        made.turns = 1
    return made


def results(made: AgentMachine) -> list[Command]:
    """The move that all results make, whichever event brings the last one."""
    if made.phase is Phase.RUNNING:
        made.take(ToolsRan(0, ONE.result("x")))
        return made.take(ToolsRan(1, TWO.result("y")))
    made.take(ToolsRan(0, ONE.result("x")))
    return made.take(ApprovalGiven(asks(ONE)))


def calls(made: AgentMachine) -> list[Command]:
    if made.phase is Phase.READY:
        made.thread = Thread("t").said("hi").answered(asks(ONE))
        return made.take(UserMessage())
    return made.take(ApprovalGiven(asks(ONE)))


def answer(made: AgentMachine) -> list[Command]:
    if made.phase is Phase.READY:
        made.thread = Thread("t").said("hi").answered(FINISH_REASON_TO_WIRE)
        return made.take(UserMessage())
    return made.take(ApprovalGiven(FINISH_REASON_TO_WIRE))


EVENTS: dict[Move, tuple[Callable[[AgentMachine], list[Command]], bool, bool]] = {
    "ask": (lambda made: made.take(UserMessage("more")), False, False),
    "call": (lambda made: made.take(ModelReplied(ONE)), False, False),
    "edit": (lambda made: made.take(ArgumentsEdited(0, "{}")), True, False),
    "ran": (lambda made: made.take(ToolsRan(0, ONE.result("x"))), True, False),
    "answer": (answer, False, False),
    "calls": (calls, False, False),
    "results": (results, True, False),
    "limit": (results, True, True),
    "break": (lambda made: made.take(ModelFailed("no")), False, False),
    "stop": (lambda made: made.take(StopRequested()), False, False),
}
"""How each move is made, whether it takes a call that runs, and whether it is the last turn."""


@rows("phase, move", product(Phase, NAMES))
def test_every_move_leads_where_the_table_says_or_is_refused(phase: Phase, move: Move) -> None:
    make, runs, last = EVENTS[move]
    if (phase, move) in MOVES:
        made = begun(phase, calls=runs, last=last)
        make(made)
        assert made.phase is after(phase, move) is MOVES[phase, move]
        return
    with pytest.raises(ValueError, match=f"{move} while {phase}"):
        after(phase, move)


@rows("phase, event", product(Phase, SINGLE))
def test_an_event_that_cannot_be_changes_nothing(phase: Phase, event: Event) -> None:
    made = REACHED[phase]()
    before = made.now.to_json()
    try:
        made.take(event)
    except ValueError as error:
        assert f"while {phase}" in str(error)
        assert made.phase is phase and made.now.to_json() == before
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
    assert [type(one) for one in made.take(UserMessage("hi"))] == [SaveSession, CallModel]
    assert [type(one) for one in made.take(ModelReplied(ONE))] == [SaveSession, RunTools]
    assert [type(one) for one in made.take(ApprovalGiven(asks(ONE, TWO), Usage(3, 4)))] == [
        SaveSession,
        RunTools,
    ]
    assert [type(one) for one in made.take(ToolsRan(1, TWO.result("y")))] == [SaveSession]
    assert [type(one) for one in made.take(ToolsRan(0, ONE.result("x")))] == [
        SaveSession,
        CallModel,
    ]
    assert [
        type(one) for one in made.take(ApprovalGiven(FINISH_REASON_TO_WIRE, Usage(1, None)))
    ] == [SaveSession, FinishRun]
    assert made.thread.usage == Usage(4, 4)


def told(thread: Thread) -> list[tuple[str, object]]:
    return [
        (part.call_id, part.output)
        for message in thread.messages
        for part in message.parts
        if isinstance(part, Result)
    ]


def test_results_stand_in_the_order_of_their_calls_whenever_they_come() -> None:
    made = machine(
        UserMessage("hi"),
        ApprovalGiven(asks(ONE, TWO)),
        ToolsRan(1, TWO.result("y")),
        ToolsRan(0, ONE.result("x")),
    )
    assert told(made.thread) == [("c1", "x"), ("c2", "y")]


def test_calls_that_are_complete_in_another_order_than_the_answer_has_them_keep_their_results() -> (
    None
):
    made = machine(
        UserMessage("hi"), ModelReplied(TWO), ModelReplied(ONE), ToolsRan(0, TWO.result("y"))
    )
    made.take(ApprovalGiven(asks(ONE, TWO)))
    made.take(ToolsRan(1, ONE.result("x")))
    assert told(made.thread) == [("c1", "x"), ("c2", "y")]
    assert [call.id for call in calls_of(made.thread.messages[1])] == ["c1", "c2"]


def test_in_whatever_order_calls_are_complete_and_run_each_result_stands_with_its_call() -> None:
    three = [Call(f"c{n}", "ring", LazyJson(f'{{"n":{n}}}')) for n in range(3)]
    for begun, ran, early in product(permutations(three), permutations(range(3)), range(4)):
        made = machine(UserMessage("hi"), *(ModelReplied(call) for call in begun))
        for n in ran[:early]:
            made.take(ToolsRan(n, begun[n].result(begun[n].id)))
        made.take(ApprovalGiven(asks(*three)))
        for n in ran[early:]:
            made.take(ToolsRan(n, begun[n].result(begun[n].id)))
        assert (
            told(made.thread) == [(call.id, call.id) for call in three]
            and made.phase is Phase.ASKING
        )


def test_a_call_that_the_answer_has_under_another_id_is_not_run_twice() -> None:
    late = Call("tw-0123456789abcdef", "ring", LazyJson('{"n":1}'), "minted")
    made = machine(UserMessage("hi"), ModelReplied(late), ToolsRan(0, late.result("x")))
    said = made.take(ApprovalGiven(asks(ONE)))
    assert [type(one) for one in said] == [SaveSession, CallModel]
    assert told(made.thread) == [(late.id, "x")]
    assert [call.id for call in calls_of(made.thread.messages[1])] == [late.id]


def test_a_call_that_ran_and_is_not_in_the_answer_after_all_is_told_all_the_same() -> None:
    made = machine(UserMessage("hi"), ModelReplied(ONE), ToolsRan(0, ONE.result("x")))
    made.take(ApprovalGiven(Message("assistant", (Text("never mind"),), "stop")))
    assert told(made.thread) == [("c1", "x")]
    assert made.phase is Phase.ASKING


def test_two_calls_under_one_id_run_under_two() -> None:
    twin = Call("c1", "ring", LazyJson('{"n":2}'))
    made = machine(UserMessage("hi"))
    runs = [
        one
        for call in (ONE, twin)
        for one in made.take(ModelReplied(call))
        if isinstance(one, RunTools)
    ]
    made.take(ApprovalGiven(asks(ONE, twin)))
    made.take(ToolsRan(1, runs[1].call.result("y")))
    made.take(ToolsRan(0, runs[0].call.result("x")))
    ids = [call.id for call in calls_of(made.thread.messages[1])]
    assert len(set(ids)) == 2 and ids[0] == "c1"
    assert told(made.thread) == [(ids[0], "x"), (ids[1], "y")]
    assert runs[0].key != runs[1].key


def test_keys_are_the_same_when_the_thread_is_taken_up_again_and_differ_from_turn_to_turn() -> None:
    made = machine(UserMessage("hi"))
    first = [one for one in made.take(ApprovalGiven(asks(ONE, TWO))) if isinstance(one, RunTools)]
    kept = Thread.of(made.now.to_json(), id="other")
    again = [one for one in AgentMachine(kept).take(UserMessage()) if isinstance(one, RunTools)]
    assert [(one.call.id, one.key) for one in again] == [(one.call.id, one.key) for one in first]
    assert [one.again for one in again] == [True, True]
    made.take(ToolsRan(0, ONE.result("x")))
    made.take(ToolsRan(1, TWO.result("y")))
    later = [one for one in made.take(ApprovalGiven(asks(ONE))) if isinstance(one, RunTools)]
    assert later[0].key not in {one.key for one in first}


def test_an_edit_is_kept_before_the_call_runs_and_stays_when_the_answer_is_over() -> None:
    made = machine(UserMessage("hi"), ModelReplied(ONE))
    said = made.take(ArgumentsEdited(0, '{"n":9}'))
    assert isinstance(said[0], SaveSession) and isinstance(said[1], RunTools)
    assert said[1].edited and said[1].call.arguments == '{"n":9}'
    assert calls_of(said[0].thread.messages[1])[0].arguments == '{"n":9}'
    made.take(ApprovalGiven(asks(ONE)))
    assert calls_of(made.now.messages[1])[0].arguments == '{"n":9}'


def test_an_answer_without_a_word_is_not_sent_back() -> None:
    for nothing in (Message("assistant", (), "stop"), Message("assistant", (Text(""),), "stop")):
        made = machine(UserMessage("hi"), ApprovalGiven(nothing))
        assert made.phase is Phase.DONE
        assert [message.role for message in made.thread.messages] == ["user"]


def test_a_thread_that_is_over_is_not_asked_again() -> None:
    assert AgentMachine(Thread("t").said("hi").answered(FINISH_REASON_TO_WIRE)).take(
        UserMessage()
    ) == [FinishRun(Phase.DONE, None)]
    assert AgentMachine(Thread("t")).take(UserMessage()) == [
        FinishRun(Phase.DONE, "nothing was asked")
    ]


def test_a_thread_whose_results_are_all_there_goes_on_with_the_model() -> None:
    kept = Thread("t").said("hi").answered(asks(ONE), [ONE.result("x")])
    assert [type(one) for one in AgentMachine(kept).take(UserMessage())] == [SaveSession, CallModel]


def test_the_limit_of_turns_ends_with_every_result_told() -> None:
    made = machine(UserMessage("hi"), ApprovalGiven(asks(ONE)), turns=1)
    said = made.take(ToolsRan(0, ONE.result("x")))
    assert said[-1] == FinishRun(Phase.STOPPED, "1 turn")
    assert told(made.thread) == [("c1", "x")]


def test_a_model_that_paused_is_asked_to_go_on() -> None:
    made = machine(UserMessage("hi"))
    said = made.take(ApprovalGiven(Message("assistant", (Text("wait"),), "pause")))
    assert [type(one) for one in said] == [SaveSession, CallModel] and made.phase is Phase.ASKING
    assert [message.role for message in made.thread.messages] == ["user", "assistant"]
