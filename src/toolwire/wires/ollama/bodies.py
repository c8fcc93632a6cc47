"""Whole bodies of Ollama's chat: requests and responses."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation, Usage
from toolwire.wires.engine.answers import (
    AnswerFields,
    answer_model,
    answer_time_text,
    elapsed_nanoseconds,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingsRead
from toolwire.wires.engine.specs import count_at, keys
from toolwire.wires.families.chat.bodies import SingleMessageBodies
from toolwire.wires.ollama.blocks import CHAT
from toolwire.wires.ollama.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    TOOLS,
    write_tool,
)


class OllamaBodies(SingleMessageBodies, frozen=True, eq=False, kw_only=True):
    """The bodies of a chat wire whose usage is in two separate fields."""

    def read_response_settings(self, body: Object) -> SettingsRead:
        settings = super().read_response_settings(body)
        input_tokens = count_at(body, "prompt_eval_count")
        if input_tokens is None:
            return settings
        usage = settings.values.get("usage")
        output_tokens = usage.output if isinstance(usage, Usage) else None
        return SettingsRead(
            {**settings.values, "usage": Usage(input_tokens, output_tokens)},
            {"usage": ("prompt_eval_count",), **settings.paths},
            tuple(path for path in settings.unknown if path != ("prompt_eval_count",)),
        )

    def write_response(self, conversation: Conversation, context: EncodeContext) -> Object:
        body = super().write_response(conversation, context)
        usage = conversation.settings.get("usage")
        if isinstance(usage, Usage) and usage.input is not None:
            body["prompt_eval_count"] = usage.input
        return body


BODIES = OllamaBodies(
    chat=CHAT,
    request=REQUEST,
    response=RESPONSE,
    tools=TOOLS,
    write_tool=write_tool,
    finish_from_wire=FINISH_REASON_FROM_WIRE,
    finish_to_wire=FINISH_REASON_TO_WIRE,
    answer=AnswerFields.of(
        {
            "model": answer_model,
            "created_at": answer_time_text,
            "done": True,
            "done_reason": "stop",
            "total_duration": elapsed_nanoseconds,
            "load_duration": 0,
            "prompt_eval_count": 0,
            "prompt_eval_duration": 0,
            "eval_count": 0,
            "eval_duration": elapsed_nanoseconds,
        }
    ),
    request_defaults={"stream": False},
    ordered=True,
    answer_fields=keys("message", "done", "done_reason"),
    finish_field="done_reason",
    seed_field="created_at",
)

# --- recognition ----------------------------------------------------------------------------------

_OWN_FIELDS = ("keep_alive", "think")


def match_score(body: JSON) -> int:
    """How well a body matches this wire; see `Wire.match_score`."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("message"), dict):
        return 3 if isinstance(body.get("done"), bool) else 0
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(map(_has_plain_content, messages)):
        return 0
    if any(map(_has_typed_text_call, messages)):
        return 0
    own_fields = isinstance(body.get("options"), dict) or any(key in body for key in _OWN_FIELDS)
    if own_fields or any(map(_is_own_message, messages)):
        return 3
    return 2 if body.get("format") == "json" or isinstance(body.get("format"), dict) else 0


def _has_plain_content(message: JSON) -> bool:
    return (
        isinstance(message, dict)
        and "contents" not in message
        and isinstance(message.get("content", ""), str | None)
    )


def _has_typed_text_call(message: JSON) -> bool:
    """True if a message has a call with a type and arguments as text, which this wire has not."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return isinstance(calls, list) and any(
        get(call, ("type",)) == "function" and isinstance(get(call, ("function", "arguments")), str)
        for call in calls
    )


def _is_own_message(message: JSON) -> bool:
    """True if a message has bare images, arguments as an object, or a tool name on a result."""
    if not isinstance(message, dict):
        return False
    if "tool_name" in message or "thinking" in message or isinstance(message.get("images"), list):
        return True
    calls = message.get("tool_calls")
    return isinstance(calls, list) and any(map(_is_own_call, calls))


def _is_own_call(call: JSON) -> bool:
    if not isinstance(call, dict) or "type" in call:
        return False
    function = call.get("function")
    return isinstance(function, dict) and isinstance(function.get("arguments"), dict)
