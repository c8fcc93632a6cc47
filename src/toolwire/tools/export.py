"""Tools as a model wire offers them, with the names that lead back from a call to its tool.

Written by the wire itself, as part of a conversation in which nobody has spoken yet. Knows no wire
by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation, Loss
from toolwire.errors import UsageError
from toolwire.tools.runnable import Runnable, Version

_LIST = "tools"
"""What every wire calls the list of tools, wherever it stands in a request."""


class ExportedTools(Struct, frozen=True, eq=False):
    """Tools on a wire."""

    tools: JSON
    """The wire's own list of tools (some have an object by name)."""
    fields: Object
    """The same with the field of a request it stands in: `{**request, **offered.fields}`."""
    names: dict[str, Runnable]
    """By the name that the model will call it, the tool."""
    losses: list[Loss]

    def name(self, tool: Runnable) -> str:
        """The name under which a tool is offered. Raises KeyError if it is not."""
        for name, one in self.names.items():
            if one is tool:
                return name
        raise KeyError(str(tool.id))


def offer(tools: Iterable[Runnable], wire: str) -> ExportedTools:
    """Tools as a wire or profile offers them: the newest version by its plain name, older ones with
    their version in it.

    Raises UsageError if the wire offers no tools in a request.
    """
    named = names(tools)
    offers = tuple(replace(one.offered(), name=name) for name, one in named.items())
    made = encode(Conversation((), tools=offers), wire)
    body = made.body
    if not offers:
        return ExportedTools([], {}, {}, [])
    read = decode(body, wire).tools
    at = read[0].path if read else ()
    if not isinstance(body, dict) or _LIST not in at:
        raise UsageError("this wire offers no tools in a request", wire=wire)
    place = at[: at.index(_LIST) + 1]
    listed, field = get(body, place), str(at[0])
    fitted = {old: new for new, old in made.ids.names.items()}
    return ExportedTools(
        None if isinstance(listed, UnsetType) else listed,
        {field: body[field]},
        {fitted.get(name, name): one for name, one in named.items()},
        made.losses,
    )


def names(tools: Iterable[Runnable]) -> dict[str, Runnable]:
    """A name for every tool, no two the same: `Kit_Tool`, and `Kit_Tool_1_9_0` for a version that
    is not the newest."""
    found = sorted(
        {id(one): one for one in tools}.values(),
        key=lambda one: one.id.version or Version(0),
        reverse=True,
    )
    out: dict[str, Runnable] = {}
    older: list[Runnable] = []
    for one in found:
        if out.setdefault(one.name, one) is not one:
            older.append(one)
    for one in older:
        name = f"{one.name}_{one.id.version}".replace(".", "_")
        while name in out:
            name += "_"
        out[name] = one
    return dict(
        sorted(out.items(), key=lambda item: (item[1].id.plain, item[1].id.version or Version(0)))
    )
