"""The schema of a tool has a form that providers refuse.

Providers accept different parts of JSON Schema, and a single definition that one of them does not
accept makes it refuse the whole request: "input_schema does not support oneOf, allOf, or anyOf at
the top level", "schema must have type 'object'", "array schema missing items". Such schemas come
from MCP servers and from generators; `"properties": []` comes from languages whose empty map is an
empty list.

There is no fix: a schema defines what a tool accepts, and only its author can define it in another
way. Describe alternatives as optional properties of one object, and give every array its `items`.
The finding is information only, because other providers accept the same schema.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import USER, blocks_example, chat_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.tool_names import tool_definitions

_COMBINATIONS = ("oneOf", "anyOf", "allOf", "enum", "not")


def _check(facts: Facts) -> Iterable[Problem]:
    for tool in tool_definitions(facts):
        if isinstance(tool.schema, dict):
            for problem in _problems(tool.schema):
                yield tool.path, f"the schema of the tool {tool.name} {problem}", None


def _problems(schema: Object) -> Iterable[str]:
    """The parts of a schema that providers refuse, each as the end of a sentence."""
    keywords = [keyword for keyword in _COMBINATIONS if keyword in schema]
    if keywords:
        yield f"has {' and '.join(keywords)} at the top level"
    if schema.get("type", "object") != "object":
        yield "does not describe an object"
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        yield "has properties that are not an object"
        return
    for name, value in properties.items():
        if isinstance(value, dict) and value.get("type") == "array" and "items" not in value:
            yield f"has the array {name} without items"


def _tool(schema: JSON) -> JSON:
    return {"name": "f", "input_schema": schema}


def _function(schema: JSON) -> JSON:
    return {"type": "function", "function": {"name": "f", "parameters": schema}}


RULE = Rule(
    "TW073",
    "schema-refused",
    title="the schema of a tool has a form that providers refuse",
    cost="lossless",
    check=_check,
    severity="info",
    scope="body",
    bad=(
        blocks_example(USER, tools=[_tool({"type": "object", "oneOf": [{"required": ["a"]}]})]),
        chat_example(USER, tools=[_function({"type": "string"})]),
        chat_example(USER, tools=[_function({"type": "object", "properties": []})]),
        chat_example(
            USER, tools=[_function({"type": "object", "properties": {"paths": {"type": "array"}}})]
        ),
    ),
    good=(
        blocks_example(
            USER, tools=[_tool({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}})]
        ),
        chat_example(
            USER,
            tools=[
                _function({"type": "object", "properties": {"a": {"type": "array", "items": {}}}})
            ],
        ),
        chat_example(USER, tools=[{"type": "function", "function": {"name": "f"}}]),
    ),
)
