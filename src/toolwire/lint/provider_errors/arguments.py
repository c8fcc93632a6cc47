"""Errors about the arguments of calls, and about calls that could not be parsed."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

BROKEN_ARGUMENT_RULES = (
    "args-invalid-json",
    "args-empty-string",
    "args-wrong-type",
    "args-double-encoded",
    "args-merged",
)
_ARGUMENT_TYPE_RULES = (
    "args-wrong-type",
    "args-invalid-json",
    "args-empty-string",
    "args-double-encoded",
    "args-merged",
)

ARGUMENT_PHRASES = (
    ErrorPattern(
        words="unexpected keyword argument (?:arguments|parameters)",
        rules=("args-double-encoded", "args-wrong-type", "args-invalid-json"),
        meaning="the arguments of a call are wrapped in another object",
        examples=("read_file() got an unexpected keyword argument 'arguments'",),
    ),
    ErrorPattern(
        words=(
            r"item pairs from a mapping|can only concatenate str \(not dict\)"
            r"|function_call\.args \(|tooluse\.input in the request is"
            r"|\bstr object has no attribute (?:items|keys|get)\b"
        ),
        rules=_ARGUMENT_TYPE_RULES,
        meaning="the arguments of a call do not have the required type",
        implies={"arguments_format": "object"},
        examples=("TypeError: Can only get item pairs from a mapping.",),
    ),
    ErrorPattern(
        words="invalid arguments for (?:tool|function) .{0,200}expected.{1,40}received",
        rules=("args-wrong-type", "args-double-encoded", "args-empty-string", "args-invalid-json"),
        meaning="an argument of a call does not have the type that the tool requires",
        examples=(
            (
                'MCP error -32602: Invalid arguments for tool f: [{"code": "invalid_type",'
                ' "expected": "array", "received": "string", "path": ["data"]}]'
            ),
        ),
    ),
    ErrorPattern(
        words="EOF while parsing a value at line 1 column 0|argument content is null",
        also="arguments|tool[ _]call|mcp",
        rules=("args-empty-string", "args-invalid-json"),
        meaning="the arguments of a call are empty",
        implies={"arguments_format": "json"},
        examples=(
            (
                "Tool call 'f' is invalid: arguments must be in valid JSON format: EOF while"
                " parsing a value at line 1 column 0"
            ),
        ),
    ),
    ErrorPattern(
        words=(
            r"(?:stream|response|output|connection)\w* (?:was )?(?:ended|closed|stopped|cut|lost"
            r"|interrupted|terminated) .{0,40}tool[ _-]?(?:call|use|input)(?![ _]?id)"
            r"|incomplete tool[ _]?call(?! sequence)"
            r"|tool[ _-]?(?:call|use|input) .{0,40}(?:cut off|interrupted|truncated"
            r"|incomplete)\b.{1,30}stream"
        ),
        rules=("stream-aborted-call", "args-invalid-json", "stream-multi-call-chunk"),
        meaning="a stream ended in the middle of a call",
        examples=("stream ended before the tool call was complete",),
    ),
    ErrorPattern(
        words="no string-argument constructor",
        also="tool|function",
        rules=("args-double-encoded", "args-wrong-type", "args-invalid-json"),
        meaning="the arguments of a call are text where an object is required",
        implies={"arguments_format": "object"},
        examples=(
            (
                "Executing tool call: f. Cannot construct instance of `java.util.HashMap`: no"
                " String-argument constructor to deserialize from String value"
            ),
        ),
    ),
    ErrorPattern(
        words=r"key tool_(?:name|arguments?)_key=\S{1,40} not found",
        rules=("text-tool-call", "name-missing", "args-invalid-json"),
        meaning="the model wrote a call as text without the key that names its tool",
        examples=("Key tool_name_key='name' not found in the generated tool call.",),
    ),
    ErrorPattern(
        words="value looks like object, but can.?t find closing",
        rules=("args-invalid-json", "args-merged", "args-empty-string"),
        meaning="the arguments of a call are not complete JSON",
        implies={"arguments_format": "json"},
        examples=("Value looks like object, but can't find closing '}' symbol",),
    ),
    ErrorPattern(
        words="parameters for tool .{0,80}did not match schema",
        rules=("args-wrong-type", "args-invalid-json", "text-tool-call"),
        meaning=(
            "the model wrote arguments that the schema of the tool does not allow; send the"
            " request again, or simplify the schema"
        ),
        examples=(
            (
                "tool call validation failed: parameters for tool f did not match schema:"
                " errors: [missing properties: 'city']"
            ),
        ),
    ),
)

ARGUMENT_READINGS = (
    ErrorPattern(
        concepts=("ARGUMENTS & EMPTY",),
        rules=("args-empty-string", "args-invalid-json"),
        meaning="the arguments of a call seem to be empty",
        implies={"arguments_format": "json"},
        examples=("tool call function arguments is empty",),
    ),
    ErrorPattern(
        concepts=("ARGUMENTS & TYPE",),
        rules=("args-wrong-type", "args-invalid-json", "args-double-encoded", "args-empty-string"),
        meaning="the arguments of a call seem to have the wrong type",
        implies={"arguments_format": "object"},
        examples=("messages.1.content.0.tool_use.input: Input should be a valid dictionary",),
    ),
    ErrorPattern(
        concepts=(
            "ARGUMENTS & (BROKEN|INVALID|MATCH|SCHEMA)",
            "ARGUMENTS CHANGED",
            "(UNEXPECTED|UNKNOWN|UNSUPPORTED) ARGUMENTS ~ (TOOL|CALL)",
            "ARGUMENTS HAVE REQUIRED",
            "CALL (HAVE|MISSING|REQUIRED) ARGUMENTS",
            "ARGUMENTS MISSING TOOL",
            "(MISSING|REQUIRED) ARGUMENTS ~ TOOL",
        ),
        rules=BROKEN_ARGUMENT_RULES,
        meaning="the arguments of a call seem to be broken",
        implies={"arguments_format": "json"},
        examples=(
            (
                "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]"
                " parse error at line 1, column 131: syntax error while parsing value"
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "UNREADABLE",
            "NO BROKEN CALL",
            "BROKEN CALL ~ GENERATED",
            "GENERATED ~ BROKEN CALL",
            "GENERATED (HAVE|PENDING) ~ CALL",
            "EXPECTED EMPTY ~ CALL",
            "GENERATED & (INVALID|BROKEN|NO|EXPECTED|NOT_FOUND|UNEXPECTED|MATCH) & CALL",
            "EXPECTED CALL ~ NO",
        ),
        rules=("text-tool-call", *BROKEN_ARGUMENT_RULES),
        meaning=(
            "the model wrote a call that could not be read; nothing is wrong with the request,"
            " so send it again, or simplify the schema of the tool"
        ),
        examples=(
            (
                "Failed to call a function. Please adjust your prompt. See 'failed_generation'"
                " for more details."
            ),
        ),
    ),
)

STREAM_READINGS = (
    ErrorPattern(
        concepts=(
            "STREAMED HAVE ~ CALL",
            "STREAMED MISSING CALL",
            "STREAMED ~ MISSING CALL",
            "STREAMED AFTER",
            "STREAMED ~ UNKNOWN CALL",
        ),
        rules=("stream-multi-call-chunk", "stream-aborted-call", "stream-id-late"),
        meaning="a fragment of a streamed call seems to belong to no call",
        examples=("received a tool call delta without an open tool call",),
    ),
)
"""Rows that are tried before those about pairs: a fragment is no result."""

BROKEN_CALL_READINGS = (
    ErrorPattern(
        concepts=("BROKEN CALL", "CALL ~ BROKEN"),
        rules=BROKEN_ARGUMENT_RULES,
        meaning="a call seems to be broken",
        implies={"arguments_format": "json"},
        examples=("Error parsing tool call: unexpected end of JSON input",),
    ),
    ErrorPattern(
        concepts=("STREAM_INDEX",),
        rules=("stream-index-missing", "stream-index-dup", "stream-multi-call-chunk"),
        meaning="a fragment of a streamed call seems to have no index, or that of another call",
        examples=("Missing tool call index",),
    ),
    ErrorPattern(
        concepts=("STREAMED ~ (HAVE|MISSING|NO) ~ (ID|NAME)",),
        rules=("stream-id-null", "stream-id-late", "name-missing"),
        meaning="a streamed call seems to have no id, or no name",
        examples=("streamed tool call without id and name",),
    ),
    ErrorPattern(
        concepts=("STREAMED",),
        rules=(
            "stream-multi-call-chunk",
            "stream-aborted-call",
            "stream-index-missing",
            "stream-id-null",
            "stream-id-late",
            "stream-index-dup",
        ),
        meaning="the events of a streamed call seem to be incomplete or in the wrong order",
        examples=("Cannot send 'TOOL_CALL_START' event: A tool call is already in progress.",),
    ),
)
"""Rows that are tried after those about pairs: an incomplete call may only lack its result."""
