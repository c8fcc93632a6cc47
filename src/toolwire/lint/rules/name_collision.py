"""Two tool definitions have the same name.

Several providers refuse that ("Tool names must be unique", "Duplicate function declaration found");
others silently replace the first definition with the second. This happens when two MCP servers have
tools of the same name, or when every invalid character of a name was replaced with `_`: `a.b` and
`a_b` become equal.

Identical definitions are merged: nothing changes for the model. If definitions differ, the later
ones are renamed to the old name plus a hash of the definition; the id map restores the old name.
Calls in the history keep the name of the first.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.fitting import fit
from toolwire.conversation.ids import digest, first_free
from toolwire.conversation.json import JSON, JsonPath, put, text_of
from toolwire.conversation.model import Tool
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.lint.examples.chat import USER, blocks_example, chat_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule
from toolwire.lint.tool_names import name_path, name_rule_for, tool_definitions


def _duplicates(facts: Facts) -> list[tuple[Tool, bool]]:
    """Tools with the name of an earlier tool; the flag is True for an identical definition."""
    if not facts.profile.rejects_duplicate_tool_names or len(facts.conversation.tools) < 2:
        return []
    tools = [tool for tool in tool_definitions(facts) if tool.name]
    if len({tool.name for tool in tools}) == len(tools):
        return []
    tools_by_name: dict[str, list[Tool]] = {}
    duplicates: list[tuple[Tool, bool]] = []
    for tool in tools:
        earlier = tools_by_name.setdefault(tool.name, [])
        if earlier:
            duplicates.append((tool, any(other.raw == tool.raw for other in earlier)))
        earlier.append(tool)
    return duplicates


def _check(facts: Facts) -> Iterable[Problem]:
    for tool, identical in _duplicates(facts):
        what = "is defined twice" if identical else "is the name of two different tools"
        yield (
            tool.path,
            f"{tool.name} {what}; {facts.profile.name} requires unique tool names",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    if not facts.own_wire:
        return _merge_or_rename(facts)
    names = {tool.name for tool in facts.conversation.tools} | {call.name for call in facts.calls}
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    copies: list[JsonPath] = []
    for tool, identical in _duplicates(facts):
        if identical:
            copies.append(tool.path)
            changes.append((tool.path, f"removed the second definition of {tool.name}"))
        else:
            name = _free_name(facts, tool, names)
            names.add(name)
            body = put(body, tool.path + name_path(tool), name)
            changes.append((tool.path, f"renamed the second tool {tool.name} to {name}"))
    return FixedBody(remove_paths(body, copies), tuple(changes)) if changes else None


def _merge_or_rename(facts: Facts) -> FixedConversation | None:
    """The conversation without copies of definitions, and with new names for the others."""
    duplicates = PartMap(_duplicates(facts))
    names = {tool.name for tool in facts.conversation.tools} | {call.name for call in facts.calls}
    tools: list[Tool] = []
    changes: list[tuple[JsonPath, str]] = []
    for tool in facts.conversation.tools:
        if tool not in duplicates:
            tools.append(tool)
        elif duplicates[tool]:
            changes.append((tool.path, f"removed the second definition of {tool.name}"))
        else:
            name = _free_name(facts, tool, names)
            names.add(name)
            tools.append(replace(tool, name=name))
            changes.append((tool.path, f"renamed the second tool {tool.name} to {name}"))
    if not changes:
        return None
    return FixedConversation(replace(facts.conversation, tools=tuple(tools)), tuple(changes))


def _free_name(facts: Facts, tool: Tool, names: set[str]) -> str:
    """A name that no tool has: the old name and a hash of the definition."""
    definition = text_of(tool.raw if isinstance(tool.raw, dict) else None)

    def candidate(salt: str) -> str:
        suffix = digest(tool.name, f"{definition}{salt}")[:8]
        return fit(f"{tool.name}_{suffix}", name_rule_for(facts))

    return first_free(candidate, names)


_A: JSON = {"name": "f", "input_schema": {"type": "object"}}
_B: JSON = {"name": "f", "description": "another", "input_schema": {"type": "object"}}
_C: JSON = {"name": "a.b", "description": "another", "input_schema": {"type": "object"}}
_D: JSON = {"name": "a_b", "description": "another", "input_schema": {"type": "object"}}
RULE = Rule(
    "TW060",
    "name-collision",
    title="two tool definitions have the same name",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=16,
    ruled_out_by=(Observation.DISTINCT_TOOLS,),
    bad=(
        blocks_example(USER, tools=[_A, _B]),
        blocks_example(USER, tools=[_A, _A, _B]),
        Example(
            "gemini",
            "gemini",
            {
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "tools": [
                    {"functionDeclarations": [{"name": "f"}]},
                    {"functionDeclarations": [{"name": "g"}, {"name": "f"}]},
                ],
            },
        ),
    ),
    good=(
        blocks_example(USER, tools=[_C, _D]),
        chat_example(
            USER,
            tools=[
                {"type": "function", "function": {"name": "f"}},
                {"type": "function", "function": {"name": "f"}},
            ],
            target="xai",
        ),
    ),
)
