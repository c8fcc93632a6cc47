"""Tool calls that keep their identity on every wire: every result finds its call.

What only some programs need (the rules, and what is built on them) is imported when somebody asks for it.
"""

import importlib
import typing

from toolwire.codec import Encoded, decode, encode
from toolwire.errors import LocalError, RemoteError, WireError
from toolwire.identity import IdMap
from toolwire.model import (
    Call,
    Change,
    Choice,
    Conversation,
    Format,
    Loss,
    Media,
    Message,
    Opaque,
    Pair,
    Part,
    Reasoning,
    Result,
    Text,
    Tool,
    Usage,
)  # fmt: skip
from toolwire.streams import AsyncRestreamed, Restreamed, fold, restream
from toolwire.translate import catalogue, detect, profiles, translate, wires

if typing.TYPE_CHECKING:
    from toolwire.history import abandon, cut, pending, resume
    from toolwire.lint import Repaired, check, repair
    from toolwire.lint._rule import Finding
    from toolwire.lint.explain import Explanation, explain

__version__ = "0.1.0"

__all__ = [
    "AsyncRestreamed", "Call", "Change", "Choice", "Conversation", "Encoded", "Explanation", "Finding", "Format", "IdMap",
    "LocalError", "Loss", "Media", "Message", "Opaque", "Pair", "Part", "Reasoning", "RemoteError", "Repaired", "Restreamed",
    "Result", "Text", "Tool", "Usage", "WireError", "abandon", "catalogue", "check", "cut", "decode", "detect", "encode",
    "explain", "fold", "pending", "profiles", "repair", "restream", "resume", "translate", "wires",
]  # fmt: skip

_LATE = {
    **dict.fromkeys(("abandon", "cut", "pending", "resume"), "toolwire.history"),
    **dict.fromkeys(("Repaired", "check", "repair"), "toolwire.lint"),
    "Finding": "toolwire.lint._rule",
    **dict.fromkeys(("Explanation", "explain"), "toolwire.lint.explain"),
}


def __getattr__(name: str) -> object:
    """One of the names that are imported when somebody asks for them."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = found
    return found
