"""The names of tools for models and MCP hosts."""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_rules import IdRule
from toolwire.tools.runnable import Runnable

NAME_RULE = IdRule("A-Za-z0-9_-", longest=64)
"""The names that every provider accepts. MCP allows dots and 128 characters, but hosts pass the
names on to models."""


def tool_names(tools: Iterable[Runnable]) -> dict[str, Runnable]:
    """A unique name for every tool, sorted by id.

    The newest version is `Toolkit_Tool`, older ones are `Toolkit_Tool_1_0_0`. The names do not
    depend on the order of the tools.
    """
    ordered = sorted(set(tools), key=lambda tool: tool.id)
    newest = {tool.id.plain: tool for tool in ordered}
    named: dict[str, Runnable] = {}
    # Newest versions first, so that they get the plain names
    for tool in sorted(ordered, key=lambda tool: newest[tool.id.plain] is not tool):
        name = tool.name
        if newest[tool.id.plain] is not tool:
            name = f"{name}_{str(tool.id.version).replace('.', '_')}"
        if name in named:  # `A_B.C` and `A.B_C`: an id never matches the rule, so it gets a hash
            name = str(tool.id)
        named[fit(name, NAME_RULE, named)] = tool
    return dict(sorted(named.items(), key=lambda item: item[1].id))
