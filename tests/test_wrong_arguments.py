"""A wrong argument is refused where it is passed, with a text that names it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine

import pytest

from toolwire import (
    Agent,
    Gateway,
    HttpModel,
    Limits,
    McpClient,
    OxpClient,
    Provider,
    RetryPolicy,
    SqliteLedger,
    Timeouts,
    ToolExecutor,
    ToolServer,
    UsageError,
    resume,
)
from toolwire.server import BodyLimits, ConnectionLimits


def call_oxp(*arguments: object) -> object:
    call: Callable[..., Coroutine[None, None, object]] = OxpClient("http://127.0.0.1:1").call
    return asyncio.run(call(*arguments))


LEDGER = SqliteLedger("never-opened.db")
ROWS: list[tuple[Callable[..., object], tuple[object, ...], dict[str, object], str]] = [
    (Agent, ("demo:",), {"executor": LEDGER}, "a ToolExecutor as executor=, got SqliteLedger"),
    (Agent, ("demo:",), {"limits": {}}, "Limits(...) as limits=, got dict"),
    (Agent, ("demo:",), {"store": "f.json"}, "such as FileStore(path), got str"),
    (Agent, ("demo:",), {"system": 5}, "text as system=, got int"),
    (Agent, ("demo:",), {"settings": ["a"]}, "a dict as settings=, got list"),
    (Agent, ("demo:",), {"secrets": ["a"]}, "a dict as secrets=, got list"),
    (Agent, ("demo:",), {"tokens": ["a"]}, "a dict as tokens=, got list"),
    (HttpModel, ("demo:",), {"headers": ["a"]}, "a dict as headers=, got list"),
    (Agent("demo:").run_sync, ({},), {}, "text or a Message as the question, got dict"),
    (HttpModel, (5,), {}, "such as openai:gpt-5, got int"),
    (HttpModel, ("demo:",), {"timeouts": 5}, "Timeouts(...) as timeouts=, got int"),
    (HttpModel, ("demo:",), {"retry": 5}, "RetryPolicy(...) as retry=, got int"),
    (HttpModel, ("demo:",), {"api_key": 5}, "text as api_key=, got int"),
    (HttpModel, ("demo:",), {"base_url": 5}, "text as base_url=, got int"),
    (HttpModel, ("acme",), {"provider": "acme"}, "a Provider as provider=, got str"),
    (Provider, (), {"name": "a", "profile": "openai", "key_envs": "K"}, "as key_envs=, got str"),
    (Provider, (), {"name": "a", "profile": "openai", "headers": {}}, "as headers=, got dict"),
    (ToolExecutor, ("calls.db",), {}, "such as SqliteLedger(path), got str"),
    (ToolExecutor().run_sync, (5,), {}, "a tool, a function or the name of a tool, got int"),
    (ToolServer, ([],), {"ledger": "calls.db"}, "such as SqliteLedger(path), got str"),
    (ToolServer, ([],), {"executor": LEDGER}, "a ToolExecutor as executor=, got SqliteLedger"),
    (ToolServer, ([],), {"auth": "key"}, "Auth(...) as auth=, got str"),
    (ToolServer, ([],), {"limits": 5}, "BodyLimits(...) as limits=, got int"),
    (ToolServer, ([],), {"allowed_hosts": "a.example"}, "names as allowed_hosts=, got str"),
    (ToolServer, ([],), {"allowed_origins": "https://a"}, "as allowed_origins=, got str"),
    (Gateway, ("gateway.toml",), {}, "`Gateway.from_config` reads a file"),
    (OxpClient, (5,), {}, "an address as text, got int"),
    (call_oxp, (5,), {}, "the id of a tool as text, got int"),
    (call_oxp, ("A.B", "{}"), {}, "the input of a tool as a dict of its arguments, got str"),
    (McpClient, (5,), {}, "an address, or a command as a list, got int"),
    (resume, ([], "openai", 5), {}, "results by call id, as a dict, got int"),
]


@pytest.mark.parametrize(("call", "args", "options", "text"), ROWS)
def test_a_value_of_a_wrong_type_is_refused_by_name(
    call: Callable[..., object], args: tuple[object, ...], options: dict[str, object], text: str
) -> None:
    with pytest.raises(UsageError, match=f"^expected .*{re.escape(text)}"):
        call(*args, **options)


NUMBERS: list[tuple[Callable[..., object], dict[str, object], str]] = [
    (Timeouts, {"connect": "10"}, "connect= must be a positive number of seconds, not '10'"),
    (Timeouts, {"idle": 0}, "idle= must be a positive number of seconds, not 0"),
    (Timeouts, {"total": float("nan")}, "total= must be a positive number of seconds, not nan"),
    (RetryPolicy, {"attempts": 0}, "attempts= must be a whole number of at least 1, not 0"),
    (RetryPolicy, {"attempts": True}, "attempts= must be a whole number of at least 1, not True"),
    (RetryPolicy, {"backoff": -1}, "backoff= must be a number of seconds, not -1"),
    (Limits, {"turns": 2.5}, "turns= must be a whole number of at least 1, not 2.5"),
    (Limits, {"tool_seconds": -1}, "tool_seconds= must be a positive number of seconds, not -1"),
    (ConnectionLimits, {"grace": -1}, "grace= must be a whole number of at least 0, not -1"),
    (BodyLimits, {"body": "4"}, "body= must be a whole number of at least 0, not '4'"),
]


@pytest.mark.parametrize(("limits", "values", "text"), NUMBERS)
def test_a_limit_that_is_no_sensible_number_is_refused_by_name(
    limits: Callable[..., object], values: dict[str, object], text: str
) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        limits(**values)


@pytest.mark.parametrize(
    "url", ["ftp://localhost", "http://localhost:99999", "http://", "http://a b"]
)
def test_a_base_url_is_checked_when_the_model_is_made(url: str) -> None:
    with pytest.raises(UsageError, match=r"^openai:gpt-5: the address is not an http or https URL"):
        HttpModel("openai:gpt-5", base_url=url)
