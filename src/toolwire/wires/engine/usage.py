"""The setting `usage`: token counts under the names of a wire. Knows no wire by name."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, put
from toolwire.conversation.model import Setting, Usage
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import count_at, require_object

_SUMS = frozenset({"input", "output", "total"})
"""The counts that include others."""


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
    known = frozenset(name for names in fields.values() for name in names)
    paths = {field: tuple(names[0].split(".")) for field, names in fields.items()}
    field_of = {name: field for field in fields.keys() - {"total"} for name in fields[field]}
    (input_name,), (output_name,) = paths["input"], paths["output"]
    total_names = paths.get("total", ())
    details = {field: inner for field, inner in paths.items() if field not in _SUMS}
    plain = tuple((field, inner[0]) for field, inner in details.items() if len(inner) == 1)
    nested = tuple((field, inner) for field, inner in details.items() if len(inner) > 1)

    def read(value: JSON) -> Setting | UnsetType:
        usage = require_object(value)
        counts: dict[str, int] = {}
        for name, count in usage.items():
            field = field_of.get(name)
            if field is not None and isinstance(count, int):
                counts.setdefault(field, count)
        for field, inner in nested:
            if inner[0] in usage and (inside := count_at(usage, *inner)) is not None:
                counts[field] = inside
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
        usage: Object = {**required} if required else {}
        usage[input_name] = max(total_input - cache, 0)
        usage[output_name] = total_output - reasoning
        for name in total_names:
            usage[name] = total_input + total_output
        for field, name in plain:
            count = getattr(value, field)
            if count is not None:
                usage[name] = count
        for field, inner in nested:
            count = getattr(value, field)
            if count is not None:
                usage = require_object(put(usage, inner, count))
        return usage

    return SettingSpec("usage", path, read=read, write=write, knows=known)
