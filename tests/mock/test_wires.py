"""Every mocked wire: a stream has the content of the body, directives are followed, models are
listed."""

from __future__ import annotations

import asyncio

import pytest
from mock.asking import PATHS, ask, send
from mock.tools import TOOLS
from msgspec.structs import replace

from toolwire import Tool, Usage, UsageError, check, decode, encode, fold, repair, wires
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Reasoning, Text
from toolwire.mock.demo_server import DemoServer
from toolwire.mock.error_bodies import SHAPES
from toolwire.mock.error_texts import ERROR_TEXTS
from toolwire.mock.paths import ROUTES, SERVER_PROFILES
from toolwire.mock.server import MockProvider, app
from toolwire.profiles.table import PROFILES
from toolwire.server.asgi import Receive

MODELS = [name for name in PATHS if name != "text"]


def request(wire: str, question: str) -> Object:
    """A question with tools as a body of a wire."""
    tools = tuple(Tool(name, about, schema) for name, (about, schema) in TOOLS.items())
    body = encode(Conversation((Message("user", (Text(question),)),), tools, {}, ""), wire).body
    assert isinstance(body, dict)
    body.pop("max_tokens", None)
    return body


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize(
    "question",
    ["weather in Oslo and Rome", "hello", "[[think hm]] [[text first]] [[call get_weather {}]]"],
)
def test_a_stream_of_the_mock_folds_to_what_its_whole_answer_says(wire: str, question: str) -> None:
    mock = MockProvider(wire)
    whole = ask(mock, wire, request(wire, question))
    stream = ask(mock, wire, request(wire, question), stream=True)
    assert (whole.status, stream.status) == (200, 200)
    assert stream.whole
    body, folded = (
        decode(whole.json, wire, "response"),
        decode(fold(stream.body, wire), wire, "response"),
    )
    assert [_content_of(part) for part in folded.parts()] == [
        _content_of(part) for part in body.parts()
    ]
    assert len(body.calls()) == {"w": 2, "h": 0, "[": 1}[question[0]]


def _content_of(part: object) -> object:
    """The content of a part, without an id that the wire does not send: such an id depends on where
    the call is read.
    """
    if isinstance(part, Call):
        return part.name, part.input, part.id if part.origin == "wire" else ""
    return type(part).__name__, part.text if isinstance(part, Text | Reasoning) else ""


@pytest.mark.parametrize(
    "wire", ["openai-chat", "openai-responses", "anthropic", "bedrock", "cohere"]
)
def test_arguments_come_in_several_pieces(wire: str) -> None:
    mock = MockProvider(wire)
    stream = ask(
        mock,
        wire,
        request(wire, '[[call get_weather {"city": "Llanfairpwllgwyngyll"}]]'),
        stream=True,
    )
    assert b"Llanfairpwllgwyngyll" not in b"".join(
        piece
        for piece in stream.body.split(b"\n")
        if b".done" not in piece and b"completed" not in piece
    )
    assert decode(fold(stream.body, wire), wire, "response").calls()[0].input == {
        "city": "Llanfairpwllgwyngyll"
    }


@pytest.mark.parametrize("wire", MODELS)
def test_an_answer_says_how_many_tokens_it_took(wire: str) -> None:
    usage = decode(
        ask(MockProvider(wire), wire, request(wire, "hello")).json, wire, "response"
    ).settings["usage"]
    assert isinstance(usage, Usage) and usage.input and usage.output


def test_a_chat_stream_has_usage_only_on_request() -> None:
    body = request("openai-chat", "hello")
    assert b'"usage"' not in ask(MockProvider("openai-chat"), "openai-chat", body, stream=True).body
    told = ask(
        MockProvider("openai-chat"),
        "openai-chat",
        {**body, "stream_options": {"include_usage": True}},
        stream=True,
    )
    assert b'"usage"' in told.body and told.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("wire", MODELS)
def test_a_requested_error_is_sent_as_often_as_requested(wire: str) -> None:
    mock = MockProvider(wire)
    body = request(wire, "[[error 429 2]] hello")
    assert [ask(mock, wire, body).status for _ in range(4)] == [429, 429, 200, 200]
    assert [ask(mock, wire, request(wire, "[[error 503]]")).status for _ in range(3)] == [
        503,
        503,
        503,
    ]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", MODELS)
def test_an_answer_that_is_cut_is_never_brought_to_its_end(wire: str, stream: bool) -> None:
    answer = ask(
        MockProvider(wire),
        wire,
        request(wire, '[[cut]] [[call get_weather {"city": "Oslo"}]]'),
        stream=stream,
    )
    assert answer.status == 200 and not answer.whole
    if not stream:
        assert len(answer.body) < int(answer.headers["content-length"])
    else:
        assert b'"Oslo"' not in answer.body


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_call_that_was_cut_off_is_found_to_be_so(wire: str) -> None:
    stream = ask(
        MockProvider(wire),
        wire,
        request(wire, '[[cut]] [[call get_weather {"city": "Oslo"}]]'),
        stream=True,
    )
    assert "stream-aborted-call" in [one.name for one in check(stream.body, wire, "stream")]


@pytest.mark.parametrize(
    "wire", ["openai-chat", "openai-responses", "anthropic", "bedrock", "mistral", "cohere"]
)
def test_broken_arguments_are_broken_in_the_stream(wire: str) -> None:
    stream = ask(
        MockProvider(wire), wire, request(wire, "[[broken-json]] weather in Oslo"), stream=True
    )
    folded = decode(fold(stream.body, wire), wire, "response")
    assert "unfinished" in folded.calls()[0].arguments
    assert folded.calls()[0].input is None or "_raw" in folded.calls()[0].arguments


def test_a_slow_answer_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def wait(receive: Receive, seconds: float) -> bool:
        waits.append(seconds)
        return False

    monkeypatch.setattr("toolwire.mock.server._wait_for_disconnect", wait)
    for stream in (False, True):
        body = request("openai-chat", "[[slow 0.05]] hello")
        ask(MockProvider("openai-chat"), "openai-chat", body, stream=stream)
        assert set(waits) == {0.05} and (len(waits) > 1) is stream, "before each event of a stream"
        waits.clear()


@pytest.mark.parametrize("question", ["[[slow 600]] hello", "[[slow 0.01]] [[size 99999]] hello"])
def test_an_answer_ends_without_a_log_line_when_its_client_disconnects(
    question: str, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(_disconnect_during(question))
    assert [record.message for record in caplog.records] == []


async def _disconnect_during(question: str) -> None:
    async with DemoServer() as server:
        host, port = server.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        body = dump({"model": "m", "stream": True, **request("openai-chat", question)})
        head = f"POST /openai/v1/chat/completions HTTP/1.1\r\nHost: {host}\r\n"
        rest = f"Authorization: Bearer any\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write((head + rest).encode() + body)
        while not server.mock("openai").requests:
            await asyncio.sleep(0.01)
        writer.close()


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini", "bedrock", "ollama"])
def test_calls_written_as_text_are_text_on_the_wire(wire: str) -> None:
    told = decode(
        ask(MockProvider(wire), wire, request(wire, "[[say-as-text]] weather in Oslo")).json,
        wire,
        "response",
    )
    assert told.calls() == []
    assert any(
        isinstance(part, Text) and '"name":"get_weather"' in part.text for part in told.parts()
    )


@pytest.mark.parametrize(
    "profile", sorted(name for name, row in PROFILES.items() if row.wire in PATHS)
)
def test_every_profile_is_served_and_answers_two_turns_that_it_takes_itself(profile: str) -> None:
    wire = PROFILES[profile].wire
    mock = MockProvider(profile)
    asked = request(wire, "weather in Oslo and Rome")
    first = ask(mock, profile, asked)
    assert first.status == 200, first.text
    history, said = decode(asked, wire), decode(first.json, wire, "response")
    results = tuple(call.result(f"cold in {call.arguments}") for call in said.calls())
    messages = (*history.messages, *said.messages, Message("tool", results))
    body = repair(
        encode(replace(history, messages=messages), profile).body, wire, target=profile
    ).body
    assert isinstance(body, dict)
    second = ask(mock, profile, {key: value for key, value in body.items() if key != "max_tokens"})
    assert second.status == 200, second.text
    last = decode(second.json, wire, "response")
    text = "".join(part.text for part in last.parts() if isinstance(part, Text))
    assert text.splitlines() == [
        f'get_weather(city="{city}") gave: cold in {{"city":"{city}"}}' for city in ("Oslo", "Rome")
    ]


def test_models_that_think_must_get_back_what_they_thought() -> None:
    body: Object = {**request("openai-chat", "weather in Oslo"), "model": "kimi-k2-thinking"}
    mock = MockProvider("kimi")
    message = ask(mock, "kimi", body).json["choices"][0]["message"]  # type: ignore[index, call-overload]
    assert isinstance(message, dict) and message["reasoning_content"]
    call = message["tool_calls"][0]["id"]  # type: ignore[index, call-overload]
    assert call == "functions.get_weather:0"
    told: JSON = {"role": "tool", "tool_call_id": call, "content": "cold"}
    messages = body["messages"]
    assert isinstance(messages, list)
    assert ask(mock, "kimi", {**body, "messages": [*messages, message, told]}).status == 200
    forgot: JSON = {key: value for key, value in message.items() if key != "reasoning_content"}
    refused = ask(mock, "kimi", {**body, "messages": [*messages, forgot, told]})
    assert (refused.status, "reasoning_content is missing" in refused.text) == (400, True)


def test_parts_are_streamed_as_one_array_unless_events_are_asked_for() -> None:
    path = "/v1beta/models/gemini-3-pro:streamGenerateContent"
    body = request("gemini", "weather in Oslo")
    answer = send(MockProvider("gemini"), "POST", path, body)
    assert answer.headers["content-type"] == "application/json"
    assert answer.body.startswith(b"[{") and answer.body.endswith(b"]")
    assert b"thoughtSignature" in answer.body
    assert (
        decode(fold(answer.body, "gemini"), "gemini", "response").calls()[0].name == "get_weather"
    )


LISTS = {
    "openai-chat": ("/v1/models", ("data", 0, "id")),
    "azure-openai": ("/openai/v1/models", ("data", 0, "id")),
    "anthropic": ("/v1/models", ("data", 0, "id")),
    "gemini": ("/v1beta/models", ("models", 0, "name")),
    "bedrock": ("/foundation-models", ("modelSummaries", 0, "modelId")),
    "mistral": ("/v1/models", ("data", 0, "id")),
    "cohere": ("/v1/models", ("models", 0, "name")),
    "ollama": ("/api/tags", ("models", 0, "name")),
}


@pytest.mark.parametrize("profile", LISTS)
def test_the_models_are_listed_as_the_provider_lists_them(profile: str) -> None:
    path, at = LISTS[profile]
    value: JSON = send(MockProvider(profile), "GET", path).json
    for step in at:
        value = value[step]  # type: ignore[index]
    assert str(value).endswith("toolwire-demo")


COUNTS: dict[str, tuple[str, Object, str]] = {
    "anthropic": ("/v1/messages/count_tokens", {"messages": []}, "input_tokens"),
    "gemini": ("/v1beta/models/m:countTokens", {"contents": []}, "totalTokens"),
    "openai-responses": (
        "/v1/responses/input_tokens",
        {"model": "m", "input": "hi"},
        "input_tokens",
    ),
    "bedrock": ("/model/m/count-tokens", {"input": {"converse": {"messages": []}}}, "inputTokens"),
}


@pytest.mark.parametrize("profile", COUNTS)
def test_tokens_are_counted_where_the_provider_counts_them(profile: str) -> None:
    path, body, field = COUNTS[profile]
    assert isinstance(send(MockProvider(profile), "POST", path, body).json[field], int)


def test_a_stored_response_can_be_retrieved_and_continued() -> None:
    mock = MockProvider("openai-responses")
    first = ask(mock, "openai-responses", request("openai-responses", "weather in Oslo")).json
    assert send(mock, "GET", f"/v1/responses/{first['id']}").json == first
    output = first["output"]
    assert isinstance(output, list) and isinstance(output[0], dict)
    told: JSON = {"type": "function_call_output", "call_id": output[0]["call_id"], "output": "cold"}
    second = ask(mock, "openai-responses", {"previous_response_id": first["id"], "input": [told]})
    assert b'get_weather(city="Oslo") gave: cold' in second.body.replace(b'\\"', b'"')
    missing = ask(mock, "openai-responses", {"previous_response_id": first["id"], "input": "and?"})
    assert (missing.status, "No tool output found for function call" in missing.text) == (400, True)
    assert send(mock, "GET", "/v1/responses/resp_never").status == 404


def test_requests_are_recorded() -> None:
    mock = MockProvider("openai-chat")
    ask(mock, "openai-chat", request("openai-chat", "hello"))
    assert [(seen.method, seen.path, seen.status) for seen in mock.requests] == [
        ("POST", "/v1/chat/completions", 200)
    ]


def test_a_wire_that_no_model_speaks_cannot_be_mocked() -> None:
    for name in sorted({*wires()} - {*PATHS}):
        with pytest.raises(UsageError, match=r"no provider's API uses this wire"):
            app(name)
    with pytest.raises(UsageError):
        app("no-such-wire")


def test_every_name_in_the_tables_is_a_profile_or_a_wire() -> None:
    known = {*PROFILES, *wires()}
    named = {
        *ROUTES,
        *SHAPES,
        *ERROR_TEXTS,
        *SERVER_PROFILES,
        *(one for profiles in SERVER_PROFILES.values() for one in profiles),
    }
    assert named - known == set()


def test_the_same_request_gets_the_same_bytes() -> None:
    body = request("anthropic", "weather in Oslo")
    assert (
        ask(MockProvider("anthropic"), "anthropic", body, stream=True).body
        == ask(MockProvider("anthropic"), "anthropic", body, stream=True).body
    )
    assert dump(ask(MockProvider("anthropic"), "anthropic", body).json) == dump(
        ask(MockProvider("anthropic"), "anthropic", body).json
    )


ROUND = [
    "openai-chat",
    "anthropic",
    "gemini",
    "openai-responses",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "kimi",
    "deepseek",
    "minimax",
    "azure-openai",
    "vertex-anthropic",
    "vertex-gemini",
    "groq",
    "cerebras",
    "qwen",
    "xai",
    "minimax-anthropic",
    "mistral-legacy",
]


def test_a_conversation_goes_round_all_strict_mocks_with_a_switch_after_every_answer() -> None:
    tools = tuple(Tool(name, about, schema) for name, (about, schema) in TOOLS.items())
    messages: tuple[Message, ...] = ()
    turn = 0
    for n in range(len(ROUND)):
        messages = (
            *messages,
            Message("user", (Text(f"weather in Oslo and Rome, then add {n} and 2"),)),
        )
        answered = False
        while not answered:
            profile = ROUND[turn % len(ROUND)]
            wire = PROFILES[profile].wire
            turn += 1
            written = encode(Conversation(messages, tools, {}, ""), profile).body
            body = repair(written, wire, target=profile, unsafe=True).body
            assert isinstance(body, dict)
            answer = ask(
                MockProvider(profile),
                profile,
                {key: value for key, value in body.items() if key != "max_tokens"},
            )
            assert answer.status == 200, (profile, answer.text)
            said = decode(answer.json, wire, "response")
            results = tuple(call.result(f"the result of {call.arguments}") for call in said.calls())
            messages = (
                *messages,
                *said.messages,
                *((Message("tool", results),) if results else ()),
            )
            answered = not results
        assert [part.text for part in messages[-1].parts if isinstance(part, Text)] == [
            'get_weather(city="Oslo") gave: the result of {"city":"Oslo"}\n'
            'get_weather(city="Rome") gave: the result of {"city":"Rome"}\n'
            f'Calculator_Add(a={n}, b=2) gave: the result of {{"a":{n},"b":2}}'
        ]
    assert turn == 3 * len(ROUND)
