"""What is peculiar to the Model Context Protocol. Bodies are validated by the types of the official SDK."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cases import load
from msgspec.structs import replace
from validators import mcp as validate

from toolwire import (
    Call,
    Message,
    Opaque,
    Result,
    Text,
    Tool,
    catalogue,
    decode,
    detect,
    encode,
    repair,
    translate,
)
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind
from toolwire.types import RequestInfo
from toolwire.wires import mcp
from toolwire.wires.mcp.ids import json_id, neutral_id

CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
FOLDERS = Path(__file__).parents[1] / "cases" / "mcp"
OTHERS = ("openai-chat", "anthropic", "gemini")


# --- some messages --------------------------------------------------------------------------------


def call_request(call_id: JSON, name: str = "f", **arguments: JSON) -> Object:
    return {
        "jsonrpc": "2.0",
        "id": call_id,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def call_response(call_id: JSON, text: str, **more: JSON) -> Object:
    return {
        "jsonrpc": "2.0",
        "id": call_id,
        "result": {"content": [{"type": "text", "text": text}], **more},
    }


def case(name: str, kind: Kind = "request") -> JSON:
    value: JSON = json.loads((FOLDERS / name / f"{kind}.json").read_text())
    return value


# --- the catalogue --------------------------------------------------------------------------------

RUN_BY_THE_CALLER = {"server": "client", "client": "client"}
"""The catalogue names who runs the tool as the protocol does. Seen from a model, a tool of an MCP
server is the client's: the provider of the model runs none of them."""


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A whole body around an example: messages are bodies already, blocks of sampling belong in a
    sampling request."""
    if form == "response-stream":
        return None
    if "type" not in discriminator:
        return example, "request" if form == "request" else "response"
    role = "user" if discriminator["type"] == "tool_result" else "assistant"
    params: Object = {"maxTokens": 1, "messages": [{"role": role, "content": [example]}]}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "sampling/createMessage",
        "params": params,
    }, "request"


def test_every_type_of_the_catalogue_is_read_as_what_it_is() -> None:
    entries = json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else []
    for entry in (entry for entry in entries if entry["wire"] == "mcp" and entry["core_wire"]):
        wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])
        assert wrapped is not None
        conversation = decode(wrapped[0], "mcp", wrapped[1])
        [part] = [part for part in conversation.parts() if isinstance(part, Call | Result)]
        assert isinstance(part, Call) == (entry["direction"] == "call")
        assert (part.family, part.executor) == (
            entry["family"],
            RUN_BY_THE_CALLER[entry["executor"]],
        )
        assert encode(conversation, "mcp", wrapped[1]).body == wrapped[0]
        entries_of_wire = [
            (entry.direction, entry.family, entry.origin)
            for entry in catalogue()
            if entry.wire == "mcp"
        ]
        assert (entry["direction"], entry["family"], entry["origin_class"]) in entries_of_wire


def test_every_fact_of_the_docstring_has_a_case_of_its_name() -> None:
    facts = set(re.findall(r"^- ([a-z-]+):", mcp.__doc__ or "", re.MULTILINE))
    assert facts
    assert facts <= {folder.name for folder in FOLDERS.iterdir()}


# --- ids ------------------------------------------------------------------------------------------


def test_an_integer_and_a_string_of_the_same_digits_are_two_ids() -> None:
    body: list[JSON] = [
        call_request(1, n="integer"),
        call_request("1", n="string"),
        call_response("1", "string"),
        call_response(1, "integer"),
    ]
    conversation = decode(body, "mcp")
    assert [call.id for call in conversation.calls()] == ["1", '"1"']
    assert [
        (p.call and p.call.input, p.result and p.result.output, p.how) for p in conversation.pairs()
    ] == [({"n": "integer"}, "integer", "id"), ({"n": "string"}, "string", "id")]


@pytest.mark.parametrize(
    "call_id",
    [
        1,
        0,
        -7,
        2**70,
        "1",
        "-7",
        '"1"',
        '"\\"1\\""',
        "01",
        "1.0",
        "abc",
        '"abc"',
        "a b",
        "ü",
        "-0",
        "1e3",
    ],
)
def test_an_id_and_its_neutral_form_lead_to_each_other(call_id: JSON) -> None:
    neutral, origin = neutral_id(call_id)
    assert origin == "wire"
    restored_id = json_id(neutral)
    assert (type(restored_id), restored_id) == (type(call_id), call_id)


@pytest.mark.parametrize(
    "text", ["1", '"1"', "01", "call_1", '"call_1"', '"\\"1\\""', "-0", "toolu_01", "½"]
)
def test_an_id_of_another_wire_is_restored(text: str) -> None:
    assert neutral_id(json_id(text))[0] == text


@pytest.mark.parametrize("over", OTHERS)
def test_ids_keep_their_json_type_on_the_way_there_and_back(over: str) -> None:
    body = case("id-keeps-its-type")
    translated = translate(body, "mcp", over)
    written_body = translate(translated.json(), over, "mcp", ids=translated.ids.to_dict()).body
    assert isinstance(written_body, list)
    assert isinstance(body, list)
    assert {repr(get(message, ("id",))) for message in written_body} == {
        repr(get(message, ("id",))) for message in body
    }
    calls = [(c.id, c.name, c.input) for c in decode(written_body, "mcp").calls()]
    assert calls == [(c.id, c.name, c.input) for c in decode(body, "mcp").calls()]


@pytest.mark.parametrize("call_id", [None, "", " ", "null", True, 1.5, [], {}])
def test_a_request_without_a_usable_id_gets_a_minted_one_that_is_not_written_back(
    call_id: JSON,
) -> None:
    conversation = decode(call_request(call_id), "mcp")
    [call] = conversation.calls()
    assert is_minted(call.id)
    assert call.origin == "minted"
    renamed = encode(conversation.replace(call, replace(call, name="g")), "mcp").body
    assert renamed == {**call_request(call_id, "g")}


# --- turns and pairs ------------------------------------------------------------------------------


def test_a_call_made_while_another_waits_belongs_to_the_same_turn() -> None:
    conversation = decode(
        [
            call_request(1),
            call_request(2),
            call_response(2, "b"),
            call_request(3),
            call_response(3, "c"),
            call_response(1, "a"),
            call_request(4),
            call_response(4, "d"),
        ],
        "mcp",
    )
    assert [
        [getattr(part, "id", None) or getattr(part, "call_id", None) for part in m.parts]
        for m in conversation.messages
    ] == [["1", "2", "3"], ["2", "3", "1"], ["4"], ["4"]]
    assert [message.role for message in conversation.messages] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


def test_a_call_without_a_response_does_not_keep_its_turn_open() -> None:
    conversation = decode(
        [
            call_request(1),
            call_request(2),
            call_response(2, "b"),
            call_request(3),
            call_response(3, "c"),
        ],
        "mcp",
    )
    assert [len(message.parts) for message in conversation.messages] == [2, 1, 1, 1]


def test_a_reused_id_pairs_with_the_newer_call() -> None:
    conversation = decode(
        [
            call_request(0, n=1),
            call_response(0, "one"),
            call_request(0, n=2),
            call_response(0, "two"),
        ],
        "mcp",
    )
    assert [
        (p.call and p.call.input, p.result and p.result.output) for p in conversation.pairs()
    ] == [({"n": 1}, "one"), ({"n": 2}, "two")]


def test_responses_of_calls_with_one_id_stay_with_their_calls_when_another_is_uncertain() -> None:
    calls = [call_request(call_id, name) for call_id, name in zip("abab", "fghi", strict=True)]
    responses = [call_response("a", "f or h"), call_response("b", "g"), call_response("b", "i")]
    repaired = decode(repair([*calls, *responses], "mcp").body, "mcp")
    texts = {
        pair.call.name: pair.result.text for pair in repaired.pairs() if pair.call and pair.result
    }
    assert (texts["g"], texts["i"]) == ("g", "i")


def test_the_response_to_another_method_is_no_result() -> None:
    body: list[JSON] = [
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "a:b"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": True}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "no"}},
    ]
    conversation = decode(body, "mcp")
    assert [type(part) for part in conversation.parts()] == [Opaque] * 4
    assert {loss.pointer for loss in encode(conversation, "openai-chat").losses} == {
        "/0",
        "/1",
        "/2",
        "/3",
    }


# --- results --------------------------------------------------------------------------------------


def test_structured_content_that_the_text_repeats_is_the_output() -> None:
    [first, second, third, _] = decode(case("structured-twice"), "mcp").results()
    assert first.output == {"c": 18}
    assert third.output == [1, 2.5, None]
    assert second.output == "18 degrees"


def test_structured_content_that_differs_from_the_text_is_a_reported_loss() -> None:
    losses = translate(case("structured-twice"), "mcp", "openai-chat").losses
    assert [loss.pointer for loss in losses] == ["/3/result/structuredContent"]


def test_protocol_errors_and_tool_errors_are_each_restored() -> None:
    body: list[JSON] = [
        call_request(1),
        {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32602, "message": "no such tool", "data": [1]},
        },
        call_request(2),
        call_response(
            2,
            '{"code":404,"message":"gone"}',
            structuredContent={"code": 404, "message": "gone"},
            isError=True,
        ),
    ]
    for over in OTHERS:
        translated = translate(body, "mcp", over)
        assert translate(translated.json(), over, "mcp", ids=translated.ids).body == body


def test_a_result_that_wants_input_is_written_back_unchanged_when_something_else_is_edited() -> (
    None
):
    body = case("input-required")
    conversation = decode(body, "mcp")
    call = conversation.calls()[0]
    written_body = encode(
        conversation.replace(call, replace(call, args=LazyJson('{"path":"/x"}'))), "mcp"
    ).body
    assert isinstance(written_body, list)
    assert isinstance(body, list)
    assert written_body[1:] == body[1:]
    assert get(written_body, (0, "params", "arguments")) == {"path": "/x"}


def test_a_state_that_only_the_server_reads_is_a_reported_loss() -> None:
    pointers = [
        loss.pointer for loss in translate(case("input-required"), "mcp", "anthropic").losses
    ]
    assert pointers == ["/2/params/requestState", "/2/params/inputResponses"]


# --- writing --------------------------------------------------------------------------------------


def test_every_case_is_accepted_by_the_official_types() -> None:
    for case in load("mcp"):
        if case.name not in (
            "lost-id-is-a-notification",
            "results-in-every-form",
            "unknown-messages-and-fields",
            "answer-of-a-model",
        ):
            messages = case.body if isinstance(case.body, list) else [case.body]
            validate(
                [
                    m
                    for m in messages
                    if isinstance(m, dict)
                    and get(m, ("result", "resultType")) != "input_required"
                    and "serverInfo" not in str(m)
                    and m.get("id") is not None
                ],
                case.kind,
            )


def test_text_is_a_reported_loss_and_calls_and_results_become_an_exchange() -> None:
    body: JSON = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "w", "arguments": '{"city": "Oslo"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "4 C"},
        ],
    }
    translated = translate(body, "openai-chat", "mcp")
    assert translated.body == [call_request("c1", "w", city="Oslo"), call_response("c1", "4 C")]
    assert {loss.pointer for loss in translated.losses} == {
        "/model",
        "/messages/0/content",
        "/messages/1/content",
    }


def test_tool_definitions_become_a_list_of_tools_before_the_calls() -> None:
    tools: JSON = [
        {
            "type": "function",
            "function": {"name": "w", "description": "Weather.", "parameters": {"type": "object"}},
        }
    ]
    body: JSON = {"messages": [], "tools": tools}
    translated = translate(body, "openai-chat", "mcp")
    assert translated.losses == []
    assert get(translated.body, (1, "result", "tools")) == [
        {"name": "w", "description": "Weather.", "inputSchema": {"type": "object"}}
    ]
    assert translate(translated.json(), "mcp", "openai-chat").body == body


def test_a_response_is_the_result_of_the_last_answered_call() -> None:
    encoded = encode(
        decode(
            [call_request(1), call_request(2), call_response(2, "b"), call_response(1, "a")], "mcp"
        ),
        "mcp",
        "response",
    )
    assert encoded.body == call_response(1, "a")
    assert {loss.pointer for loss in encoded.losses} == {"/0", "/1", "/2"}


def test_a_response_of_a_model_becomes_a_sampling_response_and_is_restored() -> None:
    body: JSON = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "logprobs": None,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "refusal": None,
                    "annotations": [],
                    "content": "Looking.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "w", "arguments": "{}"},
                        }
                    ],
                },
            }
        ],
    }
    translated = translate(body, "openai-chat", "mcp", "response")
    assert [(loss.pointer, loss.severity) for loss in translated.losses] == [("/created", "info")]
    assert get(translated.body, ("result", "stopReason")) == "toolUse"
    request = RequestInfo(created=1)
    back = translate(translated.json(), "mcp", "openai-chat", "response", request=request)
    assert back.body == body


def test_a_result_added_to_a_single_request_makes_an_exchange() -> None:
    conversation = decode(call_request(7, "w"), "mcp")
    more = (*conversation.messages, Message("tool", (conversation.calls()[0].result("4 C"),)))
    assert encode(replace(conversation, messages=more), "mcp").body == [
        call_request(7, "w"),
        call_response(7, "4 C"),
    ]


def test_a_turn_taken_out_of_a_log_leaves_every_other_message_where_it_was() -> None:
    body = case("list-of-tools-in-a-log")
    assert isinstance(body, list)
    conversation = decode([*body, call_request(4, "ping"), call_response(4, "pong")], "mcp")
    kept = tuple(
        message
        for message in conversation.messages
        if not any(
            getattr(p, "id", "") == "3" or getattr(p, "call_id", "") == "3" for p in message.parts
        )
    )
    written_body = encode(replace(conversation, messages=kept), "mcp").body
    assert written_body == [*body[:7], call_request(4, "ping"), call_response(4, "pong")]


def test_a_tool_that_was_changed_is_changed_and_no_other_field() -> None:
    body = case("list-of-tools-in-a-log")
    conversation = decode(body, "mcp")
    tools = (
        replace(conversation.tools[0], description="Reads it."),
        *conversation.tools[1:],
        Tool("new"),
    )
    written_body = encode(replace(conversation, tools=tools), "mcp").body
    written_tools = get(written_body, (4, "result", "tools"))
    assert isinstance(written_tools, list)
    assert written_tools[0] == {**conversation.tools[0].raw, "description": "Reads it."}  # type: ignore[dict-item]
    assert [get(tool, ("name",)) for tool in written_tools] == [
        "files/read.text",
        "ping",
        "server___tool",
        "new",
    ]


# --- sampling -------------------------------------------------------------------------------------


def test_a_request_for_a_message_is_a_whole_conversation_on_other_wires() -> None:
    translated = translate(case("sampling-turns-the-tables"), "mcp", "openai-chat")
    assert isinstance(translated.body, dict)
    assert translated.body["max_completion_tokens"] == 300
    assert translated.body["tool_choice"] == "required"
    assert get(translated.body, ("messages", 0)) == {
        "role": "system",
        "content": "Answer in one line.",
    }
    losses = {loss.pointer for loss in translated.losses}
    assert {"/params/modelPreferences", "/params/includeContext", "/params/metadata"} <= losses
    assert (
        not {"/params/tools", "/params/messages", "/params/systemPrompt", "/params/maxTokens"}
        & losses
    )


def test_a_message_added_to_a_request_for_one_leaves_the_rest_verbatim() -> None:
    body = case("sampling-turns-the-tables")
    conversation = decode(body, "mcp")
    written_body = encode(
        replace(conversation, messages=(*conversation.messages, Message("user", (Text("Well?"),)))),
        "mcp",
    ).body
    messages = get(written_body, ("params", "messages"))
    assert isinstance(messages, list)
    assert messages[:-1] == get(body, ("params", "messages"))
    assert messages[-1] == {"role": "user", "content": {"type": "text", "text": "Well?"}}
    rest = {
        key: value
        for key, value in get(written_body, ("params",)).items()  # type: ignore[union-attr]
        if key != "messages"
    }
    assert rest == {
        key: value
        for key, value in get(body, ("params",)).items()  # type: ignore[union-attr]
        if key != "messages"
    }


def test_detect_finds_this_wire_only_for_json_rpc() -> None:
    assert detect([call_request(1), call_response(1, "x")]) == "mcp"
    assert detect(case("answer-of-a-model", "response")) == "mcp"
    assert mcp.WIRE.match_score({"method": "tools/call"}) == 0
    assert mcp.WIRE.match_score([]) == 0


def test_an_unknown_block_of_an_edited_answer_stays_and_is_no_message_of_a_log() -> None:
    (case,) = [case for case in load("mcp") if case.name == "answer-of-a-model"]
    conversation = decode(case.body, "mcp", "response")
    (message,) = conversation.messages
    longer = replace(message, parts=(*message.parts, Text("And more.")))
    body = encode(replace(conversation, messages=(longer,)), "mcp", "response").body
    assert decode(body, "mcp", "response").messages == (longer,)
    log = encode(conversation, "mcp", "request")
    assert [type(part) for part in decode(log.body, "mcp").parts()] == [Call]
    assert [loss.pointer for loss in log.losses] == ["/result/content/0", "/result/content/2"]


def test_a_call_of_a_log_is_a_block_of_an_answer() -> None:
    (case,) = [case for case in load("mcp") if case.name == "plain-call"]
    conversation = decode(case.body, "mcp")
    body = encode(conversation, "mcp", "response").body
    (call,) = decode(body, "mcp", "response").calls()
    assert (call.name, call.input) == (conversation.calls()[0].name, conversation.calls()[0].input)


def test_an_id_that_is_used_again_while_it_is_open_does_not_end_the_turn() -> None:
    calls: list[JSON] = [
        {"id": name, "method": "tools/call", "params": {"name": "f", "arguments": {"n": n}}}
        for n, name in enumerate(("a", "b", "b", "c"))
    ]
    results: list[JSON] = [{"id": name, "result": {"content": []}} for name in ("b", "a", "b")]
    log = [*calls[:3], results[0], calls[3], *results[1:]]
    found = [
        (p.call and p.call.path, p.result and p.result.path) for p in decode(log, "mcp").pairs()
    ]
    assert found == [((0,), (5,)), ((1,), (3,)), ((2,), (6,)), ((4,), None)]
