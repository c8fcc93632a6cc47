"""Errors that are not about tool calls, by kind: what they are about, and what helps."""

from __future__ import annotations

from msgspec import Struct

from toolwire.lint.provider_errors.pattern import matches


class UnrelatedError(Struct, frozen=True):
    """A kind of error that is not about tool calls."""

    kind: str
    pattern: str
    meaning: str
    """What the error is about, and what helps."""


UNRELATED_ERRORS = (
    UnrelatedError(
        "context-length",
        r"maximum context length|context[ _](?:length|window)|prompt is too long|too many tokens"
        r"|input (?:is too long|token count)|exceed(?:s|ed)? .{0,40}(?:context|token limit)"
        r"|reduce the length of the (?:messages|prompt)|context overflow",
        "the request is longer than the context of the model; `toolwire cut` shortens a history"
        " without splitting a pair",
    ),
    UnrelatedError(
        "billing",
        r"credit balance|insufficient[ _](?:quota|balance|credits?|funds)|exceeded your current"
        r" quota|billing|payment required|余额不足|\b402\b",
        "the account has no credit or quota left",
    ),
    UnrelatedError(
        "rate-limit",
        r"rate[ _-]?limit|too many requests|tokens per min|requests per min|\b429\b"
        r"|resource[ _]?exhausted|throttl|usage limit|limit .{0,60}is exceeded",
        "the provider limits the rate of requests or tokens; wait and send the request again",
    ),
    UnrelatedError(
        "authentication",
        r"api[ _-]?key|authenticat(?:ion|e\b)|invalid auth\b|unauthori[sz]ed|access denied"
        r"|permission[ _]?(?:denied|error)|not authorized|invalid (?:token|credentials)"
        r"|expired token|(?<!extra_)forbidden|token is (?:incorrect|invalid|expired|missing)"
        r"|(?<![\w.])40[13]\b",
        "the key is missing, wrong or not allowed to do this",
    ),
    UnrelatedError(
        "content-filter",
        r"content[ _](?:management|filter\w*|policy|moderation)|safety (?:system|settings|filters?)"
        r"|prohibited_content|usage policies|responsibleai|flagged|blocked by|data_inspection",
        "a content filter stopped the prompt or the answer",
    ),
    UnrelatedError(
        "overload",
        r"overloaded|\b529\b|service (?:is )?(?:temporarily )?unavailable|no capacity"
        r"|server is busy|high demand|\b503\b",
        "the provider has no capacity at the moment; send the request again later",
    ),
    UnrelatedError(
        "model",
        r"model .{0,100}(?:does ?not ?exist|not found|is not supported|not available|deprecated"
        r"|decommissioned)|model_not_found|no such model"
        r"|(?:does not|doesnt) support (?:tools|tool use|tool calling|function calling)"
        r"|invalid model|unknown model",
        "the provider does not have this model, or the model cannot do this",
    ),
    UnrelatedError(
        "connection",
        r"connection (?:error|closed|refused|reset|aborted|failed)|econn\w+|enotfound|getaddrinfo"
        r"|socket hang up|fetch failed|timed? ?out|timeout|certificate|ssl|network|dns"
        r"|request was aborted|eai_again|broken pipe|disconnected",
        "the connection to the server failed, or the server did not answer in time",
    ),
    UnrelatedError(
        "encoding",
        r"body is not valid json|could ?n.?t parse the json body|invalid (?:json body|utf-?8)",
        "the body is not valid JSON, often because a text was cut inside a character",
    ),
    UnrelatedError(
        "setting",
        r"unsupported ?(?:param|value|parameter)|does not support (?:the )?param|unknown parameter"
        r"|(?:argument|parameter|option|feature|setting)s? (?:is |are )?not supported"
        r"|invalid tool_choice|supported (?:string )?values|unused parameters?\b"
        r"|unrecognized request argument|temperature|top_p|max_(?:completion_|output_)?tokens"
        r"|invalid (?:chat setting|api parameter|thinking)|api 调用参数有误|参数非法"
        r"|response_format|--enable-auto-tool-choice|tool_choice forces|tools: array too long"
        r"|too many tools|invalid messages: empty array|invalid message role: system"
        r"|extra inputs are not permitted|cannot find field|is not a valid field"
        r"|invalid tools: empty array|only allowed when tools are|while providing tools"
        r"|set without function_declarations|blocks with cache_control"
        r"|function_response\.parts is not supported|does not match any of the expected tags"
        r"|invalid (?:type|value)\b|input should be|field required|missing required parameter"
        r"|failed to satisfy constraint|can ?not be converted|cannot unmarshal"
        r"|is deprecated for this model|(?:above max|below min)imum value|too many properties"
        r"|(?:array|string) too long|: range: |must be (?:positive|in the range|between|one of)\b"
        r"|must have at most",
        "a setting of the request is not accepted by this model or provider",
    ),
    UnrelatedError(
        "endpoint",
        r"no handler found|check your url|invalid url|unknown url|no route|route not found"
        r"|404 page not found|cannot (?:get|post) /|unknown request url",
        "the server has nothing at this address; check the base URL",
    ),
    UnrelatedError(
        "server-error",
        r"internal server error|internal_server_error|bad gateway|gateway time|api_error"
        r"|something went wrong|\b50[024]\b",
        "the server failed; send the request again",
    ),
)


OTHER_ERROR = UnrelatedError(
    "other",
    r"error|exception|fail|invalid|refused|denied|cannot|could not|unable|not found|\b[45]\d\d\b",
    "it names no tool, call, result or message",
)
"""An error of an unknown kind whose text has none of the words that an error about calls has."""
_WORDS_OF_CALLS = (
    r"tool|function|call|schema|signature|reasoning|thinking|thought|role|message|content|\bitem"
    r"|argument|\bids?\b|input|parts?\b|history|conversation|turn|json|消息|工具|函数"
)


def match_unrelated(forms: tuple[str, ...]) -> UnrelatedError | None:
    """The kind of an error that is not about tool calls, if its searchable forms show one."""
    known = next(
        (
            error
            for error in UNRELATED_ERRORS
            if any(matches(error.pattern, form) for form in forms)
        ),
        None,
    )
    if known is not None or any(matches(_WORDS_OF_CALLS, form) for form in forms):
        return known
    return OTHER_ERROR if any(matches(OTHER_ERROR.pattern, form) for form in forms) else None
