"""A loop as people read it while it happens: what the model says, its calls, their results, and the
threads between them.

A letter stands for a call; its result bears the same. Knows no verb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import click

from toolwire.agent.events import ModelRequest, Retry, RunResult, ToolFinished, ToolStarted
from toolwire.agent.phases import Phase
from toolwire.cli.framework.usage_error import printable
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.parts import Call, Reasoning, Text
from toolwire.streaming import events

if TYPE_CHECKING:
    from toolwire.agent.events import AgentEvent

LONGEST = 400
"""Of arguments and results, so many characters are shown."""


class Watcher(Protocol):
    """Shows what happens."""

    def take(self, seen: AgentEvent) -> None: ...

    def line(self) -> None: ...


class Transcript:
    """Readable lines on stdout; remarks on stderr."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._calls = 0
        self._letters: dict[int, str] = {}
        self._turn = 0
        self._texts: dict[int, bool] = {}
        self._fresh = True
        """Whether the cursor is at the start of a line."""

    def take(self, seen: AgentEvent) -> None:
        match seen:
            case ModelRequest(turn=turn, changes=changes):
                self._turn = turn
                self._letters = {}
                for change in changes:
                    self._remark(f"repaired {change}")
            case Retry(why=why, wait=wait):
                self._remark(f"again in {wait:.1f} s: {why}" if wait else f"again: {why}")
            case events.PartStart(slot=slot, part=Text()):
                self._texts[slot] = True
                self.line()
            case events.PartStart(slot=slot, part=Reasoning()):
                self._texts[slot] = False
                self.line()
            case events.PartDelta(slot=slot, text=text) if slot in self._texts:
                self._write(text, dim=not self._texts[slot])
            case events.PartEnd(slot=slot) if self._texts.pop(slot, None) is not None:
                self.line()
            case ToolStarted(number=n, call=call):
                self._begin(n, call)
            case ToolFinished(
                number=n, call=call, result=result, seconds=seconds, state=state, replayed=replayed
            ):
                if n not in self._letters:  # it was never run
                    self._begin(n, call)
                self.line()
                told = (
                    result.output
                    if isinstance(result.output, str)
                    else result.text or text_of(_plain(result.output))
                )
                how = [state] if state not in ("done", "failed") else []
                noted = [f"{seconds:.2f} s", *how, *(["recorded"] if replayed else [])]
                self._say(
                    f"{self._letter(n)} ← {_short(told)}  ({', '.join(noted)})",
                    "red" if result.error else "green",
                )
            case RunResult(phase=phase, stop=why, usage=usage):
                self.line()
                if phase is not Phase.DONE:
                    self._remark(f"{phase}: {why or ''}")
                if usage.input is not None or usage.output is not None:
                    turns = "1 turn" if self._turn == 1 else f"{self._turn} turns"
                    self._remark(f"{usage.input or 0} tokens in, {usage.output or 0} out, {turns}")

    def _begin(self, n: int, call: Call) -> None:
        self.line()
        self._say(f"{self._letter(n)} → {printable(call.name)} {_short(call.arguments)}", "cyan")

    def _letter(self, n: int) -> str:
        if n not in self._letters:
            self._letters[n] = _name(self._calls)
            self._calls += 1
        return self._letters[n]

    def _write(self, text: str, *, dim: bool) -> None:
        if text:
            shown = "".join(
                one if one in "\n\t" or one.isprintable() else ascii(one)[1:-1] for one in text
            )
            click.echo(click.style(shown, dim=True) if dim and self._colour else shown, nl=False)
            self._fresh = shown.endswith("\n")

    def line(self) -> None:
        """Begin a new line, unless this is one."""
        if not self._fresh:
            click.echo()
            self._fresh = True

    def _say(self, text: str, colour: str) -> None:
        click.echo(click.style(text, fg=colour) if self._colour else text)

    def _remark(self, text: str) -> None:
        self.line()
        click.echo(
            click.style(printable(text), dim=True) if self._colour else printable(text), err=True
        )


class Lines:
    """Everything as JSON, one line each, for programs."""

    def take(self, seen: AgentEvent) -> None:
        row = _row(seen)
        if row is not None:
            click.echo(text_of(row))

    def line(self) -> None:
        """Every line ends by itself."""


def _row(seen: AgentEvent) -> JSON:
    match seen:
        case ModelRequest(turn=turn, model=model, changes=changes, losses=losses):
            return {
                "type": "asking",
                "turn": turn,
                "model": model,
                "changes": list(map(str, changes)),
                "losses": list(map(str, losses)),
            }
        case Retry(why=why, wait=wait):
            return {"type": "again", "why": why, "wait": wait}
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
                "output": _plain(result.output),
                "error": result.error,
                "seconds": round(seconds, 6),
                "state": state,
                "replayed": replayed,
            }
        case RunResult(phase=phase, stop=why, usage=usage, text=text):
            return {
                "type": "over",
                "phase": str(phase),
                "why": why,
                "text": text,
                "usage": {"input": usage.input, "output": usage.output},
            }
    return None


def _plain(output: object) -> JSON:
    """A result as JSON; of parts, their texts."""
    if isinstance(output, tuple):
        return [str(getattr(part, "text", "") or type(part).__name__.lower()) for part in output]
    return output  # type: ignore[return-value]  # it is JSON if it is not parts


def _short(text: str) -> str:
    line = printable(text)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(text):,} characters)"


def _name(n: int) -> str:
    """A, B, … Z, AA, AB, …"""
    out = ""
    while True:
        out = chr(65 + n % 26) + out
        n = n // 26 - 1
        if n < 0:
            return out
