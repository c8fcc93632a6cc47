"""Read requests and responses of Gemini interactions as conversations, and write them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation, Kind
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
from toolwire.wires.engine.answers import complete_answer, seed_from
from toolwire.wires.engine.bodies import answer_message, build_conversation
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.roles import meant_role
from toolwire.wires.engine.settings import (
    put_tools,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    OPAQUE,
    Block,
    keys,
    list_at,
    opaque,
    raise_unexpected,
    read_block,
    types_in,
)
from toolwire.wires.families.blocks.bodies import read_tools
from toolwire.wires.families.items.content import content_block
from toolwire.wires.families.items.item_list import ItemListWriter
from toolwire.wires.families.items.turns import CallIndex, ItemReader, remember_item
from toolwire.wires.gemini_interactions.content import (
    CAPABILITIES,
    CONTENT,
    NAME,
    PLAIN_TEXT,
    is_content,
    read_content,
    read_content_block,
    write_content_block,
)
from toolwire.wires.gemini_interactions.settings import (
    ANSWER,
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    HISTORY_ELSEWHERE,
    REQUEST,
    REQUEST_FIELDS,
    RESPONSE,
    RESPONSE_FIELDS,
    read_finish_reason,
    read_tool,
    write_tools,
)
from toolwire.wires.gemini_interactions.steps import (
    MESSAGE,
    ROLE_FROM_TYPE,
    STEPS,
    write_function_call,
    write_function_result,
    write_thought,
)

# --- reading --------------------------------------------------------------------------------------

_EMPTY_STEP = Block(
    "step",
    part=Text,
    write=lambda part, context: (
        {"content": [{"type": "text", "text": part.text}]} if part.text else {}
    ),
)
"""A step without content, which is read as an empty text."""
_CONTENT_MESSAGE = Block("content", part=Message)
"""A content block among the steps of an input."""
_TURN = Block("turn", part=Message, keys=keys("role", "content"))
"""A turn: the form of an input before there were steps."""
_FIELDS_OF_TURN = _TURN.keys | {"tool_calls"}
"""The fields of a turn, and the one for calls of a chat: calls alone have no content there."""
_BLOCKS_OF_TURN = {**CONTENT, **STEPS}


class StepReader(ItemReader, frozen=True, eq=False):
    """Reads steps: a step with content is a message, any other step is one part. A turn is a
    message with any steps in its content."""

    def is_message(self, item: Object) -> bool:
        kind = item.get("type")
        if isinstance(kind, str):
            return kind in ROLE_FROM_TYPE or kind in CONTENT
        return self.is_whole_message(item)

    def is_whole_message(self, item: Object) -> bool:
        return "type" not in item and isinstance(item.get("role"), str)

    def message_spec(self, item: Object) -> Block:
        if self.is_whole_message(item):
            return _TURN
        return MESSAGE if item.get("type") in ROLE_FROM_TYPE else _CONTENT_MESSAGE

    def defines_tools(self, item: Object, key: str) -> bool:
        return False

    def read_message(self, item: Object, path: JsonPath) -> tuple[Role | None, tuple[Part, ...]]:
        """The role and the parts of a step with content, or of a turn."""
        kind, content = str(item.get("type")), item.get("content")
        is_turn = self.is_whole_message(item)
        if is_turn:
            role = meant_role(item)
            if content is None and not _FIELDS_OF_TURN.issuperset(item):
                return role, (opaque("turn", item, path),)
        elif kind in ROLE_FROM_TYPE:
            role = ROLE_FROM_TYPE[kind]
        else:
            return "user", (read_content_block(item, path),)
        if isinstance(content, str):
            spec = content_block(PLAIN_TEXT, item)
            return role, (Text(content, source=Source(content, (*path, "content"), spec)),)
        if not content and is_turn:
            return role, ()
        if not content:
            return role, (Text("", source=Source(item, path, _EMPTY_STEP)),)
        if not isinstance(content, list):
            raise_unexpected(NAME, (*path, "content"), (str, list), content)
        if is_turn:
            return role, _read_turn(content, item, (*path, "content"))
        parts = read_content(content, (*path, "content"))
        return role, tuple([remember_item(part, item) for part in parts])


def _read_turn(content: list[JSON], item: Object, path: JsonPath) -> tuple[Part, ...]:
    """The parts of a turn. Only content remembers the turn: any other block is a step."""
    parts = (
        read_block(NAME, _BLOCKS_OF_TURN, block, (*path, i)) for i, block in enumerate(content)
    )
    return tuple(
        [part if part.spec in _SPECS_OF_STEPS else remember_item(part, item) for part in parts]
    )


_SPECS_OF_STEPS = frozenset(STEPS.values())
READER = StepReader(NAME, STEPS, has_whole_messages=True)


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a request or a response."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), dict, body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    index = CallIndex()
    messages: list[Message] = []
    known = REQUEST_FIELDS
    instruction = body.get("system_instruction")
    if isinstance(instruction, str):
        if instruction:
            messages.append(_text_message("system", instruction, "system_instruction"))
    elif instruction is not None:
        known = known - {"system_instruction"}
    messages += _read_input(body, index)
    return build_conversation(
        NAME,
        "request",
        body,
        messages=messages,
        settings=read_settings(REQUEST, body, known),
        tools=read_tools(NAME, body, read_tool),
        unknown=index.unknown_fields,
    )


def _text_message(role: Role, text: str, key: str) -> Message:
    part = Text(text, source=Source(text, (key,), PLAIN_TEXT))
    return Message(role, (part,), wire=NAME, source=Source(text, (key,)))


def _read_input(body: Object, index: CallIndex) -> list[Message]:
    """The messages of an input: a text, one content block, several, or steps."""
    history = body.get("input")
    if history is None and any(body.get(key) is not None for key in HISTORY_ELSEWHERE):
        return []
    if isinstance(history, str):
        return [_text_message("user", history, "input")] if history else []
    if is_content(history):
        parts: tuple[Part, ...] = (read_content_block(history, ("input",)),)
    elif not isinstance(history, list):
        expected = (str, "a content block", list)
        raise_unexpected(NAME, ("input",), expected, body.get("input", UNSET))
    elif history and all(map(is_content, history)):
        parts = read_content(history, ("input",))
    else:
        return READER.read_turns(history, index)
    return [Message("user", parts, wire=NAME, source=Source(path=("input",)))]


def _read_response(body: Object) -> Conversation:
    index = CallIndex()
    steps = [] if body.get("steps") is None else list_at(NAME, body, ("steps",))
    if body.get("status") is None and "steps" not in body:
        raise_unexpected(NAME, ("steps",), list, UNSET)
    parts = tuple(
        part
        for i, (role, step_parts) in enumerate(READER.read_items(steps, "steps", index))
        # A step of the input that a response repeats is only returned to this wire.
        for part in (
            step_parts if role != "user" else [opaque("user_input", steps[i], ("steps", i))]
        )
    )
    message = Message("assistant", parts, wire=NAME, source=Source(path=("steps",)))
    stop = read_finish_reason(body.get("status"), has_calls=has_client_calls(message))
    return build_conversation(
        NAME,
        "response",
        body,
        messages=[replace(message, stop=stop)],
        settings=read_settings(RESPONSE, body, RESPONSE_FIELDS),
        unknown=index.unknown_fields,
        seed=seed_from(body.get("id")),
    )


def has_client_calls(message: Message) -> bool:
    """True if a message has calls of tools that the client runs."""
    return any(isinstance(part, Call) and part.runs_on_client for part in message.parts)


# --- writing --------------------------------------------------------------------------------------


class StepWriter(ItemListWriter):
    """Writes the messages of one conversation as steps; each part of an answer is a step."""

    lists = keys("input", "steps")
    capabilities = CAPABILITIES

    def write_message(self, message: Message) -> None:
        if message.wire == self.context.wire and message.path == ("input",):
            # Content that was the whole input becomes a step as soon as there are other steps.
            self.content += [block for part in message.parts for block in self.patch_blocks(part)]
        else:
            super().write_message(message)

    def patch_blocks(self, part: Part) -> list[JSON]:
        if part.original is None and part.spec in _CONTENT_SPECS and isinstance(part.raw, dict):
            return [part.raw]
        return super().patch_blocks(part)

    def write_call(self, call: Call) -> JSON:
        return write_function_call(call, self.context)

    def write_result(self, result: Result) -> JSON:
        return write_function_result(result, self.context)

    def write_blocks(self, part: Part) -> list[JSON]:
        if isinstance(part, Text) and not part.refusal:
            return [write_content_block(part, self.context)] if part.text else []
        return [
            write_content_block(lowered, self.context)
            for lowered in self.lower(part, "user")
            if isinstance(lowered, Text | Media)
        ]

    def write_content(self, content: list[JSON]) -> JSON:
        return {"type": "user_input", "content": content}

    def write_answer_part(self, part: Part) -> None:
        if isinstance(part, Reasoning):
            self.items.append(write_thought(part, self.context))
        elif isinstance(part, Media) or (isinstance(part, Text) and part.text):
            content: JSON = [write_content_block(part, self.context)]
            self.items.append({"type": "model_output", "content": content})


_CONTENT_SPECS = frozenset((*CONTENT.values(), OPAQUE))


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    messages = conversation.messages
    instruction = "\n\n".join(
        "".join(part.text for part in message.parts if isinstance(part, Text))
        for message in messages
        if message.role == "system"
    )
    if instruction:
        body["system_instruction"] = instruction
    elif isinstance(given := body.get("system_instruction"), str) and given:
        del body["system_instruction"]
    history = [message for message in messages if message.role != "system"]
    whole = _write_whole_input(history, context) if context.native else UNSET
    if not isinstance(whole, UnsetType):
        body["input"] = whole
    else:
        steps = StepWriter(READER, context).write_items(history)
        if steps or not context.native or isinstance(body.get("input"), list):
            body["input"] = steps
    if not context.native or not conversation.same_tools:
        put_tools(body, write_tools(conversation.tools, context))
    return body


def _write_whole_input(history: list[Message], context: EncodeContext) -> JSON | UnsetType:
    """The input, if it is still the text or content that was read; UNSET if it has to be steps."""
    if len(history) != 1 or history[0].path != ("input",) or history[0].wire != NAME:
        return UNSET
    parts = history[0].parts
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].spec is PLAIN_TEXT:
        return parts[0].text
    writer = StepWriter(READER, context)
    content = [block for part in parts for block in writer.patch_blocks(part)]
    alone = len(parts) == 1 and parts[0].path == ("input",) and len(content) == 1
    return content[0] if alone else content


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    if not context.native:
        body = complete_answer(body, ANSWER, context)
        body.setdefault("updated", body["created"])
    context.seed = seed_from(body.get("id"))
    message = answer_message(conversation)
    steps = StepWriter(READER, context).write_items((message,))
    if context.native:
        return {**body, "steps": steps} if steps or body.get("steps") is not None else body
    status = write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    return {**body, "status": status or "completed", "steps": steps}


# --- recognizing ----------------------------------------------------------------------------------

_MARKS = keys("previous_interaction_id", "generation_config", "system_instruction")
"""Fields of a request that no other wire has beside `input`."""
_MODELS = ("gemini-", "gemma-")


def match_score(body: JSON) -> int:
    """How well a body matches this wire."""
    if not isinstance(body, dict):
        return 0
    if body.get("object") == "interaction":
        return 3
    if isinstance(body.get("steps"), list):
        return 3 if isinstance(body.get("status"), str) and _are_steps(body["steps"]) else 0
    history = body.get("input")
    if "input" not in body:
        return 3 if "previous_interaction_id" in body else 0
    if is_content(history) or (isinstance(history, list) and all(map(is_content, history))):
        return 3 if history else 0
    if isinstance(history, str) and not _MARKS.isdisjoint(body):
        return 3
    if isinstance(history, str):
        return 2 if str(body.get("model")).startswith(_MODELS) else 1
    return 3 if _are_steps(history) and history else 0


def _are_steps(value: JSON) -> bool:
    """True for a list of steps: at least half of the types are known, and none is an item of
    another API."""
    if not isinstance(value, list) or not all(isinstance(step, dict) for step in value):
        return False
    types = types_in(value)
    known = [kind for kind in types if kind in STEPS or kind in ROLE_FROM_TYPE or kind in CONTENT]
    foreign = any(
        isinstance(step, dict)
        and (
            (step.get("type") == "function_call" and isinstance(step.get("arguments"), str))
            or "role" in step
        )
        for step in value
    )
    return not foreign and len(known) * 2 >= max(len(types), 1)
