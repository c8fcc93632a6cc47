"""Each client API as its own clients expect it: framing, header fields, lists of models, counts,
requests of coding agents."""

from __future__ import annotations

import asyncio
import json

import anthropic
import httpx
import ollama
import openai
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED, MESSAGE, block, message_stream
from gateway.cells import asks
from gateway.serving import UPSTREAMS, Gateways, gateway, row, serving
from gateway.upstreams import answers, scripted_gateway, streams
from google import genai
from google.genai import types
from mistralai.client import Mistral
from mistralai.client.models import BaseModelCard
from mock.tools import functions

from toolwire.conversation.json import JSON, Object

MEDIA = {
    "openai-chat": "text/event-stream",
    "openai-responses": "text/event-stream",
    "anthropic": "text/event-stream",
    "gemini": "text/event-stream",
    "ollama": "application/x-ndjson",
    "ai-sdk": "text/event-stream",
}


@pytest.mark.parametrize("api", MEDIA)
def test_a_stream_is_framed_as_the_api_frames_it(api: str) -> None:
    path, body = asks(api, "m", "hi")
    with scripted_gateway("anthropic", streams(*ANTHROPIC_STREAM)) as gw:
        response = httpx.post(gw.url + path, json=body)
    assert response.status_code == 200 and response.headers["content-type"].startswith(MEDIA[api])
    lines = [line for line in response.text.splitlines() if line]
    named = [line for line in lines if line.startswith("event: ")]
    match api:
        case "ollama":
            values = [json.loads(line) for line in lines]
            assert values[-1]["done"] is True and not any(value["done"] for value in values[:-1])
        case "anthropic" | "openai-responses":
            datas = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
            assert [line[7:] for line in named] == [data["type"] for data in datas]
        case _:
            assert not named
    assert ("data: [DONE]" in lines) == (api in ("openai-chat", "ai-sdk"))
    assert response.headers.get("x-vercel-ai-ui-message-stream") == (
        "v1" if api == "ai-sdk" else None
    )


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_gemini_streams_one_json_array_unless_events_are_requested(
    gateways: Gateways, wire: str
) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "[[text one two three four five]]"}]}]}
    response = httpx.post(f"{gateways.url(wire)}/v1beta/models/m:streamGenerateContent", json=body)
    values = json.loads(response.content)
    texts = [
        part.get("text", "")
        for value in values
        for part in value["candidates"][0].get("content", {}).get("parts", [])
    ]
    assert (
        response.headers["content-type"] == "application/json"
        and "".join(texts) == "one two three four five"
        and len(values) > 3
    )


@pytest.mark.parametrize("upstream", ["anthropic", "gemini", "cohere"])
def test_a_chat_that_did_not_ask_for_usage_has_a_choice_in_every_piece(
    gateways: Gateways, upstream: str
) -> None:
    with openai.OpenAI(base_url=gateways.url(upstream) + "/v1", api_key="k") as client:
        for usage in (False, True):
            response = client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "hi"}],
                stream=True,
                stream_options={"include_usage": True} if usage else openai.omit,
            )
            chunks = list(response)
            assert any(not chunk.choices for chunk in chunks) == usage
            assert any(chunk.usage for chunk in chunks) == usage


def test_async_clients_work(gateways: Gateways) -> None:
    async def ask() -> list[str]:
        async with (
            openai.AsyncOpenAI(base_url=gateways.url("gemini") + "/v1", api_key="k") as one,
            anthropic.AsyncAnthropic(base_url=gateways.url("gemini"), api_key="k") as two,
        ):
            chat = await one.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "[[text a]]"}]
            )
            response = await one.responses.create(model="m", input="[[text b]]")
            message = await two.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "[[text c]]"}]
            )
            async with two.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "[[text d]]"}]
            ) as stream:
                last = await stream.get_final_text()
            three = genai.Client(
                api_key="k", http_options=types.HttpOptions(base_url=gateways.url("anthropic"))
            )
            gemini_response = await three.aio.models.generate_content(
                model="m", contents="[[text e]]"
            )
            await three.aio.aclose()
            three.close()
            last_client = ollama.AsyncClient(host=gateways.url("anthropic"))
            four = await last_client.chat("m", [{"role": "user", "content": "[[text f]]"}])
            await last_client._client.aclose()
            first = message.content[0]
            assert first.type == "text"
            texts = [
                chat.choices[0].message.content,
                response.output_text,
                first.text,
                last,
                gemini_response.text,
                four.message.content,
            ]
            return [one or "" for one in texts]

    assert asyncio.run(ask()) == ["a", "b", "c", "d", "e", "f"]


def test_models_are_listed_as_each_client_reads_them() -> None:
    toml = row("anthropic", "http://127.0.0.1:1", name="one") + row(
        "openai-chat", "http://127.0.0.1:1", name="some/two"
    )
    with serving(gateway(toml + row("gemini", "http://127.0.0.1:1", name="gem-*"))) as url:
        with openai.OpenAI(base_url=url + "/v1", api_key="k") as client:
            assert [one.id for one in client.models.list()] == ["one", "some/two"]
            assert (
                client.models.retrieve("some/two").id == "some/two"
                and client.models.retrieve("gem-3").id == "gem-3"
            )
            with pytest.raises(openai.NotFoundError):
                client.models.retrieve("none")
        with anthropic.Anthropic(base_url=url, api_key="k") as other:
            assert [one.id for one in other.models.list()] == [
                "one",
                "some/two",
            ] and other.models.retrieve("one").type == "model"
        with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url)) as third:
            assert [one.name for one in third.models.list()] == ["models/one", "models/some/two"]
            assert third.models.get(model="one").name == "models/one"
        with Mistral(api_key="k", server_url=f"{url}/mistral") as fourth:
            cards = fourth.models.list().data
            assert cards is not None and all(isinstance(card, BaseModelCard) for card in cards)
            assert fourth.models.retrieve(model_id="some/two").type == "base"
        last = ollama.Client(host=url)
        assert [one.model for one in last.list().models] == ["one", "some/two"]
        assert last.show("one").capabilities
        last._client.close()


def test_an_unknown_model_is_not_found_in_the_error_format_of_each_client() -> None:
    with serving(gateway(row("anthropic", "http://127.0.0.1:1", name="one"))) as url:
        for path, body in ASKED.values():
            response = httpx.post(
                url + path.replace("/m:", "/none:"), json={**body, "model": "none"}
            )
            assert (
                response.status_code == 404
                and "`none` does not exist. Available models: one." in response.text
            )


def test_tokens_are_counted_where_the_upstream_can(gateways: Gateways) -> None:
    for upstream in ("anthropic", "gemini", "openai-responses", "bedrock"):
        with anthropic.Anthropic(base_url=gateways.url(upstream), api_key="k") as client:
            tool: JSON = {
                "name": "f",
                "description": "d",
                "input_schema": {"type": "object", "properties": {}},
            }
            counted = client.messages.count_tokens(
                model="m",
                messages=[{"role": "user", "content": "hello"}],
                system="be brief",
                tools=[tool],  # type: ignore[list-item]
            )
            assert counted.input_tokens > 0
        with genai.Client(
            api_key="k", http_options=types.HttpOptions(base_url=gateways.url(upstream))
        ) as other:
            assert (other.models.count_tokens(model="m", contents="hello").total_tokens or 0) > 0
    with (
        anthropic.Anthropic(base_url=gateways.url("cohere"), api_key="k") as client,
        pytest.raises(anthropic.NotFoundError, match="no endpoint that counts tokens"),
    ):
        client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "hello"}])


def test_tokens_of_a_response_are_counted_by_its_own_wire() -> None:
    with scripted_gateway(
        "openai-responses", answers({"object": "response.input_tokens", "input_tokens": 7})
    ) as gw:
        with openai.OpenAI(base_url=gw.url + "/v1", api_key="k") as client:
            assert client.responses.input_tokens.count(model="m", input="hi").input_tokens == 7
        assert gw.up.got[0].path == "/v1/responses/input_tokens"


# --- coding agents ---

CLAUDE_CODE: dict[str, object] = {
    "model": "m",
    "max_tokens": 32000,
    "stream": True,
    "temperature": 1,
    "metadata": {"user_id": "user_x_account__session_y"},
    "system": [
        {"type": "text", "text": "You are a coding agent.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
    ],
    "tools": [
        *(
            {
                "name": f"Tool{n}",
                "description": "x" * 2000,
                "input_schema": {
                    "$schema": "http://json-schema.org/draft-07/schema#",
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"path": {"type": "string"}},
                    "required": ["path"],
                },
            }
            for n in range(40)
        ),
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
            ],
        },
        *(
            one
            for n in range(150)
            for one in (
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I look."},
                        {
                            "type": "tool_use",
                            "id": f"toolu_{n}",
                            "name": "Tool1",
                            "input": {"path": f"/{n}"},
                        },
                        {
                            "type": "tool_use",
                            "id": f"toolu_{n}b",
                            "name": "Tool1",
                            "input": {"path": f"/{n}b"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "a file"},
                        {
                            "type": "tool_result",
                            "tool_use_id": f"toolu_{n}b",
                            "is_error": True,
                            "content": [
                                {
                                    "type": "text",
                                    "text": "no such file",
                                    **(
                                        {"cache_control": {"type": "ephemeral"}} if n == 149 else {}
                                    ),
                                }
                            ],
                        },
                    ],
                },
            )
        ),
        {"role": "user", "content": "[[text done]]"},
    ],
}
CLAUDE_HEADERS = {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
    "x-app": "cli",
    "user-agent": "claude-cli/2.0.0 (external, cli)",
    "x-stainless-lang": "js",
    "authorization": "Bearer sk-any",
    "anthropic-dangerous-direct-browser-access": "true",
    "accept": "application/json",
}


def test_bedrock_counts_the_tokens_of_a_converse_request() -> None:
    with scripted_gateway("bedrock", answers({"inputTokens": 11})) as gw:
        with anthropic.Anthropic(base_url=gw.url, api_key="any", max_retries=0) as client:
            counted = client.messages.count_tokens(
                model="m", messages=[{"role": "user", "content": "hello"}]
            )
        assert counted.input_tokens == 11
        assert gw.up.got[0].path == "/model/m/count-tokens"
        assert gw.up.got[0].json == {
            "input": {"converse": {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}}
        }


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_the_request_of_claude_code_works_with_every_upstream(
    gateways: Gateways, upstream: str
) -> None:
    response = httpx.post(
        f"{gateways.url(upstream)}/v1/messages?beta=true", json=CLAUDE_CODE, headers=CLAUDE_HEADERS
    )
    assert response.status_code == 200, response.text[:500]
    datas = [
        json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")
    ]
    text = "".join(
        data["delta"].get("text", "") for data in datas if data["type"] == "content_block_delta"
    )
    assert text == "done" and datas[-1]["type"] == "message_stop"
    if upstream not in ("anthropic", "openai-responses"):  # which search the web themselves
        lost = response.headers["x-toolwire-losses"]
        assert "web search" in lost and len(lost) <= 900


PATCH = '*** Begin Patch\n*** Add File: a.txt\n+"quoted" \\ and ünï\n*** End Patch\n'
CODEX: Object = {
    "model": "m",
    "instructions": "You are Codex.",
    "store": False,
    "stream": True,
    "parallel_tool_calls": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "0198-session",
    "tool_choice": "auto",
    "reasoning": {"effort": "medium", "summary": "auto"},
    "text": {"verbosity": "low"},
    "tools": [
        {
            "type": "function",
            "name": "shell",
            "description": "Runs a command",
            "strict": False,
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "array", "items": {"type": "string"}}},
            },
        },
        {
            "type": "custom",
            "name": "apply_patch",
            "description": "Edits files",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
        },
        {"type": "local_shell"},
        {"type": "web_search"},
    ],
    "input": [
        {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": "<permissions>"}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": PATCH},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Success"},
        {
            "type": "function_call",
            "call_id": "call_2",
            "name": "shell",
            "arguments": '{"command": ["ls"]}',
        },
        {"type": "function_call_output", "call_id": "call_2", "output": "a.txt"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "[[text done]]"}],
        },
    ],
}


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_the_request_of_codex_works_with_every_upstream(gateways: Gateways, upstream: str) -> None:
    headers = {
        "originator": "codex_cli_rs",
        "user-agent": "codex_cli_rs/0.50",
        "session_id": "x",
        "openai-beta": "responses=experimental",
    }
    response = httpx.post(f"{gateways.url(upstream)}/v1/responses", json=CODEX, headers=headers)
    assert response.status_code == 200, response.text[:500]
    last = json.loads(
        [line for line in response.text.splitlines() if line.startswith("data: ")][-1][6:]
    )
    assert last["type"] == "response.completed"
    texts = [
        item["content"][0]["text"]
        for item in last["response"]["output"]
        if item["type"] == "message"
    ]
    assert texts == ["done"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_custom_tool_gets_its_text_from_a_model_that_has_only_functions(stream: bool) -> None:
    given = {"input": PATCH}
    text = json.dumps(given)
    pieces: list[Object] = [
        {"type": "input_json_delta", "partial_json": text[at : at + 7]}
        for at in range(0, len(text), 7)
    ]
    called = block(
        0, {"type": "tool_use", "id": "toolu_1", "name": "apply_patch", "input": {}}, *pieces
    )
    whole: dict[str, object] = {
        **MESSAGE,
        "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "apply_patch", "input": given}],
    }
    answer = streams(*message_stream(*called, stop="tool_use")) if stream else answers(whole)
    with (
        scripted_gateway("anthropic", answer, answers(MESSAGE)) as gw,
        openai.OpenAI(base_url=gw.url + "/v1", api_key="k", max_retries=0) as client,
    ):
        asked = {**CODEX, "stream": False}
        if stream:
            response = None
            for event in client.responses.create(**{**asked, "stream": True}):  # type: ignore[call-overload]
                response = event.response if event.type == "response.completed" else response
        else:
            response = client.responses.create(**asked)  # type: ignore[call-overload]
        assert response is not None
        (call,) = response.output
        assert (call.type, call.name, call.input, call.call_id) == (
            "custom_tool_call",
            "apply_patch",
            PATCH,
            "toolu_1",
        )
        more = [
            call.to_dict(),
            {"type": "custom_tool_call_output", "call_id": "toolu_1", "output": "ok"},
        ]
        client.responses.create(
            model="m",
            input=[{"role": "user", "content": "go"}, *more],
            tools=CODEX["tools"],  # type: ignore[arg-type]
        )
        messages = gw.up.got[1].json["messages"]
        assert isinstance(messages, list) and json.dumps(messages[1]["content"][0]["input"]) == text  # type: ignore[call-overload,index]


@pytest.mark.parametrize(
    "field",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"background": True},
        {"prompt": {"id": "pmpt_1"}},
    ],
)
def test_references_to_stored_items_are_refused_with_a_hint(field: Object) -> None:
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        response = httpx.post(gw.url + "/v1/responses", json={"model": "m", "input": "hi", **field})
        assert response.status_code == 400 and not gw.up.got
        message = response.json()["error"]["message"]
        assert next(iter(field)) in message and "stored with the provider" in message


def test_tools_of_the_chat_shape_are_offered_to_every_upstream(gateways: Gateways) -> None:
    for upstream in UPSTREAMS:
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": "add 1 and 2"}],
            "tools": functions(),
        }
        response = httpx.post(gateways.url(upstream) + "/v1/chat/completions", json=body).json()
        assert response["choices"][0]["finish_reason"] == "tool_calls"
