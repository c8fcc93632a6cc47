"""Errors about the output of results and the content of messages."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

CONTENT_PHRASES = (
    ErrorPattern(
        words=(
            "(?:low|high|lone|unpaired|invalid|leading|trailing) surrogate|surrogates? not allowed"
        ),
        rules=("lone-surrogate",),
        meaning="a text was cut inside a character, which is not valid JSON",
        implies={"rejects_lone_surrogates": True},
        examples=(
            "The request body is not valid JSON: no low surrogate in string: line 1 column 9",
        ),
    ),
    ErrorPattern(
        words=r"function_?response\.parts\W{1,3}is not supported",
        rules=("media-in-result",),
        meaning="a result contains an image or a file, and this model accepts only text",
        implies={"text_result_models": ".*"},
        examples=(
            (
                "Unable to submit request because `function_response.parts` is not supported"
                " for this model."
            ),
        ),
    ),
    ErrorPattern(
        words="message with role tool contains an image url",
        rules=("media-in-result",),
        meaning="a result contains an image, and only user messages may contain images",
        implies={"text_result_models": ".*"},
        examples=(
            (
                "Invalid 'messages[2]'. Image URLs are only allowed for messages with role"
                " 'user', but this message with role 'tool' contains an image URL."
            ),
        ),
    ),
    ErrorPattern(
        words=(
            r"cannot unmarshal \w{1,20} into go struct field \w{1,40}\.messages(?:\.content)?"
            " of type string"
        ),
        rules=("content-shape", "output-not-string"),
        meaning="the content of a message is a list or an object; this server takes text only",
        implies={"content_is_text": True},
        examples=(
            (
                "json: cannot unmarshal array into Go struct field ChatRequest.messages.content"
                " of type string"
            ),
        ),
    ),
    ErrorPattern(
        words=(
            "structured ?content .{0,60}schema|output ?schema .{0,60}structured ?content"
            "|structured content (?:is|was) (?:missing|required|not)"
        ),
        rules=("output-not-string", "schema-refused", "content-shape"),
        meaning="the output of a tool is not what the output schema of its server promises",
        examples=(
            "MCP error -32600: Tool f has an output schema but did not return structured content",
        ),
    ),
    ErrorPattern(
        words=(
            "output of tool call should be .{0,20}input text|"
            r"\.content: expected one of .{0,60}but got an object"
        ),
        rules=("output-not-string", "content-shape"),
        meaning="a result contains parts other than text",
        examples=("Output of tool call should be 'Input text'",),
    ),
    ErrorPattern(
        words="cannot be empty when status value is error",
        rules=("content-shape",),
        meaning="an error result has no text",
        implies={"rejects_blank_text": True},
        examples=("The content field of toolResult cannot be empty when status value is error.",),
    ),
    ErrorPattern(
        words="NoneType object is not iterable",
        also="wrong_api_format",
        rules=("content-shape",),
        meaning="a message has null instead of text",
        implies={"assistant_content": "some"},
        examples=("'NoneType' object is not iterable (wrong_api_format)",),
    ),
    ErrorPattern(
        words=(
            "content blocks must (?:be non-empty|contain non-whitespace)|"
            "must have non-empty content|text content is empty|the text field .{0,80}is blank|"
            r"must have a message\b|message must be at least 1 token|"
            "the content field in the message object .{0,60}is empty"
        ),
        rules=("content-shape",),
        meaning="a text or a message is empty or blank",
        implies={"rejects_blank_text": True},
        examples=(
            "messages: text content blocks must be non-empty",
            "The text field in the ContentBlock object at messages.1.content.0 is blank.",
        ),
    ),
)

FOREIGN_READINGS = (
    ErrorPattern(
        concepts=("FOREIGN",),
        rules=("wrong-vocabulary", "content-shape", "item-shape"),
        meaning="a message or item seems to be in the format of another API",
        examples=(
            "The messages do not match the ModelMessage[] schema",
            (
                "Failed to deserialize the JSON body into the target type: data did not match any"
                " variant of untagged enum Content"
            ),
        ),
    ),
)

MEDIA_READINGS = (
    ErrorPattern(
        concepts=("RESULT (HAVE|NO) CONTENT",),
        rules=("content-shape", "output-not-string"),
        meaning="a result seems to have no content",
        implies={"rejects_blank_text": True},
        examples=("tool result has no content",),
    ),
    ErrorPattern(
        concepts=(
            "RESULT & MEDIA & (UNSUPPORTED|UNEXPECTED|ONLY)",
            "RESULT_CONTENT & TYPE & MEDIA",
        ),
        rules=("media-in-result", "output-not-string", "content-shape"),
        meaning="a result seems to contain an image or a file, which this model does not accept",
        implies={"text_result_models": ".*"},
        examples=("images are not supported in tool results",),
    ),
    ErrorPattern(
        concepts=("(HAVE|NO) CONTENT ~ NO CALL", "(NO|HAVE) CALL ~ NO CONTENT"),
        rules=("content-shape", "empty-tool-calls"),
        meaning="a message seems to have neither text nor calls",
        implies={"assistant_content": "some"},
        examples=("assistant message with no content and no tool calls",),
    ),
    ErrorPattern(
        concepts=(
            "BOTH ~ (CONTENT|THINKING|REASONING|REASONING_CONTENT|CALL|RESULT)",
            "(CONTENT|CALL|RESULT) ~ BOTH",
            "CALL CONTENT ~ MIXED",
            "CONTENT CALL ~ MIXED",
            "CONTENT UNSUPPORTED CALL",
        ),
        rules=("content-shape", "output-not-string", "field-refused"),
        meaning="a message or a part seems to have two things of which only one is accepted",
        examples=(
            "Cannot have tool calls and content in the same assistant message",
            "Conversation blocks and tool use blocks cannot be provided in the same turn.",
        ),
    ),
    ErrorPattern(
        concepts=(
            "(UNEXPECTED|UNSUPPORTED|INVALID) RESULT TYPE",
            "RESULT ~ UNEXPECTED TYPE",
            "UNEXPECTED CONTENT ~ RESULT",
        ),
        rules=("output-not-string", "content-shape"),
        meaning="the output of a result seems to have the wrong type",
        examples=("Unexpected tool result type: <class 'int'>",),
    ),
    ErrorPattern(
        concepts=("RESULT ~ MIXED", "MIXED ~ RESULT", "RESULT ONLY RESULT"),
        rules=("result-with-extra", "result-not-first"),
        meaning="a message with results seems to contain other parts too",
        implies={"result_placement": "alone"},
        examples=(
            "tool_result blocks cannot be mixed with text",
            "Conversation blocks and tool result blocks cannot be provided in the same turn.",
        ),
    ),
)

EMPTY_CONTENT_READINGS = (
    ErrorPattern(
        concepts=(
            "CONTENT ~ REQUIRED",
            "ASSISTANT HAVE CONTENT CALL",
            "ASSISTANT HAVE (CALL|MESSAGE)",
        ),
        rules=("content-shape", "output-not-string"),
        meaning="the content of a message seems to be missing",
        implies={"assistant_content": "some"},
        examples=(
            (
                "Invalid type for 'messages[3].content': expected one of a string or array of"
                " objects, but got null instead."
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "EMPTY CONTENT",
            "CONTENT EMPTY",
            "EMPTY ASSISTANT",
            "(ASSISTANT|RESULT) ~ EMPTY",
        ),
        rules=("content-shape", "output-not-string"),
        meaning="a text or a message seems to be empty",
        implies={"rejects_blank_text": True},
        examples=(
            "message 3 has empty content",
            "Each message must have at least one content element.",
        ),
    ),
)

CONTENT_READINGS = (
    ErrorPattern(
        concepts=(
            "RESULT CONTENT & (TYPE|MISSING|REQUIRED|EMPTY|UNSUPPORTED)",
            "RESULT_CONTENT & (TYPE|MISSING|REQUIRED|EMPTY|UNSUPPORTED|NO|HAVE|INVALID|BROKEN)",
            "OUTPUT & TYPE",
            "RESULT TYPE",
            "RESULT PLACE & (INVALID|BROKEN|TYPE)",
            "RESULT (BROKEN|HAVE|INVALID)",
            "ONLY ~ RESULT",
            "RESULT ONLY",
        ),
        rules=("output-not-string", "content-shape"),
        meaning="the output of a result seems to have the wrong type",
        examples=(
            (
                "Invalid type for 'input[3].output': expected one of an array of objects or"
                " string, but got an object instead."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("CALL & EMPTY",),
        rules=("empty-tool-calls", "content-shape"),
        meaning="a message seems to have an empty list of calls",
        implies={"rejects_empty_tool_calls": True},
        examples=(
            (
                "Invalid 'messages[2].tool_calls': empty array. Expected an array with minimum"
                " length 1, but got an empty array instead."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("CALL & TYPE",),
        rules=("wrong-vocabulary", "empty-tool-calls", "args-wrong-type"),
        meaning="the calls of a message seem to be in the wrong format",
        examples=("Tool calls must be an array of hashes",),
    ),
    ErrorPattern(
        concepts=(
            "CONTENT & (TYPE|EMPTY|MISSING|REQUIRED)",
            "(MESSAGE|PLACE|USER|ASSISTANT) ~ (NO|HAVE) CONTENT",
            "EXPECTED CONTENT MESSAGE",
            "ONLY CONTENT ~ (SYSTEM|USER|ASSISTANT)",
            "(PLACE|MESSAGE) & (TYPE|EMPTY)",
        ),
        rules=("content-shape", "output-not-string", "wrong-vocabulary"),
        meaning="the content of a message seems to be missing, empty or of the wrong type",
        implies={"assistant_content": "some"},
        examples=(
            "invalid message content type: <nil>",
            "Invalid value for 'content': expected a string, got null.",
        ),
    ),
    ErrorPattern(
        concepts=(
            "(PLACE|ITEM|CONTENT) & (UNSUPPORTED|UNEXPECTED|UNKNOWN|TYPE|REQUIRED|MATCH|VALUES)",
            "KIND & (UNSUPPORTED|UNEXPECTED|UNKNOWN|INVALID|MATCH|VALUES|NOT_FOUND)",
            "MESSAGE MATCH",
        ),
        rules=("wrong-vocabulary", "content-shape", "media-in-result"),
        meaning="a message, item or block seems to be in the format of another API",
        examples=("Missing required parameter: 'messages[1].role'.",),
    ),
)
