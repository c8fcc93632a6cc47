"""Continue stored responses, and store the responses to requests, where the upstream does not.

An upstream that speaks the same API keeps its own state; this is for all others.
"""

from __future__ import annotations

import logging

from toolwire.conversation.json import Object, dump, parse_body
from toolwire.gateway.client_apis.api import ResponseState
from toolwire.gateway.errors import RequestRejected
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.responses_state.history import FinalResponse, build_history, continue_response
from toolwire.gateway.responses_state.store import ResponseStore, StoreUnavailable
from toolwire.server.asgi import Message
from toolwire.streaming.framing.sse import SSE

_log = logging.getLogger("toolwire.gateway")


async def use_stored_responses(
    request: GatewayRequest, store: ResponseStore, state: ResponseState
) -> None:
    """Put the history that a request continues into its body, and store its response unless the
    client does not want that.

    Raises:
        RequestRejected: there is no such response (400), or the store cannot be read (503).
    """
    body = _parse_object(request.raw)
    previous = body.get(state.previous_field)
    if isinstance(previous, str) and previous:
        try:
            history = await store.find(request.record.key, previous)
        except StoreUnavailable as error:
            _log.warning("request %s: the store of responses failed: %s", request.record.id, error)
            raise RequestRejected("Stored responses cannot be read now.", 503) from None
        if history is None:
            message = f"Previous {state.noun.lower()} with id '{previous[:200]}' not found."
            raise RequestRejected(message, code=state.not_found_code)
        body = continue_response(body, history, state)
        request.raw = dump(body)
    wants_store = request.operation == "generate" and body.get("store") is not False
    if wants_store and not request.stores_response:
        request.stores_response = True
        request.send = _ResponseKeeper(request, store, state).send


def _parse_object(raw: bytes) -> Object:
    """A body; an empty one if it is no object, which is reported later."""
    try:
        value = parse_body(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class _ResponseKeeper:
    """Stores a response just before the client gets the end of it: the next request may follow at
    once."""

    def __init__(self, request: GatewayRequest, store: ResponseStore, state: ResponseState) -> None:
        self._request = request
        self._store = store
        self._state = state
        self._final = FinalResponse(state, request.api.wire)
        self._send = request.send
        self._status = 0
        self._events: SSE | None = None
        self._body: list[bytes] = []

    async def send(self, message: Message) -> None:
        """Send a message of ASGI to the client."""
        if message["type"] == "http.response.start":
            status, headers = message["status"], message["headers"]
            assert isinstance(status, int) and isinstance(headers, list | tuple)
            self._status = status
            if dict(headers).get(b"content-type", b"").startswith(b"text/event-stream"):
                self._events = SSE()
        elif self._status == 200:
            data = message.get("body", b"")
            assert isinstance(data, bytes)
            response = self._read(data, more=bool(message.get("more_body")))
            if response is not None:
                await self._save(response)
        await self._send(message)

    def _read(self, data: bytes, *, more: bool) -> Object | None:
        """The response, once it is complete."""
        if self._events is None:
            self._body.append(data)
            return None if more else _parse_object(b"".join(self._body))
        for frame in self._events.feed(data):
            final = self._final.read(frame.data)
            if final is not None:
                return final
        return None

    async def _save(self, response: Object) -> None:
        request = self._request
        history = build_history(_parse_object(request.raw), response, self._state)
        if history is None:
            return
        try:
            await self._store.save(request.record.key, history)
        except StoreUnavailable as error:
            _log.warning("request %s: its response is not stored: %s", request.record.id, error)
