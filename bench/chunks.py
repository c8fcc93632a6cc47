"""Streams for the benchmarks: four calls whose arguments arrive in interleaved pieces, framed as a
real provider does."""

from __future__ import annotations

import json
from itertools import count
from operator import itemgetter

CALLS = 4
WORDS = 'the quick brown fox, na\\u00efve as ever, jumps over 13 lazy dogs \\"again\\" \\n and again'.split(
    " "
)


def chat(
    chunks: int, *, steady: bool = True, interleaved: bool = True, seed: int = 0
) -> list[bytes]:
    """A stream of the chat wire, as a list of events. `steady=False` gives every chunk a different
    id, as some servers do; `interleaved=False` sends one call after the other; another `seed` gives
    other texts and ids."""
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

    def piece(call: int, text: str) -> tuple[int, bytes]:
        return call, chunk({"tool_calls": [{"index": call, "function": {"arguments": text}}]})

    def start(call: int) -> tuple[int, bytes]:
        function = {"name": "write_note", "arguments": ""}
        entry = {
            "index": call,
            "id": f"call_{seed:012}{call:012}",
            "type": "function",
            "function": function,
        }
        return call, chunk({"tool_calls": [entry]})

    first = chunk({"role": "assistant", "content": None, "refusal": None})
    pieces = [p for call in range(CALLS) for p in (start(call), piece(call, '{"text":"'))]
    for n in range(len(pieces) + 1, chunks - CALLS - 2):
        pieces.append(piece(n % CALLS, f" {WORDS[(n // CALLS + seed) % len(WORDS)]}"))
    pieces += [piece(call, '"}') for call in range(CALLS)]
    if not interleaved:
        pieces.sort(key=itemgetter(0))
    events = [event for _, event in pieces]
    return [first, *events, chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def lines(stream: list[bytes]) -> list[bytes]:
    """The payload of each event, which the floor parses."""
    found = [event.rpartition(b"data: ")[2].strip() for event in stream]
    return [line for line in found if line != b"[DONE]"]
