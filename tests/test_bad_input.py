"""Broken input raises a DecodeError with wire and path, or is read as data. It is never changed."""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from dataclasses import dataclass

import pytest
from anthropic.types import Message as AnthropicMessage
from cases import CASES, KINDS, WIRES, Case, load
from google.genai.types import GenerateContentResponse
from hand_made_histories import history_body
from openai.types.chat import ChatCompletion
from rows import rows

from toolwire import DecodeError, UsageError, decode, detect, encode, translate
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

READERS = [(wire, kind) for wire in WIRES for kind in KINDS]
on_every_reader = pytest.mark.parametrize(("wire", "kind"), READERS)


def decode_error(body: object, wire: str, kind: Kind) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode(body, wire, kind)  # type: ignore[arg-type]
    assert caught.value.wire == wire
    assert str(caught.value).startswith(wire)
    return caught.value


def assert_refused_or_written(body: object, wire: str, kind: Kind) -> None:
    """Assert that a body is refused by a DecodeError, or read and then written."""
    try:
        conversation = decode(body, wire, kind)  # type: ignore[arg-type]
    except DecodeError as error:
        assert error.wire == wire
        return
    encode(conversation, wire, kind).json()


NOT_JSON = {
    "nothing": b"",
    "blanks": b" \n\t",
    "a-cut-off-object": b'{"messages": [',
    "a-cut-off-text": b'{"messages": "',
    "single-quotes": b"{'messages': []}",
    "a-trailing-comma": b'{"messages": [],}',
    "two-values": b"{} {}",
    "not-utf-8": b'{"messages": "\xff\xfe"}',
    "utf-16": '{"messages": []}'.encode("utf-16"),
    "nan": b'{"messages": [], "temperature": NaN}',
    "infinity": b'{"messages": [], "temperature": -Infinity}',
    "a-control-character": b'{"messages": "\x00"}',
    "a-page-of-html": b"<html><body>502 Bad Gateway</body></html>",
}


@rows("text", NOT_JSON.values())
@rows("wire, kind", READERS)
def test_input_that_is_not_json_is_an_error_that_says_so(
    text: bytes, wire: str, kind: Kind
) -> None:
    error = decode_error(text, wire, kind)
    assert error.pointer == ""
    assert error.why.startswith("broken JSON: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "broken JSON: the input is empty"),
        (
            b'{"a": 1,}',
            "broken JSON: illegal trailing comma before end of object at line 1, column 8",
        ),
        (b'{"a": "\xff"}', "broken JSON: byte 7 is not UTF-8"),
        (
            gzip.compress(b'{"a": 1}', mtime=0),
            "broken JSON: the input is compressed with gzip; decompress it first",
        ),
        ('{"a": "é"}'.encode("utf-16"), "broken JSON: the input is UTF-16; save it as UTF-8"),
        (b'{"a": NaN}', "broken JSON: NaN and Infinity are not JSON numbers"),
    ],
)
def test_the_message_of_a_json_error(text: bytes, expected: str) -> None:
    why = decode_error(text, WIRES[0], "request").why
    assert why == expected or (
        "trailing comma" in expected and "column" in why
    )  # the text of the standard library differs by version


@rows("case", CASES)
def test_half_a_surrogate_pair_is_data_in_a_dict_in_text_and_in_bytes(case: Case) -> None:
    """Text that was cut inside an emoji: other languages write and read it."""
    body = put_text(case.body, "\ud83d")
    assert_refused_or_written(body, case.wire, case.kind)
    ascii_text, text = json.dumps(body), json.dumps(body, ensure_ascii=False)
    for form in (ascii_text, ascii_text.encode(), text):
        read = decode(form, case.wire, case.kind)
        assert encode(read, case.wire, case.kind).body == body


def put_text(value: JSON, text: str) -> JSON:
    """The value with a text appended to every text in it that is not a type, a role or a name."""
    if isinstance(value, dict):
        words = ("text", "content", "output", "data")
        return {
            k: v + text if isinstance(v, str) and k in words else put_text(v, text)
            for k, v in value.items()
        }
    return [put_text(item, text) for item in value] if isinstance(value, list) else value


@rows("case", CASES)
@rows("target", [wire for wire in ("openai-chat", "anthropic") if wire in WIRES])
def test_a_lone_surrogate_of_any_case_is_written_as_json(case: Case, target: str) -> None:
    conversation = decode(put_text(case.body, "\ud83d"), case.wire, case.kind)
    json.loads(encode(conversation, target, case.kind).json())


@rows("target", WIRES)
def test_a_lone_surrogate_is_written_as_json_on_any_wire(target: str) -> None:
    conversation = decode(
        put_text(history_body("parallel", "openai-chat"), "\ud83d"), "openai-chat"
    )
    json.loads(encode(conversation, target).json())


@rows("wire, kind", READERS)
@rows("body", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_in_a_dict_are_refused_with_their_path(
    body: float, wire: str, kind: Kind
) -> None:
    assert decode_error({"x": [1, {"y": body}]}, wire, kind).pointer == "/x/1/y"


@rows("wire, kind", READERS)
def test_a_value_that_json_cannot_hold_is_refused_with_its_path(wire: str, kind: Kind) -> None:
    @dataclass
    class Thing:
        x: int = 1

    for value in (Thing(), object(), {1, 2}, b"bytes", 1j, Thing):
        assert decode_error({"messages": [{"x": value}]}, wire, kind).pointer == "/messages/0/x"
    assert decode_error({"messages": [{1: "x"}]}, wire, kind).pointer == "/messages/0"


@rows("wire, kind", READERS)
@rows("text", [b"null", b"true", b"7", b'"text"', b"[]", b"[null]", b"{}"])
def test_another_json_value_is_refused_or_read(text: bytes, wire: str, kind: Kind) -> None:
    assert_refused_or_written(text, wire, kind)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_is_no_object_is_refused_with_the_expected_and_the_actual_type(
    wire: str, kind: Kind
) -> None:
    for text, word in (
        (b"null", "null"),
        (b"7", "a number"),
        (b'"x"', "a string"),
        (b"true", "a boolean"),
    ):
        if text == b"[]" and kind == "request":
            continue  # a bare list of messages is a request
        assert decode_error(text, wire, kind).why == f"expected an object, got {word}"
    if kind == "response":  # a list of messages is a request
        assert decode_error(b"[]", wire, kind).why == "expected an object, got a list"
    else:
        assert decode_error(b"[7]", wire, kind).pointer == "/0"
    assert decode_error(b"{}", wire, kind).pointer in (
        "/messages",
        "/contents",
        "/choices",
        "/content",
        "/candidates",
    )


@rows("value", [None, 7, 1.5, True, object()], ids=lambda value: type(value).__name__)
@rows("wire", WIRES)
def test_a_body_of_an_unsupported_type_is_a_usage_error(value: object, wire: str) -> None:
    with pytest.raises(UsageError, match="expected bytes, text, a dict, a list or an SDK object"):
        decode(value, wire)  # type: ignore[arg-type]


@rows("case", CASES)
def test_null_everywhere_is_refused_or_read(case: Case) -> None:
    def replace_with_null(value: JSON, depth: int) -> JSON:
        if depth == 0:
            return None
        if isinstance(value, dict):
            return {key: replace_with_null(item, depth - 1) for key, item in value.items()}
        return (
            [replace_with_null(item, depth - 1) for item in value]
            if isinstance(value, list)
            else value
        )

    for depth in range(1, 9):
        assert_refused_or_written(replace_with_null(case.body, depth), case.wire, case.kind)


def nest_lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@on_every_reader
def test_a_hundred_levels_are_read_and_a_hundred_thousand_are_refused(
    wire: str, kind: Kind
) -> None:
    for case in load(wire):
        if case.kind == kind and isinstance(case.body, dict):
            text = json.dumps({**case.body, "deep": 0}).encode()
            body = json.loads(text.replace(b'"deep": 0', b'"deep": ' + nest_lists(100)))
            assert encode(decode(body, wire, kind), wire, kind).body == body
            error = decode_error(
                text.replace(b'"deep": 0', b'"deep": ' + nest_lists(100_000)), wire, kind
            )
            assert error.why == "broken JSON: nested too deeply"
            return


@rows("depth", [100, 250, 399, 450, 900, 5000])
@rows("wire", WIRES)
def test_arguments_and_schemas_of_any_depth_go_through_or_are_refused(
    depth: int, wire: str
) -> None:
    deep: JSON = {}
    for _ in range(depth):
        deep = {"x": deep}
    body: JSON = {
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "a", "function": {"name": "f", "arguments": nest_lists(depth).decode()}}
                ],
            },
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": deep}}],
    }
    try:
        translate(body, "openai-chat", wire).json()
    except (DecodeError, UsageError) as error:
        assert error.why


def test_fifty_megabytes_are_read_and_written_back() -> None:
    big = b'{"messages":[{"role":"user","content":"' + b"x" * 50_000_000 + b'"}]}'
    assert encode(decode(big, "openai-chat"), "openai-chat").json() is big
    with pytest.raises(DecodeError):
        decode(big[:-1], "openai-chat")


def test_the_last_of_two_equal_fields_counts_and_the_bytes_stay() -> None:
    text = (
        b'{"model":"a","model":"b","messages":[{"role":"user","role":"assistant","content":"hi"}]}'
    )
    conversation = decode(text, "openai-chat")
    assert conversation.settings["model"] == "b"
    assert conversation.messages[0].role == "assistant"
    assert encode(conversation, "openai-chat").json() == text


def test_a_byte_order_mark_is_not_part_of_the_body() -> None:
    text = b'\xef\xbb\xbf{"messages":[{"role":"user","content":"hi"}]}'
    assert encode(decode(text, "openai-chat"), "openai-chat").json() == text[3:]
    assert decode(text.decode(), "openai-chat") == decode(text, "openai-chat")


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, bytes.decode])
def test_every_type_of_bytes_is_read(form: type) -> None:
    text = b'{"messages":[{"role":"user","content":"hi"}]}'
    assert encode(decode(form(text), "openai-chat"), "openai-chat").json() == text


SDK = [
    (ChatCompletion, "openai-chat"),
    (AnthropicMessage, "anthropic"),
    (GenerateContentResponse, "gemini"),
]


@pytest.mark.parametrize(
    ("model", "wire"), SDK, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_sdk_object_is_read_like_its_body_and_not_changed(
    model: type[ChatCompletion], wire: str
) -> None:
    case = next(case for case in load(wire) if case.name == "answer-with-calls")
    answer = model.model_validate(case.body)
    before = answer.model_dump()
    read, plain = decode(answer, wire, "response"), decode(case.body, wire, "response")
    assert [(call.id, call.name, call.input) for call in read.calls()] == [
        (c.id, c.name, c.input) for c in plain.calls()
    ]
    assert read.messages == plain.messages
    assert read.settings["usage"] == plain.settings["usage"]
    assert answer.model_dump() == before


def test_sdk_objects_inside_a_history_are_read() -> None:
    case = next(case for case in load("openai-chat") if case.name == "answer-with-calls")
    message = ChatCompletion.model_validate(case.body).choices[0].message
    history = {"messages": [{"role": "user", "content": "hi"}, message]}
    assert [call.id for call in decode(history, "openai-chat").calls()] == [  # type: ignore[arg-type]
        "call_A",
        "call_B",
        "call_C",
    ]
    assert history["messages"][1] is message


@rows("case", CASES)
def test_tuples_and_mappings_are_read_as_lists_and_dicts(case: Case) -> None:
    def frozen(value: JSON) -> object:
        if isinstance(value, dict):
            return {key: frozen(item) for key, item in value.items()}
        return tuple(frozen(item) for item in value) if isinstance(value, list) else value

    body = frozen(case.body)
    before = deepcopy(body)
    assert encode(decode(body, case.wire, case.kind), case.wire, case.kind).body == case.body  # type: ignore[arg-type]
    assert body == before


def test_an_unknown_wire_or_kind_is_a_usage_error() -> None:
    for name in ("", "opena", "OPENAI-CHAT", "../wires", "_wire", "__init__"):
        with pytest.raises(UsageError, match="unknown wire, profile or provider"):
            decode(b"{}", name)
    for value in (None, 7, ["openai-chat"], b"openai-chat"):
        with pytest.raises(UsageError):
            decode(b"{}", value)  # type: ignore[arg-type]
    for kind in ("", "stream", "requests", None):
        with pytest.raises(UsageError, match="kind is request or response"):
            decode(b"{}", "openai-chat", kind)  # type: ignore[arg-type]


def test_detect_fails_if_no_wire_matches() -> None:
    with pytest.raises(UsageError, match="any known wire"):
        detect(b'{"weather": "fine"}')
    with pytest.raises(DecodeError):
        detect(b"{")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"a": "b', "unterminated string at line 1, column 7"),
        (b'{"a": "b\x01"}', "invalid control character at line 1, column 9"),
        (b'{"a": 1} x', "extra data at line 1, column 10"),
    ],
)
def test_the_position_of_broken_json_is_named_once(body: bytes, problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(body, "openai-chat")
    assert caught.value.why == f"broken JSON: {problem}"
