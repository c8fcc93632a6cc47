"""Patterns of model names that several profiles use."""

from __future__ import annotations

ANY_MODEL = ".*"
"""Matches every name, even an empty one."""

OPENAI_BREAKPOINTS = r"gpt-5\.(?:[6-9]|\d\d)|gpt-[6-9]|claude"
"""`prompt_cache_options` of the OpenAPI description: "gpt-5.6 and later models". A request for
Claude gets breakpoints too: a caller may name the model only after the translation."""
