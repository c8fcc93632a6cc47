"""The strict mock refuses what its provider refuses, with an error text that `explain`
understands."""

from __future__ import annotations

import pytest
from mock.asking import PATHS, Answer, ask, send
from rows import rows

from toolwire import explain
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, Object
from toolwire.lint import all_rules
from toolwire.lint.rule import Example, Rule
from toolwire.mock.server import MockProvider
from toolwire.mock.symptoms import SYMPTOMS, UNNOTICED


def is_self_contained(example: Example) -> bool:
    """True if a request can be answered by itself: it names no response that this server never
    sent."""
    return (
        example.kind == "request"
        and isinstance(example.body, dict)
        and "previous_response_id" not in example.body
    )


def is_of_its_wire(example: Example) -> bool:
    """False for a system message among those of Anthropic: the mock refuses it in any request."""
    assert isinstance(example.body, dict)
    messages = example.body.get("messages")
    return example.target != "anthropic" or not any(
        isinstance(message, dict) and message.get("role") == "system"
        for message in (messages if isinstance(messages, list) else ())
    )


BAD = [
    (rule, example)
    for rule in all_rules()
    for example in rule.bad
    if is_self_contained(example) and rule.severity_for(resolve(example.target)[1]) == "error"
    if is_of_its_wire(example)
]
GOOD = [
    (rule, example)
    for rule in all_rules()
    for example in rule.good
    if is_self_contained(example) and resolve(example.target)[1].wire in PATHS
]


def example_id(rule: Rule, example: Example) -> str:
    return f"{rule.name}-{example.target}-{[*rule.bad, *rule.good].index(example)}"


def send_example(example: Example) -> tuple[MockProvider, Answer]:
    mock = MockProvider(example.target)
    return mock, ask(mock, example.target, body_of(example))


def body_of(example: Example) -> Object:
    """The body, with a model that no rule knows unless it names one, and a limit above any thinking
    budget."""
    assert isinstance(example.body, dict)
    body: Object = {"model": "m", **example.body}
    return {**body, "max_tokens": 4096} if "max_tokens" in body else body


@rows("rule, example", BAD, ids=example_id)
def test_what_breaks_a_rule_is_refused_and_explained_by_that_rule(
    rule: Rule, example: Example
) -> None:
    mock, answer = send_example(example)
    if rule.name in UNNOTICED and answer.status == 200:
        assert rule.name in answer.headers["toolwire-findings"]
        return
    assert answer.status in (400, 404, 422)
    assert mock.requests[-1].rule in SYMPTOMS
    said = explain(answer.text, example.body, example.target)
    assert rule.name in [one.name for one in said]


@rows("rule, example", GOOD, ids=example_id)
def test_what_is_fine_is_not_refused_by_that_rule(rule: Rule, example: Example) -> None:
    mock, answer = send_example(example)
    assert mock.requests[-1].rule != rule.name
    assert answer.status == 200 or mock.requests[-1].rule


@rows("rule, example", BAD, ids=example_id)
def test_a_mock_that_is_not_strict_takes_any_history_that_is_of_its_wire(
    rule: Rule, example: Example
) -> None:
    assert (
        ask(MockProvider(example.target, strict=False), example.target, body_of(example)).status
        == 200
    )


def test_every_rule_for_requests_has_a_symptom_or_a_reason_why_it_is_taken() -> None:
    errors = {
        rule.name
        for rule in all_rules()
        if rule.severity == "error" and any(one.kind == "request" for one in rule.bad)
    }
    assert errors - SYMPTOMS.keys() - UNNOTICED.keys() == set()


def test_an_unanswered_call_at_the_end_is_refused_too() -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said: JSON = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    answer = ask(MockProvider("openai-chat"), "openai-chat", {"messages": said})
    assert answer.status == 400
    assert "The following tool_call_ids did not have response messages: c1" in answer.text


USER: JSON = {"role": "user", "content": "hi"}
LACKS: dict[str, tuple[str, Object, int, str]] = {
    "a chat without a model": (
        "openai-chat",
        {"messages": [USER], "model": ""},
        400,
        "you must provide a model parameter",
    ),
    "a chat without messages": ("openai-chat", {}, 400, "Missing required parameter: 'messages'."),
    "a chat with a role of its own": (
        "openai-chat",
        {"messages": [{"role": "robot", "content": "hi"}]},
        400,
        (
            "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user',"
            " 'function', 'tool', and 'developer'."
        ),
    ),
    "items without input": ("openai-responses", {}, 400, "must be provided."),
    "items after an answer that is not here": (
        "openai-responses",
        {"previous_response_id": "resp_x", "input": "hi"},
        400,
        "Previous response with id 'resp_x' not found.",
    ),
    "blocks without max_tokens": (
        "anthropic",
        {"messages": [USER], "max_tokens": None},
        400,
        "max_tokens: Field required",
    ),
    "blocks without messages": (
        "anthropic",
        {"messages": []},
        400,
        "messages: at least one message is required",
    ),
    "blocks with a system message": (
        "anthropic",
        {"messages": [{"role": "system", "content": "x"}]},
        400,
        "accepts a top-level `system` parameter",
    ),
    "blocks with a system message after a turn of an older model": (
        "anthropic",
        {"messages": [USER, {"role": "system", "content": "x"}], "model": "claude-opus-4-5"},
        400,
        "role 'system' is not supported on this model",
    ),
    "blocks with a system message after an answer": (
        "anthropic",
        {
            "messages": [
                USER,
                {"role": "assistant", "content": "hi"},
                {"role": "system", "content": "x"},
            ],
            "model": "claude-opus-5",
        },
        400,
        "accepts a top-level `system` parameter",
    ),
    "blocks with more to think than to say": (
        "anthropic",
        {
            "messages": [USER],
            "max_tokens": 1500,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
        },
        400,
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    "parts without contents": ("gemini", {}, 400, "contents is not specified"),
    "parts without parts": (
        "gemini",
        {"contents": [{"role": "user", "parts": []}]},
        400,
        "contents.parts must not be empty",
    ),
    "parts with a role of their own": (
        "gemini",
        {"contents": [{"role": "robot", "parts": [{"text": "hi"}]}]},
        400,
        "Please use a valid role: user, model.",
    ),
    "bedrock from the assistant": (
        "bedrock",
        {"messages": [{"role": "assistant", "content": [{"text": "hi"}]}]},
        400,
        "A conversation must start with a user message.",
    ),
    "bedrock twice from the user": (
        "bedrock",
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}] * 2},
        400,
        "A conversation must alternate between user and assistant roles.",
    ),
    "mistral without messages": ("mistral", {}, 422, "Field required"),
    "cohere without messages": ("cohere", {}, 400, "messages must be present"),
    "ollama without a model": (
        "ollama",
        {"model": "", "messages": [USER]},
        400,
        "model is required",
    ),
}


@pytest.mark.parametrize("name", LACKS)
def test_a_request_that_lacks_what_every_request_has_is_refused_in_the_providers_error_text(
    name: str,
) -> None:
    profile, body, status, words = LACKS[name]
    answer = ask(MockProvider(profile), profile, dict(body))
    assert answer.status == status
    assert words in answer.text


def test_a_system_message_after_a_turn_of_the_user_is_taken_by_models_that_read_it() -> None:
    messages: list[JSON] = [USER, {"role": "system", "content": "x"}]
    body: Object = {"messages": messages, "model": "claude-opus-4-8", "max_tokens": 9}
    assert ask(MockProvider("anthropic"), "anthropic", body).status == 200


STRANGERS: dict[str, tuple[int, Object]] = {
    "openai-chat": (401, {"error": {"code": "invalid_api_key"}}),
    "openai-responses": (401, {"error": {"code": "invalid_api_key"}}),
    "azure-openai": (401, {"error": {"code": "401"}}),
    "anthropic": (401, {"type": "error", "error": {"type": "authentication_error"}}),
    "gemini": (403, {"error": {"code": 403, "status": "PERMISSION_DENIED"}}),
    "bedrock": (403, {"message": "Missing Authentication Token"}),
    "mistral": (401, {"object": "error", "type": "unauthorized"}),
    "cohere": (401, {"message": "no api key supplied"}),
}


@pytest.mark.parametrize("profile", STRANGERS)
def test_a_request_without_a_key_is_refused_in_the_providers_shape(profile: str) -> None:
    wire = resolve(profile)[1].wire
    answer = send(MockProvider(profile), "POST", PATHS[wire].format(model="m"), {}, headers={})
    status, shape = STRANGERS[profile]
    assert answer.status == status
    assert _holds(answer.json, shape)
    assert (
        send(
            MockProvider(profile, keys=False), "POST", PATHS[wire].format(model="m"), {}, headers={}
        ).status
        != status
    )


def _holds(value: JSON, shape: JSON) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            _holds(value.get(key), held) for key, held in shape.items()
        )
    return value == shape


@pytest.mark.parametrize("profile", [*STRANGERS, "ollama", "text"])
def test_what_is_no_json_or_no_path_of_the_server_is_refused(profile: str) -> None:
    wire = resolve(profile)[1].wire
    path = PATHS[wire].format(model="m")
    assert send(MockProvider(profile), "POST", path, raw=b"{").status == 400
    assert send(MockProvider(profile), "POST", path, raw=b"[]").status == 400
    assert send(MockProvider(profile), "POST", "/nowhere", {}).status == 404
    assert send(MockProvider(profile), "DELETE", path, {}).status == 405


BROKEN: list[JSON] = [
    None,
    1,
    "x",
    [],
    {},
    [None],
    [1],
    ["x"],
    [[]],
    [{}],
    {"role": 1},
    [{"role": "user"}],
    [{"role": "user", "content": 1}],
]


FIELDS = (
    "messages",
    "contents",
    "input",
    "tools",
    "tool_choice",
    "system",
    "thinking",
    "toolConfig",
    "stream_options",
)


@pytest.mark.parametrize("profile", [*PATHS])
def test_a_body_of_any_shape_gets_an_answer_or_a_refusal_and_never_a_broken_server(
    profile: str,
) -> None:
    for field in FIELDS:
        for value in BROKEN:
            body: Object = {
                "messages": [USER],
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "input": "hi",
            }
            body[field] = value
            if profile == "bedrock" and field != "messages":
                body["messages"] = [{"role": "user", "content": [{"text": "hi"}]}]
            assert ask(MockProvider(profile), profile, body).status in (200, 400, 422), (
                field,
                value,
            )
