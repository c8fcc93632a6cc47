"""Replace the content of a file without ever losing the old one.

A backup never overwrites another file, and the file is replaced in one step.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from shutil import copymode, copystat
from tempfile import NamedTemporaryFile

from toolwire.cli.framework.errors import CommandError, describe_os_error


def replace_file(file: str, old: bytes, new: bytes) -> Path:
    """Replace the content `old` of a file by `new`, and return the path of the backup.

    At every moment the file holds the whole old or the whole new content.

    Raises CommandError if the file cannot be written, or if another program has changed it. Nothing
    has changed then.
    """
    path = Path(file).resolve()  # A link stays a link.
    try:
        if path.read_bytes() != old:
            raise CommandError(f"{file}: changed while it was being repaired; nothing was written")
        backup = _back_up(path, old)
        _replace(path, new)
    except OSError as error:
        raise CommandError(f"{file}: {describe_os_error(error)}; nothing was written") from None
    return backup


def _back_up(path: Path, text: bytes) -> Path:
    """Write a copy under the first free name."""
    for number in count():
        backup = path.with_name(f"{path.name}.bak{number or ''}")
        try:
            with backup.open("xb") as out:
                _write_to_disk(out.fileno(), text)
        except FileExistsError:
            continue
        copystat(path, backup)
        return backup
    raise AssertionError("count() is endless")


def _replace(path: Path, text: bytes) -> None:
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as out:
        try:
            _write_to_disk(out.fileno(), text)
            copymode(path, out.name)
            Path(out.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(out.name).unlink()
            raise


def _write_to_disk(descriptor: int, text: bytes) -> None:
    with os.fdopen(descriptor, "wb", closefd=False) as out:
        out.write(text)
        out.flush()
        os.fsync(descriptor)
