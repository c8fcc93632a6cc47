"""The setting `usage`: token counts under the names of a wire. Knows no wire by name."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, put
from toolwire.conversation.model import Setting, Usage
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import count_at, require_object


def usage_spec(
    path: tuple[str, ...],
    fields: Mapping[str, tuple[str, ...]],
    *,
    input_includes_cache: bool = True,
    output_includes_reasoning: bool = True,
    required: Mapping[str, JSON] | None = None,
) -> SettingSpec:
    """The spec of the setting `usage`.

    Args:
        path: The path of the usage in a body.
        fields: For each field of `Usage` that the wire has, and for `total`, its names as dotted
            paths. All are read, and the first one is written.
        input_includes_cache: True if the input counts tokens that were read from or written to the
            cache.
        output_includes_reasoning: True if the output counts the tokens of reasoning.
        required: Fields that the usage always has, with their values if nothing is known.
    """
    field_of = {name: field for field, names in fields.items() for name in names}
    plain = tuple((field, names[0]) for field, names in fields.items() if "." not in names[0])
    nested = tuple(
        (field, tuple(names[0].split("."))) for field, names in fields.items() if "." in names[0]
    )
    has_total = "total" in fields

    def read(value: JSON) -> Setting | UnsetType:
        usage = require_object(value)
        counts: dict[str, int] = {}
        for name, count in usage.items():
            field = field_of.get(name)
            if field is not None and isinstance(count, int):
                counts.setdefault(field, count)
        for field, inner_path in nested:
            if inner_path[0] in usage and (inner := count_at(usage, *inner_path)) is not None:
                counts[field] = inner
        if has_total:
            counts.pop("total", None)
        if not input_includes_cache and "input" in counts:
            counts["input"] += counts.get("cached", 0) + counts.get("cache_write", 0)
        if not output_includes_reasoning and "reasoning" in counts:
            counts["output"] = counts.get("output", 0) + counts["reasoning"]
        return Usage(**counts)

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        assert isinstance(value, Usage)
        total_input, total_output = value.input or 0, value.output or 0
        cache = 0 if input_includes_cache else (value.cached or 0) + (value.cache_write or 0)
        reasoning = 0 if output_includes_reasoning else value.reasoning or 0
        counts = {
            "input": max(total_input - cache, 0),
            "output": total_output - reasoning,
            "total": total_input + total_output,
            "cached": value.cached,
            "cache_write": value.cache_write,
            "reasoning": value.reasoning,
        }
        usage: Object = {**required} if required else {}
        for field, name in plain:
            if counts[field] is not None:
                usage[name] = counts[field]
        for field, inner_path in nested:
            if counts[field] is not None:
                usage = require_object(put(usage, inner_path, counts[field]))
        return usage

    return SettingSpec("usage", path, read=read, write=write, knows=frozenset(field_of))
