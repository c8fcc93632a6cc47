"""Tool definitions and settings that the wires of the turn shape write alike.

This module knows no wire by name.
"""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Setting, Tool, Usage
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import count_at, keys


def write_tools(
    tools: tuple[Tool, ...], context: EncodeContext, *, schema_field: str
) -> list[JSON]:
    """Write tool definitions; the tools of another provider are reported as lost."""
    out: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        definition: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            definition["description"] = tool.description
        schema = context.schema_of(tool)
        if schema is not None:
            definition[schema_field] = schema
        if tool.strict is not None:
            definition["additionalProperties"] = {"strict": tool.strict}
        out.append(definition)
    return out


def usage_spec(
    *,
    input: str,
    output: str,
    total: str,
    cached: str,
    reasoning: str,
    output_includes_reasoning: bool = True,
) -> SettingSpec:
    """The setting `usage`, given the names of its fields."""

    def read(value: JSON) -> Setting | UnsetType:
        read_output, read_reasoning = count_at(value, output), count_at(value, reasoning)
        if read_reasoning is not None and not output_includes_reasoning:
            read_output = (read_output or 0) + read_reasoning
        return Usage(
            input=count_at(value, input),
            output=read_output,
            cached=count_at(value, cached),
            reasoning=read_reasoning,
        )

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        assert isinstance(value, Usage)
        total_input, total_output = value.input or 0, value.output or 0
        apart = 0 if output_includes_reasoning else value.reasoning or 0
        usage: Object = {
            input: total_input,
            output: total_output - apart,
            total: total_input + total_output,
        }
        if value.cached is not None:
            usage[cached] = value.cached
        if value.reasoning is not None:
            usage[reasoning] = value.reasoning
        return usage

    known = keys(input, output, total, cached, reasoning)
    return SettingSpec("usage", ("usage",), read=read, write=write, knows=known)
