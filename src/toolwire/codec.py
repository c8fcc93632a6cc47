"""Between the bodies of wires and the conversation they hold: decode reads, encode writes.

`encode` runs the last three stages of the pipeline: lower to what the target can hold, fit ids and
names to its rules, write. What the target cannot hold is a loss, never an exception. This module
knows wires only through their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.fitting import fit_calls, fit_names, minted_ids_needed
from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.id_rules import IdRule, invalid_ids, matcher
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Body, dump, load
from toolwire.conversation.model import Change, Choice, Conversation, Finding, Kind, Loss
from toolwire.conversation.observations import Observation, Observations, observe
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Message, Pair, Result, Text, Traceable
from toolwire.errors import DecodeError, UsageError
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires import wire
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import lower, lower_settings
from toolwire.wires.engine.server_tools import POLICIES, ServerToolPolicy, lower_server_tools
from toolwire.wires.engine.specs import Wire, patch_parts

IdMapInput: TypeAlias = "IdMap | Mapping[str, Mapping[str, str]] | None"


class Encoded:
    """A body of a wire, what was lost or changed on the way, and the map that restores ids."""

    __slots__ = ("_body", "_bytes", "changes", "findings", "ids", "losses", "well_formed")

    def __init__(
        self,
        body: JSON,
        losses: list[Loss],
        ids: IdMap,
        raw: bytes | None = None,
        *,
        changes: list[Change] | None = None,
        findings: list[Finding] | None = None,
    ) -> None:
        self._body = body
        self._bytes = raw
        self.losses = losses
        """What the target cannot hold, with pointers into the source body."""
        self.ids = ids
        """The map that restores ids and names on the way back: pass it as `ids=`."""
        self.changes: list[Change] = changes if changes is not None else []
        """What was repaired for the target, with pointers into the source body."""
        self.findings: list[Finding] = findings if findings is not None else []
        """What the target would refuse and no safe fix exists for."""
        self.well_formed = False
        """True if the history was seen to need no repair for the target."""

    @property
    def body(self) -> JSON:
        """The body as dicts and lists. It may share parts with the source body: copy it before you
        change it."""
        return self._body

    def json(self) -> bytes:
        """The body as JSON; the bytes that were decoded, verbatim, if nothing changed."""
        if self._bytes is None:
            self._bytes = dump(self._body)
        return self._bytes

    def __repr__(self) -> str:
        return f"Encoded({len(self.json())} bytes, {len(self.losses)} losses)"


def resolve(name: str) -> tuple[Wire, Profile]:
    """The wire and the profile that a name of a wire or profile stands for."""
    try:
        return _RESOLVED[name]
    except (KeyError, TypeError):
        spec = PROFILES.get(name) if isinstance(name, str) else None
    found = (wire(name), Profile(name, name)) if spec is None else (wire(spec.wire), spec)
    _RESOLVED[name] = found
    return found


_RESOLVED: dict[str, tuple[Wire, Profile]] = {}
"""Names that were resolved before: at most one entry for each wire and profile."""


def decode(body: Body, wire: str, kind: Kind = "request") -> Conversation:
    """Read a body as a conversation. Unknown blocks, missing ids and broken arguments are data.

    Args:
        body: JSON as bytes or text, a dict or list, or an official SDK object. It is not modified.
        wire: The name of a wire, profile or provider.
        kind: `request` or `response`.

    Raises:
        DecodeError: The body is not JSON, or not a body of this wire.
    """
    source_wire, _ = resolve(wire)
    _require_kind(kind)
    value, raw = load(body, source_wire.name)
    try:
        read = source_wire.read(value, kind)
    except RecursionError:
        raise DecodeError("nested too deeply", wire=source_wire.name) from None
    messages = read.messages
    if kind == "response":
        messages = tuple([_with_tool_stop(message) for message in messages])
    source = replace(
        read.source, raw=raw, messages=messages, tools=read.tools, settings=read.settings
    )
    return replace(read, messages=messages, source=source)


def _with_tool_stop(message: Message) -> Message:
    """An answer with calls of the client stopped for them, whatever reason its server gives."""
    if message.stop != "stop" or not any(
        part.__class__ is Call and part.runs_on_client for part in message.parts
    ):
        return message
    return replace(message, stop="tool")


def encode(
    conversation: Conversation,
    wire: str,
    kind: Kind = "request",
    *,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
) -> Encoded:
    """Write a conversation as a body of a wire. Its own wire gets back verbatim what it sent.

    Args:
        conversation: The conversation; it is not modified and not repaired.
        wire: The name of a wire, profile or provider.
        kind: `request` or `response`.
        ids: The id map of an earlier encoding, to restore ids and names.
        server_tools: What calls that another provider ran become: `text`, `call`, `drop`, or
            `auto`, which is text in a request and nothing in a response.

    Raises:
        UsageError: The wire does not exist, or a value is not JSON.
    """
    target, profile = resolve(wire)
    _require_kind(kind)
    if server_tools not in POLICIES:
        options = ", ".join(POLICIES)
        raise UsageError(f"server_tools is one of {options}, not {server_tools!r}", wire=wire)
    if target.name == conversation.wire and kind == conversation.kind and conversation.pristine:
        return Encoded(conversation.source.body, [], IdMap(), conversation.source.raw)
    return encode_observed(
        conversation, target, profile, kind, ids=ids, policy=server_tools, observations=None
    )


def encode_observed(
    conversation: Conversation,
    target: Wire,
    profile: Profile,
    kind: Kind,
    *,
    ids: IdMapInput,
    policy: ServerToolPolicy,
    observations: Observations | None,
) -> Encoded:
    """Write a conversation that was observed before, or was not."""
    reverse_map = IdMap.of(ids)
    if kind == "response":
        context = _context_of_plain_answer(conversation, target, profile, reverse_map)
        if context is not None:
            paths = conversation.source.setting_paths
            settings = lower_settings(
                conversation.settings, target.capabilities, paths, context.losses
            )
            if settings is not conversation.settings:
                conversation = replace(conversation, settings=settings)
            return _write(conversation, target, context)
    if conversation.wire and conversation.source.messages is None:
        conversation = replace(
            conversation, wire=""
        )  # made by hand: there is no body to go back to
    own = target.name == conversation.wire and kind == conversation.kind
    if own and not reverse_map.ids and not reverse_map.names:
        body = _patch_source(conversation, target)
        if not isinstance(body, UnsetType):
            losses = _unpaired_losses(_edited_pairs(conversation), body, target, kind)
            return Encoded(body, losses, IdMap())
    encoded = _lower_fit_write(
        conversation,
        target,
        profile,
        kind,
        reverse_map=reverse_map,
        policy=policy,
        observations=observations or observe(conversation, target.name),
    )
    if own:
        encoded.losses += _unpaired_losses(_edited_pairs(conversation), encoded.body, target, kind)
    return encoded


def _lower_fit_write(
    conversation: Conversation,
    target: Wire,
    profile: Profile,
    kind: Kind,
    *,
    reverse_map: IdMap,
    policy: ServerToolPolicy,
    observations: Observations,
) -> Encoded:
    """The stages after repair: lower to the target's capabilities, fit ids and names, write."""
    leftovers = observations.leftovers
    losses: list[Loss] = []
    if not observations.holds(Observation.NO_SERVER_TOOLS):
        conversation, losses = lower_server_tools(conversation, target, policy, kind=kind)
        observations = observe(conversation, target.name)
        leftovers = observations.leftovers
    lowered = lower(
        conversation,
        target.capabilities,
        wire=target.name,
        kind=kind,
        plain=observations.holds(Observation.PLAIN),
    )
    losses += lowered.losses
    if lowered.conversation is not conversation:
        conversation = lowered.conversation
        observations = observe(conversation, target.name)
        leftovers = _follow_lowering(leftovers, observations.results)
    context = _fit(conversation, observations, target, profile, kind, reverse_map)
    context.losses += losses
    for part in leftovers:
        context.report_unknown_fields(part)
    return _write(conversation, target, context)


def _follow_lowering(leftovers: list[Traceable], results: list[Result]) -> list[Traceable]:
    """The same parts, with results as lowering left them: the id to send belongs to those."""
    if not any(part.__class__ is Result for part in leftovers):
        return leftovers
    by_path = {result.path: result for result in results if result.path}
    return [
        by_path.get(part.path, part) if part.__class__ is Result else part for part in leftovers
    ]


def _write(conversation: Conversation, target: Wire, context: EncodeContext) -> Encoded:
    """Write the body, and collect the losses and the id map."""
    try:
        body = target.write(conversation, context)
    except RecursionError:
        raise UsageError("nested too deeply", wire=target.name) from None
    ids = IdMap()
    if context.sent_ids or context.names or context.forms:
        names = {new: old for old, new in context.names.items()}
        ids = IdMap(context.sent_ids, names, context.forms)
    losses = list(dict.fromkeys(context.losses)) if context.losses else []
    return Encoded(body, losses, ids)


def _edited_pairs(conversation: Conversation) -> list[Pair]:
    """The pairs of which both halves were edited."""
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


def _unpaired_losses(edited: list[Pair], body: JSON, target: Wire, kind: Kind) -> list[Loss]:
    """Results whose call was edited and that are not paired with it in the written body."""
    if not edited:
        return []
    paired = {_pair_content(pair) for pair in target.read(body, kind).pairs()} - {None}
    reason = "it was paired with its call by what was edited, and this wire has no other tie"
    return [
        Loss(pair.result.path, reason)
        for pair in edited
        if pair.result is not None and _pair_content(pair) not in paired
    ]


def _pair_content(pair: Pair) -> tuple[str, str, str] | None:
    if pair.call is None or pair.result is None:
        return None
    return (pair.call.name, pair.call.arguments, pair.result.text)


def _patch_source(conversation: Conversation, target: Wire) -> JSON | UnsetType:
    """The source body with the edits of single parts; UNSET if more than parts were edited."""
    source = conversation.source
    if (
        source.messages is None
        or source.tools is not conversation.tools
        or source.settings is not conversation.settings
    ):
        return UNSET
    context = EncodeContext(target.name, conversation.kind, ids=None, names={}, reverse_map=NO_MAP)
    original = target.read(source.body, conversation.kind)
    if [len(message.parts) for message in original.messages] != [
        len(message.parts) for message in conversation.messages
    ]:
        return UNSET  # messages were merged or split
    patched = patch_parts(conversation.parts(), original.parts(), source.body, (), context)
    return UNSET if context.losses else patched  # the full route reports them


def _context_of_plain_answer(
    conversation: Conversation, target: Wire, profile: Profile, reverse_map: IdMap
) -> EncodeContext | None:
    """The context for an answer of text and calls that can be sent as they are, as most can.

    None for any other answer: it goes through all stages.
    """
    source_profile = PROFILES.get(conversation.wire)
    if (
        conversation.source.messages is not conversation.messages
        or conversation.wire == target.name
        or conversation.tools
        or source_profile is None
        or len(conversation.messages) != 1
        or reverse_map.ids
        or reverse_map.names
        or reverse_map.forms
    ):
        return None
    message = conversation.messages[0]
    raw = message.raw
    if (
        message.wire == target.name
        or message.role != "assistant"
        or message.spec is None
        or raw.__class__ is not dict
        or not message.spec.keys.issuperset(raw)
    ):
        return None
    ids: list[str] = []
    fits = _fits_both(profile, source_profile)
    for part in message.parts:
        if part.signature is not None or part.spec is None or not part.spec.clean(part.raw):
            return None
        if part.__class__ is Call:
            if (
                part.executor != "client"
                or part.origin != "wire"
                or part.family != "function"
                or not fits.call(part.id, part.name)
            ):
                return None
            ids.append(part.id)
        elif part.__class__ is not Text or part.refusal:
            return None
    if len(ids) > 1 and len(set(ids)) < len(ids):
        return None
    if ids and not target.capabilities.text_after_calls and _has_text_after_call(message):
        return None
    return EncodeContext(target.name, "response", ids=None, names={}, reverse_map=reverse_map)


def _has_text_after_call(message: Message) -> bool:
    calls = [n for n, part in enumerate(message.parts) if part.__class__ is Call]
    return any(part.__class__ is Text for part in message.parts[calls[0] :])


class _Fits(Struct):
    """The ids and names that two profiles both accept: the target's and the source's."""

    ids: tuple[Callable[[str], object], ...]
    names: tuple[Callable[[str], object], ...]
    known_names: set[str]

    def call(self, call_id: str, name: str) -> bool:
        """True if a call needs neither another id nor another name, there and back."""
        if is_minted(call_id):
            return False
        for fits in self.ids:
            if not fits(call_id):
                return False
        return name in self.known_names or self.all_names({name})

    def all_names(self, names: set[str]) -> bool:
        """True if all of these names fit; names that did are remembered."""
        if names <= self.known_names:
            return True
        if not all(fits(name) for name in names for fits in self.names):
            return False
        if len(self.known_names) > 1000:
            self.known_names.clear()
        self.known_names |= names
        return True


_FITS: dict[tuple[str, str], _Fits] = {}


def _fits_both(target: Profile, source: Profile) -> _Fits:
    fits = _FITS.get((target.name, source.name))
    if fits is None:
        both = (target, source)
        ids = tuple(dict.fromkeys(p.id_rule for p in both if p.id_rule != IdRule()))
        names = tuple(dict.fromkeys(p.name_rule for p in both))
        fits = _Fits(tuple(map(matcher, ids)), tuple(map(matcher, names)), set())
        _FITS[target.name, source.name] = fits
    return fits


def _fit(
    conversation: Conversation,
    observations: Observations,
    target: Wire,
    profile: Profile,
    kind: Kind,
    reverse_map: IdMap,
) -> EncodeContext:
    """Fit ids and names to the rules of the target: the context to write with."""

    def call_of_result() -> dict[int, Call]:
        return {
            id(pair.result): pair.call
            for pair in pairs(conversation.messages, ordered=conversation.ordered)
            if pair.call is not None and pair.result is not None
        }

    fixed_ids = reverse_map.ids
    if observations.native_ids:
        fixed_ids = {**observations.native_ids, **reverse_map.ids}
    ids = fit_calls(
        observations.calls,
        observations.results,
        call_of_result,
        profile.id_rule,
        unique=profile.ids_unique_in_request and not observations.native_ids,
        restore=fixed_ids,
        messages=conversation.messages,
    )
    source_profile = PROFILES.get(conversation.wire)
    names: dict[str, str] = {}
    if conversation.wire != target.name or reverse_map.names:
        names = _fit_tool_names(conversation, observations, profile, source_profile, reverse_map)
    context = EncodeContext(target.name, kind, ids=ids, names=names, reverse_map=reverse_map)
    context.results = observations.results
    context.assistant_content = profile.assistant_content
    if profile.has_id_field:
        context.minted_ids_needed = partial(
            minted_ids_needed, conversation.messages, ordered=conversation.ordered
        )
    if observations.calls and source_profile is not None and source_profile.wire != target.name:
        invalid = invalid_ids(observations.call_ids, source_profile.id_rule)
        context.sent_ids = {call_id: call_id for call_id in invalid if not is_minted(call_id)}
    return context


def _fit_tool_names(
    conversation: Conversation,
    observations: Observations,
    profile: Profile,
    source_profile: Profile | None,
    reverse_map: IdMap,
) -> dict[str, str]:
    """The names that change for the target, and those that must not be fitted on the way back."""
    choice = conversation.settings.get("choice")
    used = observations.names.union([tool.name for tool in conversation.tools if tool.name])
    if isinstance(choice, Choice):
        used.update(choice.names)
    if not used:
        return {}
    if (
        source_profile is not None
        and not reverse_map.names
        and _fits_both(profile, source_profile).all_names(used)
    ):
        return {}
    names = fit_names(used, profile.name_rule, reverse_map.names)
    if source_profile is not None:
        invalid = sorted(invalid_ids(used, source_profile.name_rule))
        names |= {name: name for name in invalid if name not in names}
    return names


def _require_kind(kind: str) -> None:
    if kind not in ("request", "response"):
        raise UsageError(f"kind is request or response, not {kind!r}")
