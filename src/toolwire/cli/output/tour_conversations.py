"""The two conversations of the tour: one that went wrong in every usual way, and a healthy one.

Both are made here and stand for no recorded traffic.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object

ITEM_ID = "fc_68b1c0de5f3c81a2b4d6e8f00112233445566778899aabbcc"
"""An item id used as a call id: longer than chat servers take."""


def call(one: str | None, name: str, arguments: str) -> Object:
    """A call as chat has it; without an id if there is none."""
    function: Object = {"name": name, "arguments": arguments}
    return {**({"id": one} if one else {}), "type": "function", "function": function}


def asks(*calls: JSON) -> Object:
    """An assistant's message that calls tools."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answers(content: str, **fields: JSON) -> Object:
    """A tool's message."""
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
        asks(
            call("call_1", "weather", '{"city": "Oslo"}'),
            call("call_2", "weather", '{"city": "Rome"}'),
        ),
        answers("24 degrees", tool_call_id="call_2"),
        answers("-3 degrees", tool_call_id="call_1"),
        asks(call(None, "book", '{"city": "Rome"}'), call(ITEM_ID, "remind", '{"day": "Friday"}')),
        answers("booked", name="book"),
        answers("noted", tool_call_id=ITEM_ID),
        answers("19 degrees", tool_call_id="call_9"),
        asks(call("call_3", "pay", '{"euro": 80}')),
    ],
}

HEALTHY: Object = {
    "model": "some-model",
    "seed": 7,
    "messages": [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": "Oslo or Rome, which is warmer?"},
        asks(
            call("functions.weather:0", "weather", '{"city": "Oslo"}'),
            call("functions.weather:1", "weather", '{"city": "Rome"}'),
        ),
        answers("24 degrees", tool_call_id="functions.weather:1"),
        answers("-3 degrees", tool_call_id="functions.weather:0"),
        {
            "role": "assistant",
            "content": "Rome, by 27 degrees.",
            "annotations": [{"type": "url_citation"}],
        },
    ],
    "tools": [WEATHER],
}
