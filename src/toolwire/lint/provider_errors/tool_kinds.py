"""Errors about tools but not about a history: about the model, a setting, a server, or a tool."""

from __future__ import annotations

from toolwire.lint.provider_errors.kind import ErrorKind

_CALLING = r"(?:tool|function)[ -]?(?:use|usage|calls?|calling)"
_TOOLS = (
    rf"(?:native )?(?:the )?(?:use of )?(?:tools|functions|{_CALLING})"
    r"(?! without|[ _.-]?(?:choice|config|result|response|output|message|role))"
)
_NOT_SUPPORTED = (
    r"(?:is |are |was )?(?:currently )?(?:not (?:yet )?(?:supported|enabled|available|implemented)"
    r"|unsupported|unavailable|disabled)"
)
_SESSION = r"session(?: id| identifier)?"

TOOL_KINDS = (
    ErrorKind(
        "tools-unsupported",
        "the model, or the server that runs it, cannot call tools, or calls are switched off there",
        first_pattern=(
            r"(?<!message )(?<!role )(?:does|do|did|is|are|can|will) ?not "
            r"(?:currently |yet |natively )?"
            rf"(?:support(?:s|ing)?|implement|compatible with|capable of) ?{_TOOLS}\b"
            rf"|(?<!with ){_CALLING} {_NOT_SUPPORTED}"
            r"|(?:^|[^a-z0-9_ ] ?|\b(?:that|the|and|but|as|since) )"
            rf"(?:tools|functions) {_NOT_SUPPORTED} (?:by|for|on|with|in) (?:the |this |your )?"
            r"(?:\w+ ){0,3}(?:model|server|endpoint|provider|deployment|backend|engine|api)"
            r"|(?:^|: ?)tools (?:are )?not supported(?! \w)"
            r"|(?:cannot|can not|does not|do not) (?:handle|process|accept|have)"
            rf" {_TOOLS}\b(?! and)|models? (?:cannot|can not) use tools\b(?! \w)"
            r"|no (?:native )?(?:tool|function)[ -](?:support|calling)"
            r"|\b(?:tool|function)[ -]capable"
            r"|tools?\b.{0,30}not yet implemented"
            r"|requires? --(?:enable-auto-tool|tool-call-parser|jinja)|--jinja flag"
            r"|no endpoints found that support (?:tool|function)"
            r"|(?:does not support|unsupported|unrecognized|unknown|not supported) .{0,40}"
            r"(?:param\w*|arguments?)\b[a-z ]{0,20}[:({ ]{1,4}(?:\w{1,40}, ){0,4}"
            r"(?:tools|functions)\b(?!\[)"
            r"|models? (?:that |which )?supports? (?:tool|function)"
            r"|(?:^|[^\w.\]]|request )(?:tools|functions):? extra (?:inputs|fields) (?:are )?not"
            r"|不支持 ?(?:工具|函数|function|tool) ?(?:调用|call)"
            r"|(?:工具|函数)调用(?:功能)?不(?:被)?支持"
        ),
        advice=(
            "choose a model with tool calls, or switch them on (vLLM: --enable-auto-tool-choice and"
            " --tool-call-parser, llama.cpp: --jinja); a model without them can read the history"
            " and the tools as text"
        ),
        command="toolwire translate FILE --to text",
    ),
    ErrorKind(
        "mcp-session",
        "the MCP server does not know the session of the client: it was restarted, the session"
        " expired, or another replica answered",
        first_pattern=(
            rf"(?:\bmcp|json-?rpc|-32\d\d\d).{{0,200}}{_SESSION}(?: \S{{1,60}})?"
            r" (?:was |is |has )?(?:not found"
            r"|invalid|missing|required|unknown|terminated|expired)"
            rf"|{_SESSION} (?:not found|terminated|expired).{{0,60}}(?:jsonrpc|\bmcp)"
            rf"|no valid {_SESSION}"
            r"|(?:invalid|missing|expired) (?:or \w+ )?(?:mcp[ -])?session[ -]?id"
            r"|mcp-session-id|before initialization was complete"
            r"|invalid during (?:\w+ )?initialization"
            r"|server not initialized"
        ),
        advice="connect again, so that the client sends `initialize` and gets a new session",
        command="toolwire tools mcp+http://HOST/mcp",
    ),
    ErrorKind(
        "tool-output",
        "the output of a tool is longer than the client or the model takes",
        first_pattern=(
            r"(?:tool|mcp)\b.{0,60}\b(?:responses?|results?|outputs?) \(?[\d,.]+ ?(?:tokens|char\w*"
            r"|bytes|[km]b)\)? exceeds"
            r"|(?:large|huge|oversized) (?:tool|mcp) (?:result|output|response)"
            r"|(?:tool|mcp) (?:results?|outputs?|responses?) (?:is |are |was |were )?"
            r"(?:too (?:large|long|big)|exceed(?!.{0,20}context)|truncated)"
        ),
        advice="let the tool return less (a page, a filter, a file), or shorten the history",
        command="toolwire cut FILE --tokens TOKENS",
    ),
    ErrorKind(
        "tool-setting",
        "a setting of the request about tools is not accepted: the choice of a tool, their number,"
        " or their combination",
        first_pattern=r"\bparallel_tool_calls\b[^{}]{0,20} (?:is |are )?(?:not |un)supported",
        pattern=(
            r"tool[ _-]?choice|tools: array too long|too many tools|number of tools"
            r"|(?:maximum|more than|limit of|at most|up to|only)"
            r" (?:of )?(?:\d+|one|a single) (?:tool|function)s?\b"
            r"(?! (?:call|use|result))"
            r"|tool_?type: one_?of|combin\w+ .{0,40}(?:tools|functions?)\b"
            r"|(?:not (?:be )?(?:supported|allowed|available|compatible|used|combined)"
            r"|incompatible)"
            r" (?:together )?with tools\b"
            r"|cannot use .{1,60} with tools\b|tools are mutually exclusive"
            r"|\b(?:and|with) (?:\w+ )?tools at the same time"
            r"|tools? (?:cannot|can not) be used with|while providing tools"
            r"|set without function_declarations"
            r"|multiple tools are supported|tool use with function calling"
            r"|parallel[ _]tool[ _]calls"
            r"|only \w+ tools are supported|cannot be mixed with|automatic function calling"
        ),
        advice="let the model choose (`auto`), name a tool that is defined, or send fewer tools",
        command="toolwire check FILE",
    ),
    ErrorKind(
        "tool-run",
        "a tool ran and failed, or was not allowed to run; the call itself is in order",
        first_pattern=(
            r"\btool (?:call|execution) failed with (?:an )?error\b"
            r"|\btool[ _-]?(?:call|use|usage|round|iteration)s? limit (?:was |is |has been )?"
            r"(?:reached|exceeded)|reached (?:its|the) maximum usage limit"
        ),
        pattern=(
            r"tool use was rejected|tool execution failed"
            r"|(?:user|human) (?:has )?(?:rejected|denied|declined|cancel\w*|skipped)"
        ),
        weak_pattern=(
            r"tool execution|tool call (?:\S{1,40} )?(?:failed(?! valid)|aborted|blocked|cancel"
            r"|denied)"
            r"|tool calls? (?:is |are )?not (?:allowed|permitted)|(?:execut|runn|invok|call)(?:e"
            r"|ing|ed) (?:the )?(?:tool|function)\b"
            r"|(?:reject|den|declin|cancel)\w* (?:the |this |a )?tool|permission to (?:use|run)"
            r"|\btool (?:call |use )?(?:was |is )?(?:denied|rejected|declined)"
            r"|\btool (?:\S{1,40} )?(?:crashed|exited|returned an error)"
            r"|command not found|no such file|enoent"
        ),
        advice="read the error of the tool; give the model its text as the result of the call",
        command="toolwire check FILE",
    ),
)
