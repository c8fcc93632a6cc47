"""Lower single parts: adapt a part to the capabilities of its target, and report each loss once.

Bodies and streams use the same functions. This module knows no wire by name.
"""

from __future__ import annotations

import re
from operator import is_

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import is_minted
from toolwire.conversation.model import REASONING_LOST, Loss
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import (
    MARK,
    Call,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    Traceable,
    describe,
    output_text,
    readable_text,
    with_error_mark,
)
from toolwire.wires.engine.capabilities import EVERYTHING, NO_MEDIA, Capabilities, Place, media_form
from toolwire.wires.engine.media import mime_of, type_shows
from toolwire.wires.engine.specs import Block

ONE_CANDIDATE = "a response is one message here; the other candidates are left out"
NO_SUCH_BLOCK = "no such block on this wire"
ONE_CALL = "the client can read only one call per response"
REASONING_JOINED = "a message has one reasoning text here; several are joined"
REASONING_MOVED = "reasoning is moved before all other content here"
NO_ERROR_FLAG = "a result has no error flag here; its text says that it is an error"
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+")
_FERNET_PREFIX = "gAAAA"
"""The beginning of a Fernet token, the format in which some providers encrypt reasoning. No
provider signs with one."""
_SHOWN = 80
"""The maximum number of characters of a part that a loss quotes."""


def is_new(part: Part) -> bool:
    """True if a part was not read from a body: an edit or the repair added it."""
    return part.source.raw is UNSET and part.source.spec is None


def lower_part(
    part: Part, capabilities: Capabilities, place: Place, *, kind: str, losses: list[Loss]
) -> tuple[Part, ...]:
    """The parts that replace a part at this place of the target: itself, another part, or none."""
    if capabilities is EVERYTHING:
        return (part,)
    match part:
        case Text(refusal=True) if not _holds_refusal(capabilities, kind):
            losses.append(Loss(part.path, "a refusal is sent as plain text"))
            return (Text(part.text, source=Source(path=part.path)),)
        case Media():
            return (_lower_media(part, capabilities, place, losses),)
        case Reasoning():
            return _lower_reasoning(part, capabilities, kind=kind, losses=losses)
        case Result() if capabilities.result_media == "inside":
            return (lower_result(part, capabilities, losses, MovedMedia()),)
        case Opaque(source=Source(spec=Block(marks_cache=True))):
            return ()
        case Opaque():
            return _lower_unknown(part, place, kind=kind, losses=losses)
    return (part,)


_TEXT_PLACES: tuple[Place, ...] = ("user", "assistant")
"""The places where a block of unknown type becomes text. In a system message it configures
tools."""


def _lower_unknown(
    part: Opaque, place: Place, *, kind: str, losses: list[Loss]
) -> tuple[Part, ...]:
    """The text of a content block of unknown type in a request, if it has any.

    Unknown items and unknown entries of `tool_calls` are left out, because they need not be
    content.
    """
    losses.append(Loss(part.path, f"{NO_SUCH_BLOCK}: {_quote(part)}"))
    is_content = len(part.path) > 2 and "tool_calls" not in part.path
    if kind != "request" or place not in _TEXT_PLACES or not is_content:
        return ()
    if not isinstance(part.value, dict) or not readable_text(part.value):
        return ()
    return (Text(describe(part), source=Source(path=part.path)),)


def _holds_refusal(capabilities: Capabilities, kind: str) -> bool:
    return capabilities.refusals and (kind == "response" or capabilities.refusals_in_history)


def keep_first_call(message: Message, losses: list[Loss]) -> Message:
    """The message of an answer without calls after the first, for clients that read only one
    call."""
    calls = [part for part in message.parts if isinstance(part, Call)]
    if len(calls) < 2:
        return message
    losses += [Loss(call.path, ONE_CALL) for call in calls[1:]]
    dropped = PartSet(calls[1:])
    return replace(message, parts=tuple([part for part in message.parts if part not in dropped]))


def lower_opening(part: Part, capabilities: Capabilities, *, losses: list[Loss]) -> Part | None:
    """A part that starts in a stream, in a form that the target can hold; None if there is no such
    form.

    Only the type of the part decides: its text is not known yet.
    """
    if isinstance(part, Text) and part.refusal and not capabilities.refusals:
        losses.append(Loss(part.path, "a refusal is sent as plain text"))
        return replace(part, refusal=False)
    if isinstance(part, Reasoning) and not capabilities.reasoning_in_answers:
        losses.append(Loss(part.path, "reasoning from another provider is not accepted"))
        return None
    return part


def _lower_media(
    media: Media, capabilities: Capabilities, place: Place, losses: list[Loss]
) -> Part:
    support, names = capabilities.media, capabilities.media_names
    is_held = support is None or support.get(place, NO_MEDIA).holds(media)
    loses_name = media.name is not None and names is not None and media.kind not in names
    if media.text is not None and (not is_held or (loses_name and place == "result")):
        losses.append(Loss(media.path, "a text document is sent as text"))
        return Text(describe(media), source=Source(path=media.path))
    if not is_held:
        form = {"file": " by file id", "url": " by URL"}.get(media_form(media), "")
        reason = f"this wire accepts no {media.kind}{form} here; replaced by a text description"
        losses.append(Loss(media.path, reason))
        return Text(describe(media), source=Source(path=media.path))
    if loses_name:
        losses.append(Loss(media.path, f"the name of this {media.kind} is not kept here"))
        media = replace(media, name=None, mime=mime_of(media))  # only the name may show the type
    if media.url is not None:
        if not capabilities.url_types and not type_shows(media):
            losses.append(
                Loss(media.path, f"media given by URL have no MIME type here: {media.mime}")
            )
        if not capabilities.url_names and media.name is not None:
            losses.append(Loss(media.path, "media given by URL have no name here"))
            media = replace(media, name=None, mime=mime_of(media))
    by_type = media.kind != "file" and media_form(media) in capabilities.kind_by_type
    if by_type and mime_of(media) is None:
        reason = f"without a MIME type, nothing marks this as {media.kind}"
        losses.append(Loss(media.path, reason))
    return media


def may_be_signature(text: str) -> bool:
    """False for a text that no provider issues as a signature."""
    return not text.startswith(_FERNET_PREFIX) and _BASE64.fullmatch(text) is not None


def takes_signature(part: Traceable, capabilities: Capabilities) -> bool:
    """True for reasoning or a call that the maker of the target's models signed or encrypted, from
    any wire."""
    maker, spec = capabilities.reasoning_signed_by, part.spec
    if not maker or not isinstance(part, Reasoning | Call):
        return False
    hidden = part.hidden if isinstance(part, Reasoning) else None
    proof = part.signature if hidden is None else hidden
    if not proof or not may_be_signature(proof):
        return False
    return isinstance(spec, Block) and spec.signed_by == maker


def _lower_reasoning(
    part: Reasoning, capabilities: Capabilities, *, kind: str, losses: list[Loss]
) -> tuple[Part, ...]:
    if takes_signature(part, capabilities):
        return (part,)
    if not part.text and part.hidden is None and is_new(part):
        return (part,)  # repair added it because the target requires the field
    if not part.text and not capabilities.opaque_reasoning:
        losses.append(Loss(part.path, REASONING_LOST))
        return ()
    holds = (
        capabilities.reasoning_in_answers
        if kind == "response"
        else capabilities.reasoning_in_history
    )
    if not holds:
        losses.append(Loss(part.path, "reasoning from another provider is not accepted"))
        return ()
    return (part,)


_MEDIA_LABEL = "From tool call "
_SYSTEM_TAG = "<system>"


def mark_system_text(part: Part) -> Part:
    """A text of a system message with a tag that marks it, for use in a user message."""
    if not isinstance(part, Text) or part.text.startswith(_SYSTEM_TAG):
        return part
    text = f"{_SYSTEM_TAG}\n{part.text}\n</system>"
    return replace(part, text=text, source=Source(path=part.path))


def is_marked_text(part: Text) -> bool:
    """True if lowering added a text to a user message: a system text, or the label of media."""
    return part.text.startswith((_SYSTEM_TAG, _MEDIA_LABEL))


class MovedMedia:
    """Media of results that follow the results in a user message, each after a text that names its
    call: by id, or by the number in the turn if the wire of the call has no ids."""

    __slots__ = ("_calls", "_previous_role", "parts")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        """The texts and media that are not in a message yet."""
        self._calls: dict[str, tuple[int, str]] = {}
        """Call id → number and name, for the calls of the turn."""
        self._previous_role = ""

    def note_calls(self, message: Message) -> None:
        """Record the calls of an assistant message."""
        if message.role == "assistant":
            if self._previous_role != "assistant":
                self._calls = {}
            for part in message.parts:
                if isinstance(part, Call):
                    self._calls[part.id] = len(self._calls) + 1, part.name
        self._previous_role = message.role

    def label(self, result: Result) -> Text:
        """The text that introduces the media of a result."""
        number, name = self._calls.get(result.call_id, (0, ""))
        call = f"number {number}" if number and is_minted(result.call_id) else result.call_id
        name = result.name or name
        return Text(f"{_MEDIA_LABEL}{call}{f' ({name})' if name else ''}:", source=Source())

    def take(self) -> list[Part]:
        """Return the collected texts and media, and forget them."""
        parts, self.parts = self.parts, []
        return parts


def lower_result(
    result: Result, capabilities: Capabilities, losses: list[Loss], moved: MovedMedia
) -> Result:
    """A result as the target can hold it. The writer still sees that it is an error."""
    return lower_error(lower_output(result, capabilities, losses, moved), capabilities, losses)


def is_added(result: Result) -> bool:
    """True for a result that a repair added: nothing of the source is lost with its flag."""
    return not result.path and result.text.startswith(MARK)


def lower_error(result: Result, capabilities: Capabilities, losses: list[Loss]) -> Result:
    """Mark the text of an error result as an error if the target has no error flag."""
    if capabilities.error_flag or not result.error or result.executor != "client":
        return result
    if not is_added(result):
        losses.append(Loss(result.path, NO_ERROR_FLAG))
    return replace(result, output=with_error_mark(result.output))


def lower_output(
    result: Result, capabilities: Capabilities, losses: list[Loss], moved: MovedMedia
) -> Result:
    """A result with an output that the target can hold."""
    if not isinstance(result.output, tuple):
        return result
    output: list[Part] = []
    for part in result.output:
        if isinstance(part, Media) and capabilities.result_media == "after" and part.text is None:
            losses.append(
                Loss(part.path, "a result is text only here; the media follow in a user message")
            )
            output.append(Text(describe(part), source=Source(path=part.path)))
            moved.parts.append(moved.label(result))
            moved.parts += lower_part(part, capabilities, "user", kind="request", losses=losses)
        elif isinstance(part, Text | Media):
            output += lower_part(part, capabilities, "result", kind="request", losses=losses)
        else:
            losses.append(Loss(part.path, f"a result cannot contain this here: {_quote(part)}"))
            output.append(Text(describe(part), source=Source(path=part.path)))
    if not capabilities.result_parts and all(isinstance(part, Text) for part in output):
        if len(output) > 1:
            losses.append(Loss(result.path, "the parts of a result are joined into one text here"))
        return replace(result, output=output_text(tuple(output)))
    if len(output) == len(result.output) and all(map(is_, output, result.output)):
        return result
    return replace(result, output=tuple(output))


def _quote(part: Part) -> str:
    return describe(part)[:_SHOWN]
