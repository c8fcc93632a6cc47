"""Profiles of the servers with Google's contents and steps."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.id_rules import IdRule
from toolwire.profiles.id_rules import ANY, DOTTED
from toolwire.profiles.profile import Profile

_GEMINI_ROLES = ("user", "model", "function", "tool")
"""openagent#1666, dify-official-plugins#566: "Please use a valid role: user, model". Other roles
come from older clients and are not reported."""

_GEMINI_MESSAGE_FIELDS = ("role", "parts")
"""'Invalid JSON payload received. Unknown name "id" at \'contents[0]\': Cannot find field.'"""

_GEMINI_BEFORE_3 = r"gemini-[12][.-]"
"""gemini-cli#19436: "`function_response.parts` is not supported for this model"; bifrost#4202,
hermes-agent#96466. A part beside the responses of a turn is refused too: gemini-cli#16137."""

_GEMINI = Profile(
    "gemini",
    "gemini",
    ids_unique_in_turn=True,
    accepted_message_fields=_GEMINI_MESSAGE_FIELDS,
    empty_content="part",
    rejects_lone_surrogates=False,  # opencode#14630
    accepted_roles=_GEMINI_ROLES,
    web_search_models="",
    sometimes_accepted=("calls-split", "result-with-extra"),
    id_rule=ANY,
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
    accepted_names=DOTTED,
    source=(
        "parts without data: CLIProxyAPI#1292, FLIT#70, agno#2649; "
        "ids optional and opaque; names: CLIProxyAPI#218, with a colon since 2025-09:"
        " gemini-cli#9535, ccs#219; names twice: Open-WebUI-Functions#135; counts and turns:"
        " gemini-cli#4217, gemini-cli#11814; name of the call: CLIProxyAPI#5098; only"
        " responses: opencode#43479; signatures: js-genai#1275; an id twice:"
        " watt-mind/coach#280"
    ),
)
PROFILES = (
    _GEMINI,
    replace(
        _GEMINI,
        name="vertex-gemini",
        empty_content="text",
        confidence="medium",
        id_sometimes_refused=True,
        ids_unique_in_turn=False,
        source=(
            "empty texts: generative-ai-js#361, autogen#5762; "
            "takes the field at v1beta1, which SDKs use, and refuses it at v1: pydantic-ai#5493;"
            " else as gemini"
        ),
    ),
    replace(
        _GEMINI,
        name="vertex-gemini-v1",
        empty_content="text",
        confidence="medium",
        has_id_field=False,
        ids_unique_in_turn=False,
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
        accepted_roles=(),
        id_rule=ANY,
        name_rule=IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        last_seen="2026-09",
        web_search_models="",
        confidence="medium",
        result_placement="after",
        arguments_format="object",
        accepted_names=DOTTED,
        source=(
            "`id`, `call_id` and arguments as an object are required, and a step has no role: types"
            " of google-genai 2.34; names and complete pairs as the same models want them at"
            " generateContent: CLIProxyAPI#218, gemini-cli#9535, gemini-cli#16987"
        ),
    ),
)
