"""Repair a conversation for a target: fix one rule at a time until no fix is left.

On its way to another wire, a conversation is repaired in memory and never written in between. On
its own wire it is written and read again after each fix, because rules about the JSON of that wire
must see the result of the fix. If no id was minted, only the messages that the fix changed or moved
are written and read.

A repair ends, and repairing its result changes nothing: a fix that does not reduce the violations
of its rule is undone, and a rule whose violations keep returning is abandoned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import encode_in_full, read_body, read_edited, write_edited
from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Conversation, Finding, Kind, Tool
from toolwire.conversation.observations import Observation, Observations
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.ids.edits import keep_pairs, separate_joined_turns
from toolwire.lint.registry import fixable_rules, rules_for_translation, rules_to_check
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule
from toolwire.profiles.table import Profile
from toolwire.wires.engine.lowering import with_ids_of_pairs
from toolwire.wires.engine.message_lowering import MessageLowering

T = TypeVar("T")
_MAX_FIXES_OF_A_RULE = 10
"""The maximum number of fixes of one rule: two rules may undo each other's fixes."""


class RepairedConversation(Struct, frozen=True, gc=False):
    """A repaired conversation, its changes and remaining findings, and the map to the previous ids
    and names."""

    conversation: Conversation
    changes: list[Change]
    findings: list[Finding]
    ids: IdMap
    observations: Observations | None = None
    """The observations of the repaired conversation; None on its own wire."""


def repair_for_translation(
    conversation: Conversation,
    profile: Profile,
    observations: Observations,
    lowering: MessageLowering,
    *,
    abandon_pending: bool = False,
) -> RepairedConversation:
    """Apply safe fixes for a target on another wire.

    Args:
        conversation: The conversation to repair, with messages that were lowered to the target.
        profile: The provider that gets it.
        observations: The observations of the conversation.
        lowering: Lowers the messages again after each fix.
        abandon_pending: True if calls at the end get no more results.
    """
    if abandon_pending:
        observations.require_all_results()
    rules = rules_for_translation(profile, observations.flags)
    if not rules:
        return RepairedConversation(conversation, [], [], NO_MAP, observations)
    facts = Facts(conversation, profile, observations, abandon_pending=abandon_pending)
    return _repair(facts, rules, lowering, unsafe=False)


def repair_on_own_wire(
    conversation: Conversation,
    profile: Profile,
    *,
    unsafe: bool = False,
    abandon_pending: bool = False,
    only_changes: bool = False,
    observations: Observations | None = None,
) -> RepairedConversation:
    """Apply the fixes of all rules to a conversation that stays on its wire.

    Args:
        conversation: The conversation to repair.
        profile: The provider that gets it.
        unsafe: True to guess by order.
        abandon_pending: True if calls at the end get no more results.
        only_changes: True if findings are not needed: rules without a fix are not checked, unless
            another rule is broken.
        observations: The observations of the conversation, if they are known.
    """
    facts = Facts(conversation, profile, observations, abandon_pending=abandon_pending)
    rules = fixable_rules(facts) if only_changes else rules_to_check(facts)
    if not rules:
        return RepairedConversation(conversation, [], [], NO_MAP)
    return _repair(facts, rules, None, unsafe=unsafe)


def _repair(
    facts: Facts, rules: Sequence[Rule], lowering: MessageLowering | None, *, unsafe: bool
) -> RepairedConversation:
    """Check the rules, and start a repair at the first violation with a fix. Most histories have
    none."""
    findings: list[Finding] = []
    for n, rule in enumerate(rules):
        for problem in rule.check(facts):
            if _has_fix([problem], unsafe=unsafe):
                broken = {finding.name for finding in findings}
                kept: dict[Rule, list[Problem]] = {
                    rule: [] for rule in rules[:n] if rule.name not in broken
                }
                return Repair(facts, kept, lowering, unsafe=unsafe).run()
            findings += _findings(rule, facts, [problem])
    observations = None if facts.own_wire else facts.observations
    return RepairedConversation(facts.conversation, [], _sort(findings), NO_MAP, observations)


class Repair:
    """The state of a repair."""

    def __init__(
        self,
        facts: Facts,
        problems: dict[Rule, list[Problem]],
        lowering: MessageLowering | None = None,
        *,
        unsafe: bool = False,
    ) -> None:
        self._facts = facts
        self._lowering = lowering
        """Lowers messages for a target on another wire."""
        self._unsafe = unsafe
        self._changes: list[Change] = []
        self._renames: RenameLog | None = None
        self._fix_count: Counter[str] = Counter()
        """How often the fix of each rule was applied."""
        self._problems = problems
        """The violations of each rule that was checked since the last fix."""
        self._rules = frozenset(rules_to_check(facts))
        """The rules that the current history may break."""

    def run(self) -> RepairedConversation:
        """Check and fix one rule after the other until a whole round changes nothing.

        The findings of that last round remain.
        """
        facts = None
        while facts is not self._facts:
            facts = self._facts
            findings: list[Finding] = []
            for rule in rules_to_check(facts):
                problems = self._fix_rule(rule) if rule in self._rules else []
                if problems:
                    findings += _findings(rule, facts, problems)
        return RepairedConversation(
            facts.conversation,
            self._changes,
            _sort(findings),
            ids=IdMap() if self._renames is None else self._renames.id_map(),
            observations=None if facts.own_wire else facts.observations,
        )

    def _fix_rule(self, rule: Rule) -> list[Problem]:
        """Apply the fix of a rule for as long as it helps, and return the remaining violations."""
        problems = self._problems.get(rule)
        if problems is not None:
            return problems
        problems = list(rule.check(self._facts))
        while problems and _has_fix(problems, unsafe=self._unsafe):
            remaining = self._apply_fix(rule, problems)
            if remaining is None:
                problems = [(path, message, None) for path, message, _ in problems]
                break
            problems = remaining
        self._problems[rule] = problems
        return problems

    def _apply_fix(self, rule: Rule, problems: list[Problem]) -> list[Problem] | None:
        """Apply the fix of a rule and return the remaining violations; None if it does not help."""
        if rule.fix is None or self._fix_count[rule.name] == _MAX_FIXES_OF_A_RULE:
            return None
        fixed = rule.fix(self._facts, self._unsafe)
        if isinstance(fixed, FixedConversation) and self._facts.own_wire:
            fixed = separate_joined_turns(self._facts, fixed)
        conversation = None if fixed is None else _apply(fixed, self._facts)
        if fixed is None or conversation is None:
            return None
        facts = self._facts_after(conversation)
        # No fix adds a lone surrogate, so a history without one need not be searched again.
        facts.observations.flags |= self._facts.observations.flags & Observation.NO_LONE_SURROGATES
        rules = frozenset(rules_to_check(facts))
        remaining = list(rule.check(facts)) if rule in rules else []
        if remaining and _messages(remaining) >= _messages(problems):
            return None
        if self._renames is None:
            self._renames = RenameLog(self._facts)
        self._renames.record(facts)
        self._facts = facts
        self._rules = rules
        self._problems.clear()
        self._fix_count[rule.name] += 1
        self._changes += [
            Change(rule.code, rule.name, path, message) for path, message in fixed.changes
        ]
        return remaining

    def _facts_after(self, conversation: Conversation) -> Facts:
        """The facts about the conversation after a fix, in the form that the target gets."""
        profile, abandon_pending = self._facts.profile, self._facts.abandon_pending
        facts = Facts(conversation, profile, abandon_pending=abandon_pending)
        if self._lowering is None or facts.observations.holds(Observation.PLAIN):
            return facts
        lowered = self._lowering.lower(conversation)
        if lowered is conversation:
            return facts
        return Facts(lowered, profile, abandon_pending=abandon_pending)


def _has_fix(problems: list[Problem], *, unsafe: bool) -> bool:
    return any(fix == "safe" or (unsafe and fix) for _, _, fix in problems)


def _sort(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.code, finding.name))


def _findings(rule: Rule, facts: Facts, problems: list[Problem]) -> list[Finding]:
    severity = rule.severity_for(facts.profile)
    return [
        Finding(rule.code, rule.name, severity, path, message, fix)
        for path, message, fix in problems
    ]


def _messages(problems: list[Problem]) -> Counter[str]:
    """The messages of violations, because a fix may change their paths."""
    return Counter(message for _, message, _ in problems)


def _apply(fixed: FixedConversation | FixedBody, facts: Facts) -> Conversation | None:
    """The conversation after a fix; None if the fix changed nothing."""
    before = facts.conversation
    if isinstance(fixed, FixedConversation) and not facts.own_wire:
        return None if fixed.conversation is before else with_ids_of_pairs(fixed.conversation)
    body: JSON
    kind = _body_kind(before.kind)
    as_read = before.kind == "request" and facts.observations.holds(Observation.WIRE_IDS)
    """True if no id was minted, so that unchanged messages need not be read again."""
    if isinstance(fixed, FixedBody):
        body = fixed.body
    elif as_read:
        call_ids = {call.id for call in facts.all_calls}
        body = write_edited(fixed.conversation, call_ids)
    else:
        edited = keep_pairs(fixed.conversation, facts.profile)
        body = encode_in_full(edited, before.wire, kind).body
    if body == facts.body and not before.source.corrections:
        return None
    conversation = read_edited(body, before) if as_read else read_body(body, before.wire, kind)
    list_field = before.source.list_field
    return replace(conversation, source=replace(conversation.source, list_field=list_field))


def _body_kind(kind: Kind) -> Kind:
    return "response" if kind == "stream" else kind


class RenameLog:
    """The ids and names of calls and tools before the repair.

    A fix never changes the order of calls or tools: it renames, removes and adds them.
    """

    def __init__(self, facts: Facts) -> None:
        self._calls = facts.all_calls
        self._first_calls = [(call.id, call.name) for call in self._calls]
        self._tools = facts.conversation.tools
        self._first_tools = [tool.name for tool in self._tools]

    def record(self, facts: Facts) -> None:
        """Follow every call and tool through one fix."""
        calls = facts.all_calls
        if len(calls) != len(self._calls):
            self._first_calls = [
                self._first_calls[n] if n is not None else (call.id, call.name)
                for call, n in zip(
                    calls, _positions(self._calls, calls, _is_same_call), strict=True
                )
            ]
        self._calls = calls
        tools = facts.conversation.tools
        if len(tools) != len(self._tools):
            self._first_tools = [
                self._first_tools[n] if n is not None else tool.name
                for tool, n in zip(
                    tools, _positions(self._tools, tools, _is_same_tool), strict=True
                )
            ]
        self._tools = tools

    def id_map(self) -> IdMap:
        """The map from the ids and names after repair to those before."""
        ids: dict[str, str] = {}
        names: dict[str, str] = {}
        for call, (call_id, name) in zip(self._calls, self._first_calls, strict=True):
            if call_id != call.id:
                ids.setdefault(call.id, call_id)
            if name.strip() and name != call.name:  # a blank name counts as none
                names.setdefault(call.name, name)
        for tool, name in zip(self._tools, self._first_tools, strict=True):
            if name.strip() and name != tool.name:
                names.setdefault(tool.name, name)
        return IdMap(ids, names)


def _positions(
    before: Sequence[T], after: Sequence[T], is_same: Callable[[T, T], bool]
) -> list[int | None]:
    """For each element after a fix that removed or added some, its previous position; None for a
    new one."""
    positions: list[int | None] = []
    start = 0
    for element in after:
        candidates = range(start, len(before))
        position = next((n for n in candidates if is_same(before[n], element)), None)
        positions.append(position)
        start = start if position is None else position + 1
    return positions


def _is_same_call(before: Call, after: Call) -> bool:
    if (after.id, after.name) == (before.id, before.name):
        return True
    return (after.name, after.arguments) == (before.name, before.arguments)


def _is_same_tool(before: Tool, after: Tool) -> bool:
    return after.name == before.name or after.raw == before.raw
