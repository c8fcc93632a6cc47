"""Errors that name their subject, but not the problem."""

from __future__ import annotations

from toolwire.lint.provider_errors.arguments import BROKEN_ARGUMENT_RULES
from toolwire.lint.provider_errors.pattern import ErrorPattern

SUBJECT_READINGS = (
    ErrorPattern(
        concepts=("CALL & RESULT",),
        rules=("missing-result", "orphan-result", "count-mismatch", "result-separated"),
        meaning="calls and results seem not to match",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        examples=("please check the tool calls and the tool responses",),
    ),
    ErrorPattern(
        concepts=("CALL & (INVALID|FORMAT|BROKEN)",),
        rules=(*BROKEN_ARGUMENT_RULES, "text-tool-call", "wrong-vocabulary"),
        meaning="a call seems not to be valid",
        examples=("Tool call ['search'] is not valid",),
    ),
    ErrorPattern(
        concepts=("CALL & ARGUMENTS",),
        rules=BROKEN_ARGUMENT_RULES,
        meaning="the error names the arguments of a call, and does not say what is wrong with them",
        examples=("Tool call 'f' has parameter issues",),
    ),
    ErrorPattern(
        also=r"tool|function|\bcall|arguments|request",
        concepts=("DECODER",),
        rules=BROKEN_ARGUMENT_RULES,
        meaning="the decoder of a server refused the JSON of some arguments",
        implies={"arguments_format": "json"},
        examples=("request failed: Expecting ',' delimiter: line 1 column 45",),
    ),
    ErrorPattern(
        concepts=("PLACE CALL_ID", "CALL_ID (BROKEN|INVALID)"),
        rules=("id-bad-charset", "id-missing", "id-too-long", "id-empty", "orphan-result"),
        meaning="the error names the id of a call, and does not say what is wrong with it",
        examples=("messages.1.content.0.tool_use.id: Str",),
    ),
    ErrorPattern(
        concepts=("DEFINITION NAME",),
        rules=("name-bad-charset", "name-too-long", "name-empty", "schema-refused"),
        meaning="the error names the name of a tool, and does not say what is wrong with it",
        examples=("tools.0.custom.name: String",),
    ),
    ErrorPattern(
        concepts=("SERVER",),
        rules=("server-tool-unpaired", "server-tool-as-client", "wrong-vocabulary"),
        meaning="the error names a call that the provider ran, and does not say what is wrong",
        examples=("problem with messages.1.content.2.server_tool_use",),
    ),
    ErrorPattern(
        concepts=("ITEM ID",),
        rules=("item-id-prefix", "item-id-as-call-id", "item-id-stale"),
        meaning="the error names the id of an item, and does not say what is wrong with it",
        examples=("Invalid 'input[6].id': 'item_1'.",),
    ),
    ErrorPattern(
        concepts=("ROLE",),
        rules=("wrong-vocabulary", "wrong-role", "same-role-twice"),
        meaning="the error names a role, and does not say what is wrong with it",
        examples=("check the role of each message",),
    ),
    ErrorPattern(
        concepts=(
            "PLACE",
            "(INVALID|BROKEN) (MESSAGE|USER|ASSISTANT)",
            "(MESSAGE|USER|ASSISTANT) INVALID",
        ),
        rules=("content-shape", "wrong-vocabulary", "missing-result", "orphan-result"),
        meaning="the error names a message, and does not say what is wrong with it",
        examples=("Invalid input: messages.12.content",),
    ),
    ErrorPattern(
        concepts=("SIGNATURE", "THINKING"),
        rules=("signature-foreign", "thinking-missing", "signature-missing"),
        meaning="the error names a signature or reasoning, and does not say what is wrong with it",
        examples=("problem with the signature of a thinking block",),
    ),
    ErrorPattern(
        concepts=("DEFINITION", "SCHEMA"),
        rules=("schema-refused",),
        meaning="the error names the definition of a tool, and does not say what is wrong with it",
        examples=("problem with the schema of tool f",),
    ),
    ErrorPattern(
        concepts=("UNSUPPORTED CALL",),
        rules=("wrong-vocabulary", "name-unknown", "tools-undefined"),
        meaning="a call seems to be of a type or of a tool that is not known",
        examples=("unsupported custom tool call: apply_patch",),
    ),
    ErrorPattern(
        concepts=("(UNSUPPORTED|UNEXPECTED) TOOL",),
        rules=("name-unknown", "tools-undefined"),
        meaning="a call seems to be of a tool that is not defined",
        examples=("unsupported tool: search",),
    ),
    ErrorPattern(
        concepts=("INVALID TOOL",),
        rules=("schema-refused", "name-unknown"),
        meaning="the error names a tool, and does not say what is wrong with it",
        examples=("Invalid tool value(s): azure_function",),
    ),
    ErrorPattern(
        concepts=("CALL_ID",),
        rules=("orphan-result", "id-missing", "missing-result", "id-dup-in-turn"),
        meaning="the error names the id of a call, and does not say what is wrong with it",
        examples=("problem with tool_call_id call_1",),
    ),
)

LAST_GUESS = ErrorPattern(
    rules=("missing-result", "orphan-result", "count-mismatch", "content-shape"),
    meaning="the error is about calls or results, in words that are not known",
    examples=("something is odd about the tool results",),
)
"""The row for a text that names calls or results and matches no other row."""
