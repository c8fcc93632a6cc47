"""The stage that fits ids and names to the rules of the target, without collisions.

Most ids and names fit as they are, so one look at all of them comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from toolwire.conversation.fitting import fit_calls, fit_names
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.id_rules import IdRule, invalid_ids, matcher
from toolwire.conversation.ids import is_minted
from toolwire.conversation.minted_ids import needs_minted_ids
from toolwire.conversation.model import Choice, Conversation, Kind
from toolwire.conversation.observations import Observation, Observations, native_calls
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import Lowering
from toolwire.wires.engine.part_lowering import takes_signature
from toolwire.wires.engine.specs import Wire


def fit(
    lowering: Lowering, target: Wire, profile: Profile, kind: Kind, *, reverse_map: IdMap
) -> EncodeContext:
    """Fit ids and names to the rules of the target, and return the context to write with.

    Args:
        lowering: The conversation as the target can hold it, and what was lost for that.
        target: The wire of the target.
        profile: What the target accepts.
        kind: `request` or `response`.
        reverse_map: The map of an earlier encoding, whose ids and names are restored.
    """
    conversation, seen = lowering.conversation, lowering.observations
    source_profile = PROFILES.get(conversation.wire)
    native_ids: dict[str, str] = {}
    if not seen.holds(Observation.OTHER_WIRE):  # ids that the target has sent stay as they are
        native = native_calls(conversation.messages, target.name, executor="client")
        native_ids = {call.id: call.id for call in native}
    ids = fit_calls(
        conversation,
        seen.calls,
        seen.results,
        profile.id_rule,
        unique=profile.ids_unique_in_request and not native_ids,
        restore={**native_ids, **reverse_map.ids} if native_ids else reverse_map.ids,
    )
    names: dict[str, str] = {}
    if conversation.wire != target.name or reverse_map.names:
        names = _fit_tool_names(conversation, seen, profile, source_profile, reverse_map)
    context = EncodeContext(target.name, kind, ids=ids, names=names, reverse_map=reverse_map)
    context.results = seen.results
    context.assistant_content = profile.assistant_content
    if profile.has_id_field:
        context.needs_minted_ids = partial(
            needs_minted_ids, conversation.messages, ordered=conversation.ordered
        )
    if seen.calls and source_profile is not None and source_profile.wire != target.name:
        invalid = invalid_ids(seen.call_ids, source_profile.id_rule)
        context.sent_ids = {call_id: call_id for call_id in invalid if not is_minted(call_id)}
    context.losses = lowering.losses
    for part in lowering.leftovers:
        keeps_signature = kind == "request" and takes_signature(part, target.capabilities)
        context.report_unknown_fields(part, keeps_signature=keeps_signature)
    return context


def _fit_tool_names(
    conversation: Conversation,
    seen: Observations,
    profile: Profile,
    source_profile: Profile | None,
    reverse_map: IdMap,
) -> dict[str, str]:
    """The names that change for the target, and those that must not be fitted on the way back."""
    choice = conversation.settings.get("choice")
    used = seen.names.union([tool.name for tool in conversation.tools if tool.name])
    if isinstance(choice, Choice):
        used.update(choice.names)
    if not used:
        return {}
    if (
        source_profile is not None
        and not reverse_map.names
        and rules_of_both(profile, source_profile).accept_names(used)
    ):
        return {}
    names = fit_names(used, profile.name_rule, reverse_map.names)
    if source_profile is not None:
        invalid = sorted(invalid_ids(used, source_profile.name_rule))
        names |= {name: name for name in invalid if name not in names}
    return names


class RulesOfBoth(Struct):
    """The rules for ids and names of a target and a source: what both accept needs no fitting,
    neither there nor back."""

    ids: tuple[Callable[[str], object], ...]
    names: tuple[Callable[[str], object], ...]
    known_names: set[str]
    """Names that were accepted before: an agent uses the same tools in every request."""

    def accept_call(self, call_id: str, name: str) -> bool:
        """True if a call needs neither another id nor another name."""
        if is_minted(call_id):
            return False
        for matches in self.ids:
            if not matches(call_id):
                return False
        return name in self.known_names or self.accept_names({name})

    def accept_names(self, names: set[str]) -> bool:
        """True if no name needs to change."""
        if names <= self.known_names:
            return True
        if not all(matches(name) for name in names for matches in self.names):
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
        rules = RulesOfBoth(tuple(map(matcher, ids)), tuple(map(matcher, names)), set())
        _RULES_OF_BOTH[target.name, source.name] = rules
    return rules
