"""Errors about calls without results, results without calls, and their number."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

MISSING_RESULT_RULES = (
    "missing-result",
    "partial-batch",
    "result-separated",
    "results-split",
    "result-not-first",
    "server-tool-as-client",
    "calls-split",
    "pending-tail",
)
ORPHAN_RULES = (
    "orphan-result",
    "history-starts-with-result",
    "result-separated",
    "id-empty",
    "call-dropped-keep-result",
    "result-before-call",
)

PAIR_PHRASES = (
    ErrorPattern(
        words="tool_use ids were found without.{0,80}(?:srvtoolu|mcptoolu)_",
        rules=("server-tool-as-client", "server-tool-unpaired", "missing-result"),
        meaning="a call that the provider ran is sent as a call of the client",
        implies={"rejects_missing_results": True},
        examples=(
            "`tool_use` ids were found without `tool_result` blocks immediately after: srvtoolu_1",
        ),
    ),
    ErrorPattern(
        words="not found in tool_calls of previous message",
        rules=("id-is-result-content", "id-foreign", *ORPHAN_RULES),
        meaning="a result names a call that is not in the message before it",
        implies={"rejects_orphan_results": True},
        examples=(
            (
                "Invalid parameter: 'tool_call_id' of 'Sum: 15' not found in 'tool_calls' of"
                " previous message."
            ),
        ),
    ),
    ErrorPattern(
        words="tool use concurrency issues",
        rules=("missing-result", "orphan-result", "result-separated", "id-dup-in-turn"),
        meaning="calls and results of the session do not match, so that it cannot be resumed",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        examples=(
            (
                "API Error: 400 due to tool use concurrency issues. Run /rewind to recover the"
                " conversation."
            ),
        ),
    ),
    ErrorPattern(
        words="improperly formed request",
        rules=("missing-result", "orphan-result", "content-shape", "results-split"),
        meaning="the history is not accepted, and the service does not say why",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        examples=('{"message":"Improperly formed request.","reason":null}',),
    ),
    ErrorPattern(
        words="invalid tool usage|invalid_tool_results",
        rules=MISSING_RESULT_RULES,
        meaning="a call has no result",
        implies={"rejects_missing_results": True},
        examples=("HTTP status code 400, invalid tool usage",),
    ),
    ErrorPattern(
        words=(
            "did not have response messages|insufficient tool messages|"
            "ids were found without tool_result|without tool_result blocks? immediately after|"
            r"expected toolresult blocks|did not find \d+ tool_result block|"
            "do not have a corresponding toolmessage|must have a corresponding tool[ _]?result|"
            "must be followed by tool messages|with tool_calls must be followed"
        ),
        rules=MISSING_RESULT_RULES,
        meaning="a call has no result directly after it",
        implies={"rejects_missing_results": True, "result_placement": "next"},
        examples=(
            (
                "messages.1: `tool_use` ids were found without `tool_result` blocks immediately"
                " after: toolu_01. Each `tool_use` block must have a corresponding"
                " `tool_result` block in the next message."
            ),
        ),
    ),
    ErrorPattern(
        words="tool_call_id (?:undefined |null )?is not found",
        rules=("id-empty", *(rule for rule in ORPHAN_RULES if rule != "id-empty")),
        meaning="a result has no id, or the id of no call",
        implies={"rejects_orphan_results": True, "requires_ids": True},
        examples=("Invalid request: tool_call_id  is not found",),
    ),
    ErrorPattern(
        words=(
            r"unexpected role tool after|unexpected role RoleEnum\.tool\b"
            r"|could not match tool (?:response|result|output|message)(?! schema)"
        ),
        rules=ORPHAN_RULES,
        meaning="a result does not follow an assistant message with calls",
        implies={"rejects_orphan_results": True},
        examples=("Unexpected role 'tool' after role 'user'",),
    ),
    ErrorPattern(
        words="does not follow tool call|tool call and result not match",
        rules=("result-separated", "result-with-extra", "missing-result", "id-dup-in-turn"),
        meaning="a result does not directly follow its call, or its message has other parts",
        implies={"result_placement": "alone"},
        examples=("invalid params, tool call result does not follow tool call (2013)",),
    ),
    ErrorPattern(
        words=r"functionresponse\.(id|name).{0,200}does not match",
        rules=("results-out-of-order", "result-name-mismatch"),
        meaning="a result does not have the id or name of its call",
        implies={"results_follow_call_order": True, "results_need_tool_name": True},
        examples=("functionResponse.id 'b' does not match functionCall.id 'a'",),
    ),
)

PAIR_READINGS = (
    ErrorPattern(
        concepts=("RESULT MATCH NEXT ASSISTANT",),
        rules=("user-after-tool", "results-split"),
        meaning="a user message seems to follow a result directly",
        implies={"no_user_after_tool": True},
        examples=("a tool message must be followed by an assistant message",),
    ),
    ErrorPattern(
        concepts=(
            "(NO|HAVE|NOT_FOUND) PENDING CALL",
            "(NO|NOT_FOUND) CALL PENDING",
            "NO PENDING RESULT",
            "(CALL|CALL_ID|RESULT) ~ NO PENDING",
            "RESULT ~ CALL MESSAGE NOT_FOUND",
            "RESULT ~ UNKNOWN ID",
            "RESULT LAST MESSAGE ASSISTANT",
            "RESULT ~ UNKNOWN CALL",
            "ORPHAN RESULT",
            "RESULT ~ ORPHAN",
            "RESULT HAVE CALL",
            "NOT_FOUND CALL RESULT",
            "RESULT ~ (HAVE|BEHIND) ~ ASSISTANT",
            "RESULT ONLY CALL",
            "RESULT CALL BROKEN",
            "MESSAGE HAVE CALL",
            "NO BEFORE ASSISTANT",
            "RESULT ~ (HAVE|MISSING|NO) BEFORE",
            "INVALID RESULT ~ BEFORE ~ ASSISTANT",
            "BEFORE MESSAGE RESULT ~ ASSISTANT",
            "RESULT ~ (HAVE|MISSING|NO) GENERATED",
            "FIRST MESSAGE RESULT",
            "MESSAGE (FIRST|PREFIX) RESULT",
            "NOT_FOUND ~ BEFORE ~ RESULT",
        ),
        rules=ORPHAN_RULES,
        meaning="a result seems to be for a call that is not open",
        implies={"rejects_orphan_results": True},
        examples=("Received a tool result, but no such call is pending",),
    ),
    ErrorPattern(
        concepts=("CALL PENDING", "PENDING CALL", "COUNT CALL HAVE RESULT"),
        rules=MISSING_RESULT_RULES,
        meaning="a call seems to wait for its result",
        implies={"rejects_missing_results": True},
        examples=("tool call call_7 is still pending",),
    ),
    ErrorPattern(
        concepts=(
            "COUNT RESULT ~ (CALL|COUNT|MATCH)",
            "COUNT CALL ~ (RESULT|COUNT|MATCH)",
            "(CALL|RESULT) COUNT ~ (CALL|RESULT|MATCH)",
            "CALL RESULT MATCH COUNT",
            "EXPECTED COUNT RESULT",
            "UNEQUAL ~ (CALL|RESULT)",
            "INVALID COUNT (CALL|RESULT)",
            "COUNT (TOOL|TOOLS|CALL) ~ COUNT RESULT",
        ),
        rules=("count-mismatch", "partial-batch", "missing-result", "results-split", "dup-result"),
        meaning="a turn seems not to have as many results as calls",
        implies={
            "rejects_missing_results": True,
            "rejects_orphan_results": True,
            "rejects_duplicate_results": True,
        },
        examples=(
            (
                "Please ensure that the number of function response parts is equal to the"
                " number of function call parts of the function call turn."
            ),
            "Not the same number of function calls and responses",
            (
                "The number of toolResult blocks at messages.2.content exceeds the number of"
                " toolUse blocks of previous turn."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("(REQUIRED|MISSING) ITEM ID",),
        rules=("id-missing", "item-id-prefix", "item-id-stale"),
        meaning="an item seems to have no id",
        implies={"requires_ids": True},
        examples=("Missing required parameter: 'input[3].id'.",),
    ),
    ErrorPattern(
        concepts=("SERVER & (ORPHAN|HAVE|MATCH|NOT_FOUND|MISSING|UNEXPECTED|INVALID|NO|PENDING)",),
        rules=("server-tool-unpaired", "server-tool-as-client"),
        meaning="the call of a server tool seems to have no result, or its result no call",
        implies={"server_results_stay_in_message": True},
        examples=(
            (
                "messages.7.content.0: unexpected `tool_use_id` found in"
                " `web_search_tool_result` blocks: srvtoolu_1. Each `web_search_tool_result`"
                " block must have a corresponding `server_tool_use` block before it."
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "(CALL|CALL_ID|TOOL) ~ (HAVE|MATCH|AFTER) ~ RESULT",
            "(NO|MISSING|EXPECTED|PENDING|HAVE) RESULT",
            "NOT_FOUND ~ RESULT",
            "RESULT (MISSING|REQUIRED|NOT_FOUND)",
            "PENDING ~ CALL",
            "ORPHAN CALL",
            "PENDING OUTPUT",
            "TOOL ~ NO OUTPUT",
            "CALL ~ PENDING",
            "RESULT PENDING",
            "CALL ONLY RESULT",
            "AFTER CALL ~ ROLE VALUES",
            "NO OUTPUT CALL",
            "REQUIRED ITEM OUTPUT",
        ),
        rules=MISSING_RESULT_RULES,
        meaning="a call seems to have no result",
        implies={"rejects_missing_results": True},
        examples=(
            "the tool call call_1 was not answered: missing tool response",
            "No tool output found for function call call_1.",
        ),
    ),
    ErrorPattern(
        concepts=(
            "RESULT ~ (HAVE|MATCH|AFTER|NO|BEFORE) ~ CALL",
            "RESULT ~ (ASSISTANT|CALL) ~ (NOT_FOUND|MISSING)",
            "RESULT ~ MATCH ~ CALL_ID",
            "(NO|MISSING|UNKNOWN|NOT_FOUND) CALL",
            "CALL (NOT_FOUND|MISSING)",
            "CALL_ID ~ NOT_FOUND",
            "(UNEXPECTED|UNKNOWN|INVALID) CALL_ID",
            "(UNEXPECTED|ORPHAN) RESULT",
            "CALL_ID ~ MATCH",
            "NOT_FOUND ~ CALL_ID",
            "RESULT MATCH",
            "MATCH RESULT ~ CALL",
            "(ASSISTANT|CALL) ~ BEFORE RESULT",
        ),
        rules=ORPHAN_RULES,
        meaning="a result seems to have no call",
        implies={"rejects_orphan_results": True},
        examples=(
            "tool message call_9 has no matching tool call in the conversation",
            "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
            "No tool call found for function call output with call_id call_1.",
            (
                "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks:"
                " toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in"
                " the previous message."
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "USER ~ (AFTER|MATCH) ~ RESULT",
            "USER AFTER TOOL",
            "RESULT ~ (AFTER|MATCH) USER",
            "EXPECTED ASSISTANT AFTER (TOOL|RESULT)",
        ),
        rules=("user-after-tool", "results-split"),
        meaning="a user message seems to follow a result directly",
        implies={"no_user_after_tool": True},
        examples=("Unexpected role 'user' after role 'tool'",),
    ),
)
