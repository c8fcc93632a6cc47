"""Arguments in a stream to a target that requires a JSON object."""

from __future__ import annotations

from rows import rows

from toolwire import decode
from toolwire.conversation.json import JSON
from toolwire.streaming.restream import fold, restream


def chat_stream(*pieces: str) -> list[dict[str, JSON]]:
    """A call whose arguments arrive in pieces."""
    deltas: list[JSON] = [{"index": 0, "id": "call_1", "function": {"name": "now"}}]
    deltas += [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    chunks: list[dict[str, JSON]] = [
        {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]} for delta in deltas
    ]
    last: dict[str, JSON] = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    return [*chunks, {"id": "c", "choices": [last]}]


@rows(
    "pieces, arguments",
    [
        (["null"], {}),
        (["nu", "ll"], {}),
        ([" ", "null", " "], {}),
        (["nul"], {"_raw": "nul"}),
        (["n", "ull", "1"], {"_raw": "null1"}),
        (["nu", '{"a":1}'], {"_raw": 'nu{"a":1}'}),
        ([" ", "{", '"a":1}'], {"a": 1}),
        (["[1]"], {"_raw": "[1]"}),
    ],
)
def test_null_means_no_arguments_and_other_values_are_wrapped(
    pieces: list[str], arguments: JSON
) -> None:
    stream = restream(chat_stream(*pieces), "openai-chat", "anthropic")
    answer = decode(fold(b"".join(stream), "anthropic"), "anthropic", "response")
    (call,) = answer.calls()
    assert call.input == arguments
    is_wrapped = isinstance(arguments, dict) and "_raw" in arguments
    assert any("_raw" in loss.reason for loss in stream.losses) == is_wrapped
