"""The catalogue against the types that vendors publish: none is missing, and each is read as what it
is and written back unchanged.

The tests on the list of published types are skipped where the list is absent. The tests on the
catalogue alone always run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest
from rows import rows

from toolwire import Call, Result, catalogue, decode, encode, wires
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

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


class CatalogueExample:
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
        self.ids = [(field["role"], field["name"]) for field in ids]

    def __str__(self) -> str:
        return f"{self.wire} {self.form} {self.name} {self.discriminator}"

    @property
    def row(self) -> tuple[str, str, str, str]:
        return self.wire, self.direction, self.family, self.origin

    @property
    def id_origin(self) -> str:
        """Where the id in the example comes from."""
        present = {
            role
            for role, name in self.ids
            if any(block.get(name) is not None for block in _objects(self.example))
        }
        if "correlation" in present:
            return "wire"
        # The item id of a result names the result, not its call, unless the wire borrows it.
        borrowed = any(role.startswith("item") for role in present) and (
            self.direction != "output" or self.origin == "borrowed"
        )
        return "item" if borrowed else "minted"


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    """A block and the objects in it: some ids are one level down."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from (item,) if isinstance(item, dict) else ()


def load_entries() -> list[CatalogueExample]:
    """The published types of the wires of models and tools; none if the list is absent."""
    rows = json.loads(LISTED.read_text()) if LISTED.is_file() else []
    return [CatalogueExample(row) for row in rows if row["core_wire"]]


PUBLISHED = load_entries()
needs_list = pytest.mark.skipif(
    not PUBLISHED, reason="the list of published types (../shared/data) is absent"
)


def read_example(entry: CatalogueExample) -> tuple[JSON, Kind] | None:
    """The example of a type inside a body of its wire, or None if no body can hold it: the test file
    of the wire knows how."""
    module = import_module(f"wires.test_{entry.wire.replace('-', '_')}")
    wrapped: tuple[JSON, Kind] | None = module.wrap_example(
        entry.example, entry.discriminator, entry.form
    )
    return wrapped


@needs_list
@rows("entry", PUBLISHED)
def test_the_catalogue_has_a_row_for_every_published_type(entry: CatalogueExample) -> None:
    assert entry.row in {
        (row.wire, row.direction, row.family, row.origin)
        for row in catalogue()
        if entry.form != "response-stream" or "stream" in row.forms
    }


@needs_list
@rows("entry", PUBLISHED)
def test_a_published_type_is_read_as_what_it_is_and_written_back_unchanged(
    entry: CatalogueExample,
) -> None:
    example = read_example(entry)
    if example is None:  # types of streams are compared by their rows alone
        assert entry.form == "response-stream", "no body can hold the example"
        return
    body, kind = example
    conversation = decode(body, entry.wire, kind)
    # A body may need a call around a result: the example comes last.
    expected = PARTS[entry.direction]
    parts = [part for part in conversation.parts() if isinstance(part, Call | Result)]
    parts = parts[-len(expected) :]
    assert [type(part) for part in parts] == expected
    assert {part.family for part in parts} == {entry.family}
    assert {part.executor for part in parts} <= entry.executors
    assert {part.origin for part in parts} == {entry.id_origin}
    assert encode(conversation, entry.wire, kind).body == body


def test_no_two_rows_have_the_same_discriminator_in_the_same_form() -> None:
    count = Counter(
        (entry.wire, entry.type, entry.direction, form, *sorted(entry.discriminator.items()))
        for entry in catalogue()
        for form in entry.forms
    )
    assert [row for row, times in count.items() if times > 1] == []


def test_every_row_has_a_direction_a_family_an_executor_an_origin_and_forms() -> None:
    for entry in catalogue():
        assert entry.direction in PARTS, entry
        assert entry.family, entry
        assert entry.executor in EITHER, entry
        assert entry.origin in ("natural", "nullable", "borrowed", "absent"), entry
        assert entry.forms, entry


@pytest.mark.parametrize("wire", wires())
def test_every_wire_has_a_type_of_call_and_a_type_of_result(wire: str) -> None:
    """`docs/reference/catalogue.md` lists all types: a new or removed type is a diff of that page."""
    directions = {entry.direction for entry in catalogue() if entry.wire == wire}
    assert directions & {"call", "call+output"}
    assert directions & {"output", "call+output"}
