"""The file of a SQLite ledger: locks, permissions, contents, and file systems."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_sqlite import Ask, claim, with_ledger

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.network_filesystem import network_filesystem
from toolwire.execution.ledger.sqlite.ledger import LedgerFileError, SqliteLedger


def test_the_file_is_synced_and_only_its_user_can_read_it(tmp_path: Path) -> None:
    async def work(ledger: SqliteLedger) -> None:
        pragmas = "journal_mode synchronous wal_autocheckpoint".split()
        assert await ledger._submit(Ask(*(f"PRAGMA {name}" for name in pragmas))) == [
            "wal",
            2,
            2000,
        ]
        await claim(ledger)
        for file in tmp_path.rglob("*"):
            mode = 0o700 if file.is_dir() else 0o600
            assert stat.S_IMODE(file.stat().st_mode) == mode, file

    with_ledger(work, tmp_path / "ledger.db")
    left = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*"))
    assert left == ["ledger.db", "ledger.db-locks", "ledger.db-locks/write"]


def test_a_file_that_another_process_has_locked_is_refused_until_it_is_free(tmp_path: Path) -> None:
    with_ledger(nothing, tmp_path / "ledger.db")
    other = sqlite3.connect(tmp_path / "ledger.db")
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    async def work() -> None:
        ledger = SqliteLedger(tmp_path / "ledger.db", lock_timeout=0)
        for _ in range(2):
            with pytest.raises(LedgerFileError, match="another process has locked it") as refused:
                await ledger.open()
            assert isinstance(refused.value, UsageError)
            assert isinstance(refused.value, LedgerUnavailable)
            with pytest.raises(LedgerUnavailable, match="not open"):
                await claim(ledger)
        other.close()
        await ledger.open()
        assert (await claim(ledger)).state == "new"
        await ledger.close()

    asyncio.run(work())


def test_closing_a_second_ledger_of_the_same_process_does_not_end_the_calls_of_the_first(
    tmp_path: Path,
) -> None:
    async def work(ledger: SqliteLedger) -> None:
        await claim(ledger)
        for _ in range(2):
            other = SqliteLedger(tmp_path / "ledger.db")
            await other.open()
            assert (await claim(other)).state == "running"
            await other.close()

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
