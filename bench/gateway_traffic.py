"""The requests of the gateway benchmarks: conversations about the weather, as JSON bodies.

A new conversation has the tools and the system prompt of its application, and texts and call ids
that no other request has. A new question continues a history that was sent before. Same bytes are
one request, repeated, as simple benchmarks send it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

Traffic: TypeAlias = Literal["new conversation", "new last question", "same bytes"]
Body: TypeAlias = dict[str, object]

SYSTEM = "You are a helpful assistant that answers questions about the weather."
PARAMETERS: Body = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city."}},
    "required": ["city"],
}
TOOL_NAME = "get_weather"
TOOL_DESCRIPTION = "The weather in a city."


def _chat_round(label: str) -> list[Body]:
    """A question, a call, its result and the answer."""
    call: Body = {
        "id": f"call_{label}",
        "type": "function",
        "function": {"name": TOOL_NAME, "arguments": json.dumps({"city": f"Rome {label}"})},
    }
    result = json.dumps({"degrees": 24, "sky": f"clear over {label}"})
    return [
        {"role": "user", "content": f"What is the weather in Rome, district {label}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{label}", "content": result},
        {"role": "assistant", "content": f"It is 24 degrees in district {label}, and clear."},
    ]


def _chat_body(messages: list[Body]) -> Body:
    function: Body = {"name": TOOL_NAME, "description": TOOL_DESCRIPTION, "parameters": PARAMETERS}
    return {
        "messages": [{"role": "system", "content": SYSTEM}, *messages],
        "tools": [{"type": "function", "function": function}],
    }


def _anthropic_round(label: str) -> list[Body]:
    """A question, a call, its result and the answer."""
    call_id = f"toolu_{label}"
    call: Body = {
        "type": "tool_use",
        "id": call_id,
        "name": TOOL_NAME,
        "input": {"city": f"Rome {label}"},
    }
    result: Body = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": json.dumps({"degrees": 24, "sky": f"clear over {label}"}),
    }
    return [
        {"role": "user", "content": f"What is the weather in Rome, district {label}?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"It is 24 degrees in district {label}, and clear."},
    ]


def _anthropic_body(messages: list[Body]) -> Body:
    tool: Body = {"name": TOOL_NAME, "description": TOOL_DESCRIPTION, "input_schema": PARAMETERS}
    return {"max_tokens": 1024, "system": SYSTEM, "messages": messages, "tools": [tool]}


WRITERS: dict[str, tuple[Callable[[str], list[Body]], Callable[[list[Body]], Body]]] = {
    "openai-chat": (_chat_round, _chat_body),
    "anthropic": (_anthropic_round, _anthropic_body),
}
PATHS = {"openai-chat": "/v1/chat/completions", "anthropic": "/v1/messages"}


def body(
    wire: str, *, rounds: int, label: str, question: str, model: str = "m", stream: bool = False
) -> bytes:
    """One request: some rounds of four messages, then a question."""
    write_round, write_body = WRITERS[wire]
    messages = [message for n in range(rounds) for message in write_round(f"{label}_{n}")]
    messages.append({"role": "user", "content": f"And in Oslo, district {question}?"})
    more: Body = {"stream": True} if stream else {}
    return json.dumps({"model": model, **write_body(messages), **more}).encode()


def bodies(
    wire: str, traffic: Traffic, *, rounds: int, first: int, model: str = "m", stream: bool = False
) -> Iterator[bytes]:
    """Yield requests without end. `first` is the number of the first one, so that runs differ."""
    number = first
    while True:
        label = str(number) if traffic == "new conversation" else "0"
        question = "0" if traffic == "same bytes" else str(number)
        yield body(wire, rounds=rounds, label=label, question=question, model=model, stream=stream)
        number += 1
