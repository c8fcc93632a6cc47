"""Types and small tools that several tests of tools share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, NamedTuple, TypedDict, Unpack

import pytest
from msgspec import Struct
from pydantic import BaseModel, Field, field_validator

from toolwire.conversation.json import Object
from toolwire.tools import InvalidInput, Runnable, ToolContext, ToolWarning, tool
from toolwire.tools.options import Options

CONTEXT = ToolContext("call-1", "Kit.Do@1.0.0", user_id="user_1")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(Struct):
    x: int
    y: int = 0


@dataclass
class Size:
    """A size."""

    width: int

    def __post_init__(self) -> None:
        if self.width > 100:
            raise ValueError(f"{self.width} is too wide")


class Place(TypedDict, total=False):
    city: str


class Pair(NamedTuple):
    left: int
    right: str


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0, description="In years.")] = 0
    colour: Colour = Colour.RED

    @field_validator("name")
    @classmethod
    def not_a_secret(cls, name: str) -> str:
        if name.startswith("sk-"):
            raise ValueError(f"{name} looks like a key")
        return name


def with_type(annotation: object, *, returns: object = object) -> Runnable:
    """A tool with one parameter of a type, which returns it."""

    def do(value: object) -> object:
        return value

    do.__annotations__ = {"value": annotation, "return": returns}
    return tool(do, id="Kit.Do@1.0.0", description="Does it.").runnable


def describe(annotation: object) -> object:
    return Annotated[annotation, "What it is."]


def make_tool(do: Callable[..., object], **options: Unpack[Options]) -> Runnable:
    """The tool of a function without descriptions, without the warning about that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolWarning)
        options.setdefault("id", "Kit.Do@1.0.0")
        return tool(do, **options).runnable


def schema_of(one: Runnable, parameter: str) -> Object:
    """The schema of one parameter."""
    properties = one.input_schema["properties"]
    assert isinstance(properties, dict)
    found = properties[parameter]
    assert isinstance(found, dict)
    return found


def errors(one: Runnable, given: Object) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        one.decode_arguments(given)
    assert caught.value.__context__ is None, "the rejected value would be in every log"
    return caught.value.errors
