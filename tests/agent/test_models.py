"""Models over HTTP: keys, retries, refusals, streams that break off, cancellation, and secrets that
are never shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

import pytest
from agent.mock_server import (
    KEY,
    QUICK,
    TEXT,
    WIRES,
    MockServer,
    add,
    model_at,
    only,
    outputs,
    over,
    sound,
    talk,
)
from cases import facts
from msgspec.structs import replace

from toolwire.agent.agent import Agent
from toolwire.agent.events import (
    ModelError,
    ModelReply,
    ModelRequest,
    Retry,
    ToolFinished,
    ToolStarted,
)
from toolwire.agent.http_model import HttpModel
from toolwire.agent.phases import Phase
from toolwire.agent.session_store import FileStore
from toolwire.agent.thread import Thread
from toolwire.codec import Encoded, decode
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Message, Text
from toolwire.errors import UsageError
from toolwire.profiles.table import PROFILES
from toolwire.providers.endpoints import find_endpoint
from toolwire.providers.http.policy import Timeouts
from toolwire.providers.table import PROVIDERS, Provider
from toolwire.server.asgi import App, Receive, Scope, Send
from toolwire.streaming.events import PartStart

QUESTION = "add 1 and 2, and add 3 and 4"
ANSWER: Object = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "demo",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}
    ],
}


class AnsweringServer:
    """A server that sends its responses one after the other, and repeats the last one."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        self.answers = list(answers)
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []
        self.gone = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        self.bodies.append(b"")
        while True:
            message = await receive()
            piece = message.get("body", b"")
            assert isinstance(piece, bytes)
            self.bodies[-1] += piece
            if not message.get("more_body"):
                break
        status, headers, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        pairs = [
            (name.encode(), value.encode())
            for name, value in {"content-type": "application/json", **headers}.items()
        ]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})


def encode_body(body: JSON) -> bytes:
    return json.dumps(body).encode()


GOOD: tuple[int, dict[str, str], bytes] = (200, {}, encode_body(ANSWER))


def agent_with_answers(
    mock_server: MockServer, *answers: tuple[int, dict[str, str], bytes], wire: str = "openai-chat"
) -> tuple[Agent, AnsweringServer]:
    server = AnsweringServer(*answers)
    return Agent(model_at(wire, mock_server.place(server)), [add]), server


# --- names, addresses, keys -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", [row for row in PROVIDERS if not row.keyless], ids=lambda row: row.name
)
def test_without_a_key_the_error_names_the_variable_to_set(row: Provider) -> None:
    name, keys, base = row.name, row.key_envs, row.base_url_env
    env = {base: "https://models.example"} if base else {}
    with pytest.raises(UsageError, match=r"no (API )?key; set ") as raised:
        find_endpoint(f"{name}:m", env)
    assert keys[0] in str(raised.value)
    found = find_endpoint(f"{name}:m", {**env, keys[0]: KEY})
    assert found.api_key == KEY and KEY not in repr(found)


def test_a_key_from_a_file_may_end_in_a_line_break_and_has_none_in_it() -> None:
    assert find_endpoint("openai:m", {"OPENAI_API_KEY": "key\n"}).api_key == "key"
    assert find_endpoint("openai:m", {}, api_key="key\r\n").api_key == "key"
    with pytest.raises(UsageError, match="openai:m: no API key; set"):
        find_endpoint("openai:m", {"OPENAI_API_KEY": "\n"})
    with pytest.raises(UsageError, match=r"^openai:m: the API key has a line break in it; set it"):
        find_endpoint("openai:m", {"OPENAI_API_KEY": "key\nx-admin: 1"})


def test_a_server_that_people_run_themselves_needs_no_key() -> None:
    for row in PROVIDERS:
        if row.keyless:
            assert (
                find_endpoint(
                    f"{row.name}:m", {row.base_url_env: "http://gpu.example:9000/v1"}
                ).api_key
                is None
            )


@pytest.mark.parametrize(
    ("text", "env", "words"),
    [
        ("unknown:m", {}, "there is no provider unknown; known names: openai,"),
        ("anthropic", {}, "name a model, as in anthropic:some-model"),
        ("anthropic:", {}, "name a model, as in anthropic:some-model"),
        (
            "azure-openai:m",
            {"AZURE_OPENAI_API_KEY": "k"},
            "set the environment variable AZURE_OPENAI_ENDPOINT",
        ),
        ("https://host/v1:m", {}, "name the API and the model, as in"),
        ("https://host/v1#unknown:m", {}, "name the API and the model, as in"),
        (
            "bedrock:m",
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SESSION_TOKEN": "t"},
            "AWS_SECRET_ACCESS_KEY",
        ),
    ],
)
def test_a_model_that_cannot_be_found_is_refused_with_what_is_missing(
    text: str, env: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        find_endpoint(text, env)


@pytest.mark.parametrize(
    ("text", "env", "url"),
    [
        ("ollama:llama3:8b", {}, "http://localhost:11434/api/chat"),
        ("ollama:x", {"OLLAMA_HOST": "box"}, "http://box:11434/api/chat"),
        ("ollama:x", {"OLLAMA_HOST": "box:99"}, "http://box:99/api/chat"),
        (
            "https://gpu.example/v1#vllm:Qwen/Qwen3:8b",
            {},
            "https://gpu.example/v1/chat/completions",
        ),
        (
            "bedrock:anthropic.claude-3:0",
            {"AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": "eu-west-1"},
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-3%3A0/converse-stream",
        ),
        (
            "gemini:g",
            {"GOOGLE_API_KEY": "k"},
            "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse",
        ),
    ],
)
def test_a_name_leads_to_an_address(text: str, env: dict[str, str], url: str) -> None:
    assert find_endpoint(text, env).url(stream=True) == url


def test_every_endpoint_has_a_profile_and_every_model_with_a_base_of_its_own_is_reached() -> None:
    for row in PROVIDERS:
        assert row.profile in PROFILES, row.name
        found = find_endpoint(f"{row.name}:m", {}, base_url="http://127.0.0.1:1", api_key=KEY)
        assert found.url(stream=False).startswith("http://127.0.0.1:1/")


# --- retries --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "status"),
    [*((wire, 429) for wire in WIRES), ("anthropic", 500), ("gemini", 503), ("bedrock", 529)],
)
def test_a_busy_server_is_asked_again_until_it_answers(
    mock_server: MockServer, wire: str, status: int
) -> None:
    placed = mock_server.mock(wire)
    seen = talk(Agent(model_at(wire, placed.url), [add]), f"[[error {status} 2]] [[text hello]]")
    assert placed.statuses() == [status, status, 200]
    assert over(seen).text == "hello" and len(only(seen, Retry)) == 2


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini", "bedrock"])
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_server_that_refuses_is_asked_once(
    mock_server: MockServer, wire: str, status: int
) -> None:
    placed = mock_server.mock(wire)
    seen = talk(Agent(model_at(wire, placed.url), [add]), f"[[error {status}]]")
    assert placed.statuses() == [status]
    assert over(seen).phase is Phase.FAILED
    assert str(status) in str(over(seen).stop)


def test_retries_of_a_busy_server_end_with_its_error_message(mock_server: MockServer) -> None:
    agent, server = agent_with_answers(
        mock_server, (503, {}, encode_body({"error": {"message": "come back later"}}))
    )
    end = over(talk(agent, "hi"))
    assert len(server.scopes) == QUICK.attempts
    assert end.phase is Phase.FAILED and "503: come back later" in str(end.stop)
    assert [message.role for message in agent.thread.messages] == ["user"]


@pytest.mark.parametrize("status", [501, 505, 409, 425, 418])
def test_other_errors_are_not_tried_again(mock_server: MockServer, status: int) -> None:
    agent, server = agent_with_answers(mock_server, (status, {}, b"no"))
    talk(agent, "hi")
    assert len(server.scopes) == 1


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"retry-after": "0.3"}, 0.3),
        ({"retry-after-ms": "300"}, 0.3),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "inf"}, 0.0),
    ],
)
def test_a_retry_waits_for_as_long_as_the_server_asks(
    mock_server: MockServer, headers: dict[str, str], least: float
) -> None:
    agent, server = agent_with_answers(mock_server, (429, headers, b"{}"), GOOD)
    began = monotonic()
    seen = talk(agent, "hi")
    assert over(seen).text == "hello" and len(server.scopes) == 2
    assert least <= monotonic() - began < 60
    if least:
        assert only(seen, Retry)[0].wait == pytest.approx(least)


def test_a_server_that_asks_for_too_long_a_pause_gets_no_retry(mock_server: MockServer) -> None:
    agent, server = agent_with_answers(mock_server, (429, {"retry-after": "3600"}, b"{}"), GOOD)
    assert over(talk(agent, "hi")).phase is Phase.FAILED
    assert len(server.scopes) == 1


def test_a_server_that_is_not_there_is_tried_again_and_then_reported() -> None:
    seen = talk(Agent(model_at("anthropic", "http://127.0.0.1:9"), [add]), "hi")
    assert len(only(seen, Retry)) == QUICK.attempts - 1
    assert over(seen).phase is Phase.FAILED and "anthropic: " in str(over(seen).stop)


def test_redirects_with_a_key_are_not_followed(mock_server: MockServer) -> None:
    there = AnsweringServer(GOOD)
    agent, server = agent_with_answers(
        mock_server, (307, {"location": mock_server.place(there) + "/v1/chat/completions"}, b"")
    )
    end = over(talk(agent, "hi"))
    assert end.phase is Phase.FAILED and "307" in str(end.stop)
    assert len(server.scopes) == 1 and not there.scopes


# --- histories that are refused -------------------------------------------------------------------

OPEN = Call("call_1", "Calculator_Add", LazyJson('{"a":1,"b":2}'))
LONG = Call("functions.add:" + "0" * 80, "Calculator_Add", LazyJson('{"a":1,"b":2}'))
ODD = {
    "a call without a result": (
        Thread("t").add_user("hi").add_reply(Message("assistant", (OPEN,))).add_user("never mind")
    ),
    "an id that is too long": (
        Thread("t").add_user("hi").add_reply(Message("assistant", (LONG,)), [LONG.result("3")])
    ),
}
"""Histories that some servers accept and others of the same wire refuse."""


@pytest.mark.parametrize("name", ODD)
def test_a_history_that_is_refused_is_repaired_once_and_sent_again(
    mock_server: MockServer, name: str
) -> None:
    placed = mock_server.mock(
        "openai-chat"
    )  # stricter than the profile by which the model is asked
    agent = Agent(model_at("vllm", placed.url), [add])
    agent.thread = ODD[name]
    seen = talk(agent, "[[text hello]]")
    assert placed.statuses() == [400, 200]
    again = only(seen, Retry)
    assert len(again) == 1 and "the history was refused" in again[0].why and again[0].changes
    assert over(seen).text == "hello"


def test_a_history_that_is_still_refused_is_reported_with_what_it_means(
    mock_server: MockServer,
) -> None:
    refusal = encode_body(
        {
            "error": {
                "message": (
                    "Invalid parameter: 'tool_call_id' of 'x' not found in 'tool_calls' of previous"
                    " message."
                )
            }
        }
    )
    agent, server = agent_with_answers(mock_server, (400, {}, refusal))
    end = over(talk(agent, "hi"))
    assert len(server.scopes) == 1, "there is nothing to repair in it"
    assert end.phase is Phase.FAILED
    assert "not found in 'tool_calls'" in str(end.stop)
    assert len(str(end.stop).splitlines()) > 1, "what it means is told too"


def test_a_refused_history_is_repaired_at_most_once(mock_server: MockServer) -> None:
    refusal = encode_body(
        {
            "error": {
                "message": (
                    "Invalid parameter: 'tool_call_id' of 'x' not found in 'tool_calls' of previous"
                    " message."
                )
            }
        }
    )
    agent, server = agent_with_answers(mock_server, (400, {}, refusal), wire="vllm")
    agent.thread = ODD["a call without a result"]
    seen = talk(agent, "hi")
    assert len(server.scopes) == 2
    assert over(seen).phase is Phase.FAILED and len(only(seen, Retry)) == 1
    assert len(str(over(seen).stop).splitlines()) > 1


def test_refused_reasoning_is_removed_and_the_request_is_repeated(mock_server: MockServer) -> None:
    refusal = encode_body({"error": {"message": "Invalid `signature` in `thinking` block"}})
    answer: JSON = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "demo",
        "content": [{"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    server = AnsweringServer(
        (400, {}, refusal), (200, {"content-type": "application/json"}, encode_body(answer))
    )
    agent = Agent(model_at("anthropic", mock_server.place(server)), [add])
    thinking: JSON = {"type": "thinking", "thinking": "hm", "signature": "ErUBsecret"}
    reply: JSON = {"role": "assistant", "content": [thinking, {"type": "text", "text": "ok"}]}
    message = decode({"messages": [reply]}, "anthropic").messages[0]
    agent.thread = Thread("t").add_user("hi").add_reply(message)
    seen = talk(agent, "and?")
    assert over(seen).text == "hello"
    [again] = only(seen, Retry)
    assert [change.name for change in again.changes] == ["signature-foreign"]
    assert [b"secret" in body for body in server.bodies] == [True, False]


# --- responses that break off ---------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_whose_stream_was_cut_off_is_never_run_and_those_before_it_are(
    mock_server: MockServer, wire: str
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add])
    script = (
        '[[cut]] [[call Calculator_Add {"a": 1, "b": 2}]] [[call Calculator_Add {"a": 3, "b": 4}]]'
    )
    seen = talk(agent, script)
    given = {done.call.arguments.replace(" ", "") for done in only(seen, ToolStarted)}
    assert '{"a":3,"b":4}' not in given
    ran = [done.call.input for done in only(seen, ToolFinished)]
    calls_share_a_chunk = bool(facts(wire).exempt.joins_calls)  # then all of them are cut off
    assert ran == ([] if calls_share_a_chunk else [{"a": 1, "b": 2}])
    assert over(seen).phase in (Phase.FAILED, Phase.STOPPED, Phase.DONE)
    assert set(placed.statuses()) == {200}, "no history was refused"
    sound(agent)


@pytest.mark.parametrize(
    ("wire", "stream"),
    [*((wire, True) for wire in WIRES), ("anthropic", False), ("bedrock", False)],
)
def test_an_answer_that_is_cut_off_in_its_text_is_requested_again(
    mock_server: MockServer, wire: str, stream: bool
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url, stream=stream), [add])
    seen = talk(agent, "[[cut]] [[text one two three four five six seven eight nine ten]]")
    assert over(seen).phase is Phase.FAILED and len(placed.statuses()) == QUICK.attempts
    assert [message.role for message in agent.thread.messages] == ["user"]
    sound(agent)


BREAKS: dict[str, list[Object]] = {
    "anthropic": [
        {
            "type": "message_start",
            "message": {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "demo",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}},
    ],
    "openai-chat": [
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "demo",
            "choices": [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": "hel"},
                    "finish_reason": None,
                }
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("kind", "message", "tries"),
    [
        ("overloaded_error", "Overloaded", QUICK.attempts),
        ("invalid_request_error", f"the key {KEY} is bad", 1),
    ],
)
@pytest.mark.parametrize("wire", BREAKS)
def test_an_error_in_the_middle_of_a_stream_is_tried_again_only_if_it_may_pass(
    mock_server: MockServer, wire: str, kind: str, message: str, tries: int
) -> None:
    error: Object = {"type": "error", "error": {"type": kind, "message": message}}
    events = [
        f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n"
        for event in [*BREAKS[wire], error]
    ]
    agent, server = agent_with_answers(
        mock_server,
        (200, {"content-type": "text/event-stream"}, "".join(events).encode()),
        wire=wire,
    )
    seen = talk(agent, "hi")
    assert len(server.scopes) == tries
    assert over(seen).phase is Phase.FAILED
    assert KEY not in repr(seen) and message.replace(KEY, "[removed]") in str(over(seen).stop)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, {}, b"not json"), "not a response"),
        ((200, {}, b"[]"), "not a response"),
        ((200, {}, encode_body({"error": {"message": "no credits"}})), "no credits"),
        ((200, {}, b"{}"), "not a response"),
        ((200, {}, b'{"choices": []}'), "without a message"),
        ((200, {"content-type": "text/event-stream"}, b"data: nonsense\n\n"), "openai: "),
        ((200, {"content-type": "text/event-stream"}, b""), "openai: "),
        ((200, {"content-type": "text/html"}, b"<html>log in</html>"), "openai: "),
        ((400, {}, b"\xff\xfe"), "returned status 400"),
        ((401, {}, encode_body({"error": f"bad key {KEY}"})), "OPENAI_API_KEY"),
    ],
)
def test_a_response_that_cannot_be_read_is_an_error_that_says_so(
    mock_server: MockServer, answer: tuple[int, dict[str, str], bytes], words: str
) -> None:
    agent, _ = agent_with_answers(mock_server, answer)
    end = over(talk(agent, "hi"))
    assert end.phase is Phase.FAILED and words in str(end.stop)
    assert KEY not in str(end.stop)
    sound(agent)


# --- disconnecting --------------------------------------------------------------------------------


class Slow:
    """A server whose response never ends, and which notes when its client disconnects."""

    def __init__(self, opening: bytes) -> None:
        self.opening = opening
        self.gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        await send({"type": "http.response.body", "body": self.opening, "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone = True


def opening(wire: str) -> bytes:
    return "".join(
        f"event: {one.get('type', 'message')}\ndata: {json.dumps(one)}\n\n" for one in BREAKS[wire]
    ).encode()


async def until(true: Callable[[], bool]) -> None:
    late = monotonic() + 60
    while not true():
        assert monotonic() < late
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("how", ["cancel", "leave"])
def test_a_client_that_leaves_closes_the_connection_and_the_thread_is_kept(
    mock_server: MockServer, how: str, tmp_path: Path
) -> None:
    server = Slow(opening("anthropic"))
    store = FileStore(tmp_path / "t.json")
    agent = Agent(model_at("anthropic", mock_server.place(server)), [add], store=store)

    async def cancel_while_streaming() -> None:
        begun = asyncio.Event()

        async def go() -> None:
            async for one in agent.watch("hi"):
                if isinstance(one, PartStart):
                    begun.set()

        task = asyncio.create_task(go())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def close_while_streaming() -> None:
        watched = agent.watch("hi")
        async for one in watched:
            if isinstance(one, PartStart):
                break
        await watched.aclose()

    async def both(way: Awaitable[None]) -> None:
        await way
        await until(lambda: server.gone)
        await agent.model.close()

    asyncio.run(both(cancel_while_streaming() if how == "cancel" else close_while_streaming()))
    kept = asyncio.run(store.load())
    assert kept is not None and kept.id == agent.thread.id
    assert (
        [message.role for message in agent.thread.messages]
        == [message.role for message in kept.messages]
        == ["user"]
    )
    sound(agent)


def test_a_server_that_falls_silent_counts_as_lost(mock_server: MockServer) -> None:
    server = Slow(opening("anthropic"))
    quick = replace(QUICK, attempts=2)
    agent = Agent(
        model_at("anthropic", mock_server.place(server), retry=quick, timeouts=Timeouts(5.0, 0.1)),
        [add],
    )
    seen = talk(agent, "hi")
    assert over(seen).phase is Phase.FAILED and len(only(seen, Retry)) == 1


def test_a_failed_run_does_not_repeat_earlier_text(mock_server: MockServer) -> None:
    agent, _ = agent_with_answers(mock_server, GOOD, (404, {}, b"gone"))
    assert over(talk(agent, "hi")).text == "hello"
    end = over(talk(agent, "and now?"))
    assert (end.phase, end.text) == (Phase.FAILED, "")


def test_a_connection_is_used_for_more_than_one_turn(mock_server: MockServer) -> None:
    placed = mock_server.mock("anthropic")
    ports: set[object] = set()
    inner: App = placed.mock

    async def record_port(scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        ports.add(tuple(client) if isinstance(client, (list, tuple)) else client)
        await inner(scope, receive, send)

    agent = Agent(model_at("anthropic", mock_server.place(record_port)), [add])
    assert outputs(talk(agent, QUESTION)) == {0: 3.0, 1: 7.0}
    assert len(placed.statuses()) == 2 and len(ports) == 1


def test_a_model_can_be_asked_by_itself(mock_server: MockServer) -> None:
    async def go() -> ModelReply:
        async with model_at("mistral", mock_server.mock("mistral").url) as model:
            body = Encoded(
                {"model": "demo", "messages": [{"role": "user", "content": "[[text hello]]"}]},
                [],
                Thread("t").request("mistral", tools=[], settings={}).ids,
            )
            (reply,) = [one async for one in model.ask(body) if isinstance(one, ModelReply)]
            return reply

    reply = asyncio.run(go())
    assert reply.message.parts == (Text("hello"),) and not reply.cut and reply.usage is not None


def test_an_error_reads_well_and_holds_what_it_means() -> None:
    error = ModelError("x said 400: no", status=400, meaning=("TW021: a result without its call",))
    assert str(error) == "x said 400: no\nTW021: a result without its call"


def test_secrets_are_in_no_error_no_event_and_no_name(mock_server: MockServer) -> None:
    agent, _ = agent_with_answers(mock_server, (403, {}, f"who is {KEY}?".encode()))
    seen = talk(agent, "hi")
    assert KEY not in repr(seen) and KEY not in repr(agent.model.__dict__["endpoint"])
    at = f"http://user:hunter2hunter2@{mock_server.url.removeprefix('http://')}/0"
    model = HttpModel("openai:m", base_url=at, api_key=KEY)
    assert "hunter2" not in str(model.endpoint)


def test_all_wires_of_models_are_tried_here() -> None:
    assert {row.profile for row in PROVIDERS} >= set(WIRES)
    assert TEXT in {row.name for row in PROVIDERS}
    assert only([ModelRequest(1, "m")], ModelRequest)
