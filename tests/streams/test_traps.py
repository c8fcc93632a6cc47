"""Small streams that were translated wrongly once, each named by what must hold."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from toolwire import decode, fold, restream, translate
from toolwire.conversation.json import JSON, Object


def chunk(delta: JSON, reason: str | None = None, call_id: str = "x") -> JSON:
    return {"id": call_id, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def sse(*events: JSON) -> bytes:
    return b"".join(
        b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events
    )


def calls(stream: object, source: str, target: str) -> list[tuple[str, str, JSON]]:
    body = fold(list(restream(stream, source, target)), target)
    return [(call.id, call.name, call.input) for call in decode(body, target, "response").calls()]


def test_a_crlf_split_between_pieces_is_one_line_break() -> None:
    stream = (
        b"data:"
        b' {"id":"x","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\r\n\ndata:'
        b" [DONE]\r\n\n"
    )
    assert fold([stream[i : i + 1] for i in range(len(stream))], "openai-chat") == fold(
        stream, "openai-chat"
    )


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini", "mistral"])
def test_two_calls_of_one_answer_under_one_id_stay_two(target: str) -> None:
    updates: list[JSON] = [
        {
            "role": "assistant",
            "responseId": "r",
            "contents": [
                {"$type": "functionCall", "callId": "call_0", "name": "f", "arguments": {"n": n}}
            ],
        }
        for n in (1, 2)
    ]
    found = calls(updates, "meai", target)
    assert [input for _, _, input in found] == [{"n": 1}, {"n": 2}]
    assert len({call_id for call_id, _, _ in found}) == 2


def test_ids_and_names_in_plain_text_are_fitted_too() -> None:
    text = '<tool_call>{"id":"functions.f:0","name":"Calculator.Add@1.0.0","arguments":{"a":1}}</tool_call>'
    body: JSON = {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ]
    }
    (call,) = decode(
        translate(body, "text", "anthropic", "response").body, "anthropic", "response"
    ).calls()
    assert (call.id, call.name) == ("functions_f_0_EqvWIZQd", "Calculator_Add_1_0_0_0ZHWb32F")


@pytest.mark.parametrize("target", ["gemini", "ollama", "anthropic", "ai-sdk"])
def test_unicode_line_separators_are_escaped(target: str) -> None:
    texts = ("a\u2028b", "c\u2029d", "e\u0085f", "plain", "g\u2028h")
    stream = sse(*(chunk({"content": text}) for text in texts), chunk({}, "stop"))
    written = b"".join(restream(stream, "openai-chat", target)).decode()
    assert len(written.splitlines()) == len(written.split("\n")) - 1
    body = fold(written, target)
    assert "".join(texts) in json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize("index", [("0", "1"), (0.0, 1.0)])
def test_an_index_may_be_text_or_a_float(index: tuple[JSON, JSON]) -> None:
    starts = [
        {"index": i, "id": call_id, "function": {"name": "f", "arguments": ""}}
        for i, call_id in zip(index, "ab", strict=True)
    ]
    deltas = [{"index": i, "function": {"arguments": f'{{"n":{n}}}'}} for n, i in enumerate(index)]
    stream = [chunk({"tool_calls": [entry]}) for entry in (*starts, *deltas)]  # type: ignore[list-item]
    assert calls([*stream, chunk({}, "tool_calls")], "openai-chat", "anthropic") == [
        ("a", "f", {"n": 0}),
        ("b", "f", {"n": 1}),
    ]


def test_a_route_may_stream_from_a_source_that_is_not_asynchronous() -> None:
    async def route(request: Request) -> StreamingResponse:
        answer = restream(
            [sse(chunk({"content": "hi"}), chunk({}, "stop"))], "openai-chat", "ai-sdk"
        )
        return StreamingResponse(answer, headers=answer.headers)

    with TestClient(Starlette(routes=[Route("/", route)])) as page:
        assert '"delta":"hi"' in page.get("/").text


def test_a_failing_source_is_an_error_event_without_its_message_and_is_raised() -> None:
    def source() -> Iterator[bytes]:
        yield sse(chunk({"content": "hi"}))
        raise ConnectionError("secret")

    stream = restream(source(), "openai-chat", "anthropic")
    out: list[bytes] = []
    with pytest.raises(ConnectionError):
        out.extend(stream)
    assert b"ConnectionError" in out[-1]
    assert b"secret" not in b"".join(out)
    assert stream.fault is not None


def test_a_call_that_is_cut_off_inside_a_text_is_not_run() -> None:
    def part(call: JSON, **more: JSON) -> JSON:
        return {
            "responseId": "r",
            "candidates": [
                {"content": {"role": "model", "parts": [{"functionCall": call}]}, **more}
            ],
        }

    grows: list[JSON] = [{"jsonPath": "$.path", "stringValue": "/home", "willContinue": True}]
    stream = [
        part({"name": "rm", "willContinue": True}),
        part({"partialArgs": grows, "willContinue": True}, finishReason="MAX_TOKENS"),
    ]
    kinds = [event["type"] for event in restream(stream, "gemini", "ai-sdk", framed=False)]
    assert "tool-input-error" in kinds
    assert "tool-input-available" not in kinds


def test_an_item_whose_call_id_changes_is_one_call() -> None:
    item: Object = {
        "id": "fc_0",
        "type": "function_call",
        "status": "completed",
        "call_id": "ca",
        "name": "f",
        "arguments": '{"a":1}',
    }
    head: Object = {"id": "r", "object": "response", "created_at": 1, "model": "m"}
    other: Object = {**item, "call_id": "other"}
    stream: list[JSON] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "arguments": ""},
        },
        {"type": "response.output_item.done", "output_index": 0, "item": other},
        {
            "type": "response.completed",
            "response": {**head, "status": "completed", "output": [other]},
        },
    ]
    assert calls(stream, "openai-responses", "ai-sdk") == [("ca", "f", {"a": 1})]


def test_a_text_in_escapes_is_not_mistaken_for_a_field_that_reads_the_same() -> None:
    first = b'data: {"id":"zz","choices":[{"index":0,"delta":{"content":"start"}}]}\n\n'
    twice = b'data: {"id":"%b","choices":[{"index":0,"delta":{"content":"\\u007a\\u007a"}}]}\n\n'
    stream = [first, twice % b"zz", twice % b"yy", sse(chunk({}, "stop"))]
    body = fold(list(restream(stream, "openai-chat", "anthropic")), "anthropic")
    assert body["content"][0]["text"] == "startzzzz"  # type: ignore[index,call-overload]


@pytest.mark.parametrize("target", ["anthropic", "bedrock"])
def test_arguments_that_are_no_object_go_out_inside_one(target: str) -> None:
    pieces = [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": "not "}},
        {"index": 0, "function": {"arguments": 'j"'}},
    ]
    stream = [chunk({"tool_calls": [piece]}) for piece in pieces]  # type: ignore[list-item]
    assert calls([*stream, chunk({}, "tool_calls")], "openai-chat", target) == [
        ("c", "f", {"_raw": 'not j"'})
    ]
