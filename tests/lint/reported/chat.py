"""Histories of the chat wires: OpenAI and the servers that speak its wire, Mistral, Cohere, Ollama."""

from __future__ import annotations

from lint.reported.report import (
    ReportedHistory,
    call,
    calls,
    chat,
    output,
    result,
    say,
    system,
    user,
)

from toolwire.conversation.json import JSON

_UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
_IMAGE: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
_PAIR = (calls(call("call_1", 1)), result("call_1", 1))

CHAT = [
    # --- a call was cut away, its result stayed ---
    ReportedHistory(
        "langchain#34609",
        "openai-chat",
        chat(system(), user("summary"), result("call_5", 5), result("call_6", 6), say(), user()),
        ("orphan-result",),
        as_text=(5, 6),
    ),
    ReportedHistory(
        "semantic-kernel#12708",
        "azure-openai",
        chat(system(), result("call_1", 1), say(), user()),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "letta#2605",
        "openai-chat",
        chat(user("summary"), result("call_9", 9), *_PAIR, user()),
        ("orphan-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "n8n#34166",
        "openai-chat",
        chat(result("call_1", 1), say(), user(), calls(call("call_2", 2)), result("call_2", 2)),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "n8n#26046",
        "openai-chat",
        chat(result("call_1", 1), calls(call("call_2", 2)), user()),
        ("history-starts-with-result", "missing-result"),
        as_text=(1,),
    ),
    ReportedHistory(
        "autogen#3178",
        "openai-chat",
        chat(system(), result("call_1", 1)),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "context_agent#140",
        "mistral",
        chat(system(), result("abcdefgh1", 1), user()),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "deepx-code#94",
        "deepseek",
        chat(user(), say(), result("call_00_a", 1), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "MiniMax-M2#76",
        "minimax",
        chat(user(), say(), result("call_function_g094w5htkglv_1", 1), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    # --- a call without its result ---
    ReportedHistory(
        "TuriX-CUA#15",
        "deepseek",
        chat(user(), calls(call("call_1", 1)), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "qwen-code#869",
        "qwen",
        chat(user(), calls(call("call_1", 1), call("call_2", 2)), result("call_2", 2), user()),
        ("partial-batch",),
    ),
    ReportedHistory(
        "langchain#25716",
        "openai-chat",
        chat(user(), calls(call("call_1", 1)), say("done"), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "zeph#5513",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            user("wait"),
            calls(call("call_2", 2)),
            result("call_2", 2),
            result("call_1", 1),
            user(),
        ),
        ("result-separated",),
    ),
    ReportedHistory(
        "Gym#1181",
        "openai-chat",
        chat(user(), calls(call("call_1", 1)), user("the tool printed 4")),
        ("missing-result",),
    ),
    ReportedHistory(
        "ag-ui#1334",
        "openai-chat",
        chat(
            user(), calls(call("call_1", 1), call("call_2", 2)), result("call_1", 1), say(), user()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "copilot-sdk#1922",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1), call("call_2", 2)),
            result("call_1", 1),
            system("reminder"),
            result("call_2", 2),
            user(),
        ),
        ("result-separated",),
    ),
    ReportedHistory(
        "goose#11893",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1), call("call_2", 2)),
            result("call_1", 1),
            {"role": "user", "content": [_IMAGE]},
            result("call_2", 2),
        ),
        ("result-separated",),
    ),
    ReportedHistory(
        "factory#31",
        "deepseek",
        chat(user(), calls(call("call_1", 1)), user("hurry"), result("call_1", 1)),
        ("result-separated",),
    ),
    ReportedHistory(
        "litellm#21154",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            calls(call("call_2", 2)),
            result("call_1", 1),
            result("call_2", 2),
        ),
        ("calls-split",),
    ),
    ReportedHistory(
        "SmartHopper#660",
        "deepseek",
        chat(
            user(),
            calls(call("call_1", 1), reasoning_content="hm"),
            calls(call("call_2", 2), reasoning_content="hm"),
            result("call_1", 1),
            result("call_2", 2),
        ),
        ("calls-split",),
    ),
    # --- several results of one call ---
    ReportedHistory(
        "agno#5116",
        "openai-chat",
        chat(user(), calls(call("call_1", 1)), result("call_1", 1), result("call_1", 1), user()),
        ("dup-result",),
    ),
    ReportedHistory(
        "opencode#1211",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            {"role": "tool", "tool_call_id": "call_1", "content": "Tool execution aborted"},
            result("call_1", 1),
        ),
        ("dup-result",),
    ),
    ReportedHistory(
        "openai-agents#4685",
        "openai-chat",
        chat(user(), *_PAIR, say(), result("call_1", 1), user()),
        ("dup-result",),
    ),
    # --- ids ---
    ReportedHistory(
        "litellm#12941",
        "openai-chat-legacy",
        chat(user(), calls(call(f"call_{_UUID}", 1)), result(f"call_{_UUID}", 1)),
        ("id-too-long",),
    ),
    ReportedHistory(
        "llm-rosetta#596",
        "openai-chat",
        chat(user(), calls(call("a" * 65, 1)), result("a" * 65, 1)),
        ("id-too-long",),
    ),
    ReportedHistory(
        "vercel/ai#17233",
        "openai-chat",
        chat(user(), calls(call("a" * 51, 1)), result("a" * 51, 1)),
        (),
    ),
    ReportedHistory(
        "strands#1259",
        "openai-chat",
        chat(user(), calls(call(None, 1)), result(None, 1)),
        ("id-missing",),
    ),
    ReportedHistory(
        "pydantic-ai#895",
        "openai-chat",
        chat(user(), calls(call(None, 1), call(None, 2)), result(None, 1), result(None, 2)),
        ("id-missing", "ambiguous-same-name"),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "cc-switch#1786",
        "openai-chat",
        chat(user(), calls(call("", 1)), result("", 1)),
        ("id-empty",),
    ),
    ReportedHistory(
        "llama.cpp#12279",
        "openai-chat",
        chat(user(), calls(call("", 1), call("", 2, "g")), result("", 1), result("", 2)),
        ("id-empty", "ambiguous-same-name"),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "langchain-aws#141",
        "openai-chat",
        chat(user(), calls(call(1, 1)), result("1", 1), user(), calls(call(2, 2)), result("2", 2)),
        ("id-not-string",),
    ),
    ReportedHistory(
        "deepagentsjs#33",
        "openai-chat",
        chat(user(), calls(call("call_Xcall_Xcall_X", 1)), result("call_X", 1)),
        ("id-concatenated",),
    ),
    ReportedHistory(
        "pydantic-ai#3136",
        "openai-chat",
        chat(user(), calls(call("call_A1|fc_B1", 1)), result("call_A1", 1)),
        ("id-composite",),
    ),
    ReportedHistory(
        "hackclub/ai#22",
        "groq",
        chat(user(), calls(call("call_1", 1)), {"role": "tool", "content": output(1)}),
        ("id-missing",),
    ),
    ReportedHistory(
        "xinference#4237",
        "openai-chat",
        chat(
            user(),
            calls(call("call_0", 1), call("call_0", 2)),
            result("call_0", 1),
            result("call_0", 2),
        ),
        ("id-dup-in-turn",),
    ),
    ReportedHistory(
        "openclaw#51593",
        "kimi",
        chat(
            user(),
            calls(call("exec:2", 1, "exec")),
            result("exec:2", 1),
            user(),
            calls(call("exec:2", 2, "exec")),
            result("exec:2", 2),
        ),
        ("id-reused-across-turns",),
    ),
    ReportedHistory(
        "hermes-agent#11722",
        "mistral",
        chat(
            user(),
            calls(call("abcdefgh1", 1)),
            result("abcdefgh1", 1),
            say(),
            user(),
            calls(call("abcdefgh1", 2)),
            user(),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "magentic#276",
        "mistral",
        chat(user(), calls(call("call_9f6b2d", 1)), result("call_9f6b2d", 1)),
        ("id-wrong-length",),
    ),
    ReportedHistory(
        "openclaw#57672",
        "mistral",
        chat(user(), calls(call("functions.f:0", 1)), result("functions.f:0", 1)),
        ("id-wrong-length",),
    ),
    ReportedHistory(
        "client-python#234",
        "mistral",
        chat(
            user(),
            calls(call("abcdefgh1", 1), call("abcdefgh2", 2)),
            result("abcdefgh1", 1),
            say(),
            user(),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "onyx#6458",
        "mistral-legacy",
        chat(user(), calls(call("dnEN4JsJy", 1)), result("dnEN4JsJy", 1), user("reminder")),
        ("user-after-tool",),
    ),
    ReportedHistory("AiNiee#641", "mistral", chat(user(), say("so far")), ("trailing-assistant",)),
    ReportedHistory(
        "client-python#186", "mistral", chat(user(), {**say("so far"), "prefix": True}), ()
    ),
    ReportedHistory(
        "extension#16",
        "mistral",
        chat(user(), {"role": "assistant", "content": ""}, user()),
        ("content-shape",),
    ),
    ReportedHistory(
        "inspect_ai#2842",
        "mistral",
        chat(user(), {"role": "assistant", "content": None}, user()),
        ("content-shape",),
    ),
    ReportedHistory(
        "docker-agent#63",
        "openai-chat",
        chat(user(), *_PAIR, {"role": "assistant", "content": None}, user()),
        ("content-shape",),
    ),
    ReportedHistory(
        "llama_index#17555",
        "openai-chat",
        chat(user(), {"role": "assistant"}, user()),
        ("content-shape",),
    ),
    ReportedHistory(
        "langchain4j#1105",
        "openai-chat",
        chat(user(), calls(call("call_1", 1)), result("call_1", 1)),
        (),
    ),
    ReportedHistory(
        "better-ai-agent#2",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            {"role": "tool", "tool_call_id": "call_1", "content": None},
            user(),
        ),
        ("output-not-string",),
    ),
    ReportedHistory("AstrBot#7200", "kimi", chat(user(), say(""), user()), ("content-shape",)),
    ReportedHistory("anything-analyzer#32", "kimi", chat(system(""), user()), ("content-shape",)),
    ReportedHistory(
        "cheetahclaws#72",
        "cerebras",
        chat(user(), calls(call("call_1", 1)), result("call_1", 1)),
        ("content-shape",),
    ),
    # --- reasoning ---
    ReportedHistory(
        "GitNexus#43",
        "deepseek",
        chat(user(), *_PAIR, model="deepseek-reasoner"),
        ("reasoning-content-missing",),
    ),
    ReportedHistory(
        "continue#11600",
        "kimi",
        chat(user(), calls(call("f:0", 1)), result("f:0", 1), model="kimi-k2.5"),
        ("reasoning-content-missing",),
    ),
    ReportedHistory(
        "freellmapi#1070",
        "groq",
        chat(user(), {**say(), "reasoning_content": "hm"}, user()),
        ("field-refused",),
    ),
    # --- arguments ---
    ReportedHistory(
        "pi#5468",
        "minimax",
        chat(user(), calls(call("call_1", 1, arguments='{"n": 1')), result("call_1", 1)),
        ("args-invalid-json",),
    ),
    ReportedHistory(
        "spiceai#4734",
        "xai",
        chat(user(), calls(call("call_1", 1, arguments="")), result("call_1", 1)),
        ("args-empty-string",),
    ),
    ReportedHistory(
        "onyx#6458-arguments",
        "openai-chat",
        chat(user(), calls(call("call_1", 1, arguments={"n": 1})), result("call_1", 1)),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "ogx#4430",
        "minimax",
        chat(user(), calls(call("call_1", 1, arguments='{"n": 1}{"n": 2}')), result("call_1", 1)),
        ("args-merged",),
    ),
    ReportedHistory(
        "flama#258",
        "minimax",
        chat(user(), calls(call("call_1", 1, arguments='"{\\"n\\": 1}"')), result("call_1", 1)),
        ("args-double-encoded",),
    ),
    ReportedHistory(
        "codex#42088",
        "minimax",
        chat(
            user(),
            calls(
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": None}}
            ),
            result("call_1", 1),
        ),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "continue#11645",
        "openai-chat",
        chat(user(), calls(call("call_1", 1, "")), result("call_1", 1)),
        ("name-empty",),
    ),
    ReportedHistory(
        "forgecode#1141",
        "kimi",
        chat(user(), calls(call("call_1", 1, "")), result("call_1", 1)),
        ("name-empty",),
    ),
    ReportedHistory(
        "fastapi_mcp#161",
        "openai-chat",
        chat(user(), calls(call("call_1", 1, "gmail.search")), result("call_1", 1)),
        ("name-bad-charset",),
    ),
    ReportedHistory(
        "codex#8174",
        "openai-chat",
        chat(user(), calls(call("call_1", 1, "m" * 70)), result("call_1", 1)),
        ("name-too-long",),
    ),
    ReportedHistory(
        "openai-node#1341",
        "openai-chat",
        chat(user(), {**say(), "tool_calls": []}, user()),
        ("empty-tool-calls",),
    ),
    ReportedHistory(
        "haystack#8194",
        "deepseek",
        chat(
            user(),
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": '{"n": 1}'},
            },
            {"role": "function", "name": "f", "content": output(1)},
        ),
        ("legacy-function-call",),
    ),
    ReportedHistory(
        "ellmer#162",
        "groq",
        chat(
            user(),
            {**calls(call("call_1", 1)), "content": [{"type": "text", "text": "see"}]},
            result("call_1", 1),
        ),
        ("content-shape",),
    ),
    ReportedHistory(
        "OpenHands#7700",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            result("call_1", 1, content=[{"type": "text", "text": output(1)}, _IMAGE]),
        ),
        ("media-in-result",),
    ),
    ReportedHistory(
        "litellm#25669",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": output(1)}],
            },
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "kelivo#281",
        "openai-chat",
        chat(user(), {"type": "function_call_output", "call_id": "call_9", "output": output(9)}),
        ("wrong-vocabulary",),
        as_text=(9,),
    ),
    ReportedHistory(
        "vllm#41114", "vllm", chat(user(), *_PAIR, system("late"), user()), ("late-system-message",)
    ),
    ReportedHistory(
        "swarmauri-sdk#162",
        "mistral",
        chat(user(), say(), system("late"), user()),
        ("late-system-message",),
    ),
    ReportedHistory(
        "agentdojo#200",
        "cohere",
        chat(user(), calls(call("call_1", 1)), {"role": "tool", "content": output(1)}),
        ("id-missing",),
    ),
    ReportedHistory(
        "openclaw#84730",
        "xai",
        chat(
            user(),
            calls(call("call_0", 1), call("call_0", 2)),
            result("call_0", 1),
            result("call_0", 2),
        ),
        (),
    ),
    ReportedHistory(
        "openclaw#70030",
        "kimi",
        chat(user(), calls(call("functionsf0", 1)), result("functionsf0", 1)),
        ("native-id-mangled",),
    ),
]
