"""Move messages to another position in the list they were read from, without reading them again.

This module knows no wire.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.parts import Call, Message, Part, Result, Source


def move(message: Message, distance: int) -> Message | None:
    """The message as it is read if its JSON stands `distance` positions later in the list of
    messages; None if the path of an approval is unknown there, so that it has to be read again."""
    source = message.source
    new_source = _move_source(source, distance)
    parts: list[Part] = []
    for part in message.parts:
        if type(part) is Call and part.approval is not None:
            return None
        if part.source is source:
            moved = replace(part, source=new_source)
        else:
            moved = replace(part, source=_move_source(part.source, distance))
        if type(part) is Result and part.output.__class__ is tuple:
            moved = replace(moved, output=tuple([_move_part(p, distance) for p in part.output]))
        parts.append(moved)
    return replace(message, parts=tuple(parts), source=new_source)


def _move_part(part: Part, distance: int) -> Part:
    return replace(part, source=_move_source(part.source, distance))


def _move_source(source: Source, distance: int) -> Source:
    path = source.path
    if not path:  # a part that the reader made of several fields
        return source
    position = path[1]
    assert isinstance(position, int)
    start = (path[0], position + distance)
    return replace(source, path=start if len(path) == 2 else start + path[2:])
