"""Tool names inside namespaces.

Wires of this shape keep namespace and name in two fields. Everywhere else a tool has one qualified
name: the namespace, a separator, the name. Two tools never get the same qualified name: a plain
name that contains the separator gets a leading one, and `%` and `:` in a namespace are
percent-encoded. So a qualified name can be split without knowing where it was read. Names of other
wires do not contain the separator: no server of this shape accepts it, so fitting removes it.
"""

from __future__ import annotations

from toolwire.conversation.id_rules import NAMESPACE_SEPARATOR
from toolwire.conversation.json import Object
from toolwire.wires.engine.specs import read_name


def plain_name(name: str) -> str:
    """The qualified name of a tool outside all namespaces."""
    return f"{NAMESPACE_SEPARATOR}{name}" if NAMESPACE_SEPARATOR in name else name


def join_name(namespace: str, name: str) -> str:
    """The qualified name of a tool inside a namespace."""
    return f"{namespace.replace('%', '%25').replace(':', '%3A')}{NAMESPACE_SEPARATOR}{name}"


def split_name(qualified: str) -> tuple[str, str]:
    """The namespace, empty if there is none, and the name in it."""
    if NAMESPACE_SEPARATOR not in qualified:
        return "", qualified
    namespace, _, name = qualified.partition(NAMESPACE_SEPARATOR)
    if not namespace and NAMESPACE_SEPARATOR in name:
        return "", name
    if not namespace or not name:
        return "", qualified
    return namespace.replace("%3A", ":").replace("%25", "%"), name


def name_fields(qualified: str) -> Object:
    """The fields that name a tool."""
    namespace, name = split_name(qualified)
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def read_qualified_name(block: Object) -> str:
    """The qualified name of the tool that a block names.

    Servers repeat the name of a deferred tool as its namespace; this does not count as a namespace.
    """
    name, namespace = read_name(block.get("name")), block.get("namespace")
    if name and namespace and isinstance(namespace, str) and namespace != name:
        return join_name(namespace, name)
    return plain_name(name)


def repeats_name(block: object) -> bool:
    """True if the namespace of a block repeats the name of its tool."""
    if not isinstance(block, dict) or "name" not in block:
        return False
    return "namespace" in block and block["namespace"] == block["name"]


def has_unused_namespace(block: Object) -> bool:
    """True if the namespace of a block is not part of its tool's qualified name."""
    namespace = block.get("namespace")
    if namespace in (None, ""):
        return False
    return not (isinstance(namespace, str) and read_name(block.get("name")))
