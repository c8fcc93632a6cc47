"""Settings through the gateway, and the report about those that are left out."""

from __future__ import annotations

from urllib.request import Request, urlopen

import pytest
from gateway.bodies import MESSAGE
from gateway.test_real_shapes import TURN
from gateway.upstreams import answers, scripted_gateway

from toolwire.conversation.json import JSON, Object, dump, parse
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.translator import Translator
from toolwire.providers.table import BY_NAME

SAMPLING = BY_NAME["anthropic"].sampling_fields
CHAT: Object = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def translate_settings(settings: Object, model: str) -> tuple[Object, list[str]]:
    """The settings of a chat request as Anthropic gets them, and the reported losses."""
    translator = Translator(
        BY_WIRE["openai-chat"], "anthropic", model=model, sampling_fields=SAMPLING
    )
    request = translator.request(dump({**CHAT, **settings}))
    fields = {name: request.body[name] for name in SAMPLING if name in request.body}
    return fields, [loss.pointer for loss in request.losses]


BOTH: Object = {"temperature": 0.2, "top_p": 0.9}


@pytest.mark.parametrize(
    "settings, fields, lost",
    [
        ({"temperature": 0.2}, {"temperature": 0.2}, []),
        ({"top_p": 0.9}, {"top_p": 0.9}, []),
        ({"temperature": 1.7}, {"temperature": 1}, ["/temperature"]),
        ({}, {}, []),
    ],
)
def test_sampling_settings_reach_anthropic(
    settings: Object, fields: Object, lost: list[str]
) -> None:
    assert translate_settings(settings, "claude-sonnet-4-5") == (fields, lost)


@pytest.mark.parametrize(
    "model, fields, lost",
    [
        ("claude-3-7-sonnet-20250219", BOTH, []),
        ("claude-opus-4-20250514", BOTH, []),
        ("claude-sonnet-4-0", BOTH, []),
        ("claude-opus-4-1-20250805", {"temperature": 0.2}, ["/top_p"]),
        ("claude-haiku-4-5", {"temperature": 0.2}, ["/top_p"]),
        ("claude-opus-4-6", {"temperature": 0.2}, ["/top_p"]),
        ("claude-opus-4-7", {}, ["/temperature", "/top_p"]),
        ("claude-opus-5", {}, ["/temperature", "/top_p"]),
        ("claude-sonnet-5-5", {}, ["/temperature", "/top_p"]),
    ],
)
def test_a_claude_model_gets_the_sampling_settings_that_it_accepts(
    model: str, fields: Object, lost: list[str]
) -> None:
    assert translate_settings(BOTH, model) == (fields, lost)


def test_leaving_out_a_default_is_no_loss() -> None:
    assert translate_settings({"temperature": 1, "top_p": 1}, "claude-opus-5") == ({}, [])


def test_the_version_header_of_a_client_is_forwarded_on_the_same_wire() -> None:
    fields = {"content-type": "application/json", "anthropic-version": "2026-10-21"}
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        urlopen(Request(f"{gw.url}/v1/messages", dump(TURN), fields)).close()
        assert gw.up.got[0].headers["anthropic-version"] == "2026-10-21"


def test_the_header_counts_only_losses_of_meaning() -> None:
    def losses(body: JSON) -> str | None:
        fields = {"content-type": "application/json"}
        with (
            scripted_gateway("anthropic", answers(MESSAGE)) as gw,
            urlopen(Request(f"{gw.url}/v1/chat/completions", dump(body), fields)) as answer,
        ):
            found: str | None = answer.headers["x-toolwire-losses"]
            return found

    assert losses({**CHAT, "store": False, "metadata": {"a": "b"}, "temperature": 0.5}) is None
    assert str(losses({**CHAT, "store": False, "logit_bias": {"1": 1}})).startswith("1: ")


def test_clients_of_ollama_find_the_version_and_tell_the_models_apart() -> None:
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        with urlopen(f"{gw.url}/api/version") as answer:
            assert parse(answer.read()).keys() == {"version"}  # type: ignore[union-attr]
        with urlopen(f"{gw.url}/") as answer:
            assert answer.status == 200
