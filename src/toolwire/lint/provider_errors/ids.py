"""Errors about the ids of calls, results and items: their form, and duplicates."""

from __future__ import annotations

from toolwire.conversation.id_rules import IdRule
from toolwire.lint.provider_errors.pattern import ErrorPattern

_WORD_IDS = IdRule("a-zA-Z0-9_-")
_NINE_CHARACTER_IDS = IdRule("a-zA-Z0-9", 9, exact=True)

ID_PHRASES = (
    ErrorPattern(
        words=r"id cannot be empty|keyerror[:(] ?tool_call_id|call_id\W{0,6}field required",
        rules=("id-missing", "id-empty"),
        meaning="a call or result has no id",
        implies={"requires_ids": True},
        examples=("KeyError: 'tool_call_id'",),
    ),
    ErrorPattern(
        words="expected id to be a string",
        rules=("stream-id-null", "id-not-string", "id-missing"),
        meaning="a streamed call came without an id, or with a number as id",
        examples=("AI_InvalidResponseDataError: Expected 'id' to be a string.",),
    ),
    ErrorPattern(
        words=r"^(?!.*greater than or equal to 1\b).*constraint: member must satisfy regular exp",
        also="toolUseId",
        rules=("id-bad-charset", "id-too-long", "id-empty"),
        meaning="the id of a call or result has characters that are not accepted",
        implies={"requires_ids": True},
        examples=(
            (
                "Value 'a b' at 'messages.1.member.content.0.member.toolUse.toolUseId' failed to"
                " satisfy constraint: Member must satisfy regular expression pattern: [a-z]+"
            ),
        ),
    ),
    ErrorPattern(
        words="constraint: member must have length less than or equal to",
        also="toolUseId",
        rules=("id-too-long", "id-carries-payload", "id-composite"),
        meaning="the id of a call or result is longer than accepted",
        examples=(
            (
                "Value at 'messages.1.member.content.0.member.toolUse.toolUseId' failed to satisfy"
                " constraint: Member must have length less than or equal to 64"
            ),
        ),
    ),
    ErrorPattern(
        words="failed to satisfy constraint: member must",
        also="toolUseId",
        rules=("id-missing", "id-empty", "id-bad-charset", "id-too-long", "id-not-string"),
        meaning="the id of a call or result is missing, empty, or not in the accepted format",
        implies={"requires_ids": True},
        examples=(
            (
                "Value '' at 'messages.1.member.content.0.member.toolUse.toolUseId' failed to"
                " satisfy constraint: Member must have length greater than or equal to 1"
            ),
        ),
    ),
    ErrorPattern(
        words=r"server_tool_use\.id: string should match",
        rules=("server-tool-as-client", "id-bad-charset", "server-tool-unpaired"),
        meaning="a call that the provider ran does not have an id of this provider",
        examples=(
            (
                "messages.1.content.2.server_tool_use.id: String should match pattern"
                " '^srvtoolu_[a-zA-Z0-9_]+$'"
            ),
        ),
    ),
    ErrorPattern(
        words=r"should match pattern \^\[a-zA-Z0-9_-\]\+\$",
        also=r"id\b",
        rules=("id-bad-charset", "id-empty"),
        meaning="an id is empty or has characters other than letters, digits, _ and -",
        implies={"id_rule": _WORD_IDS, "accepted_ids": None, "requires_ids": True},
        examples=(
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
    ),
    ErrorPattern(
        words=r"tool call id was (?:null|none|undefined)\b",
        rules=("id-missing", "id-wrong-length"),
        meaning="a call or result has no id",
        implies={"requires_ids": True},
        examples=("Tool call id was null but must be a-z, A-Z, 0-9, with a length of 9.",),
    ),
    ErrorPattern(
        words="must be a-z, A-Z, 0-9, with a length of|alphanumeric strings with length 9",
        rules=("id-wrong-length", "id-bad-charset", "id-empty"),
        meaning="an id is not nine letters or digits",
        implies={"id_rule": _NINE_CHARACTER_IDS, "accepted_ids": None, "requires_ids": True},
        examples=("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",),
    ),
    ErrorPattern(
        words="duplicate value for tool_call_id",
        rules=("dup-result", "id-reused-across-turns"),
        meaning="a call has more than one result",
        implies={"rejects_duplicate_results": True},
        examples=(
            (
                "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_1', in"
                " messages[7] and messages[8]."
            ),
        ),
    ),
)

ID_READINGS = (
    ErrorPattern(
        concepts=(
            "(CALL|RESULT) (HAVE|REQUIRED) (CALL_ID|ID)",
            "(CALL|RESULT) MISSING ID",
            "(CALL|RESULT) PLACE (HAVE|REQUIRED|MISSING) ID",
            "RESULT MESSAGE (HAVE|REQUIRED) ID",
        ),
        rules=("id-missing", "id-empty"),
        meaning="a call or a result seems to have no id",
        implies={"requires_ids": True},
        examples=(
            "tool message is missing tool_call_id",
            (
                "Missing parameter 'tool_call_id': messages with role 'tool' must have a"
                " 'tool_call_id'."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("(CALL|RESULT) ~ EMPTY ID", "EMPTY CALL_ID"),
        rules=("id-empty", "id-missing"),
        meaning="the id of a call or a result seems to be empty",
        implies={"requires_ids": True},
        examples=("tool call has empty id",),
    ),
    ErrorPattern(
        concepts=("DUPLICATE RESULT", "RESULT ~ DUPLICATE"),
        rules=("dup-result", "id-reused-across-turns"),
        meaning="a call seems to have more than one result",
        implies={"rejects_duplicate_results": True},
        examples=("multiple tool results for tool call call_1",),
    ),
    ErrorPattern(
        concepts=("CALL_ID & LONG",),
        rules=("id-too-long", "id-is-result-content", "id-carries-payload", "id-composite"),
        meaning="an id seems to be longer than accepted",
        examples=(
            (
                "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string"
                " with maximum length 40, but got a string with length 46 instead."
            ),
            (
                "Invalid 'input[2].call_id': string too long. Expected a string with maximum"
                " length 64, but got a string with length 116 instead."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("DUPLICATE ITEM", "ITEM ~ DUPLICATE"),
        rules=("duplicate-item",),
        meaning="an item seems to occur twice",
        examples=(
            (
                "Duplicate item found with id fc_68ab12. Remove duplicate items from your input"
                " and try again."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("UNSUPPORTED ID PLACE", "UNSUPPORTED ID ~ (CALL|RESULT)"),
        rules=("id-field-unsupported",),
        meaning="this provider seems to have no field for the id of a call",
        implies={"has_id_field": False},
        examples=(
            (
                'Invalid JSON payload received. Unknown name "id" at'
                " 'contents[1].parts[0].function_call': Cannot find field."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("ITEM ID & LONG",),
        rules=("id-carries-payload", "id-composite", "item-id-prefix"),
        meaning="an item id seems to be longer than accepted",
        examples=(
            (
                "Invalid 'input[3].id': string too long. Expected a string with maximum length"
                " 64, but got a string with length 949 instead."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("ITEM ID & (PREFIX|FORMAT)", "ID (PREFIX|FORMAT)"),
        rules=("item-id-prefix", "item-id-as-call-id"),
        meaning="an item id seems not to have the prefix of its item type",
        examples=(
            "Invalid 'input[2].id': 'call_Ab1'. Expected an ID that begins with 'fc'.",
            (
                "Invalid 'input[1].id': 'msg-1'. Expected an ID that contains letters, numbers,"
                " underscores, or dashes, but this value contained additional characters."
            ),
        ),
    ),
    ErrorPattern(
        concepts=("CALL_ID & DUPLICATE", "DUPLICATE CALL", "CALL DUPLICATE", "CALL ~ DUPLICATE ID"),
        rules=("id-dup-in-turn", "id-reused-across-turns", "id-dup-call", "dup-result"),
        meaning="two calls seem to have the same id",
        implies={"ids_unique_in_request": True},
        examples=(
            "messages.3.content.1: `tool_use` ids must be unique",
            "invalid params, duplicate tool_call id: call_function_bhjpilv3nd53_1 (2013)",
        ),
    ),
    ErrorPattern(
        concepts=("CALL_ID & FORMAT",),
        rules=("id-bad-charset", "id-wrong-length", "id-foreign", "id-empty"),
        meaning="an id seems to have a format that is not accepted",
        implies={"requires_ids": True},
        examples=("the id of a tool call must consist of letters",),
    ),
)

MISSING_ID_READINGS = (
    ErrorPattern(
        concepts=("CALL_ID & EMPTY",),
        rules=("id-empty", "id-missing"),
        meaning="the id of a call or a result seems to be empty",
        implies={"requires_ids": True},
        examples=(
            (
                "Invalid 'input[3].call_id': empty string. Expected a string with minimum"
                " length 1, but got an empty string instead."
            ),
        ),
    ),
    ErrorPattern(
        concepts=(
            "(MISSING|REQUIRED|HAVE|NO) CALL_ID",
            "CALL_ID (REQUIRED|MISSING)",
            "CALL_ID ~ REQUIRED",
            "REQUIRED ~ CALL_ID",
            "EXPECTED CALL_ID RESULT",
            "ID REQUIRED ~ CALL",
        ),
        rules=("id-missing", "id-empty"),
        meaning="a call or a result seems to have no id",
        implies={"requires_ids": True},
        examples=(
            (
                "Invalid type for 'messages[1].tool_calls[0].id': expected a string, but got"
                " null instead."
            ),
            "messages.1.content.0.tool_use.id: Field required",
        ),
    ),
    ErrorPattern(
        concepts=("CALL_ID & TYPE", "CALL ID TYPE"),
        rules=("id-not-string", "id-missing"),
        meaning="an id seems not to be a string",
        implies={"requires_ids": True},
        examples=(
            (
                "Invalid type for 'messages[2].tool_call_id': expected a string, but got an"
                " integer instead."
            ),
        ),
    ),
)
"""Rows that are tried after those about pairs: an id may be missing because its call is."""
