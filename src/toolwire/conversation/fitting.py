"""Fit call ids and tool names to the rule of a provider, without collisions.

A valid id is left unchanged. Fitting is deterministic, and every change is recorded for the way
back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter

from msgspec.structs import replace

from toolwire.conversation.id_map import IdMap
from toolwire.conversation.id_rules import IdRule, all_fit
from toolwire.conversation.ids import digest, first_free, is_minted
from toolwire.conversation.model import Conversation
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Message, Part, Result

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def fit(text: str, rule: IdRule, taken: Iterable[str] = ()) -> str:
    """Return the id unchanged if the rule allows it, otherwise a valid id that is not in `taken`.

    The new id is a readable prefix and a hash of the whole id.
    """
    return _fit(text, rule, set(taken))


def _fit(text: str, rule: IdRule, taken: set[str]) -> str:
    if rule.fits(text):
        return text
    return first_free(lambda salt: _hash_id(text, rule, salt), taken)


def _fit_free(text: str, rule: IdRule, taken: set[str]) -> str:
    """Like `_fit`, but replace a valid id too if it is in `taken`."""
    if text not in taken and rule.fits(text):
        return text
    return first_free(lambda salt: _hash_id(text, rule, salt), taken)


def _hash_id(text: str, rule: IdRule, salt: str) -> str:
    """Return a readable prefix of the text and a hash of the text and the salt."""
    number = int(digest(text, salt), 16)
    suffix = ""
    while number and len(suffix) < (rule.longest if rule.exact else 8):
        number, rest = divmod(number, 62)
        suffix += _BASE62[rest]
    if rule.exact:
        return suffix.rjust(rule.longest, "0")
    separator = "_" if IdRule(rule.chars).fits("_") else ""
    room = (rule.longest or 64) - len(suffix) - len(separator)
    prefix = re.sub(f"[^{rule.chars or '!-~'}]", "_" if separator else "", text)[:room]
    hashed = f"{prefix}{separator}{suffix}"
    return hashed if rule.fits(hashed) else f"t{hashed[1:]}"


def fit_calls(
    conversation: Conversation,
    calls: list[Call],
    results: list[Result],
    rule: IdRule,
    *,
    unique: bool,
    restore: Mapping[str, str],
) -> PartMap[Call | Result, str] | None:
    """Return the id to send for each call and result, or None if all are sent unchanged.

    Args:
        conversation: The conversation. Two calls of one of its turns never share an id.
        calls: Every call that is sent.
        results: Every result that is sent.
        rule: What the target accepts.
        unique: True if an id may occur only once in the whole request.
        restore: Ids that an earlier encoding sent → the ids that they replaced.
    """
    if not calls and not results:
        return None
    call_ids = {call.id for call in calls}
    ids = call_ids.union([result.call_id for result in results])
    has_repeats = len(call_ids) < len(calls)
    repeats: PartSet[Call] = PartSet()
    if has_repeats:
        repeats = PartSet(calls) if unique else _repeats_in_turns(conversation.messages)
    known = restore.keys() & ids if restore else set()
    restores = any(restore[call_id] != call_id for call_id in known)
    if not restores and not repeats and all_fit(ids - known, rule):
        return None
    sent = _CallFitting(rule, repeats, restore).fit(conversation, calls, results)
    if restores and not _keeps_pairs(conversation, calls, sent):
        restore = _without_collisions(calls, restore)
        sent = _CallFitting(rule, repeats, restore).fit(conversation, calls, results)
    return sent


def _keeps_pairs(
    conversation: Conversation, calls: list[Call], sent: PartMap[Call | Result, str]
) -> bool:
    """Return False if restoring made ids equal and results would be paired with other calls.

    Most wires read consecutive assistant messages as one, in which the first of two calls with one
    id gets the result.
    """
    if len({call.id for call in calls}) <= len({sent[call] for call in calls}):
        return True
    renamed = [
        replace(message, parts=tuple(_with_sent_id(part, sent) for part in message.parts))
        for message in conversation.messages
    ]
    ordered = conversation.ordered
    numbers = _pair_numbers(conversation.messages, ordered)
    return all(
        numbers == _pair_numbers(messages, ordered) for messages in (renamed, _join_turns(renamed))
    )


def _join_turns(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with consecutive messages of the assistant joined."""
    joined: list[Message] = []
    for role, turn in groupby(messages, key=attrgetter("role")):
        first, *others = turn
        if role == "assistant" and others:
            parts = chain(first.parts, *(message.parts for message in others))
            joined.append(replace(first, parts=tuple(parts)))
        else:
            joined += [first, *others]
    return joined


def _with_sent_id(part: Part, sent: PartMap[Call | Result, str]) -> Part:
    if isinstance(part, Call):
        return replace(part, id=sent.get(part, part.id))
    if isinstance(part, Result):
        # Some wires have no field for the name of a result that has an id.
        name = part.name if part.origin == "minted" else None
        return replace(part, call_id=sent.get(part, part.call_id), name=name)
    return part


def _pair_numbers(messages: Sequence[Message], ordered: bool) -> list[tuple[int, int]]:
    """Return the positions of the call and the result of every pair among all parts."""
    parts = (part for message in messages for part in message.parts)
    numbers = PartMap((part, n) for n, part in enumerate(parts))
    return [
        (numbers[pair.call], numbers[pair.result])
        for pair in pairs(messages, ordered=ordered)
        if pair.call is not None and pair.result is not None
    ]


def _without_collisions(calls: list[Call], restore: Mapping[str, str]) -> dict[str, str]:
    """Return `restore` without ids that would be restored to the id of an earlier call."""
    first: dict[str, str] = {}
    """Id that is sent → id of the first call that is sent under it."""
    collisions = {
        call.id
        for call in calls
        if first.setdefault(restore.get(call.id, call.id), call.id) != call.id
    }
    return {old: new for old, new in restore.items() if old not in collisions}


class _CallFitting:
    """Fits the ids of one conversation in which at least one id has to change."""

    def __init__(self, rule: IdRule, repeats: PartSet[Call], restore: Mapping[str, str]) -> None:
        self._rule = rule
        self._repeats = repeats
        """Calls that need an id of their own if an earlier call has the same id."""
        self._restore = restore
        self._taken: set[str] = set()
        """Ids sent so far. Ids of later turns do not count, so that a longer history keeps these
        ids."""
        self._latest: dict[str, str] = {}
        """The id to send for the newest call with each id."""
        self._sent: PartMap[Call | Result, str] = PartMap()

    def fit(
        self, conversation: Conversation, calls: list[Call], results: list[Result]
    ) -> PartMap[Call | Result, str]:
        """Return the id to send for each call and result."""
        for n, call in enumerate(calls):
            self._send(call, call.id, self._fit_call(call, n))
        call_of: PartMap[Result, Call] = PartMap(
            (pair.result, pair.call)
            for pair in pairs(conversation.messages, ordered=conversation.ordered)
            if pair.call is not None and pair.result is not None
        )
        for result in results:
            caller = call_of.get(result)
            if caller is not None:
                self._sent[result] = self._sent.get(caller, caller.id)
            else:
                # An unpaired result keeps referring to the newest call with its id.
                self._send(result, result.call_id, self._fit_orphan(result.call_id))
        return self._sent

    def _send(self, part: Call | Result, old: str, new: str) -> None:
        self._latest[old] = new
        self._taken.add(new)
        self._sent[part] = new

    def _fit_call(self, call: Call, number: int) -> str:
        if call.id in self._restore:
            return self._restore[call.id]
        if call.id in self._latest and call in self._repeats:
            numbered = f"{call.id} {number}"
            return first_free(lambda salt: _hash_id(numbered, self._rule, salt), self._taken)
        return self._latest.get(call.id) or _fit_free(call.id, self._rule, self._taken)

    def _fit_orphan(self, call_id: str) -> str:
        known = self._restore.get(call_id) or self._latest.get(call_id)
        return known or _fit_free(call_id, self._rule, self._taken)


def _repeats_in_turns(messages: Iterable[Message]) -> PartSet[Call]:
    """Return the calls that repeat the id of an earlier call of the same turn."""
    repeats: PartSet[Call] = PartSet()
    ids_in_turn: set[str] = set()
    for message in messages:
        if message.role != "assistant":
            ids_in_turn = set()
        for part in message.parts:
            if isinstance(part, Call):
                if part.id in ids_in_turn:
                    repeats.add(part)
                ids_in_turn.add(part.id)
    return repeats


def fit_names(names: Iterable[str], rule: IdRule, restore: Mapping[str, str]) -> dict[str, str]:
    """Return the names that must change, each with the name to send. No two become the same.

    Args:
        names: The names that are sent.
        rule: What the target accepts.
        restore: Names that an earlier encoding sent → the names that they replaced.
    """
    distinct = set(names)
    if not restore and all_fit(distinct, rule):
        return {}
    taken = {restore.get(name, name) for name in distinct if name in restore or rule.fits(name)}
    renames: dict[str, str] = {}
    for name in sorted(distinct):
        new = restore[name] if name in restore else _fit(name, rule, taken)
        taken.add(new)
        if new != name:
            renames[name] = new
    return renames


class IdFitter:
    """Fits ids and names one part at a time, as `fit_calls` and `fit_names` do for a whole body."""

    __slots__ = (
        "_count",
        "_id_rule",
        "_ids_in_turn",
        "_latest",
        "_name_rule",
        "_renames",
        "_reverse_map",
        "_source_rules",
        "_taken",
        "_unique",
        "names",
        "sent",
    )

    def __init__(
        self,
        ids: IdRule,
        names: IdRule,
        *,
        unique: bool,
        reverse_map: IdMap,
        source_rules: tuple[IdRule, IdRule],
    ) -> None:
        """Prepare one stream.

        Args:
            ids: The rule of the target for ids.
            names: The rule of the target for tool names.
            unique: True if an id may occur only once in the whole request.
            reverse_map: The map of an earlier encoding, whose ids and names are restored.
            source_rules: The rules of the source for ids and names. What breaks them is recorded,
                so that a translation back restores them instead of fitting them.
        """
        self._id_rule = ids
        self._name_rule = names
        self._unique = unique
        self._reverse_map = reverse_map
        self._source_rules = source_rules
        self._count = 0
        self._taken: set[str] = set()
        self._latest: dict[str, str] = {}
        """Id in the source → id sent for the newest call that has it."""
        self._ids_in_turn: set[str] = set()
        self._renames: dict[str, str] = {}
        self.sent: dict[str, str] = {}
        """Id that was sent → id in the source."""
        self.names: dict[str, str] = {}
        """Tool name that was sent → name in the source."""

    def call(self, call: Call) -> Call:
        """Return the call with the id and the name to send."""
        old = call.id
        if old in self._reverse_map.ids:
            new = self._reverse_map.ids[old]
        elif old in (self._latest if self._unique else self._ids_in_turn):
            numbered = f"{old} {self._count}"
            new = first_free(lambda salt: _hash_id(numbered, self._id_rule, salt), self._taken)
        else:
            new = self._latest.get(old) or _fit_free(old, self._id_rule, self._taken)
        self._count += 1
        self._ids_in_turn.add(old)
        self._taken.add(new)
        self._latest[old] = new
        if new != old or not (is_minted(old) or self._source_rules[0].fits(old)):
            self.sent[new] = old
        name = self.name(call.name)
        return call if new == old and name == call.name else replace(call, id=new, name=name)

    def start_turn(self) -> None:
        """Start the next turn, in which ids of earlier turns may occur again."""
        self._ids_in_turn.clear()

    def result(self, result: Result) -> Result:
        """Return the result with the id and the name of its call."""
        old = result.call_id
        new = self._latest.get(old) or self._reverse_map.ids.get(old, old)
        name = self.name(result.name) if result.name else result.name
        if new == old and name == result.name:
            return result
        return replace(result, call_id=new, name=name)

    def name(self, name: str) -> str:
        """Return the name to send for a tool. A name that another tool was sent under is taken."""
        if name not in self._renames:
            taken = set(self._renames.values())
            restored = self._reverse_map.names.get(name)
            new = restored or _fit_free(name, self._name_rule, taken)
            self._renames[name] = new
            if new != name or not self._source_rules[1].fits(name):
                self.names[new] = name
        return self._renames[name]
