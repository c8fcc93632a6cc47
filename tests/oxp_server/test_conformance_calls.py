"""The conformance cases of OXP 1.0 for a server, 1 to 23: health, the list, calls, versions, input.
Over real HTTP."""

from __future__ import annotations

import http.client
import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from oxp_server.serving import LONG, Reply, RunningServer, ask, executor_in, running, serving
from oxp_server.toolkit import RUNS, SEED, add, tools

from toolwire.conversation.json import JSON, Object
from toolwire.server.auth import Auth
from toolwire.tool_server import ToolServer
from toolwire.tools import Tools

SECRET = "a secret for tests that is long enough"
ADD: Object = {"tool_id": "Calculator.Add@1.0.0", "input": {"a": 10, "b": 5}}


def new() -> str:
    return str(uuid4())


def result(got: Reply) -> Object:
    """The result of a response, without its envelope."""
    found = got.json["result"]
    assert isinstance(found, dict)
    return found


def items(got: Reply) -> list[Object]:
    found = got.json["items"]
    assert isinstance(found, list)
    return [one for one in found if isinstance(one, dict)]


# --- health ---------------------------------------------------------------------------------------


def test_01_health_is_200(server: RunningServer) -> None:
    got = server.ask("GET", "/health")
    assert (got.status, got.json) == (200, {"status": "ok", "tool_count": len(tools())})


def test_02_health_needs_no_authentication(tmp_path: Path) -> None:
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path), auth=Auth(secrets=[SECRET]))
    ) as server:
        assert server.ask("GET", "/health").status == 200
        assert (
            server.ask("GET", "/health", headers={"Authorization": "Bearer rubbish"}).status == 200
        )
        assert server.ask("GET", "/tools").status == 401


def test_03_health_is_503_while_the_server_drains(tmp_path: Path) -> None:
    app = ToolServer(tools(), executor=executor_in(tmp_path))
    with running(app) as server:
        app.drain()
        got = server.ask("GET", "/health")
    assert got.status == 503
    assert got.json["status"] == "unavailable"
    assert got.headers["retry-after"]


# --- the list -------------------------------------------------------------------------------------


def test_04_without_tools_the_list_is_empty_and_there(tmp_path: Path) -> None:
    with serving(Tools(), tmp_path) as server:
        got = server.ask("GET", "/tools")
    assert (got.status, got.json["items"]) == (200, [])


def test_05_every_definition_is_whole_and_has_nothing_else(server: RunningServer) -> None:
    listed = items(server.ask("GET", "/tools"))
    keys = {"id", "name", "description", "version", "input_schema", "output_schema"}
    for one in listed:
        assert keys <= one.keys() <= keys | {"requirements"}
        assert re.fullmatch(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+@[0-9]+\.[0-9]+\.[0-9]+", str(one["id"]))
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(one["name"]))
        assert one["description"]
        assert str(one["id"]).endswith(f"@{one['version']}")
        assert isinstance(one["input_schema"], dict)
    by_id = {one["id"]: one for one in listed}
    assert by_id["Doorbell.Ring@0.1.0"]["output_schema"] is None
    assert by_id["Gmail.GetEmails@1.2.0"]["requirements"] == {
        "authorization": [{"id": "google"}],
        "user_id": True,
    }
    assert by_id["SMS.Send@0.1.2"]["requirements"] == {"secrets": [{"id": "TWILIO_API_KEY"}]}


def test_05_the_list_is_in_one_order_by_id_and_then_by_version(server: RunningServer) -> None:
    ids = [str(one["id"]) for one in items(server.ask("GET", "/tools"))]
    assert ids[2:7] == [
        "Bad.Rubbish@1.0.0",
        "Calculator.Add@1.0.0",
        "Calculator.Add@1.9.0",
        "Calculator.Add@1.10.0",
        "Doorbell.Ring@0.1.0",
    ]


def test_06_a_body_with_a_get_does_not_disturb_the_connection(server: RunningServer) -> None:
    connection = http.client.HTTPConnection(*server.address, timeout=LONG)
    assert ask(connection, "GET", "/tools", b"{}").status == 200
    assert ask(connection, "GET", "/health", b"{}").status == 200
    kept = connection.sock
    assert ask(connection, "GET", "/tools").status == 200
    assert connection.sock is kept
    connection.close()


def test_07_schemas_hold_no_references(server: RunningServer) -> None:
    packed = next(
        one for one in items(server.ask("GET", "/tools")) if one["id"] == "Shop.Pack@1.0.0"
    )
    text = json.dumps(packed)
    assert "red" in text and "size" in text
    assert not re.search(r'"(\$ref|\$defs|definitions)"', text)


# --- calls ----------------------------------------------------------------------------------------


def test_08_a_call_in_an_envelope_is_answered_in_one(server: RunningServer) -> None:
    call_id = new()
    got = server.call({"request": {**ADD, "call_id": call_id}})
    found = result(got)
    assert got.status == 200
    assert got.json["$schema"] == "urn:oxp:1.0"
    assert (found["call_id"], found["success"], found["value"]) == (call_id, True, 15)
    assert "error" not in found
    assert isinstance(found["duration"], int | float) and found["duration"] >= 0


def test_09_a_bare_call_is_answered_bare(server: RunningServer) -> None:
    got = server.call({**ADD, "call_id": new()})
    assert got.status == 200
    assert got.json["value"] == 15
    assert "result" not in got.json and "$schema" not in got.json


@pytest.mark.parametrize("body", SEED, ids=lambda body: str(json.loads(body)["tool_id"]))
def test_10_the_examples_of_the_specification_succeed_literally_and_echo_their_call_id(
    server: RunningServer, body: str
) -> None:
    got = server.ask("POST", "/tools/call", body.encode(), {"Content-Type": "application/json"})
    assert got.status == 200
    assert got.json["success"] is True
    assert got.json["call_id"] == json.loads(body)["call_id"]


def test_11_inputs_is_another_name_of_input(server: RunningServer) -> None:
    assert (
        server.call({"tool_id": "Calculator.Add@1.0.0", "inputs": {"a": 10, "b": 5}}).json["value"]
        == 15
    )
    assert server.call({**ADD, "inputs": {"b": 5, "a": 10}}).json["value"] == 15


def test_12_two_different_inputs_are_refused_and_nothing_runs(server: RunningServer) -> None:
    before = RUNS["Calculator.Add@1.0.0"]
    got = server.call({**ADD, "inputs": {"a": 10, "b": 6}})
    assert got.status == 400
    assert RUNS["Calculator.Add@1.0.0"] == before


def test_13_without_a_call_id_each_call_gets_its_own(server: RunningServer) -> None:
    first, second = (server.call(ADD).json["call_id"] for _ in range(2))
    assert first and second and first != second
    assert server.call({**ADD, "call_id": ""}).json["call_id"]
    assert server.call({**ADD, "call_id": None}).json["call_id"]


def test_14_a_tool_without_a_value_gives_null(server: RunningServer) -> None:
    found = server.call(
        {"tool_id": "Doorbell.Ring@0.1.0", "input": {"doorbell_id": "doorbell42"}}
    ).json
    assert found["success"] is True
    assert found["value"] is None and "value" in found


@pytest.mark.parametrize("more", [{}, {"input": {}}, {"input": None}, {"inputs": {}}], ids=str)
def test_15_no_input_is_an_empty_one(server: RunningServer, more: Object) -> None:
    assert server.call({"tool_id": "System.GetTimestamp@1.0.0", **more}).status == 200


# --- versions of tools ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        ("", "1.10.0"),
        ("@1", "1.0.0"),
        ("@1.9.0", "1.9.0"),
        ("@1.10.0", "1.10.0"),
        ("@01.9.0", "1.9.0"),
    ],
)
def test_16_17_18_the_requested_version_runs(server: RunningServer, asked: str, ran: str) -> None:
    before = RUNS[f"Calculator.Add@{ran}"]
    assert server.call({**ADD, "tool_id": f"Calculator.Add{asked}"}).status == 200
    assert RUNS[f"Calculator.Add@{ran}"] == before + 1


def test_17_one_number_is_that_very_version_and_not_the_newest_of_its_kind(tmp_path: Path) -> None:
    with serving(Tools(add("1.9.0"), add("1.10.0")), tmp_path) as server:
        assert server.call({**ADD, "tool_id": "Calculator.Add@1"}).status == 400


def test_18_an_unknown_version_is_400_with_texts_for_user_and_developer(
    server: RunningServer,
) -> None:
    got = server.call({**ADD, "tool_id": "Calculator.Add@2.0.0"})
    assert got.status == 400
    assert got.json["message"] and "2.0.0" in str(got.json["developer_message"])


BAD_IDS: list[JSON] = [
    "Calculator.Add@1.0",
    "Calculator.Add@latest",
    "Calculator.Add@1.0.0-rc1",
    "Add",
    "A.B.C",
    "Calculator.Add\n",
    "",
    7,
    None,
    "Calculator.Add@",
    "My-Kit.Add",
    "Ca\u0301lculator.Add",
    "Calculator.Add@" + "9" * 5000,
    "Calculator.Add@1" + "9" * 900,
]


@pytest.mark.parametrize("tool_id", BAD_IDS, ids=lambda one: repr(one)[:40])
@pytest.mark.parametrize("enveloped", [True, False])
def test_19_a_malformed_tool_id_is_400(
    server: RunningServer, tool_id: JSON, enveloped: bool
) -> None:
    request: Object = {**ADD, "tool_id": tool_id}
    assert server.call({"request": request} if enveloped else request).status == 400


def test_19_a_missing_tool_id_is_400(server: RunningServer) -> None:
    assert server.call({"request": {"input": {}}}).status == 400
    assert server.call({"input": {}}).status == 400


def test_20_an_unknown_tool_is_400_and_not_404(server: RunningServer) -> None:
    got = server.call({"request": {"tool_id": "Calculator.Divide"}})
    assert got.status == 400
    assert got.json["$schema"] == "urn:oxp:1.0"


# --- input ----------------------------------------------------------------------------------------


def test_21_a_wrong_argument_is_422_by_its_name_and_its_value_is_not_quoted(
    server: RunningServer,
) -> None:
    before = RUNS["Calculator.Add@1.0.0"]
    got = server.call({"tool_id": "Calculator.Add@1.0.0", "input": {"a": 10, "b": "infinity"}})
    assert got.status == 422
    errors = got.json["parameter_errors"]
    assert isinstance(errors, dict) and list(errors) == ["b"] and errors["b"]
    assert b"infinity" not in got.body
    assert RUNS["Calculator.Add@1.0.0"] == before


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"a": 10}, {"b"}),
        ({"a": 10, "b": 5, "z": 1}, {"z"}),
        ({}, {"a", "b"}),
        ({"a": True, "b": "5"}, {"a", "b"}),
    ],
)
def test_22_missing_and_unknown_arguments_are_422_by_their_names(
    server: RunningServer, given: Object, named: set[str]
) -> None:
    got = server.call({"tool_id": "Calculator.Add@1.0.0", "input": given})
    errors = got.json["parameter_errors"]
    assert isinstance(errors, dict)
    assert (got.status, set(errors)) == (422, named)


@pytest.mark.parametrize("given", [[], "{}", 7, True])
def test_23_an_input_that_is_no_object_is_400(server: RunningServer, given: JSON) -> None:
    assert server.call({"tool_id": "System.GetTimestamp@1.0.0", "input": given}).status == 400
