"""A tool request of a Genkit stream while it arrives.

Its input comes as snapshots of a value, as fragments of JSON text, or as one value. Text is taken
for JSON if it begins with a brace or comes in fragments; other text is a value.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call


class ToolRequest:
    """A tool request, as far as it has arrived."""

    __slots__ = (
        "block",
        "call",
        "closed",
        "fragmented",
        "ordinal",
        "partial",
        "pieces",
        "ref",
        "slot",
        "streamed",
        "value",
    )

    def __init__(self, call: Call, block: Object, ordinal: int) -> None:
        self.block: Object = {**block, "toolRequest": _without_partial(block["toolRequest"])}
        """The block as the whole message will hold it."""
        self.call = replace(call, source=replace(call.source, raw=self.block))
        self.ref = call.id
        self.ordinal = ordinal
        """Its position among all calls of the stream."""
        self.slot: int | None = None
        """None until the call has been emitted."""
        self.pieces: list[str] = []
        """Text that arrived as the input."""
        self.fragmented = False
        """True if the text arrived in fragments."""
        self.streamed = False
        """True if the text is emitted as it arrives."""
        self.value: JSON | UnsetType = UNSET
        """The input, if the newest one is not text."""
        self.partial = False
        """True if the newest input is a snapshot of an unfinished one."""
        self.closed = False

    def add_input(self, value: JSON, *, partial: bool, fragment: bool) -> None:
        """Take the input of a chunk, which replaces the one before or continues its text."""
        self.partial = partial
        if isinstance(value, str) and not partial:
            self.fragmented = self.fragmented or fragment
            if not fragment:
                self.pieces.clear()
            self.pieces.append(value)
            self.value = UNSET
        elif value is not None or not self.pieces:
            self.value = value

    @property
    def text_is_json(self) -> bool:
        """True if the text that arrived is JSON, and not a value that is a text."""
        return self.fragmented or "".join(self.pieces[:4]).lstrip()[:1] in ("{", "")

    def arguments_text(self) -> str:
        """The arguments as JSON text."""
        if not isinstance(self.value, UnsetType):
            return "" if self.value is None else text_of(self.value)
        text = "".join(self.pieces)
        return text if self.text_is_json else text_of(text)

    def write(self) -> Object:
        """The `toolRequest` as a whole message holds it."""
        request = _without_partial(self.block["toolRequest"])
        if self.ref:
            request["ref"] = self.ref
        if not isinstance(self.value, UnsetType):
            if self.value is not None:
                request["input"] = self.value
        elif any(self.pieces) and self.text_is_json:
            text = "".join(self.pieces)
            value = LazyJson(text).value
            request["input"] = value if isinstance(value, dict) else {"_raw": text}
        if self.partial:
            request["partial"] = True
        return request


def _without_partial(request: JSON) -> Object:
    if not isinstance(request, dict):
        return {}
    return {key: value for key, value in request.items() if key != "partial"}
