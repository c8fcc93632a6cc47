"""The tool that the model must use is not on offer.

A choice of a tool that is not there is refused: "Tool 'f' not found in provided tools", "Tool
choice 'f' not found in 'tools' parameter". It happens when the tools are narrowed for one turn and
the choice of an earlier one stays, or when the offer was renamed and the choice was not. A call in
the history of a tool that is no longer on offer is another matter: nobody is known to refuse that,
and it is no finding.

Which tool was meant is not for us to say. The unsafe fix takes the choice out, and the model
chooses itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.json_remove import remove_paths
from toolwire.lint.rule import Example, FixedBody, Problem, Rule
from toolwire.lint.tool_names import chosen_names


def _unknown(facts: Facts) -> list[str]:
    tools = facts.conversation.tools
    if (
        not facts.profile.tool_choice_must_exist
        or not tools
        or any(not tool.name for tool in tools)
    ):  # one without a name may stand for many
        return []
    names = {tool.name for tool in tools}
    return [name for name in chosen_names(facts) if name not in names]


def _check(facts: Facts) -> Iterable[Problem]:
    for name in _unknown(facts):
        offered = ", ".join(sorted(tool.name for tool in facts.conversation.tools))
        yield (
            facts.conversation.source.setting_paths.get("choice", ()),
            f"{name} must be used and is not on offer; there are {offered}",
            "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    at = facts.conversation.source.setting_paths.get("choice")
    if not unsafe or at is None or not _unknown(facts):
        return None
    return FixedBody(
        remove_paths(facts.body, [at]),
        ((at, f"the choice of {', '.join(_unknown(facts))} is taken out"),),
    )


_F: JSON = {"type": "function", "function": {"name": "f"}}
_G: JSON = {"type": "function", "function": {"name": "g"}}
_R: Object = {"type": "function", "name": "f"}
_B: JSON = {"name": "f", "input_schema": {"type": "object"}}
RULE = Rule(
    "TW061",
    "name-unknown",
    title="the tool that the model must use is not on offer",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    handled_by="write",
    bad=(
        Example(
            "openai-responses",
            "openai-responses",
            {"input": "hi", "tools": [_R], "tool_choice": {**_R, "name": "g"}},
        ),
        blocks_example(USER, tools=[_B], tool_choice={"type": "tool", "name": "g"}),
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
    ),
)
