"""Real requests of coding agents: shapes seen in those of Claude Code and Codex, rebuilt by hand.

Each was refused by a provider, or lost in translation, before its test was written.
"""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest
from gateway.bodies import MESSAGE
from gateway.upstreams import answers, scripted_gateway

from toolwire import check, decode
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.model import Tool
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.continuation_tokens import PREFIX
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.gateway.translation.translator import Translator
from toolwire.gateway.translation.upstream_request import UpstreamRequest

PROVIDER_TOOL: Object = {
    "model": "m",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Run the numbers."}]}],
    "tools": [{"type": "code_execution_20250522", "name": "code_execution"}],
    "tool_choice": {"type": "tool", "name": "code_execution"},
}
"""The only tool is the provider's own, and it must be used."""
SHELL: Object = {
    "name": "Bash",
    "description": "Runs a command.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
TURN: Object = {
    "model": "m",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "go"}],
    "tools": [SHELL],
}
OTHERS = ("openai-chat", "openai-responses", "gemini", "bedrock", "mistral", "cohere", "ollama")


def upstream_request(body: Object, api: str, target: str) -> UpstreamRequest:
    """The request to a model for a client's request."""
    return Translator(BY_WIRE[api], target, model="m").request(dump(body))


@pytest.mark.parametrize("target", OTHERS)
def test_where_no_tool_is_left_no_choice_among_them_and_no_empty_list_is_sent(target: str) -> None:
    made = upstream_request(PROVIDER_TOOL, "anthropic", target)
    assert not made.body.keys() & {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"}, (
        made.body.keys()
    )
    losses = [str(loss) for loss in made.losses]
    assert any(one.startswith("/tools/0: ") for one in losses) and any(
        one.startswith("/tool_choice: ") for one in losses
    )


def test_without_the_dropped_provider_tools_no_tool_choice_is_sent() -> None:
    body: Object = {
        "model": "m",
        "input": "hi",
        "tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }
    for target in ("anthropic", "openai-chat", "gemini"):
        assert not upstream_request(body, "openai-responses", target).body.keys() & {
            "tools",
            "tool_choice",
            "toolConfig",
            "parallel_tool_calls",
        }


@pytest.mark.parametrize("target", OTHERS)
def test_a_choice_of_a_dropped_tool_is_not_applied_to_the_others(target: str) -> None:
    tools = PROVIDER_TOOL["tools"]
    assert isinstance(tools, list)
    made = upstream_request({**PROVIDER_TOOL, "tools": [*tools, SHELL]}, "anthropic", target)
    assert "Bash" in json.dumps(made.body) and "code_execution" not in json.dumps(made.body)


def test_a_choice_of_a_translated_tool_is_kept() -> None:
    body = upstream_request(
        {**TURN, "tool_choice": {"type": "tool", "name": "Bash"}}, "anthropic", "openai-chat"
    ).body
    assert body["tool_choice"] == {"type": "function", "function": {"name": "Bash"}}


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses"])
def test_a_user_id_that_is_too_long_for_the_provider_is_dropped_and_reported(target: str) -> None:
    who = json.dumps({"device": "0" * 64, "account": "", "session": "1" * 36})
    made = upstream_request({**TURN, "metadata": {"user_id": who}}, "anthropic", target)
    assert "user" not in made.body and "/metadata/user_id" in {loss.pointer for loss in made.losses}
    assert (
        upstream_request({**TURN, "metadata": {"user_id": "u" * 64}}, "anthropic", target).body[
            "user"
        ]
        == "u" * 64
    )


EXTRA = Tool("lookup", "Looks something up.", {"type": "object", "properties": {}})
"""A tool of the gateway, in addition to those of the client."""


@pytest.mark.parametrize(
    ("api", "tools"),
    [
        (
            "anthropic",
            [
                {"type": "web_search_20250305", "name": "web_search"},
                {**SHELL, "cache_control": {"type": "ephemeral"}},
            ],
        ),
        (
            "openai-chat",
            [
                {"type": "web_thing", "web_thing": {"depth": 2}},
                {
                    "type": "function",
                    "function": {"name": "Bash"},
                    "cache_control": {"type": "ephemeral"},
                },
            ],
        ),
        (
            "openai-responses",
            [
                {"type": "web_search", "external_web_access": True},
                {"type": "function", "name": "Bash", "x": 1},
            ],
        ),
    ],
)
def test_tools_of_the_client_pass_unchanged_with_tools_of_the_gateway(
    api: str, tools: list[JSON]
) -> None:
    body: Object = (
        {**TURN, "tools": tools}
        if api != "openai-responses"
        else {"model": "m", "input": "go", "tools": tools}
    )
    made = (
        Translator(BY_WIRE[api], api, model="m").request(dump(body), tools=(EXTRA,)).body["tools"]
    )
    assert isinstance(made, list) and made[:-1] == tools and "lookup" in json.dumps(made[-1])


def _content(body: bytes) -> list[Object]:
    content = json.loads(body)["content"]
    assert isinstance(content, list)
    return content


THOUGHT: Object = {"role": "assistant", "content": "All done.", "reasoning_content": "hm"}
CALL: Object = {
    "role": "assistant",
    "content": None,
    "reasoning_content": "hm",
    "tool_calls": [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "Bash", "arguments": '{"command":"ls"}'},
        }
    ],
}


def _answer(message: Object) -> bytes:
    stop = "tool_calls" if "tool_calls" in message else "stop"
    choice: JSON = {"index": 0, "message": message, "finish_reason": stop}
    return dump(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "deepseek-reasoner",
            "choices": [choice],
        }
    )


@pytest.mark.parametrize("message", [THOUGHT, CALL], ids=["words", "call"])
def test_the_last_block_of_a_response_is_text_and_not_a_token(message: Object) -> None:
    """Clients take the last block for the answer; `claude -p` printed nothing."""
    translator = Translator(BY_WIRE["anthropic"], "deepseek", model="deepseek-reasoner")
    first = translator.request(dump(TURN))
    content = _content(translator.response(_answer(message), first).body)
    assert content[-1]["type"] == ("tool_use" if "tool_calls" in message else "text")
    assert any(str(one.get("data", "")).startswith(PREFIX) for one in content)


def test_a_token_before_the_last_block_brings_the_turn_back() -> None:
    translator = Translator(BY_WIRE["anthropic"], "deepseek", model="deepseek-reasoner")
    content = _content(translator.response(_answer(CALL), translator.request(dump(TURN))).body)
    done: Object = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "a.txt"}
    history: list[JSON] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": list(content)},
        {"role": "user", "content": [done]},
    ]
    again = translator.request(dump({**TURN, "messages": history}))
    messages = again.body["messages"]
    assert isinstance(messages, list)
    assert (
        messages[1:] == [CALL, {"role": "tool", "tool_call_id": "call_1", "content": "a.txt"}]
        and not again.changes
    )


# --- these need the changes of the translator and the exchange ---

ALIAS: Object = {**TURN, "model": "my-model", "stream": True}


def _stream_answer(message: Object, target: str = "deepseek") -> tuple[list[Object], list[str]]:
    """The events that a client gets for a streamed response, and the reported losses."""
    translator = Translator(BY_WIRE["anthropic"], target, model="deepseek-reasoner")
    pipe = ResponseStream(translator, translator.request(dump(ALIAS)))
    calls = message.get("tool_calls")
    deltas: list[Object] = [{"role": "assistant", "reasoning_content": "hm"}]
    deltas += (
        [{"tool_calls": [{**calls[0], "index": 0}]}]
        if isinstance(calls, list) and isinstance(calls[0], dict)
        else []
    )
    deltas += [{"content": "All done."}] if calls is None else []
    chunks: list[Object] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append(
        {"index": 0, "delta": {}, "finish_reason": "stop" if calls is None else "tool_calls"}
    )
    out: list[bytes] = []
    for chunk in chunks:
        head: Object = {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "deepseek-reasoner",
        }
        out += pipe.feed(b"data: " + dump({**head, "choices": [chunk]}) + b"\n\n")
    out += [*pipe.feed(b"data: [DONE]\n\n"), *pipe.end()]
    lines = b"".join(out).decode().splitlines()
    return [json.loads(one[6:]) for one in lines if one.startswith("data: ")], [
        str(loss) for loss in pipe.losses
    ]


def test_an_answer_names_the_model_as_the_client_does() -> None:
    """A client that sees another name never returns the signed reasoning."""
    events, _ = _stream_answer(CALL)
    begun = events[0]["message"]
    assert isinstance(begun, dict) and begun["model"] == "my-model"
    translator = Translator(BY_WIRE["anthropic"], "deepseek", model="deepseek-reasoner")
    whole = translator.response(_answer(CALL), translator.request(dump(ALIAS))).body
    assert json.loads(whole)["model"] == "my-model"


def test_a_streamed_response_without_calls_ends_with_text() -> None:
    kinds = [
        one["content_block"]["type"]  # type: ignore[call-overload, index]
        for one in _stream_answer(THOUGHT)[0]
        if isinstance(one.get("content_block"), dict)
    ]
    assert kinds == ["thinking", "text"]


def test_a_streamed_answer_that_calls_something_has_a_token() -> None:
    kinds = [
        one["content_block"]["type"]  # type: ignore[call-overload, index]
        for one in _stream_answer(CALL)[0]
        if isinstance(one.get("content_block"), dict)
    ]
    assert kinds == ["thinking", "tool_use", "redacted_thinking"]


def test_the_betas_that_a_body_needs_go_with_it_to_a_model_of_the_same_wire() -> None:
    fields = {"content-type": "application/json", "anthropic-beta": "a-1,b-2"}
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        urlopen(Request(f"{gw.url}/v1/messages?beta=true", dump(TURN), fields)).close()
        assert gw.up.got[0].headers["anthropic-beta"] == "a-1,b-2"


def test_an_answer_of_a_model_under_another_name_names_it_as_the_client_does() -> None:
    translator = Translator(BY_WIRE["anthropic"], "anthropic", model="real-name")
    body = translator.response(
        dump({**MESSAGE, "model": "real-name"}), translator.request(dump(ALIAS))
    ).body
    assert json.loads(body) == {**MESSAGE, "model": "my-model"}


def test_a_response_without_an_id_gets_one() -> None:
    """A client that finds one id in two answers makes one message of both, with the calls of the
    first behind the second."""
    message: Object = {"role": "assistant", "content": [{"text": "Hi"}]}
    usage: Object = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    whole = dump({"output": {"message": message}, "stopReason": "end_turn", "usage": usage})
    names: list[str] = []
    for text in ("go", "go on", "go"):
        translator = Translator(BY_WIRE["anthropic"], "bedrock", model="m")
        asked = translator.request(dump({**TURN, "messages": [{"role": "user", "content": text}]}))
        names.append(json.loads(translator.response(whole, asked).body)["id"])
        begun = json.loads(
            ResponseStream(translator, asked).feed_whole(whole)[0].partition(b"data: ")[2]
        )
        assert begun["message"]["id"] == names[-1]
    assert names[0] == names[2] != names[1] and all(names)


@pytest.mark.parametrize("more", [False, True], ids=["passed on", "with tools of the gateway"])
def test_thoughts_that_were_shown_without_a_signature_are_not_sent_where_they_have_to_be_signed(
    more: bool,
) -> None:
    thought: Object = {"type": "thinking", "thinking": "hm", "signature": ""}
    signed: Object = {"type": "thinking", "thinking": "so", "signature": "c2lnbmVk"}
    words: Object = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    history: list[JSON] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [thought, signed, words]},
        {"role": "assistant", "content": [thought]},
        {"role": "user", "content": "and?"},
    ]
    translator = Translator(BY_WIRE["anthropic"], "anthropic", model="m")
    made = translator.request(dump({**TURN, "messages": history}), tools=(EXTRA,) if more else ())
    assert made.body["messages"] == [
        history[0],
        {"role": "assistant", "content": [signed, words]},
        history[3],
    ]
    assert [loss.pointer for loss in made.losses] == ["/messages/1", "/messages/2"]
    plain = dump(
        {
            **TURN,
            "messages": [history[0], {"role": "assistant", "content": [signed, words]}, history[3]],
        }
    )
    assert translator.request(plain).raw == plain


# --- these need the change of the item shape: namespaces ---

NESTED: Object = {
    "type": "function",
    "name": "close",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
SPACED: Object = {
    "model": "m",
    "tool_choice": "auto",
    "input": [
        {
            "type": "additional_tools",
            "id": "at_1",
            "role": "developer",
            "tools": [
                {
                    "type": "namespace",
                    "name": "functions",
                    "description": "d",
                    "tools": [{"type": "custom", "name": "run"}],
                }
            ],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "close",
            "namespace": "agents",
            "arguments": "{}",
        },
        {
            "type": "custom_tool_call",
            "call_id": "c2",
            "name": "run",
            "namespace": "functions",
            "input": "1 + 1",
        },
        {"type": "function_call_output", "call_id": "c1", "output": "closed"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "2"},
    ],
    "tools": [
        NESTED,
        {"type": "namespace", "name": "agents", "description": "d", "tools": [NESTED]},
    ],
}


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "gemini", "bedrock"])
def test_tools_in_namespaces_have_one_unique_name(target: str) -> None:
    made = upstream_request(SPACED, "openai-responses", target)
    home = {made.ids.names.get(tool.name, tool.name) for tool in decode(made.body, target).tools}
    assert home == {"close", "agents::close", "functions::run"}
    assert [
        made.ids.names.get(call.name, call.name) for call in decode(made.body, target).calls()
    ] == ["agents::close", "functions::run"]


def test_a_call_of_a_tool_in_a_namespace_returns_with_both_names() -> None:
    translator = Translator(BY_WIRE["openai-responses"], "anthropic", model="m")
    first = translator.request(dump(SPACED))
    names = {old: new for new, old in first.ids.names.items()}
    content: list[JSON] = [
        {"type": "tool_use", "id": "t1", "name": names["agents::close"], "input": {}},
        {"type": "tool_use", "id": "t2", "name": names["functions::run"], "input": {"input": "1"}},
    ]
    body = json.loads(
        translator.response(
            dump({**MESSAGE, "stop_reason": "tool_use", "content": content}), first
        ).body
    )
    items = [
        {key: one.get(key) for key in ("type", "name", "namespace", "input")}
        for one in body["output"]
    ]
    assert items == [
        {"type": "function_call", "name": "close", "namespace": "agents", "input": None},
        {"type": "custom_tool_call", "name": "run", "namespace": "functions", "input": "1"},
    ]


def test_on_their_own_wire_namespaces_pass_untouched() -> None:
    assert (
        upstream_request(SPACED, "openai-responses", "openai-responses").raw == dump(SPACED)
        and check(SPACED, "openai-responses") == []
    )


@pytest.mark.parametrize("policy, marks", [("keep", 0), ("auto", 2)])
def test_the_configuration_decides_whether_prompts_for_claude_are_marked(
    policy: str, marks: int
) -> None:
    messages: JSON = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Oslo?"},
    ]
    fields = {"content-type": "application/json"}
    with scripted_gateway("anthropic", answers(MESSAGE), more={"cache_breakpoints": policy}) as gw:
        body = dump({"model": "m", "messages": messages})
        urlopen(Request(f"{gw.url}/v1/chat/completions", body, fields)).close()
        assert gw.up.got[0].body.count(b"cache_control") == marks
