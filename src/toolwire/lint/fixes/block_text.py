"""Content blocks as text, for targets that accept only plain text."""

from __future__ import annotations

from toolwire.conversation.json import JSON, get, text_of
from toolwire.conversation.parts import MARK

_LONGEST_BLOCK = 300
"""The maximum number of characters of a block that is quoted; the data of an image is longer."""


def text_of_block(block: JSON) -> str:
    """The text of a block; a block without text is quoted in a marked text."""
    text = get(block, ("text",))
    if isinstance(text, str):
        return text
    return f"{MARK} {text_of(block)[:_LONGEST_BLOCK]}"
