"""Check that a response has every field of its provider's responses, by published schemas and types.

The OpenAPI documents of four APIs are those that the conformance suite `llm-comply` brings.
They distinguish a field that is null from one that is missing, which the types of most SDKs do not. A
validator takes a body, or one event of a stream, and returns the problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import TypeAlias

import jsonschema_rs
from botocore.model import ListShape, Shape, StructureShape  # type: ignore[import-untyped]
from botocore.session import get_session  # type: ignore[import-untyped]
from cohere.v2.types import V2ChatResponse, V2ChatStreamResponse
from google.genai.types import GenerateContentResponse
from llm_comply.schema import SSE_EVENT_TO_SCHEMA  # type: ignore[import-untyped]
from mistralai.client.models import ChatCompletionResponse, CompletionChunk
from ollama import ChatResponse
from pydantic import TypeAdapter, ValidationError

from toolwire.conversation.json import JSON, Object, get, parse, put
from toolwire.wires.engine.specs import list_at, require_object

AnswerValidator: TypeAlias = "Callable[[Object], Iterator[str]]"


# --- published schemas ----------------------------------------------------------------------------


@cache
def _document(name: str) -> Object:
    document = parse((resources.files("llm_comply") / "specs" / name).read_bytes())
    assert isinstance(document, dict)
    return {"components": _as_json_schema(document["components"])}


def _as_json_schema(schema: JSON) -> JSON:
    """A schema of OpenAPI 3.0 as JSON Schema, which has no `nullable`."""
    if isinstance(schema, list):
        return [_as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain: Object = {
        key: _as_json_schema(item) for key, item in schema.items() if key != "nullable"
    }
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") is True else plain


@cache
def _validator(document: str, schema: str) -> jsonschema_rs.Validator:
    reference: Object = {"$ref": f"#/components/schemas/{schema}"}
    return jsonschema_rs.Draft202012Validator({**_document(document), **reference})


def _validate(document: str, schema: str, value: JSON) -> Iterator[str]:
    for error in _validator(document, schema).iter_errors(value):
        yield f"{schema} /{'/'.join(map(str, error.instance_path))}: {error.message[-300:]}"


def _openai_chat(body: Object) -> Iterator[str]:
    """The document is older than custom tools, whose calls are left out."""
    field = "delta" if body.get("object") == "chat.completion.chunk" else "message"
    name = {
        "delta": "CreateChatCompletionStreamResponse",
        "message": "CreateChatCompletionResponse",
    }
    for i, choice in enumerate(list_at("openai-chat", body, ("choices",))):
        calls = get(choice, (field, "tool_calls")) or []
        if isinstance(calls, list) and any(get(call, ("type",)) == "custom" for call in calls):
            kept = [call for call in calls if get(call, ("type",)) != "custom"]
            body = require_object(put(body, ("choices", i, field, "tool_calls"), kept))
    yield from _validate("openai_chat.json", name[field], body)


_ANTHROPIC_EVENTS = {
    "message": "Message",
    "message_start": "MessageStartEvent",
    "message_delta": "MessageDeltaEvent",
    "message_stop": "MessageStopEvent",
    "content_block_start": "ContentBlockStartEvent",
    "content_block_delta": "ContentBlockDeltaEvent",
    "content_block_stop": "ContentBlockStopEvent",
}


def _anthropic(body: Object) -> Iterator[str]:
    yield from _validate("anthropic.json", _ANTHROPIC_EVENTS[str(body["type"])], body)


_INTERACTION_EVENTS = {
    "interaction.created": "InteractionCreatedEvent",
    "interaction.status_update": "InteractionStatusUpdate",
    "interaction.completed": "InteractionCompletedEvent",
    "step.start": "StepStart",
    "step.delta": "StepDelta",
    "step.stop": "StepStop",
    "error": "ErrorEvent",
}


def _gemini_interactions(body: Object) -> Iterator[str]:
    """The schema requires the status; its descriptions say that other fields are required too. It
    lists the models of the provider, so the name of another one is left out."""
    kind = body.get("event_type")
    schema = "Interaction" if kind is None else _INTERACTION_EVENTS[str(kind)]
    plain: Object = {key: value for key, value in body.items() if key != "model"}
    yield from _validate("google_interactions.json", schema, plain)
    if kind is None:
        required = ("id", "model", "created", "updated", "steps")
        yield from (f"no {field}" for field in required if field not in body)


_RESPONSES_EVENTS = {
    **SSE_EVENT_TO_SCHEMA,
    "response.reasoning_summary_text.delta": "ResponseReasoningSummaryDeltaStreamingEvent",
    "response.reasoning_summary_text.done": "ResponseReasoningSummaryDoneStreamingEvent",
}
_RESPONSES_ITEMS = ("message", "function_call", "function_call_output", "reasoning")
"""The items of the specification; other items of a provider are not checked."""


def _openai_responses(body: Object) -> Iterator[str]:
    if body.get("object") == "response":
        yield from _validate("openresponses.json", "ResponseResource", _without_own_items(body))
        return
    kind, item, response = str(body["type"]), body.get("item"), body.get("response")
    schema = _RESPONSES_EVENTS.get(kind)
    if schema is None or (isinstance(item, dict) and item.get("type") not in _RESPONSES_ITEMS):
        return
    if isinstance(response, dict):
        body = {**body, "response": _without_own_items(response)}
    yield from _validate("openresponses.json", schema, body)


def _without_own_items(response: Object) -> Object:
    output = response.get("output")
    assert isinstance(output, list)
    kept = [item for item in output if get(item, ("type",)) in _RESPONSES_ITEMS]
    return {**response, "output": kept}


# --- types of SDKs --------------------------------------------------------------------------------


def _complaints(validate: Callable[[Object], object], body: Object) -> Iterator[str]:
    try:
        validate(body)
    except ValidationError as error:
        yield from (str(each["loc"]) + each["msg"] for each in error.errors())


def _mistral(body: Object) -> Iterator[str]:
    is_chunk = body.get("object") == "chat.completion.chunk"
    sdk_type = CompletionChunk if is_chunk else ChatCompletionResponse
    yield from _complaints(sdk_type.model_validate, body)


_COHERE_EVENT: TypeAdapter[object] = TypeAdapter(V2ChatStreamResponse)


def _cohere(body: Object) -> Iterator[str]:
    validate = _COHERE_EVENT.validate_python if "type" in body else V2ChatResponse.model_validate
    yield from _complaints(validate, body)
    if body.get("type") in (None, "message-start") and not body.get("id"):
        yield "no id"


def _gemini(body: Object) -> Iterator[str]:
    yield from _complaints(GenerateContentResponse.model_validate, body)
    yield from (f"no {key}" for key in ("responseId", "modelVersion") if not body.get(key))


_LAST_LINE = (
    "done_reason",
    *"total_duration load_duration prompt_eval_count prompt_eval_duration".split(),
    *"eval_count eval_duration".split(),
)


def _ollama(body: Object) -> Iterator[str]:
    message = body.get("message")
    assert isinstance(message, dict)
    pictures = message.get("images")
    images: Object = {
        "images": [{"value": image} for image in pictures] if isinstance(pictures, list) else []
    }
    yield from _complaints(ChatResponse.model_validate, {**body, "message": {**message, **images}})
    last = _LAST_LINE if body.get("done") is True else ()
    fields = ("model", "created_at", "message", "done", *last)
    yield from (f"no {key}" for key in fields if body.get(key) is None)


_CONVERSE = get_session().get_service_model("bedrock-runtime")


def _bedrock(body: Object) -> Iterator[str]:
    """The required members of the service's own description, which its SDK does not check."""
    if "output" in body:
        yield from _missing(_CONVERSE.shape_for("ConverseResponse"), body, "")
    else:
        yield from _missing(_CONVERSE.shape_for("ConverseStreamOutput"), body, "")


def _missing(shape: Shape, value: JSON, path: str) -> Iterator[str]:
    if isinstance(shape, ListShape) and isinstance(value, list):
        for i, item in enumerate(value):
            yield from _missing(shape.member, item, f"{path}/{i}")
    if not isinstance(shape, StructureShape) or not isinstance(value, dict):
        return
    yield from (f"no {path}/{name}" for name in shape.required_members if name not in value)
    for name, item in value.items():
        if name in shape.members:
            yield from _missing(shape.members[name], item, f"{path}/{name}")


VALIDATORS: dict[str, AnswerValidator] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _gemini_interactions,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "ollama": _ollama,
}


def complaints(wire: str, body: JSON) -> list[str]:
    """The problems of a response, or of an event of a stream."""
    assert isinstance(body, dict)
    if set(body) == {"error"} or body.get("type") == "error":
        return []
    empty = [key for key in ("id", "model", "created", "created_at") if body.get(key) in ("", 0)]
    return [*VALIDATORS[wire](body), *(f"{key} is empty" for key in empty)]
