"""The profiles of all providers: dated facts, each with its source."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.errors import UsageError, suggest
from toolwire.profiles.profile import Profile
from toolwire.wires import names

__all__ = ["PROFILES", "Profile", "profile"]

_WORD = "a-zA-Z0-9_-"


_ANY = IdRule()
_NAME = IdRule(_WORD, 64)
_DOTTED = IdRule("a-zA-Z0-9_.:-", 64, first="[a-zA-Z_]")
_ITEMS = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}
"""From error texts: nodetool#4252, free-claude-code#1826, codex#33176, eca#465."""

_NO_REASONING = r"^(openai/)?(gpt-3\.5|gpt-4|chatgpt-4)"
"""Models of OpenAI that do not reason."""
_BREAKPOINTS_SINCE = r"gpt-5\.(?:[6-9]|\d\d)|gpt-[6-9]|claude"
"""`prompt_cache_options` of the OpenAPI description: "gpt-5.6 and later models". A request for
Claude gets breakpoints too: a caller may name the model only after the translation."""

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


_REASONING_FIELD = ("reasoning_content",)
"""Groq: freellmapi#1070, Kai#265. Cerebras: OpenMinis#361. Mistral, whose messages take no other
fields at all: crush#1590, litellm#30835, OpenMinis#87."""

_GEMINI_ROLES = ("user", "model", "function", "tool", "system")
"""openagent#1666, dify-official-plugins#566: "Please use a valid role: user, model". Other roles
come from older clients and are not reported."""

_ANTHROPIC_ROLES = ("user", "assistant", "system")
"""The roles of `MessageParam` in Anthropic's SDK."""

_BLOCK_MESSAGE_FIELDS = ("role", "content")
"""Anthropic: "messages.0.id: Extra inputs are not permitted"; Bedrock: its client refuses them."""
_CHAT_FIELDS_OF_OTHERS = (
    *("cache_control", "reasoning_details", "thinking_blocks", "provider_specific_fields"),
    *("extra_content", "citations", "images", "partial", "prefix", "thinking", "video", "weight"),
)
"""Fields of OpenRouter, LiteLLM, Gemini, Perplexity, Kimi, DeepSeek, vLLM and of training data.
Some clients send them as if these servers were OpenAI, which refuses some of them: "Unknown
parameter: 'messages[0].content[0].cache_control'"."""
_GEMINI_MESSAGE_FIELDS = ("role", "parts")
"""'Invalid JSON payload received. Unknown name "id" at \'contents[0]\': Cannot find field.'"""
_MISTRAL_MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name", "prefix")
"""The fields of the message types in Mistral's SDK; others are "Extra inputs are not permitted"."""
_COHERE_MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "tool_plan", "citations")
"""The fields of the message types in Cohere's SDK; others are "not a valid field"."""

_GEMINI_BEFORE_3 = r"gemini-[12][.-]"
"""gemini-cli#19436: "`function_response.parts` is not supported for this model"; bifrost#4202,
hermes-agent#96466. A part beside the responses of a turn is refused too: gemini-cli#16137."""


def _without_checks(profile: Profile) -> Profile:
    """Return the profile of a provider that is not known to check the pairing of calls and
    results."""
    return replace(
        profile,
        requires_ids=False,
        rejects_missing_results=False,
        rejects_orphan_results=False,
        rejects_duplicate_results=False,
        rejects_lone_surrogates=False,
    )


def default_profile(wire: str) -> Profile:
    """Return the profile of a wire without an entry here: no check is known."""
    return _without_checks(Profile(wire, wire, confidence="low"))


_ANY_MODEL = ".*"
"""A pattern that matches every model name, even an empty one."""

_PROFILES = (
    # --- chat completions ---
    Profile(
        "openai-chat",
        "openai-chat",
        fields_of_other_servers=_CHAT_FIELDS_OF_OTHERS,
        rejects_null_tool_calls=True,
        requires_call_type=True,
        media_only_from_user=True,
        empty_content="null",
        web_search_models="-search",
        takes_extra_settings=True,
        cache_breakpoint_models=_BREAKPOINTS_SINCE,
        text_result_models=_ANY_MODEL,
        id_rule=IdRule(longest=40),
        name_rule=_NAME,
        accepted_ids=IdRule(longest=64),
        last_seen="2026-08",
        result_placement="next",
        arguments_format="text",
        tool_choice_needs_tools=True,
        rejects_empty_tool_calls=True,
        source=(
            "null content: docker-agent#63, llama_index#17555; a choice without tools:"
            " OpenAI-DotNet#479, vllm#40311; empty list of calls: openai-node#1341;"
            " 40 characters at older servers, 64 at newer: litellm#11392, llm-rosetta#596;"
            " names: OpenAPI description; results contiguous: copilot-sdk#1922, goose#11893; one"
            " each: agno#5116; images in results refused:"
            " OpenHands#7700, or not seen by the model: openai-openapi#523; images of the"
            " assistant: openai-node#1030"
        ),
    ),
    Profile(
        "openai-chat-legacy",
        "openai-chat",
        fields_of_other_servers=_CHAT_FIELDS_OF_OTHERS,
        rejects_null_tool_calls=True,
        requires_call_type=True,
        empty_content="null",
        text_result_models=_ANY_MODEL,
        id_rule=IdRule(longest=40),
        name_rule=_NAME,
        last_seen="2026-02",
        result_placement="next",
        arguments_format="text",
        rejects_empty_tool_calls=True,
        source=(
            "null content: docker-agent#63, llama_index#17555; "
            "servers that still cap ids at 40: litellm#12941, autogen#6377, pydantic-ai#4389; "
            "empty list of calls: openai-node#1341"
        ),
    ),
    Profile(
        "azure-openai",
        "openai-chat",
        fields_of_other_servers=_CHAT_FIELDS_OF_OTHERS,
        rejects_null_tool_calls=True,
        requires_call_type=True,
        media_only_from_user=True,
        empty_content="null",
        takes_extra_settings=True,
        cache_breakpoint_models=_BREAKPOINTS_SINCE,
        text_result_models=_ANY_MODEL,
        id_rule=IdRule(longest=40),
        name_rule=_NAME,
        accepted_ids=IdRule(longest=64),
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        arguments_format="text",
        tool_choice_needs_tools=True,
        rejects_empty_tool_calls=True,
        source=(
            "null content: docker-agent#63, llama_index#17555; "
            "as OpenAI's chat, also in refusing an empty list of calls; older deployments say 40:"
            " litellm#12941, semantic-kernel#12708"
        ),
    ),
    Profile(
        "gemini-openai",
        "openai-chat",
        rejects_lone_surrogates=False,  # opencode#14630
        id_rule=_ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="low",
        requires_ids=False,
        rejects_duplicate_results=False,
        reasoning_to_return="signature",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "returns empty ids: dotnet/extensions#6380; signature in extra_content: GoModel#893;"
            " counts as gemini; names twice: smarter#537"
        ),
    ),
    Profile(
        "kimi",
        "openai-chat",
        empty_content="message",
        id_rule=_ANY,
        name_rule=IdRule(_WORD, 64, first="[a-zA-Z_]"),
        ids_unique_in_request=True,
        last_seen="2026-08",
        result_placement="next",
        reasoning_to_return="reasoning_content",
        own_id_pattern=r"(?:functions\.)?[a-zA-Z_][\w.-]*:\d+|[a-zA-Z_][\w-]*_\d+",
        reasoning_models=r"kimi-k2-thinking|kimi-k2\.[5-9]",
        reasoning_needed_in_every_turn=True,
        source=(
            "empty messages: AstrBot#7200, anything-analyzer#32; "
            "K2 tool_call_guidance, openclaw#70030 (own ids unchanged), openclaw#51593 (no id"
            " twice), kimi-cli#1977, smg#2104 (K3: name_n); reasoning_content: new-api#4577"
        ),
    ),
    Profile(
        "deepseek",
        "openai-chat",
        id_rule=_ANY,
        name_rule=_NAME,
        last_seen="2026-06",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        reasoning_to_return="reasoning_content",
        accepted_names=_ANY,
        reasoning_models=r"deepseek-(?:reasoner|v[4-9])",
        every_turn_models=r"deepseek-v[4-9]",
        rejects_empty_tool_calls=True,
        rejects_duplicate_tool_names=True,
        accepts_function_call=False,
        source=(
            "role function: haystack#8194; empty list of calls: rig#327; names twice:"
            " openhanako#789; goose#11893, factory#31; reasoning_content: pi#3636,"
            " hermes-agent#15353; not always: langchain#34166"
        ),
    ),
    Profile(
        "minimax",
        "openai-chat",
        id_rule=_ANY,
        name_rule=_NAME,
        last_seen="2026-08",
        result_placement="alone",
        rejects_duplicate_results=False,
        arguments_format="json",
        accepted_names=_ANY,
        source="error 2013: MiniMax-M2#76, opencode#32608, opencode#32609; arguments: pi#5468",
    ),
    Profile(
        "qwen",
        "openai-chat",
        id_rule=_ANY,
        name_rule=_NAME,
        last_seen="2026-08",
        result_placement="next",
        rejects_duplicate_results=False,
        accepted_names=_ANY,
        rejects_empty_tool_calls=True,
        source=(
            "empty list of calls: vscode-unify-chat-provider#65; "
            "InternalError.Algo.InvalidParameter, by message index: qwen-code#315, qwen-code#869"
        ),
    ),
    _without_checks(
        Profile(
            "glm",
            "openai-chat",
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            confidence="low",
            accepted_names=_ANY,
            source="error 1214 for message lists, without a cause: zhipuai-sdk#14, GLM-4#130",
        )
    ),
    Profile(
        "groq",
        "openai-chat",
        refused_message_fields=_REASONING_FIELD,
        id_rule=_ANY,
        name_rule=_NAME,
        last_seen="2026-08",
        confidence="medium",
        rejects_missing_results=False,
        rejects_orphan_results=False,
        rejects_duplicate_results=False,
        assistant_content="text",
        accepted_names=_ANY,
        source=(
            "tool_call_id required: hackclub/ai#22; content of an assistant is no list: ellmer#162"
        ),
    ),
    Profile(
        "cerebras",
        "openai-chat",
        refused_message_fields=_REASONING_FIELD,
        id_rule=_ANY,
        name_rule=_NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        assistant_content="some",
        accepted_names=_ANY,
        source="null content refused: livekit/agents#2403, langchainjs#7487; pairs: elizaOS#18087",
    ),
    _without_checks(
        Profile(
            "xai",
            "openai-chat",
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            confidence="medium",
            arguments_format="json",
            accepted_names=_ANY,
            source=(
                "accepts an id twice: openclaw#84730; arguments must parse, also when empty:"
                " spiceai#4734"
            ),
        )
    ),
    _without_checks(
        Profile(
            "openrouter",
            "openai-chat",
            id_rule=IdRule(_WORD, 40),
            name_rule=_NAME,
            accepted_ids=_ANY,
            accepted_names=_ANY,
            last_seen="2026-08",
            source=(
                "passes ids on; the rules of the upstream provider apply: openclaw#57672,"
                " Roo-Code#10307"
            ),
        )
    ),
    _without_checks(
        Profile(
            "fireworks",
            "openai-chat",
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=_ANY,
            source="makes ids like functions.f:0: fastllm#42, langchain#37756; no check reported",
        )
    ),
    _without_checks(
        Profile(
            "vllm",
            "openai-chat",
            system_comes_first=True,
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            accepted_names=_ANY,
            source=(
                "checks what the model's template checks: vllm#9019, vllm#47734, and that a system"
                " message comes first: vllm#41114"
            ),
        )
    ),
    _without_checks(
        Profile(
            "sglang",
            "openai-chat",
            system_comes_first=True,
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=_ANY,
            source=(
                "null ids in its own streams: sglang#7048, sglang#9606; templates as those of vllm"
            ),
        )
    ),
    _without_checks(
        Profile(
            "llama.cpp",
            "openai-chat",
            system_comes_first=True,
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            accepted_names=_ANY,
            source=(
                "returns empty ids and ids that its own template refuses: llama.cpp#12279,"
                " llama.cpp#26359; templates want the system message first: llama.cpp#20733,"
                " llama.cpp#27367"
            ),
        )
    ),
    _without_checks(
        Profile(
            "lm-studio",
            "openai-chat",
            system_comes_first=True,
            id_rule=_ANY,
            name_rule=_NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=_ANY,
            source=("returns empty ids: lmstudio-bug-tracker#830; templates as those of llama.cpp"),
        )
    ),
    # --- items ---
    Profile(
        "openai-responses",
        "openai-responses",
        media_only_from_user=True,
        models_without_reasoning=_NO_REASONING,
        web_search_models="",
        takes_extra_settings=True,
        cache_breakpoint_models=_BREAKPOINTS_SINCE,
        id_rule=IdRule(longest=64),
        name_rule=_NAME,
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
    ),
    Profile(
        "azure-foundry",
        "azure-foundry",
        takes_extra_settings=True,
        cache_breakpoint_models=_BREAKPOINTS_SINCE,
        id_rule=IdRule(longest=64),
        name_rule=_NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="after",
        reasoning_to_return="reasoning",
        arguments_format="text",
        item_id_prefixes=_ITEMS,
        tool_choice_must_exist=True,
        source=(
            "as openai-responses, whose requests it takes; item ids of those prefixes in"
            " Microsoft's examples (2026-08)"
        ),
    ),
    Profile(
        "deepseek-responses",
        "openai-responses",
        id_rule=IdRule(longest=64),
        name_rule=_NAME,
        accepted_ids=_ANY,
        accepted_names=_ANY,
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
    # --- blocks ---
    Profile(
        "anthropic",
        "anthropic",
        accepted_message_fields=_BLOCK_MESSAGE_FIELDS,
        accepted_roles=_ANTHROPIC_ROLES,
        web_search_models="",
        sometimes_accepted=("id-reused-across-turns",),
        no_prefill_models=_NO_PREFILL,
        signing_models=_SIGNING_MODELS,
        skips_others=_SKIPS_OTHERS,
        cache_breakpoint_models=".*",
        id_rule=IdRule(_WORD),
        name_rule=IdRule(_WORD, 128),
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
    ),
    Profile(
        "vertex-anthropic",
        "anthropic",
        accepted_message_fields=_BLOCK_MESSAGE_FIELDS,
        accepted_roles=_ANTHROPIC_ROLES,
        web_search_models="",
        sometimes_accepted=("id-reused-across-turns",),
        no_prefill_models=_NO_PREFILL,
        signing_models=_SIGNING_MODELS,
        skips_others=_SKIPS_OTHERS,
        cache_breakpoint_models=".*",
        id_rule=IdRule(_WORD),
        name_rule=IdRule(_WORD, 128),
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
        source="as Anthropic's own, in everything: Kilo#5163, Antigravity-Manager#654",
    ),
    Profile(
        "minimax-anthropic",
        "anthropic",
        id_rule=IdRule(_WORD),
        name_rule=IdRule(_WORD, 128),
        accepted_ids=_ANY,
        accepted_names=_ANY,
        last_seen="2026-08",
        confidence="medium",
        result_placement="alone",
        results_share_one_message=True,
        rejects_duplicate_results=False,
        arguments_format="object",
        requires_arguments=True,
        source="nothing but results after a call: opencode#32608, opencode#32609",
    ),
    Profile(
        "bedrock",
        "bedrock",
        client_checks_fields=True,
        media_only_from_user=True,  # AWS reference of Message.content
        accepted_message_fields=_BLOCK_MESSAGE_FIELDS,
        no_prefill_models=_NO_PREFILL,
        signing_models=_SIGNING_MODELS,
        skips_others=_SKIPS_OTHERS,
        cache_breakpoint_models="claude|nova",
        id_rule=IdRule(_WORD, 64),
        name_rule=_NAME,
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
    ),
    Profile(
        "bedrock-mistral",
        "bedrock",
        client_checks_fields=True,
        accepted_message_fields=_BLOCK_MESSAGE_FIELDS,
        id_rule=IdRule("a-zA-Z0-9", 9, exact=True),
        name_rule=_NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        results_share_one_message=True,
        rejects_same_role_twice=True,
        calls_need_tool_definitions=True,
        arguments_format="object",
        requires_arguments=True,
        rejects_blank_text=True,
        must_start_with_user=True,
        source="refuses Bedrock's own ids: vercel/ai#11802; some models take them: opencode#48843",
    ),
    # --- parts ---
    Profile(
        "gemini",
        "gemini",
        ids_unique_in_turn=True,
        accepted_message_fields=_GEMINI_MESSAGE_FIELDS,
        empty_content="part",
        rejects_lone_surrogates=False,  # opencode#14630
        accepted_roles=_GEMINI_ROLES,
        web_search_models="",
        sometimes_accepted=("calls-split", "result-with-extra"),
        id_rule=_ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        requires_ids=False,
        result_placement="alone",
        results_share_one_message=True,
        results_follow_call_order=True,
        text_result_models=_GEMINI_BEFORE_3,
        results_need_tool_name=True,
        call_needs_preceding_user=True,
        arguments_format="object",
        reasoning_to_return="signature",
        reasoning_models="gemini-3",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "parts without data: CLIProxyAPI#1292, FLIT#70, agno#2649; "
            "ids optional and opaque; names: CLIProxyAPI#218, with a colon since 2025-09:"
            " gemini-cli#9535, ccs#219; names twice: Open-WebUI-Functions#135; counts and turns:"
            " gemini-cli#4217, gemini-cli#11814; name of the call: CLIProxyAPI#5098; only"
            " responses: opencode#43479; signatures: js-genai#1275; an id twice:"
            " watt-mind/coach#280"
        ),
    ),
    Profile(
        "vertex-gemini",
        "gemini",
        accepted_message_fields=_GEMINI_MESSAGE_FIELDS,
        empty_content="text",
        rejects_lone_surrogates=False,  # opencode#14630
        accepted_roles=_GEMINI_ROLES,
        web_search_models="",
        sometimes_accepted=("calls-split", "result-with-extra"),
        id_rule=_ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="medium",
        requires_ids=False,
        id_sometimes_refused=True,
        result_placement="alone",
        results_share_one_message=True,
        results_follow_call_order=True,
        text_result_models=_GEMINI_BEFORE_3,
        results_need_tool_name=True,
        call_needs_preceding_user=True,
        arguments_format="object",
        reasoning_to_return="signature",
        reasoning_models="gemini-3",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "empty texts: generative-ai-js#361, autogen#5762; "
            "takes the field at v1beta1, which SDKs use, and refuses it at v1: pydantic-ai#5493;"
            " else as gemini"
        ),
    ),
    Profile(
        "vertex-gemini-v1",
        "gemini",
        accepted_message_fields=_GEMINI_MESSAGE_FIELDS,
        empty_content="text",
        rejects_lone_surrogates=False,  # opencode#14630
        accepted_roles=_GEMINI_ROLES,
        web_search_models="",
        sometimes_accepted=("calls-split", "result-with-extra"),
        id_rule=_ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="medium",
        requires_ids=False,
        has_id_field=False,
        result_placement="alone",
        results_share_one_message=True,
        results_follow_call_order=True,
        text_result_models=_GEMINI_BEFORE_3,
        results_need_tool_name=True,
        call_needs_preceding_user=True,
        arguments_format="object",
        reasoning_to_return="signature",
        reasoning_models="gemini-3",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "empty texts: generative-ai-js#361, autogen#5762; "
            "refuses the field: langchainjs#11209, vercel/ai#15891, fantasy#265, pydantic-ai#5081;"
            " else as gemini"
        ),
    ),
    Profile(
        "gemini-interactions",
        "gemini-interactions",
        rejects_lone_surrogates=False,  # opencode#14630
        id_rule=_ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-09",
        web_search_models="",
        confidence="medium",
        result_placement="after",
        arguments_format="object",
        accepted_names=_DOTTED,
        source=(
            "`id`, `call_id` and arguments as an object are required: types of google-genai 2.34;"
            " names and complete pairs as the same models want them at generateContent:"
            " CLIProxyAPI#218, gemini-cli#9535, gemini-cli#16987"
        ),
    ),
    # --- others ---
    Profile(
        "mistral",
        "mistral",
        accepted_message_fields=_MISTRAL_MESSAGE_FIELDS,
        refused_message_fields=_REASONING_FIELD,
        empty_content="reply",
        system_comes_first=True,
        id_rule=IdRule("a-zA-Z0-9", 9, exact=True),
        name_rule=_NAME,
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
    ),
    Profile(
        "mistral-legacy",
        "mistral",
        accepted_message_fields=_MISTRAL_MESSAGE_FIELDS,
        refused_message_fields=_REASONING_FIELD,
        empty_content="reply",
        system_comes_first=True,
        id_rule=IdRule("a-zA-Z0-9", 9, exact=True),
        name_rule=_NAME,
        last_seen="2026-08",
        confidence="medium",
        requires_arguments=True,
        result_placement="next",
        must_end_with_user_or_tool=True,
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
        id_rule=_ANY,
        name_rule=_NAME,
        accepted_names=_ANY,
        sometimes_accepted=(
            "missing-result",
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
        id_rule=_ANY,
        name_rule=_NAME,
        accepted_names=_ANY,
        requires_ids=False,
        rejects_missing_results=False,
        sometimes_accepted=(
            "dup-result",
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
    # --- frameworks and protocols, which check little themselves ---
    _without_checks(
        Profile(
            "ai-sdk",
            "ai-sdk",
            ids_unique_in_request=True,
            last_seen="2026-11",
            source=(
                "a repeated toolCallId in one message: the second call overwrites the first; ran on"
                " ai 5, 6 and 7"
            ),
        )
    ),
    _without_checks(
        Profile(
            "mcp",
            "mcp",
            ids_unique_in_request=True,
            last_seen="2026-07",
            source="JSON-RPC ids are not used twice in a session",
        )
    ),
    _without_checks(
        Profile(
            "adk",
            "adk",
            last_seen="2026-08",
            source="makes adk- ids and takes them off again: aimock#19",
        )
    ),
    _without_checks(
        Profile(
            "genkit",
            "genkit",
            results_in_any_order=True,
            last_seen="2026-08",
            confidence="medium",
            source="refs are optional: genkit#4112, genkit#5830",
        )
    ),
    _without_checks(
        Profile(
            "meai",
            "meai",
            last_seen="2026-04",
            source="a call id is never null: dotnet/extensions#6248",
        )
    ),
    _without_checks(
        Profile("oxp", "oxp", last_seen="2026-08", source="call_id is optional: OXP 1.0")
    ),
    _without_checks(
        Profile(
            "text",
            "text",
            last_seen="2026-08",
            confidence="low",
            source="a convention of prompts, without any check",
        )
    ),
)
PROFILES: dict[str, Profile] = {
    **{name: default_profile(name) for name in names()},
    **{profile.name: profile for profile in _PROFILES},
}
"""All profiles: every wire has one."""


PROVIDER_PROFILES = {
    "azure": "azure-openai",
    "google": "gemini",
    "openai": "openai-chat",
    "vertex": "vertex-gemini",
}
"""Provider name → profile name, for providers whose profile has another name."""


def find_profile(name: object) -> Profile | None:
    """Return the profile of a wire, profile or provider; None if there is none with this name."""
    if not isinstance(name, str):
        return None
    return PROFILES.get(name) or PROFILES.get(PROVIDER_PROFILES.get(name, ""))


def profile(name: str) -> Profile:
    """Return the profile of a wire, profile or provider.

    Raises:
        UsageError: There is none with this name.
    """
    found = find_profile(name)
    if found is None:
        known = sorted({*PROFILES, *PROVIDER_PROFILES})
        why = f"unknown wire, profile or provider{suggest(str(name), known)}"
        raise UsageError(why, wire=str(name))
    return found
