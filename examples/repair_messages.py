"""Repair a list of messages that a provider refuses: a call without its result.

Prints:
    TW021 missing-result at /messages/1/tool_calls/0: the call call_1 (weather) has no result, and \
the conversation continues after it
    repaired: user, assistant, tool, user
    findings after the repair: 0
"""

from toolwire import check, repair

messages = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
            }
        ],
    },
    {"role": "user", "content": "Are you there?"},
]
history = {"model": "gpt-5", "messages": messages}
for finding in check(history, "openai"):
    print(f"{finding.code} {finding.name} at {finding.pointer}: {finding.message}")
repaired = repair(history, "openai")
assert isinstance(repaired.body, dict) and isinstance(repaired.body["messages"], list)
roles = [message["role"] for message in repaired.body["messages"] if isinstance(message, dict)]
print("repaired:", ", ".join(str(role) for role in roles))
print("findings after the repair:", len(check(repaired.body, "openai")))
