"""Convert outcomes to results for the model, and find calls that a model wrote into its text.

Every call gets a result that a model can read, so that no history stays open. Text that toolwire
wrote, not the tool, is marked.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from toolwire.agent.thread import PLAIN_WIRE, TEXT_WIRE, calls_of, without_surrogates
from toolwire.codec import decode, resolve
from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.parts import MARK, Call, Message, Part, Result, Text
from toolwire.errors import InputError, suggest
from toolwire.execution.tool_call import ToolCallResult
from toolwire.streaming.events import PartEnd

STATE_TEXT = {
    "running": "the call is still running elsewhere; its result is not known yet",
    "lost": "the call was started, and its outcome is unknown; it was not run again",
    "mismatch": "another call is recorded under this id, so the call was not run",
    "gone": "the call ran before, and its result is no longer stored; it was not run again",
    "unavailable": "the call could not be recorded, so it was not run",
    "too-old": "the call is older than the ledger's records, so it was not run",
}
"""The text that a model gets for a call without an outcome, by the state of its record."""


def error_result(call: Call, why: str) -> Result:
    """Return the result of a call that no tool answered."""
    return call.result(without_surrogates(f"{MARK} {why}"), error=True)


def unknown_tool_result(call: Call, known: Collection[str]) -> Result:
    """Return the result of a call of a tool that does not exist."""
    return error_result(call, f"there is no tool {call.name!r}{suggest(call.name, sorted(known))}")


def result_of(call: Call, answer: ToolCallResult) -> Result:
    """Return the result of a call that the executor handled."""
    outcome = answer.outcome
    if outcome is None:
        return error_result(call, STATE_TEXT[answer.state])
    if outcome.failure is None:
        return call.result(_clean(outcome.value))
    lines = [outcome.failure.message]
    if outcome.failure.additional_prompt_content:
        lines.append(outcome.failure.additional_prompt_content)
    return call.result(without_surrogates("\n".join(lines)), error=True)


def _clean(value: JSON) -> JSON:
    """Return a value without lone surrogates in its texts."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): _clean(item) for key, item in value.items()}
    return value


def shorten(call: Call, result: Result, longest: int) -> Result:
    """Return the result, cut with a note if it has more than `longest` characters."""
    if isinstance(result.output, tuple):
        return result
    text = result.output if isinstance(result.output, str) else text_of(result.output)
    if len(text) <= longest:
        return result
    note = f"\n{MARK} cut: {len(text):,} characters, of which the first {longest:,} are here"
    return call.result(text[:longest] + note, error=result.error)


def arguments_of(call: Call) -> dict[str, JSON] | None:
    """Return the arguments of a call; None if they are not an object."""
    value = call.input
    return value if isinstance(value, dict) else None


def with_late_id(part: Part, event: PartEnd) -> Part:
    """Return a complete part; a call under the id that its wire sent at the end."""
    if isinstance(part, Call) and event.alias is not None:
        return replace(part, id=event.alias, origin="wire")
    return part


def needs_ids(target: str) -> bool:
    """True if calls have ids on a wire, so that a call without one gets one that is sent."""
    profile = resolve(target)[1]
    return profile.requires_ids or profile.wire == PLAIN_WIRE


def with_wire_id(part: Part) -> Part:
    """Return a call with a new wire id if its server sent none."""
    if not isinstance(part, Call) or part.origin != "minted" or part.executor != "client":
        return part
    return replace(
        part,
        id=f"call_{digest(part.id)}",
        origin="wire",
        source=replace(part.source, original=part.original or part),
    )


def read_calls_in_text(message: Message, names: Collection[str], *, native_tools: bool) -> Message:
    """Return a response with the calls that the model wrote into its text.

    A response with other calls is returned unchanged. If the model has a tool API, the calls in its
    text count only if all of them name defined tools.
    """
    text = "".join(part.text for part in message.parts if isinstance(part, Text))
    if calls_of(message) or not text or (native_tools and not names):
        return message
    try:
        body: JSON = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        read = decode(body, TEXT_WIRE, "response").messages[0]
    except (InputError, IndexError):
        return message
    calls = calls_of(read)
    if calls and (not native_tools or all(call.name in names for call in calls)):
        return replace(read, stop="tool")
    if native_tools:
        return message
    source = replace(message.source, raw=read.raw, spec=read.spec)
    return replace(message, wire=TEXT_WIRE, parts=read.parts, source=source)
