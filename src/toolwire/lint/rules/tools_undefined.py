"""The history holds calls, and no tools are offered.

Bedrock refuses such a request: "The toolConfig field must be defined when using toolUse and
toolResult content blocks". It happens when the last turn of an agent is asked for without tools,
for a summary say, or when one agent hands over to another that has none.

The fix offers a stub for each tool that the history calls, marked as made here and as not to be
called. The model can see it, so the fix is unsafe; if it calls one all the same, there is nobody to
run it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Tool
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.tool_names import FAMILIES
from toolwire.lint.transforms import MARK

STUB = (
    f"{MARK} no longer there: it is offered only because the history holds calls of it. Do not"
    " call it."
)


def _bare(facts: Facts) -> bool:
    asked = (
        facts.profile.calls_need_tool_definitions
        and facts.conversation.kind == "request"
        and not facts.conversation.tools
    )
    return asked and bool(facts.calls or facts.results)


def _check(facts: Facts) -> Iterable[Problem]:
    if _bare(facts):
        first = (facts.calls or facts.results)[0]
        count = len(facts.calls)
        message = (
            f"the history holds {count} calls, and no tools are offered; {facts.profile.name}"
            " refuses that"
        )
        yield first.path, message, "unsafe" if _names(facts) else None


def _names(facts: Facts) -> list[str]:
    called = [one.name for one in facts.calls if one.name.strip() and one.family in FAMILIES]
    answered = [one.name for one in facts.results if one.name and one.name.strip()]
    return list(dict.fromkeys([*called, *answered]))


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    if not unsafe or not _bare(facts):
        return None
    schema: Object = {"type": "object", "properties": {}}
    stubs = tuple(Tool(name, STUB, dict(schema)) for name in _names(facts))
    if not stubs:
        return None
    at = (facts.calls or facts.results)[0].path
    names = ", ".join(tool.name for tool in stubs)
    return Fixed(
        replace(facts.conversation, tools=stubs), ((at, f"stubs are offered for {names}"),)
    )


_SAID: list[JSON] = [
    {"role": "user", "content": [{"text": "hi"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}]},
]
_F: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
RULE = Rule(
    "TW061",
    "tools-undefined",
    title="the history holds calls, and no tools are offered",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    ruled_out_by=(Observation.CALLS_DEFINED,),
    bad=(Example("bedrock", "bedrock", {"messages": _SAID}),),
    good=(
        Example("bedrock", "bedrock", {"messages": _SAID, "toolConfig": {"tools": [_F]}}),
        Example("bedrock", "bedrock", {"messages": [_SAID[0]]}),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
    ),
)
