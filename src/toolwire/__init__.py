"""Tool calls that keep their identity on every wire: every result finds its call."""

from toolwire.errors import LocalError, RemoteError, WireError
from toolwire.identity import IdMap
from toolwire.model import (
    Call,
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
from toolwire.streams import Restreamed, fold, restream
from toolwire.translate import Encoded, catalogue, decode, detect, encode, profiles, translate, wires

__version__ = "0.1.0"

__all__ = [
    "Call", "Choice", "Conversation", "Encoded", "Format", "IdMap", "LocalError", "Loss", "Media", "Message", "Opaque", "Pair",
    "Part", "Reasoning", "RemoteError", "Restreamed", "Result", "Text", "Tool", "Usage", "WireError", "catalogue", "decode",
    "detect", "encode", "fold", "profiles", "restream", "translate", "wires",
]  # fmt: skip
