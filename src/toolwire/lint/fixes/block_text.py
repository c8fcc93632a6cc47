"""Content blocks as text, for targets that take plain text only."""

from __future__ import annotations

from toolwire.conversation.json import JSON, get, text_of
from toolwire.lint.fixes.transforms import MARK

_LONGEST_BLOCK = 300
"""Characters of a block that is quoted; the data of an image is longer."""


def text_of_block(block: JSON) -> str:
    """The text of a block, or a marked text that quotes what else it is."""
    text = get(block, ("text",))
    if isinstance(text, str):
        return text
    return f"{MARK} {text_of(block)[:_LONGEST_BLOCK]}"
