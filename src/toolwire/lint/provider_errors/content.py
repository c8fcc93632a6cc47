"""Errors about the arguments of calls, the output of results, and the content of messages."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

_BROKEN_ARGUMENT_RULES = (
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

CONTENT_PATTERNS = (
    ErrorPattern(
        r"(?:low|high|lone|unpaired|invalid|leading|trailing) surrogate|surrogates? not allowed",
        rules=("lone-surrogate",),
        meaning="a text was cut inside a character, which is not valid JSON",
        implies={"rejects_lone_surrogates": True},
        example="The request body is not valid JSON: no low surrogate in string: line 1 column 9",
    ),
    ErrorPattern(
        r"function_?response\.parts\W{1,3}is not supported",
        rules=("media-in-result",),
        meaning="a result contains an image or a file, and this model accepts only text",
        implies={"text_result_models": ".*"},
        example=(
            "Unable to submit request because `function_response.parts` is not supported for this"
            " model."
        ),
    ),
    ErrorPattern(
        r"message with role tool contains an image url",
        rules=("media-in-result",),
        meaning="a result contains an image, and only user messages may contain images",
        implies={"text_result_models": ".*"},
        example=(
            "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but"
            " this message with role 'tool' contains an image URL."
        ),
    ),
    ErrorPattern(
        r"item pairs from a mapping|arguments: expected a string|tool_use\.input: input should be a"
        r" valid dictionary|tool_use\.input: field required|function_call\.args \("
        r"|tooluse\.input is invalid|arguments (?:must|should) be an? (?:json )?(?:object|dict)"
        r"|cannot unmarshal \w{1,20} into go .{0,200}ToolCallFunctionArguments",
        rules=_ARGUMENT_TYPE_RULES,
        meaning="the arguments of a call do not have the required type",
        implies={"arguments_format": "object"},
        example="messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    ErrorPattern(
        r"EOF while parsing a value at line 1 column 0",
        rules=("args-empty-string", "args-invalid-json"),
        meaning="the arguments of a call are empty",
        also=r"arguments|tool[ _]call",
        implies={"arguments_format": "json"},
        example=(
            "Tool call 'f' is invalid: arguments must be in valid JSON format: EOF while parsing a"
            " value at line 1 column 0"
        ),
    ),
    ErrorPattern(
        r"invalid function arguments json"
        r"|(?:arguments|args)\b.{0,300}(?:not (?:a )?valid json|must be (?:in )?(?:valid )?json"
        r"|in json format)|parse (?:tool[ _]call )?arguments"
        r"|invalid json (?:format )?in tool[ _]?call|error validating args|error parsing tool call"
        r"|invalid ?(?:arguments|input) for tool|invalidtool(?:arguments|input)"
        r"|tool input did not match expected schema|invalid json argum",
        rules=_BROKEN_ARGUMENT_RULES,
        meaning="the arguments of a call are not JSON",
        implies={"arguments_format": "json"},
        example=(
            "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse"
            " error at line 1, column 131: syntax error while parsing value"
        ),
    ),
    ErrorPattern(
        r"parameters for tool .{0,80}did not match schema",
        rules=("args-wrong-type", "args-invalid-json", "text-tool-call"),
        meaning="the model wrote arguments that the schema of the tool does not allow; send the"
        " request again, or simplify the schema",
        example=(
            "tool call validation failed: parameters for tool f did not match schema: errors:"
            " [missing properties: 'city']"
        ),
    ),
    ErrorPattern(
        r"failed to call a function|tool_use_failed|failed_generation|malformed_function_call"
        r"|no valid tool request|failed to parse input at pos",
        rules=("text-tool-call", "args-invalid-json"),
        meaning="the model wrote a call that the provider could not read; nothing is wrong with the"
        " request, so send it again, or simplify the schema of the tool",
        example=(
            "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more"
            " details."
        ),
    ),
    ErrorPattern(
        r"cannot unmarshal \w{1,20} into go struct field \w{1,40}\.messages(?:\.content)? of type"
        r" string",
        rules=("content-shape", "output-not-string"),
        meaning="the content of a message is a list or an object; this server takes text only",
        implies={"content_is_text": True},
        example=(
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type"
            " string"
        ),
    ),
    ErrorPattern(
        r"output of tool call should be .{0,20}input text",
        rules=("output-not-string", "content-shape"),
        meaning="a result contains parts other than text",
        example="Output of tool call should be 'Input text'",
    ),
    ErrorPattern(
        r"messages\[\d+\]\.content: expected .{0,80}got null|invalid value for content: expected"
        r"|\d\.(?:\w{1,60}\.)?content[.:].{0,80}input should be a valid (?:string|list)"
        r"|missing field content\b|must have either content or tool_calls"
        r"|content or tool_calls must be set|parts must not be empty"
        r"|at least one (?:parts|content)\b",
        rules=("content-shape", "output-not-string"),
        meaning="the content of a message is missing, or does not have the required type",
        implies={"assistant_content": "some"},
        example=(
            "Invalid type for 'messages[3].content': expected one of a string or array of objects,"
            " but got null instead."
        ),
    ),
    ErrorPattern(
        r"expected one of .{0,60}, but got|tool_result\.content: input should"
        r" be|function_response\.response\b|toolresult\.content",
        rules=("output-not-string", "content-shape"),
        meaning="the output of a result does not have the required type",
        also=r"output|tool_result|toolResult|function_response|content",
        example=(
            "Invalid type for 'input[3].output': expected one of an array of objects or string, but"
            " got an object instead."
        ),
    ),
    ErrorPattern(
        r"cannot be empty when status value is error",
        rules=("content-shape",),
        meaning="an error result has no text",
        implies={"rejects_blank_text": True},
        example="The content field of toolResult cannot be empty when status value is error.",
    ),
    ErrorPattern(
        r"NoneType object is not iterable",
        rules=("content-shape",),
        meaning="a message has null instead of text",
        also="wrong_api_format",
        implies={"assistant_content": "some"},
        example="'NoneType' object is not iterable (wrong_api_format)",
    ),
    ErrorPattern(
        r"the following must be satisfied.{0,100}\.content : value must be a string",
        rules=("content-shape",),
        meaning="the content of a message with calls is a list; it must be text",
        implies={"assistant_content": "text"},
        example=(
            "'messages.1' : for 'role:assistant' the following must be satisfied"
            "[('messages.1.content' : value must be a string)]"
        ),
    ),
    ErrorPattern(
        r"content blocks must (?:be non-empty|contain non-whitespace)|must have non-empty content"
        r"|text content is empty|the text field .{0,80}is blank|must have a message\b"
        r"|message must be at least 1 token"
        r"|the content field in the message object .{0,60}is empty",
        rules=("content-shape",),
        meaning="a text or a message is empty or blank",
        implies={"rejects_blank_text": True},
        example="messages: text content blocks must be non-empty",
    ),
)
