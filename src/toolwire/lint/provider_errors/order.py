"""Errors about roles, and about the order and the parts of messages."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

ORDER_PATTERNS = (
    ErrorPattern(
        r"system message must be at the beginning|unexpected role system after role",
        rules=("late-system-message",),
        meaning="a system message follows other messages; this server requires it first",
        implies={"system_comes_first": True},
        example="System message must be at the beginning.",
    ),
    ErrorPattern(
        r"(tool_use|tool_result|toolUse|toolResult)\W{0,3}blocks? can only be in"
        r"|can ?not be mixed with function_?response",
        rules=("wrong-role",),
        meaning="a call is in a user message, or a result is in an assistant message",
        implies={"rejects_orphan_results": True, "rejects_missing_results": True},
        example="messages.3: `tool_result` blocks can only be in `user` messages",
    ),
    ErrorPattern(
        r"function call turns? comes? immediately after",
        rules=("history-starts-with-call", "calls-split", "result-separated", "result-with-extra"),
        meaning="calls are not in the position that this provider requires",
        implies={"call_needs_preceding_user": True, "result_placement": "alone"},
        example=(
            "Please ensure that function call turn comes immediately after a user turn or after a"
            " function response turn."
        ),
    ),
    ErrorPattern(
        r"first message must use the user role|must start with a user message",
        rules=("history-starts-with-call", "history-starts-with-result", "trailing-assistant"),
        meaning="the history does not start with a user message",
        implies={"must_start_with_user": True, "call_needs_preceding_user": True},
        example=(
            "A conversation must start with a user message. Try again with a conversation that"
            " starts with a user message."
        ),
    ),
    ErrorPattern(
        r"function response turns? comes? immediately after",
        rules=(
            "result-separated",
            "orphan-result",
            "result-with-extra",
            "history-starts-with-result",
        ),
        meaning="results do not directly follow their calls",
        implies={"rejects_orphan_results": True, "result_placement": "alone"},
        example=(
            "Please ensure that function response turn comes immediately after a function call"
            " turn."
        ),
    ),
    ErrorPattern(
        r"unexpected role user after role tool|cannot specify (?:both )?message (?:and tool_results"
        r"|if the last entry)",
        rules=("user-after-tool", "trailing-assistant"),
        meaning="a user message directly follows a result; an assistant message must come first",
        implies={"no_user_after_tool": True},
        example="Unexpected role 'user' after role 'tool'",
    ),
    ErrorPattern(
        r"expected last role|not support assistant message prefill|must end with a user message"
        r"|when the last message is from the assistant|assistant messages at the end of the list",
        rules=("trailing-assistant", "user-after-tool"),
        meaning="the request ends with an assistant message",
        implies={"must_end_with_user_or_tool": True},
        example=(
            "This model does not support assistant message prefill. The conversation must end with"
            " a user message."
        ),
    ),
    ErrorPattern(
        r"conversation blocks and tool ?result blocks cannot be",
        rules=("result-with-extra", "result-not-first"),
        meaning="a message with results also contains other parts",
        implies={"result_placement": "alone"},
        example=("Conversation blocks and tool result blocks cannot be provided in the same turn."),
    ),
    ErrorPattern(
        r"conversation blocks and tool ?use blocks cannot be",
        rules=("content-shape", "result-with-extra"),
        meaning="a message with calls also contains text, which this model refuses",
        example="Conversation blocks and tool use blocks cannot be provided in the same turn.",
    ),
    ErrorPattern(
        r"roles must alternate user and assistant roles except for tool calls",
        rules=("user-after-tool", "results-split", "calls-split", "history-starts-with-call"),
        meaning="a user message follows a result, or two messages in a row have the same role",
        implies={"no_user_after_tool": True},
        example=(
            "After the optional system message, conversation roles must alternate user and"
            " assistant roles except for tool calls and results."
        ),
    ),
    ErrorPattern(
        r"must alternate|roles? in a row",
        rules=(
            "results-split",
            "calls-split",
            "user-after-tool",
            "result-separated",
            "history-starts-with-call",
            "same-role-twice",
        ),
        meaning="two messages in a row have the same role",
        implies={"rejects_same_role_twice": True},
        example=(
            "A conversation must alternate between user and assistant roles. Make sure the"
            " conversation alternates between user and assistant roles and try again."
        ),
    ),
    ErrorPattern(
        r"messages 参数非法|the messages parameter is illegal",
        rules=("history-starts-with-call", "missing-result", "orphan-result", "content-shape"),
        meaning="the list of messages is not accepted; often a user message is missing",
        implies={"call_needs_preceding_user": True},
        example='{"code":"1214","message":"messages 参数非法。请检查文档。"}',
    ),
    ErrorPattern(
        r"invalid value: tool\. supported values|unsupported role:? tool|role: input should be"
        r" system, user or assistant|allowed roles are",
        rules=("wrong-vocabulary", "wrong-role"),
        meaning="this API has no role `tool`: the messages are in the format of another API",
        example=(
            "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and"
            " 'user'."
        ),
    ),
    ErrorPattern(
        r"missing required parameter: messages\[\d+\]\.role"
        r"|unknown parameter: input\[\d+\]\.tool_calls"
        r"|messages must be an array of (?:core|ui|model)message",
        rules=("wrong-vocabulary",),
        meaning="an item is among messages, or a message with calls among items",
        example="Missing required parameter: 'messages[1].role'.",
    ),
    ErrorPattern(
        r"extra inputs are not permitted|does not match any of the expected tags"
        r"|\.content\[\d+\] has invalid field"
        r"|unknown name (?!id\b)",
        rules=("wrong-vocabulary", "content-shape"),
        meaning="a block or message has fields or a type of another API",
        also=r"messages?[.\[].{0,80}(?:tool|content|call)|at contents\[",
        example="messages.65.content.1.tool_use.text: Extra inputs are not permitted",
    ),
    ErrorPattern(
        r"unknown variant .?function\b|\$\.function_call is invalid",
        rules=("legacy-function-call",),
        meaning="the deprecated role `function` is not supported",
        implies={"accepts_function_call": False},
        example="messages[2].role: unknown variant `function`, expected one of `system`, `user`",
    ),
    ErrorPattern(
        r"empty array\. expected an array with minimum length 1|empty tool_calls is not supported",
        rules=("empty-tool-calls",),
        meaning="a message has an empty list of calls",
        also="tool_calls",
        implies={"rejects_empty_tool_calls": True},
        example=(
            "Invalid 'messages[2].tool_calls': empty array. Expected an array with minimum length"
            " 1, but got an empty array instead."
        ),
    ),
)
