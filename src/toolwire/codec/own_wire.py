"""Write a conversation back to the wire it was read from: only edits change the body."""

from __future__ import annotations

from collections.abc import Container, Sequence
from operator import is_

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.codec.encoded import write
from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.observations import Observation, observe
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Message, Pair
from toolwire.conversation.relocation import move
from toolwire.profiles.table import Profile
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import lower_to_capabilities
from toolwire.wires.engine.patching import patch_parts
from toolwire.wires.engine.specs import Wire


def patch_source(conversation: Conversation, target: Wire) -> JSON | UnsetType:
    """Return the source body with edited parts; UNSET if anything other than parts was edited."""
    source = conversation.source
    if (
        source.messages is None
        or source.tools is not conversation.tools
        or source.settings is not conversation.settings
    ):
        return UNSET
    context = EncodeContext(target.name, conversation.kind, ids=None, names={}, reverse_map=NO_MAP)
    if [len(message.parts) for message in source.messages] != [
        len(message.parts) for message in conversation.messages
    ]:
        return UNSET  # messages were merged or split
    original_parts = [part for message in source.messages for part in message.parts]
    patched = patch_parts(conversation.parts(), original_parts, source.body, (), context)
    return UNSET if context.losses else patched  # the full route reports them


def write_plain_edits(
    conversation: Conversation, call_ids: Container[str], target: Wire, profile: Profile
) -> JSON | UnsetType:
    """Return the body of an edited request whose edited messages hold only text, existing calls,
    and results under `call_ids`: their ids fit, and nothing has to be lowered but error flags.
    Return UNSET for any other edit."""
    source, before = conversation.source, conversation.source.messages
    if before is None or source.tools is not conversation.tools:
        return UNSET
    if source.settings != conversation.settings:
        return UNSET
    first, end = _edited_range(before, conversation.messages)
    unedited = PartSet(before[first:])
    edited = tuple([m for m in conversation.messages[first:end] if m not in unedited])
    edits = replace(conversation, messages=edited)
    seen = observe(edits, target.name)
    if not seen.holds(Observation.PLAIN | Observation.NO_SERVER_TOOLS):
        return UNSET
    if any(result.call_id not in call_ids for result in seen.results):
        return UNSET
    for message in edited:
        if message.wire != target.name and message.role in ("system", "assistant"):
            return UNSET
    context = EncodeContext(target.name, conversation.kind, ids=None, names={}, reverse_map=NO_MAP)
    context.assistant_content = profile.assistant_content
    if not seen.holds(Observation.NO_ERROR_RESULTS):
        lowered = lower_to_capabilities(
            edits, target.capabilities, wire=target.name, kind="request", losses=context.losses
        )
        new = PartMap(zip(edited, lowered.messages, strict=True))
        middle = [new.get(message, message) for message in conversation.messages[first:end]]
        messages = (*conversation.messages[:first], *middle, *conversation.messages[end:])
        conversation = replace(conversation, messages=messages)
    body = _write_turns(conversation, first, end, target=target, context=context)
    return write(conversation, target, context).body if isinstance(body, UnsetType) else body


def _write_turns(
    conversation: Conversation, first: int, end: int, *, target: Wire, context: EncodeContext
) -> JSON | UnsetType:
    """Write the turns of the messages from `first` to `end`, and take the JSON of all others from
    the source. Return UNSET if the body has to be written in full."""
    field, body, messages = target.messages_field, conversation.source.body, conversation.messages
    before, elements = conversation.source.messages, _elements(body, field)
    if target.read_message is None or elements is None or before is None:
        return UNSET
    offset = _messages_elsewhere(before, elements, field)
    start = _start_of_turn(messages, first)
    if offset is None or start <= offset or not isinstance(body, dict):
        return UNSET
    # A writer may join a new message with the one after it.
    end = min(end + 1, len(messages))
    for message in messages[:start]:
        for part in message.parts:
            if type(part) is Call:
                context.record_name(part)  # results need the names of earlier calls
    turns = replace(conversation, messages=messages[start:end])
    written = _elements(write(turns, target, context).body, field)
    if written is None:
        return UNSET
    rest = len(messages) - end
    after = elements[len(elements) - rest :]
    return {**body, field: [*elements[: start - offset], *written, *after]}


def _start_of_turn(messages: Sequence[Message], index: int) -> int:
    """The index of the first of the assistant messages directly before a message and the results
    and other messages before it; 0 if there are none."""
    while index and messages[index - 1].role != "assistant":
        index -= 1
    while index and messages[index - 1].role == "assistant":
        index -= 1
    return index


def _edited_range(before: Sequence[Message], messages: Sequence[Message]) -> tuple[int, int]:
    """The range of the messages between the unedited ones at the start and at the end."""
    first = _first_difference(messages, before)
    last = _first_difference(messages[first:][::-1], before[first:][::-1])
    return first, len(messages) - last


def _messages_elsewhere(
    messages: Sequence[Message], elements: list[JSON], field: str
) -> int | None:
    """The number of messages that were read from other fields, such as a system prompt; None if
    the elements of the list are not one message each."""
    count = len(messages) - len(elements)
    if count < 0 or any(message.path[0] == field for message in messages[:count]):
        return None
    return count


def reread_messages(body: JSON, before: Conversation, wire: Wire) -> tuple[Message, ...] | None:
    """Read the messages of a request, and reuse those of `before`, also if all that follow an edit
    moved by the same distance. Return None if anything other than the list of messages differs, or
    if the wire cannot read single messages."""
    field, old_body, old_messages = wire.messages_field, before.source.body, before.messages
    elements = _elements(body, field)
    old_elements = _elements(old_body, field)
    if elements is None or old_elements is None:
        return None
    if not before.pristine or not _same_beside(field, body, old_body):
        return None
    changed = _first_difference(elements, old_elements)
    if wire.read_from is not None:
        return wire.read_from(elements, changed, before)
    if wire.read_message is None:
        return None
    start = _messages_elsewhere(old_messages, old_elements, field)
    if start is None:
        return None
    messages = list(old_messages[: start + changed])
    distance = len(elements) - len(old_elements)
    for n, element in enumerate(elements[changed:], changed):
        message: Message | None = None
        if n < len(old_elements) and element is old_elements[n]:
            message = old_messages[start + n]
        elif n >= distance and element is old_elements[n - distance]:
            message = move(old_messages[start + n - distance], distance)
        messages.append(message or wire.read_message(element, (field, n)))
    return tuple(messages)


def _first_difference(elements: Sequence[object], old_elements: Sequence[object]) -> int:
    """The index of the first element that is not the same object in both lists."""
    return [*map(is_, elements, old_elements), False].index(False)


def _elements(body: JSON, field: str) -> list[JSON] | None:
    elements = body.get(field) if isinstance(body, dict) else None
    return elements if isinstance(elements, list) else None


def _same_beside(field: str, body: JSON, old_body: JSON) -> bool:
    """True if two bodies differ in nothing but one field."""
    if not isinstance(body, dict) or not isinstance(old_body, dict):
        return False
    return body.keys() == old_body.keys() and all(
        value is old_body[name] for name, value in body.items() if name != field
    )


def pair_losses(conversation: Conversation, body: JSON, target: Wire, kind: Kind) -> list[Loss]:
    """Return a loss for each edited result that is no longer paired with its call in the written
    body.

    A wire without ids pairs by name or order, and an edit may remove the only connection. Only the
    body shows that, so it is read once after such an edit.
    """
    edits = _pairs_with_edits(conversation)
    if not edits:
        return []
    written_pairs = {_pair_content(pair) for pair in target.read(body, kind).pairs()} - {None}
    reason = "the edited value paired this result with its call, and this wire has no id for it"
    return [
        Loss(pair.result.path, reason)
        for pair in edits
        if pair.result is not None and _pair_content(pair) not in written_pairs
    ]


def _pairs_with_edits(conversation: Conversation) -> list[Pair]:
    """Return the pairs with two edited halves."""
    messages = conversation.source.messages
    if messages is None or messages is conversation.messages:
        return []
    if not any(call.original is not None for call in conversation.calls()):
        return []
    return [
        pair
        for pair in conversation.pairs()
        if pair.call is not None
        and pair.result is not None
        and pair.call.original is not None
        and pair.result.original is not None
    ]


def _pair_content(pair: Pair) -> tuple[str, str, str] | None:
    if pair.call is None or pair.result is None:
        return None
    return (pair.call.name, pair.call.arguments, pair.result.text)
