"""Texts of provider errors: the patterns to look for, their meaning, and the rules to suspect.

Patterns are tried in order, and likelier rules come first. An error also shows what its provider
checks, whatever its profile says, so a pattern lists the profile fields that it implies. This
module reads texts only, not bodies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JsonPath

ProfileFields: TypeAlias = "Mapping[str, bool | str | IdRule | None]"
_WORD_IDS = IdRule("a-zA-Z0-9_-")
_NINE_CHARACTER_IDS = IdRule("a-zA-Z0-9", 9, exact=True)


class ErrorPattern(Struct, frozen=True):
    """A pattern for the text of an error, its meaning, and the names of the rules to suspect."""

    pattern: str
    """A regular expression."""
    rules: tuple[str, ...]
    """Names of rules, the likeliest first."""
    meaning: str
    also: str = ""
    """A second regular expression that must match too."""
    implies: ProfileFields = {}
    """Fields of the provider's profile that the error reveals."""

    def matches(self, text: str) -> bool:
        """True if the text matches the pattern."""
        return _matches(self.pattern, text) and (not self.also or _matches(self.also, text))


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


_TOO_LONG = r"string too long.{0,20}expected a string with maximum length \d+"
_MISSING_RESULT_RULES = (
    "missing-result",
    "partial-batch",
    "result-separated",
    "results-split",
    "result-not-first",
    "server-tool-as-client",
    "calls-split",
)
_ORPHAN_RULES = (
    "orphan-result",
    "history-starts-with-result",
    "result-separated",
    "id-empty",
    "call-dropped-keep-result",
    "result-before-call",
)
_COUNT_RULES = (
    "count-mismatch",
    "partial-batch",
    "results-split",
    "calls-split",
    "dup-result",
    "id-reused-across-turns",
)
_ARGUMENT_RULES = (
    "args-invalid-json",
    "args-empty-string",
    "args-wrong-type",
    "args-double-encoded",
    "args-merged",
)
_SIGNATURE_RULES = ("signature-missing", "signature-foreign", "calls-split")
_REASONING_RULES = ("reasoning-missing", "reasoning-dangling", "item-id-stale")

ERROR_PATTERNS = (
    # --- roles ---
    ErrorPattern(
        r"(tool_use|tool_result|toolUse|toolResult)\W{0,3}blocks? can only be in",
        rules=("wrong-role",),
        meaning="a call stands in a message of the user, or a result in one of the assistant",
        implies={"rejects_orphan_results": True, "rejects_missing_results": True},
    ),
    # --- ids ---
    ErrorPattern(
        _TOO_LONG,
        rules=("id-too-long", "id-is-result-content", "id-carries-payload", "id-composite"),
        meaning="an id is longer than this provider accepts",
        also=r"tool_calls\W{0,2}\[|tool_call_id",
    ),
    ErrorPattern(
        _TOO_LONG,
        rules=("id-too-long",),
        meaning="the id of a call is longer than this provider accepts",
        also=r"\.call_id\b",
    ),
    ErrorPattern(
        r"expected an id that begins with '(fc|ctc|msg|rs|ws)",
        rules=("item-id-prefix", "item-id-as-call-id"),
        meaning=(
            "an item id does not have the prefix of its item type; it is not the id that pairs a"
            " call with its result"
        ),
    ),
    ErrorPattern(
        r"expected an id that contains letters, numbers, underscores, or dashes",
        rules=("item-id-prefix",),
        meaning="an item id is empty, or has characters that are not accepted, such as dashes",
    ),
    ErrorPattern(
        r"empty string\. expected a string with minimum length 1",
        rules=("id-empty",),
        meaning="the id of a call or result is empty",
        also=r"call_id|tool_calls\[\d+\]\.id",
        implies={"requires_ids": True},
    ),
    ErrorPattern(
        r"empty string\. expected a string with minimum length 1",
        rules=("name-empty", "name-missing"),
        meaning="the name of a tool is empty",
        also=r"function\.name|\]\.name",
    ),
    ErrorPattern(
        r"empty array\. expected an array with minimum length 1",
        rules=("empty-tool-calls",),
        meaning="a message has an empty list of calls",
        also="tool_calls",
        implies={"rejects_empty_tool_calls": True},
    ),
    ErrorPattern(
        r"expected a string, but got null",
        rules=("id-missing",),
        meaning="the id of a call or result is null",
        also=r"\.id\b|call_id",
        implies={"requires_ids": True},
    ),
    ErrorPattern(
        r"must have a .?tool_call_id|property .?tool_call_id.? is missing|tool_use_id: field"
        r" required|id cannot be empty",
        rules=("id-missing", "id-empty"),
        meaning="a call or result has no id",
        implies={"requires_ids": True},
    ),
    ErrorPattern(
        r"not found in .?tool_calls.? of previous message",
        rules=("id-is-result-content", "id-foreign", *_ORPHAN_RULES),
        meaning="a result names a call that is not in the message before it",
        implies={"rejects_orphan_results": True},
    ),
    # --- duplicates ---
    ErrorPattern(
        r"duplicate value for .?tool_call_id|toolresult blocks.{0,200}contain duplicate ids|must"
        r" have a single result",
        rules=("dup-result",),
        meaning="a call has more than one result",
        implies={"rejects_duplicate_results": True},
    ),
    ErrorPattern(
        r"tool_use.? ids must be unique|is duplicated|tooluse blocks.{0,200}contain duplicate ids",
        rules=("id-dup-in-turn", "id-reused-across-turns", "id-dup-call"),
        meaning="two calls have the same id",
        implies={"ids_unique_in_request": True},
    ),
    ErrorPattern(
        r"duplicate item found with id", rules=("duplicate-item",), meaning="an item occurs twice"
    ),
    # --- pairs ---
    ErrorPattern(
        r"no tool output found for|tool results are missing",
        rules=_MISSING_RESULT_RULES,
        meaning="a call has no result",
        implies={"rejects_missing_results": True},
    ),
    ErrorPattern(
        r"did not have response messages|insufficient tool messages|without .?tool_result.? blocks"
        r" immediately after"
        r"|expected toolresult blocks|did not find \d+ .?tool_result.? block|do not have a"
        r" corresponding toolmessage"
        r"|must be followed by tool messages",
        rules=_MISSING_RESULT_RULES,
        meaning="a call has no result directly after it",
        implies={"rejects_missing_results": True, "result_placement": "next"},
    ),
    ErrorPattern(
        r"must be a response to a prec\w+ing message|unexpected .?tool_use_id.? found"
        r"|no tool call found for function call output|no previous assistant message with a tool"
        r" call"
        r"|tool id\(.{0,200}?\) not found \(2013\)|tool_call_id.{0,100}?\s+is not found|unexpected"
        r" tool call id"
        r"|has no corresponding tooluse|missing corresponding tool call for tool response",
        rules=_ORPHAN_RULES,
        meaning="a result has no call directly before it",
        implies={"rejects_orphan_results": True},
    ),
    ErrorPattern(
        r"does not follow tool call \(2013\)|tool call and result not match",
        rules=("result-separated", "result-with-extra", "id-dup-in-turn"),
        meaning="a result does not directly follow its call, or its message has other parts",
        implies={"result_placement": "alone"},
    ),
    ErrorPattern(
        r"corresponding .?server_tool_use.? block before it",
        rules=("server-tool-unpaired",),
        meaning="the result of a server tool has no call",
        implies={"server_results_stay_in_message": True},
    ),
    ErrorPattern(
        r"number of function response parts is equal|not the same number of function calls and"
        r" responses"
        r"|exceeds the number of tooluse blocks",
        rules=_COUNT_RULES,
        meaning="a turn does not have as many results as calls",
        implies={
            "rejects_missing_results": True,
            "rejects_orphan_results": True,
            "rejects_duplicate_results": True,
        },
    ),
    ErrorPattern(
        r"function (call|response) turn comes immediately after",
        rules=("history-starts-with-call", "result-separated", "result-with-extra"),
        meaning="calls or results are not in the position that this provider requires",
        implies={"call_needs_preceding_user": True, "result_placement": "alone"},
    ),
    ErrorPattern(
        r"functionresponse\.(id|name).{0,200}does not match|function_response\.name: name cannot be"
        r" empty",
        rules=("results-out-of-order", "result-name-mismatch"),
        meaning="a result does not have the id or name of its call",
        implies={"results_follow_call_order": True, "results_need_tool_name": True},
    ),
    # --- formats of ids ---
    ErrorPattern(
        r"unknown name \"id\" at 'contents",
        rules=("id-field-unsupported",),
        meaning="this provider has no field for the id of a call",
        implies={"has_id_field": False},
    ),
    ErrorPattern(
        r"should match pattern '\^\[a-zA-Z0-9_-\]\+\$'",
        rules=("id-bad-charset", "id-empty"),
        meaning="an id is empty or has characters other than letters, digits, _ and -",
        also=r"id\b",
        implies={"id_rule": _WORD_IDS, "accepted_ids": None, "requires_ids": True},
    ),
    ErrorPattern(
        r"must be a-z, A-Z, 0-9, with a length of 9|alphanumeric strings with length 9",
        rules=("id-wrong-length", "id-bad-charset", "id-empty"),
        meaning="an id is not nine letters or digits",
        implies={"id_rule": _NINE_CHARACTER_IDS, "accepted_ids": None, "requires_ids": True},
    ),
    # --- roles ---
    ErrorPattern(
        r"unexpected role .?user.? after role .?tool",
        rules=("user-after-tool", "trailing-assistant"),
        meaning="a user message directly follows a result; an assistant message must come first",
        implies={"no_user_after_tool": True},
    ),
    ErrorPattern(
        r"expected last role to be one of",
        rules=("trailing-assistant", "user-after-tool"),
        meaning="the request ends with an assistant message",
        implies={"must_end_with_user_or_tool": True},
    ),
    # --- reasoning ---
    ErrorPattern(
        r"missing a .?thought_?signature",
        rules=_SIGNATURE_RULES,
        meaning="a call lacks its thought signature",
        implies={"reasoning_to_return": "signature", "reasoning_models": ".*"},
    ),
    ErrorPattern(
        r"corrupted thought signature|invalid .?signature.? in .?thinking",
        rules=("signature-foreign", "signature-missing", "calls-split"),
        meaning="a signature was not generated by this endpoint",
    ),
    ErrorPattern(
        r"without its required .?reasoning.? item|without its required following item|items are not"
        r" persisted",
        rules=_REASONING_RULES,
        meaning=(
            "an item was sent without its reasoning item, or a reasoning item without the item that"
            " follows it, or neither is stored"
        ),
        implies={"reasoning_to_return": "reasoning"},
    ),
    ErrorPattern(
        r"expected .?thinking.? or .?redacted_thinking",
        rules=("thinking-missing",),
        meaning="thinking is enabled, and the newest turn with calls lacks its thinking block",
        implies={"reasoning_to_return": "thinking"},
    ),
    ErrorPattern(
        r"reasoning_content.{0,200}(missing|must be passed back)|missing"
        r" .?reasoning_content|reasoning_text",
        rules=("reasoning-content-missing",),
        meaning="the reasoning before a call must be sent back with it",
        implies={
            "reasoning_to_return": "reasoning_content",
            "reasoning_models": ".*",
            "reasoning_needed_in_every_turn": True,
        },
    ),
    # --- arguments ---
    ErrorPattern(
        r"item pairs from a mapping",
        rules=_ARGUMENT_RULES,
        meaning="the arguments of a call are not a JSON object",
        implies={"arguments_format": "object"},
    ),
    ErrorPattern(
        r"not a valid JSON string|invalid function arguments json string",
        rules=_ARGUMENT_RULES,
        meaning="the arguments of a call are not JSON",
        implies={"arguments_format": "json"},
    ),
    # --- errors that coding agents and gateways show ---
    ErrorPattern(
        r"tool use concurrency issues",
        rules=("missing-result", "orphan-result", "result-separated", "id-dup-in-turn"),
        meaning="calls and results of the session do not match, so that it cannot be resumed",
        implies={"rejects_missing_results": True, "rejects_orphan_results": True},
    ),
    ErrorPattern(
        r"encrypted[ _]content.{0,200}(could not be|cannot be|failed to be) (verified|decrypted)",
        rules=("signature-foreign", "reasoning-dangling", "item-id-stale"),
        meaning=(
            "encrypted reasoning was made by another account, region or deployment; it has to be"
            " removed"
        ),
    ),
    ErrorPattern(
        r"conversation blocks and tool ?(use|result) blocks cannot be provided in the same turn",
        rules=("result-with-extra", "result-not-first"),
        meaning="a message with results holds other parts too",
        implies={"result_placement": "alone"},
    ),
    ErrorPattern(
        r"roles must alternate|role.{0,20} must alternate",
        rules=("results-split", "calls-split", "result-separated", "history-starts-with-call"),
        meaning="two messages in a row have the same role",
    ),
    ErrorPattern(
        r"output of tool call should be .{0,20}input text",
        rules=("output-not-string", "content-shape"),
        meaning="a result holds other parts than text",
    ),
    # --- other ---
    ErrorPattern(
        r"toolConfig field must be defined",
        rules=("tools-undefined",),
        meaning="the history has calls, but the request defines no tools",
        implies={"calls_need_tool_definitions": True},
    ),
    ErrorPattern(
        r"cannot be empty when status value is error",
        rules=("content-shape",),
        meaning="an error result has no text",
        implies={"rejects_blank_text": True},
    ),
    ErrorPattern(
        r"string does not match pattern",
        rules=("name-bad-charset", "name-too-long"),
        meaning="the name of a tool is too long, or has characters that are not accepted",
        also=r"tools\W{0,2}\[|custom\.name|\.name\b",
        implies={"accepted_names": None},
    ),
    ErrorPattern(
        r"custom\.name: string should match|invalid function name",
        rules=("name-bad-charset", "name-too-long"),
        meaning="the name of a tool is too long, or has characters that are not accepted",
        implies={"accepted_names": None},
    ),
    ErrorPattern(
        r"invalid value: 'tool'\. supported values",
        rules=("wrong-vocabulary",),
        meaning="a Chat Completions message is among the items of a Responses request",
    ),
    # --- errors reported in the same sources as those above ---
    ErrorPattern(
        _TOO_LONG,
        rules=("name-too-long",),
        meaning="the name of a tool is longer than this provider accepts",
        also=r"\.name'?:",
        implies={"accepted_names": None},
    ),
    ErrorPattern(
        _TOO_LONG,
        rules=("id-carries-payload", "id-composite", "item-id-prefix"),
        meaning="an item id is longer than this provider accepts",
        also=r"input\[\d+\]\.id\b",
    ),
    ErrorPattern(
        r"'NoneType' object is not iterable",
        rules=("content-shape",),
        meaning="a message has null instead of text",
        also="wrong_api_format",
        implies={"assistant_content": "some"},
    ),
    # --- wrong types, from servers that check types first ---
    ErrorPattern(
        r"id'?: expected a string, but got an?\b|(?:tool_use\.id|tool_use_id): input should be a"
        r" valid string",
        rules=("id-not-string",),
        meaning="an id is not a string",
        implies={"requires_ids": True},
    ),
    ErrorPattern(
        r"tool_use\.id: field required",
        rules=("id-missing",),
        meaning="a call has no id",
        implies={"requires_ids": True},
    ),
    ErrorPattern(
        r"failed to satisfy constraint: member must",
        rules=("id-missing", "id-empty", "id-bad-charset", "id-too-long", "id-not-string"),
        meaning="the id of a call or result is missing, empty, or not in the accepted format",
        also="toolUseId",
        implies={"requires_ids": True},
    ),
    ErrorPattern(
        r"failed to satisfy constraint: member must",
        rules=("name-empty", "name-missing", "name-bad-charset", "name-too-long"),
        meaning="the name of a tool is missing, or not in the accepted format",
        also=r"tool(?:Use|Spec)?\.name\b",
    ),
    ErrorPattern(
        r"tool use with id .{0,100}was found without a corresponding",
        rules=("server-tool-unpaired",),
        meaning="the call of a server tool has no result",
        implies={"server_results_stay_in_message": True},
    ),
    ErrorPattern(
        r"missing required parameter: '?messages\[\d+\]\.role|unknown parameter:"
        r" '?input\[\d+\]\.tool_calls",
        rules=("wrong-vocabulary",),
        meaning="an item is among messages, or a message with calls among items",
    ),
    ErrorPattern(
        r"expected one of .{0,60}, but got|tool_result\.content: input should"
        r" be|function_response\.response'"
        r"|toolresult\.content",
        rules=("output-not-string", "content-shape"),
        meaning="the output of a result does not have the required type",
        also=r"output|tool_result|toolResult|function_response|content",
    ),
    ErrorPattern(
        r"arguments'?: expected a string|tool_use\.input: input should be a valid"
        r" dictionary|function_call\.args' \("
        r"|tooluse\.input is invalid",
        rules=_ARGUMENT_RULES,
        meaning="the arguments of a call do not have the required type",
        implies={"arguments_format": "object"},
    ),
    ErrorPattern(
        r"tool_use\.name: string should have at least 1|function_call\.name: name cannot be empty"
        r"|\.name'?: expected a string, but got|tool_use\.name: field required",
        rules=("name-empty", "name-missing"),
        meaning="a call has no name",
    ),
    ErrorPattern(
        r"tool names must be unique|duplicate function declaration",
        rules=("name-collision",),
        meaning="two tool definitions have the same name",
        implies={"rejects_duplicate_tool_names": True},
    ),
    ErrorPattern(
        r"tool choice '.{0,200}' not found in|not found in provided tools",
        rules=("name-unknown",),
        meaning="the tool choice names a tool that is not defined",
        implies={"tool_choice_must_exist": True},
    ),
    ErrorPattern(
        r"the following must be satisfied.{0,100}\.content' : value must be a string",
        rules=("content-shape",),
        meaning="the content of a message with calls is a list; it must be text",
        implies={"assistant_content": "text"},
    ),
    ErrorPattern(
        r"text content blocks must be non-empty|the text field .{0,80}is blank"
        r"|the content field in the message object .{0,60}is empty",
        rules=("content-shape",),
        meaning="a text is empty or blank",
        implies={"rejects_blank_text": True},
    ),
    ErrorPattern(
        r"unknown variant .?function",
        rules=("legacy-function-call",),
        meaning="the deprecated role `function` is not supported",
        implies={"accepts_function_call": False},
    ),
)

PROVIDER_PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"with maximum length 40\b", ("openai-chat-legacy",)),
    (r"after role .?tool", ("mistral-legacy",)),
    (
        r"with a length of 9|with length 9|same number of function calls and responses|unexpected"
        r" tool call id"
        r"|expected last role to be|\b32[38]0\b",
        ("mistral", "bedrock-mistral"),
    ),
    (r"\(2013\)", ("minimax", "minimax-anthropic")),
    (r"reasoning_text", ("deepseek-responses",)),
    (
        r"insufficient tool messages|in the thinking mode|at message index",
        ("deepseek", "deepseek-responses"),
    ),
    (
        (
            r"tool call id \S+ is duplicated|tool_call_id.{0,100}?\s+is not found|thinking is"
            r" enabled but reasoning_content"
        ),
        ("kimi",),
    ),
    (r"InternalError\.Algo|\bmessage\[\d+\]\.role", ("qwen",)),
    (r"the following must be satisfied", ("groq",)),
    (r"wrong_api_format", ("cerebras",)),
    (r"arguments to a tool_call with id", ("xai",)),
    (r"unknown name \"id\"", ("vertex-gemini-v1", "vertex-gemini")),
    (r"toolu_vrtx_", ("vertex-anthropic",)),
    (r"messages\.\[\d+\]", ("azure-openai",)),
)
"""Texts that only some providers use, with the names of their profiles on each wire."""


class References(Struct, frozen=True):
    """What the text of an error refers to."""

    text: str
    ids: tuple[str, ...]
    """Call ids and item ids."""
    paths: tuple[JsonPath, ...]
    """Paths in the body."""
    max_length: int
    """The maximum length that the text states; 0 if it states none."""


_MAX_TEXT = 50_000
"""Only this many characters are read: a longer text is a log. The patterns are bounded too, so that
no text takes long."""
_ESCAPED_QUOTE = re.compile(r"\\{1,8}([\"'/`])")
_ESCAPED_CODE = re.compile(r"\\{1,8}u00([0-9a-f]{2})", re.IGNORECASE)
_STEP = r"\.?\[[0-9]{1,9}\]|\.[0-9]{1,9}\b"
_PATH = re.compile(
    rf"\b(messages?|input|contents|tools)((?:{_STEP})(?:{_STEP}|\.[a-z_]\w*)*)", re.IGNORECASE
)
_INDEX = re.compile(r"\b(?:message )?index ([0-9]{1,9})\b", re.IGNORECASE)
_MAX_LENGTH = re.compile(r"maximum length ([0-9]{1,9})\b", re.IGNORECASE)
_ID_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w.:|\[-])((?:call|toolu|tooluse|srvtoolu|mcptoolu|fc|rs|msg|ws|ctc|adk|tool|chatcmpl-tool|functions)[_.-][\w.:|-]{0,300}\d[\w:|-]{0,300})",
        r"(?:tool_call_id|tool_use_id|call_id)['\"`]? of ['\"`]([^'\"`]{1,300})['\"`]",
        r"tool id\(([^()]{1,300})\)",
        r"tool call id (?:was )?([^\s'\"`,;]{1,300}) (?:but|in|is)\b",
        r"tool_call_id[: ]{1,2}([^\s'\"`,;]{1,300}) is not found",
        r"\bcall_?id:? ['\"`]?([^\s'\"`,;.]+)",
        r"\bwith id ['\"`]?([^\s'\"`,;]+)",
        r"\bitem ['\"`]([^\s'\"`]+)['\"`]",
    )
)
_ID_LIST = re.compile(r"\b(?:following )?ids?: ([\w.:|-]+(?:, ?[\w.:|-]+)*)", re.IGNORECASE)


def unescape(text: str) -> str:
    """The text without JSON escapes, also nested ones, if it was copied from JSON."""
    text = _ESCAPED_QUOTE.sub(r"\1", text[:_MAX_TEXT])
    return _ESCAPED_CODE.sub(lambda match: chr(int(match[1], 16)), text)


def read_references(text: str) -> References:
    """The ids, paths and maximum length in an unescaped text."""
    ids = [match[1] for pattern in _ID_PATTERNS for match in pattern.finditer(text)]
    ids += [item.strip() for match in _ID_LIST.finditer(text) for item in match[1].split(",")]
    ids = [call_id.rstrip(".:") for call_id in ids]
    max_length = _MAX_LENGTH.search(text)
    return References(
        text,
        ids=tuple(dict.fromkeys(call_id for call_id in ids if call_id)),
        paths=tuple(dict.fromkeys(_read_paths(text))),
        max_length=int(max_length[1]) if max_length else 0,
    )


def _read_paths(text: str) -> list[JsonPath]:
    """The paths in a text, up to their last index: what follows is a field or a type."""
    paths: list[JsonPath] = []
    for match in _PATH.finditer(text):
        steps = re.findall(r"[0-9]+|[a-z_]\w*", match[2], re.IGNORECASE)
        last = max(n for n, step in enumerate(steps) if step.isdecimal())
        root = "messages" if match[1].lower().startswith("message") else match[1].lower()
        paths.append(
            (root, *(int(step) if step.isdecimal() else step for step in steps[: last + 1]))
        )
    paths += [("messages", int(match[1])) for match in _INDEX.finditer(text)]
    return paths


def match_errors(text: str) -> list[ErrorPattern]:
    """The error patterns that an unescaped text matches, in order."""
    return [pattern for pattern in ERROR_PATTERNS if pattern.matches(text)]


def match_providers(text: str) -> tuple[str, ...]:
    """The profiles whose providers use the words of an unescaped text, the likeliest first."""
    return tuple(
        name for pattern, names in PROVIDER_PATTERNS if _matches(pattern, text) for name in names
    )
