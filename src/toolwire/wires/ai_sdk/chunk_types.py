"""AI SDK: the chunks of a UI message stream that each version of the client accepts.

A chunk of an unknown type ends the stream of a client; in older releases, so does an unknown key.
So a chunk for a major version has only keys that the first release of that version accepts.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from toolwire.streaming.events import Chunk
from toolwire.wires.ai_sdk.blocks import DENIED

VERSIONS = (6, 5, 7)
"""The major versions that can be written; the first is the default."""

_Release = tuple[int, int]
"""Major version and patch: (6, 39) is 6.0.39."""
_5: _Release = (5, 0)
_6: _Release = (6, 0)
_7: _Release = (7, 0)


class ChunkType(Struct, frozen=True):
    """A type of chunk: the release that introduced it, and the release that introduced each key."""

    since: _Release
    keys: Mapping[str, _Release]


def _since(release: _Release, keys: str = "", **later: _Release) -> ChunkType:
    """A type with its initial keys, and the releases of its later keys."""
    return ChunkType(release, {**dict.fromkeys(("type", *keys.split()), release), **later})


_TEXT = "id providerMetadata"
_INPUT = "toolCallId toolName input providerExecuted providerMetadata dynamic"
_OUTPUT = "toolCallId providerExecuted dynamic"
CHUNK_TYPES: dict[str, ChunkType] = {
    "start": _since(_5, "messageId messageMetadata"),
    "start-step": _since(_5),
    "finish-step": _since(_5),
    "reset-step": _since((7, 70)),
    "text-start": _since(_5, _TEXT),
    "text-delta": _since(_5, f"{_TEXT} delta"),
    "text-end": _since(_5, _TEXT, citations=(7, 138)),
    "reasoning-start": _since(_5, _TEXT),
    "reasoning-delta": _since(_5, f"{_TEXT} delta"),
    "reasoning-end": _since(_5, _TEXT),
    "tool-input-start": _since(
        _5,
        "toolCallId toolName providerExecuted dynamic",
        title=_6,
        providerMetadata=(6, 39),
        toolMetadata=(6, 176),
        inputEncoding=(7, 142),
    ),
    "tool-input-delta": _since(_5, "toolCallId inputTextDelta"),
    "tool-input-available": _since(_5, _INPUT, title=_6, toolMetadata=(6, 176)),
    "tool-input-error": _since((5, 8), f"{_INPUT} errorText", title=_6, toolMetadata=(6, 176)),
    "tool-approval-request": _since(
        _6,
        "approvalId toolCallId",
        signature=(6, 202),
        approvalDescriptor=(7, 87),
        inputSchemaInput=(7, 113),
        isAutomatic=_7,
        reason=(7, 82),
    ),
    "tool-approval-response": _since(
        _7, "approvalId approved reason providerExecuted providerMetadata"
    ),
    "tool-output-available": _since(
        _5,
        f"{_OUTPUT} output",
        preliminary=(5, 12),
        providerMetadata=(6, 119),
        toolMetadata=(6, 176),
    ),
    "tool-output-error": _since(
        _5, f"{_OUTPUT} errorText", providerMetadata=(6, 119), toolMetadata=(6, 176)
    ),
    "tool-output-denied": _since(_6, "toolCallId"),
    "source-url": _since(_5, "sourceId url title providerMetadata"),
    "source-document": _since(_5, "sourceId mediaType title filename providerMetadata"),
    "file": _since(_5, "url mediaType providerMetadata"),
    "reasoning-file": _since(_7, "url mediaType providerMetadata"),
    "custom": _since(_7, "kind providerMetadata"),
    "steering-message": _since((7, 154), "id parts"),
    "data-*": _since(_5, "data id transient"),
    "message-metadata": _since(_5, "messageMetadata"),
    "finish": _since(_5, "messageMetadata", finishReason=(5, 92)),
    "abort": _since(_5, reason=(6, 15)),
    "error": _since(_5, "errorText"),
}


def fit_chunk(chunk: Chunk, version: int) -> Chunk | None:
    """The chunk without keys that some release of a major version rejects.

    None if the version does not have the type.
    """
    kind = str(chunk.get("type"))
    known = CHUNK_TYPES.get("data-*" if kind.startswith("data-") else kind)
    if known is None or known.since > (version, 0):
        return None
    return {
        key: value
        for key, value in chunk.items()
        if known.keys.get(key, (version, 1)) <= (version, 0)
    }


def holds_chunk(chunk: Chunk, version: int) -> bool:
    """True if a version accepts the type of the chunk and all of its keys."""
    fitted = fit_chunk(chunk, version)
    return fitted is not None and fitted.keys() == chunk.keys()


def adapt_chunk(chunk: Chunk, version: int) -> Chunk | None:
    """A chunk of any version for another version; None if it has no equivalent there.

    In a version without approvals, a denied call becomes a failed one.
    """
    fitted = fit_chunk(chunk, version)
    if fitted is None:
        if chunk.get("type") != "tool-output-denied":
            return None
        call_id = chunk.get("toolCallId")
        return {"type": "tool-output-error", "toolCallId": call_id, "errorText": DENIED}
    if chunk.get("preliminary") is True and "preliminary" not in fitted:
        return None  # without the mark, a client would take it for the final output
    return fitted
