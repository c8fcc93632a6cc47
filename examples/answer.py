"""Answer an open call: a result is made from its call, so it cannot carry a wrong id.

Then write the whole conversation for another wire.
"""

from msgspec.structs import replace

import toolwire

HISTORY = """{"model": "some-model", "messages": [
    {"role": "user", "content": "What time is it?"},
    {"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]}
]}"""

conversation = toolwire.decode(HISTORY, "openai-chat")
for pair in conversation.pairs():
    if pair.call is not None and pair.result is None:
        answer = toolwire.Message("tool", (pair.call.result("Half past nine."),))
        conversation = replace(conversation, messages=(*conversation.messages, answer))

for wire in ("openai-chat", "gemini"):
    print(toolwire.encode(conversation, wire).json().decode())
