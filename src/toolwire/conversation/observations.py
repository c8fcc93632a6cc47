"""One cheap pass over a conversation: what it holds, and what is obviously in order.

Every stage after reading needs a look at all parts. This pass is that look, done once: it collects
calls, results and parts with fields of their own wire, and sets a flag for each simple property
that holds. Lint rules declare which flags rule them out, and lowering skips a plain conversation:
a well-formed history pays for this pass only. This module knows no rule and no wire by name.
"""

from __future__ import annotations

from enum import IntFlag, auto

from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Reasoning, Result, Text, Traceable


class Observation(IntFlag):
    """Properties of a conversation that one pass can see. A set flag means that it holds."""

    STARTS_WITH_USER = auto()
    """The first message that is not a system message is a user message."""
    RESULTS_IN_PLACE = auto()
    """The results of a message with calls follow it directly, one for each call and in the order of
    the calls. Only the calls at the very end may still wait for theirs."""
    RESULTS_ALONE = auto()
    """No message holds results beside other parts."""
    UNIQUE_CALL_IDS = auto()
    """No two calls share an id."""
    NAMED_CALLS = auto()
    """Every call has the name of a tool."""
    OBJECT_ARGUMENTS = auto()
    """The arguments of every call are an object, or text that begins like one."""
    CLIENT_IDS = auto()
    """No call has an id that a provider gives to calls that it runs itself."""
    NO_ERROR_RESULTS = auto()
    """No result is an error."""
    NO_BLANK_TEXT = auto()
    """Every text has a character that is not white space, and no message is empty."""
    NO_REASONING = auto()
    """There is no reasoning, and the settings ask for none."""
    NO_SERVER_TOOLS = auto()
    """Every call is run by the client."""
    DISTINCT_TOOLS = auto()
    """No two tool definitions have the same name."""
    CALLS_DEFINED = auto()
    """There are tool definitions, or there are no calls and results."""
    OTHER_WIRE = auto()
    """No message was read from the wire of the target."""
    PLAIN = auto()
    """There is nothing but text, calls of the client, and results of text without an error flag."""


ALL = Observation(sum(Observation))
SERVER_TOOL_IDS = ("srvtoolu_", "mcptoolu_")
"""Prefixes of ids that a provider gives to calls that it runs itself."""
REASONING_SETTINGS = ("effort", "budget")


class Observations:
    """What one pass over a conversation saw."""

    __slots__ = ("calls", "flags", "leftovers", "native_ids", "native_server_calls", "results")

    def __init__(self) -> None:
        self.flags = ALL
        self.calls: list[Call] = []
        """Every call whose id may have to be fitted to the target."""
        self.native_server_calls: list[Call] = []
        """Calls that the target's own provider ran: they are written back as they are."""
        self.results: list[Result] = []
        self.native_ids: dict[str, str] = {}
        """Ids of calls that were read from the target's own wire: they stay as they are."""
        self.leftovers: list[Traceable] = []
        """What has a signature, or fields that only its own wire knows."""

    def holds(self, *flags: Observation) -> bool:
        """True if all of these properties hold."""
        return all(flag in self.flags for flag in flags)


def observe(conversation: Conversation, target: str) -> Observations:
    """Look at every part of a conversation that goes to the wire `target`."""
    seen = Observations()
    calls, results, leftovers = seen.calls, seen.results, seen.leftovers
    missing = Observation(0)
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
        elif raw.__class__ is dict:
            only = parts[0] if len(parts) == 1 else None
            if (
                only.__class__ is Text
                and only.source.raw.__class__ is str
                and len(raw) == 2
                and "role" in raw
                and only.signature is None
            ):  # a role and a text: nothing else can be in it
                if pending:
                    missing |= Observation.RESULTS_IN_PLACE
                if not only.text or only.text.isspace():
                    missing |= Observation.NO_BLANK_TEXT
                continue
            if source.spec is not None and not source.spec.keys.issuperset(raw):
                leftovers.append(message)
        if not parts:
            missing |= Observation.NO_BLANK_TEXT
            if pending:
                missing |= Observation.RESULTS_IN_PLACE
        for part in parts:
            if part.__class__ is Text:
                if pending:
                    missing |= Observation.RESULTS_IN_PLACE
                if caller is message or part.refusal:
                    missing |= Observation.PLAIN
                if not part.text or part.text.isspace():
                    missing |= Observation.NO_BLANK_TEXT
            elif part.__class__ is Call:
                if part.executor != "client":
                    missing |= Observation.NO_SERVER_TOOLS | Observation.PLAIN
                    missing |= Observation.RESULTS_IN_PLACE
                if native and part.executor != "client":
                    seen.native_server_calls.append(part)
                    continue
                calls.append(part)
                if pending and caller is not message:
                    missing |= Observation.RESULTS_IN_PLACE
                caller = message
                pending.append(part.id)
                if not part.name or part.name.isspace():
                    missing |= Observation.NAMED_CALLS
                arguments = part.args.content
                if arguments.__class__ is str and arguments[:1] != "{":
                    missing |= Observation.OBJECT_ARGUMENTS
                if part.id[:9] in SERVER_TOOL_IDS:
                    missing |= Observation.CLIENT_IDS
                if native:
                    seen.native_ids[part.id] = part.id
            elif part.__class__ is Result:
                results.append(part)
                if len(parts) > 1 and not all(other.__class__ is Result for other in parts):
                    missing |= Observation.RESULTS_ALONE
                if pending and pending[0] == part.call_id and caller is not message:
                    del pending[0]
                else:
                    missing |= Observation.RESULTS_IN_PLACE
                if part.error:
                    missing |= Observation.NO_ERROR_RESULTS | Observation.PLAIN
                if part.executor != "client":
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
            origin = part.source
            if native or origin.raw is raw:
                continue
            if part.signature is not None or not (
                origin.spec is None or origin.spec.clean(origin.raw)
            ):
                leftovers.append(part)
    if len(calls) > 1 and len({call.id for call in calls}) < len(calls):
        missing |= Observation.UNIQUE_CALL_IDS
    seen.flags = ALL & ~(missing | _observe_settings(conversation, seen))
    if conversation.wire != target:
        for tool in conversation.tools:
            origin = tool.source
            if origin.spec is not None and not origin.spec.clean(origin.raw):
                leftovers.append(tool)
    return seen


def _observe_settings(conversation: Conversation, seen: Observations) -> Observation:
    """The properties of tool definitions and settings that do not hold."""
    missing = Observation(0)
    tools = conversation.tools
    if len(tools) > 1 and len({tool.name for tool in tools}) < len(tools):
        missing |= Observation.DISTINCT_TOOLS
    if not tools and (seen.calls or seen.results):
        missing |= Observation.CALLS_DEFINED
    if any(name in conversation.settings for name in REASONING_SETTINGS):
        missing |= Observation.NO_REASONING
    return missing
