"""Ask the same of many, one after the other, in one test.

A question that takes a millisecond costs four more as a test of its own, which every worker
collects and somebody counts. What fails is named, each with its own traceback, and the others are
asked all the same. With TOOLWIRE_DEEP=1 each of them is a test of its own. Not for tests with
fixtures that one question would leave changed for the next.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial, update_wrapper
from typing import TypeAlias, TypeVar

import pytest
from cases import DEEP
from msgspec import Struct

T = TypeVar("T")
Test: TypeAlias = "Callable[..., None]"


def each(
    names: str, values: Iterable[T], *, ids: Callable[[T], str] = str
) -> Callable[[Test], Test]:
    """As `parametrize`, in one test. May stand above another of its kind, and below a
    `parametrize`."""
    found = list(values)
    keys = [name.strip() for name in names.split(",")]

    def given(value: T) -> dict[str, object]:
        return dict(
            zip(
                keys, value if len(keys) > 1 and isinstance(value, tuple) else (value,), strict=True
            )
        )

    def over(test: Test) -> Test:
        def run(**others: object) -> None:
            _ask(
                [
                    (f"{names} = {ids(value)}", partial(test, **given(value), **others))
                    for value in found
                ]
            )

        return _in_place_of(
            test, run, [name for name in inspect.signature(test).parameters if name not in keys]
        )

    if DEEP or not found:
        return pytest.mark.parametrize(names, found, ids=[ids(value) for value in found])
    return over


def together(rows: Iterable[object]) -> Callable[[Test], Test]:
    """One test for all rows of a wire, or of a rule: for what takes its time, so that workers can
    share it.

    A row is what the test takes, or a tuple of that; the first of it says to what it belongs.
    """
    groups: dict[str, list[tuple[object, ...]]] = {}
    for row in rows:
        held = (
            getattr(row, "values", row) if not isinstance(row, Struct) else row
        )  # of pytest.param
        given = held if isinstance(held, tuple) else (held,)
        group = (
            _named(given)
            if DEEP
            else str(getattr(given[0], "wire", None) or getattr(given[0], "name", given[0]))
        )
        groups.setdefault(group, []).append(given)

    def over(test: Test) -> Test:
        def run(group: str) -> None:
            _ask([(_named(given), partial(test, *given)) for given in groups[group]])

        return pytest.mark.parametrize("group", list(groups))(_in_place_of(test, run, ["group"]))

    return over


def _named(given: Sequence[object]) -> str:
    return " ".join(map(str, given))[:200]


def _ask(questions: Iterable[tuple[str, Callable[[], None]]]) -> None:
    failed: list[BaseException] = []
    for name, question in questions:
        try:
            question()
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"asked of {name}")
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} failed", failed)


def _in_place_of(test: Test, run: Test, parameters: list[str]) -> Test:
    """What pytest takes for the test: under its name, with other parameters."""
    open_ones = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in parameters]
    setattr(run, "__signature__", inspect.Signature(open_ones))  # noqa: B010
    return update_wrapper(run, test, updated=())
