"""AI SDK: UI messages, as a chat client keeps and posts them.

An assistant message is a whole run: steps separated by `step-start`, and in each tool part a call
together with its result. It is read as the turns it consists of.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import first_free, mint
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
)
from toolwire.wires.ai_sdk.blocks import (
    NAME,
    read_media_header,
    read_reasoning,
    read_text,
    with_url,
    write_file,
    write_reasoning,
    write_text,
)
from toolwire.wires.ai_sdk.tool_parts import is_tool_part, read_tool_part
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    blocks,
    keys,
    opaque,
    raise_unexpected,
    read_block,
    require_string,
)

STEP: Object = {"type": "step-start"}
ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}

# --- text, files and reasoning --------------------------------------------------------------------


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    require_string(block["mediaType"])
    return with_url(read_media_header(block, path, spec), require_string(block["url"]))


USER_BLOCKS = blocks(
    # `state` shows that the part was streamed completely, which holds for every part of a history.
    Block("text", part=Text, read=read_text, write=write_text, keys=keys("type", "text", "state")),
    Block(
        "file",
        part=Media,
        read=_read_file,
        write=write_file,
        keys=keys("type", "mediaType", "url", "filename"),
    ),
)
BLOCKS = USER_BLOCKS | blocks(
    Block(
        "reasoning",
        part=Reasoning,
        read=read_reasoning,
        write=write_reasoning,
        keys=keys("type", "text", "state", "id"),
    )
)
MESSAGE = Block("message", part=Message, keys=keys("id", "role", "parts"))

# --- messages -------------------------------------------------------------------------------------


def _message(role: Role, parts: Iterable[Part], path: JsonPath) -> Message:
    """A message for a section of the UI message at `path`."""
    return Message(role, tuple(parts), wire=NAME, source=Source(path=path, spec=MESSAGE))


def read_message(message: Object, path: JsonPath) -> list[Message]:
    """The messages of a UI message: one, or those of each step of the assistant."""
    role, blocks = message.get("role", UNSET), message.get("parts", UNSET)
    if not isinstance(role, str):
        raise_unexpected(NAME, (*path, "role"), str, role)
    if not isinstance(blocks, list):
        raise_unexpected(NAME, (*path, "parts"), list, blocks)
    if role == "assistant":
        found = _read_steps(blocks, path)
        if len(found) > 1:
            return found
        return [replace(found[0], source=replace(found[0].source, raw=message))]
    parts: tuple[Part, ...]
    if role in ROLES:
        parts = tuple(
            read_block(NAME, USER_BLOCKS, block, (*path, "parts", i))
            for i, block in enumerate(blocks)
            if block != STEP
        )
    else:
        parts = (opaque(role, message, path),)
    source = Source(message, path, MESSAGE)
    return [Message(ROLES.get(role, "user"), parts, wire=NAME, source=source)]


def _read_steps(blocks: list[JSON], path: JsonPath) -> list[Message]:
    """The messages of a run: in each step the calls come first, then their results.

    Results of provider-executed tools stay where they are.
    """
    out: list[Message] = []
    content: list[Part] = []
    results: list[Part] = []

    def close_step() -> None:
        if content:
            out.append(_message("assistant", content, path))
            content.clear()
        if results:
            out.append(_message("tool", results, path))
            results.clear()

    for i, block in enumerate(blocks):
        block_path = (*path, "parts", i)
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "step-start":
            close_step()
            if block != STEP:
                content.append(opaque(kind, block, block_path))
        elif kind == "steering-message" and isinstance(steering := get(block, ("parts",)), list):
            # A user message that arrived in the middle of the run.
            close_step()
            parts = (
                read_block(NAME, USER_BLOCKS, item, (*block_path, "parts", n))
                for n, item in enumerate(steering)
            )
            out.append(_message("user", parts, path))
        else:
            for part in read_part(block, block_path):
                if isinstance(part, Call) and part.id and _has_call(content, part.id):
                    close_step()  # ids are unique within a step, so a new step starts here
                is_answer = isinstance(part, Result) and part.executor == "client"
                (results if is_answer else content).append(part)
    close_step()
    return out or [_message("assistant", (), path)]


def _has_call(parts: list[Part], call_id: str) -> bool:
    return any(isinstance(part, Call) and part.id == call_id for part in parts)


def read_part(block: JSON, path: JsonPath) -> tuple[Part, ...]:
    """The parts of a block of an assistant message."""
    if isinstance(block, dict) and is_tool_part(block):
        try:
            return read_tool_part(block, path)
        except UNREADABLE:
            return (opaque(block.get("type"), block, path),)
    return (read_block(NAME, BLOCKS, block, path),)


def read_response_message(message: Object, path: JsonPath) -> list[Message]:
    """Read a UI message of a response: all steps as one message, because a response is one turn."""
    blocks = message.get("parts", UNSET)
    if not isinstance(blocks, list):
        raise_unexpected(NAME, (*path, "parts"), list, blocks)
    parts = [
        part
        for i, block in enumerate(blocks)
        if block != STEP
        for part in read_part(block, (*path, "parts", i))
    ]
    return [_message("assistant", parts, path)]


# --- ids ------------------------------------------------------------------------------------------


def separate_reused_ids(messages: list[Message]) -> list[Message]:
    """Insert an empty message before a step that reuses a call id of the step before it.

    The result belongs to the newer call, whose part holds it. Pairing gives it to that call only if
    a message separates the two steps.
    """
    out: list[Message] = []
    open_ids: set[str] = set()
    for message in messages:
        if message.role != "assistant":
            open_ids = set()
        call_ids = {part.id for part in message.parts if isinstance(part, Call) and part.id}
        if call_ids & open_ids:
            out.append(_message("tool", (), message.path))
            open_ids = set()
        open_ids |= call_ids
        out.append(message)
    return out


def assign_tool_part_ids(messages: tuple[Message, ...], seed: str) -> tuple[Message, ...]:
    """Mint ids for tool parts without one. A call and the result in its part get the same id."""
    calls = [part for message in messages for part in message.parts if isinstance(part, Call)]
    if all(call.id for call in calls):
        return messages
    taken = {call.id for call in calls}
    minted: dict[JsonPath, str] = {}

    def mint_free(ordinal: int, name: str) -> str:
        return first_free(lambda salt: mint(f"{seed}{salt}", ordinal, name), taken)

    for ordinal, call in enumerate(calls):
        if not call.id and isinstance(call.spec, Block) and call.spec.answer is not None:
            minted[call.path] = mint_free(ordinal, call.name)
            taken.add(minted[call.path])

    def assign(part: Part) -> Part:
        if isinstance(part, Call) and not part.id and part.path in minted:
            return replace(part, id=minted[part.path], origin="minted")
        if isinstance(part, Result) and not part.call_id and part.path in minted:
            # The part also holds its call, so the pairing is certain.
            return replace(part, call_id=minted[part.path], origin="wire")
        return part

    return tuple(
        replace(message, parts=tuple(assign(part) for part in message.parts))
        for message in messages
    )
