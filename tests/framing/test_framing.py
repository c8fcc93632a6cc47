"""Framings: cut anywhere, nothing changes; and what one writes, it reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from toolwire import DecodeError
from toolwire.streaming.framing import Decoder, Frame, aws, ndjson, sse
from toolwire.streaming.framing.array import JsonArray
from toolwire.streaming.framing.aws import AwsEvents
from toolwire.streaming.framing.ndjson import NDJSON
from toolwire.streaming.framing.sniff import SniffingDecoder
from toolwire.streaming.framing.sse import SSE

STREAMS: list[tuple[Callable[[], Decoder], bytes, list[Frame]]] = [
    (SSE, b"data: {}\n\ndata: [DONE]\n\n", [Frame("", b"{}"), Frame("", b"[DONE]")]),
    (SSE, b"event: a\ndata: 1\n\n", [Frame("a", b"1")]),
    (SSE, b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [Frame("a", b"1"), Frame("", b"2")]),
    (SSE, b"data: 1\r\rdata: 2\r\r", [Frame("", b"1"), Frame("", b"2")]),
    (SSE, b"\xef\xbb\xbfdata: 1\n\n", [Frame("", b"1")]),
    (SSE, b": comment\n\ndata: 1\n: more\n\n", [Frame("", b"1")]),
    (SSE, b"data: a\ndata:b\n\n", [Frame("", b"a\nb")]),
    (SSE, b"id: 7\nretry: 3\ndata: 1\n\n", [Frame("", b"1")]),
    (SSE, 'data: "a\u2028b\u0085c"\n\n'.encode(), [Frame("", '"a\u2028b\u0085c"'.encode())]),
    (SSE, b"data: cut off", [Frame("", b"cut off")]),
    (
        NDJSON,
        b'{"a":1}\n\n{"b":2}\r\n{"c"',
        [Frame("", b'{"a":1}'), Frame("", b'{"b":2}\r'), Frame("", b'{"c"')],
    ),
    (
        JsonArray,
        b'[{"a":"]},{\\""},\n {"b":[1,{"c":"\\\\"}]}\n]',
        [Frame("", b'{"a":"]},{\\""}'), Frame("", b'{"b":[1,{"c":"\\\\"}]}')],
    ),
    (JsonArray, b'[{"a":1},{"b', [Frame("", b'{"a":1}'), Frame("", b'{"b')]),
    (
        AwsEvents,
        aws.write(b"{}", "messageStart") + aws.write(b'{"x":1}', "messageStop"),
        [Frame("messageStart", b"{}"), Frame("messageStop", b'{"x":1}')],
    ),
]


def read(decoder: Decoder, chunks: list[bytes]) -> list[Frame]:
    frames: list[Frame] = []
    for chunk in chunks:
        frames += decoder.feed(chunk)
    return frames + decoder.end()


@pytest.mark.parametrize(("make", "stream", "frames"), STREAMS)
def test_a_stream_is_read_whole_byte_by_byte_and_cut_in_two_anywhere(
    make: Callable[[], Decoder], stream: bytes, frames: list[Frame]
) -> None:
    assert read(make(), [stream]) == frames
    assert read(make(), [stream[i : i + 1] for i in range(len(stream))]) == frames
    for cut in range(len(stream)):
        assert read(make(), [stream[:cut], stream[cut:]]) == frames


@pytest.mark.parametrize(("make", "stream", "frames"), STREAMS)
def test_the_first_byte_decides_the_framing(
    make: Callable[[], Decoder], stream: bytes, frames: list[Frame]
) -> None:
    assert read(SniffingDecoder(), [stream[i : i + 1] for i in range(len(stream))]) == frames


@given(
    st.lists(
        st.binary(max_size=30).filter(lambda b: b"\r" not in b and not b.startswith(b" ")),
        max_size=5,
    ),
    st.integers(1, 9),
)
def test_what_sse_writes_it_reads(payloads: list[bytes], size: int) -> None:
    stream = b"".join(sse.write(p, "e") for p in payloads)
    chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
    assert [frame.data for frame in read(SSE(), chunks)] == payloads


def test_ndjson_writes_a_line() -> None:
    assert read(NDJSON(), [ndjson.write(b"1") + ndjson.write(b"2")]) == [
        Frame("", b"1"),
        Frame("", b"2"),
    ]


def test_botocore_reads_what_aws_writes() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(
        aws.write(b'{"role":"assistant"}', "messageStart")
        + aws.write(b"{}", "throttlingException", kind="exception")
    )
    event, fault = (message.to_response_dict() for message in buffer)
    assert (event["headers"][":event-type"], event["body"], event["status_code"]) == (
        "messageStart",
        b'{"role":"assistant"}',
        200,
    )
    assert (fault["headers"][":exception-type"], fault["status_code"]) == (
        "throttlingException",
        400,
    )


@pytest.mark.parametrize("at", [0, 9, 20, -1])
def test_a_flipped_bit_in_an_event_stream_is_noticed(at: int) -> None:
    message = bytearray(aws.write(b'{"a":1}', "messageStart"))
    message[at] ^= 1
    with pytest.raises(DecodeError):
        AwsEvents().feed(bytes(message) + bytes(70_000))
