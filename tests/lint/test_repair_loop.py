"""The loop of a repair: when a fix is applied, taken back or given up, and which ids it replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from toolwire import Call, Conversation, Message, translate
from toolwire.codec import resolve
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, get
from toolwire.conversation.model import Fix
from toolwire.lint import Repaired, repair, repair_loop
from toolwire.lint.facts import Facts
from toolwire.lint.repair_loop import RenameLog
from toolwire.lint.rule import FixedBody, Problem, Rule

LIMIT = 100
"""Fixes after which a test gives up: the loop would not end."""


def text_body(text: str) -> JSON:
    return {"messages": [{"role": "user", "content": text}]}


def text_of(body: JSON) -> JSON:
    found = get(body, ("messages", 0, "content"))
    assert isinstance(found, str)
    return found


def text_rule(name: str, refused: str, wanted: str, *, fix: Fix = "safe") -> Rule:
    """A rule that refuses a text, and whose fix replaces it by another text."""
    fixes = 0

    def check(facts: Facts) -> Iterable[Problem]:
        if text_of(facts.body) == refused:
            yield (), f"{refused} is refused", fix

    def replace_text(facts: Facts, unsafe: bool) -> FixedBody:
        nonlocal fixes
        fixes += 1
        assert fixes < LIMIT, "the repair does not end"
        return FixedBody(text_body(wanted), (((), f"{refused} became {wanted}"),))

    return Rule("TW999", name, title=name, cost="lossy", check=check, fix=replace_text)


@pytest.fixture
def repair_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Repaired]:
    """A function that repairs a text with some rules and no others."""

    def run(text: str, *rules: Rule, unsafe: bool = False) -> Repaired:
        monkeypatch.setattr(repair_loop, "rules_to_check", lambda facts: list(rules))
        return repair(text_body(text), "openai-chat", unsafe=unsafe)

    return run


def test_a_fix_that_helps_is_applied_once(repair_with: Callable[..., Repaired]) -> None:
    done = repair_with("bad", text_rule("no-bad", "bad", "good"))
    assert (text_of(done.body), done.findings) == ("good", [])
    assert [change.message for change in done.changes] == ["bad became good"]


def test_a_fix_that_does_not_help_is_taken_back(repair_with: Callable[..., Repaired]) -> None:
    rule = replace(text_rule("never", "bad", "worse"), check=lambda facts: [((), "always", "safe")])
    done = repair_with("bad", rule)
    assert (text_of(done.body), done.changes) == ("bad", [])
    assert [(finding.name, finding.fix) for finding in done.findings] == [("never", None)]


def test_an_unsafe_fix_waits_for_permission(repair_with: Callable[..., Repaired]) -> None:
    rule = text_rule("no-bad", "bad", "good", fix="unsafe")
    refused = repair_with("bad", rule)
    assert (text_of(refused.body), refused.changes) == ("bad", [])
    assert [finding.fix for finding in refused.findings] == ["unsafe"]
    assert text_of(repair_with("bad", rule, unsafe=True).body) == "good"


def test_rules_that_undo_each_other_are_given_up(repair_with: Callable[..., Repaired]) -> None:
    done = repair_with("left", text_rule("a", "left", "right"), text_rule("b", "right", "left"))
    assert len(done.findings) == 1
    assert [finding.fix for finding in done.findings] == [None]


# --- translations ---------------------------------------------------------------------------------


def test_what_no_fix_solves_is_a_finding_of_a_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(facts: Facts) -> Iterable[Problem]:
        yield (), "always", None

    rule = Rule("TW999", "no-fix", title="a rule without a fix", cost="refuse", check=check)
    monkeypatch.setattr(repair_loop, "rules_for_translation", lambda profile, flags: [rule])
    monkeypatch.setattr(repair_loop, "rules_to_check", lambda facts: [rule])
    encoded = translate(text_body("hi"), "openai-chat", "anthropic")
    assert [finding.name for finding in encoded.findings] == ["no-fix"]


def test_a_translation_with_an_id_map_repairs_nothing_by_default() -> None:
    orphan: JSON = {"role": "tool", "tool_call_id": "a", "content": "r"}
    body: JSON = {"messages": [{"role": "user", "content": "hi"}, orphan]}
    assert translate(body, "openai-chat", "anthropic").changes
    assert not translate(body, "openai-chat", "anthropic", ids=IdMap()).changes
    assert translate(body, "openai-chat", "anthropic", ids=IdMap(), repair=True).changes


# --- renames --------------------------------------------------------------------------------------


def calls(*call_ids: str) -> Facts:
    """A conversation of calls, each with arguments of its own."""
    made = tuple(Call(call_id, "f", {"n": n}) for n, call_id in enumerate(call_ids))
    return Facts(Conversation((Message("assistant", made),)), resolve("anthropic")[1])


def test_a_rename_is_followed_over_every_fix() -> None:
    log = RenameLog(calls("a", "b"))
    log.record(calls("a", "c"))
    log.record(calls("a", "d"))
    assert log.id_map().ids == {"d": "b"}


def test_a_call_that_shares_its_id_is_not_taken_for_the_call_before_it() -> None:
    log = RenameLog(calls("a", "b", "c"))
    log.record(calls("a", "a", "c"))
    log.record(calls("a", "a"))
    assert log.id_map().ids == {"a": "b"}


def test_a_rule_is_checked_once_for_each_state_of_a_history(
    repair_with: Callable[..., Repaired],
) -> None:
    """A fix makes a new state; what has been checked in that state is not checked again."""
    seen: list[tuple[str, JSON]] = []

    def count(rule: Rule) -> Rule:
        def check(facts: Facts) -> Iterable[Problem]:
            seen.append((rule.name, text_of(facts.body)))
            return rule.check(facts)

        return replace(rule, check=check)

    rules = [
        text_rule("kept", "x", "y"),
        text_rule("broken", "a", "b"),
        text_rule("left", "b", "c", fix="unsafe"),
        text_rule("also-kept", "x", "y"),
    ]
    repaired = repair_with("a", *map(count, rules))
    assert [finding.name for finding in repaired.findings] == ["left"]
    first = [entry for entry in seen if entry[1] == "a"]
    after = [entry for entry in seen if entry[1] == "b"]
    assert first == [("kept", "a"), ("broken", "a"), ("broken", "a")]  # the repair starts with it
    assert sorted(after) == [("also-kept", "b"), ("broken", "b"), ("kept", "b"), ("left", "b")]
