"""Lowering: adapt a conversation to the capabilities of its target, and report each loss once.

Messages that were read from the target's own wire are not touched. Everything else becomes what
the target's capabilities allow, so that its writer never meets a part it cannot write. This module
knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.ids import give_results_ids
from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.observations import Observation, Observations, observe
from toolwire.conversation.parts import Part, Result, Traceable
from toolwire.wires.engine.cache_breakpoints import FoundBreakpoints, find_breakpoints
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities
from toolwire.wires.engine.message_lowering import MessageLowering
from toolwire.wires.engine.part_lowering import ONE_CANDIDATE, is_new, lower_error
from toolwire.wires.engine.server_tools import ServerToolPolicy, lower_server_tools
from toolwire.wires.engine.settings_lowering import (
    has_lowerable,
    lower_settings,
    lower_tools,
    without_defaults,
    without_idle_settings,
    without_nameless_tools,
    without_repeated_tools,
)
from toolwire.wires.engine.specs import Wire
from toolwire.wires.engine.web_search import SETTING, asks_for_search, lower_web_search

NO_DEFAULTS: Mapping[str, int] = {}


class Lowering(Struct, frozen=True, gc=False):
    """A conversation within the capabilities of its target, and its losses."""

    conversation: Conversation
    losses: list[Loss]
    observations: Observations
    """The observations of the lowered conversation."""
    leftovers: list[Traceable]
    """Parts with a signature, or with fields that only their own wire knows, found before
    lowering."""
    breakpoints: FoundBreakpoints
    """The cache breakpoints of the source."""


def lower(
    conversation: Conversation,
    target: Wire,
    kind: Kind,
    *,
    policy: ServerToolPolicy,
    observations: Observations,
    defaults: Mapping[str, int] = NO_DEFAULTS,
) -> Lowering:
    """Adapt a conversation to a target: its messages, then everything else.

    Args:
        conversation: The conversation; it is not modified.
        target: The wire of the target.
        kind: `request` or `response`.
        policy: How to write calls that another provider ran.
        observations: The observations of the conversation.
        defaults: Settings that an earlier encoding added (`IdMap.defaults`): they are left out
            unless the value has changed.
    """
    messages = MessageLowering(target.capabilities, wire=target.name, kind=kind)
    lowering = lower_messages(conversation, target, messages, policy, observations)
    return lower_rest(lowering, target, kind, defaults)


def lower_messages(
    conversation: Conversation,
    target: Wire,
    messages: MessageLowering,
    policy: ServerToolPolicy,
    observations: Observations,
) -> Lowering:
    """Adapt the messages of a conversation to a target."""
    kind, losses, source = messages.kind, messages.losses, conversation
    seen = observations
    if not observations.flags & Observation.NO_SERVER_TOOLS:
        conversation, lost = lower_server_tools(conversation, target, policy, kind=kind)
        losses += lost
        observations = observe(conversation, target.name)
    leftovers = observations.leftovers
    breakpoints: FoundBreakpoints = {}
    marks = target.capabilities.cache_breakpoints
    if kind == "request" and marks is not None:
        marks_end = marks.automatic and conversation.wire != target.name
        breakpoints = find_breakpoints(conversation, leftovers, marks_end=marks_end)
    lowered = conversation
    if kind == "response":
        lowered = _with_answer_only(conversation, target.capabilities, target.name, losses)
    if not observations.flags & Observation.PLAIN:
        lowered = messages.lower(lowered)
    if lowered is not source and kind == "request":
        lowered = with_ids_of_pairs(lowered)
    if lowered is not conversation:
        observations = observe(lowered, target.name)
        leftovers = _follow_results(leftovers, observations.results)
    if observations is not seen:
        observations.flags |= seen.flags & Observation.NO_LONE_SURROGATES  # lowering adds none
    return Lowering(lowered, losses, observations, leftovers, breakpoints)


def with_ids_of_pairs(conversation: Conversation) -> Conversation:
    """The conversation with the id of its call on every paired result.

    An edit may decide a pair, for example by removing one of two possible calls. Where order pairs,
    a result with the id of a later call may belong to an earlier one.
    """
    call_ids = {call.id for call in conversation.calls()}
    if not conversation.ordered and all(
        result.origin != "minted" and result.call_id in call_ids
        for result in conversation.results()
    ):
        return conversation
    messages = give_results_ids(conversation.messages, ordered=conversation.ordered)
    if messages is conversation.messages:
        return conversation
    return replace(conversation, messages=messages)


def follow_repair(
    lowering: Lowering, conversation: Conversation, observations: Observations | None
) -> Lowering:
    """The lowering with a conversation that was repaired since, or itself if nothing was."""
    if conversation is lowering.conversation or observations is None:
        return lowering
    lowered = {part.path for part in lowering.observations.leftovers}
    leftovers = [part for part in lowering.leftovers if part.path not in lowered]
    return replace(
        lowering,
        conversation=conversation,
        observations=observations,
        leftovers=[*leftovers, *observations.leftovers],
    )


def lower_rest(
    lowering: Lowering, target: Wire, kind: Kind, defaults: Mapping[str, int]
) -> Lowering:
    """Adapt error results, tool definitions and settings to a target."""
    conversation, observations = lowering.conversation, lowering.observations
    capabilities = target.capabilities
    if defaults and kind == "request" and conversation.wire != target.name:
        conversation = without_defaults(conversation, defaults)
    lowered = conversation
    if kind != "request" or not _fits_every_target(conversation, observations, capabilities):
        if not observations.flags & Observation.NO_ERROR_RESULTS:
            lowered = _lower_errors(conversation, capabilities, target.name, lowering.losses)
        lowered = _lower_definitions(
            lowered,
            capabilities,
            wire=target.name,
            kind=kind,
            losses=lowering.losses,
            plain=observations.holds(_PLAIN_TOOLS),
        )
    if lowered is lowering.conversation:
        return lowering
    leftovers = lowering.leftovers
    if lowered.messages is not conversation.messages:
        observations = observe(lowered, target.name)
        leftovers = _follow_results(leftovers, observations.results)
    return replace(lowering, conversation=lowered, observations=observations, leftovers=leftovers)


_PLAIN_TOOLS = Observation.PLAIN_TOOLS | Observation.DISTINCT_TOOLS
_PLAIN_REQUEST = Observation.NO_ERROR_RESULTS | _PLAIN_TOOLS


def _fits_every_target(
    conversation: Conversation, observations: Observations, capabilities: Capabilities
) -> bool:
    """True for a request in which only messages may need lowering, as in most requests: no result
    is an error, tools are functions, and settings are plain values."""
    if not observations.holds(_PLAIN_REQUEST) or has_lowerable(conversation.settings):
        return False
    return capabilities.tool_definitions or not conversation.tools


def _follow_results(leftovers: list[Traceable], results: list[Result]) -> list[Traceable]:
    """Replace results by their lowered form: ids to send are stored for these."""
    if not any(type(part) is Result for part in leftovers):
        return leftovers
    by_path = {result.path: result for result in results if result.path}
    return [by_path.get(part.path, part) if type(part) is Result else part for part in leftovers]


def lower_to_capabilities(
    conversation: Conversation,
    capabilities: Capabilities,
    *,
    wire: str,
    kind: Kind,
    losses: list[Loss],
) -> Conversation:
    """Adapt a conversation to the capabilities of a wire, and append the losses to `losses`.

    Messages that were read from this wire stay unchanged.
    """
    if kind == "response":
        conversation = _with_answer_only(conversation, capabilities, wire, losses)
    messages = MessageLowering(capabilities, wire=wire, kind=kind)
    conversation = messages.lower(conversation)
    losses += messages.losses
    conversation = _lower_errors(conversation, capabilities, wire, losses)
    return _lower_definitions(conversation, capabilities, wire=wire, kind=kind, losses=losses)


def _lower_errors(
    conversation: Conversation, capabilities: Capabilities, wire: str, losses: list[Loss]
) -> Conversation:
    """The conversation with an error text in error results, if the target has no error flag."""
    if capabilities.error_flag or not any(result.error for result in conversation.results()):
        return conversation
    messages = list(conversation.messages)
    for n, message in enumerate(messages):
        native = message.wire == wire
        if any(_is_error(part, native) for part in message.parts):
            parts = (
                lower_error(part, capabilities, losses) if _is_error(part, native) else part
                for part in message.parts
            )
            messages[n] = replace(message, parts=tuple(parts))
    return replace(conversation, messages=tuple(messages))


def _is_error(part: Part, native: bool) -> TypeGuard[Result]:
    """True for an error result of the client that was not read from the target's wire."""
    if type(part) is not Result or not part.error or part.executor != "client":
        return False
    return not native or is_new(part)


def _lower_definitions(
    conversation: Conversation,
    capabilities: Capabilities,
    *,
    wire: str,
    kind: str,
    losses: list[Loss],
    plain: bool = False,
) -> Conversation:
    """The conversation with tool definitions and settings that the target can hold.

    `plain`: the tools are known to be functions that every target can define, without duplicates.
    """
    foreign = conversation.wire != wire
    if foreign:
        if not plain:
            conversation = without_nameless_tools(conversation, losses)
        if kind == "request":
            if not plain:
                conversation = without_repeated_tools(conversation)
            if not plain or SETTING in conversation.settings:
                conversation = _lower_search(conversation, capabilities, losses)
            conversation = without_idle_settings(conversation, losses)
    if capabilities is EVERYTHING:
        return conversation
    tools, settings, source = conversation.tools, conversation.settings, conversation.source
    native = not foreign and conversation.kind == kind
    if not (native and tools is source.tools):
        defined = source.tools if native else None
        tools = lower_tools(
            tools, capabilities, defined or (), kind=kind, plain=plain, losses=losses
        )
    if foreign or settings is not source.settings:
        settings = lower_settings(settings, capabilities, source.setting_paths, losses)
    if tools is conversation.tools and settings is conversation.settings:
        return conversation
    return replace(conversation, tools=tools, settings=settings)


def _lower_search(
    conversation: Conversation, capabilities: Capabilities, losses: list[Loss]
) -> Conversation:
    if not capabilities.read_by_model or not asks_for_search(conversation):
        return conversation
    return lower_web_search(conversation, capabilities.web_search, losses)


def _with_answer_only(
    conversation: Conversation, capabilities: Capabilities, wire: str, losses: list[Loss]
) -> Conversation:
    """A response without messages of other roles, and with one candidate if the target holds only
    one.

    Messages that were read from the target's own wire stay.
    """
    messages, read = conversation.messages, conversation.source.messages
    native = conversation.wire == wire and conversation.kind == "response"
    if capabilities is EVERYTHING or capabilities.messages_in_answers:
        return conversation
    if native and messages is read:
        return conversation
    read = (read or ()) if native else ()
    paths = {message.path for message in read}
    kept = [message for message in messages if message.role == "assistant" or message.path in paths]
    losses += [
        Loss(path, "a response contains only assistant content")
        for message in messages
        if message.role != "assistant" and message.path not in paths
        for path in ([message.path] if message.path else [part.path for part in message.parts])
    ]
    if not capabilities.candidates:
        count = max(1, len(read))
        losses += [Loss(message.path, ONE_CANDIDATE) for message in kept[count:]]
        kept = kept[:count]
    if len(kept) == len(messages):
        return conversation
    return replace(conversation, messages=tuple(kept))
