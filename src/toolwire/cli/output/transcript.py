"""An agent run while it happens: readable lines, or JSON lines.

Each call gets a letter, and its result shows the same letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import click

from toolwire.agent.events import ModelRequest, Retry, RunResult, ToolFinished, ToolStarted
from toolwire.agent.phases import Phase
from toolwire.cli.output.printable import to_printable
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.model import real_losses
from toolwire.conversation.parts import Call, Reasoning, Text
from toolwire.streaming import events

if TYPE_CHECKING:
    from toolwire.agent.events import AgentEvent

MAX_TEXT = 400
"""How many characters of arguments and results are shown."""


class EventWriter(Protocol):
    """Writes the events of a run."""

    def write(self, event: AgentEvent) -> None: ...

    def start_line(self) -> None: ...


class Transcript:
    """Readable lines on stdout; remarks on stderr."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._calls = 0
        self._letters: dict[int, str] = {}
        self._turn = 0
        self._open_texts: dict[int, bool] = {}
        """The open texts by slot; False for reasoning."""
        self._at_line_start = True

    def write(self, event: AgentEvent) -> None:
        match event:
            case ModelRequest(turn=turn, changes=changes):
                self._turn = turn
                self._letters = {}
                for change in changes:
                    self._remark(f"repaired {change}")
            case Retry(why=why, wait=wait):
                self._remark(f"retry in {wait:.1f} s: {why}" if wait else f"retry: {why}")
            case events.PartStart(slot=slot, part=Text()):
                self._open_texts[slot] = True
                self.start_line()
            case events.PartStart(slot=slot, part=Reasoning()):
                self._open_texts[slot] = False
                self.start_line()
            case events.PartDelta(slot=slot, text=text) if slot in self._open_texts:
                self._write_text(text, dim=not self._open_texts[slot])
            case events.PartEnd(slot=slot) if self._open_texts.pop(slot, None) is not None:
                self.start_line()
            case ToolStarted(number=n, call=call):
                self._write_call(n, call)
            case ToolFinished():
                self._write_result(event)
            case RunResult():
                self._write_end(event)

    def start_line(self) -> None:
        """Start a new line, unless the cursor is at the start of one."""
        if not self._at_line_start:
            click.echo()
            self._at_line_start = True

    def _write_call(self, number: int, call: Call) -> None:
        self.start_line()
        line = f"{self._letter(number)} → {to_printable(call.name)} {_shorten(call.arguments)}"
        self._write_line(line, "cyan")

    def _write_result(self, event: ToolFinished) -> None:
        if event.number not in self._letters:  # The tool never started.
            self._write_call(event.number, event.call)
        self.start_line()
        result = event.result
        if isinstance(result.output, str):
            text = result.output
        else:
            text = result.text or text_of(_to_json(result.output))
        notes = [f"{event.seconds:.2f} s"]
        if event.state not in ("done", "failed"):
            notes.append(event.state)
        if event.replayed:
            notes.append("replayed")
        line = f"{self._letter(event.number)} ← {_shorten(text)}  ({', '.join(notes)})"
        self._write_line(line, "red" if result.error else "green")

    def _write_end(self, result: RunResult) -> None:
        self.start_line()
        if result.phase is not Phase.DONE:
            self._remark(f"{result.phase}: {result.stop or ''}")
        usage = result.usage
        if usage.input is not None or usage.output is not None:
            turns = "1 turn" if self._turn == 1 else f"{self._turn} turns"
            self._remark(f"{usage.input or 0} tokens in, {usage.output or 0} out, {turns}")

    def _letter(self, number: int) -> str:
        if number not in self._letters:
            self._letters[number] = _letters_of(self._calls)
            self._calls += 1
        return self._letters[number]

    def _write_text(self, text: str, *, dim: bool) -> None:
        if text:
            shown = to_printable(text, keep="\n\t")
            click.echo(click.style(shown, dim=True) if dim and self._colour else shown, nl=False)
            self._at_line_start = shown.endswith("\n")

    def _write_line(self, text: str, colour: str) -> None:
        click.echo(click.style(text, fg=colour) if self._colour else text)

    def _remark(self, text: str) -> None:
        self.start_line()
        line = to_printable(text)
        click.echo(click.style(line, dim=True) if self._colour else line, err=True)


class JsonLines:
    """Every event as one line of JSON, for programs."""

    def write(self, event: AgentEvent) -> None:
        row = _row(event)
        if row is not None:
            click.echo(text_of(row))

    def start_line(self) -> None:
        """Do nothing: every line ends by itself."""


def _row(event: AgentEvent) -> JSON:
    match event:
        case ModelRequest(turn=turn, model=model, changes=changes, losses=losses):
            return {
                "type": "model_request",
                "turn": turn,
                "model": model,
                "changes": list(map(str, changes)),
                "losses": list(map(str, real_losses(losses))),
            }
        case Retry(why=why, wait=wait):
            return {"type": "retry", "why": why, "wait": wait}
        case events.PartDelta(slot=slot, text=text):
            return {"type": "delta", "slot": slot, "text": text}
        case events.PartStart(slot=slot, part=part):
            return {"type": "start", "slot": slot, "part": type(part).__name__.lower()}
        case ToolStarted(number=n, call=call):
            return {
                "type": "call",
                "n": n,
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
        case ToolFinished(
            number=n, call=call, result=result, seconds=seconds, state=state, replayed=replayed
        ):
            return {
                "type": "result",
                "n": n,
                "call_id": call.id,
                "output": _to_json(result.output),
                "error": result.error,
                "seconds": round(seconds, 6),
                "state": state,
                "replayed": replayed,
            }
        case RunResult(phase=phase, stop=why, usage=usage, text=text):
            return {
                "type": "run_result",
                "phase": str(phase),
                "why": why,
                "text": text,
                "usage": {"input": usage.input, "output": usage.output},
            }
    return None


def _to_json(output: object) -> JSON:
    """Return an output as JSON; parts become their texts."""
    if isinstance(output, tuple):
        return [str(getattr(part, "text", "") or type(part).__name__.lower()) for part in output]
    return output  # type: ignore[return-value]  # It is JSON if it is not parts.


def _shorten(text: str) -> str:
    line = to_printable(text)
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}… ({len(text):,} characters)"


def _letters_of(number: int) -> str:
    """Return A, B, … Z, AA, AB, …"""
    letters = ""
    while True:
        letters = chr(65 + number % 26) + letters
        number = number // 26 - 1
        if number < 0:
            return letters
