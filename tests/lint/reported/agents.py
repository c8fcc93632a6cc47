"""Histories of coding agents, gateways and frameworks: compaction, interruption, retries, switches."""

from __future__ import annotations

from lint.reported.report import (
    ReportedHistory,
    a,
    answer,
    call,
    calls,
    chat,
    claude,
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

from toolwire.conversation.json import JSON

_ABORTED = "Tool execution aborted"
_PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
_ENABLED: JSON = {"type": "enabled", "budget_tokens": 1024}


def asks(words: str = "hello") -> JSON:
    """A user message of Bedrock."""
    return {"role": "user", "content": [{"text": words}]}


def item(words: str = "hello", role: str = "user") -> JSON:
    """A message of Responses in its short form."""
    return {"role": role, "content": words}


AGENTS = [
    # --- compaction and trimming ---
    ReportedHistory(
        "sudocode#546",
        "anthropic",
        claude(
            user(),
            a(use("call_01_a", 1), use("call_02_b", 2)),
            u(answer("call_01_a", 1)),
            u(answer("call_02_b", 2)),
            user("summarize"),
        ),
        ("results-split",),
    ),
    ReportedHistory(
        "openclaw#8525",
        "anthropic",
        claude(user("summary"), say(), u(answer("toolu_8", 8), text("next")), say(), user()),
        ("orphan-result",),
        as_text=(8,),
    ),
    ReportedHistory(
        "openclaw#16095",
        "anthropic",
        claude(
            user("summary"),
            u(answer("toolu_7", 7, is_error=True)),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
        ),
        ("orphan-result",),
        as_text=(7,),
    ),
    ReportedHistory(
        "openclaw#4739",
        "anthropic",
        claude(
            user("summary"),
            a(text("working"), use("toolu_1", 1)),
            u(answer("toolu_1", 1), answer("toolu_6", 6, is_error=True)),
            user(),
        ),
        ("call-dropped-keep-result",),
        as_text=(6,),
    ),
    ReportedHistory(
        "openclaw#29306",
        "minimax-anthropic",
        claude(
            user("summary"),
            a(use("toolu_1", 1)),
            user("and?"),
            u(answer("toolu_1", 1)),
            say(),
            user(),
        ),
        ("result-separated",),
    ),
    ReportedHistory(
        "atomic#2051",
        "anthropic",
        claude(
            user("summary"),
            a(use("toolu_1", 1), use("toolu_2", 2)),
            u(answer("toolu_1", 1), answer("toolu_1", 1), answer("toolu_2", 2)),
        ),
        ("dup-result",),
    ),
    ReportedHistory(
        "claude-code#8484",
        "anthropic",
        claude(
            user("summary"),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1), answer("toolu_5", 5), answer("toolu_4", 4)),
            say(),
            user(),
        ),
        ("call-dropped-keep-result",),
        as_text=(4, 5),
    ),
    ReportedHistory(
        "kimi-code#1053",
        "kimi",
        chat(user("summary"), result("functions.f:7", 7), say(), user()),
        ("orphan-result",),
        as_text=(7,),
    ),
    ReportedHistory(
        "spring-ai#5940",
        "anthropic",
        claude(u(answer("toolu_bdrk_1", 1)), say(), user()),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "spring-ai#6029",
        "openai-chat",
        chat(
            result("call_1", 1), say("done"), user(), calls(call("call_2", 2)), result("call_2", 2)
        ),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "langchain4j#585",
        "openai-chat",
        chat(system(), result("call_1", 1), result("call_2", 2), say(), user()),
        ("history-starts-with-result",),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "n8n#33590",
        "openai-responses",
        responses(item_output("call_1", 1), message("done"), item()),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "semantic-kernel#13062",
        "azure-openai",
        chat(
            user("summary"),
            calls(call("call_1", 1)),
            user("next"),
            result("call_2", 2),
            say(),
            user(),
        ),
        ("missing-result", "orphan-result"),
        as_text=(2,),
    ),
    ReportedHistory(
        "openfang#1011",
        "gemini",
        gemini(
            model(fc(1, call_id="a1")), person(fr(1, call_id="a1")), model({"text": "x"}), person()
        ),
        ("history-starts-with-call",),
    ),
    ReportedHistory(
        "OmniRoute#13573",
        "gemini",
        gemini(model({"text": "look"}, fc(1), fc(2, "g")), person(fr(1), fr(2, "g"))),
        ("history-starts-with-call",),
    ),
    ReportedHistory(
        "gemini-cli#26956",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="a1")),
            person(fr(1, call_id="a1")),
            person(fr(9, call_id="esrym5y5")),
            model({"text": "x"}),
            person(),
        ),
        ("call-dropped-keep-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "openai-agents#2171",
        "openai-responses",
        responses(
            item("history: f was called and returned <<1>>", "assistant"),
            item_output("call_1", 1),
            item("next"),
        ),
        ("orphan-result",),
        as_text=(1,),
    ),
    # --- interrupted ---
    ReportedHistory(
        "claude-code#2796",
        "anthropic",
        claude(user(), a(text("look"), use("toolu_1", 1)), user("Error: ENOENT"), say(), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "claude-code#5705",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(text("[Request interrupted by user for tool use]")),
            user("again"),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "opencode#21326",
        "anthropic",
        claude(
            user(),
            a(use("toolu_bdrk_1", 1), use("toolu_bdrk_2", 2)),
            u(answer("toolu_bdrk_2", 2), text("continue")),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "opencode#22808",
        "qwen",
        chat(user(), calls(call("call_1", 1)), user("hello?"), user("?")),
        ("missing-result",),
    ),
    ReportedHistory(
        "opencode#40235",
        "openai-chat",
        chat(
            user(),
            calls(
                call("functions.todowrite:1", 1),
                call("functions.todowrite:1", 9, name="unknown", arguments="{}"),
            ),
            result("functions.todowrite:1", 1),
            {"role": "tool", "tool_call_id": "functions.todowrite:1", "content": _ABORTED},
            user(),
        ),
        ("id-dup-in-turn",),
    ),
    ReportedHistory(
        "crush#1860",
        "anthropic",
        claude(
            user(),
            a({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}),
            user("continue"),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "kimi-code#269",
        "kimi",
        chat(user(), calls(call("TaskOutput:79", 79), reasoning_content="hm"), user("go on")),
        ("missing-result",),
    ),
    ReportedHistory(
        "kimi-code#705",
        "kimi",
        chat(
            user(),
            calls(call("Read:157", 1), call("Read:158", 2), reasoning_content="hm"),
            result("Read:157", 1),
            user(),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "dsh-plugin#45",
        "openai-responses",
        responses(
            item(), item_call("call_1", 1), item_call("call_2", 2), item_output("call_2", 2), item()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "claude-code#6302",
        "vertex-anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            a(use("toolu_2", 2)),
            a(text("cool")),
            user(),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "gemini-cli#5443",
        "gemini",
        gemini(person(), model(fc(1), fc(2, "g")), person(fr(1)), model({"text": "x"}), person()),
        ("partial-batch",),
    ),
    ReportedHistory(
        "gemini-cli#13292",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="a"), fc(2, call_id="b")),
            person(fr(2, call_id="b")),
            person({"text": "crash"}),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "conductor#62",
        "gemini",
        gemini(
            person(), model(fc(1, call_id="a")), person({"text": "go on"}), person({"text": "?"})
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "pydantic-ai#161",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1), call("call_2", 2), call("call_3", 3)),
            {"role": "tool", "tool_call_id": "call_2", "content": output(2)},
            user("fix the errors and try again"),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "pydantic-ai#1470",
        "openai-chat",
        chat(result("call_DMvu", 9), calls(call("call_3aAo", 1)), result("call_3aAo", 1), user()),
        ("history-starts-with-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "dify-plugins#2352",
        "deepseek",
        chat(
            user(), calls(call("call_1", 1), call("call_2", 2)), result("call_1", 1), say(), user()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "vercel/ai#12709",
        "openai-responses",
        responses(item(), item_call("call_1", 1), item("rather do it tomorrow")),
        ("missing-result",),
    ),
    # --- a stream was stored wrongly ---
    ReportedHistory(
        "spring-ai#6340",
        "deepseek",
        chat(user(), {**calls(call("call_1", 1)), "content": "It is noon."}, user("and now?")),
        ("missing-result",),
    ),
    ReportedHistory(
        "spring-ai#6340-again",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            result("call_1", 1),
            {**calls(call("call_1", 1)), "content": "It is noon."},
            user("and now?"),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "spring-ai#4556",
        "gemini",
        gemini(person(), model(fc(1)), person(fr(1)), model(), model({"text": "done"}), person()),
        ("content-shape",),
    ),
    ReportedHistory(
        "spring-ai#3234",
        "anthropic",
        claude(
            user(),
            a({"type": "tool_use", "id": "toolu_1", "name": "f", "input": ""}),
            u(answer("toolu_1", 1)),
        ),
        ("args-empty-string",),
    ),
    ReportedHistory(
        "coach#280",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="same"), fc(2, "g", call_id="same")),
            person(fr(1, call_id="same"), fr(2, "g", call_id="same")),
        ),
        ("id-dup-in-turn",),
    ),
    ReportedHistory(
        "coach#280-name",
        "gemini",
        gemini(person(), model(fc(1, call_id="a")), person(fr(1, "unknown", call_id="a"))),
        ("result-name-mismatch",),
    ),
    ReportedHistory(
        "qwen-code#8382",
        "anthropic",
        claude(
            user(),
            a(use("run_shell_command:0", 1)),
            u(answer("run_shell_command:0", 1)),
            a(use("run_shell_command:0", 2)),
            u(answer("run_shell_command:0", 2)),
        ),
        ("id-bad-charset",),
    ),
    ReportedHistory(
        "gentle-pi#1052",
        "kimi",
        chat(
            user(),
            calls(call("f_0", 1), call("f_1", 2), reasoning_content="hm"),
            result("f_0", 1),
            result("", 2),
        ),
        ("id-empty",),
    ),
    ReportedHistory(
        "opencode#47902",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1, arguments='{"n": 1, "patch": "*** Begin')),
            result("call_1", 1),
            user(),
        ),
        (),
    ),
    ReportedHistory(
        "opencode#47902",
        "minimax",
        chat(
            user(),
            calls(call("call_1", 1, arguments='{"n": 1, "patch": "*** Begin')),
            result("call_1", 1),
            user(),
        ),
        ("args-invalid-json",),
    ),
    # --- a switch of the provider ---
    ReportedHistory(
        "openai-node#1030",
        "openai-chat",
        chat(user("draw a cat"), {"role": "assistant", "content": [_PICTURE]}, user("describe it")),
        ("media-in-result",),
    ),
    ReportedHistory(
        "DeepSeek-v4-Flash#189",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            {"role": "tool", "tool_call_id": "call_1", "content": [text(output(1)), _PICTURE]},
            user(),
        ),
        ("media-in-result",),
    ),
    ReportedHistory(
        "copilot-api#54",
        "openai-chat",
        chat(user(), {"role": "assistant", "content": [thinking(""), text("fine")]}, user()),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "pi#9048-chat",
        "openai-chat",
        chat(
            user(),
            {**calls(call("call_1", 1)), "content": [thinking(), text("let me see")]},
            result("call_1", 1),
            user(),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "claude-code#20705",
        "anthropic",
        claude(
            user(),
            a(text("so"), thinking(), use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            thinking=_ENABLED,
            max_tokens=2000,
        ),
        ("thinking-missing",),
    ),
    ReportedHistory(
        "Antigravity-Manager#146",
        "vertex-anthropic",
        claude(
            user(),
            a(text("see"), use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            thinking=_ENABLED,
            max_tokens=2000,
        ),
        ("thinking-missing",),
    ),
    ReportedHistory(
        "openai-agents#2503",
        "openai-responses",
        responses(item("history", "assistant"), reasoning(), item("go on")),
        ("reasoning-dangling",),
    ),
    ReportedHistory(
        "openai-agents#569",
        "openai-responses",
        {**responses(item(), reasoning(), message(), item()), "model": "gpt-4.1"},
        ("reasoning-dangling",),
    ),
    ReportedHistory(
        "opencodex#234",
        "openai-responses",
        responses(
            item(),
            reasoning(content=[{"type": "reasoning_text", "text": "hm"}]),
            item_call("call_1", 1),
            item_output("call_1", 1),
        ),
        (),
    ),
    ReportedHistory(
        "CLIProxyAPI#4959",
        "openai-responses",
        responses(
            reasoning("rs_resp_1_detached", encrypted_content="cpa-gemini-responses-carrier-v1:x"),
            item_call("call_1", 1),
            item_output("call_1", 1),
            item(),
        ),
        (),
    ),
    ReportedHistory(
        "command-code#893",
        "openai-responses",
        responses(
            item(),
            {
                "type": "tool_search_call",
                "call_id": "call_s",
                "execution": "client",
                "arguments": {"query": "js"},
                "status": "completed",
            },
            {
                "type": "tool_search_output",
                "call_id": "call_s",
                "execution": "client",
                "tools": [],
                "status": "completed",
            },
            item_call("call_1", 1),
            item_output("call_1", 1),
        ),
        (),
    ),
    ReportedHistory(
        "Roo-Code#11804",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2), use("toolu_3", 3)),
            u(answer("toolu_3", 3), answer("toolu_1", 1), answer("toolu_2", 2)),
        ),
        (),
    ),
    ReportedHistory(
        "Zoo-Code#1705",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), text("and"), use("toolu_2", 2)),
            u(
                answer("toolu_1", 1),
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                answer("toolu_2", 2),
                text("both"),
            ),
        ),
        ("result-not-first",),
    ),
    ReportedHistory(
        "hermes-agent#84944",
        "mistral",
        chat(user(), calls(call("abcdefgh1", 1)), result("abcdefgh1", 1), user("stop")),
        (),
    ),
    ReportedHistory(
        "crush#279",
        "mistral",
        chat(user(), calls(call("abcdefgh1", 1)), user("cancel"), result("abcdefgh1", 1), user()),
        ("result-separated",),
    ),
    ReportedHistory(
        "mistral-inference#135",
        "mistral",
        chat(user(), {"role": "tool", "name": "f", "content": output(1)}),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "client-ts#106",
        "mistral",
        chat(user(), calls(call("abcdefgh1", 1), call("abcdefgh2", 2)), result("abcdefgh1", 1)),
        (),
    ),
    ReportedHistory(
        "lobehub#10049",
        "gemini",
        gemini(
            person(),
            model(fc(1)),
            person(fr(1)),
            model({"text": "next"}),
            model(fc(2, "g")),
            person(fr(2, "g")),
        ),
        (),
    ),
    ReportedHistory(
        "adk-python#6582",
        "gemini",
        gemini(person(), person(fr(4, call_id="adk-4")), model({"text": "done"}), person()),
        ("orphan-result",),
        as_text=(4,),
    ),
    ReportedHistory(
        "adk-python#3531",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="adk-1")),
            person({"text": "meanwhile"}),
            model({"text": "still running"}),
            person(fr(1, call_id="adk-1")),
        ),
        ("result-separated",),
    ),
    ReportedHistory(
        "adk-python#2214",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="adk-1"), fc(2, "g", call_id="adk-2")),
            person(fr(1, call_id="adk-1")),
            person(fr(2, "g", call_id="adk-2")),
        ),
        ("results-split",),
    ),
    ReportedHistory(
        "zeroclaw#1476",
        "bedrock",
        converse(
            asks(),
            {"role": "assistant", "content": [tool_use("t1", 1)]},
            asks("<<tool>> printed 4"),
        ),
        ("missing-result",),
    ),
    ReportedHistory(
        "opencode#41780",
        "bedrock",
        converse(
            asks(),
            {"role": "assistant", "content": [tool_use("t1", 1), tool_use("t2", 2)]},
            {"role": "user", "content": [tool_result("t1", 1)]},
            {"role": "user", "content": [tool_result("t2", 2)]},
        ),
        ("results-split",),
    ),
    ReportedHistory(
        "Roo-Code#10155",
        "bedrock",
        {
            "messages": [
                asks(),
                {"role": "assistant", "content": [tool_use("t1", 1)]},
                {"role": "user", "content": [tool_result("t1", 1)]},
            ]
        },
        ("tools-undefined",),
    ),
    ReportedHistory(
        "hermes-agent#55092-live",
        "bedrock",
        converse(
            asks(),
            {"role": "assistant", "content": [tool_use("t1", 1)]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": []}}]},
        ),
        (),
    ),
    ReportedHistory(
        "codex2api#414",
        "openai-responses",
        responses(
            item(),
            item_call("call_1", 1),
            item_output("call_1", 1),
            item_output("call_uqaym", 9),
            item(),
        ),
        ("call-dropped-keep-result",),
        as_text=(9,),
    ),
    ReportedHistory(
        "cline#9288",
        "openai-responses",
        responses(
            item(), item_call("fc_68a1", 1, id="fc_68a1"), item_output("call_1VwA", 1), item()
        ),
        ("call-dropped-keep-result", "missing-result"),
        as_text=(1,),
    ),
]
