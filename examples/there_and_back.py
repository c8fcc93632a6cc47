"""Switch the provider in the middle of a conversation, and switch back with every id restored.

Anthropic accepts no dots or colons in ids, so they are fitted on the way out; the id map restores
them on the way back.
"""

from pathlib import Path

import toolwire

history = Path(__file__).with_name("weather.json").read_bytes()

there = toolwire.translate(history, "openai-chat", "anthropic")
back = toolwire.translate(there.json(), "anthropic", "openai-chat", ids=there.ids)

for sent, original in there.ids.ids.items():
    print(f"{original} was sent as {sent}")
for loss in there.losses:
    print(f"lost {loss}")

first, last = (toolwire.decode(body, "openai-chat") for body in (history, back.json()))
print("same messages:", first.messages == last.messages)
