"""The things that errors are about: calls, results, ids, arguments, definitions, roles, messages.

Each row has the tokens of a concept, and the words that mean it as a regular expression for a
searchable form. A space in the words stands for a space, a `_`, a `-` or nothing. At each position
of a text the first matching row is used, so longer words come first. A thing may be part of a path
or of a name in code.

A token in lower case is a word that has its concept only beside another one: "response" is a result
in a sentence about a call, and nothing otherwise; a "signature" is one only in a text about a chat.
"""

from __future__ import annotations

_INDEX = r"\.?(?:\[(?:\d+|[a-z*])?\]|\d+(?!\d)|[nmx](?![a-z]))"
_STEP = r"(?:messages?|contents?|parts|input)(?:\.|\[| -> )(?:\d+|[nmx*](?![a-z])|\{\w+\})\]?"

_OUTPUT = r"(?:tool|function) (?:call )?(?:results?|responses?|outputs?|messages?)"

THINGS: tuple[tuple[str, str], ...] = (
    # --- words without meaning: values, and the envelope of an error ------------------------------
    ("", r"[\w.]{1,40}-(?:[\w.]{1,40}-){0,6}(?:thinking|reasoning)(?:-[\w.]{1,40}){0,6}"),
    ("item_value", r"(?:rs|ws|msg)[_-][\w-]{0,80}\d[\w-]{0,80}"),
    ("", r"(?:req|resp|chatcmpl|adk|run)[_-][\w-]{0,80}\d[\w-]{0,80}"),
    ("value", r"(?:call|toolu|tooluse|fc)[_-][\w-]{0,80}\d[\w-]{0,80}|functions\.[\w-]{1,64}:\d+"),
    (
        "api",
        r"invalid request(?: error| body| message order)?|bad request(?: error| exception)?"
        r"|invalid argument(?!s)(?: error)?|invalid (?:api )?parameter(?: error)?:?"
        r"|invalid params?(?=[,:])|unexpected status|unprocessable entity(?: error)?|error code"
        r"|api (?:call|status|connection) error|internal server error"
        r"|(?:errors? )?(?:occurred )?when calling the \w+ operation"
        r"|(?:the )?model returned the following errors|generate content request(?: proto)?"
        r"|(?:failed to |error )?call(?:ing)? (?:the )?(?:chat|llm|model|api|agent)[\w-]{0,40}"
        r"|(?:llm|model|api) (?:request|call) failed|for role:\w+ the following must be satisfied"
        r"|chat completion(?: (?:tool|assistant|user|system|function|message|param|request|generic"
        r"|content|part|text))*|(?:provider|model|server) returned (?:an )?empty \w+"
        r"|stop ?reason:? ?\w+",
    ),
    (
        "",
        r"illegal argument(?: exception)?|invalid value:?|validation (?:errors?|exception)(?! for)"
        r"|(?<!in\s)(?:message|msg|errors?|detail|reason):"
        r"|(?:type|code|status|param|object|title): ?(?:null|none|error|\w*(?:error|exception"
        r"|failed))"
        r"|(?:response|request|user|session|conversation|thread|turn|message)[_ ]ids?"
        r"|read properties of \w+|argument of type none ?type|(?:request|input) arguments?(?= )"
        r"|conversation summary|param: (?:tools|messages|input|model),"
        r"|(?:\w+ )?object has no attribute \w+|read property \w+ of (?:null|undefined)"
        r"|\(reading \w+\)"
        r"|at \[source: .{0,160}?column: \d+\]"
        r"|parsed at index \d+|of type struct \{.{0,600}"
        r"|[\w.]{1,60} is not a function"
        r"|signature verification failed for|schema migrations?|(?:no )?pending approvals?"
        r"|name \w+ is not defined|most recent call last"
        r"|(?:database|db|sql|graphql|xml) schemas?",
    ),
    (
        "",
        r"unknown errors?|at least one (?:non-?system )?message|(?:conversation|history) must have"
        r"|(?:messages|conversation|history|prompt)(?: list| array)?:? (?:must |cannot |can not "
        r"|should )?"
        r"(?:not )?(?:be )?(?:null or |an? )?(?:non-?)?empty(?: list| array)?",
    ),
    # --- things that are not a call of a model ----------------------------------------------------
    (
        "",
        r"(?:jwt|webhook|hmac|rsa|gpg|token|request|commit|package|certificate|code|function"
        r"|method|manifest|payment|transaction|user|file|release|image|driver|document) signatures?"
        r"|signatures? (?:for|of|in) (?:an? |the )?(?:webhook|token|request|jwt|package|commit)"
        r"|(?:vector|app|data|key|object|document|memory|trust) ?stores?"
        r"|content[ -](?:type:? (?:text|application|multipart)/|length|disposition)"
        r"|function \w+\(\w{0,40}\)"
        r"|argument (?:#\d+|\d+ passed|--[a-z-]{1,40}|after \*\*? must be an? \w+)"
        r"|(?:positional|keyword) arguments?"
        r"|signature (?:you provided"
        r"|expired)"
        r"|signature does not match(?=:| the request)|schema validation error"
        r"|sh: \d+: \S+ not found|cannot find (?:module|name) \S+|tool binary|slash command:? \w+"
        r"|tool versions?"
        r"|function call (?:argument count"
        r"|param\w+ #)"
        r"|schema validation failed for \S{1,80}\.(?:json|ya?ml|toml)"
        r"|wrong type argument|command not found|no such file(?: or directory)?|(?:file|path"
        r"|directory) not found",
    ),
    (
        "",
        r"--[a-z-]{1,40}|(?:tool|function) calling|tool call parser"
        r"|parallel tool calls?",
    ),
    # --- places -----------------------------------------------------------------------------------
    ("DEFINITION", rf"tools{_INDEX}(?:\.(?:custom|function|tool_?spec)(?![a-z_]))?"),
    ("ITEM", r"(?:/|\.)?input(?:\.|\[|/)(?:\d+|[nmx*](?![a-z]))\]?"),
    (
        "PLACE",
        rf"body(?:,| ->) (?:messages|input|contents)(?:,| ->)|{_STEP}(?:(?:\.| -> ){_STEP})*"
        r"|message (?:at )?(?:index|position) \d+",
    ),
    ("place", r"at index \d+|(?<!json\s)at position \d+(?! \()"),
    # --- actions of a model or a decoder ----------------------------------------------------------
    (
        "UNREADABLE",
        r"failed to call a function|failed generation|tool use failed|malformed function call"
        r"|no valid tool (?:request|call)|plain text responses?"
        r"|start token \d+|failed to parse input at pos|respect the required format"
        r"|tokens remaining in message header|unknown recipient: ?\S+"
        r"|(?:answered|responded|replied) with (?:plain )?(?:text|prose)"
        r"|(?:tool|function) call (?:\w+ ){0,2}as (?:plain |raw )?text"
        r"|expected (?:an? )?(?:tool|function) call,? (?:but )?(?:got|received|found)"
        r"|(?:tool|function) call (?:markup|tags?|syntax|xml)"
        r"|xml syntax error|model called a tool(?! (?:that|which))"
        r"|(?:model|llm|assistant|you) (?:did|does|do) not (?:call|use|invoke|select|make|issue) "
        r"(?:an?|any|the) (?:tool|function)"
        r"|instead of (?:calling )?(?:an? |the )?(?:tool|function)",
    ),
    (
        "DECODER",
        r"extra data: line|unterminated string|expecting (?:value(?!: line 1 column 1 )|property"
        r" name|,)|unexpected end of json|bad control character"
        r"|expected double-quoted|unexpected end of data"
        r"|(?:expected|unexpected) .{1,12} (?:after \w+ value )?in json",
    ),
    # --- calls, results, and their ids ------------------------------------------------------------
    (
        "",
        r"tool_(?:call|result|output|use)s?_(?:total|limit|used|count|max|min|keep|timeout|budget"
        r"|prompt|store|cache)\w*",
    ),
    ("STREAM_INDEX", r"(?:tool|function) calls? (?:delta )?ind(?:ex|ices)"),
    (
        "STREAMED",
        r"(?:stream|response|output) (?:was )?(?:ended|closed|stopped|cut|interrupted|terminated)"
        r"(?! due| because).{0,30} (?:tool|function) (?:call|use|request|invocation)(?! ids?\b)"
        r"|while generating a (?:tool|function) call|incomplete tool ?call"
        r"|tool_call_(?:start|args|end)s?|tool call (?:start|args|end) events?"
        r"|(?:(?:tool|function) (?:call|use) (?:block )?)?(?:arg\w* )(?:chunk|delta|fragment)s?"
        r"|(?:tool|function) (?:call|use) (?:block )?(?:chunk|delta|fragment)s?"
        r"|streamed (?:tool|function) calls?"
        r"|(?:chunk|delta|fragment)s? (?:of|for) (?:an? |the )?(?:unknown )?(?:tool|function) call"
        r"|tool input (?:delta|part|start|end)"
        r"|input json delta|content block (?:start|delta|stop)",
    ),
    (
        "SERVER",
        r"server tool\w*|\w*srvtoolu\w*|(?:provider|server) executed tool (?:calls?|results?)"
        r"|(?!multi_|missing_|invalid_|orphan|unexpected_|duplicate|no_|unmatched_"
        r"|empty_)[a-z]{1,40}(?:_[a-z]{1,40}){0,6}_tool_(?:use|result)(?:_\w+)?"
        r"|(?:web search|web fetch|code execution|mcp|tool search) tool (?:use|result)",
    ),
    (
        "CALL_ID",
        r"(?:tool|function) (?:call |use )?(?:call|use|request|invocation|result|response|output"
        r"|message)s? (?:block |part |event )?ids?",
    ),
    ("MESSAGE", r"non tool (?:messages?|roles?)"),
    ("CALL_ID", r"(?:tool )?approval ids?"),
    ("RESULT", r"tool approval (?:responses?|results?)"),
    ("CALL", r"tool approval requests?"),
    (
        "NO CALL",
        r"no calls?(?! ids?)"
        r"|never (?:called|invoked|requested) (?:an? |any |the )?(?:tool|function)(?: call)?s?",
    ),
    (
        "DUPLICATE RESULT",
        r"already (?:been )?(?:answered|responded to|replied to)|already has an? (?:result|response"
        r"|output)",
    ),
    ("COUNT RESULT", r"(?:(?:number|count)s? of|only \d+) (?:results|responses|outputs)"),
    ("COUNT CALL", r"(?:number|count)s? of calls"),
    (
        "RESULT",
        r"(?:results?|outputs?|responses?) (?:of|from) (?:an? |the |each |every |this )?"
        r"(?:tool|function)(?: (?:call|use))?",
    ),
    (
        "RESULT_CONTENT",
        rf"{_OUTPUT} contents?(?! (?:blocks?|parts?|types?))"
        rf"|(?:contents?|text|body) (?:of|in|for) (?:an? |the |this |each |every )?{_OUTPUT}",
    ),
    ("MIXED", r"non(?: tool)? result (?:block|part)s?"),
    (
        "ROLE INVALID",
        r"(?:no such|unrecogni[sz]ed) (?:message )?role|role:? (?:tool"
        r"|function) (?:is )?(?:invalid|unknown)",
    ),
    ("RESULT TYPE", r"tool (?:results?|outputs?|responses?) (?:content )?(?:types?|shape)"),
    (
        "RESULT",
        r"tool content(?= part)|tool (?:call )?(?:results?|responses?|outputs?|messages?|returns?"
        r"|repl(?:y|ies)|answers?|turns?)"
        r"(?: (?:parts?|blocks?|events?|items?))?"
        r"|function (?:call )?(?:responses?|results?|outputs?)"
        r"(?: (?:parts?|blocks?|turns?|events?))?"
        r"|\w+_call_outputs?|response messages?|(?:messages? )?(?:with )?(?:the )?role ?[:=]? ?tool"
        r"|tool role|(?:a|an|its|their|single|matching|corresponding) results?"
        r"|(?:tool|function)(?: function)? (?:must|should|has to) return"
        r"|工具(?:调用)?(?:结果|返回|响应|消息)",
    ),
    (
        "CALL_ID",
        r"(?:tool|function) (?:call|use) ids?|tool ids?|call ids?|调用 ?id"
        r"|ids? (?:of|for) (?:(?:an?|the|each|every|this) )?(?:tool|function) (?:call|use)"
        r"|ids?(?= (?:call|toolu|tooluse)[_-])"
        rf"|(?:tool calls?|tool use|function call|function response)(?:{_INDEX})?\.ids?",
    ),
    (
        "ARGUMENTS INVALID",
        r"tool (?:input )?validation (?:failed|error)|tool (?:param|arg|input)\w* failed validation"
        r"|arguments? validation (?:error|failed)"
        r"|validation failed for (?:tool|function)|without value for required parameter"
        r"|missing (?:required )?(?:parameters?|arguments?) \S{1,60} (?:for|to) (?:the )?tool"
        r"|tool .{1,80} accepts these inputs"
        r"|(?:parameter|argument) \S{1,60} (?:is )?missing (?:in|for) (?:the )?(?:call (?:of"
        r"|to) )?tool",
    ),
    ("CALL INVALID", r"invalid tool parameters?(?! schema)"),
    (
        "UNKNOWN TOOL",
        r"tool definitions? (?:was |is )?(?:not found|missing(?! \w)|unknown)"
        r"|(?:tool|function) \S{1,80} (?:is |was )?not found in (?:the )?tools?\w*"
        r"|no (?:handler|executor|implementation|callback)s? (?:\w+ )?for (?:the )?(?:tool"
        r"|function)"
        r"(?: call)?",
    ),
    ("SCHEMA", r"tool (?:input|output|parameters?) schemas?"),
    (
        "ARGUMENTS",
        r"(?:tool calls?|tool use)\.(?:\w+\.)?input|tool inputs?"
        r"|(?:function|item|call)\.? arguments?"
        r"|(?:parameters for|(?:inputs?|arguments) (?:for|of|to)) (?:an? |the |this )?(?:tool"
        r"|function)"
        r"(?: (?:call|use))?|parameter issues?|arguments (?:dictionary|(?=to be ))"
        r"|tool call (?:function )?(?:arg\w*|param\w*|input)|(?:工具|函数|调用)参数",
    ),
    ("arguments", r"arguments?|args|argum\w*"),
    ("BROKEN ARGUMENTS", r"(?:pars|decod)(?:e|ing) (?:the )?(?:parameters|params)(?! schema)"),
    ("CALL EMPTY", r"tool_calls ?= ?(?:none|null)"),
    (
        "CALL",
        r"tool (?:calls?|uses?|used|usages?|invocations?|(?:execution )?requests?)"
        r"(?: (?:parts?|blocks?|turns?|events?))?"
        r"|function calls?(?: (?:parts?|blocks?|turns?|events?))?|custom tool calls?"
        r"|工具调用|函数调用"
        r"|(?:matching|corresponding|preceding|pending|open|any|each|made a) calls?",
    ),
    ("CHOICE", r"tool choices?"),
    # --- definitions ------------------------------------------------------------------------------
    (
        "SCHEMA",
        r"function declarations?"
        r"|tool ?spec(?:ification)?s?"
        r"|strict (?:function )?tools?|(?:array|object) schemas?"
        r"|(?:tool |function |\.)parameters?"
        r"|(?:tool|function) (?:definitions?|types?|fields?|payload|format|structure|params?)",
    ),
    (
        "schema",
        r"(?:input |output |json |parameter |request )?schemas?|(?:any|one|all)of|\$(?:ref|defs)"
        r"|(?:additional )?properties(?! are not allowed)|parameter type|strict mode"
        r"|array (?:type|parameter)|grammar",
    ),
    (
        "SETTING",
        r"reasoning[ .]?effort|reasoning\.(?!content|text|details)\w+|thinking\.(?!signature)\w+"
        r"|\w+_tokens"
        r"|temperature|top_[pk]|generation config"
        r"|thinking (?:modes?|type|level|budget|config)",
    ),
    (
        "MEDIA",
        r"(?:input )?images?(?: urls?| inputs?| parts?| blocks?)?|multimodal|(?:pdf|audio|video)s?",
    ),
    ("TOOLS", r"tools(?: field| param\w*| list)?=?|tool ?config"),
    ("TOOL", r"function tools?(?! ?(?:call|use|result|output))|tool|functions?|工具|函数"),
    ("DESCRIPTION", r"descriptions?"),
    ("ID", r"ids?|identifiers?"),
    ("NAME", r"names?|名称?"),
    # --- reasoning --------------------------------------------------------------------------------
    (
        "SIGNATURE",
        r"thought signatures?|compaction (?:blobs?|items?|summary)|encrypted (?:content"
        r"|reasoning)|思维签名",
    ),
    ("signature", r"signatures?"),
    ("REASONING_CONTENT", r"reasoning (?:content|text|details)"),
    (
        "THINKING",
        r"(?:redacted )?think(?:ing)?(?: (?:blocks?|content|chunks?|parts?)){1,2}"
        r"|(?:redacted )?thinking",
    ),
    ("REASONING", r"reasoning(?: (?:input )?(?:items?|parts?))?"),
    ("STORED", r"persisted|store(?:d)?|previous response(?: id)?"),
    ("ITEM", r"items? (?:in|of|from) (?:the |your )?input"),
    ("item", r"item"),
    ("index", r"ind(?:ex|exes|ices)"),
    # --- messages ---------------------------------------------------------------------------------
    (
        "FOREIGN",
        r"invalid union|path: \[ ?type ?\]|input tag \w{1,40} found using"
        r"|untagged enum(?!(?: \w+){0,3}? ?\w*(?:response|chunk|event|delta)\b| tool choice)"
        r"|(?:core|ui|model) message\[\]|determine type",
    ),
    ("CONTENT EMPTY", r"content ?= ?(?:none|null)"),
    ("NO CONTENT NO", r"neither (?:text|content) (?:nor|or)"),
    ("content TYPE", r"content (?:(?:chunk|block|part) )?types?"),
    ("KIND", r"(?:message|content|item|block|part|input)s?\.? ?(?:with )?types?"),
    ("ROLE INVALID", r"key error: (?:tool|function)(?!\w)|unexpected role:? tool(?! after)"),
    ("ALTERNATE MESSAGE", r"roles? (?:sequence|order(?:ing)?)|(?:sequence|order) of roles"),
    ("ROLE VALUES", r"(?:must|should|has to) (?:have|be|use) (?:the )?role ?[:=]? ?tool"),
    ("ROLE", r"\.roles?|角色"),
    ("role", r"roles?(?: role enum\.)?(?! ?(?:assignment|arn|based))"),
    ("SYSTEM", r"system (?:messages?|role|prompt|instruction)|系统(?:消息|提示)"),
    ("system", r"system(?!\.)|developer"),
    ("USER", r"(?:user|human) (?:messages?|turns?|role|query|content|prompt)|用户消息"),
    ("user", r"user|human"),
    (
        "ASSISTANT",
        r"assistant(?: (?:messages?|turns?|role|response))?|ai ?messages?|model turns?|助手消息",
    ),
    ("MESSAGE CONTENT TYPE", r"message content types?"),
    ("MESSAGE CONTENT", r"message contents?"),
    ("MESSAGE INVALID", r"validation errors? for (?:chat |input |request )?message(?! list)"),
    ("MESSAGE", r"messages?|turns?|conversations?|(?:chat )?history|消息"),
    (
        "CONTENT",
        r"(?:text )?content(?: (?:blocks?|parts?|chunks?|elements?|items?|field))*"
        r"|text (?:blocks?|parts?)|\.contents(?=:)|内容",
    ),
    (
        "content",
        r"(?:blocks?|parts?)(?: (?:blocks?|parts?|chunks?|elements?|items?|field))*|text chunks?"
        r"|\.text|text (?:field|elements?)",
    ),
    ("OUTPUT", r"\.?output"),
    (
        "GENERATED",
        r"(?:model|llm|assistant)(?= (?:failed|was unable) to)|(?:model|llm) (?:output|response"
        r"|reply|answer|generat\w*|produced|wrote|tried|did)"
        r"|(?:in|from) (?:the )?(?:\w+ )?(?:response|output|answer)"
        r"|(?:llm|model|assistant) (?:failed|returned|emitted|requested|attempted)"
        r"|finish reason (?:is|was)|finished with"
        r"|(?:response|reply|answer|completion)(?= (?:did not|does not|contains? no|has no"
        r"|lacks?))",
    ),
    ("result", r"results?|responses?|outputs|repl(?:y|ies)|answers?|observations?"),
    ("call", r"calls?|invocations?"),
    (
        "api",
        r"api ?(?:error\w*|response)?|llms?|providers?|prompts?|chats?|agents?|mcp|jinja|models?"
        r"|request"
        r"|(?<!\d)4\d\d(?!\d)|completions?",
    ),
)
