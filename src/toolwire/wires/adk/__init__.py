"""Google ADK: a list of Events, or a session that holds one.

- parts-are-geminis: a content's parts are those of Gemini, in camelCase or snake_case.
- ids-are-the-logs-own: where the model gave a call no id, ADK makes one up (`adk-` and a UUID) and
  the response repeats it. On this wire it is the id like any other: it is kept, pairs, and goes to
  every wire that has ids. ADK itself takes it off before it speaks to Gemini, and so does that
  wire's writer: an id of this kind is the log's, not the model's.
- author-says-who: an Event is the user's if its author is `user`, else an agent's; results come in
  Events of the agent whose content has the role `user`.
- long-running-answers-twice: a call named in `longRunningToolIds` may be answered first with a note
  and later with the result, under the same id. The first answer is paired; the later ones stay
  visible.
- long-running-is-for-others: the agent does not finish such a call; in what a run returned it waits
  for whoever reads it, even if a note stands in its place. Any other call of an Event that has the
  field the agent runs itself. So the calls of another wire, which wait for their reader, are named
  there.
- confirmation-is-a-call: `adk_request_confirmation` and its kin are calls with ids of their own.
  The first is about another call, which it names; what answers that one meanwhile is not its
  result. Leave that another wire keeps with its call is asked and answered here in such calls.
- partial-is-repeated: an Event with `partial: true` is a fragment that a later one repeats whole.
  It counts only if it holds a call that is answered and nowhere repeated, as ADK before 1.22 sent
  them.
- events-without-content: errors, state and other actions say nothing to a model; they stay in the
  log.
- log-keeping: an Event's id, invocation, author's name and time belong to the log and are not
  reported as losses.
- instruction-is-the-agents: system prompt, tools and settings belong to the agent; a log has no
  place for them.

A response is what a run returned: its Events are one answer, and calls that were answered inside it
are done. What another provider ran is told as if the agent had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import (
    BodySource,
    Choice,
    Conversation,
    Format,
    Kind,
    Setting,
    Usage,
)
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.adk.events import (
    AGENT,
    ANSWER,
    CONFIRM,
    FIELDS,
    KNOWN,
    NAME,
    PARTS,
    SETTINGS,
    added,
    block_of,
    extra,
    fragments,
    left_open,
    marked,
    noted,
    read_event,
    says,
)
from toolwire.wires.adk.stream_reader import stream
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    Wire,
    all_blocks,
    answer_messages,
    list_at,
    object_at,
    raise_unexpected,
)
from toolwire.wires.families.contents.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    pick,
)
from toolwire.wires.families.turns.history import TurnHistory, lacks_ids, merge_turns

# --- reading --------------------------------------------------------------------------------------


def _place(body: JSON) -> JsonPath:
    """Where the events stand: in a session's field, or they are the body itself."""
    if isinstance(body, list):
        return ()
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "a list of events or a session", body)
    return ("events",)


def read(body: JSON, kind: Kind) -> Conversation:
    """A log of events as a conversation, or what a run returned as one answer."""
    place = _place(body)
    events = [read_event(event, (*place, i)) for i, event in enumerate(list_at(NAME, body, place))]
    beside = (
        [(key,) for key, value in body.items() if key != "events" and says(value)]
        if isinstance(body, dict)
        else []
    )
    unknown: list[JsonPath] = [*beside]
    pieces = fragments(events)
    last = max(
        (i for i, event in enumerate(events) if i not in pieces and event.role == "assistant"),
        default=-1,
    )
    said: list[Message] = []
    for i, event in enumerate(events):
        if i in pieces:
            unknown += [event.path] if i > last else []
            continue
        if kind == "response" and event.role == "user":
            unknown += [event.path] if event.parts else []
            continue
        unknown += extra(
            object_at(NAME, event.raw, ()),  # type: ignore[arg-type]
            event.path,
            ANSWER if kind == "response" else KNOWN,
        )
        if event.parts:
            said.append(event)
    if kind == "response":
        return _answer(
            body, said, [event for i, event in enumerate(events) if i not in pieces], unknown
        )
    ordered = lacks_ids(said)
    return Conversation(
        assign_ids(tuple(said), seed="", ordered=ordered),
        (),
        {},
        NAME,
        "request",
        source=BodySource(body, unknown_fields=tuple(unknown), ordered=ordered),
    )


def _answer(
    body: JSON, said: list[Message], events: list[Message], unknown: list[JsonPath]
) -> Conversation:
    """The events of a run as one message. Tokens add up; of everything else the first event that
    says it speaks."""
    values: dict[str, Setting] = {}
    places: dict[str, JsonPath] = {}
    stop: str | None = None
    for event in events:
        if event.role != "assistant":
            continue
        raw = object_at(NAME, event.raw, ())  # type: ignore[arg-type]
        found = read_settings(
            FIELDS, {key: value for key, value in raw.items() if key in SETTINGS}, frozenset()
        )
        unknown += [event.path + path for path in found.unknown]
        places = {**{name: event.path + path for name, path in found.places.items()}, **places}
        used, more = values.get("usage"), found.values.get("usage")
        values = {**found.values, **values}
        if isinstance(used, Usage) and isinstance(more, Usage):
            values["usage"] = added(used, more)
        reason = pick(raw, "finishReason")
        stop = (
            FINISH_REASON_FROM_WIRE.get(reason, reason.lower()) if isinstance(reason, str) else stop
        )
    ordered = lacks_ids(said)
    turns = assign_ids(tuple(said), seed=str(values.get("id", "")), ordered=ordered)
    message = merge_turns(turns, NAME, ordered=ordered)
    held = {event.path: object_at(NAME, event.raw, ()) for event in said}  # type: ignore[arg-type]
    message = replace(message, parts=tuple(_owned(message.parts, held)))
    called = any(isinstance(part, Call) and part.executor == "client" for part in message.parts)
    message = replace(message, stop="tool" if called and stop in ("stop", None) else stop)
    return Conversation(
        (message,),
        (),
        values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=tuple(unknown), setting_paths=places, ordered=ordered
        ),
    )


def _owned(parts: Iterable[Part], events: Mapping[JsonPath, Object]) -> Iterator[Part]:
    """A call is whose its Event says; if that says nothing, whether it was answered does."""
    open_ones: set[str] = set()
    for part in parts:
        if isinstance(part, Call) and part.family == "function":
            left = left_open(events[part.path[:-3]], part) if part.path[:-3] in events else None
            (open_ones.add if left else open_ones.discard)(part.id)
            yield part if left is None else replace(part, executor="client" if left else "provider")
        else:
            yield noted(part) if isinstance(part, Result) and part.call_id in open_ones else part


# --- writing --------------------------------------------------------------------------------------


def _message(role: Role, blocks: list[JSON]) -> JSON:
    asked: list[JSON] = [
        get(block, ("functionCall", "id"))  # type: ignore[misc]
        for block in blocks
        if _confirms(block, "functionCall")
    ]
    author = (
        "user" if role in ("user", "system") or any(_confirms(block) for block in blocks) else AGENT
    )
    content: JSON = {"role": "model" if role == "assistant" else "user", "parts": blocks}
    return {
        "author": author,
        "content": content,
        **({"longRunningToolIds": asked} if asked else {}),
    }


def _confirms(block: JSON, kind: str = "functionResponse") -> bool:
    return get(block, (kind, "name")) == CONFIRM


def _asked(messages: list[Message], context: EncodeContext) -> list[Message]:
    """The messages, with the calls that ask leave for others, and what was answered, in messages of
    their own."""
    answered = {
        part.call_id for message in messages for part in message.parts if isinstance(part, Result)
    }
    out: list[Message] = []
    for message in messages:
        out.append(message)
        asked: list[Part] = []
        verdicts: list[Part] = []
        for call in message.parts if message.wire != NAME else ():
            leave = call.approval if isinstance(call, Call) and call.executor == "client" else None
            if leave is None or not isinstance(call, Call):
                continue
            context.losses[:] = [loss for loss in context.losses if loss.path != leave.path]
            about: JSON = {
                "id": context.call_id(call),
                "name": context.name(call.name),
                "args": call.input or {},
            }
            given: JSON = {
                "originalFunctionCall": about,
                "toolConfirmation": {"hint": "", "confirmed": False},
            }
            asking = Call(
                leave.id,
                CONFIRM,
                LazyJson.from_value(given),
                approval_for=call.id,
                source=Source(path=leave.path),
            )
            asked.append(asking)
            if leave.granted is not None:
                decision = asking.result({"confirmed": leave.granted})
                verdicts.append(replace(decision, source=replace(decision.source, path=leave.path)))
                if call.id not in answered:
                    context.note(call, "granted" if leave.granted else "refused")
            if leave.reason is not None:
                context.report_loss(
                    (*leave.path, "reason"), "an agent is not told why leave was given or not"
                )
        out += [Message("assistant", tuple(asked))] if asked else []
        out += [Message("tool", tuple(verdicts))] if verdicts else []
    return out


def _parted(event: JSON) -> list[JSON]:
    """The results of a turn, as Events: what a user answered to a question for leave is the user's,
    and comes first."""
    blocks = get(event, ("content", "parts"))
    if (
        not isinstance(blocks, list)
        or all(map(_confirms, blocks))
        or not any(map(_confirms, blocks))
    ):
        return [event]
    theirs = [block for block in blocks if _confirms(block)]
    return [
        _message("tool", theirs),
        _message("tool", [block for block in blocks if not _confirms(block)]),
    ]


HISTORY = TurnHistory(
    wire=NAME,
    read_message=read_event,
    part_writers=PARTS.foreign,
    create_message=_message,
    with_blocks=lambda raw, blocks: put(raw, ("content", "parts"), blocks),
)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a log of events, or an answer as what a run returned."""
    if context.kind == "response":
        return _write_answer(conversation, context)
    mine = conversation.wire == NAME and conversation.kind == context.kind
    write_settings(
        (),
        replace(conversation, source=replace(conversation.source, unknown_fields=()))
        if mine
        else conversation,
        context,
    )
    for tool in conversation.tools:
        context.report_loss(tool, "tools belong to the agent; a log has no place for them")
    messages = list(conversation.messages)
    while messages and (messages[0].role == "system" or not messages[0].parts):
        if messages[0].parts:
            context.report_loss(
                messages[0], "the instruction belongs to the agent; a log has no place for it"
            )
        del messages[0]
    for message in messages:
        if message.role == "system":
            context.report_loss(message, "a system message in mid-conversation becomes a user's")
    if not mine:
        return [
            one
            for event in HISTORY.write(_asked(messages, context), context)
            for one in _parted(event)
        ]
    events = HISTORY.write(_woven(messages, conversation.source.body), context)
    return (
        {**conversation.source.body, "events": events}
        if isinstance(conversation.source.body, dict)
        else events
    )


def _woven(messages: list[Message], source: JSON) -> list[Message]:
    """The messages with the events between them that say nothing to a model."""
    place = _place(source)
    events = [
        read_event(event, (*place, i)) for i, event in enumerate(list_at(NAME, source, place))
    ]
    pieces = fragments(events)
    place_of = {event.path: i for i, event in enumerate(events)}
    silent = [i for i, event in enumerate(events) if i in pieces or not event.parts]
    out: list[Message] = []
    for message in messages:
        here = place_of.get(message.path, -1)
        while silent and silent[0] < here:
            out.append(events[silent.pop(0)])
        out.append(message)
        while silent and silent[0] == here + 1 > 0:
            out.append(events[silent.pop(0)])
            here += 1
    return out + [events[i] for i in silent]


def _changed(conversation: Conversation, context: EncodeContext) -> JSON:
    """The log with the settings that were changed, each on the event that had it."""
    log = conversation.source.body
    before = conversation.source.settings or {}
    for name, value in conversation.settings.items():
        if isinstance(before, dict) and before.get(name, UNSET) == value:
            continue
        place = conversation.source.setting_paths.get(name, ())
        if place and name != "usage" and not isinstance(value, Choice | Format | Usage | tuple):
            log = put(log, place, value)
        else:
            context.report_loss(place, f"it cannot be changed in a log: {name}")
    return log


def _write_answer(conversation: Conversation, context: EncodeContext) -> JSON:
    first, *others = answer_messages(conversation, context) or [Message("assistant", ())]
    for message in others:
        context.report_loss(message, "an answer here is one; the other candidates stay behind")
    if conversation.wire == NAME and conversation.kind == context.kind:
        log = _changed(conversation, context)
        place = _place(log)
        before = [
            read_event(event, (*place, i)) for i, event in enumerate(list_at(NAME, log, place))
        ]
        pieces = fragments(before)
        kept = [
            replace(one, parts=()) if i in pieces or one.role == "user" else one
            for i, one in enumerate(before)
        ]
        events = HISTORY.split(first, kept, context)
        return {**log, "events": events} if isinstance(log, dict) else events
    body = write_settings(FIELDS, conversation, context)
    seed = conversation.settings.get("id")
    context.seed = seed if isinstance(seed, str) else ""
    runs: list[tuple[bool, list[tuple[Part, JSON]]]] = []
    for part in first.parts:
        block = block_of(part, context)
        if block is not None:
            answers_call = isinstance(part, Result)
            if not runs or runs[-1][0] is not answers_call:
                runs.append((answers_call, []))
            runs[-1][1].append((part, block))
    called = first.stop == "tool" and any(isinstance(part, Call) for part in first.parts)
    stop = (
        "STOP"
        if called
        else write_finish_reason(first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    )
    return _events(runs or [(False, [])], {**body, "author": AGENT}, stop)


def _events(
    runs: list[tuple[bool, list[tuple[Part, JSON]]]], frame: Object, stop: str | None
) -> JSON:
    """What a model said and what tools answered, in turn: the last Event has the tokens and the
    reason."""
    head = {key: value for key, value in frame.items() if key != "usageMetadata"}
    events: list[JSON] = []
    for answers_call, written in runs:
        content: JSON = {
            "role": "user" if answers_call else "model",
            "parts": [block for _, block in written],
        }
        events.append({**head, **marked(written), "content": content})
    last: Object = {**frame, **({} if stop is None else {"finishReason": stop})}
    if runs[-1][0]:
        return [*events, last]
    said = events.pop()
    return [*events, {**last, **said}] if isinstance(said, dict) else events


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    events = body.get("events") if isinstance(body, dict) else body
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        return 0
    if isinstance(body, dict) and ("appName" in body or "app_name" in body):
        return 3
    marks = ("author", "invocationId", "invocation_id")
    return (
        3
        if events
        and all(
            isinstance(event, dict) and any(mark in event for mark in marks) for event in events
        )
        else 0
    )


WIRE = Wire(
    NAME,
    "Google ADK events",
    all_blocks(PARTS.rows),
    read,
    write,
    match_score,
    stream(write),
    hosts=True,
)
