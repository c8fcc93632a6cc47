"""A rule's page as Markdown, and a rule as JSON: its own words, and its examples with what check
and repair say about them.

Everything but the words is computed. Knows no rule by name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import unified_diff
from importlib import import_module

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Finding
from toolwire.lint import check, repair
from toolwire.lint.rule import Example, Rule

WIDEST = 110
"""JSON is broken into lines where it is longer than this."""
LONGEST = 160
"""A text beyond this many characters is shown by its beginning."""
SHOWN = 3
"""So many examples of a kind are on a page; all of them are in the file of the rule."""


def words_of(rule: Rule) -> str:
    """What its file says about a rule."""
    return (
        import_module(f"toolwire.lint.rules.{rule.name.replace('-', '_')}").__doc__ or ""
    ).strip()


def fix_of(rule: Rule) -> str:
    """How a rule is mended, as its examples show: safe, unsafe, none, or several of them."""
    seen = {finding.fix or "none" for example in rule.bad for finding in _found(rule, example)}
    return " or ".join(word for word in ("safe", "unsafe", "none") if word in seen) or "none"


def _found(rule: Rule, example: Example) -> list[Finding]:
    return [
        one
        for one in check(example.body, example.wire, example.kind, target=example.target)
        if one.name == rule.name
    ]


# --- Markdown -------------------------------------------------------------------------------------


def page(rule: Rule) -> str:
    """The page: what it is, bad, repaired, good."""
    head = ("code", "severity", "fix", "what the fix costs")
    cells = (rule.code, rule.severity, fix_of(rule), COSTS[rule.cost])
    parts = [
        f"# {rule.name} ({rule.code})",
        words_of(rule),
        "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), cells)),
        "## Bad",
        *(part for example in _picked(rule.bad) for part in _bad(rule, example)),
        *_more(rule.bad),
        "## Good",
        *(
            part
            for example in _picked(rule.good)
            for part in (_heading(example), _fenced(example.body))
        ),
        *_more(rule.good),
    ]
    return "\n\n".join(parts) + "\n"


def _picked(examples: Sequence[Example]) -> list[Example]:
    """Those to show: of as many wires and targets as possible, in their order."""
    seen: dict[tuple[str, str], int] = {}
    ranked: list[tuple[int, Example]] = []
    for one in examples:
        times = seen[one.wire, one.target] = seen.get((one.wire, one.target), 0) + 1
        ranked.append((times, one))
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])[:SHOWN]]


def _more(examples: Sequence[Example]) -> list[str]:
    left = len(examples) - SHOWN
    return [f"And {left} more in the file of the rule."] if left > 0 else []


COSTS = {
    "lossless": "nothing (lossless)",
    "neutral": "ids or places change, no content (neutral)",
    "lossy": "content is added or removed (lossy)",
    "refuse": "it is for a person to decide (refuse)",
}


def _heading(example: Example) -> str:
    kind = "" if example.kind == "request" else f", a {example.kind}"
    target = "" if example.target == example.wire else f" for `{example.target}`"
    return f"On `{example.wire}`{target}{kind}:"


def _bad(rule: Rule, example: Example) -> list[str]:
    found = "\n".join(
        f"- {_code(one.pointer)}: {_plain(one.message)} ({one.fix or 'no'} fix)"
        for one in _found(rule, example)
    )
    parts = [_heading(example), _fenced(example.body), found]
    if example.kind != "stream":
        done = repair(example.body, example.wire, example.kind, target=example.target)
        if done.changes:
            told = "\n".join(
                f"- {_code(one.pointer)} {one.name}: {_plain(one.message)}" for one in done.changes
            )
            parts += ["Repaired:", _difference(example.body, done.body), told]
    return parts


def _difference(before: JSON, after: JSON) -> str:
    old, new = (laid_out(_short(body)).split("\n") for body in (before, after))
    lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]
    return (
        "```diff\n"
        + "\n".join("..." if line.startswith("@@") else line for line in lines)
        + "\n```"
    )


def _fenced(body: JSON) -> str:
    return f"```json\n{laid_out(_short(body))}\n```"


def _short(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[: LONGEST // 2]}… ({len(value)} characters)"
    return value


def _code(pointer: str) -> str:
    return f"`{pointer}`" if pointer else "the whole body"


def _plain(text: str) -> str:
    """Words on one line in which Markdown finds nothing to do."""
    return "".join(f"\\{one}" if one in "\\`*_<>[]|" else one for one in " ".join(text.split()))


def laid_out(value: JSON, margin: int = 0) -> str:
    """JSON on as few lines as are easy to read."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + margin <= WIDEST or not value or not isinstance(value, dict | list):
        return flat
    pad = " " * (margin + 2)
    if isinstance(value, dict):
        lines = [
            f"{json.dumps(key, ensure_ascii=False)}: {laid_out(one, margin + 2)}"
            for key, one in value.items()
        ]
    else:
        lines = [laid_out(one, margin + 2) for one in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{pad}" + f",\n{pad}".join(lines) + f"\n{' ' * margin}{last}"


# --- JSON -----------------------------------------------------------------------------------------


def row(rule: Rule) -> Object:
    """A rule without its examples."""
    return {
        "code": rule.code,
        "name": rule.name,
        "title": rule.title,
        "severity": rule.severity,
        "fix": fix_of(rule),
        "loss": rule.cost,
    }


def whole(rule: Rule) -> Object:
    """A rule with its page and its examples."""
    return {
        **row(rule),
        "page": words_of(rule),
        "bad": list(map(_example, rule.bad)),
        "good": list(map(_example, rule.good)),
    }


def _example(one: Example) -> JSON:
    return {"wire": one.wire, "target": one.target, "kind": one.kind, "body": one.body}
