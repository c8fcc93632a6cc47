"""What each provider refuses, as dated data: a wire as one provider speaks it.

A row is a fact with its source and the day it was last seen to hold. No code here: rules read the
rows.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.ids import IdRule
from toolwire.errors import LocalError

_WORD = "a-zA-Z0-9_-"


class Profile(Struct, frozen=True):
    """A wire as one provider speaks it. What is not said here, the provider is not known
    to check.
    """

    name: str
    wire: str
    ids: IdRule = IdRule()
    """The ids that are written for it."""
    names: IdRule = IdRule()
    """The names of tools that are written for it."""
    unique: bool = False
    """Whether a call id may occur only once in a whole request, and not just once in a turn."""
    seen: str = ""
    source: str = ""
    takes: IdRule | None = None
    """The ids that it takes, where that is wider than what is written."""
    sure: Literal["high", "medium", "low"] = "high"
    """How good the evidence is."""
    needs_ids: bool = True
    """Whether calls and results without an id are refused."""
    has_ids: bool = True
    """Whether the field exists at all: some servers refuse it."""
    shy: bool = False
    """Whether some of its servers refuse that field while others take it."""
    answers: Literal["", "after", "next", "alone"] = ""
    """Where results stand: anywhere `after` their call; `next`, before anybody else speaks;
    `alone`, that is next, and with nothing else in their message."""
    batch: bool = False
    """Whether all results of a turn stand in one message."""
    first: bool = False
    """Whether results come before anything else in their message."""
    ordered: bool = False
    """Whether results are taken to stand in the order of their calls."""
    complete: bool = True
    """Whether a call without a result is refused once the history has moved on."""
    owned: bool = True
    """Whether a result without its call is refused."""
    single: bool = True
    """Whether a second result of a call is refused."""
    named: bool = False
    """Whether a result must bear the name of its call."""
    opens: bool = False
    """Whether a call may stand only after a user's message or a result: so it cannot begin a
    history."""
    rests: bool = False
    """Whether a user may not speak directly after a result."""
    ends: bool = False
    """Whether a request must end with a user's message or a result."""
    offers: bool = False
    """Whether tools must be offered when the history holds calls."""
    arguments: Literal["", "text", "json", "object"] = ""
    """What arguments must be: `text`, whatever it says, where the wire sends them as text; text
    that parses; an object."""
    content: Literal["", "text", "some"] = ""
    """What an assistant's content must be beside calls: no list but a plain `text`; `some`, not
    null."""
    echo: Literal["", "reasoning_content", "thinking", "signature", "reasoning"] = ""
    """What must come back with a call: the text that was thought, a signed block, a signature on
    the call, the item before it. Asked for only of models that think, and of requests that let
    them."""
    native: str = ""
    """The pattern of the ids that its models make themselves, and want back unchanged."""
    takes_names: IdRule | None = None
    """The names of tools that it takes, where that is wider than what is written, or not known to
    be checked."""
    distinct: bool = False
    """Whether two tools of one name on offer are refused."""
    knows: bool = False
    """Whether a choice of a tool that is not on offer is refused."""
    bare: bool = False
    """Whether an empty list of calls is refused."""
    legacy: bool = True
    """Whether the old single call without an id, and the role of its result, are still taken."""
    words: bool = False
    """Whether texts without words are refused, and errors that say nothing."""
    begins: bool = False
    """Whether a history must begin with a user's message."""
    items: dict[str, str] = {}
    """How the id of an item must begin, by the type of the item. None: items have no ids here, or
    ids that nobody checks."""
    thinkers: str = ""
    """The pattern of the models of which `echo` is asked. Of any other, only if the request itself
    says that it thinks."""
    lasting: bool = False
    """Whether `echo` is asked of every turn, and not just of the newest."""
    alternates: bool = False
    """Whether two messages of one role in a row are refused."""
    hosts: bool = False
    """Whether a call that the provider ran must stand in one message with its result, and the
    result after it."""
    merges: bool = False
    """Whether neighbouring messages of the assistant are taken as one, so that their calls are one
    batch."""


_ANY = IdRule()
_NAME = IdRule(_WORD, 64)
_DOTTED = IdRule("a-zA-Z0-9_.:-", 64, first="[a-zA-Z_]")
_ITEMS = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}
"""Seen in error texts: nodetool#4252, free-claude-code#1826, codex#33176, eca#465."""


def _unchecked(row: Profile) -> Profile:
    """The row of one that is not known to refuse a history for its pairs."""
    return replace(row, needs_ids=False, complete=False, owned=False, single=False)


_ROWS = (
    # --- the chat shape, and who speaks it ---
    Profile(
        "openai-chat",
        "openai-chat",
        IdRule(longest=40),
        _NAME,
        takes=IdRule(longest=64),
        seen="2026-08",
        answers="next",
        arguments="text",
        bare=True,
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
        seen="2026-02",
        answers="next",
        arguments="text",
        bare=True,
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
        takes=IdRule(longest=64),
        seen="2026-08",
        sure="medium",
        answers="next",
        arguments="text",
        bare=True,
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
        seen="2026-08",
        sure="low",
        needs_ids=False,
        single=False,
        echo="signature",
        distinct=True,
        takes_names=_DOTTED,
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
        unique=True,
        seen="2026-08",
        answers="next",
        echo="reasoning_content",
        native=r"(?:functions\.)?[a-zA-Z_][\w.-]*:\d+|[a-zA-Z_][\w-]*_\d+",
        thinkers=r"kimi-k2-thinking|kimi-k2\.[5-9]",
        lasting=True,
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
        seen="2026-06",
        sure="medium",
        answers="next",
        single=False,
        echo="reasoning_content",
        takes_names=_ANY,
        thinkers="deepseek-reasoner",
        bare=True,
        distinct=True,
        legacy=False,
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
        seen="2026-08",
        answers="alone",
        single=False,
        arguments="json",
        takes_names=_ANY,
        source="error 2013: MiniMax-M2#76, opencode#32608, opencode#32609; arguments: pi#5468",
    ),
    Profile(
        "qwen",
        "openai-chat",
        _ANY,
        _NAME,
        seen="2026-08",
        answers="next",
        single=False,
        takes_names=_ANY,
        bare=True,
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
            seen="2026-08",
            sure="low",
            takes_names=_ANY,
            source="error 1214 for message lists, without a cause: zhipuai-sdk#14, GLM-4#130",
        )
    ),
    Profile(
        "groq",
        "openai-chat",
        _ANY,
        _NAME,
        seen="2026-08",
        sure="medium",
        complete=False,
        owned=False,
        single=False,
        content="text",
        takes_names=_ANY,
        source=(
            "tool_call_id required: hackclub/ai#22; content of an assistant is no list: ellmer#162"
        ),
    ),
    Profile(
        "cerebras",
        "openai-chat",
        _ANY,
        _NAME,
        seen="2026-08",
        sure="medium",
        answers="next",
        single=False,
        content="some",
        takes_names=_ANY,
        source="null content refused: livekit/agents#2403, langchainjs#7487; pairs: elizaOS#18087",
    ),
    _unchecked(
        Profile(
            "xai",
            "openai-chat",
            _ANY,
            _NAME,
            seen="2026-08",
            sure="medium",
            arguments="json",
            takes_names=_ANY,
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
            takes=_ANY,
            takes_names=_ANY,
            seen="2026-08",
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
            seen="2026-08",
            sure="medium",
            takes_names=_ANY,
            source="makes ids like functions.f:0: fastllm#42, langchain#37756; no check reported",
        )
    ),
    _unchecked(
        Profile(
            "vllm",
            "openai-chat",
            _ANY,
            _NAME,
            seen="2026-08",
            takes_names=_ANY,
            source="checks what the model's template checks: vllm#9019, vllm#47734",
        )
    ),
    _unchecked(
        Profile(
            "sglang",
            "openai-chat",
            _ANY,
            _NAME,
            seen="2026-08",
            sure="medium",
            takes_names=_ANY,
            source="null ids in its own streams: sglang#7048, sglang#9606",
        )
    ),
    _unchecked(
        Profile(
            "llama.cpp",
            "openai-chat",
            _ANY,
            _NAME,
            seen="2026-08",
            takes_names=_ANY,
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
            seen="2026-08",
            sure="medium",
            takes_names=_ANY,
            source="hands out empty ids: lmstudio-bug-tracker#830",
        )
    ),
    # --- items ---
    Profile(
        "openai-responses",
        "openai-responses",
        IdRule(longest=64),
        _NAME,
        seen="2026-08",
        answers="after",
        echo="reasoning",
        arguments="text",
        items=_ITEMS,
        knows=True,
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
        seen="2026-08",
        sure="medium",
        answers="after",
        echo="reasoning",
        arguments="text",
        items=_ITEMS,
        knows=True,
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
        takes=_ANY,
        takes_names=_ANY,
        seen="2026-08",
        sure="medium",
        answers="next",
        single=False,
        echo="reasoning",
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
        unique=True,
        seen="2026-08",
        answers="next",
        batch=True,
        first=True,
        hosts=True,
        merges=True,
        arguments="object",
        echo="thinking",
        distinct=True,
        knows=True,
        words=True,
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
        unique=True,
        seen="2026-08",
        answers="next",
        batch=True,
        first=True,
        hosts=True,
        merges=True,
        arguments="object",
        echo="thinking",
        distinct=True,
        knows=True,
        words=True,
        source="as Anthropic's own, in everything: Kilo#5163, Antigravity-Manager#654",
    ),
    Profile(
        "minimax-anthropic",
        "anthropic",
        IdRule(_WORD),
        IdRule(_WORD, 128),
        takes=_ANY,
        takes_names=_ANY,
        seen="2026-08",
        sure="medium",
        answers="alone",
        batch=True,
        single=False,
        arguments="object",
        source="nothing but results after a call: opencode#32608, opencode#32609",
    ),
    Profile(
        "bedrock",
        "bedrock",
        IdRule(_WORD, 64),
        _NAME,
        takes=IdRule("a-zA-Z0-9_.:-", 64),
        seen="2026-08",
        answers="next",
        batch=True,
        alternates=True,
        offers=True,
        arguments="object",
        words=True,
        begins=True,
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
        seen="2026-08",
        sure="medium",
        answers="next",
        batch=True,
        alternates=True,
        offers=True,
        arguments="object",
        words=True,
        begins=True,
        source="refuses Bedrock's own ids: vercel/ai#11802; some models take them: opencode#48843",
    ),
    # --- parts ---
    Profile(
        "gemini",
        "gemini",
        _ANY,
        IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"),
        seen="2026-08",
        needs_ids=False,
        answers="alone",
        batch=True,
        ordered=True,
        named=True,
        opens=True,
        arguments="object",
        echo="signature",
        thinkers="gemini-3",
        distinct=True,
        takes_names=_DOTTED,
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
        seen="2026-08",
        sure="medium",
        needs_ids=False,
        shy=True,
        answers="alone",
        batch=True,
        ordered=True,
        named=True,
        opens=True,
        arguments="object",
        echo="signature",
        thinkers="gemini-3",
        distinct=True,
        takes_names=_DOTTED,
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
        seen="2026-08",
        sure="medium",
        needs_ids=False,
        has_ids=False,
        answers="alone",
        batch=True,
        ordered=True,
        named=True,
        opens=True,
        arguments="object",
        echo="signature",
        thinkers="gemini-3",
        distinct=True,
        takes_names=_DOTTED,
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
        seen="2026-08",
        answers="next",
        ends=True,
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
        seen="2026-08",
        sure="medium",
        answers="next",
        ends=True,
        rests=True,
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
            takes_names=_ANY,
            seen="2026-08",
            sure="low",
            source="no limit documented, no check reported: litellm#6980",
        )
    ),
    _unchecked(
        Profile(
            "ollama",
            "ollama",
            _ANY,
            _NAME,
            takes_names=_ANY,
            seen="2026-08",
            ordered=True,
            arguments="object",
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
            unique=True,
            seen="2026-11",
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
            unique=True,
            seen="2026-07",
            source="JSON-RPC ids are not used twice in a session",
        )
    ),
    _unchecked(
        Profile(
            "adk",
            "adk",
            seen="2026-08",
            source="makes adk- ids and takes them off again: aimock#19",
        )
    ),
    _unchecked(
        Profile(
            "genkit",
            "genkit",
            seen="2026-08",
            sure="medium",
            source="refs are optional: genkit#4112, genkit#5830",
        )
    ),
    _unchecked(
        Profile(
            "meai", "meai", seen="2026-04", source="a call id is never null: dotnet/extensions#6248"
        )
    ),
    _unchecked(Profile("oxp", "oxp", seen="2026-08", source="call_id is optional: OXP 1.0")),
    _unchecked(
        Profile(
            "text",
            "text",
            seen="2026-08",
            sure="low",
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
