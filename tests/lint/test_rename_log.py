"""The names that the id map of a repair restores."""

from __future__ import annotations

from toolwire import translate
from toolwire.conversation.json import JSON


def test_a_copy_that_is_removed_renames_no_other_call_of_its_id() -> None:
    def call(name: str, arguments: JSON) -> JSON:
        return {"id": "call_0", "function": {"name": name, "arguments": arguments}}

    copies: JSON = [call("timetable", {"to": "Lyon"}), call("timetable", {"to": "Lyon"})]
    body: JSON = {
        "messages": [
            {"role": "assistant", "tool_calls": copies},
            {"role": "assistant", "tool_calls": [call("book", {})]},
        ]
    }
    assert translate(body, "ollama", "ai-sdk").ids.names == {}
