"""Virtual keys: who may ask a gateway for which models, and how often.

A file holds hashes only; a key is shown once, when it is made. Which key it is, is looked up by its
hash, so that time tells nothing about it. Limits are counted in each process. A key that is
unknown, expired or taken back is told the same.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import sqlite3
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from toolwire.conversation.json import JSON, dump, parse
from toolwire.errors import ConfigError
from toolwire.server.auth import Auth

PREFIX = "tw-"
BYTES = 32
"""Random bytes of a key."""
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_TABLES = (".db", ".sqlite", ".sqlite3")
_MAKE = """create table if not exists keys (
    name text primary key, sha256 text not null unique, models text,
    rpm real, concurrency integer, expires text)"""
_log = logging.getLogger("toolwire.gateway")


class KeyRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One virtual key."""

    name: str
    """Whose it is: it stands in logs and in the records of calls."""
    sha256: str
    """The hash of the key, in hexadecimal."""
    models: tuple[str, ...] = ("*",)
    """The models it may ask for: names or patterns."""
    rpm: float | None = None
    """Requests in a minute; as many may come at once after a minute's rest."""
    concurrency: int | None = None
    """Requests at once."""
    expires: str | float | None = None
    """When it ends: a date, a time, or seconds since 1970."""


class KeyHolder:
    """A key that is in use, and what is left of its limits."""

    def __init__(self, row: KeyRow, now: Callable[[], float]) -> None:
        self.row = row
        self.ends = _seconds(row.expires)
        self.running = 0
        self._now = now
        self._left = row.rpm or 0.0
        self._at = now()

    @property
    def name(self) -> str:
        """Whose it is."""
        return self.row.name

    def may(self, model: str) -> bool:
        """Whether it may ask for a model."""
        return any(model == one or fnmatchcase(model, one) for one in self.row.models)

    def take(self) -> float | None:
        """Begin a request; if it may not begin yet, the seconds to wait."""
        most = self.row.concurrency
        if most is not None and self.running >= most:
            return 1.0
        rate = self.row.rpm
        if rate is not None:
            now = self._now()
            full = max(1.0, rate)
            self._left = min(full, self._left + (now - self._at) * rate / 60.0)
            self._at = now
            if self._left < 1.0:
                return (1.0 - self._left) * 60.0 / rate if rate > 0 else 3600.0
            self._left -= 1.0
        self.running += 1
        return None

    def give(self) -> None:
        """End a request."""
        self.running -= 1

    def like(self, row: KeyRow) -> KeyHolder:
        """The same key under another row: what is used up stays used up."""
        new = KeyHolder(row, self._now)
        if row.rpm is not None and self.row.rpm is not None:
            new._left, new._at = min(self._left, max(1.0, row.rpm)), self._at
        new.running = self.running
        return new


class Keys(Auth):
    """The keys that a gateway takes."""

    def __init__(
        self,
        rows: Sequence[KeyRow] = (),
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._clock = clock
        self._ticks = ticks
        self._holders: dict[bytes, KeyHolder] = {}
        self.use(rows)

    def use(self, rows: Sequence[KeyRow]) -> None:
        """Go on with other rows; the limits of keys that stay are not begun anew."""
        kept = self._holders
        self._holders = {}
        for row in rows:
            known = bytes.fromhex(row.sha256)
            before = kept.get(known)
            if before is not None and before.row == row:
                self._holders[known] = before
            else:
                self._holders[known] = (
                    before.like(row) if before is not None else KeyHolder(row, self._ticks)
                )

    @property
    def on(self) -> bool:
        """Always: a file without keys lets nobody in."""
        return True

    def principal(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Whose key a request shows; None is refused."""
        held = self.holder(headers)
        return None if held is None else f"key:{held.name}"

    def holder(self, headers: Mapping[bytes, bytes]) -> KeyHolder | None:
        """The key that a request shows as its bearer; None if there is none that counts."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        token = token.strip()
        if scheme.lower() != b"bearer" or not token:
            return None
        given = hashlib.sha256(token).digest()
        held = self._holders.get(given)
        if held is None or not hmac.compare_digest(bytes.fromhex(held.row.sha256), given):
            _log.info("refused a caller: unknown key")
            return None
        if held.ends is not None and self._clock() >= held.ends:
            _log.info("refused a caller: the key %s has expired", held.name)
            return None
        return held


# --- files ----------------------------------------------------------------------------------------


def read_keys(path: Path) -> list[KeyRow]:
    """The keys of a file. Raises ConfigError that lists everything that is wrong."""
    try:
        given = _given(path)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, ValueError, sqlite3.Error) as error:
        raise ConfigError(f"{path}: {error}") from None
    rows: list[KeyRow] = []
    mistakes: list[str] = []
    for where, value in given:
        row, wrong = _row(value)
        mistakes += [f"{path}: {where}: {one}" for one in wrong]
        if row is not None:
            rows.append(row)
    for what in ("name", "sha256"):
        held = [getattr(row, what) for row in rows]
        twice = sorted({row.name for row in rows if held.count(getattr(row, what)) > 1})
        if twice:
            mistakes.append(f"{path}: {', '.join(twice)}: the same {what} is there twice")
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def _given(path: Path) -> list[tuple[str, Mapping[str, object]]]:
    """The rows of a file with their places."""
    if path.suffix in _TABLES:
        if not path.exists():
            raise FileNotFoundError(2, "no such file")
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as held:
            held.row_factory = sqlite3.Row
            rows = held.execute(
                "select name, sha256, models, rpm, concurrency, expires from keys order by name"
            ).fetchall()
        return [(f"keys {row['name']}", _columns(dict(row))) for row in rows]
    text = path.read_text()
    if path.suffix == ".toml":
        whole = tomllib.loads(text)
        table = whole.get("keys", {})
        if set(whole) - {"keys"} or not isinstance(table, dict):
            raise ValueError("expected tables [keys.NAME] and nothing else")
        return [
            (f"[keys.{name}]", {"name": name, **(row if isinstance(row, dict) else {})})
            for name, row in table.items()
        ]
    out: list[tuple[str, Mapping[str, object]]] = []
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip():
            value = parse(line.encode())
            if not isinstance(value, dict):
                raise ValueError(f"line {n}: expected an object")
            out.append((f"line {n}", dict(value)))
    return out


def _columns(row: dict[str, object]) -> dict[str, object]:
    """The columns of a table without those that are empty; models are JSON."""
    models = row.pop("models")
    kept = {name: value for name, value in row.items() if value is not None}
    return kept if models is None else {**kept, "models": parse(str(models).encode())}


def _row(value: Mapping[str, object]) -> tuple[KeyRow | None, list[str]]:
    known = [one.name for one in fields(KeyRow)]
    wrong = [
        f"no such field: {name}; there are {', '.join(known)}"
        for name in value
        if name not in known
    ]
    try:
        row = convert({name: _plain(one) for name, one in value.items() if name in known}, KeyRow)
    except ValidationError as error:
        return None, [*wrong, str(error)]
    if not _HASH.fullmatch(row.sha256):
        wrong.append(
            "sha256: expected the 64 hexadecimal digits that --new-key writes, not the key"
        )
    if not _NAME.fullmatch(row.name):
        wrong.append("name: expected letters, digits, _ . @ and -")
    if row.rpm is not None and row.rpm <= 0:
        wrong.append(f"rpm: expected more than 0, got {row.rpm:g}")
    if row.concurrency is not None and row.concurrency < 1:
        wrong.append(f"concurrency: expected more than 0, got {row.concurrency}")
    try:
        _seconds(row.expires)
    except ValueError:
        wrong.append(f"expires: expected a date such as 2027-01-31, got {row.expires}")
    return (None if wrong else row), wrong


def _plain(value: object) -> object:
    """A time of TOML as text."""
    return value.isoformat() if isinstance(value, date) else value


def _seconds(when: str | float | None) -> float | None:
    """A time as seconds since 1970; what names no zone is UTC. Raises ValueError."""
    if not isinstance(when, str):
        return when
    at = datetime.fromisoformat(when)
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def new_key(path: Path, name: str) -> str:
    """A new key, whose hash is added to a file. It is told here and never again. Raises
    ConfigError."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name}: expected letters, digits, _ . @ and -")
    if path.exists() and any(row.name == name for row in read_keys(path)):
        raise ConfigError(f"{path}: there is a key {name} already; take it out first")
    key = PREFIX + secrets.token_urlsafe(BYTES)
    known = hashlib.sha256(key.encode()).hexdigest()
    old = os.umask(0o077)  # only its owner may read it
    try:
        _add(path, name, known)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: {error}") from None
    finally:
        os.umask(old)
    return key


def _add(path: Path, name: str, known: str) -> None:
    if path.suffix in _TABLES:
        with closing(sqlite3.connect(path)) as held, held:
            held.execute(_MAKE)
            held.execute("insert into keys (name, sha256) values (?, ?)", (name, known))
        return
    row: dict[str, JSON] = {"name": name, "sha256": known}
    told = (
        f'\n[keys."{name}"]\nsha256 = "{known}"\n'
        if path.suffix == ".toml"
        else f"{dump(row).decode()}\n"
    )
    with path.open("a") as file:
        file.write(told)
