"""Several answers of a model, and what a gateway did between them, told to its client as one answer.

What happened behind it goes along in one parcel. Knows no wire.
"""

from __future__ import annotations

from toolwire._json import JSON
from toolwire.codec import decode
from toolwire.events import Chunk, Event
from toolwire.hosted import Hosted
from toolwire.parts import Message
from toolwire.protocols.parcels import packed, seen
from toolwire.protocols.relay import Relay, RelayPipe, Sent


class Told(RelayPipe):
    """Several answers of a model, and what the gateway did between them, as one answer for the client."""

    def __init__(self, relay: Relay, sent: Sent, *, array: bool, hosted: Hosted) -> None:
        super().__init__(relay, sent, array=array)
        self.same = False
        self.listed = array
        self.turns: list[Message] = []
        """What goes into the parcel."""
        self._hosted = hosted
        self._hosts = self._hosts and hosted != "drop"
        self._keeps = False
        self._chunks: list[Chunk] = []
        self._drawn = self._shape
        self._shape = self._kept

    def _kept(self, chunk: Chunk) -> bytes:
        self._chunks.append(chunk)
        return self._drawn(chunk)

    def tell(self, told: list[Event]) -> list[bytes]:
        """What events become."""
        return [] if self.fault is not None else list(map(self._shape, self._say(told)))

    def close(self) -> list[bytes]:
        """What the answer ends with."""
        return [] if self.fault is not None else list(map(self._shape, [*self._unanswered(), *self._last()]))

    def _last(self) -> list[Chunk]:
        last = super()._last()
        if not self.turns:
            return last
        self.parceled = True
        said = decode(self.body(last), self.to_wire, "response").messages
        shown = seen([one for one in said if one.role == "assistant"])
        return self._relay.front.chunks(last, packed(self._relay.wire, self.turns, shown), self._blocks)

    @property
    def to_wire(self) -> str:
        """The wire of the client."""
        return self._relay.front.wire

    def body(self, more: list[Chunk] | None = None) -> JSON:
        """The whole answer."""
        reader = self.to.reader(keep=True)
        for chunk in [*self._chunks, *(more or [])]:
            reader.read(chunk)
            reader.count += 1
        reader.done = True
        reader.end()
        return reader.body()
