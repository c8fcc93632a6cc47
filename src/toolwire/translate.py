"""The pipeline: read, convert, lower, repair, fit ids and names, write.

Every stage takes a conversation and returns a conversation and a report: changes and findings of
the repair, losses of the lowering, the id map of the fitting. No stage reads what a later one
wrote. This module knows wires and rules only through their tables.
"""

from __future__ import annotations

from toolwire.codec import Encoded, IdMapInput, decode_in_full, encode_in_full, read_body, resolve
from toolwire.codec.body_shape import present, with_full_paths
from toolwire.codec.encoded import write
from toolwire.codec.fit import fit, wire_for_model
from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.json import Body
from toolwire.conversation.model import Conversation, Finding, Kind
from toolwire.conversation.observations import Observation, Observations, observe
from toolwire.lint.own_vocabulary import convert_content
from toolwire.lint.repair_loop import (
    RepairedConversation,
    repair_for_translation,
    repair_on_own_wire,
)
from toolwire.profiles.table import Profile
from toolwire.wires.engine.cache_breakpoints import BreakpointPolicy, require_breakpoint_policy
from toolwire.wires.engine.encode_context import NO_REQUEST, RequestInfo
from toolwire.wires.engine.lowering import follow_repair, lower_messages, lower_rest
from toolwire.wires.engine.message_lowering import MessageLowering
from toolwire.wires.engine.server_tools import ServerToolPolicy, require_policy
from toolwire.wires.engine.specs import Wire


def translate(
    body: Body,
    source: str,
    target: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    cache_breakpoints: BreakpointPolicy = "keep",
    repair: bool | None = None,
    abandon_pending: bool = False,
    request: RequestInfo = NO_REQUEST,
) -> Encoded:
    """Translate a body of one wire to a body of another.

    Args:
        body: JSON as bytes or text, a dict or list, or an official SDK object. It is not modified.
        source: The wire, profile or provider that the body belongs to.
        target: The wire, profile or provider to translate to.
        kind: `request` or `response`.
        ids: The id map of an earlier translation, to restore ids and names on the way back.
        server_tools: How to write calls of provider-executed tools: as `text`, as a `call` of the
            client, not at all (`drop`), or `auto`: `text` in a request, `drop` in a response.
        cache_breakpoints: `keep` translates the cache breakpoints of the source. `auto` also adds
            some if the source has none and the target caches nothing without them.
        repair: Apply safe fixes so that the target accepts the history. By default a body is
            repaired unless `ids` is given; a response for another wire has nothing to repair.
        abandon_pending: Let the repair add an error result to the calls at the end that wait for
            their results. By default they stay: see `pending` and `resume`.
        request: Facts about the request that a response answers: its body in the target wire, and
            the time. They fill in fields that every response of the target needs and the source
            does not have.

    Returns:
        The body, its losses, the changes made by repair, the findings without a safe fix, and the
        id map that restores ids and names.

    Raises:
        DecodeError: The body is not JSON, or not a body of `source`.
        UsageError: A wire does not exist, or a value is not JSON.
    """
    conversation = decode_in_full(body, source, kind)
    repairs = ids is None if repair is None else repair
    return translate_conversation(
        conversation,
        target,
        kind,
        ids=ids,
        server_tools=server_tools,
        cache_breakpoints=cache_breakpoints,
        repair=repairs,
        abandon_pending=abandon_pending,
        request=request,
    )


def translate_conversation(
    conversation: Conversation,
    target: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    cache_breakpoints: BreakpointPolicy = "keep",
    repair: bool = True,
    abandon_pending: bool = False,
    request: RequestInfo = NO_REQUEST,
    observations: Observations | None = None,
) -> Encoded:
    """Repair a conversation for a target and write it as a body of the target's wire.

    `observations` are those of a pass that was already made over the conversation.
    """
    wire, profile = resolve(target)
    own_wire = conversation.wire == wire.name and conversation.kind == kind
    if conversation.source.list_field:
        conversation = with_full_paths(conversation)
    if kind == "request" and repair and not own_wire:
        require_policy(server_tools, target)
        require_breakpoint_policy(cache_breakpoints, target)
        encoded = _run_stages(
            conversation,
            wire,
            profile,
            ids=ids,
            server_tools=server_tools,
            cache_breakpoints=cache_breakpoints,
            abandon_pending=abandon_pending,
            observations=observations,
        )
        return present(encoded, conversation, own_wire=False)
    encoded = encode_in_full(
        conversation,
        target,
        kind,
        ids=ids,
        server_tools=server_tools,
        cache_breakpoints=cache_breakpoints,
        request=request,
    )
    if own_wire and repair:
        encoded = _repair_on_own_wire(
            conversation, encoded, profile, abandon_pending=abandon_pending
        )
    return present(encoded, conversation, own_wire=own_wire)


def _run_stages(
    conversation: Conversation,
    wire: Wire,
    profile: Profile,
    *,
    ids: IdMapInput,
    server_tools: ServerToolPolicy,
    cache_breakpoints: BreakpointPolicy,
    abandon_pending: bool,
    observations: Observations | None,
) -> Encoded:
    """Run the stages of a request after reading: write it in its own vocabulary, lower the
    messages, repair, lower the rest, fit ids and names, write."""
    reverse_map = NO_MAP if ids is None else IdMap.of(ids)
    if observations is None:
        observations = observe(conversation, wire.name)
    converted = convert_content(conversation, wire.name, profile, observations)
    wire = wire_for_model(wire, profile, converted.conversation)
    messages = MessageLowering(wire.capabilities, wire=wire.name, abandon_pending=abandon_pending)
    lowering = lower_messages(
        converted.conversation, wire, messages, server_tools, converted.observations
    )
    repaired = repair_for_translation(
        lowering.conversation,
        profile,
        lowering.observations,
        messages,
        abandon_pending=abandon_pending,
    )
    lowering = follow_repair(lowering, repaired.conversation, repaired.observations)
    lowering = lower_rest(lowering, wire, "request", reverse_map.defaults)
    context = fit(
        lowering,
        wire,
        profile,
        "request",
        reverse_map=reverse_map,
        cache_breakpoints=cache_breakpoints,
    )
    encoded = write(lowering.conversation, wire, context)
    if repaired.ids is not NO_MAP:
        encoded.ids = encoded.ids.after(repaired.ids)
    encoded.changes = converted.changes + repaired.changes
    is_foreign = converted.observations.flags & Observation.OTHER_WIRE
    if not is_foreign or context.text_is_read:
        return _repair_written_body(encoded, wire, profile, abandon_pending=abandon_pending)
    if repaired.findings:
        encoded.findings = _errors(repaired)
    return encoded


def _repair_on_own_wire(
    conversation: Conversation, encoded: Encoded, profile: Profile, *, abandon_pending: bool
) -> Encoded:
    """Repair a conversation that stays on its wire. If it was edited, read the written body first.

    The rules about the JSON of the wire have to see the body that the provider gets.
    """
    if not conversation.pristine:
        conversation = read_body(encoded.body, conversation.wire, conversation.kind)
    repaired = repair_on_own_wire(conversation, profile, abandon_pending=abandon_pending)
    return _with_repairs(encoded, repaired)


def _repair_written_body(
    encoded: Encoded, wire: Wire, profile: Profile, *, abandon_pending: bool
) -> Encoded:
    """Repair a body with content that no earlier stage has checked, as the provider gets it.

    This is the JSON of messages that were read from the target's wire, and calls and results that
    this wire reads from texts.
    """
    conversation = read_body(encoded.body, wire.name, "request")
    repaired = repair_on_own_wire(conversation, profile, abandon_pending=abandon_pending)
    return _with_repairs(encoded, repaired)


def _with_repairs(encoded: Encoded, repaired: RepairedConversation) -> Encoded:
    """Return an encoding with the changes and findings of a repair on its own wire."""
    if repaired.changes:
        body, ids = repaired.conversation.source.body, encoded.ids.after_repair(repaired.ids)
        changes = [*encoded.changes, *repaired.changes]
        encoded = Encoded(body, encoded.losses, ids, changes=changes)
    encoded.findings = _errors(repaired)
    return encoded


def _errors(repaired: RepairedConversation) -> list[Finding]:
    return [finding for finding in repaired.findings if finding.severity == "error"]
