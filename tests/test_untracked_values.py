"""Values that the garbage collector does not track are in no cycle, so that none of them leaks.

`gc=False` makes the values of the pipeline cheaper. Nothing frees such a value if it refers to
itself, even by way of others.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType

import pytest
from cases import CASES, WIRES, load_streams
from msgspec import Struct

from toolwire import decode, encode, translate
from toolwire.conversation.observations import observe
from toolwire.errors import ToolwireError
from toolwire.streaming.restream import restream

SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, str, bytes, int, float)
"""Objects that no value owns."""


def referents(value: object) -> list[object]:
    """What a value refers to directly; the collector does not know it of untracked values."""
    if isinstance(value, Struct):
        return [getattr(value, field) for field in value.__struct_fields__]
    return gc.get_referents(value)


def reachable(value: object) -> Iterator[object]:
    """All objects that a value refers to, directly or by way of others."""
    seen: dict[int, object] = {}
    waiting = referents(value)
    while waiting:
        found = waiting.pop()
        if isinstance(found, SHARED) or id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        waiting += referents(found)


def untracked_values(value: object) -> list[Struct]:
    """The values without tracking among a value and all that it refers to."""
    found = [value, *reachable(value)]
    return [each for each in found if isinstance(each, Struct) and not each.__struct_config__.gc]


def test_a_cycle_is_seen() -> None:
    class Untracked(Struct, gc=False):
        other: object = None

    value = Untracked()
    value.other = [value]
    assert any(found is value for found in reachable(value))
    value.other = None


@pytest.mark.parametrize("name", WIRES)
def test_no_value_of_a_translation_refers_to_itself(name: str) -> None:
    target = "anthropic" if name != "anthropic" else "openai-chat"
    bodies = [case for case in CASES if case.wire == name][:6]
    checked = 0
    for case in bodies:
        try:
            conversation = decode(case.body, name, case.kind)
            values: list[object] = [conversation, observe(conversation, target)]
            values += [encode(conversation, name, case.kind)]
            values += [translate(case.body, name, target, case.kind)]
        except ToolwireError:
            continue
        for value in values:
            for untracked in untracked_values(value):
                assert not any(found is untracked for found in reachable(untracked)), untracked
                checked += 1
    assert checked or not bodies


@pytest.mark.parametrize("target", ["anthropic", "openai-responses", "gemini", "bedrock"])
def test_no_value_of_a_stream_refers_to_itself(target: str) -> None:
    stream = load_streams("openai-chat")[0]
    running = restream(stream.stream, "openai-chat", target)
    assert list(running)
    values = untracked_values(running)
    assert values
    for value in values:
        assert not any(found is value for found in reachable(value)), value
