"""Check a history by the rules of the provider it goes to, and repair it.

A rule is a module in `rules/`: its page, its check and its fix. Nothing is registered anywhere: the
folder is the list. Fixes are made in a declared order until nothing is left that may be mended;
what was invented is marked, and every change is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolwire.codec import decode, resolve
from toolwire.conversation.ids import IdMap
from toolwire.conversation.json import JSON, Body, dump
from toolwire.conversation.model import Change, Conversation, Kind
from toolwire.errors import LocalError
from toolwire.lint.facts import Facts
from toolwire.lint.rename_tracker import RenameTracker
from toolwire.lint.rule import Finding, Rule
from toolwire.lint.stream_facts import StreamFacts, stream_facts
from toolwire.profiles.table import Profile

Input: TypeAlias = "Body | Iterable[object]"
"""A body, or a recorded stream."""
MOST = 400
"""So many fixes are made at most before repair gives up; a history needs about as many as it has
kinds of faults."""


@cache
def every() -> tuple[Rule, ...]:
    """All rules, by their codes."""
    folder = Path(__file__).parent / "rules"
    found = [
        import_module(f"{__name__}.rules.{path.stem}").RULE
        for path in sorted(folder.glob("[a-z]*.py"))
    ]
    return tuple(sorted(found, key=lambda rule: (rule.code, rule.name)))


@cache
def _in_order() -> tuple[Rule, ...]:
    return tuple(
        sorted(
            (rule for rule in every() if rule.mend is not None),
            key=lambda rule: (rule.order, rule.code, rule.name),
        )
    )


def rule(name: str) -> Rule:
    """The rule of a name or a code."""
    for one in every():
        if name in (one.name, one.code):
            return one
    raise LocalError("", (), f"no such rule: {name}")


class Repaired(Struct, frozen=True, eq=False):
    """A mended body, what was done to it, and what is left; `ids` leads an answer to it home to the
    ids and names before."""

    body: JSON
    changes: list[Change]
    findings: list[Finding]
    raw: bytes | None = None
    ids: IdMap = field(default_factory=IdMap)

    def json(self) -> bytes:
        """The body as JSON; the very bytes that came in if nothing had to change."""
        return self.raw if self.raw is not None else dump(self.body)


def check(
    body: Input, wire: str, kind: Kind = "request", *, target: str | None = None
) -> list[Finding]:
    """What is wrong in a history by the rules of the wire or profile it goes to.

    With `kind="stream"` it is a recorded stream, as bytes, text or events: the pointers of what is
    found about the stream itself lead into the list of its events, those of everything else into
    the body that it folds to. None of it has a fix. Raises RemoteError if the body is not JSON, or
    not of this wire.
    """
    if kind == "stream":
        return _told(stream_facts(body, wire, _rules(wire, target)))
    return found(_view(decode(body, wire, kind), wire, target))  # type: ignore[arg-type]


def repair(
    body: Input,
    wire: str,
    kind: Kind = "request",
    *,
    unsafe: bool = False,
    target: str | None = None,
) -> Repaired:
    """A history mended for the wire or profile it goes to: safe fixes, and unsafe ones if asked
    for.

    A clean history comes back as it is, and so does a recorded stream, as its events: what was sent
    was sent. Fold it, and repair the body. Raises RemoteError if the body is not JSON, or not of
    this wire.
    """
    if kind == "stream":
        stream = stream_facts(body, wire, _rules(wire, target))
        return Repaired(list(stream.events), [], _told(stream))
    conversation = decode(body, wire, kind)  # type: ignore[arg-type]  # what is no body is refused there
    facts = _view(conversation, wire, target)
    findings = found(facts)
    if not any(finding.fix is not None for finding in findings):
        return Repaired(conversation.source.body, [], findings, conversation.source.raw)
    changes: list[Change] = []
    trail = RenameTracker(conversation)
    for _ in range(MOST):
        names = {
            finding.name
            for finding in findings
            if finding.fix == "safe" or (unsafe and finding.fix)
        }
        mended = _mended(facts, names, unsafe)
        if mended is None:
            break
        rule_of, new, told = mended
        changes += [Change(rule_of.code, rule_of.name, path, message) for path, message in told]
        facts = _view(decode(new, wire, kind), wire, target)
        trail.follow(facts.conversation)
        findings = found(facts)
    return Repaired(
        facts.body,
        changes,
        findings,
        conversation.source.raw if not changes else None,
        trail.home(),
    )


def _mended(
    facts: Facts, names: set[str], unsafe: bool
) -> tuple[Rule, JSON, tuple[tuple[tuple[str | int, ...], str], ...]] | None:
    for one in _in_order():
        if one.name in names and one.mend is not None:
            fixed = one.mend(facts, unsafe)
            if fixed is not None and fixed.body != facts.body:
                return one, fixed.body, fixed.changes
    return None


def found(facts: Facts) -> list[Finding]:
    """What the rules find, in the order of their codes."""
    return [
        Finding(one.code, one.name, one.weighs(facts.profile), path, message, fix)
        for one in every()
        for path, message, fix in one.check(facts)
    ]


def _told(stream: StreamFacts) -> list[Finding]:
    """What is found in a stream: a recording is not mended."""
    return [replace(finding, fix=None) for finding in found(stream)]


def _view(conversation: Conversation, wire: str, target: str | None) -> Facts:
    return Facts(conversation, _rules(wire, target))


def _rules(wire: str, target: str | None) -> Profile:
    """The rules of the target, which speaks the wire of the body."""
    spoken, own = resolve(wire)
    if target is None:
        return own
    wanted, rules = resolve(target)
    if wanted.name != spoken.name:
        raise LocalError(
            target,
            (),
            f"a body of {spoken.name} is checked by the rules of that wire; translate it first",
        )
    return rules
