"""The official client of each client API, and how a program continues after a response: with the
objects of the client.

Every client sends, reads and appends its own types; a `Turn` has the content of a response. This
module does not use toolwire.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import anthropic
import ollama
import openai
from gateway.cloud_clients import BedrockConverse, CohereChat, close_cloud_clients
from gateway.interactions_client import GoogleInteractions, interactions_of
from gateway.mistral_client import MistralChat, mistral_of
from gateway.turns import History, RequestRefused, Turn
from google import genai
from google.genai import errors as genai_errors
from google.genai import types
from mock.tools import TOOLS, functions


@contextmanager
def _map_errors() -> Iterator[None]:
    try:
        yield
    except openai.APIStatusError as error:
        raise RequestRefused(error.status_code, str(error.message)) from None
    except openai.APIError as error:
        raise RequestRefused(None, str(error.message)) from None
    except anthropic.APIStatusError as error:
        raise RequestRefused(error.status_code, str(error.message)) from None
    except genai_errors.APIError as error:
        raise RequestRefused(error.code, str(error.message)) from None
    except ollama.ResponseError as error:
        raise RequestRefused(error.status_code, error.error) from None


@cache
def _openai(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)


@cache
def _anthropic(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)


@cache
def _genai(url: str) -> genai.Client:
    return genai.Client(api_key="any", http_options=types.HttpOptions(base_url=url))


@cache
def _ollama(url: str) -> ollama.Client:
    return ollama.Client(host=url)


def close_clients() -> None:
    """Close all clients: making one takes longer than a whole conversation, so they are kept."""
    for made in (_openai, _anthropic, _genai, _ollama, interactions_of, mistral_of):
        made.cache_clear()
    close_cloud_clients()


class OpenAIChat:
    """`openai`, chat completions."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        shown = f"data:image/png;base64,{base64.b64encode(image or b'').decode()}"
        seen = [{"type": "image_url", "image_url": {"url": shown}}] if image else []
        return [
            {"role": "user", "content": [*seen, {"type": "text", "text": text}] if image else text}
        ]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        client = _openai(url)
        with _map_errors():
            asked = {"model": model, "messages": history, "tools": functions()}
            asked |= {"reasoning_effort": "low"} if thinks else {}
            if stream:
                with client.chat.completions.stream(**asked) as events:  # type: ignore[arg-type]
                    for _ in events:
                        pass
                    message = events.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**asked).choices[0].message  # type: ignore[call-overload]
        thoughts = (
            getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""
        )
        calls = [
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or []
        ]
        kept = message.model_dump(exclude_none=True)
        for call in kept.get(
            "tool_calls", []
        ):  # the stream helper adds these, and its own server would refuse them
            call.pop("index", None)
            call["function"].pop("parsed_arguments", None)
        kept.pop("parsed", None)
        return Turn(message.content or "", thoughts, calls, [kept])

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"role": "tool", "tool_call_id": call[0], "content": out}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, *tool_results]


class OpenAIResponses:
    """`openai`, responses."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        shown = f"data:image/png;base64,{base64.b64encode(image or b'').decode()}"
        seen = [{"type": "input_image", "image_url": shown, "detail": "auto"}] if image else []
        return [
            {
                "role": "user",
                "content": [*seen, {"type": "input_text", "text": text}] if image else text,
            }
        ]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        tools = [
            {"type": "function", "name": name, "parameters": schema, "strict": False}
            for name, (_, schema) in TOOLS.items()
        ]
        client = _openai(url)
        with _map_errors():
            asked = {
                "model": model,
                "input": history,
                "tools": tools,
                "store": False,
                "include": ["reasoning.encrypted_content"],
            }
            asked |= {"reasoning": {"effort": "low", "summary": "auto"}} if thinks else {}
            if stream:
                with client.responses.stream(**asked) as events:  # type: ignore[call-overload]
                    for _ in events:
                        pass
                    answer = events.get_final_response()
            else:
                answer = client.responses.create(**asked)  # type: ignore[call-overload]
        calls = [
            (item.call_id, item.name, json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        thoughts = "".join(
            part.text for item in answer.output if item.type == "reasoning" for part in item.summary
        )
        kept: list[object] = [
            {
                key: value
                for key, value in item.to_dict().items()
                if key not in ("status", "parsed_arguments")
            }
            for item in answer.output
        ]
        return Turn(answer.output_text, thoughts, calls, kept)

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"type": "function_call_output", "call_id": call[0], "output": out}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, *tool_results]


class AnthropicMessages:
    """`anthropic`, messages."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        data = base64.b64encode(image or b"").decode()
        seen = (
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": data},
                }
            ]
            if image
            else []
        )
        return [
            {"role": "user", "content": [*seen, {"type": "text", "text": text}] if image else text}
        ]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        tools = [
            {"name": name, "description": about, "input_schema": schema}
            for name, (about, schema) in TOOLS.items()
        ]
        client = _anthropic(url)
        with _map_errors():
            asked = {"model": model, "max_tokens": 4096, "messages": history, "tools": tools}
            asked |= {"thinking": {"type": "enabled", "budget_tokens": 1024}} if thinks else {}
            if stream:
                with client.messages.stream(**asked) as events:  # type: ignore[arg-type]
                    answer = events.get_final_message()
            else:
                answer = client.messages.create(**asked)  # type: ignore[call-overload]
        text = "".join(block.text for block in answer.content if block.type == "text")
        thoughts = "".join(block.thinking for block in answer.content if block.type == "thinking")
        calls = [
            (block.id, block.name, block.input)
            for block in answer.content
            if block.type == "tool_use"
        ]
        return Turn(
            text,
            thoughts,
            calls,
            [{"role": "assistant", "content": [block.to_dict() for block in answer.content]}],
        )

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"type": "tool_result", "tool_use_id": call[0], "content": out}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, {"role": "user", "content": tool_results}]


class GoogleGenai:
    """`google-genai`, generate_content. A stream is kept chunk by chunk, as the chats of the client
    do."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        seen = [types.Part.from_bytes(data=image, mime_type="image/png")] if image else []
        return [types.Content(role="user", parts=[*seen, types.Part(text=text)])]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        declared = [
            types.FunctionDeclaration(name=name, description=about, parameters_json_schema=schema)
            for name, (about, schema) in TOOLS.items()
        ]
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declared)],
            thinking_config=types.ThinkingConfig(include_thoughts=True) if thinks else None,
        )
        client = _genai(url)
        with _map_errors():
            if stream:
                chunks = list(
                    client.models.generate_content_stream(
                        model=model, contents=history, config=config
                    )
                )
            else:
                chunks = [
                    client.models.generate_content(model=model, contents=history, config=config)
                ]
        kept = [
            chunk.candidates[0].content
            for chunk in chunks
            if chunk.candidates and chunk.candidates[0].content
        ]
        kept = [content for content in kept if content.parts]
        parts = [part for content in kept for part in content.parts or []]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        thoughts = "".join(part.text for part in parts if part.text and part.thought)
        found = [part.function_call for part in parts if part.function_call is not None]
        calls = [(call.id or "", call.name or "", dict(call.args or {})) for call in found]
        return Turn(text, thoughts, calls, list(kept))

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call[0] or None, name=call[1], response={"output": out}
                )
            )
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, types.Content(role="user", parts=tool_results)]


class OllamaChat:
    """`ollama`, chat."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        return [
            ollama.Message(
                role="user", content=text, images=[ollama.Image(value=image)] if image else None
            )
        ]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        client = _ollama(url)
        with _map_errors():
            if not stream:
                message = client.chat(
                    model,
                    history,  # type: ignore[arg-type]
                    tools=functions(),  # type: ignore[arg-type]
                    think=thinks or None,
                ).message
            else:
                message = ollama.Message(role="assistant", content="", thinking="", tool_calls=[])
                for chunk in client.chat(
                    model, history, tools=functions(), think=thinks or None, stream=True
                ):  # type: ignore[call-overload]
                    message.content = f"{message.content}{chunk.message.content or ''}"
                    message.thinking = f"{message.thinking}{chunk.message.thinking or ''}"
                    message.tool_calls = [
                        *(message.tool_calls or []),
                        *(chunk.message.tool_calls or []),
                    ]
                message.tool_calls = message.tool_calls or None
        calls = [
            ("", call.function.name, dict(call.function.arguments))
            for call in message.tool_calls or []
        ]
        return Turn(message.content or "", message.thinking or "", calls, [message])

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            ollama.Message(role="tool", tool_name=call[1], content=out)
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, *tool_results]


Client = (
    OpenAIChat
    | OpenAIResponses
    | AnthropicMessages
    | GoogleGenai
    | GoogleInteractions
    | BedrockConverse
    | MistralChat
    | CohereChat
    | OllamaChat
)
CLIENTS: dict[str, Client] = {
    "openai-chat": OpenAIChat(),
    "openai-responses": OpenAIResponses(),
    "anthropic": AnthropicMessages(),
    "gemini": GoogleGenai(),
    "gemini-interactions": GoogleInteractions(),
    "bedrock": BedrockConverse(),
    "mistral": MistralChat(),
    "cohere": CohereChat(),
    "ollama": OllamaChat(),
}
"""The client APIs whose clients are written in Python."""
Runs = Callable[[str, dict[str, object]], str]


def talk(
    client: Client,
    url: str,
    model: str,
    text: str,
    stream: bool,
    run: Runs,
    *,
    thinks: bool = False,
) -> list[Turn]:
    """A conversation until the model calls no more tools."""
    history = client.begin(text)
    turns: list[Turn] = []
    while len(turns) < 6:
        turn = client.ask(url, model, history, stream, thinks=thinks)
        turns.append(turn)
        if not turn.calls:
            return turns
        history = client.go_on(history, turn, [run(name, given) for _, name, given in turn.calls])
    raise AssertionError("it never stopped")
