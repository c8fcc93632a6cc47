"""Errors about the ids of calls, results and items: their form, and duplicates."""

from __future__ import annotations

from toolwire.conversation.id_rules import IdRule
from toolwire.lint.provider_errors.pattern import ErrorPattern

_WORD_IDS = IdRule("a-zA-Z0-9_-")
_NINE_CHARACTER_IDS = IdRule("a-zA-Z0-9", 9, exact=True)
_CALL_ID_FIELD = r"tool_calls\W{0,2}\[\d*\W{0,3}\.?id\b|tool_call_id|tool_calls\W{0,2}\["
_TOO_LONG = (
    r"string too long|string_above_max_length|length of the value must be (?:<=|at most|less than)"
)
_EMPTY_STRING = r"empty string\. expected a string with minimum length 1"
_DUPLICATE_CALL_RULES = ("id-dup-in-turn", "id-reused-across-turns", "id-dup-call")

ID_PATTERNS = (
    ErrorPattern(
        _TOO_LONG,
        rules=("name-too-long",),
        meaning="the name of a tool is longer than this provider accepts",
        also=r"\bname:",
        implies={"accepted_names": None},
        example=(
            "Invalid 'tools[0].function.name': string too long. Expected a string with maximum"
            " length 64, but got a string with length 70 instead."
        ),
    ),
    ErrorPattern(
        _TOO_LONG,
        rules=("id-too-long", "id-is-result-content", "id-carries-payload", "id-composite"),
        meaning="an id is longer than this provider accepts",
        also=rf"(?:{_CALL_ID_FIELD})[^:]{{0,40}}: string too long",
        example=(
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with"
            " maximum length 40, but got a string with length 46 instead."
        ),
    ),
    ErrorPattern(
        _TOO_LONG,
        rules=("id-too-long",),
        meaning="the id of a call is longer than this provider accepts",
        also=r"\.call_id\b",
        example=(
            "Invalid 'input[2].call_id': string too long. Expected a string with maximum length"
            " 64, but got a string with length 116 instead."
        ),
    ),
    ErrorPattern(
        _TOO_LONG,
        rules=("id-carries-payload", "id-composite", "item-id-prefix"),
        meaning="an item id is longer than this provider accepts",
        also=r"input\[\d+\]\.id\b",
        example=(
            "Invalid 'input[3].id': string too long. Expected a string with maximum length 64, but"
            " got a string with length 949 instead."
        ),
    ),
    ErrorPattern(
        r"expected an id that begins with",
        rules=("item-id-prefix", "item-id-as-call-id"),
        meaning=(
            "an item id does not have the prefix of its item type; it is not the id that pairs a"
            " call with its result"
        ),
        example="Invalid 'input[2].id': 'call_Ab1'. Expected an ID that begins with 'fc'.",
    ),
    ErrorPattern(
        r"expected an id that contains letters, numbers, underscores, or dashes",
        rules=("item-id-prefix",),
        meaning="an item id is empty, or has characters that are not accepted, such as dashes",
        example=(
            "Invalid 'input[1].id': 'msg-1'. Expected an ID that contains letters, numbers,"
            " underscores, or dashes, but this value contained additional characters."
        ),
    ),
    ErrorPattern(
        _EMPTY_STRING,
        rules=("id-empty",),
        meaning="the id of a call or result is empty",
        also=r"call_id|tool_calls\[\d+\]\.id",
        implies={"requires_ids": True},
        example=(
            "Invalid 'input[3].call_id': empty string. Expected a string with minimum length 1,"
            " but got an empty string instead."
        ),
    ),
    ErrorPattern(
        _EMPTY_STRING,
        rules=("name-empty", "name-missing"),
        meaning="the name of a tool is empty",
        also=r"function\.name|\]\.name",
        example=(
            "Invalid 'messages[1].tool_calls[0].function.name': empty string. Expected a string"
            " with minimum length 1, but got an empty string instead."
        ),
    ),
    ErrorPattern(
        r"expected a string, but got null",
        rules=("id-missing",),
        meaning="the id of a call or result is null",
        also=r"\.id\b|call_id",
        implies={"requires_ids": True},
        example=(
            "Invalid type for 'messages[1].tool_calls[0].id': expected a string, but got null"
            " instead."
        ),
    ),
    ErrorPattern(
        r"must have an? tool_call_id|missing (?:required )?(?:parameter|field):? \S{0,60}call_id"
        r"|property tool_call_id is missing|tool_use_id: field required|id cannot be empty"
        r"|keyerror: tool_call_id|call_id\W{0,6}field required",
        rules=("id-missing", "id-empty"),
        meaning="a call or result has no id",
        implies={"requires_ids": True},
        example=(
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a"
            " 'tool_call_id'."
        ),
    ),
    ErrorPattern(
        r"id: expected a string, but got an?\b|(?:tool_use\.id|tool_use_id): input should be a"
        r" valid string",
        rules=("id-not-string",),
        meaning="an id is not a string",
        implies={"requires_ids": True},
        example=(
            "Invalid type for 'messages[2].tool_call_id': expected a string, but got an integer"
            " instead."
        ),
    ),
    ErrorPattern(
        r"tool_use\.id: field required",
        rules=("id-missing",),
        meaning="a call has no id",
        implies={"requires_ids": True},
        example="messages.1.content.0.tool_use.id: Field required",
    ),
    ErrorPattern(
        r"expected id to be a string",
        rules=("stream-id-null", "id-not-string", "id-missing"),
        meaning="a streamed call came without an id, or with a number as id",
        example="AI_InvalidResponseDataError: Expected 'id' to be a string.",
    ),
    ErrorPattern(
        r"failed to satisfy constraint: member must",
        rules=("id-missing", "id-empty", "id-bad-charset", "id-too-long", "id-not-string"),
        meaning="the id of a call or result is missing, empty, or not in the accepted format",
        also="toolUseId",
        implies={"requires_ids": True},
        example=(
            "Value '' at 'messages.1.member.content.0.member.toolUse.toolUseId' failed to satisfy"
            " constraint: Member must have length greater than or equal to 1"
        ),
    ),
    ErrorPattern(
        r"server_tool_use\.id: string should match",
        rules=("server-tool-as-client", "id-bad-charset", "server-tool-unpaired"),
        meaning="a call that the provider ran does not have an id of this provider",
        example=(
            "messages.1.content.2.server_tool_use.id: String should match pattern"
            " '^srvtoolu_[a-zA-Z0-9_]+$'"
        ),
    ),
    ErrorPattern(
        r"should match pattern \^\[a-zA-Z0-9_-\]\+\$",
        rules=("id-bad-charset", "id-empty"),
        meaning="an id is empty or has characters other than letters, digits, _ and -",
        also=r"id\b",
        implies={"id_rule": _WORD_IDS, "accepted_ids": None, "requires_ids": True},
        example="messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    ErrorPattern(
        r"tool call id was (?:null|none|undefined)\b",
        rules=("id-missing", "id-wrong-length"),
        meaning="a call or result has no id",
        implies={"requires_ids": True},
        example="Tool call id was null but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    ErrorPattern(
        r"must be a-z, A-Z, 0-9, with a length of|alphanumeric strings with length 9",
        rules=("id-wrong-length", "id-bad-charset", "id-empty"),
        meaning="an id is not nine letters or digits",
        implies={"id_rule": _NINE_CHARACTER_IDS, "accepted_ids": None, "requires_ids": True},
        example="Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    ErrorPattern(
        r"unknown name id at",
        rules=("id-field-unsupported",),
        meaning="this provider has no field for the id of a call",
        implies={"has_id_field": False},
        example=(
            'Invalid JSON payload received. Unknown name "id" at'
            " 'contents[1].parts[0].function_call': Cannot find field."
        ),
    ),
    ErrorPattern(
        r"duplicate value for tool_call_id|duplicate function_call_output"
        r"|toolresult blocks.{0,200}contain duplicate ids|must have a single result",
        rules=("dup-result", "id-reused-across-turns"),
        meaning="a call has more than one result",
        implies={"rejects_duplicate_results": True},
        example=(
            "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_1', in messages[7] and"
            " messages[8]."
        ),
    ),
    ErrorPattern(
        r"tool_use ids must be unique|tooluse blocks.{0,200}contain duplicate ids"
        r"|call id \S{0,300} ?is duplicated",
        rules=_DUPLICATE_CALL_RULES,
        meaning="two calls have the same id",
        implies={"ids_unique_in_request": True},
        example="messages.3.content.1: `tool_use` ids must be unique",
    ),
    ErrorPattern(
        r"duplicate (?:provider )?(?:tool[ _-]?)?call[ _-]?id\b",
        rules=_DUPLICATE_CALL_RULES,
        meaning="two calls have the same id",
        implies={"ids_unique_in_request": True},
        example="invalid params, duplicate tool_call id: call_function_bhjpilv3nd53_1 (2013)",
    ),
    ErrorPattern(
        r"duplicate item found with id",
        rules=("duplicate-item",),
        meaning="an item occurs twice",
        example=(
            "Duplicate item found with id fc_68ab12. Remove duplicate items from your input and"
            " try again."
        ),
    ),
)
