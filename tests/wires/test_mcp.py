"""What is peculiar to the Model Context Protocol. The judge is the official SDK's own types."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cases import load
from judges import mcp as judge
from msgspec.structs import replace

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
    translate,
)
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind
from toolwire.wires import mcp
from toolwire.wires.mcp.ids import json_id, neutral_id

CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
FOLDERS = Path(__file__).parents[1] / "cases" / "mcp"
OTHERS = ("openai-chat", "anthropic", "gemini")


# --- some messages --------------------------------------------------------------------------------


def ask(one: JSON, name: str = "f", **arguments: JSON) -> Object:
    return {
        "jsonrpc": "2.0",
        "id": one,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def tell(one: JSON, text: str, **more: JSON) -> Object:
    return {
        "jsonrpc": "2.0",
        "id": one,
        "result": {"content": [{"type": "text", "text": text}], **more},
    }


def case(name: str, kind: Kind = "request") -> JSON:
    found: JSON = json.loads((FOLDERS / name / f"{kind}.json").read_text())
    return found


# --- the catalogue --------------------------------------------------------------------------------

RUN_BY_THE_CALLER = {"server": "client", "client": "client"}
"""The catalogue names who runs the tool as the protocol does. Seen from a model, a tool of an MCP
server is the client's: the provider of the model runs none of them."""


def hold(example: JSON, discriminator: dict[str, str], form: str) -> tuple[JSON, Kind] | None:
    """A whole body around an example: messages are bodies already, blocks of sampling stand in a
    request for a message."""
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
    for entry in (one for one in entries if one["wire"] == "mcp" and one["core_wire"]):
        held = hold(entry["min_example"], entry["discriminator"], entry["form"])
        assert held is not None
        found = decode(held[0], "mcp", held[1])
        [part] = [part for part in found.parts() if isinstance(part, Call | Result)]
        assert isinstance(part, Call) == (entry["direction"] == "call")
        assert (part.family, part.executor) == (
            entry["family"],
            RUN_BY_THE_CALLER[entry["executor"]],
        )
        assert encode(found, "mcp", held[1]).body == held[0]
        said = [(one.direction, one.family, one.origin) for one in catalogue() if one.wire == "mcp"]
        assert (entry["direction"], entry["family"], entry["origin_class"]) in said


def test_every_fact_of_the_docstring_has_a_case_of_its_name() -> None:
    facts = set(re.findall(r"^- ([a-z-]+):", mcp.__doc__ or "", re.MULTILINE))
    assert facts
    assert facts <= {folder.name for folder in FOLDERS.iterdir()}


# --- ids ------------------------------------------------------------------------------------------


def test_an_integer_and_a_string_of_the_same_digits_are_two_ids() -> None:
    body: list[JSON] = [
        ask(1, n="integer"),
        ask("1", n="string"),
        tell("1", "string"),
        tell(1, "integer"),
    ]
    found = decode(body, "mcp")
    assert [call.id for call in found.calls()] == ["1", '"1"']
    assert [
        (p.call and p.call.input, p.result and p.result.output, p.how) for p in found.pairs()
    ] == [({"n": "integer"}, "integer", "id"), ({"n": "string"}, "string", "id")]


@pytest.mark.parametrize(
    "one",
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
def test_an_id_and_its_neutral_form_lead_to_each_other(one: JSON) -> None:
    neutral, origin = neutral_id(one)
    assert origin == "wire"
    back = json_id(neutral)
    assert (type(back), back) == (type(one), one)


@pytest.mark.parametrize(
    "text", ["1", '"1"', "01", "call_1", '"call_1"', '"\\"1\\""', "-0", "toolu_01", "½"]
)
def test_an_id_of_another_wire_comes_back_as_it_was(text: str) -> None:
    assert neutral_id(json_id(text))[0] == text


@pytest.mark.parametrize("over", OTHERS)
def test_ids_keep_their_json_type_on_the_way_there_and_back(over: str) -> None:
    body = case("id-keeps-its-type")
    there = translate(body, "mcp", over)
    back = translate(there.json(), over, "mcp", ids=there.ids.to_dict()).body
    assert isinstance(back, list)
    assert isinstance(body, list)
    assert {repr(get(one, ("id",))) for one in back} == {repr(get(one, ("id",))) for one in body}
    said = [(c.id, c.name, c.input) for c in decode(back, "mcp").calls()]
    assert said == [(c.id, c.name, c.input) for c in decode(body, "mcp").calls()]


@pytest.mark.parametrize("one", [None, "", " ", "null", True, 1.5, [], {}])
def test_a_request_without_a_usable_id_gets_a_minted_one_that_is_not_written_back(
    one: JSON,
) -> None:
    found = decode(ask(one), "mcp")
    [call] = found.calls()
    assert is_minted(call.id)
    assert call.origin == "minted"
    renamed = encode(found.replace(call, replace(call, name="g")), "mcp").body
    assert renamed == {**ask(one, "g")}


# --- turns and pairs ------------------------------------------------------------------------------


def test_a_call_made_while_another_waits_belongs_to_the_same_turn() -> None:
    found = decode(
        [ask(1), ask(2), tell(2, "b"), ask(3), tell(3, "c"), tell(1, "a"), ask(4), tell(4, "d")],
        "mcp",
    )
    assert [
        [getattr(part, "id", None) or getattr(part, "call_id", None) for part in m.parts]
        for m in found.messages
    ] == [["1", "2", "3"], ["2", "3", "1"], ["4"], ["4"]]
    assert [message.role for message in found.messages] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


def test_a_call_that_nobody_answers_does_not_hold_its_turn_open() -> None:
    found = decode([ask(1), ask(2), tell(2, "b"), ask(3), tell(3, "c")], "mcp")
    assert [len(message.parts) for message in found.messages] == [2, 1, 1, 1]


def test_an_id_that_comes_again_names_the_newer_call() -> None:
    found = decode([ask(0, n=1), tell(0, "one"), ask(0, n=2), tell(0, "two")], "mcp")
    assert [(p.call and p.call.input, p.result and p.result.output) for p in found.pairs()] == [
        ({"n": 1}, "one"),
        ({"n": 2}, "two"),
    ]


def test_the_response_to_another_method_is_no_result() -> None:
    body: list[JSON] = [
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "a:b"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": True}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "no"}},
    ]
    found = decode(body, "mcp")
    assert [type(part) for part in found.parts()] == [Opaque] * 4
    assert {loss.pointer for loss in encode(found, "openai-chat").losses} == {
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


def test_structured_content_that_says_something_else_is_a_reported_loss() -> None:
    losses = translate(case("structured-twice"), "mcp", "openai-chat").losses
    assert [loss.pointer for loss in losses] == ["/3/result/structuredContent"]


def test_a_failure_of_the_protocol_comes_home_as_one_and_a_failure_of_a_tool_as_the_other() -> None:
    body: list[JSON] = [
        ask(1),
        {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32602, "message": "no such tool", "data": [1]},
        },
        ask(2),
        tell(
            2,
            '{"code":404,"message":"gone"}',
            structuredContent={"code": 404, "message": "gone"},
            isError=True,
        ),
    ]
    for over in OTHERS:
        there = translate(body, "mcp", over)
        assert translate(there.json(), over, "mcp", ids=there.ids).body == body


def test_a_result_that_wants_input_goes_back_as_it_came_when_something_else_is_edited() -> None:
    body = case("input-required")
    found = decode(body, "mcp")
    call = found.calls()[0]
    written = encode(found.replace(call, replace(call, args=LazyJson('{"path":"/x"}'))), "mcp").body
    assert isinstance(written, list)
    assert isinstance(body, list)
    assert written[1:] == body[1:]
    assert get(written, (0, "params", "arguments")) == {"path": "/x"}


def test_a_state_that_only_the_server_reads_is_a_reported_loss() -> None:
    pointers = [
        loss.pointer for loss in translate(case("input-required"), "mcp", "anthropic").losses
    ]
    assert pointers == ["/2/params/requestState", "/2/params/inputResponses"]


# --- writing --------------------------------------------------------------------------------------


def test_every_case_is_accepted_by_the_official_types() -> None:
    for one in load("mcp"):
        if one.name not in (
            "lost-id-is-a-notification",
            "content-in-every-form",
            "unknown-messages-and-fields",
            "answer-of-a-model",
        ):
            messages = one.body if isinstance(one.body, list) else [one.body]
            judge(
                [
                    m
                    for m in messages
                    if isinstance(m, dict)
                    and get(m, ("result", "resultType")) != "input_required"
                    and "serverInfo" not in str(m)
                    and m.get("id") is not None
                ],
                one.kind,
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
    made = translate(body, "openai-chat", "mcp")
    assert made.body == [ask("c1", "w", city="Oslo"), tell("c1", "4 C")]
    assert {loss.pointer for loss in made.losses} == {
        "/model",
        "/messages/0/content",
        "/messages/1/content",
    }


def test_tools_on_offer_become_a_list_of_tools_before_the_calls() -> None:
    tools: JSON = [
        {
            "type": "function",
            "function": {"name": "w", "description": "Weather.", "parameters": {"type": "object"}},
        }
    ]
    body: JSON = {"messages": [], "tools": tools}
    made = translate(body, "openai-chat", "mcp")
    assert made.losses == []
    assert get(made.body, (1, "result", "tools")) == [
        {"name": "w", "description": "Weather.", "inputSchema": {"type": "object"}}
    ]
    assert translate(made.json(), "mcp", "openai-chat").body == body


def test_a_response_is_the_result_of_the_last_answered_call() -> None:
    made = encode(decode([ask(1), ask(2), tell(2, "b"), tell(1, "a")], "mcp"), "mcp", "response")
    assert made.body == tell(1, "a")
    assert {loss.pointer for loss in made.losses} == {"/0", "/1", "/2"}


def test_the_answer_of_a_model_becomes_that_of_sampling_and_comes_home() -> None:
    body: JSON = {
        "id": "r1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
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
    made = translate(body, "openai-chat", "mcp", "response")
    assert [loss.pointer for loss in made.losses] == ["/created"]
    assert get(made.body, ("result", "stopReason")) == "toolUse"
    assert translate(made.json(), "mcp", "openai-chat", "response").body == body


def test_a_result_added_to_a_single_request_makes_an_exchange() -> None:
    found = decode(ask(7, "w"), "mcp")
    more = (*found.messages, Message("tool", (found.calls()[0].result("4 C"),)))
    assert encode(replace(found, messages=more), "mcp").body == [ask(7, "w"), tell(7, "4 C")]


def test_a_turn_taken_out_of_a_log_leaves_every_other_message_where_it_was() -> None:
    body = case("tools-on-offer")
    assert isinstance(body, list)
    found = decode([*body, ask(4, "ping"), tell(4, "pong")], "mcp")
    kept = tuple(
        message
        for message in found.messages
        if not any(
            getattr(p, "id", "") == "3" or getattr(p, "call_id", "") == "3" for p in message.parts
        )
    )
    written = encode(replace(found, messages=kept), "mcp").body
    assert written == [*body[:7], ask(4, "ping"), tell(4, "pong")]


def test_a_tool_that_was_changed_is_changed_and_no_other_field() -> None:
    body = case("tools-on-offer")
    found = decode(body, "mcp")
    tools = (replace(found.tools[0], description="Reads it."), *found.tools[1:], Tool("new"))
    written = encode(replace(found, tools=tools), "mcp").body
    listed = get(written, (4, "result", "tools"))
    assert isinstance(listed, list)
    assert listed[0] == {**found.tools[0].raw, "description": "Reads it."}  # type: ignore[dict-item]
    assert [get(tool, ("name",)) for tool in listed] == [
        "files/read.text",
        "ping",
        "server___tool",
        "new",
    ]


# --- sampling -------------------------------------------------------------------------------------


def test_a_request_for_a_message_is_a_whole_conversation_on_other_wires() -> None:
    made = translate(case("sampling-turns-the-tables"), "mcp", "openai-chat")
    assert isinstance(made.body, dict)
    assert made.body["max_completion_tokens"] == 300
    assert made.body["tool_choice"] == "required"
    assert get(made.body, ("messages", 0)) == {"role": "system", "content": "Answer in one line."}
    lost = {loss.pointer for loss in made.losses}
    assert {"/params/modelPreferences", "/params/includeContext", "/params/metadata"} <= lost
    assert (
        not {"/params/tools", "/params/messages", "/params/systemPrompt", "/params/maxTokens"}
        & lost
    )


def test_a_message_added_to_a_request_for_one_leaves_the_rest_to_the_letter() -> None:
    body = case("sampling-turns-the-tables")
    found = decode(body, "mcp")
    written = encode(
        replace(found, messages=(*found.messages, Message("user", (Text("Well?"),)))), "mcp"
    ).body
    messages = get(written, ("params", "messages"))
    assert isinstance(messages, list)
    assert messages[:-1] == get(body, ("params", "messages"))
    assert messages[-1] == {"role": "user", "content": {"type": "text", "text": "Well?"}}
    rest = {key: value for key, value in get(written, ("params",)).items() if key != "messages"}  # type: ignore[union-attr]
    assert rest == {
        key: value
        for key, value in get(body, ("params",)).items()  # type: ignore[union-attr]
        if key != "messages"
    }


def test_only_json_rpc_is_taken_for_this_wire() -> None:
    assert detect([ask(1), tell(1, "x")]) == "mcp"
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
    (case,) = [case for case in load("mcp") if case.name == "one-call"]
    conversation = decode(case.body, "mcp")
    body = encode(conversation, "mcp", "response").body
    (call,) = decode(body, "mcp", "response").calls()
    assert (call.name, call.input) == (conversation.calls()[0].name, conversation.calls()[0].input)
