"""Requests to the mock without a socket, as an ASGI server passes them. Knows the path of each
wire's requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from urllib.parse import urlsplit

from msgspec import Struct

from toolwire.codec import resolve
from toolwire.conversation.json import JSON, Object
from toolwire.server.asgi import App

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "text": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "azure-foundry": "/openai/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
    "gemini-interactions": "/v1beta/interactions",
    "bedrock": "/model/{model}/converse",
    "mistral": "/v1/chat/completions",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
}
STREAMS = {
    "gemini": "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    "bedrock": "/model/{model}/converse-stream",
}
HEADERS = {
    "authorization": "Bearer any",
    "x-api-key": "any",
    "anthropic-version": "2023-06-01",
    "x-goog-api-key": "any",
    "api-key": "any",
}
MORE: dict[str, Object] = {
    "anthropic": {"model": "claude-opus-5", "max_tokens": 4096},
    "gemini": {},
    "bedrock": {},
    "ollama": {"model": "llama4", "stream": False},
}
"""The required fields of every request; other wires need only a model."""


class Answer(Struct, frozen=True):
    """A response, and whether it is complete."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool

    @property
    def json(self) -> Object:
        """The body, parsed."""
        value: Object = json.loads(self.body)
        return value

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(app: App, profile: str, body: Object, *, stream: bool = False) -> Answer:
    """Send a request to a model, with the required fields of its wire added."""
    wire = resolve(profile)[1].wire
    full: Object = {**MORE.get(wire, {"model": "m"}), **body}
    model = full.pop("model", "m") if wire in ("gemini", "bedrock") else "m"
    path = STREAMS.get(wire, PATHS[wire]) if stream else PATHS[wire]
    if stream and wire not in STREAMS:
        full["stream"] = True
    return send(app, "POST", path.format(model=model), full)


def send(
    app: App,
    method: str,
    path: str,
    body: JSON = None,
    *,
    headers: dict[str, str] | None = None,
    raw: bytes = b"",
) -> Answer:
    """Send a request and return the response."""
    parts = urlsplit(path)
    given = [
        (name.encode(), value.encode())
        for name, value in (HEADERS if headers is None else headers).items()
    ]
    scope: MutableMapping[str, object] = {
        "type": "http",
        "method": method,
        "path": parts.path,
        "query_string": parts.query.encode(),
        "headers": given,
    }
    sent: list[MutableMapping[str, object]] = []

    async def receive() -> MutableMapping[str, object]:
        return {
            "type": "http.request",
            "body": raw or (b"" if body is None else json.dumps(body).encode()),
        }

    async def keep(message: MutableMapping[str, object]) -> None:
        sent.append(message)

    asyncio.run(_run(app, scope, receive, keep))
    start = sent[0]
    status, pairs = start["status"], start["headers"]
    assert isinstance(status, int) and isinstance(pairs, list)
    pieces = [piece for message in sent[1:] if isinstance(piece := message.get("body"), bytes)]
    return Answer(
        status,
        {name.decode(): value.decode() for name, value in pairs},
        b"".join(pieces),
        not sent[-1].get("more_body"),
    )


async def _run(app: App, *given: object) -> None:
    await app(*given)  # type: ignore[arg-type]
