"""What one Event of Google ADK says: its parts, whose it is, and whether a later one repeats it.

Parts are those of Gemini; everything else an Event has belongs to the log. Knows nothing of whole
logs or streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import raise_unexpected
from toolwire.wires.families.contents.parts import parts
from toolwire.wires.families.contents.settings import MODEL, USAGE, both, keys, pick

NAME = "adk"
CONFIRM = "adk_request_confirmation"
"""The name of the call with which ADK asks leave for another."""
AGENT = "agent"
"""The author of what an assistant of another wire said."""
PARTS = parts(NAME, thinks=True)


def read_event(event: JSON, path: JsonPath) -> Message:
    """One Event; it has no parts if it has no content."""
    if not isinstance(event, dict):
        raise_unexpected(NAME, path, "an object", event)
    content = event.get("content")
    read = PARTS.read_content({} if content is None else content, (*path, "content"), "user")
    if isinstance(content, str):
        raise_unexpected(NAME, (*path, "content"), "an object", content)
    held = pick(event, "actions")
    noted = pick(held, "requestedToolConfirmations") if isinstance(held, dict) else None
    parts = tuple([_asking(part, noted) for part in read.parts])
    return Message(_role(event, parts), parts, None, NAME, source=Source(raw=event, path=path))


def _asking(part: Part, noted: JSON) -> Part:
    """A call that asks leave for another, or what stands for the result of that one while nobody
    answered; else the part."""
    if isinstance(part, Call) and part.name == CONFIRM:
        asked = part.input.get("originalFunctionCall") if isinstance(part.input, dict) else None
        one = asked.get("id") if isinstance(asked, dict) else None
        return replace(part, approval_for=one) if isinstance(one, str) and one else part
    if isinstance(part, Result) and isinstance(noted, dict) and part.call_id in noted:
        return replace(part, preliminary=True)
    return part


def noted(result: Result) -> Result:
    """What answers a call that the agent left to others: a note, unless it says that the call
    failed."""
    return replace(result, preliminary=True) if not result.error else result


def _role(event: Object, inside: tuple[Part, ...]) -> Role:
    said, author = get(event, ("content", "role")), event.get("author")
    if author == "user" or (not author and said != "model"):
        return "user"
    answers = [isinstance(part, Result) and part.executor == "client" for part in inside]
    return (
        "tool" if answers and (all(answers) or (any(answers) and said != "model")) else "assistant"
    )


KNOWN = keys("id", "invocationId", "author", "content", "timestamp", "partial", "turnComplete")
ANSWER = KNOWN | keys("modelVersion", "usageMetadata", "finishReason", "longRunningToolIds")
_INSIDE = keys("actions", "nodeInfo", "content")


def says(value: JSON) -> bool:
    """Whether a field says anything: ADK writes out all its empty defaults."""
    if isinstance(value, dict):
        return any(map(says, value.values()))
    return bool(value)


def extra(event: Object, path: JsonPath, known: frozenset[str]) -> Iterator[JsonPath]:
    """The places of what an Event says beyond its content."""
    for key, value in event.items():
        if key in _INSIDE and isinstance(value, dict):
            skip = keys("role", "parts") if key == "content" else frozenset()
            yield from (
                (*path, key, name)
                for name, inner in value.items()
                if name not in skip and says(inner)
            )
        elif (
            key not in known
            and says(value)
            and (key, value) not in (("finishReason", "STOP"), ("finish_reason", "STOP"))
        ):
            yield (*path, key)


def fragments(events: list[Message]) -> set[int]:
    """The events, by number, that are only fragments of later ones."""
    partial = [i for i, event in enumerate(events) if get(event.raw, ("partial",)) is True]  # type: ignore[arg-type]
    if not partial:
        return set()
    whole = {
        part.id
        for i, event in enumerate(events)
        if i not in partial
        for part in event.parts
        if isinstance(part, Call)
    }
    answered = {
        part.call_id
        for event in events
        for part in event.parts
        if isinstance(part, Result) and part.call_id
    }
    alone = answered - whole
    return {
        i
        for i in partial
        if not any(isinstance(part, Call) and part.id in alone for part in events[i].parts)
    }


def left_open(event: Object, call: Call) -> bool | None:
    """Whether the agent leaves a call to others; what answers it in the same run is only a note.
    None if it does not say."""
    listed = pick(event, "longRunningToolIds")
    return call.id in listed if isinstance(listed, list) else None


def block_of(part: Part, context: EncodeContext) -> JSON:
    """A part of another wire as a block. What was run has an id, even one that was made up: in a
    run nothing is without."""
    write = PARTS.foreign[type(part)]
    if not isinstance(part, Call | Result) or part.executor == "client":
        return write(part, context)
    before, context.minted_ids_sent = context.minted_ids_sent, True
    block = write(part, context)
    context.minted_ids_sent = before
    return block


def marked(written: Iterable[tuple[Part, JSON]]) -> Object:
    """The field that says which of the calls among some parts, with their blocks, are left to
    whoever reads the Event.

    It stands wherever there are calls, and is left out where one that waits has no id to be named
    by.
    """
    calls = [
        (part, get(block, ("functionCall", "id")))
        for part, block in written
        if isinstance(part, Call)
    ]
    ids: list[JSON] = [
        one for part, one in calls if part.executor == "client" and isinstance(one, str)
    ]
    nameless = any(part.executor == "client" and not isinstance(one, str) for part, one in calls)
    return {"longRunningToolIds": ids} if calls and not nameless else {}


def trailing(event: Object) -> bool:
    """Whether it is no Event but what a server sends last when a run failed."""
    return event.get("error") is not None and "content" not in event and "author" not in event


# --- settings -------------------------------------------------------------------------------------

FIELDS = both(
    SettingSpec(
        "id", ("invocationId",)
    ),  # one run, one answer: an Event's own id is another in every Event
    MODEL,
    SettingSpec(
        "created", ("timestamp",), lambda v: int(v) if isinstance(v, int | float) else UNSET
    ),
    USAGE,
)
SETTINGS = frozenset(one.path[0] for one in FIELDS)


def added(one: Usage, other: Usage) -> Usage:
    """The tokens of two turns."""
    counts = ((getattr(one, name), getattr(other, name)) for name in Usage.__struct_fields__)
    return Usage(*(None if a is None and b is None else (a or 0) + (b or 0) for a, b in counts))
