"""Which owners of calls are alive: each one holds a lock on its own file.

So neither a lease nor a clock decides who is dead. An owner without a file, or whose file is not
locked, is dead. Ids of owners are random and never used again, so a dead owner stays dead.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from secrets import token_bytes

from toolwire.execution.ledger.sqlite.lock_file import LockFile


class OwnerFiles:
    """The file of one owner, and checks of the other owners' files.

    Args:
        folder: the folder of the files; None for a ledger in memory, which has no other owners.
    """

    def __init__(self, folder: Path | None) -> None:
        self.id = token_bytes(16)
        self._folder = folder
        self._file: LockFile | None = None

    def enter(self) -> None:
        """Create and lock the file of this owner, and remove those of dead ones. Raises OSError."""
        if self._folder is None:
            return
        while self._file is None:
            self.id = token_bytes(16)
            self._file = _create_locked(self._folder / self.id.hex())
        for path in self._folder.iterdir():
            with suppress(ValueError):  # not the file of an owner
                self.is_alive(bytes.fromhex(path.name))

    def leave(self) -> None:
        """Remove the file of this owner."""
        if self._folder is None or self._file is None:
            return
        with suppress(OSError):
            (self._folder / self.id.hex()).unlink()
        self._file.close()
        self._file = None

    def is_alive(self, owner: bytes) -> bool:
        """True if the process of an owner lives, or may live: its call must not run twice."""
        if owner == self.id or self._folder is None:
            return owner == self.id
        path = self._folder / owner.hex()
        try:
            file = LockFile(path, create=False)
        except OSError as error:
            return not isinstance(error, FileNotFoundError)
        try:
            if not file.try_lock():
                return True
        except OSError:
            return True
        else:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()
            return False
        finally:
            file.close()


def _create_locked(path: Path) -> LockFile | None:
    """Create and lock a file; None if another process took it for that of a dead owner first."""
    file = LockFile(path)
    try:
        if file.try_lock() and path.exists():
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None
