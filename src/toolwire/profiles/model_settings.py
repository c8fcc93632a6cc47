"""Settings of an API that some of its models refuse, as facts with sources.

Models that reason refuse a `temperature`, for example: "Unsupported value: 'temperature' does not
support 0.5 with this model. Only the default (1) value is supported."
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from toolwire.conversation.model import Choice, Setting
from toolwire.profiles.profile import Profile, names_model


class RefusedSettings(Struct, frozen=True):
    """Settings that some models of a provider refuse."""

    models: str
    """The pattern of the model names."""
    settings: tuple[str, ...]
    while_reasoning: bool = False
    """True if the settings are refused only together with an effort other than `none`."""
    beside: str = ""
    """The setting together with which they are refused; empty if they are always refused."""
    takes_defaults: bool = True
    """False if they are refused even with their default values."""
    source: str = ""


_SAMPLING = ("temperature", "top_p", "top_logprobs", "logprobs")
_PENALTIES = ("presence_penalty", "frequency_penalty")
_ALWAYS = r"^(?:o[1-9]|gpt-5(?![.\d]|.*-chat))"
_BY_EFFORT = r"^gpt-5\.\d(?!.*-chat)"
_NEVER = r"^(?:gpt-[34]|chatgpt-4o)"
_SOURCE = "9router#560, code-gpt-docs#445, gpt-researcher#1485"
_CHAT = (
    RefusedSettings(_ALWAYS, (*_SAMPLING, *_PENALTIES, "stop"), source=_SOURCE),
    RefusedSettings(
        _BY_EFFORT, (*_SAMPLING, *_PENALTIES, "stop"), while_reasoning=True, source=_SOURCE
    ),
    RefusedSettings(_NEVER, ("effort",), source="langchain_dart#712, coroot#698"),
)
_RESPONSES = (
    RefusedSettings(_ALWAYS, _SAMPLING, source=_SOURCE),
    RefusedSettings(_BY_EFFORT, _SAMPLING, while_reasoning=True, source=_SOURCE),
    RefusedSettings(_NEVER, ("effort",), source="langchain_dart#712"),
)
_CLAUDE = (
    RefusedSettings(
        r"claude-(?:opus-4-[7-9]|[a-z]+-[5-9])(?!\d)",
        ("temperature", "top_p", "top_k"),
        takes_defaults=False,
        source="pi#7961, sim#5328, pr-agent#2456, dust#28308",
    ),
    RefusedSettings(
        r"claude-(?:opus-4-[1-6]|(?:sonnet|haiku)-4-[5-9])(?!\d)",
        ("top_p",),
        beside="temperature",
        takes_defaults=False,
        source="otoroshi-llm-extension#140, opencode#28930, opik#3728, gemini-cli-pro#38",
    ),
)
REFUSED: dict[str, tuple[RefusedSettings, ...]] = {
    "openai-chat": _CHAT,
    "azure-openai": _CHAT,
    "openai-responses": _RESPONSES,
    "anthropic": _CLAUDE,
    "vertex-anthropic": _CLAUDE,
    "bedrock": _CLAUDE,
}
"""Profile → the settings that its models refuse."""
NO_BUDGET_BESIDE_FORCED_CALLS = frozenset({"anthropic", "vertex-anthropic", "bedrock"})
"""Profiles that refuse a thinking budget if a tool call is forced: "Thinking may not be enabled
when tool_choice forces tool use.": oh-my-pi#341, mastra#7507."""
_UP_TO_ONE = {"temperature": (0.0, 1.0)}
RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "anthropic": _UP_TO_ONE,
    "vertex-anthropic": _UP_TO_ONE,
    "minimax-anthropic": _UP_TO_ONE,
    "bedrock": _UP_TO_ONE,
    "mistral": {"temperature": (0, 1.5)},
    "cohere": {
        "temperature": (0, 1),
        "top_p": (0.01, 0.99),
        "presence_penalty": (0, 1),
        "frequency_penalty": (0, 1),
    },
}
"""Profile → settings with a smaller range than on other wires: stdapi.ai#224, SillyTavern#4856,
https://docs.cohere.com/reference/chat."""
LEAST_TOKENS = {"openai-responses": 16}
"""Profile → the smallest token limit it accepts. Clients that test whether a model is available ask
for one token: pi#6265, cc-switch#7287."""
REFUSED_FIELDS: dict[str, tuple[str, ...]] = {
    "openai-chat": ("reasoning",),
    "azure-openai": ("reasoning",),
}
"""Profile → fields that it refuses although other servers of its wire accept them: "Unknown
parameter: 'reasoning'."; OpenRouter, vLLM and others read the effort from there."""
DEFAULTS: dict[str, Setting] = {"temperature": 1, "top_p": 1}


def limited_settings(profile: Profile) -> frozenset[str]:
    """The settings that a provider does not accept with every value or for every model."""
    name = profile.name
    refused = [setting for row in REFUSED.get(name, ()) for setting in row.settings]
    budget = ("budget",) if name in NO_BUDGET_BESIDE_FORCED_CALLS else ()
    tokens = ("max_tokens",) if name in LEAST_TOKENS else ()
    return frozenset((*refused, *RANGES.get(name, ()), *budget, *tokens))


def refused_settings(profile: Profile, settings: Mapping[str, Setting]) -> dict[str, str]:
    """The settings that the model of a request refuses, and why."""
    model = settings.get("model")
    refused: dict[str, str] = {}
    for row in REFUSED.get(profile.name, ()) if isinstance(model, str) else ():
        if not settings.keys().isdisjoint(row.settings) and _applies(row, settings):
            refused |= {
                name: f"{model} refuses this setting: {name}"
                for name in row.settings
                if name in settings
                and not (row.takes_defaults and settings[name] == DEFAULTS.get(name))
            }
    choice = settings.get("choice")
    forced = isinstance(choice, Choice) and choice.mode not in ("auto", "none")
    if forced and "budget" in settings and profile.name in NO_BUDGET_BESIDE_FORCED_CALLS:
        refused["budget"] = "the provider allows no reasoning if a tool call is forced: budget"
    return refused


def _applies(row: RefusedSettings, settings: Mapping[str, Setting]) -> bool:
    effort = settings.get("effort")
    reasons = isinstance(effort, str) and effort != "none"
    return (
        (reasons or not row.while_reasoning)
        and (not row.beside or row.beside in settings)
        and names_model(row.models, str(settings.get("model")))
    )


def fit_ranges(
    profile: Profile, settings: Mapping[str, Setting]
) -> tuple[dict[str, Setting], dict[str, str]]:
    """The settings that are out of a provider's range, each with the nearest accepted value; and
    the reason for each change."""
    fitted: dict[str, Setting] = {}
    reasons: dict[str, str] = {}
    for name, (least, most) in RANGES.get(profile.name, {}).items():
        value = settings.get(name)
        if isinstance(value, int | float) and not least <= value <= most:
            fitted[name] = min(max(value, least), most)
            reasons[name] = f"the provider accepts values from {least:g} to {most:g}: {name}"
    return fitted, reasons
