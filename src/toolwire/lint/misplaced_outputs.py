"""Results with their output in a field that another wire uses. Knows no rule and no wire."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.parts import Result, Source
from toolwire.lint.facts import Facts
from toolwire.lint.memo import once_per_history
from toolwire.wires import wire

_FIELDS = ("content", "output", "result", "response", "text", "value")
"""The output fields of all wires."""
_EMPTY: tuple[JSON, ...] = ("", None, [], {})


def find_output(result: Result) -> tuple[JsonPath, JSON] | None:
    """The path and the value of the output of a result that seems to have none."""
    if result.executor != "client" or (result.output != () and result.output not in _EMPTY):
        return None
    raw, path, spec = result.source.raw, result.source.path, result.source.spec
    known = spec.keys if spec is not None else frozenset()
    for name, fields in spec.inner if spec is not None else ():
        if isinstance(raw, dict) and isinstance(raw.get(name), dict):
            raw, path, known = raw[name], (*path, name), fields
    if not isinstance(raw, dict):
        return None
    fields_of_others = [name for name in _FIELDS if name not in known]
    return next(
        (((*path, name), raw[name]) for name in fields_of_others if raw.get(name) not in _EMPTY),
        None,
    )


def with_output(result: Result) -> Result:
    """A result with the output that was found; the same object if it already has it."""
    found = find_output(result)
    if found is None:
        return result
    return replace(result, output=found[1], source=Source(path=result.path))


@once_per_history
def misplaced_outputs(facts: Facts) -> dict[JsonPath, JsonPath]:
    """Path of a result → path of its output, for outputs in a field of another wire."""
    if not facts.own_wire or facts.conversation.kind != "request":
        return {}
    if not wire(facts.profile.wire).capabilities.read_by_model:
        return {}
    found: dict[JsonPath, JsonPath] = {}
    for result in facts.observations.results:
        output = result.output
        if output.__class__ is str and output:
            continue  # most results have one
        moved = find_output(result)
        if moved is not None:
            found[result.path] = moved[0]
    return found
