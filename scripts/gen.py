"""Write the pages that are read off the code: `python scripts/gen.py`, or with --check fail if one
is stale.

- docs/wires/<wire>.md, one for each wire, docs/rules/<rule>.md, one for each rule,
  docs/rules/README.md and docs/profiles.md: whole pages.
- README.md, docs/cli.md, docs/catalogue.md, CHANGELOG.md: the parts between `<!-- gen NAME -->` and
  `<!-- end -->`.

Whatever is on a page outside these marks is written by people and left alone. Follows the folders:
a new wire or rule needs no line here.
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
from toolwire.cli import verbs
from toolwire.cli._rule_page import fix_of
from toolwire.cli._rule_page import page as rule_page
from toolwire.cli.wires import id_words
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.parts import Message
from toolwire.lint import all_rules
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires import wire
from toolwire.wires.engine.specs import Block, CatalogueEntry

ROOT = Path(__file__).resolve().parent.parent
MADE = "<!-- written by scripts/gen.py from the code; do not edit -->"
ORIGINS = ("natural", "nullable", "borrowed", "absent")
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
TYPE_HEAD = ("type", "told by", "direction", "family", "run by", "ids", "origin", "forms")
HELP_WIDTH = 80


# --- markdown -------------------------------------------------------------------------------------


def cell(text: str) -> str:
    """Words for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """A name from a wire, in a cell."""
    return f"`{cell(text)}`" if text else ""


def grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def type_row(entry: CatalogueEntry) -> list[str]:
    """One type of call or result."""
    told = " ".join(f"{key}={value}" for key, value in entry.discriminator.items())
    ids = ", ".join(code(id_words(one)) for one in entry.ids)
    return [
        code(entry.type),
        code(told),
        entry.direction,
        entry.family,
        entry.executor,
        ids,
        entry.origin,
        ", ".join(entry.forms),
    ]


# --- whole pages ----------------------------------------------------------------------------------


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that is made from nothing else."""
    for name in toolwire.wires():
        yield ROOT / "docs" / "wires" / f"{name}.md", wire_page(name)
    for rule in all_rules():
        yield ROOT / "docs" / "rules" / f"{rule.name}.md", f"{MADE}\n\n{rule_page(rule)}"
    yield ROOT / "docs" / "rules" / "README.md", rules_page()
    yield ROOT / "docs" / "profiles.md", profiles_page()


def wire_page(name: str) -> str:
    """A wire: its peculiarities, its types of calls and results, its other blocks."""
    spoken = wire(name)
    told = (import_module(f"toolwire.wires.{name.replace('-', '_')}").__doc__ or "").strip()
    first, _, rest = told.partition("\n\n")
    mine = [entry for entry in toolwire.catalogue() if entry.wire == name]
    parts = [
        MADE,
        f"# {spoken.title} (`{name}`)",
        first if first.rstrip(".") != spoken.title else "",
        rest.strip(),
        "## Calls and results",
    ]
    parts += [grid(TYPE_HEAD, map(type_row, mine)).strip() if mine else "None.", LEGEND]
    others = [row for row in spoken.rows if not row.direction and row.part is not Message]
    if others:
        parts += [
            "## Other blocks",
            grid(("block", "becomes", "fields"), map(other_row, others)).strip(),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_page() -> str:
    """All rules as a table."""
    rows = [
        [rule.code, f"[{rule.name}]({rule.name}.md)", rule.severity, fix_of(rule), cell(rule.title)]
        for rule in all_rules()
    ]
    return "\n\n".join(
        (MADE, "# Rules", RULES, grid(("code", "rule", "severity", "fix", "what is wrong"), rows))
    )


RULES = """\
What `check` finds in a history and `repair` mends, by the rules of the provider it goes to. An `error` is refused there, or
breaks something; an `info` is worth knowing. A fix keeps what the model can read: what cannot stay in its place becomes text
that begins with `[toolwire]`, and so does what a fix adds. Every change is reported."""


LEGEND = """\
An id that may be missing or null has a question mark; in brackets stands what it names if it is not the call. Origin:
`natural` always has a correlation id, `nullable` sometimes, `borrowed` has only the id of its item, `absent` has none."""


def other_row(row: Block) -> list[str]:
    """A block that is neither a call nor a result."""
    return [code(row.name), row.part.__name__, ", ".join(code(key) for key in sorted(row.keys))]


PROFILES_HEAD = """\
# Profiles

A profile is a wire as one provider speaks it: what it refuses in a history, as a row of dated data in
`src/toolwire/profiles/table.py`. `check` and `repair` read the rows; `translate` reads the ids and names. A row says only what
somebody has seen refused: what is not said, the provider is not known to check. The name of a profile stands wherever a
wire's name does."""


def profiles_page() -> str:
    """Every profile: its ids and names, what it checks, and how that is known."""
    rows = [PROFILES[name] for name in sorted(PROFILES)]
    told = ("name", "wire", "last_seen", "confidence", "source")
    shown = [name for name in Profile.__struct_fields__ if name not in told]
    rules = [name for name in shown if any(isinstance(getattr(row, name), IdRule) for row in rows)]
    checks = [name for name in shown if name not in rules]
    half = (len(checks) + 1) // 2
    parts = [MADE, PROFILES_HEAD, "## Ids and names", profile_grid(rows, ["wire", *rules])]
    parts += [
        "## What is checked",
        profile_grid(rows, checks[:half]),
        profile_grid(rows, checks[half:]),
    ]
    parts += ["## How it is known", profile_grid(rows, ["last_seen", "confidence", "source"])]
    said = field_words()
    parts += [
        "## The columns",
        "\n".join(f"- `{name}`: {said[name]}" for name in shown if name in said),
    ]
    return "\n\n".join(parts) + "\n"


def profile_grid(rows: list[Profile], names: list[str]) -> str:
    """Some fields of all profiles."""
    cells = (
        [code(row.name), *(shown_as(name, getattr(row, name)) for name in names)] for row in rows
    )
    return grid(("profile", *names), cells).strip()


def shown_as(name: str, value: object) -> str:
    """The value of a field, in a cell."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, IdRule):
        return id_rule(value)
    if isinstance(value, dict):
        return ", ".join(code(f"{key}: {one}") for key, one in value.items())
    return (
        cell(str(value or ""))
        if name in ("last_seen", "confidence", "source")
        else code(str(value or ""))
    )


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
    many = len(toolwire.catalogue())
    named = ", ".join(f"[{wire(name).title}](docs/wires/{name}.md)" for name in toolwire.wires())
    return (
        fill(
            f"{named}: {many} types of calls and results.",
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
    return grid(("wire", "types", *ORIGINS), rows)


def types_table() -> str:
    """Every type of every wire."""
    return grid(
        ("wire", *TYPE_HEAD),
        ([code(entry.wire), *type_row(entry)] for entry in toolwire.catalogue()),
    )


def help_texts() -> str:
    """What `--help` prints, for the program and every verb."""
    names = verbs.list_commands(click.Context(verbs))
    shown = [
        CliRunner().invoke(
            verbs, [*verb, "--help"], prog_name="toolwire", terminal_width=HELP_WIDTH
        )
        for verb in ([], *([name] for name in names))
    ]
    return "\n\n".join(f"```text\n{one.stdout.strip()}\n```" for one in shown) + "\n"


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


def filled(text: str, regions: dict[str, Callable[[], str]], page: str) -> str:
    """A page with its marked parts written anew."""
    for name, make in regions.items():
        between = re.compile(rf"(<!-- gen {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        made = f"\n{make().strip()}\n\n"
        text, found = between.subn(lambda match, made=made: f"{match[1]}{made}{match[2]}", text)  # type: ignore[misc]
        if found != 1:
            raise SystemExit(
                f"{page}: expected one <!-- gen {name} --> ... <!-- end -->, found {found}"
            )
    return text


def main() -> int:
    """Write the pages, or with --check say which are stale."""
    wanted = dict(pages())
    for page, regions in REGIONS.items():
        wanted[ROOT / page] = filled((ROOT / page).read_text(encoding="utf-8"), regions, page)
    left = {
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
        for path in sorted({*stale, *left}):
            print(f"stale: {path.relative_to(ROOT)} (make docs)")
        return 1 if stale or left else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    for path in left:
        path.unlink()
    print(f"{len(wanted)} pages, {len(stale)} written, {len(left)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
