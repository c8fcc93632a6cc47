"""The tool requests of a Genkit stream while they arrive.

An input arrives as snapshots of a value, as fragments of JSON text, or as one value. Text counts as
JSON if it begins with a brace or arrives in fragments; other text is a value.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, get, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call
from toolwire.wires.genkit.blocks import is_json_text


class ToolRequest(Struct, eq=False):
    """A tool request, as far as it was received."""

    call: Call
    block: Object
    """The block as in the whole message."""
    ordinal: int
    """Its position among all calls of the stream."""
    ref: str
    slot: int | None = None
    """The slot of its events; None until the call is emitted."""
    pieces: list[str] = []
    """The text that arrived as the input."""
    fragmented: bool = False
    """True if the text arrived in fragments."""
    streamed: bool = False
    """True if the text is emitted as it arrives."""
    value: JSON | UnsetType = UNSET
    """The input, if the newest one is not text."""
    partial: bool = False
    """True if the newest input is a snapshot of an unfinished one."""
    closed: bool = False

    @classmethod
    def begin(cls, call: Call, block: Object, ordinal: int) -> ToolRequest:
        """Start a request with its first block."""
        block = {**block, "toolRequest": _without_partial(block["toolRequest"])}
        call = replace(call, source=replace(call.source, raw=block))
        return cls(call, block, ordinal, call.id)

    def add_input(self, value: JSON, *, partial: bool, fragment: bool) -> str:
        """Add the input of a chunk, which replaces the previous input or continues its text.

        Returns:
            The text that it adds.
        """
        self.partial = partial
        if isinstance(value, str) and not partial:
            self.fragmented = self.fragmented or fragment
            if not fragment:
                self.pieces.clear()
            self.pieces.append(value)
            self.value = UNSET
            return value
        if value is not None or not self.pieces:
            self.value = value
        return ""

    @property
    def text_is_json(self) -> bool:
        """True if the text is JSON, not a value that is a text."""
        return self.fragmented or is_json_text("".join(self.pieces[:4]))

    def arguments_text(self) -> str:
        """The arguments as JSON text."""
        if not isinstance(self.value, UnsetType):
            return "" if self.value is None else text_of(self.value)
        text = "".join(self.pieces)
        return text if self.text_is_json else text_of(text)

    def take_from(self, calls: list[Call]) -> bool:
        """Remove the call of this request from the calls of a response; return False if it is not
        there. The input is compared as far as it was emitted."""
        emitted = LazyJson(self.arguments_text()).value or {}
        is_open = not self.closed and not self.streamed
        for call in calls:
            is_same = call.name == self.call.name and (not self.ref or call.id == self.ref)
            if is_same and (is_open or (call.input or {}) == emitted):
                calls.remove(call)
                return True
        return False

    def write(self) -> Object:
        """The `toolRequest` as in a whole message."""
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


def find_request(requests: list[ToolRequest], part: Call) -> ToolRequest | None:
    """The newest open request that a part continues, found by its ref or, without one, by its
    name."""
    for request in reversed(requests):
        if request.closed:
            continue
        if part.id and request.ref:
            if part.id == request.ref:
                return request
        elif not part.name or (not part.id and request.partial and request.call.name == part.name):
            return request
    return None


def adopt_refs(requests: list[ToolRequest], content: list[JSON]) -> None:
    """Give a request the ref of a tool response if there is only one of each with its name."""
    responses = [get(block, ("toolResponse",)) for block in content]
    for name in {request.call.name for request in requests if not request.ref}:
        without_ref = [other for other in requests if not other.ref and other.call.name == name]
        refs = [
            response.get("ref")
            for response in responses
            if isinstance(response, dict) and response.get("name") == name
        ]
        if len(without_ref) == len(refs) == 1 and isinstance(refs[0], str):
            without_ref[0].ref = refs[0]


def match_calls(requests: list[ToolRequest], calls: list[Call]) -> list[Call]:
    """Give open requests the ref and input of their calls in the response.

    Returns:
        The calls without a request.
    """
    refs = {request.ref for request in requests if request.ref}
    for request in requests:
        named = (call for call in calls if call.name == request.call.name)
        if request.ref:
            matching = (call for call in named if call.id == request.ref)
        else:
            matching = (call for call in named if call.origin == "minted" or call.id not in refs)
        call = next(matching, None)
        if call is None:
            continue
        calls = [other for other in calls if other is not call]
        if not request.closed:
            request.ref = request.ref or ("" if call.origin == "minted" else call.id)
            request.value = call.input if call.args.text else None
            request.partial = False
    return calls
