"""One cheap pass over a conversation: what it holds, and what is obviously in order.

Every stage after reading needs a look at all parts. This pass is that look, done once: it collects
calls, results and parts with fields of their own wire, and sets a flag for each simple property
that holds. Lint rules declare which flags rule them out, and lowering skips a plain conversation:
a well-formed history pays for this pass only. This module knows no rule and no wire by name.
"""

from __future__ import annotations

import re

from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import APPROVAL, Call, Message, Reasoning, Result, Text, Traceable


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


ALL = (1 << 15) - 1
"""All properties."""
SERVER_TOOL_IDS = ("srvtoolu_", "mcptoolu_")
"""Prefixes of ids that a provider gives to calls that it runs itself."""
REASONING_SETTINGS = ("effort", "budget")
_is_server_tool_id = re.compile("|".join(SERVER_TOOL_IDS)).match


class Observations:
    """What one pass over a conversation saw."""

    __slots__ = (
        "call_ids",
        "calls",
        "flags",
        "leftovers",
        "names",
        "native_ids",
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
        self.native_ids: dict[str, str] = {}
        """Ids of calls that were read from the target's own wire: they stay as they are."""
        self.leftovers: list[Traceable] = []
        """What has a signature, or fields that only its own wire knows."""

    def holds(self, flags: int) -> bool:
        """True if all of these properties hold."""
        return not flags & ~self.flags


def observe(conversation: Conversation, target: str) -> Observations:
    """Look at every part of a conversation that goes to the wire `target`."""
    seen = Observations()
    calls, results, leftovers = seen.calls, seen.results, seen.leftovers
    missing = 0
    pending: list[str] = []
    """Ids of calls whose results have not come yet."""
    caller: Message | None = None
    """The newest message with calls."""
    opened = False
    for message in conversation.messages:
        role, parts, source = message.role, message.parts, message.source
        if not opened:
            if role == "user":
                opened = True
            elif role != "system":
                missing |= Observation.STARTS_WITH_USER
                opened = True
        elif role == "system":
            missing |= Observation.PLAIN
        raw = source.raw
        native = message.wire == target
        if native:
            missing |= Observation.OTHER_WIRE
        elif (
            source.spec is not None
            and raw.__class__ is dict
            and not source.spec.keys.issuperset(raw)
        ):
            leftovers.append(message)
        if not parts:
            missing |= Observation.NO_BLANK_TEXT
            if pending:
                missing |= Observation.RESULTS_IN_PLACE
        for part in parts:
            if part.__class__ is Text:
                text = part.text
                if pending:
                    missing |= Observation.RESULTS_IN_PLACE
                if caller is message or part.refusal:
                    missing |= Observation.PLAIN
                if text[:1] <= " " and not text.strip():
                    missing |= Observation.NO_BLANK_TEXT
            elif part.__class__ is Call:
                if part.executor != "client":
                    missing |= Observation.NO_SERVER_TOOLS | Observation.PLAIN
                    missing |= Observation.RESULTS_IN_PLACE
                    if native:
                        seen.native_server_calls.append(part)
                        continue
                elif part.family == APPROVAL:
                    missing |= Observation.NO_SERVER_TOOLS | Observation.PLAIN
                calls.append(part)
                if role != "assistant":
                    missing |= Observation.RESULTS_IN_PLACE | Observation.PLAIN
                if pending and caller is not message:
                    missing |= Observation.RESULTS_IN_PLACE
                caller = message
                pending.append(part.id)
                arguments = part.args.content
                if arguments.__class__ is str and arguments[:1] != "{":
                    missing |= Observation.OBJECT_ARGUMENTS
                if native:
                    seen.native_ids[part.id] = part.id
            elif part.__class__ is Result:
                results.append(part)
                if len(parts) > 1 and not all(other.__class__ is Result for other in parts):
                    missing |= Observation.RESULTS_ALONE
                if pending and pending[0] == part.call_id and role != "assistant":
                    del pending[0]
                else:
                    missing |= Observation.RESULTS_IN_PLACE
                if part.error:
                    missing |= Observation.NO_ERROR_RESULTS | Observation.PLAIN
                if part.executor != "client" or part.family == APPROVAL:
                    missing |= Observation.NO_SERVER_TOOLS | Observation.PLAIN
                if part.output.__class__ is tuple:
                    missing |= Observation.PLAIN
                    if not native:
                        leftovers += part.output
            else:
                missing |= Observation.PLAIN
                if pending:
                    missing |= Observation.RESULTS_IN_PLACE
                if part.__class__ is Reasoning:
                    missing |= Observation.NO_REASONING
            if native:
                continue
            origin = part.source
            block = origin.raw
            if part.signature is not None or (
                block.__class__ is dict
                and block is not raw
                and origin.spec is not None
                and not origin.spec.clean(block)
            ):
                leftovers.append(part)
    if calls:
        missing |= _observe_calls(seen)
    seen.flags = ALL & ~(missing | _observe_settings(conversation, seen))
    if conversation.wire != target:
        for tool in conversation.tools:
            origin = tool.source
            if origin.spec is not None and not origin.spec.clean(origin.raw):
                leftovers.append(tool)
    return seen


def _observe_calls(seen: Observations) -> int:
    """The properties of the ids and names of calls that do not hold."""
    missing = 0
    call_ids = seen.call_ids = [call.id for call in seen.calls]
    if len(set(call_ids)) < len(call_ids):
        missing |= Observation.UNIQUE_CALL_IDS
    if any(map(_is_server_tool_id, call_ids)):
        missing |= Observation.CLIENT_IDS
    seen.names = {call.name for call in seen.calls}
    if not all(map(str.strip, seen.names)):
        missing |= Observation.NAMED_CALLS
    return missing


def _observe_settings(conversation: Conversation, seen: Observations) -> int:
    """The properties of tool definitions and settings that do not hold."""
    missing = 0
    tools = conversation.tools
    if len(tools) > 1 and len({tool.name for tool in tools}) < len(tools):
        missing |= Observation.DISTINCT_TOOLS
    if not tools and (seen.calls or seen.results):
        missing |= Observation.CALLS_DEFINED
    if any(name in conversation.settings for name in REASONING_SETTINGS):
        missing |= Observation.NO_REASONING
    return missing
