"""Every rule by its own examples: bad examples are found and repaired, good ones stay unchanged.

A new rule is a file in the folder of rules and needs no line here.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from msgspec import UNSET
from rows import rows

from toolwire import lint
from toolwire.codec import decode
from toolwire.conversation.json import JSON, dump, get, replace_lone_surrogates
from toolwire.conversation.model import Finding
from toolwire.conversation.parts import Reasoning, Result, Text
from toolwire.lint import Repaired, all_rules, check, repair
from toolwire.lint.rule import Example, Rule
from toolwire.profiles.table import profile

DOCS = Path(__file__).parents[2] / "docs"

FOLDER = Path(lint.__file__).parent / "rules"

CLASSES: dict[int, tuple[str, ...]] = {
    1: ("id-missing",),
    2: ("id-empty",),
    3: ("id-not-string",),
    4: ("id-too-long",),
    5: ("id-wrong-length",),
    6: ("id-bad-charset",),
    7: ("id-composite",),
    8: ("id-carries-payload",),
    9: ("id-concatenated",),
    10: ("id-is-tool-name",),
    11: ("id-is-result-content",),
    12: ("id-foreign",),
    13: ("native-id-mangled",),
    14: ("id-field-unsupported",),
    15: ("id-rewrite-collision",),
    16: ("id-dup-in-turn",),
    17: ("id-dup-call",),
    18: ("id-reused-across-turns",),
    19: ("dup-result",),
    20: ("orphan-result",),
    21: ("missing-result",),
    22: ("pending-tail",),
    23: ("partial-batch",),
    24: ("history-starts-with-result",),
    25: ("history-starts-with-call",),
    26: ("result-before-call",),
    27: ("result-separated",),
    28: ("results-split",),
    29: ("calls-split",),
    30: ("result-not-first",),
    31: ("result-with-extra",),
    32: ("results-out-of-order",),
    33: ("ambiguous-same-name",),
    34: ("result-name-mismatch",),
    35: ("count-mismatch",),
    36: ("server-tool-unpaired",),
    37: ("server-tool-as-client",),
    38: ("call-dropped-keep-result",),
    39: ("user-after-tool",),
    40: ("trailing-assistant",),
    41: ("item-id-as-call-id",),
    42: ("item-id-prefix",),
    43: ("item-id-stale",),
    44: ("duplicate-item",),
    45: ("wrong-vocabulary",),
    46: ("output-not-string",),
    47: ("reasoning-missing",),
    48: ("reasoning-dangling",),
    49: ("thinking-missing",),
    50: ("signature-missing",),
    51: ("signature-foreign",),
    52: ("reasoning-content-missing",),
    53: ("args-invalid-json",),
    54: ("args-empty-string",),
    55: ("args-double-encoded",),
    56: ("args-wrong-type",),
    57: ("args-merged",),
    58: ("name-empty", "name-missing"),
    59: ("name-bad-charset", "name-too-long"),
    60: ("name-collision",),
    61: ("name-unknown", "tools-undefined"),
    62: ("empty-tool-calls",),
    63: ("content-shape",),
    64: ("legacy-function-call",),
    65: ("text-tool-call",),
    66: ("duplicate-identical-calls",),
    67: ("stream-id-late", "stream-id-null"),
    68: ("stream-index-dup", "stream-index-missing"),
    69: ("stream-aborted-call",),
    70: ("stream-multi-call-chunk",),
    71: ("wrong-role",),
    72: ("signature-of-other-model",),
    73: ("schema-refused",),
    74: ("media-in-result",),
    75: ("late-system-message",),
    76: ("same-role-twice",),
    77: ("lone-surrogate",),
    78: ("field-refused",),
    79: ("item-shape",),
    80: ("wrong-json-type",),
    81: ("too-many-cache-breakpoints",),
}
"""Every known way in which the identity of a tool call breaks: the number in the code, and the
rules that have it."""

INFO = {
    "schema-refused",
    "id-foreign",
    "pending-tail",
    "text-tool-call",
    "duplicate-identical-calls",
    "stream-id-late",
    "stream-id-null",
    "stream-index-dup",
    "stream-index-missing",
    "stream-multi-call-chunk",
}
"""What is worth knowing and no fault: a target takes it, or, of a stream, it has been sent, and
careful readers cope."""

BAD = [(rule, example) for rule in all_rules() for example in rule.bad]
GOOD = [(rule, example) for rule in all_rules() for example in rule.good]
BODIES = [(rule, example) for rule, example in (*BAD, *GOOD) if example.kind != "stream"]
"""The examples that can be repaired: a stream is over when it is looked at."""

RULES = rows("rule", all_rules(), ids=lambda rule: rule.name)


def example_rows(found: list[tuple[Rule, Example]]) -> pytest.MarkDecorator:
    return rows(
        "rule, example",
        found,
        ids=lambda rule, example: f"{rule.name}-{[*rule.bad, *rule.good].index(example)}",
    )


def page(rule: Rule) -> str:
    """The text of a rule's page."""
    return import_module(f"toolwire.lint.rules.{rule.name.replace('-', '_')}").__doc__ or ""


def findings(rule: Rule, example: Example) -> list[Finding]:
    """What a rule finds in an example."""
    return [
        finding
        for finding in check(example.body, example.wire, example.kind, target=example.target)
        if finding.name == rule.name
    ]


def repair_example(example: Example, *, unsafe: bool = True) -> Repaired:
    """An example after repair."""
    return repair(example.body, example.wire, example.kind, unsafe=unsafe, target=example.target)


# --- the rules themselves -------------------------------------------------------------------------


def test_every_listed_rule_exists_and_every_rule_is_listed() -> None:
    known = {(f"TW{number:03d}", name) for number, names in CLASSES.items() for name in names}
    assert sorted(known ^ {(rule.code, rule.name) for rule in all_rules()}) == []


def test_rule_names_are_unique() -> None:
    assert [
        name for name, times in Counter(rule.name for rule in all_rules()).items() if times > 1
    ] == []


def test_only_rules_without_a_refusal_have_severity_info() -> None:
    names = {rule.name for rule in all_rules()}
    assert {rule.name for rule in all_rules() if rule.severity == "info"} == INFO & names


@RULES
def test_a_rule_is_in_the_file_of_its_name(rule: Rule) -> None:
    path = FOLDER / f"{rule.name.replace('-', '_')}.py"
    assert path.exists()
    assert import_module(f"toolwire.lint.rules.{path.stem}").RULE is rule


@RULES
def test_a_rule_has_a_title_and_a_page_of_three_sentences_at_least(rule: Rule) -> None:
    assert rule.title and not rule.title.endswith(".")
    assert len(re.findall(r"[^.!?:;]{8,}[.!?](?=\s|$)", page(rule))) >= 3


@RULES
def test_a_rule_has_examples_of_both_kinds(rule: Rule) -> None:
    assert rule.bad
    assert rule.good


@RULES
def test_a_rule_can_be_found_by_its_name_and_by_its_code(rule: Rule) -> None:
    assert lint.rule(rule.name) is rule
    assert lint.rule(rule.code).code == rule.code


# --- what is bad ----------------------------------------------------------------------------------


@example_rows(BAD)
def test_a_bad_example_has_the_finding_with_path_and_message(rule: Rule, example: Example) -> None:
    found = findings(rule, example)
    assert found
    for finding in found:
        assert (finding.code, finding.severity) == (
            rule.code,
            rule.severity_for(profile(example.target)),
        )
        assert get(example.body, finding.path) is not UNSET, f"{finding.pointer} is not in the body"
        assert len(finding.message) >= 10
        assert finding.fix is None or rule.fix is not None


@example_rows([(rule, example) for rule, example in BAD if example.kind != "stream"])
def test_repair_removes_the_finding_of_a_bad_example_or_has_no_fix_for_it(
    rule: Rule, example: Example
) -> None:
    before = findings(rule, example)
    left = [finding for finding in repair_example(example).findings if finding.name == rule.name]
    assert [str(finding) for finding in left if finding.fix is not None] == []
    assert left == [] or any(finding.fix is None for finding in before)


@example_rows([(rule, example) for rule, example in BAD if example.kind != "stream"])
def test_a_repair_leaves_no_fixable_finding(rule: Rule, example: Example) -> None:
    assert [
        str(finding) for finding in repair_example(example).findings if finding.fix is not None
    ] == []
    assert [
        str(finding)
        for finding in repair_example(example, unsafe=False).findings
        if finding.fix == "safe"
    ] == []


def readable_texts(body: JSON, wire: str) -> list[str]:
    """What a model reads of a history, except what a fix has added."""
    texts = [
        part.text
        for part in decode(body, wire).parts()
        if isinstance(part, Text | Result) or (isinstance(part, Reasoning) and part.text)
    ]
    unreadable = ("[toolwire]", "[untyped]")
    return [text for text in texts if text.strip() and not text.startswith(unreadable)]


@example_rows([(rule, example) for rule, example in BAD if example.kind == "request"])
def test_no_fix_deletes_what_a_model_can_read(rule: Rule, example: Example) -> None:
    for unsafe in (False, True):
        repaired = repair_example(example, unsafe=unsafe)
        parts = decode(repaired.body, example.wire).parts()
        after = "\n".join(
            part.text for part in parts if isinstance(part, Text | Result | Reasoning)
        )
        for text in readable_texts(example.body, example.wire):
            assert str(replace_lone_surrogates(text)) in after


GUESSES = {"args-merged", "id-dup-in-turn", "id-is-tool-name"}
"""The rules whose fix assigns by order if unsafe fixes are allowed; their pages say so."""


def test_unsafe_fixes_differ_only_where_they_assign_by_order() -> None:
    different = {
        rule.name
        for rule, example in BAD
        if example.kind != "stream"
        and repair_example(example, unsafe=True).body != repair_example(example, unsafe=False).body
    }
    assert different == GUESSES
    for name in GUESSES:
        page = (DOCS / "reference" / "rules" / f"{name}.md").read_text()
        assert "unsafe" in page and "order" in page


# --- what is good ---------------------------------------------------------------------------------


@example_rows(GOOD)
def test_a_good_example_has_no_finding_of_the_rule(rule: Rule, example: Example) -> None:
    assert [str(finding) for finding in findings(rule, example)] == []


# --- any example ----------------------------------------------------------------------------------


@example_rows(BODIES)
def test_a_second_repair_changes_nothing(rule: Rule, example: Example) -> None:
    once = repair_example(example)
    twice = repair(once.body, example.wire, example.kind, unsafe=True, target=example.target)
    assert twice.body == once.body
    assert twice.changes == []
    assert twice.findings == once.findings


@example_rows(BODIES)
def test_changes_are_reported_if_and_only_if_the_body_changed(rule: Rule, example: Example) -> None:
    for unsafe in (False, True):
        reports_every_change(example, unsafe)


def reports_every_change(example: Example, unsafe: bool) -> None:
    repaired = repair_example(example, unsafe=unsafe)
    assert bool(repaired.changes) is (repaired.body != example.body)
    assert all(
        change.message and lint.rule(change.name).code == change.code for change in repaired.changes
    )
    if repaired.changes:  # Only the first fix applies to this body; later ones apply to its result.
        assert get(example.body, repaired.changes[0].path) is not UNSET, (
            f"{repaired.changes[0].pointer} is not in the body"
        )


@example_rows(BODIES)
def test_an_unchanged_body_is_returned_byte_for_byte(rule: Rule, example: Example) -> None:
    spaced = dump(example.body).replace(b'":', b'" :', 1)
    repaired = repair(spaced, example.wire, example.kind, target=example.target)
    assert repaired.changes or repaired.json() == spaced


@example_rows([*BAD, *GOOD])
def test_check_and_repair_do_not_modify_their_input(rule: Rule, example: Example) -> None:
    before = deepcopy(example.body)
    check(example.body, example.wire, example.kind, target=example.target)
    if example.kind != "stream":
        repair_example(example)
    assert example.body == before


@example_rows(BODIES)
def test_findings_are_the_same_for_bytes_and_values(rule: Rule, example: Example) -> None:
    findings = check(example.body, example.wire, example.kind, target=example.target)
    assert check(dump(example.body), example.wire, example.kind, target=example.target) == findings
    assert (
        repair(
            dump(example.body), example.wire, example.kind, unsafe=True, target=example.target
        ).body
        == repair_example(example).body
    )


def digest() -> str:
    """A hash of all findings and changes of all examples."""
    hasher = hashlib.sha256()
    for _, example in BODIES:
        repaired = repair_example(example)
        hasher.update(dump(repaired.body))
        for finding in (
            *check(example.body, example.wire, example.kind, target=example.target),
            *repaired.changes,
            *repaired.findings,
        ):
            hasher.update(str(finding).encode())
    return hasher.hexdigest()


@cache
def digest_in_subprocess(seed: str) -> str:
    """The same hash in another process with another seed for hashing."""
    tests = Path(__file__).parent
    code = (
        f"import sys; sys.path[:0] = [{str(tests)!r}, {str(tests.parent)!r}]; import test_rules;"
        " print(test_rules.digest())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    return run.stdout.decode().strip()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_check_and_repair_are_deterministic_across_processes(seed: str) -> None:
    assert digest_in_subprocess(seed) == digest()
