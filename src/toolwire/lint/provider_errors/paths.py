"""Errors that contain a path in the request: the path decides which rule is broken.

Validators of servers write few words beside a path (`Extra inputs are not permitted`, `Field
required`), and use the same words for messages, items, definitions and settings.
"""

from __future__ import annotations

from toolwire.lint.provider_errors.pattern import ErrorPattern

_INDEX = r"(?:\.\d{1,9}|\[(?:\d{1,9}|n|\.{2,3}|…)\])"
_MESSAGE = rf"\b(?:messages?|contents|(?<=body, )messages, \d+){_INDEX}"
_ITEM = rf"\binput{_INDEX}"
_FIELDS = r"[\w.\[\]]{0,80}"
_REFUSED = (
    r"(?:extra inputs? (?:are|is) not permitted|extra_forbidden|property .{0,80}is unsupported"
    r"|unknown (?:name|field|parameter)|unrecognized (?:field|key))"
)

PATH_PHRASES = (
    ErrorPattern(
        words=(
            rf"{_MESSAGE}\.{_FIELDS}\W{{1,4}}{_REFUSED}"
            rf"|{_MESSAGE}\W{{1,4}}property (?!reasoning|tool|function|content).{{1,80}}"
            " is unsupported"
        ),
        rules=("field-refused", "wrong-vocabulary", "content-shape"),
        meaning="a message contains a field that this provider does not know",
        examples=("messages.65.content.1.tool_use.text: Extra inputs are not permitted",),
    ),
    ErrorPattern(
        words=r"only (?:\w+ )?messages .{0,30}(?:can|may) have an? (?!tool|function)",
        rules=("field-refused", "wrong-vocabulary"),
        meaning="a message has a field that only messages of another role may have",
        examples=("Only messages of role 'user' can have a name.",),
    ),
    ErrorPattern(
        words=rf"unknown parameter in {_MESSAGE}{_FIELDS}",
        rules=("wrong-vocabulary", "field-refused", "content-shape"),
        meaning="a block of a message is in the format of another API",
        examples=(
            (
                'Unknown parameter in messages[1].content[0]: "tool_use", must be one of: text,'
                " image, document, toolUse, toolResult"
            ),
        ),
    ),
    ErrorPattern(
        words=rf"unknown name response at {_MESSAGE}{_FIELDS}\W{{1,3}}proto field is not repeating",
        rules=("output-not-string", "content-shape"),
        meaning="the output of a result is a list, and this API requires an object",
        examples=(
            (
                'Invalid JSON payload received. Unknown name "response" at'
                " 'contents[2].parts[0].function_response': Proto field is not repeating, cannot"
                " start list."
            ),
        ),
    ),
    ErrorPattern(
        words=(
            rf"{_ITEM}\W{{1,4}}missing required (?:field|parameter)"
            rf"|{_ITEM}\.(?!output|name|role|arguments|call_id){_FIELDS}\W{{1,4}}(?:array too long"
            r"|invalid value|expected an array with maximum length 0)"
            r"|param: /input\b"
        ),
        rules=("item-shape", "wrong-vocabulary", "content-shape"),
        meaning="an item lacks a field, or has one with a value that this API does not accept",
        examples=("`input[87]` missing required field `summary`",),
    ),
    ErrorPattern(
        words=rf"{_MESSAGE}{_FIELDS}: unknown variant image_url, expected text\b",
        rules=("media-in-result", "content-shape", "output-not-string"),
        meaning="a message contains an image, and this provider accepts only text in its place",
        implies={"text_result_models": ".*"},
        examples=("messages[12]: unknown variant `image_url`, expected `text` at line 1 column 9",),
    ),
    ErrorPattern(
        words=(
            rf"{_MESSAGE}{_FIELDS}\W{{1,3}}unknown variant (?!function\b|image_url\b)[\w-]{{1,40}},"
            r" expected|invalid value: (?:(?:in|out)put_text|input_(?:image|file)|tool_use"
            r"|tool_result|thinking|text)\b"
            r"|\b(?:in|out)put_text\b.{0,80}\b(?:should|must) be (?:in|out)put_text\b"
        ),
        rules=("wrong-vocabulary", "content-shape", "item-shape"),
        meaning="a message or a block has a role or a type of another API",
        examples=(
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        ),
    ),
    ErrorPattern(
        words=rf"(?:{_ITEM}|{_MESSAGE}){_FIELDS}\.name\W{{1,4}}(?:string )?does not match pattern",
        rules=("name-bad-charset", "name-empty"),
        meaning="the name of a tool has a character that is not allowed",
        examples=("Invalid 'input[1].name': string does not match pattern.",),
    ),
    ErrorPattern(
        words=rf"{_FIELDS}thought_?signature\W{{1,4}}\(?type_bytes",
        rules=("signature-foreign", "signature-missing"),
        meaning="a signature is not one of this provider",
        examples=("Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES)",),
    ),
)
