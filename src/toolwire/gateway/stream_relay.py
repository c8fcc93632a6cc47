"""The streamed half of a relay: a model's stream on its way to the client, with the parcel of its
turn at its end.

Opens no connection; knows wires only through their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from toolwire.codec import decode
from toolwire.conversation.json import dump
from toolwire.conversation.model import Loss
from toolwire.conversation.parts import Call, Message, Reasoning
from toolwire.errors import DecodeError, UsageError
from toolwire.gateway.client_apis import ClientApi
from toolwire.gateway.continuation_tokens import LARGEST
from toolwire.gateway.upstream_request import UpstreamRequest, called, customised, unsealed
from toolwire.streaming.accumulate import Accumulator, conversation_events
from toolwire.streaming.events import (
    Chunk,
    Event,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.streaming.restream import fold
from toolwire.streaming.stream_input import Item
from toolwire.streaming.stream_translator import StreamTranslator
from toolwire.wires.engine.server_tools import ServerToolPolicy


def _seals(event: Event) -> bool:
    """Whether an event tells of something that a parcel may have to carry."""
    match event:
        case PartStart(part=part) | PartComplete(part=part):
            return part.signature is not None or isinstance(part, Reasoning)
        case PartEnd(signature=seal):
            return seal is not None
    return False


class StreamRoute(Protocol):
    """The way from one front to one model, as far as a stream has to know it."""

    front: ClientApi
    wire: str
    same: bool

    def keeps(self, turn: Sequence[Message]) -> bool: ...
    def parcel(self, turn: Sequence[Message], sent: UpstreamRequest) -> str: ...


class RelayStream(StreamTranslator[bytes]):
    """A stream through the gateway, with the parcel of its turn at its end."""

    def __init__(
        self,
        relay: StreamRoute,
        sent: UpstreamRequest,
        *,
        array: bool = False,
        server_tools: ServerToolPolicy = "auto",
    ) -> None:
        super().__init__(relay.wire, relay.front.wire, ids=sent.ids, server_tools=server_tools)
        self.passthrough = sent.same
        self.parceled = False
        self._relay = relay
        self._sent = sent
        self._array = array
        self._opened = False
        self._keeps = not relay.same
        """Whether what comes is kept, for the parcel."""
        self._tape: list[bytes] = []
        self._size = 0
        self._sealed = False
        """Whether something came that the client's wire may not carry."""
        self._named = not relay.front.signs
        """Whether the model was told under the name that the client knows."""
        self._streams = True
        """Whether the client gets a stream; else it gets what the events make together."""
        self._blocks = 0
        self._calls = Accumulator()
        """Open calls of tools that take a text: what the text is, is known when they are whole."""
        self._whole_turn: Message | None = None
        self._frame: Callable[[Chunk], bytes] = self._encode_chunk
        if array:
            self._encode_chunk = self._listed
        elif relay.front.opens:
            self._encode_chunk = self._counted
        self._use_cache = self._use_cache and not array and not sent.same

    def _counted(self, chunk: Chunk) -> bytes:
        front = self._relay.front
        if chunk.get("type") == front.opens:
            self._blocks += 1
            chunk = front.opening(chunk, self._sent.asked)
        return self._frame(chunk)

    def _listed(self, chunk: Chunk) -> bytes:
        opens, self._opened = not self._opened, True
        return (b"[" if opens else b",\r\n") + dump(chunk)

    @property
    def trailer(self) -> bytes:
        """What the stream ends with."""
        return (b"]" if self._opened else b"[]") if self._array else super().trailer

    def told_whole(self, data: bytes) -> list[bytes]:
        """All of a stream whose server gave the answer at once. Raises DecodeError if it
        is none.
        """
        read = decode(data, self._relay.wire, "response")
        if not read.messages:
            raise DecodeError("an answer without a message", wire=self._relay.wire)
        self._whole_turn = read.messages[0]
        return [*self.emit(list(conversation_events(read))), *self.close()]

    def feed(self, item: Item) -> list[bytes]:
        """What an item of the source becomes."""
        if self._keeps and isinstance(item, bytes):
            self._tape.append(item)
            self._size += len(item)
            if self._size > LARGEST:
                self._keeps, self._tape = False, []
        return super().feed(item)

    def _translate(self, events: list[Event]) -> list[Chunk]:
        if self._keeps and not self._sealed:
            self._sealed = any(map(_seals, events))
        if not self._named:
            events = [self._called(one) if isinstance(one, MessageStart) else one for one in events]
        return super()._translate(self._texts(events) if self._sent.customs else events)

    def _called(self, begin: MessageStart) -> MessageStart:
        self._named = True
        return replace(begin, settings=called(begin.settings, self._sent))

    def _texts(self, events: list[Event]) -> list[Event]:
        """Events in which a call of a tool that takes a text has that text."""
        out: list[Event] = []
        sent, names = self._sent, self._sent.ids.names
        for event in events:
            match event:
                case PartStart(part=Call(family="function", name=name)) if (
                    names.get(name, name) in sent.customs
                ):
                    self._calls.start(event)
                case PartDelta(slot=slot) if slot in self._calls:
                    self._calls.delta(event)
                case PartEnd(slot=slot) if slot in self._calls:
                    out.append(PartComplete(customised(self._calls.end(event), sent)))
                case PartComplete(part=Call() as call):
                    out.append(replace(event, part=customised(call, sent)))
                case _:
                    out.append(event)
        return out

    def _finish(self) -> list[Chunk]:
        last = super()._finish()
        if self._streams:
            last = self._relay.front.closing(last, self._sent.asked)
        said = self.turn() if self._keeps and self._sealed else None
        if said is None or not self._relay.keeps((said,)) or not self.closes(said):
            return last
        self.parceled = True
        return self._relay.front.chunks(last, self._relay.parcel((said,), self._sent), self._blocks)

    def closes(self, said: Message) -> bool:
        """Whether a parcel may follow what was said last: no provider insists on thoughts of a turn
        that is over."""
        return self._relay.front.ends or any(isinstance(part, Call) for part in said.parts)

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far, but for what a parcel carries."""
        return list(unsealed(super().losses)) if self.parceled else super().losses

    def turn(self) -> Message | None:
        """What the model said, in its own wire."""
        if self._whole_turn is not None:
            return self._whole_turn
        try:
            read = decode(fold(self._tape, self._relay.wire), self._relay.wire, "response").messages
        except (DecodeError, UsageError):
            return None
        return read[0] if read else None

    def failed(self, why: str) -> list[bytes]:
        """What the client is told when the stream cannot go on."""
        return (
            [] if self.fault is not None else self._encode(self._translate_source(StreamError(why)))
        )
