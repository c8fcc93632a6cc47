"""The complaints of errors about a thing: missing, unexpected, twice, too long, in the wrong order.

The rows are like those of `things.py`, but a complaint is a whole word.
"""

from __future__ import annotations

_MUST = r"(?:must|should|shall|has to|have to|had to|needs? to|ought to|required to)"
_NOT = r"(?:(?:do|does|did|is|are|was|were|can|could|may|must|should|has|have|had) ?)?(?:not|never)"
_TYPE = (
    r"(?:json )?(?:(?:string|object|map|mapping|array|list|struct|tuple|integer|number)s?|str|int"
    r"|dict\w*|sequence|bool\w*|null|none|nil|iterable)"
)

_PART = (
    r"(?=(?:tool ?(?:call|use) ?|call ?)ids?\b(?! ?resp)|(?!required )\w+ (?:\w+ )?(?:field|key)\b"
    r"|(?:\w+ )?(?:content|payload|text)\b|response\b)"
)
"""The text that follows if a thing is there and lacks a part, as in "a result is missing its
id"."""

COMPLAINTS: tuple[tuple[str, str], ...] = (
    # --- a value is wrong -------------------------------------------------------------------------
    (
        "LONG",
        r"too long|at most \d+|(?:max(?:imum)? |above_max_)length(?: of)?|longer than|exceed\w*"
        r"|greater than \d{2,}|(?:limited|restricted) to \d+(?: char\w*)?|(?:over|above"
        r"|beyond) \d+ char\w*|no more than \d+ char\w*"
        r"|less than or equal to \d+|between \d+ and \d+ char\w*"
        r"|(?:<=|limit (?:is|of)) \d+|over the limit|过长|超过|超出",
    ),
    (
        "BROKEN",
        r"invalid character \S{1,4} (?:looking for|after|at end|in (?:string|literal|numeric))",
    ),
    ("DUPLICATE", r"belongs? to (?:multiple|several|two|more than one)"),
    ("ALTERNATE MESSAGE", r"(?:multiple|two|several) (?:user|assistant|human) (?:messages|turns)"),
    (
        "BOTH",
        r"(?:cannot|can not|must not|may not) (?:have|pass|contain|include|set|use|specify) both"
        r"|but not both|mutually exclusive|(?:one and )?only one (?:property|field|of)"
        r"|exactly one of|both(?= .{0,80} are set)",
    ),
    (
        "MIXED",
        rf"(?:{_NOT} |cannot )?(?:be |appear )?(?:in|within) the same (?:\w+ )?(?:message|turn)",
    ),
    (
        "EMPTY",
        r"(?:non-?)?empty|blank|null(?= (?:ids?|content|names?|arguments?|text)(?![a-z]))"
        r"|at least (?:1|one)(?: (?:of|tokens?|elements?|items?|entry"
        r"|char\w*))?"
        r"|min(?:imum)? length"
        r"|greater than or equal to 1|too short|whitespace|required oneof field|为空|空",
    ),
    (
        "DUPLICATE",
        r"duplicat\w*|(?:not |be )?unique|same (?:ids?|names?)"
        r"|already (?:exists?|been|sent|in use|\w+(?:ed|en))|(?<!no\s)more than (?:once|one)"
        r"|multiple times"
        r"|conflicting(?= (?:tool|function) )|already has|(?:seen|used) before|(?:used|seen|occurs"
        r"|appears) \d+ times|(?:only"
        r"|at most) one(?= (?:tool|function) (?:result|response|output))"
        r"|a second|second(?= (?:tool|function|result|response|output))"
        r"|repeat(?:s|ed)|twice|distinct|collision|collides?|clash\w*|multiple|two|several|shared?"
        r"|reus\w+|重复",
    ),
    ("PREFIX", r"(?:begins?|starts?) with(?! an?\b)|prefix"),
    (
        "FORMAT",
        r"patterns?|regex|only contain(?! tool)|(?:invalid|illegal|special) char\w*|alphanumeric"
        r"|letters|spaces?|slash(?:es)?|a-z"
        r"|\[a-z[^\]]*\]|(?:in|wrong|required|expected|valid|an invalid) format|format errors?"
        r"|malformed(?= (?:tool ?(?:call|use) ?|call ?)ids?\b)|characters"
        rf"|(?:{_NOT} |{_MUST} )?match(?:es)? \^|格式|命名",
    ),
    (
        "BROKEN",
        r"(?:as|in|into) (?:plain|raw) text|syntax error|trailing comma|key must be a string"
        r"|(?:could not|cannot|can not|failed to|unable to) extract"
        r"|(?:cannot|unable to) read(?= (?:an? |the )?(?:tool|function) call)"
        r"|not (?:a )?valid json(?: (?:string|object))?|(?:invalid |valid |malformed |broken )?json"
        r"(?: (?:format|string|syntax|parse|decode|error|input(?! for)|object))*"
        r"|(?:un)?pars(?:e|ed|ing|e?able|er)|unterminated|malformed|truncated|incomplete"
        r"|unexpected (?:end|token|eof|char\w*)|garbled|mangled|unreadable|extra data|delimiter"
        r"|decod\w*|deseriali[sz]\w*"
        r"|eof while|control character|expecting|解析|broken|cut off"
        rf"|{_NOT} (?:be )?(?:fully|completely|entirely) (?:received|transmitted|sent|read)",
    ),
    (
        "TYPE",
        rf"(?:expect\w*|{_MUST} be|to be|got|received|into|as|not|input should be)(?: an?)?"
        rf"(?: instance of)?(?: (?:valid|one of|type|plain|either))*(?: an?)? {_TYPE}"
        r"|(?:invalid|wrong|incorrect) type|type (?:error|mismatch)|cannot unmarshal|from a mapping"
        r"|of type (?:string|api\.)|is of type \w+ but should be|not iterable|has no attribute"
        r"|(?:must|should|has to) be (?:text|blocks)"
        r"|(?:got|received) <class \w+>|expected type: \w+|cannot construct instance of"
        r"|(?:cannot|can not|could not) deserialize value of type \S{1,120} from \w+ value"
        rf"|is an? {_TYPE}[;,] (?:but )?(?:expected|must be|should be)(?: an?)? {_TYPE}"
        r"|\| ?items|类型错误|(?:不是|必须是|应为)(?:数组|字符串|对象|列表)",
    ),
    (
        "UNSUPPORTED",
        r"unsupported|no longer (?:supported|accepted|allowed)"
        rf"|additional properties are not allowed|{_NOT} (?:be )?(?:support\w*"
        rf"|permitted|allowed|accepted|recogni[sz]ed"
        r"|used)"
        r"|unrecogni[sz]ed(?! (?:(?:tool|function) )?call id)"
        r"(?! (?:tool|function)s?\b(?! ?(?:field|type|param|call)))"
        r"|extra (?:inputs?|fields?)|extra_forbidden|forbidden|cannot find field"
        r"|(?:cannot|can not) (?:read|accept|see|handle|send|include)(?= (?:an )?images?)"
        r"|invalid fields?(?:\(s\))?"
        r"|unknown (?:fields?|name|parameters?|key|property)|不支持",
    ),
    (
        "VALUES",
        r"(?:supported|valid|allowed) values|(?:must|should|is not) (?:be )?one of"
        r"|expected tags|any variant|unknown variant|literal error",
    ),
    # --- something lacks, or stands in the wrong place --------------------------------------------
    (
        "PENDING",
        rf"{_MUST} (?:respond|reply|answer)(?: to)? (?:all|each|every|any|the)"
        r"|(?:open|active)(?= (?:tool|function))",
    ),
    ("NO PENDING", rf"{_NOT} (?:open|in progress|active|running|awaiting|waiting)(?! with)"),
    ("FIRST MIXED", rf"{_MUST} (?:come|be|appear|go) (?:\w+ed )?first"),
    (
        "MATCH BEHIND",
        rf"{_MUST} (?:\w+ly )?(?:follow|(?:come|be|appear) (?:\w+ly |right )?after|be preceded by)",
    ),
    ("MATCH NEXT", rf"{_MUST} be (?:\w+ly )?followed by"),
    (
        "MATCH",
        rf"{_MUST} (?:be )?(?:\w+ly )?(?:followed?|preceded?|respond\w*|match\w*|correspond\w*"
        r"|answer|refer\w*|come|paired?|answered|resolved|an? (?:response|reply|answer))"
        rf"|{_NOT} (?:be |been )?(?:\w+ly )?(?:refer\w*|point\w*|relat\w*|follow\w*|prec\w+ed"
        rf"|match\w*|correspond\w*"
        r"|belong\w*|paired|linked|tied|attached|associat\w*|correlat\w*)|comes? immediately"
        r"|(?:previous"
        r"|preceding) message is not"
        r"|responding to|mismatch\w*|immediately (?:after|follow\w*)|inconsisten\w+"
        r"|outside(?: of)?(?= (?:an? |the )?(?:assistant|tool|function))"
        r"|none of .{0,30}match\w*|differs?(?: from)?|different from"
        r"|(?:different|another)(?= (?:tool|function))",
    ),
    (
        "MIXED",
        r"(?:cannot|(?:can|may|must|should|shall) not) (?:have|contain|include) (?:any )?"
        r"(?:text|other|anything)|text (?:found |appears? |comes? )?before",
    ),
    (
        "UNSUPPORTED FORBIDDEN",
        r"(?:cannot|(?:can|may|must|should|shall) not) (?:ever )?(?:have|contain|include|carry|hold"
        r"|appear in|occur in|be (?:in|inside|part of|sent in|used in))",
    ),
    (
        "HAVE",
        rf"without|lack\w*|misses|lost its|(?:is |are )?missing {_PART}"
        rf"|{_MUST} (?:have|include|contain|carry|provide|supply|submit|send|specify|define)"
        rf"|requires?|needs?(?! to\b)|to (?:have|include|contain) an?\b"
        rf"|(?:has|have|had|with|contains?|contained) no|{_NOT} (?:have|contain\w*"
        r"|include\w*|accompanied)|(?:is|are|was|were) missing (?:an?|its|the|required)|缺少|没有",
    ),
    (
        "REQUIRED",
        r"(?:field |is |are )?required(?: (?:parameter|field|property|key))?|mandatory"
        rf"|{_NOT} (?:been )?(?:provided|supplied|given|specified|passed)"
        r"|(?:is|are|was|were|has|have) not (?:been )?set"
        r"|missing required(?: (?!arg)\w+)?|(?:cannot|can not|may not) be (?:null|none|undefined)"
        r"|(?:null|none|undefined) is not (?:an? )?(?:allowed|valid|accepted)(?: value)?"
        rf"|{_MUST} (?:not )?be (?:set|provided|present|specified|defined|passed|given|supplied"
        r"|included|null|undefined|none|nil)(?! back)"
        r"|(?:is|was|got|but got|found) (?:null|none|nil|undefined)|必填|必须",
    ),
    (
        "PENDING",
        rf"{_NOT} (?:yet )?(?:been |yet )?(?:answer\w*|resolved|executed|handled|cover\w*"
        rf"|respond\w*"
        r"|fulfilled|complet\w+|finish\w+|repl\w+|acknowledged)"
        rf"|{_NOT} (?:receive|get|produce|yield|return)|{_NOT} (?:every|all)"
        r"|pending|outstanding|unfulfilled|unsettled|in[ -]flight|still (?:active|open|running"
        r"|in progress)"
        r"|un(?:resolved|answered|satisfied|processed|finished|completed|matched call)"
        r"|waiting (?:for|on)|awaiting|until (?:all|every|each)"
        r"|(?:failed|unable) to (?:produce|generate|emit|make|return)|(?:remain\w*|left) open"
        r"|(?:respond|reply) to (?:all|each|every|the|any)",
    ),
    ("ORPHAN", r"orphan\w*|dangling|unmatched|stray|unpaired|unattached|detached|unlinked"),
    (
        "MIXED",
        r"mix\w* with|alongside|together with|combined with"
        r"|other (?:parts|content|blocks)",
    ),
    (
        "COUNT",
        r"(?<![\w.])\d{1,2} (?=tool|function)"
        r"|(?:same |equal )?(?:number|count|cardinality)s?(?: of)?",
    ),
    ("UNEQUAL", r"too (?:many|few)|(?:more|fewer|less) .{0,20}than"),
    ("MISSING", r"missing|absent|omitted|forg[eo]t(?:ten)?"),
    (
        "NOT_FOUND",
        rf"{_NOT} (?:be )?(?:found|find|exist\w*|present|known|registered|available|defined|in"
        r"|issued|made|emitted|tracked|hold|know|pending|locate\w*|resolve|requested|request"
        r"|exposed|part of"
        r"|declared|listed)"
        rf"|{_NOT} (?:among|offered|advertised|enabled)"
        rf"|{_NOT} (?:an? |one )(?:known|registered|recogni[sz]ed|defined|existing)"
        r"|unable to find|no such|no longer|removed|deleted|expired|trimmed|dropped(?! an? )"
        r"|evicted|pruned"
        r"|compacted|stripped|(?:is|are|was) gone"
        r"|未找到|不存在|找不到|不匹配",
    ),
    ("NO", r"no|none|neither|never"),
    (
        "UNKNOWN",
        r"unknown|未知|unlisted|unavailable|unregistered|undeclared|hallucinated|invented"
        r"|unrecogni[sz]ed|non-?exist\w+"
        r"|undefined(?= (?:tool|function))"
        rf"|{_NOT} (?:an? )?(?:valid|available|known|recogni[sz]ed)(?= (?:tool|function"
        rf"|role)(?! calls?))"
        rf"|{_NOT} (?:an? )?(?:part|one|member) of (?:the |your )?(?:\w+ )?(?:tools|functions)",
    ),
    ("UNEXPECTED", r"unexpected|unsolicited|unrequested"),
    ("EXPECTED", r"expect(?:s|ed)?|insufficient"),
    (
        "ALTERNATE",
        r"alternat\w*|交替(?:出现)?|连续"
        r"|(?:consecutive|successive)(?! (?:attempt|fail|error|retr|time|request|run))"
        r"|in (?:a row|succession)|interleav\w*",
    ),
    ("ALTERNATE MESSAGE", r"same role|should be \[?(?:user|assistant|tool)\]?,? but"),
    ("FIRST", r"first|opens? with|opening with|begin\w*|start(?!ing an? )\w*|leading"),
    ("LAST", r"last|final|end(?:s|ing)? (?:with|in|on)|prefill|trailing|at the end"),
    ("AFTER", r"after|in the middle|follow(?:s|ed|ing)?(?: by)?"),
    ("BEFORE", r"before|prec\w{1,4}(?:ing|ed|es)?|previous|prior"),
    (
        "ONLY",
        r"(?:can |may |must )?only(?: be)?"
        rf"|{_MUST} (?:belong to|be (?:part of|inside|sent in|in(?= an? ))|appear in|occur in)",
    ),
    (
        "CHANGED",
        r"modified|altered|changed|unchanged|remain as|corrupt\w*|verif\w*|decrypt\w*|tampered"
        r"|validate|original",
    ),
    (
        "BACK",
        r"(?:passed|sent|returned|given|included) back|pass back|echo\w*|preserv\w*"
        r"|back(?= (?:in|to|with))",
    ),
    (
        "INVALID",
        r"invalid|illegal(?! (?:state|argument) ?exception)"
        r"|improper\w*|not (?:an? )?valid|bad|wrong|rejected|refused"
        r"|failed (?:to (?:validate|format|convert|render)|validation)|validation failed|非法|无效",
    ),
    (
        "IN",
        r"(?:in|inside|within) (?:an? |the )?(?=(?:user|assistant|system|human) (?:message|turn))",
    ),
    ("of", r"(?:of|for)(?! (?:each|every|all|any))"),
    ("that", r"that|which"),
    (".", r"[.!?](?=\s|$)|;|(?<!\d)[{}](?!\d)(?=\s*(?:[^\w\s]|\w+:|$))|,type:"),
)
