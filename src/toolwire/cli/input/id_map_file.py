"""Id maps in files: `--save-ids` writes them, `--ids` reads them."""

from __future__ import annotations

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.input.files import read_input, write_file
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import dump, load
from toolwire.errors import DecodeError, UsageError

FIELDS = IdMap.__struct_fields__
"""The objects of an id map; a file has at least one of them."""

ids_option = click.option(
    "--ids",
    "ids_file",
    metavar="FILE",
    help="The id map of an earlier translation, to restore its ids and names.",
)


def read_id_map(file: str) -> IdMap:
    """Read an id map from a file."""
    try:
        value, _ = load(read_input(file), "")
    except DecodeError as error:
        raise CommandError(f"{file}: {error.why}") from None
    if not isinstance(value, dict) or not any(field in value for field in FIELDS):
        raise _not_an_id_map(file)
    try:
        return IdMap.of(value)
    except UsageError:
        raise _not_an_id_map(file) from None


def _not_an_id_map(file: str) -> CommandError:
    return CommandError(f"{file}: not an id map as --save-ids writes it")


def save_id_map(file: str, ids: IdMap) -> None:
    """Write an id map to a file."""
    write_file(file, dump(ids.to_dict()) + b"\n")
