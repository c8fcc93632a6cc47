"""Words that only some providers use in their errors, with the profiles of these providers."""

from __future__ import annotations

PROVIDER_PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"with maximum length 40\b", ("openai-chat-legacy",)),
    (r"after role tool", ("mistral-legacy",)),
    (
        r"with a length of 9|with length 9|same number of function calls and responses"
        r"|unexpected tool call id|expected last role|\b32[38]0\b",
        ("mistral", "bedrock-mistral"),
    ),
    (r"\(2013\)", ("minimax", "minimax-anthropic")),
    (r"reasoning_text", ("deepseek-responses",)),
    (
        r"insufficient tool messages|in the thinking mode|at message index",
        ("deepseek", "deepseek-responses"),
    ),
    (
        r"tool call id \S+ is duplicated|tool_call_id.{0,100}? is not found"
        r"|thinking is enabled but reasoning_content",
        ("kimi",),
    ),
    (r"InternalError\.Algo|\bmessage\[\d+\]\.role", ("qwen",)),
    (r"the following must be satisfied", ("groq",)),
    (r"wrong_api_format", ("cerebras",)),
    (r"arguments to a tool_call with id", ("xai",)),
    (r"unknown name id\b", ("vertex-gemini-v1", "vertex-gemini")),
    (r"toolu_vrtx_", ("vertex-anthropic",)),
    (r"messages\.\[\d+\]", ("azure-openai",)),
)
"""Patterns for the searchable forms of a text, with the names of the profiles on each wire."""
