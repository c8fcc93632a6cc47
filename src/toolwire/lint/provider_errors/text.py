"""Texts of errors as people paste them: their searchable forms, and their references.

A pasted error may be clipped, part of a log, JSON inside JSON, or wrapped by a terminal, between
words or inside one. This module knows neither rules nor providers.
"""

from __future__ import annotations

import re
from html import unescape as unescape_html
from unicodedata import normalize

from msgspec import Struct

from toolwire.conversation.json import JsonPath
from toolwire.lint.provider_errors.concepts import rate_words
from toolwire.lint.provider_errors.validators import rewrite_locations


class References(Struct, frozen=True):
    """What the text of an error refers to."""

    text: str
    ids: tuple[str, ...]
    """Call ids and item ids."""
    paths: tuple[JsonPath, ...]
    """Paths in the body."""
    max_length: int
    """The maximum length that the text states; 0 if it states none."""
    max_tokens: int
    """The smallest number of tokens in the text, which is the limit; 0 if there is none."""


_MAX_TEXT = 50_000
"""The maximum number of characters that are read: a longer text is a log. The patterns are bounded
too, so that no text takes long."""
_MAX_BREAKS = 500
_MAX_WORDS = 80
"""The number of characters on each side of a line break that show whether it divides a word."""
_ESCAPED_QUOTE = re.compile(r"\\{1,8}([\"'/`_\[\]*])")
_ESCAPED_BREAK = re.compile(r"\\{1,8}[nrt](?![a-z])|\\{1,8}[nr]")
_ESCAPED_CODE = re.compile(r"\\{1,8}u(?!d[89a-f])([0-9a-f]{4})", re.IGNORECASE)
"""An escaped character in JSON, except lone surrogates, which errors quote."""
_COLOUR = re.compile(
    r"(?:\x1b|\\{1,8}(?:u001b|x1b|033|e)|\^\[|␛)\[[0-9;?]{0,20}[a-zA-Z]", re.IGNORECASE
)
"""A control sequence of a terminal, even if its first character is written as an escape."""
_MARKUP = re.compile(
    r"<[!/]?(?:doctype|html|head|meta|title|body|script|style|link|div|span|center|hr|h\d|p|br)\b"
    r"[^<>]{0,500}>",
    re.IGNORECASE,
)
"""Tags of a page that a proxy sends instead of an error."""
_BLANKS = re.compile(r"[ \t]+")
_LINE_BREAK = re.compile(r"(?: ?[│┃|] ?|( ?))\r?\n[\s│┃|>⎿]*")
"""The end of a line, and the characters that a terminal, a box or a quote puts before the next
one. The space before the edge of a box belongs to the box, any other one to the text."""
_STACK_FRAME = re.compile(
    r"^[ \t│]*(?:File \"[^\"\n]{1,300}\", line \d+.*(?:\n[ \t│]+(?!\w*(?:Error|Exception)).*)?"
    r"|at \S.{0,300}:\d+(?::\d+)?\)?|.{0,300};\n[ \t]*\^+[ \t]*|-+> \d.*|[\^~ ]+)$",
    re.MULTILINE,
)
"""Lines of a traceback: the names in them are unrelated to the error."""
_TEMPLATE_STATEMENT = re.compile(r"\{%.{0,500}?%\}")
"""Source of a chat template, which errors of local servers quote."""
_CONTRACTION = re.compile(
    r"\b(do|does|did|is|are|was|were|has|have|had|could|should|would|must)n[^\w\s]?t\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"https?://[^\s,;)}\]\"']*|/(?:data|users?|home|usr|tmp|var|opt|root|app|library)/[^\s\"']*"
    r"|\b[a-z]:\\[^\s\"']*",
    re.IGNORECASE,
)
_PACKAGE = re.compile(r"\b(?:com|org|io|dev|net|java)\.(?:[a-z]\w{0,60}\.){1,9}(?=[A-Z])")
"""The package before the name of a class, whose words have nothing to do with the error."""
_COMPOUND = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[a-z])(?=tool_[a-z])|(?<=tool_use)(?=[a-rt-z])"
    r"|(?<=tool_result)(?=[a-rt-z])"
)
"""The border between words inside a name in code, or where marks around a name were lost."""
_ERROR_CODE = re.compile(
    r"\b(?!TOOL_CALL_(?:START|ARGS|END)S?\b)[A-Z]{2,30}(?:_[A-Z]{2,30}){1,6}\b"
    r"|_(?:required|missing|mismatch|invalid|not_found|duplicated?|unknown|empty)\b"
    r"|\b(?:duplicated?|missing|orphaned?|unexpected|unmatched)_(?=(?:tool|function|call)_)"
)
"""A name of an error, such as `TOOL_RESULT_MISSING`, or its complaint: it is a short sentence."""
_MESSAGE_FIELD = re.compile(
    r"\b(?:message|msg|detail)[\"']?\s*[:=]\s*b?[\"']([^{]{20,2000}?)(?:[\"']\s*[,}\])]|$)"
)
_PARAMETER_FIELD = re.compile(r"\bparam[\"']?\s*:\s*[\"']([\w.\[\]/]{1,200})[\"']")
"""Fields of the JSON in which providers describe an error."""
_QUOTATION = re.compile(r"`{1,3}([^`]{1,2000})`{1,3}")
"""Code in the Markdown of a report."""
_MIN_QUOTATION = 40
"""The minimum length of a quoted error: the name of a field or a program is shorter."""
_ELLIPSIS = re.compile(r"\.{3,}|…")
_LAST_WORD = re.compile(
    r"(?<![a-z_])(?!(?:tool|input|function|thought|tool_use|argument|parameter|character)$)[a-z_]{4,30}$"
)
_CLIPPED_WORDS = (
    "tool_calls tool_call_id tool_result tool_use_id function_call function_response signature"
    " thought_signature reasoning_content thinking duplicated without required followed following"
    " preceding immediately corresponding pattern characters alternate beginning unsupported"
    " supported unexpected invalid missing arguments parameters properties assistant maximum"
    " expected alphanumeric letters input_schema"
).split()
"""Words that decide the meaning of an error; the last word of a clipped text may be half of one."""
_SPACES = re.compile(r"\s+")
_QUOTES = re.compile("(?<![^\\W_])b(?=[\"'])|[\"'`´‘’“”]")
"""Quotes, and the prefix `b` of bytes before one."""
_STEP = r"\.?\[[0-9]{1,9}\]|\.[0-9]{1,9}\b"
_PATH = re.compile(
    rf"\b(messages?|input|contents|tools)((?:{_STEP})(?:{_STEP}|\.[a-z_]\w*)*)", re.IGNORECASE
)
_INDEX = re.compile(r"\b(?:message )?index ([0-9]{1,9})\b", re.IGNORECASE)
_MAX_LENGTH = re.compile(r"\bmax(?:imum)?(?: length)?(?: of)? ([0-9]{1,9})\b", re.IGNORECASE)
_TOKENS = re.compile(r"\b([0-9][0-9,]{2,11})(?: input| prompt)? (?:tokens|maximum)", re.IGNORECASE)
_ID_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w.:|\[-])((?:call|toolu|tooluse|srvtoolu|mcptoolu|fc|rs|msg|ws|ctc|adk|tool"
        r"|chatcmpl-tool|functions)[_.-][\w.:|-]{0,300}\d[\w:|-]{0,300})",
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


def remove_markup(text: str) -> str:
    """A text without the tags of a page."""
    return _MARKUP.sub(" ", text[:_MAX_TEXT]) if "<" in text else text


def unescape(text: str) -> str:
    """The text without JSON escapes, even nested ones, if it was copied from JSON."""
    text = _ESCAPED_QUOTE.sub(r"\1", unescape_html(normalize("NFKC", text[:_MAX_TEXT])))
    text = _ESCAPED_CODE.sub(lambda match: chr(int(match[1], 16)), text)
    return _ESCAPED_BREAK.sub(" ", text)


def provider_message(text: str) -> str:
    """The innermost message of the JSON in a text, with the parameter that it is about, otherwise
    the first quotation in a report; empty if the text has neither."""
    quotations = [
        code for code in _QUOTATION.findall(text[:_MAX_TEXT]) if len(code) >= _MIN_QUOTATION
    ]
    text = unescape(text)
    messages = _MESSAGE_FIELD.findall(text) or quotations[:1]
    if not messages:
        return ""
    parameter = _PARAMETER_FIELD.search(text)
    message: str = messages[-1]
    return f"{message} param: {parameter[1]}" if parameter else message


def searchable_forms(text: str) -> tuple[str, ...]:
    """A text on one line in lower case without quotes, escapes and the frames of a traceback.

    Lines may be broken between words or inside words: the first form is the likeliest one, the
    others treat all line breaks the same way.
    """
    text = _BLANKS.sub(" ", _remove_frames(_COLOUR.sub("", text[:_MAX_TEXT])))
    lines = (_join_lines(text), _LINE_BREAK.sub(" ", text), _LINE_BREAK.sub(r"\1", text))
    return tuple(dict.fromkeys(_complete_word(_to_line(line)) for line in lines))


def _complete_word(form: str) -> str:
    """A searchable form with its last word completed, if that is half of a known word."""
    last = _LAST_WORD.search(form)
    if last is None or last[0] in _CLIPPED_WORDS:
        return form
    whole = next((word for word in _CLIPPED_WORDS if word.startswith(last[0])), last[0])
    return form[: last.start()] + whole


def _remove_frames(text: str) -> str:
    return _STACK_FRAME.sub("", text).strip() or text


def _join_lines(text: str) -> str:
    """A text without line breaks. A space replaces each break, unless it divides a known word."""
    first, *rest = _LINE_BREAK.split(text, _MAX_BREAKS)
    parts = [first]
    for space, line in zip(rest[::2], rest[1::2], strict=True):
        joints = (" ", space or "")
        words = (f"{parts[-1][-_MAX_WORDS:]}{joint}{line[:_MAX_WORDS]}" for joint in joints)
        apart, together = (rate_words(_to_line(form)) for form in words)
        parts += [joints[together > apart], line]
    return _LINE_BREAK.sub(" ", "".join(parts))


def split_compounds(text: str) -> str:
    """A text with a space between words that are written as one, as in `MissingToolResultsError`,
    and without URLs and file paths, whose words are unrelated to the error."""
    text = _remove_frames(_COLOUR.sub("", text[:_MAX_TEXT]))
    text = _COMPOUND.sub(" ", _PACKAGE.sub(" ", _ADDRESS.sub(" ", text)))
    return _ERROR_CODE.sub(lambda match: match[0].replace("_", " "), text)


def _to_line(text: str) -> str:
    """A text in lower case without quotes, escapes, line breaks and template statements."""
    text = _CONTRACTION.sub(r"\1 not", _ELLIPSIS.sub("", unescape(text)))
    text = rewrite_locations(_SPACES.sub(" ", _QUOTES.sub("", text)))
    return _TEMPLATE_STATEMENT.sub(" ", text).lower()


def read_references(text: str) -> References:
    """The ids, paths, maximum length and maximum number of tokens in a text."""
    text = _SPACES.sub(" ", _LINE_BREAK.sub(" ", unescape(_COLOUR.sub("", text[:_MAX_TEXT]))))
    text = rewrite_locations(text)
    ids = [match[1] for pattern in _ID_PATTERNS for match in pattern.finditer(text)]
    ids += [item.strip() for match in _ID_LIST.finditer(text) for item in match[1].split(",")]
    ids = [call_id.rstrip(".:") for call_id in ids]
    max_length = _MAX_LENGTH.search(text)
    tokens = [int(match[1].replace(",", "")) for match in _TOKENS.finditer(text)]
    return References(
        text,
        ids=tuple(dict.fromkeys(call_id for call_id in ids if call_id)),
        paths=tuple(dict.fromkeys(_read_paths(text))),
        max_length=int(max_length[1]) if max_length else 0,
        max_tokens=min(tokens, default=0),
    )


def _read_paths(text: str) -> list[JsonPath]:
    """The paths in a text, up to their last index, after which only a field or type follows."""
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
