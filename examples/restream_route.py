"""A route for `useChat` of the AI SDK 5 to 7: the stream of a model as a UI message stream.

    uvicorn restream_route:app

Prints:
    x-vercel-ai-ui-message-stream: v1
    start, start-step, text-start, text-delta, text-end, finish-step, finish
    Hello from the wire
"""

import json
from collections.abc import AsyncIterator, Mapping

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient

from toolwire import restream, translate
from toolwire.testing import MockServer

app = FastAPI()
PROVIDER = MockServer("anthropic")  # in your program: https://api.anthropic.com
HEADERS = {"x-vercel-ai-ui-message-stream": "v1", "content-type": "text/event-stream"}


@app.post("/chat")
async def chat(request: Request) -> StreamingResponse:
    history = translate(await request.body(), "ai-sdk", "anthropic").body
    assert isinstance(history, dict)
    body = {**history, "model": "demo", "max_tokens": 1000, "stream": True}
    return StreamingResponse(restream(ask(body), "anthropic", "ai-sdk"), headers=HEADERS)


async def ask(body: Mapping[str, object]) -> AsyncIterator[bytes]:
    headers = {"x-api-key": PROVIDER.api_key, "anthropic-version": "2023-06-01"}
    url = f"{PROVIDER.base_url}/v1/messages"
    async with (
        httpx.AsyncClient(headers=headers) as client,
        client.stream("POST", url, json=body) as response,
    ):
        async for data in response.aiter_bytes():
            yield data


if __name__ == "__main__":
    text = {"type": "text", "text": "[[text Hello from the wire]]"}
    messages = [{"id": "m1", "role": "user", "parts": [text]}]
    with PROVIDER, TestClient(app) as browser:
        response = browser.post("/chat", json={"id": "c1", "messages": messages})
    name = "x-vercel-ai-ui-message-stream"
    print(f"{name}: {response.headers[name]}")
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    events = [json.loads(line) for line in lines]
    print(", ".join(dict.fromkeys(event["type"] for event in events)))
    print("".join(event["delta"] for event in events if event["type"] == "text-delta"))
