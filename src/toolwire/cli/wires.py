"""`toolwire wires`: the supported wires, and every type of call and result."""

from __future__ import annotations

import click

from toolwire.cli.input.wire_option import complete_wire, validate_wires
from toolwire.cli.output.view import choose_view
from toolwire.codec.known_wires import catalogue, wires
from toolwire.conversation.json import JSON
from toolwire.profiles.table import PROFILES
from toolwire.wires import wire
from toolwire.wires.engine.specs import CatalogueEntry, Id

WIRE_COLUMNS = ("wire", "title", "types", "calls", "results", "profiles")
TYPE_COLUMNS = ("wire", "type", "marked by", "direction", "family", "run by", "ids", "origin")


@click.command("wires")
@click.argument(
    "names", metavar="[WIRE]...", nargs=-1, callback=validate_wires, shell_complete=complete_wire
)
@click.option("--types", is_flag=True, help="List the types of calls and results instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal as well.")
def command(names: tuple[str, ...], types: bool, as_json: bool) -> None:
    """List the wires, or with --types their types of calls and results.

    WIRE limits the list to some wires. The output is a table on a terminal and JSON in a pipe.
    """
    selected = [name for name in wires() if not names or name in names]
    view = choose_view(as_json=as_json)
    if types:
        entries = [entry for entry in catalogue() if entry.wire in selected]
        view.table(TYPE_COLUMNS, list(map(type_cells, entries)), list(map(_type_row, entries)))
    else:
        rows = [_wire_row(name) for name in selected]
        view.table(WIRE_COLUMNS, list(map(_wire_cells, rows)), list(rows))


def _wire_row(name: str) -> dict[str, JSON]:
    """Return a wire, its numbers of call and result types, and its profiles."""
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


def type_cells(entry: CatalogueEntry) -> list[str]:
    """Return the cells of one type in the table."""
    return [
        entry.wire,
        entry.type,
        " ".join(f"{key}={value}" for key, value in entry.discriminator.items()),
        entry.direction,
        entry.family,
        entry.executor,
        ", ".join(map(describe_id, entry.ids)),
        entry.origin,
    ]


def describe_id(field: Id) -> str:
    """Return the name of an id field and what it identifies; "?" marks one that may be absent."""
    name = field.name if field.role == "correlation" else f"{field.name} ({field.role})"
    return name if field.required and not field.nullable else f"{name}?"


def _type_row(entry: CatalogueEntry) -> JSON:
    ids: list[JSON] = [
        {
            "name": field.name,
            "role": field.role,
            "required": field.required,
            "nullable": field.nullable,
        }
        for field in entry.ids
    ]
    return {
        "wire": entry.wire,
        "type": entry.type,
        "discriminator": dict(entry.discriminator),
        "direction": entry.direction,
        "family": entry.family,
        "executor": entry.executor,
        "ids": ids,
        "origin": entry.origin,
        "forms": list(entry.forms),
    }
