"""Check settings that an API has, but that a model or another setting forbids.

Each check is one function; `CHECKS` maps profiles to checks. The texts are those that users
reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, get, snake
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.profiles.table import Profile

Check: TypeAlias = "Callable[[Object, str], ErrorResponse | None]"


def check_settings(body: Object, profile: Profile, model: str) -> ErrorResponse | None:
    """The refusal of a request whose settings the model does not accept."""
    for check in CHECKS.get(profile.name, ()):
        refusal = check(body, model)
        if refusal is not None:
            return refusal
    return None


def _unsupported(name: str, help: str = "") -> ErrorResponse:
    return ErrorResponse(
        f"Unsupported parameter: '{name}' is not supported with this model.{help}",
        param=name,
        code="unsupported_parameter",
    )


# --- OpenAI ---------------------------------------------------------------------------------------

_REASONS = re.compile(r"^(?:o[1-9]|gpt-5(?!.*-chat))")
"""Models that reason: all but the chat variants of gpt-5 (manga-image-translator#1031)."""
_ALWAYS_REASONS = re.compile(r"^(?:o[1-9]|gpt-5(?![.\d]|.*-chat))")
"""Models whose reasoning cannot be switched off; since gpt-5.1 the effort may be `none`."""
_NEVER_REASONS = re.compile(r"^(?:gpt-[34]|chatgpt-4o)")
_SAMPLING = ("temperature", "top_p")
_NOT_WHILE_REASONING = ("logprobs", "top_logprobs", "presence_penalty", "frequency_penalty")


def _is_reasoning(model: str, effort: JSON | UnsetType) -> bool:
    if _ALWAYS_REASONS.match(model):
        return True
    return _REASONS.match(model) is not None and isinstance(effort, str) and effort != "none"


def _tools_of_chat(body: Object, model: str) -> ErrorResponse | None:
    if body.get("tools") == []:
        return ErrorResponse(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an"
            " empty array instead.",
            param="tools",
            code="empty_array",
            rule="name-unknown",
        )
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and not body.get("tools"):
            return ErrorResponse(
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
                param=name,
                rule="name-unknown",
            )
    return None


def _reasoning_models_of_chat(body: Object, model: str) -> ErrorResponse | None:
    if _NEVER_REASONS.match(model) and body.get("reasoning_effort") is not None:
        return ErrorResponse("Unrecognized request argument supplied: reasoning_effort")
    if _REASONS.match(model) and body.get("max_tokens") is not None:
        return _unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    if not _is_reasoning(model, body.get("reasoning_effort")):
        return None
    for name in _SAMPLING:
        if (value := body.get(name)) not in (None, 1):
            return ErrorResponse(
                f"Unsupported value: '{name}' does not support {value} with this model. Only the"
                " default (1) value is supported.",
                param=name,
                code="unsupported_value",
            )
    given = [name for name in ("stop", *_NOT_WHILE_REASONING) if body.get(name)]
    return _unsupported(given[0]) if given else None


def _reasoning_models_of_responses(body: Object, model: str) -> ErrorResponse | None:
    effort = get(body, ("reasoning", "effort"))
    if _NEVER_REASONS.match(model) and isinstance(effort, str):
        return _unsupported("reasoning.effort")
    if not _is_reasoning(model, effort):
        return None
    given = [name for name in (*_SAMPLING, "top_logprobs") if body.get(name) not in (None, 0, 1)]
    return _unsupported(given[0]) if given else None


# --- Anthropic ------------------------------------------------------------------------------------

_ONE_OF_TWO = re.compile(r"claude-(?:opus-4-[1-6]|(?:sonnet|haiku)-4-[5-9])(?!\d)")
"""Models that take `temperature` or `top_p`, not both: otoroshi-llm-extension#140, opencode#28930,
opik#3728."""
_WITHOUT_SAMPLING = re.compile(r"claude-(?:opus-4-[7-9]|[a-z]+-[5-9])(?!\d)")
"""Models released after Claude Opus 4.6 take no sampling settings, in no version of the API:
pi#7961, sim#5328, pr-agent#2456. The published API description lists the values that they still
accept."""
_STILL_TAKEN = (1, 0.99, math.inf)
"""The minimum temperature, `top_p` and `top_k` of these models."""
_FORCED = "Thinking may not be enabled when tool_choice forces tool use."


def _choice_without_tools(body: Object, model: str) -> ErrorResponse | None:
    if body.get("tool_choice") is not None and not body.get("tools"):
        return ErrorResponse("tool_choice may only be specified while providing tools.")
    return None


def _thinking(body: Object, model: str) -> ErrorResponse | None:
    if get(body, ("thinking", "type")) not in ("enabled", "adaptive"):
        return None
    if get(body, ("tool_choice", "type")) in ("any", "tool"):
        return ErrorResponse(_FORCED)
    if body.get("temperature") not in (None, 1):
        return ErrorResponse(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our"
            " documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )
    top_p, top_k = body.get("top_p"), body.get("top_k")
    if isinstance(top_p, int | float) and top_p < 0.95:
        return ErrorResponse(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
        )
    return (
        None if top_k is None else ErrorResponse("`top_k` must be unset when thinking is enabled.")
    )


def _sampling(body: Object, model: str) -> ErrorResponse | None:
    text = _refused_sampling(body, model, ("temperature", "top_p", "top_k"))
    return None if text is None else ErrorResponse(text)


def _refused_sampling(settings: Object, model: str, names: tuple[str, str, str]) -> str | None:
    """Why a model refuses sampling settings, whose names differ between wires."""
    temperature, top_p, _ = names
    if _WITHOUT_SAMPLING.search(model):
        for name, least in zip(names, _STILL_TAKEN, strict=True):
            value = settings.get(name)
            if isinstance(value, int | float) and value < least:
                return f"`{snake(name)}` is deprecated for this model."
    given = [name for name in (temperature, top_p) if settings.get(name) is not None]
    if len(given) == 2 and _ONE_OF_TWO.search(model):
        return (
            "`temperature` and `top_p` cannot both be specified for this model. Please use only"
            " one."
        )
    return None


# --- others ---------------------------------------------------------------------------------------


_RELAYED = "The model returned the following errors:"


def _thinking_of_bedrock(body: Object, model: str) -> ErrorResponse | None:
    thinking = get(body, ("additionalModelRequestFields", "thinking", "type"))
    choice = get(body, ("toolConfig", "toolChoice"))
    forced = isinstance(choice, dict) and bool(choice.keys() & {"any", "tool"})
    if thinking in ("enabled", "adaptive") and forced:
        return ErrorResponse(f"{_RELAYED} {_FORCED}")
    return None


def _sampling_of_bedrock(body: Object, model: str) -> ErrorResponse | None:
    config = body.get("inferenceConfig")
    more = body.get("additionalModelRequestFields")
    settings = {
        **(config if isinstance(config, dict) else {}),
        **(more if isinstance(more, dict) else {}),
    }
    text = _refused_sampling(settings, model, ("temperature", "topP", "top_k"))
    return None if text is None else ErrorResponse(f"{_RELAYED} {text}")


_BEFORE_GEMINI_3 = re.compile(r"^(?:models/)?gemini-[12]\b")


def _choice_without_functions(body: Object, model: str) -> ErrorResponse | None:
    config = body.get("toolConfig", body.get("tool_config"))
    choice = get(config, ("functionCallingConfig",)) or get(config, ("function_calling_config",))
    if not choice or not _BEFORE_GEMINI_3.match(model):
        return None
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        if get(tool, ("functionDeclarations",)) or get(tool, ("function_declarations",)):
            return None
    return ErrorResponse("Function calling config is set without function_declarations.")


_CHAT_CHECKS = (_tools_of_chat, _reasoning_models_of_chat)
_MESSAGES_CHECKS = (_choice_without_tools, _thinking, _sampling)
CHECKS: dict[str, tuple[Check, ...]] = {
    "openai-chat": _CHAT_CHECKS,
    "azure-openai": _CHAT_CHECKS,
    "openai-responses": (_reasoning_models_of_responses,),
    "anthropic": _MESSAGES_CHECKS,
    "vertex-anthropic": _MESSAGES_CHECKS,
    "bedrock": (_thinking_of_bedrock, _sampling_of_bedrock),
    "gemini": (_choice_without_functions,),
}
"""A profile and the checks of its server. Vertex takes a choice without functions:
pydantic-ai#5791."""
