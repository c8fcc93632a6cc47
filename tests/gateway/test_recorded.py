"""Recorded streams and those of the cases, through the gateway: the client gets the output of
`restream`, and what a gateway adds: the token of a turn, and the last event as requested.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from answer_marks import comparable
from cases import DEEP, StreamCase, load_recorded_streams, load_streams
from gateway.cells import asks
from gateway.serving import CLIENT_APIS, gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream
from msgspec.structs import replace

from toolwire import restream
from toolwire.conversation.json import JSON, Object, dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.gateway.translation.translator import Translator
from toolwire.streaming.stream_input import resolve_stream
from toolwire.types import RequestInfo

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
    """A few streams; all of them in a deep run."""
    found = [*load_streams(wire), *load_recorded_streams(wire)]
    return found if DEEP else found[:: max(1, len(found) // 5)]


def expect_stream(data: bytes, source: str, api: str, asked: Object) -> bytes:
    """The output of `restream`, and the end that the translator adds."""
    sent = Translator(BY_WIRE[api], source, model="m").request(dump(asked))
    info = RequestInfo({"model": "m", **asked}, created=1, id="any")
    sent = replace(sent, describe=lambda body: info)
    pipe = ResponseStream(Translator(BY_WIRE[api], source, model="m"), sent)
    return b"".join([*pipe.feed(data), *pipe.end()]) + pipe.trailer


def readable(stream: bytes, wire: str) -> str:
    """A stream of a wire as text, without values that differ from one to the next."""
    return comparable(stream, resolve_stream(wire)[1].media)


def without_identity(stream: bytes, wire: str) -> str:
    """A stream without ids that the gateway made, and without model names.

    It makes ids for calls of a model that sends none, where the API of the client has optional ids.
    """
    named = re.sub(r'"(model|modelVersion)":"[^"]*"', r'"\1":""', readable(stream, wire))
    named = named.replace(',"id":"tw-"', "")
    return re.sub(r'"(id|responseId)":"(?:chatcmpl-|resp_|msg_|v1_)[^"]*"', r'"\1":""', named)


@pytest.mark.parametrize("source", SOURCES)
def test_a_stream_through_the_gateway_equals_restream(source: str) -> None:
    up = ScriptedUpstream(Answer())
    with (
        serving(up) as url,
        serving(gateway(row(source, url))) as gateway_url,
        httpx.Client() as client,
    ):
        media = {"content-type": resolve_stream(source)[1].media}
        for case in some(source):
            data = raw(case, source)

            async def pieces(data: bytes = data) -> AsyncIterator[bytes]:
                for at in range(0, len(data), 1000):
                    yield data[at : at + 1000]
                    await asyncio.sleep(0)

            up.answers = [Answer(headers=media, pieces=pieces)]
            for api in filter(BY_WIRE.__contains__, CLIENT_APIS):
                if api == source:
                    continue
                path, body = asks(api, "m", "hi")
                response = client.post(gateway_url + path, json=body)
                plain = restream(data, source, api)
                whole = b"".join(plain)
                if response.status_code != 200:
                    assert plain.fault is not None, (case.name, api, response.text[:300])
                    continue
                made = expect_stream(data, source, api, body)
                assert readable(response.content, api) == readable(made, api), (case.name, api)
                content = without_identity(response.content, api)
                lines = [line for line in without_identity(whole, api).splitlines() if line]
                kept = [line for line in lines if line in content]
                assert len(kept) >= len(lines) - 3, (
                    case.name,
                    api,
                )  # only the end is the gateway's own


def test_every_source_has_streams() -> None:
    assert all(some(source) for source in SOURCES)


def test_only_ids_are_added_to_calls_of_a_model_that_sends_none() -> None:
    calls: list[JSON] = [
        {"function": {"index": number, "name": "look", "arguments": {"x": number}}}
        for number in range(4)
    ]
    events: list[JSON] = [
        {"model": "q", "message": {"role": "assistant", "content": "", "tool_calls": [call]}}
        for call in calls
    ]
    end: JSON = {"model": "q", "message": {"role": "assistant", "content": ""}, "done": True}
    data = raw(StreamCase("calls", "ollama", [*events, end]), "ollama")
    plain = b"".join(restream(data, "ollama", "gemini"))
    made = expect_stream(data, "ollama", "gemini", asks("gemini", "m", "hi")[1])
    ids = re.findall(r'"id":"(tw-[0-9a-f]{16})"', made.decode())
    assert len(set(ids)) == len(calls)
    assert without_identity(made, "gemini") == without_identity(plain, "gemini")
