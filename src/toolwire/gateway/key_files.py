"""Files of virtual keys: TOML, JSON lines or SQLite. They hold hashes, never keys."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import date
from errno import EINVAL
from pathlib import Path

from msgspec import ValidationError, convert
from msgspec.structs import fields

from toolwire.conversation.json import JSON, dump, parse
from toolwire.errors import ConfigError, describe_os_error
from toolwire.gateway.config.mistakes import suggest
from toolwire.gateway.keys import KeyConfig, expiry_seconds

PREFIX = "tw-"
KEY_BYTES = 32
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_NAME_RULE = "expected letters, digits, _ . @ and -"
_SQLITE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_CREATE_TABLE = (
    "create table if not exists keys (name text primary key, sha256 text not null unique)"
)
_LIMIT_COLUMNS = {
    "models": "text",
    "rpm": "real",
    "tpm": "real",
    "concurrency": "integer",
    "budget_per_day": "real",
    "budget_per_month": "real",
    "expires": "text",
}
"""The optional fields of a key, and the types of their columns in SQLite."""


def read_keys(path: Path) -> list[KeyConfig]:
    """The keys of a file.

    Raises:
        ConfigError: lists everything that is wrong.
    """
    try:
        rows = _read_rows(path)
    except OSError as error:
        raise ConfigError(f"{path}: {describe_os_error(error)}") from None
    except (tomllib.TOMLDecodeError, ValueError, sqlite3.Error) as error:
        raise ConfigError(f"{path}: {error}") from None
    keys: list[KeyConfig] = []
    mistakes: list[str] = []
    for location, row in rows:
        key, wrong = _read_key(row)
        mistakes += [f"{path}: {location}: {reason}" for reason in wrong]
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
    """The rows of a file, each with its position."""
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
        rows = connection.execute("select * from keys order by name").fetchall()
    return [(f"keys {row['name']}", _without_nulls(dict(row))) for row in rows]


def _without_nulls(row: dict[str, object]) -> dict[str, object]:
    """The columns of a row that have a value; models are JSON."""
    models = row.pop("models", None)
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
            "sha256: expected the 64 hexadecimal digits of `toolwire keys add`, not the key"
        )
    if not _NAME.fullmatch(key.name):
        wrong.append(f"name: {_NAME_RULE}")
    for name in ("rpm", "tpm", "concurrency", "budget_per_day", "budget_per_month"):
        limit: float | None = getattr(key, name)
        if limit is not None and limit <= 0:
            wrong.append(f"{name}: expected more than 0, got {limit:g}")
    try:
        expiry_seconds(key.expires)
    except ValueError:
        wrong.append(f"expires: expected a date such as 2027-01-31, got {key.expires}")
    return (None if wrong else key), wrong


def _plain(value: object) -> object:
    """The value, with a date or time of TOML as text."""
    return value.isoformat() if isinstance(value, date) else value


# --- changes --------------------------------------------------------------------------------------


def add_key(path: Path, name: str, limits: Mapping[str, JSON] | None = None) -> str:
    """Make a key and add its hash to a file. The key itself is not stored.

    Args:
        path: the file; it is created if it does not exist.
        name: the owner of the key.
        limits: other fields of its row, such as `rpm`.

    Raises:
        ConfigError: the name or a limit is invalid, the name exists, or the file cannot be written.
    """
    if path.exists() and any(key.name == name for key in read_keys(path)):
        raise ConfigError(f"{path}: the key {name} exists; revoke it first")
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    row: dict[str, JSON] = {"name": name, "sha256": hashlib.sha256(key.encode()).hexdigest()}
    row.update(limits or {})
    _check_row(row)
    with _written_by_owner(path):
        if path.suffix in _SQLITE_SUFFIXES:
            _change_sqlite(path, row)
        else:
            text = path.read_text() if path.exists() else ""
            added = _toml_table(row) if path.suffix == ".toml" else f"{dump(row).decode()}\n"
            _replace_text(path, text + added)
    return key


def change_key(path: Path, name: str, limits: Mapping[str, JSON]) -> None:
    """Change fields of a key, such as `rpm`; None removes a field.

    Raises:
        ConfigError: the key does not exist, a limit is invalid, or the file cannot be written.
    """
    found = _find_key(path, name)
    row = {**_fields_of(found), **limits}
    row = {field: value for field, value in row.items() if value is not None}
    _check_row(row)
    with _written_by_owner(path):
        if path.suffix in _SQLITE_SUFFIXES:
            _change_sqlite(path, row)
        else:
            _replace_row(path, name, row)


def revoke_key(path: Path, name: str) -> None:
    """Remove a key from a file; a running gateway rejects it from then on.

    Raises:
        ConfigError: the key does not exist, or the file cannot be written.
    """
    _find_key(path, name)
    with _written_by_owner(path):
        if path.suffix in _SQLITE_SUFFIXES:
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("delete from keys where name = ?", (name,))
        else:
            _replace_row(path, name, None)


def _find_key(path: Path, name: str) -> KeyConfig:
    keys = {key.name: key for key in read_keys(path)}
    if name not in keys:
        raise ConfigError(f"{path}: there is no key {name}{suggest(name, sorted(keys))}")
    return keys[name]


def _fields_of(key: KeyConfig) -> dict[str, JSON]:
    """The fields of a key that differ from their defaults, as JSON."""
    fields_of_key: dict[str, JSON] = {"name": key.name, "sha256": key.sha256}
    for field in _LIMIT_COLUMNS:
        value: JSON = getattr(key, field)
        if field == "models":
            value = list(key.models) if key.models != ("*",) else None
        if value is not None:
            fields_of_key[field] = value
    return fields_of_key


def _check_row(row: Mapping[str, JSON]) -> None:
    _, wrong = _read_key(row)
    if wrong:
        raise ConfigError(*(f"{row['name']}: {reason}" for reason in wrong))


@contextmanager
def _written_by_owner(path: Path) -> Iterator[None]:
    """Create files that only their owner can read; report why a file cannot be written."""
    old_mask = os.umask(0o077)
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path}: {describe_os_error(error)}") from None
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: {error}") from None
    finally:
        os.umask(old_mask)


def _change_sqlite(path: Path, row: Mapping[str, JSON]) -> None:
    """Write a row; fields that it lacks become null."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(_CREATE_TABLE)
        known = {column[1] for column in connection.execute("pragma table_info(keys)")}
        for column, kind in _LIMIT_COLUMNS.items():
            if column not in known:
                connection.execute(f"alter table keys add column {column} {kind}")
        values = {column: row.get(column) for column in ("name", "sha256", *_LIMIT_COLUMNS)}
        if values["models"] is not None:
            values["models"] = dump(values["models"]).decode()
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        connection.execute(
            f"insert or replace into keys ({columns}) values ({marks})", tuple(values.values())
        )


def _replace_row(path: Path, name: str, row: Mapping[str, JSON] | None) -> None:
    """Replace the row of a key in a text file, or remove it; everything else stays as it is."""
    lines = path.read_text().splitlines(keepends=True)
    if path.suffix == ".toml":
        start, end = _toml_span(lines, name)
        added = [] if row is None else [_toml_table(row).lstrip("\n")]
    else:
        start = next(n for n, line in enumerate(lines) if _line_name(line) == name)
        end = start + 1
        added = [] if row is None else [f"{dump(dict(row)).decode()}\n"]
    _replace_text(path, "".join([*lines[:start], *added, *lines[end:]]))


def _line_name(line: str) -> JSON:
    row = parse(line.encode()) if line.strip() else None
    return row.get("name") if isinstance(row, dict) else None


def _toml_span(lines: list[str], name: str) -> tuple[int, int]:
    """The lines of the table of a key: from its header to its last assignment."""
    start = end = -1
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith("["):
            if start >= 0:
                break
            header = tomllib.loads(text)
            keys = header.get("keys")
            if isinstance(keys, dict) and name in keys:
                start = end = number
        elif start >= 0 and text and not text.startswith("#"):
            end = number
    return start, end + 1


def _toml_table(row: Mapping[str, JSON]) -> str:
    """A row as a TOML table. JSON writes strings, numbers and lists of strings as TOML does."""
    lines = [f"{field} = {dump(value).decode()}" for field, value in row.items() if field != "name"]
    return "\n" + "\n".join([f'[keys."{row["name"]}"]', *lines, ""])


def _replace_text(path: Path, text: str) -> None:
    """Write a file atomically: a gateway that reads it gets the old text or the new one.

    A new file is readable only by its owner; an existing file keeps its mode.
    """
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "not a regular file")  # as root, a device would be replaced
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    temporary.write_text(text)
    if path.exists():
        temporary.chmod(path.stat().st_mode)
    temporary.replace(path)
