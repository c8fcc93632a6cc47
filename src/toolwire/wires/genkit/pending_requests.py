"""One request for a tool in a Genkit stream, as far as it has come: snapshots of its input,
fragments of JSON text, or a value.

Tells text that is JSON from a value that happens to be a text: JSON text begins with a brace, or
comes in pieces. Knows no stream.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call


class Asked:
    """A request for a tool, as far as it has come."""

    __slots__ = (
        "block",
        "call",
        "closed",
        "live",
        "more",
        "ordinal",
        "partial",
        "pieces",
        "ref",
        "slot",
        "value",
    )

    def __init__(self, call: Call, block: Object, ordinal: int) -> None:
        self.block: Object = {**block, "toolRequest": _finished(block["toolRequest"])}
        """The part as the message will have it."""
        self.call = replace(call, source=replace(call.source, raw=self.block))
        self.ref = call.id
        self.ordinal = ordinal
        self.slot = -1
        self.pieces: list[str] = []
        """Text that came as the input: one string, or fragments."""
        self.more = False
        self.live = False
        """Whether fragments are told as they come."""
        self.value: JSON | UnsetType = UNSET
        self.partial = False
        self.closed = False

    def take(self, given: JSON, *, unfinished: bool, fragment: bool) -> None:
        """What one piece says of the input."""
        self.partial = unfinished
        if isinstance(given, str) and not unfinished:
            self.more = self.more or fragment
            if not fragment:
                self.pieces.clear()
            self.pieces.append(given)
            self.value = UNSET
        elif given is not None or not self.pieces:
            self.value = given

    @property
    def coded(self) -> bool:
        """Whether the text that came is JSON, and not a value that is a text."""
        return self.more or "".join(self.pieces[:4]).lstrip()[:1] in ("{", "")

    def text(self) -> str:
        """The arguments as JSON text."""
        if not isinstance(self.value, UnsetType):
            return "" if self.value is None else text_of(self.value)
        joined = "".join(self.pieces)
        return joined if self.coded else text_of(joined)

    def request(self) -> Object:
        """The request as a whole message has it."""
        out = _finished(self.block["toolRequest"])
        if self.ref:
            out["ref"] = self.ref
        if not isinstance(self.value, UnsetType):
            out.update({} if self.value is None else {"input": self.value})
        elif self.pieces and self.coded and any(self.pieces):
            joined = "".join(self.pieces)
            value = LazyJson(joined).value
            out["input"] = value if isinstance(value, dict) else {"_raw": joined}
        return {**out, "partial": True} if self.partial else out


def _finished(request: JSON) -> Object:
    return (
        {key: value for key, value in request.items() if key != "partial"}
        if isinstance(request, dict)
        else {}
    )
