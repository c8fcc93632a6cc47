"""Errors in words that no other table has: which of call and result they miss, by their nouns.

These patterns are only tried on a text that no other table knows.
"""

from __future__ import annotations

from toolwire.lint.provider_errors.pairs import MISSING_RESULT_RULES, ORPHAN_RULES
from toolwire.lint.provider_errors.pattern import ErrorPattern

_CALL = r"(?:tool[ _-]?(?:calls?|use|uses|invocations?)|function[ _-]?calls?|call[ _-]?id)\b"
_RESULT = (
    r"(?:tool[ _-]?(?:results?|responses?|outputs?|messages?|returns?)"
    r"|function[ _-]?(?:responses?|results?|outputs?|call[ _-]outputs?))\b"
)
_LACKS = (
    r"(?:without|missing|lacks?|has no|have no|had no|no (?:matching|corresponding)"
    r"|not (?:have|found|matched|answered|followed|preceded)|must (?:have|be)"
    r"|unmatched|orphan(?:ed)?|dangling)"
)

GENERAL_PATTERNS = (
    ErrorPattern(
        rf"orphan(?:ed)? {_RESULT}|{_RESULT}.{{0,80}}{_LACKS}.{{0,60}}{_CALL}"
        rf"|(?:no|missing|unknown) (?:matching |corresponding )?{_CALL}.{{0,40}}for"
        rf".{{0,20}}{_RESULT}",
        rules=ORPHAN_RULES,
        meaning="a result seems to have no call",
        implies={"rejects_orphan_results": True},
        example="tool message call_9 has no matching tool call in the conversation",
    ),
    ErrorPattern(
        rf"(?:orphan(?:ed)?|dangling|unanswered|unresolved|pending) {_CALL}"
        rf"|{_CALL}.{{0,80}}{_LACKS}.{{0,60}}{_RESULT}"
        rf"|{_RESULT} (?:is |are |was )?(?:missing|expected)|missing {_RESULT}",
        rules=MISSING_RESULT_RULES,
        meaning="a call seems to have no result",
        implies={"rejects_missing_results": True},
        example="the tool call call_1 was not answered: missing tool response",
    ),
    ErrorPattern(
        rf"(?:duplicate[ds]?|not unique|must be unique).{{0,40}}{_CALL}"
        rf"|{_CALL}.{{0,40}}(?:duplicate[ds]?|not unique|must be unique)",
        rules=("id-dup-in-turn", "id-reused-across-turns", "id-dup-call", "dup-result"),
        meaning="two calls seem to have the same id",
        implies={"ids_unique_in_request": True},
        example="tool call ids must be unique",
    ),
    ErrorPattern(
        rf"(?:invalid|malformed|broken|unparsable|failed to parse).{{0,40}}{_CALL}.{{0,40}}"
        r"(?:arguments?|json|input|parameters?)",
        rules=("args-invalid-json", "args-empty-string", "args-wrong-type", "args-merged"),
        meaning="the arguments of a call seem to be broken",
        implies={"arguments_format": "json"},
        example="malformed tool call: unexpected end of JSON input",
    ),
)
