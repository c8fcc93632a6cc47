"""The stage that fits ids and names to the rules of the target, without collisions.

Most ids and names fit unchanged, so one pass over all of them comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.fitting import fit_calls, fit_names
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.id_rules import IdRule, invalid_ids, lines_matcher, matcher
from toolwire.conversation.ids import MINTED, is_minted
from toolwire.conversation.minted_ids import needs_minted_ids
from toolwire.conversation.model import Choice, Conversation, Kind, Tool
from toolwire.conversation.observations import Observation, Observations, native_calls
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Result
from toolwire.profiles.profile import names_model
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires.engine.cache_breakpoints import BreakpointPolicy, place_breakpoints
from toolwire.wires.engine.encode_context import Breakpoints, EncodeContext
from toolwire.wires.engine.lowering import Lowering
from toolwire.wires.engine.part_lowering import takes_signature
from toolwire.wires.engine.specs import Wire
from toolwire.wires.engine.web_search import asks_for_search

ID_NOT_RESTORED = "the id is not restored: results would then belong to other calls"


def fit(
    lowering: Lowering,
    target: Wire,
    profile: Profile,
    kind: Kind,
    *,
    reverse_map: IdMap,
    cache_breakpoints: BreakpointPolicy = "keep",
) -> EncodeContext:
    """Fit ids and names to the rules of the target, and return the context to write with.

    Args:
        lowering: The lowered conversation, and its losses.
        target: The wire of the target.
        profile: What the target accepts.
        kind: `request` or `response`.
        reverse_map: The map of an earlier encoding, whose ids and names are restored.
        cache_breakpoints: Which cache breakpoints the target gets.
    """
    conversation, seen = lowering.conversation, lowering.observations
    source_profile = PROFILES.get(conversation.wire)
    rules = None if source_profile is None else rules_of_both(profile, source_profile)
    ids: PartMap[Call | Result, str] | None = None
    ids_stay = rules is not None and _ids_stay(seen, rules, reverse_map)
    if not ids_stay:
        ids = _fit_ids(conversation, seen, target, profile, reverse_map)
    names: dict[str, str] = {}
    if conversation.wire != target.name or reverse_map.names:
        names = _fit_tool_names(conversation, seen, profile, rules, reverse_map)
    context = EncodeContext(
        target.name,
        kind,
        ids=ids,
        names=names,
        reverse_map=reverse_map,
        results=seen.results,
        assistant_content=profile.assistant_content,
        extra_settings=profile.takes_extra_settings,
        losses=lowering.losses,
        has_unique_ids=seen.holds(_CALLS_HAVE_UNIQUE_IDS),
        may_hide_ids=not ids_stay or _has_optional_ids(seen.joined_ids, target),
    )
    if profile.has_id_field and context.may_hide_ids:
        context.needs_minted_ids = partial(
            needs_minted_ids,
            conversation.messages,
            ordered=conversation.ordered,
            order_is_kept=not profile.results_in_any_order,
            hidden_prefix=target.capabilities.hidden_id_prefix,
        )
    if not ids_stay and source_profile is not None and source_profile.wire != target.name:
        invalid = invalid_ids(seen.call_ids, source_profile.id_rule)
        context.sent_ids = {call_id: call_id for call_id in invalid if not is_minted(call_id)}
    if lowering.breakpoints or cache_breakpoints == "auto":
        policy = cache_breakpoints if kind == "request" else "keep"
        context.breakpoints = _fit_breakpoints(lowering, target, profile, policy)
    if ids is not None and reverse_map.ids:
        for call in seen.calls:
            if call.id in reverse_map.ids and ids.get(call) != reverse_map.ids[call.id]:
                context.report_loss(call, ID_NOT_RESTORED)
    for part in lowering.leftovers:
        keeps_signature = takes_signature(part, target.capabilities)
        context.report_unknown_fields(part, keeps_signature=keeps_signature)
    return context


def _fit_breakpoints(
    lowering: Lowering, target: Wire, profile: Profile, policy: BreakpointPolicy
) -> Breakpoints | None:
    """The cache breakpoints that the target gets; None if it gets none."""
    conversation, marks = lowering.conversation, target.capabilities.cache_breakpoints
    if marks is None or not _may_be_of(profile.cache_breakpoint_models, conversation):
        return None
    return place_breakpoints(
        conversation, lowering.breakpoints, marks, wire=target.name, policy=policy
    )


def wire_for_model(target: Wire, profile: Profile, conversation: Conversation) -> Wire:
    """Return the wire of a target, with the capabilities of the model that the request names."""
    capabilities = target.capabilities
    if profile.text_result_models and _is_of(profile.text_result_models, _model(conversation)):
        capabilities = replace(capabilities, result_media="after")
    if profile.system_comes_first and capabilities.system_anywhere:
        capabilities = replace(capabilities, system_anywhere=False)
    media = capabilities.media
    if profile.media_only_from_user and media is not None and "assistant" in media:
        from_others = {place: held for place, held in media.items() if place != "assistant"}
        capabilities = replace(capabilities, media=from_others)
    if (
        capabilities.web_search is not None
        and asks_for_search(conversation)
        and not _is_of(profile.web_search_models, _model(conversation))
    ):
        capabilities = replace(capabilities, web_search=None)
    if capabilities is target.capabilities:
        return target
    return replace(target, capabilities=capabilities)


def _model(conversation: Conversation) -> str:
    """The model that a request names; empty if it names none."""
    model = conversation.settings.get("model")
    return model if isinstance(model, str) else ""


def _may_be_of(pattern: str | None, conversation: Conversation) -> bool:
    """True if the model of a request matches a pattern, or if the request names no model."""
    model = conversation.settings.get("model")
    return _is_of(pattern, model) if isinstance(model, str) else pattern is not None


def _is_of(pattern: str | None, model: str) -> bool:
    """True if a model matches a pattern. No model matches a missing pattern."""
    return pattern is not None and names_model(pattern, model)


_CALLS_HAVE_UNIQUE_IDS = Observation.UNIQUE_CALL_IDS | Observation.NO_SERVER_TOOLS
_IDS_ARE_PLAIN = Observation.OTHER_WIRE | Observation.UNIQUE_CALL_IDS | Observation.RESULTS_IN_PLACE
"""Every id belongs to one call, results have no other ids, and the target has sent none of them."""


def _ids_stay(seen: Observations, rules: RulesOfBoth, reverse_map: IdMap) -> bool:
    """True if a quick check shows that all ids are sent unchanged and return unchanged."""
    if reverse_map.ids or not seen.holds(_IDS_ARE_PLAIN):
        return False
    return not seen.call_ids or rules.accept_ids(seen.joined_ids, len(seen.call_ids))


def _has_optional_ids(joined_ids: str, target: Wire) -> bool:
    """False if no id can be one that is left out on a wire where ids are optional."""
    prefix = target.capabilities.hidden_id_prefix
    return MINTED in joined_ids or (bool(prefix) and prefix in joined_ids)


def _fit_ids(
    conversation: Conversation,
    seen: Observations,
    target: Wire,
    profile: Profile,
    reverse_map: IdMap,
) -> PartMap[Call | Result, str] | None:
    """The id to send for each call and result; None if all are sent unchanged."""
    native_ids: dict[str, str] = {}
    if not seen.flags & Observation.OTHER_WIRE:  # ids in the target's own messages stay as they are
        native = native_calls(conversation.messages, target.name, executor="client")
        native_ids = {call.id: call.id for call in native}
        native_ids |= {call_id: call_id for call_id in _ids_of_native_results(conversation, target)}
    return fit_calls(
        conversation,
        seen.calls,
        seen.results,
        profile.id_rule,
        unique=profile.ids_unique_in_request and not native_ids,
        restore={**native_ids, **reverse_map.ids} if native_ids else reverse_map.ids,
    )


def _ids_of_native_results(conversation: Conversation, target: Wire) -> Iterator[str]:
    """The ids in results that were read from the target's wire, which are written verbatim."""
    for message in conversation.messages:
        if message.wire == target.name:
            for part in message.parts:
                if type(part) is Result and part.executor == "client" and part.origin == "wire":
                    yield part.call_id


_NAME: Callable[[Tool], str] = attrgetter("name")


def _fit_tool_names(
    conversation: Conversation,
    seen: Observations,
    profile: Profile,
    rules: RulesOfBoth | None,
    reverse_map: IdMap,
) -> dict[str, str]:
    """Return each name that changes with the name to send, and unchanged each name that must not be
    fitted on the way back."""
    choice = conversation.settings.get("choice")
    used = seen.names.union(filter(None, map(_NAME, conversation.tools)))
    if isinstance(choice, Choice):
        used.update(choice.names)
    if not used:
        return {}
    if rules is not None and not reverse_map.names and rules.accept_names(used):
        return {}
    names = fit_names(used, profile.name_rule, reverse_map.names)
    if rules is not None:
        invalid = sorted(invalid_ids(used, rules.source_name_rule))
        names |= {name: name for name in invalid if name not in names}
    return names


class RulesOfBoth(Struct):
    """The rules for ids and names of both target and source: what both accept needs no fitting in
    either direction."""

    match_id: Callable[[str], object]
    match_lines: Callable[[str], object]
    """Matches many ids at once, one on each line."""
    match_name: Callable[[str], object]
    source_name_rule: IdRule
    known_names: set[str]
    """Names that were accepted before: an agent uses the same tools in every request."""

    def accept_call(self, call_id: str, name: str) -> bool:
        """True if a call needs neither another id nor another name."""
        if not self.match_id(call_id):
            return False
        return name in self.known_names or self.accept_names({name})

    def accept_ids(self, lines: str, count: int) -> bool:
        """True if none of `count` ids, each on a line, needs to change."""
        return bool(self.match_lines(lines)) and lines.count("\n") == count - 1

    def accept_names(self, names: set[str]) -> bool:
        """True if no name needs to change."""
        if names <= self.known_names:
            return True
        if not all(map(self.match_name, names)):
            return False
        if len(self.known_names) > _MAX_KNOWN_NAMES:
            self.known_names.clear()
        self.known_names |= names
        return True


_MAX_KNOWN_NAMES = 1000
_RULES_OF_BOTH: dict[tuple[str, str], RulesOfBoth] = {}
"""At most one entry for each pair of profiles."""


def rules_of_both(target: Profile, source: Profile) -> RulesOfBoth:
    """The rules of two profiles."""
    rules = _RULES_OF_BOTH.get((target.name, source.name))
    if rules is None:
        profiles = (target, source)
        ids = dict.fromkeys(p.id_rule for p in profiles if p.id_rule != IdRule())
        names = dict.fromkeys(p.name_rule for p in profiles)
        rules = RulesOfBoth(
            match_id=matcher(*ids),
            match_lines=lines_matcher(*ids),
            match_name=matcher(*names),
            source_name_rule=source.name_rule,
            known_names=set(),
        )
        _RULES_OF_BOTH[target.name, source.name] = rules
    return rules
