"""Every response on the same wire has an id, the model that was asked for, and a time, also if its
server gives none; a response that has them passes byte for byte."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from gateway.upstreams import answers, scripted_gateway, streams
from msgspec import Struct

from toolwire.conversation.json import JSON, Object, dump, get, parse

CHOICE: Object = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "logprobs": None}
CANDIDATE: Object = {"content": {"role": "model", "parts": [{"text": "hi"}]}, "index": 0}
BLOCKS: list[JSON] = [{"type": "text", "text": "hi"}]
ITEM: Object = {"type": "message", "role": "assistant", "content": [], "status": "completed"}
HI: Object = {"role": "assistant", "content": "hi"}
USER: Object = {"role": "user", "content": "hi"}


class Wire(Struct, frozen=True):
    """A request, a response of a server that sends no identity, and the fields of the identity."""

    path: str
    request: Object
    whole: Object
    events: tuple[Object, ...]
    fields: dict[str, str]
    """The names of the id, the model and the time."""
    inside: str = ""
    """The field of the first event that has the response."""
    media: str = "text/event-stream"
    stream_path: str = ""


WIRES = {
    "openai-chat": Wire(
        "/v1/chat/completions",
        {"model": "name", "messages": [USER]},
        {
            "id": "",
            "object": "chat.completion",
            "created": 0,
            "model": "",
            "choices": [{**CHOICE, "finish_reason": "stop"}],
        },
        (
            {"id": "", "created": 0, "model": "", "choices": [{"index": 0, "delta": HI}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "id": None},
            {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
        ),
        {"id": "id", "model": "model", "time": "created"},
    ),
    "openai-responses": Wire(
        "/v1/responses",
        {"model": "name", "input": "hi"},
        {"object": "response", "status": "completed", "output": [ITEM]},
        (
            {"type": "response.created", "response": {"id": "", "output": []}},
            {"type": "response.output_text.delta", "delta": "hi", "output_index": 0},
            {"type": "response.completed", "response": {"id": "", "output": [ITEM]}},
        ),
        {"id": "id", "model": "model", "time": "created_at"},
        inside="response",
    ),
    "anthropic": Wire(
        "/v1/messages",
        {"model": "name", "max_tokens": 9, "messages": [USER]},
        {"type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": "end_turn"},
        (
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "message_stop"},
        ),
        {"id": "id", "model": "model"},
        inside="message",
    ),
    "gemini": Wire(
        "/v1beta/models/name:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        {"candidates": [{**CANDIDATE, "finishReason": "STOP"}]},
        ({"candidates": [CANDIDATE]}, {"candidates": [{**CANDIDATE, "finishReason": "STOP"}]}),
        {"id": "responseId", "model": "modelVersion"},
        stream_path="/v1beta/models/name:streamGenerateContent?alt=sse",
    ),
    "mistral": Wire(
        "/mistral/v1/chat/completions",
        {"model": "name", "messages": [USER]},
        {"id": "", "created": 0, "model": "", "choices": [{**CHOICE, "finish_reason": "stop"}]},
        (
            {"id": "", "model": "", "choices": [{"index": 0, "delta": HI}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "id": None},
        ),
        {"id": "id", "model": "model", "time": "created"},
    ),
    "cohere": Wire(
        "/v2/chat",
        {"model": "name", "messages": [USER]},
        {"message": {"role": "assistant", "content": BLOCKS}, "finish_reason": "COMPLETE"},
        ({"type": "message-start", "delta": {"message": {}}}, {"type": "message-end", "delta": {}}),
        {"id": "id"},
    ),
    "ollama": Wire(
        "/api/chat",
        {"model": "name", "messages": [USER]},
        {"message": HI, "done": True},
        ({"message": HI, "done": False}, {"message": {**HI, "content": ""}, "done": True}),
        {"model": "model", "time": "created_at"},
        media="application/x-ndjson",
    ),
}


def encode_events(wire: Wire, events: tuple[Object, ...]) -> bytes:
    if wire.media == "application/x-ndjson":
        return b"".join(dump(event) + b"\n" for event in events)
    return b": hello\n\n" + b"".join(b"data: " + dump(event) + b"\n\n" for event in events)


def read_events(data: bytes) -> Iterator[JSON]:
    for line in data.splitlines():
        payload = line.removeprefix(b"data:").strip()
        if payload.startswith(b"{"):
            yield parse(payload)


def post(url: str, wire: Wire, *, stream: bool) -> httpx.Response:
    path = wire.stream_path if stream and wire.stream_path else wire.path
    body = wire.request if wire.stream_path else {**wire.request, "stream": stream}
    return httpx.post(url + path, json=body, headers={"anthropic-version": "2023-06-01"})


def identity_of(body: JSON, wire: Wire) -> dict[str, JSON]:
    found = get(body, (wire.inside,)) if wire.inside else body
    response = found if isinstance(found, dict) else body
    assert isinstance(response, dict)
    return {name: response.get(field) for name, field in wire.fields.items()}


def check(identity: dict[str, JSON]) -> None:
    for name, value in identity.items():
        assert value, name
    assert identity.get("model", "name") == "name"
    created = identity.get("time")
    if isinstance(created, int):
        assert abs(created - time.time()) < 3600


@pytest.mark.parametrize("name", WIRES)
def test_a_whole_response_has_an_identity(name: str) -> None:
    wire = WIRES[name]
    with scripted_gateway(name, answers(wire.whole)) as gw:
        first, second = (identity_of(post(gw.url, wire, stream=False).json(), wire) for _ in "12")
    check(first)
    if "id" in first:
        assert first["id"] != second["id"], "messages of one id would be one message"


@pytest.mark.parametrize("name", WIRES)
def test_a_stream_has_one_identity(name: str) -> None:
    wire = WIRES[name]
    data = encode_events(wire, wire.events)
    for step in (7, len(data)):
        pieces = [data[at : at + step] for at in range(0, len(data), step)]
        with scripted_gateway(name, streams(*pieces, media=wire.media)) as gw:
            events = list(read_events(post(gw.url, wire, stream=True).content))
        assert len(events) == len(wire.events)
        found = [
            identity_of(event, wire)
            for event in events
            if isinstance(event, dict) and (not wire.inside or wire.inside in event)
        ]
        found = found[:1] if name == "cohere" else found
        check(found[0])
        assert all(identity == found[0] for identity in found), found


@pytest.mark.parametrize("name", WIRES)
def test_a_complete_stream_passes_byte_for_byte(name: str) -> None:
    wire = WIRES[name]
    identity: Object = {field: f"own {name}" for name, field in wire.fields.items()}
    events = []
    for event in wire.events:
        inner = event.get(wire.inside)
        if isinstance(inner, dict):
            event = {**event, wire.inside: {**inner, **identity}}
        events.append({**event, **identity} if not wire.inside else event)
    data = encode_events(wire, tuple(events)).replace(b'":', b'" :')
    with scripted_gateway(name, streams(data, media=wire.media)) as gw:
        assert post(gw.url, wire, stream=True).content == data


def test_an_empty_chunk_before_the_response_keeps_its_empty_id() -> None:
    """Azure reports the filters of the prompt in a chunk without id, before one with an id."""
    wire = WIRES["openai-chat"]
    filters: Object = {"id": "", "created": 0, "model": "", "choices": [], "prompt_filter": []}
    chunk: Object = {
        "id": "c1",
        "created": 5,
        "model": "m",
        "choices": [{"delta": HI, "finish_reason": "stop"}],
    }
    data = encode_events(wire, (filters, chunk))
    with scripted_gateway("openai-chat", streams(data)) as gw:
        assert post(gw.url, wire, stream=True).content == data
