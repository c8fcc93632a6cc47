"""Files that one process at a time locks.

The operating system releases the lock when a process ends, however it ends, and keeps it while the
process is only paused.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
if sys.platform != "win32":
    import fcntl

_open_files: set[int] = set()
"""The lock files of this process."""


class LockFile:
    """A file that is open until `close`.

    Args:
        path: the file.
        create: create the file if it is absent.

    Raises OSError if it cannot be opened.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._file = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        _open_files.add(self._file)

    def try_lock(self) -> bool:
        """Lock the file; False if it is locked already. Raises OSError."""
        try:
            if sys.platform == "win32":
                msvcrt.locking(self._file, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(self) -> None:
        """Release the lock."""
        if sys.platform == "win32":
            msvcrt.locking(self._file, msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, which releases the lock."""
        _open_files.discard(self._file)
        os.close(self._file)


def _close_in_child() -> None:
    """Close the lock files in a forked process, which would keep the locks of a dead parent."""
    for file in _open_files:
        os.close(file)
    _open_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
