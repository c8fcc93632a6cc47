"""AI SDK: UI messages, as a chat client keeps and posts them.

An assistant's message is a whole run: steps divided by `step-start`, and in each tool part a call
together with its result. It is read as the turns it stands for; written, the turns of a run become
one message again.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
    Approval,
    Call,
    Executor,
    Media,
    Message,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.ai_sdk.result_content import (
    DENIED,
    NAME,
    address,
    located,
    media_type,
    plain,
    read_items,
    write_items,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    Id,
    blocks,
    keys,
    opaque,
    raise_unexpected,
    read_arguments,
    read_block,
    read_id,
    read_name,
    require_string,
    text_or_none,
)

Answer: TypeAlias = Literal["given", "failed", "denied"]
STATES: dict[str, Answer | None] = {
    "input-streaming": None,
    "input-available": None,
    "approval-requested": None,
    "approval-responded": None,
    "output-available": "given",
    "output-error": "failed",
    "output-denied": "denied",
}
"""Each state of a tool part, and what it says of the result; None while the call is open."""
STEP: Object = {"type": "step-start"}
UNREADABLE_OUTPUT = "The arguments of this call are not valid JSON."
"""What a client is told of a call whose input is broken. In an answer it stands for no result:
these words are our own."""

# --- text, reasoning, files -----------------------------------------------------------------------


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    said = require_string(block["mediaType"])
    media = Media(
        kind_by(said),
        media_type(said),
        name=text_or_none(block.get("filename")),
        source=Source(block, path, spec),
    )
    return located(media, require_string(block["url"]))


def write_file(media: Media, context: EncodeContext) -> Object:
    """A file part; what has neither data nor URL is named in text."""
    found = address(media, context)
    if found is None:
        return {"type": "text", "text": describe(media)}
    out: Object = {"type": "file", "mediaType": found[1], "url": found[0]}
    return {**out, "filename": media.name} if media.name is not None else out


SAID = blocks(
    # `state` says that a part was streamed to its end: true of any part of a history.
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text", "state"),
    ),
    Block("file", Media, _read_file, write_file, keys("type", "mediaType", "url", "filename")),
)
BLOCKS = SAID | blocks(
    Block(
        "reasoning",
        Reasoning,
        lambda b, path, spec: Reasoning(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "reasoning", "text": p.text},
        keys("type", "text", "state", "id"),
    )
)
MESSAGE = Block("message", Message, keys=keys("id", "role", "parts"))

# --- tool parts -----------------------------------------------------------------------------------

_TOOL = keys(
    "type",
    "toolName",
    "toolCallId",
    "state",
    "input",
    "output",
    "errorText",
    "providerExecuted",
    "dynamic",
)
_CALLS = keys(
    "approval", "callProviderMetadata", "title", "toolMetadata", "rawInput", "inputEncoding"
)
"""Fields of the call alone: a loss is reported once, with the call."""
_RESULTS = keys("preliminary", "resultProviderMetadata")


def _read_call(block: Object, path: JsonPath, spec: Block) -> Call:
    one, origin = read_id(block.get("toolCallId"))
    kind, given = require_string(block["type"]), block.get("input")
    name = (
        read_name(block.get("toolName")) if kind == "dynamic-tool" else kind.removeprefix("tool-")
    )
    args = read_arguments(block.get("rawInput")) if given is None else LazyJson.from_value(given)
    executor: Executor = "provider" if spec.executor == "provider" else "client"
    leave = _leave(block["approval"], (*path, "approval")) if "approval" in block else None
    return Call(
        one,
        name,
        args,
        origin,
        spec.family,
        executor,
        approval=leave,
        source=Source(block, path, spec),
    )


def _leave(approval: JSON, path: JsonPath) -> Approval | None:
    """The approval of a call, if a user was asked for it."""
    one = approval.get("id") if isinstance(approval, dict) else None
    if (
        not isinstance(approval, dict)
        or not isinstance(one, str)
        or not one
        or approval.get("isAutomatic") is True
    ):
        return None
    given = approval.get("approved")
    return Approval(
        one, given if isinstance(given, bool) else None, text_or_none(approval.get("reason")), path
    )


def read_result(block: Object, path: JsonPath, spec: Block) -> Result:
    """The result in a tool part that has one."""
    call, how = _read_call(block, path, spec), answer_of(block)
    output: Output
    if how == "denied":
        reason = get(block, ("approval", "reason"))
        output = reason if isinstance(reason, str) else DENIED
    else:
        output = (
            _read_output(block.get("output"), path)
            if how == "given"
            else text_or_none(block.get("errorText")) or ""
        )
    early = how == "given" and block.get("preliminary") is True
    return Result(
        call.id,
        output,
        how != "given",
        None,
        "wire" if call.id else "minted",
        call.family,
        call.executor,
        early,
        source=Source(block, path, spec),
    )


def _read_output(output: JSON, path: JsonPath) -> Output:
    """Any JSON, but for the one shape in which text and media travel; null says nothing, as an
    empty text does."""
    if isinstance(output, dict) and output.get("type") == "content" and len(output) == 2:
        return read_items(output.get("value"), (*path, "output", "value")) or output
    return "" if output is None else output


def answer_of(block: Object) -> Answer | None:
    """What a tool part says of its result; one with an unknown state is judged by what it holds."""
    state = block.get("state")
    if isinstance(state, str) and state in STATES:
        return STATES[state]
    if "output" in block:
        return "given"
    return "failed" if isinstance(block.get("errorText"), str) else None


def unread(block: JSON | UnsetType) -> bool:
    """Whether a tool part only says that the input of its call could not be read, in our words."""
    return (
        isinstance(block, dict)
        and block.get("errorText") == UNREADABLE_OUTPUT
        and "input" not in block
        and "rawInput" in block
    )


def said(result: Result, context: EncodeContext) -> Object:
    """The fields of a tool part that hold its result."""
    output = context.output(result)
    if context.is_error(result):
        return {"state": "output-error", "errorText": plain(result, output, context)}
    given: Object = {"state": "output-available", "output": _given(output, context)}
    return {**given, "preliminary": True} if result.preliminary else given


def _given(output: Output, context: EncodeContext) -> JSON:
    if not isinstance(output, tuple):
        return output
    if all(isinstance(part, Text) for part in output) and len(output) < 2:
        return "".join(describe(part) for part in output)
    for part in output:
        if isinstance(part, Media):
            context.report_loss(
                part, "a model is shown this as JSON, unless the tool has a `toModelOutput`"
            )
    return {"type": "content", "value": write_items(output, context)}


def whole(part: Object) -> Object:
    """A tool part with the input that an output demands: the raw text if there is no more, as the
    SDK itself does."""
    if part.get("state") != "output-available" or "input" in part:
        return part
    return {**part, "input": part.get("rawInput", {})}


def _denied(result: Result, context: EncodeContext) -> Object:
    if not result.error:
        return said(result, context)
    return {"state": "output-denied", "approval": {"reason": plain(result, result.output, context)}}


@cache
def _row(dynamic: bool, hosted: bool, raw: bool, done: bool, denied: bool) -> Block:
    """The row of a tool part: its name in a field or in its type, its input parsed or raw, its
    state known or worth a word."""
    family, executor = ("server-tool", "provider") if hosted else ("function", "client")
    kind = "dynamic-tool" if dynamic else "tool-*"

    def write_call(call: Call, context: EncodeContext) -> Object:
        name: Object = (
            {"toolName": context.name(call.name)}
            if dynamic
            else {"type": f"tool-{context.name(call.name)}"}
        )
        given: Object = {"rawInput": call.args.text} if raw else {"input": call.args.value}
        return {**name, "toolCallId": context.call_id(call), **given}

    def write_answer(result: Result, context: EncodeContext) -> Object:
        held = (_denied if denied else said)(result, context)
        given = whole({**result.raw, **held}) if isinstance(result.raw, dict) else {}
        kept: Object = {"input": given["input"]} if "input" in given and not result.error else {}
        return {"toolCallId": context.result_id(result), **kept, **held}

    answer = Block(
        kind,
        Result,
        read_result,
        write_answer,
        _TOOL | _CALLS,
        family=family,
        executor=executor,  # type: ignore[arg-type]
    )
    known = _TOOL | _RESULTS | (keys("rawInput") if raw else keys())
    tell = {"type": kind, "providerExecuted": "true"} if hosted else {"type": kind}
    return Block(
        kind,
        Call,
        _read_call,
        write_call,
        known if done else known - {"state"},
        (),
        tell,
        "call+output",
        family,
        executor,  # type: ignore[arg-type]
        (Id("toolCallId"),),
        answer=answer,
    )


TOOLS = tuple(
    _row(dynamic, hosted, False, True, False)
    for dynamic in (False, True)
    for hosted in (False, True)
)
"""The rows the catalogue shows."""


def is_tool(block: JSON) -> bool:
    """Whether a block is a tool part; one of an older shape, which has everything inside,
    is not.
    """
    kind = block.get("type") if isinstance(block, dict) else None
    if (
        not isinstance(block, dict)
        or not isinstance(kind, str)
        or not ("toolCallId" in block or "state" in block)
    ):
        return False
    return kind == "dynamic-tool" or kind.startswith("tool-")


def read_tool(block: Object, path: JsonPath) -> tuple[Part, ...]:
    """A tool part: its call, and its result if it has one."""
    raw = block.get("input") is None and block.get("rawInput") is not None
    state = block.get("state")
    done = isinstance(state, str) and state in STATES and state != "input-streaming"
    answered = answer_of(block)
    hosted = block.get("providerExecuted") is True
    spec = _row(block["type"] == "dynamic-tool", hosted, raw, done, answered == "denied")
    call = _read_call(block, path, spec)
    assert spec.answer is not None
    return (call,) if answered is None else (call, read_result(block, path, spec.answer))


# --- reading messages -----------------------------------------------------------------------------

ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


def read_message(message: Object, path: JsonPath) -> list[Message]:
    """One UI message: a user's or system message is one, an assistant's as many as its
    steps need.
    """
    role, blocks = message.get("role", UNSET), message.get("parts", UNSET)
    if not isinstance(role, str):
        raise_unexpected(NAME, (*path, "role"), "a string", role)
    if not isinstance(blocks, list):
        raise_unexpected(NAME, (*path, "parts"), "a list", blocks)
    if role not in ROLES:
        return [
            Message(
                "user",
                (opaque(role, message, path),),
                None,
                NAME,
                source=Source(message, path, MESSAGE),
            )
        ]
    if role != "assistant":
        parts = tuple(
            read_block(NAME, SAID, block, (*path, "parts", i))
            for i, block in enumerate(blocks)
            if block != STEP
        )
        return [Message(ROLES[role], parts, None, NAME, source=Source(message, path, MESSAGE))]
    found = _steps(blocks, path)
    return (
        [replace(found[0], source=replace(found[0].source, raw=message))]
        if len(found) == 1
        else found
    )


def _steps(blocks: list[JSON], path: JsonPath) -> list[Message]:
    """In each step all calls come first, then their results; a provider's own stand where
    they are.
    """
    out: list[Message] = []
    spoken: list[Part] = []
    answered: list[Part] = []

    def close() -> None:
        for role, parts in (("assistant", spoken), ("tool", answered)):
            if parts:
                out.append(
                    Message(role, tuple(parts), None, NAME, source=Source(path=path, spec=MESSAGE))  # type: ignore[arg-type]
                )
                parts.clear()

    for i, block in enumerate(blocks):
        where = (*path, "parts", i)
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "step-start":
            close()
            if block != STEP:
                spoken.append(opaque(kind, block, where))
        elif kind == "steering-message" and isinstance(steering := get(block, ("parts",)), list):
            # A user's words that reached the run while it was under way.
            close()
            heard = tuple(
                read_block(NAME, SAID, one, (*where, "parts", n)) for n, one in enumerate(steering)
            )
            out.append(Message("user", heard, None, NAME, source=Source(path=path, spec=MESSAGE)))
        else:
            for part in read_part(block, where):
                if (
                    isinstance(part, Call)
                    and part.id
                    and any(isinstance(p, Call) and p.id == part.id for p in spoken)
                ):
                    close()  # an id names one call of a step, so this is another step
                (
                    answered if isinstance(part, Result) and part.executor == "client" else spoken
                ).append(part)
    close()
    return out or [Message("assistant", (), None, NAME, source=Source(path=path, spec=MESSAGE))]


def read_part(block: JSON, path: JsonPath) -> tuple[Part, ...]:
    """The parts that a block of an assistant's message stands for."""
    if isinstance(block, dict) and is_tool(block):
        try:
            return read_tool(block, path)
        except UNREADABLE:
            return (opaque(block.get("type"), block, path),)
    return (read_block(NAME, BLOCKS, block, path),)


def parted(messages: list[Message]) -> list[Message]:
    """The messages with an empty one before a step that uses the id of a call still open in the
    step before it.

    A result stands in the part of its call, so the newer call has it; only a turn between the two
    tells them apart.
    """
    out: list[Message] = []
    waiting: set[str] = set()
    for message in messages:
        if message.role != "assistant":
            waiting = set()
        asked = {part.id for part in message.parts if isinstance(part, Call) and part.id}
        if asked & waiting:
            out.append(
                Message("tool", (), None, NAME, source=Source(path=message.path, spec=MESSAGE))
            )
            waiting = set()
        waiting |= asked
        out.append(message)
    return out


def read_run(message: Object, path: JsonPath) -> list[Message]:
    """A whole run as one message: a response is one side of one turn, whatever steps it took."""
    blocks = message.get("parts", UNSET)
    if not isinstance(blocks, list):
        raise_unexpected(NAME, (*path, "parts"), "a list", blocks)
    parts = [
        part
        for i, block in enumerate(blocks)
        if block != STEP
        for part in read_part(block, (*path, "parts", i))
    ]
    return [Message("assistant", tuple(parts), None, NAME, source=Source(path=path, spec=MESSAGE))]


def settle_tools(messages: tuple[Message, ...], seed: str) -> tuple[Message, ...]:
    """The messages with ids for tool parts that have none: a call and the result in the same part
    get the same."""
    calls = [part for message in messages for part in message.parts if isinstance(part, Call)]
    taken = {call.id for call in calls}
    made: dict[int, str] = {}
    for ordinal, call in enumerate(calls):
        if not call.id and isinstance(call.spec, Block) and call.spec.answer is not None:
            salt = 0
            while (new := mint(f"{seed}#{salt}" if salt else seed, ordinal, call.name)) in taken:
                salt += 1
            taken.add(new)
            made[id(call.raw)] = new

    def named(part: Part) -> Part:
        new = made.get(id(part.raw))
        if new is None:
            return part
        if isinstance(part, Call):
            return replace(part, id=new, origin="minted")
        # It stands in the part of its call, so there is no doubt whose it is.
        return replace(part, call_id=new, origin="wire") if isinstance(part, Result) else part

    return (
        tuple(replace(m, parts=tuple(named(p) for p in m.parts)) for m in messages)
        if made
        else messages
    )
