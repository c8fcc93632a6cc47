"""The conformance cases of OXP 1.0 for a server, 24 to 35 and 47 to 49: failures, requirements,
versions, shapes, media types."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from oxp_server.serving import Reply, RunningServer, executor_in, running
from oxp_server.toolkit import RUNS, SEEN, tools

from toolwire.conversation.json import JSON, Object
from toolwire.execution.tool_call import ToolCall
from toolwire.oxp.protocol import AuthChallenge
from toolwire.tool_server import ToolServer
from toolwire.tools import Authorization

JSON_TYPE = {"Content-Type": "application/json"}
ADD: Object = {"tool_id": "Calculator.Add@1.0.0", "input": {"a": 10, "b": 5}}
EMAILS: Object = {"tool_id": "Gmail.GetEmails", "input": {"query": "is:unread"}}
SMS: Object = {"tool_id": "SMS.Send", "input": {"to": "+1", "message": "hello"}}


def error(got: Reply) -> Object:
    """The failure of a tool: always 200, and never with a value."""
    assert got.status == 200
    body = got.json.get("result", got.json)
    assert isinstance(body, dict)
    assert body["success"] is False and "value" not in body
    found = body["error"]
    assert isinstance(found, dict)
    assert None not in found.values()
    return found


def lacks(got: Reply) -> Object:
    """The missing requirements of a refusal."""
    assert got.status == 400
    found = got.json["missing_requirements"]
    assert isinstance(found, dict)
    return found


# --- failures of tools ----------------------------------------------------------------------------


@pytest.mark.parametrize("enveloped", [True, False])
def test_24_a_failure_that_may_be_retried_is_200_with_all_its_hints(
    server: RunningServer, enveloped: bool
) -> None:
    request: Object = {"tool_id": "Doorbell.Ring", "input": {"doorbell_id": "doorbell1"}}
    found = error(server.call({"request": request} if enveloped else request))
    assert found["message"] == "There is no such doorbell."
    assert found["can_retry"] is True
    assert type(found["retry_after_ms"]) is int and found["retry_after_ms"] == 500
    assert found["additional_prompt_content"] == "Doorbells: doorbell42"


def test_25_an_exception_does_not_reveal_a_secret(server: RunningServer) -> None:
    secret = "s3cr3t-of-the-boom"
    got = server.call(
        {"tool_id": "Bad.Boom", "context": {"secrets": [{"id": "KEY", "value": secret}]}}
    )
    assert error(got)["can_retry"] is False
    assert secret.encode() not in got.body


@pytest.mark.parametrize("tool_id", ["Bad.Rubbish", "Bad.Nan"])
def test_26_a_result_that_does_not_match_the_output_schema_is_a_failure(
    server: RunningServer, tool_id: str
) -> None:
    assert error(server.call({"tool_id": tool_id}))["can_retry"] is False


def test_27_a_tool_that_takes_too_long_fails_with_a_timeout(server: RunningServer) -> None:
    begun = time.monotonic()
    assert error(server.call({"tool_id": "Slow.TooSlow"}))["message"]
    assert time.monotonic() - begun < 20  # the tool sleeps for 30


# --- requirements ---------------------------------------------------------------------------------


def test_28_all_missing_requirements_are_reported_at_once_and_nothing_runs(
    server: RunningServer,
) -> None:
    before = RUNS["Gmail.GetEmails@1.2.0"]
    got = server.call(EMAILS)
    assert lacks(got) == {"required_authorization": [{"id": "google"}], "user_id": True}
    assert got.json["message"] == "This tool needs authorization for google and a user id."
    assert RUNS["Gmail.GetEmails@1.2.0"] == before


def test_29_met_requirements_are_not_reported_and_an_empty_token_is_missing(
    server: RunningServer,
) -> None:
    token: Object = {"id": "google", "token": "t0ken"}
    assert lacks(server.call({**EMAILS, "context": {"authorization": [token]}})) == {
        "user_id": True
    }
    empty: Object = {"authorization": [{**token, "token": ""}], "user_id": "u"}
    assert lacks(server.call({**EMAILS, "context": empty})) == {
        "required_authorization": [{"id": "google"}]
    }


def test_30_a_secret_is_required_and_a_tool_sees_only_its_own(server: RunningServer) -> None:
    assert lacks(server.call(SMS)) == {"secrets": [{"id": "TWILIO_API_KEY"}]}
    mine: Object = {"id": "TWILIO_API_KEY", "value": "mine"}
    assert server.call({**SMS, "context": {"secrets": [mine]}}).status == 200
    other: Object = {"id": "OTHER", "value": "others"}
    more: Object = {"secrets": [mine, other], "authorization": [{"id": "google", "token": "t0ken"}]}
    assert server.call({**SMS, "context": more}).status == 200
    assert dict(SEEN[-1].secrets) == {"TWILIO_API_KEY": "mine"}
    assert dict(SEEN[-1].tokens) == {}


def sync_challenge(ask: ToolCall, one: Authorization) -> AuthChallenge | None:
    return AuthChallenge("c1", f"https://login.example/{one.id}")


async def async_challenge(ask: ToolCall, one: Authorization) -> AuthChallenge | None:
    return AuthChallenge("c1", f"https://login.example/{one.id}", "https://login.example/check/c1")


def raise_in_challenge(ask: ToolCall, one: Authorization) -> AuthChallenge | None:
    raise RuntimeError("the login server is down")


@pytest.mark.parametrize(
    ("challenges", "expected"),
    [
        (sync_challenge, [{"id": "c1", "url": "https://login.example/google"}]),
        (
            async_challenge,
            [
                {
                    "id": "c1",
                    "url": "https://login.example/google",
                    "check_url": "https://login.example/check/c1",
                }
            ],
        ),
        (raise_in_challenge, None),
        (lambda ask, one: None, None),
        (None, None),
    ],
    ids=["with-url", "with-check-url", "broken", "gives-none", "no-provider"],
)
def test_31_a_challenge_is_sent_only_if_it_has_an_address(
    tmp_path: Path, challenges: object, expected: JSON
) -> None:
    app = ToolServer(tools(), executor=executor_in(tmp_path), challenges=challenges)  # type: ignore[arg-type]
    with running(app) as server:
        assert lacks(server.call(EMAILS)).get("authorization") == expected


def test_32_a_tool_without_requirements_runs_without_a_context(server: RunningServer) -> None:
    nothing: Object = {"secrets": None, "authorization": None, "user_id": None}
    more: list[Object] = [{}, {"context": None}, {"context": {}}, {"context": nothing}]
    for context in more:
        assert server.call({**ADD, **context}).status == 200


# --- versions of the protocol ---------------------------------------------------------------------

SPEC = "https://raw.githubusercontent.com/OpenExecProtocol/Specification/main/spec/http/{}/openapi.json"


@pytest.mark.parametrize(
    ("schema", "status"),
    [
        ("urn:oxp:1", 200),
        ("urn:oxp:1.0", 200),
        ("urn:oxp:1.0.0", 200),
        ("urn:oxp:1.7", 200),
        ("otc://1.0", 200),
        (SPEC.format("1.0"), 200),
        ("https://example.com", 200),
        ("", 200),
        ("urn:oxp:2.0", 400),
        ("otc://2.0", 400),
        (SPEC.format("2.0"), 400),
        ("urn:oxp:0.9", 400),
        (7, 400),
        ({}, 400),
    ],
)
def test_33_a_schema_of_version_1_or_of_none_is_served(
    server: RunningServer, schema: JSON, status: int
) -> None:
    assert server.call({"$schema": schema, "request": ADD}).status == status
    assert server.call({"$schema": schema, **ADD}).status == status
    body = b'{"$schema":"urn:oxp:2.0"}'
    assert server.ask("GET", "/tools", body).status == 400
    assert server.ask("GET", "/tools", b"not JSON").status == 200


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("1", 200),
        ("1.0", 200),
        ("1.0.0", 200),
        ("1.3", 200),
        ("nonsense", 200),
        ("2.0", 400),
        ("2", 400),
    ],
)
def test_34_a_header_of_version_1_or_none_is_served(
    server: RunningServer, version: str, status: int
) -> None:
    got = server.call({"$schema": "urn:oxp:1.0", "request": ADD}, {"OXP-Version": version})
    assert got.status == status
    assert server.ask("GET", "/tools", headers={"OXP-Version": version}).status == status
    if status == 400:
        assert "1.0" in str(got.json["developer_message"])


# --- shapes ---------------------------------------------------------------------------------------

BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "not JSON": b"tool_id=Calculator.Add",
    "cut off": b'{"tool_id": "Calculator.Add", "inp',
    "two values": b"{} {}",
    "a list": b"[]",
    "a text": b'"Calculator.Add"',
    "null": b"null",
    "an empty object": b"{}",
    "a request that is a number": b'{"request": 5}',
    "a request that is null": b'{"request": null}',
    "both shapes": b'{"request": {"tool_id": "Calculator.Add"}, "tool_id": "Calculator.Add"}',
    "NaN": b'{"tool_id": "Calculator.Add", "input": {"a": NaN, "b": 1}}',
    "Infinity": b'{"tool_id": "Calculator.Add", "input": {"a": -Infinity, "b": 1}}',
    "a number without end": b'{"tool_id": "Calculator.Add", "input": {"a": 1e999, "b": 1}}',
    "a key twice": b'{"tool_id": "Calculator.Add", "input": {"a": 1, "b": 1, "a": 2}}',
    "a key twice, once escaped": (
        b'{"tool_id": "Calculator.Add", "input": {"a": 1, "b": 1, "\\u0061": 2}}'
    ),
    "a key twice behind an escaped colon": (
        b'{"tool_id": "Calculator.Add", "input": {"a": 1, "b": "\\u003a", "a": 2}}'
    ),
    "not UTF-8": b'{"tool_id": "Calculator.Add", "input": {"a": "\xff"}}',
    "UTF-16": '{"tool_id": "Calculator.Add"}'.encode("utf-16"),
    "lone surrogate": b'{"tool_id": "Calculator.Add", "input": {"a": "\\ud800"}}',
    "a call id that is a number": b'{"tool_id": "Calculator.Add", "call_id": 7}',
    "a call id without end": b'{"tool_id": "Calculator.Add", "call_id": "%b"}' % (b"x" * 257),
    "a call id with a NUL": b'{"tool_id": "Calculator.Add", "call_id": "a\\u0000"}',
    "a trace id that is a list": b'{"tool_id": "Calculator.Add", "trace_id": []}',
    "a context that is a list": b'{"tool_id": "Calculator.Add", "context": []}',
    "a user id that is a number": b'{"tool_id": "Calculator.Add", "context": {"user_id": 7}}',
    "secrets as an object": (
        b'{"tool_id": "Calculator.Add", "context": {"secrets": {"KEY": "value"}}}'
    ),
    "a secret by key": (
        b'{"tool_id": "Calculator.Add", "context": {"secrets": [{"key": "K", "value": "v"}]}}'
    ),
    "a secret without a value": (
        b'{"tool_id": "Calculator.Add", "context": {"secrets": [{"id": "K"}]}}'
    ),
    "authorization as an object": (
        b'{"tool_id": "Calculator.Add", "context": {"authorization": {"token": "t"}}}'
    ),
    "a token twice": (
        b'{"tool_id": "Calculator.Add", "context": {"authorization": [{"id": "g", "token": "t"},'
        b' {"id": "g", "token": "u"}]}}'
    ),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_35_a_body_that_is_no_request_is_400_with_a_message_and_nothing_runs(
    server: RunningServer, body: bytes
) -> None:
    before = RUNS.total()
    got = server.ask("POST", "/tools/call", body, JSON_TYPE)
    assert got.status == 400
    assert got.json["message"] and got.json["developer_message"]
    assert RUNS.total() == before


def test_35_a_mark_at_the_front_and_odd_spellings_are_still_json(server: RunningServer) -> None:
    body = (
        b'\xef\xbb\xbf {"tool_id" : "Calculator.Add@1.0.0", "input" : {"\\u0061" : 10 , "b":5.0}} '
    )
    assert server.ask("POST", "/tools/call", body, JSON_TYPE).json["value"] == 15


# --- paths and media types ------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/call", "/call/", "/tools/call/", "/tools/call"])
def test_47_every_spelling_of_the_path_is_answered_on_the_spot(
    server: RunningServer, path: str
) -> None:
    assert server.call({"request": ADD}, path=path).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "application/vnd.oxp+json"}, 200),
        ({"Content-Type": "APPLICATION/JSON"}, 200),
        ({"Content-Type": "application/json", "Origin": "https://evil.example"}, 403),
        (
            {
                "Content-Type": "application/json",
                "Origin": "https://tools.example",  # a proxy replaced the Host header
                "Sec-Fetch-Site": "same-origin",
            },
            200,
        ),
        ({}, 200),
        ({"Origin": "https://evil.example"}, 415),
        ({"Sec-Fetch-Site": "cross-site"}, 415),
        ({"Content-Type": "text/plain", "Origin": "https://evil.example"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "text/plain; application/json"}, 415),
    ],
    ids=str,
)
def test_48_only_json_of_own_pages_is_accepted_and_nothing_runs_otherwise(
    server: RunningServer, headers: dict[str, str], status: int
) -> None:
    before = RUNS["Calculator.Add@1.0.0"]
    body = b'{"tool_id": "Calculator.Add@1.0.0", "input": {"a": 1, "b": 2}}'
    assert server.ask("POST", "/tools/call", body, headers).status == status
    assert RUNS["Calculator.Add@1.0.0"] == before + (status == 200)


def test_48_a_preflight_request_is_rejected(server: RunningServer) -> None:
    asks = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    got = server.ask("OPTIONS", "/tools/call", headers=asks)
    assert (got.status, got.headers["allow"]) == (405, "POST")
    assert not [name for name in got.headers if name.startswith("access-control")]


def test_49_unknown_keys_are_ignored(server: RunningServer) -> None:
    odd: Object = {
        **ADD,
        "color": "red",
        "context": {"locale": "de", "secrets": [{"id": "K", "value": "v", "note": 1}]},
    }
    assert server.call(odd).status == 200
    assert server.call({"request": odd, "extra": [1]}).status == 200
