"""The item shape: the names of tools, of which one inside a namespace has two.

Here it stands in two fields; everywhere else it goes under one name, the two with a joint between.
No two tools get one name that way: a name that holds the joint by itself begins with one more, and
what is in a namespace's name that could be taken for a joint is written as URLs do it. So whatever
has a joint on its way out is told apart again without knowing where it came from; names that were
never read here have none, because no server of this shape takes them and they were fitted. Knows no
wire by name.
"""

from __future__ import annotations

from toolwire.conversation.ids import NAMESPACE_SEPARATOR
from toolwire.conversation.json import JSON, Object
from toolwire.wires.engine.specs import read_name


def alone(name: str) -> str:
    """What a tool outside of all namespaces is known by: its name."""
    return f"{NAMESPACE_SEPARATOR}{name}" if NAMESPACE_SEPARATOR in name else name


def inside(space: str, name: str) -> str:
    """What a tool inside a namespace is known by."""
    return f"{space.replace('%', '%25').replace(':', '%3A')}{NAMESPACE_SEPARATOR}{name}"


def parted(known: str) -> tuple[str, str]:
    """The namespace, empty if there is none, and the name in it."""
    if NAMESPACE_SEPARATOR not in known:
        return "", known
    space, _, name = known.partition(NAMESPACE_SEPARATOR)
    if not space and NAMESPACE_SEPARATOR in name:
        return "", name
    return (space.replace("%3A", ":").replace("%25", "%"), name) if space and name else ("", known)


def naming(known: str) -> Object:
    """The fields that name a tool."""
    space, name = parted(known)
    return {"name": name, "namespace": space} if space else {"name": name}


def called(block: Object, field: str = "name") -> str:
    """What the tool that a block names is known by."""
    name, space = read_name(block.get(field)), block.get("namespace")
    return inside(space, name) if name and space and isinstance(space, str) else alone(name)


def lost(block: Object) -> bool:
    """Whether a block says a namespace that is part of no name."""
    space: JSON = block.get("namespace")
    return space not in (None, "") and not (isinstance(space, str) and read_name(block.get("name")))
