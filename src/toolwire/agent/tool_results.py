"""What a call comes to, as a result under its id; and what a model said, as calls.

Every way a call can end has a result that a model can read, so that no history stays open. What was
made here, and not by the tool, is marked. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from msgspec.structs import replace

from toolwire.agent.thread import PLAIN, SPOKEN, calls_of, readable
from toolwire.codec import decode, resolve
from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.parts import Call, Message, Part, Result, Text
from toolwire.errors import InputError
from toolwire.execution.tool_call import ToolCallResult
from toolwire.streaming.events import PartEnd

MARK = "[toolwire]"
"""How a text begins that no tool has said."""

FINISH_REASON_TO_WIRE = {
    "running": "it is still running elsewhere; its result is not known yet",
    "lost": "it was started, and it is not known how it ended; it was not run again",
    "mismatch": "another call was recorded under the id of this one, so it was not run",
    "gone": "it ran before, and its result is no longer kept; it was not run again",
    "unavailable": "it could not be recorded, so it was not run",
    "too-old": "it is older than the record of calls, so it was not run",
}
"""What a model is told about a call that has no outcome, by the state of its record."""


def failed(call: Call, why: str) -> Result:
    """The result of a call that no tool has answered."""
    return call.result(readable(f"{MARK} {why}"), error=True)


def refused(call: Call, known: Collection[str]) -> Result:
    """The result of a call of a tool that there is not."""
    near = get_close_matches(call.name, list(known), 3, 0.5) or sorted(known)[:20]
    return failed(call, f"there is no tool {call.name!r}; there are: {', '.join(near) or 'none'}")


def outcome_of(call: Call, answer: ToolCallResult) -> Result:
    """What became of a call as its result."""
    outcome = answer.outcome
    if outcome is None:
        return failed(call, FINISH_REASON_TO_WIRE[answer.state])
    if outcome.failure is None:
        return call.result(_readable(outcome.value))
    told = [outcome.failure.message]
    if outcome.failure.additional_prompt_content:
        told.append(outcome.failure.additional_prompt_content)
    return call.result(readable("\n".join(told)), error=True)


def _readable(value: JSON) -> JSON:
    """A value with every text in it readable."""
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, list):
        return [_readable(one) for one in value]
    if isinstance(value, dict):
        return {readable(key): _readable(one) for key, one in value.items()}
    return value


def cut(call: Call, result: Result, longest: int) -> Result:
    """The result, with its end left out and a mark in its place if it is longer than a model should
    get."""
    if isinstance(result.output, tuple):
        return result
    text = result.output if isinstance(result.output, str) else text_of(result.output)
    if len(text) <= longest:
        return result
    left = f"\n{MARK} cut: {len(text):,} characters, of which the first {longest:,} are here"
    return call.result(text[:longest] + left, error=result.error)


def arguments_of(call: Call) -> dict[str, JSON] | None:
    """The arguments of a call; None if they are not an object."""
    value = call.input
    return value if isinstance(value, dict) else None


def named(part: Part, event: PartEnd) -> Part:
    """A part that is over; a call under the id that its wire gave it late."""
    return (
        replace(part, id=event.alias, origin="wire")
        if isinstance(part, Call) and event.alias is not None
        else part
    )


def adopts(target: str) -> bool:
    """Whether calls have ids on a wire, so that one without gets one that is sent."""
    rules = resolve(target)[1]
    return rules.requires_ids or rules.wire == PLAIN


def adopted(part: Part) -> Part:
    """A call that its server left without an id, or gave the id of another: under one that is sent
    back like any other."""
    if not isinstance(part, Call) or part.origin != "minted" or part.executor != "client":
        return part
    return replace(
        part,
        id=f"call_{digest(part.id)}",
        origin="wire",
        source=replace(part.source, original=part.original or part),
    )


def in_text(message: Message, names: Collection[str], *, native: bool) -> Message:
    """An answer with the calls that a model without tools of its own has written into its text.

    A model that has tools may do it too; it is taken at its word only if it calls nothing natively
    and names tools that there are.
    """
    text = "".join(part.text for part in message.parts if isinstance(part, Text))
    if calls_of(message) or not text or (native and not names):
        return message
    try:
        read = decode(
            {"choices": [{"message": {"role": "assistant", "content": text}}]}, SPOKEN, "response"
        ).messages[0]
    except (InputError, IndexError):
        return message
    calls = calls_of(read)
    if not calls or (native and any(call.name not in names for call in calls)):
        return (
            replace(
                message,
                wire=SPOKEN,
                parts=read.parts,
                source=replace(message.source, raw=read.raw, spec=read.spec),
            )
            if not native
            else message
        )
    return replace(read, stop="tool")
