"""The stream of a model on its way to the client, with a continuation token at its end."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from toolwire.codec import decode
from toolwire.conversation.json import dump
from toolwire.conversation.model import Loss, Usage, real_losses
from toolwire.conversation.parts import Call, Message, Reasoning
from toolwire.errors import DecodeError, UsageError
from toolwire.gateway.translation.client_edits import ClientEdits
from toolwire.gateway.translation.continuation_tokens import MAX_TOKEN_BYTES
from toolwire.gateway.translation.response_identity import IdentityFiller
from toolwire.gateway.translation.translator import NO_MESSAGE, Translator
from toolwire.gateway.translation.upstream_request import UpstreamRequest, losses_without_token
from toolwire.streaming.accumulate import conversation_events
from toolwire.streaming.events import (
    Chunk,
    Event,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.streaming.restream import fold
from toolwire.streaming.stream_translator import StreamTranslator

JSON_MEDIA_TYPE = "application/json"


def ends_with_token(translator: Translator, turn: Message) -> bool:
    """True if a token may follow a turn. No provider wants the reasoning of a finished turn."""
    calls = any(isinstance(part, Call) for part in turn.parts)
    return translator.api.token_may_come_last or calls


class JsonArray:
    """Encodes the chunks of a stream as one JSON array."""

    def __init__(self) -> None:
        self._started = False

    def encode(self, chunk: Chunk) -> bytes:
        """A chunk as the next item."""
        separator = b",\r\n" if self._started else b"["
        self._started = True
        return separator + dump(chunk)

    @property
    def trailer(self) -> bytes:
        """The end of the array."""
        return b"]" if self._started else b"[]"


class ResponseStream:
    """Translates the bytes of a model's stream into bytes for the client."""

    def __init__(
        self,
        translator: Translator,
        request: UpstreamRequest,
        *,
        array: JsonArray | None = None,
        cut_message: str = "",
    ) -> None:
        """Prepare the stream. `cut_message` replaces the reader's error for a stream that ends
        early."""
        self._translator = translator
        self._array = array
        # An object of its own: a stream that edits itself would be a reference cycle, which stays
        # in memory until the garbage collector finds it.
        self._edits = ResponseEdits(translator, request)
        self._cut_message = cut_message
        self._stream: StreamTranslator[bytes] = StreamTranslator(
            translator.wire,
            translator.api.wire,
            None if array is None else array.encode,
            ids=request.ids,
            server_tools="auto",
            edits=self._edits,
            request=request.response_info(),
        )
        self._stream.passthrough = request.passthrough

    @property
    def media_type(self) -> str:
        """The content type of the response."""
        return self._stream.target_spec.media if self._array is None else JSON_MEDIA_TYPE

    @property
    def headers(self) -> Mapping[str, str]:
        """Further headers of the response."""
        return self._stream.target_spec.headers

    @property
    def source_ended(self) -> bool:
        """True if the model has sent its last event; the connection may still be open."""
        return self._stream.source_ended

    @property
    def fault(self) -> StreamError | None:
        """The error that ended the stream, if any."""
        return self._stream.fault

    def feed(self, data: bytes) -> list[bytes]:
        """Translate the next bytes of the model."""
        edits = self._edits
        if edits.keeps_bytes:
            edits.pieces.append(data)
            edits.size += len(data)
            if edits.size > MAX_TOKEN_BYTES:
                edits.keeps_bytes, edits.pieces = False, []
        return self._stream.feed(data)

    def feed_whole(self, data: bytes) -> list[bytes]:
        """Translate a whole response that the provider sent instead of a stream.

        Raises:
            DecodeError: it is not a response of the model's wire.
        """
        response = decode(data, self._translator.wire, "response")
        if not response.messages:
            raise DecodeError(NO_MESSAGE, wire=self._translator.wire)
        self._edits.whole_turn = response.messages[0]
        return [*self._stream.emit(list(conversation_events(response))), *self._stream.close()]

    def end(self) -> list[bytes]:
        """Translate the rest after the model has ended its stream."""
        self._edits.cut_message = self._cut_message
        return self._stream.end()

    def fail(self, message: str) -> list[bytes]:
        """An error event for the client, unless the stream has one."""
        return self._stream.fail(message)

    @property
    def trailer(self) -> bytes:
        """The bytes that end the response."""
        return self._stream.trailer if self._array is None else self._array.trailer

    @property
    def losses(self) -> list[Loss]:
        """Content that the client's wire cannot express and no continuation token carries."""
        losses = real_losses(self._stream.losses)
        return list(losses_without_token(losses)) if self._edits.has_token else losses

    @property
    def usage(self) -> Usage | None:
        """The token usage, once the model has reported it."""
        return self._stream.usage

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped."""
        return self._edits.finish_reason


class ResponseEdits(ClientEdits):
    """The edits of a stream, with a continuation token at its end if the model wants one back."""

    def __init__(self, translator: Translator, request: UpstreamRequest) -> None:
        super().__init__(translator.api, request)
        self._translator = translator
        self._identity = IdentityFiller(translator.api, request)
        self.keeps_bytes = not translator.same_wire
        """True while the bytes of the model are kept for a continuation token: not if they are too
        many for one."""
        self.pieces: list[bytes] = []
        self.size = 0
        self._has_reasoning = False
        """True if there was something that the client's wire may not carry."""
        self.whole_turn: Message | None = None
        """The turn, if the provider sent it as a whole."""
        self.has_token = False
        self.cut_message = ""
        """The error of a stream that ended early, once it has ended."""

    def edit_events(self, events: list[Event]) -> list[Event]:
        """Note reasoning and signatures on the way to the client."""
        if self.cut_message:
            events = [self._name_cut(event) for event in events]
        if self.keeps_bytes and not self._has_reasoning:
            self._has_reasoning = any(map(_has_reasoning, events))
        return super().edit_events(events)

    def _name_cut(self, event: Event) -> Event:
        if isinstance(event, StreamError) and event.cut:
            return replace(event, message=self.cut_message)
        return event

    def edit_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Add ids, and count blocks."""
        if self._request.passthrough:
            chunks = list(map(self._identity.fill, chunks))
        return super().edit_chunks(self.add_call_ids(chunks))

    def edit_last_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Add the continuation token, if the model wants the turn back."""
        api = self._translator.api
        chunks = api.edit_last_chunks(chunks, self._request.client_body)
        turn = self._turn() if self.keeps_bytes and self._has_reasoning else None
        if turn is None or not self._translator.needs_token((turn,)):
            return chunks
        if not ends_with_token(self._translator, turn):
            return chunks
        self.has_token = True
        token = self._translator.token((turn,), self._request)
        return api.add_token_chunks(chunks, token, self.blocks)

    def _turn(self) -> Message | None:
        """The turn of the model, on its own wire."""
        if self.whole_turn is not None:
            return self.whole_turn
        wire = self._translator.wire
        try:
            messages = decode(fold(self.pieces, wire), wire, "response").messages
        except (DecodeError, UsageError):
            return None
        return messages[0] if messages else None


def _has_reasoning(event: Event) -> bool:
    if isinstance(event, PartDelta):
        return False
    if isinstance(event, PartStart | PartComplete):
        return event.part.signature is not None or isinstance(event.part, Reasoning)
    return isinstance(event, PartEnd) and event.signature is not None
