"""A call is written as text, although the wire has tool calls.

A model wrote `<tool_call>{"name": …}</tool_call>`, `[TOOL_CALLS]`, `<invoke name=…>` or `[Tool
call: f]` into its text, because its server did not parse the format of the model, or because
earlier calls were passed to the model that way. Such a call is never run, it has no id, and a
result next to it has no call. No provider refuses it.

The finding is information only, and there is no fix: what the model saw as text stays text. The
wire `text` parses such calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Call, Text
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule

_KEYWORDS = (
    "tool_call",
    "[TOOL_CALLS]",
    "<function=",
    "invoke name=",
    "<|python_tag|>",
    "[Tool call:",
)
"""Every call in text contains one of these; searching for them is cheap."""
_TEXT_CALL = re.compile(
    r"(?<![`\"'])(?:<(?:\w+:)?tool_calls?>\s*[{<\[]|<\|tool_calls?(?:_section)?(?:_begin)?\|>|\[TOOL_CALLS\]\s*[\[{\w]"
    r"|<function=[\w.-]+>|<(?:\w+:)?invoke name=[\"']|<\|python_tag\|>\s*[\w{]|\[Tool call: ?\w)"
)
"""A marker and the beginning of a call; a marker in quotes is only mentioned."""


def _check(facts: Facts) -> Iterable[Problem]:
    conversation = facts.conversation
    if conversation.wire == "text":  # that wire has already parsed the calls in its text
        return
    if conversation.kind == "request" and not conversation.tools:  # the model can only write text
        return
    for message in facts.messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if type(part) is not Text or not ("<" in part.text or "[" in part.text):
                continue
            if not any(keyword in part.text for keyword in _KEYWORDS):
                continue
            match = _TEXT_CALL.search(part.text)
            if match is not None and not any(isinstance(other, Call) for other in message.parts):
                start = " ".join(match[0].split())
                text = f"a call is written as text ({start}…): it is never run, and it has no id"
                yield part.path, text, None


_TOOLS: JSON = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
    }
]
_REPLY: JSON = {
    "role": "assistant",
    "content": '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
}
RULE = Rule(
    "TW065",
    "text-tool-call",
    title="a call is written as text",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        chat_example(USER, _REPLY, USER, tools=_TOOLS),
        chat_example(
            USER,
            {"role": "assistant", "content": '<minimax:tool_call>\n<invoke name="f">'},
            USER,
            tools=_TOOLS,
        ),
    ),
    good=(
        chat_example(USER, _REPLY, USER),
        chat_example(
            USER,
            {"role": "assistant", "content": "Write `<tool_call>{` first."},
            USER,
            tools=_TOOLS,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1"), content="I shall call it."),
            tool_message("c1"),
            tools=_TOOLS,
        ),
    ),
)
