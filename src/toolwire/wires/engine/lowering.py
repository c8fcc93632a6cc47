"""Lowering: adapt a conversation to the capabilities of its target, and report each loss once.

Messages that were read from the target's own wire are not touched. Everything else becomes what
the target's capabilities allow, so that its writer never meets a part it cannot write. This module
knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.observations import Observation, Observations, observe
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Text,
    Traceable,
)
from toolwire.wires.engine.cache_breakpoints import FoundBreakpoints, find_breakpoints
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities, Place
from toolwire.wires.engine.part_lowering import (
    ONE_CANDIDATE,
    REASONING_JOINED,
    REASONING_MOVED,
    MovedMedia,
    is_new,
    lower_part,
    lower_result,
    mark_system_text,
)
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


class Lowering(Struct, frozen=True):
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
    earlier_losses: Iterable[Loss] = (),
) -> Lowering:
    """Adapt a conversation to a target.

    Args:
        conversation: The conversation; it is not modified.
        target: The wire of the target.
        kind: `request` or `response`.
        policy: What calls that another provider ran become.
        observations: What one pass over the conversation saw.
        defaults: Settings that an earlier encoding added (`IdMap.defaults`): they are left out
            unless the value has changed.
        earlier_losses: What an earlier stage has lost.
    """
    losses = list(earlier_losses)
    if defaults and kind == "request" and conversation.wire != target.name:
        conversation = without_defaults(conversation, defaults)
    if not observations.holds(Observation.NO_SERVER_TOOLS):
        conversation, lost = lower_server_tools(conversation, target, policy, kind=kind)
        losses += lost
        observations = observe(conversation, target.name)
    lowered = conversation
    if kind != "request" or not _fits_every_target(conversation, observations, target.capabilities):
        plain = Observation.PLAIN
        if not target.capabilities.error_flag:
            plain |= Observation.NO_ERROR_RESULTS
        lowered = lower_to_capabilities(
            conversation,
            target.capabilities,
            wire=target.name,
            kind=kind,
            losses=losses,
            plain=observations.holds(plain),
            plain_tools=observations.holds(_PLAIN_TOOLS),
        )
    leftovers = observations.leftovers
    breakpoints: FoundBreakpoints = {}
    marks = target.capabilities.cache_breakpoints
    if kind == "request" and marks is not None:
        marks_end = marks.automatic and conversation.wire != target.name
        breakpoints = find_breakpoints(conversation, leftovers, marks_end=marks_end)
    if lowered.messages is not conversation.messages:
        observations = observe(lowered, target.name)
        leftovers = _follow_lowering(leftovers, observations.results)
    return Lowering(lowered, losses, observations, leftovers, breakpoints)


_PLAIN_TOOLS = Observation.PLAIN_TOOLS | Observation.DISTINCT_TOOLS
_PLAIN_REQUEST = Observation.PLAIN | Observation.NO_ERROR_RESULTS | _PLAIN_TOOLS


def _fits_every_target(
    conversation: Conversation, observations: Observations, capabilities: Capabilities
) -> bool:
    """True for a request in which nothing needs lowering, as most requests are: messages of text,
    calls and results of text, tools that are functions, and settings that are plain values."""
    if not observations.holds(_PLAIN_REQUEST) or has_lowerable(conversation.settings):
        return False
    return capabilities.tool_definitions or not conversation.tools


def _follow_lowering(leftovers: list[Traceable], results: list[Result]) -> list[Traceable]:
    """The same parts, with results as lowering left them: the id to send belongs to those."""
    if not any(part.__class__ is Result for part in leftovers):
        return leftovers
    by_path = {result.path: result for result in results if result.path}
    return [
        by_path.get(part.path, part) if part.__class__ is Result else part for part in leftovers
    ]


def lower_to_capabilities(
    conversation: Conversation,
    capabilities: Capabilities,
    *,
    wire: str,
    kind: str,
    losses: list[Loss],
    plain: bool = False,
    plain_tools: bool = False,
) -> Conversation:
    """Adapt a conversation to the capabilities of a wire.

    Args:
        conversation: The conversation; it is not modified.
        capabilities: What the target can hold.
        wire: The target's name: messages read from this wire stay as they are.
        kind: `request` or `response`.
        losses: The list to which losses are added.
        plain: True if the messages are known to hold nothing that needs lowering.
        plain_tools: True if the tools are known to be functions that every target can define, each
            once.
    """
    foreign = conversation.wire != wire
    if foreign:
        if not plain_tools:
            conversation = without_nameless_tools(conversation, losses)
        if kind == "request":
            if not plain_tools:
                conversation = without_repeated_tools(conversation)
            if not plain_tools or SETTING in conversation.settings:
                conversation = _lower_search(conversation, capabilities, losses)
            conversation = without_idle_settings(conversation, losses)
    if capabilities is EVERYTHING:
        return conversation
    messages, tools, settings = conversation.messages, conversation.tools, conversation.settings
    source = conversation.source
    native = not foreign and conversation.kind == kind
    if kind == "response" and not (native and messages is source.messages):
        read = source.messages if native else None
        messages = _answer_messages(messages, capabilities, read or (), losses)
    if not plain:
        lowering = _MessageLowering(capabilities, wire=wire, kind=kind, losses=losses)
        messages = lowering.lower(messages)
    if not (native and tools is source.tools):
        defined = source.tools if native else None
        tools = lower_tools(
            tools, capabilities, defined or (), kind=kind, plain=plain_tools, losses=losses
        )
    if foreign or settings is not source.settings:
        settings = lower_settings(settings, capabilities, source.setting_paths, losses)
    unchanged = messages is conversation.messages and tools is conversation.tools
    if unchanged and settings is conversation.settings:
        return conversation
    return replace(conversation, messages=messages, tools=tools, settings=settings)


def _lower_search(
    conversation: Conversation, capabilities: Capabilities, losses: list[Loss]
) -> Conversation:
    if not capabilities.read_by_model or not asks_for_search(conversation):
        return conversation
    return lower_web_search(conversation, capabilities.web_search, losses)


# --- messages -------------------------------------------------------------------------------------


def _answer_messages(
    messages: tuple[Message, ...],
    capabilities: Capabilities,
    read: tuple[Message, ...],
    losses: list[Loss],
) -> tuple[Message, ...]:
    """The messages of a response: those of the assistant, and only one candidate if the target has
    one.

    `read` are the messages of a body of the target itself, which holds what it held before.
    """
    if capabilities.messages_in_answers:
        return messages
    paths = {message.path for message in read}
    kept = [message for message in messages if message.role == "assistant" or message.path in paths]
    losses += [
        Loss(message.path, "a response contains only assistant content")
        for message in messages
        if message.role != "assistant" and message.path not in paths
    ]
    if not capabilities.candidates:
        count = max(1, len(read))
        losses += [Loss(message.path, ONE_CANDIDATE) for message in kept[count:]]
        kept = kept[:count]
    return messages if len(kept) == len(messages) else tuple(kept)


class _MessageLowering:
    """The lowering of the messages of one conversation."""

    def __init__(
        self, capabilities: Capabilities, *, wire: str, kind: str, losses: list[Loss]
    ) -> None:
        self._capabilities = capabilities
        self._wire = wire
        self._kind = kind
        self._losses = losses
        self._out: list[Message] = []
        self._moved_media = MovedMedia()
        """Media of results, which go into a user message after the results of the turn."""
        self._leading = True
        """True until there is a message that is not a system message."""

    def lower(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages as the target can hold them: the same tuple if nothing changes."""
        for message in messages:
            if message.role == "assistant":
                self._flush_media()
            self._moved_media.note_calls(message)
            lowered = message
            if message.wire != self._wire or any(map(is_new, message.parts)):
                if message.role == "system" or not _is_plain(message.parts):
                    lowered = self._lower_message(message)
                if self._moved_media.parts:
                    lowered = self._with_media(lowered)
            if lowered.parts or message.wire == self._wire or self._kind == "response":
                self._out.append(lowered)
                self._leading = self._leading and lowered.role == "system"
        if self._moved_media.parts and _has_pending_calls(messages):
            self._hold_back_media()
        self._flush_media()
        if len(self._out) == len(messages) and all(map(is_, self._out, messages)):
            return messages
        return tuple(self._out)

    def _lower_message(self, message: Message) -> Message:
        capabilities, losses = self._capabilities, self._losses
        native, role = message.wire == self._wire, message.role
        if role == "system" and not (native or self._leading or capabilities.system_anywhere):
            reason = "a system message in mid-conversation becomes a user message"
            losses.append(Loss(message.path, reason))
            role = "user"
            message = replace(message, parts=tuple(map(mark_system_text, message.parts)))
        place: Place = "user" if role == "tool" else role
        parts: list[Part] = []
        for part in message.parts:
            if native and not is_new(part):
                parts.append(part)
            elif isinstance(part, Result):
                parts.append(lower_result(part, capabilities, losses, self._moved_media))
            else:
                parts += lower_part(part, capabilities, place, kind=self._kind, losses=losses)
        if not native and not capabilities.text_after_calls:
            parts = _move_text_first(parts, losses)
        if not native and capabilities.reasoning_texts != "any":
            _report_reasoning(parts, capabilities, losses)
        same_parts = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
        if same_parts and role == message.role:
            return message
        return replace(message, role=role, parts=tuple(parts))

    def _with_media(self, message: Message) -> Message:
        """A message of the user with the media of the results before it, or of its own results."""
        others = [part for part in message.parts if not isinstance(part, Result)]
        if not others or message.role not in ("user", "tool"):
            return message
        results = [part for part in message.parts if isinstance(part, Result)]
        return replace(message, parts=(*results, *self._moved_media.take(), *others))

    def _hold_back_media(self) -> None:
        """Leave out the media of the last turn: a user message would end the turn, and the results
        that are still to come would have no place.
        """
        reason = "the media follow once all calls of the turn have results"
        self._losses += [
            Loss(part.path, reason) for part in self._moved_media.take() if isinstance(part, Media)
        ]

    def _flush_media(self) -> None:
        """Add a user message with the media of results that have no message to go into."""
        if self._moved_media.parts:
            self._out.append(Message("user", tuple(self._moved_media.take())))
            self._leading = False


def _has_pending_calls(messages: tuple[Message, ...]) -> bool:
    """True if a call of the last turn has no result yet, and nothing but results follows it."""
    result_ids: set[str] = set()
    callers_seen = False
    for message in reversed(messages):
        if message.role == "assistant":
            callers_seen = True
            if any(_is_client_call(part) and part.id not in result_ids for part in message.parts):
                return True
        elif callers_seen or not all(isinstance(part, Result) for part in message.parts):
            return False
        result_ids.update(part.call_id for part in message.parts if isinstance(part, Result))
    return False


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """True for one text, or results of text: every target can hold them as they are."""
    only = parts[0] if len(parts) == 1 else None
    if only.__class__ is Text:
        return not only.refusal
    return all(
        part.__class__ is Result and part.output.__class__ is str and not part.error
        for part in parts
    )


def _move_text_first(parts: list[Part], losses: list[Loss]) -> list[Part]:
    """The parts of a message with text that follows a call moved before the first call."""
    start = next((n for n, part in enumerate(parts) if _is_client_call(part)), len(parts))
    late = [part for part in parts[start:] if isinstance(part, Text) and part.text]
    if not late:
        return parts
    losses += [Loss(part.path, "text after a call is moved before the calls here") for part in late]
    rest = [part for part in parts[start:] if not isinstance(part, Text) or not part.text]
    return [*parts[:start], *late, *rest]


def _report_reasoning(parts: list[Part], capabilities: Capabilities, losses: list[Loss]) -> None:
    """Report reasoning that the writer joins to the first one, or moves to the front."""
    seen_reasoning = False
    for n, part in enumerate(parts):
        if not isinstance(part, Reasoning) or not part.text:
            continue
        if seen_reasoning:
            losses.append(Loss(part.path, REASONING_JOINED))
        elif n and capabilities.reasoning_texts == "first":
            losses.append(Loss(part.path, REASONING_MOVED))
        seen_reasoning = True


def _is_client_call(part: Part) -> TypeGuard[Call]:
    return isinstance(part, Call) and part.executor == "client"
