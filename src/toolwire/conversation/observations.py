"""One cheap pass over a conversation: what it holds, and what is obviously in order.

Every stage after reading needs a look at all parts. This pass is that look, done once: it collects
calls, results and parts with fields of their own wire, and sets a flag for each simple property
that holds. Lint rules declare which flags rule them out, and lowering skips a plain conversation:
a well-formed history pays for this pass only. This module knows no rule and no wire by name.
"""

from __future__ import annotations

from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import (
    APPROVAL,
    Call,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
    Traceable,
)


class Observation:
    """Properties of a conversation that one pass can see, as bits. A set bit means that it holds.

    Plain numbers and no `enum.Flag`: its operators would cost more than the pass over a short
    history.
    """

    STARTS_WITH_USER = 1 << 0
    """The first message that is not a system message is a user message."""
    RESULTS_IN_PLACE = 1 << 1
    """The results of an assistant message with calls follow it directly, in other messages, one for
    each call and in the order of the calls. Only the calls at the very end may still wait for
    theirs."""
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
    """Every text has a character that is not white space, and no message is empty."""
    NO_REASONING = 1 << 9
    """There is no reasoning, and the settings ask for none."""
    NO_SERVER_TOOLS = 1 << 10
    """Every call is run by the client, and no call of a provider waits for an approval."""
    DISTINCT_TOOLS = 1 << 11
    """No two tool definitions have the same name."""
    CALLS_DEFINED = 1 << 12
    """There are tool definitions, or there are no calls and results."""
    OTHER_WIRE = 1 << 13
    """No message was read from the wire of the target."""
    PLAIN = 1 << 14
    """There is nothing but text, calls of the client in assistant messages, and results of text
    without an error flag."""
    RESULTS_TOGETHER = 1 << 15
    """The results of the calls of one message are in one message."""


ALL = (1 << 16) - 1
"""All properties."""
SERVER_TOOL_IDS = ("srvtoolu_", "mcptoolu_")
"""Prefixes of ids that a provider gives to calls that it runs itself."""
REASONING_SETTINGS = ("effort", "budget")


class Observations:
    """What one pass over a conversation saw."""

    __slots__ = (
        "call_ids",
        "calls",
        "flags",
        "leftovers",
        "names",
        "native_server_calls",
        "results",
    )

    def __init__(self) -> None:
        self.flags = ALL
        self.calls: list[Call] = []
        """Every call whose id may have to be fitted to the target."""
        self.call_ids: list[str] = []
        """The ids of these calls, in order."""
        self.names: set[str] = set()
        """The names of the tools that these calls use."""
        self.native_server_calls: list[Call] = []
        """Calls that the target's own provider ran: they are written back as they are."""
        self.results: list[Result] = []
        self.leftovers: list[Traceable] = []
        """What has a signature, or fields that only its own wire knows."""

    def holds(self, flags: int) -> bool:
        """True if all of these properties hold."""
        return not flags & ~self.flags


def observe(conversation: Conversation, target: str) -> Observations:
    """Look at every part of a conversation that goes to the wire `target`."""
    seen = Observations()
    messages = conversation.messages
    missing = _observe_parts(messages, seen) | _observe_roles(messages)
    if target in [message.wire for message in messages]:
        missing |= Observation.OTHER_WIRE
    if seen.calls:
        missing |= _observe_calls(messages, target, seen)
    if seen.results:
        missing |= _observe_results(seen.results)
    missing |= _observe_settings(conversation, seen)
    seen.flags = ALL & ~missing
    if conversation.wire != target or not conversation.pristine:
        seen.leftovers = _leftovers(conversation, target)
    return seen


def _observe_parts(messages: tuple[Message, ...], seen: Observations) -> int:
    """Collect calls and results, and return the properties of texts and of the order of parts that
    do not hold."""
    calls, results = seen.calls, seen.results
    texts: list[str] = []
    missing = 0
    pending: list[str] = []
    """Ids of calls whose results have not come yet, the next one last."""
    for message in messages:
        is_assistant = message.role == "assistant"
        has_calls = has_results = False
        for part in message.parts:
            if part.__class__ is Result:
                results.append(part)
                if not pending or is_assistant or pending.pop() != part.call_id:
                    missing |= Observation.RESULTS_IN_PLACE
                has_results = True
                continue
            if pending and not (has_calls and part.__class__ is Call):
                missing |= Observation.RESULTS_IN_PLACE
            if part.__class__ is Text:
                texts.append(part.text)
                if has_calls or part.refusal:
                    missing |= Observation.PLAIN
            elif part.__class__ is Call:
                calls.append(part)
                pending.append(part.id)
                has_calls = True
            else:
                missing |= _OTHER_PARTS.get(part.__class__, Observation.PLAIN)
        if has_calls:
            pending.reverse()
            missing |= 0 if is_assistant else Observation.RESULTS_IN_PLACE | Observation.PLAIN
        elif has_results:
            missing |= _observe_result_message(message, is_last=not pending)
        elif not message.parts:
            texts.append("")
            missing |= Observation.RESULTS_IN_PLACE if pending else 0
    if "" in texts or any(map(str.isspace, texts)):
        missing |= Observation.NO_BLANK_TEXT
    return missing


_OTHER_PARTS: dict[type[Part], int] = {Reasoning: Observation.PLAIN | Observation.NO_REASONING}
"""The properties that do not hold if there is a part of a type other than text, call or result."""


def _observe_result_message(message: Message, *, is_last: bool) -> int:
    """The properties of a message with results that do not hold."""
    missing = 0 if is_last else Observation.RESULTS_TOGETHER
    if len(message.parts) > 1 and not all(part.__class__ is Result for part in message.parts):
        missing |= Observation.RESULTS_ALONE
    return missing


def _observe_roles(messages: tuple[Message, ...]) -> int:
    """The properties of the roles that do not hold."""
    roles = [message.role for message in messages]
    first = 0
    while first < len(roles) and roles[first] == "system":
        first += 1
    missing = 0
    if first < len(roles) and roles[first] != "user":
        missing |= Observation.STARTS_WITH_USER
    if roles.count("system") > first:
        missing |= Observation.PLAIN
    return missing


def _observe_results(results: list[Result]) -> int:
    """The properties of results that do not hold."""
    missing = 0
    for result in results:
        if result.error:
            missing |= Observation.NO_ERROR_RESULTS | Observation.PLAIN
        if result.executor != "client" or result.family == APPROVAL:
            missing |= Observation.NO_SERVER_TOOLS | Observation.PLAIN
        if result.output.__class__ is tuple:
            missing |= Observation.PLAIN
    return missing


def _observe_calls(messages: tuple[Message, ...], target: str, seen: Observations) -> int:
    """The properties of calls that do not hold."""
    missing = 0
    for call in seen.calls:
        if call.executor != "client":
            missing |= _BROKEN_BY_SERVER_CALLS
        elif call.family == APPROVAL:
            missing |= Observation.NO_SERVER_TOOLS | Observation.PLAIN
        arguments = call.args.content
        if arguments.__class__ is str and arguments[:1] != "{":
            missing |= Observation.OBJECT_ARGUMENTS
    if missing & Observation.NO_SERVER_TOOLS:
        seen.native_server_calls = native_calls(messages, target, executor="provider")
        native = PartSet(seen.native_server_calls)
        seen.calls = [call for call in seen.calls if call not in native]
    call_ids = seen.call_ids = [call.id for call in seen.calls]
    if len(set(call_ids)) < len(call_ids):
        missing |= Observation.UNIQUE_CALL_IDS
    joined_ids = " ".join(call_ids)
    if any(prefix in joined_ids for prefix in SERVER_TOOL_IDS):
        missing |= Observation.CLIENT_IDS
    seen.names = {call.name for call in seen.calls}
    if not all(map(str.strip, seen.names)):
        missing |= Observation.NAMED_CALLS
    return missing


_BROKEN_BY_SERVER_CALLS = (
    Observation.NO_SERVER_TOOLS | Observation.PLAIN | Observation.RESULTS_IN_PLACE
)


def native_calls(messages: tuple[Message, ...], wire: str, *, executor: str) -> list[Call]:
    """The calls of messages that were read from a wire, by who runs them."""
    return [
        part
        for message in messages
        if message.wire == wire
        for part in message.parts
        if part.__class__ is Call and part.executor == executor
    ]


def _observe_settings(conversation: Conversation, seen: Observations) -> int:
    """The properties of tool definitions and settings that do not hold."""
    missing = 0
    tools = conversation.tools
    if len(tools) > 1 and len({tool.name for tool in tools}) < len(tools):
        missing |= Observation.DISTINCT_TOOLS
    if not tools and (seen.calls or seen.results):
        missing |= Observation.CALLS_DEFINED
    if not conversation.settings.keys().isdisjoint(REASONING_SETTINGS):
        missing |= Observation.NO_REASONING
    return missing


def _leftovers(conversation: Conversation, target: str) -> list[Traceable]:
    """What other wires sent with a signature, or with fields that only they know, in order."""
    found: list[Traceable] = []
    for message in conversation.messages:
        if message.wire == target:
            continue
        source = message.source
        raw, spec = source.raw, source.spec
        if raw.__class__ is dict and spec is not None and not spec.keys.issuperset(raw):
            found.append(message)
        for part in message.parts:
            if part.__class__ is Result and part.output.__class__ is tuple:
                found += part.output
            source = part.source
            if part.signature is not None or (
                source.raw.__class__ is dict
                and source.raw is not raw
                and source.spec is not None
                and not source.spec.clean(source.raw)
            ):
                found.append(part)
    if conversation.wire != target:
        found += [
            tool
            for tool in conversation.tools
            if tool.source.spec is not None and not tool.source.spec.clean(tool.source.raw)
        ]
    return found
