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
_COUNT_RULES = (
    "count-mismatch",
    "partial-batch",
    "missing-result",
    "results-split",
    "calls-split",
    "dup-result",
    "id-reused-across-turns",
)

PAIR_PATTERNS = (
    ErrorPattern(
        r"corresponding server_tool_use block|tool use with id .{0,100}was found without a"
        r" corresponding|unexpected tool_use_id found in \w{3,40}_tool_result",
        rules=("server-tool-unpaired",),
        meaning="the call of a server tool has no result, or its result has no call",
        implies={"server_results_stay_in_message": True},
        example=(
            "messages.7.content.0: unexpected `tool_use_id` found in `web_search_tool_result`"
            " blocks: srvtoolu_1. Each `web_search_tool_result` block must have a corresponding"
            " `server_tool_use` block before it."
        ),
    ),
    ErrorPattern(
        r"not found in tool_calls of previous message",
        rules=("id-is-result-content", "id-foreign", *ORPHAN_RULES),
        meaning="a result names a call that is not in the message before it",
        implies={"rejects_orphan_results": True},
        example=(
            "Invalid parameter: 'tool_call_id' of 'Sum: 15' not found in 'tool_calls' of previous"
            " message."
        ),
    ),
    ErrorPattern(
        r"tool use concurrency issues",
        rules=("missing-result", "orphan-result", "result-separated", "id-dup-in-turn"),
        meaning="calls and results of the session do not match, so that it cannot be resumed",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        example=(
            "API Error: 400 due to tool use concurrency issues. Run /rewind to recover the"
            " conversation."
        ),
    ),
    ErrorPattern(
        r"improperly formed request",
        rules=("missing-result", "orphan-result", "content-shape", "results-split"),
        meaning="the history is not accepted, and the service does not say why",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        example='{"message":"Improperly formed request.","reason":null}',
    ),
    ErrorPattern(
        r"no tool output found for|tool results? (?:is|are) missing|invocation must have a result"
        r"|missingtoolresults|unprocessed tool calls|invalid tool usage",
        rules=MISSING_RESULT_RULES,
        meaning="a call has no result",
        also=r"^(?!.{0,5000}does not contain any unprocessed tool calls)",
        implies={"rejects_missing_results": True},
        example="No tool output found for function call call_1.",
    ),
    ErrorPattern(
        r"did not have response messages|insufficient tool messages|ids were found without"
        r" tool_result|without tool_result blocks? immediately after|expected toolresult blocks"
        r"|did not find \d+ tool_result block|do not have a corresponding toolmessage"
        r"|must have a corresponding tool[ _]?result|must be followed by tool messages",
        rules=MISSING_RESULT_RULES,
        meaning="a call has no result directly after it",
        implies={"rejects_missing_results": True, "result_placement": "next"},
        example=(
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after:"
            " toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the"
            " next message."
        ),
    ),
    ErrorPattern(
        r"tool_call_id (?:undefined |null )?is not found",
        rules=("id-empty", *(rule for rule in ORPHAN_RULES if rule != "id-empty")),
        meaning="a result has no id, or the id of no call",
        implies={"rejects_orphan_results": True, "requires_ids": True},
        example="Invalid request: tool_call_id  is not found",
    ),
    ErrorPattern(
        r"must be a response to a prec\w{1,4}ing message|unexpected tool_use_id found"
        r"|no tool call found for|no previous assistant message with a tool call"
        r"|tools? id\(.{0,200}?\) not found|tool_call_id.{0,100}? is not found"
        r"|unexpected tool call id|has no corresponding tooluse"
        r"|must have a corresponding tool[ _]?use|missing corresponding tool call"
        r"|no function call event found|functioncall not found"
        r"|does not contain any unprocessed tool calls",
        rules=ORPHAN_RULES,
        meaning="a result has no call directly before it",
        also=r"^(?!.{0,5000}ids were found without tool_result)",
        implies={"rejects_orphan_results": True},
        example=(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding"
            " message with 'tool_calls'."
        ),
    ),
    ErrorPattern(
        r"unexpected role tool after|unexpected role RoleEnum\.tool\b",
        rules=ORPHAN_RULES,
        meaning="a result does not follow an assistant message with calls",
        implies={"rejects_orphan_results": True},
        example="Unexpected role 'tool' after role 'user'",
    ),
    ErrorPattern(
        r"does not follow tool call|tool call and result not match",
        rules=("result-separated", "result-with-extra", "missing-result", "id-dup-in-turn"),
        meaning="a result does not directly follow its call, or its message has other parts",
        implies={"result_placement": "alone"},
        example="invalid params, tool call result does not follow tool call (2013)",
    ),
    ErrorPattern(
        r"number of function response|not the same number of function calls|function call parts of"
        r" the function call turn|exceeds the number of tooluse",
        rules=_COUNT_RULES,
        meaning="a turn does not have as many results as calls",
        implies={
            "rejects_missing_results": True,
            "rejects_orphan_results": True,
            "rejects_duplicate_results": True,
        },
        example=(
            "Please ensure that the number of function response parts is equal to the number of"
            " function call parts of the function call turn."
        ),
    ),
    ErrorPattern(
        r"functionresponse\.(id|name).{0,200}does not match|function_response\.name: name cannot be"
        r" empty",
        rules=("results-out-of-order", "result-name-mismatch"),
        meaning="a result does not have the id or name of its call",
        implies={"results_follow_call_order": True, "results_need_tool_name": True},
        example="functionResponse.id 'b' does not match functionCall.id 'a'",
    ),
)
