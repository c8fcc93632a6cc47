"""Pages with `useChat`, as the npm package `ai` makes them: many conversations in one process of
Node.

`chat.mjs` documents input and output. This module does not use toolwire.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from mock.tools import TOOLS
from streams.clients import install_clients

from toolwire.conversation.json import Object

SCRIPT = Path(__file__).parent / "chat.mjs"


def chats(asks: Iterable[Object]) -> list[Object]:
    """The outcome of each conversation."""
    tools = {
        name: {"description": about, "inputSchema": schema}
        for name, (about, schema) in TOOLS.items()
    }
    lines = "".join(json.dumps({"tools": tools, **ask}) + "\n" for ask in asks)
    done = subprocess.run(
        [install_clients(), str(SCRIPT)], input=lines, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def last_text(chat: Object) -> str:
    """The text of the last message of a conversation."""
    messages = chat["messages"]
    assert isinstance(messages, list) and isinstance(messages[-1], dict)
    parts = messages[-1]["parts"]
    assert isinstance(parts, list)
    return "".join(
        str(part["text"]) for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
