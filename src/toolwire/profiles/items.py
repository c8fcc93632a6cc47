"""Profiles of the servers with an API of items: Responses."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.profiles.id_rules import ANY, NAME
from toolwire.profiles.model_patterns import OPENAI_BREAKPOINTS
from toolwire.profiles.profile import Profile

_ITEMS = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}
"""From error texts: nodetool#4252, free-claude-code#1826, codex#33176, eca#465."""

_NO_REASONING = r"^(openai/)?(gpt-3\.5|gpt-4|chatgpt-4)"
"""Models of OpenAI that do not reason."""

_OPENAI = Profile(
    "openai-responses",
    "openai-responses",
    media_only_from_user=True,
    computer_results_are_images=True,
    models_without_reasoning=_NO_REASONING,
    web_search_models="",
    takes_extra_settings=True,
    cache_breakpoint_models=OPENAI_BREAKPOINTS,
    id_rule=IdRule(longest=64),
    name_rule=NAME,
    last_seen="2026-08",
    result_placement="after",
    reasoning_to_return="reasoning",
    arguments_format="text",
    item_id_prefixes=_ITEMS,
    tool_choice_must_exist=True,
    source=(
        "a choice that is not defined: error text in vercel/ai's notes on allowedTools"
        " (2026-08); call_id 1..64: OpenAPI description, fastllm#45; empty: CodexPlusPlus#315;"
        " reasoning: pydantic-ai#3230, by other models: openai-agents#569"
    ),
)
PROFILES = (
    _OPENAI,
    replace(
        _OPENAI,
        name="azure-foundry",
        wire="azure-foundry",
        confidence="medium",
        media_only_from_user=False,
        models_without_reasoning="",
        web_search_models=None,
        source=(
            "as openai-responses, whose requests it takes; item ids of those prefixes in"
            " Microsoft's examples (2026-08)"
        ),
    ),
    Profile(
        "deepseek-responses",
        "openai-responses",
        id_rule=IdRule(longest=64),
        name_rule=NAME,
        accepted_ids=ANY,
        accepted_names=ANY,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        reasoning_to_return="reasoning",
        source=(
            "no message between a call and its output: oh-my-pi#12014; reasoning before each call:"
            " rikkahub#1690"
        ),
    ),
)
