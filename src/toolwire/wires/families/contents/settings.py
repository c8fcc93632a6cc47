"""Usage, model and finish reasons of answers."""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, snake
from toolwire.conversation.model import Setting, Usage
from toolwire.conversation.parts import Call, Message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, write_finish_reason
from toolwire.wires.engine.specs import count_at
from toolwire.wires.families.contents.spelling import spellings


def _count(usage: JSON, name: str) -> int | None:
    count = count_at(usage, name)
    return count_at(usage, snake(name)) if count is None else count


def _read_usage(value: JSON) -> Setting | UnsetType:
    thoughts = _count(value, "thoughtsTokenCount")
    output = _count(value, "candidatesTokenCount")
    if thoughts is not None:
        output = (output or 0) + thoughts
    return Usage(
        _count(value, "promptTokenCount"),
        output,
        cached=_count(value, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    input_tokens, output_tokens = value.input or 0, value.output or 0
    usage: Object = {
        "promptTokenCount": input_tokens,
        "candidatesTokenCount": output_tokens - (value.reasoning or 0),
        "totalTokenCount": input_tokens + output_tokens,
    }
    if value.reasoning is not None:
        usage["thoughtsTokenCount"] = value.reasoning
    if value.cached is not None:
        usage["cachedContentTokenCount"] = value.cached
    return usage


MODEL = SettingSpec("model", ("modelVersion",))
USAGE = SettingSpec(
    "usage",
    ("usageMetadata",),
    read=_read_usage,
    write=_write_usage,
    knows=spellings(
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
        "totalTokenCount",
    ),
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
    """The neutral finish reason; one without a neutral name in lower case."""
    if not isinstance(reason, str):
        return None
    return FINISH_REASON_FROM_WIRE.get(reason, reason.lower())


def finish_reason(message: Message, context: EncodeContext) -> str | None:
    """The finish reason to write for a message.

    That the model stopped for a tool is visible in its calls, so it is not reported as a loss.
    """
    if message.stop == "tool" and any(isinstance(part, Call) for part in message.parts):
        return "STOP"
    return write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
