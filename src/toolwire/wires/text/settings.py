"""Tools in plain text: settings and finish reasons of a chat server without tools."""

from __future__ import annotations

from toolwire.wires.engine.answers import id_setting, model_setting, time_setting
from toolwire.wires.engine.settings import SettingSpec, same_name, setting_table
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.settings import usage_setting

REQUEST = setting_table(
    *chat_settings.REQUEST,
    SettingSpec("max_tokens", ("max_completion_tokens",), write=None),
    *same_name("seed", "user"),
)
ID_PREFIX = "chatcmpl-"
RESPONSE = setting_table(
    id_setting(prefix=ID_PREFIX), model_setting(), time_setting("created"), usage_setting()
)
FINISH_REASON_FROM_WIRE = {"stop": "stop", "length": "length", "content_filter": "filter"}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "tool": "stop",
    "length": "length",
    "filter": "content_filter",
}
