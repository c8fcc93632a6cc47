"""Several answers of a model, and what a gateway did between them, told to its client as one
answer.

What happened behind it goes along in a parcel: at the end, or where clients take the end for the
answer, between the answers as soon as it has happened. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolwire.codec import decode
from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Message
from toolwire.gateway.client_apis import taken
from toolwire.gateway.continuation_tokens import packed, seen, wanted
from toolwire.gateway.translator import RelayStream, Translator, UpstreamRequest
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.server_tools import ServerToolPolicy


class MergedStream(RelayStream):
    """Several answers of a model, and what the gateway did between them, as one answer for the
    client."""

    def __init__(
        self,
        relay: Translator,
        sent: UpstreamRequest,
        turns: Sequence[Message],
        *,
        stream: bool,
        array: bool,
        hosted: ServerToolPolicy,
    ) -> None:
        """`turns`, which grow, are what happened behind the answer."""
        super().__init__(relay, sent, array=array, server_tools=hosted)
        self.passthrough = False
        self.listed = array
        self._thoughts = bool(relay.rules.reasoning_to_return) and not relay.same
        """Whether the model wants thoughts back that nobody signed, and the client's wire could not
        carry them."""
        self._turns = turns
        self._packed = 0
        """How many of them went into a parcel."""
        self._between = 0
        """Parcels so far."""
        self._streams = stream
        self._keeps = False
        self._chunks: list[Chunk] = []
        self._drawn = self._encode_chunk
        self._encode_chunk = self._kept

    def _kept(self, chunk: Chunk) -> bytes:
        chunk = self._relay.front.moved(chunk, self._between) if self._between else chunk
        self._chunks.append(chunk)
        return self._drawn(chunk)

    def between(self) -> list[bytes]:
        """What stands before the next answer: what happened so far, where a parcel cannot wait for
        the end."""
        front = self._relay.front
        if self.fault is not None or front.ends:
            return []
        first = self._encode(self._begin())
        parcel = self._parcel(self._turns[self._packed :], self.body(), head=True)
        out = self._encode(front.chunks([], parcel, self._blocks - self._between))
        self._between += 1
        self._packed = len(self._turns)
        return first + out

    def _finish(self) -> list[Chunk]:
        last, left = super()._finish(), self._due()
        if (
            not left
            or not (self._relay.front.ends or self._streams)
            or not any(map(self.closes, left))
        ):
            return last
        return self._relay.front.chunks(
            last, self._parcel(left, self.body(last)), self._blocks - self._between
        )

    def whole(self) -> JSON:
        """The whole answer, when it is closed."""
        body, left = self.body(), self._due()
        if left and not self._relay.front.ends and isinstance(body, dict):
            self._relay.front.put(body, self._parcel(left, body))
        return body

    def _due(self) -> Sequence[Message]:
        """What happened since the last parcel, if the model wants it back."""
        left = self._turns[self._packed :]
        return left if wanted(left, thoughts=self._thoughts) else ()

    def _parcel(self, turns: Sequence[Message], body: JSON, *, head: bool = False) -> str:
        """A parcel of what happened since the last one, and was shown in an answer so far."""
        self.parceled = True
        shown: list[Message] = []
        for one in decode(body, self._relay.front.wire, "response").messages:
            if one.role == "assistant":
                plain, before = taken(one)
                shown.append(replace(plain, parts=plain.parts[before[-1][0] if before else 0 :]))
        return packed(self._relay.wire, turns, seen(shown), head=head)

    def body(self, more: Sequence[Chunk] = ()) -> JSON:
        """The answer so far."""
        reader = self.target_spec.reader(keep=True)
        for chunk in [*self._chunks, *more]:
            reader.read(chunk)
            reader.count += 1
        reader.done = True
        reader.end()
        return reader.body()
