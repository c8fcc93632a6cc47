"""Read logs of Events, and the Events of a run, as conversations, and write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.model import (
    BodySource,
    Choice,
    Conversation,
    Format,
    Kind,
    Setting,
    Usage,
    WebSearch,
)
from toolwire.conversation.parts import Call, Message, Part, Result
from toolwire.wires.adk.confirmations import add_confirmations, new_event, split_decisions
from toolwire.wires.adk.events import (
    AGENT,
    CAPABILITIES,
    LOG_FIELDS,
    NAME,
    PARTS,
    RUN_FIELDS,
    SETTINGS,
    add_usage,
    answer_event,
    as_progress,
    fragments,
    is_for_client,
    is_set,
    read_event,
    read_event_settings,
    unknown_fields,
    write_block,
)
from toolwire.wires.engine.bodies import answer_message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import setting_table, write_settings
from toolwire.wires.engine.specs import list_at, raise_unexpected, require_object
from toolwire.wires.families.contents.settings import finish_reason, read_finish_reason
from toolwire.wires.families.contents.spelling import get_field
from toolwire.wires.families.turns.history import TurnHistory, lacks_ids, merge_turns

# --- reading --------------------------------------------------------------------------------------


def _read_events(body: JSON) -> list[Message]:
    """The Events of a body, which is a session or a list of Events."""
    path: JsonPath = ("events",)
    if isinstance(body, list):
        path = ()
    elif not isinstance(body, dict):
        raise_unexpected(NAME, (), ("a list of events", "a session"), body)
    return [read_event(event, (*path, i)) for i, event in enumerate(list_at(NAME, body, path))]


def _with_events(body: JSON, events: list[JSON]) -> JSON:
    return {**body, "events": events} if isinstance(body, dict) else events


def _raw(event: Message) -> Object:
    assert isinstance(event.raw, dict)
    return event.raw


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a log, or the Events of a run as one answer."""
    events = _read_events(body)
    unknown: list[JsonPath] = []
    if isinstance(body, dict):
        unknown += [(key,) for key, value in body.items() if key != "events" and is_set(value)]
    repeated = fragments(events)
    complete = [event for i, event in enumerate(events) if i not in repeated]
    last = max(
        (i for i, event in enumerate(events) if i not in repeated and event.role == "assistant"),
        default=-1,
    )
    messages: list[Message] = []
    for i, event in enumerate(events):
        if i in repeated:
            if i > last:  # no later Event repeats it
                unknown.append(event.path)
        elif kind == "response" and event.role == "user":
            if event.parts:
                unknown.append(event.path)
        else:
            known = RUN_FIELDS if kind == "response" else LOG_FIELDS
            unknown += unknown_fields(_raw(event), event.path, known)
            if event.parts:
                messages.append(event)
    if kind == "response":
        return _read_run(body, messages, events=complete, unknown=unknown)
    ordered = lacks_ids(messages)
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=ordered),
        wire=NAME,
        kind="request",
        source=BodySource(body, unknown_fields=tuple(unknown), ordered=ordered),
    )


def _read_run(
    body: JSON, messages: list[Message], *, events: list[Message], unknown: list[JsonPath]
) -> Conversation:
    """The Events of a run as one message.

    Token counts add up; for every other setting, the first value counts.
    """
    values: dict[str, Setting] = {}
    paths: dict[str, JsonPath] = {}
    stop: str | None = None
    for event in events:
        if event.role != "assistant":
            continue
        settings = read_event_settings(_raw(event))
        unknown += [event.path + path for path in settings.unknown]
        paths = {**{name: event.path + path for name, path in settings.paths.items()}, **paths}
        usage, more = values.get("usage"), settings.values.get("usage")
        values = {**settings.values, **values}
        if isinstance(usage, Usage) and isinstance(more, Usage):
            values["usage"] = add_usage(usage, more)
        stop = read_finish_reason(get_field(_raw(event), "finishReason")) or stop
    ordered = lacks_ids(messages)
    turns = assign_ids(tuple(messages), seed=str(values.get("id", "")), ordered=ordered)
    message = merge_turns(turns, NAME, ordered=ordered)
    parts = tuple(_assign_executors(message.parts, {event.path: _raw(event) for event in messages}))
    called = any(isinstance(part, Call) and part.executor == "client" for part in parts)
    if called and stop in ("stop", None):
        stop = "tool"
    return Conversation(
        (replace(message, parts=parts, stop=stop),),
        settings=values,
        wire=NAME,
        kind="response",
        source=BodySource(
            body, unknown_fields=tuple(unknown), setting_paths=paths, ordered=ordered
        ),
    )


def _assign_executors(parts: Iterable[Part], events: Mapping[JsonPath, Object]) -> Iterator[Part]:
    """The parts with the executor of each call: as its Event states it, otherwise as its result
    shows."""
    left_open: set[str] = set()
    for part in parts:
        if isinstance(part, Call) and part.family == "function":
            event = events.get(part.path[:-3])
            for_client = None if event is None else is_for_client(event, part)
            if for_client:
                left_open.add(part.id)
            else:
                left_open.discard(part.id)
            if for_client is not None:
                part = replace(part, executor="client" if for_client else "provider")
        elif isinstance(part, Result) and part.call_id in left_open:
            part = as_progress(part)
        yield part


# --- writing --------------------------------------------------------------------------------------

HISTORY = TurnHistory(
    name=NAME,
    read_message=read_event,
    specs=frozenset(PARTS.blocks.values()),
    foreign=PARTS.writers,
    create_message=new_event,
    with_blocks=lambda event, blocks: put(event, ("content", "parts"), blocks),
    capabilities=CAPABILITIES,
)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a conversation as a log, or an answer as the Events of a run."""
    if context.kind == "response":
        answer = answer_message(conversation)
        write_answer = _patch_run if context.native else _write_run
        return write_answer(answer, conversation, context)
    messages = _without_instruction(conversation.messages, context)
    if context.native:
        # The log keeps its unknown fields, so `write_settings` must not report them.
        source = replace(conversation.source, unknown_fields=())
        write_settings(_NO_SETTINGS, replace(conversation, source=source), context)
        body = conversation.source.body
        return _with_events(body, HISTORY.write(_with_silent_events(messages, body), context))
    write_settings(_NO_SETTINGS, conversation, context)
    events = HISTORY.write(add_confirmations(messages, context), context)
    return [part for event in events for part in split_decisions(event)]


def _without_instruction(messages: tuple[Message, ...], context: EncodeContext) -> list[Message]:
    """The messages without the system prompt, which belongs to the agent."""
    start = 0
    for message in messages:
        if message.role != "system" and message.parts:
            break
        if message.parts:
            context.report_loss(message, "the system prompt belongs to the agent, not to a log")
        start += 1
    return list(messages[start:])


def _with_silent_events(messages: list[Message], body: JSON) -> list[Message]:
    """The messages, and between them the Events without parts at their positions in the body."""
    events = _read_events(body)
    repeated = fragments(events)
    index_of = {event.path: i for i, event in enumerate(events)}
    silent = [i for i, event in enumerate(events) if i in repeated or not event.parts]
    out: list[Message] = []
    for message in messages:
        index = index_of.get(message.path, -1)
        while silent and silent[0] < index:
            out.append(events[silent.pop(0)])
        out.append(message)
        while silent and silent[0] == index + 1 > 0:
            out.append(events[silent.pop(0)])
            index += 1
    return out + [events[i] for i in silent]


def _patch_run(message: Message, conversation: Conversation, context: EncodeContext) -> JSON:
    """The Events that a run was read from, with the edits of its message and settings."""
    body = _patch_settings(conversation, context)
    events = _read_events(body)
    repeated = fragments(events)
    not_read = {i for i, event in enumerate(events) if i in repeated or event.role == "user"}
    before = [
        replace(event, parts=()) if i in not_read else event for i, event in enumerate(events)
    ]
    return _with_events(body, HISTORY.split(message, before, context))


def _patch_settings(conversation: Conversation, context: EncodeContext) -> JSON:
    """The body with changed settings, each in its Event; a setting that the log cannot hold is
    reported."""
    body = conversation.source.body
    before = conversation.source.settings or {}
    for name, value in conversation.settings.items():
        if before.get(name, UNSET) == value:
            continue
        path = conversation.source.setting_paths.get(name, ())
        if (
            path
            and name != "usage"
            and not isinstance(value, Choice | Format | Usage | WebSearch | tuple)
        ):
            body = put(body, path, value)
        else:
            context.report_loss(path or (name,), f"a log has no such setting: {name}")
    return body


def _write_run(message: Message, conversation: Conversation, context: EncodeContext) -> JSON:
    """The Events of a run: parts of the model alternate with results; the last Event has usage and
    finish reason."""
    last: Object = {**write_settings(SETTINGS, conversation, context), "author": AGENT}
    head = {key: value for key, value in last.items() if key != "usageMetadata"}
    seed = conversation.settings.get("id")
    context.seed = seed if isinstance(seed, str) else ""
    blocks = ((part, write_block(part, context)) for part in message.parts)
    written = [(part, block) for part, block in blocks if block is not None]
    turns = [list(group) for _, group in groupby(written, key=_is_result)]
    events = [answer_event(head, turn) for turn in turns or [[]]]
    reason = finish_reason(message, context)
    if reason is not None:
        last["finishReason"] = reason
    if written and _is_result(written[-1]):
        return [*events, last]
    return [*events[:-1], {**last, **events[-1]}]


def _is_result(written: tuple[Part, JSON]) -> bool:
    return isinstance(written[0], Result)


# --- recognizing ----------------------------------------------------------------------------------

_NO_SETTINGS = setting_table()
_EVENT_MARKS = frozenset({"author", "invocationId", "invocation_id"})


def match_score(body: JSON) -> int:
    """How well a body matches this wire: 0 or 3."""
    events = body.get("events") if isinstance(body, dict) else body
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        return 0
    if isinstance(body, dict) and ("appName" in body or "app_name" in body):
        return 3
    marked = [not _EVENT_MARKS.isdisjoint(require_object(event)) for event in events]
    return 3 if marked and all(marked) else 0
