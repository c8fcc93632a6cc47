"""The history contains tool calls, and the request defines no tools.

Bedrock refuses such a request: "The toolConfig field must be defined when using toolUse and
toolResult content blocks". This happens when the last turn of an agent, for example a summary, is
requested without tools, or when an agent hands over to another agent that has none.

The fix defines a stub for each tool that the history calls. Its description starts with
`[toolwire]` and tells the model not to call it. If the model calls it anyway, no program can run
the call.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Tool
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import MARK, Result
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule
from toolwire.lint.tool_names import FAMILIES, UNKNOWN_TOOL, tool_definitions

STUB = (
    f"{MARK} This tool is no longer available. It is defined only because the history contains"
    " calls to it. Do not call it."
)


def _lacks_tools(facts: Facts) -> bool:
    return (
        facts.profile.calls_need_tool_definitions
        and facts.conversation.kind == "request"
        and not _is_bare_list(facts)
        and not _defines_tools(facts)
        and bool(facts.calls or _results(facts))
    )


def _is_bare_list(facts: Facts) -> bool:
    """True if only the messages are known, so that tools may be defined elsewhere."""
    return facts.own_wire and bool(facts.conversation.source.list_field)


def _defines_tools(facts: Facts) -> bool:
    """True if the target gets tool definitions; placeholders that are visible only in the JSON
    count."""
    if not facts.own_wire:
        return bool(tool_definitions(facts))
    return bool(facts.conversation.tools or get(facts.body, ("toolConfig", "tools")))


def _results(facts: Facts) -> list[Result]:
    """The results that the target gets as results; those of another provider's tools become
    text."""
    if facts.own_wire:
        return facts.results
    return [result for result in facts.results if result.executor == "client"]


def _tool_names(facts: Facts) -> list[str]:
    """The names in calls and results, without duplicates."""
    names = [call.name for call in facts.calls if call.name.strip() and call.family in FAMILIES]
    names += [result.name for result in _results(facts) if result.name and result.name.strip()]
    return list(dict.fromkeys(names)) or [UNKNOWN_TOOL]


def _check(facts: Facts) -> Iterable[Problem]:
    if _lacks_tools(facts):
        message = (
            "the history contains tool calls, and the request defines no tools;"
            f" {facts.profile.name} requires their definitions"
        )
        first = (facts.calls or _results(facts))[0]
        yield first.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    if not _lacks_tools(facts):
        return None
    schema: Object = {"type": "object", "properties": {}}
    stubs = tuple(Tool(name, STUB, dict(schema)) for name in _tool_names(facts))
    path = (facts.calls or _results(facts))[0].path
    names = ", ".join(tool.name for tool in stubs)
    message = f"added stub definitions for {names}"
    tools = (*facts.conversation.tools, *stubs)
    return FixedConversation(replace(facts.conversation, tools=tools), ((path, message),))


_MESSAGES: list[JSON] = [
    {"role": "user", "content": [{"text": "hi"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}]},
]
_F: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
RULE = Rule(
    "TW061",
    "tools-undefined",
    title="the history contains tool calls, and the request defines no tools",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: profile.calls_need_tool_definitions,
    ruled_out_on_own_wire_by=(Observation.CALLS_DEFINED,),
    handled_by="write",  # the writer adds placeholders, which the reader leaves out
    bad=(Example("bedrock", "bedrock", {"messages": _MESSAGES}),),
    good=(
        Example("bedrock", "bedrock", {"messages": _MESSAGES, "toolConfig": {"tools": [_F]}}),
        Example("bedrock", "bedrock", {"messages": [_MESSAGES[0]]}),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
    ),
)
