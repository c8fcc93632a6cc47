"""Continue a response by its id: the items of its request and of its output, before the new input.

Pure functions over JSON; a `ResponseState` names the fields of an API.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, dump, parse_body
from toolwire.gateway.client_apis.api import ResponseState
from toolwire.wires import wire
from toolwire.wires.engine.stream import StreamReader


class ResponseHistory(Struct, frozen=True):
    """A response and everything before it, as the `input` that continues it."""

    response_id: str
    items: bytes
    """A JSON array."""
    response: bytes = b""
    """The response itself, a JSON object; empty if an earlier version stored the history."""

    @property
    def size(self) -> int:
        """The bytes that the history takes."""
        return len(self.items) + len(self.response)


def continue_response(body: Object, history: ResponseHistory, state: ResponseState) -> Object:
    """A request without the id of the response, whose input begins with the history."""
    items = parse_body(history.items)
    assert isinstance(items, list)
    kept = {key: value for key, value in body.items() if key != state.previous_field}
    return {**kept, "input": [*items, *state.input_items(body.get("input"))]}


def build_history(body: Object, response: Object, state: ResponseState) -> ResponseHistory | None:
    """The history that ends with a response to a request; None if the response has no id.

    Reasoning that holds nothing for the model is left out: a server looks it up by its id.
    """
    response_id = response.get("id")
    if not isinstance(response_id, str) or not isinstance(response.get(state.output_field), list):
        return None
    items = [*state.input_items(body.get("input")), *output_items(response, state)]
    return ResponseHistory(response_id, dump(items), dump(response))


def output_items(response: Object, state: ResponseState) -> list[JSON]:
    """The items of a response that continue its history."""
    output = response.get(state.output_field)
    items = output if isinstance(output, list) else []
    return [item for item in items if not _is_empty_reasoning(item)]


def _is_empty_reasoning(item: JSON) -> bool:
    return (
        isinstance(item, dict)
        and item.get("type") == "reasoning"
        and not item.get("encrypted_content")
    )


class FinalResponse:
    """Finds the response in the events of a stream: in the last one, or in all of them."""

    def __init__(self, state: ResponseState, wire_name: str) -> None:
        self._state = state
        self._marks = tuple(f'"{event}"'.encode() for event in state.final_events)
        self._reader: StreamReader | None = None
        if not state.repeats_output:
            stream = wire(wire_name).stream
            assert stream is not None
            self._reader = stream.reader(keep=True)

    def read(self, event: bytes) -> Object | None:
        """The response, once its last event arrives."""
        is_final = any(mark in event for mark in self._marks)
        if not is_final and self._reader is None:
            return None
        try:
            value = parse_body(event)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        if self._reader is not None:
            self._reader.read(value)
        if value.get(self._state.event_field) not in self._state.final_events:
            return None
        response = value.get(self._state.response_field)
        if self._reader is not None:
            response = self._reader.body()
        return response if isinstance(response, dict) else None
