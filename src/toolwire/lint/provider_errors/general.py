"""Errors in words that no other table has, by what they speak of and what is wrong with it.

Each pattern combines words of the vocabulary. They are only tried on a text that no other table
knows; a pattern about a smaller thing (a name, an id) comes before one about a larger thing.
"""

from __future__ import annotations

from toolwire.lint.provider_errors.pairs import MISSING_RESULT_RULES, ORPHAN_RULES
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
    LACKS,
    MESSAGE_PLACE,
    MISSING,
    NOT_FOUND,
    OUTPUT,
    REASONING,
    REFUSED,
    RESULT,
    SIGNATURE,
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
_BROKEN = r"(?:invalid|malformed|broken|unparsable|failed to parse)"
_OTHER_FORMAT = rf"(?:{UNSUPPORTED}|supported values|expected tags|any variant)"
_ARGUMENT_RULES = ("args-invalid-json", "args-empty-string", "args-wrong-type", "args-merged")

_ABOUT_MODEL_OUTPUT = (
    ErrorPattern(
        rf"no valid {CALL}|expected {CALL}.{{0,80}}(?:none|not) found"
        rf"|(?:model|llm|assistant) (?:\w+ ){{0,3}}(?:an? )?(?:invalid|malformed|broken) {CALL}"
        rf"|(?:could not|couldnt|failed to|cannot|error|unable to) (?:pars|extract|decod|read)\w*"
        rf" (?:an? |the )?(?:\w+ )?{CALL}(?! ?arg)|malformed[ _]?(?:function|tool)[ _]?call"
        r"|did not (?:return|call|produce|generate) (?:an?y? )?(?:valid )?(?:tool|function)"
        r"|model (?:response|output|generation)s? (?:\w+ ){0,5}(?:format|parse)|unexpected tokens?"
        r" \d"
        r"|unexpected tokens remaining|while expecting start token",
        rules=("text-tool-call", *_ARGUMENT_RULES),
        meaning="the model wrote a call that could not be read; nothing is wrong with the request,"
        " so send it again, or simplify the schema of the tool",
        example="status_code: 422, message: No valid tool call or response generated",
    ),
)
_ABOUT_NAMES = (
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
        near(TOOL_NAME, rf"(?:{EMPTY}|{MISSING})", gap=50),
        rules=("name-empty", "name-missing", "result-name-mismatch"),
        meaning="a call, a result or a tool definition seems to have no name",
        implies={"results_need_tool_name": True},
        example="function name must be provided for every tool call",
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
_ABOUT_ARGUMENTS = (
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
        also=_OF_A_CALL,
        rules=_ARGUMENT_RULES,
        meaning="the arguments of a call seem to be broken",
        implies={"arguments_format": "json"},
        example="malformed tool call: unexpected end of JSON input",
    ),
)
_ABOUT_IDS = (
    ErrorPattern(
        rf"{DUPLICATE} {RESULT}|{then(RESULT, DUPLICATE, gap=30)}"
        rf"|multiple {RESULT}|more than one {RESULT}",
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
        rf"|\black\w*)"
        rf"(?: (?:an?|the|its|field|fields|property|parameter|required|valid|of)){{0,4}}:?"
        rf" {CALL_ID}"
        rf"|{CALL_ID}(?: (?:is|are|was|field|property|parameter|has|must|to|be)){{0,4}}:? "
        r"(?:not |a )?(?:required|missing|provided|specified|undefined|null|none|defined|set)",
        rules=("id-missing", "id-empty"),
        meaning="a call or a result seems to have no id",
        implies={"requires_ids": True},
        example="Upstream error: Tool message must have tool_call_id",
    ),
)
_ABOUT_PAIRS = (
    ErrorPattern(
        r"\bserver_?tool|\w+ tool use (?:with id )?\S{0,80} ?was found without a corresponding"
        r"|found without a corresponding \w+_tool_result",
        rules=("server-tool-unpaired", "server-tool-as-client"),
        meaning="the call of a server tool seems to have no result, or its result no call",
        implies={"server_results_stay_in_message": True},
        example="server_tool_use block is invalid here",
    ),
    ErrorPattern(
        rf"{near(rf'(?:number|count)s? of {RESULT}', CALL)}"
        rf"|{near(rf'(?:number|count)s? of {CALL}', RESULT)}"
        rf"|expected \d+ {RESULT}|same number of {CALL}|(?:too many|too few|mismatched) {RESULT}"
        rf"|invalid[ _]{RESULT}",
        rules=("count-mismatch", "partial-batch", "missing-result", "results-split", "dup-result"),
        meaning="a turn seems not to have as many results as calls",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        example="expected 2 tool results but got 1",
    ),
    ErrorPattern(
        rf"orphan(?:ed)? {RESULT}|{then(RESULT, LACKS, CALL)}"
        rf"|{RESULT} must be (?:an? )?(?:response|reply|answer)"
        rf"|\b(?:no|missing|unknown|unexpected) (?:\w+ )?{CALL} (?:\w+ ){{0,3}}for {RESULT}"
        rf"|{CALL} for {RESULT}.{{0,40}}not found|unexpected {RESULT}"
        rf"|\bno {CALL} (?:was )?(?:found|exists|with)|(?:could not|couldnt|cannot|unable to) find"
        rf" (?:an? |the |any )?(?:matching |corresponding )?(?:{CALL}|{CALL_ID})"
        rf"|(?:tool )?calls? \S{{1,80}} not found for|{RESULT} (?:references?|refers? to) (?:an?"
        rf" )?unknown",
        rules=ORPHAN_RULES,
        meaning="a result seems to have no call",
        implies={"rejects_orphan_results": True},
        example="tool message call_9 has no matching tool call in the conversation",
    ),
    ErrorPattern(
        rf"(?:orphan(?:ed)?|dangling|unanswered|unresolved|pending|incomplete|open) {CALL}"
        rf"|{then(CALL, LACKS, RESULT)}|{then(CALL, 'not', r'(?:answered|resolved|executed)')}"
        rf"|{RESULT} (?:is |are |was |were )?(?:missing|expected|required|not found)"
        rf"|(?:missing|no|expected|awaiting|waiting for) (?:\w+ )?{RESULT}"
        rf"|{RESULT} (?:\w+ ){{0,3}}(?:provided|given|sent) for (?:all|each|every)|缺少{RESULT}"
        rf"|missing required parameter: input\[\w+\]\.output",
        rules=MISSING_RESULT_RULES,
        meaning="a call seems to have no result",
        implies={"rejects_missing_results": True},
        example="the tool call call_1 was not answered: missing tool response",
    ),
    ErrorPattern(
        near(CALL_ID, NOT_FOUND, gap=100),
        rules=ORPHAN_RULES,
        meaning="a result seems to name a call that is not in the history",
        implies={"rejects_orphan_results": True},
        example="tool_use_id toolu_9 does not exist",
    ),
)
_ABOUT_REASONING = (
    ErrorPattern(
        rf"{then(MESSAGE_PLACE, REASONING, UNSUPPORTED)}|(?:property|field|parameter|name):? "
        rf"{REASONING}(?!\.) (?:is |was )?{UNSUPPORTED}|{UNSUPPORTED} (?:field|parameter"
        rf"|property):? "
        rf"{REASONING}(?!\.)",
        rules=("signature-foreign", "wrong-vocabulary"),
        meaning="the provider seems to have no field for the reasoning that other servers send",
        example="'messages.2' : property 'reasoning' is unsupported, did you mean 'role'?",
        refuses_reasoning=True,
    ),
    ErrorPattern(
        rf"final block .{{0,60}}cannot be thinking|both content and {REASONING}"
        rf"|{REASONING} (?:\w+ ){{0,4}}(?:last|final) block"
        r"|thinking blocks? (?:must|should|may|can) ?(?:not )?(?:contain|have|include|be)",
        rules=("content-shape", "reasoning-dangling"),
        meaning="reasoning stands where this provider does not accept it",
        example="messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    ErrorPattern(
        near(SIGNATURE, MISSING, gap=50),
        also=r"think|thought|reason|function|tool|contents?\b",
        rules=("signature-missing", "signature-foreign", "calls-split"),
        meaning="a required signature seems to be missing",
        implies={"reasoning_to_return": "signature", "reasoning_models": ".*"},
        example="thoughtSignature is required for function calls of this model",
    ),
    ErrorPattern(
        near(SIGNATURE, rf"(?:{UNSUPPORTED}|\binvalid|corrupt|verif|decrypt|mismatch|not valid)"),
        also=r"think|thought|reason|function|tool|encrypted|contents?\b",
        rules=("signature-foreign", "signature-of-other-model", "signature-missing"),
        meaning="a signature seems not to be of this endpoint",
        example="The signature of the thinking block could not be verified",
        refuses_reasoning=True,
    ),
    ErrorPattern(
        near(r"reasoning_(?:content|text|details)\b", rf"(?:{MISSING}|{EMPTY}|passed|returned)"),
        rules=("reasoning-content-missing",),
        meaning="the reasoning before a call seems to be missing",
        implies={
            "reasoning_to_return": "reasoning_content",
            "reasoning_models": ".*",
            "reasoning_needed_in_every_turn": True,
        },
        example="reasoning_content must be provided for assistant messages with tool calls",
    ),
    ErrorPattern(
        rf"{then('assistant', MISSING, r'thinking (?:block|content)', gap=60)}"
        r"|(?:must|should) (?:start|begin) with (?:an? )?thinking|thinking blocks? (?:is |are )?"
        r"(?:missing|required|expected)",
        rules=("thinking-missing", "signature-foreign"),
        meaning="a turn with calls seems to lack its thinking block",
        implies={"reasoning_to_return": "thinking"},
        example="assistant messages with tool use are required to include their thinking blocks",
    ),
)
_ABOUT_ORDER = (
    ErrorPattern(
        r"system (?:message|role|prompt)s?.{0,40}(?:beginning|first|start\b|leading)"
        r"|system.{0,30}after.{0,30}(?:user|assistant)",
        rules=("late-system-message",),
        meaning="a system message seems to follow other messages",
        implies={"system_comes_first": True},
        example="system messages are only allowed as the first message",
    ),
    ErrorPattern(
        r"\bfirst (?:message|content|turn|role).{0,60}(?:user|human)|(?:start|begin)s? with (?:an?"
        r" )?"
        r"(?:user|human)|no user (?:query|message|prompt|content|turn)|at least one (?:user|human)"
        r"|missing (?:an? )?user message|user message (?:is )?(?:required|missing)",
        rules=("history-starts-with-call", "history-starts-with-result"),
        meaning="the history seems not to start with a user message",
        implies={"must_start_with_user": True, "call_needs_preceding_user": True},
        example="No user query found in messages.",
    ),
    ErrorPattern(
        r"\b(?:last|final) (?:message|role|turn|content|entry).{0,60}(?:assistant|user|model|tool)"
        r"|\bend(?:s|ing)? with (?:an? )?(?:user|assistant|model|tool)|prefill"
        r"|assistant (?:message|role|turn)s?.{0,40}(?:\blast\b|\bend\b|\bfinal\b)",
        rules=("trailing-assistant", "user-after-tool"),
        meaning="the request seems to end with an assistant message",
        implies={"must_end_with_user_or_tool": True},
        example="the last message must have the role user, got assistant",
    ),
    ErrorPattern(
        r"unexpected role (?:\w+\.)?(?:assistant|user|system)|\bsuccessive\b.{0,60}(?:user"
        r"|assistant)"
        r"|\bconsecutive\b.{0,60}(?:user|assistant|role|message)|\binterleave|alternat"
        r"|same role|(?:user|assistant) messages? in a row",
        rules=(
            "same-role-twice",
            "user-after-tool",
            "results-split",
            "calls-split",
            "history-starts-with-call",
            "trailing-assistant",
        ),
        meaning="messages seem to be in an order of roles that is not accepted",
        implies={"rejects_same_role_twice": True},
        example="this model does not support successive user or assistant messages",
    ),
    ErrorPattern(
        rf"{then(r'role:? ?(?:user|system)', r'tool_calls', UNSUPPORTED, gap=120)}"
        r"|\bvalid roles?\b|\broles? (?:\S{1,30} )?(?:is |are )?(?:not (?:supported|allowed|valid"
        r"|one of|permitted)|invalid|unsupported|unknown|must be one of|must be (?:either )?"
        r"(?:user|system|assistant))|(?:invalid|unknown|unsupported|unexpected)(?: message)?"
        r" roles?\b"
        r"|roles? (?:are|is) supported|is not one of .{0,80}\brole\b|\brole: (?:unknown|invalid"
        r"|input)",
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a message seems to have a role that is not accepted for what it holds",
        implies={"rejects_orphan_results": True},
        example="Please use a valid role: user, model.",
    ),
)
_ABOUT_SHAPES = (
    ErrorPattern(
        near(OUTPUT, rf"(?:{WRONG_TYPE}|{MISSING}|{EMPTY}|{UNSUPPORTED})"),
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
        r"|must be an? (?:core|ui|model)message|cannot determine type of item"
        r"|unknown (?:message|content|item|block|part)s? types?|(?:message|content|item|block|part)"
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
        r"|format)|空消息",
        also=rf"message|assistant|{MESSAGE_PLACE}|parts|消息|text parameter|has no attribute",
        rules=("content-shape", "output-not-string"),
        meaning="the content of a message seems to be missing, empty or of the wrong type",
        implies={"assistant_content": "some"},
        example="invalid message content type: <nil>",
    ),
)
_ABOUT_DEFINITIONS = (
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

GENERAL_PATTERNS = (
    *_ABOUT_MODEL_OUTPUT,
    *_ABOUT_NAMES,
    *_ABOUT_ARGUMENTS,
    *_ABOUT_IDS,
    *_ABOUT_PAIRS,
    *_ABOUT_REASONING,
    *_ABOUT_DEFINITIONS,
    *_ABOUT_ORDER,
    *_ABOUT_SHAPES,
)
