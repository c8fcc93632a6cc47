"""The tables of the configuration page: every key of `gateway.toml` with its default and docstring."""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from textwrap import dedent

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields
from page_markdown import cell, table

from toolwire.gateway.config.schema import (
    KeysConfig,
    ModelConfig,
    ResponsesConfig,
    ServerConfig,
    ToolsConfig,
    ToolServerConfig,
    UsageConfig,
)
from toolwire.gateway.keys import KeyConfig
from toolwire.gateway.usage.prices import Price

TABLES: dict[str, type[Struct]] = {
    "`[server]`": ServerConfig,
    "`[models.NAME]`": ModelConfig,
    "`[tools]`": ToolsConfig,
    '`[tools.servers."SOURCE"]`': ToolServerConfig,
    "`[keys]`": KeysConfig,
    "`[usage]`": UsageConfig,
    "`[responses]`": ResponsesConfig,
    "`[prices.MODEL]`": Price,
    "A file of keys: `[keys.NAME]`": KeyConfig,
}


def configuration_tables() -> str:
    """Return a section with a table of keys for each table of the configuration."""
    return "\n".join(f"## {title}\n\n{keys_table(struct)}" for title, struct in TABLES.items())


def keys_table(struct: type[Struct]) -> str:
    """Return the keys of a table, their defaults and their descriptions. Raises KeyError for a key
    without a docstring."""
    texts = field_docstrings(struct)
    rows = (
        (f"`{field.name}`", default_cell(field), cell(texts[field.name]))
        for field in fields(struct)
    )
    return table(("key", "default", "description"), rows)


def field_docstrings(struct: type[Struct]) -> dict[str, str]:
    """Return the docstring below each field of a class, on one line."""
    (definition,) = ast.parse(dedent(inspect.getsource(struct))).body
    assert isinstance(definition, ast.ClassDef)
    texts: dict[str, str] = {}
    for node, following in pairwise(definition.body):
        match node, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = " ".join(text.split())
    return texts


def default_cell(field: FieldInfo) -> str:
    """Return the default of a field as TOML writes it; empty if an absent key has no value."""
    default = field.default
    if field.default_factory is not NODEFAULT:
        default = field.default_factory()
    if default is NODEFAULT:
        return "required"
    return "" if default is None else f"`{json.dumps(default)}`"
