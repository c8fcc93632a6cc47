"""A web search that the provider runs: it is translated if the target has one; otherwise the model
gets a note."""

from __future__ import annotations

import json

import pytest
from cases import MODELS

from toolwire import Text, decode, translate
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import WebSearch
from toolwire.profiles.table import PROFILES
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD
from toolwire.wires.engine.web_search import UNAVAILABLE

OSLO: Object = {"city": "Oslo", "country": "NO"}
HISTORY: dict[str, Object] = {
    "anthropic": {"messages": [{"role": "user", "content": "News?"}], "max_tokens": 9},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "News?"}]}]},
    "gemini-interactions": {"input": "News?"},
    "openai-chat": {"messages": [{"role": "user", "content": "News?"}]},
    "openai-responses": {"input": [{"role": "user", "content": "News?"}]},
}
SEARCHES: dict[str, Object] = {
    "anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "gemini": {"tools": [{"googleSearch": {}}]},
    "gemini-interactions": {"tools": [{"type": "google_search"}]},
    "openai-chat": {"web_search_options": {}},
    "openai-responses": {"tools": [{"type": "web_search"}]},
}
FUNCTIONS: dict[str, JSON] = {
    "anthropic": {"name": "f", "input_schema": {"type": "object"}},
    "gemini": {"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]},
    "gemini-interactions": {"type": "function", "name": "f", "parameters": {"type": "object"}},
    "openai-responses": {"type": "function", "name": "f", "parameters": {"type": "object"}},
}
MODEL_NAMES = {"openai-chat": "gpt-5-search-api"}


def request(wire: str, search: Object, model: str = "m") -> Object:
    """A request that asks for a search."""
    return {**HISTORY[wire], **({} if wire == "gemini" else {"model": model}), **search}


def search_fields(body: JSON) -> Object:
    """The fields of a body that ask for a search."""
    assert isinstance(body, dict)
    return {key: body[key] for key in ("tools", "web_search_options") if key in body}


@pytest.mark.parametrize(
    ("source", "target"), [(one, other) for one in SEARCHES for other in SEARCHES if one != other]
)
def test_a_search_takes_the_form_of_a_target_that_has_one(source: str, target: str) -> None:
    body = request(source, SEARCHES[source], MODEL_NAMES.get(target, "m"))
    if source == "gemini" and target == "openai-chat":
        body = {**body, "model": MODEL_NAMES[target]}
    encoded = translate(body, source, target)
    assert search_fields(encoded.body) == SEARCHES[target]
    assert UNAVAILABLE not in encoded.json().decode()
    assert not [loss for loss in encoded.losses if "search" in loss.reason]


@pytest.mark.parametrize("target", [name for name in MODELS if name not in SEARCHES])
@pytest.mark.parametrize("source", SEARCHES)
def test_a_search_that_the_target_lacks_is_a_loss_and_the_model_gets_a_note(
    source: str, target: str
) -> None:
    encoded = translate(request(source, SEARCHES[source]), source, target)
    (loss,) = [loss for loss in encoded.losses if "web search" in loss.reason]
    assert loss.severity == "loss" and loss.path[0] in ("tools", "web_search_options")
    first = decode(encoded.body, target).messages[0]
    assert first.role == "system" and UNAVAILABLE in str(first.parts)


@pytest.mark.parametrize("target", ["vllm", "openai-chat", "mistral", "bedrock", "ollama"])
def test_the_note_for_the_model_joins_the_system_message_that_is_there(target: str) -> None:
    body = {**request("anthropic", SEARCHES["anthropic"]), "system": "Be brief."}
    wire = PROFILES[target].wire
    encoded = translate(body, "anthropic", target)
    first, *others = decode(encoded.body, wire).messages
    assert first.role == "system" and not [one for one in others if one.role == "system"]
    texts = "\n".join(part.text for part in first.parts if isinstance(part, Text))
    assert texts.startswith("Be brief.") and texts.endswith(UNAVAILABLE)


def test_a_chat_model_that_does_not_search_gets_a_note() -> None:
    encoded = translate(request("anthropic", SEARCHES["anthropic"]), "anthropic", "openai-chat")
    assert search_fields(encoded.body) == {}
    assert UNAVAILABLE in encoded.json().decode()
    other = translate(request("anthropic", SEARCHES["anthropic"]), "anthropic", "openrouter")
    assert UNAVAILABLE in other.json().decode()


@pytest.mark.parametrize("source", ["anthropic", "openai-responses"])
def test_functions_go_before_a_search_where_they_exclude_each_other(source: str) -> None:
    search = SEARCHES[source]["tools"]
    assert isinstance(search, list)
    tools: list[JSON] = [*search, FUNCTIONS[source]]
    encoded = translate(request(source, {"tools": tools}), source, "gemini")
    assert "googleSearch" not in json.dumps(encoded.body)
    assert [tool.name for tool in decode(encoded.body, "gemini").tools] == ["f"]
    assert UNAVAILABLE in encoded.json().decode()
    other = "openai-responses" if source == "anthropic" else "anthropic"
    both = decode(translate(request(source, {"tools": tools}), source, other).body, other).tools
    assert sorted(tool.kind for tool in both if tool.web_search is None) == ["function"]
    assert len(both) == 2


def test_a_function_with_the_name_of_the_search_stays() -> None:
    function: JSON = {"type": "function", "name": "web_search", "parameters": {"type": "object"}}
    body = request("openai-responses", {"tools": [{"type": "web_search"}, function]})
    encoded = translate(body, "openai-responses", "anthropic")
    (tool,) = decode(encoded.body, "anthropic").tools
    assert (tool.name, tool.kind) == ("web_search", "function")
    assert UNAVAILABLE in encoded.json().decode()


def test_options_of_a_search_travel_or_are_reported() -> None:
    options: Object = {
        "allowed_domains": ["toolwire.example"],
        "max_uses": 3,
        "user_location": {"type": "approximate", **OSLO},
    }
    tool: Object = {"type": "web_search_20250305", "name": "web_search", **options}
    encoded = translate(request("anthropic", {"tools": [tool]}), "anthropic", "openai-responses")
    (found,) = decode(encoded.body, "openai-responses").tools
    assert found.web_search == WebSearch(allowed_domains=("toolwire.example",), location=OSLO)
    reported = [(loss.severity, loss.reason) for loss in encoded.losses if "search" in loss.reason]
    assert reported == [("info", "a web search has no max_uses here")]
    back = translate(encoded.body, "openai-responses", "anthropic")
    assert decode(back.body, "anthropic").tools[0].web_search == found.web_search
    to_gemini = translate(request("anthropic", {"tools": [tool]}), "anthropic", "gemini")
    severities = {loss.reason: loss.severity for loss in to_gemini.losses if "here" in loss.reason}
    assert severities["a web search has no allowed_domains here"] == "loss"


@pytest.mark.parametrize("wire", SEARCHES)
def test_a_search_stays_as_it_is_on_its_own_wire(wire: str) -> None:
    body = request(wire, SEARCHES[wire])
    assert translate(body, wire, wire).body == body


UNKNOWN_OPTIONS: dict[str, tuple[Object, list[str]]] = {
    "anthropic": (
        {
            "tools": [
                {
                    "type": "web_search_20250305",
                    "name": "web_search",
                    "depth": 0,
                    "user_location": {"type": "approximate", "city": "Oslo", "street": "A"},
                    "cache_control": {"type": "ephemeral"},
                }
            ]
        },
        ["/tools/0/depth", "/tools/0/user_location/street"],
    ),
    "gemini": ({"tools": [{"googleSearch": {"depth": 0}}]}, ["/tools/0/googleSearch/depth"]),
    "gemini-interactions": ({"tools": [{"type": "google_search", "depth": 0}]}, ["/tools/0/depth"]),
    "openai-responses": (
        {"tools": [{"type": "web_search", "depth": 0, "filters": {"language": "no"}}]},
        ["/tools/0/depth", "/tools/0/filters/language"],
    ),
}
"""Searches with fields that no other wire has, and the pointers of these."""


@pytest.mark.parametrize("target", ["anthropic", "gemini", "openai-responses"])
@pytest.mark.parametrize("source", UNKNOWN_OPTIONS)
def test_an_unknown_option_of_a_search_is_reported(source: str, target: str) -> None:
    search, expected = UNKNOWN_OPTIONS[source]
    losses = translate(request(source, search), source, target).losses
    unknown = [loss.pointer for loss in losses if loss.reason == UNKNOWN_FIELD]
    assert sorted(unknown) == ([] if source == target else expected)
