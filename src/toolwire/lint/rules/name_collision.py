"""Two tools on offer have one name.

Several providers refuse that ("Tool names must be unique", "Duplicate function declaration found");
others let the second overwrite the first, silently. It happens when two MCP servers have a tool of
one name, or when names were made to fit by turning every odd character into `_`: `a.b` and `a_b`
are then one.

Offers that are equal to the letter become one: the model sees what it saw. Where they differ, the
later ones get a name of their own, made of the old one and a hash of the offer; whoever runs the
tools has to know it, so this fix is unsafe. Calls in the history stay with the first.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.fitting import fit
from toolwire.conversation.ids import digest, first_free
from toolwire.conversation.json import JSON, put, text_of
from toolwire.conversation.model import Tool
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.chat import USER, blocks_example, chat_example
from toolwire.lint.facts import Facts
from toolwire.lint.json_remove import remove_paths
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.tool_names import accepted_names, defined_tools, name_path


def _twins(facts: Facts) -> list[tuple[Tool, bool]]:
    """Tools whose name an earlier one has, and whether they are that very tool again."""
    if not facts.profile.rejects_duplicate_tool_names or len(facts.conversation.tools) < 2:
        return []
    tools = [tool for tool in defined_tools(facts) if tool.name]
    if len({tool.name for tool in tools}) == len(tools):
        return []
    first: dict[str, list[Tool]] = {}
    found: list[tuple[Tool, bool]] = []
    for tool in tools:
        before = first.setdefault(tool.name, [])
        if before:
            found.append((tool, any(one.raw == tool.raw for one in before)))
        before.append(tool)
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for tool, same in _twins(facts):
        what = "offered twice" if same else "the name of two different tools"
        yield (
            tool.path,
            f"{tool.name} is {what}; {facts.profile.name} refuses that",
            "safe" if same else "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    if not facts.own_wire:
        return _without_copies(facts)
    used = {tool.name for tool in facts.conversation.tools} | {call.name for call in facts.calls}
    body, told, gone = facts.body, [], []
    for tool, same in _twins(facts):
        if same:
            gone.append(tool.path)
            told.append((tool.path, f"the second offer of {tool.name} is taken out"))
        elif unsafe:
            mark = text_of(tool.raw if isinstance(tool.raw, dict) else None)
            new = first_free(
                lambda salt, t=tool, m=mark: _another(t.name, f"{m}{salt}", facts),  # type: ignore[misc]
                used,
            )
            used.add(new)
            body = put(body, tool.path + name_path(tool), new)
            told.append((tool.path, f"the second {tool.name} goes under the name {new}"))
    return FixedBody(remove_paths(body, gone), tuple(told)) if told else None


def _without_copies(facts: Facts) -> Fixed | None:
    copies = [tool for tool, same in _twins(facts) if same]
    tools = tuple(
        tool for tool in facts.conversation.tools if not any(tool is copy for copy in copies)
    )
    changes = tuple(
        (tool.path, f"the second definition of {tool.name} was removed") for tool in copies
    )
    return Fixed(replace(facts.conversation, tools=tools), changes) if copies else None


def _another(name: str, mark: str, facts: Facts) -> str:
    return fit(f"{name}_{digest(name, mark)[:8]}", accepted_names(facts))


_A: JSON = {"name": "f", "input_schema": {"type": "object"}}
_B: JSON = {"name": "f", "description": "another", "input_schema": {"type": "object"}}
_C: JSON = {"name": "a.b", "description": "another", "input_schema": {"type": "object"}}
_D: JSON = {"name": "a_b", "description": "another", "input_schema": {"type": "object"}}
RULE = Rule(
    "TW060",
    "name-collision",
    title="two tools on offer have one name",
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
