"""Every case of every wire: hand-made folders, and recorded traffic where it is present.

A case is a folder `cases/<wire>/<behaviour>/` with `request.json` or `response.json` and, where
there are calls, `pairs.json`; with `stream.json` it is also a stream: its events, which fold to
`response.json`. `cases/<wire>/wire.json` holds what the laws have to know about the wire itself.
TOOLWIRE_WIRES (names with commas) narrows a run to some wires.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from copy import copy, deepcopy
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import pytest
from msgspec import Struct

from toolwire import wires
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Kind
from toolwire.wires import wire as named_wire

CASE_FOLDER = Path(__file__).parent / "cases"
RECORDED = Path(__file__).parents[2] / "shared" / "data" / "recorded"
HAS_RECORDINGS = RECORDED.is_dir()
needs_recordings = pytest.mark.skipif(
    not HAS_RECORDINGS, reason="recorded traffic (../shared/data/recorded) is absent"
)
KINDS: tuple[Kind, ...] = ("request", "response")
DEEP = os.environ.get("TOOLWIRE_DEEP") == "1"
EVERY = 1 if DEEP else 2
"""Every n-th recording is used."""

Truth: TypeAlias = "tuple[str | None, str | None, str | None]"

_wanted = os.environ.get("TOOLWIRE_WIRES")
WIRES = [name for name in wires() if not _wanted or name in _wanted.split(",")]
COMPLETE = not _wanted
"""True if a run is about all wires."""


class Exemptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What the laws do not ask of a wire: each a reason, or empty if the law holds."""

    repeats_answer: str = ""
    """The last events of a stream repeat the answer, so a writer keeps all of it."""
    repeats_calls: str = ""
    """A call grows in a stream and is then sent whole."""
    whole_calls: str = ""
    """A call cannot grow in a stream."""
    joins_calls: str = ""
    """Consecutive calls are one event, so they wait for another part or the end of the answer."""
    keeps_arguments: str = ""
    """A stream reader keeps the arguments of a call until the call ends."""
    late_names: str = ""
    """A stream reader opens a call one event after its name."""
    late_calls: str = ""
    """A stream reader cannot emit a call before it has seen what follows the call."""
    indexed_calls: str = ""
    """The calls of a body are in the order of their indexes, those of a stream as they start."""
    merged_cuts: str = ""
    """The body of a stream that was cut off has fewer facts than its events."""
    empty_fields: str = ""
    """An unknown field that is false, zero or empty is not reported."""
    no_tools: str = ""
    """A request holds no tool definitions."""
    short_input: str = ""
    """A history of one message may be no list, and becomes one when a message is added."""


class WireFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """What tests know about a wire beside its code: the file `wire.json` among its cases."""

    model: bool = False
    """True if models speak the wire; others are spoken by frameworks and tool servers."""
    exempt: Exemptions = Exemptions()


@cache
def facts(wire: str) -> WireFacts:
    """Return the facts about a wire; the defaults if its cases have no `wire.json`."""
    file = CASE_FOLDER / wire / "wire.json"
    return msgspec.json.decode(file.read_bytes(), type=WireFacts) if file.is_file() else WireFacts()


MODELS = [name for name in WIRES if facts(name).model]
"""The wires that models speak."""


def child_environment(hash_seed: str) -> dict[str, str]:
    """The environment of a process that imports test modules and the same toolwire as this one."""
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }


class Case(Struct, frozen=True, eq=False):
    """A body of a wire, and the truth about its pairs."""

    name: str
    wire: str
    kind: Kind
    body: JSON
    pairs: tuple[Truth, ...] | None = None
    recorded: bool = False

    def __str__(self) -> str:
        return f"{self.wire}-{self.kind}-{self.name}"


@cache
def load(wire: str) -> tuple[Case, ...]:
    """The cases in a wire's folder."""
    cases: list[Case] = []
    for folder in sorted((CASE_FOLDER / wire).glob("*/")):
        for kind in KINDS:
            file = folder / f"{kind}.json"
            if file.is_file():
                truth = folder / "pairs.json"
                is_only_body = kind == "request" or not (folder / "request.json").is_file()
                pairs = json.loads(truth.read_text()) if is_only_body and truth.is_file() else None
                cases.append(
                    Case(
                        folder.name,
                        wire,
                        kind,
                        json.loads(file.read_text()),
                        pairs and tuple(tuple(p) for p in pairs),
                    )
                )
    return tuple(cases)


@cache
def load_recorded(wire: str) -> tuple[Case, ...]:
    """Recorded bodies of a wire, none if there are no recordings."""
    found: list[Case] = []
    for kind in KINDS:
        file = RECORDED / f"{wire}.{kind}.jsonl"
        if file.is_file():
            rows = [
                (i, json.loads(line))
                for i, line in enumerate(file.read_text().splitlines())
                if i % EVERY == 0
            ]
            found += (
                Case(f"recorded-{i}", wire, kind, row["body"], recorded=True) for i, row in rows
            )
    return tuple(found)


class StreamCase(Struct, frozen=True, eq=False):
    """A stream of a wire: its events, or the text in which they were recorded; and the body to which
    a hand-made one folds."""

    name: str
    wire: str
    stream: str | list[JSON]
    body: JSON = None

    def __str__(self) -> str:
        return f"{self.wire}-{self.name}"

    @property
    def events(self) -> list[JSON]:
        """The events: those of a text are its lines, or what follows `data:` between two empty lines."""
        if not isinstance(self.stream, str):
            return deepcopy(self.stream)
        if self.stream.lstrip().startswith("{"):
            return [json.loads(line) for line in self.stream.split("\n") if line.strip()]
        found: list[JSON] = []
        for block in self.stream.replace("\r\n", "\n").split("\n\n"):
            data = [
                line.removeprefix("data:").removeprefix(" ")
                for line in block.split("\n")
                if line.startswith("data:")
            ]
            if data and data != ["[DONE]"]:
                found.append(json.loads("\n".join(data)))
        return found


@cache
def load_streams(wire: str) -> tuple[StreamCase, ...]:
    """The streams in a wire's folder."""
    cases: list[StreamCase] = []
    for file in sorted((CASE_FOLDER / wire).glob("*/stream.json")):
        body = json.loads((file.parent / "response.json").read_text())
        cases.append(StreamCase(file.parent.name, wire, json.loads(file.read_text()), body))
    return tuple(cases)


@cache
def load_recorded_streams(wire: str) -> tuple[StreamCase, ...]:
    """Recorded streams of a wire, none if there are no recordings."""
    file = RECORDED / f"{wire}.stream.jsonl"
    rows = (
        [json.loads(line) for line in file.read_text().split("\n") if line]
        if file.is_file()
        else []
    )
    return tuple(
        StreamCase(f"recorded-{i}", wire, row["body"])
        for i, row in enumerate(rows)
        if i % EVERY == 0
    )


def streaming() -> list[str]:
    """The wires that stream."""
    return [name for name in WIRES if named_wire(name).stream is not None]


CASES: list[Case] = [case for wire in WIRES for case in load(wire)]
ALL: list[Case] = CASES + [case for wire in WIRES for case in load_recorded(wire)]


# --- bodies, changed ------------------------------------------------------------------------------

DELETE: Literal["<delete>"] = "<delete>"
NOISE: tuple[JSON, ...] = (
    DELETE,
    None,
    True,
    False,
    -1,
    0,
    0.5,
    10**30,
    "",
    " ",
    "null",
    "tw-0123456789abcdef",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"type": "text"},
    {"": {}},
    ["text"],
    "auto",
    "assistant",
    "tool",
)


def nodes(value: JSON, at: JsonPath = ()) -> Iterator[JsonPath]:
    """The paths of everything in a value, itself first."""
    yield at
    if isinstance(value, dict):
        for key, item in value.items():
            yield from nodes(item, (*at, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from nodes(item, (*at, i))


def leaves(value: JSON, at: JsonPath = ()) -> Iterator[tuple[JsonPath, JSON]]:
    """The paths of everything that holds nothing else, with its value; empty containers count."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*at, key))
    elif isinstance(value, list) and value:
        for i, item in enumerate(value):
            yield from leaves(item, (*at, i))
    else:
        yield at, value


def set_at(body: JSON, at: JsonPath, new: JSON) -> JSON:
    """A copy of a body with another node at a path, or without it. Only what is on the path is
    copied, so a value that also stands elsewhere changes only here."""
    if not at:
        return None if new is DELETE else new
    out = copy(body)
    parent = out
    for step in at[:-1]:
        child = copy(parent[step])  # type: ignore[index]
        parent[step] = child  # type: ignore[index]
        parent = child
    if new is DELETE:
        del parent[at[-1]]  # type: ignore[union-attr,arg-type]
    else:
        parent[at[-1]] = deepcopy(new)  # type: ignore[index]
    return out


def same(left: JSON, right: JSON) -> bool:
    """True if two values are the same JSON: `True` is not 1, and 1.0 is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same(item, right[key]) for key, item in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def differences(left: JSON, right: JSON, at: JsonPath = ()) -> Iterator[JsonPath]:
    """The deepest paths at which two values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in {**left, **right}:
            if key in left and key in right:
                yield from differences(left[key], right[key], (*at, key))
            else:
                yield (*at, key)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            yield from differences(a, b, (*at, i))
    elif not same(left, right):
        yield at
