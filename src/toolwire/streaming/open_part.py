"""The state of one part that is open in the target stream.

The mode of a part decides what happens to its deltas. Knows no wire.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from toolwire.conversation.json import text_of
from toolwire.streaming.events import PartDelta, PartStart


class Mode(Enum):
    """How the deltas of an open part are handled."""

    PASS = "pass"
    """The writer gets each delta unchanged."""
    DROP = "drop"
    """Nothing of the part is written."""
    DELAY = "delay"
    """The start is written with the first delta, because reasoning may have no text."""
    BUFFER = "buffer"
    """The deltas are collected; the part is written when it is complete."""
    CHECK = "check"
    """The first delta with content shows whether the arguments are a JSON object."""
    WRAP = "wrap"
    """The text is written as a JSON string inside an object."""


class OpenPart(Struct):
    """A part that has started and has not ended."""

    start: PartStart
    mode: Mode = Mode.PASS
    minted_id: str | None = None
    """The id that was minted for a call, which the source may still replace (`PartEnd.alias`)."""
    texts: list[str] = []
    """The deltas so far, in mode `BUFFER`, and in mode `CHECK` while they may become `null`."""


CLOSE_WRAPPER = '"}'


def open_wrapper(key: str) -> str:
    """The text before a JSON string that is the only value of an object."""
    return f'{{"{key}":"'


def wrap_delta(event: PartDelta) -> PartDelta:
    """A delta as it is written inside a JSON string."""
    return PartDelta(event.slot, text_of(event.text)[1:-1])
