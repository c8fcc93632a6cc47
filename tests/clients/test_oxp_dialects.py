"""The OXP client among servers of every dialect: each test is a case of the client's contract."""

from __future__ import annotations

import time
from itertools import pairwise

import jwt
import pytest
from clients.dialects import (
    RecordedRequest,
    ScriptedResponse,
    failure_response,
    in_turn,
    run,
    speaking,
    success_response,
)

from toolwire.conversation.json import JSON, Object
from toolwire.errors import UsageError
from toolwire.oxp import (
    AuthChallenge,
    AuthenticationError,
    BadRequest,
    InvalidInput,
    InvalidResponse,
    Jwt,
    MissingRequirements,
    OxpClient,
    OxpError,
    ServerUnavailable,
    ToolCallFailed,
    ToolNotFound,
)
from toolwire.oxp.dialects import retry_after_ms
from toolwire.providers.http.policy import RetryPolicy
from toolwire.tools.runnable import Authorization

QUICK = RetryPolicy(attempts=3, backoff=0.01, max_retry_after=30.0)
SECRET = "a-shared-secret-of-enough-bytes-0123456789"
ADD: Object = {
    "id": "Calculator.Add@1.0.0",
    "name": "Calculator_Add",
    "description": "Add.",
    "version": "1.0.0",
    "input_schema": {"type": "object", "properties": {"a": {"type": "number"}}},
    "output_schema": {"type": "number"},
}


@pytest.mark.parametrize(
    "body", [{"items": [ADD]}, {"tools": [ADD]}, [ADD], {"items": [ADD], "tools": []}]
)
def test_a_list_is_read_as_items_as_tools_and_as_an_array(body: JSON) -> None:
    async def act() -> None:
        with speaking(in_turn(ScriptedResponse(200, body))) as server:
            async with OxpClient(server.url) as client:
                (found,) = await client.list()
                assert (found.server_id, str(found.id)) == (
                    "Calculator.Add@1.0.0",
                    "Calculator.Add@1.0.0",
                )
                assert found.output_schema == {"type": "number"}

    run(act())


def test_definitions_are_read_with_or_without_toolkit_version_wrapper_and_schemas() -> None:
    items: list[JSON] = [
        {
            "id": "add@2.1.0",
            "name": "add",
            "description": "",
            "input_schema": {"parameters": {"type": "object", "required": ["a"]}},
        },
        {"id": "odd-name.v2/x", "name": "x", "version": "3.0.1", "output_schema": None},
        {"id": "odd_name.v2_x", "version": "3.0.1"},
        {
            "id": "Kit.Parameters@1.0.0",
            "input_schema": {"type": "object", "properties": {"parameters": {"type": "object"}}},
        },
        {"description": "no id at all"},
    ]

    async def act() -> None:
        with speaking(in_turn(ScriptedResponse(200, items))) as server:
            async with OxpClient(server.url, default_toolkit="Lc") as client:
                add, odd, even, own = await client.list()
        assert (str(add.id), add.server_id) == ("Lc.add@2.1.0", "add@2.1.0")
        assert add.input_schema == {"type": "object", "required": ["a"]}
        assert (odd.server_id, odd.output_schema) == ("odd-name.v2/x", None)
        assert str(even.id) == "odd_name.v2_x@3.0.1"
        assert odd.id != even.id and odd.id.version == even.id.version
        assert "properties" in own.input_schema

    run(act())


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_value_is_unwrapped_and_integers_stay_integers(wrapped: bool) -> None:
    def answers(asked: RecordedRequest) -> ScriptedResponse:
        bare: Object = {
            "call_id": asked.call_id,
            "success": True,
            "value": {"n": 90071992547409931, "x": 1.5},
            "error": None,
        }
        return ScriptedResponse(200, {"result": bare} if wrapped else bare)

    async def act() -> None:
        with speaking(answers) as server:
            async with OxpClient(server.url) as client:
                value = await client.call("Big.Number")
                assert value == {"n": 90071992547409931, "x": 1.5}
                assert isinstance(value, dict) and isinstance(value["n"], int)

    run(act())


def test_no_value_at_all_is_null() -> None:
    async def act() -> None:
        with speaking(
            lambda asked: ScriptedResponse(
                200, {"result": {"call_id": asked.call_id, "success": True}}
            )
        ) as server:
            async with OxpClient(server.url) as client:
                assert await client.call("Doorbell.Ring", {"doorbell_id": "doorbell42"}) is None

    run(act())


def test_a_failure_that_does_not_say_so_is_not_retried_and_keeps_its_secrets() -> None:
    async def act() -> None:
        said: Object = {
            "message": "No.",
            "developer_message": "password is hunter2",
            "kind": "nope",
            "hint": 7,
        }
        with speaking(lambda asked: failure_response(asked, said)) as server:
            async with OxpClient(server.url, tool_retries=3) as client:
                with pytest.raises(ToolCallFailed) as caught:
                    await client.call("Bad.Boom", call_id="c1")
            error = caught.value
            assert (error.can_retry, error.kind, error.call_id, error.extra) == (
                False,
                "nope",
                "c1",
                {"hint": 7},
            )
            assert error.developer_message == "password is hunter2"
            assert str(error) == "No." and "hunter2" not in repr(error)
            assert len(server.calls) == 1

    run(act())


def test_a_tool_that_asks_for_it_is_called_again_after_its_time_under_a_new_id() -> None:
    times: list[float] = []

    def answers(asked: RecordedRequest) -> ScriptedResponse:
        times.append(time.monotonic())
        again: Object = {
            "message": "later",
            "can_retry": True,
            "retry_after_ms": 150.5,
            "additional_prompt_content": "hall",
        }
        return failure_response(asked, again) if len(times) < 3 else success_response(asked, 1)

    async def act() -> None:
        with speaking(answers) as server:
            async with OxpClient(server.url, tool_retries=2) as client:
                assert await client.call("Doorbell.Ring", call_id="mine") == 1
                ids = [one.call_id for one in server.calls]
                assert ids[0] == "mine" and len(set(ids)) == 3
                assert all(later - before >= 0.15 for before, later in pairwise(times))
            times.clear()
            async with OxpClient(server.url) as client:
                with pytest.raises(ToolCallFailed) as caught:
                    await client.call("Doorbell.Ring")
                assert (caught.value.retry_after_ms, caught.value.additional_prompt_content) == (
                    150,
                    "hall",
                )
                assert len(times) == 1, "the client retries only if it is told to"

    run(act())


FLAKY: list[ScriptedResponse] = [
    ScriptedResponse(500, b"Internal Server Error"),
    ScriptedResponse(408, {"message": "slow"}),
    ScriptedResponse(409, {"message": "conflict"}),
    ScriptedResponse(429, {"message": "many"}, {"Retry-After": "0"}),
    ScriptedResponse(503, {"message": "down"}, {"retry-after-ms": "5"}),
    ScriptedResponse(400, {"message": "busy"}, {"x-should-retry": "true", "retry-after-ms": "1"}),
    ScriptedResponse(200, {"a": 1}, cut=True),
]


@pytest.mark.parametrize("first", FLAKY, ids=lambda says: "cut" if says.cut else str(says.status))
def test_a_network_error_is_retried_with_the_same_bytes(first: ScriptedResponse) -> None:
    left = [first]

    async def act() -> None:
        with speaking(lambda asked: left.pop() if left else success_response(asked, 3)) as server:
            async with OxpClient(server.url, retry=QUICK) as client:
                assert await client.call("Calculator.Add", {"a": 1}) == 3
        one, two = server.calls
        assert one.body == two.body
        assert isinstance(one.call_id, str) and one.call_id[14] == "7", "a UUIDv7, made here"

    run(act())


def test_a_server_that_stays_down_is_given_up_after_all_tries() -> None:
    async def act() -> None:
        with speaking(
            in_turn(ScriptedResponse(503, {"message": "down for good"}, {"retry-after-ms": "1"}))
        ) as server:
            async with OxpClient(server.url, retry=QUICK) as client:
                with pytest.raises(ServerUnavailable) as caught:
                    await client.call("Calculator.Add")
                assert (str(caught.value), caught.value.status, len(server.calls)) == (
                    "down for good",
                    503,
                    3,
                )
                with pytest.raises(ServerUnavailable):
                    await client.list()
        with pytest.raises(ServerUnavailable) as gone:
            async with OxpClient(server.url, retry=QUICK) as client:
                assert not await client.health()
                await client.call("Calculator.Add")
        assert gone.value.sent is False

    run(act())


@pytest.mark.parametrize(
    ("says", "error", "calls"),
    [
        (
            ScriptedResponse(500, {"message": "bug"}, {"x-should-retry": "false"}),
            ServerUnavailable,
            1,
        ),
        (ScriptedResponse(503, {"message": "long"}, {"Retry-After": "3600"}), ServerUnavailable, 1),
        (ScriptedResponse(401, {"message": "who are you"}), AuthenticationError, 1),
        (ScriptedResponse(404, {"detail": "Tool not found"}), ToolNotFound, 1),
        (ScriptedResponse(403, {"detail": "Tool not found"}), ToolNotFound, 1),
        (ScriptedResponse(413, {"message": "large"}), BadRequest, 1),
        (ScriptedResponse(200, b"<html>"), InvalidResponse, 1),
        (
            ScriptedResponse(200, {"result": {"call_id": "another", "success": True, "value": 1}}),
            InvalidResponse,
            1,
        ),
    ],
)
def test_a_permanent_error_is_not_retried(
    says: ScriptedResponse, error: type[OxpError], calls: int
) -> None:
    async def act() -> None:
        with speaking(in_turn(says)) as server:
            async with OxpClient(server.url, retry=QUICK) as client:
                with pytest.raises(error) as caught:
                    await client.call("Calculator.Add")
                assert type(caught.value) is error or error is ServerUnavailable
            assert len(server.calls) == calls

    run(act())


@pytest.mark.parametrize(
    ("status", "page", "described"),
    [
        (404, b"<html><title>Welcome to\n nginx!</title>", "an HTML page (Welcome to nginx!)"),
        (200, b"\n<!DOCTYPE html><p>please log in</p>", "an HTML page"),
    ],
)
def test_the_page_of_a_server_without_tools_is_described_and_not_quoted(
    status: int, page: bytes, described: str
) -> None:
    message = (
        f"the server sent {described} instead of an OXP response (status {status}); check the"
        " address"
    )

    async def act() -> None:
        with speaking(in_turn(ScriptedResponse(status, page))) as server:
            async with OxpClient(server.url) as client:
                for request in (client.list, client.tools, lambda: client.call("Calculator.Add")):
                    with pytest.raises(OxpError) as caught:
                        await request()
                    assert str(caught.value) == message

    run(act())


def test_wrong_arguments_are_reported_by_parameter_also_as_web_frameworks_report_them() -> None:
    detail: JSON = [
        {
            "loc": ["body", "request", "input", "b"],
            "msg": "Input should be a number",
            "type": "x",
            "input": "hush",
        },
        {
            "loc": ["body", "request", "tool_id"],
            "msg": "Field required",
            "type": "missing",
            "input": {"a": "hush"},
        },
    ]

    async def act() -> None:
        with speaking(
            in_turn(
                ScriptedResponse(422, {"message": "Bad b.", "parameter_errors": {"b": "no number"}})
            )
        ) as server:
            async with OxpClient(server.url) as client:
                with pytest.raises(InvalidInput) as caught:
                    await client.call("Calculator.Add", {"b": "infinity"})
            assert (str(caught.value), caught.value.parameter_errors) == (
                "Bad b.",
                {"b": "no number"},
            )
            assert len(server.calls) == 1
        with speaking(in_turn(ScriptedResponse(422, {"detail": detail}))) as server:
            async with OxpClient(server.url) as client:
                with pytest.raises(InvalidInput) as caught:
                    await client.call("Calculator.Add", {"b": "hush"})
            assert caught.value.parameter_errors == {"b": "Input should be a number"}
            assert str(caught.value) == "Input should be a number; Field required"
        with speaking(in_turn(ScriptedResponse(400, {"detail": "1 validation error"}))) as server:
            async with OxpClient(server.url, request_format="enveloped") as client:
                with pytest.raises(BadRequest, match="1 validation error"):
                    await client.call("Calculator.Add", {"b": 1})

    run(act())


@pytest.mark.parametrize("inside", [True, False])
def test_missing_requirements_are_understood_in_both_places(inside: bool) -> None:
    lacks: Object = {
        "authorization": [
            {"id": "ch-1", "url": "https://a.example/go", "check_url": "https://a.example/state"}
        ],
        "required_authorization": [{"id": "google", "oauth2": {"scopes": ["mail"]}}],
        "secrets": [{"id": "KEY"}],
        "user_id": True,
    }
    said: Object = {"message": "More.", "missing_requirements": lacks}

    async def act() -> None:
        with speaking(
            lambda asked: failure_response(asked, said) if inside else ScriptedResponse(400, said)
        ) as server:
            async with OxpClient(server.url) as client:
                with pytest.raises(MissingRequirements) as caught:
                    await client.call("Gmail.GetEmails")
        missing = caught.value.missing
        assert (missing.secrets, missing.user_id) == (("KEY",), True)
        assert missing.authorization == (Authorization("google", ("mail",)),)
        assert caught.value.challenges == (
            AuthChallenge("ch-1", "https://a.example/go", "https://a.example/state"),
        )

    run(act())


@pytest.mark.parametrize(("end", "calls"), [("completed", 2), ("failed", 1)])
def test_a_challenge_is_shown_and_its_state_polled_until_it_is_settled(
    end: str, calls: int
) -> None:
    states: list[ScriptedResponse] = [
        ScriptedResponse(200, {"status": "pending"}),
        ScriptedResponse(503, b""),
        ScriptedResponse(200, {"status": end}),
    ]
    granted = False

    def answers(asked: RecordedRequest) -> ScriptedResponse:
        nonlocal granted
        if asked.path == "/state":
            granted = len(states) == 1 and end == "completed"
            return states.pop(0)
        if granted:
            return success_response(asked, "mail")
        url = f"http://{asked.headers['host']}"
        lacks: Object = {
            "authorization": [{"id": "c", "url": f"{url}/go", "check_url": f"{url}/state"}]
        }
        return ScriptedResponse(400, {"message": "Grant it.", "missing_requirements": lacks})

    async def act() -> None:
        shown: list[str] = []
        with speaking(answers) as server:
            async with OxpClient(
                server.url,
                on_challenge=lambda one: shown.append(one.url),
                retry=QUICK,
                poll_interval=0.01,
            ) as client:
                if end == "completed":
                    assert await client.call("Gmail.GetEmails", call_id="c1") == "mail"
                else:
                    with pytest.raises(MissingRequirements):
                        await client.call("Gmail.GetEmails", call_id="c1")
            assert shown == [f"{server.url}/go"]
            assert [one.call_id for one in server.calls] == ["c1"] * calls, (
                "nothing ran: it is still the same call"
            )

    run(act())


def test_a_server_that_knows_only_the_older_shape_is_asked_in_it_and_remembered() -> None:
    def langchain(asked: RecordedRequest) -> ScriptedResponse:
        assert isinstance(asked.body, dict)
        if asked.method == "GET":
            return ScriptedResponse(200, [ADD])
        if "request" not in asked.body or asked.body.get("$schema", "otc://1.0") != "otc://1.0":
            return ScriptedResponse(422, {"message": "Invalid request."})
        bare: Object = {"call_id": asked.call_id, "success": True, "value": 3}
        return ScriptedResponse(200, bare)

    def bare_only(asked: RecordedRequest) -> ScriptedResponse:
        return (
            success_response(asked, 3)
            if "tool_id" in (asked.body if isinstance(asked.body, dict) else {})
            else ScriptedResponse(400, {"message": "?"})
        )

    async def act() -> None:
        for answers, tries in ((langchain, 2), (bare_only, 3)):
            with speaking(answers) as server:
                async with OxpClient(server.url) as client:
                    assert await client.call("Calculator.Add") == 3
                    assert len(server.calls) == tries
                    assert len({str(one.call_id) for one in server.calls}) == 1
                    assert await client.call("Calculator.Add") == 3
                    assert len(server.calls) == tries + 1

    run(act())


def test_a_tool_that_is_not_in_the_list_is_not_found_and_any_other_400_is_a_bad_request() -> None:
    async def act() -> None:
        answers = lambda asked: (
            ScriptedResponse(200, {"items": [ADD]})
            if asked.method == "GET"
            else ScriptedResponse(400, {"message": "No."})
        )
        with speaking(answers) as server:
            async with OxpClient(server.url) as client:
                with pytest.raises(ToolNotFound):
                    await client.call("Missing.Tool")
                with pytest.raises(ToolNotFound):
                    await client.call("Calculator.Add@2.0.0")
                with pytest.raises(BadRequest) as caught:
                    await client.call("Calculator.Add@1")
                assert type(caught.value) is BadRequest

    run(act())


def test_a_prefix_of_the_address_is_kept() -> None:
    async def act() -> None:
        with speaking(
            lambda asked: (
                success_response(asked, 1)
                if asked.method == "POST"
                else ScriptedResponse(200, {"items": []})
            )
        ) as server:
            for base in (f"{server.url}/prefix/v1", f"{server.url}/prefix/v1/"):
                async with OxpClient(base) as client:
                    assert await client.health()
                    await client.list()
                    await client.call("A.B")
            paths = [one.path for one in server.asked]
            assert paths == ["/prefix/v1/health", "/prefix/v1/tools", "/prefix/v1/tools/call"] * 2

    run(act())


def test_every_request_gets_a_token_of_its_own_and_a_key_goes_into_its_header() -> None:
    async def act() -> None:
        with speaking(lambda asked: success_response(asked, 1)) as server:
            async with OxpClient(
                server.url, auth=Jwt(SECRET, audience="tools", lifetime=60)
            ) as client:
                await client.call("A.B")
            async with OxpClient(server.url, auth="the-key") as client:
                await client.call("A.B")
                assert "the-key" not in repr(client)
        signed, keyed = server.calls
        claims = jwt.decode(
            signed.headers["authorization"].removeprefix("Bearer "),
            SECRET,
            ["HS256"],
            audience="tools",
        )
        assert 0 < claims["exp"] - time.time() <= 60
        assert keyed.headers["oxp-api-key"] == "the-key"
        assert signed.headers["oxp-version"] == "1.0"

    run(act())
    with pytest.raises(UsageError, match="at least 32 bytes"):
        Jwt("short")
    assert SECRET not in repr(Jwt(SECRET))
    with pytest.raises(UsageError, match="credentials"):
        OxpClient("https://user:password@tools.example")


def test_a_tool_is_sent_what_it_declares_and_nothing_else() -> None:
    mail: Object = {
        **ADD,
        "id": "Mail.Read@1.0.0",
        "requirements": {"authorization": [{"id": "google"}], "user_id": True},
    }
    sms: Object = {**ADD, "id": "Sms.Send@1.0.0", "requirements": {"secrets": [{"id": "KEY"}]}}

    def answers(asked: RecordedRequest) -> ScriptedResponse:
        return (
            ScriptedResponse(200, {"items": [ADD, mail, sms]})
            if asked.method == "GET"
            else success_response(asked)
        )

    async def token(one: Authorization, user: str | None) -> str | None:
        return f"token-of-{one.id}-for-{user}"

    async def act() -> None:
        with speaking(answers) as server:
            async with OxpClient(
                server.url, tokens=token, secrets={"KEY": "k", "OTHER": "o"}, user_id="u1"
            ) as client:
                for tool in ("Calculator.Add", "Mail.Read@1", "Sms.Send"):
                    await client.call(tool, tokens={"github": "mine"})
            plain, read, sent = (one.request.get("context") for one in server.calls)
            assert plain is None
            assert read == {
                "authorization": [{"id": "google", "token": "token-of-google-for-u1"}],
                "user_id": "u1",
            }
            assert sent == {"secrets": [{"id": "KEY", "value": "k"}]}
            async with OxpClient(server.url, secrets={"OTHER": "o"}) as client:
                with pytest.raises(MissingRequirements, match="the secret KEY"):
                    await client.call("Sms.Send")
            assert len(server.calls) == 3, "known to be missing, it is not even asked"

    run(act())


def test_redirects_to_another_host_are_not_followed() -> None:
    async def act() -> None:
        with speaking(lambda asked: success_response(asked, "stolen")) as thief:
            for status in (301, 302, 303, 307, 308):
                with speaking(
                    in_turn(ScriptedResponse(status, b"", {"Location": f"{thief.url}/tools/call"}))
                ) as server:
                    async with OxpClient(server.url, auth="the-key") as client:
                        with pytest.raises(InvalidResponse):
                            await client.call("A.B")
                        with pytest.raises(OxpError):
                            await client.list()
            assert thief.asked == []

            async with OxpClient(server.url, auth="the-key") as client:
                with speaking(in_turn(ScriptedResponse(200, {"status": "completed"}))) as other:
                    assert await client.wait_for_grant(
                        AuthChallenge("c", "https://a.example", f"{other.url}/state")
                    )
                    assert "oxp-api-key" not in other.asked[0].headers

    run(act())


def test_within_its_own_host_a_call_follows_with_its_body() -> None:
    async def act() -> None:
        moved = lambda asked: (
            ScriptedResponse(307, b"", {"Location": "/new/tools/call"})
            if asked.path == "/tools/call"
            else success_response(asked, 1)
        )
        with speaking(moved) as server:
            async with OxpClient(server.url) as client:
                assert await client.call("A.B") == 1

    run(act())


def test_an_answer_without_end_is_cut_off() -> None:
    async def act() -> None:
        with speaking(lambda asked: success_response(asked, "x" * 100_000)) as server:
            async with OxpClient(server.url, max_response_bytes=50_000) as client:
                with pytest.raises(InvalidResponse, match="more than 50000 bytes"):
                    await client.call("A.B")

    run(act())


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "2", "retry-after-ms": "150"}, 150),
        (
            {
                "retry-after": "Sun, 06 Nov 1994 08:49:40 GMT",
                "date": "Sun, 06 Nov 1994 08:49:37 GMT",
            },
            3000,
        ),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:40 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_as_seconds_milliseconds_or_a_date_of_the_server(
    headers: dict[str, str], wait: int | None
) -> None:
    assert retry_after_ms(headers) == wait
