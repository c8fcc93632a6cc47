"""Losses that change a meaning, and notes about the rest."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from toolwire import decode, encode, translate
from toolwire.cli.framework.group import commands
from toolwire.conversation.json import JSON, Object, dump, get
from toolwire.conversation.model import real_losses

REQUEST: Object = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}


def severities(body: JSON, source: str, target: str) -> dict[str, str]:
    return {loss.pointer: loss.severity for loss in translate(body, source, target).losses}


def tool(*, strict: bool) -> JSON:
    function: JSON = {"name": "f", "parameters": {"type": "object"}, "strict": strict}
    return {"type": "function", "function": function}


@pytest.mark.parametrize("strict, severity", [(False, "info"), (True, "loss")])
def test_a_strict_flag_is_a_loss_only_if_it_is_set(strict: bool, severity: str) -> None:
    body: JSON = {**REQUEST, "tools": [tool(strict=strict)]}
    assert severities(body, "openai-chat", "ollama")["/tools/0"] == severity


def test_how_a_request_is_sent_and_accounted_is_no_loss() -> None:
    body: JSON = {
        **REQUEST,
        "store": False,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "service_tier": "flex",
    }
    assert set(severities(body, "openai-chat", "gemini").values()) == {"info"}


DEFAULTS: dict[str, tuple[str, str, Object]] = {
    "chat": (
        "openai-chat",
        "cohere",
        {
            "n": 1,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "user": "u",
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "logprobs": False,
            "logit_bias": {},
            "response_format": {"type": "text"},
            "store": False,
        },
    ),
    "Responses": (
        "openai-responses",
        "bedrock",
        {
            "include": ["reasoning.encrypted_content"],
            "client_metadata": {"a": "b"},
            "reasoning": {"summary": "auto"},
            "text": {"verbosity": "medium"},
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "store": False,
        },
    ),
    "Gemini": (
        "gemini",
        "openai-chat",
        {
            "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": -1}},
            "safetySettings": [],
        },
    ),
}
"""What clients write out although it is the default, or asks for details of the answer."""


@pytest.mark.parametrize("defined", [True, False], ids=["tools", "no tools"])
@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_that_are_written_out_are_no_losses(name: str, defined: bool) -> None:
    source, target, settings = DEFAULTS[name]
    body = encode(decode(REQUEST, "openai-chat"), source).body
    assert isinstance(body, dict)
    tools = encode(decode({**REQUEST, "tools": [tool(strict=False)]}, "openai-chat"), source).body
    assert isinstance(tools, dict)
    given: JSON = {**(tools if defined else body), **settings}
    assert [str(loss) for loss in real_losses(translate(given, source, target).losses)] == []


def test_a_setting_that_changes_the_answer_is_a_loss() -> None:
    body: JSON = {**REQUEST, "logit_bias": {"50256": -100}, "verbosity": "low", "store": True}
    found = severities(body, "openai-chat", "gemini")
    assert {pointer for pointer, severity in found.items() if severity == "loss"} == {
        "/logit_bias",
        "/verbosity",
        "/store",
    }


def test_the_trigger_and_the_id_of_a_chat_page_are_no_losses() -> None:
    message: JSON = {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    body: JSON = {"id": "chat", "trigger": "submit-message", "messages": [message]}
    assert real_losses(translate(body, "ai-sdk", "openai-chat").losses) == []


@pytest.mark.parametrize("target", ["openai-chat", "azure-openai"])
def test_settings_that_chat_has_too_travel_from_responses(target: str) -> None:
    same: Object = {
        "store": True,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "service_tier": "flex",
        "top_logprobs": 3,
    }
    body: JSON = {"model": "m", "input": "Hi", "text": {"verbosity": "low"}, **same}
    made = translate(body, "openai-responses", target)
    assert isinstance(made.body, dict) and made.losses == []
    assert {name: made.body[name] for name in same} == same
    assert (made.body["verbosity"], made.body["logprobs"]) == ("low", True)
    back = translate(made.body, target, "openai-responses")
    assert isinstance(back.body, dict) and back.losses == []
    assert {name: back.body[name] for name in same} == same
    assert get(back.body, ("text", "verbosity")) == "low"


def test_a_server_that_does_not_know_them_does_not_get_them() -> None:
    body: JSON = {"model": "m", "input": "Hi", "store": False, "prompt_cache_key": "k"}
    made = translate(body, "openai-responses", "groq")
    assert isinstance(made.body, dict)
    assert not {"store", "prompt_cache_key"} & made.body.keys()


def test_the_command_line_succeeds_if_no_meaning_is_lost() -> None:
    command = ["translate", "-", "--from", "openai-chat", "--to", "gemini"]
    done = CliRunner().invoke(commands, command, input=dump(REQUEST))
    assert (done.exit_code, done.stderr.splitlines()) == (
        0,
        ["info /stream: this wire has no such setting: stream"],
    )
    lost = CliRunner().invoke(commands, command, input=dump({**REQUEST, "logit_bias": {"1": 1}}))
    assert lost.exit_code == 1
    assert "loss /logit_bias: no such field on this wire" in lost.stderr.splitlines()


def test_accounting_and_empty_fields_of_an_answer_are_no_loss() -> None:
    message: JSON = {"role": "assistant", "content": "Hi", "audio": {"data": "", "expires_at": 0}}
    body: JSON = {
        "id": "r1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "billing": {"payer": "developer"},
        "provider": "Somebody",
        "time_info": {"queue": 1},
    }
    losses = translate(body, "openai-chat", "anthropic", "response").losses
    assert real_losses(losses) == []


def test_what_asks_for_nothing_inside_a_setting_is_no_loss() -> None:
    config: JSON = {"responseModalities": ["TEXT"], "thinkingConfig": {"includeThoughts": True}}
    body: JSON = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": config,
    }
    assert real_losses(translate(body, "gemini", "openai-chat").losses) == []
