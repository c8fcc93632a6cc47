"""Validate bodies by the types of the official SDKs. A validator raises if a body is not valid.

The types of some SDKs accept any field and any value; their validators also check what else the
service requires. A validator uses no code of this library. A further wire adds its validator as the
function `validate` in `wires/<wire>_validator.py`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from anthropic.types import Message as AnthropicMessage
from anthropic.types.beta.beta_message import BetaMessage
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaCreate
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Create
from botocore.model import ListShape, OperationModel, Shape, StructureShape  # type: ignore[import-untyped]
from botocore.session import get_session  # type: ignore[import-untyped]
from botocore.validate import ParamValidator  # type: ignore[import-untyped]
from cohere.types import (
    AssistantChatMessageV2,
    JsonObjectResponseFormatV2,
    SystemChatMessageV2,
    Thinking,
    ToolChatMessageV2,
    ToolV2,
    UserChatMessageV2,
)
from cohere.v2.types import V2ChatResponse
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types as genai
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageResultWithTools,
    ListToolsResult,
)
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mistralai.client.models import ChatCompletionRequest, ChatCompletionResponse
from ollama import ChatResponse, Image
from ollama._types import ChatRequest
from ollama._types import Message as OllamaMessage
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter, ValidationError

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

Validator: TypeAlias = "Callable[[JSON, Kind], None]"
REFUSALS = (AssertionError, KeyError, ValueError)
"""The exceptions that a validator raises."""


def drain(value: object) -> object:
    """Walk through what was validated: pydantic checks an `Iterable[...]` only when it is iterated."""
    if isinstance(value, str | bytes | BaseModel):
        return value
    if isinstance(value, Mapping):
        return {key: drain(item) for key, item in value.items()}
    return [drain(item) for item in value] if isinstance(value, Iterable) else value


class Params:
    """A request as the keyword arguments of the SDK's method: all of them known to it, each of its
    type."""

    def __init__(self, params: type) -> None:
        self.params = params
        self.known = frozenset(params.__required_keys__ | params.__optional_keys__)  # type: ignore[attr-defined]

    @cached_property  # building it takes a fifth of a second
    def adapter(self) -> TypeAdapter[object]:
        return TypeAdapter(self.params)

    def validate(self, body: JSON) -> None:
        assert isinstance(body, dict)
        assert body.keys() <= self.known, f"unknown fields: {sorted(body.keys() - self.known)}"
        # The model is the caller's to choose; not every wire names it in the body.
        drain(self.adapter.validate_python({"model": "any", **body, "stream": False}))


_CHAT, _RESPONSES = (
    Params(CompletionCreateParamsNonStreaming),
    Params(ResponseCreateParamsNonStreaming),
)
_MESSAGES, _BETA = Params(Create), Params(BetaCreate)


def openai_chat(body: JSON, kind: Kind) -> None:
    if kind == "response":
        ChatCompletion.model_validate(body)
    else:
        _CHAT.validate(body)


def openai_responses(body: JSON, kind: Kind) -> None:
    if kind == "response":
        Response.model_validate(body)
    else:
        _RESPONSES.validate(body)


def anthropic(body: JSON, kind: Kind) -> None:
    """The plain types first; beta fields are validated by the beta types."""
    plain, beta = (
        (AnthropicMessage.model_validate, BetaMessage.model_validate)
        if kind == "response"
        else (_MESSAGES.validate, _BETA.validate)
    )
    try:
        plain(body)
    except ValidationError:
        beta(body)


_CONFIG = ("tools", "toolConfig", "systemInstruction")


def gemini(body: JSON, kind: Kind) -> None:
    assert isinstance(body, dict)
    if kind == "response":
        genai.GenerateContentResponse.model_validate(body)
        return
    extra = body.keys() - {"model", "contents", "generationConfig", *_CONFIG}
    assert not extra, f"unknown fields: {sorted(extra)}"
    contents = body["contents"]
    assert isinstance(contents, list)
    for content in contents:
        sdk_content = genai.Content.model_validate(content)
        assert sdk_content.parts, "a content without parts is refused"
        assert all(part.model_dump(exclude_none=True) for part in sdk_content.parts), (
            "a part without data is refused"
        )
    settings = body.get("generationConfig") or {}
    assert isinstance(settings, dict)
    genai.GenerateContentConfig.model_validate(
        {**settings, **{key: body[key] for key in _CONFIG if key in body}}
    )


@cache
def _converse() -> OperationModel:
    return get_session().get_service_model("bedrock-runtime").operation_model("Converse")


def bedrock(body: JSON, kind: Kind) -> None:
    """The description of the service that the SDK itself reads."""
    assert isinstance(body, dict)
    shape = _converse().input_shape if kind == "request" else _converse().output_shape
    params = {"modelId": "any", **body} if kind == "request" else body
    report = str(ParamValidator().validate(_as_sdk_value(params, shape), shape).generate_report())
    assert not report, report


def _as_sdk_value(value: object, shape: Shape) -> object:
    """A JSON value as the SDK takes it: bytes where the description has a blob."""
    if shape.type_name == "blob" and isinstance(value, str):
        return b64decode(value, validate=True)
    if isinstance(shape, StructureShape) and isinstance(value, dict) and not shape.is_document_type:
        return {
            key: _as_sdk_value(item, shape.members[key]) if key in shape.members else item
            for key, item in value.items()
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_as_sdk_value(item, shape.member) for item in value]
    return value


def mistral(body: JSON, kind: Kind) -> None:
    assert isinstance(body, dict)
    if kind == "response":
        ChatCompletionResponse.model_validate(body)
        return
    ChatCompletionRequest.model_validate({"model": "any", **body})
    extra = body.keys() - ChatCompletionRequest.model_fields.keys()
    assert not extra, f"unknown fields: {sorted(extra)}"


_COHERE_ROLES: dict[str, type[BaseModel]] = {
    "user": UserChatMessageV2,
    "assistant": AssistantChatMessageV2,
    "system": SystemChatMessageV2,
    "tool": ToolChatMessageV2,
}
_COHERE_FIELDS = frozenset(
    "model messages tools strict_tools documents citation_options response_format safety_mode"
    " max_tokens stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs"
    " tool_choice thinking priority stream".split()
)


def cohere(body: JSON, kind: Kind) -> None:
    """The official types, made to validate: on their own they take anything."""
    assert isinstance(body, dict)
    if kind == "response":
        V2ChatResponse.model_validate(body)
        assert isinstance(body["message"], dict)
        assert isinstance(body["message"].get("content", []), list)
        return
    assert body.keys() <= _COHERE_FIELDS, f"unknown fields: {sorted(body.keys() - _COHERE_FIELDS)}"
    assert body.get("tool_choice") in (None, "REQUIRED", "NONE")
    messages, tools = body["messages"], body.get("tools", [])
    assert isinstance(messages, list)
    assert isinstance(tools, list)
    for message in messages:
        assert isinstance(message, dict)
        _COHERE_ROLES[str(message["role"])].model_validate(message)
    for tool in tools:
        ToolV2.model_validate(tool)
    if "response_format" in body:
        JsonObjectResponseFormatV2.model_validate(body["response_format"])
    if "thinking" in body:
        Thinking.model_validate(body["thinking"])


_OLLAMA_MESSAGE = frozenset(
    {"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}
)
"""The fields of the server's own type; the Python types do not know the last one and take any."""


def ollama(body: JSON, kind: Kind) -> None:
    """The official types, and the server's field names, which they do not insist on."""
    assert isinstance(body, dict)
    messages = body["messages"] if kind == "request" else [body["message"]]
    assert isinstance(messages, list)
    sdk_messages = [_as_sdk_message(message) for message in messages]
    if kind == "response":
        ChatResponse.model_validate({**body, "message": sdk_messages[0]})
    else:
        extra = body.keys() - ChatRequest.model_fields.keys()
        assert not extra, f"unknown fields: {sorted(extra)}"
        ChatRequest.model_validate({"model": "any", **body, "messages": sdk_messages})
    for message in sdk_messages:
        OllamaMessage.model_validate(message)


def _as_sdk_message(message: JSON) -> dict[str, object]:
    """A message as the Python types hold it: a picture is an object that prints as its base64."""
    assert isinstance(message, dict)
    assert message.keys() <= _OLLAMA_MESSAGE, (
        f"unknown fields: {sorted(message.keys() - _OLLAMA_MESSAGE)}"
    )
    images = message.get("images", [])
    assert isinstance(images, list)
    value = [Image.model_validate({"value": image}) for image in images]
    assert [image.model_dump() for image in value] == images
    return {**message, **({"images": value} if value else {})}


def adk(body: JSON, kind: Kind) -> None:
    """A session, or the list of its events."""
    if isinstance(body, dict):
        Session.model_validate(body)
    events = body["events"] if isinstance(body, dict) else body
    assert isinstance(events, list)
    for event in events:
        Event.model_validate(event)


def mcp(body: JSON, kind: Kind) -> None:
    """Every message is one of JSON-RPC, and what it holds is of the type its method or shape
    promises."""
    for message in body if isinstance(body, list) else [body]:
        assert isinstance(message, dict)
        jsonrpc_message_adapter.validate_python(message)
        value = message.get("result")
        if message.get("method") == "tools/call":
            CallToolRequestParams.model_validate(message["params"])
        elif isinstance(value, dict) and "tools" in value:
            ListToolsResult.model_validate(value)
        elif isinstance(value, dict) and "role" in value:
            CreateMessageResultWithTools.model_validate(value)
        elif isinstance(value, dict):
            CallToolResult.model_validate(value)


VALIDATORS: dict[str, Validator] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "azure-foundry": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock": bedrock,
    "mistral": mistral,
    "cohere": cohere,
    "ollama": ollama,
    "adk": adk,
    "mcp": mcp,
}


def find_validators() -> dict[str, Validator]:
    """The validators that wires add."""
    files = (Path(__file__).parent / "wires").glob("*_validator.py")
    stems = sorted(file.stem for file in files)
    return {
        stem.removesuffix("_validator").replace("_", "-"): import_module(f"wires.{stem}").validate
        for stem in stems
    }


VALIDATORS |= find_validators()


def complaints(wire: str, body: JSON, kind: Kind = "request") -> str:
    """Why the validator of a wire refuses a body; empty if it accepts it."""
    try:
        VALIDATORS[wire](body, kind)
    except REFUSALS as error:
        return str(error) or repr(error)
    return ""
