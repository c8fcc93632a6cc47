"""Usage, model and finish reasons of answers."""

from __future__ import annotations

from toolwire.conversation.json import JSON, snake
from toolwire.conversation.parts import Call, Message
from toolwire.wires.engine.answers import model_setting
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import write_finish_reason
from toolwire.wires.engine.usage import usage_spec

MODEL = model_setting("modelVersion")
USAGE = usage_spec(
    ("usageMetadata",),
    {
        field: (name, snake(name))
        for field, name in {
            "input": "promptTokenCount",
            "output": "candidatesTokenCount",
            "total": "totalTokenCount",
            "reasoning": "thoughtsTokenCount",
            "cached": "cachedContentTokenCount",
        }.items()
    },
    output_includes_reasoning=False,
)
_FILTERS = "RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY SAFETY".split()
FINISH_REASON_FROM_WIRE = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERS, "filter"),
}
FINISH_REASON_TO_WIRE = {
    "stop": "STOP",
    "tool": "STOP",
    "sequence": "STOP",
    "length": "MAX_TOKENS",
    "filter": "SAFETY",
    "refusal": "SAFETY",
}


def read_finish_reason(reason: JSON) -> str | None:
    """The neutral finish reason; a reason without one is returned in lower case."""
    if not isinstance(reason, str):
        return None
    return FINISH_REASON_FROM_WIRE.get(reason, reason.lower())


def finish_reason(message: Message, context: EncodeContext) -> str | None:
    """The finish reason to write for a message.

    The reason `tool` is not reported as a loss, because the calls show it.
    """
    if message.stop == "tool" and any(isinstance(part, Call) for part in message.parts):
        return "STOP"
    return write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
