"""The edits of a stream for its client, in addition to translation: the model name, calls of custom
tools, and the chunk that opens the response."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.parts import Call
from toolwire.gateway.client_apis.api import ClientApi
from toolwire.gateway.translation.call_ids import CallIds
from toolwire.gateway.translation.upstream_request import (
    UpstreamRequest,
    name_model,
    restore_custom_call,
)
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
)


class ClientEdits:
    """The edits of one stream."""

    def __init__(self, api: ClientApi, request: UpstreamRequest) -> None:
        self._api = api
        self._request = request
        self._named = False
        self._call_ids = CallIds(api, request) if api.call_marks else None
        self._custom_calls = Accumulator()
        """Open calls of custom tools: their text is known when they are complete."""
        self.blocks = 0
        """The blocks that the client was sent, where the API numbers them."""
        self.finish_reason: str | None = None

    def edit_events(self, events: list[Event]) -> list[Event]:
        """Neutral events as the client gets them."""
        for n, event in enumerate(events):
            if isinstance(event, MessageStart) and not self._named:
                events = [*events[:n], self._name_model(event), *events[n + 1 :]]
            elif isinstance(event, Finish) and event.choice == 0:
                self.finish_reason = event.stop or self.finish_reason
        return self._restore_custom_calls(events) if self._request.custom_tools else events

    def _name_model(self, start: MessageStart) -> MessageStart:
        self._named = True
        if not self._api.signs_reasoning:
            return start
        return replace(start, settings=name_model(start.settings, self._request))

    def _restore_custom_calls(self, events: list[Event]) -> list[Event]:
        """Hold back calls of custom tools until they are complete."""
        edited: list[Event] = []
        request, names = self._request, self._request.ids.names
        for event in events:
            match event:
                case PartStart(part=Call(family="function", name=name)) if (
                    names.get(name, name) in request.custom_tools
                ):
                    self._custom_calls.start(event)
                case PartDelta(slot=slot) if slot in self._custom_calls:
                    self._custom_calls.delta(event)
                case PartEnd(slot=slot) if slot in self._custom_calls:
                    call = restore_custom_call(self._custom_calls.end(event), request)
                    edited.append(PartComplete(call))
                case PartComplete(part=Call() as call):
                    edited.append(replace(event, part=restore_custom_call(call, request)))
                case _:
                    edited.append(event)
        return edited

    def add_call_ids(self, chunks: list[Chunk]) -> list[Chunk]:
        """Chunks with an id on every call, where the model gives none."""
        return chunks if self._call_ids is None else list(map(self._call_ids.add, chunks))

    def edit_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Chunks of the client's wire as its request wants them."""
        counted = self._api.counted_chunk
        if not counted:
            return chunks
        edited: list[Chunk] = []
        for chunk in chunks:
            if chunk.get(self._api.type_field) == counted or counted in chunk:
                self.blocks += 1
                chunk = self._api.edit_counted_chunk(chunk, self._request.client_body)
            edited.append(chunk)
        return edited
