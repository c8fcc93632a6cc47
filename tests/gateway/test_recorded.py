"""Streams that were recorded, or stand among the cases, through the gateway: the client gets what
`restream` gives.

But for what a gateway adds: the token of a turn, and the last event as the request asked for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from cases import DEEP, StreamCase, load_recorded_streams, load_streams
from gateway.cells import asks
from gateway.serving import FRONTS, gateway, row, serving
from gateway.upstreams import Answer, Scripted

from toolwire import restream
from toolwire.conversation.json import Object, dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.gateway.translation.translator import Translator
from toolwire.streaming.stream_input import resolve_stream

SOURCES = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
)


def raw(case: StreamCase, wire: str) -> bytes:
    """A stream as its server sends it."""
    how = resolve_stream(wire)[1]
    return (
        b"".join(how.frame(event) for event in case.events if isinstance(event, dict)) + how.trailer
    )


def some(wire: str) -> list[StreamCase]:
    """A few streams; all of them if there is time."""
    found = [*load_streams(wire), *load_recorded_streams(wire)]
    return found if DEEP else found[:: max(1, len(found) // 5)]


def expected(data: bytes, source: str, api: str, asked: Object) -> bytes:
    """What `restream` gives, and the translator adds at the end."""
    sent = Translator(BY_WIRE[api], source, model="m").request(dump(asked))
    pipe = ResponseStream(Translator(BY_WIRE[api], source, model="m"), sent)
    return b"".join([*pipe.feed(data), *pipe.end()]) + pipe.trailer


def without_identity(stream: bytes) -> bytes:
    """A stream without response ids that the gateway made, and without model names."""
    made = rb'"(id|item_id)":"(?:(?:chatcmpl-|resp_|msg_|fc_|rs_)[^"]*)?"'
    named = re.sub(made, rb'"\1":""', stream)
    return re.sub(rb'"model":"[^"]*"', b'"model":""', named)


@pytest.mark.parametrize("source", SOURCES)
def test_a_stream_through_the_gateway_is_what_restream_gives(source: str) -> None:
    up = Scripted(Answer())
    with serving(up) as url, serving(gateway(row(source, url))) as door, httpx.Client() as client:
        media = {"content-type": resolve_stream(source)[1].media}
        for case in some(source):
            data = raw(case, source)

            async def pieces(data: bytes = data) -> AsyncIterator[bytes]:
                for at in range(0, len(data), 1000):
                    yield data[at : at + 1000]
                    await asyncio.sleep(0)

            up.answers = [Answer(headers=media, pieces=pieces)]
            for api in FRONTS:
                if api == source:
                    continue
                path, body = asks(api, "m", "hi")
                told = client.post(door + path, json=body)
                plain = restream(data, source, api)
                whole = b"".join(plain)
                if told.status_code != 200:
                    assert plain.fault is not None, (case.name, api, told.text[:300])
                    continue
                assert told.content == expected(data, source, api, body), (case.name, api)
                content = without_identity(told.content)
                lines = [line for line in without_identity(whole).splitlines() if line]
                kept = [line for line in lines if line in content]
                assert len(kept) >= len(lines) - 3, (
                    case.name,
                    api,
                )  # only the end is the gateway's own


def test_every_source_has_streams() -> None:
    assert all(some(source) for source in SOURCES)
