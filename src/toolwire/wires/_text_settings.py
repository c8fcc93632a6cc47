"""Tools in plain text: the settings, usage and stop reasons of a chat server that knows no tools."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire._json import JSON, Object
from toolwire.model import Format, Setting, Usage
from toolwire.wires._fields import Field
from toolwire.wires._page import Page
from toolwire.wires._wire import count_at, flag_or_none, keys, obj, string, text_or_none


def _read_format(value: JSON) -> Setting | UnsetType:
    kind = obj(value)["type"]
    if kind != "json_schema":
        return Format() if kind == "json_object" else UNSET
    held = obj(obj(value)["json_schema"])
    return Format(held.get("schema"), text_or_none(held.get("name")), flag_or_none(held.get("strict")),
                  text_or_none(held.get("description")))  # fmt: skip


def _write_format(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return {"type": "json_object"}
    given = (("strict", value.strict), ("description", value.description))
    held: Object = {"name": value.name or "answer", "schema": value.schema}
    return {"type": "json_schema", "json_schema": {**held, **{key: one for key, one in given if one is not None}}}


def _read_stop(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return (value,)
    return tuple(string(item) for item in value) if isinstance(value, list) else UNSET


REQUEST = (
    Field("model", ("model",)),
    Field("max_tokens", ("max_completion_tokens",), write=None),
    Field("max_tokens", ("max_tokens",)),
    Field("temperature", ("temperature",)),
    Field("top_p", ("top_p",)),
    Field("seed", ("seed",)),
    Field("presence_penalty", ("presence_penalty",)),
    Field("frequency_penalty", ("frequency_penalty",)),
    Field("candidates", ("n",)),
    Field("stop", ("stop",), _read_stop),
    Field("stream", ("stream",)),
    Field("user", ("user",)),
    Field("format", ("response_format",), _read_format, _write_format),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(count_at(value, "prompt_tokens"), count_at(value, "completion_tokens"))


def _write_usage(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}


RESPONSE = (
    Field("id", ("id",)),
    Field("model", ("model",)),
    Field("created", ("created",)),
    Field("usage", ("usage",), _read_usage, _write_usage, keys("prompt_tokens", "completion_tokens", "total_tokens")),
)
MEANS = {"stop": "stop", "length": "length", "content_filter": "filter"}
SAYS = {"stop": "stop", "tool": "stop", "length": "length", "filter": "content_filter"}
_CHOICE = keys("index", "message", "finish_reason")
