"""General patterns for fields: names, arguments, ids, definitions and the shape of messages.

Each one combines a thing with what is wrong with it, in the words of the vocabulary.
"""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern
from toolwire.lint.provider_errors.vocabulary import (
    ARGUMENTS,
    BAD_FORMAT,
    BROKEN_JSON,
    CALL,
    CALL_ID,
    CONTENT,
    DEFINITION,
    DUPLICATE,
    EMPTY,
    JSON_ERROR,
    MESSAGE_PLACE,
    MISSING,
    OUTPUT,
    REFUSED,
    RESULT,
    TOO_LONG,
    TOOL_NAME,
    UNSUPPORTED,
    WRONG_TYPE,
    near,
    then,
)

_OF_A_CALL = r"tool|function|\bcall|工具|函数"
_NO_TOOLS = (
    r"(?:\bmust (?:define|include|have|provide) tools\b|\bno tools (?:are |were )?(?:defined"
    r"|provided|specified|given|available)|\btools (?:is|are|was|were|must be|field is) (?:\w+ )?"
    r"(?:missing|required|defined|provided|empty)|\bwithout (?:the |any |a )?tools\b)"
)
_REFUSED_BY_DECODER = r"request.{0,200}(?:delimiter|extra data|unterminated string).{0,20}: line \d"
"""A server that reads the arguments of calls repeats what its decoder says."""
_BROKEN = r"(?:invalid|malformed|broken|unparsable|failed to parse)"
_OTHER_FORMAT = rf"(?:{UNSUPPORTED}|supported values|expected tags|any variant)"
BROKEN_CALL_RULES = ("args-invalid-json", "args-empty-string", "args-wrong-type", "args-merged")

ABOUT_NAMES = (
    ErrorPattern(
        near(TOOL_NAME, DUPLICATE)
        + rf"|{DUPLICATE} (?:tool|function)s?\b(?! ?(?:call|result|use))"
        + r"|multiple (?:tool|function)s? (?:\w+ ){0,3}(?:with the )?same name",
        rules=("name-collision",),
        meaning="two tool definitions seem to have the same name",
        implies={"rejects_duplicate_tool_names": True},
        example="Multiple tools with the same name (time) found in ToolCallingChatOptions",
    ),
    ErrorPattern(
        near(TOOL_NAME, BAD_FORMAT),
        rules=("name-bad-charset", "name-too-long"),
        meaning="the name of a tool seems to have characters that are not accepted",
        implies={"accepted_names": None},
        example="Invalid tool definition: Tool name does not match the required pattern",
    ),
    ErrorPattern(
        near(TOOL_NAME, TOO_LONG),
        rules=("name-too-long", "name-bad-charset"),
        meaning="the name of a tool seems to be longer than accepted",
        implies={"accepted_names": None},
        example="tools.187.custom.name: String should have at most 64 characters",
    ),
    ErrorPattern(
        near(TOOL_NAME, rf"(?:{EMPTY}|{MISSING})", gap=50) + r"|missing field name\b",
        rules=("name-empty", "name-missing", "result-name-mismatch"),
        meaning="a call, a result or a tool definition seems to have no name",
        implies={"results_need_tool_name": True},
        example="function name must be provided for every tool call",
    ),
    ErrorPattern(
        near(TOOL_NAME, rf"(?:{UNSUPPORTED}|\binvalid\b|\breserved\b|\billegal\b)", gap=40),
        rules=("name-bad-charset", "name-too-long", "name-collision", "name-unknown"),
        meaning="the name of a tool seems not to be accepted",
        implies={"accepted_names": None},
        example="Tool names are not allowed to be [search]",
    ),
    ErrorPattern(
        r"\bno (?:tool|function) (?:named |called |with (?:the )?name )\S"
        r"|\b(?:unknown|undefined|unavailable|unregistered|no such) (?:tool|function)\b"
        r"(?! ?(?:call|use|result|response|output|message|type|choice|field)|[_-])"
        r"|\b(?:tool|function):? \S{1,80} (?:is |was |does |could )?(?:not|doesnt|isnt)"
        r" (?:be )?(?:found|exist|registered|available|defined|known|provided|in (?:the )?"
        r"(?:list|tools|request|registry))|未找到工具|工具不存在",
        rules=("name-unknown", "tools-undefined"),
        meaning="a call or the tool choice seems to name a tool that is not defined",
        implies={"tool_choice_must_exist": True},
        example="Tool get_weather not found in agent Assistant",
    ),
)
ABOUT_ARGUMENTS = (
    ErrorPattern(
        near(ARGUMENTS, EMPTY, gap=50),
        also=_OF_A_CALL,
        rules=("args-empty-string", "args-invalid-json"),
        meaning="the arguments of a call seem to be empty",
        implies={"arguments_format": "json"},
        example="tool call function arguments is empty",
    ),
    ErrorPattern(
        near(ARGUMENTS, WRONG_TYPE)
        + rf"|json object must be str.{{0,80}}{CALL}|{ARGUMENTS}\s?\|\s?items",
        also=_OF_A_CALL,
        rules=("args-wrong-type", "args-invalid-json", "args-double-encoded", "args-empty-string"),
        meaning="the arguments of a call seem to have the wrong type",
        implies={"arguments_format": "object"},
        example="tool_calls[0].function.arguments: invalid type: map, expected a string",
    ),
    ErrorPattern(
        near(ARGUMENTS, BROKEN_JSON) + rf"|{then(_BROKEN, CALL, 'json', gap=40)}|{JSON_ERROR}",
        also=rf"{_OF_A_CALL}|invalid args\b|invalid arguments:|arguments (?:are|is) (?:not )?valid"
        rf"|{_REFUSED_BY_DECODER}",
        rules=BROKEN_CALL_RULES,
        meaning="the arguments of a call seem to be broken",
        implies={"arguments_format": "json"},
        example="malformed tool call: unexpected end of JSON input",
    ),
)
ABOUT_IDS = (
    ErrorPattern(
        rf"{DUPLICATE} {RESULT}|{then(RESULT, DUPLICATE, gap=30)}"
        rf"|(?:multiple|several|two|more than one) {RESULT}",
        rules=("dup-result", "id-reused-across-turns"),
        meaning="a call seems to have more than one result",
        implies={"rejects_duplicate_results": True},
        example="multiple tool results for tool call call_1",
    ),
    ErrorPattern(
        near(rf"(?:{CALL_ID}|{CALL})", DUPLICATE, gap=50),
        rules=("id-dup-in-turn", "id-reused-across-turns", "id-dup-call", "dup-result"),
        meaning="two calls seem to have the same id",
        implies={"ids_unique_in_request": True},
        example="tool call ids must be unique",
    ),
    ErrorPattern(
        near(CALL_ID, TOO_LONG, gap=60),
        rules=("id-too-long", "id-is-result-content", "id-carries-payload", "id-composite"),
        meaning="an id seems to be longer than accepted",
        example="tool_call_id exceeds the maximum length of 64 characters",
    ),
    ErrorPattern(
        near(CALL_ID, rf"(?:{BAD_FORMAT}|\blength (?:of )?9\b)", gap=60),
        rules=("id-bad-charset", "id-wrong-length", "id-foreign", "id-empty"),
        meaning="an id seems to have a format that is not accepted",
        implies={"requires_ids": True},
        example="tool call id may contain only letters and digits: alphanumeric ids are required",
    ),
    ErrorPattern(
        near(CALL_ID, EMPTY, gap=40),
        rules=("id-empty", "id-missing"),
        meaning="the id of a call or a result seems to be empty",
        implies={"requires_ids": True},
        example="tool_call_id must not be blank",
    ),
    ErrorPattern(
        near(CALL_ID, WRONG_TYPE, gap=50),
        rules=("id-not-string", "id-missing"),
        meaning="an id seems not to be a string",
        implies={"requires_ids": True},
        example="tool_call_id must be a string",
    ),
    ErrorPattern(
        rf"(?:\bmissing|\brequires?|\brequired|\bmust (?:have|include|contain)|\bwithout|\bneeds"
        rf"|\b(?:has|have|with) no"
        rf"|\black\w*)"
        rf"(?: (?:an?|the|its|field|fields|property|parameter|required|valid|of)){{0,4}}:?"
        rf" {CALL_ID}"
        rf"|{CALL_ID}(?: (?:is|are|was|field|property|parameter|has|must|to|be)){{0,4}}:? "
        r"(?:not |a )?(?:required|missing|provided|specified|undefined|null|none|defined|set)"
        rf"|{CALL}\S{{0,10}} (?:is |are )?(?:missing|without) (?:an? )?id\b|缺少 ?{CALL_ID}"
        rf"|{CALL_ID}\W{{1,6}}(?:msg\W{{1,3}})?field required",
        rules=("id-missing", "id-empty"),
        meaning="a call or a result seems to have no id",
        implies={"requires_ids": True},
        example="Upstream error: Tool message must have tool_call_id",
    ),
)
ABOUT_DEFINITIONS = (
    ErrorPattern(
        near(rf"(?:{CALL}|{RESULT})", _NO_TOOLS),
        rules=("tools-undefined", "name-unknown"),
        meaning="the history seems to have calls, and the request to define no tools",
        implies={"calls_need_tool_definitions": True},
        example="Requests which include tool_use or tool_result blocks must define tools.",
    ),
    ErrorPattern(
        rf"{near(DEFINITION, REFUSED, gap=100)}|generatecontentrequest\.tools\["
        rf"|unsupported tool (?:field|type)|(?:invalid|malformed|unsupported|unknown) tools?"
        r" (?:definition|spec\w*|type|schema|format|structure|config\w*)|grammar",
        rules=("schema-refused",),
        meaning="the provider seems not to accept the definition of a tool",
        example="API Error: 400 unsupported tool field: max_uses",
    ),
)
ABOUT_SHAPES = (
    ErrorPattern(
        near(CALL, WRONG_TYPE, gap=30),
        rules=("wrong-vocabulary", "empty-tool-calls", "args-wrong-type"),
        meaning="the calls of a message seem to be in the wrong format",
        example="Tool calls must be an array of hashes",
    ),
    ErrorPattern(
        near(OUTPUT, rf"(?:{WRONG_TYPE}|{MISSING}|{EMPTY}|{UNSUPPORTED})")
        + rf"|{then(RESULT, WRONG_TYPE, gap=30)}",
        rules=("output-not-string", "content-shape"),
        meaning="the output of a result seems to have the wrong type",
        example="the content of a tool must be a string",
    ),
    ErrorPattern(
        near(MESSAGE_PLACE, WRONG_TYPE, gap=60),
        rules=("content-shape", "output-not-string", "wrong-vocabulary"),
        meaning="the content of a message seems to be of the wrong type",
        implies={"assistant_content": "some"},
        example="messages[2]: invalid type: sequence, expected a string at line 1 column 9340",
    ),
    ErrorPattern(
        rf"{near(MESSAGE_PLACE, _OTHER_FORMAT, gap=120)}|supported values.{{0,200}}{MESSAGE_PLACE}"
        r"|(?:core|ui|model)message\[\]|must be an? (?:core|ui|model)message|cannot determine type"
        r" of item"
        rf"|(?:{CALL}|{RESULT}) (?:part|block|content)s?(?: \w+){{0,6}} not supported"
        r"|(?:unknown|unexpected|unsupported|unrecognized) (?:message|content|item|block|part)s?"
        r" (?:with )?(?:content )?(?:types?|formats?)"
        r"|(?:message|content|item|block|part)"
        r"s? types? (?:\S{1,40} )?(?:is |are )?(?:not supported|unknown|invalid|unsupported)",
        also=r"^(?!.{0,20000}\brole\b.{0,5}(?:not supported|invalid))",
        rules=("wrong-vocabulary", "content-shape", "media-in-result"),
        meaning="a message, item or block seems to be in the format of another API",
        example="Cannot determine type of 'item'",
    ),
    ErrorPattern(
        near(CONTENT, rf"(?:{WRONG_TYPE}|{EMPTY}|{MISSING})", gap=60)
        + r"|(?:message|part|text)s? (?:\S{1,20} ){0,6}must (?:not be empty|be non-?empty|have"
        r" (?:an? )?(?:content|text))"
        r"|oneof field data|text parameter|has no attribute content|invalid message (?:content"
        r"|format)|空消息|(?:text|content|image) (?:element|block|part|item)s? per (?:message|turn)"
        r"|invalid content\b|\bneither content nor|\bcontent (?:may|must|cannot|can) (?:not )?be\b"
        r"|content: empty array|parameter: content|param:"
        r" messages\S{1,20}content",
        also=rf"message|assistant|{MESSAGE_PLACE}|parts|消息|text parameter|no attribute|: content"
        r"|invalid content|^.{0,40}\bcontent (?:may|must|cannot|can) "
        r"|history|conversation|content blocks?",
        rules=("content-shape", "output-not-string"),
        meaning="the content of a message seems to be missing, empty or of the wrong type",
        implies={"assistant_content": "some"},
        example="invalid message content type: <nil>",
    ),
)
