"""Take things out of a body where they stand, and leave the rest of it to the letter. Knows no rule
and no wire."""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, get, put


def remove_paths(body: JSON, paths: Iterable[JsonPath]) -> JSON:
    """The body without what stands at some places: items of lists, fields of objects."""
    for at in sorted(
        paths, key=_order, reverse=True
    ):  # from the end, so that places before stay what they are
        holder, last = get(body, at[:-1]), at[-1]
        if isinstance(holder, list) and isinstance(last, int):
            body = put(body, at[:-1], [item for n, item in enumerate(holder) if n != last])
        elif isinstance(holder, dict):
            body = put(body, at[:-1], {key: value for key, value in holder.items() if key != last})
    return body


def _order(at: JsonPath) -> tuple[tuple[bool, int, str], ...]:
    return tuple(
        (isinstance(step, str), step if isinstance(step, int) else 0, str(step)) for step in at
    )
