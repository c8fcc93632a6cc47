"""Values that differ between two responses of the same content: generated ids, times, durations."""

from __future__ import annotations

import json
import re

from toolwire import restream

EVENT_STREAM = "application/vnd.amazon.eventstream"
_IDS = re.compile(r"(tw-|(?:msg|fc|rs|ctc|cu|apc|sh|lsh|tsc)_)[0-9a-f]{16}")
_TIMES = re.compile(
    r'("(?:created|created_at|updated|completed_at|total_duration|eval_duration|latencyMs)": ?)(?:\d+|null|"[^"]*")'
)


def without_marks(text: str) -> str:
    """Responses as JSON, without values that differ from one to the next."""
    return _TIMES.sub(r"\g<1>0", _IDS.sub(r"\1", text))


def comparable(data: bytes, media: str) -> str:
    """A response or a stream as text, without values that differ from one to the next.

    Binary frames have checksums, so such a stream is compared event by event.
    """
    if media.startswith(EVENT_STREAM):
        events = restream(data, "bedrock", "bedrock", framed=False)
        return without_marks("\n".join(json.dumps(event) for event in events))
    return without_marks(data.decode())
