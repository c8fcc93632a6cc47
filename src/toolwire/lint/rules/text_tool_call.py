"""A call is printed as text, although the wire has calls.

A model wrote `<tool_call>{"name": …}</tool_call>`, `[TOOL_CALLS]`, `<invoke name=…>` or `[Tool
call: f]` into its words, because its server did not understand its own model's format, or because
earlier calls were told it that way. Nobody runs such a call, it has no id, and a result that stands
next to it finds nothing. No provider refuses it.

This is worth knowing and is not mended: what was text for the model stays text. The wire `text`
reads such calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Call, Text
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule

_SIGNS = (
    "tool_call",
    "[TOOL_CALLS]",
    "<function=",
    "invoke name=",
    "<|python_tag|>",
    "[Tool call:",
)
"""One of these is in every printed call; looking for them costs next to nothing."""
_PRINTED = re.compile(
    r"(?<![`\"'])(?:<(?:\w+:)?tool_calls?>\s*[{<\[]|<\|tool_calls?(?:_section)?(?:_begin)?\|>|\[TOOL_CALLS\]\s*[\[{\w]"
    r"|<function=[\w.-]+>|<(?:\w+:)?invoke name=[\"']|<\|python_tag\|>\s*[\w{]|\[Tool call: ?\w)"
)
"""A mark and the beginning of a call; a mark in quotes is only spoken of."""


def _check(facts: Facts) -> Iterable[Problem]:
    if facts.conversation.wire == "text":  # there, what is a call was read as one
        return
    if (
        not facts.conversation.tools and facts.conversation.kind == "request"
    ):  # with no tools on offer, text is all there is
        return
    for message in facts.messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if part.__class__ is not Text or not ("<" in part.text or "[" in part.text):
                continue
            if any(sign in part.text for sign in _SIGNS):
                found = _PRINTED.search(part.text)
                if found is not None and not any(isinstance(one, Call) for one in message.parts):
                    yield (
                        part.path,
                        (
                            f"a call is printed as text ({found[0].strip()}…): nobody will run it,"
                            " and it has no id"
                        ),
                        None,
                    )


_TOOLS: JSON = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
    }
]
_SAID: JSON = {
    "role": "assistant",
    "content": '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
}
RULE = Rule(
    "TW065",
    "text-tool-call",
    title="a call is printed as text",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        chat_example(USER, _SAID, USER, tools=_TOOLS),
        chat_example(
            USER,
            {"role": "assistant", "content": '<minimax:tool_call>\n<invoke name="f">'},
            USER,
            tools=_TOOLS,
        ),
    ),
    good=(
        chat_example(USER, _SAID, USER),
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
