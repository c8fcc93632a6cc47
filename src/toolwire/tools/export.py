"""Tool definitions as a wire writes them, and the tool behind each name on the wire.

The wire writes them as part of a conversation without messages.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation, Loss
from toolwire.errors import UsageError
from toolwire.tools.names import tool_names
from toolwire.tools.runnable import Runnable

_TOOLS_KEY = "tools"
"""The key of the list of tools on every wire, at any depth of a request."""


class ExportedTools(Struct, frozen=True, eq=False):
    """Tool definitions on a wire."""

    tools: JSON
    """The wire's list of tool definitions (some wires have an object by name)."""
    fields: Object
    """The list under its field name, to merge into a request: `{**request, **exported.fields}`."""
    names: dict[str, Runnable]
    """The tools by the names that the model sees."""
    losses: list[Loss]

    def name(self, tool: Runnable) -> str:
        """The name of a tool on the wire. Raises KeyError if it was not exported."""
        for name, exported in self.names.items():
            if exported is tool:
                return name
        raise KeyError(str(tool.id))


def export_tools(tools: Iterable[Runnable], wire: str) -> ExportedTools:
    """Write tool definitions as a wire or profile has them.

    Raises:
        UsageError: requests of this wire have no tool definitions.
    """
    named = tool_names(tools)
    if not named:
        return ExportedTools([], {}, {}, [])
    definitions = tuple(replace(tool.definition(), name=name) for name, tool in named.items())
    encoded = encode(Conversation((), tools=definitions), wire)
    body = encoded.body
    written = decode(body, wire).tools
    path = written[0].path if written else ()
    if not isinstance(body, dict) or _TOOLS_KEY not in path:
        raise UsageError("requests of this wire have no tool definitions", wire)
    listed = get(body, path[: path.index(_TOOLS_KEY) + 1])
    field = str(path[0])
    wire_names = {original: fitted for fitted, original in encoded.ids.names.items()}
    return ExportedTools(
        None if isinstance(listed, UnsetType) else listed,
        {field: body[field]},
        {wire_names.get(name, name): tool for name, tool in named.items()},
        encoded.losses,
    )
