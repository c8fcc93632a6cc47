"""Errors that are not about tools: their subject, and the remedy."""

from __future__ import annotations

from toolwire.lint.provider_errors.kind import ErrorKind

UNRELATED_KINDS = (
    ErrorKind(
        "context-length",
        "the request is longer than the context of the model; `toolwire cut` shortens a history"
        " without splitting a pair",
        pattern=(
            r"maximum context\b|resulted in [\d,]+ tokens|input length .{0,20}exceeds"
            r"|context[ _]?(?:length|window|size)|prompt is too long|too many"
            r" tokens"
            r"|input (?:is too long|token count)|exceed(?:s|ed)? .{0,40}(?:context"
            r"|token limit|window)"
            r"|reduce the length of the (?:messages|prompt)|context overflow|maximum prompt length"
            r"|上下文(?:长度|过长)|(?:prompt|input|request body|payload|entity) (?:is )?too large"
            r"|request_too_large|(?:input|prompt|request|context) too long|(?:conversation"
            r"|history) (?:is )?too long"
            r"|exceeds? (?:the )?maximum (?:allowed )?tokens|range of input length|context limit"
            r"|token limit exceeded|(?:exceed\w*|over) .{0,20}token limit"
            r"|(?:prompt|input|request)s? token(?: count|s)\b(?!.{0,60}(?:per[ -]|rate)).{0,40}"
            r"(?:exceed|greater than|more than|<=|maximum|the limit)"
            r"|(?:prompt|input|request|conversation) (?:contains|has|is|was) [\d,.]+k? tokens"
        ),
        weak_pattern=r"exceeds? (?:the )?maximum (?:allowed )?size",
        command="toolwire cut FILE --tokens TOKENS",
    ),
    ErrorKind(
        "billing",
        "the account has no credit or quota left",
        pattern=(
            r"credit balance|insufficient[ _](?:quota|balance|credits?|funds)|exceeded your current"
            r" quota|quota (?:is )?(?:used|exceeded|exhausted)|billing"
            r"|payment (?:required|method)"
            r"|(?:balance|funds|credits?) (?:is |are )(?:insufficient|too low)"
            r"|余额不足|欠费"
            r"|(?:out of|no|more|add|not enough) credits?\b"
            r"|(?:spend\w*|credit|budget|key|monthly) limit (?:exceeded|reached|of)|spend\w* limit"
            r"|budget (?:has been |was )?exceeded"
        ),
        status="402",
    ),
    ErrorKind(
        "rate-limit",
        "the provider limits the rate of requests or tokens; wait and send the request again",
        pattern=(
            r"rate[ _-]?limit|too many requests|requests? cap\b|slow down\b|tokens per min"
            r"|requests per min"
            r"|resource[ _]?exhausted|throttl|usage limit|limit .{0,60}is exceeded"
            r"|exhausted your capacity|hit your limit|请求过于频繁|限流"
            r"|(?<![a-z])[tr]p[mdh] limit|concurren\w+ (?:limit|requests)|token quota|retry limit"
        ),
        status="429",
    ),
    ErrorKind(
        "authentication",
        "the key is missing, wrong or not allowed to do this",
        pattern=(
            r"api[ _-]?key(?!: )|(?:invalid|incorrect|missing|wrong) api[ _-]?key"
            r"|authenticat(?:ion|e\b)|invalid auth\b|unauthori[sz]ed|access denied"
            r"|permission[ _]?(?:denied|error)|not authorized|invalid (?:token|credentials)"
            r"|not authenticated|not allowed to (?:use|access) (?:\w+ )?model|key (?:was|is"
            r"|has been) (?:revoked|disabled|expired)|expired token"
            r"|(?<!extra_)forbidden|token is (?:incorrect|invalid|expired|missing)"
            r"|(?<!exist or you do )\bnot have access|(?:account|organization) (?:is|has been)"
            r" \w+|region (?:is )?not supported|身份验证|密钥|invalid (?:model|access|secret) key"
            r"|auth\w* (?:credentials|token)|token (?:has |is )?expired"
            r"|credentials (?:not|have|are)|load (?:the )?(?:default )?credentials"
            r"|(?:security|access|bearer|session|refresh) token .{0,60}(?:invalid|expired|missing)"
            r"|(?:must|need to|please|have to) (?:be )?(?:logged|log|sign|signed) ?in\b|run /login"
            r"|not logged in|not allowed for your (?:account|organization|plan)"
        ),
        status="40[13]",
    ),
    ErrorKind(
        "content-filter",
        "a content filter stopped the prompt or the answer",
        pattern=(
            r"content[ _](?:management|filter\w*|policy|moderation)|(?:by|failed) moderation"
            r"|safety (?:system|settings"
            r"|filters?)"
            r"|prohibited_content|usage policies|responsibleai|flagged|high risk|blocked (?:by|due"
            r" to|for)"
            r"|data_?inspection|(?:inappropriate|unsafe|harmful|sensitive) content"
            r"|violates? (?:our|the) (?:\w+ )?(?:policy|policies)"
        ),
    ),
    ErrorKind(
        "media",
        "an image or a file is too large, or in a format that this model does not take",
        pattern=(
            r"image (?:exceeds|dimensions|size|is too|url|too large|format|media type)"
            r"|image.{0,40}exceed"
            r"|could not process image|(?:valid|unsupported) image|image_url\b"
            r"|(?:unable to|failed to|cannot) (?:process|download|decode)"
            r" (?:the )?"
            r"(?:image|pdf|file|media)|invalid image|(?:pdf|document) (?:pages?|exceeds|is too"
            r"|has too)"
            r"|maximum of \d+ (?:pdf|images?|pages)|unsupported image|too many images"
            r"|image_url (?:is|are) (?:only|not)|content[ -]type.{0,40}\bimage\b|image\.source"
            r"|(?:image|document|media)\S{0,40}base64|at most \d+ images?\b"
            r"|unsupported (?:file|media|mime|audio|video)|images? per (?:prompt|request|message)"
        ),
    ),
    ErrorKind(
        "response-format",
        "the schema of the answer (`response_format`) is not accepted",
        pattern=(
            r"response_?format|response[ _]?schema|response_mime_type|text\.format|output_config"
            r"|output_format|structured output|no object generated"
        ),
    ),
    ErrorKind(
        "overload",
        "the provider has no capacity at the moment; send the request again later",
        pattern=(
            r"overloaded|service (?:is )?(?:temporarily )?unavailable|no capacity"
            r"|server is busy|(?:high|heavy) (?:demand|load)|at (?:\w+ )?capacity|无可用渠道"
            r"|no available (?:accounts?|providers?|channel)"
        ),
        status="529|503",
    ),
    ErrorKind(
        "model",
        "the provider does not have this model, or the model cannot do this",
        pattern=(
            r"\bmodels?[ /:](?:(?!tool|function).){0,100}(?:does ?not ?exist|not found"
            r"|is not supported|not available|deprecated|decommissioned)|model_not_found"
            r"|no such model|model (?:identifier|id|name) (?:\w+ ){0,3}(?:invalid|unknown|not)"
            r"|invalid model|unknown (?:\w+ )?model|not a valid model|模型不存在"
            r"|no endpoints found|not found for account|find (?:the |a )?(?:requested )?model\b"
            r"|not supported for model|model .{0,60}does not support (?:this|the) (?:api|endpoint"
            r"|method)"
        ),
    ),
    ErrorKind(
        "connection",
        "the connection to the server failed, or the server did not answer in time",
        pattern=(
            r"connection ?(?:error|closed|refused|reset|aborted|failed)|\be(?:host|net)unreach"
            r"|\beconn\w+|\benotfound"
            r"|getaddrinfo"
            r"|socket hang up|fetch failed(?! with status)|\btimed? ?out|timeout|certificate"
            r"|\bssl\b|\bnetwork|\bdns\b"
            r"|request was aborted|eai_again|broken pipe|disconnected|failed to fetch"
            r"|upstream connect error|(?:failed to|could not|cannot) resolve (?:the )?host"
            r"|other side closed|max retries exceeded|name resolution|failed to establish"
            r"|unable to connect|invalid (?:json )?response body|expected http/|closed connection"
            r"|超时"
            r"|\bstream (?:closed|ended|interrupted)|error sending request|premature close"
            r"|no such host|remoteprotocolerror|\bdial tcp|\berr_(?:conn|inter|name|time)"
            r"|operation was aborted"
            r"|(?:unexpected eof|incomplete chunked) (?:while )?read"
            r"|(?<!access )\bterminated\b(?! early)|connection was (?:closed|lost|dropped|reset)"
            r"|closed unexpectedly"
        ),
        weak_pattern=r"(?:failed|unable|could not|cannot|not able)(?: to)? connect",
    ),
    ErrorKind(
        "encoding",
        "the body is not valid JSON, often because a text was cut inside a character",
        weak_pattern=(
            r"body is not valid json|could ?n.?t parse the json body"
            r"|invalid (?:json (?:body|input)|utf-?8)"
            r"|request .{0,60}invalid json\b(?! payload)|in json at position|invalid json payload:"
        ),
    ),
    ErrorKind(
        "setting",
        "a setting of the request is not accepted by this model or provider",
        pattern=(
            r"at least one (?:non-?system )?message(?! has)|thinking may not be enabled"
            r"|cache_control|parameter combination|budget_tokens"
            r"|\benable_thinking\b|template[ _]kwargs|anthropic-beta"
            r"|unsupported parameter(?:\(?s\)?)?: (?!messages|input|contents|tools)"
            r"|multipart/form-data"
        ),
        weak_pattern=(
            r"unsupported ?(?:param|value|parameter)|does not support (?:the )?param|unknown"
            r" parameter"
            r"|(?:argument|parameter|option|feature|setting)s? (?:is |are )?not supported"
            r"|is not supported (?:with|by|for) this model"
            r"|supported (?:string )?values|unused parameters?\b"
            r"|unrecognized request argument|reasoning[ _.]?effort|temperature|top_p"
            r"|max_(?:completion_|output_)?tokens"
            r"|invalid (?:chat setting|api parameter|thinking)|api 调用参数有误|参数非法"
            r"|invalid messages: empty array|(?:messages"
            r"|conversation|history)"
            r"(?: list| array)? (?:must |cannot |can not "
            r"|should )(?:not )?be (?:an? |null or )?(?:non-?)?empty|invalid message role: system"
            r"|extra (?:inputs|fields) (?:are )?not permitted|cannot find field"
            r"|is not a valid field"
            r"|unknown field|missing (?:\w+ ){0,3}required parameters|missing x-|messages must be"
            r" defined|invalid tools: empty array|does not match any of the expected tags"
            r"|invalid (?:type|value)\b|input should be|field required|missing[ _]"
            r"(?:required[ _])?(?:\w+ )?parameter"
            r"|failed to satisfy constraint|can ?not be converted|cannot unmarshal|is unsupported"
            r"|jin?a?ja|chat template|at row \d+, column \d+|is not callable|closing statement"
            r" token|is deprecated for this model|(?:above max|below min)imum value"
            r"|too many properties|(?:array|string) too long|: range: "
            r"|must be (?:positive|in the range|between|one of)\b|must have at most"
        ),
    ),
    ErrorKind(
        "endpoint",
        "the server has nothing at this address; check the base URL",
        weak_pattern=(
            r"no handler found|check your url|invalid url|unknown url|no route|could not route"
            r"|route not found|endpoint not found|completions not found|verify your api base"
            r"|not supported in the \S{1,40} endpoint"
            r"|404:? (?:(?:page|resource|url|path) )?not found|not found for url"
            r"|cannot (?:get|post) /|unknown request url"
        ),
    ),
    ErrorKind(
        "server-error",
        "the server failed; send the request again",
        weak_pattern=(
            r"internal server error|internal_server_error|server_error|server had an error|bad"
            r" gateway|gateway time|api_error"
            r"|something went wrong|\b50[024]\b"
        ),
    ),
)
