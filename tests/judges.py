"""Who says whether a body is valid on a wire: the official SDK's own types. A judge raises if it is not.

A judge of a further wire is one more line in JUDGES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from anthropic.types import Message as AnthropicMessage
from anthropic.types.beta.beta_message import BetaMessage
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaCreate
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Create
from google.genai import types as genai
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter, ValidationError

from toolwire._json import JSON
from toolwire.model import Kind

Judge: TypeAlias = "Callable[[JSON, Kind], None]"


def drain(value: object) -> object:
    """Walk through what was validated: an `Iterable[...]` is checked only when somebody takes its items."""
    if isinstance(value, str | bytes | BaseModel):
        return value
    if isinstance(value, Mapping):
        return {key: drain(item) for key, item in value.items()}
    return [drain(item) for item in value] if isinstance(value, Iterable) else value


class Params:
    """A request as the keyword arguments of the SDK's method: all of them known to it, each of its type."""

    def __init__(self, params: type) -> None:
        self.adapter: TypeAdapter[object] = TypeAdapter(params)
        self.known = frozenset(params.__required_keys__ | params.__optional_keys__)  # type: ignore[attr-defined]

    def judge(self, body: JSON) -> None:
        assert isinstance(body, dict)
        assert body.keys() <= self.known, f"unknown fields: {sorted(body.keys() - self.known)}"
        # The model is the caller's to choose; not every wire names it in the body.
        drain(self.adapter.validate_python({"model": "any", **body, "stream": False}))


_CHAT, _MESSAGES, _BETA = Params(CompletionCreateParamsNonStreaming), Params(Create), Params(BetaCreate)


def openai_chat(body: JSON, kind: Kind) -> None:
    if kind == "response":
        ChatCompletion.model_validate(body)
    else:
        _CHAT.judge(body)


def anthropic(body: JSON, kind: Kind) -> None:
    """The plain types first; what is only in beta is judged by those."""
    plain, beta = (
        (AnthropicMessage.model_validate, BetaMessage.model_validate) if kind == "response" else (_MESSAGES.judge, _BETA.judge)
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
        found = genai.Content.model_validate(content)
        assert found.parts, "a content without parts is refused"
        assert all(part.model_dump(exclude_none=True) for part in found.parts), "a part without data is refused"
    settings = body.get("generationConfig") or {}
    assert isinstance(settings, dict)
    genai.GenerateContentConfig.model_validate({**settings, **{key: body[key] for key in _CONFIG if key in body}})


JUDGES: dict[str, Judge] = {
    "openai-chat": openai_chat,
    "anthropic": anthropic,
    "gemini": gemini,
}
