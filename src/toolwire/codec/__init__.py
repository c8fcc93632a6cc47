"""Convert between bodies and conversations: `decode` reads a body, `encode` writes one.

`encode` runs the last three stages of the pipeline: lower the content to the target's capabilities,
fit ids and names to its rules, write. Content that the target cannot express is a loss, never an
exception. This package knows wires only through their tables.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from toolwire.codec.body_shape import (
    full_body,
    note_shape,
    path_as_given,
    present,
    with_full_paths,
    with_list_paths,
)
from toolwire.codec.encoded import Encoded, write
from toolwire.codec.fit import fit, wire_for_model
from toolwire.codec.own_wire import pair_losses, patch_source, reread_messages, write_plain_edits
from toolwire.codec.plain_answer import plain_answer
from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, Body, load
from toolwire.conversation.model import NO_BODY, BodySource, Conversation, Kind
from toolwire.conversation.observations import observe
from toolwire.conversation.parts import Call, Part
from toolwire.errors import DecodeError, UnexpectedType, UsageError
from toolwire.profiles.table import Profile, profile
from toolwire.wires import wire
from toolwire.wires.engine.cache_breakpoints import BreakpointPolicy, require_breakpoint_policy
from toolwire.wires.engine.encode_context import NO_REQUEST, RequestInfo
from toolwire.wires.engine.json_types import read_with_corrections
from toolwire.wires.engine.lowering import lower
from toolwire.wires.engine.server_tools import ServerToolPolicy, require_policy
from toolwire.wires.engine.specs import Wire

__all__ = [
    "Encoded",
    "IdMapInput",
    "decode",
    "decode_body",
    "decode_in_full",
    "encode",
    "encode_in_full",
    "read_body",
    "read_edited",
    "resolve",
    "write_edited",
]

IdMapInput: TypeAlias = "IdMap | Mapping[str, JSON] | None"


def resolve(name: str) -> tuple[Wire, Profile]:
    """The wire and the profile that the name of a wire, profile or provider stands for."""
    try:
        return _RESOLVED[name]
    except (KeyError, TypeError):
        spec = profile(name)
    found = _RESOLVED[name] = wire(spec.wire), spec
    return found


_RESOLVED: dict[str, tuple[Wire, Profile]] = {}
"""Names that were resolved before: at most one entry for each wire and profile."""


def decode(body: Body, wire: str, kind: Kind = "request") -> Conversation:
    """Read a body as a conversation. Unknown blocks, missing ids and broken arguments are kept.

    Args:
        body: JSON as bytes or text, a dict or list, or an official SDK object. It is not modified.
            A request may be just its list of messages; paths then start at the list.
        wire: The name of a wire, profile or provider.
        kind: `request` or `response`.

    Raises:
        DecodeError: The body is not JSON, or not a body of this wire.
    """
    return with_list_paths(decode_in_full(body, wire, kind))


def decode_in_full(body: Body, wire: str, kind: Kind = "request") -> Conversation:
    """Read a body as a conversation whose paths point into the full body, as the stages need
    them."""
    source_wire, _ = resolve(wire)
    _require_kind(kind)
    return decode_body(body, source_wire, kind)


def decode_body(body: Body, wire: Wire, kind: Kind) -> Conversation:
    """Read a body as `decode_in_full` does, for a wire that was found before."""
    given, raw = load(body, wire.name)
    full = full_body(given, wire, kind) if given.__class__ is list else given
    try:
        conversation = _read(full, wire, kind, raw)
    except DecodeError as error:
        conversation = _read_short_form(full, wire, kind, raw, given=given, error=error)
    if given is conversation.source.body:
        return conversation
    return replace(conversation, source=note_shape(conversation.source, given, wire))


def _read_short_form(
    body: JSON, wire: Wire, kind: Kind, raw: bytes | None, *, given: JSON, error: DecodeError
) -> Conversation:
    """Read a body that its wire could not read: expand its short form, or correct its types.

    Raises the error of the wire if that does not help, with the path in what the caller passed.
    """
    normalized = body if wire.normalize is None else wire.normalize(body)
    if normalized is not body:
        try:
            return _read(normalized, wire, kind, raw)
        except DecodeError as problem:
            error = problem
    try:
        conversation, corrections = read_with_corrections(
            lambda corrected: _read(corrected, wire, kind, raw), normalized, error
        )
    except DecodeError:
        path = path_as_given(error.path, given, wire)
        raise DecodeError(error.why, wire=error.wire, path=path) from None
    return replace(conversation, source=replace(conversation.source, corrections=corrections))


def read_body(body: JSON, wire: str, kind: Kind) -> Conversation:
    """Read a body that this library has written. A fix may have made values of a wrong type
    visible to the reader, which are corrected."""
    source_wire, _ = resolve(wire)
    try:
        return _read(body, source_wire, kind, None)
    except DecodeError as error:
        return _read_short_form(body, source_wire, kind, None, given=body, error=error)


def read_edited(body: JSON, before: Conversation) -> Conversation:
    """Read a request that differs from the body of a conversation in some messages.

    Messages that are the same JSON in the same position are not read again. The parts of the
    conversation have to be as they were read: no id was minted, and nothing was edited.
    """
    wire, _ = resolve(before.wire)
    try:
        messages = reread_messages(body, before, wire)
    except UnexpectedType:
        messages = None
    if messages is None:
        return read_body(body, before.wire, "request")
    messages = assign_ids(messages, seed="", ordered=before.ordered)
    source = replace(
        before.source,
        body=body,
        raw=None,
        given=UNSET,
        corrections=(),
        messages=messages,
        parts_are_complete=False,
    )
    return replace(before, messages=messages, source=source)


def _read(body: JSON, wire: Wire, kind: Kind, raw: bytes | None) -> Conversation:
    """Read a body, and note in its source the bytes, and the messages, tools and settings, by which
    edits are recognized."""
    try:
        read = wire.read(body, kind)
    except RecursionError:
        raise DecodeError("nested too deeply", wire=wire.name) from None
    if kind == "response":
        read = _with_tool_stops(read)
    source = read.source
    if source is NO_BODY:
        source = BodySource()
        read = replace(read, source=source)
    if raw is not None:
        force_setattr(source, "raw", raw)
    if source.messages is not read.messages:  # `build_conversation` has set all three
        force_setattr(source, "messages", read.messages)
        force_setattr(source, "tools", read.tools)
        force_setattr(source, "settings", read.settings)
    return read


def _with_tool_stops(response: Conversation) -> Conversation:
    """Correct the stop reason of a response with client calls if the server sent `stop`."""
    for n, message in enumerate(response.messages):
        if message.stop == "stop" and any(map(_runs_on_client, message.parts)):
            messages = list(response.messages)
            messages[n] = replace(message, stop="tool")
            response = replace(response, messages=tuple(messages))
    return response


def _runs_on_client(part: Part) -> bool:
    return type(part) is Call and part.runs_on_client


def encode(
    conversation: Conversation,
    wire: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    request: RequestInfo = NO_REQUEST,
) -> Encoded:
    """Write a conversation as a body of a wire. A body of the same wire is returned verbatim.

    Args:
        conversation: The conversation; it is not modified and not repaired.
        wire: The name of a wire, profile or provider.
        kind: `request` or `response`.
        ids: The id map of an earlier encoding, to restore ids and names.
        server_tools: How to write calls of provider-executed tools: as `text`, as a `call` of the
            client, not at all (`drop`), or `auto`: `text` in a request, `drop` in a response.
        request: Facts about the request that a response answers. They fill in fields that every
            response of the wire needs and this conversation does not have.

    Raises:
        UsageError: The wire does not exist, or a value is not JSON.
    """
    if not isinstance(conversation, Conversation):
        got = type(conversation).__name__
        raise UsageError(f"expected a Conversation, got {got}; `toolwire.decode` reads a body")
    own_wire = resolve(wire)[0].name == conversation.wire and kind == conversation.kind
    conversation = with_full_paths(conversation)
    encoded = encode_in_full(
        conversation, wire, kind, ids=ids, server_tools=server_tools, request=request
    )
    return present(encoded, conversation, own_wire=own_wire)


def encode_in_full(
    conversation: Conversation,
    wire: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    cache_breakpoints: BreakpointPolicy = "keep",
    request: RequestInfo = NO_REQUEST,
) -> Encoded:
    """Write a conversation as a full body, even if its body was passed in a short form."""
    target, profile = resolve(wire)
    _require_kind(kind)
    require_policy(server_tools, wire)
    require_breakpoint_policy(cache_breakpoints, wire)
    reverse_map = NO_MAP if ids is None else IdMap.of(ids)
    if kind == "response":
        encoded = plain_answer(
            conversation, target, profile, reverse_map=reverse_map, request=request
        )
        if encoded is not None:
            return encoded
    if conversation.wire and conversation.source.messages is None:
        conversation = replace(conversation, wire="")  # made by hand: there is no body to restore
    own_wire = target.name == conversation.wire and kind == conversation.kind
    if own_wire and conversation.pristine:
        return Encoded(conversation.source.body, [], IdMap(), conversation.source.raw)
    if own_wire and not reverse_map.ids and not reverse_map.names:
        body = patch_source(conversation, target)
        if not isinstance(body, UnsetType):
            return Encoded(body, pair_losses(conversation, body, target, kind), IdMap())
    if kind == "request":
        target = wire_for_model(target, profile, conversation)
    observations = observe(conversation, target.name)
    lowering = lower(
        conversation,
        target,
        kind,
        policy=server_tools,
        observations=observations,
        defaults=reverse_map.defaults,
    )
    context = fit(
        lowering,
        target,
        profile,
        kind,
        reverse_map=reverse_map,
        cache_breakpoints=cache_breakpoints,
    )
    context.request = request
    encoded = write(lowering.conversation, target, context)
    if own_wire:
        encoded.losses += pair_losses(conversation, encoded.body, target, kind)
    return encoded


def write_edited(conversation: Conversation, call_ids: Container[str]) -> JSON:
    """Write an edited request for its own wire.

    Args:
        conversation: The request, in which the wire has sent every id.
        call_ids: The ids of the calls before the edit.
    """
    target, profile = resolve(conversation.wire)
    body = patch_source(conversation, target)
    if isinstance(body, UnsetType):
        body = write_plain_edits(conversation, call_ids, target, profile)
    if isinstance(body, UnsetType):
        body = encode_in_full(conversation, conversation.wire).body
    return body


def _require_kind(kind: str) -> None:
    if kind not in ("request", "response"):
        raise UsageError(f"kind is request or response, not {kind!r}")
