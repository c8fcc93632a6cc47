"""Profiles of the servers whose API no other provider has: Mistral, Cohere, Ollama."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.profiles.id_rules import ANY, NAME
from toolwire.profiles.profile import Profile

_MISTRAL_REFUSED_FIELDS = ("reasoning_content",)
"""crush#1590, litellm#30835, OpenMinis#87."""

_MISTRAL_MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name", "prefix")
"""The fields of the message types in Mistral's SDK; others are "Extra inputs are not permitted"."""

_COHERE_MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "tool_plan", "citations")
"""The fields of the message types in Cohere's SDK; others are "not a valid field"."""

_MISTRAL = Profile(
    "mistral",
    "mistral",
    accepted_message_fields=_MISTRAL_MESSAGE_FIELDS,
    refused_message_fields=_MISTRAL_REFUSED_FIELDS,
    empty_content="reply",
    system_comes_first=True,
    id_rule=IdRule("a-zA-Z0-9", 9, exact=True),
    name_rule=NAME,
    last_seen="2026-08",
    requires_arguments=True,
    result_placement="next",
    must_end_with_user_or_tool=True,
    source=(
        "arguments required: official types; empty replies: solbrowse#16; "
        "error 3280, exactly nine letters or digits: magentic#276, vllm#9019; error 3230,"
        " counts and roles: client-python#234, pydantic-ai#3733; no system message after an"
        " assistant's: swarmauri-sdk#162, SillyTavern#1558"
    ),
)
PROFILES = (
    _MISTRAL,
    replace(
        _MISTRAL,
        name="mistral-legacy",
        confidence="medium",
        no_user_after_tool=True,
        source=(
            "arguments required: official types; empty replies: solbrowse#16; "
            "models that refuse a user after a tool: onyx#6458, pydantic-ai#3733; newer ones"
            " take it"
        ),
    ),
    Profile(
        "cohere",
        "cohere",
        rejects_null_call_type=True,
        empty_content="null",
        accepted_message_fields=_COHERE_MESSAGE_FIELDS,
        id_rule=ANY,
        name_rule=NAME,
        accepted_names=ANY,
        result_placement="next",
        sometimes_accepted=(
            "missing-result",
            "result-separated",
            "dup-result",
            "orphan-result",
            "history-starts-with-result",
            "call-dropped-keep-result",
        ),
        last_seen="2026-11",
        confidence="low",
        source=(
            "no limit of ids documented: litellm#6980; Command A wants one result for each call,"
            " Command R does not check: langchain-oracle#10, agentdojo#200; both ids are required,"
            " and the type of a call is not null: types of cohere 5, agentdojo#200"
        ),
    ),
    Profile(
        "ollama",
        "ollama",
        id_rule=ANY,
        name_rule=NAME,
        accepted_names=ANY,
        requires_ids=False,
        rejects_missing_results=False,
        result_placement="next",
        sometimes_accepted=(
            "dup-result",
            "result-separated",
            "orphan-result",
            "history-starts-with-result",
            "call-dropped-keep-result",
            "count-mismatch",
            "result-before-call",
        ),
        last_seen="2026-11",
        results_follow_call_order=True,
        arguments_format="object",
        content_is_text=True,
        source=(
            "ids ignored by most templates, which number results by their order, so that a second"
            " result, or one without a call, takes the place of the next one: ollama#11417; none"
            " before 0.12.10:"
            " haystack-integrations#3321"
        ),
    ),
)
