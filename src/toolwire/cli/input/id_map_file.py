"""Id maps in files, as `--save-ids` writes them and `--ids` reads them."""

from __future__ import annotations

from toolwire.cli.framework.usage_error import CommandError, read_input, write_output
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, dump, load
from toolwire.errors import DecodeError

MAPS = ("ids", "names", "forms")
"""The objects of an id map; a file has at least one of them."""


def read_ids(file: str) -> IdMap:
    """The id map of a file: objects of text, as `--save-ids` writes them."""
    try:
        value, _ = load(read_input(file), "")
    except DecodeError as error:
        raise CommandError(f"{file}: {error.why}") from None
    parts: list[dict[str, str]] = []
    known = isinstance(value, dict) and any(key in value for key in MAPS)
    for key in MAPS:
        held = value.get(key, {}) if known and isinstance(value, dict) else None
        if not isinstance(held, dict) or not all(isinstance(one, str) for one in held.values()):
            raise CommandError(f"{file}: not an id map as --save-ids writes it")
        parts.append({name: one for name, one in held.items() if isinstance(one, str)})
    return IdMap(*parts)


def save_ids(file: str, ids: IdMap) -> None:
    """Write an id map to a file."""
    plain: JSON = {key: dict(held) for key, held in ids.to_dict().items()}
    write_output(file, dump(plain) + b"\n")
