"""Tools in plain text: the settings, usage and stop reasons of a chat server that knows
no tools.
"""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Setting, Usage
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.settings import Field
from toolwire.wires.engine.specs import count_at, keys
from toolwire.wires.families.chat.settings import FORMAT, STOP

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
    STOP,
    Field("stream", ("stream",)),
    Field("user", ("user",)),
    FORMAT,
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
    Field(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys("prompt_tokens", "completion_tokens", "total_tokens"),
    ),
)
MEANS = {"stop": "stop", "length": "length", "content_filter": "filter"}
SAYS = {"stop": "stop", "tool": "stop", "length": "length", "filter": "content_filter"}
_CHOICE = keys("index", "message", "finish_reason")
