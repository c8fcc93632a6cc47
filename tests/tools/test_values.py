"""Arguments arrive as the types of the function, without coercion; its result leaves as JSON of the
output schema."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

import pytest
from msgspec import Meta
from pydantic import Field
from tools.tool_helpers import (
    CONTEXT,
    Colour,
    Pair,
    Person,
    Place,
    Point,
    Size,
    describe,
    errors,
    make_tool,
    schema_of,
    with_type,
)

from toolwire.conversation.json import JSON, Object
from toolwire.tools import ToolContext, ToolWarning

TYPES: list[tuple[object, Object, JSON, object]] = [
    (int, {"type": "integer"}, 5, 5),
    (int, {"type": "integer"}, 5.0, 5),
    (int, {"type": "integer"}, 10**30, 10**30),
    (float, {"type": "number"}, 5, 5.0),
    (int | float, {"type": "number"}, 5, 5),
    (str, {"type": "string"}, "5", "5"),
    (bool, {"type": "boolean"}, True, True),
    (object, {}, [1, {"a": None}], [1, {"a": None}]),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (Literal["a", "b"], {"enum": ["a", "b"]}, "a", "a"),
    (Literal[1, 2], {"enum": [1, 2]}, 1.0, 1),
    (Colour, {"enum": ["blue", "red"]}, "red", Colour.RED),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1, 2.0], [1, 2]),
    (
        set[int],
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        [1, 2],
        {1, 2},
    ),
    (
        dict[str, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"a": 1},
        {"a": 1},
    ),
    (
        tuple[int, str],
        {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
        },
        [1, "a"],
        (1, "a"),
    ),
    (
        Point,
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
            "required": ["x"],
        },
        {"x": 1},
        Point(1),
    ),
    (
        Size,
        {"type": "object", "properties": {"width": {"type": "integer"}}, "required": ["width"]},
        {"width": 3},
        Size(3),
    ),
    (
        Place,
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": []},
        {"city": "Oslo"},
        {"city": "Oslo"},
    ),
    (
        Pair,
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
        [1, "a"],
        Pair(1, "a"),
    ),
    (Annotated[int, Meta(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}, 9, 9),
    (
        Annotated[str, Meta(pattern="^a", max_length=3)],
        {"type": "string", "maxLength": 3, "pattern": "^a"},
        "abc",
        "abc",
    ),
    (
        list[Person],
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "age": {
                        "type": "integer",
                        "minimum": 0,
                        "default": 0,
                        "description": "In years.",
                    },
                    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                },
                "required": ["name"],
            },
        },
        [{"name": "Ada", "age": 36.0, "colour": "blue"}],
        [Person(name="Ada", age=36, colour=Colour.BLUE)],
    ),
    (Annotated[int, Field(gt=3)], {"type": "integer", "exclusiveMinimum": 3}, 4, 4),
    (JSON, {}, {"a": [1]}, {"a": [1]}),
]


@pytest.mark.parametrize(
    ("annotation", "schema", "given", "got"), TYPES, ids=lambda one: str(one)[:40]
)
def test_a_type_has_a_schema_and_its_values_arrive_as_that_type(
    annotation: object, schema: Object, given: JSON, got: object
) -> None:
    if annotation == JSON:

        def do(value: JSON) -> JSON:
            """Do it.

            :param value: What it is.
            """
            return value

        one = make_tool(do)
    else:
        one = with_type(describe(annotation))
    found = schema_of(one, "value")
    assert found == {**schema, "description": "What it is."}
    assert one.decode_arguments({"value": given}) == {"value": got}
    assert one.encode_result(got) == one.encode_result(
        one.body(one.decode_arguments({"value": given}), CONTEXT)
    )


WRONG: list[tuple[object, JSON, str]] = [
    (int, "5", "expected an integer, got a string"),
    (int, 5.5, "expected an integer, got a number"),
    (int, True, "expected an integer, got a boolean"),
    (float, True, "expected a number, got a boolean"),
    (float, "infinity", "expected a number, got a string"),
    (bool, 1, "expected a boolean, got a number"),
    (str, None, "expected a string, got null"),
    (int | None, "x-secret", "expected an integer or null, got a string"),
    (Literal["a", "b"], "x-secret", "must be one of a, b"),
    (Literal[1], True, "must be one of 1"),
    (Colour, "x-secret", "must be one of blue, red"),
    (Annotated[int, Meta(ge=10)], 7, "must be at least 10"),
    (
        Annotated[int, Meta(gt=10, multiple_of=4)],
        7,
        "must be more than 10; must be a multiple of 4",
    ),
    (
        Annotated[str, Meta(min_length=20, pattern="^a")],
        "x-secret",
        "must have at least 20 characters; does not match the pattern ^a",
    ),
    (Annotated[list[int], Meta(max_length=1)], [1, 2], "must have at most 1 items"),
    (
        list[int],
        ["x-secret", 1, None],
        "/0: expected an integer, got a string; /2: expected an integer, got null",
    ),
    (dict[str, int], {"a/b": "x-secret"}, "/a~1b: expected an integer, got a string"),
    (set[int], [1, 1], "has a repeated item"),
    (Decimal, 5.5, "expected a string, got a number"),
    (tuple[int, str], [1], "must have at least 2 items"),
    (Point, {"y": "x-secret"}, "/x: is missing; /y: expected an integer, got a string"),
    (Point | None, {"x": "x-secret"}, "/x: expected an integer, got a string"),
    (Size, {"width": 777}, "is not accepted"),
    (datetime, "x-secret", "Invalid RFC3339 encoded datetime"),
    (Person, {"name": "sk-secret"}, "/name: is not accepted"),
    (Person, {"age": "x-secret"}, "/name: is missing; /age: expected an integer, got a string"),
    (list[Person], [{"name": "Ada", "age": -1}], "/0/age: must be at least 0"),
    (Person, {"name": "Ada", "colour": "x-secret"}, "/colour: must be one of red, blue"),
]


@pytest.mark.parametrize(("annotation", "given", "why"), WRONG, ids=lambda one: str(one)[:40])
def test_an_invalid_value_is_reported_with_its_path_and_never_quoted(
    annotation: object, given: JSON, why: str
) -> None:
    found = errors(with_type(describe(annotation)), {"value": given})
    assert found == {"value": why}


def test_all_problems_are_reported_at_once_by_parameter() -> None:
    def do(a: int, b: int, c: list[int]) -> None: ...

    found = errors(make_tool(do), {"a": "secret", "c": [None], "z": 1, "y": 2})
    assert found == {
        "a": "expected an integer, got a string",
        "b": "is missing",
        "c": "/0: expected an integer, got null",
        "y": "is unknown; known: a, b, c",
        "z": "is unknown; known: a, b, c",
    }


def test_the_number_of_reported_problems_is_limited() -> None:
    text = errors(with_type(describe(list[int])), {"value": ["x"] * 100_000})["value"]
    assert text.count("expected") == 20
    assert "more" in text


def test_the_number_of_reported_unknown_parameters_is_limited() -> None:
    def do(a: int) -> None: ...

    def nothing() -> None: ...

    for one in (make_tool(do), make_tool(nothing)):
        found = errors(one, {f"p{n}": 1 for n in range(1000)})
        assert len(found) <= 101
        assert "more" in found["input"]


def test_a_tool_without_parameters_takes_nothing() -> None:
    def do() -> None: ...

    one = make_tool(do)
    assert one.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert one.decode_arguments({}) == {}
    assert list(errors(one, {"z": 1})) == ["z"]


def test_a_missing_argument_leaves_the_default_of_the_function() -> None:
    def do(a: int, b: Point = Point(1, 2), c: list[int] | None = None) -> list[object]:  # noqa: B008
        return [a, b, c]

    one = make_tool(do)
    properties = one.input_schema["properties"]
    assert isinstance(properties, dict)
    assert [value.get("default") for value in properties.values() if isinstance(value, dict)] == [
        None,
        {"x": 1, "y": 2},
        None,
    ]
    assert one.input_schema["required"] == ["a"]
    assert one.decode_arguments({"a": 1}) == {"a": 1}
    assert one.encode_result(one.body({"a": 1}, CONTEXT)) == [1, {"x": 1, "y": 2}, None]


def test_the_context_is_hidden_from_the_schema_and_handed_over() -> None:
    def do(context: ToolContext, a: int) -> str:
        return f"{context.user_id} {a}"

    one = make_tool(do)
    assert one.input_schema["properties"] == {"a": {"type": "integer"}}
    assert list(errors(one, {"a": 1, "context": {}})) == ["context"]
    assert one.body(one.decode_arguments({"a": 1}), CONTEXT) == "user_1 1"


GIVEN: list[tuple[object, JSON, object, JSON]] = [
    (int, {"type": "integer"}, 10**30, 10**30),
    (int, {"type": "integer"}, 5.0, 5),
    (Point, None, Point(1), {"x": 1, "y": 0}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, (1, 2), [1, 2]),
    (Colour, {"enum": ["blue", "red"]}, Colour.RED, "red"),
    (
        object,
        {},
        {"a": (1, Person(name="Ada"))},
        {"a": [1, {"name": "Ada", "age": 0, "colour": "red"}]},
    ),
    (
        dict[int, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {1: 2},
        {"1": 2},
    ),
    (list[Person], None, [Person(name="Ada")], [{"name": "Ada", "age": 0, "colour": "red"}]),
]


@pytest.mark.parametrize(
    ("returns", "schema", "value", "json"), GIVEN, ids=lambda one: str(one)[:40]
)
def test_a_result_is_encoded_as_json_of_the_output_schema(
    returns: object, schema: JSON, value: object, json: JSON
) -> None:
    one = with_type(describe(object), returns=returns)
    assert schema is None or one.output_schema == schema
    assert one.encode_result(value) == json


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        (int, "5"),
        (int, True),
        (float, float("nan")),
        (object, float("inf")),
        (object, {"a": [float("-inf")]}),
        (object, ...),
        (Point, {"x": "1"}),
        (list[int], [1, None]),
        (Person, {"name": 5}),
        (Person, "x"),
        (object, {(1, 2): 3}),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_result_that_is_not_json_or_does_not_match_its_schema_is_an_error(
    returns: object, value: object
) -> None:
    one = with_type(describe(object), returns=returns)
    with pytest.raises((ValueError, TypeError)):
        one.encode_result(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    round: list[object] = []
    round.append(round)
    with pytest.raises(ValueError, match="nested too deeply"):
        with_type(describe(object)).encode_result(round)


def test_no_annotation_is_any_value_and_none_is_no_value() -> None:
    def anything(): ...  # type: ignore[no-untyped-def]

    def nothing() -> None: ...

    assert make_tool(anything).output_schema == {}
    assert make_tool(nothing).output_schema is None
    with pytest.warns(ToolWarning, match="declared to return None"):
        assert make_tool(nothing).encode_result(5) is None
