"""Write the pages that are generated from the code: `python scripts/gen.py`, or with --check fail if
one is stale.

- In docs/reference: wires/<wire>.md, one for each wire, rules/<rule>.md, one for each rule,
  their indexes README.md, and profiles.md: whole pages.
- CHANGELOG.md, and in docs/reference cli.md, configuration.md and catalogue.md: the parts between
  `<!-- gen NAME -->` and `<!-- end -->`.
- mkdocs.yml: the parts of the navigation between `# gen NAME` and `# end`.

Text outside these marks is written by people and not changed. The script follows the folders: a new
wire or rule needs no line here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import click
from click.testing import CliRunner
from configuration_page import configuration_tables
from msgspec.structs import replace
from page_markdown import GENERATED, cell, code, table
from profile_page import profiles_page
from reference_pages import DOCS, REFERENCE, ROOT, llms_text, reference_pages
from refusals_page import refusals_page

import toolwire
from toolwire.cli.framework.group import commands
from toolwire.cli.output.rule_page import fix_kinds, markdown_page
from toolwire.cli.wires import describe_id
from toolwire.conversation.parts import Message
from toolwire.lint import all_rules
from toolwire.lint.rule import Rule
from toolwire.wires import wire
from toolwire.wires.engine.specs import Block, CatalogueEntry

HOW_TO = DOCS / "how-to"
ORIGINS = ("natural", "nullable", "borrowed", "absent")
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
TYPE_HEAD = ("type", "direction", "family", "run by", "ids", "origin", "forms")
HELP_WIDTH = 80


# --- rows ----------------------------------------------------------------------------------------


def type_row(entry: CatalogueEntry) -> list[str]:
    """The row of one type of call or result."""
    discriminator = " ".join(
        f"{key}={value}" for key, value in entry.discriminator.items() if value != entry.type
    )
    ids = ", ".join(code(describe_id(field)) for field in entry.ids)
    return [
        f"{code(entry.type)} {code(discriminator)}".strip(),
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
        yield REFERENCE / "wires" / f"{name}.md", wire_page(name)
    yield REFERENCE / "wires" / "README.md", wires_page()
    for rule in all_rules():
        yield REFERENCE / "rules" / f"{rule.name}.md", rule_page(rule)
    yield REFERENCE / "rules" / "README.md", rules_page()
    yield REFERENCE / "profiles.md", profiles_page()
    yield HOW_TO / "refused-requests.md", refusals_page()
    yield from reference_pages()


def rule_page(rule: Rule) -> str:
    """The page of a rule, as `toolwire rules NAME` prints it, for readers of a report."""
    heading, _, rest = markdown_page(rule).partition("\n\n")
    audience = f"For people who got {rule.code} {rule.name} from `toolwire check`. See also [all rules](README.md)."
    return f"{GENERATED}\n\n{heading}\n\n{audience}\n\n{rest}"


def wires_page() -> str:
    """All wires as a table."""
    count = Counter(entry.wire for entry in toolwire.catalogue())
    rows = [
        [f"[{wire(name).title}]({name}.md)", code(name), str(count[name])]
        for name in toolwire.wires()
    ]
    return "\n\n".join(
        (GENERATED, "# Wires", WIRES, table(("wire", "name", "types of calls and results"), rows))
    )


WIRES = """\
For people who look for the name or the peculiarities of a format.

A wire is a format in which conversations with tool calls travel: the API of a provider, the messages of a framework, or a protocol for
tools. The name of a wire is what `--from` and `--to`, `decode` and `translate` take."""


def wire_page(name: str) -> str:
    """The page of a wire: its peculiarities, its types of calls and results, its other blocks."""
    found = wire(name)
    docstring = (import_module(f"toolwire.wires.{name.replace('-', '_')}").__doc__ or "").strip()
    first, _, rest = docstring.partition("\n\n")
    entries = [entry for entry in toolwire.catalogue() if entry.wire == name]
    parts = [
        GENERATED,
        f"# {found.title} (`{name}`)",
        f"For people who read or write {found.title}: its peculiarities, and the form of its calls and results."
        " See also [all wires](README.md).",
        first if first.rstrip(".") != found.title else "",
        SOURCE.sub(r" ([source](\1))", PECULIARITY.sub(r"- **\1**:", rest.strip())),
        "## Calls and results",
    ]
    parts[-1:-1] = ["## Example", EXAMPLE_INTRO[name in ("oxp", "mcp")], example_body(name)]
    parts += [table(TYPE_HEAD, map(type_row, entries)).strip() if entries else "None.", LEGEND]
    others = [spec for spec in found.blocks if not spec.direction and spec.part is not Message]
    if others:
        parts += [
            "## Other blocks",
            table(("block", "becomes", "fields"), map(other_row, others)).strip(),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


PECULIARITY = re.compile(r"^- ([a-z0-9-]+):", re.MULTILINE)
"""A peculiarity of a wire, by the name of the folder in tests/cases that shows it."""
SOURCE = re.compile(r"\n  (https://\S+)$", re.MULTILINE)
"""The last line of a peculiarity: the page that documents it."""
EXAMPLE_INTRO = (
    "A user asks, the model calls one tool twice, and the results come back in the other order:",
    "A call to a tool:",
)


def example_body(name: str) -> str:
    """A conversation with two parallel calls, as this wire has it."""
    oslo = toolwire.Call("call00001", "weather", {"city": "Oslo"})
    rome = toolwire.Call("call00002", "weather", {"city": "Rome"})
    messages = [
        toolwire.Message("user", "Is it warmer in Oslo or in Rome?"),
        toolwire.Message("assistant", (oslo, rome)),
        toolwire.Message("tool", (rome.result("24 degrees"), oslo.result("-3 degrees"))),
    ]
    if name == "oxp":  # a body of OXP is one call
        messages = [toolwire.Message("assistant", replace(oslo, name="Weather.Get"))]
    body = toolwire.encode(toolwire.Conversation(messages), name).body
    return f"```json\n{json.dumps(body, indent=2, ensure_ascii=False)}\n```"


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
For people who want to know what a finding means, and what its fix does.

A rule describes one thing that is wrong in a history. `check` reports it as a finding, and `repair` fixes it. If the level is `error`,
the provider refuses the history, or the history breaks something; `info` is worth knowing. A fix keeps everything that the model can
read. If something cannot stay in its place, it becomes text that starts with `[toolwire]`, as does text that a fix adds. `repair`
reports every change.

A fix is **safe** if the model can still read everything that was there; `repair` applies safe fixes by default. It is safe to turn
something into text, or to remove a copy: an equal result, call, item or definition. The exception is reasoning without readable text
that its provider would refuse: it cannot be kept in any form. A fix is **unsafe** if it guesses. With `repair --unsafe`,
[args-merged](args-merged.md), [id-dup-in-turn](id-dup-in-turn.md) and [id-is-tool-name](id-is-tool-name.md) assign results or arguments
to calls by their order alone. No fix, safe or unsafe, deletes a result that is not a copy."""


LEGEND = """\
After the name of a type come the fields that distinguish it from others of that name. An id with a question mark may be missing or
null; brackets name what an id refers to if that is not the call. Origin: `natural` always has a correlation id, `nullable` sometimes,
`borrowed` has only the id of its item, `absent` has none."""


def other_row(spec: Block) -> list[str]:
    """The row of a block that is neither a call nor a result."""
    return [code(spec.name), spec.part.__name__, ", ".join(code(key) for key in sorted(spec.keys))]


# --- parts of pages -------------------------------------------------------------------------------


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


def _command_words(group: click.Group, *words: str) -> Iterator[tuple[str, ...]]:
    """The words that name a group of commands and each command in it."""
    yield words
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _command_words(command, *words, name)
        else:
            yield *words, name


def help_texts() -> str:
    """The output of `--help` of the program, every command and every subcommand."""
    sections = []
    for words in _command_words(commands):
        result = CliRunner().invoke(
            commands, [*words, "--help"], prog_name="toolwire", terminal_width=HELP_WIDTH
        )
        heading = " ".join(("toolwire", *words))
        sections.append(f"### {heading}\n\n```text\n{result.stdout.strip()}\n```")
    return "\n\n".join(sections) + "\n"


def tour() -> str:
    """The output of `toolwire tour` in eighty columns."""
    env = {
        **os.environ,
        "COLUMNS": str(HELP_WIDTH),
        "PYTHONIOENCODING": "utf-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    run = subprocess.run(
        [sys.executable, "-m", "toolwire", "tour"],
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


def recent_changes() -> str:
    """The fragments in changes/, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "changes").glob("*.*.md")):
        kind = path.name.split(".")[-2]
        if kind not in KINDS:
            raise SystemExit(f"changes/{path.name}: the kind is one of {', '.join(KINDS)}")
        found[kind].append("- " + " ".join(path.read_text(encoding="utf-8").split()))
    sections = (
        f"#### {KINDS[kind]}\n\n" + "\n".join(lines) + "\n"
        for kind, lines in found.items()
        if lines
    )
    return "\n".join(sections) or "None."


def rules_navigation() -> str:
    """The page of every rule, for the navigation of the site."""
    return "".join(
        f"          - {rule.name}: reference/rules/{rule.name}.md\n" for rule in all_rules()
    )


def wires_navigation() -> str:
    """The page of every wire, for the navigation of the site."""
    return "".join(
        f"          - {wire(name).title}: reference/wires/{name}.md\n" for name in toolwire.wires()
    )


REGIONS: dict[str, dict[str, Callable[[], str]]] = {
    "CHANGELOG.md": {"changes": recent_changes},
    "docs/reference/cli.md": {"help": help_texts, "tour": tour},
    "docs/reference/configuration.md": {"configuration": configuration_tables},
    "docs/reference/catalogue.md": {"counts": counts_table, "types": types_table},
    "mkdocs.yml": {"rules": rules_navigation, "wires": wires_navigation},
}


def fill_regions(text: str, regions: dict[str, Callable[[], str]], page: str) -> str:
    """A page with its generated regions replaced."""
    for name, make in regions.items():
        between = re.compile(
            rf"(^ *(?:<!-- gen {name} -->|# gen {name})\n).*?(^ *(?:<!-- end -->|# end)$)",
            re.DOTALL | re.MULTILINE,
        )
        matches = list(between.finditer(text))
        if len(matches) != 1:
            raise SystemExit(f"{page}: expected one region `gen {name}`, found {len(matches)}")
        (match,) = matches
        content = f"\n{make().strip()}\n\n" if page.endswith(".md") else make()
        text = text[: match.start()] + match[1] + content + match[2] + text[match.end() :]
    return text


def main() -> int:
    """Write the pages, or with --check list those that are stale."""
    wanted = dict(pages())
    wanted[DOCS / "llms.txt"] = llms_text(wanted)
    for page, regions in REGIONS.items():
        wanted[ROOT / page] = fill_regions((ROOT / page).read_text(encoding="utf-8"), regions, page)
    orphans = {
        path
        for folder in ("wires", "rules")
        for path in (REFERENCE / folder).glob("*.md")
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
