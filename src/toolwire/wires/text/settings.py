"""Tools in plain text: settings, usage and finish reasons of a chat server without tools."""

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


_OTHER_COUNTS = ("cached", "cache_write", "reasoning")


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(count_at(value, "prompt_tokens"), count_at(value, "completion_tokens"))


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    # Lowering removes these counts from bodies, but not from the metadata of streams.
    dropped = [name for name in _OTHER_COUNTS if getattr(value, name) is not None]
    if dropped:
        context.report_loss(context.setting_path, f"not held here: {', '.join(dropped)}")
    read, generated = value.input or 0, value.output or 0
    return {"prompt_tokens": read, "completion_tokens": generated, "total_tokens": read + generated}


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("created", ("created",)),
    SettingSpec(
        "usage",
        ("usage",),
        read=_read_usage,
        write=_write_usage,
        knows=keys("prompt_tokens", "completion_tokens", "total_tokens"),
    ),
)
FINISH_REASON_FROM_WIRE = {"stop": "stop", "length": "length", "content_filter": "filter"}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "tool": "stop",
    "length": "length",
    "filter": "content_filter",
}
