"""One cheap pass over a conversation, which records what is certainly in order.

The pass collects calls, results and parts with fields of their own wire, and sets a flag for each
simple property that holds. All stages after reading share it: lint rules declare which flags rule
them out, and lowering skips a plain conversation, so a well-formed history costs only this pass.
This module knows no rule and no wire by name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from operator import attrgetter

from msgspec import Struct

from toolwire.conversation.json import SurrogateBytes
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import (
    APPROVAL,
    Call,
    FieldSpec,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    Traceable,
)


class Observation:
    """Properties of a conversation that one pass can see, as bits. A set bit means that it holds.

    Plain numbers and no `enum.Flag`: its operators would cost more than the pass over a short
    history.
    """

    STARTS_WITH_USER = 1 << 0
    """The first message that is not a system message is a user message with content to send."""
    RESULTS_IN_PLACE = 1 << 1
    """The results of an assistant message with calls follow it directly, in other messages, one for
    each call and in the order of the calls. Only the calls at the very end may still wait for their
    results."""
    RESULTS_ALONE = 1 << 2
    """No message holds results beside other parts."""
    UNIQUE_CALL_IDS = 1 << 3
    """No two calls share an id."""
    NAMED_CALLS = 1 << 4
    """Every call has the name of a tool."""
    OBJECT_ARGUMENTS = 1 << 5
    """The arguments of every call are an object, or text that begins like one."""
    CLIENT_IDS = 1 << 6
    """No call has an id that a provider gives to calls that it runs itself."""
    NO_ERROR_RESULTS = 1 << 7
    """No result is an error."""
    NO_BLANK_TEXT = 1 << 8
    """Every text has a character that is not white space, no message is empty, and if the last
    message is the assistant's, its last text does not end with white space."""
    NO_REASONING = 1 << 9
    """There is no reasoning, and the settings ask for none."""
    NO_SERVER_TOOLS = 1 << 10
    """The client runs every call, and there is no approval of a call that a provider runs."""
    DISTINCT_TOOLS = 1 << 11
    """No two tool definitions have the same name."""
    CALLS_DEFINED = 1 << 12
    """There are tool definitions, or there are neither calls nor results."""
    OTHER_WIRE = 1 << 13
    """No message was read from the wire of the target."""
    PLAIN = 1 << 14
    """`ONLY_TEXT_AND_TOOLS` holds, system messages come first, no text follows a call in a message,
    and no text is a refusal."""
    RESULTS_TOGETHER = 1 << 15
    """The results of the calls of one message are in one message."""
    PLAIN_TOOLS = 1 << 16
    """Every tool definition is a function with a name and without a strict flag."""
    ROLES_FIT = 1 << 17
    """Calls are in messages of the assistant, and results in those of a user or a tool."""
    WIRE_IDS = 1 << 18
    """Every call and result has a call id from its wire that is not a number, and no call has an
    item id beside it."""
    NO_LONE_SURROGATES = 1 << 19
    """The messages were read by a parser that refuses lone surrogates, and not edited since; no
    arguments that are text contain one as an escape."""
    ENDS_WITH_USER = 1 << 20
    """The last message is a user's or a tool's and has content that every target gets."""
    NO_PENDING_CALLS = 1 << 21
    """Calls at the very end have their results, too. Only meaningful if `RESULTS_IN_PLACE` holds.
"""
    NO_BLANK_RESULTS = 1 << 22
    """Every result that is a text has a character that is not white space."""
    NO_TOOL_CHOICE = 1 << 23
    """The settings leave the choice of a tool to the model, and are about tools only if there are
    any."""
    ARGUMENTS_ARE_OBJECTS = 1 << 24
    """The arguments of every call are an object in the JSON."""
    ARGUMENTS_ARE_TEXT = 1 << 25
    """The arguments of every call are a text in the JSON that begins like an object."""
    ONLY_TEXT_AND_TOOLS = 1 << 26
    """There is nothing but text, calls of the client in assistant messages, and results of text; no
    message and no text is empty."""
    BLOCK_FIELDS_READ = 1 << 27
    """Every part is the text of its message, or an object of which its wire reads all fields."""
    MESSAGE_FIELDS_READ = 1 << 28
    """The wire of the target reads all fields that messages have in its JSON."""
    TEXT_RESULTS = 1 << 29
    """Every result is a text that is not empty."""
    ACCEPTED_IDS = 1 << 30
    """The target accepts the id of every call and result. This property and those below depend on
    the target and are only known on its own wire."""
    ACCEPTED_NAMES = 1 << 31
    """The target accepts the name of every tool."""
    ACCEPTED_ARGUMENTS = 1 << 32
    """The arguments of every call have the form that the target expects."""
    ACCEPTED_FIELDS = 1 << 33
    """The target accepts the fields of every message."""
    OWN_FORMAT = 1 << 34
    """Messages, calls and results have types and roles that the target knows, and only fields that
    its wire reads."""
    EXPECTED_TYPES = 1 << 35
    """The body was read without correcting a JSON type."""
    ACCEPTED_BREAKPOINTS = 1 << 36
    """There are no more cache breakpoints than the target accepts."""


ALL = (1 << 30) - 1
"""All properties that one pass sees."""
_NOT_PLAIN = Observation.PLAIN | Observation.ONLY_TEXT_AND_TOOLS
"""The properties that do not hold if there is anything but text, calls and results of text."""
SERVER_TOOL_IDS = ("srvtoolu_", "mcptoolu_")
"""Prefixes of ids that a provider gives to calls that it runs itself."""


class Observations(Struct, eq=False, gc=False):
    """The observations of one pass over a conversation."""

    flags: int
    calls: list[Call]
    """Every call whose id may have to be fitted to the target."""
    results: list[Result]
    leftovers: list[Traceable]
    """Parts with a signature, or with fields that only their own wire knows."""
    call_ids: list[str] = []
    """The ids of these calls, in order."""
    joined_ids: str = ""
    """The same ids, each on a line."""
    names: set[str] = set()
    """The tool names of these calls."""
    fields: Mapping[FieldSpec | None, set[str]] = {}
    """The names of all fields that messages have in the JSON of the target's wire, by the spec of
    the message. A message that is not an object there has none."""
    native_server_calls: list[Call] = []
    """Calls that the target's own provider ran: they are written back unchanged."""

    def holds(self, flags: int) -> bool:
        """True if all of these properties hold."""
        return self.flags & flags == flags

    def require_all_results(self) -> None:
        """Treat calls at the end that wait for their results as calls without results."""
        if not self.flags & Observation.NO_PENDING_CALLS:
            self.flags &= ~Observation.RESULTS_IN_PLACE


def observe(conversation: Conversation, target: str) -> Observations:
    """Observe every part of a conversation that goes to the wire `target`."""
    calls: list[Call] = []
    results: list[Result] = []
    texts: list[str] = []
    outputs: list[str] = []  # the results that are texts
    missing = 0  # the properties that do not hold, as bits
    pending: deque[str] = deque()  # ids of calls whose results have not occurred yet
    first: Message | None = None  # the first message that is not a system message
    for message in conversation.messages:
        role, parts = message.role, message.parts
        if role == "system":
            if first is not None:
                missing |= Observation.PLAIN
        elif first is None:
            first = message
        has_calls = has_results = False
        for part in parts:
            if part.__class__ is Text:
                texts.append(part.text)
                if has_calls or part.refusal:
                    missing |= Observation.PLAIN
                if pending:
                    missing |= Observation.RESULTS_IN_PLACE
            elif part.__class__ is Result:
                results.append(part)
                has_results = True
                if role == "assistant" or role == "system":
                    missing |= Observation.RESULTS_IN_PLACE | Observation.ROLES_FIT
                elif not pending or pending.popleft() != part.call_id:
                    missing |= Observation.RESULTS_IN_PLACE
                if part.error:
                    missing |= Observation.NO_ERROR_RESULTS
                output = part.output
                if output.__class__ is str:
                    outputs.append(output)
                elif output.__class__ is tuple:
                    missing |= _NOT_PLAIN | Observation.BLOCK_FIELDS_READ
            elif part.__class__ is Call:
                calls.append(part)
                if role != "assistant":
                    missing |= _BROKEN_BY_MISPLACED_CALLS
                if pending and not has_calls:
                    missing |= Observation.RESULTS_IN_PLACE
                pending.append(part.id)
                has_calls = True
            else:
                missing |= _OTHER_PARTS.get(type(part), _NOT_PLAIN)
                if pending:
                    missing |= Observation.RESULTS_IN_PLACE
        if has_results and not has_calls:
            if pending:
                missing |= Observation.RESULTS_TOGETHER
            if len(parts) > 1 and not all(type(part) is Result for part in parts):
                missing |= Observation.RESULTS_ALONE
        elif not parts:
            texts.append("")
            if pending:
                missing |= Observation.RESULTS_IN_PLACE
    if pending:
        missing |= Observation.NO_PENDING_CALLS
    if "" in texts:
        missing |= Observation.NO_BLANK_TEXT | _NOT_PLAIN
    elif any(map(str.isspace, texts)):
        missing |= Observation.NO_BLANK_TEXT
    if "" in outputs:
        missing |= Observation.NO_BLANK_RESULTS | Observation.TEXT_RESULTS
    elif outputs and any(map(str.isspace, outputs)):
        missing |= Observation.NO_BLANK_RESULTS
    if len(outputs) < len(results):
        missing |= Observation.TEXT_RESULTS
    # A message that is left out has an empty text, or parts that are neither text nor tools.
    may_leave_out = missing & Observation.ONLY_TEXT_AND_TOOLS
    if first is not None and (first.role != "user" or (may_leave_out and is_left_out(first))):
        missing |= Observation.STARTS_WITH_USER
    last = conversation.messages[-1] if conversation.messages else None
    if last is not None and (
        last.role in ("assistant", "system") or (may_leave_out and is_left_out(last))
    ):
        missing |= Observation.ENDS_WITH_USER
        if texts and texts[-1][-1:].isspace():
            missing |= Observation.NO_BLANK_TEXT
    observations = Observations(0, calls, results, [])
    missing |= _observe_sources(conversation, target, observations)
    if calls or results:
        missing |= _observe_calls(conversation, target, observations)
    missing |= _observe_settings(conversation, target, observations)
    observations.flags = ALL & ~missing
    return observations


_BROKEN_BY_MISPLACED_CALLS = Observation.RESULTS_IN_PLACE | Observation.ROLES_FIT | _NOT_PLAIN
"""The properties that do not hold if a message of another role than the assistant has calls."""
_OTHER_PARTS: dict[type[Part], int] = {Reasoning: _NOT_PLAIN | Observation.NO_REASONING}
"""The properties that do not hold if there is a part of a type. For a type that is not listed, this
is `_NOT_PLAIN`."""


_IS_COMPLETE: Callable[[Message], bool] = attrgetter("source.is_complete")
_WIRE: Callable[[Message], str] = attrgetter("wire")


def _observe_sources(conversation: Conversation, target: str, observations: Observations) -> int:
    """Collect what the JSON holds beside the content, and return what does not hold of it."""
    missing, messages, body = 0, conversation.messages, conversation.source
    is_as_read = body.messages is messages
    if body.raw is None or not is_as_read or type(body.raw) is SurrogateBytes:
        missing |= Observation.NO_LONE_SURROGATES
    parts_are_complete = is_as_read and body.parts_are_complete
    if not parts_are_complete or not all(map(_IS_COMPLETE, messages)):
        missing |= _observe_unread(
            messages, target, observations.leftovers, parts_are_complete=parts_are_complete
        )
    if target in map(_WIRE, messages):
        missing |= Observation.OTHER_WIRE
        observations.fields = fields = _fields_of_messages(messages, target)
        for spec, names in fields.items():
            if spec is None or not spec.keys.issuperset(names):
                missing |= Observation.MESSAGE_FIELDS_READ
    return missing


def _observe_unread(
    messages: tuple[Message, ...],
    target: str,
    leftovers: list[Traceable],
    *,
    parts_are_complete: bool,
) -> int:
    """Collect what only its own wire reads, and return the properties that do not hold."""
    missing = 0
    for message in messages:
        source = message.source
        is_foreign = message.wire != target
        if is_foreign and not source.is_complete and _has_unread_fields(source):
            leftovers.append(message)
        if parts_are_complete:
            continue
        for part in message.parts:
            if is_foreign and part.__class__ is Result and part.output.__class__ is tuple:
                leftovers += part.output
            if part.signature is not None and is_foreign:
                leftovers.append(part)
                continue
            part_source = part.source
            if part_source.is_complete or part_source is source:
                continue  # the part was read in full, or the message is the part
            if part_source.raw.__class__ is not dict:
                missing |= Observation.BLOCK_FIELDS_READ
            elif part_source.raw is not source.raw and _has_unread_fields(part_source):
                missing |= Observation.BLOCK_FIELDS_READ
                if is_foreign:
                    leftovers.append(part)
    return missing


def _fields_of_messages(
    messages: tuple[Message, ...], wire: str
) -> dict[FieldSpec | None, set[str]]:
    """Return the names of all fields that messages of a wire have, by the spec of the message."""
    fields: dict[FieldSpec | None, set[str]] = {}
    for message in messages:
        raw, spec = message.source.raw, message.source.spec
        if raw.__class__ is dict and message.wire == wire:
            fields.setdefault(spec, set()).update(raw)
    return fields


def _has_unread_fields(source: Source) -> bool:
    """True if a message or block has fields that its wire does not read."""
    raw, spec = source.raw, source.spec
    if raw.__class__ is not dict or spec is None:
        return False
    return (bool(spec.inner) or not spec.keys.issuperset(raw)) and not spec.clean(raw)


def is_left_out(message: Message) -> bool:
    """True for a message without anything that another wire can hold: no parts, empty texts, blocks
    of an unknown type, hidden reasoning.
    """
    for part in message.parts:
        if type(part) is Text or type(part) is Reasoning:
            if part.text:
                return False
        elif type(part) is not Opaque:
            return False
    return True


def _observe_calls(conversation: Conversation, target: str, observations: Observations) -> int:
    """Return the properties of calls and their executors that do not hold."""
    calls, call_ids, names = observations.calls, observations.call_ids, observations.names
    missing = 0
    for call in calls:
        call_id, arguments = call.id, call.args.content
        call_ids.append(call_id)
        names.add(call.name)
        if call.origin != "wire" or call.item is not None or call_id.isdecimal():
            missing |= Observation.WIRE_IDS
        if call.executor != "client" or call.family == APPROVAL:
            missing |= _broken_by_executor(call)
        if arguments.__class__ is str:
            missing |= Observation.ARGUMENTS_ARE_OBJECTS
            if arguments[:1] != "{":
                missing |= Observation.ARGUMENTS_ARE_TEXT | Observation.OBJECT_ARGUMENTS
            if "\\u" in arguments and "\\ud" in arguments.lower():
                missing |= Observation.NO_LONE_SURROGATES
        else:
            missing |= Observation.ARGUMENTS_ARE_TEXT
            if arguments.__class__ is not dict:
                missing |= Observation.ARGUMENTS_ARE_OBJECTS
    for result in observations.results:
        if result.origin != "wire" or result.call_id.isdecimal():
            missing |= Observation.WIRE_IDS
        if result.executor != "client" or result.family == APPROVAL:
            missing |= _broken_by_executor(result)
    if missing & Observation.NO_SERVER_TOOLS:
        _set_native_calls_apart(conversation, target, observations)
        call_ids, names = observations.call_ids, observations.names
    if len(call_ids) > 1 and len(set(call_ids)) < len(call_ids):
        missing |= Observation.UNIQUE_CALL_IDS
    joined_ids = observations.joined_ids = "\n".join(call_ids)
    if any(map(joined_ids.__contains__, SERVER_TOOL_IDS)):
        missing |= Observation.CLIENT_IDS
    if not all(map(str.strip, names)):
        missing |= Observation.NAMED_CALLS
    return missing


def _set_native_calls_apart(
    conversation: Conversation, target: str, observations: Observations
) -> None:
    """Observe the calls that the target's own provider ran apart from all others."""
    native = native_calls(conversation.messages, target, executor="provider")
    observations.native_server_calls = native
    native_set = PartSet(native)
    calls = observations.calls = [call for call in observations.calls if call not in native_set]
    observations.call_ids = [call.id for call in calls]
    observations.names = {call.name for call in calls}


def _broken_by_executor(part: Call | Result) -> int:
    """Return the properties that do not hold if a provider runs a call, or asks for an approval."""
    if part.executor != "client":
        return _BROKEN_BY_SERVER_CALLS
    return Observation.NO_SERVER_TOOLS | _NOT_PLAIN


_BROKEN_BY_SERVER_CALLS = Observation.NO_SERVER_TOOLS | _NOT_PLAIN | Observation.RESULTS_IN_PLACE


def native_calls(messages: tuple[Message, ...], wire: str, *, executor: str) -> list[Call]:
    """Return the calls of one executor in messages that were read from a wire."""
    return [
        part
        for message in messages
        if message.wire == wire
        for part in message.parts
        if type(part) is Call and part.executor == executor
    ]


def _observe_settings(conversation: Conversation, target: str, observations: Observations) -> int:
    """Collect tool definitions with fields of their own wire, and return the properties of tool
    definitions and settings that do not hold."""
    missing = 0
    tools = conversation.tools
    if len(tools) > 1 and len({tool.name for tool in tools}) < len(tools):
        missing |= Observation.DISTINCT_TOOLS
    is_foreign = conversation.wire != target
    for tool in tools:
        if tool.kind != "function" or not tool.name or tool.strict is not None:
            missing |= Observation.PLAIN_TOOLS
        if is_foreign and not tool.source.is_complete and _has_unread_fields(tool.source):
            observations.leftovers.append(tool)
    if not tools and (observations.calls or observations.results):
        missing |= Observation.CALLS_DEFINED
    settings = conversation.settings
    if "effort" in settings or "budget" in settings:
        missing |= Observation.NO_REASONING
    if "choice" in settings or ("parallel" in settings and not tools):
        missing |= Observation.NO_TOOL_CHOICE
    return missing
