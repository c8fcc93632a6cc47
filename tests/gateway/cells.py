"""The scenarios of the matrix: one function for each, which fails with the reason.

A cell of the matrix is a client API, an upstream, a scenario, and whether it is streamed.
`scripts/gateway_matrix.py` writes the page.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from functools import cache

import httpx
import openai
from gateway.clients import CLIENTS, Client, talk
from gateway.pages import chats, last_text
from gateway.serving import UPSTREAMS, Gateways
from gateway.socket_client import NAME as WEBSOCKET
from gateway.socket_client import ResponsesOverWebSocket
from gateway.turns import PNG, RequestRefused
from gateway.upstreams import Answer, answers, scripted_gateway
from mock.tools import FINAL, QUESTION, run
from websockets.sync.client import connect

from toolwire.conversation.json import JSON, Object

ALL_CLIENTS: dict[str, Client] = {**CLIENTS, WEBSOCKET: ResponsesOverWebSocket()}
"""The official clients in Python, over HTTP and over WebSocket."""
MODELS = {"gemini": "gemini-3-pro", "anthropic": "claude-opus-5", "openai-responses": "gpt-5"}
"""Models that reason by default; requests to others ask for reasoning."""
WORDS = "a deep thought"
THINKS = (
    f'[[think {WORDS}]] [[call Calculator_Add {{"a": 1, "b": 2}}]] [[call Calculator_Add {{"a": 3,'
    ' "b": 4}]]'
)
ADDED = ["Calculator_Add(a=1, b=2) gave: 3", "Calculator_Add(a=3, b=4) gave: 7"]
SIGNATURE_FIELDS = {
    "anthropic": "signature",
    "gemini": "thoughtSignature",
    "openai-responses": "encrypted_content",
}
"""Upstreams that sign reasoning, and the field in which they want the signature back."""
HIDES_REASONING = "openai-chat"
"""The upstream whose API has no field for reasoning."""


def model(upstream: str) -> str:
    """A model of an upstream."""
    return MODELS.get(upstream, "some-model")


def plain(gateways: Gateways, api: str, upstream: str, stream: bool) -> None:
    """A question and an answer as text."""
    client = ALL_CLIENTS[api]
    turn = client.ask(gateways.url(upstream), model(upstream), client.begin("hello there"), stream)
    assert turn.text == "You said: hello there\nNo tool matches the question.", turn
    assert not turn.calls


def tools(gateways: Gateways, api: str, upstream: str, stream: bool) -> None:
    """Two parallel calls to one tool, then a call with their results; every result finds its call."""
    turns = talk(ALL_CLIENTS[api], gateways.url(upstream), model(upstream), QUESTION, stream, run)
    called = [[name for _, name, _ in turn.calls] for turn in turns]
    assert called == [["Calculator_Add", "Calculator_Add"], ["Calculator_Multiply"], []], called
    assert turns[-1].text.splitlines() == list(FINAL), turns[-1].text
    ids = [one for turn in turns for one, _, _ in turn.calls]
    assert not any(ids) or len(set(ids)) == len(ids), ids


def reasoning(gateways: Gateways, api: str, upstream: str, stream: bool) -> None:
    """Reasoning before calls, which the model gets back in its own form."""
    turns = talk(
        ALL_CLIENTS[api], gateways.url(upstream), model(upstream), THINKS, stream, run, thinks=True
    )
    assert len(turns) == 2 and len(turns[0].calls) == 2, turns
    assert turns[1].text.splitlines() == ADDED, turns[1]
    assert (WORDS in turns[0].thoughts) is (upstream != HIDES_REASONING), turns[0].thoughts
    if upstream in SIGNATURE_FIELDS:
        _assert_signature_returned(upstream, gateways.mocks[upstream].requests[-1].body)


def _assert_signature_returned(upstream: str, body: JSON) -> None:
    """Assert that the model got its signature back, and nothing that the gateway added."""
    back = json.dumps(body)
    assert f'"{SIGNATURE_FIELDS[upstream]}": "' in back, back
    assert "toolwire" not in back and "tw1." not in back and "skip_thought" not in back, back


def images(gateways: Gateways, api: str, upstream: str, stream: bool) -> None:
    """An image with the question."""
    client = ALL_CLIENTS[api]
    turn = client.ask(
        gateways.url(upstream), model(upstream), client.begin("[[text I see it]]", PNG), stream
    )
    assert turn.text == "I see it", turn


def errors(gateways: Gateways, api: str, upstream: str, stream: bool) -> None:
    """An error of the upstream: its status, in the form that the client reads."""
    client = ALL_CLIENTS[api]
    for status in (429, 500):
        try:
            client.ask(
                gateways.url(upstream),
                model(upstream),
                client.begin(f"[[error {status}]] hello"),
                stream,
            )
        except RequestRefused as error:
            assert error.status == status, error
            assert error.words and "object at" not in error.words
        else:
            raise AssertionError(f"{status} was not told")


PATHS: dict[str, tuple[str, Callable[[str], Object]]] = {
    "openai-chat": (
        "/v1/chat/completions",
        lambda text: {"messages": [{"role": "user", "content": text}], "stream": True},
    ),
    "openai-responses": ("/v1/responses", lambda text: {"input": text, "stream": True}),
    "anthropic": (
        "/v1/messages",
        lambda text: {
            "messages": [{"role": "user", "content": text}],
            "stream": True,
            "max_tokens": 100,
        },
    ),
    "gemini": (
        "/v1beta/models/{model}:streamGenerateContent?alt=sse",
        lambda text: {"contents": [{"role": "user", "parts": [{"text": text}]}]},
    ),
    "gemini-interactions": ("/v1beta/interactions", lambda text: {"input": text, "stream": True}),
    "bedrock": (
        "/model/{model}/converse-stream",
        lambda text: {"messages": [{"role": "user", "content": [{"text": text}]}]},
    ),
    "mistral": (
        "/mistral/v1/chat/completions",
        lambda text: {"messages": [{"role": "user", "content": text}], "stream": True},
    ),
    "cohere": (
        "/v2/chat",
        lambda text: {"messages": [{"role": "user", "content": text}], "stream": True},
    ),
    "ollama": ("/api/chat", lambda text: {"messages": [{"role": "user", "content": text}]}),
    "ai-sdk": (
        "/ai-sdk/chat",
        lambda text: {
            "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]}]
        },
    ),
}
"""Where each client API streams, and the body of a question."""


def asks(api: str, name: str, text: str) -> tuple[str, Object]:
    """The path and the body of a request for a stream."""
    path, body = PATHS[api]
    named: Object = {} if "{model}" in path else {"model": name}
    return path.replace("{model}", name), {**body(text), **named}


def aborts(gateways: Gateways, api: str, upstream: str, stream: bool) -> None:
    """A client that disconnects during the response: the gateway stops at once."""
    text = f"[[slow 0.06]] [[text {'word ' * 1000}]]"
    before = _disconnects(gateways, upstream)
    if api == WEBSOCKET:
        _close_early(gateways, upstream, text)
    else:
        path, body = asks(api, model(upstream), text)
        with _http().stream("POST", gateways.url(upstream) + path, json=body) as answer:
            assert answer.status_code == 200
            next(answer.iter_raw())
    late = time.monotonic() + 60
    while _disconnects(gateways, upstream) == before:
        assert time.monotonic() < late, "the gateway went on"
        time.sleep(0.005)


def _close_early(gateways: Gateways, upstream: str, text: str) -> None:
    """Close a WebSocket after the first event of a response."""
    address = gateways.url(upstream).replace("http://", "ws://")
    ask: Object = {"type": "response.create", "model": model(upstream), "input": text}
    with connect(f"{address}/v1/responses", close_timeout=0.1) as connection:
        connection.send(json.dumps({**ask, "store": False}))
        connection.recv(timeout=600)


@cache
def _http() -> httpx.Client:
    return httpx.Client(timeout=600)


def _disconnects(gateways: Gateways, upstream: str) -> list[str]:
    """The clients of each API that disconnected, by the metrics of the gateway."""
    metrics = _http().get(f"{gateways.url(upstream)}/metrics").text
    return [
        line
        for line in metrics.splitlines()
        if line.startswith("toolwire_gateway_client_disconnects_total")
    ]


Scenario = Callable[[Gateways, str, str, bool], None]
SCENARIOS: dict[str, Scenario] = {
    "plain": plain,
    "tools": tools,
    "reasoning": reasoning,
    "images": images,
    "errors": errors,
    "aborts": aborts,
}
ONCE = frozenset({"aborts"})
"""Scenarios that are only streamed."""


def ways(api: str, scenario: str) -> tuple[bool, ...]:
    """Streamed or not: pages and WebSockets only stream."""
    return (True,) if api in ("ai-sdk", WEBSOCKET) or scenario in ONCE else (False, True)


# --- embeddings -----------------------------------------------------------------------------------

NO_EMBEDDINGS = {
    "anthropic": "the provider has none",
    "gemini": "the provider has a separate API for them, which is not translated",
    "gemini-interactions": "the provider has a separate API for them, which is not translated",
    "bedrock": "the provider has a separate API for each model, which is not translated",
}
"""Upstreams that embeddings do not reach, and why."""
_EMBEDDING: Object = {
    "object": "list",
    "model": "m",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -1.25]}],
    "usage": {"prompt_tokens": 3, "total_tokens": 3},
}


def embeddings(upstream: str) -> None:
    """Embeddings of the `openai` client: passed on, or refused with the name of the provider."""
    reply: Answer = answers(_EMBEDDING)
    with (
        scripted_gateway(upstream, reply) as gw,
        openai.OpenAI(base_url=f"{gw.url}/v1", api_key="any", max_retries=0) as client,
    ):
        try:
            got = client.embeddings.create(model="m", input=["hi"], encoding_format="float")
        except openai.NotFoundError as error:
            assert upstream in NO_EMBEDDINGS and f"{upstream} has no embeddings" in str(error)
            return
    assert upstream not in NO_EMBEDDINGS
    assert got.data[0].embedding == [0.5, -1.25]


# --- pages ----------------------------------------------------------------------------------------


def _page(upstream: str, scenario: str, gateways: Gateways) -> Object:
    """The instructions for a page."""
    image = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    texts: dict[str, Object] = {
        "plain": {"text": "hello there"},
        "tools": {"text": QUESTION},
        "reasoning": {"text": THINKS},
        "images": {"text": "[[text I see it]]", "image": image},
        "errors": {"text": "[[error 429]] hello"},
    }
    return {
        "url": f"{gateways.url(upstream)}/ai-sdk/chat",
        "model": model(upstream),
        **texts[scenario],
    }


def _plain_page(chat: Object) -> None:
    assert last_text(chat) == "You said: hello there\nNo tool matches the question."


def _tools_page(chat: Object) -> None:
    assert last_text(chat).splitlines() == list(FINAL), chat
    assert isinstance(asked := chat["asked"], list) and len(asked) == 3
    assert isinstance(messages := chat["messages"], list) and len(messages) == 2, (
        "it goes on in one message"
    )


def _reasoning_page(chat: Object) -> None:
    assert last_text(chat).splitlines() == ADDED, chat


def _images_page(chat: Object) -> None:
    assert last_text(chat) == "I see it"


PAGES: dict[str, Callable[[Object], None]] = {
    "plain": _plain_page,
    "tools": _tools_page,
    "reasoning": _reasoning_page,
    "images": _images_page,
}


def assert_page(gateways: Gateways, upstream: str, scenario: str, chat: Object) -> None:
    """Assert that a page got the expected messages."""
    assert chat["invalid"] is None, chat["invalid"]
    if scenario == "errors":
        assert chat["status"] == "error" and chat["error"] and "{" not in str(chat["error"]), chat
        return
    assert chat["error"] is None and chat["status"] == "ready", chat
    PAGES[scenario](chat)
    if scenario == "reasoning":
        assert isinstance(messages := chat["messages"], list)
        assert (WORDS in json.dumps(messages[1:])) is (upstream != HIDES_REASONING)
    if scenario == "reasoning" and upstream in SIGNATURE_FIELDS:
        _assert_signature_returned(
            upstream,
            [
                one.body
                for one in gateways.mocks[upstream].requests
                if THINKS[:20] in json.dumps(one.body)
            ][-1],
        )


def pages(gateways: Gateways, scenario: str) -> dict[str, Object]:
    """The outcome of the page of each upstream."""
    return dict(
        zip(
            UPSTREAMS,
            chats([_page(upstream, scenario, gateways) for upstream in UPSTREAMS]),
            strict=True,
        )
    )
