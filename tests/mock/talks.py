"""One conversation with tools for each official client, streamed or not: how a program of that
provider would write it.

Each returns the calls of the model, turn by turn, and the last text. All types are those of the
clients; this module does not use toolwire.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TypeAlias

import boto3  # type: ignore[import-untyped]
import cohere
import ollama
from anthropic import Anthropic
from botocore.config import Config  # type: ignore[import-untyped]
from google import genai
from google.genai import types
from mistralai.client import Mistral
from mock.tools import TOOLS, functions, run
from openai import AzureOpenAI, OpenAI
from openai.types.responses import ResponseOutputItem

Turns: TypeAlias = "list[list[tuple[str, str]]]"
"""The calls of each turn: id and name."""
Talk: TypeAlias = Callable[[str, str, bool], tuple[Turns, str]]
MOST = 6
"""The maximum number of turns of a conversation."""


def _call(one: str, name: str, given: str) -> object:
    return {"id": one, "type": "function", "function": {"name": name, "arguments": given}}


def openai_chat(url: str, question: str, stream: bool, *, azure: bool = False) -> tuple[Turns, str]:
    client: OpenAI
    if azure:
        client = AzureOpenAI(
            azure_endpoint=url, api_key="any", api_version="2026-01-01", max_retries=0
        )
    else:
        client = OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
    messages: list[object] = [{"role": "user", "content": question}]
    turns: Turns = []
    with client:
        for _ in range(MOST):
            asked = {"model": "gpt-5", "messages": messages, "tools": functions()}
            if stream:
                with client.chat.completions.stream(**asked) as events:  # type: ignore[arg-type]
                    for _event in events:
                        pass
                    message = events.get_final_completion().choices[0].message
            else:
                answer = client.chat.completions.create(**asked)  # type: ignore[call-overload]
                assert answer.usage.total_tokens > 0
                message = answer.choices[0].message
            if not message.tool_calls:
                return turns, message.content or ""
            turns.append([(call.id, call.function.name) for call in message.tool_calls])
            messages.append(
                {
                    "role": "assistant",
                    "content": message.content,
                    "tool_calls": [
                        _call(call.id, call.function.name, call.function.arguments)
                        for call in message.tool_calls
                    ],
                }
            )
            for call in message.tool_calls:
                output = run(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
    raise AssertionError("it never stopped")


def azure(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    return openai_chat(url, question, stream, azure=True)


def openai_responses(
    url: str, question: str, stream: bool, *, stored: bool = False
) -> tuple[Turns, str]:
    given: list[object] = [{"role": "user", "content": question}]
    tools = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, (_, schema) in TOOLS.items()
    ]
    turns: Turns = []
    before: str | None = None
    with OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        for _ in range(MOST):
            asked = {
                "model": "gpt-5",
                "input": given,
                "tools": tools,
                "reasoning": {"effort": "low"},
            }
            if stored and before is not None:
                asked["previous_response_id"] = before
            if stream:
                with client.responses.stream(**asked) as events:  # type: ignore[call-overload]
                    for _event in events:
                        pass
                    answer = events.get_final_response()
            else:
                answer = client.responses.create(**asked)  # type: ignore[call-overload]
            before = answer.id
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return turns, answer.output_text
            turns.append([(call.call_id, call.name) for call in calls])
            given = [] if stored else [*given, *map(_as_input, answer.output)]
            for call in calls:
                output = run(call.name, json.loads(call.arguments))
                given.append(
                    {"type": "function_call_output", "call_id": call.call_id, "output": output}
                )
    raise AssertionError("it never stopped")


def _as_input(item: ResponseOutputItem) -> dict[str, object]:
    """An item of a response, without the fields that the stream helper adds."""
    value: dict[str, object] = item.to_dict()
    return {key: value[key] for key in value if key != "parsed_arguments"}


def openai_stored(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    return openai_responses(url, question, stream, stored=True)


def anthropic(url: str, question: str, stream: bool, *, thinks: bool = False) -> tuple[Turns, str]:
    messages: list[object] = [{"role": "user", "content": question}]
    tools = [
        {"name": name, "description": about, "input_schema": schema}
        for name, (about, schema) in TOOLS.items()
    ]
    turns: Turns = []
    with Anthropic(base_url=url, api_key="any", max_retries=0) as client:
        for _ in range(MOST):
            asked = {
                "model": "claude-opus-5",
                "max_tokens": 4096,
                "messages": messages,
                "tools": tools,
            }
            if thinks:
                asked["thinking"] = {"type": "enabled", "budget_tokens": 1024}
            if stream:
                with client.messages.stream(**asked) as events:  # type: ignore[arg-type]
                    answer = events.get_final_message()
            else:
                answer = client.messages.create(**asked)  # type: ignore[call-overload]
            assert answer.usage.output_tokens > 0
            if thinks:
                assert answer.content[0].type == "thinking" and answer.content[0].signature
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                assert answer.stop_reason == "end_turn"
                return turns, "".join(
                    block.text for block in answer.content if block.type == "text"
                )
            assert answer.stop_reason == "tool_use"
            turns.append([(call.id, call.name) for call in calls])
            messages.append(
                {"role": "assistant", "content": [block.to_dict() for block in answer.content]}
            )
            told = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": run(call.name, call.input),
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": told})
    raise AssertionError("it never stopped")


def anthropic_thinking(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    return anthropic(url, question, stream, thinks=True)


def gemini(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    declared = [
        types.FunctionDeclaration(name=name, description=about, parameters_json_schema=schema)
        for name, (about, schema) in TOOLS.items()
    ]
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=declared)])
    contents: list[types.Content] = [types.Content(role="user", parts=[types.Part(text=question)])]
    turns: Turns = []
    with genai.Client(api_key="any", http_options=types.HttpOptions(base_url=url)) as client:
        for _ in range(MOST):
            if stream:
                parts: list[types.Part] = []
                for chunk in client.models.generate_content_stream(
                    model="gemini-3-pro", contents=contents, config=config
                ):
                    content = chunk.candidates[0].content if chunk.candidates else None
                    parts += (content.parts or []) if content is not None else []
            else:
                answer = client.models.generate_content(
                    model="gemini-3-pro", contents=contents, config=config
                )
                assert (
                    answer.candidates
                    and answer.candidates[0].content
                    and answer.candidates[0].content.parts
                )
                parts = answer.candidates[0].content.parts
            calls = [part.function_call for part in parts if part.function_call is not None]
            if not calls:
                return turns, "".join(part.text or "" for part in parts)
            turns.append([(call.id or "", call.name or "") for call in calls])
            contents.append(types.Content(role="model", parts=parts))
            contents.append(
                types.Content(
                    role="user",
                    parts=[
                        types.Part.from_function_response(
                            name=call.name or "",
                            response={"output": run(call.name or "", call.args)},
                        )
                        for call in calls
                    ],
                )
            )
    raise AssertionError("it never stopped")


def bedrock(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"max_attempts": 1}),
    )
    tools = [
        {"toolSpec": {"name": name, "description": about, "inputSchema": {"json": schema}}}
        for name, (about, schema) in TOOLS.items()
    ]
    messages: list[dict[str, object]] = [{"role": "user", "content": [{"text": question}]}]
    turns: Turns = []
    try:
        for _ in range(MOST):
            asked = {
                "modelId": "amazon.nova-pro-v1:0",
                "messages": messages,
                "toolConfig": {"tools": tools},
            }
            if stream:
                blocks = _fold_events(client.converse_stream(**asked)["stream"])
            else:
                blocks = client.converse(**asked)["output"]["message"]["content"]
            calls = [block["toolUse"] for block in blocks if "toolUse" in block]
            if not calls:
                return turns, "".join(str(block["text"]) for block in blocks)
            turns.append([(call["toolUseId"], call["name"]) for call in calls])
            messages.append({"role": "assistant", "content": blocks})
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {
                            "toolResult": {
                                "toolUseId": call["toolUseId"],
                                "content": [{"text": run(call["name"], call["input"])}],
                            }
                        }
                        for call in calls
                    ],
                }
            )
    finally:
        client.close()
    raise AssertionError("it never stopped")


def _fold_events(events: Iterable[object]) -> list[dict[str, dict[str, str]]]:
    """The blocks of an event stream, put together as its documentation says."""
    found: dict[int, dict[str, dict[str, str]]] = {}
    texts: dict[int, str] = {}
    stopped = ""
    for event in events:
        match event:
            case {"contentBlockStart": {"start": start, "contentBlockIndex": n}}:
                found[n] = start
            case {
                "contentBlockDelta": {
                    "delta": {"text": text} | {"toolUse": {"input": text}},
                    "contentBlockIndex": n,
                }
            }:
                texts[n] = texts.get(n, "") + text
            case {"messageStop": {"stopReason": reason}}:
                stopped = reason
    assert stopped == ("tool_use" if found else "end_turn")
    for n, text in texts.items():
        found[n] = (
            {"toolUse": {**found[n]["toolUse"], "input": json.loads(text)}}
            if n in found
            else {"text": text}  # type: ignore[dict-item]
        )
    return [block for _, block in sorted(found.items())]


def mistral(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    messages: list[object] = [{"role": "user", "content": question}]
    turns: Turns = []
    with Mistral(api_key="any", server_url=url) as client:
        for _ in range(MOST):
            asked = {"model": "mistral-large", "messages": messages, "tools": functions()}
            if stream:
                text, calls = "", {}
                for event in client.chat.stream(**asked):
                    delta = event.data.choices[0].delta if event.data.choices else None
                    text += (
                        delta.content
                        if delta is not None and isinstance(delta.content, str)
                        else ""
                    )
                    for one in (delta.tool_calls or []) if delta is not None else []:
                        calls[one.id] = one
                found = list(calls.values())
            else:
                message = client.chat.complete(**asked).choices[0].message
                assert message is not None
                text, found = str(message.content or ""), list(message.tool_calls or [])
            if not found:
                return turns, text
            turns.append([(call.id or "", call.function.name) for call in found])
            messages.append(
                {
                    "role": "assistant",
                    "content": text,
                    "tool_calls": [call.model_dump() for call in found],
                }
            )
            for call in found:
                given = call.function.arguments
                output = run(
                    call.function.name, json.loads(given) if isinstance(given, str) else given
                )
                messages.append(
                    {
                        "role": "tool",
                        "tool_call_id": call.id,
                        "name": call.function.name,
                        "content": output,
                    }
                )
    raise AssertionError("it never stopped")


def cohere_chat(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    messages: list[object] = [{"role": "user", "content": question}]
    turns: Turns = []
    client = cohere.ClientV2(api_key="any", base_url=url)
    with client:
        for _ in range(MOST):
            asked = {"model": "command-a", "messages": messages, "tools": functions()}
            text = ""
            calls: list[tuple[str, str, str]] = []
            if stream:
                for event in client.chat_stream(**asked):  # type: ignore[arg-type]
                    if event.type == "content-delta":
                        text += event.delta.message.content.text or ""  # type: ignore[union-attr]
                    elif event.type == "tool-call-start":
                        one = event.delta.message.tool_calls  # type: ignore[union-attr]
                        calls.append((one.id or "", one.function.name or "", ""))  # type: ignore[union-attr]
                    elif event.type == "tool-call-delta":
                        more = event.delta.message.tool_calls.function.arguments or ""  # type: ignore[union-attr]
                        calls[-1] = (*calls[-1][:2], calls[-1][2] + more)
            else:
                message = client.chat(**asked).message  # type: ignore[arg-type]
                text = "".join(getattr(block, "text", "") for block in message.content or [])
                calls = [
                    (call.id or "", call.function.name or "", call.function.arguments or "")  # type: ignore[union-attr]
                    for call in message.tool_calls or []
                ]
            if not calls:
                return turns, text
            turns.append([(one, name) for one, name, _ in calls])
            messages.append({"role": "assistant", "tool_calls": [_call(*call) for call in calls]})
            messages += (
                {"role": "tool", "tool_call_id": one, "content": run(name, json.loads(given))}
                for one, name, given in calls
            )
    raise AssertionError("it never stopped")


def ollama_chat(url: str, question: str, stream: bool) -> tuple[Turns, str]:
    messages: list[object] = [{"role": "user", "content": question}]
    turns: Turns = []
    client = ollama.Client(host=url)
    try:
        for _ in range(MOST):
            if stream:
                text = ""
                calls: list[ollama.Message.ToolCall] = []
                for chunk in client.chat("llama4", messages, tools=functions(), stream=True):  # type: ignore[call-overload]
                    text += chunk.message.content or ""
                    calls += chunk.message.tool_calls or []
            else:
                answer = client.chat("llama4", messages, tools=functions())  # type: ignore[arg-type]
                text, calls = answer.message.content or "", list(answer.message.tool_calls or [])
            if not calls:
                return turns, text
            turns.append([("", call.function.name) for call in calls])
            messages.append(
                {
                    "role": "assistant",
                    "content": text,
                    "tool_calls": [call.model_dump() for call in calls],
                }
            )
            for call in calls:
                output = run(call.function.name, dict(call.function.arguments))
                messages.append(
                    {"role": "tool", "tool_name": call.function.name, "content": output}
                )
    finally:
        client._client.close()
    raise AssertionError("it never stopped")


TALKS: dict[str, tuple[str, Talk]] = {
    "openai chat": ("openai-chat", openai_chat),
    "azure": ("azure-openai", azure),
    "openai responses": ("openai-responses", openai_responses),
    "openai responses, stored": ("openai-responses", openai_stored),
    "anthropic": ("anthropic", anthropic),
    "anthropic, thinking": ("anthropic", anthropic_thinking),
    "google-genai": ("gemini", gemini),
    "boto3": ("bedrock", bedrock),
    "mistralai": ("mistral", mistral),
    "cohere": ("cohere", cohere_chat),
    "ollama": ("ollama", ollama_chat),
}
"""By client: the profile of its server, and its conversation."""
