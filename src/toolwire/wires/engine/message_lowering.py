"""Lower the messages of a conversation: content that the target cannot hold is replaced, moved to a
place where the target can hold it, or left out.

This happens before the repair, so that rules see the messages as the target gets them, and again
after each fix. Lowering is idempotent. This module knows no wire by name.
"""

from __future__ import annotations

from operator import is_
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.ids import give_results_ids
from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.parts import Call, Media, Message, Part, Reasoning, Result, Text
from toolwire.wires.engine.capabilities import EVERYTHING, Capabilities, Place
from toolwire.wires.engine.part_lowering import (
    REASONING_JOINED,
    REASONING_MOVED,
    MovedMedia,
    is_new,
    lower_output,
    lower_part,
    mark_system_text,
)


class MessageLowering(Struct, eq=False):
    """Lowers the messages of one conversation, again after each fix of the repair."""

    capabilities: Capabilities
    wire: str
    """The target's wire: messages that were read from it stay unchanged."""
    kind: Kind = "request"
    abandon_pending: bool = False
    """True if the repair adds results to calls at the end."""
    losses: list[Loss] = []

    def lower(self, conversation: Conversation) -> Conversation:
        """The conversation with messages that the target can hold. Each loss is reported only
        once."""
        if self.capabilities is EVERYTHING:
            return conversation
        losses: list[Loss] = []
        lowering = _MessagePass(
            self.capabilities,
            wire=self.wire,
            kind=self.kind,
            abandon_pending=self.abandon_pending,
            losses=losses,
        )
        messages = lowering.lower(conversation.messages)
        if self.losses:
            reported = set(self.losses)
            losses = [loss for loss in losses if loss not in reported]
        self.losses += losses
        if messages is conversation.messages:
            return conversation
        if len(messages) < len(conversation.messages):
            # A removed message may have separated calls and results that now pair by order.
            messages = give_results_ids(messages, ordered=conversation.ordered)
        return replace(conversation, messages=messages)


class _MessagePass:
    """One pass over the messages of a conversation."""

    def __init__(
        self,
        capabilities: Capabilities,
        *,
        wire: str,
        kind: str,
        abandon_pending: bool,
        losses: list[Loss],
    ) -> None:
        self._capabilities = capabilities
        self._wire = wire
        self._kind = kind
        self._abandon_pending = abandon_pending
        self._losses = losses
        self._out: list[Message] = []
        self._moved_media = MovedMedia()
        """Media of results, which go into a user message after all results of the turn."""
        self._leading = True
        """True until the first message that is not a system message."""

    def lower(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages as the target can hold them; the same tuple if nothing changes."""
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
            if _has_content(lowered) or message.wire == self._wire or self._kind == "response":
                self._out.append(lowered)
                self._leading = self._leading and lowered.role == "system"
        waits = not self._abandon_pending and bool(self._moved_media.parts)
        if waits and _has_pending_calls(messages):
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
                parts.append(lower_output(part, capabilities, losses, self._moved_media))
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
        """A user message with the media of the results before it and of its own results.

        A message with calls stays as it is: a result must not move before the call it belongs to.
        """
        others = [part for part in message.parts if not isinstance(part, Result)]
        if not others or message.role not in ("user", "tool"):
            return message
        if any(isinstance(part, Call) for part in others):
            return message
        results = [part for part in message.parts if isinstance(part, Result)]
        return replace(message, parts=(*results, *self._moved_media.take(), *others))

    def _hold_back_media(self) -> None:
        """Leave out the media of the last turn: a user message would end the turn before its
        remaining results are added."""
        reason = "the media follow once all calls of the turn have results"
        self._losses += [
            Loss(part.path, reason) for part in self._moved_media.take() if isinstance(part, Media)
        ]

    def _flush_media(self) -> None:
        """Add a user message with the media that no existing message can take."""
        if self._moved_media.parts:
            self._out.append(Message("user", tuple(self._moved_media.take())))
            self._leading = False


def _has_pending_calls(messages: tuple[Message, ...]) -> bool:
    """True if a call of the last turn has no result yet and only results follow."""
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


def _has_content(message: Message) -> bool:
    """True for a message with anything but empty texts."""
    return any(type(part) is not Text or part.text for part in message.parts)


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """True for one text, or results of text: every target can hold these unchanged."""
    only = parts[0] if len(parts) == 1 else None
    if type(only) is Text:
        return not only.refusal
    return all(type(part) is Result and part.output.__class__ is str for part in parts)


def _move_text_first(parts: list[Part], losses: list[Loss]) -> list[Part]:
    """Move text that follows a call before the first call, and report it."""
    start = next((n for n, part in enumerate(parts) if _is_client_call(part)), len(parts))
    late = [part for part in parts[start:] if isinstance(part, Text) and part.text]
    if not late:
        return parts
    losses += [Loss(part.path, "text after a call is moved before the calls here") for part in late]
    rest = [part for part in parts[start:] if not isinstance(part, Text) or not part.text]
    return [*parts[:start], *late, *rest]


def _report_reasoning(parts: list[Part], capabilities: Capabilities, losses: list[Loss]) -> None:
    """Report reasoning that the writer appends to the first reasoning text or moves to the
    front."""
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
