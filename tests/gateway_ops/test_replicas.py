"""Two replicas send the same bytes to models and to clients, whatever they received before, and
whatever their hash seed.

Each is its own process. One gets the requests in order, as conversations grow turn by turn; the
other gets them in reverse order, later turns first; then both get all of them once more, with warm
caches. The outcomes of each request are compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import NamedTuple

import pytest
from answer_marks import comparable
from cases import DEEP, load
from gateway.serving import row, serving
from gateway_ops.client_requests import FRONTS, answer_of
from gateway_ops.running import post
from gateway_ops.test_process import Running, running

from toolwire import decode
from toolwire.conversation.json import Object
from toolwire.conversation.parts import Call
from toolwire.gateway.client_apis.routes import RouteTable
from toolwire.mock.server import MockProvider
from toolwire.server.asgi import Message, Receive, Scope, Send

MODELS = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
)
TALKS = (
    "[[think hm]] add 1 and 2, and add 3 and 4, then add the results",
    '[[text Let me see.]] [[call add {"b": 4, "a": 3}]] [[call add {"a": 1, "b": 2}]]',
)
CHANGES = ("date", "content-length", "transfer-encoding")
"""Header fields of a response about its time and its framing."""


class ClientRequest(NamedTuple):
    """A request of a client."""

    path: str
    body: Object


class Exchange(NamedTuple):
    """The outcome of a request: the request to the model, and the response to the client."""

    sent: list[tuple[str, dict[str, str], bytes]]
    status: int
    headers: dict[str, str]
    body: str


class Models:
    """Models of all wires that keep no state between two requests, and record the requests."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, str], bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await MockProvider("openai-chat")(scope, receive, send)
            return
        path, headers = scope["path"], scope["headers"]
        assert isinstance(path, str) and isinstance(headers, list)
        wire, _, rest = path.removeprefix("/").partition("/")
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")  # type: ignore[operator]
        assert isinstance(body, bytes)
        given = {name.decode(): value.decode("latin-1") for name, value in headers}
        self.sent.append((path, given, body))
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def once() -> Message:
            return whole.pop() if whole else await receive()

        await MockProvider(wire, strict=False)({**scope, "path": f"/{rest}"}, once, send)


class Pair(NamedTuple):
    """Two replicas and their models."""

    replicas: list[Running]
    models: Models


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    models = Models()
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "KEY", "k" * 20)
        up = stack.enter_context(serving(models))
        toml = "\n".join(row(wire, f"{up}/{wire}", name=wire) for wire in MODELS)
        replicas = []
        for seed in ("1", "4000000000"):
            patch.setitem(os.environ, "PYTHONHASHSEED", seed)
            folder = tmp_path_factory.mktemp("replica")
            (folder / "g.toml").write_text(toml)
            replicas.append(stack.enter_context(running(folder, "g.toml")))
        yield Pair(replicas, models)


def saw(pair: Pair, replica: int, asked: ClientRequest) -> tuple[Exchange, str]:
    """The outcome of one request."""
    pair.models.sent.clear()
    got = post(
        pair.replicas[replica].url + asked.path, asked.body, {"anthropic-version": "2023-06-01"}
    )
    headers = {name: value for name, value in got.headers.items() if name not in CHANGES}
    data = got.text.encode("utf-8", "surrogateescape")
    body = comparable(data, got.headers.get("content-type", ""))
    return Exchange(list(pair.models.sent), got.status, headers, body), got.text


def growing(pair: Pair) -> Iterator[tuple[ClientRequest, Exchange]]:
    """Conversations of every API with the first replica: each turn is sent with all turns before
    it."""
    for n, api in enumerate(FRONTS):
        for m, text in enumerate(TALKS):
            for model in (
                MODELS if DEEP else [MODELS[(3 * n + 2 * m + k) % len(MODELS)] for k in range(2)]
            ):
                stream = not api.whole or (n + m) % 2 == 0
                body = api.begin(text, model, stream)
                for _ in range(4):
                    asked = ClientRequest(api.path(model, stream), body)
                    seen, text = saw(pair, 0, asked)
                    yield asked, seen
                    assert seen.status == 200, seen.body[:500]
                    answer = answer_of(text, api.wire, stream=stream)
                    parts = [
                        part
                        for one in decode(answer, api.wire, "response").messages
                        for part in one.parts
                    ]
                    calls = [part for part in parts if isinstance(part, Call)]
                    if not calls:
                        break
                    body = api.go_on(
                        body,
                        answer,
                        [(call.id, call.name, f"sum {k}") for k, call in enumerate(calls)],
                    )


def odd(pair: Pair) -> Iterator[tuple[ClientRequest, Exchange]]:
    """Histories of the case folders, some of which have to be repaired; a refusal has to be the same,
    too."""
    for n, api in enumerate(FRONTS):
        bodies = [
            case.body
            for case in load(api.wire)
            if case.kind == "request" and isinstance(case.body, dict)
        ]
        for k, body in enumerate(bodies if DEEP else bodies[n % 2 :: 3]):
            model = MODELS[(n + k) % len(MODELS)]
            asked = ClientRequest(api.path(model, False), {**body, "model": model})
            yield asked, saw(pair, 0, asked)[0]


def test_replicas_send_and_return_the_same_bytes_regardless_of_earlier_requests(pair: Pair) -> None:
    first = [*growing(pair), *odd(pair)]
    assert len(first) >= 20 and sum(bool(seen.sent) for _, seen in first) >= 20
    routes = RouteTable()
    matches = [routes.find("POST", asked.path.partition("?")[0]) for asked, _ in first]
    assert {match.api.wire for match in matches if match} == {api.wire for api in FRONTS}
    broken: dict[str, object] = {}
    for replica, turn in ((1, "cold"), (1, "warm"), (0, "warm")):
        mixed = first[::-1] if turn == "cold" else Random(7).sample(first, len(first))
        for asked, seen in mixed:
            again, _ = saw(pair, replica, asked)
            if again != seen:
                broken[f"{replica} {turn} {asked.path} {str(asked.body)[:100]}"] = _differs(
                    seen, again
                )
    assert broken == {}


def _differs(seen: Exchange, again: Exchange) -> list[tuple[str, str]]:
    return [
        (str(one)[:700], str(other)[:700])
        for one, other in zip(seen, again, strict=True)
        if one != other
    ]
