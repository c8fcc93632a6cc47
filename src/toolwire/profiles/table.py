"""What each provider refuses, as dated data: a wire as one provider speaks it.

A row is a fact with its source and the day it was last seen to hold. No code here: rules read the
rows.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.errors import LocalError

_WORD = "a-zA-Z0-9_-"


class Profile(Struct, frozen=True):
    """A wire as one provider speaks it. What is not said here, the provider is not known
    to check.
    """

    name: str
    wire: str
    id_rule: IdRule = IdRule()
    """The ids that are written for it."""
    name_rule: IdRule = IdRule()
    """The names of tools that are written for it."""
    ids_unique_in_request: bool = False
    """Whether a call id may occur only once in a whole request, and not just once in a turn."""
    last_seen: str = ""
    source: str = ""
    accepted_ids: IdRule | None = None
    """The ids that it takes, where that is wider than what is written."""
    confidence: Literal["high", "medium", "low"] = "high"
    """How good the evidence is."""
    requires_ids: bool = True
    """Whether calls and results without an id are refused."""
    has_id_field: bool = True
    """Whether the field exists at all: some servers refuse it."""
    id_sometimes_refused: bool = False
    """Whether some of its servers refuse that field while others take it."""
    result_placement: Literal["", "after", "next", "alone"] = ""
    """Where results stand: anywhere `after` their call; `next`, before anybody else speaks;
    `alone`, that is next, and with nothing else in their message."""
    results_share_one_message: bool = False
    """Whether all results of a turn stand in one message."""
    results_come_first: bool = False
    """Whether results come before anything else in their message."""
    results_follow_call_order: bool = False
    """Whether results are taken to stand in the order of their calls."""
    rejects_missing_results: bool = True
    """Whether a call without a result is refused once the history has moved on."""
    rejects_orphan_results: bool = True
    """Whether a result without its call is refused."""
    rejects_duplicate_results: bool = True
    """Whether a second result of a call is refused."""
    results_need_tool_name: bool = False
    """Whether a result must bear the name of its call."""
    call_needs_preceding_user: bool = False
    """Whether a call may stand only after a user's message or a result: so it cannot begin a
    history."""
    no_user_after_tool: bool = False
    """Whether a user may not speak directly after a result."""
    must_end_with_user_or_tool: bool = False
    """Whether a request must end with a user's message or a result."""
    calls_need_tool_definitions: bool = False
    """Whether tools must be offered when the history holds calls."""
    arguments_format: Literal["", "text", "json", "object"] = ""
    """What arguments must be: `text`, whatever it says, where the wire sends them as text; text
    that parses; an object."""
    assistant_content: Literal["", "text", "some"] = ""
    """What an assistant's content must be beside calls: no list but a plain `text`; `some`, not
    null."""
    reasoning_to_return: Literal["", "reasoning_content", "thinking", "signature", "reasoning"] = ""
    """What must come back with a call: the text that was thought, a signed block, a signature on
    the call, the item before it. Asked for only of models that think, and of requests that let
    them."""
    own_id_pattern: str = ""
    """The pattern of the ids that its models make themselves, and want back unchanged."""
    accepted_names: IdRule | None = None
    """The names of tools that it takes, where that is wider than what is written, or not known to
    be checked."""
    rejects_duplicate_tool_names: bool = False
    """Whether two tools of one name on offer are refused."""
    tool_choice_must_exist: bool = False
    """Whether a choice of a tool that is not on offer is refused."""
    rejects_empty_tool_calls: bool = False
    """Whether an empty list of calls is refused."""
    accepts_function_call: bool = True
    """Whether the old single call without an id, and the role of its result, are still taken."""
    rejects_blank_text: bool = False
    """Whether texts without words are refused, and errors that say nothing."""
    must_start_with_user: bool = False
    """Whether a history must begin with a user's message."""
    item_id_prefixes: dict[str, str] = {}
    """How the id of an item must begin, by the type of the item. None: items have no ids here, or
    ids that nobody checks."""
    reasoning_models: str = ""
    """The pattern of the models of which `echo` is asked. Of any other, only if the request itself
    says that it thinks."""
    reasoning_needed_in_every_turn: bool = False
    """Whether `echo` is asked of every turn, and not just of the newest."""
    rejects_same_role_twice: bool = False
    """Whether two messages of one role in a row are refused."""
    server_results_stay_in_message: bool = False
    """Whether a call that the provider ran must stand in one message with its result, and the
    result after it."""
    merges_assistant_messages: bool = False
    """Whether neighbouring messages of the assistant are taken as one, so that their calls are one
    batch."""


_ANY = IdRule()
_NAME = IdRule(_WORD, 64)
_DOTTED = IdRule("a-zA-Z0-9_.:-", 64, first="[a-zA-Z_]")
_ITEMS = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}
"""Seen in error texts: nodetool#4252, free-claude-code#1826, codex#33176, eca#465."""


def _unchecked(row: Profile) -> Profile:
    """The row of one that is not known to refuse a history for its pairs."""
    return replace(
        row,
        requires_ids=False,
        rejects_missing_results=False,
        rejects_orphan_results=False,
        rejects_duplicate_results=False,
    )


_ROWS = (
    # --- the chat shape, and who speaks it ---
    Profile(
        "openai-chat",
        "openai-chat",
        IdRule(longest=40),
        _NAME,
        accepted_ids=IdRule(longest=64),
        last_seen="2026-08",
        result_placement="next",
        arguments_format="text",
        rejects_empty_tool_calls=True,
        source=(
            "empty list of calls: openai-node#1341; 40 characters at older servers, 64 at newer:"
            " litellm#11392, llm-rosetta#596; names: OpenAPI description; results contiguous:"
            " copilot-sdk#1922, goose#11893; one each: agno#5116"
        ),
    ),
    Profile(
        "openai-chat-legacy",
        "openai-chat",
        IdRule(longest=40),
        _NAME,
        last_seen="2026-02",
        result_placement="next",
        arguments_format="text",
        rejects_empty_tool_calls=True,
        source=(
            "servers that still cap ids at 40: litellm#12941, autogen#6377, pydantic-ai#4389; "
            "empty list of calls: openai-node#1341"
        ),
    ),
    Profile(
        "azure-openai",
        "openai-chat",
        IdRule(longest=40),
        _NAME,
        accepted_ids=IdRule(longest=64),
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        arguments_format="text",
        rejects_empty_tool_calls=True,
        source=(
            "as OpenAI's chat, also in refusing an empty list of calls; older deployments say 40:"
            " litellm#12941, semantic-kernel#12708"
        ),
    ),
    Profile(
        "gemini-openai",
        "openai-chat",
        _ANY,
        IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="low",
        requires_ids=False,
        rejects_duplicate_results=False,
        reasoning_to_return="signature",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "hands out empty ids: dotnet/extensions#6380; signature in extra_content: GoModel#893;"
            " counts as gemini; names twice: smarter#537"
        ),
    ),
    Profile(
        "kimi",
        "openai-chat",
        _ANY,
        IdRule(_WORD, 64, first="[a-zA-Z_]"),
        ids_unique_in_request=True,
        last_seen="2026-08",
        result_placement="next",
        reasoning_to_return="reasoning_content",
        own_id_pattern=r"(?:functions\.)?[a-zA-Z_][\w.-]*:\d+|[a-zA-Z_][\w-]*_\d+",
        reasoning_models=r"kimi-k2-thinking|kimi-k2\.[5-9]",
        reasoning_needed_in_every_turn=True,
        source=(
            "K2 tool_call_guidance, openclaw#70030 (own ids unchanged), openclaw#51593 (no id"
            " twice), kimi-cli#1977, smg#2104 (K3: name_n); reasoning_content: new-api#4577"
        ),
    ),
    Profile(
        "deepseek",
        "openai-chat",
        _ANY,
        _NAME,
        last_seen="2026-06",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        reasoning_to_return="reasoning_content",
        accepted_names=_ANY,
        reasoning_models="deepseek-reasoner",
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
        _ANY,
        _NAME,
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
        _ANY,
        _NAME,
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
    _unchecked(
        Profile(
            "glm",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            confidence="low",
            accepted_names=_ANY,
            source="error 1214 for message lists, without a cause: zhipuai-sdk#14, GLM-4#130",
        )
    ),
    Profile(
        "groq",
        "openai-chat",
        _ANY,
        _NAME,
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
        _ANY,
        _NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        rejects_duplicate_results=False,
        assistant_content="some",
        accepted_names=_ANY,
        source="null content refused: livekit/agents#2403, langchainjs#7487; pairs: elizaOS#18087",
    ),
    _unchecked(
        Profile(
            "xai",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            confidence="medium",
            arguments_format="json",
            accepted_names=_ANY,
            source=(
                "takes an id twice: openclaw#84730; arguments must parse, also when empty:"
                " spiceai#4734"
            ),
        )
    ),
    _unchecked(
        Profile(
            "openrouter",
            "openai-chat",
            IdRule(_WORD, 40),
            _NAME,
            accepted_ids=_ANY,
            accepted_names=_ANY,
            last_seen="2026-08",
            source=(
                "passes ids on; the rules of whoever answers apply: openclaw#57672, Roo-Code#10307"
            ),
        )
    ),
    _unchecked(
        Profile(
            "fireworks",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=_ANY,
            source="makes ids like functions.f:0: fastllm#42, langchain#37756; no check reported",
        )
    ),
    _unchecked(
        Profile(
            "vllm",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            accepted_names=_ANY,
            source="checks what the model's template checks: vllm#9019, vllm#47734",
        )
    ),
    _unchecked(
        Profile(
            "sglang",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=_ANY,
            source="null ids in its own streams: sglang#7048, sglang#9606",
        )
    ),
    _unchecked(
        Profile(
            "llama.cpp",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            accepted_names=_ANY,
            source=(
                "hands out empty ids and ids that its own template refuses: llama.cpp#12279,"
                " llama.cpp#26359"
            ),
        )
    ),
    _unchecked(
        Profile(
            "lm-studio",
            "openai-chat",
            _ANY,
            _NAME,
            last_seen="2026-08",
            confidence="medium",
            accepted_names=_ANY,
            source="hands out empty ids: lmstudio-bug-tracker#830",
        )
    ),
    # --- items ---
    Profile(
        "openai-responses",
        "openai-responses",
        IdRule(longest=64),
        _NAME,
        last_seen="2026-08",
        result_placement="after",
        reasoning_to_return="reasoning",
        arguments_format="text",
        item_id_prefixes=_ITEMS,
        tool_choice_must_exist=True,
        source=(
            "a choice that is not on offer: error text in vercel/ai's notes on allowedTools"
            " (2026-08); call_id 1..64: OpenAPI description, fastllm#45; empty: CodexPlusPlus#315;"
            " reasoning: pydantic-ai#3230"
        ),
    ),
    Profile(
        "azure-foundry",
        "azure-foundry",
        IdRule(longest=64),
        _NAME,
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
        IdRule(longest=64),
        _NAME,
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
        IdRule(_WORD),
        IdRule(_WORD, 128),
        ids_unique_in_request=True,
        last_seen="2026-08",
        result_placement="next",
        results_share_one_message=True,
        results_come_first=True,
        server_results_stay_in_message=True,
        merges_assistant_messages=True,
        arguments_format="object",
        reasoning_to_return="thinking",
        rejects_duplicate_tool_names=True,
        tool_choice_must_exist=True,
        rejects_blank_text=True,
        source=(
            'a choice that is not on offer: "not found in provided tools", error text in tests of'
            " proxies (2026-08); names twice: claude-code#10687; empty texts: claude-code#59812;"
            " ids ^[a-zA-Z0-9_-]+$, unique in a request: litellm#21114, claude-code#28515; names:"
            " copilot-cli#1879; next message: claude-code#1237; first in it: bagofwords#901,"
            " zero#843; thinking: opencode#3077"
        ),
    ),
    Profile(
        "vertex-anthropic",
        "anthropic",
        IdRule(_WORD),
        IdRule(_WORD, 128),
        ids_unique_in_request=True,
        last_seen="2026-08",
        result_placement="next",
        results_share_one_message=True,
        results_come_first=True,
        server_results_stay_in_message=True,
        merges_assistant_messages=True,
        arguments_format="object",
        reasoning_to_return="thinking",
        rejects_duplicate_tool_names=True,
        tool_choice_must_exist=True,
        rejects_blank_text=True,
        source="as Anthropic's own, in everything: Kilo#5163, Antigravity-Manager#654",
    ),
    Profile(
        "minimax-anthropic",
        "anthropic",
        IdRule(_WORD),
        IdRule(_WORD, 128),
        accepted_ids=_ANY,
        accepted_names=_ANY,
        last_seen="2026-08",
        confidence="medium",
        result_placement="alone",
        results_share_one_message=True,
        rejects_duplicate_results=False,
        arguments_format="object",
        source="nothing but results after a call: opencode#32608, opencode#32609",
    ),
    Profile(
        "bedrock",
        "bedrock",
        IdRule(_WORD, 64),
        _NAME,
        accepted_ids=IdRule("a-zA-Z0-9_.:-", 64),
        last_seen="2026-08",
        result_placement="next",
        results_share_one_message=True,
        rejects_same_role_twice=True,
        calls_need_tool_definitions=True,
        arguments_format="object",
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
        IdRule("a-zA-Z0-9", 9, exact=True),
        _NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        results_share_one_message=True,
        rejects_same_role_twice=True,
        calls_need_tool_definitions=True,
        arguments_format="object",
        rejects_blank_text=True,
        must_start_with_user=True,
        source="refuses Bedrock's own ids: vercel/ai#11802; some models take them: opencode#48843",
    ),
    # --- parts ---
    Profile(
        "gemini",
        "gemini",
        _ANY,
        IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        requires_ids=False,
        result_placement="alone",
        results_share_one_message=True,
        results_follow_call_order=True,
        results_need_tool_name=True,
        call_needs_preceding_user=True,
        arguments_format="object",
        reasoning_to_return="signature",
        reasoning_models="gemini-3",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "ids optional and opaque; names: CLIProxyAPI#218, with a colon since 2025-09:"
            " gemini-cli#9535, ccs#219; names twice: Open-WebUI-Functions#135; counts and turns:"
            " gemini-cli#4217, gemini-cli#11814; name of the call: CLIProxyAPI#5098; only"
            " responses: opencode#43479; signatures: js-genai#1275"
        ),
    ),
    Profile(
        "vertex-gemini",
        "gemini",
        _ANY,
        IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="medium",
        requires_ids=False,
        id_sometimes_refused=True,
        result_placement="alone",
        results_share_one_message=True,
        results_follow_call_order=True,
        results_need_tool_name=True,
        call_needs_preceding_user=True,
        arguments_format="object",
        reasoning_to_return="signature",
        reasoning_models="gemini-3",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "takes the field at v1beta1, which SDKs use, and refuses it at v1: pydantic-ai#5493;"
            " else as gemini"
        ),
    ),
    Profile(
        "vertex-gemini-v1",
        "gemini",
        _ANY,
        IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-08",
        confidence="medium",
        requires_ids=False,
        has_id_field=False,
        result_placement="alone",
        results_share_one_message=True,
        results_follow_call_order=True,
        results_need_tool_name=True,
        call_needs_preceding_user=True,
        arguments_format="object",
        reasoning_to_return="signature",
        reasoning_models="gemini-3",
        rejects_duplicate_tool_names=True,
        accepted_names=_DOTTED,
        source=(
            "refuses the field: langchainjs#11209, vercel/ai#15891, fantasy#265, pydantic-ai#5081;"
            " else as gemini"
        ),
    ),
    # --- others ---
    Profile(
        "mistral",
        "mistral",
        IdRule("a-zA-Z0-9", 9, exact=True),
        _NAME,
        last_seen="2026-08",
        result_placement="next",
        must_end_with_user_or_tool=True,
        source=(
            "error 3280, exactly nine letters or digits: magentic#276, vllm#9019; error 3230,"
            " counts and roles: client-python#234, pydantic-ai#3733"
        ),
    ),
    Profile(
        "mistral-legacy",
        "mistral",
        IdRule("a-zA-Z0-9", 9, exact=True),
        _NAME,
        last_seen="2026-08",
        confidence="medium",
        result_placement="next",
        must_end_with_user_or_tool=True,
        no_user_after_tool=True,
        source=(
            "models that refuse a user after a tool: onyx#6458, pydantic-ai#3733; newer ones"
            " take it"
        ),
    ),
    _unchecked(
        Profile(
            "cohere",
            "cohere",
            _ANY,
            _NAME,
            accepted_names=_ANY,
            last_seen="2026-08",
            confidence="low",
            source="no limit documented, no check reported: litellm#6980",
        )
    ),
    _unchecked(
        Profile(
            "ollama",
            "ollama",
            _ANY,
            _NAME,
            accepted_names=_ANY,
            last_seen="2026-08",
            results_follow_call_order=True,
            arguments_format="object",
            source=(
                "ids ignored by most templates: ollama#11417; none before 0.12.10:"
                " haystack-integrations#3321"
            ),
        )
    ),
    # --- frameworks and protocols: they check on the way to a provider, or not at all ---
    _unchecked(
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
    _unchecked(
        Profile(
            "mcp",
            "mcp",
            ids_unique_in_request=True,
            last_seen="2026-07",
            source="JSON-RPC ids are not used twice in a session",
        )
    ),
    _unchecked(
        Profile(
            "adk",
            "adk",
            last_seen="2026-08",
            source="makes adk- ids and takes them off again: aimock#19",
        )
    ),
    _unchecked(
        Profile(
            "genkit",
            "genkit",
            last_seen="2026-08",
            confidence="medium",
            source="refs are optional: genkit#4112, genkit#5830",
        )
    ),
    _unchecked(
        Profile(
            "meai",
            "meai",
            last_seen="2026-04",
            source="a call id is never null: dotnet/extensions#6248",
        )
    ),
    _unchecked(Profile("oxp", "oxp", last_seen="2026-08", source="call_id is optional: OXP 1.0")),
    _unchecked(
        Profile(
            "text",
            "text",
            last_seen="2026-08",
            confidence="low",
            source="a convention of prompts; nobody checks it",
        )
    ),
)
PROFILES: dict[str, Profile] = {row.name: row for row in _ROWS}


def profile(name: str) -> Profile:
    """The profile of that name; a wire without one of its own accepts anything."""
    found = PROFILES.get(name)
    if found is None:
        raise LocalError(
            str(name), (), f"no such wire or profile; there are {', '.join(sorted(PROFILES))}"
        )
    return found
