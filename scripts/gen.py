"""Write the pages that are read off the code: `python scripts/gen.py`, or with --check fail if one is stale.

- docs/wires/<wire>.md, one for each wire, and docs/catalogue.md: whole pages.
- README.md, docs/cli.md, docs/catalogue.md, CHANGELOG.md: the parts between `<!-- gen NAME -->` and `<!-- end -->`.

Whatever is on a page outside these marks is written by people and left alone. Follows toolwire.wires(): a new wire needs
no line here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

import click
from click.testing import CliRunner

import toolwire
from toolwire.cli import verbs
from toolwire.cli.wires import id_words
from toolwire.parts import Message
from toolwire.wires import wire
from toolwire.wires._wire import Entry, Row

ROOT = Path(__file__).resolve().parent.parent
MADE = "<!-- written by scripts/gen.py from the code; do not edit -->"
ORIGINS = ("natural", "nullable", "borrowed", "absent")
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
TYPE_HEAD = ("type", "told by", "direction", "family", "run by", "ids", "origin", "forms")
HELP_WIDTH = 80


# --- markdown ----------------------------------------------------------------------------------------------------


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


def type_row(entry: Entry) -> list[str]:
    """One type of call or result."""
    told = " ".join(f"{key}={value}" for key, value in entry.tell.items())
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


# --- whole pages -------------------------------------------------------------------------------------------------


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that is made from nothing else."""
    for name in toolwire.wires():
        yield ROOT / "docs" / "wires" / f"{name}.md", wire_page(name)


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
        parts += ["## Other blocks", grid(("block", "becomes", "fields"), map(other_row, others)).strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


LEGEND = """\
An id that may be missing or null has a question mark; in brackets stands what it names if it is not the call. Origin:
`natural` always has a correlation id, `nullable` sometimes, `borrowed` has only the id of its item, `absent` has none."""


def other_row(row: Row) -> list[str]:
    """A block that is neither a call nor a result."""
    return [code(row.name), row.part.__name__, ", ".join(code(key) for key in sorted(row.keys))]


# --- parts of pages ----------------------------------------------------------------------------------------------


def wires_table() -> str:
    """The wires, for the README."""
    rows = []
    for name in toolwire.wires():
        mine = [entry for entry in toolwire.catalogue() if entry.wire == name]
        rows.append([f"[`{name}`](docs/wires/{name}.md)", wire(name).title, str(len(mine))])
    return grid(("wire", "what it is", "types of calls and results"), rows)


def counts_table() -> str:
    """How many types of each origin every wire has."""
    rows = []
    every: Counter[str] = Counter()
    for name in toolwire.wires():
        count = Counter(entry.origin for entry in toolwire.catalogue() if entry.wire == name)
        every += count
        rows.append([f"[`{name}`](wires/{name}.md)", str(count.total()), *(str(count[origin]) for origin in ORIGINS)])
    rows.append(["all", str(every.total()), *(str(every[origin]) for origin in ORIGINS)])
    return grid(("wire", "types", *ORIGINS), rows)


def types_table() -> str:
    """Every type of every wire."""
    return grid(("wire", *TYPE_HEAD), ([code(entry.wire), *type_row(entry)] for entry in toolwire.catalogue()))


def help_texts() -> str:
    """What `--help` prints, for the program and every verb."""
    names = verbs.list_commands(click.Context(verbs))
    shown = [
        CliRunner().invoke(verbs, [*verb, "--help"], prog_name="toolwire", terminal_width=HELP_WIDTH)
        for verb in ([], *([name] for name in names))
    ]
    return "\n\n".join(f"```text\n{one.stdout.strip()}\n```" for one in shown) + "\n"


def tour() -> str:
    """What `toolwire tour` prints into a pipe of eighty columns."""
    env = {**os.environ, "COLUMNS": str(HELP_WIDTH), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "TERM": "dumb"}
    run = subprocess.run(
        [sys.executable, "-m", "toolwire.cli", "tour"], capture_output=True, env=env, check=True, encoding="utf-8"
    )
    return "```text\n" + "\n".join(line.rstrip() for line in run.stdout.strip().split("\n")) + "\n```\n"


def unreleased() -> str:
    """The fragments in changes/, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "changes").glob("*.*.md")):
        kind = path.name.split(".")[-2]
        if kind not in KINDS:
            raise SystemExit(f"changes/{path.name}: the kind is one of {', '.join(KINDS)}")
        found[kind].append("- " + " ".join(path.read_text(encoding="utf-8").split()))
    return "\n".join(f"### {KINDS[kind]}\n\n" + "\n".join(lines) + "\n" for kind, lines in found.items() if lines)


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
            raise SystemExit(f"{page}: expected one <!-- gen {name} --> ... <!-- end -->, found {found}")
    return text


def main() -> int:
    """Write the pages, or with --check say which are stale."""
    wanted = dict(pages())
    for page, regions in REGIONS.items():
        wanted[ROOT / page] = filled((ROOT / page).read_text(encoding="utf-8"), regions, page)
    left = {path for path in (ROOT / "docs" / "wires").glob("*.md") if path not in wanted}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
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
