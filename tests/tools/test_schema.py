"""Schemas without references, of types and given ones; a given schema validates the input of its
tool."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated

import jsonschema  # type: ignore[import-untyped]
import pytest
from msgspec import Struct
from pydantic import BaseModel
from tools.tool_helpers import CONTEXT, errors, make_tool, with_type

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.tools import (
    InvalidInput,
    Runnable,
    ToolContext,
    ToolDefinitionError,
    ToolWarning,
    tool,
)
from toolwire.tools.options import Behaviour
from toolwire.tools.schema import inline_references, schema_of_type, subschemas


class Level(Enum):
    LOW = 1
    HIGH = 2


class Engine(Struct, tag="engine"):
    level: Level


class Sail(Struct, tag="sail"):
    area: float


class Boat(Struct):
    drives: list[Engine | Sail]
    spare: Engine | None = None
    default: dict[str, Level] = {}


class Crew(BaseModel):
    level: Level
    others: list[Boss] = []


class Boss(BaseModel):
    level: Level | None = None


Crew.model_rebuild()


@pytest.mark.parametrize(
    "annotation", [Boat, list[Boat], dict[str, Boat | None], Crew, tuple[Crew, Boss]], ids=str
)
def test_the_schema_of_a_nested_type_has_no_reference_and_is_a_valid_schema(
    annotation: object,
) -> None:
    one = with_type(Annotated[annotation, "It."], returns=annotation)
    for schema in (one.input_schema, one.output_schema):
        assert isinstance(schema, dict)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert not {key for node in subschemas(schema) for key in node} & {
            "$ref",
            "$defs",
            "definitions",
            "title",
            "discriminator",
        }
        assert "$ref" not in text_of(schema)
        assert "$defs" not in text_of(schema)


BOATS: tuple[tuple[JSON, bool], ...] = (
    ({"drives": []}, True),
    ({"drives": [{"type": "engine", "level": 2}, {"type": "sail", "area": 3}]}, True),
    ({"drives": [{"type": "engine", "level": 2.0}], "spare": None, "default": {"a": 1}}, True),
    ({"drives": [{"type": "oar", "level": 2}]}, False),
    ({"drives": [{"type": "sail", "level": 2}]}, False),
    ({"drives": [{"type": "engine", "level": True}]}, False),
    ({"drives": [], "default": {"a": 3}}, False),
    ({"drives": None}, False),
    ({}, False),
)


@pytest.mark.parametrize(("boat", "good"), BOATS, ids=lambda one: str(one)[:50])
def test_an_independent_validator_agrees_on_valid_inputs(boat: JSON, good: bool) -> None:
    one = with_type(Annotated[Boat, "It."])
    assert jsonschema.Draft202012Validator(one.input_schema).is_valid({"value": boat}) is good
    if good:
        assert isinstance(one.decode_arguments({"value": boat})["value"], Boat)
    else:
        assert list(errors(one, {"value": boat})) == ["value"]


POINT: Object = {"type": "object", "properties": {"x": {"type": "number"}}}


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"$ref": "#/$defs/P", "$defs": {"P": POINT}}, POINT),
        ({"items": {"$ref": "#/definitions/P"}, "definitions": {"P": POINT}}, {"items": POINT}),
        (
            {"properties": {"a": POINT, "b": {"$ref": "#/properties/a"}}},
            {"properties": {"a": POINT, "b": POINT}},
        ),
        (
            {"anyOf": [{"type": "null"}, {"$ref": "#/anyOf/0"}]},
            {"anyOf": [{"type": "null"}, {"type": "null"}]},
        ),
        ({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "null"}}}, {"type": "null"}),
        (
            {"not": {"$ref": "#/$defs/P", "description": "Not it."}, "$defs": {"P": POINT}},
            {"not": {**POINT, "description": "Not it."}},
        ),
        (
            {
                "not": {"$ref": "#/$defs/P", "type": "object", "description": "It."},
                "$defs": {"P": POINT},
            },
            {"not": {"description": "It.", "allOf": [POINT, {"type": "object"}]}},
        ),
        (
            {"properties": {"$ref": POINT, "$defs": POINT}},
            {"properties": {"$ref": POINT, "$defs": POINT}},
        ),
        (
            {"enum": [{"$ref": "#/nowhere"}], "default": {"$ref": 5}},
            {"enum": [{"$ref": "#/nowhere"}], "default": {"$ref": 5}},
        ),
        ({"items": [{"$ref": "#/$defs/P"}, True], "$defs": {"P": POINT}}, {"items": [POINT, True]}),
        (True, True),
    ],
)
def test_a_reference_is_replaced_by_its_target(schema: JSON, plain: JSON) -> None:
    assert inline_references(schema) == plain


def test_a_whole_number_or_a_number_is_a_number() -> None:
    assert schema_of_type(int | float | None) == {"anyOf": [{"type": "number"}, {"type": "null"}]}


# --- tools of a given schema ----------------------------------------------------------------------

SCHEMA: Object = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "A.", "minimum": 3},
        "list": {"type": "array", "description": "L.", "items": {"enum": ["x", "y"]}},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}


def from_schema(
    schema: JSON,
    fn: Callable[..., object] = lambda arguments: None,
    output_schema: JSON = None,
    **options: object,
) -> Runnable:
    found: Behaviour = options  # type: ignore[assignment]
    return tool.from_schema(
        "Kit.Do@1.0.0", "Does it.", schema, fn, output_schema=output_schema, **found
    )


def test_a_given_schema_validates_the_input_and_reports_all_problems_without_values() -> None:
    properties = SCHEMA["properties"]
    assert isinstance(properties, dict)
    one = from_schema({**SCHEMA, "properties": {**properties, "b": {"description": "B."}}})
    assert one.decode_arguments({"a": 5.0, "b": None}) == {"a": 5.0, "b": None}
    found = errors(one, {"a": "x-secret", "list": ["x", "x-secret"], "z": 1, "y": 2})
    assert sorted(found) == ["a", "b", "list", "y", "z"]
    assert "x-secret" not in str(found)
    assert found["list"].startswith("/1: ")
    assert found["b"] == "is missing"
    assert errors(one, {"a": True, "b": 1}) == {"a": 'is not of type "integer"'}


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}], ids=str
)
def test_a_schema_that_says_little_takes_any_object(schema: JSON) -> None:
    one = from_schema(schema)
    assert one.input_schema == {"type": "object", "properties": {}}
    assert one.decode_arguments({"z": 1}) == {"z": 1}


def test_an_older_dialect_is_read_as_such() -> None:
    pair: Object = {
        "description": "P.",
        "items": [{"type": "string"}, {"type": "number"}],
        "additionalItems": False,
    }
    one = from_schema(
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"p": pair}}
    )
    assert one.decode_arguments({"p": ["a", 1]})
    assert list(errors(one, {"p": ["a", 1, 2]})) == ["p"]


def test_servers_list_a_schema_with_its_definitions_and_models_get_it_without_references() -> None:
    schema: Object = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer", "description": "A number."}},
        "additionalProperties": False,
    }
    one = from_schema(schema)
    assert one.input_schema == schema
    assert one.definition().schema == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "A number."}},
        "additionalProperties": False,
    }
    assert one.decode_arguments({"n": 1}) == {"n": 1}
    with pytest.raises(InvalidInput, match="n"):
        one.decode_arguments({"n": "1"})


LAUGHS: Object = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 10} for n in range(9)}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, '"type": "object"'),
        (True, "must be an object"),
        ([], "must be an object"),
        ({"properties": []}, "`properties`"),
        ({"properties": {"a": {"type": "text"}}}, "not a JSON Schema: /properties/a/type"),
        ({"properties": {"a": {"pattern": "("}}}, "not a JSON Schema"),
        ({"properties": {"a": 5}}, "not a JSON Schema"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "has no target"),
        ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "leads out of the schema"),
        ({"properties": {"a": {"$ref": "#"}}}, "contains itself"),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}},
            },
            "contains itself",
        ),
        ({"properties": {"a": {"$dynamicRef": "#a"}}}, "$dynamicRef"),
        ({"$schema": "https://example.com/dialect"}, "not a JSON Schema"),
        ({"properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": {**LAUGHS, "l9": {}}}, "too large"),
    ],
    ids=lambda one: str(one)[:60],
)
def test_an_invalid_schema_is_an_error_that_says_why(schema: JSON, why: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        from_schema(schema)
    assert why in str(caught.value)
    assert str(caught.value).startswith("Kit.Do@1.0.0: ")


def test_a_result_is_validated_against_the_output_schema() -> None:
    one = from_schema(
        {},
        output_schema={
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "integer"}},
        },
    )
    assert one.encode_result({"n": 10**30}) == {"n": 10**30}
    for value in ({"n": "x-secret"}, {"n": float("nan")}, 5, object()):
        with pytest.raises((ValueError, TypeError)) as caught:
            one.encode_result(value)
        assert "x-secret" not in str(caught.value)
    assert from_schema({}, output_schema={}).encode_result((1, 2)) == [1, 2]
    assert from_schema({}).encode_result(None) is None
    assert from_schema({}).output_schema is None


def test_the_callable_gets_the_arguments_as_one_and_the_context_if_it_wants_it() -> None:
    async def both(arguments: Mapping[str, object], context: ToolContext) -> str:
        return f"{arguments['a-b']} {context.user_id}"

    alone, asked = from_schema({}, lambda arguments: arguments["a-b"]), from_schema({}, both)
    assert (alone.is_async, asked.is_async) == (False, True)
    assert alone.body({"a-b": 1}, CONTEXT) == 1
    answer = asked.body({"a-b": 1}, CONTEXT)
    assert inspect.iscoroutine(answer)
    assert asyncio.run(answer) == "1 user_1"
    with pytest.raises(ToolDefinitionError, match="as one mapping"):
        from_schema({}, lambda: None)


def test_a_tool_from_a_schema_has_the_options_of_a_function() -> None:
    one = from_schema(
        {}, on_crash="probe", probe=lambda arguments: 7, secrets=["KEY"], timeout=None
    )
    assert one.probe is not None
    assert (one.probe({}, CONTEXT), one.needs.secrets, one.timeout) == (7, ("KEY",), None)
    with pytest.raises(ToolDefinitionError, match="three numbers"):
        tool.from_schema("Kit.Do@1", "Does it.", {}, print)


def test_a_parameter_without_a_description_is_warned_of_here_too() -> None:
    with pytest.warns(ToolWarning, match="a description of a") as caught:
        from_schema({"properties": {"a": {}}})
    assert caught[0].filename == __file__
    with pytest.raises(ToolDefinitionError, match="a description of a"):
        from_schema({"properties": {"a": {}}}, strict=True)


def test_a_function_and_its_own_schema_given_by_hand_refuse_the_same() -> None:
    def do(a: int, b: list[str], c: float = 1.0) -> None: ...

    first = make_tool(do)
    with pytest.warns(ToolWarning):
        second = from_schema(first.input_schema)
    for wrong in (
        {},
        {"a": "1"},
        {"a": True, "b": []},
        {"a": 1, "b": [1]},
        {"a": 1, "b": [], "c": None},
        {"a": 1, "b": [], "d": 1},
    ):
        assert sorted(errors(first, wrong)) == sorted(errors(second, wrong))  # type: ignore[arg-type]
