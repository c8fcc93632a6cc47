"""The agent as users use it: names of models, single tools, results, and errors that say what to
do."""

from __future__ import annotations

import asyncio

import pytest
from agent.mock_server import MockServer, add, model_at
from cases import WIRES
from ports import free_port

from toolwire import (
    Agent,
    AgentError,
    Call,
    Deny,
    Edit,
    HttpModel,
    Limits,
    Provider,
    RetryPolicy,
    ToolwireError,
    UsageError,
    encode,
)
from toolwire.types import Decision, Runnable

ONCE = RetryPolicy(attempts=1)


def test_an_agent_takes_the_name_of_a_model_and_a_single_tool() -> None:
    result = Agent("demo:", add).run_sync("add 1 and 2")
    assert result.text == "Calculator_Add(a=1, b=2) gave: 3.0"
    assert result.error is None and result.usage.input


@pytest.mark.parametrize("name", ("demo:anthropic", "demo:gemini", "demo:mistral"))
def test_the_offline_model_speaks_the_wire_of_a_provider(name: str) -> None:
    model = HttpModel(name)
    assert Agent(model, [add]).run_sync("add 1 and 2").text.endswith("gave: 3.0")
    assert model.target == name.partition(":")[2]


def test_the_offline_model_can_be_used_again_after_it_was_closed() -> None:
    agent = Agent("demo:", add)
    assert agent.run_sync("add 1 and 2").text.endswith("3.0")
    assert agent.run_sync("add 3 and 4").text.endswith("7.0")


@pytest.mark.parametrize("wire", WIRES)
def test_the_conversation_of_a_result_encodes_to_every_wire(wire: str) -> None:
    conversation = Agent("demo:", add).run_sync("add 1 and 2").conversation
    assert [message.role for message in conversation.messages][:2] == ["user", "assistant"]
    assert encode(conversation, wire).json()


def test_a_run_that_fails_raises_with_the_reason_and_keeps_the_conversation(
    mock_server: MockServer,
) -> None:
    agent = Agent(model_at("openai-chat", mock_server.mock("openai-chat").url), add)
    with pytest.raises(AgentError, match="status 403") as caught:
        agent.run_sync("[[error 403]] hello")
    assert isinstance(caught.value, ToolwireError)
    assert caught.value.result.error == str(caught.value) != ""
    assert [message.role for message in agent.thread.messages] == ["user"]


def test_a_run_that_reaches_its_limit_says_how_to_continue() -> None:
    agent = Agent("demo:", add, limits=Limits(turns=2))
    with pytest.raises(AgentError, match=r"2 turns .* call run\(\) again") as caught:
        agent.run_sync("[[never-stop]] add 1 and 2")
    assert len(caught.value.result.conversation.pairs()) == 2


def test_a_server_that_does_not_listen_is_named_with_the_command_that_starts_it() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(AgentError) as caught:
        Agent(HttpModel("ollama:llama4", base_url=url, retry=ONCE)).run_sync("hello")
    assert str(caught.value) == (
        f"ollama: nothing is listening at {url}; start the server with `ollama serve`,"
        " or set another base URL"
    )


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UsageError, match="set the environment variable ANTHROPIC_API_KEY"):
        Agent("anthropic:claude-opus-5")


@pytest.mark.parametrize(
    ("name", "text"),
    (
        ("antropic:claude", "there is no provider antropic; did you mean anthropic? known names:"),
        ("gpt-5", "name a provider and a model, as in openai:gpt-5; providers are openai,"),
        ("demo:antropic", "did you mean anthropic?"),
    ),
)
def test_a_wrong_model_name_gets_a_suggestion(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Agent(name)
    assert text in str(caught.value)


def test_the_name_of_a_provider_may_be_its_company() -> None:
    model = HttpModel("google:gemini-3", api_key="k")
    assert (model.target, model.name) == ("gemini", "gemini-3")


def test_a_provider_of_your_own_has_its_address_key_and_headers(mock_server: MockServer) -> None:
    placed = mock_server.mock("openai-chat")
    acme = Provider(
        name="acme",
        profile="openai-chat",
        base_url=f"{placed.url}/v1",
        key_envs=("ACME_KEY",),
        headers=(("x-acme", "1"),),
    )
    model = HttpModel("large", provider=acme, env={"ACME_KEY": "k"}, retry=ONCE)
    assert Agent(model).run_sync("[[text hi]]").text == "hi"
    assert placed.bodies()[0]["model"] == "large"


def test_edited_arguments_may_be_an_object() -> None:
    def approve(call: Call, tool: Runnable) -> Decision:
        return Edit({"a": 20, "b": 30}) if call.arguments != "{}" else Deny()

    result = Agent("demo:", add, approve=approve).run_sync("add 1 and 2")
    assert result.text == "Calculator_Add(a=20, b=30) gave: 50.0"


def test_one_agent_runs_one_question_at_a_time() -> None:
    async def main() -> None:
        agent = Agent("demo:", add)
        first = asyncio.create_task(agent.run("[[slow 0.2]] [[text one]]"))
        await asyncio.sleep(0.05)
        with pytest.raises(UsageError, match="already running"):
            await agent.run("two")
        assert (await first).text == "one"
        await agent.model.close()

    asyncio.run(main())


def test_in_an_event_loop_a_run_is_awaited() -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match=r"use `await agent\.run\(\.\.\.\)`$"):
            Agent("demo:", add).run_sync("hello")

    asyncio.run(main())


def test_what_is_not_a_model_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"expected a model, or a name such as .*, not NoneType"):
        Agent(None, add)  # type: ignore[arg-type]
