"""AI SDK: the UI messages of its chat clients (versions 5, 6 and 7) and its model messages.

A request is `{messages: [...]}` as a chat client posts it (`id`, `trigger`, `messageId` beside), or
the list alone. A message with `parts` is a UI message, one with `content` a model message. A
response is one UI message of the assistant, or `{messages: [...]}` with model messages, as a
result's `response` holds them. What comes from other wires is written as UI messages that version 5
reads too, but for approvals. Message ids and `step-start` are bookkeeping: they are made anew
elsewhere and are no loss. An answer is written as the message that a client has when the stream of
it is over; `finishReason` stands beside its parts where they do not say why the model stopped.

- call-and-result-share-a-part: a tool part holds a call and, once there is one, its result;
  `toolCallId` names both.
- steps-are-turns: an assistant's message is a run of steps; in each all calls come first, then
  their results.
- an-id-comes-back-while-its-call-is-open: ids are unique in a step only; a result belongs to the
  call in its own part.
- unfinished-input-stays-open: while input streams, or waits for approval, there is no result; none
  is invented.
- denied-is-an-error: a refused call has an answer, the reason.
- approval-stands-with-its-call: elsewhere the question for leave is a call of its own, about
  another; here it is told in the part of that one, and read as the leave of that call. A wire that
  asks in calls gets question and answer back as such.
- preliminary-is-no-answer: an output with that mark only stands in for the result.
- errors-are-text: a failed tool part has `errorText` and no output, and perhaps only the raw input.
- content-in-output: an output is any JSON; media stand in it as `{type: "content", value: [...]}`.
- hosted-tools-answer-in-place: a tool the provider ran answers in the assistant's message.
- model-messages-name-their-outputs: a model message's result says of its output which kind it is.
- answered-in-a-response: a call that is answered in a response ran on the server, not with whoever
  reads it.
- settings-stand-beside: what is not a message goes beside the messages under the names that
  `streamText` takes.
- version-7-parts: steering messages, reasoning files, custom parts and references come only from
  the newest version.
"""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Choice, Conversation, Kind
from toolwire.conversation.parts import Call, Message, Part, Result, Source, Text
from toolwire.wires.ai_sdk import model_messages as model
from toolwire.wires.ai_sdk import ui_messages as ui
from toolwire.wires.ai_sdk.result_content import NAME
from toolwire.wires.ai_sdk.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    MESSAGE,
    PLAIN,
    REQUEST,
    RESPONSE,
    read_tools,
    write_tools,
)
from toolwire.wires.ai_sdk.stream_writer import stream
from toolwire.wires.ai_sdk.ui_writer import History
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    Block,
    Wire,
    all_blocks,
    keys,
    list_at,
    patch_parts,
    raise_unexpected,
)

SYSTEM = Block("system", Text, write=lambda part, context: part.text)
_TOP = ("system", "instructions")
"""Where the system prompt stands when it is no message; the newest version renamed it."""

# --- reading --------------------------------------------------------------------------------------


def _is_ui(message: JSON) -> bool:
    return isinstance(message, dict) and "parts" in message


def _read_message(message: JSON, path: JsonPath, as_ui: bool) -> list[Message]:
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    return ui.read_message(message, path) if as_ui else [model.read_message(message, path)]


def _beside(messages: list[Message], message: JSON, path: JsonPath) -> list[JsonPath]:
    """Fields of a UI message that became several: no single one of them can say that they stay
    behind."""
    if not isinstance(message, dict) or any(not isinstance(one.raw, UnsetType) for one in messages):
        return []
    return [
        (*path, key)
        for key, value in message.items()
        if key not in ui.MESSAGE.keys and value is not None
    ]


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: JSON) -> Conversation:
    fields: Object = body if isinstance(body, dict) else {}
    path: JsonPath = ("messages",) if isinstance(body, dict) else ()
    messages: list[Message] = []
    for key in _TOP:
        prompt = fields.get(key)
        if isinstance(prompt, str):
            text = Text(prompt, source=Source(prompt, (key,), SYSTEM))
            messages.append(
                Message("system", (text,), None, NAME, source=Source(prompt, (key,), model.MESSAGE))
            )
    extra: list[JsonPath] = []
    listed = list_at(NAME, body, path)
    for i, message in enumerate(listed):
        found = _read_message(message, (*path, i), _is_ui(listed[0]))
        extra += _beside(found, message, (*path, i))
        messages += found
    offered = fields.get("tools")
    tools = read_tools(offered)
    if tools and isinstance(offered, dict):
        extra += (("tools", name) for name, tool in offered.items() if not isinstance(tool, dict))
    known = {key for key in _TOP if isinstance(fields.get(key), str)} | (
        {"tools"} if tools else set()
    )
    settings = read_settings(REQUEST, fields, keys("messages", *known))
    settled = assign_ids(ui.settle_tools(tuple(ui.parted(messages)), ""), seed="", ordered=False)
    return Conversation(
        settled,
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(
            body, unknown_fields=(*settings.unknown, *extra), setting_paths=settings.places
        ),
    )


def _read_response(body: JSON) -> Conversation:
    """One message of the assistant, whatever steps it took: a response of any wire is one side of
    one turn."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    whole = "messages" not in body
    path: JsonPath = () if whole else ("messages",)
    listed = [body] if whole else list_at(NAME, body, path)
    parts: list[Part] = []
    extra: list[JsonPath] = []
    for i, message in enumerate(listed):
        here = path if whole else (*path, i)
        role = get(message, ("role",))
        if not isinstance(message, dict) or role not in ("assistant", "tool"):
            raise_unexpected(NAME, (*here, "role"), "assistant or tool", role)
        found = (
            ui.read_run(message, here) if _is_ui(message) else [model.read_message(message, here)]
        )
        parts += (part for one in found for part in one.parts)
        extra += (
            []
            if whole
            else [(*here, key) for key in message if key not in ("id", "role", "content", "parts")]
        )
    reason = body.get("finishReason")
    known = keys(
        "role",
        "parts",
        "content",
        "messages",
        *(("finishReason",) if isinstance(reason, str) else ()),
    )
    settings = read_settings(MESSAGE if whole else RESPONSE, body, known)
    seed = str(settings.values.get("id", ""))
    one = Message("assistant", tuple(parts), None, NAME, source=Source(path=(), spec=ui.MESSAGE))
    (settled,) = assign_ids(ui.settle_tools((one,), seed), seed=seed, ordered=False)
    served = replace(settled, parts=_served(settled.parts))
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    answer = replace(served, stop=stop if stop and stop not in PLAIN else _reason(served.parts))
    return Conversation(
        (answer,),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=(*settings.unknown, *extra), setting_paths=settings.places
        ),
    )


def _served(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Whoever reads a response did not run what is answered in it: those tools ran where the
    response was made."""
    said = tuple(part for part in parts if not (isinstance(part, Result) and ui.unread(part.raw)))
    waits = {id(call) for call in _waiting(said)}
    return tuple(
        (
            replace(part, executor="provider")
            if isinstance(part, Call | Result) and id(part) not in waits
            else part
        )
        for part in said
    )


def _waiting(parts: tuple[Part, ...]) -> list[Call]:
    """Calls for whoever reads the response. A result in the part of its call is that call's alone:
    ids may come again."""
    calls = [part for part in parts if isinstance(part, Call)]
    places = {
        call.path for call in calls if isinstance(call.spec, Block) and call.spec.answer is not None
    }
    results = [part for part in parts if isinstance(part, Result) and not part.preliminary]
    here = {result.path for result in results if result.path in places}
    elsewhere = {result.call_id for result in results if result.path not in places}
    return [
        call
        for call in calls
        if call.executor == "client" and call.path not in here and call.id not in elsewhere
    ]


def _reason(parts: tuple[Part, ...]) -> str:
    """Why the model stopped, as the parts say it."""
    return "tool" if _waiting(parts) else "stop"


# --- writing --------------------------------------------------------------------------------------


def _speaks_model(conversation: Conversation) -> bool:
    """Whether a conversation of this wire came as model messages."""
    source = conversation.source.body
    listed = source.get("messages", [source]) if isinstance(source, dict) else source
    return (
        conversation.wire == NAME
        and isinstance(listed, list)
        and bool(listed)
        and not _is_ui(listed[0])
    )


def _listed(
    conversation: Conversation, context: EncodeContext, messages: tuple[Message, ...]
) -> list[JSON]:
    if _speaks_model(conversation):
        return model.write_messages(conversation, context, messages)
    return History(conversation, context).write(messages)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    choice = conversation.settings.get("choice")
    if isinstance(choice, Choice) and len(choice.names) > (choice.mode == "required"):
        context.report_loss(
            conversation.source.setting_paths.get("choice", ("choice",)),
            "only one tool can be named, and only to demand it",
        )
    apart = [
        message
        for message in conversation.messages
        if message.wire == NAME and message.path in {(key,) for key in _TOP}
    ]
    for key in _TOP if conversation.wire == NAME else ():
        said = [
            part.text
            for message in apart
            if message.path == (key,)
            for part in message.parts
            if isinstance(part, Text)
        ]
        if said:
            body[key] = "".join(said)
        elif isinstance(body.get(key), str):
            del body[key]
    messages = tuple(
        message for message in conversation.messages if not any(message is one for one in apart)
    )
    listed = _listed(conversation, context, messages)
    if conversation.tools and (conversation.wire != NAME or not conversation.same_tools):
        body["tools"] = write_tools(conversation, context)
    if isinstance(conversation.source.body, list) and conversation.wire == NAME and not body:
        return listed
    return {**body, "messages": listed}


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    own = conversation.wire == NAME and conversation.kind == "response"
    listed = (
        own
        and isinstance(conversation.source.body, dict)
        and "messages" in conversation.source.body
    )
    body = write_settings(RESPONSE if listed else MESSAGE, conversation, context)
    for tool in conversation.tools:
        context.report_loss(tool, "an answer here offers no tools")
    for message in conversation.messages[1:]:
        context.report_loss(message, "an answer here is one message; the others stay behind")
    first = conversation.messages[0] if conversation.messages else Message("assistant", ())
    if not own:
        said_by_parts = _reason(first.parts)
        word = (
            write_finish_reason(first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
            if first.stop not in (None, said_by_parts)
            else None
        )
        if first.stop in PLAIN and word is not None:
            context.report_loss(
                first,
                "the parts of a message say why the model stopped, and they do not say"
                f" `{first.stop}`",
            )
        elif word is not None and FINISH_REASON_FROM_WIRE[word] not in PLAIN:
            body["finishReason"] = word
    if own and "parts" not in body:
        kept = patch_parts(
            first.parts,
            read(conversation.source.body, "response").parts(),
            conversation.source.body,
            (),
            context,
        )
        if isinstance(kept, dict):
            return {**body, **{key: kept[key] for key in ("messages", "content") if key in kept}}
        sides = model.write_messages(conversation, context, model.sides(first))
        return {**body, "messages": sides} if listed or len(sides) != 1 else sides[0]
    said = replace(first, role="assistant")
    written = History(conversation, context).write((said,))
    made = written[0] if written and isinstance(written[0], dict) else {"parts": []}
    frame: Object = {} if own else {"id": "msg-0", "role": "assistant"}
    return {**frame, **body, "parts": made["parts"]}


# --- telling it from others -----------------------------------------------------------------------

_PARTS = keys("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")
_MARKS = keys("maxOutputTokens", "toolChoice", "stopSequences", "topP", "topK")


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if isinstance(body, dict) and "parts" in body:
        return _sure(body) if isinstance(body.get("role"), str) else 0
    messages = body.get("messages") if isinstance(body, dict) else body
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(m, dict) and "role" in m for m in messages)
    ):
        return 0
    best = max(_sure(message) for message in messages)
    if best == 0 and all(isinstance(get(m, ("content",)), str) for m in messages):
        return 1 if not isinstance(body, dict) or not _MARKS.isdisjoint(body) else 0
    return best


def _sure(message: JSON) -> int:
    """UI parts and model blocks name their types, in words that only this wire uses."""
    blocks = get(message, ("parts",))
    if isinstance(blocks, list):
        typed = all(
            isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks
        )
        return (3 if blocks else 2) if typed else 0
    content = get(message, ("content",))
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and (
            block.get("type") in _PARTS or ("mediaType" in block and "type" in block)
        ):
            return 3
    return 0


WIRE = Wire(
    NAME,
    "AI SDK messages",
    all_blocks(ui.BLOCKS, ui.TOOLS, model.BLOCKS, model.HOSTED),
    read,
    write,
    match_score,
    stream(write),
    hosts=True,
)
