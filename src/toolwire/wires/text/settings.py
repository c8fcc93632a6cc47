"""Tools in plain text: the settings, usage and stop reasons of a chat server that knows
no tools.
"""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Setting, Usage
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import count_at, keys
from toolwire.wires.families.chat.settings import FORMAT, STOP

REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("max_completion_tokens",), write=None),
    SettingSpec("max_tokens", ("max_tokens",)),
    SettingSpec("temperature", ("temperature",)),
    SettingSpec("top_p", ("top_p",)),
    SettingSpec("seed", ("seed",)),
    SettingSpec("presence_penalty", ("presence_penalty",)),
    SettingSpec("frequency_penalty", ("frequency_penalty",)),
    SettingSpec("candidates", ("n",)),
    STOP,
    SettingSpec("stream", ("stream",)),
    SettingSpec("user", ("user",)),
    FORMAT,
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(count_at(value, "prompt_tokens"), count_at(value, "completion_tokens"))


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("created", ("created",)),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys("prompt_tokens", "completion_tokens", "total_tokens"),
    ),
)
FINISH_REASON_FROM_WIRE = {"stop": "stop", "length": "length", "content_filter": "filter"}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "tool": "stop",
    "length": "length",
    "filter": "content_filter",
}
_CHOICE = keys("index", "message", "finish_reason")
