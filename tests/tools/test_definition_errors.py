"""An invalid tool raises an error when it is defined, with a text that says what to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct
from pydantic import BaseModel
from tools.tool_helpers import Person, Point, Size, make_tool

from toolwire.tools import ToolContext, ToolDefinitionError, ToolWarning, tool


class Node(Struct):
    children: list[Node] = []


class UndefinedField(Struct):
    part: Nowhere  # type: ignore[name-defined]  # noqa: F821


class Family(BaseModel):
    children: list[Family] = []


def plain(a: int) -> int:
    return a


def many(*numbers: int) -> None: ...
def named(**numbers: int) -> None: ...
def by_place(a: int, /) -> None: ...
def untyped(a) -> None: ...  # type: ignore[no-untyped-def]
def unknown(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def broken(a: 1 + "") -> None: ...  # type: ignore[valid-type]  # noqa: F722
def reserved(_meta: int) -> None: ...
def recursive(a: Node) -> None: ...
def recursive_model(a: Family) -> None: ...
def gives_recursive() -> list[Node]: ...  # type: ignore[empty-body]
def inside(a: UndefinedField) -> None: ...
def odd(a: complex) -> None: ...
def unhashable(a: Literal[[]]) -> None: ...  # type: ignore[valid-type]
def two_kinds(a: Point | Size) -> None: ...
def mixed(a: Annotated[Person, Meta(title="x")]) -> None: ...
def two_contexts(a: ToolContext, b: ToolContext) -> None: ...
def bad_default(a: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013
def unsayable(a: object = object()) -> None: ...
def counting() -> Iterator[int]:
    yield 1


async def streaming() -> Iterator[int]:  # type: ignore[misc]
    yield 1


async def writes(context: ToolContext) -> None: ...
async def no_context() -> None: ...
def other(z: int) -> None: ...


INVALID: list[tuple[Callable[..., object], Mapping[str, object], str]] = [
    (plain, {"id": "Add"}, "letters, digits and _"),
    (plain, {"id": "A.B.C@1.0.0"}, "letters, digits and _"),
    (plain, {"id": "My-Kit.Add@1.0.0"}, "letters, digits and _"),
    (plain, {"id": "Kit.Größe@1.0.0"}, "letters, digits and _"),
    (plain, {"id": "Kit.Add@01.0.0"}, "leading zeros"),
    (plain, {"id": "Kit.Add@1"}, "three numbers"),
    (plain, {"id": "Kit.Add@1.0.0\n"}, "three numbers"),
    (plain, {"id": "Kit.Add", "version": "1.0"}, "three numbers"),
    (plain, {"id": "Kit.Add@1.0.0", "version": "1.0.0"}, "remove version="),
    (plain, {"id": "Kit.Add@1.0.0", "toolkit": "Other"}, "not both"),
    (plain, {"id": "Toolwire.Add@1.0.0"}, "reserved"),
    (plain, {"id": f"Kit.{'a' * 61}@1.0.0"}, "longer than 64"),
    (plain, {"on_crash": "hope"}, "on_crash is one of report"),
    (plain, {"on_crash": "probe"}, "pass it as probe="),
    (plain, {"probe": plain}, "never called"),
    (plain, {"on_crash": "probe", "probe": other}, "the probe takes z"),
    (plain, {"key": "a"}, "a list of their names"),
    (plain, {"key": []}, "a list of their names"),
    (plain, {"key": ["a", "z"]}, "names z"),
    (plain, {"key": other}, "the key takes z"),
    (plain, {"key": writes}, "cannot be async"),
    (plain, {"key": ["a"], "read_only": True}, "not recorded"),
    (plain, {"on_crash": "transactional"}, "make the tool async"),
    (no_context, {"on_crash": "transactional"}, "make the tool async"),
    (writes, {"on_crash": "transactional", "read_only": True}, "nothing to commit"),
    (plain, {"id": 5}, "plain: id is text, not 5"),
    (plain, {"description": 5}, "description is text, not 5"),
    (plain, {"read_only": "no"}, "read_only is True or False, not 'no'"),
    (plain, {"timeout": "5"}, "timeout is a number of seconds above 0, or None, not '5'"),
    (plain, {"concurrency": 1.5}, "concurrency is at least 1, or None for no limit, not 1.5"),
    (plain, {"timeout": 0}, "above 0"),
    (plain, {"timeout": float("nan")}, "above 0"),
    (plain, {"concurrency": 0}, "at least 1"),
    (plain, {"secrets": "KEY"}, "are lists"),
    (plain, {"secrets": ["KEY", "KEY"]}, "repeated"),
    (plain, {"authorization": [""]}, "non-empty"),
    (many, {}, "without names"),
    (named, {}, "no schema names"),
    (by_place, {}, "remove the /"),
    (untyped, {}, "annotate it"),
    (unknown, {}, "'Missing' cannot be resolved"),
    (broken, {}, "cannot be resolved"),
    (reserved, {}, "begin with _"),
    (recursive, {}, "contains itself"),
    (recursive_model, {}, "contains itself"),
    (gives_recursive, {}, "the return value: a type that contains itself"),
    (odd, {}, "complex has no JSON form"),
    (inside, {}, "'Nowhere' inside it cannot be resolved"),
    (unhashable, {}, "the parameter a"),
    (two_kinds, {}, "the parameter a"),
    (mixed, {}, "use one of the two"),
    (two_contexts, {}, "remove one of them"),
    (bad_default, {}, "default does not match"),
    (unsayable, {}, "JSON cannot express its default"),
    (counting, {}, "instead of yield"),
    (streaming, {}, "instead of yield"),
    (Point, {}, "a tool is a function"),
]


def case_name(one: object) -> str:
    """A name for a case that is the same in every process."""
    return "-".join(one) if isinstance(one, Mapping) else str(getattr(one, "__name__", one))[:50]


@pytest.mark.parametrize(("do", "options", "why"), INVALID, ids=case_name)
def test_an_invalid_definition_raises_an_error_that_says_what_to_change(
    do: Callable[..., object], options: Mapping[str, object], why: str
) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        make_tool(do, **options)  # type: ignore[arg-type]
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("define", "name"),
    [
        (partial(tool, plain), "tool"),
        (partial(tool.from_schema, "A.B@1.0.0", "", {}, dict), "tool.from_schema"),
    ],
    ids=["tool", "from_schema"],
)
def test_a_misspelt_option_gets_a_suggestion(define: Callable[..., object], name: str) -> None:
    why = f"{name}() got unexpected options: readonly; did you mean read_only? "
    with pytest.raises(TypeError, match=re.escape(why)):
        define(readonly=True)


def test_a_transactional_tool_is_async_and_has_a_context() -> None:
    assert make_tool(writes, on_crash="transactional").on_crash == "transactional"


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="retries"):
        tool(plain, retries=3)  # type: ignore[call-overload]


def test_a_missing_description_is_a_warning_and_with_strict_an_error() -> None:
    def get_mail(a: int, b: Annotated[int, "B."]) -> None: ...

    with pytest.warns(ToolWarning) as caught:
        one = tool(get_mail, toolkit="Mail").runnable
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "Mail.GetMail@0.1.0 lacks a description" in str(caught[0].message)
    assert "a description of a:" in str(caught[0].message)
    assert one.description == "get mail"
    with pytest.raises(ToolDefinitionError, match="a description of a"):
        tool(get_mail, toolkit="Mail", strict=True)


def test_the_decorator_in_both_forms_points_its_warning_at_the_function() -> None:
    with pytest.warns(ToolWarning) as caught:

        @tool(toolkit="Kit")
        def one() -> None: ...

        @tool
        def two() -> None: ...

    assert [warning.filename for warning in caught] == [__file__, __file__]
