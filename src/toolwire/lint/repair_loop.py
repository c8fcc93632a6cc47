"""Repair a conversation for a target: fix one rule at a time until no fix is left.

On its way to another wire, a conversation is repaired in memory and never written in between. On
its own wire it is written and read again after each fix, because rules about the JSON of that wire
must see what the fix made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from toolwire.codec import decode, encode
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Conversation, Finding, Kind, Tool
from toolwire.conversation.observations import Observations
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.registry import all_rules, find, rules_for_translation
from toolwire.lint.rule import Fixed, FixedBody, FixLog, Rule
from toolwire.profiles.table import Profile

T = TypeVar("T")
MAX_FIXES = 400
"""Fixes before repair gives up. A history needs about as many as it breaks rules."""


class RepairedConversation(Struct, frozen=True):
    """A repaired conversation, what was done, what is left, and the ids and names before."""

    conversation: Conversation
    changes: list[Change]
    findings: list[Finding]
    ids: IdMap


def repair_for_translation(
    conversation: Conversation, profile: Profile, observations: Observations
) -> RepairedConversation:
    """Apply safe fixes for a target on another wire."""
    rules = rules_for_translation(profile, observations.flags)
    return _repair(Facts(conversation, profile, observations), rules, unsafe=False)


def repair_on_own_wire(
    conversation: Conversation, profile: Profile, *, unsafe: bool
) -> RepairedConversation:
    """Apply the fixes of all rules to a conversation that stays on its wire."""
    return _repair(Facts(conversation, profile), all_rules(), unsafe=unsafe)


def _repair(facts: Facts, rules: tuple[Rule, ...], *, unsafe: bool) -> RepairedConversation:
    findings = find(facts, rules)
    changes: list[Change] = []
    if not findings:
        return RepairedConversation(facts.conversation, changes, findings, IdMap())
    renames = RenameLog(facts.conversation)
    for _ in range(MAX_FIXES):
        step = _fix_first(facts, findings, rules, unsafe=unsafe)
        if step is None:
            break
        rule, conversation, fix_log = step
        changes += [Change(rule.code, rule.name, path, message) for path, message in fix_log]
        renames.record(conversation)
        facts = Facts(conversation, facts.profile)
        findings = find(facts, rules)
    return RepairedConversation(facts.conversation, changes, findings, renames.id_map())


def _fix_first(
    facts: Facts, findings: list[Finding], rules: tuple[Rule, ...], *, unsafe: bool
) -> tuple[Rule, Conversation, FixLog] | None:
    """Apply the fix of the first rule, in the order of fixes, that changes something."""
    fixable = {
        finding.name for finding in findings if finding.fix == "safe" or (unsafe and finding.fix)
    }
    for rule in sorted(rules, key=lambda rule: (rule.order, rule.code, rule.name)):
        if rule.name not in fixable or rule.fix is None:
            continue
        fixed = rule.fix(facts, unsafe)
        conversation = None if fixed is None else _apply(fixed, facts)
        if fixed is not None and conversation is not None:
            return rule, conversation, fixed.changes
    return None


def _apply(fixed: Fixed | FixedBody, facts: Facts) -> Conversation | None:
    """The conversation after a fix; None if the fix changed nothing."""
    before = facts.conversation
    if isinstance(fixed, Fixed) and not facts.own_wire:
        return None if fixed.conversation is before else fixed.conversation
    body: JSON
    if isinstance(fixed, Fixed):
        body = encode(fixed.conversation, before.wire, _body_kind(before.kind)).body
    else:
        body = fixed.body
    if body == facts.body:
        return None
    return decode(body, before.wire, _body_kind(before.kind))


def _body_kind(kind: Kind) -> Kind:
    return "response" if kind == "stream" else kind


class RenameLog:
    """The ids and names that calls and tools had before they were repaired."""

    def __init__(self, conversation: Conversation) -> None:
        self._calls = conversation.calls()
        self._first_calls = [(call.id, call.name) for call in self._calls]
        self._tools = conversation.tools
        self._first_tools = [tool.name for tool in self._tools]

    def record(self, conversation: Conversation) -> None:
        """Follow every call and tool through one fix."""
        calls = conversation.calls()
        self._first_calls = [
            self._first_calls[n] if n is not None else (call.id, call.name)
            for call, n in zip(calls, _positions(self._calls, calls, _is_same_call), strict=True)
        ]
        self._calls = calls
        tools = conversation.tools
        self._first_tools = [
            self._first_tools[n] if n is not None else tool.name
            for tool, n in zip(tools, _positions(self._tools, tools, _is_same_tool), strict=True)
        ]
        self._tools = tools

    def id_map(self) -> IdMap:
        """The map from the ids and names after repair to those before."""
        ids: dict[str, str] = {}
        names: dict[str, str] = {}
        for call, (call_id, name) in zip(self._calls, self._first_calls, strict=True):
            if call_id != call.id:
                ids.setdefault(call.id, call_id)
            if name and name != call.name:
                names.setdefault(call.name, name)
        for tool, name in zip(self._tools, self._first_tools, strict=True):
            if name and name != tool.name:
                names.setdefault(tool.name, name)
        return IdMap(ids, names)


def _positions(
    before: Sequence[T], after: Sequence[T], is_same: Callable[[T, T], bool]
) -> list[int | None]:
    """For each element after a fix the position it had before; None for a new one.

    A fix never changes the order of calls or tools: it renames, removes and adds them.
    """
    if len(before) == len(after):
        return list(range(len(after)))
    positions: list[int | None] = []
    start = 0
    for element in after:
        candidates = range(start, len(before))
        position = next((n for n in candidates if is_same(before[n], element)), None)
        positions.append(position)
        start = start if position is None else position + 1
    return positions


def _is_same_call(before: Call, after: Call) -> bool:
    if after.id == before.id:
        return True
    return (after.name, after.arguments) == (before.name, before.arguments)


def _is_same_tool(before: Tool, after: Tool) -> bool:
    return after.name == before.name or after.raw == before.raw
