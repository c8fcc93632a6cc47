"""The words of errors: synonyms for what an error speaks of, and for what is wrong with it.

A text names a thing (a call, its id, its arguments) and a complaint (missing, duplicate, too
long). Providers choose different words for the same pair, so the general patterns are combinations
of these words. All are regular expressions for searchable forms: lower case, one line, no quotes.
"""

from __future__ import annotations

# --- things ---------------------------------------------------------------------------------------

CALL = (
    r"(?:tool[ _-]?(?:calls?|uses?|invocations?|requests?)\b(?![ _-]?ids?\b)"
    r"|function[ _-]?calls?\b(?![ _-]?(?:ids?|outputs?|results?)\b)"
    r"|(?:tool|function)[ _-]?call event|tool-call\b|工具调用|函数调用)"
)
RESULT = (
    r"(?:tool[ _-]?(?:call[ _-]?)?(?:results?|responses?|outputs?|messages?|returns?)\b"
    r"|function[ _-]?(?:call[ _-]?)?(?:responses?|results?|outputs?)\b"
    r"|role:? ?tool\b|tool role\b|toolmessages?\b|工具(?:调用)?(?:结果|返回|响应|消息))"
)
CALL_ID = (
    r"(?:\btool[ _-]?(?:call|use|result)?[ _-]?ids?\b|\b(?:function[ _-]?)?call[ _-]?ids?\b"
    r"|tool_calls?\W{0,3}\d{0,6}\W{0,2}\.?id\b|tool_?use\.id\b"
    r"|function_?(?:call|response)\.id\b|\bids? of (?:an? |the )?(?:tool|function) ?(?:call|use)s?"
    r"|tooluse blocks?.{0,80}\bids?\b|(?:工具)?调用 ?id)"
)
TOOL_NAME = (
    r"(?:\b(?:tool|function)s?[ _.]?(?:use\.)?names?\b(?!=)|names? of (?:the )?(?:tool"
    r"|function)s?\b"
    r"|\btools\W{1,2}\d+[\w.\[\]]{0,80}\.name\b|tool_calls?\W{0,3}\d{0,6}[\w.\]]{0,20}\.name\b"
    r"|messages\[\d+\]\.name\b|(?:工具|函数)名称?)"
)
ARGUMENTS = (
    r"(?:\barguments?\b|\bargs\b|tool_?use\.input\b|\btool[ _]?inputs?\b"
    r"|(?:tool|function)(?:[ _-]?call)? parameters?\b|调用参数|函数参数|工具参数)"
)
DEFINITION = (
    r"(?:\btools\W{1,4}\d+|\.tools of type|(?<!read )\b(?:additional)?properties\b"
    r"|tool definitions?|tool schemas?|function[ _]?declarations?"
    r"|input_?schemas?|function\.parameters|parameters? (?:json )?schemas?|function schemas?"
    r"|\btools? (?:field|propert|payload)|request schema|json[ _-]?schemas?|tool_?spec|工具定义)"
)
OUTPUT = (
    r"(?:\]\.output\b|tool_?result\.content|function_?response\.response|tool[ _]?result content"
    r"|(?:output|content) of (?:an? |the )?tool)"
)
MESSAGE_PLACE = (
    r"(?:\bmessages?(?:\.|\[| -> )(?:\d+|content\b)|/(?:input|messages)/(?:\d+|\*)|\bcontents\[\d+"
    r"|\binput\[\d+|loc: \(?\[?body, messages"
    r"|\bmessage (?:at )?(?:position|index) \d+)"
)
CONTENT = (
    r"(?:\bcontent\b(?! management| filter| policy)|text blocks?|content blocks?"
    r"|\bparts?\b field|消息内容)"
)
SIGNATURE = r"(?:thought[ _]?signatures?|\bsignatures?\b|encrypted[ _](?:content|reasoning))"
REASONING = r"(?:reasoning(?:_content|_text|_details)?\b|\bthinking(?:_blocks?)?\b|thought blocks?)"

# --- complaints -----------------------------------------------------------------------------------

LACKS = (
    r"(?:\bwithout\b|\bmissing\b|\blacks?\b|\b(?:has|have|had|with|contains?|contained) no\b"
    r"|\bno (?:matching|corresponding|preceding|previous)\b|\bneeds?\b(?! to be)|\brequires?\b"
    r"|\bnot (?:have|found|match\w*|contain|been|followed|preceded|preceeded|follow\w*"
    r"|correspond\w*"
    r"|belong|responding|accompanied|answer\w*)\b|\bmust (?:have|be|follow|match|correspond|come"
    r"|respond|reference|contain)\b|\bshould (?:have|be|follow|match|come)\b|\bunmatched\b"
    r"|\bmismatch\w*|\bexpects?\b|\bunknown\b|\bunable to find\b|\bis not an?\b"
    r"|\bnever\b|缺少|没有|必须|未)"
)
NOT_FOUND = (
    r"(?:\bnot (?:be )?(?:found|exist|match\w*|valid|known|recogni[sz]ed|in\b|present|defined)"
    r"|\bdoes ?n.t exist|\bunknown\b|\bunexpected\b|\bmismatch\w*|\bno (?:match\w*|correspond\w*)"
    r"|\bcould ?n.?t find|\bcould not find|\bunable to find|\bcannot find|\bno such"
    r"|未找到|不存在|不匹配|找不到)"
)
MISSING = (
    r"(?:\bmissing\b|\brequired?s?\b|\bmust (?:have|include|contain|be (?:set|provided|present"
    r"|specified"
    r"|defined))|\bhas to be (?:defined|set)|\bneeds?\b|\bnot (?:be )?(?:set|provided|specified"
    r"|null)|\b(?:is|was|are|got|be|but|received|found|got an?) (?:null|none|nil|undefined)\b|缺少"
    r"|必填|必须)"
)
EMPTY = (
    r"(?:\bempty\b|\bblank\b|\bat least (?:1|one) char|\bminimum length|greater than or equal to 1"
    r"|\btoo short|\bwhitespace\b|为空|空字符串)"
)
TOO_LONG = (
    r"(?:\btoo ?long|\bat ?most \d+|\bmax(?:imum)?[ _]?length|above_max_length|\blonger than"
    r"|\bexceed\w* .{0,40}(?:length|limit|char\w*|\d+)|less than or equal to \d|\d+ characters or"
    r"|\blength (?:of .{0,20})?(?:must|cannot|should).{0,20}\d|\d+ characters?.{0,30}\blimit"
    r"|过长|超过|超出)"
)
BAD_FORMAT = (
    r"(?:\bpatterns?\b|\bregex\b|\bonly (?:contain|use|have)|\bcan only\b|\b(?:must|should)"
    r" (?:start|begin|only|contain|consist|match|be a-z|be alpha)|\b(?:invalid|illegal|special"
    r"|unsupported|disallowed) char|alphanumeric|\bletters\b|a-z|\bformat\b|非法字符|命名|格式)"
)
WRONG_TYPE = (
    r"(?:\bexpected (?:type )?(?:an? |one of )?(?:json )?(?:string|str|object|map|mapping|dict\w*"
    r"|array|list|struct)|\b(?:must|should|needs? to) be (?:an? )?(?:valid )?(?:json )?(?:string"
    r"|str"
    r"|object|dict\w*|map\w*|array|list)|\binvalid type\b|\b(?:wrong type|type mismatch)\b|\btype"
    r" ?error"
    r"|\bfor type \w+|\bnot (?:a |an )?(?:dict|str|string|mapping|object|list|iterable|array)\b"
    r"|cannot unmarshal|\bgot (?:an? )?(?:null|object|array|string|integer|int|dict|list|number"
    r"|map)"
    r"|\bmust be (?:plain )?text\b|\breceived (?:an? )?(?:array|object|string|null)"
    r"|\bbut should be (?:an? )?(?:string|array|object)|has no attribute|from a mapping"
    r"|类型错误)"
)
BROKEN_JSON = (
    r"(?:\b(?:in)?valid json|json (?:format|string|parse|decode|syntax"
    r"|object|error)|\bpars(?:e|ing|able|eable)|\bunpars\w+|unterminated|malformed|broken|truncated"
    r"|incomplete|unexpected (?:end|token|eof|char)|\bexpecting\b|extra data|delimiter|\bdecod"
    r"|deserializ|serializ|invalid character|control character|\bescap|\binvalid\b|解析|格式|合法)"
)
JSON_ERROR = (
    r"(?:extra data: line|unterminated string|expecting (?:value(?!: line 1 column 1 )"
    r"|property name|,)|jsondecodeerror(?!.{0,20}expecting value: line 1 column 1 )"
    r"|unexpected end of json|is not valid json|unexpected token .{1,20} in json|json parse error"
    r"|parse error at line|bad control character|find closing .{1,3} symbol|expected double-quoted)"
)
DUPLICATE = (
    r"(?:\bduplicate[ds]?\b|\bduplicat\w+|\bnot unique|\bmust be unique|\bsame (?:id|name)"
    r"|\balready (?:exists|used|been|defined|declared|registered)|\bmore than once|\bmultiple times"
    r"|\brepeated\b|\b(?:multiple|two|several) .{0,40}with (?:the )?(?:same|id)|\btwice\b"
    r"|\bdistinct\b|重复)"
)
UNSUPPORTED = (
    r"(?:\bunsupported\b|\bnot (?:be )?(?:supported|permitted|allowed|accepted|recogni[sz]ed)"
    r"|\bunknown\b|\bunrecogni[sz]ed|\bunexpected\b|\bextra (?:inputs?|fields?|propert)"
    r"|\bextra_forbidden|\badditional propert|\bcannot find field|\binvalid field|\bforbidden\b"
    r"|\bnot a valid field|不支持)"
)
REFUSED = (
    rf"(?:{UNSUPPORTED}|\binvalid|\bmissing\b|\brequired\b|\bmust\b|\bshould\b|\berror|\bfail"
    rf"|\breject"
    r"|\bnot valid|\bempty\b|\bmalformed|\bcannot\b|\bexpected\b|错误|非法|无效)"
)

_GAP = r"(?:[^.;]|\.(?! )){0,%d}?"
"""What may stand between two words of one sentence: no full stop, but the dots of a path."""


def then(*words: str, gap: int = 80) -> str:
    """A pattern for words in this order, in one sentence."""
    return (_GAP % gap).join(words)


def near(first: str, second: str, gap: int = 80) -> str:
    """A pattern for two words in any order, in one sentence."""
    return f"{then(first, second, gap=gap)}|{then(second, first, gap=gap)}"
