"""`toolwire.testing` and the pytest plugin: mocks of providers for the tests of users."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import toolwire_pytest
from anthropic import Anthropic, BadRequestError

from toolwire import HttpModel, UsageError
from toolwire.agent.agent import Agent
from toolwire.testing import MockServer

PLUGIN = Path(toolwire_pytest.__file__)
toolwire_mock = toolwire_pytest.toolwire_mock


def test_an_official_client_talks_to_a_mock_and_its_requests_are_recorded(
    toolwire_mock: Callable[..., MockServer],
) -> None:
    server = toolwire_mock("anthropic")
    client = Anthropic(base_url=server.base_url, api_key=server.api_key)
    message = client.messages.create(
        model="demo", max_tokens=100, messages=[{"role": "user", "content": "[[text hello]]"}]
    )
    assert [block.text for block in message.content if block.type == "text"] == ["hello"]
    (request,) = server.requests
    assert (request.method, request.path, request.status) == ("POST", "/v1/messages", 200)
    assert isinstance(request.body, dict) and request.body["max_tokens"] == 100


@pytest.mark.parametrize("strict", (True, False))
def test_a_strict_mock_refuses_a_history_that_its_provider_refuses(
    toolwire_mock: Callable[..., MockServer], strict: bool
) -> None:
    server = toolwire_mock("anthropic", strict=strict)
    client = Anthropic(base_url=server.base_url, api_key=server.api_key, max_retries=0)

    def ask() -> None:
        client.messages.create(
            model="demo",
            max_tokens=100,
            messages=[
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "4"}],
                }
            ],
        )

    if strict:
        with pytest.raises(BadRequestError, match="tool_use_id"):
            ask()
        assert server.requests[-1].rule
    else:
        ask()


def test_two_mocks_run_side_by_side(toolwire_mock: Callable[..., MockServer]) -> None:
    servers = [toolwire_mock("openai"), toolwire_mock("gemini")]
    for server in servers:
        model = HttpModel(server.model, base_url=server.base_url, api_key=server.api_key)
        assert Agent(model).run_sync("[[text hello]]").text == "hello"
    assert [len(server.requests) for server in servers] == [1, 1]


def test_a_mock_can_be_used_without_pytest() -> None:
    with MockServer("mistral") as server:
        body = {"model": "demo", "messages": [{"role": "user", "content": "[[text hi]]"}]}
        request = Request(
            f"{server.base_url}/chat/completions",
            json.dumps(body).encode(),
            {"authorization": "Bearer any", "content-type": "application/json"},
        )
        with urlopen(request, timeout=600) as response:
            assert json.load(response)["choices"][0]["message"]["content"] == "hi"


def test_an_unknown_provider_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean anthropic"):
        MockServer("antropic")


def test_the_plugin_does_not_import_toolwire() -> None:
    code = "import sys, toolwire_pytest; print('toolwire' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PLUGIN.parent
    )
    assert done.stdout.strip() == "False"


def test_the_plugin_is_an_entry_point_of_the_distribution() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert (
        'pytest11.toolwire = "toolwire_pytest"' in text
        and "pytest_plugin/toolwire_pytest.py" in text
    )


def test_agent_and_gateway_do_not_import_the_mocks() -> None:
    code = (
        "import sys, toolwire.agent.agent, toolwire.oxp.client, toolwire.oxp.server;"
        " print([name for name in sys.modules if name.startswith('toolwire.mock')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
