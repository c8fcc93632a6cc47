"""Remove items and fields from a body; everything else stays verbatim.

This module knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, get, put


def remove_paths(body: JSON, paths: Iterable[JsonPath]) -> JSON:
    """The body without the list items and object fields at these paths."""
    # From the end, so that earlier paths stay valid.
    for path in sorted(paths, key=_sort_key, reverse=True):
        parent, last = get(body, path[:-1]), path[-1]
        if isinstance(parent, list) and isinstance(last, int):
            body = put(body, path[:-1], [item for n, item in enumerate(parent) if n != last])
        elif isinstance(parent, dict):
            rest = {key: value for key, value in parent.items() if key != last}
            body = put(body, path[:-1], rest)
    return body


def _sort_key(path: JsonPath) -> tuple[tuple[bool, int, str], ...]:
    return tuple(
        (isinstance(step, str), step if isinstance(step, int) else 0, str(step)) for step in path
    )
