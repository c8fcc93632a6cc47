"""The tool choice names a tool that is not defined, or no tools are defined.

Providers refuse such a choice: "Tool 'f' not found in provided tools", "Tool choice 'f' not found
in 'tools' parameter". This happens when a turn has fewer tools and keeps the choice of an earlier
turn, or when a tool definition was renamed and the choice was not. Without any tools, some refuse
every choice, even `none`: "'tool_choice' is only allowed when 'tools' are specified." A call in the
history to a tool that is no longer defined is not a violation: no provider is known to refuse it.

It is unknown which tool was meant. The fix removes the choice, so the model decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.ids.formats import list_some, shorten
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule
from toolwire.lint.tool_names import tool_choice_names


def _invalid_choices(facts: Facts) -> list[str]:
    tools = facts.conversation.tools
    if "choice" not in facts.conversation.settings:
        return []
    if not facts.profile.tool_choice_must_exist or not tools:
        return []
    if any(not tool.name for tool in tools):  # a definition without a name may hold many tools
        return []
    names = {tool.name for tool in tools}
    return [name for name in tool_choice_names(facts) if name not in names]


def _has_no_tools(facts: Facts) -> bool:
    """True if there is a tool choice and there are no tools."""
    conversation = facts.conversation
    needs_tools = facts.profile.tool_choice_needs_tools and not conversation.tools
    return needs_tools and "choice" in conversation.settings and facts.own_wire


def _check(facts: Facts) -> Iterable[Problem]:
    path = facts.conversation.source.setting_paths.get("choice", ())
    if _has_no_tools(facts):
        yield path, "the request has a tool choice and defines no tools", "safe"
    invalid = _invalid_choices(facts)
    if not invalid:  # usually enough; a request may define many tools
        return
    names = list_some(sorted({shorten(tool.name) for tool in facts.conversation.tools}))
    for name in invalid:
        text = f"the tool choice names {name}, which is not defined; the defined tools are {names}"
        yield path, text, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    path = facts.conversation.source.setting_paths.get("choice")
    names = _invalid_choices(facts)
    if path is None or not (names or _has_no_tools(facts)):
        return None
    if names:
        message = f"removed the tool choice, which names {list_some(list(map(shorten, names)))}"
    else:
        message = "removed the tool choice: no tools are defined"
    if facts.own_wire:
        return FixedBody(remove_paths(facts.body, [path]), ((path, message),))
    settings = {key: value for key, value in facts.conversation.settings.items() if key != "choice"}
    return FixedConversation(replace(facts.conversation, settings=settings), ((path, message),))


_F: JSON = {"type": "function", "function": {"name": "f"}}
_G: JSON = {"type": "function", "function": {"name": "g"}}
_R: Object = {"type": "function", "name": "f"}
_B: JSON = {"name": "f", "input_schema": {"type": "object"}}
RULE = Rule(
    "TW061",
    "name-unknown",
    title="the tool choice names a tool that is not defined, or no tools are defined",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: profile.tool_choice_must_exist or profile.tool_choice_needs_tools,
    handled_by="write",
    ruled_out_on_own_wire_by=(Observation.NO_TOOL_CHOICE,),
    bad=(
        Example(
            "openai-responses",
            "openai-responses",
            {"input": "hi", "tools": [_R], "tool_choice": {**_R, "name": "g"}},
        ),
        blocks_example(USER, tools=[_B], tool_choice={"type": "tool", "name": "g"}),
        chat_example(USER, tool_choice="auto"),
        chat_example(USER, tool_choice="none"),
    ),
    good=(
        Example(
            "openai-responses",
            "openai-responses",
            {"input": "hi", "tools": [_R], "tool_choice": _R},
        ),
        blocks_example(USER, tools=[_B], tool_choice={"type": "tool", "name": "f"}),
        chat_example(USER, assistant(tool_call("c1", "g")), tool_message("c1"), USER, tools=[_F]),
        chat_example(USER, tools=[_F], tool_choice=_G),
        chat_example(USER, tool_choice="auto", target="xai"),
    ),
)
