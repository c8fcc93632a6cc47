"""A rule as a Markdown page, and as JSON.

The docstring of a rule is the text of its page. The examples, with what check and repair find in
them, are computed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from importlib import import_module

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Finding
from toolwire.lint import check, repair
from toolwire.lint.rule import Example, Rule

MAX_WIDTH = 110
"""Longer JSON is split into lines."""
MAX_TEXT = 160
"""Longer strings are cut."""
EXAMPLES_SHOWN = 3
"""How many good and bad examples a page has; the file of the rule holds all."""


def rule_text(rule: Rule) -> str:
    """Return the docstring of the module of a rule."""
    module = import_module(f"toolwire.lint.rules.{rule.name.replace('-', '_')}")
    return (module.__doc__ or "").strip()


def fix_kinds(rule: Rule) -> str:
    """Return the kinds of fixes that the examples show: safe, unsafe, none, or several."""
    kinds = {finding.fix or "none" for example in rule.bad for finding in _check(rule, example)}
    return " or ".join(kind for kind in ("safe", "unsafe", "none") if kind in kinds) or "none"


def _check(rule: Rule, example: Example) -> list[Finding]:
    findings = check(example.body, example.wire, example.kind, target=example.target)
    return [finding for finding in findings if finding.name == rule.name]


# --- Markdown -------------------------------------------------------------------------------------


def markdown_page(rule: Rule) -> str:
    """Return the page: text, summary, bad examples with their repair, good examples."""
    head = ("code", "severity", "fix", "what the fix costs")
    cells = (rule.code, rule.severity, fix_kinds(rule), COSTS[rule.cost])
    parts = [
        f"# {rule.name} ({rule.code})",
        rule_text(rule),
        "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), cells)),
        "## Bad",
        *(part for example in _select_examples(rule.bad) for part in _bad_example(rule, example)),
        *_count_rest(rule.bad),
        "## Good",
        *(
            part
            for example in _select_examples(rule.good)
            for part in (_heading(example), _code_block(example.body))
        ),
        *_count_rest(rule.good),
    ]
    return "\n\n".join(parts) + "\n"


def _select_examples(examples: Sequence[Example]) -> list[Example]:
    """Return the examples to show: of as many wires and targets as possible, in their order."""
    seen: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[int, Example]] = []
    for example in examples:
        seen[example.wire, example.target] += 1
        ranked.append((seen[example.wire, example.target], example))
    ranked.sort(key=lambda pair: pair[0])
    return [example for _, example in ranked[:EXAMPLES_SHOWN]]


def _count_rest(examples: Sequence[Example]) -> list[str]:
    rest = len(examples) - EXAMPLES_SHOWN
    count = "1 more example is" if rest == 1 else f"{rest} more examples are"
    return [f"{count} in the source file of the rule."] if rest > 0 else []


COSTS = {
    "lossless": "nothing (lossless)",
    "neutral": "ids or positions change, content does not (neutral)",
    "lossy": "content is added or removed (lossy)",
    "refuse": "no fix: a person has to decide (refuse)",
}


def _heading(example: Example) -> str:
    kind = "" if example.kind == "request" else f", a {example.kind}"
    target = "" if example.target == example.wire else f" for `{example.target}`"
    return f"On `{example.wire}`{target}{kind}:"


def _bad_example(rule: Rule, example: Example) -> list[str]:
    findings = "\n".join(
        f"- {_code(finding.pointer)}: {_escape_markdown(finding.message)}"
        f" ({finding.fix or 'no'} fix)"
        for finding in _check(rule, example)
    )
    parts = [_heading(example), _code_block(example.body), findings]
    if example.kind != "stream":
        repaired = repair(example.body, example.wire, example.kind, target=example.target)
        if repaired.changes:
            changes = "\n".join(
                f"- {_code(change.pointer)} {change.name}: {_escape_markdown(change.message)}"
                for change in repaired.changes
            )
            parts += ["After `toolwire repair`:", _diff(example.body, repaired.body), changes]
    return parts


def _diff(before: JSON, after: JSON) -> str:
    old, new = (format_json(_shorten(body)).split("\n") for body in (before, after))
    lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]
    return (
        "```diff\n"
        + "\n".join("..." if line.startswith("@@") else line for line in lines)
        + "\n```"
    )


def _code_block(body: JSON) -> str:
    return f"```json\n{format_json(_shorten(body))}\n```"


def _shorten(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _shorten(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_shorten(element) for element in value]
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[: MAX_TEXT // 2]}… ({len(value)} characters)"
    return value


def _code(pointer: str) -> str:
    return f"`{pointer}`" if pointer else "the whole body"


def _escape_markdown(text: str) -> str:
    """Return text on one line, with the special characters of Markdown escaped."""
    line = " ".join(text.split())
    return "".join(f"\\{char}" if char in "\\`*_<>[]|" else char for char in line)


def _dump(value: JSON) -> str:
    """JSON with readable characters; a lone surrogate is an escape."""
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()


def format_json(value: JSON, margin: int = 0) -> str:
    """Return JSON on as few lines as are easy to read."""
    flat = _dump(value)
    if len(flat) + margin <= MAX_WIDTH or not value or not isinstance(value, dict | list):
        return flat
    pad = " " * (margin + 2)
    if isinstance(value, dict):
        lines = [
            f"{_dump(key)}: {format_json(element, margin + 2)}" for key, element in value.items()
        ]
    else:
        lines = [format_json(element, margin + 2) for element in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{pad}" + f",\n{pad}".join(lines) + f"\n{' ' * margin}{last}"


# --- JSON -----------------------------------------------------------------------------------------


def summary_row(rule: Rule) -> Object:
    """Return a rule as JSON, without its page and its examples."""
    return {
        "code": rule.code,
        "name": rule.name,
        "title": rule.title,
        "severity": rule.severity,
        "fix": fix_kinds(rule),
        "loss": rule.cost,
    }


def full_row(rule: Rule) -> Object:
    """Return a rule as JSON, with its page and its examples."""
    return {
        **summary_row(rule),
        "page": rule_text(rule),
        "bad": list(map(_example_row, rule.bad)),
        "good": list(map(_example_row, rule.good)),
    }


def _example_row(example: Example) -> JSON:
    return {
        "wire": example.wire,
        "target": example.target,
        "kind": example.kind,
        "body": example.body,
    }
