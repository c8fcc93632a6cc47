"""The error text of each provider for each symptom of a refused history.

The texts are those that `explain` knows, as users reported them; where none was reported, the text
follows others of the same server. Names in braces are filled in from the history.
"""

from __future__ import annotations

_FOLLOWED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
)
_EMPTY = "empty string. Expected a string with minimum length 1, but got an empty string instead."
_LONG = (
    "string too long. Expected a string with maximum length {limit}, but got a string with length"
    " {length} instead."
)
_PATTERN = (
    "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
)
_CHAT = {
    "field": "'{path}': property is unsupported",
    "late-system": "System message must be at the beginning.",
    "no-id": "Invalid type for '{field}': expected a string, but got null instead.",
    "no-id:result": "Invalid parameter: messages with role 'tool' must have a 'tool_call_id'.",
    "empty-id": f"Invalid '{{field}}': {_EMPTY}",
    "id-type": "Invalid type for '{field}': expected a string, but got {type} instead.",
    "long-id": f"Invalid '{{field}}': {_LONG}",
    "no-call": (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"
        " with 'tool_calls'."
    ),
    "unknown-call": (
        "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
    ),
    "twice": "Duplicate value for 'tool_call_id' of '{id}', in {first} and {second}.",
    "dup-result": "Duplicate value for 'tool_call_id' of '{id}', in {first} and {second}.",
    "unanswered": _FOLLOWED,
    "separated": _FOLLOWED,
    "extra": _FOLLOWED,
    "count": _FOLLOWED,
    "vocabulary": (
        "Invalid value: '{kind}'. Supported values are: 'system', 'assistant', 'user', 'function',"
        " 'tool', and 'developer'."
    ),
    "no-role": "Missing required parameter: '{where}.role'.",
    "output": (
        "Invalid type for '{where}': expected one of a string or array of objects, but got {type}"
        " instead."
    ),
    "arguments": "Invalid type for '{path}': expected a string, but got {type} instead.",
    "empty-name": f"Invalid '{{where}}.function.name': {_EMPTY}",
    "no-name": (
        "Invalid type for '{where}.function.name': expected a string, but got {nametype} instead."
    ),
    "bad-name": f"Invalid '{{where}}.function.name': {_PATTERN}",
    "long-name": f"Invalid '{{where}}.function.name': {_LONG}",
    "same-name": "Tool names must be unique.",
    "unknown-name": "Tool choice '{name}' not found in 'tools' parameter.",
    "empty-tool-calls": (
        "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty"
        " array instead."
    ),
    "content": (
        "Invalid type for '{path}': expected one of a string or array of objects, but got {type}"
        " instead."
    ),
    "legacy": (
        "Failed to deserialize the JSON body into the target type: {message}.role: unknown variant"
        " `function`, expected one of `system`, `user`, `assistant`, `tool`"
    ),
    "reasoning": "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "unsigned": "Function call is missing a thought_signature in functionCall parts.",
}
_NO_CALL_FOUND = "No tool call found for function call output with call_id {id}."
_NO_OUTPUT_FOUND = "No tool output found for function call {id}."
_ITEMS = {
    **_CHAT,
    "item-shape": "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    "no-id:result": _CHAT["no-id"],
    **dict.fromkeys(("no-call", "unknown-call", "dup-result"), _NO_CALL_FOUND),
    **dict.fromkeys(("unanswered", "separated", "twice"), _NO_OUTPUT_FOUND),
    "item": "Invalid '{path}': '{item}'. Expected an ID that begins with '{prefix}'.",
    "item-characters": (
        "Invalid '{path}': '{item}'. Expected an ID that contains letters, numbers, underscores, or"
        " dashes, but this value contained additional characters."
    ),
    "stale": (
        "Item with id '{item}' not found. Items are not persisted when `store` is set to false. Try"
        " again with `store` set to true, or remove this item from your input."
    ),
    "item-twice": (
        "Duplicate item found with id {item}. Remove duplicate items from your input and try again."
    ),
    **dict.fromkeys(
        ("vocabulary", "no-role"),
        "Invalid value: '{kind}'. Supported values are: 'assistant', 'system', 'developer', and"
        " 'user'.",
    ),
    "tool-calls": "Unknown parameter: '{where}.tool_calls'.",
    "output": (
        "Invalid type for '{path}': expected one of an array of objects or string, but got {type}"
        " instead."
    ),
    "reasoning": (
        "Item '{item}' of type 'function_call' was provided without its required 'reasoning' item:"
        " 'rs_{item}'."
    ),
    "dangling": (
        "Item '{item}' of type 'reasoning' was provided without its required following item."
    ),
    "empty-name": f"Invalid '{{where}}.name': {_EMPTY}",
    "no-name": "Invalid type for '{where}.name': expected a string, but got {nametype} instead.",
    "bad-name": f"Invalid '{{where}}.name': {_PATTERN}",
    "long-name": f"Invalid '{{where}}.name': {_LONG}",
}
_BLOCKS = {
    "last": (
        "This model does not support assistant message prefill. The conversation must end with a"
        " user message."
    ),
    "dangling": "messages.{index}: The final block in an assistant message cannot be `thinking`.",
    "role:user": "messages.{index}: `tool_use` blocks can only be in `assistant` messages",
    "role": "messages.{index}: `tool_result` blocks can only be in `user` messages",
    "no-id": "{field}: Field required",
    "empty-id": "{field}: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "id-type": "{field}: Input should be a valid string",
    "long-id": "{field}: String should have at most {limit} characters",
    "bad-id": "{field}: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "no-call": (
        "{where}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result`"
        " block must have a corresponding `tool_use` block in the previous message."
    ),
    "twice": "{where}: `tool_use` ids must be unique",
    "dup-result": (
        "{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with"
        " id: {id}"
    ),
    "unanswered": (
        "{message}: `tool_use` ids were found without `tool_result` blocks immediately after:"
        " {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next"
        " message."
    ),
    "server-tool": (
        "{message}: `{name}` tool use with id `{id}` was found without a corresponding"
        " `{name}_tool_result` block"
    ),
    "server-tool:result": (
        "{where}: unexpected `tool_use_id` found in `{type_of}` blocks: {id}. Each `{type_of}`"
        " block must have a corresponding `server_tool_use` block before it."
    ),
    "thinking": (
        "{message}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
        " `{type_of}`. When `thinking` is enabled, a final `assistant` message must start with a"
        " thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    ),
    "unsigned": "{where}.thinking.signature: Field required",
    "signature": "{where}: Invalid `signature` in `thinking` block",
    "arguments": "{where}.tool_use.input: Input should be a valid dictionary",
    "output": "{where}.tool_result.content: Input should be a valid list",
    "empty-name": "{where}.tool_use.name: String should have at least 1 character",
    "no-name": "{where}.tool_use.name: Field required",
    "bad-name": "{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
    "bad-name:tool": "{where}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
    "same-name": "tools: Tool names must be unique.",
    "unknown-name": "Tool '{name}' not found in provided tools",
    "content": "messages: text content blocks must be non-empty",
    "breakpoints": "A maximum of 4 blocks with cache_control may be provided.",
    "vocabulary": (
        "{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
    ),
    "no-tools": "Requests which include `tool_use` or `tool_result` blocks must define tools",
}
_SMITHY = (
    "1 validation error detected: Value {value} at '{smithy}' failed to satisfy constraint: Member"
    " must "
)
_BEDROCK = {
    "no-id": f"{_SMITHY}not be null",
    "id-type": f"{_SMITHY}be a string",
    "empty-id": f"{_SMITHY}have length greater than or equal to 1",
    "long-id": f"{_SMITHY}have length less than or equal to 64",
    "bad-id": f"{_SMITHY}satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
    "no-call": (
        "The number of toolResult blocks at {message}.content exceeds the number of toolUse blocks"
        " of previous turn."
    ),
    "count": (
        "The number of toolResult blocks at {message}.content exceeds the number of toolUse blocks"
        " of previous turn."
    ),
    "twice": "The toolUse blocks at {message}.content contain duplicate Ids: {id}",
    "dup-result": "The toolResult blocks at {message}.content contain duplicate Ids: {id}",
    "unanswered": "Expected toolResult blocks at {next}.content for the following Ids: {ids}",
    "arguments": (
        "The format of the value at {where}.toolUse.input is invalid. Provide a json object for the"
        " field and try again."
    ),
    "output": (
        "The format of the value at {where}.toolResult.content is invalid. Provide a list for the"
        " field and try again."
    ),
    "content": (
        "The text field in the ContentBlock object at {where} is blank. Add text to the text field,"
        " and try again."
    ),
    "empty-content": (
        "The content field in the Message object at {message} is empty. Add a ContentBlock object"
        " to the content field and try again."
    ),
    "content:result": (
        "The content field in the ToolResultBlock object at {where} cannot be empty when status"
        " value is error. Add a value to the content field, and try again."
    ),
    "no-tools": (
        "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    ),
    "empty-name": f"{_SMITHY}have length greater than or equal to 1",
    "no-name": f"{_SMITHY}not be null",
    "bad-name": f"{_SMITHY}satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    "long-name": f"{_SMITHY}have length less than or equal to 64",
    "signature": "{where}: Invalid `signature` in `thinking` block",
    "thinking": f"The model returned the following errors: {_BLOCKS['thinking']}",
}
_EQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)
_AFTER = "Please ensure that function {kind} turn comes immediately after {what}."
_GEMINI = {
    "vocabulary": "Please use a valid role: user, model.",
    "id-type": "Invalid value at '{field}' (TYPE_STRING)",
    "id-field": (
        "Invalid JSON payload received. Unknown name \"id\" at '{where}.{snake}': Cannot find"
        " field."
    ),
    "no-call": _AFTER.format(kind="response", what="a function call turn"),
    "separated": _EQUAL,
    "unanswered": _EQUAL,
    "count": _EQUAL,
    "dup-result": _EQUAL,
    "twice": _EQUAL,
    "extra": _AFTER.format(kind="response", what="a function call turn and holds nothing else"),
    "call-first": _AFTER.format(kind="call", what="a user turn or after a function response turn"),
    "name": (
        "functionResponse.name '{name}' does not match functionCall.name of the call it answers"
    ),
    "unsigned": (
        "Function call is missing a thought_signature in functionCall parts. This is required for"
        " tools to work correctly, and missing thought_signature may lead to degraded model"
        " performance. Additional data, function call `default_api:{name}`, position {position}."
    ),
    "signature": "Corrupted thought signature.",
    "media": (
        "Unable to submit request because `function_response.parts` is not supported for this"
        " model."
    ),
    "arguments": (
        "Invalid value at '{where}.{snake}.args' (type.googleapis.com/google.protobuf.Struct)"
    ),
    "output": (
        "Invalid value at '{where}.{snake}.response' (type.googleapis.com/google.protobuf.Struct)"
    ),
    "empty-name": "* GenerateContentRequest.{where}.{snake}.name: Name cannot be empty.\n",
    "no-name": "* GenerateContentRequest.{where}.{snake}.name: Name cannot be empty.\n",
    "bad-name": (
        "* GenerateContentRequest.{where}.{snake}.name: [FIELD_INVALID] Invalid function name. Must"
        " start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores"
        " (_), dots (.) or dashes (-), with a maximum length of 64.\n"
    ),
    "long-name": (
        "* GenerateContentRequest.{where}.{snake}.name: [FIELD_INVALID] Invalid function name. Must"
        " start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores"
        " (_), dots (.) or dashes (-), with a maximum length of 64.\n"
    ),
    "same-name": "Duplicate function declaration found: {name}",
    "unknown-name": "Tool choice '{name}' is none of the function declarations.",
    "content": "* GenerateContentRequest.{where}: contents.parts must not be empty.\n",
}
_INTERACTIONS = {
    **{key: text for key, text in _GEMINI.items() if key not in ("id-field", "unsigned", "extra")},
    "vocabulary": "Missing required field '{where}.type'.",
    **dict.fromkeys(("no-id", "empty-id"), "Missing required field '{field}'."),
    "unknown-call": _GEMINI["no-call"],
    "arguments": (
        "Invalid value at '{where}.arguments' (type.googleapis.com/google.protobuf.Struct)"
    ),
    "output": "Invalid value at '{where}.result'.",
}
_NINE = "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
_SAME = "Not the same number of function calls and responses"
_MISTRAL = {
    **_CHAT,
    "late-system": "Unexpected role 'system' after role 'assistant'",
    "no-id": _NINE.replace("{id}", "null"),
    "no-id:result": _NINE.replace("{id}", "null"),
    **dict.fromkeys(("empty-id", "id-type", "long-id", "bad-id", "shape"), _NINE),
    "no-call": "Unexpected tool call id {id} in tool results",
    "unknown-call": "Unexpected tool call id {id} in tool results",
    "unanswered": _SAME,
    "separated": _SAME,
    "dup-result": _SAME,
    "twice": _SAME,
    "count": _SAME,
    "user-after-tool": "Unexpected role 'user' after role 'tool'",
    "last": "Expected last role to be one of: [tool, user] but got assistant",
}
_PAIR = "invalid params, tool call and result not match (2013)"
_FOLLOW = "invalid params, tool call result does not follow tool call (2013)"
_MINIMAX = {
    "no-call": "invalid params, tool result's tool id({id}) not found (2013)",
    "unknown-call": "invalid params, tool result's tool id({id}) not found (2013)",
    "unanswered": _PAIR,
    "twice": _PAIR,
    "dup-result": _PAIR,
    "separated": _FOLLOW,
    "extra": _FOLLOW,
    "arguments": (
        "invalid params, invalid function arguments json string, tool_call_id: {id} (2013)"
    ),
}

ERROR_TEXTS: dict[str, dict[str, str]] = {
    "openai-chat": _CHAT,
    "openai-responses": _ITEMS,
    "azure-foundry": _ITEMS,
    "anthropic": _BLOCKS,
    "bedrock": _BEDROCK,
    "gemini": _GEMINI,
    "gemini-interactions": _INTERACTIONS,
    "mistral": _MISTRAL,
    "text": _CHAT,
    "cohere": {symptom: f"invalid request: {text}" for symptom, text in _CHAT.items()},
    "ollama": {
        "arguments": (
            "json: cannot unmarshal string into Go struct field"
            " ChatRequest.messages.tool_calls.function.arguments of type"
            " api.ToolCallFunctionArguments"
        )
    },
    "bedrock-mistral": {
        "bad-id": f"The model returned the following errors: {_NINE}",
        "long-id": f"The model returned the following errors: {_NINE}",
    },
    "kimi": {
        "twice": "tool call id {id} is duplicated",
        "no-call": "tool_call_id {id} is not found",
        "unknown-call": "tool_call_id {id} is not found",
        "reasoning": (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at"
            " index {index}"
        ),
    },
    "deepseek": {
        **dict.fromkeys(
            ("unanswered", "separated"),
            "An assistant message with 'tool_calls' must be followed by tool messages responding to"
            " each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
        ),
        "reasoning": (
            "Missing `reasoning_content` field in the assistant message at message index {index}"
        ),
    },
    "deepseek-responses": {
        "reasoning": "The `reasoning_text` in the thinking mode must be passed back to the API.",
        "separated": "No tool output found for tool call {id}.",
    },
    "minimax": _MINIMAX,
    "minimax-anthropic": _MINIMAX,
    "qwen": {
        **dict.fromkeys(
            ("unanswered", "separated"),
            '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must'
            ' be followed by tool messages responding to each "tool_call_id". The following'
            " tool_call_ids did not have response messages: message[{index}].role",
        ),
        "empty-tool-calls": "<400> InternalError.Algo.InvalidParameter: "
        + _CHAT["empty-tool-calls"],
    },
    "groq": {
        "no-id:result": (
            "'{dotted}' : for 'role:tool' the following must be satisfied[('{dotted}.tool_call_id'"
            " : property 'tool_call_id' is missing)]"
        ),
        "content": (
            "'{dotted}' : for 'role:assistant' the following must be satisfied[('{dotted}.content'"
            " : value must be a string)]"
        ),
    },
    "cerebras": {"content": "'NoneType' object is not iterable"},
    "xai": {
        "arguments": (
            "The arguments to a tool_call with ID '{id}' are not a valid JSON string: EOF while"
            " parsing a value"
        )
    },
}
"""The texts of a wire by symptom, and those in which a profile differs from its wire. A symptom may
be that of results or tool definitions only: `no-id:result`."""

SIMILAR_SYMPTOM = {
    "role": "no-call",
    "separated": "unanswered",
    "unknown-call": "no-call",
    "bad-id": "long-id",
    "extra": "separated",
    "long-name": "bad-name",
    "item-characters": "item",
    "count": "unanswered",
    "name": "count",
    "empty-content": "content",
    "item": "no-call",
    "item-twice": "twice",
    "tool-calls": "vocabulary",
    "no-role": "vocabulary",
}
"""The symptom whose text a server uses if it has none for a symptom."""

_STATUS = {"stale": 404}
_INVALID_ID = frozenset({"bad-id", "long-id", "no-id", "empty-id", "id-type"})


def error_text(names: tuple[str, ...], symptom: str, role: str = "") -> str | None:
    """The text for a symptom, or for a similar one, of the first name that has one.

    Args:
        names: a profile, then its wire.
        symptom: the symptom.
        role: `result` or `tool` if the symptom is about one of those.
    """
    current: str | None = symptom
    while current is not None:
        for key in (f"{current}:{role}", current):
            for name in names:
                if key in ERROR_TEXTS.get(name, {}):
                    return ERROR_TEXTS[name][key]
        current = SIMILAR_SYMPTOM.get(current)
    return None


def error_status(symptom: str) -> int:
    """The HTTP status with which servers report a symptom."""
    return _STATUS.get(symptom, 400)


def error_code(wire: str, symptom: str) -> str | None:
    """The number that a provider adds to its text, if it adds one."""
    if wire != "mistral":
        return None
    return "3280" if symptom in _INVALID_ID else "3230"
