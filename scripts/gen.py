"""Write the pages that are generated from the code: `python scripts/gen.py`, or with --check fail if
one is stale.

- docs/wires/<wire>.md, one for each wire, docs/rules/<rule>.md, one for each rule,
  docs/rules/README.md and docs/profiles.md: whole pages.
- README.md, docs/cli.md, docs/catalogue.md, CHANGELOG.md: the parts between `<!-- gen NAME -->` and
  `<!-- end -->`.

Text outside these marks is written by people and not changed. The script follows the folders: a new
wire or rule needs no line here.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import click
from click.testing import CliRunner

import toolwire
from toolwire.cli.framework.group import commands
from toolwire.cli.output.rule_page import fix_kinds, markdown_page
from toolwire.cli.wires import describe_id
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.parts import Message
from toolwire.lint import all_rules
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires import wire
from toolwire.wires.engine.specs import Block, CatalogueEntry

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "<!-- written by scripts/gen.py from the code; do not edit -->"
ORIGINS = ("natural", "nullable", "borrowed", "absent")
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
TYPE_HEAD = ("type", "discriminator", "direction", "family", "run by", "ids", "origin", "forms")
HELP_WIDTH = 80


# --- markdown -------------------------------------------------------------------------------------


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """A name from a wire, in a cell."""
    return f"`{cell(text)}`" if text else ""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def type_row(entry: CatalogueEntry) -> list[str]:
    """One type of call or result."""
    discriminator = " ".join(f"{key}={value}" for key, value in entry.discriminator.items())
    ids = ", ".join(code(describe_id(one)) for one in entry.ids)
    return [
        code(entry.type),
        code(discriminator),
        entry.direction,
        entry.family,
        entry.executor,
        ids,
        entry.origin,
        ", ".join(entry.forms),
    ]


# --- whole pages ----------------------------------------------------------------------------------


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that is generated as a whole."""
    for name in toolwire.wires():
        yield ROOT / "docs" / "wires" / f"{name}.md", wire_page(name)
    for rule in all_rules():
        yield ROOT / "docs" / "rules" / f"{rule.name}.md", f"{GENERATED}\n\n{markdown_page(rule)}"
    yield ROOT / "docs" / "rules" / "README.md", rules_page()
    yield ROOT / "docs" / "profiles.md", profiles_page()


def wire_page(name: str) -> str:
    """A wire: its peculiarities, its types of calls and results, its other blocks."""
    found = wire(name)
    docstring = (import_module(f"toolwire.wires.{name.replace('-', '_')}").__doc__ or "").strip()
    first, _, rest = docstring.partition("\n\n")
    entries = [entry for entry in toolwire.catalogue() if entry.wire == name]
    parts = [
        GENERATED,
        f"# {found.title} (`{name}`)",
        first if first.rstrip(".") != found.title else "",
        rest.strip(),
        "## Calls and results",
    ]
    parts += [table(TYPE_HEAD, map(type_row, entries)).strip() if entries else "None.", LEGEND]
    others = [row for row in found.rows if not row.direction and row.part is not Message]
    if others:
        parts += [
            "## Other blocks",
            table(("block", "becomes", "fields"), map(other_row, others)).strip(),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_page() -> str:
    """All rules as a table."""
    rows = [
        [
            rule.code,
            f"[{rule.name}]({rule.name}.md)",
            rule.severity,
            fix_kinds(rule),
            cell(rule.title),
        ]
        for rule in all_rules()
    ]
    return "\n\n".join(
        (
            GENERATED,
            "# Rules",
            RULES,
            table(("code", "rule", "severity", "fix", "what is wrong"), rows),
        )
    )


RULES = """\
What `check` finds in a history and `repair` fixes, by the rules of its provider. The provider refuses an `error`, or it breaks
something; an `info` is worth knowing. A fix keeps what the model can read: what cannot stay in its place becomes text that begins
with `[toolwire]`, and so does what a fix adds. Every change is reported."""


LEGEND = """\
An id with a question mark may be missing or null; brackets name what an id refers to if that is not the call. Origin:
`natural` always has a correlation id, `nullable` sometimes, `borrowed` has only the id of its item, `absent` has none."""


def other_row(row: Block) -> list[str]:
    """A block that is neither a call nor a result."""
    return [code(row.name), row.part.__name__, ", ".join(code(key) for key in sorted(row.keys))]


PROFILES_HEAD = """\
# Profiles

A profile is a wire as one provider speaks it. It holds what the provider refuses in a history, as dated facts with sources in
`src/toolwire/profiles/table.py`. `check` and `repair` use all facts; `translate` also uses the rules of ids and names to write them.
A profile states only refusals that were observed: where nothing is listed, no check is known. The name of a profile is accepted
wherever the name of a wire is."""
VALUES = {
    "result_placement": {
        "after": "results must come after their calls",
        "next": "results must come directly after the message of their calls",
        "alone": "results must come directly after the message of their calls, with nothing else in their message",
    },
    "arguments_format": {
        "text": "arguments must be text",
        "json": "arguments must be valid JSON",
        "object": "arguments must be a JSON object",
    },
    "assistant_content": {
        "text": "the content beside calls must be a string, not a list",
        "some": "the content beside calls must not be null",
    },
    "reasoning_to_return": {
        "reasoning_content": "the reasoning text must be sent back with a call",
        "thinking": "the signed thinking block must be sent back with a call",
        "signature": "the signature of a call must be sent back",
        "reasoning": "the reasoning item must be sent back before its call",
    },
}
"""Sentences for the values of a field of a profile."""
IF_FALSE = {
    "has_id_field": "calls and results have no id field",
    "accepts_function_call": "the deprecated `function_call` and the role `function` are rejected",
}
"""Sentences for fields that are true of most providers."""


def profiles_page() -> str:
    """Every profile: its ids and names, what it checks, and the sources."""
    rows = [PROFILES[name] for name in sorted(PROFILES)]
    about = ("name", "wire", "last_seen", "confidence", "source")
    columns = [name for name in Profile.__struct_fields__ if name not in about]
    rules = [
        name for name in columns if any(isinstance(getattr(row, name), IdRule) for row in rows)
    ]
    checks = [name for name in columns if name not in rules]
    meanings = field_words()
    parts = [
        GENERATED,
        PROFILES_HEAD,
        "## What is checked",
        *(profile_section(row, checks, meanings) for row in rows),
        "## Ids and names",
        profile_grid(rows, ["wire", *rules]),
        "## Sources",
        profile_grid(rows, ["last_seen", "confidence", "source"]),
        "## The fields of a profile",
        "\n".join(f"- `{name}`: {meanings[name]}" for name in columns if name in meanings),
    ]
    return "\n\n".join(parts) + "\n"


def profile_section(row: Profile, names: list[str], meanings: dict[str, str]) -> str:
    """What a provider checks, one sentence for each fact."""
    sentences = [check_sentence(name, getattr(row, name), meanings[name]) for name in names]
    known = [f"- {sentence}" for sentence in sentences if sentence]
    return "\n".join((f"### `{row.name}`", "", *(known or ["No check is known."])))


def check_sentence(name: str, value: object, meaning: str) -> str:
    """The sentence that a field states about a provider; empty if it states nothing."""
    if name in IF_FALSE:
        return "" if value else IF_FALSE[name]
    if value is True:
        return meaning.removeprefix("True if ").rstrip(".")
    if not value:
        return ""
    if name in VALUES:
        return VALUES[name][str(value)]
    if name == "own_id_pattern":
        return f"ids that its models generate, {code(str(value))}, must be returned unchanged"
    if name == "reasoning_models":
        return f"the models that need their reasoning back are {code(str(value))}"
    assert isinstance(value, dict)
    prefixes = ", ".join(f"{code(prefix)} for {code(kind)}" for kind, prefix in value.items())
    return f"item ids must start with {prefixes}"


def profile_grid(rows: list[Profile], names: list[str]) -> str:
    """Some fields of all profiles."""
    cells = (
        [code(row.name), *(field_text(name, getattr(row, name)) for name in names)] for row in rows
    )
    return table(("profile", *names), cells).strip()


def field_text(name: str, value: object) -> str:
    """The value of a field, in a cell."""
    if isinstance(value, IdRule):
        return id_rule(value)
    return code(str(value or "")) if name == "wire" else cell(str(value or ""))


def id_rule(rule: IdRule) -> str:
    """What an id or a name may be, as a pattern and a length."""
    words = [code(f"[{rule.chars}]")] if rule.chars else ["any characters"]
    words += [f"first {code(rule.first)}"] if rule.first else []
    words += [f"{'exactly' if rule.exact else 'at most'} {rule.longest}"] if rule.longest else []
    return ", ".join(words)


def field_words() -> dict[str, str]:
    """What the fields of a profile mean: the docstrings below them."""
    (body,) = (
        node.body
        for node in ast.parse(inspect.getsource(Profile)).body
        if isinstance(node, ast.ClassDef)
    )
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
        ):
            found[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return found


# --- parts of pages -------------------------------------------------------------------------------


def wires_table() -> str:
    """The wires, for the README."""
    type_count = len(toolwire.catalogue())
    links = ", ".join(f"[{wire(name).title}](docs/wires/{name}.md)" for name in toolwire.wires())
    return (
        fill(
            f"{links}: {type_count} types of calls and results.",
            130,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )


def counts_table() -> str:
    """How many types of each origin every wire has."""
    rows = []
    every: Counter[str] = Counter()
    for name in toolwire.wires():
        count = Counter(entry.origin for entry in toolwire.catalogue() if entry.wire == name)
        every += count
        rows.append(
            [
                f"[`{name}`](wires/{name}.md)",
                str(count.total()),
                *(str(count[origin]) for origin in ORIGINS),
            ]
        )
    rows.append(["all", str(every.total()), *(str(every[origin]) for origin in ORIGINS)])
    return table(("wire", "types", *ORIGINS), rows)


def types_table() -> str:
    """Every type of every wire."""
    return table(
        ("wire", *TYPE_HEAD),
        ([code(entry.wire), *type_row(entry)] for entry in toolwire.catalogue()),
    )


def help_texts() -> str:
    """What `--help` prints, for the program and every verb."""
    names = commands.list_commands(click.Context(commands))
    results = [
        CliRunner().invoke(
            commands, [*verb, "--help"], prog_name="toolwire", terminal_width=HELP_WIDTH
        )
        for verb in ([], *([name] for name in names))
    ]
    return "\n\n".join(f"```text\n{result.stdout.strip()}\n```" for result in results) + "\n"


def tour() -> str:
    """What `toolwire tour` prints into a pipe of eighty columns."""
    env = {
        **os.environ,
        "COLUMNS": str(HELP_WIDTH),
        "PYTHONIOENCODING": "utf-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    run = subprocess.run(
        [sys.executable, "-m", "toolwire.cli", "tour"],
        capture_output=True,
        env=env,
        check=True,
        encoding="utf-8",
    )
    return (
        "```text\n"
        + "\n".join(line.rstrip() for line in run.stdout.strip().split("\n"))
        + "\n```\n"
    )


def unreleased() -> str:
    """The fragments in changes/, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "changes").glob("*.*.md")):
        kind = path.name.split(".")[-2]
        if kind not in KINDS:
            raise SystemExit(f"changes/{path.name}: the kind is one of {', '.join(KINDS)}")
        found[kind].append("- " + " ".join(path.read_text(encoding="utf-8").split()))
    return "\n".join(
        f"### {KINDS[kind]}\n\n" + "\n".join(lines) + "\n" for kind, lines in found.items() if lines
    )


REGIONS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"wires": wires_table},
    "CHANGELOG.md": {"changes": unreleased},
    "docs/cli.md": {"help": help_texts, "tour": tour},
    "docs/catalogue.md": {"counts": counts_table, "types": types_table},
}


def fill_regions(text: str, regions: dict[str, Callable[[], str]], page: str) -> str:
    """A page with its generated regions replaced."""
    for name, make in regions.items():
        between = re.compile(rf"(<!-- gen {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        matches = list(between.finditer(text))
        if len(matches) != 1:
            raise SystemExit(
                f"{page}: expected one <!-- gen {name} --> ... <!-- end -->, found {len(matches)}"
            )
        (match,) = matches
        section = f"{match[1]}\n{make().strip()}\n\n{match[2]}"
        text = text[: match.start()] + section + text[match.end() :]
    return text


def main() -> int:
    """Write the pages, or with --check list those that are stale."""
    wanted = dict(pages())
    for page, regions in REGIONS.items():
        wanted[ROOT / page] = fill_regions((ROOT / page).read_text(encoding="utf-8"), regions, page)
    orphans = {
        path
        for folder in ("wires", "rules")
        for path in (ROOT / "docs" / folder).glob("*.md")
        if path not in wanted
    }
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        for path in sorted({*stale, *orphans}):
            print(f"stale: {path.relative_to(ROOT)} (make docs)")
        return 1 if stale or orphans else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    for path in orphans:
        path.unlink()
    print(f"{len(wanted)} pages, {len(stale)} written, {len(orphans)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
