"""`toolwire wires`: what is supported, and every type in which calls and results travel."""

from __future__ import annotations

import click

from toolwire.cli.framework.usage_error import complete_wire, known_wires
from toolwire.cli.output.output_mode import view
from toolwire.conversation.json import JSON
from toolwire.profiles.table import PROFILES
from toolwire.translate import catalogue, wires
from toolwire.wires import wire
from toolwire.wires.engine.specs import CatalogueEntry, Id


@click.command("wires")
@click.argument(
    "names", metavar="[WIRE]...", nargs=-1, callback=known_wires, shell_complete=complete_wire
)
@click.option("--types", is_flag=True, help="List the types of calls and results instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal, too.")
def command(names: tuple[str, ...], types: bool, as_json: bool) -> None:
    """List the wires, or with --types every type of call and result with its id.

    A table on a terminal, JSON when piped. WIRE limits the list.
    """
    chosen = [name for name in wires() if not names or name in names]
    out = view(piped=as_json)
    if types:
        entries = [entry for entry in catalogue() if entry.wire in chosen]
        out.table(
            TYPE_COLUMNS,
            [type_cells(entry) for entry in entries],
            [_type_row(entry) for entry in entries],
        )
    else:
        rows = [_wire_row(name) for name in chosen]
        out.table(
            ("wire", "title", "types", "calls", "results", "profiles"),
            [_wire_cells(row) for row in rows],
            list(rows),
        )


def _wire_row(name: str) -> dict[str, JSON]:
    """A wire, how many types of calls and results it has, and the providers' ways of
    speaking it.
    """
    entries = [entry for entry in catalogue() if entry.wire == name]
    return {
        "name": name,
        "title": wire(name).title,
        "types": len(entries),
        "calls": sum(entry.direction.startswith("call") for entry in entries),
        "results": sum(entry.direction.endswith("output") for entry in entries),
        "profiles": [
            row.name for row in PROFILES.values() if row.wire == name and row.name != name
        ],
    }


def _wire_cells(row: dict[str, JSON]) -> list[str]:
    return [
        ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for value in row.values()
    ]


TYPE_COLUMNS = ("wire", "type", "told by", "direction", "family", "run by", "ids", "origin")


def type_cells(entry: CatalogueEntry) -> list[str]:
    """One type as words."""
    told = " ".join(f"{key}={value}" for key, value in entry.discriminator.items())
    named = ", ".join(map(id_words, entry.ids))
    return [
        entry.wire,
        entry.type,
        told,
        entry.direction,
        entry.family,
        entry.executor,
        named,
        entry.origin,
    ]


def id_words(one: Id) -> str:
    """An id field: its name, what it names if not the call, and a question mark where it may be
    missing or null."""
    named = one.name if one.role == "correlation" else f"{one.name} ({one.role})"
    return named if one.required and not one.nullable else f"{named}?"


def _type_row(entry: CatalogueEntry) -> JSON:
    ids: list[JSON] = [
        {"name": one.name, "role": one.role, "required": one.required, "nullable": one.nullable}
        for one in entry.ids
    ]
    return {
        "wire": entry.wire,
        "type": entry.type,
        "tell": dict(entry.discriminator),
        "direction": entry.direction,
        "family": entry.family,
        "executor": entry.executor,
        "ids": ids,
        "origin": entry.origin,
        "forms": list(entry.forms),
    }
