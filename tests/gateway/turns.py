"""What a client of any API gives a program: a turn of the model, or an error."""

from __future__ import annotations

import base64

from msgspec import Struct

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
History = list[object]


class Turn(Struct):
    """What a model said, and the client's own objects for it."""

    text: str
    thoughts: str
    calls: list[tuple[str, str, dict[str, object]]]
    """Id, name, arguments."""
    kept: list[object]


class RequestRefused(Exception):
    """What a client raised: the status, and the words of the error as it shows them."""

    def __init__(self, status: int | None, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status
        self.words = words
