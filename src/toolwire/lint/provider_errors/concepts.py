"""The concepts of errors: every way to say a thing or a complaint becomes one token.

`read_concepts` turns a text into a sequence of tokens, such as `CALL MATCH RESULT` for "an
assistant message with tool calls must be followed by tool messages". Providers choose different
words for the same sequence, so the tables of readings know sequences only. To teach a new word, add
it to the row of its concept.
"""

from __future__ import annotations

import re

_MUST = r"(?:must|should|shall|has to|have to|had to|needs? to|ought to|required to)"
_NOT = r"(?:(?:do|does|did|is|are|was|were|can|could|may|must|should|has|have|had) ?)?not"
_INDEX = r"\.?(?:\[(?:\d+|[a-z*])?\]|\d+(?!\d)|[nmx](?![a-z]))"
_STEP = r"(?:messages?|contents?|parts|input)(?:\.|\[| -> )(?:\d+|[nmx*](?![a-z]))\]?"
_TYPE = (
    r"(?:json )?(?:string|str|object|map|mapping|dict\w*|array|list|struct|tuple|integer|int"
    r"|number|sequence|bool\w*|null|none|nil|iterable)"
)

THINGS: tuple[tuple[str, str], ...] = (
    # --- what says nothing: values, and the envelope of an error ----------------------------------
    ("", r"[\w.]{1,40}-(?:[\w.]{1,40}-){0,6}(?:thinking|reasoning)(?:-[\w.]{1,40}){0,6}"),
    (
        "",
        r"(?:call|toolu|tooluse|fc|rs|ws|msg|req|resp|chatcmpl|adk|run)[_-][\w-]{0,80}\d[\w-]{0,80}",
    ),
    (
        "",
        r"invalid request(?: error| body| message order)?|bad request(?: error| exception)?"
        r"|invalid argument(?!s)(?: error)?|illegal argument(?: exception)?|invalid value:?"
        r"|invalid (?:api )?parameter(?: error)?:?|invalid params?(?=[,:])|unexpected status"
        r"|internalerror\.algo\.invalidparameter|unprocessable entity(?: error)?|error code"
        r"|validation (?:errors?|exception)(?! for)|api (?:call|status|connection) error"
        r"|(?:message|msg|errors?|detail|reason):|internal server error|(?:in )?context="
        r"|(?:type|code|status|param|object|title): ?(?:null|none|error|\w*(?:error|exception"
        r"|failed))|(?:errors? )?(?:occurred )?when calling the \w+ operation"
        r"|(?:the )?model returned the following errors|generatecontentrequest(?: proto)?"
        r"|(?:failed to |error )?call(?:ing)? (?:the )?(?:chat|llm|model|api|agent)[\w-]{0,40}"
        r"|(?:llm|model|api) (?:request|call) failed|for role:\w+ the following must be satisfied"
        r"|(?:response|request|user|session|conversation|thread|turn|message)[_ ]ids?"
        r"|read properties of \w+|argument of type none ?type|(?:request|input) arguments?(?= )"
        r"|chat completion(?: (?:tool|assistant|user|system|function|message|param|request|generic"
        r"|content|part|text))*|(?:provider|model|server) returned (?:an )?empty \w+"
        r"|conversation summary",
    ),
    (
        "",
        r"--[a-z-]{1,40}|content-type:|(?:tool|function) calling|tool call parser"
        r"|parallel tool calls?|user-agent",
    ),
    # --- places -----------------------------------------------------------------------------------
    ("DEFINITION", rf"tools{_INDEX}(?:\.(?:custom|function|tool_?spec)(?![a-z_]))?"),
    ("ITEM", r"(?:/|\.)?input(?:\.|\[|/)(?:\d+|[nmx*](?![a-z]))\]?"),
    (
        "PLACE",
        rf"body(?:,| ->) (?:messages|input|contents)(?:,| ->)|{_STEP}(?:(?:\.| -> ){_STEP})*"
        r"|message (?:at )?(?:index|position) \d+",
    ),
    # --- what a model or a decoder did ------------------------------------------------------------
    (
        "UNREADABLE",
        r"failed to call a function|failed generation|tool use failed|malformed function call"
        r"|no valid tool (?:request|call)|plain text responses?|unpars\w+ (?:response|output)"
        r"|start token \d+|failed to parse input at pos|respect the required format"
        r"|invalid sequence as part of tool ?use",
    ),
    (
        "DECODER",
        r"extra data: line|unterminated string|expecting (?:value(?!: line 1 column 1 )|property"
        r" name|,)|unexpected end of json|bad control character|find closing .{1,3} symbol"
        r"|expected double-quoted|(?:expected|unexpected) .{1,12} (?:after \w+ value )?in json",
    ),
    # --- calls, results, and their ids ------------------------------------------------------------
    (
        "STREAMED",
        r"tool call (?:start|args|end|chunk|delta|fragment)s?|tool input (?:delta|part|start|end)"
        r"|input json delta|content block (?:start|delta|stop)",
    ),
    (
        "SERVER",
        r"server tool\w*|\w*srvtoolu\w*"
        r"|(?!multi_)[a-z]{1,40}(?:_[a-z]{1,40}){0,6}_tool_(?:use|result)(?:_\w+)?"
        r"|(?:web search|web fetch|code execution|mcp|tool search) tool (?:use|result)",
    ),
    (
        "RESULT",
        r"tool (?:call )?(?:results?|responses?|outputs?|messages?|returns?)"
        r"(?: (?:parts?|blocks?|events?|items?))?"
        r"|function (?:call )?(?:responses?|results?|outputs?)"
        r"(?: (?:parts?|blocks?|turns?|events?))?"
        r"|\w+_call_outputs?|response messages?|(?:messages? )?(?:with )?(?:the )?role:? ?tool"
        r"|tool role|(?:a|an|its|their|single|matching|corresponding) results?"
        r"|工具(?:调用)?(?:结果|返回|响应|消息)",
    ),
    (
        "CALL_ID",
        r"(?:tool|function) (?:call|use) ids?|tool ids?|call ids?|调用 ?id"
        r"|ids? (?:of|for) (?:an?|the|each|every|this) (?:tool|function) (?:call|use)"
        rf"|(?:tool calls?|tool use|function call|function response)(?:{_INDEX})?\.ids?",
    ),
    ("ARGUMENTS INVALID", r"tool (?:input )?validation failed"),
    (
        "ARGUMENTS",
        r"(?:tool calls?|tool use)\.(?:\w+\.)?input|tool inputs?|(?:function )?arguments?|args"
        r"|(?:parameters|input) for (?:the )?(?:tool|function)|parameter issues?|argum\w*"
        r"|tool call function arg\w*|(?:工具|函数|调用)参数",
    ),
    (
        "CALL",
        r"tool (?:calls?|uses?|used|invocations?|requests?)(?: (?:parts?|blocks?|turns?|events?))?"
        r"|function calls?(?: (?:parts?|blocks?|turns?|events?))?|custom tool calls?"
        r"|工具调用|函数调用"
        r"|(?:matching|corresponding|preceding|pending|open|any|each|no|made a) calls?",
    ),
    ("CHOICE", r"tool choices?"),
    # --- definitions ------------------------------------------------------------------------------
    (
        "SCHEMA",
        r"(?:input |output |json |parameter |request )?schemas?|(?:any|one|all)of|\$(?:ref|defs)"
        r"|(?:additional )?properties|function declarations?|tool ?spec(?:ification)?s?"
        r"|(?:tool |function |\.)parameters?|parameter type|strict mode|tools strict"
        r"|(?:tool|function) (?:definitions?|types?|fields?|payload|format|structure|params?)"
        r"|array (?:type|parameter|schema)|missing items|must have items|grammar",
    ),
    (
        "SETTING",
        r"reasoning[ .]?effort|reasoning\.(?!content|text|details)\w+|thinking\.\w+|\w+_tokens"
        r"|temperature|top_[pk]|tool stream|chat setting|generation config"
        r"|thinking (?:mode|type|level|budget|config)",
    ),
    ("TOOLS", r"tools(?: field| param\w*| list)?=?|tool ?config"),
    ("TOOL", r"tool|functions?|工具|函数"),
    ("ID", r"ids?|identifiers?"),
    ("NAME", r"names?|名称?"),
    # --- reasoning --------------------------------------------------------------------------------
    ("SIGNATURE", r"(?:thought )?signatures?|encrypted (?:content|reasoning)|思维签名"),
    ("REASONING_CONTENT", r"reasoning (?:content|text|details)"),
    ("THINKING", r"(?:redacted )?thinking(?: (?:blocks?|content))?|thought blocks?"),
    ("REASONING", r"reasoning(?: (?:input )?(?:items?|parts?))?"),
    ("STORED", r"persisted|store(?:d)?|previous response(?: id)?"),
    ("ITEM", r"item"),
    # --- messages ---------------------------------------------------------------------------------
    ("FOREIGN", r"untagged enum(?! ?response)|(?:core|ui|model) message\[\]|determine type"),
    ("CONTENT TYPE", r"content types?"),
    ("KIND", r"(?:message|content|item|block|part)s?\.? ?(?:with )?types?|with type|input tag"),
    ("ROLE INVALID", r"key error: (?:tool|function)|unexpected role:? tool(?! after)"),
    ("ROLE", r"roles?(?: role enum\.)?(?! ?(?:assignment|arn|based))|角色"),
    ("SYSTEM", r"system(?!\.)(?: (?:messages?|role|prompt|instruction))?|developer"),
    ("USER", r"(?:user|human)(?: (?:messages?|turns?|role|query|content|prompt))?"),
    ("ASSISTANT", r"assistant(?: (?:messages?|turns?|role|response))?|ai ?messages?|model turns?"),
    ("MESSAGE", r"messages?|turns?|conversations?|(?:chat )?history|消息"),
    (
        "CONTENT",
        r"(?:text )?(?:content|blocks?|parts?)(?: (?:blocks?|parts?|elements?|items?|field))*"
        r"|\.text|text (?:field|elements?)|内容",
    ),
    ("OUTPUT", r"\.?output"),
    (
        "GENERATED",
        r"(?:model|llm) (?:output|response|generat\w*|produced|wrote|tried|did)|response generated"
        r"|in (?:the )?(?:\w+ )?(?:response|output|answer)|start token",
    ),
)
COMPLAINTS: tuple[tuple[str, str], ...] = (
    # --- a value is wrong -------------------------------------------------------------------------
    (
        "LONG",
        r"too long|at most \d+|(?:max(?:imum)? |above_max_)length(?: of)?|longer than|exceed\w*"
        r"|less than or equal to \d+|between \d+ and \d+ char\w*|\d+ characters or"
        r"|(?:<=|limit is) \d+|过长|超过|超出",
    ),
    (
        "EMPTY",
        r"(?:non-?)?empty|blank|at least (?:1|one)(?: \w+)?|minimum length"
        r"|greater than or equal to 1|too short|whitespace|required oneof field|为空|空",
    ),
    (
        "DUPLICATE",
        r"duplicat\w*|(?:not |be )?unique|same (?:ids?|names?)|already (?:exists|used|been|defined"
        r"|declared|registered)|more than once|multiple times|repeated|twice|distinct|multiple|two"
        r"|several|重复",
    ),
    ("PREFIX", r"(?:begins?|starts?) with(?! an?\b)|prefix"),
    (
        "FORMAT",
        r"patterns?|regex|only contain|(?:invalid|illegal|special) char\w*|alphanumeric|letters|a-z"
        r"|\[a-z[^\]]*\]|(?:in|wrong|required|valid|an invalid) format|length (?:of )?9|characters"
        r"|格式|命名",
    ),
    (
        "BROKEN",
        r"not (?:a )?valid json(?: (?:string|object))?|(?:invalid |valid |malformed |broken )?json"
        r"(?: (?:format|string|syntax|parse|decode|error|input|object))*"
        r"|pars(?:e|ed|ing|able|er)|unterminated|malformed|truncated|incomplete"
        r"|unexpected (?:end|token|eof|char\w*)|extra data|delimiter|decod\w*|deseriali[sz]\w*"
        r"|eof while|control character|expecting|解析|broken",
    ),
    (
        "TYPE",
        rf"(?:expect\w*|{_MUST} be|needs? to be|got|received|into|as|not|input should be)(?: an?)?"
        rf"(?: instance of)?(?: (?:valid|one of|type|plain|either))*(?: an?)? {_TYPE}"
        r"|(?:invalid|wrong|incorrect) type|type (?:error|mismatch)|cannot unmarshal|from a mapping"
        r"|of type (?:string|api\.)|not iterable|has no attribute|string indices|must be text"
        r"|to be a string|\| ?items|类型错误",
    ),
    (
        "UNSUPPORTED",
        rf"unsupported|{_NOT} (?:be )?(?:support\w*|permitted|allowed|accepted|recogni[sz]ed"
        r"|used)"
        r"|unrecogni[sz]ed|extra (?:inputs?|fields?)|extra_forbidden|forbidden|cannot find field"
        r"|invalid fields?(?:\(s\))?|unknown (?:fields?|name|parameters?|key|property)|不支持",
    ),
    (
        "VALUES",
        r"(?:supported|valid|allowed) values|(?:must|should|is not) (?:be )?one of|use a valid"
        r"|expected tags|any variant|unknown variant",
    ),
    # --- something lacks, or stands in the wrong place --------------------------------------------
    (
        "MATCH",
        rf"{_MUST} (?:be )?(?:\w+ly )?(?:followed?|preceded?|respond\w*|match\w*|correspond\w*"
        r"|refer\w*|come|paired?|answered|resolved|an? (?:response|reply|answer))"
        rf"|{_NOT} (?:be |been )?(?:\w+ly )?(?:follow\w*|prec\w+ed|match\w*|correspond\w*"
        r"|respond\w*|belong\w*|paired)|comes? immediately|(?:previous|preceding) message is not"
        r"|responding to|mismatch\w*|immediately (?:after|follow\w*)|inconsisten\w+"
        r"|none of .{0,30}match\w*",
    ),
    (
        "HAVE",
        rf"without|lack\w*|{_MUST} (?:have|include|contain|carry|provide|specify|define)"
        rf"|requires?|needs?|(?:has|have|had|with|contains?|contained) no|{_NOT} (?:have|contain\w*"
        r"|include\w*|accompanied)|(?:is|are|was|were) missing (?:an?|its|the|required)|缺少|没有",
    ),
    (
        "REQUIRED",
        r"(?:field |is |are )?required(?: (?:parameter|field|property|key))?|mandatory"
        r"|missing required(?: \w+)?|(?:cannot|can not|may not) be (?:null|none|undefined)"
        r"|(?:null|none|undefined) is not (?:an? )?(?:allowed|valid|accepted)(?: value)?"
        rf"|{_MUST} (?:not )?be (?:set|provided|present|specified|defined|null|undefined)"
        r"|(?:is|was|got|but got|found) (?:null|none|nil|undefined)|必填|必须",
    ),
    (
        "PENDING",
        rf"{_NOT} (?:been )?(?:answer\w*|resolved|executed|handled|cover\w*)|pending|outstanding"
        r"|un(?:resolved|answered|processed|finished)|waiting for|awaiting",
    ),
    ("ORPHAN", r"orphan\w*|dangling|unmatched|stray|unpaired"),
    ("COUNT", r"(?<!\d)\d{1,2} (?=tool|function)|(?:same |equal )?(?:number|count)s? of"),
    ("UNEQUAL", r"too (?:many|few)|(?:more|fewer|less) .{0,20}than"),
    ("MISSING", r"missing|absent|omitted"),
    (
        "NOT_FOUND",
        rf"{_NOT} (?:be )?(?:found|find|exist\w*|present|known|registered|available|defined|in"
        r"|issued|made|locate\w*)|unable to find|no such|未找到|不存在|找不到|不匹配",
    ),
    ("NO", r"no|none|neither|never"),
    ("UNKNOWN", r"unknown|unavailable|unregistered"),
    ("UNEXPECTED", r"unexpected"),
    ("EXPECTED", r"expect(?:s|ed)?|insufficient"),
    (
        "ALTERNATE",
        r"alternat\w*|consecutive|successive|in (?:a row|succession)|same role|interleav\w*"
        r"|should be \[?(?:user|assistant|tool)\]?,? but",
    ),
    ("FIRST", r"first|begin\w*|start(?!ing an? )\w*|leading"),
    ("LAST", r"last|final|end(?:s|ing)? with|prefill|trailing|at the end"),
    ("AFTER", r"after|follow(?:s|ed|ing)?(?: by)?"),
    ("BEFORE", r"before|prec\w{1,4}(?:ing|ed|es)?"),
    ("ONLY", r"(?:can |may |must )?only(?: be)?"),
    (
        "CHANGED",
        r"modified|altered|changed|unchanged|remain as|corrupt\w*|verif\w*|decrypt\w*|tampered"
        r"|validate|original",
    ),
    ("BACK", r"(?:passed|sent|returned|given|included) back|pass back|echo\w*|preserv\w*"),
    (
        "INVALID",
        r"invalid|illegal|improper\w*|not valid|bad|wrong|rejected|refused"
        r"|failed to (?:validate|format|convert|render)|非法|无效",
    ),
    (".", r"[.!?](?=\s|$)|;|(?<!\d)[{}](?!\d)(?=\s*(?:[^\w\s]|\w+:|$))|,type:"),
)
"""Rows of tokens, and of the words that mean them as a regular expression for searchable forms.
A space in the words is a space, a `_`, a `-` or nothing. At each place of a text the first row that
fits is taken, so longer words come first. Things may be a part of a path or of a name in code;
complaints are words of their own."""

_LEXICON = (*THINGS, *COMPLAINTS)
_BOUNDS = ((r"\w*", r"\w{0,40}"), (r"\w+", r"\w{1,40}"), (r"\d+", r"\d{1,9}"))
"""So that no text takes long."""


def _compile() -> re.Pattern[str]:
    """One expression for all rows; the name of the group that fits is the number of the row."""
    groups = []
    for n, (_, words) in enumerate(_LEXICON):
        letters = "a-z" if n < len(THINGS) else "a-z_/"
        edge = f"(?:(?<![{letters}])|(?![{letters}]))"
        words = re.sub(r"(?<!\\)(?<!\[) (?![\]*])", "[ _-]{0,2}", words)
        for endless, bounded in _BOUNDS:
            words = words.replace(endless, bounded)
        groups.append(f"(?P<r{n}>{edge}(?:{words}){edge})")
    return re.compile("|".join(groups))


_WORDS = _compile()


def read_concepts(form: str) -> str:
    """The tokens of a searchable form in order, with a full stop at the end of each sentence."""
    tokens = (_LEXICON[int((word.lastgroup or "r0")[1:])][0] for word in _WORDS.finditer(form))
    return " ".join(token for token in tokens if token)


def rate_words(form: str) -> int:
    """How well a searchable form consists of known words: long ones count more than their parts."""
    return sum(len(word[0]) ** 2 for word in _WORDS.finditer(form))
