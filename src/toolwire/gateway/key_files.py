"""Files of virtual keys: TOML, JSON lines or SQLite. They hold hashes, never keys."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
import tomllib
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from pathlib import Path

from msgspec import ValidationError, convert
from msgspec.structs import fields

from toolwire.conversation.json import JSON, dump, parse
from toolwire.errors import ConfigError
from toolwire.gateway.keys import KeyConfig, expiry_seconds

PREFIX = "tw-"
KEY_BYTES = 32
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_NAME_RULE = "expected letters, digits, _ . @ and -"
_SQLITE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_CREATE_TABLE = """create table if not exists keys (
    name text primary key, sha256 text not null unique, models text,
    rpm real, concurrency integer, expires text)"""


def read_keys(path: Path) -> list[KeyConfig]:
    """The keys of a file.

    Raises:
        ConfigError: lists everything that is wrong.
    """
    try:
        rows = _read_rows(path)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, ValueError, sqlite3.Error) as error:
        raise ConfigError(f"{path}: {error}") from None
    keys: list[KeyConfig] = []
    mistakes: list[str] = []
    for place, row in rows:
        key, wrong = _read_key(row)
        mistakes += [f"{path}: {place}: {reason}" for reason in wrong]
        if key is not None:
            keys.append(key)
    for field in ("name", "sha256"):
        values = [getattr(key, field) for key in keys]
        repeated = sorted({key.name for key in keys if values.count(getattr(key, field)) > 1})
        if repeated:
            mistakes.append(f"{path}: {', '.join(repeated)}: the same {field} twice")
    if mistakes:
        raise ConfigError(*mistakes)
    return keys


def _read_rows(path: Path) -> list[tuple[str, Mapping[str, object]]]:
    """The rows of a file, each with its place."""
    if path.suffix in _SQLITE_SUFFIXES:
        return _read_sqlite(path)
    text = path.read_text()
    if path.suffix == ".toml":
        value = tomllib.loads(text)
        table = value.get("keys", {})
        if set(value) - {"keys"} or not isinstance(table, dict):
            raise ValueError("expected tables [keys.NAME] and nothing else")
        return [
            (f"[keys.{name}]", {"name": name, **(row if isinstance(row, dict) else {})})
            for name, row in table.items()
        ]
    rows: list[tuple[str, Mapping[str, object]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            row = parse(line.encode())
            if not isinstance(row, dict):
                raise ValueError(f"line {number}: expected an object")
            rows.append((f"line {number}", dict(row)))
    return rows


def _read_sqlite(path: Path) -> list[tuple[str, Mapping[str, object]]]:
    if not path.exists():
        raise FileNotFoundError(2, "no such file")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        query = "select name, sha256, models, rpm, concurrency, expires from keys order by name"
        rows = connection.execute(query).fetchall()
    return [(f"keys {row['name']}", _without_nulls(dict(row))) for row in rows]


def _without_nulls(row: dict[str, object]) -> dict[str, object]:
    """The columns of a row that have a value; models are JSON."""
    models = row.pop("models")
    values = {name: value for name, value in row.items() if value is not None}
    return values if models is None else {**values, "models": parse(str(models).encode())}


def _read_key(row: Mapping[str, object]) -> tuple[KeyConfig | None, list[str]]:
    known = [info.name for info in fields(KeyConfig)]
    wrong = [
        f"unknown field {name}; known: {', '.join(known)}" for name in row if name not in known
    ]
    values = {name: _plain(value) for name, value in row.items() if name in known}
    try:
        key = convert(values, KeyConfig)
    except ValidationError as error:
        return None, [*wrong, str(error)]
    if not _SHA256.fullmatch(key.sha256):
        wrong.append(
            "sha256: expected the 64 hexadecimal digits that --new-key writes, not the key"
        )
    if not _NAME.fullmatch(key.name):
        wrong.append(f"name: {_NAME_RULE}")
    if key.rpm is not None and key.rpm <= 0:
        wrong.append(f"rpm: expected more than 0, got {key.rpm:g}")
    if key.concurrency is not None and key.concurrency < 1:
        wrong.append(f"concurrency: expected more than 0, got {key.concurrency}")
    try:
        expiry_seconds(key.expires)
    except ValueError:
        wrong.append(f"expires: expected a date such as 2027-01-31, got {key.expires}")
    return (None if wrong else key), wrong


def _plain(value: object) -> object:
    """A time of TOML as text."""
    return value.isoformat() if isinstance(value, date) else value


def new_key(path: Path, name: str) -> str:
    """Make a key and add its hash to a file. The key itself is not stored.

    Raises:
        ConfigError: the name is invalid or exists, or the file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name}: {_NAME_RULE}")
    if path.exists() and any(key.name == name for key in read_keys(path)):
        raise ConfigError(f"{path}: the key {name} exists; remove it first")
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    sha256 = hashlib.sha256(key.encode()).hexdigest()
    old_mask = os.umask(0o077)  # only the owner may read the file
    try:
        _add_row(path, name, sha256)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: {error}") from None
    finally:
        os.umask(old_mask)
    return key


def _add_row(path: Path, name: str, sha256: str) -> None:
    if path.suffix in _SQLITE_SUFFIXES:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(_CREATE_TABLE)
            connection.execute("insert into keys (name, sha256) values (?, ?)", (name, sha256))
        return
    row: dict[str, JSON] = {"name": name, "sha256": sha256}
    text = f"{dump(row).decode()}\n"
    if path.suffix == ".toml":
        text = f'\n[keys."{name}"]\nsha256 = "{sha256}"\n'
    with path.open("a") as file:
        file.write(text)
