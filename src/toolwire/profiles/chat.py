"""Profiles of the servers with an API of chat completions."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.profiles.id_rules import ANY, DOTTED, NAME, WORD
from toolwire.profiles.model_patterns import ANY_MODEL, OPENAI_BREAKPOINTS
from toolwire.profiles.profile import Profile, without_checks

_REASONING_FIELD = ("reasoning_content",)
"""Groq: freellmapi#1070, Kai#265. Cerebras: OpenMinis#361."""

_CHAT_FIELDS_OF_OTHERS = (
    *("cache_control", "reasoning_details", "thinking_blocks", "provider_specific_fields"),
    *("extra_content", "citations", "images", "partial", "prefix", "thinking", "video", "weight"),
)
"""Fields of OpenRouter, LiteLLM, Gemini, Perplexity, Kimi, DeepSeek, vLLM and of training data.
Some clients send them as if these servers were OpenAI, which refuses some of them: "Unknown
parameter: 'messages[0].content[0].cache_control'"."""

_OPENAI = Profile(
    "openai-chat",
    "openai-chat",
    fields_of_other_servers=_CHAT_FIELDS_OF_OTHERS,
    rejects_null_tool_calls=True,
    requires_call_type=True,
    media_only_from_user=True,
    empty_content="null",
    web_search_models="-search",
    takes_extra_settings=True,
    cache_breakpoint_models=OPENAI_BREAKPOINTS,
    text_result_models=ANY_MODEL,
    id_rule=IdRule(longest=40),
    name_rule=NAME,
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
)
_VLLM = without_checks(
    Profile(
        "vllm",
        "openai-chat",
        system_comes_first=True,
        id_rule=ANY,
        name_rule=NAME,
        last_seen="2026-09",
        accepted_names=ANY,
        arguments_format="json",
        sometimes_accepted=("args-empty-string",),
        source=(
            "checks what the model's template checks: vllm#9019, vllm#47734, and that a system"
            " message comes first: vllm#41114; parses arguments that are not empty: vllm#43995"
        ),
    )
)
PROFILES = (
    _OPENAI,
    Profile(
        "openai-chat-legacy",
        "openai-chat",
        fields_of_other_servers=_CHAT_FIELDS_OF_OTHERS,
        rejects_null_tool_calls=True,
        requires_call_type=True,
        empty_content="null",
        text_result_models=ANY_MODEL,
        id_rule=IdRule(longest=40),
        name_rule=NAME,
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
    replace(
        _OPENAI,
        name="azure-openai",
        confidence="medium",
        web_search_models=None,
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
        id_rule=ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="low",
        requires_ids=False,
        rejects_duplicate_results=False,
        reasoning_to_return="signature",
        rejects_duplicate_tool_names=True,
        accepted_names=DOTTED,
        source=(
            "returns empty ids: dotnet/extensions#6380; signature in extra_content: GoModel#893;"
            " counts as gemini; names twice: smarter#537"
        ),
    ),
    Profile(
        "kimi",
        "openai-chat",
        empty_content="message",
        id_rule=ANY,
        name_rule=IdRule(WORD, 64, first="[a-zA-Z_]"),
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
        id_rule=ANY,
        name_rule=NAME,
        last_seen="2026-06",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        reasoning_to_return="reasoning_content",
        accepted_names=ANY,
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
        id_rule=ANY,
        name_rule=NAME,
        last_seen="2026-08",
        result_placement="alone",
        rejects_duplicate_results=False,
        arguments_format="json",
        accepted_names=ANY,
        source="error 2013: MiniMax-M2#76, opencode#32608, opencode#32609; arguments: pi#5468",
    ),
    Profile(
        "qwen",
        "openai-chat",
        id_rule=ANY,
        name_rule=NAME,
        last_seen="2026-08",
        result_placement="next",
        rejects_duplicate_results=False,
        accepted_names=ANY,
        rejects_empty_tool_calls=True,
        source=(
            "empty list of calls: vscode-unify-chat-provider#65; "
            "InternalError.Algo.InvalidParameter, by message index: qwen-code#315, qwen-code#869"
        ),
    ),
    without_checks(
        Profile(
            "glm",
            "openai-chat",
            id_rule=ANY,
            name_rule=NAME,
            last_seen="2026-08",
            confidence="low",
            accepted_names=ANY,
            source="error 1214 for message lists, without a cause: zhipuai-sdk#14, GLM-4#130",
        )
    ),
    Profile(
        "groq",
        "openai-chat",
        refused_message_fields=_REASONING_FIELD,
        id_rule=ANY,
        name_rule=NAME,
        last_seen="2026-08",
        confidence="medium",
        rejects_missing_results=False,
        rejects_orphan_results=False,
        rejects_duplicate_results=False,
        assistant_content="text",
        accepted_names=ANY,
        source=(
            "tool_call_id required: hackclub/ai#22; content of an assistant is no list: ellmer#162"
        ),
    ),
    Profile(
        "cerebras",
        "openai-chat",
        refused_message_fields=_REASONING_FIELD,
        id_rule=ANY,
        name_rule=NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        assistant_content="some",
        accepted_names=ANY,
        source="null content refused: livekit/agents#2403, langchainjs#7487; pairs: elizaOS#18087",
    ),
    without_checks(
        Profile(
            "xai",
            "openai-chat",
            id_rule=ANY,
            name_rule=NAME,
            last_seen="2026-08",
            confidence="medium",
            arguments_format="json",
            accepted_names=ANY,
            source=(
                "accepts an id twice: openclaw#84730; arguments must parse, also when empty:"
                " spiceai#4734"
            ),
        )
    ),
    without_checks(
        Profile(
            "openrouter",
            "openai-chat",
            id_rule=IdRule(WORD, 40),
            name_rule=NAME,
            accepted_ids=ANY,
            accepted_names=ANY,
            last_seen="2026-08",
            source=(
                "passes ids on; the rules of the upstream provider apply: openclaw#57672,"
                " Roo-Code#10307"
            ),
        )
    ),
    without_checks(
        Profile(
            "fireworks",
            "openai-chat",
            id_rule=ANY,
            name_rule=NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=ANY,
            source="makes ids like functions.f:0: fastllm#42, langchain#37756; no check reported",
        )
    ),
    _VLLM,
    replace(
        _VLLM,
        name="sglang",
        confidence="medium",
        source="null ids in its own streams: sglang#7048, sglang#9606; templates as those of vllm",
    ),
    replace(
        _VLLM,
        name="llama.cpp",
        source=(
            "returns empty ids and ids that its own template refuses: llama.cpp#12279,"
            " llama.cpp#26359; templates want the system message first: llama.cpp#20733,"
            " llama.cpp#27367"
        ),
    ),
    replace(
        _VLLM,
        name="lm-studio",
        confidence="medium",
        source="returns empty ids: lmstudio-bug-tracker#830; templates as those of llama.cpp",
    ),
)
