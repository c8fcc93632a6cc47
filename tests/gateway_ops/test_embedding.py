"""The gateway as an ASGI application in another program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from gateway_ops.running import post, serve_gateway
from mock.hosting import serve_mock

from toolwire.errors import ConfigError
from toolwire.gateway import Gateway
from toolwire.tools import tool

CHAT = {"model": "demo", "messages": [{"role": "user", "content": "[[text hello]]"}]}


@tool
def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


def test_a_gateway_of_a_file_serves_its_models(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text('[models.demo]\nupstream = "demo"\n')
    with serve_gateway(Gateway.from_config(file)) as url:
        response = post(f"{url}/v1/chat/completions", CHAT)
        assert response.status == 200 and "hello" in response.text


def test_a_gateway_runs_python_tools_that_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    with serve_mock("anthropic") as mock:
        file.write_text(f'[models.m]\nupstream = "anthropic"\nbase_url = "{mock.url}"\n')
        app = Gateway.from_config(file, env={"ANTHROPIC_API_KEY": "k" * 20}, tools=[weather])
        name = next(iter(app.tools.toolset.names), "") if app.tools else ""
        assert name == "", "nothing is opened before the application starts"
        with serve_gateway(app) as url:
            assert app.tools is not None
            (name,) = app.tools.toolset.names
            question = f'[[call {name} {{"city": "Oslo"}}]] [[then]] [[text done]]'
            body = {"model": "m", "messages": [{"role": "user", "content": question}]}
            assert "sunny in Oslo" in post(f"{url}/v1/chat/completions", body).text


def test_a_mounted_gateway_opens_on_its_first_request(tmp_path: Path) -> None:
    """Starlette runs no lifespan of mounted applications."""
    file = tmp_path / "gateway.toml"
    file.write_text('[models.demo]\nupstream = "demo"\n')
    log: list[str] = []
    gateway = Gateway.from_config(file, services=[RecordedService(log, "service")])
    app = FastAPI()
    app.mount("/llm", gateway)

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            both = [client.post("/llm/v1/chat/completions", json=CHAT) for _ in range(2)]
            responses = await asyncio.gather(*both)
        await gateway.close()
        return [response.status_code for response in responses]

    assert asyncio.run(ask()) == [200, 200]
    assert log == ["open service", "close service"]


class RecordedService:
    """A service that records when it is opened and closed."""

    def __init__(self, log: list[str], name: str, error: Exception | None = None) -> None:
        self._log, self._name, self._error = log, name, error

    async def open(self) -> None:
        if self._error is not None:
            raise self._error
        self._log.append(f"open {self._name}")

    async def close(self) -> None:
        self._log.append(f"close {self._name}")


def test_a_gateway_that_cannot_open_closes_what_it_had_opened(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text('[models.demo]\nupstream = "demo"\n')
    log: list[str] = []
    error = ConfigError("the second one is broken")
    services = [RecordedService(log, "first"), RecordedService(log, "second", error)]
    app = Gateway.from_config(file, services=services)
    with pytest.raises(ConfigError, match="the second one is broken"):
        asyncio.run(app.open())
    assert log == ["open first", "close first"] and app.failure is error


def test_a_file_with_tool_sources_needs_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("")
    file = tmp_path / "gateway.toml"
    file.write_text(
        f'[models.demo]\nupstream = "demo"\n[tools]\nsources = ["{tmp_path / "tools.py"}"]\n'
    )
    with pytest.raises(ConfigError, match="pass the tools as tools="):
        Gateway.from_config(file)


SIDE_EFFECTS = """
import gc, logging, resource, signal, sys, threading
from pathlib import Path

def state():
    return (
        logging.getLogRecordFactory(), gc.get_threshold(), gc.isenabled(),
        resource.getrlimit(resource.RLIMIT_NOFILE), signal.getsignal(signal.SIGHUP),
        signal.getsignal(signal.SIGTERM), threading.active_count(),
        [handler for name in logging.root.manager.loggerDict
         for handler in logging.getLogger(name).handlers],
    )

from toolwire.gateway import Gateway
before = state()
file = Path(sys.argv[1])
file.write_text('[models."*"]\\nupstream = "groq"\\n')
Gateway.from_config(file, env={"GROQ_API_KEY": "k"})
assert state() == before, (state(), before)
print([name for name in sys.modules if name.startswith("toolwire.mock")])
"""


def test_constructing_a_gateway_changes_nothing_in_the_process_and_loads_no_mock(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", SIDE_EFFECTS, str(tmp_path / "gateway.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
