"""Id maps in files: `--save-ids` writes them, `--ids` reads them."""

from __future__ import annotations

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.input.files import read_input, write_file
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, dump, load
from toolwire.errors import DecodeError

FIELDS = ("ids", "names", "forms")
"""The objects of an id map; a file has at least one of them."""


def read_id_map(file: str) -> IdMap:
    """Read an id map: objects whose values are strings."""
    try:
        value, _ = load(read_input(file), "")
    except DecodeError as error:
        raise CommandError(f"{file}: {error.why}") from None
    if not isinstance(value, dict) or not any(field in value for field in FIELDS):
        raise _not_an_id_map(file)
    return IdMap(*(_strings(value.get(field, {}), file) for field in FIELDS))


def _strings(value: JSON, file: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _not_an_id_map(file)
    strings = {key: text for key, text in value.items() if isinstance(text, str)}
    if len(strings) != len(value):
        raise _not_an_id_map(file)
    return strings


def _not_an_id_map(file: str) -> CommandError:
    return CommandError(f"{file}: not an id map as --save-ids writes it")


def save_id_map(file: str, ids: IdMap) -> None:
    """Write an id map to a file."""
    fields: JSON = {key: dict(value) for key, value in ids.to_dict().items()}
    write_file(file, dump(fields) + b"\n")
