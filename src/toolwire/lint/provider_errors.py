"""What providers write when they refuse a history: the words to look for, what they mean, and the
rules to suspect.

Rows stand in the order in which they are tried; likelier suspects come first. A refusal is a fact
about the one who wrote it, so a row also says what it proves of the provider, whatever is known of
it otherwise. Knows texts, not bodies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JsonPath

Proof: TypeAlias = "Mapping[str, bool | str | IdRule | None]"
_WORD = IdRule("a-zA-Z0-9_-")
_NINE = IdRule("a-zA-Z0-9", 9, exact=True)


class Sign(Struct, frozen=True):
    """Words that betray a fault: what they mean, and the names of the rules to suspect, the
    likeliest first."""

    words: str
    """A regular expression."""
    suspects: tuple[str, ...]
    means: str
    also: str = ""
    """Another one that the text must hold too."""
    proves: Proof = {}
    """What the provider checks, as fields of its profile."""

    def fits(self, text: str) -> bool:
        """Whether a text holds these words."""
        return _held(self.words, text) and (not self.also or _held(self.also, text))


def _held(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


_LONG = r"string too long.{0,20}expected a string with maximum length \d+"
_UNANSWERED = (
    "missing-result",
    "partial-batch",
    "result-separated",
    "results-split",
    "result-not-first",
    "server-tool-as-client",
    "calls-split",
)
_UNASKED = (
    "orphan-result",
    "history-starts-with-result",
    "result-separated",
    "id-empty",
    "call-dropped-keep-result",
    "result-before-call",
)
_COUNTED = (
    "count-mismatch",
    "partial-batch",
    "results-split",
    "calls-split",
    "dup-result",
    "id-reused-across-turns",
)
_ARGUMENTS = (
    "args-invalid-json",
    "args-empty-string",
    "args-wrong-type",
    "args-double-encoded",
    "args-merged",
)
_SIGNED = ("signature-missing", "signature-foreign", "calls-split")
_THOUGHT = ("reasoning-missing", "reasoning-dangling", "item-id-stale")

SIGNS = (
    # --- one id ---
    Sign(
        _LONG,
        ("id-too-long", "id-is-result-content", "id-carries-payload", "id-composite"),
        "an id is longer than this provider takes",
        also=r"tool_calls\W{0,2}\[|tool_call_id",
    ),
    Sign(
        _LONG,
        ("id-too-long",),
        "the id of a call is longer than this provider takes",
        also=r"\.call_id\b",
    ),
    Sign(
        r"expected an id that begins with '(fc|ctc|msg|rs|ws)",
        ("item-id-prefix", "item-id-as-call-id"),
        "the id of an item does not begin as ids of its type do; it is not the id that ties a call"
        " to its result",
    ),
    Sign(
        r"expected an id that contains letters, numbers, underscores, or dashes",
        ("item-id-prefix",),
        "the id of an item is empty or has characters that are not taken, dashes among them",
    ),
    Sign(
        r"empty string\. expected a string with minimum length 1",
        ("id-empty",),
        "the id of a call or result is empty",
        also=r"call_id|tool_calls\[\d+\]\.id",
        proves={"requires_ids": True},
    ),
    Sign(
        r"empty string\. expected a string with minimum length 1",
        ("name-empty", "name-missing"),
        "the name of a tool is empty",
        also=r"function\.name|\]\.name",
    ),
    Sign(
        r"empty array\. expected an array with minimum length 1",
        ("empty-tool-calls",),
        "a message has a list of calls with nothing in it",
        also="tool_calls",
        proves={"rejects_empty_tool_calls": True},
    ),
    Sign(
        r"expected a string, but got null",
        ("id-missing",),
        "the id of a call or result is null",
        also=r"\.id\b|call_id",
        proves={"requires_ids": True},
    ),
    Sign(
        r"must have a .?tool_call_id|property .?tool_call_id.? is missing|tool_use_id: field"
        r" required|id cannot be empty",
        ("id-missing", "id-empty"),
        "a call or result has no id",
        proves={"requires_ids": True},
    ),
    Sign(
        r"not found in .?tool_calls.? of previous message",
        ("id-is-result-content", "id-foreign", *_UNASKED),
        "a result names a call that the message before it did not make",
        proves={"rejects_orphan_results": True},
    ),
    # --- twice ---
    Sign(
        r"duplicate value for .?tool_call_id|toolresult blocks.{0,200}contain duplicate ids|must"
        r" have a single result",
        ("dup-result",),
        "a call has more than one result",
        proves={"rejects_duplicate_results": True},
    ),
    Sign(
        r"tool_use.? ids must be unique|is duplicated|tooluse blocks.{0,200}contain duplicate ids",
        ("id-dup-in-turn", "id-reused-across-turns", "id-dup-call"),
        "two calls have the same id",
        proves={"ids_unique_in_request": True},
    ),
    Sign(r"duplicate item found with id", ("duplicate-item",), "the same item is there twice"),
    # --- pairs ---
    Sign(
        r"no tool output found for|tool results are missing",
        _UNANSWERED,
        "a call has no result",
        proves={"rejects_missing_results": True},
    ),
    Sign(
        r"did not have response messages|insufficient tool messages|without .?tool_result.? blocks"
        r" immediately after"
        r"|expected toolresult blocks|did not find \d+ .?tool_result.? block|do not have a"
        r" corresponding toolmessage"
        r"|must be followed by tool messages",
        _UNANSWERED,
        "a call has no result directly after it",
        proves={"rejects_missing_results": True, "result_placement": "next"},
    ),
    Sign(
        r"must be a response to a prec\w+ing message|unexpected .?tool_use_id.? found"
        r"|no tool call found for function call output|no previous assistant message with a tool"
        r" call"
        r"|tool id\(.{0,200}?\) not found \(2013\)|tool_call_id.{0,100}?\s+is not found|unexpected"
        r" tool call id"
        r"|has no corresponding tooluse|missing corresponding tool call for tool response",
        _UNASKED,
        "a result has no call directly before it",
        proves={"rejects_orphan_results": True},
    ),
    Sign(
        r"does not follow tool call \(2013\)|tool call and result not match",
        ("result-separated", "result-with-extra", "id-dup-in-turn"),
        "a result does not directly follow its call, or is not alone there",
        proves={"result_placement": "alone"},
    ),
    Sign(
        r"corresponding .?server_tool_use.? block before it",
        ("server-tool-unpaired",),
        "the result of a tool that the provider ran stands without its call",
        proves={"server_results_stay_in_message": True},
    ),
    Sign(
        r"number of function response parts is equal|not the same number of function calls and"
        r" responses"
        r"|exceeds the number of tooluse blocks",
        _COUNTED,
        "a turn has not as many results as calls",
        proves={
            "rejects_missing_results": True,
            "rejects_orphan_results": True,
            "rejects_duplicate_results": True,
        },
    ),
    Sign(
        r"function (call|response) turn comes immediately after",
        ("history-starts-with-call", "result-separated", "result-with-extra"),
        "calls and results are not in the places where this provider wants them",
        proves={"call_needs_preceding_user": True, "result_placement": "alone"},
    ),
    Sign(
        r"functionresponse\.(id|name).{0,200}does not match|function_response\.name: name cannot be"
        r" empty",
        ("results-out-of-order", "result-name-mismatch"),
        "a result does not bear the id or name of its call",
        proves={"results_follow_call_order": True, "results_need_tool_name": True},
    ),
    # --- what an id may be ---
    Sign(
        r"unknown name \"id\" at 'contents",
        ("id-field-unsupported",),
        "this provider has no field for the id of a call",
        proves={"has_id_field": False},
    ),
    Sign(
        r"should match pattern '\^\[a-zA-Z0-9_-\]\+\$'",
        ("id-bad-charset", "id-empty"),
        "an id is empty or has characters other than letters, digits, _ and -",
        also=r"id\b",
        proves={"id_rule": _WORD, "accepted_ids": None, "requires_ids": True},
    ),
    Sign(
        r"must be a-z, A-Z, 0-9, with a length of 9|alphanumeric strings with length 9",
        ("id-wrong-length", "id-bad-charset", "id-empty"),
        "an id is not nine letters or digits",
        proves={"id_rule": _NINE, "accepted_ids": None, "requires_ids": True},
    ),
    # --- roles ---
    Sign(
        r"unexpected role .?user.? after role .?tool",
        ("user-after-tool", "trailing-assistant"),
        "a user speaks directly after a result, and an assistant should first",
        proves={"no_user_after_tool": True},
    ),
    Sign(
        r"expected last role to be one of",
        ("trailing-assistant", "user-after-tool"),
        "the request ends with a message of the assistant",
        proves={"must_end_with_user_or_tool": True},
    ),
    # --- what was thought ---
    Sign(
        r"missing a .?thought_?signature",
        _SIGNED,
        "a call came back without the signature it was made with",
        proves={"reasoning_to_return": "signature", "reasoning_models": ".*"},
    ),
    Sign(
        r"corrupted thought signature|invalid .?signature.? in .?thinking",
        (_SIGNED[1], _SIGNED[0], _SIGNED[2]),
        "a signature is not one that this very endpoint made",
    ),
    Sign(
        r"without its required .?reasoning.? item|without its required following item|items are not"
        r" persisted",
        _THOUGHT,
        "an item and the reasoning that belongs to it came back one without the other, or are not"
        " stored",
        proves={"reasoning_to_return": "reasoning"},
    ),
    Sign(
        r"expected .?thinking.? or .?redacted_thinking",
        ("thinking-missing",),
        "thinking is on, and the newest turn with calls does not begin with what was thought",
        proves={"reasoning_to_return": "thinking"},
    ),
    Sign(
        r"reasoning_content.{0,200}(missing|must be passed back)|missing"
        r" .?reasoning_content|reasoning_text",
        ("reasoning-content-missing",),
        "what the model thought before a call must come back with it",
        proves={
            "reasoning_to_return": "reasoning_content",
            "reasoning_models": ".*",
            "reasoning_needed_in_every_turn": True,
        },
    ),
    # --- arguments ---
    Sign(
        r"item pairs from a mapping",
        _ARGUMENTS,
        "the arguments of a call are no JSON object",
        proves={"arguments_format": "object"},
    ),
    Sign(
        r"not a valid JSON string|invalid function arguments json string",
        _ARGUMENTS,
        "the arguments of a call are not JSON",
        proves={"arguments_format": "json"},
    ),
    # --- the rest ---
    Sign(
        r"toolConfig field must be defined",
        ("tools-undefined",),
        "the history holds calls, but no tools are offered",
        proves={"calls_need_tool_definitions": True},
    ),
    Sign(
        r"cannot be empty when status value is error",
        ("content-shape",),
        "a result that is an error says nothing",
        proves={"rejects_blank_text": True},
    ),
    Sign(
        r"string does not match pattern",
        ("name-bad-charset", "name-too-long"),
        "the name of a tool has characters that are not taken, or too many",
        also=r"tools\W{0,2}\[|custom\.name|\.name\b",
        proves={"accepted_names": None},
    ),
    Sign(
        r"custom\.name: string should match|invalid function name",
        ("name-bad-charset", "name-too-long"),
        "the name of a tool has characters that are not taken, or too many",
        proves={"accepted_names": None},
    ),
    Sign(
        r"invalid value: 'tool'\. supported values",
        ("wrong-vocabulary",),
        "a message of the chat shape stands among items, where results are items of their own",
    ),
    # --- seen in the sources of the rows above, without one of their own ---
    Sign(
        _LONG,
        ("name-too-long",),
        "the name of a tool is longer than this provider takes",
        also=r"\.name'?:",
        proves={"accepted_names": None},
    ),
    Sign(
        _LONG,
        ("id-carries-payload", "id-composite", "item-id-prefix"),
        "the id of an item is longer than this provider takes",
        also=r"input\[\d+\]\.id\b",
    ),
    Sign(
        r"'NoneType' object is not iterable",
        ("content-shape",),
        "a message has null where a text is wanted",
        also="wrong_api_format",
        proves={"assistant_content": "some"},
    ),
    # --- fields of another type, as servers say it that check types before anything else ---
    Sign(
        r"id'?: expected a string, but got an?\b|(?:tool_use\.id|tool_use_id): input should be a"
        r" valid string",
        ("id-not-string",),
        "an id is not a text",
        proves={"requires_ids": True},
    ),
    Sign(
        r"tool_use\.id: field required",
        ("id-missing",),
        "a call has no id",
        proves={"requires_ids": True},
    ),
    Sign(
        r"failed to satisfy constraint: member must",
        ("id-missing", "id-empty", "id-bad-charset", "id-too-long", "id-not-string"),
        "the id of a call or result is missing, empty, or not of the shape that is taken",
        also="toolUseId",
        proves={"requires_ids": True},
    ),
    Sign(
        r"failed to satisfy constraint: member must",
        ("name-empty", "name-missing", "name-bad-charset", "name-too-long"),
        "the name of a tool is missing, or not of the shape that is taken",
        also=r"tool(?:Use|Spec)?\.name\b",
    ),
    Sign(
        r"tool use with id .{0,100}was found without a corresponding",
        ("server-tool-unpaired",),
        "a call that the provider ran stands without its result",
        proves={"server_results_stay_in_message": True},
    ),
    Sign(
        r"missing required parameter: '?messages\[\d+\]\.role|unknown parameter:"
        r" '?input\[\d+\]\.tool_calls",
        ("wrong-vocabulary",),
        "an item stands among messages, or a message with calls among items",
    ),
    Sign(
        r"expected one of .{0,60}, but got|tool_result\.content: input should"
        r" be|function_response\.response'"
        r"|toolresult\.content",
        ("output-not-string", "content-shape"),
        "the output of a result is not in the form it has here",
        also=r"output|tool_result|toolResult|function_response|content",
    ),
    Sign(
        r"arguments'?: expected a string|tool_use\.input: input should be a valid"
        r" dictionary|function_call\.args' \("
        r"|tooluse\.input is invalid",
        _ARGUMENTS,
        "the arguments of a call are not of the type that they have here",
        proves={"arguments_format": "object"},
    ),
    Sign(
        r"tool_use\.name: string should have at least 1|function_call\.name: name cannot be empty"
        r"|\.name'?: expected a string, but got|tool_use\.name: field required",
        ("name-empty", "name-missing"),
        "a call has no name",
    ),
    Sign(
        r"tool names must be unique|duplicate function declaration",
        ("name-collision",),
        "two tools on offer have one name",
        proves={"rejects_duplicate_tool_names": True},
    ),
    Sign(
        r"tool choice '.{0,200}' not found in|not found in provided tools",
        ("name-unknown",),
        "the tool that must be used is not on offer",
        proves={"tool_choice_must_exist": True},
    ),
    Sign(
        r"the following must be satisfied.{0,100}\.content' : value must be a string",
        ("content-shape",),
        "the content beside calls is a list, and plain text is wanted",
        proves={"assistant_content": "text"},
    ),
    Sign(
        r"text content blocks must be non-empty|the text field .{0,80}is blank"
        r"|the content field in the message object .{0,60}is empty",
        ("content-shape",),
        "a text has no words",
        proves={"rejects_blank_text": True},
    ),
    Sign(
        r"unknown variant .?function",
        ("legacy-function-call",),
        "the old role of results is not known here",
        proves={"accepts_function_call": False},
    ),
)

SPEAKERS: tuple[tuple[str, tuple[str, ...]], ...] = (
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
"""Who writes so, as profiles; one word may be said on several wires."""


class Told(Struct, frozen=True):
    """What a refusal names: ids, places in the body, and the longest that is taken (0 if it does
    not say)."""

    text: str
    ids: tuple[str, ...]
    places: tuple[JsonPath, ...]
    longest: int


_LIMIT = 50_000
"""More of a text is not looked at: it is a log, not a refusal. The patterns are bounded too, so
that no text takes long."""
_QUOTED = re.compile(r"\\{1,8}([\"'/`])")
_CODED = re.compile(r"\\{1,8}u00([0-9a-f]{2})", re.IGNORECASE)
_STEP = r"\.?\[[0-9]{1,9}\]|\.[0-9]{1,9}\b"
_PLACE = re.compile(
    rf"\b(messages?|input|contents|tools)((?:{_STEP})(?:{_STEP}|\.[a-z_]\w*)*)", re.IGNORECASE
)
_INDEX = re.compile(r"\b(?:message )?index ([0-9]{1,9})\b", re.IGNORECASE)
_NUMBER = re.compile(r"maximum length ([0-9]{1,9})\b", re.IGNORECASE)
_IDS = tuple(
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
_LISTED = re.compile(r"\b(?:following )?ids?: ([\w.:|-]+(?:, ?[\w.:|-]+)*)", re.IGNORECASE)


def plain(text: str) -> str:
    """A text without the escapes of the JSON, or the JSON in JSON, that it was cut from."""
    return _CODED.sub(lambda match: chr(int(match[1], 16)), _QUOTED.sub(r"\1", text[:_LIMIT]))


def told(text: str) -> Told:
    """What a plain text names."""
    ids = [match[1].rstrip(".:") for pattern in _IDS for match in pattern.finditer(text)]
    ids += [
        one.strip().rstrip(".:") for match in _LISTED.finditer(text) for one in match[1].split(",")
    ]
    longest = _NUMBER.search(text)
    number = int(longest[1]) if longest else 0
    return Told(
        text,
        tuple(dict.fromkeys(one for one in ids if one)),
        tuple(dict.fromkeys(_places(text))),
        number,
    )


def _places(text: str) -> list[JsonPath]:
    """Places of the body that a text names, cut after the last number: what follows is a field, or
    a type."""
    found: list[JsonPath] = []
    for match in _PLACE.finditer(text):
        steps = re.findall(r"[0-9]+|[a-z_]\w*", match[2], re.IGNORECASE)
        last = max(n for n, step in enumerate(steps) if step.isdecimal())
        root = "messages" if match[1].lower().startswith("message") else match[1].lower()
        found.append(
            (root, *(int(step) if step.isdecimal() else step for step in steps[: last + 1]))
        )
    found += [("messages", int(match[1])) for match in _INDEX.finditer(text)]
    return found


def signs(text: str) -> list[Sign]:
    """The signs that a plain text shows, in order."""
    return [sign for sign in SIGNS if sign.fits(text)]


def speakers(text: str) -> tuple[str, ...]:
    """The profiles that a plain text betrays, the likeliest first."""
    return tuple(name for pattern, names in SPEAKERS if _held(pattern, text) for name in names)
