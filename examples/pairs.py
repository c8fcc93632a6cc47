"""Find the result of every call, on a wire that has no ids.

Gemini may leave ids out: toolwire mints them, the same ones in every process, and marks them in
`origin`.
"""

import toolwire

HISTORY = """{"contents": [
    {"role": "user", "parts": [{"text": "Oslo or Rome, which is warmer?"}]},
    {"role": "model", "parts": [
        {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
        {"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]},
    {"role": "user", "parts": [
        {"functionResponse": {"name": "weather", "response": {"output": "-3 degrees"}}},
        {"functionResponse": {"name": "weather", "response": {"output": "24 degrees"}}}]}
]}"""

for pair in toolwire.decode(HISTORY, "gemini").pairs():
    assert pair.call is not None and pair.result is not None
    print(
        pair.call.arguments,
        "->",
        pair.result.text,
        f"(by {pair.how}; id {pair.call.origin}: {pair.call.id})",
    )
