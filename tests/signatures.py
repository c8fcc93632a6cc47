"""Signatures of thinking blocks as their maker builds them, with the name of the model."""

from __future__ import annotations

from base64 import b64encode


def signature_of(model: str) -> str:
    """A signature for a model: a message of protocol buffers, the name is its string field 6."""
    name = b"\x32" + bytes([len(model)]) + model.encode()
    header = b"\x08\x0f\x18\x02\x2a\x02id" + name + b"\x38\x00"
    container = b"\x0a" + bytes([len(header)]) + header + b"\x12\x02ok"
    return b64encode(b"\x12" + bytes([len(container)]) + container).decode()
