"""The tools of a module are those under its public names; the five examples are such a module."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

from toolwire.conversation.json import JSON, Object
from toolwire.tools import RetryableToolError, Runnable, ToolContext, Tools, collect, tool

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools.py"


def do() -> None:
    """Do it."""


ONE, TWO = tool(do, id="Kit.One@1.0.0"), tool(do, id="Kit.Two@1.0.0").runnable


@pytest.mark.parametrize(
    ("space", "found"),
    [
        ({"one": ONE, "two": TWO, "do": do, "n": 5}, ["One", "Two"]),
        ({"one": ONE, "_two": TWO}, ["One"]),
        ({"one": ONE, "two": TWO, "__all__": ["two", "missing"]}, ["Two"]),
        ({"tools": [ONE, TWO, "no tool"]}, ["One", "Two"]),
        ({"tools": Tools(ONE, TWO), "one": ONE, "again": ONE}, ["One", "Two"]),
        ({}, []),
    ],
)
def test_the_tools_of_a_namespace_are_those_under_its_public_names(
    space: dict[str, object], found: list[str]
) -> None:
    assert [one.id.name for one in collect(space)] == found
    module = ModuleType("any")
    vars(module).update(space)
    assert [one.id.name for one in collect(module)] == found


def examples() -> ModuleType:
    """The example module, loaded afresh: its doorbells have not been rung."""
    spec = importlib.util.spec_from_file_location("five_tools", EXAMPLES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["five_tools"] = module  # types are resolved through it
    spec.loader.exec_module(module)
    return module


def run(one: Runnable, given: Object, context: ToolContext | None = None) -> JSON:
    async def whole() -> object:
        value = one.body(one.decode_arguments(given), context or ToolContext("call-1", str(one.id)))
        return await value if inspect.isawaitable(value) else value

    return one.encode_result(asyncio.run(whole()))


FIVE: dict[str, tuple[dict[str, str], list[str], JSON | frozenset[str]]] = {
    "Calculator.Add@1.0.0": ({"a": "number", "b": "number"}, ["a", "b"], {"type": "number"}),
    "Doorbell.Ring@0.1.0": ({"doorbell_id": "string"}, ["doorbell_id"], None),
    "Gmail.GetEmails@1.2.0": ({"query": "string"}, [], frozenset({"emails"})),
    "SMS.Send@0.1.2": (
        {"to": "string", "message": "string"},
        ["to", "message"],
        frozenset({"status"}),
    ),
    "System.GetTimestamp@1.0.0": ({}, [], frozenset({"timestamp"})),
}


def test_the_five_examples_have_the_ids_and_schemas_of_the_protocol() -> None:
    tools = Tools(examples())
    assert [str(one.id) for one in tools] == sorted(FIVE)
    for one in tools:
        types, required, output = FIVE[str(one.id)]
        properties = one.input_schema["properties"]
        assert isinstance(properties, dict)
        assert {
            name: at["type"] for name, at in properties.items() if isinstance(at, dict)
        } == types
        assert all(at["description"] for at in properties.values() if isinstance(at, dict))
        assert one.input_schema.get("required", []) == required
        assert one.input_schema["additionalProperties"] is False
        if isinstance(output, frozenset):
            assert isinstance(one.output_schema, dict)
            assert one.output_schema["required"] == [*output]
        else:
            assert one.output_schema == output


def test_the_five_examples_answer_the_calls_of_the_protocol() -> None:
    module = examples()
    tools = Tools(module)
    assert run(tools.resolve("Calculator.Add"), {"a": 10, "b": 5}) == 15
    assert run(tools.resolve("Doorbell.Ring"), {"doorbell_id": "doorbell42"}) is None
    assert module.RINGS["doorbell42"] == 1
    moment = run(tools.resolve("System.GetTimestamp"), {})
    assert isinstance(moment, dict)
    assert str(moment["timestamp"]).endswith("Z")
    gmail, sms = tools.resolve("Gmail.GetEmails@1.2.0"), tools.resolve("SMS.Send@0.1.2")
    assert (
        [one.id for one in gmail.needs.authorization],
        gmail.needs.user_id,
        sms.needs.secrets,
    ) == (["google"], True, ("TWILIO_API_KEY",))
    found = run(
        gmail,
        {"query": "is:unread"},
        ToolContext("c", "t", user_id="user_123", tokens={"google": "token"}),
    )
    assert isinstance(found, dict)
    emails = found["emails"]
    assert isinstance(emails, list)
    assert [sorted(email) for email in emails if isinstance(email, dict)] == [
        ["id", "snippet", "subject"]
    ] * 2
    sent = run(
        sms,
        {"to": "+5556051234567", "message": "Hello"},
        ToolContext("c", "t", secrets={"TWILIO_API_KEY": "key"}),
    )
    assert sent == {"status": "sent"}


def test_a_doorbell_that_does_not_exist_may_be_tried_again_with_another() -> None:
    ring = Tools(examples()).resolve("Doorbell.Ring")
    with pytest.raises(RetryableToolError) as caught:
        run(ring, {"doorbell_id": "doorbell7"})
    assert caught.value.can_retry
    assert caught.value.retry_after_ms == 500
    assert "doorbell42" in str(caught.value.additional_prompt_content)
