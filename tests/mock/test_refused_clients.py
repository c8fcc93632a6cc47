"""A refusal reaches the official clients as the error that they raise for their own provider, with
its text; and they retry."""

from __future__ import annotations

import asyncio
import json

import anthropic
import boto3  # type: ignore[import-untyped]
import cohere
import ollama
import openai
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from google import genai
from google.genai import errors, types
from mistralai.client import Mistral
from mistralai.client.errors import MistralError
from mock.hosting import serve_mock
from mock.tools import TOOLS, functions, run

from toolwire import explain
from toolwire.conversation.json import JSON

CALL: JSON = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
UNANSWERED: list[JSON] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "well?"},
]


def test_openai_raises_a_bad_request_with_the_providers_error_text() -> None:
    with (
        serve_mock("openai-chat") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any") as client,
    ):
        with pytest.raises(
            openai.BadRequestError, match="did not have response messages: call_1"
        ) as raised:
            client.chat.completions.create(model="m", messages=UNANSWERED)  # type: ignore[arg-type]
        assert len(server.mock.requests) == 1, "no client sends a broken history again"
        with pytest.raises(
            openai.BadRequestError,
            match="No tool call found for function call output with call_id c9",
        ):
            client.responses.create(
                model="m", input=[{"type": "function_call_output", "call_id": "c9", "output": "1"}]
            )
    assert (
        explain(str(raised.value), {"messages": UNANSWERED}, "openai-chat")[0].name
        == "missing-result"
    )


def test_openai_tells_a_missing_key_a_limit_and_a_broken_server_apart() -> None:
    say = [{"role": "user", "content": "[[error 429]]"}]
    with (
        serve_mock("openai-chat") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client,
    ):
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="m", messages=say)  # type: ignore[arg-type]
        with pytest.raises(openai.InternalServerError):
            client.responses.create(model="m", input="[[error 500]]")
        with pytest.raises(openai.NotFoundError):
            client.post("/nowhere", cast_to=object)
        with pytest.raises(openai.AuthenticationError, match="You didn't provide an API key"):
            client.chat.completions.create(
                model="m",
                messages=say,  # type: ignore[arg-type]
                extra_headers={"authorization": ""},
            )


def test_openai_tries_again_as_often_as_it_has_to() -> None:
    with (
        serve_mock("openai-chat") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=2) as client,
    ):
        answer = client.responses.create(model="m", input="[[error 503 1]] hello")
        assert answer.output_text.startswith("You said")
        assert [seen.status for seen in server.mock.requests] == [503, 200]


def test_openai_notices_an_answer_that_is_cut() -> None:
    with (
        serve_mock("openai-chat") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client,
    ):
        asked = [{"role": "user", "content": '[[cut]] [[call get_weather {"city": "Oslo"}]]'}]
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(model="m", messages=asked)  # type: ignore[arg-type]
        stream = client.chat.completions.create(model="m", messages=asked, stream=True)  # type: ignore[arg-type]
        with pytest.raises(Exception, match=r"(?i)incomplete|peer closed|connection"):
            list(stream)


def test_anthropic_raises_a_bad_request_with_the_providers_error_text() -> None:
    said: list[JSON] = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "functions.f:0", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "functions.f:0", "content": "1"}],
        },
    ]
    with (
        serve_mock("anthropic") as server,
        anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as client,
    ):
        with pytest.raises(
            anthropic.BadRequestError, match="String should match pattern"
        ) as raised:
            client.messages.create(model="m", max_tokens=10, messages=said)  # type: ignore[arg-type]
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(
                model="m", max_tokens=10, messages=[{"role": "user", "content": "[[error 429]]"}]
            )
        with pytest.raises(anthropic.OverloadedError):
            client.messages.create(
                model="m", max_tokens=10, messages=[{"role": "user", "content": "[[error 529]]"}]
            )
        assert client.models.list().data[0].id == "toolwire-demo"
    assert explain(str(raised.value), {"messages": said}, "anthropic")[0].name == "id-bad-charset"


def test_genai_raises_a_client_error_with_the_providers_error_text() -> None:
    call = types.Part(function_call=types.FunctionCall(name="f", args={}))
    contents = [
        types.Content(role="user", parts=[types.Part(text="hi")]),
        types.Content(role="model", parts=[call, call]),
        types.Content(
            role="user",
            parts=[types.Part.from_function_response(name="f", response={"output": "1"})],
        ),
    ]
    with serve_mock("gemini") as server:
        client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=server.url))
        with (
            client,
            pytest.raises(
                errors.ClientError, match="number of function response parts is equal"
            ) as raised,
        ):
            client.models.generate_content(model="gemini-2.5-flash", contents=contents)
    assert (raised.value.code, raised.value.status) == (400, "INVALID_ARGUMENT")


def test_boto3_raises_a_validation_exception_with_the_providers_error_text() -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
    messages = [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"text": "well?"}]},
    ]
    with serve_mock("bedrock") as server:
        client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        with pytest.raises(
            client.exceptions.ValidationException,
            match=r"Expected toolResult blocks at messages\.2\.content",
        ) as raised:
            spec = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
            client.converse(modelId="m", messages=messages, toolConfig={"tools": [spec]})
        with pytest.raises(client.exceptions.ThrottlingException):
            asked = [{"role": "user", "content": [{"text": "[[error 429]]"}]}]
            client.converse_stream(modelId="m", messages=asked)
        client.close()
    assert isinstance(raised.value, ClientError)


def test_mistralai_raises_its_error_with_the_providers_error_text() -> None:
    messages = [*UNANSWERED[:2], {"role": "tool", "tool_call_id": "call_1", "content": "1"}]
    with serve_mock("mistral") as server, Mistral(api_key="any", server_url=server.url) as client:
        with pytest.raises(
            MistralError,
            match="Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9",
        ) as raised:
            client.chat.complete(model="m", messages=messages)
        assert json.loads(raised.value.body)["code"] == "3280"


def test_cohere_and_ollama_raise_their_errors() -> None:
    with (
        serve_mock("cohere") as server,
        cohere.ClientV2(api_key="any", base_url=server.url) as client,
        pytest.raises(cohere.BadRequestError),
    ):
        client.chat(model="m", messages=[])
    with serve_mock("ollama") as server:
        local = ollama.Client(host=server.url)
        with pytest.raises(ollama.ResponseError, match="internal server error"):
            local.chat("m", [{"role": "user", "content": "[[error 500]]"}])
        with pytest.raises(ollama.ResponseError, match="server busy"):
            local.chat("m", [{"role": "user", "content": "[[error 503]]"}])
        local._client.close()


def test_asynchronous_clients_talk_to_it_at_the_same_time() -> None:
    async def openai_turn(url: str, city: str) -> str:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any") as client:
            messages: list[JSON] = [{"role": "user", "content": f"weather in {city}"}]
            async with client.chat.completions.stream(
                model="m",
                messages=messages,  # type: ignore[arg-type]
                tools=functions(),  # type: ignore[arg-type]
            ) as stream:
                message = (await stream.get_final_completion()).choices[0].message
            assert message.tool_calls
            call = message.tool_calls[0]
            output = run(call.function.name, json.loads(call.function.arguments))
            messages += [
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {
                                "name": call.function.name,
                                "arguments": call.function.arguments,
                            },
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": call.id, "content": output},
            ]
            answer = await client.chat.completions.create(
                model="m",
                messages=messages,  # type: ignore[arg-type]
                tools=functions(),  # type: ignore[arg-type]
            )
            return str(answer.choices[0].message.content)

    async def anthropic_turn(url: str, city: str) -> str:
        tools = [{"name": name, "input_schema": schema} for name, (_, schema) in TOOLS.items()]
        async with anthropic.AsyncAnthropic(base_url=url, api_key="any") as client:
            asked = [{"role": "user", "content": f"weather in {city}"}]
            async with client.messages.stream(
                model="m",
                max_tokens=99,
                messages=asked,  # type: ignore[arg-type]
                tools=tools,  # type: ignore[arg-type]
            ) as stream:
                block = (await stream.get_final_message()).content[0]
            assert block.type == "tool_use"
            return run(block.name, block.input)

    async def all_of_them(first: str, second: str) -> list[str]:
        cities = ["Oslo", "Rome", "Lima"]
        return await asyncio.gather(
            *(openai_turn(first, city) for city in cities),
            *(anthropic_turn(second, city) for city in cities),
        )

    with serve_mock("openai-chat") as one, serve_mock("anthropic") as other:
        told = asyncio.run(all_of_them(one.url, other.url))
    assert told[:3] == [
        f'get_weather(city="{city}") gave: 4 degrees in {city}' for city in ("Oslo", "Rome", "Lima")
    ]
    assert told[3:] == [f"4 degrees in {city}" for city in ("Oslo", "Rome", "Lima")]
