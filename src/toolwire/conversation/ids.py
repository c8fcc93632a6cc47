"""Ids and names: made where a wire has none, fitted where a wire is stricter, and always mapped
back.

No clock, no randomness, no state: the same history gives the same ids in every process. A valid id
is left as it is, and nothing but the id is ever stored in an id. Knows rules (a pattern, a length),
not wires.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Call, Message, Part, Result

MINTED = "tw-"
"""Every id made here begins so."""

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class IdRule(Struct, frozen=True):
    """What a wire accepts as an id or a name: characters (a regular expression class), and how
    many."""

    chars: str = ""
    longest: int = 0
    exact: bool = False
    first: str = ""

    def fits(self, text: str) -> bool:
        """Whether the text can be sent as it is."""
        return matcher(self)(text) is not None


@lru_cache(maxsize=256)
def _pattern(rule: IdRule) -> re.Pattern[str]:
    chars = f"[{rule.chars}]" if rule.chars else r"[\s\S]"
    low = rule.longest if rule.exact else 1
    count = f"{{{low},{rule.longest or ''}}}"
    return re.compile(f"(?={rule.first}){chars}{count}" if rule.first else f"{chars}{count}")


@lru_cache(maxsize=256)
def _list_pattern(rule: IdRule) -> re.Pattern[str]:
    one = _pattern(rule).pattern.replace(r"[\s\S]", r"[^\n]")
    return re.compile(f"(?:{one}\n)*")


NAMESPACE_SEPARATOR = "::"
"""Between the names of a tool that has one inside another. A dot would be mistaken for part of a
name, and is in many."""
_FEW = 5
"""So many texts are asked one by one sooner than all at once."""
_MATCHERS: dict[int, tuple[IdRule, Callable[[str], re.Match[str] | None]]] = {}
"""By the identity of a rule, which is kept: there are only as many as there are profiles, and
finding one must cost nothing."""


def matcher(rule: IdRule) -> Callable[[str], re.Match[str] | None]:
    """What says whether a text fits a rule."""
    known = _MATCHERS.get(id(rule))
    if known is None:
        if len(_MATCHERS) > 1000:
            _MATCHERS.clear()
        known = _MATCHERS[id(rule)] = (rule, _pattern(rule).fullmatch)
    return known[1]


def _all_fit(texts: Collection[str], rule: IdRule) -> bool:
    """Whether every text fits, asked once for all of them: the common case, and a cheap one."""
    if not texts:
        return True
    if len(texts) < _FEW:
        return all(map(matcher(rule), texts))
    if not rule.chars and not rule.first:
        return all(texts) and (not rule.longest or max(map(len, texts)) <= rule.longest)
    joined = "\n".join((*texts, ""))
    return joined.count("\n") == len(texts) and _list_pattern(rule).fullmatch(joined) is not None


class IdMap(Struct, frozen=True):
    """What an encoding changed, in the direction home: id sent → id before, name sent → name
    before.

    `forms` says in a few words what the wire could not: under the id of a call, of what family it
    was and that its arguments went as text; under `=` and that id, that its result was an error or
    JSON. Given back as `ids=`, the way home restores them. It is plain data: `to_dict` and `of`
    take it through JSON.
    """

    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    forms: dict[str, str] = {}

    def to_dict(self) -> dict[str, dict[str, str]]:
        """The map as plain dicts."""
        return {"ids": dict(self.ids), "names": dict(self.names), "forms": dict(self.forms)}

    def after_repair(self, repaired: IdMap) -> IdMap:
        """The map back from a body that was repaired after this encoding."""
        if not repaired.ids and not repaired.names:
            return self
        ids = self.ids | {new: self.ids.get(old, old) for new, old in repaired.ids.items()}
        names = self.names | {new: self.names.get(old, old) for new, old in repaired.names.items()}
        forms = dict(self.forms)
        for new, old in repaired.ids.items():
            for mark in ("", "="):
                if f"{mark}{old}" in self.forms:
                    forms[f"{mark}{new}"] = self.forms[f"{mark}{old}"]
        return IdMap(ids, names, forms)

    def after(self, earlier: IdMap) -> IdMap:
        """The map back through this one and then through an earlier one."""
        if not earlier.ids and not earlier.names:
            return self
        ids = {sent: earlier.ids.get(before, before) for sent, before in self.ids.items()}
        names = {sent: earlier.names.get(before, before) for sent, before in self.names.items()}
        return IdMap({**earlier.ids, **ids}, {**earlier.names, **names}, self.forms)

    @staticmethod
    def of(value: IdMap | Mapping[str, Mapping[str, str]] | None) -> IdMap:
        """The map itself, one read back from plain dicts, or an empty one."""
        if value is None:
            return IdMap()
        if isinstance(value, IdMap):
            return value
        given = value
        return IdMap(*(dict(given.get(key, {})) for key in ("ids", "names", "forms")))


NO_MAP = IdMap()
"""Never given to anybody outside: whoever has a map may change it."""


def digest(*words: str | int) -> str:
    """Sixteen hexadecimal digits that depend on every word."""
    return blake2b(
        "\x1f".join(map(str, words)).encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()


def mint(seed: str, ordinal: int, name: str) -> str:
    """The id of the n-th call of a body whose wire has none. `seed` tells one response from the
    next."""
    return MINTED + digest(seed, ordinal, name)


def is_minted(text: str) -> bool:
    """Whether an id was made here, perhaps in another process, and came back over a wire that has
    ids."""
    return text.startswith(MINTED) and len(text) == len(MINTED) + 16


def assign_ids(messages: tuple[Message, ...], *, seed: str, ordered: bool) -> tuple[Message, ...]:
    """The messages with an id for every call and result that came without: results get that of
    their call."""
    named: list[str] = []
    answered: list[str] = []
    items = False
    for message in messages:
        for part in message.parts:
            if part.__class__ is Call:
                named.append(part.id)
                items = items or part.item is not None
            elif part.__class__ is Result:
                answered.append(part.call_id)
    if (
        "" in named
        or "" in answered
        or ((ordered or items) and not set(named).issuperset(answered))
    ):
        return _settle(messages, seed, ordered)
    return messages


def _settle(messages: tuple[Message, ...], seed: str, ordered: bool) -> tuple[Message, ...]:
    made: dict[int, Part] = {}
    taken = {part.id for message in messages for part in message.parts if isinstance(part, Call)}
    ordinal = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, Call):
                if not part.id:
                    new = first_free(
                        lambda salt, n=ordinal, p=part: mint(f"{seed}{salt}", n, p.name),  # type: ignore[misc]
                        taken,
                    )
                    taken.add(new)
                    made[id(part)] = replace(part, id=new, origin="minted")
                ordinal += 1
    messages = _swap(messages, made)
    answers: dict[int, Part] = {}
    for n, pair in enumerate(pairs(messages, ordered=ordered)):
        result = pair.result
        if result is None:
            continue
        if pair.call is None:
            if result.origin == "minted":
                answers[id(result)] = replace(
                    result, call_id=mint(f"{seed} result", n, result.name or "")
                )
        elif (
            result.call_id != pair.call.id
        ):  # one that was joined by name or order has no id of its own from here on
            answers[id(result)] = replace(
                result, call_id=pair.call.id, origin=result.origin if pair.how == "id" else "minted"
            )
    return _swap(messages, answers)


def _swap(messages: tuple[Message, ...], made: Mapping[int, Part]) -> tuple[Message, ...]:
    if not made:
        return messages
    return tuple(
        replace(m, parts=tuple(made.get(id(p), p) for p in m.parts))
        if any(id(p) in made for p in m.parts)
        else m
        for m in messages
    )


def fit(text: str, rule: IdRule, taken: Iterable[str] = ()) -> str:
    """The id as the rule allows it: itself if it may be, else a readable beginning and a hash of
    all of it.

    Never one of `taken`: a second try is salted.
    """
    return _fitted(text, rule, set(taken))


def _fitted(text: str, rule: IdRule, taken: set[str]) -> str:
    if rule.fits(text):
        return text
    return first_free(lambda salt: _shortened(text, rule, salt), taken)


def first_free(make: Callable[[str], str], taken: set[str]) -> str:
    """The first of the salted tries that nobody has: the one without salt, nearly always."""
    salt = 0
    while (made := make(f"#{salt}" if salt else "")) in taken:
        salt += 1
    return made


def _shortened(text: str, rule: IdRule, salt: str) -> str:
    number = int(digest(text, salt), 16)
    tail = ""
    while number and len(tail) < (rule.longest if rule.exact else 8):
        number, rest = divmod(number, 62)
        tail += _BASE62[rest]
    if rule.exact:
        return tail.rjust(rule.longest, "0")
    joint = "_" if IdRule(rule.chars).fits("_") else ""
    room = (rule.longest or 64) - len(tail) - len(joint)
    head = re.sub(f"[^{rule.chars or '!-~'}]", "_" if joint else "", text)[:room]
    made = f"{head}{joint}{tail}"
    return made if rule.fits(made) else f"t{made[1:]}"


def fit_calls(
    calls: list[Call],
    results: list[Result],
    joined: Callable[[], dict[int, Call]],
    rule: IdRule,
    *,
    unique: bool,
    home: Mapping[str, str],
    messages: Iterable[Message] = (),
) -> dict[int, str] | None:
    """The id to send for each call and result, by identity of the part; None when all go as they
    are.

    `joined` says which call a result belongs to; it is asked only if something has to change.
    `home` holds ids that are known from an earlier encoding and go back to what they were. Two
    calls of one turn in `messages` never share an id.
    """
    if not calls and not results:
        return None
    used = [call.id for call in calls]
    ids = {*used, *[result.call_id for result in results]}
    bad = set() if _all_fit(ids, rule) else {text for text in ids if not rule.fits(text)}
    repeated = len(set(used)) < len(used)
    twice = _twice(messages) if repeated and not unique else set()
    if (
        not bad
        and not (home and not home.keys().isdisjoint(ids))
        and not (repeated and (unique or twice))
    ):
        return None
    owner = joined()
    taken = ids - bad
    given: dict[int, str] = {}
    latest: dict[str, str] = {}
    for n, call in enumerate(calls):
        if call.id in home:
            new = home[call.id]
        elif call.id in latest and (unique or id(call) in twice):
            new = first_free(lambda salt, t=call.id, n=n: _shortened(f"{t} {n}", rule, salt), taken)  # type: ignore[misc]
        else:
            new = latest.get(call.id) or _fitted(call.id, rule, taken)
        latest[call.id] = new
        taken.add(new)
        given[id(call)] = new
    for result in results:
        call_of = owner.get(id(result))
        if call_of is not None:
            given[id(result)] = given.get(id(call_of), call_of.id)
            continue
        # A result too many goes where its id points to now: to the newest call that has it.
        alone = (
            home.get(result.call_id)
            or latest.get(result.call_id)
            or _fitted(result.call_id, rule, taken)
        )
        latest[result.call_id] = alone
        taken.add(alone)
        given[id(result)] = alone
    return given


def _twice(messages: Iterable[Message]) -> set[int]:
    """The calls whose id another one of the same turn had before them, by their identity."""
    found: set[int] = set()
    seen: set[str] = set()
    for message in messages:
        if message.role != "assistant":
            seen = set()
        for part in message.parts:
            if isinstance(part, Call):
                if part.id in seen:
                    found.add(id(part))
                seen.add(part.id)
    return found


def minted_ids_needed(messages: tuple[Message, ...], *, ordered: bool) -> bool:
    """Whether minted ids have to be sent: without them, somebody who goes by name and order would
    pair otherwise.

    Results are taken as an ordered wire writes them: those that follow one another in the order of
    their calls.
    """
    before = {
        (id(p.call), id(p.result)) for p in pairs(messages, ordered=ordered) if p.call and p.result
    }
    called: dict[str, str] = {}
    asked: dict[str, int] = {}
    same: dict[int, int] = {}
    seen: list[Message] = []
    run: list[Result] = []

    def close() -> None:
        if run:
            run.sort(key=lambda result: asked.get(result.call_id, len(asked)))
            seen.append(Message("tool", tuple(run)))
            run.clear()

    role = ""
    for message in messages:
        if message.role == "assistant":
            close()
            asked = asked if role == "assistant" else {}
        role = message.role
        kept: list[Part] = []
        for part in message.parts:
            if isinstance(part, Call):
                called[part.id] = part.name
                asked[part.id] = len(asked)
            if not isinstance(part, Result):
                kept.append(part)
                continue
            shown = part
            if is_minted(part.call_id):
                shown = replace(part, origin="minted", name=part.name or called.get(part.call_id))
            same[id(shown)] = id(part)
            (kept if message.role == "assistant" else run).append(shown)
        if kept or message.role == "assistant":
            close()
            seen.append(replace(message, parts=tuple(kept)))
    close()
    after = {
        (id(p.call), same[id(p.result)]) for p in pairs(seen, ordered=True) if p.call and p.result
    }
    return before != after


def invalid_ids(texts: Collection[str], rule: IdRule) -> list[str]:
    """Those that break a rule of the wire they came from: on the way home they must not be fitted
    to it."""
    return [] if _all_fit(texts, rule) else [text for text in texts if not rule.fits(text)]


def fit_names(names: Iterable[str], rule: IdRule, home: Mapping[str, str]) -> dict[str, str]:
    """The names that must change for a wire, each with what it is sent as; injective over all names
    of the conversation."""
    every = set(names)
    if not home and _all_fit(every, rule):
        return {}
    taken = {home.get(name, name) for name in every if name in home or rule.fits(name)}
    sent: dict[str, str] = {}
    for name in sorted(every):
        new = home[name] if name in home else _fitted(name, rule, taken)
        taken.add(new)
        if new != name:
            sent[name] = new
    return sent


class IdFitter:
    """Ids and names fitted one by one as they come, as `fit_calls` and `fit_names` do for a whole
    conversation."""

    __slots__ = (
        "_count",
        "_home",
        "_ids",
        "_latest",
        "_names",
        "_odd",
        "_rename",
        "_seen",
        "_taken",
        "_unique",
        "names",
        "sent",
    )

    def __init__(
        self, ids: IdRule, names: IdRule, *, unique: bool, home: IdMap, came: tuple[IdRule, IdRule]
    ) -> None:
        """`came` are the rules of the wire they come from: what breaks those must not be fitted to
        them on the way home."""
        self._ids, self._names, self._unique, self._home, self._odd = ids, names, unique, home, came
        self._count = 0
        self._taken: set[str] = set()
        self._latest: dict[str, str] = {}
        self._seen: set[str] = set()
        self._rename: dict[str, str] = {}
        self.sent: dict[str, str] = {}
        """Id sent → id before."""
        self.names: dict[str, str] = {}
        """Name sent → name before."""

    def call(self, call: Call) -> Call:
        """A call under the id and the name it is sent with."""
        before = call.id
        if before in self._home.ids:
            new = self._home.ids[before]
        elif before in (self._latest if self._unique else self._seen):
            again = f"{before} {self._count}"
            new = first_free(lambda salt: _shortened(again, self._ids, salt), self._taken)
        else:
            new = self._latest.get(before) or _fitted(before, self._ids, self._taken)
        self._count += 1
        self._seen.add(before)
        self._taken.add(new)
        self._latest[before] = new
        if new != before or not (is_minted(before) or self._odd[0].fits(before)):
            self.sent[new] = before
        name = self.name(call.name)
        return call if new == before and name == call.name else replace(call, id=new, name=name)

    def turn(self) -> None:
        """The next turn begins: its ids may be those of an earlier one."""
        self._seen.clear()

    def result(self, result: Result) -> Result:
        """A result under the id of its call."""
        new = self._latest.get(result.call_id) or self._home.ids.get(result.call_id, result.call_id)
        name = self.name(result.name) if result.name else result.name
        return (
            result
            if new == result.call_id and name == result.name
            else replace(result, call_id=new, name=name)
        )

    def name(self, name: str) -> str:
        """A name as it is sent."""
        if name not in self._rename:
            new = fit_names((*self._rename, name), self._names, self._home.names).get(name, name)
            self._rename[name] = new
            if new != name or not self._odd[1].fits(name):
                self.names[new] = name
        return self._rename[name]
