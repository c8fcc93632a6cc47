"""Field names in two spellings: protobuf's JSON reads `functionCall` and `function_call` alike."""

from __future__ import annotations

from itertools import product

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, snake
from toolwire.wires.engine.settings import SettingSpec, SettingTable, setting_table


def spellings(*names: str) -> frozenset[str]:
    """Field names in camelCase and in snake_case."""
    return frozenset(names) | frozenset(map(snake, names))


def get_field(value: Object, name: str) -> JSON:
    """The field of that camelCase name, in either spelling; None if absent."""
    return value[name] if name in value else value.get(snake(name))


def both_spellings(*specs: SettingSpec) -> SettingTable:
    """The settings with further specs that read any step of their paths in snake_case. Only the
    camelCase specs write; they come last, so that they take precedence in reading."""
    snake_case_specs = [
        replace(spec, path=path, write=None)
        for spec in specs
        for path in product(*(dict.fromkeys((snake(step), step)) for step in spec.path))
        if path != spec.path
    ]
    return setting_table(*snake_case_specs, *specs)
