"""A configuration from environment variables alone: every provider whose key is set."""

from __future__ import annotations

from collections.abc import Mapping

from toolwire.gateway.config.schema import DEMO, Config, ModelConfig
from toolwire.providers.table import PROVIDERS

_USUAL_NAMES = {
    "gpt-*": "openai",
    "o3*": "openai",
    "o4*": "openai",
    "claude-*": "anthropic",
    "gemini-*": "gemini",
    "mistral-*": "mistral",
    "command-*": "cohere",
    "grok-*": "xai",
    "deepseek-*": "deepseek",
    "kimi-*": "kimi",
}
"""Patterns of model names, and the provider that serves them."""


def config_from_environment(env: Mapping[str, str]) -> Config:
    """Models as `provider/model` for every provider whose key is set; without any, the demo model
    answers for every name."""
    providers = [
        row.name
        for row in PROVIDERS
        if row.base_url
        and row.key_envs
        and not row.keyless
        and any(env.get(key) for key in row.key_envs)
    ]
    models = {f"{name}/*": ModelConfig(upstream=name) for name in providers}
    models |= {
        pattern: ModelConfig(upstream=name)
        for pattern, name in _USUAL_NAMES.items()
        if name in providers
    }
    models[DEMO] = ModelConfig(upstream=DEMO)
    if not providers:
        models["*"] = ModelConfig(upstream=DEMO)
    return Config(models=models)
