"""The tools of an agent under names that every model accepts.

A tool has the same name on all wires, so that earlier calls still name a defined tool when a
conversation changes its model.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.fitting import fit_names
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.model import Tool
from toolwire.tools.names import tool_names
from toolwire.tools.registry import Tools, ToolSource
from toolwire.tools.runnable import Runnable

_EVERYWHERE = IdRule("a-zA-Z0-9_-", 64, first="[a-zA-Z_]")
"""Names that every provider accepts."""


class Toolset:
    """Tools by the names that models see. Takes one tool, or any number."""

    def __init__(self, tools: ToolSource | Iterable[ToolSource] = ()) -> None:
        named = tool_names(Tools.of(tools))
        fitted = fit_names(set(named), _EVERYWHERE, {})
        self.names: dict[str, Runnable] = {
            fitted.get(name, name): tool for name, tool in named.items()
        }
        self.tools: tuple[Tool, ...] = tuple(
            replace(tool.definition(), name=name) for name, tool in self.names.items()
        )

    def find(self, name: str) -> Runnable | None:
        """Return the tool that a model calls by a name."""
        return self.names.get(name)
