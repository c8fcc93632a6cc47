"""The deltas of streamed blocks: which block they open, to which field they belong, how they are
joined.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.engine.specs import Block

Join: TypeAlias = "Callable[[JSON, list[JSON]], JSON]"
"""Makes the value of a field from its value in the opening event and the pieces of its deltas."""


def openers(specs: Iterable[Block]) -> dict[str, tuple[Block, ...]]:
    """The specs that have a delta, by the type of the delta."""
    table: dict[str, tuple[Block, ...]] = {}
    for spec in specs:
        for delta in spec.deltas if spec.read is not None else ():
            table[delta] = (*table.get(delta, ()), spec)
    return table


def leaves(
    value: JSON, known: Mapping[str, object], prefix: str = ""
) -> Iterator[tuple[str, JSON]]:
    """The values inside a delta with their dotted paths; a path in `known` is not split further."""
    if value is None:
        return
    if prefix in known or not isinstance(value, dict):
        yield prefix, value
        return
    for name, item in value.items():
        yield from leaves(item, known, f"{prefix}.{name}" if prefix else name)


def nest(path: str, value: JSON) -> Object:
    """A value nested in objects along a dotted path."""
    first, _, rest = path.partition(".")
    return {first: nest(rest, value) if rest else value}


# --- how pieces become values ---------------------------------------------------------------------


def join_text(opening: JSON, pieces: list[JSON]) -> JSON:
    """The pieces joined to one text."""
    text = "".join([piece for piece in pieces if isinstance(piece, str)])
    if not text and opening is not None:
        return opening
    return (opening if isinstance(opening, str) else "") + text


def join_arguments(opening: JSON, pieces: list[JSON]) -> JSON:
    """The object whose JSON text the pieces form; any other text is put under `_raw`, as in a
    body."""
    text = "".join([piece for piece in pieces if isinstance(piece, str)])
    if not text and opening is not None:
        return opening
    arguments = LazyJson(text)
    value = arguments.value
    if isinstance(value, dict):
        return value
    return {} if value is None and not arguments.broken else {"_raw": text}


def join_list(opening: JSON, pieces: list[JSON]) -> JSON:
    """The pieces as a list."""
    return [*(opening if isinstance(opening, list) else []), *pieces]
