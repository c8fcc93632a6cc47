"""Fit call ids and tool names to the rule of a provider, without collisions.

A valid id is left unchanged. Fitting is deterministic, and every change is recorded for the way
back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from toolwire.conversation.id_map import IdMap
from toolwire.conversation.id_rules import IdRule, all_fit
from toolwire.conversation.ids import digest, first_free, is_minted
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Message, Part, Result

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def fit(text: str, rule: IdRule, taken: Iterable[str] = ()) -> str:
    """Return the id as the rule allows it, and never one of `taken`.

    A valid id is returned unchanged; an invalid one becomes a readable prefix and a hash of the
    whole id.
    """
    return _fit(text, rule, set(taken))


def _fit(text: str, rule: IdRule, taken: set[str]) -> str:
    if rule.fits(text):
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
    calls: list[Call],
    results: list[Result],
    find_calls: Callable[[], dict[int, Call]],
    rule: IdRule,
    *,
    unique: bool,
    restore: Mapping[str, str],
    messages: Iterable[Message] = (),
) -> dict[int, str] | None:
    """Return the id to send for each call and result, or None if all are sent unchanged.

    The keys are identities of parts (`id(part)`), because two equal calls may get different ids.

    Args:
        calls: Every call that is sent.
        results: Every result that is sent.
        find_calls: Returns the call of each result, by the identity of the result. It is called
            only if an id has to change.
        rule: What the target accepts.
        unique: True if an id may occur only once in the whole request.
        restore: Ids of an earlier encoding and the ids that they stood for.
        messages: Two calls of one turn in these messages never share an id.
    """
    if not calls and not results:
        return None
    call_ids = [call.id for call in calls]
    ids = {*call_ids, *[result.call_id for result in results]}
    invalid = set() if all_fit(ids, rule) else {text for text in ids if not rule.fits(text)}
    has_repeats = len(set(call_ids)) < len(call_ids)
    repeated_in_turn = _repeated_in_turn(messages) if has_repeats and not unique else set()
    if (
        not invalid
        and not (restore and not restore.keys().isdisjoint(ids))
        and not (has_repeats and (unique or repeated_in_turn))
    ):
        return None
    call_of = find_calls()
    taken = ids - invalid
    sent: dict[int, str] = {}
    latest: dict[str, str] = {}
    for n, call in enumerate(calls):
        if call.id in restore:
            new = restore[call.id]
        elif call.id in latest and (unique or id(call) in repeated_in_turn):
            new = first_free(lambda salt, t=call.id, n=n: _hash_id(f"{t} {n}", rule, salt), taken)  # type: ignore[misc]
        else:
            new = latest.get(call.id) or _fit(call.id, rule, taken)
        latest[call.id] = new
        taken.add(new)
        sent[id(call)] = new
    for result in results:
        owner = call_of.get(id(result))
        if owner is not None:
            sent[id(result)] = sent.get(id(owner), owner.id)
            continue
        # A result without a call of its own keeps pointing at the newest call of its id.
        new = (
            restore.get(result.call_id)
            or latest.get(result.call_id)
            or _fit(result.call_id, rule, taken)
        )
        latest[result.call_id] = new
        taken.add(new)
        sent[id(result)] = new
    return sent


def _repeated_in_turn(messages: Iterable[Message]) -> set[int]:
    """Return the identities of calls that repeat the id of an earlier call of the same turn."""
    repeated: set[int] = set()
    ids_in_turn: set[str] = set()
    for message in messages:
        if message.role != "assistant":
            ids_in_turn = set()
        for part in message.parts:
            if isinstance(part, Call):
                if part.id in ids_in_turn:
                    repeated.add(id(part))
                ids_in_turn.add(part.id)
    return repeated


def minted_ids_needed(messages: tuple[Message, ...], *, ordered: bool) -> bool:
    """Return True if pairing by name and order alone would pair calls and results differently.

    Then minted ids have to be sent even to a wire on which ids are optional. Consecutive results
    are taken in the order of their calls, as an ordered wire writes them.
    """
    pairs_with_ids = {
        (id(p.call), id(p.result)) for p in pairs(messages, ordered=ordered) if p.call and p.result
    }
    names: dict[str, str] = {}
    call_order: dict[str, int] = {}
    source_result: dict[int, int] = {}
    """Identity of a result without its id → identity of the result in `messages`."""
    stripped: list[Message] = []
    run: list[Result] = []
    """Consecutive results that are not in `stripped` yet."""

    def flush_run() -> None:
        if run:
            run.sort(key=lambda result: call_order.get(result.call_id, len(call_order)))
            stripped.append(Message("tool", tuple(run)))
            run.clear()

    previous_role = ""
    for message in messages:
        if message.role == "assistant":
            flush_run()
            call_order = call_order if previous_role == "assistant" else {}
        previous_role = message.role
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Call):
                names[part.id] = part.name
                call_order[part.id] = len(call_order)
            if not isinstance(part, Result):
                parts.append(part)
                continue
            result = part
            if is_minted(part.call_id):
                result = replace(part, origin="minted", name=part.name or names.get(part.call_id))
            source_result[id(result)] = id(part)
            (parts if message.role == "assistant" else run).append(result)
        if parts or message.role == "assistant":
            flush_run()
            stripped.append(replace(message, parts=tuple(parts)))
    flush_run()
    pairs_without_ids = {
        (id(p.call), source_result[id(p.result)])
        for p in pairs(stripped, ordered=True)
        if p.call and p.result
    }
    return pairs_with_ids != pairs_without_ids


def fit_names(names: Iterable[str], rule: IdRule, restore: Mapping[str, str]) -> dict[str, str]:
    """Return the names that must change, each with the name to send; no two become the same.

    `restore` holds names of an earlier encoding and the names that they stood for.
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
        """Start a stream.

        Args:
            ids: The rule of the target for ids.
            names: The rule of the target for tool names.
            unique: True if an id may occur only once in the whole request.
            reverse_map: The map of an earlier encoding, whose ids and names are restored.
            source_rules: The rules of the source for ids and names. What breaks them is recorded,
                because a translation back must not fit it to them.
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
            new = self._latest.get(old) or _fit(old, self._id_rule, self._taken)
        self._count += 1
        self._ids_in_turn.add(old)
        self._taken.add(new)
        self._latest[old] = new
        if new != old or not (is_minted(old) or self._source_rules[0].fits(old)):
            self.sent[new] = old
        name = self.name(call.name)
        return call if new == old and name == call.name else replace(call, id=new, name=name)

    def start_turn(self) -> None:
        """Start the next turn, which may use the ids of an earlier one."""
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
        """Return the name to send for a tool."""
        if name not in self._renames:
            known = (*self._renames, name)
            new = fit_names(known, self._name_rule, self._reverse_map.names).get(name, name)
            self._renames[name] = new
            if new != name or not self._source_rules[1].fits(name):
                self.names[new] = name
        return self._renames[name]
