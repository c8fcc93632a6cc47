"""Whether the types of a provider's official SDK accept a request: with all required fields, and
without fields that they do not list. Independent of the mock."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

import validators
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaCreate
from cohere.v2.client import V2Client
from google.genai import types
from google.genai._gaos.types.interactions import CreateModelInteraction
from jsonschema_rs import validator_for
from mistralai.client.models import ChatCompletionRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from toolwire.conversation.json import JSON, Object, get


def closed(schema: JSON) -> JSON:
    """A JSON Schema whose objects have no further fields. Classes for answers are left out of
    unions: they are open, and only there so that an answer may be passed back."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: Object = {key: closed(value) for key, value in schema.items()}
    if isinstance(found.get("properties"), dict):
        found["additionalProperties"] = False
    return found


def _without_answers(schema: Object) -> Object:
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    answers = {
        name
        for name, one in definitions.items()
        if isinstance(one, dict) and one.get("additionalProperties") is True and "properties" in one
    }
    return {**schema, "$defs": {**definitions, **dict.fromkeys(answers, False)}}


def _cohere() -> Object:
    signature = inspect.signature(V2Client.chat, eval_str=True)
    fields = {
        name: (parameter.annotation, ... if parameter.default is parameter.empty else None)
        for name, parameter in signature.parameters.items()
        if name not in ("self", "request_options")
    }
    config = ConfigDict(arbitrary_types_allowed=True)
    schema: Object = create_model("R", __config__=config, **fields).model_json_schema()  # type: ignore[call-overload]
    return schema


def _interactions() -> Object:
    """Without the classes for types that the SDK does not know; an object without fields has any."""
    schema: Object = CreateModelInteraction.model_json_schema()
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    for name, one in definitions.items():
        if name.startswith("Unknown"):
            definitions[name] = False
        elif get(one, ("properties",)) == {}:
            definitions[name] = {"type": "object"}
    return schema


SCHEMAS: dict[str, Callable[[], Object]] = {
    "openai-chat": lambda: TypeAdapter(CompletionCreateParamsNonStreaming).json_schema(),
    "openai-responses": lambda: TypeAdapter(ResponseCreateParamsNonStreaming).json_schema(),
    "anthropic": lambda: _without_answers(TypeAdapter(BetaCreate).json_schema()),
    "gemini-interactions": _interactions,
    "mistral": ChatCompletionRequest.model_json_schema,
    "cohere": _cohere,
}

TAGGED = frozenset({"gemini-interactions", "mistral"})
"""Wires whose unions need their tags, which JSON Schema does not say: the classes do."""


@cache
def _is_valid(wire: str) -> Callable[[JSON], bool]:
    schema = closed(SCHEMAS[wire]())
    assert isinstance(schema, dict)
    return validator_for(schema).is_valid


def accepts(wire: str, body: Object) -> bool:
    """True if the types of the SDK allow a request."""
    if wire in SCHEMAS and wire not in TAGGED:
        return _is_valid(wire)(body)
    try:
        refused = validators.complaints(wire, body)
        schema = get(body, ("generationConfig", "responseSchema"))
        if wire == "gemini" and schema:  # the client takes any object and makes it one
            types.Schema.model_validate(schema)
    except (AttributeError, TypeError, ValidationError):  # a validator that expects text
        return False
    return not refused and (wire not in TAGGED or _is_valid(wire)(body))
