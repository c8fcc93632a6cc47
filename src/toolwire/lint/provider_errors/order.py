"""Errors about roles, and about the order and the parts of messages."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

ORDER_PHRASES = (
    ErrorPattern(
        words="can ?not be mixed with function_?response",
        rules=("wrong-role",),
        meaning="a call and a result are in one message",
        implies={"rejects_orphan_results": True, "rejects_missing_results": True},
        examples=(
            (
                "Please ensure that function call turn contains at least one function_call part"
                " which can not be mixed with function_response parts."
            ),
        ),
    ),
    ErrorPattern(
        words="only messages with role assistant can have|user messages cannot contain tool uses",
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a message of the user, or of a tool, contains a call",
        implies={"rejects_missing_results": True},
        examples=("User messages cannot contain tool uses. Please remove the tool uses.",),
    ),
    ErrorPattern(
        words=r"function call turns? (?:\w+ ){0,2}comes? (?:immediately|directly|right) after",
        rules=("history-starts-with-call", "calls-split", "result-separated", "result-with-extra"),
        meaning="calls are not in the position that this provider requires",
        implies={"call_needs_preceding_user": True, "result_placement": "alone"},
        examples=(
            (
                "Please ensure that function call turn comes immediately after a user turn or"
                " after a function response turn."
            ),
        ),
    ),
    ErrorPattern(
        words=(
            r"function response turns? (?:\w+ ){0,2}comes? (?:immediately|directly|right) after"
        ),
        rules=(
            "result-separated",
            "orphan-result",
            "result-with-extra",
            "history-starts-with-result",
        ),
        meaning="results do not directly follow their calls",
        implies={"rejects_orphan_results": True, "result_placement": "alone"},
        examples=(
            (
                "Please ensure that function response turn comes immediately after a function"
                " call turn."
            ),
        ),
    ),
    ErrorPattern(
        words="cannot specify (?:both )?message (?:and tool_results|if the last entry)",
        rules=("user-after-tool", "trailing-assistant"),
        meaning="a user message directly follows a result; an assistant message must come first",
        implies={"no_user_after_tool": True},
        examples=("cannot specify both message and tool_results in multistep mode",),
    ),
    ErrorPattern(
        words=r"pre-?fill\w*(?: \w+){0,4} (?:not (?:supported|allowed)|unsupported|incompatible)",
        rules=("trailing-assistant", "user-after-tool"),
        meaning="the request ends with an assistant message, which the model would continue",
        implies={"must_end_with_user_or_tool": True},
        examples=("Assistant response prefill is incompatible with enable_thinking.",),
    ),
    ErrorPattern(
        words="roles must alternate user and assistant roles except for tool calls",
        rules=("user-after-tool", "results-split", "calls-split", "history-starts-with-call"),
        meaning="a user message follows a result, or two messages in a row have the same role",
        implies={"no_user_after_tool": True},
        examples=(
            (
                "After the optional system message, conversation roles must alternate user and"
                " assistant roles except for tool calls and results."
            ),
        ),
    ),
    ErrorPattern(
        words=r"must alternate|messages\.size\(\) ?%",
        rules=(
            "same-role-twice",
            "results-split",
            "calls-split",
            "user-after-tool",
            "result-separated",
            "history-starts-with-call",
        ),
        meaning="two messages in a row have the same role",
        implies={"rejects_same_role_twice": True},
        examples=(
            (
                "A conversation must alternate between user and assistant roles. Make sure the"
                " conversation alternates between user and assistant roles and try again."
            ),
        ),
    ),
    ErrorPattern(
        words=r"top-?level .{0,3}system\b|system .{0,40}\btop-?level",
        rules=("late-system-message", "wrong-vocabulary", "wrong-role"),
        meaning="this API has a parameter for the system prompt, and no message with this role",
        implies={"system_comes_first": True},
        examples=(
            (
                'Unexpected role "system". The Messages API accepts a top-level `system` parameter,'
                ' not "system" as an input message role.'
            ),
        ),
    ),
    ErrorPattern(
        words="messages 参数非法|the messages parameter is illegal",
        rules=("history-starts-with-call", "missing-result", "orphan-result", "content-shape"),
        meaning="the list of messages is not accepted; often a user message is missing",
        implies={"call_needs_preceding_user": True},
        examples=('{"code":"1214","message":"messages 参数非法。请检查文档。"}',),
    ),
    ErrorPattern(
        words=(
            r"invalid value: (?:tool|function)\w{0,20}\. (?:supported values|value must)|"
            "unsupported role:? tool|role: input should be system, user or assistant|"
            "allowed roles are|please use a valid role"
        ),
        rules=("wrong-vocabulary", "wrong-role"),
        meaning="this API does not know a role: the messages are in the format of another API",
        examples=(
            (
                "Invalid value: 'tool'. Supported values are: 'assistant', 'system',"
                " 'developer', and 'user'."
            ),
        ),
    ),
    ErrorPattern(
        words=(
            r"unknown variant .?function\b|function_call (?:in messages )?is deprecated"
            r"|role:? function (?:is |was )?(?:no longer|not) supported"
            r"|\$\.function_call is invalid"
            r"|(?<!type )\bfunction_call\]? (?:field )?(?:is |was )?(?:not supported|unsupported)"
        ),
        rules=("legacy-function-call",),
        meaning="the deprecated role `function` is not supported",
        implies={"accepts_function_call": False},
        examples=(
            "messages[2].role: unknown variant `function`, expected one of `system`, `user`",
        ),
    ),
)

ROLE_READINGS = (
    ErrorPattern(
        concepts=(
            "(USER|ASSISTANT|SYSTEM|RESULT) UNSUPPORTED FORBIDDEN ~ (CALL|RESULT)",
            "(USER|SYSTEM) UNSUPPORTED FORBIDDEN (TOOL|SCHEMA)",
            "(CALL|RESULT) UNSUPPORTED FORBIDDEN ~ (USER|ASSISTANT|SYSTEM)",
            "(CALL|RESULT|THINKING) UNSUPPORTED IN (USER|ASSISTANT|SYSTEM)",
            "THINKING ~ ONLY ~ ASSISTANT",
            "(CALL|RESULT|THINKING) HAVE ROLE",
            "CALL IN (USER|SYSTEM)",
            "RESULT IN (ASSISTANT|SYSTEM)",
        ),
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a message of this role cannot contain a call, or a result",
        implies={"rejects_orphan_results": True},
        examples=("assistant messages cannot contain tool results",),
    ),
)
"""Rows that are tried before those about pairs: a message that cannot contain a result lacks
none."""

ORDER_READINGS = (
    ErrorPattern(
        concepts=("(USER|ASSISTANT) UNSUPPORTED (CALL|RESULT)",),
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a message of this role cannot contain a call, or a result",
        implies={"rejects_orphan_results": True, "rejects_missing_results": True},
        examples=("Assistant message does not support ToolResult",),
    ),
    ErrorPattern(
        concepts=(
            "ROLE & (UNSUPPORTED|VALUES)",
            "(UNKNOWN|INVALID) ROLE",
            "ROLE ~ (INVALID|UNKNOWN|TYPE)",
            "UNSUPPORTED RESULT",
            "(UNKNOWN|INVALID) RESULT",
            "RESULT (UNSUPPORTED|UNKNOWN)",
        ),
        rules=("wrong-vocabulary", "wrong-role"),
        meaning="a message seems to have a role that is not known",
        implies={"rejects_orphan_results": True},
        examples=("unknown message role: tool",),
    ),
    ErrorPattern(
        concepts=(
            "(CALL|RESULT) ONLY ~ (USER|ASSISTANT)",
            "CALL_ID ONLY RESULT",
            "ONLY (USER|ASSISTANT) ~ (CALL|RESULT)",
        ),
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a call is in a user message, or a result is in an assistant message",
        implies={"rejects_orphan_results": True, "rejects_missing_results": True},
        examples=("messages.3: `tool_result` blocks can only be in `user` messages",),
    ),
    ErrorPattern(
        concepts=("LAST & (ASSISTANT|USER|ROLE)", "ASSISTANT ~ LAST"),
        rules=("trailing-assistant", "user-after-tool"),
        meaning="the request seems to end with an assistant message",
        implies={"must_end_with_user_or_tool": True},
        examples=(
            "the last message must have the role user, got assistant",
            (
                "This model does not support assistant message prefill. The conversation must end"
                " with a user message."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("(FIRST|PREFIX) ~ USER SYSTEM", "(FIRST|PREFIX) ~ SYSTEM USER"),
        rules=("history-starts-with-call", "history-starts-with-result", "late-system-message"),
        meaning="the history seems to start with neither a system nor a user message",
        implies={"must_start_with_user": True, "call_needs_preceding_user": True},
        examples=("Conversation must start with a user message or system message, got tool",),
    ),
    ErrorPattern(
        concepts=(
            "SYSTEM & (FIRST|UNSUPPORTED|DUPLICATE)",
            "SYSTEM (AFTER|MATCH)",
            "SYSTEM & PLACE",
        ),
        rules=("late-system-message",),
        meaning="a system message seems to follow other messages",
        implies={"system_comes_first": True},
        examples=("System message must be at the beginning.",),
    ),
    ErrorPattern(
        concepts=(
            "FIRST & USER",
            "MESSAGE (FIRST|PREFIX) ASSISTANT",
            "FIRST MESSAGE ~ ASSISTANT",
            "PREFIX USER",
            "PREFIX ROLE USER",
            "(NO|MISSING) USER",
            "MESSAGE HAVE ROLE USER",
            "USER (REQUIRED|MISSING)",
            "EMPTY USER",
        ),
        rules=("history-starts-with-call", "history-starts-with-result"),
        meaning="the history seems not to start with a user message",
        implies={"must_start_with_user": True, "call_needs_preceding_user": True},
        examples=(
            (
                "A conversation must start with a user message. Try again with a conversation"
                " that starts with a user message."
            ),
            "No user query found in messages.",
        ),
    ),
    ErrorPattern(
        concepts=(
            "ALTERNATE & (MESSAGE|ROLE|USER|ASSISTANT|SYSTEM|PLACE|CONTENT|RESULT|CALL)",
            "UNEXPECTED ROLE (USER|ASSISTANT|SYSTEM)",
            "ROLE ~ DUPLICATE",
            "DUPLICATE ROLE",
            "EXPECTED ROLE (USER|ASSISTANT) ~ (USER|ASSISTANT)",
            "(USER|ASSISTANT) AFTER (USER|ASSISTANT)",
        ),
        rules=(
            "same-role-twice",
            "user-after-tool",
            "results-split",
            "calls-split",
            "history-starts-with-call",
            "trailing-assistant",
        ),
        meaning="messages seem to be in an order of roles that is not accepted",
        implies={"rejects_same_role_twice": True},
        examples=("this model does not support successive user or assistant messages",),
    ),
    ErrorPattern(
        concepts=("MISSING ROLE", "(MESSAGE|PLACE) (HAVE|REQUIRED) ROLE"),
        rules=("wrong-vocabulary", "content-shape"),
        meaning="a message seems to have no role",
        examples=("Missing 'role' in message 3",),
    ),
)
