"""The chat shape: settings and tools on offer that its wires say in the same words. Knows no wire
by name."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Format, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    read_name,
    require_object,
    require_string,
    text_or_none,
)


def offer(inner: Object, kind: str, raw: Object, path: JsonPath, spec: Block) -> Tool:
    """A tool on offer, described by the object inside its entry."""
    return Tool(
        read_name(inner.get("name")),
        text_or_none(inner.get("description")),
        inner.get("parameters"),
        flag_or_none(inner.get("strict")),
        kind,
        source=Source(raw, path, spec),
    )


def _read_stop(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return (value,)
    return tuple(require_string(item) for item in value) if isinstance(value, list) else UNSET


def _read_format(value: JSON) -> Setting | UnsetType:
    kind = require_object(value)["type"]
    if kind != "json_schema":
        return Format() if kind == "json_object" else UNSET
    held = require_object(require_object(value)["json_schema"])
    return Format(
        held.get("schema"),
        text_or_none(held.get("name")),
        flag_or_none(held.get("strict")),
        text_or_none(held.get("description")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return {"type": "json_object"}
    more = (("strict", value.strict), ("description", value.description))
    held: Object = {"name": value.name or "answer", "schema": value.schema}
    return {
        "type": "json_schema",
        "json_schema": {**held, **{key: given for key, given in more if given is not None}},
    }


STOP = SettingSpec("stop", ("stop",), _read_stop)
FORMAT = SettingSpec("format", ("response_format",), _read_format, _write_format)
