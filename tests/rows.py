"""Rows of a test: parameters that may be thousands.

`@rows("case", CASES)` is `pytest.mark.parametrize` with readable ids. pytest spends about four
milliseconds on a test item (each xdist worker collects all items), so a plain run puts the rows of
one wire into one item; every row that does not pass is reported under its own node id. A run that
selects (`-k`, `-m`, `--lf`, `--ff`, `--sw`, a node id) or lists (`--collect-only`) makes an item of
each row, with the same node ids: a failed row can be selected by what the report says.

Decorators stack as those of `parametrize` do. A fixture is set up once for all rows of an item.
`share=3` runs every third row of a plain run; the seed of the run decides which, so that runs
complement each other. Deep runs, and runs that select, take all rows.
`gap` marks a row that is known to fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product

import pytest
from cases import DEEP
from msgspec import Struct

MARK = "rows"
ROW_NODEID = "row_nodeid"
_LONGEST_ID = 120


class Row(Struct, frozen=True, eq=False):
    """The arguments of one row, its id, and the item that it shares in a plain run."""

    id: str
    group: str
    arguments: Mapping[str, object]


class Group(Struct, frozen=True, eq=False):
    """The rows of one item. Every argument of the test holds the same group."""

    id: str
    rows: Sequence[Row]
    single: bool


def rows(
    names: str,
    values: Iterable[object],
    *,
    ids: Callable[..., str] | None = None,
    group: Callable[..., str] | None = None,
    share: int = 1,
) -> pytest.MarkDecorator:
    """Parametrize a test.

    Args:
        names: the parameters, separated by commas.
        values: one value per row, or a tuple of values if there are several names.
        ids: makes the id of a row from its values; the default joins their `str`.
        group: names the item of a row in a plain run; the default is the attribute `wire` of the
            first value, so that all other values share one item.
        share: how many rows there are for each one that a plain run takes.
    """
    keys = [name.strip() for name in names.split(",")]
    out: list[Row] = []
    used: dict[str, int] = {}
    for value in values:
        row = value if len(keys) > 1 and isinstance(value, tuple) else (value,)
        row_id = _plain(ids(*row) if ids else "-".join(map(_text, row)))
        count = used[row_id] = used.get(row_id, 0) + 1
        if count > 1:
            row_id = f"{row_id}~{count}"
        key = group(*row) if group else getattr(row[0], "wire", "")
        out.append(Row(row_id, str(key), dict(zip(keys, row, strict=True))))
    return pytest.mark.rows(tuple(keys), tuple(out), share)


def _text(value: object) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    return repr(value)[2:-1] if isinstance(value, bytes) else str(value)


def _plain(text: str) -> str:
    """An id without what pytest would escape or a shell would not pass on."""
    return re.sub(r"[^ -~]|[\\\[\]]|::", "_", text)[:_LONGEST_ID] or "empty"


def selects(config: pytest.Config) -> bool:
    """True if a run selects or lists single tests."""
    option = config.option
    flags = ("keyword", "markexpr", "lf", "failedfirst", "stepwise", "collectonly")
    return any(getattr(option, flag, None) for flag in flags) or any(
        "::" in str(argument) for argument in config.args
    )


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a test its rows, one item each or one item per group."""
    marks = list(metafunc.definition.iter_markers(MARK))
    if not marks:
        return
    single = selects(metafunc.config)
    keys: list[str] = [key for mark in marks for key in mark.args[0]]
    every = [_join(parts) for parts in product(*(mark.args[1] for mark in marks))]
    share: int = max(mark.args[2] for mark in marks)
    if share > 1 and not single and not DEEP:
        every = every[int(metafunc.config.option.hypothesis_seed) % share :: share]
    if not every:
        metafunc.parametrize(keys, [])
        return
    groups_by_id: dict[str, list[Row]] = {}
    for row in every:
        groups_by_id.setdefault(row.id if single else row.group or "rows", []).append(row)
    groups = [Group(name, members, single) for name, members in groups_by_id.items()]
    metafunc.parametrize(
        keys, [[group] * len(keys) for group in groups], ids=[group.id for group in groups]
    )


def _join(parts: Sequence[Row]) -> Row:
    if len(parts) == 1:
        return parts[0]
    arguments = {key: value for part in parts for key, value in part.arguments.items()}
    group = "-".join(part.group for part in parts if part.group)
    return Row("-".join(part.id for part in parts), group, arguments)


def run(item: pytest.Function) -> bool:
    """Run the rows of an item and report those that do not pass; False if it has no rows."""
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    group = next((value for value in arguments.values() if isinstance(value, Group)), None)
    if group is None:
        return False
    others = {name: value for name, value in arguments.items() if not isinstance(value, Group)}
    if group.single:
        item.obj(**others, **group.rows[0].arguments)
        return True
    name, _, rest = item.name.partition("[")
    for row in group.rows:
        call = pytest.CallInfo.from_call(
            partial(item.obj, **others, **row.arguments), "call", reraise=(KeyboardInterrupt,)
        )
        if call.excinfo is not None:
            _report(item, call, f"{name}[{row.id}{rest.removeprefix(group.id)}")
            if item.session.shouldfail:
                break
    return True


def _report(item: pytest.Function, call: pytest.CallInfo[None], name: str) -> None:
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    report.location = (*report.location[:2], name)
    setattr(report, ROW_NODEID, f"{item.nodeid.removesuffix(item.name)}{name}")
    item.ihook.pytest_runtest_logreport(report=report)


def rename(report: pytest.TestReport) -> None:
    """Give the report of a row the node id of the row. A worker of xdist may only report on its
    current item, so this happens where reports arrive."""
    report.nodeid = getattr(report, ROW_NODEID, report.nodeid)


@contextmanager
def gap(reason: str | None) -> Iterator[None]:
    """Expect a failure: the row is reported as xfailed with this reason, and fails if it passes.

    Without a reason nothing is expected.
    """
    if reason is None:
        yield
        return
    try:
        yield
    except AssertionError:
        pytest.xfail(reason)
    pytest.fail(f"passes, although it is listed as a known gap: {reason}")
