"""The two conversations of the tour: a broken one and a well-formed one. Neither is recorded."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object

ITEM_ID = "fc_68b1c0de5f3c81a2b4d6e8f00112233445566778899aabbcc"
"""An item id used as a call id: longer than chat servers accept."""


def call(call_id: str | None, name: str, arguments: str) -> Object:
    """Return a tool call of the chat wire, without `id` if there is none."""
    function: Object = {"name": name, "arguments": arguments}
    return {**({"id": call_id} if call_id else {}), "type": "function", "function": function}


def assistant_message(*calls: JSON) -> Object:
    """Return an assistant message with tool calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def tool_message(content: str, **fields: JSON) -> Object:
    """Return a message with the result of a tool."""
    return {"role": "tool", **fields, "content": content}


WEATHER: Object = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}

BROKEN: Object = {
    "model": "some-model",
    "messages": [
        {"role": "user", "content": "Book the warmer: Oslo or Rome?"},
        assistant_message(
            call("call_1", "weather", '{"city": "Oslo"}'),
            call("call_2", "weather", '{"city": "Rome"}'),
        ),
        tool_message("24 degrees", tool_call_id="call_2"),
        tool_message("-3 degrees", tool_call_id="call_1"),
        assistant_message(
            call(None, "book", '{"city": "Rome"}'), call(ITEM_ID, "remind", '{"day": "Friday"}')
        ),
        tool_message("booked", name="book"),
        tool_message("noted", tool_call_id=ITEM_ID),
        tool_message("19 degrees", tool_call_id="call_9"),
        assistant_message(call("call_3", "pay", '{"euro": 80}')),
    ],
}

WELL_FORMED: Object = {
    "model": "some-model",
    "seed": 7,
    "messages": [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": "Oslo or Rome, which is warmer?"},
        assistant_message(
            call("functions.weather:0", "weather", '{"city": "Oslo"}'),
            call("functions.weather:1", "weather", '{"city": "Rome"}'),
        ),
        tool_message("24 degrees", tool_call_id="functions.weather:1"),
        tool_message("-3 degrees", tool_call_id="functions.weather:0"),
        {
            "role": "assistant",
            "content": "Rome, by 27 degrees.",
            "annotations": [{"type": "url_citation"}],
        },
    ],
    "tools": [WEATHER],
}
