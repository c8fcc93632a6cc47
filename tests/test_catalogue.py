"""The catalogue against the types the vendors publish: none is missing, and each is read as what it
is and goes back as it came.

The list of published types is read where it is at hand. Whether the catalogue agrees with itself is
asked always.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from toolwire import Call, Result, catalogue, decode, encode
from toolwire.conversation.json import JSON

LISTED = Path(__file__).parents[2] / "shared" / "data" / "wire-catalogue.json"
SPEAKS = {"groq": "openai-chat"}
"""A provider in the list whose wire has another name here."""
EITHER = frozenset({"client", "provider"})
RUNS = {
    "client": frozenset({"client"}),
    "server": frozenset({"provider"}),
    "client-or-server": EITHER,
    "server-or-client": EITHER,
}
RUN_BY_THE_CALLER = {"mcp"}
"""Wires on which the list calls the tool's own host a server. Seen from a model, that is the
client's side."""
PARTS: dict[str, list[type[Call] | type[Result]]] = {
    "call": [Call],
    "output": [Result],
    "call+output": [Call, Result],
}
COUNTS = {
    "adk": 6,
    "ai-sdk": 8,
    "anthropic": 14,
    "azure-foundry": 70,
    "bedrock": 6,
    "cohere": 2,
    "gemini": 6,
    "genkit": 2,
    "mcp": 6,
    "meai": 16,
    "mistral": 2,
    "ollama": 2,
    "openai-chat": 7,
    "openai-responses": 26,
    "oxp": 4,
    "text": 6,
}


class Published:
    """One type of the list."""

    def __init__(self, entry: Mapping[str, object]) -> None:
        wire, self.form, self.name = (str(entry[key]) for key in ("wire", "form", "type_name"))
        self.direction, self.family, self.origin = (
            str(entry[key]) for key in ("direction", "family", "origin_class")
        )
        self.wire = SPEAKS.get(wire, wire)
        self.executors = RUNS[
            "client" if self.wire in RUN_BY_THE_CALLER else str(entry["executor"])
        ]
        self.example: JSON = entry["min_example"]  # type: ignore[assignment]
        self.discriminator: dict[str, str] = entry["discriminator"]  # type: ignore[assignment]
        ids: list[dict[str, str]] = entry["id_fields"]  # type: ignore[assignment]
        self.ids = [(one["role"], one["name"]) for one in ids]

    def __str__(self) -> str:
        return f"{self.wire} {self.form} {self.name} {self.discriminator}"

    @property
    def row(self) -> tuple[str, str, str, str]:
        return self.wire, self.direction, self.family, self.origin

    @property
    def id_origin(self) -> str:
        """Where the id in the example comes from."""
        given = {
            role
            for role, name in self.ids
            if any(block.get(name) is not None for block in _objects(self.example))
        }
        if "correlation" in given:
            return "wire"
        # The item id of a result names the result, not its call, unless the wire borrows it for
        # that.
        lent = any(role.startswith("item") for role in given) and (
            self.direction != "output" or self.origin == "borrowed"
        )
        return "item" if lent else "minted"


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    """A block and the objects in it: some ids stand one level down."""
    if isinstance(value, dict):
        yield value
        for inside in value.values():
            yield from (inside,) if isinstance(inside, dict) else ()


def published() -> list[Published]:
    """The types of the wires that models and tools speak today; none if the list is not at hand."""
    rows = json.loads(LISTED.read_text()) if LISTED.is_file() else []
    return [Published(row) for row in rows if row["core_wire"]]


def faults(entry: Published) -> Iterator[str]:
    """What is wrong with how an example is read and written; streams are compared by their rows
    alone."""
    held = import_module(f"wires.test_{entry.wire.replace('-', '_')}").hold(
        entry.example, entry.discriminator, entry.form
    )
    if held is None:
        if entry.form != "response-stream":
            yield f"{entry}: nothing to hold it"
        return
    body, kind = held
    conversation = decode(body, entry.wire, kind)
    # A body may need a call around a result: the example is what stands last.
    wanted = PARTS[entry.direction]
    parts = [part for part in conversation.parts() if isinstance(part, Call | Result)][
        -len(wanted) :
    ]
    if [type(part) for part in parts] != wanted:
        yield f"{entry}: {entry.direction} is read as {[type(part).__name__ for part in parts]}"
    for part in parts:
        if part.family != entry.family:
            yield f"{entry}: family {entry.family} is read as {part.family}"
        if part.executor not in entry.executors:
            yield f"{entry}: run by {sorted(entry.executors)}, read as {part.executor}"
        if part.origin != entry.id_origin:
            yield f"{entry}: the id comes from {entry.id_origin}, read as {part.origin}"
    if encode(conversation, entry.wire, kind).body != body:
        yield f"{entry}: does not go back as it came"


def test_no_published_type_is_missing() -> None:
    ours = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    assert [str(entry) for entry in published() if entry.row not in ours] == []


def test_a_type_that_stands_in_streams_alone_has_a_row_that_says_so() -> None:
    ours = {
        (entry.wire, entry.direction, entry.family, entry.origin)
        for entry in catalogue()
        if "stream" in entry.forms
    }
    streamed = [entry for entry in published() if entry.form == "response-stream"]
    assert [str(entry) for entry in streamed if entry.row not in ours] == []


def test_every_published_type_is_read_as_what_it_is_and_goes_back_as_it_came() -> None:
    assert [fault for entry in published() for fault in faults(entry)] == []


def test_no_two_rows_are_told_by_the_same_marks_in_the_same_place() -> None:
    count = Counter(
        (entry.wire, entry.type, entry.direction, form, *sorted(entry.discriminator.items()))
        for entry in catalogue()
        for form in entry.forms
    )
    assert [row for row, times in count.items() if times > 1] == []


def test_every_row_says_what_it_carries_who_runs_it_and_where_its_id_comes_from() -> None:
    for entry in catalogue():
        assert entry.direction in PARTS, entry
        assert entry.family, entry
        assert entry.executor in EITHER, entry
        assert entry.origin in ("natural", "nullable", "borrowed", "absent"), entry
        assert entry.forms, entry


def test_every_wire_has_as_many_types_as_it_had() -> None:
    """A row that goes or comes is meant, and then this table says so."""
    assert Counter(entry.wire for entry in catalogue()) == COUNTS
