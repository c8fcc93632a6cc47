"""Streams for the bench: four calls whose arguments come in interleaved pieces, as a real provider
frames them."""

from __future__ import annotations

import json
from itertools import count

CALLS = 4
WORDS = 'the quick brown fox, na\\u00efve as ever, jumps over 13 lazy dogs \\"again\\" \\n and again'.split(
    " "
)


def chat(chunks: int, *, steady: bool = True) -> list[bytes]:
    """A stream of the chat shape, one event each. `steady=False` gives every chunk an id of its
    own, as some servers do."""
    numbers = count()

    def chunk(delta: object, reason: str | None = None) -> bytes:
        body = {
            "id": (
                "chatcmpl-BqB7uqS9Hn8cZ2yZ3hX5pQ1t"
                if steady
                else f"chatcmpl-BqB7uqS9Hn8cZ2yZ3h{next(numbers):06}"
            ),
            "object": "chat.completion.chunk",
            "created": 1752000000,
            "model": "gpt-4.1-2025-04-14",
            "service_tier": "default",
            "system_fingerprint": "fp_51e1070cf2",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        }
        return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"

    def piece(call: int, text: str) -> bytes:
        return chunk({"tool_calls": [{"index": call, "function": {"arguments": text}}]})

    out = [chunk({"role": "assistant", "content": None, "refusal": None})]
    for call in range(CALLS):
        function = {"name": "write_note", "arguments": ""}
        out.append(
            chunk(
                {
                    "tool_calls": [
                        {
                            "index": call,
                            "id": f"call_{call:024}",
                            "type": "function",
                            "function": function,
                        }
                    ]
                }
            )
        )
        out.append(piece(call, '{"text":"'))
    while len(out) < chunks - CALLS - 2:
        out.append(piece(len(out) % CALLS, f" {WORDS[len(out) // CALLS % len(WORDS)]}"))
    out += [piece(call, '"}') for call in range(CALLS)]
    return [*out, chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def lines(stream: list[bytes]) -> list[bytes]:
    """The payload of each event: what the floor parses."""
    found = [event.rpartition(b"data: ")[2].strip() for event in stream]
    return [line for line in found if line != b"[DONE]"]
