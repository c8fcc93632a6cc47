"""A message or item has the format of another wire.

A chat has messages with the role `tool` and calls in the field `tool_calls`; a history of items has
`function_call` and `function_call_output`. Clients that moved from one to the other mix them, and
the server refuses types that it does not know: "Invalid value: 'tool'. Supported values are:
'assistant', 'system', 'developer', and 'user'."

After a switch between chat and block wires, chat messages contain `tool_use` and `tool_result`
blocks, and messages of blocks have the role `tool` or the field `tool_calls`. The types of texts
and images also differ between wires: "Invalid value: 'input_text'. Supported values are: 'text',
'image_url', …". So does the role of the model: "Please use a valid role: user, model." A program
may also leave out the role, as in "Missing required parameter: 'messages[1].role'.": frameworks
store messages with the type `human` or `ai` instead, alone or around the message, and calls and
results in parts or fields that no API has.

The fix converts them to the format of the wire. Ids, names, arguments and outputs stay verbatim. A
result without a call is reported as such, and not here.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, Object, get, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import APPROVAL, Call, Message, Part, Result, Source
from toolwire.lint.call_types import calls_without_type, with_call_types
from toolwire.lint.examples.blocks import (
    HI,
    assistant_blocks,
    contents_example,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
)
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.examples.items import function_call, function_call_output, items_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.item_messages import ITEM_TYPES, as_items, as_messages
from toolwire.lint.fixes.transforms import with_messages
from toolwire.lint.foreign_content import (
    foreign_calls,
    foreign_content,
    foreign_id_fields,
    has_foreign_role,
    has_known_types,
    is_chat_message,
    with_id_fields,
)
from toolwire.lint.foreign_roles import foreign_roles, stored_messages, with_roles
from toolwire.lint.items import input_items, with_items
from toolwire.lint.orphans import reported_orphans
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule
from toolwire.wires.engine.specs import Block


def _messages_among_items(facts: Facts) -> list[tuple[int, Object]]:
    """Chat messages in a list of items: index and JSON."""
    candidates = [(index, item) for index, _, item in input_items(facts) if is_chat_message(item)]
    if not candidates:
        return []
    orphans = {result.path for result in reported_orphans(facts)}
    return [
        (index, item)
        for index, item in candidates
        if (item.get("role") == "tool" and ("input", index) not in orphans)
        or isinstance(item.get("tool_calls"), list)
        or isinstance(item.get("callId"), str)
    ]


def _items_among_messages(facts: Facts) -> list[tuple[int, Object]]:
    """Items in a list of chat messages: index and JSON."""
    body = facts.body
    if not isinstance(body, dict) or facts.conversation.kind != "request":
        return []
    messages = body.get("messages")
    if not isinstance(messages, list):
        return []
    return [
        (index, message)
        for index, message in enumerate(messages)
        if isinstance(message, dict) and "role" not in message and message.get("type") in ITEM_TYPES
    ]


def _foreign_messages(facts: Facts) -> list[tuple[Message, list[Call | Result]]]:
    """Messages with calls or results in a form that only another wire writes."""
    if not facts.own_wire or facts.conversation.kind != "request":
        return []
    if has_known_types(facts) and not (
        facts.profile.results_share_one_message
        and any(message.role == "tool" for message in facts.messages)
    ):
        return []
    found: list[tuple[Message, list[Call | Result]]] = []
    for message in facts.messages:
        if message.source.path[:1] != ("messages",):
            continue  # among items, whole messages are foreign
        foreign: list[Call | Result] = []
        for part in message.parts:
            if type(part) is Call or type(part) is Result:
                spec = part.source.spec
                if isinstance(spec, Block) and _is_foreign(part, spec, message, facts):
                    foreign.append(part)
        if foreign:
            found.append((message, foreign))
    if not found:
        return []
    orphans: PartSet[Part] = PartSet(reported_orphans(facts))
    kept = [(message, [part for part in parts if part not in orphans]) for message, parts in found]
    return [(message, parts) for message, parts in kept if parts]


def _is_foreign(part: Call | Result, spec: Block, message: Message, facts: Facts) -> bool:
    """True for a call or result of a type that the catalogue of the wire does not list, and for a
    result block in a message with a role that the wire does not have.

    If all results of a turn share one message, that is a user message.
    """
    if not spec.family:
        return True
    if not facts.profile.results_share_one_message:
        return False
    return message.role == "tool" and part.path != message.path and "type" in spec.identified_by


def _check(facts: Facts) -> Iterable[Problem]:
    stored = stored_messages(facts)
    for path, messages in stored:
        text = f"a framework stores messages in this form; expected {_roles(messages)}"
        yield path, text, "safe"
    if not stored:  # otherwise, the rest is known once these messages are read
        yield from _foreign_halves(facts)
        yield from _foreign_fields(facts)
        yield from _foreign_contents(facts)
        yield from _foreign_elements(facts)


def _foreign_halves(facts: Facts) -> Iterable[Problem]:
    """Calls and results in the form of another wire."""
    for message, parts in _foreign_messages(facts):
        for part in parts:
            half = "call" if isinstance(part, Call) else "result"
            call_id = part.id if isinstance(part, Call) else part.call_id
            text = f"the {half} {call_id} is written as on another wire"
            if message.role == "tool" and isinstance(part, Result):
                text = f"the result for {call_id} is in a message with the role `tool`"
            yield part.path, text, "safe"
    for call in calls_without_type(facts):
        yield call.path, f"the call {call.id} does not have the type `function`", "safe"


def _foreign_fields(facts: Facts) -> Iterable[Problem]:
    """Roles and ids of another wire."""
    for path, role in foreign_roles(facts):
        role_path = (*path, "role")
        if get(facts.body, role_path) is UNSET:
            yield path, f"the message has no role and is read as one of `{role}`", "safe"
        else:
            yield role_path, f"{facts.profile.name} expects the role `{role}` here", "safe"
    for path, name, call_id in foreign_id_fields(facts):
        yield (*path, name), f"the id of the call {call_id} is written as on another wire", "safe"


def _foreign_contents(facts: Facts) -> Iterable[Problem]:
    """Messages with the content of another wire."""
    for message, new_parts in foreign_content(facts).items():
        text = f"the {message.role} message has content as it is written on another wire"
        if len(new_parts) > len(message.parts):
            text = f"the calls of the {message.role} message are written as on another wire"
        elif has_foreign_role(facts, message):
            text = f"{facts.profile.name} does not know the role of the {message.role} message"
        if not _becomes_items(facts, message):
            yield message.path, text, "safe"


def _becomes_items(facts: Facts, message: Message) -> bool:
    """True for a message with calls among items, which is converted to items itself."""
    return bool(facts.profile.item_id_prefixes and foreign_calls(message))


def _foreign_elements(facts: Facts) -> Iterable[Problem]:
    """Chat messages among items, and items among chat messages."""
    for index, item in _messages_among_items(facts):
        if item.get("role") == "tool":
            subject, expected = "a message with the role `tool`", "`function_call_output`"
        else:
            subject, expected = "`tool_calls`", "`function_call`"
        text = f"{subject} belongs in a chat; expected an item of the type {expected}"
        if "callId" in item:
            text = "`callId` is a field of an SDK; expected `call_id`"
        yield ("input", index), text, "safe"
    for index, item in _items_among_messages(facts):
        text = f"{item['type']} is an item of another wire; expected a chat message"
        yield ("messages", index), text, "safe"


def _write_anew(facts: Facts) -> FixedConversation | None:
    """The conversation with foreign messages written in the format of the wire."""
    found = _foreign_messages(facts)
    parts_of = PartMap((message, _without_json(message, parts)) for message, parts in found)
    changes = [
        (part.path, "converted to the format of the wire, with the same id")
        for _, parts in found
        for part in parts
    ]
    for message, parts in foreign_content(facts).items():
        if not _becomes_items(facts, message):
            parts_of[message] = parts
            changes.append((message.path, "converted the content to the format of the wire"))
    if not changes:
        return None
    messages = [
        _with_parts(message, parts_of[message]) if message in parts_of else message
        for message in facts.messages
    ]
    ordered = facts.conversation.ordered
    identified = assign_ids(tuple(messages), seed="", ordered=ordered)
    return FixedConversation(with_messages(facts.conversation, identified), tuple(changes))


def _without_json(message: Message, foreign: list[Call | Result]) -> tuple[Part, ...]:
    """The parts of a message; foreign ones keep their path, but not their JSON."""
    is_foreign = PartSet[Part](foreign).__contains__
    return tuple(
        replace(part, source=Source(path=part.path)) if is_foreign(part) else part
        for part in message.parts
    )


def _with_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    """The message with other parts. It is written from scratch, unless it has parts that only a
    message of this wire can have: calls that the provider ran, calls of another role, and
    decisions."""
    has_own_parts = any(_needs_this_wire(part, message) for part in parts)
    wire = message.wire if has_own_parts else ""
    return Message(message.role, parts, None, wire, source=Source(path=message.path))


def _needs_this_wire(part: Part, message: Message) -> bool:
    if isinstance(part, Call):
        return message.role != "assistant" or not part.runs_on_client
    return isinstance(part, Result) and part.family == APPROVAL


def _with_known_roles(facts: Facts) -> FixedBody | None:
    """The body with role names of the wire."""
    roles = foreign_roles(facts)
    changes = [
        (path, f"added the role `{role}`")
        if get(facts.body, (*path, "role")) is UNSET
        else ((*path, "role"), f"changed the role to `{role}`")
        for path, role in roles
    ]
    return FixedBody(with_roles(facts.body, roles), tuple(changes)) if changes else None


def _with_messages_unwrapped(facts: Facts) -> FixedBody | None:
    """The body with the messages of a chat that stored ones stand for."""
    stored = stored_messages(facts)
    if not stored:
        return None
    list_path = stored[0][0][:-1]
    new = {path[-1]: messages for path, messages in stored}
    old = get(facts.body, list_path)
    assert isinstance(old, list)
    elements = [(n, element) for n, message in enumerate(old) for element in new.get(n, [message])]
    changes = [(path, f"converted to {_roles(messages)}") for path, messages in stored]
    body = put(facts.body, list_path, [element for _, element in elements])
    return FixedBody(body, tuple(changes), tuple(n for n, _ in elements))


def _roles(messages: list[Object]) -> str:
    """The roles of messages, for a report."""
    roles = ", ".join(f"`{message.get('role')}`" for message in messages)
    return f"a message with the role {roles}" if len(messages) == 1 else f"messages: {roles}"


def _with_ids(facts: Facts) -> FixedBody | None:
    """The body with the call ids of results in the field of the wire."""
    fields = foreign_id_fields(facts)
    changes = [((*path, name), "moved to the field `tool_call_id`") for path, name, _ in fields]
    return FixedBody(with_id_fields(facts.body, fields), tuple(changes)) if changes else None


def _with_types(facts: Facts) -> FixedBody | None:
    """The body with the type of each call."""
    calls = calls_without_type(facts)
    changes = tuple((call.path, "added the type of the call") for call in calls)
    return FixedBody(with_call_types(facts.body, calls), changes) if calls else None


def _fix(facts: Facts, unsafe: bool) -> FixedBody | FixedConversation | None:
    # Edits of the conversation come last, because the body does not show them.
    unwrapped = _with_messages_unwrapped(facts)
    if unwrapped is not None:
        return unwrapped
    fixed_body = _with_ids(facts) or _with_known_roles(facts) or _with_own_items(facts)
    return fixed_body or _with_types(facts) or _write_anew(facts)


def _with_own_items(facts: Facts) -> FixedBody | None:
    """The body with items instead of chat messages, or with chat messages instead of items."""
    messages = _messages_among_items(facts)
    if messages:
        new = {index: as_items(message) for index, message in messages}
        changes = [
            (("input", index), "converted to items, with the same ids") for index, _ in messages
        ]
        origins = [index for index, *_ in input_items(facts) for _ in new.get(index, (index,))]
        return FixedBody(with_items(facts, new), tuple(changes), tuple(origins))
    items = _items_among_messages(facts)
    if items and isinstance(facts.body, dict):
        converted, origins = as_messages(facts.body["messages"])
        body = {**facts.body, "messages": converted}
        changes = [
            (("messages", index), "converted to a message, with the same id") for index, _ in items
        ]
        return FixedBody(body, tuple(changes), tuple(origins))
    return None


_SYSTEM: JSON = {"role": "system", "content": "be brief"}
_STORED_CALL: JSON = {"id": "c1", "name": "f", "args": {}, "type": "tool_call"}
_STORED_RESULT: JSON = {"content": "1", "tool_call_id": "c1"}
RULE = Rule(
    "TW045",
    "wrong-vocabulary",
    title="a message or item has the format of another wire",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    ruled_out_on_own_wire_by=(Observation.OWN_FORMAT,),
    bad=(
        items_example(function_call("c1"), tool_message("c1")),
        items_example(
            assistant(tool_call("c1"), tool_call("c2", "g")),
            tool_message("c1"),
            tool_message("c2", [{"type": "text", "text": "2"}]),
        ),
        chat_example(USER, assistant(tool_call("c1")), function_call_output("c1")),
        chat_example(
            USER, assistant({"id": "c1", "name": "f", "arguments": "{}"}), tool_message("c1")
        ),
        chat_example(
            USER, {"tool_calls": [tool_call("c1")]}, {"tool_call_id": "c1", "content": "1"}
        ),
        chat_example(
            {"type": "human", "data": {"type": "human", "content": "hi", "id": None}},
            {"type": "ai", "content": "", "tool_calls": [_STORED_CALL], "invalid_tool_calls": []},
            {"lc": 1, "id": ["messages", "ToolMessage"], "kwargs": _STORED_RESULT},
        ),
        chat_example(
            USER,
            function_call("c1"),
            function_call("c2"),
            function_call_output("c1"),
            function_call_output("c2"),
        ),
        chat_example(
            USER,
            assistant_blocks(text_block("ok"), tool_use("c1")),
            user_blocks(tool_result("c1"), text_block("so?")),
        ),
        chat_example(user_blocks({"type": "input_text", "text": "hi"})),
        blocks_example(user_blocks({"type": "image_url", "image_url": {"url": "https://x/y.png"}})),
        blocks_example(
            USER,
            {"role": "assistant", "content": "", "tool_calls": [tool_call("c1")]},
            user_blocks(tool_result("c1")),
        ),
        contents_example(HI, {"role": "assistant", "parts": [{"text": "hello"}]}, HI),
        contents_example({"role": "system", "parts": [{"text": "be brief"}]}, HI),
        blocks_example(_SYSTEM, USER),
        blocks_example(USER, {"role": "assistant", "content": "hello"}, _SYSTEM, USER),
    ),
    good=(
        items_example(function_call("c1"), function_call_output("c1")),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        blocks_example(USER, assistant_blocks(tool_use("c1")), user_blocks(tool_result("c1"))),
    ),
)
