"""Put new text into a file without ever losing the old: a backup that overwrites none, then one
swap."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from shutil import copymode, copystat
from tempfile import NamedTemporaryFile

from toolwire.cli.framework.usage_error import CommandError


def swap(file: str, old: bytes, new: bytes) -> Path:
    """Replace a file that holds `old`, and give the backup. At every moment the file is whole, the
    old or the new.

    Raises CommandError if it cannot be done, or if somebody else has changed the file; nothing has
    changed then.
    """
    path = Path(file).resolve()  # A link stays a link.
    try:
        if path.read_bytes() != old:
            raise CommandError(f"{file}: changed while it was being repaired; nothing was written")
        kept = _backup(path, old)
        _replace(path, new)
    except OSError as error:
        raise CommandError(
            f"{file}: {(error.strerror or str(error)).lower()}; it is as it was"
        ) from None
    return kept


def _backup(path: Path, text: bytes) -> Path:
    """A copy under the first name that is free."""
    for number in count():
        kept = path.with_name(f"{path.name}.bak{number or ''}")
        try:
            with kept.open("xb") as out:
                _whole(out.fileno(), text)
        except FileExistsError:
            continue
        copystat(path, kept)
        return kept
    raise AssertionError("numbers do not end")


def _replace(path: Path, text: bytes) -> None:
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as out:
        try:
            _whole(out.fileno(), text)
            copymode(path, out.name)
            Path(out.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(out.name).unlink()
            raise


def _whole(descriptor: int, text: bytes) -> None:
    """Write all of it, down to the disk."""
    with os.fdopen(descriptor, "wb", closefd=False) as out:
        out.write(text)
        out.flush()
        os.fsync(descriptor)
