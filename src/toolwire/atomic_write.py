"""Replace the content of a file without ever losing the old content. Does I/O.

A backup never overwrites another file, and the file is replaced in one step.
"""

from __future__ import annotations

import os
from contextlib import suppress
from errno import EINVAL
from itertools import count
from pathlib import Path
from shutil import copymode, copystat
from tempfile import NamedTemporaryFile

from toolwire.errors import UsageError, describe_os_error


def replace_file(file: str | Path, old: bytes, new: bytes) -> Path:
    """Replace the content `old` of a file by `new`, and return the path of the backup.

    At every moment the file holds the whole old or the whole new content.

    Raises:
        UsageError: The file cannot be written, or another program has changed it. It stays
            unchanged.
    """
    path = Path(file).resolve()  # A symbolic link stays a link.
    try:
        if path.read_bytes() != old:
            raise UsageError(f"{file}: changed while it was being repaired; nothing was written")
        backup = _back_up(path, old)
        _replace(path, new, mode_of=path)
    except OSError as error:
        raise UsageError(f"{file}: {describe_os_error(error)}; nothing was written") from None
    return backup


def write_copy(file: str | Path, original: str | Path, text: bytes) -> None:
    """Write a file in one step, with the mode of another file; if there is none, readable only by
    its owner. It is durable when this returns.

    Raises:
        UsageError: The file cannot be written.
    """
    path = Path(file).resolve()
    try:
        _replace(path, text, mode_of=Path(original))
    except OSError as error:
        raise UsageError(f"{file}: {describe_os_error(error)}; nothing was written") from None


def _back_up(path: Path, text: bytes) -> Path:
    """Write a backup of a file under the first free name."""
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


def _replace(path: Path, text: bytes, *, mode_of: Path) -> None:
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "not a regular file")  # as root, a device would be replaced
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as out:
        try:
            _write_to_disk(out.fileno(), text)
            with suppress(FileNotFoundError):
                copymode(mode_of, out.name)
            Path(out.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(out.name).unlink()
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_to_disk(descriptor: int, text: bytes) -> None:
    with os.fdopen(descriptor, "wb", closefd=False) as out:
        out.write(text)
        out.flush()
        os.fsync(descriptor)
