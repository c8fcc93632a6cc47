"""One Event of Google ADK: its role, its parts and its settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, SettingsRead, read_settings
from toolwire.wires.engine.specs import raise_unexpected
from toolwire.wires.families.contents.parts import CAPABILITIES as CONTENTS
from toolwire.wires.families.contents.parts import ContentParts
from toolwire.wires.families.contents.settings import MODEL, USAGE
from toolwire.wires.families.contents.spelling import both_spellings, get_field, spellings

NAME = "adk"
AGENT = "agent"
"""The author of assistant messages of other wires."""
CONFIRMATION = "adk_request_confirmation"
"""The name of the call with which ADK requests approval of another call."""
PARTS = ContentParts(NAME)
CAPABILITIES = replace(CONTENTS, candidates=False, tool_definitions=False, read_by_model=False)


# --- reading --------------------------------------------------------------------------------------


def read_event(event: JSON, path: JsonPath) -> Message:
    """Read one Event; without content it has no parts."""
    if not isinstance(event, dict):
        raise_unexpected(NAME, path, dict, event)
    content = event.get("content")
    if isinstance(content, str):
        raise_unexpected(NAME, (*path, "content"), dict, content)
    read = PARTS.read_content({} if content is None else content, (*path, "content"), "user")
    actions = get_field(event, "actions")
    requested: JSON = None
    if isinstance(actions, dict):
        requested = get_field(actions, "requestedToolConfirmations")
    parts = tuple([_with_approval(part, requested) for part in read.parts])
    return Message(_role(event, parts), parts, None, NAME, source=Source(raw=event, path=path))


def _with_approval(part: Part, requested: JSON) -> Part:
    """Mark a call that requests approval, and a preliminary result of the call that it is about.

    `requested` has the ids of the calls for which the Event requests approval.
    """
    if isinstance(part, Call) and part.name == CONFIRMATION:
        call_id = get(part.input, ("originalFunctionCall", "id"))
        if isinstance(call_id, str) and call_id:
            return replace(part, approval_for=call_id)
    elif isinstance(part, Result) and isinstance(requested, dict) and part.call_id in requested:
        return replace(part, preliminary=True)
    return part


def as_progress(result: Result) -> Result:
    """The result of a call that is left to the client: progress, unless it is an error."""
    return result if result.error else replace(result, preliminary=True)


def _role(event: Object, parts: tuple[Part, ...]) -> Role:
    role, author = get(event, ("content", "role")), event.get("author")
    if author == "user" or (not author and role != "model"):
        return "user"
    results = [isinstance(part, Result) and part.executor == "client" for part in parts]
    if any(results) and (all(results) or role != "model"):
        return "tool"
    return "assistant"


def fragments(events: list[Message]) -> set[int]:
    """The indexes of partial Events, except those with a call that has a result and is not
    repeated."""
    partial = [i for i, event in enumerate(events) if _is_partial(event)]
    if not partial:
        return set()
    complete = {
        part.id
        for event in events
        if not _is_partial(event)
        for part in event.parts
        if isinstance(part, Call)
    }
    answered = {
        part.call_id
        for event in events
        for part in event.parts
        if isinstance(part, Result) and part.call_id
    }
    unrepeated = answered - complete
    return {
        i
        for i in partial
        if not any(isinstance(part, Call) and part.id in unrepeated for part in events[i].parts)
    }


def _is_partial(event: Message) -> bool:
    return isinstance(event.raw, dict) and event.raw.get("partial") is True


def is_for_client(event: Object, call: Call) -> bool | None:
    """True if an Event leaves a call to the client; None if the Event does not state it, or the
    call has no id by which it could."""
    ids = get_field(event, "longRunningToolIds")
    return call.id in ids if isinstance(ids, list) and call.origin != "minted" else None


def with_executor(call: Call, event: Object) -> Call:
    """The call of a run with its executor, if its Event states who runs it."""
    return replace(call, executor="provider") if is_for_client(event, call) is False else call


def is_error_record(record: Object) -> bool:
    """True for the last record of a failed run, which is not an Event."""
    return record.get("error") is not None and "content" not in record and "author" not in record


# --- fields beside the content --------------------------------------------------------------------

LOG_FIELDS = spellings(
    "id", "invocationId", "author", "content", "timestamp", "partial", "turnComplete"
)
RUN_FIELDS = LOG_FIELDS | spellings(
    "modelVersion", "usageMetadata", "finishReason", "longRunningToolIds"
)
_LOOKED_INTO = spellings("actions", "nodeInfo", "content")
_CONTENT_FIELDS = spellings("role", "parts")
_NORMAL_FINISH = (("finishReason", "STOP"), ("finish_reason", "STOP"))


def is_set(value: JSON) -> bool:
    """False for null and for empty texts, lists and objects: ADK writes such defaults."""
    if isinstance(value, dict):
        return any(map(is_set, value.values()))
    return value not in (None, "", [])


def unknown_fields(event: Object, path: JsonPath, known: Collection[str]) -> Iterator[JsonPath]:
    """The paths of fields of an Event that have no neutral form."""
    for key, value in event.items():
        if key in _LOOKED_INTO and isinstance(value, dict):
            skipped = _CONTENT_FIELDS if key == "content" else frozenset()
            for name, inner in value.items():
                if name not in skipped and is_set(inner):
                    yield (*path, key, name)
        elif key not in known and is_set(value) and (key, value) not in _NORMAL_FINISH:
            yield (*path, key)


SETTINGS = both_spellings(
    # A run is one answer; the id of an Event differs in every Event.
    SettingSpec("id", ("invocationId",)),
    MODEL,
    SettingSpec(
        "created",
        ("timestamp",),
        read=lambda value: int(value) if isinstance(value, int | float) else UNSET,
    ),
    USAGE,
)
_SETTING_FIELDS = frozenset(SETTINGS.readers)


def read_event_settings(event: Object) -> SettingsRead:
    """The settings of an Event."""
    fields = {key: value for key, value in event.items() if key in _SETTING_FIELDS}
    return read_settings(SETTINGS, fields, frozenset())


def add_usage(usage: Usage, more: Usage) -> Usage:
    """The sum of two token counts."""
    counts = ((getattr(usage, name), getattr(more, name)) for name in Usage.__struct_fields__)
    return Usage(*(None if a is None and b is None else (a or 0) + (b or 0) for a, b in counts))


# --- writing --------------------------------------------------------------------------------------


def write_block(part: Part, context: EncodeContext) -> JSON:
    """Write a part of a run. Calls that the agent ran, and their results, always have ids."""
    write = PARTS.writers[type(part)]
    if not isinstance(part, Call | Result) or part.executor == "client":
        return write(part, context)
    previous, context.minted_ids_sent = context.minted_ids_sent, True
    block = write(part, context)
    context.minted_ids_sent = previous
    return block


def answer_event(head: Object, written: Sequence[tuple[Part, JSON]]) -> Object:
    """An Event of a run with either parts of the model or results."""
    role = "user" if written and isinstance(written[0][0], Result) else "model"
    content: JSON = {"role": role, "parts": [block for _, block in written]}
    return {**head, **_client_calls(written), "content": content}


def _client_calls(written: Iterable[tuple[Part, JSON]]) -> Object:
    """The field that lists the calls that are left to the client.

    It is present if there are calls, but absent if one of the client's calls has no id.
    """
    calls = [
        (part, get(block, ("functionCall", "id")))
        for part, block in written
        if isinstance(part, Call)
    ]
    ids: list[JSON] = []
    for call, call_id in calls:
        if call.executor == "client":
            if not isinstance(call_id, str):
                return {}
            ids.append(call_id)
    return {"longRunningToolIds": ids} if calls else {}
