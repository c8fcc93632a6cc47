"""Parse the text of a configuration and report every mistake in its form."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from msgspec import Struct, ValidationError, convert
from msgspec.structs import FieldInfo, fields

from toolwire.errors import ConfigError
from toolwire.gateway.config.mistakes import Mistake, SourceLines, suggest, table_name
from toolwire.gateway.config.schema import NAMED_TABLES, TABLES, Config

_MISSING_HINTS = {"upstream": 'missing; name the provider, as in upstream = "anthropic"'}
_PLAIN_TYPES = (
    ("`str`", "a string"),
    ("`int`", "an integer"),
    ("`float`", "a number"),
    ("`bool`", "true or false"),
    ("`array`", "a list"),
    ("`object`", "a table"),
    (" | null", ""),
    ("Expected", "expected"),
)


def read_config(text: str, file: str = "the configuration") -> Config:
    """The configuration in a text.

    Raises:
        ConfigError: lists every mistake in its form, with lines.
    """
    config, mistakes = parse_config(text, file)
    if mistakes:
        raise ConfigError(*SourceLines(file, text).describe(mistakes))
    return config


def parse_config(text: str, file: str) -> tuple[Config, list[Mistake]]:
    """The configuration in a text as far as it is valid, and its mistakes.

    Raises:
        ConfigError: the text is not TOML.
    """
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        raise ConfigError(f"{file}: not TOML: {reason[:1].lower()}{reason[1:]}") from None
    parser = _Parser()
    return parser.parse(value), parser.mistakes


class _Parser:
    """Converts tables to structs and collects mistakes."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def parse(self, value: Mapping[str, object]) -> Config:
        tables: dict[str, object] = {}
        for name, table in value.items():
            if name in NAMED_TABLES and isinstance(table, dict):
                kind = NAMED_TABLES[name]
                rows = {
                    key: self._table(kind, table_name(name, key), row) for key, row in table.items()
                }
                tables[name] = {key: row for key, row in rows.items() if row is not None}
            elif name in TABLES and isinstance(table, dict):
                parsed = self._table(TABLES[name], name, table)
                if parsed is not None:
                    tables[name] = parsed
            elif name in NAMED_TABLES:
                self._report(name, "", f"expected a table, as in [{name}.fast]")
            elif name in TABLES:
                self._report(name, "", f"expected a table: [{name}]")
            else:
                self._report("", name, f"unknown table{suggest(name, [*TABLES, *NAMED_TABLES])}")
        return Config(**tables)  # type: ignore[arg-type]

    def _table(self, kind: type[Struct], table: str, value: object) -> Struct | None:
        known: dict[str, FieldInfo] = {info.name: info for info in fields(kind)}
        required = [name for name, info in known.items() if info.required]
        if not isinstance(value, dict):
            self._report(table, "", f"expected a table with {', '.join(required)}")
            return None
        converted: dict[str, object] = {}
        for key, item in value.items():
            if key not in known:
                self._report(table, key, f"unknown key{suggest(key, known)}")
                continue
            try:
                converted[key] = convert(item, known[key].type)
            except ValidationError as error:
                self._report(table, key, _plain_words(str(error)))
        missing = [name for name in required if name not in value]
        for name in missing:
            self._report(table, name, _MISSING_HINTS.get(name, "missing"))
        # A table with mistakes is never used, but the rest of it is checked too.
        return None if any(name not in converted for name in required) else kind(**converted)

    def _report(self, table: str, key: str, message: str) -> None:
        self.mistakes.append(Mistake(table, key, message))


def _plain_words(text: str) -> str:
    """The message of the converter in the terms of TOML."""
    for before, after in _PLAIN_TYPES:
        text = text.replace(before, after)
    return text
