"""Content that a client's wire cannot carry returns to the model: signatures and encrypted
reasoning, without any state in the gateway."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from functools import cache

import pytest
from gateway.bodies import ASKED, MESSAGE
from gateway.clients import CLIENTS, AnthropicMessages, GoogleGenai, OpenAIChat, OpenAIResponses
from gateway.serving import Gateways, gateway, row, serving
from gateway.turns import Turn
from gateway.upstreams import ScriptedUpstream, answers, scripted_gateway
from google import genai
from google.genai import types
from mock.tools import run

from toolwire import Conversation, Message, decode, encode
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Call
from toolwire.gateway.client_apis.routes import BY_WIRE, CLIENT_APIS
from toolwire.gateway.translation.continuation_tokens import (
    MAX_TOKEN_BYTES,
    PREFIX,
    decode_token,
    encode_token,
)
from toolwire.gateway.translation.translator import Translator

SIGNED: Object = {
    **MESSAGE,
    "stop_reason": "tool_use",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "Calculator_Add", "input": {"a": 1, "b": 2}},
        {"type": "tool_use", "id": "toolu_2", "name": "Calculator_Add", "input": {"a": 3, "b": 4}},
    ],
}


def blocks(body: Object, at: int) -> list[Object]:
    """The content of a message that an upstream got."""
    messages = body["messages"]
    assert isinstance(messages, list)
    message = messages[at]
    assert isinstance(message, dict)
    content = message["content"]
    assert isinstance(content, list)
    return [one for one in content if isinstance(one, dict)]


def next_turn(api: str, change: Callable[[Turn], Turn] = lambda turn: turn) -> Object:
    """The next request to the model, of a client that changes the first response."""
    client = CLIENTS[api]
    with scripted_gateway("anthropic", answers(SIGNED), answers(MESSAGE)) as gw:
        history = client.begin("go")
        turn = change(client.ask(gw.url, "m", history, False))
        client.ask(
            gw.url,
            "m",
            client.go_on(history, turn, [run(name, given) for _, name, given in turn.calls]),
            False,
        )
        return gw.up.got[1].json


@pytest.mark.parametrize("api", [name for name in CLIENTS if name != "anthropic"])
def test_the_model_gets_its_turn_back_verbatim_with_the_results_under_its_ids(api: str) -> None:
    body = next_turn(api)
    assert blocks(body, 1) == SIGNED["content"]
    assert [one["tool_use_id"] for one in blocks(body, 2)] == ["toolu_1", "toolu_2"]
    assert "3" in json.dumps(blocks(body, 2)[0]["content"]) and "7" in json.dumps(
        blocks(body, 2)[1]["content"]
    )
    assert PREFIX not in json.dumps(body)


def _change_thought(turn: Turn) -> Turn:
    kept = json.loads(json.dumps(turn.kept).replace("Let me see.", "Let me think again."))
    return Turn(turn.text, turn.thoughts, turn.calls, kept)


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses"])
def test_a_message_that_the_client_edited_counts_and_the_token_does_not(api: str) -> None:
    body = next_turn(api, _change_thought)
    assert {"type": "text", "text": "Let me think again."} in blocks(body, 1)
    assert "c2lnbmVk" not in json.dumps(body) and PREFIX not in json.dumps(body)


def test_a_client_that_drops_the_token_still_works() -> None:
    def drop_tokens(turn: Turn) -> Turn:
        kept: list[object] = [
            {key: value for key, value in one.items() if key in ("role", "content", "tool_calls")}
            for one in turn.kept
            if isinstance(one, dict)
        ]
        return Turn(turn.text, turn.thoughts, turn.calls, kept)

    body = next_turn("openai-chat", drop_tokens)
    assert [one["type"] for one in blocks(body, 1)] == ["text", "tool_use", "tool_use"]


def test_a_client_that_drops_the_message_still_works() -> None:
    client = OpenAIChat()
    with scripted_gateway("anthropic", answers(SIGNED), answers(MESSAGE)) as gw:
        turn = client.ask(gw.url, "m", client.begin("go"), False)
        history = client.go_on([], turn, ["3", "7"])
        next_turn = client.ask(gw.url, "m", [*history, {"role": "user", "content": "and?"}], False)
        assert next_turn.text == "Hi"


def test_no_id_holds_anything_but_an_id() -> None:
    for client in (OpenAIChat(), OpenAIResponses(), AnthropicMessages()):
        with scripted_gateway("gemini", answers(GEMINI_SIGNED)) as gw:
            turn = client.ask(gw.url, "m", client.begin("go"), False)
            assert all(len(call[0]) <= 40 for call in turn.calls)
            assert "c2lnbmVk" not in json.dumps([call[0] for call in turn.calls])


GEMINI_SIGNED: Object = {
    "candidates": [
        {
            "index": 0,
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "get_weather", "args": {"city": "Oslo"}},
                        "thoughtSignature": "c2lnbmVk",
                    },
                    {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}},
                ],
            },
        }
    ],
    "responseId": "r1",
    "modelVersion": "up",
}


def test_ids_that_restart_each_turn_do_not_mix_up_a_turn_with_a_token_and_one_without() -> None:
    translator = Translator(BY_WIRE["openai-chat"], "anthropic", model="m")
    turn = translator.response(dump(SIGNED), translator.request(dump(ASKED["openai-chat"][1]))).body
    message = json.loads(turn)["choices"][0]["message"]
    for call, name in zip(message["tool_calls"], ("a", "b"), strict=True):
        call["id"] = name
    again: JSON = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "other", "arguments": "{}"}}
        ],
    }
    tool_results: list[JSON] = [
        {"role": "tool", "tool_call_id": one, "content": one} for one in ("a", "b")
    ]
    body: Object = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            message,
            *tool_results,
            again,
            tool_results[0],
        ],
    }
    sent = translator.request(dump(body))
    assert sent.restored_turns == 1
    assert [one["tool_use_id"] for one in blocks(sent.body, 2)] == ["toolu_1", "toolu_2"]
    assert [one["tool_use_id"] for one in blocks(sent.body, 4)] == [blocks(sent.body, 3)[0]["id"]]


def test_chats_of_google_genai_that_stream_get_the_signature_back_though_they_keep_every_chunk(
    gateways: Gateways,
) -> None:
    with genai.Client(
        api_key="k", http_options=types.HttpOptions(base_url=gateways.url("anthropic"))
    ) as client:
        config = types.GenerateContentConfig(
            thinking_config=types.ThinkingConfig(include_thoughts=True)
        )
        chat = client.chats.create(model="claude-opus-5", config=config)
        for text in (
            "[[think one]] [[text a long answer in many pieces that come one by one]]",
            "[[text over]]",
        ):
            for _ in chat.send_message_stream(text):
                pass
    body = gateways.mocks["anthropic"].requests[-1].body
    assert (
        isinstance(body, dict)
        and blocks(body, 1)[0]["type"] == "thinking"
        and blocks(body, 1)[0]["signature"]
    )
    assert blocks(body, 1)[1]["text"] == "a long answer in many pieces that come one by one"


def test_the_token_of_a_whole_answer_stands_in_the_last_part(gateways: Gateways) -> None:
    """Chats of google-genai up to 1.45 forget a turn with an empty text."""
    with genai.Client(
        api_key="k", http_options=types.HttpOptions(base_url=gateways.url("anthropic"))
    ) as client:
        for question, kind in (("[[text Hi]]", "text"), ("[[call weather {}]]", "function_call")):
            config = types.GenerateContentConfig(
                thinking_config=types.ThinkingConfig(include_thoughts=True),
                tools=[
                    types.Tool(function_declarations=[types.FunctionDeclaration(name="weather")])
                ],
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            )
            answer = client.models.generate_content(
                model="claude-opus-5", contents=f"[[think one]] {question}", config=config
            )
            assert answer.candidates and answer.candidates[0].content
            *before, last = answer.candidates[0].content.parts or []
            assert all(part.text != "" for part in (*before, last))
            assert last.thought_signature and last.thought_signature.startswith(b"tw1.")
            assert getattr(last, kind)


def test_a_signature_is_restored_even_if_no_rule_requires_it() -> None:
    thought: Object = {
        "reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2lnbmVk"}}
    }
    message: Object = {"role": "assistant", "content": [thought, {"text": "Hi"}]}
    usage: Object = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    answer: Object = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}
    for api in ("openai-chat", "anthropic"):
        translator = Translator(BY_WIRE[api], "bedrock", model="m")
        path, asked = ASKED[api]
        response = json.loads(
            translator.response(dump(answer), translator.request(dump(asked))).body
        )
        message = (
            response["choices"][0]["message"]
            if api == "openai-chat"
            else {"role": "assistant", "content": response["content"]}
        )
        user: JSON = {"role": "user", "content": "and?"}
        sent = translator.request(dump({**asked, "messages": [user, message, user]}))
        assert blocks(sent.body, 1)[0] == thought, path
        assert sent.restored_turns == (api == "openai-chat"), "the other client holds it itself"


# --- tokens that must not work ---


def holding(api: str, token: str) -> Object:
    """A history of a client API whose assistant message holds a token, where the gateway puts it."""
    whole: dict[str, Object] = {
        "openai-chat": {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]},
        "openai-responses": {
            "output": [
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
                }
            ]
        },
        "anthropic": {"content": [{"type": "text", "text": "Hi"}]},
        "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]},
        "gemini-interactions": {
            "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}]
        },
        "bedrock": {"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}},
        "mistral": {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]},
        "cohere": {"message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}},
        "ollama": {"message": {"role": "assistant", "content": "Hi"}},
        "ai-sdk": {"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "Hi"}]},
    }
    body = whole[api]
    BY_WIRE[api].add_token(body, token)
    user: JSON = {"role": "user", "content": "hi"}
    match api, body:
        case "openai-chat" | "mistral", {"choices": [{"message": message}]}:
            return {"model": "m", "messages": [user, message, user]}
        case "openai-responses", {"output": list(output)}:
            return {"model": "m", "input": [user, *output, user]}
        case "anthropic", {"content": content}:
            return {
                "model": "m",
                "max_tokens": 9,
                "messages": [user, {"role": "assistant", "content": content}, user],
            }
        case "gemini", {"candidates": [{"content": content}]}:
            question: JSON = {"role": "user", "parts": [{"text": "hi"}]}
            return {"contents": [question, content, question]}
        case "gemini-interactions", {"steps": list(steps)}:
            step: JSON = {"type": "user_input", "content": [{"type": "text", "text": "hi"}]}
            return {"model": "m", "input": [step, *steps, step]}
        case "bedrock", {"output": {"message": message}}:
            bare: JSON = {"role": "user", "content": [{"text": "hi"}]}
            return {"messages": [bare, message, bare]}
        case "cohere" | "ollama", {"message": message}:
            return {"model": "m", "messages": [user, message, user]}
    asked: JSON = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return {"model": "m", "messages": [asked, body, asked]}


def bomb(size: int) -> str:
    """A token that decompresses to many bytes."""
    held = (
        b'{"wire":"anthropic","digest":"","body":{"messages":[{"role":"assistant","content":"'
        + b"a" * size
        + b'"}]}}'
    )
    return PREFIX + base64.urlsafe_b64encode(zlib.compress(held, 9)).decode().rstrip("=")


def of(wire: str) -> str:
    """A token of some model."""
    translator = Translator(BY_WIRE["openai-chat"], wire, model="m")
    response = translator.response(
        dump(SIGNED), translator.request(dump(ASKED["openai-chat"][1]))
    ).body
    return str(json.loads(response)["choices"][0]["message"]["reasoning_details"][0]["data"])


@cache  # on first use: one of them is large
def unusable_tokens() -> dict[str, str]:
    """Tokens that restore no turn, by what is wrong with them."""
    return {
        "garbage": f"{PREFIX}not-a-token-at-all",
        "nothing": f"{PREFIX}AA",
        "no object": PREFIX + base64.urlsafe_b64encode(zlib.compress(b"[1]")).decode(),
        "no wire": (
            PREFIX
            + base64.urlsafe_b64encode(
                zlib.compress(b'{"wire":"nowhere","body":{},"digest":""}')
            ).decode()
        ),
        "deep": (
            PREFIX
            + base64.urlsafe_b64encode(
                zlib.compress(b'{"wire":"anthropic","body":' + b"[" * 100_000)
            ).decode()
        ),
        "bomb": bomb(4 * MAX_TOKEN_BYTES),
        "of another turn": of("anthropic"),
    }


@pytest.mark.parametrize(
    "target", ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "bedrock"]
)
@pytest.mark.parametrize("api", [one.wire for one in CLIENT_APIS])
def test_an_unusable_token_is_removed_and_the_message_stays(api: str, target: str) -> None:
    for name, token in unusable_tokens().items():
        sent = Translator(BY_WIRE[api], target, model="m").request(dump(holding(api, token)))
        sent_text = dump(sent.body).decode()
        assert sent.restored_turns == 0 and "Hi" in sent_text, name
        assert (
            PREFIX not in sent_text
            and base64.b64encode(PREFIX.encode()).decode()[:5] not in sent_text
        ), (name, sent_text[:500])
        assert "data-toolwire" not in sent_text and "reasoning_details" not in sent_text, name


def test_many_decompression_bombs_cost_no_more_than_one() -> None:
    many: list[JSON] = [
        {
            "role": "assistant",
            "content": "x",
            "reasoning_details": [{"data": bomb(MAX_TOKEN_BYTES - 1000)}],
        },
        {"role": "user", "content": "y"},
    ]
    raw = dump({"model": "m", "messages": [{"role": "user", "content": "hi"}, *many * 200]})
    start = time.process_time()
    Translator(BY_WIRE["openai-chat"], "anthropic", model="m").request(raw)
    assert time.process_time() - start < 2


def test_a_token_survives_encoding_and_decoding() -> None:
    messages = Translator(BY_WIRE["openai-chat"], "anthropic", model="m")
    assert messages.same_wire is False
    text = of("anthropic")
    held, _ = decode_token(text, MAX_TOKEN_BYTES)
    assert held is not None and held.wire == "anthropic"
    assert encode_token(held.wire, held.messages, held.digest) == text
    assert [part.id for part in held.messages[0].parts if isinstance(part, Call)] == [
        "toolu_1",
        "toolu_2",
    ]


def test_a_token_works_in_another_gateway() -> None:
    client = OpenAIChat()
    up = ScriptedUpstream(answers(SIGNED), answers(MESSAGE))
    with (
        serving(up) as url,
        serving(gateway(row("anthropic", url))) as one,
        serving(gateway(row("anthropic", url))) as other,
    ):
        turn = client.ask(one, "m", client.begin("go"), False)
        client.ask(other, "m", client.go_on(client.begin("go"), turn, ["3", "7"]), False)
        assert blocks(up.got[1].json, 1) == SIGNED["content"]


CHILD = """
import json, sys
from toolwire.conversation.json import dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.translator import Translator
for api, target, request, answer in json.load(sys.stdin):
    translator = Translator(BY_WIRE[api], target, model="m")
    sent = translator.request(json.dumps(request).encode())
    print(dump(sent.body).decode(), translator.response(json.dumps(answer).encode(), sent).body.decode())
"""


def test_two_replicas_give_byte_equal_translations() -> None:
    work = [
        (
            api,
            target,
            holding(api, of("anthropic")),
            {"anthropic": SIGNED, "gemini": GEMINI_SIGNED}[target],
        )
        for api in ("openai-chat", "openai-responses", "ollama")
        for target in ("anthropic", "gemini")
    ]
    texts = [
        subprocess.run(
            [sys.executable, "-c", CHILD],
            input=json.dumps(work),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] and texts[0].count("\n") == len(work) and PREFIX in texts[0]


def test_the_clients_of_this_folder_are_those_of_the_api_wires() -> None:
    assert {*CLIENTS, "ai-sdk"} == {api.wire for api in CLIENT_APIS} and isinstance(
        CLIENTS["gemini"], GoogleGenai
    )


CLAUDE_SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds0HqaEHLhDfE"
CALLS: dict[str, JSON] = {
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": CLAUDE_SIGNATURE},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "bedrock": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {
                        "reasoningContent": {
                            "reasoningText": {"text": "hm", "signature": CLAUDE_SIGNATURE}
                        }
                    },
                    {"toolUse": {"toolUseId": "tooluse_1", "name": "f", "input": {}}},
                ],
            }
        },
        "stopReason": "tool_use",
    },
    "gemini": {
        "responseId": "r1",
        "candidates": [
            {
                "index": 0,
                "finishReason": "STOP",
                "content": {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {"id": "g1", "name": "f", "args": {}},
                            "thoughtSignature": "R2VtaW5pIHNpZ25lZCB0aGlz",
                        }
                    ],
                },
            }
        ],
    },
}
"""A response with one call, on the wire of each model."""
MODELS_OF = {
    "anthropic": "claude-sonnet-4-5",
    "bedrock": "anthropic.claude-sonnet-4-5",
    "gemini": "gemini-3-pro",
}


def call_and_result(client: str, model: str) -> tuple[Message, ...]:
    """A question, the answer of a model as a client gets it, and the result of its call."""
    translator = Translator(BY_WIRE[client], model, model=MODELS_OF[model])
    question = Message("user", "Go on.")
    asked = encode(Conversation((question,), (), {"model": "m"}, "", "request"), client)
    response = translator.response(dump(CALLS[model]), translator.request(asked.json()))
    (answer,) = decode(response.body, client, "response").messages
    (call,) = (part for part in answer.parts if isinstance(part, Call))
    return question, answer, Message("user", [call.result("done")])


def request_of(client: str, messages: tuple[Message, ...], model: str) -> bytes:
    """The request to a model for a client's history."""
    settings: dict[str, Setting] = {"model": "m"}
    body = encode(Conversation(messages, (), settings, "", "request"), client).json()
    translator = Translator(BY_WIRE[client], model, model=MODELS_OF[model])
    return dump(translator.request(body).body)


@pytest.mark.parametrize(("client", "model"), [("anthropic", "bedrock"), ("bedrock", "anthropic")])
def test_a_signature_that_the_client_can_hold_needs_no_token(client: str, model: str) -> None:
    messages = call_and_result(client, model)
    sent = encode(Conversation(messages, (), {"model": "m"}, "", "request"), client).json()
    assert CLAUDE_SIGNATURE.encode() in sent and PREFIX.encode() not in sent
    assert CLAUDE_SIGNATURE.encode() in request_of(client, messages, model)
    assert CLAUDE_SIGNATURE.encode() in request_of(client, messages, client)


@pytest.mark.parametrize("client", ["anthropic", "bedrock"])
def test_signatures_of_two_makers_coexist(client: str) -> None:
    """Each model gets its own signatures, whichever model answered in between."""
    other = "bedrock" if client == "anthropic" else "anthropic"
    messages = (*call_and_result(client, "gemini"), *call_and_result(client, other))
    for model in ("gemini", "anthropic", "bedrock"):
        sent = request_of(client, messages, model)
        assert (CLAUDE_SIGNATURE.encode() in sent) == (model != "gemini")
        assert (b"R2VtaW5pIHNpZ25lZCB0aGlz" in sent) == (model == "gemini")
        assert PREFIX.encode() not in sent


def test_thinking_is_disabled_on_bedrock_where_a_turn_of_another_model_continues() -> None:
    call: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    body: JSON = {
        "model": "m",
        "max_tokens": 2000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }
    translator = Translator(BY_WIRE["anthropic"], "bedrock", model=MODELS_OF["bedrock"])
    sent = translator.request(dump(body)).body
    assert sent["additionalModelRequestFields"] == {"thinking": {"type": "disabled"}}
