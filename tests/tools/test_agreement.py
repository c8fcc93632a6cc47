"""A tool accepts exactly the inputs that an independent validator accepts by its schema."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec import Meta, Struct
from pydantic import BaseModel
from tools.tool_helpers import Colour, Pair, Person, Place, Point, describe, with_type

from toolwire.conversation.json import JSON
from toolwire.tools import InvalidInput, tool


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Area:
    width: int


class Engine(Struct, tag="engine"):
    level: Level


class Sail(Struct, tag="sail", forbid_unknown_fields=True):
    area: float


class Crew(BaseModel):
    level: Level
    others: list[Person] = []


TYPES: tuple[object, ...] = (
    int,
    float,
    int | float,
    str,
    bool,
    object,
    int | None,
    Literal["a", 1, None],
    Colour,
    Level,
    list[int],
    set[int],
    frozenset[str],
    dict[str, int],
    tuple[int, str],
    tuple[int, ...],
    Point,
    Area,
    Place,
    Pair,
    Point | None,
    list[Point] | str,
    Person,
    list[Person],
    Crew,
    Engine | Sail,
    dict[str, Engine | Sail | None],
    int | str | list[float],
    dict[str, Point | int],
    Annotated[int, Meta(ge=1, lt=9)],
    Annotated[float, Meta(multiple_of=2)],
    Annotated[str, Meta(pattern="^a", max_length=3)],
)

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from(["", "a", "ab", "red", "engine", "sail"])
    | st.sampled_from([0.0, -0.0, 1.0, 2.5, 1e300, 10**30])
)
KEYS = st.sampled_from("x y a width city name age colour type level area others".split())
VALUES: st.SearchStrategy[JSON] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("annotation", TYPES, ids=str)
def test_a_tool_accepts_exactly_what_its_schema_allows(annotation: object) -> None:
    one = with_type(describe(annotation))
    validator = Draft202012Validator(one.input_schema)
    twin = tool.from_schema("Kit.Do@1.0.0", "Does it.", one.input_schema, lambda arguments: None)

    @given(VALUES)
    def agree(value: JSON) -> None:
        allowed = validator.is_valid({"value": value})
        for taker in (one, twin):
            try:
                taker.decode_arguments({"value": value})
            except InvalidInput as error:
                assert not allowed
                assert error.errors.keys() == {"value"}
            else:
                assert allowed

    agree()
