"""Profiles of the servers with messages of blocks: Anthropic's and Bedrock's."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.profiles.id_rules import ANY, NAME, WORD
from toolwire.profiles.model_patterns import ANY_MODEL
from toolwire.profiles.profile import Profile

_SIGNING_MODELS = "claude-[a-z0-9.-]+"
"""llxprt-code#2335, openclaw#107221; the signatures of recorded answers contain the model name."""

_SKIPS_OTHERS = (
    r"(?:fable|mythos)-5-[1-9]|(?:opus|sonnet|haiku)-5-[5-9]"
    r"|(?:fable|mythos|opus|sonnet|haiku)-(?:[6-9]|\d\d)\b"
)
"""https://platform.claude.com/docs/en/build-with-claude/preserved-thinking: "If the current model
can't read a block, the API drops it from that request without an error"."""

_NO_PREFILL = r"claude-[a-z]+-(?:4[.-][6-9]|[5-9])(?!\d)"
"""copilot-api#261 (4.6 and later, not 4.5), conductor#1115, opencode#22404, magic-context#511."""

_ANTHROPIC_ROLES = ("user", "assistant")
"""'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter'."""

_BLOCK_MESSAGE_FIELDS = ("role", "content")
"""Anthropic: "messages.0.id: Extra inputs are not permitted"; Bedrock: its client refuses them."""

_ANTHROPIC = Profile(
    "anthropic",
    "anthropic",
    accepted_message_fields=_BLOCK_MESSAGE_FIELDS,
    accepted_roles=_ANTHROPIC_ROLES,
    system_may_follow_user=True,
    web_search_models="",
    sometimes_accepted=("id-reused-across-turns",),
    no_prefill_models=_NO_PREFILL,
    signing_models=_SIGNING_MODELS,
    skips_others=_SKIPS_OTHERS,
    cache_breakpoint_models=ANY_MODEL,
    id_rule=IdRule(WORD),
    name_rule=IdRule(WORD, 128),
    ids_unique_in_request=True,
    last_seen="2026-08",
    result_placement="next",
    results_share_one_message=True,
    results_come_first=True,
    server_results_stay_in_message=True,
    merges_assistant_messages=True,
    arguments_format="object",
    requires_arguments=True,
    reasoning_to_return="thinking",
    rejects_duplicate_tool_names=True,
    tool_choice_must_exist=True,
    rejects_blank_text=True,
    source=(
        'a choice that is not defined: "not found in provided tools", error text in tests of'
        " proxies (2026-08); names twice: claude-code#10687; empty texts: claude-code#59812;"
        " ids ^[a-zA-Z0-9_-]+$, unique in a request: litellm#21114, claude-code#28515; names:"
        " copilot-cli#1879; next message: claude-code#1237; first in it: bagofwords#901,"
        " zero#843; thinking: opencode#3077"
    ),
)
_BEDROCK = Profile(
    "bedrock",
    "bedrock",
    client_checks_fields=True,
    media_only_from_user=True,  # AWS reference of Message.content
    accepted_message_fields=_BLOCK_MESSAGE_FIELDS,
    no_prefill_models=_NO_PREFILL,
    signing_models=_SIGNING_MODELS,
    skips_others=_SKIPS_OTHERS,
    cache_breakpoint_models="claude|nova",
    id_rule=IdRule(WORD, 64),
    name_rule=NAME,
    accepted_ids=IdRule("a-zA-Z0-9_.:-", 64),
    last_seen="2026-08",
    result_placement="next",
    results_share_one_message=True,
    rejects_same_role_twice=True,
    calls_need_tool_definitions=True,
    arguments_format="object",
    requires_arguments=True,
    rejects_blank_text=True,
    must_start_with_user=True,
    source=(
        "blank texts: OpenHands#5339, hermes-agent#55092; user first: pydantic-ai#4495; 1..64,"
        " the narrower of two documented charsets; names checked in histories too:"
        " hermes-agent#90008; counts: agno#6698, opencode#41445; toolConfig: pydantic-ai#1966"
    ),
)
PROFILES = (
    _ANTHROPIC,
    replace(
        _ANTHROPIC,
        name="vertex-anthropic",
        source="as Anthropic's own, in everything: Kilo#5163, Antigravity-Manager#654",
    ),
    Profile(
        "minimax-anthropic",
        "anthropic",
        id_rule=IdRule(WORD),
        name_rule=IdRule(WORD, 128),
        accepted_ids=ANY,
        accepted_names=ANY,
        last_seen="2026-08",
        confidence="medium",
        result_placement="alone",
        results_share_one_message=True,
        rejects_duplicate_results=False,
        arguments_format="object",
        requires_arguments=True,
        source="nothing but results after a call: opencode#32608, opencode#32609",
    ),
    _BEDROCK,
    replace(
        _BEDROCK,
        name="bedrock-mistral",
        id_rule=IdRule("a-zA-Z0-9", 9, exact=True),
        confidence="medium",
        accepted_ids=None,
        cache_breakpoint_models=None,
        no_prefill_models="",
        signing_models="",
        skips_others="",
        source="refuses Bedrock's own ids: vercel/ai#11802; some models take them: opencode#48843",
    ),
)
