"""The strict mock refuses values out of the ranges that the providers publish."""

from __future__ import annotations

from importlib import resources

import pytest
from botocore.session import get_session  # type: ignore[import-untyped]
from mock.asking import ask
from msgspec import UNSET

from toolwire import explain
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, Object, get, parse, put
from toolwire.mock.limits import LIMITS, Limit
from toolwire.mock.server import MockProvider

USER: Object = {"role": "user", "content": "hi"}
CHAT: Object = {"messages": [USER]}
CONTENTS: Object = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
TOOL: Object = {"type": "function", "function": {"name": "f", "parameters": {}}}
REQUESTS: dict[str, Object] = {
    "openai-chat": {**CHAT, "model": "gpt-4.1"},
    "openai-responses": {"input": "hi", "model": "gpt-4.1"},
    "anthropic": {**CHAT, "model": "claude-3-5-haiku-latest", "max_tokens": 9},
    "gemini": {**CONTENTS, "model": "gemini-3-pro"},
    "gemini-interactions": {"input": "hi", "model": "gemini-3-pro"},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    "mistral": {**CHAT, "model": "mistral-large-latest"},
    "cohere": {**CHAT, "model": "command-a-03-2025"},
}
WORDS = {
    "openai-chat": "Invalid '{at}': ",
    "openai-responses": "Invalid '{at}': ",
    "anthropic": "{at}: ",
    "gemini": "* GenerateContentRequest.generation_config.",
    "gemini-interactions": "Invalid value at '{at}'",
    "bedrock": " at '{at}' failed to satisfy constraint: Member must have ",
    "mistral": "than or equal to",
    "cohere": "invalid request: {at} must ",
}


def with_value(profile: str, limit: Limit, size: float) -> Object:
    """A request with a value of a size."""
    length = int(size)
    values: dict[str, JSON] = {
        "decimal": size,
        "integer": length,
        "array": [f"stop {n}" for n in range(length)],
        "object": {f"key {n}": "value" for n in range(length)},
        "string": "k" * length,
    }
    value = values[limit.measure]
    if limit.path == ("tools",):
        value = [_tool(profile, n) for n in range(length)]
    body = REQUESTS[profile]
    if len(limit.path) == 2:
        body = {**body, limit.path[0]: {}}
    made = put(body, limit.path, value)
    assert isinstance(made, dict)
    return made


def _tool(profile: str, n: int) -> Object:
    function: Object = {"name": f"f{n}", "parameters": {}}
    if profile == "openai-chat":
        return {"type": "function", "function": function}
    return {"type": "function", "strict": False, **function}


CASES = [
    pytest.param(profile, limit, id=f"{profile}-{'.'.join(limit.path)}")
    for profile in REQUESTS
    for limit in LIMITS[profile]
]


@pytest.mark.parametrize("profile, limit", CASES)
def test_a_value_out_of_its_range_is_refused_and_the_bounds_are_taken(
    profile: str, limit: Limit
) -> None:
    step = 0.001 if limit.measure == "decimal" else 1
    mock = MockProvider(profile)
    for bound, outside in ((limit.least, -step), (limit.most, step)):
        if bound is None:
            continue
        taken = ask(mock, profile, with_value(profile, limit, bound))
        assert taken.status == 200, taken.text
        refused = ask(mock, profile, with_value(profile, limit, bound + outside))
        assert refused.status == (422 if profile == "mistral" else 400), refused.text
        assert WORDS[profile].format(at=".".join(limit.path)) in refused.text
        assert explain(refused.text, None, resolve(profile)[1].wire)


@pytest.mark.parametrize("profile, value", [("mistral", "always"), ("cohere", "auto")])
def test_a_tool_choice_that_the_types_leave_open_is_refused(profile: str, value: str) -> None:
    body: Object = {**REQUESTS[profile], "tools": [TOOL], "tool_choice": value}
    answer = ask(MockProvider(profile), profile, body)
    assert answer.status in (400, 422) and "tool_choice" in answer.text


def test_the_name_of_a_field_in_snake_case_is_checked_too() -> None:
    body: Object = {**CONTENTS, "generation_config": {"top_p": 2}}
    answer = ask(MockProvider("gemini"), "gemini", body)
    assert answer.status == 400 and "top_p must be in the range" in answer.text


# --- the published ranges -------------------------------------------------------------------------

DOCUMENTS = {
    "openai-chat": ("openai_chat.json", "CreateChatCompletionRequest", "ModelResponseProperties"),
    "openai-responses": ("openresponses.json", "CreateResponseBody"),
    "anthropic": ("anthropic.json", "CreateMessageParams"),
}
BOUNDS = {"decimal": "imum", "integer": "imum", "array": "Items", "string": "Length"}
NOT_PUBLISHED = {
    ("openai-chat", "max_tokens"): "the server says so: mucgpt#608",
    ("openai-chat", "max_completion_tokens"): "the server says so of max_tokens",
}
"""Ranges that the documents leave out."""


def _properties(profile: str) -> Object:
    """The properties of the requests of a published document."""
    name, *schemas = DOCUMENTS[profile]
    document = parse((resources.files("llm_comply") / "specs" / name).read_bytes())
    found: Object = {}
    for schema in schemas:
        whole = get(document, ("components", "schemas", schema))
        assert isinstance(whole, dict)
        parts = whole.get("allOf", [whole])
        for part in parts if isinstance(parts, list) else []:
            own = get(part, ("properties",))
            found |= own if isinstance(own, dict) else {}
    return found


def _bound(schema: JSON, name: str) -> JSON:
    """A bound of a property, or of the first alternative that has it."""
    for path in ((name,), ("anyOf", 0, name), ("anyOf", 1, name), ("oneOf", 1, name)):
        found = get(schema, path)
        if found is not UNSET and not isinstance(found, type(UNSET)):
            return found
    return None


@pytest.mark.parametrize("profile", DOCUMENTS)
def test_the_ranges_are_those_of_the_published_document(profile: str) -> None:
    properties = _properties(profile)
    compared = 0
    for limit in LIMITS[profile]:
        name = limit.path[0]
        if (profile, name) in NOT_PUBLISHED or limit.measure == "object":
            continue
        ends = BOUNDS[limit.measure]
        published = [_bound(properties.get(name), f"{side}{ends}") for side in ("min", "max")]
        if published != [None, None]:
            assert published == [limit.least, limit.most], name
            compared += 1
    assert compared >= 4


def test_the_ranges_of_bedrock_are_those_of_its_service_description() -> None:
    model = get_session().get_service_model("bedrock-runtime").operation_model("Converse")
    config = model.input_shape.members["inferenceConfig"]
    for limit in LIMITS["bedrock"]:
        published = config.members[limit.path[1]].metadata
        assert (limit.least or 0, limit.most) == (published.get("min"), published.get("max"))
