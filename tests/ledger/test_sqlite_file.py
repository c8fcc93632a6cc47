"""The file of a SQLite ledger: who may hold it, what it may be, and where it may lie."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_sqlite import Ask, claim, with_ledger

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.network_filesystem import network_filesystem
from toolwire.execution.ledger.sqlite.ledger import LedgerFileError, SqliteLedger


def test_the_file_is_locked_synced_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    async def work(ledger: SqliteLedger) -> None:
        pragmas = "locking_mode journal_mode synchronous wal_autocheckpoint".split()
        assert await ledger._submit(Ask(*(f"PRAGMA {name}" for name in pragmas))) == [
            "exclusive",
            "wal",
            2,
            2000,
        ]
        await claim(ledger)
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file

    with_ledger(work, tmp_path / "ledger.db")
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"], "nothing is left beside it"


def test_a_second_ledger_on_the_file_is_refused_until_the_first_is_closed(tmp_path: Path) -> None:
    async def work(ledger: SqliteLedger) -> None:
        second = SqliteLedger(tmp_path / "ledger.db", lock_timeout=0)
        for _ in range(2):
            with pytest.raises(LedgerFileError, match="use PostgreSQL") as refused:
                await second.open()
            assert isinstance(refused.value, UsageError)
            assert isinstance(refused.value, LedgerUnavailable)
            with pytest.raises(LedgerUnavailable, match="not open"):
                await claim(second)
        await ledger.close()
        await second.open()
        assert (await claim(second)).state == "new"
        await second.close()

    with_ledger(work, tmp_path / "ledger.db")


def test_a_second_ledger_of_the_same_process_does_not_drop_the_lock_of_the_first(
    tmp_path: Path,
) -> None:
    async def work(ledger: SqliteLedger) -> None:
        with pytest.raises(LedgerFileError):
            await SqliteLedger(tmp_path / "ledger.db", lock_timeout=0).open()
        code = (
            "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT * FROM"
            " call')"
        )
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, str(tmp_path / "ledger.db"), stderr=-1
        )
        _, errors = await other.communicate()
        assert b"database is locked" in errors

    with_ledger(work, tmp_path / "ledger.db")


def not_a_database(path: Path) -> None:
    path.write_bytes(b"what is this" * 500)


def of_something_else(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine(x)")
    db.close()


def of_another_version(path: Path) -> None:
    with_ledger(nothing, path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()


async def nothing(ledger: SqliteLedger) -> None:
    pass


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (not_a_database, "not a database"),
        (of_something_else, "is another database"),
        (of_another_version, "layout 99"),
        (Path.mkdir, "directory"),
    ],
    ids=["not a database", "of something else", "of another version", "a folder"],
)
def test_a_file_that_is_no_ledger_is_refused_and_not_changed(
    tmp_path: Path, prepare: Callable[[Path], None], why: str
) -> None:
    file = tmp_path / "ledger.db"
    prepare(file)
    before = file.read_bytes() if file.is_file() else b""
    with pytest.raises(LedgerFileError, match=why) as refused:
        with_ledger(nothing, file)
    assert str(file) in str(refused.value)
    assert (file.read_bytes() if file.is_file() else b"") == before


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerFileError, match=r"missing/ledger\.db: No such file"):
        with_ledger(nothing, tmp_path / "missing" / "ledger.db")


def test_a_network_file_system_is_recognised_by_the_device_of_the_folder(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    for kind, found in (("nfs4", "nfs4"), ("cifs", "cifs"), ("ext4", None)):
        line = (
            f"36 35 {os.major(device)}:{os.minor(device)} / {tmp_path} rw shared:1 - {kind}"
            " server:/x rw\n"
        )
        mounts.write_text("25 1 0:99 / /other rw - nfs4 server:/y rw\nnonsense\n" + line)
        assert network_filesystem(tmp_path, mounts) == found
    assert network_filesystem(tmp_path, tmp_path / "no such list") is None


def test_a_file_on_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "toolwire.execution.ledger.sqlite.file.network_filesystem", lambda folder: "nfs4"
    )
    with pytest.raises(LedgerFileError, match=r"network file system \(nfs4\).*PostgreSQL"):
        with_ledger(nothing, tmp_path / "ledger.db")


def test_a_file_written_with_another_key_is_refused_and_the_given_key_is_not_kept_in_it(
    tmp_path: Path,
) -> None:
    async def opens(key: bytes | None) -> None:
        ledger = SqliteLedger(tmp_path / "ledger.db", key=key)
        await ledger.open()
        await ledger.close()

    asyncio.run(opens(b"k" * 32))
    assert b"k" * 32 not in (tmp_path / "ledger.db").read_bytes()
    for other in (b"x" * 32, None):
        with pytest.raises(LedgerFileError, match="another key"):
            asyncio.run(opens(other))
    asyncio.run(opens(b"k" * 32))


@pytest.mark.parametrize(
    "options", [{"result_ttl": 0}, {"result_ttl": 10, "tombstone_ttl": 9}], ids=str
)
def test_impossible_times_are_refused_at_once(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="result_ttl"):
        SqliteLedger(":memory:", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="key"):
        SqliteLedger(":memory:", key=b"short")
