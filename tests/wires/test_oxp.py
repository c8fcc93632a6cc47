"""What is peculiar to the Open eXecution Protocol. Bodies are validated by its published description, where
that is at hand."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
from cases import load
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec.structs import replace

from toolwire import Call, Message, Result, Text, Tool, catalogue, decode, detect, encode, translate
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind
from toolwire.errors import DecodeError, pointer
from toolwire.wires import oxp
from toolwire.wires.oxp.tools import TOOL_ID

DATA = Path(__file__).parents[3] / "shared" / "data"
FOLDERS = Path(__file__).parents[1] / "cases" / "oxp"
OTHERS = ("openai-chat", "anthropic", "gemini", "mcp")


# --- validation -----------------------------------------------------------------------------------

REQUIRED = {
    "request": {"tool_id"},
    "result": {"call_id", "success"},
    "items": {"id", "name", "description", "version"},
}
CLOSED = {
    "request": {"tool_id", "call_id", "trace_id", "input", "context"},
    "result": {"call_id", "success", "duration", "value", "error"},
    "items": {
        "id",
        "name",
        "description",
        "version",
        "input_schema",
        "output_schema",
        "requirements",
    },
}


def validate(body: JSON) -> None:
    """An enveloped body as the description has it: required fields, no others; and its own schemas,
    if they are there."""
    assert isinstance(body, dict)
    [key] = [key for key in REQUIRED if key in body]
    assert body.keys() <= {"$schema", key}
    value = body[key]
    for item in value if isinstance(value, list) else [value]:
        assert isinstance(item, dict)
        assert REQUIRED[key] <= item.keys() <= CLOSED[key]
        if key == "result":
            assert ("error" in item) is (item["success"] is False)
            assert not {"error", "value"} <= item.keys()
        else:
            assert TOOL_ID.fullmatch(str(item.get("tool_id", item.get("id"))))
        for schema in schema_of(key):
            Draft202012Validator(schema).validate(item)


def schema_of(key: str) -> list[Object]:
    """The published schema of a request, a result or a tool; none if the description is not at
    hand.

    As published, `additionalProperties: false` beside `oneOf` refuses every result that has a value
    or an error.
    """
    file = DATA / "oxp-openapi.json"
    if not file.is_file():
        return []
    document = deepcopy(json.loads(file.read_text()))
    response = document["components"]["schemas"]["CallToolResponse"]
    response["unevaluatedProperties"] = response.pop("additionalProperties")
    name = {"request": "CallToolRequest", "result": "CallToolResponse", "items": "ToolDefinition"}[
        key
    ]
    return [{"$ref": f"#/components/schemas/{name}", "components": document["components"]}]


def case(name: str, kind: Kind = "request") -> JSON:
    value: JSON = json.loads((FOLDERS / name / f"{kind}.json").read_text())
    return value


def request(call_id: str | None, tool: str = "Calculator.Add", **value: JSON) -> Object:
    return {
        "request": {"tool_id": tool, **({"call_id": call_id} if call_id else {}), "input": value}
    }


def result(call_id: str, value: JSON) -> Object:
    return {"result": {"call_id": call_id, "success": True, "value": value}}


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A whole body around an example, in the envelope that its direction has."""
    if form == "response-stream":
        return None
    return (
        ({"request": example}, "request")
        if form == "request"
        else ({"result": example}, "response")
    )


def test_every_type_of_the_catalogue_is_read_as_what_it_is() -> None:
    file = DATA / "wire-catalogue.json"
    entries = json.loads(file.read_text()) if file.is_file() else []
    for entry in (entry for entry in entries if entry["wire"] == "oxp" and entry["core_wire"]):
        wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])
        assert wrapped is not None
        [part] = [
            part
            for part in decode(wrapped[0], "oxp", wrapped[1]).parts()
            if isinstance(part, Call | Result)
        ]
        assert isinstance(part, Call) == (entry["direction"] == "call")


def test_the_catalogue_says_that_the_id_of_a_request_may_be_missing_and_that_of_a_result_not() -> (
    None
):
    entries_of_wire = {
        (entry.type, entry.direction, entry.origin) for entry in catalogue() if entry.wire == "oxp"
    }
    assert entries_of_wire == {
        ("request", "call", "nullable"),
        ("value", "output", "natural"),
        ("error", "output", "natural"),
        ("message", "output", "absent"),
    }


# --- reading --------------------------------------------------------------------------------------

EXAMPLES: list[Object] = [
    {
        "tool_id": "Calculator.Add@1.0.0",
        "call_id": "123e4567-e89b-12d3-a456-426614174000",
        "input": {"a": 10, "b": 5},
    },
    {
        "tool_id": "Doorbell.Ring@0.1.0",
        "call_id": "223e4567-e89b-12d3-a456-426614174001",
        "input": {"doorbell_id": "doorbell42"},
    },
    {"tool_id": "System.GetTimestamp@1.0.0", "call_id": "323e4567-e89b-12d3-a456-426614174002"},
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["tool_id"]))
def test_bare_and_enveloped_are_the_same_call(example: Object) -> None:
    bare, nested = (
        decode(example, "oxp"),
        decode({"$schema": "urn:oxp:1.0", "request": example}, "oxp"),
    )
    assert bare == nested
    [call] = bare.calls()
    assert (call.name, call.id, call.input) == (
        example["tool_id"],
        example["call_id"],
        example.get("input", {}),
    )


def test_input_and_inputs_are_the_same_and_each_keeps_its_spelling_when_edited() -> None:
    for spelling in ("input", "inputs"):
        body: Object = {"tool_id": "A.B", "call_id": "c", spelling: {"a": 1}}
        conversation = decode(body, "oxp")
        [call] = conversation.calls()
        assert call.input == {"a": 1}
        assert encode(
            conversation.replace(call, replace(call, args=LazyJson('{"a":2}'))), "oxp"
        ).body == {**body, spelling: {"a": 2}}


def test_of_input_and_inputs_together_the_first_counts_and_the_other_is_a_reported_loss() -> None:
    body: Object = {"tool_id": "A.B", "call_id": "c", "input": {"a": 1}, "inputs": {"a": 2}}
    assert decode(body, "oxp").calls()[0].input == {"a": 1}
    assert [loss.pointer for loss in translate(body, "oxp", "openai-chat").losses] == ["/inputs"]


def test_credentials_never_leave_the_wire() -> None:
    for target in OTHERS:
        translated = translate(case("enveloped-request"), "oxp", target)
        assert b"ya29.x" not in translated.json()
        assert "/request/context" in [loss.pointer for loss in translated.losses]


def test_a_developer_message_never_reaches_a_model() -> None:
    [result] = decode(case("developer-message-is-private", "response"), "oxp", "response").results()
    assert result.error
    assert result.text == "No such doorbell.\nValid ids: doorbell1, doorbell42."
    body: list[JSON] = [request("v"), case("developer-message-is-private", "response")]
    for target in OTHERS:
        translated = translate(body, "oxp", target)
        assert b"shard 3" not in translated.json()
        losses = {loss.pointer.removeprefix("/1/result/error/") for loss in translated.losses}
        assert {"developer_message", "can_retry", "retry_after_ms", "kind"} <= losses


def test_a_value_is_any_json_and_keeps_every_digit() -> None:
    [result] = decode(case("results-in-every-form", "response"), "oxp", "response").results()
    assert get(result.output, ("big",)) == 90071992547409931  # type: ignore[arg-type]


def test_success_with_a_null_field_is_read_by_the_other_field() -> None:
    failed = decode(
        {"call_id": "v", "success": False, "value": None, "error": {"message": "boom"}},
        "oxp",
        "response",
    ).results()[0]
    went = decode(
        {"call_id": "v", "success": True, "value": 7, "error": None}, "oxp", "response"
    ).results()[0]
    assert (failed.output, failed.error) == ("boom", True)
    assert (went.output, went.error) == (7, False)


def test_a_body_of_another_shape_is_refused() -> None:
    bodies: list[JSON] = [{}, {"messages": []}, {"request": 5}, [7], {"request": {}, "result": 7}]
    for body in bodies:
        with pytest.raises(DecodeError):
            decode(body, "oxp")


# --- pairs ----------------------------------------------------------------------------------------


def pairs(body: list[JSON]) -> list[tuple[str | None, str | None]]:
    pairs = decode(body, "oxp").pairs()
    return [
        (pointer(p.call.path) if p.call else None, pointer(p.result.path) if p.result else None)
        for p in pairs
    ]


def test_an_id_made_by_the_server_becomes_that_of_the_only_possible_call() -> None:
    body: list[JSON] = [
        request(None, a=1),
        request("own", a=2),
        result("own", 2),
        result("made", 1),
    ]
    assert pairs(body) == [("/0/request", "/3/result"), ("/1/request", "/2/result")]
    assert [call.id for call in decode(body, "oxp").calls()] == ["made", "own"]


def test_two_calls_without_ids_are_not_guessed_at() -> None:
    body: list[JSON] = [request(None, a=1), request(None, a=1), result("x", 1), result("y", 2)]
    assert pairs(body) == [
        ("/0/request", None),
        ("/1/request", None),
        (None, "/2/result"),
        (None, "/3/result"),
    ]


def test_a_refusal_is_the_result_of_the_request_next_to_it() -> None:
    refused: Object = {**request("b"), "response": {"message": "no such tool"}}
    assert pairs([request("a"), refused, result("a", 1)]) == [
        ("/0/request", "/2/result"),
        ("/1/request", "/1/response"),
    ]


def test_a_refusal_alone_is_not_paired_with_one_of_two_calls() -> None:
    assert pairs([request("a"), request("b"), {"message": "busy"}]) == [
        ("/0/request", None),
        ("/1/request", None),
        (None, "/2"),
    ]


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", OTHERS)
def test_translations_are_accepted_by_the_published_schema(source: str) -> None:
    for case in load(source):
        validate(translate(case.body, source, "oxp", case.kind).body)


def test_the_validator_refuses_what_the_schema_does_not_have() -> None:
    bodies: list[JSON] = [
        {"request": {"tool_id": "NoKit"}},
        {"result": {"call_id": "c", "success": True, "error": {}}},
        {"items": [{}]},
    ]
    for body in bodies:
        with pytest.raises(AssertionError):
            validate(body)


def chat(*result_id: str) -> Object:
    """A conversation with the calls a, b and c, of which some are answered."""
    calls: list[JSON] = [
        {
            "id": letter,
            "type": "function",
            "function": {"name": f"tool_{letter}", "arguments": "{}"},
        }
        for letter in "abc"
    ]
    results: list[JSON] = [
        {"role": "tool", "tool_call_id": entry, "content": f"done {entry}"} for entry in result_id
    ]
    return {
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *results,
        ]
    }


@pytest.mark.parametrize(
    ("result_id", "request_id"), [("", "c"), ("c", "b"), ("bc", "a"), ("abc", "c")]
)
def test_a_request_is_the_last_open_call_or_else_the_last(result_id: str, request_id: str) -> None:
    translated = translate(chat(*result_id), "openai-chat", "oxp")
    assert translated.body == {
        "$schema": "urn:oxp:1.0",
        "request": {"tool_id": f"tools.tool_{request_id}", "call_id": request_id, "input": {}},
    }
    assert len([loss for loss in translated.losses if "one call" in loss.reason]) == 3 + len(
        result_id
    )


def test_a_response_is_the_last_result() -> None:
    encoded = encode(decode(chat("b", "a"), "openai-chat"), "oxp", "response")
    assert encoded.body == {
        "$schema": "urn:oxp:1.0",
        "result": {"call_id": "a", "success": True, "value": "done a"},
    }


def test_a_minted_id_is_not_sent_as_an_idempotency_key() -> None:
    body: JSON = {
        "contents": [{"role": "model", "parts": [{"functionCall": {"name": "ring", "args": {}}}]}]
    }
    translated = translate(body, "gemini", "oxp")
    assert get(translated.body, ("request",)) == {"tool_id": "tools.ring", "input": {}}
    assert is_minted(decode(translated.json(), "oxp").calls()[0].id)
    assert translate(translated.json(), "oxp", "gemini", ids=translated.ids).body == body


def test_without_calls_and_results_the_body_is_the_list_of_tools() -> None:
    tools: JSON = [
        {
            "name": "get_weather",
            "input_schema": {"type": "object", "properties": {}},
            "description": "Weather.",
        }
    ]
    body: JSON = {"max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}], "tools": tools}
    translated = translate(body, "anthropic", "oxp")
    validate(translated.body)
    assert get(translated.body, ("items", 0, "id")) == "tools.get_weather"
    assert {loss.pointer for loss in translated.losses} == {"/max_tokens", "/messages/0/content"}
    assert (
        get(translate(translated.json(), "oxp", "anthropic", ids=translated.ids).body, ("tools",))
        == tools
    )


def test_two_names_that_become_one_tool_id_stay_two() -> None:
    conversation = decode({"messages": []}, "openai-chat")
    encoded = encode(
        replace(conversation, tools=(Tool("f"), Tool("tools.f"), Tool("a-b"), Tool("a_b"))), "oxp"
    )
    ids = [get(encoded.body, ("items", i, "id")) for i in range(4)]
    assert len(set(map(str, ids))) == 4
    assert [encoded.ids.names.get(str(call_id), call_id) for call_id in ids] == [
        "f",
        "tools.f",
        "a-b",
        "a_b",
    ]


@pytest.mark.parametrize("over", OTHERS)
def test_values_and_errors_survive_a_round_trip_over_other_wires(over: str) -> None:
    outputs: list[JSON] = ["text", {"a": [1]}, 15, [True]]
    for output in outputs:
        body: list[JSON] = [request("c", "Calculator.Add@1.0.0", a=1), result("c", output)]
        translated = translate(body, "oxp", over)
        restored = encode(decode(translated.json(), over), "oxp", "response", ids=translated.ids)
        assert get(restored.body, ("result", "value")) == output
    failed: list[JSON] = [
        request("c"),
        {"result": {"call_id": "c", "success": False, "error": {"message": "boom"}}},
    ]
    translated = translate(failed, "oxp", over)
    assert get(
        encode(decode(translated.json(), over), "oxp", "response", ids=translated.ids).body,
        ("result", "error"),
    ) == {"message": "boom"}


def test_a_log_that_has_only_a_list_of_tools_is_written_back_verbatim() -> None:
    tool: JSON = {"id": "add@1.0.0", "name": "add", "description": "Adds.", "version": "1.0.0"}
    body: JSON = [{"tools": [tool]}]
    conversation = decode(body, "oxp", "response")
    edited = replace(conversation, settings=dict(conversation.settings))
    assert encode(edited, "oxp", "response").body == body


def test_a_result_taken_out_of_a_log_leaves_the_other_bodies_verbatim() -> None:
    body = case("exchange-of-parallel-calls")
    assert isinstance(body, list)
    conversation = decode(body, "oxp")
    kept = tuple(
        replace(m, parts=tuple(p for p in m.parts if p is not conversation.results()[0]))
        for m in conversation.messages
    )
    assert encode(replace(conversation, messages=kept), "oxp").body == [*body[:2], *body[3:]]


def test_a_text_added_to_an_exchange_is_lost_with_a_report_and_the_exchange_stays() -> None:
    body = case("exchange-in-one-object")
    conversation = decode(body, "oxp")
    encoded = encode(
        replace(conversation, messages=(*conversation.messages, Message("user", (Text("More?"),)))),
        "oxp",
    )
    assert encoded.body == body
    assert len(encoded.losses) == 1


def test_a_short_name_that_differs_from_the_tool_id_is_reported() -> None:
    losses = translate(case("list-of-tools", "response"), "oxp", "mcp", "response").losses
    assert "/items/2/name" in {loss.pointer for loss in losses}
    assert "/items/0/name" not in {loss.pointer for loss in losses}


def test_detect_finds_this_wire_for_its_bodies_only() -> None:
    for case in load("oxp"):
        if case.name != "answer-refused-for-missing-requirements":
            assert detect(case.body) == "oxp"
    assert (
        oxp.WIRE.match_score({"message": "x"})
        == oxp.WIRE.match_score([])
        == oxp.WIRE.match_score({"tools": [{"name": "f"}]})
        == 0
    )


def test_a_text_beside_an_exchange_is_lost_alone() -> None:
    (case,) = [case for case in load("oxp") if case.name == "exchange-in-one-object"]
    conversation = decode(case.body, "oxp")
    first, *others = conversation.messages
    noted = replace(first, parts=(*first.parts, Text("A note.")))
    encoded = encode(replace(conversation, messages=(noted, *others)), "oxp")
    assert encoded.body == case.body
    assert [loss.reason for loss in encoded.losses] == ["a body is one exchange here"]
