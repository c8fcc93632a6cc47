"""Histories that sessions, stores, proxies and switches of the provider left behind, on every wire."""

from __future__ import annotations

from lint.reported.report import (
    ReportedHistory,
    a,
    answer,
    call,
    calls,
    chat,
    claude,
    content,
    converse,
    fc,
    fr,
    gemini,
    item_call,
    item_output,
    message,
    model,
    output,
    person,
    reasoning,
    responses,
    result,
    say,
    system,
    text,
    thinking,
    tool_result,
    tool_use,
    u,
    use,
    user,
)

from toolwire.conversation.json import JSON, Object

_NULL_PART: Object = {"video_metadata": None, "thought": None, "inline_data": None, "text": None}
_DUMPED_RESPONSE: JSON = {"id": None, "name": "f", "response": {"result": output(1)}}
_CACHE: Object = {"cache_control": {"type": "ephemeral"}}
_PAIR = (calls(call("call_1", 1)), result("call_1", 1))
_NUMBERED: JSON = {**call("call_1", 1), "index": 0}
_TYPELESS: JSON = {"id": "call_1", "function": {"name": "f", "arguments": '{"n": 1}'}}
_REPLY: Object = {"role": "assistant", "content": "fine"}
_RESOURCE: Object = {"type": "resource", "resource": {"uri": "file:///a", "text": output(1)}}
_LATE_USE: Object = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"n": 1}}


def _without(block: Object, name: str) -> Object:
    return {key: value for key, value in block.items() if key != name}


SESSIONS = [
    # --- fields that streams, stores and proxies left in blocks ---
    ReportedHistory(
        "claude-code#4378",
        "anthropic",
        claude(user(), a(text("so"), use("toolu_1", 1, text="")), u(answer("toolu_1", 1))),
        ("field-refused",),
    ),
    ReportedHistory(
        "langchain#31208",
        "anthropic",
        claude(user(), a(text("so"), use("toolu_1", 1, index=1)), u(answer("toolu_1", 1))),
        ("field-refused",),
    ),
    ReportedHistory(
        "langchain#31208-partial-json",
        "anthropic",
        claude(
            user(), a(use("toolu_1", 1, partial_json='{"n": 1}', index=0)), u(answer("toolu_1", 1))
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "CLIProxyAPI#512",
        "vertex-anthropic",
        claude(user(), a({**thinking(), **_CACHE}, use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("field-refused",),
    ),
    ReportedHistory(
        "gproxy#67",
        "anthropic",
        claude(
            user(),
            a({"type": "redacted_thinking", "data": "QUJD", **_CACHE}, text("hello")),
            user("again"),
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "sub2api#225",
        "anthropic",
        claude(
            user(),
            a(thinking(), use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            a({**thinking("so"), **_CACHE}, text("done")),
            user(),
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "zeroclaw#2693",
        "mistral",
        chat(
            user(),
            calls({**call("abcdefgh1", 1), "name": None, "arguments": None}),
            result("abcdefgh1", 1),
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "FastGPT#1253",
        "openai-chat",
        chat(user(), calls(_NUMBERED), result("call_1", 1)),
        ("field-refused",),
    ),
    ReportedHistory(
        "agentic#531",
        "openai-chat",
        chat({**user(), "id": "m1"}, *_PAIR, {**user(), "id": "m2", "parentMessageId": "m1"}),
        ("field-refused",),
    ),
    ReportedHistory(
        "useChat-messages-openai-chat",
        "azure-openai",
        chat({**user(), "createdAt": "2026-01-01"}, *_PAIR, user()),
        ("field-refused",),
    ),
    ReportedHistory(
        "LiveAgent#334",
        "openai-responses",
        responses(
            user(), {**item_call("call_1", 1), "timestamp": 1}, item_output("call_1", 1), user()
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "stored-result-metadata",
        "openai-responses",
        responses(user(), item_call("call_1", 1), item_output("call_1", 1, timestamp=12)),
        ("field-refused",),
    ),
    ReportedHistory(
        "stored-result-metadata",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), u(answer("toolu_1", 1, tool_name="f", duration=1))),
        ("field-refused",),
    ),
    ReportedHistory(
        "stored-result-metadata",
        "bedrock",
        converse(
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [tool_use("t1", 1)]},
            {"role": "user", "content": [tool_result("t1", 1, name="f")]},
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "stored-call-metadata",
        "gemini",
        gemini(
            person(),
            model({"functionCall": {"name": "f", "args": {"n": 1}, "timestamp": 1}}),
            person(fr(1)),
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "stored-call-metadata",
        "cohere",
        chat(user(), {**_without(calls(_NUMBERED), "content")}, result("call_1", 1)),
        ("field-refused",),
    ),
    # --- null and missing fields of dumped objects ---
    ReportedHistory(
        "freellmapi#232",
        "openai-chat",
        chat(user(), *_PAIR, {**_REPLY, "tool_calls": None}, user()),
        ("empty-tool-calls",),
    ),
    ReportedHistory(
        "HyperChat#115",
        "openai-chat",
        chat(user(), *_PAIR, {**_REPLY, "tool_calls": []}, user()),
        ("empty-tool-calls",),
    ),
    ReportedHistory(
        "calls-without-type",
        "openai-chat",
        chat(user(), calls(_TYPELESS), result("call_1", 1)),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "blocks-without-type",
        "anthropic",
        claude(
            user(),
            a(_without(use("toolu_1", 1), "type")),
            u(_without(answer("toolu_1", 1), "type")),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "items-without-type",
        "openai-responses",
        responses(
            user(),
            _without(item_call("call_1", 1), "type"),
            _without(item_output("call_1", 1), "type"),
            user(),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "null-content-of-an-item",
        "openai-responses",
        responses(
            user(),
            {"role": "assistant", "content": None},
            item_call("call_1", 1),
            item_output("call_1", 1),
        ),
        ("item-shape",),
    ),
    ReportedHistory(
        "null-content-of-a-user",
        "mistral",
        chat(
            {"role": "user", "content": None}, calls(call("abcdefgh1", 1)), result("abcdefgh1", 1)
        ),
        ("content-shape",),
    ),
    ReportedHistory(
        "stripped-image",
        "anthropic",
        claude(
            u(text("look"), {"type": "image", "source": {"type": "base64", "data": None}}),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "stripped-image-in-a-result",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1, content=[text(output(1)), {"type": "image", "source": None}])),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "null-output",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2)),
            u(
                answer("toolu_1", 1),
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": None},
            ),
        ),
        ("output-not-string",),
    ),
    # --- outputs and calls in the fields of another wire ---
    *(
        ReportedHistory(
            f"output-in-{field}",
            "openai-chat",
            chat(
                user(),
                calls(call("call_1", 1)),
                {"role": "tool", "tool_call_id": "call_1", field: output(1)},
                user(),
            ),
            ("wrong-vocabulary",),
        )
        for field in ("output", "result", "text")
    ),
    *(
        ReportedHistory(
            f"output-in-{field}",
            "anthropic",
            claude(
                user(),
                a(use("toolu_1", 1)),
                u({"type": "tool_result", "tool_use_id": "toolu_1", field: output(1)}),
            ),
            ("wrong-vocabulary",),
        )
        for field in ("output", "result", "text")
    ),
    ReportedHistory(
        "output-in-content",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1),
            {"type": "function_call_output", "call_id": "call_1", "content": output(1)},
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "output-in-result",
        "bedrock",
        converse(
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [tool_use("t1", 1)]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "result": output(1)}}]},
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "output-in-result",
        "gemini",
        gemini(
            person(), model(fc(1)), person({"functionResponse": {"name": "f", "result": output(1)}})
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "resource-of-mcp",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), u(answer("toolu_1", 1, content=[_RESOURCE]))),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "calls-of-langchain",
        "openai-chat",
        chat(
            user(),
            calls({"id": "call_1", "type": "tool_call", "name": "f", "args": {"n": 1}}),
            result("call_1", 1),
        ),
        ("wrong-vocabulary",),
    ),
    # --- halves of a pair in two formats, and dumps of SDK objects ---
    ReportedHistory(
        "half-migrated-from-functions",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            {"role": "function", "name": "f", "content": output(1)},
            user(),
        ),
        ("legacy-function-call",),
    ),
    ReportedHistory(
        "half-migrated-to-functions",
        "deepseek",
        chat(
            user(),
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": '{"n": 1}'},
            },
            result("call_1", 1),
            user(),
        ),
        ("legacy-function-call",),
    ),
    ReportedHistory(
        "tool-message-of-a-chat",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            {"role": "tool", "tool_use_id": "toolu_1", "content": output(1)},
        ),
        ("field-refused", "wrong-vocabulary"),
    ),
    ReportedHistory(
        "python-genai#437",
        "gemini",
        gemini(
            content("user", {**_NULL_PART, "text": "hi"}),
            model({**_NULL_PART, "function_call": {"id": None, "name": "f", "args": {"n": 1}}}),
            content("user", {**_NULL_PART, "function_response": _DUMPED_RESPONSE}),
            model({**_NULL_PART, "text": "fine"}),
            person(),
        ),
        (),
    ),
    ReportedHistory(
        "vllm#43995",
        "vllm",
        chat(user(), calls(call("call_1", 1, arguments='{"n": 1, "value": ')), result("call_1", 1)),
        ("args-invalid-json",),
    ),
    # --- interrupted, killed, aborted ---
    ReportedHistory(
        "copilot-cli#3183",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), user("resumed"), a(text("ok")), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "atomic#2130",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2)),
            u(answer("toolu_1", 1)),
            a(text("x")),
            user(),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "oh-my-pi#4508",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            a(),
            user("resume"),
            a(),
            user("resume"),
        ),
        ("content-shape",),
    ),
    ReportedHistory(
        "claude-code#31330",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2), use("toolu_3", 3)),
            u(answer("toolu_3", 3)),
            a(text("done")),
            user(),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "pi#3344",
        "anthropic",
        claude(
            user(), a(text("so"), use("toolu_bdrk_01", 1)), u(text("stop")), a(text("ok")), user()
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "octofriend#233",
        "openai-responses",
        responses(user(), item_call("call_1", 1), user("resumed"), message(), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "kernl#60",
        "openai-responses",
        responses(
            user(), item_call("call_1", 1), item_call("call_2", 2), item_output("call_1", 1), user()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "OpenHarness#171",
        "kimi",
        chat(user(), calls(call("write_file:234", 1)), user("go on")),
        ("missing-result",),
    ),
    ReportedHistory(
        "genkit-plugins#225",
        "openai-chat",
        chat(user(), calls(call("call_1", 1), call("call_2", 2)), result("call_2", 2), user()),
        ("partial-batch",),
    ),
    ReportedHistory(
        "gemini-cli#16543",
        "gemini",
        gemini(
            person(), model(fc(1), fc(2, "g")), person(fr(2, "g")), model({"text": "x"}), person()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "gemini-cli#16437",
        "gemini",
        gemini(person(), model(fc(1)), person({"text": "stop"}), model({"text": "x"}), person()),
        ("missing-result",),
    ),
    # --- cut away by compaction ---
    ReportedHistory(
        "zeph#3256",
        "openai-chat",
        chat(system("summary"), result("call_1", 1), result("call_2", 2), say(), user()),
        ("history-starts-with-result",),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "maki#641",
        "openai-responses",
        responses(user("summary"), item_output("call_1", 1), message(), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "pocketrb#5",
        "anthropic",
        claude(user("summary"), a(text("ok")), u(answer("toolu_1", 1)), a(text("x")), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "stella#341",
        "openai-responses",
        responses(
            user("summary"),
            item_output("call_1", 1),
            item_call("call_2", 2),
            item_output("call_2", 2),
            user(),
        ),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "bounty-challenge#18401",
        "openai-chat",
        chat(
            system(),
            user("summary"),
            result("call_2", 2),
            result("call_3", 3),
            calls(call("call_4", 4)),
            result("call_4", 4),
            user(),
        ),
        ("orphan-result",),
        as_text=(2, 3),
    ),
    ReportedHistory(
        "learn-claude-code#326",
        "anthropic",
        claude(u(answer("toolu_1", 1), answer("toolu_2", 2)), a(text("x")), user()),
        ("history-starts-with-result",),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "OpenManus#744",
        "openai-chat",
        chat(user(), say(), result("call_1", 1), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "qwen-code#2360",
        "qwen",
        chat(user(), say(), result("call_1", 1), say(), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "bedrock-access-gateway#239",
        "bedrock",
        _without(
            converse(
                {"role": "user", "content": [{"text": "hi"}]},
                {"role": "assistant", "content": [tool_use("t1", 1)]},
                {"role": "user", "content": [tool_result("t1", 1)]},
                {"role": "assistant", "content": [{"text": "done"}]},
                {"role": "user", "content": [{"text": "summarize"}]},
            ),
            "toolConfig",
        ),
        ("tools-undefined",),
    ),
    # --- another provider ---
    ReportedHistory(
        "tau#557",
        "anthropic",
        claude(user(), a(use("call_1|fc_1", 1)), u(answer("call_1|fc_1", 1))),
        ("id-composite",),
    ),
    ReportedHistory(
        "qwen-code#3304",
        "mistral",
        chat(
            user(),
            calls(call("abcdefgh1", 1), reasoning_content="hm"),
            result("abcdefgh1", 1),
            {**_REPLY, "reasoning_content": "so"},
            user(),
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "qwen-code#3304",
        "groq",
        chat(user(), {**_REPLY, "reasoning_content": "so"}, user()),
        ("field-refused",),
    ),
    ReportedHistory(
        "langchainjs#11175",
        "openai-chat",
        chat(
            user(),
            {**_REPLY, "content": [{"type": "reasoning", "reasoning": "hm"}, text("fine")]},
            *_PAIR,
            user(),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "tool-use-kept-in-content",
        "openai-chat",
        chat(user(), {**calls(call("call_1", 1)), "content": [_LATE_USE]}, result("call_1", 1)),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "reasoning-of-another-store",
        "openai-responses",
        responses(
            user(),
            reasoning(encrypted_content="gAAAAA", timestamp="x"),
            item_call("call_1", 1),
            item_output("call_1", 1),
        ),
        ("field-refused",),
    ),
    ReportedHistory("lmstudio#261", "cerebras", chat(user(), *_PAIR, user()), ("content-shape",)),
    # --- accepted: nothing may be found ---
    ReportedHistory(
        "cache-breakpoints-are-accepted",
        "anthropic",
        claude(
            u({**text("hi"), **_CACHE}),
            a(use("toolu_1", 1, **_CACHE)),
            u(answer("toolu_1", 1, **_CACHE)),
        ),
        (),
    ),
    ReportedHistory(
        "callers-are-accepted",
        "anthropic",
        claude(user(), a(use("toolu_1", 1, caller={"type": "direct"})), u(answer("toolu_1", 1))),
        (),
    ),
    ReportedHistory(
        "statuses-are-accepted",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1, id="fc_1", status="completed"),
            item_output("call_1", 1, id="fco_1", status="completed"),
        ),
        (),
    ),
    ReportedHistory(
        "cache-breakpoints-of-openrouter-are-accepted",
        "openai-chat",
        chat({"role": "user", "content": [{**text("hi"), **_CACHE}]}, *_PAIR, user()),
        (),
    ),
]
