"""Errors in words that no other table has, by what they speak of and what is wrong with it.

Each pattern combines words of the vocabulary. They are only tried on a text that no other table
knows; a pattern about a smaller thing (a name, an id) comes before one about a larger thing. The
last patterns know what an error speaks of and not what is wrong, so they are tried at the end.
"""

from __future__ import annotations

from toolwire.lint.provider_errors.general_fields import (
    ABOUT_ARGUMENTS,
    ABOUT_DEFINITIONS,
    ABOUT_IDS,
    ABOUT_NAMES,
    ABOUT_SHAPES,
    BROKEN_CALL_RULES,
)
from toolwire.lint.provider_errors.pairs import MISSING_RESULT_RULES, ORPHAN_RULES
from toolwire.lint.provider_errors.pattern import ErrorPattern
from toolwire.lint.provider_errors.vocabulary import (
    CALL,
    CALL_ID,
    EMPTY,
    LACKS,
    MESSAGE_PLACE,
    MISSING,
    NOT_FOUND,
    REASONING,
    RESULT,
    SIGNATURE,
    UNSUPPORTED,
    near,
    then,
)

_ABOUT_STREAMS = (
    ErrorPattern(
        r"\btool_call_(?:start|args|end|chunk)\b|tool call (?:is )?already (?:in progress|started"
        r"|open)"
        r"|tool[ -_]?input[ -_]?(?:delta|part|start|end)|(?:text|reasoning) part \S{1,80} not found"
        r"|input_json_delta|content_block_(?:start|delta|stop)|tool call (?:delta|chunk|fragment)",
        rules=(
            "stream-multi-call-chunk",
            "stream-aborted-call",
            "stream-index-missing",
            "stream-id-null",
            "stream-id-late",
            "stream-index-dup",
        ),
        meaning="the events of a streamed call seem to be incomplete or in the wrong order",
        example="Cannot send 'TOOL_CALL_START' event: A tool call is already in progress.",
    ),
)
_ABOUT_MODEL_OUTPUT = (
    ErrorPattern(
        rf"model \w+ (?:an? )?(?:invalid|malformed|unexpected|unparsable) (?:\w+ ){{0,5}}tool"
        rf"|no (?:valid )?{CALL} (?:\w+ )?in (?:the )?(?:\w+ )?(?:response|output|answer)"
        rf"|text responses? (?:is|are) not|no valid {CALL}|expected {CALL}.{{0,80}}(?:none|not)"
        rf" found"
        rf"|(?:model|llm|assistant) (?:\w+ ){{0,3}}(?:an? )?(?:invalid|malformed|broken) {CALL}"
        rf"|(?:could not|couldnt|failed to|cannot|error|unable to) (?:pars|extract|decod|read"
        rf"|repair)\w*"
        rf" (?:an? |the )?(?:\w+ )?{CALL}(?! ?arg)|malformed[ _]?(?:function|tool)[ _]?call"
        r"|did not (?:return|call|produce|generate) (?:an?y? )?(?:valid )?(?:tool|function)"
        r"|model (?:response|output|generation)s? (?:\w+ ){0,5}(?:format|parse)|unexpected tokens?"
        r" \d"
        r"|unexpected tokens remaining|while expecting start token|unparsable (?:response|output)"
        rf"|{CALL} (?:\w+ ){{0,4}}(?:cannot|could not) (?:be )?(?:process|pars|read|decod)",
        rules=("text-tool-call", *BROKEN_CALL_RULES),
        meaning="the model wrote a call that could not be read; nothing is wrong with the request,"
        " so send it again, or simplify the schema of the tool",
        example="status_code: 422, message: No valid tool call or response generated",
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
        rf"|\d+ {RESULT}.{{0,30}}\d+ {CALL}|\d+ {CALL}.{{0,30}}\d+ {RESULT}"
        rf"|expected \d+ {RESULT}|same number of {CALL}|(?:too many|too few|mismatched) {RESULT}"
        rf"|(?:more|fewer|less) {RESULT} than|(?:more|fewer|less) {CALL} than",
        rules=("count-mismatch", "partial-batch", "missing-result", "results-split", "dup-result"),
        meaning="a turn seems not to have as many results as calls",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        example="expected 2 tool results but got 1",
    ),
    ErrorPattern(
        rf"{RESULT} (?:cannot|can not|must not) be (?:the )?first|approval.{{0,60}}{NOT_FOUND}"
        rf"|orphan(?:ed)? {RESULT}|{then(RESULT, LACKS, CALL)}"
        rf"|{RESULT} (?:must|should|has to|have to) (?:be (?:an? )?(?:response|reply|answer"
        rf"|preceded)|follow|come after)"
        rf"|\b(?:no|missing|unknown|unexpected) (?:\w+ )?{CALL} (?:\w+ ){{0,3}}for {RESULT}"
        rf"|{CALL} for {RESULT}.{{0,40}}not found|unexpected (?!role){RESULT}"
        rf"|\bno {CALL} (?:was )?(?:found|exists|with)|(?:could not|couldnt|cannot|unable to) find"
        rf" (?:an? |the |any )?(?:matching |corresponding )?(?:{CALL}|{CALL_ID})"
        rf"|(?:tool )?calls? \S{{1,80}} not found for|{then(RESULT, 'none of', 'match', gap=40)}"
        rf"|{RESULT} (?:references?|refers? to|belongs? to) (?:an? )?(?:unknown|{CALL})"
        rf"|\bno {CALL} (?:matching|corresponding|for)"
        rf"|(?:come before|preceded?|be before) (?:an? |the )?{RESULT}",
        rules=ORPHAN_RULES,
        meaning="a result seems to have no call",
        implies={"rejects_orphan_results": True},
        example="tool message call_9 has no matching tool call in the conversation",
    ),
    ErrorPattern(
        rf"(?:orphan(?:ed)?|dangling|unanswered|unresolved|pending|incomplete|open) {CALL}"
        rf"|{then(CALL, LACKS, RESULT)}|{then(CALL, 'not', r'(?:answered|resolved|executed)')}"
        rf"|{RESULT} (?:is |are |was |were )?(?:missing|expected|required|not found)"
        rf"|\b(?:missing|no|expected|awaiting|waiting for) (?:\w+ )?{RESULT}"
        rf"|{RESULT} (?:\w+ ){{0,3}}(?:provided|given|sent) for (?:all|each|every)|缺少{RESULT}"
        rf"|missing required parameter: input\[\w+\]\.output"
        rf"|(?:results?|responses?|outputs?|answers?) (?:\w+ ){{0,4}}(?:each|every|all)(?: the)?"
        rf" {CALL}|{CALL} (?:\S{{1,60}} )?(?:is |are )?(?:still )?(?:pending|unanswered|unresolved"
        rf"|outstanding)",
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
_ABOUT_BOTH = (
    ErrorPattern(
        rf"{near(CALL, RESULT, gap=40)}|invalid[ _]{RESULT}",
        also=r"match|invalid|missing|expect|must|should|cannot|pair|orphan|inconsisten|不|缺|error",
        rules=("missing-result", "orphan-result", "count-mismatch", "result-separated"),
        meaning="calls and results seem not to match",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
        example="the tool calls and tool responses of the history are inconsistent",
    ),
)
_ABOUT_REASONING = (
    ErrorPattern(
        rf"{then(MESSAGE_PLACE, REASONING, UNSUPPORTED)}|(?:property|field|parameter|name):? "
        rf"{REASONING}(?!\.) (?:is |was )?{UNSUPPORTED}|{UNSUPPORTED} (?:field|parameter"
        rf"|property):? "
        rf"{REASONING}(?!\.)|\breasoning (?:\w+ )?(?:items?|blocks?|parts?)(?: \w+){{0,2}}"
        rf" (?:only|{UNSUPPORTED})|remove (?:the |all )?(?:reasoning|thinking) (?:items|blocks)",
        rules=("signature-foreign", "field-refused", "wrong-vocabulary"),
        meaning="the provider seems to have no field for the reasoning that other servers send",
        example="'messages.2' : property 'reasoning' is unsupported, did you mean 'role'?",
        refuses_reasoning=True,
    ),
    ErrorPattern(
        rf"final block .{{0,60}}cannot be thinking|both content and {REASONING}"
        rf"|{REASONING} (?:\w+ ){{0,4}}(?:last|final) block"
        r"|thinking blocks? (?:must|should|may|can) ?(?:not )?(?:contain|have|include|be)",
        rules=("content-shape", "reasoning-dangling"),
        meaning="reasoning is in a place where this provider does not accept it",
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
        near(
            SIGNATURE,
            rf"(?:{UNSUPPORTED}|\binvalid|corrupt|verif|decrypt|mismatch|not valid"
            r"|not issued|different|another|other (?:model|account))",
        )
        + rf"|{near(r'thinking blocks?', r'(?:original|modified|altered|unchanged)')}",
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
        r"(?:missing|required|expected)|\bthinking\b.{0,60}\b(?:passed|sent|returned|given) back",
        also=r"^(?!.{0,20000}reasoning_(?:content|text|details))",
        rules=("thinking-missing", "reasoning-content-missing", "signature-foreign"),
        meaning="a turn with calls seems to lack its thinking block",
        implies={"reasoning_to_return": "thinking"},
        example="assistant messages with tool use are required to include their thinking blocks",
    ),
)
_ABOUT_ORDER = (
    ErrorPattern(
        rf"(?:{CALL}|{RESULT})(?: \w+){{0,6}} only (?:\w+ ){{0,4}}in (?:an? |the )?(?:user"
        rf"|assistant)",
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a call is in a user message, or a result is in an assistant message",
        implies={"rejects_orphan_results": True, "rejects_missing_results": True},
        example="toolResult blocks must only be provided in a user turn",
    ),
    ErrorPattern(
        rf"user (?:message|role|turn|content)s?(?: \w+){{0,4}} (?:follow|after)\w*(?: \w+){{0,3}}"
        rf" {RESULT}"
        rf"|{RESULT}(?: \w+){{0,4}} followed by (?:an? )?user",
        rules=("user-after-tool", "results-split"),
        meaning="a user message seems to follow a result directly",
        implies={"no_user_after_tool": True},
        example="a user message cannot follow a tool message",
    ),
    ErrorPattern(
        r"system (?:message|role|prompt)s?.{0,40}(?:beginning|first|start\b|leading|not allowed"
        r"|not supported|not permitted|unsupported)"
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
        r"|same role|(?:user|assistant) messages? (?:in a row|in succession|back.to.back)"
        r"|\brole\b.{0,60}should be .{0,20}but (?:is|was|got|found)",
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
        r"|one of|permitted)|invalid|unsupported|unknown|(?:must|should) be one of|must be"
        r" (?:either )?"
        r"(?:user|system|assistant))|(?:invalid|unknown|unsupported|unexpected)(?: message)?"
        r" roles?\b"
        r"|roles? (?:are|is) supported|is not one of .{0,80}\brole\b|\brole: (?:unknown|invalid"
        r"|input)|\bkeyerror: (?:tool|function)\b",
        rules=("wrong-role", "wrong-vocabulary"),
        meaning="a message seems to have a role that is not accepted for its content",
        implies={"rejects_orphan_results": True},
        example="Please use a valid role: user, model.",
    ),
)
_BY_PLACE = (
    ErrorPattern(
        rf"{MESSAGE_PLACE}|\bmessages? (?:is|are) (?:invalid|illegal|malformed|not valid)"
        r"|\b(?:invalid|illegal|malformed|failed to (?:format|convert|parse|render)) (?:the )?"
        r"messages\b(?!: empty)",
        also=r"^(?!.{0,20000}\]?\.role\b)",
        rules=("content-shape", "wrong-vocabulary", "missing-result", "orphan-result"),
        meaning="the error names a message, and does not say what is wrong with it",
        example="Invalid input: messages.12.content",
    ),
    ErrorPattern(
        rf"{SIGNATURE}|thinking blocks?|redacted_thinking",
        also=r"think|thought|reason|function|tool|encrypted",
        rules=("signature-foreign", "thinking-missing", "signature-missing"),
        meaning="the error names a signature or reasoning, and does not say what is wrong with it",
        example="problem with the signature of a thinking block",
    ),
    ErrorPattern(
        r"\broles?\b(?! ?(?:assignment|arn|based|-))",
        also=r"message|user|assistant|tool",
        rules=("wrong-role", "wrong-vocabulary", "same-role-twice"),
        meaning="the error names a role, and does not say what is wrong with it",
        example="bad role in a message",
    ),
    ErrorPattern(
        CALL_ID,
        rules=("orphan-result", "id-missing", "missing-result", "id-dup-in-turn"),
        meaning="the error names the id of a call, and does not say what is wrong with it",
        example="problem with tool_call_id call_1",
    ),
)

GENERAL_PATTERNS = (
    *_ABOUT_STREAMS,
    *_ABOUT_MODEL_OUTPUT,
    *ABOUT_NAMES,
    *ABOUT_ARGUMENTS,
    *_ABOUT_PAIRS,
    *ABOUT_IDS,
    *_ABOUT_REASONING,
    *ABOUT_DEFINITIONS,
    *_ABOUT_ORDER,
    *ABOUT_SHAPES,
)
LAST_PATTERNS = (*_ABOUT_BOTH, *_BY_PLACE)
