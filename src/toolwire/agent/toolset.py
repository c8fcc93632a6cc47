"""The tools of an agent under names that every model takes.

One name for all wires, so that a conversation can go from one model to another and a call in its
past still names a tool that is on offer. Runs nothing.
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

_ANYWHERE = IdRule("a-zA-Z0-9_-", 64, first="[a-zA-Z_]")


class Toolset:
    """Tools by the names under which models see them."""

    def __init__(self, tools: Iterable[ToolSource] = ()) -> None:
        named = tool_names(Tools(*tools))
        fitted = fit_names(set(named), _ANYWHERE, {})
        self.names: dict[str, Runnable] = {
            fitted.get(name, name): one for name, one in named.items()
        }
        self.tools: tuple[Tool, ...] = tuple(
            replace(one.definition(), name=name) for name, one in self.names.items()
        )

    def find(self, name: str) -> Runnable | None:
        """The tool that a model means."""
        return self.names.get(name)
