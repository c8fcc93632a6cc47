"""The state of one part that is open in the target stream.

The mode of a part decides what happens to its deltas. Knows no wire.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import text_of
from toolwire.streaming.events import PartDelta, PartStart

Mode: TypeAlias = Literal["pass", "drop", "delay", "buffer", "check", "wrap"]
"""How the deltas of an open part are handled:

- `pass`: The writer gets each delta unchanged.
- `drop`: Nothing of the part is written.
- `delay`: The start is written with the first delta, because reasoning may have no text.
- `buffer`: The deltas are collected; the part is written when it is complete.
- `check`: The first delta with content shows whether the arguments are a JSON object.
- `wrap`: The text is written as a JSON string inside an object.
"""


class OpenPart(Struct):
    """A part that has started and has not ended."""

    start: PartStart
    mode: Mode = "pass"
    minted_id: str | None = None
    """The id that was minted for a call, which the source may still replace (`PartEnd.alias`)."""
    texts: list[str] = []
    """The deltas so far, in mode `buffer`, and in mode `check` while they may become `null`."""


CLOSE_WRAPPER = '"}'


def open_wrapper(key: str) -> str:
    """The text before a JSON string that is the only value of an object."""
    return f'{{"{key}":"'


def wrap_delta(event: PartDelta) -> PartDelta:
    """A delta as it is written inside a JSON string."""
    return PartDelta(event.slot, text_of(event.text)[1:-1])
