"""Histories of frameworks and clients: server tools that paused, fields of other APIs, rejected calls."""

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
    responses,
    result,
    say,
    text,
    tool_result,
    tool_use,
    u,
    use,
    user,
)

from toolwire.conversation.json import JSON

_SEARCH: JSON = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "weather"},
}
_FOUND: JSON = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
_PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
_PDF: JSON = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
}
_APPROVAL: JSON = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "name": "delete",
    "server_label": "files",
    "arguments": "{}",
}


def item(words: str = "hello") -> JSON:
    """A user message of Responses in its short form."""
    return {"role": "user", "content": words}


FRAMEWORKS = [
    # --- tools of the provider ---
    ReportedHistory(
        "anthropic-sdk#961",
        "anthropic",
        claude(user(), a(text("look"), _SEARCH), user("and?")),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "anthropic-sdk#1339",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
            a(text("look"), _SEARCH),
            user("go on"),
        ),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "gsd-pi#1330",
        "anthropic",
        claude(
            user(), a(_SEARCH, use("toolu_1", 1)), u(answer("toolu_1", 1)), a(text("so")), user()
        ),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "gsd-pi#1331",
        "anthropic",
        claude(user(), a(_FOUND, text("found"), use("toolu_1", 1)), u(answer("toolu_1", 1))),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "gsd-2#2870",
        "vertex-anthropic",
        claude(user(), a(text("look"), _SEARCH), a(text("done")), user()),
        ("server-tool-unpaired",),
    ),
    ReportedHistory(
        "openai-agents-js#1115",
        "openai-responses",
        responses(item(), _APPROVAL, item("do something else")),
        ("missing-result",),
    ),
    ReportedHistory(
        "openai-agents-js#1115-response",
        "openai-responses",
        responses(
            item(),
            item_call("call_1", 1),
            item_output("call_1", 1),
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_9", "approve": True},
        ),
        ("call-dropped-keep-result",),
    ),
    # --- a call was rejected, or its run was ended ---
    ReportedHistory(
        "deepagentsjs#150",
        "openai-chat",
        chat(user(), calls(call("call_1", 1), call("call_2", 2)), result("call_2", 2), user("no")),
        ("partial-batch",),
    ),
    ReportedHistory(
        "letta-code#578",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1), use("toolu_2", 2), use("toolu_3", 3)),
            u(answer("toolu_1", 1), answer("toolu_2", 2)),
            user("stop"),
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "bike4mind#207",
        "bedrock",
        converse(
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [tool_use("t1", 1), tool_use("t2", 2)]},
            {"role": "user", "content": [tool_result("t1", 1), {"text": "stop"}]},
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "agency-lang#986",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1), call("call_2", 2)),
            {"role": "tool", "tool_call_id": "call_1", "content": "rejected"},
            result("call_2", 2),
            {"role": "tool", "tool_call_id": "call_1", "content": "already rejected"},
            say(),
            user(),
        ),
        ("dup-result",),
    ),
    ReportedHistory(
        "CopilotKit#3884",
        "openai-chat",
        chat(user(), calls(call("call_abc", 1)), say("15 degrees"), user("5 * 33?")),
        ("missing-result",),
    ),
    ReportedHistory(
        "CopilotKit#7277",
        "anthropic",
        claude(user(), a(use("toolu_1", 1)), say("15 degrees"), user("5 * 33?")),
        ("missing-result",),
    ),
    ReportedHistory(
        "langchain-oracle#10",
        "cohere",
        {
            "model": "command-a-03-2025",
            "messages": [
                user(),
                {"role": "assistant", "tool_plan": "look", "tool_calls": [call("c1", 1)]},
                say("done"),
                user(),
            ],
        },
        (),
    ),
    ReportedHistory(
        "ollama#11704",
        "ollama",
        {
            "model": "gpt-oss",
            "messages": [
                user(),
                say("let me see"),
                {"role": "tool", "tool_name": "f", "content": output(1)},
                user(),
            ],
        },
        (),
        as_text=(1,),
    ),
    ReportedHistory(
        "genkit#2241", "gemini", gemini(person(), model(fc(1), fc(2)), person(fr(1), fr(2))), ()
    ),
    ReportedHistory(
        "zeph-steering",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="a"), fc(2, "g", call_id="b")),
            person(fr(2, "g", call_id="b"), {"text": "hurry"}, fr(1, call_id="a")),
        ),
        (),
    ),
    # --- fields and forms of another API ---
    ReportedHistory(
        "req_llm#772",
        "groq",
        chat(
            user(),
            {**say(), "reasoning_content": "hm", "reasoning_details": [{"type": "reasoning.text"}]},
            user(),
        ),
        ("field-refused",),
    ),
    ReportedHistory(
        "kilocode#10375",
        "cerebras",
        chat(user(), {**say(), "reasoning_content": "hm"}, user()),
        ("field-refused",),
    ),
    ReportedHistory(
        "LMArenaBridge#152",
        "openai-chat",
        chat({"role": "user", "content": ["look", _PICTURE]}),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "litellm#24646",
        "openai-chat",
        chat({"role": "user", "content": [text("read"), _PDF]}),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "zeroclaw#1476-field",
        "openai-chat",
        chat(
            user(),
            calls(call("call_1", 1)),
            {"role": "tool", "tool_use_id": "call_1", "content": output(1)},
            user(),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "ag-ui-messages",
        "openai-chat",
        chat(
            {"id": "1", **user()},
            {"id": "2", "role": "assistant", "content": "", "toolCalls": [call("call_1", 1)]},
            {"id": "3", "role": "tool", "toolCallId": "call_1", "content": output(1)},
            {"id": "4", **user()},
        ),
        ("field-refused", "wrong-vocabulary"),
    ),
    ReportedHistory(
        "parts-with-types",
        "gemini",
        gemini(
            person({"type": "text", "text": "hi"}),
            model({"type": "text", "text": "fine"}, fc(1)),
            person(fr(1)),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "reasoning-part-in-blocks",
        "anthropic",
        claude(
            user(),
            a({"type": "reasoning", "text": "hm"}, use("toolu_1", 1)),
            u(answer("toolu_1", 1)),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "mcp-content-in-result",
        "anthropic",
        claude(
            user(),
            a(use("toolu_1", 1)),
            u(
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": output(1)},
                        {"type": "resource", "resource": {"uri": "file:///a", "text": "more"}},
                    ],
                }
            ),
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "output-text-in-output",
        "openai-responses",
        responses(
            item(),
            item_call("call_1", 1),
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": [{"type": "output_text", "text": output(1)}],
            },
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "image-of-the-assistant",
        "openai-responses",
        responses(
            item("draw"),
            {
                "role": "assistant",
                "content": [{"type": "input_image", "image_url": "https://example.org/cat.png"}],
            },
            item("describe it"),
        ),
        ("media-in-result",),
    ),
    ReportedHistory(
        "video-of-the-assistant",
        "bedrock",
        converse(
            {"role": "user", "content": [{"text": "draw"}]},
            {
                "role": "assistant",
                "content": [{"image": {"format": "png", "source": {"bytes": "aGk="}}}],
            },
            {"role": "user", "content": [{"text": "describe it"}]},
        ),
        ("media-in-result",),
    ),
    ReportedHistory(
        "items-after-answers",
        "openai-responses",
        responses(
            item(),
            message("let me see"),
            item_call("call_1", 1),
            message("still looking", "msg_2"),
            item_output("call_1", 1),
            message("found", "msg_3"),
            item(),
        ),
        (),
    ),
]
