"""Histories of Responses."""

from __future__ import annotations

from lint.reported.report import (
    ReportedHistory,
    item_call,
    item_output,
    message,
    output,
    reasoning,
    responses,
    user,
)

from toolwire.conversation.json import JSON

_ENCRYPTED = "gAAAAA=="

_SHELL: JSON = {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}}
_SCREEN: JSON = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}


ITEMS = [
    ReportedHistory(
        "the output of a shell call is a list of outcomes",
        "openai-responses",
        responses(user(), _SHELL, user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "the output of a computer call is a screenshot",
        "openai-responses",
        responses(user(), _SCREEN, user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "n8n#33431",
        "openai-responses",
        responses(user("summary"), item_output("call_1", 1), user()),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "langchainjs#9740",
        "openai-responses",
        responses(item_output("call_1", 1), item_output("call_2", 2), user()),
        ("history-starts-with-result",),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "codex-interrupted",
        "openai-responses",
        responses(user(), item_call("call_1", 1), user()),
        ("missing-result",),
    ),
    ReportedHistory(
        "codex-batch",
        "openai-responses",
        responses(
            user(), item_call("call_1", 1), item_call("call_2", 2), item_output("call_2", 2), user()
        ),
        ("partial-batch",),
    ),
    ReportedHistory(
        "oh-my-pi#12014",
        "deepseek-responses",
        responses(user(), reasoning(), item_call("call_1", 1), message(), item_output("call_1", 1)),
        ("result-separated",),
    ),
    ReportedHistory(
        "output-first",
        "openai-responses",
        responses(user(), item_output("call_1", 1), item_call("call_1", 1), user()),
        ("result-before-call",),
    ),
    ReportedHistory(
        "vercel/ai#13307",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1, id="fc_1"),
            item_output("call_1", 1),
            item_call("call_1", 1, id="fc_1"),
        ),
        ("duplicate-item",),
    ),
    ReportedHistory(
        "nodetool#4252",
        "openai-responses",
        responses(user(), item_call("call_1", 1, id="call_1"), item_output("call_1", 1)),
        ("item-id-prefix",),
    ),
    ReportedHistory(
        "codecompanion#3369",
        "openai-responses",
        responses(user(), item_call("call_1", 1, id="fc_1"), item_output("fc_1", 1)),
        ("item-id-as-call-id",),
    ),
    ReportedHistory(
        "free-claude-code#1826",
        "openai-responses",
        responses(
            user(),
            {
                "type": "custom_tool_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "f",
                "input": "x",
            },
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": output(1)},
        ),
        ("item-id-prefix",),
    ),
    ReportedHistory(
        "litellm#41534",
        "openai-responses",
        responses(user(), item_call("call_1", 1, id="fc_" + "a" * 90), item_output("call_1", 1)),
        ("item-id-prefix",),
    ),
    ReportedHistory(
        "fastllm#45",
        "openai-responses",
        responses(user(), item_call("c" * 65, 1), item_output("c" * 65, 1)),
        ("id-too-long",),
    ),
    ReportedHistory(
        "CodexPlusPlus#315",
        "openai-responses",
        responses(user(), item_call("", 1), item_output("", 1)),
        ("id-empty",),
    ),
    ReportedHistory(
        "pydantic-ai#3230",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1, id="fc_1"),
            item_output("call_1", 1),
            reasoning={"effort": "low"},
        ),
        ("reasoning-missing",),
    ),
    ReportedHistory(
        "vercel/ai#7099",
        "openai-responses",
        responses(user(), reasoning(), item_output("call_9", 9), user()),
        ("orphan-result", "reasoning-dangling"),
        as_text=(9,),
    ),
    ReportedHistory(
        "continue#8933",
        "openai-responses",
        responses(user(), reasoning(), user()),
        ("reasoning-dangling",),
    ),
    ReportedHistory(
        "openai-node#1567",
        "openai-responses",
        responses(user(), reasoning(), {"role": "assistant", "content": "3"}, user()),
        ("reasoning-dangling",),
    ),
    ReportedHistory(
        "continue#10428",
        "openai-responses",
        responses(user(), message(), reasoning()),
        ("reasoning-dangling",),
    ),
    ReportedHistory(
        "opencode#7724",
        "openai-responses",
        responses(
            user(),
            reasoning(),
            item_call("call_1", 1, id="fc_1"),
            item_output("call_1", 1),
            store=False,
        ),
        ("item-id-stale",),
    ),
    ReportedHistory(
        "encrypted",
        "openai-responses",
        responses(
            user(),
            reasoning(encrypted_content=_ENCRYPTED),
            item_call("call_1", 1, id="fc_1"),
            item_output("call_1", 1),
            store=False,
        ),
        (),
    ),
    ReportedHistory(
        "Agora#141",
        "openai-responses",
        responses(
            user(),
            {"type": "reasoning", "id": "rs_1", "encrypted_content": _ENCRYPTED},
            item_call("call_1", 1, id="fc_1"),
            item_output("call_1", 1),
        ),
        ("item-shape",),
    ),
    ReportedHistory(
        "openai-python#3008",
        "openai-responses",
        responses(
            user(),
            {**reasoning(encrypted_content=_ENCRYPTED), "status": None, "content": None},
            message(),
            user(),
        ),
        ("item-shape",),
    ),
    ReportedHistory(
        "camunda#8356",
        "openai-responses",
        responses(
            user(), {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}, user()
        ),
        ("item-shape",),
    ),
    ReportedHistory(
        "role-tool",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1),
            {"role": "tool", "tool_call_id": "call_1", "content": output(1)},
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "chat-in-items",
        "openai-responses",
        responses(
            user(),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"n": 1}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": output(1)},
        ),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "output-null",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1),
            {"type": "function_call_output", "call_id": "call_1", "output": None},
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "output-missing",
        "openai-responses",
        responses(
            user(), item_call("call_1", 1), {"type": "function_call_output", "call_id": "call_1"}
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "output-object",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1),
            {"type": "function_call_output", "call_id": "call_1", "output": {"a": output(1)}},
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "litellm#18226",
        "openai-responses",
        responses(
            user(),
            item_call("call_1", 1),
            item_output("call_1", 1, output=[{"type": "text", "text": output(1)}]),
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "arguments-object",
        "openai-responses",
        responses(
            user(),
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": {"n": 1}},
            item_output("call_1", 1),
        ),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "two-outputs",
        "openai-responses",
        responses(
            user(), item_call("call_1", 1), item_output("call_1", 1), item_output("call_1", 1)
        ),
        ("dup-result",),
    ),
    ReportedHistory(
        "item-reference",
        "openai-responses",
        responses(
            user(),
            {"type": "item_reference", "id": "rs_1"},
            {"type": "item_reference", "id": "fc_1"},
            item_output("call_1", 1),
        ),
        (),
        as_text=(1,),
    ),
    ReportedHistory(
        "previous-response",
        "openai-responses",
        responses(item_output("call_1", 1), previous_response_id="resp_1"),
        (),
        as_text=(1,),
    ),
    ReportedHistory(
        "conversation",
        "openai-responses",
        responses(item_output("call_1", 1), conversation="conv_1"),
        (),
        as_text=(1,),
    ),
    ReportedHistory(
        "name-dots",
        "openai-responses",
        responses(user(), {**item_call("call_1", 1), "name": "a.b"}, item_output("call_1", 1)),
        ("name-bad-charset",),
    ),
    ReportedHistory(
        "msg-id",
        "openai-responses",
        responses(user(), message(item_id="msg-1"), user()),
        ("item-id-prefix",),
    ),
    ReportedHistory(
        "item-id-empty",
        "openai-responses",
        responses(user(), item_call("call_1", 1, id=""), item_output("call_1", 1)),
        ("item-id-prefix",),
    ),
    ReportedHistory(
        "spread-results",
        "openai-responses",
        responses(
            user(), item_call("call_1", 1), message(), user(), item_output("call_1", 1), user()
        ),
        (),
    ),
    ReportedHistory(
        "shell-lost",
        "openai-responses",
        responses(
            user(),
            {
                "type": "local_shell_call_output",
                "call_id": "call_1",
                "id": "lsh_1",
                "output": output(1),
            },
            user(),
        ),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "custom-orphan",
        "openai-responses",
        responses(
            user(),
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": output(1)},
            user(),
        ),
        ("orphan-result",),
        as_text=(1,),
    ),
    ReportedHistory("tail", "openai-responses", responses(user(), item_call("call_1", 1)), ()),
]
