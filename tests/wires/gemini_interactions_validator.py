"""Whether a body of Gemini Interactions is valid, by the types of `google-genai`.

Its unions take any type that they do not know, and its models any field: both are refused here.
"""

from __future__ import annotations

from google.genai._gaos.types.interactions import (
    Content,
    CreateModelInteraction,
    Interaction,
    Step,
    Tool,
)
from pydantic import BaseModel, TypeAdapter

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

_STEP: TypeAdapter[object] = TypeAdapter(Step)
_CONTENT: TypeAdapter[object] = TypeAdapter(Content)
_TOOL: TypeAdapter[object] = TypeAdapter(Tool)
_VALUES = frozenset(
    {"arguments", "result", "schema", "parameters", "custom_metadata", "response_format"}
)
"""Fields that hold any JSON, or objects whose fields the types leave open."""

_CONTENT_RESULTS = frozenset({"function_result", "mcp_server_tool_result"})


def validate(body: JSON, kind: Kind) -> None:
    """Raise if the body is not valid."""
    assert isinstance(body, dict)
    if kind == "response":
        for field in ("id", "status", "created", "updated"):
            assert isinstance(body[field], str), f"required: {field}"
        check_known_fields(Interaction.model_validate(body), body, extra=frozenset({"object"}))
        check_steps(body.get("steps"))
        return
    check_known_fields(CreateModelInteraction.model_validate({"model": "any", **body}), body)
    history = body.get("input")
    if isinstance(history, list) and all("content" in _types(entry) for entry in history):
        check_contents(history)
    elif isinstance(history, dict):
        check_contents([history])
    elif not isinstance(history, str | None):
        check_steps(history)
    tools = body.get("tools", [])
    assert isinstance(tools, list)
    for tool in tools:
        check_known_fields(_TOOL.validate_python(tool), tool)


def _types(entry: JSON) -> frozenset[str]:
    assert isinstance(entry, dict), "a step is an object"
    kinds = ("text", "image", "audio", "video", "document")
    return frozenset({"content"} if entry.get("type") in kinds else {"step"})


def check_steps(steps: JSON) -> None:
    """Raise if one of some steps is not valid."""
    assert isinstance(steps, list), "steps are a list"
    for step in steps:
        assert isinstance(step, dict), "a step is an object"
        check_known_fields(_STEP.validate_python(step), step)
        for field in ("content", "summary", "result"):
            content = step.get(field)
            if isinstance(content, list) and (
                field != "result" or step["type"] in _CONTENT_RESULTS
            ):
                check_contents(content)


def check_contents(contents: list[JSON]) -> None:
    """Raise if one of some content blocks is not valid."""
    for content in contents:
        assert isinstance(content, dict), "content is an object"
        check_known_fields(_CONTENT.validate_python(content), content)


def check_known_fields(model: object, value: JSON, extra: frozenset[str] = frozenset()) -> None:
    """Raise if a model is of an unknown variant, or has not all fields of its JSON."""
    assert isinstance(model, BaseModel)
    assert isinstance(value, dict)
    assert not type(model).__name__.startswith("Unknown"), f"unknown type: {value.get('type')}"
    fields = {field.alias or name for name, field in type(model).model_fields.items()}
    assert value.keys() <= fields | extra, f"unknown fields: {sorted(value.keys() - fields)}"
    for name, field in type(model).model_fields.items():
        nested, inner = model.__dict__[name], value.get(field.alias or name)
        if isinstance(nested, BaseModel) and name not in _VALUES and isinstance(inner, dict):
            check_known_fields(nested, inner)
