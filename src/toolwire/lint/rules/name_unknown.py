"""The tool choice names a tool that is not defined, or no tools are defined.

Providers refuse such a choice: "Tool 'f' not found in provided tools", "Tool choice 'f' not found
in 'tools' parameter". This happens when a turn has fewer tools and keeps the choice of an earlier
turn, or when a tool definition was renamed and the choice was not. Without any tools, some refuse
every choice, even `none`, and other settings of tools: "'tool_choice' is only allowed when 'tools'
are specified", "'parallel_tool_calls' is only allowed when 'tools' are specified", "Invalid
'tools': empty array". A call in the history to a tool that is no longer defined is not a violation:
no provider is known to refuse it.

It is unknown which tool was meant. The fix removes the choice, so the model decides. Without tools,
it removes all settings of tools, and an empty list of tools.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
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
from toolwire.lint.tool_names import has_empty_tools, tool_choice_names


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


_TOOL_SETTINGS = {
    "choice": "a tool choice but no tools",
    "parallel": "a setting for parallel calls but no tools",
}


def _settings_without_tools(facts: Facts) -> list[tuple[JsonPath, str]]:
    """The settings of tools in a request that defines none: the path and a description of each."""
    conversation = facts.conversation
    if not facts.profile.tool_choice_needs_tools or conversation.tools or not facts.own_wire:
        return []
    paths = conversation.source.setting_paths
    found = [(paths[key], text) for key, text in _TOOL_SETTINGS.items() if key in paths]
    if has_empty_tools(facts):
        found.append((("tools",), "an empty list of tools"))
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    path = facts.conversation.source.setting_paths.get("choice", ())
    for needless, text in _settings_without_tools(facts):
        yield needless, f"the request has {text}", "safe"
    invalid = _invalid_choices(facts)
    if not invalid:  # usually enough; a request may define many tools
        return
    names = list_some(sorted({shorten(tool.name) for tool in facts.conversation.tools}))
    for name in invalid:
        text = f"the tool choice names {name}, which is not defined; the defined tools are {names}"
        yield path, text, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    needless = _settings_without_tools(facts)
    if needless:
        changes = [(path, f"removed a setting: the request had {text}") for path, text in needless]
        return FixedBody(remove_paths(facts.body, [path for path, _ in needless]), tuple(changes))
    path = facts.conversation.source.setting_paths.get("choice")
    names = _invalid_choices(facts)
    if path is None or not names:
        return None
    message = f"removed the tool choice, which names {list_some(list(map(shorten, names)))}"
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
        chat_example(USER, parallel_tool_calls=True),
        chat_example(USER, tools=[]),
        chat_example(USER, tools=[], parallel_tool_calls=False, tool_choice="auto"),
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
        chat_example(USER, parallel_tool_calls=True, tools=[_F]),
    ),
)
