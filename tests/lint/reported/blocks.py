"""Histories of Anthropic and Bedrock."""

from __future__ import annotations

from lint.reported.report import (
    ReportedHistory,
    a,
    answer,
    claude,
    converse,
    output,
    say,
    text,
    thinking,
    tool_result,
    tool_use,
    u,
    use,
    user,
)

from toolwire.conversation.json import JSON

_ENABLED: JSON = {"type": "enabled", "budget_tokens": 1024}
_IMAGE: JSON = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}
_SEARCH: JSON = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "x"},
}
_FOUND: JSON = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
_HI: JSON = {"role": "user", "content": [{"text": "hi"}]}

BLOCKS = [
    # --- calls without results ---
    ReportedHistory(
        "claude-code#1237",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "claude-code#1894",
        "anthropic",
        claude(
            user(),
            a(text("see"), use("toolu_1", 1)),
            u(text("[Request interrupted by user]")),
            user(),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "goose#2951",
        "anthropic",
        claude(
            user("summary"),
            say(),
            a(use("toolu_1", 1)),
            a(use("toolu_2", 2)),
            u(answer("toolu_2", 2)),
            user(),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "claude-code#3639",
        "anthropic",
        claude(
            user(), a(use("toolu_1", 1), use("toolu_2", 2)), u(answer("toolu_1", 1)), say(), user()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "Antigravity-Manager#654",
        "vertex-anthropic",
        claude(user(), a(use("bash-uOQIdN0O", 1)), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "OpenHarness#191",
        "anthropic",
        claude(user("summary"), a(use("toolu_1", 1)), say(), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "cai#182",
        "anthropic",
        claude(user(), a(text(""), use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("content-shape",),
    ),
    # --- results without calls ---
    ReportedHistory(
        "claude-agent-sdk#631",
        "anthropic",
        claude(u(answer("toolu_1", 1, is_error=True)), user()),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "copilot-cli#1005",
        "anthropic",
        claude(u(text("summary"), answer("toolu_1", 1)), say(), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "oh-my-pi#1165",
        "anthropic",
        claude(
            user("handoff"),
            u(answer("toolu_9", 9)),
            user("goal"),
            user("resume"),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            a(use("toolu_2", 2), use("toolu_3", 3)),
            u(answer("toolu_2", 2), answer("toolu_3", 3)),
            say(),
            user(),
        ),
        ("orphan-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "graph-agent#85",
        "anthropic",
        claude(
            user("summary"),
            u(answer("toolu_1", 1)),
            a(use("toolu_2", 2)),
            u(answer("toolu_2", 2)),
            say(),
            user(),
        ),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "claude-code#14173",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1), answer("toolu_9", 9)),
            say(),
            user(),
        ),
        ("call-dropped-keep-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "learn-claude-code#502",
        "anthropic",
        claude(user("summary"), say(), u(answer("call_9", 9))),
        ("orphan-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "langgraphjs#1423",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            user("review"),
            u(answer("toolu_1", 1)),
            say(),
            user(),
        ),
        ("dup-result",),
    ),
    ReportedHistory(
        "9router#2663",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), say(), u(answer("toolu_1", 1)), user()),
        ("result-separated",),
    ),
    ReportedHistory(
        "9router#2663-image",
        "anthropic",
        claude(
            user(),
            say(),
            u({"type": "tool_result", "tool_use_id": "toolu_9", "content": [_IMAGE]}),
            user(),
        ),
        ("orphan-result",),
    ),
    # --- places ---
    ReportedHistory(
        "bagofwords#901",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), u(text("see"), answer("toolu_1", 1))),
        ("result-not-first",),
    ),
    ReportedHistory(
        "zero#843",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2)),
            u(answer("toolu_1", 1), _IMAGE, answer("toolu_2", 2)),
        ),
        ("result-not-first",),
    ),
    ReportedHistory(
        "any-llm#681",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2)),
            u(answer("toolu_1", 1)),
            u(answer("toolu_2", 2)),
        ),
        ("results-split",),
    ),
    ReportedHistory(
        "opencode#32609",
        "minimax-anthropic",
        claude(user(), a(use("toolu_1", 1)), u(answer("toolu_1", 1), text("next?"))),
        ("result-with-extra",),
    ),
    ReportedHistory(
        "claude-code#20901",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), a(use("toolu_1", 1)), u(answer("toolu_1", 1)), user()),
        ("id-dup-call",),
    ),
    ReportedHistory(
        "claude-code#21089",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), a(use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("id-dup-call",),
    ),
    ReportedHistory(
        "claude-code#28515",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_1", 2)),
            u(answer("toolu_1", 1), answer("toolu_1", 2)),
        ),
        ("id-dup-in-turn",),
    ),
    ReportedHistory(
        "wrong-role-use",
        "anthropic",
        claude(user(), u(use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("wrong-role",),
    ),
    ReportedHistory(
        "wrong-role-result",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), a(answer("toolu_1", 1)), user()),
        ("wrong-role",),
    ),
    # --- ids and names ---
    ReportedHistory(
        "litellm#21114",
        "anthropic",
        claude(user(), a(use("functions.f:0", 1)), u(answer("functions.f:0", 1))),
        ("id-bad-charset",),
    ),
    ReportedHistory(
        "maple-proxy#18",
        "anthropic",
        claude(user(), a(use("call_A|fc_B", 1)), u(answer("call_A|fc_B", 1))),
        ("id-composite",),
    ),
    ReportedHistory(
        "qwen-code#8160",
        "anthropic",
        claude(user(), a(use("", 1)), u(answer("", 1))),
        ("id-empty",),
    ),
    ReportedHistory(
        "9router#3362",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), u({"type": "tool_result", "content": output(1)})),
        ("id-missing",),
    ),
    ReportedHistory(
        "litellm#18160",
        "anthropic",
        claude(
            user(),
            a(use("call_9f__thought__CiQB+/=" + "A" * 60, 1)),
            u(answer("call_9f__thought__CiQB+/=" + "A" * 60, 1)),
        ),
        ("id-carries-payload",),
    ),
    ReportedHistory(
        "experiential#801",
        "anthropic",
        claude(user(), a(use("x" * 128, 1)), u(answer("x" * 128, 1))),
        (),
    ),
    ReportedHistory(
        "copilot-cli#1879",
        "anthropic",
        claude(user(), a(use("toolu_1", 1, "server/tool.x")), u(answer("toolu_1", 1))),
        ("name-bad-charset",),
    ),
    ReportedHistory(
        "claude-code#10687",
        "anthropic",
        {**claude(user()), "tools": [{"name": "f", "input_schema": {"type": "object"}}] * 2},
        ("name-collision",),
    ),
    ReportedHistory(
        "litellm#17737",
        "anthropic",
        claude(user(), a(use("srvtoolu_1", 1, "web_search"), text("found")), user()),
        ("server-tool-as-client",),
    ),
    # --- server tools ---
    ReportedHistory(
        "claude-code#68155",
        "anthropic",
        claude(
            user(),
            say(),
            user(),
            a(
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                text("found"),
            ),
            user(),
        ),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "litellm#22240",
        "anthropic",
        claude(user(), a(_SEARCH, text("found")), user()),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "anthropic-docs-server-pair",
        "anthropic",
        claude(user(), a(_SEARCH, _FOUND, text("found")), user()),
        (),
    ),
    # --- empty content ---
    ReportedHistory(
        "claude-code#6774", "anthropic", claude(u(), say(), user()), ("content-shape",)
    ),
    ReportedHistory(
        "claude-code#3196", "anthropic", claude(user(""), say(), user()), ("content-shape",)
    ),
    ReportedHistory("inspect_ai#832", "anthropic", claude(user(), a(), user()), ("content-shape",)),
    ReportedHistory(
        "anthropic-sdk#461",
        "anthropic",
        claude(user(), a(text(" \n"), use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("content-shape",),
    ),
    ReportedHistory(
        "null-content",
        "anthropic",
        claude(user(), {"role": "assistant", "content": None}, user()),
        ("content-shape",),
    ),
    ReportedHistory(
        "empty-result-accepted",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), u({"type": "tool_result", "tool_use_id": "toolu_1"})),
        (),
    ),
    ReportedHistory("prefill-4-5", "anthropic", claude(user(), say("{"), tools=[]), ()),
    ReportedHistory(
        "trailing-space-prefill",
        "anthropic",
        claude(user(), say("so "), tools=[]),
        ("content-shape",),
    ),
    ReportedHistory(
        "copilot-api#261",
        "anthropic",
        claude(user(), say("{"), model="claude-opus-4-6"),
        ("trailing-assistant",),
    ),
    ReportedHistory(
        "opencode#22404",
        "anthropic",
        claude(
            user(), a(use("toolu_1", 1)), u(answer("toolu_1", 1)), say("and"), model="claude-opus-5"
        ),
        ("trailing-assistant",),
    ),
    ReportedHistory(
        "magic-context#511",
        "anthropic",
        claude(user(), say("well"), model="claude-sonnet-5"),
        ("trailing-assistant",),
    ),
    # --- thinking ---
    ReportedHistory(
        "opencode#3077",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), u(answer("toolu_1", 1)), thinking=_ENABLED),
        ("thinking-missing",),
    ),
    ReportedHistory(
        "loomcycle#617",
        "anthropic",
        claude(
            user(), a(text("see"), use("toolu_1", 1)), u(answer("toolu_1", 1)), thinking=_ENABLED
        ),
        ("thinking-missing",),
    ),
    ReportedHistory(
        "forgecode#2107",
        "anthropic",
        claude(user(), a(thinking()), user(), thinking=_ENABLED),
        ("reasoning-dangling",),
    ),
    ReportedHistory(
        "TanStack#391",
        "anthropic",
        claude(
            user(),
            a({"type": "thinking", "thinking": "hm"}, use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
        ),
        ("signature-missing",),
    ),
    ReportedHistory(
        "signature-empty",
        "anthropic",
        claude(
            user(),
            a(thinking("hm", ""), use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            thinking=_ENABLED,
        ),
        ("signature-missing",),
    ),
    ReportedHistory(
        "signature-null",
        "anthropic",
        claude(user(), a(thinking("hm", None), use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("signature-missing",),
    ),
    ReportedHistory(
        "langchain4j#6246",
        "anthropic",
        claude(
            user(), a(thinking(""), use("toolu_1", 1)), u(answer("toolu_1", 1)), thinking=_ENABLED
        ),
        (),
    ),
    ReportedHistory(
        "pi#9048",
        "anthropic",
        claude(
            user(),
            a(thinking("hm", "gAAAAABo" + "x" * 40), use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
        ),
        ("signature-foreign",),
    ),
    # --- arguments ---
    ReportedHistory(
        "input-as-text",
        "anthropic",
        claude(user(), a({**use("toolu_1", 1), "input": '{"n": 1}'}), u(answer("toolu_1", 1))),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "input-null",
        "anthropic",
        claude(user(), a({**use("toolu_1", 1), "input": None}), u(answer("toolu_1", 1))),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "input-missing",
        "anthropic",
        claude(
            user(), a({"type": "tool_use", "id": "toolu_1", "name": "f"}), u(answer("toolu_1", 1))
        ),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "input-list",
        "anthropic",
        claude(user(), a({**use("toolu_1", 1), "input": [1]}), u(answer("toolu_1", 1))),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "result-number",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u({"type": "tool_result", "tool_use_id": "toolu_1", "content": 7}),
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "result-object",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u({"type": "tool_result", "tool_use_id": "toolu_1", "content": {"ok": output(1)}}),
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "error-without-content",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": ""}),
        ),
        ("content-shape",),
    ),
    ReportedHistory(
        "tool-role",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            {"role": "tool", "tool_call_id": "toolu_1", "content": output(1)},
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "chat-call",
        "anthropic",
        claude(
            user(),
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "toolu_1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"n": 1}'},
                    }
                ],
            },
            u(answer("toolu_1", 1)),
        ),
        ("wrong-vocabulary",),
    ),
    # --- Bedrock ---
    ReportedHistory(
        "genkit-bedrock#664",
        "bedrock",
        converse(
            _HI,
            a(tool_use("t1", 1), tool_use("t2", 2)),
            u(tool_result("t1", 1)),
            u(tool_result("t2", 2)),
        ),
        ("results-split",),
    ),
    ReportedHistory(
        "langchainjs#6724",
        "bedrock",
        converse(_HI, {"role": "user", "content": [{"text": "and"}]}),
        ("same-role-twice",),
    ),
    ReportedHistory(
        "hermes-agent#55092",
        "bedrock",
        converse(
            _HI,
            a(tool_use("t1", 1)),
            u({"toolResult": {"toolUseId": "t1", "content": [{"text": ""}]}}),
        ),
        ("content-shape",),
    ),
    ReportedHistory(
        "agentcore#15",
        "bedrock",
        converse(
            _HI,
            a(tool_use("t1", 1)),
            u({"toolResult": {"toolUseId": "t1", "status": "error", "content": []}}),
        ),
        ("content-shape",),
    ),
    ReportedHistory(
        "zot#18",
        "bedrock",
        {"messages": [_HI, a(tool_use("t1", 1)), u(tool_result("t1", 1))]},
        ("tools-undefined",),
    ),
    ReportedHistory(
        "agno#6698",
        "bedrock",
        converse(_HI, a(tool_use("t1", 1)), u(tool_result("t1", 1), tool_result("t9", 9))),
        ("call-dropped-keep-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "Cyber-AutoAgent#72",
        "bedrock",
        converse(
            _HI, a(tool_use("f", 1), tool_use("f", 2)), u(tool_result("f", 1), tool_result("f", 2))
        ),
        ("id-is-tool-name",),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "llama_index#22775",
        "bedrock",
        converse(_HI, a(tool_use("x" * 65, 1)), u(tool_result("x" * 65, 1))),
        ("id-too-long",),
    ),
    ReportedHistory(
        "pydantic-ai#4495",
        "bedrock",
        converse({"role": "assistant", "content": [{"text": "hello"}]}, _HI),
        ("history-starts-with-call",),
    ),
    ReportedHistory(
        "opencode#41445",
        "bedrock",
        converse(
            _HI,
            a(tool_use("t1", 1), tool_use("t2", 2)),
            u(tool_result("t1", 1)),
            a({"text": "ok"}),
            u(tool_result("t2", 2)),
        ),
        ("result-separated",),
    ),
    ReportedHistory(
        "hermes-agent#90008",
        "bedrock",
        converse(_HI, a(tool_use("t1", 1, "mcp.tool")), u(tool_result("t1", 1))),
        ("name-bad-charset",),
    ),
    ReportedHistory(
        "vercel/ai#11802",
        "bedrock-mistral",
        converse(_HI, a(tool_use("tooluse_bpAAAA", 1)), u(tool_result("tooluse_bpAAAA", 1))),
        ("id-wrong-length",),
    ),
    ReportedHistory(
        "strands#120",
        "bedrock",
        converse(u(tool_result("t1", 1)), a({"text": "ok"}), _HI),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "bedrock-missing", "bedrock", converse(_HI, a(tool_use("t1", 1)), _HI), ("missing-result",)
    ),
    ReportedHistory(
        "bedrock-text-with-result",
        "bedrock",
        converse(_HI, a(tool_use("t1", 1)), u(tool_result("t1", 1), {"text": "and?"})),
        (),
    ),
    ReportedHistory(
        "bedrock-empty-content", "bedrock", converse(_HI, a(), _HI), ("content-shape",)
    ),
    ReportedHistory(
        "bedrock-input-text",
        "bedrock",
        converse(
            _HI,
            a({"toolUse": {"toolUseId": "t1", "name": "f", "input": '{"n": 1}'}}),
            u(tool_result("t1", 1)),
        ),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "bedrock-no-tool",
        "bedrock",
        converse(_HI, a(tool_use("t1", 1, "gone")), u(tool_result("t1", 1))),
        (),
    ),
]
