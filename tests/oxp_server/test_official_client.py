"""The published client of the protocol: case 46 and 50, and the examples of this
project under it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import oxp
import pytest
from oxp_server.serving import RunningServer, executor_in, running
from oxp_server.toolkit import RUNS, tools

from toolwire.server.auth import Auth
from toolwire.tool_server import ToolServer

SECRET = "a secret for tests that is long enough"
KEY = "a key for tests that is long enough too"


def client(server: RunningServer, *, timeout: float = 60.0, key: str = "ignored") -> oxp.Oxp:
    """A strict client: a response that does not match the types raises, instead of silently becoming
    None."""
    return oxp.Oxp(
        base_url=server.url, bearer_token=key, timeout=timeout, _strict_response_validation=True
    )


@pytest.fixture(scope="module")
def server_with_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    auth = Auth({"official": KEY})
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path_factory.mktemp("ledger")), auth=auth)
    ) as where:
        yield where


def test_46_a_client_that_times_out_and_retries_gets_its_result_and_the_tool_ran_once(
    server: RunningServer,
) -> None:
    call_id = str(uuid4())
    with client(server, timeout=0.5) as official:
        request = {
            "tool_id": "Slow.Run",
            "call_id": call_id,
            "input": {"seconds": 1.3, "label": call_id},
        }
        found = official.tools.call(request=request).result  # type: ignore[arg-type]
    assert found.success and found.value == call_id
    assert RUNS[f"Slow.Run@1.0.0 {call_id}"] == 1


def test_46_without_a_call_id_it_runs_each_time(server: RunningServer) -> None:
    label = str(uuid4())
    with client(server, timeout=0.5) as official, pytest.raises(oxp.APITimeoutError):
        official.tools.call(
            request={"tool_id": "Slow.Run", "input": {"seconds": 1.3, "label": label}}
        )
    assert RUNS[f"Slow.Run@1.0.0 {label}"] == 3


def test_50_everything_that_succeeds_parses(server: RunningServer) -> None:
    with client(server) as official:
        official.health.check()
        listed = official.tools.list()
        assert [tool.id for tool in listed.items if tool.name == "Doorbell_Ring"] == [
            "Doorbell.Ring@0.1.0"
        ]
        value = official.tools.call(
            request={"tool_id": "Calculator.Add", "input": {"a": 10, "b": 5}}, schema="urn:oxp:1.0"
        )
        assert value.result.success is True
        assert value.result.value == 15
        ring = official.tools.call(
            request={"tool_id": "Doorbell.Ring", "input": {"doorbell_id": "doorbell42"}}
        )
        assert ring.result.value is None  # type: ignore[union-attr]
        packed = official.tools.call(
            request={"tool_id": "Shop.Pack", "input": {"boxes": [{"color": "blue"}]}}
        )
        assert packed.result.value == {"color": "blue", "size": 1}  # type: ignore[union-attr]


def test_50_a_failure_of_a_tool_parses_with_its_hints(server: RunningServer) -> None:
    with client(server) as official:
        found = official.tools.call(
            request={"tool_id": "Doorbell.Ring", "input": {"doorbell_id": "nowhere"}}
        ).result
    assert found.success is False
    error = found.error
    assert (error.can_retry, error.retry_after_ms) == (True, 500)
    assert error.additional_prompt_content == "Doorbells: doorbell42"


def test_50_refusals_raise_the_exceptions_that_are_meant_for_them(
    server: RunningServer, server_with_key: RunningServer
) -> None:
    with client(server) as official:
        with pytest.raises(oxp.BadRequestError) as unknown:
            official.tools.call(request={"tool_id": "No.Such"})
        with pytest.raises(oxp.UnprocessableEntityError) as invalid:
            official.tools.call(request={"tool_id": "Calculator.Add", "input": {"a": 1}})
        with pytest.raises(oxp.BadRequestError) as missing:
            official.tools.call(request={"tool_id": "Gmail.GetEmails", "input": {}})
    assert isinstance(unknown.value.body, dict) and unknown.value.body["message"]
    assert isinstance(invalid.value.body, dict) and list(
        invalid.value.body["parameter_errors"]
    ) == ["b"]
    assert (
        isinstance(missing.value.body, dict)
        and missing.value.body["missing_requirements"]["user_id"] is True
    )
    with (
        client(server_with_key, key="a wrong key") as stranger,
        pytest.raises(oxp.AuthenticationError) as refused,
    ):
        stranger.tools.list()
    assert isinstance(refused.value.body, dict) and refused.value.body["message"]
    with client(server_with_key, key=KEY) as friend:
        assert friend.tools.list().items


def test_50_the_asynchronous_client_agrees(
    server: RunningServer, server_with_key: RunningServer
) -> None:
    async def run_sdk_client() -> None:
        async with oxp.AsyncOxp(
            base_url=server.url, bearer_token="ignored", _strict_response_validation=True
        ) as official:
            await official.health.check()
            assert (await official.tools.list()).items
            value = await official.tools.call(
                request={"tool_id": "Calculator.Add", "input": {"a": 10, "b": 5}}
            )
            assert value.result.value == 15  # type: ignore[union-attr]
            ring = await official.tools.call(
                request={"tool_id": "Doorbell.Ring", "input": {"doorbell_id": "doorbell42"}}
            )
            assert ring.result.success is True
            failed = await official.tools.call(
                request={"tool_id": "Doorbell.Ring", "input": {"doorbell_id": "nowhere"}}
            )
            assert failed.result.error.can_retry is True  # type: ignore[union-attr]
            with pytest.raises(oxp.BadRequestError):
                await official.tools.call(request={"tool_id": "No.Such"})
            with pytest.raises(oxp.UnprocessableEntityError):
                await official.tools.call(request={"tool_id": "Calculator.Add"})
        async with oxp.AsyncOxp(
            base_url=server_with_key.url,
            bearer_token="a wrong key",
            _strict_response_validation=True,
        ) as official:
            with pytest.raises(oxp.AuthenticationError):
                await official.tools.list()

    asyncio.run(run_sdk_client())


def test_the_official_client_retries_a_call_that_is_still_running(tmp_path: Path) -> None:
    """The second request does not wait: it is asked to retry with the same bytes, and gets the
    result."""
    call_id = str(uuid4())
    with (
        running(ToolServer(tools(), executor=executor_in(tmp_path, wait=0.05))) as server,
        client(server, timeout=0.5) as official,
    ):
        request = {
            "tool_id": "Slow.Run",
            "call_id": call_id,
            "input": {"seconds": 1.0, "label": call_id},
        }
        found = official.tools.call(request=request).result  # type: ignore[arg-type]
    assert found.success and RUNS[f"Slow.Run@1.0.0 {call_id}"] == 1
