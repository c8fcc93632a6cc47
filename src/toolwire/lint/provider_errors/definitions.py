"""Errors about tool definitions: names, schemas, and the choice of a tool."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

_NAMED = "(TOOL|TOOLS|CALL|RESULT|DEFINITION)"
_LACK = "(EMPTY|MISSING|REQUIRED|TYPE)"
_NAME_RULES = ("name-bad-charset", "name-too-long")
_REFUSED = (
    "(UNSUPPORTED|VALUES|INVALID|UNKNOWN|UNEXPECTED|NOT_FOUND|MATCH|FORMAT|TYPE|BROKEN|ONLY|MISSING"
    "|REQUIRED|HAVE|EMPTY|LONG)"
)
_SCHEMA_KEYWORD = (
    r"(?:x-[\w-]{1,40}|\$?schema|\$(?:ref|defs|id|comment)|(?:additional|pattern)_?properties|const"
    r"|exclusive_?m(?:in|ax)imum|propertynames|unevaluated\w{1,20}|examples|(?:one|all)_?of"
    r"|multiple_?of|unique_?items|optional|read_?only)(?![\w-])"
)
"""Keywords of JSON Schema, and extensions of it, that only the schema of a tool has."""

DEFINITION_PHRASES = (
    ErrorPattern(
        words=(
            "tool calling without tools= param"
            r"|must (?:also )?(?:contain|include|define|provide|have) (?:the )?tool definitions"
            r"|requires? (?:the )?tool definitions (?:on|for|with|when|if)"
            r"|tool_?config (?:field )?(?:is|was) (?:missing|required|not (?:set|defined|provided))"
            r"|tool definitions (?:are|is|must be) (?:required|missing|provided|present)"
        ),
        rules=("tools-undefined",),
        meaning="the history has calls, but the request defines no tools",
        implies={"calls_need_tool_definitions": True},
        examples=("Anthropic doesn't support tool calling without `tools=` param specified",),
    ),
    ErrorPattern(
        words="tool response dicts require a name",
        rules=("name-missing", "result-name-mismatch"),
        meaning="a result does not name its tool",
        implies={"results_need_tool_name": True},
        examples=(
            "Tool response dicts require a 'name' key with the name of the called function!",
        ),
    ),
    ErrorPattern(
        words="parameter tool_choice specified in the request",
        rules=("name-unknown", "tools-undefined"),
        meaning="the tool choice, or the model, names a tool that is not defined",
        implies={"tool_choice_must_exist": True},
        examples=(
            "The parameter `tool_choice` specified in the request names a tool that is not defined",
        ),
    ),
    ErrorPattern(
        words=r"(?:invalid|unknown) (?:tool|function) name.{0,80}must be one of",
        rules=("name-unknown", "tools-undefined"),
        meaning="a call names a tool that is not defined",
        implies={"tool_choice_must_exist": True},
        examples=("Invalid tool name: search. Must be one of: read, write",),
    ),
    ErrorPattern(
        words=(
            "tool_choice is only allowed when tools"
            r"|tool_?choice\W{1,3}(?:\w+ )?(?:requires|needs|without) (?:\w+ )?tools\b"
            r"|tool_?choice .{0,40}\b(?:but|and) no (?:\w+ )?tools\b"
            r"|tool_?choice, tools (?:must|should|has to|have to|needs? to) be"
        ),
        rules=("name-unknown", "tools-undefined"),
        meaning="the request has a tool choice and defines no tools",
        implies={"tool_choice_needs_tools": True},
        examples=(
            (
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools'"
                " are specified."
            ),
        ),
    ),
    ErrorPattern(
        words=(
            r"invalid schema for function|input_schema\b"
            r"|requires at least one (?:\w+ )?parameters? (?:when|for|in) (?:using )?tools?\b"
            rf"|unknown name {_SCHEMA_KEYWORD}(?! at \W{{0,2}}(?:contents|generation|request\.gen))"
        ),
        rules=("schema-refused",),
        meaning="the provider does not accept the definition of a tool",
        examples=(
            (
                "tools.106.custom.input_schema: input_schema does not support oneOf, allOf, or"
                " anyOf at the top level"
            ),
        ),
    ),
)

NAME_READINGS = (
    ErrorPattern(
        concepts=(
            "(TOOL|TOOLS|DEFINITION) NAME & DUPLICATE",
            "DUPLICATE (TOOL|TOOLS|SCHEMA)",
            "DUPLICATE ~ TOOL NAME",
            "TOOLS ~ DUPLICATE NAME",
            "(TOOL|TOOLS) DUPLICATE",
        ),
        rules=("name-collision",),
        meaning="two tool definitions seem to have the same name",
        implies={"rejects_duplicate_tool_names": True},
        examples=("tools: Tool names must be unique.",),
    ),
    ErrorPattern(
        concepts=("(TOOL|DEFINITION|CALL|SCHEMA) ~ NAME & LONG",),
        rules=("name-too-long", "name-bad-charset"),
        meaning="the name of a tool seems to be longer than accepted",
        implies={"accepted_names": None},
        examples=(
            (
                "Invalid 'tools[0].function.name': string too long. Expected a string with"
                " maximum length 64, but got a string with length 70 instead."
            ),
            "The length of the tool name cannot exceed 64.",
        ),
    ),
    ErrorPattern(
        concepts=("(TOOL|TOOLS|DEFINITION|CALL|SCHEMA|PLACE) ~ NAME & (FORMAT|PREFIX)",),
        rules=_NAME_RULES,
        meaning="the name of a tool seems to have characters that are not accepted",
        implies={"accepted_names": None},
        examples=(
            (
                "Invalid 'tools[0].function.name': string does not match pattern. Expected a"
                " string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("RESULT NAME & MATCH", "CALL NAME & MATCH", "RESULT NAME TOOL EXPECTED"),
        rules=("result-name-mismatch", "results-out-of-order"),
        meaning="a result seems to name another tool than its call",
        implies={"results_need_tool_name": True},
        examples=("tool result name differs from the name of the called function",),
    ),
    ErrorPattern(
        concepts=(
            "UNKNOWN TOOL",
            "TOOL UNKNOWN",
            "CHOICE ~ (TOOL|TOOLS) ~ NOT_FOUND",
            "CHOICE ~ (NOT_FOUND|MATCH|HAVE) ~ (TOOL|TOOLS)",
            "TOOL ~ CHOICE ~ MATCH",
            "TOOL (REQUIRED|MISSING|NOT_FOUND|VALUES) TOOLS",
            "GENERATED TOOL NOT_FOUND",
            "CALL NOT_FOUND TOOL",
        ),
        rules=("name-unknown", "tools-undefined"),
        meaning="a call seems to name a tool that is not defined",
        implies={"tool_choice_must_exist": True},
        examples=(
            "Model tried to call unavailable tool 'f'",
            (
                "tool call validation failed: attempted to call tool 'f' which was not in"
                " request.tools"
            ),
            "tool_choice references 'f', but that tool is not available",
        ),
    ),
    ErrorPattern(
        concepts=(
            f"{_NAMED} NAME ~ {_LACK}",
            f"{_NAMED} (HAVE|EMPTY|MISSING|NO) NAME",
            f"{_NAMED} HAVE EMPTY NAME",
            "CALL ~ NAME EMPTY",
            f"(HAVE|EXPECTED|{_LACK[1:]} {_NAMED} NAME",
            "NAME (MISSING|REQUIRED) ~ (RESULT|CALL)",
            "MISSING NAME",
        ),
        rules=("name-empty", "name-missing", "result-name-mismatch"),
        meaning="a call, a result or a tool definition seems to have no name",
        implies={"results_need_tool_name": True},
        examples=(
            (
                "Invalid 'messages[1].tool_calls[0].function.name': empty string. Expected a"
                " string with minimum length 1, but got an empty string instead."
            ),
            (
                "Value '' at 'messages.1.member.content.0.member.toolUse.name' failed to"
                " satisfy constraint: Member must have length greater than or equal to 1"
            ),
            "messages.1.content.0.tool_use.name: Field required",
        ),
    ),
    ErrorPattern(
        concepts=(
            "TOOL NAME & (UNSUPPORTED|INVALID)",
            "DEFINITION ~ NAME & INVALID",
            "(SCHEMA|TOOL) INVALID NAME",
        ),
        rules=("name-bad-charset", "name-too-long", "name-collision", "name-unknown"),
        meaning="the name of a tool seems not to be accepted",
        implies={"accepted_names": None},
        examples=(
            (
                "GenerateContentRequest.tools[0].function_declarations[0].name: Invalid"
                " function name. Must start with a letter or an underscore. Must be alphameric"
                " (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum"
                " length of 64."
            ),
        ),
    ),
)

REFUSED_FIELD_READINGS = (
    ErrorPattern(
        concepts=("UNSUPPORTED DEFINITION", "DEFINITION UNSUPPORTED"),
        rules=("schema-refused", "field-refused"),
        meaning="the provider does not know a field of a tool definition",
        examples=("Extra inputs are not permitted, field: 'tools[0].eager_input_streaming'",),
    ),
)

DEFINITION_READINGS = (
    ErrorPattern(
        concepts=(
            "TOOL NOT_FOUND",
            "NOT_FOUND TOOL",
            "TOOL (NAME|UNKNOWN|INVALID) NOT_FOUND",
            "NO TOOL",
            "MISSING TOOLS",
        ),
        rules=("name-unknown", "tools-undefined"),
        meaning="a call or the tool choice seems to name a tool that is not defined",
        implies={"tool_choice_must_exist": True},
        examples=("Tool get_weather not found in agent Assistant",),
    ),
    ErrorPattern(
        concepts=(
            "(CALL|RESULT) & (HAVE|NO|REQUIRED) TOOLS",
            "(CALL|RESULT) & TOOLS (REQUIRED|MISSING|EMPTY)",
        ),
        rules=("tools-undefined", "name-unknown"),
        meaning="the history seems to have calls, and the request to define no tools",
        implies={"calls_need_tool_definitions": True},
        examples=(
            (
                "The toolConfig field must be defined when using toolUse and toolResult content"
                " blocks."
            ),
            "Requests which include `tool_use` or `tool_result` blocks must define tools.",
        ),
    ),
    ErrorPattern(
        concepts=(
            f"SCHEMA & {_REFUSED}",
            f"DEFINITION & {_REFUSED}",
            "TOOLS (UNSUPPORTED|INVALID|TYPE)",
            "(UNSUPPORTED|BROKEN|INVALID|TYPE) TOOLS",
            "(TOOL|TOOLS) ~ SCHEMA",
            "TOOL ~ DESCRIPTION & (MISSING|EMPTY|REQUIRED|HAVE|LONG)",
            "TOOL MISSING DESCRIPTION",
        ),
        rules=("schema-refused",),
        meaning="the provider seems not to accept the definition of a tool",
        examples=("API Error: 400 unsupported tool field: max_uses",),
    ),
)
