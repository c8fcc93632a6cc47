"""The conformance cases of OXP 1.0 for a server, 36 to 45: authentication, and the identity of
calls."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import jwt
import pytest
from oxp_server.serving import Reply, RunningServer, executor_in, head, running
from oxp_server.toolkit import FLAKY, RUNS, tools

from toolwire.conversation.json import JSON, Object
from toolwire.server.auth import Auth
from toolwire.tool_server import ToolServer

SECRET = "a secret for tests that is long enough for every algorithm of its family, so 64 bytes"
KEY = "a key for tests that is long enough too"
OTHER_KEY = "another key for tests, of another client"
ADD: Object = {"tool_id": "Calculator.Add@1.0.0", "input": {"a": 10, "b": 5}}


def new() -> str:
    return str(uuid4())


def token(secret: str = SECRET, alg: str = "HS256", **claims: JSON) -> str:
    """A token that is valid for five minutes, unless the claims differ; None removes a claim."""
    held: Object = {"exp": int(time.time()) + 300, **claims}
    return jwt.encode(
        {name: value for name, value in held.items() if value is not None}, secret, alg
    )


def bearer(value: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {value}"}


def slow(label: str, seconds: float = 0.5) -> Object:
    return {"tool_id": "Slow.Run", "input": {"seconds": seconds, "label": label}}


# --- authentication -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["Bearer anything", "Basic Zm9vOmJhcg==", "Bearer", "nonsense"])
def test_36_without_authentication_any_authorization_is_ignored(
    server: RunningServer, value: str
) -> None:
    assert server.call(ADD, {"Authorization": value}).status == 200


NOW = int(time.time())
GOOD: dict[str, Callable[[], str]] = {
    "five minutes": token,
    "just within the longest life": lambda: token(exp=int(time.time()) + 15 * 60),
    "expired a moment ago, within the leeway": lambda: token(exp=int(time.time()) - 5),
    "an audience that is allowed": lambda: token(aud="toolserver"),
    "a list with an audience that is allowed": lambda: token(aud=["elsewhere", "toolserver"]),
    "a subject": lambda: token(sub="alice"),
    "a time that is not a whole number": lambda: token(exp=int(time.time()) + 100.5),
    "issued and valid from now": lambda: token(iat=int(time.time()), nbf=int(time.time())),
}
"""Made when they are used: a test may run long after this file was read."""
BAD: dict[str, str] = {
    "garbage": "garbage",
    "three dots of garbage": "a.b.c",
    "not ASCII": "ü.ü.ü",
    "another secret": token(SECRET + "!"),
    "expired": token(exp=NOW - 3600),
    "no expiry": token(exp=None),
    "a broken signature": token()[:-4] + "AAAA",
    "an expiry that is true": token(exp=True),
    "no algorithm": jwt.encode({"exp": NOW + 300}, "", "none"),
    "another algorithm by the right secret": token(alg="HS512"),
    "valid for a day": token(exp=NOW + 86400),
    "valid for ever": token(exp=10**400),
    "another audience": token(aud="elsewhere"),
    "a list of other audiences": token(aud=["elsewhere", "nowhere"]),
    "an audience that is a number": token(aud=7),
    "not valid yet": token(nbf=NOW + 1000),
    "issued in the future": token(iat=NOW + 1000),
    "a key of no use here": KEY,
}


@pytest.fixture(scope="module")
def server_with_jwt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    auth = Auth(secrets=[SECRET], audiences=["toolserver"])
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path_factory.mktemp("ledger")), auth=auth)
    ) as where:
        yield where


@pytest.mark.parametrize("made", GOOD.values(), ids=GOOD)
def test_37_a_valid_token_is_accepted(
    server_with_jwt: RunningServer, made: Callable[[], str]
) -> None:
    given = made()
    assert server_with_jwt.call(ADD, bearer(given)).status == 200
    assert server_with_jwt.call(ADD, {"Authorization": f"bearer  {given}"}).status == 200


@pytest.mark.parametrize("given", BAD.values(), ids=BAD)
def test_37_a_bad_token_is_401_and_the_answer_is_always_the_same(
    server_with_jwt: RunningServer, given: str
) -> None:
    before = RUNS["Calculator.Add@1.0.0"]
    headers = {"Authorization": f"Bearer {given}".encode().decode("latin-1")}
    got, nothing = server_with_jwt.call(ADD, headers), server_with_jwt.call(ADD)
    assert (got.status, got.body) == (nothing.status, nothing.body) == (401, nothing.body)
    assert got.headers["www-authenticate"].startswith("Bearer")
    assert server_with_jwt.ask("GET", "/tools", headers=headers).status == 401
    assert server_with_jwt.ask("GET", "/metrics", headers=headers).status == 401
    assert RUNS["Calculator.Add@1.0.0"] == before


@pytest.fixture(scope="module")
def server_with_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    auth = Auth({"alice": KEY, "bob": OTHER_KEY}, secrets=[SECRET])
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path_factory.mktemp("ledger")), auth=auth)
    ) as where:
        yield where


@pytest.mark.parametrize(
    "headers",
    [{"OXP-API-Key": KEY}, {"OTC-API-Key": KEY}, bearer(KEY), {"oxp-api-key": OTHER_KEY}, None],
    ids=["key", "old-key", "bearer", "other-key", "token"],
)
def test_38_a_valid_key_is_accepted_in_every_header_that_clients_can_send(
    server_with_keys: RunningServer, headers: dict[str, str] | None
) -> None:
    headers = headers or bearer(token())
    assert server_with_keys.call(ADD, headers).status == 200
    assert server_with_keys.ask("GET", "/tools", headers=headers).status == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"OXP-API-Key": KEY[:-1]}, {"OXP-API-Key": ""}, bearer(KEY + "x"), {"Authorization": KEY}],
    ids=str,
)
def test_38_a_wrong_key_or_none_is_401(
    server_with_keys: RunningServer, headers: dict[str, str]
) -> None:
    assert server_with_keys.call(ADD, headers).status == 401


@pytest.mark.parametrize("body", [b"not JSON", b"[]", b'{"tool_id": "No.Such"}', b""])
def test_39_an_unauthenticated_caller_learns_nothing_about_other_errors(
    server_with_keys: RunningServer, body: bytes
) -> None:
    assert (
        server_with_keys.ask(
            "POST", "/tools/call", body, {"Content-Type": "application/json"}
        ).status
        == 401
    )


# --- the same call --------------------------------------------------------------------------------


def test_40_the_same_call_again_gets_the_same_answer_and_runs_once(server: RunningServer) -> None:
    call_id, before = new(), RUNS["Calculator.Add@1.0.0"]
    first = server.call({**ADD, "call_id": call_id})
    again = server.call(
        {"call_id": call_id, "inputs": {"b": 5, "a": 10.0}, "tool_id": "Calculator.Add@1"}
    )
    assert first.body == again.body
    assert RUNS["Calculator.Add@1.0.0"] == before + 1
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


def test_40_a_failure_for_good_is_answered_the_same_again(server: RunningServer) -> None:
    call_id, before = new(), RUNS["Bad.Rubbish@1.0.0"]
    first, again = (server.call({"tool_id": "Bad.Rubbish", "call_id": call_id}) for _ in range(2))
    assert first.json["success"] is False
    assert first.body == again.body
    assert RUNS["Bad.Rubbish@1.0.0"] == before + 1


def test_41_duplicates_of_a_running_call_share_its_result(server: RunningServer) -> None:
    label = new()
    body: Object = {**slow(label), "call_id": label}
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: server.call(body), range(8)))
    assert {one.body for one in got} == {got[0].body}
    assert got[0].json["value"] == label
    assert RUNS[f"Slow.Run@1.0.0 {label}"] == 1


def test_41_a_call_continues_when_its_caller_disconnects_and_a_retry_gets_its_result(
    server: RunningServer,
) -> None:
    label = new()
    body: Object = {**slow(label, 0.6), "call_id": label}
    text = json.dumps(body).encode()
    with server.connect() as gone:
        gone.sendall(head("POST", "/tools/call", len(text)) + text)
        until = time.monotonic() + 20
        while not RUNS[f"Slow.Run@1.0.0 {label}"] and time.monotonic() < until:
            time.sleep(0.01)
    assert server.call(body).json["value"] == label
    assert RUNS[f"Slow.Run@1.0.0 {label}"] == 1


@pytest.mark.parametrize(
    "other",
    [
        {"input": {"a": 10, "b": 6}},
        {"tool_id": "Calculator.Add@1.9.0"},
        {"tool_id": "Doorbell.Ring", "input": {"doorbell_id": "x"}},
    ],
    ids=str,
)
def test_42_a_call_id_that_belongs_to_another_call_is_400(
    server: RunningServer, other: Object
) -> None:
    call_id = new()
    assert server.call({**ADD, "call_id": call_id}).status == 200
    before = RUNS.total()
    assert server.call({**ADD, "call_id": call_id, **other}).status == 400
    assert RUNS.total() == before


def test_43_a_rejected_request_may_be_corrected_and_sent_again(server: RunningServer) -> None:
    call_id = new()
    assert server.call({**ADD, "call_id": call_id, "input": {"a": 1}}).status == 422
    assert server.call({**ADD, "call_id": call_id, "tool_id": "Calculator.Sum"}).status == 400
    assert (
        server.call(
            {"tool_id": "SMS.Send", "call_id": call_id, "input": {"to": "1", "message": "m"}}
        ).status
        == 400
    )
    assert server.call({**ADD, "call_id": call_id}).json["value"] == 15


def test_44_a_failure_that_may_be_retried_runs_again(server: RunningServer) -> None:
    label = new()
    body: Object = {"tool_id": "Flaky.Once", "call_id": label, "input": {"label": label}}
    assert server.call(body).json["success"] is False
    assert server.call(body).json["value"] == "now"
    assert server.call(body).json["value"] == "now"
    assert FLAKY[label] == 2


def test_45_principals_do_not_see_each_others_results(server_with_keys: RunningServer) -> None:
    call_id = new()
    answers: list[Reply] = []
    for n, headers in enumerate(
        (
            {"OXP-API-Key": KEY},
            {"OXP-API-Key": OTHER_KEY},
            bearer(token()),
            bearer(token(sub="alice")),
            bearer(token(sub="bob")),
        )
    ):
        answers.append(
            server_with_keys.call({**ADD, "call_id": call_id, "input": {"a": 10, "b": n}}, headers)
        )
    assert [one.json.get("value") for one in answers] == [10, 11, 12, 13, 14]
    assert (
        server_with_keys.call(
            {**ADD, "call_id": call_id, "input": {"a": 10, "b": 0}}, bearer(KEY)
        ).headers["idempotent-replayed"]
        == "true"
    )


def test_45_users_do_not_see_each_others_results(server: RunningServer) -> None:
    call_id = new()
    for n, user in enumerate(("anna", "bert", None)):
        context: JSON = {} if user is None else {"user_id": user}
        got = server.call(
            {**ADD, "call_id": call_id, "input": {"a": n, "b": 0}, "context": context}
        )
        assert got.json.get("value") == n
