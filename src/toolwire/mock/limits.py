"""Check values of the right type that are out of the range that their API accepts.

The ranges of OpenAI, Anthropic and Bedrock are those of their published API descriptions, with
which a test compares them; the others are those of the providers' reference pages. This module uses
none of the code that reads bodies, so that the two can be tested against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, snake
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.profiles.table import Profile

Measure: TypeAlias = Literal["decimal", "integer", "array", "object", "string"]


class Limit(Struct, frozen=True):
    """The range of a number, or of the length of a list, an object or a text."""

    path: tuple[str, ...]
    measure: Measure = "decimal"
    least: float | None = None
    most: float | None = None

    def excess(self, value: JSON | UnsetType) -> Excess | None:
        """The excess of a value over the range; None if it is within, or of another type."""
        size = self._size(value)
        if size is None:
            return None
        if self.least is not None and size < self.least:
            return Excess(self, size, self.least, above=False)
        if self.most is not None and size > self.most:
            return Excess(self, size, self.most, above=True)
        return None

    def _size(self, value: JSON | UnsetType) -> float | None:
        if self.measure in ("decimal", "integer"):
            if isinstance(value, int | float) and not isinstance(value, bool):
                return value
            return None
        return len(value) if isinstance(value, _SIZED[self.measure]) else None


_SIZED: dict[str, type[list[JSON]] | type[dict[str, JSON]] | type[str]] = {
    "array": list,
    "object": dict,
    "string": str,
}


class Excess(Struct, frozen=True):
    """A value out of its range."""

    limit: Limit
    size: float
    """The value, or its length."""
    bound: float
    above: bool

    @property
    def at(self) -> str:
        """The path of the value, with dots."""
        return ".".join(self.limit.path)


class Choice(Struct, frozen=True):
    """A field whose type in the SDK is any text, and the values that the server accepts."""

    path: tuple[str, ...]
    values: tuple[str, ...]


def check_limits(body: Object, profile: Profile) -> ErrorResponse | None:
    """The refusal of a request with a value out of its range."""
    for path, refusal in _refusals(body, profile):
        return replace(refusal, violation_path=path)
    return None


def _refusals(body: Object, profile: Profile) -> Iterator[tuple[JsonPath, ErrorResponse]]:
    for limit in LIMITS.get(profile.name, ()):
        excess = limit.excess(_value(body, limit.path, profile))
        if excess is not None:
            yield limit.path, TEXTS[profile.name](excess)
    for choice in CHOICES.get(profile.name, ()):
        value = get(body, choice.path)
        if not isinstance(value, dict | UnsetType) and value not in (None, *choice.values):
            yield choice.path, CHOICE_TEXTS[profile.name](choice, value)


def _value(body: Object, path: tuple[str, ...], profile: Profile) -> JSON | UnsetType:
    """The value of a field, which protobuf also accepts under its snake_case name."""
    value = get(body, path)
    if value is UNSET and profile.wire == "gemini":
        value = get(body, tuple(map(snake, path)))
    return value


# --- the ranges -----------------------------------------------------------------------------------


def _below(name: str, *limits: Limit) -> tuple[Limit, ...]:
    """Limits of the fields of an object."""
    return tuple(replace(limit, path=(name, *limit.path)) for limit in limits)


_OPENAI = (
    Limit(("temperature",), least=0, most=2),
    Limit(("top_p",), least=0, most=1),
    Limit(("top_logprobs",), "integer", least=0, most=20),
    Limit(("metadata",), "object", most=16),
    Limit(("prompt_cache_key",), "string", most=64),
    Limit(("safety_identifier",), "string", most=64),
    Limit(("tools",), "array", most=128),
)
_CHAT = (
    *_OPENAI,
    Limit(("max_tokens",), "integer", least=1),
    Limit(("max_completion_tokens",), "integer", least=1),
    Limit(("n",), "integer", least=1, most=128),
    Limit(("presence_penalty",), least=-2, most=2),
    Limit(("frequency_penalty",), least=-2, most=2),
    Limit(("stop",), "array", most=4),
)
_RESPONSES = (
    *_OPENAI,
    Limit(("max_output_tokens",), "integer", least=16),
    Limit(("max_tool_calls",), "integer", least=1),
)
_MESSAGES = (
    Limit(("temperature",), least=0, most=1),
    Limit(("top_p",), least=0, most=1),
    Limit(("top_k",), "integer", least=0),
    Limit(("max_tokens",), "integer", least=0),
)
_CONTENT = _below(
    "generationConfig",
    Limit(("temperature",), least=0, most=2),
    Limit(("topP",), least=0, most=1),
    Limit(("topK",), "integer", least=1),
    Limit(("maxOutputTokens",), "integer", least=1),
    Limit(("candidateCount",), "integer", least=1, most=8),
    Limit(("stopSequences",), "array", most=5),
    Limit(("logprobs",), "integer", least=0, most=20),
    Limit(("presencePenalty",), least=-2, most=2),
    Limit(("frequencyPenalty",), least=-2, most=2),
)
_INTERACTIONS = _below(
    "generation_config",
    Limit(("temperature",), least=0, most=2),
    Limit(("top_p",), least=0, most=1),
    Limit(("max_output_tokens",), "integer", least=1),
    Limit(("stop_sequences",), "array", most=5),
)
_CONVERSE = _below(
    "inferenceConfig",
    Limit(("maxTokens",), "integer", least=1),
    Limit(("temperature",), least=0, most=1),
    Limit(("topP",), least=0, most=1),
    Limit(("stopSequences",), "array", most=2500),
)
_MISTRAL = (
    Limit(("temperature",), least=0, most=1.5),
    Limit(("top_p",), least=0, most=1),
    Limit(("max_tokens",), "integer", least=0),
    Limit(("n",), "integer", least=1),
    Limit(("presence_penalty",), least=-2, most=2),
    Limit(("frequency_penalty",), least=-2, most=2),
)
_COHERE = (
    Limit(("temperature",), least=0, most=1),
    Limit(("p",), least=0.01, most=0.99),
    Limit(("k",), "integer", least=0, most=500),
    Limit(("max_tokens",), "integer", least=0),
    Limit(("presence_penalty",), least=0, most=1),
    Limit(("frequency_penalty",), least=0, most=1),
    Limit(("stop_sequences",), "array", most=5),
)
LIMITS: dict[str, tuple[Limit, ...]] = {
    **dict.fromkeys(("openai-chat", "azure-openai"), _CHAT),
    **dict.fromkeys(("openai-responses", "azure-foundry"), _RESPONSES),
    **dict.fromkeys(("anthropic", "vertex-anthropic"), _MESSAGES),
    **dict.fromkeys(("gemini", "vertex-gemini"), _CONTENT),
    "gemini-interactions": _INTERACTIONS,
    **dict.fromkeys(("bedrock", "bedrock-mistral"), _CONVERSE),
    "mistral": _MISTRAL,
    "cohere": _COHERE,
}
"""A profile and its ranges. https://platform.openai.com/docs/api-reference,
https://ai.google.dev/api/generate-content#generationconfig, https://docs.mistral.ai/api (1.5:
SillyTavern#4856), https://docs.cohere.com/reference/chat. Ollama has none."""
CHOICES: dict[str, tuple[Choice, ...]] = {
    "mistral": (Choice(("tool_choice",), ("auto", "none", "any", "required")),),
    "cohere": (Choice(("tool_choice",), ("REQUIRED", "NONE")),),
}


# --- the texts ------------------------------------------------------------------------------------


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 else str(value)


def _openai(excess: Excess) -> ErrorResponse:
    measure, bound, got = excess.limit.measure, _number(excess.bound), _number(excess.size)
    end = "max" if excess.above else "min"
    side = f"{'above' if excess.above else 'below'}_{end}"
    if measure in ("decimal", "integer"):
        sign, code = ("<=" if excess.above else ">="), f"{measure}_{side}_value"
        fault = f"{measure} {side.split('_')[0]} {end}imum value"
        wanted = f"Expected a value {sign} {bound}, but got {got} instead."
    elif measure == "object":
        fault, code = "too many properties", f"object_{side}_properties"
        wanted = (
            f"Expected an object with at most {bound} properties, but got an object with {got}"
            " properties instead."
        )
    else:
        noun = f"a{'n' if measure == 'array' else ''} {measure}"
        fault, code = f"{measure} too long", f"{measure}_{side}_length"
        wanted = (
            f"Expected {noun} with maximum length {bound}, but got {noun} with length {got}"
            " instead."
        )
    return ErrorResponse(f"Invalid '{excess.at}': {fault}. {wanted}", param=excess.at, code=code)


def _anthropic(excess: Excess) -> ErrorResponse:
    """A text of the server for each side of a range: anthropic-sdk-python#893."""
    limit = excess.limit
    if limit.most is not None:
        return ErrorResponse(f"{excess.at}: range: {limit.least:g}..{limit.most:g}")
    return ErrorResponse(f"{excess.at}: Input should be greater than or equal to {limit.least:g}")


def _gemini(excess: Excess) -> ErrorResponse:
    limit, name = excess.limit, snake(excess.limit.path[-1])
    at = ".".join(map(snake, limit.path))
    if limit.most is None:
        wanted = "must be positive"
    elif limit.measure == "array":
        wanted = f"must have at most {limit.most:g} elements"
    else:
        wanted = f"must be in the range [{limit.least}, {limit.most}]"
    return ErrorResponse(f"* GenerateContentRequest.{at}: {name} {wanted}.\n")


def _interactions(excess: Excess) -> ErrorResponse:
    sign = "at most" if excess.above else "at least"
    return ErrorResponse(
        f"Invalid value at '{excess.at}': expected {sign} {excess.bound:g}.", code="invalid_request"
    )


def _bedrock(excess: Excess) -> ErrorResponse:
    """stdapi.ai#224"""
    side = "less" if excess.above else "greater"
    what = "length" if excess.limit.measure == "array" else "value"
    value = "" if what == "length" else f"'{excess.size}' "
    return ErrorResponse(
        f"1 validation error detected: Value {value}at '{excess.at}' failed to satisfy constraint:"
        f" Member must have {what} {side} than or equal to {excess.bound:g}"
    )


def _mistral(excess: Excess) -> ErrorResponse:
    """talemate#102"""
    side = "less" if excess.above else "greater"
    return ErrorResponse(
        f"Input should be {side} than or equal to {excess.bound:g}",
        422,
        code=f"{side}_than_equal",
        path=excess.limit.path,
        value=excess.size,
    )


def _cohere(excess: Excess) -> ErrorResponse:
    limit = excess.limit
    if limit.measure == "array":
        wanted = f"must have at most {excess.bound:g} elements"
    elif limit.most is None:
        wanted = f"must be greater than or equal to {excess.bound:g}"
    else:
        wanted = f"must be between {limit.least:g} and {limit.most:g} inclusive"
    return ErrorResponse(f"invalid request: {excess.at} {wanted}.")


def _mistral_choice(choice: Choice, value: JSON) -> ErrorResponse:
    quoted = [f"'{value}'" for value in choice.values]
    text = f"Input should be {', '.join(quoted[:-1])} or {quoted[-1]}"
    return ErrorResponse(text, 422, code="literal_error", path=choice.path, value=value)


def _cohere_choice(choice: Choice, value: JSON) -> ErrorResponse:
    values = ", ".join(choice.values)
    return ErrorResponse(f"invalid request: {choice.path[-1]} must be one of: {values}.")


TEXTS: dict[str, Callable[[Excess], ErrorResponse]] = {
    **dict.fromkeys(("openai-chat", "azure-openai", "openai-responses", "azure-foundry"), _openai),
    **dict.fromkeys(("anthropic", "vertex-anthropic"), _anthropic),
    **dict.fromkeys(("gemini", "vertex-gemini"), _gemini),
    "gemini-interactions": _interactions,
    **dict.fromkeys(("bedrock", "bedrock-mistral"), _bedrock),
    "mistral": _mistral,
    "cohere": _cohere,
}
CHOICE_TEXTS: dict[str, Callable[[Choice, JSON], ErrorResponse]] = {
    "mistral": _mistral_choice,
    "cohere": _cohere_choice,
}
