"""Several responses of a model, and tool calls of the gateway between them, as one response.

Continuation tokens carry the turns behind the response: one at the end or, where clients take the
end for the answer, one between the responses as soon as tools have run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolwire.codec import decode
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Loss, real_losses
from toolwire.conversation.parts import Message
from toolwire.gateway.translation.client_edits import ClientEdits
from toolwire.gateway.translation.continuation_tokens import (
    digest_messages,
    encode_token,
    needs_token,
)
from toolwire.gateway.translation.response_stream import JSON_MEDIA_TYPE, JsonArray, ends_with_token
from toolwire.gateway.translation.token_extraction import extract_tokens
from toolwire.gateway.translation.translator import Translator
from toolwire.gateway.translation.upstream_request import UpstreamRequest, losses_without_token
from toolwire.streaming.events import Chunk, Event
from toolwire.streaming.stream_translator import StreamTranslator
from toolwire.wires.engine.server_tools import ServerToolPolicy


class MergedStream:
    """One response for the client, made of neutral events of several responses."""

    def __init__(
        self,
        translator: Translator,
        request: UpstreamRequest,
        turns: Sequence[Message],
        *,
        stream: bool,
        array: JsonArray | None,
        server_tools: ServerToolPolicy,
    ) -> None:
        """Prepare the response.

        Args:
            translator: the translation to the client's API.
            request: the first request to the model.
            turns: the turns behind the response, on the model's wire. The caller adds to it.
            stream: True if the client gets a stream; otherwise it gets the assembled body.
            array: encodes the stream as a JSON array, if the client wants one.
            server_tools: how calls of the gateway are written on wires without provider-executed
                calls.
        """
        self._translator = translator
        self._request = request
        self._turns = turns
        self._streams = stream
        self._array = array
        self._edits = ClientEdits(translator.api, request)
        self._stream: StreamTranslator[bytes] = StreamTranslator(
            translator.wire,
            translator.api.wire,
            None if array is None else array.encode,
            ids=request.ids,
            server_tools=server_tools,
            edits=self,
            request=request.response_info(),
        )
        self._stream.passthrough = False
        wants_reasoning = bool(translator.profile.reasoning_to_return)
        self._unsigned_reasoning = wants_reasoning and not translator.same_wire
        """True if the model wants reasoning without a signature back, and the client's wire cannot
        carry it."""
        self._turns_in_tokens = 0
        self._tokens = 0
        self._chunks: list[Chunk] = []
        self._has_token = False

    # --- what the tool loop uses ---

    @property
    def media_type(self) -> str:
        """The content type of the response."""
        if not self._streams or self._array is not None:
            return JSON_MEDIA_TYPE
        return self._stream.target_spec.media

    @property
    def headers(self) -> Mapping[str, str]:
        """Further headers of the response."""
        return self._stream.target_spec.headers if self._streams else {}

    @property
    def trailer(self) -> bytes:
        """The bytes that end the response."""
        return self._stream.trailer if self._array is None else self._array.trailer

    @property
    def losses(self) -> list[Loss]:
        """Content that the client's wire cannot express and no continuation token carries."""
        losses = real_losses(self._stream.losses)
        return list(losses_without_token(losses)) if self._has_token else losses

    def emit(self, events: list[Event]) -> list[bytes]:
        """Events of the model, or of the gateway, as bytes for the client."""
        return self._stream.emit(events)

    def close(self) -> list[bytes]:
        """The end of the response."""
        return self._stream.close()

    def emit_token(self) -> list[bytes]:
        """The continuation token before the next response, where it cannot wait for the end."""
        api = self._translator.api
        if self._stream.fault is not None or api.token_may_come_last:
            return []
        opening = self._stream.begin()
        turns = self._turns[self._turns_in_tokens :]
        token = self._encode_token(turns, self._body(), covers_preceding=True)
        chunks = api.add_token_chunks([], token, self._edits.blocks - self._tokens)
        encoded = self._stream.encode(chunks)
        self._tokens += 1
        self._turns_in_tokens = len(self._turns)
        return opening + encoded

    def whole(self) -> JSON:
        """The assembled response, once it is closed."""
        body, turns = self._body(), self._turns_without_token()
        api = self._translator.api
        if turns and not api.token_may_come_last and isinstance(body, dict):
            api.add_token(body, self._encode_token(turns, body))
        return body

    # --- edits of the stream ---

    def edit_events(self, events: list[Event]) -> list[Event]:
        """See `ClientEdits`."""
        return self._edits.edit_events(events)

    def edit_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Keep each chunk for the assembled response, numbered after the tokens so far."""
        if self._tokens:
            shift = self._translator.api.shift_block
            chunks = [shift(chunk, self._tokens) for chunk in chunks]
        chunks = self._edits.add_call_ids(chunks)
        self._chunks += chunks
        return self._edits.edit_chunks(chunks)

    def edit_last_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Add the continuation token of the turns that no token holds yet."""
        api = self._translator.api
        if self._streams:
            chunks = api.edit_last_chunks(chunks, self._request.client_body)
        turns = self._turns_without_token()
        if not turns or not (api.token_may_come_last or self._streams):
            return chunks
        if not any(ends_with_token(self._translator, turn) for turn in turns):
            return chunks
        token = self._encode_token(turns, self._body(chunks))
        return api.add_token_chunks(chunks, token, self._edits.blocks - self._tokens)

    def _turns_without_token(self) -> Sequence[Message]:
        """The turns since the last token, if the model wants them back."""
        turns = self._turns[self._turns_in_tokens :]
        # Written from their parts, thoughts reach the client without their signature.
        needed = needs_token(turns, None, unsigned_reasoning=self._unsigned_reasoning)
        return turns if needed else ()

    def _encode_token(
        self, turns: Sequence[Message], body: JSON, *, covers_preceding: bool = False
    ) -> str:
        """The token of turns that the client saw in the body so far."""
        self._has_token = True
        shown: list[Message] = []
        for message in decode(body, self._translator.api.wire, "response").messages:
            if message.role == "assistant":
                plain, tokens = extract_tokens(message)
                start = tokens[-1][0] if tokens else 0
                shown.append(replace(plain, parts=plain.parts[start:]))
        digest = digest_messages(shown)
        return encode_token(self._translator.wire, turns, digest, covers_preceding=covers_preceding)

    def _body(self, more: Sequence[Chunk] = ()) -> JSON:
        """The response so far."""
        reader = self._stream.target_spec.reader(keep=True)
        for chunk in [*self._chunks, *more]:
            reader.read(chunk)
            reader.count += 1
        reader.done = True
        reader.end()
        return reader.body()
