"""The phases of a run, and the transitions between them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class Phase(StrEnum):
    """The phase of a run."""

    READY = "ready"
    ASKING = "asking"
    """The run waits for the model."""
    RUNNING = "running"
    """The response is complete, and some of its calls still run."""
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


Move: TypeAlias = Literal[
    "ask", "call", "edit", "result", "answer", "calls", "results", "limit", "fail", "stop"
]
MOVES: dict[tuple[Phase, Move], Phase] = {
    (Phase.READY, "ask"): Phase.ASKING,
    (Phase.READY, "calls"): Phase.RUNNING,  # resumed with open calls
    (Phase.READY, "answer"): Phase.DONE,  # resumed after the final answer
    (Phase.DONE, "ask"): Phase.ASKING,
    (Phase.FAILED, "ask"): Phase.ASKING,
    (Phase.STOPPED, "ask"): Phase.ASKING,
    (Phase.ASKING, "call"): Phase.ASKING,  # a call is complete, the response goes on
    (Phase.ASKING, "edit"): Phase.ASKING,
    (Phase.ASKING, "result"): Phase.ASKING,
    (Phase.ASKING, "answer"): Phase.DONE,  # the response has no calls
    (Phase.ASKING, "calls"): Phase.RUNNING,  # the response is complete, results are missing
    (Phase.ASKING, "results"): Phase.ASKING,  # the response is complete, all results are there
    (Phase.ASKING, "limit"): Phase.STOPPED,
    (Phase.ASKING, "fail"): Phase.FAILED,
    (Phase.ASKING, "stop"): Phase.STOPPED,
    (Phase.RUNNING, "edit"): Phase.RUNNING,
    (Phase.RUNNING, "result"): Phase.RUNNING,
    (Phase.RUNNING, "results"): Phase.ASKING,
    (Phase.RUNNING, "limit"): Phase.STOPPED,
    (Phase.RUNNING, "stop"): Phase.STOPPED,
}
"""The phase after each move; other moves are invalid."""


def next_phase(phase: Phase, move: Move) -> Phase:
    """Return the phase after a move. Raises ValueError if the move is not in the table."""
    try:
        return MOVES[phase, move]
    except KeyError:
        raise ValueError(f"{move} while {phase}") from None


def diagram() -> str:
    """Return the table as a Mermaid state diagram."""
    moves: dict[tuple[Phase, Phase], list[str]] = {}
    for (source, move), target in MOVES.items():
        moves.setdefault((source, target), []).append(move)
    arrows = (
        f"    {source} --> {target}: {', '.join(names)}"
        for (source, target), names in moves.items()
    )
    return "\n".join(("stateDiagram-v2", f"    [*] --> {Phase.READY}", *arrows))
