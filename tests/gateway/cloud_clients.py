"""The official clients of Bedrock and Cohere; see `clients.py`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Protocol

import boto3  # type: ignore[import-untyped]
import cohere
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import ClientError, EventStreamError  # type: ignore[import-untyped]
from cohere.core.api_error import ApiError as CohereError
from cohere.core.request_options import RequestOptions
from gateway.turns import History, RequestRefused, Turn
from mock.tools import TOOLS, functions
from pydantic import BaseModel


@contextmanager
def _map_errors() -> Iterator[None]:
    try:
        yield
    except EventStreamError as error:
        raise RequestRefused(None, str(error)) from None
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        raise RequestRefused(status, error.response["Error"]["Message"]) from None
    except CohereError as error:
        body = error.body
        raise RequestRefused(
            error.status_code, str(body["message"] if isinstance(body, dict) else body)
        ) from None


Block = dict[str, object]


class BedrockRuntime(Protocol):
    """The two operations of boto3's client, whose class is created at run time."""

    def converse(self, **fields: object) -> object: ...
    def converse_stream(self, **fields: object) -> Mapping[str, Iterable[object]]: ...


@cache
def _boto3(url: str) -> BedrockRuntime:
    made: BedrockRuntime = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="AKIA0",
        aws_secret_access_key="any",
        config=Config(retries={"total_max_attempts": 1}),
    )
    return made


@cache
def _cohere(url: str) -> cohere.ClientV2:
    return cohere.ClientV2(api_key="any", base_url=url)


def close_cloud_clients() -> None:
    """Close these clients."""
    _boto3.cache_clear()
    _cohere.cache_clear()


class BedrockConverse:
    """`boto3`, converse, with signed requests. Bytes are bytes, not base64."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        seen = [{"image": {"format": "png", "source": {"bytes": image}}}] if image else []
        return [{"role": "user", "content": [*seen, {"text": text}]}]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        tools = [
            {"toolSpec": {"name": name, "description": about, "inputSchema": {"json": schema}}}
            for name, (about, schema) in TOOLS.items()
        ]
        asked: Block = {"modelId": model, "messages": history, "toolConfig": {"tools": tools}}
        if thinks:
            thinking = {"type": "enabled", "budget_tokens": 1024}
            asked["additionalModelRequestFields"] = {"thinking": thinking}
            asked["inferenceConfig"] = {"maxTokens": 4096}
        content: list[Block] = []
        with _map_errors():
            if stream:
                content = _fold_blocks(_boto3(url).converse_stream(**asked)["stream"])
            else:
                match _boto3(url).converse(**asked):
                    case {"output": {"message": {"content": list(blocks)}}}:
                        content = blocks
        turn = Turn("", "", [], [{"role": "assistant", "content": content}])
        for block in content:
            match block:
                case {"text": str(text)}:
                    turn.text += text
                case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
                    turn.thoughts += text
                case {"toolUse": {"toolUseId": str(one), "name": str(name), "input": dict(given)}}:
                    turn.calls.append((one, name, given))
        return turn

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"toolResult": {"toolUseId": call[0], "content": [{"text": out}]}}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, {"role": "user", "content": tool_results}]


class _Growing:
    """A block of a stream, as programs put it together."""

    def __init__(self) -> None:
        self.text = ""
        self.input = ""
        self.use: Block = {}
        self.thought: dict[str, str] = {}
        self.redacted = b""

    def add(self, delta: object) -> None:
        match delta:
            case {"text": str(text)}:
                self.text += text
            case {"toolUse": {"input": str(text)}}:
                self.input += text
            case {"reasoningContent": {"redactedContent": bytes(data)}}:
                self.redacted += data
            case {"reasoningContent": dict(pieces)}:
                for key, piece in pieces.items():
                    self.thought[key] = self.thought.get(key, "") + piece

    def block(self) -> Block:
        if self.use:
            return {"toolUse": {**self.use, "input": json.loads(self.input or "{}")}}
        if self.thought:
            return {"reasoningContent": {"reasoningText": self.thought}}
        if self.redacted:
            return {"reasoningContent": {"redactedContent": self.redacted}}
        return {"text": self.text}


def _fold_blocks(events: Iterable[object]) -> list[Block]:
    """The blocks of a stream, by their index."""
    blocks: dict[int, _Growing] = {}
    for event in events:
        match event:
            case {"contentBlockStart": {"contentBlockIndex": int(n), "start": {"toolUse": use}}}:
                blocks.setdefault(n, _Growing()).use = dict(use)
            case {"contentBlockDelta": {"contentBlockIndex": int(n), "delta": delta}}:
                blocks.setdefault(n, _Growing()).add(delta)
    return [blocks[n].block() for n in sorted(blocks)]


class CohereChat:
    """`cohere`, chat of version 2."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        shown = f"data:image/png;base64,{base64.b64encode(image or b'').decode()}"
        seen = [{"type": "image_url", "image_url": {"url": shown}}] if image else []
        return [
            {"role": "user", "content": [*seen, {"type": "text", "text": text}] if image else text}
        ]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        asked: Block = {"model": model, "messages": history, "tools": functions()}
        asked["request_options"] = RequestOptions(max_retries=0)
        if thinks:
            asked["thinking"] = {"type": "enabled"}
        client = _cohere(url)
        with _map_errors():
            if stream:
                message = _join_message(client.chat_stream(**asked))  # type: ignore[arg-type]
            else:
                whole = client.chat(**asked)  # type: ignore[arg-type]
                message = whole.message.model_dump(exclude_none=True)
        turn = Turn("", "", [], [message])
        for block in _objects(message.get("content")):
            turn.text += str(block.get("text", ""))
            turn.thoughts += str(block.get("thinking", ""))
        for call in _objects(message.get("tool_calls")):
            match call:
                case {"id": str(one), "function": {"name": str(name), "arguments": str(given)}}:
                    turn.calls.append((one, name, json.loads(given)))
        return turn

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"role": "tool", "tool_call_id": call[0], "content": out}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, *tool_results]


def _objects(value: object) -> list[Block]:
    return value if isinstance(value, list) else []


def _join_message(events: Iterable[BaseModel]) -> Block:
    """The message of a stream, as programs put it together."""
    content: dict[int, dict[str, str]] = {}
    calls: dict[int, dict[str, dict[str, str]]] = {}
    plan = ""
    for event in events:
        match event.model_dump(exclude_none=True):
            case {"type": "content-start", "index": n, "delta": {"message": {"content": block}}}:
                content[n] = block
            case {"type": "content-delta", "index": n, "delta": {"message": {"content": more}}}:
                for key, piece in more.items():
                    content[n][key] = content[n].get(key, "") + piece
            case {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}}:
                plan += text
            case {
                "type": "tool-call-start",
                "index": n,
                "delta": {"message": {"tool_calls": call}},
            }:
                calls[n] = call
            case {
                "type": "tool-call-delta",
                "index": n,
                "delta": {"message": {"tool_calls": {"function": {"arguments": text}}}},
            }:
                calls[n]["function"]["arguments"] += text
    found: Block = {
        "role": "assistant",
        "content": list(content.values()),
        "tool_calls": list(calls.values()),
        "tool_plan": plan,
    }
    return {key: value for key, value in found.items() if value}
