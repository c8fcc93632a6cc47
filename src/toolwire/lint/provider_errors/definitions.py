"""Errors about tool definitions: names, schemas, and the choice of a tool."""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

_NAME_RULES = ("name-bad-charset", "name-too-long")

DEFINITION_PATTERNS = (
    ErrorPattern(
        r"toolConfig field must be defined|tool calling without tools= param|expects the tools="
        r" param",
        rules=("tools-undefined",),
        meaning="the history has calls, but the request defines no tools",
        implies={"calls_need_tool_definitions": True},
        example=(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        ),
    ),
    ErrorPattern(
        r"(?:does not|doesnt) match(?: the)? pattern|match(?:es)? the pattern",
        rules=_NAME_RULES,
        meaning="the name of a tool is too long, or has characters that are not accepted",
        also=r"tools\W{0,2}\[|custom\.name|\.name\b",
        implies={"accepted_names": None},
        example=(
            "Invalid 'tools[0].function.name': string does not match pattern. Expected a string"
            " that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ),
    ),
    ErrorPattern(
        r"tools\.\d+\.[\w.]{0,80}name: string should ?match ?pattern|invalid function name"
        r"|tools? names may only contain|invalid tools structure: .{0,200}does not match",
        rules=_NAME_RULES,
        meaning="the name of a tool is too long, or has characters that are not accepted",
        implies={"accepted_names": None},
        example=(
            "GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name."
            " Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9),"
            " underscores (_), dots (.) or dashes (-), with a maximum length of 64."
        ),
    ),
    ErrorPattern(
        r"length of the (?:tool|function) name cannot exceed|(?:tool|function) name (?:is )?(?:too"
        r" long|longer than|exceeds)",
        rules=("name-too-long",),
        meaning="the name of a tool is longer than this provider accepts",
        implies={"accepted_names": None},
        example="The length of the tool name cannot exceed 64.",
    ),
    ErrorPattern(
        r"failed to satisfy constraint: member must",
        rules=("name-empty", "name-missing", "name-bad-charset", "name-too-long"),
        meaning="the name of a tool is missing, or not in the accepted format",
        also=r"tool(?:Use|Spec)?\.name\b",
        example=(
            "Value '' at 'messages.1.member.content.0.member.toolUse.name' failed to satisfy"
            " constraint: Member must have length greater than or equal to 1"
        ),
    ),
    ErrorPattern(
        r"tool_use\.name: string should have at least 1|function_call\.name: name cannot be empty"
        r"|\.name: expected a string, but got|tool_use\.name: field required"
        r"|expected function\.name to be a string",
        rules=("name-empty", "name-missing"),
        meaning="a call has no name",
        example="messages.1.content.0.tool_use.name: Field required",
    ),
    ErrorPattern(
        r"tool response dicts require a name",
        rules=("name-missing", "result-name-mismatch"),
        meaning="a result does not name its tool",
        implies={"results_need_tool_name": True},
        example="Tool response dicts require a 'name' key with the name of the called function!",
    ),
    ErrorPattern(
        r"tool names must be unique|duplicate function declaration",
        rules=("name-collision",),
        meaning="two tool definitions have the same name",
        implies={"rejects_duplicate_tool_names": True},
        example="tools: Tool names must be unique.",
    ),
    ErrorPattern(
        r"tool choice .{0,200} not found in|not found in provided tools|not in request\.tools"
        r"|requested tool does not exist|parameter tool_choice specified in the request"
        r"|unavailable tool|no ?such ?tool|unknown tool(?![ _-]?(?:calls?|uses?)\b)"
        r"|unexpected_tool_call",
        rules=("name-unknown", "tools-undefined"),
        meaning="the tool choice, or the model, names a tool that is not defined",
        implies={"tool_choice_must_exist": True},
        example="Tool choice 'get_weather' not found in 'tools' parameter.",
    ),
    ErrorPattern(
        r"tool_choice is only allowed when tools",
        rules=("name-unknown", "tools-undefined"),
        meaning="the request has a tool choice and defines no tools",
        implies={"tool_choice_must_exist": True},
        example=(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are"
            " specified."
        ),
    ),
    ErrorPattern(
        r"invalid schema for function|input_schema\b|schema must have type object|array schema"
        r" missing items|function (?:name or )?parameters is empty|invalid tool type"
        r"|function_declarations\[\d+\]\.parameters|invalid_function_parameters"
        r"|\.tools\.function\.parameters|inputSchema\.json\b"
        r"|tools\W{0,2}\[\d+\]\.(?:function\.)?(?:description|parameters|\w{3,40}: )"
        r"|field: tools\[\d+\]|missing required parameter: tools\[|unknown name \S{1,60} at"
        r" (?:request\.)?tools|functiondeclaration\b.{0,40}schema"
        r"|json ?schema (?:is )?not supported|json schema definition at|failed to parse tools"
        r"|unsupported .{0,20}schema keyword|regex from schema|invalid reference path",
        rules=("schema-refused",),
        meaning="the provider does not accept the definition of a tool",
        example=(
            "tools.106.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at"
            " the top level"
        ),
    ),
)
