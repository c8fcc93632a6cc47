"""Write the arguments of a call for a target that requires a JSON object.

The first text with content shows whether the arguments are an object. Any other value is wrapped in
one, except `null`, which means that there are no arguments. Knows no wire.
"""

from __future__ import annotations

from toolwire.conversation.id_map import RAW_ARGUMENTS
from toolwire.conversation.parts import Call
from toolwire.streaming.events import Chunk, PartDelta
from toolwire.streaming.open_part import OpenPart, open_wrapper, wrap_delta
from toolwire.wires.engine.stream import StreamWriter

_NONE = "null"


def write_first_arguments(part: OpenPart, text: str, writer: StreamWriter) -> list[Chunk]:
    """Write the first arguments of a call in mode `check`, or keep them if they may become
    `null`."""
    part.texts.append(text)
    if not text or text.isspace():  # any number of blanks may come first
        return []
    text = "".join(part.texts)
    start = text.strip()
    if start[0] == "{":
        part.mode, part.texts = "pass", []
        return writer.delta(PartDelta(part.start.slot, text))
    if _NONE.startswith(start):
        return []
    part.texts = []
    return _wrap(part, text, writer)


def write_kept_arguments(part: OpenPart, writer: StreamWriter) -> list[Chunk]:
    """Write the arguments that were kept of a call that ends, unless they are `null`."""
    text, part.texts = "".join(part.texts), []
    if not text or text.strip() == _NONE:
        return []
    if text.isspace():  # the call was cut off
        return writer.delta(PartDelta(part.start.slot, text))
    return _wrap(part, text, writer)


def _wrap(part: OpenPart, text: str, writer: StreamWriter) -> list[Chunk]:
    call, slot = part.start.part, part.start.slot
    assert isinstance(call, Call)
    writer.context.report_loss(
        call, "the arguments are not a JSON object; they are sent under `_raw`"
    )
    writer.context.call_forms[call.id] = RAW_ARGUMENTS
    part.mode = "wrap"
    return [
        *writer.delta(PartDelta(slot, open_wrapper("_raw"))),
        *writer.delta(wrap_delta(PartDelta(slot, text))),
    ]
