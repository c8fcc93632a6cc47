"""Responses over WebSocket: the official client, over the server that the command line runs."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import openai
import pytest
import uvicorn
from gateway.bodies import CHAT_STREAM, chat_chunk
from gateway.serving import UPSTREAMS, Gateways, gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream, streams
from mock.tools import FINAL, QUESTION, TOOLS, run
from openai.resources.responses.responses import ResponsesConnection
from openai.types.responses import Response
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from toolwire.gateway.app import Gateway
from toolwire.gateway.keys import KeyConfig, Keys
from toolwire.gateway.websocket import SocketLimits, SocketServer
from toolwire.server.run import ConnectionLimits, config

ASK = {"type": "response.create", "model": "m", "input": "hi", "store": False}


@contextmanager
def listening(app: Gateway, limits: SocketLimits | None = None) -> Iterator[str]:
    """The address of a gateway behind the server of the command line."""
    if limits is not None:
        app._sockets = SocketServer(app, limits)
    server = uvicorn.Server(config(app, ConnectionLimits(grace=1)))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        late = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive() and time.monotonic() < late, "it did not start"
            time.sleep(0.005)
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def gateway_with_answers(
    *answers: Answer, limits: SocketLimits | None = None, keys: Keys | None = None, server: str = ""
) -> Iterator[tuple[str, ScriptedUpstream]]:
    """A gateway in front of a scripted chat model, and the model."""
    up = ScriptedUpstream(*answers)
    with serving(up) as url:
        app = gateway(f"[server]\n{server}\n{row('openai-chat', url)}")
        if keys is not None:
            app._state.auth = keys
        with listening(app, limits) as address:
            yield address, up


def receive(connection: Connection) -> list[dict[str, object]]:
    """The events up to the last of a response."""
    events: list[dict[str, object]] = []
    while not events or events[-1]["type"] not in ("response.completed", "error"):
        events.append(json.loads(connection.recv(timeout=600)))
    return events


def finish(connection: ResponsesConnection) -> Response:
    for event in connection:
        assert event.type not in ("error", "response.failed"), event
        if event.type == "response.completed":
            return event.response
    raise AssertionError("the connection was closed")


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_each_turn_sends_only_what_is_new(gateways: Gateways, upstream: str) -> None:
    tools = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, (_, schema) in TOOLS.items()
    ]
    called: list[list[str]] = []
    new: list[dict[str, object]] = [{"role": "user", "content": QUESTION}]
    previous: dict[str, str] = {}
    with listening(gateway(row(upstream, f"{gateways.up}/{upstream}"))) as address:
        client = openai.OpenAI(base_url=f"http://{address}/v1", api_key="any")
        with client, client.responses.connect() as connection:
            while True:
                connection.response.create(
                    model="some-model",
                    input=new,  # type: ignore[arg-type]
                    tools=tools,  # type: ignore[arg-type]
                    store=False,
                    include=["reasoning.encrypted_content"],
                    **previous,  # type: ignore[arg-type]
                )
                answer = finish(connection)
                calls = [item for item in answer.output if item.type == "function_call"]
                if not calls:
                    break
                called.append([call.name for call in calls])
                previous = {"previous_response_id": answer.id}
                new = [
                    {
                        "type": "function_call_output",
                        "call_id": call.call_id,
                        "output": run(call.name, json.loads(call.arguments)),
                    }
                    for call in calls
                ]
    assert called == [["Calculator_Add", "Calculator_Add"], ["Calculator_Multiply"]]
    text = "".join(
        part.text
        for item in answer.output
        if item.type == "message"
        for part in item.content
        if part.type == "output_text"
    )
    assert text.splitlines() == list(FINAL)


def test_a_warm_up_has_no_output_and_can_be_continued() -> None:
    with (
        gateway_with_answers(streams(*CHAT_STREAM)) as (address, up),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        connection.send(json.dumps({**ASK, "generate": False}))
        created, completed = receive(connection)
        assert created["type"] == "response.created" and not up.got
        response = completed["response"]
        assert isinstance(response, dict) and response["output"] == []
        assert response["model"] == "m" and response["id"].startswith("resp_")
        assert Response.model_validate(response, strict=True).status == "completed"
        more = {**ASK, "previous_response_id": response["id"], "input": "more", "stream_id": "s1"}
        connection.send(json.dumps(more))
        assert {event["stream_id"] for event in receive(connection)} == {"s1"}
        assert up.got[0].json["messages"] == [
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "more"},
        ]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("{", "not JSON"),
        ('{"type": "session.update"}', "response.create"),
        (json.dumps({**ASK, "previous_response_id": "resp_unknown"}), "previous_response_id"),
        (json.dumps({**ASK, "input": 3}), "input"),
    ],
)
def test_a_bad_message_gets_an_error_and_the_connection_stays(message: str, words: str) -> None:
    with (
        gateway_with_answers(streams(*CHAT_STREAM)) as (address, up),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        connection.send(message)
        (error,) = receive(connection)
        assert error["status"] == 400 and words in str(error["message"]) and not up.got
        connection.send(json.dumps(ASK).encode())
        assert receive(connection)[-1]["type"] == "response.completed"


def test_an_error_of_the_upstream_has_its_status() -> None:
    refusal = Answer(429, {"retry-after": "7"}, b'{"error": {"message": "slow down"}}')
    with (
        gateway_with_answers(refusal) as (address, _),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        connection.send(json.dumps(ASK))
        (error,) = receive(connection)
        assert error["status"] == 429 and error["headers"] == {"retry-after": "7"}
        assert error["message"] == "slow down" and error["type"] == "error"


def test_a_stream_that_breaks_off_ends_with_an_error_event() -> None:
    with (
        gateway_with_answers(streams(chat_chunk({"content": "Hel"}), cut=True)) as (address, _),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        connection.send(json.dumps(ASK))
        assert receive(connection)[-1]["type"] == "error"


def test_a_disconnected_client_stops_the_upstream() -> None:
    with gateway_with_answers(
        streams(chat_chunk({"content": "Hel"}), *[chat_chunk({})] * 200, pause=0.05)
    ) as (address, up):
        with connect(f"ws://{address}/v1/responses") as connection:
            connection.send(json.dumps(ASK))
            connection.recv(timeout=600)
        late = time.monotonic() + 60
        while not up.left:
            assert time.monotonic() < late, "the upstream went on"
            time.sleep(0.01)


def test_keys_hosts_origins_and_paths_are_checked_before_a_connection_opens() -> None:
    key = "tw-" + "k" * 40
    alice = KeyConfig(name="alice", sha256=hashlib.sha256(key.encode()).hexdigest(), rpm=1)
    bearer = {"authorization": f"Bearer {key}"}
    with gateway_with_answers(streams(*CHAT_STREAM), keys=Keys([alice])) as (address, up):

        def status(path: str, headers: dict[str, str]) -> int:
            with (
                pytest.raises(InvalidStatus) as error,
                connect(f"ws://{address}{path}", additional_headers=headers),
            ):
                pass
            return error.value.response.status_code

        assert status("/v1/responses", {}) == 401
        assert status("/v1/responses", {**bearer, "origin": "https://evil.example"}) == 403
        assert status("/v1/chat/completions", bearer) == 404
        with socket.create_connection(address.split(":")) as raw:  # type: ignore[arg-type]
            raw.sendall(
                b"GET /v1/responses HTTP/1.1\r\nhost: evil.example\r\nupgrade: websocket\r\n"
                b"connection: upgrade\r\nsec-websocket-version: 13\r\n"
                b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            )
            assert b" 421 " in raw.recv(1000)
        assert not up.got
        with connect(f"ws://{address}/v1/responses", additional_headers=bearer) as connection:
            connection.send(json.dumps(ASK))
            assert receive(connection)[-1]["type"] == "response.completed"
            connection.send(json.dumps(ASK))
            (error,) = receive(connection)
            assert error["status"] == 429, "each message counts as a request of the key"


def test_a_message_that_is_too_large_closes_the_connection() -> None:
    with (
        gateway_with_answers(streams(*CHAT_STREAM), server="max_body_mb = 0.01") as (address, up),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        with pytest.raises(ConnectionClosed) as error:
            connection.send("x" * 20_000)
            connection.recv(timeout=600)
        assert error.value.rcvd is not None and error.value.rcvd.code == 1009 and not up.got


def test_an_idle_connection_is_closed_and_an_old_one_asks_the_client_to_reconnect() -> None:
    with (
        gateway_with_answers(streams(*CHAT_STREAM), limits=SocketLimits(idle=0.1)) as (address, _),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        with pytest.raises(ConnectionClosed) as error:
            connection.recv(timeout=600)
        assert error.value.rcvd is not None and error.value.rcvd.code == 1001
    with (
        gateway_with_answers(streams(*CHAT_STREAM), limits=SocketLimits(lifetime=-1)) as (
            address,
            up,
        ),
        connect(f"ws://{address}/v1/responses") as connection,
    ):
        connection.send(json.dumps(ASK))
        (old,) = receive(connection)
        assert old["code"] == "websocket_connection_limit_reached" and not up.got
        with pytest.raises(ConnectionClosed):
            connection.recv(timeout=600)


def test_the_history_of_a_connection_is_bounded() -> None:
    limits = SocketLimits(histories=1, history_bytes=300)
    with (
        gateway_with_answers(streams(*CHAT_STREAM), limits=limits) as (address, up),
        connect(f"ws://{address}/v1/responses") as connection,
    ):

        def ask(**fields: object) -> dict[str, object]:
            connection.send(json.dumps({**ASK, "generate": False, **fields}))
            last = receive(connection)[-1]
            response = last.get("response")
            return response if isinstance(response, dict) else last

        first = ask()
        second = ask(previous_response_id=first["id"])
        assert second["object"] == "response"
        forgotten = ask(previous_response_id=first["id"], generate=True)
        assert forgotten["type"] == "error", "only the last one is known"
        large = ask(input="x" * 400)
        assert ask(previous_response_id=large["id"], generate=True)["type"] == "error"
        known = ask(previous_response_id=second["id"], generate=True)
        assert known["object"] == "response" and len(up.got) == 1
