"""The strict mock refuses the settings, fields and types that its provider refuses, with the status
and the text that users have reported."""

from __future__ import annotations

import json

import pytest
from mock.asking import HEADERS, MORE, PATHS, Answer, ask, send
from msgspec import Struct

from toolwire import explain
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, Object, get
from toolwire.mock.server import MockProvider

CHAT_TOOL: Object = {"type": "function", "function": {"name": "f", "parameters": {}}}
RESPONSES_TOOL: Object = {"type": "function", "name": "f", "parameters": {}, "strict": False}
ANTHROPIC_TOOL: Object = {"name": "f", "input_schema": {"type": "object"}}
DECLARATION: Object = {"functionDeclarations": [{"name": "f"}]}
CACHED: Object = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
USER: Object = {"role": "user", "content": "hi"}
CHAT: Object = {"messages": [USER]}
INPUT: Object = {"input": "hi"}
PARTS: Object = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
BLOCKS: Object = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
THINKING: Object = {"type": "enabled", "budget_tokens": 1024}
FORCED = "Thinking may not be enabled when tool_choice forces tool use."
EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."


def picture(**call: JSON) -> Object:
    """A history with a picture inside a function response."""
    data: Object = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    response: Object = {"name": "f", "response": {}, "parts": [data], **call}
    return {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "f", "args": {}, **call}, "thoughtSignature": "c2ln"}
                ],
            },
            {"role": "user", "parts": [{"functionResponse": response}]},
        ],
        "tools": [DECLARATION],
    }


def cohere_history(*results: Object) -> Object:
    call: Object = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {
        "messages": [
            USER,
            {"role": "assistant", "tool_calls": [call]},
            *results,
            {"role": "user", "content": "and?"},
        ],
        "tools": [CHAT_TOOL],
        "model": "command-a-03-2025",
    }


class Case(Struct, frozen=True):
    """A request, and how its provider refuses it; a source says where the text was seen."""

    profile: str
    body: Object
    words: str
    status: int = 400
    source: str = ""


CASES: dict[str, Case] = {
    # --- fields that the API does not have ---
    "chat: unknown field": Case(
        "openai-chat",
        {**CHAT, "top_k": 5},
        "Unrecognized request argument supplied: top_k",
        source="sd-webui-decadetw-auto-prompt-llm#29, llm_wiki#336",
    ),
    "chat: unknown field in a message": Case(
        "openai-chat",
        {"messages": [{**USER, "reasoning": "x"}]},
        "Unknown parameter: 'messages[0].reasoning'.",
        source="error text in tests of clients (2026)",
    ),
    "chat: unknown field in a part": Case(
        "openai-chat",
        {"messages": [{"role": "user", "content": [CACHED]}]},
        "Unknown parameter: 'messages[0].content[0].cache_control'.",
    ),
    "azure: unknown field": Case(
        "azure-openai",
        {**CHAT, "enable_thinking": False},
        "Unrecognized request argument supplied: enable_thinking",
        source="cherry-studio#6155",
    ),
    "responses: unknown field": Case(
        "openai-responses", {**INPUT, "messages": []}, "Unknown parameter: 'messages'."
    ),
    "responses: unknown field in a setting": Case(
        "openai-responses",
        {**INPUT, "reasoning": {"max_tokens": 5}},
        "Unknown parameter: 'reasoning.max_tokens'.",
        source="octopus#31",
    ),
    "responses: unknown field in an item": Case(
        "openai-responses",
        {"input": [{**USER, "metadata": {}}]},
        "Unknown parameter: 'input[0].metadata'.",
    ),
    "foundry: unknown field": Case(
        "azure-foundry", {**INPUT, "messages": []}, "Unknown parameter: 'messages'."
    ),
    "foundry: unknown field in an item": Case(
        "azure-foundry",
        {"input": [{**USER, "metadata": {}}]},
        "Unknown parameter: 'input[0].metadata'.",
    ),
    "foundry: an item that is only output": Case(
        "azure-foundry",
        {"input": [{"type": "bing_grounding_call", "call_id": "c1", "arguments": "{}"}]},
        "Invalid value: 'bing_grounding_call'.",
    ),
    "anthropic: unknown field": Case(
        "anthropic", {**CHAT, "top_logprobs": 5}, "top_logprobs: Extra inputs are not permitted"
    ),
    "anthropic: unknown field in a tool": Case(
        "anthropic",
        {**CHAT, "tools": [{**ANTHROPIC_TOOL, "parameters": {}}]},
        "tools.0.custom.parameters: Extra inputs are not permitted",
        source="opencode#24696",
    ),
    "anthropic: unknown field in a block": Case(
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "id": "1"}]}]},
        "messages.0.content.0.text.id: Extra inputs are not permitted",
        source="claude-code#4378",
    ),
    "anthropic: beta field without a beta": Case(
        "anthropic",
        {**CHAT, "context_management": {"edits": []}},
        "context_management: Extra inputs are not permitted",
    ),
    "gemini: unknown field": Case(
        "gemini",
        {**PARTS, "messages": []},
        'Invalid JSON payload received. Unknown name \\"messages\\": Cannot find field.',
    ),
    "gemini: unknown field in a setting": Case(
        "gemini",
        {**PARTS, "generationConfig": {"maxTokens": 5}},
        "Unknown name \\\"maxTokens\\\" at 'generation_config': Cannot find field.",
    ),
    "mistral: unknown field": Case(
        "mistral",
        {**CHAT, "max_completion_tokens": 8192},
        '"type":"extra_forbidden","loc":["body","max_completion_tokens"],'
        '"msg":"Extra inputs are not permitted","input":8192',
        422,
        "openclaude#739, eca#231",
    ),
    "mistral: unknown field in a message": Case(
        "mistral",
        {"messages": [{**USER, "name": "x"}]},
        '"loc":["body","messages",0,"user","name"]',
        422,
        "mistral-go#2",
    ),
    "cohere: unknown field": Case(
        "cohere",
        {**CHAT, "tools": [{**CHAT_TOOL, "strict": True}]},
        "unknown field: parameter 'strict' is not a valid field.",
        422,
        "openrouter-examples#71, cohere-ai/notebooks#226",
    ),
    # --- tools and tool choice ---
    "chat: no tools in the list": Case(
        "openai-chat", {**CHAT, "tools": []}, f"Invalid 'tools': {EMPTY}", source="vllm#39780"
    ),
    "bedrock: no tools in the list": Case(
        "bedrock",
        {**BLOCKS, "toolConfig": {"tools": []}},
        "1 validation error detected: Value at 'toolConfig.tools' failed to satisfy constraint:"
        " Member must have length greater than or equal to 1",
        source="Portkey-AI/gateway#1124",
    ),
    "chat: tool choice without tools": Case(
        "openai-chat",
        {**CHAT, "tool_choice": "auto"},
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are"
        " specified.",
        source="dapr-agents#248",
    ),
    "chat: parallel calls without tools": Case(
        "openai-chat",
        {**CHAT, "parallel_tool_calls": False},
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when"
        " 'tools' are specified.",
    ),
    "anthropic: tool choice without tools": Case(
        "anthropic",
        {**CHAT, "tool_choice": {"type": "auto"}},
        "tool_choice may only be specified while providing tools.",
    ),
    "gemini: tool choice without functions": Case(
        "gemini",
        {
            **PARTS,
            "model": "gemini-2.5-pro",
            "tools": [{"googleSearch": {}}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        },
        "Function calling config is set without function_declarations.",
        source="inspect_ai#2462, pydantic-ai#5791",
    ),
    "responses: chat tools": Case(
        "openai-responses",
        {**INPUT, "tools": [CHAT_TOOL]},
        "Missing required parameter: 'tools[0].name'.",
        source="autogen#6935",
    ),
    "chat: tools of Responses": Case(
        "openai-chat",
        {**CHAT, "tools": [RESPONSES_TOOL]},
        "Missing required parameter: 'tools[0].function'.",
    ),
    "chat: tools of Anthropic": Case(
        "openai-chat",
        {**CHAT, "tools": [ANTHROPIC_TOOL]},
        "Missing required parameter: 'tools[0].type'.",
    ),
    "anthropic: chat tools": Case(
        "anthropic",
        {**CHAT, "tools": [CHAT_TOOL]},
        "tools.0: Input tag 'function' found using 'type' does not match any of the expected tags:",
    ),
    "anthropic: a tool without a schema": Case(
        "anthropic",
        {**CHAT, "tools": [{"name": "f"}]},
        "tools.0.custom.input_schema: Field required",
    ),
    # --- what a model does not take ---
    "chat: max_tokens": Case(
        "openai-chat",
        {**CHAT, "model": "gpt-5.4", "max_tokens": 9},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
        " 'max_completion_tokens' instead.",
        source="9router#560, YPrompt#26",
    ),
    "chat: temperature": Case(
        "openai-chat",
        {**CHAT, "model": "gpt-5-mini", "temperature": 0.16},
        "Unsupported value: 'temperature' does not support 0.16 with this model. Only the default"
        " (1) value is supported.",
        source="9router#560, code-gpt-docs#445",
    ),
    "chat: stop": Case(
        "openai-chat",
        {**CHAT, "model": "o3", "stop": ["x"]},
        "Unsupported parameter: 'stop' is not supported with this model.",
    ),
    "chat: effort": Case(
        "openai-chat",
        {**CHAT, "model": "gpt-4o-mini", "reasoning_effort": "low"},
        "Unrecognized request argument supplied: reasoning_effort",
        source="langchain_dart#712, coroot#698",
    ),
    "responses: temperature": Case(
        "openai-responses",
        {**INPUT, "model": "gpt-5", "temperature": 0.5},
        "Unsupported parameter: 'temperature' is not supported with this model.",
    ),
    "responses: few tokens": Case(
        "openai-responses",
        {**INPUT, "max_output_tokens": 1},
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got"
        " 1 instead.",
        source="pi#6265, hindsight#58",
    ),
    "responses: effort": Case(
        "openai-responses",
        {**INPUT, "model": "gpt-4o", "reasoning": {"effort": "low"}},
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    ),
    "anthropic: temperature and top_p": Case(
        "anthropic",
        {**CHAT, "model": "claude-sonnet-4-6", "temperature": 0.2, "top_p": 0.4},
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        source="opencode#28930",
    ),
    "anthropic: temperature of a model that takes none": Case(
        "anthropic",
        {**CHAT, "model": "claude-opus-5", "temperature": 0},
        "`temperature` is deprecated for this model.",
        source="pi#7961",
    ),
    "anthropic: top_k of a model that takes none": Case(
        "anthropic",
        {**CHAT, "model": "claude-opus-4-8", "top_k": 5},
        "`top_k` is deprecated for this model.",
    ),
    "bedrock: temperature and top_p": Case(
        "bedrock",
        {
            **BLOCKS,
            "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "inferenceConfig": {"temperature": 0.2, "topP": 0.4},
        },
        "The model returned the following errors: `temperature` and `top_p` cannot both be"
        " specified for this model. Please use only one.",
        source="mem0#4147",
    ),
    "anthropic: temperature with thinking": Case(
        "anthropic",
        {**CHAT, "model": "claude-sonnet-4-5", "temperature": 0.2, "thinking": THINKING},
        "`temperature` may only be set to 1 when thinking is enabled.",
    ),
    "anthropic: forced tool with thinking": Case(
        "anthropic",
        {
            **CHAT,
            "model": "claude-sonnet-4-5",
            "thinking": THINKING,
            "tools": [ANTHROPIC_TOOL],
            "tool_choice": {"type": "any"},
        },
        FORCED,
        source="oh-my-pi#341, mastra#7507",
    ),
    "bedrock: forced tool with thinking": Case(
        "bedrock",
        {
            **BLOCKS,
            "model": "anthropic.claude-sonnet-4-6",
            "additionalModelRequestFields": {"thinking": THINKING},
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}],
                "toolChoice": {"any": {}},
            },
        },
        f"The model returned the following errors: {FORCED}",
        source="oh-my-pi#341",
    ),
    "anthropic: five breakpoints": Case(
        "anthropic",
        {
            "system": [CACHED],
            "tools": [{**ANTHROPIC_TOOL, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [CACHED, CACHED, CACHED]}],
        },
        "A maximum of 4 blocks with cache_control may be provided.",
        source="sub2api#176, Anthropic.SDK#50",
    ),
    "gemini: a picture in a result": Case(
        "gemini",
        {**picture(), "model": "gemini-2.5-flash"},
        "Unable to submit request because `function_response.parts` is not supported for this"
        " model.",
        source="gemini-cli#19436",
    ),
    # --- signatures ---
    "anthropic: a signature of another maker": Case(
        "anthropic",
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "x", "signature": "gAAAAABo"},
                        {"type": "text", "text": "x"},
                    ],
                },
                USER,
            ]
        },
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        source="Antigravity-Manager#498",
    ),
    # --- types ---
    "chat: a number for a text": Case(
        "openai-chat",
        {"messages": [{"role": "user", "content": 5}]},
        "Invalid type for 'messages[0].content': expected one of a string or array of objects, but"
        " got an integer instead.",
    ),
    "responses: a value of no meaning": Case(
        "openai-responses",
        {**INPUT, "truncation": "never"},
        "Invalid value: 'never'. Supported values are: 'auto' and 'disabled'.",
    ),
    "anthropic: a text for a number": Case(
        "anthropic", {**CHAT, "stop_sequences": "x"}, "stop_sequences: Input should be a valid list"
    ),
    "gemini: a text for a number": Case(
        "gemini",
        {**PARTS, "generationConfig": {"temperature": "hot"}},
        "Invalid value at 'generation_config.temperature' (TYPE_FLOAT), \\\"hot\\\"",
    ),
    "bedrock: a text for a number": Case(
        "bedrock",
        {**BLOCKS, "inferenceConfig": {"maxTokens": "9"}},
        "STRING_VALUE can not be converted to an Integer",
    ),
    "bedrock: a tool without a schema": Case(
        "bedrock",
        {**BLOCKS, "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}]}},
        "1 validation error detected: Value null at"
        " 'toolConfig.tools.1.member.toolSpec.inputSchema' failed to satisfy constraint: Member"
        " must not be null",
    ),
    "mistral: a tool without a function": Case(
        "mistral",
        {**CHAT, "tools": [{"type": "function"}]},
        '"type":"missing","loc":["body","tools",0,"function"],"msg":"Field required"',
        422,
    ),
    "ollama: a number for a text": Case(
        "ollama",
        {"messages": [{"role": "user", "content": 5}]},
        "json: cannot unmarshal number into Go struct field ChatRequest.messages.content of type"
        " string",
    ),
    # --- pairs ---
    "cohere: a call without its result": Case(
        "cohere",
        cohere_history(),
        "invalid request: An assistant message with 'tool_calls' must be followed by tool messages"
        " responding to each 'tool_call_id'. The following tool_call_ids did not have response"
        " messages: c1",
        source="oracle/langchain-oracle#10, agentdojo#200",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_refused_as_the_provider_refuses_it(name: str) -> None:
    case = CASES[name]
    answer = ask(MockProvider(case.profile), case.profile, dict(case.body))
    assert (answer.status, case.words in answer.text) == (case.status, True), answer.text
    assert ask(MockProvider(case.profile, strict=False), case.profile, dict(case.body)).status in (
        200,
        400,
    )


@pytest.mark.parametrize("name", CASES)
def test_the_refusal_of_a_request_is_explained(name: str) -> None:
    case = CASES[name]
    answer = ask(MockProvider(case.profile), case.profile, dict(case.body))
    assert explain(answer.text, None, resolve(case.profile)[1].wire)


TAKEN: dict[str, tuple[str, Object, dict[str, str]]] = {
    "chat: what other servers of the wire know": ("vllm", {**CHAT, "top_k": 5}, {}),
    "ollama: unknown field": ("ollama", {**CHAT, "top_k": 5}, {}),
    "bedrock: unknown field": ("bedrock", {**BLOCKS, "top_k": 5}, {}),
    "chat: the default temperature": (
        "openai-chat",
        {**CHAT, "model": "gpt-5", "temperature": 1, "max_completion_tokens": 9},
        {},
    ),
    "chat: temperature without reasoning": (
        "openai-chat",
        {**CHAT, "model": "gpt-5.2", "temperature": 0.5, "reasoning_effort": "none"},
        {},
    ),
    "anthropic: no tools in the list": ("anthropic", {**CHAT, "tools": []}, {}),
    "responses: no tools in the list": (
        "openai-responses",
        {**INPUT, "tools": [], "tool_choice": "auto"},
        {},
    ),
    "foundry: an agent and its inputs": (
        "azure-foundry",
        {
            **INPUT,
            "agent_reference": {"type": "agent_reference", "name": "helper"},
            "structured_inputs": {"city": "Oslo"},
        },
        {},
    ),
    "foundry: items of an earlier answer": (
        "azure-foundry",
        {
            "input": [
                {**USER, "agent_reference": {"name": "helper"}, "response_id": "resp_1"},
                {"type": "memory_search_call", "results": []},
                USER,
            ]
        },
        {},
    ),
    "foundry: a tool of the service": (
        "azure-foundry",
        {**INPUT, "tools": [{"type": "bing_grounding", "bing_grounding": {}}]},
        {},
    ),
    "anthropic: beta field with a beta": (
        "anthropic",
        {**CHAT, "context_management": {"edits": []}},
        {"anthropic-beta": "context-management-2025-06-27"},
    ),
    "anthropic: temperature of an older version": (
        "anthropic",
        {**CHAT, "model": "claude-sonnet-4-6", "temperature": 0.5},
        {},
    ),
    "anthropic: both sampling settings of an older model": (
        "anthropic",
        {**CHAT, "model": "claude-sonnet-4-20250514", "temperature": 0.5, "top_p": 0.9},
        {},
    ),
    "anthropic: the defaults of a model without sampling": (
        "anthropic",
        {**CHAT, "model": "claude-opus-5", "temperature": 1, "top_p": 1},
        {},
    ),
    "anthropic: a system message in a beta": (
        "anthropic",
        {"messages": [USER, {"role": "system", "content": "x"}], "model": "claude-sonnet-4-5"},
        {"anthropic-beta": "a, mid-conversation-system-2026-04-07"},
    ),
    "gemini: names in snake case": (
        "gemini",
        {**PARTS, "generation_config": {"max_output_tokens": 9}},
        {},
    ),
    "gemini: a picture in a result": (
        "gemini",
        {**picture(id="call_1"), "model": "gemini-3.5-flash"},
        {},
    ),
    "gemini: tool choice without functions": (
        "vertex-gemini",
        {**PARTS, "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
        {},
    ),
    "cohere: a call with its result": (
        "cohere",
        cohere_history({"role": "tool", "tool_call_id": "c1", "content": "1"}),
        {},
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_provider_takes_is_taken(name: str) -> None:
    profile, body, headers = TAKEN[name]
    answer = _ask_with(profile, body, headers)
    assert answer.status == 200, answer.text


def test_the_newest_version_of_the_messages_api_has_no_sampling_settings() -> None:
    answer = _ask_with(
        "anthropic", {**CHAT, "temperature": 0.5}, {"anthropic-version": "2026-10-21"}
    )
    assert (answer.status, "temperature: Extra inputs are not permitted" in answer.text) == (
        400,
        True,
    )


def test_models_of_gemini_since_version_3_give_their_calls_ids() -> None:
    def calls(model: str) -> list[JSON]:
        body: Object = {
            "contents": [{"role": "user", "parts": [{"text": "[[call f {}]] [[call f {}]]"}]}],
            "tools": [DECLARATION],
            "model": model,
        }
        answer = ask(MockProvider("gemini"), "gemini", body).json
        parts = get(answer, ("candidates", 0, "content", "parts"))
        assert isinstance(parts, list)
        return [get(part, ("functionCall", "id")) or None for part in parts]

    first, second = calls("gemini-3.5-flash")
    assert first and second and first != second
    assert calls("gemini-2.5-pro") == [None, None]


def test_a_stream_of_mistral_ends_with_the_reason_and_the_usage_in_one_chunk() -> None:
    answer = ask(MockProvider("mistral"), "mistral", CHAT, stream=True)
    last, done = answer.text.strip().split("\n\n")[-2:]
    chunk: JSON = json.loads(last.removeprefix("data: "))
    assert get(chunk, ("choices", 0, "finish_reason")) == "stop"
    assert get(chunk, ("choices", 0, "delta")) == {"content": ""}
    assert get(chunk, ("usage", "total_tokens"))
    assert done == "data: [DONE]"


def test_answers_of_ollama_have_durations() -> None:
    answer = ask(MockProvider("ollama"), "ollama", CHAT).json
    assert all(isinstance(answer[f"{name}_duration"], int) for name in ("total", "load", "eval"))
    assert answer["total_duration"]


def test_openai_shows_no_reasoning_in_chat_answers_and_refuses_it_in_histories() -> None:
    question: Object = {"role": "user", "content": "[[think hm]] [[text ok]]"}
    answer = ask(MockProvider("openai-chat"), "openai-chat", {"messages": [question]})
    assert answer.status == 200 and "reasoning" not in str(answer.json["choices"])
    shown = ask(MockProvider("deepseek"), "deepseek", {"messages": [question]}).json
    message = get(shown, ("choices", 0, "message"))
    assert isinstance(message, dict) and message["reasoning_content"] == "hm"
    history: Object = {"messages": [question, message, USER]}
    refused = ask(MockProvider("openai-chat"), "openai-chat", history)
    assert (refused.status, "messages[1].reasoning_content" in refused.text) == (400, True)


def _ask_with(profile: str, body: Object, headers: dict[str, str]) -> Answer:
    """The answer to a request with further headers."""
    wire = resolve(profile)[1].wire
    full: Object = {**MORE.get(wire, {"model": "m"}), **body}
    model = full.pop("model", "m") if wire in ("gemini", "bedrock") else "m"
    path = PATHS[wire].format(model=model)
    return send(MockProvider(profile), "POST", path, full, headers={**HEADERS, **headers})
